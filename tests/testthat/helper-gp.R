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

# Engines at fixed parameters, by what they are asked for.
exact_engine <- function(kernel, theta, y, n_threads = 1L, dense = FALSE) {
  engine_plan(new_engine("exact"), kernel, theta, y, n_threads, dense = dense)
}

new_basis <- function(method, kernel, theta, y, rank, objective = "vfe", tol = 1e-3) {
  engine_basis(new_engine(method, rank, objective), kernel, theta, y, tol)
}

engine_of <- function(basis, kernel, theta, y, n_threads = 1L, learn_inputs = FALSE) {
  engine <- new_engine("inducing", learn_inputs = learn_inputs)
  engine$basis <- basis
  hold_data(engine, kernel, theta, y, n_threads)
}

gp_evaluate <- function(kernel, theta, y, targets, jitter = 0, n_threads = 1L,
                        n_targets = nrow(targets)) {
  engine_evaluate(exact_engine(kernel, theta, y, n_threads), theta, new_goal(targets, n_targets),
                  jitter)
}

evaluate_basis <- function(basis, kernel, theta, y, root, n_targets, n_threads = 1L,
                           inputs = FALSE) {
  goal <- list(root = root, n_targets = as.integer(n_targets))
  engine_evaluate(engine_of(basis, kernel, theta, y, n_threads, learn_inputs = inputs), theta,
                  goal)
}

gp_refit <- function(kernel, theta, y, targets, max_evals = 20L, n_threads = 1L, gain = 1e-4,
                     box = NULL, n_targets = nrow(targets)) {
  climb_engine(exact_engine(kernel, theta, y, n_threads), theta, targets, max_evals, gain, box,
               n_targets)
}

gp_loo_moments <- function(kernel, theta, y, targets, jitter = 0, n_threads = 1L) {
  engine_loo(engine_prepare(exact_engine(kernel, theta, y, n_threads), theta, jitter), targets)
}

gp_prepare <- function(kernel, theta, y, n_threads = 1L, dense = FALSE) {
  engine_prepare(exact_engine(kernel, theta, y, n_threads, dense), theta, many = TRUE)
}

gp_loo_means <- function(prepared, targets, n_threads = 1L) engine_loo(prepared, targets)$mean

gp_predict_moments <- function(kernel, theta, y, targets, newdata, jitter = 0, n_threads = 1L) {
  engine <- engine_prepare(exact_engine(kernel, theta, y, n_threads), theta, jitter)
  engine_predict(engine_train(engine, targets), newdata, moments = TRUE)
}

refit_basis <- function(basis, kernel, theta, y, targets, max_evals = 20L, n_threads = 1L,
                        gain = 1e-4, learn_inputs = FALSE) {
  climb_engine(engine_of(basis, kernel, theta, y, n_threads, learn_inputs), theta, targets,
               max_evals, gain)
}

# Sums over points from their features, an engine prepared from sums, and what it predicts for new
# points from targets of points with these features.
feature_moments <- function(view) engine_sums(new_engine("ichol"), view)

prepare_from <- function(basis, kernel, theta, sums) {
  engine_prepare(engine_of(basis, kernel, theta, NULL), theta, sums = sums)
}

predict_by <- function(basis, kernel, theta, view, targets, newdata) {
  engine <- prepare_from(basis, kernel, theta, feature_moments(view))
  engine$cross <- cross_targets(targets, view$features, view$scale)
  engine_predict(engine, newdata, moments = TRUE)
}
