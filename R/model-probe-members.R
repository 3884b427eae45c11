# check_gps_model() for models in C: members that say the same as `log_joint` in another way.

# Gains of candidates beside no, one and two latents, against log joints.
probe_native_gain <- function(report, case) {
  model <- case$model
  is_one_hot <- model$rule$min_active == 1
  most <- min(model$rule$max_active, model$exact_active, 3)
  n <- nrow(case$y)
  for (n_given in seq_len(most) - 1L) {
    n_slots <- min(n_given + 4L, model$n_latents / count_places(model))
    if (n_slots <= n_given) next
    slots <- probe_slots(model, n_slots, n)
    slots <- apply(slots, 2, sample)
    slots <- matrix(slots, n_slots)
    given <- slots[seq_len(n_given), , drop = FALSE]
    candidates <- slots[(n_given + 1):n_slots, , drop = FALSE]
    said <- ask_gains(case, given, candidates)
    report_marks(report, said)
    wanted <- gains_by_joints(case, slots, n_given, is_one_hot)
    found <- said$gain
    if (is_one_hot) found <- found - rep(found[1, ], each = nrow(found))
    # Beside latents that cannot be on no gain is wanted.
    is_asked <- !is.nan(wanted)
    if (joint_difference(found[is_asked], wanted[is_asked]) <= gain_tolerance) next
    return(add_finding(report, "gain", "gain", sprintf(
      "Beside %s the gain of a latent and the difference of two log joints are %s",
      plural(n_given, "latent"), worst_pair(found[is_asked], wanted[is_asked])
    ), paste("The gain is `log_joint` of `given` and the candidate less that of `given`, without",
             "the temperature; with nothing given and no empty state, up to a constant.")))
  }
}

# Gains may be found in single precision.
gain_tolerance <- 1e-4

ask_gains <- function(case, given, candidates, n_proposed = 0L) {
  it <- problem_of(case)
  states <- new_states(max(nrow(given), 1L), 1L, list())
  .Call(C_probe_gains, case$model$native, it$problem, it$y, it$block, given, candidates, states,
        n_proposed)
}

# The first `n_given` slots are given, all others candidates.
gains_by_joints <- function(case, slots, n_given, is_one_hot) {
  n_slots <- nrow(slots)
  on <- matrix(0L, n_slots, n_slots - n_given + 1L)
  on[seq_len(n_given), ] <- 1L
  on[cbind(seq(n_given + 1, n_slots), seq(2, ncol(on)))] <- 1L
  if (is_one_hot) on <- on[, -1, drop = FALSE]
  value <- ask_states(case, slots, template_of(on))$log_joint
  gain <- value - rep(value[1, ], each = nrow(value))
  if (is_one_hot) gain else gain[-1, , drop = FALSE]
}

# Statistics by latents, against those of all slots together. In its rule one latent is on.
probe_native_gathered <- function(report, case) {
  model <- case$model
  it <- problem_of(case)
  value <- ask_states(case)
  weight <- apply(value$log_joint, 2, function(joint) {
    prob <- exp(joint - max(joint))
    prob / sum(prob)
  })
  weight <- slots_on(case$states) %*% matrix(weight, case$states$n_states)
  said <- .Call(C_probe_latents, model$native, it$problem, model$stats_dims, it$y, it$block,
                case$selected, weight, case$states)
  report_marks(report, said)
  for (name in names(said$stats)) {
    if (identical(unname(model$stats[[name]]), "one")) next
    difference <- joint_difference(c(said$stats[[name]]), c(value$stats[[name]]))
    if (difference <= probe_tolerance) next
    add_finding(report, "accumulate_latent", "accumulate_latent", sprintf(
      "It gives another statistic `%s` than `accumulate`.", name
    ), "Add to the latent's own part of each array what `accumulate` adds for it, `weight` times.")
  }
}

# Proposals are latents, and their best gain is no worse than that of as many random ones.
probe_native_proposals <- function(report, case) {
  model <- case$model
  n <- nrow(case$y)
  n_proposed <- as.integer(min(5, model$n_latents))
  given <- matrix(0L, 0, n)
  said <- ask_gains(case, given, case$selected, n_proposed)
  report_marks(report, said)
  is_latent <- said$proposed >= 1 & said$proposed <= model$n_latents
  if (any(!is_latent & said$proposed != 0)) {
    return(add_finding(report, "propose", "propose", sprintf(
      "It proposes latent %d of %d, counted from 1.", said$proposed[!is_latent][1], model$n_latents
    ), "Write `n_candidates` numbers from 0 to H - 1; -1 is none."))
  }
  best <- function(candidates) apply(ask_gains(case, given, candidates)$gain, 2, max)
  filled <- said$proposed
  filled[filled == 0] <- 1L
  random <- matrix(sample.int(model$n_latents, n_proposed * n, replace = TRUE), n_proposed)
  difference <- best(filled) - best(random)
  if (standard_mean(difference, 1e-9) > -score_limit) return(invisible())
  add_finding(report, "propose", "propose", sprintf(paste(
    "The best of %d proposals gains %s nats less than the best of as many random latents, on",
    "average over %d points."
  ), n_proposed, plain_number(-mean(difference), 4), n),
  "Propose what raises `log_joint` where the latents given leave the data unexplained.")
}

# The law of a slot given the others, against the log joints of two states and of two values.
probe_native_conditional <- function(report, case) {
  model <- case$model
  n_slots <- nrow(case$selected)
  n <- nrow(case$y)
  states <- new_states(n_slots, n_slots, list())
  states$n_states <- 2L
  ask <- function(value, slot, n_draws = 0L) {
    it <- problem_of(case)
    states$n_active <- c(0L, 0L)
    states$active <- matrix(0L, n_slots, 2)
    states$parent <- c(0L, 0L)
    .Call(C_probe_slot, model$native, it$problem, it$y, it$block, case$selected, states, value,
          slot, n_draws)
  }
  none <- matrix(0, n_slots, n)
  law <- ask(none, 1L, conditional_draws)
  report_marks(report, law)
  report_odds(report, case, law)
  # A value that is on in the first slot, and one in the second beside which the first is asked for.
  drawn <- apply(law$draws, 2, function(x) c(x[x != 0], 1)[1])
  rest <- none
  if (n_slots > 1) rest[2, ] <- drawn
  on <- rest
  on[1, ] <- drawn
  off_law <- ask(rest, 1L)
  on_law <- ask(on, 1L)
  found <- on_law$log_density - off_law$log_density
  wanted <- on_law$log_joint - off_law$log_joint
  if (joint_difference(found, wanted) > gain_tolerance) {
    add_finding(report, "conditional", "conditional", paste(
      "The log density of a value less that of 0, and the same of `log_joint_draw`, are",
      worst_pair(found, wanted)
    ), paste("Its law must be `log_joint_draw` as a function of the slot's value, normalised, with",
             "the probability of 0 in it."))
  }
}

conditional_draws <- 400L

# How often a slot is drawn on beside nothing, what `conditional` says of that, and `log_joint`.
report_odds <- function(report, case, law) {
  on <- matrix(0L, nrow(case$selected), 2)
  on[1, 2] <- 1L
  value <- ask_states(case, states = template_of(on))$log_joint
  wanted <- stats::plogis(value[2, ] - value[1, ])
  if (max(abs(law$prob_on - wanted)) > gain_tolerance) {
    add_finding(report, "conditional", "conditional", paste(
      "The probability that a slot is on beside nothing is not what `log_joint` says:",
      worst_pair(law$prob_on, wanted)
    ), "`prob_on` is the share of the states with the slot on, its values integrated out.")
    return(invisible())
  }
  n_on <- sum(law$draws != 0)
  error <- sqrt(conditional_draws * sum(wanted * (1 - wanted)))
  if (abs(n_on - conditional_draws * sum(wanted)) <= score_limit * error + 1e-9) return(invisible())
  add_finding(report, "conditional", "conditional", sprintf(
    "It draws a slot on %d times, where its own `prob_on` says %s.", n_on,
    plain_number(conditional_draws * sum(wanted), 4)
  ), "Draw `step->value` with `rng` from the law whose `prob_on` it returns.")
}

# log p(values, y) of draws of a model whose latents have values.
joint_by_draws <- function(model) {
  function(drawn) {
    selected <- matrix(seq_len(model$n_latents), model$n_latents, nrow(drawn$y))
    states <- list(n_slots = model$n_latents, max_active = model$n_latents, n_states = 2L,
                   n_active = c(0L, 0L), active = matrix(0L, model$n_latents, 2),
                   parent = c(0L, 0L), all_subsets = FALSE)
    value <- t(drawn$values * drawn$latents)
    function(params) {
      it <- problem_of(list(model = model, y = drawn$y), params = params)
      said <- .Call(C_probe_slot, model$native, it$problem, it$y, it$block, selected, states,
                    value, 1L, 0L)
      said$log_joint + said$shared
    }
  }
}
