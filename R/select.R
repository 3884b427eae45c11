# From affinities to selected latents (equation 4 of the paper), and the screening step between the
# two.

#' Screening of candidates
#'
#' A step between ranking and selection, for every model: candidates are the best-ranked latents,
#' the point's own last ones and a few at random; the model's log joint decides which of them fill
#' the slots. It evaluates single states only, so it costs far less than a scan of all latents.
#'
#' @param rank_by "greedy": slots are filled one after the other by the gain in log joint given
#'   those already filled; "singleton": by the log joint of the states with one latent on.
#' @param keep TRUE: the latents that were selected for the point in the last iteration are
#'   candidates.
#' @param propose number of best-ranked latents that are candidates; NULL: twice `n_selected`.
#' @param explore two whole numbers: uniform random candidates for each point while the fit
#'   explores, and after.
#' @param random_slot TRUE: the selector's explorers also replace slots after screening.
#' @param moves,pool,conditional,temperature not available yet; anything but NULL is an error.
#' @return a list of class `gps_screen` for the `screen` argument of a selector.
#' @examples
#' selector_handcrafted(screen = gps_screen(propose = 6))
#' @export
gps_screen <- function(rank_by = c("greedy", "singleton"), keep = TRUE, propose = NULL,
                       explore = c(4, 1), random_slot = FALSE, moves = NULL, pool = NULL,
                       conditional = NULL, temperature = NULL) {
  refuse_unbuilt(list(moves = moves, pool = pool, conditional = conditional,
                      temperature = temperature))
  if (!is.numeric(explore) || length(explore) != 2) {
    abort_value(explore, "explore", "two whole numbers")
  }
  structure(
    list(rank_by = check_choice(rank_by, "rank_by", c("greedy", "singleton")),
         keep = check_flag(keep, "keep"),
         propose = if (!is.null(propose)) check_count(propose, "propose"),
         explore = c(check_count(explore[1], "explore", 0, most_draws),
                     check_count(explore[2], "explore", 0, most_draws)),
         random_slot = check_flag(random_slot, "random_slot")),
    class = "gps_screen"
  )
}

# Uniform draws that a data point may ask for.
most_draws <- 1e6

# Options that later versions will have must not pass in silence.
refuse_unbuilt <- function(values) {
  for (name in names(values)) {
    if (!is.null(values[[name]])) {
      gps_abort(sprintf("`%s` is not available yet: leave it NULL.", name))
    }
  }
}

# selected [n_selected x n] of one block, slots in ascending latent order. `affinity` [H x n]; NULL
# ranks nothing, so that all latents tie. A state with `given` slots has them instead (mend.R).
select_block <- function(task, state, block, inputs) {
  n_latents <- task$model$n_latents
  if (task$n_selected == n_latents) return(matrix(seq_len(n_latents), n_latents, block$n_points))
  if (!is.null(state$given)) return(block_slots(state$given, block))
  affinity <- block_affinity(task$selector, task, state, block, inputs)
  stream <- list(seed = task$seed, start = state$start, iteration = state$iteration)
  screen <- task$selector$screen
  if (!is.null(screen)) return(screen_block(task, state, block, inputs, affinity, screen, stream))
  if (is.null(affinity)) affinity <- matrix(0, n_latents, block$n_points)
  .Call(C_select, affinity, task$n_selected, state$explore * task$n_selected, stream,
        block$first_row, task$n_threads)
}

screen_block <- function(task, state, block, inputs, affinity, screen, stream) {
  kept <- if (screen$keep && !is.null(state$selected)) block_slots(state$selected, block)
  refuse_nan(affinity, block)
  propose <- if (is.null(screen$propose)) 2L * task$n_selected else screen$propose
  propose <- min(propose, task$model$n_latents)
  settings <- list(n_propose = propose, n_explore = screen$explore[if (state$explore > 0) 1 else 2],
                   is_greedy = as.integer(screen$rank_by == "greedy"),
                   share = if (screen$random_slot) state$explore * task$n_selected else 0,
                   is_one_hot = as.integer(task$model$rule$min_active == 1))
  if (is.null(affinity) && is.null(kept)) settings$n_explore <- propose
  problem <- list(shape = task$model$shape, inputs = inputs,
                  lengths = block_lengths(task$model, block))
  .Call(C_screen, task$model$native, problem, task$y, block, affinity, kept, task$n_selected,
        settings, stream, task$n_threads)
}

refuse_nan <- function(affinity, block) {
  if (!anyNA(affinity)) return(invisible())
  point <- block$first_row + which(colSums(is.na(affinity)) > 0)[1]
  gps_abort(sprintf("Screening: a value is not finite at data point %.0f.", point), "numeric")
}

block_slots <- function(slots, block) {
  if (block$n_points == ncol(slots)) slots else slots[, block_columns(block), drop = FALSE]
}

# Slots after latents got new numbers: relabel [H] has the new number of each, 0 = none. A latent
# without a number leaves its slot empty; slots stand in ascending order again, empty ones last.
relabel_slots <- function(state, relabel) {
  selected <- state$selected
  held <- selected > 0
  selected[held] <- as.integer(relabel)[selected[held]]
  prob_on <- ifelse(selected > 0, state$prob_on, 0)
  ordered <- order(rep(seq_len(ncol(selected)), each = nrow(selected)),
                   ifelse(selected > 0, selected, Inf))
  state$selected <- array(selected[ordered], dim(selected))
  state$prob_on <- array(prob_on[ordered], dim(selected))
  if (!is.null(state$value)) {
    state$value <- array(ifelse(selected > 0, state$value, 0)[ordered], dim(selected))
  }
  state
}

# No latent selected for any data point.
empty_slots <- function(task, state) {
  state$selected <- matrix(0L, task$n_selected, ncol(task$y))
  state$prob_on <- matrix(0, task$n_selected, ncol(task$y))
  state
}

# Slots after latents became known to be on: `labels` has data points and latents, each of which
# takes an empty slot of its point, or the one that is least likely on.
add_labels <- function(state, labels) {
  for (i in seq_len(nrow(labels))) {
    point <- labels$point[i]
    slots <- state$selected[, point]
    if (labels$latent[i] %in% slots) next
    at <- which.min(ifelse(slots == 0, -1, state$prob_on[, point]))
    slots[at] <- as.integer(labels$latent[i])
    prob_on <- replace(state$prob_on[, point], at, 1)
    ordered <- order(ifelse(slots > 0, slots, Inf))
    state$selected[, point] <- slots[ordered]
    state$prob_on[, point] <- prob_on[ordered]
  }
  state
}

# Values of latents in the slots that hold them now; 0 = off where a latent was not selected.
carry_values <- function(last, value, selected) {
  if (identical(last, selected)) return(value)
  n_keys <- max(last, selected) + 1
  key <- function(slots) slots + n_keys * rep(seq_len(ncol(slots)), each = nrow(slots))
  carried <- value[match(key(selected), key(last))]
  array(ifelse(is.na(carried) | selected == 0, 0, carried), dim(selected))
}

# Values after the parameters of their latents were rescaled; rescale [H].
rescale_values <- function(state, rescale) {
  held <- state$selected > 0
  state$value[held] <- state$value[held] * rescale[state$selected[held]]
  state
}
