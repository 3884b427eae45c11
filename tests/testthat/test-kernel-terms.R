# Terms beyond sums of stationary and linear ones: Matern 1/2, rational quadratic, periodic, and
# products. Each against its formula in plain R, and in every engine that knows it.

kernel_matrix <- function(kernel, x) {
  .Call(C_gp_kernel_matrix, gp_kernel_code(kernel), gp_theta(kernel, t(x)), t(x), 1L)
}

# Sum over columns of f of the differences, one number of `scale` a column.
over_columns <- function(x, scale, f) {
  Reduce(`+`, lapply(seq_len(ncol(x)), function(d) {
    f(outer(x[, d], x[, d], `-`), rep_len(scale, ncol(x))[d])
  }))
}
squares <- function(x, l) over_columns(x, l, function(difference, l) (difference / l)^2)

periodic_matrix <- function(x, variance, l, period) {
  l <- rep_len(l, ncol(x))
  exponent <- Reduce(`+`, lapply(seq_len(ncol(x)), function(d) {
    over_columns(x[, d, drop = FALSE], rep_len(period, ncol(x))[d], function(difference, p) {
      sin(pi * difference / p)^2
    }) / l[d]^2
  }))
  variance * exp(-2 * exponent)
}

rational_matrix <- function(x, variance, l, alpha) {
  variance * (1 + squares(x, l) / (2 * alpha))^-alpha
}

# New terms by themselves, in products, and with a scale a column, for three columns.
new_terms <- function() {
  scales <- c(0.8, 1.3, 2)
  list(
    matern12 = kernel_matern(0.5, 0.7, 1.3),
    matern12_ard = kernel_matern(0.5, 0.7, scales, ard = TRUE),
    rq = kernel_rq(0.9, 1.1, 0.6), rq_ard = kernel_rq(0.9, scales, 2.5, ard = TRUE),
    periodic = kernel_periodic(0.8, 0.9, 2.1),
    periodic_ard = kernel_periodic(0.8, scales, c(1.5, 2.5, 4), ard = TRUE),
    local = kernel_rbf(0.6, 2) * kernel_periodic(0.8, 0.9, 2.1),
    rough = kernel_matern(0.5, 0.7, 1.3) * kernel_rq(0.9, scales, 0.8, ard = TRUE),
    growing = kernel_linear(0.4) * kernel_rbf(0.9, 1.4),
    squared = kernel_linear(0.4) * kernel_linear(0.3),
    sloped = kernel_matern(2.5, 0.9, 1.4) * kernel_linear(scales / 4, ard = TRUE),
    three = kernel_linear(scales / 4, ard = TRUE) * kernel_periodic(1.2, 0.9, 2.1) *
      kernel_matern(1.5, 0.5, 2),
    mixed = kernel_rbf(0.3, 1) + kernel_periodic(0.8, 0.9, 2.1) + kernel_linear(0.1) +
      (kernel_rq(0.5, 2, 1) + kernel_rbf(0.2, scales, ard = TRUE)) * kernel_periodic(1, 1.2, 3) +
      kernel_bias(0.2)
  )
}

test_that("new terms follow their formulas", {
  set.seed(1)
  x <- matrix(rnorm(300 * 3), 300)
  l <- c(0.8, 1.3, 2)
  period <- c(1.5, 2.5, 4)
  pairs <- list(
    list(kernel_matern(0.5, 0.7, 1.3), 0.7 * exp(-sqrt(squares(x, 1.3)))),
    list(kernel_matern(0.5, 0.7, l, ard = TRUE), 0.7 * exp(-sqrt(squares(x, l)))),
    list(kernel_rq(0.9, 1.1, 0.6), rational_matrix(x, 0.9, 1.1, 0.6)),
    list(kernel_rq(0.9, l, 40, ard = TRUE), rational_matrix(x, 0.9, l, 40)),
    list(kernel_periodic(0.8, 0.9, 2.1), periodic_matrix(x, 0.8, 0.9, 2.1)),
    list(kernel_periodic(0.8, l, period, ard = TRUE), periodic_matrix(x, 0.8, l, period))
  )
  for (pair in pairs) {
    expect_lt(max(abs(kernel_matrix(pair[[1]], x) - pair[[2]])), 1e-12)
  }
  # A rational quadratic of large alpha is an RBF.
  expect_near(kernel_matrix(kernel_rq(0.9, 1.1, 1e9), x), kernel_matrix(kernel_rbf(0.9, 1.1), x),
              1e-8)
})

test_that("a rough kernel keeps the digits of points that are close, wherever they are", {
  set.seed(2)
  close <- matrix(cumsum(10^runif(40, -9, -1)), 40)
  for (kernel in list(kernel_matern(0.5, 1, 0.7), kernel_matern(0.5, 1, 0.7, ard = TRUE))) {
    expected <- exp(-sqrt(squares(close, 0.7)))
    expect_lt(max(abs(kernel_matrix(kernel, close) - expected)), 1e-14)
    far <- close + 1024
    # What the shift has rounded is in both.
    expect_lt(max(abs(kernel_matrix(kernel, far) - exp(-sqrt(squares(far, 0.7))))), 1e-13)
  }
})

test_that("a product is the product of the matrices, and a number times a kernel scales it", {
  set.seed(3)
  x <- matrix(rnorm(80 * 3), 80)
  k <- function(kernel) kernel_matrix(kernel, x)
  a <- kernel_rbf(0.5, 1.1)
  b <- kernel_periodic(1.4, 0.9, 2)
  d <- kernel_linear(c(0.1, 0.2, 0.3), ard = TRUE)
  e <- kernel_rq(0.8, 1.7, 0.5)
  for (pair in list(list(a, b), list(a, d), list(d, a), list(e, a), list(d, d), list(a + b, e + d),
                    list(a * b, d), list(a, b * d), list(a * d, b * e),
                    list(kernel_bias(0.3), a), list(a * b, kernel_bias(0.3)))) {
    expect_equal(k(pair[[1]] * pair[[2]]), k(pair[[1]]) * k(pair[[2]]), tolerance = 1e-13)
  }
  sum <- a + kernel_white(0.2)
  expect_equal(k(3 * sum), 3 * k(sum), tolerance = 1e-14)
  expect_equal(k((a * b) * 2.5), 2.5 * k(a * b), tolerance = 1e-14)
  expect_identical(kernel_bias(2) * kernel_bias(3), kernel_bias(6))
  # One variance for all that are multiplied, in the first factor.
  expect_identical(names(coef(a * b)), c("log_var_rbf", "log_len", "log_len_per", "log_period"))
  expect_equal(exp(coef(a * b))[["log_var_rbf"]], 0.5 * 1.4)
  expect_identical(names(coef(b * d)), c("log_var_per", "log_len_per", "log_period",
                                         "log_var_lin_1", "log_var_lin_2", "log_var_lin_3"))
  expect_identical(
    names(coef((a + e) * b)),
    c("log_var_rbf", "log_len", "log_len_per", "log_period", "log_var_rq", "log_len_rq",
      "log_alpha", "log_len_per_2", "log_period_2")
  )
})

test_that("kernel matrices are positive definite", {
  set.seed(4)
  x <- matrix(rnorm(60 * 3), 60)
  for (kernel in new_terms()) {
    k <- kernel_matrix(kernel, x)
    expect_identical(k, t(k))
    values <- eigen(k, TRUE, only.values = TRUE)$values
    expect_gt(min(values), -1e-12 * max(values))
  }
})

test_that("gradients of the exact marginal likelihood are those of its values", {
  data <- smooth_toy(40)
  y <- t(data$x)
  targets <- t(data$targets)
  for (kernel in new_terms()) {
    kernel <- kernel + kernel_white(0.2)
    theta <- gp_theta(kernel, y)
    found <- gp_evaluate(kernel, theta, y, targets)
    expected <- numeric_gradient(function(theta) gp_evaluate(kernel, theta, y, targets)$value,
                                 theta)
    expect_near(found$gradient, expected, 1e-6 * max(1, abs(expected)))
  }
})

test_that("gradients with inducing points, by parameters and by the points", {
  data <- smooth_toy(40)
  y <- t(data$x)
  z <- y[, 1:7] + 0.1
  root <- t(data$targets)
  terms <- new_terms()
  objectives <- c("dtc", "vfe", "fitc")
  for (i in seq_along(terms)) {
    kernel <- terms[[i]] + kernel_white(0.2)
    theta <- gp_theta(kernel, y)
    # Each term with one of them, the sum of many with all.
    all <- names(terms)[i] == "mixed" || is_full()
    for (objective in if (all) objectives else objectives[1 + i %% 3]) {
      value <- function(theta, z) {
        evaluate_basis(new_inducing(z, objective), kernel, theta, y, root, 4)$value
      }
      found <- evaluate_basis(new_inducing(z, objective), kernel, theta, y, root, 4, inputs = TRUE)
      expected <- numeric_gradient(function(theta) value(theta, z), theta)
      expect_near(found$gradient, expected, 1e-6 * max(1, abs(expected)))
      expected <- numeric_gradient(function(par) value(theta, array(par, dim(z))), c(z))
      expect_near(c(found$inputs), expected, 1e-6 * max(1, abs(expected)))
    }
  }
})

test_that("gradients of the neighbours' predictive density are those of its values", {
  data <- smooth_toy(40)
  y <- t(data$x)
  goal <- new_goal(t(data$targets))
  falling <- setdiff(names(new_terms()), c("periodic", "periodic_ard", "squared"))
  for (kernel in new_terms()[falling]) {
    kernel <- kernel + kernel_white(0.2)
    theta <- gp_theta(kernel, y)
    engine <- engine_plan(new_engine("neighbours", 8L), kernel, theta, y)
    engine <- engine_share(engine, goal)
    found <- engine_evaluate(engine, theta, goal)
    expected <- numeric_gradient(function(theta) engine_evaluate(engine, theta, goal)$value, theta)
    expect_near(unname(found$gradient), expected, 1e-6 * max(1, abs(expected)))
  }
  expect_error(gp_fit(data$x, data$targets, kernel_periodic() + kernel_white(), "neighbours"),
               "a periodic one does not", class = "gps_error_argument")
})

test_that("divided and approximate fits follow the exact one where they must", {
  data <- smooth_toy(60, 3, 2)
  for (kernel in new_terms()) {
    kernel <- kernel + kernel_white(0.2)
    exact <- gp_fit(data$x, data$targets, kernel, optimise = FALSE)
    expected <- predict(exact, data$x + 0.1)
    # All points are pivots, and one block holds all.
    methods <- c("ichol", "inducing", "divide")
    if (length(falling_factors(kernel)) > 0) methods <- c(methods, "neighbours")
    for (method in methods) {
      fit <- gp_fit(data$x, data$targets, kernel, method, optimise = FALSE, rank = 60)
      if (method != "neighbours") expect_near(fit$lml, exact$lml, 1e-3)
      expect_all_near(predict(fit, data$x + 0.1)[c("mean", "variance")],
                      expected[c("mean", "variance")], 1e-3)
    }
    expect_near(gp_loo(exact)$mean[3, , drop = FALSE],
                predict(gp_fit(data$x[-3, ], data$targets[-3, ], kernel, optimise = FALSE),
                        data$x[3, , drop = FALSE])$mean, 1e-8)
  }
})

test_that("the number of threads does not matter", {
  set.seed(5)
  y <- matrix(rnorm(3 * 600), 3)
  targets <- matrix(rnorm(600), 1)
  kernel <- new_terms()$mixed + kernel_white(0.2)
  theta <- gp_theta(kernel, y)
  expect_identical(gp_evaluate(kernel, theta, y, targets, n_threads = 2L),
                   gp_evaluate(kernel, theta, y, targets))
})

test_that("Fourier features of Matern 1/2 tend to it, and other new terms have none", {
  y <- t(smooth_toy(30, 2)$x)
  kernel <- kernel_matern(0.5, 0.8, 1.1) + kernel_white(0.1)
  view <- basis_features(new_fourier(kernel, y, 40000L), kernel, gp_theta(kernel, y), y)
  expect_near(crossprod(view$features), kernel_matrix(kernel_matern(0.5, 0.8, 1.1), t(y)), 0.05)
  refused <- list(alpha = kernel_rq(), `one of lines` = kernel_periodic(),
                  product = kernel_rbf() * kernel_matern())
  for (word in names(refused)) {
    expect_error(gp_fit(t(y), y[1, ], refused[[word]] + kernel_white(), "fourier"), word,
                 class = "gps_error_argument")
  }
})

test_that("units of columns do not matter to a fit", {
  data <- smooth_toy(40, 2, 1)
  unit <- c(1e-4, 3e5)
  kernels <- list(
    kernel_matern(0.5, ard = TRUE), kernel_rq(ard = TRUE), kernel_periodic(ard = TRUE),
    kernel_rbf(ard = TRUE) * kernel_periodic(ard = TRUE),
    kernel_matern(ard = TRUE) * kernel_linear(c(1, 1), ard = TRUE)
  )
  for (i in seq_along(kernels)) {
    kernel <- kernels[[i]] + kernel_white()
    fit <- gp_fit(data$x, data$targets, kernel, max_evals = 60)
    if (i == 5) {
      kernel <- kernel_matern(ard = TRUE) * kernel_linear(1 / unit^2, ard = TRUE) + kernel_white()
    }
    other <- gp_fit(t(t(data$x) * unit), data$targets, kernel, max_evals = 60)
    expect_near(other$lml, fit$lml, 1e-5)
    expect_near(predict(other, t(t(data$x) * unit))$mean, predict(fit)$mean, 1e-4)
  }
  # One scale for all columns, which then have one unit.
  for (kernel in list(kernel_rq(), kernel_periodic(), kernel_rbf() * kernel_periodic(),
                      kernel_matern(0.5))) {
    kernel <- kernel + kernel_white()
    fit <- gp_fit(data$x, data$targets, kernel, max_evals = 60)
    other <- gp_fit(data$x * 1e5, data$targets, kernel, max_evals = 60)
    expect_near(other$lml, fit$lml, 1e-5)
  }
})

test_that("limits and starts hold products of linear factors in units of the columns", {
  data <- smooth_toy(40, 2, 1)
  kernel <- kernel_linear() * kernel_rbf() + kernel_linear(c(1, 1), ard = TRUE) *
    kernel_linear(c(1, 1), ard = TRUE) + kernel_white()
  at <- function(unit) {
    y <- t(data$x) * unit
    targets <- t(data$targets)
    scales <- gp_scales(kernel, y, targets, wide = TRUE)
    box <- gp_bounds(kernel, y, targets, wide_reach, scales = scales)
    c(box, start = list(scaled_theta(kernel, gp_theta(kernel, y), scales, 1)))
  }
  one <- at(1)
  other <- at(1000)
  shift <- c(-2, 1, -2, -2, -2, -2, 0) * log(1000)
  for (part in names(one)) expect_near(unname(other[[part]] - one[[part]]), shift, 1e-8)
  expect_true(all(one$lower < one$upper))
  expect_true(all(one$start > one$lower & one$start < one$upper))
})

test_that("rows of the table and of the C core are compared", {
  code <- gp_kernel_code(kernel_rq(1, 1))
  x <- matrix(1:3 / 3, 1)
  for (type in setdiff(names(kernel_types), "custom")) {
    kernel <- new_kernel(new_term(type, FALSE, lapply(kernel_types[[type]]$names, function(x) 1)))
    expect_identical(dim(kernel_matrix(kernel, t(x))), c(3L, 3L))
  }
  expect_error(.Call(C_gp_kernel_matrix, replace(code, "parts", "variance alpha lengthscale"),
                     c(0, 0, 0), x, 1L), "has the parameters", class = "gps_error_model")
})

test_that("parameters go into products and come out again, columns in another order too", {
  for (kernel in new_terms()) {
    theta <- seq(-1, 1, length.out = length(theta_names(kernel, 3)))
    names(theta) <- theta_names(kernel, 3)
    fitted <- kernel_with_theta(kernel, theta, 3)
    expect_equal(kernel_theta(fitted, 3), theta)
    expect_equal(kernel_theta(check_kernel(fitted, "kernel"), 3), theta)
    x <- matrix(rnorm(15), 5)
    place <- c(3, 1, 2)
    turned <- kernel_with_theta(kernel, permute_theta(kernel, theta, place), 3)
    expect_equal(kernel_matrix(turned, x[, place]), kernel_matrix(fitted, x), tolerance = 1e-12)
  }
})

test_that("a search finds what was planted, and goes on with it beyond the data", {
  set.seed(6)
  x <- sort(runif(80, 0, 10))
  new <- seq(10, 15, length.out = 40)
  noise <- rnorm(80, sd = 0.1)
  cycle <- function(x) sin(2 * pi * x / 1.3) + 0.5 * cos(4 * pi * x / 1.3)
  worst_of <- function(kernel, f) {
    fit <- gp_fit(x, f(x) + noise, kernel + kernel_white())
    expect_equal(exp(coef(fit)[["log_period"]]), 1.3, tolerance = 0.01)
    sqrt(mean((predict(fit, new)$mean - f(new))^2))
  }
  # An RBF alone knows nothing there, and errs by the size of the signal.
  expect_lt(worst_of(kernel_periodic() + kernel_rbf(), cycle), 0.2)
  expect_lt(worst_of(kernel_rbf() * kernel_periodic(), cycle), 0.2)
  expect_lt(worst_of(kernel_linear() * kernel_periodic() + kernel_bias(),
                     function(x) x / 5 * cycle(x)), 0.3)
  # Draws of the rough and of the mixed kernel come back to within what so many points tell.
  far <- matrix(sort(runif(250, 0, 40)))
  for (kernel in list(kernel_matern(0.5, 1, 2), kernel_rq(1, 1, 0.5))) {
    root <- chol(kernel_matrix(kernel, far) + diag(0.01, 250))
    targets <- crossprod(root, matrix(rnorm(250 * 8), 250))
    fit <- gp_fit(far, targets, kernel + kernel_white())
    truth <- gp_fit(far, targets, kernel + kernel_white(0.01), optimise = FALSE)
    expect_gt(fit$lml, truth$lml - 1e-6)
    expect_near(unname(coef(fit)), unname(coef(truth)), 0.6)
  }
})
