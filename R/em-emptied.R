# Emptying latents that are surplus: which could go, at which price, and how others take their
# place; and those that are parts of one. What a latent that is out of the model is: model-params.R.

# What the bound would lose without each latent at the parameters as they are, [H]: where a latent
# is on, others may take its place, those that the model ranks best or that were selected beside it;
# everywhere its prior is saved. Latents that are out cost nothing. `result` is a pass over the
# task.
surplus_costs <- function(task, state, result) {
  model <- task$model
  weights <- result$weights
  is_on <- result$selected > 0 & result$prob_on > least_on
  is_off <- result$selected > 0 & !is_on
  cost <- sums_by(weigh_columns(loss_without(result$prob_on), weights)[is_off],
                  result$selected[is_off], model$n_latents)
  at <- which(is_on, arr.ind = TRUE)
  for (part in in_pieces(seq_len(nrow(at)), block_doubles %/% point_doubles(model))) {
    points <- at[part, 2]
    latents <- result$selected[at[part, , drop = FALSE]]
    loss <- result$log_evidence[points] - evidence_without(task, state, result, points, latents)
    cost <- cost + sums_by(weigh(loss, weights[points]), latents, model$n_latents)
  }
  cost + task_weight(task) * log1p(-rep_len(state$params$pi, model$n_latents)) *
    is_in_model(state$params)
}

# Log evidence of some points, each without one latent.
evidence_without <- function(task, state, result, points, latents) {
  y <- task$y[, points, drop = FALSE]
  block <- new_block(0, length(points), missing = cut_missing(task$missing, points))
  inputs <- block_inputs(task$model, state$params, y, block)
  evidence <- function(slots) {
    infer_slots(task, state, inputs, y, block, slots, state$start)$log_evidence
  }
  last <- leave_out_each(result$selected[, points, drop = FALSE], latents)
  if (nrow(last) >= n_left(task$model, state$params)) return(evidence(last))
  pmax(evidence(last), evidence(best_without(task, state, inputs, y, block, latents)))
}

# Slots of what the model itself ranks best, each point without one latent.
best_without <- function(task, state, inputs, y, block, latents) {
  affinity <- block_handcrafted(task$model, inputs, y, block, task$n_threads)
  affinity[cbind(latents, seq_along(latents))] <- -Inf
  state$explore <- 0
  select_left(task, state, block, affinity, emptied_inputs(inputs))
}

# Emptying the latents that seem to be surplus, cheapest first. What a few iterations make good of
# the loss is not known before: those are tried whose loss is small beside that of others, too.
# The bound falls a little, which a monotone fit must not. Slots drawn at random would hold the
# others more often without a latent, however much that is needed: none leaves then.
emptying_moves <- function(task, state, cost, n_most) {
  left <- setdiff(seq_along(cost), emptied_latents(task$model, state$params))
  if (!may_empty(task) || length(left) < 2) return(list())
  limit <- max(4 * latent_price(task), trial_loss * max(cost))
  tried <- left[order(cost[left])]
  tried <- utils::head(tried[cost[tried] < limit], n_most)
  lapply(tried, function(h) {
    list(params = empty_params(state$params, h), latents = integer(), emptied = h,
         event = "emptied")
  })
}

trial_loss <- 0.1

may_empty <- function(task) {
  can_empty(task$model) && !task$control$monotone &&
    !inherits(task$selector, "gps_selector_random")
}

# Latents that are on in the very same points are parts of one cause, such as a row far from all
# others: the bound would lose much without each of them, so that none would leave by its cost. One
# stands for all of them, and the others leave. `on` [H x N]; `value` as own_moves() has it.
joining_moves <- function(task, params, on, value) {
  if (!may_empty(task)) return(list())
  groups <- same_rows(on > 0.5)
  joined <- Reduce(function(params, group) {
    if (!is.null(params)) join_components(task$model, params, group, value[group, , drop = FALSE])
  }, groups, params)
  if (length(groups) == 0 || is.null(joined)) return(list())
  gone <- unlist(lapply(groups, `[`, -1))
  list(list(params = empty_params(joined, gone), latents = integer(), emptied = gone,
            event = "joined", times = length(gone)))
}

# Groups of rows of a logical matrix that are the same, of those that are not all FALSE.
same_rows <- function(x) {
  count <- rowSums(x)
  at <- which(count > 0)
  groups <- split(at, paste(count, drop(x %*% seq_len(ncol(x))))[at])
  groups <- lapply(groups[lengths(groups) > 1], function(rows) {
    beside <- x[rows, , drop = FALSE]
    rows[rowSums(beside != rep(beside[1, ], each = length(rows))) == 0]
  })
  unname(groups[lengths(groups) > 1])
}

# Parameters in which the first of some latents stands for the sum of all of them, whose values are
# [n x N], 0 where they are off; NULL for models that do not add components up.
join_components <- function(model, params, latents, value) UseMethod("join_components")

#' @export
join_components.default <- function(model, params, latents, value) NULL

# Half of log N for each free parameter, as far as the task's rows go.
parameter_price <- function(task, params) half_log(task) * count_used(task$model, params)

# Free parameters in use, where their number can change; else 0.
count_used <- function(model, params) UseMethod("count_used")

#' @export
count_used.default <- function(model, params) {
  if (can_empty(model)) count_free(model, n_left(model, params)) else 0
}

# The same for one latent.
latent_price <- function(task) {
  half_log(task) * (count_free(task$model) - count_free(task$model, task$model$n_latents - 1L))
}

half_log <- function(task) 0.5 * log(task$n_whole) * task_weight(task) / task$n_whole

# An iteration after latents have left: where they were on, others must be found in their places
# at once, or a single point that has not found them would keep what is surplus.
leave_step <- function(task, state, latents) {
  had <- colSums(array(state$selected %in% latents & state$prob_on > least_on,
                       dim(state$selected))) > 0
  state <- relabel_slots(state, replace(seq_len(task$model$n_latents), latents, 0L))
  if (selects_all(task)) return(em_step(task, state))
  slots <- if (is.null(task$selector$screen)) {
    rank_beside(task, state)
  } else {
    search_instead(task, state, had)
  }
  step_given(task, state, slots)
}

# Slots of the latents that are on and of those that the model ranks best beside them: without a
# screen no selector knows yet which are needed now.
rank_beside <- function(task, state) {
  do.call(cbind, map_blocks(task, function(task, block) {
    inputs <- block_inputs(task$model, state$params, task$y, block)
    affinity <- block_handcrafted(task$model, inputs, task$y, block, task$n_threads)
    selected <- block_slots(state$selected, block)
    on <- which(selected > 0 & block_slots(state$prob_on, block) > least_on)
    affinity[cbind(selected[on], col(selected)[on])] <- Inf
    state$explore <- 0
    select_left(task, state, block, affinity, emptied_inputs(inputs))
  }))
}

# Slots after some rounds of screening in the points that `had` what has left, of the others as they
# are.
search_instead <- function(task, state, had) {
  task$selector$screen <- searching_screen(task)
  do.call(cbind, map_blocks(task, function(task, block) {
    selected <- block_slots(state$selected, block)
    points <- which(had[block_columns(block)])
    if (length(points) == 0) return(selected)
    part <- pick_points(task, state, block, points)
    state[c("selected", "prob_on")] <- list(NULL)
    affinity <- block_handcrafted(task$model, part$inputs, part$task$y, part$block, task$n_threads)
    found <- select_ranked(part$task, state, part$block, part$inputs, affinity)
    selected[, points] <- improve_slots(part$task, state, part$block, affinity, found,
                                        searching_rounds)
    selected
  }))
}

searching_rounds <- list(most = 6L, patience = 3L)

# One that tries many latents in the state of a point: what has left may have been a sum of two that
# others stand for now.
searching_screen <- function(task) {
  screen <- task$selector$screen
  if (is.null(screen$inserts)) screen$inserts <- min(task$model$n_latents, most_inserts)
  screen
}

most_inserts <- 32L
