# How well the selection of a fit holds the latents that are known to be on.

#' Share of the truly active latents that were selected
#'
#' The E-step can only find what the selection offers: this is the recall of the selection of a fit
#' on its own data, when the truth is known.
#'
#' @param fit A fit, as made by [gps_fit()].
#' @param latents True latents, n x H: a matrix of 0 and 1, such as `latents` of [simulate_bars()]
#'   and [simulate_clusters()]. Column h belongs to component h of the fit, unless `truth` is given.
#'   For models whose latents have locations a data frame with columns point, object, row and
#'   column,
#'   such as `latents` of [simulate_scenes()]; whole numbers from 1.
#' @param within Tolerance of locations, for models whose latents have some: pixels along both axes
#'   (cyclic), a number >= 0. For others it must be 0.
#' @param truth NULL, or the true components as [match_components()] takes them: column h of
#'   `latents` then belongs to the component of the fit that matches true component h, as `matched`
#'   of match_components() has it. A true component that none matches counts as never selected.
#' @param all_objects Models with locations only. FALSE: objects that no component matches are left
#'   out of the count; TRUE: they count as never selected.
#' @param ... nothing.
#' @return A number in \[0, 1\]: of all pairs of a data point and a latent that is truly on, the
#'   share in which the latent was selected for the point; NA where none is on.
#' @seealso [match_components()]; [gps_audit()], where the truth is not known
#' @examples
#' set.seed(1)
#' bars <- simulate_bars(200)
#' fit <- gps_fit(bars$y, model_binary_sparse(10), selector_handcrafted(), n_selected = 5,
#'                control = gps_control(max_iter = 20, n_starts = 2))
#' selection_recall(fit, bars$latents, truth = bars)
#' @export
selection_recall <- function(fit, latents, within = 0, truth = NULL, all_objects = FALSE, ...) {
  refuse_unknown(further(...), names(formals(selection_recall)))
  need_given()
  fit <- check_fit(fit)
  within <- check_number(within, "within", lower = 0)
  all_objects <- check_flag(all_objects, "all_objects")
  need_slots(fit, "selection_recall()")
  if (has_images(fit$model)) return(scene_recall(fit, latents, within, truth, all_objects))
  if (is.list(latents) && !is.data.frame(latents) && !is.null(latents$latents)) {
    gps_abort("`latents` must be a matrix, not the list that has one: give its `latents`.")
  }
  if (within > 0) gps_abort("`within` must be 0: the latents of this model have no locations.")
  latents <- align_latents(check_matrix(latents, "latents"), fit, truth)
  if (!all(latents %in% 0:1)) gps_abort("`latents` must have only 0 and 1.")
  number <- if (is.null(truth)) {
    seq_len(fit$model$n_latents)
  } else {
    match <- match_components(fit, truth)
    ifelse(match$matched, match$permutation, NA)
  }
  if (nrow(latents) != fit$n_points || ncol(latents) != length(number)) {
    abort_value(latents, "latents", sprintf("a matrix of %d x %d", fit$n_points, length(number)))
  }
  ones <- which(latents == 1, arr.ind = TRUE)
  if (nrow(ones) == 0) return(NA_real_)
  wanted <- number[ones[, 2]]
  mean(is_in_slots(fit$selected, ones[, 1], wanted))
}

# True latents with rows as the fit's data and columns as the true components where both have
# names.
align_latents <- function(latents, fit, truth) {
  place <- match_columns(rownames(latents), fit$row_names, "latents", "the fit's data", "row")
  if (!is.null(place)) latents <- latents[place, , drop = FALSE]
  if (!is.null(truth)) {
    latents <- pick_columns(latents, colnames(get_components(truth, "truth")), "latents", "`truth`")
  }
  unname(latents)
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
  grid <- choice_grid(fit$model)
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
