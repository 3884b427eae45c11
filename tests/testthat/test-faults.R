# Faults from outside: too little memory.

test_that("too little memory is an R error, and the next small fit works", {
  skip_on_cran()
  # What is refused beforehand, and what runs out of memory where nothing was asked beforehand.
  output <- run_short_of_memory(c(
    "set.seed(1)",
    "fit <- function(n) {",
    "  y <- matrix(rnorm(3 * n), n)",
    "  gps_fit(y, model_binary_sparse(4), selector_gp(kernel_rbf(), 'exact'), 2,",
    "          control = gps_control(max_iter = 2, n_starts = 1, n_threads = 1))",
    "}",
    "small <- fit(50)",
    "refused <- tryCatch(fit(19000), gps_error_memory = conditionMessage)",
    "cat('refused', substr(refused, 1, 80), '\\n')",
    "options(gpselect.check_memory = FALSE)",
    "large <- tryCatch(fit(19000), error = conditionMessage)",
    "cat('large', substr(large, 1, 80), '\\n')",
    "cat('small', is.finite(fit(50)$bound), '\\n')"
  ))
  expect_match(output, "^refused A fit of 19000 data points .*needs at least", all = FALSE)
  expect_match(output, "^large .*cannot allocate", all = FALSE)
  expect_match(output, "^small TRUE", all = FALSE)
})
