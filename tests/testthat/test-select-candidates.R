# Ranking by a few candidates in place of all latents: what is selected, what screening makes of it,
# and what it learns of latents that stand beside each other.

# Candidates of n points, `n_on` latents of positive affinity and one of negative each; affinities
# are often equal.
few_candidates <- function(n, n_latents, n_on, seed = 3) {
  set.seed(seed)
  latent <- replicate(n, c(sample.int(n_latents, n_on + 1L), 0L))
  affinity <- rbind(matrix(sample(1:4, n_on * n, replace = TRUE) / 4, n_on), -1, 0)
  new_candidates(latent, affinity)
}

select_few <- function(candidates, n_latents, n_selected, share = 0, fill = 1L, first_row = 0,
                       n_threads = 2L, iteration = 1L, grid = NULL) {
  stream <- list(seed = c(11L, 22L), start = 0L, iteration = iteration)
  .Call(C_select_candidates, candidates, n_latents, as.integer(n_selected), share, fill, grid,
        stream, first_row, n_threads)
}

test_that("candidates are selected as the same affinities of all latents are", {
  few <- few_candidates(4000, 60L, 8L)
  dense <- rank_answer(few, 60L)
  for (share in c(0, 0.5, 1.3, 6)) {
    wanted <- select_points(dense, 6, share)
    expect_identical(select_few(few, 60L, 6, share), wanted)
    expect_identical(select_few(few, 60L, 6, share, n_threads = 3L), wanted)
    expect_identical(select_few(few, 60L, 6, share, fill = 0L), wanted)
  }
  part <- select_few(cut_answer(few, 101:300), 60L, 6, 0.5, first_row = 100)
  expect_identical(part, select_points(dense, 6, 0.5)[, 101:300])
})

test_that("of the places of a component one candidate is selected, as of all affinities", {
  few <- few_candidates(1000, 60L, 20L)
  dense <- rank_answer(few, 60L)
  grid <- c(2L, 2L)
  stream <- list(seed = c(11L, 22L), start = 0L, iteration = 1L)
  for (share in c(0, 1.3)) {
    selected <- select_few(few, 60L, 5, share, grid = grid)
    expect_identical(selected, .Call(C_select, dense, 5L, share, grid, stream, 0, 1L))
    expect_false(any(apply((selected - 1L) %/% 4L, 2, anyDuplicated)))
  }
  # Explorers of free slots are of other components, too, of which there may be too few.
  free <- select_few(few_candidates(1000, 60L, 2L), 60L, 15, 0.5, grid = grid)
  expect_true(all(apply((free - 1L) %/% 4L, 2, sort) == 0:14))
  expect_true(all(select_few(few, 60L, 16, grid = grid)[16, ] == 0))
  expect_error(select_few(few, 60L, 5, grid = c(7L, 2L)), "no groups on a grid")
})

test_that("slots without a positive affinity are the explorers'", {
  n <- 20000
  few <- few_candidates(n, 12L, 2L)
  selected <- select_few(few, 12L, 5, 0.5)
  expect_false(any(diff(selected) <= 0))
  held <- vapply(seq_len(n), function(i) sum(few$latent[1:2, i] %in% selected[, i]), 0)
  expect_identical(unique(held), 2)
  out <- colSums(selected == rep(few$latent[3, ], each = 5))
  expect_frequency(sum(out), n, 3 / 10)
  # More explorers than free slots take the worst of the others.
  out <- colSums(select_few(few, 12L, 3, 1.5) == rep(few$latent[3, ], each = 3))
  expect_frequency(sum(out), n, 1.5 / 10)
})

test_that("without explorers they are the other candidates', then anybody's, or stay empty", {
  few <- few_candidates(500, 12L, 2L)
  selected <- select_few(few, 12L, 5)
  for (k in 1:3) expect_true(all(colSums(selected == rep(few$latent[k, ], each = 5)) == 1))
  expect_false(any(diff(selected) <= 0))
  open <- select_few(few, 12L, 5, fill = 0L)
  expect_true(all(colSums(open > 0) == 3))
  expect_true(all(open[4:5, ] == 0))
  none <- new_candidates(matrix(0L, 2, 10), matrix(0, 2, 10))
  expect_true(all(select_few(none, 12L, 3, 0.3, fill = 0L) == 0))
  expect_true(all(select_few(none, 12L, 3, 0.3) > 0))
  expect_identical(select_few(none, 3L, 3)[, 1], 1:3)
})

test_that("what is no number and no latent is refused", {
  few <- few_candidates(20, 12L, 2L)
  few$affinity[2, 7] <- NaN
  expect_error(select_few(few, 12L, 2), "data point 7", class = "gps_error_numeric")
  few$affinity[2, 7] <- 1
  few$latent[1, 3] <- 13L
  expect_error(select_few(few, 12L, 2), "latent 13 of 12", class = "gps_error_model")
})

test_that("some points, some latents and none of some are those of the affinities of all", {
  few <- few_candidates(50, 30L, 6L)
  dense <- rank_answer(few, 30L)
  expect_identical(rank_answer(cut_answer(few, 5:9), 30L), dense[, 5:9])
  left <- setdiff(1:30, c(4L, 17L))
  expect_identical(rank_answer(keep_latents(few, left, 30L), 28L), dense[left, ])
  expect_identical(rank_answer(bar_latents(few, c(4L, 17L)), 30L),
                   replace(dense, cbind(rep(c(4, 17), 50), rep(1:50, each = 2)), 0))
})

# A mixture of 40 clusters, its true parameters and the points' clusters.
candidate_case <- function(n = 300) {
  set.seed(5)
  mu <- matrix(rnorm(80, sd = 8), 2)
  cluster <- sample.int(40L, n, replace = TRUE)
  y <- mu[, cluster] + rnorm(2 * n)
  model <- gps_bind(model_gaussian_mixture(40, "spherical"), t(y))
  list(y = y, model = model, cluster = cluster,
       params = list(mu = mu, sigma = rep(1, 40), pi = rep(1 / 40, 40)))
}

screen_few <- function(case, affinity, kept = NULL, beside = NULL, neighbours = 0, ...) {
  task <- list(y = case$y, model = case$model, n_selected = 3L, n_threads = 2L)
  state <- new_state(case$params, 0L, 0)
  state[c("selected", "beside")] <- list(kept, beside)
  state[names(list(...))] <- list(...)
  block <- new_block(0, ncol(case$y))
  screen_block(task, state, block, block_inputs(case$model, case$params, case$y, block), affinity,
               resolve_screen(gps_screen(propose = 5, neighbours = neighbours), case$model, 3L),
               list(seed = c(1L, 2L), start = 0L, iteration = 1L))
}

test_that("screening takes proposals from candidates as from all affinities", {
  case <- candidate_case()
  few <- few_candidates(300, 40L, 6L)
  expect_identical(screen_few(case, few), screen_few(case, rank_answer(few, 40L)))
  kept <- select_few(few, 40L, 3)
  expect_identical(screen_few(case, few, kept), screen_few(case, rank_answer(few, 40L), kept))
  # What nobody has voted for is not asked for.
  short <- few_candidates(300, 40L, 2L)
  expect_lte(attr(screen_few(case, short), "n_gains"), 300 * 3)
})

# As screen_learn_beside() does it, one point after the other.
slow_beside <- function(last, ranked, n_latents, n_kept) {
  weight <- matrix(0, n_latents, n_latents)
  for (h in if (!is.null(last)) seq_len(n_latents)) {
    held <- last$latent[, h] > 0
    weight[last$latent[held, h], h] <- last$affinity[held, h] / 2
  }
  for (n in which(ranked[1, ] > 0)) {
    for (r in seq_len(nrow(ranked))[-1]) {
      at <- cbind(ranked[r, n], ranked[1, n])
      if (at[1] > 0) weight[at] <- weight[at] + 1 / r
    }
  }
  order <- apply(weight, 2, function(w) order(-w)[seq_len(n_kept)])
  value <- array(weight[cbind(c(order), c(col(order)))], dim(order))
  new_candidates(order * (value > 0), value)
}

test_that("latents beside latents are counted by rank, and forgotten by halves", {
  set.seed(9)
  ranked <- replicate(200, c(sample.int(15L, 5L)))
  ranked[4:5, 3:9] <- 0L
  ranked[, 20] <- 0L
  learn <- function(last, ranked) .Call(C_beside, last, ranked, 15L, 4L, 0.5)
  one <- learn(NULL, ranked)
  wanted <- slow_beside(NULL, ranked, 15, 4)
  expect_equal(one$latent, wanted$latent)
  expect_equal(one$affinity, wanted$affinity, tolerance = 1e-14)
  again <- learn(one, ranked[, 50:120])
  wanted <- slow_beside(one, ranked[, 50:120], 15, 4)
  expect_equal(again$latent, wanted$latent)
  expect_equal(again$affinity, wanted$affinity, tolerance = 1e-14)
})

test_that("screening tells which candidates are best, and tries what stands beside them", {
  case <- candidate_case()
  few <- few_candidates(300, 40L, 6L)
  found <- screen_few(case, few, neighbours = 2)
  ranked <- attr(found, "ranked")
  expect_identical(dim(ranked), c(5L, 300L))
  log_joint <- vapply(1:40, function(c) -colSums((case$y - case$params$mu[, c])^2), numeric(300))
  at <- cbind(rep(1:300, each = 5), c(ranked))
  expect_true(all(diff(array(log_joint[at], c(5, 300))) <= 0))
  # Beside the latent that was most probable stands the right one, which nobody else proposes.
  wrong <- case$cluster %% 40L + 1L
  kept <- rbind(wrong, 0L, 0L)
  beside <- new_candidates(matrix(c(40L, 1:39), 1), matrix(1, 1, 40))
  none <- new_candidates(matrix(0L, 1, 300), matrix(0, 1, 300))
  has_right <- function(selected) mean(colSums(selected == rep(case$cluster, each = 3)) > 0)
  expect_lt(has_right(screen_few(case, none, kept, prob_on = (kept > 0) * 1)), 0.2)
  with <- screen_few(case, none, kept, beside, 1, prob_on = (kept > 0) * 1)
  expect_identical(has_right(with), 1)
})

test_that("neighbours are for latents without places", {
  expect_error(gps_screen(neighbours = -1), "neighbours", class = "gps_error_argument")
  placed <- gps_bind(model_occlusive(2, c(3, 3), image = c(3, 3)), matrix(0, 4, 9))
  expect_error(check_screened(gps_screen(neighbours = 2), placed), "have places",
               class = "gps_error_argument")
})

test_that("a fit by neighbours is the same in any blocks and with any number of threads", {
  set.seed(4)
  mu <- matrix(rnorm(3 * 30, sd = 6), 3)
  y <- t(mu[, sample.int(30, 1500, replace = TRUE)] + rnorm(4500))
  fit <- function(n_threads) {
    set.seed(6)
    gps_fit(y, model_gaussian_mixture(30, "spherical"), selector_gp(method = "neighbours"),
            n_selected = 4,
            control = gps_control(max_iter = 8, n_starts = 1, n_threads = n_threads,
                                  progress = FALSE))
  }
  one <- fit(1)
  expect_identical(fit(2)$params, one$params)
  expect_printed(one, "20 nearest neighbours")
  expect_identical(predict(one, y[1:9, ], "class"), predict(one, y, "class")[1:9])
  expect_identical(dim(gps_affinity(selector_gp(method = "neighbours"), one, y)), c(1500L, 30L))
  full <- gps_fit(y, model_gaussian_mixture(30, "spherical"), selector_full(),
                  start = one, control = gps_control(max_iter = 3, progress = FALSE))
  expect_lt((full$bound - one$bound) / 1500, 0.1)
})

test_that("points rest where their neighbours rank, and are asked nothing then", {
  set.seed(4)
  mu <- matrix(rnorm(3 * 30, sd = 6), 3)
  y <- mu[, sample.int(30, 300, replace = TRUE)] + rnorm(900)
  task <- new_task(y, model_gaussian_mixture(30, "spherical"),
                   selector_gp(method = "neighbours", rank = 7), 4, NULL,
                   gps_control(n_starts = 1, n_threads = 1, progress = FALSE))
  state <- infer(task, begin_state(task, 1))
  state$selected[, 1:3] <- c(1:3, 0L)
  block <- new_block(0, 300)
  expect_null(resting_points(task, state, block))
  state$may_rest <- TRUE
  state <- c(state[names(state) != "memory"], list(memory = learn(task, state)$memory))
  rests <- resting_points(task, state, block)
  expect_identical(rests, (0:299 + state$iteration) %% 3 != 0 & state$selected[4, ] > 0)
  expect_false(any(rests[1:3]))
  block$resting <- rests
  few <- block_affinity(task$selector, task, state, block)
  expect_identical(colSums(few$latent > 0) > 0, !rests)
  all <- block_affinity(task$selector, task, state, new_block(0, 300))
  expect_identical(few$latent[, !rests], all$latent[, !rests])
  expect_identical(nrow(all$latent), max(4L, resolve_screen(task$selector$screen, task$model,
                                                            4L)$propose))
  kept <- select_latents(task, state, new_block(0, 300),
                         block_inputs(task$model, state$params, y, block))
  expect_identical(kept[, rests], state$selected[, rests])
  # Whole lists hold the best of them at the top.
  task["n_selected"] <- list(NULL)
  whole <- block_affinity(task$selector, task, state, new_block(0, 300))
  for (n in c(5, 200)) {
    best <- sort(whole$affinity[, n], decreasing = TRUE)[seq_len(nrow(all$affinity))]
    expect_identical(sort(all$affinity[, n], decreasing = TRUE), best)
  }
})
