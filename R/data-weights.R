# Weights of data points: for how many observations each stands. NULL is one each, and then nothing
# is multiplied: results are the same to the last bit as without weights.

# NULL where every data point counts once; else one double for each, of which some are above 0.
check_weights <- function(weights, n_points, arg = "weights") {
  weights <- plain_numbers(weights)
  if (is.null(weights)) return(NULL)
  allowed <- sprintf("NULL or %d finite numbers of at least 0, one for each data point, not all 0",
                     n_points)
  is_plain <- (is.numeric(weights) || is.logical(weights)) && !is.factor(weights) &&
    (is.null(dim(weights)) || sum(dim(weights) > 1) <= 1)
  if (!is_plain) abort_value(weights, arg, allowed)
  if (length(weights) != n_points) {
    gps_abort(sprintf("`%s` must have %s, one for each data point, not %d.", arg,
                      plural(n_points, "number"), length(weights)))
  }
  weights <- as.double(weights)
  bad <- which(!is.finite(weights) | weights < 0)
  if (length(bad) > 0) {
    gps_abort(sprintf("`%s` must be finite numbers of at least 0, but number %d is %s.", arg,
                      bad[1], format(weights[bad[1]])))
  }
  if (all(weights == 0)) gps_abort(sprintf("`%s` must not all be 0: no data point counts.", arg))
  if (!is.finite(sum(weights))) gps_abort(sprintf("`%s` must have a finite sum.", arg))
  if (all(weights == 1)) NULL else weights
}

# Observations that so many data points stand for.
total_weight <- function(weights, n_points) if (is.null(weights)) n_points else sum(weights)

# The same of the data of a task.
task_weight <- function(task) total_weight(task$weights, n_points(task$y))

# One number for each point, as often as the point counts.
weigh <- function(x, weights) if (is.null(weights)) x else x * weights

# The same of the columns of a matrix.
weigh_columns <- function(x, weights) {
  if (is.null(weights)) x else x * rep(weights, each = nrow(x))
}

row_means <- function(x, weights) {
  if (is.null(weights)) rowMeans(x) else drop(x %*% weights) / sum(weights)
}

column_means <- function(x, weights) {
  if (is.null(weights)) colMeans(x) else drop(weights %*% x) / sum(weights)
}

mean_of <- function(x, weights) if (is.null(weights)) mean(x) else sum(x * weights) / sum(weights)

# Median of repeated values: halfway between the two in the middle.
weighted_median <- function(x, weights) {
  if (is.null(weights)) return(stats::median(x))
  ordered <- order(x)
  so_far <- cumsum(weights[ordered])
  half <- so_far[length(so_far)] / 2
  rounding <- 1e-12 * half
  ends <- c(which(so_far >= half - rounding)[1], which(so_far > half + rounding)[1])
  mean(x[ordered[ends]])
}

# The smallest value up to which there is this share of all, as quantile() of type 1.
weighted_quantile <- function(x, weights, prob) {
  if (is.null(weights)) return(stats::quantile(x, prob, names = FALSE, type = 1))
  ordered <- order(x)
  so_far <- cumsum(weights[ordered])
  total <- so_far[length(so_far)]
  x[ordered[which(so_far >= prob * total * (1 - 1e-12))[1]]]
}

# As many numbers of points as there are points, each as often as its weight says, to the nearest
# whole number on average: for what has no use of fractions.
spread_weights <- function(weights) {
  n <- length(weights)
  ends <- floor(cumsum(weights) / sum(weights) * n + 0.5)
  rep(seq_len(n), diff(c(0, ends)))
}

# Some data points as data of their own, in ascending order: of a source one that reads no others.
keep_rows <- function(y, rows) {
  if (!is_source(y)) y[, rows, drop = FALSE] else part_of_source(y, as.integer(rows))
}

part_of_source <- function(source, rows) UseMethod("part_of_source")

#' @export
part_of_source.default <- function(source, rows) {
  source["missing"] <- list(cut_missing(source$missing, rows))
  source$rows <- rows
  source$n_whole <- source$n
  source$n <- length(rows)
  class(source) <- c("gps_source_part", class(source))
  source
}

#' @export
part_of_source.gps_source_sparse <- function(source, rows) {
  size <- diff(source$start)[rows]
  at <- sequence(size, source$start[rows] + 1L)
  source[c("row", "value")] <- list(source$row[at], source$value[at])
  source["missing"] <- list(cut_missing(source$missing, rows))
  source$start <- as.integer(c(0, cumsum(size)))
  source$n <- length(rows)
  source
}

#' @export
with_reader.gps_source_part <- function(source, use) {
  whole <- source
  class(whole) <- setdiff(class(source), "gps_source_part")
  whole$n <- source$n_whole
  with_reader(whole, function(read) {
    use(function(from, to) read_some(read, whole, source$rows[from:to]))
  })
}

# Rows of a source in ascending order, neighbours read together.
read_some <- function(read, source, rows) {
  run <- cumsum(c(TRUE, diff(rows) != 1))
  parts <- lapply(split(rows, run), function(run) {
    check_read(read(run[1], run[length(run)]), source, run[1], run[length(run)])
  })
  do.call(cbind, unname(parts))
}
