# The loop: schedule, settling, polish, monotone mode, and every way a fit can end.

# CRAN's machines leave the slowest files out.
skip_on_cran()

small_bars <- function(n = 60) {
  set.seed(21)
  simulate_bars(n, size = 3, value = 5)$y
}

test_that("quiet bounds have settled when two windows of means differ by less than tol nats", {
  window <- settle_window
  flat <- rep(-100, 2 * window)
  expect_true(has_settled(flat, 1e-5, FALSE))
  expect_false(has_settled(flat[-1], 1e-5, FALSE))
  expect_false(has_settled(flat, 0, FALSE))
  stepped <- rep(c(-100, -100 + 0.002), each = window)
  expect_false(has_settled(stepped, 1e-3, FALSE))
  expect_true(has_settled(stepped, 3e-3, FALSE))
  expect_true(has_settled(1000 + stepped, 3e-3, FALSE))
  # Falling counts as rising does: a fit that gets worse is not at rest.
  expect_false(has_settled(rev(stepped), 1e-3, FALSE))
  # Older bounds do not matter, and alternating between two selections is rest.
  expect_true(has_settled(c(-1e6, flat), 1e-5, FALSE))
  expect_true(has_settled(rep(c(-100, -101), window), 1e-5, FALSE))
})

test_that("noisy bounds have settled when they rise by less than their standard error", {
  window <- settle_window
  set.seed(1)
  noise <- rnorm(2 * window)
  noise <- noise - ave(noise, rep(1:2, each = window))
  error <- sqrt((var(noise[1:window]) + var(noise[-(1:window)])) / window)
  risen <- function(by) -1000 + noise + rep(c(0, by), each = window)
  expect_true(has_settled(risen(0.99 * error), 1e-9, TRUE))
  expect_false(has_settled(risen(1.01 * error), 1e-9, TRUE))
  expect_true(has_settled(risen(-50 * error), 1e-9, TRUE))
  expect_true(has_settled(risen(1.01 * error), 1, TRUE))
  expect_false(has_settled(risen(0), 0, TRUE))
})

test_that("tol = 0 runs all iterations, a coarse one stops early", {
  y <- small_bars()
  fit_with <- function(tol) {
    set.seed(1)
    gps_fit(y, model_binary_sparse(3), selector_full(),
            control = short_control(max_iter = 40, tol = tol))
  }
  exhausted <- fit_with(0)
  expect_identical(exhausted$n_iter, 40L)
  expect_identical(exhausted$status, "max_iter")
  settled <- fit_with(20)
  expect_identical(settled$n_iter, as.integer(2 * settle_window))
  expect_identical(settled$status, "converged")
  expect_identical(settled$trace$bound, exhausted$trace$bound[seq_len(settled$n_iter)])
})

test_that("no iterations leave the start as it is, with a bound", {
  y <- small_bars()
  for (n_starts in c(1, 2)) {
    set.seed(1)
    fit <- gps_fit(y, model_binary_sparse(6), selector_handcrafted(), 3,
                   control = gps_control(max_iter = 0, n_starts = n_starts, progress = FALSE))
    expect_identical(fit$n_iter, 0L)
    expect_true(is.finite(fit$bound))
    expect_identical(dim(fit$selected), c(3L, 60L))
    expect_s3_class(fit$trace, "data.frame")
    expect_identical(nrow(fit$trace) == 0, n_starts == 1)
  }
})

test_that("the trace has one row an iteration, of plain types", {
  set.seed(1)
  fit <- gps_fit(small_bars(), model_binary_sparse(6), selector_gp(kernel_linear()), 3,
                 control = gps_control(max_iter = 5, n_starts = 2, progress = FALSE))
  trace <- fit$trace
  expect_identical(nrow(trace), 2L * start_iterations + 5L)
  expect_identical(trace$start, rep(c(1L, 2L, 0L), c(start_iterations, start_iterations, 5)))
  expect_identical(trace$iteration, c(rep(seq_len(start_iterations), 2), 1:5))
  expect_true(all(is.finite(trace$bound)))
  expect_identical(unique(trace$temperature), 1)
  expect_identical(utils::tail(trace$explore, 5), rep(c(0.1, 0), c(4, 1)))
  types <- vapply(trace, typeof, "")
  expect_identical(types[["start"]], "integer")
  expect_identical(types[["refit"]], "logical")
  expect_identical(types[["events"]], "character")
  expect_true(all(trace$seconds >= 0))
  set.seed(1)
  chosen <- gps_fit(small_bars(), model_binary_sparse(6), selector_gp(kernel_linear()), 3,
                    control = gps_control(max_iter = 5, n_starts = 2, progress = FALSE,
                                          trace = FALSE))
  best <- which(fit$starts$chosen)
  kept <- trace$start %in% c(0L, best)
  expect_identical(chosen$trace$bound, trace$bound[kept])
})

test_that("polishing begins without explorers and with no past bounds", {
  state <- new_state(list(), 0L, 0.1)
  state$bounds <- c(-3, -2, -1)
  polished <- start_polish(state)
  expect_identical(polished$explore, 0)
  expect_true(polished$is_polishing)
  expect_identical(polished$bounds, numeric())
})

test_that("explorers stop when the bound has settled, at the latest at 80 %", {
  set.seed(1)
  y <- small_bars(120)
  late <- gps_fit(y, model_binary_sparse(6), selector_gp(kernel_linear()), 3,
                  control = short_control(max_iter = 20, tol = 0))
  expect_identical(late$trace$explore, rep(c(0.1, 0), c(16, 4)))
  early <- gps_fit(y, model_binary_sparse(6), selector_gp(kernel_linear()), 3,
                   control = short_control(max_iter = 200, tol = 1e-3))
  expect_identical(early$status, "converged")
  explore <- early$trace$explore
  expect_identical(rle(explore)$values, c(0.1, 0))
  expect_lt(sum(explore > 0), 160)
  expect_gte(sum(explore == 0), 2 * settle_window)
  # While it polishes each point keeps what explains it better.
  expect_no_fall(early$trace$bound[explore == 0])
  without <- gps_fit(y, model_binary_sparse(6), selector_gp(kernel_linear()), 3,
                     control = short_control(max_iter = 20, tol = 0, polish = FALSE, mend = FALSE))
  expect_identical(without$trace$explore, rep(0.1, 20))
})

test_that("annealing falls linearly to none over the first half", {
  set.seed(1)
  fit <- gps_fit(small_bars(), model_binary_sparse(6), selector_handcrafted(), 3,
                 control = short_control(max_iter = 10, tol = 0, anneal = 5))
  expect_near(fit$trace$temperature, c(seq(5, 1, length.out = 6), rep(1, 4)), 1e-12)
  # Wherever the fit ends, its own bound is not tempered.
  hot <- gps_fit(small_bars(), model_binary_sparse(6), selector_handcrafted(), 3,
                 control = short_control(max_iter = 1, anneal = 5))
  expect_identical(hot$trace$temperature, 5)
  step <- gps_estep(hot$model, hot$params, small_bars(), t(hot$selected))
  expect_near(hot$bound, sum(step$log_evidence), 1e-12)
  expect_near(t(hot$prob_on), step$prob_on, 1e-12)
  # A tempered bound is no sign of rest.
  long <- gps_fit(small_bars(), model_binary_sparse(6), selector_handcrafted(), 3,
                  control = short_control(max_iter = 40, tol = 0.9, anneal = 5))
  expect_identical(long$status, "converged")
  expect_gte(long$n_iter, 20L + 2L * settle_window)
})

test_that("monotone mode never lets the bound fall: A, B and D, from random starts", {
  selectors <- list(selector_random(), selector_gp(kernel_linear(), refit_every = 100),
                    selector_handcrafted(gps_screen()),
                    selector_custom(function(params, y) matrix(runif(nrow(y) * 4), ncol = 4)))
  # Twelve seeds have all selectors with all covariances.
  for (seed in seq_len(if (is_full()) 100 else 12)) {
    set.seed(seed)
    y <- matrix(rnorm(75), 25) + rep(rnorm(25) > 0, 3) * 3
    models <- list(model_binary_sparse(4, seed %% 2 == 0),
                   model_spike_slab(4, c("full", "diagonal")[1 + seed %% 2], seed %% 3 == 0),
                   model_gaussian_mixture(4, c("full", "diagonal", "spherical")[1 + seed %% 3]))
    for (model in models) {
      fit <- quiet_degenerate(gps_fit(
        y, model, selectors[[1 + seed %% 4]], 2,
        control = short_control(max_iter = if (is_full()) 50 else 12, tol = 0, monotone = TRUE,
                                n_threads = 1)
      ))
      fall <- -diff(fit$trace$bound) / abs(fit$trace$bound[-1])
      if (max(fall) > 1e-9) fail(sprintf("The bound falls with seed %d, %s.", seed, model$name))
    }
  }
  succeed()
})

test_that("the bound of a fit belongs to its parameters and slots", {
  set.seed(1)
  for (model in list(model_binary_sparse(6), model_gaussian_mixture(6, "diagonal"))) {
    fit <- gps_fit(small_bars(), model, selector_gp(kernel_linear()), 3,
                   control = short_control(max_iter = 6))
    step <- gps_estep(fit$model, fit$params, small_bars(), t(fit$selected))
    expect_near(fit$bound, sum(step$log_evidence), 1e-12)
    expect_near(t(fit$prob_on), step$prob_on, 1e-12)
  }
})

test_that("a time limit ends the fit with what it has", {
  slow <- selector_custom(function(params, y) {
    Sys.sleep(0.02)
    matrix(0, nrow(y), 6)
  })
  set.seed(1)
  fit <- gps_fit(small_bars(), model_binary_sparse(6), slow, 3,
                 control = short_control(max_iter = 1000, tol = 0, time_limit = 0.1))
  expect_identical(fit$status, "time_limit")
  expect_lt(fit$n_iter, 1000)
  expect_gte(fit$n_iter, 1)
  expect_true(is.finite(fit$bound))
  starts <- gps_fit(small_bars(), model_binary_sparse(6), slow, 3,
                    control = gps_control(max_iter = 1000, n_starts = 50, tol = 0, progress = FALSE,
                                          time_limit = 0.1))
  expect_identical(starts$status, "time_limit")
  expect_lt(nrow(starts$starts), 50)
  expect_true(is.finite(starts$bound))
})

# Affinities that call `at_call` in their n-th call.
selector_at <- function(n, at_call) {
  n_calls <- 0
  selector_custom(function(params, y) {
    n_calls <<- n_calls + 1
    if (n_calls == n) at_call()
    matrix(rep(seq_len(6), each = nrow(y)), ncol = 6)
  })
}

test_that("an error in a callback names the iteration and carries the last good state", {
  set.seed(1)
  fit_until <- function(at_call) {
    gps_fit(small_bars(), model_binary_sparse(6), selector_at(7, at_call), 3,
            control = short_control(max_iter = 20, tol = 0))
  }
  condition <- expect_gps_error(fit_until(function() stop("no more")),
                                "Iteration 7 of the main run: `affinity` failed: no more",
                                class = "model")
  expect_s3_class(condition$parent$parent, "simpleError")
  expect_named(condition$state$params, c("W", "pi", "sigma2"))
  set.seed(1)
  six <- gps_fit(small_bars(), model_binary_sparse(6), selector_at(0, NULL), 3,
                 control = short_control(max_iter = 6, tol = 0, polish = FALSE))
  expect_identical(condition$state$params, six$params)
  numeric_error <- function() gps_abort("not today", "numeric")
  expect_gps_error(fit_until(numeric_error), "Iteration 7 of the main run: not today",
                   class = "numeric")
  starts <- gps_control(max_iter = 5, n_starts = 2, progress = FALSE)
  # A start that fails is recorded, and another one goes on.
  fails <- selector_at(start_iterations + 2, function() stop("no more"))
  fit <- gps_fit(small_bars(), model_binary_sparse(6), fails, 3, control = starts)
  expect_identical(fit$failed_starts$start, 2L)
  expect_match(fit$failed_starts$message, "Iteration 2 of start 2: `affinity` failed: no more")
})

test_that("affinities and memories of the wrong kind are errors that say what is wanted", {
  y <- small_bars()
  fit_with <- function(affinity, learn = NULL) {
    gps_fit(y, model_binary_sparse(6), selector_custom(affinity, learn), 3,
            control = short_control(max_iter = 3))
  }
  wrong <- list(function(params, y) NULL, function(params, y) matrix(0, 6, nrow(y)),
                function(params, y) numeric(nrow(y) * 6),
                function(params, y) matrix(NA_real_, nrow(y), 6),
                function(params, y) matrix("a", nrow(y), 6))
  for (affinity in wrong) {
    expect_gps_error(fit_with(affinity), "`affinity` must return a numeric matrix of 60 x 6",
                     class = "model")
  }
  expect_s3_class(fit_with(function(params, y) matrix(1:6, nrow(y), 6)), "gps_fit")
  expect_gps_error(fit_with(function(params, y, memory) matrix(0, nrow(y), 6),
                            function(params, y, expectations) stop("cannot learn")),
                   "Iteration 1 of the main run: `learn` failed: cannot learn", class = "model")
  expect_gps_error(selector_custom("a"), "`affinity` must be a function of (params, y)")
  expect_gps_error(selector_custom(function(params, y) 0, 3), "`learn` must be NULL or a function")
})

test_that("a custom selector learns from the expectations, n x H", {
  seen <- NULL
  learner <- selector_custom(
    function(params, y, memory) {
      seen <<- memory
      matrix(0, nrow(y), 6)
    },
    function(params, y, expectations) expectations
  )
  set.seed(1)
  fit <- gps_fit(small_bars(), model_binary_sparse(6), learner, 3,
                 control = short_control(max_iter = 3))
  expect_identical(dim(seen), c(60L, 6L))
  expect_true(all(seen >= 0 & seen <= 1))
  expect_identical(max(rowSums(seen > 0)) <= 3, TRUE)
})

test_that("warnings turned into errors and handlers that jump leave the next fit as it is", {
  y <- small_bars()
  fit <- function() {
    set.seed(1)
    gps_fit(y, model_binary_sparse(6), selector_handcrafted(), 3,
            control = short_control(max_iter = 5))$params
  }
  wanted <- fit()
  old <- options(warn = 2)
  expect_error(gps_fit(y[rep(1, 9), ], model_binary_sparse(2), selector_full(),
                       control = short_control(max_iter = 5)))
  options(old)
  expect_identical(fit(), wanted)
  tryCatch(gps_fit(y[rep(1, 9), ], model_binary_sparse(2), selector_full(),
                   control = short_control(max_iter = 5)), warning = function(condition) NULL)
  expect_identical(fit(), wanted)
})

test_that("progress is one line on the console, or nothing", {
  set.seed(1)
  y <- small_bars()
  expect_silent(gps_fit(y, model_binary_sparse(6), selector_handcrafted(), 3,
                        control = short_control(max_iter = 2)))
  said <- capture.output(
    fit <- gps_fit(y, model_binary_sparse(6), selector_handcrafted(), 3,
                   control = gps_control(max_iter = 2, n_starts = 2, progress = TRUE)),
    type = "message"
  )
  expect_match(paste(said, collapse = ""),
               paste0("start 2 of 2, iteration 12 of 12, bound -?[0-9.]+[^\r]*",
                      "\r\\s*the main run, iteration 1 of 2"))
})

test_that("selections that alternate without explorers are polished, and said where they are not", {
  alternating <- function(model, seed, ...) {
    set.seed(seed)
    y <- if (is_one_hot(list(model = model))) {
      matrix(rnorm(36), 12) + rep(sample(0:3, 12, TRUE), 3)
    } else {
      simulate_bars(12, size = 3, value = 5)$y
    }
    suppressWarnings(gps_fit(y, model, selector_gp(screen = FALSE), n_selected = 1,
                             control = gps_control(max_iter = 60, n_starts = 1, mend = FALSE, ...)))
  }
  cases <- list(list(model_gaussian_mixture(4, "diagonal"), 2), list(model_binary_sparse(6), 4))
  for (case in cases) {
    before <- alternating(case[[1]], case[[2]], polish = FALSE)
    swing <- utils::tail(before$trace$bound, 6)
    expect_gt(diff(range(swing)), 1)
    expect_match(capture.output(print(before)), "alternating", all = FALSE)
    fit <- alternating(case[[1]], case[[2]])
    expect_identical(fit$status, "converged")
    expect_gte(fit$bound, max(swing) - 1e-6)
    expect_true(all(diff(utils::tail(fit$trace$bound, 6)) >= -1e-8))
    expect_no_match(capture.output(print(fit)), "alternating")
  }
})
