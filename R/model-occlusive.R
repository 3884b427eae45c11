# Model E of the paper: components anywhere in an image that occlude each other. The numerics are in
# src/model_occlusive*.c, the repairs in model-occlusive-mend.R.

#' Components that occlude each other, anywhere in an image
#'
#' Each component is a patch of features with a mask, smaller than the image, that may stand at any
#' position; where several cover a pixel, one of them owns it. Model E of the paper, section 4.3
#' (invariant exclusive component analysis).
#'
#' @section Generative model:
#' `s_h ~ Bernoulli(pi_h)` independently for h = 1..K. A component that is on has a position `x_h`,
#' uniform over all pixels; it is that of its window's top left corner, and windows go on at the
#' opposite edge of the image. Each pixel d has exactly one owner: component h with probability
#' `o_h / (1 + sum o)` and the background with `1 / (1 + sum o)`, the sums over the components
#' that cover d, with odds `o = alpha / (1 - alpha)` at the component's pixel that lies on d. Then
#' `y_d ~ (1 - eps) N(w_h, sigma2 I) + eps u` in all channels, with `B` in place of `w_h` where the
#' background is the owner: a share eps of the pixels, `clutter`, has any colour, whoever owns them.
#' A component that is alone owns its pixel with probability `alpha`.
#'
#' The density u of clutter is a product over the channels. In each it is `0.75 / r` in a range of
#' width r that holds the bulk of the data, and `0.75 / r (1 + 2 d / r)^-4` at a distance d from
#' that range, so that it integrates to one and is nowhere zero. The range is the one in which 95 of
#' 100 images have all but half a percent of their numbers at either end. Noise variances that a fit
#' begins with and its limits are shares of r: neither pixels that are hot or dead nor a few images
#' that are far off change them.
#'
#' @section States:
#' A latent is a component at a position: number `pixel + height width (h - 1)`, with pixels counted
#' down the columns. States are all subsets of the `n_selected` selected latents with at most
#' `max_active` on, the empty one included; one that has a component twice is impossible.
#'
#' @section E-step:
#' Exact on these states, in ratios to the background: only pixels that a component covers are
#' touched; owners and clutter are summed out pixel by pixel. Without clutter, or with a noise
#' variance so small that ratios leave the range of numbers, it is done in logs, which takes several
#' times as long. Screening (see [gps_screen()]) has gains in single precision.
#'
#' @section M-step:
#' All expectations are of pixels that are no clutter. `w` is the mean of the data that a
#' component's pixel owned (as it was below 0.001 of a pixel), `B` that of what the background
#' owned, `sigma2` the expected squared error about both per number, at least `1e-6 r^2` and 1e-13
#' of the data's mean square (subtract what is far from zero), and `pi` the share of the images,
#' kept in \[0.001, 0.9\]. The odds become `A / M`, the expected number of pixels owned over the
#' expected sum of `1 / (1 + sum o)`: this maximises a lower bound that touches at the old odds, so
#' that the bound does not fall; `alpha` is kept in \[0.001, 0.999\]. `clutter` is the expected
#' share of all pixels, kept in \[0.0001, 0.9\]. While a fit explores, `clutter` stays as it began,
#' since all that is not found yet is clutter, and [gps_mend()] moves components back to the middle
#' of their window, and one that nobody uses, or that is another's double, starts anew where the
#' data are explained worst.
#'
#' @section Hand-crafted affinity:
#' After section 4.3: at every position a component is scored by 48 representative pixels, drawn in
#' proportion to `alpha`; a pixel counts as the component's or as not its own, whichever is better.
#' The two best peaks have their exact gain as affinity, all other positions -1e300.
#'
#' @section Differences from the paper:
#' The paper refers to earlier work for the model; exclusive ownership by odds, without a latent for
#' depth, is how this package states it, and so are the M-step and the score above. Where opaque
#' components overlap, each pixel costs log 2 instead of one order of depth for all. Clutter is
#' this package's: without it, components that are not found yet inflate `sigma2` and the
#' background. Were it the background's alone, as in versions before 0.3.0, each background pixel
#' that a component owns would gain `-log(1 - eps)`, and masks would be too large. All floors are
#' this package's, too.
#'
#' @param n_components number of components K, a whole number of at least 1.
#' @param size height and width of a component's window, at most those of the image; best a few
#'   pixels more than the objects.
#' @param image height and width of the images, and optionally the number of channels; NULL: as the
#'   data say, see [gps_fit()]. Pixels are ordered as in `as.vector(image)`, channels last.
#' @param clutter share of the pixels that may have any colour, at least 0 and below 1: where a fit
#'   begins, before the share is learned; 0 stays 0. Named, as in `c(fixed = 0.05)`, it is not
#'   learned; `c(background = 0.05)` is the model of versions before 0.3.0: fixed, uniform on the
#'   range, and of pixels of the background alone. Stored fits of these go on as they were.
#' @param density density of the colours of clutter, the same everywhere, above 0; NULL: u as above.
#' @param background colour of the background, one number or one a channel; NULL: it is learned.
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return a `gps_model`. `coef()` of its fits is a list of `alpha` (K x height x width), `w` (K x
#'   height x width x channels), `pi` (K), `background` (channels), `sigma2` and `clutter`, which
#'   fits of versions before 0.3.0 do not have; in parameters given without it, it is that of the
#'   model. `gps_draw()` gives `latents` as a data frame of `point`, `component`, `row` and
#'   `column`, counted from 1.
#' @seealso [gps_fit()], [simulate_scenes()], `vignette("occlusion")`
#' @concept object discovery
#' @concept image segmentation
#' @concept occlusion
#' @concept translation invariance
#' @examples
#' set.seed(1)
#' scenes <- simulate_scenes(scene_objects(3, size = c(6, 6)), 80, size = c(12, 12), prob = 0.4)
#' fit <- gps_fit(scenes$y, model_occlusive(4, size = c(8, 8)), n_selected = 3,
#'                control = gps_control(max_iter = 40))
#' match_components(fit, scenes)$similarity
#' head(predict(fit, type = "objects"), 3)
#' @export
model_occlusive <- function(n_components, size, image = NULL, clutter = 0.05, density = NULL,
                            background = NULL, ...) {
  refuse_unknown(further(...), names(formals(model_occlusive)))
  need_given()
  n_components <- check_count(n_components, "n_components")
  size <- check_sizes(size, "size", 2, "c(height, width) of a component")
  if (!is.null(image)) image <- check_image_dim(image, size)
  clutter <- check_clutter(clutter)
  if (!is.null(density)) density <- check_number(density, "density", 0, open = TRUE)
  window <- c("components", "rows", "cols")
  form <- clutter_form(clutter)
  is_shared <- form != "background"
  model <- new_native_model(
    "gps_occlusive", "Occlusive components", n_components,
    params = c(list(alpha = window, w = c(window, "channels"), pi = "components",
                    background = "channels", sigma2 = "one"), if (is_shared) c(clutter = "one")),
    ranges = list(alpha = open_range(0, 1), pi = open_range(0, 1), sigma2 = open_range(0, Inf),
                  clutter = c(0, 1 - 1e-10)),
    prepared = list(odds = "padded", log_odds = "padded", features = c("padded", "channels"),
                    prior = "priors", floats = "floats"),
    stats = list(count = "one", on = "components", owned = c("rows", "cols", "components"),
                 owned_data = c("rows", "cols", "channels", "components"),
                 owned_square = c("rows", "cols", "components"),
                 exposure = c("rows", "cols", "components"), background_count = "one",
                 background_data = "channels", background_square = "one",
                 removal = c("rows", "cols", "components")),
    events = c("sigma2_floor", "pi_clamped"),
    rule = state_rule(),
    settings = list(size = paste(size, collapse = " x "), clutter = format_clutter(clutter)),
    symbol = "gps_model_occlusive",
    gauge = c(if (!is.null(background)) "channels", if (form == "fixed") "one"),
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

# Of an image's height or width.
most_pixels <- 100000L

# Whole numbers of at least 1, `n` of them (or one of several n).
check_sizes <- function(x, arg, n, what) {
  x <- plain_numbers(x)
  is_sound <- is.numeric(x) && is.null(dim(x)) && length(x) %in% n && all(is.finite(x)) &&
    all(x == round(x)) && all(x >= 1) && all(x <= most_pixels)
  if (!is_sound) {
    most <- if (is.numeric(x) && isTRUE(any(x > most_pixels))) {
      sprintf("between 1 and %d", most_pixels)
    } else {
      "of at least 1"
    }
    is_side <- is_count(x) && 2 %in% n
    gps_abort(sprintf("`%s` must be whole numbers %s, %s, not %s.%s", arg, most, what,
                      describe_value(x),
                      if (is_side) sprintf(" A square is c(%d, %d).", as.integer(x), as.integer(x))
                      else ""))
  }
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
  background <- plain_numbers(background)
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

# 512 MB of parameters, of which a fit has several copies.
most_params <- 2^26

# A background that the model fixes is no parameter.
#' @export
check_joint.gps_occlusive <- function(model, params, arg) {
  need_fixed(model$background, params$background, paste0(arg, "$background"))
  if (clutter_form(model$clutter) == "fixed") {
    need_fixed(unname(model$clutter), params$clutter, paste0(arg, "$clutter"))
  }
}

need_fixed <- function(fixed, given, arg) {
  if (is.null(fixed) || is.null(given) || all(given == rep_len(fixed, length(given)))) {
    return(invisible())
  }
  gps_abort(sprintf("`%s` must be %s, as the model fixes it, not %s.", arg,
                    paste(fixed, collapse = ", "), paste(plain_number(given), collapse = ", ")))
}

#' @export
gps_bind.gps_occlusive <- function(model, y) {
  moments <- if (inherits(y, "gps_moments")) y else survey_data(model, t(y), as_moments(y))
  shape <- image_shape(model, moments$n_dims)
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
  n_params <- as.double(model$n_components) * prod(model$size) * (n_channels + 1)
  if (n_params > most_params) {
    gps_abort(sprintf("`n_components` = %d with windows of %s would have %s parameters, %s %s.",
                      model$n_components, paste(model$size, collapse = " x "),
                      format_number(n_params), "more than", format_number(most_params)))
  }
  square <- mean_square(moments)
  core <- image_core(moments)
  extent <- range_extent(core)
  density <- clutter_density(model, core[1], extent, n_channels)
  model$n_latents <- as.integer(n_pixels * model$n_components)
  model$grid <- shape[1:2]
  model$n_channels <- n_channels
  model$extent <- extent
  model$noise_range <- noise_range * extent
  model$lowest <- core[1]
  padded <- function(multiple) multiple * ceiling(model$size[1] / multiple) * model$size[2]
  sizes <- c(components = model$n_components, rows = model$size[1], cols = model$size[2],
             channels = n_channels, padded = padded(8) * model$n_components,
             priors = 2 * model$n_components + 1,
             floats = padded(16) / 2 * (n_channels + 1) * model$n_components)
  form <- clutter_form(model$clutter)
  options <- list(
    height = shape[1], width = shape[2], n_channels = n_channels,
    n_components = model$n_components, n_rows = model$size[1], n_cols = model$size[2],
    is_shared = form != "background", log_density = density[1],
    is_fixed = !is.null(model$background), floor_sigma2 = max(1e-6 * extent^2, 1e-13 * square),
    pi_lowest = pi_limits[1], pi_highest = pi_limits[2], alpha_lowest = lowest_alpha,
    is_learned = form == "learned", clutter_lowest = clutter_limits[1],
    clutter_highest = clutter_limits[2], core_lowest = density[2], core_half = density[3],
    tail_rate = density[4]
  )
  fixed <- if (form == "background") list(clutter = unname(model$clutter))
  bind_native(model, moments$n_dims, sizes = sizes,
              options = c(lapply(options, as.double), fixed))
}

# Masks as new components have them: an ellipse that may own, the rest hardly.
new_mask <- function(size) {
  along <- lapply(size, function(n) ((seq_len(n) - (n + 1) / 2) / max(n / 2 - 1, 0.5))^2)
  ifelse(outer(along[[1]], along[[2]], `+`) <= 1, new_alpha, low_alpha)
}
new_alpha <- 0.55
low_alpha <- 0.05

new_prob <- function(n_components) min(0.5, 2 / n_components)

# Pixels (1-based) of the windows whose corners are at `pixel`: window x corners.
window_pixels <- function(model, pixel) {
  row <- outer(seq_len(model$size[1]) - 1, (pixel - 1) %% model$grid[1], `+`) %% model$grid[1]
  col <- outer(seq_len(model$size[2]) - 1, (pixel - 1) %/% model$grid[1], `+`) %% model$grid[2]
  inside <- expand.grid(row = seq_len(model$size[1]), col = seq_len(model$size[2]))
  1 + row[inside$row, , drop = FALSE] + model$grid[1] * col[inside$col, , drop = FALSE]
}

# The data of one point in a window, window x channels.
cut_window <- function(model, point, pixel) {
  matrix(point, ncol = model$n_channels)[window_pixels(model, pixel), , drop = FALSE]
}

# Sums of x [pixels x n] over the window at every position.
box_sums <- function(model, x) {
  n <- ncol(x)
  height <- model$grid[1]
  width <- model$grid[2]
  x <- array(x, c(height, width, n))
  rows <- 0
  for (i in seq_len(model$size[1]) - 1) {
    rows <- rows + x[(seq_len(height) - 1 + i) %% height + 1, , , drop = FALSE]
  }
  sums <- 0
  for (j in seq_len(model$size[2]) - 1) {
    sums <- sums + rows[, (seq_len(width) - 1 + j) %% width + 1, , drop = FALSE]
  }
  matrix(sums, height * width, n)
}

# Sums of squares over channels, pixels x n, of deviations [D x n].
pixel_energy <- function(model, deviation) {
  n_pixels <- prod(model$grid)
  energy <- 0
  for (c in seq_len(model$n_channels)) {
    energy <- energy + deviation[(c - 1) * n_pixels + seq_len(n_pixels), , drop = FALSE]^2
  }
  energy
}

# Deviations in units of the data's range, by a power of two, which rounds nothing. Beyond the range
# they hardly grow: a hot pixel is no object.
bounded_deviation <- function(model, deviation) {
  size <- abs(deviation) / 2^round(log2(model$extent))
  sign(deviation) * (pmin(size, 1) + 1e-3 * log1p(size))
}

# Images that are looked at for a new component, at most.
searched_images <- 500L

# Windows around what differs most from the background, each from another image as far as there are
# enough. The images that they are from are examples of their component.
#' @export
gps_init.gps_occlusive <- function(model, y, weights = NULL) {
  n_components <- model$n_components
  n_pixels <- prod(model$grid)
  channel <- rep(seq_len(model$n_channels), each = n_pixels)
  background <- if (!is.null(model$background)) {
    rep_len(model$background, model$n_channels)
  } else {
    vapply(seq_len(model$n_channels), function(c) {
      weighted_median(y[, channel == c], if (!is.null(weights)) rep(weights, n_pixels))
    }, 1)
  }
  rows <- sample.int(nrow(y), min(nrow(y), max(searched_images, n_components)))
  chosen <- t(y[rows, , drop = FALSE])
  sums <- box_sums(model, pixel_energy(model, bounded_deviation(
    model, chosen - background[channel]
  )))
  corner <- max.col(t(sums), "first")
  energy <- sums[cbind(corner, seq_along(rows))]
  prob <- energy^2 / max(energy^2, .Machine$double.xmin) + 1e-12
  image <- sample.int(length(rows), n_components, length(rows) < n_components,
                      weigh(prob, weights[rows]))
  windows <- lapply(image, function(n) cut_window(model, chosen[, n], corner[n]))
  params <- list(
    alpha = aperm(array(new_mask(model$size), c(model$size, n_components)), c(3, 1, 2)),
    w = aperm(array(unlist(windows), c(model$size, model$n_channels, n_components)),
              c(4, 1, 2, 3)),
    pi = rep(new_prob(n_components), n_components), background = background,
    sigma2 = (noise_range[1] * model$extent)^2
  )
  params <- complete_params(model, params)
  labels <- data.frame(point = rows[image],
                       latent = as.integer(corner[image] + n_pixels * (seq_len(n_components) - 1)))
  structure(params, labels = labels)
}

#' @export
gps_handcrafted.gps_occlusive <- function(model, params, y) {
  y <- t(y)
  block <- new_block(0, ncol(y))
  t(block_handcrafted(model, block_inputs(model, params, y, block), y, block))
}

#' @export
block_handcrafted.gps_occlusive <- function(model, inputs, y, block, n_threads = 1L) {
  .Call(C_occlusive_scan, model$native, native_problem(model, inputs), y, block, n_threads)
}

#' @export
temper_params.gps_occlusive <- function(model, params, temperature) {
  if (is.null(temperature)) temperature <- screen_noise * model$extent
  params$sigma2 <- max(params$sigma2, temperature^2)
  # What is not found yet is clutter, of which a sharp model knows little.
  if (!is.null(params$clutter)) params$clutter <- max(params$clutter, model$clutter)
  params
}
