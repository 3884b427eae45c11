# The noisy-OR: exact numbers by its definition, its M-step, what floors do, data it cannot have.
# @srrstats {PD4.4}

# A problem with H latents, and data drawn from it by plain R.
noisy_case <- function(seed, n = 25, n_dims = 7, n_latents = 4, shared = FALSE) {
  set.seed(seed)
  params <- list(W = matrix(rexp(n_dims * n_latents), n_dims),
                 pi = if (shared) 0.3 else runif(n_latents, 0.1, 0.6),
                 leak = runif(n_dims, 0.01, 0.3))
  states <- matrix(rbinom(n * n_latents, 1, 0.4), n)
  y <- (matrix(runif(n * n_dims), n) < response_noisy_or(params, states)) + 0
  list(params = params, y = y, model = gps_bind(model_noisy_or(n_latents, shared), y),
       row = list(n_latents = n_latents, is_one_hot = FALSE,
                  joint = function(...) joint_noisy_or(...)),
       all = matrix(seq_len(n_latents), n, n_latents, byrow = TRUE))
}

test_that("all 256 states of eight causes have the exact likelihood and posterior", {
  for (seed in seq_len(if (is_full()) 3 else 2)) {
    case <- noisy_case(seed, n = 12, n_dims = 20, n_latents = 8, shared = seed == 2)
    truth <- brute_force(case$row, case$params, case$y, case$all)
    step <- gps_estep(case$model, case$params, case$y, case$all,
                      want = c("stats", "latent", "response", "prob"))
    expect_near(step$log_evidence, truth$log_evidence, 1e-12)
    expect_near(step$prob_on, truth$mean, 1e-12)
    expect_near(step$response,
                t(truth$weight) %*% response_noisy_or(case$params, t(truth$states)), 1e-12)
    wanted <- stats_noisy_or(case$params, case$y, truth)
    for (name in names(wanted)) expect_near(c(step$stats[[name]]), c(wanted[[name]]), 1e-12)
    new <- gps_mstep(case$model, case$params, step$stats)$params
    wanted <- mstep_noisy_or(case$params, case$y, truth, seed == 2)
    for (name in names(wanted)) expect_near(new[[name]], wanted[[name]], 1e-11)
  }
})

# Sum over points and states of q(s) log p(s, y).
expected_joint <- function(case, params, posterior) {
  response <- response_noisy_or(params, t(posterior$states))
  prior <- drop(crossprod(posterior$states, qlogis(params$pi))) + sum(log1p(-params$pi))
  joint <- log(response) %*% t(case$y) + log1p(-response) %*% t(1 - case$y) + prior
  sum(posterior$weight * joint)
}

test_that("M-steps raise the expected log joint up to where optim() ends", {
  case <- noisy_case(4, n = 15, n_dims = 4, n_latents = 3)
  selected <- t(vapply(1:15, function(i) sort(sample.int(3, 2)), 1:2))
  posterior <- brute_force(case$row, case$params, case$y, selected, 2)
  # The same posterior stays; what has fired by its new parameters is counted anew.
  params <- case$params
  value <- expected_joint(case, params, posterior)
  for (step in 1:60) {
    stats <- stats_noisy_or(params, case$y, posterior)
    params <- gps_mstep(case$model, params, lapply(stats, as.double))$params
    value <- c(value, expected_joint(case, params, posterior))
  }
  expect_no_fall(value)
  expect_gt(value[2], value[1] + 1e-3)
  free <- function(x) {
    list(W = matrix(-log1p(-plogis(x[1:12])), 4), pi = plogis(x[13:15]), leak = plogis(x[16:19]))
  }
  from <- qlogis(c(1 - exp(-case$params$W), case$params$pi, case$params$leak))
  best <- optim(from, function(x) expected_joint(case, free(x), posterior), method = "BFGS",
                control = list(fnscale = -1, maxit = 500, reltol = 1e-13))
  expect_near(value[61], best$value, 1e-3)
  expect_gte(value[61], best$value - 0.02)
})

test_that("a bound over all latents never falls, with either prior", {
  for (shared in c(TRUE, FALSE)) {
    case <- noisy_case(5, n = 120, n_dims = 12, n_latents = 4)
    set.seed(2)
    fit <- gps_fit(case$y, model_noisy_or(4, shared), selector_full(),
                   control = short_control(max_iter = 60, tol = 0, mend = FALSE))
    expect_no_fall(fit$trace$bound[fit$trace$temperature == 1])
    row <- modifyList(case$row, list(n_latents = 4))
    truth <- brute_force(row, fit$params, case$y, case$all)
    expect_near(fit$bound, sum(truth$log_evidence), 1e-12)
  }
})

test_that("tiny leaks and sure causes lose no digits", {
  case <- noisy_case(6, n = 8, n_dims = 40, n_latents = 3)
  case$params$leak[] <- 1e-12
  case$params$W[, 1] <- 1e-11
  case$params$W[, 2] <- 40
  case$params$W[, 3] <- 1e-3
  y <- matrix(rep(c(0, 1), each = 40), 2, byrow = TRUE)
  model <- gps_bind(model_noisy_or(3, FALSE), y)
  on <- as.matrix(expand.grid(0:1, 0:1, 0:1))
  step <- gps_estep(model, case$params, y, matrix(1:3, 2, 3, byrow = TRUE), want = "prob")
  # log(1 - exp(-eta)) of the summed weights, by functions that keep small numbers.
  eta <- drop(on %*% case$params$W[1, ]) - log1p(-1e-12)
  prior <- drop(on %*% qlogis(case$params$pi)) + sum(log1p(-case$params$pi))
  for (n in 1:2) {
    joint <- prior + 40 * if (n == 1) -eta else log(-expm1(-eta))
    top <- max(joint)
    log_evidence <- top + log(sum(exp(joint - top)))
    expect_near(step$log_evidence[n], log_evidence, 1e-12)
    expect_near(step$prob[n, ], unname(exp(joint - log_evidence)), 1e-12)
  }
})

test_that("the ranking is what the state of a cause alone gains", {
  case <- noisy_case(7)
  affinity <- gps_handcrafted(case$model, case$params, case$y)
  gain <- t(apply(case$y, 1, function(y) {
    vapply(1:4, function(h) {
      joint_noisy_or(case$params, y, diag(4)[h, ]) - joint_noisy_or(case$params, y, numeric(4))
    }, 1)
  }))
  expect_near(affinity, gain, 1e-12)
  block <- new_block(0, nrow(case$y))
  inputs <- block_inputs(case$model, case$params, t(case$y), block)
  expect_near(t(block_handcrafted(case$model, inputs, t(case$y), block)), gain, 1e-12)
})

test_that("probabilities stay off their ends, counted and said", {
  y <- cbind(0, rep(0:1, 20), 1)
  model <- gps_bind(model_noisy_or(2, FALSE), y)
  params <- list(W = matrix(1, 3, 2), pi = c(0.5, 0.5), leak = rep(0.5, 3))
  stats <- list(count = 40, on = c(0, 40), fired = cbind(0, c(0, 20, 40)), leaked = c(0, 10, 40))
  step <- gps_mstep(model, params, stats)
  expect_identical(step$params$W[, 1], c(1, 1, 1))
  expect_near(step$params$W[, 2], -log(c(1 - 1e-6, 0.5, 1e-6)), 1e-9)
  expect_near(step$params$leak, c(1e-6, 0.25, 1 - 1e-6), 1e-12)
  expect_identical(step$params$pi, c(1e-4, 1 - 1e-4))
  expect_identical(step$events, c(prob_floor = 4L, pi_clamped = 2L))
  set.seed(1)
  fit <- gps_fit(y, model_noisy_or(1), selector_full(), control = short_control(max_iter = 30))
  expect_printed(fit, "prob_floor [0-9]+, .*in the last M-step|prob_floor [0-9]+ in the last")
})

test_that("moves find bars that one start has missed", {
  bars <- vapply(1:10, function(h) {
    c(if (h <= 5) row(diag(5)) == h else col(diag(5)) == h - 5) + 0
  }, numeric(25))
  params <- list(W = -log1p(-0.8 * bars), pi = 0.2, leak = rep(0.02, 25))
  set.seed(2)
  y <- gps_draw(gps_bind(model_noisy_or(10), matrix(0, 300, 25)), params, 300)$y
  found <- function(mend, shared) {
    set.seed(102)
    fit <- gps_fit(y, model_noisy_or(10, shared), selector_handcrafted(), n_selected = 5,
                   control = short_control(mend = mend))
    list(n = sum(match_components(1 - exp(-coef(fit)$W), bars)$matched), bound = fit$bound,
         events = fit$trace$events)
  }
  for (shared in if (is_full()) c(TRUE, FALSE) else FALSE) {
    without <- found(FALSE, shared)
    with <- found(TRUE, shared)
    expect_lt(without$n, 10)
    expect_identical(with$n, 10L)
    expect_gt(with$bound, without$bound + 20)
    expect_match(with$events, "split|renewed", all = FALSE)
  }
})

test_that("data that are not zeros and ones are refused where they enter", {
  case <- noisy_case(8)
  bad <- case$y
  bad[3, 2] <- 0.5
  words <- "must have zeros and ones for the model \"Noisy-OR\", but row 3, column 2 is 0.5."
  refuse <- function(code, words) expect_gps_error(code, words, class = "data")
  refuse(gps_fit(bad, model_noisy_or(3)), paste("`y`", words))
  refuse(gps_bind(model_noisy_or(3), bad), paste("`y`", words))
  refuse(gps_init(case$model, bad), paste("`y`", words))
  refuse(gps_handcrafted(case$model, case$params, bad), paste("`y`", words))
  refuse(gps_estep(case$model, case$params, bad, case$all), paste("`y`", words))
  refuse(gps_affinity(selector_handcrafted(), list(model = case$model, params = case$params), bad),
         paste("`y`", words))
  set.seed(1)
  fit <- gps_fit(case$y, model_noisy_or(3), selector_full(), control = short_control(max_iter = 2))
  refuse(predict(fit, bad), paste("`newdata`", words))
  source <- gps_source(1100, 7, function(from, to) {
    block <- matrix(0, to - from + 1, 7)
    if (from <= 1024 && to >= 1024) block[1024 - from + 1, 5] <- -1
    block
  })
  refuse(gps_fit(source, model_noisy_or(3), control = short_control(max_iter = 1)),
         "row 1024, column 5 is -1.")
  names <- paste0("v", 1:7)
  refuse(predict(fit, matrix(bad, nrow(bad), dimnames = list(NULL, names))[3, , drop = FALSE]),
         "row 1, column 2 (\"v2\") is 0.5.")
})

test_that("TRUE and FALSE, data frames of them, sparse matrices and sources are the same data", {
  case <- noisy_case(9, n = 60)
  fit_of <- function(y) {
    set.seed(1)
    gps_fit(y, model_noisy_or(4), selector_handcrafted(), n_selected = 3,
            control = short_control(max_iter = 10))
  }
  plain <- fit_of(case$y)
  expect_identical(fit_of(case$y == 1)$params, plain$params)
  expect_silent(frame <- fit_of(as.data.frame(case$y == 1)))
  expect_identical(unname(frame$params$W), unname(plain$params$W))
  expect_identical(fit_of(gps_source(60, 7, function(from, to) {
    case$y[from:to, , drop = FALSE]
  }))$params, plain$params)
  skip_if_not_installed("Matrix")
  expect_identical(fit_of(Matrix::Matrix(case$y, sparse = TRUE))$params, plain$params)
})

test_that("a fit prints, predicts, draws, and is the same after a file", {
  case <- noisy_case(10, n = 80)
  set.seed(1)
  fit <- gps_fit(case$y, model_noisy_or(4, FALSE), selector_handcrafted(), n_selected = 3,
                 control = short_control(max_iter = 12))
  expect_printed(fit, "Noisy-OR: 4 latents, shared_prob = FALSE")
  expect_printed(summary(fit), "Noisy-OR")
  response <- predict(fit, type = "response")
  expect_true(all(response > 0 & response < 1))
  expect_equal(fitted(fit), response)
  expect_equal(residuals(fit), case$y - response)
  expect_setequal(simulate(fit, seed = 1)[[1]]$y, 0:1)
  expect_identical(attr(logLik(fit), "df"), 7 * 4 + 4 + 7)
  file <- tempfile(fileext = ".rds")
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), case$y[1:5, ]), predict(fit, case$y[1:5, ]))
  unlink(file)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(fit, which = c("components", "bound", "selection")))
  expect_identical(component_values(fit$model, fit$params), 1 - exp(-fit$params$W))
})

test_that("chains and batches come near the sum over all states", {
  case <- noisy_case(11, n = 400, n_dims = 10)
  exact <- gps_estep(case$model, case$params, case$y, case$all)
  fit_with <- function(...) {
    set.seed(1)
    gps_fit(case$y, model_noisy_or(4, FALSE), selector_full(), start = case$params,
            control = short_control(max_iter = 8, mend = FALSE, ...))
  }
  sums <- fit_with()
  expect_near(fit_with(method = "gibbs", sweeps = c(20, 60))$params$W, sums$params$W, 0.2)
  expect_gt(fit_with(batch_size = 100)$bound, sum(exact$log_evidence))
})

test_that("constant data are said to hold nothing", {
  expect_warning(gps_fit(matrix(0, 20, 3), model_noisy_or(2), selector_full(),
                         control = short_control(max_iter = 2)),
                 "nothing in it for latents to find", class = "gps_warning_degenerate")
})

test_that("bad arguments of the constructor and of parameters are refused by name", {
  for (bad in list(0, 2.5, NA, "5")) {
    expect_gps_error(model_noisy_or(bad), "`n_latents` must be a whole number")
  }
  expect_gps_error(model_noisy_or(3, NA), "`shared_prob` must be TRUE or FALSE")
  expect_gps_error(model_noisy_or(3, leak = 0), "leak")
  case <- noisy_case(12)
  refuse <- function(params, words) {
    expect_gps_error(gps_estep(case$model, modifyList(case$params, params), case$y, case$all),
                     words)
  }
  refuse(list(W = -case$params$W), "`params$W` must lie between 0 and Inf")
  refuse(list(leak = numeric(7)), "`params$leak` must lie between")
  refuse(list(pi = rep(1, 4)), "`params$pi` must lie between 0 and 1, both excluded")
})
