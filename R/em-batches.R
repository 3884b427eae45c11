# Stepwise EM: parameters are updated after each of many batches of points, from running averages of
# the sufficient statistics (Cappe and Moulines 2009; Liang and Klein 2009), and with them the sums
# of the selection's regression, which is a natural-gradient step of their variational posterior
# (Hoffman et al. 2013; Hensman et al. 2013). Points keep their slots with their batch, so that an
# update touches nothing of the size of the data.

# Exponent of the default step sizes.
step_exponent <- 0.7

# Step size of the update number `n`, counted from 1.
step_size <- function(step, n, first_rate = 1) {
  if (is.null(step)) step <- step_exponent
  if (is.numeric(step)) return((n - 1 + max(2, first_rate^(-1 / step)))^-step)
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

# The step of a first batch that has too few points for the parameters: such that it weighs as a
# batch with enough of them would in a first step of 1, as if of each latent or component
# `points_per_parameter` points told every parameter. A data point has `n_dims` numbers.
first_rate <- function(model, sizes) {
  needed <- min(sum(sizes), points_per_parameter * count_free(model) / model$n_dims)
  mean(sizes) / max(mean(sizes), needed)
}

points_per_parameter <- 4

# Row numbers of each batch: at random from a matrix; runs of neighbours from other sources, which
# are read one after the other.
split_batches <- function(y, batch_size, seed) {
  n_points <- n_points(y)
  rows <- if (is.matrix(y)) with_seed(seed, -2, sample.int(n_points)) else seq_len(n_points)
  n_batches <- ceiling(n_points / batch_size)
  unname(lapply(split(rows, floor((seq_len(n_points) - 1) * n_batches / n_points)), sort))
}

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
  state["memory"] <- list(begin_sums(state$memory, n_points(task$y)))
  state
}

# A state whose selector knows the neighbours of all points, before these are split into batches.
begin_near <- function(task, state) {
  if (!asks_neighbours(task)) return(state)
  begin_ranking(task, state, begin_near_memory(task, state))
}

begin_near_memory <- function(task, state) {
  memory <- state$memory
  if (is.null(memory)) memory <- begin_kernel(task$selector, task)
  if (!identical(ncol(memory$prepared$near), n_points(task$y))) {
    targets <- if (is.null(state$selected)) list(selected = matrix(0L, 1, 1)) else state
    memory$prepared <- prepare_near(task$selector, task, memory, targets)
  }
  memory["targets"] <- list(NULL)
  memory
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
  task <- point_task(task, batch$rows)
  task$batch_scale <- sum(lengths(task$batches)) / length(batch$rows)
  task$batch_rows <- batch$rows
  blocks <- split_blocks(length(batch$rows), task_doubles(task))
  task$blocks <- lapply(blocks, function(block) {
    block$first_row <- batch$first + block$offset
    block
  })
  task
}

batch_state <- function(task, state, batch,
                        rate = step_size(task$control$step, state$n_updates + 1L,
                                         task$first_rate)) {
  state[per_point] <- in_gauge(batch, state$gauge)[per_point]
  state["need"] <- list(batch$need)
  state["sums"] <- list(NULL)
  state$rate <- rate
  if (is.null(state$memory$cross)) return(state)
  is_known <- batch$generation == state$generation && !is.null(batch$selected)
  state$memory$weight <- if (is_known) batch$own * exp(state$clock - batch$clock) else 0
  state$memory["targets"] <- list(if (is_known) slot_targets(batch, task$model))
  state
}

# A batch with its sampled values in the units of latents that there are now, `gauge` times those
# of the first parameters.
in_gauge <- function(batch, gauge) {
  if (is.null(batch$value) || is.null(gauge)) return(batch)
  rescale_values(batch, gauge / if (is.null(batch$gauge)) 1 else batch$gauge)
}

# The state after an update by the batch `k`.
take_batch <- function(state, updated, k) {
  batch <- state$batches[[k]]
  taken <- c(per_point, "bound", "bound_error", if (!is.null(updated$need)) "need")
  batch[taken] <- updated[taken]
  updated$n_updates <- state$n_updates + 1L
  if (isTRUE(updated$memory$is_new)) {
    updated$generation <- state$generation + 1L
    updated$memory$is_new <- FALSE
  } else {
    updated$clock <- state$clock + log1p(-min(updated$rate, 1 - 1e-15))
  }
  batch$gauge <- updated$gauge
  batch$own <- updated$memory$weight
  batch[c("clock", "generation")] <- updated[c("clock", "generation")]
  updated$batches[[k]] <- batch
  updated[c(per_point, "sums", "need")] <- list(NULL)
  # Of one batch.
  updated["complete"] <- list(state$complete)
  updated
}

# Points from which running statistics and sums begin: all, or as many as whole batches hold.
begin_rows <- 10000L

# Whole batches, numbers among `numbers`, spread evenly, since the rows of a source may be in an
# order: as many as hold `n_rows` points, and `n_least` where there are.
spread_batches <- function(task, numbers, n_rows, n_least = 1L) {
  n <- max(n_least, ceiling(n_rows / mean(lengths(task$batches))))
  numbers[spaced_points(length(numbers), n)]
}

rows_of_batches <- function(batches) unlist(lapply(batches, `[[`, "rows"))

# The slots of several batches together, by the numbers of their rows.
join_slots <- function(batches) {
  slots <- lapply(stats::setNames(nm = per_point), function(name) {
    do.call(cbind, lapply(batches, `[[`, name))
  })
  cut_points(slots, order(rows_of_batches(batches)))
}

# Several batches as one, its rows ascending.
join_batches <- function(batches) {
  joined <- batches[[1]]
  joined$rows <- sort(rows_of_batches(batches))
  joined[per_point] <- list(NULL)
  joined[per_point] <- join_slots(batches)[per_point]
  joined
}

# Batches that a pass joined, with their slots of it.
part_batches <- function(batches, result) {
  rows <- sort(rows_of_batches(batches))
  lapply(batches, function(batch) {
    batch[per_point] <- cut_points(result, match(batch$rows, rows))[per_point]
    batch
  })
}

# Running statistics as they stand at the parameters that a state begins with: those of the first
# batch alone would have the parameters forgotten. The sums of a learned selector that brings none
# are those of the same batches.
begin_running <- function(task, state) {
  chosen <- begun_batches(task, state)
  sizes <- lengths(task$batches)
  scheduled <- state
  scheduled$iteration <- scheduled$iteration + 1L
  scheduled <- set_schedule(task, scheduled)
  groups <- split(chosen, floor((cumsum(sizes[chosen]) - 1) / joined_rows))
  parts <- list()
  for (group in groups) {
    scheduled$batches <- state$batches
    joined <- join_batches(state$batches[group])
    result <- pass(batch_task(task, joined), batch_state(task, scheduled, joined, rate = 0))
    parts <- c(parts, list(result$stats))
    if (learns_sums(task) && is.null(joined$selected) || asks_neighbours(task)) {
      state$batches[group] <- part_batches(state$batches[group], result)
    }
  }
  state$running <- lapply(fold_parts(parts), `*`, sum(sizes) / sum(sizes[chosen]))
  if (learns_sums(task) && is.null(state$memory$cross)) state <- begin_regression(task, state)
  # What sampled rows have learned has ranked once; from here on neighbours do.
  if (asks_neighbours(task)) state$memory["trained"] <- list(NULL)
  state
}

# The batches that running statistics begin with; all, where labels are to be met.
begun_batches <- function(task, state) {
  all <- seq_along(task$batches)
  is_labelled <- asks_neighbours(task) && !is.null(state$batches[[1]]$selected) &&
    !is.null(state$memory)
  if (is_labelled) all else spread_batches(task, all, begin_rows, least_spread)
}

# Large batches are fewer than this only where there are not more, so that those of a source in
# some order tell of all; small ones are joined up to so many rows.
least_spread <- 10L
joined_rows <- 1024L

learns_sums <- function(task) {
  isTRUE(task$selector$by_sums) && !selects_all(task)
}

asks_neighbours <- function(task) {
  isTRUE(task$selector$by_candidates) && !selects_all(task)
}

# What neighbours have learned in a pass: their kernel, where a refit is due.
learn_pass <- function(task, state) {
  if (!asks_neighbours(task) || !has_all_batches(state)) return(state)
  whole <- state
  whole[per_point] <- list(NULL)
  slots <- complete_batches(state)
  whole[c("selected", "prob_on")] <- slots[c("selected", "prob_on")]
  whole["memory"] <- list(learn_selector(task$selector, task, whole))
  whole$memory["targets"] <- list(NULL)
  state$memory <- whole$memory
  state
}

# The regression's sums begun anew with the slots that batches have, those of `begin_rows` points:
# one batch may have fewer points than the basis has functions.
begin_regression <- function(task, state, may_refit = FALSE) {
  has_slots <- !vapply(state$batches, function(x) is.null(x$selected), NA)
  n_rows <- min(begin_rows, most_whole %/% n_dims(task$y))
  chosen <- spread_batches(task, which(has_slots), n_rows)
  joined <- join_batches(state$batches[chosen])
  local <- batch_task(task, joined)
  local$may_refit <- may_refit
  local_state <- batch_state(task, state, joined, rate = 0)
  memory <- learn_anew(task$selector, local, local_state)
  memory$is_new <- FALSE
  state$memory <- memory
  state$generation <- state$generation + 1L
  state$batches[chosen] <- lapply(state$batches[chosen], function(batch) {
    batch[c("own", "clock", "generation")] <- list(memory$weight, state$clock, state$generation)
    batch
  })
  state
}

# Whether to refit is judged by sums of the points that refitting is by.
learn_anew <- function(selector, task, state) {
  if (!is.null(state$memory)) state$memory$r2 <- NA_real_
  state["memory"] <- list(learn_selector(selector, task, state))
  if (!task$may_refit) return(state$memory)
  if (is_kernel_lost(selector, task, state$memory, state$iteration)) {
    state$memory <- learn_selector(selector, task, state)
  }
  if (isTRUE(state$memory$r2 > least_signal)) return(learn_selector(selector, task, state))
  state$memory$last_refit <- state$iteration
  state$memory
}

# A state after an update, whose hyper-parameters are refit and whose regression begins anew with
# them where that is due.
refit_batches <- function(task, state) {
  is_due <- learns_sums(task) && is_gap_over(task$selector, state$memory, state$iteration,
                                             is_batch = TRUE)
  if (is_due) begin_regression(task, state, may_refit = TRUE) else state
}

# Steps of a user's own are not made smaller where a batch has too few points to tell.
warn_batches <- function(task) {
  step <- task$control$step
  if (length(task$batches) < 2 || !is.function(step)) return(invisible())
  if (step_size(step, 1) <= most_excess * task$first_rate) return(invisible())
  gps_warn(sprintf(paste(
    "Batches of %s are too small for first steps of %s: single points sway the parameters, and",
    "components may be lost. Give a larger `batch_size`, or a `step` that begins at %s."
  ), plural(task$control$batch_size, "data point"), format_number(signif(step_size(step, 1), 2)),
  format_number(signif(task$first_rate, 2))), class = "small_batch")
}

# Above so many times the first step that its points allow, a batch was seen to lose components.
most_excess <- 2

# One pass over the data in batches, in random order, with its row of the trace, or the rest of one.
# One that was cut short before its first update has none.
em_epoch <- function(task, state) {
  began <- elapsed()
  if (is.null(state$batches)) {
    begun <- until_cut(Inf, has_fit(task, state), {
      begin_running(task, begin_batches(task, begin_near(task, state)))
    })
    if (is_cut(begun)) return(cut_state(state, begun))
    state <- begun
  }
  course <- state$course
  if (is.null(course)) course <- begin_course(task, state)
  spent <- course$seconds
  for (k in course$order[seq_along(course$order) > course$n_done]) {
    updated <- try_batch(task, state, k)
    if (is_cut(updated)) {
      state <- cut_state(state, updated)
      break
    }
    course <- count_update(task, course, updated, k)
    course$seconds <- spent + elapsed() - began
    state <- updated
    state$course <- course
    if (!is.null(task$keeper)) keep_point(task, state = state)
    if (is_past(task$deadline)) break
  }
  state["course"] <- list(NULL)
  if (course$visited == 0) return(state)
  # As if all batches had been visited.
  totals <- course$totals * task_weight(task) / course$visited
  state <- learn_pass(task, state)
  if (!is.null(state$memory)) {
    state$memory$refit <- length(state$memory$refits) > course$n_refits
  }
  state$bound <- totals[1]
  state$bound_error <- sqrt(totals[2])
  state$evaluations <- totals[3]
  end_step(task, state, began - spent)
}

# How far a pass is, which a checkpoint keeps: the order of batches and how many are done, the
# weight of their points, sums of bound, squared error and evaluations, seconds so far, and how
# often the kernel had been refit before.
begin_course <- function(task, state) {
  list(order = with_seed(task$seed, 1000 * state$start + state$iteration + 1,
                         sample.int(length(state$batches))),
       n_done = 0L, visited = 0, totals = numeric(3), seconds = 0,
       n_refits = length(state$memory$refits))
}

count_update <- function(task, course, state, k) {
  rows <- state$batches[[k]]$rows
  course$n_done <- course$n_done + 1L
  course$visited <- course$visited + total_weight(task$weights[rows], length(rows))
  course$totals <- course$totals + c(state$bound, state$bound_error^2, state$evaluations)
  course
}

# An update, or what cut it short: those before it count.
try_batch <- function(task, state, k) {
  batch <- state$batches[[k]]
  deadline <- if (state$n_updates > 0) task$deadline else Inf
  is_safe <- has_fit(task, state) || has_all_batches(state)
  until_cut(deadline, is_safe, {
    updated <- em_update(batch_task(task, batch), batch_state(task, state, batch))
    refit_batches(task, take_batch(state, updated, k))
  })
}

has_all_batches <- function(state) {
  length(state$batches) > 0 && !any(vapply(state$batches, function(x) is.null(x$bound), NA))
}

# What a fit in batches has when it is cut short: of each batch the slots and the bound of its last
# update. NULL where a batch had none yet, or there are none.
complete_batches <- function(state) {
  if (!has_all_batches(state)) return(NULL)
  numbers <- function(name) vapply(state$batches, `[[`, 1, name)
  batches <- lapply(state$batches, in_gauge, state$gauge)
  c(join_slots(batches),
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
  rows <- order(rows_of_batches(state$batches))
  joined$log_evidence <- joined$log_evidence[rows]
  joined[per_point] <- cut_points(joined, rows)[per_point]
  joined
}
