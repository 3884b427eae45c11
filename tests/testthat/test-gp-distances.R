# Data on which |a|^2 + |b|^2 - 2ab has no digits left, n x 2: groups far apart, one far value,
# numbers whose squares are near the limits of a double.
far_data <- function(n = 24) {
  set.seed(31)
  near <- matrix(round(runif(2 * n, 0, 60)), n)
  group <- rep(c(0, 1), length.out = n)
  list(
    a_year = near + group * 3.15e7, long_ago = near + group * 2^27, one_column =
      cbind(near[, 1] + group * 2^40, near[, 2]),
    three_groups = near + cbind(group * 1e8, rep(0:2, length.out = n) * 1e9),
    sentinel = rbind(near[-1, ], c(99999999, 3)), far_sentinel = rbind(near[-1, ], c(5, -1e15)),
    huge = (near + 1) * 1e150
  )
}

# The unit of distances within a group.
far_unit <- function(name) if (name == "huge") 1e150 else 1

far_kernels <- function(unit) {
  list(
    rbf = kernel_rbf(0.8, 6 * unit), matern32 = kernel_matern(1.5, 0.7, 9 * unit),
    matern52 = kernel_matern(2.5, 1.1, 8 * unit),
    rbf_ard = kernel_rbf(0.8, c(5, 9) * unit, ard = TRUE),
    matern32_ard = kernel_matern(1.5, 0.7, c(5, 9) * unit, ard = TRUE),
    matern52_ard = kernel_matern(2.5, 1.1, c(7, 4) * unit, ard = TRUE),
    sum = kernel_rbf(0.8, 6 * unit) + kernel_matern(2.5, 0.4, c(9, 5) * unit, ard = TRUE) +
      kernel_bias(0.3)
  )
}

# Kernel values from differences, points are rows.
difference_kernel <- function(kernel, x, z = x) {
  Reduce(`+`, lapply(kernel$terms, function(term) {
    if (term$type == "bias") return(matrix(term$variance, nrow(x), nrow(z)))
    if (term$type == "linear") return(x %*% (rep_len(term$variance, ncol(x)) * t(z)))
    scale <- rep_len(term$lengthscale, ncol(x))
    r2 <- Reduce(`+`, lapply(seq_along(scale), function(d) {
      (outer(x[, d], z[, d], "-") / scale[d])^2
    }))
    u <- pmin(sqrt(r2 * c(rbf = 1, matern32 = 3, matern52 = 5)[[term$type]]), 1e100)
    term$variance * switch(term$type, rbf = exp(-u^2 / 2), matern32 = (1 + u) * exp(-u),
                           matern52 = (1 + u + u^2 / 3) * exp(-u))
  }))
}

test_that("kernels of far groups are those of the differences, in matrices and between points", {
  data <- far_data()
  for (name in names(data)) {
    x <- data[[name]]
    kernels <- far_kernels(far_unit(name))
    for (which in names(kernels)) {
      kernel <- kernels[[which]]
      theta <- gp_theta(kernel, t(x))
      expected <- difference_kernel(kernel, x)
      found <- .Call(C_gp_kernel_matrix, gp_kernel_code(kernel), theta, t(x), 1L)
      expect_equal(found, expected, tolerance = 1e-12, info = paste(name, which))
      # Weights of one target a point make of predictions the kernel itself.
      cross <- .Call(C_gp_predict, gp_kernel_code(kernel), theta, t(x), diag(nrow(x)), NULL,
                     t(x[5:9, ]), 1L)$mean
      expect_equal(cross, expected[, 5:9], tolerance = 1e-12, info = paste(name, which))
    }
  }
})

test_that("features of all points give the kernel of far groups back", {
  data <- far_data()
  for (name in names(data)) {
    x <- unique(data[[name]])
    kernels <- far_kernels(far_unit(name))
    for (which in names(kernels)) {
      kernel <- kernels[[which]]
      theta <- gp_theta(kernel, t(x))
      expected <- difference_kernel(kernel, x)
      pivoted <- choose_pivots(kernel, theta, t(x), nrow(x), 0, factor = TRUE)
      expect_equal(tcrossprod(pivoted$factor), expected, tolerance = 1e-9,
                   info = paste(name, which))
      basis <- new_inducing(t(x), "dtc")
      features <- basis_features(basis, kernel, theta, t(x))$features
      expect_equal(crossprod(features), expected, tolerance = 1e-8, info = paste(name, which))
    }
  }
})

test_that("the marginal likelihood of far groups and its gradient are those of the differences", {
  data <- far_data()
  for (name in setdiff(names(data), "huge")) {
    x <- unique(data[[name]])
    y <- t(x)
    targets <- rbind(sin(x[, 1] / 6), cos(x[, 2] / 9))
    for (kernel in lapply(far_kernels(1), `+`, kernel_white(0.3))) {
      theta <- gp_theta(kernel, y)
      value <- function(theta) {
        at <- kernel_with_theta(kernel, theta, 2)
        n_terms <- length(at$terms)
        k <- difference_kernel(list(terms = at$terms[-n_terms]), x) +
          diag(at$terms[[n_terms]]$variance, nrow(x))
        root <- chol(k)
        -sum(backsolve(root, t(targets), transpose = TRUE)^2) / 2 -
          2 * (sum(log(diag(root))) + nrow(x) * log(2 * pi) / 2)
      }
      expected <- numeric_gradient(value, theta)
      forms <- list(
        exact = gp_evaluate(kernel, theta, y, targets),
        inducing = evaluate_basis(new_inducing(y, "vfe"), kernel, theta, y, targets, 2L)
      )
      for (form in names(forms)) {
        found <- forms[[form]]
        expect_equal(found$value, value(theta), tolerance = 1e-9, info = paste(name, form))
        expect_equal(unname(found$gradient), expected, tolerance = 1e-6, info = paste(name, form))
      }
    }
  }
})

test_that("inducing points of far groups move by the gradient of differences", {
  x <- unique(far_data()$long_ago)
  y <- t(x)
  targets <- rbind(sin(x[, 1] / 6), cos(x[, 2] / 9))
  z <- y[, 1:7] + 0.5
  for (kernel in far_kernels(1)[c("rbf", "matern52_ard", "sum")]) {
    kernel <- kernel + kernel_white(0.3)
    theta <- gp_theta(kernel, y)
    evaluate <- function(z, inputs = FALSE) {
      evaluate_basis(new_inducing(z, "vfe"), kernel, theta, y, targets, 2L, inputs = inputs)
    }
    # Steps are powers of two, which coordinates of 2^27 take without rounding.
    expected <- numeric_gradient(function(v) evaluate(matrix(v, 2))$value, c(z), h = 2^-8)
    expect_equal(c(evaluate(z, TRUE)$inputs), expected, tolerance = 1e-5)
  }
})

test_that("a far value spoils no other product of a linear term", {
  x <- far_data()$far_sentinel
  n <- nrow(x)
  kernel <- kernel_rbf(1, 6) + kernel_linear(0.5)
  found <- .Call(C_gp_kernel_matrix, gp_kernel_code(kernel), gp_theta(kernel, t(x)), t(x), 1L)
  expect_equal(found[-n, -n], difference_kernel(kernel, x)[-n, -n], tolerance = 1e-13)
})

test_that("Fourier features of far groups have the angles of their differences", {
  for (x in far_data()[c("a_year", "long_ago", "sentinel")]) {
    y <- t(x)
    for (kernel in far_kernels(1)[c("rbf", "matern32_ard")]) {
      theta <- gp_theta(kernel, y)
      basis <- new_fourier(kernel, y, 40L)
      features <- basis_features(basis, kernel, theta, y)$features
      scaled <- basis$frequencies[[1]] / exp(theta[-1])
      angles <- lapply(seq_len(ncol(y)), function(j) crossprod(scaled, y - y[, j]))
      expected <- exp(theta[[1]]) * vapply(angles, function(a) colMeans(cos(a)), numeric(ncol(y)))
      expect_equal(crossprod(features), expected, tolerance = 1e-6)
    }
  }
})

test_that("points are uncorrelated at lengthscales near 0, and one point at huge ones", {
  set.seed(32)
  x <- matrix(rnorm(12 * 2), 12)
  y <- t(x[c(1:12, 3), ])
  same <- outer(c(1:12, 3), c(1:12, 3), "==") * 1
  targets <- rbind(sin(y[1, ]), cos(y[2, ]))
  types <- list(kernel_rbf, function(...) kernel_matern(1.5, ...),
                function(...) kernel_matern(2.5, ...))
  for (make in types) {
    for (ard in c(FALSE, TRUE)) {
      for (l in c(1e-300, 1e-160, 1e-20, 1e20, 1e160, 1e300)) {
        kernel <- make(0.7, l, ard = ard) + kernel_white(0.5)
        theta <- gp_theta(kernel, y)
        k <- 0.7 * (if (l < 1) same else 1 + 0 * same) + diag(0.5, 13)
        found <- .Call(C_gp_kernel_matrix, gp_kernel_code(kernel), theta, y, 1L)
        expect_equal(found, k, tolerance = 1e-14)
        root <- chol(k)
        value <- -sum(backsolve(root, t(targets), transpose = TRUE)^2) / 2 -
          2 * (sum(log(diag(root))) + 13 * log(2 * pi) / 2)
        z <- if (l < 1) y[, 1:12] else y[, 1, drop = FALSE]
        evaluations <- list(
          gp_evaluate(kernel, theta, y, targets),
          evaluate_basis(new_inducing(z, "vfe"), kernel, theta, y, targets, 2L, inputs = TRUE)
        )
        for (at in evaluations) {
          expect_equal(at$value, value, tolerance = 1e-10)
          expect_true(all(is.finite(unlist(at[c("gradient", "inputs")]))))
          lengths <- startsWith(names(theta), "log_len")
          expect_equal(unname(at$gradient[lengths]), rep(0, sum(lengths)), tolerance = 1e-10)
        }
      }
    }
  }
})

test_that("a kernel of zeros is noise only, by every method that has it", {
  y <- matrix(0, 3, 20)
  new <- matrix(1, 3, 2)
  targets <- rbind(sin(1:20), 1)
  kernel <- kernel_linear(2) + kernel_white(0.5)
  theta <- gp_theta(kernel, y)
  expected <- sum(dnorm(targets, 0, sqrt(0.5), log = TRUE))
  for (method in c("exact", "ichol", "inducing", "divide")) {
    expect_warning(fit <- gp_fit(t(y), t(targets), kernel, method = method, optimise = FALSE),
                   "`x` is constant", class = "gps_warning_constant")
    expect_equal(fit$lml, expected, tolerance = 1e-10, info = method)
    predicted <- predict(fit, t(new))
    expect_equal(unname(predicted$mean), matrix(0, 2, 2), info = method)
    expect_equal(unname(predicted$variance), c(6, 6), tolerance = 1e-10, info = method)
  }
  expect_identical(choose_pivots(kernel, theta, y, 5L)$pivots, 1L)
})
