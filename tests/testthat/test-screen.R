# Screening: defaults, groups of latents on a grid, and what the model is asked for.

# A bound model whose 12 latents are called the locations of two components on a grid of 2 x 3.
on_grid <- function() {
  model <- gps_bind(model_binary_sparse(12), matrix(0, 2, 5))
  model$grid <- c(2L, 3L)
  model
}

grid_case <- function(n = 80) {
  set.seed(21)
  model <- on_grid()
  params <- list(W = matrix(rnorm(60), 5), pi = 0.3, sigma2 = 0.7)
  list(model = model, params = params, y = matrix(rnorm(5 * n, sd = 2), 5))
}

# Selections of a block, slots x n, with the attribute n_gains.
screen_points <- function(case, screen, n_selected = 2L, affinity = NULL, kept = NULL,
                          n_threads = 2L, explore = 0, ...) {
  task <- list(y = case$y, model = case$model, n_selected = n_selected, n_threads = n_threads,
               selector = list(screen = screen), place_dim = choice_grid(case$model))
  state <- new_state(case$params, 0L, explore)
  state$iteration <- 1L
  state$selected <- kept
  state[names(list(...))] <- list(...)
  block <- new_block(0, ncol(case$y))
  block["resting"] <- list(resting_points(task, state, block))
  inputs <- block_inputs(case$model, case$params, case$y, block)
  stream <- list(seed = c(1L, 2L), start = 0L, iteration = 1L)
  screen_block(task, state, block, inputs, affinity, task_screen(task), stream)
}

plain <- function(selected) matrix(c(selected), nrow(selected))

of_defaults <- c("propose", "explore", "guided", "moves", "pool", "conditional", "random_slot",
                 "sweeps", "inserts")

test_that("defaults depend on the number of slots, and on a grid on the number of latents", {
  few <- list(propose = 8L, explore = c(4L, 1L), guided = c(0L, 0L), moves = 0L, pool = 20L,
              conditional = c(0L, 0L), random_slot = FALSE, sweeps = 2L, inserts = 0L)
  clusters <- gps_bind(model_gaussian_mixture(40), matrix(0, 50, 2))
  expect_identical(resolve_screen(gps_screen(), clusters, 5L)[of_defaults], few)
  # Where gains cost little, many latents are candidates, and none is dropped for its first gain.
  few[c("propose", "pool", "inserts")] <- list(128L, 500L, 2L)
  sparse <- gps_bind(model_binary_sparse(500), matrix(0, 2, 5))
  expect_identical(resolve_screen(gps_screen(), sparse, 5L)[of_defaults], few)
  few$propose <- 24L
  max_model <- gps_bind(model_max_spike_slab(500), matrix(0, 2, 5))
  expect_identical(resolve_screen(gps_screen(), max_model, 5L)[of_defaults], few)
  large <- list(name = "E", n_latents = 18000L, grid = c(30L, 30L))
  screen <- resolve_screen(gps_screen(), large, 5L)
  expect_identical(screen[of_defaults],
                   list(propose = 50L, explore = c(360L, 18L), guided = c(0L, 90L), moves = 4L,
                        pool = 20L, conditional = c(0L, 15L), random_slot = TRUE, sweeps = 0L,
                        inserts = 0L))
  small <- list(name = "E", n_latents = 300L, grid = c(10L, 10L))
  expect_identical(resolve_screen(gps_screen(), small, 5L)$explore, c(6L, 5L))
  asked <- gps_screen(propose = 7, explore = c(1, 0), random_slot = FALSE, moves = 0, pool = 3,
                      conditional = c(2, 1), guided = c(3, 2), sweeps = 7, inserts = 5,
                      neighbours = 3)
  screen <- resolve_screen(asked, large, 5L)
  expect_identical(screen[names(asked)], unclass(asked)[names(asked)])
  expect_identical(resolve_screen(gps_screen(propose = 1e6), small, 5L)$propose, 300L)
  # A million draws from 300 latents would take seconds for each iteration.
  many <- c(1e6, 1e6)
  screen <- resolve_screen(gps_screen(explore = many, guided = many, conditional = many), small, 5L)
  for (kind in c("explore", "guided", "conditional")) {
    expect_identical(screen[[kind]], c(300L, 300L))
  }
})

test_that("a selector's screen comes before its model's", {
  model <- list(defaults = list(screen = gps_screen(propose = 9)))
  plain <- list(defaults = list(screen = NULL))
  find_screen <- function(selector, model) resolve_selector(selector, model)$screen
  own <- gps_screen(propose = 3)
  expect_identical(find_screen(selector_gp(screen = own), model), own)
  expect_null(find_screen(selector_gp(screen = FALSE), model))
  expect_null(find_screen(selector_handcrafted(screen = FALSE), model))
  expect_identical(find_screen(selector_gp(), model)$propose, 9L)
  expect_null(find_screen(selector_gp(), plain))
  for (selector in list(selector_full(), selector_random(), selector_custom(function(p, y) y))) {
    expect_null(find_screen(selector, model))
  }
})

test_that("plain selection takes the best location of each of the best groups", {
  set.seed(2)
  affinity <- matrix(rnorm(18 * 200), 18)
  selected <- select_points(affinity, 2, grid = c(2L, 3L))
  wanted <- apply(affinity, 2, function(a) {
    best <- vapply(0:2, function(group) 6L * group + which.max(a[6 * group + 1:6]), 1L)
    sort(best[order(-a[best])[1:2]])
  })
  expect_identical(selected, wanted)
  # More slots than groups stay empty, and a group that is a single latent is none.
  expect_identical(select_points(affinity, 5, grid = c(2L, 3L))[4:5, ], matrix(0L, 2, 200))
  expect_identical(select_points(affinity, 5, 0.5, grid = c(1L, 1L)),
                   select_points(affinity, 5, 0.5))
  for (grid in list(c(4L, 3L), c(0L, 6L), c(-2L, -3L), c(50000L, 50000L))) {
    expect_gps_error(select_points(affinity, 2, grid = grid), "18 latents are no groups",
                     class = "model")
  }
})

test_that("explorers of plain selection come from other groups", {
  n <- 1e5
  affinity <- matrix(c(6:1, rep(0, 6), rep(-1, 12)), 24, n)
  selected <- select_points(affinity, 2, 0.4, grid = c(2L, 3L))
  groups <- (selected - 1L) %/% 6L
  expect_true(all(selected[1, ] == 1L))
  expect_true(all(groups[1, ] != groups[2, ]))
  expect_frequency(tabulate(selected[2, ], 24)[13:24], n, 0.4 / 12)
})

test_that("screening fills slots with different groups by the gain given those that gained", {
  case <- grid_case()
  joint <- function(y, on) {
    residual <- y - rowSums(case$params$W[, on, drop = FALSE])
    -sum(residual^2) / (2 * case$params$sigma2) + length(on) * stats::qlogis(case$params$pi)
  }
  choose <- function(y) {
    chosen <- given <- integer()
    for (slot in 1:2) {
      left <- setdiff(1:12, c(if (any(chosen <= 6)) 1:6, if (any(chosen > 6)) 7:12))
      gain <- vapply(left, function(h) joint(y, c(given, h)), 1) - joint(y, given)
      chosen <- c(chosen, left[which.max(gain)])
      if (max(gain) > 0) given <- c(given, left[which.max(gain)])
    }
    sort(chosen)
  }
  screen <- gps_screen(keep = FALSE, propose = 12, explore = c(0, 0), pool = 12, sweeps = 0)
  affinity <- matrix(0, 12, ncol(case$y))
  selected <- screen_points(case, screen, affinity = affinity)
  expect_identical(plain(selected), apply(case$y, 2, choose))
  # A pool of one runs out after each slot and is filled again.
  screen$pool <- 1L
  selected <- plain(screen_points(case, screen, affinity = affinity))
  expect_true(all(selected[1, ] <= 6 & selected[2, ] > 6))
})

test_that("the number of gains is counted", {
  case <- grid_case()
  n <- ncol(case$y)
  affinity <- matrix(0, 12, n)
  screen <- gps_screen("singleton", keep = FALSE, propose = 12, explore = c(0, 0))
  expect_identical(attr(screen_points(case, screen, affinity = affinity), "n_gains"), 12 * n)
  screen$propose <- 5L
  expect_identical(attr(screen_points(case, screen, affinity = affinity), "n_gains"), 5 * n)
})

test_that("early and late candidates follow the state", {
  case <- grid_case()
  affinity <- matrix(0, 12, ncol(case$y))
  screen <- gps_screen("singleton", keep = FALSE, propose = 1, explore = c(9, 0))
  count <- function(...) attr(screen_points(case, screen, affinity = affinity, ...), "n_gains")
  late <- as.double(ncol(case$y))
  expect_identical(count(), late)
  expect_gt(count(explore = 0.1), 3 * late)
  expect_gt(count(is_early = TRUE), 3 * late)
  expect_identical(count(explore = 0.1, is_early = FALSE), late)
})

test_that("a random slot comes early only", {
  case <- grid_case(4000)
  kept <- matrix(c(1L, 7L), 2, 4000)
  case$model$grid <- c(1L, 3L)
  screen <- gps_screen(propose = 1, explore = c(0, 0), moves = 0, random_slot = TRUE)
  affinity <- matrix(c(1, rep(0, 11)), 12, 4000)
  share <- function(...) {
    selected <- screen_points(case, screen, affinity = affinity, kept = kept, ...)
    sum(colSums(selected == 1L | selected == 7L) < 2)
  }
  expect_identical(share(explore = 0.2, is_early = FALSE), 0L)
  expect_frequency(share(explore = 0.2, is_early = TRUE), 4000, 0.4)
})

test_that("moves stay in their group, and conditional candidates join those that were kept", {
  case <- grid_case(500)
  kept <- rbind(rep_len(1:6, 500), rep_len(7:11, 500))
  screen <- gps_screen(propose = 1, explore = c(0, 0), moves = 24, pool = 1,
                       conditional = c(0, 12))
  selected <- plain(screen_points(case, screen, kept = kept, affinity = matrix(0, 12, 500)))
  expect_true(all(selected[1, ] <= 6 & selected[2, ] > 6))
  expect_true(any(selected != kept))
  # All latents are candidates; those kept that gain something are in the pool.
  all_in <- gps_screen(propose = 12, explore = c(0, 0), moves = 0, pool = 12)
  best <- plain(screen_points(case, all_in, affinity = matrix(0, 12, 500)))
  few <- gps_screen(propose = 12, explore = c(0, 0), moves = 0, pool = 1, conditional = c(12, 12))
  expect_gt(mean(screen_points(case, few, affinity = matrix(0, 12, 500), kept = best) == best),
            0.95)
})

test_that("candidates are judged by tempered parameters until annealing is over", {
  case <- grid_case()
  class(case$model) <- c("gps_warm", class(case$model))
  registerS3method("temper_params", "gps_warm", function(model, params, temperature) {
    params$sigma2 <- max(params$sigma2, temperature^2)
    params
  }, asNamespace("gpselect"))
  affinity <- matrix(0, 12, ncol(case$y))
  screen <- gps_screen(keep = FALSE, propose = 12, explore = c(0, 0), temperature = 3)
  tempered <- screen_points(case, screen, affinity = affinity, is_early = TRUE)
  exact <- screen_points(case, screen, affinity = affinity, is_early = FALSE)
  screen["temperature"] <- list(NULL)
  expect_identical(screen_points(case, screen, affinity = affinity, is_early = FALSE), exact)
  case$params$sigma2 <- 9
  expect_identical(screen_points(case, screen, affinity = affinity, is_early = TRUE), tempered)
  expect_false(identical(tempered, exact))
})

test_that("the number of threads changes nothing in a screened fit", {
  set.seed(3)
  bars <- simulate_bars(2000, value = 5)
  screens <- list(gps_screen(propose = 4, pool = 3, conditional = c(1, 2), random_slot = TRUE),
                  gps_screen("singleton", propose = 4))
  for (screen in screens) {
    fit_with <- function(n_threads) {
      set.seed(4)
      gps_fit(bars$y, model_binary_sparse(10), selector_gp(kernel_linear(), screen = screen), 4,
              control = short_control(max_iter = 6, n_threads = n_threads))
    }
    one <- fit_with(1)
    two <- fit_with(2)
    expect_identical(one$params, two$params)
    expect_identical(one$selected, two$selected)
  }
})

test_that("all of a screen's settings reach the core, which refuses what they cannot be", {
  case <- grid_case(4)
  wrong <- list(moves = 25L, pool = 0L, conditional = c(-1L, -1L))
  for (name in names(wrong)) {
    screen <- gps_screen()
    screen[[name]] <- wrong[[name]]
    expect_gps_error(screen_points(case, screen, affinity = matrix(0, 12, 4)),
                     "A screen may make 0 to 24 moves")
  }
})

test_that("points may rest where all latents were candidates, and each has its turn", {
  case <- grid_case()
  case$model$grid <- NULL
  kept <- matrix(1:2, 2, ncol(case$y))
  screen_by <- function(may_rest, ...) {
    plain(screen_points(case, gps_screen(inserts = 0, ...), affinity = matrix(0, 12, ncol(case$y)),
                        kept = kept, may_rest = may_rest))
  }
  new <- screen_by(FALSE)
  at_rest <- screen_by(TRUE)
  has_turn <- colSums(at_rest != kept) > 0
  expect_gt(sum(has_turn), 20)
  turn <- unique(which(has_turn) %% rest_period)
  expect_length(turn, 1)
  is_due <- seq_len(ncol(kept)) %% rest_period == turn
  expect_identical(at_rest[, is_due], new[, is_due])
  expect_identical(at_rest[, !is_due], kept[, !is_due])
  # Where candidates are drawn, or nothing is taken back, each iteration has others.
  for (other in list(list(propose = 5), list(sweeps = 0))) {
    expect_identical(do.call(screen_by, c(TRUE, other)), do.call(screen_by, c(FALSE, other)))
  }
  # Of locations there are never all: images take turns whatever they are offered.
  case <- grid_case()
  new <- screen_by(FALSE, propose = 2)
  at_rest <- screen_by(TRUE, propose = 2)
  expect_gt(sum(colSums(new != kept) > 0), 20)
  expect_identical(at_rest[, is_due], new[, is_due])
  expect_identical(at_rest[, !is_due], kept[, !is_due])
})

test_that("nothing rests while the bound moves, or after a move", {
  task <- list(y = matrix(0, 2, 10), has_images = FALSE)
  expect_true(has_slowed(task, list(bounds = c(-90, -5, -4.5))))
  for (bounds in list(-5, c(-Inf, -5), c(-5, -3), c(-3, -5), numeric())) {
    expect_false(has_slowed(task, list(bounds = bounds)))
  }
  # Of images nats a number count.
  task$has_images <- TRUE
  expect_true(has_slowed(task, list(bounds = c(-5, -4.993))))
  expect_false(has_slowed(task, list(bounds = c(-5, -4.991))))
  state <- list(selected = matrix(1:2, 2, 3), prob_on = matrix(0.5, 2, 3))
  expect_false(take_mended(state, list(params = 1))$is_moved)
  expect_true(take_mended(state, list(params = 1, relabel = 2:1))$is_moved)
})

# Bars of `width` pixels on a side of `side`: they share pixels with their neighbours.
wide_bars <- function(n, model, side = 6, width = 2) {
  grid <- expand.grid(row = seq_len(side), column = seq_len(side))
  covers <- function(at) {
    sapply(seq_len(side), function(k) at %in% ((k - 2 + seq_len(width)) %% side + 1))
  }
  w <- 10 * cbind(covers(grid$row), covers(grid$column))
  on <- matrix(as.numeric(stats::runif(n * 2 * side) < 1 / side), n)
  value <- if (model == "binary_sparse") on else on * (1 + 0.5 * stats::rnorm(length(on)))
  list(y = value %*% t(w) + sqrt(2) * matrix(stats::rnorm(n * side^2), n), W = w, latents = on)
}

test_that("wide bars are explained from the truth as well as exact sums do", {
  for (model in c("binary_sparse", "spike_slab")) {
    set.seed(8)
    bars <- wide_bars(300, model)
    bars$y <- bars$y[rowSums(bars$latents) <= 5, ]
    is_binary <- model == "binary_sparse"
    built <- if (is_binary) model_binary_sparse(12) else model_spike_slab(12)
    params <- list(W = bars$W, pi = 1 / 6, sigma2 = 2)
    if (!is_binary) params[c("mu", "psi")] <- list(rep(1, 12), rep(0.25, 12))
    task <- new_task(t(bars$y), built, selector_handcrafted(), 6L, NULL, short_control())
    state <- new_state(check_all_params(task$model, params[names(task$model$params)], "start"),
                       0L, 0)
    bounds <- numeric()
    for (iteration in 1:6) {
      state <- infer(task, state)
      bounds[iteration] <- state$bound
    }
    exact <- sum(gps_estep(task$model, state$params, bars$y,
                           matrix(1:12, nrow(bars$y), 12, byrow = TRUE))$log_evidence)
    expect_gt(bounds[6] / nrow(bars$y), exact / nrow(bars$y) - 0.1)
  }
})

test_that("it does not matter how many rows there are, nor who ranks, where all are candidates", {
  skip_unless_full()
  for (seed in 2:3) {
    set.seed(seed)
    bars <- wide_bars(2001, "binary_sparse")
    fits <- lapply(2000:2001, function(n) {
      set.seed(1)
      gps_fit(bars$y[seq_len(n), ], model_binary_sparse(12),
              control = short_control(max_iter = 200))
    })
    noise <- vapply(fits, function(fit) coef(fit)$sigma2, 1)
    bound <- vapply(fits, function(fit) fit$bound / fit$n_points, 1)
    expect_lt(max(abs(noise - 2)), 0.3)
    expect_lt(abs(diff(bound)), 0.5)
  }
})
