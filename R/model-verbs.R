# What a fit may ask of a model beside its tables: generics with an answer for models that have none
# of their own.

# A model of as many latents that is easier to fit, whose components begin those of this one; NULL
# where there is none.
simple_model <- function(model) UseMethod("simple_model")

#' @export
simple_model.default <- function(model) NULL

# Parameters of the model, in any order, from those of the simpler one.
from_simple <- function(model, params) UseMethod("from_simple")

# The model that short starts on so many rows run with: of fewer parameters where these are few.
start_model <- function(model, n_rows) UseMethod("start_model")

#' @export
start_model.default <- function(model, n_rows) model

# Rows of a start, a model's own number.
count_start_rows <- function(model) UseMethod("count_start_rows")

#' @export
count_start_rows.default <- function(model) max(start_rows, model$n_latents)

# Rows of a trial in mending.
count_trial_rows <- function(model) UseMethod("count_trial_rows")

#' @export
count_trial_rows.default <- function(model) count_start_rows(model)

# Running statistics after an M-step: those that are counted from the parameters begin anew with
# each, or what they ask for would be done again in every update.
settle_stats <- function(model, stats) UseMethod("settle_stats")

#' @export
settle_stats.default <- function(model, stats) stats

# The same where latents have new units: sums of values have them, too.
rescale_stats <- function(model, stats, rescale) UseMethod("rescale_stats")

#' @export
rescale_stats.default <- function(model, stats, rescale) stats

# Warns of data that cannot be a model's, before the fit; the value is what doubt_fit() needs of
# them once the parameters are known, or NULL.
doubt_data <- function(model, task) UseMethod("doubt_data")

#' @export
doubt_data.default <- function(model, task) NULL

doubt_fit <- function(model, params, facts) UseMethod("doubt_fit")

#' @export
doubt_fit.default <- function(model, params, facts) invisible()
