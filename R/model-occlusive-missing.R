# Masked pixels of images (model E): a pixel of which a cell is missing says nothing of who owns it.
# In the form of old, with clutter the background's alone, they are not allowed for.

#' @export
takes_missing.gps_occlusive <- function(model) clutter_form(model$clutter) != "background"

# Which pixels are masked, pixels x n of TRUE and FALSE; NULL of none.
masked_pixels <- function(model, missing) {
  if (is.null(missing)) return(NULL)
  n_points <- length(missing$start) - 1
  masked <- matrix(FALSE, prod(model$grid), n_points)
  point <- rep(seq_len(n_points), diff(missing$start))
  masked[cbind(missing$row %% prod(model$grid) + 1, point)] <- TRUE
  masked
}

# A masked pixel looks like those around it, for who cuts components from images or ranks by them.
#' @export
fill_cells.gps_occlusive <- function(model, y, missing) {
  if (is_source(y) && !is.null(y$gaps)) y$gaps$model <- model
  if (is.null(missing) || is_source(y)) return(y)
  images <- which(diff(missing$start) > 0)
  for (part in in_pieces(images, block_doubles %/% nrow(y))) {
    values <- y[, part, drop = FALSE]
    places <- missing_places(cut_missing(missing, part), nrow(y))
    is_known <- array(TRUE, dim(values))
    is_known[places] <- FALSE
    planes <- function(x) array(x, c(model$grid, model$n_channels * length(part)))
    y[, part] <- fill_planes(planes(values), planes(is_known))
  }
  y
}

# Planes [height x width x n] in which what is not known is the mean of its known neighbours,
# cyclic, from the rim of a gap inwards. A plane of which nothing is known stays as it is.
fill_planes <- function(values, is_known) {
  size <- dim(values)
  shifted <- function(x, step) {
    x[(seq_len(size[1]) - 1 + step[1]) %% size[1] + 1,
      (seq_len(size[2]) - 1 + step[2]) %% size[2] + 1, , drop = FALSE]
  }
  steps <- expand.grid(-1:1, -1:1)
  for (round in seq_len(max(size[1:2]))) {
    sum <- count <- array(0, size)
    for (i in seq_len(nrow(steps))) {
      step <- as.integer(steps[i, ])
      sum <- sum + shifted(values * is_known, step)
      count <- count + shifted(is_known, step)
    }
    is_new <- !is_known & count > 0
    if (!any(is_new)) break
    values[is_new] <- sum[is_new] / count[is_new]
    is_known[is_new] <- TRUE
  }
  values
}
