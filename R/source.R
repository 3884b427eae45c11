# Where the data of a task are, and the only ways to get at them. A task's `y` is a matrix D x N, or
# a source that reads data points when they are asked for.

n_points <- function(y) ncol(y)

n_dims <- function(y) nrow(y)

# A block of data points. `offset` is where it begins in slots and all else that is kept for each
# point; `first_row` (0-based) is the number of its first point in the whole, which random streams
# and messages use; `y_offset` is where its columns begin in the `y` that goes along with it.
new_block <- function(offset, n_points, first_row = offset, y_offset = offset) {
  list(offset = offset, n_points = n_points, first_row = first_row, y_offset = y_offset)
}

# The points from `offset` (0-based) on in a block.
part_block <- function(block, offset, n_points) {
  new_block(block$offset + offset, n_points, block$first_row + offset, block$y_offset + offset)
}

# Where a block's points are in slots.
block_columns <- function(block) block$offset + seq_len(block$n_points)

# list(task, block) in which `y` is a matrix that has the block's points.
open_block <- function(task, block) list(task = task, block = block)

# The values of `use(task, block)` for all opened blocks.
map_blocks <- function(task, use) {
  lapply(task$blocks, function(block) {
    open <- open_block(task, block)
    use(open$task, open$block)
  })
}

# The points of an open block, D x n.
block_data <- function(y, block) {
  if (block$n_points == ncol(y)) return(y)
  y[, block$y_offset + seq_len(block$n_points), drop = FALSE]
}

# Some data points, D x rows.
rows_data <- function(y, rows) y[, rows, drop = FALSE]
