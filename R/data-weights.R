# Weights of data points, for how many observations each stands, and what data are on average by
# them. NULL is one each, and then nothing is multiplied: results are the same to the last bit as
# without weights.

# NULL where every data point counts once; else one double for each, of which some are above 0.
check_weights <- function(weights, n_points) {
  weights <- plain_numbers(weights)
  if (is.null(weights)) return(NULL)
  allowed <- sprintf("NULL or %d finite numbers of at least 0, one for each data point, not all 0",
                     n_points)
  is_plain <- (is.numeric(weights) || is.logical(weights)) && !is.factor(weights) &&
    (is.null(dim(weights)) || sum(dim(weights) > 1) <= 1)
  if (!is_plain) abort_value(weights, "weights", allowed, advise_vector(weights, "weights"))
  if (length(weights) != n_points) {
    gps_abort(sprintf("`weights` must have %s, one for each data point, not %d.",
                      plural(n_points, "number"), length(weights)))
  }
  weights <- as.double(weights)
  bad <- which(!is.finite(weights) | weights < 0)
  if (length(bad) > 0) {
    gps_abort(sprintf("`weights` must be finite numbers of at least 0, but number %d is %s.",
                      bad[1], plain_number(weights[bad[1]])))
  }
  if (all(weights == 0)) gps_abort("`weights` must not all be 0: no data point counts.")
  if (!is.finite(sum(weights))) gps_abort("`weights` must have a finite sum.")
  if (all(weights == 1)) NULL else weights
}

# Sums [n] of x, of which each is of one of the numbers 1..n.
sums_by <- function(x, number, n) {
  found <- rowsum(x, number)
  sums <- numeric(n)
  sums[as.integer(rownames(found))] <- found
  sums
}

# The columns of a matrix, each as often as its point counts.
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

# ---- moments ----

# What models and warnings need to know of all data, gathered in one pass over blocks.

# list of class gps_moments: n_points, n_dims, centre [D], variances [D], variance (their mean),
# squares [D], the means of squares, square (their mean), range, n_missing, how many cells, and
# `unobserved`, dimensions without a value, of D x N data or a source; of each dimension over the
# points that have it. With weights each point counts so many times, in all
# but n_points. Of a source also `limits`, see dimension_limits(): a matrix has them at hand.
# Squares are about the means of each block and then moved to the common mean: the difference of
# mean squares would lose all digits far from the origin.
data_moments <- function(y, missing = find_missing(y), weights = NULL) {
  blocks <- split_blocks(n_points(y), n_dims(y))
  task <- list(y = y, blocks = blocks, missing = missing, weights = weights)
  parts <- map_blocks(task, function(task, block) {
    values <- block_data(task$y, block)
    cells <- cut_missing(block$missing, block$y_offset + seq_len(block$n_points))
    moments <- if (is.null(cells)) block_moments(values, block$weights) else
      masked_moments(values, cells, block$weights)
    refuse_large(values, first_row = block$first_row, range = moments$range)
    moments$n_missing <- count_missing(cells)
    if (is_source(y)) moments$limits <- dimension_limits(values, cells)
    moments
  })
  moments <- Reduce(add_moments, parts)
  n <- as.double(moments$count)
  n_values <- if (length(n) == 1) n * n_dims(y) else sum(n)
  squares <- moments$squares / n
  variances <- moments$deviations / n
  # What rounding of the means leaves of constant dimensions is no variance.
  variances[variances <= 1e-30 * squares] <- 0
  square <- sum(moments$squares) / n_values
  variance <- sum(moments$deviations) / n_values
  # Without a single value neither is a number; the columns are then told of as unobserved.
  if (isTRUE(variance <= 1e-30 * square)) variance <- 0
  structure(list(n_points = moments$n_points, n_dims = n_dims(y), centre = moments$centre,
                 variances = variances, variance = variance, squares = squares, square = square,
                 range = moments$range, limits = moments$limits, n_missing = moments$n_missing,
                 unobserved = if (length(n) == n_dims(y)) which(n == 0)), class = "gps_moments")
}

# Moments of no data, but as data would have them whose dimensions all have this mean and variance.
assumed_moments <- function(n_points, n_dims, centre, variance) {
  square <- centre^2 + variance
  structure(list(n_points = n_points, n_dims = n_dims, centre = rep(centre, n_dims),
                 variances = rep(variance, n_dims), variance = variance,
                 squares = rep(square, n_dims), square = square,
                 range = centre + c(-1, 1) * sqrt(variance)), class = "gps_moments")
}

# From n x D data as gps_bind() has them; moments stay what they are.
as_moments <- function(y) if (inherits(y, "gps_moments")) y else data_moments(unname(t(y)))

block_moments <- function(y, weights = NULL) {
  centre <- row_means(y, weights)
  if (!is.null(weights)) {
    return(list(n_points = ncol(y), count = sum(weights), centre = centre,
                deviations = drop((y - centre)^2 %*% weights), squares = drop(y^2 %*% weights),
                range = range(y)))
  }
  list(n_points = ncol(y), count = ncol(y), centre = centre, deviations = rowSums((y - centre)^2),
       squares = rowSums(y^2), range = range(y))
}

# Least and greatest value of each dimension, Inf and -Inf of one without values [D x 2].
dimension_limits <- function(y, missing = NULL) {
  greatest <- function(y) {
    if (!is.null(missing)) y[missing_places(missing, nrow(y))] <- -Inf
    y[cbind(seq_len(nrow(y)), max.col(y, "first"))]
  }
  cbind(-greatest(-y), greatest(y))
}

# The same of a task's data. Also of a source a selector may have them as a matrix.
task_limits <- function(task) {
  if (is_source(task$y)) task$moments$limits else dimension_limits(task$y, task$missing)
}

# In place of the count of a dimension that no point has.
tiny_count <- 1e-300

add_moments <- function(left, right) {
  count <- left$count + right$count
  step <- right$centre - left$centre
  share <- right$count / pmax(count, tiny_count)
  list(n_points = left$n_points + right$n_points, count = count,
       centre = left$centre + share * step,
       deviations = left$deviations + right$deviations + share * left$count * step^2,
       squares = left$squares + right$squares, range = range(left$range, right$range),
       limits = if (!is.null(left$limits)) {
         cbind(pmin(left$limits[, 1], right$limits[, 1]), pmax(left$limits[, 2], right$limits[, 2]))
       },
       n_missing = left$n_missing + right$n_missing)
}

# Mean variance of the dimensions; where the data are constant their mean square, and 1 where they
# are zero. `y`, here and below, is n x D data or their moments.
variance_scale <- function(y) {
  moments <- as_moments(y)
  for (scale in c(moments$variance, mean_square(moments), 1)) if (scale > 0) return(scale)
}

# Units of the dimensions [D] in which columns of any unit are alike: their standard deviations, or
# where all that varies is what rounding leaves, what lies safely above it. Of constant dimensions
# their size, and 1 where that is zero.
column_units <- function(y) {
  moments <- as_moments(y)
  mean_square(moments)
  small <- which(moments$squares < 1e-301 & moments$centre != 0)
  if (length(small) > 0) {
    gps_abort(sprintf("Column %d of `y` is too small to square: rescale it.", small[1]))
  }
  size <- sqrt(moments$squares)
  scale <- pmax(sqrt(moments$variances), 1e-11 * size)
  is_constant <- moments$variances == 0
  scale[is_constant] <- ifelse(size > 0, size, 1)[is_constant]
  scale
}

mean_square <- function(moments) {
  if (!is.finite(moments$square)) gps_abort("`y` is too large to square: rescale it.")
  if (moments$square < 1e-301 && any(moments$range != 0)) {
    gps_abort("`y` is too small to square: rescale it.")
  }
  moments$square
}

# From the smallest to the largest of all values; where there is but one its size, and 1 where that
# is zero.
range_extent <- function(range) {
  for (extent in c(diff(range), abs(range[1]), 1)) if (extent > 0) return(extent)
}

# Numbers of which they are made at most.
most_unit_numbers <- 2^24

# Quantiles of each dimension, D x length(probs), those between two values halfway.
column_quantiles <- function(y, probs) {
  n <- ncol(y)
  sorted <- matrix(y[order(row(y), y)], n)
  at <- (n - 1) * probs + 1
  (t(sorted[floor(at), , drop = FALSE]) / 2) + (t(sorted[ceiling(at), , drop = FALSE]) / 2)
}
