# Where the clusters of a mixture begin: seeds far apart, and the spread of the points about them.

# More clusters than this are many: a fit of them has one start, whose seeds are data points that
# are labelled, and moves many at a time.
many_clusters <- 40L

# Each cluster begins at a data point of its own.
refuse_few_points <- function(model, n_points, n_dims, image_dim = NULL) {
  if (model$n_latents <= n_points) return(invisible())
  gps_abort(sprintf("`n_components` must be at most the number of data points, %d, not %d.%s",
                    n_points, model$n_latents, advise_few(n_points, n_dims, image_dim)))
}

refuse_short_start <- function(n_clusters, n_rows) {
  if (n_clusters <= n_rows) return(invisible())
  gps_abort(sprintf(paste(
    "A start on %d data points cannot have %d clusters: use a larger `grow`, or `n_starts` = 1",
    "without `grow`."
  ), n_rows, n_clusters))
}

# Of mixtures the probabilities of the clusters.
check_shares <- function(params, arg) {
  if (is.null(params$pi) || abs(sum(params$pi) - 1) <= 1e-8) return(invisible())
  gps_abort(sprintf("`%s$pi` must add up to 1, not to %s.", arg, given_number(sum(params$pi))))
}

# Data points that seeds are looked for among, for each cluster and at least; of very many clusters
# fewer, since each seed is compared with a share of the points.
seed_rows <- c(10L, 2000L)
least_seed_rows <- 3
most_seed_pairs <- 2^29

count_seed_rows <- function(n_clusters) {
  each <- min(seed_rows[1], max(least_seed_rows, most_seed_pairs / as.double(n_clusters)^2))
  max(ceiling(each * n_clusters), seed_rows[2])
}

# A point at distance r of its seed s is nearer to a candidate x only if |x - s| < 2 r cos(angle at
# s). Of very many clusters, where that leaves many points, those are left out of which the angle
# would have to be so small that hardly one of them is nearer.
seed_reach <- function(n_clusters) if (n_clusters > most_exact_seeds) 0.75 else 1

most_exact_seeds <- 1000L

# list(seeds, label): columns of x [D x n] that are seeds, and of each column the number of the
# nearest one, of very many one about as near. By greedy k-means++ (Arthur and Vassilvitskii
# 2007, k-means++: the advantages of careful seeding, *SODA*): candidates are drawn by their squared
# distances to the seeds so far, and the one that leaves the least of these is the next seed.
# A point of weight w is as likely to be drawn, and counts as much, as w points.
draw_seeds <- function(x, n_seeds, weights = NULL) {
  n_points <- ncol(x)
  first <- sample.int(n_points, 1, prob = weights)
  drawn <- .Call(C_draw_seeds, with_squares(x), weights, n_seeds, first, 2 + floor(log(n_seeds)),
                 seed_reach(n_seeds), clock$patience - elapsed())
  n_left <- n_seeds - length(drawn$seeds)
  if (n_left > 0) {
    if (drawn$is_late) note_late("seeds_by_chance", n_left)
    rest <- setdiff(seq_len(n_points), drawn$seeds)
    drawn$seeds <- c(drawn$seeds, rest[sample.int(length(rest), n_left)])
  }
  drawn$label[drawn$seeds] <- seq_along(drawn$seeds)
  drawn[c("seeds", "label")]
}

# x in a unit, by a power of two, in which its squares are numbers.
with_squares <- function(x) {
  largest <- max(abs(x))
  if (largest == 0 || (largest > 2^-300 && largest < 2^300)) return(x)
  # In two steps, as the power itself may be none.
  half <- floor(log2(largest) / 2)
  x / 2^half / 2^half
}

# Squared distances [n x m] of the columns of x, whose squares are given, to m of them.
square_distances <- function(x, square, points) {
  distances <- square - 2 * crossprod(x, x[, points, drop = FALSE])
  pmax(distances + rep(square[points], each = ncol(x)), 0)
}

# x [D x n], whose rows are about 0 with squares about 1, in coordinates in which to look for seeds:
# as it is or, where clusters may lie along any direction, turned to the axes of its covariance and
# stretched to the same spread along each; and either way every other time with random weights of
# the axes, since nobody knows which ones tell the clusters apart. Many clusters have one start,
# which chance should not spoil.
seed_space <- function(x, can_turn, n_clusters, weights = NULL) {
  if (n_clusters > many_clusters) return(x)
  kind <- stats::runif(2) < 0.5
  if (can_turn && kind[1]) x <- whiten_columns(x, weights)
  if (kind[2]) x <- x * exp(stats::rnorm(nrow(x)))
  x
}

whiten_columns <- function(x, weights = NULL) {
  axes <- covariance_axes(x, weights)
  crossprod(axes$vectors, x) / sqrt(axes$values)
}

covariance_axes <- function(x, weights = NULL) {
  total <- total_weight(weights, ncol(x))
  deviation <- weigh_columns(x - row_means(x, weights), if (!is.null(weights)) sqrt(weights))
  eigen(shrink_covariance(tcrossprod(deviation) / total, total), symmetric = TRUE)
}

# A covariance of n points, its correlations smaller the fewer points for each dimension.
shrink_covariance <- function(covariance, n_points) {
  share <- nrow(covariance) / (nrow(covariance) + n_points)
  spread <- diag(covariance)
  covariance <- (1 - share) * covariance
  diag(covariance) <- pmax(spread, cluster_floor)
  covariance
}

# Whether all points begin in the cluster of the nearest seed, rather than those alone that seeds
# were looked for among: true clusters without a seed are islands that no label reaches. Where
# covariances are full they always do, since a cluster of few points has no shape of its own, and
# one that grows without it loses points to those around.
labels_all <- function(model, n_points) {
  model$settings$covariance == "full" ||
    as.double(n_points) * model$n_latents <= most_labelled
}

most_labelled <- 2^28

# Which of the seeds [D x k] is nearest to each column of x [D x n], by pieces that stay in cache.
nearest_seed <- function(x, seeds) {
  half <- colSums(seeds^2) / 2
  unlist(lapply(in_pieces(seq_len(ncol(x)), 2^17 %/% ncol(seeds)), function(part) {
    closeness <- crossprod(x[, part, drop = FALSE], seeds) - rep(half, each = length(part))
    max.col(closeness, ties.method = "first")
  }), use.names = FALSE)
}

# Means [D x k] of the columns of x [D x n] with the same label, 1..k.
label_means <- function(x, label, n_labels, weights = NULL) {
  if (!is.null(weights)) {
    size <- rowsum(weights, label)[, 1]
    return(t(rowsum(t(x) * weights, label) / size))
  }
  if (n_labels <= many_clusters) {
    means <- lapply(seq_len(n_labels), function(k) rowMeans(x[, label == k, drop = FALSE]))
    return(matrix(unlist(means), nrow(x)))
  }
  t(rowsum(t(x), label) / tabulate(label, n_labels))
}

# Eigenvalues of a covariance, in units of the data's scale, are at least this: far below what a
# cluster has in data that are not collinear, far above what rounding makes of zero.
cluster_floor <- 1e-8
