# Figures of components with locations (model E): their masks and features, and scenes with what was
# found in them.

# Components on in a smaller share of the images are pale.
surplus_share <- function(model) min(0.05, 1 / model$n_components)

# Most scenes in one figure.
most_scenes <- 6L

# Colours of components, used again beyond ten; the darkest would be lost in a picture.
component_ink <- function(model, look = list()) {
  series_ink(look, rep_len(unname(ink[1:10]), model$n_components))
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
draw_occlusive <- function(fit, look, truth = NULL) {
  if (!is.null(look$col)) {
    gps_abort("`col` is not for components with locations: they have the colours of the data.")
  }
  shown <- pair_components(fit, look, truth)
  columns <- lapply(shown$component, component_pictures, fit = fit)
  labels <- component_labels(fit, shown)
  rows <- c("mask", "features", "mask > 0.5")
  note <- sprintf("Above: component, share of images in which it is on (pi)%s.",
                  if (any(labels$is_pale)) {
                    paste(". Pale: less than", percent(surplus_share(fit$model)))
                  } else {
                    ""
                  })
  if (!is.null(truth)) {
    columns <- add_objects(columns, shown$object, truth)
    rows <- c(rows, "true object")
    note <- paste(note, "Below: best cosine with the true object.")
  }
  n_shown <- sum(!is.na(shown$component))
  main <- title_of(look, counted_title("Components", look, n_shown, fit$model$n_components))
  draw_figure(draw_columns(columns, labels, rows, main, if (look$key) note))
  shown
}

# data.frame(component, share, object, similarity), a row for each column of the figure: with a
# truth its objects, of which `n` and `select` choose, and then the components that are left over.
pair_components <- function(fit, look, truth) {
  order <- order(-fit$params$pi)
  pairs <- if (is.null(truth)) {
    data.frame(component = chosen_latents(look, order, most_shown, what = "component"),
               object = NA_integer_, similarity = NA_real_)
  } else {
    match <- match_components(fit, truth)
    objects <- seq_along(match$permutation)
    rows <- chosen_latents(look, objects, most_shown, what = "object")
    spare <- if (is.null(look$n) && is.null(look$select)) setdiff(order, match$permutation)
    utils::head(data.frame(
      component = c(match$permutation[rows], spare), object = c(rows, rep(NA, length(spare))),
      similarity = c(match$similarity[rows], rep(NA, length(spare)))
    ), most_shown)
  }
  pairs$share <- fit$params$pi[pairs$component]
  pairs[c("component", "share", "object", "similarity")]
}

# What stands above and below each column.
component_labels <- function(fit, shown) {
  known <- !is.na(shown$component)
  has_truth <- any(!is.na(shown$object))
  list(top = ifelse(known, shown$component, "none"),
       share = ifelse(known, percent(shown$share), ""),
       is_pale = known & shown$share < surplus_share(fit$model),
       below = if (has_truth) {
         ifelse(known & !is.na(shown$object), sprintf("%.2f", shown$similarity), "")
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

# The columns with the picture of a true object each, where it has one.
add_objects <- function(columns, objects, truth) {
  pictures <- get_pictures(truth, "truth")
  size <- dim(pictures)[2:3]
  Map(function(column, object) {
    if (is.na(object)) return(c(column, list(NULL)))
    values <- matrix(pictures[object, , , ], prod(size))
    values[rowSums(values != 0) == 0, ] <- NA
    c(column, list(picture_raster(values, size, range(0, 1, pictures))))
  }, columns, objects)
}

# Columns of rasters in as many bands as give the largest pictures; inches.
draw_columns <- function(columns, labels, rows, main, note) {
  n <- length(columns)
  in_part(whole_part, c(1.6, 0.5, 1.8, 0.5), {
    room <- graphics::par("pin")
    graphics::plot.window(c(0, room[1]), c(0, room[2]), xaxs = "i", yaxs = "i")
    line <- line_inches()
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
    panel_title(main, lines = 0.5)
    if (!is.null(note)) {
      graphics::mtext(note, 1, line = 0.3, adj = 0, col = "grey30",
                      cex = graphics::par("cex") * fit_text(note, room[1], 0.75))
    }
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
draw_scenes <- function(fit, look, points = NULL) {
  need_places(fit$model, "The figure \"scene\"")
  need_data(fit, "The figure \"scene\"")
  points <- if (is.null(points)) 1L else check_point_numbers(points, fit$n_points, "point")
  if (length(points) > most_scenes) {
    gps_abort(sprintf("`point` must be at most %d points, not %d.", most_scenes, length(points)))
  }
  inks <- component_ink(fit$model, look)
  titles <- title_of(look, scene_titles)
  draw_figure({
    n_across <- scenes_across(length(points), graphics::par("fin"))
    n_down <- ceiling(length(points) / n_across)
    parts <- split_part(rep(1, 4 * n_across), rep(1, n_down), below_title(look))
    for (i in seq_along(points)) {
      draw_scene_row(parts[4 * (i - 1) + 1:4], fit, points[i],
                     if (i <= n_across) titles else rep("", 3), inks)
    }
  })
  drawn <- lapply(points, function(point) {
    held <- which(fit$selected[, point] > 0)
    place <- locate_latents(fit$model, fit$selected[held, point])
    data.frame(point = point, component = place$component, row = place$row, column = place$column,
               prob = fit$prob_on[held, point])
  })
  do.call(rbind, drawn)
}

scene_titles <- c("candidates", "reconstruction", "owners")

# How many scenes stand beside each other on a page of so many inches.
scenes_across <- function(n, page) {
  across <- seq_len(n)
  which.max(pmin(page[1] / (4 * across), page[2] / ceiling(n / across) - 0.3))
}

draw_scene_row <- function(parts, fit, point, titles, inks) {
  model <- fit$model
  states <- states_of_point(fit, point, "The figure \"scene\"", "response")
  limits <- picture_limits(fit)
  raster <- function(values, fade = 0) picture_raster(values, choice_grid(model), limits, fade)
  name <- if (is.null(fit$row_names)) paste("point", point) else fit$row_names[point]
  scene_panel(parts[[1]], raster(rows_data(fit$y, point)), name)
  scene_panel(parts[[2]], raster(rows_data(fit$y, point), 0.6), titles[1], {
    draw_candidates(model, fit$selected[, point], fit$prob_on[, point], inks)
  })
  scene_panel(parts[[3]], raster(states$response), titles[2])
  draw_owners(parts[[4]], model, fit, point, states, inks, titles[3])
}

# A panel with a picture, its pixels one unit wide, the top left corner at (0, 0).
scene_panel <- function(part, picture, title, code = NULL) {
  size <- dim(picture)
  in_part(part, c(0.3, 0.25, 1.4, 0.25), {
    graphics::plot.window(c(0, size[2]), c(size[1], 0), asp = 1, xaxs = "i", yaxs = "i")
    graphics::rasterImage(picture, 0, size[1], size[2], 0, interpolate = FALSE)
    graphics::rect(0, size[1], size[2], 0, border = "grey60", lwd = 0.5)
    room <- diff(part[1:2]) * graphics::par("fin")[1]
    graphics::text(size[2] / 2, -0.05 * size[2] / picture_width(size), title, font = 2, xpd = NA,
                   adj = c(0.5, 0), cex = fit_text(c("reconstruction", title), room, 0.8, 2))
    code
  })
}

# Inches of the picture in the panel.
picture_width <- function(size) {
  size[2] * graphics::par("pin")[1] / diff(graphics::par("usr")[1:2])
}

# Windows of the candidates, as wide as they are probable, dashed below 5 %; what leaves the image
# comes back on the other side.
draw_candidates <- function(model, selected, prob_on, inks) {
  grid <- choice_grid(model)
  held <- which(selected > 0)
  held <- held[order(prob_on[held])]
  place <- locate_latents(model, selected[held])
  colour <- inks[place$component]
  usr <- graphics::par("usr")
  on.exit(do.call(graphics::clip, as.list(usr)))
  graphics::clip(0, grid[2], 0, grid[1])
  shifts <- expand.grid(row = c(0, -grid[1]), column = c(0, -grid[2]))
  # Those in the same place lie inside each other.
  inset <- 0.2 * (seq_along(held) - 1)
  for (s in seq_len(nrow(shifts))) {
    top <- place$row - 1 + shifts$row[s]
    left <- place$column - 1 + shifts$column[s]
    graphics::rect(left + inset, top + model$size[1] - inset, left + model$size[2] - inset,
                   top + inset, border = colour, lwd = 0.8 + 1.7 * prob_on[held],
                   lty = ifelse(prob_on[held] < 0.05, 2, 1))
  }
  middle <- function(corner, axis) (corner - 1 + model$size[axis] / 2) %% grid[axis]
  named <- prob_on[held] >= 0.05
  write_numbers(middle(place$column, 2)[named], middle(place$row, 1)[named],
                place$component[named], colour[named], grid)
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
draw_owners <- function(part, model, fit, point, states, inks, title) {
  grid <- choice_grid(model)
  selected <- states$selected
  share <- own_pixels(model, fit$params, rows_data(fit$y, point), selected, states$on,
                      states$prob)
  share <- matrix(share, prod(grid))
  number <- choice_of(model, selected)
  colours <- rbind(255, t(grDevices::col2rgb(c("white", inks)))[1 + number, , drop = FALSE])
  mixed <- pmin(share %*% colours / 255, 1)
  scene_panel(part, picture_raster(mixed, grid, c(0, 1)), title, {
    owner <- max.col(share, "first") - 1
    for (slot in unique(owner[owner > 0])) {
      at <- inner_pixel(model, which(owner == slot))
      if (!is.null(at)) {
        write_numbers(at[2] - 0.5, at[1] - 0.5, number[slot], inks[number[slot]], grid)
      }
    }
  })
}

# Row and column of the pixel of a set nearest to the others, on the cyclic grid; NULL where there
# is no room for a number.
inner_pixel <- function(model, pixels) {
  grid <- choice_grid(model)
  if (length(pixels) < 0.1 * prod(model$size)) return(NULL)
  place <- arrayInd(pixels, grid)
  distance <- 0
  for (axis in 1:2) {
    apart <- abs(outer(place[, axis], place[, axis], "-"))
    distance <- distance + pmin(apart, grid[axis] - apart)^2
  }
  place[which.min(rowSums(distance)), ]
}

# ---- affinity ----

# Affinity of the places of the most probable components of one point, beside the scene.
draw_place_affinity <- function(fit, look, points = NULL) {
  model <- fit$model
  grid <- choice_grid(model)
  y <- need_data(fit, "The figure \"affinity\"")
  point <- if (is.null(points)) 1L else check_point_numbers(points, fit$n_points, "point")
  if (length(point) != 1) gps_abort("`point` must be one point in the figure \"affinity\".")
  affinity <- gps_affinity(fit$selector, fit, as_given(y), point)
  # Places that the hand-crafted ranking leaves out.
  affinity[affinity < -1e299] <- NA
  if (length(unique(stats::na.omit(c(affinity)))) < 2) {
    gps_abort("The figure \"affinity\" needs a selector that ranks: to this one places are equal.")
  }
  affinity <- matrix(affinity, ncol = model$n_components)
  held <- fit$selected[, point]
  held <- utils::head(held[order(-fit$prob_on[, point])][sort(held, TRUE) > 0], 3)
  inks <- component_ink(model, look)
  limits <- widen(range(affinity, na.rm = TRUE))
  draw_figure({
    frame_place_affinity(title_of(look, paste("Affinity at the places of point", point)), look$key)
    parts <- split_part(rep(1, 1 + length(held)), part = c(0, 1, 0.1, 0.85))
    picture <- picture_raster(rows_data(fit$y, point), grid, picture_limits(fit), 0.6)
    scene_panel(parts[[1]], picture, "candidates", {
      draw_candidates(model, fit$selected[, point], fit$prob_on[, point], inks)
    })
    for (i in seq_along(held)) {
      draw_place_map(parts[[i + 1]], model, affinity, held[i], limits, inks)
    }
  })
  place <- as.data.frame(locate_latents(model, held))
  list(selected = place, affinity = array(affinity[, place$component], c(grid, length(held))))
}

frame_place_affinity <- function(main, key) {
  in_part(whole_part, c(1.3, 0.5, 1.6, 0.5), {
    graphics::plot.window(0:1, 0:1)
    panel_title(main, lines = 0.3)
    note <- "places of the top left corner, darker is larger; ring: the selected place"
    if (key) {
      graphics::mtext(note, 1, adj = 0, line = 0.2, col = "grey30",
                      cex = graphics::par("cex") * fit_text(note, title_room(), 0.75))
    }
  })
}

draw_place_map <- function(part, model, affinity, latent, limits, inks) {
  place <- locate_latents(model, latent)
  values <- affinity[, place$component]
  values[is.na(values)] <- limits[1]
  picture <- picture_raster(limits[2] - values, choice_grid(model), c(0, diff(limits)))
  scene_panel(part, picture, paste("component", place$component), {
    graphics::points(place$column - 0.5, place$row - 0.5, cex = 2, lwd = 2,
                     col = inks[place$component])
  })
}
