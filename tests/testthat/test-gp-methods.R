# What predict() and the other methods of a gp_fit say of noise, intervals and arguments.

noisy_fit <- function(...) {
  set.seed(21)
  x <- matrix(runif(40, 0, 6), dimnames = list(NULL, "wt"))
  targets <- cbind(a = sin(x[, 1]), b = cos(x[, 1])) + rnorm(80, sd = 0.2)
  gp_fit(x, targets, kernel_rbf(1, 1) + kernel_white(0.04) + kernel_white(0.01),
         optimise = FALSE, ...)
}

test_that("the call is kept, changes with update(); what was not learned is not counted", {
  d <- data.frame(a = 1:12, b = cos(1:12))
  d$out <- sin(d$a) + d$b
  kernel <- kernel_rbf(1, 1) + kernel_white(0.01)
  fit <- gp_fit(out ~ a, d, kernel, optimise = FALSE)
  expect_identical(fit$call, quote(gp_fit(x = out ~ a, targets = d, kernel = kernel,
                                          optimise = FALSE)))
  expect_identical(attr(logLik(fit), "df"), 0L)
  expect_identical(attr(logLik(update(fit, trend = "linear")), "df"), 2L)
  sought <- update(fit, . ~ . + b, data = d[1:10, ], optimise = TRUE, max_evals = 5)
  expect_identical(attr(logLik(sought), "df"), 3L)
  expect_identical(eval(sought$call)$lml, sought$lml)
  held <- update(sought, optimise = FALSE, trend = "constant")
  expect_identical(held$call$kernel, quote(sought$kernel))
  expect_identical(eval(held$call)$lml, held$lml)
  expect_identical(do.call(gp_fit, list(1:3, 1:3, kernel, optimise = FALSE))$call,
                   quote(gp_fit(x = x, targets = targets, kernel = kernel, optimise = FALSE)))
})

test_that("intervals are quantiles of the function or of a new observation, by every method", {
  new <- matrix(c(0.5, 3, 9), dimnames = list(c("p", "q", "r"), "wt"))
  engines <- list(list(), list(method = "ichol", rank = 5), list(method = "divide", rank = 20),
                  list(method = "inducing", rank = 5, objective = "fitc"),
                  list(method = "fourier", rank = 20))
  for (engine in engines) {
    fit <- do.call(noisy_fit, engine)
    plain <- predict(fit, new)
    expect_named(plain, c("mean", "variance"))
    noisy <- predict(fit, new, noise = TRUE)
    expect_identical(noisy$mean, plain$mean)
    expect_equal(noisy$variance, plain$variance + 0.05)
    for (level in c(0.5, 0.95)) {
      curve <- predict(fit, new, interval = "confidence", level = level)
      seen <- predict(fit, new, interval = "prediction", level = level, se.fit = TRUE)
      wide <- stats::qnorm(0.5 + level / 2)
      expect_equal(curve$upper - curve$mean, wide * sqrt(cbind(a = plain$variance,
                                                               b = plain$variance)))
      expect_equal(seen$mean - seen$lower, wide * sqrt(cbind(a = noisy$variance,
                                                             b = noisy$variance)))
      expect_identical(dimnames(seen$lower), list(c("p", "q", "r"), c("a", "b")))
      expect_identical(seen$se.fit, sqrt(plain$variance))
    }
  }
})

test_that("nine of ten new observations lie in a 90 % interval", {
  set.seed(22)
  x <- runif(150, 0, 6)
  fit <- gp_fit(x, sin(x) + rnorm(150, sd = 0.3), kernel_rbf() + kernel_white())
  new <- runif(2000, 0, 6)
  found <- predict(fit, new, interval = "prediction", level = 0.9)
  seen <- sin(new) + rnorm(2000, sd = 0.3)
  inside <- mean(seen > found$lower & seen < found$upper)
  expect_gt(inside, 0.85)
  expect_lt(inside, 0.95)
})

test_that("no method does as if an argument had not been given", {
  fit <- noisy_fit()
  expect_snapshot(error = TRUE, {
    predict(fit, wt = 2)
    predict(fit, newdta = 2)
    predict(fit, 2, interval = "tolerance")
    predict(fit, 2, interval = "confidence", level = 95)
    predict(fit, 2, se.fit = 1)
    predict(fit, 2, noise = NULL)
    fitted(fit, newdata = 2)
    plot(fit, type = "l")
    plot(fit, nonsense = 1)
    gp_fit(1:6, 1:6, optimize = FALSE)
    gp_fit(1:6, y = 1:6)
    gp_fit(mpg ~ wt + hp)
    gp_fit(formula = mpg ~ wtt, data = mtcars)
    gp_fit(Sys.Date() + 1:6, 1:6)
    gp_fit(as.POSIXct("2026-01-01", "UTC") + 1:6, 1:6)
    gp_fit(as.difftime(1:6, units = "hours"), 1:6)
    gp_fit(1:6, factor(1:6))
    predict(fit, Sys.Date())
    kernel_rbf(ls = 2)
    kernel_matern(smoothness = 1.5)
    kernel_composition(TRUE)
    -kernel_rbf()
    kernel_rbf() == kernel_rbf()
  })
  for (method in list(coef, residuals, logLik, nobs, summary, fitted, predict, plot)) {
    expect_error(method(fit, nonsense = 1), "Unknown argument `nonsense`",
                 class = "gps_error_argument")
  }
})

test_that("logical targets are 0 and 1, and the fit says so", {
  x <- 1:12
  targets <- x > 6
  kernel <- kernel_rbf() + kernel_white()
  fit <- gp_fit(x, targets, kernel)
  numbers <- gp_fit(x, as.numeric(targets), kernel)
  expect_identical(coef(fit), coef(numbers))
  expect_identical(fit$targets, numbers$targets)
  expect_printed(fit, "The targets are logical: FALSE is 0, TRUE is 1.", fixed = TRUE)
  expect_warning(gp_fit(x, data.frame(late = targets), kernel), "read as 1 and 0",
                 class = "gps_warning")
  # Inputs as well, a bare vector as a column.
  late <- gp_fit(targets, x, kernel, optimise = FALSE)
  expect_identical(predict(late, c(TRUE, FALSE)), predict(late, matrix(c(1, 0))))
})

test_that("where warnings are errors, what is said of a fit has it", {
  old <- options(warn = 2)
  on.exit(options(old))
  fits <- list(
    "nearly singular" = function() gp_fit(1:12, sin(1:12), kernel_rbf(1, 10), optimise = FALSE),
    "follow the trend" = function() gp_fit(1:9, 2 * 1:9, kernel_rbf() + kernel_white(),
                                           trend = "linear")
  )
  for (words in names(fits)) {
    lost <- tryCatch(fits[[words]](), error = identity)
    expect_match(conditionMessage(lost), words)
    expect_s3_class(lost$fit, "gp_fit")
    kept <- suppressWarnings(fits[[words]]())
    expect_identical(lost$fit$theta, kept$theta)
    expect_length(predict(lost$fit, 2.5)$mean, 1)
  }
})

test_that("sparse matrices of package Matrix are refused with what makes plain ones", {
  skip_if_not_installed("Matrix")
  sparse <- Matrix::Matrix(diag(3), sparse = TRUE)
  fit <- gp_fit(diag(3), 1:3, kernel_rbf() + kernel_white(), optimise = FALSE)
  expect_gps_error(gp_fit(sparse, 1:3), "as.matrix(x) makes")
  expect_gps_error(gp_fit(diag(3), sparse), "as.matrix(targets) makes")
  expect_gps_error(predict(fit, sparse), "as.matrix(newdata) makes")
  expect_gps_error(predict(fit, Matrix::sparseVector(1, 2, 3)), "as.numeric(newdata) makes")
})

test_that("pictures take what graphics take", {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  data <- smooth_toy(15, 3, 1)
  for (n_dims in 1:3) {
    fit <- gp_fit(data$x[, seq_len(n_dims), drop = FALSE], data$targets,
                  kernel_rbf(1, 1) + kernel_white(), optimise = FALSE)
    expect_no_warning(plot(fit, main = "m", xlab = "x", ylim = c(-1, 1), pch = 3, cex = 2,
                           col = "red", key = FALSE))
  }
})

test_that("no new points have results of none, and of some columns and targets", {
  fit <- noisy_fit()
  for (trend in c("none", "constant")) {
    fit <- if (trend == "none") fit else update(fit, trend = trend)
    none <- fit$x[0, , drop = FALSE]
    found <- predict(fit, none, interval = "confidence", se.fit = TRUE)
    expect_identical(lapply(found, NROW), lapply(found, function(x) 0L))
    expect_identical(colnames(found$upper), c("a", "b"))
    expect_identical(dim(simulate(fit, 2, newdata = none)[[2]]), c(0L, 2L))
  }
  expect_identical(predict(fit, data.frame(wt = numeric()))$variance, numeric())
  expect_gps_error(predict(fit, matrix(0, 0, 3)), "1 column, not 3")
})
