# The learned selector at work: its memory is the kernel's hyper-parameters, what leave-one-out
# needs at these, and the affinities of all points for the next iteration.

# Leave-one-out R^2 below which the targets carry no signal: a refit would take everything for
# noise.
least_signal <- 0.02

# A refit that moves no log hyper-parameter by more than this is not worth a new factorisation.
least_move <- 0.02

# Pixels over which predictions are smoothed: the selector's, else the model's default.
smooth_of <- function(selector, model) {
  smooth <- if (is.null(selector$smooth)) model$defaults$smooth else selector$smooth
  if (is.null(smooth) || !has_neighbours(model)) 0 else smooth
}

check_smooth <- function(selector, model) {
  if (isTRUE(selector$smooth > 0) && !has_neighbours(model)) {
    gps_abort(sprintf(
      paste("`smooth` = %g needs latents on a grid; those of the model %s have no neighbours:",
            "leave it NULL."),
      selector$smooth, quoted(model$name)
    ))
  }
  invisible(selector)
}

# New data, and all while the regression is one of sampled rows, are predicted.
#' @export
block_affinity.gps_selector_gp <- function(selector, task, state, block, inputs) {
  memory <- state$memory
  if (is.null(memory$prepared) && "unranked" %in% names(state$late)) {
    return(rank_late(task, state, block, inputs))
  }
  trained <- if (is.null(selector$trained)) memory$trained else selector$trained
  if (!is.null(trained)) {
    trained["n_best"] <- list(count_asked(task))
    newdata <- in_units(block_data(task$y, block), trained$units)
    return(engine_predict(trained, newdata)$mean)
  }
  if (isTRUE(selector$by_sums)) return(affinity_by_sums(memory, state$view, block))
  if (ranks_batches(task)) {
    memory$prepared["n_best"] <- list(count_asked(task))
    return(rank_batch(task, state$batches, memory$prepared, block))
  }
  if (!is.null(memory$affinity)) return(block_slots(memory$affinity, block))
  if (is.null(memory$targets)) return(NULL)
  points <- block_columns(block)
  if (!is.null(memory$points)) points <- memory$points[points]
  # Points that keep their slots need no candidates.
  if (isTRUE(task$selector$by_candidates) && !is.null(block$resting)) points[block$resting] <- 0L
  memory$prepared["n_best"] <- list(count_asked(task))
  engine_loo(memory$prepared, memory$targets, points)$mean
}

# Whether what a task ranks is one batch of points whose neighbours lie in all of them.
ranks_batches <- function(task) !is.null(task$batch_scale) && isTRUE(task$selector$by_candidates)

# A memory as all blocks of a pass read it: targets in slots are packed once for them.
open_memory <- function(task, memory) {
  by_candidates <- isTRUE(task$selector$by_candidates)
  if (!by_candidates || is.null(memory$targets) || length(task$blocks) == 1) return(memory)
  memory$targets$rows <- .Call(C_gp_pack, memory$targets)
  memory
}

# Where a time limit left no time to learn, and a look at all latents of all points takes about a
# second at most, the model ranks; else nothing does.
rank_late <- function(task, state, block, inputs) {
  n_points <- max(n_points(task$y), task$n_whole)
  n_products <- as.double(n_points) * task$model$n_latents * n_dims(task$y)
  if (!has_ranking(task$model) || n_products > late_products) return(NULL)
  block_affinity(selector_handcrafted(), task, state, block, inputs)
}

late_products <- 2^30

# How many candidates selection or screening looks at for each point; NULL: all affinities are
# wanted.
count_asked <- function(task) {
  if (!isTRUE(task$selector$by_candidates) || is.null(task$n_selected)) return(NULL)
  max(as.integer(task$n_selected), task_screen(task)$propose)
}

# Before the first E-step the expectations are what the initialisation labelled, else random
# (section 4 of the paper): uniform targets, regressed like any.
#' @export
begin_memory.gps_selector_gp <- function(selector, task, state) {
  memory <- state$memory
  if (is.null(memory)) memory <- begin_kernel(selector, task)
  by_sums <- isTRUE(selector$by_sums)
  is_open <- is.null(state$selected)
  if (is_open && !by_sums && !has_sparse_targets(selector, task)) {
    values <- with_seed(task$seed, state$start, {
      uniform_matrix(task$model$n_latents, n_points(task$y))
    })
    return(regress_targets(selector, task, memory, values))
  }
  if (is_open) state[c("selected", "prob_on")] <- random_targets(task, state)
  if (!by_sums) {
    return(regress_targets(selector, task, memory, state_targets(selector, task, state)))
  }
  state[c("memory", "sums")] <- list(memory, NULL)
  regress_sums(task, state)
}

# The first expectations of an uninformed start in slots: uniform values of random latents.
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

# The expectations as they are regressed: in slots, or n_latents x points, as a memory has had them.
state_targets <- function(selector, task, state) {
  in_slots <- isTRUE(selector$by_sums) || isTRUE(state$memory$in_slots)
  if (in_slots || is.null(state$memory$in_slots) && has_sparse_targets(selector, task)) {
    return(slot_targets(state, task$model, smooth_of(selector, task$model)))
  }
  dense_targets(state, task$model$n_latents)
}

#' @export
learn_selector.gps_selector_gp <- function(selector, task, state) {
  # Where all latents are selected for they cost less, there is nothing to rank.
  if (isTRUE(selector$all)) return(NULL)
  # Neighbours learn of a pass, not of a batch.
  if (ranks_batches(task)) {
    return(replace(state$memory, c("refit", "skipped"), list(FALSE, 0L)))
  }
  if (is.null(state$memory)) state$memory <- begin_kernel(selector, task)
  targets <- state_targets(selector, task, state)
  memory <- learn_memory(selector, task, state$memory, targets, state, function(memory) {
    if (!isTRUE(selector$by_sums)) return(regress_targets(selector, task, memory, targets))
    state$memory <- memory
    regress_sums(task, state)
  })
  if (is_refit_time(selector, task, memory, state$iteration + 1)) {
    memory$r2 <- memory_r2(selector, task, memory, targets)
  }
  memory
}

# Leave-one-out predictions of all targets (equation 5), the affinities of the next iteration; or
# what they are made of.
regress_targets <- function(selector, task, memory, targets) {
  if (is.null(memory$prepared)) {
    memory$prepared <- if (isTRUE(selector$by_candidates)) {
      prepare_near(selector, task, memory, targets)
    } else {
      y <- in_units(task$y, memory$units)
      prepare_engine(selector, task$model, memory$theta, y, task$n_threads)
    }
  }
  memory[c("trained", "affinity", "targets")] <- list(NULL, NULL, NULL)
  memory$in_slots <- !is.matrix(targets)
  if (is.matrix(targets)) {
    memory$affinity <- engine_loo(memory$prepared, targets)$mean
  } else {
    memory$targets <- held_targets(memory$prepared, targets)
  }
  memory
}

# An engine that predicts at new points, in these `units`, from the expectations of a state or a fit
# at the points y; `prepared` for these, if one is.
train_engine <- function(selector, model, theta, y, units, state, n_threads,
                         is_sparse = has_sparse_targets(selector, list(y = y, model = model)),
                         prepared = NULL) {
  if (is.null(prepared)) {
    planned <- plan_selection(selector, model, theta, in_units(y, units), n_threads)
    prepared <- engine_ready(planned, theta, is_sparse)
  }
  targets <- if (is_sparse) {
    slot_targets(state, model, smooth_of(selector, model))
  } else {
    dense_targets(state, model$n_latents)
  }
  engine <- engine_train(prepared, targets)
  engine["units"] <- list(units)
  engine
}

memory_r2 <- function(selector, task, memory, targets) {
  if (isTRUE(selector$by_sums)) return(sums_r2(task, memory))
  if (is.matrix(targets)) return(gp_loo_r2(targets, memory$affinity))
  slots_r2(memory$prepared, targets)
}

# How much of the targets' squares leave-one-out means explain when scaled as is best: their squared
# cosine, on at most `max_points` points. Of outputs that are nearly all 0 the kernel's first
# variances may be far from what the targets ask for, which the unscaled share would take for noise.
slots_r2 <- function(engine, targets, max_points = 128L) {
  points <- spaced_points(ncol(targets$selected), max_points)
  target <- dense_slots(cut_targets(targets, points), engine$n_threads)
  loo <- rank_answer(engine_loo(engine, held_targets(engine, targets), points)$mean,
                     targets$layout$n_latents)
  product <- sum(target * loo)
  if (product <= 0) return(0)
  product^2 / (sum(target^2) * sum(loo^2))
}

# Whether a memory can rank.
knows_targets <- function(memory) {
  known <- c("affinity", "targets", "trained", "cross")
  !all(vapply(memory[known], is.null, NA))
}

# What a memory has of the data points it was made for.
of_points <- c("prepared", "kept", "scaled", "in_slots")

# `refits` holds where each refit took the hyper-parameters that began at `began`; they belong to
# the data in these units. `r2` is NA until it has been measured.
new_gp_memory <- function(theta, units) {
  list(theta = theta, units = units, prepared = NULL, affinity = NULL, r2 = NA_real_,
       last_refit = -Inf, refit = FALSE, began = theta, refits = list())
}

begin_kernel <- function(selector, task) {
  y <- if (is.matrix(task$y)) task$y else rows_data(task$y, sampled_rows(task, basis_rows, -1))
  units <- if (is.null(task$units)) task_units(selector, task) else task$units
  new_gp_memory(start_theta(selector, task$model, y, units), units)
}

# Where the hyper-parameters begin. Inner products of images are far larger than 1: there the
# variance of a linear term is in units of their mean square, or it would
# outweigh all others before anything is learned.
start_theta <- function(selector, model, y, units = NULL) {
  y <- in_units(y, units)
  theta <- gp_theta(kernel_in_units(selector$kernel, units), y)
  square <- mean(colSums(y^2))
  if (!has_images(model) || !(square > 0)) return(theta)
  n_linear <- by_parameter(kernel_slots(selector$kernel, nrow(y)), function(slot) {
    length(linear_held(selector$kernel, slot))
  })
  theta - n_linear * log(square)
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

# In minibatches iterations are updates, and a refit begins the regression anew; and what ranks by
# candidates depends little on the kernel: each comes after twice as many as the last.
is_gap_over <- function(selector, memory, iteration, is_batch) {
  is_rare <- is_batch || isTRUE(selector$by_candidates)
  gap <- selector$refit_every * if (is_rare) 2^length(memory$refits) else 1
  iteration - memory$last_refit >= gap
}

# One batch is too little to refit by: see refit_batches().
may_refit <- function(task) is.null(task$batch_scale) || isTRUE(task$may_refit)

is_refit_time <- function(selector, task, memory, iteration) {
  may_refit(task) &&
    is_gap_over(selector, memory, iteration, is_batch = !is.null(task$batch_scale))
}

# Hyper-parameters that suited what an early iteration expected may explain nothing of what is
# expected later. No signal is seen under them, and so none would ever be refit: such go back to
# where they began, which shows whether there is one.
is_kernel_lost <- function(selector, task, memory, iteration) {
  isTRUE(memory$r2 <= least_signal) && !identical(memory$theta, memory$began) &&
    is_refit_time(selector, task, memory, iteration)
}

begin_kernel_anew <- function(memory, state) {
  memory$theta <- memory$began
  memory[c("prepared", "basis")] <- list(NULL, NULL)
  note_kernel(memory, state)
}

# The trace of hyper-parameters with those of now.
note_kernel <- function(memory, state) {
  memory$refits[[length(memory$refits) + 1]] <- list(start = state$start,
                                                     iteration = state$iteration,
                                                     theta = memory$theta)
  memory
}

# The memory after a refit, if one is due, and what `regress` makes of it. Hyper-parameters that
# nothing can be made of at these data are not worth the end of a fit: the old ones stay, and the
# refit is counted as skipped.
learn_memory <- function(selector, task, memory, targets, state, regress) {
  memory[c("refit", "skipped")] <- list(FALSE, 0L)
  if (!is_refit_time(selector, task, memory, state$iteration)) return(regress(memory))
  if (is_kernel_lost(selector, task, memory, state$iteration)) {
    return(regress(begin_kernel_anew(memory, state)))
  }
  if (!isTRUE(memory$r2 > least_signal)) return(regress(memory))
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
  is_among <- isTRUE(engines[[selector$method]]$among)
  # An engine that holds some points is refitted on rows of these.
  if (is_among && is.null(memory$prepared)) {
    memory$prepared <- prepare_near(selector, task, memory, targets)
  }
  rows <- refit_rows_of(task, memory$prepared, selector$refit_rows,
                        1000 * state$start + state$iteration)
  used <- used_targets(cut_targets(targets, rows), task$n_threads)
  y <- in_units(rows_data(task$y, rows), memory$units)
  memory <- keep_scaled(memory, selector$kernel, y, is_all = length(rows) == n_points(task$y))
  box <- refit_box(selector$kernel, memory, y, used, task$model$n_latents)
  refit <- if (is_among) {
    refit_among(selector, task, memory, list(all = targets, rows = rows, box = box))
  } else {
    refit_kernel(selector, task, memory, y, used, box)
  }
  memory$last_refit <- state$iteration
  memory$refit <- TRUE
  if (refit$moved > least_move || !is.null(refit$basis)) {
    memory$theta <- refit$theta
    prepared <- if (!is.null(refit$prepare)) refit$prepare()
    memory[c("prepared", "basis")] <- list(prepared, refit$basis)
  }
  note_kernel(memory, state)
}

# A memory with the lengthscales that the points of a refit suggest: the points are the same at each
# refit where `is_all`, and then so are these.
keep_scaled <- function(memory, kernel, y, is_all) {
  if (is_all && identical(memory$scaled$y, y)) return(memory)
  memory$scaled <- list(y = if (is_all) y, lengthscale = open_lengthscales(kernel, y))
  memory
}

# What a refit keeps to.
refit_box <- function(kernel, memory, y, used, n_latents) {
  scales <- gp_scales(kernel, y, used, n_latents, lengthscale = memory$scaled$lengthscale)
  box <- gp_bounds(kernel, y, used, narrow_reach, n_latents, scales)
  contain_theta(box, memory$theta)
}

# Up to so many rows the exact marginal likelihood is cheap, and suits an approximation better than
# its own.
exact_refit_rows <- 1000L

refit_kernel <- function(selector, task, memory, y, targets, box) {
  theta <- memory$theta
  kernel <- selector$kernel
  is_exact <- is.null(memory$basis) || (ncol(y) <= exact_refit_rows && !selector$learn_inputs)
  if (is_exact) {
    engine <- engine_plan(new_engine("exact"), kernel, theta, y, task$n_threads)
  } else {
    engine <- selector_engine(selector)
    engine$basis <- memory$basis
    # The bound of "vfe" counts what the basis leaves by itself.
    if (identical(engine$basis$objective, "vfe")) engine$basis$extra <- 0
    engine <- hold_data(engine, kernel, theta, y, task$n_threads)
  }
  refit <- climb_engine(engine, theta, targets, selector$refit_evals, box = box,
                        n_targets = task$model$n_latents)
  if (!is_exact && selector$learn_inputs) refit$basis <- refit$engine$basis
  refit
}
