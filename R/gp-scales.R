# The scales of a Gaussian process's data, in whose units log parameters start and are sought, and
# its periods. y is n_dims x n_points. Scales are medians where one point far out would spoil a
# mean.

# Points whose scales, and whose periods, are those of all, at most.
max_scale_points <- 1000L
max_period_points <- 500L

# Median distance between at most `max_points` points. If most coincide, the median distance of
# those that do not; 1 if all do. Data times a power of two give the same bits, scaled.
median_distance <- function(y, max_points = max_scale_points) {
  y <- some_points(y, max_points)
  largest <- max(abs(y - y[, 1]))
  if (!is.finite(largest) || nrow(y) * largest > sqrt(.Machine$double.xmax)) {
    abort_too_large()
  }
  if (largest == 0) return(1)
  # A power of two changes no digit, and nothing overflows.
  unit <- 2^floor(log2(largest))
  unit * middle_distance(y / unit)
}

abort_too_large <- function() {
  gps_abort(paste("The data are too large: squared distances between points overflow. Give",
                  "them in another unit."), "numeric")
}

# Products are cheaper than differences, and good enough to find the pair in the middle unless a
# point far out costs it its digits.
middle_distance <- function(y) {
  z <- y - rowMeans(y)
  sq <- colSums(z^2)
  error <- 8 * nrow(y) * .Machine$double.eps * max(sq)
  found <- .Call(C_gp_middle, sq, crossprod(z), 4 * error)
  if (found$middle[1] > 1e7 * error) {
    at <- floor((ncol(y) * (ncol(y) - 1) / 2 + 1:2) / 2)
    return(mean(mapply(exact_middle, at, found$middle, MoreArgs = list(y, found, error))))
  }
  distance <- as.vector(stats::dist(t(y)))
  # Closer than what the data's last digits can say is equal.
  digits <- 4 * .Machine$double.eps * stats::median(apply(abs(y), 2, max))
  middle <- stats::median(distance)
  if (middle > digits) middle else stats::median(distance[distance > digits])
}

# The distance at position `at` in the order of all, by differences, so that it does not depend on
# the order of points. `value`: the square of it, to within `error`; `found`: the pairs beside it.
exact_middle <- function(at, value, y, found, error, most = 1e4) {
  is_near <- abs(found$value - value) <= 2 * error
  if (sum(is_near) > most) return(sqrt(value))
  points <- found$points[, is_near, drop = FALSE]
  exact <- colSums((y[, points[1, ], drop = FALSE] - y[, points[2, ], drop = FALSE])^2)
  sqrt(sort(exact)[at - found$n_below - sum(found$value < value - 2 * error)])
}

# A scale for each column, by itself, so that its unit does not matter: the median distance from its
# median, of those points that differ from it if most do not. Constant columns: 1.
column_scales <- function(y) {
  y <- some_points(y, max_scale_points)
  apply(y, 1, function(column) {
    away <- abs(column - stats::median(column))
    middle <- stats::median(away)
    if (middle > 0) return(middle)
    if (any(away > 0)) stats::median(away[away > 0]) else 1
  })
}

# Lengthscales that data suggest: `one` for all columns, the median distance, and one for `each`,
# such that the median distance in these units is 1 and all columns have the same part in it. What
# the kernel has no use for is NA.
open_lengthscales <- function(kernel, y) {
  has_length <- has_length(kernel)
  is_ard <- is_ard(kernel)
  scales <- if (any(has_length & is_ard)) column_scales(y)
  list(
    one = if (any(has_length & !is_ard)) median_distance(y) else NA_real_,
    each = if (is.null(scales)) NA_real_ else scales * median_distance(y / scales)
  )
}

# The distance to the nearest other point, `typical` and of the few that are `close`, in units of
# the lengthscales that data suggest: list(one, each), as there.
near_distances <- function(kernel, y, lengthscale) {
  y <- some_points(y)
  near <- function(z) {
    distance <- as.matrix(stats::dist(t(z)))
    distance[distance == 0] <- Inf
    nearest <- apply(distance, 1, min)
    nearest <- nearest[is.finite(nearest)]
    if (length(nearest) == 0) nearest <- 1
    near <- stats::quantile(nearest, c(0.5, 0.05), names = FALSE)
    stats::setNames(pmin(near, 1), c("typical", "close"))
  }
  list(one = if (!anyNA(lengthscale$one)) near(y / lengthscale$one),
       each = if (!anyNA(lengthscale$each)) near(y / lengthscale$each))
}

# A column with fewer values than this has no groups to speak of; so many parts of its values make
# one step; groups are closer than this share of the column's lengthscale.
group_values <- 20L
group_share <- 0.03

# Of each column the share of its lengthscale that suits the values within its groups, where they
# lie in groups far apart, as the times of two campaigns do; else 1. Of the other columns nothing is
# seen here: points that are close in time need not be close in them.
group_shares <- function(y, lengthscale) {
  if (anyNA(lengthscale)) return(NULL)
  y <- some_points(y)
  vapply(seq_len(nrow(y)), function(i) {
    values <- sort(unique(y[i, ]))
    if (length(values) < group_values) return(1)
    width <- 2 * stats::median(diff(values, lag = length(values) %/% group_values))
    if (width < group_share * lengthscale[i]) width / lengthscale[i] else 1
  }, 0)
}

# Of the targets, list(level, spread): their mean square and its part about their means. Of
# `n_targets`, those that are 0 everywhere are not given.
target_scales <- function(targets, n_targets = nrow(targets)) {
  share <- nrow(targets) / n_targets
  level <- min(mean(targets^2), .Machine$double.xmax) * share
  spread <- min(mean((targets - rowMeans(targets))^2), .Machine$double.xmax) * share
  if (!(level > 0)) level <- 1
  # What differs by rounding only is constant.
  if (!(spread > 1e-28 * level)) spread <- level
  list(level = level, spread = spread)
}

# All scales that the box and the starts of a search need: `level` and `spread` of the targets, as
# above; `square`, `spread2` (0 of a constant column), `mean`: of each column of the data; if the
# search is `wide`, `near`: of neighbours, `groups`: the shares of columns' lengthscales, and
# `periods`: of likely_periods().
gp_scales <- function(kernel, y, targets, n_targets = nrow(targets), wide = FALSE,
                      lengthscale = open_lengthscales(kernel, y)) {
  scales <- target_scales(targets, n_targets)
  mean <- rowMeans(y)
  square <- rowMeans(y^2)
  if (!all(is.finite(square))) abort_too_large()
  spread2 <- rowMeans((y - mean)^2)
  spread2[!(spread2 > 1e-28 * square)] <- 0
  scales <- c(scales, list(lengthscale = lengthscale, mean = mean, square = square,
                           spread2 = spread2))
  if (!wide) return(scales)
  c(scales, list(near = near_distances(kernel, y, lengthscale),
                 groups = group_shares(y, lengthscale$each),
                 periods = likely_periods(kernel, y, targets)))
}

# ---- periods ----

# Periods that targets suggest. The marginal likelihood has a peak for every period that nearly
# fits, and the longer the data are, the narrower it is: a search that does not begin on one does
# not find it.

# So many of a column's periods are starts.
max_periods <- 3L

# Where the kernel has periods, a list of those of each column, n_dims of them, the likeliest first;
# else NULL. Trends that a cubic follows are no period.
likely_periods <- function(kernel, y, targets) {
  if (!"periodic" %in% factor_types(kernel)) return(NULL)
  points <- spaced_points(ncol(y), max_period_points)
  root <- .Call(C_gp_root, targets[, points, drop = FALSE])
  lapply(seq_len(nrow(y)), function(d) column_periods(y[d, points], t(root)))
}

# The highest peaks of the periodogram of targets n x any, four frequencies a cycle over the data's
# length, up to two points a cycle.
column_periods <- function(x, targets) {
  length <- diff(range(x))
  n <- length(unique(x))
  if (n < 8) return(numeric())
  x <- (x - min(x)) / length
  targets <- qr.resid(qr(outer(x, 0:3, `^`)), targets)
  frequency <- seq(1, n / 2, by = 0.25)
  angle <- 2 * pi * outer(frequency, x)
  power <- rowSums((cos(angle) %*% targets)^2) + rowSums((sin(angle) %*% targets)^2)
  is_peak <- power >= c(0, utils::head(power, -1)) & power >= c(power[-1], 0)
  peaks <- which(is_peak)
  peaks <- peaks[order(-power[peaks])]
  length / frequency[utils::head(peaks, max_periods)]
}

# Log parameters `theta` with likely periods, one vector for each that a column has at most: factors
# that have a period get different ones. With one period for all columns the columns take turns.
theta_with_periods <- function(kernel, theta, periods) {
  n_dims <- length(periods)
  slots <- kernel_slots(kernel, n_dims)
  is_period <- vapply(slots, function(slot) slot$type == "periodic" && slot$part == "period", NA)
  pooled <- unlist(lapply(seq_len(max_periods), function(rank) {
    lapply(periods, function(column) column[rank])
  }))
  pooled <- pooled[!is.na(pooled)]
  lapply(seq_len(max_periods * (length(pooled) > 0)), function(start) {
    choice <- start
    for (slot in slots[is_period]) {
      found <- if (slot$each) vapply(periods, turn_of, 0, choice) else turn_of(pooled, choice)
      theta[slot$at] <- ifelse(is.na(found), theta[slot$at], log(found))
      choice <- choice + 1
    }
    theta
  })
}

# The `choice`-th of some numbers, from the first again after the last; NA of none.
turn_of <- function(x, choice) {
  if (length(x) == 0) NA_real_ else x[(choice - 1) %% length(x) + 1]
}
