# The intercept of the sparse coding models: what each column of the data has whatever is on. It is
# a parameter of models that were made with one; without one it is 0.

has_intercept <- function(model) isTRUE(model$settings$intercept)

# What a model declares of it: its parameter, last of all, and the sums that its M-step needs.
intercept_params <- function(intercept) if (intercept) list(intercept = "dims")

intercept_stats <- list(data_sum = "intercepts")

intercept_sizes <- function(model, n_dims) c(intercepts = if (has_intercept(model)) n_dims else 0)

# Statistics are sums about the means of the data, where an intercept of any size costs no digits.
intercept_options <- function(model, moments) {
  if (has_intercept(model)) list(centre = moments$centre)
}

# Options of before 0.4.0 had numbers, and in 0.1.0 none that says whether there is an intercept.
name_options <- function(model, options) {
  values <- options$options
  if (is.null(values)) return(options)
  names <- setdiff(names(model$options), "centre")
  c(stats::setNames(as.list(values[seq_along(names)]), names),
    if (has_intercept(model)) options["centre"])
}

#' @export
upgrade_options.gps_binary_sparse <- function(model, options) name_options(model, options)

#' @export
upgrade_options.gps_spike_slab <- function(model, options) name_options(model, options)

# Where the intercept begins: at the medians of the columns, as a component that is sparse is off in
# most points. NULL without one.
first_intercept <- function(model, y, weights = NULL) {
  if (!has_intercept(model)) return(NULL)
  if (is.null(weights)) return(column_quantiles(t(y), 0.5)[, 1])
  apply(unname(y), 2, weighted_median, weights)
}

# Parameters of a fit from which a model with an intercept goes on: where the fit's own model had
# none, it was 0.
plus_no_intercept <- function(model, params) {
  if (has_intercept(model) && is.null(params$intercept)) {
    params$intercept <- numeric(model$n_dims)
  }
  params
}

# Data n x D less the intercept.
less_intercept <- function(y, params) {
  if (is.null(params$intercept)) y else y - rep(params$intercept, each = nrow(y))
}

plus_intercept <- function(y, params) {
  if (is.null(params$intercept)) y else y + rep(params$intercept, each = nrow(y))
}

#' @export
upgrade_options.gps_max_spike_slab <- function(model, options) name_options(model, options)

# Whether this model would have an intercept if the user said so.
lacks_intercept <- function(model) identical(model$settings$intercept, FALSE)

# What nearly all values of a column are beyond, and how far that must be from 0, as a share of the
# data's variance.
near_quantile <- 0.05
least_gap <- 0.05

# Squares of means of n points about 0 are seldom more than this over n times their variance.
chance_of_means <- 20

# Warns of data that have a baseline where the model has none: without one a point with nothing on
# is 0, so that where latents are sparse a column has values about 0.
warn_baseline <- function(task, is_picture) {
  if (!lacks_intercept(task$model)) return(invisible())
  moments <- task$moments
  spread <- sum(moments$variances)
  least <- max((1 - near_quantile)^2 * least_gap, chance_of_means / moments$n_points)
  if (spread <= 0 || sum(moments$centre^2) <= least * spread) return(invisible())
  n_rows <- max(100, min(start_rows, floor(most_unit_numbers / n_dims(task$y))))
  y <- rows_data(task$y, even_rows(task$y, n_rows))
  ends <- column_quantiles(y, c(near_quantile, 1 - near_quantile))
  gap <- pmax(ends[, 1], -ends[, 2], 0)
  if (sum(gap^2) <= least_gap * spread) return(invisible())
  gps_warn(sprintf(paste(
    "`y` stays away from 0, with nearly all values of a column on one side (column means of %s on",
    "average, in size, standard deviation %s), but to %s() a data point in which nothing is on is",
    "0. Give the model a baseline, %s(..., intercept = TRUE), or subtract one from the data%s."
  ), plain_number(mean(abs(moments$centre)), 3), plain_number(sqrt(moments$variance), 3),
  model_maker(task$model), model_maker(task$model),
  if (is_picture) ", of each patch of a picture its mean: y - rowMeans(y)" else ""),
  class = "baseline")
}

# The squared error of a state is a difference of sums of squares, known to about 1e-15 of the
# data's squares: a noise variance far below that would weigh rounding, and the bound would rise
# with it.
# With an intercept they are squares about it, and what is left of rounding is that of the products
# W'y.
lowest_sigma2 <- function(y, model = NULL) {
  moments <- as_moments(y)
  relative <- 1e-6 * variance_scale(moments)
  rounding <- 1e-13 * if (has_intercept(model)) {
    sqrt(moments$square) * sqrt(moments$variance)
  } else {
    moments$square
  }
  if (rounding > 1e4 * relative) {
    gps_warn(sprintf(paste(
      "The values of `y` are %s times as large as their spread, so that `sigma2` must stay above",
      "%s, where rounding errors are small. Subtract the column means."
    ), plain_number(sqrt(rounding / relative / 1e-7), 1), plain_number(rounding, 2)))
  }
  max(relative, rounding)
}
