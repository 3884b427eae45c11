# The fit, how many bars it has found and the session's next random number.
fit_bars <- function(r, ..., n = 2000, selector = selector_handcrafted(), max_iter = 60) {
  set.seed(100 + r)
  bars <- simulate_bars(n)
  set.seed(1000 + r)
  control <- gps_control(n_starts = 1, max_iter = max_iter, progress = FALSE, ...)
  n_selected <- if (!inherits(selector, "gps_selector_full")) 5
  fit <- gps_fit(bars$y, model_binary_sparse(10), selector, n_selected, control = control)
  list(fit = fit, n_found = sum(match_components(fit$params, bars)$matched), number = runif(1))
}

# That of one of the starts below by one thread, made once.
fit_alone <- function(r) {
  name <- paste("mended", r)
  if (is.null(fit_store[[name]])) fit_store[[name]] <- fit_bars(r, n_threads = 1)
  fit_store[[name]]
}

moves_of <- function(fit) grep("split|renewed", fit$trace$events, value = TRUE)

# Seeds 1 and 2 lack one bar and have an idle column; 3 and 10 have two bars as their mean and their
# sum.
test_that("single starts that end in either local optimum find all bars when mended", {
  # One of each optimum.
  for (r in if (is_full()) c(1, 2, 3, 10) else c(1, 3)) {
    without <- fit_bars(r, mend = FALSE)
    with <- fit_alone(r)
    expect_lt(without$n_found, 10)
    expect_identical(with$n_found, 10L)
    expect_gt(with$fit$bound, without$fit$bound + 1000)
    expect_length(moves_of(without$fit), 0)
    expect_identical(moves_of(with$fit), if (r < 3) "renewed 1" else "split 1")
  }
})

test_that("a fit that needs no move is not touched", {
  without <- fit_bars(4, mend = FALSE)$fit
  with <- fit_bars(4)$fit
  expect_identical(with$params, without$params)
  expect_identical(with$selected, without$selected)
  expect_identical(with$bound, without$bound)
})

test_that("mending works with selectors that know nothing of the parameters", {
  full <- selector_full()
  expect_identical(fit_bars(1, n = 600, selector = full)$n_found, 10L)
  learned <- selector_custom(
    function(params, y, memory) if (is.null(memory)) y %*% params$W else cbind(1, y) %*% memory,
    function(params, y, expectations) qr.coef(qr(cbind(1, y)), expectations)
  )
  expect_identical(fit_bars(1, n = 1000, selector = learned)$n_found, 10L)
})

test_that("a rival goes on only where it could gain as much as the trial, and changes no fit", {
  fit <- function() fit_bars(1, n = 600, selector = selector_full())$fit
  rival <- continue_rival
  went_on <- FALSE
  local_value("continue_rival", function(...) {
    went_on <<- TRUE
    rival(...)
  })
  clear <- fit()
  expect_identical(moves_of(clear), "renewed 1")
  expect_false(went_on)
  local_value("likely_rise", function(state) Inf)
  with_rival <- fit()
  expect_true(went_on)
  same <- c("params", "bound", "selected", "n_iter")
  expect_identical(with_rival[same], clear[same])
})

test_that("what a rival may rise by is in proportion to the steepest of its last rises", {
  expect_identical(likely_rise(list(bounds = c(-9, 1, 2, 4, 5))), clear_margin * 4 * 2)
  expect_identical(likely_rise(list(bounds = c(1, 3, 2, 1, 1))), 0)
})

test_that("moves judged on sampled rows hold on all rows", {
  with <- fit_bars(2, n = 3000)
  expect_lt(fit_bars(2, n = 3000, mend = FALSE)$n_found, 10)
  expect_identical(with$n_found, 10L)
  trace <- with$fit$trace
  moved <- which(trace$events == moves_of(with$fit)[1])
  expect_gt(trace$bound[moved], trace$bound[moved - 1])
})

test_that("a monotone fit stays monotone through a move", {
  fit <- fit_bars(1, monotone = TRUE)$fit
  expect_gt(length(moves_of(fit)), 0)
  rise <- diff(fit$trace$bound)
  expect_true(all(rise >= -1e-9 * abs(fit$bound)))
})

test_that("mending is the same for any number of threads and draws nothing from the session", {
  one <- fit_alone(3)
  two <- fit_bars(3, n_threads = 2)
  expect_identical(two$number, one$number)
  expect_identical(two$fit$params, one$fit$params)
  expect_identical(two$fit$bound, one$fit$bound)
})

test_that("a round that finds nothing to gain leaves the state as it was", {
  set.seed(5)
  bars <- simulate_bars(300)
  task <- new_task(t(bars$y), model_binary_sparse(10), selector_handcrafted(), 5, NULL,
                   gps_control(n_starts = 1, n_threads = 1, progress = FALSE))
  state <- new_state(list(W = bars$W, pi = 0.2, sigma2 = 2), 0L, 0)
  for (iteration in 1:10) state <- em_step(task, state)
  mended <- mend(task, state)
  expect_identical(mended$mended_at, recent_bound(state))
  mended["mended_at"] <- list(NULL)
  expect_identical(mended, state)
})

test_that("inserted latents take the least probable slot that is not theirs, in ascending order", {
  selected <- matrix(c(1L, 2L, 3L, 2L, 4L, 5L, 0L, 1L, 4L), 3)
  prob_on <- matrix(c(0.2, 0.9, 0.5, 0.1, 0.3, 0.2, 0, 0.8, 0.7), 3)
  expect_identical(insert_latents(selected, prob_on, 4L), cbind(2:4, c(2L, 4L, 5L), c(0L, 1L, 4L)))
  expect_identical(insert_latents(selected, prob_on, c(4L, 2L)),
                   cbind(2:4, c(2L, 4L, 5L), c(1L, 2L, 4L)))
  expect_identical(insert_latents(matrix(c(3L, 1L), 1), matrix(1, 1, 2), c(2L, 1L)),
                   matrix(2L, 1, 2))
})

test_that("the cost of removing a latent is what log Z loses without it", {
  set.seed(6)
  y <- matrix(rnorm(40), 10)
  model <- gps_bind(model_binary_sparse(3), y)
  params <- gps_init(model, y)
  all_on <- matrix(1:3, 10, 3, byrow = TRUE)
  with <- gps_estep(model, params, y, all_on)
  without <- gps_estep(model, params, y, all_on[, -2])
  # The prior of the second latent being off is in both sums of states.
  off <- without$log_evidence + log1p(-params$pi) - log1p(-params$pi)
  expect_equal(removal_cost(t(with$prob_on))[2], sum(with$log_evidence) - sum(off),
               tolerance = 1e-10)
})

test_that("a move leaves each point its own cluster where few are selected", {
  set.seed(3)
  means <- matrix(rnorm(20, 0, 4), 5)
  of <- rep(1:5, c(10, 30, 50, 70, 90))
  y <- means[of, ] + c(0.3, 1, 1, 2, 1)[of] * rnorm(1000)
  fit <- function(selector, ...) {
    set.seed(2)
    gps_fit(y, model_gaussian_mixture(5, "diagonal"), selector, ...,
            control = gps_control(progress = FALSE))
  }
  # The moved cluster, the split one and that which takes over fill both slots.
  few <- fit(selector_handcrafted(), 2)
  expect_identical(few$n_selected, 2L)
  expect_gt(few$bound, fit(selector_full())$bound - 1)
})

test_that("a split finds the two groups along the leading direction", {
  residual <- cbind(matrix(c(3, 0, 1), 3, 4), matrix(c(-1, 0, 1), 3, 12)) + c(0, 0.1, -0.1)
  split <- split_residual(residual, 2L)
  expect_setequal(split$size, c(4, 12))
  rare <- which.min(split$size)
  expect_equal(split$centres[, rare], c(3, 0.1, 0.9))
  expect_equal(split$centres[, 3 - rare], c(-1, 0.1, 0.9))
  expect_equal(split$between, split$along)
  expect_near(split$within, matrix(0, 3, 2), 1e-20)
  expect_near(split$within_along, c(0, 0), 1e-20)
  expect_null(split_residual(matrix(1, 3, 9), 0L))
  expect_null(split_residual(residual[, 1:3], 0L))
})

test_that("clusters are parted beside a column of noise that varies more than they do", {
  set.seed(3)
  centres <- cbind(c(0, 10, 20, 0, 10, 20), rep(c(0, 10), each = 3))
  y <- cbind(centres[rep(1:6, 40), ] + rnorm(480), 3000 * rnorm(240))
  model <- gps_bind(model_gaussian_mixture(6, "diagonal"), y)
  two <- t(y[rep(1:2, 40) + rep(6 * (0:39), each = 2), ]) / residual_unit(model)
  expect_identical(which.max(abs(leading_direction(two - rowMeans(two)))), 3L)
  expect_identical(humped_column(two - rowMeans(two)), c(1, 0, 0))
  split <- promising_split(model, two, TRUE, 1L, NULL, NULL)
  expect_equal(split$size, c(40, 40))
  expect_equal(split, promising_split(model, two, TRUE, 1L, rep(1, 80), NULL))
  # Fits that one direction left with two of the clusters in one.
  for (kind in c("diagonal", "full", "tied")) {
    fit <- function(start = NULL, ...) {
      set.seed(1)
      gps_fit(y, model_gaussian_mixture(6, kind), selector_full(), start = start,
              control = gps_control(progress = FALSE, ...))
    }
    expect_gt(fit()$bound, fit(list(mu = rbind(t(centres), 0)), mend = FALSE)$bound - 1)
  }
})

test_that("what rounding leaves of a constant column is no reason to split a cluster", {
  set.seed(4)
  two <- rbind(sample(c(-1, 1), 60, TRUE) * 2^-52, rnorm(60), rep(c(-3, 3), 30) + rnorm(60))
  two <- two - rowMeans(two)
  expect_identical(humped_column(two), c(0, 0, 1))
  expect_identical(humped_column(two[1, , drop = FALSE]), 0)
  expect_identical(humped_columns(group_points(cbind(two, -two), rep(1:2, each = 60))),
                   cbind(c(0, 0, 1), c(0, 0, 1)))
  model <- gps_bind(model_gaussian_mixture(2, "diagonal"), cbind(2, matrix(rnorm(40), 20)))
  split <- split_residual(two[c(1, 2, 2), ], 1L, find = function(...) c(1, 0, 0))
  expect_lt(move_gain(model, split, two), 0)
})

test_that("moves of a mixture with a constant column do not depend on where it stands", {
  set.seed(1)
  y <- cbind(simulate_clusters(240)$y, 3 * rnorm(240), 2)
  model <- model_gaussian_mixture(4, "diagonal")
  set.seed(5)
  start <- gps_init(gps_bind(model, y), y)
  fit <- function(columns) {
    set.seed(9)
    start[c("mu", "sigma")] <- lapply(start[c("mu", "sigma")], function(x) x[columns, ])
    suppressWarnings(gps_fit(y[, columns], model, selector_handcrafted(), n_selected = 3,
                             start = start, control = gps_control(max_iter = 30)))
  }
  one <- fit(1:4)
  other <- fit(c(2, 3, 4, 1))
  expect_equal(other$bound, one$bound)
  expect_identical(other$trace$events, one$trace$events)
})

test_that("mixtures with two clusters on one are mended for every covariance", {
  set.seed(7)
  centres <- rbind(c(0, 0), c(12, 0), c(0, 12), c(12, 12))
  label <- rep(1:4, each = 50)
  y <- centres[label, ] + matrix(rnorm(400), 200)
  mu <- cbind(c(0, -1), c(0, 1), c(12, 6), c(0, 12))
  sigma <- list(full = array(diag(2), c(2, 2, 4)), diagonal = matrix(1, 2, 4),
                spherical = rep(1, 4))
  for (covariance in c("full", "diagonal", "spherical")) {
    fit <- function(mend) {
      gps_fit(y, model_gaussian_mixture(4, covariance), selector_handcrafted(), n_selected = 3,
              start = list(mu = mu, sigma = sigma[[covariance]]),
              control = gps_control(mend = mend, progress = FALSE))
    }
    agreement <- function(fit) {
      best <- max.col(t(fit$prob_on), ties.method = "first")
      adjusted_rand(label, fit$selected[cbind(best, seq_along(label))])
    }
    without <- fit(FALSE)
    with <- fit(TRUE)
    expect_lt(agreement(without), 0.9)
    expect_gt(agreement(with), 0.99)
    expect_gt(with$bound, without$bound)
    expect_identical(moves_of(with), "split 1")
  }
})

test_that("`mend` must be TRUE or FALSE", {
  expect_error(gps_control(mend = NA), "mend", class = "gps_error_argument")
})

test_that("residuals are split along the direction in which they vary most", {
  set.seed(1)
  # Such that twenty iterations are enough.
  x <- matrix(rnorm(40), 8, 30) * c(5, rep(1, 7)) + matrix(rnorm(240), 8)
  for (weights in list(NULL, runif(30), rep(c(0, 2), 15))) {
    w <- if (is.null(weights)) rep(1, 30) else weights
    expected <- eigen(x %*% (w * t(x)), symmetric = TRUE)$vectors[, 1]
    found <- gpselect:::leading_direction(x, weights)
    expect_equal(abs(sum(found * expected)), 1, tolerance = 1e-10)
    expect_equal(sum(found^2), 1)
  }
  expect_identical(gpselect:::leading_direction(matrix(0, 3, 2)), numeric(3))
})

test_that("moves of many clusters are looked for after four bounds, others after eight", {
  y <- matrix(rnorm(300), 2)
  due <- function(n_clusters, bounds) {
    model <- gps_bind(model_gaussian_mixture(n_clusters, "spherical"), t(y))
    task <- list(model = model, y = y, control = list(mend = TRUE), max_iter = 100)
    is_mend_due(task, list(bounds = bounds, iteration = length(bounds), beta = 1, noise_floor = 0))
  }
  step <- flat_tol * length(y) / flat_window
  expect_true(due(50, step * 0.9 * 1:4))
  expect_false(due(50, step * 1.1 * 1:4))
  expect_false(due(50, numeric(3)))
  expect_false(due(40, numeric(7)))
  expect_true(due(40, numeric(8)))
})
