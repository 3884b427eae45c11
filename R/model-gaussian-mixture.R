# Model D of the paper: the Gaussian mixture. The numerics are in src/model_gaussian_mixture.c.

#' Gaussian mixture
#'
#' One of C clusters makes each data point. The paper's section 4.2, equation 7.
#'
#' @section Generative model:
#' `p(y) = sum_c pi_c N(y; mu_c, Sigma_c)`, `Sigma_c` full, diagonal or a multiple of the identity.
#'
#' @section States:
#' Exactly one of the `n_selected` selected clusters is on; `max_active` is 1.
#'
#' @section E-step:
#' Responsibilities of the selected clusters, the others have none (equation 2 of the paper).
#'
#' @section M-step:
#' `pi_c`, `mu_c` and `Sigma_c` are the weighted proportions, means and covariances. `pi_c` is at
#' least 1e-4 / C; the eigenvalues of `Sigma_c` are at least 1e-6 of the mean variance of the data.
#' A cluster with less than one point keeps its mean, one with fewer than D + 1 points (2 if not
#' full) its covariance.
#'
#' @section Hand-crafted affinity:
#' `log pi_c + log N(y; mu_c, Sigma_c)`, the exact ranking.
#'
#' @section Differences from the paper:
#' The floors above, and full covariances; the paper's `sigma_c` are not specified further.
#'
#' @param n_components number of clusters C, a whole number of at least 1.
#' @param covariance "full", "diagonal" or "spherical".
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return a `gps_model`. `coef()` of its fits is a list of `mu` (D x C), `sigma` (D x D x C, D x C
#'   or C) and `pi` (C).
#' @examples
#' model_gaussian_mixture(3, "diagonal")
#' @export
model_gaussian_mixture <- function(n_components, covariance = c("full", "diagonal", "spherical"),
                                   ...) {
  refuse_unknown(list(...), names(formals(model_gaussian_mixture)))
  n_components <- check_count(n_components, "n_components")
  covariance <- check_choice(covariance, "covariance", c("full", "diagonal", "spherical"))
  shape <- function(first) {
    switch(covariance,
           full = c(first, "dims", "latents"),
           diagonal = c("dims", "latents"),
           spherical = "latents")
  }
  new_native_model(
    "gps_gaussian_mixture", "Gaussian mixture", n_components,
    params = list(mu = c("dims", "latents"), sigma = shape("dims"), pi = "latents"),
    ranges = list(pi = c(0, 1)),
    prepared = list(whitener = shape("stride"), log_scale = "latents"),
    stats = list(count = "one", on = "latents", first = c("dims", "latents"),
                 second = shape("stride")),
    events = c("sigma_floor", "pi_floor", "empty_cluster"),
    rule = state_rule(min_active = 1L, max_active = 1),
    settings = list(covariance = covariance),
    symbol = "gps_model_gaussian_mixture",
    defaults = model_defaults(screen = gps_screen())
  )
}

#' @export
gps_bind.gps_gaussian_mixture <- function(model, y) {
  moments <- as_moments(y)
  if (model$n_latents > moments$n_points) {
    gps_abort(sprintf("`n_components` must be at most the number of data points, %d, not %d.",
                      moments$n_points, model$n_latents))
  }
  kind <- match(model$settings$covariance, c("full", "diagonal", "spherical")) - 1
  bind_native(model, moments$n_dims, sizes = c(stride = 8 * ceiling(moments$n_dims / 8)),
              options = list(centre = moments$centre,
                             options = c(kind, 1e-6 * variance_scale(moments),
                                         1e-4 / model$n_latents)))
}

#' @export
gps_init.gps_gaussian_mixture <- function(model, y) {
  n_clusters <- model$n_latents
  n_dims <- ncol(y)
  if (n_clusters > nrow(y)) {
    gps_abort(sprintf(paste(
      "A start on %d data points cannot have %d clusters: use a larger `grow`, or `n_starts` = 1",
      "without `grow`."
    ), nrow(y), n_clusters))
  }
  variance <- pmax(mean_variance(y) * stats::runif(n_clusters, 0.25, 1), model$options$options[2])
  list(mu = t(y[sample.int(nrow(y), n_clusters), , drop = FALSE]),
       sigma = switch(model$settings$covariance,
                      full = array(diag(n_dims), c(n_dims, n_dims, n_clusters)) *
                        rep(variance, each = n_dims^2),
                      diagonal = matrix(variance, n_dims, n_clusters, byrow = TRUE),
                      spherical = variance),
       pi = rep(1 / n_clusters, n_clusters))
}

#' @export
check_joint.gps_gaussian_mixture <- function(model, params, arg) {
  if (!is.null(params$pi) && abs(sum(params$pi) - 1) > 1e-8) {
    gps_abort(sprintf("`%s$pi` must add up to 1, not to %s.", arg, format(sum(params$pi))))
  }
  sigma <- params$sigma
  if (is.null(sigma)) return(invisible())
  is_sound <- if (length(dim(sigma)) == 3) apply(sigma, 3, is_covariance) else all(sigma > 0)
  if (!all(is_sound)) {
    gps_abort(sprintf("`%s$sigma` must be %s.", arg, if (length(dim(sigma)) == 3) {
      sprintf("symmetric and positive definite, but that of cluster %d is not", which(!is_sound)[1])
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

# Covariance of cluster k as a D x D matrix.
cluster_covariance <- function(params, k) {
  n_dims <- nrow(params$mu)
  switch(length(dim(params$sigma)) + 1,
         diag(params$sigma[k], n_dims), NULL,
         diag(params$sigma[, k], n_dims),
         matrix(params$sigma[, , k], n_dims))
}

#' @export
gps_draw.gps_gaussian_mixture <- function(model, params, n) {
  n_clusters <- ncol(params$mu)
  cluster <- sample.int(n_clusters, n, replace = TRUE, prob = params$pi)
  y <- matrix(stats::rnorm(n * nrow(params$mu)), n)
  for (k in unique(cluster)) {
    of_k <- cluster == k
    y[of_k, ] <- y[of_k, , drop = FALSE] %*% chol(cluster_covariance(params, k))
  }
  latents <- matrix(0, n, n_clusters)
  latents[cbind(seq_len(n), cluster)] <- 1
  list(y = y + t(params$mu)[cluster, , drop = FALSE], latents = latents)
}

#' @export
gps_handcrafted.gps_gaussian_mixture <- function(model, params, y) {
  affinity <- vapply(seq_len(model$n_latents), function(k) {
    root <- chol(cluster_covariance(params, k))
    z <- backsolve(root, t(y) - params$mu[, k], transpose = TRUE)
    log(params$pi[k]) - sum(log(diag(root))) - 0.5 * colSums(z^2)
  }, numeric(nrow(y)))
  matrix(affinity, nrow(y))
}

# Each point of the cluster has a narrower density along the split's direction, for the entropy of
# which half it is in.
#' @export
move_gain.gps_gaussian_mixture <- function(model, split, residual) {
  n_points <- sum(split$size)
  share <- split$size / n_points
  spherical <- model$settings$covariance == "spherical"
  squares <- if (spherical) split$total else split$along
  log_ratio <- log(squares / max(squares - split$between, 1e-6 * squares))
  n_points * ((if (spherical) nrow(residual) else 1) * log_ratio / 2 + sum(share * log(share)))
}

#' @export
move_component.gps_gaussian_mixture <- function(model, params, from, split) {
  both <- c(split$latent, from)
  params$mu[, both] <- params$mu[, split$latent] + split$centres
  params$pi[both] <- params$pi[split$latent] * split$size / sum(split$size)
  params$pi <- params$pi / sum(params$pi)
  narrower <- (split$total - split$between) / split$total
  n_dim <- length(dim(params$sigma))
  if (n_dim == 0) params$sigma[both] <- narrower * params$sigma[split$latent]
  if (n_dim == 2) params$sigma[, both] <- narrower * params$sigma[, split$latent]
  if (n_dim == 3) params$sigma[, , both] <- narrower * params$sigma[, , split$latent]
  params
}
