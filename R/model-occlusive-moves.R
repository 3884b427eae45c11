# Moves of model E between local optima, for em-mend.R: an object may have no component, or two that
# share it, while others are idle. Trials look for a component that begins anew at all places of
# every image; where one stands that takes another's place is known.

# Images that a trial runs on, at most.
occlusive_trial_rows <- 500L

#' @export
count_start_rows.gps_occlusive <- function(model) occlusive_trial_rows

#' @export
mending_rounds.gps_occlusive <- function(model) 1L

#' @export
judges_unseen.gps_occlusive <- function(model) FALSE

# Iterations of a trial in which all places of a moved component are candidates.
seeking_iterations <- 2L

# Two components of one object are on together in this share of the rarer one's images, in the same
# place relative to each other.
least_together <- 0.5

#' @export
find_moves.gps_occlusive <- function(task, state) {
  if (is.null(task$selector$screen) || task$control$monotone) return(list())
  on <- scatter_choices(state$selected, state$prob_on, task$model)
  utils::head(c(merge_moves(task, state), join_moves(task, state, on),
                renewing_moves(task, state, idle_components(on, task$weights))), trial_moves)
}

# Features and masks of the pixels that components own: a component that begins anew must be worth
# more than these, and one that goes need not be missed by as much.
#' @export
count_used.gps_occlusive <- function(model, params) {
  sum(params$alpha > 0.5) * (model$n_channels + 1)
}

# Those that hardly any image has, least needed first, or else the one that is needed least.
idle_components <- function(on, weights = NULL) {
  cost <- removal_cost(t(on), weights)
  needed_least <- order(cost)
  usage <- colSums(weigh(on > 0.5, weights))
  is_idle <- usage[needed_least] < lowest_share * total_weight(weights, nrow(on))
  needed_least[is_idle | seq_along(cost) == 1]
}

# Idle components begin anew from the windows that are explained worst: all at once, or one.
renewing_moves <- function(task, state, idle) {
  windows <- worst_windows(task, state, max(length(idle), trial_moves - 1L))
  renewed <- function(components, windows) {
    params <- state$params
    for (i in seq_along(components)) params <- put_window(params, components[i], windows[[i]])
    list(params = params, components = components, event = "renewed", times = length(components))
  }
  together <- min(length(idle), length(windows))
  c(if (together > 1) list(renewed(idle[seq_len(together)], windows)),
    lapply(windows, function(window) renewed(idle[1], list(window))))
}

# Of components that are alike one goes, all at once: the other stands where it stood.
merge_moves <- function(task, state) {
  model <- task$model
  doubles <- find_doubles(model, state$params, state$notes$age)
  if (length(doubles) == 0) return(list())
  params <- state$params
  relabel <- seq_len(model$n_latents)
  for (pair in doubles) {
    params <- retire_component(params, pair$b)
    relabel <- unite_latents(model, relabel, pair, c(0L, 0L))
  }
  list(list(params = params, relabel = relabel, event = "merged", times = length(doubles),
            components = vapply(doubles, `[[`, 1L, "b")))
}

# Images that are looked through for windows of different objects, at most; what two windows may
# correlate that are of different ones; and the share of the worst energy that one must have.
worst_images <- 200L
other_correlation <- 0.7
least_energy <- 0.1

# The windows of images with slots to spare whose pixels are explained worst, of different objects.
worst_windows <- function(task, state, n) {
  model <- task$model
  spare <- which(colSums(state$prob_on) < task$n_selected - 0.5)
  if (length(spare) == 0) return(list())
  seen <- take_points(task$y, task$missing, spare)
  slots <- lapply(state[c("selected", "prob_on")], function(x) x[, spare, drop = FALSE])
  energy <- unexplained_energy(model, state$params, seen$y, slots, seen$missing)
  sums <- box_sums(model, energy)
  corner <- max.col(t(sums), "first")
  most <- sums[cbind(corner, seq_along(spare))]
  worst <- order(-most)
  worst <- worst[most[worst] >= least_energy * max(most)]
  windows <- spectra <- list()
  for (image in utils::head(worst, worst_images)) {
    window <- cut_window(model, seen$y[, image], corner[image])
    spectrum <- masked_spectrum(model, put_window(state$params, 1L, window), 1L)
    alike <- vapply(spectra, function(other) best_correlation(other, spectrum)$correlation, 0)
    if (any(alike > other_correlation)) next
    windows <- c(windows, list(window))
    spectra <- c(spectra, list(spectrum))
    if (length(windows) == n) break
  }
  windows
}

# Images by which a new component is settled, at most.
settling_images <- 200L

# Of all windows that hold nearly as much of an object as the best the middle one is taken.
full_share <- 0.98

# The window that a component was cut from may show another object before its own, or a part of its
# own: pixels whose colour is wrong by many standard deviations, and those beyond the window, would
# never be learned. The component begins again, and is sought again, with what the images have in
# common in which it was found: the medians of their pixels.
settle_components <- function(task, state, components) {
  for (h in components) state$params <- settle_component(task, state, h)
  forget_components(task$model, state, components)
}

settle_component <- function(task, state, h) {
  model <- task$model
  params <- state$params
  is_found <- choice_of(model, state$selected) == h & state$prob_on > 0.5
  at <- which(array(is_found, dim(state$selected)), arr.ind = TRUE)
  if (nrow(at) < 3) return(params)
  at <- at[even_rows(t(at), settling_images), , drop = FALSE]
  corner <- (state$selected[at] - 1L) %% prod(model$grid) + 1L
  common <- median_image(model, rows_data(task$y, at[, "col"]), corner)
  window <- cut_window(model, common, middle_window(model, params$background, common))
  params[c("alpha", "w")] <- put_window(params, h, window)[c("alpha", "w")]
  params
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
    relabel <- unite_latents(model, relabel, pair, offset)
  }
  list(params = params, relabel = relabel, event = "joined", times = length(pairs),
       components = unlist(lapply(pairs, `[`, c("a", "b")), use.names = FALSE))
}

# New numbers of latents when component a, whose window moves by `offset`, stands where b stood,
# too.
unite_latents <- function(model, relabel, pair, offset) {
  latents <- component_latents(model, pair$a)
  relabel[latents] <- latents[move_latents(model, offset)]
  relabel[component_latents(model, pair$b)] <- latents[move_latents(model, offset - pair$shift)]
  relabel
}

# list(a, b, shift): the window of b lies `shift` pixels from that of a.
find_parts <- function(task, state, on) {
  model <- task$model
  usage <- colSums(weigh(on, task$weights))
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
        signed_shift(column[j, both] - column[i, both], model$grid[2]),
        if (is.null(task$weights)) rep(1, length(both)) else task$weights[both]
      )
    }
  }
  pairs <- do.call(rbind, pairs)
  # Of a single slot there are no pairs.
  if (is.null(pairs) || nrow(pairs) == 0) return(list())
  found <- stats::aggregate(list(n = pairs[, 5]), as.data.frame(pairs[, 1:4, drop = FALSE]), sum)
  found$share <- found$n / pmax(pmin(usage[found$V1], usage[found$V2]), 1)
  found <- found[found$share >= least_together & found$n >= 5, ]
  found <- found[order(-found$share), ]
  lapply(seq_len(nrow(found)), function(k) {
    list(a = found$V1[k], b = found$V2[k], shift = c(found$V3[k], found$V4[k]))
  })
}

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

# No point has these components selected any more; they are looked for everywhere.
forget_components <- function(model, state, components) {
  latents <- unlist(lapply(components, component_latents, model = model))
  state <- relabel_slots(state, replace(seq_len(model$n_latents), latents, 0L))
  state$sought <- as.integer(components)
  state
}
