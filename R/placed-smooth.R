# Smoothing over neighbouring places of a grid: of predictions, by weights, or in their place of the
# targets that they are made from.

# A cyclic Gaussian blur of n cells in a ring, cut off at three standard deviations: the weights of
# a cell and of each of its two neighbours at distance 1, 2, ...
ring_weights <- function(n_cells, sd) {
  radius <- floor(3 * sd)
  weight <- numeric(min(radius, n_cells %/% 2L) + 1)
  total <- 0
  for (k in 0:radius) {
    value <- if (k == 0) 1 else exp(-0.5 * k^2 / sd^2)
    twice <- if (k == 0) value else 2 * value
    # Distances go round the ring; what comes back to the cell itself comes from both sides.
    around <- k %% n_cells
    at <- min(around, n_cells - around) + 1
    weight[at] <- weight[at] + if (at == 1) twice else value
    total <- total + twice
  }
  weight / total
}

# Those down and across the grid of a layout; NULL where nothing is smoothed.
grid_weights <- function(layout) {
  if (layout$smooth > 0) lapply(layout$grid, ring_weights, layout$smooth)
}

# list(step, weight): what a cell gives to those so far after it in its ring. Over half of an even
# ring it goes in both directions.
ring_taps <- function(n_cells, weight) {
  step <- seq_len(n_cells) - 1L
  distance <- pmin(step, n_cells - step)
  tap <- weight[distance + 1] * ifelse(2 * distance == n_cells, 2, 1)
  list(step = step[!is.na(tap)], weight = tap[!is.na(tap)])
}

# The same targets as others whose predictions need no smoothing: each is in the slots of all places
# that it is smoothed over. Slots that hold nothing come last.
widen_targets <- function(targets) {
  if (!inherits(targets, "gps_slots") || targets$layout$smooth == 0) return(targets)
  layout <- targets$layout
  height <- layout$grid[1]
  taps <- Map(ring_taps, layout$grid, grid_weights(layout))
  n_taps <- lengths(lapply(taps, `[[`, "step"))
  is_held <- targets$selected > 0 & targets$prob_on != 0
  place <- (targets$selected[is_held] - 1L) %% as.integer(prod(layout$grid))
  group <- targets$selected[is_held] - place
  # Each target down a column, then across.
  row <- outer(taps[[1]]$step, place %% height, `+`) %% height
  column <- outer(taps[[2]]$step, place %/% height, `+`) %% layout$grid[2]
  row <- row[, rep(seq_along(place), each = n_taps[2])]
  latent <- row + rep(column * height + rep(group, each = n_taps[2]), each = n_taps[1])
  weight <- c(outer(taps[[1]]$weight, taps[[2]]$weight))
  n_held <- colSums(is_held)
  most <- max(n_held, 1)
  slots <- rep(most * (seq_along(n_held) - 1), n_held) + sequence(n_held)
  spread <- function(wide, values) {
    dim(wide) <- c(length(weight), most * length(n_held))
    wide[, slots] <- values
    matrix(wide, ncol = length(n_held))
  }
  n_wide <- length(weight) * most * length(n_held)
  targets$selected <- spread(integer(n_wide), latent)
  targets$prob_on <- spread(numeric(n_wide),
                            weight * rep(targets$prob_on[is_held], each = length(weight)))
  targets$layout$smooth <- 0
  targets
}
