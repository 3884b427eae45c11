# What a fit tells of how far it is, where somebody sees it.

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
