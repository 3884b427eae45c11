# Where a fit begins: short starts, what the user gives, or another fit.

# Short starts, the one start of the paper's algorithm, or where the user says.
first_state <- function(task, start, results = NULL) {
  if (is.null(start) && grows(task)) return(grow_start(task))
  if (is.null(start) && task$control$n_starts > 1) return(choose_start(task, results))
  allowInterrupts(if (inherits(start, "gps_fit")) {
    resume_state(task, start)
  } else {
    given_state(task, start)
  })
}

# The one start of the paper's algorithm, or where the user says.
given_state <- function(task, start) {
  state <- begin_state(task, 1)
  if (!is.null(start)) {
    start <- if (inherits(start, "gps_partition")) {
      partition_params(task, state$params, start)
    } else {
      check_params(task$model, start)
    }
    state$params[names(start)] <- start
    state <- skip_annealing(task, inform_state(task, state))
  }
  state$start <- 0L
  state
}

# Parameters that a user gives know something: the first expectations come from them, by the model's
# own ranking where it has one, not at random.
inform_state <- function(task, state) {
  if (!has_ranking(task$model)) return(state)
  ranked <- task
  ranked$selector <- selector_handcrafted()
  informed <- state
  informed$explore <- 0
  result <- pass(ranked, informed, want = character())
  points <- c("selected", "prob_on", "value")
  state[points] <- result[points]
  state["memory"] <- list(learn_selector(task$selector, task, state))
  state
}

# Go on from a fit: its parameters, and its slots and kernel where they fit the data. On images of
# another size latents have other numbers, and rows of other names are other data.
resume_state <- function(task, fit) {
  fit <- check_fit(fit)
  params <- plus_no_intercept(task$model, stats::coef(fit))
  params <- align_params(task$model, params, "start", task$columns)
  state <- new_state(check_all_params(task$model, params, "start"), 0L, task$explore)
  is_same <- is.null(fit$row_names) || is.null(task$rows) || identical(fit$row_names, task$rows)
  if (is_same && identical(dim(fit$selected), c(task$n_selected, n_points(task$y))) &&
        has_same_places(fit$model, task$model)) {
    slots <- need_slots(fit, "`start`")
    state[c("selected", "prob_on")] <- slots[c("selected", "prob_on")]
    if (task$method == "gibbs") state["value"] <- slots["value"]
    if (!is.null(fit$kernel_theta) && inherits(task$selector, "gps_selector_gp") &&
          length(fit$kernel_theta) ==
            length(theta_names(task$selector$kernel, n_dims(task$y)))) {
      place <- match_columns(fit$col_names, task$columns, "start", "`y`")
      theta <- permute_theta(task$selector$kernel, fit$kernel_theta, place)
      state$memory <- new_gp_memory(theta, permute_units(fit$gp$units, place))
    }
    state["memory"] <- list(learn_selector(task$selector, task, state))
  } else if (is.null(fit$selected)) {
    state <- inform_state(task, state)
  }
  skip_annealing(task, state)
}
