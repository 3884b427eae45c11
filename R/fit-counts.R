# How much the data points of a fit count, by the weights that it was given, and what its bound is.

# Rows of a fit that count, NULL: all.
counted_rows <- function(fit) if (any(fit$weights == 0)) which(fit$weights > 0)

count_counted <- function(fit) if (is.null(fit$weights)) fit$n_points else sum(fit$weights > 0)

# Numbers of the data points that a fit's regression holds; NULL: all.
held_rows <- function(fit) {
  rows <- counted_rows(fit)
  refs <- fit$gp$refs
  if (is.null(refs) || is.null(rows)) c(rows, refs) else rows[refs]
}

# The sum of the weights as they were given.
fit_weight <- function(fit) total_weight(fit$weights, fit$n_points)

# Observations that each row of a fit stands for, by the rule of count_rows(); NULL: one each.
observation_weights <- function(fit) {
  weights <- fit$weights
  if (is.null(weights)) return(NULL)
  weights / min(1, mean(weights[weights > 0]))
}

count_observations <- function(fit) total_weight(observation_weights(fit), fit$n_points)

# ", weights with the sum 12.5, 3 rows of weight 0", or nothing.
describe_weights <- function(fit) {
  if (is.null(fit$weights)) return("")
  n_out <- fit$n_points - count_counted(fit)
  paste0(", weights with the sum ", plain_number(fit_weight(fit), 6),
         if (n_out > 0) sprintf(", %s of weight 0", plural(n_out, "row")),
         # AIC() and BIC() take weights for numbers of observations.
         if (fit_weight(fit) < count_counted(fit)) " (as shares AIC and BIC say nothing)")
}

are_weights <- function(weights, n_points) {
  is.null(weights) || is.double(weights) && is.null(attributes(weights)) &&
    length(weights) == n_points && all(is.finite(weights)) && all(weights >= 0) &&
    any(weights > 0)
}

describe_omitted <- function(fit) {
  if (length(fit$omitted) == 0) return(NULL)
  sprintf("%s with missing cells", plural(length(fit$omitted), "data point"))
}

# The size of the data in words.
describe_size <- function(fit) {
  images <- if (!is.null(fit$image_dim)) sprintf(" (images %s)", shown_dim(fit$image_dim))
  paste0(plural(fit$n_points, "point"), " of ", plural(fit$model$n_dims, "dimension"), images,
         describe_weights(fit))
}

# Whether the bound is the log-likelihood itself: no state is left out, at temperature 1.
is_whole <- function(fit) {
  fit$method == "exact" && selects_all(fit) && is.null(fit$standing$temperature) &&
    fit$max_active >= min(fit$n_selected, fit$model$rule$max_active)
}

# What a bound of logLik() is called.
name_bound <- function(bound) {
  if (isTRUE(attr(bound, "whole"))) "log-likelihood" else "truncated bound on the log-likelihood"
}
