# The exact Gaussian process as the package's own code uses it: y is n_dims x n_points, targets are
# n_latents x n_points. The user's door, rows as points, is gp-fit.R.

# Beyond this many points the dense form is refused before anything is allocated.
max_dense_points <- 20000L

check_dense_size <- function(n_points) {
  if (n_points <= max_dense_points) return(invisible(n_points))
  gps_abort(sprintf(
    paste(
      "The exact Gaussian process on %.0f points needs %.1f GB for each matrix of all pairs; the",
      "limit is %.0f points (%.1f GB). What works: a method that approximates, such as \"ichol\",",
      "fewer rows, or a kernel of linear, bias and white terms only, which needs no such matrix."
    ),
    n_points, 8e-9 * n_points^2, max_dense_points, 8e-9 * max_dense_points^2
  ))
}

# Whether K = F'F + noise with fewer features than points: then nothing of size n_points^2 is
# formed.
uses_features <- function(kernel, n_dims, n_points) {
  types <- vapply(kernel$terms, `[[`, "", "type")
  all(types %in% c("linear", "bias", "white")) && "white" %in% types && n_dims + 1 < n_points
}

# Log parameters to start from; a lengthscale left open is the one that data suggest.
gp_theta <- function(kernel, y) {
  is_open <- vapply(kernel$terms, function(term) is.null(term$lengthscale), NA)
  if (!any(has_stationary(kernel) & is_open)) return(kernel_theta(kernel, nrow(y)))
  kernel_theta(kernel, nrow(y), open_lengthscales(kernel, y))
}

# What leave-one-out needs for any targets at fixed parameters. Dense: `inverse` of the kernel
# matrix. Features: their orthogonal `basis` and the points' `leverage`. `noise` and `jitter` are
# numbers. `dense`: whether the inverse is wanted whatever the kernel.
gp_prepare <- function(kernel, theta, y, n_threads = 1L, dense = FALSE) {
  code <- gp_kernel_code(kernel)
  if (!dense && uses_features(kernel, nrow(y), ncol(y))) {
    return(c(list(form = "features"), .Call(C_gp_features_prepare, code, theta, y, 0)))
  }
  check_dense_size(ncol(y))
  c(list(form = "dense"), .Call(C_gp_prepare, code, theta, y, n_threads))
}

# Leave-one-out means, n_latents x n_points (eq. 5 of the paper: targets - K^-1 targets /
# diag(K^-1)).
gp_loo_means <- function(prepared, targets, n_threads = 1L) {
  if (prepared$form == "features") {
    return(.Call(C_gp_features_loo_means, prepared$basis, prepared$leverage, targets))
  }
  if (prepared$form == "divide") return(divide_loo(prepared, targets)$mean)
  .Call(C_gp_loo_means, prepared$inverse, targets)
}

# Leave-one-out means and variances of the observations, from one factorisation.
gp_loo_moments <- function(kernel, theta, y, targets, jitter = 0, n_threads = 1L) {
  code <- gp_kernel_code(kernel)
  if (uses_features(kernel, nrow(y), ncol(y))) {
    prepared <- .Call(C_gp_features_prepare, code, theta, y, jitter)
    mean <- .Call(C_gp_features_loo_means, prepared$basis, prepared$leverage, targets)
    variance <- prepared$noise / pmax(1 - prepared$leverage, .Machine$double.eps)
    return(list(mean = mean, variance = variance, jitter = prepared$jitter))
  }
  check_dense_size(ncol(y))
  .Call(C_gp_loo, code, theta, y, jitter, targets, n_threads)
}

# Share of the targets' variance that the leave-one-out means explain; near 0 the targets carry no
# signal and the parameters are not worth learning.
gp_loo_r2 <- function(targets, loo) {
  total <- sum((targets - rowMeans(targets))^2)
  if (total > 0) 1 - sum((targets - loo)^2) / total else 0
}

# Log marginal likelihood of all targets and its gradient, with the jitter that the factorisation
# needed. `n_targets`: see gp_refit().
gp_evaluate <- function(kernel, theta, y, targets, jitter = 0, n_threads = 1L,
                        n_targets = nrow(targets)) {
  code <- gp_kernel_code(kernel)
  root <- .Call(C_gp_root, targets)
  result <- if (uses_features(kernel, nrow(y), ncol(y))) {
    .Call(C_gp_features_evaluate, code, theta, y, jitter, root, n_targets)
  } else {
    check_dense_size(ncol(y))
    .Call(C_gp_evaluate, code, theta, y, jitter, root, n_targets, n_threads)
  }
  names(result$gradient) <- names(theta)
  result
}

# Maximises the log marginal likelihood from `theta` by L-BFGS-B within search_limits(): at most
# `max_evals` evaluations of value and gradient, the best one kept. Stops when a step gains less
# than `gain` per target value. `n_targets` counts the targets that are 0 everywhere and not given.
gp_refit <- function(kernel, theta, y, targets, max_evals = 20L, n_threads = 1L, gain = 1e-4,
                     box = NULL, n_targets = nrow(targets)) {
  has_features <- uses_features(kernel, nrow(y), ncol(y))
  if (!has_features) check_dense_size(ncol(y))
  limits <- search_limits(kernel, theta, y, targets, max_evals, gain, box, n_targets)
  result <- .Call(
    C_gp_refit, gp_kernel_code(kernel), limits$start, y, .Call(C_gp_root, targets), n_targets,
    has_features, limits, n_threads
  )
  list(
    theta = stats::setNames(result$theta, names(theta)),
    value = result$value,
    start_value = result$values[1],
    n_evals = length(result$values),
    values = result$values,
    jitter = result$jitter,
    moved = max(abs(result$theta - theta))
  )
}

# What a search keeps to, list(lower, upper, start, max_evals, gain of all target values). `box`:
# its limits, by default those of the learned selection, which contain `theta`.
search_limits <- function(kernel, theta, y, targets, max_evals, gain, box, n_targets) {
  if (is.null(box)) {
    box <- contain_theta(gp_bounds(kernel, y, targets, narrow_reach, n_targets), theta)
  }
  list(lower = box$lower, upper = box$upper, start = clamp_theta(theta, box),
       max_evals = as.integer(max_evals), gain = gain * (as.double(n_targets) * ncol(targets)))
}

# What prediction at new points needs besides the training points.
gp_weights <- function(kernel, theta, y, targets, n_threads = 1L, jitter = 0) {
  code <- gp_kernel_code(kernel)
  if (uses_features(kernel, nrow(y), ncol(y))) {
    weights <- .Call(C_gp_features_weights, code, theta, y, jitter, targets)
    return(c(list(form = "features"), weights))
  }
  check_dense_size(ncol(y))
  c(list(form = "dense"), .Call(C_gp_weights, code, theta, y, jitter, targets, n_threads))
}

# Means at new points (n_dims x n_new), n_latents x n_new.
gp_predict_means <- function(kernel, theta, y, weights, newdata, n_threads = 1L) {
  if (weights$form == "features") {
    n_dims <- nrow(newdata)
    slope <- weights$weights[seq_len(n_dims), , drop = FALSE]
    return(crossprod(slope, newdata) + weights$weights[n_dims + 1, ])
  }
  .Call(C_gp_predict_means, gp_kernel_code(kernel), theta, y, weights$alpha, newdata, n_threads)
}

# Means and variances of the function at new points.
gp_predict_moments <- function(kernel, theta, y, targets, newdata, jitter = 0, n_threads = 1L) {
  if (uses_features(kernel, nrow(y), ncol(y))) {
    weights <- gp_weights(kernel, theta, y, targets, n_threads, jitter)
    noise <- white_variance(kernel, theta, nrow(y)) + weights$jitter
    leverage <- .Call(C_gp_features_leverage, weights$factor, weights$scale, newdata)
    mean <- gp_predict_means(kernel, theta, y, weights, newdata)
    return(list(mean = mean, variance = noise * leverage))
  }
  check_dense_size(ncol(y))
  .Call(C_gp_predict, gp_kernel_code(kernel), theta, y, jitter, targets, newdata, n_threads)
}

# Sum of the white-noise variances at these log parameters.
white_variance <- function(kernel, theta, n_dims) {
  fitted <- kernel_with_theta(kernel, theta, n_dims)
  sum(vapply(fitted$terms, function(term) if (term$type == "white") term$variance else 0, 0))
}
