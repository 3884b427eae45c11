# Expectations of this suite.

# What a thread must have to do in a call, THREAD_WORK of src/r_shell.c: calls with less to do have
# fewer threads than they are given, and tell nothing of what threads change.
thread_work <- 2^19

# An error of class gps_error_<class>, and so of gps_error, whose message has these words.
expect_gps_error <- function(code, words, class = "argument") {
  condition <- thrown_by(code)
  off <- unlike_error(condition, words, paste0("gps_error_", class), fixed = TRUE)
  if (is.null(off)) off <- unlike_error(condition, NULL, "gps_error")
  if (is.null(off)) return(expect_nothing_more(condition))
  fail(off)
  invisible(condition)
}

# testthat takes a trace of the calls of every error that is expected, and labels and compares all
# that is the same as if it were not: most of the time of an expectation. The next ones look first
# whether all is as expected, and ask testthat what to say of the rest. With `regexp` NA no error
# is expected.
expect_error <- function(object, regexp = NULL, class = NULL, ..., info = NULL) {
  if (identical(regexp, NA)) return(testthat::expect_error(object, NA, class, ..., info = info))
  condition <- thrown_by(object)
  off <- unlike_error(condition, regexp, if (is.null(class)) "error" else class, ...)
  if (is.null(off)) return(expect_nothing_more(condition))
  fail(off, info)
  invisible(condition)
}

thrown_by <- function(code) {
  tryCatch({
    force(code)
    NULL
  }, error = identity)
}

# What keeps an error, and those that it is due to, from having this class and these words, or NULL.
unlike_error <- function(condition, words, class, ...) {
  if (is.null(condition)) return("No error was thrown.")
  one <- condition
  while (!is.null(one)) {
    if (inherits(one, class)) {
      if (is.null(words) || grepl(words, conditionMessage(one), ...)) return(NULL)
    }
    one <- one$parent
  }
  sprintf("The error is no %s%s. Its classes: %s. Its message: %s", class,
          if (is.null(words)) "" else sprintf(" that says \"%s\"", words),
          paste(class(condition), collapse = ", "), conditionMessage(condition))
}

expect_identical <- function(object, expected, info = NULL, label = NULL, ...) {
  if (identical(object, expected)) return(expect_nothing_more(object))
  if (is.null(label)) label <- text_of(substitute(object))
  testthat::expect_identical(object, expected, info, label, ...)
}

expect_equal <- function(object, expected, ..., tolerance = testthat_tolerance(), info = NULL,
                         label = text_of(substitute(object))) {
  if (...length() == 0 && is_near_number(object, expected, tolerance)) {
    return(expect_nothing_more(object))
  }
  testthat::expect_equal(object, expected, ..., tolerance = tolerance, info = info, label = label)
}

# Plain numbers within the relative tolerance; where all.equal() finds no difference, testthat does
# not either.
is_near_number <- function(object, expected, tolerance) {
  if (identical(object, expected)) return(TRUE)
  are_plain <- is.numeric(object) && is.numeric(expected) && !is.object(object) &&
    !is.object(expected)
  are_plain && !is.null(tolerance) && isTRUE(all.equal(object, expected, tolerance = tolerance))
}

expect_true <- function(object, info = NULL, label = NULL) {
  if (isTRUE(object)) return(expect_nothing_more(object))
  if (is.null(label)) label <- text_of(substitute(object))
  testthat::expect_true(object, info, label)
}

expect_false <- function(object, info = NULL, label = NULL) {
  if (isFALSE(object)) return(expect_nothing_more(object))
  if (is.null(label)) label <- text_of(substitute(object))
  testthat::expect_false(object, info, label)
}

expect_null <- function(object, info = NULL, label = NULL) {
  if (is.null(object)) return(expect_nothing_more(object))
  if (is.null(label)) label <- text_of(substitute(object))
  testthat::expect_null(object, info, label)
}

# A success as testthat signals it, with a place: testthat looks for one among all calls otherwise.
passed <- structure(list(message = "success", srcref = srcref(srcfile("none"), c(1L, 1L, 1L, 1L))),
                    class = c("expectation_success", "expectation", "condition"))

# The test whose first success was signalled: testthat takes those without any for empty. Others
# are only counted, by all reporters but the one that keeps what was printed: what testthat does
# with a condition takes longer than most of these expectations.
signalled <- new.env()

expect_nothing_more <- function(object) {
  test <- getOption("testthat_topenv")
  reporters <- testthat::get_reporter()$reporters
  if (is.null(test) || is.null(reporters) || !identical(test, signalled$test)) {
    signalled$test <- test
    withRestarts(signalCondition(passed), continue_test = function(e) NULL)
  } else {
    for (reporter in reporters) {
      if (!inherits(reporter, "SnapshotReporter")) reporter$add_result(NULL, NULL, passed)
    }
  }
  invisible(object)
}

expect_compared <- function(holds, testthat_says) {
  function(object, expected, label = text_of(substitute(object))) {
    if (isTRUE(holds(object, expected))) return(expect_nothing_more(object))
    testthat_says(object, expected, label)
  }
}

expect_lt <- expect_compared(`<`, testthat::expect_lt)
expect_lte <- expect_compared(`<=`, testthat::expect_lte)
expect_gt <- expect_compared(`>`, testthat::expect_gt)
expect_gte <- expect_compared(`>=`, testthat::expect_gte)

text_of <- function(expression) paste(deparse(expression), collapse = " ")

# Largest absolute difference at most tolerance, in units of the largest expected number (at
# least 1). Shapes must agree, and so must infinities.
expect_near <- function(object, expected, tolerance) {
  off <- describe_distance(object, expected, tolerance)
  if (is.null(off)) return(expect_nothing_more(object))
  fail(paste(deparse(substitute(object))[1], off))
  invisible(object)
}

# The same of all parts of a list, which must have the names of the expected ones: one expectation.
expect_all_near <- function(objects, expected, tolerance) {
  off <- if (!setequal(names(objects), names(expected))) "the names are not those expected."
  for (name in names(expected)) {
    found <- describe_distance(objects[[name]], expected[[name]], tolerance)
    if (!is.null(found)) off <- c(off, paste(name, found))
  }
  if (is.null(off)) return(expect_nothing_more(objects))
  fail(paste(off, collapse = " "))
  invisible(objects)
}

# What keeps numbers from being as near as that, or NULL.
describe_distance <- function(object, expected, tolerance) {
  if (!identical(dim(object), dim(expected)) || length(object) != length(expected)) {
    return("has another shape than expected.")
  }
  difference <- abs(object - expected)
  difference[which(object == expected)] <- 0
  scale <- max(1, abs(expected[is.finite(expected)]))
  worst <- max(0, difference)
  if (isTRUE(worst <= tolerance * scale)) return(NULL)
  sprintf("is off by %.3g, allowed %.3g.", worst, tolerance * scale)
}

# What print() shows where the console is so wide that no line is broken.
printed <- function(x) {
  old <- options(width = 10000)
  on.exit(options(old))
  utils::capture.output(print(x))
}

expect_printed <- function(x, words, ...) {
  expect_match(paste(printed(x), collapse = "\n"), words, ...)
}

# A frequency of `n` trials within five standard errors of a probability.
expect_frequency <- function(count, n, prob) {
  expect_lte(max(abs(count - n * prob) - 5 * sqrt(n * prob * (1 - prob))), 0)
}

# Bounds never fall by more than 1e-9, relative to their size.
expect_no_fall <- function(bounds) {
  fall <- -diff(bounds) / pmax(1, abs(bounds[-1]))
  expect_lte(max(fall, 0), 1e-9)
}

# R compiles functions that are called often, until the calling test ends: as users have it, and
# tests/testthat.R has not.
local_jit <- function() {
  before <- compiler::enableJIT(3)
  do.call(on.exit, list(bquote(compiler::enableJIT(.(before))), add = TRUE), envir = parent.frame())
}

# The call that attaches the package under test in another process.
package_call <- function() {
  sprintf("library(gpselect, lib.loc = %s)", deparse(dirname(getNamespaceInfo("gpselect", "path"))))
}

# The text of an R script's output when it runs in a process of its own, with this package.
run_script <- function(lines, env = character(), timeout = 60) {
  file <- tempfile(fileext = ".R")
  on.exit(unlink(file))
  writeLines(c(package_call(), lines), file)
  suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", file),
                           stdout = TRUE, stderr = TRUE, env = env, timeout = timeout))
}

# A case of exact numbers.
read_model_oracle <- function(name) {
  skip_if_not_installed("jsonlite")
  jsonlite::fromJSON(test_path("oracle", paste0("model_", name, ".json")))
}

# Control of a short fit without starts and progress.
short_control <- function(...) gps_control(n_starts = 1, progress = FALSE, ...)

# Without the word that the likelihood has no maximum, where that is no matter.
quiet_degenerate <- function(code) suppressWarnings(code, classes = "gps_warning_degenerate")

# print() without its output.
print_quietly <- function(x) {
  utils::capture.output(result <- withVisible(print(x)))
  if (result$visible) result$value else invisible(result$value)
}

# Slow checks are a part of `make test-full` alone, which sets GPS_TEST_FULL; others take fewer
# cases without it.
is_full <- function() identical(Sys.getenv("GPS_TEST_FULL"), "true")

# What another session with this package says that runs these lines with 2.5 GB of address space.
run_short_of_memory <- function(lines) {
  skip_on_os(c("windows", "mac"))
  # The address sanitizer maps terabytes of its own.
  skip_if(grepl("asan", Sys.getenv("LD_PRELOAD"), fixed = TRUE), "memory cannot be limited")
  file <- tempfile(fileext = ".R")
  on.exit(unlink(file))
  writeLines(c(package_call(), lines), file)
  command <- sprintf("ulimit -v 2500000; exec %s --vanilla %s", file.path(R.home("bin"), "Rscript"),
                     file)
  suppressWarnings(system2("bash", c("-c", shQuote(command)), stdout = TRUE, stderr = TRUE,
                           env = "OPENBLAS_NUM_THREADS=1", timeout = 60))
}

skip_unless_full <- function() skip_if_not(is_full(), "a part of `make test-full`")

# Another value in place of one of the package's, a function or a number, until the calling function
# ends.
local_value <- function(name, value, frame = parent.frame()) {
  space <- asNamespace("gpselect")
  old <- get(name, envir = space)
  set <- function(value) {
    unlockBinding(name, space)
    assign(name, value, envir = space)
    lockBinding(name, space)
  }
  set(value)
  do.call(on.exit, list(bquote(.(set)(.(old))), add = TRUE), envir = frame)
}
