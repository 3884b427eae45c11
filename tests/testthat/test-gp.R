dense_evaluate <- function(kernel, theta, y, root, n_targets = nrow(root), n_threads = 1L) {
  engine_evaluate(exact_engine(kernel, theta, y, n_threads, dense = TRUE), theta,
                  list(root = root, n_targets = n_targets))
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
    dense <- gp_prepare(kernel, fit$theta, y, dense = TRUE)
    expect_equal(diag(dense$inverse), oracle$Kinv_diag, tolerance = 1e-10)
    expect_identical(dense$jitter, 0)
    found <- engine_prepare(exact_engine(kernel, fit$theta, y, dense = TRUE), fit$theta)
    expect_equal(t(engine_train(found, t(oracle$Y))$alpha), oracle$alpha, tolerance = 1e-10)
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
  data <- smooth_toy(8, 2, 3)
  kernels <- c(term_kernels(2), list(all = Reduce(`+`, term_kernels(2))))
  for (kernel in kernels) {
    kernel <- kernel + kernel_white(0.15)
    loo <- gp_loo(gp_fit(data$x, data$targets, kernel, optimise = FALSE))
    for (n in seq_len(8)) {
      rest <- gp_fit(data$x[-n, ], data$targets[-n, ], kernel, optimise = FALSE)
      found <- predict(rest, data$x[n, ])
      expect_equal(loo$mean[n, ], found$mean[1, ], tolerance = 1e-10)
      expect_equal(loo$variance[n], found$variance + 0.15, tolerance = 1e-10)
    }
  }
})

test_that("gradients equal central differences for every term", {
  data <- smooth_toy(20, 3, 4)
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
    expect_equal(by_dense$gradient, found$gradient, tolerance = 1e-10, label = name)
  }
})

test_that("scales per dimension that are all equal give the gradient of one scale", {
  data <- smooth_toy(150, 3, 2)
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
  data <- smooth_toy(40, 5, 3)
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
    expect_true(uses_features(kernel, 5, 40))
    small <- gp_evaluate(kernel, theta, y, goal)
    large <- dense_evaluate(kernel, theta, y, goal)
    expect_equal(small$value, large$value, tolerance = 1e-10)
    expect_equal(small$gradient, large$gradient, tolerance = 1e-10)
    prepared <- gp_prepare(kernel, theta, y)
    expect_null(prepared$inverse)
    dense <- engine_prepare(exact_engine(kernel, theta, y, dense = TRUE), theta)
    loo <- engine_loo(dense, goal)
    expect_equal(gp_loo_means(prepared, goal), loo$mean, tolerance = 1e-10)
    expect_equal(gp_loo_moments(kernel, theta, y, goal)$variance, loo$variance, tolerance = 1e-10)
    found <- gp_predict_moments(kernel, theta, y, goal, new)
    expected <- engine_predict(engine_train(dense, goal), new, moments = TRUE)
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
  data <- smooth_toy(25, 3, 6)
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
    # A last row of rounding errors is there or not, as the BLAS rounds.
    expect_true(nrow(root) %in% (case[[2]] + 0:1))
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
  data <- smooth_toy(90, 3, 5)
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
  data <- smooth_toy(80, 3, 2)
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
  means <- gp_predict_moments(kernel, fit$theta, t(data$x), t(data$targets), t(new))$mean
  expect_equal(t(means), found$mean, tolerance = 1e-12)
})

test_that("learning improves the likelihood, counts its evaluations and keeps the best", {
  data <- smooth_toy(60, 3, 3)
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
  data <- smooth_toy(60, 2, 3)
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
  data <- smooth_toy(40, 2, 2)
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
  # More pairs than the engine treats on one thread.
  data <- smooth_toy(600, 4, 3)
  y <- t(data$x)
  goal <- t(data$targets)
  new <- matrix(rnorm(4 * 300), 4)
  kernel <- Reduce(`+`, term_kernels(4)) + kernel_white(0.1)
  theta <- gp_theta(kernel, y)
  run <- function(n_threads) {
    list(
      gp_evaluate(kernel, theta, y, goal, 0, n_threads),
      gp_prepare(kernel, theta, y, n_threads)$inverse,
      gp_loo_moments(kernel, theta, y, goal, 0, n_threads),
      gp_predict_moments(kernel, theta, y, goal, new, 0, n_threads)
    )
  }
  one <- run(1L)
  expect_identical(run(2L), one)
  expect_identical(run(4L), one)
  refit <- function(n_threads) {
    gp_refit(kernel_composition(), gp_theta(kernel_composition(), y), y, goal, 3L, n_threads)$theta
  }
  expect_identical(refit(2L), refit(1L))
  # Of a factor the sums of columns alone are shared out.
  factor <- matrix(runif(1500^2), 1500)
  expect_gt(1500^2 / 2, 2 * thread_work)
  loo <- function(n_threads) .Call(C_gp_loo, factor, matrix(1, 1, 1500), n_threads)
  expect_identical(loo(2L), loo(1L))
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
  # Relative to each, which are of the size of the jitter; solve() rounds as much, too.
  expect_equal(gp_loo(fit)$variance * diag(inverse), rep(1, 20), tolerance = 1e-2)
  expect_printed(fit, "Added to the diagonal")
  expect_true(all(is.finite(predict(fit, 1:30 / 2)$mean)))
  prepared <- gp_prepare(kernel, fit$theta, t(x))
  expect_identical(prepared$jitter, fit$jitter)
  learnt <- suppressWarnings(gp_fit(x, targets, kernel_rbf()), "gps_warning")
  expect_true(is.finite(learnt$lml))
  expect_gt(learnt$jitter, 0)
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
