# Runs of data points, and what stands in slots beside them: everything that touches all points is a
# map over blocks whose results add up.

# Data are a matrix D x N, or a source.

n_points <- function(y) if (is.matrix(y)) ncol(y) else y$n

n_dims <- function(y) if (is.matrix(y)) nrow(y) else y$d

# Observations that so many data points stand for.
total_weight <- function(weights, n_points) if (is.null(weights)) n_points else sum(weights)

# The same of the data of a task.
task_weight <- function(task) total_weight(task$weights, n_points(task$y))

# One number for each point, as often as the point counts.
weigh <- function(x, weights) if (is.null(weights)) x else x * weights

# Numbers that a block's data, or its array of latents x points, may take: memory of this size (16
# MB) is used again, larger pieces would be fetched from the system for every block.
block_doubles <- 2^21

# Blocks of a power of two times 512 points, so that sums over blocks follow the same tree as the
# sums over 512 points in C (src/blocks.h), whatever the size. `n_doubles`: numbers of each point.
split_blocks <- function(n_points, n_doubles) {
  size <- 512
  while (size < n_points && 2 * size * n_doubles <= block_doubles) size <- 2 * size
  offsets <- if (n_points > 0) seq(0, n_points - 1, by = size)
  lapply(offsets, function(offset) new_block(offset, min(size, n_points - offset)))
}

# A block of data points. `offset` is where it begins in slots and all else that is kept for each
# point; `first_row` (0-based) is the number of its first point in the whole, which random streams
# and messages use; `y_offset` is where its columns begin in the `y` that goes along with it. An
# open block of sparse data has its entries besides, one of data that lack cells those of all
# columns of `y` as `missing` (data-missing.R), one of new data the numbers of its points'
# `streams`, and one of data with weights those of its points.
new_block <- function(offset, n_points, first_row = offset, y_offset = offset, entries = NULL,
                      streams = NULL, missing = NULL, weights = NULL) {
  list(offset = offset, n_points = n_points, first_row = first_row, y_offset = y_offset,
       entries = entries, streams = streams, missing = missing, weights = weights)
}

# The points from `offset` (0-based) on in a block.
part_block <- function(block, offset, n_points) {
  new_block(block$offset + offset, n_points, block$first_row + offset, block$y_offset + offset,
            block$entries, block$streams[offset + seq_len(n_points)], block$missing,
            block$weights[offset + seq_len(n_points)])
}

# Where a block's points are in slots.
block_columns <- function(block) block$offset + seq_len(block$n_points)

# list(task, block) in which `y` is a matrix that has the block's points, and the block knows which
# cells they lack.
open_block <- function(task, block) {
  source <- task$y
  if (!is.null(task$weights)) {
    block$weights <- task$weights[block$y_offset + seq_len(block$n_points)]
  }
  if (is.matrix(source)) {
    block["missing"] <- list(task$missing)
    return(list(task = task, block = block))
  }
  from <- block$y_offset + 1
  to <- block$y_offset + block$n_points
  values <- read_ranges(source, from, to)
  block["missing"] <- list(find_missing(values))
  gaps <- if (is.null(source$gaps)) list(fill = numeric(source$d)) else source$gaps
  task$y <- fill_gaps(values, gaps)
  block["entries"] <- list(observed_entries(sparse_entries(source, from, to)))
  block$y_offset <- 0
  list(task = task, block = block)
}

# The values of `use(task, block)` for all opened blocks.
map_blocks <- function(task, use) {
  lapply(task$blocks, function(block) {
    check_deadline()
    open <- open_block(task, block)
    value <- use(open$task, open$block)
    tell_block(task, block)
    value
  })
}

# The points up to the end of this block are done.
tell_block <- function(task, block) {
  if (!is.null(task$pass_teller)) {
    tell_count(task$pass_teller, block$offset + block$n_points, "point")
  }
}

# One block of all points of a task whose data are a matrix.
whole_block <- function(task) new_block(0, ncol(task$y), missing = task$missing)

# The points of an open block, D x n.
block_data <- function(y, block) {
  if (block$n_points == ncol(y)) return(y)
  y[, block$y_offset + seq_len(block$n_points), drop = FALSE]
}

# The same with NA in missing cells.
gappy_data <- function(y, block) {
  y <- block_data(y, block)
  missing <- cut_missing(block$missing, block$y_offset + seq_len(block$n_points))
  if (!is.null(missing)) y[missing_places(missing, nrow(y))] <- NA
  y
}

# The data of an open block, D x n, with a reconstruction of its points where cells are missing.
impute_block <- function(task, block, response) {
  y <- block_data(task$y, block)
  missing <- cut_missing(block$missing, block$y_offset + seq_len(block$n_points))
  if (is.null(missing)) return(y)
  at <- missing_places(missing, nrow(y))
  y[at] <- response[at]
  y
}

# Some data points, D x rows, in any order. From a source, neighbours are read together, and missing
# cells are as its task sees them.
rows_data <- function(y, rows) {
  if (!is_source(y)) return(y[, rows, drop = FALSE])
  sorted <- sort(unique(rows))
  longest <- max(1, block_doubles %/% y$d)
  begins <- c(TRUE, diff(sorted) != 1)
  place <- seq_along(sorted) - which(begins)[cumsum(begins)]
  first <- which(place %% longest == 0)
  found <- read_ranges(y, sorted[first], sorted[c(first[-1] - 1, length(sorted))])
  found <- fill_gaps(found, y$gaps)
  if (identical(sorted, rows)) found else found[, match(rows, sorted), drop = FALSE]
}

# list(y [D x n], missing) of some points of a task's data, in any order.
take_points <- function(y, missing, points) {
  if (!is_source(y)) {
    return(list(y = y[, points, drop = FALSE], missing = cut_missing(missing, points)))
  }
  gaps <- y$gaps
  y["gaps"] <- list(NULL)
  values <- rows_data(y, points)
  list(y = fill_gaps(values, gaps), missing = find_missing(values))
}

# A task of some of its points, which are a matrix.
point_task <- function(task, points) {
  task[c("y", "missing")] <- take_points(task$y, task$missing, points)
  task["weights"] <- list(task$weights[points])
  task
}

# Most numbers that a source is read as a whole for.
most_whole <- 2^25

is_small_source <- function(y) !is_source(y) || as.double(y$n) * y$d <= most_whole

# All data points, D x N, for `what` that cannot do with less.
whole_data <- function(y, what) {
  if (!is_source(y)) return(y)
  if (!is_small_source(y)) {
    gps_abort(sprintf(paste(
      "%s needs all data at once, but a source of %d x %d numbers is read as a whole only up to",
      "%s. What reads block by block: the selectors selector_handcrafted(), selector_full(),",
      "selector_random(), selector_custom() without `learn`, and selector_gp() with `method`",
    "\"ichol\", \"inducing\", \"fourier\" or \"neighbours\"."
    ), what, y$n, y$d, format_number(most_whole)))
  }
  rows_data(y, seq_len(y$n))
}

# Sum of statistics over blocks by the tree of src/blocks.h: equal sizes pair up, the rest is added
# from the right.
fold_parts <- function(parts) {
  add <- function(left, right) Map(`+`, left, right)
  level <- list()
  for (part in parts) {
    k <- 1
    while (k <= length(level) && !is.null(level[[k]])) {
      part <- add(level[[k]], part)
      level[k] <- list(NULL)
      k <- k + 1
    }
    level[k] <- list(part)
  }
  full <- level[!vapply(level, is.null, NA)]
  Reduce(function(right, left) add(left, right), full)
}

# W'y of an open block, H x n.
project_block <- function(w, y, block) {
  if (is.null(block$entries)) return(crossprod(w, block_data(y, block)))
  .Call(C_project, w, block)
}

start_rows <- 2000L

# Evenly spaced rows of a source, at most as many as a start looks at.
even_rows <- function(y, n_rows = start_rows) spaced_points(n_points(y), n_rows)

# Numbers that stand for 1..n_points: at most `max_points`, evenly spaced so that no random numbers
# are needed.
spaced_points <- function(n_points, max_points = 1000L) {
  unique(round(seq(1, n_points, length.out = min(n_points, max_points))))
}

# Numbers, one after the other, in pieces of at most `size`.
in_pieces <- function(x, size) split(x, (seq_along(x) - 1) %/% max(1, size))

# At most `n` of the numbers 1..n_all, ascending, drawn with the stream `number` of a seed.
sample_numbers <- function(n_all, n, seed, number) {
  if (n_all <= n) return(seq_len(n_all))
  with_seed(seed, number, sort(sample.int(n_all, n)))
}

# The columns of y [D x n] that stand for all.
some_points <- function(y, max_points = 1000L) {
  y[, spaced_points(ncol(y), max_points), drop = FALSE]
}

blend <- function(running, new, rate, scale) {
  if (is.null(running)) return(lapply(new, `*`, scale))
  Map(function(old, new) (1 - rate) * old + (rate * scale) * new, running, new[names(running)])
}

# ---- slots ----

# What stands in slots, a column for each data point: slot i of point n holds the latent selected[i,
# n], its probability prob_on[i, n] and, where states are sampled, its value. Latents ascend in a
# column, and empty slots, which hold 0, come last.

block_slots <- function(slots, block) {
  if (block$n_points == ncol(slots)) return(slots)
  .Call(C_columns, slots, block$offset, block$n_points)
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
  # Labels of one point take their places one after the other.
  turn <- stats::ave(seq_len(nrow(labels)), labels$point, FUN = seq_along)
  for (of_turn in split(labels, turn)) state <- take_labels(state, of_turn)
  state
}

# The same where no two labels are of one point.
take_labels <- function(state, labels) {
  labels <- labels[colSums(state$selected[, labels$point, drop = FALSE] ==
                             rep(labels$latent, each = nrow(state$selected))) == 0, ]
  if (nrow(labels) == 0) return(state)
  selected <- state$selected[, labels$point, drop = FALSE]
  prob_on <- state$prob_on[, labels$point, drop = FALSE]
  at <- cbind(max.col(-t(ifelse(selected == 0, -1, prob_on)), "first"), seq_len(nrow(labels)))
  selected[at] <- as.integer(labels$latent)
  prob_on[at] <- 1
  ordered <- slot_order(selected)
  state$selected[, labels$point] <- selected[ordered]
  state$prob_on[, labels$point] <- prob_on[ordered]
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
