# The learned selector at work: its memory is the kernel's hyper-parameters, what leave-one-out
# needs at these, and the affinities of all points for the next iteration.

# Leave-one-out R^2 below which the targets carry no signal: a refit would take everything for
# noise.
least_signal <- 0.02

# A refit that moves no log hyper-parameter by more than this is not worth a new factorisation.
least_move <- 0.02

#' @export
block_affinity.gps_selector_gp <- function(selector, task, state, block, inputs) {
  affinity <- state$memory$affinity
  if (is.null(affinity)) NULL else block_slots(affinity, block)
}

# Before the first E-step the expectations are random (section 4 of the paper): uniform targets,
# regressed like any.
#' @export
begin_memory.gps_selector_gp <- function(selector, task, state) {
  memory <- state$memory
  if (is.null(memory)) memory <- new_gp_memory(selector, task$y)
  n_latents <- task$model$n_latents
  targets <- with_seed(task$seed, state$start,
                       matrix(stats::runif(n_latents * ncol(task$y)), n_latents))
  regress_targets(selector, task, memory, targets)
}

#' @export
learn_selector.gps_selector_gp <- function(selector, task, state) {
  memory <- state$memory
  if (is.null(memory)) memory <- new_gp_memory(selector, task$y)
  targets <- dense_targets(state, task$model$n_latents)
  memory$refit <- FALSE
  if (is_refit_due(selector, memory, state$iteration)) {
    memory <- refit_memory(selector, task, memory, targets, state)
  }
  memory <- regress_targets(selector, task, memory, targets)
  if (state$iteration + 1 - memory$last_refit >= selector$refit_every) {
    memory$r2 <- gp_loo_r2(targets, memory$affinity)
  }
  memory
}

# Leave-one-out predictions of all targets (equation 5), the affinities of the next iteration.
regress_targets <- function(selector, task, memory, targets) {
  if (is.null(memory$prepared)) {
    memory$prepared <- gp_prepare(selector$kernel, memory$theta, task$y, task$n_threads)
  }
  memory$affinity <- gp_loo_means(memory$prepared, targets, task$n_threads)
  memory
}

# `refits` holds where each refit took the hyper-parameters that began at `began`.
new_gp_memory <- function(selector, y, theta = gp_theta(selector$kernel, y)) {
  list(theta = theta, prepared = NULL, affinity = NULL, r2 = 0, last_refit = -Inf, refit = FALSE,
       began = theta, refits = list())
}

# The way of the log hyper-parameters over EM: one row where they began, one a refit.
trace_kernel <- function(memory) {
  if (is.null(memory$theta)) return(NULL)
  refits <- memory$refits
  first <- list(start = if (length(refits) > 0) refits[[1]]$start else 0L, iteration = 0L,
                theta = memory$began)
  rows <- c(list(first), refits)
  data.frame(start = vapply(rows, `[[`, 1L, "start"),
             iteration = vapply(rows, `[[`, 1L, "iteration"),
             do.call(rbind, lapply(rows, `[[`, "theta")))
}

is_refit_due <- function(selector, memory, iteration) {
  iteration - memory$last_refit >= selector$refit_every && memory$r2 > least_signal
}

# Hyper-parameters by maximum marginal likelihood on sampled rows, from where they are.
refit_memory <- function(selector, task, memory, targets, state) {
  n_points <- ncol(task$y)
  rows <- if (n_points > selector$refit_rows) {
    with_seed(task$seed, 1000 * state$start + state$iteration,
              sort(sample.int(n_points, selector$refit_rows)))
  } else {
    seq_len(n_points)
  }
  refit <- gp_refit(selector$kernel, memory$theta, task$y[, rows, drop = FALSE],
                    targets[, rows, drop = FALSE], selector$refit_evals, task$n_threads)
  memory$last_refit <- state$iteration
  memory$refit <- TRUE
  if (refit$moved > least_move) {
    memory$theta <- refit$theta
    memory$prepared <- NULL
  }
  memory$refits[[length(memory$refits) + 1]] <- list(start = state$start,
                                                     iteration = state$iteration,
                                                     theta = memory$theta)
  memory
}
