# Calls every routine of src/entries.h while R collects garbage at every allocation: what is not
# protected is gone then. All calls of the examples of the help pages are recorded, and those of
# work that comes to every routine; the smallest of each are repeated. Each must give what it gave
# without torture.

part <- "gctorture"
n_kept <- 3
max_bytes <- 2e5
source("tools/record-calls.R")
for (file in c("calls", "objects", "routines")) source(sprintf("tools/attack-%s.R", file))
namespace <- loadNamespace("gpselect")
entries <- read_entries()

call_entry <- function(name, arguments) {
  set.seed(1)
  symbol <- get(paste0("C_", name), envir = namespace)
  tryCatch(do.call(base::.Call, c(list(symbol), arguments)), error = conditionMessage)
}

# What is said by results that have parts which nobody has written: room for later calls, what is
# above a diagonal, ends of lines.
said_by <- list(
  gp_share = function(result) result$products[lower.tri(result$products, diag = TRUE)],
  gp_pack = dim
)

said <- function(name, result) {
  if (is.null(said_by[[name]])) result else said_by[[name]](result)
}

# TRUE if a call gives the same under torture; step 1 unless the call is slow.
survives <- function(name, arguments) {
  before <- call_entry(name, arguments)
  seconds <- system.time(call_entry(name, arguments))[["elapsed"]]
  gctorture2(if (seconds > 0.05) 25L else 1L)
  on.exit(gctorture2(0L))
  during <- call_entry(name, arguments)
  gctorture2(0L)
  identical(said(name, before), said(name, during))
}

grDevices::pdf(NULL)
suppressPackageStartupMessages(library(gpselect))
calls <- record_calls(entries, function(call) {
  run_examples()
  work_of_routines(call)
}, n_kept, max_bytes)

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
