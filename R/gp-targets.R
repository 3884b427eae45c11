# Targets of a regression: a matrix n_targets x n_points, or where nearly all are 0 of class
# `gps_slots`: `selected` and `prob_on`, slots x points as in a state, with the `layout` of the
# latents. Predictions of the latter are made for some points at a time; nothing of n_latents x
# n_points exists.

# The targets of a state, or of a fit.
slot_targets <- function(state, model, smooth = 0) {
  structure(list(selected = state$selected, prob_on = state$prob_on,
                 layout = spread_layout(model, smooth)), class = "gps_slots")
}

target_points <- function(targets) ncol(if (is.matrix(targets)) targets else targets$selected)

# Targets of some points.
cut_targets <- function(targets, points) {
  if (!inherits(targets, "gps_slots")) return(columns_of(targets, points))
  parts <- c("selected", "prob_on")
  targets[parts] <- lapply(targets[parts], columns_of, points)
  targets
}

# Those of a block, where they are not all there are.
block_targets <- function(targets, block) {
  if (block$n_points == target_points(targets)) return(targets)
  cut_targets(targets, block_columns(block))
}

# Sum of f_n (y_n / scale_n)', Q x n_targets.
cross_targets <- function(targets, features, scale = NULL) {
  if (inherits(targets, "gps_slots")) {
    return(.Call(C_gp_cross_slots, features, scale, targets$selected, targets$prob_on,
                 targets$layout$n_latents))
  }
  if (!is.null(scale)) targets <- targets / rep(scale, each = nrow(targets))
  tcrossprod(features, targets)
}

# Answers where few latents count for a point: `latent` and `affinity`, k x points; latent 0 is
# none, and all others of a point are 0.
new_candidates <- function(latent, affinity) {
  structure(list(latent = latent, affinity = affinity), class = "gps_candidates")
}

# An answer of all latents, n_latents x points.
rank_answer <- function(mean, n_latents) {
  if (!inherits(mean, "gps_candidates")) return(mean)
  dense_targets(list(selected = mean$latent, prob_on = mean$affinity), n_latents)
}

# Affinities of some points; of latents that are left, numbered as they stand there; and without
# some that are out of the model. NULL ranks nothing.
cut_answer <- function(mean, points) {
  if (is.null(mean)) return(NULL)
  if (!inherits(mean, "gps_candidates")) return(columns_of(mean, points))
  new_candidates(columns_of(mean$latent, points), columns_of(mean$affinity, points))
}

keep_latents <- function(mean, left, n_latents) {
  if (!inherits(mean, "gps_candidates")) return(mean[left, , drop = FALSE])
  number <- integer(n_latents)
  number[left] <- seq_along(left)
  mean$latent[] <- c(0L, number)[mean$latent + 1L]
  mean
}

bar_latents <- function(mean, out) {
  if (is.null(mean) || length(out) == 0) return(mean)
  if (inherits(mean, "gps_candidates")) {
    mean$latent[mean$latent %in% out] <- 0L
  } else {
    mean[out, ] <- -Inf
  }
  mean
}

# Sums of targets in slots, n_latents x points, smoothed over the grid: of point n with the
# coefficients scale[n] coef[, column[n]], in which the training point left_out[n] does not count.
spread_targets <- function(targets, coef, column = seq_len(ncol(coef)), scale = 1, left_out = 0L,
                           n_threads = 1L) {
  n <- length(column)
  .Call(C_gp_spread, coef, as.integer(column), rep_len(as.double(scale), n),
        rep_len(as.integer(left_out), n), targets$selected, targets$prob_on, targets$layout,
        n_threads)
}

# All targets of few points in slots, smoothed as predictions are, n_latents x points.
dense_slots <- function(targets, n_threads = 1L) {
  spread_targets(targets, diag(ncol(targets$selected)), n_threads = n_threads)
}

# The rows of these that are not 0 throughout, at least one. Unsmoothed they are known beforehand.
used_targets <- function(targets, n_threads = 1L) {
  if (!inherits(targets, "gps_slots")) return(targets)
  if (targets$layout$smooth == 0) {
    used <- sort(unique(targets$selected[targets$selected > 0 & targets$prob_on != 0]))
    targets$selected[] <- match(targets$selected, used, nomatch = 0L)
    return(dense_targets(targets, max(length(used), 1L)))
  }
  dense <- dense_slots(targets, n_threads)
  used <- which(rowSums(dense != 0) > 0)
  dense[if (length(used) > 0) used else 1L, , drop = FALSE]
}
