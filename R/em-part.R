# Clusters that are the same, as a high temperature leaves them. Each step of EM keeps them the
# same, and where they are more than two no split of one makes all of them different: they begin
# anew, all at once, among the points that they share.

# The most promising way to part them, as a list of one move, or an empty one where no clusters are
# the same. A temperature may also have left two in one place that differ in how wide they are:
# where a fit anneals `nearest`, the two that could best be one, are parted if no others are. As
# many ways as the fit may have starts are told apart by what `try_move(task, state, move)` makes of
# them.
parting_moves <- function(task, state, try_move, nearest = NULL) {
  first <- same_clusters(task$model, state$params)
  is_alone <- length(nearest) == 2 && task$control$anneal > 1 && !anyDuplicated(first)
  if (is_alone) first[nearest] <- min(nearest)
  groups <- unname(Filter(function(group) length(group) > 1, split(seq_along(first), first)))
  if (length(groups) == 0) return(list())
  owner <- joint_owners(pass(task, state, character()), first)
  best <- list()
  highest <- -Inf
  for (try in seq_len(task$control$n_starts)) {
    if (is_past(task$deadline)) break
    move <- part_groups(task, state, owner, groups, try)
    trial <- tryCatch(try_move(task, state, move), gps_error = function(condition) NULL)
    if (is.null(trial) || trial$bound <= highest) next
    best <- list(move)
    highest <- trial$bound
  }
  best
}

# Of each cluster the first one of those that have its place: [C] numbers. Places are projected on
# the direction in which they differ most, where each is compared with those next to it.
same_clusters <- function(model, params) {
  first <- seq_len(model$n_latents)
  place <- if (model$rule$min_active == 1) component_values(model, params)
  if (is.null(place) || length(first) < 2) return(first)
  place <- (place - rowMeans(place)) / residual_unit(model)
  along <- drop(crossprod(place, leading_direction(place)))
  ordered <- order(along)
  along <- along[ordered]
  for (lag in first[-1] - 1L) {
    at <- which(diff(along, lag) <= 2 * place_tol)
    if (length(at) == 0) break
    at <- at[first[ordered[at]] != first[ordered[at + lag]]]
    away <- place[, ordered[at + lag], drop = FALSE] - place[, ordered[at], drop = FALSE]
    for (i in at[colSums(abs(away)) <= place_tol]) {
      both <- range(first[ordered[c(i, i + lag)]])
      first[first == both[2]] <- both[1]
    }
  }
  first
}

# Which cluster each point is most probably of, the probabilities of those that are the same added
# up under the number of the `first`; 0 for a point without any.
joint_owners <- function(result, first) {
  at <- which(result$selected > 0 & result$prob_on > 0)
  point <- (at - 1) %/% nrow(result$selected) + 1
  base <- length(first) + 1
  prob <- rowsum(result$prob_on[at], point * base + first[result$selected[at]])
  key <- as.numeric(rownames(prob))
  point <- key %/% base
  ordered <- order(point, -prob, key)
  kept <- ordered[!duplicated(point[ordered])]
  owner <- integer(ncol(result$selected))
  owner[point[kept]] <- as.integer(key[kept] %% base)
  owner
}

# A move in which the clusters of each group have the points of all of them by seeds far apart, and
# all have the parameters that the M-step makes of whose the points are then.
part_groups <- function(task, state, owner, groups, try) {
  label <- with_seed(task$seed, 2e5 + 100 * state$iteration + try, {
    for (group in groups) {
      points <- which(owner == group[1])
      owner[points] <- group[part_points(task, points, length(group))]
    }
    owner
  })
  params <- label_mstep(task, state$params, function(task, block) label[block_columns(block)])
  list(params = params, is_parted = TRUE, times = sum(lengths(groups) - 1L), event = "split")
}

# Of each of some points the number of the nearest of so many seeds among them, fewer where there
# are not as many points.
part_points <- function(task, points, n_parts) {
  n_parts <- min(n_parts, length(points))
  if (n_parts < 2) return(rep(1L, length(points)))
  weights <- task$weights[points]
  x <- task$y[, points, drop = FALSE]
  x <- (x - row_means(x, weights)) / residual_unit(task$model)
  x <- seed_space(x, isTRUE(has_matrices(task$model)), n_parts, weights)
  among <- seq_along(points)
  if (length(among) > count_seed_rows(n_parts)) {
    among <- sort(sample.int(length(among), count_seed_rows(n_parts)))
  }
  seeds <- draw_seeds(x[, among, drop = FALSE], n_parts, weights[among])$seeds
  nearest_seed(x, x[, among[seeds], drop = FALSE])
}

# The M-step of data points each of which is surely in the cluster `label_of(task, block)` says, for
# all points of a block.
label_mstep <- function(task, params, label_of) {
  states <- build_states(task$model, 1L, 1L, "exact")
  parts <- map_blocks(task, function(task, block) {
    label <- matrix(as.integer(label_of(task, block)), 1)
    run_estep(task$model, block_inputs(task$model, params, task$y, block), task$y, block, label,
              states, task$n_threads, "stats")$stats
  })
  mstep_model(task$model, params, fold_parts(parts))$params
}

# The first iteration after a parting: what was on before says nothing, the model itself ranks.
part_step <- function(task, state) {
  if (selects_all(task)) return(em_step(task, state))
  state$prob_on[] <- 0
  step_given(task, state, rank_beside(task, state))
}
