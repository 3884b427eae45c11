# Where minibatches begin: with statistics and sums of all points at the first parameters, and with
# steps as small as few points ask for. A good start stays good, in batches of any size. What the
# first pass over small batches spoils later ones make good, so that few passes show it best.

# list(y, model): what is found in 80 points.
begin_case <- function(name, n = 80) {
  set.seed(438)
  clusters <- function(prob, n_dims, sd) {
    means <- matrix(rnorm(length(prob) * n_dims, sd = sd), length(prob))
    means[sample.int(length(prob), n, TRUE, prob), ] + rnorm(n * n_dims)
  }
  bars <- function(...) simulate_bars(n, ..., size = 3)$y
  switch(name,
    A = list(bars(), model_binary_sparse(6)),
    A_offset = list(bars() + 100, model_binary_sparse(6, intercept = TRUE)),
    B = list(bars("spike_slab"), model_spike_slab(6)),
    B_full = list(bars("spike_slab"), model_spike_slab(6, covariance = "full")),
    B_offset = list(bars("spike_slab") + 100, model_spike_slab(6, intercept = TRUE)),
    B_signed = list(bars("spike_slab", mu = 0), model_spike_slab(6)),
    C = list(bars("max_spike_slab", psi = 0.1), model_max_spike_slab(6)),
    C_offset = list(bars("max_spike_slab", psi = 0.1) + 100,
                    model_max_spike_slab(6, intercept = TRUE)),
    D = list(simulate_clusters(n)$y, model_gaussian_mixture(3)),
    D_spherical = list(simulate_clusters(n)$y, model_gaussian_mixture(3, "spherical")),
    D_diagonal = list(simulate_clusters(n)$y, model_gaussian_mixture(3, "diagonal")),
    D_unequal = list(clusters(c(0.65, 0.25, 0.1), 2, 8), model_gaussian_mixture(3)),
    D_wide = list(clusters(c(0.5, 0.5), 10, 2), model_gaussian_mixture(2)))
}

# Nats a point that a batched fit lies below the fit `whole`, by all states of all points.
nats_lost <- function(case, whole, fit) {
  loglik <- function(fit) {
    sum(predict(quiet_degenerate(gps_fit(case[[1]], case[[2]], selector_full(), start = coef(fit),
                                         control = short_control(max_iter = 0))), type = "loglik"))
  }
  (loglik(whole) - loglik(fit)) / nrow(case[[1]])
}

whole_fit <- function(case, n_starts = 2) {
  gps_fit(case[[1]], case[[2]], selector_full(),
          control = gps_control(n_starts = n_starts, max_iter = 40, progress = FALSE,
                                n_threads = 1))
}

batched_fit <- function(case, size, n_passes, selector = selector_full(), n_selected = NULL,
                        start = NULL, y = case[[1]], n_starts = 2, ...) {
  gps_fit(y, case[[2]], selector, n_selected, start = start,
          control = gps_control(max_iter = n_passes, tol = 0, batch_size = size, progress = FALSE,
                                n_threads = 1, n_starts = n_starts, ...))
}

test_that("small batches keep what a fit begins with, in all models", {
  names <- c("A", "A_offset", "B", "B_full", "B_offset", "B_signed", "C", "C_offset", "D",
             "D_spherical", "D_diagonal", "D_unequal", "D_wide")
  few <- c("A_offset", "B_full", "B_signed", "C", "D_spherical", "D_unequal")
  for (name in if (is_full()) names else few) {
    case <- begin_case(name)
    whole <- whole_fit(case)
    batches <- list(function() batched_fit(case, 3, 1, start = whole),
                    function() batched_fit(case, 7, 2, start = coef(whole)))
    # By turns, both in `make test-full`.
    for (batch in if (is_full()) batches else batches[1 + match(name, few) %% 2]) {
      fit <- expect_no_warning(batch(), class = "gps_warning_small_batch")
      expect_lt(nats_lost(case, whole, fit), 0.1)
    }
  }
})

single_points <- function(names, sizes) {
  for (name in names) {
    case <- begin_case(name)
    whole <- whole_fit(case)
    for (size in sizes) {
      expect_lt(nats_lost(case, whole, batched_fit(case, size, 2, start = whole)), 0.1)
    }
  }
}

test_that("batches of single points do, and those of all points", {
  single_points("B_signed", c(1, 80))
  single_points("D_wide", 1)
})

test_that("batches of other sizes and from scratch do", {
  skip_unless_full()
  single_points(c("A", "B", "B_full", "C", "D", "D_diagonal", "D_unequal"), c(1, 3, 50))
  for (name in c("A", "B", "B_full", "C", "D", "D_wide")) {
    case <- begin_case(name)
    # As many starts as find the same maximum, of which there are several half a nat apart.
    expect_lt(nats_lost(case, whole_fit(case, 8), batched_fit(case, 7, 8, n_starts = 8)), 0.2)
  }
})

# A random selection keeps less, whether in batches or not.
test_that("components with locations keep their masks in small batches", {
  whole <- scene_fit()
  y <- scene_data()$y
  loglik <- function(fit) mean(predict(fit, y, "loglik"))
  for (batch_size in c(7, 20)) {
    set.seed(1)
    control <- gps_control(max_iter = if (is_full()) 8 else 2, tol = 0, batch_size = batch_size,
                           progress = FALSE)
    fit <- suppressWarnings(update(whole, start = whole, control = control),
                            classes = "gps_warning")
    expect_lt(loglik(whole) - loglik(fit), 0.05)
  }
})

test_that("every selector keeps what all points keep, from rows of a source in order, too", {
  case <- begin_case("B")
  whole <- whole_fit(case)
  ordered <- case[[1]][order(case[[1]][, 1]), ]
  source <- gps_source(nrow(ordered), ncol(ordered),
                       function(from, to) ordered[from:to, , drop = FALSE])
  selectors <- list(selector_random(), selector_gp(method = "ichol"), selector_handcrafted(),
                    selector_gp(method = "inducing", rank = 20),
                    selector_gp(method = "fourier", rank = 20))
  for (selector in if (is_full()) selectors else selectors[1:2]) {
    is_random <- inherits(selector, "gps_selector_random")
    n_passes <- if (is_random) 8 else 3
    kept <- batched_fit(case, NULL, n_passes, selector, 4, start = coef(whole))
    # Rows in order are the harder ones.
    for (y in list(case[[1]], source)[is_full() | c(is_random, !is_random)]) {
      fit <- batched_fit(case, 7, n_passes, selector, 4, start = coef(whole), y = y)
      noise <- if (is_random) 1 else 0.1
      expect_lt(nats_lost(case, kept, fit), noise)
    }
  }
})

test_that("a learned ranking begins with sums of all points, and again with each basis", {
  case <- begin_case("A")
  task <- new_task(t(case[[1]]), case[[2]], selector_gp(method = "ichol", rank = 40), 4, NULL,
                   short_control(n_threads = 1, batch_size = 5), seed = c(3L, 5L))
  state <- begin_running(task, begin_batches(task, begin_state(task, 1)))
  for (iteration in 0:1) {
    expect_gt(nrow(state$memory$sums$gram), 10)
    expect_identical(state$memory$sums$n_points, 80)
    expect_true(all(vapply(state$batches, `[[`, 1, "own") == 1))
    joined <- join_batches(state$batches)
    expect_identical(joined$rows, 1:80)
    targets <- slot_targets(joined, task$model)
    sums <- survey(batch_task(task, joined), state$memory, targets)$sums
    expect_near(state$memory$sums$cross, sums$cross, 1e-10)
    state <- begin_regression(task, state, may_refit = TRUE)
  }
  expect_length(state$memory$refits, 1)
})

test_that("batches to begin from hold enough points and are spread over all", {
  task <- list(batches = split(1:1000, rep(1:50, each = 20)))
  expect_identical(spread_batches(task, 1:50, 1000), 1:50)
  expect_equal(spread_batches(task, 1:50, 100), c(1, 13, 26, 38, 50), tolerance = 0.05)
  expect_length(spread_batches(task, 1:50, 20, 10), 10)
  expect_identical(spread_batches(task, c(3L, 9L), 1000), c(3L, 9L))
})

test_that("running statistics follow the units of latents", {
  for (name in c("B_signed", "C")) {
    case <- begin_case(name, 60)
    model <- bind_model(case[[2]], case[[1]])
    params <- gps_init(model, case[[1]])
    rescale <- if (name == "C") c(2, 1, 0.5, 1, 3, 1) else c(-2, 1, 0.5, -1, 3, 1)
    turned <- params
    turned$W <- turned$W / rep(rescale, each = nrow(turned$W))
    turned$mu <- turned$mu * rescale
    turned$psi <- turned$psi * rescale^2
    stats <- lapply(list(params, turned), function(params) {
      gps_estep(model, params, case[[1]], matrix(rep(1:6, 10), 60))$stats
    })
    expect_near(unlist(rescale_stats(model, stats[[1]], rescale)), unlist(stats[[2]]), 1e-8)
  }
})

test_that("sampled values of other batches follow the units of latents", {
  batch <- list(selected = matrix(c(1L, 2L, 2L, 0L), 2), value = matrix(c(1, 2, 3, 0), 2),
                gauge = c(1, 2))
  expect_identical(in_gauge(batch, c(-1, 1))$value, matrix(c(-1, 1, 1.5, 0), 2))
  expect_identical(in_gauge(batch, NULL), batch)
})

test_that("first steps are as small as the points of a batch ask for", {
  model <- bind_model(model_gaussian_mixture(3), simulate_clusters(50)$y)
  needed <- 4 * count_free(model) / 2
  expect_identical(first_rate(model, rep(100, 10)), 1)
  expect_near(first_rate(model, rep(5, 100)), 5 / needed, 1e-12)
  expect_near(step_size(0.7, 1, 5 / needed), 5 / needed, 1e-12)
  expect_identical(step_size(0.7, 3), 4^-0.7)
  case <- begin_case("D", 60)
  bold <- function(size, step) batched_fit(case, size, 1, n_starts = 1, step = step)
  expect_warning(bold(2, function(n) (n + 1)^-0.7), class = "gps_warning_small_batch")
  expect_no_warning(bold(2, function(n) (n + 60)^-0.7))
  expect_no_warning(bold(60, function(n) 1))
  expect_no_warning(bold(2, NULL))
})
