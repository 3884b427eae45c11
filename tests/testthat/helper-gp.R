# A few points with smooth, noisy targets, rows are points.
smooth_toy <- function(n = 30, n_dims = 3, n_targets = 4, seed = 1) {
  set.seed(seed)
  x <- matrix(rnorm(n * n_dims), n)
  signal <- sin(x %*% matrix(rnorm(n_dims * n_targets), n_dims))
  list(x = x, targets = signal + 0.2 * matrix(rnorm(n * n_targets), n))
}

# A case of exact numbers.
read_oracle <- function(name) {
  skip_if_not_installed("jsonlite")
  jsonlite::fromJSON(test_path("oracle", paste0("gp_", name, ".json")))
}

# The kernels of these cases.
oracle_kernels <- list(
  comp_iso = kernel_composition(),
  comp_ard = kernel_rbf(ard = TRUE) + kernel_linear(ard = TRUE) + kernel_bias() + kernel_white(),
  rbf_white = kernel_rbf() + kernel_white(),
  lin_bias_white = kernel_linear() + kernel_bias() + kernel_white(),
  m32 = kernel_matern(1.5) + kernel_white(),
  duplicates = kernel_composition(),
  far_origin = kernel_rbf() + kernel_bias() + kernel_white(),
  n_lt_d = kernel_composition()
)

# Every term, as it is and with a scale per dimension, each with noise.
term_kernels <- function(n_dims) {
  scales <- seq(0.8, 1.9, length.out = n_dims)
  list(
    rbf = kernel_rbf(0.8, 1.2), rbf_ard = kernel_rbf(0.8, scales, ard = TRUE),
    matern32 = kernel_matern(1.5, 0.7, 1.3),
    matern32_ard = kernel_matern(1.5, 0.7, scales, ard = TRUE),
    matern52 = kernel_matern(2.5, 1.1, 0.9),
    matern52_ard = kernel_matern(2.5, 1.1, scales, ard = TRUE),
    linear = kernel_linear(0.3), linear_ard = kernel_linear(scales / 3, ard = TRUE),
    bias = kernel_bias(0.6)
  )
}

# Central differences of fourth order.
numeric_gradient <- function(f, theta, h = 1e-3) {
  vapply(seq_along(theta), function(j) {
    at <- function(step) f(replace(theta, j, theta[j] + step * h))
    (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)
  }, 0)
}
