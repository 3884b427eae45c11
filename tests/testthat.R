library(testthat)
library(gpselect)

# `make test` counts every result, of which R CMD check keeps none. Only what went wrong is shown:
# a reporter that follows each of thousands of expectations takes longer than many of them.
# Of those that hold only that they do is kept: each full collection of garbage walks through all.
results <- ListReporter$new()
held <- structure(list(message = "success"),
                  class = c("expectation_success", "expectation", "condition"))
add_any <- results$add_result
unlockBinding("add_result", results)
results$add_result <- function(context, test, result) {
  add_any(context, test, if (inherits(result, "expectation_success")) held else result)
}

# R would compile each function and each loop of the tests, most of which are run a few times only:
# a seventh of all that the tests take. The package is compiled as it is installed; local_jit() is
# for functions of users.
invisible(compiler::enableJIT(0))

show_result <- function(test, result) {
  line <- if (is.null(result$srcref)) "" else paste0(":", result$srcref[1])
  cat(sprintf("-- %s: %s%s: %s\n%s\n", class(result)[1], test$file, line, test$test,
              conditionMessage(result)))
  if (!is.null(result$trace)) print(result$trace)
}

tryCatch(test_check("gpselect", reporter = results), finally = {
  tests <- results$get_results()
  passed <- skipped <- 0
  for (test in tests) {
    for (result in test$results) {
      if (inherits(result, "expectation_success")) {
        passed <- passed + 1
      } else if (inherits(result, "expectation_skip")) {
        skipped <- skipped + 1
      } else {
        show_result(test, result)
      }
    }
  }
  cat(passed, "expectations passed,", skipped, "tests skipped\n")
  file <- Sys.getenv("GPSELECT_RESULTS")
  if (nzchar(file)) saveRDS(tests, file)
})
