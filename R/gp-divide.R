# Divide and conquer (Zhang, Duchi and Wainwright 2015): exact Gaussian processes on blocks of the
# points, whose predictions are averaged. y is n_dims x n_points, targets n_latents x n_points.

# A fixed partition of the points at random, into as few blocks as hold at most `block_points` each,
# of sizes that differ by one at most. `cross`: whether leave-one-out averages over all blocks, or
# asks a point's own block only, at a cost that does not grow with their number.
new_divide <- function(n_points, block_points, cross = TRUE, seed = c(20150101L, 65539L)) {
  n_blocks <- ceiling(n_points / block_points)
  number <- rep_len(seq_len(n_blocks), n_points)
  if (n_blocks > 1) number <- with_seed(seed, n_blocks, sample(number))
  list(rows = unname(split(seq_len(n_points), number)), cross = cross)
}

columns_of <- function(x, rows) x[, rows, drop = FALSE]

# Log marginal likelihood of independent blocks and its gradient: sums over blocks. Each block has
# the jitter that its own matrix needs; the largest one is reported. `root` as for gp_evaluate().
divide_evaluate <- function(divide, kernel, theta, y, root, n_targets = nrow(root),
                            n_threads = 1L) {
  found <- lapply(divide$rows, function(rows) {
    gp_evaluate(kernel, theta, columns_of(y, rows), columns_of(root, rows), 0, n_threads, n_targets)
  })
  list(value = sum(vapply(found, `[[`, 0, "value")),
       gradient = Reduce(`+`, lapply(found, `[[`, "gradient")),
       jitter = max(vapply(found, `[[`, 0, "jitter")))
}

# As gp_refit().
divide_refit <- function(divide, kernel, theta, y, targets, max_evals = 20L, n_threads = 1L,
                         gain = 1e-4, box = NULL, n_targets = nrow(targets)) {
  root <- .Call(C_gp_root, targets)
  evaluate <- function(theta) divide_evaluate(divide, kernel, theta, y, root, n_targets, n_threads)
  limits <- search_limits(kernel, theta, y, targets, max_evals, gain, box, n_targets)
  result <- climb_theta(evaluate, theta, limits)
  result[names(result) != "inputs"]
}

# What leave-one-out needs for any targets at fixed parameters. With `keep` the blocks as
# gp_prepare() makes them, n_points times block_points numbers; without they are made in turn.
divide_prepare <- function(divide, kernel, theta, y, n_threads = 1L, keep = TRUE) {
  prepared <- list(form = "divide", divide = divide, kernel = kernel, theta = theta, y = y,
                   n_threads = n_threads)
  if (keep) prepared$blocks <- lapply(seq_along(divide$rows), prepared_block, prepared = prepared)
  prepared
}

prepared_block <- function(prepared, k) {
  if (!is.null(prepared$blocks)) return(prepared$blocks[[k]])
  own <- columns_of(prepared$y, prepared$divide$rows[[k]])
  gp_prepare(prepared$kernel, prepared$theta, own, prepared$n_threads)
}

# Leave-one-out of the average, with all blocks and parameters as they are: without the point only
# its own block's prediction is another. The variance of the observation is the own block's.
divide_loo <- function(prepared, targets) {
  rows <- prepared$divide$rows
  mean <- array(0, dim(targets))
  variance <- numeric(ncol(targets))
  cross <- prepared$divide$cross && length(rows) > 1
  for (k in seq_along(rows)) {
    own <- rows[[k]]
    block <- prepared_block(prepared, k)
    mean[, own] <- mean[, own] + gp_loo_means(block, columns_of(targets, own), prepared$n_threads)
    variance[own] <- block_loo_variance(block)
    if (cross) {
      others <- columns_of(prepared$y, -own)
      mean[, -own] <- mean[, -own] + block_means(prepared, k, block, targets, others)
    }
  }
  list(mean = if (cross) mean / length(rows) else mean, variance = variance)
}

block_loo_variance <- function(block) {
  if (block$form == "dense") return(1 / diag(block$inverse))
  block$noise / pmax(1 - block$leverage, .Machine$double.eps)
}

# What a block predicts at new points, n_latents x n_new.
block_means <- function(prepared, k, block, targets, newdata) {
  rows <- prepared$divide$rows[[k]]
  y <- columns_of(prepared$y, rows)
  targets <- columns_of(targets, rows)
  weights <- if (block$form == "dense") {
    list(form = "dense", alpha = targets %*% block$inverse)
  } else {
    gp_weights(prepared$kernel, prepared$theta, y, targets, prepared$n_threads)
  }
  gp_predict_means(prepared$kernel, prepared$theta, y, weights, newdata, prepared$n_threads)
}

# Means at new points, n_latents x n_new: those of the blocks, averaged.
divide_predict_means <- function(prepared, targets, newdata) {
  n_blocks <- length(prepared$divide$rows)
  sum <- 0
  for (k in seq_len(n_blocks)) {
    sum <- sum + block_means(prepared, k, prepared_block(prepared, k), targets, newdata)
  }
  sum / n_blocks
}

# Means and variances of the function at new points: those of the blocks, averaged. The variance is
# a single block's, on average, not that of the average, which is smaller.
divide_predict <- function(divide, kernel, theta, y, targets, newdata, n_threads = 1L) {
  mean <- variance <- 0
  for (rows in divide$rows) {
    block <- gp_predict_moments(kernel, theta, columns_of(y, rows), columns_of(targets, rows),
                                newdata, 0, n_threads)
    mean <- mean + block$mean
    variance <- variance + block$variance
  }
  list(mean = mean / length(divide$rows), variance = variance / length(divide$rows))
}
