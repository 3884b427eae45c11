# Periods that targets suggest. The marginal likelihood has a peak for every period that nearly
# fits, and the longer the data are, the narrower it is: a search that does not begin on one does
# not find it.

# So many of a column's periods are starts.
max_periods <- 3L

# Where the kernel has periods, a list of those of each column, n_dims of them, the likeliest first;
# else NULL, from the targets of some `points`. Trends that a cubic follows are no period.
likely_periods <- function(kernel, y, targets, points) {
  if (!"periodic" %in% factor_types(kernel)) return(NULL)
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
  pooled <- unlist(lapply(seq_len(max_periods), function(rank) {
    lapply(periods, function(column) column[rank])
  }))
  pooled <- pooled[!is.na(pooled)]
  lapply(seq_len(max_periods * (length(pooled) > 0)), function(start) {
    at <- number <- 0
    for (slot in slots) {
      if (slot$type == "periodic" && slot$part == "period") {
        choice <- start + number
        number <- number + 1
        found <- if (slot$each) vapply(periods, turn_of, 0, choice) else turn_of(pooled, choice)
        place <- at + seq_len(slot$n)
        theta[place] <- ifelse(is.na(found), theta[place], log(found))
      }
      at <- at + slot$n
    }
    theta
  })
}

# The `choice`-th of some numbers, from the first again after the last; NA of none.
turn_of <- function(x, choice) {
  if (length(x) == 0) NA_real_ else x[(choice - 1) %% length(x) + 1]
}
