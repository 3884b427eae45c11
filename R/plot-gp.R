# Pictures of a gp_fit: the function for one and two inputs, leave-one-out predictions for more.

#' Plot a Gaussian process
#'
#' One input: the mean of the function, a band of two standard deviations, and the data. Two inputs:
#' the mean in colours with contours, and the data points. More inputs: leave-one-out predictions
#' against the targets.
#'
#' @param x An object of class `gp_fit`.
#' @param target Whole number between 1 and H, or the name of a target: which one to draw.
#' @param n_grid Whole number of at least 2: grid points per axis, at most 1e5 (of two inputs 2000).
#' @param main Title; NULL: one that says what it shows.
#' @param col Colour of the function; with two inputs colours from the least value to the largest;
#'   NULL: those of the package.
#' @param key FALSE leaves out the legend or the scale of colours.
#' @param xlab,ylab Labels of the axes; NULL: the names of inputs and targets.
#' @param xlim,ylim Limits of the axes, two different numbers; NULL: what holds all that is shown.
#' @param pch,cex Symbol and size of the data points, see [graphics::points()].
#' @param ... Nothing; an unknown argument is an error that says which there are.
#' @return Invisibly, a list of what was drawn: `grid` and `mean`; with one input `lower` and
#'   `upper` as well; with more than two `mean`, the leave-one-out predictions, and `target`.
#' @seealso [gp_fit()], [predict.gp_fit()]
#' @examples
#' set.seed(1)
#' x <- seq(0, 6, length.out = 40)
#' plot(gp_fit(x, sin(x) + rnorm(40, sd = 0.1), kernel_rbf() + kernel_white(0.01)))
#' @export
plot.gp_fit <- function(x, target = 1, n_grid = if (ncol(x$x) == 1) 200 else 50, main = NULL,
                        col = NULL, key = TRUE, xlab = NULL, ylab = NULL, xlim = NULL, ylim = NULL,
                        pch = 16, cex = 0.7, ...) {
  check_gp_fit(x, "x", points = TRUE)
  refuse_gp(further(...), setdiff(names(formals(plot.gp_fit)), "x"))
  target <- check_target(target, x$targets)
  n_grid <- check_count(n_grid, "n_grid", lower = 2, upper = if (ncol(x$x) == 1) 1e5 else 2000)
  look <- new_look(main, col, key)
  look$labels <- list(check_label(xlab, "xlab"), check_label(ylab, "ylab"))
  look$limits <- list(check_axis_limits(xlim, "xlim"), check_axis_limits(ylim, "ylim"))
  look$mark <- check_mark(pch, cex)
  draw <- list(draw_line, draw_surface, draw_loo)[[min(ncol(x$x), 3)]]
  invisible(draw(x, target, n_grid, look))
}

check_label <- function(label, arg) {
  if (!is.null(label) && (!is.character(label) || length(label) != 1 || !is_text(label))) {
    abort_value(label, arg, "one text")
  }
  label
}

check_axis_limits <- function(limits, arg) {
  limits <- plain_numbers(limits)
  if (is.null(limits)) return(NULL)
  is_sound <- is.numeric(limits) && length(limits) == 2 && all(is.finite(limits)) &&
    limits[1] != limits[2]
  if (!is_sound) abort_value(limits, arg, "two different finite numbers")
  limits
}

check_mark <- function(pch, cex) {
  if (!(is.numeric(pch) || is.character(pch)) || length(pch) != 1 || is.na(pch)) {
    abort_value(pch, "pch", "one symbol, a number or a letter")
  }
  list(pch = pch, cex = check_number(cex, "cex", 0, open = TRUE))
}

check_target <- function(target, targets) {
  if (is.character(target)) {
    if (is.null(colnames(targets))) abort_value(target, "target", "a number: targets have no names")
    target <- match(check_choice(target, "target", colnames(targets)), colnames(targets))
  }
  check_count(target, "target", upper = ncol(targets))
}

# A range with some room on both sides.
spread_range <- function(x) {
  limits <- range(x)
  room <- if (diff(limits) > 0) 0.05 * diff(limits) else 1
  limits + c(-room, room)
}

axis_label <- function(x, i, fallback) {
  if (is.null(colnames(x))) fallback else colnames(x)[i]
}

target_label <- function(fit, target) {
  axis_label(fit$targets, target, if (ncol(fit$targets) == 1) "target" else paste("target", target))
}

draw_line <- function(fit, target, n_grid, look) {
  limits <- given_or(look$limits[[1]], spread_range(fit$x))
  grid <- seq(limits[1], limits[2], length.out = n_grid)
  found <- stats::predict(fit, grid)
  mean <- found$mean[, target]
  band <- 2 * sqrt(found$variance)
  colour <- series_ink(look, ink[["blue"]])
  ylim <- given_or(look$limits[[2]], range(mean - band, mean + band, fit$targets[, target]))
  draw_figure(axis_panel(
    whole_part, limits, ylim, given_or(look$labels[[1]], axis_label(fit$x, 1, "x")),
    given_or(look$labels[[2]], target_label(fit, target)), title_of(look, "Gaussian process"), {
      graphics::polygon(c(grid, rev(grid)), c(mean - band, rev(mean + band)), border = NA,
                        col = fade(colour, 0.25))
      graphics::points(fit$x[, 1], fit$targets[, target], pch = look$mark$pch, cex = look$mark$cex)
      graphics::lines(grid, mean, col = colour, lwd = 2)
      if (look$key) {
        top_legend(c("mean", "two standard deviations", "data"),
                   c(colour, fade(colour, 0.25), "black"), c(1, 0, 0), 2,
                   c(NA, 15, look$mark$pch), size = c(1, 1.6, look$mark$cex))
      }
    }
  ))
  list(grid = grid, mean = mean, lower = mean - band, upper = mean + band)
}

draw_surface <- function(fit, target, n_grid, look) {
  axes <- lapply(1:2, function(i) {
    limits <- given_or(look$limits[[i]], spread_range(fit$x[, i]))
    seq(limits[1], limits[2], length.out = n_grid)
  })
  points <- as.matrix(expand.grid(axes, KEEP.OUT.ATTRS = FALSE))
  dimnames(points) <- NULL
  mean <- matrix(stats::predict(fit, points)$mean[, target], n_grid)
  ramp <- if (is.null(look$col)) grDevices::hcl.colors(64, "Blues 3", rev = TRUE) else
    ramp_of(look$col, 64)
  limits <- widen(range(mean))
  draw_figure({
    mar <- panel_margins + c(0, 0, 0, if (look$key) key_lines(limits) - 0.5 else 0)
    axis_panel(
      whole_part, range(axes[[1]]), range(axes[[2]]),
      given_or(look$labels[[1]], axis_label(fit$x, 1, "x1")),
      given_or(look$labels[[2]], axis_label(fit$x, 2, "x2")),
      title_of(look, target_label(fit, target)), {
        graphics::image(axes[[1]], axes[[2]], mean, col = ramp, add = TRUE, useRaster = TRUE)
        if (diff(range(mean)) > 0) {
          graphics::contour(axes[[1]], axes[[2]], mean, add = TRUE, col = "grey40")
        }
        graphics::points(fit$x, pch = look$mark$pch, cex = look$mark$cex)
        if (look$key) {
          draw_key(limits, function(values) {
            ramp[1 + round(63 * (values - limits[1]) / diff(limits))]
          })
        }
      }, note = if (look$key) "mean in colours and contours; the data points",
      mar = mar, xaxs = "i", yaxs = "i"
    )
  })
  list(grid = axes, mean = mean)
}

draw_loo <- function(fit, target, n_grid, look) {
  mean <- gp_loo(fit)$mean[, target]
  seen <- fit$targets[, target]
  colour <- series_ink(look, ink[["blue"]])
  draw_figure(axis_panel(
    whole_part, given_or(look$limits[[1]], range(mean)), given_or(look$limits[[2]], range(seen)),
    given_or(look$labels[[1]], "leave-one-out prediction"),
    given_or(look$labels[[2]], target_label(fit, target)),
    title_of(look, "Leave-one-out predictions"), {
      graphics::abline(0, 1, col = colour, lwd = 1.5)
      graphics::points(mean, seen, pch = look$mark$pch, cex = look$mark$cex)
      if (look$key) top_legend(c("data", "equality"), c("black", colour), 0:1, 1.5,
                               c(look$mark$pch, NA), size = look$mark$cex)
    }
  ))
  list(grid = NULL, mean = mean, target = seen)
}
