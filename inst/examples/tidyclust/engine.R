# Gaussian mixtures of gpselect as an engine of gm_clust() of package tidyclust: source() this file,
# then set_engine("gpselect"). See README.md beside it.

# The covariance of model_gaussian_mixture() that the words of gm_clust() stand for.
gpselect_covariance <- function(circular, zero_covariance, shared_orientation, shared_shape,
                                shared_size) {
  shared <- c(shared_orientation, shared_shape, shared_size)
  if (circular && !shared_size) return("spherical")
  if (!circular && zero_covariance && !shared_shape && !shared_size) return("diagonal")
  if (!circular && !zero_covariance && all(shared)) return("tied")
  if (!circular && !zero_covariance && !any(shared)) return("full")
  stop("the engine \"gpselect\" has four covariances: circular = TRUE with shared_size = FALSE; ",
       "circular = FALSE with shared_shape = FALSE and shared_size = FALSE; circular = FALSE and ",
       "zero_covariance = FALSE with all three shared, or none of them", call. = FALSE)
}

# A fit whose first cluster is that of the first row, and so on, as tidyclust numbers clusters.
gm_clust_fit_gpselect <- function(x, num_clusters, circular = TRUE, zero_covariance = TRUE,
                                  shared_orientation = TRUE, shared_shape = TRUE,
                                  shared_size = TRUE, selector = gpselect::selector_full(),
                                  control = gpselect::gps_control(progress = FALSE), ...) {
  covariance <- gpselect_covariance(circular, zero_covariance, shared_orientation, shared_shape,
                                    shared_size)
  model <- gpselect::model_gaussian_mixture(num_clusters, covariance)
  fit <- gpselect::gps_fit(x, model, selector, control = control, ...)
  seen <- unique(unname(predict(fit, type = "class")))
  gpselect::order_latents(fit, union(seen, seq_len(num_clusters)))
}

gpselect_labels <- function(fit, prefix, labels) {
  n <- length(coef(fit)$pi)
  if (is.null(labels)) return(paste0(prefix, seq_len(n)))
  if (length(labels) != n || anyDuplicated(labels) > 0) {
    stop("`labels` must be ", n, " distinct names, one for each cluster", call. = FALSE)
  }
  labels
}

gm_clust_predict_gpselect <- function(object, new_data, prefix = "Cluster_", labels = NULL) {
  names <- gpselect_labels(object, prefix, labels)
  factor(names[unname(predict(object, new_data, type = "class", progress = FALSE))], names)
}

assign_gpselect <- function(object, ..., prefix = "Cluster_", labels = NULL) {
  names <- gpselect_labels(object, prefix, labels)
  tibble::tibble(.cluster = factor(names[unname(predict(object, type = "class"))], names))
}

# What extract_centroids() and the metrics of tidyclust ask for: the mean of each cluster that is
# there. `call` is for its messages.
summarise_gpselect <- function(object, ..., prefix = "Cluster_", labels = NULL, call = NULL) {
  cluster <- assign_gpselect(object, prefix = prefix, labels = labels)$.cluster
  there <- levels(cluster)[table(cluster) > 0]
  means <- t(coef(object)$mu)[levels(cluster) %in% there, , drop = FALSE]
  data <- t(object$y)
  distance <- function(x, centre) sqrt(colSums((t(x) - centre)^2))
  within <- vapply(seq_along(there), function(k) {
    sum(distance(data[cluster == there[k], , drop = FALSE], means[k, ]))
  }, 0)
  list(cluster_names = factor(there, levels(cluster)), centroids = tibble::as_tibble(means),
       n_members = as.integer(table(cluster)[there]), sse_within_total_total = within,
       sse_total = sum(distance(data, colMeans(data))), orig_labels = NULL,
       cluster_assignments = cluster)
}

local({
  clust <- list(model = "gm_clust", mode = "partition", eng = "gpselect")
  with_engine <- function(f, ...) do.call(f, c(clust, list(...)))
  modelenv::set_model_engine("gm_clust", "partition", "gpselect")
  with_engine(modelenv::set_dependency, pkg = "gpselect")
  with_engine(modelenv::set_dependency, pkg = "tidyclust")
  words <- c("circular", "zero_covariance", "shared_orientation", "shared_shape", "shared_size")
  with_engine(modelenv::set_fit, value = list(
    interface = "matrix", protect = c("x", "num_clusters", words),
    func = c(fun = "gm_clust_fit_gpselect"), defaults = list()
  ))
  with_engine(modelenv::set_encoding, options = list(
    predictor_indicators = "traditional", compute_intercept = TRUE, remove_intercept = TRUE,
    allow_sparse_x = FALSE
  ))
  for (word in c("num_clusters", words)) {
    package <- if (word == "num_clusters") "dials" else "tidyclust"
    modelenv::set_model_arg(model = "gm_clust", eng = "gpselect", exposed = word, original = word,
                            func = list(pkg = package, fun = word), has_submodel = TRUE)
  }
  with_engine(modelenv::set_pred, type = "cluster", value = list(
    pre = NULL, post = NULL, func = c(fun = "gm_clust_predict_gpselect"),
    args = list(object = quote(object$fit), new_data = quote(new_data))
  ))
  space <- asNamespace("tidyclust")
  registerS3method("extract_cluster_assignment", "gps_fit", assign_gpselect, space)
  registerS3method("extract_fit_summary", "gps_fit", summarise_gpselect, space)
})
