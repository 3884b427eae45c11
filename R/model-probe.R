# check_gps_model(): what a model promises is asked of it, one thing after the other, and what it
# breaks is reported. How each kind of model is asked: model-probe-custom.R, model-probe-native.R.

#' Is a model right?
#'
#' Asks a model for all that the algorithm relies on, on a few data points, and reports each fault
#' that it finds: what is wrong, where, and what to do. For models of R functions from
#' [model_custom()] and for models in C, of this package or of another ([model_native()]). A fault
#' that this finds would else show as a fit that looks right and is not.
#'
#' @section What is asked of a model of R functions:
#' * `error`: a function stops.
#' * `length`, `orientation`: values of another number than asked for, or transposed.
#' * `nan`: a value that is no number below Inf. `impossible`: a point that has no possible state.
#' * `random`, `input`, `global`: `log_joint` draws random numbers; a function changes its arguments
#'   or variables of its own between calls; it reads or sets a variable of the session.
#' * `block`: the log joints of two points, or of several states, are not those of each alone.
#' * `order`: they depend on the order in which states or selected latents are given. `slots`: they
#'   depend on which latents are selected and off.
#' * `gradient`: it is not the derivative of `log_joint`, by central differences.
#' * `mstep`: the M-step lowers the expected log joint, the sum over points and states of
#'   `q(s) log p(s, y)`, by more than 1e-8 of its size.
#' * `draw`: what `draw` draws does not come from `log_joint`. If `(s, y)` comes from `p(s, y)`, the
#'   derivative of `log p(s, y)` by any parameter is 0 on average, and so is the difference of a
#'   latent and its posterior probability. A difference counts from 5 standard errors on, in 300
#'   draws and again in 1200 new ones.
#' * `session`: in a new R session in which only gpselect is attached a function stops or gives
#'   other values, since a package is not attached, or for another reason.
#' @section What is asked of a model in C:
#' `error`, `nan`, `impossible`, `block`, `order`, `mstep` and `draw` as above; and
#' * `overrun`: a member writes outside of the scratch of `scratch_size()` or of its results. Up to
#'   1024 numbers around them are watched.
#' * `unwritten`: a statistic, a prepared array, a log joint or a posterior mean that nobody writes.
#' * `overwritten`: `accumulate` sets a statistic where it must add to it.
#' * `weights`: the table has `weighs`, but weighted data points do not add their statistics times
#'   their weights.
#' * `empty`: a state that uses an empty slot has a log joint above -Inf.
#' * `accumulate_latent`: it gives other statistics than `accumulate`.
#' * `gain`, `propose`, `conditional`: the member disagrees with `log_joint`. A gain is the
#'   difference of two log joints; proposals are latents, and no worse than as many at random;
#'   `conditional` has the odds of two states and the density of two values that `log_joint` and
#'   `log_joint_draw` have.
#'
#' What cannot be asked is listed as left out, with the reason: a model without `draw` is not held
#' against it.
#'
#' @param model a model, as made by [model_custom()], [model_native()] or a `model_*()` function.
#' @param y data points like those that the model is for, as in [gps_fit()]; the first 24 are used;
#'   NULL: normal numbers, counts or zeros and ones, the first kind that the model can live with, or
#'   what it draws itself.
#' @param session whether to start a new R session for models of R functions; takes a second.
#' @param ... nothing; an unknown argument is an error.
#' @return An object of class `gps_model_check`: a list of `model` and `data`, texts; `is_right`,
#'   TRUE where nothing was found; `findings`, a data frame with a row for each fault and columns
#'   `fault` (one of the words below), `where`, `what` and `advice`; and `checks`, a data frame with
#'   the columns `check` and `outcome`: "right", "fault", or why it was left out. Random numbers of
#'   the session are left as they are.
#' @seealso [gps_audit()], for what the selection of a fit misses.
#' @examples
#' init <- function(y) list(W = matrix(rnorm(2 * ncol(y)), ncol(y)), sigma = sd(y))
#' log_joint <- function(params, y, states) {
#'   colSums(dnorm(y, params$W %*% states, params$sigma, log = TRUE)) + nrow(states) * log(0.5)
#' }
#' model <- model_custom(2, init, log_joint, lower = list(sigma = 1e-3))
#' check_gps_model(model, session = FALSE)
#'
#' # A sum over rows where it must be over columns.
#' wrong <- function(params, y, states) rowSums(dnorm(y, params$W %*% states, log = TRUE))
#' check_gps_model(model_custom(2, init, wrong), session = FALSE)
#' @export
check_gps_model <- function(model, y = NULL, session = TRUE, ...) {
  refuse_unknown(further(...), names(formals(check_gps_model)))
  need_given()
  model <- check_model(model)
  session <- check_flag(session, "session")
  if (!is.null(y)) {
    data <- read_data(y)
    model <- set_image(model, data$image_dim)
    y <- unname(t(rows_data(data$y, seq_len(min(count_probe_rows(model), n_points(data$y))))))
    check_rows(y, if (is_bound(model)) model)
  }
  report <- new.env(parent = emptyenv())
  report$findings <- list()
  report$checks <- list()
  report$data <- "none"
  suppressWarnings(with_seed(c(1L, 1L), 1, probe_model(model, y, report, session)))
  columns <- c("fault", "where", "what", "advice")
  structure(
    list(model = format_model(model), data = report$data, is_right = length(report$findings) == 0,
         findings = bind_rows(report$findings, columns),
         checks = bind_rows(report$checks, c("check", "outcome"))),
    class = "gps_model_check"
  )
}

# Data points that are asked about: of a mixture enough for each cluster to begin at two.
count_probe_rows <- function(model) {
  if (identical(model$rule$min_active, 1L)) max(24L, 2L * as.integer(model$n_latents)) else 24L
}

# All checks of a model on data n x D, or NULL; findings go into `report`.
probe_model <- function(model, y, report, session) UseMethod("probe_model")

#' @export
probe_model.default <- function(model, y, report, session) {
  gps_abort(sprintf("A model of class %s cannot be checked.", quoted(class(model)[1])), "model")
}

bind_rows <- function(rows, columns) {
  cells <- lapply(stats::setNames(nm = columns), function(name) {
    vapply(rows, function(row) as.character(row[[name]]), "")
  })
  data.frame(cells)
}

add_finding <- function(report, fault, where, what, advice) {
  finding <- list(fault = fault, where = where, what = what, advice = advice)
  report$findings <- c(report$findings, list(finding))
}

# One check: what it finds, or that it stops, which is a finding too. The value says whether all is
# right.
run_check <- function(report, check, where, code) {
  before <- length(report$findings)
  tryCatch(force(code), error = function(condition) {
    if (is_time_limit(condition)) stop(condition)
    add_finding(report, "error", where, conditionMessage(condition),
                "It stops where a fit will call it, too: mend that first.")
  })
  is_right <- length(report$findings) == before
  report$checks <- c(report$checks, list(list(check = check,
                                              outcome = if (is_right) "right" else "fault")))
  is_right
}

skip_check <- function(report, check, reason) {
  report$checks <- c(report$checks, list(list(check = check, outcome = reason)))
  invisible(FALSE)
}

# Data of several kinds, n x D, the first of which a model can live with is taken.
probe_data <- function(n_rows, n_dims) {
  draw <- function(numbers) matrix(as.double(numbers), n_rows, n_dims)
  n <- n_rows * n_dims
  list("normal numbers" = draw(stats::rnorm(n, 1, 2)), "counts" = draw(stats::rpois(n, 4)),
       "zeros and ones" = draw(stats::rbinom(n, 1, 0.4)))
}

# Dimensions of data that nobody gave.
probe_dims <- 6L

# What `try_data(y)` makes of the first of several kinds of data with which it does not stop, with
# how they are called; of the last error where there is none.
first_live <- function(kinds, try_data) {
  for (name in names(kinds)) {
    made <- tryCatch(suppressWarnings(try_data(kinds[[name]])), error = identity)
    if (!inherits(made, "error")) return(list(made = made, said = name))
  }
  list(error = made)
}

# Distinct latents in slots, slots x n; of different components where latents have places.
probe_slots <- function(model, n_slots, n) {
  n_places <- count_places(model)
  n_groups <- model$n_latents / n_places
  slots <- vapply(seq_len(n), function(point) {
    group <- sample.int(n_groups, n_slots)
    as.integer(sort((group - 1) * n_places + sample.int(n_places, n_slots, replace = TRUE)))
  }, integer(n_slots))
  matrix(slots, n_slots)
}

# Relative differences that are rounding.
probe_tolerance <- 1e-9

# Largest difference of two arrays of log joints, in units of their size.
joint_difference <- function(a, b) {
  is_same <- a == b
  is_same[is.na(is_same)] <- FALSE
  if (all(is_same)) return(0)
  finite <- abs(c(a[is.finite(a)], b[is.finite(b)]))
  difference <- abs(a - b)[!is_same]
  if (anyNA(difference)) Inf else max(difference) / max(1, finite)
}

# The two numbers that differ most.
worst_pair <- function(found, wanted) {
  gap <- abs(found - wanted)
  gap[is.na(gap)] <- Inf
  at <- which(gap == max(gap))[1]
  at <- if (is.infinite(gap[at])) which(is.infinite(gap) & found != wanted)[1] else at
  sprintf("%s and %s.", plain_number(found[at], 4), plain_number(wanted[at], 4))
}

# Relative falls of the expected log joint that are rounding.
mstep_tolerance <- 1e-8

report_mstep <- function(report, old_value, value, step) {
  add_finding(report, "mstep", "mstep", sprintf(
    "M-step %d lowers the expected log joint from %s to %s.", step, plain_number(old_value, 8),
    plain_number(value, 8)
  ), paste("The bound may fall, and fits need not settle. Maximise the sum of `q(s) log_joint`",
           "over points and states: hold the formula against `log_joint`, or leave `mstep` out for",
           "optim() to do it. Limits that move parameters have the same effect."))
}

#' @rdname check_gps_model
#' @param x a report from `check_gps_model()`.
#' @export
print.gps_model_check <- function(x, ...) {
  refuse_shown(further(...))
  need_made(is.data.frame(x$findings) && is.data.frame(x$checks), "x", "check_gps_model()")
  n <- nrow(x$findings)
  say(paste("Check of", x$model))
  cat(wrap_text(x$data, "  on ", 4), sep = "\n")
  wrap <- function(label, text) cat(wrap_text(text, paste0("   ", label), 6), sep = "\n")
  for (i in seq_len(n)) {
    finding <- x$findings[i, ]
    say(sprintf("%d. %s in `%s`", i, finding$fault, finding$where))
    wrap("What: ", finding$what)
    wrap("Do:   ", finding$advice)
  }
  outcome <- x$checks$outcome
  left <- !outcome %in% c("right", "fault")
  say(sprintf("%s of %s right%s", sum(outcome == "right"), plural(sum(!left), "check"),
              if (n == 0) ": no fault found" else sprintf(", %s", plural(n, "fault"))))
  for (i in which(left)) wrap("left out: ", paste0(x$checks$check[i], ", ", outcome[i]))
  invisible(x)
}
