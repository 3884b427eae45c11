# The intercept of the sparse coding models: data on a baseline.

# A short fit of bars, from starts of its own.
fit_baseline <- function(y, model, selector = selector_full(), n_iter = 15, ...) {
  set.seed(2)
  gps_fit(y, model, selector, control = gps_control(max_iter = n_iter, n_starts = 2, tol = 0,
                                                    progress = FALSE), ...)
}

baseline_models <- list(
  binary_sparse = function(...) model_binary_sparse(6, intercept = TRUE, ...),
  spike_slab = function(...) model_spike_slab(6, intercept = TRUE, ...)
)

bars_of <- function(name, n = 120) {
  set.seed(5)
  simulate_bars(n, name, size = 3, value = 5)
}

test_that("other baselines are a matter of the intercept alone, whatever the selection", {
  shifts <- list(100, -30, 1e4, seq(-50, 200, length.out = 9))
  for (name in names(baseline_models)) {
    y <- bars_of(name)$y
    for (selector in list(selector_full(), selector_handcrafted(), selector_gp(),
                          selector_random())) {
      before <- fit_baseline(y, baseline_models[[name]](), selector, 8)
      for (shift in if (inherits(selector, "gps_selector_full")) shifts else shifts[4]) {
        after <- fit_baseline(y + rep_len(shift, 9)[col(y)], baseline_models[[name]](), selector, 8)
        expect_identical(after$selected, before$selected)
        expect_near(after$bound, before$bound, 1e-8)
        expect_near(after$prob_on, before$prob_on, 1e-7)
        expect_near(after$params$intercept - shift, before$params$intercept, 1e-8)
        for (part in c("W", "pi", "sigma2")) {
          expect_near(after$params[[part]], before$params[[part]], 1e-7)
        }
      }
    }
  }
})

test_that("components, noise and baseline are found wherever the data lie", {
  for (name in names(baseline_models)) {
    bars <- bars_of(name, 250)
    for (level in c(0, 100)) {
      fit <- fit_baseline(bars$y + level, baseline_models[[name]](), n_iter = 40)
      expect_true(all(match_components(fit, bars)$matched))
      expect_lt(abs(coef(fit)$sigma2 / 2 - 1), 0.1)
      expect_lt(max(abs(coef(fit)$intercept - level)), 1)
    }
  }
})

test_that("methods know the intercept", {
  bars <- bars_of("binary_sparse")
  y <- bars$y + 100
  colnames(y) <- letters[1:9]
  fit <- fit_baseline(y, baseline_models$binary_sparse())
  expect_named(coef(fit), c("W", "pi", "sigma2", "intercept"))
  expect_named(coef(fit)$intercept, letters[1:9])
  expect_identical(attr(logLik(fit), "df"), 9 * 6 + 1 + 1 + 9)
  expect_near(fitted(fit), sweep(expectations(fit) %*% t(coef(fit)$W), 2, coef(fit)$intercept, "+"),
              1e-12)
  expect_near(residuals(fit), y - fitted(fit), 1e-12)
  expect_lt(abs(mean(residuals(fit))), 1e-3)
  drawn <- simulate(fit, 1, seed = 1, n = 2000)[[1]]$y
  expect_near(colMeans(drawn), colMeans(y), 0.02)
  expect_near(predict(fit, y[, 9:1], type = "prob"), predict(fit, y, type = "prob"), 1e-12)
  again <- gps_fit(y[, 9:1], fit$model, selector_full(), start = fit,
                   control = gps_control(max_iter = 0))
  expect_near(again$bound, fit$bound, 1e-10)
  expect_identical(coef(again)$intercept, coef(fit)$intercept[9:1])
  expect_printed(fit, "intercept = TRUE")
  expect_no_match(format_model(model_binary_sparse(6)), "intercept")
})

test_that("a model with an intercept goes on from a fit without one", {
  set.seed(8)
  bars <- simulate_bars(200)
  for (make in list(model_binary_sparse, model_spike_slab, model_max_spike_slab)) {
    cap <- if (identical(make, model_max_spike_slab)) 1 else 3
    fit <- gps_fit(abs(bars$y), make(10), selector_handcrafted(), 5, cap,
                   control = short_control(max_iter = 15))
    further <- update(fit, model = make(10, intercept = TRUE), start = fit)
    expect_near(further$trace$bound[1], fit$bound, 1e-6 * abs(fit$bound))
    expect_gte(further$bound, fit$bound - 1e-6 * abs(fit$bound))
    expect_error(update(further, model = make(10), start = further), "an intercept, too.",
                 class = "gps_error_argument")
  }
})

test_that("the hand-crafted ranking sees data above the baseline", {
  set.seed(3)
  y <- matrix(rnorm(40, 1), 10)
  b <- c(10, -3, 0, 500)
  params <- list(W = matrix(rnorm(12), 4), pi = 0.3, sigma2 = 0.7)
  slabs <- c(params[1:2], list(mu = c(1, 2, 0.5), psi = c(0.3, 1, 2)), params[3])
  for (case in list(list(model_binary_sparse, params), list(model_spike_slab, slabs))) {
    plain <- gps_bind(case[[1]](3), y)
    raised <- gps_bind(case[[1]](3, intercept = TRUE), y)
    wanted <- gps_handcrafted(plain, case[[2]], y)
    with_b <- c(case[[2]], list(intercept = b))
    moved <- sweep(y, 2, b, "+")
    expect_near(gps_handcrafted(raised, with_b, moved), wanted, 1e-11)
    state <- list(model = raised, params = with_b)
    expect_near(gps_affinity(selector_handcrafted(), state, moved), wanted, 1e-11)
  }
})

test_that("sources, sparse matrices and minibatches have an intercept too", {
  bars <- bars_of("binary_sparse", 400)
  y <- bars$y + 20
  model <- baseline_models$binary_sparse()
  fit <- fit_baseline(y, model, selector_handcrafted())
  source <- gps_source(400, 9, function(from, to) y[from:to, , drop = FALSE])
  expect_near(fit_baseline(source, model, selector_handcrafted())$bound, fit$bound, 1e-10)
  set.seed(4)
  batched <- gps_fit(y, model, selector_handcrafted(),
                     control = gps_control(max_iter = 15, n_starts = 2, batch_size = 100))
  expect_true(all(match_components(batched, bars)$matched))
  expect_near(batched$bound, fit$bound, 0.01)
  skip_if_not_installed("Matrix")
  counts <- y * (abs(bars$y) > 2)
  sparse <- methods::as(counts, "CsparseMatrix")
  a <- suppressWarnings(fit_baseline(sparse, model, selector_handcrafted(), 8))
  b <- suppressWarnings(fit_baseline(counts, model, selector_handcrafted(), 8))
  expect_near(a$bound, b$bound, 1e-10)
  expect_near(coef(a)$intercept, coef(b)$intercept, 1e-8)
})

test_that("data on a baseline are told of where the model has none, others are not", {
  bars <- bars_of("binary_sparse")
  control <- gps_control(max_iter = 1, n_starts = 1)
  quick <- function(y, model) gps_fit(y, model, selector_full(), control = control)
  for (model in list(model_binary_sparse(6), model_spike_slab(6))) {
    for (level in c(100, -100, 8, 1e4)) {
      expect_warning(quick(bars$y + level, model), "away from 0.*intercept = TRUE",
                     class = "gps_warning_baseline")
    }
    expect_warning(quick(gps_source(120, 9, function(from, to) bars$y[from:to, ] + 100), model),
                   class = "gps_warning_baseline")
    expect_no_warning(quick(bars$y, model), class = "gps_warning_baseline")
    expect_no_warning(quick(bars$y[1:7, ] + 1, model), class = "gps_warning_baseline")
  }
  for (model in lapply(baseline_models, function(make) make())) {
    expect_no_warning(quick(bars$y + 100, model))
  }
})

test_that("the max model's baseline is where the superposition begins", {
  bars <- bars_of("max_spike_slab", 100)
  model <- model_max_spike_slab(6, intercept = TRUE)
  before <- fit_baseline(bars$y, model, selector_handcrafted(), 8)
  shift <- seq(-50, 200, length.out = 9)
  after <- fit_baseline(bars$y + shift[col(bars$y)], model, selector_handcrafted(), 8)
  expect_identical(after$selected, before$selected)
  expect_near(after$bound, before$bound, 1e-7)
  expect_near(after$params$intercept - shift, before$params$intercept, 1e-6)
  expect_true(all(match_components(after, bars)$matched))
  expect_lt(max(abs(before$params$intercept)), 1)
  expect_near(residuals(after), residuals(before), 1e-6)
  expect_near(mean(simulate(after, 1, seed = 1, n = 2000)[[1]]$y), mean(bars$y) + 75, 0.02)
  expect_no_warning(fit_baseline(bars$y - 20, model, n_iter = 1))
  expect_warning(fit_baseline(bars$y + 100, model_max_spike_slab(6), n_iter = 1),
                 class = "gps_warning_baseline")
})

# Residuals of the draws of an E-step of the max model under new parameters, with credits by the old
# ones: list(residual [cells of all draws x D], z of the credited latent, credit), for each latent.
credited <- function(y, step, old, new) {
  n_draws <- dim(step$draws)[3]
  parts <- lapply(seq_len(n_draws), function(s) {
    z <- step$draws[, , s]
    reach <- vapply(seq_len(ncol(z)), function(h) outer(z[, h], old$W[, h]), y)
    winner <- apply(reach, 1:2, which.max) * (apply(reach, 1:2, max) > 0)
    value <- array(0, dim(reach))
    for (h in seq_len(ncol(z))) value[, , h] <- z[, h] * (winner == h)
    mean <- apply(sweep(value, 2:3, new$W, "*"), 1:2, sum)
    list(residual = sweep(y, 2, new$intercept) - mean, value = value)
  })
  list(residual = lapply(parts, `[[`, "residual"), value = lapply(parts, `[[`, "value"),
       n_draws = n_draws)
}

test_that("at the max model's new parameters the expected log joint has no slope", {
  set.seed(6)
  params <- list(W = matrix(abs(rnorm(12, 2)), 4), pi = 0.4, mu = c(1, 1.5, 2),
                 psi = c(0.3, 0.5, 0.2), sigma2 = 0.5, intercept = c(50, -3, 0, 7))
  model <- gps_bind(model_max_spike_slab(3, intercept = TRUE), matrix(rnorm(40), 10))
  y <- gps_draw(model, params, 80)$y
  model <- gps_bind(model_max_spike_slab(3, intercept = TRUE), y)
  old <- params
  old$intercept <- old$intercept + c(0.5, -0.3, 0, 0.2)
  selected <- matrix(1:3, 80, 3, byrow = TRUE)
  step <- gps_estep(model, old, y, selected, want = c("stats", "draws"), sweeps = c(10, 5))
  new <- gps_mstep(model, old, step$stats)$params
  at <- credited(y, step, old, new)
  sums <- function(x) Reduce(`+`, x) / at$n_draws
  expect_near(colSums(sums(at$residual)), rep(0, 4), 1e-9)
  slope <- Map(function(r, z) apply(sweep(z, 1:2, r, "*"), 2:3, sum), at$residual, at$value)
  held <- sweep(old$W - new$W, 2, old$mu^2 + old$psi, "*")
  expect_near(sums(slope) + held, matrix(0, 4, 3), 1e-9)
  expect_near(new$sigma2, mean(sums(lapply(at$residual, function(r) r^2))), 1e-12)
  # By sums in closed form, at most one on, the same ascent.
  bounds <- numeric(20)
  for (i in seq_along(bounds)) {
    step <- gps_estep(model, old, y, selected, max_active = 1)
    bounds[i] <- sum(step$log_evidence)
    old <- gps_mstep(model, old, step$stats)$params
  }
  expect_no_fall(bounds)
})

test_that("binary latents may be turned round, and are turned to be off in most points", {
  bars <- bars_of("binary_sparse", 200)
  y <- bars$y + 30
  truth <- list(W = bars$W, pi = rep(0.2, 6), sigma2 = 2, intercept = rep(30, 9))
  turn <- function(params, flip) flip_params(params, rep(0.2, 6), flip)
  model <- gps_bind(model_binary_sparse(6, FALSE, intercept = TRUE), y)
  all <- matrix(1:6, 200, 6, byrow = TRUE)
  before <- gps_estep(model, truth, y, all)
  turned <- turn(truth, c(2L, 5L))
  expect_identical(turned$pi, c(0.2, 0.8, 0.2, 0.2, 0.8, 0.2))
  after <- gps_estep(model, turned, y, all)
  expect_near(after$log_evidence, before$log_evidence, 1e-11)
  expect_near(after$prob_on[, c(2, 5)], 1 - before$prob_on[, c(2, 5)], 1e-9)
  mended <- gps_mend(model, turned, after$stats)
  expect_identical(mended$flip, c(2L, 5L))
  expect_near(unlist(mended$params), unlist(truth), 1e-12)
  expect_null(gps_mend(model, truth, before$stats)$flip)
  expect_null(gps_mend(model, turned, after$stats, list(is_monotone = TRUE))$flip)
  # One shared pi: all, or some of them, which the bound is the better for.
  for (flip in list(1:6, c(1L, 4L))) {
    for (shared in c(TRUE, FALSE)) {
      start <- turn(truth, flip)
      if (shared) start$pi <- mean(start$pi)
      selectors <- list(selector_full(), selector_handcrafted(), selector_gp())
      # Each selector with both kinds of `pi`, and with both turns.
      few <- if ((length(flip) == 6) == shared) 1:2 else 3
      for (selector in selectors[if (is_full()) 1:3 else few]) {
        set.seed(1)
        fit <- gps_fit(y, model_binary_sparse(6, shared, intercept = TRUE), selector,
                       if (!inherits(selector, "gps_selector_full")) 4, start = start,
                       control = gps_control(max_iter = 20, tol = 0, progress = FALSE))
        expect_lte(max(coef(fit)$pi), 0.5)
        expect_true(all(match_components(fit, bars)$matched))
        expect_lt(max(abs(coef(fit)$intercept - 30)), 1)
        expect_match(paste(fit$trace$events, collapse = " "), "turned_round")
      }
    }
  }
})

test_that("slots follow latents that are turned round", {
  state <- list(selected = matrix(c(1L, 2L, 2L, 3L, 1L, 4L, 0L, 3L), 2),
                prob_on = matrix(c(0.9, 0.3, 0.2, 0.8, 0.7, 0.1, 0, 0.6), 2),
                value = matrix(c(1, 0, 0, 1, 1, 0, 0, 1), 2))
  flipped <- flip_slots(state, 2L)
  expect_identical(flipped$selected, matrix(c(1L, 2L, 2L, 3L, 1L, 2L, 2L, 3L), 2))
  expect_identical(flipped$prob_on, matrix(c(0.9, 0.7, 0.8, 0.8, 0.7, 1, 1, 0.6), 2))
  expect_identical(flipped$value, matrix(c(1, 1, 1, 1, 1, 1, 1, 1), 2))
  both <- flip_slots(state[1:2], 2:3)
  expect_identical(both$selected, matrix(2:3, 2, 4))
  expect_near(both$prob_on, matrix(c(0.7, 1, 0.8, 0.2, 1, 1, 1, 0.4), 2), 1e-15)
})
