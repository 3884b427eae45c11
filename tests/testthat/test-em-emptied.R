# Latents that are out of the model: a column of W that is 0.

# Models of `n` latents whose posteriors are sums, and parameters for them.
emptied_cases <- list(
  A = function(n) model_binary_sparse(n),
  A_own = function(n) model_binary_sparse(n, shared_prob = FALSE),
  B = function(n) model_spike_slab(n),
  B_own = function(n) model_spike_slab(n, shared_prob = FALSE),
  B_full = function(n) model_spike_slab(n, "full"),
  C = function(n) model_max_spike_slab(n),
  C_own = function(n) model_max_spike_slab(n, shared_prob = FALSE)
)

emptied_case <- function(name, n_points = 40) {
  make <- emptied_cases[[name]]
  set.seed(31)
  y <- matrix(abs(rnorm(6 * n_points, 1)), n_points)
  model <- gps_bind(make(4), y)
  params <- gps_init(model, y)
  params$W <- abs(params$W) + 0.1
  params$sigma2 <- 0.3
  small <- gps_bind(make(3), y)
  kept <- lapply(params, function(x) {
    if (is.matrix(x) && nrow(x) == 4) x[-2, -2] else if (is.matrix(x)) x[, -2] else
      if (length(x) == 4) x[-2] else x
  })
  list(y = y, model = model, params = empty_params(params, 2L), small = small, kept = kept)
}

test_that("a model with an emptied latent is the model without it", {
  for (name in names(emptied_cases)) {
    case <- emptied_case(name)
    cap <- if (startsWith(name, "C")) 1
    step <- function(model, params, n) {
      slots <- matrix(seq_len(n), nrow(case$y), n, byrow = TRUE)
      gps_estep(model, params, case$y, slots, cap, want = c("stats", "latent", "response"))
    }
    all <- step(case$model, case$params, 4)
    left <- step(case$small, case$kept, 3)
    expect_equal(all$log_evidence, left$log_evidence, tolerance = 1e-12, info = name)
    expect_identical(all$prob_on[, 2], numeric(40))
    expect_identical(all$latent[, 2], numeric(40))
    expect_equal(all$prob_on[, -2], left$prob_on, tolerance = 1e-12, info = name)
    expect_equal(all$response, left$response, tolerance = 1e-12, info = name)
    after <- gps_mstep(case$model, case$params, all$stats)
    without <- gps_mstep(case$small, case$kept, left$stats)
    expect_equal(after$events, without$events, info = name)
    expect_identical(after$params$W[, 2], numeric(6))
    expect_equal(after$params$W[, -2], without$params$W, tolerance = 1e-9, info = name)
    expect_equal(after$params$sigma2, without$params$sigma2, tolerance = 1e-9, info = name)
    expect_identical(gps_mend(case$model, after$params, all$stats)$params$W[, 2], numeric(6))
    if (length(after$params$pi) > 1) {
      expect_identical(after$params$pi[2], 0)
      after$params$pi <- after$params$pi[-2]
    }
    expect_equal(after$params$pi, without$params$pi, tolerance = 1e-9, info = name)
    expect_identical(gps_draw(case$model, case$params, 50)$latents[, 2], numeric(50))
    expect_identical(count_free(case$model, n_left(case$model, case$params)),
                     count_free(case$small))
  }
})

test_that("an emptied latent is never drawn", {
  for (name in c("A", "B", "C_own")) {
    case <- emptied_case(name)
    slots <- matrix(1:4, nrow(case$y), 4, byrow = TRUE)
    sampled <- gps_estep(case$model, case$params, case$y, slots, want = c("stats", "draws"),
                         method = "gibbs", value = matrix(1, nrow(case$y), 4))
    expect_true(all(sampled$prob_on[, 2] == 0))
    expect_true(all(sampled$draws[, 2, ] == 0))
    expect_true(all(is.finite(sampled$log_evidence)))
  }
})

test_that("no selection has an emptied latent, however many slots there are", {
  set.seed(32)
  bars <- simulate_bars(60, value = 5)
  start <- list(W = cbind(bars$W, 0, bars$W[, 1], 0), pi = 0.2, sigma2 = 2)
  start$W[, 12] <- 0
  control <- short_control(max_iter = 3)
  selectors <- list(selector_handcrafted(), selector_handcrafted(gps_screen()), selector_full(),
                    selector_random(), selector_gp(), selector_gp(explore = 0.4),
                    selector_gp(method = "fourier", rank = 20))
  for (selector in selectors) {
    for (n_selected in if (inherits(selector, "gps_selector_full")) list(NULL) else c(5, 12)) {
      fit <- gps_fit(bars$y, model_binary_sparse(13), selector, n_selected, max_active = 3,
                     control = control, start = start)
      expect_false(any(fit$selected %in% 11:13))
      expect_false(any(predict(fit, bars$y[1:9, ], type = "selected") %in% 11:13))
      expect_identical(predict(fit)[, 11:13], matrix(0, 60, 3))
      expect_identical(attr(logLik(fit), "df"), 25 * 10 + 2)
    }
  }
})

test_that("fits with emptied latents say so, go on and come back", {
  set.seed(33)
  bars <- simulate_bars(200, value = 5)
  fit <- gps_fit(bars$y, model_binary_sparse(13, shared_prob = FALSE), selector_handcrafted(), 5,
                 control = short_control(max_iter = 60))
  out <- which(colSums(coef(fit)$W != 0) == 0)
  expect_length(out, 3)
  expect_identical(coef(fit)$pi[out], numeric(3))
  expect_printed(fit, sprintf("Emptied +%s, out of the model", listed(out, "latent")))
  about <- summary(fit)
  expect_identical(about$emptied, out)
  expect_length(about$dead, 0)
  expect_equal(nrow(about$duplicates), 0)
  expect_true("emptied" %in% about$events$event)
  expect_length(fit$standing$unused, 0)
  expect_true(all(simulate(fit, 1, seed = 1)[[1]]$latents[, out] == 0))
  expect_true(all(expectations(fit)[, out] == 0))
  again <- update(fit, start = fit)
  expect_identical(which(colSums(coef(again)$W != 0) == 0), out)
  expect_equal(sum(match_components(again, bars)$matched), 10)
  again <- update(fit, start = coef(fit), method = "gibbs", max_iter = 3)
  expect_true(all(predict(again)[, out] == 0))
  again <- update(fit, start = coef(fit), batch_size = 50, max_iter = 3)
  expect_identical(which(colSums(coef(again)$W != 0) == 0), out)
})

test_that("a probability of 0 is for emptied latents only", {
  y <- matrix(rnorm(60), 20)
  start <- list(W = cbind(1, c(0, 0, 0)), pi = c(0.5, 0))
  model <- model_binary_sparse(2, shared_prob = FALSE)
  control <- short_control(max_iter = 1)
  expect_identical(coef(gps_fit(y, model, selector_full(), control = control, start = start))$pi[2],
                   0)
  start$W[2, 2] <- 1
  expect_error(gps_fit(y, model, selector_full(), start = start), "for latent 2: 0 is for a latent",
               class = "gps_error_argument")
  expect_error(gps_fit(y, model_spike_slab(2), selector_full(), start = list(pi = 0)),
               "between 0 and 1, both excluded", class = "gps_error_argument")
})

test_that("surplus latents are emptied, and needed ones stay", {
  fit <- function(seed, n, n_latents, selector, from_truth = FALSE) {
    set.seed(seed)
    bars <- simulate_bars(n)
    set.seed(seed)
    fit <- gps_fit(bars$y, model_binary_sparse(n_latents), selector,
                   start = if (from_truth) list(W = bars$W, pi = 0.2, sigma2 = 2))
    expect_true(all(match_components(fit, bars)$matched))
    expect_length(summary(fit)$emptied, n_latents - 10)
    coef(fit)$sigma2
  }
  expect_equal(fit(2, 400, 15, selector_handcrafted()),
               fit(2, 400, 10, selector_handcrafted(), from_truth = TRUE), tolerance = 0.01)
  fit(2, 100, 10, selector_handcrafted())
  # A sum of two that a single point keeps, whose causes screening does not find at once.
  expect_equal(fit(6, 400, 15, selector_handcrafted()),
               fit(6, 400, 10, selector_handcrafted(), from_truth = TRUE), tolerance = 1e-6)
})

test_that("what stands for a latent that has left does not depend on blocks", {
  set.seed(1)
  bars <- simulate_bars(1100, size = 3, value = 5)
  surplus <- bars$W[, 1:2] + bars$W[, 3:4]
  start <- list(W = cbind(bars$W, surplus + rnorm(18) / 2), pi = 0.3, sigma2 = 4)
  fit <- function() {
    set.seed(2)
    gps_fit(bars$y, model_binary_sparse(8),
            selector_handcrafted(gps_screen(propose = 3, explore = c(2, 2))), n_selected = 4,
            start = start, control = gps_control(max_iter = 30, n_threads = 1))
  }
  whole <- fit()
  expect_gt(length(summary(whole)$emptied), 0)
  local_value("block_doubles", 1)
  expect_identical(fit()$params, whole$params)
})

test_that("random slots empty nothing", {
  set.seed(1)
  fit <- gps_fit(simulate_bars(200)$y, model_binary_sparse(8), selector_random(), 5,
                 control = gps_control(max_iter = 40, n_starts = 2))
  expect_length(summary(fit)$emptied, 0)
})

test_that("rare latents are needed, and others are surplus beside them", {
  set.seed(3)
  w <- simulate_bars(1)$W
  on <- matrix(runif(5000) < rep(c(0.2, 0.02), each = 2500), 500)
  y <- on %*% t(w) + sqrt(2) * matrix(rnorm(12500), 500)
  set.seed(3)
  fit <- gps_fit(y, model_binary_sparse(10, shared_prob = FALSE), selector_handcrafted())
  expect_true(all(match_components(fit, w)$matched))
  expect_length(summary(fit)$emptied, 0)
})

test_that("a start without any latent in the model finds one", {
  set.seed(34)
  y <- simulate_bars(200, value = 5)$y
  for (model in list(model_binary_sparse(3), model_spike_slab(3), model_max_spike_slab(3))) {
    fit <- gps_fit(y, model, selector_handcrafted(), 2, control = short_control(max_iter = 15),
                   start = list(W = matrix(0, 25, 3)))
    expect_length(summary(fit)$emptied, 2)
    expect_true(all(is.finite(unlist(coef(fit)))))
  }
})

test_that("latents that share one row far from all others are joined", {
  set.seed(1)
  bars <- simulate_bars(300, size = 5)
  y <- replace(bars$y, cbind(17, 3), 1e4)
  set.seed(1)
  fit <- gps_fit(y, model_binary_sparse(11), selector_handcrafted(),
                 control = gps_control(n_starts = 1))
  expect_match(fit$trace$events, "joined", all = FALSE)
  expect_true(all(match_components(fit, bars)$matched))
  expect_lt(coef(fit)$sigma2, 2.5)
})

test_that("the sum of latents that are joined is what they were", {
  params <- list(W = cbind(c(1, 2), c(3, 5), c(7, 11)), pi = 0.2, mu = c(1, 2, 3),
                 psi = c(0.1, 0.2, 0.3), sigma2 = 1)
  value <- rbind(c(0, 2, 0, 4), c(0, 10, 0, 10))
  binary <- join_components(model_binary_sparse(3), params[c("W", "pi", "sigma2")], 2:3, value)
  expect_identical(binary$W[, 2], c(10, 16))
  slab <- join_components(model_spike_slab(3), params, 2:3, value)
  expect_equal(slab$W[, 2] * slab$mu[2], 3 * params$W[, 2] + 10 * params$W[, 3])
  expect_identical(slab$psi[c(1, 3)], params$psi[c(1, 3)])
  expect_null(join_components(model_max_spike_slab(3), params, 2:3, value))
  # Of a single column.
  params$W <- params$W[1, , drop = FALSE]
  binary <- join_components(model_binary_sparse(3), params[c("W", "pi", "sigma2")], 2:3, value)
  expect_identical(binary$W, rbind(c(1, 10, 7)))
  slab <- join_components(model_spike_slab(3), params, 2:3, value)
  expect_equal(slab$W[, 2] * slab$mu[2], 3 * params$W[, 2] + 10 * params$W[, 3])
})

test_that("latents that are on in the same points are found", {
  on <- rbind(c(1, 0, 1, 0), c(0, 1, 0, 0), c(1, 0, 1, 0), 0, c(0, 0, 0, 1), 0, c(0, 1, 0, 0)) > 0
  expect_setequal(same_rows(on), list(c(1L, 3L), c(2L, 7L)))
  # As many, and the same sum of their numbers.
  expect_identical(same_rows(rbind(c(1, 0, 0, 1), c(0, 1, 1, 0)) > 0), list())
  expect_identical(same_rows(matrix(TRUE, 3, 1)), list(1:3))
})
