# Faults from outside: too little memory.

test_that("too little memory is an R error, and the next small fit works", {
  skip_on_cran()
  output <- run_short_of_memory(c(
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
  ))
  expect_match(output, "^large .*cannot allocate", all = FALSE)
  expect_match(output, "^small TRUE", all = FALSE)
})
