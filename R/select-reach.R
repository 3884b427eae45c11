# Selection for some points of a block, and for those that nothing has been selected for.

# Slots in which no point is left without a latent, where each has one: those of a block that no
# neighbour's has reached get what the model itself ranks best.
reach_points <- function(task, state, block, selected) {
  if (task$model$rule$min_active == 0 || !has_ranking(task$model)) return(selected)
  points <- which(colSums(selected > 0) == 0)
  if (length(points) == 0) return(selected)
  part <- pick_points(task, state, block, points)
  state[c("explore", "given", "selected")] <- list(0, NULL, NULL)
  part$task$selector <- selector_handcrafted()
  part$task$selector["screen"] <- list(NULL)
  selected[, points] <- select_latents(part$task, state, part$block, part$inputs)
  selected
}

# Some points of an open block: list(task, block, inputs).
pick_points <- function(task, state, block, points) {
  if (length(points) == block$n_points) {
    part <- block
    part$offset <- 0
  } else {
    task$y <- block_data(task$y, block)[, points, drop = FALSE]
    part <- new_block(0, length(points), block$first_row, streams = block$streams[points],
                      missing = cut_missing(block$missing, block$y_offset + points))
  }
  list(task = task, block = part,
       inputs = block_inputs(task$model, state$params, task$y, part))
}
