# Binary sparse coding as a model of R functions, in every form that these may have: what the model
# in C is compared with.

custom_sparse <- function(n_latents, vectorised = FALSE, takes_latents = FALSE, mstep = "own",
                          draws = TRUE) {
  init <- function(y) {
    centred <- sweep(y, 2, colMeans(y))
    noise <- matrix(stats::rnorm(ncol(y) * n_latents), ncol(y))
    list(W = colMeans(y) + mean(sqrt(colMeans(centred^2))) / 4 * noise,
         pi = min(0.5, 1 / n_latents), sigma2 = mean(centred^2))
  }
  joint <- function(params, y, on, w) {
    -0.5 * length(y) * log(2 * pi * params$sigma2) -
      0.5 * colSums((y - w %*% on)^2) / params$sigma2 + colSums(on) * stats::qlogis(params$pi) +
      ncol(params$W) * log1p(-params$pi)
  }
  alone <- function(params, y, states) joint(params, y, states, params$W)
  few <- function(params, y, states, latents) {
    joint(params, y, states, params$W[, latents, drop = FALSE])
  }
  together <- function(params, y, states) {
    value <- vapply(seq_len(ncol(y)), function(n) {
      joint(params, y[, n], matrix(states[, , n], dim(states)[1]), params$W)
    }, numeric(dim(states)[2]))
    matrix(value, dim(states)[2])
  }
  # Without a loop: W'y and the Gram matrix of the latents in slots.
  fast <- function(params, y, states, latents) {
    n_slots <- nrow(latents)
    on <- matrix(states[, , 1], n_slots)
    pairs <- which(upper.tri(diag(n_slots), diag = TRUE), arr.ind = TRUE)
    both <- on[pairs[, 1], , drop = FALSE] * on[pairs[, 2], , drop = FALSE] *
      ifelse(pairs[, 1] == pairs[, 2], 0.5, 1)
    proj <- crossprod(params$W, y)
    gram <- crossprod(params$W)
    drive <- matrix(proj[cbind(c(latents), rep(seq_len(ncol(y)), each = n_slots))], n_slots)
    coupling <- gram[c(latents[pairs[, 1], ] + ncol(gram) * (latents[pairs[, 2], ] - 1))]
    crossprod(rbind(on, both), rbind(drive, -matrix(coupling, nrow(pairs)))) / params$sigma2 +
      rep(-0.5 * colSums(y^2) / params$sigma2, each = ncol(on)) -
      0.5 * nrow(y) * log(2 * pi * params$sigma2) + colSums(on) * stats::qlogis(params$pi) +
      ncol(params$W) * log1p(-params$pi)
  }
  own <- function(params, y, posterior) {
    mean <- posterior_mean(posterior)
    second <- posterior_second(posterior)
    eps <- 1e-12 * mean(diag(second))
    cross <- tcrossprod(y, mean) + eps * params$W
    w <- t(solve(second + diag(eps, nrow(second)), t(cross)))
    square <- sum(y^2) - 2 * sum(w * tcrossprod(y, mean)) + sum(w * (w %*% second))
    list(W = w, pi = min(max(mean(mean), 1e-4), 1 - 1e-4), sigma2 = max(1e-6, square / length(y)))
  }
  gradient <- function(params, y, states, weights) {
    residual <- y - params$W %*% states
    square <- colSums(residual^2)
    n_on <- colSums(states)
    list(W = residual %*% (weights * t(states)) / params$sigma2,
         pi = sum(weights * (n_on / params$pi - (nrow(states) - n_on) / (1 - params$pi))),
         sigma2 = sum(weights * (0.5 * square / params$sigma2^2 -
                                   0.5 * length(y) / params$sigma2)))
  }
  draw <- function(params, n) {
    latents <- matrix(stats::rbinom(n * n_latents, 1, params$pi), n)
    noise <- matrix(stats::rnorm(n * nrow(params$W), sd = sqrt(params$sigma2)), n)
    list(y = latents %*% t(params$W) + noise, latents = latents)
  }
  forms <- if (vectorised) list(together, fast) else list(alone, few)
  model_custom(n_latents, init, forms[[1 + takes_latents]], if (mstep == "own") own,
               gradient = if (mstep == "gradient") gradient,
               lower = list(pi = 1e-4, sigma2 = 1e-6), upper = list(pi = 1 - 1e-4),
               draw = if (draws) draw,
               vectorised = vectorised)
}

custom_forms <- expand.grid(vectorised = c(FALSE, TRUE), takes_latents = c(FALSE, TRUE))
