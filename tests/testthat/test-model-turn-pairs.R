# Values [2 x n] of two components that are turned by `angle` against two true ones, each of which
# is on for a third of the points, and both for the rest.
turned_values <- function(n, angle, noise = 0.02) {
  set.seed(21)
  truth <- matrix(rnorm(2 * n, 1, 0.5), 2)
  truth[1, seq_len(n / 3)] <- 0
  truth[2, n / 3 + seq_len(n / 3)] <- 0
  turn <- rbind(c(cos(angle), sin(angle)), c(-sin(angle), cos(angle)))
  list(truth = truth, value = turn %*% (truth + noise * rnorm(2 * n)), turn = turn)
}

turned_problem <- function(angle, n = 300) {
  values <- turned_values(n, angle)
  true_w <- 10 * cbind(c(1, 0, 0), c(0, 1, 0))
  list(value = values$value, true_w = true_w,
       params = list(W = true_w %*% t(values$turn), pi = 0.3, mu = c(1, 1), psi = c(0.3, 0.3),
                     sigma2 = 0.04))
}

cosines <- function(a, b) abs(colSums(a * b)) / sqrt(colSums(a^2) * colSums(b^2))

test_that("a turned pair is turned back onto the lines of its points", {
  for (angle in c(0.3, 0.7, 1.2)) {
    problem <- turned_problem(angle)
    turn <- turn_pair(problem$params, problem$value, 1:2)
    order <- if (abs(turn$w[1, 1]) > abs(turn$w[2, 1])) 1:2 else 2:1
    expect_gt(min(cosines(turn$w[, order], problem$true_w)), 0.9999)
    # About 100 points for each line, and some of those with both close to one.
    expect_gte(min(turn$share * 300), 95)
    params <- turned_params(problem$params, turn)
    expect_identical(params$W, turn$w)
    # A value of mean 1 and variance 1/4 in units of its root mean square.
    expect_equal(params$mu, rep(1 / sqrt(1.25), 2), tolerance = 0.05)
    expect_equal(params$mu^2 + params$psi, c(1, 1))
    expect_equal(unname(colSums(params$W^2)), rep(125, 2), tolerance = 0.1)
  }
})

test_that("a pair that is as it should be is left alone", {
  problem <- turned_problem(0)
  problem$value[abs(problem$value) < 0.1] <- 0
  expect_null(turn_pair(problem$params, problem$value, 1:2))
  problem$params$W[, 2] <- problem$params$W[, 1]
  expect_null(turn_pair(problem$params, problem$value, 1:2))
})

test_that("turns come best first and for pairs that are on together too often", {
  on <- matrix(FALSE, 4, 100)
  on[1, 1:40] <- on[2, 1:40] <- TRUE
  on[3, seq(1, 100, 2)] <- on[4, seq(1, 100, 3)] <- TRUE
  expect_identical(frequent_pairs(on)[1, ], 1:2)
  expect_true(all(frequent_pairs(on)[, 1] < frequent_pairs(on)[, 2]))
  # 1 and 3, as 3 and 4, are on together as often as chance has it.
  expect_identical(frequent_pairs(on)[-1, ], rbind(c(1L, 4L), c(2L, 4L)))
  # Chance is all that there is where two are on throughout and one is not on at all.
  expect_identical(nrow(frequent_pairs(on[c(1:3, 3), 1:7] & c(TRUE, TRUE, TRUE, FALSE))), 0L)

  near <- turned_problem(0.7)
  params <- near$params
  params$W <- cbind(near$params$W, near$params$W[c(3, 1, 2), ])
  params$mu <- params$psi <- rep(1, 4)
  value <- matrix(0, 4, 800)
  value[1:2, 1:300] <- near$value
  value[3:4, 501:560] <- near$value[, 71:130]
  moves <- turning_moves(params, value)
  expect_identical(lapply(moves, `[[`, "latents"), list(1:2, 3:4))
  expect_identical(unique(vapply(moves, `[[`, "", "event")), "turned")
  expect_identical(moves[[1]]$params$W[, 3:4], params$W[, 3:4])
})

test_that("a turn leaves the other slabs, and those turned independent of them", {
  problem <- turned_problem(0.7)
  turn <- turn_pair(problem$params, problem$value, 1:2)
  params <- list(W = cbind(problem$params$W, 1), pi = c(0.1, 0.2, 0.3), mu = c(1, 1, 3),
                 psi = matrix(0.5, 3, 3) + diag(3), sigma2 = 0.04)
  turned <- turned_params(params, turn)
  expect_identical(turned$psi[3, ], c(0, 0, 1.5))
  expect_identical(turned$psi[1, 2], 0)
  expect_identical(turned$mu[3], 3)
  expect_identical(turned$W[, 3], params$W[, 3])
  expect_equal(turned$pi, c(turn$share, 0.3))
})

test_that("a line through values has unit mean square along it", {
  x <- outer(c(3, 4) / 5, c(-1, -3, -2))
  line <- fit_line(x)
  expect_equal(line$axis, -sqrt(14 / 3) * c(3, 4) / 5)
  expect_equal(line$mean, 2 / sqrt(14 / 3))
  expect_identical(line$n, 3L)
  expect_null(fit_line(x[, 1, drop = FALSE]))
  expect_null(fit_line(0 * x))
})

test_that("a turn is tried for the use of a share of few points, and of no more than 8 of many", {
  expect_identical(vapply(c(2000, 1e6), least_turned, 1), c(8, 8))
  for (n in c(9, 24, 60)) {
    problem <- turned_problem(0.7, n)
    turn <- turn_pair(problem$params, problem$value, 1:2)
    order <- if (abs(turn$w[1, 1]) > abs(turn$w[2, 1])) 1:2 else 2:1
    expect_gt(min(cosines(turn$w[, order], problem$true_w)), 0.999)
  }
  # Latents that are on together in four of twelve points.
  one <- rep(c(TRUE, TRUE, FALSE), 4)
  two <- rep(c(TRUE, FALSE, TRUE), 4)
  expect_identical(frequent_pairs(rbind(one, two, one & two)), rbind(c(1L, 3L), c(2L, 3L)))
})

# Components with half of a neighbour in them: its values make up for that, so that EM stays there.
test_that("mixed components end at the bound of the truth on few data points, too", {
  for (n in if (is_full()) c(60, 100, 150) else c(60, 150)) {
    set.seed(1)
    bars <- simulate_bars(n, "spike_slab")
    truth <- bars[c("W", "pi", "mu", "psi", "sigma2")]
    mixed <- truth
    mixed$W[, c(1, 3, 6, 8)] <- truth$W[, c(1, 3, 6, 8)] + truth$W[, c(2, 4, 7, 9)] / 2
    fits <- lapply(list(truth, mixed), function(start) {
      set.seed(5)
      gps_fit(bars$y, model_spike_slab(10), start = start, control = short_control(max_iter = 200))
    })
    expect_identical(sum(match_components(fits[[2]]$params, bars)$matched), 10L)
    expect_equal(fits[[2]]$bound / n, fits[[1]]$bound / n, tolerance = 1e-4)
    expect_true(any(grepl("turned", fits[[2]]$trace$events)))
  }
})

# Single starts in which two components are mixtures of two bars, where EM rests until they are
# turned: the bound is flat before.
test_that("fits that end with two bars mixed find all when mended, whatever the covariance", {
  # Those of the test above have diagonal ones.
  for (covariance in if (is_full()) c("diagonal", "full") else "full") {
    set.seed(100)
    bars <- simulate_bars(2000, "spike_slab", psi = 0.1)
    set.seed(1000)
    fit <- gps_fit(bars$y, model_spike_slab(10, covariance), selector_handcrafted(FALSE),
                   5, control = short_control(max_iter = if (is_full()) 100 else 40))
    expect_identical(sum(match_components(fit$params, bars)$matched), 10L)
    turned <- grep("turned", fit$trace$events)
    expect_identical(fit$trace$events[turned], "turned 1")
    bounds <- fit$trace$bound[seq_len(turned - 1)]
    expect_lt(max(abs(diff(tail(bounds, 3)))), 2)
    expect_gt(fit$bound, tail(bounds, 1) + 1000)
  }
})

test_that("mending ends where the last move came to nothing", {
  task <- list(y = matrix(0, 2, 50))
  state <- list(bound = -100)
  expect_false(has_come_to_nothing(task, state))
  state$bound_before_move <- -100 - 0.9 * 100 * least_gain
  expect_true(has_come_to_nothing(task, state))
  state$bound_before_move <- -100 - 1.1 * 100 * least_gain
  expect_false(has_come_to_nothing(task, state))
})

test_that("components of a single column are not turned", {
  problem <- turned_problem(0.7)
  problem$params$W <- problem$params$W[1, , drop = FALSE]
  expect_identical(turning_moves(problem$params, problem$value), list())
  y <- cbind(c(0.9, 0.2, 1.6, -1.1, 60))
  set.seed(1)
  for (model in list(model_spike_slab(4), model_binary_sparse(4))) {
    fit <- suppressWarnings(gps_fit(y, model, selector_full(),
                                    control = gps_control(n_starts = 1, max_iter = 40)))
    expect_true(is.finite(fit$bound))
  }
})
