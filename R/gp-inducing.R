# Inducing points: features f(x) = Lu^-1 k(z, x) with K(z, z) = Lu Lu'.

# z is n_dims x Q. `objective`: "dtc" (the kernel is F'F), "vfe" (the same, and a lower bound of the
# exact marginal likelihood), "fitc" (each point has what the features leave as noise of its own).
# `extra` is added to the noise. `pivots`: which points z are, or NULL.
new_inducing <- function(z, objective = "vfe", extra = 0, pivots = NULL) {
  structure(list(z = z, objective = objective, extra = extra, pivots = pivots),
            class = c("gps_basis_inducing", "gps_basis"))
}

# Pivots of the incomplete Cholesky factorisation of the kernel without noise: at most `rank`, until
# the trace of what is left is at most `tol` of the whole. list(pivots, trace = of what is left
# before and after each step, factor = L if asked for).
choose_pivots <- function(kernel, theta, y, rank, tol = 1e-3, n_threads = 1L, factor = FALSE) {
  found <- .Call(C_gp_pivots, gp_kernel_code(kernel), theta, y, rank, tol, factor, n_threads)
  found$pivots <- as.integer(found$pivots)
  found
}

# Whether features are divided by each point's own noise.
is_scaled <- function(basis) identical(basis$objective, "fitc")

# White noise of the kernel and what the basis adds to it.
basis_noise <- function(basis, kernel, theta) {
  n_dims <- c(basis$n_dims, nrow(basis$z), length(basis$centre))[1]
  white_variance(kernel, theta, n_dims) + basis$extra
}

#' @export
basis_features.gps_basis_inducing <- function(basis, kernel, theta, y, n_threads = 1L) {
  noise <- if (is_scaled(basis)) basis_noise(basis, kernel, theta)
  .Call(C_gp_inducing_features, gp_kernel_code(kernel), theta, basis$z, y, noise, n_threads)
}

#' @export
basis_evaluate.gps_basis_inducing <- function(basis, engine, theta, goal, inputs = FALSE) {
  .Call(C_gp_inducing_evaluate, gp_kernel_code(engine$kernel), theta, basis, engine$y, goal, inputs,
        engine$n_threads)
}
