# What a fit says of itself: print, summary, parameters, bound, reconstruction, simulation,
# refitting.

#' Methods of a fit
#'
#' @param object,fit,x a fit, as made by [gps_fit()].
#' @param nsim number of data sets, a whole number of at least 1.
#' @param seed NULL, or an integer for [set.seed()]; the session's generator is put back afterwards.
#' @param n number of data points in each data set, a whole number of at least 1.
#' @param digits significant digits of the bound, a whole number in 1..22; the bound of a point
#'   has three fewer, but not fewer than three.
#' @param ... `update()`: arguments of [gps_fit()] or [gps_control()] to change, by name; `data`, a
#'   data frame, with a formula as `y`, or without `y` for the fit's columns in it. In a formula
#'   without a name a dot stands for these: `update(fit, ~ . + b, data = d)`. Else nothing.
#'
#' @details `coef()` has the names of the data's columns on every axis of length D. `logLik()` is
#' the truncated free energy, the sum over data points (with weights times these) of
#' \eqn{\log \sum_{s \in K_n} p(s, y_n)}{log sum over K_n of p(s, y_n)}, with \eqn{K_n} of
#' equation 2 of the paper: a lower bound of the log-likelihood, equal to it where all latents are
#' selected and may be on: it then has the attribute `whole`, TRUE. `AIC()` and `BIC()` use it. By
#' Gibbs sampling it is an estimate of that, see [gps_control()], and has the attribute
#' `error`, its standard error. Where the likelihood has no maximum, so that AIC and BIC mean
#' nothing, `logLik()` has the attribute `degenerate`, which says why: see "Likelihoods without a
#' maximum" in [gps_fit()]. A fit whose data have not been kept (`gps_control(keep_data =
#' FALSE)`, or data from a function, see [gps_source()]) has no `fitted()` and `residuals()`, and
#' `update()` needs `y`, and of a weighted fit `weights` with it.
#' `update(fit, start = fit)` goes on from where the fit is. A number of selected latents that was
#' chosen (`n_selected = "auto"`) stays, but with another model, data, weights, selector,
#' `max_active` or `target_mass` it is chosen anew.
#'
#' Every method first checks that the fit is as `gps_fit()` made it. Other generics of R, such as
#' `deviance()` or `vcov()`, are errors that say what there is instead, and so are all of them for a
#' model, kernel or selector that has not been fitted.
#' @return
#' * `coef()`: named list of parameters, shaped as the model's help page says.
#' * `logLik()`: a number of class `logLik` with attributes `df`, the number of free parameters (the
#'   scale of a slab, which `W` can take over, is none, and latents that are emptied have none), and
#'   `nobs`, of `nobs()`.
#' * `nobs()`: the number of data points, with weights their sum: the N whose log `BIC()` takes.
#' * `sigma()`: standard deviation of the noise, of models that have one (`sigma2`).
#' * `fitted()`, `residuals()`: n x D, or images as the data were.
#' * `simulate()`: a list of `nsim` lists, each with `y` (shaped as the data), `latents` (n x H of 0
#'   and 1; where components have places a data frame of `point`, `component`, `row`, `column`) and,
#'   for models with slabs, their `values` z (n x H, drawn for all latents). Attribute `seed` as in
#'   [stats::simulate()].
#' * `formula()`: the columns of the data, of a fit that was given a formula.
#' * `update()`: a fit. `fit$call`, of [stats::getCall()], is the call of [gps_fit()] that made a
#'   fit, as it was written, with the changes of `update()`; of a fit that went on the call of
#'   [gps_resume()], of a choice what [gps_choose()] says, and NULL of fits that [gps_denoise()] and
#'   [step_gpselect()] make of data of their own.
#' * `expectations()`: matrix n x H (where components have places: n x components, wherever they
#'   are), the posterior probability of each latent to be on (\eqn{\langle
#'   s_h \rangle}{<s_h>} under the truncated posterior; \eqn{\langle b_h \rangle}{<b_h>} in models
#'   with slabs); zero where it was not selected.
#' @seealso [predict.gps_fit()], [summary.gps_fit()], [plot.gps_fit()], [posterior_states()]
#' @examples
#' set.seed(1)
#' bars <- simulate_bars(100)
#' fit <- gps_fit(bars$y, model_binary_sparse(10), selector_full(), max_active = 3,
#'                control = gps_control(max_iter = 10, n_starts = 1))
#' fit
#' coef(fit)$sigma2
#' BIC(fit)
#' range(residuals(fit))
#' dim(expectations(fit))
#' str(simulate(fit, 1, seed = 1))
#' @order 1
#' @name fit-methods
NULL

#' @rdname fit-methods
#' @export
print.gps_fit <- function(x, digits = 7, ...) {
  digits <- shown_digits(digits, further(...))
  x <- check_fit(x)
  say(fit_title)
  cat(format_lines(describe_fit(x, digits)), sep = "")
  invisible(x)
}

fit_title <- "Fit by expectation maximisation with selection"

# Named vector of what print() says, one element a line. The bound has so many significant digits,
# that of a point three fewer, but not fewer than three.
describe_fit <- function(fit, digits = 7) {
  model <- fit$model
  kept <- if (is.null(fit$y)) ", not kept" else
    if (is_source(fit$y)) paste(", from", describe_source(fit$y))
  lines <- c(
    Model = format_model(model),
    Data = paste0(describe_size(fit), kept),
    Missing = if (isTRUE(fit$n_missing > 0)) {
      sprintf("%s, %.3g %% of all", plural(fit$n_missing, "cell"),
              100 * fit$n_missing / (as.double(fit$n_points) * model$n_dims))
    },
    Empty = describe_empty_rows(fit), "Left out" = describe_omitted(fit),
    Selector = if (isTRUE(fit$gp$all)) {
      "all latents, which take less time than learning to select"
    } else {
      describe_selector(fitted_selector(fit))
    },
    Selected = sprintf("%d of %s, at most %d on: %s a point%s", fit$n_selected,
                       describe_choices(model), fit$max_active, describe_states(fit),
                       if (is.null(fit$selected)) ", not kept" else ""),
    Inference = describe_method(fit), describe_budget(fit),
    Bound = paste0(sprintf("%s, %s %s", plain_number(fit$bound, digits),
                           plain_number(fit$bound / fit_weight(fit), max(3, digits - 3)),
                           if (is.null(fit$weights)) "a point" else "for a weight of 1"),
                   describe_error(fit)),
    Status = describe_status(fit), Starts = describe_starts(fit), describe_failures(fit),
    describe_unmended(fit), describe_standing(fit), describe_doubles(fit)
  )
  chosen <- fit$chosen$line
  if (is_line(chosen)) {
    lines <- append(lines, c(Chosen = chosen), match("Selected", names(lines)))
  }
  code <- user_functions(fit$selector)
  if (length(code) > 0) lines["Functions"] <- paste("of the user:", paste(code, collapse = ", "))
  lines
}

# Rows of which all cells are missing, where the fit has its data.
describe_empty_rows <- function(fit) {
  if (!isTRUE(fit$n_missing >= fit$model$n_dims) || !is.matrix(fit$y)) return(NULL)
  n <- sum(colSums(is.na(fit$y)) == nrow(fit$y))
  if (n == 0) return(NULL)
  verb <- if (n == 1) "has" else "have"
  sprintf("%s %s no value at all, as if nothing were known but the model", plural(n, "row"), verb)
}

# A line of print() on what minibatches leave out, NULL where nothing is.
describe_unmended <- function(fit) {
  if (is.null(fit$control$batch_size) || !fit$control$mend) return(NULL)
  again <- if (is.null(fit$y)) "update(fit, y = y, " else "update(fit, "
  c(Mending = sprintf("off in minibatches; %sstart = fit, control = gps_control()) goes on with it",
                      again))
}

describe_states <- function(fit) {
  n_states <- count_states(fit$model$rule, fit$n_selected, fit$max_active)
  paste(format_number(n_states), if (n_states == 1) "state" else "states")
}

describe_method <- function(fit) {
  if (fit$method == "exact") return("exact sums over the states")
  sweeps <- fit$control$sweeps
  reason <- if (fit$control$method == "gibbs") {
    "as asked for"
  } else if (fit$max_active > fit$model$exact_active) {
    sprintf("sums have no closed form with more than %d on", as.integer(fit$model$exact_active))
  } else {
    sprintf("more than %s states", format_number(state_limit))
  }
  sprintf("Gibbs sampling, %d sweep%s and %d draw%s a point (%s)", sweeps[1],
          if (sweeps[1] == 1) "" else "s", sweeps[2], if (sweeps[2] == 1) "" else "s", reason)
}

describe_error <- function(fit) {
  if (fit$method == "exact") return("")
  sprintf(" (an estimate, standard error %s in all)", plain_number(fit$bound_error, 3))
}

# The selector with what the fit has chosen for it.
fitted_selector <- function(fit) {
  selector <- resolve_selector(with_engine_of(fit$selector, fit), fit$model)
  selector[c("is_auto", "why")] <- fit$gp[c("is_auto", "why")]
  if (isTRUE(fit$gp$by_index)) selector$recall <- fit$gp$index$recall
  if (!may_explore(fit$n_selected, fit$model)) selector$explore <- 0
  selector
}

describe_selector <- function(selector) {
  if (is.null(selector$kernel)) return(format_selector(selector))
  kernel <- selector$kernel
  selector$kernel <- NULL
  sub("learned by a Gaussian process", sprintf("Gaussian process (%s)", kernel_label(kernel)),
      format_selector(selector), fixed = TRUE)
}

describe_status <- function(fit) {
  words <- switch(fit$status, converged = "converged after", max_iter = "stopped at the limit of",
                  time_limit = "out of time after", interrupted = "interrupted after", fit$status)
  if (is.null(fit$control$batch_size)) {
    return(paste0(words, " ", describe_iterations(fit), describe_late(fit)))
  }
  passes <- fit$n_iter / ceiling(count_counted(fit) / fit$control$batch_size)
  sprintf("%s %s (%s pass%s over the data)%s", words, plural(fit$n_iter, "update"),
          format(passes, digits = 2, decimal.mark = "."), if (passes == 1) "" else "es",
          describe_late(fit))
}

# Signatures of the functions a user supplied, which predict() will call.
user_functions <- function(selector) {
  given <- Filter(is.function, unclass(selector))
  sprintf("%s(%s)", names(given),
          vapply(given, function(f) paste(names(formals(args(f))), collapse = ", "), ""))
}

# Where one of several parameters is, of methods that give all of them.
part_way <- function(params) {
  if (!is.list(params) || length(params) == 0) return(NULL)
  sprintf("Parameters are a list: coef(fit)$%s is one of them.", names(params)[1])
}

# Where the same of new data is.
of_new_data <- function(type) {
  sprintf("predict(fit, newdata, type = %s) has them of new data.", quoted(type))
}

#' @rdname fit-methods
#' @export
coef.gps_fit <- function(object, ...) {
  refuse_unknown(further(...), character(), otherwise = part_way(object$params))
  object <- check_fit(object)
  name_params(object$params, object$model, object$col_names, object$latent_names)
}

#' @rdname fit-methods
#' @export
logLik.gps_fit <- function(object, ...) {
  refuse_unknown(further(...), character(), otherwise = of_new_data("loglik"))
  fit_bound(check_fit(object))
}

# The bound of a checked fit, as logLik() gives it; `degenerate`: why it has no maximum.
fit_bound <- function(fit) {
  reasons <- fit$standing$degenerate
  structure(fit$bound, df = count_free(fit$model, n_left(fit$model, fit$params)),
            nobs = fit_weight(fit), error = if (fit$method == "gibbs") fit$bound_error,
            degenerate = if (length(reasons) > 0) reasons, whole = if (is_whole(fit)) TRUE,
            class = c("gps_bound", "logLik"))
}

#' @export
print.gps_bound <- function(x, digits = getOption("digits"), ...) {
  digits <- shown_digits(digits, further(...))
  error <- attr(x, "error")
  need_made(is.numeric(x) && length(x) == 1 && is_number(attr(x, "df")) &&
              is_number(attr(x, "nobs")) && attr(x, "nobs") > 0 &&
              (is.null(error) || is_number(error)), "x", "logLik()")
  say(sprintf("%s: %s%s (df = %d, nobs = %.15g)", sub("^(.)", "\\U\\1", name_bound(x), perl = TRUE),
              format(c(x), digits = digits),
              if (is.null(error)) "" else sprintf(", estimated to %s", format(error, digits = 3)),
              as.integer(attr(x, "df")), attr(x, "nobs")))
  reasons <- attr(x, "degenerate")
  if (length(reasons) > 0) {
    say(paste("It has no maximum, and this depends on the lower limits of variances:",
              paste(reasons, collapse = "; ")))
  }
  invisible(x)
}

#' @rdname fit-methods
#' @export
nobs.gps_fit <- function(object, ...) {
  refuse_unknown(further(...), character())
  fit_weight(check_fit(object))
}

#' @rdname fit-methods
#' @export
fitted.gps_fit <- function(object, ...) {
  refuse_unknown(further(...), character(), otherwise = of_new_data("response"))
  stats::predict(check_fit(object), type = "response")
}

#' @rdname fit-methods
#' @export
residuals.gps_fit <- function(object, ...) {
  refuse_unknown(further(...), character(), otherwise = "They are the data less fitted(fit).")
  object <- check_fit(object)
  y <- need_matrix(object, "residuals()")
  shape_rows(t(y), object, object$row_names) - stats::predict(object, type = "response")
}

#' @importFrom stats coef fitted logLik nobs predict residuals simulate update
#' @rdname fit-methods
#' @export
simulate.gps_fit <- function(object, nsim = 1, seed = NULL, n = NULL, ...) {
  refuse_unknown(further(...), c("nsim", "seed", "n"))
  object <- check_fit(object)
  nsim <- check_count(nsim, "nsim")
  n <- if (is.null(n)) object$n_points else check_count(n, "n")
  repeats <- seed_of(seed)
  drawn <- with_user_seed(seed, with_memory(lapply(seq_len(nsim), function(i) {
    data <- gps_draw(object$model, object$params, n)
    data$y <- shape_rows(data$y, object, NULL)
    data$latents <- name_columns(data$latents, object$latent_names)
    data
  }), "`nsim` = %d data sets of `n` = %d points", nsim, n))
  structure(drawn, seed = repeats)
}

#' @rdname fit-methods
#' @export
update.gps_fit <- function(object, ...) {
  name <- substitute(object)
  object <- check_fit(object)
  known <- c(names(formals(gps_fit)), setdiff(names(formals(gps_control)), "..."))
  changes <- name_formula(further_beside(c("data", "formula", known))(...), "y",
                          sum_columns(object$col_names))
  formula <- changes$y
  written_as <- names(changes)
  if (inherits(changes$y, "formula") || !is.null(changes$data)) {
    changes$y <- data_again(changes$y, changes$data, object$col_names)
    changes["data"] <- NULL
  }
  names <- if (is.null(names(changes))) rep("", length(changes)) else names(changes)
  refuse_unknown(changes[!names %in% known], known, c("selector", "model"),
                 otherwise = "What changes has a name, as in update(fit, max_iter = 500).",
                 pages = c("gps_fit", "gps_control"), maker = model_maker(object$model))
  of_control <- setdiff(names(changes), names(formals(gps_fit)))
  control <- if (is.null(changes$control)) object$control else changes$control
  arguments <- list(model = object$model, selector = object$selector,
                    n_selected = given_n_selected(object, names(changes)),
                    max_active = given_max_active(object))
  if (inherits(if (is.null(changes$selector)) object$selector else changes$selector,
               "gps_selector_full")) {
    arguments["n_selected"] <- list(NULL)
  }
  arguments[names(changes)] <- changes
  arguments[of_control] <- NULL
  arguments$control <- change_control(control, changes[of_control])
  if (!is.null(changes$y) && !is.null(object$weights) && !"weights" %in% names(changes)) {
    gps_abort(paste("`weights` is missing: the fit has weights of its own data points. Give those",
                    "of `y`, or NULL for none."))
  }
  is_own <- is.null(arguments$y)
  if (is_own) arguments <- with_own_data(arguments, object, names(changes))
  fit <- do.call(gps_fit, arguments, quote = TRUE)
  # Rows that were left out of the data are not in them again.
  if (is_own) fit$omitted <- object$omitted
  written <- stats::setNames(as.list(match.call(expand.dots = FALSE)$...), written_as)
  # A formula as a call, in which a dot has become columns.
  if (inherits(formula, "formula")) written$y <- as.call(as.list(formula))
  call <- call_of_refit(object, name)
  # Data that are no formula are all that the call needs.
  if (!is.null(formula) && !inherits(formula, "formula")) call$data <- NULL
  call <- changed_call(call, written, of_control)
  fit["call"] <- list(call_selecting(call, arguments$n_selected))
  fit
}

# NULL where the number was left to the model, so that it may follow a change of that. Fits without
# a call do not know. One that was chosen stays, but for another model, other data or limits of its
# choice it is chosen anew.
given_n_selected <- function(fit, changed = character()) {
  was_chosen <- !is.null(fit$chosen) || identical(fit$call$n_selected, "auto")
  if (was_chosen && any(c("model", "y", "data", "selector", "weights", "max_active",
                          "target_mass") %in% changed)) return("auto")
  if (is.null(fit$call) || is_resumed(fit) || !is.null(fit$call$n_selected)) fit$n_selected
}

# NULL where all selected latents could be on, so that it may follow a change of n_selected.
given_max_active <- function(fit) {
  if (fit$max_active < min(fit$n_selected, fit$model$rule$max_active)) fit$max_active
}

change_control <- function(control, changes) {
  values <- unclass(check_control(control))
  values[names(changes)] <- changes
  is_dropped <- "checkpoint" %in% names(changes) && is.null(changes$checkpoint)
  if (is_dropped) values["checkpoint_every"] <- list(NULL)
  do.call(gps_control, values, quote = TRUE)
}

#' @rdname fit-methods
#' @export
expectations <- function(fit) {
  need_given()
  fit <- check_fit(fit)
  check_dense(fit$n_points, count_choices(fit$model), "expectations()", dense_types$prob)
  component_probs(fit)
}

# Whether a sampled fit ended while its bound went up and down, rather than up.
ended_swinging <- function(fit) {
  trace <- utils::tail(fit$trace, 2 * settle_window)
  if (fit$method != "gibbs" || !is.null(fit$control$batch_size) || fit$status == "converged" ||
      nrow(trace) < 2 * settle_window || any(trace$explore > 0)) return(FALSE)
  has_settled(trace$bound, 1e-12, TRUE) &&
    is_swinging(trace$bound, trace$bound_error, fit_weight(fit))
}

describe_iterations <- function(fit) {
  paste0(plural(fit$n_iter, "iteration"), if (ended_swinging(fit))
    ", its bound going up and down by more than its error" else if (ended_alternating(fit))
    ", its selections alternating, which `polish` ends")
}

# Whether points went from one selection to another and back at the end of a fit without polish.
ended_alternating <- function(fit) {
  trace <- utils::tail(fit$trace, settle_window)
  !fit$control$polish && may_alternate(fit, !is.null(fit$control$batch_size)) &&
    !any(trace$explore > 0) && falls_again(trace$bound, 1e-6 * fit_weight(fit))
}
