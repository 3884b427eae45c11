# What selections of several sizes H' capture, at the same parameters and by the same ranking.

# Probability from which on a latent counts as truly probable, where nothing else is said.
probable_default <- 0.1

# A task's own kind of E-step with so many selected latents.
resize_task <- function(task, n_selected, max_active) {
  task$n_selected <- as.integer(n_selected)
  task$max_active <- check_max_active(if (!is.null(max_active)) min(max_active, n_selected),
                                      task$model, task$n_selected)
  task$method <- resolve_method(task$control$method, task$model, task$n_selected, task$max_active)
  task$states <- build_states(task$model, task$n_selected, task$max_active, task$method)
  task
}

# How many states a data point has with so many selected latents.
count_size <- function(model, n_selected, max_active) {
  count_states(model$rule, n_selected, min(n_selected, max_active, model$rule$max_active))
}

# The largest selection whose states are within the limit, of all latents or components.
largest_size <- function(model, max_active) {
  n_choices <- count_choices(model)
  size <- min(2L, n_choices)
  while (size < n_choices && count_size(model, size + 1L, max_active) <= state_limit) {
    size <- size + 1L
  }
  size
}

# The selection of a task's points, whose data are a matrix, as an iteration makes it that has made
# one before: screening then also judges beside what the first has selected. `affinity` is H x n, or
# NULL.
select_size <- function(task, state, affinity) {
  block <- whole_block(task)
  inputs <- block_inputs(task$model, state$params, task$y, block)
  rank <- function(part, inputs) if (!is.null(affinity)) block_slots(affinity, part)
  state[c("explore", "given", "selected", "prob_on", "value", "sought")] <-
    list(0, NULL, NULL, NULL, NULL, NULL)
  state[c("is_early", "may_rest")] <- FALSE
  for (pass in 1:2) {
    selected <- select_latents(task, state, block, inputs, rank)
    attributes(selected) <- list(dim = dim(selected))
    state$selected <- selected
  }
  selected
}

# What one size captures: a row of a table of sizes.
judge_size <- function(task, state, affinity, probable = probable_default) {
  judge_selection(task, state$params, select_size(task, state, affinity), probable)
}

# The same of a selection that is there. Points of a task with weights count by these.
judge_selection <- function(task, params, selected, probable = probable_default) {
  plan <- plan_reference(task)
  found <- refer_points(task, params, plan, selected)
  pairs <- which(found$prob_on >= probable & found$slots > 0, arr.ind = TRUE)
  recall <- if (nrow(pairs) > 0) {
    is_found <- is_in_slots(selected, pairs[, 2], found$slots[pairs])
    mean_of(is_found, task$weights[pairs[, 2]])
  } else {
    NA_real_
  }
  data.frame(n_selected = task$n_selected,
             states = count_states(task$model$rule, task$n_selected, task$max_active),
             mass = mean_of(found$mass, task$weights),
             mass_error = standard_error(found$mass, task$weights),
             gap = mean_of(found$gap, task$weights), bound = mean_of(found$bound, task$weights),
             recall = recall, reference = plan$said)
}

# Of a mean; of one number nothing is known. Weights say how much points count, not that each was
# seen as often.
standard_error <- function(x, weights = NULL) {
  n <- length(x)
  if (n < 2) return(0)
  if (is.null(weights)) return(stats::sd(x) / sqrt(n))
  share <- weights / sum(weights)
  sqrt(sum((share * (x - sum(share * x)))^2) * n / (n - 1))
}

# A table of sizes as its methods show it. `chosen` and `target`: NULL where nothing was chosen.
new_sizes <- function(table, n_points, n_latents, chosen = NULL, target = NULL) {
  structure(list(table = table[order(table$n_selected), ], n_points = n_points,
                 n_latents = n_latents, chosen = chosen, target = target), class = "gps_sizes")
}
