# What a fit from scratch holds at first: correlations of a full psi at zero until components stand,
# and the covariances of many small clusters at one in common.

correlated_bars <- function(seed, n = 120) {
  set.seed(seed)
  w <- 0.3 * simulate_bars(1, size = 3)$W
  psi <- matrix(0.6, 6, 6) + diag(0.4, 6)
  values <- 2 + matrix(rnorm(6 * n), n) %*% chol(psi)
  latents <- matrix(rbinom(6 * n, 1, 0.4), n)
  list(W = w, y = (latents * values) %*% t(w) + matrix(rnorm(9 * n, 0, 0.5), n))
}

fit_correlated <- function(y, covariance, selector = selector_full(), n_selected = NULL, ...,
                           start = NULL, seed = 1) {
  set.seed(seed)
  gps_fit(y, model_spike_slab(6, covariance), selector, n_selected, start = start,
          control = gps_control(..., progress = FALSE))
}

is_diagonal <- function(x) all(x[row(x) != col(x)] == 0)

freed_at <- function(fit) fit$trace$iteration[grepl("freed 1", fit$trace$events)]

test_that("what is held is a diagonal psi in the shape of a full one", {
  y <- correlated_bars(1, 60)$y
  for (method in c("exact", "gibbs")) for (shared in c(TRUE, FALSE)) {
    for (selector in list(selector_gp(kernel_linear()), selector_handcrafted())) {
      run <- function(covariance) {
        task <- new_task(t(y), model_spike_slab(6, covariance, shared), selector, 4, NULL,
                         gps_control(method = method, n_threads = 1, progress = FALSE),
                         seed = c(1L, 2L))
        continue_trial(hold_back(task), begin_state(task, 1), 6)
      }
      held <- run("full")
      free <- run("diagonal")
      expect_identical(held$bounds, free$bounds)
      expect_identical(held$params$psi, diag(free$params$psi))
      expect_identical(held$params[-4], free$params[-4])
    }
  }
})

test_that("a fit holds them until it is flat or half of its iterations are over", {
  y <- correlated_bars(2)$y
  selectors <- list(selector_full(), selector_gp(kernel_linear()), selector_handcrafted())
  for (selector in selectors[seq_len(if (is_full()) 3 else 2)]) {
    n_selected <- if (!inherits(selector, "gps_selector_full")) 5
    fit <- fit_correlated(y, "full", selector, n_selected, n_starts = 2, max_iter = 40)
    at <- freed_at(fit)
    expect_length(at, 1)
    expect_lte(at, 20)
    same <- fit_correlated(y, "diagonal", selector, n_selected, n_starts = 2, max_iter = 40)
    expect_identical(fit$starts, same$starts)
    held <- fit$trace$bound[fit$trace$start == 0 & fit$trace$iteration <= at]
    expect_identical(held, same$trace$bound[same$trace$start == 0][seq_along(held)])
    expect_gt(fit$bound, same$bound)
    expect_false(is_diagonal(fit$params$psi))
  }
  # None of them, and fewer than it takes to be flat.
  expect_true(is_diagonal(fit_correlated(y, "full", n_starts = 2, max_iter = 0)$params$psi))
  for (mend in c(TRUE, FALSE)) for (n_starts in 1:2) {
    short <- fit_correlated(y, "full", n_starts = n_starts, max_iter = 8, mend = mend)
    expect_identical(freed_at(short), 4L)
    expect_false(is_diagonal(short$params$psi))
  }
  # A bound that never falls, from the first iteration to the last.
  monotone <- fit_correlated(y, "full", n_starts = 1, max_iter = 25, monotone = TRUE)
  expect_no_fall(monotone$trace$bound)
})

test_that("a start has what correlations it has, and keeps them", {
  y <- correlated_bars(3)$y
  first <- fit_correlated(y, "full", n_starts = 2, max_iter = 20)
  for (start in list(first, coef(first))) {
    none <- fit_correlated(y, "full", max_iter = 0, start = start)
    expect_identical(none$params$psi, first$params$psi)
    more <- fit_correlated(y, "full", max_iter = 3, start = start, tol = 0)
    expect_length(freed_at(more), 0)
    expect_no_fall(c(first$bound, more$trace$bound))
    expect_false(is_diagonal(more$params$psi))
  }
})

test_that("sampled states, minibatches and fits that grow free them, too", {
  y <- correlated_bars(4)$y
  sampled <- fit_correlated(y, "full", n_starts = 2, max_iter = 20, method = "gibbs")
  expect_length(freed_at(sampled), 1)
  expect_false(is_diagonal(sampled$params$psi))
  for (max_iter in c(4, 40)) {
    run <- function(covariance) {
      fit_correlated(y, covariance, selector_handcrafted(), 4, n_starts = 2, max_iter = max_iter,
                     batch_size = 60)
    }
    batched <- run("full")
    expect_length(freed_at(batched), 1)
    expect_false(is_diagonal(batched$params$psi))
    if (max_iter == 40) expect_gt(batched$bound, run("diagonal")$bound)
  }
  grown <- fit_correlated(y, "full", selector_handcrafted(), 4, grow = 50, max_iter = 20)
  expect_length(freed_at(grown), 1)
  expect_false(is_diagonal(grown$params$psi))
})

test_that("a fit that ends while they are held is one of a full psi", {
  y <- correlated_bars(5)$y
  fit <- fit_correlated(y, "full", n_starts = 1, time_limit = 1e-9)
  expect_identical(fit$status, "time_limit")
  expect_identical(dim(coef(fit)$psi), c(6L, 6L))
  expect_true(is_diagonal(fit$params$psi))
  expect_identical(fit$model$options$form, 1)
  expect_near(sum(predict(fit, type = "loglik")), fit$bound, 1e-8)
})

test_that("from scratch a full psi explains correlated slabs no worse than a diagonal one", {
  skip_unless_full()
  for (seed in 4341:4346) {
    bars <- correlated_bars(seed, 300)
    diagonal <- fit_correlated(bars$y, "diagonal", seed = seed)
    full <- fit_correlated(bars$y, "full", seed = seed)
    expect_gt(full$bound, diagonal$bound - 0.1 * 300)
  }
})

# Clusters of several scales in two columns, beside six that tell nothing of them.
clusters_beside_noise <- function(seed, n_clusters = 41, each = 40) {
  set.seed(seed)
  of <- rep(seq_len(n_clusters), each = each)
  n <- length(of)
  centres <- matrix(rnorm(2 * n_clusters, 0, 20), ncol = 2)
  told <- centres[of, ] + exp(rnorm(n_clusters))[of] * matrix(rnorm(2 * n), ncol = 2)
  cbind(told, matrix(rnorm(6 * n), ncol = 6))
}

test_that("many small clusters have one full covariance before they have their own", {
  y <- clusters_beside_noise(3)
  set.seed(3)
  fit <- gps_fit(y, model_gaussian_mixture(41), selector_full(),
                 control = gps_control(max_iter = 60, n_threads = 1, progress = FALSE))
  expect_identical(freed_at(fit), 10L)
  # From the clusters that the data were drawn by -14.41; with own covariances at once -15.01.
  expect_gt(fit$bound / nrow(y), -14.8)
  task <- new_task(t(y), model_gaussian_mixture(41), selector_full(), 41, NULL,
                   gps_control(n_threads = 1, progress = FALSE), seed = c(1L, 2L))
  held <- continue_trial(hold_back(task), begin_state(task, 1), 2)$params$sigma
  expect_true(all(held == c(held[, , 1])))
})

test_that("a full covariance of few, large or other clusters is not held", {
  y <- clusters_beside_noise(4, each = 3)
  is_held <- function(n_clusters, each, covariance = "full") {
    model <- gps_bind(model_gaussian_mixture(n_clusters, covariance), y)
    hold_model(model, n_clusters * each)$options$common == 1
  }
  expect_true(is_held(41, 109))
  expect_false(is_held(41, 110))
  expect_false(is_held(40, 50))
  for (covariance in c("diagonal", "spherical", "tied")) expect_false(is_held(41, 5, covariance))
})
