# Clutter of model E: pixels that may have any colour. Whose it is, its density, and the range of
# the data on which that and all scales of the model stand.

# Limits that the M-step keeps a share of clutter in that is learned: below the lowest hardly any
# pixel is clutter, and one that is must not be impossible.
clutter_limits <- c(1e-4, 0.9)

check_clutter <- function(clutter) {
  form <- names(clutter)
  clutter <- plain_numbers(clutter)
  if (!is_number(unname(clutter)) || clutter < 0 || clutter >= 1) {
    abort_value(clutter, "clutter", "a number of at least 0 and below 1")
  }
  if (!is.null(form) && !form %in% c("fixed", "background")) {
    abort_value(form, "names(clutter)", paste("\"fixed\", \"background\" or NULL, for a share that",
                                              "is learned"))
  }
  stats::setNames(as.double(clutter), form)
}

# What clutter is: `learned`, `fixed`, or fixed and of the `background` alone.
clutter_form <- function(clutter) {
  if (!is.null(names(clutter))) names(clutter) else if (clutter > 0) "learned" else "fixed"
}

# The share of clutter: a parameter, but of the form of old.
clutter_of <- function(model, params) {
  if (is.null(params$clutter)) unname(model$clutter) else params$clutter
}

# In words that a model keeps, so they do not follow the session's options for numbers.
format_clutter <- function(clutter) {
  form <- clutter_form(clutter)
  paste0(sprintf("%.7g", clutter), if (form == "learned") " at first" else sprintf(" (%s)", form))
}

#' @export
complete_params.gps_occlusive <- function(model, params) {
  if ("clutter" %in% names(model$params)) params$clutter <- clutter_of(model, params)
  params
}

# Of clutter beyond the core, in each channel.
tail_mass <- 0.25
tail_power <- 3

# c(log density in the core, lowest end and half width of the core, rate of the tails): flat in the
# core and, at a distance d from it, less by (1 + rate d)^-(tail_power + 1), so that they meet.
clutter_density <- function(model, lowest, extent, n_channels) {
  if (!is.null(model$density)) {
    half <- exp(-log(model$density) / n_channels) / 2
    return(c(log(model$density), lowest, half, 0))
  }
  # Before 0.3.0 the density was that of the cube alone.
  has_tails <- clutter_form(model$clutter) != "background"
  mass <- if (has_tails) tail_mass else 0
  rate <- if (has_tails) 2 * (1 - mass) / (tail_power * mass * extent) else 0
  c(n_channels * (log1p(-mass) - log(extent)), lowest, extent / 2, rate)
}

# Of the numbers of an image this share at either end may be outliers, and of the images this share.
outlying_numbers <- 0.005
outlying_images <- 0.05

# Images that the range is taken from, at most.
surveyed_images <- 5000L

# Range of the numbers of most images: quantiles over the images of each image's own. Neither pixels
# that are hot or dead in all images nor a few images that are tell; objects do, small or rare. y is
# D x N data or a source.
core_range <- function(y, weights = NULL) {
  rows <- even_rows(y, surveyed_images)
  values <- rows_data(y, rows)
  weights <- weights[rows]
  skipped <- min(ceiling(outlying_numbers * nrow(values)), (nrow(values) - 1) %/% 4)
  at <- c(1 + skipped, nrow(values) - skipped)
  ends <- apply(values, 2, function(image) sort(image, partial = at)[at])
  c(weighted_quantile(ends[1, ], weights, outlying_images),
    weighted_quantile(ends[2, ], weights, 1 - outlying_images))
}

# Of moments with a core; of others, and where the core is a single number, the whole range.
image_core <- function(moments) {
  core <- moments$core
  if (is.null(core) || core[1] == core[2]) moments$range else core
}

#' @export
survey_data.gps_occlusive <- function(model, y, moments, weights = NULL) {
  moments$core <- core_range(y, weights)
  moments
}

#' @export
upgrade_options.gps_occlusive <- function(model, options) {
  values <- options$options
  if (is.null(values)) return(options)
  new <- model$options
  numbered <- setdiff(names(new), "clutter")
  if (length(values) == length(numbered)) {
    new[numbered] <- as.list(values)
    return(new)
  }
  # Those of 0.1.0 had the share of clutter in the place of what says whose it is.
  kept <- c(1:6, 8:13)
  new[numbered[kept]] <- as.list(values[kept])
  new[c("core_lowest", "core_half")] <- list(model$lowest, exp(-values[8] / model$n_channels) / 2)
  new
}

# Log of eps u, pixels x points.
clutter_weights <- function(model, params, y) {
  options <- model$options
  beyond <- pmax(abs(y - options$core_lowest - options$core_half) - options$core_half, 0) *
    options$tail_rate
  n_pixels <- prod(model$grid)
  lost <- 0
  for (c in seq_len(model$n_channels)) {
    lost <- lost + log1p(beyond[(c - 1) * n_pixels + seq_len(n_pixels), , drop = FALSE])
  }
  log(clutter_of(model, params)) + options$log_density - (tail_power + 1) * lost
}

# log((1 - eps) N + eps u) from the logs of N and of eps u.
with_clutter <- function(model, params, own, free) {
  own <- log1p(-clutter_of(model, params)) + own
  pmax(own, free) + log1p(exp(-abs(own - free)))
}
