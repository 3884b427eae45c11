# Missing cells of model C: its draws, its integrals, and what they say of a cell.

# Of the max model: cases with and without an intercept.
max_missing <- function(intercept) {
  case <- max_problem(30, 6)
  if (intercept) {
    case$params$intercept <- c(2, -1, 0.5, 0, 3, 1)
    case$y <- sweep(case$y, 2, case$params$intercept, "+")
    case$model <- gps_bind(model_max_spike_slab(5, FALSE, TRUE), case$y)
  }
  set.seed(9)
  case$whole <- case$y
  case$y[runif(length(case$y)) < 0.3] <- NA
  case$y[2, ] <- NA
  case
}

test_that("max_spike_slab: points that lack the same cells are those of a model without these", {
  for (intercept in c(FALSE, TRUE)) {
    case <- max_missing(intercept)
    gone <- c(2, 5)
    y <- case$whole
    y[, gone] <- NA
    less <- case$params
    less$W <- less$W[-gone, ]
    if (intercept) less$intercept <- less$intercept[-gone]
    small <- gps_bind(model_max_spike_slab(5, FALSE, intercept), case$whole[, -gone])
    selected <- draw_selected(30, 5, 3)
    for (max_active in c(1, 3)) {
      ask <- function(model, params, y) {
        set.seed(1)
        want <- c("stats", "latent", "response")
        gps_estep(model, params, y, selected, max_active, want, sweeps = c(5, 20))
      }
      found <- ask(case$model, case$params, y)
      expected <- ask(small, less, case$whole[, -gone])
      # The same draws, to the last bit: a missing cell has no say in any of them.
      for (name in c("prob_on", "latent", "value")) {
        expect_identical(found[[name]], expected[[name]])
      }
      expect_near(found$log_evidence, expected$log_evidence, 1e-14)
      expect_near(found$response[, -gone], expected$response, 1e-14)
      for (name in c("on", "on_drawn", "value", "value_square")) {
        expect_identical(found$stats[[name]], expected$stats[[name]])
      }
    }
  }
})

test_that("max_spike_slab: statistics of missing cells are those of what draws say of them", {
  for (intercept in c(FALSE, TRUE)) {
    case <- max_missing(intercept)
    params <- case$params
    base <- if (intercept) params$intercept else numeric(6)
    centre <- if (intercept) case$model$options$centre else numeric(6)
    selected <- draw_selected(30, 5, 3)
    step <- gps_estep(case$model, params, case$y, selected, want = c("stats", "draws"),
                      method = "gibbs", sweeps = c(5, 20))
    won <- matrix(0, 6, 5)
    square <- 0
    total <- numeric(6)
    for (n in 1:30) {
      for (s in 1:20) {
        z <- numeric(5)
        z[selected[n, ]] <- step$draws[n, , s]
        means <- params$W * rep(z, each = 6)
        reached <- pmax(apply(means, 1, max), 0)
        is_gap <- is.na(case$y[n, ])
        y <- ifelse(is_gap, base + reached, case$y[n, ])
        winner <- ifelse(reached > 0, max.col(means, ties.method = "first"), 0)
        for (d in which(winner > 0)) {
          won[d, winner[d]] <- won[d, winner[d]] + y[d] * z[winner[d]] / 20
        }
        square <- square + (sum((y - centre)^2) + sum(is_gap) * params$sigma2) / 20
        total <- total + (y - centre) / 20
      }
    }
    expect_near(step$stats$won_data, won, 1e-12)
    expect_near(step$stats$data_square, square, 1e-12)
    if (intercept) expect_near(step$stats$data_sum, total, 1e-12)
  }
})

test_that("max_spike_slab: with at most one latent on all of it is an integral", {
  for (intercept in c(FALSE, TRUE)) {
    case <- max_missing(intercept)
    params <- case$params
    base <- if (intercept) params$intercept else numeric(6)
    centre <- if (intercept) case$model$options$centre else numeric(6)
    selected <- matrix(c(1, 3, 4), 30, 3, byrow = TRUE)
    want <- c("stats", "latent", "response", "prob")
    step <- gps_estep(case$model, params, case$y, selected, 1, want)
    won <- matrix(0, 6, 5)
    square <- 0
    for (n in 1:30) {
      is_gap <- is.na(case$y[n, ])
      less <- params
      less$W <- params$W[!is_gap, , drop = FALSE]
      y <- case$y[n, ]
      if (any(!is_gap)) {
        found <- single_posterior(less, (y - base)[!is_gap], selected[n, ])
        expect_near(step$log_evidence[n], found$log_evidence, 1e-8)
        expect_near(step$prob[n, ], found$prob, 1e-8)
      } else {
        next
      }
      known <- ifelse(is_gap, 0, y)
      square <- square + sum((y - centre)[!is_gap]^2) +
        sum((base - centre)[is_gap]^2) + sum(is_gap) * params$sigma2
      for (k in 1:3) {
        h <- selected[n, k]
        q <- found$prob[k + 1]
        above <- found$singles[[k]]$above
        won[, h] <- won[, h] + q * ifelse(is_gap, base * above[2] + params$W[, h] * above[3],
                                          known * above[2])
        w <- params$W[is_gap, h]
        square <- square +
          q * sum(2 * (base - centre)[is_gap] * w * above[2] + w^2 * above[3])
      }
    }
    # The point without a cell, whose latents have their prior, is left out of both.
    none <- gps_estep(case$model, params, case$y[2, , drop = FALSE], selected[2, , drop = FALSE], 1)
    expect_near(step$stats$won_data - none$stats$won_data, won, 1e-7)
    expect_near(step$stats$data_square - none$stats$data_square, square, 1e-7)
    odds <- (params$pi / (1 - params$pi))[c(1, 3, 4)]
    expect_near(none$log_evidence, sum(log1p(-params$pi)) + log1p(sum(odds)), 1e-10)
  }
})
