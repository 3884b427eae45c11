# The search for log parameters, on functions whose maxima are known and on engines.

# A hill with its top at `top`, which counts how often it is asked.
hill <- function(top, fails = function(par) FALSE) {
  count <- 0
  function(par, ...) {
    count <<- count + 1
    if (fails(par)) gps_abort("No value here.", "numeric")
    list(value = -sum((par - top)^2), gradient = -2 * (par - top), asked = count)
  }
}

free <- function(n, max_evals = 50L, gain = 0) {
  list(lower = rep(-Inf, n), upper = rep(Inf, n), max_evals = max_evals, gain = gain)
}

test_that("every evaluation is counted once, and the best one is returned as it was made", {
  evaluate <- hill(c(a = 3, b = -2))
  found <- climb_objective(evaluate, c(a = 0, b = 0), free(2))
  expect_equal(found$par, c(a = 3, b = -2), tolerance = 1e-6)
  expect_identical(evaluate(c(0, 0))$asked, length(found$values) + 1)
  expect_identical(found$found$value, max(found$values))
  for (cap in 1:4) {
    evaluate <- hill(c(3, -2))
    expect_length(climb_objective(evaluate, c(0, 0), free(2, cap))$values, cap)
    expect_identical(evaluate(c(0, 0))$asked, cap + 1)
  }
  expect_identical(climb_objective(hill(c(3, -2)), c(a = 0, b = 1), free(2, 1L))$par,
                   c(a = 0, b = 1))
})

test_that("the search keeps to its limits and stops where little is to be gained", {
  limits <- list(lower = c(-1, -1), upper = c(1, 1), max_evals = 50L, gain = 0)
  expect_equal(climb_objective(hill(c(3, 0.5)), c(0, 0), limits)$par, c(1, 0.5))
  found <- climb_objective(hill(c(3, 0.5)), c(0, 0), free(2, gain = 1e6))
  expect_lte(length(found$values), 4)
  flat <- function(par, ...) list(value = 2, gradient = c(0, 0))
  expect_identical(climb_objective(flat, c(1, 2), free(2))$par, c(1, 2))
  expect_no_warning(climb_objective(flat, c(1, 2), free(2, 1000000000L)))
})

test_that("a point without a value is backed off from, and a start without one is an error", {
  for (bad in list(function(par) par > 0.9, function(par) par > 0.2 && par < 2)) {
    found <- climb_objective(hill(1, bad), 0, free(1))
    expect_true(all(is.finite(found$values)))
    expect_gt(found$value, -1)
  }
  expect_gps_error(climb_objective(hill(1, function(par) TRUE), 0, free(1)), "No value here",
                   class = "numeric")
  wrong <- function(value, gradient) function(par, ...) list(value = value, gradient = gradient)
  for (start in list(wrong(NaN, 0), wrong(-Inf, 0), wrong(0, NaN))) {
    expect_gps_error(climb_objective(start, 0, free(1)), "at the start is not finite",
                     class = "numeric")
  }
  bug <- function(par, ...) if (par == 0) list(value = 0, gradient = 1) else stop("a bug")
  expect_error(climb_objective(bug, 0, free(1)), "a bug")
})

test_that("points are moved along with the log parameters, within the box of the data", {
  y <- rbind(c(-1, 1, 0.5), c(-300, 500, 10), 7)
  goal <- matrix(c(1, -1, 0.5), 1)
  kernel <- kernel_rbf(1, 1) + kernel_white()
  theta <- gp_theta(kernel, y)
  limits <- contain_theta(gp_bounds(kernel, y, goal), theta)
  middle <- (limits$lower + limits$upper) / 2
  # The second point would leave the box.
  wish <- cbind(c(0.2, 50, 7), c(0.3, 900, 7))
  unit <- sqrt(rowMeans((y - rowMeans(y))^2))
  unit[3] <- 1
  # An engine of one method: its objective is highest at these parameters and points.
  registerS3method("engine_evaluate", "gps_engine_wishful", envir = asNamespace("gpselect"),
                   function(engine, theta, goal, jitter, least) {
    away <- (engine$basis$z - wish) / unit
    list(value = -sum((theta - middle)^2) - sum(away^2), gradient = -2 * (theta - middle),
         inputs = -2 * away / unit, jitter = 0)
  })
  engine <- hold_data(new_engine("inducing", learn_inputs = TRUE), kernel, theta, y, 1L)
  engine$basis <- list(z = y[, 1:2])
  class(engine) <- c("gps_engine_wishful", "gps_engine")
  found <- climb_engine(engine, theta, goal, 100L, 0)
  expect_equal(unname(found$theta), middle, tolerance = 1e-5)
  expect_identical(names(found$theta), names(theta))
  expect_equal(found$engine$basis$z, cbind(c(0.2, 50, 7), c(0.3, 500, 7)), tolerance = 1e-4)
  expect_equal(found$moved, max(abs(found$theta - theta)))
})

test_that("inputs outside the box of the data are moved into it before the search", {
  set.seed(81)
  x <- matrix(rnorm(60), 2)
  targets <- rbind(sin(x[1, ]) + x[2, ])
  kernel <- kernel_rbf(1, 1.5) + kernel_white(0.05)
  basis <- new_inducing(cbind(x[, 1:4], c(9, -9)))
  refit <- refit_basis(basis, kernel, gp_theta(kernel, x), x, targets, 30, 1L, gain = 1e-7,
                       learn_inputs = TRUE)
  expect_gt(refit$n_evals, 5)
  expect_gt(refit$value, refit$start_value)
  expect_true(all(abs(refit$engine$basis$z) < 9))
})
