# One pass over the data: a map over blocks whose results add up. Everything that touches all points
# is in here.

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

# Log evidence of a block's points with these slots; where states are sampled, by new chains of one
# start's streams.
slots_evidence <- function(task, state, inputs, y, block, slots, start) {
  chain <- if (task$method == "gibbs") new_chain(task$sweeps, task$seed, start, NULL, slots)
  run_estep(task$model, inputs, y, block, slots, task$states, task$n_threads, character(),
            iteration = state$iteration, chain = chain)$log_evidence
}

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
