# Calls every routine of src/entries.h while R collects garbage at every allocation: what is not
# protected is gone then. The calls are not written by hand: the examples of the help pages, and the
# test suite where they leave a routine out, are run once while all calls are recorded, and the
# smallest of each routine are repeated. Each must give what it gave without torture.

part <- "gctorture"
n_kept <- 3
max_bytes <- 2e5
entry_pattern <- "^ENTRY\\((\\w+), *[0-9]+\\).*$"
entry_lines <- grep(entry_pattern, readLines("src/entries.h"), value = TRUE)
entries <- sub(entry_pattern, "\\1", entry_lines)

namespace <- loadNamespace("gpselect")
calls <- new.env()

size_of <- function(arguments) as.double(utils::object.size(arguments))

# Keeps the smallest calls of a routine. Inputs are copied: nobody may change them afterwards.
remember <- function(name, arguments) {
  if (size_of(arguments) > max_bytes) return(invisible())
  known <- c(calls[[name]], list(unserialize(serialize(arguments, NULL))))
  sizes <- vapply(known, size_of, 0)
  known <- known[!duplicated(known)]
  sizes <- vapply(known, size_of, 0)
  assign(name, utils::head(known[order(sizes)], n_kept), envir = calls)
}

# Where the package's methods are registered: with the generic, be it ours or another package's.
method_tables <- function() {
  generics <- unique(getNamespaceInfo(namespace, "S3methods")[, 1])
  unique(lapply(generics, function(generic) {
    home <- environment(get(generic, envir = namespace, mode = "function"))
    home <- if (is.null(home)) baseenv() else topenv(home)
    home[[".__S3MethodsTable__."]]
  }))
}

# Puts a .Call of our own before base's: all functions of the package, registered methods too, look
# through an environment that holds it.
start_recording <- function() {
  between <- new.env(parent = namespace)
  between$.Call <- function(.NAME, ...) {
    if (is.list(.NAME) && .NAME$name %in% entries) remember(.NAME$name, list(...))
    base::.Call(.NAME, ...)
  }
  scopes <- c(namespace, as.environment("package:gpselect"), method_tables())
  for (scope in scopes) {
    for (name in ls(scope, all.names = TRUE)) {
      value <- get(name, envir = scope)
      if (is.function(value) && identical(environment(value), namespace)) {
        environment(value) <- between
        if (bindingIsLocked(name, scope)) unlockBinding(name, scope)
        assign(name, value, envir = scope)
      }
    }
  }
}

run_examples <- function() {
  for (page in list.files("man", "\\.Rd$", full.names = TRUE)) {
    code <- utils::capture.output(tools::Rd2ex(page))
    scope <- new.env(parent = globalenv())
    tryCatch(utils::capture.output(eval(parse(text = code), scope)),
             error = function(e) cat("example of", page, "failed:", conditionMessage(e), "\n"))
  }
}

run_suite <- function() {
  testthat::test_dir("tests/testthat", package = "gpselect", load_package = "installed",
                     reporter = "silent", stop_on_failure = FALSE)
}

call_entry <- function(name, arguments) {
  set.seed(1)
  symbol <- get(paste0("C_", name), envir = namespace)
  tryCatch(do.call(base::.Call, c(list(symbol), arguments)), error = conditionMessage)
}

# TRUE if a call gives the same under torture; step 1 unless the call is slow.
survives <- function(name, arguments) {
  before <- call_entry(name, arguments)
  seconds <- system.time(call_entry(name, arguments))[["elapsed"]]
  gctorture2(if (seconds > 0.05) 25L else 1L)
  on.exit(gctorture2(0L))
  during <- call_entry(name, arguments)
  gctorture2(0L)
  identical(before, during)
}

grDevices::pdf(NULL)
suppressPackageStartupMessages(library(gpselect))
start_recording()
run_examples()
if (!all(entries %in% ls(calls))) run_suite()

passed <- 0
failed <- 0
for (name in entries) {
  recorded <- calls[[name]]
  fine <- length(recorded) > 0
  for (arguments in recorded) fine <- survives(name, arguments) && fine
  passed <- passed + fine
  failed <- failed + !fine
  cat(sprintf("%s: %d calls\n", name, length(recorded)))
  if (!fine) {
    is_called <- length(recorded) > 0
    what <- if (is_called) "gives another result" else "is not called by any example or test"
    cat(sprintf("FAIL %s: %s %s\n", part, name, what))
  }
}
if (length(entries) == 0) cat("no routine yet\n")
cat(sprintf("%s: %d passed, %d failed\n", part, passed, failed))
quit(status = if (failed > 0) 1 else 0)
