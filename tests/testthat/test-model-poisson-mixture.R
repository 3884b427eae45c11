# The Poisson mixture: exact numbers by its definition, many and few counts, data it cannot have.

count_case <- function(seed, n = 40, n_dims = 5, n_clusters = 4, mean = 4) {
  set.seed(seed)
  params <- list(rate = matrix(rexp(n_dims * n_clusters, 1 / mean), n_dims),
                 pi = prop.table(runif(n_clusters, 0.2, 1)))
  cluster <- sample.int(n_clusters, n, TRUE, params$pi)
  y <- matrix(as.double(rpois(n * n_dims, params$rate[, cluster])), n, byrow = TRUE)
  list(params = params, y = y, cluster = cluster,
       model = gps_bind(model_poisson_mixture(n_clusters), y),
       row = list(n_latents = n_clusters, is_one_hot = TRUE,
                  joint = function(...) joint_poisson_mixture(...)),
       all = matrix(seq_len(n_clusters), n, n_clusters, byrow = TRUE))
}

test_that("log evidence, responsibilities, statistics and M-step follow the definition", {
  for (seed in 1:5) {
    case <- count_case(seed, n_clusters = 8, mean = c(0.3, 4, 40, 10, 1)[seed])
    truth <- brute_force(case$row, case$params, case$y, case$all, 1)
    step <- gps_estep(case$model, case$params, case$y, case$all, want = c("stats", "response"))
    expect_near(step$log_evidence, truth$log_evidence, 1e-12)
    expect_near(step$prob_on, truth$mean, 1e-12)
    expect_near(step$response, truth$mean %*% t(case$params$rate), 1e-12)
    expect_near(step$stats$sum, t(case$y) %*% truth$mean, 1e-12)
    new <- gps_mstep(case$model, case$params, step$stats)$params
    used <- colSums(truth$mean) > 1e-3
    wanted <- sweep(t(case$y) %*% truth$mean, 2, colSums(truth$mean), "/")
    expect_near(new$rate[, used], pmax(wanted, case$model$options$floor_rate)[, used], 1e-10)
    expect_near(sum(new$pi), 1, 1e-14)
  }
})

test_that("rankings have the same bits for any number of threads", {
  n <- 4 * thread_work %/% (20 * 30) + 1
  case <- count_case(3, n, n_dims = 20, n_clusters = 30)
  y <- t(case$y)
  block <- new_block(0, n)
  inputs <- block_inputs(case$model, case$params, y, block)
  rank <- function(n_threads) block_handcrafted(case$model, inputs, y, block, n_threads)
  expect_identical(rank(4L), rank(1L))
})

test_that("probabilities of small and of large counts have all digits", {
  for (middle in c(1, 12, 16, 20, 300, 1e6, 1e12)) {
    # Data about a rate, which is then nearly the centre, and counts far from it.
    y <- c(round(middle + sqrt(middle) * (-3:3)), round(middle * c(0, 0.5, 0.9, 1.1, 2)))
    y <- matrix(pmax(c(y, 0:20), 0))
    model <- gps_bind(model_poisson_mixture(1), y)
    rate <- model$options$centre
    step <- gps_estep(model, list(rate = matrix(rate), pi = 1), y, matrix(1, nrow(y), 1))
    exact <- dpois(y[, 1], rate, log = TRUE)
    expect_lte(max(abs(step$log_evidence - exact) / pmax(1, abs(exact))), 2e-14)
    # At another rate digits go that y log(rate / centre) has before the point.
    step <- gps_estep(model, list(rate = matrix(middle), pi = 1), y, matrix(1, nrow(y), 1))
    exact <- dpois(y[, 1], middle, log = TRUE)
    expect_lte(max(abs(step$log_evidence - exact) / pmax(1, y[, 1], rate)), 1e-14)
  }
})

test_that("what clusters share of large counts does not round their odds away", {
  y <- matrix(c(1e12, 3), 1)
  rate <- cbind(c(1e12, 2), c(1e12, 5))
  model <- gps_bind(model_poisson_mixture(1), y)
  model <- gps_bind(model_poisson_mixture(2), rbind(y, y))
  step <- gps_estep(model, list(rate = rate, pi = c(0.5, 0.5)), y, matrix(1:2, 1))
  odds <- dpois(3, 5) / dpois(3, 2)
  expect_near(step$prob_on[1, 2], odds / (1 + odds), 1e-12)
})

test_that("the M-step is the maximum of the expected log joint", {
  case <- count_case(6, n = 25, n_dims = 2, n_clusters = 2)
  step <- gps_estep(case$model, case$params, case$y, case$all, want = "stats")
  expected <- function(rate) {
    sum(vapply(1:2, function(k) {
      sum(step$prob_on[, k] * rowSums(matrix(dpois(t(case$y), rate[, k], log = TRUE), 25,
                                             byrow = TRUE)))
    }, 1))
  }
  best <- optim(log(c(case$params$rate)), function(x) expected(matrix(exp(x), 2)), method = "BFGS",
                control = list(fnscale = -1, reltol = 1e-15))
  new <- gps_mstep(case$model, case$params, step$stats)$params
  expect_near(new$rate, matrix(exp(best$par), 2), 1e-5)
  expect_gte(expected(new$rate), best$value - 1e-9)
  expect_near(new$pi, colMeans(step$prob_on), 1e-14)
})

test_that("a bound over all clusters never falls, and is the sum of the definition", {
  case <- count_case(7, n = 200)
  set.seed(1)
  fit <- gps_fit(case$y, model_poisson_mixture(4), selector_full(),
                 control = short_control(max_iter = 60, tol = 0, mend = FALSE))
  expect_no_fall(fit$trace$bound)
  truth <- brute_force(case$row, fit$params, case$y, case$all, 1)
  expect_near(fit$bound, sum(truth$log_evidence), 1e-12)
  # 5 x 4 rates and three free probabilities.
  expect_identical(attr(logLik(fit), "df"), 23)
  expect_equal(BIC(fit), -2 * fit$bound + 23 * log(200))
  expect_equal(AIC(fit), -2 * fit$bound + 46)
})

test_that("the ranking is the exact one, in R and in C", {
  case <- count_case(8)
  wanted <- t(apply(case$y, 1, function(y) {
    vapply(1:4, function(k) joint_poisson_mixture(case$params, y, diag(4)[k, ]), 1)
  }))
  expect_near(gps_handcrafted(case$model, case$params, case$y), wanted, 1e-12)
  block <- new_block(0, 40)
  inputs <- block_inputs(case$model, case$params, t(case$y), block)
  expect_near(t(block_handcrafted(case$model, inputs, t(case$y), block)), wanted, 1e-12)
})

test_that("zeros, a constant column, and clusters that nobody is in do no harm", {
  case <- count_case(9, n = 60)
  y <- cbind(case$y, 0, 7)
  y[5, ] <- 0
  set.seed(1)
  fit <- gps_fit(y, model_poisson_mixture(6), selector_full(), control = short_control())
  expect_true(all(is.finite(unlist(fit$params))) && all(fit$params$rate > 0))
  expect_near(fit$params$rate[6, ], rep(1e-6, 6), 1e-18)
  expect_near(fit$params$rate[7, fit$params$pi > 0.02], rep(7, sum(fit$params$pi > 0.02)), 1)
  expect_printed(fit, "rate_floor [0-9]+")
  bound <- gps_bind(model_poisson_mixture(2), y)
  stats <- list(count = 60, on = c(60, 0), sum = cbind(colSums(y), 0))
  start <- list(rate = matrix(2, 7, 2), pi = c(0.5, 0.5))
  step <- gps_mstep(bound, start, stats)
  expect_identical(step$params$rate[, 2], rep(2, 7))
  expect_identical(step$params$pi, c(1 - 5e-5, 5e-5))
  expect_identical(step$events, c(rate_floor = 1L, pi_floor = 1L, empty_cluster = 1L))
})

test_that("moves find clusters that one start has missed", {
  bounds <- vapply(c(FALSE, TRUE), function(mend) {
    set.seed(7)
    rate <- matrix(rgamma(64, 2, 0.4), 8)
    y <- matrix(as.double(rpois(320 * 8, rate[, rep(1:8, each = 40)])), 320, byrow = TRUE)
    fit <- gps_fit(y, model_poisson_mixture(8), selector_handcrafted(), n_selected = 3,
                   control = short_control(mend = mend))
    truth <- gps_estep(fit$model, list(rate = rate, pi = rep(1 / 8, 8)), y,
                       matrix(1:8, 320, 8, byrow = TRUE))
    fit$bound - sum(truth$log_evidence)
  }, 1)
  expect_lt(bounds[1], 0)
  expect_gt(bounds[2], 0)
})

test_that("data that are not counts are refused where they enter", {
  case <- count_case(10)
  refuse <- function(code, words) expect_gps_error(code, words, class = "data")
  for (value in c(-1, 2.5)) {
    bad <- replace(case$y, cbind(6, 3), value)
    words <- sprintf("whole numbers of at least 0 for the model \"Poisson mixture\", but %s %s.",
                     "row 6, column 3 is", value)
    refuse(gps_fit(bad, model_poisson_mixture(3)), words)
    refuse(gps_bind(model_poisson_mixture(3), bad), words)
    refuse(gps_handcrafted(case$model, case$params, bad), words)
    refuse(gps_estep(case$model, case$params, bad, case$all), words)
  }
  expect_gps_error(gps_fit(case$y[1:3, ], model_poisson_mixture(4)),
                   "`n_components` must be at most the number of data points, 3, not 4.")
  expect_gps_error(gps_estep(case$model, list(rate = case$params$rate, pi = rep(0.3, 4)), case$y,
                             case$all), "`params$pi` must add up to 1")
  expect_gps_error(gps_estep(case$model, list(rate = 0 * case$params$rate, pi = case$params$pi),
                             case$y, case$all), "`params$rate` must lie between 0 and Inf, both")
})

test_that("sparse matrices and sources are the same data", {
  case <- count_case(11, n = 90, n_dims = 12, mean = 0.7)
  fit_of <- function(y) {
    set.seed(1)
    gps_fit(y, model_poisson_mixture(4), selector_handcrafted(), n_selected = 3,
            control = short_control(max_iter = 10))
  }
  plain <- fit_of(case$y)
  expect_identical(fit_of(gps_source(90, 12, function(from, to) {
    case$y[from:to, , drop = FALSE]
  }))$params, plain$params)
  skip_if_not_installed("Matrix")
  sparse <- fit_of(Matrix::Matrix(case$y, sparse = TRUE))
  expect_near(sparse$bound, plain$bound, 1e-10)
  expect_near(sparse$params$rate, plain$params$rate, 1e-8)
})

test_that("a fit prints, predicts, draws, begins with labels, and is the same after a file", {
  case <- count_case(12, n = 80, mean = 8)
  set.seed(1)
  fit <- gps_fit(case$y, model_poisson_mixture(4), control = short_control(max_iter = 30))
  expect_printed(fit, "Poisson mixture: 4 clusters")
  expect_s3_class(summary(fit)$classes, "data.frame")
  expect_identical(match_components(fit, case$params), match_components(coef(fit)$rate,
                                                                        case$params$rate))
  expect_near(rowSums(predict(fit)), rep(1, 80), 1e-12)
  expect_identical(predict(fit, type = "class"), max.col(predict(fit), "first"))
  expect_equal(fitted(fit), predict(fit) %*% t(fit$params$rate))
  expect_true(all(simulate(fit, seed = 1)[[1]]$y %in% 0:1000))
  labelled <- gps_fit(case$y, model_poisson_mixture(4), start = case$cluster,
                      control = short_control(max_iter = 0))
  means <- vapply(1:4, function(k) colMeans(case$y[case$cluster == k, , drop = FALSE]), numeric(5))
  expect_near(unname(coef(labelled)$rate), pmax(means, case$model$options$floor_rate), 1e-12)
  file <- tempfile(fileext = ".rds")
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), case$y[1:5, ]), predict(fit, case$y[1:5, ]))
  unlink(file)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(fit, which = c("components", "bound", "selection", "entropy")))
})

test_that("two clusters that are alike are named by the summary", {
  params <- list(rate = cbind(c(3, 4), c(30, 1), c(3.001, 4)), pi = rep(1 / 3, 3))
  expect_identical(find_duplicates(params, model_poisson_mixture(3)), matrix(c(1L, 3L), 1))
})

test_that("more than forty clusters are fitted from points labelled with their nearest seeds", {
  set.seed(13)
  rate <- matrix(rgamma(60 * 8, 1, 1 / 15), 8)
  cluster <- rep(1:60, each = 20)
  y <- matrix(as.double(rpois(60 * 20 * 8, rate[, cluster])), ncol = 8, byrow = TRUE)
  model <- gps_bind(model_poisson_mixture(60), y)
  labels <- attr(gps_init(model, y), "labels")
  expect_identical(labels$point, 1:1200)
  expect_identical(sort(unique(labels$latent)), 1:60)
  fit <- gps_fit(y, model_poisson_mixture(60), selector_gp(method = "neighbours"),
                 control = gps_control(progress = FALSE, max_iter = 40))
  pairs <- table(cluster, predict(fit, type = "class"))
  expect_gt(sum(apply(pairs, 1, max)) / length(cluster), 0.8)
})

test_that("centres of counts may be 0, where the rate is that of the points there, and not below", {
  set.seed(1)
  y <- rbind(cbind(0, rpois(30, 9)), cbind(rpois(30, 9), 0))
  fit_from <- function(centres, ...) {
    gps_fit(y, model_poisson_mixture(2), selector_full(), start = centres,
            control = gps_control(max_iter = 1, progress = FALSE, mend = FALSE, ...))
  }
  centres <- rbind(c(0, 9), c(9, 0))
  fit <- fit_from(centres)
  expect_identical(predict(fit, type = "class"), rep(1:2, each = 30))
  expect_true(all(coef(fit)$rate > 0))
  expect_gps_error(fit_from(rbind(c(-1, 9), c(9, 0))),
                   "`start` must have centres between 0 and Inf")
})
