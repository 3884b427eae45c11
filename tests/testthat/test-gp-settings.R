# Every setting of the search for the parameters of a kernel, those of gp_fit() and those of the
# optimiser inside, with other values: the maximum is the same.
# @srrstats {PD4.3}

settings <- new.env()

a_search <- function(...) {
  if (is.null(settings$y)) {
    set.seed(1)
    settings$x <- seq(0, 6, length.out = 25)
    settings$y <- sin(2 * settings$x) + 0.3 * rnorm(25)
  }
  gp_fit(settings$x, settings$y, kernel_rbf() + kernel_white(), n_threads = 1, ...)
}

test_that("other settings of gp_fit() find the maximum of its defaults", {
  fit <- a_search()
  best <- as.numeric(logLik(fit))
  expect_true(fit$converged)
  expect_lt(max(abs(gp_gradient(fit))), 1e-3)
  names <- names(coef(fit))
  wide <- list(lower = coef(fit) - 3, upper = coef(fit) + 3)
  others <- list(max_evals = a_search(max_evals = 1000), one = a_search(n_starts = 1),
                 many = a_search(n_starts = 9), limits = do.call(a_search, wide),
                 method = a_search(method = "inducing", rank = 25))
  # 1e-3 of the log likelihood: a search ends where a step gains less.
  for (name in names(others)) {
    expect_equal(as.numeric(logLik(others[[name]])), best, tolerance = 1e-3, info = name)
  }
  # Settings that forbid the maximum end below it.
  below <- list(evals = a_search(max_evals = 2, n_starts = 1), fixed = a_search(fixed = names[2]),
                upper = a_search(upper = stats::setNames(coef(fit)[2] - 0.5, names[2])),
                lower = a_search(lower = stats::setNames(coef(fit)[2] + 0.5, names[2])))
  for (name in names(below)) expect_lt(as.numeric(logLik(below[[name]])), best - 0.01)
})

test_that("the optimiser with other settings, and others, find the same maximum", {
  fit <- a_search()
  # The value and the gradient are asked for at the same parameters.
  last <- list()
  at <- function(theta) {
    if (identical(theta, last$theta)) return(last$fit)
    kernel <- kernel_rbf(exp(theta[1]), exp(theta[2])) + kernel_white(exp(theta[3]))
    fit <- gp_fit(settings$x, settings$y, kernel, optimise = FALSE, n_threads = 1)
    last <<- list(theta = theta + 0, fit = fit)
    fit
  }
  start <- coef(fit) + c(0.4, -0.3, 0.5)
  search <- function(method, ...) {
    found <- stats::optim(start, function(theta) -as.numeric(logLik(at(theta))),
                          function(theta) -gp_gradient(at(theta)), method = method,
                          control = list(...))
    list(value = -found$value, par = found$par)
  }
  ways <- list(few_steps_back = list("L-BFGS-B", lmm = 2), many = list("L-BFGS-B", lmm = 12),
               factr = list("L-BFGS-B", factr = 1e9), pgtol = list("L-BFGS-B", pgtol = 1e-4),
               maxit = list("L-BFGS-B", maxit = 500), BFGS = list("BFGS", reltol = 1e-10),
               CG = list("CG", reltol = 1e-8), simplex = list("Nelder-Mead", reltol = 1e-8))
  for (name in names(ways)) {
    found <- do.call(search, ways[[name]])
    expect_equal(found$value, as.numeric(logLik(fit)), tolerance = 1e-4, info = name)
    expect_equal(unname(found$par), unname(coef(fit)), tolerance = 0.03, info = name)
  }
})

test_that("other settings of EM find the maximum of its defaults", {
  fit_by <- function(...) {
    set.seed(1)
    gps_fit(faithful, model_gaussian_mixture(2), selector_full(),
            control = gps_control(n_threads = 1, progress = FALSE, ...))
  }
  best <- fit_by()
  # One start is enough here, and the settings of others are looked at with it.
  one <- function(...) list(n_starts = 1, ...)
  ways <- list(tol = one(tol = 1e-9), max_iter = one(max_iter = 1000), one_start = one(),
               starts = list(n_starts = 12), mend = one(mend = FALSE), polish = one(polish = FALSE),
               anneal = one(anneal = 1.5), monotone = one(monotone = TRUE))
  # It stops where a point gains less than `tol`, 8e-6 nats.
  for (name in names(ways)) {
    expect_equal(do.call(fit_by, ways[[name]])$bound, best$bound, tolerance = 1e-4, info = name)
  }
  expect_lt(fit_by(max_iter = 1, n_starts = 1)$bound, best$bound - 1)
})

test_that("inputs whose powers a product of linear kernels cannot hold are refused by their unit", {
  set.seed(1)
  x <- matrix(runif(20), 10)
  square <- kernel_linear() * kernel_linear() + kernel_white(0.1)
  refused <- function(x, words) {
    expect_error(gp_fit(x, rnorm(10), square), words, class = "gps_error_numeric")
  }
  refused(1e-104 * x, "too small for a product of 2 linear terms.*in another unit")
  refused(1e96 * x, "too large for a product of 2 linear terms.*in another unit")
})
