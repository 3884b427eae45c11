# Regression of targets that are nearly all 0, held in slots: list(selected, prob_on), both slots x
# points as in a state. Predictions are made block by block; nothing of n_latents x n_points exists.

# The targets of a state, or of a fit.
slot_targets <- function(state) list(selected = state$selected, prob_on = state$prob_on)

# Targets of some points, smoothed as predictions are, n_latents x points.
dense_slots <- function(targets, points, layout, n_threads = 1L) {
  n <- length(points)
  .Call(C_gp_spread, diag(n), seq_len(n), rep(1, n), integer(n),
        targets$selected[, points, drop = FALSE], targets$prob_on[, points, drop = FALSE], layout,
        n_threads)
}

# The rows of these that are not 0 throughout, at least one. Unsmoothed they are known beforehand.
used_targets <- function(targets, points, layout, n_threads = 1L) {
  if (layout$smooth == 0) {
    targets <- lapply(targets, function(x) x[, points, drop = FALSE])
    used <- sort(unique(targets$selected[targets$selected > 0 & targets$prob_on != 0]))
    targets$selected[] <- match(targets$selected, used, nomatch = 0L)
    return(dense_targets(targets, max(length(used), 1L)))
  }
  dense <- dense_slots(targets, points, layout, n_threads)
  used <- which(rowSums(dense != 0) > 0)
  dense[if (length(used) > 0) used else 1L, , drop = FALSE]
}

# As gp_prepare() for many regressions at a time: the inverse costs much once and nothing after.
# Where it would be too large, a kernel with features has coefficients from these.
gp_sparse_prepare <- function(kernel, theta, y, n_threads = 1L) {
  gp_prepare(kernel, theta, y, n_threads, dense = ncol(y) <= max_dense_points)
}

# The same from few basis functions: orthogonalised, they are features like others.
gp_sparse_approximate <- function(selector, theta, y, n_threads = 1L) {
  kernel <- selector$kernel
  basis <- new_basis(selector$method, kernel, theta, y, selector$rank, selector$objective,
                     tol = selection_tol)
  view <- basis_features(basis, kernel, theta, y, n_threads)
  moments <- feature_moments(view)
  prepared <- basis_prepare(count_residual(basis, moments), kernel, theta, moments)
  features <- prepared$transform %*% view$features
  list(form = "features", basis = features, leverage = colSums(features^2),
       jitter = prepared$jitter, approximation = prepared)
}

# How latents are laid out for gp_spread(): on the model's grid, or on none.
spread_layout <- function(model, smooth = 0) {
  grid <- if (is.null(model$grid)) c(0L, 0L) else as.integer(model$grid)
  list(n_latents = model$n_latents, grid = grid, smooth = as.double(smooth))
}

# Leave-one-out means of some training points, n_latents x points: equation 5 says by which
# coefficients of the others' targets.
gp_sparse_loo <- function(prepared, targets, points, layout, n_threads = 1L) {
  points <- as.integer(points)
  if (prepared$form == "features") {
    coef <- crossprod(prepared$basis, prepared$basis[, points, drop = FALSE])
    scale <- 1 / pmax(1 - prepared$leverage[points], .Machine$double.eps)
    return(.Call(C_gp_spread, coef, seq_along(points), scale, points, targets$selected,
                 targets$prob_on, layout, n_threads))
  }
  scale <- -1 / prepared$inverse[cbind(points, points)]
  .Call(C_gp_spread, prepared$inverse, points, scale, points, targets$selected, targets$prob_on,
        layout, n_threads)
}

# What gp_sparse_predict() needs of the training points y.
gp_sparse_train <- function(kernel, theta, y, targets, prepared) {
  list(kernel = kernel, theta = theta, y = y, targets = targets, prepared = prepared)
}

# Means at new points, n_latents x n_new: the coefficients are K^-1 k(x_new).
gp_sparse_predict <- function(trained, newdata, layout, n_threads = 1L) {
  n_new <- ncol(newdata)
  prepared <- trained$prepared
  coef <- if (prepared$form == "features") {
    features_coef(trained, newdata)
  } else {
    .Call(C_gp_predict_means, gp_kernel_code(trained$kernel), trained$theta, trained$y,
          prepared$inverse, newdata, n_threads)
  }
  .Call(C_gp_spread, coef, seq_len(n_new), rep(1, n_new), integer(n_new),
        trained$targets$selected, trained$targets$prob_on, layout, n_threads)
}

# The same from the features' factor R: with V = R^-1 F the coefficients are V' R^-1 f_new.
features_coef <- function(trained, newdata) {
  approximation <- trained$prepared$approximation
  if (!is.null(approximation)) {
    view <- basis_features(approximation$basis, trained$kernel, trained$theta, newdata)
    return(crossprod(trained$prepared$basis, approximation$transform %*% view$features))
  }
  form <- .Call(C_gp_features_weights, gp_kernel_code(trained$kernel), trained$theta, trained$y,
                0, matrix(0, 1, ncol(trained$y)))
  crossprod(trained$prepared$basis, forwardsolve(form$factor, form$scale * rbind(newdata, 1)))
}

# How much of the targets' squares leave-one-out means explain when scaled as is best: their squared
# cosine, on at most `max_points` points. Of outputs that are nearly all 0 the kernel's first
# variances may be far from what the targets ask for, which the unscaled share would take for noise.
gp_sparse_r2 <- function(prepared, targets, layout, n_threads = 1L, max_points = 128L) {
  n_points <- ncol(targets$selected)
  points <- unique(round(seq(1, n_points, length.out = min(n_points, max_points))))
  target <- dense_slots(targets, points, layout, n_threads)
  loo <- gp_sparse_loo(prepared, targets, points, layout, n_threads)
  product <- sum(target * loo)
  if (product <= 0) return(0)
  product^2 / (sum(target^2) * sum(loo^2))
}
