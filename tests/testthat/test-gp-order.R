# In which order points and columns are given does not matter, to methods that take some before
# others as to the exact one.

order_data <- function(n = 45) {
  set.seed(3)
  x <- cbind(a = runif(n, 0, 6), b = rnorm(n), c = runif(n))
  x[5, ] <- x[20, ]
  list(x = x, y = cbind(sin(2 * x[, 1]) + 0.3 * x[, 2], x[, 2]) + rnorm(2 * n, sd = 0.1),
       new = cbind(a = c(1, 3), b = c(0, 0.5), c = c(0.2, 0.4)))
}

order_ways <- list(
  exact = list(), ichol = list(method = "ichol", rank = 9),
  vfe = list(method = "inducing", rank = 7),
  fitc = list(method = "inducing", rank = 7, objective = "fitc"),
  inputs = list(method = "inducing", rank = 4, learn_inputs = TRUE),
  fourier = list(method = "fourier", rank = 12), divide = list(method = "divide", rank = 12),
  neighbours = list(method = "neighbours", rank = 6),
  index = list(method = "neighbours", rank = 6, index = TRUE)
)

# A fit of points and columns in this order, its numbers in that of the data.
in_order <- function(data, rows, columns, kernel, arguments) {
  fit <- suppressWarnings(classes = "gps_warning", do.call(gp_fit, c(
    list(data$x[rows, columns], data$y[rows, ], kernel, n_starts = 2, max_evals = 30), arguments
  )))
  loo <- gp_loo(fit)$mean
  loo[rows, ] <- loo
  list(lml = c(logLik(fit)), theta = sort(coef(fit)), loo = loo,
       predicted = unname(predict(fit, data$new[, columns])$mean))
}

test_that("rows in another order give the same fit, by every method", {
  data <- order_data()
  set.seed(4)
  orders <- list(sample(45), 45:1)
  kernels <- list(kernel_rbf() + kernel_white(), kernel_matern(1.5, ard = TRUE) + kernel_white())
  for (i in 1:2) {
    kernel <- kernels[[i]]
    for (way in order_ways) {
      as_given <- in_order(data, 1:45, 1:3, kernel, way)
      # Each kernel with one of the orders.
      for (rows in if (is_full()) orders else orders[i]) {
        expect_all_near(in_order(data, rows, 1:3, kernel, way), as_given, 1e-6)
      }
    }
  }
})

test_that("columns in another order give the same fit, by every method", {
  data <- order_data()
  kernel <- kernel_rbf() + kernel_white()
  for (way in order_ways) {
    expect_all_near(in_order(data, 1:45, c(3, 1, 2), kernel, way),
                in_order(data, 1:45, 1:3, kernel, way), 1e-5)
  }
})

test_that("of columns that lie alike the targets tell which comes first, whatever their units", {
  grid <- as.matrix(expand.grid(a = 1:6, b = 1:6))
  y <- cbind(sin(grid[, 1]) + 0.2 * grid[, 2])
  expect_identical(own_columns(grid[, 2:1], y), rev(own_columns(grid, y)))
  far <- grid * rep(c(1e-9, 1e7), each = 36) + rep(c(1, 1e8), each = 36)
  expect_identical(own_columns(far, 1e9 * y), own_columns(grid, y))
  expect_identical(own_columns(cbind(3, grid), y)[3], 1L)
  # On a grid pivots are equally good, and rounding would tell which is the first.
  set.seed(6)
  values <- runif(36, 1, 6)
  apart <- cbind(a = values, b = values[sample(36)])
  data <- list(x = apart, y = cbind(sin(apart[, 1]) + 0.2 * apart[, 2]),
               new = cbind(a = 2.5, b = 4.5))
  for (way in order_ways[c("ichol", "fourier", "divide")]) {
    expect_all_near(in_order(data, 36:1, 2:1, kernel_rbf() + kernel_white(), way),
                in_order(data, 1:36, 1:2, kernel_rbf() + kernel_white(), way), 1e-5)
  }
})

test_that("what is kept of points has their numbers in the order that was given", {
  data <- order_data()
  kernel <- kernel_rbf() + kernel_white()
  fit <- function(...) gp_fit(data$x, data$y, kernel, optimise = FALSE, ...)
  pivoted <- fit(method = "ichol", rank = 9)
  expect_identical(unname(t(data$x[pivoted$basis$pivots, ])), unname(pivoted$basis$z))
  divided <- fit(method = "divide", rank = 12)
  expect_identical(sort(unlist(divided$divide$rows)), 1:45)
  expect_true(is.unsorted(unlist(lapply(divided$divide$rows, sort))))
  near <- fit(method = "neighbours", rank = 44, index = TRUE)
  expect_near(gp_loo(near)$mean, gp_loo(fit())$mean, 1e-8)
})

test_that("scales of many points do not depend on which come first", {
  set.seed(5)
  x <- matrix(rexp(3000), 1500)
  y <- x[, 1] + rnorm(1500, sd = 0.1)
  kernel <- kernel_linear(ard = TRUE) + kernel_bias() + kernel_white()
  rows <- sample(1500)
  expect_near(gp_fit(x[rows, ], y[rows], kernel)$trace$lml, gp_fit(x, y, kernel)$trace$lml, 1e-9)
})

test_that("rounding does not choose among equally good pivots, as there are on a grid", {
  for (n in c(8, 11, 12)) {
    set.seed(n)
    x <- as.matrix(expand.grid(a = 1:n, b = 1:n))
    z <- 37 * (sin(x[, 1] / 2) * cos(x[, 2] / 3) + rnorm(n^2, sd = 0.1))
    fitted <- function(kernel, ...) gp_fit(x, z, kernel, "ichol", rank = 10, max_evals = 40, ...)
    fit <- fitted(kernel_rbf() + kernel_white())
    expect_equal(fitted(fit$kernel, optimise = FALSE)$lml, fit$lml, tolerance = 1e-10)
    # In the search the kernel's parameters are in another unit, and have other last digits.
    again <- fitted(fit$kernel)
    expect_equal(again$trace$lml[1], fit$lml, tolerance = 1e-10)
    expect_gte(again$lml, fit$lml - 1e-9 * abs(fit$lml))
  }
})
