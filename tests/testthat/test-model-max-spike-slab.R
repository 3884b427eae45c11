# Model C: closed forms where at most one latent is on, the M-step, and what happens at its edges.
# The conditional, its draws and long chains are tested in tests/c.

test_that("one active latent is in closed form: evidence, means, signal, statistics", {
  for (signed in c(FALSE, TRUE)) {
    case <- max_problem(6)
    if (signed) case$params$W[cbind(c(1, 2, 4), c(2, 3, 4))] <- c(-1, 0, -0.5)
    selected <- draw_selected(6, 5, 3)
    step <- gps_estep(case$model, case$params, case$y, selected, max_active = 1,
                      want = c("stats", "latent", "response", "prob"))
    on <- value <- square <- numeric(5)
    won_data <- won_square <- matrix(0, 4, 5)
    for (n in 1:6) {
      truth <- single_posterior(case$params, case$y[n, ], selected[n, ])
      expect_near(step$log_evidence[n], truth$log_evidence, 1e-9)
      expect_near(step$prob[n, ], truth$prob, 1e-9)
      expect_near(step$prob_on[n, ], truth$prob[-1], 1e-9)
      response <- numeric(4)
      for (k in 1:3) {
        h <- selected[n, k]
        w <- case$params$W[, h]
        first <- truth$prob[k + 1] * c(truth$singles[[k]]$below[2], truth$singles[[k]]$above[2])
        second <- truth$prob[k + 1] * c(truth$singles[[k]]$below[3], truth$singles[[k]]$above[3])
        expect_near(step$latent[n, k], sum(first), 1e-8)
        side <- 1 + (w > 0)
        response <- response + w * first[side]
        on[h] <- on[h] + truth$prob[k + 1]
        value[h] <- value[h] + sum(first)
        square[h] <- square[h] + sum(second)
        won_data[, h] <- won_data[, h] + (w != 0) * case$y[n, ] * first[side]
        won_square[, h] <- won_square[, h] + (w != 0) * second[side]
      }
      expect_near(step$response[n, ], response, 1e-8)
    }
    wanted <- list(count = 6, data_square = sum(case$y^2), on = on, on_drawn = on, value = value,
                   value_square = square, won_data = won_data, won_square = won_square,
                   data_sum = numeric(), won_value = numeric())
    expect_named(step$stats, names(wanted))
    for (name in names(wanted)) expect_near(c(step$stats[[name]]), c(wanted[[name]]), 1e-8)
  }
})

test_that("exact numbers of C_case1 and C_case3 with at most one latent on", {
  for (name in c("C_case1", "C_case3")) {
    oracle <- read_model_oracle(name)
    params <- oracle[c("W", "pi", "mu", "psi", "sigma2")]
    model <- gps_bind(model_max_spike_slab(oracle$H, shared_prob = FALSE), oracle$Y_rows)
    n <- nrow(oracle$Y_rows)
    selected <- matrix(oracle$sel0 + 1, n, 2, byrow = is.null(dim(oracle$sel0)))
    step <- gps_estep(model, params, oracle$Y_rows, selected, max_active = 1, want = "prob")
    is_single <- 1:3
    joint <- do.call(rbind, oracle$posterior$logjoint_support)[, is_single]
    expect_near(log(step$prob) + step$log_evidence, joint, 1e-10)
  }
})

test_that("the temperature divides the log joint of values and supports", {
  case <- max_problem(n = 6)
  selected <- draw_selected(6, 5, 2)
  cold <- gps_estep(case$model, case$params, case$y, selected, max_active = 1, beta = 0.3,
                    want = c("prob", "latent"))
  # Tempered normal densities are normal with other variances, but for their norm.
  warm <- case$params
  warm$psi <- warm$psi / 0.3
  warm$sigma2 <- warm$sigma2 / 0.3
  odds <- (1 / case$params$pi - 1)^-0.3 * (2 * pi * case$params$psi)^-0.15 *
    (2 * pi * warm$psi)^0.5
  warm$pi <- odds / (1 + odds)
  other <- gps_estep(case$model, warm, case$y, selected, max_active = 1,
                     want = c("prob", "latent"))
  expect_near(cold$prob, other$prob, 1e-12)
  expect_near(cold$latent, other$latent, 1e-12)
})

# The M-step by its formulas.
max_mstep <- function(params, stats, count, floor) {
  old <- rep(count * (params$mu^2 + params$psi), each = nrow(params$W))
  w <- pmax((stats$won_data + old * params$W) / (stats$won_square + old), floor)
  error <- stats$data_square - sum(2 * w * stats$won_data - w^2 * stats$won_square)
  mu <- stats$value / stats$on_drawn
  list(W = w, pi = stats$on / stats$count, mu = mu,
       psi = stats$value_square / stats$on_drawn - mu^2, sigma2 = error / length(w) * ncol(w) /
         stats$count)
}

test_that("the M-step follows its formulas, with any weight of the old W and any floor", {
  case <- max_problem(60)
  stats <- gps_estep(case$model, case$params, case$y, draw_selected(60, 5, 4), max_active = 1)$stats
  # Sampled states have these apart.
  stats$on_drawn <- 0.9 * stats$on + 1
  stats$value_square <- stats$value_square + 1
  for (count in c(0, 1, 30)) {
    for (floor in c(-Inf, 1e-4, 1.5)) {
      model <- case$model
      model$options[c("floor_W", "pseudo_count")] <- list(max(floor, -1e300), count)
      # The exported step refuses options that were changed.
      step <- mstep_model(model, case$params, stats)
      wanted <- max_mstep(case$params, stats, count, floor)
      for (name in names(wanted)) expect_near(step$params[[name]], wanted[[name]], 1e-12)
      expect_named(step$events, model$events)
      expect_identical(step$events[["w_floor"]], sum(wanted$W == floor))
      expect_identical(sum(step$events), sum(wanted$W == floor))
    }
  }
  shared <- max_problem(60, shared_prob = TRUE)
  expect_near(gps_mstep(shared$model, shared$params, stats)$params$pi, mean(stats$on / 60), 1e-12)
})

test_that("the expected squared error is that of the new W", {
  case <- max_problem(15)
  selected <- draw_selected(15, 5, 3)
  step <- gps_estep(case$model, case$params, case$y, selected, max_active = 1)
  new <- gps_mstep(case$model, case$params, step$stats)$params
  truth <- vapply(1:15, function(n) {
    posterior <- single_posterior(case$params, case$y[n, ], selected[n, ])
    square <- posterior$prob[1] * sum(case$y[n, ]^2)
    for (k in 1:3) {
      w <- new$W[, selected[n, k]]
      above <- posterior$singles[[k]]$above
      below <- posterior$singles[[k]]$below
      square <- square + posterior$prob[k + 1] *
        sum(case$y[n, ]^2 - 2 * case$y[n, ] * w * above[2] + w^2 * above[3])
    }
    square
  }, 1)
  expect_near(new$sigma2, sum(truth) / length(case$y), 1e-8)
})

# Credits do not change with positive weights where latents are on alone, so that it is EM.
test_that("with one active latent no iteration lowers the bound", {
  for (seed in seq_len(if (is_full()) 10 else 4)) {
    set.seed(seed)
    case <- max_problem(50)
    params <- gps_init(case$model, case$y)
    selected <- draw_selected(50, 5, 3)
    bounds <- numeric(15)
    for (iteration in 1:15) {
      step <- gps_estep(case$model, params, case$y, selected, max_active = 1)
      bounds[iteration] <- sum(step$log_evidence)
      params <- gps_mend(case$model, gps_mstep(case$model, params, step$stats)$params,
                         step$stats)$params
      expect_true(all(params$W > 0))
    }
    expect_no_fall(bounds)
  }
})

test_that("mending fixes the scale and changes nothing that can be seen", {
  case <- max_problem()
  stats <- gps_estep(case$model, case$params, case$y, draw_selected(12, 5, 3))$stats
  mended <- gps_mend(case$model, case$params, stats)
  new <- mended$params
  expect_near(new$mu^2 + new$psi, rep(1, 5), 1e-14)
  expect_null(mended$relabel)
  expect_near(mended$rescale, 1 / sqrt(case$params$mu^2 + case$params$psi), 1e-14)
  expect_identical(sign(new$mu), sign(case$params$mu))
  selected <- draw_selected(12, 5, 3)
  want <- c("latent", "response", "prob")
  before <- gps_estep(case$model, case$params, case$y, selected, max_active = 1, want = want)
  after <- gps_estep(case$model, new, case$y, selected, max_active = 1, want = want)
  for (name in c("log_evidence", "prob", "response")) {
    expect_near(after[[name]], before[[name]], 1e-12)
  }
  expect_near(after$latent, before$latent * mended$rescale[selected], 1e-12)
})

test_that("the initial weights are positive and follow the data's mean and spread", {
  case <- max_problem(500)
  deviation <- mean(apply(case$y, 2, function(x) sqrt(mean((x - mean(x))^2)))) / 4
  set.seed(1)
  init <- gps_init(case$model, case$y)
  expect_named(init, names(case$params))
  expect_true(all(init$W > 0))
  expect_lt(mean(abs(init$W - colMeans(case$y))), 2 * deviation)
  expect_identical(init$mu, rep(1, 5))
  expect_identical(init$psi, rep(1, 5))
  expect_identical(init$pi, rep(0.2, 5))
  expect_identical(check_all_params(case$model, init, "init"), init)
  zeros <- gps_bind(model_max_spike_slab(3), matrix(0, 5, 2))
  expect_true(all(gps_init(zeros, matrix(0, 5, 2))$W > 0))
})

test_that("drawn data are maxima of values that are on, with noise", {
  case <- max_problem()
  set.seed(2)
  drawn <- gps_draw(case$model, case$params, 5000)
  expect_named(drawn, c("y", "latents", "values"))
  expect_frequency(colSums(drawn$latents), 5000, case$params$pi)
  strength <- drawn$latents * drawn$values
  mean <- vapply(1:4, function(d) {
    pmax(0, apply(sweep(strength, 2, case$params$W[d, ], "*"), 1, max))
  }, numeric(5000))
  residual <- drawn$y - mean
  expect_near(mean(residual), 0, 5 * sqrt(0.7 / length(residual)))
  expect_near(mean(residual^2), 0.7, 5 * 0.7 * sqrt(2 / length(residual)))
  expect_true(all(abs(colMeans(drawn$values) - case$params$mu) <
                    5 * sqrt(case$params$psi / 5000)))
})

test_that("the hand-crafted affinity is the cosine, block by block too", {
  case <- max_problem(30)
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

test_that("screening by singletons follows their log joints", {
  case <- max_problem(20)
  y <- t(case$y)
  block <- new_block(0, 20)
  task <- list(y = y, model = case$model, n_selected = 2, n_threads = 1,
               selector = list(screen = NULL))
  screen <- gps_screen("singleton", keep = FALSE, propose = 5, explore = c(0, 0))
  stream <- list(seed = c(1L, 2L), start = 0L, iteration = 1L)
  found <- screen_block(task, new_state(case$params, 0L, 0), block,
                        block_inputs(case$model, case$params, y, block), matrix(1, 5, 20),
                        resolve_screen(screen, case$model, 2L), stream)
  all_on <- matrix(1:5, 20, 5, byrow = TRUE)
  prob <- gps_estep(case$model, case$params, case$y, all_on, max_active = 1)$prob_on
  best <- apply(prob, 1, function(p) sort(order(-p)[1:2]))
  expect_identical(c(found), c(best))
})

single_fit <- function(y, n_latents = 5, selector = selector_handcrafted(), ...) {
  set.seed(3)
  gps_fit(y, model_max_spike_slab(n_latents), selector, n_selected = 3, max_active = 1,
          control = short_control(max_iter = 12, ...))
}

test_that("fits with one active latent work with every selector and survive their checks", {
  y <- max_problem(80)$y
  for (selector in list(selector_handcrafted(), selector_gp(kernel_linear()), selector_random(),
                        selector_handcrafted(screen = gps_screen()))) {
    fit <- single_fit(y, selector = selector)
    expect_true(is.finite(fit$bound))
    expect_true(all(fit$params$W > 0))
    expect_silent(check_fit(fit))
    expect_identical(dim(predict(fit, y[1:3, ], type = "response")), c(3L, 4L))
  }
  fit$model$settings$shared_prob <- FALSE
  expect_gps_error(check_fit(fit), "its model was changed")
})

test_that("a moved component takes a half of the split one, positive, with its slab", {
  case <- max_problem()
  centres <- cbind(c(1, -9, 0, 2), c(-1, 3, 0, -2))
  split <- list(latent = 2L, centres = centres, size = c(4, 12))
  moved <- move_component(case$model, case$params, 5L, split)
  floor <- case$model$options$floor_W
  expect_near(moved$W[, c(2, 5)], pmax(case$params$W[, 2] + centres, floor), 1e-14)
  expect_identical(moved$W[, -c(2, 5)], case$params$W[, -c(2, 5)])
  expect_identical(moved$mu[5], case$params$mu[2])
  expect_identical(moved$psi[5], case$params$psi[2])
  expect_near(moved$pi[c(2, 5)], case$params$pi[2] * c(0.25, 0.75), 1e-14)
  split$latent <- 0L
  renewed <- move_component(case$model, case$params, 5L, split)
  expect_near(renewed$W[, 5], pmax(centres[, 1] - centres[, 2], floor), 1e-14)
  expect_identical(renewed$mu[5], median(case$params$mu[-5]))
  expect_identical(renewed$psi[5], median(case$params$psi[-5]))
  expect_identical(check_all_params(case$model, moved, "moved"), moved)
})

test_that("a column that is nearly zero is on by its prior alone, one of zeros is out", {
  case <- max_problem()
  step_at <- function(weight) {
    case$params$W[, 2] <- weight
    gps_estep(case$model, case$params, case$y, matrix(2, 12, 1), max_active = 1,
              want = c("latent", "response", "stats"))
  }
  step <- step_at(1e-200)
  expect_near(step$prob_on[, 1], rep(case$params$pi[2], 12), 1e-12)
  expect_near(step$latent[, 1], rep(case$params$pi[2] * case$params$mu[2], 12), 1e-12)
  expect_near(step$response, matrix(0, 12, 4), 1e-190)
  step <- step_at(0)
  expect_identical(step$prob_on[, 1], numeric(12))
  expect_identical(step$latent[, 1], numeric(12))
  expect_identical(step$response, matrix(0, 12, 4))
  expect_identical(sum(abs(step$stats$won_square)), 0)
})

test_that("very negative data switch off what can only raise them", {
  case <- max_problem()
  y <- matrix(-1000, 12, 4)
  step <- gps_estep(case$model, case$params, y, matrix(1:3, 12, 3, byrow = TRUE), max_active = 1,
                    want = "latent")
  expect_true(all(is.finite(step$log_evidence)))
  expect_true(all(step$prob_on > 0 & step$prob_on < 1))
  # On, but with z < 0, a latent is not seen.
  expect_true(all(step$latent[, 1] < 0))
})

test_that("slabs without width and data far out are no obstacle", {
  case <- max_problem()
  case$params$psi[] <- 1e-12
  case$params$sigma2 <- 20
  step <- gps_estep(case$model, case$params, case$y, matrix(1:5, 12, 5, byrow = TRUE),
                    max_active = 1, want = "latent")
  # Intensities known beforehand: as binary sparse coding with W mu, where mu is positive.
  for (h in 3:5) {
    gain <- drop(case$y %*% case$params$W[, h]) * case$params$mu[h] -
      0.5 * sum(case$params$W[, h]^2) * case$params$mu[h]^2
    odds <- log(step$prob_on[, h]) - log(1 - rowSums(step$prob_on))
    prior <- log(case$params$pi[h] / (1 - case$params$pi[h]))
    expect_near(odds, prior + gain / case$params$sigma2, 1e-6)
    expect_near(step$latent[, h], step$prob_on[, h] * case$params$mu[h], 1e-9)
  }
  far <- gps_estep(case$model, case$params, 1e8 * case$y, matrix(1:2, 12, 2, byrow = TRUE),
                   max_active = 1)
  expect_true(all(is.finite(far$log_evidence)))
})

test_that("floors act and are counted", {
  case <- max_problem(30)
  stats <- gps_estep(case$model, case$params, case$y, draw_selected(30, 5, 3), max_active = 1)$stats
  stats$on[2:3] <- c(0, 30)
  stats$on_drawn[1] <- 0.5
  stats$value_square[4] <- stats$value[4]^2 / stats$on_drawn[4]
  step <- gps_mstep(case$model, case$params, stats)
  expect_identical(step$params$pi[2:3], c(1e-4, 1 - 1e-4))
  expect_identical(step$events[["pi_clamped"]], 2L)
  expect_identical(step$params$mu[1], case$params$mu[1])
  expect_identical(step$params$psi[1], case$params$psi[1])
  expect_identical(step$events[["slab_kept"]], 1L)
  expect_near(step$params$psi[4], 1e-8 * stats$value_square[4] / stats$on_drawn[4], 1e-20)
  expect_identical(step$events[["psi_floor"]], 1L)
  stats$data_square <- sum(2 * step$params$W * stats$won_data - step$params$W^2 * stats$won_square)
  step <- gps_mstep(case$model, case$params, stats)
  expect_identical(step$params$sigma2, case$model$options$floor_sigma2)
  expect_identical(step$events[["sigma2_floor"]], 1L)
})

test_that("a component that nobody uses stays where it is", {
  case <- max_problem(30)
  stats <- gps_estep(case$model, case$params, case$y, draw_selected(30, 4, 3), max_active = 1)$stats
  new <- gps_mstep(case$model, case$params, stats)$params
  expect_near(new$W[, 5], case$params$W[, 5], 1e-14)
  expect_identical(new$mu[5], case$params$mu[5])
  expect_identical(new$psi[5], case$params$psi[5])
})

test_that("one parameter of each component is a matter of units and not counted as free", {
  model <- gps_bind(model_max_spike_slab(5), max_problem()$y)
  n_dims <- model$n_dims
  expect_identical(count_free(model), n_dims * 5 + 1 + 5 + 5 + 1 - 5)
})

test_that("the floor of the weights follows the scale of the data", {
  y <- max_problem(40)$y
  floor_of <- function(y) gps_bind(model_max_spike_slab(2), y)$options$floor_W
  expect_near(floor_of(1000 * y) / floor_of(y), 1000, 1e-9)
  spread <- sqrt(mean(apply(y, 2, function(x) mean((x - mean(x))^2))))
  expect_near(floor_of(y), 2e-5 * spread, 1e-12)
})

test_that("parameters and arguments outside their ranges are refused by name", {
  case <- max_problem()
  refuse <- function(params, words) {
    expect_gps_error(gps_estep(case$model, modifyList(case$params, params), case$y,
                               matrix(1, 12, 1)), words)
  }
  refuse(list(psi = c(0, 1, 1, 1, 1)), "`params$psi` must lie between 0 and Inf, both excluded")
  refuse(list(sigma2 = 0), "`params$sigma2` must lie between 0 and Inf, both excluded")
  refuse(list(pi = c(1, 0.1, 0.1, 0.1, 0.1)), "`params$pi` must lie between 0 and 1")
  refuse(list(mu = 1), "`params$mu` must be 5 numbers")
  for (bad in list(0, 2.5, NA, "5", NULL)) {
    expect_gps_error(model_max_spike_slab(bad), "`n_latents` must be a whole number")
  }
  for (bad in list(NA, 1, "TRUE")) {
    expect_gps_error(model_max_spike_slab(3, bad), "`shared_prob` must be TRUE or FALSE")
  }
})

test_that("data that lie below zero are told from noise about it, whatever their other values", {
  is_told <- function(y) is_lopsided(size_counts(t(y) / stats::sd(y)))
  for (seed in seq_len(if (is_full()) 20 else 8)) {
    set.seed(seed)
    bars <- simulate_bars(100)$y
    expect_true(is_told(bars - mean(bars)))
    expect_true(is_told(log(abs(bars) + 0.01)))
    expect_false(is_told(bars))
    expect_false(is_told(simulate_bars(100, "max_spike_slab")$y))
    expect_false(is_told(matrix(rt(2000, 2), 100)))
  }
  expect_warning(gps_fit(log(abs(bars) + 0.01), model_max_spike_slab(2), selector_handcrafted(),
                         control = gps_control(n_starts = 1, max_iter = 1, progress = FALSE)),
                 "log(1 + x) is not negative", fixed = TRUE, class = "gps_warning_negative")
})
