# What the benches of the package's inner parts time. It serves 0.1.0 and all later versions, so
# that two of them can be compared: what was called otherwise has its old name here.

# `engine`: the namespace of the version that is measured, with what benches call.
engine_of <- function(lib = Sys.getenv("GPS_LIB")) {
  library(gpselect, lib.loc = if (nzchar(lib)) lib)
  names_of_engines(asNamespace("gpselect"))
}

# What regressions were called before 0.4.0, for versions in which they are verbs of an engine.
names_of_engines <- function(ns) {
  if (exists("gp_refit", ns, inherits = FALSE)) return(ns)
  planned <- function(kernel, theta, y, n_threads = 1L) {
    ns$engine_plan(ns$new_engine("exact"), kernel, theta, y, n_threads)
  }
  by_basis <- function(basis, kernel, theta, y = NULL) {
    engine <- ns$new_engine("inducing")
    engine$basis <- basis
    ns$hold_data(engine, kernel, theta, y, 1L)
  }
  prepare <- function(..., many) ns$engine_prepare(planned(...), list(...)[[2]], many = many)
  old <- list(
    gp_evaluate = function(kernel, theta, y, targets, jitter = 0, n_threads = 1L) {
      ns$engine_evaluate(planned(kernel, theta, y, n_threads), theta, ns$new_goal(targets))
    },
    gp_prepare = function(...) prepare(..., many = TRUE),
    gp_loo_means = function(prepared, targets, ...) ns$engine_loo(prepared, targets)$mean,
    gp_loo_moments = function(kernel, theta, y, targets, jitter = 0, n_threads = 1L) {
      ns$engine_loo(prepare(kernel, theta, y, n_threads, many = FALSE), targets)
    },
    gp_weights = function(kernel, theta, y, targets, n_threads = 1L) {
      ns$engine_train(prepare(kernel, theta, y, n_threads, many = FALSE), targets)
    },
    gp_refit = function(kernel, theta, y, targets, max_evals = 20L, n_threads = 1L, ...) {
      ns$climb_engine(planned(kernel, theta, y, n_threads), theta, targets, max_evals, ...)
    },
    basis_evaluate = function(basis, kernel, theta, y, root, n_targets) {
      ns$engine_evaluate(by_basis(basis, kernel, theta, y), theta,
                         list(root = root, n_targets = n_targets))
    },
    feature_moments = function(view) ns$engine_sums(ns$new_engine("ichol"), view),
    basis_prepare = function(basis, kernel, theta, sums) {
      ns$engine_prepare(by_basis(basis, kernel, theta), theta, sums = sums)
    },
    basis_cross = function(features, scale, targets) ns$cross_targets(targets, features, scale),
    basis_loo = function(prepared, cross, features, scale, residual, targets) {
      view <- list(features = features, scale = scale, residual = residual)
      list(mean = ns$view_means(prepared, cross, view, targets))
    }
  )
  list2env(c(old, as.list(ns, all.names = TRUE)))
}

# A fit in the middle of its work: task, state after two iterations, and the inputs of its first
# block.
start_work <- function(engine, y, model, selector, n_selected, max_active = NULL, sweeps = NULL,
                       n_threads = 1L) {
  control <- gps_control(n_starts = 1, n_threads = n_threads, sweeps = sweeps)
  task <- engine$new_task(t(y), model, selector, n_selected, max_active, control)
  state <- engine$em_step(task, engine$begin_state(task, 1))
  state <- engine$em_step(task, state)
  state$may_rest <- TRUE
  block <- task$blocks[[1]]
  inputs <- engine$block_inputs(task$model, state$params, task$y, block)
  state$view <- engine$block_view(task$selector, task, state, block)
  selected <- engine$select_latents(task, state, block, inputs)
  list(task = task, state = state, block = block, inputs = inputs, selected = selected,
       chain = engine$block_chain(task, state, block, selected))
}

# The stages of an iteration, each a function without arguments.
stage_codes <- function(engine, work) {
  task <- work$task
  estep <- function() {
    engine$run_estep(task$model, work$inputs, task$y, work$block, work$selected, task$states,
                     task$n_threads, "stats", chain = work$chain)
  }
  stats <- estep()$stats
  mstep <- if (is.null(engine$mstep_model)) engine$gps_mstep else engine$mstep_model
  list(
    prepare = function() engine$block_inputs(task$model, work$state$params, task$y, work$block),
    select = function() engine$select_latents(task, work$state, work$block, work$inputs),
    estep = estep,
    mstep = function() mstep(task$model, work$state$params, stats),
    "whole iteration" = function() engine$em_step(task, work$state)
  )
}

# What the stages are timed on, each made when it is called for: `n_large` points of 256 dimensions
# and 100 latents, `n_clusters` points of a mixture of 20.
stage_setups <- function(engine, n_large = 20000, n_clusters = 1e5, n_threads = 1L) {
  start <- function(...) start_work(engine, ..., n_threads = n_threads)
  bars <- function(name, model, ...) {
    start(simulate_bars(2000, name, ...)$y, model, selector_handcrafted(), 5,
          sweeps = if (name == "max_spike_slab") c(2, 3))
  }
  large <- function(model, slabs = TRUE, max_active = 4) {
    start(simulate_sparse(n_large, 256, 100, slabs = slabs), model, selector_handcrafted(), 8,
          max_active)
  }
  clusters <- function(selector, n_selected) {
    start(simulate_clusters(n_clusters, n_clusters = 20, n_dims = 10)$y,
          model_gaussian_mixture(20), selector, n_selected)
  }
  linear <- kernel_linear() + kernel_bias()
  setups <- list(
    "A: bars N 2000, D 25, H 10, H' 5" =
      function() bars("binary_sparse", model_binary_sparse(10)),
    "A: N %g, D 256, H 100, H' 8" = function() large(model_binary_sparse(100), FALSE, NULL),
    "B: bars N 2000, D 25, H 10, H' 5" = function() bars("spike_slab", model_spike_slab(10)),
    "B, full: bars N 2000, D 25, H 10, H' 5" =
      function() bars("spike_slab", model_spike_slab(10, "full")),
    "B: N %g, D 256, H 100, H' 8, at most 4 on" = function() large(model_spike_slab(100)),
    "B, full: N %g, D 256, H 100, H' 8, at most 4 on" =
      function() large(model_spike_slab(100, "full")),
    "C: bars N 2000, D 25, H 10, H' 5, 5 sweeps" =
      function() bars("max_spike_slab", model_max_spike_slab(10), psi = 0.1),
    "D: N %g, D 10, C 20, all" = function() clusters(selector_full(), 20),
    "D: N %g, D 10, C 20, C' 4 learned (linear)" = function() clusters(selector_gp(linear), 4),
    "D: N %g, D 10, C 20, C' 4 learned (ichol)" =
      function() clusters(selector_gp(method = "ichol", rank = 100), 4)
  )
  n <- ifelse(startsWith(names(setups), "D"), n_clusters, n_large)
  named <- grepl("%g", names(setups), fixed = TRUE)
  names(setups)[named] <- sprintf(names(setups)[named], n[named])
  setups
}

# Data like bars of 0.1.0's bench of the Gaussian process, D x n, and soft targets.
bars_like <- function(n, n_dims, n_targets) {
  latents <- matrix(stats::rbinom(n * n_targets, 1, 0.2), n)
  bars <- matrix(stats::rbinom(n_targets * n_dims, 1, 0.2) * 10, n_targets)
  list(
    y = t(latents %*% bars + sqrt(2) * matrix(stats::rnorm(n * n_dims), n)),
    targets = t(pmin(pmax(latents + 0.1 * matrix(stats::rnorm(n * n_targets), n), 0), 1))
  )
}

# The Gaussian process engine's work, each a function without arguments.
gp_codes <- function(engine, data, n_threads = 1L) {
  kernel <- kernel_composition()
  theta <- engine$gp_theta(kernel, data$y)
  linear <- kernel_linear() + kernel_bias() + kernel_white()
  linear_theta <- engine$gp_theta(linear, data$y)
  prepared <- engine$gp_prepare(kernel, theta, data$y, n_threads)
  refit <- function(y, targets, n_evaluations, ...) {
    engine$gp_refit(kernel, theta, y, targets, n_evaluations, n_threads, ...)
  }
  # A step is accepted where the value improves; some take more than one evaluation.
  n_steps <- cumsum(c(FALSE, diff(cummax(refit(data$y, data$targets, 30L, gain = 0)$values)) > 0))
  ten_steps <- which(n_steps == 10)[1]
  n <- ncol(data$y)
  list(
    "log marginal likelihood and gradient" =
      function() engine$gp_evaluate(kernel, theta, data$y, data$targets, 0, n_threads),
    "leave-one-out, from the data" =
      function() engine$gp_loo_moments(kernel, theta, data$y, data$targets, 0, n_threads),
    "inverse for many leave-one-outs" =
      function() engine$gp_prepare(kernel, theta, data$y, n_threads),
    "leave-one-out, inverse at hand" =
      function() engine$gp_loo_means(prepared, data$targets, n_threads),
    "ten optimiser steps" = structure(
      function() refit(data$y, data$targets, ten_steps, gain = 0), evaluations = ten_steps
    ),
    "refit on 500 rows, 20 evaluations" = function() {
      rows <- seq(1, n, length.out = min(n, 500))
      refit(data$y[, rows], data$targets[, rows], 20L)
    },
    "linear kernel: leave-one-out" =
      function() engine$gp_loo_moments(linear, linear_theta, data$y, data$targets)
  )
}
