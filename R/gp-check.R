# Whether a Gaussian process that is handed over is what gp_fit() makes.

# A fit may come from a file: what the methods rely on is looked at before C sees it. The cost does
# not depend on the number of points, unless `points`: whether their values are looked at, too.
check_gp_fit <- function(fit, arg, points = FALSE) {
  check_class(fit, arg, "gp_fit", "an object of class gp_fit")
  is_points <- function(x) {
    is.matrix(x) && is.double(x) && length(x) > 0 && (!points || all(is.finite(x)))
  }
  is_sound <- is.list(fit) && inherits(fit$kernel, "gps_kernel") && is_points(fit$x) &&
    is_points(fit$targets) && nrow(fit$x) == nrow(fit$targets) && is_number(fit$lml) &&
    is_number(fit$jitter) && is.double(fit$theta) && all(is.finite(fit$theta)) &&
    is_kernel_sound(fit$kernel) &&
    length(fit$theta) == length(theta_names(fit$kernel, ncol(fit$x))) &&
    is_engine_sound(fit, points) && is_story_sound(fit) && is_trend_sound(fit)
  if (!is_sound) gps_abort(sprintf("`%s` is damaged: it does not hold what gp_fit() makes.", arg))
  invisible(fit)
}

# What is said of the search; fits of 0.1.0 do not have `fixed` and `limits`.
is_story_sound <- function(fit) {
  is_word <- function(x, of = x) is.null(x) || is.character(x) && !anyNA(x) && all(x %in% of)
  is_word(fit$why) && is_word(fit$form) && is_word(fit$fixed, names(fit$theta)) &&
    is_word(fit$limits, c("lower", "upper")) && is_word(names(fit$limits), names(fit$theta)) &&
    length(names(fit$limits)) == length(fit$limits) && is.logical(fit$converged) &&
    length(fit$converged) == 1 && is.data.frame(fit$trace)
}

is_kernel_sound <- function(kernel) {
  tryCatch(inherits(check_kernel(kernel, "kernel"), "gps_kernel"), gps_error = function(e) FALSE)
}
