# Who owns which pixel of a scene (model E). In a state, component h has the weight o_h p_h(y_d) at
# a pixel that it covers, and the background p_0(y_d), clutter included; the owner's posterior is in
# proportion to these weights.

# Log weights of one latent a point at the pixels of its window: list(pixel, value), both window x
# points. y is D x points; of pixels that are masked (pixels x points, NULL: none) only who is
# likely to own them is known.
latent_weights <- function(model, params, y, latent, masked = NULL) {
  n_pixels <- prod(model$grid)
  component <- choice_of(model, latent)
  pixel <- window_pixels(model, (latent - 1) %% n_pixels + 1)
  by_component <- function(x) t(matrix(x, model$n_components))[, component, drop = FALSE]
  energy <- 0
  for (c in seq_len(model$n_channels)) {
    at <- cbind(c(pixel) + n_pixels * (c - 1), c(col(pixel)))
    energy <- energy + (y[at] - by_component(params$w[, , , c]))^2
  }
  own <- log_normal(model, params, energy)
  if (clutter_form(model$clutter) != "background") {
    own <- with_clutter(model, params, own, array(clutter_weights(model, params, y)[
      cbind(c(pixel), c(col(pixel)))], dim(pixel)))
  }
  if (!is.null(masked)) own[masked[cbind(c(pixel), c(col(pixel)))]] <- 0
  list(pixel = pixel, value = by_component(stats::qlogis(params$alpha)) + own)
}

# log N(y; mean, sigma2 I) of pixels from their squared distances.
log_normal <- function(model, params, energy) {
  -0.5 * (energy / params$sigma2 + model$n_channels * log(2 * pi * params$sigma2))
}

# Log weights of the background, pixels x points.
background_weights <- function(model, params, y) {
  mean <- rep(rep_len(params$background, model$n_channels), each = prod(model$grid))
  with_clutter(model, params, log_normal(model, params, pixel_energy(model, y - mean)),
               clutter_weights(model, params, y))
}

# The posterior of the owner of each pixel of one point, height x width x (background, slots):
# averaged over states, slots x states of 0 and 1 with probabilities `prob`.
own_pixels <- function(model, params, y, selected, on, prob) {
  n_pixels <- prod(model$grid)
  n_slots <- length(selected)
  y <- matrix(y)
  weight <- matrix(-Inf, n_pixels, 1 + n_slots)
  weight[, 1] <- background_weights(model, params, y)
  for (slot in which(selected > 0)) {
    own <- latent_weights(model, params, y, selected[slot])
    weight[own$pixel, 1 + slot] <- own$value
  }
  owned <- 0
  for (state in which(prob > 0)) {
    present <- weight
    present[, 1 + which(on[, state] == 0)] <- -Inf
    share <- exp(present - do.call(pmax, as.data.frame(present)))
    owned <- owned + prob[state] * share / rowSums(share)
  }
  array(owned / sum(prob), c(model$grid, 1 + n_slots))
}

# Owners of pixels in one state a point, `on` slots x n of 0 and 1: height x width x n, the number
# of the component with the largest weight, 0 where that is the background.
segment_block <- function(task, params, result, on, block) {
  model <- task$model
  y <- block_data(task$y, block)
  owner <- matrix(0L, prod(model$grid), ncol(y))
  best <- background_weights(model, params, y)
  masked <- masked_pixels(model, cut_missing(block$missing, block$y_offset + seq_len(ncol(y))))
  if (!is.null(masked)) best[masked] <- 0
  for (slot in seq_len(nrow(on))) {
    points <- which(on[slot, ] > 0 & result$selected[slot, ] > 0)
    if (length(points) == 0) next
    latent <- result$selected[slot, points]
    own <- latent_weights(model, params, y[, points, drop = FALSE], latent,
                          if (!is.null(masked)) masked[, points, drop = FALSE])
    at <- cbind(c(own$pixel), rep(points, each = nrow(own$pixel)))
    wins <- c(own$value) > best[at]
    best[at[wins, , drop = FALSE]] <- own$value[wins]
    owner[at[wins, , drop = FALSE]] <- rep(choice_of(model, latent), each = nrow(own$pixel))[wins]
  }
  array(owner, c(model$grid, ncol(y)))
}
