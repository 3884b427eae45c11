# Short starts: local optima are told apart by the bound, so several short runs on few rows choose
# where the fit begins.

# Rows that starts are judged on, of those they did not see: at most, and at fewest.
judge_rows <- c(1000L, 200L)

# Bounds that differ by less than so many nats a number of the data are of one optimum: the first
# start goes on, lest rounding should choose among them. No share of the bound, which grows with the
# unit of the data.
equal_bounds <- 1e-9

# The state to go on from, with the table of starts in `starts`. `results` are those of starts that
# are over already.
choose_start <- function(task, results = list()) {
  rows <- sample_rows(task)
  short <- restrict_task(task, rows)
  run <- run_starts(task, short, as.list(results))
  is_whole <- vapply(run$results, function(result) is.null(result$failure), NA)
  states <- lapply(run$results[is_whole], `[[`, "state")
  is_cut_short <- !is.null(run$cut) || is_past(task$deadline)
  if (is_cut_short) close_keeper(task)
  unseen <- if (!is_cut_short) restrict_unseen(task, rows)
  bounds <- vapply(states, judge_start, 1, lean_task(short), unseen)
  best <- first_of_best(bounds, n_dims(task$y))
  state <- start_from(task, short, states[[best]], run$cut)
  state$starts <- data.frame(start = which(is_whole), bound_per_point = bounds,
                             chosen = seq_along(states) == best,
                             rows = as.integer(n_points(short$y)),
                             unseen = if (is.null(unseen)) 0L else as.integer(n_points(unseen$y)))
  state["failed_starts"] <- list(tell_failures(run$results))
  if (task$control$keep_starts) state$start_params <- lapply(states, `[[`, "params")
  kept <- if (task$control$trace) states else states[best]
  state$trace <- unlist(lapply(kept, `[[`, "trace"), recursive = FALSE)
  state
}

first_of_best <- function(bounds, n_dims) which(bounds >= max(bounds) - equal_bounds * n_dims)[1]

# All starts after those that are over, which share the learned kernel and its factorisation:
# list(results, cut). A result is list(state), or list(failure), the error of a start that failed.
# They go on without it, unless all fail.
run_starts <- function(task, short, results) {
  cut <- NULL
  for (number in setdiff(seq_len(task$control$n_starts), seq_along(results))) {
    states <- Filter(Negate(is.null), lapply(results, `[[`, "state"))
    # What an interrupt in this one leaves is the one before.
    short$has_fit <- length(states) > 0 && !short$is_part
    memory <- if (length(states) > 0) share_memory(states[[length(states)]]$memory)
    state <- tryCatch(run_start(short, number, memory), gps_error = identity)
    if (inherits(state, "gps_error")) {
      results[[number]] <- list(failure = state)
    } else {
      cut <- if (is_cut(state)) state else state$cut
      if (!is.null(state$complete)) results[[number]] <- list(state = state)
    }
    is_whole <- is.null(cut) && !identical(state$status, "time_limit")
    if (is_whole && !is.null(task$keeper)) keep_point(task, results = results)
    if (!is_whole || is_past(task$deadline)) break
  }
  has_failed <- !vapply(results, function(result) is.null(result$failure), NA)
  if (all(has_failed)) stop(results[[1]]$failure)
  list(results = results, cut = cut)
}

# A data frame of the starts that failed, or NULL.
tell_failures <- function(results) {
  failures <- lapply(results, `[[`, "failure")
  has_failed <- !vapply(failures, is.null, NA)
  if (!any(has_failed)) return(NULL)
  data.frame(start = which(has_failed),
             message = vapply(failures[has_failed], conditionMessage, ""))
}

# A short start: the model's own, or one begun with a simpler model where there is one. What cuts it
# short before it has an E-step of its own model leaves nothing of it.
run_start <- function(short, number, memory) {
  simple <- if (is_begun_simply(number)) simple_task(short)
  first <- if (is.null(simple)) short else simple
  state <- until_cut(Inf, has_fit(short), begin_state(first, number, memory))
  if (is_cut(state)) return(state)
  state <- run_em(lean_task(first), state)
  if (is.null(simple)) return(state)
  state["complete"] <- list(NULL)
  if (!is.null(state$cut) || state$status == "time_limit") return(state)
  state$params <- from_simple(short$model, state$params)[names(short$model$params)]
  state["value"] <- list(NULL)
  short$max_iter <- simple$max_iter + simple_iterations
  run_em(lean_task(short), add_event(state, "simpler"))
}

# Two starts of three, and the first is not one of them.
is_begun_simply <- function(number) number %% 3 != 1

# Iterations of the model itself after those of the simpler one, before bounds are compared; and up
# to how many states the simpler one is summed over where the model is sampled.
simple_iterations <- 4L
simple_states <- 256

# The task of the simpler model; NULL where there is none, or a user's function ranks by parameters
# that it does not have. What is to be said of the data has been said of the model itself.
simple_task <- function(short) {
  model <- simple_model(short$model)
  is_custom <- inherits(short$selector, "gps_selector_custom")
  if (is.null(model) || is_custom && !selects_all(short)) return(NULL)
  short$model <- suppressWarnings(bind_model(model, short$moments), classes = "gps_warning")
  if (count_states(model$rule, short$n_selected, short$max_active) <= simple_states) {
    short$method <- resolve_method(short$control$method, model, short$n_selected, short$max_active)
  }
  short$states <- build_states(model, short$n_selected, short$max_active, short$method)
  short
}

# The state that the main run begins with, after a short start. Where the starts were cut short it
# is the end of the fit if it has a complete E-step of all data points; else there is still one to
# make.
start_from <- function(task, short, chosen, cut) {
  state <- allowInterrupts(continue_state(task, short, chosen))
  if (is.null(cut) || is.null(state$complete)) return(state)
  state$status <- cut$status
  cut_state(state, cut)
}

# The bound a point of a start: of rows that it did not see, ranked by the model itself and screened
# as in the fit; or of its own rows where all were seen.
judge_start <- function(state, lean, unseen) {
  if (is.null(unseen)) return(state$bound / task_weight(lean))
  unseen$model <- lean$model
  state[c("explore", "beta", "is_polishing")] <- list(0, 1, FALSE)
  state[per_point] <- list(NULL)
  pass(unseen, state, want = character())$bound / task_weight(unseen)
}

# The task on rows that the starts do not see; NULL where these are too few, or the model cannot
# rank them.
restrict_unseen <- function(task, rows) {
  n_points <- n_points(task$y)
  if (is.null(rows) || n_points - length(rows) < judge_rows[2]) return(NULL)
  if (!judges_unseen(task$model)) return(NULL)
  drawn <- with_seed(task$seed, -3, {
    sample.int(n_points, min(n_points, length(rows) + judge_rows[1]))
  })
  task <- restrict_task(task, sort(utils::head(setdiff(drawn, rows), judge_rows[1])))
  if (!inherits(task$selector, "gps_selector_full")) {
    screen <- task$selector$screen
    task$selector <- selector_handcrafted(screen = FALSE)
    task$selector$screen <- screen
  }
  task
}

# The task that a start runs with.
lean_task <- function(short) {
  n_rows <- n_points(short$y)
  short$model <- start_model(hold_model(short$model, n_rows), n_rows)
  short
}

# Parameters drawn for one start from the model's own initialisation, and the first expectations:
# what the initialisation knows of some data points, or random ones.
begin_state <- function(task, number, memory = NULL) {
  rows <- if (is_source(task$y)) sample_rows(task)
  drawn <- with_patience(task$deadline, with_seed(task$seed, number, {
    init_rows(task$model, task$y, rows, task$weights)
  }))
  params <- drawn$value
  labels <- attr(params, "labels")
  state <- new_state(check_all_params(task$model, params, "init"), number, task$explore, memory,
                     begins_early(task))
  state["late"] <- list(drawn$late)
  if (!is.null(labels) && takes_labels(task)) {
    state <- add_labels(empty_slots(task, state), labels)
  }
  if (!selects_all(task) && is.null(task$batches)) {
    state <- begin_ranking(task, state, begin_memory(task$selector, task, state))
  }
  state
}

begins_early <- function(task) task$explore > 0 || !is.null(task$noise)

# Labels are for who looks at what was selected last: screening that draws candidates beside it, or
# a selector that regresses it.
takes_labels <- function(task) {
  is_learned <- learns_ranking(task) &&
    (is.null(task$batches) || isTRUE(task$selector$by_candidates))
  draws_candidates(task$model) || is_learned
}

# A fit that grows begins on a few data points, at the first temperature and noise floor; the
# selector that has learned there ranks for all others.
grows <- function(task) !is.null(task$control$grow) && task$control$grow < n_points(task$y)

grow_iterations <- 20L

grow_start <- function(task) {
  short <- restrict_task(task, sampled_rows(task, task$control$grow, 0))
  short$control$hold <- short$max_iter <- grow_iterations
  chosen <- run_em(lean_task(short), allowInterrupts(begin_state(short, 1L)))
  if (!is.null(chosen$cut) || chosen$status == "time_limit") close_keeper(task)
  state <- start_from(task, short, chosen, chosen$cut)
  state$held <- 0L
  state$notes <- chosen$notes
  state$trace <- chosen$trace
  state
}

# What one start hands to the next: kernel and factorisation, not what was regressed on them. No
# further refits.
share_memory <- function(memory) {
  if (is.null(memory$prepared)) return(NULL)
  memory[c("affinity", "targets", "trained", "cross")] <- NULL
  memory$last_refit <- Inf
  memory
}

# The chosen start as the first state of the main run. On sampled rows only the parameters go on,
# and what the Gaussian process of these rows predicts for all.
continue_state <- function(task, short, chosen) {
  state <- new_state(chosen$params, 0L, task$explore, is_early = begins_early(task))
  if (n_points(short$y) == n_points(task$y)) {
    kept <- c(inferred, "memory", "complete")
    state[kept] <- chosen[kept]
    if (!is.null(state$memory$last_refit)) state$memory$last_refit <- -Inf
  } else {
    state["memory"] <- list(grow_memory(task$selector, task, short, chosen))
  }
  state
}

# Affinities of all points from a selector that has learned on some of them.
grow_memory <- function(selector, task, short, state) UseMethod("grow_memory")

#' @export
grow_memory.default <- function(selector, task, short, state) NULL

#' @export
grow_memory.gps_selector_gp <- function(selector, task, short, state) {
  memory <- state$memory
  # A start that a time limit has cut before it could rank.
  if (is.null(memory)) return(NULL)
  if (isTRUE(selector$by_sums)) {
    # Sums of sampled rows rank for all points: no point is left out of them.
    memory$last_refit <- -Inf
    memory[c("kept", "targets")] <- list(NULL, NULL)
    return(memory)
  }
  grown <- new_gp_memory(memory$theta, memory$units)
  grown[c("began", "refits", "r2")] <- memory[c("began", "refits", "r2")]
  prepared <- memory$prepared
  is_sparse <- has_sparse_targets(selector, task)
  if (!is_sparse) {
    # Blocks of all data mean nothing to few of them.
    selector$method <- "exact"
    prepared <- NULL
  } else if (!identical(ncol(prepared$y), n_points(short$y))) {
    prepared <- NULL
  }
  grown$trained <- train_engine(selector, task$model, memory$theta, short$y, memory$units, state,
                                task$n_threads, is_sparse, prepared)
  grown
}
