# Selection of data that a fit has not seen. Nothing is known of such a point but its ranking, and
# it has no iterations to correct that: candidates are many, and rounds go on, each from what the
# last one has selected, as long as the evidence of the point grows. A point is selected for by
# itself: whatever is random belongs to its values (src/r_streams.c), not to its row.

# Rounds after the first at the most, and how many in a row a point may gain nothing before it is
# left as it is: where candidates or the selection itself are drawn anew, there are more.
most_rounds <- c(fixed = 10L, drawn = 15L)
patient_rounds <- c(fixed = 1L, drawn = 3L)

# Random selections beside the first, of which each point keeps the best: as many as the polish of a
# fit has iterations at least.
random_rounds <- function() 2L * settle_window

# A prediction has no later iteration to correct it: more draws.
prediction_draws <- 20L

prediction_sweeps <- function(sweeps) c(sweeps[1], max(sweeps[2], prediction_draws))

# Latents with places that later rounds are guided to: a share of them, and at least so many.
guided_share <- 0.02
least_guided <- 64L

# Best-ranked latents that are candidates in the first round, and where latents have no places in
# all: at least so many, and so many for each slot.
wide_proposals <- 1024L
wide_for_slot <- 30L

# The selector of a prediction: where the model's default is no screen for the fit, there is one for
# new data; and none where the ranking itself is what screening would find.
screen_new <- function(task, fit) {
  given <- fit$selector
  selector <- task$selector
  # All that the fit knows to stand beside a latent, where it had the first of them as candidates.
  if (beside_wanted(task) > 0 && !is.null(fit$gp$beside)) {
    selector$screen$neighbours <- nrow(fit$gp$beside)
  }
  if (task$is_before_rounds || !is.null(given$screen) || !can_screen(task$model)) return(selector)
  if (inherits(selector, "gps_selector_handcrafted") && ranks_by_joint(task$model)) {
    selector["screen"] <- list(NULL)
    return(selector)
  }
  screens <- inherits(selector, c("gps_selector_gp", "gps_selector_handcrafted"))
  if (screens && is.null(selector$screen)) selector$screen <- gps_screen()
  selector
}

# What select_latents() is for a fit's own data: slots of a block of new data.
select_new <- function(task, state, block, inputs) {
  if (selects_all(task)) return(select_latents(task, state, block, inputs))
  if (task$is_before_rounds) return(select_new_once(task, state, block, inputs))
  selected <- select_in_parts(task, state, block, inputs, select_new_part)
  structure(reach_points(task, state, block, selected), n_gains = attr(selected, "n_gains"))
}

# Slots of a part of it, from the ranking on in rounds.
select_new_part <- function(task, state, block, inputs) {
  affinity <- block_affinity(task$selector, task, state, block, inputs)
  first <- task
  first$selector$screen <- first_screen(task)
  selected <- select_ranked(first, state, block, inputs, affinity)
  rounds <- plan_rounds(task)
  if (rounds$most == 0) return(selected)
  task$selector$screen <- later_screen(task)
  improve_slots(task, state, block, affinity, selected, rounds)
}

# How many rounds may follow the first.
plan_rounds <- function(task) {
  if (inherits(task$selector, "gps_selector_random")) {
    most <- if (task$method == "exact") random_rounds() else 0L
    return(list(most = most, patience = most))
  }
  screen <- task$selector$screen
  if (is.null(screen) || !screen$keep) return(list(most = 0L))
  kind <- if (draws_candidates(task$model)) "drawn" else "fixed"
  list(most = most_rounds[[kind]], patience = patient_rounds[[kind]])
}

first_screen <- function(task) {
  screen <- task$selector$screen
  if (is.null(screen) || !is.null(screen$propose)) return(screen)
  screen$propose <- count_wide(task)
  screen
}

count_wide <- function(task) {
  for_slots <- wide_for_slot * as.integer(task$n_selected)
  min(task$model$n_latents, max(wide_proposals, for_slots))
}

# What is hidden by other components shows only beside them.
later_screen <- function(task) {
  screen <- task$selector$screen
  if (is.null(screen)) return(screen)
  if (draws_candidates(task$model)) {
    n_guided <- max(task$n_selected, least_guided, ceiling(guided_share * task$model$n_latents))
    if (is.null(screen$guided)) screen$guided <- c(0L, as.integer(min(most_draws, n_guided)))
    return(screen)
  }
  if (is.null(screen$propose)) screen$propose <- count_wide(task)
  if (is.null(screen$conditional)) screen$conditional <- c(0L, 3L) * as.integer(task$n_selected)
  screen
}

# Rounds from `selected` on. A point whose new slots explain it better takes them; one that has
# gained nothing for a while is done.
improve_slots <- function(task, state, block, affinity, selected, rounds) {
  n_gains <- sum(attr(selected, "n_gains"))
  judge <- function(points, slots) judge_slots(task, state, block, points, slots)
  known <- list(log_evidence = rep(NA_real_, block$n_points))
  # What stands beside a point's best latent is sought beside the one that is best by now.
  has_beside <- !is.null(beside_of(state, beside_wanted(task)))
  if (has_beside) known <- judge(seq_len(block$n_points), selected)[c("log_evidence", "prob_on")]
  idle <- integer(block$n_points)
  for (round in seq_len(rounds$most)) {
    going <- which(idle < rounds$patience)
    if (length(going) == 0) break
    check_deadline()
    part <- pick_points(task, state, block, going)
    state$iteration <- state$iteration + 1L
    state$selected <- selected[, going, drop = FALSE]
    if (has_beside) state$prob_on <- known$prob_on[, going, drop = FALSE]
    ranking <- cut_answer(affinity, going)
    found <- select_ranked(part$task, state, part$block, part$inputs, ranking)
    n_gains <- n_gains + sum(attr(found, "n_gains"))
    at <- which(colSums(found != state$selected) > 0)
    points <- going[at]
    unknown <- points[is.na(known$log_evidence[points])]
    known$log_evidence[unknown] <- judge(unknown, selected[, unknown, drop = FALSE])$log_evidence
    new <- judge(points, found[, at, drop = FALSE])
    better <- new$log_evidence > known$log_evidence[points]
    selected[, points[better]] <- found[, at[better]]
    known$log_evidence[points[better]] <- new$log_evidence[better]
    if (has_beside) known$prob_on[, points[better]] <- new$prob_on[, better]
    idle[going] <- idle[going] + 1L
    idle[points[better]] <- 0L
  }
  structure(selected, n_gains = n_gains)
}

# list(log_evidence, prob_on) of some points with these slots.
judge_slots <- function(task, state, block, points, slots) {
  if (length(points) == 0) return(list(log_evidence = numeric(), prob_on = slots + 0))
  part <- pick_points(task, state, block, points)
  infer_slots(task, state, part$inputs, part$task$y, part$block, slots, judging_start)
}

# The start in whose name new chains judge slots: estimates are from other draws than those of the
# prediction, lest it be that of the luckiest.
judging_start <- 1L

# As versions before 0.3.0 did it, for their fits. Where a screen keeps what was selected last there
# are two rounds: what is hidden by other components shows only beside those that the first has
# found.
select_new_once <- function(task, state, block, inputs) {
  screen <- task$selector$screen
  if (is.null(screen) || !screen$keep || !draws_candidates(task$model)) {
    return(select_latents(task, state, block, inputs))
  }
  first <- task
  if (is.null(screen$propose)) {
    first$selector$screen$propose <- wide_for_slot * as.integer(task$n_selected)
  }
  selected <- select_latents(first, state, block, inputs)
  state$selected <- selected
  block$offset <- 0
  again <- select_latents(task, state, block, inputs)
  structure(again, n_gains = sum(attr(selected, "n_gains"), attr(again, "n_gains")))
}
