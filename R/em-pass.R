# One pass over the data: a map over blocks whose results add up. Everything that touches all points
# is in here.

# Numbers that a block's data, or its array of latents x points, may take: memory of this size (16
# MB) is used again, larger pieces would be fetched from the system for every block.
block_doubles <- 2^21

# Blocks of a power of two times 512 points, so that sums over blocks follow the same tree as the
# sums over 512 points in C (src/blocks.h), whatever the size. `n_doubles`: numbers of each point.
split_blocks <- function(n_points, n_doubles) {
  size <- 512
  while (size < n_points && 2 * size * n_doubles <= block_doubles) size <- 2 * size
  offsets <- seq(0, n_points - 1, by = size)
  lapply(offsets, function(offset) new_block(offset, min(size, n_points - offset)))
}

# The larger of what a point has of data and of affinities.
point_doubles <- function(model) max(model$n_latents, model$n_dims)

# list(selected, prob_on, log_evidence, bound, bound_error, stats, evaluations, ...) of all points
# at the state's parameters; `evaluations` is how many gains of the model screening computed.
pass <- function(task, state, want = "stats") {
  join_parts(map_blocks(task, function(task, block) pass_block(block, task, state, want)))
}

# Prepared first: what the model prepares for the E-step (W'y) also serves the hand-crafted ranking
# and the screening.
pass_block <- function(block, task, state, want) {
  state$view <- block_view(task$selector, task, state, block)
  inputs <- block_inputs(task$model, state$params, task$y, block)
  selected <- select_block(task, state, block, inputs)
  evaluations <- attr(selected, "n_gains")
  attr(selected, "n_gains") <- NULL
  is_choosy <- task$control$monotone || state$is_polishing
  if (is_choosy && !is.null(state$selected) && task$method == "exact") {
    selected <- keep_better(task, state, block, inputs, selected)
  }
  estep <- run_estep(task$model, inputs, task$y, block, selected, task$states, task$n_threads, want,
                     beta = state$beta, iteration = state$iteration,
                     chain = block_chain(task, state, block, selected))
  result <- c(list(selected = selected, evaluations = evaluations), estep)
  result$sums <- block_sums(task, state, state$view, result)
  result
}

# Chains of a block for the E-step. Without values they are new: all is off, and hot sweeps come
# first. Each is compared with other new ones; where chains go on each in turn.
new_chain <- function(sweeps, seed, start, value, selected, is_last = TRUE) {
  is_new <- is.null(value)
  list(sweeps = sweeps, seed = seed, start = start, n_hot = if (is_new) hot_sweeps else 0L,
       n_new = hot_sweeps, period = if (is_last) 1L else compare_every,
       value = if (is_new) array(0, dim(selected)) else value)
}

# Log evidence of a block's points with these slots; where states are sampled, by new chains of one
# start's streams.
slots_evidence <- function(task, state, inputs, y, block, slots, start) {
  chain <- if (task$method == "gibbs") new_chain(task$sweeps, task$seed, start, NULL, slots)
  run_estep(task$model, inputs, y, block, slots, task$states, task$n_threads, character(),
            iteration = state$iteration, chain = chain)$log_evidence
}

# Iterations from one comparison of a chain with new ones to the next, before the last: so these
# cost less than the chains themselves.
compare_every <- 32L

# Fewer leave many chains in poor states where the posterior is sharp.
hot_sweeps <- 20L

# The chains of a block, each where the last iteration left it; NULL where states are summed over.
block_chain <- function(task, state, block, selected) {
  if (task$method == "exact") return(NULL)
  value <- if (!is.null(state$value)) {
    carry_values(block_slots(state$selected, block), block_slots(state$value, block), selected)
  }
  chain <- new_chain(task$sweeps, task$seed, state$start, value, selected,
                     is_last = isTRUE(state$is_last))
  # Fits of before 0.3.0 predict by chains that were compared with none.
  if (isTRUE(task$is_before_rounds)) chain$n_new <- 0L
  chain
}

# Point by point the selection, last iteration's or the new one, that explains the point better: the
# bound cannot fall. Not for sampled states: the larger of two noisy estimates would win, and the
# bound creep up on noise.
keep_better <- function(task, state, block, inputs, selected) {
  last <- block_slots(state$selected, block)
  evidence <- function(slots) {
    run_estep(task$model, inputs, task$y, block, slots, task$states, task$n_threads, character(),
              beta = state$beta)$log_evidence
  }
  better <- evidence(last) > evidence(selected)
  selected[, better] <- last[, better]
  selected
}

join_parts <- function(parts) {
  if (length(parts) == 1) {
    joined <- parts[[1]]
  } else {
    joined <- list(log_evidence = unlist(lapply(parts, `[[`, "log_evidence")),
                   stats = fold_parts(lapply(parts, `[[`, "stats")))
    joined$variance <- unlist(lapply(parts, `[[`, "variance"))
    sums <- lapply(parts, `[[`, "sums")
    if (!is.null(sums[[1]])) joined$sums <- fold_parts(sums)
    for (name in c("selected", "prob_on", "latent", "response", "prob", "value")) {
      joined[[name]] <- do.call(cbind, lapply(parts, `[[`, name))
    }
    draws <- lapply(parts, `[[`, "draws")
    if (!is.null(draws[[1]])) {
      joined$draws <- array(unlist(draws), c(dim(draws[[1]])[1:2], ncol(joined$prob_on)))
    }
  }
  joined$evaluations <- sum(0, unlist(lapply(parts, `[[`, "evaluations")))
  joined$bound <- sum(joined$log_evidence)
  joined$bound_error <- sqrt(sum(joined$variance))
  joined
}

# Sum of statistics over blocks by the tree of src/blocks.h: equal sizes pair up, the rest is added
# from the right.
fold_parts <- function(parts) {
  add <- function(left, right) Map(`+`, left, right)
  level <- list()
  for (part in parts) {
    k <- 1
    while (k <= length(level) && !is.null(level[[k]])) {
      part <- add(level[[k]], part)
      level[k] <- list(NULL)
      k <- k + 1
    }
    level[k] <- list(part)
  }
  full <- level[!vapply(level, is.null, NA)]
  Reduce(function(right, left) add(left, right), full)
}
