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
    list(params = params, sought = idle, event = "renewed")
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

# Pairs that are parts of one object become one component, most often together first.
join_moves <- function(task, state, on) {
  pairs <- find_parts(task, state, on)
  lapply(pairs, function(pair) {
    list(params = join_parts_of(task$model, state$params, pair), sought = c(pair$a, pair$b),
         event = "joined")
  })
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

# Component a gets what b has at the same place of the image, where b's mask is higher, centred; b
# goes.
join_parts_of <- function(model, params, pair) {
  moved <- roll_component(params, pair$b, -pair$shift, low = lowest_alpha)
  take <- moved$alpha[pair$b, , ] > params$alpha[pair$a, , ]
  params$alpha[pair$a, , ][take] <- moved$alpha[pair$b, , ][take]
  for (c in seq_len(dim(params$w)[4])) {
    params$w[pair$a, , , c][take] <- moved$w[pair$b, , , c][take]
  }
  params <- retire_component(params, pair$b)
  offset <- mask_offset(matrix(params$alpha[pair$a, , ], model$size[1]))
  roll_component(params, pair$a, offset)
}
