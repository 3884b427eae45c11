# Missing cells where data are not a matrix in memory, in models of R functions, in audits.

# Bars of which a fifth of the cells is missing, as a matrix and as a source of small blocks.
gappy_bars <- function(n = 120) {
  set.seed(5)
  bars <- simulate_bars(n, size = 3, value = 5)
  y <- bars$y
  y[runif(length(y)) < 0.2] <- NA
  list(y = y, W = bars$W,
       source = gps_source(n, 9, function(from, to) y[from:to, , drop = FALSE]))
}

test_that("a source with missing cells gives the fit of its matrix", {
  data <- gappy_bars()
  y <- data$y
  model <- gps_bind(model_binary_sparse(6, intercept = TRUE), ifelse(is.na(y), 0, y))
  params <- gps_init(model, ifelse(is.na(y), 0, y))
  selected <- draw_selected(120, 6, 3)
  expect_identical(gps_estep(model, params, data$source, selected),
                   gps_estep(model, params, y, selected))
  fit_of <- function(y, selector = selector_handcrafted(), ...) {
    set.seed(2)
    gps_fit(y, model_binary_sparse(6), selector, n_selected = 4,
            control = short_control(max_iter = 12, ...))
  }
  fit <- fit_of(data$source)
  whole <- fit_of(y)
  expect_near(fit$bound, whole$bound, 1e-10)
  expect_near(coef(fit)$W, coef(whole)$W, 1e-8)
  expect_identical(fit$n_missing, sum(is.na(y)))
  # Predictions read anew what is missing.
  for (type in c("loglik", "response")) {
    expect_near(predict(fit, data$source, type), predict(whole, y, type), 1e-8)
  }
  filled <- predict(fit, data$source, type = "imputed")
  expect_identical(filled[!is.na(y)], y[!is.na(y)])
  # What is learned sees the same means in their place.
  learned <- fit_of(data$source, selector_gp(method = "inducing", rank = 20))
  expect_near(learned$bound, fit_of(y, selector_gp(method = "inducing", rank = 20))$bound, 1e-8)
  batches <- fit_of(data$source, batch_size = 40)
  expect_true(is.finite(batches$bound))
})

test_that("a file has missing cells, and a column without a value is named", {
  y <- gappy_bars()$y
  path <- tempfile()
  writeBin(as.vector(t(y)), path, endian = "little")
  source <- gps_source_binary(path, 9, names = letters[1:9])
  control <- short_control(max_iter = 4)
  fit <- gps_fit(source, model_gaussian_mixture(2, "diagonal"), selector_full(), control = control)
  expect_near(fit$bound, sum(predict(fit, y, type = "loglik")), 10)
  expect_identical(is.na(residuals(fit)), is.na(unname(y)), ignore_attr = TRUE)
  expect_s3_class(gps_audit(fit, n = 20), "gps_audit")
  y[, 3] <- NA
  writeBin(as.vector(t(y)), path, endian = "little")
  source <- gps_source_binary(path, 9, names = letters[1:9])
  expect_gps_error(gps_fit(source, model_binary_sparse(2), selector_handcrafted(),
                           control = control), "no value in column 3 (\"c\")", "data")
})

test_that("entries of a sparse matrix that are NA are missing", {
  skip_if_not_installed("Matrix")
  for (row in Filter(function(row) takes_missing(row$model()), MODELS)[c(1, 4, 6, 9, 11, 13)]) {
    case <- missing_case(row, 30)
    y <- case$y
    y[, 2] <- if (is.null(row$blank)) 0 else y[, 2]
    case$model <- gps_bind(case$model, ifelse(is.na(y), 0, y))
    sparse <- Matrix::Matrix(y, sparse = TRUE)
    selected <- draw_selected(30, row$n_latents, 2)
    found <- gps_estep(case$model, case$params, sparse, selected, want = c("stats", "response"))
    expected <- gps_estep(case$model, case$params, y, selected, want = c("stats", "response"))
    for (name in names(expected)) {
      expect_near(unlist(found[[name]]), unlist(expected[[name]]), 1e-10)
    }
    ranked <- lapply(list(sparse, y), function(y) {
      read <- admit_missing(read_data(y, may_miss = TRUE)$y, case$model)
      task <- list(y = read, missing = find_missing(read))
      open <- open_block(task, new_block(0, 30))
      block_handcrafted(case$model,
                        block_inputs(case$model, case$params, open$task$y, open$block),
                        open$task$y, open$block)
    })
    expect_near(ranked[[1]], ranked[[2]], 1e-10)
  }
  whole <- model_custom(1, function(y) list(a = 1), function(params, y, states) {
    numeric(ncol(states))
  })
  at <- which(is.na(as.matrix(sparse)), arr.ind = TRUE)[1, ]
  expect_gps_error(gps_fit(sparse, whole), "is NA: the model", "data")
  expect_gps_error(gps_fit(gps_source(30, ncol(y), function(from, to) y[from:to, , drop = FALSE]),
                           whole), "is NA", "data")
})

test_that("a model of R functions that takes NA is that of C", {
  log_joint <- function(params, y, states) {
    rate <- params$rate %*% states
    colSums(dpois(y, rate, log = TRUE), na.rm = TRUE) + log(drop(params$pi %*% states))
  }
  init <- function(y) {
    expect_false(anyNA(y))
    list(rate = cbind(colMeans(y) + 0.5, colMeans(y) + 1), pi = c(0.4, 0.6))
  }
  make <- function(...) {
    model_custom(2, init, log_joint, lower = list(rate = 0.01, pi = c(0.4, 0.6)),
                 upper = list(pi = c(0.4, 0.6)), rule = state_rule(1, 1), ...)
  }
  set.seed(3)
  y <- matrix(rpois(80, c(1, 6)), 20) + 0
  y[cbind(1:12, rep(1:4, 3))] <- NA
  expect_gps_error(gps_fit(y, make()), "does not allow for missing", "data")
  # A mean in place of a missing count would be told by dpois().
  expect_no_warning(fit <- gps_fit(y, make(takes_missing = TRUE), selector_full(),
                                   control = short_control(max_iter = 2, tol = 0)))
  expect_no_fall(fit$trace$bound)
  native <- gps_bind(model_poisson_mixture(2), ifelse(is.na(y), 0, y))
  step <- gps_estep(native, coef(fit), y, matrix(1:2, 20, 2, byrow = TRUE))
  expect_near(fit$bound, sum(step$log_evidence), 1e-10)
  careless <- model_custom(2, init, function(params, y, states) {
    colSums(dpois(y, params$rate %*% states, log = TRUE))
  }, takes_missing = TRUE)
  expect_gps_error(gps_fit(y, careless, selector_full()), "some cells are NA there", "model")
})

test_that("audits, comparisons and the number of selected latents are of the cells there are", {
  data <- gappy_bars()
  y <- data$y
  control <- short_control(max_iter = 15)
  set.seed(1)
  fit <- gps_fit(y, model_binary_sparse(6), selector_handcrafted(), n_selected = 3,
                 control = control)
  audit <- gps_audit(fit, n = 40)
  points <- audit$points$point
  evidence <- function(selected) {
    gps_estep(fit$model, coef(fit), y[points, ], selected)$log_evidence
  }
  gap <- evidence(matrix(1:6, 40, 6, byrow = TRUE)) - evidence(t(fit$selected[, points]))
  expect_near(audit$points$mass, exp(-pmax(gap, 0)), 1e-10)
  # The same of new data, and where not all states can be summed over.
  again <- gps_audit(fit, y[points, ], n = 40)
  expect_near(again$bound, audit$bound, 1e-12)
  expect_near(again$mass, audit$mass, 0.2)
  task <- new_prediction_task(fit, t(y[points, ]), "prob", is_new = FALSE)
  selected <- fit$selected[, points]
  wide <- list(kind = "wide", n_more = 3L, states = enumerate_states(fit$model$rule, 6L, 6L))
  expect_near(refer_points(task, coef(fit), wide, selected)$gap, pmax(gap, 0), 1e-10)
  set.seed(1)
  chosen <- gps_fit(y, model_binary_sparse(9), selector_handcrafted(), n_selected = "auto",
                    control = control)
  expect_gte(chosen$n_selected, 2)
  compared <- compare_selectors(y, model_binary_sparse(6), list(hand = selector_handcrafted()),
                                seeds = 1, n_selected = 3, audit_points = 20, control = control)
  expect_true(is.na(compared$runs$error))
})
