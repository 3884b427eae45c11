# The E-step by Gibbs sampling, against the exact one. Whatever is compared is a mean over
# independent runs (batches), with the standard error of their means.

# CRAN's machines leave the slowest files out.
skip_on_cran()

# Variants of a model are sampled by the same code: where that takes long, in `make test-full` only.
for_sampled <- function(description, code, is_slow = FALSE) {
  for (row in Filter(function(row) !row$is_one_hot, MODELS)) {
    test_that(paste0(row$name, ": ", description), {
      if (is_slow && grepl("shared|intercept", row$name)) skip_unless_full()
      code(row)
    })
  }
}

# Data with much noise, causes with little effect: where a state is rare, whether it was met decides
# the mean over the runs.
noisy_case <- function(row, n) {
  if (!is.null(row$params$sigma2)) row$params$sigma2 <- 20
  if (!is.null(row$params$leak)) row$params$W <- 0.5 * row$params$W
  draw_case(row, n)
}

# Means over batches (columns) are within five standard errors of what is expected. Numbers that
# never vary are exact.
expect_batches <- function(batches, expected) {
  n <- ncol(batches)
  error <- sqrt(rowMeans((batches - rowMeans(batches))^2) / (n - 1))
  off <- abs(rowMeans(batches) - c(expected)) / (error + 1e-10 * pmax(1, abs(c(expected))))
  worst <- max(off)
  expect(worst <= 5, sprintf("%s is off by %.3g standard errors.",
                             deparse(substitute(batches))[1], worst))
}

# Means over batches do not exceed zero by more than five standard errors.
expect_lower <- function(batches) {
  error <- apply(batches, 1, sd) / sqrt(ncol(batches))
  expect_lte(max(rowMeans(batches) - 5 * error), 1e-10)
}

# Independent runs of the E-step: matrices, one run a column.
run_batches <- function(case, selected, n_batches, names, ...) {
  runs <- lapply(seq_len(n_batches), function(i) {
    gps_estep(case$model, case$params, case$y, selected, method = "gibbs",
              want = c("stats", "latent", "response"), ...)
  })
  lapply(stats::setNames(names, names), function(name) {
    matrix(unlist(lapply(runs, function(run) c(run$stats, run)[[name]])), ncol = n_batches)
  })
}

# Independent chains of each point, as one run on copies of the data: matrices, n x chains.
run_copies <- function(case, selected, n_chains, names, ...) {
  copies <- rep(seq_len(nrow(case$y)), n_chains)
  run <- gps_estep(case$model, case$params, case$y[copies, ], selected[copies, ], method = "gibbs",
                   want = character(), ...)
  lapply(run[names], matrix, ncol = n_chains)
}

for_sampled("sampling has the means of the exact E-step", function(row) {
  case <- noisy_case(row, 6)
  selected <- draw_selected(6, row$n_latents, 4)
  gapped <- selected
  gapped[c(1, 8, 9, 15)] <- 0
  gapped[6, ] <- 0
  settings <- list(list(selected, 4, 1), list(selected, 1, 1), list(selected, 3, 1.7),
                   list(gapped, 4, 1), list(gapped, 2, 0.4))
  # Gaps, limits and temperatures are in the last two.
  for (setting in if (is_full()) settings else settings[4:5]) {
    exact <- gps_estep(case$model, case$params, case$y, setting[[1]], setting[[2]],
                       c("stats", "latent", "response"), beta = setting[[3]], method = "exact")
    names <- c("prob_on", "latent", "response", names(exact$stats)[lengths(exact$stats) > 0])
    set.seed(2)
    # Many, since the number of times that two latents are on together is skewed.
    sampled <- run_batches(case, setting[[1]], 150, names, max_active = setting[[2]],
                           beta = setting[[3]], sweeps = c(10, 40))
    for (name in names) {
      expect_batches(sampled[[name]], c(exact$stats, exact)[[name]])
    }
  }
}, is_slow = TRUE)

for_sampled("the estimated sum over states has the right mean, its log a lower one", function(row) {
  case <- noisy_case(row, 6)
  selected <- draw_selected(6, row$n_latents, 4)
  ratio <- function(max_active, sweeps) {
    exact <- gps_estep(case$model, case$params, case$y, selected, max_active, character())
    n_chains <- if (is_full()) 1000 else 500
    set.seed(3)
    run_copies(case, selected, n_chains, "log_evidence", max_active = max_active,
               sweeps = sweeps)$log_evidence - exact$log_evidence
  }
  for (sweeps in list(c(0, 1), c(10, 2), c(2, 4))[seq_len(if (is_full()) 3 else 2)]) {
    log_ratio <- ratio(4, sweeps)
    expect_batches(exp(log_ratio), rep(1, 6))
    expect_lower(log_ratio)
  }
  # With few latents on at once, too.
  for (max_active in if (is_full()) c(1, 2) else 2) {
    log_ratio <- ratio(max_active, c(1, 2))
    expect_batches(exp(log_ratio), rep(1, 6))
    expect_lower(log_ratio)
  }
}, is_slow = TRUE)

for_sampled("the variance of the estimate is about that over the runs", function(row) {
  case <- noisy_case(row, 30)
  selected <- draw_selected(30, row$n_latents, 4)
  for (sweeps in list(c(10, 1), c(10, 4), c(10, 20))[seq_len(if (is_full()) 3 else 2)]) {
    set.seed(4)
    runs <- run_copies(case, selected, if (is_full()) 200 else 80, c("log_evidence", "variance"),
                       sweeps = sweeps)
    spread <- mean(apply(runs$log_evidence, 1, var))
    expect_gt(mean(runs$variance), spread / 2)
    expect_lt(mean(runs$variance), spread * 2)
  }
}, is_slow = TRUE)

test_that("draws, values and posterior means belong together", {
  case <- draw_case(MODELS[[1]], 20)
  selected <- draw_selected(20, 5, 3)
  selected[4, 2] <- 0
  set.seed(5)
  run <- gps_estep(case$model, case$params, case$y, selected, sweeps = c(1, 7), method = "gibbs",
                   want = c("draws", "latent", "stats"))
  expect_named(run, c("prob_on", "log_evidence", "stats", "latent", "value", "variance", "draws"))
  expect_identical(dim(run$draws), c(20L, 3L, 7L))
  expect_setequal(run$draws, 0:1)
  expect_identical(run$value, run$draws[, , 7])
  expect_near(run$latent, apply(run$draws, 1:2, mean), 1e-14)
  expect_identical(unique(c(run$draws[4, 2, ], run$prob_on[4, 2])), 0)
  on <- spread_slots(run$latent, selected, 5)
  expect_near(run$stats$on, colSums(on), 1e-12)
  expect_near(run$stats$data_on, t(case$y) %*% on, 1e-12)
  plain <- gps_estep(case$model, case$params, case$y, selected, want = character(),
                     method = "gibbs")
  expect_named(plain, c("prob_on", "log_evidence", "value", "variance"))
})

test_that("chains start where they are told", {
  case <- draw_case(MODELS[[1]], 50)
  # Hardly any noise: a sweep from a state that explains a point exactly stays there.
  case$params$sigma2 <- 1e-8
  latents <- matrix(rbinom(250, 1, 0.5) + 0, 50)
  case$y <- latents %*% t(case$params$W)
  all <- matrix(1:5, 50, 5, byrow = TRUE)
  run <- gps_estep(case$model, case$params, case$y, all, sweeps = c(0, 1), value = latents,
                   method = "gibbs")
  expect_identical(run$value, latents)
  sampled <- function(value) {
    gps_estep(case$model, case$params, case$y, all, value = value, method = "gibbs")
  }
  expect_gps_error(sampled(latents[-1, ]), "`value` must have 50 rows like `selected`, not 49")
  expect_gps_error(sampled(latents[, -1]), "`value` must have 5 columns, not 4")
  expect_gps_error(sampled("on"), "`value` must be")
  expect_gps_error(sampled(replace(latents, 3, NA)), "`value` must have finite values")
})

test_that("what one way of inference cannot give is refused", {
  case <- draw_case(MODELS[[1]], 5)
  selected <- draw_selected(5, 5, 3)
  estep <- function(...) gps_estep(case$model, case$params, case$y, selected, ...)
  expect_gps_error(estep(want = "prob", method = "gibbs"), "not \"prob\"")
  expect_gps_error(estep(want = "draws"), "not \"draws\"")
  expect_gps_error(estep(method = "gibs"), "Did you mean \"gibbs\"?")
  expect_gps_error(estep(method = "gibbs", sweeps = c(2, 0)), "`sweeps[2]` must be a whole number")
  mixture <- draw_case(MODELS[[3]], 5)
  expect_gps_error(gps_estep(mixture$model, mixture$params, mixture$y, draw_selected(5, 4, 2),
                             method = "gibbs"), "`method` = \"gibbs\" is not for this model")
})

test_that("a sampled E-step takes two uniforms from the session, an exact one none", {
  case <- draw_case(MODELS[[1]], 5)
  selected <- draw_selected(5, 5, 3)
  set.seed(6)
  gps_estep(case$model, case$params, case$y, selected)
  first <- runif(1)
  set.seed(6)
  expect_identical(runif(1), first)
  set.seed(6)
  a <- gps_estep(case$model, case$params, case$y, selected, method = "gibbs")
  third <- runif(1)
  set.seed(6)
  expect_identical(runif(3)[3], third)
  set.seed(6)
  expect_identical(gps_estep(case$model, case$params, case$y, selected, method = "gibbs"), a)
})

# The E-step of a pass on blocks of this size.
sample_pass <- function(case, block_size, n_threads, max_active = 5L) {
  n_points <- nrow(case$y)
  task <- make_task(list(
    y = t(case$y), model = case$model, n_selected = 5L, selector = selector_full(),
    control = gps_control(), n_threads = n_threads, method = "gibbs", sweeps = c(1L, 3L),
    seed = c(5L, 6L), states = build_states(case$model, 5L, max_active, "gibbs")
  ))
  task$blocks <- lapply(seq(0, n_points - 1, by = block_size), function(offset) {
    new_block(offset, min(block_size, n_points - offset))
  })
  state <- new_state(case$params, 2L, 0)
  state$selected <- matrix(1:5, 5, n_points)
  state$value <- matrix(rep_len(c(0, 1, 1), 5 * n_points), 5)
  pass(task, state, c("stats", "response"))
}

for_sampled("threads and blocks do not change a bit", function(row) {
  case <- draw_case(row, 2200)
  one <- sample_pass(case, 4096, 1)
  expect_identical(one$bound_error, sqrt(sum(one$variance)))
  block_sizes <- c(512, 1024, 4096)
  for (i in 1:3) {
    threads <- c(2, 4, 1)[i]
    for (block_size in if (is_full()) block_sizes else block_sizes[i]) {
      other <- sample_pass(case, block_size, threads)
      for (name in c("stats", "log_evidence", "variance", "prob_on", "value", "response", "bound",
                     "bound_error")) {
        expect_identical(other[[name]], one[[name]])
      }
    }
  }
})

test_that("a data point's draws depend on its number, not on its neighbours", {
  case <- draw_case(MODELS[[1]], 600)
  whole <- sample_pass(case, 1024, 1)
  case$y[1:500, ] <- 0
  cut <- sample_pass(case, 512, 1)
  expect_identical(cut$value[, 501:600], whole$value[, 501:600])
  expect_false(identical(cut$value, whole$value))
})

test_that("values follow their latents from one selection to the next", {
  last <- cbind(c(2L, 5L, 9L), c(1L, 4L, 0L), c(3L, 0L, 0L))
  value <- cbind(c(0.2, 0, 0.9), c(0.1, 0.4, 0), c(0.3, 0, 0))
  new <- cbind(c(5L, 7L, 9L), c(4L, 8L, 9L), c(1L, 2L, 0L))
  expect_identical(carry_values(last, value, new), cbind(c(0, 0, 0.9), c(0.4, 0, 0), c(0, 0, 0)))
  expect_identical(carry_values(last, value, last), value)
  expect_identical(carry_values(last, value, new[1:2, ]), cbind(c(0, 0), c(0.4, 0), c(0, 0)))
})

test_that("values follow new numbers and scales of their latents", {
  state <- list(selected = cbind(c(1L, 2L, 4L), c(2L, 3L, 0L)),
                prob_on = cbind(c(0.1, 0.2, 0.4), c(0.5, 0.6, 0)),
                value = cbind(c(10, 20, 40), c(0, 30, 0)))
  new <- relabel_slots(state, c(3L, 0L, 2L, 1L))
  expect_identical(new$selected, cbind(c(1L, 3L, 0L), c(2L, 0L, 0L)))
  expect_identical(new$value, cbind(c(40, 10, 0), c(30, 0, 0)))
  scaled <- rescale_values(state, c(1, 0.5, 2, 0.25))
  expect_identical(scaled$value, cbind(c(10, 10, 10), c(0, 60, 0)))
  expect_identical(scaled[1:2], state[1:2])
})

# Bars in little noise: states apart from each other, of which a chain that flips slots meets few.
sharp_case <- function(kind, n, seed, prob = 0.25) {
  set.seed(seed)
  bars <- simulate_bars(n, model = kind, size = 4, prob = prob)
  model <- gps_bind(get(paste0("model_", kind))(8), bars$y)
  params <- list(W = bars$W, pi = prob, mu = rep(1, 8), psi = rep(1, 8), sigma2 = 2)
  list(model = model, y = bars$y, params = params[names(model$params)])
}

# Sums of estimates of the same n points are at most five errors above those of exact values, and at
# most that and .02 nats a point below: but for `slack`, how exact these are.
expect_covered <- function(run, exact, slack) {
  gap <- sum(exact) - sum(run$log_evidence)
  error <- sqrt(sum(run$variance))
  worst <- max(gap - 5 * error - 0.02 * length(exact), -gap - 5 * error)
  expect(worst <= slack, sprintf("A bound is off by %.3g nats more than its error says.", worst))
}

n_covered <- if (is_full()) 20 else 2

# New chains, and such that go on from them.
expect_chains_covered <- function(case, n_latents, max_active, exact, slack) {
  all <- matrix(seq_len(n_latents), nrow(case$y), n_latents, byrow = TRUE)
  estep <- function(value) {
    gps_estep(case$model, case$params, case$y, all, max_active, character(), method = "gibbs",
              sweeps = c(2, 4), value = value)
  }
  new <- estep(NULL)
  expect_covered(new, exact, slack)
  expect_covered(estep(new$value), exact, slack)
}

test_that("the error of the bound covers what chains do not meet, with and without a limit", {
  for (kind in c("binary_sparse", "spike_slab")) {
    for (max_active in c(2, 3, 8)) {
      for (seed in seq_len(n_covered)) {
        case <- sharp_case(kind, 100, 100 + seed)
        all <- matrix(1:8, 100, 8, byrow = TRUE)
        exact <- gps_estep(case$model, case$params, case$y, all, max_active, character(),
                           method = "exact")$log_evidence
        expect_chains_covered(case, 8, max_active, exact, 1e-12 * sum(abs(exact)))
      }
    }
  }
})

test_that("it covers that of model C, too, by numerical integration", {
  for (max_active in 2:3) {
    n_latents <- c(4, 3)[max_active - 1]
    params <- list(W = simulate_bars(1, size = 2)$W[, seq_len(n_latents)], pi = 0.3,
                   mu = rep(1, n_latents), psi = rep(1, n_latents), sigma2 = 2)
    n <- if (is_full()) 40 else 16
    # In more points there are some that a coarse grid of three latents is off by half a nat for.
    n_grid <- c(201, 61, if (is_full()) 101 else 41)
    model <- gps_bind(model_max_spike_slab(n_latents), matrix(1, n, 4))
    for (seed in seq_len(n_covered / 2)) {
      set.seed(200 + seed)
      case <- list(model = model, params = params, y = gps_draw(model, params, n)$y)
      expect_chains_covered(case, n_latents, max_active,
                            integrate_max(params, case$y, max_active, n_grid), 0.05)
    }
  }
})

test_that("chains that go on under a limit change which latents are on", {
  case <- sharp_case("binary_sparse", 50, 3)
  all <- matrix(1:8, 50, 8, byrow = TRUE)
  exact <- gps_estep(case$model, case$params, case$y, all, 2, character(), method = "exact")
  # Two that are most of them wrong: no flip can lead on from there.
  wrong <- matrix(rep(c(1, 1, 0, 0, 0, 0, 0, 0), each = 50), 50)
  run <- gps_estep(case$model, case$params, case$y, all, 2, character(), method = "gibbs",
                   sweeps = c(20, 10), value = wrong)
  expect_lt(mean(abs(run$prob_on - exact$prob_on)), 0.02)
})
