# Objects to put into scenes: pictures and the pixels that belong to them, drawn from formulas.

#' Textured shapes
#'
#' Small pictures of made-up objects, each a shape of its own (discs, rings, crosses, triangles,
#' letters, ...) with a smooth texture of its own (stripes, blobs, gradients, waves), to make scenes
#' of. They are drawn from R's generator, so [set.seed()] governs: the same seed gives the same
#' objects.
#'
#' The shapes come in random order, turned and mirrored at random, and are used again, with other
#' textures, when `n` is larger than their number, 24. At the default size they cover 45 to 92 of
#' 100 pixels and touch all four sides of their box. Values lie between 0.1 and 1. An object that
#' looks too much like an earlier one is drawn again: the cosine of any two pictures is below 0.9
#' however they are shifted against each other.
#'
#' @param n Number of objects: whole number >= 1.
#' @param size Height and width of an object: one whole number, or two, at least 6.
#' @param channels Number of channels of the pictures: whole number >= 1; 3 for colour, 1 for grey.
#' @param ... nothing; an unknown argument is an error that says which there are.
#'
#' @return A list of class "gps_objects" with
#' * `image`: array n x height x width x channels, 0 outside the objects.
#' * `mask`: integer array n x height x width, 1 where the object is and 0 outside.
#' * `names`: NULL, or the objects' names.
#' @seealso [simulate_scenes()], [plot.gps_objects()], [read_objects()]
#' @examples
#' set.seed(1)
#' objects <- scene_objects()
#' objects
#' plot(objects)
#' @export
scene_objects <- function(n = 16, size = c(10, 10), channels = 3, ...) {
  refuse_unknown(further(...), names(formals(scene_objects)))
  n <- check_count(n, "n")
  size <- check_pair(size, "size")
  if (any(size < 6)) abort_value(min(size), "size", "at least 6 pixels")
  channels <- check_count(channels, "channels")
  check_cells(n, as.double(size[1]) * size[2] * channels, "`n`, `size` and `channels`")
  outline <- unlist(lapply(seq_len(ceiling(n / length(outlines))),
                           function(i) sample.int(length(outlines))))
  mask <- array(0L, c(n, size))
  image <- array(0, c(n, size, channels))
  for (k in seq_len(n)) {
    n_drawn <- 0
    repeat {
      shape <- draw_outline(outline[k], size)
      picture <- draw_texture(k, size, channels) * as.vector(shape)
      if (k == 1 || !looks_like(picture, image, k - 1)) break
      n_drawn <- n_drawn + 1
      if (n_drawn == most_redrawn) {
        gps_abort(sprintf("No %d objects that differ enough were found: ask for fewer.", n))
      }
    }
    mask[k, , ] <- shape
    image[k, , , ] <- picture
  }
  new_objects(image, mask)
}

most_redrawn <- 500L

new_objects <- function(image, mask, names = NULL) {
  structure(list(image = image, mask = mask, names = names), class = "gps_objects")
}

# Does a picture (height x width x channels) look like one of the first n of `image`?
looks_like <- function(picture, image, n) {
  earlier <- image[seq_len(n), , , , drop = FALSE]
  any(best_shifts(array(picture, c(1, dim(picture))), earlier)$similarity > 0.85)
}

# Shapes as functions of x (to the right) and y (down), both in (-1, 1).
outlines <- list(
  disc = function(x, y) x^2 + y^2 < 1,
  ring = function(x, y) x^2 + y^2 < 1.05 & x^2 + y^2 > 0.15,
  cross = function(x, y) abs(x) < 0.4 | abs(y) < 0.4,
  triangle = function(x, y) abs(x) < (y + 1.15) / 2,
  corner = function(x, y) x < y + 0.25,
  diamond = function(x, y) abs(x) + abs(y) < 1.05,
  hexagon = function(x, y) abs(x) + abs(y) / 2 < 1,
  block = function(x, y) x^4 + y^4 < 0.88,
  moon = function(x, y) x^2 + y^2 < 1.2 & (x - 1)^2 + y^2 > 0.25,
  hourglass = function(x, y) abs(x) < abs(y) + 0.25,
  stairs = function(x, y) floor(2.5 * (x + 1)) <= floor(2.5 * (y + 1)),
  arrow = function(x, y) (y < 0.2 & abs(x) < (y + 1.3)) | (y >= 0.2 & abs(x) < 0.5),
  leaf = function(x, y) (x - 0.6)^2 + (y + 0.6)^2 < 2.6 & (x + 0.6)^2 + (y - 0.6)^2 < 2.6,
  letter_c = function(x, y) x^2 + y^2 < 1.2 & !(x > 0 & abs(y) < 0.3),
  letter_e = function(x, y) x < -0.3 | abs(y) > 0.6 | abs(y) < 0.2,
  letter_f = function(x, y) x < -0.2 | y < -0.6 | (abs(y) < 0.2 & x < 0.7),
  letter_h = function(x, y) abs(x) > 0.4 | abs(y) < 0.3,
  letter_l = function(x, y) x < -0.2 | y > 0.2,
  letter_p = function(x, y) x < -0.4 | (y < 0.3 & !(x < 0.5 & abs(y + 0.35) < 0.2)),
  letter_s = function(x, y) abs(y) > 0.6 | abs(y) < 0.2 | (y < 0 & x < -0.4) | (y > 0 & x > 0.4),
  letter_t = function(x, y) y < -0.4 | abs(x) < 0.35,
  letter_u = function(x, y) abs(x) > 0.4 | y > 0.2,
  letter_x = function(x, y) abs(x - y) < 0.5 | abs(x + y) < 0.5,
  letter_z = function(x, y) abs(y) > 0.5 | abs(x + y) < 0.5
)

# Centres of the pixels of a box: list(x, y), height x width, in (-1, 1).
unit_grid <- function(size) {
  along <- function(n) (2 * seq_len(n) - 1) / n - 1
  list(x = matrix(along(size[2]), size[1], size[2], byrow = TRUE),
       y = matrix(along(size[1]), size[1], size[2]))
}

# A shape turned by a multiple of 90 degrees and mirrored, at random: height x width of 0 and 1.
draw_outline <- function(k, size) {
  grid <- unit_grid(size)
  sign <- sample(c(-1, 1), 2, replace = TRUE)
  is_turned <- sample(c(FALSE, TRUE), 1)
  x <- sign[1] * (if (is_turned) grid$y else grid$x)
  y <- sign[2] * (if (is_turned) grid$x else grid$y)
  outlines[[k]](x, y) + 0L
}

# A texture in two to three colours: height x width x channels in [0.1, 1]. Its kind goes by k.
draw_texture <- function(k, size, channels) {
  grid <- unit_grid(size)
  angle <- stats::runif(1, 0, 2 * pi)
  along <- grid$x * cos(angle) + grid$y * sin(angle)
  across <- grid$y * cos(angle) - grid$x * sin(angle)
  phase <- stats::runif(2, 0, 2 * pi)
  pattern <- switch(
    1 + k %% 4,
    sin(stats::runif(1, 4, 6) * along + phase[1]),
    draw_blobs(grid),
    along + 0.3 * sin(3 * across + phase[1]),
    sin(stats::runif(1, 3, 4) * along + phase[1]) * sin(stats::runif(1, 3, 4) * across + phase[2])
  )
  share <- (pattern - min(pattern)) / diff(range(pattern))
  colours <- draw_colours(channels)
  shade <- 1 - 0.25 * (1 + across / max(abs(across))) / 2
  values <- outer(as.vector(1 - share), colours[1, ]) + outer(as.vector(share), colours[2, ])
  array(pmin(pmax(values * as.vector(shade), 0.1), 1), c(size, channels))
}

# A few soft bumps.
draw_blobs <- function(grid) {
  bumps <- lapply(1:4, function(i) {
    centre <- stats::runif(2, -1, 1)
    width <- stats::runif(1, 0.3, 0.5)
    sign <- if (i %% 2 == 0) -1 else 1
    sign * exp(-((grid$x - centre[1])^2 + (grid$y - centre[2])^2) / (2 * width^2))
  })
  Reduce(`+`, bumps)
}

# Two colours, 2 x channels, far apart in at least one channel.
draw_colours <- function(channels) {
  repeat {
    colours <- matrix(stats::runif(2 * channels, 0.1, 1), 2)
    if (max(abs(colours[1, ] - colours[2, ])) > 0.6 && max(colours) > 0.7) return(colours)
  }
}

# A valid object of class gps_objects from one, or from a list with `image` and `mask`.
check_objects <- function(x, arg, allow_empty = FALSE) {
  allowed <- "objects, as made by scene_objects()"
  if (!is.list(x) || is.data.frame(x)) abort_value(x, arg, allowed)
  image <- plain_numbers(x[["image"]])
  mask <- plain_numbers(x[["mask"]])
  names <- x[["names"]]
  if (!is.null(names) && !(is.character(names) && length(names) == NROW(image) &&
                             all(is_text(names)))) {
    abort_value(names, paste0(arg, "$names"), "NULL or a name of each object, valid text")
  }
  is_numeric <- function(values) is.numeric(values) || is.logical(values)
  if (!is_numeric(image) || !length(dim(image)) %in% 3:4 || length(image) == 0) {
    abort_value(image, paste0(arg, "$image"), "an array n x height x width x channels")
  }
  if (length(dim(image)) == 3) dim(image) <- c(dim(image), 1L)
  if (!is_numeric(mask) || !identical(as.integer(dim(mask)), as.integer(dim(image)[1:3]))) {
    abort_value(mask, paste0(arg, "$mask"),
                sprintf("an array of %s", shown_dim(dim(image)[1:3])))
  }
  if (!all(is.finite(image))) gps_abort(sprintf("`%s$image` must have finite values.", arg))
  if (!all(mask %in% 0:1)) gps_abort(sprintf("`%s$mask` must have only 0 and 1.", arg))
  empty <- which(rowSums(mask, dims = 1) == 0)
  if (length(empty) > 0 && !allow_empty) {
    gps_abort(sprintf("`%s$mask` has no pixel of object %d.", arg, empty[1]))
  }
  new_objects(array(as.double(image), dim(image)), array(as.integer(mask), dim(mask)), names)
}

#' @export
print.gps_objects <- function(x, ...) {
  refuse_shown(further(...))
  x <- check_objects(x, "x")
  n_pixels <- rowSums(x$mask, dims = 1)
  dim <- dim(x$image)
  say(sprintf("%d object%s of %s pixels in %d channel%s, %s of them covered", dim[1],
              if (dim[1] == 1) "" else "s", shown_dim(dim[2:3]), dim[4],
              if (dim[4] == 1) "" else "s", paste(unique(range(n_pixels)), collapse = " to ")))
  invisible(x)
}
