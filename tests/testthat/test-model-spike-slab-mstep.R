# The M-step of model B: its maximum, its bound, its floors and its scale.

# CRAN's machines leave the slowest files out.
skip_on_cran()

# Bounds of EM iterations from gps_init(), each with the scale settled as a fit does.
em_bounds <- function(problem, selected, n_iterations) {
  params <- gps_init(problem$model, problem$y)
  vapply(seq_len(n_iterations), function(iteration) {
    step <- gps_estep(problem$model, params, problem$y, selected)
    maximised <- gps_mstep(problem$model, params, step$stats)$params
    params <<- gps_mend(problem$model, maximised, step$stats)$params
    sum(step$log_evidence)
  }, 1)
}

test_that("exact EM never lowers the bound: random problems for each covariance", {
  n_problems <- if (is_full()) 200 else 12
  for (covariance in c("full", "diagonal")) {
    for (seed in seq_len(n_problems)) {
      problem <- random_problem(seed, covariance, n_latents = 2 + seed %% 3)
      expect_no_fall(em_bounds(problem, problem$all, if (is_full()) 12 else 8))
    }
  }
})

test_that("truncated EM never lowers the bound at fixed selections", {
  for (covariance in c("full", "diagonal")) {
    for (seed in seq_len(if (is_full()) 40 else 9)) {
      problem <- random_problem(seed, covariance)
      selected <- draw_selected(30, 4, 1 + seed %% 3)
      expect_no_fall(em_bounds(problem, selected, if (is_full()) 25 else 12))
    }
  }
})

test_that("the scale of a latent changes nothing that can be observed", {
  for (covariance in c("diagonal", "full")) {
    problem <- random_problem(5, covariance)
    model <- problem$model
    before <- gps_estep(model, problem$params, problem$y, problem$all,
                        want = c("stats", "prob", "latent", "response"))
    mended <- gps_mend(model, problem$params, before$stats)
    after <- gps_estep(model, mended$params, problem$y, problem$all,
                       want = c("stats", "prob", "latent", "response"))
    expect_null(mended$relabel)
    expect_near(after$log_evidence, before$log_evidence, 1e-12)
    expect_near(after$prob, before$prob, 1e-12)
    expect_near(after$response, before$response, 1e-12)
    expect_near(after$latent, before$latent * rep(mended$rescale, each = 30), 1e-12)
    params <- mended$params
    expect_true(all(params$mu >= 0))
    expect_near(params$mu^2 + slab_variances(params$psi), rep(1, 4), 1e-14)
    # The M-step does not depend on the scale either.
    a <- gps_mend(model, gps_mstep(model, problem$params, before$stats)$params, before$stats)
    b <- gps_mend(model, gps_mstep(model, params, after$stats)$params, after$stats)
    for (name in names(a$params)) expect_near(b$params[[name]], a$params[[name]], 1e-10)
    again <- gps_mend(model, params, after$stats)
    expect_near(again$rescale, rep(1, 4), 1e-14)
  }
})

# Expected log joint of model B, up to constants, at a posterior; z of latents that are off counts
# where slabs are correlated.
expected_log_joint <- function(params, y, posterior) {
  on <- colSums(posterior$mean)
  w <- params$W
  residual <- sum(y^2) - 2 * sum((y %*% w) * posterior$value) +
    sum(crossprod(w) * rowSums(posterior$value_second, dims = 2))
  slabs <- if (is.matrix(params$psi)) {
    total <- colSums(posterior$slab)
    about <- rowSums(posterior$slab_second, dims = 2) - total %o% params$mu - params$mu %o% total +
      nrow(y) * params$mu %o% params$mu
    -0.5 * (nrow(y) * determinant(params$psi)$modulus + sum(solve(params$psi) * about))
  } else {
    second <- diag(rowSums(posterior$value_second, dims = 2))
    about <- second - 2 * params$mu * colSums(posterior$value) + params$mu^2 * on
    -0.5 * sum(on * log(params$psi) + about / params$psi)
  }
  sum(on * log(params$pi) + (nrow(y) - on) * log1p(-params$pi)) + as.numeric(slabs) -
    length(y) / 2 * log(params$sigma2) - residual / (2 * params$sigma2)
}

test_that("the M-step has the largest expected log joint", {
  for (covariance in c("diagonal", "full")) {
    problem <- random_problem(6, covariance)
    row <- list(n_latents = 4, is_one_hot = FALSE, joint = joint_spike_slab,
                slabs = slabs_spike_slab)
    posterior <- brute_force(row, problem$params, problem$y, problem$all)
    stats <- gps_estep(problem$model, problem$params, problem$y, problem$all)$stats
    best <- gps_mstep(problem$model, problem$params, stats)$params
    top <- expected_log_joint(best, problem$y, posterior)
    expect_gt(top, expected_log_joint(problem$params, problem$y, posterior))
    set.seed(7)
    for (name in names(best)) {
      slope <- vapply(1:3, function(i) {
        direction <- best[[name]]
        direction[] <- rnorm(length(direction))
        if (name == "psi" && covariance == "full") direction <- direction + t(direction)
        at <- function(step) {
          moved <- best
          moved[[name]] <- best[[name]] + step * direction
          expected_log_joint(moved, problem$y, posterior)
        }
        expect_lt(at(1e-3), top)
        expect_lt(at(-1e-3), top)
        (at(1e-5) - at(-1e-5)) / 2e-5
      }, 1)
      # Central differences of a function of size 100 to 1000.
      expect_lt(max(abs(slope)), 1e-4)
    }
  }
})

test_that("a component that nobody uses stays as it is", {
  for (covariance in c("diagonal", "full")) {
    problem <- random_problem(8, covariance)
    selected <- draw_selected(30, 3, 2)
    if (covariance == "full") problem$params$psi[4, 1:3] <- problem$params$psi[1:3, 4] <- 0
    step <- gps_estep(problem$model, problem$params, problem$y, selected)
    maximum <- gps_mstep(problem$model, problem$params, step$stats)
    expect_near(maximum$params$W[, 4], problem$params$W[, 4], 1e-12)
    expect_identical(maximum$params$mu[4], problem$params$mu[4])
    if (covariance == "full") {
      expect_identical(maximum$params$psi[4, ], problem$params$psi[4, ])
    } else {
      expect_identical(maximum$params$psi[4], problem$params$psi[4])
      expect_identical(maximum$events[["slab_kept"]], 1L)
    }
  }
})

test_that("two identical columns are no obstacle", {
  for (covariance in c("diagonal", "full")) {
    problem <- random_problem(9, covariance)
    params <- problem$params
    params$W[, 2] <- params$W[, 1]
    params$mu[2] <- params$mu[1]
    params$psi <- if (covariance == "full") diag(4) + 0.3 else rep(1, 4)
    bounds <- numeric(10)
    for (iteration in seq_along(bounds)) {
      step <- gps_estep(problem$model, params, problem$y, problem$all)
      expect_near(step$prob_on[, 2], step$prob_on[, 1], 1e-9)
      bounds[iteration] <- sum(step$log_evidence)
      params <- gps_mstep(problem$model, params, step$stats)$params
    }
    expect_no_fall(bounds)
    expect_true(all(is.finite(unlist(params))))
  }
})

test_that("data without noise and intensities without spread reach the floors, the bound finite", {
  for (covariance in c("diagonal", "full")) {
    set.seed(10)
    w <- matrix(rnorm(18), 6)
    y <- matrix(rbinom(180, 1, 0.4), 60) %*% t(w)
    psi <- rep(0.1, 3)
    expect_warning(
      fit <- gps_fit(y, model_spike_slab(3, covariance), selector_full(),
                     start = list(W = w + 0.01, mu = rep(1, 3),
                                  psi = if (covariance == "full") diag(psi) else psi),
                     control = short_control(max_iter = 300, tol = 0)),
      "the noise variance is at its floor", class = "gps_warning_degenerate"
    )
    expect_true(is.finite(fit$bound))
    expect_near(fit$params$sigma2, 1e-6 * as_moments(y)$variance, 1e-15)
    expect_match(utils::tail(fit$trace$events, 1), "sigma2_floor 1", fixed = TRUE)
    expect_lt(max(slab_variances(fit$params$psi)), 1e-6)
    expect_gte(min(slab_variances(fit$params$psi)), 0.99e-8)
    expect_no_fall(fit$trace$bound)
  }
})

test_that("variances below the floor are raised and counted, the joint maximum under it", {
  y <- matrix(rnorm(20), 10)
  model <- gps_bind(model_spike_slab(2), y)
  params <- list(W = matrix(1, 2, 2), pi = 0.5, mu = c(1, 1), psi = c(1, 1), sigma2 = 1)
  stats <- gps_estep(model, params, y, matrix(1:2, 10, 2, byrow = TRUE))$stats
  stats$on <- c(4, 4)
  stats$value <- c(8, 4)
  # All values are 2, so the first variance is 0; that of the second is 1.
  stats$value_value[] <- c(16, 0, 4, 8)
  step <- gps_mstep(model, params, stats)
  expect_identical(step$params$mu, c(2, 1))
  expect_identical(step$params$psi, c(2e-8, 1))
  expect_identical(step$events[["psi_floor"]], 1L)
  # A variance that was lower already is not raised above what it was.
  params$psi[1] <- 1e-12
  expect_identical(gps_mstep(model, params, stats)$params$psi, c(1e-12, 1))

  full <- gps_bind(model_spike_slab(2, "full"), y)
  params$psi <- matrix(c(2, 1, 1, 2), 2)
  stats <- gps_estep(full, params, y, matrix(1:2, 10, 2, byrow = TRUE))$stats
  # As if all data points had z = mu along (1, -1) exactly.
  along <- c(1, -1) / sqrt(2)
  stats$pull[] <- 0
  stats$pull_pull[] <- -10 * along %o% along
  step <- gps_mstep(full, params, stats)
  root <- eigen(step$params$psi, symmetric = TRUE)
  expect_equal(root$values, c(3, 3e-8), tolerance = 1e-6)
  expect_identical(step$events[["psi_floor"]], 1L)
  expect_identical(step$params$psi, t(step$params$psi))
})
