# Figures of mixtures: clusters in the plane, and what a learned selector has learned about them.

most_points <- 5000L

draw_clusters <- function(fit) {
  if (!is_mixture(fit)) gps_abort("The figure \"clusters\" needs a fit of a mixture.")
  y <- need_matrix(fit, "The figure \"clusters\"")
  if (nrow(y) == 1) return(draw_densities(fit, y))
  plane <- choose_plane(fit, y)
  shown <- unique(round(seq(1, ncol(y), length.out = min(ncol(y), most_points))))
  cluster <- most_probable_cluster(fit)[shown]
  at <- crossprod(plane$axes, y[, shown, drop = FALSE] - plane$centre) + plane$shift
  ellipses <- lapply(seq_len(ncol(fit$params$mu)), function(k) {
    centre <- drop(crossprod(plane$axes, fit$params$mu[, k] - plane$centre)) + plane$shift
    list(centre = centre,
         covariance = crossprod(plane$axes, cluster_covariance(fit$params, k) %*% plane$axes))
  })
  with_par(list(mar = panel_margins), {
    outline <- do.call(cbind, lapply(ellipses, ellipse_points, radius = 2))
    open_panel(range(at[1, ], outline[1, ]), range(at[2, ], outline[2, ]), plane$labels[1],
               plane$labels[2],
               "Data points by most probable cluster", asp = if (nrow(y) > 2) 1 else NA)
    panel_note("ellipses of one and two standard deviations")
    graphics::points(at[1, ], at[2, ], pch = cluster_symbol(cluster),
                     cex = point_size(length(shown)),
                     col = fade_each(cluster_ink(cluster), 0.6))
    for (k in seq_along(ellipses)) draw_ellipse(ellipses[[k]], k)
    for (k in seq_along(ellipses)) draw_label(ellipses[[k]]$centre, k)
  })
}

point_size <- function(n) if (n <= 500) 0.9 else if (n <= 2000) 0.7 else 0.5

fade_each <- function(colours, alpha) {
  known <- unique(colours)
  vapply(known, fade, "", alpha = alpha)[match(colours, known)]
}

# The two variables themselves, or the first two principal components of the data.
choose_plane <- function(fit, y) {
  if (nrow(y) == 2) {
    labels <- if (is.null(fit$col_names)) paste("dimension", 1:2) else fit$col_names
    return(list(axes = diag(2), centre = c(0, 0), shift = c(0, 0), labels = labels))
  }
  centre <- rowMeans(y)
  parts <- eigen(tcrossprod(y - centre) / ncol(y), symmetric = TRUE)
  share <- percent(parts$values[1:2] / sum(pmax(parts$values, 0)))
  list(axes = parts$vectors[, 1:2], centre = centre, shift = c(0, 0),
       labels = sprintf("principal component %d (%s of the variance)", 1:2, share))
}

# 2 x 100 points of the ellipse at a Mahalanobis distance.
ellipse_points <- function(ellipse, radius) {
  angle <- seq(0, 2 * pi, length.out = 100)
  parts <- eigen(ellipse$covariance, symmetric = TRUE)
  circle <- radius * rbind(cos(angle), sin(angle))
  parts$vectors %*% (sqrt(pmax(parts$values, 0)) * circle) + ellipse$centre
}

draw_ellipse <- function(ellipse, k) {
  for (radius in 1:2) {
    outline <- ellipse_points(ellipse, radius)
    graphics::polygon(outline[1, ], outline[2, ], border = cluster_ink(k), lwd = 2, lty = radius)
  }
}

# The number of a cluster on a white disc, above whatever lies there.
draw_label <- function(centre, k) {
  graphics::points(centre[1], centre[2], pch = 21, cex = 3, bg = "white", col = cluster_ink(k),
                   lwd = 2)
  graphics::text(centre[1], centre[2], k, font = 2, cex = 0.9)
}

# One dimension: histogram, the clusters' densities and their sum.
draw_densities <- function(fit, y) {
  n_clusters <- ncol(fit$params$mu)
  # One value far out would ask for more bars than can be counted.
  n_bars <- if (diff(range(y)) > 0) min(80, grDevices::nclass.FD(y[1, ])) else 1
  bars <- graphics::hist(y[1, ], breaks = n_bars, plot = FALSE)
  at <- seq(min(bars$breaks), max(bars$breaks), length.out = 400)
  density <- vapply(seq_len(n_clusters), function(k) {
    fit$params$pi[k] * stats::dnorm(at, fit$params$mu[1, k],
                                    sqrt(cluster_covariance(fit$params, k)[1]))
  }, at)
  with_par(list(mar = panel_margins), {
    open_panel(range(at), c(0, max(bars$density, rowSums(density))),
               if (is.null(fit$col_names)) "y" else fit$col_names, "density", "Data and clusters")
    graphics::rect(bars$breaks[-length(bars$breaks)], 0, bars$breaks[-1], bars$density,
                   col = "grey88", border = "white")
    for (k in seq_len(n_clusters)) graphics::lines(at, density[, k], col = cluster_ink(k), lwd = 2)
    graphics::lines(at, rowSums(density), lty = 2, lwd = 1.5)
    for (k in seq_len(n_clusters)) draw_label(c(at[which.max(density[, k])], max(density[, k])), k)
    top_legend(c("clusters (numbered)", "mixture", "data"),
               col = c(cluster_ink(1), "black", "grey80"), lwd = c(2, 1.5, NA),
               lty = c(1, 2, 0), pch = c(NA, NA, 15), pt.cex = 1.8)
  })
}

grid_side <- 80L

# Regression functions of all clusters on a grid over the data: list(x, y, values [C x grid
# points]).
regression_functions <- function(fit, y) {
  selector <- resolve_selector(with_engine_of(fit$selector, fit), fit$model)
  task <- list(model = fit$model, selector = selector,
               n_threads = resolve_threads(fit$control$n_threads))
  selector <- train_selector(fit, task)
  if (is.null(selector$trained)) {
    gps_abort("The figure \"functions\" needs a learned selector that leaves some clusters out.")
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

# Panels beyond this many, or smaller than so many inches a side, would be slivers.
most_functions <- 12L
least_side <- 1.1

# Rows and columns for n panels, or for as many as have room on a device of so many inches.
arrange_panels <- function(n, device) {
  most <- pmax(1, floor((device - c(1.4, 1)) / least_side))[2:1]
  n <- min(n, most_functions, prod(most))
  columns <- min(grDevices::n2mfrow(n)[1], most[2])
  columns <- max(columns, ceiling(n / most[1]))
  c(ceiling(n / columns), columns)
}

# Numbers of the latents that are on most, in ascending order.
most_used <- function(fit, n) sort(utils::head(order(-component_usage(fit)), n))

draw_functions <- function(fit) {
  if (!is_mixture(fit) || fit$model$n_dims != 2) {
    gps_abort("The figure \"functions\" needs a fit of a mixture in two dimensions.")
  }
  y <- need_matrix(fit, "The figure \"functions\"")
  surface <- regression_functions(fit, y)
  layout <- arrange_panels(nrow(surface$values), graphics::par("din"))
  shown <- most_used(fit, min(nrow(surface$values), prod(layout)))
  n_clusters <- length(shown)
  limits <- widen(range(surface$values[shown, ]))
  cluster <- most_probable_cluster(fit)
  labels <- if (is.null(fit$col_names)) paste("dimension", 1:2) else fit$col_names
  page <- list(mfrow = layout, mar = c(1.8, 2.6, 1.8, 0.6),
               oma = c(1.6, 1.8, 3.2, 5), cex = 1)
  with_par(page, {
    for (k in shown) draw_function(surface, k, limits, y, cluster)
    title <- "Regression functions that rank the clusters"
    if (n_clusters < nrow(surface$values)) {
      title <- sprintf("%s (the %d most used of %d)", title, n_clusters, nrow(surface$values))
    }
    note <- "affinity in colour, white line at one half; the cluster's points in orange"
    room <- graphics::par("din")[1] - sum(graphics::par("omi")[c(2, 4)])
    graphics::mtext(title, outer = TRUE, adj = 0, line = 1.6, font = 2,
                    cex = fit_text(title, room, 1.1, 2))
    graphics::mtext(note, outer = TRUE, adj = 0, line = 0.4, cex = fit_text(note, room, 0.9),
                    col = "grey30")
    graphics::mtext(labels[1], 1, outer = TRUE, line = 0.4)
    graphics::mtext(labels[2], 2, outer = TRUE, line = 0.5)
    draw_key(limits, function(values) function_colours(values, limits))
  })
}

function_colours <- function(values, limits) {
  palette <- grDevices::hcl.colors(64, "YlGnBu", rev = TRUE)
  palette[1 + round(63 * (values - limits[1]) / diff(limits))]
}

# One function over the plane with a contour at one half; the points of its cluster in the cluster's
# colour.
draw_function <- function(surface, k, limits, y, cluster) {
  value <- matrix(surface$values[k, ], grid_side)
  graphics::plot.new()
  graphics::plot.window(range(surface$x), range(surface$y), xaxs = "i", yaxs = "i")
  pixels <- matrix(function_colours(value, limits), grid_side)
  graphics::rasterImage(t(pixels)[grid_side:1, ], min(surface$x), min(surface$y), max(surface$x),
                        max(surface$y))
  if (limits[1] < 0.5 && limits[2] > 0.5) {
    graphics::contour(surface$x, surface$y, value, levels = 0.5, add = TRUE, drawlabels = FALSE,
                      col = "white", lwd = 1.5)
  }
  shown <- unique(round(seq(1, ncol(y), length.out = min(ncol(y), 1000))))
  own <- cluster[shown] == k
  size <- point_size(length(shown))
  graphics::points(y[1, shown[!own]], y[2, shown[!own]], pch = 16, cex = 0.6 * size,
                   col = fade("grey20", 0.35))
  graphics::points(y[1, shown[own]], y[2, shown[own]], pch = 21, cex = size, bg = ink["orange"],
                   col = "white", lwd = 0.5)
  for (side in 1:2) draw_axis(side, 0.85)
  graphics::box(col = "grey60")
  graphics::title(main = paste("cluster", k), adj = 0, line = 0.4, font.main = 1, cex.main = 1)
}
