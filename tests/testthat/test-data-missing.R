# Missing cells: what is not there tells nothing, and is expected to be what the model says.
# @srrstats {G2.13, G2.14c, G2.15, G5.8c}

takes <- Filter(function(row) takes_missing(row$model()), MODELS)

for_models("the E-step with missing cells equals brute force", function(row) {
  case <- missing_case(row, 8)
  for (n_selected in c(2, row$n_latents)) {
    selected <- draw_selected(8, row$n_latents, n_selected)
    for (max_active in unique(c(1, if (!row$is_one_hot) n_selected))) {
      found <- gps_estep(case$model, case$params, case$y, selected, max_active,
                         c("stats", "latent", "response"))
      truth <- brute_missing(row, case$params, case$y, selected, max_active,
                             case$model$options$centre)
      expect_near(found$log_evidence, truth$log_evidence, 1e-10)
      expect_near(spread_slots(found$prob_on, selected, row$n_latents), truth$mean, 1e-10)
      expect_near(spread_slots(found$latent, selected, row$n_latents), truth$value, 1e-10)
      is_gap <- is.na(case$y)
      expect_near(found$response[is_gap], truth$imputed[is_gap], 1e-10)
      stats <- plain_stats(row, found$stats)
      expect_setequal(names(stats), names(truth$stats))
      for (name in names(stats)) expect_near(c(stats[[name]]), c(truth$stats[[name]]), 1e-10)
    }
  }
}, takes)

for_models("points that lack the same cells are those of a model without these", function(row) {
  case <- draw_case(row, 20)
  dims <- seq_len(row$n_dims)
  gone <- c(1, 3)
  y <- case$y
  y[, gone] <- NA
  less <- lapply(case$params, function(x) {
    if (is.null(dim(x)) && length(x) == row$n_dims && !identical(x, case$params$pi) &&
          !identical(x, case$params$mu)) return(x[-gone])
    x
  })
  is_full <- length(dim(less$sigma)) == 3
  less$W <- if (!is.null(less$W)) less$W[-gone, , drop = FALSE]
  less$rate <- if (!is.null(less$rate)) less$rate[-gone, , drop = FALSE]
  if (row$is_one_hot && is.null(less$rate)) {
    less$mu <- less$mu[-gone, , drop = FALSE]
    if (is_full) less$sigma <- less$sigma[-gone, -gone, , drop = FALSE]
    if (is.matrix(less$sigma)) less$sigma <- less$sigma[-gone, , drop = FALSE]
    if (is.null(dim(less$sigma))) less$sigma <- case$params$sigma
  }
  small <- gps_bind(row$model(), case$y[, -gone, drop = FALSE])
  selected <- draw_selected(20, row$n_latents, 3)
  found <- gps_estep(case$model, case$params, y, selected, want = "latent")
  expected <- gps_estep(small, less, case$y[, -gone, drop = FALSE], selected, want = "latent")
  for (name in names(expected)) expect_near(found[[name]], expected[[name]], 1e-12)
}, takes)

for_models("screening and ranking see the cells that are there", function(row) {
  case <- missing_case(row)
  task <- list(y = t(case$y), missing = find_missing(t(case$y)),
               blocks = list(new_block(0, nrow(case$y))))
  open <- open_block(task, task$blocks[[1]])
  inputs <- block_inputs(case$model, case$params, open$task$y, open$block)
  every <- matrix(seq_len(row$n_latents), nrow(case$y), row$n_latents, byrow = TRUE)
  affinity <- block_handcrafted(case$model, inputs, open$task$y, open$block)
  expect_equal(dim(affinity), c(row$n_latents, nrow(case$y)))
  expect_true(all(is.finite(affinity)))
  # Gains by a table in C: each is the difference of two log joints.
  if (row$is_one_hot) return()
  given <- c(2L, 4L)
  others <- setdiff(seq_len(row$n_latents), given)
  asked <- ask_missing(case, open, inputs, given, others)
  expect_near(asked$gain, asked$joint[-1, ] - rep(asked$joint[1, ], each = length(others)), 1e-10)
}, takes)

test_that("sampling sees the cells that are there", {
  for (row in Filter(function(row) !row$is_one_hot, takes)[c(1, 3)]) {
    case <- missing_case(row)
    every <- matrix(seq_len(row$n_latents), nrow(case$y), row$n_latents, byrow = TRUE)
    exact <- gps_estep(case$model, case$params, case$y, every)
    set.seed(3)
    drawn <- gps_estep(case$model, case$params, case$y, every, method = "gibbs",
                       sweeps = c(100, 2000))
    expect_lt(max(abs(drawn$prob_on - exact$prob_on)), 0.1)
    expect_lt(max(abs(drawn$log_evidence - exact$log_evidence)), 0.3)
  }
})

test_that("nothing depends on the order of rows and columns, blocks and threads", {
  set.seed(3)
  bars <- simulate_bars(1100)
  y <- bars$y
  y[runif(length(y)) < 0.3] <- NA
  model <- gps_bind(model_binary_sparse(10, intercept = TRUE), bars$y)
  params <- gps_init(model, bars$y)
  selected <- draw_selected(1100, 10, 4)
  step <- gps_estep(model, params, y, selected)
  expect_identical(gps_estep(model, params, y, selected, n_threads = 2), step)
  rows <- sample.int(1100)
  turned <- gps_estep(model, params, y[rows, ], selected[rows, ])
  expect_near(turned$prob_on, step$prob_on[rows, ], 1e-12)
  for (name in names(step$stats)) expect_near(turned$stats[[name]], step$stats[[name]], 1e-10)
  columns <- sample.int(25)
  moved <- params
  moved$W <- params$W[columns, ]
  moved$intercept <- params$intercept[columns]
  again <- gps_bind(model_binary_sparse(10, intercept = TRUE), bars$y[, columns])
  found <- gps_estep(again, moved, y[, columns], selected)
  expect_near(found$log_evidence, step$log_evidence, 1e-10)
  alone <- gps_estep(model, params, y[700, , drop = FALSE], selected[700, , drop = FALSE])
  expect_near(alone$log_evidence, step$log_evidence[700], 1e-12)
})

test_that("the bound of a fit with missing cells never falls", {
  set.seed(4)
  y <- simulate_bars(150, size = 4)$y
  y[runif(length(y)) < 0.3] <- NA
  models <- list(model_binary_sparse(8), model_binary_sparse(8, intercept = TRUE),
                 model_spike_slab(6), model_spike_slab(6, "full", intercept = TRUE))
  for (model in models) {
    fit <- gps_fit(y, model, selector_full(), control = short_control(max_iter = 25, tol = 0))
    expect_no_fall(fit$trace$bound)
  }
})

test_that("ones and counts with missing cells are learned, and their expectations restored", {
  set.seed(4)
  draw <- list(list(gps_bind(model_noisy_or(4), matrix(0:1, 2, 12)), list(
    W = kronecker(diag(4), matrix(2.5, 3)), pi = 0.3, leak = rep(0.02, 12)
  )), list(gps_bind(model_poisson_mixture(3), matrix(1:9, 4, 9)), list(
    rate = matrix(c(9, 1, 2, 2, 8, 1, 1, 3, 9), 9, 3, byrow = TRUE), pi = rep(1, 3) / 3
  )))
  for (one in draw) {
    whole <- gps_draw(one[[1]], one[[2]], 250)$y
    colnames(whole) <- letters[seq_len(ncol(whole))]
    y <- whole
    y[runif(length(y)) < 0.2] <- NA
    gaps <- is.na(y)
    model <- if (ncol(y) == 12) model_noisy_or(4) else model_poisson_mixture(3)
    fit <- gps_fit(y, model, selector_full(),
                   control = short_control(max_iter = 40, tol = 0, mend = FALSE))
    expect_no_fall(fit$trace$bound[fit$trace$temperature == 1])
    fit <- gps_fit(y, model, n_selected = 3, control = gps_control(n_starts = 3, progress = FALSE))
    filled <- predict(fit, type = "imputed")
    expect_identical(filled[!gaps], y[!gaps])
    truth <- gps_estep(one[[1]], one[[2]], unname(y),
                       matrix(seq_len(model$n_latents), 250, model$n_latents, byrow = TRUE),
                       want = "response")$response
    error <- function(x) sqrt(mean((x - whole)[gaps]^2))
    expect_lt(error(filled), 1.1 * error(truth))
    expect_gps_error(gps_fit(replace(y, cbind(3, 2), 0.5), model), "row 3, column 2 (\"b\") is",
                     "data")
  }
})

test_that("bars with missing cells are found, and the cells restored", {
  set.seed(2)
  bars <- simulate_bars(400)
  y <- bars$y
  y[runif(length(y)) < 0.3] <- NA
  y[7, ] <- NaN
  is_gap <- is.na(y)
  fit <- gps_fit(y, model_binary_sparse(10), n_selected = 6, control = gps_control(n_starts = 3))
  expect_true(all(match_components(coef(fit)$W, bars$W)$matched))
  response <- predict(fit, type = "response")
  # Hardly worse than with the parameters that the data were drawn from.
  truth <- list(W = bars$W, pi = 0.2, sigma2 = bars$sigma2)
  best <- gps_estep(fit$model, truth, y, matrix(1:10, 400, 10, byrow = TRUE), want = "response")
  error <- function(response) sqrt(mean((response - bars$y)[is_gap & row(y) != 7]^2))
  expect_lt(error(response), 1.05 * error(best$response))
  imputed <- predict(fit, type = "imputed")
  expect_identical(imputed[!is_gap], y[!is_gap])
  expect_identical(imputed[is_gap], response[is_gap])
  expect_identical(is.na(residuals(fit)), is.na(y))
  expect_near(residuals(fit)[!is_gap], (y - response)[!is_gap], 1e-12)
  expect_match(paste(capture.output(print(fit)), collapse = " "),
               sprintf("Missing +%d cells", sum(is_gap)))
  # Predicted anew, alone or among others.
  expect_near(predict(fit, y[1:20, ])[5, ], predict(fit, y[5, ])[1, ], 1e-10)
  # Nothing is known of a point without a cell: all but the selected latents are off.
  expect_near(predict(fit, y, type = "loglik")[7], 4 * log1p(-coef(fit)$pi), 1e-10)
  expect_near(predict(fit, y[1:20, ], type = "imputed")[!is_gap[1:20, ]],
              y[1:20, ][!is_gap[1:20, ]], 0)
  # The states of one point are those of its cells.
  states <- posterior_states(fit, 4)
  alone <- gps_estep(fit$model, coef(fit), y[4, , drop = FALSE], t(fit$selected[, 4]),
                     want = "prob")
  expect_near(states$probability, sort(alone$prob[1, ], decreasing = TRUE)[seq_len(nrow(states))],
              1e-10)
  expect_near(colMeans(posterior_sample(fit, 400, points = 4, seed = 1)[, 1, ]),
              predict(fit)[4, ], 0.12)
  # As fitted, after it was stored.
  stored <- unserialize(serialize(fit, NULL))
  expect_identical(predict(stored, y[1:5, ]), predict(fit, y[1:5, ]))
  expect_no_error(update(fit, max_iter = 2))
  expect_s3_class(summary(fit), "summary.gps_fit")
  affinity <- gps_affinity(selector_handcrafted(), fit, y, 3:5)
  w <- coef(fit)$W * !is.na(y[4, ])
  seen <- ifelse(is.na(y[4, ]), 0, y[4, ])
  expect_near(affinity[2, ], drop(seen %*% w) / sqrt(colSums(w^2)), 1e-10)
})

test_that("moments are of the values that are there", {
  set.seed(1)
  y <- matrix(rnorm(3000), 3)
  y[runif(3000) < 0.4] <- NA
  moments <- data_moments(y)
  n <- rowSums(!is.na(y))
  expect_near(moments$centre, rowMeans(y, na.rm = TRUE), 1e-14)
  expect_near(moments$variances, apply(y, 1, var, na.rm = TRUE) * (n - 1) / n, 1e-13)
  expect_near(moments$square, mean(y^2, na.rm = TRUE), 1e-13)
  expect_near(moments$range, range(y, na.rm = TRUE), 0)
})

test_that("the bound of a mixture with missing cells never falls, and clusters are found", {
  for (covariance in c("full", "diagonal", "spherical")) {
    set.seed(6)
    label <- rep(1:3, each = 80)
    y <- matrix(rnorm(240 * 4), 240) %*% (diag(4) + if (covariance == "full") 0.4 else 0) +
      cbind(c(0, 5, 0), c(0, 0, 5), c(4, -4, 0), c(0, 3, -3))[label, ]
    whole <- y
    y[runif(length(y)) < 0.2] <- NA
    model <- model_gaussian_mixture(3, covariance)
    fit <- gps_fit(y, model, selector_full(), control = short_control(max_iter = 30, tol = 0))
    expect_no_fall(fit$trace$bound)
    fit <- gps_fit(y, model, control = gps_control(n_starts = 3, progress = FALSE))
    agreement <- table(predict(fit, type = "class"), label)
    expect_gt(sum(apply(agreement, 1, max)), 225)
    gaps <- is.na(y)
    error <- sqrt(mean((predict(fit, type = "imputed") - whole)[gaps]^2))
    centre <- matrix(colMeans(y, na.rm = TRUE), 240, 4, byrow = TRUE)
    expect_lt(error, 0.8 * sqrt(mean((centre - whole)[gaps]^2)))
    # By a partition, of which each point has what it has.
    begun <- gps_fit(y, model, selector_full(), start = label, control = short_control())
    expect_gt(begun$bound, fit$bound - 1)
  }
})

test_that("what a merged cluster would cost is judged by the cells that are there", {
  row <- Filter(function(row) row$is_one_hot, takes)[[1]]
  case <- missing_case(row, 30)
  y <- t(case$y)
  task <- list(y = fill_data(y), missing = find_missing(y), model = case$model, n_threads = 1L)
  second <- function(x) {
    if (is.null(dim(x))) return(x[2])
    if (is.matrix(x)) x[, 2, drop = FALSE] else x[, , 2, drop = FALSE]
  }
  alone <- lapply(case$params, second)
  points <- c(1:5, 20:30)
  found <- observed_affinity(task, alone, task$y[, points], points)
  wanted <- vapply(points, function(n) {
    is_there <- !is.na(y[, n])
    if (!any(is_there)) return(log(alone$pi))
    log(alone$pi) + log_normal(y[is_there, n], alone$mu[is_there],
                               reference_covariance(alone, 1)[is_there, is_there, drop = FALSE])
  }, 1)
  expect_near(found, wanted, 1e-10)
})

test_that("many clusters are gathered alike, one by one or together", {
  set.seed(8)
  # So many numbers that they are gathered latent by latent; those of a tenth are not.
  whole <- matrix(rnorm(60 * 20), 60)
  y <- replace(whole, runif(length(whole)) < 0.2, NA)
  model <- gps_bind(model_gaussian_mixture(600, "full"), whole[rep(1:60, 60), ])
  params <- list(mu = matrix(rnorm(20 * 600), 20), pi = rep(1 / 600, 600),
                 sigma = array(diag(20), c(20, 20, 600)))
  few <- draw_selected(60, 60, 3)
  by_latent <- gps_estep(model, params, y, few)
  less <- list(mu = params$mu[, 1:60], sigma = params$sigma[, , 1:60], pi = rep(1 / 60, 60))
  model <- gps_bind(model_gaussian_mixture(60, "full"), whole[rep(1:60, 60), ])
  together <- gps_estep(model, less, y, few)
  expect_equal(sum(by_latent$stats$on), 60)
  expect_near(by_latent$stats$on[1:60], together$stats$on, 1e-10)
  expect_near(by_latent$stats$first[, 1:60], together$stats$first, 1e-10)
  expect_near(by_latent$stats$second[, , 1:60], together$stats$second, 1e-10)
  expect_near(by_latent$log_evidence + log(10), together$log_evidence, 1e-10)
})

test_that("minibatches learn from the cells that are there", {
  set.seed(2)
  bars <- simulate_bars(600, value = 5)
  y <- bars$y
  y[runif(length(y)) < 0.2] <- NA
  fit <- gps_fit(y, model_binary_sparse(10), selector_handcrafted(), n_selected = 5,
                 control = gps_control(batch_size = 100, max_iter = 20))
  expect_true(all(match_components(coef(fit)$W, bars$W)$matched))
})

test_that("what cannot be is refused by name", {
  y <- matrix(c(rnorm(19), NA), 5)
  refused <- function(code, words) expect_gps_error(code, words, "data")
  custom <- model_custom(2, init = function(y) list(a = 1),
                         log_joint = function(params, y, states) numeric(ncol(states)))
  refused(gps_fit(y, custom), "row 5, column 4 is NA: the model")
  refused(gps_fit(cbind(y[, 1:3], u = NA), model_binary_sparse(2)),
          "no value in column 4 (\"u\")")
  expect_error(gps_init(model_binary_sparse(2), y), class = "gps_error_argument")
})

test_that("labels begin a fit with missing cells the same way whatever the seed and the units", {
  set.seed(1)
  clusters <- simulate_clusters(90, 3)
  y <- clusters$y
  y[cbind(1:20, rep(1:2, 10))] <- NA
  first <- function(y, seed) {
    set.seed(seed)
    coef(gps_fit(y, model_gaussian_mixture(3), selector_full(), start = clusters$cluster,
                 control = gps_control(max_iter = 0, progress = FALSE)))
  }
  params <- first(y, 1)
  expect_near(unlist(first(y, 2)), unlist(params), 1e-7)
  units <- c(1000, 0.01)
  scaled <- first(sweep(y, 2, units, `*`), 3)
  expect_near(scaled$mu / units, params$mu, 1e-7)
  expect_near(scaled$sigma / c(outer(units, units)), params$sigma, 1e-7)
})

test_that("figures, audits of sizes, choices and bootstraps know of missing cells", {
  set.seed(1)
  y <- simulate_clusters(90, 3)$y
  y[cbind(1:20, rep(1:2, 10))] <- NA
  control <- gps_control(n_starts = 1, max_iter = 3, progress = FALSE)
  suppressWarnings(classes = "gps_warning_degenerate", {
    fit <- gps_fit(y, model_gaussian_mixture(4), selector_gp(), 2, control = control)
  })
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (figure in c("clusters", "kernel", "functions", "affinity", "bound", "selection")) {
    expect_no_error(plot(fit, figure))
  }
  choice <- suppressWarnings(gps_choose(y, model_gaussian_mixture, 2:4, control = control),
                             classes = c("gps_warning_unfinished", "gps_warning_degenerate"))
  expect_identical(choice$n_latents, 3L)
  # Simulated data miss the cells that the data miss: a fifth of a column has wider intervals.
  one <- matrix(rnorm(400), 200)
  one[1:160, 2] <- NA
  alone <- gps_fit(one, model_gaussian_mixture(1), selector_full(),
                   control = short_control())
  set.seed(2)
  se <- summary(gps_bootstrap(alone, 20, "parametric"))$se
  expect_gt(se[2] / se[1], 1.4)
})

test_that("figures of ones, and of models of R functions, know of missing cells", {
  set.seed(1)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  control <- gps_control(max_iter = 2, n_starts = 1, progress = FALSE)
  y <- matrix(rbinom(240, 1, 0.4), 30)
  y[2, 3] <- NA
  fit <- gps_fit(y, model_noisy_or(3), selector_handcrafted(), 2, control = control)
  # The figure ranks as the fit does.
  bins <- plot(fit, "affinity")
  expect_equal(sum(bins$affinity * bins$pairs), sum(gps_affinity(fit$selector, fit, y)))
  log_joint <- function(params, y, states) {
    ok <- !is.na(y)
    rate <- params$base + params$rates %*% states
    colSums(dpois(y[ok], rate[ok, , drop = FALSE], log = TRUE)) - nrow(states) * log(2)
  }
  init <- function(y) {
    list(base = colMeans(y) / 2, rates = matrix(runif(2 * ncol(y), 1, 5), ncol(y)))
  }
  model <- model_custom(2, init, log_joint, lower = list(base = 1e-3, rates = 1e-3),
                        takes_missing = TRUE)
  y <- matrix(rpois(48, 3), 12)
  y[3, 2] <- NA
  fit <- gps_fit(y, model, control = control)
  for (figure in c("bound", "kernel", "selection", "affinity")) {
    expect_no_error(plot(fit, figure))
  }
  # Where there is no reconstruction column means are drawn.
  whole <- without_gaps(fit)$y
  expect_identical(whole[2, 3], mean(y[, 2], na.rm = TRUE))
  expect_identical(whole[-2, ], unname(t(y + 0))[-2, ])
})
