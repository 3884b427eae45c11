# The engine of neighbours: each point is predicted from the `rank` points nearest to it alone
# (local kriging, Vecchia 1988). Neighbours depend on the data, their weights on the data and the
# kernel; what is then left for each point are as many additions as its neighbours have targets.

# Points whose leave-one-out densities make the objective, at most. Their neighbours are among all.
most_near_rows <- 2000L

# Neighbours are sought anew where the scale of a column, among the others, has moved by more than
# this factor.
near_moved <- log(1.25)

# Factors that fall with distance, and so say which points are near: a periodic one does not.
falling_factors <- function(kernel) {
  Filter(function(factor) identical(length_part(factor), "lengthscale"), kernel_factors(kernel))
}

# Which points are near depends on the factors that fall with distance. To second order they do so
# with the sum of variance / lengthscale^2 of each column, whose root is its scale, 1 at most. In a
# product the variance is the common one, but that of slopes, which counts as 1.
near_scales <- function(kernel, theta, n_dims) {
  steepness <- numeric(n_dims)
  for (term in kernel_with_theta(kernel, theta, n_dims)$terms) {
    first <- term_factors(term)[[1]]
    variance <- if (first$type == "linear") 1 else first$variance
    for (factor in falling_factors(list(terms = list(term)))) {
      steepness <- steepness + variance / factor$lengthscale^2
    }
  }
  scale <- sqrt(steepness / max(steepness))
  if (!all(is.finite(scale))) return(rep(1, n_dims))
  pmax(scale, 1e-100)
}

# Those at an engine's parameters.
engine_scale <- function(engine) near_scales(engine$kernel, engine$theta, nrow(engine$y))

# A kernel that is linear in the data has no neighbours: two points far out on the same side tell
# more of each other than a point near by.
#' @export
engine_check_terms.gps_engine_neighbours <- function(engine, kernel) {
  if (length(falling_factors(kernel)) > 0) return(invisible(engine))
  gps_abort(paste(
    "`kernel` must have a term that falls with distance, such as kernel_rbf(), with method",
    "\"neighbours\"; a periodic one does not. Kernels of linear, bias and white terms belong to",
    "the method \"exact\", whose cost is linear in the number of points for them."
  ))
}

#' @export
engine_words.gps_engine_neighbours <- function(engine) {
  paste0(rank_words(engine), "nearest neighbours")
}

#' @export
engine_story.gps_engine_neighbours <- function(engine, fit, number) {
  list(what = plural(fit$engine$rank, "nearest neighbour"), of = " (Vecchia's)")
}

#' @export
engine_plan.gps_engine_neighbours <- function(engine, kernel, theta, y, n_threads = 1L, tol = NULL,
                                              dense = FALSE) {
  engine_check_terms(engine, kernel)
  hold_data(engine, kernel, theta, y, n_threads)
}

# The nearest points of columns `at`, by number: `own` are theirs, which are left out, and with
# `is_before` all that come after them as well. Among all points, unless there is an index for this
# `scale`.
find_near <- function(engine, at, own = NULL, is_before = FALSE, scale = engine_scale(engine)) {
  most <- ncol(engine$y) - if (is.null(own)) 0L else 1L
  rank <- as.integer(min(engine$rank, most))
  if (has_index(engine, scale) && !is_before) {
    return(search_index(engine$index, engine$y, at, own, rank))
  }
  .Call(C_gp_near, engine$y, scale, at, own, as.integer(is_before), rank)
}

# `refs` of an engine: numbers of its points among all those whose neighbours it knows; NULL: they
# are all of these.

# list(rows, near): points whose predictions are judged, and their neighbours, which are held fixed
# in a search. `rows` of an engine are those that it was given.
share_near <- function(engine, theta) {
  engine$theta <- theta
  rows <- engine$rows
  if (is.null(rows)) rows <- as.integer(spaced_points(ncol(engine$y), most_near_rows))
  near <- if (is_near_known(engine)) {
    columns_of(engine$near, if (is.null(engine$refs)) rows else engine$refs[rows])
  } else {
    find_near(engine, columns_of(engine$y, rows), rows)
  }
  list(rows = rows, near = near)
}

is_near_known <- function(engine) {
  !is.null(engine$near) && max(abs(log(engine_scale(engine) / engine$scale))) <= near_moved
}

#' @export
engine_share.gps_engine_neighbours <- function(engine, goal) {
  engine$shared <- share_near(engine, engine$theta)
  engine
}

# The leave-one-out log predictive density of all targets (Rasmussen and Williams 2006, section
# 5.4.2), of all points as the rows stand for them.
#' @export
engine_evaluate.gps_engine_neighbours <- function(engine, theta, goal, jitter = 0, least = NULL) {
  shared <- if (is.null(engine$shared)) share_near(engine, theta) else engine$shared
  found <- .Call(C_gp_near_evaluate, engine$code, theta, engine$y,
                 columns_of(engine$y, shared$rows), shared$rows, shared$near, goal, jitter,
                 as.integer(is.null(least)), engine$n_threads)
  share <- ncol(engine$y) / length(shared$rows)
  list(value = share * found$value,
       gradient = stats::setNames(share * found$gradient, names(theta)), jitter = found$jitter)
}

# A search has no use for neighbours of all points, nor have predictions at new ones: they are
# sought for leave-one-out in turn, or when it is asked for.
#' @export
engine_prepare.gps_engine_neighbours <- function(engine, theta, jitter = 0, many = FALSE,
                                                 sums = NULL) {
  engine[c("theta", "jitter")] <- list(theta, jitter)
  if (many) weigh_near(engine) else engine
}

# Sums over few points are made from smoothed targets, as there are no predictions of all latents
# that could be smoothed.
#' @export
engine_targets.gps_engine_neighbours <- function(engine, targets) widen_targets(targets)

# Predictions have no use for the neighbours of all points.
#' @export
engine_ready.gps_engine_neighbours <- function(engine, theta, in_slots) {
  engine_prepare(engine, theta)
}

weigh_near <- function(engine) {
  if (!is_near_known(engine)) {
    engine <- add_index(engine, ncol(engine$y), engine_scale(engine))
    engine$near <- find_near(engine, engine$y, seq_len(ncol(engine$y)))
    engine$scale <- engine_scale(engine)
  }
  found <- near_weights(engine, engine$y, engine$near)
  engine[names(found)] <- found
  engine
}

# list(weights, variance, jitter) of points `at` with these neighbours; the variance is that of the
# observation, or of the function.
near_weights <- function(engine, at, near, is_function = FALSE) {
  .Call(C_gp_near_weights, engine$code, engine$theta, engine$y, at, near, engine$jitter,
        as.integer(is_function), engine$n_threads)
}

#' @export
engine_loo.gps_engine_neighbours <- function(engine, targets, points = NULL) {
  if (is.null(engine$weights)) engine <- weigh_near(engine)
  if (is.null(points)) points <- seq_len(ncol(engine$y))
  list(mean = near_means(engine, engine$near, engine$weights, targets, points),
       variance = engine$variance[points])
}

#' @export
engine_train.gps_engine_neighbours <- function(engine, targets) {
  engine$targets <- engine_targets(engine, targets)
  engine
}

#' @export
engine_predict.gps_engine_neighbours <- function(engine, newdata, moments = FALSE) {
  engine <- add_index(engine, ncol(newdata), engine_scale(engine))
  near <- find_near(engine, newdata)
  found <- near_weights(engine, newdata, near, is_function = TRUE)
  list(mean = near_means(engine, near, found$weights, engine$targets, seq_len(ncol(newdata))),
       variance = if (moments) found$variance)
}

# Neighbours, their weights, and of each as many candidates as a point has slots, with affinities.
#' @export
engine_doubles.gps_engine_neighbours <- function(engine, n_points) {
  n_slots <- if (is.matrix(engine$targets)) 0L else nrow(engine$targets$selected)
  2 * engine$rank * (1 + n_slots)
}

# Means of `points` from neighbours and weights, rank x any: a matrix, or of targets in slots
# candidates, the latents that some neighbour has on; the `n_best` of an engine that has this
# number.
near_means <- function(engine, near, weights, targets, points) {
  points <- as.integer(points)
  if (is.matrix(targets)) {
    return(.Call(C_gp_near_mean, near, weights, points, targets, engine$n_threads))
  }
  n_latents <- targets$layout$n_latents
  n_most <- min(n_latents, length(targets$selected) / ncol(targets$selected) * nrow(near))
  found <- .Call(C_gp_near_vote, near, weights, points, targets,
                 as.integer(min(n_most, engine$n_best)), engine$n_threads)
  new_candidates(found$latent, found$affinity)
}

# Vecchia's log marginal likelihood: each point given the nearest of those before it, in an order
# that is drawn at random and always the same.
#' @export
engine_likelihood.gps_engine_neighbours <- function(engine, found, targets) {
  order <- with_seed(c(19880101L, 65539L), 1L, sample.int(ncol(engine$y)))
  engine$y <- columns_of(engine$y, order)
  engine$theta <- found$theta
  own <- seq_along(order)
  engine$shared <- list(rows = own, near = find_near(engine, engine$y, own, TRUE))
  engine_evaluate(engine, found$theta, new_goal(columns_of(targets, order)), found$jitter)$value
}
