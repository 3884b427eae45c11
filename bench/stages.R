# Times of each stage of an EM iteration, beside one dgemm of 2000 x 2000 x 2000 with the same
# threads in the same run.
# OPENBLAS_NUM_THREADS=1 Rscript bench/stages.R [n_threads]
# On a machine whose processor OpenBLAS takes for an old one, put OPENBLAS_CORETYPE (SkylakeX, Zen,
# ...) in front.

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
engine <- asNamespace("gpselect")
given <- commandArgs(TRUE)
n_threads <- if (length(given) > 0) as.integer(given[1]) else 1L

# A fit in the middle of its work: task, state after two iterations, and the inputs of its first
# block.
start_work <- function(y, model, selector, n_selected, max_active = NULL, sweeps = NULL) {
  control <- gps_control(n_starts = 1, n_threads = n_threads, sweeps = sweeps)
  task <- engine$new_task(t(y), model, selector, n_selected, max_active, control)
  state <- engine$em_step(task, engine$begin_state(task, 1))
  state <- engine$em_step(task, state)
  block <- task$blocks[[1]]
  inputs <- engine$block_inputs(task$model, state$params, task$y, block)
  selected <- engine$select_block(task, state, block, inputs)
  list(task = task, state = state, block = block, inputs = inputs, selected = selected,
       chain = engine$block_chain(task, state, block, selected))
}

time_stages <- function(label, work, times) {
  task <- work$task
  estep <- function() {
    engine$run_estep(task$model, work$inputs, task$y, work$block, work$selected, task$states,
                     n_threads, "stats", chain = work$chain)
  }
  stats <- estep()$stats
  codes <- list(
    prepare = function() engine$block_inputs(task$model, work$state$params, task$y, work$block),
    select = function() engine$select_block(task, work$state, work$block, work$inputs),
    estep = estep,
    mstep = function() gps_mstep(task$model, work$state$params, stats),
    "whole iteration" = function() engine$em_step(task, work$state)
  )
  measured <- t(vapply(codes, median_time, c(0, 0), times = times))
  share <- work$block$n_points / ncol(task$y)
  data.frame(setup = label, stage = names(codes), of_points = c(share, share, share, 1, 1),
             measured, row.names = NULL)
}

set.seed(1)
square <- matrix(stats::rnorm(4e6), 2000)
options(matprod = "blas")
dgemm <- median_time(function() square %*% square)
bars <- start_work(simulate_bars(2000)$y, model_binary_sparse(10), selector_handcrafted(), 5)
large <- start_work(simulate_sparse(20000, 256, 100), model_binary_sparse(100),
                    selector_handcrafted(), 8)
slab_bars <- simulate_bars(2000, "spike_slab")$y
slabs <- start_work(slab_bars, model_spike_slab(10), selector_handcrafted(), 5)
correlated <- start_work(slab_bars, model_spike_slab(10, "full"), selector_handcrafted(), 5)
large_y <- simulate_sparse(20000, 256, 100, slabs = TRUE)
large_slabs <- start_work(large_y, model_spike_slab(100), selector_handcrafted(), 8, 4)
large_correlated <- start_work(large_y, model_spike_slab(100, "full"), selector_handcrafted(), 8, 4)
maxima <- start_work(simulate_bars(2000, "max_spike_slab", psi = 0.1)$y, model_max_spike_slab(10),
                     selector_handcrafted(), 5, sweeps = c(2, 3))
clusters <- simulate_clusters(1e5, n_clusters = 20, n_dims = 10)$y
full <- start_work(clusters, model_gaussian_mixture(20), selector_full(), 20)
learned <- start_work(clusters, model_gaussian_mixture(20),
                      selector_gp(kernel_linear() + kernel_bias()), 4)

table <- rbind(
  data.frame(setup = "dgemm 2000", stage = "product", of_points = 1, t(dgemm)),
  time_stages("A: bars N 2000, D 25, H 10, H' 5", bars, 50L),
  time_stages("A: N 20000, D 256, H 100, H' 8", large, 2L),
  time_stages("B: bars N 2000, D 25, H 10, H' 5", slabs, 50L),
  time_stages("B, full: bars N 2000, D 25, H 10, H' 5", correlated, 50L),
  time_stages("B: N 20000, D 256, H 100, H' 8, at most 4 on", large_slabs, 2L),
  time_stages("B, full: N 20000, D 256, H 100, H' 8, at most 4 on", large_correlated, 2L),
  time_stages("C: bars N 2000, D 25, H 10, H' 5, 5 sweeps", maxima, 5L),
  time_stages("D: N 1e5, D 10, C 20, all", full, 1L),
  time_stages("D: N 1e5, D 10, C 20, C' 4 learned (linear)", learned, 1L)
)
table$per_dgemm <- table$cpu / dgemm[["cpu"]]
table$threads <- n_threads
store_results(table, sprintf("stages-%d-thread%s", n_threads, if (n_threads > 1) "s" else ""))
