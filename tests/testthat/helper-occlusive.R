# Model E by its definition, slow and obvious. A latent is a component at a cyclic position; a state
# is a vector of latents (1-based).

# Component, row and column (0-based) of latents.
latent_places <- function(model, latents) {
  n_pixels <- prod(model$grid)
  pixel <- (latents - 1) %% n_pixels
  data.frame(component = (latents - 1) %/% n_pixels + 1, row = pixel %% model$grid[1],
             column = pixel %/% model$grid[1])
}

latent_of <- function(model, component, row, column) {
  1 + row + model$grid[1] * column + prod(model$grid) * (component - 1)
}

# Log densities p(y_d | owner) + log odds, pixels x (background, then the latents of the state), the
# odds alone, and of each owner the share of its density that is no clutter. Of a pixel with a
# missing cell only the odds are known.
pixel_terms <- function(model, params, y, state) {
  n_pixels <- prod(model$grid)
  y <- matrix(y, n_pixels)
  is_masked <- rowSums(is.na(y)) > 0
  y[is_masked, ] <- 0
  normal <- function(mean) {
    rowSums(dnorm(y, rep(mean, each = if (is.matrix(mean)) 1 else n_pixels),
                  sqrt(params$sigma2), log = TRUE))
  }
  is_shared <- clutter_form(model$clutter) != "background"
  clutter <- if (is_shared) params$clutter else model$clutter
  free <- log(clutter) + log_clutter_density(model, y)
  mixed <- function(own, free) {
    top <- pmax(own, free)
    top + log(exp(own - top) + exp(free - top))
  }
  own <- log1p(-clutter) + normal(params$background)
  terms <- matrix(mixed(own, free))
  clean <- exp(own - terms)
  odds <- matrix(1, n_pixels)
  for (latent in state) {
    place <- latent_places(model, latent)
    log_odds <- rep(-Inf, n_pixels)
    mean <- matrix(0, n_pixels, ncol(y))
    for (i in seq_len(model$size[1])) {
      for (j in seq_len(model$size[2])) {
        at <- 1 + (place$row + i - 1) %% model$grid[1] +
          model$grid[1] * ((place$column + j - 1) %% model$grid[2])
        log_odds[at] <- qlogis(params$alpha[place$component, i, j])
        mean[at, ] <- params$w[place$component, i, j, ]
      }
    }
    own <- normal(mean)
    if (is_shared) own <- log1p(-clutter) + own
    both <- if (is_shared) mixed(own, free) else own
    terms <- cbind(terms, log_odds + both)
    clean <- cbind(clean, exp(own - both))
    odds <- cbind(odds, exp(log_odds))
  }
  terms[is_masked, ] <- log(odds[is_masked, ])
  clean[is_masked, ] <- 0
  list(terms = terms, odds = odds, clean = clean)
}

# By what the help page says, from the range that the model has.
log_clutter_density <- function(model, y) {
  if (!is.null(model$density)) return(rep(log(model$density), nrow(y)))
  range <- model$extent
  if (clutter_form(model$clutter) == "background") return(rep(-ncol(y) * log(range), nrow(y)))
  distance <- pmax(model$lowest - y, y - model$lowest - range, 0)
  rowSums(log(0.75 / range) - 4 * log1p(2 * distance / range))
}

log_row_sums <- function(x) {
  top <- do.call(pmax, as.data.frame(x))
  top + log(rowSums(exp(x - top)))
}

joint_occlusive <- function(model, params, y, state) {
  places <- latent_places(model, state)
  if (anyDuplicated(places$component)) return(-Inf)
  on <- seq_len(model$n_components) %in% places$component
  pixels <- pixel_terms(model, params, y, state)
  sum(ifelse(on, log(params$pi) - log(prod(model$grid)), log1p(-params$pi))) +
    sum(log_row_sums(pixels$terms) - log(rowSums(pixels$odds)))
}

# Everything an E-step gives, over the states of the selected latents (0: an empty slot).
brute_force_occlusive <- function(model, params, y, selected, max_active = ncol(selected)) {
  n_points <- nrow(y)
  n_pixels <- prod(model$grid)
  slots <- unlist(lapply(0:max_active, function(k) {
    utils::combn(ncol(selected), k, simplify = FALSE)
  }), recursive = FALSE)
  stats <- lapply(model$stats_dims, function(dim) array(0, dim))
  result <- list(log_evidence = numeric(n_points), prob_on = 0 * selected,
                 response = array(0, dim(y)))
  for (n in seq_len(n_points)) {
    states <- Filter(function(state) all(state > 0), lapply(slots, function(s) selected[n, s]))
    joint <- vapply(states, function(state) joint_occlusive(model, params, y[n, ], state), 1)
    result$log_evidence[n] <- max(joint) + log(sum(exp(joint - max(joint))))
    prob <- exp(joint - result$log_evidence[n])
    pixels <- matrix(y[n, ], n_pixels)
    is_masked <- rowSums(is.na(pixels)) > 0
    pixels[is_masked, ] <- 0
    if (clutter_form(model$clutter) == "learned") {
      kept <- (1 - params$clutter) * sum(is_masked)
      stats$background_count <- stats$background_count + kept
      stats$background_data <- stats$background_data + kept * params$background
      stats$background_square <- stats$background_square +
        kept * sum(params$background^2 + params$sigma2)
    }
    stats$count <- stats$count + 1
    for (m in which(prob > 0)) {
      state <- states[[m]]
      result$prob_on[n, ] <- result$prob_on[n, ] + prob[m] * (selected[n, ] %in% state)
      terms <- pixel_terms(model, params, y[n, ], state)
      share <- exp(terms$terms - log_row_sums(terms$terms))
      clean <- prob[m] * share[, 1] * terms$clean[, 1]
      is_shared <- clutter_form(model$clutter) != "background"
      exposed <- if (is_shared) rowSums(share * terms$clean) else 1
      exposed <- prob[m] * exposed / rowSums(terms$odds)
      stats$background_count <- stats$background_count + sum(clean)
      stats$background_data <- stats$background_data + colSums(clean * pixels)
      stats$background_square <- stats$background_square + sum(clean * pixels^2)
      signal <- share[, 1] %o% params$background
      for (k in seq_along(state)) {
        place <- latent_places(model, state[k])
        h <- place$component
        stats$on[h] <- stats$on[h] + prob[m]
        for (i in seq_len(model$size[1])) {
          for (j in seq_len(model$size[2])) {
            at <- 1 + (place$row + i - 1) %% model$grid[1] +
              model$grid[1] * ((place$column + j - 1) %% model$grid[2])
            own <- prob[m] * share[at, k + 1] * terms$clean[at, k + 1]
            stats$owned[i, j, h] <- stats$owned[i, j, h] + own
            stats$owned_data[i, j, , h] <- stats$owned_data[i, j, , h] + own * pixels[at, ]
            stats$owned_square[i, j, h] <- stats$owned_square[i, j, h] + own * sum(pixels[at, ]^2)
            stats$exposure[i, j, h] <- stats$exposure[i, j, h] + exposed[at]
            log_sum <- function(x) max(x) + log(sum(exp(x - max(x))))
            lost <- log_sum(terms$terms[at, ]) - log_sum(terms$terms[at, -k - 1])
            odds <- terms$odds[at, ]
            stats$removal[i, j, h] <- stats$removal[i, j, h] +
              prob[m] * (log(sum(odds)) - log(sum(odds[-k - 1])) - lost)
            signal[at, ] <- signal[at, ] + share[at, k + 1] * params$w[h, i, j, ]
          }
        }
      }
      result$response[n, ] <- result$response[n, ] + prob[m] * c(signal)
    }
  }
  c(result, list(stats = stats))
}

# A small random problem: components, data from the model, a selection of every kind.
occlusive_case <- function(seed, image = c(5, 7), size = c(3, 2), n_channels = 1, n_components = 3,
                           n = 8, ...) {
  set.seed(seed)
  n_window <- n_components * prod(size)
  model <- model_occlusive(n_components, size, image, ...)
  params <- list(alpha = array(runif(n_window, 0.05, 0.95), c(n_components, size)),
                 w = array(runif(n_window * n_channels), c(n_components, size, n_channels)),
                 pi = runif(n_components, 0.1, 0.6), background = rep(0.1, n_channels),
                 sigma2 = 0.02, clutter = 0.05)
  y <- matrix(runif(n * prod(image) * n_channels), n)
  model <- gps_bind(model, y)
  params$clutter <- if ("clutter" %in% names(model$params)) unname(model$clutter)
  selected <- t(vapply(seq_len(n), function(i) sort(sample.int(model$n_latents, 4)), integer(4)))
  list(model = model, params = params, y = y, selected = selected)
}
