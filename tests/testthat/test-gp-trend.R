# Gaussian processes with a trend, by a formula, drawn from and refitted.

trend_case <- function(n = 14) {
  set.seed(2)
  x <- cbind(a = runif(n, 0, 6), b = runif(n, 100, 103))
  list(x = x, y = cbind(u = 3 + 2 * x[, 1] - x[, 2] / 5 + sin(2 * x[, 1]), v = cos(x[, 1])),
       kernel = kernel_rbf(1, 1.5) + kernel_white(0.05))
}

# The definitions, of data and new points: universal kriging with a flat prior.
kriging <- function(case, theta, kind, new) {
  columns <- function(x) if (kind == "constant") matrix(1, nrow(x), 1) else cbind(1, x)
  value <- function(a, b) {
    square <- outer(seq_len(nrow(a)), seq_len(nrow(b)), Vectorize(function(i, j) {
      sum((a[i, ] - b[j, ])^2)
    }))
    exp(theta[[1]]) * exp(-square / 2 / exp(theta[[2]])^2)
  }
  h <- columns(case$x)
  K <- value(case$x, case$x) + exp(theta[[3]]) * diag(nrow(h))
  M <- t(h) %*% solve(K, h)
  B <- solve(M, t(h) %*% solve(K, case$y))
  rest <- case$y - h %*% B
  k <- value(new, case$x)
  u <- columns(new) - k %*% solve(K, h)
  log_det <- as.numeric(determinant(K)$modulus)
  list(B = B, mean = columns(new) %*% B + k %*% solve(K, rest),
       covariance = value(new, new) - k %*% solve(K, t(k)) + u %*% solve(M, t(u)),
       lml = -sum(rest * solve(K, rest)) / 2 - log_det - nrow(h) * log(2 * pi))
}

new_points <- cbind(a = c(1, 8, 2.5), b = c(101, 99, 102))

test_that("a trend is universal kriging: coefficients, likelihood, predictions, leaving one out", {
  case <- trend_case()
  for (kind in c("constant", "linear")) {
    fit <- gp_fit(case$x, case$y, case$kernel, trend = kind, max_evals = 40)
    wanted <- kriging(case, coef(fit), kind, new_points)
    expect_near(fit$lml, wanted$lml, 1e-10)
    expect_near(unname(fit$trend$coefficients), unname(wanted$B), 1e-9)
    found <- predict(fit, new_points)
    expect_near(unname(found$mean), unname(wanted$mean), 1e-9)
    expect_near(found$variance, diag(wanted$covariance), 1e-9)
    expect_identical(attr(logLik(fit), "df"), 3L + 2L * if (kind == "constant") 1L else 3L)
    loo <- gp_loo(fit)
    left <- list(x = case$x[-3, ], y = case$y[-3, ])
    alone <- kriging(left, coef(fit), kind, case$x[3, , drop = FALSE])
    expect_near(unname(loo$mean[3, ]), unname(alone$mean[1, ]), 1e-9)
    expect_near(loo$variance[[3]], alone$covariance[1] + exp(coef(fit)[["log_var_white"]]), 1e-9)
    expect_near(unname(fitted(fit) + residuals(fit)), unname(case$y), 1e-12)
  }
  expect_output(print(fit), "Trend of the first target: level .*, a .*, b ")
})

test_that("the trend of an approximation is the best for its own likelihood", {
  case <- trend_case(30)
  for (method in c("ichol", "fourier")) {
    fit <- gp_fit(case$x, case$y, case$kernel, method, rank = 12, trend = "linear",
                  optimise = FALSE)
    columns <- trend_columns(fit$trend, case$x)
    value <- function(beta) {
      gp_fit(case$x, case$y - columns %*% beta, case$kernel, method, rank = 12,
             optimise = FALSE)$lml
    }
    expect_near(value(fit$trend$beta), fit$lml, 1e-9)
    for (step in c(-1e-3, 1e-3)) {
      expect_lt(value(fit$trend$beta + step), fit$lml)
    }
  }
  expect_gps_error(gp_fit(case$x, case$y, case$kernel, "divide", trend = "linear"),
                   "`trend` needs one covariance of all points")
  expect_gps_error(gp_fit(cbind(case$x, 1), case$y, case$kernel, trend = "linear"),
                   "more data points than its 4 coefficients")
  expect_gps_error(gp_fit(case$x, case$y, trend = "square"), "`trend` must be one of")
})

test_that("draws have the joint moments of the predictions", {
  case <- trend_case()
  fit <- gp_fit(case$x, case$y, case$kernel, trend = "linear", optimise = FALSE)
  wanted <- kriging(case, coef(fit), "linear", new_points)
  joint <- joint_moments(fit, new_points, FALSE)
  expect_near(tcrossprod(joint$root), wanted$covariance, 1e-10)
  expect_near(unname(joint$mean), unname(wanted$mean), 1e-9)
  noisy <- joint_moments(fit, new_points, TRUE)
  expect_near(tcrossprod(noisy$root), wanted$covariance + 0.05 * diag(3), 1e-10)
  plain <- gp_fit(case$x, case$y, case$kernel, optimise = FALSE)
  expect_near(diag(tcrossprod(joint_moments(plain, new_points, FALSE)$root)),
              unname(predict(plain, new_points)$variance), 1e-10)
  drawn <- simulate(fit, 2, seed = 4, newdata = new_points)
  expect_identical(drawn, simulate(fit, 2, seed = 4, newdata = new_points))
  expect_identical(dim(drawn[[2]]), c(3L, 2L))
  expect_identical(colnames(drawn[[1]]), c("u", "v"))
  expect_identical(dim(simulate(plain)[[1]]), c(14L, 2L))
  rough <- gp_fit(case$x, case$y, case$kernel, "ichol", rank = 5, optimise = FALSE)
  expect_gps_error(simulate(rough), "method \"exact\" alone has, not \"ichol\"")
})

test_that("a formula names inputs and targets, and new data are read by it", {
  kernel <- kernel_rbf(20, 5) + kernel_white(4)
  fit <- gp_fit(mpg ~ wt + hp, mtcars, kernel, optimise = FALSE)
  plain <- gp_fit(mtcars[c("wt", "hp")], mtcars["mpg"], kernel, optimise = FALSE)
  expect_identical(fit[c("x", "targets", "lml")], plain[c("x", "targets", "lml")])
  named <- gp_fit(mpg ~ wt + hp, data = mtcars, kernel = kernel, optimise = FALSE)
  expect_identical(named$lml, fit$lml)
  expect_identical(formula(fit), mpg ~ wt + hp, ignore_formula_env = TRUE)
  expect_identical(predict(fit, mtcars[3:4, ]), predict(plain, mtcars[3:4, c("wt", "hp")]))
  logs <- gp_fit(cbind(log(mpg), qsec) ~ ., mtcars[c("mpg", "wt", "qsec")], kernel,
                 optimise = FALSE)
  expect_identical(colnames(logs$x), "wt")
  expect_near(logs$targets[, 1], log(mtcars$mpg), 0)
  expect_gps_error(formula(plain), "fitted to a matrix")
  expect_gps_error(gp_fit(~ wt, mtcars), "must have the targets left of ~: y ~ wt")
  expect_gps_error(gp_fit(mpg ~ wtt, mtcars), "no column \"wtt\". Did you mean \"wt\"?")
  expect_gps_error(gp_fit(mpgg ~ wt, mtcars), "no column \"mpgg\". Did you mean \"mpg\"?")
  expect_gps_error(gp_fit(mpg ~ log(wt), mtcars), "Make it one first")
  expect_gps_error(gp_fit(mpg ~ wt), "gp_fit(mpg ~ wt, data = d)")
  expect_gps_error(gp_fit(plain$x, plain$targets, data = mtcars), "`data` goes with a formula")
  expect_gps_error(gp_fit(Species ~ Sepal.Width, iris), "`Species`, left of ~, must be numbers")
})

test_that("update() changes what is named and keeps the rest", {
  kernel <- kernel_rbf(20, 5) + kernel_white(4)
  fit <- gp_fit(mpg ~ wt, mtcars, kernel, optimise = FALSE)
  expect_identical(update(fit)$lml, fit$lml)
  wider <- update(fit, kernel = kernel_rbf(20, 9) + kernel_white(4), trend = "constant")
  expect_identical(wider$trend$kind, "constant")
  expect_identical(wider$x, fit$x)
  expect_identical(coef(wider)[["log_len"]], log(9))
  half <- update(fit, data = mtcars[1:16, ])
  expect_identical(half$lml, gp_fit(mpg ~ wt, mtcars[1:16, ], kernel, optimise = FALSE)$lml)
  expect_gps_error(update(fit, kern = kernel), "Unknown argument `kern`")
  fit$given <- NULL
  expect_gps_error(update(fit), "earlier version")
})

test_that("update() without a search keeps what was learned, as simulate() advises", {
  rough <- gp_fit(mpg ~ wt, mtcars, method = "ichol", rank = 20, max_evals = 20, n_starts = 1)
  exact <- update(rough, method = "exact", optimise = FALSE)
  expect_equal(coef(exact), coef(rough), tolerance = 1e-12)
  expect_identical(exact$lml, gp_fit(mpg ~ wt, mtcars, rough$kernel, optimise = FALSE)$lml)
  expect_length(simulate(exact, 1, seed = 1), 1)
  given <- kernel_rbf(20, 5) + kernel_white(4)
  expect_identical(coef(update(rough, kernel = given, optimise = FALSE))[["log_len"]], log(5))
  expect_gps_error(update(rough, method = "exact", rank = 9), "`rank` means nothing")
  bound <- gp_fit(mpg ~ wt, mtcars, given, max_evals = 5, fixed = "log_len")
  expect_equal(coef(update(bound, optimise = FALSE)), coef(bound), tolerance = 1e-12)
})

test_that("what a formula has no place for is refused by its name", {
  expect_gps_error(gp_fit(mpg ~ wt + offset(hp), mtcars), "has an offset(hp)")
  expect_gps_error(gp_fit(mpg ~ wt, data = mtcars, targets = mtcars$hp), "`targets`")
  expect_gps_error(gp_fit(mpg ~ wt, mtcars[1:5, ], data = mtcars), "`data` are both given")
  expect_gps_error(gp_fit(mtcars, formula = mpg ~ wt), "`x` and `formula` are both given")
  expect_gps_error(gp_fit(mpg ~ wt - 1, mtcars, trend = "constant"), "write mpg ~ wt.")
  expect_gps_error(gp_fit(mpg ~ 0 + ., mtcars[1:3]), "write mpg ~ cyl + disp.")
  expect_gps_error(gp_fit(mpg ~ 1, mtcars), "mpg ~ a + b, or mpg ~ . for all")
  expect_gps_error(gps_fit(~ wt + offset(hp), model_gaussian_mixture(2), data = mtcars),
                   "has an offset(hp)")
  expect_gps_error(gp_fit(mpg ~ wt, mtcars, subset = 1:5), "d[rows, ]")
})

test_that("update() takes a formula without a name", {
  kernel <- kernel_rbf(20, 5) + kernel_white(4)
  fit <- gp_fit(mpg ~ ., mtcars[c("mpg", "wt")], kernel, optimise = FALSE)
  both <- gp_fit(mpg ~ wt + hp, mtcars, kernel, optimise = FALSE)
  for (formula in list(. ~ . + hp, mpg ~ wt + hp, ~ wt + hp)) {
    wider <- update(fit, formula, data = mtcars)
    expect_identical(wider[c("x", "targets", "lml")], both[c("x", "targets", "lml")])
  }
  expect_identical(update(fit, formula = . ~ . + hp, data = mtcars)$lml, both$lml)
  expect_identical(formula(update(both, . ~ . - hp, data = mtcars)), mpg ~ wt,
                   ignore_formula_env = TRUE)
  expect_gps_error(update(fit, . ~ . + hp), "update(fit, mpg ~ wt + hp, data = d)")
  expect_gps_error(update(fit, . ~ hp, x = mtcars, data = mtcars), "takes one formula")
  expect_gps_error(update(fit, . ~ . + offset(hp), data = mtcars), "offset(hp)")
  expect_gps_error(vcov(fit), "gp_gradient(fit)")
  expect_gps_error(confint(fit), "interval = \"confidence\"")
  set.seed(1)
  mixture <- gps_fit(~ wt, model_gaussian_mixture(2), selector_full(), data = mtcars,
                     control = gps_control(max_iter = 2, n_starts = 1, progress = FALSE))
  for (formula in list(~ wt + hp, ~ . + hp, . ~ . + hp)) {
    wider <- update(mixture, formula, data = mtcars)
    expect_identical(wider$col_names, c("wt", "hp"))
    expect_identical(wider$call$y, quote(~ wt + hp))
  }
  expect_gps_error(update(mixture, ~ . + hp), "update(fit, ~wt + hp, data = d)")
})

test_that("a single point has no trend, and is told so", {
  expect_gps_error(gp_fit(matrix(1, 1, 1), 2, trend = "linear"), "needs more data points than")
  expect_gps_error(gp_fit(matrix(1, 1, 1), 2, trend = "constant"), "needs more data points than")
})

test_that("targets that follow the trend exactly are told of, whatever the kernel", {
  set.seed(1)
  x <- seq(0, 1, length.out = 25)
  noise <- rnorm(25, sd = 0.1)
  kernels <- list(kernel_linear(1) + kernel_bias(1) + kernel_rbf(1, 0.2) + kernel_white(1e-4),
                  kernel_rbf() + kernel_white())
  for (kernel in kernels) {
    for (y in list(2 + 3 * x, rep(2, 25), 1e6 - x / 7)) {
      given <- suppressWarnings(gp_fit(x, y, kernel, optimise = FALSE, trend = "linear"))
      expect_warning(fit <- gp_fit(x, y, kernel, trend = "linear"), "follow the trend exactly",
                     class = "gps_warning")
      expect_gte(fit$lml, given$lml)
      expect_near(predict(fit, c(0.3, 2))$mean[, 1], y[1] + c(0.3, 2) * (y[25] - y[1]), 1e-6)
    }
    expect_warning(gp_fit(x, 2 + 3 * x + noise, kernel, max_evals = 20, trend = "linear"), NA)
  }
})

test_that("codes among the targets are told of, heavy tails and rare ones are not", {
  set.seed(4)
  x <- runif(80)
  y <- sin(6 * x) + rnorm(80, sd = 0.1)
  fit <- function(y) gp_fit(x, y, kernel_rbf(1, 0.3) + kernel_white(0.1), optimise = FALSE)
  expect_warning(fit(replace(y, c(3, 17), -999)), "2 values far from all others: rows 3 and 17",
                 class = "gps_warning_far")
  expect_warning(fit(cbind(y, replace(y, 5, 99999999))), "row 5 of column 2, such as 99999999",
                 class = "gps_warning_far")
  expect_warning(fit(y), NA)
  expect_warning(fit(rt(80, 1)), NA)
  expect_warning(fit(exp(3 * qnorm(ppoints(80)))), NA)
  expect_warning(fit(rep(c(0, 1), c(76, 4))), NA)
})
