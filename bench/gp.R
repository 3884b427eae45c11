# Times of the Gaussian-process engine beside one dgemm of the same size in the same run.
# OPENBLAS_NUM_THREADS=1 Rscript bench/gp.R [n_points] [n_dims] [n_targets] [n_threads]
# On a machine whose processor OpenBLAS takes for an old one, put OPENBLAS_CORETYPE (SkylakeX, Zen,
# ...) in front.

source("bench/common.R")
source("bench/work.R")
engine <- engine_of()
arguments <- commandArgs(TRUE)
argument <- function(i, default) if (length(arguments) >= i) as.integer(arguments[i]) else default
n <- argument(1, 2000L)
n_dims <- argument(2, 25L)
n_targets <- argument(3, 10L)
n_threads <- argument(4, 1L)

set.seed(1)
codes <- gp_codes(engine, bars_like(n, n_dims, n_targets), n_threads)
square <- matrix(stats::rnorm(n * n), n)
options(matprod = "blas")
jobs <- c(list("dgemm" = function() square %*% square), codes)
measured <- t(vapply(jobs, median_time, c(0, 0)))
table <- data.frame(job = names(jobs), n = n, n_dims = n_dims, n_targets = n_targets,
                    threads = n_threads, measured, row.names = NULL)
table$per_dgemm <- table$cpu / table$cpu[1]
cat(sprintf("dgemm: %.1f Gflop/s; the ten steps take %d evaluations\n\n", 2e-9 * n^3 / table$cpu[1],
            attr(codes[["ten optimiser steps"]], "evaluations")))
store_results(table, if (n_threads == 1) "gp" else sprintf("gp-%d-threads", n_threads))
