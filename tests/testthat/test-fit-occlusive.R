# Whole fits of model E: annealing, explorers, growing, moves, monotone mode, sampling, prediction.

# CRAN's machines leave the slowest files out.
skip_on_cran()

small_scenes <- function(seed = 1, n = if (is_full()) 250 else 120, n_pixels = 12) {
  set.seed(seed)
  objects <- scene_objects(4, size = c(6, 6))
  simulate_scenes(objects, n, size = c(n_pixels, n_pixels), prob = 0.3)
}

fit_scenes <- function(scenes, seed = 1, ..., selector = selector_gp(), n_components = 5) {
  set.seed(seed)
  gps_fit(scenes$y, model_occlusive(n_components, c(8, 8)), selector, n_selected = 4,
          control = gps_control(n_threads = 1, progress = FALSE, ...))
}

# What is learned from nothing, for all tests that go on from there.
scenes <- small_scenes()
fit <- fit_scenes(scenes)

test_that("objects, their masks and places are learned from nothing", {
  expect_true(all(match_components(fit, scenes)$matched))
  expect_gt(selection_recall(fit, scenes$latents, within = 1, truth = scenes), 0.85)
  expect_near(sqrt(fit$params$sigma2), 0.03, 0.1)
  trace <- fit$trace
  # The temperature is held, falls, and is 1.
  expect_identical(trace$temperature[1:6], rep(5, 6))
  expect_true(all(diff(trace$temperature) <= 0))
  expect_identical(trace$temperature[14], 1)
  expect_lt(mean(trace$evaluations), 0.5 * fit$model$n_latents)
  expect_identical(fit$status, "converged")
})

test_that("new scenes are explained without a scan", {
  set.seed(3)
  new <- simulate_scenes(scenes$objects, 40, size = c(12, 12), prob = 0.3)
  selected <- predict(fit, new$y, type = "selected")
  expect_identical(dim(selected), c(40L, 4L, 3L))
  expect_identical(predict(fit, new$y, type = "selected", n_threads = 1), selected)
  prob <- predict(fit, new$y)
  expect_identical(dim(prob), c(40L, 5L))
  match <- match_components(fit, scenes)
  truth <- table(factor(new$latents$point, 1:40), factor(new$latents$object, 1:4)) > 0
  found <- prob[, match$permutation] > 0.5
  expect_gt(mean(found[truth]), 0.7)
  expect_lt(mean(found[!truth]), 0.05)
  objects <- predict(fit, new$y, type = "objects")
  expect_named(objects, c("point", "component", "row", "column", "prob"))
  expect_true(all(objects$row %in% 1:12 & objects$column %in% 1:12))
  expect_identical(nrow(objects), sum(predict(fit, new$y, type = "state")))
  response <- predict(fit, new$y, type = "response")
  expect_lt(mean((response - new$y)^2), 0.5 * mean(new$y^2))
})

test_that("the same seed gives the same bits for any number of threads", {
  scenes <- small_scenes(4, n = 120)
  fits <- lapply(1:2, function(threads) {
    set.seed(5)
    gps_fit(scenes$y, model_occlusive(5, c(8, 8)), n_selected = 3,
            control = gps_control(n_threads = threads, max_iter = 12, progress = FALSE))
  })
  expect_identical(fits[[1]]$params, fits[[2]]$params)
  expect_identical(fits[[1]]$selected, fits[[2]]$selected)
  expect_identical(fits[[1]]$bound, fits[[2]]$bound)
})

test_that("a monotone fit neither anneals nor repairs, and its bound never falls", {
  scenes <- small_scenes(6, n = 80)
  for (seed in seq_len(if (is_full()) 5 else 1)) {
    fit <- fit_scenes(scenes, seed, monotone = TRUE, max_iter = 18, tol = 0)
    expect_identical(fit$trace$temperature, rep(1, 18))
    expect_true(all(diff(fit$trace$bound) >= -1e-9 * abs(fit$bound)))
    expect_no_match(fit$trace$events, "recentred|reseeded|merged|renewed|joined")
  }
})

test_that("a fit can grow from a few images, and wait for its selection", {
  scenes <- small_scenes(7, if (is_full()) 250 else 90)
  grown <- fit_scenes(scenes, grow = if (is_full()) 80 else 60)
  expect_gte(sum(match_components(grown, scenes)$matched), 3)
  expect_identical(sum(grown$trace$start == 1), 20L)
  few <- if (is_full()) scenes else small_scenes(7, 40)
  waiting <- fit_scenes(few, hold = "auto", max_iter = 30, tol = 0)
  held <- sum(waiting$trace$temperature == 5)
  expect_gt(held, 1)
  expect_lte(held, 21)
})

test_that("the hand-crafted selection learns too, with and without a screen", {
  scenes <- small_scenes(8, if (is_full()) 250 else 100)
  for (screen in list(FALSE, NULL)[seq_len(1 + is_full())]) {
    fit <- fit_scenes(scenes, selector = selector_handcrafted(screen = screen))
    expect_gte(sum(match_components(fit, scenes)$matched), 3)
  }
})

test_that("an idle component moves to an object that has none, and learns all of it", {
  skip_unless_full()
  # In these the window that it begins with shows another object before its own, or a part of it.
  for (case in list(c(9, 1), c(10, 4), c(12, 1))) {
    scenes <- small_scenes(case[1], n = 200, n_pixels = 14)
    fit <- fit_scenes(scenes, n_components = 5)
    match <- match_components(fit, scenes)
    if (!all(match$matched)) next
    lost <- match$permutation[case[2]]
    start <- fit$params
    start$alpha[lost, , ] <- 0.02
    start$w[lost, , , ] <- 0.5
    start$pi[lost] <- 0.005
    set.seed(2)
    again <- gps_fit(scenes$y, model_occlusive(5, c(8, 8)), n_selected = 4, start = start,
                     control = gps_control(progress = FALSE, n_threads = 2))
    expect_identical(unique(again$trace$temperature), 1)
    expect_match(again$trace$events, "renewed|joined", all = FALSE)
    expect_gt(min(match_components(again, scenes)$iou), 0.97)
    expect_gt(again$bound, fit$bound - 200)
  }
})

test_that("states can be sampled instead of summed over", {
  y <- matrix(scenes$y, nrow(scenes$y))[1:40, ]
  selected <- t(fit$selected)[1:40, ]
  summed <- gps_estep(fit$model, fit$params, y, selected)
  set.seed(1)
  drawn <- gps_estep(fit$model, fit$params, y, selected, method = "gibbs", sweeps = c(10, 200))
  expect_lt(mean(abs(drawn$prob_on - summed$prob_on)), 0.02)
})
