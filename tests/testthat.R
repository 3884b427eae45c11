library(testthat)
library(gpselect)

# `make test` counts every result, of which R CMD check keeps none. Only what went wrong is shown:
# a reporter that follows each of thousands of expectations takes longer than many of them.
results <- ListReporter$new()

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
