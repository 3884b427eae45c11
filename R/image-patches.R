# Patches of an image, and the image from its patches. Pixels of a patch are ordered as in
# as.vector(patch), column by column.

#' Patches of an image
#'
#' `extract_patches()` cuts rectangles out of an image and lays them out as data points;
#' `assemble_patches()` puts an image together again, each pixel the mean over all patches that
#' cover it.
#'
#' @section Which patches:
#' The top left corners are every `step` pixels down and across, from the first row and column; the
#' last possible row and column are always among them, so that the patches reach all four edges.
#' With `step` at most `size` they cover the whole image, and `assemble_patches()` gives the very
#' image back, to the last bit. Corners run down the columns of the image, like its pixels.
#'
#' @section Colour:
#' An image in colour is an array height x width x 3, as `png::readPNG()` reads it. A patch has all
#' three channels of its pixels, so that what is learned from patches has colours, too.
#'
#' @section From a picture to codes and back:
#' Components of natural pictures are learned best from patches less their means. The chain is: cut
#' the patches, subtract the mean of each, fit, predict, add the means, assemble; the last part of
#' the examples has it. `fitted()` and [predict.gps_fit()] with `type = "response"` give a row for
#' each patch, but not where it was cut: `like = patches` says that. The codes themselves are types
#' `"latent_sparse"` and `"latent_slots"` there. Of many patches some are enough to learn from: rows
#' picked as `patches[1:1000, ]` fit as well, but have lost their size, which `plot(fit, size = 8)`
#' gives back, and `predict(fit, patches - means, type = )` has the codes of all. [gps_denoise()]
#' does all this at once, for a picture with noise.
#'
#' @param image numeric matrix of finite values, height x width, or array height x width x 3.
#' @param size height and width of a patch in pixels: one whole number, or two, at most those of the
#'   image. For `assemble_patches()` NULL: the attribute "size" of `patches`, or of `like`; of an
#'   array, its own; else square.
#' @param step pixels from one patch to the next: one whole number of at least 1, or two (down,
#'   across). 1: all overlapping patches.
#' @param n number of patches to sample without replacement, a whole number between 1 and the number
#'   of all; R's generator governs. NULL: all.
#' @param as "matrix": one patch a row, its pixels ordered as in `as.vector(patch)`; "array":
#'   n x height x width, in colour n x height x width x 3, the form in which [gps_fit()] takes
#'   images and [plot.gps_fit()] draws them even where they are not square.
#' @param patches patches as from `extract_patches()`, or anything computed from them, such as a
#'   reconstruction by [predict.gps_fit()]: matrix n x pixels or array n x height x width, in colour
#'   n x height x width x 3, finite values.
#' @param dim height and width of the image: two whole numbers, or one where it is square. In colour
#'   the channels besides, c(height, width, 3), which an array of patches tells by itself.
#' @param positions matrix n x 2, row and column of each patch's top left pixel, no two alike; NULL:
#'   the attribute "positions" of `patches`, or of `like`, and where they have none all overlapping
#'   patches.
#' @param like NULL, or the patches from `extract_patches()` that `patches` were computed from, row
#'   by row, which know where they were cut.
#' @param ... nothing.
#' @return `extract_patches()`: a numeric matrix n x pixels (in colour 3 times as many columns: the
#'   pixels of the first channel, the second, the third) or an array n x height x width (x 3), with
#'   the attributes "size", height and width, and "positions", which rows cut from the matrix lose:
#'   `plot(fit, size = size)` draws components of these as pictures. `assemble_patches()`: a numeric
#'   matrix of `dim`, or an array in colour; NA where no patch covers a pixel.
#' @seealso [gps_denoise()]
#' @concept image patches
#' @concept dictionary learning
#' @examples
#' patches <- extract_patches(ascent, 8, step = 4)
#' dim(patches)
#' all(assemble_patches(patches, dim(ascent)) == ascent)
#'
#' some <- extract_patches(ascent, c(12, 8), n = 100, as = "array")
#' dim(some)
#' head(attr(some, "positions"))
#'
#' # Two colours that fade into each other.
#' fade <- outer(1:16, 1:16) / 256
#' picture <- array(c(fade, 1 - fade, fade / 2), c(16, 16, 3))
#' dim(extract_patches(picture, 4, as = "array"))
#'
#' # Codes of a picture, and the picture that they stand for.
#' corner <- ascent[1:64, 1:64]
#' patches <- extract_patches(corner, 8, step = 4)
#' means <- rowMeans(patches)
#' set.seed(1)
#' fit <- gps_fit(patches - means, model_spike_slab(16), selector_handcrafted(), n_selected = 4,
#'                control = gps_control(max_iter = 10, n_starts = 1))
#' codes <- predict(fit, type = "latent_slots") # 225 x 4 latents, and their values
#' back <- assemble_patches(fitted(fit) + means, dim(corner), like = patches)
#' sd(back - corner) / sd(corner)
#' @export
extract_patches <- function(image, size, step = 1, n = NULL, as = c("matrix", "array"), ...) {
  refuse_unknown(further(...), names(formals(extract_patches)))
  need_given()
  image <- check_image(image)
  size <- check_pair(size, "size", upper = dim(image)[1:2])
  step <- check_pair(step, "step")
  as <- check_choice(as, "as", c("matrix", "array"))
  n_channels <- count_channels(dim(image))
  positions <- place_patches(dim(image), size, step)
  n_all <- nrow(positions)
  if (!is.null(n)) {
    kept <- sort(sample.int(n_all, check_count(n, "n", 1, n_all)))
    positions <- positions[kept, , drop = FALSE]
  }
  check_cells(nrow(positions), prod(size, n_channels), "`image` and `size`")
  first <- first_pixels(positions, dim(image))
  patches <- vapply(pixel_offsets(size, dim(image)), function(offset) image[first + offset],
                    numeric(length(first)))
  axes <- c(size, if (n_channels > 1) n_channels)
  dim(patches) <- c(length(first), if (as == "array") axes else prod(axes))
  structure(patches, size = size, positions = positions)
}

#' @rdname extract_patches
#' @export
assemble_patches <- function(patches, dim, size = NULL, positions = NULL, like = NULL, ...) {
  refuse_unknown(further(...), names(formals(assemble_patches)))
  need_given()
  # Until it is checked `dim` may be a function.
  dim <- check_canvas(dim, base::dim(patches))
  check_cells(dim[1], prod(dim[-1]), "The numbers of `dim`")
  place <- patch_places(patches, like)
  if (is.null(positions)) {
    positions <- place$positions
    refuse_small_canvas(positions, place$size, dim)
  }
  if (is.null(size) && length(dim(patches)) == 2) size <- place$size
  patches <- plain_numbers(patches)
  size <- patch_size(patches, size, dim)
  values <- matrix(as.double(patches), nrow(patches))
  positions <- check_positions(plain_numbers(positions), nrow(values), size, dim)
  check_finite(values, "patches")
  first <- first_pixels(positions, dim)
  offsets <- pixel_offsets(size, dim)
  image <- array(NA_real_, dim)
  count <- array(0, dim)
  for (k in seq_along(offsets)) {
    at <- first + offsets[k]
    count[at] <- count[at] + 1
    image[at] <- running_mean(image[at], values[, k], count[at])
  }
  image
}

# What patches say of where they were cut and of their size, or what those say that they were
# computed from.
patch_places <- function(patches, like) {
  if (is.null(like)) return(attributes(patches)[c("positions", "size")])
  if (is.null(attr(like, "positions"))) {
    gps_abort(paste("`like` must be patches as extract_patches() gives them, with the attribute",
                    "\"positions\", or NULL. Operators keep it, such as `patches - means`; other",
                    "functions, and rows picked from patches, lose it."))
  }
  if (!identical(nrow(like), nrow(patches))) {
    gps_abort(sprintf("`like` has %s and `patches` have %s: one must be computed from the other.",
                      plural(nrow(like), "row"), describe_rows(patches)))
  }
  attributes(like)[c("positions", "size")]
}

# Patches that know where they were cut do not fit into a smaller image.
refuse_small_canvas <- function(positions, size, dim) {
  known <- is.numeric(positions) && length(dim(positions)) == 2 && ncol(positions) == 2 &&
    nrow(positions) > 0 && is.numeric(size) && length(size) == 2
  if (!known) return(invisible())
  least <- c(max(positions[, 1]), max(positions[, 2])) + size - 1
  if (anyNA(least) || all(least <= dim[1:2])) return(invisible())
  gps_abort(sprintf(paste("`dim` = %s is less than the image that the patches were cut from, of at",
                          "least %s: give dim(image) of that one."), shown_dim(dim),
                    shown_dim(least)))
}

describe_rows <- function(x) if (is.null(nrow(x))) "none" else format(nrow(x))

# Unlike a sum that is divided at the end, equal values give exactly that value, and large ones do
# not overflow.
running_mean <- function(mean, value, count) {
  moved <- mean + (value / count - mean / count)
  is_first <- count == 1
  moved[is_first] <- value[is_first]
  moved
}

# Top left corners, n x 2, down the columns.
place_patches <- function(image_dim, size, step) {
  along <- function(axis) {
    last <- image_dim[axis] - size[axis] + 1L
    unique(c(seq.int(1L, last, by = step[axis]), last))
  }
  rows <- along(1)
  columns <- along(2)
  cbind(row = rep(rows, length(columns)), column = rep(columns, each = length(rows)))
}

# Numbers of the top left pixels in the image, and what must be added for the other pixels.
first_pixels <- function(positions, image_dim) {
  positions[, 1] + (positions[, 2] - 1) * as.double(image_dim[1])
}

# Channels of an image stand one behind the other.
pixel_offsets <- function(size, image_dim) {
  pixels <- outer(seq_len(size[1]) - 1, (seq_len(size[2]) - 1) * as.double(image_dim[1]), "+")
  channels <- seq_len(count_channels(image_dim)) - 1
  as.vector(outer(as.vector(pixels), channels * as.double(image_dim[1]) * image_dim[2], "+"))
}

count_channels <- function(image_dim) if (length(image_dim) > 2) image_dim[3] else 1L

# A matrix, or an array height x width x 3.
check_image <- function(image, arg = "image") {
  image <- plain_numbers(image)
  is_numeric <- (is.numeric(image) || is.logical(image)) && length(image) > 0
  fill <- if (is_numeric && anyNA(image)) {
    " Fill the missing pixels first, such as by the mean of those beside them."
  }
  fill <- paste(fill, collapse = "")
  if (is_numeric && length(dim(image)) == 3 && dim(image)[3] == 3) {
    for (k in 1:3) check_finite(image[, , k, drop = FALSE], sprintf("%s[, , %d]", arg, k),
                               cure = fill)
    return(array(as.double(image), dim(image)))
  }
  if (!is_numeric || length(dim(image)) != 2) {
    hint <- if (is.character(image) && any(startsWith(printable(image), "#") %in% TRUE)) {
      sprintf(" Its colours are text. Grey levels of them: matrix(%s, nrow(%s)).",
              sprintf("colMeans(grDevices::col2rgb(as.matrix(%s))) / 255", arg), arg)
    } else if (is.character(unlist(image))) {
      if (length(image) > 0 && !anyNA(unlist(image))) advise_picture(unlist(image))
    } else if (inherits(image, "connection")) {
      " A picture is read first, by the name of its file: png::readPNG(\"picture.png\")."
    } else if (is_numeric && length(dim(image)) == 3 && dim(image)[1] == 3) {
      sprintf(" Channels come last: aperm(%s, c(2, 3, 1)).", arg)
    } else if (length(dim(image)) == 3 && dim(image)[3] == 4) {
      sprintf(" Its fourth channel says how opaque it is: %s[, , 1:3].", arg)
    } else if (is.list(image) && !is.object(image)) {
      sprintf(" One picture of a list is %s[[1]].", arg)
    } else if (is.data.frame(image) && !all(vapply(image, is.numeric, NA))) {
      " It is a table, which gps_fit(y, model) takes."
    } else if (is.data.frame(image)) {
      sprintf(" A table of levels is made one by as.matrix(%s).", arg)
    } else if (is_numeric && is.null(dim(image))) {
      sprintf(" Levels column by column are made one by matrix(%s, height, width).", arg)
    } else if (length(dim(image)) == 3) {
      sprintf(" One channel of it is a matrix: %s[, , 1].", arg)
    }
    gps_abort(sprintf("`%s` must be a numeric matrix, height x width, %s, not %s.%s", arg,
                      "or an array height x width x 3", describe_value(image),
                      if (is.null(hint)) "" else hint))
  }
  check_finite(image, arg, cure = fill)
  unname(plain_double_matrix(image))
}

# Height and width of an image, and its channels where it has three.
check_canvas <- function(dim, patches_dim) {
  if (length(base::dim(dim)) > 0) {
    gps_abort(sprintf(paste("`dim` must be the height and width of the image, not %s: the patches",
                            "come first, and dim(image) second."), describe_value(dim)))
  }
  dim <- plain_numbers(dim)
  if (length(dim) != 3) {
    return(c(check_pair(dim, "dim"), if (length(patches_dim) == 4) patches_dim[4]))
  }
  if (!is.numeric(dim) || dim[3] != 3 || length(patches_dim) == 3) {
    abort_value(dim, "dim", "one or two whole numbers (height, width), or c(height, width, 3)")
  }
  c(check_pair(dim[1:2], "dim"), 3L)
}

# Height and width of patches, as given or as they tell.
patch_size <- function(patches, size, image_dim) {
  n_axes <- length(dim(patches))
  is_odd <- n_axes == 4 && dim(patches)[4] != 3
  if (!is.numeric(patches) || !n_axes %in% 2:4 || length(patches) == 0 || is_odd) {
    gps_abort(sprintf("`patches` must be %s or n x height x width x 3, not %s.%s",
                      "a numeric matrix n x pixels or array n x height x width",
                      describe_value(patches),
                      if (is.data.frame(patches)) " as.matrix(patches) makes one of it." else
                        if (are_paths(patches)) advise_file(patches) else ""))
  }
  n_channels <- count_channels(image_dim)
  n_numbers <- length(patches) / nrow(patches)
  if (n_numbers %% n_channels != 0) {
    gps_abort(sprintf(paste("`patches` of %d numbers are not in colour, of which a third would be",
                            "of each channel, as `dim` says: for grey ones c(%d, %d)."), n_numbers,
                      image_dim[1], image_dim[2]))
  }
  n_pixels <- n_numbers / n_channels
  if (is.null(size) && n_axes > 2) size <- dim(patches)[2:3]
  if (is.null(size)) size <- guess_image_dim(n_pixels)
  if (is.null(size)) {
    gps_abort(sprintf("`size` must be given: patches of %d pixels are not square.%s", n_pixels,
                      advise_cut_patches(nrow(patches), n_pixels, image_dim)))
  }
  size <- check_pair(size, "size", upper = image_dim[1:2])
  if (prod(size) != n_pixels) {
    is_colour <- n_channels == 1 && n_pixels == 3 * prod(size)
    hint <- if (is_colour) " In colour: `dim` = c(height, width, 3)." else ""
    gps_abort(sprintf("`size` = %s does not fit patches of %d pixels.%s", shown_dim(size),
                      n_pixels, hint))
  }
  size
}

# As many patches as an image has of another size have mostly lost some of their columns.
advise_cut_patches <- function(n, n_pixels, image_dim) {
  side <- seq_len(min(image_dim[1:2]))
  side <- side[(image_dim[1] - side + 1) * (image_dim[2] - side + 1) == n & side^2 != n_pixels]
  if (length(side) == 0) return("")
  sprintf(paste(" There are as many as all patches of %d x %d, of %d pixels: were columns left",
                "out? Patches are rows."), side[1], side[1], as.integer(side[1]^2))
}

# Given corners as an integer matrix n x 2 inside the image; without any those of all overlapping
# patches.
check_positions <- function(positions, n, size, image_dim) {
  if (is.null(positions)) {
    positions <- place_patches(image_dim, size, c(1L, 1L))
    if (nrow(positions) != n) {
      gps_abort(sprintf(paste(
        "`positions` must be given: an image of %s has %d overlapping patches of %s, and `patches`",
        "are %d.%s If they were computed from others: `like` = those from extract_patches(); if",
        "they are rows of these: `positions` = attr(patches, \"positions\")[rows, ]."
      ), shown_dim(image_dim), nrow(positions), shown_dim(size), n,
      advise_cut_patches(n, prod(size), image_dim)))
    }
    return(positions)
  }
  if (!is.numeric(positions) || !identical(dim(positions), c(n, 2L))) {
    abort_value(positions, "positions", sprintf("a numeric matrix of %d x 2 (row, column)", n))
  }
  last <- image_dim[1:2] - size + 1L
  is_bad <- is.na(positions) | positions != round(positions) | positions < 1 |
    positions > rep(last, each = n)
  if (any(is_bad)) {
    gps_abort(sprintf(
      "`positions` must be whole numbers, rows up to %d and columns up to %d, but row %d is not.",
      last[1], last[2], which(rowSums(is_bad) > 0)[1]
    ))
  }
  again <- anyDuplicated(first_pixels(positions, image_dim))
  if (again > 0) {
    gps_abort(sprintf("`positions` must be distinct, but row %d repeats another.", again))
  }
  positions
}
