# Units in which a learned selector's kernel sees the data: (y - centre) / scale. The kernel's
# variances begin at the same numbers whatever the data's unit, and one lengthscale serves all
# columns, so the ranking would depend on units otherwise. Quantiles make them: one value that is
# far from all others must not decide how the others are seen.

# Points among which basis functions are chosen.
basis_rows <- 5000L

# At most `n` rows of a task, ascending, sampled with the stream `number`.
sampled_rows <- function(task, n, number) sample_numbers(n_points(task$y), n, task$seed, number)

# What a model's own fit does not depend on: whether each column may have a unit of its own, and
# whether a constant may be added to the data.
free_units <- function(model) UseMethod("free_units")

#' @export
free_units.default <- function(model) {
  list(by_column = FALSE, is_centred = is_built_in(model) && has_intercept(model))
}

#' @export
free_units.gps_gaussian_mixture <- function(model) {
  list(by_column = model$settings$covariance != "spherical", is_centred = TRUE)
}

# list(centre = D numbers or NULL, scale = D numbers or one). A lengthscale, or the variance of a
# linear term, that a user gave as one number for all columns says that these have one unit.
find_units <- function(selector, model, y) {
  free <- free_units(model)
  centre <- if (free$is_centred) column_quantiles(y, 0.5)[, 1]
  by_column <- free$by_column && !any(vapply(kernel_factors(selector$kernel), has_common_unit, NA))
  list(centre = centre, scale = if (by_column) column_spreads(y) else common_size(y, centre))
}

# Whether a factor of a kernel takes all columns to have one unit: by a number that the user gave
# for all of them, or as a function of the user's.
has_common_unit <- function(factor) {
  length <- length_part(factor)
  has_length <- !is.null(length) && !is.null(factor[[length]])
  has_slope <- factor$type == "linear" && !isTRUE(factor$is_open)
  !factor$ard && (has_length || has_slope || factor$type == "custom")
}

# Those of a task's data, from as many rows as are enough.
task_units <- function(selector, task) {
  n_rows <- max(100, min(basis_rows, floor(most_unit_numbers / n_dims(task$y))))
  find_units(selector, task$model, rows_data(task$y, sampled_rows(task, n_rows, -1)))
}

# The same for a fit by batches, none of which tells the units of all data.
units_of_all <- function(plan, y, model, seed) {
  if (!inherits(plan$selector, "gps_selector_gp")) return(NULL)
  task_units(plan$selector, list(y = y, model = model, seed = seed))
}

# Data D x n as the kernel sees them; as they are where there are no units, as in fits of 0.1.0.
in_units <- function(y, units) {
  if (is.null(units)) return(y)
  if (!is.null(units$centre)) y <- y - units$centre
  draw_near(y / units$scale)
}

# So many scales from the middle, and how fast values grow beyond: with their logarithm.
far_scales <- 64
far_growth <- 8

# Far values stay far and in order, but a linear term's variance at one of them does not outweigh
# that of all other points, from which a basis is chosen and its residual judged.
draw_near <- function(x) {
  if (length(x) == 0 || max(x) <= far_scales && min(x) >= -far_scales) return(x)
  far <- which(abs(x) > far_scales)
  times <- pmin(abs(x[far]), 1e300) / far_scales
  x[far] <- sign(x[far]) * (far_scales + far_growth * log(times))
  x
}

# Units of columns in another order.
permute_units <- function(units, place) {
  if (is.null(units) || is.null(place)) return(units)
  if (!is.null(units$centre)) units$centre <- units$centre[place]
  if (length(units$scale) > 1) units$scale <- units$scale[place]
  units
}

# The kernel of data in these units: what the user gave is in the data's, and converted.
kernel_in_units <- function(kernel, units) {
  if (is.null(units)) return(kernel)
  for (slot in kernel_slots(kernel, length(units$scale))) {
    value <- get_part(kernel, slot)
    if (is.null(value)) next
    if (slot$part %in% kernel_types[[slot$type]]$length) {
      kernel <- set_part(kernel, slot, value / units$scale)
    }
    n_given <- sum(!vapply(linear_held(kernel, slot), function(x) isTRUE(x$is_open), NA))
    if (n_given > 0) kernel <- set_part(kernel, slot, value * units$scale^(2 * n_given))
  }
  kernel
}

# Spread of each dimension as a standard deviation, from its quartiles; where half of the values are
# equal the mean distance from the median, and where all are, their size, or 1.
column_spreads <- function(y) {
  quantiles <- column_quantiles(y, c(0.25, 0.5, 0.75))
  spread <- (quantiles[, 3] / 2 - quantiles[, 1] / 2) / 0.675
  same <- which(!(spread > 0))
  spread[same] <- rowMeans(abs(y[same, , drop = FALSE] - quantiles[same, 2]))
  same <- which(!(spread > 0 & is.finite(spread)))
  spread[same] <- abs(quantiles[same, 2])
  ifelse(spread > 0 & is.finite(spread), spread, 1)
}

# Root mean square over the dimensions of the median point; of all points where most are 0.
common_size <- function(y, centre = NULL) {
  if (!is.null(centre)) y <- y - centre
  largest <- max(abs(y))
  if (!(largest > 0 && is.finite(largest))) return(1)
  square <- colMeans((y / largest)^2)
  middle <- stats::median(square)
  size <- largest * sqrt(if (middle > 0) middle else mean(square))
  if (size > 0) size else largest
}
