# The figure "clusters" of a mixture: in the plane, or densities in one dimension.

most_points <- 5000L

# Ellipses are those of normal distributions.
need_gaussian_mixture <- function(fit) {
  if (is_mixture(fit)) return(invisible())
  gps_abort(paste("The figure \"clusters\" needs a fit of model_gaussian_mixture(), whose clusters",
                  "are ellipses. For other models: \"components\" and \"selection\"."))
}

draw_clusters <- function(fit, look) {
  need_gaussian_mixture(fit)
  y <- need_matrix(fit, "The figure \"clusters\"")
  n_clusters <- ncol(fit$params$mu)
  shown <- chosen_latents(look, order(-component_usage(fit)), n_clusters, fit$latent_names)
  if (is.null(look$select)) shown <- sort(shown)
  clusters <- data.frame(number = shown, label = latent_labels(fit, shown),
                         colour = series_ink(look, cluster_ink(shown)))
  if (nrow(y) == 1) return(draw_densities(fit, y, clusters, look))
  plane <- choose_plane(fit, y)
  cluster <- most_probable_cluster(fit)
  points <- which(cluster %in% shown)
  points <- points[spaced_points(length(points), most_points)]
  at <- crossprod(plane$axes, y[, points, drop = FALSE] - plane$centre) + plane$shift
  ellipses <- lapply(clusters$number, function(k) {
    centre <- drop(crossprod(plane$axes, fit$params$mu[, k] - plane$centre)) + plane$shift
    list(centre = centre,
         covariance = crossprod(plane$axes, cluster_covariance(fit$params, k) %*% plane$axes))
  })
  title <- counted_title("Data points by most probable cluster", look, length(shown), n_clusters)
  points <- data.frame(point = points, x = at[1, ], y = at[2, ],
                       cluster = match(cluster[points], clusters$number))
  draw_figure(draw_plane(points, ellipses, clusters, plane, title_of(look, title), look$key))
  points$cluster <- clusters$number[points$cluster]
  ends <- lapply(seq_along(ellipses), function(k) {
    outline <- ellipse_points(ellipses[[k]], 1)
    data.frame(cluster = clusters$number[k], x = outline[1, ], y = outline[2, ])
  })
  list(points = points, ellipses = do.call(rbind, ends))
}

# Points and ellipses in the plane; principal axes have one scale.
draw_plane <- function(points, ellipses, clusters, plane, main, key) {
  outline <- do.call(cbind, lapply(ellipses, ellipse_points, radius = 2))
  axis_panel(whole_part, range(points$x, outline[1, ]), range(points$y, outline[2, ]),
             plane$labels[1], plane$labels[2], main, {
    graphics::points(points$x, points$y, pch = cluster_symbol(clusters$number[points$cluster]),
                     cex = point_size(nrow(points)),
                     col = fade_each(clusters$colour[points$cluster], 0.6))
    for (k in seq_along(ellipses)) draw_ellipse(ellipses[[k]], clusters$colour[k])
    for (k in seq_along(ellipses)) {
      draw_label(ellipses[[k]]$centre, clusters$label[k], clusters$colour[k])
    }
  }, note = if (key) "ellipses of one and two standard deviations",
  asp = if (plane$is_principal) 1 else NA)
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
    return(list(axes = diag(2), centre = c(0, 0), shift = c(0, 0), labels = labels,
                is_principal = FALSE))
  }
  centre <- rowMeans(y)
  parts <- eigen(tcrossprod(y - centre) / ncol(y), symmetric = TRUE)
  share <- percent(parts$values[1:2] / sum(pmax(parts$values, 0)))
  list(axes = parts$vectors[, 1:2], centre = centre, shift = c(0, 0), is_principal = TRUE,
       labels = sprintf("principal component %d (%s of the variance)", 1:2, share))
}

# 2 x 100 points of the ellipse at a Mahalanobis distance.
ellipse_points <- function(ellipse, radius) {
  angle <- seq(0, 2 * pi, length.out = 100)
  parts <- eigen(ellipse$covariance, symmetric = TRUE)
  circle <- radius * rbind(cos(angle), sin(angle))
  parts$vectors %*% (sqrt(pmax(parts$values, 0)) * circle) + ellipse$centre
}

draw_ellipse <- function(ellipse, colour) {
  for (radius in 1:2) {
    outline <- ellipse_points(ellipse, radius)
    graphics::polygon(outline[1, ], outline[2, ], border = colour, lwd = 2, lty = radius)
  }
}

# The number or name of a cluster on white, above whatever lies there.
draw_label <- function(centre, label, colour) {
  half <- 0.58 * graphics::strwidth(label, "inches", cex = 0.8, font = 2)
  x <- graphics::grconvertX(centre[1], "user", "inches")
  y <- graphics::grconvertY(centre[2], "user", "inches")
  high <- 0.45 * line_inches()
  wide <- max(half, high)
  graphics::rect(graphics::grconvertX(x - wide, "inches", "user"),
                 graphics::grconvertY(y - high, "inches", "user"),
                 graphics::grconvertX(x + wide, "inches", "user"),
                 graphics::grconvertY(y + high, "inches", "user"),
                 col = fade("white", 0.75), border = colour, lwd = 1.5, xpd = NA)
  graphics::text(centre[1], centre[2], label, font = 2, cex = 0.8, xpd = NA)
}

# One dimension: histogram, the clusters' densities and their sum.
draw_densities <- function(fit, y, clusters, look) {
  # One value far out would ask for more bars than can be counted.
  n_bars <- if (diff(range(y)) > 0) min(80, grDevices::nclass.FD(y[1, ])) else 1
  bars <- graphics::hist(y[1, ], breaks = n_bars, plot = FALSE)
  at <- seq(min(bars$breaks), max(bars$breaks), length.out = 400)
  density <- vapply(seq_len(ncol(fit$params$mu)), function(k) {
    fit$params$pi[k] * stats::dnorm(at, fit$params$mu[1, k],
                                    sqrt(cluster_covariance(fit$params, k)[1]))
  }, at)
  draw_figure(axis_panel(
    whole_part, range(at), c(0, 1.08 * max(bars$density, rowSums(density))),
    if (is.null(fit$col_names)) "y" else fit$col_names, "density",
    title_of(look, "Data and clusters"), {
      graphics::rect(bars$breaks[-length(bars$breaks)], 0, bars$breaks[-1], bars$density,
                     col = "grey88", border = "white")
      graphics::lines(at, rowSums(density), lty = 2, lwd = 1.5)
      for (i in seq_len(nrow(clusters))) draw_density(at, density, clusters[i, ])
      if (look$key) {
        top_legend(c("clusters (numbered)", "mixture", "data"),
                   c(clusters$colour[1], "black", "grey80"), c(1, 2, 0), c(2, 1.5, 0),
                   c(NA, NA, 15), size = 1.6)
      }
    }
  ))
  numbers <- clusters$number
  list(bars = data.frame(from = bars$breaks[-length(bars$breaks)], to = bars$breaks[-1],
                         density = bars$density),
       densities = data.frame(cluster = rep(numbers, each = length(at)),
                              y = rep(at, length(numbers)), density = c(density[, numbers])))
}

draw_density <- function(at, density, cluster) {
  own <- density[, cluster$number]
  graphics::lines(at, own, col = cluster$colour, lwd = 2)
  draw_label(c(at[which.max(own)], max(own)), cluster$label, cluster$colour)
}
