# Methods of gp_fit.

#' Methods for Gaussian-process fits
#'
#' @param object,x An object of class `gp_fit`.
#' @param nsim number of draws, a whole number of at least 1.
#' @param seed NULL, or an integer for [set.seed()]; the session's generator is put back afterwards.
#' @param newdata Numeric matrix or data frame, m x D, rows are points; a vector of length D is one
#'   point, and with D = 1 a vector is m points. Columns are matched by name where both have names.
#'   Missing: the data. Of no rows the result has none.
#' @param n_threads See [gp_fit()].
#' @param noise `TRUE`: `variance` is that of a new observation, the noise of the kernel's white
#'   terms included; `FALSE`: of the function.
#' @param interval `"none"`; `"confidence"`: of the function; `"prediction"`: of a new observation.
#' @param level Number between 0 and 1: probability of the interval.
#' @param se.fit `TRUE`: standard deviations too.
#' @param digits Number of significant digits to print.
#' @param ... `update()`: arguments to change. Else nothing; an unknown argument is an error that
#'   says which there are.
#' @return `predict()`: a list with `mean`, m x H, and `variance`, m numbers, the same for all
#'   targets: of the function, without the noise of an observation, or with it (`noise`). With an
#'   `interval` also `lower` and `upper`, m x H: quantiles of a normal distribution of that mean.
#'   With `se.fit` also `se.fit`, the root of `variance`. `simulate()`: a list of `nsim` matrices
#'   m x H, draws of new observations (with `noise = FALSE` of the function) at all points of
#'   `newdata` together given the data, with the attribute `seed` as in [stats::simulate()]; for
#'   method `"exact"`. `update()`: a fit with other arguments of [gp_fit()], by name; the search
#'   begins at the kernel that was given, and with `optimise = FALSE` the kernel that was found is
#'   kept. Arguments that another `method` has no use for are dropped. New `data` are read by the
#'   fit's formula, or by another: `update(fit, . ~ . + b, data = d)`. `fit$call`, of
#'   [stats::getCall()], is the call as it was written, with the changes. `formula()`: that of a fit
#'   by a formula. `fitted()` and `residuals()`: n x H. `coef()`: named vector of log parameters.
#'   `logLik()`: the log marginal likelihood of all targets, of the approximation if it is one, with
#'   `df` the number of parameters that were learned in this fit, coordinates of inducing points
#'   included (with `optimise = FALSE` no more than the coefficients of a trend), and `nobs`, as of
#'   `nobs()`, the number of data points. `sigma()`: standard deviation of the kernel's white noise.
#'   `summary()`: a list of `fit`, `coefficients` (log parameters, and their exponentials), `lml`,
#'   and of leave-one-out prediction `loo_r2`, the share of the targets' variance that it explains,
#'   and `loo_log_score`, its mean log density.
#' @seealso [gp_fit()], [plot.gp_fit()], [gp_loo()]
#' @examples
#' set.seed(1)
#' x <- seq(0, 6, length.out = 40)
#' fit <- gp_fit(x, sin(x) + rnorm(40, sd = 0.1), kernel_rbf() + kernel_white(0.01))
#' predict(fit, c(1, 2.5), interval = "prediction", level = 0.9)
#' summary(fit)
#' str(simulate(fit, 2, seed = 1, newdata = c(7, 8)))
#' update(fit, kernel = kernel_matern() + kernel_white(0.01), trend = "constant")
#' @order 1
#' @name gp_fit-methods
NULL

#' @rdname gp_fit-methods
#' @export
predict.gp_fit <- function(object, newdata = NULL, n_threads = NULL, noise = FALSE,
                           interval = c("none", "confidence", "prediction"), level = 0.95,
                           se.fit = FALSE, ...) {
  is_whole <- is.null(newdata) || !inherits(object, "gp_fit") || is.null(unclass(object)$sums)
  check_gp_fit(object, "object", points = is_whole)
  refuse_gp(further(...), setdiff(names(formals(predict.gp_fit)), "object"), object)
  noise <- check_flag(noise, "noise")
  interval <- check_choice(interval, "interval", c("none", "confidence", "prediction"))
  if (!is_number(level) || level <= 0 || level >= 1) {
    abort_value(level, "level", "a number between 0 and 1, exclusively")
  }
  se.fit <- check_flag(se.fit, "se.fit")
  newdata <- if (is.null(newdata)) object$x else align_newdata(newdata, object$x, TRUE)
  moments <- gp_moments(object, newdata, resolve_threads(n_threads), is_whole)
  check_moments(moments)
  mean <- t(moments$mean)
  dimnames(mean) <- list(rownames(newdata), colnames(object$targets))
  if (is.null(rownames(newdata)) && is.null(colnames(object$targets))) dimnames(mean) <- NULL
  variance <- stats::setNames(moments$variance, rownames(newdata))
  observed <- variance + white_variance(object$kernel, object$theta, ncol(object$x))
  result <- list(mean = mean, variance = if (noise) observed else variance)
  if (se.fit) result$se.fit <- sqrt(result$variance)
  if (interval == "none") return(result)
  half <- stats::qnorm((1 + level) / 2) * sqrt(if (interval == "confidence") variance else observed)
  c(result, list(lower = mean - half, upper = mean + half))
}

# list(mean [H x m], variance) of the function at new points.
gp_moments <- function(fit, newdata, n_threads, is_whole = TRUE) {
  if (nrow(newdata) == 0) return(list(mean = matrix(0, ncol(fit$targets), 0), variance = numeric()))
  engine <- trained_engine(fit, n_threads, has_data = is_whole || !is.null(fit$trend))
  found <- engine_predict(engine, t(newdata), moments = TRUE)
  if (is.null(fit$trend)) found else add_trend(found, fit, engine, newdata)
}

# Sums over points far out overflow; an infinite or undefined prediction is none.
check_moments <- function(moments) {
  bad <- which(!is.finite(colSums(moments$mean) + moments$variance))
  if (length(bad) > 0) {
    gps_abort(sprintf("The prediction at row %d of `newdata` is not finite: far out?", bad[1]),
              "numeric")
  }
}

# New points with the columns of the data the fit has seen, as match_columns() finds them.
align_newdata <- function(newdata, x, allow_empty = FALSE) {
  newdata <- plain_numbers(newdata)
  refuse_class(newdata, "newdata")
  if ((is.numeric(newdata) || is.logical(newdata)) && length(dim(newdata)) < 2) {
    newdata <- if (ncol(x) == 1) {
      matrix(newdata, ncol = 1)
    } else {
      refuse_part(newdata, x)
      matrix(newdata, nrow = 1, dimnames = list(NULL, names(newdata)))
    }
  }
  refuse_absent(newdata, colnames(x))
  newdata <- pick_columns(newdata, colnames(x), "newdata", "the fit's inputs")
  check_matrix(newdata, "newdata", n_cols = ncol(x), allow_empty = allow_empty,
               cure = " Leave the row out.")
}

#' @rdname gp_fit-methods
#' @export
fitted.gp_fit <- function(object, ...) {
  refuse_gp(further(...))
  mean <- stats::predict(object)$mean
  dimnames(mean) <- dimnames(object$targets)
  mean
}

#' @rdname gp_fit-methods
#' @export
residuals.gp_fit <- function(object, ...) {
  refuse_gp(further(...), otherwise = "They are the targets less fitted(fit).")
  object$targets - stats::fitted(object)
}

#' @rdname gp_fit-methods
#' @export
coef.gp_fit <- function(object, ...) {
  refuse_gp(further(...), otherwise = "Parameters have names: coef(fit)[\"log_len\"].")
  check_gp_fit(object, "object")
  object$theta
}

#' @rdname gp_fit-methods
#' @export
logLik.gp_fit <- function(object, ...) {
  refuse_gp(further(...))
  check_gp_fit(object, "object")
  inputs <- if (has_learned_inputs(object)) length(object$basis$z) else 0L
  n_learned <- if (isFALSE(object$given$optimise)) 0L else
    length(object$theta) - length(object$fixed) + inputs
  df <- n_learned + length(object$trend$beta)
  structure(object$lml, df = df, nobs = nrow(object$x), class = "logLik")
}

#' @rdname gp_fit-methods
#' @export
simulate.gp_fit <- function(object, nsim = 1, seed = NULL, newdata = NULL, noise = TRUE, ...) {
  check_gp_fit(object, "object", points = TRUE)
  refuse_gp(further(...), c("nsim", "seed", "newdata", "noise"), object)
  nsim <- check_count(nsim, "nsim")
  noise <- check_flag(noise, "noise")
  if (object$method != "exact") {
    gps_abort(sprintf(paste(
      "simulate() needs the covariance of all new points, which method \"exact\" alone has, not",
      "\"%s\": update(fit, method = \"exact\", optimise = FALSE), or predict() for each point."
    ), object$method))
  }
  newdata <- if (is.null(newdata)) object$x else align_newdata(newdata, object$x, TRUE)
  drawn <- with_memory(joint_moments(object, newdata, noise), "`simulate()` at %s",
                       plural(nrow(newdata), "point"))
  repeats <- seed_of(seed)
  names <- list(rownames(newdata), colnames(object$targets))
  result <- with_user_seed(seed, lapply(seq_len(nsim), function(i) {
    shape <- dim(drawn$mean)
    y <- drawn$mean + drawn$root %*% matrix(stats::rnorm(prod(shape)), shape[1], shape[2])
    if (!all(vapply(names, is.null, NA))) dimnames(y) <- names
    y
  }))
  structure(result, seed = repeats)
}

# list(mean [m x H], root [m x m]): a square root of the joint covariance at new points. Values
# between two sets of points are what an engine predicts at one from weights of 1 at the other.
joint_moments <- function(fit, newdata, noise) {
  if (nrow(newdata) == 0) {
    return(list(mean = matrix(0, 0, ncol(fit$targets)), root = matrix(0, 0, 0)))
  }
  prepared <- prepared_engine(fit, 1L)
  own <- fit_values(fit, t(newdata), t(newdata))
  across <- fit_values(fit, t(newdata), t(fit$x))
  explained <- engine_predict(engine_train(prepared, across), t(newdata), moments = TRUE)$mean
  covariance <- own - explained
  if (!is.null(fit$trend)) {
    unknown <- trend_unknown(fit, prepared, newdata)
    covariance <- covariance + unknown %*% fit$trend$spread %*% t(unknown)
  }
  white <- if (noise) white_variance(fit$kernel, fit$theta, ncol(fit$x)) else 0
  parts <- eigen((covariance + t(covariance)) / 2, symmetric = TRUE)
  values <- sqrt(pmax(parts$values, 0) + white)
  list(mean = t(gp_moments(fit, newdata, 1L)$mean),
       root = parts$vectors * rep(values, each = nrow(newdata)))
}

# Values of the kernel without its noise between the columns of a [D x n] and b [D x m].
fit_values <- function(fit, a, b) {
  engine <- hold_data(new_engine("exact"), fit$kernel, fit$theta, a, 1L)
  engine$alpha <- diag(ncol(a))
  engine_predict(engine, b)$mean
}

#' @rdname gp_fit-methods
#' @export
update.gp_fit <- function(object, ...) {
  check_gp_fit(object, "object", points = TRUE)
  known <- setdiff(names(formals(gp_fit)), "...")
  changes <- further_beside(c("formula", known))(...)
  if (inherits(changes$formula, "formula")) names(changes)[names(changes) == "formula"] <- ""
  changes <- name_formula(changes, "x", gp_columns_formula(object))
  names <- if (is.null(names(changes))) rep("", length(changes)) else names(changes)
  refuse_unknown(changes[!names %in% known], known, pages = "gp_fit",
                 otherwise = "What changes has a name, as in update(fit, trend = \"linear\").")
  if (is.null(object$given)) {
    gps_abort("update() needs the arguments of gp_fit(), which a fit of an earlier version lacks.")
  }
  arguments <- given_again(object, changes)
  if (is.null(changes$data)) {
    arguments <- c(list(x = object$x, targets = object$targets), arguments)
  } else if (!inherits(changes$x, "formula")) {
    arguments <- c(list(x = stats::formula(object)), arguments)
  }
  arguments[names(changes)] <- changes
  fit <- do.call(gp_fit, arguments, quote = TRUE)
  call <- object$call
  # A kernel that was found stands in the fit, not in the call.
  is_found <- !"kernel" %in% names(changes) && !identical(arguments$kernel, object$given$kernel)
  if (!is.null(call) && is_found) call$kernel <- call("$", substitute(object), quote(kernel))
  written <- stats::setNames(as.list(match.call(expand.dots = FALSE)$...), names(changes))
  if (inherits(changes$x, "formula")) written$x <- as.call(as.list(changes$x))
  # Data may stand in the place of the targets.
  if (!is.null(changes$data)) call$targets <- NULL
  fit["call"] <- list(changed_call(call, written, character(), "gp_fit"))
  fit
}

# What a fit was given, as far as it goes with the changes: what the new method has no use for is
# left out, and where nothing is sought any more the kernel is the one that was found.
given_again <- function(fit, changes) {
  given <- fit$given
  usual <- formals(gp_fit)
  reset <- function(given, names) {
    given[names] <- lapply(usual[names], eval)
    given
  }
  if (is_one_of(changes$method, gp_methods)) {
    of_methods <- unique(unlist(lapply(engines, `[[`, "own")))
    kept <- if (changes$method == "auto") "rank" else engines[[changes$method]]$own
    given <- reset(given, setdiff(of_methods, kept))
  }
  if (isFALSE(changes$optimise) && !isFALSE(given$optimise)) {
    given$kernel <- fit$kernel
    given <- reset(given, c("fixed", "lower", "upper", "learn_inputs"))
  }
  given
}

# The formula of a fit with its columns written out, or NULL.
gp_columns_formula <- function(fit) {
  if (is.null(fit$formula)) return(NULL)
  formula <- fit$formula
  formula[[3]] <- sum_columns(colnames(fit$x))[[2]]
  formula
}

#' @rdname gp_fit-methods
#' @export
formula.gp_fit <- function(x, ...) {
  refuse_gp(further(...))
  check_gp_fit(x, "x")
  if (!is.null(x$formula)) return(x$formula)
  gps_abort("formula() is not for a Gaussian process that was fitted to a matrix.")
}

#' @importFrom stats coef fitted formula logLik nobs predict residuals
#' @rdname gp_fit-methods
#' @export
nobs.gp_fit <- function(object, ...) {
  extra <- further(...)
  refuse_gp(extra[setdiff(seq_along(extra), which(names(extra) == "use.fallback"))])
  check_gp_fit(object, "object")
  nrow(object$x)
}

describe_gp_fit <- function(x, digits) {
  number <- function(value) plain_number(value, digits)
  say(sprintf(
    "Gaussian process (%s): %s, %s, %s", x$method, plural(nrow(x$x), "point"),
    plural(ncol(x$x), "dimension"), plural(ncol(x$targets), "target")
  ))
  if (!is.null(x$why)) say(sprintf("Method %s was chosen: %s.", x$method, x$why))
  engine <- engine_story(new_engine(x$method), x, number)
  if (!is.null(engine$what)) say(engine$what)
  cat(paste0(unlist(lapply(format(x$kernel), wrap_text, "  ", 4)), "\n"), sep = "")
  describe_trend(x, number)
  say(sprintf("Log marginal likelihood%s: %s", engine$of, number(x$lml)))
  if (isFALSE(x$converged)) {
    say(sprintf("The search stopped at `max_evals`: %s.", plural(nrow(x$trace), "evaluation")))
  }
  describe_limits(x)
  if (isTRUE(x$is_logical)) say("The targets are logical: FALSE is 0, TRUE is 1.")
  if (x$jitter > 0) say(sprintf("Added to the diagonal: %s", number(x$jitter)))
}

# The trend in a line, of the first target where there are several.
describe_trend <- function(x, number) {
  if (is.null(x$trend)) return(invisible())
  shown <- utils::head(x$trend$coefficients[, 1], 8)
  names(shown) <- utils::head(rownames(x$trend$coefficients), 8)
  more <- nrow(x$trend$coefficients) - length(shown)
  say(sprintf("Trend%s: %s%s", if (ncol(x$targets) > 1) " of the first target" else "",
              paste(names(shown), vapply(shown, number, ""), collapse = ", "),
              if (more > 0) sprintf(", and %d more", more) else ""))
}

# Parameters that are where they are because of a limit, or because they were to stay.
describe_limits <- function(x) {
  for (side in unique(x$limits)) {
    say(sprintf("At the %s limit of the search (argument `%s`), so no maximum: %s", side, side,
                shorten_names(names(x$limits)[x$limits == side])))
  }
  idle <- idle_columns(x$kernel, x$x)
  if (length(idle) > 0) {
    say(sprintf("Lengthscales far beyond the data, so that nothing depends on: %s",
                shorten_names(if (is.null(colnames(x$x))) idle else colnames(x$x)[idle])))
  }
  if (length(x$fixed) > 0 && !is.na(x$converged)) {
    say(sprintf("Fixed: %s", shorten_names(x$fixed)))
  }
}

# Columns across whose range no term changes by a share of 1e-4.
idle_columns <- function(kernel, x) {
  factors <- Filter(function(factor) !factor$type %in% c("bias", "white"), kernel_factors(kernel))
  is_each <- vapply(factors, function(factor) {
    factor$ard && identical(length_part(factor), "lengthscale")
  }, NA)
  if (!all(is_each) || length(factors) == 0) return(integer())
  lengths <- do.call(pmin, lapply(factors, `[[`, "lengthscale"))
  which(apply(x, 2, function(column) diff(range(column))) < 0.01 * lengths)
}

#' @rdname gp_fit-methods
#' @export
print.gp_fit <- function(x, digits = 5, ...) {
  digits <- shown_digits(digits, further(...))
  check_gp_fit(x, "x", points = TRUE)
  describe_gp_fit(x, digits)
  invisible(x)
}

#' @export
print.gp_loo <- function(x, digits = 7, ...) {
  print(unclass(x), digits = shown_digits(digits, further(...)))
  invisible(x)
}

#' @rdname gp_fit-methods
#' @export
summary.gp_fit <- function(object, ...) {
  refuse_gp(further(...))
  check_gp_fit(object, "object", points = TRUE)
  loo <- gp_loo(object)
  log_score <- stats::dnorm(object$targets, loo$mean, sqrt(loo$variance), log = TRUE)
  structure(
    list(
      fit = object, coefficients = cbind(log = object$theta, value = exp(object$theta)),
      lml = object$lml, loo_r2 = gp_loo_r2(t(object$targets), t(loo$mean)),
      loo_log_score = mean(log_score)
    ),
    class = "summary.gp_fit"
  )
}

#' @export
coef.summary.gp_fit <- function(object, ...) {
  refuse_gp(further(...))
  need_made(is.numeric(object$coefficients), "object", "summary()")
  object$coefficients
}

#' @rdname gp_fit-methods
#' @export
print.summary.gp_fit <- function(x, digits = 5, ...) {
  digits <- shown_digits(digits, further(...))
  need_made(is.numeric(x$coefficients) && is_number(x$loo_r2) && is_number(x$loo_log_score), "x",
            "summary()")
  check_gp_fit(x$fit, "x$fit", points = TRUE)
  describe_gp_fit(x$fit, digits)
  cat("Parameters:\n")
  print(x$coefficients, digits = digits)
  say(sprintf("Leave-one-out: R squared %s, mean log density %s",
              plain_number(x$loo_r2, 3), plain_number(x$loo_log_score, 3)))
  invisible(x)
}
