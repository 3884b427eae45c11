# A selector of your own: a regression forest for each latent, by the package ranger.
#
#   source(system.file("examples", "selectors", "forest.R", package = "gpselect"))
#   gps_fit(y, model_binary_sparse(10), selector_forest(50), n_selected = 5)
#
# A forest has leave-one-out predictions at no cost: a point is predicted by the trees that did not
# see it (out of bag). They are made in learn(), and affinity() gives back those that are asked for.

selector_forest <- function(trees = 50, min_node = 5, seed = 1) {
  if (!requireNamespace("ranger", quietly = TRUE)) stop("selector_forest() needs package ranger.")
  affinity <- function(params, y, memory, rows) {
    if (!is.null(rows)) return(memory$out_of_bag[rows, , drop = FALSE])
    colnames(y) <- paste0("y", seq_len(ncol(y)))
    means <- vapply(memory$forests, function(forest) {
      if (is.numeric(forest)) return(rep(forest, nrow(y)))
      predict(forest, y, num.threads = 1)$predictions
    }, numeric(nrow(y)))
    matrix(means, nrow(y))
  }
  learn <- function(params, y, expectations) {
    colnames(y) <- paste0("y", seq_len(ncol(y)))
    forests <- lapply(seq_len(ncol(expectations)), function(latent) {
      target <- expectations[, latent]
      # Nothing to learn of a latent that is never on.
      if (all(target == target[1])) return(target[1])
      ranger::ranger(x = y, y = target, num.trees = trees, min.node.size = min_node, seed = seed,
                     num.threads = 1)
    })
    out_of_bag <- vapply(forests, function(forest) {
      value <- if (is.numeric(forest)) rep(forest, nrow(y)) else forest$predictions
      # A point that all trees have seen is ranked by the mean.
      ifelse(is.finite(value), value, mean(value, na.rm = TRUE))
    }, numeric(nrow(y)))
    list(forests = forests, out_of_bag = matrix(out_of_bag, nrow(y)))
  }
  gpselect::new_gps_selector("selector_forest", "regression forests", affinity, learn,
                             explore = 0.1,
                             settings = list(trees = trees, min_node = min_node, seed = seed))
}
