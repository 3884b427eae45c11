# The end of a fit: its last pass, and whether it has to go on with more selected latents.

# One last pass without explorers, so that slots, bound and parameters belong together. A fit that
# was cut short, before or in here, ends with its last complete E-step instead.
finish <- function(task, state) {
  complete <- complete_batches(state)
  if (!is.null(complete)) state$complete <- complete
  is_cut_short <- state$status %in% c("interrupted", "time_limit")
  if (is_cut_short && !is.null(state$complete)) return(widen_slots(task, take_complete(state)))
  result <- try_last_pass(task, state)
  if (is_cut(result)) {
    state$status <- result$status
    return(widen_slots(task, take_complete(state)))
  }
  state[inferred] <- result[inferred]
  # The sums of all points predict; what the batches have left of them was for the next update.
  if (!is.null(state$batches) && !is.null(result$sums$gram)) {
    state$memory <- prepare_basis(task$selector, task, state$memory, result$sums)
  }
  state
}

try_last_pass <- function(task, state) {
  deadline <- deadline_of(task, state)
  is_safe <- has_fit(task, state)
  state$explore <- 0
  state$beta <- 1
  state$iteration <- state$iteration + 1L
  state$is_last <- TRUE
  with_last_state("The last pass", state, until_cut(deadline, is_safe, if (is.null(state$batches)) {
    pass(task, state, want = character())
  } else {
    pass_batches(task, state)
  }))
}

# list(task, state, chosen) of a fit whose `n_selected` was chosen by a pilot: where its own
# parameters need more latents it goes on with more. What cuts that short leaves the fit as it was.
widen_fit <- function(task, state, chosen) {
  ended <- list(task = task, state = state, chosen = chosen)
  if (is.null(chosen) || state$status %in% c("interrupted", "time_limit")) return(ended)
  for (round in 0:most_widened) {
    judged <- until_cut(task$deadline, TRUE, judge_chosen(ended$task, ended$state, ended$chosen,
                                                          round < most_widened))
    if (is_cut(judged)) return(cut_widening(ended, judged$status))
    ended$chosen$mass <- judged$mass
    if (is.null(judged$wider)) break
    task <- wider_task(ended$task, judged$wider$chosen, chosen$max_active)
    state <- run_em(task, clear_slots(task, ended$state))
    if (is.null(state$complete)) return(cut_widening(ended, state$status))
    task$has_fit <- FALSE
    ended[c("task", "state")] <- list(task, finish(task, state))
    ended$chosen[c("n_selected", "sizes")] <- list(judged$wider$chosen, judged$wider)
    ended$chosen$why <- "captured at the fit's own parameters"
  }
  ended
}

cut_widening <- function(ended, status) {
  if (status == "interrupted") ended$state$status <- status
  ended
}
