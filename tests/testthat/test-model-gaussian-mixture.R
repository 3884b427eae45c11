# Model D: exact numbers, its three covariances, and what happens at its edges.
# @srrstats {G5.4b}

# Sigma of the oracle (C x D x D) and of the package (D x D x C).
oracle_params <- function(oracle) {
  list(mu = t(oracle$mu_rows), sigma = aperm(oracle$Sigma, c(2, 3, 1)), pi = oracle$pi)
}

test_that("exact numbers of D_case1 and D_case2", {
  for (name in c("D_case1", "D_case2")) {
    oracle <- read_model_oracle(name)
    y <- oracle$Y_rows
    selected <- oracle$sel0 + 1
    params <- oracle_params(oracle)
    model <- gps_bind(model_gaussian_mixture(oracle$C), y)
    step <- gps_estep(model, params, y, selected, want = c("stats", "prob"))
    expect_near(step$log_evidence, oracle$F_n, 1e-12)
    expect_near(sum(step$log_evidence), oracle$F, 1e-12)
    expect_near(spread_slots(step$prob_on, selected, oracle$C), oracle$r, 1e-12)
    joint <- log(step$prob) + step$log_evidence
    wanted <- t(vapply(seq_len(nrow(y)), function(n) oracle$logjoint[n, selected[n, ]],
                       numeric(ncol(selected))))
    expect_near(joint, wanted, 1e-10)
    maximum <- gps_mstep(model, params, step$stats)$params
    expect_near(maximum$pi, oracle$Mstep$pi, 1e-10)
    expect_near(t(maximum$mu), oracle$Mstep$mu_rows, 1e-10)
    expect_near(aperm(maximum$sigma, c(3, 1, 2)), oracle$Mstep$Sigma, 1e-10)
  }
})

test_that("the hand-crafted affinity is the exact log joint", {
  for (name in c("D_case1", "D_case2")) {
    oracle <- read_model_oracle(name)
    model <- gps_bind(model_gaussian_mixture(oracle$C), oracle$Y_rows)
    affinity <- gps_handcrafted(model, oracle_params(oracle), oracle$Y_rows)
    expect_near(affinity, oracle$logjoint, 1e-10)
  }
})

all_clusters <- function(y, n_clusters) {
  matrix(seq_len(n_clusters), nrow(y), n_clusters, byrow = TRUE)
}

test_that("full, diagonal and spherical covariances agree where they must", {
  set.seed(3)
  y <- matrix(rnorm(120, sd = 2), 40)
  mu <- matrix(rnorm(6), 3)
  variance <- c(0.7, 1.9)
  as_diagonal <- matrix(variance, 3, 2, byrow = TRUE)
  as_full <- array(c(diag(variance[1], 3), diag(variance[2], 3)), c(3, 3, 2))
  estep <- function(covariance, sigma) {
    model <- gps_bind(model_gaussian_mixture(2, covariance), y)
    params <- list(mu = mu, sigma = sigma, pi = c(0.4, 0.6))
    step <- gps_estep(model, params, y, all_clusters(y, 2))
    step$maximum <- gps_mstep(model, params, step$stats)$params
    step
  }
  spherical <- estep("spherical", variance)
  diagonal <- estep("diagonal", as_diagonal)
  full <- estep("full", as_full)
  expect_near(diagonal$log_evidence, spherical$log_evidence, 1e-13)
  expect_near(full$log_evidence, spherical$log_evidence, 1e-13)
  expect_near(full$prob_on, spherical$prob_on, 1e-13)
  expect_near(diagonal$maximum$mu, full$maximum$mu, 1e-13)
  expect_near(diagonal$maximum$sigma, apply(full$maximum$sigma, 3, diag), 1e-13)
  expect_near(spherical$maximum$sigma, colMeans(diagonal$maximum$sigma), 1e-13)
})

test_that("in one dimension the three are the same model", {
  set.seed(3)
  y <- matrix(c(rnorm(20), rnorm(20, 5)), 40)
  fits <- lapply(c("full", "diagonal", "spherical"), function(covariance) {
    set.seed(7)
    gps_fit(y, model_gaussian_mixture(2, covariance), selector_full(),
            control = short_control(max_iter = 15, tol = 0))
  })
  expect_identical(dim(fits[[1]]$params$sigma), c(1L, 1L, 2L))
  for (fit in fits[-1]) {
    expect_near(fit$bound, fits[[1]]$bound, 1e-12)
    expect_near(c(fit$params$sigma), c(fits[[1]]$params$sigma), 1e-12)
  }
})

test_that("clusters far from the origin lose no digits", {
  set.seed(5)
  near <- simulate_clusters(300, 3, 2, separation = 8)
  for (covariance in c("full", "diagonal", "spherical")) {
    fit_at <- function(offset) {
      set.seed(6)
      gps_fit(near$y + offset, model_gaussian_mixture(3, covariance), selector_full(),
              control = short_control(max_iter = 20, tol = 0))
    }
    origin <- fit_at(0)
    far <- fit_at(1e6)
    # Data at 1e6 are rounded to 1e-10; the variance scale shares their rounding.
    expect_near(far$bound, origin$bound, 1e-8)
    expect_near(far$params$mu - 1e6, origin$params$mu, 1e-8)
    expect_near(far$params$sigma, origin$params$sigma, 1e-8)
  }
})

test_that("the variance that floors and starts go by keeps its digits far from the origin", {
  set.seed(1)
  y <- matrix(rnorm(400, sd = 0.5), 100)
  scale <- variance_scale(y)
  for (offset in c(1e3, 1e6, 1e8)) {
    expect_lt(abs(variance_scale(y + offset) / scale - 1), 1e-15 * offset)
  }
  expect_identical(variance_scale(matrix(0.1, 30, 3)), mean(matrix(0.1, 30, 3)^2))
  expect_identical(variance_scale(matrix(0, 30, 3)), 1)
  # What rounding leaves of a constant is no variance either.
  y <- matrix(0.1, 30, 3)
  y[7, 2] <- 0.1 * (1 + .Machine$double.eps)
  expect_identical(as_moments(y)$variance, 0)
  expect_identical(variance_scale(y), mean(y^2))
})

test_that("an empty cluster keeps its place and the least weight", {
  set.seed(2)
  y <- matrix(rnorm(60), 30)
  model <- gps_bind(model_gaussian_mixture(3), y)
  params <- list(mu = cbind(c(0, 0), c(0.5, 0), c(100, 100)),
                 sigma = array(diag(2), c(2, 2, 3)), pi = c(0.5, 0.4, 0.1))
  step <- gps_estep(model, params, y, all_clusters(y, 3))
  maximum <- gps_mstep(model, params, step$stats)
  expect_identical(maximum$params$mu[, 3], params$mu[, 3])
  expect_identical(maximum$params$sigma[, , 3], params$sigma[, , 3])
  expect_identical(maximum$params$pi[3], 1e-4 / 3)
  expect_near(sum(maximum$params$pi), 1, 1e-15)
  expect_identical(maximum$events, c(sigma_floor = 0L, pi_floor = 1L, empty_cluster = 1L,
                                     sigma_kept = 1L))
})

test_that("weights at their floor are the constrained maximum", {
  model <- gps_bind(model_gaussian_mixture(4, "spherical"), matrix(rnorm(80), 40))
  params <- list(mu = matrix(0, 2, 4), sigma = rep(1, 4), pi = rep(0.25, 4))
  floor <- 1e-4 / 4
  on <- c(30, 10, 1e-9, 0)
  stats <- list(count = 40, on = on, first = matrix(0, 2, 4), second = rep(1, 4))
  pi <- gps_mstep(model, params, stats)$params$pi
  expect_near(sum(pi), 1, 1e-15)
  expect_identical(pi[3:4], c(floor, floor))
  expect_near(pi[1] / pi[2], 3, 1e-12)
})

test_that("a cluster of few points keeps its covariance and moves its mean", {
  set.seed(8)
  y <- rbind(matrix(rnorm(60, sd = 0.3), 20), c(50, 50, 50), c(50, 51, 50))
  model <- gps_bind(model_gaussian_mixture(2), y)
  params <- list(mu = cbind(c(0, 0, 0), c(49, 49, 49)), sigma = array(diag(3), c(3, 3, 2)),
                 pi = c(0.9, 0.1))
  step <- gps_estep(model, params, y, all_clusters(y, 2))
  result <- gps_mstep(model, params, step$stats)
  maximum <- result$params
  expect_identical(result$events[["sigma_kept"]], 1L)
  expect_identical(result$events[["empty_cluster"]], 0L)
  expect_near(maximum$mu[, 2], c(50, 50.5, 50), 1e-12)
  expect_identical(maximum$sigma[, , 2], diag(3))
  expect_false(identical(maximum$sigma[, , 1], diag(3)))
})

test_that("flat clusters are raised to the floor in the flat directions only", {
  set.seed(9)
  n <- 60
  y <- cbind(rnorm(n), 0, 0) + rep(c(0, 10), each = n / 2)
  y[, 3] <- 2 * y[, 2]
  for (covariance in c("full", "diagonal", "spherical")) {
    set.seed(1)
    fit <- quiet_degenerate(gps_fit(y, model_gaussian_mixture(2, covariance), selector_full(),
                                    control = short_control(max_iter = 40, tol = 0)))
    expect_true(is.finite(fit$bound))
    expect_no_fall(fit$trace$bound)
    floor <- cluster_floor
    unit <- fit$model$options$scale
    lowest <- min(vapply(1:2, function(k) {
      min(eigen(reference_covariance(fit$params, k) / tcrossprod(unit), symmetric = TRUE)$values)
    }, 1))
    expect_gte(lowest, floor * (1 - 1e-6))
    if (covariance == "full") {
      expect_lte(lowest, floor * (1 + 1e-6))
      expect_match(utils::tail(fit$trace$events, 1), "sigma_floor 2", fixed = TRUE)
    }
  }
})

test_that("one cluster is the data's mean and covariance at once", {
  set.seed(1)
  y <- matrix(rnorm(90), 30)
  fit <- gps_fit(y, model_gaussian_mixture(1), selector_full(),
                 control = short_control(max_iter = 3, tol = 0))
  expect_near(drop(fit$params$mu), colMeans(y), 1e-13)
  expect_near(matrix(fit$params$sigma, 3), cov(y) * 29 / 30, 1e-13)
  expect_identical(fit$params$pi, 1)
  truth <- sum(apply(y, 1, log_normal, colMeans(y), cov(y) * 29 / 30))
  expect_near(fit$bound, truth, 1e-12)
})

test_that("one selected cluster has all responsibility", {
  case <- draw_case(MODELS[[3]], 25)
  selected <- matrix(sample.int(4, 25, replace = TRUE), 25)
  step <- gps_estep(case$model, case$params, case$y, selected)
  expect_identical(step$prob_on, matrix(1, 25, 1))
  truth <- brute_force(MODELS[[3]], case$params, case$y, selected)
  expect_near(step$log_evidence, truth$log_evidence, 1e-12)
})

test_that("two equal clusters share their points", {
  case <- draw_case(MODELS[[3]], 25)
  case$params$mu[, 2] <- case$params$mu[, 1]
  case$params$sigma[, , 2] <- case$params$sigma[, , 1]
  case$params$pi <- c(0.3, 0.3, 0.2, 0.2)
  step <- gps_estep(case$model, case$params, case$y, all_clusters(case$y, 4))
  expect_identical(step$prob_on[, 1], step$prob_on[, 2])
  maximum <- gps_mstep(case$model, case$params, step$stats)$params
  expect_identical(maximum$mu[, 1], maximum$mu[, 2])
})

test_that("max_active is 1, and nothing else may be asked", {
  case <- draw_case(MODELS[[3]], 25)
  selected <- draw_selected(25, 4, 3)
  expect_identical(gps_estep(case$model, case$params, case$y, selected, max_active = 1),
                   gps_estep(case$model, case$params, case$y, selected))
  expect_gps_error(gps_estep(case$model, case$params, case$y, selected, max_active = 3),
                   "`max_active` must be 1, not 3: exactly one cluster is on.")
})

test_that("initial clusters stand on data points with variances between the floor and the data's", {
  set.seed(1)
  y <- matrix(rnorm(60), 30)
  for (covariance in c("full", "diagonal", "spherical")) {
    model <- gps_bind(model_gaussian_mixture(4, covariance), y)
    init <- gps_init(model, y)
    rows <- apply(init$mu, 2, function(mean) which(colSums(t(y) == mean) == 2))
    expect_length(unique(rows), 4)
    variance <- c(vapply(1:4, function(k) diag(reference_covariance(init, k)), c(0, 0)))
    expect_true(all(variance >= cluster_floor * min(column_units(y)^2) &
                      variance <= max(column_units(y)^2)))
    expect_lt(mean(variance), as_moments(y)$variance)
    expect_identical(init$pi, rep(0.25, 4))
    constant <- matrix(2, 30, 2)
    model <- gps_bind(model_gaussian_mixture(4, covariance), constant)
    init <- gps_init(model, constant)
    expect_identical(diag(reference_covariance(init, 1)), rep(cluster_floor * 2^2, 2))
  }
})

test_that("with a covariance in common the M-step pools the clusters' own", {
  set.seed(4)
  y <- matrix(rnorm(240), 80) %*% diag(c(1, 10, 100))
  for (covariance in c("full", "diagonal", "spherical")) {
    model <- gps_bind(model_gaussian_mixture(3, covariance), y)
    params <- gps_init(model, y)
    stats <- gps_estep(model, params, y, all_clusters(y, 3))$stats
    own <- gps_mstep(model, params, stats)$params
    model$options$common <- 1
    common <- mstep_model(model, params, stats)$params
    expect_identical(common[c("mu", "pi")], own[c("mu", "pi")])
    pooled <- Reduce(`+`, lapply(1:3, function(k) {
      stats$on[k] / 80 * reference_covariance(own, k)
    }))
    for (k in 1:3) {
      expect_near(reference_covariance(common, k) / pooled[3, 3], pooled / pooled[3, 3], 1e-12)
    }
  }
})

test_that("data that cannot carry the clusters are refused", {
  expect_gps_error(gps_fit(matrix(rnorm(6), 3), model_gaussian_mixture(4), selector_full()),
                   "`n_components` must be at most the number of data points, 3, not 4")
})

test_that("units of columns are their spread, their size, or 1, and never lost", {
  set.seed(1)
  y <- cbind(rnorm(50, 1e3, 1e-3), 7, 0, 1e5 + 1e-9 * (1:50))
  unit <- column_units(y)
  expect_near(unit[1:3] / c(sqrt(mean((y[, 1] - mean(y[, 1]))^2)), 7, 1), rep(1, 3), 1e-9)
  expect_gte(unit[4], 1e-11 * 1e5)
  expect_gps_error(column_units(cbind(rnorm(9), 1e-170 * (1:9))),
                   "Column 2 of `y` is too small to square")
})

test_that("parameters that are no mixture are refused by name", {
  case <- draw_case(MODELS[[3]], 25)
  refuse <- function(params, words, model = case$model) {
    expect_gps_error(gps_estep(model, modifyList(case$params, params), case$y,
                               all_clusters(case$y, 4)), words)
  }
  refuse(list(pi = c(0.4, 0.3, 0.2, 0.2)), "`params$pi` must add up to 1, not to 1.1")
  refuse(list(pi = c(1.4, -0.4, 0, 0)), "`params$pi` must lie between 0 and 1")
  flat <- case$params$sigma
  flat[, , 2] <- 1
  refuse(list(sigma = flat), "positive definite, but that of cluster 2 is not")
  skewed <- case$params$sigma
  skewed[1, 2, 3] <- skewed[1, 2, 3] + 0.1
  refuse(list(sigma = skewed), "symmetric and positive definite, but that of cluster 3 is not")
  spherical <- gps_bind(model_gaussian_mixture(4, "spherical"), case$y)
  refuse(list(sigma = c(1, 1, 0, 1)), "`params$sigma` must be positive", spherical)
})

test_that("bad arguments of the constructor are refused by name", {
  for (bad in list(0, 2.5, NA, "5", -1, NULL)) {
    expect_gps_error(model_gaussian_mixture(bad), "`n_components` must be a whole number")
  }
  expect_gps_error(model_gaussian_mixture(2, "sperical"), "Did you mean \"spherical\"?")
})
