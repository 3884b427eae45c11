# Points with random sparse targets in slots: some slots empty, some probabilities 0.
sparse_toy <- function(n = 30, grid = c(5L, 4L), n_groups = 3, n_slots = 4, n_dims = 6, seed = 1) {
  set.seed(seed)
  n_latents <- as.integer(prod(grid) * n_groups)
  selected <- vapply(seq_len(n), function(i) sort(sample.int(n_latents, n_slots)),
                     integer(n_slots))
  prob_on <- matrix(runif(n * n_slots), n_slots)
  selected[sample(length(selected), n)] <- 0L
  prob_on[sample(length(prob_on), n)] <- 0
  list(y = matrix(rnorm(n_dims * n), n_dims), grid = grid, n_latents = n_latents,
       targets = list(selected = selected, prob_on = prob_on))
}

# Of slots in which a point may have a latent twice.
dense_targets_summed <- function(targets, n_latents) {
  Reduce(`+`, lapply(seq_len(nrow(targets$selected)), function(slot) {
    dense_targets(lapply(unclass(targets)[1:2], function(x) x[slot, , drop = FALSE]), n_latents)
  }))
}

dense_toy <- function(toy) dense_targets(toy$targets, toy$n_latents)

# The slots of a toy, laid out on its grid.
laid_out <- function(targets, toy, smooth = 0) {
  slot_targets(targets, toy_model(toy), smooth)
}

toy_model <- function(toy, smooth = 0) {
  model <- gps_bind(model_binary_sparse(toy$n_latents), t(toy$y))
  model$grid <- toy$grid
  model$defaults <- list(smooth = smooth)
  class(model) <- c("toy_grid", class(model))
  model
}

toy_task <- function(toy, selector, smooth = 0, n_threads = 1L) {
  list(y = toy$y, model = toy_model(toy, smooth), selector = selector, n_selected = 4L,
       seed = c(3L, 4L), n_threads = n_threads, blocks = split_blocks(ncol(toy$y), toy$n_latents))
}

toy_state <- function(toy) {
  state <- new_state(list(), 0L, 0)
  state[c("selected", "prob_on")] <- toy$targets
  state$iteration <- 1L
  state
}

# Cyclic blur of one plane by a double loop over the definition.
blur_plane <- function(plane, sd) {
  radius <- floor(3 * sd)
  weight <- exp(-0.5 * (-radius:radius)^2 / sd^2)
  weight <- weight / sum(weight)
  h <- nrow(plane)
  w <- ncol(plane)
  out <- plane * 0
  for (i in -radius:radius) {
    for (j in -radius:radius) {
      rows <- (seq_len(h) - 1 + i) %% h + 1
      cols <- (seq_len(w) - 1 + j) %% w + 1
      out <- out + weight[i + radius + 1] * weight[j + radius + 1] * plane[rows, cols]
    }
  }
  out
}

blur_dense <- function(affinity, grid, sd) {
  if (sd == 0) return(affinity)
  size <- prod(grid)
  apply(affinity, 2, function(column) {
    unlist(lapply(seq_len(length(column) / size), function(g) {
      blur_plane(matrix(column[(g - 1) * size + seq_len(size)], grid[1]), sd)
    }))
  })
}

sparse_kernels <- list(rbf = kernel_rbf() + kernel_white(0.1),
                       linear = kernel_linear() + kernel_bias() + kernel_white(0.5),
                       composition = kernel_composition())

test_that("leave-one-out and prediction equal the dense formulas, smoothed by the definition", {
  toy <- sparse_toy()
  targets <- dense_toy(toy)
  new <- matrix(rnorm(6 * 11), 6)
  for (kernel in sparse_kernels) {
    theta <- gp_theta(kernel, toy$y)
    loo <- gp_loo_means(gp_prepare(kernel, theta, toy$y), targets)
    predicted <- gp_predict_moments(kernel, theta, toy$y, targets, new)$mean
    forms <- list(gp_prepare(kernel, theta, toy$y, dense = TRUE), gp_prepare(kernel, theta, toy$y))
    for (prepared in forms) {
      for (smooth in c(0, 1, 2.3)) {
        slots <- laid_out(toy$targets, toy, smooth)
        spread <- engine_loo(prepared, slots, 1:30)$mean
        expect_lt(max(abs(spread - blur_dense(loo, toy$grid, smooth))), 1e-13)
        some <- engine_loo(prepared, slots, c(7, 29, 3))$mean
        if (!is.null(prepared$inverse)) expect_identical(some, spread[, c(7, 29, 3)])
        spread <- engine_predict(engine_train(prepared, slots), new)$mean
        expect_lt(max(abs(spread - blur_dense(predicted, toy$grid, smooth))), 1e-12)
      }
    }
  }
})

test_that("targets may be smoothed by themselves in place of predictions", {
  for (grid in list(c(5L, 4L), c(6L, 4L), c(1L, 3L), c(7L, 2L))) {
    toy <- sparse_toy(grid = grid, n_slots = 3)
    for (smooth in c(0, 0.4, 1, 2.3)) {
      wide <- widen_targets(laid_out(toy$targets, toy, smooth))
      blurred <- blur_dense(dense_toy(toy), grid, smooth)
      expect_equal(dense_targets_summed(wide, toy$n_latents), blurred, tolerance = 1e-14)
      expect_identical(widen_targets(wide), wide)
    }
  }
  expect_error(.Call(C_gp_spread_slots, list(selected = matrix(99L, 1, 1), prob_on = matrix(1),
                                              layout = wide$layout)),
               class = "gps_error_model")
})

test_that("all others as neighbours, on a grid, are the exact process", {
  toy <- sparse_toy()
  kernel <- sparse_kernels$rbf
  theta <- gp_theta(kernel, toy$y)
  slots <- laid_out(toy$targets, toy, 1)
  new <- matrix(rnorm(6 * 4), 6)
  exact <- gp_prepare(kernel, theta, toy$y, dense = TRUE)
  near <- function(rank, many) {
    engine_prepare(engine_plan(new_engine("neighbours", rank), kernel, theta, toy$y), theta,
                   many = many)
  }
  loo <- engine_loo(near(29L, TRUE), engine_targets(near(29L, TRUE), slots), 1:30)$mean
  expect_equal(rank_answer(loo, toy$n_latents), engine_loo(exact, slots, 1:30)$mean,
               tolerance = 1e-10)
  # A new point has one more neighbour.
  predicted <- engine_predict(engine_train(near(30L, FALSE), slots), new)$mean
  expect_equal(rank_answer(predicted, toy$n_latents),
               engine_predict(engine_train(exact, slots), new)$mean, tolerance = 1e-10)
})

test_that("threads do not change a bit", {
  toy <- sparse_toy(n = 200)
  kernel <- kernel_composition()
  theta <- gp_theta(kernel, toy$y)
  slots <- laid_out(toy$targets, toy, 1)
  loo <- function(n_threads) {
    engine_loo(gp_prepare(kernel, theta, toy$y, n_threads, dense = TRUE), slots, points)$mean
  }
  # Each point needs the slots of all others and its own 60 affinities: enough for four threads.
  points <- rep_len(1:200, 4 * thread_work %/% (4 * 200 + 60) + 1)
  one <- loo(1L)
  for (n_threads in 2:4) {
    expect_identical(loo(n_threads), one)
  }
})

test_that("the signal is that of the dense form", {
  toy <- sparse_toy()
  kernel <- kernel_composition()
  prepared <- gp_prepare(kernel, gp_theta(kernel, toy$y), toy$y, dense = TRUE)
  targets <- dense_toy(toy)
  for (smooth in c(0, 1)) {
    smoothed <- blur_dense(targets, toy$grid, smooth)
    loo <- gp_loo_means(prepared, smoothed)
    share <- max(0, sum(smoothed * loo))^2 / (sum(smoothed^2) * sum(loo^2))
    expect_equal(slots_r2(prepared, laid_out(toy$targets, toy, smooth)), share, tolerance = 1e-12)
  }
})

test_that("the linear term begins in units of the images' mean square", {
  toy <- sparse_toy()
  selector <- selector_gp(method = "exact")
  model <- toy_model(toy)
  plain <- gp_theta(selector$kernel, toy$y)
  began <- plain
  began["log_var_lin"] <- -log(mean(colSums(toy$y^2)))
  expect_equal(start_theta(selector, model, toy$y), began)
  expect_identical(start_theta(selector, model, 0 * toy$y), gp_theta(selector$kernel, 0 * toy$y))
  model$grid <- NULL
  expect_identical(start_theta(selector, model, toy$y), plain)
})

test_that("outputs that are 0 count in the evidence without being there", {
  toy <- sparse_toy()
  targets <- dense_toy(toy)
  used <- used_targets(laid_out(toy$targets, toy))
  expect_lt(nrow(used), nrow(targets))
  expect_identical(used, targets[rowSums(targets) > 0, ])
  smoothed <- blur_dense(targets, toy$grid, 1)
  expect_equal(used_targets(cut_targets(laid_out(toy$targets, toy, 1), c(4, 2))),
               smoothed[rowSums(smoothed[, c(2, 4)]) > 0, c(4, 2)], tolerance = 1e-13)
  for (kernel in sparse_kernels) {
    theta <- gp_theta(kernel, toy$y)
    all <- gp_evaluate(kernel, theta, toy$y, targets)
    few <- gp_evaluate(kernel, theta, toy$y, used, n_targets = nrow(targets))
    expect_equal(few, all, tolerance = 1e-10)
    expect_equal(gp_refit(kernel, theta, toy$y, used, n_targets = nrow(targets))$values[1],
                 all$value, tolerance = 1e-10)
  }
})

test_that("nothing on, one point, one cell", {
  toy <- sparse_toy()
  kernel <- kernel_composition()
  prepared <- gp_prepare(kernel, gp_theta(kernel, toy$y), toy$y, dense = TRUE)
  nothing <- laid_out(toy$targets, toy, 1)
  nothing$prob_on <- 0 * nothing$prob_on
  expect_identical(engine_loo(prepared, nothing, 1:30)$mean, matrix(0, toy$n_latents, 30))
  expect_identical(slots_r2(prepared, nothing), 0)
  expect_identical(used_targets(nothing), matrix(0, 1, 30))
  nothing$selected[] <- 0L
  expect_identical(engine_loo(prepared, nothing, 1:30)$mean, matrix(0, toy$n_latents, 30))
  expect_identical(slots_r2(prepared, nothing), 0)
  toy <- sparse_toy(n = 2, grid = c(1L, 1L), n_groups = 9)
  theta <- gp_theta(kernel, toy$y)
  prepared <- gp_prepare(kernel, theta, toy$y, dense = TRUE)
  expect_equal(engine_loo(prepared, laid_out(toy$targets, toy, 1), 1:2)$mean,
               gp_loo_means(prepared, dense_toy(toy)), tolerance = 1e-13)
  one <- laid_out(list(selected = matrix(1:3), prob_on = matrix(1, 3)), toy, 1)
  prepared <- gp_prepare(kernel, theta, toy$y[, 1, drop = FALSE], dense = TRUE)
  expect_identical(engine_loo(prepared, one, 1)$mean, matrix(0, 9, 1))
})

test_that("impossible slots and grids are refused", {
  toy <- sparse_toy()
  kernel <- kernel_composition()
  prepared <- gp_prepare(kernel, gp_theta(kernel, toy$y), toy$y, dense = TRUE)
  bad <- laid_out(toy$targets, toy)
  bad$selected[5] <- toy$n_latents + 1L
  expect_gps_error(engine_loo(prepared, bad, 1:30), "names latent 61 of 60", "model")
  bad <- laid_out(toy$targets, toy)
  bad$layout$grid <- c(7L, 3L)
  expect_gps_error(engine_loo(prepared, bad, 1:30),
                   "not groups of a grid of 7 x 3", "model")
})

test_that("the selector ranks on the grid, with the model's or its own smoothing", {
  toy <- sparse_toy()
  selector <- selector_gp(kernel_rbf(), "exact")
  task <- toy_task(toy, selector, smooth = 1)
  state <- toy_state(toy)
  state$memory <- learn_selector(selector, task, state)
  expect_null(state$memory$affinity)
  block <- task$blocks[[1]]
  y <- in_units(toy$y, state$memory$units)
  loo <- gp_loo_means(gp_prepare(selector$kernel, state$memory$theta, y), dense_toy(toy))
  expect_equal(block_affinity(selector, task, state, block, NULL), blur_dense(loo, toy$grid, 1),
               tolerance = 1e-13)
  sharp <- selector_gp(kernel_rbf(), "exact", smooth = 0)
  other <- state
  other["memory"] <- list(NULL)
  other$memory <- learn_selector(sharp, task, other)
  expect_equal(block_affinity(sharp, task, other, block, NULL), loo, tolerance = 1e-13)
  state$params <- gps_init(task$model, t(toy$y))
  step <- list(task = task, state = state, row_names = NULL)
  expect_identical(affinity_of_points(selector, step, c(9L, 2L)),
                   t(block_affinity(selector, task, state, block, NULL)[, c(9, 2)]))
})

test_that("expectations begin as the labels, or at random in slots", {
  toy <- sparse_toy()
  selector <- selector_gp(kernel_rbf(), "exact")
  task <- toy_task(toy, selector)
  state <- toy_state(toy)
  expect_identical(begin_memory(selector, task, state)$targets, laid_out(toy$targets, toy))
  state[c("selected", "prob_on")] <- list(NULL)
  targets <- begin_memory(selector, task, state)$targets
  expect_identical(dim(targets$selected), c(4L, 30L))
  expect_true(all(targets$selected %in% 0:toy$n_latents))
  expect_true(all(apply(targets$selected, 2, function(s) !anyDuplicated(s[s > 0]))))
  expect_true(all(targets$prob_on > 0 & targets$prob_on < 1))
})

test_that("a selector that learned on some rows ranks all", {
  toy <- sparse_toy(n = 40)
  selector <- selector_gp(kernel_rbf(), "exact")
  task <- toy_task(toy, selector, smooth = 1)
  short <- task
  short$y <- toy$y[, 1:25]
  state <- toy_state(toy)
  state[c("selected", "prob_on")] <- lapply(toy$targets, function(x) x[, 1:25])
  state$memory <- learn_selector(selector, short, state)
  targets <- dense_targets(state, toy$n_latents)
  kernel <- selector$kernel
  theta <- state$memory$theta
  state$memory <- grow_memory(selector, task, short, state)
  y <- in_units(toy$y, state$memory$units)
  predicted <- gp_predict_moments(kernel, theta, y[, 1:25], targets, y)$mean
  expect_equal(block_affinity(selector, task, state, task$blocks[[1]], NULL),
               blur_dense(predicted, toy$grid, 1), tolerance = 1e-12)
  state[c("selected", "prob_on")] <- toy$targets
  memory <- learn_selector(selector, task, state)
  expect_null(memory$trained)
  expect_identical(memory$targets, laid_out(toy$targets, toy, 1))
})

test_that("refits go on from sparse targets", {
  toy <- sparse_toy(n = 60)
  selector <- selector_gp(kernel_rbf(), "exact", refit_rows = 40)
  task <- toy_task(toy, selector)
  state <- toy_state(toy)
  state$memory <- new_gp_memory(gp_theta(selector$kernel, toy$y), NULL)
  state$memory$r2 <- 1
  memory <- learn_selector(selector, task, state)
  expect_true(memory$refit)
  expect_length(memory$refits, 1)
  expect_identical(dim(memory$prepared$inverse), c(60L, 60L))
})

test_that("without a grid the size decides, and features stay dense", {
  # Fewer than there are, so that the latents that it takes are few, too.
  local_value("max_kept_affinities", 30000)
  toy <- sparse_toy()
  task <- toy_task(toy, selector_gp(kernel_rbf(), "exact"))
  expect_true(has_sparse_targets(task$selector, task))
  task$model$grid <- NULL
  expect_false(has_sparse_targets(task$selector, task))
  memory <- learn_selector(task$selector, task, toy_state(toy))
  expect_null(memory$targets)
  expect_identical(memory$affinity, gp_loo_means(memory$prepared, dense_toy(toy)))
  task$model$n_latents <- 1000L
  expect_false(has_sparse_targets(task$selector, task))
  task$model$n_latents <- task$model$n_latents + 1L
  expect_true(has_sparse_targets(task$selector, task))
  expect_false(has_sparse_targets(selector_gp(kernel_linear(), "exact"), task))
  state <- toy_state(toy)
  state$memory <- learn_selector(task$selector, task, state)
  affinity <- block_affinity(task$selector, task, state, new_block(28, 1), NULL)
  expect_equal(affinity[1:60], memory$affinity[, 29], tolerance = 1e-13)
  expect_true(all(affinity[-(1:60)] == 0))
})

test_that("a model without neighbours is not smoothed", {
  toy <- sparse_toy()
  model <- toy_model(toy)
  model$grid <- NULL
  expect_gps_error(check_smooth(selector_gp(smooth = 1), model), "`smooth` = 1 needs latents on a")
  expect_identical(smooth_of(selector_gp(), model), 0)
  expect_silent(check_smooth(selector_gp(smooth = 0), model))
  expect_silent(check_smooth(selector_random(), model))
  expect_match(format_selector(selector_gp(smooth = 2)), "smoothed over 2 cells")
})

# A model of bars that says its ten latents are two groups on a ring of five cells.
ring_model <- function(envir = parent.frame()) {
  bind_ring <- function(model, y) {
    class(model) <- setdiff(class(model), "toy_ring")
    model <- gps_bind(model, y)
    model$grid <- c(5L, 1L)
    class(model) <- c("toy_ring", class(model))
    model
  }
  registerS3method("gps_bind", "toy_ring", bind_ring, envir = asNamespace("gpselect"))
  model <- model_binary_sparse(10)
  class(model) <- c("toy_ring", class(model))
  model
}

test_that("a whole fit regresses in slots, and predicts from them", {
  set.seed(41)
  bars <- simulate_bars(300, value = 5)
  fit_bars <- function(model, smooth = 0) {
    set.seed(42)
    gps_fit(bars$y, model, selector_gp(kernel_linear(), refit_every = 4, smooth = smooth),
            n_selected = 2, control = gps_control(progress = FALSE, n_threads = 1, max_iter = 6,
                                                  n_starts = 1))
  }
  sparse <- fit_bars(ring_model())
  expect_identical(sparse$model$grid, c(5L, 1L))
  expect_true(all(colSums(sparse$selected > 5) <= 1))
  expect_gt(sum(sparse$trace$refit), 0)
  smoothed <- fit_bars(ring_model(), smooth = 0.4)
  expect_true(is.finite(smoothed$bound))
  new <- t(simulate_bars(20, value = 5)$y)
  task <- new_prediction_task(smoothed, new, "prob")
  affinity <- block_affinity(task$selector, task, list(), task$blocks[[1]], NULL)
  units <- smoothed$gp$units
  predicted <- gp_predict_moments(smoothed$selector$kernel, smoothed$kernel_theta,
                                  in_units(t(bars$y), units), dense_targets(smoothed, 10L),
                                  in_units(new, units))$mean
  expect_equal(affinity, blur_dense(predicted, c(5, 1), 0.4), tolerance = 1e-9)
  state <- list(model = smoothed$model, params = smoothed$params, selected = t(smoothed$selected),
                prob_on = t(smoothed$prob_on))
  state$memory <- gps_learn(smoothed$selector, state, bars$y)
  few <- gps_affinity(smoothed$selector, state, bars$y, points = c(5, 77))
  expect_identical(few, gps_affinity(smoothed$selector, state, bars$y)[c(5, 77), ])
  expect_gps_error(fit_bars(model_binary_sparse(10), smooth = 1), "needs latents on a grid")
})
