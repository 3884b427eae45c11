# Fits that ended before they had begun, or that hold next to nothing, are fits: their own methods
# take them.

all_methods_take <- function(fit, y) {
  expect_gt(length(utils::capture.output(print(fit))), 5)
  expect_gt(length(utils::capture.output(print(summary(fit)))), 5)
  expect_true(is.finite(logLik(fit)))
  expect_true(all(is.finite(predict(fit, y[1:2, ], progress = FALSE))))
}

test_that("fits that were cut short, in every way to select", {
  set.seed(1)
  y <- simulate_bars(40, size = 3)$y
  selectors <- list(selector_handcrafted(), selector_gp(), selector_gp(method = "neighbours"),
                    selector_gp(method = "ichol", rank = 10), selector_random(),
                    selector_custom(function(params, y, memory) y %*% params$W,
                                    function(params, y, expectations) 1))
  cuts <- list(gps_control(time_limit = 1e-6, n_starts = 1, progress = FALSE),
               gps_control(max_iter = 0, n_starts = 1, progress = FALSE))
  quiet <- function(code) suppressWarnings(code, classes = "gps_warning")
  for (selector in selectors) {
    for (control in cuts) {
      fit <- quiet(gps_fit(y, model_binary_sparse(9), selector, 3, control = control))
      quiet(all_methods_take(fit, y))
    }
    if (!is.function(selector$learn)) {
      control <- gps_control(time_limit = 1e-6, n_starts = 1, batch_size = 20, progress = FALSE)
      fit <- quiet(gps_fit(y, model_binary_sparse(9), selector, 3, control = control))
      quiet(all_methods_take(fit, y))
    }
  }
  budgeted <- gps_control(max_iter = 0, n_starts = 1, budget = 3, progress = FALSE)
  fit <- quiet(gps_fit(y, model_binary_sparse(9), selector_gp(), 3, control = budgeted))
  all_methods_take(fit, y)
  shown <- utils::capture.output(print(fit))
  expect_match(paste(shown, collapse = " "), "0 on average: nothing was +screened")
})

test_that("a chosen number of latents is said where a time limit came before its last measure", {
  set.seed(1)
  y <- simulate_bars(60, size = 3)$y
  set.seed(2)
  fit <- gps_fit(y, model_binary_sparse(9), selector_handcrafted(), "auto",
                 control = gps_control(time_limit = 1e-6, n_starts = 1, progress = FALSE))
  expect_identical(fit$status, "time_limit")
  expect_false(anyNA(names(fit$chosen)))
  expect_null(fit$chosen$mass)
  expect_match(fit$chosen$line, "of the posterior")
  all_methods_take(fit, y)
})

test_that("a single latent that is out of the model", {
  y <- matrix(c(1, 2, 4, 7, 11), 6, 5, byrow = TRUE)
  fit <- suppressWarnings(
    gps_fit(y, model_binary_sparse(1, shared_prob = FALSE, intercept = TRUE), selector_full(),
            control = gps_control(max_iter = 3, n_starts = 1, progress = FALSE)),
    classes = "gps_warning"
  )
  expect_identical(coef(fit)$pi, 0)
  all_methods_take(fit, y)
})

test_that("data that are read in blocks and have no value at all are refused in words", {
  for (n_dims in 1:2) {
    none <- function(from, to) matrix(NA_real_, to - from + 1, n_dims)
    expect_error(gps_fit(gps_source(5, n_dims, none), model_binary_sparse(2), selector_full()),
                 "has no value in column", class = "gps_error")
  }
})

test_that("a fit that is cut short while it anneals has the bound of its likelihood", {
  set.seed(1)
  bits <- matrix(as.double(runif(180) < 0.2), 30)
  pictures <- array(runif(20 * 64, 0, 0.1), c(20, 8, 8))
  pictures[1:10, 2:4, 3:5] <- 1
  cut <- function(y, model, selector, ...) {
    control <- gps_control(time_limit = 1e-6, n_starts = 1, progress = FALSE, ...)
    suppressWarnings(gps_fit(y, model, selector, control = control), classes = "gps_warning")
  }
  fits <- list(cut(bits, model_noisy_or(3), selector_handcrafted(), anneal = 3),
               cut(bits, model_gaussian_mixture(2, "spherical"), selector_gp(), anneal = 3),
               cut(bits, model_noisy_or(3), selector_handcrafted(), anneal = 3, batch_size = 10),
               cut(pictures, model_occlusive(1, c(4, 4)), selector_handcrafted()))
  for (fit in fits) {
    expect_identical(fit$status, "time_limit")
    expect_gt(fit$trace$temperature[1], 1)
    expect_equal(as.double(logLik(fit)), sum(predict(fit, type = "loglik", progress = FALSE)))
    expect_null(fit$standing$temperature)
  }
  expect_lt(fits[[1]]$bound, 0)
})

test_that("the bound of an E-step that stays hot is a lower limit", {
  set.seed(1)
  joint <- matrix(rexp(5 * 8), 5)
  hot <- function(beta) {
    state <- list(beta = beta, bound = sum(log(rowSums(joint^beta))), bound_error = 0)
    task <- list(model = model_binary_sparse(3), n_selected = 3, max_active = 3, y = t(joint[, 1]))
    cool_bound(task, state)$bound
  }
  expect_equal(hot(1), sum(log(rowSums(joint))))
  expect_lt(hot(0.5), hot(1))
  expect_gt(hot(0.5), hot(1) - 5 * log(8))
  expect_lt(hot(0.2), hot(0.5))
  said <- describe_annealing(list(held = numeric(), temperature = 2.5))
  expect_match(said, "temperature 2.5, the bound is a lower limit")
})
