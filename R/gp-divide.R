# Divide and conquer (Zhang, Duchi and Wainwright 2015): the engine of exact Gaussian processes on
# blocks of the points, whose predictions are averaged.

# A fixed partition of the points at random, into as few blocks as hold at most `block_points` each,
# of sizes that differ by one at most.
partition_points <- function(n_points, block_points, seed = c(20150101L, 65539L)) {
  n_blocks <- ceiling(n_points / block_points)
  number <- rep_len(seq_len(n_blocks), n_points)
  if (n_blocks > 1) number <- with_seed(seed, n_blocks, sample(number))
  unname(split(seq_len(n_points), number))
}

#' @export
engine_plan.gps_engine_divide <- function(engine, kernel, theta, y, n_threads = 1L, tol = NULL,
                                          dense = FALSE) {
  engine$rows <- partition_points(ncol(y), engine$rank)
  hold_data(engine, kernel, theta, y, n_threads)
}

# The exact engine of a block.
block_engine <- function(engine, k) {
  engine_plan(new_engine("exact"), engine$kernel, engine$theta,
              columns_of(engine$y, engine$rows[[k]]), engine$n_threads)
}

# Sums over blocks. Each block has the jitter that its own matrix needs; the largest one is
# reported.
#' @export
engine_evaluate.gps_engine_divide <- function(engine, theta, goal, jitter = 0, least = NULL) {
  found <- lapply(seq_along(engine$rows), function(k) {
    goal$root <- columns_of(goal$root, engine$rows[[k]])
    engine_evaluate(block_engine(engine, k), theta, goal)
  })
  list(value = sum(vapply(found, `[[`, 0, "value")),
       gradient = Reduce(`+`, lapply(found, `[[`, "gradient")),
       jitter = max(vapply(found, `[[`, 0, "jitter")))
}

# For many targets the blocks are kept as they are prepared, n_points times block_points numbers;
# else they are prepared in turn when they are asked for.
#' @export
engine_prepare.gps_engine_divide <- function(engine, theta, jitter = 0, many = FALSE, sums = NULL) {
  engine[c("theta", "jitter")] <- list(theta, 0)
  if (many) engine$blocks <- lapply(seq_along(engine$rows), prepared_block, engine = engine)
  engine
}

prepared_block <- function(engine, k, many = TRUE) {
  if (!is.null(engine$blocks)) return(engine$blocks[[k]])
  engine_prepare(block_engine(engine, k), engine$theta, many = many)
}

# Leave-one-out of the average, with all blocks and parameters as they are: without the point only
# its own block's prediction is another. The variance of the observation is the own block's.
#' @export
engine_loo.gps_engine_divide <- function(engine, targets, points = NULL) {
  rows <- engine$rows
  mean <- array(0, dim(targets))
  variance <- numeric(ncol(targets))
  cross <- engine$cross && length(rows) > 1
  for (k in seq_along(rows)) {
    own <- rows[[k]]
    block <- prepared_block(engine, k)
    found <- engine_loo(block, columns_of(targets, own))
    mean[, own] <- mean[, own] + found$mean
    variance[own] <- found$variance
    if (!cross) next
    block <- engine_train(block, columns_of(targets, own))
    mean[, -own] <- mean[, -own] + engine_predict(block, columns_of(engine$y, -own))$mean
  }
  list(mean = if (cross) mean / length(rows) else mean, variance = variance)
}

#' @export
engine_train.gps_engine_divide <- function(engine, targets) {
  engine$targets <- targets
  if (!is.null(engine$blocks)) {
    engine$blocks <- Map(function(block, rows) engine_train(block, columns_of(targets, rows)),
                         engine$blocks, engine$rows)
  }
  engine
}

# Those of the blocks, averaged. The variance is a single block's, on average, not that of the
# average, which is smaller.
#' @export
engine_predict.gps_engine_divide <- function(engine, newdata, moments = FALSE) {
  n_blocks <- length(engine$rows)
  mean <- variance <- 0
  for (k in seq_len(n_blocks)) {
    block <- prepared_block(engine, k, many = FALSE)
    if (is.null(engine$blocks)) {
      block <- engine_train(block, columns_of(engine$targets, engine$rows[[k]]))
    }
    found <- engine_predict(block, newdata, moments)
    mean <- mean + found$mean
    if (moments) variance <- variance + found$variance
  }
  list(mean = mean / n_blocks, variance = if (moments) variance / n_blocks)
}

# ---- what it refuses, says and keeps ----

# Numbers that the block inverses of all points, and the affinities, may take (1 GB each).
most_divided <- 2^27

#' @export
engine_check_size.gps_engine_divide <- function(engine, kernel, n_dims, n_points,
                                                n_targets = NULL) {
  n_numbers <- as.double(n_points) * max(engine$rank, n_targets)
  if (is.null(n_targets) || n_numbers <= most_divided) return(invisible(engine))
  gps_abort(sprintf(
    paste("`method` = \"divide\" keeps %.3g numbers for %.0f data points; the limit is %.3g:",
          "use \"ichol\", \"inducing\" or \"fourier\"."), n_numbers, n_points, most_divided
  ))
}

#' @export
engine_check_grid.gps_engine_divide <- function(engine) refuse_grid("`method` = \"divide\"")

#' @export
engine_words.gps_engine_divide <- function(engine) {
  paste0("blocks", if (!is.null(engine$rank)) sprintf(" of %d points", engine$rank),
         if (engine$cross) ", crossed")
}

#' @export
engine_story.gps_engine_divide <- function(engine, fit, number) {
  rows <- fit$divide$rows
  what <- sprintf("%s of at most %s, %s", plural(length(rows), "block"),
                  plural(max(lengths(rows)), "point"),
                  if (fit$divide$cross) "crossed" else "not crossed")
  list(what = what, of = " (sum over blocks)")
}

#' @export
engine_keep.gps_engine_divide <- function(engine, targets) {
  list(divide = engine[c("rows", "cross")])
}

#' @export
is_engine_kept.gps_engine_divide <- function(engine, fit, points) {
  divide <- fit$divide
  n_points <- nrow(fit$x)
  is.list(divide) && (isTRUE(divide$cross) || isFALSE(divide$cross)) && is.list(divide$rows) &&
    all(vapply(divide$rows, is.numeric, NA)) && sum(lengths(divide$rows)) == n_points &&
    (!points ||
       identical(sort(as.double(unlist(divide$rows))), as.double(seq_len(n_points))))
}
