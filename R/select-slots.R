# What an iteration asks of a selector; and from affinities to selected latents (equation 4 of the
# paper), with the screening step between the two; for whole blocks, some of their points, and those
# that nothing has been selected for.

# Affinities H x n of one block, or NULL while the selector knows nothing.
block_affinity <- function(selector, task, state, block, inputs) UseMethod("block_affinity")

#' @export
block_affinity.default <- function(selector, task, state, block, inputs) NULL

# What the selector keeps after an E-step: its memory.
learn_selector <- function(selector, task, state) UseMethod("learn_selector")

#' @export
learn_selector.default <- function(selector, task, state) NULL

# selected [n_selected x n] of one block, slots in ascending latent order, 0 = empty at the end.
# `rank` gives the affinities of a part of it, see rank_latents(). A state with `given` slots has
# them instead (step_given()).
select_latents <- function(task, state, block, inputs, rank = rank_latents(task, state)) {
  if (selects_all(task)) {
    n_latents <- task$model$n_latents
    left <- setdiff(seq_len(n_latents), emptied_inputs(inputs))
    return(matrix(fill_up(left, n_latents), n_latents, block$n_points))
  }
  if (!is.null(state$given)) return(block_slots(state$given, block))
  select_in_parts(task, state, block, inputs, function(task, state, part, inputs) {
    part["resting"] <- list(resting_points(task, state, part))
    select_ranked(task, state, part, inputs, rank(part, inputs))
  })
}

# Of the points of a block that keep their slots in this iteration TRUE, or NULL if there are none:
# a budget says so, or it is not their turn, and they have what they were given when all latents
# were candidates, or those that neighbours have. Of locations there are never all, and draws of
# others at every turn.
resting_points <- function(task, state, block) {
  if (!is.null(state$resting)) return(state$resting[block_columns(block)])
  if (!isTRUE(state$may_rest) || is.null(state$selected)) return(NULL)
  screen <- task_screen(task)
  if (is.null(screen)) return(NULL)
  is_complete <- screen$sweeps > 0 && screen$propose >= task$model$n_latents
  may_rest <- is_complete || isTRUE(task$selector$by_candidates) || draws_candidates(task$model)
  if (!screen$keep || !may_rest) return(NULL)
  .Call(C_resting, block_slots(state$selected, block), block, state$iteration, rest_period)
}

# The task's screen with numbers for all its defaults; NULL without screening. A fit has it ready,
# see plan_screen(); some steps of a fit screen in ways of their own.
task_screen <- function(task) {
  screen <- task$selector$screen
  if (!is.list(screen)) return(NULL)
  if (identical(task$screen$of, screen_basis(task))) return(task$screen$whole)
  resolve_screen(screen, task$model, as.integer(task$n_selected))
}

# list(whole, of): the task's screen with numbers for all its defaults, and what they depend on, by
# which a task that has another selector, model or number of slots is told from this one.
plan_screen <- function(task) list(whole = task_screen(task), of = screen_basis(task))

screen_basis <- function(task) {
  model <- task$model
  list(task$selector$screen, task$n_selected, model$n_latents, model$defaults, task$place_dim)
}

# A screen with numbers for all its defaults.
resolve_screen <- function(screen, model, n_selected) {
  defaults <- screen_defaults(model, n_selected, most_draws)
  is_open <- vapply(names(defaults), function(name) is.null(screen[[name]]), NA)
  screen[names(defaults)[is_open]] <- defaults[is_open]
  # No more candidates of a kind than there are latents: draws beyond that only take time.
  for (kind in c("propose", "explore", "guided", "conditional", "neighbours")) {
    above <- screen[[kind]] > model$n_latents
    if (any(above)) screen[[kind]][above] <- model$n_latents
  }
  screen
}

# The ranking by the task's selector: a function of a part of a block, and of what the model has
# prepared for it, that gives affinities [H x n] or candidates; NULL ranks nothing, so that all
# latents tie.
rank_latents <- function(task, state) {
  function(part, inputs) block_affinity(task$selector, task, state, part, inputs)
}

# What `select` selects, from parts of a block whose affinities are not too many.
select_in_parts <- function(task, state, block, inputs, select) {
  n_points <- max(16L, as.integer(affinity_doubles / task$model$n_latents))
  if (isTRUE(task$selector$by_candidates) && !is.null(state$memory)) n_points <- block$n_points
  if (n_points >= block$n_points) return(select(task, state, block, inputs))
  offsets <- seq(0, block$n_points - 1, by = n_points)
  has_own <- has_point_inputs(task$model)
  parts <- lapply(offsets, function(offset) {
    part <- part_block(block, offset, min(n_points, block$n_points - offset))
    if (has_own) inputs <- block_inputs(task$model, state$params, task$y, part)
    select(task, state, part, inputs)
  })
  structure(do.call(cbind, parts), n_gains = sum(unlist(lapply(parts, attr, "n_gains"))),
            ranked = do.call(cbind, lapply(parts, attr, "ranked")))
}

# Numbers that the affinities of a part of a block may take: memory of this size (16 MB) is used
# again, larger pieces would be fetched from the system for every block.
affinity_doubles <- 2^21

select_ranked <- function(task, state, block, inputs, affinity) {
  n_latents <- task$model$n_latents
  screen <- task_screen(task)
  emptied <- emptied_inputs(inputs)
  if (!is.null(screen)) {
    if (length(emptied) > 0) affinity <- bar_latents(affinity, emptied)
    screened <- screen_block(task, state, block, inputs, affinity, screen,
                             random_stream(task, state, block))
    return(if (length(emptied) > 0) leave_out(screened, emptied) else screened)
  }
  if (is.null(affinity)) affinity <- matrix(0, n_latents, block$n_points)
  if (length(emptied) > 0) return(select_left(task, state, block, affinity, emptied))
  select_best(task, state, block, affinity, task$n_selected, n_latents, task$place_dim)
}

# The best of affinities [H x n], or of candidates among n_latents, and explorers.
select_best <- function(task, state, block, affinity, n_slots, n_latents, grid = NULL,
                        share = state$explore * n_slots) {
  stream <- random_stream(task, state, block)
  if (inherits(affinity, "gps_candidates")) {
    return(.Call(C_select_candidates, affinity, n_latents, n_slots, share, 1L, grid, stream,
                 block$first_row, task$n_threads))
  }
  .Call(C_select, affinity, n_slots, share, grid, stream, block$first_row, task$n_threads)
}

# Numbers of the latents that are out of the model, from what it has prepared for a block: log odds
# of -Inf.
emptied_inputs <- function(inputs) which(inputs$prior[-length(inputs$prior)] == -Inf)

# The best among the latents that are left in the model; slots beyond their number are empty.
select_left <- function(task, state, block, affinity, emptied) {
  n_latents <- task$model$n_latents
  left <- setdiff(seq_len(n_latents), emptied)
  n_slots <- min(as.integer(task$n_selected), length(left))
  selected <- matrix(0L, task$n_selected, block$n_points)
  if (n_slots == 0) return(selected)
  chosen <- select_best(task, state, block, keep_latents(affinity, left, n_latents), n_slots,
                        length(left), share = state$explore * min(n_slots, length(left) - n_slots))
  held <- chosen > 0
  selected[seq_len(n_slots), ][held] <- left[chosen[held]]
  selected
}

# Where the random numbers of a selection come from.
random_stream <- function(task, state, block) {
  list(seed = task$seed, start = state$start, iteration = state$iteration,
       streams = block$streams)
}

# Selected latents; the attribute `n_gains` says how many gains the model was asked for.
screen_block <- function(task, state, block, inputs, affinity, screen, stream) {
  kept <- if (screen$keep && !is.null(state$selected)) block_slots(state$selected, block)
  phase <- if (state$is_early) 1 else 2
  settings <- list(
    n_propose = screen$propose, n_explore = screen$explore[phase],
    waits = as.integer(!is.null(kept) && waits_for_labels(task, state)),
    n_guided = screen$guided[phase], n_moves = screen$moves,
    n_pool = screen$pool, n_conditional = screen$conditional[phase],
    is_greedy = as.integer(screen$rank_by == "greedy"), n_sweeps = screen$sweeps,
    n_inserts = screen$inserts,
    resting = if (!is.null(kept) && !is.null(block$resting)) block$resting,
    max_active = as.integer(min(task$max_active, task$n_selected)),
    prob_on = if (!is.null(kept)) kept_prob(state, block),
    share = if (screen$random_slot && phase == 1) state$explore * task$n_selected else 0,
    is_one_hot = as.integer(task$model$rule$min_active == 1), grid = task$place_dim,
    seek = state$sought, n_beside = screen$neighbours, n_ranked = count_ranked(screen),
    beside = beside_of(state, screen$neighbours)
  )
  if (is.null(affinity) && is.null(kept)) {
    settings$n_explore <- max(screen$propose, if (draws_candidates(task$model)) settings$n_explore)
  }
  inputs <- screen_inputs(task, state, block, inputs, screen$temperature)
  problem <- native_problem(task$model, inputs)
  result <- .Call(C_screen, task$model$native, problem, task$y, block, affinity, kept,
                  task$n_selected, settings, stream, task$n_threads)
  structure(result$selected, n_gains = result$n_gains, ranked = result$ranked)
}

# Labels of a few data points, from which clusters grow, go a ring of neighbours further in each
# iteration. A point that none has reached belongs to no cluster yet: given some by chance it would
# be taken by one that may be anywhere, and many such points carry away its mean. They wait until an
# iteration in which no more points are reached; those of batches, in which labels spread one batch
# at a time, for so many iterations.
waits_for_labels <- function(task, state) {
  if (task$model$rule$min_active != 1) return(FALSE)
  if (is.null(task$batches)) isTRUE(state$is_spreading) else state$iteration <= spread_iterations
}

spread_iterations <- 8L

# Iterations in one of which a data point is screened, each in its turn, once parameters change
# little: so does what it would select.
rest_period <- 3L

# Probabilities of what was selected last, where they are known.
kept_prob <- function(state, block) {
  if (identical(dim(state$prob_on), dim(state$selected))) block_slots(state$prob_on, block)
}

# Inputs by which candidates are judged: those of the E-step, or of a model with more noise.
screen_inputs <- function(task, state, block, inputs, temperature) {
  if (!state$is_early) return(inputs)
  params <- temper_params(task$model, state$params, temperature)
  if (identical(params, state$params)) return(inputs)
  block_inputs(task$model, params, task$y, block)
}

# ---- latents beside latents ----

# Candidates beside the best latent of a point, where latents are ranked by candidates; for each of
# them a pass tells two that were among the point's best, and four are kept in mind.
beside_default <- 5L
beside_ranked <- 2L
beside_kept <- 4L

count_ranked <- function(screen) {
  if (screen$neighbours > 0) 1L + beside_ranked * screen$neighbours else 0L
}

beside_wanted <- function(task) {
  screen <- task$selector$screen
  if (is.list(screen) && !is.null(screen$neighbours)) screen$neighbours else 0L
}

# The `n` latents that most often stood beside each, n x H; NULL before anything is known.
beside_of <- function(state, n) {
  if (n == 0 || is.null(state$beside) || nrow(state$beside$latent) < n) return(NULL)
  state$beside$latent[seq_len(n), , drop = FALSE]
}

# A pass over all data halves the weights of those before.
halved_by <- function(task) 0.5^(if (is.null(task$batch_scale)) 1 else 1 / task$batch_scale)

# The same after another pass, list(latent, affinity), from what screening has `ranked`. The more
# often a latent is among the best of points whose best one is another, the more it is worth a try
# for all of these points.
learn_beside <- function(task, beside, ranked) {
  screen <- task$selector$screen
  if (is.null(ranked) || is.null(screen)) return(beside)
  .Call(C_beside, beside, ranked, task$model$n_latents,
        as.integer(min(beside_kept * screen$neighbours, task$model$n_latents)), halved_by(task))
}

# Slots in which no point is left without a latent, where each has one: those of a block that no
# neighbour's has reached get what the model itself ranks best.
reach_points <- function(task, state, block, selected) {
  if (task$model$rule$min_active == 0 || !has_ranking(task$model)) return(selected)
  points <- which(colSums(selected > 0) == 0)
  if (length(points) == 0) return(selected)
  part <- pick_points(task, state, block, points)
  state[c("explore", "given", "selected")] <- list(0, NULL, NULL)
  part$task$selector <- selector_handcrafted()
  part$task$selector["screen"] <- list(NULL)
  selected[, points] <- select_latents(part$task, state, part$block, part$inputs)
  selected
}

# Some points of an open block: list(task, block, inputs). They keep the random numbers of their
# rows, whatever others there are.
pick_points <- function(task, state, block, points) {
  if (length(points) == block$n_points) {
    part <- block
    part$offset <- 0
  } else {
    task$y <- block_data(task$y, block)[, points, drop = FALSE]
    streams <- if (is.null(block$streams)) as.integer(block$first_row + points - 1) else
      block$streams[points]
    part <- new_block(0, length(points), block$first_row, streams = streams,
                      missing = cut_missing(block$missing, block$y_offset + points))
  }
  list(task = task, block = part,
       inputs = block_inputs(task$model, state$params, task$y, part))
}
