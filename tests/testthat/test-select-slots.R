# From affinities to selected latents: the best, ties, explorers, and screening's refusals.

test_that("the best latents are selected, in ascending order", {
  set.seed(1)
  affinity <- matrix(rnorm(9 * 500), 9)
  for (n_selected in 1:9) {
    wanted <- apply(affinity, 2, function(a) sort(order(-a)[seq_len(n_selected)]))
    expect_identical(c(select_points(affinity, n_selected)), c(wanted))
  }
  affinity[, 1] <- c(-Inf, Inf, 1, 2, 3, 4, 5, 6, 7)
  expect_identical(select_points(affinity, 2)[, 1], c(2L, 9L))
})

test_that("ties are broken without favour, and anew in each iteration", {
  n <- 1e5
  affinity <- matrix(0, 8, n)
  selected <- select_points(affinity, 3)
  expect_frequency(tabulate(selected, 8), n, 3 / 8)
  pairs <- sum(colSums(selected == 2 | selected == 7) == 2)
  expect_frequency(pairs, n, 3 * 2 / (8 * 7))
  other <- select_points(affinity, 3, iteration = 2L)
  same <- colSums(selected == other) == 3
  expect_frequency(sum(same), n, 1 / choose(8, 3))
  other <- select_points(affinity, 3, start = 1L)
  expect_frequency(sum(colSums(selected == other) == 3), n, 1 / choose(8, 3))
  # Two tied for the last slot, one above and one below them.
  affinity <- matrix(c(2, 1, 1, 0), 4, n)
  selected <- select_points(affinity, 2)
  expect_identical(unique(selected[1, ]), 1L)
  expect_frequency(tabulate(selected[2, ], 4)[2:3], n, 0.5)
  expect_identical(tabulate(selected[2, ], 4)[4], 0L)
})

test_that("explorers take a tenth of the slots: the worst leave, all others may come", {
  n <- 1e5
  for (n_selected in c(2, 5)) {
    share <- 0.1 * n_selected
    n_latents <- 9
    affinity <- matrix(as.double(n_latents:1), n_latents, n)
    selected <- select_points(affinity, n_selected, share)
    count <- tabulate(selected, n_latents)
    expect_identical(count[seq_len(n_selected - 1)], rep(as.integer(n), n_selected - 1))
    expect_frequency(n - count[n_selected], n, share)
    outsiders <- count[(n_selected + 1):n_latents]
    expect_true(all(outsiders > 0))
    expect_frequency(outsiders, n, share / (n_latents - n_selected))
    expect_false(any(diff(selected) <= 0))
  }
  # More than one slot: floor(share) always, one more with the probability of the rest.
  selected <- select_points(matrix(as.double(12:1), 12, n), 6, 1.3)
  count <- tabulate(selected, 12)
  expect_identical(count[1:4], rep(as.integer(n), 4))
  expect_identical(count[6], 0L)
  expect_frequency(n - count[5], n, 0.3)
  expect_frequency(count[7:12], n, 1.3 / 6)
})

test_that("draws belong to the global row and not to block or thread", {
  # Enough points for four threads.
  affinity <- matrix(0, 8, 4 * thread_work %/% (8 + 3 * 64) + 1)
  whole <- select_points(affinity, 3, 0.5, n_threads = 1L)
  expect_identical(select_points(affinity, 3, 0.5, n_threads = 4L), whole)
  part <- select_points(affinity[, 1:300], 3, 0.5, first_row = 600)
  expect_identical(part, whole[, 601:900])
  expect_false(identical(select_points(affinity, 3, 0.5, seed = c(11L, 23L)), whole))
})

test_that("a NaN among the affinities is an error that names the point", {
  affinity <- matrix(0, 4, 1500)
  affinity[2, 1234] <- NaN
  affinity[3, 701] <- NA
  expect_gps_error(select_points(affinity, 2), "at data point 701", class = "numeric")
  expect_gps_error(select_points(affinity, 2, first_row = 512), "at data point 1213",
                   class = "numeric")
})

# Trace and selections of a short fit that notes the explorers of each iteration.
explorers_of <- function(n_selected, model = model_binary_sparse(4), ...) {
  set.seed(1)
  y <- matrix(rnorm(200), 50)
  fit <- gps_fit(y, model, selector_gp(...), n_selected, control = short_control(max_iter = 10))
  fit$trace$explore
}

test_that("there are explorers only where the selector learns and latents are left out", {
  expect_identical(explorers_of(4), numeric(10))
  expect_identical(explorers_of(1), numeric(10))
  expect_identical(explorers_of(2), rep(c(0.1, 0), c(8, 2)))
  expect_identical(explorers_of(2, explore = 0), numeric(10))
  set.seed(1)
  y <- matrix(rnorm(200), 50)
  for (selector in list(selector_handcrafted(), selector_random())) {
    fit <- gps_fit(y, model_binary_sparse(4), selector, 2, control = short_control(max_iter = 3))
    expect_identical(fit$trace$explore, numeric(3))
  }
})

test_that("random selection is uniform and new in each iteration", {
  set.seed(1)
  y <- matrix(rnorm(4000), 2000)
  fit_of <- function(max_iter) {
    set.seed(2)
    gps_fit(y, model_binary_sparse(6), selector_random(), 2,
            control = short_control(max_iter = max_iter, polish = FALSE))
  }
  one <- fit_of(1)$selected
  two <- fit_of(2)$selected
  expect_frequency(tabulate(one, 6), 2000, 1 / 3)
  expect_frequency(sum(colSums(one == two) == 2), 2000, 1 / choose(6, 2))
})

test_that("screening draws its candidates uniformly and refuses NaN by its point", {
  row <- MODELS[[1]]
  case <- draw_case(row, 1200)
  y <- t(case$y)
  task <- list(y = y, model = case$model, n_selected = 1L, n_threads = 2L, seed = c(3L, 4L),
               selector = selector_handcrafted())
  state <- new_state(case$params, 0L, 0)
  state$iteration <- 1L
  block <- new_block(0, 1200)
  inputs <- block_inputs(case$model, case$params, y, block)
  one_draw <- gps_screen(keep = FALSE, explore = c(1, 1))
  task$selector$screen <- one_draw
  stream <- list(seed = task$seed, start = 0L, iteration = 1L)
  # One proposal that everybody has, and one draw: the draw wins where it is the better one.
  affinity <- matrix(c(1, 0, 0, 0, 0), 5, 1200)
  task$selector$screen$propose <- 1L
  selected <- screen_block(task, state, block, inputs, affinity, task_screen(task), stream)
  single <- vapply(1:5, function(h) {
    step <- gps_estep(case$model, case$params, case$y, matrix(h, 1200, 1), want = "prob")
    log(step$prob[, 2]) + step$log_evidence
  }, numeric(1200))
  wins <- colSums(single > single[, 1])
  counts <- tabulate(selected, 5)
  for (h in 2:5) expect_frequency(counts[h], wins[h], 1 / 5)
  affinity[2, c(400, 900)] <- NaN
  task$selector$screen <- one_draw
  expect_gps_error(screen_block(task, state, block, inputs, affinity, task_screen(task), stream),
                   "data point 400", class = "numeric")
})

test_that("screening survives more proposals than there are latents", {
  set.seed(1)
  y <- matrix(rnorm(200), 50)
  fit_with <- function(propose) {
    set.seed(1)
    gps_fit(y, model_binary_sparse(4), selector_handcrafted(gps_screen(propose = propose)), 2,
            control = short_control(max_iter = 5))
  }
  expect_identical(fit_with(2^31 - 1)$params, fit_with(4)$params)
})

test_that("a screened fit uses its explorers early and late", {
  set.seed(1)
  bars <- simulate_bars(300, value = 5)
  screen <- gps_screen(explore = c(4, 1), random_slot = TRUE)
  fit <- gps_fit(bars$y, model_binary_sparse(10), selector_gp(kernel_linear(), screen = screen), 5,
                 control = short_control(max_iter = 20))
  expect_true(all(is.finite(unlist(fit$params))))
  expect_true(all(fit$selected >= 0 & fit$selected <= 10))
})

test_that("bad arguments of gps_screen() are refused by name", {
  expect_gps_error(gps_screen("gredy"), "Did you mean \"greedy\"?")
  expect_gps_error(gps_screen(keep = NA), "`keep` must be TRUE or FALSE")
  expect_gps_error(gps_screen(propose = 0), "`propose` must be a whole number")
  expect_gps_error(gps_screen(explore = 3), "`explore` must be two whole numbers")
  expect_gps_error(gps_screen(explore = c(2, 3e9)), "`explore` must be a whole number between 0")
  expect_gps_error(gps_screen(explore = c(-1, 1)), "`explore`")
  expect_gps_error(gps_screen(random_slot = 1), "`random_slot` must be TRUE or FALSE")
  expect_gps_error(gps_screen(moves = TRUE), "`moves` must be a whole number between 0 and 24")
  expect_gps_error(gps_screen(moves = 25), "`moves` must be a whole number between 0 and 24")
  expect_gps_error(gps_screen(pool = 0), "`pool` must be a whole number of at least 1")
  expect_gps_error(gps_screen(conditional = 30), "`conditional` must be two whole numbers")
  expect_gps_error(gps_screen(conditional = c(0, NA)), "`conditional` must be a whole number")
  expect_gps_error(gps_screen(temperature = -0.1), "`temperature` must be a finite number")
  expect_gps_error(selector_gp(screen = TRUE), "`screen` must be NULL, FALSE or a gps_screen()")
})

test_that("moves need a grid", {
  y <- matrix(rnorm(40), 10)
  expect_gps_error(
    gps_fit(y, model_binary_sparse(4), selector_handcrafted(gps_screen(moves = 2)), 2,
            control = short_control(max_iter = 2)),
    "`moves` must be 0 or NULL for the model \"Binary sparse coding\", not 2"
  )
})

test_that("more explorers than the core draws are refused", {
  y <- matrix(rnorm(5000), 5000)
  expect_gps_error(
    gps_fit(y, model_gaussian_mixture(4999, "spherical"), selector_gp(explore = 1), 4998),
    "more than 4096 explorers"
  )
})

test_that("slots follow latents that get new numbers", {
  state <- list(selected = cbind(c(1L, 2L, 4L), c(2L, 3L, 0L)),
                prob_on = cbind(c(0.1, 0.2, 0.4), c(0.5, 0.6, 0)))
  new <- relabel_slots(state, c(3L, 0L, 2L, 1L))
  expect_identical(new$selected, cbind(c(1L, 3L, 0L), c(2L, 0L, 0L)))
  expect_identical(new$prob_on, cbind(c(0.4, 0.1, 0), c(0.6, 0, 0)))
})
