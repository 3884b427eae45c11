# Values of one kernel term by its formula, the slow way.
plain_kernel <- function(type, x, z, variance, lengthscale) {
  scaled <- function(x) sweep(x, 2, lengthscale, "/")
  r <- as.matrix(stats::dist(rbind(scaled(x), scaled(z))))
  r <- r[seq_len(nrow(x)), nrow(x) + seq_len(nrow(z)), drop = FALSE]
  dimnames(r) <- NULL
  switch(type,
    rbf = variance * exp(-r^2 / 2),
    matern32 = variance * (1 + sqrt(3) * r) * exp(-sqrt(3) * r),
    matern52 = variance * (1 + sqrt(5) * r + 5 * r^2 / 3) * exp(-sqrt(5) * r),
    linear = x %*% (rep_len(variance, ncol(x)) * t(z)),
    bias = matrix(variance, nrow(x), nrow(z))
  )
}

kernel_matrix <- function(kernel, x, n_threads = 1L) {
  .Call(C_gp_kernel_matrix, gp_kernel_code(kernel), gp_theta(kernel, t(x)), t(x), n_threads)
}

test_that("every kernel term equals its formula", {
  set.seed(1)
  x <- matrix(rnorm(90 * 3), 90)
  scales <- c(0.7, 1.3, 2.9)
  cases <- list(
    list(kernel_rbf(0.8, 1.4), "rbf", 0.8, 1.4),
    list(kernel_rbf(0.8, scales, ard = TRUE), "rbf", 0.8, scales),
    list(kernel_matern(1.5, 1.7, 0.6), "matern32", 1.7, 0.6),
    list(kernel_matern(1.5, 1.7, scales, ard = TRUE), "matern32", 1.7, scales),
    list(kernel_matern(2.5, 0.3, 0.6), "matern52", 0.3, 0.6),
    list(kernel_matern(2.5, 0.3, scales, ard = TRUE), "matern52", 0.3, scales),
    list(kernel_linear(0.4), "linear", 0.4, 1),
    list(kernel_linear(scales, ard = TRUE), "linear", scales, 1),
    list(kernel_bias(1.9), "bias", 1.9, 1)
  )
  for (case in cases) {
    lengthscale <- rep_len(case[[4]], 3)
    expected <- plain_kernel(case[[2]], x, x, case[[3]], lengthscale)
    expect_equal(kernel_matrix(case[[1]], x), expected, tolerance = 1e-14)
  }
  expect_identical(kernel_matrix(kernel_white(0.3), x), diag(0.3, 90))
})

test_that("a sum of kernels is the sum of their matrices, repeated terms included", {
  set.seed(2)
  x <- matrix(rnorm(70 * 4), 70)
  terms <- list(
    kernel_rbf(0.5, 1.1), kernel_matern(1.5, 0.7, 2), kernel_linear(0.2), kernel_bias(0.4),
    kernel_rbf(0.3, 3), kernel_rbf(0.9, 1:4, ard = TRUE), kernel_white(0.1),
    kernel_linear(c(0.1, 0.2, 0.3, 0.4), ard = TRUE), kernel_white(0.2)
  )
  whole <- Reduce(`+`, terms)
  expect_equal(
    kernel_matrix(whole, x), Reduce(`+`, lapply(terms, kernel_matrix, x)), tolerance = 1e-13
  )
})

test_that("white noise is shared by no two points, however equal", {
  x <- matrix(c(1, 1, 2), 3)
  k <- kernel_matrix(kernel_rbf(1, 1) + kernel_white(0.5), x)
  expect_equal(k[1, 2], 1)
  expect_equal(diag(k), rep(1.5, 3))
})

test_that("distances keep their digits far from the origin", {
  set.seed(3)
  # On a grid of 2^-20 a shift by 2^20 is exact, so the matrices must agree.
  x <- round(matrix(rnorm(40 * 3), 40) * 2^20) / 2^20
  kernel <- kernel_rbf(1, 0.9) + kernel_matern(2.5, 0.4, 1:3, ard = TRUE)
  expect_equal(kernel_matrix(kernel, x + 2^20), kernel_matrix(kernel, x), tolerance = 1e-13)
})

test_that("log parameters are named, and repeated terms get a suffix", {
  kernel <- kernel_composition() + kernel_rbf(ard = TRUE) + kernel_linear(ard = TRUE) +
    kernel_matern(1.5) + kernel_matern(2.5, ard = TRUE)
  expect_identical(theta_names(kernel, 2), c(
    "log_var_rbf", "log_len", "log_var_lin", "log_var_bias", "log_var_white",
    "log_var_rbf_2", "log_len_1_2", "log_len_2_2", "log_var_lin_1_2", "log_var_lin_2_2",
    "log_var_m32", "log_len_m32", "log_var_m52", "log_len_m52_1", "log_len_m52_2"
  ))
})

test_that("coef() gives log parameters, and NA for a lengthscale that waits for data", {
  expect_equal(coef(kernel_rbf(2, 3) + kernel_white(0.1)),
               log(c(log_var_rbf = 2, log_len = 3, log_var_white = 0.1)))
  expect_identical(coef(kernel_rbf()), c(log_var_rbf = 0, log_len = NA))
  expect_equal(coef(kernel_rbf(1, c(1, 2), ard = TRUE)),
               c(log_var_rbf = 0, log_len_1 = 0, log_len_2 = log(2)))
})

test_that("parameters go into a kernel and come out again", {
  kernel <- kernel_rbf(ard = TRUE) + kernel_linear(ard = TRUE) + kernel_bias() + kernel_white()
  theta <- seq(-1, 1, length.out = length(theta_names(kernel, 3)))
  back <- kernel_theta(kernel_with_theta(kernel, theta, 3), 3)
  expect_equal(unname(back), theta)
  expect_identical(names(back), theta_names(kernel, 3))
})

test_that("an open lengthscale is the median distance, whatever the rows' order or origin", {
  set.seed(4)
  x <- matrix(rnorm(50 * 2), 50)
  expected <- median(stats::dist(x))
  expect_equal(median_distance(t(x)), expected)
  expect_equal(median_distance(t(x[sample(50), ] + 100)), expected)
  expect_identical(median_distance(t(x), 10), median_distance(t(x), 10))
})

test_that("one point far out hardly moves an open lengthscale", {
  set.seed(5)
  for (n in c(80, 300)) {
    x <- matrix(runif(2 * n), n)
    for (far in c(1e3, 1e6, 99999999, 1e9, 1e12)) {
      y <- t(rbind(x, c(far, 0.5)))
      expect_equal(median_distance(y), stats::median(stats::dist(t(y))), tolerance = 1e-12)
      expect_equal(median_distance(y), median_distance(t(x)), tolerance = 0.05)
      expect_equal(exp(gp_theta(kernel_rbf(ard = TRUE), y)), exp(gp_theta(kernel_rbf(ard = TRUE),
                                                                        t(x))), tolerance = 0.1)
    }
  }
})

test_that("open lengthscales follow the units of data, to the bit for powers of two", {
  set.seed(6)
  y <- matrix(rnorm(120), 3) * c(1, 1e-3, 1e4)
  for (unit in 2^c(-600, -30, 30, 400)) {
    expect_identical(median_distance(y * unit), median_distance(y) * unit)
    expect_identical(column_scales(y * unit), column_scales(y) * unit)
  }
  expect_identical(median_distance(y), median_distance(y[, sample(40)]))
  each <- exp(gp_theta(kernel_rbf(ard = TRUE), y))[-1]
  expect_equal(unname(each), column_scales(y) * median_distance(y / column_scales(y)))
  # Groups far apart keep the digits of what is near: a year in seconds.
  time <- c(1:30, 31536000 + 1:30) + 1.7e9
  expect_identical(median_distance(matrix(time, 1)), stats::median(stats::dist(time)))
  # A column of few values, and a constant one.
  expect_identical(column_scales(rbind(c(rep(0, 9), 3), 7)), c(3, 1))
})

test_that("the median distance survives equal points", {
  expect_identical(median_distance(matrix(7, 2, 5)), 1)
  expect_identical(median_distance(matrix(7, 2, 1)), 1)
  mostly_equal <- matrix(c(rep(0.1, 20), 1), 1)
  expect_equal(median_distance(mostly_equal), 0.9)
  expect_identical(median_distance(matrix(c(1, 4), 1)), 3)
})

test_that("distances in the middle need two points, and norms that belong to the products", {
  for (n in 0:1) {
    expect_error(.Call(C_gp_middle, numeric(n), diag(n), 0), "no distances",
                 class = "gps_error_argument")
  }
  expect_error(.Call(C_gp_middle, c(1, 1), diag(3), 0), "sq")
  found <- .Call(C_gp_middle, c(0, 1, 9, 16), tcrossprod(c(0, 1, 3, 4)), 3)
  # Of 1, 9, 16, 4, 9 and 1 those between 4 - 3 and 9 + 3.
  expect_identical(found$middle, c(4, 9))
  expect_identical(found$n_below, 0)
  expect_identical(found$points, rbind(c(1L, 1L, 2L, 2L, 3L), c(2L, 3L, 3L, 4L, 4L)))
  expect_identical(found$value, c(1, 9, 4, 9, 1))
})

test_that("kernels print", {
  expect_snapshot({
    kernel_composition()
    kernel_rbf(0.5, c(1, 2), ard = TRUE)
    kernel_matern(1.5, 2, 1:6, ard = TRUE) + kernel_linear(c(0.1, 0.2), ard = TRUE)
    kernel_rq(2, 0.5) + kernel_periodic()
    3 * kernel_rbf(0.5) * kernel_periodic(1, 2, c(3, 4), ard = TRUE) + kernel_white()
  })
})

test_that("wrong arguments of kernels are named", {
  expect_snapshot(error = TRUE, {
    kernel_rbf(variance = -1)
    kernel_rbf(lengthscale = c(1, 2))
    kernel_rbf(lengthscale = c(1, NA), ard = TRUE)
    kernel_rbf(ard = "yes")
    kernel_linear(variance = c(1, 2))
    kernel_white(0)
    kernel_bias("1")
    kernel_matern(nu = 0.75)
    kernel_rbf() + 1
    kernel_rq(alpha = 0)
    kernel_periodic(period = c(1, 2))
    kernel_periodic(lengthscale = NULL)
    -1 * kernel_rbf()
    kernel_rbf() * "2"
    kernel_rbf() * kernel_white()
    (kernel_rbf() + kernel_white()) * kernel_periodic()
    kernel_rbf() / 2
  })
  expect_error(kernel_white(Inf), class = "gps_error_argument")
  expect_error(1 + kernel_rbf(), class = "gps_error_argument")
  expect_error(Reduce(`+`, rep(list(kernel_bias()), 17)), class = "gps_error_argument")
  expect_error(gp_theta(kernel_rbf(1, 1:3, ard = TRUE), matrix(0, 2, 5)),
               class = "gps_error_argument")
})

test_that("the C core refuses what is no kernel", {
  expect_error(.Call(C_gp_kernel_matrix, list(type = "cubic", ard = FALSE), 0, matrix(0, 1, 2), 1L),
               class = "gps_error_model")
  expect_error(.Call(C_gp_kernel_matrix, gp_kernel_code(kernel_rbf()), 0, matrix(0, 1, 2), 1L),
               class = "gps_error_model")
})
