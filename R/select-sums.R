# The learned selection for many data points: the kernel is approximated by few basis functions, and
# regression needs nothing of the data but sums over points. They are gathered block by block in the
# same pass as the E-step, so that nothing grows with the square of the number of points. What a
# basis is: gp-basis.R.

# Features of all points are kept up to so many numbers (256 MB); beyond, a block's are made when
# they are asked for.
max_kept_features <- 2^25

# What one pass needs of a block before ranking and after the E-step, where the memory has a basis:
# list(features [rank x n], scale, residual, offset).
block_view <- function(task, memory, block) {
  view <- memory$kept[[as.character(block$offset)]]
  if (is.null(view)) view <- memory_view(task, memory, block_data(task$y, block))
  c(view, list(offset = block$offset))
}

# The engine of a memory's basis, whose data come in blocks.
basis_engine <- function(task, memory) {
  engine <- selector_engine(task$selector)
  engine$basis <- memory$basis
  hold_data(engine, task$selector$kernel, memory$theta, NULL, task$n_threads)
}

memory_view <- function(task, memory, y) {
  engine_view(basis_engine(task, memory), in_units(y, memory$units))
}

# The view of some of its points.
cut_view <- function(view, points) {
  if (length(points) == ncol(view$features)) return(view)
  list(features = view$features[, points, drop = FALSE], scale = view$scale[points],
       residual = view$residual[points])
}

# Leave-one-out means, or predictive means while the sums are of other data points.
affinity_by_sums <- function(memory, view, block) {
  if (is.null(memory$cross)) return(NULL)
  view <- cut_view(view, block$offset - view$offset + seq_len(block$n_points))
  targets <- if (!is.null(memory$targets)) block_targets(memory$targets, block)
  view_means(memory$prepared, memory$cross, view, targets, memory$weight)
}

# What a block adds to the sums: `cross` with the new expectations, and where they are needed, the
# moments of the basis functions.
block_sums <- function(task, state, result) {
  view <- state$view
  targets <- slot_targets(result, task$model)
  if (has_moments_of(state$memory, task)) {
    return(list(cross = cross_targets(targets, view$features, view$scale)))
  }
  engine_sums(selector_engine(task$selector), view, targets)
}

# Whether the moments that a memory was prepared from are of this task's points and do not change.
has_moments_of <- function(memory, task) {
  is.null(task$batch_scale) && !is.null(memory$prepared) &&
    identical(memory$n_points, n_points(task$y))
}

# The memory with the sums of the state's expectations: those of the last pass, unless there was
# none with this basis.
regress_sums <- function(task, state) {
  memory <- state$memory
  sums <- state$sums
  targets <- slot_targets(state, task$model)
  if (is.null(memory$basis)) {
    memory[c("basis", "prepared", "kept")] <- list(choose_basis(task, memory), NULL, NULL)
    sums <- NULL
  }
  if (!is.null(task$batch_scale)) return(regress_batch(task, state, memory, sums))
  is_complete <- has_moments_of(memory, task) || !is.null(sums$gram)
  if (is.null(sums) || !is_complete) {
    surveyed <- survey(task, memory, targets)
    sums <- surveyed$sums
    memory["kept"] <- list(surveyed$kept)
  }
  if (!is.null(sums$gram)) memory <- prepare_basis(task, memory, sums)
  memory$n_points <- n_points(task$y)
  memory[c("cross", "targets", "weight")] <- list(sums$cross, targets, 1)
  memory
}

# The regression after one batch: its sums begin anew where their basis is new.
regress_batch <- function(task, state, memory, sums) {
  rate <- state$rate
  scale <- task$batch_scale
  if (is.null(sums)) {
    sums <- survey(task, memory, slot_targets(state, task$model))$sums
    memory["sums"] <- list(NULL)
  }
  memory$is_new <- is.null(memory$sums)
  memory$weight <- if (memory$is_new) scale else (1 - rate) * memory$weight + rate * scale
  memory$sums <- blend(memory$sums, sums, rate, scale)
  memory <- prepare_basis(task, memory, memory$sums)
  memory[c("cross", "targets")] <- list(memory$sums$cross, slot_targets(state, task$model))
  memory
}

# From moments what predictions need.
prepare_basis <- function(task, memory, sums) {
  memory$moments <- sums[c("gram", "residual", "n_points")]
  memory$basis <- count_residual(memory$basis, sums)
  memory$prepared <- engine_prepare(basis_engine(task, memory), memory$theta, sums = sums)
  memory
}

choose_basis <- function(task, memory) {
  rows <- sampled_rows(task, basis_rows, max(memory$last_refit, -1))
  y <- in_units(rows_data(task$y, rows), memory$units)
  engine <- selector_engine(task$selector)
  engine_plan(engine, task$selector$kernel, memory$theta, y, tol = selection_tol)$basis
}

# A pass for the sums alone: after the basis has changed. `kept` are the features of all points by
# the offset of their block, if they are few enough.
survey <- function(task, memory, targets) {
  n_numbers <- as.double(n_points(task$y)) * task$selector$rank
  is_kept <- is.matrix(task$y) && n_numbers <= max_kept_features
  parts <- map_blocks(task, function(task, block) {
    view <- memory_view(task, memory, block_data(task$y, block))
    sums <- engine_sums(selector_engine(task$selector), view, block_targets(targets, block))
    list(sums = sums, view = if (is_kept) view)
  })
  offsets <- vapply(task$blocks, `[[`, 1, "offset")
  list(sums = fold_parts(lapply(parts, `[[`, "sums")),
       kept = if (is_kept) stats::setNames(lapply(parts, `[[`, "view"), offsets))
}

# Share of the targets' variance that leave-one-out means explain, on at most `max_points` points.
sums_r2 <- function(task, memory, max_points = 512L) {
  points <- spaced_points(ncol(memory$targets$selected), max_points)
  view <- memory_view(task, memory, rows_data(task$y, points))
  targets <- cut_targets(memory$targets, points)
  loo <- view_means(memory$prepared, memory$cross, view, targets, memory$weight)
  gp_loo_r2(dense_targets(targets, task$model$n_latents), loo)
}
