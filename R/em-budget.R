# gps_control(budget = ): joints that screening may evaluate, a data point and iteration on average.
# Points whose posterior has settled wait for their turn to be screened, and keep their slots. Who
# has a turn is settled before a pass for all its points, so that blocks and threads do not matter.

# A point that is screened has at least its own latents judged, and has to come to that in so many
# iterations.
longest_wait <- 10

# What a budget cannot be kept with, and one that is too small.
check_budget <- function(budget, selector, model, n_selected) {
  is_full <- inherits(selector, "gps_selector_full")
  if (is_full || is.null(selector$screen) && n_selected < model$n_latents) {
    gps_abort(paste("`budget` limits what screening evaluates, and this fit does not screen:",
                    "give the selector `screen = gps_screen()`, or leave `budget` NULL."))
  }
  if (isFALSE(selector$screen$keep)) {
    gps_abort(paste("`budget` lets data points keep their latents, which gps_screen(keep = FALSE)",
                    "excludes: leave `keep` TRUE, or `budget` NULL."))
  }
  least <- n_selected / longest_wait
  if (budget >= least) return(invisible())
  gps_abort(sprintf(paste(
    "`budget` = %s is too small: whoever is screened has %s judged at least, and each data point",
    "has to have its turn in %d iterations. Give %s or more, or select fewer."
  ), format_number(budget), plural(n_selected, "latent"), longest_wait, format_number(least)))
}

# The state with `resting` [N], points that keep their slots in the coming pass for the sake of a
# budget: NULL in a first pass. Points with empty slots always have a turn. What earlier passes have
# taken beyond the budget is paid back by up to half of it at a time.
plan_turns <- function(task, state) {
  state["resting"] <- list(NULL)
  work <- state$work
  is_known <- !is.null(work) && identical(dim(state$selected)[2], n_points(task$y))
  if (!is_known || is.null(task_screen(task))) return(state)
  budget <- budget_headroom * task$control$budget
  left <- budget * (work$n_passes + 1) - work$spent
  share <- min(1, max(budget / 2, min(budget, left)) / work$cost)
  if (isTRUE(state$may_rest)) share <- min(share, 1 / rest_period)
  n <- share * n_points(task$y)
  # Of few points now one more and now one less has a turn.
  n <- floor((work$n_passes + 1) * n) - floor(work$n_passes * n)
  is_full <- state$selected[task$n_selected, ] > 0
  state$resting <- choose_resting(is_full, state_need(task, state), n)
  state
}

# Who needs a turn takes more than who had one before: the mean is to stay below the budget.
budget_headroom <- 0.97

# All points that may rest but those that need a turn most, `n` with the others; equals by a fixed
# shuffling of the rows.
choose_resting <- function(may_rest, need, n) {
  rows <- which(may_rest)
  n <- min(length(rows), max(0, n - (length(may_rest) - length(rows))))
  shuffled <- (rows * golden_ratio) %% 1
  turns <- rows[order(-need[rows], shuffled, method = "radix")[seq_len(n)]]
  may_rest[turns] <- FALSE
  may_rest
}

golden_ratio <- (sqrt(5) - 1) / 2

# How much each point needs a turn; slots may have been cut to some points since.
state_need <- function(task, state) {
  if (length(state$need) == n_points(task$y)) state$need else numeric(n_points(task$y))
}

# After a pass from `state` to `result`: what was spent, and what points need. A point needs a turn
# the sooner the longer it has waited, the less its posterior is concentrated (variances of its
# latents), and the more of it lies on latents that were not selected before.
count_turns <- function(task, state, result) {
  n <- n_points(task$y)
  resting <- if (is.null(state$resting)) logical(n) else state$resting
  state$need <- (state_need(task, state) + waiting_need) * resting +
    undecided_need(state$selected, result)
  work <- state$work
  if (is.null(work)) work <- list(n_passes = 0, spent = 0, cost = 1)
  n_screened <- n - sum(resting)
  if (n_screened > 0 && result$evaluations > 0) work$cost <- result$evaluations / n_screened
  state$work <- list(n_passes = work$n_passes + 1, spent = work$spent + result$evaluations / n,
                     cost = work$cost, n_resting = sum(resting))
  state["resting"] <- list(NULL)
  state
}

# The need that a point has of having waited for an iteration, beside which 0.25 is that of a latent
# which may as well be on as off.
waiting_need <- 0.05

# What the posterior says: variances of the latents, and the mass on those that were not selected
# before, where anything was.
undecided_need <- function(last, result) {
  if (!identical(dim(last), dim(result$selected))) last <- NULL
  .Call(C_turn_need, last, result$selected, result$prob_on)
}

# What print() says of a budget.
describe_budget <- function(fit) {
  budget <- fit$control$budget
  if (is.null(budget)) return(NULL)
  used <- if (nrow(fit$trace) > 0) mean(fit$trace$evaluations) else 0
  what <- if (used == 0) {
    "nothing was screened"
  } else if (used <= budget) {
    "points that had settled waited for their turn"
  } else {
    "the first iterations, of all points, took more than later ones paid back"
  }
  c(Budget = sprintf("%s %s a point and iteration, %s on average: %s",
                     format_number(signif(budget, 3)), if (budget == 1) "joint" else "joints",
                     format_number(signif(used, 3)), what))
}
