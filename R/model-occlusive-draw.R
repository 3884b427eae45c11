# Draws from model E.

#' @export
gps_draw.gps_occlusive <- function(model, params, n) {
  n_pixels <- prod(model$grid)
  y <- matrix(0, n, model$n_dims)
  latents <- vector("list", n)
  for (i in seq_len(n)) {
    on <- which(stats::runif(model$n_components) < params$pi)
    pixel <- sample.int(n_pixels, length(on), replace = TRUE)
    y[i, ] <- draw_scene(model, params, on, pixel)
    latents[[i]] <- data.frame(point = rep(i, length(on)), component = on,
                               row = (pixel - 1L) %% model$grid[1] + 1L,
                               column = (pixel - 1L) %/% model$grid[1] + 1L)
  }
  list(y = y, latents = do.call(rbind, latents))
}

# Components `on` with corners at `pixel` -> the D numbers of an image.
draw_scene <- function(model, params, on, pixel) {
  n_pixels <- prod(model$grid)
  n_channels <- model$n_channels
  mean <- matrix(params$background, n_pixels, n_channels, byrow = TRUE)
  is_free <- stats::runif(n_pixels) < clutter_of(model, params)
  total <- rep(1, n_pixels)
  for (k in seq_along(on)) {
    at <- window_pixels(model, pixel[k])
    odds <- exp(stats::qlogis(c(params$alpha[on[k], , ])))
    total[at] <- total[at] + odds
    # One after the other, each takes a pixel over with its share of all so far.
    takes <- stats::runif(length(at)) < odds / total[at]
    mean[at[takes], ] <- matrix(params$w[on[k], , , ], ncol = n_channels)[takes, , drop = FALSE]
    if (clutter_form(model$clutter) == "background") is_free[at[takes]] <- FALSE
  }
  image <- mean + stats::rnorm(length(mean), sd = sqrt(params$sigma2))
  image[is_free, ] <- draw_clutter(model, sum(is_free) * n_channels)
  c(image)
}

# Numbers of clutter: uniform in the core, or beyond it on either side.
draw_clutter <- function(model, n) {
  core <- unlist(model$options[c("core_lowest", "core_half", "tail_rate")], use.names = FALSE)
  middle <- core[1] + core[2]
  within <- middle + core[2] * stats::runif(n, -1, 1)
  if (core[3] == 0) return(within)
  is_beyond <- stats::runif(n) < tail_mass
  distance <- core[2] + (stats::runif(n)^(-1 / tail_power) - 1) / core[3]
  ifelse(is_beyond, middle + sign(within - middle) * distance, within)
}
