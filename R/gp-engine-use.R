# What a gp_fit keeps of its engine, and the engine that it is again. y is n_dims x n_points, the
# targets are n_targets x n_points.

# A basis with the sums over the data that predictions need, so that none takes a pass over these;
# blocks; nothing of the exact engine, whatever the kernel; else the engine as it was planned.
engine_parts <- function(engine, theta, targets) {
  engine$theta <- theta
  switch(engines[[engine$method]]$kind,
    exact = NULL,
    divide = list(divide = engine[c("rows", "cross")]),
    basis = list(basis = engine$basis, sums = basis_sums(engine, targets)),
    list(engine = replace(engine, "y", list(NULL)))
  )
}

# The engine of a fit as it was planned; without its data where it is to predict from sums.
fit_engine <- function(fit, n_threads, has_data = TRUE) {
  engine <- if (is.null(fit$engine)) new_engine(fit$method) else fit$engine
  y <- if (has_data || is.null(fit$sums)) t(fit$x)
  if (fit$method == "exact") return(engine_plan(engine, fit$kernel, fit$theta, y, n_threads))
  engine$basis <- fit$basis
  engine[names(fit$divide)] <- fit$divide
  hold_data(engine, fit$kernel, fit$theta, y, n_threads)
}

fit_gradient <- function(fit, n_threads) {
  engine_evaluate(fit_engine(fit, n_threads), fit$theta, new_goal(t(fit$targets)),
                  fit$jitter)$gradient
}

# The same prepared, and trained.
trained_engine <- function(fit, n_threads, has_data = TRUE) {
  engine <- fit_engine(fit, n_threads, has_data)
  engine <- engine_prepare(engine, fit$theta, fit$jitter, sums = fit$sums)
  if (is.null(fit$sums)) return(engine_train(engine, t(fit$targets)))
  engine$cross <- fit$sums$cross
  engine
}

# Whether a fit holds what its engine needs: it may come from a file.
is_engine_sound <- function(fit, points) {
  if (!is.character(fit$method) || length(fit$method) != 1) return(FALSE)
  kind <- engines[[fit$method]]$kind
  if (is.null(kind)) return(FALSE)
  switch(kind,
    exact = TRUE,
    divide = is_divide_sound(fit$divide, nrow(fit$x), points),
    basis = is_basis_sound(fit$basis, fit$kernel, ncol(fit$x)) && is_sums_sound(fit),
    inherits(fit$engine, paste0("gps_engine_", kind)) &&
      is_count(fit$engine$rank)
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
