# Points from which a run can be gone on with: what the fit needs beside its data, as it is between
# two iterations or two short starts. All random numbers are addressed by the fit's seed, so that
# what follows has the same bits, whoever goes on.
#
# A point is list(task, chosen, start, results), in which `results` are the short starts that are
# over, or, once the main run has begun, list(task, chosen, state). `chosen` says how `n_selected`
# was found, see choose_size().

# Seconds between two checkpoints, unless the user says; and so many times what writing one takes.
default_every <- 60
writing_rest <- 20

# The keeper of the points of a fit whose control names a checkpoint: an environment, since points
# are kept while others are at work. `traits` are those of the data, see data_traits(), with the
# `labels` that were given, `form` that of this version, see checkpoint_form().
open_keeper <- function(task, chosen, form, traits) {
  control <- task$control
  path <- absolute_path(control$checkpoint)
  if (dir.exists(path)) abort_checkpoint(path, "it is a folder")
  if (file.exists(path) && file.size(path) > 0) read_header(path, "checkpoint")
  list2env(list(path = path, every = control$checkpoint_every, y = task$y, traits = traits,
                form = form, chosen = chosen, point = NULL, fork = NULL, is_written = TRUE,
                due = -Inf, n_written = 0L, has_failed = FALSE, is_closed = FALSE),
           parent = emptyenv())
}

# Keeps the present point of a task that has a keeper, and writes it when it is time. The first is
# written at once: a fit whose checkpoint cannot be written ends before it has done anything.
keep_point <- function(task, ...) {
  keeper <- task$keeper
  if (keeper$is_closed) return(invisible())
  keeper$point <- new_point(task, ...)
  keeper$is_written <- FALSE
  if (elapsed() >= keeper$due) write_point(keeper)
  invisible()
}

# Keeps a point from which the fit would have gone another way with a larger `max_iter`.
keep_fork <- function(task, state) {
  keeper <- task$keeper
  if (!is.null(keeper) && !keeper$is_closed && is.null(keeper$fork)) {
    keeper$fork <- new_point(task, state = state)
  }
  invisible()
}

# What comes after short starts that were cut short is not the run that was asked for: who goes on
# begins with the next start.
close_keeper <- function(task) {
  if (!is.null(task$keeper)) task$keeper$is_closed <- TRUE
  invisible()
}

# Without the data, which whoever goes on has to bring.
new_point <- function(task, ...) {
  list(task = without_keeper(task, y = NULL), chosen = task$keeper$chosen, ...)
}

without_keeper <- function(task, y = task$y) {
  task[c("keeper", "teller")] <- list(NULL)
  task["y"] <- list(y)
  task
}

# What is kept but not yet written: a fit is over, was cut short or has failed.
flush_keeper <- function(keeper) {
  if (is.null(keeper) || keeper$is_written) return(invisible())
  suspendInterrupts(write_point(keeper))
}

write_point <- function(keeper) {
  began <- elapsed()
  failure <- write_checkpoint(keeper)
  every <- keeper$every
  if (is.null(every)) every <- max(default_every, writing_rest * (elapsed() - began))
  keeper$due <- elapsed() + every
  if (is.null(failure)) {
    keeper$is_written <- TRUE
    keeper$n_written <- keeper$n_written + 1L
    keeper$has_failed <- FALSE
  } else if (keeper$n_written == 0) {
    keeper$is_written <- TRUE
    abort_checkpoint(keeper$path, failure)
  } else if (!keeper$has_failed) {
    keeper$has_failed <- TRUE
    warn_checkpoint(keeper$path, failure)
  }
  invisible()
}

abort_checkpoint <- function(path, reason) {
  gps_abort(sprintf("`checkpoint`: %s cannot be written: %s.", quoted(path), reason))
}

# The fit goes on, even where warnings are errors.
warn_checkpoint <- function(path, reason) {
  text <- sprintf(paste("The checkpoint %s cannot be written: %s. The fit goes on, and what was",
                        "written before is still there."), quoted(path), reason)
  if (isTRUE(getOption("warn") >= 2)) message(text) else gps_warn(text, class = "checkpoint")
}

# A checkpoint is two serialised objects: its header, which can be read alone, and the points.
write_checkpoint <- function(keeper) {
  # Who reads the file as data has the header alone, which says by its class what it is.
  header <- structure(list(what = checkpoint_mark, version = this_version(), form = keeper$form,
                           traits = keeper$traits, params = keeper$point$state$params),
                      class = "gps_checkpoint")
  points <- mget(c("point", "fork"), envir = keeper)
  packed <- pack_shared(points, if (!is_source(keeper$y)) keeper$y)
  replace_file(keeper$path, function(connection) {
    serialize(header, connection, xdr = FALSE)
    serialize(packed, connection, xdr = FALSE)
  })
}

checkpoint_mark <- "checkpoint of gpselect"

# list(header, points) with the points still packed.
read_checkpoint <- function(path, form) {
  connection <- file(path, "rb")
  on.exit(close(connection))
  header <- read_part(path, connection, "file")
  check_header(header, path, "file", form)
  list(header = header, points = read_part(path, connection, "file"))
}

read_header <- function(path, arg) {
  connection <- file(path, "rb")
  on.exit(close(connection))
  header <- read_part(path, connection, arg)
  if (!is.list(header) || !identical(header$what, checkpoint_mark)) abort_foreign(path, arg)
  header
}

read_part <- function(path, connection, arg) {
  tryCatch(unserialize(connection), error = function(condition) abort_foreign(path, arg))
}

abort_foreign <- function(path, arg) {
  said <- if (arg == "checkpoint") "and is not replaced: give another name, or remove it" else
    "or was damaged"
  gps_abort(sprintf("`%s`: %s is no checkpoint of a fit, %s.%s", arg, quoted(path), said,
                    advise_saved(path)), c("data", "argument"))
}

# Points are gone on with by the version that made them alone: others may compute other bits.
check_header <- function(header, path, arg, form) {
  if (!is.list(header) || !identical(header$what, checkpoint_mark)) abort_foreign(path, arg)
  if (!identical(header$version, this_version())) {
    gps_abort(sprintf(
      "`%s`: %s is a checkpoint of version %s, and this is version %s, %s. %s", arg, quoted(path),
      printable(header$version), this_version(), "which cannot go on with it to the same bits",
      paste("Go on with that version, or begin anew: the parameters are the field `params` of this",
            "error, which `start` of gps_fit() takes.")
    ), params = header$params)
  }
  if (!identical(header$form, form)) abort_foreign(path, arg)
  invisible(header)
}
