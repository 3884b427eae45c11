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
  if (!is.null(task$batches)) warn_batches(task)
  facts <- doubt_data(task$model, task)
  # Where zero lies is told once, and by the model if it has its own view of it.
  if (!isFALSE(facts)) warn_baseline(task, is_picture)
  facts
}

warn_single <- function(task) {
  is_learned <- inherits(task$selector, "gps_selector_gp")
  if (n_points(task$y) == 1 && is_learned && task$n_selected < task$model$n_latents) {
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
  wide <- if (!is_picture) advise_wide(n_points(task$y), n_dims(task$y))
  gps_warn(sprintf("There are more %ss (%d) than data points (%d): some can be of no use.%s",
                   latent_word(task$model), n_choices, n_points(task$y),
                   paste(wide, collapse = "")))
}
