# Divide and conquer against blocks computed one by one.

divide_case <- function(n = 40, n_targets = 3) {
  data <- smooth_toy(n, 2, n_targets)
  kernel <- kernel_rbf(0.8, 1.2) + kernel_linear(0.3) + kernel_bias(0.2) + kernel_white(0.15)
  y <- t(data$x)
  list(y = y, targets = t(data$targets), kernel = kernel, theta = gp_theta(kernel, y))
}

test_that("a partition is fixed, complete and even", {
  for (size in c(1, 7, 10, 39, 40, 100)) {
    rows <- new_divide(40, size)$rows
    expect_identical(sort(unlist(rows)), 1:40)
    expect_lte(max(lengths(rows)), size)
    expect_lte(diff(range(lengths(rows))), 1)
    expect_length(rows, ceiling(40 / size))
    expect_false(any(vapply(rows, is.unsorted, NA)))
  }
  expect_identical(new_divide(40, 100)$rows, list(1:40))
  set.seed(1)
  before <- .Random.seed
  one <- new_divide(40, 7)
  expect_identical(.Random.seed, before)
  set.seed(2)
  expect_identical(new_divide(40, 7), one)
  expect_false(identical(new_divide(40, 7, seed = c(1L, 2L))$rows, one$rows))
})

test_that("one block is the exact Gaussian process", {
  case <- divide_case()
  divide <- new_divide(40, 40)
  exact <- gp_evaluate(case$kernel, case$theta, case$y, case$targets)
  found <- divide_evaluate(divide, case$kernel, case$theta, case$y, case$targets)
  expect_equal(found, exact, tolerance = 1e-10)
  loo <- divide_loo(divide_prepare(divide, case$kernel, case$theta, case$y), case$targets)
  exact <- gp_loo_moments(case$kernel, case$theta, case$y, case$targets)
  expect_equal(loo, exact[c("mean", "variance")], tolerance = 1e-10)
  new <- matrix(rnorm(10), 2)
  exact <- gp_predict_moments(case$kernel, case$theta, case$y, case$targets, new)
  found <- divide_predict(divide, case$kernel, case$theta, case$y, case$targets, new)
  expect_equal(found, exact, tolerance = 1e-10)
})

test_that("value and gradient are sums over blocks, the gradient by central differences", {
  case <- divide_case(41)
  divide <- new_divide(41, 14)
  value <- function(theta, rows = divide$rows) {
    sum(vapply(rows, function(block) {
      gp_evaluate(case$kernel, theta, case$y[, block], case$targets[, block])$value
    }, 0))
  }
  found <- divide_evaluate(divide, case$kernel, case$theta, case$y, case$targets)
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
  expect_equal(divide_evaluate(divide, case$kernel, case$theta, case$y, root, nrow(tall)),
               divide_evaluate(divide, case$kernel, case$theta, case$y, tall), tolerance = 1e-10)
})

for (form in c("dense", "features")) {
  test_that(paste("leave-one-out equals explicit refits, crossed and not:", form), {
    case <- divide_case(30)
    if (form == "features") {
      case$kernel <- kernel_linear(0.3) + kernel_bias(0.2) + kernel_white(0.15)
      case$theta <- gp_theta(case$kernel, case$y)
    }
    divide <- new_divide(30, 8)
    crossed <- divide_loo(divide_prepare(divide, case$kernel, case$theta, case$y), case$targets)
    divide$cross <- FALSE
    own <- divide_loo(divide_prepare(divide, case$kernel, case$theta, case$y), case$targets)
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
  divide <- new_divide(45, 12)
  run <- function(keep, n_threads) {
    prepared <- divide_prepare(divide, case$kernel, case$theta, case$y, n_threads, keep)
    list(divide_loo(prepared, case$targets),
         divide_predict_means(prepared, case$targets, case$y[, 1:5]),
         divide_evaluate(divide, case$kernel, case$theta, case$y, case$targets,
                         n_threads = n_threads))
  }
  one <- run(TRUE, 1L)
  expect_identical(run(FALSE, 1L), one)
  expect_identical(run(TRUE, 2L), one)
  found <- divide_predict(divide, case$kernel, case$theta, case$y, case$targets, case$y[, 1:5])
  expect_equal(found$mean, one[[2]], tolerance = 1e-12)
})

test_that("learning raises the sum of the blocks' likelihoods, and stays in the box", {
  case <- divide_case(60)
  divide <- new_divide(60, 20)
  found <- divide_refit(divide, kernel_composition(), gp_theta(kernel_composition(), case$y),
                        case$y, case$targets, 30L)
  expect_gt(found$value, found$start_value + 1)
  expect_lte(found$n_evals, 30)
  expect_equal(divide_evaluate(divide, kernel_composition(), found$theta, case$y,
                               case$targets)$value, found$value, tolerance = 1e-10)
  one <- divide_refit(new_divide(60, 60), kernel_composition(),
                      gp_theta(kernel_composition(), case$y), case$y, case$targets, 30L)
  exact <- gp_refit(kernel_composition(), gp_theta(kernel_composition(), case$y), case$y,
                    case$targets, 30L)
  expect_equal(one, exact[names(one)], tolerance = 1e-7)
})
