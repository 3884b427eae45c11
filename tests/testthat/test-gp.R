read_oracle <- function(name) {
  skip_if_not_installed("jsonlite")
  jsonlite::fromJSON(test_path("oracle", paste0("gp_", name, ".json")))
}

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

toy <- function(n = 30, n_dims = 3, n_targets = 4, seed = 1) {
  set.seed(seed)
  x <- matrix(rnorm(n * n_dims), n)
  signal <- sin(x %*% matrix(rnorm(n_dims * n_targets), n_dims))
  list(x = x, targets = signal + 0.2 * matrix(rnorm(n * n_targets), n))
}

dense_evaluate <- function(kernel, theta, y, root, n_targets = nrow(root), n_threads = 1L) {
  .Call(C_gp_evaluate, gp_kernel_code(kernel), theta, y, 0, root, n_targets, n_threads)
}

# Central differences of fourth order.
numeric_gradient <- function(f, theta, h = 1e-3) {
  vapply(seq_along(theta), function(j) {
    at <- function(step) f(replace(theta, j, theta[j] + step * h))
    (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)
  }, 0)
}

for (name in names(oracle_kernels)) {
  test_that(paste("exact numbers are met:", name), {
    oracle <- read_oracle(name)
    kernel <- kernel_with_theta(oracle_kernels[[name]], oracle$theta, ncol(oracle$X))
    fit <- gp_fit(oracle$X, oracle$Y, kernel, optimise = FALSE)
    expect_identical(names(coef(fit)), oracle$theta_names)
    expect_equal(unname(coef(fit)), oracle$theta, tolerance = 1e-14)

    code <- gp_kernel_code(kernel)
    y <- t(oracle$X)
    k <- .Call(C_gp_kernel_matrix, code, fit$theta, y, 1L)
    expect_equal(k, oracle$K, tolerance = 1e-10)
    noise <- white_variance(kernel, fit$theta, nrow(y))
    expect_equal(k - diag(noise, nrow(k)), oracle$K_noiseless, tolerance = 1e-10)
    dense <- .Call(C_gp_prepare, code, fit$theta, y, 1L)
    expect_equal(diag(dense$inverse), oracle$Kinv_diag, tolerance = 1e-10)
    expect_identical(dense$jitter, 0)
    weights <- .Call(C_gp_weights, code, fit$theta, y, 0, t(oracle$Y), 1L)
    expect_equal(t(weights$alpha), oracle$alpha, tolerance = 1e-10)
    factor <- t(chol(k))
    expect_equal(factor, oracle$chol_lower, tolerance = 1e-10)

    expect_equal(fit$lml, oracle$lml, tolerance = 1e-10)
    expect_equal(as.numeric(logLik(fit)), oracle$lml, tolerance = 1e-10)
    expect_lt(max(abs(gp_gradient(fit) / oracle$lml_grad - 1)), 1e-10)
    loo <- gp_loo(fit)
    expect_equal(loo$mean, oracle$loo_mean, tolerance = 1e-10)
    expect_equal(loo$variance, oracle$loo_var, tolerance = 1e-10)
    density <- dnorm(oracle$Y, loo$mean, sqrt(loo$variance), log = TRUE)
    expect_equal(sum(density), oracle$loo_logpred, tolerance = 1e-10)

    # The log determinant by the likelihood of targets that are zero.
    zero <- dense_evaluate(kernel, fit$theta, y, matrix(0, 1, ncol(y)))
    expect_equal(-2 * zero$value - ncol(y) * log(2 * pi), oracle$logdet, tolerance = 1e-10)
  })
}

test_that("leave-one-out equals n explicit refits", {
  data <- toy(12, 2, 3)
  kernels <- c(term_kernels(2), list(all = Reduce(`+`, term_kernels(2))))
  for (kernel in kernels) {
    kernel <- kernel + kernel_white(0.15)
    loo <- gp_loo(gp_fit(data$x, data$targets, kernel, optimise = FALSE))
    for (n in seq_len(12)) {
      rest <- gp_fit(data$x[-n, ], data$targets[-n, ], kernel, optimise = FALSE)
      found <- predict(rest, data$x[n, ])
      expect_equal(loo$mean[n, ], found$mean[1, ], tolerance = 1e-10)
      expect_equal(loo$variance[n], found$variance + 0.15, tolerance = 1e-10)
    }
  }
})

test_that("gradients equal central differences for every term", {
  data <- toy(20, 3, 4)
  y <- t(data$x)
  goal <- t(data$targets)
  kernels <- c(term_kernels(3), list(all = Reduce(`+`, term_kernels(3))))
  for (name in names(kernels)) {
    kernel <- kernels[[name]] + kernel_white(0.2)
    theta <- gp_theta(kernel, y)
    found <- gp_evaluate(kernel, theta, y, goal)
    expected <- numeric_gradient(function(at) gp_evaluate(kernel, at, y, goal)$value, theta)
    expect_lt(max(abs(found$gradient - expected)) / max(abs(expected)), 1e-6, label = name)
    by_dense <- dense_evaluate(kernel, theta, y, goal)
    expect_equal(by_dense$gradient, unname(found$gradient), tolerance = 1e-10, label = name)
  }
})

test_that("scales per dimension that are all equal give the gradient of one scale", {
  data <- toy(150, 3, 2)
  y <- t(data$x)
  goal <- t(data$targets)
  for (make in list(kernel_rbf, function(...) kernel_matern(1.5, ...),
                    function(...) kernel_matern(2.5, ...))) {
    one <- make(0.9, 1.4) + kernel_white(0.1)
    each <- make(0.9, rep(1.4, 3), ard = TRUE) + kernel_white(0.1)
    a <- gp_evaluate(one, gp_theta(one, y), y, goal)
    b <- gp_evaluate(each, gp_theta(each, y), y, goal)
    expect_equal(a$value, b$value, tolerance = 1e-12)
    expect_equal(a$gradient[["log_var_white"]], b$gradient[["log_var_white"]], tolerance = 1e-10)
    expect_equal(a$gradient[[2]], sum(b$gradient[2:4]), tolerance = 1e-10)
  }
})

test_that("kernels of linear, bias and white terms do without the matrix of all pairs", {
  data <- toy(40, 5, 3)
  y <- t(data$x)
  goal <- t(data$targets)
  new <- matrix(rnorm(5 * 9), 5)
  kernels <- list(
    kernel_linear(0.4) + kernel_white(0.2),
    kernel_linear(0.4) + kernel_bias(0.7) + kernel_white(0.2),
    kernel_linear(1:5 / 5, ard = TRUE) + kernel_bias(0.7) + kernel_white(0.01),
    kernel_linear(0.1) + kernel_linear(1:5 / 9, ard = TRUE) + kernel_bias() + kernel_bias(0.2) +
      kernel_white(0.1) + kernel_white(0.3),
    kernel_bias(2) + kernel_white(0.5)
  )
  for (kernel in kernels) {
    theta <- gp_theta(kernel, y)
    code <- gp_kernel_code(kernel)
    expect_true(uses_features(kernel, 5, 40))
    small <- gp_evaluate(kernel, theta, y, goal)
    large <- dense_evaluate(kernel, theta, y, goal)
    expect_equal(small$value, large$value, tolerance = 1e-10)
    expect_equal(unname(small$gradient), large$gradient, tolerance = 1e-10)
    prepared <- gp_prepare(kernel, theta, y)
    expect_null(prepared$inverse)
    loo <- .Call(C_gp_loo, code, theta, y, 0, goal, 1L)
    expect_equal(gp_loo_means(prepared, goal), loo$mean, tolerance = 1e-10)
    expect_equal(gp_loo_moments(kernel, theta, y, goal)$variance, loo$variance, tolerance = 1e-10)
    found <- gp_predict_moments(kernel, theta, y, goal, new)
    expected <- .Call(C_gp_predict, code, theta, y, 0, goal, new, 1L)
    expect_equal(found$mean, expected$mean, tolerance = 1e-10)
    expect_equal(found$variance, expected$variance, tolerance = 1e-10)
  }
})

test_that("the feature form is taken when it is smaller, and only then", {
  linear <- kernel_linear() + kernel_white()
  expect_true(uses_features(linear, 3, 5))
  expect_false(uses_features(linear, 3, 4))
  expect_false(uses_features(kernel_linear() + kernel_bias(), 3, 50))
  expect_false(uses_features(kernel_composition(), 3, 50))
})

test_that("many linearly dependent targets enter through a root of their products", {
  data <- toy(25, 3, 6)
  y <- t(data$x)
  goal <- t(data$targets)
  kernel <- kernel_composition()
  theta <- gp_theta(kernel, y)
  set.seed(5)
  cases <- list(
    list(rbind(goal, matrix(rnorm(5 * 6), 5) %*% goal), 6),
    list(matrix(rnorm(60 * 25), 60), 25),
    list(matrix(rnorm(60 * 3), 60) %*% goal[1:3, ], 3),
    list(matrix(0, 4, 25), 1),
    list(matrix(0, 40, 25), 1)
  )
  for (case in cases) {
    root <- .Call(C_gp_root, case[[1]])
    expect_identical(nrow(root), as.integer(case[[2]]))
    expect_equal(crossprod(root), crossprod(case[[1]]), tolerance = 1e-13)
    direct <- dense_evaluate(kernel, theta, y, case[[1]])
    rotated <- dense_evaluate(kernel, theta, y, root, nrow(case[[1]]))
    expect_equal(rotated$value, direct$value, tolerance = 1e-12)
    expect_equal(rotated$gradient, direct$gradient, tolerance = 1e-10)
  }
  expect_identical(.Call(C_gp_root, goal), goal)
})

test_that("large matrices are factorised and inverted as R does it", {
  set.seed(6)
  n <- 333
  y <- matrix(rnorm(n * 2), 2)
  goal <- matrix(rnorm(n * 2), 2)
  # Condition numbers below and above the limit of the joint factor and inverse.
  for (noise in c(1e-2, 1e-7)) {
    kernel <- kernel_rbf(1, 0.5) + kernel_white(noise)
    theta <- gp_theta(kernel, y)
    k <- .Call(C_gp_kernel_matrix, gp_kernel_code(kernel), theta, y, 1L)
    inverse <- chol2inv(chol(k))
    accuracy <- max(1e-11, 100 * .Machine$double.eps * n / noise)
    expect_equal(gp_prepare(kernel, theta, y)$inverse, inverse, tolerance = accuracy)
    value <- -0.5 * sum(goal * (goal %*% inverse)) - sum(log(diag(chol(k)))) * 2 - n * log(2 * pi)
    expect_equal(dense_evaluate(kernel, theta, y, goal)$value, value, tolerance = accuracy)
  }
})

test_that("the prepared inverse serves any targets", {
  data <- toy(90, 3, 5)
  y <- t(data$x)
  kernel <- kernel_composition()
  theta <- gp_theta(kernel, y)
  prepared <- gp_prepare(kernel, theta, y)
  expect_identical(prepared$inverse, t(prepared$inverse))
  for (goal in list(t(data$targets), t(data$targets[, 2, drop = FALSE]), matrix(rnorm(900), 10))) {
    expected <- goal - (goal %*% prepared$inverse) / rep(diag(prepared$inverse), each = nrow(goal))
    expect_equal(gp_loo_means(prepared, goal), expected, tolerance = 1e-12)
    loo <- gp_loo_moments(kernel, theta, y, goal)
    expect_equal(loo$mean, expected, tolerance = 1e-10)
    expect_equal(loo$variance, 1 / diag(prepared$inverse), tolerance = 1e-10)
  }
})

test_that("predictions are those of the textbook", {
  data <- toy(80, 3, 2)
  kernel <- kernel_rbf(0.7, 1.5) + kernel_matern(1.5, 0.4, 1:3, ard = TRUE) + kernel_bias(0.3) +
    kernel_white(0.05)
  new <- rbind(matrix(rnorm(150 * 3), 150), data$x[1:3, ])
  fit <- gp_fit(data$x, data$targets, kernel, optimise = FALSE)
  found <- predict(fit, new)
  noiseless <- kernel_rbf(0.7, 1.5) + kernel_matern(1.5, 0.4, 1:3, ard = TRUE) + kernel_bias(0.3)
  both <- .Call(C_gp_kernel_matrix, gp_kernel_code(noiseless), gp_theta(noiseless, t(data$x)),
                t(rbind(data$x, new)), 1L)
  old <- seq_len(80)
  inverse <- solve(both[old, old] + diag(0.05, 80))
  cross <- both[-old, old]
  expect_equal(found$mean, cross %*% inverse %*% data$targets, tolerance = 1e-10)
  expect_equal(found$variance, diag(both[-old, -old] - cross %*% inverse %*% t(cross)),
               tolerance = 1e-9)
  weights <- gp_weights(kernel, fit$theta, t(data$x), t(data$targets))
  means <- gp_predict_means(kernel, fit$theta, t(data$x), weights, t(new))
  expect_equal(t(means), found$mean, tolerance = 1e-12)
})

test_that("learning improves the likelihood, counts its evaluations and keeps the best", {
  data <- toy(60, 3, 3)
  y <- t(data$x)
  goal <- t(data$targets)
  linear <- kernel_linear() + kernel_bias() + kernel_white()
  for (kernel in list(kernel_composition(), kernel_rbf(ard = TRUE) + kernel_white(), linear)) {
    theta <- gp_theta(kernel, y)
    for (cap in c(1L, 2L, 3L, 7L, 20L)) {
      found <- gp_refit(kernel, theta, y, goal, max_evals = cap)
      expect_lte(found$n_evals, cap)
      expect_identical(found$value, max(found$values))
      expect_identical(names(found$theta), names(theta))
      expect_equal(gp_evaluate(kernel, found$theta, y, goal)$value, found$value, tolerance = 1e-9)
    }
    expect_gt(found$value, found$start_value + 1)
    expect_gt(found$moved, 0.1)
    expect_identical(gp_refit(kernel, theta, y, goal, 1L)$moved, 0)
    warm <- gp_refit(kernel, found$theta, y, goal)
    expect_gte(warm$value, warm$start_value)
    expect_lt(warm$n_evals, found$n_evals + 1)
  }
})

test_that("with evaluations enough the gradient vanishes at the optimum", {
  data <- toy(60, 2, 3)
  fit <- gp_fit(data$x, data$targets, kernel_rbf() + kernel_white())
  expect_true(fit$converged)
  expect_lt(max(abs(gp_gradient(fit))), 0.05)
  expect_identical(fit$lml, max(fit$trace$lml))
  expect_lte(nrow(fit$trace), 100)
  capped <- gp_fit(data$x, data$targets, kernel_rbf() + kernel_white(), max_evals = 2)
  expect_false(capped$converged)
  expect_identical(nrow(capped$trace), 2L)
})

test_that("learning stays in its box, which follows the scale of data and targets", {
  data <- toy(40, 2, 2)
  y <- t(data$x)
  kernel <- kernel_composition()
  a <- gp_bounds(kernel, y, t(data$targets))
  b <- gp_bounds(kernel, y, 10 * t(data$targets))
  expect_equal(b$lower - a$lower, log(c(100, 1, 100, 100, 100)))
  set.seed(7)
  noise <- matrix(rnorm(80), 2)
  found <- gp_refit(kernel, gp_theta(kernel, y), y, noise, 20L)
  limits <- gp_bounds(kernel, y, noise)
  expect_true(all(found$theta >= limits$lower & found$theta <= limits$upper))
  start <- gp_theta(kernel_rbf(1e9, 1e9) + kernel_white(1e-9), y)
  far <- gp_refit(kernel_rbf() + kernel_white(), start, y, noise, 5L)
  expect_true(is.finite(far$value))
})

test_that("results have the same bits for any number of threads", {
  data <- toy(210, 4, 3)
  y <- t(data$x)
  goal <- t(data$targets)
  new <- matrix(rnorm(4 * 70), 4)
  kernel <- Reduce(`+`, term_kernels(4)) + kernel_white(0.1)
  theta <- gp_theta(kernel, y)
  run <- function(n_threads) {
    list(
      gp_evaluate(kernel, theta, y, goal, 0, n_threads),
      gp_prepare(kernel, theta, y, n_threads),
      gp_loo_moments(kernel, theta, y, goal, 0, n_threads),
      gp_predict_moments(kernel, theta, y, goal, new, 0, n_threads),
      gp_refit(kernel_composition(), gp_theta(kernel_composition(), y), y, goal, 6L, n_threads)
    )
  }
  one <- run(1L)
  expect_identical(run(2L), one)
  expect_identical(run(4L), one)
})

test_that("a singular kernel is factorised with the least jitter that helps, and says so", {
  x <- matrix(c(1:15, 1:5) + 0, 20)
  targets <- sin(x)
  kernel <- kernel_rbf(1, 10)
  expect_warning(fit <- gp_fit(x, targets, kernel, optimise = FALSE), class = "gps_warning")
  expect_gt(fit$jitter, 0)
  expect_lte(fit$jitter, 1e-4)
  step <- log10(fit$jitter / (20 * .Machine$double.eps))
  expect_equal(step, round(step))
  # Everything that follows is about the matrix with jitter.
  k <- .Call(C_gp_kernel_matrix, gp_kernel_code(kernel), fit$theta, t(x), 1L)
  inverse <- solve(k + diag(fit$jitter, 20), tol = 0)
  expect_equal(gp_loo(fit)$variance, 1 / diag(inverse), tolerance = 1e-3)
  expect_output(print(fit), "Added to the diagonal")
  expect_true(all(is.finite(predict(fit, 1:30 / 2)$mean)))
  prepared <- gp_prepare(kernel, fit$theta, t(x))
  expect_identical(prepared$jitter, fit$jitter)
  learnt <- suppressWarnings(gp_fit(x, targets, kernel_rbf()), "gps_warning")
  expect_true(is.finite(learnt$lml))
  expect_gt(learnt$jitter, 0)
})

test_that("a matrix that no jitter cures is an error, and in a search only a bad value", {
  y <- matrix(c(0, 1e200, 2e200), 1)
  expect_error(gp_fit(t(y), 1:3), class = "gps_error_numeric")
  expect_error(gp_fit(t(y), 1:3, kernel_linear() + kernel_white()), class = "gps_error_numeric")
  expect_error(gp_fit(t(y), 1:3, kernel_rbf(1, 1), optimise = FALSE), class = "gps_error_numeric")
})

test_that("ill-conditioned kernels give a warning", {
  x <- matrix(1:20)
  kernel <- kernel_rbf(1, 100) + kernel_white(1e-13)
  expect_warning(gp_fit(x, sin(x), kernel, optimise = FALSE), class = "gps_warning")
})

test_that("degenerate data give finite results", {
  set.seed(8)
  x <- matrix(rnorm(20), 10)
  cases <- list(
    one_point = list(x[1, , drop = FALSE], matrix(0.3)),
    one_dimension = list(x[, 1, drop = FALSE], x[, 2]),
    constant_column = list(cbind(x, 3), x[, 1]),
    all_rows_equal = list(matrix(2, 10, 3), x[, 1]),
    all_zero = list(matrix(0, 10, 2), x[, 1]),
    duplicates = list(rbind(x, x, x[1:3, ]), c(x[, 1], x[, 1], x[1:3, 1])),
    close_points = list(rbind(x, x + 1e-12), c(x[, 1], x[, 1])),
    constant_targets = list(x, rep(1, 10)),
    zero_targets = list(x, matrix(0, 10, 3)),
    tiny = list(x * 1e-100, x[, 1] * 1e-100),
    huge = list(x * 1e100, x[, 1] * 1e100)
  )
  kernels <- list(kernel_composition(), kernel_linear() + kernel_bias() + kernel_white(),
                  kernel_rbf(ard = TRUE) + kernel_linear(ard = TRUE) + kernel_white())
  for (name in names(cases)) {
    for (kernel in kernels) {
      fit <- suppressWarnings(gp_fit(cases[[name]][[1]], cases[[name]][[2]], kernel), "gps_warning")
      loo <- gp_loo(fit)
      found <- predict(fit)
      numbers <- c(fit$lml, coef(fit), loo$mean, loo$variance, found$mean, found$variance)
      expect_true(all(is.finite(numbers)), label = name)
      expect_identical(dim(loo$mean), dim(fit$targets))
      expect_identical(dim(found$mean), dim(fit$targets))
      expect_true(all(loo$variance > 0) && all(found$variance >= 0), label = name)
    }
  }
})

test_that("one point has the prior as its leave-one-out prediction", {
  fit <- gp_fit(matrix(2), 0.5, kernel_rbf(1.5, 1) + kernel_white(0.25), optimise = FALSE)
  expect_equal(gp_loo(fit), list(mean = matrix(0), variance = 1.75))
})

test_that("a constant column leaves its lengthscale alone", {
  data <- toy(30, 2, 1)
  kernel <- kernel_rbf(1, c(1, 1, 1), ard = TRUE) + kernel_white()
  fit <- gp_fit(cbind(data$x, 5), data$targets, kernel)
  expect_identical(gp_gradient(fit)[["log_len_3"]], 0)
  expect_equal(coef(fit)[["log_len_3"]], 0)
})

test_that("too many points are refused before memory is asked for", {
  expect_snapshot(error = TRUE, gp_fit(matrix(0, 30000, 1), numeric(30000)))
  linear <- kernel_linear() + kernel_white()
  x <- matrix(seq(0, 1, length.out = 30000))
  fit <- gp_fit(x, 2 * x[, 1], linear, optimise = FALSE)
  expect_identical(fit$form, "features")
  expect_equal(predict(fit, 0.5)$mean[1, 1], 1, tolerance = 1e-4)
  y <- matrix(0, 1, 20001)
  kernel <- kernel_rbf(1, 1) + kernel_white()
  theta <- gp_theta(kernel, y)
  expect_error(gp_prepare(kernel, theta, y), class = "gps_error_argument")
  expect_error(gp_refit(kernel, theta, y, y), class = "gps_error_argument")
  expect_error(gp_weights(kernel, theta, y, y), class = "gps_error_argument")
})

test_that("wrong arguments of gp_fit() are named", {
  x <- matrix(1:6 / 6, 6)
  expect_snapshot(error = TRUE, {
    gp_fit(NULL, 1:6)
    gp_fit(matrix(0, 0, 2), 1:6)
    gp_fit(replace(x, 4, NA), 1:6)
    gp_fit(x, 1:5)
    gp_fit(x, "1")
    gp_fit(x, c(1:5, Inf))
    gp_fit(x, 1:6, kernel = "rbf")
    gp_fit(x, 1:6, method = "ichol")
    gp_fit(x, 1:6, method = "exakt")
    gp_fit(x, 1:6, optimise = 1)
    gp_fit(x, 1:6, max_evals = 0)
    gp_fit(x, 1:6, n_threads = 0)
    gp_fit(x, 1:6, kernel_rbf(1, c(1, 2), ard = TRUE))
    gp_loo(list())
  })
  expect_error(gp_fit(data.frame(a = letters[1:6]), 1:6), class = "gps_error_argument")
  expect_error(gp_fit(as.complex(x), 1:6), class = "gps_error_argument")
})

test_that("integers, logicals and data frames give what doubles give", {
  x <- matrix(c(1:6, 2L, 4L, 1L, 7L, 3L, 3L), 6)
  targets <- c(TRUE, FALSE, TRUE, TRUE, FALSE, FALSE)
  kernel <- kernel_rbf(1, 2) + kernel_white()
  expected <- gp_fit(x + 0, targets + 0, kernel)$theta
  expect_identical(gp_fit(x, matrix(targets), kernel)$theta, expected)
  expect_identical(gp_fit(as.data.frame(x), targets + 0L, kernel)$theta, expected)
})

test_that("predict() takes matrices, data frames, single rows and permuted names", {
  data <- toy(20, 2, 2)
  colnames(data$x) <- c("a", "b")
  colnames(data$targets) <- c("u", "v")
  fit <- gp_fit(data$x, data$targets, kernel_rbf(1, 1) + kernel_white(), optimise = FALSE)
  new <- data$x[1:3, ] + 0.1
  rownames(new) <- c("p", "q", "r")
  found <- predict(fit, new)
  expect_identical(dimnames(found$mean), list(c("p", "q", "r"), c("u", "v")))
  expect_identical(predict(fit, new[, c("b", "a")]), found)
  expect_identical(predict(fit, as.data.frame(new)[, c("b", "a")])$mean, found$mean)
  expect_equal(unname(predict(fit, unname(new))$mean), unname(found$mean))
  one <- predict(fit, new[1, , drop = FALSE])
  expect_identical(dim(one$mean), c(1L, 2L))
  expect_equal(unname(predict(fit, new[1, ])$mean), unname(one$mean))
  expect_equal(unname(predict(fit, unname(new[1, ]))$mean), unname(one$mean))
  expect_identical(dim(predict(fit, new[1, c("b", "a")])$mean), c(1L, 2L))
  expect_snapshot(error = TRUE, {
    predict(fit, matrix(0, 2, 3))
    predict(fit, matrix(0, 2, 5))
    predict(fit, cbind(a = 1, c = 2))
    predict(fit, c(1, NaN))
    predict(fit, "a")
  })
})

test_that("the usual methods agree with each other", {
  data <- toy(25, 2, 3)
  rownames(data$targets) <- paste0("p", 1:25)
  fit <- gp_fit(data$x, data$targets, kernel_rbf() + kernel_white())
  expect_equal(unname(fitted(fit)), unname(predict(fit)$mean))
  expect_identical(rownames(fitted(fit)), rownames(data$targets))
  expect_equal(residuals(fit), data$targets - fitted(fit))
  expect_identical(nobs(fit), 25L)
  expect_identical(attr(logLik(fit), "df"), 3L)
  expect_identical(attr(logLik(fit), "nobs"), 25L)
  expect_equal(AIC(fit), -2 * fit$lml + 6)
  expect_equal(coef(fit$kernel), coef(fit))
  expect_identical(rownames(gp_loo(fit)$mean), rownames(data$targets))
  loo <- gp_loo(fit)
  expect_equal(summary(fit)$loo_r2, gp_loo_r2(t(data$targets), t(loo$mean)))
  expect_gt(summary(fit)$loo_r2, 0)
})

test_that("fits and their summaries print", {
  x <- matrix(1:8 / 2, 8)
  fit <- gp_fit(x, sin(x), kernel_rbf(1, 1) + kernel_white(0.01), optimise = FALSE)
  capped <- gp_fit(x, sin(x), kernel_rbf(1, 1) + kernel_white(0.01), max_evals = 1)
  expect_snapshot({
    fit
    capped
    summary(fit)
  })
})

test_that("a fit that went through a file predicts the same bits", {
  data <- toy(40, 3, 2)
  fit <- gp_fit(data$x, data$targets)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(fit, file)
  back <- readRDS(file)
  new <- matrix(rnorm(30), 10)
  expect_identical(predict(back, new), predict(fit, new))
  expect_identical(gp_loo(back), gp_loo(fit))
  # Data, targets and little else: no matrix of all pairs.
  expect_lt(as.numeric(object.size(fit)), 8 * length(data$x) + 8 * length(data$targets) + 2e4)
})

test_that("damaged fits are refused", {
  data <- toy(10, 2, 1)
  fit <- gp_fit(data$x, data$targets, optimise = FALSE)
  damaged <- list(
    replace(fit, "x", list(fit$x[1:4, ])), replace(fit, "theta", list(fit$theta[-1])),
    replace(fit, "kernel", list(NULL)), replace(fit, "targets", list("a")),
    structure(list(), class = "gp_fit"), replace(fit, "jitter", list(NULL))
  )
  for (bad in damaged) {
    class(bad) <- "gp_fit"
    for (method in list(predict, gp_loo, gp_gradient, coef, logLik, print, summary, plot)) {
      expect_error(method(bad), class = "gps_error_argument")
    }
  }
})

test_that("plots draw what predict() says", {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  data <- toy(15, 3, 2)
  kernel <- kernel_rbf(1, 1) + kernel_white()
  line <- gp_fit(data$x[, 1, drop = FALSE], data$targets, kernel, optimise = FALSE)
  drawn <- plot(line, target = 2, n_grid = 20)
  expect_equal(drawn$mean, predict(line, drawn$grid)$mean[, 2])
  expect_length(drawn$grid, 20)
  image <- gp_fit(data$x[, 1:2], data$targets, kernel, optimise = FALSE)
  drawn <- plot(image, n_grid = 7)
  at <- c(drawn$grid[[1]][3], drawn$grid[[2]][5])
  expect_equal(drawn$mean[3, 5], predict(image, at)$mean[1, 1])
  many <- gp_fit(data$x, data$targets, kernel, optimise = FALSE)
  expect_equal(plot(many)$mean, gp_loo(many)$mean[, 1])
  expect_error(plot(many, target = 3), class = "gps_error_argument")
  expect_error(plot(line, n_grid = 1), class = "gps_error_argument")
})

test_that("the share explained by leave-one-out is 1 for a perfect and 0 for an empty prediction", {
  targets <- matrix(c(1, 2, 3, 5, 0, 1, 1, 0), 2, byrow = TRUE)
  expect_identical(gp_loo_r2(targets, targets), 1)
  expect_identical(gp_loo_r2(targets, matrix(rowMeans(targets), 2, 4)), 0)
  expect_identical(gp_loo_r2(matrix(1, 2, 4), matrix(0, 2, 4)), 0)
  set.seed(9)
  noise <- matrix(rnorm(400), 2)
  y <- matrix(rnorm(400), 2)
  kernel <- kernel_composition()
  loo <- gp_loo_means(gp_prepare(kernel, gp_theta(kernel, y), y), noise)
  expect_lt(gp_loo_r2(noise, loo), 0.1)
})
