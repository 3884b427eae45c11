# Gaussian-process regression for users: rows are data points. Everything is computed by gp.R, where
# columns are.

#' Gaussian-process regression of many targets at once
#'
#' Exact Gaussian-process regression with one kernel shared by all targets: one factorisation serves
#' all of them. The kernel's parameters maximise the log marginal likelihood; its gradient is exact.
#'
#' With \eqn{K} the kernel matrix including its white noise, and targets \eqn{T} (n x H),
#' \deqn{\log p(T) = -\frac12 \mathrm{tr}(T^\top K^{-1} T) - \frac H2 \log|K|
#'   - \frac{nH}2 \log 2\pi}{
#'   log p(T) = -1/2 tr(T' K^-1 T) - H/2 log|K| - n H / 2 log(2 pi)}
#' (Rasmussen and Williams 2006, eq. 2.30, summed over targets). The targets are not centred: the
#' prior mean is zero, and `kernel_bias()` learns a common level.
#'
#' A kernel made of linear, bias and white terms only is degenerate: with fewer dimensions than
#' points everything is done in second moments, exactly, in time that grows linearly with n. Any
#' other kernel needs matrices of n x n and at most 20,000 points.
#'
#' The parameters are sought within wide bounds around the scales of the data: variances within
#' `1e-6` to `1e3` of the mean square of the targets (white noise: at least `1e-6` of it),
#' lengthscales within 0.02 to 50 of the median distance. The marginal likelihood can have several
#' maxima; the search starts at the kernel's own values.
#'
#' Where the kernel matrix cannot be factorised, the smallest of a ladder of small numbers that
#' helps is added to its diagonal and reported as `jitter`.
#'
#' @param x Numeric matrix or data frame, n x D, rows are data points; or a vector of n numbers.
#'   Finite values.
#' @param targets Numeric matrix or data frame, n x H, or a vector of length n. Finite values.
#' @param kernel A kernel, see [kernels].
#' @param method `"exact"`. Approximations are not built yet.
#' @param optimise `TRUE`: learn the kernel's parameters; `FALSE`: keep those of `kernel`.
#' @param max_evals Whole number of at least 1: cap on the evaluations of the marginal likelihood.
#' @param n_threads number of threads, a whole number of at least 1, or `NULL`: see [gps_control()].
#'   The result does not depend on it.
#' @return An object of class `gp_fit`, a list with `kernel` (with the fitted parameters), `theta`
#'   (named vector of log parameters), `x` (n x D), `targets` (n x H), `lml` (log marginal
#'   likelihood), `jitter`, `method`, `form` (`"dense"` or `"features"`), `trace` (data frame of the
#'   optimiser's evaluations: `evaluation`, `lml`), `converged` (`FALSE` if the cap on evaluations
#'   ended the search, `NA` without a search). It has methods for `predict()`, `fitted()`,
#'   `residuals()`, `coef()`, `logLik()`, `nobs()`, `summary()` and `plot()`; [gp_loo()] gives
#'   leave-one-out predictions, [gp_gradient()] the gradient.
#' @references Rasmussen and Williams (2006) *Gaussian Processes for Machine Learning*, chapters 2
#'   and 5.
#' @examples
#' x <- seq(0, 6, length.out = 40)
#' fit <- gp_fit(x, cbind(sin(x), cos(x)), kernel_rbf() + kernel_white(0.01))
#' fit
#' predict(fit, c(1.5, 2.5))
#' @export
gp_fit <- function(x, targets, kernel = kernel_composition(), method = "exact", optimise = TRUE,
                   max_evals = 100, n_threads = NULL) {
  x <- check_points(x, "x")
  targets <- check_points(targets, "targets")
  if (nrow(targets) != nrow(x)) {
    gps_abort(sprintf(
      "`targets` must have one row per row of `x`: %d, not %d.", nrow(x), nrow(targets)
    ))
  }
  check_kernel(kernel, "kernel")
  check_gp_method(method)
  optimise <- check_flag(optimise, "optimise")
  max_evals <- check_count(max_evals, "max_evals")
  n_threads <- resolve_threads(n_threads)
  has_features <- uses_features(kernel, ncol(x), nrow(x))
  if (!has_features) check_dense_size(nrow(x))
  y <- t(x)
  goal <- t(targets)
  theta <- gp_theta(kernel, y)
  if (optimise) {
    found <- gp_refit(kernel, theta, y, goal, max_evals, n_threads, gain = 1e-7, noise_floor = 1e-6)
  } else {
    found <- gp_evaluate(kernel, theta, y, goal, 0, n_threads)
    found <- list(theta = theta, value = found$value, jitter = found$jitter, values = found$value)
  }
  warn_ill_conditioned(kernel, found$theta, y, found$jitter)
  structure(
    list(
      kernel = kernel_with_theta(kernel, found$theta, ncol(x)), theta = found$theta,
      x = x, targets = targets,
      lml = found$value, jitter = found$jitter, method = "exact",
      form = if (has_features) "features" else "dense",
      trace = data.frame(evaluation = seq_along(found$values), lml = found$values),
      converged = if (optimise) length(found$values) < max_evals else NA
    ),
    class = "gp_fit"
  )
}

# A matrix with points in rows; a bare vector is one column.
check_points <- function(x, arg) {
  if (is.numeric(x) && is.null(dim(x)) && !is.factor(x) && length(x) > 0) x <- matrix(x, ncol = 1)
  check_matrix(x, arg)
}

check_gp_method <- function(method) {
  known <- c("auto", "exact", "ichol", "inducing", "fourier", "divide")
  method <- check_choice(method, "method", known)
  if (!method %in% c("auto", "exact")) {
    gps_abort(sprintf(
      "The method %s is not built yet: `method` must be \"exact\".", dQuote(method, FALSE)
    ))
  }
  method
}

# The error of what follows from the inverse is about the machine's precision times the condition
# number, which is at most the trace of K over its noise.
warn_ill_conditioned <- function(kernel, theta, y, jitter, limit = 1e12) {
  terms <- kernel_with_theta(kernel, theta, nrow(y))$terms
  diagonal <- vapply(terms, function(term) {
    if (term$type == "linear") sum(term$variance * rowMeans(y^2)) else term$variance
  }, 0)
  noise <- white_variance(kernel, theta, nrow(y)) + jitter
  if (noise > 0 && ncol(y) * (sum(diagonal) + jitter) > limit * noise) {
    cure <- if (has_white(kernel)) "" else " Noisy or repeated data need a kernel_white() term."
    gps_warn(sprintf(
      paste0(
        "The kernel matrix is nearly singular (condition number up to %.1g): ",
        "predictions may be inaccurate.%s"
      ),
      ncol(y) * sum(diagonal) / noise, cure
    ))
  }
}

#' Leave-one-out prediction of a Gaussian process
#'
#' Prediction of each data point's targets from all other points, with the kernel's parameters as
#' they are, in closed form:
#' \eqn{\mu_n = t_n - [K^{-1}T]_n / [K^{-1}]_{nn}}{mu_n = t_n - [K^-1 T]_n / [K^-1]_nn} and
#' \eqn{\sigma^2_n = 1/[K^{-1}]_{nn}}{sigma^2_n = 1 / [K^-1]_nn} (Rasmussen and Williams 2006, eq.
#' 5.12; eq. 5 of the paper). The same numbers as n fits that leave out one point each, at the cost
#' of one.
#'
#' @param fit An object of class `gp_fit`.
#' @param n_threads See [gp_fit()].
#' @return A list with `mean`, n x H, and `variance`, n numbers: the variance of the left-out
#'   observation, noise included, the same for all targets.
#' @examples
#' x <- seq(0, 6, length.out = 30)
#' fit <- gp_fit(x, sin(x), kernel_rbf() + kernel_white(0.01))
#' loo <- gp_loo(fit)
#' sqrt(mean((loo$mean - fit$targets)^2))
#' @export
gp_loo <- function(fit, n_threads = NULL) {
  check_gp_fit(fit, "fit")
  loo <- gp_loo_moments(
    fit$kernel, fit$theta, t(fit$x), t(fit$targets), fit$jitter, resolve_threads(n_threads)
  )
  mean <- t(loo$mean)
  dimnames(mean) <- dimnames(fit$targets)
  list(mean = mean, variance = stats::setNames(loo$variance, rownames(fit$targets)))
}

#' Gradient of a Gaussian process's log marginal likelihood
#'
#' @param fit An object of class `gp_fit`.
#' @param n_threads See [gp_fit()].
#' @return Named numeric vector: derivatives by the log parameters of `coef(fit)`, at their values.
#' @examples
#' x <- seq(0, 6, length.out = 30)
#' fit <- gp_fit(x, sin(x), kernel_rbf() + kernel_white(0.01), optimise = FALSE)
#' gp_gradient(fit)
#' @export
gp_gradient <- function(fit, n_threads = NULL) {
  check_gp_fit(fit, "fit")
  gp_evaluate(
    fit$kernel, fit$theta, t(fit$x), t(fit$targets), fit$jitter, resolve_threads(n_threads)
  )$gradient
}

# A fit may come from a file: what the methods rely on is looked at before C sees it.
check_gp_fit <- function(fit, arg) {
  check_class(fit, arg, "gp_fit", "an object of class gp_fit")
  is_points <- function(x) is.matrix(x) && is.double(x) && length(x) > 0 && all(is.finite(x))
  is_sound <- is.list(fit) && inherits(fit$kernel, "gps_kernel") && is_points(fit$x) &&
    is_points(fit$targets) && nrow(fit$x) == nrow(fit$targets) && is_number(fit$lml) &&
    is_number(fit$jitter) && is.double(fit$theta) && all(is.finite(fit$theta)) &&
    is_kernel_sound(fit$kernel) && length(fit$theta) == length(theta_names(fit$kernel, ncol(fit$x)))
  if (!is_sound) gps_abort(sprintf("`%s` is damaged: it does not hold what gp_fit() makes.", arg))
  invisible(fit)
}

check_kernel <- function(kernel, arg) {
  check_class(kernel, arg, "gps_kernel", "a kernel, as made by a kernel_*() function")
  if (!is_kernel_sound(kernel)) {
    gps_abort(sprintf("`%s` is damaged: it does not hold what a kernel_*() function makes.", arg))
  }
}

is_kernel_sound <- function(kernel) {
  is_scale <- function(x) is.double(x) && length(x) > 0 && !anyNA(x)
  is.list(kernel) && is.list(kernel$terms) && length(kernel$terms) > 0 &&
    all(vapply(kernel$terms, function(term) {
      is.list(term) && is.character(term$type) && length(term$type) == 1 &&
        term$type %in% names(kernel_types) && (isTRUE(term$ard) || isFALSE(term$ard)) &&
        is_scale(term$variance) && (is.null(term$lengthscale) || is_scale(term$lengthscale))
    }, NA))
}
