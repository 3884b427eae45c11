# Where many clusters begin: seeds in units of columns in which clusters are about equally wide.

test_that("seeds of many clusters are not scattered by a column of noise, whatever its unit", {
  set.seed(1)
  places <- 6 * as.matrix(expand.grid(1:7, 1:7))
  cluster <- rep(1:49, each = 40)
  y <- cbind(places[cluster, ] + rnorm(3920), rnorm(1960))
  units_of <- function(y, covariance, weights = NULL) {
    set.seed(2)
    model <- gps_bind(model_gaussian_mixture(49, covariance), y)
    seed_units(model, (t(y) - model$options$centre) / model$options$scale, weights)
  }
  for (covariance in c("diagonal", "full", "tied")) {
    units <- units_of(y, covariance)
    # Standardised clusters are narrow in two columns.
    expect_lt(max(units[1:2]) / units[3], 0.25)
    expect_equal(units_of(t(t(y) * c(1, 1, 1e6)), covariance), units, tolerance = 1e-6)
    expect_equal(units_of(t(t(y) * c(1, 1e-6, 1) + 5), covariance), units, tolerance = 1e-6)
    expect_equal(units_of(y[, 3:1], covariance), rev(units), tolerance = 1e-6)
    set.seed(2)
    params <- gps_init(gps_bind(model_gaussian_mixture(49, covariance), y), y)
    hit <- apply(params$mu[1:2, ], 2, function(mu) which.min(colSums((t(places) - mu)^2)))
    expect_gt(length(unique(hit)), 42)
  }
  # Nothing where columns tell as much as others, or have one unit.
  expect_identical(units_of(y[, 1:2], "diagonal"), c(1, 1))
  expect_identical(units_of(y, "spherical"), c(1, 1, 1))
  # A column of few different values leaves something of all others.
  expect_gte(min(units_of(cbind(y, rep(0:1, 980)), "diagonal")), 0.1)
  # Points that are the same, and points of some weight.
  expect_true(all(is.finite(units_of(y[rep(1:50, 40), ], "full"))))
  expect_lt(max(units_of(y, "full", cluster)[1:2]), 0.25)
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
  cluster <- rep(1:49, each = 40)
  y <- cbind(places[cluster, ] + rnorm(3920), 100 * rnorm(1960))
  truth <- list(mu = t(rowsum(y, cluster)) / 40, sigma = matrix(c(1, 1, 1e4), 3, 49),
                pi = rep(1 / 49, 49))
  bound_of <- function(start, ...) {
    set.seed(3)
    gps_fit(y, model_gaussian_mixture(49, "diagonal"), start = start,
            control = gps_control(progress = FALSE, max_iter = 60, ...))$bound
  }
  expect_gt(bound_of(NULL), bound_of(truth, mend = FALSE) - 20)
})
