# What the benches of the package's inner parts time. It serves 0.1.0 and all later versions, so
# that two of them can be compared: an older one has what it lacks from old_verbs().

# `engine`: the namespace of the version that is measured, with what benches call.
engine_of <- function(lib = Sys.getenv("GPS_LIB")) {
  library(gpselect, lib.loc = if (nzchar(lib)) lib)
  ns <- as.list(asNamespace("gpselect"), all.names = TRUE)
  old <- old_verbs(ns)
  list2env(c(ns, old[setdiff(names(old), names(ns))]))
}

# The present verbs for versions before 0.4.0, by what did the same there.
old_verbs <- function(ns) {
  list(
    select_latents = ns$select_block,
    mstep_model = ns$gps_mstep,
    new_engine = function(method) NULL,
    engine_plan = function(plan, kernel, theta, y, n_threads = 1L) {
      list(kernel = kernel, theta = theta, y = y, n_threads = n_threads)
    },
    new_goal = identity,
    engine_evaluate = function(plan, theta, goal) {
      ns$gp_evaluate(plan$kernel, theta, plan$y, goal, 0, plan$n_threads)
    },
    engine_prepare = function(plan, theta, many = FALSE) {
      plan$theta <- theta
      if (many) plan$prepared <- ns$gp_prepare(plan$kernel, theta, plan$y, plan$n_threads)
      plan
    },
    engine_loo = function(plan, targets) {
      if (!is.null(plan$prepared)) {
        return(list(mean = ns$gp_loo_means(plan$prepared, targets, plan$n_threads)))
      }
      ns$gp_loo_moments(plan$kernel, plan$theta, plan$y, targets, 0, plan$n_threads)
    },
    climb_engine = function(plan, theta, targets, max_evals, ...) {
      ns$gp_refit(plan$kernel, theta, plan$y, targets, max_evals, plan$n_threads, ...)
    }
  )
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
  if (!is.null(state$memory$basis)) {
    # Before 0.4.0 it is a generic, whose first argument is the selector.
    is_generic <- "selector" %in% names(formals(engine$block_view))
    state$view <- if (is_generic) {
      engine$block_view(task$selector, task, state, block)
    } else {
      engine$block_view(task, state$memory, block)
    }
  }
  selected <- engine$select_latents(task, state, block, inputs)
  list(task = task, state = state, block = block, inputs = inputs, selected = selected,
       chain = if (task$method == "gibbs") engine$block_chain(task, state, block, selected))
}

# The stages of an iteration, each a function without arguments.
stage_codes <- function(engine, work) {
  task <- work$task
  estep <- function() {
    engine$run_estep(task$model, work$inputs, task$y, work$block, work$selected, task$states,
                     task$n_threads, "stats", chain = work$chain)
  }
  stats <- estep()$stats
  list(
    prepare = function() engine$block_inputs(task$model, work$state$params, task$y, work$block),
    select = function() engine$select_latents(task, work$state, work$block, work$inputs),
    estep = estep,
    mstep = function() engine$mstep_model(task$model, work$state$params, stats),
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
  plan <- function(y = data$y) {
    engine$engine_plan(engine$new_engine("exact"), kernel, theta, y, n_threads)
  }
  invert <- function() engine$engine_prepare(plan(), theta, many = TRUE)
  prepared <- invert()
  refit <- function(y, targets, n_evaluations, ...) {
    engine$climb_engine(plan(y), theta, targets, n_evaluations, ...)
  }
  # A step is accepted where the value improves; some take more than one evaluation.
  n_steps <- cumsum(c(FALSE, diff(cummax(refit(data$y, data$targets, 30L, gain = 0)$values)) > 0))
  ten_steps <- which(n_steps == 10)[1]
  n <- ncol(data$y)
  list(
    "log marginal likelihood and gradient" =
      function() engine$engine_evaluate(plan(), theta, engine$new_goal(data$targets)),
    "leave-one-out, from the data" =
      function() engine$engine_loo(engine$engine_prepare(plan(), theta), data$targets),
    "inverse for many leave-one-outs" = invert,
    "leave-one-out, inverse at hand" = function() engine$engine_loo(prepared, data$targets)$mean,
    "ten optimiser steps" = structure(
      function() refit(data$y, data$targets, ten_steps, gain = 0), evaluations = ten_steps
    ),
    "refit on 500 rows, 20 evaluations" = function() {
      rows <- seq(1, n, length.out = min(n, 500))
      refit(data$y[, rows], data$targets[, rows], 20L)
    },
    "linear kernel: leave-one-out" = function() {
      line <- engine$engine_plan(engine$new_engine("exact"), linear, linear_theta, data$y)
      engine$engine_loo(engine$engine_prepare(line, linear_theta), data$targets)
    }
  )
}
