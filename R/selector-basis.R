# The learned selection for many data points: the kernel is approximated by few basis functions, and
# regression needs nothing of the data but sums over points. They are gathered block by block in the
# same pass as the E-step, so that nothing grows with the square of the number of points. What a
# basis is: gp-basis.R.

# Points among which basis functions are chosen.
basis_rows <- 5000L

# Share of the kernel's trace at which no more of them are chosen. A term of small variance may be
# what tells latents apart, beside a linear term that makes up nearly all of the trace.
selection_tol <- 1e-6

# Features of all points are kept up to so many numbers (256 MB); beyond, a block's are made when
# they are asked for.
max_kept_features <- 2^25

# What one pass needs of a block before ranking and after the E-step: list(features [rank x n],
# scale, residual, offset), NULL for selectors without a basis.
block_view <- function(selector, task, state, block) UseMethod("block_view")

#' @export
block_view.default <- function(selector, task, state, block) NULL

#' @export
block_view.gps_selector_basis <- function(selector, task, state, block) {
  memory <- state$memory
  if (is.null(memory$basis)) return(NULL)
  view <- memory$kept[[as.character(block$offset)]]
  if (is.null(view)) {
    view <- basis_features(memory$basis, selector$kernel, memory$theta,
                           in_units(block_data(task$y, block), memory$units), task$n_threads)
  }
  c(view, list(offset = block$offset))
}

# The view of some of its points.
cut_view <- function(view, points) {
  if (length(points) == ncol(view$features)) return(view)
  list(features = view$features[, points, drop = FALSE], scale = view$scale[points],
       residual = view$residual[points])
}

# Leave-one-out means, or predictive means while the sums are of other data points.
#' @export
block_affinity.gps_selector_basis <- function(selector, task, state, block, inputs) {
  memory <- state$memory
  if (is.null(memory$cross)) return(NULL)
  view <- cut_view(state$view, block$offset - state$view$offset + seq_len(block$n_points))
  targets <- if (!is.null(memory$targets)) {
    lapply(memory$targets, block_slots, block = block)
  }
  basis_affinity(memory$prepared, memory$cross, view$features, view$scale, targets, memory$weight)
}

# What a block adds to the sums: `cross` with the new expectations, and where they are needed, the
# moments of the basis functions.
block_sums <- function(task, state, view, result) {
  if (is.null(view)) return(NULL)
  sums <- list(cross = basis_cross_slots(view$features, view$scale, result, task$model$n_latents))
  if (has_moments_of(state$memory, task)) return(sums)
  c(sums, feature_moments(view))
}

# Whether the moments that a memory was prepared from are of this task's points and do not change.
has_moments_of <- function(memory, task) {
  is.null(task$batch_scale) && !is.null(memory$prepared) &&
    identical(memory$n_points, n_points(task$y))
}

#' @export
begin_memory.gps_selector_basis <- function(selector, task, state) {
  memory <- state$memory
  if (is.null(memory)) memory <- begin_kernel(selector, task)
  state$memory <- memory
  if (is.null(state$selected)) state[c("selected", "prob_on")] <- random_targets(task, state)
  state["sums"] <- list(NULL)
  regress_basis(selector, task, state)
}

#' @export
learn_selector.gps_selector_basis <- function(selector, task, state) {
  if (is.null(state$memory)) state$memory <- begin_kernel(selector, task)
  memory <- learn_memory(selector, task, state$memory, slot_targets(state), state,
                         function(memory) {
                           state$memory <- memory
                           regress_basis(selector, task, state)
                         })
  if (may_refit(task) && state$iteration + 1 - memory$last_refit >= selector$refit_every) {
    memory$r2 <- basis_r2(selector, task, memory)
  }
  memory
}

# The memory with the sums of the state's expectations: those of the last pass, unless there was
# none with this basis.
regress_basis <- function(selector, task, state) {
  memory <- state$memory
  sums <- state$sums
  targets <- slot_targets(state)
  if (is.null(memory$basis)) {
    memory[c("basis", "prepared", "kept")] <- list(choose_basis(selector, task, memory), NULL, NULL)
    sums <- NULL
  }
  if (!is.null(task$batch_scale)) return(regress_batch(selector, task, state, memory, sums))
  is_complete <- has_moments_of(memory, task) || !is.null(sums$gram)
  if (is.null(sums) || !is_complete) {
    surveyed <- survey(selector, task, memory, targets)
    sums <- surveyed$sums
    memory["kept"] <- list(surveyed$kept)
  }
  if (!is.null(sums$gram)) memory <- prepare_basis(selector, memory, sums)
  memory$n_points <- n_points(task$y)
  memory[c("cross", "targets", "weight")] <- list(sums$cross, targets, 1)
  memory
}

# From moments what predictions need. What the basis leaves of the kernel, on average over the
# points, counts as noise: without it predictions get worse as the rank grows, since the basis'
# own points would be taken for known.
prepare_basis <- function(selector, memory, sums) {
  moments <- sums[c("gram", "residual", "n_points")]
  memory$basis <- count_residual(memory$basis, moments)
  memory$moments <- moments
  memory$prepared <- basis_prepare(memory$basis, selector$kernel, memory$theta, moments)
  memory
}

count_residual <- function(basis, moments) {
  if (!is_scaled(basis)) basis$extra <- moments$residual / moments$n_points
  basis
}

choose_basis <- function(selector, task, memory) {
  rows <- sampled_rows(task, basis_rows, max(memory$last_refit, -1))
  y <- in_units(rows_data(task$y, rows), memory$units)
  new_basis(selector$method, selector$kernel, memory$theta, y, selector$rank, selector$objective,
            tol = selection_tol)
}

# A pass for the sums alone: after the basis has changed. `kept` are the features of all points by
# the offset of their block, if they are few enough.
survey <- function(selector, task, memory, targets) {
  n_numbers <- as.double(n_points(task$y)) * selector$rank
  is_kept <- is.matrix(task$y) && n_numbers <= max_kept_features
  parts <- map_blocks(task, function(task, block) {
    view <- basis_features(memory$basis, selector$kernel, memory$theta,
                           in_units(block_data(task$y, block), memory$units), task$n_threads)
    slots <- lapply(targets, block_slots, block = block)
    cross <- basis_cross_slots(view$features, view$scale, slots, task$model$n_latents)
    list(sums = c(list(cross = cross), feature_moments(view)), view = if (is_kept) view)
  })
  offsets <- vapply(task$blocks, `[[`, 1, "offset")
  list(sums = fold_parts(lapply(parts, `[[`, "sums")),
       kept = if (is_kept) stats::setNames(lapply(parts, `[[`, "view"), offsets))
}

# Predictive means at new points, n_latents x n_new, from what a fit keeps of its regression.
basis_means <- function(gp, newdata, n_threads = 1L) {
  prepared <- gp$prepared
  newdata <- in_units(newdata, gp$units)
  view <- basis_features(prepared$basis, prepared$kernel, prepared$theta, newdata, n_threads)
  basis_affinity(prepared, gp$cross, view$features, view$scale)
}

# Share of the targets' variance that leave-one-out means explain, on at most `max_points` points.
basis_r2 <- function(selector, task, memory, max_points = 512L) {
  points <- unique(round(seq(1, ncol(memory$targets$selected),
                             length.out = min(ncol(memory$targets$selected), max_points))))
  y <- in_units(rows_data(task$y, points), memory$units)
  view <- basis_features(memory$basis, selector$kernel, memory$theta, y, task$n_threads)
  targets <- lapply(memory$targets, function(x) x[, points, drop = FALSE])
  loo <- basis_affinity(memory$prepared, memory$cross, view$features, view$scale, targets,
                        memory$weight)
  gp_loo_r2(dense_targets(targets, task$model$n_latents), loo)
}

# Sums of sampled rows rank for all points: no point is left out of them.
#' @export
grow_memory.gps_selector_basis <- function(selector, task, short, state) {
  memory <- state$memory
  memory$last_refit <- -Inf
  memory[c("kept", "targets")] <- list(NULL, NULL)
  memory
}
