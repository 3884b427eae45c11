# Algorithm 1 of the paper: one EM iteration with selection, state in, state out.

# Rank, select, infer: the E-step of a block of data points. Prepared first: what the model prepares
# for it (W'y) also serves the hand-crafted ranking and the screening. The ranking is asked for in
# parts, since the affinities of all latents for all points of a block may be too many.
expect_block <- function(task, state, block, want) {
  # Some points are ranked by another selector than the one that made the basis.
  if (!is.null(state$memory$basis) && isTRUE(task$selector$by_sums)) {
    state$view <- block_view(task, state$memory, block)
  }
  inputs <- block_inputs(task$model, state$params, task$y, block)
  rank <- rank_latents(task, state)
  selected <- select_latents(task, state, block, inputs, rank)
  if (state$is_last) selected <- reach_points(task, state, block, selected)
  infer_latents(task, state, block, inputs, selected, want)
}

# Maximise, mend, learn: the parameters that explain the data best by this E-step, and the selection
# for the next one.
improve <- function(task, state) {
  state <- maximise(task, state)
  state <- mend_params(task, state)
  learn(task, state)
}

# One iteration. `part` evaluates the E-step, and what follows it: a fit may be cut short in each.
em_update <- function(task, state, part = function(before, code) code) {
  expected <- part(state, infer(task, state))
  part(expected, improve(task, expected))
}

# An iteration with its row of the trace.
em_step <- function(task, state) {
  began <- elapsed()
  end_step(task, em_update(task, state), began)
}

end_step <- function(task, state, began) {
  state$bounds <- c(state$bounds, state$bound)
  late <- if (length(state$trace) == 0) state$late
  row <- trace_row(task, state, elapsed() - began, c(state$events, late))
  state$trace[[length(state$trace) + 1]] <- row
  state
}

# The E-step of all points of the task, in one pass. What belongs together from here on, whatever
# cuts the fit short, is `complete`.
infer <- function(task, state) {
  state$iteration <- state$iteration + 1L
  state <- set_schedule(task, state)
  has_budget <- !is.null(task$control$budget)
  if (has_budget) state <- plan_turns(task, state)
  result <- pass(task, state)
  if (has_budget) state <- count_turns(task, state, result)
  if (identical(task$control$hold, "auto") && !is.null(state$selected)) {
    state$kept_share <- kept_share(state$selected, result)
  }
  state[inferred] <- result[inferred]
  state["beside"] <- list(learn_beside(task, state$beside, result$ranked))
  state$may_rest <- FALSE
  state$is_spreading <- isTRUE(state$is_spreading) && result$n_unreached < state$unreached
  state$unreached <- result$n_unreached
  # Bounds of few points that others have yet to join are no sign of rest.
  if (result$n_unreached > 0) state$bounds <- numeric()
  state$stats <- result$stats
  state["events"] <- list(NULL)
  state$complete <- c(state[inferred], list(params = state$params, memory = state$memory))
  state
}

# What a state takes over from a pass. `value` is there where states are sampled, `sums` where the
# selector learns from sums over blocks.
inferred <- c("selected", "prob_on", "value", "bound", "bound_error", "evaluations", "sums")

# list(selected, prob_on, log_evidence, bound, bound_error, stats, evaluations, ...) of all points
# at the state's parameters; `evaluations` is how many gains of the model screening computed.
pass <- function(task, state, want = "stats") {
  state["memory"] <- list(open_memory(task, state$memory))
  join_parts(map_blocks(task, function(task, block) expect_block(task, state, block, want)))
}

# The posterior of a block's points over the states of their selected latents, and what their
# expectations add to the sums that a selector learns from.
infer_latents <- function(task, state, block, inputs, selected, want) {
  evaluations <- attr(selected, "n_gains")
  ranked <- attr(selected, "ranked")
  attributes(selected) <- list(dim = dim(selected))
  is_choosy <- task$control$monotone || state$is_polishing
  is_whole <- selects_all(task)
  if (is_choosy && !is.null(state$selected) && task$method == "exact" && !is_whole) {
    selected <- keep_better(task, state, block, inputs, selected)
  }
  estep <- run_estep(task$model, inputs, task$y, block, selected, task$states, task$n_threads, want,
                     beta = state$beta, iteration = state$iteration,
                     chain = if (task$method == "gibbs") block_chain(task, state, block, selected))
  result <- c(list(selected = selected, evaluations = evaluations, ranked = ranked), estep)
  if (is_thinned(task, state)) result[c("selected", "prob_on")] <- thin_slots(estep$prob_on)
  result["weights"] <- list(block$weights)
  if (!is.null(state$view)) result$sums <- block_sums(task, state, result)
  result
}

# Where all of many clusters are selected, the slots of all points would be more than what else an
# iteration needs: it keeps those of the most probable clusters. The last pass has all.
is_thinned <- function(task, state) {
  is_whole <- selects_all(task) && task$model$rule$min_active == 1
  is_whole && !state$is_last && task$method == "exact" && is.null(task$batches) &&
    is.null(task$batch_scale) && task$n_selected > thin_slots_kept &&
    as.double(task$n_selected) * n_points(task$y) > max_whole_slots
}

max_whole_slots <- 2^20
thin_slots_kept <- 10L

# list(selected, prob_on) [kept x n] of the most probable of all latents, from prob_on [H x n].
thin_slots <- function(prob_on) .Call(C_thin_slots, prob_on, thin_slots_kept)

# A state whose slots are those of all clusters, from thin ones.
widen_slots <- function(task, state) {
  if (is.null(state$selected) || nrow(state$selected) == task$n_selected) return(state)
  state$prob_on <- dense_targets(state, task$model$n_latents)
  state$selected <- matrix(seq_len(task$n_selected), task$n_selected, n_points(task$y))
  state
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

# The E-step of a block's points with these slots; where states are sampled, by new chains of one
# start's streams.
infer_slots <- function(task, state, inputs, y, block, slots, start) {
  chain <- if (task$method == "gibbs") new_chain(task$sweeps, task$seed, start, NULL, slots)
  run_estep(task$model, inputs, y, block, slots, task$states, task$n_threads, character(),
            iteration = state$iteration, chain = chain)
}

# The chains of a block, each where the last iteration left it.
block_chain <- function(task, state, block, selected) {
  value <- if (!is.null(state$value)) {
    carry_values(block_slots(state$selected, block), block_slots(state$value, block), selected)
  }
  chain <- new_chain(task$sweeps, task$seed, state$start, value, selected,
                     is_last = state$is_last)
  # Fits of before 0.3.0 predict by chains that were compared with none.
  if (task$is_before_rounds) chain$n_new <- 0L
  chain
}

# The M-step, by the statistics of all points: in batches running averages stand for them, of the
# batch as if of all points and of the batches before.
maximise <- function(task, state) {
  state$running <- if (is.null(task$batch_scale)) {
    state$stats
  } else {
    blend(state$running, state$stats, state$rate, task$batch_scale)
  }
  state["stats"] <- list(NULL)
  maximised <- mstep_model(task$model, state$params, state$running)
  state$params <- maximised$params
  state$events <- maximised$events
  state
}

# The model's own repairs of its parameters. What they need of the data is in `progress`: `before`
# are the parameters before the M-step, `notes` is what they said last time.
mend_params <- function(task, state) {
  progress <- c(state[c("selected", "prob_on", "bound", "iteration", "is_early", "is_polishing",
                        "notes")],
                list(y = task$y, missing = task$missing, n_threads = task$n_threads,
                     seed = task$seed,
                     is_monotone = task$control$monotone, is_batch = !is.null(task$batch_scale),
                     before = state$complete$params))
  mended <- mend_model(task$model, state$params, state$running, progress)
  state$events <- c(state$events, mended$events)
  if (progress$is_batch && !is.null(mended$rescale)) {
    state <- take_units(task, state, mended$rescale)
  }
  state$running <- settle_stats(task$model, state$running)
  raise_noise(task, take_mended(state, mended))
}

take_mended <- function(state, mended) {
  state$params <- mended$params
  if (!is.null(mended$rescale) && !is.null(state$value)) {
    state <- rescale_values(state, mended$rescale)
  }
  if (!is.null(mended$flip)) state <- flip_slots(state, mended$flip)
  if (!is.null(mended$relabel)) state <- relabel_slots(state, mended$relabel)
  if (!is.null(mended$labels)) state <- add_labels(state, mended$labels)
  is_moved <- !is.null(mended$flip) || !is.null(mended$relabel) || !is.null(mended$labels)
  if (is_moved) state["sums"] <- list(NULL)
  state$is_moved <- is_moved
  state["notes"] <- list(mended$notes)
  state
}

# What the selector learns of the E-step, for the next ranking. It belongs to that E-step, whose
# sums are in there.
learn <- function(task, state) {
  state["memory"] <- list(learn_selector(task$selector, task, state))
  state$events <- c(state$events, refit_skipped = sum(state$memory$skipped))
  state$complete["memory"] <- list(state$memory)
  state$complete["sums"] <- list(NULL)
  state
}

# An iteration with given slots, where they explain a point better than its own.
step_given <- function(task, state, slots) {
  is_polishing <- state$is_polishing
  state$is_polishing <- TRUE
  state$given <- slots
  state <- em_step(task, state)
  state["given"] <- list(NULL)
  state$is_polishing <- is_polishing
  state
}

trace_row <- function(task, state, seconds, events = state$events) {
  memory <- state$memory
  acted <- events[events > 0]
  list(start = state$start, iteration = state$iteration, bound = state$bound,
       bound_error = state$bound_error, temperature = 1 / state$beta, explore = state$explore,
       refit = isTRUE(memory$refit),
       jitter = if (is.null(memory$prepared$jitter)) 0 else memory$prepared$jitter,
       events = if (length(acted) == 0) "" else
         paste(names(acted), acted, sep = " ", collapse = ", "),
       evaluations = sum(state$evaluations) / n_points(task$y),
       seconds = seconds)
}

# What a state takes from a batch's new units of latents, beside the values of its own points.
take_units <- function(task, state, rescale) {
  state$running <- rescale_stats(task$model, state$running, rescale)
  state$gauge <- rescale * if (is.null(state$gauge)) 1 else state$gauge
  state
}
