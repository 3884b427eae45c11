# Small images on paper: components, reconstructions and data points drawn as a grid. Pixels are
# ordered as in as.vector(image), column by column.

# Height and width of a square image of n_dims pixels, or NULL.
guess_image_dim <- function(n_dims) {
  side <- round(sqrt(n_dims))
  if (side^2 == n_dims) as.integer(c(side, side)) else NULL
}

# Draws images (D x K, or a list of matrices) row by row into one panel and returns the shape of the
# grid. Zero is white; `scaling` says whether the darkest ink is the largest value of all images or
# of each one. n_columns NULL: as fills the panel well. Grids of as many cells, of which some may
# stay empty, are alike. `main` may have a second line. `colours`, D x K, are drawn instead of inks.
image_grid <- function(images, height = NULL, width = NULL, n_columns = NULL,
                       scaling = c("common", "each"), titles = NULL, main = NULL, cex = 0.8,
                       n_cells = ncol(images$values), is_signed = any(images$values < 0),
                       colours = NULL) {
  images <- stack_images(images, height, width)
  if (is.null(colours)) colours <- image_colours(images$values, match.arg(scaling), is_signed)
  top <- if (is.null(main)) 0.4 else 0.5 + 1.1 * length(main)
  old <- graphics::par(mar = c(0.4, 0.6, top, 0.6))
  on.exit(graphics::par(old))
  graphics::plot.new()
  room <- graphics::par("pin")
  graphics::plot.window(c(0, room[1]), c(0, room[2]), asp = 1, xaxs = "i", yaxs = "i")

  title_height <- if (is.null(titles)) 0 else 1.3 * cex * graphics::par("cin")[2]
  grid <- arrange_images(n_cells, images$height, images$width, room, title_height, n_columns)
  place <- seq_len(ncol(colours)) - 1
  left <- grid$left + place %% grid$n_columns * grid$step[1]
  top <- grid$top - place %/% grid$n_columns * grid$step[2]
  right <- left + images$width * grid$scale
  bottom <- top - images$height * grid$scale
  for (k in seq_len(ncol(colours))) {
    image <- grDevices::as.raster(matrix(colours[, k], images$height))
    graphics::rasterImage(image, left[k], bottom[k], right[k], top[k], interpolate = FALSE)
  }
  graphics::rect(left, bottom, right, top, border = "grey60", lwd = 0.5)
  if (!is.null(titles)) {
    widest <- max(graphics::strwidth(titles, "inches", cex = cex))
    cex <- cex * min(1, images$width * grid$scale / widest, grid$title_height / title_height)
    baseline <- top + 0.25 * grid$title_height
    graphics::text((left + right) / 2, baseline, titles, cex = cex, adj = c(0.5, 0))
  }
  if (!is.null(main)) grid_title(main, grid$left, room[1] - grid$left)
  invisible(grid[c("n_rows", "n_columns")])
}

# A title, and a second line where there is one, as large as the room allows.
grid_title <- function(main, left, room) {
  cex <- c(1, 0.85)
  for (i in seq_along(main)) {
    fits <- room / graphics::strwidth(main[i], "inches", font = 3 - i)
    graphics::mtext(main[i], line = 0.3 + 1.1 * (length(main) - i), at = left, adj = 0,
                    font = 3 - i, cex = graphics::par("cex") * min(cex[i], fits),
                    col = c("black", "grey30")[i])
  }
}

# A D x K matrix of values with the height and width of the images.
stack_images <- function(images, height, width) {
  if (is.list(images)) {
    height <- nrow(images[[1]])
    width <- ncol(images[[1]])
    images <- vapply(images, as.vector, numeric(height * width))
  }
  images <- as.matrix(images)
  if (is.null(height) || is.null(width)) {
    size <- guess_image_dim(nrow(images))
    if (is.null(size)) {
      gps_abort(sprintf("Images of %d pixels are not square: give height and width.", nrow(images)))
    }
    height <- size[1]
    width <- size[2]
  }
  if (height * width != nrow(images)) {
    gps_abort(sprintf("Images of %d pixels cannot be %d x %d.", nrow(images), height, width))
  }
  list(values = images, height = height, width = width)
}

# Colours of values, same shape: white for zero, black ink for the largest; where they are signed
# blue for negative and red for positive ones, equally strong at equal distance from zero.
image_colours <- function(values, scaling = "common",
                          is_signed = any(values < 0, na.rm = TRUE)) {
  limit <- apply(abs(values), 2, max, na.rm = TRUE)
  if (scaling == "common") limit[] <- max(limit)
  limit[limit == 0] <- 1
  scaled <- sweep(values, 2, limit, "/")
  inks <- if (is_signed) {
    c("#0B3C78", "#5B9BC8", "#FFFFFF", "#DD6B52", "#7A0A22")
  } else {
    c("#FFFFFF", "#8A8F98", "#111418")
  }
  palette <- grDevices::colorRampPalette(inks, space = "Lab")(255)
  position <- if (is_signed) (scaled + 1) / 2 else scaled
  colours <- palette[1 + round(254 * position)]
  matrix(colours, nrow(values))
}

# Where a grid of images goes in a room of given width and height (inches): rows and columns, the
# scale (inches a pixel), the top left corner of the first image and the step to the next. The
# images are as large as they can be, or up to a fifth smaller where that leaves fewer cells of the
# last row empty.
arrange_images <- function(n_images, height, width, room, title_height, n_columns = NULL) {
  gap <- 0.1 * min(height, width)
  columns <- if (is.null(n_columns)) seq_len(n_images) else n_columns
  rows <- ceiling(n_images / columns)
  title <- pmin(title_height, 0.3 * room[2] / rows)
  across <- columns * (width + gap) - gap
  down <- rows * (height + gap) - gap
  scale <- pmin(room[1] / across, (room[2] - rows * title) / down)
  n_empty <- ifelse(scale < 0.8 * max(scale), Inf, columns * rows - n_images)
  best <- order(n_empty, -scale)[1]
  scale <- scale[best]
  title <- title[best]
  list(
    n_rows = rows[best], n_columns = columns[best], scale = scale, title_height = title,
    left = (room[1] - scale * across[best]) / 2,
    top = room[2] - title,
    step = c(scale * (width + gap), scale * (height + gap) + title)
  )
}

#' Pictures of objects
#'
#' Draws all objects side by side, in their colours where they have three channels and in grey
#' otherwise, with their names as titles where they have any. What does not belong to an object is
#' pale blue. Values are cut off below 0, and scaled to at most 1 where any is larger.
#'
#' @param x Objects, as made by [scene_objects()] or [read_objects()].
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return The objects, invisibly.
#' @examples
#' set.seed(1)
#' plot(scene_objects(8))
#' @export
plot.gps_objects <- function(x, ...) {
  refuse_unknown(list(...), character())
  objects <- check_objects(x, "x")
  dim <- dim(objects$image)
  # Pixels in columns of objects, then channels.
  values <- aperm(objects$image, c(2, 3, 1, 4))
  values <- matrix(pmax(values, 0) / max(1, values), ncol = dim[4])
  if (dim[4] != 3) values <- matrix(rowMeans(values), nrow(values), 3)
  colours <- ifelse(aperm(objects$mask, c(2, 3, 1)) == 1, grDevices::rgb(values), "#C6D3E3")
  grey <- matrix(rowMeans(values), ncol = dim[1])
  image_grid(grey, dim[2], dim[3], titles = objects$names, colours = matrix(colours, nrow(grey)))
  invisible(x)
}
