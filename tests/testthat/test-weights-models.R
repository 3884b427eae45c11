# Weights of data points, for every model of the table: a row of weight w is w rows.

for_all_models("a row of weight w is w rows, one of weight 0 is none", function(row) {
  case <- weights_case(row, 40)
  # The bounds of four have those of one.
  for (iterations in if (is_full()) c(1, 4) else 4) {
    weighted <- case$fit(case$y, case$weights, iterations = iterations)
    repeated <- case$fit(case$y[case$repeated, ], iterations = iterations)
    expect_lt(far_apart(coef(weighted), coef(repeated)), 1e-10)
    expect_equal(weighted$bound, repeated$bound, tolerance = 1e-10)
    expect_equal(weighted$trace$bound, repeated$trace$bound, tolerance = 1e-10)
  }
  is_in <- case$weights > 0
  dropped <- case$fit(case$y[is_in, ], case$weights[is_in])
  expect_identical(coef(dropped), coef(weighted))
  expect_identical(dropped$bound, weighted$bound)
  expect_identical(weighted$prob_on[, is_in], dropped$prob_on)
  expect_equal(unname(predict(weighted)[!is_in, ]), unname(predict(weighted, case$y[!is_in, ])),
               tolerance = 1e-12)
})

for_all_models("weights of 1 change no bit, and the order of rows hardly any", function(row) {
  case <- weights_case(row, 40)
  fit <- function(...) case$fit(..., iterations = 2)
  expect_identical(coef(fit(case$y, rep(1, nrow(case$y)))), coef(fit(case$y)))
  turned <- rev(seq_len(nrow(case$y)))
  weights <- case$weights + 0.37
  one <- fit(case$y, weights)
  expect_lt(far_apart(coef(fit(case$y[turned, ], weights[turned])), coef(one)), 1e-10)
  expect_identical(coef(fit(case$y, weights, n_threads = 2)), coef(one))
})

for_all_models("the statistics of an E-step are sums over weighted points", function(row) {
  case <- weights_case(row, 16)
  model <- gps_bind(row$model(), case$y)
  selected <- if (row$name == "occlusive") {
    t(apply(gps_handcrafted(model, row$params, case$y), 1, function(x) {
      sort(vapply(0:2, function(h) 35L * h + which.max(x[35 * h + 1:35]), 1L))
    }))
  } else {
    matrix(seq_len(row$n_latents), nrow(case$y), row$n_latents, byrow = TRUE)
  }
  step <- function(rows, weights = NULL, ...) {
    gps_estep(model, row$params, case$y[rows, , drop = FALSE], selected[rows, , drop = FALSE],
              row_active(row, ncol(selected)), weights = weights, ...)$stats
  }
  all_rows <- seq_len(nrow(case$y))
  whole <- step(all_rows, case$weights)
  expect_equal(whole, step(case$repeated), tolerance = 1e-12)
  parts <- lapply(all_rows, step)
  shares <- runif(length(all_rows))
  expect_equal(step(all_rows, shares), Reduce(function(a, b) Map(`+`, a, b), Map(
    function(part, share) lapply(part, `*`, share), parts, shares
  )), tolerance = 1e-12)
})

for_all_models("statistics of draws are weighted as sums are", function(row) {
  if (row$is_one_hot) return(succeed())
  case <- weights_case(row, 12)
  model <- gps_bind(row$model(), case$y)
  selected <- draw_selected(12, row$n_latents, 2)
  active <- row_active(row, 2)
  step <- function(weights) {
    set.seed(4)
    gps_estep(model, row$params, case$y, selected, active, method = "gibbs", sweeps = c(2, 3),
              weights = weights)$stats
  }
  one <- runif(12)
  other <- c(0, runif(11))
  expect_equal(step(one + other), Map(`+`, step(one), step(other)), tolerance = 1e-12)
  expect_equal(step(7 * one), lapply(step(one), `*`, 7), tolerance = 1e-12)
})

for_all_models("first values are those of repeated rows where nothing is drawn", function(row) {
  if (row$is_one_hot || row$name == "occlusive") return(succeed())
  case <- weights_case(row)
  model <- gps_bind(row$model(), case$y)
  set.seed(9)
  weighted <- init_weighed(model, case$y, case$weights)
  set.seed(9)
  expect_equal(weighted, gps_init(model, case$y[case$repeated, ]), tolerance = 1e-12)
})

test_that("a model that is bound to weighted data has the options of repeated rows", {
  for (row in c(MODELS, list(max_row(), occlusive_row()))) {
    case <- weights_case(row, if (row$name == "occlusive") 60 else 520)
    y <- t(case$y)[, case$weights > 0]
    weights <- case$weights[case$weights > 0]
    expect_equal(bind_data(row$model(), y, data_moments(y, weights = weights), weights),
                 bind_data(row$model(), t(case$y[case$repeated, ])), tolerance = 1e-12)
  }
})

test_that("a constant scales the bound and leaves the parameters alone", {
  for (row in MODELS) {
    case <- weights_case(row, 40)
    weights <- 1 + case$weights
    one <- case$fit(case$y, weights)
    for (times in if (is_full()) c(3, 1e-6) else 1e-6) {
      scaled <- case$fit(case$y, times * weights)
      expect_lt(far_apart(coef(scaled), coef(one)), 1e-10)
      expect_equal(scaled$bound, times * one$bound, tolerance = 1e-10)
      expect_equal(scaled$trace$bound, times * one$trace$bound, tolerance = 1e-10)
    }
  }
})
