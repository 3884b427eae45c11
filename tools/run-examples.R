# Runs the examples that ask for a suggested package, with all of them at hand: R CMD check has run
# them without, as all others. Rscript tools/run-examples.R PART.

part <- commandArgs(TRUE)[1]
library(gpselect)

asks <- function(file) any(grepl("requireNamespace(", readLines(file), fixed = TRUE))

# What went wrong, or NULL.
run_example <- function(file) {
  code <- tempfile(fileext = ".R")
  tools::Rd2ex(file, code)
  message <- tryCatch({
    scope <- new.env(parent = globalenv())
    utils::capture.output(source(code, local = scope, echo = FALSE))
    NULL
  }, error = conditionMessage)
  unlink(code)
  message
}

grDevices::pdf(NULL)
files <- Filter(asks, list.files("man", "[.]Rd$", full.names = TRUE))
failures <- lapply(files, run_example)
is_bad <- !vapply(failures, is.null, NA)
for (k in which(is_bad)) cat(sprintf("FAIL %s: %s: %s\n", part, files[k], failures[[k]]))
cat(sprintf("%s: %d passed, %d failed\n", part, sum(!is_bad), sum(is_bad)))
quit(status = if (any(is_bad)) 1 else 0)
