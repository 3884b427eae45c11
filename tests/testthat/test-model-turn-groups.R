# Values of which none has a mean: any rotation of components that overlap looks alike to second
# moments.

halves <- rbind(c(1, 1, 1, 1), c(1, -1, 1, -1), c(1, 1, -1, -1), c(1, -1, -1, 1)) / 2

sparse_values <- function(k, n, prob = 1 / 4, seed = 41) {
  set.seed(seed)
  matrix((runif(k * n) < prob) * rnorm(k * n), k)
}

# Largest cosine of each column of `w` with one of `truth`.
nearest_cosine <- function(w, truth) {
  unit <- function(x) x / rep(sqrt(colSums(x^2)), each = nrow(x))
  apply(abs(crossprod(unit(w), unit(truth))), 1, max)
}

test_that("independent values are found in orthogonal mixtures that no pair leaves", {
  set.seed(5)
  wide <- qr.Q(qr(matrix(rnorm(81), 9)))
  for (mixing in list(halves, diag(4)[c(2, 1, 4, 3), ], wide)) {
    k <- nrow(mixing)
    x <- sparse_values(k, 2000)
    x <- x / sqrt(rowMeans(x^2))
    turn <- independent_turn(mixing %*% x)
    expect_equal(tcrossprod(turn), diag(k))
    expect_gt(min(apply(abs(turn %*% mixing), 1, max)), 0.99)
  }
  # Excesses below that of a normal distribution count as well.
  flat <- matrix(sample(c(-1, 1), 8000, TRUE), 4)
  expect_gt(min(apply(abs(independent_turn(halves %*% flat) %*% halves), 1, max)), 0.99)
  # Values that are as independent as can be are not touched.
  expect_identical(independent_turn(rbind(c(1, 1, -1, -1), c(1, -1, 1, -1))), diag(2))
})

test_that("groups are linked by being on together", {
  on <- matrix(FALSE, 7, 400)
  set.seed(6)
  on[] <- runif(2800) < 0.2
  on[c(2, 4, 5, 7), 1:60] <- TRUE
  groups <- linked_groups(on)
  expect_true(list(c(2L, 4L, 5L, 7L)) %in% groups)
  expect_true(all(unlist(groups) %in% c(2, 4, 5, 7)))
  # Latents that are always off, always on, or two at most.
  expect_identical(linked_groups(on & FALSE), list())
  expect_identical(linked_groups(on[c(2, 4), ]), list())
  on[4, ] <- TRUE
  expect_identical(linked_groups(on), list(c(2L, 5L, 7L)))
})

# Values of four mixtures, all of which are on where one of the causes is.
turned_bars <- function(n = 2000, shared = TRUE) {
  value <- sparse_values(4, n)
  true_w <- 10 * cbind(diag(4), c(1, 1, 0, 0))[, c(5, 2:4)]
  is_on <- colSums(value != 0) > 0
  noise <- 0.02 * rnorm(4 * n) * rep(is_on, each = 4)
  list(value = halves %*% value + noise, true_w = true_w,
       params = list(W = true_w %*% t(halves), pi = if (shared) 0.3 else rep(0.3, 4),
                     mu = rep(0, 4), psi = rep(1, 4), sigma2 = 0.04))
}

test_that("a group of mixtures is turned back onto its causes", {
  for (shared in c(TRUE, FALSE)) {
    problem <- turned_bars(shared = shared)
    # Turns of pairs come after it.
    expect_identical(turning_moves(problem$params, problem$value)[[1]]$latents, 1:4)
    turn <- turn_group(problem$params, problem$value, 1:4)
    expect_gt(min(nearest_cosine(turn$w, problem$true_w)), 0.998)
    params <- turned_params(problem$params, turn)
    expect_identical(params$W, turn$w)
    expect_true(all(params$mu >= 0 & params$mu < 0.2))
    expect_equal(params$psi, 1 - params$mu^2)
    # What leaks from the others' values makes some small ones of those that are on.
    expect_equal(sort(colSums(params$W^2)), c(100, 100, 100, 200), tolerance = 0.2)
    if (!shared) expect_equal(params$pi, rep(1 / 4, 4), tolerance = 0.1)
  }
})

test_that("a group that is as it should be, or has no full rank, is left alone", {
  problem <- turned_bars()
  truth <- t(halves) %*% problem$value
  truth[abs(truth) < 0.1] <- 0
  params <- problem$params
  params$W <- problem$true_w
  expect_null(turn_group(params, truth, 1:4))
  problem$value[3, ] <- 2 * problem$value[1, ]
  expect_null(turn_group(problem$params, problem$value, 1:4))
  expect_identical(turning_moves(params, truth), list())
})

test_that("turns do not depend on the unit of the data", {
  problem <- turned_bars()
  scaled <- problem$params
  scaled$W <- scaled$W * 2^40
  scaled$sigma2 <- scaled$sigma2 * 2^80
  turn <- turn_group(problem$params, problem$value, 1:4)
  again <- turn_group(scaled, problem$value, 1:4)
  expect_identical(again$w, turn$w * 2^40)
  expect_identical(again[c("gain", "mean", "share")], turn[c("gain", "mean", "share")])
})

# Data whose values have no mean, as spike-and-slab draws them.
centred_bars <- function(seed, n, size) {
  set.seed(seed)
  w <- simulate_bars(1, size = size, value = 10)$W
  latents <- matrix(rbinom(2 * size * n, 1, 1 / size), n)
  list(W = w, y = (latents * rnorm(length(latents))) %*% t(w) + sqrt(2) * rnorm(n * size^2),
       truth = list(W = w, mu = rep(0, 2 * size), pi = 1 / size, sigma2 = 2))
}

test_that("a fit leaves a mixture of four bars by one turn, with any selection", {
  bars <- centred_bars(3, 300, 4)
  model <- model_spike_slab(8)
  start <- bars$truth
  start$W[, c(1, 2, 5, 6)] <- start$W[, c(1, 2, 5, 6)] %*% halves
  best <- gps_fit(bars$y, model, selector_handcrafted(), start = bars$truth)$bound
  for (selector in list(selector_gp(kernel_linear()), selector_handcrafted(), selector_full())) {
    set.seed(1)
    fit <- gps_fit(bars$y, model, selector, start = start,
                   control = gps_control(max_iter = 60, progress = FALSE))
    expect_true("turned 1" %in% fit$trace$events)
    expect_true(all(match_components(fit$params$W, bars$W)$matched))
    expect_gt(fit$bound, best - 0.05 * 300)
  }
})

test_that("bars whose values have no mean are found from scratch", {
  skip_unless_full()
  for (seed in 1:6) for (size in c(6, 8)) {
    bars <- centred_bars(seed, 1000, size)
    best <- gps_fit(bars$y, model_spike_slab(2 * size), start = bars$truth)$bound
    set.seed(seed)
    fit <- gps_fit(bars$y, model_spike_slab(2 * size))
    expect_gt(fit$bound, best - 0.5 * 1000)
    expect_gte(sum(match_components(fit$params$W, bars$W)$matched), 2 * size - 1)
  }
})
