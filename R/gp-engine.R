# What gp_fit() and its methods ask of an engine, whichever it is: the exact one (gp.R), a basis
# (gp-basis.R) or blocks (gp-divide.R). y is n_dims x n_points, targets n_targets x n_points.

gp_methods <- c("exact", "auto", "ichol", "inducing", "fourier", "divide")

# Those that stand on a basis.
basis_methods <- c("ichol", "inducing", "fourier")

# Basis functions, or points in a block.
default_rank <- c(ichol = 200L, inducing = 200L, fourier = 200L, divide = 500L)

# Up to this many points "auto" is exact.
max_auto_points <- 2000L

engine_kind <- function(method) if (method %in% basis_methods) "basis" else method

# The method of "auto" and why.
choose_method <- function(kernel, n_dims, n_points) {
  if (uses_features(kernel, n_dims, n_points)) {
    return(list(method = "exact", why = "the kernel is linear in the data"))
  }
  if (n_points <= max_auto_points) {
    return(list(method = "exact", why = sprintf("at most %d points", max_auto_points)))
  }
  if (!has_white(kernel)) {
    return(list(method = "exact", why = "no other method does without white noise"))
  }
  list(method = "ichol", why = sprintf("more than %d points", max_auto_points))
}

# Which method has a use for which argument.
check_engine_arguments <- function(method, given) {
  users <- list(rank = setdiff(gp_methods, "exact"), objective = "inducing",
                learn_inputs = "inducing", cross = "divide")
  for (arg in names(given)[given]) {
    if (method %in% users[[arg]]) next
    gps_abort(sprintf(
      "`%s` means nothing to the method %s; it belongs to %s.", arg, dQuote(method, FALSE),
      paste(dQuote(users[[arg]], FALSE), collapse = ", ")
    ))
  }
}

check_rank <- function(rank, method, n_points) {
  if (method == "exact") return(NULL)
  rank <- if (is.null(rank)) default_rank[[method]] else check_count(rank, "rank")
  if (method %in% c("ichol", "inducing")) rank <- as.integer(min(rank, n_points))
  if (method != "divide" && rank > max_dense_points) {
    gps_abort(sprintf(
      "`rank` = %d needs matrices of %.1f GB each; the limit is %d (%.1f GB).", rank,
      8e-9 * rank^2, max_dense_points, 8e-9 * max_dense_points^2
    ))
  }
  rank
}

check_basis_kernel <- function(kernel, method) {
  types <- vapply(kernel$terms, `[[`, "", "type")
  if (!"white" %in% types) {
    gps_abort(sprintf(
      paste("`kernel` must have a white term with method = %s, which is noise plus what a few",
            "functions explain: add kernel_white()."),
      dQuote(method, FALSE)
    ))
  }
  if (all(types == "white")) {
    gps_abort(sprintf("`kernel` must have a term that is not white with method = %s.",
                      dQuote(method, FALSE)))
  }
}

# Calls a refit with what all of them take.
refit_by <- function(refit, ..., search) {
  refit(..., max_evals = search$max_evals, n_threads = search$n_threads, gain = search$gain,
        box = search$box)
}

# An evaluation in the form of a refit that went nowhere.
as_refit <- function(theta, found, engine = list()) {
  list(theta = theta, value = found$value, values = found$value, jitter = found$jitter,
       engine = engine)
}

# The two steps of a search, whatever the engine: look(theta) evaluates once, climb(from, search)
# goes on from what either step found. Both return the form of gp_refit() with the `engine`:
# list(basis = ), list(divide = ) or nothing; and climb() may say whether it `converged`.
engine_steps <- function(plan, kernel, y, targets, n_threads) {
  steps <- switch(engine_kind(plan$method), exact = exact_steps, divide = divide_steps,
                  basis = if (plan$method == "ichol") ichol_steps else basis_steps)
  steps(plan, kernel, y, targets, n_threads)
}

exact_steps <- function(plan, kernel, y, targets, n_threads) {
  list(
    look = function(theta) as_refit(theta, gp_evaluate(kernel, theta, y, targets, 0, n_threads)),
    climb = function(from, search) {
      c(refit_by(gp_refit, kernel, from$theta, y, targets, search = search), list(engine = list()))
    }
  )
}

divide_steps <- function(plan, kernel, y, targets, n_threads) {
  divide <- new_divide(ncol(y), plan$rank, plan$cross)
  engine <- list(divide = divide)
  list(
    look = function(theta) {
      as_refit(theta, divide_evaluate(divide, kernel, theta, y, targets, n_threads = n_threads),
               engine)
    },
    climb = function(from, search) {
      found <- refit_by(divide_refit, divide, kernel, from$theta, y, targets, search = search)
      c(found, list(engine = engine))
    }
  )
}

# Share of the trace that pivots may leave. Less would be noise to a selection, but a regression has
# less noise; inducing points are to be as many as asked for, but for those that repeat others.
pivot_tol <- c(ichol = 1e-6, inducing = 1e-8, fourier = 0)

# Share of the trace of the kernel without noise that is not the same for all points: a high level
# is no reason to leave more of a curve to the noise.
varying_share <- function(kernel, theta, y) {
  mean <- rowMeans(y)
  parts <- vapply(kernel_with_theta(kernel, theta, nrow(y))$terms, function(term) {
    switch(term$type,
      white = c(0, 0), bias = c(0, term$variance),
      linear = c(sum(term$variance * rowMeans((y - mean)^2)), sum(term$variance * rowMeans(y^2))),
      c(term$variance, term$variance)
    )
  }, c(0, 0))
  share <- sum(parts[1, ]) / sum(parts[2, ])
  if (is.finite(share) && share > 0) max(share, 1e-10) else 1
}

basis_steps <- function(plan, kernel, y, targets, n_threads) {
  list(
    look = function(theta) {
      tol <- pivot_tol[[plan$method]] * varying_share(kernel, theta, y)
      basis <- new_basis(plan$method, kernel, theta, y, plan$rank, plan$objective, tol,
                         n_threads = n_threads)
      found <- basis_evaluate(basis, kernel, theta, y, .Call(C_gp_root, targets), nrow(targets), 0,
                              n_threads)
      as_refit(theta, found, list(basis = basis))
    },
    climb = function(from, search) {
      found <- refit_by(basis_refit, from$engine$basis, kernel, from$theta, y, targets,
                        learn_inputs = plan$learn_inputs, search = search)
      c(found[names(found) != "basis"], list(engine = list(basis = found$basis)))
    }
  )
}

# The objective jumps where pivots change: they are kept during a climb and chosen anew after it.
# Only values at a theta's own pivots are compared; the climb goes on from there as long as these
# improve.
ichol_steps <- function(plan, kernel, y, targets, n_threads) {
  steps <- basis_steps(plan, kernel, y, targets, n_threads)
  climb_basis <- steps$climb
  steps$climb <- function(from, search) {
    climb_rounds(from, search, steps$look, climb_basis, search$gain * length(targets))
  }
  steps
}

climb_rounds <- function(from, search, look, climb, least_gain, max_rounds = 5L) {
  best <- from
  values <- numeric()
  for (round in seq_len(max_rounds)) {
    # One evaluation is left for the new pivots.
    left <- search$max_evals - length(values)
    if (left < 2) break
    found <- climb(best, replace(search, "max_evals", left - 1L))
    here <- look(found$theta)
    values <- c(values, found$values, here$value)
    gain <- here$value - best$value
    if (gain > 0) best <- here
    if (gain <= least_gain) break
  }
  best$values <- values
  c(best, list(converged = left >= 2))
}
