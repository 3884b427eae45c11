# Pictures of a gp_fit: the function for one and two inputs, leave-one-out predictions for more.

#' Plot a Gaussian process
#'
#' One input: the mean of the function, a band of two standard deviations, and the data. Two inputs:
#' the mean as an image with contours, and the data points. More inputs: leave-one-out predictions
#' against the targets.
#'
#' @param x An object of class `gp_fit`.
#' @param target Whole number between 1 and H, or the name of a target: which one to draw.
#' @param n_grid Whole number of at least 2: grid points per axis, at most 1e5 (of two inputs 2000).
#' @param ... Further graphical parameters for [graphics::plot()] or [graphics::image()]: `main`,
#'   `sub`, `xlab`, `ylab`, `xlim`, `ylim`, `log`, `asp`, `axes`, `ann`, `bty`, `las` and other
#'   parameters of [graphics::par()]; `col`, `lwd` and `lty` of the line or, as `col`, the colours
#'   of the image, `pch` and `cex` of the points. What would have no effect is refused.
#' @return Invisibly, a list of what was drawn: `grid` and `mean`, and with one input `lower` and
#'   `upper`.
#' @examples
#' x <- seq(0, 6, length.out = 30)
#' plot(gp_fit(x, sin(x), kernel_rbf() + kernel_white(0.01)))
#' @export
plot.gp_fit <- function(x, target = 1, n_grid = if (ncol(x$x) == 1) 200 else 50, ...) {
  check_gp_fit(x, "x", points = TRUE)
  extra <- list(...)
  refuse_unknown(extra[!names(extra) %in% graphical_names(ncol(x$x))],
                 c("target", "n_grid", utils::head(graphical_names(ncol(x$x)), 10)))
  target <- check_target(target, x$targets)
  n_grid <- check_count(n_grid, "n_grid", lower = 2, upper = if (ncol(x$x) == 1) 1e5 else 2000)
  switch(min(ncol(x$x), 3), plot_line(x, target, n_grid, ...), plot_image(x, target, n_grid, ...),
         plot_loo(x, target, ...))
}

# Graphical parameters that have an effect in the picture for so many inputs.
graphical_names <- function(n_dims) {
  common <- c("main", "sub", "xlab", "ylab", "xlim", "ylim", "col", "pch", "cex", "asp", "axes",
              "ann", "frame.plot", "panel.first", "panel.last", "adj", "bg", "bty", "cex.axis",
              "cex.lab", "cex.main", "cex.sub", "col.axis", "col.lab", "col.main", "col.sub",
              "family", "fg", "font", "font.axis", "font.lab", "font.main", "font.sub", "lab",
              "las", "mgp", "tck", "tcl", "xaxp", "xaxs", "xaxt", "xpd", "yaxp", "yaxs", "yaxt")
  c(common, if (n_dims == 2) c("zlim", "breaks", "useRaster") else c("lwd", "lty", "log"))
}

check_target <- function(target, targets) {
  if (is.character(target)) {
    if (is.null(colnames(targets))) abort_value(target, "target", "a number: targets have no names")
    target <- match(check_choice(target, "target", colnames(targets)), colnames(targets))
  }
  check_count(target, "target", upper = ncol(targets))
}

# A range with some room on both sides.
spread_range <- function(x, share = 0.05) {
  limits <- range(x)
  room <- if (diff(limits) > 0) share * diff(limits) else 1
  limits + c(-room, room)
}

axis_label <- function(x, i, fallback) {
  if (is.null(colnames(x))) fallback else colnames(x)[i]
}

target_label <- function(fit, target) {
  axis_label(fit$targets, target, if (ncol(fit$targets) == 1) "target" else paste("target", target))
}

plot_line <- function(fit, target, n_grid, xlab = axis_label(fit$x, 1, "x"),
                      ylab = target_label(fit, target), ylim = NULL, pch = 16, cex = 0.6,
                      col = "steelblue", lwd = 2, lty = 1, ...) {
  limits <- spread_range(fit$x)
  grid <- seq(limits[1], limits[2], length.out = n_grid)
  found <- stats::predict(fit, grid)
  mean <- found$mean[, target]
  band <- 2 * sqrt(found$variance)
  if (is.null(ylim)) ylim <- range(mean - band, mean + band, fit$targets[, target])
  graphics::plot(limits, ylim, type = "n", xlab = xlab, ylab = ylab, ...)
  graphics::polygon(c(grid, rev(grid)), c(mean - band, rev(mean + band)), border = NA,
                    col = grDevices::adjustcolor(col, 0.25))
  graphics::points(fit$x[, 1], fit$targets[, target], pch = pch, cex = cex)
  graphics::lines(grid, mean, col = col, lwd = lwd, lty = lty)
  invisible(list(grid = grid, mean = mean, lower = mean - band, upper = mean + band))
}

plot_image <- function(fit, target, n_grid, xlab = axis_label(fit$x, 1, "x1"),
                       ylab = axis_label(fit$x, 2, "x2"), main = target_label(fit, target),
                       col = grDevices::hcl.colors(64, "Blues 3", rev = TRUE), pch = 16, cex = 0.5,
                       ...) {
  axes <- lapply(1:2, function(i) {
    limits <- spread_range(fit$x[, i])
    seq(limits[1], limits[2], length.out = n_grid)
  })
  points <- as.matrix(expand.grid(axes, KEEP.OUT.ATTRS = FALSE))
  dimnames(points) <- NULL
  mean <- matrix(stats::predict(fit, points)$mean[, target], n_grid)
  graphics::image(axes[[1]], axes[[2]], mean, xlab = xlab, ylab = ylab, main = main, col = col, ...)
  if (diff(range(mean)) > 0) {
    graphics::contour(axes[[1]], axes[[2]], mean, add = TRUE, col = "grey40")
  }
  graphics::points(fit$x, pch = pch, cex = cex)
  invisible(list(grid = axes, mean = mean))
}

plot_loo <- function(fit, target, xlab = "leave-one-out prediction",
                     ylab = target_label(fit, target), pch = 16, cex = 0.6, col = "steelblue",
                     lwd = 1, lty = 1, ...) {
  mean <- gp_loo(fit)$mean[, target]
  graphics::plot(mean, fit$targets[, target], pch = pch, cex = cex, xlab = xlab, ylab = ylab, ...)
  graphics::abline(0, 1, col = col, lwd = lwd, lty = lty)
  invisible(list(grid = NULL, mean = mean))
}
