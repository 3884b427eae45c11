# Repairs of model E between iterations: components that are off centre, that nobody uses, or that
# are another's double. All of them change what latents mean, or start a component anew.

# A component is given this many iterations before it is judged.
trial_age <- 5L
# Duplicates are looked for every so many iterations; masked features that correlate more are alike.
duplicate_every <- 4L
duplicate_correlation <- 0.9
# Of the images, a component that is on in fewer is dead.
lowest_share <- 0.01

#' @export
gps_mend.gps_occlusive <- function(model, params, stats, progress = NULL) {
  if (is.null(progress) || progress$is_monotone) return(list(params = params, relabel = NULL))
  notes <- progress$notes
  if (is.null(notes)) notes <- list(age = integer(model$n_components), taken = NULL)
  notes$age <- notes$age + 1L
  # All that is not found yet is clutter.
  if (progress$is_early) params$clutter <- progress$before$clutter
  stretched <- stretch_masks(params, notes, progress)
  params <- stretched$params
  notes <- stretched$notes
  if (!progress$is_early) params <- trim_masks(model, params, stats, notes$age)
  repair <- list(params = params, relabel = NULL, labels = NULL, notes = notes,
                 events = c(recentred = 0L, reseeded = 0L, merged = 0L))
  # Once annealing is over what changes the states is a move, which the bound judges.
  if (!progress$is_early) return(repair)
  doubles <- if (progress$iteration %% duplicate_every == 0) {
    vapply(find_doubles(model, params, notes$age), `[[`, 1L, "b")
  }
  repair$events["merged"] <- length(doubles)
  dead <- find_dead(model, params, stats, notes$age)
  repair <- recentre_components(model, repair, setdiff(seq_len(model$n_components),
                                                       c(doubles, dead)))
  reseed <- sort(unique(c(doubles, dead)))
  if (length(reseed) == 0) return(repair)
  with_seed(progress$seed, 1e5 + progress$iteration,
            reseed_components(model, params, repair, reseed, progress))
}

# The M-step of the masks is a slow one: where a component alone covers a pixel, the way that is
# left shrinks by no more than the factor alpha in each iteration. Once annealing is over the step
# is lengthened to where that would lead in the end, in log odds, up to `longest_stretch` times, and
# left as it was after the bound fell (overrelaxation as in Salakhutdinov and Roweis 2003,
# Proceedings of the 20th International Conference on Machine Learning). Bounds of batches do
# not tell whether that of all points fell.
longest_stretch <- 8

stretch_masks <- function(params, notes, progress) {
  has_risen <- !progress$is_early && !isTRUE(progress$is_batch) &&
    isTRUE(progress$bound >= notes$bound)
  notes$bound <- progress$bound
  if (has_risen) {
    limit <- stats::qlogis(1 - lowest_alpha)
    before <- progress$before$alpha
    stretch <- pmin(longest_stretch, 1 / (1 - pmin(before, params$alpha)))
    step <- stretch * (stats::qlogis(params$alpha) - stats::qlogis(before))
    params$alpha[] <- stats::plogis(pmin(pmax(stats::qlogis(before) + step, -limit), limit))
  }
  list(params = params, notes = notes)
}

# Pixels of components that look like the background, which explains them as well without features
# of their own: a mask is nearly free to own them or not (where another component covers one too,
# odds of 1 against 999 cost nothing), and stays as it began. Those whose removal costs the bound
# less than half of log N for each parameter, features and mask, go. The cost is an upper limit, as
# the states of the images could change, and adds up over pixels.
trim_masks <- function(model, params, stats, age) {
  if (clutter_form(model$clutter) == "background") return(params)
  removal <- aperm(array(stats$removal, c(model$size, model$n_components)), c(3, 1, 2))
  least <- 0.5 * (model$n_channels + 1) * log(max(stats$count, 2))
  is_spare <- removal > -least
  # A component that does not stand by itself is not made better by losing its mask.
  n_left <- rowSums(matrix(!is_spare & params$alpha > 0.5, model$n_components))
  params$alpha[is_spare & age >= trial_age & n_left >= least_pixels(model)] <- lowest_alpha
  params
}

# A component that owns fewer pixels is none.
least_pixels <- function(model) ceiling(min(8, 0.1 * prod(model$size)))

# Components that nearly nobody uses or that own hardly a pixel.
find_dead <- function(model, params, stats, age) {
  n_owned <- rowSums(matrix(params$alpha > 0.5, model$n_components))
  is_small <- n_owned < least_pixels(model)
  which(age >= trial_age & (stats$on < lowest_share * stats$count | is_small))
}

# A low mask: what is left of a component that is not needed.
retire_component <- function(params, h) {
  params$alpha[h, , ] <- pmin(params$alpha[h, , ], low_alpha)
  params$pi[h] <- 0.005
  params
}

# Whole pixels from the middle of the window to the centre of mass of a mask.
mask_offset <- function(alpha) {
  weight <- ifelse(alpha > 0.3, alpha, 0)
  if (sum(weight) == 0) return(c(0L, 0L))
  centre <- c(sum(row(alpha) * weight), sum(col(alpha) * weight)) / sum(weight)
  offset <- centre - (dim(alpha) + 1) / 2
  # Less than a pixel is left, so that two positions do not alternate.
  as.integer(ifelse(abs(offset) < 1, 0, round(offset)))
}

# The component with its window moved by `offset` pixels. What enters the window is low in the mask
# and looks like its neighbours.
roll_component <- function(params, h, offset, low = low_alpha) {
  size <- dim(params$alpha)[2:3]
  from <- lapply(1:2, function(axis) seq_len(size[axis]) + offset[axis])
  is_inside <- lapply(1:2, function(axis) from[[axis]] >= 1 & from[[axis]] <= size[axis])
  nearest <- lapply(1:2, function(axis) pmin(pmax(from[[axis]], 1), size[axis]))
  alpha <- params$alpha[h, nearest[[1]], nearest[[2]]]
  params$alpha[h, , ] <- ifelse(outer(is_inside[[1]], is_inside[[2]]), alpha, low)
  params$w[h, , , ] <- params$w[h, nearest[[1]], nearest[[2]], ]
  params
}

# New numbers of a component's latents when its window moves.
move_latents <- function(model, offset) {
  pixel <- seq_len(prod(model$grid)) - 1L
  row <- (pixel %% model$grid[1] + offset[1]) %% model$grid[1]
  col <- (pixel %/% model$grid[1] + offset[2]) %% model$grid[2]
  as.integer(1 + row + model$grid[1] * col)
}

component_latents <- function(model, h) {
  n_pixels <- as.integer(prod(model$grid))
  (h - 1L) * n_pixels + seq_len(n_pixels)
}

begin_relabel <- function(model, repair) {
  if (is.null(repair$relabel)) repair$relabel <- seq_len(model$n_latents)
  repair
}

recentre_components <- function(model, repair, which) {
  for (h in which) {
    offset <- mask_offset(matrix(repair$params$alpha[h, , ], model$size[1]))
    if (all(offset == 0)) next
    repair <- begin_relabel(model, repair)
    repair$params <- roll_component(repair$params, h, offset)
    latents <- component_latents(model, h)
    repair$relabel[latents] <- latents[move_latents(model, offset)]
    repair$events["recentred"] <- repair$events[["recentred"]] + 1L
  }
  repair
}

# Pairs that are alike at the best shift, list(a, b, shift), of which b explains less: its window
# lies `shift` pixels from the one of a that shows the same.
find_doubles <- function(model, params, age) {
  n_components <- model$n_components
  masked <- lapply(seq_len(n_components), function(h) masked_spectrum(model, params, h))
  value <- params$pi * rowSums(matrix(params$alpha > 0.5, n_components))
  order <- order(-value)
  doubles <- list()
  for (i in seq_along(order)[-1]) {
    b <- order[i]
    if (age[b] < trial_age) next
    gone <- vapply(doubles, `[[`, 1L, "b")
    for (a in setdiff(order[seq_len(i - 1)], gone)) {
      best <- best_correlation(masked[[a]], masked[[b]])
      if (best$correlation > duplicate_correlation) {
        doubles <- c(doubles, list(list(a = a, b = b, shift = best$shift)))
        break
      }
    }
  }
  doubles
}

# Correlation of two components at the best shift, from their spectra.
best_correlation <- function(first, second) {
  if (first$norm == 0 || second$norm == 0) return(list(correlation = 0, shift = c(0L, 0L)))
  cross <- rowSums(first$spectrum * Conj(second$spectrum), dims = 2)
  product <- Re(stats::fft(cross, inverse = TRUE))
  best <- which.max(product)
  list(correlation = product[best] / (length(cross) * first$norm * second$norm),
       shift = signed_shift(arrayInd(best, dim(product))[1, ] - 1L, dim(product)))
}

# Shortest way on a circle.
signed_shift <- function(x, size) (x + size %/% 2) %% size - size %/% 2

# Fourier transform of what a component shows against the background, per channel, with room for all
# shifts.
masked_spectrum <- function(model, params, h) {
  size <- model$size
  is_own <- matrix(params$alpha[h, , ] > 0.5, size[1])
  spectrum <- array(0i, c(2 * size, model$n_channels))
  square <- 0
  for (c in seq_len(model$n_channels)) {
    shown <- is_own * (matrix(params$w[h, , , c], size[1]) - params$background[c])
    padded <- matrix(0, 2 * size[1], 2 * size[2])
    padded[seq_len(size[1]), seq_len(size[2])] <- shown
    spectrum[, , c] <- stats::fft(padded)
    square <- square + sum(shown^2)
  }
  list(spectrum = spectrum, norm = sqrt(square))
}

# Components `which` start anew, each from the window that the posterior explains worst. `params`
# are those by which latents are numbered in progress$selected.
reseed_components <- function(model, params, repair, which, progress) {
  repair <- begin_relabel(model, repair)
  n <- n_points(progress$y)
  images <- sort(sample.int(n, min(n, searched_images)))
  seen <- take_points(progress$y, progress$missing, images)
  slots <- lapply(progress[c("selected", "prob_on")], function(x) x[, images, drop = FALSE])
  energy <- unexplained_energy(model, params, seen$y, slots, seen$missing)
  energy <- without_windows(model, energy, images, repair$notes$taken)
  sums <- box_sums(model, energy)
  for (h in which) {
    best <- arrayInd(which.max(sums), dim(sums))
    corner <- best[1]
    repair <- reseed_component(model, repair, h, cut_window(model, seen$y[, best[2]], corner))
    taken <- data.frame(point = images[best[2]], pixel = corner)
    repair$labels <- rbind(repair$labels, data.frame(
      point = taken$point, latent = component_latents(model, h)[corner]
    ))
    repair$notes$taken <- rbind(repair$notes$taken, taken)
    energy <- without_windows(model, energy, images, taken)
    sums[, best[2]] <- box_sums(model, energy[, best[2], drop = FALSE])
  }
  repair
}

reseed_component <- function(model, repair, h, window) {
  repair$params <- put_window(repair$params, h, window)
  repair$relabel[component_latents(model, h)] <- 0L
  repair$notes$age[h] <- 0L
  repair$events["reseeded"] <- repair$events[["reseeded"]] + 1L
  repair
}

# A component as new ones are, showing a window.
put_window <- function(params, h, window) {
  params$alpha[h, , ] <- new_mask(dim(params$alpha)[2:3])
  params$w[h, , , ] <- window
  params$pi[h] <- new_prob(length(params$pi))
  params
}

# Of an image no more than these latents, the most probable ones, explain it here, and no more at
# once: states of all slots may be millions.
most_explaining <- c(slots = 16L, active = 5L)

# Squared distance of each pixel from its posterior mean, pixels x n: what nothing owns counts
# against the background. Masked ones have none. `slots` is list(selected, prob_on).
unexplained_energy <- function(model, params, y, slots, missing = NULL) {
  block <- new_block(0, ncol(y), missing = missing)
  selected <- probable_latents(slots, most_explaining[["slots"]])
  max_active <- min(nrow(selected), most_explaining[["active"]])
  states <- enumerate_states(model$rule, nrow(selected), max_active)
  response <- run_estep(model, block_inputs(model, params, y, block), y, block, selected, states,
                        1L, "response")$response
  energy <- pixel_energy(model, bounded_deviation(model, y - response))
  if (!is.null(missing)) energy[masked_pixels(model, missing)] <- 0
  energy
}

# Slots [at most n_most x n] with the most probable latents of each point, in ascending order.
probable_latents <- function(slots, n_most) {
  selected <- slots$selected
  if (nrow(selected) <= n_most) return(selected)
  prob <- ifelse(selected > 0, slots$prob_on, -1)
  vapply(seq_len(ncol(selected)), function(n) {
    selected[sort(order(-prob[, n])[seq_len(n_most)]), n]
  }, integer(n_most))
}

# A window is taken once: it has no energy for the next.
without_windows <- function(model, energy, images, taken) {
  for (i in seq_len(NROW(taken))) {
    column <- match(taken$point[i], images)
    if (!is.na(column)) energy[window_pixels(model, taken$pixel[i]), column] <- 0
  }
  energy
}
