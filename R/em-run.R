# Algorithm 1 of the paper: one EM iteration with selection, state in, state out; and when to stop.

# One iteration: an update from all data points, or one from each batch of them.
em_step <- function(task, state) {
  began <- elapsed()
  iteration <- state$iteration
  state <- if (is.null(task$batches)) em_update(task, state) else em_epoch(task, state)
  # A pass that was cut short before its first update.
  if (state$iteration == iteration) return(state)
  end_step(task, state, began)
}

end_step <- function(task, state, began) {
  state$bounds <- c(state$bounds, state$bound)
  row <- trace_row(task, state, elapsed() - began)
  state$trace[[length(state$trace) + 1]] <- row
  state
}

em_update <- function(task, state) maximise(task, infer(task, state))

# Select and infer: one pass over the task's data. What belongs together from here on, whatever cuts
# the fit short, is `complete`.
infer <- function(task, state) {
  state$iteration <- state$iteration + 1L
  state <- set_schedule(task, state)
  result <- pass(task, state)
  if (identical(task$control$hold, "auto") && !is.null(state$selected)) {
    state$kept_share <- kept_share(state$selected, result)
  }
  state[inferred] <- result[inferred]
  state$may_rest <- FALSE
  state$stats <- result$stats
  state["events"] <- list(NULL)
  state$complete <- c(state[inferred], list(params = state$params, memory = state$memory))
  state
}

# Maximise, mend, learn the selection for the next update.
maximise <- function(task, state) {
  state$running <- blend_stats(task, state, state$stats)
  state["stats"] <- list(NULL)
  maximised <- mstep_model(task$model, state$params, state$running)
  before <- state$params
  state$params <- maximised$params
  mended <- mend_params(task, state, state$running, before)
  state$events <- c(maximised$events, mended$events)
  state <- take_units(task, state, mended$rescale)
  state$running <- settle_stats(task$model, state$running)
  state <- raise_noise(task, take_mended(state, mended))
  state$memory <- learn_selector(task$selector, task, state)
  state$events <- c(state$events, refit_skipped = sum(state$memory$skipped))
  # What was learned from the E-step belongs to it; its sums are in there.
  state$complete["memory"] <- list(state$memory)
  state$complete["sums"] <- list(NULL)
  state
}

# What a state takes over from a pass. `value` is there where states are sampled, `sums` where the
# selector learns from sums over blocks.
inferred <- c("selected", "prob_on", "value", "bound", "bound_error", "evaluations", "sums")

# The model's own repairs of its parameters. What they need of the data is in `progress`: `before`
# are the parameters before the M-step, `notes` is what they said last time.
mend_params <- function(task, state, stats, before) {
  progress <- c(state[c("selected", "prob_on", "bound", "iteration", "is_early", "is_polishing",
                        "notes")],
                list(y = task$y, n_threads = task$n_threads, seed = task$seed,
                     is_monotone = task$control$monotone, is_batch = !is.null(task$batch_scale),
                     before = before))
  mend_model(task$model, state$params, stats, progress)
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

# A state before its first iteration. `start` numbers the random streams: 0 is the main run.
# `is_early`: explorers are many, and annealing, if there is any, is not over.
new_state <- function(params, start, explore, memory = NULL, is_early = explore > 0) {
  list(params = params, start = start, iteration = 0L, explore = explore, beta = 1, memory = memory,
       selected = NULL, prob_on = NULL, value = NULL, bound = -Inf, bound_error = 0,
       bounds = numeric(), is_polishing = FALSE, is_early = is_early, noise_floor = 0,
       trace = list())
}

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

# EM until it settles, its iterations are used up, time is out, or the user interrupts. Adds
# `status` to the state.
run_em <- function(task, state) {
  state$status <- "max_iter"
  control <- task$control
  while (state$iteration < task$max_iter) {
    state <- try_step(task, state)
    show_progress(task, state)
    if (!is.null(state$cut)) {
      state$status <- state$cut$status
      break
    }
    if (elapsed() > task$deadline) {
      state$status <- "time_limit"
      break
    }
    is_at_rest <- is_cold(state) && has_come_to_rest(task, state)
    if (is_held_back(task) && (is_at_rest || is_free_due(task, state))) {
      task <- free_task(task)
      state <- free_state(state)
    } else if (is_at_rest) {
      if (!control$polish || !has_to_polish(task, state)) {
        state$status <- "converged"
        break
      }
      state <- start_polish(state)
    }
  }
  state
}

# The main run of a fit from scratch, by a model that holds something fixed until components stand.
hold_back <- function(task) {
  held <- hold_model(task$model)
  if (!identical(held, task$model)) task[c("free_model", "model")] <- list(task$model, held)
  task
}

is_held_back <- function(task) !is.null(task$free_model)

free_task <- function(task) {
  task$model <- task$free_model
  task["free_model"] <- list(NULL)
  task
}

# Components stand where the bound is flat and no move improves them; in time for what is freed to
# settle, too.
is_free_due <- function(task, state) {
  if (state$iteration >= task$max_iter / 2) return(TRUE)
  has_moves <- task$control$mend && is.null(task$batches) && length(state$mended_at) == 0
  is_cold(state) && !has_moves && is_flat(task, state)
}

# The state with nothing held fixed from here on: bounds rise again, and moves may be of use.
free_state <- function(state) {
  state$bounds <- numeric()
  state["mended_at"] <- list(NULL)
  add_event(state, "freed")
}

# An event of the last iteration, in the trace.
add_event <- function(state, event) {
  last <- length(state$trace)
  if (last == 0) return(state)
  events <- c(state$trace[[last]]$events, paste(event, 1))
  state$trace[[last]]$events <- paste(events[nzchar(events)], collapse = ", ")
  state
}

has_come_to_rest <- function(task, state) {
  is_batched <- !is.null(task$batches)
  is_noisy <- state$explore > 0 || task$method == "gibbs" || is_batched
  window <- if (is_batched) batch_window else settle_window
  has_settled(state$bounds, task$control$tol * n_points(task$y), is_noisy, window) &&
    !(state$explore == 0 && !is_batched && swings(task, state, window))
}

# A sampled bound that goes up and down by far more than sampling explains alternates between
# selections: it has not come to rest.
swings <- function(task, state, window) {
  if (task$method != "gibbs") return(FALSE)
  errors <- vapply(utils::tail(state$trace, 2 * window), `[[`, 1, "bound_error")
  is_swinging(utils::tail(state$bounds, 2 * window), errors, n_points(task$y))
}

is_swinging <- function(bounds, errors, n_points) {
  stats::var(bounds) > 25 * (mean(errors^2) + (swing_nats * n_points)^2)
}

# Whether a sampled fit ended while its bound went up and down, rather than up.
ended_swinging <- function(fit) {
  trace <- utils::tail(fit$trace, 2 * settle_window)
  if (fit$method != "gibbs" || !is.null(fit$control$batch_size) || fit$status == "converged" ||
      nrow(trace) < 2 * settle_window || any(trace$explore > 0)) return(FALSE)
  has_settled(trace$bound, 1e-12, TRUE) && is_swinging(trace$bound, trace$bound_error, fit$n_points)
}

describe_iterations <- function(fit) {
  paste0(plural(fit$n_iter, "iteration"), if (ended_swinging(fit))
    ", its bound going up and down by more than its error")
}

# Nats a point that no sampling error is trusted to be below.
swing_nats <- 0.02

# A fit without explorers and annealing has nothing to polish.
has_to_polish <- function(task, state) {
  !state$is_polishing && (state$explore > 0 || !is.null(task$noise))
}

# A step and what mending made of it, or as much of that as was complete when it was cut short; or
# an error that says where the fit was and carries the last good state.
try_step <- function(task, state) {
  where <- sprintf("Iteration %d of %s", state$iteration + 1L, phase_name(state))
  step <- if (is.null(task$batches)) step_in_parts else em_step
  with_last_state(where, state, step(task, state))
}

step_in_parts <- function(task, state) {
  began <- elapsed()
  expected <- until_cut(deadline_of(task, state), has_fit(task, state), infer(task, state))
  if (is_cut(expected)) return(cut_state(state, expected))
  is_safe <- has_fit(task, expected)
  stepped <- until_cut(task$deadline, is_safe, maximise(task, expected))
  if (is_cut(stepped)) return(cut_state(end_step(task, expected, began), stepped))
  stepped <- end_step(task, stepped, began)
  mended <- until_cut(task$deadline, is_safe, mend(task, stepped))
  if (is_cut(mended)) return(cut_state(stepped, mended))
  # Slots may be kept unless something else than the M-step has changed what they are for.
  mended$may_rest <- !stepped$is_moved && identical(mended$params, stepped$params) &&
    has_slowed(task, stepped)
  mended
}

# Whether an iteration changes the parameters so little that not each needs new slots.
has_slowed <- function(task, state) {
  last <- utils::tail(state$bounds, 2)
  length(last) == 2 && is.finite(last[1]) && abs(diff(last)) < slow_rise * n_points(task$y)
}

# Nats a point.
slow_rise <- 0.1

# Evaluates `code`; an error says where the fit was and carries the last good state.
with_last_state <- function(where, state, code) {
  tryCatch(code, error = function(condition) {
    if (is_time_limit(condition)) stop(condition)
    class <- sub("gps_error_", "", grep("^gps_error_", class(condition), value = TRUE))
    if (is_memory_error(condition)) class <- "memory"
    gps_abort(sprintf("%s: %s", where, conditionMessage(condition)),
              if (length(class) > 0) class else "model", state = state["params"],
              parent = condition)
  })
}

phase_name <- function(state) {
  if (state$start > 0) sprintf("start %d", state$start) else "the main run"
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

# Columns of the trace, as empty vectors of their types.
trace_columns <- list(start = integer(), iteration = integer(), bound = numeric(),
                      bound_error = numeric(), temperature = numeric(), explore = numeric(),
                      refit = logical(), jitter = numeric(), events = character(),
                      evaluations = numeric(), seconds = numeric())

trace_frame <- function(rows) {
  filled <- Map(function(empty, name) c(empty, unlist(lapply(rows, `[[`, name))),
                trace_columns, names(trace_columns))
  as.data.frame(filled, stringsAsFactors = FALSE)
}

show_progress <- function(task, state) {
  if (!task$control$progress) return(invisible())
  cat(sprintf("\r%s, %s %d of at most %.0f, bound %.2f ", phase_name(state),
              if (is.null(task$batches)) "iteration" else "update", state$iteration, task$max_iter,
              state$bound))
  utils::flush.console()
}
