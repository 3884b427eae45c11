# Knobs of a fit: defaults, ranges, misspelt and unbuilt ones, threads.

test_that("defaults are those that the interface pins", {
  control <- gps_control()
  expect_s3_class(control, "gps_control")
  pinned <- list(max_iter = 200L, monotone = FALSE,
                 polish = TRUE, method = "auto", sweeps = c(2L, 4L), time_limit = Inf,
                 keep_data = TRUE, trace = TRUE)
  expect_identical(unclass(control)[names(pinned)], pinned)
  # NULL is the model's default, which the fit's control tells.
  for (name in c("n_threads", "tol", "anneal", "hold", "n_starts", "grow")) {
    expect_null(control[[name]])
  }
  expect_identical(control$progress, interactive())
})

test_that("misspelt names are errors with the nearest valid one", {
  expect_gps_error(gps_control(maxiter = 5), "Unknown argument `maxiter`. Did you mean `max_iter`?")
  expect_gps_error(gps_control(threads = 5), "Did you mean `n_threads`?")
  expect_gps_error(gps_control(tolerance = 5), "Unknown argument `tolerance`")
  expect_gps_error(gps_control(monotonic = TRUE), "Did you mean `monotone`?")
  expect_gps_error(gps_control(xyzzyplugh = 5), "Unknown argument `xyzzyplugh`.")
  many <- as.list(seq_along(formals(gps_control)))
  expect_error(do.call(gps_control, many), class = "gps_error_argument")
})

test_that("options that are not built yet are errors", {
  expect_gps_error(gps_control(cluster = 1), "`cluster` is not available yet")
})

test_that("minibatches and their steps are refused where they make no sense", {
  expect_gps_error(gps_control(batch_size = 0), "`batch_size` must be")
  expect_gps_error(gps_control(batch_size = 2.5), "`batch_size` must be")
  for (step in list(0.5, 1.1, NA, "x", c(0.6, 0.7))) {
    expect_gps_error(gps_control(batch_size = 10, step = step), "`step` must be")
  }
  expect_gps_error(gps_control(step = 0.7), "`step` is for minibatches")
  expect_gps_error(gps_control(batch_size = 10, monotone = TRUE), "`monotone` = TRUE excludes")
  expect_s3_class(gps_control(batch_size = 10, step = function(n) 1 / n), "gps_control")
})

test_that("a learned selector's options are refused by name", {
  expect_gps_error(selector_gp(smooth = -1), "`smooth` must be")
  expect_gps_error(selector_gp(method = "ichol", rank = 0), "`rank` must be")
  expect_gps_error(selector_gp(method = "exact", rank = 5), "`rank` means nothing to")
  expect_gps_error(selector_gp(method = "ichol", learn_inputs = TRUE),
                   "`learn_inputs` means nothing to")
  expect_gps_error(selector_gp(method = "ichol", objective = "fitc"),
                   "`objective` means nothing to the method \"ichol\"")
  expect_gps_error(selector_gp(cross = FALSE), "`cross` means nothing to the method \"auto\"")
  expect_gps_error(selector_gp(method = "fourier", rank = 3), "`rank` must be even")
  expect_gps_error(selector_gp(method = "cholesky"), "`method` must be one of")
  expect_gps_error(selector_gp(method = "inducing", objective = "x"), "`objective` must be one of")
})

test_that("values outside their ranges are refused by name", {
  bad <- list(
    max_iter = list(-1, 2.5, NA, "5", c(1, 2), NULL, Inf),
    tol = list(-1, NA, NaN, Inf, "a"),
    anneal = list(0.5, 0, NA, Inf, "a"),
    n_starts = list(0, -1, 1.5, "a"),
    monotone = list(NA, 1, "yes", c(TRUE, FALSE)),
    polish = list(NA, 1), keep_data = list(NA, 0), progress = list("yes"), trace = list(2),
    method = list("gibs", NA, 1), sweeps = list(1, c(1, 2, 3), "2", list(1, 2)),
    n_threads = list(0, -1, 2.5, "a"), time_limit = list(0, -1, NA, "a")
  )
  for (name in names(bad)) {
    for (value in bad[[name]]) {
      expect_gps_error(do.call(gps_control, stats::setNames(list(value), name)),
                       sprintf("`%s` must be", name))
    }
  }
})

test_that("numbers of any kind are taken and stored alike", {
  expect_identical(gps_control(max_iter = 5L), gps_control(max_iter = 5))
  expect_identical(gps_control(max_iter = 0)$max_iter, 0L)
  expect_identical(gps_control(tol = 0L)$tol, 0)
  expect_identical(gps_control(anneal = 4L)$anneal, 4)
  expect_identical(gps_control(time_limit = Inf)$time_limit, Inf)
})

test_that("sweeps are counted", {
  expect_identical(gps_control(sweeps = c(0, 1))$sweeps, 0:1)
  expect_gps_error(gps_control(sweeps = c(-1, 4)), "`sweeps[1]` must be a whole number between 0")
  expect_gps_error(gps_control(sweeps = c(2, 0)), "`sweeps[2]` must be a whole number between 1")
  expect_gps_error(gps_control(sweeps = c(2, 4.5)), "`sweeps[2]` must be a whole number")
  expect_gps_error(gps_control(sweeps = c(NA, 4)), "`sweeps[1]` must be a whole number")
  expect_gps_error(gps_control(method = "gibs"), "Did you mean \"gibbs\"?")
})

test_that("monotone excludes Gibbs sampling", {
  words <- "`monotone` = TRUE excludes Gibbs sampling"
  expect_gps_error(gps_control(monotone = TRUE, method = "gibbs"), words)
  y <- matrix(rnorm(60), 3)
  control <- gps_control(monotone = TRUE)
  expect_gps_error(gps_fit(y, model_binary_sparse(30), selector_full(), control = control), words)
})

test_that("monotone excludes annealing", {
  expect_gps_error(gps_control(monotone = TRUE, anneal = 2), "`monotone` = TRUE excludes `anneal`")
  expect_s3_class(gps_control(monotone = TRUE, anneal = 1), "gps_control")
})

test_that("a control is printed with what is set", {
  expect_printed(gps_control(max_iter = 7), "max_iter +7")
  expect_printed(gps_control(sweeps = c(3, 5)), "sweeps +3, 5")
  expect_identical(withVisible(print_quietly(gps_control()))$visible, FALSE)
})

test_that("only a control is a control", {
  y <- matrix(rnorm(30), 10)
  expect_gps_error(gps_fit(y, model_binary_sparse(3), control = list(max_iter = 5)),
                   "`control` must be made by gps_control()")
  expect_gps_error(gps_fit(y, "binary"), "`model` must be a model, as made by a model_*() function")
  expect_gps_error(gps_fit(y, model_binary_sparse(3), "gp"), "`selector` must be a selector")
})

test_that("threads come from the argument, else the option, and never exceed what is there", {
  available <- .Call(C_max_threads)
  old <- options(gpselect.threads = 1)
  on.exit(options(old))
  expect_identical(resolve_threads(NULL), 1L)
  expect_identical(resolve_threads(2), min(2L, available))
  expect_identical(resolve_threads(10000), available)
  options(gpselect.threads = "many")
  expect_gps_error(resolve_threads(NULL), "`n_threads` must be a whole number")
  options(gpselect.threads = NULL)
  expect_identical(resolve_threads(NULL), available)
})

test_that("R's checks get two threads at most", {
  old <- Sys.getenv("_R_CHECK_LIMIT_CORES_", NA)
  on.exit(if (is.na(old)) {
    Sys.unsetenv("_R_CHECK_LIMIT_CORES_")
  } else {
    Sys.setenv("_R_CHECK_LIMIT_CORES_" = old)
  })
  for (value in c("true", "TRUE", "warn")) {
    Sys.setenv("_R_CHECK_LIMIT_CORES_" = value)
    expect_lte(resolve_threads(10000), 2L)
  }
  Sys.setenv("_R_CHECK_LIMIT_CORES_" = "false")
  expect_identical(resolve_threads(10000), .Call(C_max_threads))
})

test_that("hold and grow have ranges", {
  expect_identical(gps_control(hold = "auto")$hold, "auto")
  expect_identical(gps_control(hold = 3)$hold, 3L)
  expect_identical(gps_control(grow = 300)$grow, 300L)
  for (bad in list(-1, 2.5, "always", NA, c(1, 2))) {
    expect_gps_error(gps_control(hold = bad), "`hold` must be")
  }
  for (bad in list(1, 2.5, "all", NA, c(10, 20))) {
    expect_gps_error(gps_control(grow = bad), "`grow` must be")
  }
})
