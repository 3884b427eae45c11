# Stepwise EM: parameters and the regression's sums from running averages over batches.
# @srrstats {UL7.5, UL7.5a}

batch_bars <- function(n = 600) {
  set.seed(71)
  simulate_bars(n, value = 5)
}

batch_task_of <- function(selector, batch_size, model = model_binary_sparse(10), y = batch_bars()$y,
                          ...) {
  n_selected <- if (!inherits(selector, "gps_selector_full")) 4
  new_task(t(y), model, selector, n_selected, NULL,
           short_control(n_threads = 1, batch_size = batch_size, ...), seed = c(3L, 5L))
}

test_that("one batch of all points and steps of 1 are EM", {
  batched <- batch_task_of(selector_handcrafted(), 600, step = function(n) 1)
  whole <- batched
  whole["batches"] <- list(NULL)
  first <- begin_state(whole, 1)
  a <- b <- first
  for (iteration in 1:5) {
    a <- em_step(whole, a)
    b <- em_epoch(batched, b)
  }
  expect_near(b$params$W, a$params$W, 1e-12)
  expect_near(b$bound, a$bound, 1e-12)
})

test_that("the same holds for a learned selection, whose posterior is then that of all points", {
  batched <- batch_task_of(selector_gp(method = "inducing", rank = 30), 300,
                           y = batch_bars(300)$y, step = function(n) 1)
  whole <- batched
  whole["batches"] <- list(NULL)
  state <- em_step(whole, begin_state(whole, 1))
  a <- em_step(whole, state)
  b <- em_epoch(batched, state)
  expect_near(b$memory$cross, a$memory$cross, 1e-10)
  expect_near(b$memory$prepared$transform, a$memory$prepared$transform, 1e-9)
  expect_near(em_epoch(batched, b)$bound, em_step(whole, a)$bound, 1e-8)
})

test_that("statistics are averaged by the step sizes", {
  task <- batch_task_of(selector_full(), 200, step = 0.8)
  state <- begin_batches(task, begin_state(task, 1))
  one <- batch_task(task, state$batches[[1]])
  two <- batch_task(task, state$batches[[2]])
  first <- take_batch(state, em_update(one, batch_state(task, state, state$batches[[1]])), 1)
  expected <- pass(one, batch_state(task, state, state$batches[[1]]))$stats
  expect_near(first$running[[1]], 3 * expected[[1]], 1e-12)
  second <- em_update(two, batch_state(task, first, first$batches[[2]]))
  rate <- 3^-0.8
  new <- pass(two, batch_state(task, first, first$batches[[2]]))$stats
  for (name in names(new)) {
    expect_near(second$running[[name]], (1 - rate) * first$running[[name]] + rate * 3 * new[[name]],
                1e-12)
  }
})

test_that("an update is the natural-gradient step of the inducing points' posterior", {
  task <- batch_task_of(selector_gp(method = "inducing", rank = 30, refit_every = 1e6), 200)
  state <- begin_batches(task, begin_state(task, 1))
  state$memory <- begin_kernel(task$selector, batch_task(task, state$batches[[1]]))
  state$memory$last_refit <- 0
  local <- batch_task(task, state$batches[[1]])
  before <- take_batch(state, em_update(local, batch_state(task, state, state$batches[[1]])), 1)
  local <- batch_task(task, before$batches[[2]])
  started <- batch_state(task, before, before$batches[[2]])
  after <- em_update(local, started)
  # In natural parameters, features whitened: precision I + gram / noise, precision times mean.
  view <- basis_features(after$memory$basis, task$selector$kernel, after$memory$theta,
                         in_units(local$y, after$memory$units))
  rate <- step_size(NULL, 2)
  gram <- (1 - rate) * before$memory$sums$gram + rate * 3 * tcrossprod(view$features)
  cross <- (1 - rate) * before$memory$sums$cross +
    rate * 3 * tcrossprod(view$features, dense_targets(after, 10))
  noise <- after$memory$prepared$noise
  precision <- solve(crossprod(after$memory$prepared$transform))
  expect_near(precision, gram + diag(noise, nrow(gram)), 1e-8)
  expect_near(after$memory$cross, cross, 1e-10)
})

test_that("a point is left out of the sums by the weight that its batch still has", {
  task <- batch_task_of(selector_gp(method = "ichol", rank = 30, refit_every = 1e6), 200)
  state <- begin_batches(task, begin_state(task, 1))
  state$memory <- begin_kernel(task$selector, batch_task(task, state$batches[[1]]))
  state$memory$last_refit <- 0
  for (k in c(1, 2, 3, 1, 3)) {
    updated <- em_update(batch_task(task, state$batches[[k]]),
                         batch_state(task, state, state$batches[[k]]))
    state <- take_batch(state, updated, k)
  }
  rates <- vapply(2:5, step_size, 1, step = NULL)
  left <- prod(1 - rates)
  # Of batch 2, seen once; and of batch 1, seen first and in the fourth update.
  weights <- vapply(1:2, function(k) {
    batch_state(task, state, state$batches[[k]])$memory$weight
  }, 1)
  expect_near(weights[2], 3 * rates[1] * prod(1 - rates[2:4]), 1e-12)
  expect_near(weights[1], 3 * (left + rates[3] * (1 - rates[4])), 1e-12)
  # The ranking of a batch as from sums without it.
  local <- batch_task(task, state$batches[[2]])
  started <- batch_state(task, state, state$batches[[2]])
  block <- local$blocks[[1]]
  started$view <- block_view(local, started$memory, block)
  affinity <- block_affinity(task$selector, local, started, block, NULL)
  memory <- started$memory
  f <- started$view$features[, 7]
  target <- dense_targets(state$batches[[2]], 10)[, 7]
  gram <- solve(crossprod(memory$prepared$transform)) - weights[2] * tcrossprod(f)
  cross <- memory$cross - weights[2] * outer(f, target)
  expect_near(affinity[, 7], drop(crossprod(cross, solve(gram, f))), 1e-7)
})

test_that("batches find the bars, and come to the bound of EM on all points", {
  bars <- batch_bars(300)
  for (selector in list(selector_handcrafted(), selector_gp(rank = 50))) {
    whole <- gps_fit(bars$y, model_binary_sparse(10), selector, n_selected = 4,
                     start = list(W = bars$W, pi = 0.2, sigma2 = 2),
                     control = short_control(n_threads = 1))
    set.seed(72)
    fit <- gps_fit(bars$y, model_binary_sparse(10), selector, n_selected = 4,
                   control = gps_control(progress = FALSE, n_threads = 1, batch_size = 50,
                                         max_iter = 15))
    expect_true(all(match_components(coef(fit)$W, bars$W)$matched))
    expect_lt(abs(fit$bound / whole$bound - 1), 0.01)
    expect_identical(fit$bound, sum(predict(fit, type = "loglik")))
    expect_identical(dim(expectations(fit)), c(300L, 10L))
    main <- fit$trace[fit$trace$start == 0, ]
    expect_true(all(main$iteration %% 6 == 0))
  }
})

test_that("every model learns in batches, by sampling too", {
  set.seed(73)
  cases <- list(
    list(model_spike_slab(10), simulate_bars(160, "spike_slab")$y, "auto"),
    list(model_max_spike_slab(10), simulate_bars(160, "max_spike_slab", psi = 0.1)$y, "auto"),
    list(model_binary_sparse(10), batch_bars(160)$y, "gibbs"),
    list(model_gaussian_mixture(10), simulate_clusters(160, 10, 4)$y, "auto"),
    list(model_occlusive(4, c(8, 8)), scene_data()$y, "auto", selector_handcrafted())
  )
  for (case in cases) {
    set.seed(74)
    selector <- if (length(case) > 3) case[[4]] else selector_gp(rank = 30)
    fit <- suppressWarnings(
      gps_fit(case[[2]], case[[1]], selector, n_selected = 3,
              control = short_control(max_iter = 4, n_threads = 1, batch_size = 40,
                                      method = case[[3]])),
      classes = "gps_warning"
    )
    bounds <- fit$trace$bound[fit$trace$start == 0]
    expect_gt(bounds[length(bounds)], bounds[1])
    expect_true(all(is.finite(unlist(coef(fit)))))
    expect_identical(ncol(fit$selected), fit$n_points)
  }
})

test_that("the same seed gives the same bits for any number of threads", {
  bars <- batch_bars(1200)
  fit_with <- function(n_threads) {
    set.seed(75)
    gps_fit(bars$y, model_binary_sparse(10), selector_gp(rank = 50), n_selected = 4,
            control = gps_control(max_iter = 2, n_starts = 1, progress = FALSE, batch_size = 600,
                                  n_threads = n_threads))
  }
  one <- fit_with(1)
  two <- fit_with(2)
  same <- c("params", "bound", "selected", "prob_on", "gp")
  expect_identical(unclass(one)[same], unclass(two)[same])
})

test_that("a batched fit goes on from parameters and from a fit", {
  bars <- batch_bars()
  control <- gps_control(max_iter = 3, progress = FALSE, n_threads = 1, batch_size = 150)
  set.seed(76)
  from_truth <- gps_fit(bars$y, model_binary_sparse(10), selector_gp(rank = 50), n_selected = 4,
                        control = control, start = list(W = bars$W, pi = 0.2, sigma2 = 2))
  expect_true(all(match_components(coef(from_truth)$W, bars$W)$matched))
  more <- update(from_truth, start = from_truth)
  expect_gt(more$bound, from_truth$bound - 0.01 * abs(from_truth$bound))
})

test_that("what batches cannot do is refused, and a bad step is an error that names it", {
  bars <- batch_bars(300)
  fit_by <- function(selector, ...) {
    gps_fit(bars$y, model_binary_sparse(10), selector, n_selected = 4,
            control = short_control(max_iter = 2, batch_size = 100, ...))
  }
  expect_gps_error(fit_by(selector_gp(method = "exact")), "Minibatches need a selector")
  expect_gps_error(fit_by(selector_gp(method = "divide")), "Minibatches need a selector")
  learner <- selector_custom(function(params, y, memory) y %*% memory,
                             learn = function(params, y, expectations) params$W)
  expect_gps_error(fit_by(learner), "Minibatches need a selector")
  for (step in list(function(n) 0, function(n) 1.5, function(n) NA, function(n) "a")) {
    expect_gps_error(fit_by(selector_handcrafted(), step = step), "`step` must return", "model")
  }
})

test_that("batches partition the points; those of a fit end when time is out", {
  rows <- split_batches(matrix(0, 2, 1001), 100, c(1L, 2L))
  expect_identical(sort(unlist(rows)), 1:1001)
  expect_lte(diff(range(lengths(rows))), 1)
  expect_length(rows, 11)
  bars <- batch_bars()
  fit <- gps_fit(bars$y, model_binary_sparse(10), selector_handcrafted(), n_selected = 4,
                 control = short_control(max_iter = 1e5, tol = 0, batch_size = 100,
                                         time_limit = 0.1))
  expect_identical(fit$status, "time_limit")
  expect_identical(ncol(fit$selected), 600L)
})

test_that("a step is asked for as many sizes as there are updates, and fails by name", {
  bars <- batch_bars(300)
  fit_by <- function(step) {
    gps_fit(bars$y, model_binary_sparse(10), selector_handcrafted(), n_selected = 4,
            control = short_control(max_iter = 2, batch_size = 100, step = step))
  }
  sizes <- 1 / (2:7)
  fit <- fit_by(function(n) sizes[n])
  expect_identical(fit$n_iter, 6L)
  expect_printed(fit, "limit of 6 updates (2 passes over the data)", fixed = TRUE)
  expect_gps_error(fit_by(function(n) stop("no size")), "`step` failed for update 1: no size",
                   "model")
})

test_that("more updates than an integer holds are a limit as any", {
  bars <- batch_bars(300)
  expect_silent(
    fit <- gps_fit(bars$y, model_binary_sparse(10), selector_handcrafted(), n_selected = 4,
                   control = short_control(max_iter = 1e9, batch_size = 100, time_limit = 0.05,
                                           anneal = 2))
  )
  expect_identical(fit$status, "time_limit")
})

test_that("a pass that is cut before its first update leaves no trace", {
  task <- batch_task_of(selector_handcrafted(), 200)
  state <- em_epoch(task, begin_state(task, 1))
  interrupt <- structure(list(), class = c("interrupt", "condition"))
  task$control$step <- function(n) signalCondition(interrupt)
  cut <- em_epoch(task, state)
  expect_identical(cut$cut$status, "interrupted")
  expect_identical(cut[c("trace", "bounds")], state[c("trace", "bounds")])
})

test_that("new data are ranked by the sums of all points", {
  bars <- batch_bars()
  set.seed(77)
  fit <- gps_fit(bars$y, model_binary_sparse(10), selector_gp(method = "fourier", rank = 60),
                 n_selected = 4, control = short_control(max_iter = 3, batch_size = 50))
  gp <- fit$gp$prepared
  y <- in_units(t(bars$y), fit$gp$units)
  view <- basis_features(gp$basis, gp$kernel, gp$theta, y)
  expected <- prepare_from(gp$basis, gp$kernel, gp$theta, feature_moments(view))
  expect_near(gp$transform, expected$transform, 1e-8)
  features <- basis_features(gp$basis, gp$kernel, gp$theta, y)$features
  expect_near(fit$gp$cross, features %*% expectations(fit), 1e-8)
})
