# Moves of a mixture with many clusters. Most of what a start has missed are pairs of true clusters
# with one cluster, and single ones with two, far from each other: all of these are mended in one
# trial, by what the slots say, at a cost that does not grow with the number of clusters.

# At most this share of the clusters leaves in one trial, and of what a move costs it has to promise
# so many times: half, since EM goes on from what is promised, and a trial costs few iterations.
bulk_share <- 0.25
bulk_promise <- 0.5

# The moves of one round: all that promise enough, a quarter of them, and the best alone.
bulk_moves <- function(task, state) {
  result <- pass(task, state, character())
  held <- held_slots(result)
  held$weight <- result$weights[held$point]
  leavers <- rank_leavers(task, state, result, held)
  splits <- rank_splits(task, state, result, held)
  pairs <- pair_moves(leavers, splits, task$model$n_latents)
  sizes <- unique(ceiling(length(pairs) * c(1, 0.25, 1e-9)))
  lapply(sizes[sizes > 0], function(size) {
    join_pairs(task$model, state$params, pairs[seq_len(size)])
  })
}

# Data points in which each cluster is more than hardly on: list(latent, point, prob), by cluster.
# Where points have weights there is also `weight`.
held_slots <- function(result) {
  at <- which(result$prob_on > least_on & result$selected > 0)
  latent <- result$selected[at]
  ordered <- order(latent)
  at <- at[ordered]
  list(latent = latent[ordered], point = (at - 1L) %/% nrow(result$prob_on) + 1L,
       prob = result$prob_on[at])
}

# The points of each of some pairs of clusters, k x 2, by pair and point: list(pair, point, prob). A
# point of both stands there once, its probabilities added up.
join_held <- function(held, pairs, n_latents) {
  count <- tabulate(held$latent, n_latents)
  first <- cumsum(count) - count + 1L
  at <- sequence(count[pairs], first[pairs])
  pair <- rep(rep(seq_len(nrow(pairs)), 2), count[pairs])
  point <- held$point[at]
  ordered <- order(pair, point)
  pair <- pair[ordered]
  point <- point[ordered]
  prob <- held$prob[at][ordered]
  is_again <- c(FALSE, diff(pair) == 0 & diff(point) == 0)[seq_along(pair)]
  again <- which(is_again)
  prob[again - 1L] <- prob[again - 1L] + prob[again]
  list(pair = pair[!is_again], point = point[!is_again], prob = prob[!is_again])
}

# Which held slots are of the most probable cluster of their point, the first of several that are
# the same.
owned_slots <- function(held) {
  ordered <- order(held$point, -held$prob, held$latent)
  sort(ordered[!duplicated(held$point[ordered])])
}

# Each cluster with the one that it shares most points with: data frame of latent, taker, shared.
find_partners <- function(held, n_latents) {
  ordered <- order(held$point)
  point <- held$point[ordered]
  rank <- sequence(rle(point)$lengths)
  pairs <- list()
  for (step in seq_len(max(1L, min(max(rank), most_shared)) - 1L)) {
    first <- seq_len(length(point) - step)
    first <- first[point[first] == point[first + step]]
    a <- ordered[first]
    b <- ordered[first + step]
    pairs[[step]] <- data.frame(one = held$latent[a], other = held$latent[b],
                                shared = weigh(held$prob[a] * held$prob[b], held$weight[a]))
  }
  pairs <- do.call(rbind, pairs)
  if (is.null(pairs)) return(data.frame(one = integer(), other = integer(), shared = numeric()))
  key <- pmin(pairs$one, pairs$other) + (n_latents + 1) * pmax(pairs$one, pairs$other)
  shared <- rowsum(pairs$shared, key)
  key <- as.numeric(rownames(shared))
  found <- data.frame(one = key %% (n_latents + 1), other = key %/% (n_latents + 1),
                      shared = shared[, 1])
  found <- found[found$shared > least_shared, ]
  found <- found[order(-found$shared), ]
  found[!duplicated(found$one) | !duplicated(found$other), ]
}

# Clusters of a point that are looked at as sharing it.
most_shared <- 6L

# What leaves at which cost: a cluster without which its points lose little, or one of two that are
# merged. A data frame of from, taker (0: none) and cost, cheapest first.
rank_leavers <- function(task, state, result, held) {
  n_latents <- task$model$n_latents
  lost <- sums_by(weigh(loss_without(held$prob), held$weight), held$latent, n_latents)
  pairs <- as.matrix(find_partners(held, n_latents)[c("one", "other")])
  pairs <- unique(rbind(unname(pairs), nearest_pairs(task, state$params$mu)))
  cost <- merge_costs(task, result, join_held(held, pairs, n_latents), state$params, pairs)
  found <- rbind(data.frame(from = seq_len(n_latents), taker = 0L, cost = lost),
                 data.frame(from = as.integer(pairs[, 1]), taker = as.integer(pairs[, 2]),
                            cost = cost))
  found[order(found$cost), ]
}

# What splitting each cluster promises, best first: splits in arrays with `gain`.
rank_splits <- function(task, state, result, held) {
  unit <- residual_unit(task$model)
  own <- owned_slots(held)
  points <- held$point[own]
  of <- held$latent[own]
  # From the mean of the cluster: from the mean of the point, which is one over clusters, those that
  # have part in it would have part in the halves.
  residual <- task_residuals(task, state$params$mu[, of, drop = FALSE], points) / unit
  splits <- promising_splits(task$model, residual, of, result$weights[points], state$params)
  splits$centres <- splits$centres * unit
  pick_splits(splits[c("latent", "centres", "size", "gain")], order(-splits$gain))
}

# The best splits with the cheapest leavers, each cluster in one move only.
pair_moves <- function(leavers, splits, n_latents) {
  used <- logical(n_latents)
  pairs <- list()
  at <- 1L
  for (i in seq_along(splits$latent)) {
    if (length(pairs) >= bulk_share * n_latents) break
    latent <- splits$latent[i]
    if (used[latent]) next
    is_free <- function(row) {
      !any(c(used[leavers$from[row]], used[leavers$taker[row]],
             c(leavers$from[row], leavers$taker[row]) == latent))
    }
    while (at <= nrow(leavers) && !is_free(at)) at <- at + 1L
    if (at > nrow(leavers) || splits$gain[i] < bulk_promise * leavers$cost[at]) break
    pair <- list(from = leavers$from[at], taker = leavers$taker[at], split = pick_split(splits, i))
    used[c(pair$from, pair$taker, latent)] <- TRUE
    pairs <- c(pairs, list(pair))
  }
  pairs
}

# One move of several: parameters, and what move_slots() needs.
join_pairs <- function(model, params, pairs) {
  for (pair in pairs) {
    if (pair$taker > 0) {
      both <- c(pair$from, pair$taker)
      params <- set_cluster(params, both, merged_cluster(params, both))
    }
    params <- move_component(model, params, pair$from, pair$split)
  }
  list(params = params, pairs = pairs, times = length(pairs), event = "split")
}

# The first iteration after the moves of a trial.
bulk_step <- function(task, state, pairs) {
  if (selects_all(task)) return(em_step(task, state))
  step_given(task, state, move_slots(state[c("selected", "prob_on")], pairs, task$model$n_latents))
}

# Slots [slots x n] in which those that take over stand where those that leave stood, and both
# halves of a split where it was on.
move_slots <- function(slots, pairs, n_latents) {
  relabel <- seq_len(n_latents)
  joins <- integer(n_latents)
  for (pair in pairs) {
    relabel[pair$from] <- pair$taker
    joins[pair$split$latent] <- pair$from
  }
  is_moved <- c(FALSE, relabel != seq_len(n_latents))[slots$selected + 1L]
  points <- which(colSums(array(is_moved, dim(slots$selected))) > 0)
  held <- relabel_slots(lapply(slots, function(x) x[, points, drop = FALSE]), relabel)
  moved <- slots
  moved$selected[, points] <- held$selected
  moved$prob_on[, points] <- held$prob_on
  for (slot in seq_len(nrow(moved$selected))) {
    joined <- c(0L, joins)[moved$selected[slot, ] + 1L]
    points <- which(joined > 0 & moved$prob_on[slot, ] > least_on)
    if (length(points) == 0) next
    moved <- add_labels(moved, data.frame(point = points, latent = joined[points]))
  }
  moved$selected
}
