# Runs the test suite against the installed package and counts expectations:
#   Rscript tools/run-testthat.R [PART [filter=PATTERN]]
#   Rscript tools/run-testthat.R PART results=FILE   counts what tests/testthat.R has left in FILE
#   Rscript tools/run-testthat.R PART skipped=FILE   runs the tests in which it lacked a package;
#                                                    all without a FILE

arguments <- commandArgs(TRUE)
part <- if (length(arguments) > 0) arguments[1] else "testthat"

# The argument of this name; "" if there is none.
argument <- function(name) {
  pattern <- paste0("^", name, "=")
  c(sub(pattern, "", grep(pattern, arguments, value = TRUE)), "")[1]
}

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

# Names of the files that R can read; testthat would run none of the others either.
readable_files <- function() {
  files <- list.files("tests/testthat", "^test.*\\.[rR]$")
  broken <- vapply(file.path("tests/testthat", files), function(file) {
    tryCatch({
      parse(file, encoding = "UTF-8")
      NA_character_
    }, error = function(e) first_line(conditionMessage(e)))
  }, "")
  for (message in broken[!is.na(broken)]) {
    cat(sprintf("FAIL %s: cannot be read: %s\n", part, message))
  }
  list(names = name_of(files[is.na(broken)]), n_broken = sum(!is.na(broken)))
}

name_of <- function(files) sub("\\.[rR]$", "", sub("^test-?", "", files))

# Tests that were skipped because a package was not there, which is here: names by file.
lacking_tests <- function(results) {
  lacks <- vapply(results, function(test) {
    any(vapply(test$results, function(result) {
      inherits(result, "expectation_skip") && lacks_package(conditionMessage(result))
    }, NA))
  }, NA)
  tests <- results[lacks]
  split(vapply(tests, `[[`, "", "test"), vapply(tests, `[[`, "", "file"))
}

lacks_package <- function(reason) {
  pattern <- "^(Reason: )?[{]?([[:alnum:].]+)[}]? (is not installed|cannot be loaded).*"
  grepl(pattern, reason) && requireNamespace(sub(pattern, "\\2", reason), quietly = TRUE)
}

# A copy of the tests in which these files have only these tests, on the lines where they were.
cut_tests <- function(tests) {
  folder <- tempfile("tests")
  dir.create(folder)
  file.copy(list.files("tests/testthat", full.names = TRUE), folder, recursive = TRUE)
  for (file in names(tests)) {
    code <- parse(file.path(folder, file), keep.source = TRUE, encoding = "UTF-8")
    lines <- readLines(file.path(folder, file), encoding = "UTF-8")
    for (k in seq_along(code)) {
      is_test <- is.call(code[[k]]) && identical(code[[k]][[1]], quote(test_that))
      if (!is_test || !is.character(code[[k]][[2]]) || code[[k]][[2]] %in% tests[[file]]) next
      place <- attr(code, "srcref")[[k]]
      lines[place[1]:place[3]] <- ""
    }
    writeLines(lines, file.path(folder, file), useBytes = TRUE)
  }
  folder
}

# list(results, stopped), the error that ended the run. Without compiling: see tests/testthat.R.
run_files <- function(names, folder = "tests/testthat") {
  if (length(names) == 0) return(list(results = list()))
  quiet_progress <- testthat::ProgressReporter$new(
    show_praise = FALSE, max_failures = Inf, update_interval = Inf
  )
  collector <- testthat::ListReporter$new()
  compiler::enableJIT(0)
  stopped <- tryCatch({
    testthat::test_dir(
      folder, filter = sprintf("^(%s)$", paste(names, collapse = "|")),
      package = "gpselect", load_package = "installed",
      reporter = testthat::MultiReporter$new(reporters = list(quiet_progress, collector)),
      stop_on_failure = FALSE
    )
    NULL
  }, error = identity)
  list(results = collector$get_results(), stopped = stopped)
}

read_results <- function(file) {
  if (file.exists(file)) return(list(results = readRDS(file)))
  list(results = list(), stopped = simpleError("it has left no results"))
}

files <- readable_files()
filter <- argument("filter")
skipped <- argument("skipped")
outcome <- if (nzchar(argument("results"))) {
  read_results(argument("results"))
} else if (file.exists(skipped)) {
  before <- readRDS(skipped)
  lacking <- lacking_tests(before)
  # A file that is skipped as a whole has no results.
  absent <- setdiff(files$names, name_of(vapply(before, `[[`, "", "file")))
  run_files(c(name_of(names(lacking)), absent), cut_tests(lacking))
} else {
  run_files(grep(filter, files$names, value = TRUE))
}
counts <- count_results(outcome$results)
counts["failed"] <- counts["failed"] + files$n_broken
if (!is.null(outcome$stopped)) {
  counts["failed"] <- counts["failed"] + 1
  reason <- first_line(conditionMessage(outcome$stopped))
  cat(sprintf("FAIL %s: the run stopped: %s\n", part, reason))
}
cat(sprintf("%s: %d passed, %d failed, %d skipped, %d warnings\n", part, counts["passed"],
            counts["failed"], counts["skipped"], counts["warnings"]))
quit(status = if (counts["failed"] > 0) 1 else 0)
