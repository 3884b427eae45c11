# A selector of your own: the mean of the nearest neighbours' expectations.
#
#   source(system.file("examples", "selectors", "near.R", package = "gpselect"))
#   gps_fit(y, model_binary_sparse(10), selector_near(20), n_selected = 5)
#
# It is what is left of a local Gaussian process when all its weights are equal. A point is never
# its own neighbour: else it would be ranked by what it was last given.

selector_near <- function(k = 20) {
  affinity <- function(params, y, memory, rows) {
    # Squared distances of these points from all that were learned from, as a matrix product.
    distance <- outer(rowSums(y^2), rowSums(memory$y^2), `+`) - 2 * tcrossprod(y, memory$y)
    # `rows` are the numbers of these points among those; NULL for new data, which are none of them.
    if (!is.null(rows)) distance[cbind(seq_along(rows), rows)] <- Inf
    n_near <- min(k, nrow(memory$y) - !is.null(rows))
    means <- apply(distance, 1, function(d) {
      colMeans(memory$on[order(d)[seq_len(n_near)], , drop = FALSE])
    })
    matrix(means, nrow(y), byrow = TRUE)
  }
  learn <- function(params, y, expectations) list(y = y, on = expectations)
  gpselect::new_gps_selector("selector_near", "nearest neighbours", affinity, learn, explore = 0.1,
                             settings = list(k = k))
}
