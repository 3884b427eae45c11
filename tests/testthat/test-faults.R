# Faults from outside: signals at random moments, too little memory.

test_that("signals at random moments give a fit each time and leave nothing behind", {
  skip_on_cran()
  skip_on_os("windows")
  output <- run_script(c(
    "set.seed(1)",
    "y <- simulate_bars(400, value = 5)$y",
    "fit <- function(max_iter, time_limit) {",
    "  set.seed(2)",
    "  gps_fit(y, model_binary_sparse(10), selector_gp(kernel_rbf()), 5,",
    "          control = gps_control(max_iter = max_iter, tol = 0, n_starts = 3, n_threads = 2,",
    "                                time_limit = time_limit))",
    "}",
    "reference <- fit(3, Inf)",
    # Compiled on the second call, which no signal may meet.
    "invisible(fit(3, Inf))",
    "status <- character()",
    "for (wait in c(0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7)) {",
    "  system(sprintf('(sleep %g; kill -INT %d) &', wait, Sys.getpid()))",
    "  found <- suppressWarnings(fit(1e6, 10))",
    "  stopifnot(inherits(found, 'gps_fit'), is.finite(found$bound))",
    "  status <- c(status, found$status)",
    "}",
    "cat('status', unique(status), '\\n')",
    "cat('same', identical(fit(3, Inf)$params, reference$params), '\\n')",
    "set.seed(2)",
    "runif(2)",
    "seed <- .Random.seed",
    "invisible(fit(3, Inf))",
    "cat('seed', identical(seed, .Random.seed), '\\n')"
  ))
  expect_match(output, "^status interrupted $", all = FALSE)
  expect_match(output, "^same TRUE", all = FALSE)
  expect_match(output, "^seed TRUE", all = FALSE)
})

test_that("an interrupt need not await the end of a long E-step", {
  skip_on_cran()
  skip_on_os("windows")
  # One block of points, which takes longer than the script may.
  output <- run_script(c(
    "set.seed(1)",
    "y <- simulate_bars(512, value = 5)$y",
    "model <- gps_bind(model_binary_sparse(10), y)",
    "selected <- matrix(1:5, 512, 5, byrow = TRUE)",
    "params <- gps_init(model, y)",
    "system(sprintf('(sleep 0.5; kill -INT %d) &', Sys.getpid()))",
    "tryCatch(",
    "  gps_estep(model, params, y, selected, method = 'gibbs', sweeps = c(1e5, 1), n_threads = 1),",
    "  interrupt = function(condition) cat('interrupted\\n')",
    ")"
  ))
  expect_match(output, "^interrupted$", all = FALSE)
})

test_that("too little memory is an R error, and the next small fit works", {
  skip_on_cran()
  skip_on_os(c("windows", "mac"))
  # The address sanitizer maps terabytes of its own.
  skip_if(grepl("asan", Sys.getenv("LD_PRELOAD"), fixed = TRUE), "memory cannot be limited")
  file <- tempfile(fileext = ".R")
  on.exit(unlink(file))
  writeLines(c(
    package_call(),
    "set.seed(1)",
    "fit <- function(n) {",
    "  y <- matrix(rnorm(3 * n), n)",
    "  gps_fit(y, model_binary_sparse(4), selector_gp(kernel_rbf(), 'exact'), 2,",
    "          control = gps_control(max_iter = 2, n_starts = 1, n_threads = 1))",
    "}",
    "small <- fit(50)",
    "large <- tryCatch(fit(19000), error = conditionMessage)",
    "cat('large', substr(large, 1, 80), '\\n')",
    "cat('small', is.finite(fit(50)$bound), '\\n')"
  ), file)
  command <- sprintf("ulimit -v 2500000; exec %s --vanilla %s", file.path(R.home("bin"), "Rscript"),
                     file)
  output <- suppressWarnings(system2("bash", c("-c", shQuote(command)), stdout = TRUE,
                                     stderr = TRUE, env = "OPENBLAS_NUM_THREADS=1", timeout = 60))
  expect_match(output, "^large .*cannot allocate", all = FALSE)
  expect_match(output, "^small TRUE", all = FALSE)
})
