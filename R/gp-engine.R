# Engines: ways to regress targets on data by a Gaussian process. y is n_dims x n_points, targets
# are n_targets x n_points or in slots (see the end of this page). gp_fit() and the learned
# selection ask an engine by these verbs, of which it must have those that come first and may have
# those of "what it refuses" and what follows; a new one is a file of methods and a line in
# `engines`.

# The methods that users name. `kind`: the class that does it; `rank`: the default, where there is
# one; `own`: arguments that mean something to it; `most`: whether the rank is at most the number of
# points; `even`: whether it is even; `square`: whether there are matrices of rank x rank; `exact`:
# whether nothing is approximated; `sums`: whether it has engine_sums(); `dense`: whether targets in
# slots are beyond it; `few`: whether its answers to targets in slots are candidates; `among`:
# whether a refit judges the rows that `rows` of the engine names by all other points, else rows
# without the others; `pairs`: whether it asks a kernel for nothing but values and derivatives at
# pairs of points, which custom ones have; `tol`: see regression_tol(); `replans`: see
# climb_rounds().
engines <- list(
  exact = list(kind = "exact", exact = TRUE, pairs = TRUE),
  ichol = list(kind = "basis", rank = 200L, own = "rank", most = TRUE, square = TRUE, sums = TRUE,
               tol = 1e-6, replans = TRUE),
  inducing = list(kind = "basis", rank = 200L, own = c("rank", "objective", "learn_inputs"),
                  most = TRUE, square = TRUE, sums = TRUE, tol = 1e-8),
  fourier = list(kind = "basis", rank = 200L, own = "rank", even = TRUE, square = TRUE,
                 sums = TRUE),
  divide = list(kind = "divide", rank = 500L, own = c("rank", "cross"), dense = TRUE, pairs = TRUE),
  neighbours = list(kind = "neighbours", rank = 20L, own = c("rank", "index"), most = TRUE,
                    few = TRUE, among = TRUE, replans = TRUE)
)

gp_methods <- append(names(engines), "auto", 1)

# Names of the methods of which a field of the table is TRUE.
methods_that <- function(field) {
  names(engines)[vapply(engines, function(row) isTRUE(row[[field]]), NA)]
}

# `rank`: basis functions, points in a block, or neighbours, which with `use_index` are sought by an
# index (NULL: where it pays). Verbs are sought for the method first, then for its kind.
new_engine <- function(method, rank = NULL, objective = "vfe", learn_inputs = FALSE, cross = TRUE,
                       use_index = NULL) {
  engine <- list(method = method, rank = rank, objective = objective, learn_inputs = learn_inputs,
                 cross = cross, use_index = use_index)
  kinds <- unique(c(method, engines[[method]]$kind))
  class(engine) <- c(paste0("gps_engine_", kinds), "gps_engine")
  engine
}

# ---- verbs ----

# The engine for these data, whose kernel is `kernel`: with it, `y` and `n_threads` it keeps what
# does not change with the parameters nor the targets, a basis or blocks, chosen at `theta`. `tol`:
# share of the trace that pivots may leave, NULL: what suits a regression. It may be of another
# class, where the kernel allows a cheaper one; not so if `dense`.
engine_plan <- function(engine, kernel, theta, y, n_threads = 1L, tol = NULL, dense = FALSE) {
  UseMethod("engine_plan")
}

# A planned engine with what evaluations at many parameters share; `goal`: see new_goal().
engine_share <- function(engine, goal) UseMethod("engine_share")

#' @export
engine_share.default <- function(engine, goal) engine

# list(value, gradient, jitter): the log marginal likelihood of a planned engine, or its objective,
# with the gradient by theta, and by the `inputs` of an engine that learns them. A search has a
# `jitter` from where it began, and needs no gradient where the value is below `least`.
engine_evaluate <- function(engine, theta, goal, jitter = 0, least = NULL) {
  UseMethod("engine_evaluate")
}

# A planned engine with what regression at `theta` needs whatever the targets, and the `jitter` that
# it took. `many`: leave-one-out means of many targets in turn are asked for, and no variances of
# predictions; `sums`: those over the data, where they are known (engine_sums()).
engine_prepare <- function(engine, theta, jitter = 0, many = FALSE, sums = NULL) {
  UseMethod("engine_prepare")
}

# As engine_prepare(), for predictions of many targets at new points alone; `in_slots`: whether the
# targets are.
engine_ready <- function(engine, theta, in_slots) UseMethod("engine_ready")

#' @export
engine_ready.default <- function(engine, theta, in_slots) engine_prepare(engine, theta, many = TRUE)

# Leave-one-out of a prepared engine, list(mean = n_targets x points, variance): of the
# observations of all points, or of `points`. `mean` may be candidates (new_candidates()). With
# `few` an engine is asked for point 0, too, where a point keeps its slots: that column is empty.
engine_loo <- function(engine, targets, points = NULL) UseMethod("engine_loo")

# Targets as leave-one-out takes them, made once for many blocks of points.
engine_targets <- function(engine, targets) UseMethod("engine_targets")

#' @export
engine_targets.default <- function(engine, targets) targets

# A prepared engine with what predictions of these targets at new points need.
engine_train <- function(engine, targets) UseMethod("engine_train")

# list(mean, variance) of the function at new points, n_dims x n, from an engine that is trained;
# the variance where `moments` are asked for.
engine_predict <- function(engine, newdata, moments = FALSE) UseMethod("engine_predict")

# The log marginal likelihood of a planned engine where a search, or one look, `found` its
# parameters; it may be another number than the objective.
engine_likelihood <- function(engine, found, targets) UseMethod("engine_likelihood")

#' @export
engine_likelihood.default <- function(engine, found, targets) found$value

# What points whose features are `view` add to sums over the data, from which the engine is prepared
# and trained; NULL for one that needs all data at once.
engine_sums <- function(engine, view, targets = NULL) UseMethod("engine_sums")

#' @export
engine_sums.default <- function(engine, view, targets = NULL) NULL

# ---- what all of them share ----

# `code`: the kernel as the C core wants it, which evaluations ask for but those of linear ones.
hold_data <- function(engine, kernel, theta, y, n_threads, code = gp_kernel_code(kernel)) {
  engine[c("kernel", "code", "theta", "y", "n_threads")] <- list(kernel, code, theta, y, n_threads)
  engine
}

# Targets as the marginal likelihood sees them: any `root` with root'root = targets'targets stands
# for all. `n_targets` counts those that are 0 everywhere and not given. Neighbours see those in
# slots as they are.
new_goal <- function(targets, n_targets = nrow(targets)) {
  if (inherits(targets, "gps_slots")) {
    return(c(targets[c("selected", "prob_on")], n_targets = n_targets))
  }
  list(root = .Call(C_gp_root, targets), n_targets = n_targets)
}

# Log parameters to start from; a lengthscale left open is the one that data suggest.
gp_theta <- function(kernel, y) {
  if (!has_open_length(kernel)) return(kernel_theta(kernel, nrow(y)))
  kernel_theta(kernel, nrow(y), open_lengthscales(kernel, y))
}

# Share of the targets' variance that the leave-one-out means explain; near 0 the targets carry no
# signal and the parameters are not worth learning.
gp_loo_r2 <- function(targets, loo) {
  total <- sum((targets - rowMeans(targets))^2)
  if (total > 0) 1 - sum((targets - loo)^2) / total else 0
}

columns_of <- function(x, points) x[, points, drop = FALSE]

# What an engine refuses, says of itself and leaves in a gp_fit: verbs that all have an answer where
# an engine has none of its own.

# ---- what it refuses ----

# A kernel that it cannot compute.
engine_check_terms <- function(engine, kernel) UseMethod("engine_check_terms")

#' @export
engine_check_terms.default <- function(engine, kernel) invisible(engine)

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
  gps_abort(sprintf(paste(
    "%s is not available for models whose latents lie on a grid: use \"exact\", \"ichol\" or",
    "\"neighbours\"."
  ), what))
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

# Fields of the fit: `basis` and `sums`, `divide`, or `engine`, of which fit_engine() makes the
# engine anew without a plan. One that keeps nothing is planned again.
engine_keep <- function(engine, targets) UseMethod("engine_keep")

#' @export
engine_keep.default <- function(engine, targets) list(engine = replace(engine, "y", list(NULL)))

# Whether a fit, which may come from a file, has what the engine kept. The cost does not grow with
# the number of points unless their values are to be looked at (`points`).
is_engine_kept <- function(engine, fit, points) UseMethod("is_engine_kept")

#' @export
is_engine_kept.default <- function(engine, fit, points) {
  inherits(fit$engine, class(engine)[1]) && is_count(fit$engine$rank)
}

# ---- the engine of a fit ----

# The engine as it was planned; without its data where it is to predict from sums.
fit_engine <- function(fit, n_threads, has_data = TRUE) {
  engine <- if (is.null(fit$engine)) new_engine(fit$method) else fit$engine
  engine$basis <- fit$basis
  engine[names(fit$divide)] <- fit$divide
  is_kept <- !is.null(c(fit$engine, fit$basis, fit$divide))
  again <- if (is_kept) hold_data else engine_plan
  again(engine, fit$kernel, fit$theta, if (has_data || is.null(fit$sums)) t(fit$x), n_threads)
}

fit_gradient <- function(fit, n_threads) {
  engine_evaluate(fit_engine(fit, n_threads), fit$theta, new_goal(t(untrended(fit))),
                  fit$jitter)$gradient
}

prepared_engine <- function(fit, n_threads, has_data = TRUE) {
  engine_prepare(fit_engine(fit, n_threads, has_data), fit$theta, fit$jitter, sums = fit$sums)
}

trained_engine <- function(fit, n_threads, has_data = TRUE) {
  engine <- prepared_engine(fit, n_threads, has_data)
  if (is.null(fit$sums)) return(engine_train(engine, t(untrended(fit))))
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

# ---- targets ----

# Targets of a regression: a matrix n_targets x n_points, or where nearly all are 0 of class
# `gps_slots`: `selected` and `prob_on`, slots x points as in a state, with the `layout` of the
# latents. Predictions of the latter are made for some points at a time; nothing of n_latents x
# n_points exists.

# The targets of a state, or of a fit.
slot_targets <- function(state, model, smooth = 0) {
  structure(list(selected = state$selected, prob_on = state$prob_on,
                 layout = spread_layout(model, smooth)), class = "gps_slots")
}

target_points <- function(targets) ncol(if (is.matrix(targets)) targets else targets$selected)

# Targets of some points.
cut_targets <- function(targets, points) {
  if (!inherits(targets, "gps_slots")) return(columns_of(targets, points))
  parts <- c("selected", "prob_on")
  targets[parts] <- lapply(targets[parts], columns_of, points)
  targets
}

# Those of a block, where they are not all there are.
block_targets <- function(targets, block) {
  if (block$n_points == target_points(targets)) return(targets)
  cut_targets(targets, block_columns(block))
}

# Sum of f_n (y_n / scale_n)', Q x n_targets.
cross_targets <- function(targets, features, scale = NULL) {
  if (!is.null(scale) && is.matrix(targets)) targets <- targets / rep(scale, each = nrow(targets))
  .Call(C_gp_cross, features, scale, targets)
}

# Answers where few latents count for a point: `latent` and `affinity`, k x points; latent 0 is
# none, and all others of a point are 0.
new_candidates <- function(latent, affinity) {
  structure(list(latent = latent, affinity = affinity), class = "gps_candidates")
}

# An answer of all latents, n_latents x points.
rank_answer <- function(mean, n_latents) {
  if (!inherits(mean, "gps_candidates")) return(mean)
  dense_targets(list(selected = mean$latent, prob_on = mean$affinity), n_latents)
}

# Affinities of some points; of latents that are left, numbered as they stand there; and without
# some that are out of the model. NULL ranks nothing.
cut_answer <- function(mean, points) {
  if (is.null(mean)) return(NULL)
  if (!inherits(mean, "gps_candidates")) return(columns_of(mean, points))
  new_candidates(columns_of(mean$latent, points), columns_of(mean$affinity, points))
}

keep_latents <- function(mean, left, n_latents) {
  if (!inherits(mean, "gps_candidates")) return(mean[left, , drop = FALSE])
  number <- integer(n_latents)
  number[left] <- seq_along(left)
  mean$latent[] <- c(0L, number)[mean$latent + 1L]
  mean
}

bar_latents <- function(mean, out) {
  if (is.null(mean)) return(NULL)
  if (inherits(mean, "gps_candidates")) {
    mean$latent[mean$latent %in% out] <- 0L
  } else {
    mean[out, ] <- -Inf
  }
  mean
}

# Sums of targets in slots, n_latents x points, smoothed over the grid: of point n with the
# coefficients scale[n] coef[, column[n]], in which the training point left_out[n] does not count.
spread_targets <- function(targets, coef, column = seq_len(ncol(coef)), scale = 1, left_out = 0L,
                           n_threads = 1L) {
  n <- length(column)
  .Call(C_gp_spread, coef, as.integer(column), rep_len(as.double(scale), n),
        rep_len(as.integer(left_out), n), targets, n_threads)
}

# All targets of few points in slots, smoothed as predictions are, n_latents x points.
dense_slots <- function(targets, n_threads = 1L) {
  spread_targets(targets, diag(ncol(targets$selected)), n_threads = n_threads)
}

# The same targets as others whose predictions need no smoothing: each is in the slots of all places
# that it is smoothed over.
widen_targets <- function(targets) {
  if (!inherits(targets, "gps_slots") || targets$layout$smooth == 0) return(targets)
  targets[c("selected", "prob_on")] <- .Call(C_gp_spread_slots, targets)
  targets$layout$smooth <- 0
  targets
}

# The rows of these that are not 0 throughout, at least one. Unsmoothed they are known beforehand.
used_targets <- function(targets, n_threads = 1L) {
  if (!inherits(targets, "gps_slots")) return(targets)
  if (targets$layout$smooth == 0) {
    used <- sort(unique(targets$selected[targets$selected > 0 & targets$prob_on != 0]))
    targets$selected[] <- match(targets$selected, used, nomatch = 0L)
    return(dense_targets(targets, max(length(used), 1L)))
  }
  dense <- dense_slots(targets, n_threads)
  used <- which(rowSums(dense != 0) > 0)
  dense[if (length(used) > 0) used else 1L, , drop = FALSE]
}
