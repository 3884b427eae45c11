library(testthat)
library(gpselect)

# `make test` counts every result, of which R CMD check keeps none.
results <- ListReporter$new()
reporters <- list(CheckReporter$new(), results)
tryCatch(test_check("gpselect", reporter = MultiReporter$new(reporters = reporters)), finally = {
  file <- Sys.getenv("GPSELECT_RESULTS")
  if (nzchar(file)) saveRDS(results$get_results(), file)
})
