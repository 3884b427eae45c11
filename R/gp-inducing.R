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

# Pivots, with the mean of what they leave added to the noise.
#' @export
engine_basis.gps_engine_ichol <- function(engine, kernel, theta, y, tol, n_threads = 1L) {
  found <- choose_pivots(kernel, theta, y, engine$rank, tol, n_threads)
  new_inducing(columns_of(y, found$pivots), "dtc", found$trace[length(found$trace)] / ncol(y),
               found$pivots)
}

# Points that start at the pivots.
#' @export
engine_basis.gps_engine_inducing <- function(engine, kernel, theta, y, tol, n_threads = 1L) {
  found <- choose_pivots(kernel, theta, y, engine$rank, tol, n_threads)
  new_inducing(columns_of(y, found$pivots), engine$objective, pivots = found$pivots)
}

#' @export
basis_features.gps_basis_inducing <- function(basis, kernel, theta, y, n_threads = 1L) {
  noise <- if (is_scaled(basis)) basis_noise(basis, kernel, theta)
  .Call(C_gp_inducing_features, gp_kernel_code(kernel), theta, basis$z, y, noise, n_threads)
}

#' @export
basis_evaluate.gps_basis_inducing <- function(basis, engine, theta, goal) {
  .Call(C_gp_inducing_evaluate, engine$code, theta, basis, engine$y, goal,
        engine$learn_inputs, engine$n_threads)
}

# ---- what the engines refuse and say ----

#' @export
engine_check_grid.gps_engine_inducing <- function(engine) {
  if (engine$objective == "fitc") refuse_grid("`objective` = \"fitc\"")
}

#' @export
engine_words.gps_engine_ichol <- function(engine) {
  paste0("incomplete Cholesky", if (!is.null(engine$rank)) sprintf(" of rank %d", engine$rank))
}

#' @export
engine_words.gps_engine_inducing <- function(engine) {
  sprintf("%sinducing inputs (%s)", rank_words(engine), upper_case(engine$objective))
}

#' @export
engine_story.gps_engine_ichol <- function(engine, fit, number) {
  what <- sprintf("%s; what they leave adds %s to the noise", plural(ncol(fit$basis$z), "pivot"),
                  number(fit$basis$extra))
  list(what = what, of = " (of the approximation)")
}

#' @export
engine_story.gps_engine_inducing <- function(engine, fit, number) {
  basis <- fit$basis
  what <- sprintf("%s (%s), %s", plural(ncol(basis$z), "inducing point"),
                  upper_case(basis$objective),
                  if (has_learned_inputs(fit)) "learned" else "fixed")
  list(what = what,
       of = if (basis$objective == "vfe") " (lower bound)" else " (of the approximation)")
}

# Inducing points that were learned are no longer pivots.
has_learned_inputs <- function(fit) {
  inherits(fit$basis, "gps_basis_inducing") && is.null(fit$basis$pivots)
}
