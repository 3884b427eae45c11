# What a split of a cluster promises, and where its halves begin.

#' @export
residual_unit.gps_gaussian_mixture <- function(model) model$options$scale

# The upper triangle [D x D] whose square is the mean covariance of the clusters in units of the
# columns, or NULL where covariances are no matrices.
common_root <- function(model, params) {
  if (!has_matrices(model)) return(NULL)
  share <- if (is_tied(params)) 1 else params$pi
  n_dims <- nrow(params$mu)
  common <- matrix(matrix(params$sigma, n_dims^2) %*% share, n_dims)
  chol(common / tcrossprod(model$options$scale))
}

#' @export
move_gain.gps_gaussian_mixture <- function(model, split, residual, params = NULL) {
  halves_gain(model, as_splits(split), params)
}

# Each point of the cluster has a narrower density, for the entropy of which half it is in: in each
# dimension, or along the split's direction where covariances are full. Where all clusters have one
# covariance, all points gain by it. Of many splits, in arrays with these along the last dimension.
halves_gain <- function(model, splits, params) {
  size <- splits$size
  n_splits <- ncol(size)
  n_points <- colSums(size)
  n_dims <- nrow(splits$within)
  step <- matrix(splits$centres[, 1, ] - splits$centres[, 2, ], n_dims)
  between <- rep(size[1, ] * size[2, ] / n_points, each = n_dims) * step^2
  rows <- function(x) array(x, c(1, 2, n_splits))
  narrowing <- switch(
    model$settings$covariance,
    spherical = n_dims *
      narrowing_gain(rows(colMeans(splits$within)), t(colMeans(between)), splits),
    diagonal = narrowing_gain(splits$within, between, splits),
    full = narrowing_gain(rows(splits$within_along),
                          t(splits$along - colSums(splits$within_along)), splits),
    tied = vapply(seq_len(n_splits), function(i) {
      tied_gain(model, pick_split(splits, i), params)
    }, 1)
  )
  narrowing + colSums(size * log(size / rep(n_points, each = 2)))
}

# What the points of each split gain if their density has the variances of halves, by squares
# `within` these [k x 2 x splits], instead of one with those `between` them [k x splits], too. The
# variance of a half is as if two more observations with the mean of both halves were there. Nothing
# is gained where a cluster is as narrow as it can be: there points may differ by rounding alone.
narrowing_gain <- function(within, between, splits) {
  n_rows <- nrow(between)
  each <- function(x) rep(x, each = n_rows)
  half <- lapply(1:2, function(i) matrix(within[, i, ], n_rows))
  n_points <- each(colSums(splits$size))
  pooled <- (half[[1]] + half[[2]]) / n_points
  whole <- pooled + between / n_points
  added <- each(2 / splits$unit)
  after <- lapply(1:2, function(i) {
    size <- each(splits$size[i, ])
    own <- pmax((half[[i]] + added * pooled) / (size + added), 1e-6 * whole)
    log(own) * size + half[[i]] / own
  })
  gain <- n_points * (log(whole) + 1) - after[[1]] - after[[2]]
  gain[whole <= cluster_floor] <- 0
  colSums(gain) / 2
}

# The same by the covariance of all clusters, which loses what lies between the halves.
tied_gain <- function(model, split, params) {
  step <- (split$centres[, 1] - split$centres[, 2]) * model$options$scale
  square <- sum(backsolve(chol(cluster_covariance(params, 1)), step, transpose = TRUE)^2)
  n_points <- sum(split$size)
  part <- sum(params$pi[same_place(model, params, split$latent)])
  share <- part * prod(split$size / n_points)
  -n_points / part / 2 * log(max(1 - share * square, 1e-6))
}

# Some of the splits in arrays.
pick_splits <- function(splits, at) {
  lapply(splits, function(value) {
    switch(max(1, length(dim(value))), value[at], value[, at, drop = FALSE],
           value[, , at, drop = FALSE])
  })
}

# One of them, as split_residual() has it.
pick_split <- function(splits, at) {
  lapply(pick_splits(splits, at), function(value) {
    if (length(dim(value)) == 3) matrix(value, nrow(value)) else c(value)
  })
}

# A split as arrays of one.
as_splits <- function(split) {
  lapply(split, function(value) {
    if (is.matrix(value)) array(value, c(dim(value), 1)) else
      if (length(value) == 2) as.matrix(value) else value
  })
}

# Sums of absolute differences between means, in units of the data, up to which they are the same.
place_tol <- 1e-4

# Clusters whose means are that of the k-th, as nearly as annealing makes them the same: the points
# of all of these are counted as those of one.
same_place <- function(model, params, k) {
  away <- abs(params$mu - params$mu[, k]) / model$options$scale
  colSums(away) <= place_tol
}

#' @export
move_component.gps_gaussian_mixture <- function(model, params, from, split) {
  both <- c(split$latent, from)
  share <- split$size / sum(split$size)
  step <- split$centres[, 1] - split$centres[, 2]
  # A covariance of all clusters stays: the next M-step finds how much narrower it is.
  if (!is_tied(params)) {
    params$sigma <- narrow_halves(params, both, split$latent, prod(share), step)
  }
  params$mu[, both] <- params$mu[, split$latent] + split$centres
  params$pi[both] <- params$pi[split$latent] * share
  params$pi <- params$pi / sum(params$pi)
  params
}

# Covariances in which `both` clusters have that of the cluster k which is split, less what lies
# between its halves: `share` times the square of the step from one to the other.
narrow_halves <- function(params, both, k, share, step) {
  sigma <- params$sigma
  between <- share * step^2
  switch(length(dim(sigma)) + 1,
         sigma[both] <- narrow_variances(sigma[k], mean(between)), NULL,
         sigma[, both] <- narrow_variances(sigma[, k], between),
         sigma[, , both] <- narrow_covariance(cluster_covariance(params, k), sqrt(share) * step))
  sigma
}

# Variances less what lies between the halves of a split, a tenth of them at least.
narrow_variances <- function(variance, between) pmax(variance - between, 0.1 * variance)

# The same along the step from one half to the other.
narrow_covariance <- function(covariance, step) {
  root <- chol(covariance)
  square <- sum(backsolve(root, step, transpose = TRUE)^2)
  covariance - min(1, 0.9 / square) * tcrossprod(step)
}
