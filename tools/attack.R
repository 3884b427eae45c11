# Attacks the installed package with what no test author thinks of, each item from its own seed:
#   Rscript --no-init-file tools/attack.R [PART [FIRST [LAST]]]
# PART is fits (random fits), junk (odd arguments), objects (altered objects), routines (altered
# arguments of routines in C) or all. Items run in child processes, so that one that ends R, or
# never returns, counts as a failure like others. What fails is printed with the command that
# repeats it alone.

folder <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))))
for (part in c("fits", "data", "junk", "calls", "objects", "routines")) {
  source(file.path(folder, sprintf("attack-%s.R", part)))
}
source(file.path(folder, "record-calls.R"))

# list(count() of items, run(item), which gives NULL or what is wrong) of each part.
parts <- list(fits = list(count = count_fits, run = attack_fit),
              junk = list(count = count_junk, run = attack_argument),
              objects = list(count = count_objects, run = attack_object),
              routines = list(count = count_routines, run = attack_routine))

# Seconds after which an item has hung.
item_limit <- 60

# Items of a child, and kilobytes of memory that it may ask for.
child_items <- 600L
child_memory <- 4000000L

# In the child: each item's number before it begins and what was wrong with it after.
run_items <- function(part, items) {
  suppressPackageStartupMessages(library(gpselect))
  options(warn = 1, gpselect.threads = 1L)
  grDevices::pdf(NULL)
  # Some items write files.
  setwd(tempdir())
  for (item in items) {
    cat("BEGIN", item, "\n")
    wrong <- NULL
    output <- utils::capture.output(wrong <- parts[[part]]$run(item))
    cat("END", item, gsub("[\n\r]+", " / ", paste(wrong, collapse = "; ")), "\n")
  }
  cat("DONE\n")
}

# In the parent: the failures of items first..last, by the child's log.
watch_child <- function(part, first, last) {
  log <- tempfile()
  on.exit(unlink(log))
  script <- file.path(folder, "attack.R")
  repeat {
    to <- min(last, first + child_items - 1L)
    limit <- item_limit + 2 * (to - first + 1)
    command <- sprintf(
      "ulimit -v %d; exec %s --no-init-file %s child %s %d %d", child_memory,
      shQuote(file.path(R.home("bin"), "Rscript")), shQuote(script), part, first, to
    )
    status <- suppressWarnings(system2("sh", c("-c", shQuote(command)), stdout = log, stderr = log,
                                       timeout = limit))
    lines <- iconv(readLines(log, warn = FALSE), "UTF-8", "UTF-8", sub = "byte")
    reached <- report_items(part, lines, status)
    n_failed <<- n_failed + reached$failed
    n_passed <<- n_passed + reached$passed
    first <- reached$item + 1L
    if (first > last) return(invisible())
  }
}

# Prints what failed, and what a child that ended early was at.
report_items <- function(part, lines, status) {
  ends <- grep("^END [0-9]+ ", lines, value = TRUE)
  numbers <- as.integer(sub("^END ([0-9]+) .*", "\\1", ends))
  wrong <- trimws(sub("^END [0-9]+ ", "", ends))
  begun <- as.integer(sub("^BEGIN ([0-9]+) .*", "\\1", grep("^BEGIN ", lines, value = TRUE)))
  is_complete <- any(lines == "DONE")
  if (length(begun) == 0) {
    stop("No child process starts: ", paste(utils::tail(lines, 3), collapse = " "))
  }
  if (!is_complete) {
    numbers <- c(numbers, max(begun))
    wrong <- c(wrong, sprintf("R ended, status %s: %s", status,
                              paste(utils::tail(lines, 4), collapse = " / ")))
  }
  bad <- nzchar(wrong)
  if (any(bad)) {
    cat(sprintf("FAIL attack: %s; repeat: Rscript --no-init-file tools/attack.R %s %d\n",
                substr(wrong[bad], 1, 400), part, numbers[bad]), sep = "")
  }
  list(item = max(begun), failed = sum(bad), passed = sum(!bad))
}

arguments <- commandArgs(trailingOnly = TRUE)
if (identical(arguments[1], "child")) {
  run_items(arguments[2], as.integer(arguments[3]):as.integer(arguments[4]))
} else {
  wanted <- if (length(arguments) == 0 || arguments[1] == "all") names(parts) else arguments[1]
  n_passed <- n_failed <- 0
  for (part in wanted) {
    first <- if (length(arguments) > 1) as.integer(arguments[2]) else 1L
    last <- if (length(arguments) > 2) as.integer(arguments[3]) else
      if (length(arguments) > 1) first else parts[[part]]$count()
    before <- c(n_passed, n_failed)
    if (part == "routines") keep_calls()
    watch_child(part, first, last)
    cat(sprintf("%s: %d sound, %d not\n", part, n_passed - before[1], n_failed - before[2]))
  }
  cat(sprintf("attack: %d passed, %d failed\n", n_passed, n_failed))
  quit(status = as.integer(n_failed > 0))
}
