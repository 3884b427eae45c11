# The engine that stands on a basis: Q features f(x) stand for the kernel, K ~ F'F but for noise. A
# basis is what stays fixed while hyper-parameters move: inducing points (gp-inducing.R), random
# frequencies (gp-fourier.R), or nothing where the kernel is linear (gp-linear.R). All that
# regression then needs of the data are sums over points, which add up over blocks.

# ---- verbs of a basis ----

# list(features = Q x n, scale = NULL or n numbers by which they have been divided, residual = n
# numbers k(x, x) - f'f of the unscaled features).
basis_features <- function(basis, kernel, theta, y, n_threads = 1L) UseMethod("basis_features")

# The basis of a planned engine; `tol`: see engine_plan().
engine_basis <- function(engine, kernel, theta, y, tol, n_threads = 1L) UseMethod("engine_basis")

# As engine_evaluate().
basis_evaluate <- function(basis, engine, theta, goal) UseMethod("basis_evaluate")

# White noise of the kernel and what the basis adds to it.
basis_noise <- function(basis, kernel, theta) UseMethod("basis_noise")

#' @export
basis_noise.default <- function(basis, kernel, theta) {
  n_dims <- c(nrow(basis$z), length(basis$centre))[1]
  white_variance(kernel, theta, n_dims) + basis$extra
}

# Whether features are divided by each point's own noise.
is_scaled <- function(basis) identical(basis$objective, "fitc")

# ---- the engine ----

#' @export
engine_plan.gps_engine_basis <- function(engine, kernel, theta, y, n_threads = 1L, tol = NULL,
                                         dense = FALSE) {
  if (is.null(tol)) tol <- regression_tol(engine, kernel, theta, y)
  engine$basis <- engine_basis(engine, kernel, theta, y, tol, n_threads)
  hold_data(engine, kernel, theta, y, n_threads)
}

# Share of the trace that pivots may leave, of the part of the kernel without noise that is not the
# same for all points: a high level is no reason to leave more of a curve to the noise. Less than
# this would be noise to a selection, but a regression has less noise; inducing points are to be as
# many as asked for, but for those that repeat others.
regression_tol <- function(engine, kernel, theta, y) {
  tol <- engines[[engine$method]]$tol
  if (is.null(tol)) 0 else tol * varying_share(kernel, theta, y)
}

varying_share <- function(kernel, theta, y) {
  kernel <- kernel_with_theta(kernel, theta, nrow(y))
  types <- term_types(kernel)
  whole <- varying <- term_levels(kernel, y) * (types != "white")
  varying[types == "bias"] <- 0
  is_linear <- types == "linear"
  varying[is_linear] <- term_levels(kernel, y, rowMeans((y - rowMeans(y))^2))[is_linear]
  share <- sum(varying) / sum(whole)
  if (is.finite(share) && share > 0) max(share, 1e-10) else 1
}

#' @export
engine_evaluate.gps_engine_basis <- function(engine, theta, goal, jitter = 0, least = NULL) {
  found <- basis_evaluate(engine$basis, engine, theta, goal)
  names(found$gradient) <- names(theta)
  found
}

# T, lower triangular with T'T = (gram + noise)^-1, so that u = T f has the leverage of a point as
# its square. Where all data are at hand, u of all points.
#' @export
engine_prepare.gps_engine_basis <- function(engine, theta, jitter = 0, many = FALSE, sums = NULL) {
  engine$theta <- theta
  basis <- engine$basis
  is_whole <- is.null(sums)
  if (is_whole) {
    view <- engine_view(engine, engine$y)
    sums <- engine_sums(engine, view)
    basis <- count_residual(basis, sums)
  }
  noise <- basis_noise(basis, engine$kernel, theta)
  own <- if (is_scaled(basis)) 1 else noise
  found <- .Call(C_gp_transform, sums$gram, own, sums$n_points)
  if (is_whole) found$turned <- turn_features(found$transform, view)
  found$noise <- noise + found$jitter
  engine[c("basis", names(found))] <- c(list(basis), found)
  engine
}

# Leave-one-out means are (scale u'P - q y) / (1 - q) with P = T cross, q = u'u, and the variance is
# that of the noise over 1 - q, which is 1 + `own`; that of "vfe" counts what the features leave.
#' @export
engine_loo.gps_engine_basis <- function(engine, targets, points = NULL) {
  turned <- engine$turned
  if (is.null(turned)) return(loo_by_runs(engine, targets))
  if (is.matrix(targets)) {
    found <- .Call(C_gp_affinity, NULL, cross_targets(targets, turned), turned, NULL, targets, 1)
    return(list(mean = found$mean, variance = engine$noise * (1 + found$own)))
  }
  own <- columns_of(turned, points)
  coef <- crossprod(turned, own)
  scale <- 1 / pmax(1 - colSums(own^2), .Machine$double.eps)
  list(mean = spread_targets(targets, coef, seq_along(points), scale, points, engine$n_threads))
}

loo_by_runs <- function(engine, targets) {
  join_runs(ncol(engine$y), function(run) {
    view <- engine_view(engine, columns_of(engine$y, run))
    found <- .Call(C_gp_affinity, engine$transform, engine$cross, view$features, view$scale,
                   columns_of(targets, run), 1)
    noise <- if (is.null(view$scale)) engine$noise else view$scale^2
    variance <- noise * (1 + found$own)
    if (identical(engine$basis$objective, "vfe")) variance <- variance + view$residual
    list(mean = found$mean, variance = variance)
  })
}

#' @export
engine_train.gps_engine_basis <- function(engine, targets) {
  if (!is.null(engine$turned) && is.matrix(targets)) {
    engine$cross <- cross_targets(targets, engine$turned)
  } else if (is.matrix(targets)) {
    engine$cross <- basis_sums(engine, targets)$cross
  } else {
    engine$targets <- targets
  }
  engine
}

#' @export
engine_predict.gps_engine_basis <- function(engine, newdata, moments = FALSE) {
  join_runs(ncol(newdata), function(run) {
    view <- engine_view(engine, columns_of(newdata, run))
    is_turned <- !is.null(engine$turned)
    turned <- if (is_turned || moments) turn_features(engine$transform, view)
    mean <- if (!is.null(engine$targets)) {
      coef <- crossprod(engine$turned, turned)
      spread_targets(engine$targets, coef, n_threads = engine$n_threads)
    } else if (is_turned) {
      crossprod(engine$cross, turned)
    } else {
      view_means(engine, engine$cross, view)
    }
    noise <- if (is.null(view$scale)) engine$noise else view$scale^2
    list(mean = mean, variance = if (moments) view$residual + noise * colSums(turned^2))
  })
}

# `gram` and `residual` of the features, and with targets `cross`, the sum of f_n (y_n / scale_n)'.
#' @export
engine_sums.gps_engine_basis <- function(engine, view, targets = NULL) {
  sums <- list(gram = .Call(C_gp_gram, view$features), residual = sum(view$residual),
               n_points = ncol(view$features))
  if (!is.null(targets)) sums$cross <- cross_targets(targets, view$features, view$scale)
  sums
}

# ---- points by their features ----

# Each field is read without a class: R looks for methods of `$` first.
engine_view <- function(engine, y) {
  held <- unclass(engine)
  basis_features(held$basis, held$kernel, held$theta, y, held$n_threads)
}

turn_features <- function(transform, view) .Call(C_gp_turn, transform, view$features)

# Means, n_targets x points, from sums in which the points are with weight `weight`: leave-one-out.
# Without `targets` the points are in no sum, and the means are predictions.
view_means <- function(engine, cross, view, targets = NULL, weight = 1) {
  .Call(C_gp_affinity, engine$transform, cross, view$features, view$scale, targets, weight)$mean
}

# Sums over all points of an engine's data.
basis_sums <- function(engine, targets) {
  parts <- lapply(point_runs(ncol(engine$y)), function(run) {
    engine_sums(engine, engine_view(engine, columns_of(engine$y, run)), columns_of(targets, run))
  })
  Reduce(function(sums, part) Map(`+`, sums, part), parts)
}

# Points whose features are held at a time.
feature_points <- 2^14

point_runs <- function(n_points) {
  from <- seq(1, n_points, by = feature_points)
  Map(seq, from, pmin(from + feature_points - 1, n_points))
}

# list(mean, variance) of all points from those of runs.
join_runs <- function(n_points, moments_of) {
  parts <- lapply(point_runs(n_points), moments_of)
  if (length(parts) == 1) return(parts[[1]])
  list(mean = do.call(cbind, lapply(parts, `[[`, "mean")),
       variance = unlist(lapply(parts, `[[`, "variance")))
}

# What the basis leaves of the kernel, on average over the points, counts as noise in a selection:
# without it predictions get worse as the rank grows, since the basis' own points would be taken for
# known.
count_residual <- function(basis, sums) {
  if (!is_scaled(basis)) basis$extra <- sums$residual / sums$n_points
  basis
}

# Number of features.
basis_rank <- function(basis, kernel, n_dims) {
  if (!is.null(basis$z)) return(ncol(basis$z))
  exact <- vapply(kernel$terms, function(term) {
    switch(term$type, linear = as.double(n_dims), bias = 1, 0)
  }, 0)
  2 * sum(vapply(basis$frequencies, ncol, 0L)) + sum(exact)
}

# ---- what the engine refuses, says and keeps ----

#' @export
engine_check_terms.gps_engine_basis <- function(engine, kernel) {
  types <- term_types(kernel)
  if (!"white" %in% types) {
    gps_abort(sprintf(
      paste("`kernel` must have a white term with method = %s, which is noise plus what a few",
            "functions explain: add kernel_white()."),
      quoted(engine$method)
    ))
  }
  if (all(types == "white")) {
    gps_abort(sprintf("`kernel` must have a term that is not white with method = %s.",
                      quoted(engine$method)))
  }
}

#' @export
engine_keep.gps_engine_basis <- function(engine, targets) {
  list(basis = engine$basis, sums = basis_sums(engine, targets))
}

#' @export
is_engine_kept.gps_engine_basis <- function(engine, fit, points) {
  is_basis_sound(fit$basis, fit$kernel, ncol(fit$x)) && is_sums_sound(fit)
}

is_basis_sound <- function(basis, kernel, n_dims) {
  if (!is.list(basis) || !is_number(basis$extra)) return(FALSE)
  if (basis$extra < 0 || !is.finite(basis$extra)) return(FALSE)
  if (inherits(basis, "gps_basis_inducing")) {
    return(is_finite_matrix(basis$z, n_dims) && ncol(basis$z) > 0 &&
             is_one_of(basis$objective, c("dtc", "vfe", "fitc")))
  }
  inherits(basis, "gps_basis_fourier") && is.list(basis$frequencies) &&
    length(basis$frequencies) == length(spectral_freedom(kernel)) &&
    all(vapply(basis$frequencies, is_finite_matrix, NA, n_dims)) &&
    is.double(basis$centre) && length(basis$centre) == n_dims && all(is.finite(basis$centre))
}

is_sums_sound <- function(fit) {
  n_features <- basis_rank(fit$basis, fit$kernel, ncol(fit$x))
  is.list(fit$sums) && is_finite_matrix(fit$sums$gram, n_features, n_features) &&
    is_finite_matrix(fit$sums$cross, n_features, ncol(fit$targets)) &&
    is_number(fit$sums$n_points) && fit$sums$n_points == nrow(fit$x)
}
