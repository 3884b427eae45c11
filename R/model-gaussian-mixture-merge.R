# What a mixture could do without: a cluster whose points another one takes over, as wide as both
# were. Two that share the points of one true cluster lose little by it; by the probabilities alone
# each half seems to be needed more than a small cluster.

# Least number of points that two clusters share for one to take the other's over.
least_shared <- 0.5

#' @export
find_leaver.gps_gaussian_mixture <- function(task, state, result, on) {
  params <- state$params
  cost <- removal_cost(on, result$weights)
  pairs <- unique(rbind(sharing_pairs(on, result$weights), nearest_pairs(task, params$mu)))
  merged <- lapply(seq_len(nrow(pairs)), function(i) merged_cluster(params, pairs[i, ]))
  loss <- vapply(seq_along(merged), function(i) {
    merge_cost(task, result, on, pairs[i, ], merged[[i]])
  }, 1)
  best <- which.min(loss)
  if (length(best) == 0 || loss[best] >= min(cost)) {
    return(list(from = which.min(cost), cost = min(cost), params = params))
  }
  pair <- pairs[best, ]
  list(from = pair[1], taker = pair[2], cost = loss[best],
       params = set_cluster(params, pair, merged[[best]]))
}

# Each cluster with the one that it shares most points with, each pair once: k x 2.
sharing_pairs <- function(on, weights = NULL) {
  shared <- tcrossprod(weigh_columns(on, if (!is.null(weights)) sqrt(weights)))
  diag(shared) <- 0
  partner <- max.col(shared, ties.method = "first")
  each <- seq_along(partner)
  each <- each[shared[cbind(each, partner)] > least_shared]
  unique(cbind(pmin(each, partner[each]), pmax(each, partner[each])))
}

# Each cluster with the one whose mean is nearest, each pair once: k x 2. Halves of one cluster that
# are as narrow as their few points share none of these.
nearest_pairs <- function(task, mu) {
  each <- seq_len(ncol(mu))
  partner <- nearest_others(mu / task$model$options$scale)
  unique(cbind(pmin(each, partner), pmax(each, partner)))
}

# list(mu, sigma, pi) with the moments of two clusters together.
merged_cluster <- function(params, pair) {
  prob <- params$pi[pair]
  share <- prob / sum(prob)
  mu <- drop(params$mu[, pair] %*% share)
  step <- params$mu[, pair[1]] - params$mu[, pair[2]]
  between <- prod(share)
  sigma <- params$sigma
  merged <- if (is_tied(params)) cluster_covariance(params, 1) else switch(
    length(dim(sigma)) + 1,
    sum(share * sigma[pair]) + between * mean(step^2), NULL,
    drop(sigma[, pair] %*% share) + between * step^2,
    share[1] * sigma[, , pair[1]] + share[2] * sigma[, , pair[2]] + between * tcrossprod(step)
  )
  list(mu = mu, sigma = merged, pi = sum(prob))
}

# Parameters with the merged cluster in place of the second of a pair; the first is free.
set_cluster <- function(params, pair, cluster) {
  k <- pair[2]
  params$mu[, k] <- cluster$mu
  params$pi[k] <- cluster$pi
  if (is_tied(params)) return(params)
  switch(length(dim(params$sigma)) + 1, params$sigma[k] <- cluster$sigma, NULL,
         params$sigma[, k] <- cluster$sigma, params$sigma[, , k] <- cluster$sigma)
  params
}

# What the bound would lose by a merger at once, from the points of both.
merge_cost <- function(task, result, on, pair, cluster) {
  both <- colSums(on[pair, , drop = FALSE])
  points <- which(both > least_on)
  pair_cost(task, result, points, both[points], cluster)
}

# The same from the points of a pair and its probabilities `both` there.
pair_cost <- function(task, result, points, both, cluster) {
  sum(point_costs(result, points, both, affinity_at(task, cluster, points)))
}

# What each point loses that has `both` in a pair of clusters, of whose merger it has the affinity.
point_costs <- function(result, points, both, affinity) {
  ratio <- exp(affinity - result$log_evidence[points])
  -weigh(log(pmax(1 - both, 0) + pmax(ratio, 1e-300)), result$weights[points])
}

# The same as merge_cost() of many pairs [k x 2] at once, from their points as join_held() has them.
merge_costs <- function(task, result, joint, params, pairs) {
  if (length(joint$point) == 0) return(numeric(nrow(pairs)))
  merged <- lapply(seq_len(nrow(pairs)), function(i) merged_cluster(params, pairs[i, ]))
  has_variances <- length(dim(params$sigma)) < 3 && is.null(task$missing)
  affinity <- if (has_variances) {
    affinities_at(task, merged, joint)
  } else {
    of <- split(joint$point, factor(joint$pair, seq_along(merged)))
    unlist(Map(function(cluster, points) affinity_at(task, cluster, points), merged, of))
  }
  sums_by(point_costs(result, joint$point, joint$prob, affinity), joint$pair, nrow(pairs))
}

# The affinity of points for a cluster, from the cells that they have.
affinity_at <- function(task, cluster, points) {
  alone <- list(mu = as.matrix(cluster$mu), pi = cluster$pi, sigma = as_only(cluster$sigma))
  y <- task$y[, points, drop = FALSE]
  if (!is.null(task$missing)) return(observed_affinity(task, alone, y, points))
  drop(cluster_affinity(task$model, alone, y, 1L))
}

# The same of points, each for one of many clusters whose covariances are variances alone.
affinities_at <- function(task, clusters, joint) {
  n_dims <- nrow(task$y)
  scale <- task$model$options$scale
  mu <- matrix(unlist(lapply(clusters, `[[`, "mu")), n_dims)
  sd <- sqrt(matrix(vapply(clusters, function(cluster) rep_len(cluster$sigma, n_dims),
                           numeric(n_dims)), n_dims))
  constant <- log(vapply(clusters, `[[`, 1, "pi")) - colSums(log(sd / scale)) -
    sum(log(scale)) - n_dims / 2 * log(2 * pi)
  constant[joint$pair] -
    0.5 * .Call(C_centre_distances, task$y, joint$point, joint$pair, mu, sd)
}

# What cluster_affinity() says of a mixture of one, from the cells that the points have.
observed_affinity <- function(task, alone, y, points) {
  model <- task$model
  model$n_latents <- 1L
  model <- bind_native(model, model$n_dims, model$sizes, model$options)
  block <- new_block(0, length(points), missing = cut_missing(task$missing, points))
  drop(block_handcrafted(model, block_inputs(model, alone, y, block), y, block, task$n_threads))
}

# The covariance of one cluster as that of a mixture of one.
as_only <- function(sigma) {
  if (is.matrix(sigma)) return(array(sigma, c(dim(sigma), 1)))
  if (length(sigma) > 1) as.matrix(sigma) else sigma
}
