# What a fit says of its data before it begins.

# Images of components with locations are constant where all their pixels are; one image is not.
is_constant <- function(task) {
  if (has_images(task$model)) diff(task$moments$range) == 0 else task$moments$variance <= 0
}

# `is_picture`: whether the data points are pictures, as arrays, lists or patches are.
# `is_doubted`: whether rows are told to be other things than data points, which says why they are
# few.
warn_data <- function(task, is_picture, is_doubted = FALSE) {
  if (!is_doubted) warn_single(task)
  if (is_constant(task)) gps_warn(describe_constant(task), class = "degenerate")
  if (!is_doubted) warn_surplus(task, is_picture)
  if (!is_picture && !is_doubted) {
    warn_doubles(task)
    warn_uneven(task)
  }
  if (!is.null(task$batches)) warn_batches(task)
  facts <- doubt_data(task$model, task)
  # Where zero lies is told once, and by the model if it has its own view of it.
  if (!isFALSE(facts)) warn_baseline(task, is_picture)
  facts
}

warn_single <- function(task) {
  if (n_points(task$y) == 1 && learns_ranking(task)) {
    gps_warn(paste("One data point cannot teach a selector, whose affinities are the prior mean,",
                   "0: give more, or take selector_handcrafted() or selector_full()."))
  }
}

# What comes of data without any spread.
describe_constant <- function(task) {
  why <- if (n_points(task$y) == 1) "it has one data point" else "its data points are all the same"
  what <- if ("sigma2" %in% names(task$model$params)) {
    "the noise variance will be at its floor"
  } else {
    sprintf("there is nothing in it for %ss to find", choice_word(task$model))
  }
  sprintf("`y` is constant: %s, and %s. Was it read as it should be?", why, what)
}

# More latents than data points.
warn_surplus <- function(task, is_picture) {
  n_choices <- count_choices(task$model)
  if (n_choices <= n_points(task$y)) return(invisible())
  wide <- advise_few(n_points(task$y), n_dims(task$y), if (is_picture) n_dims(task$y))
  gps_warn(sprintf("There are more %ss (%d) than data points (%d): some can be of no use.%s",
                   latent_word(task$model), n_choices, n_points(task$y), wide))
}

# Columns that are the same, of mixtures that take columns for independent within a cluster. Full
# covariances have no width there, which is told at the end.
warn_doubles <- function(task) {
  kind <- task$model$settings$covariance
  kind <- if (inherits(task$model, "gps_poisson_mixture")) "Poisson" else
    if (is_one_of(kind, c("diagonal", "spherical"))) kind
  if (is.null(kind)) return(invisible())
  first <- equal_columns(task)
  doubled <- unique(first[first < seq_along(first)])
  if (length(doubled) == 0) return(invisible())
  equal <- which(first == doubled[1])
  words <- sub("^c", "C", column_words(equal, task$columns))
  others <- length(doubled) - 1
  gps_warn(sprintf("%s are the same: %s clusters count it %s. %s one.%s", words, kind,
                   if (length(equal) == 2) "twice" else sprintf("%d times", length(equal)),
                   if (length(equal) == 2) "Drop" else "Keep",
                   if (others == 0) "" else if (others == 1) " Another one has doubles, too." else
                     sprintf(" %d others have doubles, too.", others)),
           class = "columns")
}

# The share of all spread from which on one column leaves nothing to see of the others.
uneven_share <- 0.999

# One column that has nearly all the spread, of models with one variance for all columns.
warn_uneven <- function(task) {
  model <- task$model
  is_spherical <- identical(model$settings$covariance, "spherical")
  if (!is_spherical && !all(c("W", "sigma2") %in% names(model$params))) return(invisible())
  variances <- task$moments$variances
  at <- which.max(variances)
  others <- sum(variances[-at])
  if (others <= 0 || variances[at] < uneven_share * (variances[at] + others)) return(invisible())
  what <- if (is_spherical) "spherical clusters have" else sprintf("%s() has", model_maker(model))
  gps_warn(sprintf(paste(
    "Nearly all the spread of `y` is that of %s (standard deviation %s, of the others %s on",
    "average), but %s one variance for all columns and hardly see%s the others. In another unit",
    "they count: scale(y) gives all the same spread%s. Are there values far from all others, such",
    "as codes for missing ones?"
  ), column_words(at, task$columns), plain_number(sqrt(variances[at]), 3),
  plain_number(sqrt(others / (length(variances) - 1)), 3), what, if (is_spherical) "" else "s",
  if (is_spherical) ", and \"diagonal\" covariances have a variance for each" else ""),
  class = "units")
}

# Of each column the number of the first that is the same, in most cases its own. Only where columns
# have the same mean and variance are the data looked at.
equal_columns <- function(task) {
  moments <- task$moments
  first <- seq_along(moments$centre)
  varied <- which(moments$variances > 0)
  key <- paste(moments$centre, moments$variances)[varied]
  like <- varied[match(key, key)]
  later <- varied[like < varied]
  like <- like[like < varied]
  if (length(later) == 0) return(first)
  is_equal <- Reduce(`&`, map_blocks(task, function(task, block) {
    y <- gappy_data(task$y, block)
    vapply(seq_along(later), function(i) identical(y[later[i], ], y[like[i], ]), NA)
  }))
  first[later[is_equal]] <- like[is_equal]
  first
}
