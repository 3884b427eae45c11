# The schedule of a fit: annealing, which is the temperature and noise floor of each iteration, and
# when the bound is at rest. A model says in its defaults how it anneals.

# Iterations after which a hold that waits for the selection ("auto") ends at the latest, and the
# share of the posterior mass on latents that were selected before from which it ends.
longest_hold <- 20L
settled_share <- 0.85

# Each iteration lowers a noise floor by this factor.
noise_rate <- (0.03 / 0.25)^(1 / 15)

# What annealing needs besides the control: iterations from the first temperature to 1, and the
# noise floor (sd) at the beginning and where it ends, NULL for models that have none.
annealing_of <- function(model, control, n_updates = 1L) {
  over <- model$defaults$anneal_over
  list(anneal_over = if (is.null(over)) as.double(n_updates) * control$max_iter / 2 else over,
       noise = if (!control$monotone) model$noise_range)
}

# The bound of a pass in batches, at parameters that change, cannot settle as finely (nats a
# number).
batch_tol <- 4e-5

# Control with the defaults of a bound model, and so many data points, for what was left NULL: its
# `tol` is in nats a number of the data, since a bound is a sum over dimensions too. A monotone fit
# does not anneal.
resolve_control <- function(control, model, n_points) {
  defaults <- model$defaults
  defaults$n_starts <- count_starts(model, n_points)
  if (control$monotone) defaults[c("anneal", "hold")] <- list(1, 0L)
  if (!is.null(control$batch_size)) defaults$tol <- max(defaults$tol, batch_tol)
  defaults$tol <- defaults$tol * model$n_dims
  for (name in c("tol", "n_starts", "anneal", "hold")) {
    if (is.null(control[[name]])) control[[name]] <- defaults[[name]]
  }
  control
}

# Iterations of annealing that are over at the beginning of this one; below 0 it has not begun.
annealed_iterations <- function(task, state) {
  held <- state$held
  if (is.null(held)) held <- task$control$hold
  if (identical(held, "auto")) held <- longest_hold
  state$iteration - 1L - held
}

# A fit that goes on from given parameters does not heat them, unless the user asks for it.
skip_annealing <- function(task, state) {
  if (!is.null(task$given$control$anneal)) return(state)
  state$held <- -Inf
  if (is.null(task$noise)) state else end_annealing(state)
}

# Temperature, noise floor and explorers of this iteration. The temperature falls linearly to 1.
set_schedule <- function(task, state) {
  control <- task$control
  if (identical(control$hold, "auto") && is.null(state$held) &&
        isTRUE(state$kept_share >= settled_share)) {
    state$held <- state$iteration - 1L
  }
  over <- max(0, annealed_iterations(task, state))
  if (control$anneal > 1) {
    progress <- min(1, over / max(1, task$anneal_over))
    # What the bounds of hot iterations do says nothing of cold ones.
    if (progress == 1 && state$beta < 1) state$bounds <- numeric()
    state$beta <- 1 / (control$anneal + (1 - control$anneal) * progress)
  }
  if (!is.null(task$noise) && state$is_early) {
    floor <- task$noise[1] * noise_rate^over
    state$noise_floor <- if (floor > task$noise[2]) floor else 0
  }
  is_late <- state$iteration > 0.8 * task$max_iter
  if (control$polish && is_late && (state$explore > 0 || alternates(task, state))) {
    state <- start_polish(state)
    state$limited <- TRUE
  }
  state
}

# Parameters after the M-step with the noise at its floor; annealing is over when it is cold and the
# floor is below what the data say.
raise_noise <- function(task, state) {
  if (state$noise_floor > 0) {
    raised <- temper_params(task$model, state$params, state$noise_floor)
    if (identical(raised, state$params) && state$beta == 1) state <- end_annealing(state)
    state$params <- raised
  } else if (state$is_early && state$beta == 1 && !is.null(task$noise)) {
    state <- end_annealing(state)
  }
  state
}

end_annealing <- function(state) {
  state$is_early <- FALSE
  state$noise_floor <- 0
  state$bounds <- numeric()
  state
}

# Bounds at other temperatures or noise floors are no sign of rest.
is_cold <- function(state) state$beta == 1 && state$noise_floor == 0

# Share of the posterior mass that lies on latents which were selected for the point before, too.
kept_share <- function(last, result) {
  mass <- sum(result$prob_on)
  if (mass == 0 || !identical(dim(last), dim(result$selected))) return(0)
  is_kept <- matrix(FALSE, nrow(last), ncol(last))
  for (slot in seq_len(nrow(last))) {
    is_kept <- is_kept | result$selected == rep(last[slot, ], each = nrow(last))
  }
  sum(result$prob_on[is_kept]) / mass
}

# The end of a fit: no explorers, and each point keeps last iteration's selection where that
# explains it better. Without the second, leave-one-out ranking can alternate between two selections
# for ever.
start_polish <- function(state) {
  state$explore <- 0
  state$is_polishing <- TRUE
  end_annealing(state)
}

# ---- rest ----

# Whether the bound has come to rest: a fit ends, mends or frees what it held where it has.

# Even, so that a selection that alternates between two states settles too. A pass in batches counts
# for several iterations.
settle_window <- 6L

batch_window <- 2L

# Whether points go from one learned selection to another and back, by which the bound falls again
# and again.
alternates <- function(task, state) {
  may_alternate(task, !is.null(task$batches)) &&
    falls_again(state$bounds, task$control$tol * task_weight(task))
}

# Whether a bound that falls says so, of a task or a fit: estimates and steps of batches fall
# without that.
may_alternate <- function(it, is_batched) {
  inherits(it$selector, "gps_selector_gp") && it$n_selected < count_choices(it$model) &&
    it$method != "gibbs" && !is_batched
}

# Whether the last bounds fall more than once, by more than `tol` and rounding.
falls_again <- function(bounds, tol) {
  bounds <- utils::tail(bounds, settle_window)
  sum(-diff(bounds) > max(tol, 1e-9 * abs(bounds))) > 1
}

# The mean of the last bounds against that of as many before. Explorers and sampling make the bound
# noisy: with them it has settled when it has not risen by more than the standard error of the
# difference. `tol` is in nats, of all points.
has_settled <- function(bounds, tol, is_noisy, window = settle_window) {
  n <- length(bounds)
  if (n < 2 * window || tol <= 0) return(FALSE)
  recent <- bounds[n - seq_len(window) + 1]
  before <- bounds[n - window - seq_len(window) + 1]
  rise <- mean(recent) - mean(before)
  if (!is_noisy) return(abs(rise) <= tol)
  rise <= max(tol, sqrt((stats::var(recent) + stats::var(before)) / window))
}

has_come_to_rest <- function(task, state) {
  is_batched <- !is.null(task$batches)
  is_noisy <- state$explore > 0 || task$method == "gibbs" || is_batched
  window <- if (is_batched) batch_window else settle_window
  has_settled(state$bounds, task$control$tol * task_weight(task), is_noisy, window) &&
    !(state$explore == 0 && !is_batched && swings(task, state, window))
}

# A sampled bound that goes up and down by far more than sampling explains alternates between
# selections: it has not come to rest.
swings <- function(task, state, window) {
  if (task$method != "gibbs") return(FALSE)
  errors <- vapply(utils::tail(state$trace, 2 * window), `[[`, 1, "bound_error")
  is_swinging(utils::tail(state$bounds, 2 * window), errors, task_weight(task))
}

is_swinging <- function(bounds, errors, n_points) {
  stats::var(bounds) > 25 * (mean(errors^2) + (swing_nats * n_points)^2)
}

# Nats a point that no sampling error is trusted to be below.
swing_nats <- 0.02

# Whether an iteration changes the parameters so little that not each needs new slots.
has_slowed <- function(task, state) {
  n <- length(state$bounds)
  if (n < 2 || !is.finite(state$bounds[n - 1])) return(FALSE)
  limit <- if (task$has_images) {
    slow_image_rise * n_numbers(task)
  } else {
    slow_rise * task_weight(task)
  }
  abs(state$bounds[n] - state$bounds[n - 1]) < limit
}

# Nats a point, and of images nats a number.
slow_rise <- 0.1
slow_image_rise <- 4e-4

# Numbers that the observations have: a bound is a sum over points and dimensions.
n_numbers <- function(task) as.double(task_weight(task)) * n_dims(task$y)

# Bounds are flat when the mean of the last four exceeds that of the four before by less than this
# many nats a number. A fit may end only when they have settled far more finely.
flat_window <- 4L

flat_tol <- 8e-4

# Whether bounds are flat, or so many times flatter than that, by fewer of them if asked for.
is_flat <- function(task, state, factor = 1, window = flat_window) {
  n <- length(state$bounds)
  if (n < 2 * window) return(FALSE)
  recent <- mean(state$bounds[n - seq_len(window) + 1])
  before <- mean(state$bounds[n - window - seq_len(window) + 1])
  recent - before <= window / flat_window * flat_tol / factor * n_numbers(task)
}

# Iterations of a trial of a move, which is accepted from this gain, in nats a number of the data.
trial_iterations <- 5L
least_gain <- 8e-5

# Bounds that are looked at before a round of moves of many clusters at once. What it finds to be
# moved are whole clusters, which a few more iterations would not settle.
bulk_window <- 2L

# Whether it is time for a round of mending, mend().
is_mend_due <- function(task, state) {
  if (!task$control$mend || !is.null(task$batches)) return(FALSE)
  if (!is_cold(state) || state$iteration + trial_iterations > task$max_iter) return(FALSE)
  n_failed <- length(state$mended_at)
  window <- if (moves_in_bulk(task$model)) bulk_window else flat_window
  if (!is_flat(task, state, flat_factor^n_failed, window)) return(FALSE)
  n_failed == 0 || is_elsewhere(task, state)
}

# A round may fail because the fit has not come to rest: where it has risen since the last one there
# are more, see mending_rounds(), each when bounds are flatter by this factor.
flat_factor <- 8

is_elsewhere <- function(task, state) {
  n_failed <- length(state$mended_at)
  if (n_failed >= mending_rounds(task$model)) return(FALSE)
  recent_bound(state) > state$mended_at[n_failed] + 4 * least_gain * n_numbers(task)
}

recent_bound <- function(state) mean(utils::tail(state$bounds, flat_window))

# The task as it would be if iterations had no limit.
unlimited <- function(task) {
  task$max_iter <- Inf
  task
}
