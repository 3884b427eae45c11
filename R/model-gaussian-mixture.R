# Model D of the paper: the Gaussian mixture. The numerics are in src/model_gaussian_mixture.c.

#' Gaussian mixture
#'
#' One of C clusters makes each data point. The paper's section 4.2, equation 6.
#'
#' @section Generative model:
#' `p(y) = sum_c pi_c N(y; mu_c, Sigma_c)`, `Sigma_c` full, diagonal, a multiple of the identity
#' (spherical), or one full matrix of all clusters (tied; the model EEE of the package mclust).
#'
#' @section States:
#' Exactly one of the `n_selected` selected clusters is on; `max_active` is 1.
#'
#' @section E-step:
#' Responsibilities of the selected clusters, the others have none (equation 2 of the paper).
#'
#' @section M-step:
#' `pi_c`, `mu_c` and `Sigma_c` are the weighted proportions, means and covariances. `pi_c` is at
#' least 1e-4 / C. With the columns of the data divided by their standard deviations (all by one
#' number, the root of the mean variance, if spherical) the eigenvalues of `Sigma_c` are at least
#' 1e-8; a column without variance is divided by its size instead. A cluster with less than one
#' point keeps its mean, one with fewer than D + 1 points (2 if not full) its covariance; the events
#' `empty_cluster` and `sigma_kept` of the trace count them. A tied `Sigma` is
#' `1 / N sum_n sum_c r_nc (y_n - mu_c)(y_n - mu_c)'`, r the responsibilities: the mean of the
#' clusters' covariances, weighted by their points. All clusters have part in it, however small
#' they are, and its eigenvalues have the same floor; data of fewer than D + 1 points keep it.
#'
#' @section Units:
#' Full, tied and diagonal mixtures do not depend on the units of the columns: those of `y A + b`,
#' A a diagonal matrix, are transformed likewise, with a bound that is smaller by
#' `n log |det A|`. This holds for first values, floors, and rules of stopping and mending, too.
#' Spherical mixtures have one unit of all columns.
#'
#' @section First values:
#' The means are data points far apart (greedy k-means++, Arthur and Vassilvitskii 2007, k-means++:
#' the advantages of careful seeding, *SODA*), found in standardised columns; if full or tied, at
#' random also in coordinates in which the covariance of the data is the identity; every other time
#' with random weights of the axes. More than 40 clusters are looked for in standardised columns
#' alone or, unless spherical, where neighbours differ in some of these more than twice as much as
#' in others, in units of these differences (after Art, Gnanadesikan and Kettenring 1982, Data-based
#' metrics for cluster analysis, *Utilitas Mathematica* 21A): columns that tell nothing of clusters
#' count less. Full and tied clusters are looked for in units of neighbours' differences along
#' directions, beside the spread of the data there, where these differ more than chance would have
#' them. Seeds are looked for among 10 data points for each cluster (2000 at least, and fewer
#' than 10 of more than 7300 clusters), so that their cost does not grow with the number of data
#' points.
#' All clusters begin with one covariance, that of the points about the mean of those with the same
#' nearest seed. More than 40 clusters with full covariances and fewer than 2.5 points for each
#' number of these and of the means, `D (D + 3) / 2` a cluster, keep one covariance in common for
#' the first 10 iterations (the event `freed` of the trace ends that), half of them if there are
#' fewer than 20. Of more than 40 clusters a learned selection begins with all points in the
#' cluster of the nearest seed; where there are more than 2^28 pairs of points and clusters, unless
#' covariances are full, with those alone that seeds were looked for among, and with nothing known
#' of the others.
#'
#' @section Hand-crafted affinity:
#' `log pi_c + log N(y; mu_c, Sigma_c)`, the exact ranking.
#'
#' @section Differences from the paper:
#' The floors above, and full and tied covariances; the paper's `sigma_c` are not specified further.
#'
#' @param n_components number of clusters C, a whole number of at least 1.
#' @param covariance "full", "diagonal", "spherical" or "tied". With few points for each cluster, or
#'   many columns, "tied" keeps the correlations of the columns at a D-th of the parameters of
#'   "full" and more: D (D + 1) / 2 for all clusters together.
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return a `gps_model`. `coef()` of its fits is a list of `mu` (D x C), `sigma` (D x D x C, D x C
#'   or C; D x D x 1 if tied) and `pi` (C).
#' @seealso [gps_fit()], [gps_choose()], [icl()], `vignette("mixture")`
#' @concept clustering
#' @concept cluster analysis
#' @concept Gaussian mixture model
#' @concept model-based clustering
#' @examples
#' model_gaussian_mixture(3, "diagonal")
#' # Three species of flowers, of one shape in all: the number of parameters and BIC
#' fit <- gps_fit(iris[1:4], model_gaussian_mixture(3, "tied"), selector_full())
#' logLik(fit)
#' BIC(fit)
#' @export
model_gaussian_mixture <- function(n_components,
                                   covariance = c("full", "diagonal", "spherical", "tied"), ...) {
  refuse_unknown(further(...), names(formals(model_gaussian_mixture)))
  need_given()
  n_components <- check_count(n_components, "n_components")
  covariance <- check_choice(covariance, "covariance", covariance_forms)
  shape <- function(first) {
    switch(covariance,
           full = c(first, "dims", "latents"),
           diagonal = c("dims", "latents"),
           spherical = "latents",
           tied = c(first, "dims", "one"))
  }
  new_native_model(
    "gps_gaussian_mixture", "Gaussian mixture", n_components,
    params = list(mu = c("dims", "latents"), sigma = shape("dims"), pi = "latents"),
    ranges = list(pi = c(0, 1)),
    prepared = c(list(whitener = shape("stride"), log_scale = "latents", log_base = "one"),
                 if (covariance == "tied") list(whitened_mu = c("stride", "latents")),
                 if (covariance %in% c("full", "tied")) {
                   list(precision = c(shape("stride"), "gaps"))
                 }),
    stats = list(count = "one", on = "latents", first = c("dims", "latents"),
                 second = shape("stride")),
    events = c("sigma_floor", "pi_floor", "empty_cluster", "sigma_kept"),
    rule = state_rule(min_active = 1L, max_active = 1),
    settings = list(covariance = covariance),
    symbol = "gps_model_gaussian_mixture",
    defaults = model_defaults(screen = gps_screen(),
                              n_starts = if (n_components > many_clusters) 1 else 8)
  )
}

# In the order of the numbers by which C knows them.
covariance_forms <- c("full", "diagonal", "spherical", "tied")

# How many points determine a covariance.
points_needed <- function(model) {
  if (model$settings$covariance == "full") model$n_dims + 1 else 2
}

#' @export
gps_bind.gps_gaussian_mixture <- function(model, y) {
  moments <- as_moments(y)
  refuse_few_points(model, moments$n_points, moments$n_dims)
  kind <- match(model$settings$covariance, covariance_forms) - 1
  bind_native(model, moments$n_dims, sizes = c(stride = 8 * ceiling(moments$n_dims / 8)),
              options = list(centre = moments$centre, scale = cluster_scale(model, moments),
                             kind = kind, floor_sigma = cluster_floor,
                             floor_pi = 1e-4 / model$n_latents, common = 0))
}

# Version 0.1.0 had one floor for all columns, and no units of theirs.
#' @export
upgrade_options.gps_gaussian_mixture <- function(model, options) {
  values <- options$options
  if (is.null(values)) return(options)
  scale <- if (length(values) == 3) rep(sqrt(values[2] / cluster_floor), model$n_dims) else
    options$scale
  list(centre = options$centre, scale = scale, kind = values[1], floor_sigma = cluster_floor,
       floor_pi = values[3], common = 0)
}

# Units of the dimensions [D]; one of all where covariances are spherical.
cluster_scale <- function(model, moments) {
  if (model$settings$covariance != "spherical") return(column_units(moments))
  rep(sqrt(variance_scale(moments)), moments$n_dims)
}

#' @export
gps_init.gps_gaussian_mixture <- function(model, y, weights = NULL) {
  n_clusters <- model$n_latents
  refuse_short_start(n_clusters, nrow(y))
  rows <- seq_len(nrow(y))
  n_rows <- count_seed_rows(n_clusters)
  if (nrow(y) > n_rows) rows <- sort(sample.int(nrow(y), n_rows))
  weights <- weights[rows]
  standardise <- function(rows) {
    (t(y[rows, , drop = FALSE]) - model$options$centre) / model$options$scale
  }
  x <- standardise(rows)
  metric <- seed_metric(model, x, weights)
  z <- seed_space(in_metric(x, metric), can_turn = has_matrices(model), n_clusters, weights)
  drawn <- draw_seeds(z, n_clusters, weights)
  params <- list(mu = t(y[rows[drawn$seeds], , drop = FALSE]),
                 sigma = spread_within(model, x, drawn$label, weights),
                 pi = rep(1 / n_clusters, n_clusters))
  if (n_clusters <= many_clusters) return(params)
  labels <- data.frame(point = rows, latent = drawn$label)
  others <- if (labels_all(model, nrow(y))) seq_len(nrow(y))[-rows]
  if (length(others) > 0) {
    nearest <- nearest_seed(in_metric(standardise(others), metric), z[, drawn$seeds, drop = FALSE])
    labels <- rbind(labels, data.frame(point = others, latent = nearest))
  }
  structure(params, labels = labels)
}

# Rows of a start for each cluster, and where there are fewer than this many for each number that a
# covariance has for each dimension, all clusters have one covariance in common: own ones would fit
# the sample.
cluster_rows <- 10L
least_rows <- 5L

#' @export
count_start_rows.gps_gaussian_mixture <- function(model) {
  max(start_rows, cluster_rows * model$n_latents)
}

# A move is judged by the covariances of small clusters.
#' @export
count_trial_rows.gps_gaussian_mixture <- function(model) {
  max(count_start_rows(model), trial_rows * points_needed(model) * model$n_latents)
}

trial_rows <- 20L

#' @export
start_model.gps_gaussian_mixture <- function(model, n_rows) {
  needed <- least_rows * (if (model$settings$covariance == "full") model$n_dims else 2)
  is_tied <- model$settings$covariance == "tied"
  model$options$common <- as.double(!is_tied && n_rows < needed * model$n_latents)
  model
}

# Of many clusters that are small beside their covariances each is fitted to what points its seed
# happened to get, noise along all directions, and stays there; one covariance of all tells which
# directions keep clusters apart. Beside columns of noise that ended up to .2 nats a point higher,
# without them a little higher on average, and of larger clusters, whose shapes differ, lower.
#' @export
hold_model.gps_gaussian_mixture <- function(model, n_points) {
  n_dims <- model$n_dims
  is_small <- n_points < points_each * n_dims * (n_dims + 3) / 2 * model$n_latents
  if (model$settings$covariance == "full" && model$n_latents > many_clusters && is_small) {
    model$options$common <- 1
  }
  model
}

# Points for each number of a cluster's mean and covariance, so that it is not small.
points_each <- 2.5

#' @export
held_iterations.gps_gaussian_mixture <- function(model) 10

# Covariances as the model has them for clusters to begin with: that of the columns of x
# [D x n] about the means of those with the same label, as one for all. A little of the
# covariance of all of them, that of one point, keeps clusters of single points from nothing.
spread_within <- function(model, x, label, weights = NULL) {
  n_clusters <- model$n_latents
  scale <- model$options$scale
  means <- label_means(x, label, n_clusters, weights)
  deviation <- cbind(x - means[, label, drop = FALSE], x - row_means(x, weights))
  total <- total_weight(weights, ncol(x))
  # More clusters than observations are only where weights are below 1.
  left <- max(total - n_clusters, 0) + 1
  weight <- weigh(rep(c(1, 1 / total), each = ncol(x)) / left, c(weights, weights))
  if (has_matrices(model)) {
    sigma <- tcrossprod(deviation * rep(sqrt(weight), each = nrow(x)))
    sigma <- shrink_covariance(sigma, left) * tcrossprod(scale)
    return(array(sigma, c(dim(sigma), if (model$settings$covariance == "tied") 1 else n_clusters)))
  }
  variance <- drop(deviation^2 %*% weight)
  if (model$settings$covariance == "spherical") {
    return(rep(max(mean(variance), cluster_floor) * scale[1]^2, n_clusters))
  }
  matrix(pmax(variance, cluster_floor) * scale^2, nrow(x), n_clusters)
}

#' @export
check_joint.gps_gaussian_mixture <- function(model, params, arg) {
  check_shares(params, arg)
  sigma <- params$sigma
  if (is.null(sigma)) return(invisible())
  is_sound <- if (length(dim(sigma)) == 3) {
    if (are_covariances(sigma)) TRUE else apply(sigma, 3, is_covariance)
  } else {
    all(sigma > 0)
  }
  if (!all(is_sound)) {
    gps_abort(sprintf("`%s$sigma` must be %s.", arg, if (length(dim(sigma)) == 3) {
      paste("symmetric and positive definite", if (dim(sigma)[3] > 1) {
        sprintf("but that of cluster %d is not", which(!is_sound)[1])
      } else {
        "and is not"
      }, sep = ", ")
    } else {
      "positive"
    }))
  }
}

is_covariance <- function(x) {
  x <- as.matrix(x)
  isTRUE(max(abs(x - t(x))) <= 1e-8 * max(abs(x))) &&
    is.matrix(tryCatch(chol(x), error = function(condition) NULL))
}

# Whether matrices [D x D x any] are all covariances and symmetric to the last bit, as the M-step
# makes them: one look at all, since each method of a fit asks.
are_covariances <- function(sigma) {
  identical(sigma, aperm(sigma, c(2, 1, 3))) && tryCatch({
    for (k in seq_len(dim(sigma)[3])) chol(sigma[, , k])
    TRUE
  }, error = function(condition) FALSE)
}

# Whether one covariance is that of several clusters.
is_tied <- function(params) {
  length(dim(params$sigma)) == 3 && dim(params$sigma)[3] < ncol(params$mu)
}

# Covariance of cluster k as a D x D matrix.
cluster_covariance <- function(params, k) {
  if (is_tied(params)) k <- 1
  if (length(dim(params$sigma)) == 3) return(matrix(params$sigma[, , k], nrow(params$mu)))
  diag(cluster_variances(params, k), nrow(params$mu))
}

# Variances [D] of cluster k.
cluster_variances <- function(params, k) {
  switch(length(dim(params$sigma)) + 1, rep(params$sigma[k], nrow(params$mu)), NULL,
         params$sigma[, k], diag(cluster_covariance(params, k)))
}

# Columns of x [D x n], standard normal, with the covariance of cluster k.
colour_columns <- function(params, k, x) {
  if (length(dim(params$sigma)) < 3) return(x * sqrt(cluster_variances(params, k)))
  crossprod(chol(cluster_covariance(params, k)), x)
}

#' @export
gps_draw.gps_gaussian_mixture <- function(model, params, n) {
  n_clusters <- ncol(params$mu)
  cluster <- sample.int(n_clusters, n, replace = TRUE, prob = params$pi)
  y <- matrix(stats::rnorm(n * nrow(params$mu)), n)
  for (k in unique(cluster)) {
    of_k <- cluster == k
    y[of_k, ] <- t(colour_columns(params, k, t(y[of_k, , drop = FALSE])))
  }
  latents <- matrix(0, n, n_clusters)
  latents[cbind(seq_len(n), cluster)] <- 1
  list(y = y + t(params$mu)[cluster, , drop = FALSE], latents = latents)
}

#' @export
gps_handcrafted.gps_gaussian_mixture <- function(model, params, y) {
  cluster_affinity(model, params, t(y))
}

#' @export
ranks_by_joint.gps_gaussian_mixture <- function(model) TRUE

#' @export
moves_in_bulk.gps_gaussian_mixture <- function(model) model$n_latents > many_clusters

# Measured: the differences, and in a full covariance the triangle that they are multiplied by.
#' @export
gain_cost.gps_gaussian_mixture <- function(model) {
  D <- model$n_dims
  25 + if (model$settings$covariance == "full") 0.11 * D^2 else 0.3 * D
}

#' @export
block_handcrafted.gps_gaussian_mixture <- function(model, inputs, y, block, n_threads = 1L) {
  .Call(C_rank_alone, model$native, native_problem(model, inputs), y, block, n_threads)
}

# Affinities [n x C] of the columns of y [D x n]: log pi_c + log N(y; mu_c, Sigma_c), constants and
# all, since that is what the help page says.
cluster_affinity <- function(model, params, y, n_clusters = model$n_latents) {
  affinity <- vapply(seq_len(n_clusters), function(k) {
    log(params$pi[k]) + whitened_log(params, k, y - params$mu[, k], model$options$scale)
  }, numeric(ncol(y)))
  matrix(affinity, ncol(y)) - sum(log(model$options$scale)) - nrow(y) / 2 * log(2 * pi)
}

# Logarithm of cluster k's density at deviations x [D x n] from its mean, up to a constant, with its
# determinant in units of the scale.
whitened_log <- function(params, k, x, scale) {
  if (length(dim(params$sigma)) < 3) {
    sd <- sqrt(cluster_variances(params, k))
    return(-sum(log(sd / scale)) - 0.5 * colSums((x / sd)^2))
  }
  root <- chol(cluster_covariance(params, k))
  -sum(log(diag(root) / scale)) - 0.5 * colSums(backsolve(root, x, transpose = TRUE)^2)
}
