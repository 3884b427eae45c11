# Selection whose cost grows linearly with the data: what the approximations of the Gaussian process
# cost and what they spoil. Every part stores a table inst/extdata/scaling-PART.csv.gz, from which
# the vignette `scaling` is made.
#
#   make reproduce-scaling, or: Rscript bench/paper/scaling.R [option=value ...]
#
# with OPENBLAS_NUM_THREADS=1 in front. Options:
#
#
#   part=ranking     errors of leave-one-out means, and truly active latents among the best five
#        recovery    bars found and bound, from package defaults and after 50 iterations
#        selected    bound against n_selected
#        size        seconds per point and iteration, and memory, against N, H, D and rank
#        claims      the paper's: refits every T* iterations, incomplete Cholesky
#        batches     minibatches against whole passes
#                    some of them, separated by commas; all by default
#   seeds=1:20       some of the seeds, for ranking, recovery and selected: seed r draws data from
#                    set.seed(100 + r) and fits from set.seed(1000 + r)
#   points=1e6       for size: no more points than these
#   data=1:2         for batches: bars, random components
#   run=...          (internal) one measurement of size, in this process
#
# The first three can share the machine with other work; the last three measure time and want it
# for themselves.

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
engine <- asNamespace("gpselect")
options(width = 200)
source("bench/paper/scaling-accuracy.R")
source("bench/paper/scaling-cost.R")

parts <- list(ranking = measure_ranking, recovery = measure_recovery, selected = measure_selected,
              size = measure_size, claims = measure_claims, batches = measure_batches)

read_options <- function(given) {
  options <- list(part = names(parts), seeds = NULL, points = 1e6, data = 1:2, run = NULL)
  for (argument in strsplit(given, "=", fixed = TRUE)) {
    stopifnot(length(argument) == 2, argument[1] %in% c("part", "seeds", "points", "data", "run"))
    value <- argument[2]
    options[[argument[1]]] <- switch(argument[1],
                                     seeds = , points = , data = eval(str2lang(value)),
                                     strsplit(value, ",", fixed = TRUE)[[1]])
  }
  stopifnot(options$part %in% names(parts))
  options
}

options <- read_options(commandArgs(TRUE))
if (!is.null(options$run)) {
  run_size(options$run)
} else {
  for (part in options$part) {
    cat(sprintf("\n== %s\n", part))
    store_results(parts[[part]](options), paste0("scaling-", part), "inst/extdata",
                  compress = TRUE)
  }
}
