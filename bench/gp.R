# Times of the Gaussian-process engine beside one dgemm of the same size in the same run.
# OPENBLAS_NUM_THREADS=1 Rscript bench/gp.R [n_points] [n_dims] [n_targets] [n_threads]
# On a machine whose processor OpenBLAS takes for an old one, put OPENBLAS_CORETYPE (SkylakeX, Zen,
# ...) in front.

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
engine <- asNamespace("gpselect")
arguments <- commandArgs(TRUE)
argument <- function(i, default) if (length(arguments) >= i) as.integer(arguments[i]) else default
n <- argument(1, 2000L)
n_dims <- argument(2, 25L)
n_targets <- argument(3, 10L)
n_threads <- argument(4, 1L)

bars_like <- function(n, n_dims, n_targets) {
  set.seed(1)
  latents <- matrix(stats::rbinom(n * n_targets, 1, 0.2), n)
  bars <- matrix(stats::rbinom(n_targets * n_dims, 1, 0.2) * 10, n_targets)
  list(
    y = t(latents %*% bars + sqrt(2) * matrix(stats::rnorm(n * n_dims), n)),
    targets = t(pmin(pmax(latents + 0.1 * matrix(stats::rnorm(n * n_targets), n), 0), 1))
  )
}

data <- bars_like(n, n_dims, n_targets)
kernel <- kernel_composition()
theta <- engine$gp_theta(kernel, data$y)
square <- matrix(stats::rnorm(n * n), n)
linear <- kernel_linear() + kernel_bias() + kernel_white()
linear_theta <- engine$gp_theta(linear, data$y)
prepared <- engine$gp_prepare(kernel, theta, data$y, n_threads)
# A step is accepted where the value improves; some take more than one evaluation.
trial <- engine$gp_refit(kernel, theta, data$y, data$targets, 30L, n_threads, gain = 0)
n_steps <- cumsum(c(FALSE, diff(cummax(trial$values)) > 0))
ten_steps <- which(n_steps == 10)[1]

options(matprod = "blas")
jobs <- list(
  "dgemm" = quote(square %*% square),
  "log marginal likelihood and gradient" =
    quote(engine$gp_evaluate(kernel, theta, data$y, data$targets, 0, n_threads)),
  "leave-one-out, from the data" =
    quote(engine$gp_loo_moments(kernel, theta, data$y, data$targets, 0, n_threads)),
  "inverse for many leave-one-outs" = quote(engine$gp_prepare(kernel, theta, data$y, n_threads)),
  "leave-one-out, inverse at hand" = quote(engine$gp_loo_means(prepared, data$targets, n_threads)),
  "ten optimiser steps" = quote(engine$gp_refit(
    kernel, theta, data$y, data$targets, ten_steps, n_threads, gain = 0
  )),
  "refit on 500 rows, 20 evaluations" = quote({
    rows <- seq(1, n, length.out = min(n, 500))
    engine$gp_refit(kernel, theta, data$y[, rows], data$targets[, rows], 20L, n_threads)
  }),
  "linear kernel: leave-one-out" =
    quote(engine$gp_loo_moments(linear, linear_theta, data$y, data$targets))
)
measured <- t(vapply(jobs, function(job) median_time(function() eval(job, globalenv())), c(0, 0)))
table <- data.frame(job = names(jobs), n = n, n_dims = n_dims, n_targets = n_targets,
                    threads = n_threads, measured, row.names = NULL)
table$per_dgemm <- table$cpu / table$cpu[1]
cat(sprintf("dgemm: %.1f Gflop/s; the ten steps take %d evaluations\n\n", 2e-9 * n^3 / table$cpu[1],
            ten_steps))
store_results(table, if (n_threads == 1) "gp" else sprintf("gp-%d-threads", n_threads))
