# Divide and conquer against blocks computed one by one.

# The engine of a case.
divide_by <- function(case, rank, cross = TRUE, n_threads = 1L) {
  engine_plan(new_engine("divide", rank, cross = cross), case$kernel, case$theta, case$y, n_threads)
}

divide_loo <- function(engine, targets, many = FALSE) {
  engine_loo(engine_prepare(engine, engine$theta, many = many), targets)
}

divide_predict <- function(engine, targets, newdata, moments = TRUE, many = FALSE) {
  prepared <- engine_prepare(engine, engine$theta, many = many)
  engine_predict(engine_train(prepared, targets), newdata, moments)
}

divide_value <- function(engine, targets, theta = engine$theta) {
  engine_evaluate(engine, theta, list(root = targets, n_targets = nrow(targets)))
}

divide_case <- function(n = 40, n_targets = 3) {
  data <- smooth_toy(n, 2, n_targets)
  kernel <- kernel_rbf(0.8, 1.2) + kernel_linear(0.3) + kernel_bias(0.2) + kernel_white(0.15)
  y <- t(data$x)
  list(y = y, targets = t(data$targets), kernel = kernel, theta = gp_theta(kernel, y))
}

test_that("a partition is fixed, complete and even", {
  for (size in c(1, 7, 10, 39, 40, 100)) {
    rows <- partition_points(40, size)
    expect_identical(sort(unlist(rows)), 1:40)
    expect_lte(max(lengths(rows)), size)
    expect_lte(diff(range(lengths(rows))), 1)
    expect_length(rows, ceiling(40 / size))
    expect_false(any(vapply(rows, is.unsorted, NA)))
  }
  expect_identical(partition_points(40, 100), list(1:40))
  set.seed(1)
  before <- .Random.seed
  one <- partition_points(40, 7)
  expect_identical(.Random.seed, before)
  set.seed(2)
  expect_identical(partition_points(40, 7), one)
  expect_false(identical(partition_points(40, 7, seed = c(1L, 2L)), one))
})

test_that("one block is the exact Gaussian process", {
  case <- divide_case()
  divide <- divide_by(case, 40)
  exact <- gp_evaluate(case$kernel, case$theta, case$y, case$targets)
  found <- divide_value(divide, case$targets)
  expect_equal(found, exact, tolerance = 1e-10)
  loo <- divide_loo(divide, case$targets)
  exact <- gp_loo_moments(case$kernel, case$theta, case$y, case$targets)
  expect_equal(loo, exact[c("mean", "variance")], tolerance = 1e-10)
  new <- matrix(rnorm(10), 2)
  exact <- gp_predict_moments(case$kernel, case$theta, case$y, case$targets, new)
  found <- divide_predict(divide, case$targets, new)
  expect_equal(found, exact, tolerance = 1e-10)
})

test_that("value and gradient are sums over blocks, the gradient by central differences", {
  case <- divide_case(41)
  divide <- divide_by(case, 14)
  value <- function(theta, rows = divide$rows) {
    sum(vapply(rows, function(block) {
      gp_evaluate(case$kernel, theta, case$y[, block], case$targets[, block])$value
    }, 0))
  }
  found <- divide_value(divide, case$targets)
  expect_equal(found$value, value(case$theta), tolerance = 1e-12)
  expected <- vapply(seq_along(case$theta), function(j) {
    at <- function(step) value(replace(case$theta, j, case$theta[j] + step * 1e-3))
    (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / 12e-3
  }, 0)
  expect_lt(max(abs(found$gradient - expected)) / max(abs(expected)), 1e-6)
  # A root of fewer rows stands for all targets.
  tall <- rbind(case$targets, case$targets)
  root <- .Call(C_gp_root, tall)
  expect_lt(nrow(root), nrow(tall))
  expect_equal(engine_evaluate(divide, case$theta, list(root = root, n_targets = nrow(tall))),
               divide_value(divide, tall), tolerance = 1e-10)
})

for (form in c("dense", "features")) {
  test_that(paste("leave-one-out equals explicit refits, crossed and not:", form), {
    case <- divide_case(30)
    if (form == "features") {
      case$kernel <- kernel_linear(0.3) + kernel_bias(0.2) + kernel_white(0.15)
      case$theta <- gp_theta(case$kernel, case$y)
    }
    divide <- divide_by(case, 8)
    crossed <- divide_loo(divide, case$targets)
    divide$cross <- FALSE
    own <- divide_loo(divide, case$targets)
    expect_identical(own$variance, crossed$variance)
    for (n in 1:30) {
      parts <- lapply(divide$rows, function(rows) {
        rows <- setdiff(rows, n)
        gp_predict_moments(case$kernel, case$theta, case$y[, rows], case$targets[, rows],
                           case$y[, n, drop = FALSE])
      })
      means <- vapply(parts, `[[`, numeric(3), "mean")
      at <- which(vapply(divide$rows, function(rows) n %in% rows, NA))
      expect_equal(crossed$mean[, n], rowMeans(means), tolerance = 1e-10)
      expect_equal(own$mean[, n], means[, at], tolerance = 1e-10)
      expect_equal(own$variance[n], parts[[at]]$variance + 0.15, tolerance = 1e-10)
    }
  })
}

test_that("kept blocks, blocks made in turn and any number of threads give the same bits", {
  case <- divide_case(45)
  run <- function(many, n_threads) {
    divide <- divide_by(case, 12, n_threads = n_threads)
    list(divide_loo(divide, case$targets, many), divide_value(divide, case$targets))
  }
  one <- run(TRUE, 1L)
  expect_identical(run(FALSE, 1L), one)
  expect_identical(run(TRUE, 2L), one)
  found <- lapply(c(TRUE, FALSE), function(many) {
    divide_predict(divide_by(case, 12), case$targets, case$y[, 1:5], FALSE, many)$mean
  })
  expect_equal(found[[1]], found[[2]], tolerance = 1e-12)
})

test_that("learning raises the sum of the blocks' likelihoods, and stays in the box", {
  case <- divide_case(60)
  case$kernel <- kernel_composition()
  case$theta <- gp_theta(case$kernel, case$y)
  found <- climb_engine(divide_by(case, 20), case$theta, case$targets, 30L)
  expect_gt(found$value, found$start_value + 1)
  expect_lte(found$n_evals, 30)
  expect_equal(divide_value(divide_by(case, 20), case$targets, found$theta)$value, found$value,
               tolerance = 1e-10)
  one <- climb_engine(divide_by(case, 60), case$theta, case$targets, 30L)
  exact <- gp_refit(case$kernel, case$theta, case$y, case$targets, 30L)
  parts <- setdiff(names(one), "engine")
  expect_equal(one[parts], exact[parts], tolerance = 1e-7)
})
