# From affinities to selected latents (equation 4 of the paper), and the screening step between the
# two.

#' Screening of candidates
#'
#' A step between ranking and selection, for every model: candidates are the best-ranked latents,
#' the point's own last ones, some of their neighbours and a few at random; the model's log joint
#' decides which of them fill the slots. It evaluates single states only, so it costs far less than
#' a scan of all latents.
#'
#' Models whose latents lie on a grid have groups of latents: the locations of one component, of
#' which a state holds one at most. Slots get latents of different groups there, and neighbours are
#' locations of the same component, on a grid that is cyclic. The other models have no neighbours.
#'
#' Screening has up to four steps. All candidates are judged by the log joint of the states in
#' which they are on alone; the `pool` best are left, and by `conditional` more that explain the
#' data best beside those selected last, and these themselves. A state is then grown latent by
#' latent, by the gain in log joint given those before, as long as one gains something. With
#' `sweeps` it takes back: where what was more on than off in the last iteration has a higher log
#' joint, it begins there; each latent of the state is left out on trial, and the state grown again
#' without it; and `inserts` other latents are tried in it, those that then gain nothing leaving it.
#' A change stays where the log joint is higher. The slots hold the state, and what is left of them
#' the latents of the best other states that were looked at (without `sweeps`, those that gain most
#' beside the state). Of each kind there are at most as many candidates as latents. Where all
#' latents are candidates and an iteration raises the bound by less than 0.1 nats a data point, each
#' point is screened with sweeps in every third iteration only, and keeps its slots between.
#'
#' @param rank_by "greedy": as described; "singleton": by the first step alone.
#' @param keep TRUE: the latents that were selected for the point in the last iteration are
#'   candidates.
#' @param propose number of best-ranked latents that are candidates, all of them if there are no
#'   more than that; NULL: one and a half times `n_selected`, ten times for models on a grid, and at
#'   least 128 for [model_binary_sparse()] and [model_spike_slab()], whose gains cost little, 24 for
#'   [model_max_spike_slab()].
#' @param explore two whole numbers: uniform random candidates for each point while the fit
#'   explores, and after; NULL: 4 and 1, or of models on a grid 2 % and 0.1 % of the latents, at
#'   least `n_selected`.
#' @param guided two whole numbers, while the fit explores and after: candidates that the model
#'   proposes where the data are unexplained by what was selected last, if it can. NULL: 0 and 0.5
#'   % of the latents, at least `n_selected`, for [model_occlusive()], which looks at pixels that
#'   are left to the clutter and draws components a pixel of which looks like them. None for other
#'   models, and none without `keep`.
#' @param random_slot TRUE: while the fit explores, the selector's explorers replace slots after
#'   screening, too; NULL: for models on a grid only.
#' @param moves random neighbours of each latent that was selected last among the candidates, at
#'   most two steps away in each direction, a whole number between 0 and 24; NULL: 4 for models on a
#'   grid, 0 for others, which have none.
#' @param pool number of candidates left after the first step, at least 1; NULL: all for the models
#'   of sparse coding, else 4 times `n_selected`.
#' @param conditional two whole numbers: candidates that the second step adds to the pool while the
#'   fit explores, and after; NULL: none and then 3 times `n_selected` for models on a grid, none
#'   for others. Needs `keep`.
#' @param temperature least standard deviation of the noise by which candidates are judged, in the
#'   units of the data, at least 0: a sharp posterior tells nothing of a candidate that is nearly
#'   right. NULL: the model's default, 0.08 of the data's range for [model_occlusive()]. For models
#'   on a grid; others are judged as they are, and so is every model once annealing is over.
#' @param sweeps how often each latent of the state is left out on trial, at most, 0 to 100; it ends
#'   as soon as nothing changes. NULL: 2, and 0 for models on a grid.
#' @param inserts number of other candidates that are tried in the state, each the better ranked of
#'   two random ones; NULL: 2 for the models of sparse coding, else 0. None without `sweeps`.
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return a list of class `gps_screen` for the `screen` argument of a selector.
#' @examples
#' selector_handcrafted(screen = gps_screen(propose = 6))
#' @export
gps_screen <- function(rank_by = c("greedy", "singleton"), keep = TRUE, propose = NULL,
                       explore = NULL, random_slot = NULL, moves = NULL, pool = NULL,
                       conditional = NULL, temperature = NULL, guided = NULL, sweeps = NULL,
                       inserts = NULL, ...) {
  refuse_unknown(list(...), names(formals(gps_screen)))
  conditional <- check_early_late(conditional, "conditional")
  guided <- check_early_late(guided, "guided")
  if (!check_flag(keep, "keep") && any(c(conditional, guided) > 0)) {
    gps_abort("`conditional` and `guided` above 0 need `keep` = TRUE: they add to what was kept.")
  }
  structure(
    list(rank_by = check_choice(rank_by, "rank_by", c("greedy", "singleton")), keep = keep,
         propose = if (!is.null(propose)) check_count(propose, "propose"),
         explore = check_early_late(explore, "explore"),
         random_slot = if (!is.null(random_slot)) check_flag(random_slot, "random_slot"),
         moves = if (!is.null(moves)) check_count(moves, "moves", 0, most_moves),
         pool = if (!is.null(pool)) check_count(pool, "pool"),
         conditional = conditional,
         temperature = if (!is.null(temperature)) check_number(temperature, "temperature", 0),
         guided = guided,
         sweeps = if (!is.null(sweeps)) check_count(sweeps, "sweeps", 0, most_visits),
         inserts = if (!is.null(inserts)) check_count(inserts, "inserts", 0, most_draws)),
    class = "gps_screen"
  )
}

# NULL, or two whole numbers: while the fit explores, and after.
check_early_late <- function(x, arg) {
  x <- plain_numbers(x)
  if (is.null(x)) return(NULL)
  if (!is.numeric(x) || length(x) != 2) abort_value(x, arg, "two whole numbers")
  c(check_count(x[1], arg, 0, most_draws), check_count(x[2], arg, 0, most_draws))
}

# Neighbours on the grid that src/screen.c draws from.
most_moves <- 24L

# Sweeps end by themselves where none of the latents is better taken back.
most_visits <- 100L

# Candidates of a kind that a data point may ask for.
most_draws <- 1e6

# Options that later versions will have must not pass in silence.
refuse_unbuilt <- function(values) {
  for (name in names(values)) {
    if (!is.null(values[[name]])) {
      gps_abort(sprintf("`%s` is not available yet: leave it NULL.", name))
    }
  }
}

# selected [n_selected x n] of one block, slots in ascending latent order, 0 = empty at the end.
# `affinity` [H x n]; NULL ranks nothing, so that all latents tie. A state with `given` slots has
# them instead (mend.R).
select_block <- function(task, state, block, inputs) {
  n_latents <- task$model$n_latents
  if (task$n_selected == n_latents) {
    left <- setdiff(seq_len(n_latents), emptied_inputs(inputs))
    return(matrix(fill_up(left, n_latents), n_latents, block$n_points))
  }
  if (!is.null(state$given)) return(block_slots(state$given, block))
  select_in_parts(task, state, block, inputs, select_part)
}

# What `select` selects, from parts of a block whose affinities are not too many.
select_in_parts <- function(task, state, block, inputs, select) {
  n_points <- max(16L, as.integer(affinity_doubles / task$model$n_latents))
  if (n_points >= block$n_points) return(select(task, state, block, inputs))
  offsets <- seq(0, block$n_points - 1, by = n_points)
  parts <- lapply(offsets, function(offset) {
    part <- part_block(block, offset, min(n_points, block$n_points - offset))
    select(task, state, part, block_inputs(task$model, state$params, task$y, part))
  })
  structure(do.call(cbind, parts), n_gains = sum(unlist(lapply(parts, attr, "n_gains"))))
}

# Numbers that the affinities of a part of a block may take: memory of this size (16 MB) is used
# again, larger pieces would be fetched from the system for every block.
affinity_doubles <- 2^21

select_part <- function(task, state, block, inputs) {
  affinity <- block_affinity(task$selector, task, state, block, inputs)
  select_ranked(task, state, block, inputs, affinity)
}

select_ranked <- function(task, state, block, inputs, affinity) {
  n_latents <- task$model$n_latents
  screen <- task$selector$screen
  emptied <- emptied_inputs(inputs)
  if (!is.null(screen)) {
    if (!is.null(affinity)) affinity[emptied, ] <- -Inf
    screened <- screen_block(task, state, block, inputs, affinity, screen,
                             random_stream(task, state, block))
    return(if (length(emptied) > 0) leave_out(screened, emptied) else screened)
  }
  if (is.null(affinity)) affinity <- matrix(0, n_latents, block$n_points)
  if (length(emptied) > 0) return(select_left(task, state, block, affinity, emptied))
  .Call(C_select, affinity, task$n_selected, state$explore * task$n_selected, task$model$grid,
        random_stream(task, state, block), block$first_row, task$n_threads)
}

# The same among the latents that are left in the model; slots beyond their number are empty.
select_left <- function(task, state, block, affinity, emptied) {
  left <- setdiff(seq_len(nrow(affinity)), emptied)
  n_slots <- min(as.integer(task$n_selected), length(left))
  selected <- matrix(0L, task$n_selected, block$n_points)
  if (n_slots == 0) return(selected)
  chosen <- .Call(C_select, affinity[left, , drop = FALSE], n_slots,
                  state$explore * min(n_slots, length(left) - n_slots), NULL,
                  random_stream(task, state, block), block$first_row, task$n_threads)
  selected[seq_len(n_slots), ] <- left[chosen]
  selected
}

# Where the random numbers of a selection come from.
random_stream <- function(task, state, block) {
  list(seed = task$seed, start = state$start, iteration = state$iteration,
       streams = block$streams)
}

# Slots without some latents, in ascending order.
leave_out <- function(selected, latents) {
  is_out <- selected %in% latents
  if (!any(is_out)) return(selected)
  selected[is_out] <- 0L
  selected[] <- sort_slots(selected)
  selected
}

# Order in which slots [slots x n] stand in ascending order in each column, empty ones last.
slot_order <- function(selected) {
  order(rep(seq_len(ncol(selected)), each = nrow(selected)), ifelse(selected > 0, selected, Inf))
}

sort_slots <- function(selected) selected[slot_order(selected)]

fill_up <- function(latents, n_slots) c(latents, integer(n_slots - length(latents)))

# A screen with numbers for all its defaults.
resolve_screen <- function(screen, model, n_selected) {
  n_latents <- model$n_latents
  on_grid <- !is.null(model$grid)
  share <- function(part) as.integer(min(most_draws, max(n_selected, ceiling(part * n_latents))))
  defaults <- if (on_grid) {
    list(propose = 10L * n_selected, explore = c(share(0.02), share(0.001)),
         guided = c(0L, share(0.005)), random_slot = TRUE, moves = 4L, pool = 4L * n_selected,
         conditional = c(0L, 3L * n_selected), sweeps = 0L, inserts = 0L)
  } else {
    few <- as.integer(ceiling(1.5 * n_selected))
    wide <- model$defaults$wide
    list(propose = max(few, wide), explore = c(4L, 1L), guided = c(0L, 0L), random_slot = FALSE,
         moves = 0L, pool = max(4L * n_selected, if (!is.null(wide)) n_latents),
         conditional = c(0L, 0L), sweeps = 2L, inserts = if (is.null(wide)) 0L else 2L)
  }
  is_open <- vapply(names(defaults), function(name) is.null(screen[[name]]), NA)
  screen[names(defaults)[is_open]] <- defaults[is_open]
  # No more candidates of a kind than there are latents: draws beyond that only take time.
  for (kind in c("propose", "explore", "guided", "conditional")) {
    screen[[kind]] <- pmin(screen[[kind]], n_latents)
  }
  screen
}

# Neighbours there are on a grid only.
check_moves <- function(screen, model) {
  if (!is.list(screen) || !isTRUE(screen$moves > 0) || !is.null(model$grid)) {
    return(invisible(screen))
  }
  gps_abort(sprintf("`moves` must be 0 or NULL for the model %s, not %d: %s.",
                    dQuote(model$name, FALSE), screen$moves, "its latents have no neighbours"))
}

# Selected latents; the attribute `n_gains` says how many gains the model was asked for.
screen_block <- function(task, state, block, inputs, affinity, screen, stream) {
  screen <- resolve_screen(screen, task$model, as.integer(task$n_selected))
  kept <- if (screen$keep && !is.null(state$selected)) block_slots(state$selected, block)
  refuse_nan(affinity, block)
  phase <- if (state$is_early) 1 else 2
  settings <- list(
    n_propose = screen$propose, n_explore = screen$explore[phase],
    n_guided = screen$guided[phase], n_moves = screen$moves,
    n_pool = screen$pool, n_conditional = screen$conditional[phase],
    is_greedy = as.integer(screen$rank_by == "greedy"), n_sweeps = screen$sweeps,
    n_inserts = screen$inserts, period = if (isTRUE(state$may_rest)) rest_period else 1L,
    max_active = as.integer(min(task$max_active, task$n_selected)),
    prob_on = if (!is.null(kept)) kept_prob(state, block),
    share = if (screen$random_slot && phase == 1) state$explore * task$n_selected else 0,
    is_one_hot = as.integer(task$model$rule$min_active == 1), grid = task$model$grid,
    seek = state$sought
  )
  if (is.null(affinity) && is.null(kept)) {
    on_grid <- !is.null(task$model$grid)
    settings$n_explore <- max(screen$propose, if (on_grid) settings$n_explore)
  }
  problem <- list(shape = task$model$shape,
                  inputs = screen_inputs(task, state, block, inputs, screen$temperature),
                  lengths = block_lengths(task$model, block))
  result <- .Call(C_screen, task$model$native, problem, task$y, block, affinity, kept,
                  task$n_selected, settings, stream, task$n_threads)
  structure(result$selected, n_gains = result$n_gains)
}

# Iterations in one of which a data point is screened, each in its turn, once parameters change
# little: so does what it would select.
rest_period <- 3L

# Probabilities of what was selected last, where they are known.
kept_prob <- function(state, block) {
  if (identical(dim(state$prob_on), dim(state$selected))) block_slots(state$prob_on, block)
}

# Inputs by which candidates are judged: those of the E-step, or of a model with more noise.
screen_inputs <- function(task, state, block, inputs, temperature) {
  if (!state$is_early) return(inputs)
  params <- temper_params(task$model, state$params, temperature)
  if (identical(params, state$params)) return(inputs)
  block_inputs(task$model, params, task$y, block)
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
  ordered <- slot_order(selected)
  state$selected <- array(selected[ordered], dim(selected))
  state$prob_on <- array(prob_on[ordered], dim(selected))
  if (!is.null(state$value)) {
    state$value <- array(ifelse(selected > 0, state$value, 0)[ordered], dim(selected))
  }
  state
}

# No latent selected for any data point.
empty_slots <- function(task, state) {
  state$selected <- matrix(0L, task$n_selected, n_points(task$y))
  state$prob_on <- matrix(0, task$n_selected, n_points(task$y))
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
