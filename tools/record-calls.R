# Records the calls of the routines of src/entries.h that some work makes, to be repeated under
# other conditions.

entry_pattern <- "^ENTRY\\((\\w+), *[0-9]+\\).*$"

# Names of the routines.
read_entries <- function() {
  sub(entry_pattern, "\\1", grep(entry_pattern, readLines("src/entries.h"), value = TRUE))
}

size_of <- function(arguments) as.double(utils::object.size(arguments))

# The smallest different calls of each routine, a list of lists of arguments by name, none of more
# than max_bytes; `work` is what makes them, given a .Call that is recorded.
record_calls <- function(entries, work, n_kept = 3, max_bytes = 2e5) {
  calls <- new.env()
  # Inputs are copied: nobody may change them afterwards.
  remember <- function(name, arguments) {
    if (size_of(arguments) > max_bytes) return(invisible())
    known <- unique(c(calls[[name]], list(unserialize(serialize(arguments, NULL)))))
    sizes <- vapply(known, size_of, 0)
    assign(name, utils::head(known[order(sizes)], n_kept), envir = calls)
  }
  recorded_call <- start_recording(entries, remember)
  work(recorded_call)
  stats::setNames(mget(entries, calls, ifnotfound = list(NULL)), entries)
}

# Where the package's methods are registered: with the generic, be it ours or another package's.
# Generics of packages that are not loaded have no table yet.
method_tables <- function(namespace) {
  generics <- unique(getNamespaceInfo(namespace, "S3methods")[, 1])
  generics <- Filter(Negate(is.null), lapply(generics, get0, envir = namespace, mode = "function"))
  unique(lapply(generics, function(generic) {
    home <- environment(generic)
    home <- if (is.null(home)) baseenv() else topenv(home)
    home[[".__S3MethodsTable__."]]
  }))
}

# Puts a .Call of our own before base's: all functions of the package, registered methods too, look
# through an environment that holds it.
start_recording <- function(entries, remember) {
  namespace <- loadNamespace("gpselect")
  between <- new.env(parent = namespace)
  between$.Call <- function(.NAME, ...) {
    if (is.list(.NAME) && .NAME$name %in% entries) remember(.NAME$name, list(...))
    base::.Call(.NAME, ...)
  }
  scopes <- c(namespace, as.environment("package:gpselect"), method_tables(namespace))
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
  between$.Call
}

run_examples <- function() {
  for (page in list.files("man", "\\.Rd$", full.names = TRUE)) {
    code <- utils::capture.output(tools::Rd2ex(page))
    scope <- new.env(parent = globalenv())
    tryCatch(utils::capture.output(eval(parse(text = code), scope)),
             error = function(e) cat("example of", page, "failed:", conditionMessage(e), "\n"))
  }
}
