# Selection by neighbours in minibatches, and of data that are not held as a whole.

near_clusters <- function(n, n_clusters = 60, n_dims = 4, seed = 1) {
  set.seed(seed)
  mu <- matrix(rnorm(n_clusters * n_dims, sd = 4), n_dims)
  t(mu[, sample.int(n_clusters, n, TRUE)] + matrix(rnorm(n * n_dims), n_dims))
}

near_fit <- function(y, ..., model = model_gaussian_mixture(60, "spherical"), max_iter = 8,
                     n_threads = 1, selector = selector_gp(method = "neighbours", rank = 10)) {
  set.seed(2)
  suppressWarnings(gps_fit(y, model, selector, control = gps_control(
    max_iter = max_iter, n_threads = n_threads, progress = FALSE, mend = FALSE, ...
  )))
}

near_task <- function(y, ..., selector = selector_gp(method = "neighbours", rank = 10)) {
  if (!is_source(y)) y <- t(y)
  new_task(y, model_gaussian_mixture(60, "spherical"), selector, 5, NULL,
           gps_control(progress = FALSE, n_threads = 1, ...), seed = c(3L, 5L))
}

test_that("sources that are held as a whole give the bits of the matrix", {
  y <- near_clusters(2100)
  sources <- all_sources(y, c("fun", "binary"))
  for (selector in list(selector_gp(method = "neighbours"), selector_gp())) {
    whole <- near_fit(y, selector = selector, max_iter = 3)
    expect_identical(whole$gp$method, "neighbours")
    # The second is the first by another name.
    is_chosen <- is.null(selector$method) || selector$method != "neighbours"
    for (source in if (is_chosen && !is_full()) sources[1] else sources) {
      if (is.null(source)) next
      fit <- near_fit(source, selector = selector, max_iter = 3)
      expect_identical(without_data(fit), without_data(whole))
    }
  }
  batched <- near_fit(y, batch_size = 300, max_iter = 2)
  expect_identical(without_data(near_fit(function_source(y), batch_size = 300, max_iter = 2)),
                   without_data(batched))
})

test_that("slots are gathered from the batches where points lie", {
  set.seed(1)
  batches <- list(c(2L, 5L), c(1L, 6L, 7L), c(3L, 4L))
  places <- place_batches(batches)
  expect_identical(places$batch, c(2L, 1L, 3L, 3L, 1L, 2L, 2L))
  expect_identical(places$column, c(1L, 1L, 1L, 2L, 2L, 2L, 3L))
  slots <- lapply(batches, function(rows) {
    list(rows = rows, selected = rbind(rows, 10L + rows), prob_on = rbind(rows / 10, rows / 20))
  })
  slots[[3]][c("selected", "prob_on")] <- list(NULL)
  gather <- function(points, batch = places$batch, n_slots = 2L) {
    .Call(C_batch_slots, slots, batch, places$column, points, n_slots)
  }
  points <- c(7L, 0L, 2L, 4L, 7L)
  found <- gather(points)
  expect_identical(found$selected, unname(rbind(c(7L, 0L, 2L, 0L, 7L), c(17L, 0L, 12L, 0L, 17L))))
  expect_identical(found$prob_on, unname(rbind(c(0.7, 0, 0.2, 0, 0.7), c(0.35, 0, 0.1, 0, 0.35))))
  expect_error(gather(8L), class = "gps_error_model")
  expect_error(gather(-1L), class = "gps_error_model")
  expect_error(gather(1L, batch = rep(4L, 7)), class = "gps_error_model")
  expect_error(gather(7L, batch = rep(1L, 7)), class = "gps_error_model")
  expect_error(gather(7L, n_slots = 3L), class = "gps_error")
})

test_that("a batch is ranked by what its neighbours had when they were last visited", {
  y <- near_clusters(900)
  task <- near_task(y, batch_size = 200)
  state <- em_epoch(task, begin_state(task, 1))
  state <- take_batch(state, em_update(batch_task(task, state$batches[[2]]),
                                       batch_state(task, state, state$batches[[2]])), 2)
  slots <- complete_batches(state)
  local <- batch_task(task, state$batches[[4]])
  engine <- state$memory$prepared
  engine$n_best <- count_asked(local)
  whole <- engine_loo(engine, slot_targets(slots, task$model), 1:900)$mean
  rows <- state$batches[[4]]$rows
  few <- block_affinity(local$selector, local, batch_state(task, state, state$batches[[4]]),
                        local$blocks[[1]], NULL)
  expect_identical(few$latent, whole$latent[, rows])
  expect_identical(few$affinity, whole$affinity[, rows])
})

test_that("minibatches fit as well, whatever the blocks and threads", {
  y <- near_clusters(900)
  whole <- near_fit(y, max_iter = 10)
  batched <- near_fit(y, batch_size = 240, max_iter = 10)
  expect_lt((whole$bound - batched$bound) / 900, 0.1)
  expect_gt(sum(batched$trace$refit), 0)
  short <- near_fit(y, batch_size = 240, max_iter = 3)
  expect_gt(sum(short$trace$refit), 0)
  expect_identical(near_fit(y, batch_size = 240, max_iter = 3, n_threads = 2)$params, short$params)
  # Seeds are compared block by block, too, which rounds.
  expect_equal(with_small_blocks(near_fit(y, batch_size = 240, max_iter = 3))$params, short$params,
               tolerance = 1e-8)
  set.seed(4)
  again <- suppressWarnings(gps_fit(y, batched$model, batched$selector, start = batched,
                                    control = gps_control(batch_size = 240, max_iter = 2,
                                                          progress = FALSE)))
  expect_gt(again$bound, batched$bound - 30)
  new <- near_clusters(50)
  expect_true(all(abs(rowSums(predict(batched, new)) - 1) < 1e-8))
})

test_that("one batch of all points and steps of 1 are EM", {
  y <- near_clusters(600)
  task <- near_task(y, batch_size = 600, step = function(n) 1)
  whole <- task
  whole[c("batches", "places")] <- list(NULL, NULL)
  a <- begin_state(whole, 1)
  b <- begin_batches(task, begin_near(task, begin_state(task, 1)))
  b$running <- pass(batch_task(task, b$batches[[1]]),
                    batch_state(task, b, b$batches[[1]], rate = 0))$stats
  for (i in 1:3) {
    a <- em_step(whole, a)
    b <- em_epoch(task, b)
    expect_equal(b$bound, a$bound, tolerance = 1e-10)
    expect_equal(b$params, a$params, tolerance = 1e-8)
    expect_identical(b$batches[[1]]$selected, a$selected)
  }
})

test_that("other models and few clusters learn in batches by neighbours, too", {
  bars <- simulate_bars(240, size = 4, value = 5)
  fit <- near_fit(bars$y, batch_size = 60, model = model_binary_sparse(8), max_iter = 15)
  expect_gt(match_components(coef(fit)$W, bars$W)$similarity[1], 0.9)
  y <- near_clusters(480, 12)
  few <- model_gaussian_mixture(12, "spherical")
  batched <- near_fit(y, batch_size = 120, model = few, max_iter = 10)
  expect_lt((near_fit(y, model = few, max_iter = 10)$bound - batched$bound) / 480, 0.1)
})

test_that("with all points as references blocks of a source are known as the whole is", {
  y <- near_clusters(1300)
  source <- function_source(y)
  task <- near_task(y)
  memory <- begin_kernel(task$selector, task)
  whole <- prepare_near(task$selector, task, memory, NULL)
  local_value("most_whole", 4000)
  local_value("least_references", 1000L)
  small <- with_small_blocks(near_task(source))
  expect_true(is_source(small$y))
  expect_length(small$blocks, 3)
  open <- list(selected = matrix(0L, 5, 1300))
  parts <- prepare_near(small$selector, small, memory, open)
  expect_identical(parts$refs, 1:1300)
  expect_identical(parts[c("near", "weights", "variance", "jitter")],
                   whole[c("near", "weights", "variance", "jitter")])
})

test_that("a source that is too large is selected for by references", {
  y <- near_clusters(2000)
  whole <- near_fit(y, max_iter = 12)
  local_value("most_whole", 4 * 1000)
  source <- binary_source(y)
  fit <- near_fit(source, max_iter = 12)
  expect_identical(length(fit$gp$refs), 1000L)
  expect_lt((whole$bound - fit$bound) / 2000, 0.1)
  short <- near_fit(source, max_iter = 3)
  expect_gt(sum(short$trace$refit), 0)
  expect_identical(near_fit(source, max_iter = 3, n_threads = 2)$params, short$params)
  expect_lt((whole$bound - near_fit(source, max_iter = 12, batch_size = 400)$bound) / 2000, 0.1)
  # No point is its own neighbour, and references tell of all clusters.
  task <- near_task(source)
  state <- begin_state(task, 1)
  engine <- state$memory$prepared
  own <- array(engine$refs[engine$near], dim(engine$near)) == col(engine$near)
  expect_false(any(own))
  expect_setequal(state$selected[1, engine$refs], state$selected[1, ])
  # Few points that have latents already are all among them.
  few <- matrix(0L, 5, 2000)
  few[1, seq(2, 2000, by = 60)] <- 1L
  refs <- choose_references(task, list(selected = few))
  expect_length(refs, 1000)
  expect_true(all(seq(2, 2000, by = 60) %in% refs))
  new <- near_clusters(40)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file), add = TRUE)
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), new), predict(fit, new))
  expect_lt(mean(predict(whole, new, type = "loglik") - predict(fit, new, type = "loglik")), 0.2)
  broken <- fit
  broken$gp$refs[5] <- 1L
  expect_error(predict(broken, new), "`gp$refs`", fixed = TRUE, class = "gps_error_argument")
})

test_that("a fit that goes on from starts on a sample refits on rows that its references are", {
  y <- near_clusters(900, 20)
  local_value("most_whole", 4 * 400)
  local_value("start_rows", 200L)
  model <- model_gaussian_mixture(20, "spherical")
  fit <- near_fit(binary_source(y), model = model, n_starts = 2, max_iter = 3)
  expect_true(fit$trace$refit[fit$trace$start == 0][1])
  expect_length(fit$gp$refs, 400)
  expect_lt((near_fit(y, model = model, n_starts = 2, max_iter = 3)$bound - fit$bound) / 900, 0.5)
})
