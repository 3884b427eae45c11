# gps_control(budget = ): who has a turn to be screened, what it takes on average, and refusals.

budget_data <- function() {
  set.seed(1)
  simulate_bars(150)$y
}

budget_fit <- function(budget, y = budget_data(), max_iter = 40, ..., n_threads = 1,
                       selector = selector_handcrafted(gps_screen())) {
  force(y)
  set.seed(2)
  gps_fit(y, model_binary_sparse(10), selector, n_selected = 4,
          control = gps_control(max_iter = max_iter, n_starts = 1, progress = FALSE, mend = FALSE,
                                n_threads = n_threads, budget = budget, tol = 0, ...))
}

# The definition, point by point.
defined_need <- function(last, selected, prob) {
  vapply(seq_len(ncol(selected)), function(n) {
    is_new <- if (is.null(last)) FALSE else !selected[, n] %in% last[, n]
    sum(prob[, n] * (1 - prob[, n])) + sum(prob[is_new, n])
  }, 1)
}

test_that("what posteriors say of the need for a turn is as defined", {
  set.seed(1)
  last <- replicate(30, sort(sample.int(8, 3)))
  selected <- replicate(30, sort(sample.int(8, 3)))
  prob <- matrix(runif(90), 3)
  result <- list(selected = selected, prob_on = prob)
  expect_equal(gpselect:::undecided_need(last, result), defined_need(last, selected, prob))
  expect_equal(gpselect:::undecided_need(NULL, result), defined_need(NULL, selected, prob))
  expect_equal(gpselect:::undecided_need(last[-1, ], result), defined_need(NULL, selected, prob))
})

test_that("those that need a turn most have it, and those that may not rest", {
  need <- c(0.1, 0.9, 0.5, 0.2, 0.7)
  expect_identical(gpselect:::choose_resting(rep(TRUE, 5), need, 2),
                   c(TRUE, FALSE, TRUE, TRUE, FALSE))
  expect_identical(gpselect:::choose_resting(c(FALSE, TRUE, TRUE, TRUE, TRUE), need, 2),
                   c(FALSE, FALSE, TRUE, TRUE, TRUE))
  expect_identical(gpselect:::choose_resting(c(FALSE, FALSE, TRUE, TRUE, TRUE), need, 0),
                   c(FALSE, FALSE, TRUE, TRUE, TRUE))
  expect_identical(gpselect:::choose_resting(rep(TRUE, 5), need, 9), logical(5))
})

test_that("screening evaluates no more than the budget on average, and is told of", {
  free <- budget_fit(NULL)
  half <- budget_fit(mean(free$trace$evaluations) / 2)
  expect_lte(mean(half$trace$evaluations), mean(free$trace$evaluations) / 2)
  expect_gt(mean(half$trace$evaluations), mean(free$trace$evaluations) / 3)
  expect_lt(abs(half$bound - free$bound) / 150, 0.1)
  said <- function(fit) gsub("\\s+", " ", paste(capture.output(print(fit)), collapse = " "))
  expect_match(said(half), "a point and iteration, [0-9.]+ on average: points that had settled")
  expect_no_match(said(free), "Budget")
  # So large that it never matters: the bits of none.
  expect_identical(bits_of(budget_fit(1e6, max_iter = 8)), bits_of(budget_fit(NULL, max_iter = 8)))
  short <- budget_fit(0.5, max_iter = 4)
  expect_match(said(short), "took more than later ones")
})

test_that("turns depend neither on threads nor on blocks, nor on the unit of the data", {
  y <- budget_data()
  fit <- budget_fit(12, max_iter = 12)
  expect_identical(bits_of(budget_fit(12, max_iter = 12, n_threads = 2)), bits_of(fit))
  expect_identical(budget_fit(12, 1024 * y, max_iter = 12)$trace$evaluations,
                   fit$trace$evaluations)
  expect_identical(budget_fit(12, function_source(y), max_iter = 12)$trace$evaluations,
                   fit$trace$evaluations)
})

test_that("a fit that goes on has the bits of one that was not stopped", {
  y <- budget_data()
  file <- tempfile(fileext = ".rds")
  budget_fit(12, y, max_iter = 6, checkpoint = file, polish = FALSE)
  expect_identical(bits_of(gps_resume(file, y, max_iter = 12)),
                   bits_of(budget_fit(12, y, max_iter = 12, polish = FALSE)))
})

test_that("minibatches keep to a budget, each point with its own need", {
  fit <- budget_fit(10, max_iter = 20, batch_size = 40)
  expect_lte(mean(fit$trace$evaluations), 10)
  expect_identical(bits_of(budget_fit(10, max_iter = 20, batch_size = 40)), bits_of(fit))
})

test_that("the bound of a monotone fit never falls under a budget", {
  bounds <- budget_fit(12, monotone = TRUE)$trace
  bounds <- bounds$bound[bounds$start == 0]
  expect_gte(min(diff(bounds)), -1e-9 * abs(bounds[1]))
})

test_that("budgets that cannot be kept are refused", {
  expect_gps_error(gps_control(budget = -1), "`budget` must be")
  expect_gps_error(gps_control(budget = NA), "`budget` must be")
  expect_gps_error(budget_fit(0.39), "`budget` = 0.39 is too small")
  expect_gps_error(budget_fit(5, selector = selector_handcrafted(FALSE)), "does not screen")
  expect_gps_error(budget_fit(5, selector = selector_handcrafted(gps_screen(keep = FALSE))),
                   "gps_screen(keep = FALSE) excludes")
  expect_gps_error(gps_fit(budget_data(), model_binary_sparse(10), selector_full(),
                           control = gps_control(budget = 5)), "does not screen")
})
