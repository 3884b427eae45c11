# Objects from a folder of photographs: cut out of their black background and made small.

#' Objects from pictures
#'
#' Reads a folder of pictures (PNG) that show one object each on a black background, cuts the
#' objects out and makes them small: ready for [simulate_scenes()]. Needs the package png.
#'
#' Where a picture is brighter than `threshold`, in any of its channels, is object; of several
#' separate regions the largest is taken, and holes in it are filled. Where a picture has a
#' transparency channel that is not opaque everywhere, that channel alone says what is object (at
#' least half opaque), and holes stay.
#'
#' The object is cropped to its bounding box and scaled, with its aspect ratio, to the largest that
#' fits `size`, in whole pixels, in the middle of it. New pixels are averages over the area that
#' they stand for, of the object only, no background mixed in. A new pixel belongs to the object
#' where the object covers at least half of it (of an object too thin for that, where it covers the
#' most).
#'
#' @param dir Folder of the pictures.
#' @param size Height and width of the objects' box: one whole number, or two.
#' @param pattern Regular expression: pictures are the files of the folder whose names match it.
#' @param threshold Brightness, in \[0, 1\], above which a pixel is no background.
#'
#' @return A list of class "gps_objects" as [scene_objects()] makes it, with values in \[0, 1\], one
#'   channel where all pictures are grey and three otherwise. `names` are those of the files without
#'   their ending. Objects are in the order of names, with the numbers in them in the order of
#'   numbers: obj2 comes before obj10.
#' @seealso [scene_objects()], [simulate_scenes()]
#' @examplesIf requireNamespace("png", quietly = TRUE)
#' dir <- tempfile()
#' dir.create(dir)
#' disc <- outer(-20:20, -30:30, function(y, x) (x^2 + y^2 < 200) * (0.6 + x / 50))
#' png::writePNG(disc, file.path(dir, "disc.png"))
#' read_objects(dir)
#' unlink(dir, recursive = TRUE)
#' @export
read_objects <- function(dir, size = c(10, 10), pattern = "[.]png$", threshold = 0.1) {
  need_given()
  size <- check_pair(size, "size")
  threshold <- check_number(threshold, "threshold", lower = 0, upper = 1)
  files <- find_pictures(dir, pattern)
  require_package("png", "read_objects()")
  objects <- lapply(files, function(file) {
    cut_object(read_picture(file), size, threshold, basename(file))
  })
  n_channels <- max(vapply(objects, function(object) dim(object$image)[3], 1L))
  n_pixels <- prod(size)
  image <- vapply(objects, function(object) rep_len(as.vector(object$image), n_pixels * n_channels),
                  numeric(n_pixels * n_channels))
  mask <- vapply(objects, function(object) as.integer(object$mask), integer(n_pixels))
  new_objects(array(t(matrix(image, ncol = length(files))), c(length(files), size, n_channels)),
              array(t(matrix(mask, ncol = length(files))), c(length(files), size)),
              sub("[.][^.]*$", "", basename(files)))
}

# Paths of the files that match, numbers in their names in the order of numbers.
find_pictures <- function(dir, pattern) {
  is_word <- function(x) {
    is.character(x) && length(x) == 1 && !is.na(x) && Encoding(x) != "bytes"
  }
  if (!is_word(dir) || !dir.exists(dir)) abort_value(dir, "dir", "a folder that exists")
  if (!is_word(pattern)) abort_value(pattern, "pattern", "a regular expression")
  files <- tryCatch(suppressWarnings(list.files(dir, pattern, full.names = TRUE)), error = identity)
  if (inherits(files, "error")) abort_value(pattern, "pattern", "a valid regular expression")
  files <- files[!dir.exists(files)]
  if (length(files) == 0) {
    gps_abort(sprintf("`dir`, %s, has no file that matches `pattern`, %s.", describe_value(dir),
                      describe_value(pattern)))
  }
  files[natural_order(basename(files))]
}

# Order of names in which 2 comes before 10, the same in all locales.
natural_order <- function(names) {
  digits <- gregexpr("[0-9]+", names)
  padded <- names
  regmatches(padded, digits) <- lapply(regmatches(names, digits), function(x) {
    x <- sub("^0+(?=.)", "", x, perl = TRUE)
    paste0(strrep("0", pmax(0, 250 - nchar(x))), x)
  })
  order(padded, names, method = "radix")
}

# list(image [height x width x 1 or 3], alpha): alpha NULL where everything is opaque.
read_picture <- function(file) {
  image <- tryCatch(suppressWarnings(png::readPNG(file)), error = identity)
  if (inherits(image, "error")) {
    gps_abort(sprintf("%s cannot be read as a PNG picture: %s", describe_value(file),
                      conditionMessage(image)))
  }
  if (length(dim(image)) == 2) dim(image) <- c(dim(image), 1L)
  n_channels <- dim(image)[3]
  has_alpha <- n_channels %in% c(2, 4)
  alpha <- if (has_alpha) matrix(image[, , n_channels], dim(image)[1])
  if (all(alpha == 1)) alpha <- NULL
  list(image = image[, , seq_len(n_channels - has_alpha), drop = FALSE], alpha = alpha)
}

# list(image [size x channels], mask [size]) of the object of a picture.
cut_object <- function(picture, size, threshold, name) {
  is_object <- if (is.null(picture$alpha)) {
    apply(picture$image, 1:2, max) > threshold
  } else {
    picture$alpha >= 0.5
  }
  if (!any(is_object)) {
    gps_abort(sprintf(
      "%s shows no object: %s.", describe_value(name),
      if (is.null(picture$alpha)) sprintf("no pixel is brighter than `threshold`, %g", threshold)
      else "all of it is transparent"
    ))
  }
  is_object <- largest_region(is_object)
  if (is.null(picture$alpha)) is_object <- fill_holes(is_object)
  rows <- range(which(rowSums(is_object) > 0))
  columns <- range(which(colSums(is_object) > 0))
  rows <- rows[1]:rows[2]
  columns <- columns[1]:columns[2]
  shrink_object(picture$image[rows, columns, , drop = FALSE],
                is_object[rows, columns, drop = FALSE], size)
}

# The largest set of pixels that are connected through edges and corners.
largest_region <- function(is_object) {
  padded <- pad_pixels(is_object)
  height <- nrow(padded)
  steps <- c(-height - 1, -height, -height + 1, -1, 1, height - 1, height, height + 1)
  region <- label_regions(padded, steps)
  crop_pixels(region == which.max(tabulate(region)))
}

# What cannot be reached from outside through edges.
fill_holes <- function(is_object) {
  # The inner of two frames is the outside, the outer one ends the flood.
  is_open <- pad_pixels(pad_pixels(!is_object, TRUE))
  region <- label_regions(is_open, c(-nrow(is_open), -1, 1, nrow(is_open)))
  crop_pixels(crop_pixels(region != region[2, 2]))
}

# Numbers of the connected regions of a matrix whose frame is FALSE, 0 outside of them. `steps` lead
# to the neighbours of a pixel.
label_regions <- function(is_open, steps) {
  region <- array(0L, dim(is_open))
  n_regions <- 0L
  for (start in which(is_open)) {
    if (region[start] > 0L) next
    n_regions <- n_regions + 1L
    front <- start
    while (length(front) > 0) {
      region[front] <- n_regions
      front <- unique(rep(front, each = length(steps)) + steps)
      front <- front[is_open[front] & region[front] == 0L]
    }
  }
  region
}

pad_pixels <- function(x, value = FALSE) rbind(value, cbind(value, x, value), value)

crop_pixels <- function(x) x[-c(1, nrow(x)), -c(1, ncol(x)), drop = FALSE]

# A cropped object scaled to fit a box and put in its middle: list(image, mask).
shrink_object <- function(image, is_object, size) {
  from <- dim(is_object)
  to <- pmin(pmax(round(from * min(size / from)), 1), size)
  first <- (size - to) %/% 2
  down <- area_weights(from[1], to[1])
  across <- area_weights(from[2], to[2])
  shrink <- function(x) down %*% x %*% t(across)
  coverage <- shrink(is_object + 0)
  is_covered <- coverage >= min(0.5, max(coverage)) - 1e-9
  mask <- matrix(0L, size[1], size[2])
  rows <- first[1] + seq_len(to[1])
  columns <- first[2] + seq_len(to[2])
  mask[rows, columns] <- is_covered
  small <- array(0, c(size, dim(image)[3]))
  for (channel in seq_len(dim(image)[3])) {
    total <- shrink(image[, , channel] * is_object)
    small[rows, columns, channel] <- pmin(ifelse(is_covered, total / coverage, 0), 1)
  }
  list(image = small, mask = mask)
}

# The share of each new pixel (rows) that each old one makes up, along one axis.
area_weights <- function(from, to) {
  begin <- (seq_len(to) - 1) * from / to
  end <- seq_len(to) * from / to
  overlap <- outer(end, seq_len(from), pmin) - outer(begin, seq_len(from) - 1, pmax)
  pmax(overlap, 0) * to / from
}
