# Small images on paper: components, reconstructions and data points drawn as a grid. Pixels are
# ordered as in as.vector(image), column by column.

# Height and width of a square image of n_dims pixels, or NULL.
guess_image_dim <- function(n_dims) {
  side <- round(sqrt(n_dims))
  if (side^2 == n_dims) as.integer(c(side, side)) else NULL
}

# Draws images (D x K, or a list of matrices) row by row and returns the shape of the grid. Zero is
# white, the darkest ink the largest value of all. n_columns NULL: as fills the panel well. `main`
# may have a second line. `colours`, D x K, are drawn instead of inks.
image_grid <- function(images, height = NULL, width = NULL, n_columns = NULL, titles = NULL,
                       main = NULL, colours = NULL) {
  images <- stack_images(images, height, width)
  if (is.null(colours)) colours <- image_colours(images$values)
  draw_figure(in_part(whole_part, c(0.4, 0.6, grid_top(main), 0.6), {
    image_panel(images$values, c(images$height, images$width), titles, main, colours,
                n_columns = n_columns)
  }))
}

# Lines above a grid.
grid_top <- function(main) if (is.null(main)) 0.4 else 0.5 + 1.1 * length(main)

# Images as a grid in the panel that is open. Grids of as many cells, of which some may stay empty,
# are alike.
image_panel <- function(values, size, titles, main, colours, n_cells = ncol(values),
                        n_columns = NULL, title_cex = c(1, 0.85)) {
  room <- graphics::par("pin")
  graphics::plot.window(c(0, room[1]), c(0, room[2]), asp = 1, xaxs = "i", yaxs = "i")
  title_height <- if (is.null(titles)) 0 else 1.05 * line_inches()
  grid <- arrange_images(n_cells, size[1], size[2], room, title_height, n_columns)
  place <- seq_len(ncol(colours)) - 1
  left <- grid$left + place %% grid$n_columns * grid$step[1]
  top <- grid$top - place %/% grid$n_columns * grid$step[2]
  right <- left + size[2] * grid$scale
  bottom <- top - size[1] * grid$scale
  for (k in seq_len(ncol(colours))) {
    image <- grDevices::as.raster(matrix(colours[, k], size[1]))
    graphics::rasterImage(image, left[k], bottom[k], right[k], top[k], interpolate = FALSE)
  }
  graphics::rect(left, bottom, right, top, border = "grey60", lwd = 0.5)
  if (title_height > 0) {
    widest <- max(graphics::strwidth(titles, "inches", cex = 0.8), 0.1)
    cex <- 0.8 * min(1, size[2] * grid$scale / widest, grid$title_height / title_height)
    baseline <- top + 0.25 * grid$title_height
    graphics::text((left + right) / 2, baseline, titles, cex = cex, adj = c(0.5, 0))
  }
  if (!is.null(main)) {
    panel_title(main[1], main[-1], 0.3 + 1.1 * (length(main) - seq_along(main)), title_cex)
  }
  invisible(grid[c("n_rows", "n_columns")])
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

# Colours of values, same shape: white for zero, black ink for the largest of `range`; where that
# has negative ones blue for these and red for positive ones, equally strong at equal distance from
# zero. `col` is a ramp in place of these.
image_colours <- function(values, range = NULL, col = NULL) {
  if (is.null(range)) range <- range(values, 0, na.rm = TRUE)
  limit <- max(abs(range))
  if (limit == 0) limit <- 1
  is_signed <- range[1] < 0
  if (is.null(col)) {
    col <- if (is_signed) c("#0B3C78", "#5B9BC8", "#FFFFFF", "#DD6B52", "#7A0A22") else
      c("#FFFFFF", "#8A8F98", "#111418")
  }
  palette <- ramp_of(col, 255)
  position <- if (is_signed) (values / limit + 1) / 2 else values / limit
  matrix(palette[1 + round(254 * position)], nrow(values))
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
#' @param n number of objects to draw, the first ones; NULL: all.
#' @param select numbers or names of objects to draw, in this order; NULL: all.
#' @param main title; NULL: none.
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return Invisibly, a list of `colours`, a matrix of pixels x objects drawn, and `dim`, the height
#'   and width of an object.
#' @examples
#' set.seed(1)
#' plot(scene_objects(8))
#' @export
plot.gps_objects <- function(x, n = NULL, select = NULL, main = NULL, ...) {
  refuse_unknown(further(...), c("n", "select", "main"))
  objects <- check_objects(x, "x")
  look <- new_look(main, n = n, select = select)
  dim <- dim(objects$image)
  # Pixels in columns of objects, then channels.
  values <- aperm(objects$image, c(2, 3, 1, 4))
  values <- matrix(pmax(values, 0) / max(1, values), ncol = dim[4])
  if (dim[4] != 3) values <- matrix(rowMeans(values), nrow(values), 3)
  colours <- ifelse(aperm(objects$mask, c(2, 3, 1)) == 1, grDevices::rgb(values), "#C6D3E3")
  shown <- chosen_latents(look, seq_len(dim[1]), dim[1], objects$names, "object")
  colours <- matrix(colours, ncol = dim[1])[, shown, drop = FALSE]
  image_grid(matrix(0, nrow(colours), length(shown)), dim[2], dim[3],
             titles = objects$names[shown], main = look$main, colours = colours)
  invisible(list(colours = colours, dim = dim[2:3]))
}
