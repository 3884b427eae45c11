# Where many clusters begin: seeds in units of columns in which clusters are about equally wide.

test_that("seeds of many clusters are not scattered by noise, whatever its unit and direction", {
  set.seed(1)
  places <- 6 * as.matrix(expand.grid(1:7, 1:7))
  cluster <- rep(1:49, each = 12)
  n <- length(cluster)
  y <- cbind(places[cluster, ] + rnorm(2 * n), rnorm(n))
  standardise <- function(y, model) (t(y) - model$options$centre) / model$options$scale
  # Squared distances of points to others, in the metric's unit, and what each column is of the
  # mean squared distance.
  measure <- function(y, covariance, weights = NULL) {
    model <- gps_bind(model_gaussian_mixture(49, covariance), y)
    x <- standardise(y, model)
    metric <- seed_metric(model, x, weights)
    z <- in_metric(x, metric)
    square <- square_distances(z, colSums(z^2), 1:5)
    metric <- in_metric(diag(3), metric)
    list(distances = square / mean(square), share = colSums(metric^2) / sum(metric^2))
  }
  hits_of <- function(y, covariance, back = diag(ncol(y))) {
    set.seed(2)
    params <- gps_init(gps_bind(model_gaussian_mixture(49, covariance), y), y)
    mu <- crossprod(back, params$mu)[1:2, ]
    length(unique(apply(mu, 2, function(mu) which.min(colSums((t(places) - mu)^2)))))
  }
  for (covariance in c("diagonal", "full")) {
    # Standardised clusters are narrow in two columns.
    measured <- measure(y, covariance)
    expect_lt(measured$share[3], 0.03)
    # Neither units nor origins nor the order of columns have a say.
    other <- t(t(y) * c(1, 1e-6, 1e6) + 5)[, 3:1]
    expect_equal(measure(other, covariance)$distances, measured$distances, tolerance = 1e-6)
    expect_gt(hits_of(y, covariance), 41)
  }
  set.seed(3)
  turn <- qr.Q(qr(matrix(rnorm(9), 3)))
  turned <- t(t(y) * c(1, 1, 100)) %*% t(turn)
  for (covariance in c("full", "tied")) expect_gt(hits_of(turned, covariance, turn), 41)
  # Nothing where columns tell as much as others, or have one unit.
  metric_of <- function(y, covariance) {
    model <- gps_bind(model_gaussian_mixture(49, covariance), y)
    seed_metric(model, standardise(y, model))
  }
  for (covariance in c("diagonal", "full")) expect_null(metric_of(y[, 1:2], covariance))
  expect_null(metric_of(y, "spherical"))
  # Nor where many columns differ by chance, along directions.
  expect_null(metric_of(matrix(rnorm(49 * 16, sd = 3), 49)[cluster, ] + rnorm(n * 16), "full"))
  # A column of few different values leaves something of all others.
  metric <- in_metric(diag(ncol(y) + 1), metric_of(cbind(y, rep_len(0:1, n)), "diagonal"))
  expect_lte(max(svd(metric)$d) / min(svd(metric)$d), 10 + 1e-8)
  # Points that are the same, and points of some weight.
  expect_true(all(is.finite(measure(y[rep(1:50, 12), ], "full")$distances)))
  expect_lt(measure(y, "full", cluster)$share[3], 0.03)
})

test_that("mixtures of many clusters beside a column of noise are found", {
  set.seed(1)
  places <- 7 * as.matrix(expand.grid(1:7, 1:6))
  cluster <- rep(1:42, each = 30)
  y <- cbind(places[cluster, ] + rnorm(2520), 100 * rnorm(1260))
  fit <- gps_fit(y, model_gaussian_mixture(42), selector_gp(method = "neighbours"),
                 control = gps_control(progress = FALSE, max_iter = 40))
  expect_gt(adjusted_rand(cluster, predict(fit, type = "class")), 0.8)
})

test_that("diagonal clusters beside a column of noise end where EM from the truth does", {
  set.seed(3)
  places <- 6 * as.matrix(expand.grid(1:7, 1:7))
  cluster <- rep(1:49, each = 20)
  y <- cbind(places[cluster, ] + rnorm(1960), 100 * rnorm(980))
  truth <- list(mu = t(rowsum(y, cluster)) / 20, sigma = matrix(c(1, 1, 1e4), 3, 49),
                pi = rep(1 / 49, 49))
  bound_of <- function(start, ...) {
    set.seed(3)
    gps_fit(y, model_gaussian_mixture(49, "diagonal"), selector_full(), start = start,
            control = gps_control(progress = FALSE, max_iter = 60, ...))$bound
  }
  expect_gt(bound_of(NULL), bound_of(truth, mend = FALSE) - 20)
})

test_that("many clusters beside noise along a direction end where EM from the truth does", {
  set.seed(2)
  places <- 6 * as.matrix(expand.grid(1:7, 1:7))
  cluster <- rep(1:49, each = 30)
  turn <- qr.Q(qr(matrix(rnorm(9), 3)))
  y <- cbind(places[cluster, ] + rnorm(2940), 100 * rnorm(1470)) %*% t(turn)
  truth <- list(mu = turn %*% rbind(t(places), 0), pi = rep(1 / 49, 49),
                sigma = array(turn %*% diag(c(1, 1, 1e4)) %*% t(turn), c(3, 3, 1)))
  bound_of <- function(start, ...) {
    set.seed(2)
    gps_fit(y, model_gaussian_mixture(49, "tied"), selector_full(), start = start,
            control = gps_control(progress = FALSE, max_iter = 60, ...))$bound
  }
  expect_gt(bound_of(NULL), bound_of(truth, mend = FALSE) - 20)
})

# list(seeds, label) of greedy k-means++ by its definition, in which each candidate is compared with
# each point.
plain_seeds <- function(x, n_seeds, weights = NULL) {
  from <- function(point) colSums((x - x[, point])^2)
  seeds <- sample.int(ncol(x), 1, prob = weights)
  if (is.null(weights)) weights <- rep(1, ncol(x))
  nearest <- from(seeds)
  label <- rep(1L, ncol(x))
  while (length(seeds) < n_seeds) {
    total <- cumsum(weights * nearest)
    at <- runif(2 + floor(log(n_seeds))) * total[ncol(x)]
    trials <- unique(findInterval(at, total) + 1)
    left <- lapply(trials, function(trial) pmin(from(trial), nearest))
    best <- which.min(vapply(left, function(left) sum(weights * left), 1))
    seeds <- c(seeds, trials[best])
    label[left[[best]] < nearest] <- length(seeds)
    nearest <- left[[best]]
  }
  list(seeds = seeds, label = label)
}

test_that("seeds are those of greedy k-means++ by its definition", {
  set.seed(8)
  x <- matrix(rnorm(1200), 4)
  weights <- rexp(300)
  both <- function(x, n_seeds, ...) {
    lapply(list(draw_seeds, plain_seeds), function(draw) {
      set.seed(3)
      draw(x, n_seeds, ...)
    })
  }
  expect_same <- function(drawn) expect_equal(drawn[[1]], drawn[[2]])
  expect_same(both(x, 40))
  expect_same(both(x + 1e4, 30))
  expect_same(both(x, 25, weights))
  expect_same(both(x, 25, as.double(rep(c(1, 40), c(270, 30)))))
  # Places that several points have, and points that are equally near to several seeds.
  lattice <- t(as.matrix(expand.grid(1:5, 1:5, 1:3)))
  expect_same(both(unname(lattice[, rep(1:75, 4)]) + 0, 30))
  expect_same(both(x[1, , drop = FALSE], 12))
  expect_same(both(x, 60))
})

test_that("of very many clusters the comparisons are left out in which hardly a point is nearer", {
  set.seed(8)
  local_value("most_exact_seeds", 50)
  y <- matrix(rnorm(16000), 8)
  drawn <- draw_seeds(y, 100)
  expect_identical(anyDuplicated(drawn$seeds), 0L)
  expect_identical(drawn$label[drawn$seeds], 1:100)
  distances <- square_distances(y, colSums(y^2), drawn$seeds)
  reached <- distances[cbind(1:2000, drawn$label)]
  expect_lt(mean(reached) / mean(apply(distances, 1, min)), 1.01)
  expect_false(identical(drawn$label, max.col(-distances, "first")))
})

test_that("of very many clusters nothing is left out in few dimensions, where angles are small", {
  set.seed(8)
  local_value("most_exact_seeds", 50)
  for (n_dims in 1:3) {
    y <- matrix(rnorm(2000 * n_dims), n_dims)
    set.seed(3)
    drawn <- draw_seeds(y, 100)
    set.seed(3)
    expect_equal(drawn, plain_seeds(y, 100))
  }
})

test_that("seeds are drawn anyhow where all points are at seeds", {
  set.seed(8)
  x <- matrix(rnorm(80), 4)
  drawn <- draw_seeds(x[, rep(1:2, 10)], 6)
  expect_identical(anyDuplicated(drawn$seeds), 0L)
  expect_identical(drawn$label[drawn$seeds], 1:6)
  expect_identical(sort((drawn$seeds[1:2] - 1) %% 2), c(0, 1))
  expect_identical(anyDuplicated(draw_seeds(matrix(0, 2, 9), 9)$seeds), 0L)
  expect_identical(count_seed_rows(10), 2000)
  expect_identical(vapply(c(800, 5000, 8192, 1e5), count_seed_rows, 1) / c(800, 5000, 8192, 1e5),
                   c(10, 10, 8, 3))
})

test_that("seeds are the same in any unit, and none is drawn twice", {
  set.seed(5)
  x <- matrix(rnorm(600), 2)
  draw <- function(x, n) {
    set.seed(6)
    draw_seeds(x, n)
  }
  for (n in c(5, 100)) {
    before <- draw(x, n)
    for (power in c(-1020, -700, -538, -500, 511, 515, 700, 1020)) {
      expect_identical(draw(x * 2^power, n), before, label = power)
    }
  }
  # Beside one point far away squares of distances of all others have few digits, or none.
  for (power in -542:-530) for (seed in 1:5) for (n in c(40, 100)) {
    set.seed(seed)
    seeds <- draw_seeds(cbind(x * 2^power, 1), n)$seeds
    expect_identical(anyDuplicated(seeds), 0L, label = paste(power, seed, n))
  }
})

test_that("copies of a point are not all its neighbours", {
  z <- rbind(c(3, rep(1, 1000), 0, 5), 0)
  pairs <- near_pairs(z, c(1, 2, 1002), 5)
  expect_identical(pairs$point, rep(c(2, 1002), each = 5))
  # As far as one another, these are taken from all places.
  expect_identical(range(pairs$near[pairs$point == 1002]), c(2L, 1001L))
})
