# The search of gp_fit(): its starts, its box, what the user fixes, and what it says of its end.

# Data of one or two columns whose functions have one clear best curve.
search_data <- function(n = 60, seed = 1) {
  set.seed(seed)
  x <- cbind(runif(n, 0, 10), runif(n))
  list(x = x, targets = sin(x[, 1]) + cos(6 * x[, 2]) + rnorm(n, sd = 0.1))
}

every_method <- list(
  exact = list(method = "exact"), ichol = list(method = "ichol", rank = 40),
  inducing = list(method = "inducing", rank = 40), fourier = list(method = "fourier", rank = 80),
  divide = list(method = "divide", rank = 60)
)

fit_by <- function(method, ...) do.call(gp_fit, c(list(...), every_method[[method]]))

test_that("a curve is found where a flat one explains all as noise, by every method", {
  set.seed(2)
  x <- runif(100, 0, 20)
  targets <- sin(2 * x) + rnorm(100, sd = 0.1)
  for (method in names(every_method)) {
    fit <- fit_by(method, x, targets, kernel_rbf() + kernel_white())
    expect_lt(exp(coef(fit)[["log_var_white"]]), 0.03, label = method)
    near <- fit_by(method, x, targets, kernel_rbf(1, 0.7) + kernel_white(0.1))
    expect_gt(fit$lml, near$lml - 1, label = method)
    expect_true(fit$converged)
    expect_identical(fit$trace$evaluation, seq_len(nrow(fit$trace)))
    expect_true(fit$lml %in% fit$trace$lml)
  }
})

test_that("few random starts of the exact likelihood find nothing better", {
  set.seed(3)
  x <- sort(runif(40, 0, 10))
  for (kernel in list(kernel_rbf() + kernel_white(), kernel_matern(1.5) + kernel_bias() +
                        kernel_white(), kernel_rbf() + kernel_linear() + kernel_white())) {
    targets <- matrix(2 + sin(3 * x) + 0.2 * x + rnorm(40, sd = 0.2), 1)
    y <- matrix(x, 1)
    fit <- gp_fit(x, t(targets), kernel)
    scales <- gp_scales(kernel, y, targets)
    box <- gp_bounds(kernel, y, targets, wide_reach, scales = scales)
    middle <- scaled_theta(kernel, gp_theta(kernel, y), scales, 1)
    best <- max(replicate(10, {
      start <- clamp_theta(middle + rnorm(length(middle), sd = 2), box)
      gp_refit(kernel, start, y, targets, 100L, 1L, 1e-7, box)$value
    }))
    expect_gt(fit$lml, best - 1)
  }
})

test_that("the unit of a column is a matter of its own scale only", {
  data <- search_data()
  kernels <- list(
    kernel_rbf(ard = TRUE) + kernel_white(),
    kernel_matern(2.5, ard = TRUE) + kernel_linear(ard = TRUE) + kernel_bias() + kernel_white()
  )
  for (kernel in kernels) {
    all <- identical(kernel, kernels[[1]]) || is_full()
    methods <- if (all) names(every_method) else c("exact", "fourier")
    for (method in methods) {
      fit <- fit_by(method, data$x, data$targets, kernel)
      # Both by the exact process, one of them by others, whose search is the same.
      units <- c(1e-6, 1e6)
      if (method != "exact" && !is_full()) units <- units[1 + match(method, methods) %% 2]
      for (unit in units) {
        other <- fit_by(method, data$x %*% diag(c(1, unit)), data$targets, kernel)
        expect_lt(abs(other$lml - fit$lml), 1, label = paste(method, unit))
      }
    }
  }
  # Powers of two are exact, and so are the scales that follow from them.
  y <- t(data$x)
  one <- open_lengthscales(kernels[[1]], y)$each
  expect_identical(open_lengthscales(kernels[[1]], y * c(2^-20, 2^20))$each, one * c(2^-20, 2^20))
})

test_that("no search ends below the kernel it was given", {
  data <- search_data()
  line <- seq(0, 1, length.out = 15)
  set.seed(83)
  time <- rep(sort(runif(30, 0, 1000)), 3) + rep(c(0, 0.1, 0.3), each = 30)
  cases <- list(
    noise_free = list(line, sin(6 * line) + line^2, kernel_rbf(1, 0.3) + kernel_white(1e-10)),
    short = list(time, sin(2 * time) + rnorm(90, sd = 0.05), kernel_rbf(1, 0.5) +
                   kernel_white(0.01)),
    unit = list(data$x %*% diag(c(1, 1e6)), data$targets,
                kernel_rbf(1, c(1, 5e5), ard = TRUE) + kernel_white(0.01)),
    large = list(line, 1e6 * line, kernel_linear(1e12) + kernel_bias(1e20) + kernel_white(1e-6)),
    far = list(data$x, data$targets, kernel_rbf(1e9, 1e9) + kernel_white(1e3))
  )
  for (name in names(cases)) {
    case <- cases[[name]]
    for (n_starts in c(1, 5)) {
      given <- suppressWarnings(gp_fit(case[[1]], case[[2]], case[[3]], optimise = FALSE))
      found <- suppressWarnings(gp_fit(case[[1]], case[[2]], case[[3]], n_starts = n_starts))
      expect_gte(found$lml, given$lml - 1e-9 * abs(given$lml), label = name)
    }
  }
})

test_that("a line is least squares, whatever year is called 0", {
  set.seed(167)
  base <- 0:60
  targets <- 3 + 0.2 * base + rnorm(61, sd = 0.5)
  line <- fitted(stats::lm(targets ~ base))
  kernel <- kernel_linear() + kernel_bias() + kernel_white()
  for (ard in c(FALSE, TRUE)) {
    kernel <- kernel_linear(ard = ard) + kernel_bias() + kernel_white()
    for (x in list(base - 30, 1960 + base, 12 * (1960 + base), 365.25 * (1960 + base))) {
      fit <- gp_fit(x, targets, kernel)
      expect_lt(sqrt(mean((predict(fit, x)$mean - line)^2)), 0.05)
      expect_identical(fit$limits, stats::setNames(character(), character()))
    }
  }
})

test_that("the level of the targets is the bias' matter, not the noise's", {
  set.seed(11)
  x <- 1:60
  curve <- sin(x / 5) + rnorm(60, sd = 0.1)
  for (method in names(every_method)) {
    for (level in c(0, if (method == "exact" || is_full()) 300, 10000)) {
      fit <- fit_by(method, x, level + curve, kernel_rbf() + kernel_bias() + kernel_white())
      noise <- sqrt(exp(coef(fit)[["log_var_white"]]))
      expect_true(noise > 0.07 && noise < 0.14, label = paste(method, level))
    }
  }
})

test_that("targets in any unit are the same curve", {
  data <- search_data(40)
  kernel <- kernel_rbf(ard = TRUE) + kernel_white()
  for (method in names(every_method)) {
    fit <- fit_by(method, data$x, data$targets, kernel)
    all <- method == "exact" || is_full()
    for (unit in c(1e-100, if (all) c(1e-6, 1e100), 1e6)) {
      other <- fit_by(method, data$x, unit * data$targets, kernel)
      expect_lt(abs(other$lml + 40 * log(unit) - fit$lml), 1, label = paste(method, unit))
    }
  }
})

test_that("targets whose squares are no numbers are told", {
  kernel <- kernel_rbf() + kernel_white()
  expect_gps_error(gp_fit(1:6, 1e-200 * (1:6), kernel), "too small", class = "numeric")
  expect_gps_error(gp_fit(1:6, 1e200 * (1:6), kernel), "too large", class = "numeric")
})

test_that("constant and varying targets and inputs are fitted or refused plainly in any unit", {
  x <- seq(0, 6, length.out = 12)
  shape <- sin(3 * x)
  kernels <- list(kernel_rbf() + kernel_white(), kernel_bias() + kernel_white(), kernel_rbf())
  for (kernel in kernels) for (noise in c(0, 1e-15, 0.5)) {
    curve <- 1 + noise * shape
    for (unit in c(1e-139, 1e139)) {
      fit <- suppressWarnings(gp_fit(x, unit * curve, kernel, max_evals = 60))
      numbers <- c(unlist(predict(fit, x + 0.1)), gp_loo(fit)$variance, fit$lml)
      expect_true(all(is.finite(numbers)), label = paste(unit, noise))
      expect_lt(max(abs(fitted(fit) / unit - curve)), if (noise < 0.1) 1e-6 else 2 * noise)
    }
    for (unit in c(5e-324, 1e-160, 1e-155, 3e-150)) {
      expect_gps_error(gp_fit(x, unit * curve, kernel),
                       "too small: the variances of a kernel that fits them", class = "numeric")
    }
    expect_gps_error(gp_fit(x, 1e145 * curve, kernel), "too large: the var", class = "numeric")
  }
  expect_gps_error(gp_fit(1e-160 * x, shape, kernels[[1]]),
                   "too small: `x` varies by 6e-160, whose square vanishes", class = "numeric")
  expect_gps_error(gp_fit(cbind(x, 1e-320 * x), shape, kernels[[1]]),
                   "column 2 of `x` varies by", class = "numeric")
  expect_true(is.finite(suppressWarnings(gp_fit(rep(1e-200, 12), shape, kernels[[1]]))$lml))
})

test_that("what is fixed stays, what is bounded keeps to its bounds, by every method", {
  data <- search_data(40)
  kernel <- kernel_rbf(1, c(1, 0.3), ard = TRUE) + kernel_bias() + kernel_white(0.02)
  for (method in names(every_method)) {
    fit <- fit_by(method, data$x, data$targets, kernel, fixed = c("log_len", "log_var_white"))
    expect_identical(coef(fit)[c("log_len_1", "log_len_2", "log_var_white")],
                     coef(kernel)[c("log_len_1", "log_len_2", "log_var_white")])
    expect_false(coef(fit)[["log_var_rbf"]] == 0)
    expect_identical(fit$fixed, c("log_len_1", "log_len_2", "log_var_white"))
    expect_identical(attr(logLik(fit), "df"), 2L)
    expect_printed(fit, "Fixed: log_len_1, log_len_2, log_var_white", fixed = TRUE)
    fit <- fit_by(method, data$x, data$targets, kernel, lower = c(log_var_white = log(0.1)),
                  upper = c(log_len_2 = log(0.2), log_var_rbf = 0))
    expect_gte(coef(fit)[["log_var_white"]], log(0.1))
    expect_lte(coef(fit)[["log_len_2"]], log(0.2))
    expect_identical(fit$limits[c("log_len_2", "log_var_white")],
                     c(log_len_2 = "upper", log_var_white = "lower"))
    expect_identical(attr(logLik(fit), "df"), 5L)
  }
  all <- gp_fit(data$x, data$targets, kernel, fixed = names(coef(kernel)))
  expect_identical(coef(all), coef(kernel))
  expect_identical(attr(logLik(all), "df"), 0L)
})

test_that("equal limits hold a parameter, and limits may lie beyond the data's box", {
  data <- search_data(30)
  kernel <- kernel_rbf() + kernel_white()
  held <- c(log_len = log(2))
  fit <- gp_fit(data$x, data$targets, kernel, lower = held, upper = held)
  expect_identical(fit$fixed, "log_len")
  expect_identical(coef(fit)[["log_len"]], log(2))
  expect_gt(coef(gp_fit(data$x, data$targets, kernel, lower = c(log_len = 30)))[["log_len"]], 29)
})

test_that("wrong names and numbers of what is fixed or bounded are told", {
  fit <- function(...) gp_fit(1:6, c(1, 3, 2, 4, 6, 5), kernel_rbf() + kernel_white(), ...)
  expect_snapshot(error = TRUE, {
    fit(fixed = "log_lne")
    fit(fixed = 2)
    fit(lower = c(a = 1))
    fit(lower = 1)
    fit(upper = c(log_len = NA))
    fit(upper = c(log_len = 1), lower = c(log_len = 2))
    fit(upper = c(log_len = 1), fixed = "log_len")
    fit(n_starts = 0)
    fit(optimise = FALSE, fixed = "log_len")
  })
  twice <- kernel_rbf(ard = TRUE) + kernel_rbf() + kernel_white()
  expect_gps_error(gp_fit(matrix(1:12 / 3, 6), 1:6, twice, fixed = "log_len_2"),
                   "which two parameters of this kernel are called")
})

test_that("a search that ends at a limit says so, and warns where more was to be had", {
  x <- seq(0, 5, length.out = 40)
  fit <- gp_fit(x, sin(x), kernel_rbf() + kernel_white(0.01))
  expect_identical(fit$limits, c(log_var_white = "lower"))
  expect_printed(fit, "search (argument `lower`), so no maximum: log_var_white",
                 fixed = TRUE)
  # A line is a small part of an ever larger and slower signal.
  x <- seq(0, 5, length.out = 60)
  set.seed(1)
  line <- (x - 2) / 3 + rnorm(60, sd = 1e-4)
  expect_warning(
    expect_warning(fit <- gp_fit(x, line, kernel_rbf() + kernel_white()),
                   "upper limit of \"log_var_rbf\"", class = "gps_warning"),
    "nearly singular", class = "gps_warning"
  )
  expect_identical(fit$limits[["log_var_rbf"]], "upper")
  # The user's own limit is no surprise.
  expect_no_warning(fit <- gp_fit(x, sin(x), kernel_rbf() + kernel_white(0.01),
                                  upper = c(log_len = 0)))
  expect_true("log_len" %in% names(fit$limits))
})

test_that("a column that nothing depends on is said, and costs no likelihood", {
  data <- search_data()
  x <- cbind(a = data$x[, 1], b = data$x[, 2], idle = 100 * rnorm(60), flat = 3)
  expect_warning(fit <- gp_fit(x, data$targets, kernel_rbf(ard = TRUE) + kernel_white()),
                 "constant in column 4", class = "gps_warning_constant")
  without <- gp_fit(x[, 1:2], data$targets, kernel_rbf(ard = TRUE) + kernel_white())
  expect_gt(fit$lml, without$lml - 0.01)
  expect_printed(fit, "nothing depends on: .*flat")
  expect_printed(gp_fit(x[, c(1, 3)], sin(x[, 1]), kernel_rbf(ard = TRUE) + kernel_white()),
                 "nothing depends on: idle", fixed = TRUE)
  expect_printed(without, "white: variance [0-9.e-]+\nLog")
})

test_that("groups of points far apart, and a point far out, do not hide the scale of a curve", {
  set.seed(3)
  near <- c(sort(runif(50, 0, 300)), 3e7 + sort(runif(50, 0, 300)))
  targets <- sin(near / 10) + rnorm(100, sd = 0.1)
  fit <- gp_fit(near, targets, kernel_rbf() + kernel_white())
  expect_lt(exp(coef(fit)[["log_var_white"]]), 0.02)
  for (far in c(1e6, 99999999, 1e9)) {
    fit <- gp_fit(c(near, far), c(targets, 0.5), kernel_rbf() + kernel_white())
    expect_lt(exp(coef(fit)[["log_var_white"]]), 0.02)
  }
})

test_that("evaluations are capped over all starts, and one start is the kernel's own", {
  data <- search_data(30)
  kernel <- kernel_rbf() + kernel_white()
  for (method in names(every_method)) {
    for (cap in if (method == "exact" || is_full()) c(1, 2, 10, 47, 60) else c(2, 10, 47)) {
      fit <- fit_by(method, data$x, data$targets, kernel, max_evals = cap)
      expect_lte(nrow(fit$trace), cap, label = paste(method, cap))
      expect_identical(fit$trace$start[1], 1L)
      if (cap < 47) expect_identical(unique(fit$trace$start), 1L)
    }
    one <- fit_by(method, data$x, data$targets, kernel, n_starts = 1)
    expect_identical(unique(one$trace$start), 1L)
  }
})

test_that("what a search leaves in a fit is looked at before it is shown or counted", {
  fit <- gp_fit(1:8, c(1, 3, 2, 4, 6, 5, 7, 8), kernel_rbf() + kernel_white())
  for (bad in list(list(fixed = 1), list(fixed = "a"), list(limits = c(a = "upper")),
                   list(limits = c(log_len = "left")), list(limits = list("upper")),
                   list(converged = "yes"))) {
    damaged <- fit
    damaged[names(bad)] <- bad
    for (method in list(print, summary, logLik)) {
      expect_gps_error(print(method(damaged)), "is damaged: ")
    }
  }
  old <- fit
  old[c("fixed", "limits")] <- NULL
  expect_identical(attr(logLik(old), "df"), 3L)
})

test_that("columns in groups far apart are learned as within a group, with a lengthscale each", {
  data <- search_data(80)
  group <- rep(c(0, 1), length.out = 80)
  gaps <- list(years = cbind(3e7 * group, 0), both = cbind(2^27 * group, -1e9 * rev(group)),
               unit = cbind(1e3 * group, 0))
  for (kernel in list(kernel_rbf(ard = TRUE) + kernel_white(),
                      kernel_matern(ard = TRUE) + kernel_bias() + kernel_white())) {
    for (name in names(gaps)) {
      fit <- gp_fit(data$x + gaps[[name]], data$targets, kernel)
      expect_lt(exp(coef(fit)[["log_var_white"]]), 0.1, label = name)
      expect_lt(exp(coef(fit)[[2]]), 100, label = name)
    }
    scaled <- gp_fit(sweep(data$x + gaps$unit, 2, 2^c(-20, 20), "*"), data$targets, kernel)
    expect_equal(scaled$lml, fit$lml, tolerance = 1e-10)
  }
  y <- rbind(data$x[, 1], 3e7 * group, data$x[, 1] + 3e7 * group, round(data$x[, 1]), 1)
  expect_identical(group_shares(y, rep(5, 5)) < 1, rep(FALSE, 5))
  expect_identical(group_shares(y, rep(3e7, 5)) < 1, c(TRUE, FALSE, TRUE, FALSE, FALSE))
})

test_that("a search goes the same way whatever the unit of the targets", {
  data <- search_data(40)
  kernels <- list(kernel_composition(), kernel_rbf() + kernel_white(),
                  kernel_matern(ard = TRUE) * kernel_linear() + kernel_white())
  methods <- c(every_method, list(neighbours = list(method = "neighbours", rank = 8)))
  fit_unit <- function(method, kernel, unit) {
    arguments <- list(data$x, unit * data$targets, kernel, n_starts = 2, max_evals = 40)
    suppressWarnings(do.call(gp_fit, c(arguments, methods[[method]])), "gps_warning")
  }
  for (method in names(methods)) {
    # The search is the same by every method.
    all <- method == "exact" || is_full()
    for (kernel in kernels[if (all) 1:3 else if (method == "fourier") 1:2 else c(1, 3)]) {
      fit <- fit_unit(method, kernel, 1)
      for (unit in 2^c(-30, if (all) 7)) {
        other <- fit_unit(method, kernel, unit)
        expect_near(other$trace$lml + 40 * log(unit), fit$trace$lml, 1e-9)
        expect_near(predict(other)$mean / unit, predict(fit)$mean, 1e-9)
      }
    }
  }
})

test_that("a length on which nothing depends stays the kernel's own", {
  fit <- gp_fit(1, 2, kernel_rbf(1, 3) + kernel_white(0.1))
  expect_identical(coef(fit)[["log_len"]], log(3))
  fit <- suppressWarnings(gp_fit(c(1, 1), c(2, 3), kernel_periodic(period = 5) + kernel_white(0.1)),
                          classes = "gps_warning_constant")
  expect_identical(coef(fit)[["log_period"]], log(5))
})

test_that("a search that climbs to a multiple of the period goes on from the period", {
  x <- seq(0, 10, length.out = 60)
  kernel <- kernel_periodic() + kernel_rbf() + kernel_white(0.01)
  period <- vapply(1:4, function(seed) {
    set.seed(seed)
    y <- sin(2 * pi * x / 1.5) + 0.1 * x^2 + rnorm(60, sd = 0.1)
    exp(coef(gp_fit(x, y, kernel))[["log_period"]])
  }, 0)
  # Of these four three had 3.
  expect_gte(sum(abs(period / 1.5 - 1) < 0.02), 3)
})

test_that("parts of a period keep the slope of the curve, and what is fixed stays", {
  kernel <- kernel_periodic(period = 6, lengthscale = 0.5) * kernel_periodic(period = 4) +
    kernel_white(0.1)
  theta <- kernel_theta(kernel, 1)
  box <- list(lower = theta - 10, upper = theta + 10)
  scales <- list(spread2 = 1)
  parts <- period_parts(kernel, theta, scales, box)
  expect_length(parts, 4)
  changed <- function(names, by) replace(theta, names, theta[names] + by * log(3))
  expect_equal(parts[[2]], changed(c("log_len_per", "log_period"), c(1, -1)))
  expect_equal(parts[[4]], changed(c("log_len_per_2", "log_period_2"), c(1, -1)))
  box$lower["log_period"] <- theta["log_period"]
  expect_identical(period_parts(kernel, theta, scales, box)[[1]][["log_period"]], log(6))
  expect_null(period_parts(kernel, theta, list(spread2 = 0), box))
  expect_null(period_parts(kernel_rbf() + kernel_white(), theta[1:3], scales, box))
})

test_that("a search that has nothing to gain has converged, also where pivots are chosen anew", {
  data <- search_data(80)
  kernel <- kernel_rbf(ard = TRUE) + kernel_white()
  for (method in c("ichol", "neighbours")) {
    fit <- gp_fit(data$x, data$targets, kernel, method, rank = 20)
    expect_true(fit$converged, label = method)
    again <- gp_fit(data$x, data$targets, fit$kernel, method, rank = 20, n_starts = 1)
    expect_lt(nrow(again$trace), 100)
    expect_true(again$converged, label = method)
    capped <- gp_fit(data$x, data$targets, kernel, method, rank = 20, max_evals = 12)
    expect_false(capped$converged, label = method)
    expect_printed(capped, "The search stopped at `max_evals`: [0-9]+ evaluations")
  }
})
