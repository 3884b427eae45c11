# Random Fourier features against formulas in plain R.
# @srrstats {G5.7}

fourier_case <- function(n = 40, n_targets = 4) {
  data <- smooth_toy(n, 3, n_targets)
  kernel <- kernel_rbf(0.8, c(1, 1.3, 1.6), ard = TRUE) + kernel_matern(1.5, 0.7, 1.3) +
    kernel_white(0.1) + kernel_matern(2.5, 1.1, c(0.9, 1, 1.2), ard = TRUE) + kernel_rbf(0.5, 0.7) +
    kernel_linear(0.3) + kernel_linear(c(0.1, 0.2, 0.3), ard = TRUE) + kernel_bias(0.6) +
    kernel_white(0.05)
  y <- t(data$x)
  list(y = y, targets = t(data$targets), kernel = kernel, theta = gp_theta(kernel, y),
       basis = new_fourier(kernel, y, 42L))
}

# Cosines above sines of one term.
waves <- function(frequencies, lengthscale, variance, centred) {
  angle <- crossprod(frequencies / lengthscale, centred)
  sqrt(variance / nrow(angle)) * rbind(cos(angle), sin(angle))
}

test_that("features stand term by term, cosines above sines, linear and constant ones exact", {
  case <- fourier_case()
  y <- case$y
  centred <- y - rowMeans(y)
  frequencies <- case$basis$frequencies
  # 21 pairs for four terms.
  expect_identical(vapply(frequencies, ncol, 1L), c(6L, 5L, 5L, 5L))
  found <- basis_features(case$basis, case$kernel, case$theta, y)
  expected <- rbind(
    waves(frequencies[[1]], c(1, 1.3, 1.6), 0.8, centred),
    waves(frequencies[[2]], 1.3, 0.7, centred),
    waves(frequencies[[3]], c(0.9, 1, 1.2), 1.1, centred),
    waves(frequencies[[4]], 0.7, 0.5, centred),
    sqrt(0.3) * y, sqrt(c(0.1, 0.2, 0.3)) * y, rep(sqrt(0.6), ncol(y))
  )
  expect_near(found$features, expected, 1e-14)
  expect_identical(found$residual, numeric(ncol(y)))
  expect_null(found$scale)
})

test_that("cosines and sines are right to the last bits at any angle", {
  basis <- list(frequencies = list(matrix(1, 1, 1)), centre = 0)
  set.seed(4)
  for (size in c(1e-8, 1, 1e3, 9e4, 1e5, 1e9)) {
    angle <- matrix(c(runif(999, -size, size), 0, size * c(-1, 1)), 1)
    found <- .Call(C_gp_fourier_features, gp_kernel_code(kernel_rbf()), c(0, 0), basis, angle, 1L)
    expect_near(found, rbind(cos(angle), sin(angle)), 4e-16)
  }
  turns <- matrix(0:40 * pi / 4, 1)
  found <- .Call(C_gp_fourier_features, gp_kernel_code(kernel_rbf()), c(0, 0), basis, turns, 1L)
  expect_near(found, rbind(cos(turns), sin(turns)), 4e-16)
})

test_that("the value is that of the dense matrix, the gradient by central differences", {
  case <- fourier_case()
  n <- ncol(case$y)
  root <- .Call(C_gp_root, case$targets)
  evaluate <- function(theta, n_targets = 4L) {
    evaluate_basis(case$basis, case$kernel, theta, case$y, root, n_targets)
  }
  features <- basis_features(case$basis, case$kernel, case$theta, case$y)$features
  k <- crossprod(features) + diag(0.15, n)
  log_det <- as.numeric(determinant(k)$modulus)
  value <- function(n_targets) {
    -0.5 * sum(case$targets * (case$targets %*% solve(k))) -
      0.5 * n_targets * (log_det + n * log(2 * pi))
  }
  found <- evaluate(case$theta)
  expect_equal(found$value, value(4), tolerance = 1e-12)
  # Outputs that are 0 everywhere and not given.
  expect_equal(evaluate(case$theta, 9L)$value, value(9), tolerance = 1e-12)
  expect_identical(names(found$gradient), names(case$theta))
  expect_identical(found$jitter, 0)
  expect_null(found$inputs)
  for (n_targets in c(4L, 9L)) {
    expected <- vapply(seq_along(case$theta), function(j) {
      at <- function(step) {
        evaluate(replace(case$theta, j, case$theta[j] + step * 1e-4), n_targets)$value
      }
      (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / 12e-4
    }, 0)
    gradient <- evaluate(case$theta, n_targets)$gradient
    expect_lt(max(abs(gradient - expected)) / max(abs(expected)), 1e-6)
  }
})

test_that("more points than a panel change nothing", {
  case <- fourier_case(700, 2)
  root <- .Call(C_gp_root, case$targets)
  found <- evaluate_basis(case$basis, case$kernel, case$theta, case$y, root, 2L)
  features <- basis_features(case$basis, case$kernel, case$theta, case$y)$features
  k <- crossprod(features) + diag(0.15, 700)
  expected <- -0.5 * sum(case$targets * (case$targets %*% solve(k))) -
    as.numeric(determinant(k)$modulus) - 700 * log(2 * pi)
  expect_equal(found$value, expected, tolerance = 1e-11)
  j <- c(2, 3, 6, 8)
  expected <- vapply(j, function(j) {
    at <- function(step) {
      theta <- replace(case$theta, j, case$theta[j] + step * 1e-4)
      evaluate_basis(case$basis, case$kernel, theta, case$y, root, 2L)$value
    }
    (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / 12e-4
  }, 0)
  expect_lt(max(abs(found$gradient[j] - expected)) / max(abs(expected)), 1e-6)
})

test_that("the kernel of the features tends to the exact one as the rank grows", {
  data <- smooth_toy(10, 2, 1)
  y <- t(data$x)
  for (kernel in list(kernel_rbf(0.8, c(1, 2), ard = TRUE), kernel_matern(1.5, 1, 1.5),
                      kernel_matern(2.5, 1, 1.5), kernel_rbf() + kernel_matern(1.5))) {
    theta <- gp_theta(kernel, y)
    exact <- .Call(C_gp_kernel_matrix, gp_kernel_code(kernel), theta, y, 1L)
    error <- vapply(c(50L, 5000L, 200000L), function(rank) {
      basis <- new_fourier(kernel, y, rank)
      sqrt(mean((crossprod(basis_features(basis, kernel, theta, y)$features) - exact)^2))
    }, 0)
    expect_true(all(diff(error) < 0))
    # Standard error of a mean over rank / 2 frequencies.
    expect_lt(error[3], 3 / sqrt(1e5))
  }
})

test_that("linear and constant parts are exact, far from the origin too", {
  data <- smooth_toy(20, 3, 1)
  kernel <- kernel_rbf(1e-30, 1) + kernel_linear(0.3) +
    kernel_linear(c(0.1, 0.2, 0.3), ard = TRUE) + kernel_bias(0.6)
  y <- t(data$x)
  found <- basis_features(new_fourier(kernel, y, 2L), kernel, gp_theta(kernel, y), y)$features
  expected <- .Call(C_gp_kernel_matrix, gp_kernel_code(kernel), gp_theta(kernel, y), y, 1L)
  expect_near(crossprod(found), expected, 1e-10)
  # Only distances matter to waves.
  kernel <- kernel_rbf(1, 1.5)
  kernel_at <- function(y) {
    crossprod(basis_features(new_fourier(kernel, y, 20L), kernel, log(c(1, 1.5)), y)$features)
  }
  expect_near(kernel_at(y + 2^30), kernel_at((y + 2^30) - 2^30), 1e-12)
})

test_that("a point far out takes no digits from the others", {
  data <- smooth_toy(60, 1, 1)
  kernel <- kernel_rbf(1, 0.5) + kernel_white(0.01)
  predicted <- function(x) {
    x <- rbind(x, data$x[-1, , drop = FALSE])
    fit <- suppressWarnings(gp_fit(x, data$targets, kernel, "fourier", FALSE),
                            classes = "gps_warning_far")
    predict(fit, data$x[-1, , drop = FALSE])$mean
  }
  near <- predicted(10)
  for (far in c(1e15, -1e20, 1e100)) expect_lt(max(abs(predicted(far) - near)), 0.1)
})

test_that("inputs far from all others are told of where waves cannot tell", {
  data <- smooth_toy(60, 2, 1)
  x <- replace(data$x, cbind(7, 2), -999)
  kernel <- kernel_rbf() + kernel_white()
  fit <- function(x, method) gp_fit(x, data$targets, kernel, method, optimise = FALSE)
  expect_warning(fit(x, "fourier"), "1 value far from all others: row 7 of column 2, such as -999",
                 class = "gps_warning_far")
  expect_silent(fit(x, "ichol"))
  expect_silent(fit(data$x, "fourier"))
})

test_that("frequencies follow from rank and kernel alone", {
  y <- matrix(rnorm(30), 3)
  kernel <- kernel_composition()
  set.seed(1)
  before <- .Random.seed
  one <- new_fourier(kernel, y, 20L)
  expect_identical(.Random.seed, before)
  set.seed(2)
  expect_identical(new_fourier(kernel, y, 20L), one)
  # Two terms of a type have frequencies of their own.
  two <- new_fourier(kernel_rbf() + kernel_rbf(), y, 20L)$frequencies
  expect_false(any(two[[1]] == two[[2]]))
  expect_gps_error(new_fourier(kernel_linear() + kernel_white(), y, 20L), "this kernel has none")
  expect_gps_error(new_fourier(kernel_rbf() + kernel_rbf(), y, 2L), "`rank` must be at least 4")
  expect_gps_error(new_fourier(kernel, y, 3L), "`rank` must be even")
})

test_that("spectral densities have the moments of their kernels", {
  set.seed(5)
  normal <- draw_frequencies(Inf, 2, 1e5)
  expect_near(tcrossprod(normal) / 1e5, diag(2), 0.03)
  for (freedom in c(1, 3, 5)) {
    drawn <- draw_frequencies(freedom, 2, 1e5)
    expect_gt(stats::ks.test(drawn[1, ], stats::pt, freedom)$p.value, 1e-4)
    # One radius for all dimensions.
    expect_gt(stats::cor(abs(drawn[1, ]), abs(drawn[2, ]), method = "spearman"), 0.05)
  }
})

test_that("learning in features raises their likelihood within the box", {
  case <- fourier_case(60, 2)
  kernel <- kernel_composition()
  theta <- gp_theta(kernel, case$y)
  basis <- new_fourier(kernel, case$y, 100L)
  found <- refit_basis(basis, kernel, theta, case$y, case$targets, 40L)
  expect_gt(found$value, found$start_value + 1)
  expect_lte(found$n_evals, 40)
  expect_identical(found$engine$basis, basis)
  root <- .Call(C_gp_root, case$targets)
  expect_equal(evaluate_basis(basis, kernel, found$theta, case$y, root, 2L)$value, found$value,
               tolerance = 1e-10)
  twice <- refit_basis(basis, kernel, theta, case$y, case$targets, 40L, 2L)
  expect_identical(twice[names(twice) != "engine"], found[names(found) != "engine"])
})

test_that("features have the same bits for any number of threads", {
  # More numbers in a panel than are made on one thread.
  case <- fourier_case(600, 2)
  basis <- new_fourier(case$kernel, case$y, 300L)
  root <- .Call(C_gp_root, case$targets)
  run <- function(n_threads) {
    list(basis_features(basis, case$kernel, case$theta, case$y, n_threads),
         evaluate_basis(basis, case$kernel, case$theta, case$y, root, 2L, n_threads))
  }
  expect_identical(run(2L), run(1L))
})
