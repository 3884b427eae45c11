# Figures of components with locations (model E): their masks and features, and scenes with what was
# found in them.

# Components on in a smaller share of the images are pale.
surplus_share <- function(model) min(0.05, 1 / model$n_components)

# Most scenes in one figure.
most_scenes <- 6L

# Colours of components, used again beyond twelve.
component_ink <- function(model) {
  more <- c("#8C2D04", "#5E3C99", "#8DB600", "#E7298A", "#1B3A6B", "#00A6A6")
  rep_len(c(unname(ink[1:6]), more), model$n_components)
}

# Values that are black and white: those of the background and of what components own.
picture_limits <- function(fit) {
  params <- fit$params
  is_own <- rep(params$alpha > 0.5, fit$model$n_channels)
  if (!any(is_own)) return(fit$model$lowest + c(0, fit$model$extent))
  widen(range(params$background, params$w[is_own]))
}

# Numbers in the order of as.vector(image) as a raster: colours of three channels, grey of others
# (their mean); black and white at `limits`. NA is transparent.
picture_raster <- function(values, size, limits, fade = 0) {
  values <- matrix(values, prod(size))
  if (ncol(values) != 3) values <- matrix(rowMeans(values), nrow(values), 3)
  values <- pmin(pmax((values - limits[1]) / diff(limits), 0), 1)
  values <- fade + (1 - fade) * values
  is_blank <- is.na(rowSums(values))
  values[is_blank, ] <- 0
  colours <- grDevices::rgb(values[, 1], values[, 2], values[, 3])
  colours[is_blank] <- NA
  grDevices::as.raster(matrix(colours, size[1]))
}

# ---- components ----

# Masks, features and what of these is owned, one column a component; with `truth` the true objects
# below, in whose order the components stand then.
draw_occlusive <- function(fit, truth = NULL) {
  match <- if (!is.null(truth)) match_components(fit, truth)
  order <- order(-fit$params$pi)
  if (!is.null(match)) {
    pair <- match$permutation
    order <- c(pair, setdiff(order, pair))
  }
  shown <- utils::head(order, most_shown)
  columns <- lapply(shown, component_pictures, fit = fit)
  labels <- component_labels(fit, shown, match)
  rows <- c("mask", "features", "mask > 0.5")
  note <- sprintf("Above: component, share of images in which it is on (pi)%s.",
                  if (any(labels$is_pale)) {
                    paste(". Pale: less than", percent(surplus_share(fit$model)))
                  } else {
                    ""
                  })
  if (!is.null(truth)) {
    columns <- add_objects(columns, truth)
    rows <- c(rows, "true object")
    note <- paste(note, "Below: best cosine with the true object.")
  }
  main <- "Components"
  if (length(shown) < length(order)) {
    main <- sprintf("Components (the first %d of %d)", length(shown), length(order))
  }
  draw_columns(columns, labels, rows, main, note)
}

# What stands above and below each column.
component_labels <- function(fit, shown, match) {
  pi <- fit$params$pi[shown]
  known <- is.finite(shown)
  top <- ifelse(known, shown, "none")
  list(top = top, share = ifelse(known, percent(pi), ""),
       is_pale = known & pi < surplus_share(fit$model),
       below = if (!is.null(match)) {
         c(ifelse(is.na(match$permutation), "", sprintf("%.2f", match$similarity)),
           rep("", length(shown)))[seq_along(shown)]
       })
}

# Rasters of one component; none of the component NA.
component_pictures <- function(h, fit) {
  if (is.na(h)) return(list(NULL, NULL, NULL))
  size <- fit$model$size
  mask <- fit$params$alpha[h, , ]
  features <- matrix(fit$params$w[h, , , ], prod(size))
  owned <- features
  owned[mask <= 0.5, ] <- NA
  limits <- picture_limits(fit)
  list(grDevices::as.raster(matrix(grDevices::grey(1 - mask), size[1])),
       picture_raster(features, size, limits), picture_raster(owned, size, limits))
}

# The columns with the picture of a true object each, as far as there are any.
add_objects <- function(columns, truth) {
  pictures <- get_pictures(truth, "truth")
  size <- dim(pictures)[2:3]
  lapply(seq_along(columns), function(k) {
    if (k > dim(pictures)[1]) return(c(columns[[k]], list(NULL)))
    values <- matrix(pictures[k, , , ], prod(size))
    values[rowSums(values != 0) == 0, ] <- NA
    c(columns[[k]], list(picture_raster(values, size, range(0, 1, pictures))))
  })
}

# Columns of rasters in as many bands as give the largest pictures; inches.
draw_columns <- function(columns, labels, rows, main, note) {
  n <- length(columns)
  with_par(list(mfrow = c(1, 1), mar = c(1.6, 0.5, 1.8, 0.5), cex = 1), {
    graphics::plot.new()
    room <- graphics::par("pin")
    graphics::plot.window(c(0, room[1]), c(0, room[2]), xaxs = "i", yaxs = "i")
    line <- graphics::par("cin")[2]
    left <- 1.08 * max(graphics::strwidth(rows, "inches", cex = 0.8))
    extra <- line * (1.9 + 0.8 * !is.null(labels$below))
    n_bands <- seq_len(n)
    # The size of a picture with a tenth of it as a gap.
    side <- pmin((room[1] - left) / ceiling(n / n_bands) / 1.1,
                 (room[2] / n_bands - extra) / length(rows) / 1.1)
    # Few bands where the pictures are hardly smaller.
    best <- which(side > 0.9 * max(side))[1]
    n_columns <- ceiling(n / best)
    for (k in seq_len(n)) {
      place <- c(left + (k - 1) %% n_columns * side[best] * 1.1,
                 room[2] - (k - 1) %/% n_columns * (extra + 1.1 * length(rows) * side[best]))
      draw_column(columns[[k]], lapply(labels, `[`, k), place, side[best], line,
                  if ((k - 1) %% n_columns == 0) rows)
    }
    graphics::title(main = main, adj = 0, line = 0.5, font.main = 2, cex.main = 1.1)
    graphics::mtext(note, 1, line = 0.3, adj = 0, cex = fit_text(note, room[1], 0.75),
                    col = "grey30")
  })
}

# One column whose top left corner is at `place`; names of rows on its left.
draw_column <- function(pictures, label, place, side, line, rows) {
  pale <- isTRUE(label$is_pale)
  colour <- if (pale) "grey60" else "black"
  middle <- place[1] + side / 2
  write <- function(text, y, cex, font = 1) {
    graphics::text(middle, y, text, cex = fit_text(text, 1.05 * side, cex, font), font = font,
                   col = colour)
  }
  write(label$top, place[2] - 0.45 * line, 0.8, 2)
  write(label$share, place[2] - 1.25 * line, 0.75)
  top <- place[2] - 1.8 * line - (seq_along(pictures) - 1) * 1.1 * side
  for (i in seq_along(pictures)) {
    if (!is.null(pictures[[i]])) {
      draw_picture(pictures[[i]], place[1], top[i], side)
      if (pale && i <= 3) {
        graphics::rect(place[1], top[i] - side, place[1] + side, top[i],
                       col = fade("white", 0.6), border = NA)
      }
    }
    if (!is.null(rows)) {
      graphics::text(place[1] - 0.06, top[i] - side / 2, rows[i], adj = c(1, 0.5), cex = 0.8)
    }
  }
  colour <- "black"
  if (!is.null(label$below)) write(label$below, top[length(top)] - side - 0.5 * line, 0.75)
}

# A raster in a square, its longer side filled.
draw_picture <- function(picture, left, top, side) {
  size <- dim(picture) / max(dim(picture)) * side
  left <- left + (side - size[2]) / 2
  top <- top - (side - size[1]) / 2
  graphics::rasterImage(picture, left, top - size[1], left + size[2], top, interpolate = FALSE)
  graphics::rect(left, top - size[1], left + size[2], top, border = "grey60", lwd = 0.5)
}

# ---- scenes ----

# Scenes, one a row: data, candidates, reconstruction, owners of pixels.
draw_scenes <- function(fit, points = NULL) {
  check_locations(fit, "The figure \"scene\"")
  need_data(fit, "The figure \"scene\"")
  points <- if (is.null(points)) 1L else check_point_numbers(points, fit$n_points, "point")
  if (length(points) > most_scenes) {
    gps_abort(sprintf("`point` must be at most %d points, not %d.", most_scenes, length(points)))
  }
  with_par(list(mfrow = c(1, 1), oma = c(0.2, 0.3, 0.2, 0.3),
                mar = c(0.2, 0.2, 1.2, 0.2), cex = 1), {
    n_across <- scenes_across(length(points), graphics::par("din"))
    n_down <- ceiling(length(points) / n_across)
    graphics::layout(matrix(seq_len(4 * n_across * n_down), ncol = 4 * n_across, byrow = TRUE))
    graphics::par(cex = 1)
    for (i in seq_along(points)) {
      draw_scene_row(fit, points[i], if (i <= n_across) scene_titles else rep("", 3))
    }
  })
}

scene_titles <- c("candidates", "reconstruction", "owners")

# How many scenes stand beside each other on a page of so many inches.
scenes_across <- function(n, page) {
  across <- seq_len(n)
  which.max(pmin(page[1] / (4 * across), page[2] / ceiling(n / across) - 0.3))
}

draw_scene_row <- function(fit, point, titles) {
  model <- fit$model
  states <- states_of_point(fit, point, "The figure \"scene\"", "response")
  limits <- picture_limits(fit)
  raster <- function(values, fade = 0) picture_raster(values, model$grid, limits, fade)
  inks <- component_ink(model)
  name <- if (is.null(fit$row_names)) paste("point", point) else fit$row_names[point]
  open_scene(raster(rows_data(fit$y, point)), name)
  open_scene(raster(rows_data(fit$y, point), 0.6), titles[1])
  draw_candidates(model, fit$selected[, point], fit$prob_on[, point], inks)
  open_scene(raster(states$response), titles[2])
  draw_owners(model, fit, point, states, inks, titles[3])
}

# A panel with a picture, its pixels one unit wide, the top left corner at (0, 0).
open_scene <- function(picture, title) {
  size <- dim(picture)
  graphics::plot.new()
  graphics::plot.window(c(0, size[2]), c(size[1], 0), asp = 1, xaxs = "i", yaxs = "i")
  graphics::rasterImage(picture, 0, size[1], size[2], 0, interpolate = FALSE)
  graphics::rect(0, size[1], size[2], 0, border = "grey60", lwd = 0.5)
  graphics::text(size[2] / 2, -0.05 * size[2] / picture_width(size), title, font = 2, xpd = NA,
                 adj = c(0.5, 0), cex = fit_text("reconstruction", graphics::par("fin")[1], 0.8, 2))
}

# Inches of the picture in the panel.
picture_width <- function(size) {
  size[2] * graphics::par("pin")[1] / diff(graphics::par("usr")[1:2])
}

# Windows of the candidates, as wide as they are probable, dashed below 5 %; what leaves the image
# comes back on the other side.
draw_candidates <- function(model, selected, prob_on, inks) {
  held <- which(selected > 0)
  held <- held[order(prob_on[held])]
  place <- locate_latents(model, selected[held])
  colour <- inks[place$component]
  usr <- graphics::par("usr")
  on.exit(do.call(graphics::clip, as.list(usr)))
  graphics::clip(0, model$grid[2], 0, model$grid[1])
  shifts <- expand.grid(row = c(0, -model$grid[1]), column = c(0, -model$grid[2]))
  # Those in the same place lie inside each other.
  inset <- 0.2 * (seq_along(held) - 1)
  for (s in seq_len(nrow(shifts))) {
    top <- place$row - 1 + shifts$row[s]
    left <- place$column - 1 + shifts$column[s]
    graphics::rect(left + inset, top + model$size[1] - inset, left + model$size[2] - inset,
                   top + inset, border = colour, lwd = 0.8 + 1.7 * prob_on[held],
                   lty = ifelse(prob_on[held] < 0.05, 2, 1))
  }
  middle <- function(corner, axis) (corner - 1 + model$size[axis] / 2) %% model$grid[axis]
  named <- prob_on[held] >= 0.05
  write_numbers(middle(place$column, 2)[named], middle(place$row, 1)[named],
                place$component[named], colour[named], model$grid)
}

# Bold numbers on white, moved down where one stands already.
write_numbers <- function(x, y, numbers, colour, size) {
  if (length(numbers) == 0) return(invisible())
  inches <- picture_width(size)
  cex <- min(0.8, 0.5 * inches)
  half <- 0.6 * size[2] / inches
  width <- half * graphics::strwidth(numbers, "inches", cex = cex, font = 2)
  height <- half * 1.3 * graphics::strheight("0", "inches", cex = cex, font = 2)
  for (i in seq_along(numbers)) {
    others <- seq_len(i - 1)
    while (any(abs(x[others] - x[i]) < width[others] + width[i] &
                 abs(y[others] - y[i]) < 2 * height)) {
      y[i] <- y[i] + height / 2
    }
    graphics::rect(x[i] - width[i] - height / 4, y[i] + height, x[i] + width[i] + height / 4,
                   y[i] - height, col = fade("white", 0.85), border = NA)
    graphics::text(x[i], y[i], numbers[i], cex = cex, font = 2, col = colour[i])
  }
}

# Colours of components mixed as probably as they own a pixel; the background is white.
draw_owners <- function(model, fit, point, states, inks, title) {
  selected <- states$selected
  share <- own_pixels(model, fit$params, rows_data(fit$y, point), selected, states$on,
                      states$prob)
  share <- matrix(share, prod(model$grid))
  number <- choice_of(model, selected)
  colours <- rbind(255, t(grDevices::col2rgb(c("white", inks)))[1 + number, , drop = FALSE])
  mixed <- pmin(share %*% colours / 255, 1)
  open_scene(picture_raster(mixed, model$grid, c(0, 1)), title)
  owner <- max.col(share, "first") - 1
  for (slot in unique(owner[owner > 0])) {
    at <- inner_pixel(model, which(owner == slot))
    if (!is.null(at)) {
      write_numbers(at[2] - 0.5, at[1] - 0.5, number[slot], inks[number[slot]], model$grid)
    }
  }
}

# Row and column of the pixel of a set nearest to the others, on the cyclic grid; NULL where there
# is no room for a number.
inner_pixel <- function(model, pixels) {
  if (length(pixels) < 0.1 * prod(model$size)) return(NULL)
  place <- arrayInd(pixels, model$grid)
  distance <- 0
  for (axis in 1:2) {
    apart <- abs(outer(place[, axis], place[, axis], "-"))
    distance <- distance + pmin(apart, model$grid[axis] - apart)^2
  }
  place[which.min(rowSums(distance)), ]
}

# ---- affinity ----

# Affinity of the places of the most probable components of one point, beside the scene.
draw_place_affinity <- function(fit, points = NULL) {
  model <- fit$model
  y <- need_data(fit, "The figure \"affinity\"")
  point <- if (is.null(points)) 1L else check_point_numbers(points, fit$n_points, "point")
  if (length(point) != 1) gps_abort("`point` must be one point in the figure \"affinity\".")
  affinity <- gps_affinity(fit$selector, fit, as_given(y), point)
  # Places that the hand-crafted ranking leaves out.
  affinity[affinity < -1e299] <- NA
  if (length(unique(stats::na.omit(c(affinity)))) < 2) {
    gps_abort("The figure \"affinity\" needs a selector that ranks.")
  }
  affinity <- matrix(affinity, ncol = model$n_components)
  held <- fit$selected[, point]
  held <- utils::head(held[order(-fit$prob_on[, point])][sort(held, TRUE) > 0], 3)
  inks <- component_ink(model)
  with_par(list(mfrow = c(1, 1), oma = c(1.2, 0.3, 1.5, 0.3), mar = c(0.5, 0.4, 0.5, 0.4),
                cex = 1), {
    graphics::layout(t(seq_len(1 + length(held))))
    graphics::par(cex = 1)
    picture <- picture_raster(rows_data(fit$y, point), model$grid, picture_limits(fit), 0.6)
    open_scene(picture, paste("point", point))
    draw_candidates(model, fit$selected[, point], fit$prob_on[, point], inks)
    limits <- widen(range(affinity, na.rm = TRUE))
    for (latent in held) draw_place_map(model, affinity, latent, limits, inks)
    graphics::mtext(paste("Affinity of the places of a component's top left corner, the darker the",
                          "larger; ring: the selected place"), 1, outer = TRUE, cex = 0.75,
                    col = "grey30", line = 0.1)
  })
}

draw_place_map <- function(model, affinity, latent, limits, inks) {
  place <- locate_latents(model, latent)
  values <- affinity[, place$component]
  values[is.na(values)] <- limits[1]
  open_scene(picture_raster(limits[2] - values, model$grid, c(0, diff(limits))),
             paste("component", place$component))
  graphics::points(place$column - 0.5, place$row - 0.5, cex = 2, lwd = 2,
                   col = inks[place$component])
}
