# The figure "functions" of a mixture: what a learned selector has learned about its clusters.

grid_side <- 80L

# Regression functions of all clusters on a grid over the data: list(x, y, values [C x grid
# points]).
regression_functions <- function(fit, y) {
  selector <- resolve_selector(with_engine_of(fit$selector, fit), fit$model)
  task <- list(model = fit$model, selector = selector,
               n_threads = resolve_threads(fit$control$n_threads))
  selector <- train_selector(fit, task)
  if (is.null(selector$trained)) {
    gps_abort(paste("The figure \"functions\" needs a learned selector that leaves some clusters",
                    "out: selector_gp(), with `n_selected` below the number of clusters."))
  }
  sides <- lapply(1:2, function(d) {
    margin <- 0.08 * diff(widen(range(y[d, ])))
    seq(min(y[d, ]) - margin, max(y[d, ]) + margin, length.out = grid_side)
  })
  grid <- rbind(rep(sides[[1]], grid_side), rep(sides[[2]], each = grid_side))
  task$y <- grid
  found <- block_affinity(selector, task, NULL, new_block(0, ncol(grid)), NULL)
  list(x = sides[[1]], y = sides[[2]], values = rank_answer(found, fit$model$n_latents))
}

# Panels beyond this many, or smaller than so many lines of text a side, would be slivers.
most_functions <- 12L
least_side <- 5.5

# Rows and columns for n panels, or for as many as have room in a figure of so many lines. More
# than `most` are drawn only where they were asked for one by one.
arrange_panels <- function(n, figure, most = most_functions) {
  inner <- figure - c(7, 5)
  room <- pmax(1, floor(inner / least_side))
  n <- min(n, most, prod(room))
  columns <- seq(ceiling(n / room[2]), min(n, room[1]))
  rows <- ceiling(n / columns)
  # The largest shorter side, less the labels of its axes.
  best <- which.max(pmin(inner[1] / columns - 3.2, inner[2] / rows - 3.6))
  c(rows[best], columns[best])
}

draw_functions <- function(fit, look) {
  if (!is_mixture(fit) || fit$model$n_dims != 2) {
    gps_abort(paste("The figure \"functions\" needs a fit of model_gaussian_mixture() to data of",
                    "two dimensions, a plane over which functions can be drawn."))
  }
  y <- need_matrix(fit, "The figure \"functions\"")
  surface <- regression_functions(fit, y)
  n_all <- nrow(surface$values)
  asked <- chosen_latents(look, order(-component_usage(fit)), most_functions, fit$latent_names)
  ramp <- function_ramp(look$col)
  cluster <- most_probable_cluster(fit)
  draw_figure({
    size <- graphics::par("fin") / line_inches()
    layout <- arrange_panels(length(asked), size, length(asked))
    shown <- utils::head(asked, prod(layout))
    if (is.null(look$select)) shown <- sort(shown)
    limits <- widen(range(surface$values[shown, ]))
    title <- counted_title("Regression functions that rank the clusters", look, length(shown),
                           n_all)
    draw_functions_frame(fit, title_of(look, title), limits, ramp, look$key)
    parts <- split_part(rep(1, layout[2]), rep(1, layout[1]), functions_part(look$key))
    for (i in seq_along(shown)) {
      k <- shown[i]
      in_part(parts[[i]], c(1.8, 2.6, 1.8, 0.6), {
        draw_function(surface, k, limits, y, cluster == k, ramp,
                      paste("cluster", latent_labels(fit, k)))
      })
    }
  })
  values <- array(t(surface$values[shown, , drop = FALSE]), c(grid_side, grid_side, length(shown)),
                  list(NULL, NULL, latent_labels(fit, shown)))
  list(x = surface$x, y = surface$y, values = values)
}

# The part of the figure that the panels share: beside it labels, title and key.
functions_part <- function(key) {
  margins <- c(1.6, 1.8, 3.2, if (key) 5 else 0.5) * line_inches()
  margins <- margins / rep(graphics::par("fin")[2:1], 2)
  c(margins[2], 1 - margins[4], margins[1], 1 - margins[3])
}

# Title, names of the variables and key around the panels.
draw_functions_frame <- function(fit, main, limits, ramp, key) {
  labels <- if (is.null(fit$col_names)) paste("dimension", 1:2) else fit$col_names
  in_part(whole_part, c(1.6, 1.8, 3.2, if (key) 5 else 0.5), {
    graphics::plot.window(0:1, 0:1)
    note <- "affinity in colour, white line at one half; the cluster's points in orange"
    panel_title(main, if (key) note, c(1.6, 0.4))
    if (key) draw_key(limits, function(values) function_colours(values, limits, ramp))
    graphics::mtext(labels, 1:2, line = 0.4, cex = graphics::par("cex"))
  }, 1)
}

function_ramp <- function(col) {
  if (is.null(col)) grDevices::hcl.colors(64, "YlGnBu", rev = TRUE) else ramp_of(col, 64)
}

function_colours <- function(values, limits, ramp) {
  ramp[1 + round((length(ramp) - 1) * (values - limits[1]) / diff(limits))]
}

# One function over the plane with a contour at one half; the points of its cluster in orange.
draw_function <- function(surface, k, limits, y, is_own, ramp, main) {
  value <- matrix(surface$values[k, ], grid_side)
  graphics::plot.window(range(surface$x), range(surface$y), xaxs = "i", yaxs = "i")
  pixels <- matrix(function_colours(value, limits, ramp), grid_side)
  graphics::rasterImage(t(pixels)[grid_side:1, ], min(surface$x), min(surface$y), max(surface$x),
                        max(surface$y))
  if (limits[1] < 0.5 && limits[2] > 0.5) {
    graphics::contour(surface$x, surface$y, value, levels = 0.5, add = TRUE, drawlabels = FALSE,
                      col = "white", lwd = 1.5)
  }
  shown <- spaced_points(ncol(y))
  own <- is_own[shown]
  size <- point_size(length(shown))
  graphics::points(y[1, shown[!own]], y[2, shown[!own]], pch = 16, cex = 0.6 * size,
                   col = fade("grey20", 0.35))
  graphics::points(y[1, shown[own]], y[2, shown[own]], pch = 21, cex = size, bg = ink["orange"],
                   col = "white", lwd = 0.5)
  for (side in 1:2) draw_axis(side, 0.85)
  graphics::box(col = "grey60")
  graphics::title(main = main, adj = 0, line = 0.4, font.main = 1,
                  cex.main = fit_text(main, graphics::par("pin")[1]))
}
