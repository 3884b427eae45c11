# Faults from outside: too little memory.

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
