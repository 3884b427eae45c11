# Components of one fit: images or a heat map, with a colour scale.

# Most components in one figure unless more are asked for.
most_shown <- 100L

draw_components <- function(fit, look) {
  values <- component_values(fit$model, fit$params)
  if (is.null(values)) {
    gps_abort(sprintf("The figure \"components\" needs parameters of %d x %d, which %s.",
                      fit$model$n_dims, fit$model$n_latents, "this model has not"))
  }
  usage <- component_usage(fit) / count_observations(fit)
  shown <- chosen_latents(look, order(-usage), most_shown, fit$latent_names)
  kind <- if (is_one_hot(fit)) "Cluster means" else "Components"
  kind <- counted_title(kind, look, length(shown), length(usage))
  share <- percent(usage[shown])
  share[shown %in% emptied_latents(fit$model, fit$params)] <- "out"
  names <- latent_labels(fit, shown)
  size <- component_size(fit, look$size)
  if (is.null(size)) {
    if (is_mixture(fit)) values <- standardise_means(fit$params)
    unit <- if (is_mixture(fit)) "standard deviations of each variable" else
      component_unit(fit$model)
    values <- values[, shown, drop = FALSE]
    draw_figure(draw_heat(whole_part, values, row_labels(fit), title_of(look, kind),
                          if (look$key) paste("colours in", unit), names, share,
                          shown_label(fit, look), look))
  } else {
    values <- matrix(grey_pixels(values, size)[, shown], ncol = length(shown))
    draw_figure(draw_images(
      whole_part, values, size[1:2], sprintf("%s: %s", names, share),
      c(title_of(look, kind), "with the share of data points in which each is on"), look
    ))
  }
  colnames(values) <- names
  list(values = values, usage = stats::setNames(usage[shown], names))
}

# Height and width of a component as an image, and channels where it has three, or NULL where it is
# none. What did not come as images is none, however many dimensions it has, but where `size` says
# so; NA says that there are no images.
component_size <- function(fit, size = NULL) {
  if (length(size) == 1 && is.na(size)) return(NULL)
  came <- if (is.null(fit$image_dim)) fit$pixels else fit$image_dim
  if (is.null(size)) return(came)
  size <- check_pair(size, "size")
  shape <- picture_dim(size, fit$model$n_dims)
  if (is.null(shape) || !is.null(came) && length(came) != length(shape)) {
    gps_abort(sprintf("`size` = %s does not fit components of %s.", shown_dim(size),
                      if (is.null(came)) sprintf("%d dimensions", fit$model$n_dims) else
                        shown_dim(came)))
  }
  shape
}

# Mean over the channels of coloured images: pixels x K.
grey_pixels <- function(values, image_dim) {
  if (length(image_dim) < 3) return(values)
  rowMeans(aperm(array(values, c(prod(image_dim[1:2]), image_dim[3], ncol(values))), c(1, 3, 2)),
           dims = 2)
}

# The range of a scale of colours: with 0, and not that alone.
colour_range <- function(values) {
  found <- range(values, 0)
  if (all(found == 0)) c(0, 1) else found
}

# Names of dimensions, or their numbers.
row_labels <- function(fit) {
  if (is.null(fit$col_names)) as.character(seq_len(fit$model$n_dims)) else
    abbreviate(fit$col_names, 12, named = FALSE)
}

# Images with titles in a part of the figure, and the scale of their colours.
draw_images <- function(part, values, size, titles, main, look, range = NULL,
                        n_cells = ncol(values), has_key = look$key) {
  if (is.null(range)) range <- colour_range(values)
  is_signed <- range[1] < 0
  paint <- function(values) image_colours(values, range, look$col)
  side <- if (has_key) key_lines(range) else 0.6
  in_part(part, c(0.4, 0.6, grid_top(main), side), {
    image_panel(values, size, titles, main, paint(values), n_cells,
                title_cex = given_or(look$title_cex, c(1, 0.85)))
    if (has_key) draw_key(range, paint)
  })
}

# Dimensions x components in colours. `below` is what stands under the columns, where there is room
# together with their names.
draw_heat <- function(part, values, rows, main, note, names, below, xlab, look, range = NULL,
                      has_key = look$key) {
  n <- dim(values)
  if (is.null(range)) range <- colour_range(values)
  paint <- function(values) image_colours(values, range, look$col)
  left <- if (is.null(rows)) 0.6 else 1 + name_lines(rows)
  mar <- c(if (nzchar(xlab)) 3.2 else 1.6, left, if (length(main) + length(note) > 1) 3 else 2,
           if (has_key) key_lines(range) else 0.6)
  in_part(part, mar, {
    graphics::plot.window(c(0, n[2]), c(n[1], 0), xaxs = "i", yaxs = "i")
    graphics::rasterImage(matrix(paint(values), n[1]), 0, n[1], n[2], 0, interpolate = FALSE)
    graphics::rect(0, 0, n[2], n[1], border = "grey60")
    if (!is.null(rows)) label_cells(2, rows)
    both <- paste0(names, ifelse(nzchar(names) & nzchar(below), ": ", ""), below)
    label_cells(1, if (all_fit(both, n[2])) both else if (all_fit(below, n[2]) && xlab == "") below
                else names)
    axis_title(xlab, 1, 1.8)
    sizes <- given_or(look$title_cex, c(1.1, 0.9))
    panel_title(main, note, c(mar[3] - 1.4, 0.4), sizes)
    if (has_key) draw_key(range, paint)
  }, 0.85)
}

# Whether labels of so many columns stand side by side.
all_fit <- function(labels, n) {
  room <- graphics::par("pin")[1] / n
  max(graphics::strwidth(labels, "inches", cex = 0.8)) < 0.85 * room
}

# Labels of rows (side 2) or columns (side 1), as many as stand apart.
label_cells <- function(side, labels) {
  n <- length(labels)
  room <- graphics::par("pin")[side] / n
  each <- if (side == 2) line_inches() else
    max(graphics::strwidth(labels, "inches", cex = 0.8)) + 0.3 * line_inches()
  shown <- labelled_places(n, floor(n * room / each))
  graphics::axis(side, shown - 0.5, labels[shown], las = 1, lwd = 0, cex.axis = 0.8, gap.axis = 0,
                 mgp = c(3, if (side == 2) 0.3 else 0.1, 0))
}

# Means of clusters from the mean of the mixture, in its standard deviations.
standardise_means <- function(params) {
  mu <- params$mu
  n_clusters <- ncol(mu)
  within <- vapply(seq_len(n_clusters), function(k) diag(cluster_covariance(params, k)), mu[, 1])
  dim(within) <- dim(mu)
  centre <- drop(mu %*% params$pi)
  spread <- sqrt(drop((within + (mu - centre)^2) %*% params$pi))
  (mu - centre) / spread
}
