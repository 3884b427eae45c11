# Model C where states are sampled: chains through the engine against exact numbers, and fits.

# Means and standard errors over repeated E-steps of what `pick` gives.
repeat_estep <- function(n_times, pick, ...) {
  set.seed(31)
  values <- vapply(seq_len(n_times), function(i) pick(gps_estep(..., method = "gibbs")),
                   pick(gps_estep(..., method = "gibbs")))
  list(mean = rowMeans(values), error = apply(values, 1, sd) / sqrt(n_times))
}

# Within five standard errors, and these small enough to tell.
expect_estimate <- function(estimate, expected, largest_error) {
  expect_lte(max(abs(estimate$mean - expected) - 5 * estimate$error), 1e-12)
  expect_lt(max(estimate$error), largest_error)
}

test_that("chains have the exact moments and evidence of C_case1 and C_case3", {
  for (name in c("C_case1", "C_case3")) {
    oracle <- read_model_oracle(name)
    truth <- oracle$posterior
    params <- oracle[c("W", "pi", "mu", "psi", "sigma2")]
    y <- oracle$Y_rows
    model <- gps_bind(model_max_spike_slab(oracle$H, shared_prob = FALSE), y)
    slots <- oracle$sel0 + 1
    selected <- matrix(slots, nrow(y), 2, byrow = TRUE)
    pick <- function(step) {
      c(step$prob_on, step$latent, unlist(step$stats[-(1:2)]), exp(step$log_evidence))
    }
    estimate <- repeat_estep(40, pick, model, params, y, selected, sweeps = c(5, 500),
                             want = c("stats", "latent"))
    by_point <- lapply(truth[c("Eb", "Ebz", "Ebzz")], function(x) do.call(rbind, x))
    on <- colSums(by_point$Eb)
    wanted <- c(by_point$Eb[, slots], by_point$Ebz[, slots], on, on, colSums(by_point$Ebz),
                colSums(by_point$Ebzz), Reduce(`+`, truth$P_credit_y_z),
                Reduce(`+`, truth$Q_credit_zz), exp(truth$F))
    expect_estimate(estimate, wanted, 0.02)
  }
})

test_that("sampling agrees with the closed form where there is one, at every temperature", {
  case <- max_problem(n = 3)
  case$params$W[2, 2] <- -1
  # A chain leaves a latent only by way of none.
  case$params$sigma2 <- 20
  selected <- draw_selected(3, 5, 3)
  want <- c("stats", "latent", "response")
  pick <- function(step) {
    c(step$prob_on, step$latent, step$response, unlist(step$stats), exp(step$log_evidence))
  }
  for (beta in c(1, 0.4)) {
    exact <- gps_estep(case$model, case$params, case$y, selected, max_active = 1, want = want,
                       beta = beta)
    estimate <- repeat_estep(40, pick, case$model, case$params, case$y, selected, max_active = 1,
                             want = want, beta = beta, sweeps = c(2, 300))
    expect_estimate(estimate, pick(exact), 0.3)
  }
})

test_that("states of several latents are sampled by themselves", {
  case <- max_problem(20)
  selected <- draw_selected(20, 5, 3)
  expect_named(gps_estep(case$model, case$params, case$y, selected),
               c("prob_on", "log_evidence", "stats", "value", "variance"))
  expect_gps_error(gps_estep(case$model, case$params, case$y, selected, method = "exact"),
                   "max_active")
})

test_that("values stay with the scale of their components", {
  case <- max_problem(40)
  task <- new_task(t(case$y), model_max_spike_slab(5), selector_full(), 5, NULL,
                   gps_control(n_starts = 1, n_threads = 1, progress = FALSE))
  state <- em_step(task, new_state(gps_init(task$model, case$y), 0L, 0))
  drawn <- pass(task, modifyList(state, list(iteration = 2L)))
  maximised <- gps_mstep(task$model, state$params, drawn$stats)$params
  state <- em_step(task, state)
  expect_near(state$params$mu^2 + state$params$psi, rep(1, 5), 1e-12)
  expect_near(state$value, drawn$value / sqrt(maximised$mu^2 + maximised$psi), 1e-12)
})

small_bars <- function() {
  set.seed(41)
  simulate_bars(400, "max_spike_slab", size = 3, prob = 0.3, psi = 0.1)
}

small_fit <- function(bars, ..., control = list()) {
  set.seed(5)
  gps_fit(bars$y, model_max_spike_slab(6), ..., control = do.call(short_control, control))
}

test_that("bars are found with every kind of selection, and the truth's parameters", {
  bars <- small_bars()
  selectors <- list(selector_gp(kernel_linear() + kernel_bias()), selector_full(),
                    selector_handcrafted())
  # The hand-crafted selection finds all bars in tests below, too.
  for (selector in selectors[seq_len(if (is_full()) 3 else 1)]) {
    fit <- small_fit(bars, selector, if (!inherits(selector, "gps_selector_full")) 5,
                     control = list(max_iter = 40))
    expect_identical(fit$method, "gibbs")
    expect_identical(sum(match_components(fit$params, bars)$matched), 6L)
    # Three standard errors of a variance and of a share; six causes of five slots leave little out.
    expect_near(fit$params$sigma2, 2, 0.25)
    expect_near(fit$params$pi, 0.3, 3 * sqrt(0.21 / 2400))
    expect_silent(check_fit(fit))
  }
})

test_that("a fit is the same for any number of threads", {
  bars <- small_bars()
  one <- small_fit(bars, selector_handcrafted(), 4, control = list(max_iter = 10, n_threads = 1))
  two <- small_fit(bars, selector_handcrafted(), 4, control = list(max_iter = 10, n_threads = 2))
  expect_identical(two$params, one$params)
  expect_identical(two$value, one$value)
  expect_identical(two$bound, one$bound)
})

test_that("two bars in one component are set apart, and what has no component gets one", {
  bars <- small_bars()
  merged <- bars$W
  merged[, 5] <- pmax(bars$W[, 5], bars$W[, 6])
  merged[, 6] <- merged[, 5]
  missing <- bars$W
  missing[, 6] <- 0.5
  for (start in list(merged, missing)) {
    params <- list(W = pmax(start, 0.1), pi = 0.3, mu = rep(0.95, 6), psi = rep(0.1, 6), sigma2 = 5)
    fit <- small_fit(bars, selector_handcrafted(), 5, start = params,
                     control = list(max_iter = 8))
    expect_identical(sum(match_components(fit$params, bars)$matched), 6L)
  }
})

test_that("degenerate data are fitted: zeros, one point, one dimension, a constant pixel", {
  quiet <- function(code) suppressWarnings(code, classes = "gps_warning")
  control <- short_control(max_iter = 6)
  set.seed(6)
  y <- small_bars()$y[1:30, ]
  for (data in list(0 * y, y[1, , drop = FALSE], y[, 1, drop = FALSE], cbind(y, 3), y - 1000,
                    1e6 * y, 1e-6 * y)) {
    fit <- quiet(gps_fit(data, model_max_spike_slab(4), selector_handcrafted(), 3,
                         control = control))
    expect_true(all(is.finite(unlist(fit$params))))
    expect_true(is.finite(fit$bound))
    expect_true(all(fit$params$W > 0))
  }
})
