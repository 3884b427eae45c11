# The engine that "auto" stays with, by what two of them rank at the same expectations.

single_causes <- function(n = 2100, n_latents = 60, n_dims = 4) {
  set.seed(3)
  w <- matrix(rnorm(n_latents * n_dims, sd = 6), n_dims)
  y <- t(w[, sample.int(n_latents, n, TRUE)]) + matrix(rnorm(n * n_dims), n)
  list(y = y, start = list(W = w, pi = 1 / n_latents, sigma2 = 1), n_latents = n_latents)
}

fit_causes <- function(case, ..., max_iter = 5, n_threads = 1, rank = NULL) {
  set.seed(1)
  gps_fit(case$y, model_binary_sparse(case$n_latents),
          selector_gp(kernel_rbf(), rank = rank, refit_evals = 2), n_selected = 3,
          start = case$start,
          control = gps_control(max_iter = max_iter, tol = 0, n_threads = n_threads,
                                progress = FALSE, ...))
}

# What a comparison was given, and its fit.
compare_in_fit <- function(case, ..., frame = parent.frame()) {
  seen <- NULL
  own <- compare_engines
  local_value("compare_engines", function(task, state) {
    seen <<- list(task = task, state = state)
    own(task, state)
  })
  fit <- fit_causes(case, ...)
  list(task = seen$task, state = seen$state, fit = fit)
}

test_that("recall is the share of latents on that stand among the best", {
  set.seed(1)
  affinity <- matrix(rnorm(7 * 40), 7)
  on <- vapply(1:40, function(n) c(sample.int(7, 3), 0L) * c(1L, 1L, n %% 2L, 1L), integer(4))
  hits <- possible <- 0
  for (n in 1:40) {
    latents <- on[on[, n] > 0, n]
    best <- order(affinity[, n], decreasing = TRUE)[1:2]
    hits <- hits + sum(latents %in% best & affinity[latents, n] > 0)
    possible <- possible + min(length(latents), 2)
  }
  expect_identical(recall_of(affinity, on, 2L), hits / possible)
  expect_identical(recall_of(affinity, on[, 1:9], 2L), NA_real_)
})

# One fit is looked at from all sides.
compared <- local({
  found <- NULL
  function() {
    if (is.null(found)) {
      case <- single_causes()
      found <<- compare_in_fit(case)
    }
    found
  }
})

test_that("neighbours take over where they rank no worse, at what both engines say", {
  case <- single_causes()
  found <- compared()
  task <- found$task
  state <- found$state
  points <- spaced_points(2100, compared_points)
  # The answers are those of the whole engines.
  block <- task$blocks[[1]]
  expect_identical(block$n_points, 2100)
  sums <- affinity_by_sums(state$memory, block_view(task, state$memory, block), block)
  expect_near(sums_answer(task, state, points), sums[, points], 1e-12)
  whole <- prepare_engine(near_selector_of(task$selector), task$model, state$memory$theta,
                          in_units(task$y, state$memory$units), 1L)
  targets <- held_targets(whole, slot_targets(state, task$model))
  loo <- rank_answer(engine_loo(whole, targets)$mean, 60L)
  expect_identical(near_answer(task, state, points), loo[, points])
  # The reference is the posterior over all latents that are near: here one is on in each point.
  recall <- engine_recalls(task, state)
  expect_gt(min(recall), 0.95)
  fit <- found$fit
  expect_identical(fit$gp$method, if (diff(recall) >= 0) "neighbours" else "ichol")
  expect_identical(fit$gp$method, "neighbours")
  expect_printed(fit, "neighbours (chosen by recall on 128 data points: ", fixed = TRUE)
  two <- fit_causes(case, n_threads = 2)
  expect_identical(coef(two), coef(fit))
  expect_identical(two$bound, fit$bound)
  expect_true(all(is.finite(predict(fit, case$y[1:3, ], type = "slots")$prob)))
})

test_that("a run that has changed its engine goes on from a checkpoint", {
  case <- single_causes()
  whole <- compared()$fit
  file <- tempfile(fileext = ".rds")
  fit_causes(case, max_iter = 4, checkpoint = file)
  resumed <- gps_resume(file, case$y, max_iter = 5)
  unlink(file)
  expect_identical(coef(resumed), coef(whole))
  expect_identical(resumed$gp[c("method", "rank", "why")], whole$gp[c("method", "rank", "why")])
  # Engines are compared where nobody has chosen, and where it may pay.
  expect_null(fit_causes(case, rank = 100, max_iter = 2)$gp$why)
  expect_gt(near_cost(2100, 4), sums_cost(200, 30))
  expect_lt(near_cost(2100, 4), sums_cost(200, 60))
})
