# The basis of kernels that are linear in the data, which is exact: the features are the data and a
# constant. An evaluation takes what their moments take, whatever the number of points.

# `noise`: by number the log parameters that are the variances of no feature.
plan_linear <- function(engine, kernel, theta, y, n_threads) {
  features <- linear_features(kernel, nrow(y))
  basis <- list(n_dims = nrow(y), features = features, noise = which(lengths(features) == 0))
  class(basis) <- c("gps_basis_linear", "gps_basis")
  held <- unclass(engine)
  held$basis <- basis
  held <- hold_data(held, kernel, theta, y, n_threads, code = NULL)
  class(held) <- c("gps_engine_linear", "gps_engine_basis", "gps_engine")
  held
}

#' @export
engine_keep.gps_engine_linear <- function(engine, targets) NULL

# Of each log parameter the features of whose variances it is a part, by number; none of those of
# the noise.
linear_features <- function(kernel, n_dims) {
  features <- list()
  for (term in kernel$terms) {
    of_term <- switch(term$type, white = list(integer()), bias = list(n_dims + 1L),
                      if (term$ard) as.list(seq_len(n_dims)) else list(seq_len(n_dims)))
    features <- c(features, of_term)
  }
  features
}

# Variances of the dimensions and of a constant 1.
linear_variances <- function(features, value, n_dims) {
  variance <- numeric(n_dims + 1)
  for (h in seq_along(value)) variance[features[[h]]] <- variance[features[[h]]] + value[[h]]
  variance
}

#' @export
basis_noise.gps_basis_linear <- function(basis, kernel, theta) {
  sum(exp(theta[basis$noise]))
}

#' @export
basis_features.gps_basis_linear <- function(basis, kernel, theta, y, n_threads = 1L) {
  variance <- linear_variances(basis$features, exp(theta), nrow(y))
  features <- .Call(C_gp_linear_features, sqrt(variance), y)
  list(features = features, scale = NULL, residual = numeric(ncol(y)))
}

# As the engine of any basis does, in one routine: these features leave nothing of the kernel.
#' @export
engine_prepare.gps_engine_linear <- function(engine, theta, jitter = 0, many = FALSE, sums = NULL) {
  held <- unclass(engine)
  basis <- held$basis
  noise <- basis_noise(basis, held$kernel, theta)
  scale <- sqrt(linear_variances(basis$features, exp(theta), basis$n_dims))
  found <- .Call(C_gp_linear_prepare, scale, held$y, noise)
  held$theta <- theta
  held$noise <- noise + found$jitter
  held[names(found)] <- found
  class(held) <- class(engine)
  held
}

# Moments of the points with a 1 below.
linear_moments <- function(engine, goal) {
  ones <- .Call(C_gp_linear_features, rep(1, nrow(engine$y) + 1), engine$y)
  list(gram = .Call(C_gp_gram, ones), cross = tcrossprod(ones, goal$root),
       square = sum(goal$root^2))
}

#' @export
engine_share.gps_engine_linear <- function(engine, goal) {
  replace(engine, "shared", list(linear_moments(engine, goal)))
}

# With B = FF' + noise of the scaled features F, T'T = B^-1 and W = B^-1 F targets'.
#' @export
basis_evaluate.gps_basis_linear <- function(basis, engine, theta, goal) {
  shared <- if (is.null(engine$shared)) linear_moments(engine, goal) else engine$shared
  features <- basis$features
  value <- exp(theta)
  variance <- linear_variances(features, value, basis$n_dims)
  scale <- sqrt(variance)
  white <- basis_noise(basis, engine$kernel, theta)
  n_points <- ncol(engine$y)
  found <- .Call(C_gp_transform, shared$gram * tcrossprod(scale), white, n_points)
  noise <- white + found$jitter
  root <- found$transform %*% (scale * shared$cross)
  weights <- crossprod(found$transform, root)
  inverse <- colSums(found$transform^2)
  fit <- (shared$square - sum(root^2)) / noise
  n_left <- n_points - length(variance)
  log_det <- n_left * log(noise) - 2 * sum(log(diag(found$transform)))
  lml <- -0.5 * (fit + goal$n_targets * (log_det + n_points * log(2 * pi)))
  # How much is gained from the log variance of a feature, and of the noise.
  gain <- rowSums(weights^2) - goal$n_targets * (1 - noise * inverse)
  by_noise <- (fit - sum(weights^2)) / noise - goal$n_targets * (n_left / noise + sum(inverse))
  slope <- vapply(features, function(at) {
    if (length(at) > 0) sum(gain[at] / variance[at]) else by_noise
  }, 0)
  gradient <- 0.5 * value * slope
  if (!all(is.finite(c(lml, gradient)))) {
    gps_abort(paste("The marginal likelihood is not finite: give the kernel other parameters to",
                    "begin with, and look for huge or equal values in `x`."), "numeric")
  }
  list(value = lml, gradient = gradient, jitter = found$jitter)
}
