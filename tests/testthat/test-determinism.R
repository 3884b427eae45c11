# The same seed gives the same bits: for any number of threads, in any process, in any locale.

# Fits of every kind, most of them at a size where several blocks and threads take part.
determined_fit <- function(kind, n_threads = 2) {
  set.seed(61)
  y <- simulate_bars(2200, size = 3, value = 5)$y
  control <- gps_control(max_iter = 4, n_starts = 2, n_threads = n_threads, progress = FALSE)
  set.seed(62)
  switch(
    kind,
    handcrafted = gps_fit(y, model_binary_sparse(6), selector_handcrafted(), 3, control = control),
    gp = gps_fit(y, model_binary_sparse(6), selector_gp(kernel_linear()), 3, control = control),
    screened = gps_fit(y, model_binary_sparse(6, FALSE),
                       selector_random(), 3, max_active = 2, control = control),
    mixture = gps_fit(y, model_gaussian_mixture(4, "diagonal"), selector_gp(kernel_linear()), 2,
                      control = control),
    sampled = gps_fit(y[1:1100, ] / 2, model_binary_sparse(6), selector_gp(kernel_linear()), 4,
                      control = gps_control(max_iter = 14, n_starts = 2, n_threads = n_threads,
                                            method = "gibbs", progress = FALSE)),
    dense = gps_fit(y[1:150, ], model_binary_sparse(6), selector_gp(), 3, control = control)
  )
}
kinds <- c("handcrafted", "gp", "screened", "mixture", "sampled", "dense")

# All that a fit holds, but its call and the seconds it took.
without_clock <- function(fit) {
  fit$trace$seconds <- NULL
  fit["call"] <- NULL
  fit$control$n_threads <- NULL
  fit
}

# A second fit is one of another number of threads: it differs where a seed does not determine it,
# too.
test_that("the same seed gives the same fit, by any number of threads", {
  for (kind in kinds) {
    expect_identical(without_clock(determined_fit(kind, 1)), without_clock(determined_fit(kind, 2)),
                     label = kind)
  }
})

test_that("another seed gives another fit", {
  set.seed(1)
  y <- simulate_bars(100, size = 3, value = 5)$y
  fit_seed <- function(seed) {
    set.seed(seed)
    gps_fit(y, model_binary_sparse(6), selector_handcrafted(), 3,
            control = short_control(max_iter = 3))$params
  }
  expect_false(identical(fit_seed(1), fit_seed(2)))
})

test_that("a new process, another locale and other print options give the same numbers", {
  skip_on_cran()
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  locales <- system2("locale", "-a", stdout = TRUE, stderr = FALSE)
  turkish <- grep("^tr_TR.utf-?8$", locales, value = TRUE, ignore.case = TRUE)
  script <- c(
    "options(OutDec = ',', digits = 3, scipen = -5)",
    "set.seed(71)",
    "y <- simulate_bars(120, size = 3, value = 5)$y",
    "fit <- gps_fit(y, model_binary_sparse(6), selector_gp(), 3,",
    "               control = gps_control(max_iter = 4, n_starts = 2, n_threads = 2))",
    sprintf("saveRDS(fit[c('params', 'bound', 'selected', 'prob_on', 'kernel_theta')], '%s')", file)
  )
  run_script(script, env = if (length(turkish) > 0) paste0("LC_ALL=", turkish[1]) else character())
  expect_true(file.exists(file))
  set.seed(71)
  y <- simulate_bars(120, size = 3, value = 5)$y
  fit <- gps_fit(y, model_binary_sparse(6), selector_gp(), 3,
                 control = gps_control(max_iter = 4, n_starts = 2, n_threads = 2, progress = FALSE))
  other <- readRDS(file)
  expect_identical(other, unclass(fit)[names(other)])
})

test_that("a fit that was saved goes on in a new process as it does here", {
  skip_on_cran()
  files <- tempfile(c("first", "second"), fileext = ".rds")
  on.exit(unlink(files))
  first <- determined_fit("gp")
  saveRDS(first, files[1])
  run_script(c(
    sprintf("fit <- readRDS('%s')", files[1]),
    "set.seed(5)",
    "fit <- gps_fit(t(fit$y), model_binary_sparse(6), fit$selector, 3, start = fit,",
    "               control = gps_control(max_iter = 2, n_threads = 2, progress = FALSE))",
    sprintf("saveRDS(fit, '%s')", files[2])
  ))
  set.seed(5)
  here <- gps_fit(t(first$y), model_binary_sparse(6), first$selector, 3, start = first,
                  control = gps_control(max_iter = 2, n_threads = 2, progress = FALSE))
  there <- readRDS(files[2])
  expect_identical(without_clock(there)[c("params", "bound", "selected", "prob_on")],
                   without_clock(here)[c("params", "bound", "selected", "prob_on")])
})
