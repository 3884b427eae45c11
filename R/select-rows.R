# Affinities of some of a task's data points, by their numbers.

# The learned selector holds the affinities of all points, or makes them by their numbers; the
# others rank the points alone.
affinity_of_points <- function(selector, step, points) {
  task <- step$task
  if (inherits(selector, "gps_selector_gp")) {
    step$state$memory <- memory_of_points(step$state$memory, points)
  }
  affinity <- matrix(0, length(points), task$model$n_latents)
  for (block in split_blocks(length(points), point_doubles(task$model))) {
    seen <- take_points(step$task$y, step$task$missing, points[block_columns(block)])
    task$y <- seen$y
    block$y_offset <- 0
    block["missing"] <- list(seen$missing)
    block$rows <- points[block_columns(block)]
    if (!is.null(step$state$memory$basis)) {
      step$state$view <- block_view(task, step$state$memory, block)
    }
    inputs <- block_inputs(task$model, step$state$params, task$y, block)
    value <- block_affinity(selector, task, step$state, block, inputs)
    if (!is.null(value)) {
      affinity[block_columns(block), ] <- t(rank_answer(value, task$model$n_latents))
    }
  }
  name_rows(affinity, step$row_names[points])
}

memory_of_points <- function(memory, points) {
  if (!is.null(memory$cross)) {
    memory$targets <- cut_targets(memory$targets, points)
    memory["kept"] <- list(NULL)
  } else if (is.null(memory$affinity)) {
    memory$points <- points
  } else {
    memory$affinity <- memory$affinity[, points, drop = FALSE]
  }
  memory
}
