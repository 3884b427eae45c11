# What an engine refuses, says of itself and leaves in a gp_fit: verbs that all have an answer where
# an engine has none of its own. y is n_dims x n_points.

# ---- what it refuses ----

# A kernel that it cannot compute.
engine_check_kernel <- function(engine, kernel) UseMethod("engine_check_kernel")

#' @export
engine_check_kernel.default <- function(engine, kernel) invisible(engine)

# Data that are too many for it. A selection keeps what is prepared for all its `n_targets`.
engine_check_size <- function(engine, kernel, n_dims, n_points, n_targets = NULL) {
  UseMethod("engine_check_size")
}

#' @export
engine_check_size.default <- function(engine, kernel, n_dims, n_points, n_targets = NULL) {
  invisible(engine)
}

# Latents on a grid, whose predictions are smoothed.
engine_check_grid <- function(engine) UseMethod("engine_check_grid")

#' @export
engine_check_grid.default <- function(engine) invisible(engine)

refuse_grid <- function(what) {
  gps_abort(sprintf(
    "%s is not available for models whose latents lie on a grid: use \"exact\" or \"ichol\".", what
  ))
}

# Numbers that an engine, trained on n_points, makes for each point that it predicts.
engine_doubles <- function(engine, n_points) UseMethod("engine_doubles")

#' @export
engine_doubles.default <- function(engine, n_points) n_points

# ---- what it says of itself ----

# Method and rank in words; the rank may be open.
engine_words <- function(engine) UseMethod("engine_words")

#' @export
engine_words.default <- function(engine) trimws(paste(engine$method, rank_words(engine)))

# "20 ", or nothing.
rank_words <- function(engine) if (is.null(engine$rank)) "" else sprintf("%d ", engine$rank)

# What an approximation stands on in a fit, and what its marginal likelihood is one of: list(what,
# of). number() formats.
engine_story <- function(engine, fit, number) UseMethod("engine_story")

#' @export
engine_story.default <- function(engine, fit, number) {
  list(what = NULL, of = " (of the approximation)")
}

# ---- what a fit keeps of it ----

# Fields of the fit, by which engine_again() makes the engine anew without a plan.
engine_keep <- function(engine, targets) UseMethod("engine_keep")

#' @export
engine_keep.default <- function(engine, targets) list(engine = replace(engine, "y", list(NULL)))

# The engine of a fit as it was planned: it has what new_engine() and engine_keep() gave.
engine_again <- function(engine, fit, y, n_threads) UseMethod("engine_again")

#' @export
engine_again.default <- function(engine, fit, y, n_threads) {
  hold_data(engine, fit$kernel, fit$theta, y, n_threads)
}

# Whether a fit, which may come from a file, has what the engine kept. The cost does not grow with
# the number of points unless their values are to be looked at (`points`).
is_engine_kept <- function(engine, fit, points) UseMethod("is_engine_kept")

#' @export
is_engine_kept.default <- function(engine, fit, points) {
  inherits(fit$engine, class(engine)[1]) && is_count(fit$engine$rank)
}

# ---- the engine of a fit ----

engine_parts <- function(engine, theta, targets) {
  engine$theta <- theta
  engine_keep(engine, targets)
}

# Without its data where it is to predict from sums.
fit_engine <- function(fit, n_threads, has_data = TRUE) {
  engine <- if (is.null(fit$engine)) new_engine(fit$method) else fit$engine
  engine_again(engine, fit, if (has_data || is.null(fit$sums)) t(fit$x), n_threads)
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

is_engine_sound <- function(fit, points) {
  is.character(fit$method) && length(fit$method) == 1 && !is.null(engines[[fit$method]]) &&
    is_engine_kept(new_engine(fit$method), fit, points)
}

is_finite_matrix <- function(x, n_rows, n_cols = ncol(x)) {
  is.matrix(x) && is.double(x) && all(is.finite(x)) && nrow(x) == n_rows && ncol(x) == n_cols
}
