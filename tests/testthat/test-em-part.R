# Clusters that are the same, as a high temperature leaves them, are parted.

planted_centres <- rbind(c(0, 0), c(9, 0), c(0, 9), c(9, 9), c(18, 4))

planted_label <- function(n) rep_len(1:5, n)

# A fit that begins with all clusters in one place, from which EM alone cannot part them.
fit_equal <- function(y, model, start, n_threads = 1, ...) {
  set.seed(3)
  gps_fit(y, model, selector_full(), start = start,
          control = gps_control(n_threads = n_threads, progress = FALSE, ...))
}

agreement_of <- function(fit, label) adjusted_rand(label, predict(fit, type = "class"))

test_that("five clusters in one place are parted, whatever their covariance", {
  set.seed(1)
  label <- planted_label(150)
  y <- planted_centres[label, ] + matrix(rnorm(300), 150)
  sigma <- list(full = array(cov(y), c(2, 2, 5)), tied = array(cov(y), c(2, 2, 1)),
                diagonal = matrix(diag(cov(y)), 2, 5), spherical = rep(mean(diag(cov(y))), 5))
  for (covariance in names(sigma)) {
    start <- list(mu = matrix(colMeans(y), 2, 5), sigma = sigma[[covariance]], pi = rep(0.2, 5))
    model <- model_gaussian_mixture(5, covariance)
    without <- fit_equal(y, model, start, mend = FALSE, max_iter = 20)
    expect_lt(max(dist(t(coef(without)$mu))), 1e-6)
    fit <- fit_equal(y, model, start)
    expect_identical(agreement_of(fit, label), 1, info = covariance)
    expect_true("split 4" %in% fit$trace$events)
    if (covariance == "tied") {
      two <- fit_equal(y, model, start, n_threads = 2)
      expect_identical(two$params, fit$params)
      expect_identical(two$bound, fit$bound)
    }
  }
})

test_that("so are clusters of counts, with few selected, and what is left of two groups", {
  set.seed(2)
  label <- planted_label(150)
  rate <- 3 + 4 * planted_centres
  counts <- matrix(rpois(300, rate[label, ]), 150)
  start <- list(rate = matrix(colMeans(counts), 2, 5), pi = rep(0.2, 5))
  expect_gt(agreement_of(fit_equal(counts, model_poisson_mixture(5), start), label), 0.95)
  y <- planted_centres[label, ] + matrix(rnorm(300), 150)
  start <- list(mu = cbind(c(4, 0), c(4, 0), c(4, 9), c(4, 9), c(18, 4)),
                sigma = rep(9, 5), pi = rep(0.2, 5))
  fit <- gps_fit(y, model_gaussian_mixture(5, "spherical"), selector_handcrafted(), 3,
                 start = start, control = gps_control(n_threads = 1, progress = FALSE))
  expect_identical(agreement_of(fit, label), 1)
})

test_that("a fit that anneals ends where one without annealing does", {
  set.seed(1)
  y <- planted_centres[planted_label(100), ] + matrix(rnorm(200, sd = 1.5), 100)
  fit <- function(anneal) {
    set.seed(1)
    gps_fit(y, model_gaussian_mixture(5, "tied"), selector_full(),
            control = gps_control(anneal = anneal, max_iter = 60, n_threads = 1, progress = FALSE))
  }
  expect_gt(fit(2)$bound, fit(NULL)$bound - 1)
})

test_that("clusters are the same by their place, in units of the data", {
  model <- gps_bind(model_gaussian_mixture(5), cbind(rnorm(20), 1e6 * rnorm(20)))
  mu <- cbind(c(1, 2e6), c(0, 0), c(1, 2e6), c(1, 2e6 + 10), c(0, 5e5))
  expect_identical(same_clusters(model, list(mu = mu)), c(1L, 2L, 1L, 1L, 5L))
  expect_identical(same_clusters(model_binary_sparse(2), list(W = matrix(1, 2, 2))), 1:2)
  expect_identical(same_clusters(model_gaussian_mixture(1), list(mu = matrix(1, 2, 1))), 1L)
})

test_that("clusters are the same whatever stands between them in any order, as where rows add up", {
  set.seed(2)
  y <- matrix(rexp(300), 100)
  model <- gps_bind(model_gaussian_mixture(300, "spherical"), (y / rowSums(y))[rep(1:100, 4), ])
  places <- rbind(c(0.2, 0.3, 0.5), c(0.6, 0.2, 0.2), c(0.1, 0.8, 0.1))
  # Each place many times, but for what annealing and rounding leave between them.
  which <- sample.int(3, 300, replace = TRUE)
  mu <- t(places[which, ]) + 1e-9 * rnorm(900)
  expect_identical(same_clusters(model, list(mu = mu)), match(which, which))
  # One after the other, each in the place of the one before.
  chain <- rbind(seq(0, 0.5, length.out = 300) * place_tol * 300, 0, 0) * model$options$scale
  expect_identical(same_clusters(model, list(mu = chain[, sample.int(300)])), rep(1L, 300))
})

test_that("a point is of the cluster, or of those that are the same, that is most probable", {
  set.seed(4)
  selected <- replicate(40, sort(sample.int(6, 3)))
  prob <- matrix(rexp(120), 3)
  prob[, 1:2] <- 0
  selected[3, 5:9] <- prob[3, 5:9] <- 0
  first <- c(1L, 2L, 1L, 4L, 2L, 1L)
  expected <- vapply(seq_len(40), function(n) {
    total <- vapply(1:6, function(h) sum(prob[first[selected[, n][selected[, n] > 0]] == h, n]), 1)
    if (all(total == 0)) 0L else which.max(total)
  }, 1L)
  storage.mode(selected) <- "integer"
  expect_identical(joint_owners(list(selected = selected, prob_on = prob), first), expected)
})

test_that("points are parted by seeds among them, into no more parts than there are points", {
  y <- t(planted_centres[c(1, 1, 2, 5), ] + 0.01)
  task <- new_task(y, model_gaussian_mixture(4, "spherical"), selector_full(), NULL, NULL,
                   short_control(n_threads = 1))
  set.seed(5)
  label <- part_points(task, 1:4, 3)
  expect_identical(match(label, label), c(1L, 1L, 3L, 4L))
  expect_identical(part_points(task, 4L, 3), 1L)
  expect_identical(part_points(task, integer(), 3), integer())
  expect_setequal(part_points(task, 2:4, 9), 1:3)
})
