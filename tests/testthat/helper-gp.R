# A few points with smooth, noisy targets, rows are points.
smooth_toy <- function(n = 30, n_dims = 3, n_targets = 4, seed = 1) {
  set.seed(seed)
  x <- matrix(rnorm(n * n_dims), n)
  signal <- sin(x %*% matrix(rnorm(n_dims * n_targets), n_dims))
  list(x = x, targets = signal + 0.2 * matrix(rnorm(n * n_targets), n))
}
