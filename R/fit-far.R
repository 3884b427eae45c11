# Whether new data are of the kind that was fitted: scaled data know nothing of raw ones, and a
# model predicts the ones like the others.

# No more than this share of any numbers lies `far_deviations` standard deviations from their mean
# or farther (Chebyshev), whatever their distribution.
far_deviations <- 5
most_far <- 1 / far_deviations^2

# So rarely data of the fit's own kind may be taken for others.
far_risk <- 1e-3

# The spread of so few data points says little.
least_known <- 20

# Warns of new data of which most lie beyond all values of a column of the fit's; returns `data`.
tell_far <- function(data, fit, arg) {
  limits <- function(column) fit_limits(fit, column)
  column <- find_far(data$y, if (is.matrix(fit$y)) known_columns(fit$y) else fit$known, limits)
  if (is.null(column)) return(data)
  known <- vapply(limits(column), plain_number, "", 4)
  gps_warn(sprintf(paste(
    "Most of `%s` lies far from all that was fitted: %s has %s to %s in the data of the fit,",
    "and here mostly values beyond, such as %s. Were those scaled, or in another unit? New data",
    "must be as they were: scale() them with the same `center` and `scale`."
  ), arg, column_words(column, fit$col_names), known[1], known[2],
  plain_number(stats::median(data$y[column, ], na.rm = TRUE), 4)), class = "far")
  data
}

# Where the columns of a fit's data lie: list of n_points, centre [D], spread [D].
known_columns <- function(y) {
  y <- some_points(y)
  centre <- rowMeans(y, na.rm = TRUE)
  list(n_points = ncol(y), centre = centre,
       spread = sqrt(rowMeans((y - centre)^2, na.rm = TRUE)))
}

# The same with limits [D x 2], for a fit that will not have its data at hand.
kept_columns <- function(task) {
  moments <- task$moments
  list(n_points = moments$n_points, centre = moments$centre, spread = sqrt(moments$variances),
       limits = task_limits(task))
}

fit_limits <- function(fit, column) {
  if (is.matrix(fit$y)) range(fit$y[column, ], na.rm = TRUE) else fit$known$limits[column, ]
}

# The first column (a row of `y`, as of the `known` ones) that says so, or NULL.
find_far <- function(y, known, limits) {
  if (!is.matrix(y) || is.null(known) || known$n_points < least_known) return(NULL)
  y <- some_points(y)
  spread <- known$spread
  # Of a constant column nothing is known but that others vary.
  spread[!spread > 0] <- sqrt(mean(spread^2, na.rm = TRUE))
  is_far <- abs(y - known$centre) > far_deviations * spread
  n_far <- rowSums(is_far, na.rm = TRUE)
  n_seen <- rowSums(!is.na(is_far))
  risk <- stats::pbinom(n_far - 1, n_seen, most_far, lower.tail = FALSE) * nrow(y)
  # What is rare in the fit may be asked for by itself.
  Find(function(column) {
    known <- limits(column)
    mean(y[column, ] < known[1] | y[column, ] > known[2], na.rm = TRUE) > 0.5
  }, which(n_far > n_seen / 2 & risk < far_risk))
}
