# Gaussian processes with a basis: Q features f(x) stand for the kernel, K ~ F'F but for noise. A
# basis is what stays fixed while hyper-parameters move: inducing points (gp-inducing.R) or
# frequencies (gp-fourier.R). y is n_dims x n_points, targets are n_targets x n_points. All that
# regression needs of the data are sums over points, which add up over blocks.

# `method`: "ichol", pivots of an incomplete Cholesky factorisation with the mean of what it leaves
# added to the noise; "inducing", points that start at the pivots, with an `objective`; "fourier".
new_basis <- function(method, kernel, theta, y, rank, objective = "vfe", tol = 1e-3,
                      n_threads = 1L) {
  if (method == "fourier") return(new_fourier(kernel, y, rank))
  found <- choose_pivots(kernel, theta, y, rank, tol, n_threads)
  is_ichol <- method == "ichol"
  new_inducing(
    y[, found$pivots, drop = FALSE],
    objective = if (is_ichol) "dtc" else objective,
    extra = if (is_ichol) found$trace[length(found$trace)] / ncol(y) else 0,
    pivots = found$pivots
  )
}

# What the basis leaves to be specific for its kind.
# list(features = Q x n, scale = NULL or n numbers by which they have been divided, residual = n
# numbers k(x, x) - f'f of the unscaled features).
basis_features <- function(basis, kernel, theta, y, n_threads = 1L) UseMethod("basis_features")

# list(value, gradient, jitter, inputs): log marginal likelihood of the approximation, or its bound,
# with its gradient in theta; `inputs`: the gradient by inducing points, if asked for. `root`: any
# matrix with root'root = targets'targets.
basis_evaluate <- function(basis, kernel, theta, y, root, n_targets, jitter = 0, n_threads = 1L,
                           inputs = FALSE) {
  UseMethod("basis_evaluate")
}

# Whether features are divided by each point's own noise.
is_scaled <- function(basis) identical(basis$objective, "fitc")

# Sums over points: they add up over blocks.
basis_moments <- function(basis, kernel, theta, y, n_threads = 1L) {
  feature_moments(basis_features(basis, kernel, theta, y, n_threads))
}

# The same from features that are at hand.
feature_moments <- function(features) {
  list(gram = .Call(C_gp_gram, features$features), residual = sum(features$residual),
       n_points = ncol(features$features))
}

# White noise of the kernel and what the basis adds to it.
basis_noise <- function(basis, kernel, theta) {
  points <- if (is.null(basis$z)) basis$frequencies[[1]] else basis$z
  white_variance(kernel, theta, nrow(points)) + basis$extra
}

# What leave-one-out and prediction need beside the targets: `transform` T, lower triangular with
# T'T = (gram + noise)^-1, so that u = T f has the leverage of a point as its square.
basis_prepare <- function(basis, kernel, theta, moments) {
  noise <- basis_noise(basis, kernel, theta)
  own <- if (is_scaled(basis)) 1 else noise
  found <- .Call(C_gp_transform, moments$gram, own, moments$n_points)
  list(form = "basis", basis = basis, kernel = kernel, theta = theta, transform = found$transform,
       noise = noise + found$jitter, jitter = found$jitter)
}

# Sum of f_n (y_n / scale_n)', Q x n_targets.
basis_cross <- function(features, scale, targets) {
  if (!is.null(scale)) targets <- targets / rep(scale, each = nrow(targets))
  tcrossprod(features, targets)
}

# The same for targets in slots, list(selected, prob_on).
basis_cross_slots <- function(features, scale, targets, n_latents) {
  .Call(C_gp_cross_slots, features, scale, targets$selected, targets$prob_on, n_latents)
}

# Leave-one-out means, n_targets x n_points, of points that are in the sums with weight `weight`:
# (scale u'P - weight q y) / (1 - weight q) with P = T cross, u = T f, q = u'u. Without targets the
# points are in no sum, and the means are scale u'P.
basis_affinity <- function(prepared, cross, features, scale, targets_slots = NULL, weight = 1) {
  .Call(C_gp_affinity, prepared$transform, cross, features, scale, targets_slots, weight)$mean
}

# Leave-one-out means and variances of the observations.
basis_loo <- function(prepared, cross, features, scale, residual, targets) {
  found <- .Call(C_gp_affinity, prepared$transform, cross, features, scale, targets, 1)
  noise <- if (is.null(scale)) prepared$noise else scale^2
  variance <- noise / pmax(1 - found$leverage, .Machine$double.eps)
  if (identical(prepared$basis$objective, "vfe")) variance <- variance + residual
  list(mean = found$mean, variance = variance)
}

# Means and variances of the function at new points.
basis_predict <- function(prepared, cross, newdata, n_threads = 1L) {
  found <- basis_features(prepared$basis, prepared$kernel, prepared$theta, newdata, n_threads)
  mean <- basis_affinity(prepared, cross, found$features, found$scale)
  rotated <- prepared$transform %*% found$features
  noise <- if (is.null(found$scale)) prepared$noise else found$scale^2
  list(mean = mean, variance = found$residual + noise * colSums(rotated^2))
}
