# Model A: exact numbers, and what happens at its edges.
# @srrstats {G5.8d}

test_that("exact numbers of A_case1 and A_case2", {
  for (name in c("A_case1", "A_case2")) {
    oracle <- read_model_oracle(name)
    y <- oracle$Y_rows
    selected <- oracle$sel0 + 1
    params <- list(W = oracle$W, pi = oracle$pi, sigma2 = oracle$sigma2)
    model <- gps_bind(model_binary_sparse(oracle$H, shared_prob = FALSE), y)
    step <- gps_estep(model, params, y, selected, want = c("stats", "prob", "latent"))
    expect_near(step$log_evidence, oracle$F_n, 1e-12)
    expect_near(sum(step$log_evidence), oracle$F, 1e-12)
    expect_near(spread_slots(step$prob_on, selected, oracle$H), oracle$Es, 1e-12)
    expect_near(spread_slots(step$latent, selected, oracle$H), oracle$Es, 1e-12)
    second <- apply(oracle$Ess, 2:3, sum)
    expect_near(plain_stats(NULL, step$stats)$on_on, second, 1e-12)
    expect_near(step$stats$on, colSums(oracle$Es), 1e-12)
    states <- enumerate_states(model$rule, ncol(selected), ncol(selected))
    for (n in seq_len(nrow(y))) {
      mask <- template_masks(states, selected[n, ])
      expect_setequal(mask, oracle$K[n, ])
      expect_near(step$prob[n, ], oracle$q[n, match(mask, oracle$K[n, ])], 1e-12)
      joint <- log(step$prob[n, ]) + step$log_evidence[n]
      expect_near(joint, oracle$logjoint_all[n, mask + 1], 1e-10)
    }
    maximum <- gps_mstep(model, params, step$stats)$params
    expect_near(maximum$W, oracle$Mstep$W, 1e-10)
    expect_near(maximum$pi, oracle$Mstep$pi_vector, 1e-10)
    expect_near(maximum$sigma2, oracle$Mstep$sigma2, 1e-10)
    shared <- gps_bind(model_binary_sparse(oracle$H), y)
    start <- modifyList(params, list(pi = 0.5))
    maximum <- gps_mstep(shared, start, step$stats)$params
    expect_near(maximum$pi, oracle$Mstep$pi_scalar, 1e-10)
    expect_near(maximum$W, oracle$Mstep$W, 1e-10)
    expect_near(maximum$sigma2, oracle$Mstep$sigma2, 1e-10)
  }
})

test_that("all states together have the exact likelihood", {
  for (name in c("A_case1", "A_case2")) {
    oracle <- read_model_oracle(name)
    model <- gps_bind(model_binary_sparse(oracle$H, shared_prob = FALSE), oracle$Y_rows)
    all_latents <- matrix(seq_len(oracle$H), oracle$N, oracle$H, byrow = TRUE)
    step <- gps_estep(model, list(W = oracle$W, pi = oracle$pi, sigma2 = oracle$sigma2),
                      oracle$Y_rows, all_latents, want = "prob")
    expect_near(step$log_evidence, oracle$loglik_full, 1e-12)
    joint <- log(step$prob) + step$log_evidence
    expect_near(joint, oracle$logjoint_all, 1e-10)
  }
})

# A small problem with parameters that the edge cases bend.
sparse_problem <- function(n = 20, params = list()) {
  row <- MODELS[[1]]
  case <- draw_case(row, n)
  case$params <- modifyList(row$params, params)
  case$row <- row
  case
}

all_selected <- function(case) {
  matrix(seq_len(case$row$n_latents), nrow(case$y), case$row$n_latents, byrow = TRUE)
}

test_that("a data point of zeros is like any other", {
  case <- sparse_problem()
  case$y[3, ] <- 0
  selected <- draw_selected(20, 5, 3)
  truth <- brute_force(case$row, case$params, case$y, selected)
  step <- gps_estep(case$model, case$params, case$y, selected)
  expect_near(step$log_evidence, truth$log_evidence, 1e-12)
  affinity <- gps_handcrafted(case$model, case$params, case$y)
  expect_identical(affinity[3, ], numeric(5))
})

test_that("one slot leaves the empty state and one latent", {
  case <- sparse_problem()
  selected <- matrix(sample.int(5, 20, replace = TRUE), 20)
  step <- gps_estep(case$model, case$params, case$y, selected, want = "prob")
  expect_identical(dim(step$prob), c(20L, 2L))
  truth <- brute_force(case$row, case$params, case$y, selected)
  expect_near(step$log_evidence, truth$log_evidence, 1e-12)
})

test_that("a component that nobody uses stays where it is", {
  case <- sparse_problem()
  selected <- draw_selected(20, 4, 2)
  step <- gps_estep(case$model, case$params, case$y, selected)
  maximum <- gps_mstep(case$model, case$params, step$stats)
  expect_near(maximum$params$W[, 5], case$params$W[, 5], 1e-12)
  used <- case
  used$row <- modifyList(case$row, list(n_latents = 4))
  used$params <- list(W = case$params$W[, 1:4], pi = case$params$pi[1:4],
                      sigma2 = case$params$sigma2)
  posterior <- brute_force(used$row, used$params, case$y, selected)
  wanted <- mstep_linear(case$y, posterior, FALSE)
  expect_near(maximum$params$W[, 1:4], wanted$W, 1e-9)
  expect_near(maximum$params$sigma2, wanted$sigma2, 1e-9)
  expect_identical(maximum$params$pi[5], 1e-4)
  expect_identical(maximum$events[["pi_clamped"]], 1L)
  none <- gps_estep(case$model, case$params, case$y, matrix(0, 20, 2))
  expect_near(gps_mstep(case$model, case$params, none$stats)$params$W, case$params$W, 1e-14)
})

test_that("two identical columns are no obstacle", {
  case <- sparse_problem()
  case$params$W[, 2] <- case$params$W[, 1]
  case$params$pi[] <- 0.3
  step <- gps_estep(case$model, case$params, case$y, all_selected(case))
  expect_near(step$prob_on[, 2], step$prob_on[, 1], 1e-12)
  truth <- brute_force(case$row, case$params, case$y, all_selected(case))
  expect_near(step$log_evidence, truth$log_evidence, 1e-12)
  bounds <- sum(step$log_evidence)
  params <- case$params
  for (iteration in 1:10) {
    params <- gps_mstep(case$model, params, step$stats)$params
    step <- gps_estep(case$model, params, case$y, all_selected(case))
    bounds <- c(bounds, sum(step$log_evidence))
  }
  expect_no_fall(bounds)
  expect_true(all(is.finite(unlist(params))))
})

test_that("columns that can only be used together leave their second moments singular", {
  case <- sparse_problem()
  stats <- gps_estep(case$model, case$params, case$y, all_selected(case))$stats
  stats$on_on[] <- 0
  stats$on_on[upper.tri(stats$on_on, diag = TRUE)] <- 4
  stats$data_on[] <- 8
  maximum <- gps_mstep(case$model, case$params, stats)$params
  # Only the sum of the columns is determined; the proximal term keeps the differences.
  expect_near(rowSums(maximum$W), rep(2, 4), 1e-9)
  spread <- maximum$W - rowMeans(maximum$W)
  expect_near(spread, case$params$W - rowMeans(case$params$W), 1e-2)
})

test_that("pi stays off its ends, shared or not", {
  y <- sparse_problem(60)$y
  for (shared in c(TRUE, FALSE)) {
    model <- gps_bind(model_binary_sparse(2, shared), y)
    start <- list(W = matrix(1, 4, 2), pi = rep(0.5, if (shared) 1 else 2), sigma2 = 1)
    stats <- list(count = 60, data_square = sum(y^2), on = c(0, 0), on_on = matrix(0, 2, 2),
                  data_on = matrix(0, 4, 2))
    low <- gps_mstep(model, start, stats)
    expect_identical(unique(low$params$pi), 1e-4)
    expect_gt(low$events[["pi_clamped"]], 0)
    stats$on <- c(60, 60)
    stats$on_on[] <- 60
    stats$data_on[] <- colSums(y)
    high <- gps_mstep(model, start, stats)
    expect_identical(unique(high$params$pi), 1 - 1e-4)
  }
})

test_that("noise-free data take sigma2 to its floor with a finite bound", {
  set.seed(4)
  w <- matrix(rnorm(15), 5)
  latents <- matrix(rbinom(120, 1, 0.4), 40)
  y <- latents %*% t(w)
  expect_warning(
    fit <- gps_fit(y, model_binary_sparse(3), selector_full(), start = list(W = w + 0.01),
                   control = short_control(max_iter = 60, tol = 0)),
    "the noise variance is at its floor", class = "gps_warning_degenerate"
  )
  floor <- 1e-6 * mean(apply(y, 2, function(x) mean((x - mean(x))^2)))
  expect_near(fit$params$sigma2, floor, 1e-12)
  expect_true(is.finite(fit$bound))
  expect_match(utils::tail(fit$trace$events, 1), "sigma2_floor 1", fixed = TRUE)
  expect_no_fall(fit$trace$bound)
})

test_that("more latents than data points are fitted with a warning", {
  y <- matrix(rnorm(12), 3)
  set.seed(1)
  expect_warning(
    fit <- quiet_degenerate(gps_fit(y, model_binary_sparse(6), selector_handcrafted(), 3,
                                    control = short_control(max_iter = 10))),
    "more latents (6) than data points (3)", fixed = TRUE, class = "gps_warning"
  )
  expect_true(all(is.finite(unlist(fit$params))))
  expect_true(is.finite(fit$bound))
})

test_that("a constant pixel does no harm", {
  y <- cbind(sparse_problem(50)$y, 3)
  set.seed(1)
  expect_warning(fit <- gps_fit(y, model_binary_sparse(4), selector_handcrafted(), 3,
                                control = short_control(max_iter = 20)),
                 class = "gps_warning_baseline")
  expect_true(all(is.finite(unlist(fit$params))))
  expect_near(fit$params$W[5, ] %*% rep(1, 4) > 0, matrix(TRUE), 0)
})

test_that("the hand-crafted affinity is the cosine, block by block too", {
  case <- sparse_problem(30)
  case$params$W[, 4] <- 0
  affinity <- gps_handcrafted(case$model, case$params, case$y)
  for (h in c(1:3, 5)) {
    w <- case$params$W[, h]
    expect_near(affinity[, h], drop(case$y %*% w) / sqrt(sum(w^2)), 1e-12)
  }
  expect_identical(affinity[, 4], numeric(30))
  y <- t(case$y)
  block <- new_block(10, 15)
  inputs <- block_inputs(case$model, case$params, y, block)
  expect_near(block_handcrafted(case$model, inputs, y, block), t(affinity[11:25, ]), 1e-12)
})

test_that("the initial parameters follow the data's mean and spread", {
  case <- sparse_problem(500)
  centred <- sweep(case$y, 2, colMeans(case$y))
  draws <- lapply(1:200, function(seed) {
    set.seed(seed)
    gps_init(case$model, case$y)
  })
  expect_near(draws[[1]]$sigma2, mean(centred^2), 1e-12)
  expect_identical(draws[[1]]$pi, rep(0.2, 5))
  noise <- vapply(draws, function(init) init$W - colMeans(case$y), matrix(0, 4, 5))
  deviation <- mean(sqrt(colMeans(centred^2))) / 4
  expect_lt(abs(mean(noise)), 5 * deviation / sqrt(length(noise)))
  expect_lt(abs(sd(noise) / deviation - 1), 5 / sqrt(2 * length(noise)))
})

test_that("log joints at the ends of the range are summed exactly, beyond them refused by point", {
  case <- sparse_problem(4)
  case$params$W[] <- 5e-324
  case$params$sigma2 <- 1e-300
  y <- matrix(c(rep(1e3, 3), 6e3), 4, 4)
  step <- gps_estep(case$model, case$params, y, matrix(1:2, 4, 2, byrow = TRUE))
  # W is nearly zero: log Z is the Gaussian of the data, beside which the prior must not be lost.
  expect_near(step$log_evidence / 1e306, -0.5 * rowSums(y^2) / 1e6, 1e-13)
  prior <- rep(case$params$pi, length.out = 2)
  expect_near(step$prob_on, matrix(prior, 4, 2, byrow = TRUE), 1e-14)
  y[3, ] <- 1e5
  expect_gps_error(gps_estep(case$model, case$params, y, matrix(1:2, 4, 2, byrow = TRUE)),
                   "E-step: a value is not finite at data point 3", class = "numeric")
})

test_that("parameters outside their ranges are refused by name", {
  case <- sparse_problem()
  refuse <- function(params, words) {
    expect_gps_error(gps_estep(case$model, modifyList(case$params, params), case$y,
                               all_selected(case)), words)
  }
  refuse(list(sigma2 = 0), "`params$sigma2` must lie between 0 and Inf, both excluded")
  refuse(list(sigma2 = -1), "`params$sigma2`")
  refuse(list(pi = c(0, 0.1, 0.1, 0.1, 0.1)), "`params$pi` must lie between 0 and 1")
  refuse(list(pi = c(1, 0.1, 0.1, 0.1, 0.1)), "`params$pi`")
  refuse(list(pi = 0.1), "`params$pi` must be 5 numbers, not 0.1")
  refuse(list(W = matrix(0, 5, 4)), "`params$W` must be a numeric array of 4 x 5")
  refuse(list(W = matrix(NaN, 4, 5)), "`params$W` must have finite values")
  refuse(list(psi = 1), "`params` has no parameter \"psi\"; the model has W, pi, sigma2")
})

test_that("bad arguments of the constructor are refused by name", {
  for (bad in list(0, 2.5, NA, "5", -1, c(2, 3), NULL, Inf)) {
    expect_gps_error(model_binary_sparse(bad), "`n_latents` must be a whole number")
  }
  for (bad in list(NA, 1, "TRUE", NULL)) {
    expect_gps_error(model_binary_sparse(3, bad), "`shared_prob` must be TRUE or FALSE")
  }
})

test_that("data far from zero keep a bound that rounding does not inflate", {
  set.seed(9)
  y <- matrix(rnorm(160), 40)
  states <- as.matrix(expand.grid(rep(list(0:1), 3)))
  exact_bound <- function(params, y) {
    prior <- drop(states %*% rep(log(params$pi), 3) + (1 - states) %*% rep(log1p(-params$pi), 3))
    sum(apply(y, 1, function(row) {
      density <- colSums(dnorm(row, params$W %*% t(states), sqrt(params$sigma2), log = TRUE))
      max(prior + density) + log(sum(exp(prior + density - max(prior + density))))
    }))
  }
  for (spread in 10^-c(4, 6, 7, 9, 12)) {
    near <- y[rep(1, 40), ] + spread * y
    set.seed(1)
    fit <- suppressWarnings(gps_fit(near, model_binary_sparse(3), selector_full(),
                                    control = short_control(max_iter = 15)))
    expect_gte(fit$params$sigma2, 0.99e-13 * mean(near^2))
    expect_near(fit$bound, exact_bound(fit$params, near), 1e-3)
  }
  expect_warning(gps_bind(model_binary_sparse(3), y + 1e8), "times as large as their spread",
                 class = "gps_warning")
  expect_silent(gps_bind(model_binary_sparse(3), y + 1e4))
})

test_that("what no component explains does not round the posterior away", {
  # The third dimension is orthogonal to W: it must not change which states are probable.
  W <- rbind(c(1, 0.9), c(0, 0.3), 0)
  params <- list(W = W, pi = 0.4, sigma2 = 0.5)
  y <- matrix(c(0.8, 0.1, 0), 6, 3, byrow = TRUE)
  y[, 3] <- c(0, 1, 1e4, 1e7, 1e8, 1e12)
  model <- suppressWarnings(gps_bind(model_binary_sparse(2), y))
  step <- gps_estep(model, params, y, matrix(1:2, 6, 2, byrow = TRUE))
  expect_equal(step$prob_on, step$prob_on[rep(1, 6), ], tolerance = 1e-12)
  expect_gt(step$prob_on[1, 1], 0.3)
  expect_equal(step$log_evidence - step$log_evidence[1], -y[, 3]^2, tolerance = 1e-12)
})
