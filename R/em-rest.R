# Whether the bound has come to rest: a fit ends, mends or frees what it held where it has.

# Even, so that a selection that alternates between two states settles too. A pass in batches counts
# for several iterations.
settle_window <- 6L

batch_window <- 2L

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
  last <- utils::tail(state$bounds, 2)
  limit <- if (!is_placed(task$model)) {
    slow_rise * task_weight(task)
  } else {
    slow_image_rise * n_numbers(task)
  }
  length(last) == 2 && is.finite(last[1]) && abs(diff(last)) < limit
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

# Whether bounds are flat, or so many times flatter than that.
is_flat <- function(task, state, factor = 1) {
  n <- length(state$bounds)
  if (n < 2 * flat_window) return(FALSE)
  recent <- mean(state$bounds[n - seq_len(flat_window) + 1])
  before <- mean(state$bounds[n - flat_window - seq_len(flat_window) + 1])
  recent - before <= flat_tol / factor * n_numbers(task)
}
