# Engines: ways to regress targets on data by a Gaussian process. y is n_dims x n_points, targets
# are n_targets x n_points or in slots (gp-targets.R). gp_fit() and the learned selection ask an
# engine by the verbs on this page, which it must have, and by those in gp-engine-use.R, which it
# may have; a new one is a file of methods and a line in `engines`.

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
  structure(
    list(method = method, rank = rank, objective = objective, learn_inputs = learn_inputs,
         cross = cross, use_index = use_index),
    class = c(paste0("gps_engine_", unique(c(method, engines[[method]]$kind))), "gps_engine")
  )
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
# with the gradient by theta, and with `inputs` by the engine's inputs. A search has a `jitter` from
# where it began, and needs no gradient where the value is below `least`.
engine_evaluate <- function(engine, theta, goal, jitter = 0, least = NULL, inputs = FALSE) {
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

# Leave-one-out of a prepared engine, list(mean = n_targets x points, variance): of the observations
# of all points, or of `points`. `mean` may be candidates (gp-targets.R).
engine_loo <- function(engine, targets, points = NULL) UseMethod("engine_loo")

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

hold_data <- function(engine, kernel, theta, y, n_threads) {
  engine[c("kernel", "theta", "y", "n_threads")] <- list(kernel, theta, y, n_threads)
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
