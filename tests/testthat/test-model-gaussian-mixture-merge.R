# Which cluster a mixture could best do without.

unequal_clusters <- function(seed, n = 1500, n_clusters = 20, n_dims = 5) {
  set.seed(seed)
  prob <- 1 / seq_len(n_clusters)
  prob <- pmax(prob / sum(prob), 0.004)
  mu <- matrix(rnorm(n_clusters * n_dims, 0, 5), n_dims)
  cluster <- sample(n_clusters, n, TRUE, prob)
  list(y = t(mu[, cluster]) + matrix(rnorm(n * n_dims), n), mu = mu, pi = prob / sum(prob))
}

# Posterior of a mixture at given parameters, as mending sees it.
mixture_at <- function(y, params, covariance) {
  task <- new_task(t(y), model_gaussian_mixture(length(params$pi), covariance), selector_full(),
                   NULL, NULL, short_control(n_threads = 1))
  state <- new_state(params, 0L, 0)
  result <- pass(task, state, "response")
  list(task = task, state = state, result = result,
       on = dense_targets(result, length(params$pi)))
}

test_that("what a merger costs is what the bound loses by it", {
  set.seed(3)
  y <- matrix(rnorm(600), 200) %*% matrix(c(1, 0.3, 0, 0, 1, 0.2, 0, 0, 2), 3)
  mu <- cbind(c(-0.5, 0, 0), c(0.5, 0.2, 0), c(8, 8, 8))
  sigmas <- list(
    spherical = c(1, 2, 1), diagonal = cbind(c(1, 2, 3), c(2, 1, 1), 1),
    full = array(c(diag(3), crossprod(matrix(c(1, 0.5, 0, 0, 1, 0.5, 0, 0, 1), 3)), diag(3)),
                 c(3, 3, 3))
  )
  for (covariance in names(sigmas)) {
    params <- list(mu = mu, sigma = sigmas[[covariance]], pi = c(0.3, 0.5, 0.2))
    before <- mixture_at(y, params, covariance)
    expect_identical(sharing_pairs(before$on), cbind(1L, 2L))
    merged <- merged_cluster(params, 1:2)
    # Of the points of both, which here are all.
    cost <- merge_cost(before$task, before$result, before$on, 1:2, merged)
    whole <- set_cluster(params, 1:2, merged)
    whole$mu[, 1] <- whole$mu[, 2]
    if (covariance == "spherical") {
      whole$sigma[1] <- whole$sigma[2]
    } else if (covariance == "diagonal") {
      whole$sigma[, 1] <- whole$sigma[, 2]
    } else {
      whole$sigma[, , 1] <- whole$sigma[, , 2]
    }
    whole$pi[1:2] <- c(0.4, 0.4)
    after <- mixture_at(y, whole, covariance)
    expect_equal(cost, before$result$bound - after$result$bound, tolerance = 1e-9,
                 info = covariance)
  }
})

test_that("the half of a cluster is given up, not a small cluster", {
  set.seed(4)
  y <- rbind(cbind(rnorm(400), rnorm(400)), cbind(rnorm(12, 9), rnorm(12, 9)))
  params <- list(mu = cbind(c(-0.8, 0), c(0.8, 0), c(9, 9)), sigma = c(0.7, 0.7, 1),
                 pi = c(0.48, 0.49, 0.03))
  case <- mixture_at(y, params, "spherical")
  expect_identical(which.min(removal_cost(case$on)), 3L)
  leaver <- find_leaver(case$task, case$state, case$result, case$on)
  expect_identical(c(leaver$from, leaver$taker), 1:2)
  expect_lt(abs(leaver$params$mu[1, 2]), 0.1)
  expect_near(leaver$params$pi[2], 0.97, 1e-12)
})

test_that("mending goes on until clusters of unequal weights are found", {
  case <- unequal_clusters(4)
  fit <- function(start, mend) {
    set.seed(4)
    gps_fit(case$y, model_gaussian_mixture(20, "spherical"), selector_full(), start = start,
            control = gps_control(n_threads = 1, mend = mend))
  }
  best <- fit(list(mu = case$mu, pi = case$pi), mend = FALSE)
  expect_gt(fit(NULL, mend = TRUE)$bound, best$bound - 15)
})
