# Mixtures whose clusters have one covariance in common.

test_that("a tied mixture is mclust's EEE: its likelihood at the maximum, parameters, BIC", {
  skip_if_not_installed("mclust")
  y <- as.matrix(iris[1:4])
  mclustBIC <- mclust::mclustBIC
  theirs <- mclust::Mclust(y, 3, "EEE", verbose = FALSE,
                           control = mclust::emControl(tol = c(1e-14, 1e-14)))
  fit <- gps_fit(y, model_gaussian_mixture(3, "tied"), selector_full(), start = theirs,
                 control = short_control(max_iter = 2000, tol = 1e-13, mend = FALSE))
  expect_near(fit$bound, theirs$loglik, 1e-10)
  expect_identical(attr(logLik(fit), "df"), theirs$df)
  expect_near(BIC(fit), -theirs$bic, 1e-9)
  expect_near(unname(fit$params$mu), unname(theirs$parameters$mean), 1e-5)
  expect_near(unname(fit$params$sigma[, , 1]), unname(theirs$parameters$variance$Sigma), 1e-5)
})

test_that("a tied covariance is of all points, also of a cluster that keeps its mean", {
  set.seed(2)
  y <- matrix(rnorm(60), 30)
  model <- gps_bind(model_gaussian_mixture(3, "tied"), y)
  params <- list(mu = cbind(c(0, 0), c(0.5, 0), c(3, 4)), sigma = array(diag(2), c(2, 2, 1)),
                 pi = c(0.5, 0.4999, 0.0001))
  step <- gps_estep(model, params, y, matrix(1:3, 30, 3, byrow = TRUE))
  expect_lt(step$stats$on[3], 1)
  maximum <- gps_mstep(model, params, step$stats)
  expect_identical(maximum$params$mu[, 3], params$mu[, 3])
  scatter <- Reduce(`+`, lapply(1:3, function(k) {
    x <- t(y) - maximum$params$mu[, k]
    x %*% (step$prob_on[, k] * t(x))
  }))
  expect_near(maximum$params$sigma[, , 1], scatter / 30, 1e-13)
  expect_identical(maximum$events[["empty_cluster"]], 1L)
  # It is the maximum of the expected log joint: by differences along random directions.
  expected <- function(sigma) {
    root <- chol(sigma)
    -30 * sum(log(diag(root))) - sum(diag(solve(sigma, scatter))) / 2
  }
  best <- expected(maximum$params$sigma[, , 1])
  for (seed in 1:5) {
    direction <- crossprod(matrix(rnorm(4), 2)) - diag(2)
    for (by in c(-1e-3, 1e-3)) {
      expect_lt(expected(maximum$params$sigma[, , 1] + by * direction), best)
    }
  }
})

test_that("tied statistics are the same from few slots, by clusters, and with weights", {
  set.seed(3)
  y <- matrix(rnorm(90), 30)
  model <- gps_bind(model_gaussian_mixture(20, "tied"), y)
  params <- gps_init(model, y)
  expect_identical(dim(params$sigma), c(3L, 3L, 1L))
  selected <- t(replicate(30, sort(sample.int(20, 4))))
  step <- gps_estep(model, params, y, selected)
  x <- sweep(y, 2, model$options$centre)
  expect_near(step$stats$second[1:3, , 1], crossprod(x), 1e-12)
  fit <- quiet_degenerate(gps_fit(y, model_gaussian_mixture(2, "tied"), selector_full(),
                                  start = rep(1:2, 15), control = short_control(max_iter = 5),
                                  weights = rep(c(2, 1, 0), 10)))
  twice <- y[rep(1:30, rep(c(2, 1, 0), 10)), ]
  again <- quiet_degenerate(gps_fit(twice, model_gaussian_mixture(2, "tied"), selector_full(),
                                    start = rep(1:2, 15)[rep(1:30, rep(c(2, 1, 0), 10))],
                                    control = short_control(max_iter = 5)))
  expect_near(fit$bound, again$bound, 1e-10)
  expect_near(c(fit$params$sigma), c(again$params$sigma), 1e-10)
})

test_that("a tied covariance that has no width is said, and raised to its floor", {
  set.seed(4)
  y <- cbind(a = rep(0:3, 50), b = rnorm(200))
  expect_warning(
    fit <- gps_fit(y, model_gaussian_mixture(4, "tied"), selector_full(), start = rep(1:4, 50),
                   control = short_control(max_iter = 3)),
    "all clusters have shrunk to no width in column 1 (\"a\")", fixed = TRUE,
    class = "gps_warning_degenerate"
  )
  unit <- fit$model$options$scale
  expect_near(fit$params$sigma[1, 1, 1] / unit[1]^2, cluster_floor, 1e-10)
  expect_warning(gps_fit(cbind(y, 7), model_gaussian_mixture(2, "tied"), selector_full(),
                         control = short_control(max_iter = 3)),
                 "column 3 has no spread", class = "gps_warning_degenerate")
  expect_warning(gps_fit(matrix(rnorm(20), 5), model_gaussian_mixture(3, "tied"), selector_full(),
                         control = short_control(max_iter = 3)),
                 "5 points in 3 clusters, and a tied covariance of 4 columns needs 7",
                 class = "gps_warning_degenerate")
  flat <- array(1, c(2, 2, 1))
  expect_gps_error(gps_fit(y, model_gaussian_mixture(2, "tied"), selector_full(),
                           start = list(sigma = flat)),
                   "`start$sigma` must be symmetric and positive definite, and is not")
})

test_that("a tied mixture draws, is summarised and splits clusters with one covariance", {
  case <- draw_case(Filter(function(row) row$name == "gaussian_mixture tied", MODELS)[[1]], 25)
  model <- case$model
  params <- case$params
  expect_true(is_tied(params))
  set.seed(1)
  drawn <- gps_draw(model, params, 4000)
  of <- max.col(drawn$latents)
  within <- cov(drawn$y - t(params$mu)[of, ])
  expect_lt(max(abs(within / params$sigma[, , 1] - 1)), 0.25)
  merged <- merged_cluster(params, c(1, 2))
  expect_identical(merged$sigma, params$sigma[, , 1])
  expect_identical(set_cluster(params, c(1, 2), merged)$sigma, params$sigma)
  split <- list(latent = 2, size = c(3, 4), centres = matrix(c(1, 0, 0, -1, 0, 0), 3))
  moved <- move_component(model, params, 1, split)
  expect_identical(moved$sigma, params$sigma)
  expect_near(moved$mu[, 2:1], params$mu[, 2] + split$centres, 1e-15)
})
