# Model B: exact numbers, what its slabs promise, and what happens at its edges.

# The model and parameters of a case of exact numbers.
oracle_case <- function(name) {
  oracle <- read_model_oracle(name)
  covariance <- if (oracle$psi_is_full) "full" else "diagonal"
  psi <- if (oracle$psi_is_full) oracle$Psi else diag(oracle$Psi)
  list(oracle = oracle, is_full = oracle$psi_is_full,
       model = gps_bind(model_spike_slab(oracle$H, covariance, shared_prob = FALSE), oracle$Y_rows),
       shared = gps_bind(model_spike_slab(oracle$H, covariance), oracle$Y_rows),
       params = list(W = oracle$W, pi = rep_len(oracle$pi, oracle$H), mu = oracle$mu, psi = psi,
                     sigma2 = oracle$sigma2))
}

test_that("exact numbers of B_case1, B_case2 and B_case3", {
  for (name in c("B_case1", "B_case2", "B_case3")) {
    case <- oracle_case(name)
    oracle <- case$oracle
    selected <- oracle$sel0 + 1
    step <- gps_estep(case$model, case$params, oracle$Y_rows, selected,
                      want = c("stats", "prob", "latent"))
    expect_near(step$log_evidence, oracle$F_n, 1e-12)
    expect_near(sum(step$log_evidence), oracle$F, 1e-12)
    expect_near(spread_slots(step$prob_on, selected, oracle$H), oracle$Es, 1e-12)
    expect_near(spread_slots(step$latent, selected, oracle$H), oracle$Esz, 1e-12)
    stats <- plain_stats(NULL, step$stats)
    expect_near(stats$value_value, apply(oracle$Eszsz, 2:3, sum), 1e-12)
    expect_near(stats$value, colSums(oracle$Esz), 1e-12)
    expect_near(stats$on, colSums(oracle$Es), 1e-12)
    states <- enumerate_states(case$model$rule, ncol(selected), ncol(selected))
    for (n in seq_len(oracle$N)) {
      mask <- template_masks(states, selected[n, ])
      expect_setequal(mask, oracle$K[n, ])
      expect_near(step$prob[n, ], oracle$q[n, match(mask, oracle$K[n, ])], 1e-12)
      joint <- log(step$prob[n, ]) + step$log_evidence[n]
      expect_near(joint, oracle$logjoint_all[n, mask + 1], 1e-10)
    }
    maximum <- gps_mstep(case$model, case$params, step$stats)$params
    wanted <- oracle$Mstep
    expect_near(maximum$W, wanted$W, 1e-10)
    expect_near(maximum$sigma2, wanted$sigma2, 1e-10)
    expect_near(maximum$pi, wanted$pi_vector, 1e-10)
    expect_near(maximum$mu, if (case$is_full) wanted$mu_allz else wanted$mu, 1e-10)
    expect_near(maximum$psi, if (case$is_full) wanted$Psi_allz else wanted$psi_diag, 1e-10)
    start <- modifyList(case$params, list(pi = 0.5))
    shared <- gps_mstep(case$shared, start, step$stats)$params
    expect_near(shared$pi, wanted$pi_scalar, 1e-10)
    expect_identical(shared[-2], maximum[-2])
  }
})

test_that("all states together have the exact likelihood", {
  for (name in c("B_case1", "B_case2", "B_case3")) {
    case <- oracle_case(name)
    oracle <- case$oracle
    all_latents <- matrix(seq_len(oracle$H), oracle$N, oracle$H, byrow = TRUE)
    step <- gps_estep(case$model, case$params, oracle$Y_rows, all_latents, want = "prob")
    expect_near(step$log_evidence, oracle$loglik_full, 1e-12)
    expect_near(log(step$prob) + step$log_evidence, oracle$logjoint_all, 1e-10)
  }
})

test_that("without variance in its slabs it is binary sparse coding", {
  problem <- random_problem(3, "diagonal")
  binary <- gps_bind(model_binary_sparse(4), problem$y)
  params <- problem$params
  expected <- gps_estep(binary, list(W = params$W %*% diag(params$mu), pi = 0.4,
                                     sigma2 = params$sigma2), problem$y, problem$all, want = "prob")
  for (variance in 10^-c(12, 20, 100, 300)) {
    params$psi <- rep(variance, 4)
    found <- gps_estep(problem$model, params, problem$y, problem$all, want = "prob")
    expect_near(found$log_evidence, expected$log_evidence, 1e-9)
    expect_near(found$prob, expected$prob, 1e-9)
  }
  full <- gps_bind(model_spike_slab(4, "full"), problem$y)
  params$psi <- diag(1e-14, 4) + 1e-15
  found <- gps_estep(full, params, problem$y, problem$all, want = "prob")
  expect_near(found$log_evidence, expected$log_evidence, 1e-9)
  expect_near(found$prob, expected$prob, 1e-9)
})

test_that("a diagonal covariance in full form is the diagonal model", {
  problem <- random_problem(4, "diagonal")
  full <- gps_bind(model_spike_slab(4, "full"), problem$y)
  params <- modifyList(problem$params, list(psi = diag(problem$params$psi)))
  want <- c("stats", "latent", "prob")
  a <- gps_estep(problem$model, problem$params, problem$y, problem$all, want = want)
  b <- gps_estep(full, params, problem$y, problem$all, want = want)
  for (name in c("log_evidence", "prob_on", "latent", "prob")) {
    expect_near(b[[name]], a[[name]], 1e-12)
  }
  for (name in c("on", "value", "value_value", "data_value")) {
    expect_near(b$stats[[name]], a$stats[[name]], 1e-12)
  }
})

test_that("variances of any size give the exact density of one latent", {
  y <- matrix(c(-3, 0.1, 2, 50), 4)
  for (covariance in c("diagonal", "full")) {
    model <- gps_bind(model_spike_slab(1, covariance), y)
    for (exponent in c(-300, -30, -8, -1, 0, 1, 8, 30, 200, 300)) {
      psi <- 10^exponent
      params <- list(W = matrix(1.5), pi = 0.3, mu = 0.7,
                     psi = if (covariance == "full") matrix(psi) else psi, sigma2 = 0.4)
      step <- gps_estep(model, params, y, matrix(1, 4), want = "prob")
      off <- log(0.7) + dnorm(y, 0, sqrt(0.4), log = TRUE)
      on <- log(0.3) + dnorm(y, 1.05, sqrt(0.4 + 2.25 * psi), log = TRUE)
      joint <- log(step$prob) + step$log_evidence
      certain <- is.finite(joint)
      expect_near(joint[certain], cbind(off, on)[certain], 1e-12)
      expect_near(step$prob[, 2], drop(1 / (1 + exp(off - on))), 1e-12)
    }
  }
})

test_that("powers of two as units of the data change nothing but units", {
  for (covariance in c("diagonal", "full")) {
    set.seed(12)
    y <- simulate_bars(100, "spike_slab", size = 3)$y
    fit <- function(unit) {
      set.seed(1)
      gps_fit(unit * y, model_spike_slab(6, covariance), selector_handcrafted(), 4,
              control = short_control(max_iter = 10))
    }
    one <- fit(1)
    for (unit in 2^c(-498, -100, 300, 459)) {
      scaled <- fit(unit)
      expect_equal(scaled$params$W / unit, one$params$W, tolerance = 1e-10)
      expect_equal(scaled$params$sigma2 / unit^2, one$params$sigma2, tolerance = 1e-10)
      expect_equal(scaled$prob_on, one$prob_on, tolerance = 1e-10)
      expect_equal(scaled$bound + length(y) * log(unit), one$bound, tolerance = 1e-9)
    }
  }
})

test_that("what no component explains does not round the posterior away", {
  params <- list(W = rbind(c(1, 0.9), c(0, 0.3), 0), pi = 0.4, mu = c(1, 0.5), psi = c(1, 2),
                 sigma2 = 0.5)
  y <- matrix(c(0.8, 0.1, 0), 5, 3, byrow = TRUE)
  y[, 3] <- c(0, 1, 1e4, 1e8, 1e12)
  for (covariance in c("diagonal", "full")) {
    params$psi <- if (covariance == "full") matrix(c(1, 0.5, 0.5, 2), 2) else c(1, 2)
    model <- suppressWarnings(gps_bind(model_spike_slab(2, covariance), y))
    step <- gps_estep(model, params, y, matrix(1:2, 5, 2, byrow = TRUE))
    expect_equal(step$prob_on, step$prob_on[rep(1, 5), ], tolerance = 1e-12)
    expect_equal(step$log_evidence - step$log_evidence[1], -y[, 3]^2, tolerance = 1e-12)
  }
})

test_that("the hand-crafted affinity is the likelihood of a single latent, block by block too", {
  for (covariance in c("diagonal", "full")) {
    problem <- random_problem(13, covariance)
    params <- problem$params
    psi <- slab_variances(params$psi)
    params$W[, 2] <- 0
    truth <- vapply(1:4, function(h) {
      w <- params$W[, h]
      apply(problem$y, 1, log_normal, mean = w * params$mu[h],
            covariance = params$sigma2 * diag(4) + psi[h] * w %o% w)
    }, numeric(30))
    affinity <- gps_handcrafted(problem$model, params, problem$y)
    expect_near(affinity - affinity[, 1], truth - truth[, 1], 1e-12)
    y <- t(problem$y)
    block <- new_block(10, 15)
    inputs <- block_inputs(problem$model, params, y, block)
    expect_near(block_handcrafted(problem$model, inputs, y, block), t(affinity[11:25, ]), 1e-12)
  }
})

test_that("the initial parameters follow the data's mean and spread", {
  y <- random_problem(14, "full", n = 200)$y
  diagonal <- gps_bind(model_spike_slab(5), y)
  set.seed(1)
  init <- gps_init(diagonal, y)
  expect_identical(init$mu, rep(1, 5))
  expect_identical(init$psi, rep(1, 5))
  set.seed(1)
  expect_identical(gps_init(gps_bind(model_spike_slab(5, "full"), y), y)$psi, diag(5))
  set.seed(1)
  binary <- gps_init(gps_bind(model_binary_sparse(5), y), y)
  expect_identical(init[c("W", "pi", "sigma2")], binary)
})

test_that("what is drawn is W (b z) and noise", {
  problem <- random_problem(15, "full")
  problem$params$sigma2 <- 1e-20
  set.seed(2)
  drawn <- gps_draw(problem$model, problem$params, 50)
  expect_true(all(drawn$latents %in% 0:1))
  expect_near(drawn$y, (drawn$latents * drawn$values) %*% t(problem$params$W), 1e-8)
  many <- gps_draw(problem$model, problem$params, 4e4)$values
  # Standard errors of means and covariances at n = 40000, five of them.
  expect_near(colMeans(many), problem$params$mu, 5 * sqrt(max(problem$params$psi) / 4e4))
  expect_near(cov(many), problem$params$psi, 5 * sqrt(2 / 4e4) * max(problem$params$psi))
})

test_that("a move puts the split latent's slab on both halves", {
  params <- random_problem(16, "full")$params
  model <- model_spike_slab(4, "full")
  split <- list(latent = 2L, centres = cbind(1:4, 4:1), size = c(30, 10), along = 50,
                between = 20, total = 80)
  moved <- move_component(model, params, 4, split)
  expect_identical(moved$W[, c(2, 4)], params$W[, 2] + split$centres)
  expect_identical(moved$mu, params$mu[c(1, 2, 3, 2)])
  expect_identical(moved$psi[4, ], c(0, 0, 0, params$psi[2, 2]))
  expect_identical(moved$psi[1:3, 1:3], params$psi[1:3, 1:3])
  split$latent <- 0L
  params$psi <- c(1, 2, 3, 9)
  moved <- move_component(model, params, 4, split)
  expect_equal(moved$W[, 4], split$centres[, 2] - split$centres[, 1])
  expect_equal(moved$mu[4], mean(params$mu[1:3]))
  expect_identical(moved$psi, c(1, 2, 3, 2))
})

test_that("the promise of a move is the squares along its direction beyond noise", {
  residual <- matrix(rnorm(200), 5)
  squares <- sum(residual^2)
  split <- list(size = c(10, 15), along = 60, between = 40)
  explained <- 60 - 25 * mean(residual^2)
  expect_equal(move_gain(model_spike_slab(3), split, residual),
               100 * log(squares / (squares - explained)))
  split$along <- 20 * mean(residual^2)
  expect_identical(move_gain(model_spike_slab(3), split, residual), 0)
})

test_that("a fit is whole: methods, saving, prediction of the same data", {
  set.seed(17)
  bars <- simulate_bars(80, "spike_slab", size = 3)
  for (covariance in c("diagonal", "full")) {
    fit <- gps_fit(bars$y, model_spike_slab(6, covariance), selector_handcrafted(screen = FALSE),
                   4, control = short_control(max_iter = 5))
    file <- tempfile(fileext = ".rds")
    saveRDS(fit, file)
    again <- readRDS(file)
    expect_identical(check_fit(again), again)
    expect_near(predict(again, bars$y), expectations(fit), 1e-9)
    expect_printed(again, "Spike-and-slab sparse coding: 6 latents")
    expect_true(all(is.finite(fitted(again))))
    drawn <- simulate(again, seed = 1, n = 7)[[1]]
    expect_identical(lapply(drawn, dim), list(y = c(7L, 9L), latents = c(7L, 6L),
                                              values = c(7L, 6L)))
    # W, pi, sigma2, mu and psi, less the scale of each latent.
    n_psi <- if (covariance == "full") 21 else 6
    expect_identical(attr(logLik(fit), "df"), 54 + 1 + 1 + 6 + n_psi - 6)
    again$model$settings$covariance <- setdiff(c("diagonal", "full"), covariance)
    expect_gps_error(check_fit(again), "its model was changed")
  }
})

test_that("parameters outside their ranges are refused by name", {
  problem <- random_problem(18, "diagonal")
  full <- random_problem(18, "full")
  refuse <- function(problem, params, words) {
    expect_gps_error(gps_estep(problem$model, modifyList(problem$params, params), problem$y,
                               problem$all), words)
  }
  refuse(problem, list(psi = c(1, 1, 0, 1)), "`params$psi` must lie between 0 and Inf")
  refuse(problem, list(psi = diag(4)), "`params$psi` must be 4 numbers")
  refuse(problem, list(mu = c(1, 1, Inf, 1)), "`params$mu` must have finite values")
  refuse(problem, list(mu = 1), "`params$mu` must be 4 numbers, not 1")
  refuse(problem, list(sigma2 = 0), "`params$sigma2` must lie between 0 and Inf")
  refuse(problem, list(pi = 1), "`params$pi` must lie between 0 and 1")
  for (bad in list(matrix(1, 4, 4), diag(c(1, 1, 1, -1)), diag(4) + upper.tri(diag(4)))) {
    refuse(full, list(psi = bad), "`params$psi` must be symmetric and positive definite.")
  }
  refuse(full, list(psi = rep(1, 4)), "`params$psi` must be a numeric array of 4 x 4")
})

test_that("bad arguments of the constructor are refused by name", {
  for (bad in list(0, 2.5, NA, "5", -1, c(2, 3), NULL, Inf)) {
    expect_gps_error(model_spike_slab(bad), "`n_latents` must be a whole number")
  }
  for (bad in list("spherical", 1, NA, NULL)) {
    expect_gps_error(model_spike_slab(3, bad), "`covariance`")
  }
  for (bad in list(NA, 1, "TRUE", NULL)) {
    expect_gps_error(model_spike_slab(3, shared_prob = bad), "`shared_prob` must be TRUE or FALSE")
  }
})
