# The loop around em_step(): iterations until the bound is at rest, what holds parameters back
# before, the polish at the end, what cuts a fit short, and what it tells meanwhile where somebody
# sees it.

# EM until it settles, its iterations are used up, time is out, or the user interrupts. Adds
# `status` to the state.
run_em <- function(task, state) {
  state$status <- "max_iter"
  control <- task$control
  if (!is.null(state$engine)) task <- take_engine(task, state)
  while (state$iteration < task$max_iter) {
    if (!is.null(task$keeper)) keep_point(task, state = state)
    before <- state
    state <- try_step(task, state)
    if (state$limited && !before$limited) keep_fork(task, before)
    if (!is.null(state$engine)) task <- take_engine(task, state)
    if (!is.null(task$teller)) show_progress(task, state)
    if (!is.null(state$cut)) {
      state$status <- state$cut$status
      break
    }
    if (is_past(task$deadline)) {
      state$status <- "time_limit"
      break
    }
    is_at_rest <- is_cold(state) && has_come_to_rest(task, state)
    if (is_held_back(task) && (is_at_rest || is_free_due(task, state))) {
      if (!is_at_rest) state <- note_limit(task, state)
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
  is_over <- state$status %in% c("converged", "max_iter")
  if (is_over && !is.null(task$keeper)) keep_point(task, state = state)
  state
}

# Freeing parameters may be due because half of the iterations are over, and for no other reason.
note_limit <- function(task, state) {
  if (state$limited || is_free_due(unlimited(task), state)) return(state)
  keep_fork(task, state)
  state$limited <- TRUE
  state
}

# The main run of a fit from scratch, by a model that holds something fixed until components stand.
hold_back <- function(task) {
  held <- hold_model(task$model, n_points(task$y))
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
  if (state$iteration >= min(task$max_iter / 2, held_iterations(task$free_model))) return(TRUE)
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

# A fit without explorers and annealing has nothing to polish unless its selections alternate, nor
# one whose points keep their best latents anyway.
has_to_polish <- function(task, state) {
  !state$is_polishing && !keeps_best(task) &&
    (state$explore > 0 || !is.null(task$noise) || alternates(task, state))
}

# Where one latent is on in a state, screening fills the slots with those that explain the point
# best, its last ones among them: explorers that are no better never stand in a slot.
keeps_best <- function(task) {
  screen <- task_screen(task)
  task$model$rule$min_active == 1 && !is.null(screen) && screen$keep && !screen$random_slot
}

# An iteration and what mending made of it, or as much of that as was complete when it was cut
# short; or an error that says where the fit was and carries the last good state.
try_step <- function(task, state) {
  step <- if (is.null(task$batches)) step_in_parts else em_epoch
  with_last_state(sprintf("Iteration %d of %s", state$iteration + 1L, phase_name(state)), state,
                  step(task, state))
}

step_in_parts <- function(task, state) {
  began <- elapsed()
  callCC(function(leave) {
    part <- function(before, code) {
      value <- until_cut(deadline_of(task, before), has_fit(task, before), code)
      if (!is_cut(value)) return(value)
      has_begun <- before$iteration > state$iteration
      leave(cut_state(if (has_begun) end_step(task, before, began) else before, value))
    }
    stepped <- end_step(task, em_update(task, state, part), began)
    mended <- stepped
    if (is_mend_due(task, stepped)) {
      mended <- until_cut(task$deadline, has_fit(task, stepped), mend(task, stepped))
      if (is_cut(mended)) leave(cut_state(stepped, mended))
    } else if (!mended$limited) {
      mended$limited <- is_mend_due(unlimited(task), stepped)
    }
    # Slots may be kept unless something else than the M-step has changed what they are for.
    mended$may_rest <- !stepped$is_moved && identical(mended$params, stepped$params) &&
      has_slowed(task, stepped)
    if (!task$may_compare || !is_compare_due(mended)) return(mended)
    compared <- until_cut(task$deadline, has_fit(task, mended), compare_engines(task, mended))
    if (is_cut(compared)) leave(cut_state(mended, compared))
    compared
  })
}

# Evaluates `code`; an error says `where` the fit was and carries the last good state.
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

# Columns of the trace, as empty vectors of their types.
trace_columns <- list(start = integer(), iteration = integer(), bound = numeric(),
                      bound_error = numeric(), temperature = numeric(), explore = numeric(),
                      refit = logical(), jitter = numeric(), events = character(),
                      evaluations = numeric(), seconds = numeric())

trace_frame <- function(rows) {
  filled <- Map(function(empty, name) c(empty, unlist(lapply(rows, `[[`, name))),
                trace_columns, names(trace_columns))
  list2DF(filled)
}

show_progress <- function(task, state) {
  updates_a_pass <- max(1L, length(task$batches))
  step <- if (state$start > 0) {
    (state$start - 1) * task$max_iter + state$iteration
  } else {
    task$teller$n_before + state$iteration / updates_a_pass
  }
  tell(task$teller, step, progress_line(task, state, elapsed() - task$began))
}

# "start 2 of 8, iteration 5 of 12, bound -123.45 (+0.01), 3 s gone, 10 s left", where what is left
# is that of the phase, if it does not end before its last iteration. It is short enough for a
# console of 80 columns.
progress_line <- function(task, state, seconds) {
  phase <- phase_name(state)
  if (state$start > 0 && task$control$n_starts > 1) {
    phase <- sprintf("%s of %d", phase, as.integer(task$control$n_starts))
  }
  bounds <- utils::tail(state$bounds, 2) * task$bound_unit
  change <- if (length(bounds) == 2) sprintf(" (%+.2g)", diff(bounds)) else ""
  own <- utils::tail(vapply(state$trace, `[[`, 1, "seconds"), progress_window)
  updates_a_pass <- max(1L, length(task$batches))
  left <- mean(own) * (task$max_iter - state$iteration) / updates_a_pass
  sprintf("%s, %s %.0f of %.0f, bound %.2f%s, %.0f s gone, %.0f s left", phase,
          if (is.null(task$batches)) "iteration" else "update", state$iteration, task$max_iter,
          state$bound * task$bound_unit, change, seconds, left)
}

# Iterations whose time tells that of the next ones.
progress_window <- 10L

# As messages and the line name what is running.
phase_name <- function(state) {
  if (state$start > 0) sprintf("start %d", state$start) else "the main run"
}
