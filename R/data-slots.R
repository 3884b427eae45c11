# What stands in slots, a column for each data point: slot i of point n holds the latent selected[i,
# n], its probability prob_on[i, n] and, where states are sampled, its value. Latents ascend in a
# column, and empty slots, which hold 0, come last.

block_slots <- function(slots, block) {
  if (block$n_points == ncol(slots)) slots else slots[, block_columns(block), drop = FALSE]
}

# Order in which slots [slots x n] stand in ascending order in each column, empty ones last.
slot_order <- function(selected) {
  order(rep(seq_len(ncol(selected)), each = nrow(selected)), ifelse(selected > 0, selected, Inf))
}

sort_slots <- function(selected) selected[slot_order(selected)]

fill_up <- function(latents, n_slots) c(latents, integer(n_slots - length(latents)))

# Slots without some latents, in ascending order.
leave_out <- function(selected, latents) {
  is_out <- selected %in% latents
  if (!any(is_out)) return(selected)
  selected[is_out] <- 0L
  selected[] <- sort_slots(selected)
  selected
}

# Slots without a latent of each point's own.
leave_out_each <- function(selected, latents) {
  selected[selected == rep(latents, each = nrow(selected))] <- 0L
  selected[] <- sort_slots(selected)
  selected
}

# Probability from which a latent is taken for on.
least_on <- 0.01

# Slots after latents got new numbers: relabel [H] has the new number of each, 0 = none. A latent
# without a number leaves its slot empty, and one that two slots hold the later of them; slots stand
# in ascending order again, empty ones last.
relabel_slots <- function(state, relabel) {
  selected <- state$selected
  held <- selected > 0
  selected[held] <- as.integer(relabel)[selected[held]]
  for (slot in seq_len(nrow(selected))[-1]) {
    earlier <- selected[seq_len(slot - 1), , drop = FALSE]
    is_double <- colSums(earlier == rep(selected[slot, ], each = slot - 1)) > 0
    selected[slot, is_double] <- 0L
  }
  prob_on <- ifelse(selected > 0, state$prob_on, 0)
  ordered <- slot_order(selected)
  state$selected <- array(selected[ordered], dim(selected))
  state$prob_on <- array(prob_on[ordered], dim(selected))
  if (!is.null(state$value)) {
    state$value <- array(ifelse(selected > 0, state$value, 0)[ordered], dim(selected))
  }
  state
}

# Values after the parameters of their latents were rescaled; rescale [H].
rescale_values <- function(state, rescale) {
  held <- state$selected > 0
  state$value[held] <- state$value[held] * rescale[state$selected[held]]
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

# Slots after latents became known to be on: `labels` has data points and latents, each of which
# takes an empty slot of its point, or the one that is least likely on.
add_labels <- function(state, labels) {
  is_open <- !anyDuplicated(labels$point) && all(state$selected[, labels$point] == 0)
  if (is_open) {
    state$selected[1, labels$point] <- as.integer(labels$latent)
    state$prob_on[1, labels$point] <- 1
    return(state)
  }
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

# No latent selected for any data point.
empty_slots <- function(task, state) {
  state$selected <- matrix(0L, task$n_selected, n_points(task$y))
  state$prob_on <- matrix(0, task$n_selected, n_points(task$y))
  state
}

# Posterior means of all latents, H x N, zero outside the selection: the targets of the next
# regression.
dense_targets <- function(state, n_latents) {
  .Call(C_dense_targets, state$selected, state$prob_on, n_latents)
}

# Slots in which these latents are on where they were off, which is everywhere that they were not
# selected: there they take the places of the least probable of the others.
flip_slots <- function(state, flip) {
  for (latent in flip) {
    held <- state$selected == latent
    state$prob_on[held] <- 1 - state$prob_on[held]
    if (!is.null(state$value)) state$value[held] <- 1 - state$value[held]
    free <- array(!state$selected %in% flip, dim(state$selected))
    worth <- ifelse(state$selected == 0, -1, ifelse(free, state$prob_on, 2))
    slot <- max.col(-t(worth), ties.method = "first")
    at <- cbind(slot, seq_along(slot))
    at <- at[colSums(held) == 0 & worth[at] < 2, , drop = FALSE]
    state$selected[at] <- latent
    state$prob_on[at] <- 1
    if (!is.null(state$value)) state$value[at] <- 1
  }
  relabel_slots(state, seq_len(max(state$selected)))
}

# What a state has for each point.
per_point <- c("selected", "prob_on", "value")

cut_points <- function(state, rows) {
  lapply(state[intersect(per_point, names(state))],
         function(x) if (!is.null(x)) x[, rows, drop = FALSE])
}

# Values of slots (slots x n) at their latents: n x H, zero elsewhere.
scatter_slots <- function(selected, values, n_latents) {
  n_points <- ncol(selected)
  out <- matrix(0, n_points, n_latents)
  held <- selected > 0
  at <- (selected - 1) * as.double(n_points) + rep(seq_len(n_points), each = nrow(selected))
  out[at[held]] <- values[held]
  out
}
