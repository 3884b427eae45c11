# Runs the test suite against the installed package and counts expectations:
# Rscript tools/run-testthat.R [PART [FILTER]].

arguments <- commandArgs(TRUE)
part <- if (length(arguments) > 0) arguments[1] else "testthat"
filter <- if (length(arguments) > 1) arguments[2] else NULL

first_line <- function(text) strsplit(text, "\n", fixed = TRUE)[[1]][1]

# "file:line: test name: message", with further lines of the message after a slash.
describe_failure <- function(test, expectation) {
  line <- if (is.null(expectation$srcref)) "" else paste0(":", expectation$srcref[1])
  message <- trimws(strsplit(conditionMessage(expectation), "\n", fixed = TRUE)[[1]])
  message <- paste(utils::head(message[nzchar(message)], 3), collapse = " / ")
  name <- if (is.na(test$test)) "outside test_that()" else test$test
  sprintf("FAIL %s: %s%s: %s: %s", part, test$file, line, name, message)
}

count_results <- function(results) {
  counts <- c(passed = 0, failed = 0, skipped = 0, warnings = 0)
  skips <- character()
  for (test in results) {
    for (result in test$results) {
      kind <- class(result)[1]
      if (kind == "expectation_success") {
        counts["passed"] <- counts["passed"] + 1
      } else if (kind == "expectation_skip") {
        counts["skipped"] <- counts["skipped"] + 1
        skips <- c(skips, first_line(conditionMessage(result)))
      } else if (kind == "expectation_warning") {
        counts["warnings"] <- counts["warnings"] + 1
      } else {
        counts["failed"] <- counts["failed"] + 1
        cat(describe_failure(test, result), "\n", sep = "")
      }
    }
  }
  for (reason in unique(skips)) cat("skipped", sum(skips == reason), "x:", reason, "\n")
  counts
}

# Files that R can read; testthat would run none of the others either.
readable_files <- function(pattern) {
  files <- list.files("tests/testthat", "^test.*\\.[rR]$")
  names <- sub("\\.[rR]$", "", sub("^test-?", "", files))
  broken <- vapply(file.path("tests/testthat", files), function(file) {
    tryCatch({
      parse(file, encoding = "UTF-8")
      NA_character_
    }, error = function(e) first_line(conditionMessage(e)))
  }, "")
  for (message in broken[!is.na(broken)]) {
    cat(sprintf("FAIL %s: cannot be read: %s\n", part, message))
  }
  wanted <- names[is.na(broken) & (is.null(pattern) | grepl(c(pattern, "")[1], names))]
  list(names = wanted, n_broken = sum(!is.na(broken)))
}

files <- readable_files(filter)
quiet_progress <- testthat::ProgressReporter$new(
  show_praise = FALSE, max_failures = Inf, update_interval = Inf
)
collector <- testthat::ListReporter$new()
stopped <- tryCatch({
  testthat::test_dir(
    "tests/testthat", filter = sprintf("^(%s)$", paste(files$names, collapse = "|")),
    package = "gpselect", load_package = "installed",
    reporter = testthat::MultiReporter$new(reporters = list(quiet_progress, collector)),
    stop_on_failure = FALSE
  )
  NULL
}, error = identity)
counts <- count_results(collector$get_results())
counts["failed"] <- counts["failed"] + files$n_broken
if (!is.null(stopped)) {
  counts["failed"] <- counts["failed"] + 1
  cat(sprintf("FAIL %s: the run stopped: %s\n", part, first_line(conditionMessage(stopped))))
}
cat(sprintf("%s: %d passed, %d failed, %d skipped, %d warnings\n", part, counts["passed"],
            counts["failed"], counts["skipped"], counts["warnings"]))
quit(status = if (counts["failed"] > 0) 1 else 0)
