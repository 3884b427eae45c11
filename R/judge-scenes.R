# How good the components of a model with locations are when the true objects are known.

# Best cosines of pictures under shifts, list(similarity [n_true x n_found], row, column): the
# object begins at that row and column offset of the window (0 = at its first row and column;
# negative: the window begins inside the object). Pictures are n x height x width x channels,
# 0 where masked.
best_shifts <- function(found, truth) {
  window <- dim(found)[2:3]
  box <- dim(truth)[2:3]
  truth_columns <- unit_columns(t(matrix(truth, dim(truth)[1])))
  n_shifts <- window + box - 1L
  pixels <- shifted_pixels(window, box)
  best <- list(similarity = matrix(0, dim(truth)[1], dim(found)[1]))
  best$row <- best$column <- array(0L, dim(best$similarity))
  for (k in seq_len(dim(found)[1])) {
    picture <- matrix(found[k, , , ], prod(window))
    picture[] <- unit_columns(matrix(picture))
    pieces <- rbind(0, picture)[1 + pixels, , drop = FALSE]
    # shifts x pixels of the box and channels
    dim(pieces) <- c(prod(n_shifts), nrow(truth_columns))
    cosine <- pieces %*% truth_columns
    at <- max.col(t(cosine), "first")
    best$similarity[, k] <- pmin(cosine[cbind(at, seq_along(at))], 1)
    best$row[, k] <- (at - 1L) %% n_shifts[1] - box[1] + 1L
    best$column[, k] <- (at - 1L) %/% n_shifts[1] - box[2] + 1L
  }
  best
}

# For every shift (rows) and every pixel of the box (columns) the pixel of the window, 0 outside.
shifted_pixels <- function(window, box) {
  along <- function(axis) {
    at <- outer(seq_len(window[axis] + box[axis] - 1L) - box[axis], seq_len(box[axis]), "+")
    at[at > window[axis]] <- 0
    pmax(at, 0)
  }
  row <- along(1)
  column <- along(2)
  i <- rep(seq_len(nrow(row)), nrow(column))
  j <- rep(seq_len(nrow(column)), each = nrow(row))
  pixels <- row[i, rep(seq_len(box[1]), box[2])] +
    (column[j, rep(seq_len(box[2]), each = box[1])] - 1) * window[1]
  pixels[row[i, rep(seq_len(box[1]), box[2])] == 0 |
           column[j, rep(seq_len(box[2]), each = box[1])] == 0] <- 0
  as.vector(pixels)
}

# Does this hold pictures with masks: a fit or parameters with `alpha` and `w`, objects, or scenes?
has_pictures <- function(x) {
  x <- if (inherits(x, "gps_fit")) x$params else x
  if (!is.list(x) || is.data.frame(x)) return(FALSE)
  all(c("alpha", "w") %in% names(x)) || all(c("image", "mask") %in% names(x)) ||
    all(c("latents", "objects") %in% names(x))
}

# Pictures and masks: list(image, mask).
get_masked <- function(x, arg) {
  x <- if (inherits(x, "gps_fit")) x$params else x
  if (has_pictures(x)) {
    if (all(c("alpha", "w") %in% names(x))) {
      if (!is.numeric(x$alpha)) abort_value(x$alpha, paste0(arg, "$alpha"), "a numeric array")
      x <- list(image = x$w, mask = (x$alpha > 0.5) + 0)
      is_fit <- TRUE
    } else {
      is_fit <- FALSE
      if (!is.null(x$objects)) x <- x$objects
    }
    return(check_objects(x, arg, allow_empty = is_fit))
  }
  abort_value(x, arg, "a fit or list with `alpha` and `w`, objects, or simulated scenes")
}

# Pictures that are 0 where masked, n x height x width x channels.
mask_pictures <- function(x) x$image * as.vector(x$mask)

get_pictures <- function(x, arg) mask_pictures(get_masked(x, arg))

# As match_components(), at the best shift.
match_pictures <- function(found, truth, threshold) {
  masked <- list(found = get_masked(found, "found"), truth = get_masked(truth, "truth"))
  found <- mask_pictures(masked$found)
  truth <- mask_pictures(masked$truth)
  if (dim(found)[4] != dim(truth)[4]) {
    gps_abort(sprintf("`found` must have %d channels like `truth`, not %d.", dim(truth)[4],
                      dim(found)[4]))
  }
  best <- best_shifts(found, truth)
  match <- assign_components(pmax(best$similarity, 0), threshold)
  pair <- cbind(seq_along(match$permutation), match$permutation)
  match$shift <- cbind(row = best$row[pair], column = best$column[pair])
  match$iou <- vapply(seq_along(match$permutation), function(k) {
    if (is.na(match$permutation[k])) return(NA_real_)
    mask_overlap(masked$found$mask[match$permutation[k], , ], masked$truth$mask[k, , ],
                 dim(masked$found$mask)[-1], dim(masked$truth$mask)[-1], match$shift[k, ])
  }, 1)
  match[c("permutation", "similarity", "iou", "matched", "shift")]
}

# Intersection over union of a component's mask and an object's that begins `shift` rows and columns
# into its window. What of the object lies outside the window counts in the union.
mask_overlap <- function(found, truth, window, box, shift) {
  found <- which(array(found, window) > 0, arr.ind = TRUE)
  truth <- which(array(truth, box) > 0, arr.ind = TRUE) + rep(shift, each = sum(truth > 0))
  # Of all pixels that a window or an object can have.
  number <- function(at) (at[, 1] + box[1]) + (window[1] + 2 * box[1]) * (at[, 2] + box[2])
  length(intersect(number(found), number(truth))) / length(union(number(found), number(truth)))
}

# Distance along both axes of each candidate (rows) from each instance (columns): list(row, column),
# Inf for candidates of other components. `match` may be NULL: object k is component k.
candidate_offsets <- function(selected, latents, match, grid) {
  n_pixels <- prod(grid)
  shift <- match$shift
  number <- latents$object
  if (!is.null(match)) number <- ifelse(match$matched, match$permutation, NA)[latents$object]
  at <- selected[, latents$point, drop = FALSE]
  pixel <- (at - 1L) %% n_pixels
  is_other <- at == 0 | (at - 1L) %/% n_pixels + 1L != rep(number, each = nrow(at))
  along <- function(position, true, axis) {
    moved <- if (is.null(shift)) 0 else shift[latents$object, axis]
    distance <- (position - rep(true - 1 - moved, each = nrow(at))) %% grid[axis]
    distance <- pmin(distance, grid[axis] - distance)
    distance[is_other | is.na(is_other)] <- Inf
    array(distance, dim(at))
  }
  list(row = along(pixel %% grid[1], latents$row, 1),
       column = along(pixel %/% grid[1], latents$column, 2), is_known = !is.na(number))
}

# Smallest of each column; Inf where all are.
nearest_of <- function(distance) {
  if (ncol(distance) == 0) return(numeric())
  apply(distance, 2, min)
}

# Euclidean distance in pixels from each true instance to the nearest candidate of its component:
# Inf where there is none, NA where its object has no matched component.
location_errors <- function(selected, params, latents, truth, grid) {
  match <- if (!is.null(truth)) match_components(params, truth)
  offsets <- candidate_offsets(selected, latents, match, grid)
  error <- nearest_of(sqrt(offsets$row^2 + offsets$column^2))
  error[!offsets$is_known] <- NA
  error
}

# Share of the true instances with a candidate within so many pixels along both axes.
scene_recall <- function(fit, latents, within, truth, all_objects) {
  match <- if (!is.null(truth)) match_components(fit$params, truth)
  n_objects <- if (is.null(match)) dim(fit$params$alpha)[1] else length(match$permutation)
  grid <- fit$model$grid
  latents <- check_places(latents, ncol(fit$selected), n_objects, grid)
  offsets <- candidate_offsets(fit$selected, latents, match, grid)
  is_counted <- all_objects | offsets$is_known
  if (!any(is_counted)) return(NA_real_)
  is_near <- nearest_of(pmax(offsets$row, offsets$column)) <= within
  mean(is_near[is_counted])
}

# True locations as a data frame of valid numbers.
check_places <- function(latents, n_points, n_objects, grid) {
  latents <- plain_numbers(latents)
  limits <- c(point = n_points, object = n_objects, row = grid[1], column = grid[2])
  if (!is.data.frame(latents) || !all(names(limits) %in% names(latents))) {
    abort_value(latents, "latents", "a data frame with columns point, object, row and column")
  }
  for (name in names(limits)) {
    x <- latents[[name]]
    if (!is.numeric(x) || anyNA(x) || any(x != round(x) | x < 1 | x > limits[[name]])) {
      gps_abort(sprintf("`latents$%s` must be whole numbers between 1 and %d.", name,
                        as.integer(limits[[name]])))
    }
  }
  latents
}
