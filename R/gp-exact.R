# The exact engine: all pairs of points, one factorisation for all targets.

# Beyond this many points it is refused before anything is allocated.
max_dense_points <- 20000L

# Inner products and memory are kept from evaluation to evaluation up to this many points (400 MB):
# beyond, making them anew is a small part of the work.
max_kept_products <- 5000L

check_dense_size <- function(n_points) {
  if (n_points <= max_dense_points) return(invisible(n_points))
  gps_abort(sprintf(
    paste(
      "The exact Gaussian process on %.0f points needs %.1f GB for each matrix of all pairs; the",
      "limit is %.0f points (%.1f GB). What works: a method that approximates, such as \"ichol\",",
      "fewer rows, or a kernel of linear, bias and white terms only, which needs no such matrix."
    ),
    n_points, 8e-9 * n_points^2, max_dense_points, 8e-9 * max_dense_points^2
  ))
}

#' @export
engine_plan.gps_engine_exact <- function(engine, kernel, theta, y, n_threads = 1L, tol = NULL,
                                         dense = FALSE) {
  if (!dense && uses_features(kernel, nrow(y), ncol(y))) {
    return(plan_linear(engine, kernel, theta, y, n_threads))
  }
  check_dense_size(ncol(y))
  if (has_custom(kernel)) try_custom(custom_terms(kernel), y)
  hold_data(engine, kernel, theta, y, n_threads)
}

#' @export
engine_check_size.gps_engine_exact <- function(engine, kernel, n_dims, n_points,
                                               n_targets = NULL) {
  if (!uses_features(kernel, n_dims, n_points)) check_dense_size(n_points)
}

#' @export
engine_story.gps_engine_exact <- function(engine, fit, number) list(what = NULL, of = "")

# Whatever the kernel, a fit keeps nothing: the plan costs nothing.
#' @export
engine_keep.gps_engine_exact <- function(engine, targets) NULL

#' @export
is_engine_kept.gps_engine_exact <- function(engine, fit, points) TRUE

#' @export
engine_share.gps_engine_exact <- function(engine, goal) {
  if (ncol(engine$y) <= max_kept_products) {
    engine$shared <- .Call(C_gp_share, engine$code, engine$theta, engine$y, engine$n_threads)
  }
  engine
}

# The kernel's code with what R computes of it on all pairs of points, values and, for a gradient,
# `slopes`.
dense_code <- function(engine, theta, slopes = FALSE) {
  if (!"custom" %in% engine$code$type) return(engine$code)
  y <- engine$y
  terms <- custom_terms(kernel_with_theta(engine$kernel, theta, nrow(y)))
  c(engine$code, list(given = list(values = custom_values(terms, y, y),
                                   slopes = if (slopes) custom_slopes(terms, y))))
}

# In a search the jitter stays as it was where it began.
#' @export
engine_evaluate.gps_engine_exact <- function(engine, theta, goal, jitter = 0, least = NULL) {
  found <- .Call(C_gp_evaluate, dense_code(engine, theta, slopes = TRUE), theta, engine$y,
                 engine$shared, jitter, goal, least, engine$n_threads)
  names(found$gradient) <- names(theta)
  found
}

# The `factor` L^-1 of K = LL', or for many targets the `inverse`: it costs more, and then little.
#' @export
engine_prepare.gps_engine_exact <- function(engine, theta, jitter = 0, many = FALSE, sums = NULL) {
  engine$theta <- theta
  found <- .Call(C_gp_factor, dense_code(engine, theta), theta, engine$y, jitter, many,
                 engine$n_threads)
  engine$factor <- engine$inverse <- NULL
  engine[names(found)] <- found
  engine
}

# Without slots the weights are made by a factor, which is nearer to the truth than by the inverse.
#' @export
engine_ready.gps_engine_exact <- function(engine, theta, in_slots) {
  engine_prepare(engine, theta, many = in_slots)
}

# Equation 5 of the paper: targets - K^-1 targets / diag(K^-1).
#' @export
engine_loo.gps_engine_exact <- function(engine, targets, points = NULL) {
  if (!is.null(engine$factor)) return(.Call(C_gp_loo, engine$factor, targets, engine$n_threads))
  if (is.matrix(targets)) return(.Call(C_gp_loo_inverse, engine$inverse, targets))
  scale <- -1 / engine$inverse[cbind(points, points)]
  list(mean = spread_targets(targets, engine$inverse, points, scale, points, engine$n_threads))
}

#' @export
engine_train.gps_engine_exact <- function(engine, targets) {
  if (!is.matrix(targets)) {
    engine$targets <- targets
  } else if (is.null(engine$factor)) {
    engine$alpha <- targets %*% engine$inverse
  } else {
    engine$alpha <- .Call(C_gp_weigh, engine$factor, targets)
  }
  engine
}

#' @export
engine_predict.gps_engine_exact <- function(engine, newdata, moments = FALSE) {
  weights <- if (is.null(engine$targets)) engine$alpha else engine$inverse
  code <- engine$code
  # Custom values between all points and new ones are a matrix in R.
  join_runs(ncol(newdata), function(run) {
    z <- columns_of(newdata, run)
    if ("custom" %in% code$type) {
      terms <- custom_terms(kernel_with_theta(engine$kernel, engine$theta, nrow(z)))
      code$given_new <- list(values = custom_values(terms, engine$y, z),
                             variance = custom_diagonal(terms, z))
    }
    found <- .Call(C_gp_predict, code, engine$theta, engine$y, weights,
                   if (moments) engine$factor, z, engine$n_threads)
    if (is.null(engine$targets)) return(found)
    list(mean = spread_targets(engine$targets, found$mean, n_threads = engine$n_threads),
         variance = found$variance)
  })
}
