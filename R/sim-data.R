# Artificial data with known truth: the bars and the clusters of the paper. Everything is drawn from
# the session's generator, so set.seed() governs.
# @srrstats {G5.1}

#' Images of bars drawn from a sparse coding model
#'
#' The bars test of the paper (section 4.1): every latent variable is one row or one column of a
#' small square image, and each data point is a noisy image in which some of the bars are on.
#'
#' @section Generative model:
#' A bar is on, \eqn{b_h = 1}, with probability \eqn{\pi_h}{pi_h}; its intensity is
#' \eqn{z_h \sim N(\mu_h, \psi_h)}{z_h ~ N(mu_h, psi_h)} and the noise of each pixel
#' \eqn{\epsilon_d \sim N(0, \sigma^2)}{e_d ~ N(0, sigma2)}. Models A, B and C of section 4.1, where
#' the equations have no numbers:
#' * `"binary_sparse"` (A): \eqn{y = W b + \epsilon}{y = W b + e};
#' * `"spike_slab"` (B): \eqn{y = W (b \odot z) + \epsilon}{y = W (b * z) + e};
#' * `"max_spike_slab"` (C):
#'   \eqn{y_d = \max_h b_h z_h W_{dh} + \epsilon_d}{y_d = max_h b_h z_h W_dh + e_d}. Without the
#'   noise no pixel is below zero, for none is in all of the bars.
#'
#' @section Differences from the paper:
#' The paper gives \eqn{\sigma^2 = 2} and \eqn{\pi H = 2}, but neither the brightness of a bar nor
#' the law of its intensity: `value`, `mu` and `psi` are choices of this package.
#'
#' @param n Number of images: whole number >= 1.
#' @param model Name of the generative model: `"binary_sparse"`, `"spike_slab"` or
#'   `"max_spike_slab"`.
#' @param size Height and width of an image: whole number >= 2. There are `size^2` pixels (D) and
#'   `2 * size` bars (H).
#' @param prob Probability that a bar is on: a number in \[0, 1\], or H of them, one for each bar.
#' @param value Brightness of a bar that is on: number in \[-1e150, 1e150\].
#' @param sigma2 Variance of the noise: number in \[0, 1e300\].
#' @param intercept Baseline that a pixel has whatever is on: a number in \[-1e150, 1e150\], or
#'   `size^2` of them.
#' @param mu,psi Mean and variance of the slabs (models B and C): a number, or H of them; `mu` in
#'   \[-1e150, 1e150\], `psi` in \[0, 1e300\].
#' @param ... nothing; an unknown argument is an error that says which there are.
#'
#' @return A list with
#' * `y`: data, n x D, with the attribute `size` of [extract_patches()]: `plot()` of a fit draws
#'   pictures. Pixels are ordered as in `as.vector(image)`, column by column. Rows cut from `y` lose
#'   the attribute: `plot(fit, size = size)`.
#' * `W`: the bars, D x H: first the rows of the image from top to bottom, then its columns from
#'   left to right.
#' * `latents`: which bars are on, n x H of 0 and 1.
#' * `values`: the slabs z, n x H, drawn for all bars (models B and C only).
#' * the other parameters that the data were drawn from: `pi` (one number, or H), `sigma2`, for B
#'   and C `mu` and `psi` (H each), and where it is not 0 the `intercept` (D).
#' @seealso [match_components()] compares what was learned with `W`.
#' @concept bars test
#' @concept simulated data
#' @examples
#' set.seed(1)
#' bars <- simulate_bars(100)
#' dim(bars$y)
#' colMeans(bars$latents)
#' matrix(bars$W[, 1], 5)
#' @export
simulate_bars <- function(n, model = "binary_sparse", size = 5, prob = 0.2, value = 10, sigma2 = 2,
                          mu = 1, psi = 1, intercept = 0, ...) {
  refuse_unknown(further(...), names(formals(simulate_bars)))
  need_given()
  n <- check_count(n, "n")
  if (is_number(model)) {
    gps_abort(sprintf(paste("`model`, the second argument, must be the name of a model, not %s. A",
                            "size of images has a name: simulate_bars(n, size = %s)."),
                      given_number(model), given_number(model)))
  }
  model <- check_choice(model, "model", c("binary_sparse", "spike_slab", "max_spike_slab"))
  size <- check_count(size, "size", lower = 2)
  check_cells(max(n, 2 * size), size^2, "`n` and `size`")
  n_latents <- 2L * size
  prob <- check_each(prob, "prob", n_latents, "latent", lower = 0, upper = 1)
  value <- check_number(value, "value", lower = -1e150, upper = 1e150)
  sigma2 <- check_number(sigma2, "sigma2", lower = 0, upper = 1e300)
  mu <- check_each(mu, "mu", n_latents, "latent", lower = -1e150, upper = 1e150)
  psi <- check_each(psi, "psi", n_latents, "latent", lower = 0, upper = 1e300)
  intercept <- check_each(intercept, "intercept", size^2, "pixel", lower = -1e150, upper = 1e150)

  with_memory(simulated_bars(n, model, size, prob, value, sigma2, mu, psi, intercept),
              "`n` = %d images of %d x %d pixels", n, size, size)
}

simulated_bars <- function(n, model, size, prob, value, sigma2, mu, psi, intercept) {
  n_latents <- 2L * size
  components <- value * draw_bars(size)
  latents <- t(matrix(stats::rbinom(n * n_latents, 1, rep_len(prob, n_latents)), n_latents))
  truth <- list(W = components, latents = latents, pi = prob, sigma2 = sigma2)
  strength <- latents
  if (model != "binary_sparse") {
    truth$mu <- rep_len(mu, n_latents)
    truth$psi <- rep_len(psi, n_latents)
    truth$values <- t(matrix(stats::rnorm(n * n_latents, truth$mu, sqrt(truth$psi)), n_latents))
    strength <- latents * truth$values
  }
  superpose <- if (model == "max_spike_slab") max_superposition else tcrossprod
  mean <- superpose(strength, components)
  # As extract_patches() says that rows are pictures.
  y <- structure(mean + sqrt(sigma2) * stats::rnorm(length(mean)), size = c(size, size))
  if (all(intercept == 0)) return(c(list(y = y), truth))
  c(list(y = y + rep(rep_len(intercept, ncol(y)), each = n)), truth,
    list(intercept = rep_len(intercept, ncol(y))))
}

# size^2 x 2 size of 0 and 1: rows from top to bottom, then columns from left to right.
draw_bars <- function(size) {
  row <- rep(seq_len(size), times = size)
  column <- rep(seq_len(size), each = size)
  cbind(outer(row, seq_len(size), "=="), outer(column, seq_len(size), "==")) + 0
}

# One number within bounds, or one for each `noun`.
check_each <- function(x, arg, n, noun, ...) {
  if (!is.atomic(x) || !length(x) %in% c(1, n)) {
    abort_value(x, arg, sprintf("one number, or %d of them (one for each %s)", n, noun))
  }
  vapply(x, check_number, 0, arg = arg, ..., USE.NAMES = FALSE)
}

#' Points in spherical clusters
#'
#' The data of the paper's mixture experiments (section 4.2): spherical Gaussian clusters of equal
#' size, either anywhere in the plane or in a line, where a linear selection function cannot see the
#' clusters in the middle.
#'
#' @section Generative model:
#' \eqn{y \sim N(\mu_c, \sigma_c I)}{y ~ N(mu_c, sigma_c I)}, a mixture as in equation 6 of the
#' paper. The number of points of each cluster is fixed, not drawn.
#' * `"random"`: the means are uniform in a box with one corner at the origin and 2.5 times the
#'   smallest distance as its side. A mean that comes too near to an earlier one is drawn again, and
#'   each time 1000 draws have failed, the box grows by a quarter.
#' * `"line"`: the means follow each other along the first dimension in equal steps, the first one a
#'   step from 0; in the other dimensions they scatter about one step with standard deviation 0.15
#'   steps.
#'
#' @section Differences from the paper:
#' The paper states neither the number of points nor the means; the defaults are choices of this
#' package.
#'
#' @param n Number of points: whole number >= `n_clusters`.
#' @param n_clusters,n_dims Number C of clusters and number D of dimensions: whole numbers >= 1.
#' @param layout Where the means are: `"random"` or `"line"`, see the generative model.
#' @param separation Smallest distance of two means (`"random"`) or length of a step (`"line"`), in
#'   units of `sd`: number in \[1e-150, 1e150\].
#' @param sd Standard deviation of every cluster in every dimension: number in \[1e-150, 1e150\].
#' @param ... nothing; an unknown argument is an error that says which there are.
#'
#' @return A list with
#' * `y`: data, n x D.
#' * `mu`: means, D x C.
#' * `sigma`: variances, C numbers (the form of `coef()` for spherical clusters).
#' * `pi`: weights, C numbers.
#' * `cluster`: label of each point, 1 to C in turn; sizes differ by one at most.
#' * `latents`: the same as n x C of 0 and 1.
#' @concept simulated data
#' @examples
#' set.seed(1)
#' clusters <- simulate_clusters(layout = "line")
#' plot(clusters$y, col = clusters$cluster, asp = 1)
#' points(t(clusters$mu), pch = 3, cex = 2)
#' @export
simulate_clusters <- function(n = 150, n_clusters = 3, n_dims = 2, layout = c("random", "line"),
                              separation = 6, sd = 1, ...) {
  refuse_unknown(further(...), names(formals(simulate_clusters)))
  forms <- c("random", "line")
  if (is_one_of(n_clusters, forms)) refuse_placed_layout(n_clusters, "n_clusters", "second")
  if (is_one_of(n_dims, forms)) refuse_placed_layout(n_dims, "n_dims", "third")
  n_clusters <- check_count(n_clusters, "n_clusters")
  n <- check_count(n, "n")
  if (n < n_clusters) {
    gps_abort(sprintf(paste("`n`, the number of points, must be at least `n_clusters`, which is",
                            "%d, not %d."), n_clusters, n))
  }
  n_dims <- check_count(n_dims, "n_dims")
  layout <- check_choice(layout, "layout", forms)
  separation <- check_number(separation, "separation", lower = 1e-150, upper = 1e150)
  sd <- check_number(sd, "sd", lower = 1e-150, upper = 1e150)
  check_cells(n, max(n_clusters, n_dims), "`n`, `n_clusters` and `n_dims`")

  place <- if (layout == "line") means_in_line else means_in_box
  mu <- sd * separation * place(n_clusters, n_dims)
  with_memory(simulated_clusters(n, mu, sd), "`n` = %d points of %d dimensions", n, n_dims)
}

# A layout in the place of a number.
refuse_placed_layout <- function(x, arg, place) {
  gps_abort(sprintf(paste("`%s`, the %s argument, must be a whole number of at least 1, not %s. A",
                          "layout has a name: simulate_clusters(n, layout = %s)."),
                    arg, place, quoted(x), quoted(x)))
}

simulated_clusters <- function(n, mu, sd) {
  n_dims <- nrow(mu)
  n_clusters <- ncol(mu)
  cluster <- rep_len(seq_len(n_clusters), n)
  list(
    y = t(mu[, cluster, drop = FALSE]) + sd * stats::rnorm(n * n_dims),
    mu = mu,
    sigma = rep(sd^2, n_clusters),
    pi = rep(1 / n_clusters, n_clusters),
    cluster = cluster,
    latents = outer(cluster, seq_len(n_clusters), "==") + 0L
  )
}

# n_dims x n_clusters, uniform in a box, no two nearer than 1.
means_in_box <- function(n_clusters, n_dims) {
  means <- matrix(0, n_dims, n_clusters)
  side <- 2.5
  n_placed <- 0
  n_failed <- 0
  while (n_placed < n_clusters) {
    mean <- stats::runif(n_dims, 0, side)
    if (all(colSums((means[, seq_len(n_placed), drop = FALSE] - mean)^2) >= 1)) {
      n_placed <- n_placed + 1
      means[, n_placed] <- mean
    } else {
      n_failed <- n_failed + 1
      if (n_failed %% 1000 == 0) side <- 1.25 * side
    }
  }
  means
}

# n_dims x n_clusters, neighbours at distance 1 along the first dimension. The jitter across keeps
# the means from being exactly collinear.
means_in_line <- function(n_clusters, n_dims) {
  across <- matrix(stats::rnorm((n_dims - 1) * n_clusters, 1, 0.15), n_dims - 1, n_clusters)
  rbind(seq_len(n_clusters), across, deparse.level = 0)
}
