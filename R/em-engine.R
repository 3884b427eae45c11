# Which engine "auto" stays with, judged once early in the main run by what two of them rank at the
# same expectations: of the latents that are on in some data points, the share that stands among the
# best ones.

# The iterations after which engines are compared, if too little was on before to tell; the data
# points that they are compared on, and how many latents have to be on in these.
compare_after <- c(3L, 6L, 12L, 24L)
compared_points <- 128L
least_compared <- 32L

# Whether engines are to be compared in the main run of a task: where selection by neighbours would
# take less time than the sums over basis functions that "auto" begins with. Neighbours of latents
# with places there are none, nor of points in batches; and who gives a `rank` has it of one engine.
may_compare <- function(task) {
  selector <- task$selector
  isTRUE(selector$is_auto) && is.null(task$given$selector$rank) &&
    is.matrix(task$y) && is.null(task$missing) && is.null(task$batches) &&
    isTRUE(selector$by_sums) && can_screen(task$model) &&
    !selects_all(task) && length(falling_factors(selector$kernel)) > 0 &&
    near_cost(n_points(task$y), n_dims(task$y)) < sums_cost(selector$rank, task$model$n_latents)
}

is_compare_due <- function(state) {
  is.null(state$engine) && state$iteration %in% compare_after && !is.null(state$memory$cross)
}

# The state with what was found: list(method, rank, recall, why), and with a memory of the engine
# where it is another one.
compare_engines <- function(task, state) {
  recall <- engine_recalls(task, state)
  if (anyNA(recall)) return(state)
  near <- near_selector_of(task$selector)
  is_near <- recall[["near"]] >= recall[["sums"]]
  best <- if (is_near) near else task$selector
  state$engine <- list(method = best$method, rank = best$rank, recall = recall,
                       why = say_recall(recall, is_near, task))
  if (!is_near) return(state)
  task <- take_engine(task, state)
  memory <- new_gp_memory(state$memory$theta, state$memory$units)
  taken <- c("began", "refits", "r2", "last_refit")
  memory[taken] <- state$memory[taken]
  state["sums"] <- list(NULL)
  state$memory <- regress_targets(task$selector, task, memory,
                                  state_targets(task$selector, task, state))
  state$complete["memory"] <- list(state$memory)
  state$complete["sums"] <- list(NULL)
  state
}

# The task with the engine that a state has chosen.
take_engine <- function(task, state) {
  chosen <- state$engine
  if (identical(task$selector$why, chosen$why)) return(task)
  if (chosen$method == "neighbours") task$selector <- near_selector_of(task$selector)
  task$selector$why <- chosen$why
  task$selector <- resolve_selector(task$selector, task$model)
  task$blocks <- split_blocks(n_points(task$y), task_doubles(task))
  task
}

near_selector_of <- function(selector) {
  selector$method <- "neighbours"
  selector$rank <- check_rank(NULL, "neighbours", Inf)
  selector
}

# c(sums, near): NA where few latents are on in the points.
engine_recalls <- function(task, state) {
  points <- spaced_points(n_points(task$y), compared_points)
  found <- refer_points(point_task(task, points), state$params, plan_reference(task),
                        state$selected[, points, drop = FALSE])
  on <- ifelse(found$prob_on > 0.5, found$slots, 0L)
  c(sums = recall_of(sums_answer(task, state, points), on, task$n_selected),
    near = recall_of(near_answer(task, state, points), on, task$n_selected))
}

# Leave-one-out predictions of some points, H x points: of the present engine, and of neighbours.
sums_answer <- function(task, state, points) {
  memory <- state$memory
  view <- memory_view(task, memory, rows_data(task$y, points))
  view_means(memory$prepared, memory$cross, view, cut_targets(memory$targets, points),
             memory$weight)
}

near_answer <- function(task, state, points) {
  selector <- near_selector_of(task$selector)
  memory <- state$memory
  engine <- plan_selection(selector, task$model, memory$theta, in_units(task$y, memory$units),
                           task$n_threads)
  engine <- engine_prepare(engine, memory$theta)
  at <- columns_of(engine$y, points)
  near <- find_near(engine, at, as.integer(points))
  targets <- held_targets(engine, slot_targets(state, task$model))
  answer <- near_means(engine, near, near_weights(engine, at, near)$weights, targets,
                       seq_along(points))
  rank_answer(answer, task$model$n_latents)
}

# Of the latents that are `on`, any x points (0: none), those among the `n_best` of affinities
# [H x points] above 0, as a share of as many as could be there.
recall_of <- function(affinity, on, n_best) {
  hits <- vapply(seq_len(ncol(on)), function(n) {
    latents <- on[on[, n] > 0, n]
    best <- utils::head(order(-affinity[, n]), n_best)
    best <- best[affinity[best, n] > 0]
    c(sum(latents %in% best), min(length(latents), n_best))
  }, c(1, 1))
  if (sum(hits[2, ]) < least_compared) NA_real_ else sum(hits[1, ]) / sum(hits[2, ])
}

# The reason in words, after "chosen".
say_recall <- function(recall, is_near, task) {
  percent <- vapply(100 * recall, plain_number, "", 3)
  own <- percent[[if (is_near) "near" else "sums"]]
  other <- percent[[if (is_near) "sums" else "near"]]
  sprintf("by recall on %d data points: %s %% of the latents on among the best %d, %s %s %%",
          min(compared_points, n_points(task$y)), own, as.integer(task$n_selected),
          if (is_near) "incomplete Cholesky" else "neighbours", other)
}
