# Moves of model E between local optima, for mend.R: an object may have no component, or two that
# share it, while others are idle. Trials look for the moved component at all places of every image.

# Images that a trial runs on, at most.
occlusive_trial_rows <- 500L

# Iterations of a trial in which all places of a moved component are candidates.
seeking_iterations <- 2L

# Two components of one object are on together in this share of the rarer one's images, in the same
# place relative to each other.
least_together <- 0.5

#' @export
find_moves.gps_occlusive <- function(task, state) {
  if (is.null(task$selector$screen) || task$control$monotone) return(list())
  on <- scatter_choices(state$selected, state$prob_on, task$model)
  cost <- removal_cost(t(on))
  idle <- which.min(cost)
  fresh <- lapply(worst_windows(task, state, trial_moves - 1L), function(window) {
    params <- put_window(state$params, idle, window)
    list(params = params, components = idle, event = "renewed")
  })
  utils::head(c(join_moves(task, state, on), fresh), trial_moves)
}

# The windows of images with slots to spare whose pixels are explained worst.
worst_windows <- function(task, state, n) {
  model <- task$model
  spare <- which(colSums(state$prob_on) < task$n_selected - 0.5)
  if (length(spare) == 0) return(list())
  y <- rows_data(task$y, spare)
  energy <- unexplained_energy(model, state$params, y, state$selected[, spare, drop = FALSE])
  lapply(seq_len(n), function(i) {
    sums <- box_sums(model, energy)
    best <- arrayInd(which.max(sums), dim(sums))
    energy[, best[2]] <<- 0
    cut_window(model, y[, best[2]], best[1])
  })
}

# Images by which a new component is settled, at most.
settling_images <- 200L

# Of all windows that hold nearly as much of an object as the best the middle one is taken.
full_share <- 0.98

# The window that a component was cut from may show another object before its own, or a part of its
# own: pixels whose colour is wrong by many standard deviations, and those beyond the window, would
# never be learned. The component begins again, and is sought again, with what the images have in
# common in which it was found: the medians of their pixels.
settle_component <- function(task, state, h) {
  model <- task$model
  is_found <- choice_of(model, state$selected) == h & state$prob_on > 0.5
  at <- which(array(is_found, dim(state$selected)), arr.ind = TRUE)
  if (nrow(at) < 3) return(state)
  at <- at[even_rows(t(at), settling_images), , drop = FALSE]
  corner <- (state$selected[at] - 1L) %% prod(model$grid) + 1L
  common <- median_image(model, rows_data(task$y, at[, "col"]), corner)
  pi <- state$params$pi
  window <- cut_window(model, common, middle_window(model, state$params$background, common))
  state$params <- put_window(state$params, h, window)
  state$params$pi <- pi
  forget_components(model, state, h)
}

# Medians of the pixels of images [D x n], each moved so that its `corner` is the first pixel.
median_image <- function(model, y, corner) {
  whole <- list(size = model$grid, grid = model$grid)
  pixels <- window_pixels(whole, corner)
  moved <- vapply(seq_along(corner), function(i) {
    c(matrix(y[, i], ncol = model$n_channels)[pixels[, i], ])
  }, numeric(nrow(y)))
  apply(moved, 1, stats::median)
}

# The window that holds most of what differs from the background, at most half a window from the
# first pixel.
middle_window <- function(model, background, image) {
  deviation <- matrix(image - rep(background, each = prod(model$grid)))
  sums <- drop(box_sums(model, pixel_energy(model, bounded_deviation(model, deviation))))
  pixel <- seq_along(sums) - 1L
  row <- signed_shift(pixel %% model$grid[1], model$grid[1])
  column <- signed_shift(pixel %/% model$grid[1], model$grid[2])
  is_near <- abs(row) <= model$size[1] %/% 2 & abs(column) <= model$size[2] %/% 2
  is_full <- is_near & sums >= full_share * max(sums[is_near])
  middle <- round(c(mean(row[is_full]), mean(column[is_full]))) %% model$grid
  as.integer(1 + middle[1] + model$grid[1] * middle[2])
}

# Pairs that are parts of one object become one component: all that have none in common at once, if
# there are several, or one pair, most often together first.
join_moves <- function(task, state, on) {
  pairs <- find_parts(task, state, on)
  together <- disjoint_pairs(pairs)
  choices <- c(if (length(together) > 1) list(together), lapply(pairs, list))
  lapply(utils::head(choices, trial_moves), function(pairs) {
    join_move(task$model, state$params, pairs)
  })
}

disjoint_pairs <- function(pairs) {
  taken <- integer()
  chosen <- list()
  for (pair in pairs) {
    if (any(c(pair$a, pair$b) %in% taken)) next
    taken <- c(taken, pair$a, pair$b)
    chosen <- c(chosen, list(pair))
  }
  chosen
}

# Component a stands from then on wherever one of the two stood.
join_move <- function(model, params, pairs) {
  relabel <- seq_len(model$n_latents)
  for (pair in pairs) {
    params <- join_parts_of(model, params, pair)
    offset <- mask_offset(matrix(params$alpha[pair$a, , ], model$size[1]))
    params <- roll_component(params, pair$a, offset)
    latents <- component_latents(model, pair$a)
    relabel[latents] <- latents[move_latents(model, offset)]
    relabel[component_latents(model, pair$b)] <- latents[move_latents(model, offset - pair$shift)]
  }
  list(params = params, relabel = relabel, event = "joined", times = length(pairs),
       components = unlist(lapply(pairs, `[`, c("a", "b")), use.names = FALSE))
}

# list(a, b, shift): b's window lies `shift` pixels from a's, a being the more frequent.
find_parts <- function(task, state, on) {
  model <- task$model
  usage <- colSums(on)
  place <- locate_latents(model, state$selected)
  row <- matrix(place$row, nrow(state$selected))
  column <- matrix(place$column, nrow(state$selected))
  component <- matrix(place$component, nrow(state$selected))
  is_on <- state$prob_on > 0.5
  pairs <- list()
  for (i in seq_len(nrow(row) - 1)) {
    for (j in (i + 1):nrow(row)) {
      both <- which(is_on[i, ] & is_on[j, ])
      pairs[[length(pairs) + 1]] <- cbind(
        component[i, both], component[j, both],
        signed_shift(row[j, both] - row[i, both], model$grid[1]),
        signed_shift(column[j, both] - column[i, both], model$grid[2])
      )
    }
  }
  pairs <- do.call(rbind, pairs)
  # Of a single slot there are no pairs.
  if (is.null(pairs) || nrow(pairs) == 0) return(list())
  found <- stats::aggregate(list(n = rep(1, nrow(pairs))), as.data.frame(pairs), sum)
  found$share <- found$n / pmax(pmin(usage[found$V1], usage[found$V2]), 1)
  found <- found[found$share >= least_together & found$n >= 5, ]
  found <- found[order(-found$share), ]
  lapply(seq_len(nrow(found)), function(k) {
    list(a = found$V1[k], b = found$V2[k], shift = c(found$V3[k], found$V4[k]))
  })
}

# Shortest way on a circle.
signed_shift <- function(x, size) (x + size %/% 2) %% size - size %/% 2

# Component a gets what b has at the same place of the image, where b's mask is higher; b goes.
join_parts_of <- function(model, params, pair) {
  moved <- roll_component(params, pair$b, -pair$shift, low = lowest_alpha)
  take <- moved$alpha[pair$b, , ] > params$alpha[pair$a, , ]
  params$alpha[pair$a, , ][take] <- moved$alpha[pair$b, , ][take]
  for (c in seq_len(dim(params$w)[4])) {
    params$w[pair$a, , , c][take] <- moved$w[pair$b, , , c][take]
  }
  retire_component(params, pair$b)
}
