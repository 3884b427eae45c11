# Where the clusters of a mixture begin: seeds far apart, and the spread of the points about them.

# Data points that seeds are looked for among, for each cluster and at least.
seed_rows <- c(10L, 2000L)

# Candidates for each seed after the first.
seed_trials <- function(n_clusters) 2L + floor(log(n_clusters))

# Columns of x [D x n] that are seeds, by greedy k-means++ (Arthur and Vassilvitskii 2007,
# k-means++: the advantages of careful seeding, *SODA*): candidates are drawn by their squared
# distances to the seeds so far, and the one that leaves the least of these is the next seed.
draw_seeds <- function(x, n_seeds) {
  n_points <- ncol(x)
  square <- colSums(x^2)
  seeds <- sample.int(n_points, 1)
  nearest <- square_distances(x, square, seeds)[, 1]
  n_trials <- seed_trials(n_seeds)
  while (length(seeds) < n_seeds) {
    nearest[seeds] <- 0
    total <- cumsum(nearest)
    if (!(total[n_points] > 0)) {
      rest <- setdiff(seq_len(n_points), seeds)
      return(c(seeds, rest[sample.int(length(rest), n_seeds - length(seeds))]))
    }
    at <- stats::runif(n_trials) * total[n_points]
    trials <- unique(pmin(findInterval(at, total), n_points - 1L) + 1L)
    distances <- pmin(square_distances(x, square, trials), nearest)
    best <- which.min(colSums(distances))
    seeds <- c(seeds, trials[best])
    nearest <- distances[, best]
  }
  seeds
}

# Squared distances [n x m] of the columns of x, whose squares are given, to m of them.
square_distances <- function(x, square, points) {
  distances <- square - 2 * crossprod(x, x[, points, drop = FALSE])
  pmax(distances + rep(square[points], each = ncol(x)), 0)
}

# x [D x n], whose rows are about 0 with squares about 1, in coordinates in which to look for seeds:
# as it is or, where clusters may lie along any direction, turned to the axes of its covariance and
# stretched to the same spread along each; and either way every other time with random weights of
# the axes, since nobody knows which ones tell the clusters apart.
seed_space <- function(x, can_turn) {
  kind <- stats::runif(2) < 0.5
  if (can_turn && kind[1]) x <- whiten_columns(x)
  if (kind[2]) x <- x * exp(stats::rnorm(nrow(x)))
  x
}

whiten_columns <- function(x) {
  axes <- eigen(shrink_covariance(tcrossprod(x - rowMeans(x)) / ncol(x), ncol(x)), symmetric = TRUE)
  crossprod(axes$vectors, x) / sqrt(axes$values)
}

# A covariance of n points, its correlations smaller the fewer points for each dimension.
shrink_covariance <- function(covariance, n_points) {
  share <- nrow(covariance) / (nrow(covariance) + n_points)
  spread <- diag(covariance)
  covariance <- (1 - share) * covariance
  diag(covariance) <- pmax(spread, cluster_floor)
  covariance
}

# Each column of x [D x n]: which of the columns `seeds` is nearest.
nearest_seed <- function(x, seeds) {
  closeness <- crossprod(x, x[, seeds, drop = FALSE]) -
    rep(colSums(x[, seeds, drop = FALSE]^2) / 2, each = ncol(x))
  label <- max.col(closeness, ties.method = "first")
  label[seeds] <- seq_along(seeds)
  label
}

# Eigenvalues of a covariance, in units of the data's scale, are at least this: far below what a
# cluster has in data that are not collinear, far above what rounding makes of zero.
cluster_floor <- 1e-8
