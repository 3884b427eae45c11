# What the methods of gp_fit ask of a fit's engine. y is n_dims x n_points, targets n_targets x
# n_points.

# Points whose features are held at a time.
feature_points <- 2^14

point_runs <- function(n_points) {
  from <- seq(1, n_points, by = feature_points)
  Map(seq, from, pmin(from + feature_points - 1, n_points))
}

# Sums over all points that a basis' predictions need: they are kept in the fit, so that a
# prediction takes no pass over the data.
basis_sums <- function(basis, kernel, theta, y, targets, n_threads) {
  sums <- NULL
  for (run in point_runs(ncol(y))) {
    found <- basis_features(basis, kernel, theta, columns_of(y, run), n_threads)
    part <- feature_moments(found)
    part$cross <- basis_cross(found$features, found$scale, columns_of(targets, run))
    sums <- if (is.null(sums)) part else Map(`+`, sums, part)
  }
  sums
}

fit_prepared <- function(fit) basis_prepare(fit$basis, fit$kernel, fit$theta, fit$sums)

fit_gradient <- function(fit, n_threads) {
  y <- t(fit$x)
  targets <- t(fit$targets)
  root <- function() .Call(C_gp_root, targets)
  switch(engine_kind(fit$method),
    exact = gp_evaluate(fit$kernel, fit$theta, y, targets, fit$jitter, n_threads),
    divide = divide_evaluate(fit$divide, fit$kernel, fit$theta, y, root(), nrow(targets),
                             n_threads),
    basis = basis_evaluate(fit$basis, fit$kernel, fit$theta, y, root(), nrow(targets), fit$jitter,
                           n_threads)
  )$gradient
}

# list(mean, variance) of each point's observation, without it.
fit_loo <- function(fit, n_threads) {
  y <- t(fit$x)
  targets <- t(fit$targets)
  switch(engine_kind(fit$method),
    exact = gp_loo_moments(fit$kernel, fit$theta, y, targets, fit$jitter, n_threads),
    divide = divide_loo(divide_prepare(fit$divide, fit$kernel, fit$theta, y, n_threads,
                                       keep = FALSE), targets),
    basis = {
      prepared <- fit_prepared(fit)
      join_runs(point_runs(ncol(y)), function(run) {
        found <- basis_features(fit$basis, fit$kernel, fit$theta, columns_of(y, run), n_threads)
        basis_loo(prepared, fit$sums$cross, found$features, found$scale, found$residual,
                  columns_of(targets, run))
      })
    }
  )
}

# list(mean, variance) of the function at new points.
fit_predict <- function(fit, newdata, n_threads) {
  if (engine_kind(fit$method) != "basis") {
    y <- t(fit$x)
    targets <- t(fit$targets)
  }
  switch(engine_kind(fit$method),
    exact = gp_predict_moments(fit$kernel, fit$theta, y, targets, newdata, fit$jitter, n_threads),
    divide = divide_predict(fit$divide, fit$kernel, fit$theta, y, targets, newdata, n_threads),
    basis = {
      prepared <- fit_prepared(fit)
      join_runs(point_runs(ncol(newdata)), function(run) {
        basis_predict(prepared, fit$sums$cross, columns_of(newdata, run), n_threads)
      })
    }
  )
}

# list(mean, variance) of all points from those of runs.
join_runs <- function(runs, moments_of) {
  parts <- lapply(runs, moments_of)
  list(mean = do.call(cbind, lapply(parts, `[[`, "mean")),
       variance = unlist(lapply(parts, `[[`, "variance")))
}

# Whether a fit holds what its engine needs: it may come from a file.
is_engine_sound <- function(fit, points) {
  if (!is.character(fit$method) || length(fit$method) != 1) return(FALSE)
  switch(engine_kind(fit$method),
    exact = TRUE,
    divide = is_divide_sound(fit$divide, nrow(fit$x), points),
    basis = is_basis_sound(fit$basis, fit$kernel, ncol(fit$x)) && is_sums_sound(fit),
    FALSE
  )
}

is_divide_sound <- function(divide, n_points, points) {
  is.list(divide) && (isTRUE(divide$cross) || isFALSE(divide$cross)) && is.list(divide$rows) &&
    all(vapply(divide$rows, is.numeric, NA)) && sum(lengths(divide$rows)) == n_points &&
    (!points ||
       identical(sort(as.double(unlist(divide$rows))), as.double(seq_len(n_points))))
}

is_finite_matrix <- function(x, n_rows, n_cols = ncol(x)) {
  is.matrix(x) && is.double(x) && all(is.finite(x)) && nrow(x) == n_rows && ncol(x) == n_cols
}

is_basis_sound <- function(basis, kernel, n_dims) {
  if (!is.list(basis) || !is_number(basis$extra)) return(FALSE)
  if (basis$extra < 0 || !is.finite(basis$extra)) return(FALSE)
  if (inherits(basis, "gps_basis_inducing")) {
    return(is_finite_matrix(basis$z, n_dims) && ncol(basis$z) > 0 &&
             is_one_of(basis$objective, c("dtc", "vfe", "fitc")))
  }
  inherits(basis, "gps_basis_fourier") && is.list(basis$frequencies) &&
    length(basis$frequencies) == sum(has_stationary(kernel)) &&
    all(vapply(basis$frequencies, is_finite_matrix, NA, n_dims)) &&
    is.double(basis$centre) && length(basis$centre) == n_dims && all(is.finite(basis$centre))
}

is_sums_sound <- function(fit) {
  n_features <- basis_rank(fit$basis, fit$kernel, ncol(fit$x))
  is.list(fit$sums) && is_finite_matrix(fit$sums$gram, n_features, n_features) &&
    is_finite_matrix(fit$sums$cross, n_features, ncol(fit$targets)) &&
    is_number(fit$sums$n_points) && fit$sums$n_points == nrow(fit$x)
}

# Number of features.
basis_rank <- function(basis, kernel, n_dims) {
  if (!is.null(basis$z)) return(ncol(basis$z))
  exact <- vapply(kernel$terms, function(term) {
    switch(term$type, linear = as.double(n_dims), bias = 1, 0)
  }, 0)
  2 * sum(vapply(basis$frequencies, ncol, 0L)) + sum(exact)
}
