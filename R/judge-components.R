# How good a result is when the truth is known: matched components and agreeing partitions.
# @srrstats {G5.6a}

#' Match learned components with true ones
#'
#' Finds the assignment of learned to true components, one to one, that has the largest sum of
#' similarities, and says which of the true components were found. The similarity is the absolute
#' value of the cosine between two columns, without centring: the sign and the scale of a component
#' are not identified in sparse coding.
#'
#' Components with locations, pictures with masks, are compared as cosines (with their sign) of all
#' channels at the best shift in whole pixels; pixels where the mask is at most 0.5 count as 0. A
#' cosine says nothing of surplus pixels that are black in the component; `iou` does.
#'
#' @param found Learned components: a D x K matrix of finite numbers with one component a column; or
#'   a fit, or any list, that has them as `W` or, failing that, as `mu` or `rate`.
#' @param truth True components, D x H, given in the same ways; K may be smaller or larger than H.
#'   The result of [simulate_bars()] or [simulate_clusters()] will do. Where `found` has `alpha` and
#'   `w`: objects, as made by [scene_objects()], or the result of [simulate_scenes()].
#' @param threshold Similarity from which a component counts as found: a number in \[0, 1\]; 0.9 for
#'   components with locations and 0.95 for others unless given.
#'
#' @param ... nothing.
#' @return A list with, for each of the H true components,
#' * `permutation`: the column of `found` assigned to it, NA where none is left over (K < H);
#' * `similarity`: their |cosine|, in \[0, 1\]; 0 where a column is all zeros or none is assigned;
#' * `iou` (components with locations): intersection over union of the pixels whose mask is above
#'   0.5 and the object's, at the shift of the best cosine, in \[0, 1\]; NA where none is assigned;
#' * `matched`: whether the similarity reaches `threshold`;
#' * `shift` (components with locations): row and column at which the object begins in the window of
#'   its component, counted from 0; NA where none is assigned.
#' @seealso [selection_recall()], [order_latents()]
#' @concept label switching
#' @concept permutation
#' @examples
#' truth <- diag(3)
#' found <- cbind(c(0, 0, -2), c(1, 0.1, 0), c(0.5, 0.5, 0.5))
#' match_components(found, truth)
#' @export
match_components <- function(found, truth, threshold = if (has_places) 0.9 else 0.95, ...) {
  refuse_unknown(further(...), names(formals(match_components)))
  need_given()
  has_places <- has_pictures(found) || has_pictures(truth)
  threshold <- check_number(threshold, "threshold", lower = 0, upper = 1)
  if (has_places) return(match_pictures(found, truth, threshold))
  is_fit <- inherits(found, "gps_fit")
  found <- get_components(found, "found")
  truth <- get_components(truth, "truth")
  refuse_unequal(found, truth, if (is_fit) "the fit" else "`found`")
  place <- match_columns(rownames(found), rownames(truth), "found", "`truth`", "row")
  if (!is.null(place)) found <- found[place, , drop = FALSE]
  with_memory({
    cosine <- pmin(abs(crossprod(unit_columns(unname(truth)), unit_columns(unname(found)))), 1)
    assign_components(cosine, threshold)
  }, "Similarities of %d x %d components", ncol(truth), ncol(found))
}

# The components of a fit, of a list of parameters or as they are: D x K, with their names.
get_components <- function(x, arg) {
  components <- if (inherits(x, "gps_fit")) stats::coef(x) else x
  if (is.list(components) && !is.data.frame(components)) {
    of_models <- intersect(c("W", "mu", "rate"), names(components))
    components <- if (length(of_models) > 0) components[[of_models[1]]]
  }
  if (length(dim(components)) != 2) {
    abort_value(x, arg, paste("a matrix with components in columns, or a fit or list with `W`,",
                              "`mu` or `rate`"), advise_labels(x))
  }
  check_matrix(components, arg)
}

# Adjusted Rand index of two labellings of the same points (Hubert & Arabie 1985): 1 for equal
# partitions whatever their labels, 0 on average for independent ones. Two partitions that leave
# nothing to decide (both one cluster, or both all singletons) are equal: 1. Benchmarks use it as
# gpselect:::adjusted_rand(a, b).
adjusted_rand <- function(a, b) {
  if (length(a) != length(b) || length(a) == 0 || anyNA(a) || anyNA(b)) {
    gps_abort("`a` and `b` must be labels of the same points, at least one, without NA.")
  }
  n_pairs <- function(count) sum(count * (count - 1) / 2)
  both <- table(a, b)
  pairs_a <- n_pairs(rowSums(both))
  pairs_b <- n_pairs(colSums(both))
  expected <- pairs_a * pairs_b / max(n_pairs(sum(both)), 1)
  largest <- (pairs_a + pairs_b) / 2
  if (largest == expected) 1 else (n_pairs(both) - expected) / (largest - expected)
}

# Components of other lengths, by their names.
refuse_unequal <- function(found, truth, name, other = "`truth`") {
  if (nrow(found) == nrow(truth)) return(invisible())
  hint <- if (ncol(truth) == nrow(found)) sprintf(" Is %s transposed?", other) else
    if (ncol(found) == nrow(truth)) sprintf(" Is %s transposed?", name) else ""
  gps_abort(sprintf("Components are columns of the same length: %s has %d rows, %s %d.%s", name,
                    nrow(found), other, nrow(truth), hint))
}
