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

test_that("many mergers cost at once what each costs by itself", {
  set.seed(5)
  y <- matrix(rnorm(180), 60)
  mu <- matrix(rnorm(15), 3)
  covariances <- list(spherical = 1:5 / 4, diagonal = matrix(1:15 / 9, 3),
                      full = array(diag(3), c(3, 3, 5)))
  pairs <- t(utils::combn(5, 2))
  # One of no point has nothing to lose.
  mu[, 5] <- 1e3
  for (covariance in names(covariances)) {
    params <- list(mu = mu, sigma = covariances[[covariance]], pi = 1:5 / 15)
    case <- mixture_at(y, params, covariance)
    case$result$weights <- runif(60)
    held <- held_slots(case$result)
    joint <- join_held(held, pairs, 5)
    local_value("block_doubles", 8 * 3 * 25)
    each <- vapply(seq_len(nrow(pairs)), function(i) {
      own <- held$latent %in% pairs[i, ]
      both <- tapply(held$prob[own], held$point[own], sum)
      points <- as.integer(names(both))
      expect_identical(joint$point[joint$pair == i], points)
      pair_cost(case$task, case$result, points, c(both), merged_cluster(params, pairs[i, ]))
    }, 1)
    expect_equal(merge_costs(case$task, case$result, joint, params, pairs), each,
                 tolerance = 1e-12, info = covariance)
  }
  none <- pairs[0, , drop = FALSE]
  expect_identical(merge_costs(case$task, case$result, join_held(held, none, 5), params, none),
                   numeric())
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

test_that("what a split promises is what the densities of halves are worth to its points", {
  set.seed(5)
  residual <- matrix(rnorm(240), 6) * rep(c(1, 3), c(150, 90)) + outer(1:6, rep(c(0, 4), c(25, 15)))
  residual <- residual - rowMeans(residual)
  split <- split_residual(residual, 1L)
  step <- split$centres[, 1] - split$centres[, 2]
  high <- (drop(crossprod(residual, step)) < 0) + 1
  expect_identical(tabulate(high), as.integer(split$size))
  within <- residual - split$centres[, high]
  log_density <- function(x, variance) sum(dnorm(x, 0, sqrt(variance), log = TRUE))
  # `spread` has the mean square of each dimension; two more points have that of both halves.
  worth <- function(spread) {
    own <- vapply(1:2, function(half) {
      n <- sum(high == half)
      (n * spread(within[, high == half]) + 2 * spread(within)) / (n + 2)
    }, numeric(6))
    log_density(within, own[, high]) - log_density(residual, spread(residual)) +
      sum(split$size * log(split$size / 40))
  }
  gain <- function(covariance) move_gain(model_gaussian_mixture(2, covariance), split, residual)
  expect_near(gain("diagonal"), worth(function(x) rowMeans(x^2)), 1e-10)
  expect_near(gain("spherical"), worth(function(x) rep(mean(x^2), 6)), 1e-10)
  # Dimensions without spread promise nothing.
  flat <- split
  flat$within <- rbind(split$within, 0)
  flat$centres <- rbind(split$centres, 0)
  expect_near(move_gain(model_gaussian_mixture(2, "diagonal"), flat, rbind(residual, 0)),
              gain("diagonal"), 1e-10)
})

test_that("a split by one covariance of all clusters promises what all points gain by it", {
  set.seed(9)
  turn <- matrix(c(1, 0, 2, 0.5, 100, 3, 0, 0, 0.1), 3)
  label <- rep(1:3, c(60, 40, 150))
  y <- matrix(rnorm(750), 250) %*% turn + cbind(c(30, 0, 0), c(900, 0, -2000), c(2, 0, 0))[label, ]
  model <- gps_bind(model_gaussian_mixture(2, "tied"), y)
  scale <- model$options$scale
  one <- rep(1:2, c(100, 150))
  means <- function(label) (rowsum(y, label) / c(table(label)))[label, ]
  scatter <- crossprod(y - means(one)) / 250
  residual <- t(y - means(one))[, 1:100] / scale
  split <- split_residual(residual, 1L)
  expect_setequal(split$size, c(60, 40))
  log_det <- function(x) c(determinant(x)$modulus)
  worth <- (log_det(scatter) - log_det(crossprod(y - means(label)) / 250)) * 250 / 2
  mu <- t(rowsum(y, one) / c(table(one)))
  params <- list(mu = mu, sigma = array(scatter, c(3, 3, 1)), pi = c(0.4, 0.6))
  expected <- worth + sum(split$size * log(split$size / 100))
  expect_near(move_gain(model, split, residual, params), expected, 1e-9)
  # A cluster that others stand upon has their points, too.
  params <- list(mu = mu[, c(1, 2, 1)], sigma = params$sigma, pi = c(0.1, 0.6, 0.3))
  expect_near(move_gain(model, split, residual, params), expected, 1e-9)
})

test_that("a cluster that stands for several of other spread promises to be split", {
  set.seed(8)
  y <- matrix(rnorm(1800), 2) + cbind(c(0, 0), c(6, 0), c(3, 5))[, rep(1:3, each = 300)]
  split <- split_residual(y - rowMeans(y), 1L)
  # One of three, and the other two: the fit of two clusters gains 220 nats beside one.
  expect_gt(move_gain(model_gaussian_mixture(2, "spherical"), split, y), 50)
})

test_that("halves that share no point are merged where two clusters have one", {
  set.seed(6)
  n_dims <- 24
  mu <- matrix(rnorm(42 * n_dims, 0, 3), n_dims)
  cluster <- rep(1:42, each = 14)
  y <- t(mu[, cluster]) + rnorm(length(cluster) * n_dims)
  half <- list(which(cluster == 3)[1:7], which(cluster == 3)[8:14])
  begun <- list(mu = mu, sigma = matrix(1, n_dims, 42))
  begun$mu[, 1] <- (mu[, 1] + mu[, 2]) / 2
  begun$sigma[, 1] <- 9
  for (k in 1:2) {
    begun$mu[, k + 1] <- colMeans(y[half[[k]], ])
    begun$sigma[, k + 1] <- apply(y[half[[k]], ], 2, var)
  }
  # One unit of all columns is not theirs.
  unit <- rep(c(1, 100), n_dims / 2)
  fit <- function(covariance, start) {
    gps_fit(t(t(y) * unit), model_gaussian_mixture(42, covariance), selector_full(), start = start,
            control = gps_control(max_iter = 60, n_threads = 1, progress = FALSE))
  }
  mended <- fit("diagonal", list(mu = begun$mu * unit, sigma = begun$sigma * unit^2))
  expect_match(paste(mended$trace$events, collapse = " "), "split")
  expect_near(mended$bound, fit("diagonal", list(mu = mu * unit))$bound, 1e-8)
})

test_that("each cluster has a pair with that of the nearest mean, in the units of the columns", {
  set.seed(7)
  unit <- c(1, 100, 0.01)
  y <- matrix(rnorm(600), 200) %*% diag(unit)
  task <- list(model = gps_bind(model_gaussian_mixture(20), y), n_threads = 1L)
  mu <- t(y[1:20, ])
  far <- unname(as.matrix(dist(t(mu / task$model$options$scale)))) + diag(1e9, 20)
  expected <- t(apply(cbind(1:20, apply(far, 1, which.min)), 1, sort))
  expect_identical(nearest_pairs(task, mu), unique(expected))
})

test_that("two clusters that are the same become two again, of every covariance", {
  y <- as.matrix(faithful)
  for (covariance in c("full", "diagonal", "spherical", "tied")) {
    fit <- function(...) {
      set.seed(1)
      gps_fit(y, model_gaussian_mixture(2, covariance), ...,
              control = gps_control(n_threads = 1, progress = FALSE, n_starts = 1, max_iter = 60))
    }
    alike <- fit(start = list(mu = cbind(colMeans(y), colMeans(y))))
    expect_match(paste(alike$trace$events, collapse = " "), "split")
    expect_near(alike$bound, fit()$bound, 1e-3)
  }
})

test_that("points of a latent are those in which it is on, or the most probable", {
  on <- cbind(c(0.5, 0.5, 0), c(0.2, 0.4, 0.4), c(0, 0.1, 0.9))
  mixture <- points_of(model_gaussian_mixture(3), on)
  expect_identical(lapply(1:3, function(h) which(mixture(h))), list(1L, 2L, 3L))
  causes <- points_of(model_binary_sparse(3), on)
  expect_identical(lapply(1:3, function(h) which(causes(h))), list(integer(), integer(), 3L))
  held <- list(latent = c(2L, 1L, 3L, 2L, 3L), point = c(1L, 1L, 2L, 2L, 3L),
               prob = c(0.5, 0.5, 0.4, 0.4, 0.9))
  expect_identical(owned_slots(held), c(2L, 4L, 5L))
  joined <- points_of(model_gaussian_mixture(3), join_rows(on, 1, 2))
  expect_identical(which(joined(2)), 1:2)
})

test_that("three clusters that a high temperature has made two are three again", {
  fit <- function(anneal) {
    set.seed(1)
    gps_fit(faithful, model_gaussian_mixture(3, "tied"), selector_full(),
            control = gps_control(anneal = anneal, progress = FALSE, n_threads = 1))
  }
  expect_near(fit(2)$bound, fit(NULL)$bound, 0.01)
})
