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

test_that("slabs have a least variance, and a latent that nobody uses keeps its own", {
  case <- oracle_case("B_case1")
  selected <- case$oracle$sel0 + 1
  stats <- gps_estep(case$model, case$params, case$oracle$Y_rows, selected)$stats
  h <- which.max(stats$on)
  unused <- which.min(stats$on)
  stats$value[h] <- 2 * stats$on[h]
  stats$value_value[h, h] <- 4 * stats$on[h]
  stats$on[unused] <- 0.5
  step <- gps_mstep(case$model, case$params, stats)
  expect_near(step$params$mu[h], 2, 1e-14)
  expect_near(step$params$psi[h], 1e-8 * (case$params$mu[h]^2 + case$params$psi[h]), 1e-20)
  expect_identical(step$events[["psi_floor"]], 1L)
  expect_identical(step$params$mu[unused], case$params$mu[unused])
  expect_identical(step$params$psi[unused], case$params$psi[unused])
  expect_identical(step$events[["slab_kept"]], 1L)
})

test_that("mending fixes the scale and the sign and changes nothing that can be seen", {
  for (name in c("B_case1", "B_case2", "B_case3")) {
    case <- oracle_case(name)
    y <- case$oracle$Y_rows
    case$params$mu[1] <- -1.5
    mended <- gps_mend(case$model, case$params, NULL)
    new <- mended$params
    expect_near(new$mu^2 + slab_variances(new$psi), rep(1, case$oracle$H), 1e-14)
    expect_true(all(new$mu >= 0))
    expect_lt(mended$rescale[1], 0)
    expect_near(new$mu, case$params$mu * mended$rescale, 1e-14)
    evidence <- function(params) {
      gps_estep(case$model, params, y, case$oracle$sel0 + 1)$log_evidence
    }
    expect_near(evidence(new), evidence(case$params), 1e-12)
  }
})
