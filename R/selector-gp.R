# The learned selector at work: its memory is the kernel's hyper-parameters, what leave-one-out
# needs at these, and the affinities of all points for the next iteration.

# Leave-one-out R^2 below which the targets carry no signal: a refit would take everything for
# noise.
least_signal <- 0.02

# A refit that moves no log hyper-parameter by more than this is not worth a new factorisation.
least_move <- 0.02

# More numbers than this are not kept as affinities of all points (64 MB): the targets are held in
# slots instead, and a block's affinities made when they are asked for.
max_kept_affinities <- 2^23

# Whether a task's targets are regressed in slots. Features need no kernel matrix, and so stay dense
# where the model leaves the choice.
has_sparse_targets <- function(selector, task) {
  if (!is.null(task$model$grid)) return(TRUE)
  if (selector$method == "divide") return(FALSE)
  n_points <- n_points(task$y)
  as.double(task$model$n_latents) * n_points > max_kept_affinities &&
    !uses_features(selector$kernel, n_dims(task$y), n_points)
}

# Pixels over which predictions are smoothed: the selector's, else the model's default.
smooth_of <- function(selector, model) {
  smooth <- if (is.null(selector$smooth)) model$defaults$smooth else selector$smooth
  if (is.null(smooth) || is.null(model$grid)) 0 else smooth
}

task_layout <- function(selector, task) {
  spread_layout(task$model, smooth_of(selector, task$model))
}

check_smooth <- function(selector, model) {
  if (isTRUE(selector$smooth > 0) && is.null(model$grid)) {
    gps_abort(sprintf(
      paste("`smooth` = %g needs latents on a grid; those of the model %s have no neighbours:",
            "leave it NULL."),
      selector$smooth, dQuote(model$name, FALSE)
    ))
  }
  invisible(selector)
}

#' @export
block_affinity.gps_selector_gp <- function(selector, task, state, block, inputs) {
  memory <- state$memory
  if (!is.null(memory$affinity)) return(block_slots(memory$affinity, block))
  layout <- task_layout(selector, task)
  if (!is.null(memory$grown)) {
    newdata <- in_units(block_data(task$y, block), memory$units)
    return(gp_sparse_predict(memory$grown, newdata, layout, task$n_threads))
  }
  if (is.null(memory$targets)) return(NULL)
  points <- block_columns(block)
  if (!is.null(memory$points)) points <- memory$points[points]
  gp_sparse_loo(memory$prepared, memory$targets, points, layout, task$n_threads)
}

# Before the first E-step the expectations are what the initialisation labelled, else random
# (section 4 of the paper): uniform targets, regressed like any.
#' @export
begin_memory.gps_selector_gp <- function(selector, task, state) {
  memory <- state$memory
  if (is.null(memory)) memory <- begin_kernel(selector, task)
  is_sparse <- has_sparse_targets(selector, task)
  if (!is.null(state$selected)) {
    targets <- state_targets(task, state, is_sparse)
  } else {
    targets <- if (is_sparse) random_targets(task, state) else random_values(task, state)
  }
  regress_targets(selector, task, memory, targets)
}

# The first expectations of an uninformed start: uniform values, of all latents, or in slots of
# random ones.
random_values <- function(task, state) {
  n_latents <- task$model$n_latents
  with_seed(task$seed, state$start, {
    uniform_matrix(n_latents, n_points(task$y))
  })
}

random_targets <- function(task, state) {
  size <- c(task$n_selected, n_points(task$y))
  with_seed(task$seed, state$start, {
    values <- matrix(stats::runif(prod(size)), size[1])
    list(selected = random_slots(size, task$model$n_latents), prob_on = values)
  })
}

# Slots x points of latents drawn at random; one that a point has already got leaves its slot empty.
random_slots <- function(size, n_latents) {
  drawn <- array(sample.int(n_latents, prod(size), replace = TRUE), size)
  drawn[duplicated(data.frame(c(drawn), c(col(drawn))))] <- 0L
  drawn
}

# The expectations as they are regressed: in slots, or n_latents x points.
state_targets <- function(task, state, is_sparse) {
  if (is_sparse) slot_targets(state) else dense_targets(state, task$model$n_latents)
}

#' @export
learn_selector.gps_selector_gp <- function(selector, task, state) {
  memory <- state$memory
  if (is.null(memory)) memory <- begin_kernel(selector, task)
  targets <- state_targets(task, state, has_sparse_targets(selector, task))
  memory <- learn_memory(selector, task, memory, targets, state, function(memory) {
    regress_targets(selector, task, memory, targets)
  })
  if (state$iteration + 1 - memory$last_refit >= selector$refit_every) {
    memory$r2 <- memory_r2(selector, task, memory, targets)
  }
  memory
}

# Leave-one-out predictions of all targets (equation 5), the affinities of the next iteration; or
# what they are made of.
regress_targets <- function(selector, task, memory, targets) {
  check_smooth(selector, task$model)
  is_sparse <- is.list(targets)
  if (is.null(memory$prepared)) {
    memory$prepared <- prepare_gp(selector, task$model, memory$theta,
                                  in_units(task$y, memory$units), task$n_threads)
  }
  memory$grown <- NULL
  if (is_sparse) {
    memory["affinity"] <- list(NULL)
    memory$targets <- targets
  } else {
    memory$targets <- NULL
    memory$affinity <- gp_loo_means(memory$prepared, targets, task$n_threads)
  }
  memory
}

# What regression at fixed hyper-parameters needs, whatever the targets.
prepare_gp <- function(selector, model, theta, y, n_threads) UseMethod("prepare_gp")

#' @export
prepare_gp.gps_selector_gp <- function(selector, model, theta, y, n_threads) {
  if (selector$method != "exact") return(gp_sparse_approximate(selector, theta, y, n_threads))
  prepare <- if (has_sparse_targets(selector, list(y = y, model = model))) {
    gp_sparse_prepare
  } else {
    gp_prepare
  }
  prepare(selector$kernel, theta, y, n_threads)
}

memory_r2 <- function(selector, task, memory, targets) {
  if (!is.list(targets)) return(gp_loo_r2(targets, memory$affinity))
  gp_sparse_r2(memory$prepared, targets, task_layout(selector, task), task$n_threads)
}

# Whether a memory can rank.
knows_targets <- function(memory) {
  known <- c("affinity", "targets", "grown", "cross")
  !all(vapply(memory[known], is.null, NA))
}

# What a memory has of the data points it was made for.
of_points <- c("prepared", "kept")

# `refits` holds where each refit took the hyper-parameters that began at `began`; they belong to
# the data in these units.
new_gp_memory <- function(theta, units) {
  list(theta = theta, units = units, prepared = NULL, affinity = NULL, r2 = 0, last_refit = -Inf,
       refit = FALSE, began = theta, refits = list())
}

begin_kernel <- function(selector, task) {
  y <- if (is.matrix(task$y)) task$y else rows_data(task$y, sampled_rows(task, basis_rows, -1))
  units <- if (is.null(task$units)) task_units(selector, task) else task$units
  new_gp_memory(start_theta(selector, task$model, y, units), units)
}

# Where the hyper-parameters begin. On a grid the data are images, whose inner products are far
# larger than 1: there the variance of a linear term is in units of their mean square, or it would
# outweigh all others before anything is learned.
start_theta <- function(selector, model, y, units = NULL) {
  y <- in_units(y, units)
  theta <- gp_theta(kernel_in_units(selector$kernel, units), y)
  square <- mean(colSums(y^2))
  if (is.null(model$grid) || !(square > 0)) return(theta)
  is_linear <- startsWith(names(theta), kernel_types$linear$variance)
  theta[is_linear] <- theta[is_linear] - log(square)
  theta
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

# In minibatches iterations are updates, and a refit begins the regression anew: each comes after
# twice as many as the last.
is_gap_over <- function(selector, memory, iteration, is_batch) {
  gap <- selector$refit_every * if (is_batch) 2^length(memory$refits) else 1
  iteration - memory$last_refit >= gap
}

# One batch is too little to refit by: see refit_batches().
may_refit <- function(task) is.null(task$batch_scale) || isTRUE(task$may_refit)

is_refit_due <- function(selector, task, memory, iteration) {
  may_refit(task) && memory$r2 > least_signal &&
    is_gap_over(selector, memory, iteration, is_batch = !is.null(task$batch_scale))
}

# The memory after a refit, if one is due, and what `regress` makes of it. Hyper-parameters that
# nothing can be made of at these data are not worth the end of a fit: the old ones stay, and the
# refit is counted as skipped.
learn_memory <- function(selector, task, memory, targets, state, regress) {
  memory[c("refit", "skipped")] <- list(FALSE, 0L)
  if (!is_refit_due(selector, task, memory, state$iteration)) return(regress(memory))
  skipped <- memory
  skipped$last_refit <- state$iteration
  skipped$skipped <- 1L
  tryCatch({
    refit <- refit_memory(selector, task, memory, targets, state)
    regress(refit)
  }, gps_error_numeric = function(condition) regress(skipped))
}

# Hyper-parameters by maximum marginal likelihood on sampled rows, from where they are. Smoothing
# predictions is regressing smoothed targets, so these are what the kernel has to suit; latents that
# are off in all rows count as outputs that are 0.
refit_memory <- function(selector, task, memory, targets, state) {
  rows <- sampled_rows(task, selector$refit_rows, 1000 * state$start + state$iteration)
  targets <- if (is.list(targets)) {
    used_targets(targets, rows, task_layout(selector, task), task$n_threads)
  } else {
    targets[, rows, drop = FALSE]
  }
  y <- in_units(rows_data(task$y, rows), memory$units)
  refit <- refit_kernel(selector, task, memory, y, targets)
  memory$last_refit <- state$iteration
  memory$refit <- TRUE
  if (refit$moved > least_move || !is.null(refit$basis)) {
    memory$theta <- refit$theta
    memory[c("prepared", "basis")] <- list(NULL, refit$basis)
  }
  memory$refits[[length(memory$refits) + 1]] <- list(start = state$start,
                                                     iteration = state$iteration,
                                                     theta = memory$theta)
  memory
}

# At most `n` rows of a task, ascending, sampled with the stream `number`.
sampled_rows <- function(task, n, number) {
  n_points <- n_points(task$y)
  if (n_points <= n) return(seq_len(n_points))
  with_seed(task$seed, number, sort(sample.int(n_points, n)))
}

# Up to so many rows the exact marginal likelihood is cheap, and suits an approximation better than
# its own.
exact_refit_rows <- 1000L

refit_kernel <- function(selector, task, memory, y, targets) {
  n_targets <- task$model$n_latents
  if (is.null(memory$basis) || (ncol(y) <= exact_refit_rows && !selector$learn_inputs)) {
    return(gp_refit(selector$kernel, memory$theta, y, targets, selector$refit_evals,
                    task$n_threads, n_targets = n_targets))
  }
  basis <- memory$basis
  # The bound of "vfe" counts what the basis leaves by itself.
  if (identical(basis$objective, "vfe")) basis$extra <- 0
  refit <- basis_refit(basis, selector$kernel, memory$theta, y, targets,
                       selector$refit_evals, task$n_threads, n_targets = n_targets,
                       learn_inputs = selector$learn_inputs)
  if (!selector$learn_inputs) refit["basis"] <- list(NULL)
  refit
}
