# Marginal likelihood with inducing points and its gradients. Leave-one-out: test-gp-basis.R.

objectives <- c("dtc", "vfe", "fitc")

value_at <- function(basis, kernel, theta, y, goal, n_targets = nrow(goal)) {
  evaluate_basis(basis, kernel, theta, y, goal, n_targets)$value
}

# The objectives by their definition, from dense matrices.
dense_value <- function(basis, kernel, theta, y, goal) {
  n <- ncol(y)
  noise <- white_variance(kernel, theta, nrow(y)) + basis$extra
  both <- cbind(basis$z, y)
  k <- .Call(C_gp_kernel_matrix, gp_kernel_code(kernel), theta, both, 1L) -
    diag(noise - basis$extra, ncol(both))
  u <- seq_len(ncol(basis$z))
  across <- k[u, -u, drop = FALSE]
  explained <- crossprod(across, solve(k[u, u], across))
  left <- diag(k)[-u] - diag(explained)
  total <- explained + diag(noise + if (basis$objective == "fitc") left else 0, n)
  value <- -0.5 * sum(goal * t(solve(total, t(goal)))) -
    nrow(goal) / 2 * (determinant(total)$modulus[[1]] + n * log(2 * pi))
  value - if (basis$objective == "vfe") nrow(goal) / (2 * noise) * sum(left) else 0
}

for (name in names(oracle_kernels)) {
  test_that(paste("marginal likelihoods with a basis are exact:", name), {
    oracle <- read_oracle(name)
    kernel <- oracle_kernels[[name]]
    theta <- stats::setNames(oracle$theta, oracle$theta_names)
    y <- t(oracle$X)
    goal <- t(oracle$Y)
    basis <- new_basis("ichol", kernel, theta, y, oracle$ichol$Q, tol = 0)
    basis$extra <- 0
    expect_near(value_at(basis, kernel, theta, y, goal), oracle$ichol$lml, 1e-10)
    for (objective in if (is.null(oracle$inducing)) NULL else objectives) {
      expected <- oracle$inducing[[objective]]
      basis <- new_inducing(t(oracle$inducing$Z), objective)
      expect_near(value_at(basis, kernel, theta, y, goal), c(expected$lml, expected$bound), 1e-10)
    }
  })

  test_that(paste("a basis of full rank has the exact value and gradient:", name), {
    oracle <- read_oracle(name)
    kernel <- oracle_kernels[[name]]
    theta <- stats::setNames(oracle$theta, oracle$theta_names)
    y <- t(oracle$X)
    for (objective in objectives) {
      basis <- new_basis("inducing", kernel, theta, y, ncol(y), objective, tol = 0)
      found <- evaluate_basis(basis, kernel, theta, y, t(oracle$Y), ncol(oracle$Y))
      expect_near(found$value, oracle$lml, 1e-10)
      expect_near(unname(found$gradient), oracle$lml_grad, 1e-10)
      expect_identical(names(found$gradient), oracle$theta_names)
      expect_identical(found$jitter, 0)
      expect_null(found$inputs)
    }
  })
}

test_that("values are those of the dense matrices they stand for", {
  data <- smooth_toy(30, 3, 4)
  y <- t(data$x)
  goal <- t(data$targets)
  z <- matrix(rnorm(3 * 6), 3)
  for (kernel in c(term_kernels(3), list(Reduce(`+`, term_kernels(3))))) {
    # As many points as the kernel has dimensions, if these are few.
    few <- switch(kernel$terms[[1]]$type, bias = 1, linear = 3, 6)
    kernel <- kernel + kernel_white(0.2)
    theta <- gp_theta(kernel, y)
    for (objective in objectives) {
      basis <- new_inducing(z[, seq_len(few), drop = FALSE], objective, extra = 0.03)
      expected <- dense_value(basis, kernel, theta, y, goal)
      expect_near(value_at(basis, kernel, theta, y, goal), expected, 1e-10)
    }
  }
})

test_that("gradients in parameters and inputs equal central differences", {
  data <- smooth_toy(30, 3, 4)
  y <- t(data$x)
  goal <- t(data$targets)
  z <- matrix(rnorm(3 * 7), 3)
  for (name in c(names(term_kernels(3)), "all")) {
    kernel <- if (name == "all") Reduce(`+`, term_kernels(3)) else term_kernels(3)[[name]]
    # Points apart from each other need a kernel of more than a few dimensions.
    if (name %in% c("linear", "linear_ard", "bias")) kernel <- kernel + kernel_rbf(0.1, 1)
    kernel <- kernel + kernel_white(0.2)
    theta <- gp_theta(kernel, y)
    for (objective in objectives) {
      basis <- new_inducing(z, objective, extra = 0.02)
      found <- evaluate_basis(basis, kernel, theta, y, goal, 6L, inputs = TRUE)
      by_theta <- numeric_gradient(function(at) value_at(basis, kernel, at, y, goal, 6L), theta)
      by_input <- numeric_gradient(function(at) {
        value_at(replace(basis, "z", list(matrix(at, 3))), kernel, theta, y, goal, 6L)
      }, c(z))
      label <- paste(name, objective)
      expect_lt(max(abs(found$gradient - by_theta)) / max(abs(by_theta)), 1e-6, label = label)
      expect_lt(max(abs(c(found$inputs) - by_input)) / max(abs(by_input)), 1e-6, label = label)
      expect_identical(dim(found$inputs), dim(z))
    }
  }
})

test_that("gradients over several panels of points are sums over the panels", {
  set.seed(2)
  y <- matrix(rnorm(2 * 700), 2)
  goal <- matrix(sin(y[1, ]) + 0.1 * rnorm(700), 1)
  kernel <- kernel_rbf(ard = TRUE) + kernel_linear(0.1) + kernel_white(0.1)
  theta <- gp_theta(kernel, y)
  for (objective in objectives) {
    basis <- new_inducing(y[, 1:9], objective)
    found <- evaluate_basis(basis, kernel, theta, y, goal, 1L)
    expect_near(found$value, dense_value(basis, kernel, theta, y, goal), 1e-10)
    expected <- numeric_gradient(function(at) value_at(basis, kernel, at, y, goal), theta)
    expect_lt(max(abs(found$gradient - expected)) / max(abs(expected)), 1e-6)
  }
})

test_that("the variational objective is a lower bound that more points raise", {
  data <- smooth_toy(60, 2, 3)
  y <- t(data$x)
  goal <- t(data$targets)
  kernel <- kernel_composition()
  set.seed(9)
  for (shift in c(-0.7, 0, 0.7)) {
    theta <- gp_theta(kernel, y) + shift * rnorm(5)
    exact <- gp_evaluate(kernel, theta, y, goal)$value
    order <- sample(60)
    bounds <- vapply(c(3, 8, 20, 45), function(q) {
      value_at(new_inducing(y[, order[seq_len(q)]], "vfe"), kernel, theta, y, goal)
    }, 0)
    expect_true(all(diff(bounds) > 0))
    expect_lte(bounds[4], exact + 1e-8 * abs(exact))
  }
})

test_that("outputs may be rotated, and those that are 0 left out", {
  data <- smooth_toy(40, 2, 6)
  y <- t(data$x)
  goal <- t(data$targets)[c(1, 2, 3, 1, 2, 3), ]
  kernel <- kernel_composition()
  theta <- gp_theta(kernel, y)
  root <- .Call(C_gp_root, goal)
  expect_lt(nrow(root), nrow(goal))
  for (objective in objectives) {
    basis <- new_inducing(y[, 1:8], objective)
    a <- evaluate_basis(basis, kernel, theta, y, goal, 9L, inputs = TRUE)
    b <- evaluate_basis(basis, kernel, theta, y, root, 9L, inputs = TRUE)
    padded <- rbind(goal, matrix(0, 3, 40))
    expect_near(a$value, value_at(basis, kernel, theta, y, padded), 1e-12)
    expect_near(a$value, b$value, 1e-11)
    expect_near(a$gradient, b$gradient, 1e-10)
    expect_near(a$inputs, b$inputs, 1e-10)
  }
})

test_that("inducing points that coincide get jitter, whose part the gradient has", {
  data <- smooth_toy(30, 2, 3)
  y <- t(data$x)
  goal <- t(data$targets)
  kernel <- kernel_rbf(ard = TRUE) + kernel_linear(0.3) + kernel_bias() + kernel_white(0.1)
  theta <- gp_theta(kernel, y)
  for (objective in objectives) {
    once <- new_inducing(y[, 1:6], objective)
    twice <- new_inducing(y[, c(1:6, 1:6)], objective)
    a <- evaluate_basis(once, kernel, theta, y, goal, 3L)
    b <- evaluate_basis(twice, kernel, theta, y, goal, 3L)
    expect_near(b$value, a$value, 1e-10)
    expected <- numeric_gradient(function(at) value_at(twice, kernel, at, y, goal), theta)
    expect_lt(max(abs(b$gradient - expected)) / max(abs(expected)), 1e-6)
    found <- basis_features(twice, kernel, theta, y)
    expect_true(all(is.finite(found$features)) && all(found$residual >= 0))
  }
})

test_that("repeated data points and no noise at all are met", {
  data <- smooth_toy(30, 2, 3)
  y <- t(data$x)[, rep(1:15, 2)]
  goal <- t(data$targets)
  kernel <- kernel_rbf() + kernel_white(0.1)
  theta <- gp_theta(kernel, y)
  exact <- gp_evaluate(kernel, theta, y, goal)
  basis <- new_basis("ichol", kernel, theta, y, 30, tol = 0)
  expect_length(basis$pivots, 15)
  expect_near(value_at(basis, kernel, theta, y, goal), exact$value, 1e-10)

  bare <- kernel_rbf()
  for (objective in objectives) {
    found <- evaluate_basis(new_inducing(y[, 1:5], objective), bare, gp_theta(bare, y), y, goal, 3L)
    expect_gt(found$jitter, 0)
    expect_true(is.finite(found$value) && all(is.finite(found$gradient)))
  }
})

test_that("points that overflow are an error, not a number", {
  y <- matrix(c(1e200, -1e200, 3), 1)
  kernel <- kernel_linear() + kernel_white(0.1)
  theta <- gp_theta(kernel, y)
  goal <- matrix(1, 1, 3)
  for (z in list(1e200, 2)) {
    expect_gps_error(evaluate_basis(new_inducing(matrix(z)), kernel, theta, y, goal, 1L),
                     "not finite", "numeric")
  }
  expect_gps_error(new_basis("ichol", kernel, theta, y, 2), "not finite", "numeric")
  unknown <- new_inducing(matrix(2), "elbo")
  expect_gps_error(evaluate_basis(unknown, kernel, theta, y, goal, 1L), "`objective`", "model")
})
