# What a split of a cluster promises, and where its halves begin.

#' @export
residual_unit.gps_gaussian_mixture <- function(model) model$options$scale

# Each point of the cluster has a narrower density, for the entropy of which half it is in: in each
# dimension, or along the split's direction where covariances are full. Where all clusters have one
# covariance, all points gain by it.
#' @export
move_gain.gps_gaussian_mixture <- function(model, split, residual, params = NULL) {
  n_points <- sum(split$size)
  between <- prod(split$size) / n_points * (split$centres[, 1] - split$centres[, 2])^2
  along <- split$along - sum(split$within_along)
  narrowing <- switch(
    model$settings$covariance,
    spherical = nrow(residual) * narrowing_gain(t(colMeans(split$within)), mean(between), split),
    diagonal = narrowing_gain(split$within, between, split),
    full = narrowing_gain(t(split$within_along), along, split),
    tied = tied_gain(model, split, params)
  )
  narrowing + sum(split$size * log(split$size / n_points))
}

# What the points gain if their density has the variances of halves, by squares `within` these
# [k x 2], instead of one with those `between` them [k], too. The variance of a half is as if two
# more observations with the mean of both halves were there.
narrowing_gain <- function(within, between, split) {
  n_points <- sum(split$size)
  pooled <- rowSums(within) / n_points
  whole <- pooled + between / n_points
  used <- whole > 0
  added <- 2 / split$unit
  own <- (within + added * pooled) / rep(split$size + added, each = nrow(within))
  own <- pmax(own, 1e-6 * whole)[used, , drop = FALSE]
  after <- log(own) * rep(split$size, each = nrow(own)) + within[used, , drop = FALSE] / own
  (n_points * sum(log(whole[used]) + 1) - sum(after)) / 2
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

# Clusters whose means are that of the k-th, as nearly as annealing makes them the same: the points
# of all of these are counted as those of one.
same_place <- function(model, params, k) {
  away <- abs(params$mu - params$mu[, k]) / model$options$scale
  colSums(away) <= 1e-4
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
