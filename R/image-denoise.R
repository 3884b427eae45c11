# Denoising: sparse coding of the overlapping patches of a noisy image, whose posterior means are
# averaged.

#' Remove noise from an image
#'
#' Learns components from patches of the noisy image itself, takes the posterior mean of every
#' patch, and averages these where patches overlap.
#'
#' @section Method:
#' With `y_k` the pixels of patch k less their mean `m_k`, a sparse coding model is fitted to
#' `n_train` of the `y_k`. The noise variance is known, `sigma2 = sd^2` (but not below the
#' model's floor), and is not learned: what the selected components cannot explain would be taken
#' for noise. The estimate of a pixel is the
#' mean, over all patches k that cover it, of `m_k` and the posterior mean of the signal `W s` under
#' the truncated posterior (equation 2 of the paper). It is the method of Elad and Aharon (2006,
#' *IEEE Transactions on Image Processing* 15, 3736) with an average over the sets of components
#' that may be on in place of the best one.
#'
#' What the components leave of a patch, `e_k = y_k - <W s>_k`, is noise and, where a patch is rich,
#' signal. With `remainder = TRUE` the signal in it is taken to be Gaussian, with a variance of its
#' own for each patch, and the estimate also has its mean,
#' `e_k max(0, 1 - sd^2 (d + sqrt(2 d)) / |e_k|^2)`, where d is one less than the number of pixels:
#' the rule of James and Stein (1961), but nothing unless the squares exceed those expected of noise
#' by a standard deviation. With `sd` near 0 the image stays as it is.
#'
#' @section Colour:
#' Of an image in colour, height x width x 3, a patch has all three channels, and a component has a
#' pattern and its colours. `m_k` is a mean for each channel, and d is 3 less than the number of
#' values of a patch. The noise is independent and of one variance in all channels.
#'
#' @section Unknown noise:
#' With `sd = NULL` the noise is estimated by the median absolute value of the differences of
#' differences `(y[i, j] - y[i + 1, j] - y[i, j + 1] + y[i + 1, j + 1]) / 2`, of all channels
#' together, divided by 0.6745, the median absolute value of a standard normal: the estimator of
#' Donoho and Johnstone (1994, *Biometrika* 81, 425-455) from the finest diagonal coefficients of
#' the Haar wavelet. Edges are rare and change a median little, but a fine texture everywhere is
#' taken for noise, so that the estimate is rather too large than too small: 26.3 for noise of 25
#' on [ascent], 6.8 for noise of 5. Noise that was smoothed, as in JPEG files, is taken for less
#' than it is.
#'
#' @section Alternatives among components:
#' Components of natural images resemble each other: the latents with the largest affinities are
#' often alternatives, of which a patch needs one. Greedy screening fills the slots by what a latent
#' adds to those already selected ([gps_screen()]): it leaves less to the remainder, but takes
#' several times as long.
#'
#' @param image numeric matrix of finite values, height x width, or in colour array
#'   height x width x 3: levels in any units, with Gaussian noise that is independent and of equal
#'   variance in all pixels.
#' @param sd standard deviation of the noise in the units of the image, in \[1e-150, 1e150\]; NULL:
#'   estimated from the image. One that is hardly in these units has a warning of class
#'   `gps_warning_sd`.
#' @param model a model whose noise variance is `sigma2`; NULL: [model_spike_slab()] with four
#'   latents for each pixel of a patch, but with at least 20 patches to learn from for each.
#' @param selector a selector, see [selector_gp()]. Screening adds nothing to the result here.
#' @param size height and width of a patch: one whole number, or two.
#' @param step pixels from one patch to the next, one whole number or two (down, across), at most
#'   `size`. Larger steps take less time and memory, and leave more noise.
#' @param n_selected,max_active latents that may be on for a patch, and how many at once, see
#'   [gps_fit()]; NULL: 8 and 4, or as many as there are.
#' @param n_train number of patches to learn from, a whole number of at least 1, sampled by R's
#'   generator; all where there are fewer.
#' @param control see [gps_control()]. Its `progress` also tells how many patches are denoised.
#' @param remainder TRUE: the estimate has what the components explain and, of the remainder, what
#'   exceeds noise; FALSE: only what the components explain.
#' @param start see [gps_fit()]: for instance a fit of patches of the same size from other images.
#' @param x,object a denoised image.
#' @param clean NULL, or the image without noise.
#' @param peak largest value that a pixel can have, above 0; NULL: 1 where `clean` lies within 0 and
#'   1, else 255. One that does not fit the levels of `clean` has a warning.
#' @param main for `plot()`: one title over the pictures, or three; NULL: what they are, "": none.
#' @param col for `plot()`: colours from the least value to the largest; NULL: black to white.
#' @param key for `plot()`: FALSE leaves out the scales of grey levels.
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return a list of class `gps_denoised` with `image`, the denoised matrix or array; `noisy`, as
#'   given; `sd`, and `estimated`, whether it is; `size`, `step`; and `fit`, the [gps_fit()] of the
#'   patches learned from, as images.
#'
#'   `fitted()` is the denoised image, `residuals()` what was removed: both as the image was, in its
#'   units.
#'
#'   `plot()` shows the noisy and the denoised image beside what was removed or, where it is given,
#'   the clean image; then with the peak signal-to-noise ratio
#'   `10 log10(peak^2 / mean squared error)` in dB. It returns the three matrices invisibly, as a
#'   list.
#' @seealso [extract_patches()], [ascent]
#' @concept image denoising
#' @concept noise reduction
#' @concept noise level estimation
#' @examples
#' set.seed(1)
#' clean <- ascent[101:140, 1:40]
#' noisy <- clean + rnorm(1600, sd = 25)
#' denoised <- gps_denoise(noisy, 25, size = 6,
#'                         control = gps_control(max_iter = 5, n_starts = 1))
#' denoised
#' plot(denoised, clean)
#' sd(residuals(denoised))
#' gps_denoise(noisy, size = 6, control = gps_control(max_iter = 2, n_starts = 1))$sd
#' @export
gps_denoise <- function(image, sd = NULL, model = NULL, selector = selector_handcrafted(FALSE),
                        size = 8, step = 1, n_selected = NULL, max_active = NULL, n_train = 20000,
                        control = gps_control(max_iter = 20, n_starts = 1, mend = FALSE),
                        remainder = TRUE, start = NULL, ...) {
  refuse_unknown(further(...), names(formals(gps_denoise)), c("control", "selector", "noisy"))
  need_given()
  noisy <- check_image(image)
  estimated <- is.null(sd)
  sd <- if (estimated) noise_level(noisy) else check_number(sd, "sd", 1e-150, 1e150)
  size <- check_patch_size(size, dim(noisy)[1:2], missing(size))
  step <- check_pair(step, "step", upper = size)
  check_flag(remainder, "remainder")
  patches <- extract_patches(noisy, size, step, as = "array")
  centre <- channel_means(patches)
  patches <- patches - centre
  check_contrast(patches)
  if (!estimated) doubt_sd(sd, noisy)
  n_train <- min(check_count(n_train, "n_train"), nrow(patches))
  train <- take_along(patches, 1, sort(sample.int(nrow(patches), n_train)))
  if (is.null(model)) model <- model_spike_slab(max(1, min(4 * prod(size), n_train %/% 20)))
  check_noise_model(model)
  if (inherits(start, "gps_fit")) start <- check_fit(start)
  if (is.null(n_selected)) n_selected <- default_slots(selector, model)
  n_selected <- plain_numbers(n_selected)
  if (is.null(max_active)) max_active <- if (is_number(n_selected)) min(4, n_selected)
  sigma2 <- max(sd^2, lowest_sigma2(matrix(train, n_train)))
  fit <- unless_interrupted(fit_known_noise(train, model, sigma2, selector, n_selected, max_active,
                                            control, start))
  signal <- with_any_size(stats::predict(fit, patches, "response", progress = control$progress))
  if (remainder) signal <- signal + shrink_remainder(patches - signal, sd)
  cleaned <- assemble_patches(signal + centre, dim(noisy), positions = attr(patches, "positions"))
  structure(list(image = cleaned, noisy = noisy, sd = sd, estimated = estimated, size = size,
                 step = step, fit = fit), class = "gps_denoised")
}

# Mean of each patch, which an array of patches can take off; in colour of each of its channels.
channel_means <- function(patches) {
  axes <- dim(patches)
  if (length(axes) == 3) return(rowMeans(patches))
  n_pixels <- prod(axes[2:3])
  values <- array(patches, c(axes[1], n_pixels, axes[4]))
  array(vapply(seq_len(axes[4]), function(k) rep(rowMeans(values[, , k, drop = FALSE]), n_pixels),
               numeric(axes[1] * n_pixels)), axes)
}

# Standard deviation of the noise, by the finest diagonal coefficients of the Haar wavelet.
noise_level <- function(image) {
  if (any(dim(image)[1:2] < 2)) {
    gps_abort("`sd` must be given: an image of one row or column does not tell its noise.")
  }
  level <- median_noise(image)
  if (level >= 1e-150 && level <= 1e150) return(level)
  gps_abort(paste("`sd` must be given: no noise is found in `image`, half of whose pixels are as",
                  "their neighbours tell."))
}

# Noise spreads an image by its own standard deviation at least. Levels up to 255 with noise below 1
# that an estimate does not find are of another unit than it.
doubt_sd <- function(sd, image) {
  spread <- stats::sd(image)
  levels <- sprintf("levels from %s to %s", plain_number(min(image), 3),
                    plain_number(max(image), 3))
  if (spread > 0 && sd > 1.5 * spread) {
    gps_warn(sprintf(paste("`sd` = %s is more than all the spread of `image`, %s (%s): is it in",
                           "its units?"), plain_number(sd, 3), plain_number(spread, 3), levels),
             class = "sd")
  } else if (sd < 1 && max(image) > 50 && min(dim(image)[1:2]) > 1) {
    found <- median_noise(image)
    if (found < 50 * sd || sd < 1e-3) return(invisible())
    gps_warn(sprintf(paste("`sd` = %s is far below the noise that `image` seems to have, %s",
                           "(%s): is it in its units?"), plain_number(sd, 3),
                     plain_number(found, 3), levels), class = "sd")
  }
}

# The noise that differences of differences between neighbouring pixels, of all channels, tell by
# their median.
median_noise <- function(image) {
  values <- array(image, c(dim(image)[1:2], count_channels(dim(image))))
  down <- values[-1, , , drop = FALSE] - values[-nrow(values), , , drop = FALSE]
  differences <- down[, -1, , drop = FALSE] - down[, -ncol(down), , drop = FALSE]
  stats::median(abs(differences)) / 2 / stats::qnorm(0.75)
}

default_slots <- function(selector, model) {
  if (inherits(selector, "gps_selector_full")) model$n_latents else min(8, model$n_latents)
}

# Noise has as many degrees of freedom in a patch as values, less one for each mean that was
# removed.
shrink_remainder <- function(left, sd) {
  freedom <- prod(dim(left)[-1]) - count_channels(dim(left)[-1])
  squares <- rowSums((left / sd)^2)
  left * pmax(0, 1 - (freedom + sqrt(2 * freedom)) / squares)
}

check_patch_size <- function(size, image_dim, is_default = FALSE) {
  if (is_default && any(image_dim < size)) {
    gps_abort(sprintf(paste("`image` has %s pixels, less than a patch of %d x %d: give a smaller",
                            "`size`."), shown_dim(image_dim), size, size))
  }
  size <- check_pair(size, "size", upper = image_dim)
  if (prod(size) == 1) gps_abort("`size` must be at least two pixels: one is its own mean.")
  size
}

check_contrast <- function(patches) {
  largest <- max(abs(patches))
  if (largest > largest_value || (largest > 0 && largest < 1e-150)) {
    gps_abort("`image` has differences that are too large or too small to square: rescale it.")
  }
}

check_noise_model <- function(model) {
  if (is.numeric(model)) {
    gps_abort(sprintf("`model` must be %s, not %s. The height and width of patches is `size`.",
                      "a model such as model_spike_slab(64)", describe_value(model)))
  }
  check_model(model)
  if (!"sigma2" %in% names(model$params)) {
    gps_abort(sprintf(paste("`model` must have a noise variance `sigma2`, which the model %s has",
                            "not: take model_spike_slab(), model_binary_sparse() or",
                            "model_max_spike_slab()."), quoted(model$name)))
  }
}

# A fit of a model whose noise variance is not learned. The M-steps of all other parameters are the
# same whatever sigma2 is, so that EM stays EM. The model of the fit is the one that was given.
fit_known_noise <- function(y, model, sigma2, selector, n_selected, max_active, control, start) {
  plain <- class(model)
  model$known_sigma2 <- sigma2
  class(model) <- c("gps_known_noise", plain)
  if (inherits(start, "gps_fit")) {
    start$params$sigma2 <- sigma2
  } else if (is.list(start) && !is.data.frame(start)) {
    start$sigma2 <- sigma2
  }
  fit <- gps_fit(y, model, selector, n_selected, max_active, control, start)
  class(fit$model) <- plain
  # No call makes these patches anew, nor a fit of known noise.
  fit["call"] <- list(NULL)
  fit$model$known_sigma2 <- NULL
  fit
}

#' @export
gps_init.gps_known_noise <- function(model, y) {
  params <- NextMethod()
  params$sigma2 <- model$known_sigma2
  params
}

#' @export
gps_mstep.gps_known_noise <- function(model, params, stats) {
  result <- NextMethod()
  result$params$sigma2 <- model$known_sigma2
  result
}

# What is known is on no floor.
#' @export
find_degenerate.gps_known_noise <- function(model, params, found) character()

#' @rdname gps_denoise
#' @export
fitted.gps_denoised <- function(object, ...) {
  refuse_unknown(further(...), character())
  check_denoised(object)$image
}

#' @rdname gps_denoise
#' @export
residuals.gps_denoised <- function(object, ...) {
  refuse_unknown(further(...), character())
  object <- check_denoised(object)
  object$noisy - object$image
}

#' @rdname gps_denoise
#' @export
print.gps_denoised <- function(x, ...) {
  refuse_shown(further(...))
  x <- check_denoised(x)
  n_patches <- nrow(place_patches(dim(x$image), x$size, x$step))
  lines <- c(
    Noise = sprintf("sd %s%s; sd of what was removed %s", plain_number(x$sd, 4),
                    if (isTRUE(x$estimated)) " (estimated)" else "",
                    plain_number(stats::sd(x$noisy - x$image), 4)),
    Patches = sprintf("%d of %s pixels, %d to learn from", n_patches, shown_dim(x$size),
                      x$fit$n_points),
    describe_fit(x$fit)[c("Model", "Selector", "Selected", "Status")]
  )
  cat(sprintf("Denoised image of %s pixels%s\n", shown_dim(dim(x$image)[1:2]),
              if (length(dim(x$image)) == 3) " in colour" else ""), format_lines(lines), sep = "")
  invisible(x)
}

#' @rdname gps_denoise
#' @export
plot.gps_denoised <- function(x, clean = NULL, peak = NULL, main = NULL, col = NULL, key = TRUE,
                              ...) {
  refuse_unknown(further(...), c("clean", "peak", "main", "col", "key"))
  x <- check_denoised(x)
  if (!is.null(peak)) peak <- check_number(peak, "peak", 0, open = TRUE)
  look <- new_look(main, col, key, n_titles = 3)
  limits <- widen(range(x$image))
  titles <- c("noisy", "denoised", "clean")
  removed <- x$noisy - x$image
  ranges <- list(limits, limits, if (is.null(clean)) c(-3, 3) * x$sd else limits)
  if (is.null(clean)) {
    titles[3] <- sprintf("removed (sd %.3g)", stats::sd(removed))
  } else {
    clean <- check_image(clean, "clean")
    if (!identical(dim(clean), dim(x$image))) {
      abort_value(clean, "clean", sprintf("an image of %s", shown_dim(dim(x$image))))
    }
    peak <- peak_of(clean, peak)
    ratios <- c(peak_ratio(x$noisy, clean, peak), peak_ratio(x$image, clean, peak))
    titles[1:2] <- sprintf("%s, %.1f dB", titles[1:2], ratios)
  }
  shown <- list(noisy = x$noisy, denoised = x$image, last = if (is.null(clean)) removed else clean)
  names(shown)[3] <- if (is.null(clean)) "removed" else "clean"
  draw_figure(draw_photographs(shown, ranges, title_of(look, titles), look))
  invisible(shown)
}

# Nothing cut, edited or foreign is shown.
check_denoised <- function(x) {
  is_image <- function(part) {
    is.double(part) && all(is.finite(part)) &&
      (length(dim(part)) == 2 || length(dim(part)) == 3 && dim(part)[3] == 3)
  }
  is_pair <- function(part) is.integer(part) && length(part) == 2 && !anyNA(part) && all(part > 0)
  is_sound <- is.list(x) && is_image(x$image) && is_image(x$noisy) &&
    identical(dim(x$image), dim(x$noisy)) && is_number(x$sd) && x$sd > 0 && x$sd < Inf &&
    is_pair(x$size) && is_pair(x$step) && all(x$size <= dim(x$image)[1:2]) && all(x$step <= x$size)
  if (!is_sound) gps_abort("`x` is not as gps_denoise() made it.")
  x$fit <- check_fit(x$fit)
  x
}

# The largest value that a pixel can have.
peak_of <- function(clean, peak) {
  largest <- max(abs(clean))
  if (is.null(peak)) return(if (min(clean) >= 0 && largest <= 1) 1 else 255)
  if (largest > 0 && (largest > peak || peak > 50 * largest)) {
    gps_warn(sprintf("`peak` = %s, but the levels of `clean` go up to %s: is it in their units?",
                     plain_number(peak, 4), plain_number(largest, 3)), class = "peak")
  }
  peak
}

# Peak signal-to-noise ratio in dB.
peak_ratio <- function(image, clean, peak) 10 * log10(peak^2 / mean((image - clean)^2))

# Pictures side by side, or below each other on what is higher than wide, each with its title right
# above it and its scale of grey levels. Pictures in colours have no scale.
draw_photographs <- function(shown, ranges, titles, look) {
  size <- dim(shown[[1]])[1:2]
  if (length(dim(shown[[1]])) == 3) {
    if (!is.null(look$col)) gps_abort("`col` is for pictures in grey levels.")
    look$key <- FALSE
  }
  figure <- graphics::par("fin")
  n <- length(shown)
  side <- if (look$key) max(vapply(ranges, key_lines, 1)) else 0.5
  scale <- function(across, down) {
    room <- figure / c(across, down) - line_inches() * c(side + 0.5, 2.3)
    min(room / rev(size))
  }
  is_row <- scale(n, 1) >= scale(1, n)
  part <- below_title(look)
  parts <- if (is_row) split_part(rep(1, n), 1, part) else split_part(1, rep(1, n), part)
  # Titles are equally large.
  look$title_cex <- fit_text(titles, 0.95 * diff(parts[[1]][1:2]) * figure[1], 1.1, 2)
  for (i in seq_len(n)) {
    in_part(parts[[i]], c(0.5, 0.5, 1.8, side), {
      draw_photograph(shown[[i]], ranges[[i]], titles[i], look)
    })
  }
}

# Light on a screen: the lower limit is black, the upper one white, unless `col` says otherwise.
draw_photograph <- function(values, limits, title, look) {
  ramp <- ramp_of(given_or(look$col, c("black", "white")), 256)
  paint <- function(values) {
    level <- pmin(pmax((values - limits[1]) / diff(limits), 0), 1)
    if (length(dim(values)) == 3) return(grDevices::as.raster(level))
    grDevices::as.raster(matrix(ramp[1 + round(255 * level)], nrow(values)))
  }
  # The picture fills the panel one way, and stands at its top on the left.
  room <- graphics::par("pin")
  size <- dim(values)[2:1]
  size <- size * min(room / size)
  graphics::plot.window(c(0, room[1]), c(0, room[2]), xaxs = "i", yaxs = "i")
  graphics::rasterImage(paint(values), 0, room[2] - size[2], size[1], room[2],
                        interpolate = FALSE)
  panel_title(title, lines = 0.4, cex = look$title_cex)
  if (look$key) draw_key(limits, paint, size[1], room[2] - c(size[2], 0))
}
