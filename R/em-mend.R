# Leaving a local optimum: the component that the fit could best do without is moved to where the
# data are explained worst, and the bound after a few iterations decides. Split and merge in one
# move (compare Ueda et al. 2000), for any selector. A model may have moves of its own beside it.

# The promised gain is a rough guess: a move is worth a trial from this share of what the bound
# would lose.
least_promise <- 0.1

# Two clusters that have become one are made two again for so many times what they were worth.
taker_promise <- 2

# A round that has found nothing.
end_round <- function(state) {
  state$mended_at <- c(state$mended_at, recent_bound(state))
  state
}

# One round, when it is due: the state after the first move whose trial beats the state continued
# equally long, or the state as it was with `mended_at`, where a further round would find nothing
# else: nor would one after a move that came to nothing in the end.
mend <- function(task, state) {
  if (has_come_to_nothing(task, state)) {
    state <- end_round(state)
    state["bound_before_move"] <- list(NULL)
    if (length(state$mended_at) >= mending_rounds(task$model)) return(state)
  }
  began <- elapsed()
  rows <- sample_rows(task, count_trial_rows(task$model))
  short <- restrict_task(task, rows)
  confirm <- if (!is.null(rows)) function(trial) confirm_trial(task, state, trial)
  trial <- best_trial(short, restrict_state(short, state, rows), task$deadline, confirm)
  if (is.null(trial)) return(end_round(state))
  accept_trial(task, state, trial, elapsed() - began)
}

# Whether the bound, flat again, is where it was before the last move. A selector that does not
# follow the move can lead back there.
has_come_to_nothing <- function(task, state) {
  before <- state$bound_before_move
  !is.null(before) && state$bound <= before + least_gain * n_numbers(task)
}

# The state of a trial: no explorers and no refits.
trial_state <- function(state) {
  state$explore <- 0
  state$is_early <- FALSE
  if (!is.null(state$memory$theta)) state$memory$last_refit <- Inf
  state
}

restrict_state <- function(short, state, rows) {
  state <- trial_state(state)
  if (is.null(rows)) return(state)
  state$selected <- state$selected[, rows, drop = FALSE]
  state$prob_on <- state$prob_on[, rows, drop = FALSE]
  if (!is.null(state$value)) state$value <- state$value[, rows, drop = FALSE]
  if (!is.null(state$memory$theta)) state$memory[of_points] <- list(NULL)
  state["sums"] <- list(NULL)
  state["memory"] <- list(learn_selector(short$selector, short, state))
  state
}

# list(move, state) of the first move that beats its rival, and that `confirm` makes something of,
# or NULL.
best_trial <- function(task, state, deadline, confirm = NULL) {
  moves <- find_moves(task, state)
  if (length(moves) == 0) return(NULL)
  rival <- NULL
  for (move in moves) {
    if (is_past(deadline)) break
    trial <- tryCatch(run_trial(task, state, move), gps_error = function(condition) NULL)
    if (is.null(trial)) next
    beats <- function(other) {
      exceeds(trial, other, required_gain(task, move), saved_price(task, trial, other))
    }
    # The rival is no worse than the state, whose bound is known, and has its parameters' price.
    if (is.null(confirm) && state$bound_error == 0 && !beats(state)) next
    if (is.null(rival)) {
      first <- continue_trial(task, state, 1L)
      is_clear <- is.null(confirm) &&
        exceeds(trial, first, required_gain(task, move) + likely_rise(state),
                saved_price(task, trial, first))
      if (is_clear) return(list(move = move, state = trial))
      rival <- continue_rival(task, state, first, confirm)
    }
    if (!beats(rival)) next
    found <- list(move = move, state = trial)
    if (!is.null(confirm)) found <- confirm(found)
    if (!is.null(found)) return(found)
  }
  NULL
}

# The state as it is after as many iterations as a trial has, of which it has had the first.
continue_rival <- function(task, state, first, confirm) {
  rival <- continue_trial(task, first, trial_iterations - 1L)
  # Selections that wander may have made the rival worse.
  if (is.null(confirm) && state$bound > rival$bound) state else rival
}

# What the bound may rise by in the other iterations of a rival, by several times the steepest of
# the last ones: a trial that gains more has no need of a rival that goes on.
likely_rise <- function(state) {
  rise <- max(diff(utils::tail(state$bounds, flat_window)), 0)
  clear_margin * (trial_iterations - 1L) * rise
}

clear_margin <- 4

# A latent that leaves has gained its price already. One that comes back must gain it twice, or it
# may come for a single point, and leave again.
required_gain <- function(task, move) {
  if (!is.null(move$emptied)) return(0)
  least_gain * n_numbers(task) + if (isTRUE(move$is_back)) latent_price(task) else 0
}

# Whether a state's bound, and what is `saved` by fewer parameters, exceeds that of another by more
# than `gain`, and by more than three standard errors of the difference where bounds are estimates;
# but these do not keep a parameter without which the bound has not fallen.
exceeds <- function(state, other, gain = 0, saved = 0) {
  noise <- 3 * sqrt(state$bound_error^2 + other$bound_error^2)
  if (saved > 0) noise <- min(noise, saved)
  state$bound + saved - other$bound > max(gain, noise)
}

# What a state has saved beside another: the price of its parameters, where their number can differ.
saved_price <- function(task, state, other) {
  parameter_price(task, other$params) - parameter_price(task, state$params)
}

run_trial <- function(task, state, move) {
  state$params <- move$params
  if (!is.null(move$components)) return(run_placed_trial(task, state, move))
  state <- if (isTRUE(move$is_parted)) {
    part_step(task, state)
  } else if (!is.null(move$pairs)) {
    bulk_step(task, state, move$pairs)
  } else if (is.null(move$emptied)) {
    insert_step(task, state, move$latents)
  } else {
    leave_step(task, state, move$emptied)
  }
  continue_trial(task, state, trial_iterations - 1L)
}

# Components that are moved are as new ones. Where they stand is known by `relabel`, or else they
# are looked for everywhere.
run_placed_trial <- function(task, state, move) {
  if (!is.null(state$notes)) state$notes$age[move$components] <- 0L
  if (!is.null(move$relabel)) {
    state <- relabel_slots(state, move$relabel)
    return(continue_trial(task, state, trial_iterations))
  }
  state <- forget_components(task$model, state, move$components)
  state <- continue_trial(task, state, 1L)
  state <- settle_components(task, state, move$components)
  state <- continue_trial(task, state, seeking_iterations - 1L)
  state["sought"] <- list(NULL)
  continue_trial(task, state, trial_iterations - seeking_iterations)
}

continue_trial <- function(task, state, n_iterations) {
  for (iteration in seq_len(n_iterations)) {
    # Trials of many clusters are of all points, which rest as in the iterations between.
    if (moves_in_bulk(task$model)) state$may_rest <- !state$is_moved && has_slowed(task, state)
    state <- em_step(task, state)
  }
  state
}

# An iteration in which the moved latents may be on for every point, where that explains it better
# (everywhere where states are sampled): no selector knows yet where they belong. In the iterations
# after it the selector must have learned that, or the gain would not last. Where they would fill
# the slots of a mixture no point had its own cluster left: there the model itself ranks.
insert_step <- function(task, state, latents) {
  is_full <- task$model$rule$min_active == 1 && length(latents) >= task$n_selected &&
    !selects_all(task)
  if (is_full) return(part_step(task, state))
  step_given(task, state, insert_latents(state$selected, state$prob_on, latents))
}

# Slots with `latents` in them, each in place of the least probable of the others where it was not
# selected.
insert_latents <- function(selected, prob_on, latents) {
  points <- seq_len(ncol(selected))
  for (latent in utils::head(latents, nrow(selected))) {
    keep <- array(selected %in% latents, dim(selected))
    value <- ifelse(keep, Inf, ifelse(selected == 0, -Inf, prob_on))
    slot <- max.col(-t(value), ties.method = "first")
    lacks <- colSums(selected == latent) == 0
    at <- cbind(slot, points)[lacks, , drop = FALSE]
    selected[at] <- latent
    prob_on[at] <- 0
  }
  ordered <- order(rep(points, each = nrow(selected)), selected)
  array(selected[ordered], dim(selected))
}

# A move that was judged on some rows must not lower the bound on all of them. It starts from the
# parameters of all rows: those of the trial fit its rows too closely.
confirm_trial <- function(task, state, trial) {
  full <- tryCatch(run_trial(task, trial_state(state), trial$move),
                   gps_error = function(condition) NULL)
  if (!is.null(full) && exceeds(full, state, 0, saved_price(task, full, state))) {
    list(move = trial$move, state = full)
  }
}

# The trial's state as the fit's: its iterations are one row of the trace, with the move among the
# events.
accept_trial <- function(task, state, trial, seconds) {
  new <- trial$state
  new[c("explore", "is_early")] <- state[c("explore", "is_early")]
  if (!is.null(new$memory$theta)) new$memory$last_refit <- state$memory$last_refit
  new$bounds <- utils::tail(new$bounds, trial_iterations)
  # Nothing was to be gained by a latent that has left.
  new["mended_at"] <- list(NULL)
  new["bound_before_move"] <- list(if (is.null(trial$move$emptied)) state$bound)
  times <- if (is.null(trial$move$times)) 1L else trial$move$times
  row <- trace_row(task, new, seconds, stats::setNames(times, trial$move$event))
  new$trace <- c(state$trace, list(row))
  new
}

# The most promising moves, best first: those that only this model has, which take nothing away,
# before the others.
find_moves <- function(task, state) UseMethod("find_moves", task$model)

#' @export
find_moves.default <- function(task, state) {
  model <- task$model
  if (model$n_latents < 2 || !can_move(model)) return(list())
  if (moves_in_bulk(model)) {
    return(c(parting_moves(task, state, run_trial), bulk_moves(task, state)))
  }
  result <- pass(task, state, "response")
  on <- dense_targets(result, model$n_latents)
  weights <- result$weights
  latent <- list(selected = result$selected, prob_on = result$latent)
  value <- dense_targets(latent, model$n_latents) * (on > 0.5)
  leaver <- find_leaver(task, state, result, on)
  joined <- joining_moves(task, state$params, on, value)
  if (!is.null(weights)) value <- value[, spread_weights(weights), drop = FALSE]
  others <- c(own_moves(model, state$params, value), split_moves(task, result, on, leaver))
  others <- utils::head(others, trial_moves)
  parted <- parting_moves(task, state, run_trial, c(leaver$from, leaver$taker))
  c(parted, joined, emptying_moves(task, state, leaver$costs, trial_moves), others)
}

# The component that the fit could best do without: list(from, cost, params), with what the bound
# would lose without it, roughly, and the parameters from which it is moved; `taker`, the component
# that takes its points over, if that is known. Where latents can be emptied `costs` [H] of all, and
# whether one comes back that was.
find_leaver <- function(task, state, result, on) UseMethod("find_leaver", task$model)

#' @export
find_leaver.default <- function(task, state, result, on) {
  if (!can_empty(task$model)) {
    cost <- removal_cost(on, result$weights)
    return(list(from = which.min(cost), cost = min(cost), params = state$params))
  }
  costs <- surplus_costs(task, state, result)
  emptied <- emptied_latents(task$model, state$params)
  is_back <- length(emptied) > 0
  from <- if (is_back) emptied[1] else which.min(costs)
  list(from = from, cost = if (is_back) latent_price(task) else costs[from], costs = costs,
       params = state$params, is_back = is_back)
}

split_moves <- function(task, result, on, leaver) {
  model <- task$model
  unit <- residual_unit(model)
  residual <- task_residuals(task, result$response) / unit
  weights <- result$weights
  from <- leaver$from
  taker <- leaver$taker
  split_at <- function(h, points) {
    promising_split(model, residual, points, h, weights, leaver$params)
  }
  is_of <- points_of(model, on)
  splits <- lapply(setdiff(seq_len(model$n_latents), c(from, taker)), function(h) {
    split_at(h, is_of(h))
  })
  if (!is.null(taker)) {
    splits <- c(splits, list(split_at(taker, points_of(model, join_rows(on, from, taker))(taker))))
  }
  if (model$rule$min_active == 0) splits <- c(splits, list(split_at(0L, TRUE)))
  splits <- splits[!vapply(splits, is.null, NA)]
  gain <- vapply(splits, `[[`, 1, "gain")
  is_taker <- vapply(splits, function(split) split$latent %in% taker, NA)
  ranked <- order(-gain)
  # Nothing is lost by trying to part two that are the same, whatever one step of it promises.
  is_free <- leaver$cost < 1e-6 * n_points(task$y)
  promises <- gain > ifelse(is_taker, taker_promise, least_promise) * leaver$cost
  ranked <- ranked[(promises | is_taker & is_free)[ranked]]
  lapply(splits[ranked], function(split) {
    split$centres <- split$centres * unit
    list(params = move_component(model, leaver$params, from, split),
         latents = unique(c(from, split$latent[split$latent > 0], taker)),
         is_back = leaver$is_back, event = if (split$latent > 0) "split" else "renewed")
  })
}

# Which points are those of a latent, by the probabilities `on` of all: it is on rather than off; or
# the most probable where one is on in a state, the first of several that are the same.
points_of <- function(model, on) {
  if (model$rule$min_active == 0) return(function(latent) on[latent, ] > 0.5)
  owner <- max.col(t(on), "first")
  function(latent) owner == latent
}

join_rows <- function(on, from, taker) {
  on[taker, ] <- on[taker, ] + on[from, ]
  on[from, ] <- 0
  on
}

# Further moves that make sense for this model alone: a list as split_moves() gives it, best first.
# `value` [H x N] are the posterior means of latents that are more on than off, else 0.
own_moves <- function(model, params, value) UseMethod("own_moves")

#' @export
own_moves.default <- function(model, params, value) list()
