# More than memory holds: refused before anything is made where that can be told from numbers, else
# R's own error in the package's class, with what was asked for.

# Refuses what could not be held, before anything is allocated. `args` names the arguments at fault.
check_cells <- function(n_rows, n_cols, args) {
  if (as.double(n_rows) * n_cols > .Machine$integer.max) {
    gps_abort(sprintf("%s ask for %s x %s values; at most %d can be held at once.", args,
                      format(n_rows), format(n_cols), .Machine$integer.max),
              c("memory", "argument"))
  }
}

# Evaluates `code`; where memory ends, an error of class gps_error_memory that says what was asked
# for: a format of sprintf() and its values. Of several, the outermost says it.
with_memory <- function(code, asked, ...) {
  withCallingHandlers(code, error = function(condition) {
    if (isTRUE(condition$is_outgrown)) condition <- condition$parent
    if (inherits(condition, "gps_error") || !is_memory_error(condition)) return()
    gps_abort(sprintf("%s: %s. There is not enough memory for that.", sprintf(asked, ...),
                      conditionMessage(condition)), "memory", parent = condition,
              is_outgrown = TRUE)
  })
}

# R's errors of memory have no class; only their words tell them from others, up to the size.
is_memory_error <- function(condition) {
  if (inherits(condition, "gps_error")) return(inherits(condition, "gps_error_memory"))
  words <- gettext(memory_words, domain = "R")
  any(startsWith(conditionMessage(condition), sub("%.*", "", words)))
}

memory_words <- c(
  "cannot allocate vector of size %0.1f Gb", "cannot allocate vector of size %0.1f Mb",
  "cannot allocate vector of size %0.f Kb", "cannot allocate memory block of size %0.1f Gb",
  "cannot allocate memory block of size %.0f", "cannot allocate vector of length %lld",
  "vector memory limit of %0.1f Gb reached, see mem.maxVSize()",
  "vector memory exhausted (limit reached?)", "memory exhausted (limit reached?)",
  "vector is too large", "vector size specified is too large", "negative length vectors are not",
  "allocMatrix: too many elements specified", "alloc3DArray: too many elements specified",
  "could not allocate memory (%u Mb) in C function 'R_AllocStringBuffer'"
)
