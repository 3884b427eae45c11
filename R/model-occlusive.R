# Model E of the paper: components anywhere in an image that occlude each other. The numerics are in
# src/model_occlusive*.c, the repairs in mend-occlusive.R.

#' @export
model_occlusive <- function(n_components, size, image = NULL, clutter = 0.05, density = NULL,
                            background = NULL) {
  n_components <- check_count(n_components, "n_components")
  size <- check_sizes(size, "size", 2, "c(height, width) of a component")
  if (!is.null(image)) image <- check_image_dim(image, size)
  clutter <- check_number(clutter, "clutter", 0, 0.99)
  if (!is.null(density)) density <- check_number(density, "density", 0, open = TRUE)
  window <- c("components", "rows", "cols")
  model <- new_native_model(
    "gps_occlusive", "Occlusive components", n_components,
    params = list(alpha = window, w = c(window, "channels"), pi = "components",
                  background = "channels", sigma2 = "one"),
    ranges = list(alpha = open_range(0, 1), pi = open_range(0, 1), sigma2 = open_range(0, Inf)),
    prepared = list(odds = "padded", log_odds = "padded", features = c("padded", "channels"),
                    prior = "priors", floats = "floats"),
    stats = list(count = "one", on = "components", owned = c("rows", "cols", "components"),
                 owned_data = c("rows", "cols", "channels", "components"),
                 owned_square = c("rows", "cols", "components"),
                 exposure = c("rows", "cols", "components"), background_count = "one",
                 background_data = "channels", background_square = "one"),
    events = c("sigma2_floor", "pi_clamped", "alpha_clamped", "feature_kept"),
    rule = state_rule(),
    settings = list(size = paste(size, collapse = " x "), clutter = clutter),
    symbol = "gps_model_occlusive",
    defaults = model_defaults(n_starts = 1L, tol = 1e-3, anneal = 5, hold = 5L, anneal_over = 8L,
                              screen = gps_screen(), smooth = 1)
  )
  model$n_components <- n_components
  model$size <- size
  model$image <- image
  model$clutter <- clutter
  model$density <- density
  model$background <- if (!is.null(background)) check_background(background)
  model
}

# Whole numbers of at least 1, `n` of them (or one of several n).
check_sizes <- function(x, arg, n, what) {
  is_sound <- is.numeric(x) && is.null(dim(x)) && length(x) %in% n && all(is.finite(x)) &&
    all(x == round(x)) && all(x >= 1) && all(x <= 1e5)
  if (!is_sound) abort_value(x, arg, paste("whole numbers of at least 1,", what))
  as.integer(x)
}

check_image_dim <- function(image, size) {
  image <- check_sizes(image, "image", 2:3, "c(height, width) or c(height, width, channels)")
  if (any(size > image[1:2])) {
    gps_abort(sprintf("`size` must not exceed the image of %s, but is %s.",
                      paste(image[1:2], collapse = " x "), paste(size, collapse = " x ")))
  }
  image
}

check_background <- function(background) {
  if (!is.numeric(background) || length(background) == 0 || !all(is.finite(background))) {
    abort_value(background, "background", "NULL or finite numbers, one or one a channel")
  }
  as.double(background)
}

#' @export
set_image.gps_occlusive <- function(model, image_dim) {
  if (is.null(model$image) && !is.null(image_dim)) {
    model$image <- check_image_dim(image_dim, model$size)
  }
  model
}

# c(height, width, channels) of images with n_dims numbers.
image_shape <- function(model, n_dims) {
  image <- model$image
  if (is.null(image)) {
    gps_abort(paste("`image` of model_occlusive() must be given for data without image",
                    "dimensions: c(height, width)."))
  }
  n_pixels <- prod(image[1:2])
  if (n_dims %% n_pixels != 0 || (length(image) == 3 && n_dims != prod(image))) {
    gps_abort(sprintf("`image` of %s does not fit data with %d columns.",
                      paste(image, collapse = " x "), n_dims))
  }
  c(image[1:2], as.integer(n_dims / n_pixels))
}

# Where the floor of the noise begins and ends while a fit anneals: standard deviations as shares of
# the data's range.
noise_range <- c(0.25, 1e-3)

# Noise by which candidates are screened at least, in the same unit.
screen_noise <- 0.08

# Limits that the M-step keeps: pi and alpha. Wide enough not to act in a fit that goes well.
pi_limits <- c(1e-3, 0.9)
lowest_alpha <- 1e-3

#' @export
gps_bind.gps_occlusive <- function(model, y) {
  shape <- image_shape(model, ncol(y))
  n_channels <- shape[3]
  if (length(model$background) > 1 && length(model$background) != n_channels) {
    gps_abort(sprintf("`background` must be one number or %d, not %d.", n_channels,
                      length(model$background)))
  }
  n_pixels <- prod(shape[1:2])
  if (n_pixels * model$n_components > .Machine$integer.max) {
    gps_abort(sprintf("`n_components` = %d with %d positions each are too many latents.",
                      model$n_components, as.integer(n_pixels)))
  }
  extent <- value_range(y)
  log_density <- if (is.null(model$density)) -n_channels * log(extent) else log(model$density)
  model$n_latents <- as.integer(n_pixels * model$n_components)
  model$grid <- shape[1:2]
  model$n_channels <- n_channels
  model$extent <- extent
  model$noise_range <- noise_range * extent
  padded <- function(multiple) multiple * ceiling(model$size[1] / multiple) * model$size[2]
  sizes <- c(components = model$n_components, rows = model$size[1], cols = model$size[2],
             channels = n_channels, padded = padded(8) * model$n_components,
             priors = 2 * model$n_components + 1,
             floats = padded(16) / 2 * (n_channels + 1) * model$n_components)
  bind_native(model, ncol(y), sizes = sizes, options = list(options = c(
    shape[1:2], n_channels, model$n_components, model$size, model$clutter, log_density,
    as.double(!is.null(model$background)), max(1e-6 * extent^2, 1e-13 * mean(y^2)), pi_limits,
    lowest_alpha
  )))
}

# Of all values; where there is but one its size, and 1 where that is zero.
value_range <- function(y) {
  for (extent in c(diff(range(y)), abs(y[1]), 1)) if (extent > 0) return(extent)
}
#' @export
temper_params.gps_occlusive <- function(model, params, temperature) {
  if (is.null(temperature)) temperature <- screen_noise * model$extent
  params$sigma2 <- max(params$sigma2, temperature^2)
  params
}
