# Small problems of model C, and its posterior where at most one latent is on by numerical
# integration.

max_problem <- function(n = 12, n_dims = 4, n_latents = 5, shared_prob = FALSE) {
  set.seed(21)
  params <- list(W = matrix(abs(rnorm(n_dims * n_latents, 1, 2)), n_dims),
                 pi = if (shared_prob) 0.3 else seq(0.1, 0.6, length.out = n_latents),
                 mu = seq(-0.5, 1.5, length.out = n_latents),
                 psi = seq(1.5, 0.2, length.out = n_latents), sigma2 = 0.7)
  model <- gps_bind(model_max_spike_slab(n_latents, shared_prob), matrix(1, n, n_dims))
  y <- gps_draw(model, params, n)$y
  list(y = y, params = params, model = gps_bind(model_max_spike_slab(n_latents, shared_prob), y))
}

# log p(b, y) relative to the log joint of no latent and no data, and moments of z over z < 0 and
# z > 0, of one latent alone, by numerical integration.
integrate_single <- function(params, y, h) {
  prior <- rep_len(params$pi, ncol(params$W))
  exponent <- function(z) {
    mean <- pmax(outer(params$W[, h], z), 0)
    dnorm(z, params$mu[h], sqrt(params$psi[h]), log = TRUE) -
      0.5 * (colSums((y - mean)^2) / params$sigma2 + length(y) * log(2 * pi * params$sigma2))
  }
  range <- params$mu[h] + c(-1, 1) * (12 * sqrt(params$psi[h]) + 12)
  grid <- seq(range[1], range[2], length.out = 4001)
  at <- grid[which.max(exponent(grid))]
  top <- exponent(at)
  moment <- function(k, ends) {
    ends <- sort(unique(c(ends, at[at > ends[1] & at < ends[2]])))
    sum(vapply(seq_along(ends[-1]), function(i) {
      integrate(function(z) z^k * exp(exponent(z) - top), ends[i], ends[i + 1], rel.tol = 1e-10,
                abs.tol = 0, subdivisions = 2000)$value
    }, 1))
  }
  below <- vapply(0:2, moment, 1, ends = c(range[1], 0))
  above <- vapply(0:2, moment, 1, ends = c(0, range[2]))
  mass <- below[1] + above[1]
  list(log_joint = top + log(mass) + log(prior[h]) + sum(log1p(-prior[-h])),
       below = below / mass, above = above / mass)
}

# The exact posterior of one data point with at most one latent on.
single_posterior <- function(params, y, selected) {
  prior <- rep_len(params$pi, ncol(params$W))
  singles <- lapply(selected, function(h) integrate_single(params, y, h))
  joint <- c(sum(log1p(-prior)) + sum(dnorm(y, 0, sqrt(params$sigma2), log = TRUE)),
             vapply(singles, `[[`, 1, "log_joint"))
  weight <- exp(joint - max(joint))
  list(log_evidence = max(joint) + log(sum(weight)), prob = weight / sum(weight),
       singles = singles)
}

# Log p(y, b) of data points y [n x D] in one state, by the trapezium rule over the values of the
# latents that are on.
integrate_state <- function(params, y, on, n_grid) {
  prior <- rep_len(params$pi, ncol(params$W))
  log_prior <- sum(log(prior[on])) + sum(log1p(-prior[setdiff(seq_along(prior), on)]))
  half <- 8 * sqrt(params$psi[on])
  axes <- Map(seq, params$mu[on] - half, params$mu[on] + half, length.out = n_grid)
  values <- if (length(on) > 0) as.matrix(expand.grid(axes)) else matrix(0, 1, 0)
  log_weight <- 0
  mean <- matrix(0, nrow(values), ncol(y))
  for (k in seq_along(on)) {
    h <- on[k]
    log_weight <- log_weight + log(diff(axes[[k]][1:2])) +
      dnorm(values[, k], params$mu[h], sqrt(params$psi[h]), log = TRUE)
    mean <- pmax(mean, outer(values[, k], params$W[, h]))
  }
  joint <- log_weight + (mean %*% t(y) - 0.5 * rowSums(mean^2)) / params$sigma2
  top <- apply(joint, 2, max)
  log_prior + top + log(colSums(exp(sweep(joint, 2, top)))) -
    0.5 * rowSums(y^2) / params$sigma2 - 0.5 * ncol(y) * log(2 * pi * params$sigma2)
}

# Log p(y) [n] with at most `max_active` latents on, by that.
integrate_max <- function(params, y, max_active, n_grid = c(401, 201, 61)) {
  states <- unlist(lapply(0:max_active, function(n_on) {
    utils::combn(ncol(params$W), n_on, simplify = FALSE)
  }), recursive = FALSE)
  joint <- do.call(cbind, lapply(states, function(on) {
    integrate_state(params, y, on, c(1, n_grid)[length(on) + 1])
  }))
  top <- apply(joint, 1, max)
  top + log(rowSums(exp(joint - top)))
}
