# Times of each stage of an EM iteration, beside one dgemm of 2000 x 2000 x 2000 with the same
# threads in the same run.
# OPENBLAS_NUM_THREADS=1 Rscript bench/stages.R [n_threads]
# On a machine whose processor OpenBLAS takes for an old one, put OPENBLAS_CORETYPE (SkylakeX, Zen,
# ...) in front.

source("bench/common.R")
source("bench/work.R")
engine <- engine_of()
given <- commandArgs(TRUE)
n_threads <- if (length(given) > 0) as.integer(given[1]) else 1L

# How often a stage is run in one measurement.
times_of <- function(label) {
  if (grepl("sweeps", label)) 5L else if (grepl("bars", label)) 50L else
    if (startsWith(label, "D")) 1L else 2L
}

time_stages <- function(label, work) {
  codes <- stage_codes(engine, work)
  measured <- t(vapply(codes, median_time, c(0, 0), times = times_of(label)))
  share <- work$block$n_points / ncol(work$task$y)
  data.frame(setup = label, stage = names(codes), of_points = c(share, share, share, 1, 1),
             measured, row.names = NULL)
}

set.seed(1)
square <- matrix(stats::rnorm(4e6), 2000)
options(matprod = "blas")
dgemm <- median_time(function() square %*% square)
setups <- stage_setups(engine, n_threads = n_threads)
table <- rbind(
  data.frame(setup = "dgemm 2000", stage = "product", of_points = 1, t(dgemm)),
  do.call(rbind, Map(function(label, setup) time_stages(label, setup()), names(setups), setups))
)
table$per_dgemm <- table$cpu / dgemm[["cpu"]]
table$threads <- n_threads
store_results(table, sprintf("stages-%d-thread%s", n_threads, if (n_threads > 1) "s" else ""))
