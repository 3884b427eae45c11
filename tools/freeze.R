# Numbers of small fixed problems, for work that must not change any (tests/testthat/helper-frozen.R
# has the problems). Run from the top of the package:
#   Rscript tools/freeze.R                      writes the tables in tests/testthat/frozen
#   Rscript tools/freeze.R check                bit for bit on the machine that wrote them, else
#                                               within the tolerance of the test
#   Rscript tools/freeze.R compare=LIB1,LIB2    bit for bit between two libraries
#   Rscript tools/freeze.R save=FILE            keeps the installed package's numbers; `compare=`
#                                               takes such a file (*.rds) in place of a library
# The installed package is that of R_LIBS or build/library.

folder <- file.path("tests", "testthat", "frozen")
for (file in c("helper-frozen.R", "helper-frozen-discrete.R")) {
  source(file.path("tests", "testthat", file))
}
file_of <- function(table) file.path(folder, paste0(table, ".txt"))

collect <- function() {
  suppressPackageStartupMessages(library(gpselect))
  sapply(frozen_tables, frozen_numbers, simplify = FALSE)
}

# Another process, since a session has one version of a package.
collect_from <- function(place) {
  if (grepl("[.]rds$", place)) return(readRDS(place))
  if (!dir.exists(file.path(place, "gpselect"))) stop("No library with gpselect: ", place)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  status <- system2(file.path(R.home("bin"), "Rscript"),
                    c("--no-init-file", "tools/freeze.R", paste0("save=", file)),
                    env = paste0("R_LIBS=", normalizePath(place)))
  if (status != 0) stop("The numbers of ", place, " could not be made.")
  readRDS(file)
}

# What decides how numbers are rounded.
machine <- function() {
  processor <- if (file.exists("/proc/cpuinfo")) {
    grep("^(model name|cpu family|model|flags)\\s*:", readLines("/proc/cpuinfo"), value = TRUE)
  }
  blas <- extSoftVersion()[["BLAS"]]
  digest(list(unique(processor), R.version.string, blas, unname(tools::md5sum(blas)),
              Sys.getenv("OPENBLAS_CORETYPE")))
}

digest <- function(x) {
  file <- tempfile()
  on.exit(unlink(file))
  saveRDS(x, file, compress = FALSE, version = 3)
  unname(tools::md5sum(file))
}

# One for each problem.
digests <- function(numbers) {
  problem <- sub(": .*", "", unlist(lapply(numbers, names)))
  vapply(split(unlist(unname(numbers), recursive = FALSE), problem), digest, "")
}

freeze <- function() {
  numbers <- collect()
  dir.create(folder, showWarnings = FALSE)
  for (table in names(frozen_tolerance)) write_frozen(numbers[[table]], file_of(table))
  found <- c(machine = machine(), digests(numbers))
  writeLines(paste(names(found), found, sep = "\t"), file_of("digests"))
  cat(sprintf("%d problems, %d numbers\n", length(found) - 1L, length(unlist(numbers))))
}

# `far`: how far off each is, of which those that are in the table of digests alone have none.
report <- function(is_off, far, what) {
  for (k in which(is_off)) {
    cat(sprintf("FAIL %s: off by %.3g of the tolerance\n", names(is_off)[k], far[[k]]))
  }
  cat(sprintf("%s: %d passed, %d failed\n", what, sum(!is_off), sum(is_off)))
  quit(status = if (any(is_off)) 1 else 0)
}

check <- function() {
  numbers <- collect()
  lines <- strsplit(readLines(file_of("digests")), "\t", fixed = TRUE)
  then <- stats::setNames(vapply(lines, `[[`, "", 2), vapply(lines, `[[`, "", 1))
  excess <- unlist(lapply(names(frozen_tolerance), function(table) {
    frozen_distance(numbers[[table]], read_frozen(file_of(table))) / frozen_tolerance[[table]]
  }))
  if (then[["machine"]] != machine()) {
    report(excess > 1, excess, "freeze-check, by tolerances (tables of another machine)")
  }
  now <- digests(numbers)
  problems <- setdiff(union(names(then), names(now)), "machine")
  worst <- tapply(excess, sub(": .*", "", names(excess)), max)[problems]
  is_off <- !mapply(identical, now[problems], then[problems])
  # Problems that another machine has added since have no digest of this one.
  is_added <- !problems %in% names(then)
  is_off[is_added] <- worst[is_added] > 1
  report(stats::setNames(is_off, problems), worst, "freeze-check, bit for bit")
}

compare <- function(places) {
  numbers <- lapply(places, function(place) {
    unlist(unname(collect_from(place)), recursive = FALSE)
  })
  names <- union(names(numbers[[1]]), names(numbers[[2]]))
  is_off <- !mapply(identical, numbers[[1]][names], numbers[[2]][names])
  report(stats::setNames(is_off, names), frozen_distance(numbers[[2]], numbers[[1]])[names],
         "freeze-compare, bit for bit")
}

arguments <- commandArgs(TRUE)
if (length(arguments) == 0) {
  freeze()
} else if (arguments[1] == "check") {
  check()
} else if (startsWith(arguments[1], "save=")) {
  saveRDS(collect(), sub("^save=", "", arguments[1]))
} else if (startsWith(arguments[1], "compare=")) {
  compare(strsplit(sub("^compare=", "", arguments[1]), ",", fixed = TRUE)[[1]])
} else {
  stop("Unknown argument: ", arguments[1])
}
