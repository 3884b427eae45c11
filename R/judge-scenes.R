# How good the components of a model with locations are when the true objects are known.

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
