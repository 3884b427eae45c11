# gps_resume(): a run from where it was stopped.

#' Go on with a run that was stopped
#'
#' With `gps_control(checkpoint = file)` a fit writes now and then what it needs to go on. Whatever
#' ended it, `gps_resume(file, y)` goes on from there, and ends with the fit of an undisturbed run,
#' to the last bit: parameters, slots, bound, and the trace, whose iterations go on; its `seconds`
#' are those that each iteration took.
#'
#' @param file the path of a checkpoint.
#' @param y the data of the fit, given as to [gps_fit()]. The checkpoint does not hold them, but
#'   knows them again by their sizes, names, moments and some of their numbers: others are refused.
#'   Columns with names may stand in any order, those without are in that of the run. A source is
#'   read once for that. `weights` and `labels` of the run are in the checkpoint.
#' @param ... `data`, a data frame, where `y` is a formula as in [gps_fit()], or in place of `y`:
#'   then the fit's columns are taken from it by their names. Else changes of these arguments of
#'   [gps_control()]: `max_iter`, `time_limit` (which counts anew), `n_threads`, `progress`,
#'   `keep_data`, `keep_slots`, `checkpoint` and `checkpoint_every`. Unless told otherwise the run
#'   goes on writing to `file`, as often as before.
#'
#' @section When a checkpoint is written:
#' The first before the first iteration: where that fails, for a folder that is not there or a disk
#' that is full, the fit is an error. Then, between two short starts or two iterations (in
#' minibatches two updates, also in the middle of a pass over the data), at most every
#' `checkpoint_every` seconds; what a later one cannot write is a warning of class
#' `gps_warning_checkpoint`. The last at the end of the iterations, and when they are cut short, by
#' an interrupt, a time limit or an error: of the last whole iteration or update. Short starts that
#' are over are kept; one that is stopped begins anew, and so does the beginning of a fit with
#' `grow`. There is none in the pilot of `n_selected = "auto"`, which is never long: at most 30
#' iterations of three starts on some hundred data points. What follows the main run there is made
#' again from its end.
#'
#' A checkpoint is written to a new file beside it (its name ends in `.new`), which takes the place
#' of the old one when it is whole: a process that is killed leaves one of the two, and maybe a part
#' of the new file, which is overwritten by the next. It has the size of what the fit holds besides
#' its data: slots (12 bytes for each selected latent and data point, 8 more where states are
#' sampled), and for the exact Gaussian process its factorisation (8 n^2 bytes), twice where the
#' kernel was refit in between.
#'
#' [gps_fit()] with a `checkpoint` that is there already begins anew and replaces it; a file that is
#' no checkpoint is not replaced. A script that may be started again asks which it is:
#' `if (file.exists(file)) gps_resume(file, y) else gps_fit(y, model, control = control)`.
#'
#' @section Another limit:
#' Toward `max_iter` a fit ends its search (see `polish` and `mend` in [gps_control()]). A run that
#' goes on with a larger `max_iter` goes back to before the first iteration that would have been
#' another one, and is then the undisturbed run with this `max_iter`; but where `anneal` is above 1
#' its temperatures stay those of the old one (other than in [model_occlusive()], they depend on
#' `max_iter`). A run that has converged with nothing left out for its limit is over: it is only
#' completed.
#'
#' @section Other versions:
#' A checkpoint is gone on with by the version that wrote it. In another one it is an error that
#' names both, whose field `params` has the parameters, for the `start` of [gps_fit()]. Models and
#' selectors of R functions are stored with them.
#' @return the fit, as of [gps_fit()].
#' @seealso [gps_control()]
#' @concept checkpoint
#' @concept long runs
#' @examples
#' y <- simulate_bars(200, value = 5)$y
#' file <- tempfile(fileext = ".rds")
#' short <- gps_fit(y, model_binary_sparse(10), selector_handcrafted(), n_selected = 5,
#'                  control = gps_control(max_iter = 5, n_starts = 2, checkpoint = file))
#' fit <- gps_resume(file, y, max_iter = 15)
#' c(short$n_iter, fit$n_iter)
#' @export
gps_resume <- function(file, y, ...) {
  extra <- further_beside(c("data", names(formals(gps_control))))(...)
  if (missing(file) || missing(y) && is.null(extra$data)) need_given()
  changes <- check_changes(extra[!names(extra) %in% "data"])
  path <- find_checkpoint(file)
  form <- checkpoint_form()
  saved <- with_memory(read_checkpoint(path, form), "The checkpoint %s", quoted(path))
  y <- data_again(if (!missing(y)) y, extra$data, saved$header$traits$names)
  is_doubted <- tell_reading(y)
  y <- pick_columns(y, saved$header$traits$names, "y", "the run's data")
  control <- check_control(unpack_at(saved$points, c("point", "task", "given", "control")))
  y <- blank_infinite(y, control$infinite)
  data <- with_memory(read_data(y, may_miss = TRUE), "A copy of `y`")
  data <- keep_complete(data, control$missing)
  data$is_doubted <- is_doubted
  # Without names the columns are the run's by their numbers, which are looked at.
  if (is.null(data$col_names)) data["col_names"] <- list(saved$header$traits$names)
  data["weights"] <- list(saved$header$traits$weights)
  labels <- saved$header$traits$labels
  if (length(labels) == n_points(data$y)) data$row_names <- labels
  model <- unpack_at(saved$points, c("point", "task", "model"))
  data$y <- admit_missing(data$y, model, missing = control$missing)
  counted <- need_same_data(data, saved$header$traits, model)
  known <- counted$y
  points <- unpack_shared(saved$points, if (!is_source(known)) known)
  point <- choose_point(points, changes$max_iter)
  task <- renew_task(point$task, counted, complete_changes(changes, path))
  refuse_task(task)
  if (!is.null(task$control$checkpoint)) {
    task$keeper <- open_keeper(task, point$chosen, form, saved$header$traits)
  }
  fit <- run_task(task, data, point)
  fit["call"] <- list(shown_call(match.call()))
  fit
}

is_resumed <- function(fit) is.call(fit$call) && identical(fit$call[[1]], as.name("gps_resume"))

# The call of gps_fit() that update() changes. That of a run that went on does not say what the run
# was made of: the fit does, by the `name` that it has in the call of update().
call_of_refit <- function(fit, name) {
  if (!is_resumed(fit)) return(fit$call)
  if (!is.name(name)) name <- quote(fit)
  given <- as.list(fit$call)[intersect(c("y", "data"), names(fit$call))]
  parts <- c("model", "selector", "n_selected", "control")
  if (inherits(fit$selector, "gps_selector_full")) parts <- setdiff(parts, "n_selected")
  from_fit <- lapply(stats::setNames(nm = parts), function(part) call("$", name, as.name(part)))
  as.call(c(as.name("gps_fit"), given, from_fit))
}

# The data as the run had them, of count_rows(), or an error where they are others. A selector may
# have read a source as a whole.
need_same_data <- function(data, traits, model) {
  differs <- tell_length(data, traits)
  if (is.null(differs)) {
    counted <- count_rows(data, data$weights)
    y <- counted$y
    if (is_source(y) && !traits$is_source && is_small_source(y)) y <- whole_data(y, "This run")
    missing <- find_missing(y)
    moments <- data_moments(y, missing, counted$weights)
    counted$y <- fill_cells(model, fill_missing(y, missing, moments$centre), missing)
    found <- data_traits(list(y = counted$y, columns = data$col_names, moments = moments,
                              missing = missing))
    differs <- tell_traits(found, traits)
  }
  if (is.null(differs)) return(counted)
  gps_abort(sprintf("`y` is not the data of this run: %s.", differs), c("argument", "data"))
}

# Of data with weights some may have been left out: all are to be there.
tell_length <- function(data, traits) {
  n <- length(traits$weights)
  if (n == 0 || n == n_points(data$y)) return(NULL)
  sprintf("it has %s, not %.0f", plural(n_points(data$y), "data point"), n)
}

# Arguments of gps_control() that another session may need to change.
may_change <- c("max_iter", "time_limit", "n_threads", "progress", "keep_data", "keep_slots",
                "checkpoint", "checkpoint_every")

check_changes <- function(changes) {
  names <- if (is.null(names(changes))) rep("", length(changes)) else names(changes)
  if ("control" %in% names) {
    gps_abort("Unknown argument `control`. What changes is given by itself: max_iter = 500.")
  }
  fixed <- setdiff(c(names(formals(gps_fit)), names(formals(gps_control))), c(may_change, "..."))
  kept <- intersect(names, fixed)
  if (length(kept) > 0) {
    gps_abort(sprintf(paste("Unknown argument `%s`. A run goes on with that with which it began;",
                            "%s can change. update(fit, start = fit, %s = ) begins another run",
                            "from the end of this one."),
                      kept[1], list_arguments(may_change), kept[1]))
  }
  refuse_unknown(changes[!names %in% may_change], may_change)
  if (anyDuplicated(names) > 0) {
    gps_abort(sprintf("`%s` is given twice.", names[anyDuplicated(names)]))
  }
  changes
}

find_checkpoint <- function(file) {
  if (inherits(file, "gps_checkpoint")) {
    gps_abort("`file` is what was read from a checkpoint: give the name of its file.")
  }
  file <- check_path(file, "file", "the path of a checkpoint")
  if (!file.exists(file) || dir.exists(file)) {
    gps_abort(sprintf(paste("`file`: there is no file %s. gps_control(checkpoint = file) makes a",
                            "fit write one."), quoted(file)))
  }
  absolute_path(file)
}

#' @export
print.gps_checkpoint <- function(x, ...) {
  refuse_shown(further(...))
  say(sprintf(paste("Checkpoint of a fit to %s numbers, written by version %s.",
                    "gps_resume(file, y) goes on with it, where `file` is its name."),
              paste(x$traits$size, collapse = " x "), x$version))
  invisible(x)
}

# A run goes on writing where it was, unless it is to write nothing.
complete_changes <- function(changes, path) {
  if (!"checkpoint" %in% names(changes)) changes["checkpoint"] <- list(path)
  if (is.null(changes$checkpoint)) changes["checkpoint_every"] <- list(NULL)
  changes
}

# The last point, or with more iterations than the run had the one from where they matter.
choose_point <- function(points, max_iter) {
  fork <- points$fork
  if (is.null(max_iter) || is.null(fork)) return(points$point)
  max_iter <- check_count(max_iter, "max_iter", 0)
  if (max_iter > fork$task$control$max_iter) fork else points$point
}

# The task with its data, and the control changed.
renew_task <- function(task, counted, changes) {
  given <- unclass(task$given$control)
  given[names(changes)] <- changes
  given <- do.call(gps_control, given, quote = TRUE)
  task$given$control <- given
  task$control[may_change] <- unclass(given)[may_change]
  task$y <- counted$y
  task["rows"] <- list(counted$row_names)
  task$n_threads <- resolve_threads(given$n_threads)
  task$max_iter <- max(1, as.double(length(task$batches))) * given$max_iter
  task$began <- elapsed()
  task$deadline <- elapsed() + given$time_limit
  task
}
