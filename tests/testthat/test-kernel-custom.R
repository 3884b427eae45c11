# Kernels of R functions, against the built-in RBF, and what is refused.

# An RBF in plain R; squares of differences, so that nothing cancels.
rbf_squares <- function(x, z) {
  Reduce(`+`, lapply(seq_len(ncol(x)), function(d) outer(x[, d], z[, d], `-`)^2))
}
rbf_value <- function(x, z, parameters) {
  parameters[["variance"]] * exp(-rbf_squares(x, z) / (2 * parameters[["lengthscale"]]^2))
}
rbf_gradient <- function(x, z, parameters) {
  k <- rbf_value(x, z, parameters)
  list(lengthscale = k * rbf_squares(x, z) / parameters[["lengthscale"]]^3,
       variance = k / parameters[["variance"]])
}
own_rbf <- function(variance, lengthscale, gradient = rbf_gradient) {
  kernel_custom(rbf_value, gradient, c(variance = variance, lengthscale = lengthscale))
}

test_that("a custom RBF has the values, gradients and predictions of the built-in one", {
  data <- smooth_toy(50, 2, 3)
  new <- matrix(rnorm(14), 7)
  rest <- kernel_linear(0.2) + kernel_white(0.1)
  for (method in c("exact", "divide")) {
    rank <- if (method == "divide") 20
    fit <- gp_fit(data$x, data$targets, kernel_rbf(0.8, 1.3) + rest, method, FALSE, rank = rank)
    own <- gp_fit(data$x, data$targets, own_rbf(0.8, 1.3) + rest, method, FALSE, rank = rank)
    expect_near(own$lml, fit$lml, 1e-10)
    expect_near(unname(gp_gradient(own)), unname(gp_gradient(fit)), 1e-10)
    expect_near(predict(own, new)$mean, predict(fit, new)$mean, 1e-10)
    expect_near(predict(own, new)$variance, predict(fit, new)$variance, 1e-10)
    expect_near(gp_loo(own)$mean, gp_loo(fit)$mean, 1e-10)
    expect_near(gp_loo(own)$variance, gp_loo(fit)$variance, 1e-10)
  }
  expect_identical(names(coef(own))[1:2], c("log_custom_variance", "log_custom_lengthscale"))
  alone <- gp_fit(data$x, data$targets, own_rbf(0.8, 1.3, NULL) + rest, optimise = FALSE)
  fit <- gp_fit(data$x, data$targets, kernel_rbf(0.8, 1.3) + rest, optimise = FALSE)
  expect_near(unname(gp_gradient(alone)), unname(gp_gradient(fit)), 1e-6)
})

test_that("a search goes the same way, from the same start", {
  data <- smooth_toy(40, 2, 3)
  rest <- kernel_white(0.1)
  fit <- gp_fit(data$x, data$targets, kernel_rbf(0.8, 1.3) + rest, n_starts = 1)
  own <- gp_fit(data$x, data$targets, own_rbf(0.8, 1.3) + rest, n_starts = 1)
  expect_near(own$lml, fit$lml, 1e-10 * abs(fit$lml))
  expect_near(unname(own$theta), unname(fit$theta), 1e-6)
  expect_near(predict(own)$mean, predict(fit)$mean, 1e-6)
  expect_true(own$converged)
})

test_that("several custom terms, and one without parameters, stand beside others", {
  data <- smooth_toy(30, 2, 2)
  steps <- kernel_custom(function(x, z, parameters) outer(x[, 1] > 0, z[, 1] > 0, `==`) + 0,
                         parameters = NULL)
  kernel <- own_rbf(0.5, 2) + kernel_periodic(0.7, 1.1, 2.3) + own_rbf(0.3, 0.7, NULL) + steps +
    kernel_white(0.1)
  y <- t(data$x)
  theta <- gp_theta(kernel, y)
  targets <- t(data$targets)
  expected <- numeric_gradient(function(theta) gp_evaluate(kernel, theta, y, targets)$value, theta)
  expect_near(gp_evaluate(kernel, theta, y, targets)$gradient, expected, 1e-6)
  expect_identical(names(theta)[c(1, 6)], c("log_custom_variance", "log_custom_variance_2"))
  fit <- gp_fit(data$x, data$targets, kernel, optimise = FALSE)
  expect_printed(fit, "custom: variance 0.5; lengthscale 2")
})

test_that("a fit with a custom kernel is saved without luggage, and predicts in a new session", {
  make <- function() {
    luggage <- numeric(1e6)
    factor <- 2
    kernel_custom(function(x, z, parameters) {
      factor * parameters[["variance"]] * exp(-outer(x[, 1], z[, 1], `-`)^2)
    })
  }
  x <- seq(0, 4, length.out = 20)
  fit <- gp_fit(x, sin(x), make() + kernel_white(0.01), max_evals = 20)
  file <- tempfile(fileext = ".rds")
  out <- tempfile(fileext = ".rds")
  saveRDS(fit, file)
  expect_lt(file.size(file), 1e5)
  code <- sprintf(".libPaths(%s); library(gpselect); saveRDS(predict(readRDS(%s), 1.5), %s)",
                  paste(deparse(.libPaths()), collapse = ""), deparse(file), deparse(out))
  skip_if_not(basename(getNamespaceInfo("gpselect", "path")) == "gpselect")
  status <- system2(file.path(R.home("bin"), "Rscript"), c("--no-init-file", "-e", shQuote(code)))
  expect_identical(status, 0L)
  expect_identical(readRDS(out), predict(fit, 1.5))
})

test_that("a learned selection takes custom and periodic kernels", {
  set.seed(1)
  y <- simulate_bars(80, size = 3)$y
  control <- gps_control(max_iter = 4, n_starts = 1, n_threads = 1, progress = FALSE)
  # The data as a selection sees them are divided by their size: near 1 a point.
  own <- kernel_custom(function(x, z, parameters) {
    squares <- outer(rowSums(x^2), rowSums(z^2), `+`) - 2 * tcrossprod(x, z)
    parameters[["variance"]] * exp(-pmax(squares, 0) / 2)
  })
  for (kernel in list(own + kernel_linear() + kernel_white(),
                      kernel_periodic() + kernel_linear() + kernel_white(),
                      kernel_rq() * kernel_linear() + kernel_white())) {
    set.seed(2)
    fit <- gps_fit(y, model_binary_sparse(6), selector_gp(kernel, refit_every = 2),
                   control = control)
    set.seed(2)
    other <- gps_fit(y * 1024, model_binary_sparse(6), selector_gp(kernel, refit_every = 2),
                     control = control)
    expect_equal(other$kernel_theta, fit$kernel_theta, tolerance = 1e-6)
    expect_identical(other$selected, fit$selected)
    expect_true(all(is.finite(predict(fit, y[1:3, ], type = "prob"))))
    expect_true(length(capture.output(print(fit))) > 1)
    grDevices::pdf(NULL)
    plot(fit, "kernel")
    grDevices::dev.off()
  }
})

test_that("methods that cannot compute a custom kernel say which can", {
  x <- 1:10
  kernel <- own_rbf(1, 1) + kernel_white()
  for (method in c("ichol", "inducing", "fourier", "neighbours")) {
    expect_error(gp_fit(x, sin(x), kernel, method), "these can: \"exact\", \"divide\"",
                 class = "gps_error_argument")
  }
  expect_error(gps_fit(matrix(rnorm(60), 20), model_binary_sparse(3),
                       selector_gp(kernel, method = "ichol")), "kernel_custom",
               class = "gps_error_argument")
  expect_identical(choose_method(kernel, 1, 5000)$method, "exact")
  expect_error(.Call(C_gp_kernel_matrix, gp_kernel_code(kernel), c(0, 0, 0), t(x + 0), 1L),
               "lacks the values", class = "gps_error_model")
})

test_that("a `gradient` that is not the derivative of `value` is refused, whatever the scales", {
  wrong <- list(
    by_logarithm = function(x, z, parameters) {
      Map(`*`, rbf_gradient(x, z, parameters), parameters[c("lengthscale", "variance")])
    },
    sign = function(x, z, parameters) lapply(rbf_gradient(x, z, parameters), `-`),
    one_parameter = function(x, z, parameters) {
      gradient <- rbf_gradient(x, z, parameters)
      replace(gradient, "variance", list(2 * gradient$variance))
    }
  )
  for (unit in c(1e-8, 1, 1e8)) {
    x <- unit * seq_len(20) / 4
    fit_of <- function(gradient) {
      gp_fit(x, sin(x / unit), own_rbf(0.7 * unit, 1.3 * unit, gradient) + kernel_white(0.1),
             n_starts = 1)
    }
    for (gradient in wrong) {
      expect_error(fit_of(gradient), "`gradient` must return the derivatives of `value`",
                   class = "gps_error_model")
    }
    expect_s3_class(fit_of(rbf_gradient), "gp_fit")
  }
  # Differences tell little of a kernel that swings many times between two points.
  swing <- kernel_custom(
    function(x, z, parameters) cos(2 * pi * outer(x[, 1], z[, 1], `-`) / parameters[["period"]]),
    function(x, z, parameters) {
      turns <- 2 * pi * outer(x[, 1], z[, 1], `-`) / parameters[["period"]]
      list(period = turns * sin(turns) / parameters[["period"]])
    }, c(period = 1e-4)
  )
  expect_s3_class(gp_fit(1:20 + 0.3, sin(1:20), swing + kernel_white(), optimise = FALSE),
                  "gp_fit")
})

test_that("what functions get wrong is told by their name", {
  x <- 1:6
  fit_of <- function(...) gp_fit(x, sin(x), kernel_custom(...) + kernel_white())
  expect_error(fit_of(function(x, z, p) 1), "`value` must return a matrix of 6 x 6",
               class = "gps_error_model")
  expect_error(fit_of(function(x, z, p) matrix(NA_real_, nrow(x), nrow(z))), "finite",
               class = "gps_error_model")
  expect_error(fit_of(function(x, z, p) stop("no such luck")), "`value` failed: no such luck",
               class = "gps_error_model")
  expect_error(fit_of(function(x, z, p) outer(x[, 1], z[, 1], function(a, b) a)), "symmetric",
               class = "gps_error_model")
  expect_error(fit_of(function(x, z, p) -outer(x[, 1], z[, 1])), "below 0",
               class = "gps_error_model")
  one <- function(x, z, p) p * outer(x[, 1], z[, 1])
  expect_error(fit_of(one, function(x, z, p) list(other = 1)), "matrix for each parameter",
               class = "gps_error_model")
  expect_error(fit_of(one, function(x, z, p) list(variance = 1)), "as `variance` a matrix",
               class = "gps_error_model")
  expect_snapshot(error = TRUE, {
    kernel_custom(1)
    kernel_custom(one, 2)
    kernel_custom(one, parameters = c(1, 2))
    kernel_custom(one, parameters = c(a = -1))
    kernel_custom(one, start = 1)
    kernel_custom(one) * kernel_rbf()
    2 * kernel_custom(one)
  })
})

test_that("gradients of kernels with kinks are right on either side of these", {
  triangle <- function(factor) {
    kernel_custom(function(x, z, p) pmax(1 - abs(outer(x[, 1], z[, 1], `-`)) / p[["l"]], 0),
                  parameters = c(l = 1),
                  gradient = function(x, z, p) {
                    r <- abs(outer(x[, 1], z[, 1], `-`)) / p[["l"]]
                    list(l = factor * ifelse(r <= 1, r / p[["l"]], 0))
                  })
  }
  x <- (0:9) / 4
  fit <- gp_fit(x, sin(x), triangle(1) + kernel_white(), optimise = FALSE)
  expect_true(is.finite(fit$lml))
  expect_error(gp_fit(x, sin(x), triangle(1.1) + kernel_white(), optimise = FALSE),
               class = "gps_error_model")
})
