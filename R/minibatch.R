# Stepwise EM: parameters are updated after each of many batches of points, from running averages of
# the sufficient statistics (Cappe and Moulines 2009; Liang and Klein 2009), and with them the sums
# of the selection's regression, which is a natural-gradient step of their variational posterior
# (Hoffman et al. 2013; Hensman et al. 2013). Points keep their slots with their batch, so that an
# update touches nothing of the size of the data.

# Exponent of the default step sizes.
step_exponent <- 0.7

# Step size of the update number `n`, counted from 1.
step_size <- function(step, n) {
  if (is.null(step)) step <- step_exponent
  if (is.numeric(step)) return((n + 1)^-step)
  value <- tryCatch(step(n), error = function(condition) {
    if (is_time_limit(condition)) stop(condition)
    gps_abort(sprintf("`step` failed for update %d: %s", n, conditionMessage(condition)), "model",
              parent = condition)
  })
  if (!is_number(value) || value <= 0 || value > 1) {
    gps_abort(sprintf("`step` must return a number above 0 and at most 1, not %s for update %d.",
                      describe_value(value), n), "model")
  }
  as.double(value)
}

check_step <- function(step) {
  if (is.null(step) || is.function(step)) return(step)
  step <- plain_numbers(step)
  allowed <- "NULL, a number above 0.5 and at most 1, or a function of the update's number"
  if (!is_number(step) || step <= 0.5 || step > 1) abort_value(step, "step", allowed)
  as.double(step)
}

# Row numbers of each batch: at random from a matrix; runs of neighbours from other sources, which
# are read one after the other.
split_batches <- function(y, batch_size, seed) {
  n_points <- n_points(y)
  rows <- if (is.matrix(y)) with_seed(seed, -2, sample.int(n_points)) else seq_len(n_points)
  n_batches <- ceiling(n_points / batch_size)
  unname(lapply(split(rows, floor((seq_len(n_points) - 1) * n_batches / n_points)), sort))
}

# What a state has for each point.
per_point <- c("selected", "prob_on", "value")

# A state whose points are held by batch: `first` numbers the batch's first point for the random
# streams. `own` is the weight of the batch in the running sums of the regression when `clock`, the
# log of what all later steps have left of earlier sums, was what it says; sums of an earlier
# `generation` are gone.
begin_batches <- function(task, state) {
  is_known <- !is.null(state$selected) && !is.null(state$memory$cross)
  first <- c(0, cumsum(lengths(task$batches)))
  state$batches <- lapply(seq_along(task$batches), function(k) {
    rows <- task$batches[[k]]
    c(list(rows = rows, first = first[k], own = as.double(is_known), clock = 0, generation = 0L),
      cut_points(state, rows))
  })
  state[per_point] <- list(NULL)
  state[c("clock", "generation", "n_updates")] <- list(0, 0L, 0L)
  state$memory <- begin_sums(state$memory, n_points(task$y))
  state
}

cut_points <- function(state, rows) {
  lapply(state[intersect(per_point, names(state))],
         function(x) if (!is.null(x)) x[, rows, drop = FALSE])
}

# The regression's sums as if of all points.
begin_sums <- function(memory, n_total) {
  if (is.null(memory$cross)) return(memory)
  memory$sums <- lapply(c(memory["cross"], memory$moments), `*`, n_total / memory$n_points)
  memory["kept"] <- list(NULL)
  memory
}

# A fit's task with only the points of one batch.
batch_task <- function(task, batch) {
  task$y <- rows_data(task$y, batch$rows)
  task$batch_scale <- sum(lengths(task$batches)) / length(batch$rows)
  blocks <- split_blocks(length(batch$rows), point_doubles(task$model))
  task$blocks <- lapply(blocks, function(block) {
    block$first_row <- batch$first + block$offset
    block
  })
  task
}

batch_state <- function(task, state, batch,
                        rate = step_size(task$control$step, state$n_updates + 1L)) {
  state[per_point] <- batch[per_point]
  state["sums"] <- list(NULL)
  state$rate <- rate
  if (is.null(state$memory$cross)) return(state)
  is_known <- batch$generation == state$generation && !is.null(batch$selected)
  state$memory$weight <- if (is_known) batch$own * exp(state$clock - batch$clock) else 0
  state$memory["targets"] <- list(if (is_known) slot_targets(batch))
  state
}

# The state after an update by the batch `k`.
take_batch <- function(state, updated, k) {
  batch <- state$batches[[k]]
  batch[c(per_point, "bound", "bound_error")] <- updated[c(per_point, "bound", "bound_error")]
  updated$n_updates <- state$n_updates + 1L
  if (isTRUE(updated$memory$is_new)) {
    updated$generation <- state$generation + 1L
    updated$memory$is_new <- FALSE
  } else {
    updated$clock <- state$clock + log1p(-min(updated$rate, 1 - 1e-15))
  }
  batch$own <- updated$memory$weight
  batch[c("clock", "generation")] <- updated[c("clock", "generation")]
  updated$batches[[k]] <- batch
  updated[c(per_point, "sums")] <- list(NULL)
  # Of one batch.
  updated["complete"] <- list(state$complete)
  updated
}

# Statistics of a batch as if of all points, averaged with those of the batches before.
blend_stats <- function(task, state, stats) {
  if (is.null(task$batch_scale)) return(stats)
  blend(state$running, stats, state$rate, task$batch_scale)
}

# Running statistics after an M-step: those that are counted from the parameters begin anew with
# each, or what they ask for would be done again in every update.
settle_stats <- function(model, stats) UseMethod("settle_stats")

#' @export
settle_stats.default <- function(model, stats) stats

blend <- function(running, new, rate, scale) {
  if (is.null(running)) return(lapply(new, `*`, scale))
  Map(function(old, new) (1 - rate) * old + (rate * scale) * new, running, new[names(running)])
}

# The regression after one batch: its sums begin anew where their basis is new.
regress_batch <- function(selector, task, state, memory, sums) {
  rate <- state$rate
  scale <- task$batch_scale
  if (is.null(sums)) {
    sums <- survey(selector, task, memory, slot_targets(state))$sums
    memory["sums"] <- list(NULL)
  }
  memory$is_new <- is.null(memory$sums)
  memory$weight <- if (memory$is_new) scale else (1 - rate) * memory$weight + rate * scale
  memory$sums <- blend(memory$sums, sums, rate, scale)
  memory <- prepare_basis(selector, memory, memory$sums)
  memory[c("cross", "targets")] <- list(memory$sums$cross, slot_targets(state))
  memory
}

# Running statistics as they stand at the parameters that a state begins with: those of the first
# batches alone would have the parameters forgotten. Of all points, or of a part of them that is
# large enough, the first batches: as many as hold `begin_rows` points.
begin_rows <- 10000L

begin_running <- function(task, state) {
  sizes <- lengths(task$batches)
  n <- which(cumsum(sizes) >= min(begin_rows, sum(sizes)))[1]
  scheduled <- state
  scheduled$iteration <- scheduled$iteration + 1L
  scheduled <- set_schedule(task, scheduled)
  parts <- lapply(state$batches[seq_len(n)], function(batch) {
    pass(batch_task(task, batch), batch_state(task, scheduled, batch, rate = 0))$stats
  })
  state$running <- lapply(fold_parts(parts), `*`, sum(sizes) / sum(sizes[seq_len(n)]))
  state
}

# What a batch has too few points to tell of is taken from it all the same.
warn_batches <- function(task) {
  size <- task$control$batch_size
  n_choices <- count_choices(task$model)
  if (is.null(size) || size >= min(n_choices, n_points(task$y))) return(invisible())
  gps_warn(sprintf(paste(
    "Batches of %s are too small for %d %s: single points sway the parameters, and components may",
    "be lost. Give a `batch_size` of at least %d, better several times that, or a smaller `step`."
  ), plural(size, "data point"), n_choices,
  if (is.null(task$model$grid)) "latents" else "components", n_choices), class = "small_batch")
}

# One pass over the data in batches, in random order.
em_epoch <- function(task, state) {
  if (is.null(state$batches)) {
    begun <- until_cut(Inf, has_fit(task, state), begin_running(task, begin_batches(task, state)))
    if (is_cut(begun)) return(cut_state(state, begun))
    state <- begun
  }
  order <- with_seed(task$seed, 1000 * state$start + state$iteration + 1,
                     sample.int(length(state$batches)))
  visited <- totals <- 0
  n_refits <- length(state$memory$refits)
  for (k in order) {
    updated <- try_batch(task, state, k)
    if (is_cut(updated)) {
      state <- cut_state(state, updated)
      break
    }
    state <- take_batch(state, updated, k)
    visited <- visited + length(state$batches[[k]]$rows)
    totals <- totals + c(state$bound, state$bound_error^2, state$evaluations)
    if (elapsed() > task$deadline) break
  }
  if (visited == 0) return(state)
  # As if all batches had been visited.
  totals <- totals * n_points(task$y) / visited
  if (!is.null(state$memory)) state$memory$refit <- length(state$memory$refits) > n_refits
  state$bound <- totals[1]
  state$bound_error <- sqrt(totals[2])
  state$evaluations <- totals[3]
  state
}

# An update, or what cut it short: those before it count.
try_batch <- function(task, state, k) {
  batch <- state$batches[[k]]
  deadline <- if (state$n_updates > 0) task$deadline else Inf
  is_safe <- has_fit(task, state) || has_all_batches(state)
  until_cut(deadline, is_safe, em_update(batch_task(task, batch), batch_state(task, state, batch)))
}

has_all_batches <- function(state) {
  length(state$batches) > 0 && !any(vapply(state$batches, function(x) is.null(x$bound), NA))
}

# What a fit in batches has when it is cut short: of each batch the slots and the bound of its last
# update. NULL where a batch had none yet, or there are none.
complete_batches <- function(state) {
  if (!has_all_batches(state)) return(NULL)
  numbers <- function(name) vapply(state$batches, `[[`, 1, name)
  slots <- lapply(stats::setNames(nm = per_point), function(name) {
    do.call(cbind, lapply(state$batches, `[[`, name))
  })
  c(cut_points(slots, order(unlist(lapply(state$batches, `[[`, "rows")))),
    list(params = state$params, bound = sum(numbers("bound")),
         bound_error = sqrt(sum(numbers("bound_error")^2))))
}

# One pass at fixed parameters, batch by batch, as pass() gives it: an update less, so that no step
# size is asked for.
pass_batches <- function(task, state) {
  parts <- lapply(state$batches, function(batch) {
    pass(batch_task(task, batch), batch_state(task, state, batch, rate = 0), want = character())
  })
  joined <- join_parts(parts)
  rows <- order(unlist(lapply(state$batches, `[[`, "rows")))
  joined$log_evidence <- joined$log_evidence[rows]
  joined[per_point] <- cut_points(joined, rows)[per_point]
  joined
}
