test_that("a matrix that no jitter cures is an error, and in a search only a bad value", {
  y <- matrix(c(0, 1e200, 2e200), 1)
  expect_error(gp_fit(t(y), 1:3), class = "gps_error_numeric")
  expect_error(gp_fit(t(y), 1:3, kernel_linear() + kernel_white()), class = "gps_error_numeric")
  expect_error(gp_fit(t(y), 1:3, kernel_linear(), optimise = FALSE), class = "gps_error_numeric")
  # At a lengthscale that is given they are points that have nothing to do with each other.
  apart <- gp_fit(t(y), 1:3, kernel_rbf(1, 1), optimise = FALSE)
  expect_equal(apart$lml, sum(dnorm(1:3, log = TRUE)), tolerance = 1e-12)
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
  expect_equal(unclass(gp_loo(fit)), list(mean = matrix(0), variance = 1.75))
})

test_that("a constant column leaves its lengthscale alone", {
  data <- smooth_toy(30, 2, 1)
  kernel <- kernel_rbf(1, c(1, 1, 1), ard = TRUE) + kernel_white()
  expect_warning(fit <- gp_fit(cbind(data$x, 5), data$targets, kernel), "constant in column 3")
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
    gp_fit(x, 1:6, method = "exact", rank = 3)
    gp_fit(x, 1:6, method = "ichol", rank = 0)
    gp_fit(x, 1:6, method = "ichol", objective = "fitc")
    gp_fit(x, 1:6, method = "inducing", objective = "vtc")
    gp_fit(x, 1:6, method = "inducing", learn_inputs = NA)
    gp_fit(x, 1:6, method = "inducing", learn_inputs = TRUE, optimise = FALSE)
    gp_fit(x, 1:6, method = "fourier", learn_inputs = TRUE)
    gp_fit(x, 1:6, method = "fourier", rank = 5)
    gp_fit(x, 1:6, kernel_linear() + kernel_white(), method = "fourier")
    gp_fit(x, 1:6, kernel_rbf() + kernel_rbf() + kernel_white(), method = "fourier", rank = 2)
    gp_fit(x, 1:6, method = "inducing", cross = FALSE)
    gp_fit(x, 1:6, method = "divide", cross = "no")
    gp_fit(x, 1:6, kernel_rbf(), method = "ichol")
    gp_fit(x, 1:6, kernel_white(), method = "ichol")
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

test_that("what tapply() and table() give is a vector", {
  kernel <- kernel_rbf(1, 1) + kernel_white()
  means <- tapply(c(1, 3, 2, 5, 4, 4), rep(c("a", "b", "c"), 2), mean)
  fit <- gp_fit(array(1:3), means, kernel, optimise = FALSE)
  expect_identical(fit$lml, gp_fit(1:3, c(means), kernel, optimise = FALSE)$lml)
  expect_identical(predict(fit, array(c(1.5, 2)))$mean, predict(fit, c(1.5, 2))$mean)
  expect_identical(rownames(gp_loo(fit)$mean), c("a", "b", "c"))
})

test_that("predict() takes matrices, data frames, single rows and permuted names", {
  data <- smooth_toy(20, 2, 2)
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
  data <- smooth_toy(25, 2, 3)
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
  data <- smooth_toy(40, 3, 2)
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
  data <- smooth_toy(10, 2, 1)
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
  data <- smooth_toy(15, 3, 2)
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

test_that("a prediction that overflows is an error, not a variance of zero", {
  data <- smooth_toy(15, 2, 1)
  for (kernel in list(kernel_composition(), kernel_linear() + kernel_white())) {
    fit <- gp_fit(data$x, data$targets, kernel, optimise = FALSE)
    expect_gps_error(predict(fit, rbind(c(1, 1), c(1e300, 1))), "The prediction at row 2",
                     class = "numeric")
    expect_gt(predict(fit, c(1e100, 1))$variance, 0)
  }
})

test_that("a damaged kernel is refused before it meets data", {
  data <- smooth_toy(10, 2, 1)
  change <- function(...) {
    kernel <- kernel_composition()
    kernel$terms[[1]] <- utils::modifyList(kernel$terms[[1]], list(...))
    kernel
  }
  no_terms <- structure(list(terms = list()), class = "gps_kernel")
  for (kernel in list(change(type = "foo"), change(variance = "a"), change(variance = NA_real_),
                      change(lengthscale = "a"), change(ard = NA), no_terms,
                      structure(1, class = "gps_kernel"))) {
    expect_gps_error(gp_fit(data$x, data$targets, kernel), "is not as kernel_*() makes it")
    expect_gps_error(selector_gp(kernel), "is not as kernel_*() makes it")
  }
})

test_that("a target asked for by name needs names", {
  data <- smooth_toy(10, 1, 2)
  fit <- gp_fit(data$x, data$targets, kernel_rbf(1, 1) + kernel_white(), optimise = FALSE)
  expect_gps_error(plot(fit, target = "a"), "`target` must be a number: targets have no names")
})

test_that("new points whose names are all foreign are refused, not taken by position", {
  data <- smooth_toy(15, 2, 1)
  colnames(data$x) <- c("a", "b")
  fit <- gp_fit(data$x, data$targets, kernel_rbf(1, 1) + kernel_white(), optimise = FALSE)
  expect_gps_error(predict(fit, data.frame(u = 1, v = 2)), "but \"a\", \"b\" are missing")
  expect_identical(predict(fit, data.frame(b = 2, a = 1, u = 3)), predict(fit, c(1, 2)))
})

test_that("a nearly singular kernel without noise says what cures it", {
  x <- matrix(rep(seq(0, 1, length.out = 10), 3))
  set.seed(1)
  expect_warning(gp_fit(x, rnorm(30), kernel_rbf()), "need a kernel_white\\(\\) term",
                 class = "gps_warning")
})
