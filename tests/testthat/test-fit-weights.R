# Weights of data points: oracles in plain R, data in all forms, and what a fit says.

# EM of a mixture with full covariances in plain R.
weighted_em <- function(y, weights, params, iterations) {
  for (iteration in seq_len(iterations + 1)) {
    joint <- vapply(seq_along(params$pi), function(k) {
      root <- chol(params$sigma[, , k])
      z <- backsolve(root, t(y) - params$mu[, k], transpose = TRUE)
      log(params$pi[k]) - sum(log(diag(root))) - ncol(y) / 2 * log(2 * pi) - colSums(z^2) / 2
    }, numeric(nrow(y)))
    evidence <- log(rowSums(exp(joint)))
    if (iteration > iterations) return(c(params, bound = sum(weights * evidence)))
    share <- weights * exp(joint - evidence)
    params$pi <- colSums(share) / sum(weights)
    for (k in seq_along(params$pi)) {
      params$mu[, k] <- colSums(share[, k] * y) / sum(share[, k])
      centred <- sweep(y, 2, params$mu[, k])
      params$sigma[, , k] <- crossprod(centred * sqrt(share[, k])) / sum(share[, k])
    }
  }
}

test_that("a weighted mixture of the irises is that of EM in plain R", {
  y <- as.matrix(iris[, 1:4])
  set.seed(2)
  weights <- rexp(150)
  start <- list(mu = unname(t(y[c(1, 51, 101), ])),
                sigma = array(unname(cov(y)), c(4, 4, 3)), pi = c(0.3, 0.3, 0.4))
  fit <- gps_fit(y, model_gaussian_mixture(3), selector_full(), start = start, weights = weights,
                 control = gps_control(max_iter = 15, tol = 0, mend = FALSE))
  wanted <- weighted_em(y, weights, start, 15)
  expect_equal(fit$bound, wanted$bound, tolerance = 1e-10)
  expect_lt(far_apart(lapply(coef(fit), unname), wanted[1:3]), 1e-9)
})

test_that("the weighted M-step of binary sparse coding is a weighted regression", {
  row <- MODELS[[1]]
  case <- weights_case(row, 40)
  states <- as.matrix(expand.grid(rep(list(0:1), 5)))
  joint <- vapply(seq_len(nrow(states)), function(m) {
    residual <- sweep(case$y, 2, row$params$W %*% states[m, ])
    sum(dbinom(states[m, ], 1, row$params$pi, log = TRUE)) +
      rowSums(dnorm(residual, sd = sqrt(row$params$sigma2), log = TRUE))
  }, numeric(40))
  prob <- exp(joint - log(rowSums(exp(joint))))
  weights <- case$weights + 0.5
  on <- prob %*% states
  second <- t(states) %*% (colSums(weights * prob) * states)
  w <- t(solve(second, crossprod(on, weights * case$y)))
  square <- sum(weights * case$y^2) - 2 * sum(w * crossprod(case$y, weights * on)) +
    sum(crossprod(w) * second)
  found <- coef(case$fit(case$y, weights, iterations = 1))
  expect_equal(found$W, w, tolerance = 1e-8, ignore_attr = TRUE)
  expect_equal(found$pi, colSums(weights * on) / sum(weights), ignore_attr = TRUE)
  expect_equal(found$sigma2, square / (4 * sum(weights)), tolerance = 1e-8)
})

test_that("blocks, threads and sources give the same weighted fit", {
  row <- MODELS[[2]]
  case <- weights_case(row, 1300)
  one <- case$fit(case$y, case$weights)
  repeated <- case$fit(case$y[case$repeated, ])
  expect_lt(far_apart(coef(one), coef(repeated)), 1e-10)
  expect_identical(coef(case$fit(case$y, case$weights, n_threads = 2)), coef(one))
  source <- gps_source(1300, 4, function(from, to) case$y[from:to, , drop = FALSE])
  read <- case$fit(source, case$weights)
  expect_identical(coef(read), coef(one))
  expect_identical(read$prob_on, one$prob_on)
  skip_if_not_installed("Matrix")
  sparse <- case$fit(Matrix::Matrix(case$y, sparse = TRUE), case$weights)
  expect_lt(far_apart(coef(sparse), coef(one)), 1e-10)
})

test_that("missing cells of a row of weight w are those of w rows", {
  for (row in Filter(function(row) takes_missing(row$model()), MODELS)) {
    case <- weights_case(row)
    case$y[sample(length(case$y), 30)] <- NA
    weights <- case$weights
    one <- case$fit(case$y, weights)
    many <- case$fit(case$y[case$repeated, ])
    expect_lt(far_apart(coef(one), coef(many)), 1e-10)
    expect_equal(one$bound, many$bound, tolerance = 1e-10)
    expect_identical(coef(case$fit(case$y[weights > 0, ], weights[weights > 0])), coef(one))
    expect_identical(one$n_missing, sum(is.na(case$y)))
  }
  y <- case$y
  y[weights > 0, 2] <- NA
  expect_error(case$fit(y, weights), "no value in column 2", class = "gps_error_data")
})

test_that("weighted minibatches come to where weighted passes do", {
  set.seed(5)
  y <- simulate_clusters(1500)$y
  weights <- ifelse(y[, 1] > 0, 3, 0.5)
  start <- coef(gps_fit(y, model_gaussian_mixture(3), selector_full(), weights = weights,
                        control = gps_control(n_starts = 2)))
  fit <- function(...) {
    gps_fit(y, model_gaussian_mixture(3), selector_full(), start = start, weights = weights,
            control = gps_control(tol = 0, ...))
  }
  whole <- fit(max_iter = 5)
  batched <- fit(max_iter = 20, batch_size = 300)
  expect_equal(batched$bound, whole$bound, tolerance = 2e-4)
  expect_equal(batched$bound, sum(weights * predict(batched, type = "loglik")))
  expect_lt(far_apart(coef(batched)["pi"], coef(whole)["pi"]), 0.02)
})

test_that("a learned selection improves a weighted fit and knows nothing of rows of weight 0", {
  set.seed(6)
  bars <- simulate_bars(300, value = 5)
  weights <- sample(0:2, 300, TRUE)
  fit <- function(y, weights) {
    set.seed(1)
    gps_fit(y, model_binary_sparse(10), n_selected = 5, weights = weights,
            control = gps_control(max_iter = 25, n_starts = 2))
  }
  whole <- fit(bars$y, weights)
  is_in <- weights > 0
  expect_identical(coef(fit(bars$y[is_in, ], weights[is_in])), coef(whole))
  trace <- whole$trace[whole$trace$start == 0, ]
  expect_gt(trace$bound[nrow(trace)], trace$bound[1])
  expect_equal(whole$bound, sum(weights * predict(whole, type = "loglik")))
  expect_equal(predict(whole)[!is_in, ], predict(whole, bars$y[!is_in, ]))
  set.seed(2)
  again <- gps_fit(bars$y, model_binary_sparse(10), n_selected = 5, weights = weights,
                   start = whole, control = gps_control(max_iter = 1, polish = FALSE))
  expect_gt(again$bound, whole$bound - abs(whole$bound) * 1e-2)
})

test_that("a model that knows nothing of weights has them in its statistics, sampled or not", {
  skip_without_tables()
  set.seed(7)
  y <- draw_counts(40)
  weights <- runif(40)
  for (member in c("whole", "earlier", "gathered")) {
    model <- gps_bind(table_model(member), y)
    params <- gps_init(model, y)
    selected <- matrix(seq_len(model$n_latents), 40, model$n_latents, byrow = TRUE)
    step <- function(rows, weights = NULL) {
      gps_estep(model, params, y[rows, , drop = FALSE], selected[rows, , drop = FALSE],
                weights = weights)$stats
    }
    wanted <- Reduce(function(a, b) Map(`+`, a, b), lapply(1:40, function(n) {
      lapply(step(n), `*`, weights[n])
    }))
    expect_equal(step(1:40, weights), wanted, tolerance = 1e-12)
  }
})

test_that("models of R functions weigh their expected log joint or say what is missing", {
  set.seed(8)
  y <- matrix(rpois(36, 3), 12)
  weights <- rep_len(0:2, 12)
  joint <- function(params, y, states) {
    rate <- 0.5 + params$rate %*% states
    colSums(y * log(rate) - rate) - sum(lfactorial(y)) - 2 * log(2)
  }
  init <- function(y) list(rate = cbind(c(1, 2, 3), c(3, 2, 1)))
  fit <- function(y, weights = NULL, mstep = NULL) {
    suppressWarnings(gps_fit(y, model_custom(2, init, joint, mstep, lower = 0.01),
                             selector_full(), weights = weights,
                             control = gps_control(max_iter = 1, n_starts = 1, tol = 0)),
                     classes = "gps_warning_mstep")
  }
  repeated <- y[rep(1:12, weights), ]
  expect_equal(coef(fit(y, weights)), coef(fit(repeated)), tolerance = 1e-5)
  knows <- function(params, y, posterior, weights) {
    on <- sweep(posterior_mean(posterior), 2, weights, `*`)
    list(rate = 0.1 + y %*% t(on) / rep(rowSums(on), each = 3))
  }
  expect_equal(coef(fit(y, weights, knows)), coef(fit(repeated, NULL, knows)), tolerance = 1e-12)
  ignores <- function(params, y, posterior) params
  expect_error(fit(y, weights, ignores), "argument `weights`", class = "gps_error_argument")
})

test_that("seeds are drawn as those of repeated points, and moves promise what they would there", {
  set.seed(9)
  x <- matrix(rnorm(160), 4)
  weights <- sample(1:4, 40, TRUE)
  many <- x[, rep(1:40, weights)]
  # The same random numbers draw the same places, of points that stand in a row.
  draw <- function(x, first, weights) {
    set.seed(3)
    .Call(C_draw_seeds, x, weights, 12, first, 4, 1, Inf)$seeds
  }
  from <- rep(1:40, weights)
  expect_identical(from[draw(many, match(5L, from), NULL)], draw(x, 5L, as.double(weights)))
  drawn <- replicate(400, draw_seeds(x, 1, c(60, rep(1, 39)))$seeds)
  expect_gt(mean(drawn == 1), 0.5)
  model <- gps_bind(model_gaussian_mixture(3), t(x))
  label <- rep(1:3, length.out = 40)
  expect_equal(spread_within(model, x, label, weights),
               spread_within(model, many, rep(label, weights)), tolerance = 1e-12)
  split <- split_residual(x, 0L, as.double(weights))
  expect_equal(split, split_residual(many, 0L), tolerance = 1e-10)
  for (model in list(model, gps_bind(model_binary_sparse(3), t(x)),
                     gps_bind(model_spike_slab(3), t(x)))) {
    expect_equal(weighed_gain(model, split, x, weights), move_gain(model, split, many),
                 tolerance = 1e-10)
  }
  on <- matrix(runif(120), 3)
  expect_equal(removal_cost(on, weights), removal_cost(on[, rep(1:40, weights)]))
  expect_equal(sharing_pairs(on, weights), sharing_pairs(on[, rep(1:40, weights)]))
  for (part in list(1:40, 2:40)) {
    expect_equal(weighted_median(x[1, part], weights[part]), median(rep(x[1, part], weights[part])))
  }
  expect_identical(weighted_quantile(x[1, ], weights, 0.05),
                   quantile(many[1, ], 0.05, type = 1, names = FALSE))
  spread <- tabulate(spread_weights(weights), 40)
  expect_identical(sum(spread), 40L)
  expect_true(all(abs(spread - 40 * weights / sum(weights)) <= 1))
})

test_that("a weighted fit from scratch mends what one of repeated rows does", {
  set.seed(10)
  clusters <- simulate_clusters(400, n_clusters = 6)
  weights <- sample(1:3, 400, TRUE)
  bound <- function(y, weights = NULL) {
    set.seed(1)
    gps_fit(y, model_gaussian_mixture(6, "diagonal"), selector_full(), weights = weights)$bound
  }
  expect_equal(bound(clusters$y, weights), bound(clusters$y[rep(1:400, weights), ]),
               tolerance = 1e-3)
})

test_that("a fit says that it is weighted, and what it says counts observations", {
  set.seed(11)
  y <- simulate_clusters(240)$y
  weights <- rep(c(0, 1, 1.5), 80)
  fit <- function(...) {
    set.seed(1)
    gps_fit(y, model_gaussian_mixture(3), selector_full(), weights = weights,
            control = gps_control(n_starts = 1, max_iter = 20), ...)
  }
  one <- fit()
  expect_printed(one, "weights with the sum 200, 80 rows of weight 0")
  expect_printed(logLik(one), "nobs = 200")
  expect_identical(nobs(one), 200)
  expect_identical(unlist(glance.gps_fit(one)[c("BIC", "nobs")]),
                   c(BIC = AIC(one, k = log(200)), nobs = 200))
  expect_identical(summary(one)[c("bic", "nobs")], list(bic = BIC(one), nobs = 200))
  expect_identical(attr(logLik(one), "nobs"), nobs(one))
  printed <- utils::capture.output(print(summary(one)))
  table <- printed[seq(grep("^ *cluster +points", printed) + 1, length.out = 3)]
  expect_match(table, "^ *[1-3] +[0-9]+(\\.[0-9])? +[0-9]+(\\.[0-9])? +[^ ]+$")
  expect_equal(BIC(one), -2 * one$bound + log(200) * attr(logLik(one), "df"))
  expect_equal(sum(summary(one)$usage), 200)
  expect_identical(dim(predict(one)), c(240L, 3L))
  expect_identical(dim(residuals(one)), dim(y))
  set.seed(1)
  expect_identical(coef(update(one)), coef(one))
  expect_null(update(one, weights = NULL)$weights)
  expect_null(update(one, y = y[1:50, ], weights = NULL)$weights)
  file <- tempfile()
  on.exit(unlink(file))
  saveRDS(one, file)
  expect_identical(predict(readRDS(file), y[1:4, ]), predict(one, y[1:4, ]))
  bad <- one
  bad$weights <- -weights
  expect_error(coef(bad), "`weights`", class = "gps_error_argument")
  for (name in c("bound", "components", "selection")) {
    grDevices::pdf(NULL)
    expect_no_error(plot(one, name))
    grDevices::dev.off()
  }
  before <- unclass(one)
  before["weights"] <- NULL
  expect_identical(nobs(structure(before, class = "gps_fit")), 240L)
})

test_that("labels to begin with, criteria and a chosen number of latents know of weights", {
  set.seed(12)
  clusters <- simulate_clusters(200)
  weights <- sample(0:2, 200, TRUE)
  label <- max.col(clusters$latents)
  repeated <- rep(1:200, weights)
  fit <- function(rows, weights = NULL, iterations = 1) {
    gps_fit(clusters$y[rows, ], model_gaussian_mixture(3), selector_full(), start = label[rows],
            weights = weights, control = gps_control(max_iter = iterations, tol = 0, mend = FALSE))
  }
  one <- fit(1:200, weights)
  many <- fit(repeated)
  expect_lt(far_apart(coef(one), coef(many)), 1e-10)
  expect_equal(icl(one), icl(many), tolerance = 1e-10)
  expect_equal(BIC(one), BIC(many), tolerance = 1e-10)
  classes <- c("points", "expected", "uncertainty")
  expect_equal(summary(one)$classes[classes], summary(many)$classes[classes], tolerance = 1e-10)
  expect_equal(order_latents(one)$bound, one$bound)
  bars <- simulate_bars(200, value = 5)
  auto <- gps_fit(bars$y, model_binary_sparse(10), selector_handcrafted(), n_selected = "auto",
                  weights = weights, control = gps_control(max_iter = 10, n_starts = 1))
  expect_equal(auto$bound, sum(weights * predict(auto, type = "loglik")))
})

test_that("what a number of selected latents captures is that of points as often as they count", {
  set.seed(15)
  bars <- simulate_bars(40, size = 4, value = 5)
  model <- gps_bind(model_binary_sparse(8), bars$y)
  params <- list(W = bars$W, pi = 0.3, sigma2 = 4)
  weights <- sample(0:3, 40, TRUE)
  selected <- matrix(c(1L, 2L, 5L), 3, 40)
  judge <- function(rows, weights = NULL) {
    task <- list(model = model, y = t(bars$y[rows, ]), weights = weights, n_selected = 3L,
                 max_active = 3L, n_threads = 1L, method = "exact", seed = 1:2)
    judge_selection(task, params, selected[, rows, drop = FALSE])
  }
  of <- c("mass", "gap", "bound", "recall")
  one <- judge(which(weights > 0), weights[weights > 0])
  expect_near(unlist(one[of]), unlist(judge(rep(1:40, weights))[of]), 1e-10)
  expect_near(judge(1:40, rep(2, 40))$mass_error, judge(1:40)$mass_error, 1e-12)
  expect_gt(abs(one$mass - judge(which(weights > 0))$mass), 0.01)
})

test_that("a weighted run goes on from a checkpoint to the same bits", {
  set.seed(13)
  y <- simulate_bars(150, value = 5)$y
  weights <- sample(0:3, 150, TRUE) / 10
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  fit <- function(max_iter, checkpoint = NULL) {
    set.seed(1)
    gps_fit(y, model_binary_sparse(10), selector_handcrafted(), n_selected = 5, weights = weights,
            control = gps_control(max_iter = max_iter, n_starts = 2, checkpoint = checkpoint))
  }
  fit(4, file)
  whole <- fit(12)
  resumed <- gps_resume(file, y, max_iter = 12)
  for (part in c("params", "bound", "selected", "prob_on", "weights")) {
    expect_identical(resumed[[part]], whole[[part]])
  }
  expect_error(gps_resume(file, y[weights > 0, ]), "data points, not 150", class = "gps_error_data")
})

test_that("weights that are none are refused by name", {
  y <- matrix(rnorm(40), 20)
  fit <- function(weights) gps_fit(y, model_gaussian_mixture(2), weights = weights)
  refused <- function(weights, words) {
    expect_error(fit(weights), words, class = "gps_error_argument", fixed = TRUE)
  }
  refused(1:3, "`weights` must have 20 numbers, one for each data point, not 3")
  refused(rep(0, 20), "`weights` must not all be 0")
  refused(replace(rep(1, 20), 4, -1), "number 4 is -1")
  refused(replace(rep(1, 20), 5, NA), "number 5 is NA")
  refused(replace(rep(1, 20), 6, Inf), "number 6 is Inf")
  refused("a", "`weights` must be NULL or 20 finite numbers")
  refused(list(1), "`weights` must be NULL or 20 finite numbers")
  refused(factor(1:20), "`weights` must be NULL or 20 finite numbers")
  refused(matrix(1, 4, 5), "`weights` must be NULL or 20 finite numbers")
  refused(rep(1e308, 20), "finite sum")
  model <- gps_bind(model_gaussian_mixture(2), y)
  expect_error(gps_estep(model, gps_init(model, y), y, matrix(1L, 20, 1), weights = 1:2),
               "`weights` must have 20 numbers", class = "gps_error_argument")
})

test_that("other data in update() need weights of their own", {
  set.seed(1)
  y <- simulate_clusters(60, 3)$y
  fit <- gps_fit(y, model_gaussian_mixture(2), selector_full(), weights = rep(1:2, 30),
                 control = gps_control(n_starts = 1, max_iter = 2, progress = FALSE))
  expect_gps_error(update(fit, y = y), "`weights` is missing")
  expect_identical(update(fit, y = y, weights = rep(1:2, 30))$weights, fit$weights)
  expect_null(update(fit, y = y, weights = NULL)$weights)
})

test_that("labels need a row that counts, and audits say that rows count once", {
  set.seed(1)
  y <- simulate_clusters(60)$y
  labels <- rep(c("a", "b", "c"), 20)
  fit_with <- function(weights, start = labels) {
    gps_fit(y, model_gaussian_mixture(3), n_selected = 2, weights = weights, start = start,
            control = gps_control(max_iter = 2, progress = FALSE, mend = FALSE))
  }
  expect_gps_error(fit_with(as.numeric(labels != "b")),
                   "`start`: all data points with the label \"b\" have a weight of 0")
  expect_gps_error(fit_with(as.numeric(labels != "b"), rep(1:3, 20)), "with the label 2 have")
  fit <- fit_with(c(0, rep(2, 59)))
  audit <- gps_audit(fit)
  expect_output(print(audit), "59 data points of 60, each counted once, whatever its weight")
  expect_false(1 %in% audit$points$point)
})
