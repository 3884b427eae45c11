# What an audit holds a selection against: the posterior over all states of the model where these
# can be summed over, else over those of many more latents, chosen without the selector's help.

# Most states that are summed over for a data point; of models with one latent on in each state.
whole_states <- c(any = 2^13, one_hot = 2^16)
# Slots that a wider E-step has at least beside those selected, or none is tried.
least_wider <- 4L
# Sweeps of a sampled reference: burnt, kept.
reference_sweeps <- c(50L, 400L)

# list(kind, n_more, states, said): "whole", "wide" or "sampled".
plan_reference <- function(task) {
  model <- task$model
  n_latents <- model$n_latents
  is_one_hot <- model$rule$min_active == 1
  limit <- whole_states[[if (is_one_hot) "one_hot" else "any"]]
  is_exact <- min(n_latents, model$rule$max_active) <= model$exact_active
  if (is_exact && count_whole(model) <= limit) {
    return(list(kind = "whole", states = whole_template(model), n_more = 0L,
                said = sprintf("exact, %s of %s", all_of(count_whole(model), "state"),
                               plural(n_latents, "latent"))))
  }
  n_slots <- as.integer(task$n_selected)
  n_left <- as.integer(n_latents / count_places(model)) - n_slots
  if (is_exact) {
    n_more <- widest(model, n_slots, n_left, limit)
    if (n_more < min(least_wider, n_left) && !can_sample(model)) {
      n_more <- widest(model, n_slots, n_left, state_limit)
      if (n_more < 1) {
        gps_abort(sprintf("`fit` has `n_selected` = %d, beyond which no wider E-step is possible.",
                          n_slots))
      }
    }
    if (n_more >= min(least_wider, n_left)) {
      most <- as.integer(min(n_slots + n_more, model$rule$max_active))
      return(list(kind = "wide", n_more = n_more,
                  states = enumerate_states(model$rule, n_slots + n_more, most),
                  said = sprintf("wider, %d of %d latents for each point", n_slots + n_more,
                                 n_latents)))
    }
  }
  n_more <- min(n_left, n_slots + 10L)
  most <- as.integer(min(n_slots + n_more, model$rule$max_active))
  list(kind = "sampled", n_more = n_more, states = new_states(n_slots + n_more, most, list()),
       said = sprintf("sampled, %d of %d latents for each point", n_slots + n_more, n_latents))
}

count_whole <- function(model) {
  n_places <- count_places(model)
  if (n_places > 1) return((n_places + 1)^(model$n_latents / n_places))
  count_states(model$rule, model$n_latents, min(model$n_latents, model$rule$max_active))
}

# All states over all latents: of latents with places at most one of each component.
whole_template <- function(model) {
  n_places <- count_places(model)
  n_latents <- model$n_latents
  if (n_places == 1) {
    return(enumerate_states(model$rule, n_latents, as.integer(min(n_latents,
                                                                  model$rule$max_active))))
  }
  first <- seq(0, n_latents - 1, by = n_places)
  choice <- t(expand.grid(lapply(first, function(at) c(0, at + seq_len(n_places)))))
  on <- matrix(0L, n_latents, ncol(choice))
  on[cbind(choice[choice > 0], col(choice)[choice > 0])] <- 1L
  template_of(on)
}

# How many slots may be added so that so many states are not exceeded.
widest <- function(model, n_slots, n_left, limit) {
  n_more <- 0L
  while (n_more < n_left) {
    wider <- n_slots + n_more + 1L
    if (count_states(model$rule, wider, min(wider, model$rule$max_active)) > limit) break
    n_more <- n_more + 1L
  }
  n_more
}

# list(slots, prob_on [slots x n], mass [n], gap [n], bound [n]) of the points of a task, whose data
# are a matrix and whose selected latents are known; the bound is that of the selection.
refer_points <- function(task, params, plan, selected) {
  y <- task$y
  block <- whole_block(task)
  inputs <- block_inputs(task$model, params, y, block)
  estep <- function(slots, states, want = character(), chain = NULL) {
    run_estep(task$model, inputs, y, block, slots, states, task$n_threads, want, chain = chain)
  }
  slots <- if (plan$kind == "whole") {
    matrix(seq_len(task$model$n_latents), task$model$n_latents, ncol(y))
  } else {
    rbind(selected, extra_slots(task, params, selected, plan$n_more))
  }
  if (plan$kind == "sampled") return(refer_sampled(task, plan, selected, slots, estep))
  found <- estep(slots, plan$states)
  states <- enumerate_states(task$model$rule, nrow(selected), as.integer(task$max_active))
  own <- estep(selected, states)$log_evidence
  gap <- pmax(found$log_evidence - own, 0)
  list(slots = slots, prob_on = found$prob_on, mass = exp(-gap), gap = gap, bound = own)
}

# Of chains over all these slots: the share of draws that the selection's states have.
refer_sampled <- function(task, plan, selected, slots, estep) {
  chains <- function(slots, seed) new_chain(reference_sweeps, seed, 0L, NULL, slots)
  found <- estep(slots, plan$states, "draws", chains(slots, task$seed))
  is_on <- found$draws != 0
  n_draws <- dim(is_on)[2]
  is_held <- vapply(seq_len(ncol(slots)), function(n) slots[, n] %in% selected[, n],
                    logical(nrow(slots)))
  is_held <- matrix(is_held, nrow(slots))[, rep(seq_len(ncol(slots)), each = n_draws)]
  flat <- matrix(is_on, nrow(slots))
  is_captured <- colSums(flat & !is_held) == 0 & colSums(flat) <= task$max_active
  short <- new_states(nrow(selected), as.integer(task$max_active), list())
  own <- estep(selected, short, character(), chains(selected, task$seed))
  list(slots = slots, prob_on = found$prob_on,
       mass = colMeans(matrix(is_captured, n_draws)),
       gap = found$log_evidence - own$log_evidence, bound = own$log_evidence)
}

# Latents that are not selected, the best ones by their gain beside nothing or beside the most
# probable state of those selected: n_more x n, 0 where there are no more. One of each component
# where latents have places.
extra_slots <- function(task, params, selected, n_more) {
  model <- task$model
  size <- max(1, floor(2^22 / model$n_latents))
  parts <- lapply(seq(1, ncol(selected), by = size), function(from) {
    points <- from:min(ncol(selected), from + size - 1)
    part <- point_task(task, points)
    given <- probable_slots(part, params, selected[, points, drop = FALSE])
    none <- matrix(0L, 0, length(points))
    alone <- gains_beside(part, params, none)
    beside <- if (model$rule$min_active == 1) alone else gains_beside(part, params, given)
    chosen <- vapply(seq_along(points), function(i) {
      best_extra(model, pmin(rank(-alone[, i]), rank(-beside[, i])), selected[, points[i]], n_more)
    }, integer(n_more))
    matrix(chosen, n_more, length(points))
  })
  do.call(cbind, parts)
}

best_extra <- function(model, place, selected, n_more) {
  group <- (seq_len(model$n_latents) - 1) %/% count_places(model)
  ordered <- order(place)
  ordered <- ordered[!group[ordered] %in% group[selected]]
  ordered <- ordered[!duplicated(group[ordered])]
  fill_up(utils::head(ordered, n_more), n_more)
}

# The latents that are on in the most probable state of each point, slots x n, 0 where off.
probable_slots <- function(task, params, selected) {
  y <- task$y
  block <- whole_block(task)
  inputs <- block_inputs(task$model, params, y, block)
  chain <- if (task$method == "gibbs") {
    new_chain(prediction_sweeps(task$sweeps), task$seed, 0L, NULL, selected)
  }
  found <- run_estep(task$model, inputs, y, block, selected, task$states, task$n_threads,
                     character(), chain = chain)
  ifelse(found$prob_on > 0.5, selected, 0L)
}

# Gains of all latents beside those given [any x n, 0 = none]: H x n; for ranking alone, up to a
# constant of the point.
gains_beside <- function(task, params, given) {
  model <- task$model
  is_native <- inherits(model, "gps_native_model")
  if (is_native && model_table(model$native)$has$gain) return(native_gains(task, params, given))
  n_latents <- model$n_latents
  vapply(seq_len(ncol(task$y)), function(n) {
    on <- diag(1L, n_latents)
    on[given[, n], ] <- 1L
    one <- point_task(task, n)
    block <- whole_block(one)
    found <- tryCatch(
      run_estep(model, block_inputs(model, params, one$y, block), one$y, block,
                matrix(seq_len(n_latents)), template_of(on), 1L, "prob", beta = ranking_beta),
      # Where no latent alone makes a point possible none is better than others.
      gps_error_numeric = function(condition) list(prob = matrix(1, n_latents))
    )
    log(found$prob[, 1]) / ranking_beta
  }, numeric(n_latents))
}

# As cold as they are, most probabilities of states would be rounded to 0, and all of these tie.
ranking_beta <- 1e-6

# Points with as many latents given together.
native_gains <- function(task, params, given) {
  model <- task$model
  gain <- matrix(0, model$n_latents, ncol(task$y))
  n_given <- colSums(given > 0)
  for (count in unique(n_given)) {
    points <- which(n_given == count)
    set <- given[, points, drop = FALSE]
    part <- point_task(task, points)
    block <- whole_block(part)
    problem <- native_problem(model, block_inputs(model, params, part$y, block))
    all <- matrix(seq_len(model$n_latents), model$n_latents, length(points))
    gain[, points] <- .Call(
      C_probe_gains, model$native, problem, part$y, block,
      matrix(set[set > 0], count, length(points)), all,
      new_states(max(count, 1L), 1L, list()), 0L
    )$gain
  }
  gain
}

# Whether each latent is in a slot of its point, from slots x n; a latent may be NA.
is_in_slots <- function(selected, points, latents) {
  found <- colSums(selected[, points, drop = FALSE] == rep(latents, each = nrow(selected)))
  !is.na(latents) & found > 0
}
