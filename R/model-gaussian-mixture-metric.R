# In which coordinates the seeds of many clusters are looked for: such that clusters are about as
# wide in all of them. Columns and directions differ in what they tell of clusters, and one of noise
# would scatter the seeds. Neighbours are mostly of one cluster: their differences tell how wide
# clusters are, and by these widths neighbours are looked for again (Art, Gnanadesikan and
# Kettenring 1982, Data-based metrics for cluster analysis, *Utilitas Mathematica* 21A).

# Whether clusters may be as wide in each column as they are, rather than as wide in all.
has_column_widths <- function(model) !identical(model$settings$covariance, "spherical")

# Whether covariances are matrices.
has_matrices <- function(model) model$settings$covariance %in% c("full", "tied")

# How to stretch x [D x n], whose rows are about 0 with squares about 1: each row [D], or by a
# matrix [D x D]; or NULL where clusters are few or as wide in all columns, or widths differ little.
# Where clusters may lie along any direction it turns x, too, if widths differ along directions.
seed_metric <- function(model, x, weights = NULL) {
  if (model$n_latents <= many_clusters || !has_column_widths(model)) return(NULL)
  n_near <- min(ncol(x) - 1L, max(least_near, round(near_share * ncol(x) / model$n_latents)))
  # What is asked takes nothing of the random numbers that seeds are drawn by.
  asked <- with_seed(c(1, 1), 0, sample.int(ncol(x), min(ncol(x), near_asked), prob = weights))
  metric <- if (has_matrices(model)) turned_metric(x, asked, n_near, weights)
  if (is.null(metric)) stretched_metric(x, asked, n_near, weights) else metric
}

# Widths along directions are those beside the spread of all points there, in which no direction
# goes first. As many of them as tell little apart differ by chance, by as much as the eigenvalues
# of a covariance of few points.
turned_metric <- function(x, asked, n_near, weights) {
  whole <- covariance_axes(x, weights)
  axes <- t(whole$vectors) / sqrt(whole$values)
  chance <- sqrt(nrow(x) / (length(asked) / 2))
  if (chance >= 1) return(NULL)
  metric <- stretched_metric(axes %*% x, asked, n_near, weights, can_turn = TRUE,
                             least_stretched * (1 + chance) / (1 - chance))
  if (!is.null(metric)) metric %*% axes
}

stretched_metric <- function(x, asked, n_near, weights, can_turn = FALSE, least = least_stretched) {
  metric <- if (can_turn) diag(nrow(x)) else rep(1, nrow(x))
  for (round in seq_len(near_rounds)) {
    if (is_late()) return(NULL)
    spread <- near_spread(in_metric(x, metric), asked, n_near, weights, can_turn)
    # Few neighbours tell which way to go rather than how far.
    step <- inverse_power(spread, if (round == 1) 0.5 else near_step)
    metric <- limit_stretch(in_metric(metric, step))
  }
  if (max(if (can_turn) svd(metric, 0, 0)$d else metric) > least) metric
}

in_metric <- function(x, metric) {
  if (is.null(metric)) return(x)
  if (is.matrix(metric)) metric %*% x else metric * x
}

# Neighbours that are looked at: a share of the points of a cluster, at least so many, of so many
# points, in so many rounds, each of which goes further than it sees, by this power of a covariance
# in place of its root. Of half its points some are beside it in a direction that is not stretched
# yet, and that direction goes unnoticed.
near_share <- 0.25
least_near <- 5L
near_asked <- 200L
near_rounds <- 8L
near_step <- 1

# Directions are stretched by so many times as much as others at least, and at most: a column of few
# different values would leave nothing of the others.
least_stretched <- 2
most_stretched <- 10

# Mean squares [D] or, if clusters `can_turn`, products [D x D] of the differences of points from
# their nearest others, of those half of the `asked` whose neighbours are nearest.
near_spread <- function(z, asked, n_near, weights, can_turn) {
  pairs <- near_pairs(z, asked, n_near)
  weights <- weights[pairs$near]
  difference <- z[, pairs$near, drop = FALSE] - z[, pairs$point, drop = FALSE]
  if (!can_turn) return(row_means(difference^2, weights))
  difference <- weigh_columns(difference, if (!is.null(weights)) sqrt(weights))
  spread <- tcrossprod(difference) / total_weight(weights, ncol(difference))
  # Few points tell little of many directions.
  share <- nrow(z) / (nrow(z) + length(unique(pairs$point)))
  (1 - share) * spread + diag(share * mean(diag(spread)), nrow(z))
}

# Those half of the asked points whose neighbours are nearest, each with as many of them:
# list(point, near).
near_pairs <- function(z, asked, n_near) {
  square <- colSums(z^2)
  parts <- lapply(in_pieces(asked, block_doubles %/% ncol(z)), function(asked) {
    distances <- square_distances(z, square, asked)
    distances[cbind(asked, seq_along(asked))] <- Inf
    lapply(seq_along(asked), function(i) nearest_points(distances[, i], n_near))
  })
  found <- unlist(unname(parts), recursive = FALSE)
  limit <- vapply(found, `[[`, 1, "limit")
  is_dense <- limit <= stats::median(limit)
  list(point = rep(asked[is_dense], each = n_near),
       near = unlist(lapply(found[is_dense], `[[`, "near")))
}

# The `n_near` smallest distances: which they are and the largest of them. Of points that are as far
# as that, such as the many copies of one in data that repeat themselves, some, evenly spaced.
nearest_points <- function(distances, n_near) {
  limit <- sort.int(distances, partial = n_near)[n_near]
  near <- which(distances <= limit)
  if (length(near) > n_near) {
    is_tied <- distances[near] == limit
    tied <- near[is_tied]
    n_tied <- n_near - sum(!is_tied)
    near <- sort(c(near[!is_tied], tied[spaced_points(length(tied), n_tied)]))
  }
  list(limit = limit, near = near)
}

# A covariance, or variances, to a negative power; 1 where all that they are of are the same.
inverse_power <- function(covariance, power) {
  if (!is.matrix(covariance)) return(1 / limit_values(covariance)^power)
  axes <- eigen(covariance, symmetric = TRUE)
  axes$vectors %*% (t(axes$vectors) / limit_values(axes$values)^power)
}

limit_values <- function(values) {
  highest <- max(values)
  if (highest > 0) pmax(values / highest, 1 / most_stretched^2) else rep(1, length(values))
}

# What makes the distances of a metric, up to their unit, stretched by no more than so many times as
# much in one direction as in others: of a matrix a symmetric one.
limit_stretch <- function(metric) {
  limit <- function(stretch) pmin(stretch / min(stretch), most_stretched)
  if (!is.matrix(metric)) return(limit(metric))
  parts <- svd(metric, nu = 0)
  parts$v %*% (limit(parts$d) * t(parts$v))
}
