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

# Log parameters that maximise the marginal likelihood, or those given, in the form of gp_refit()
# with the `engine` found: list(basis = ) or list(divide = ).
learn_engine <- function(plan, kernel, theta, y, targets, search) {
  learn <- switch(engine_kind(plan$method), exact = learn_exact, divide = learn_divide,
                  basis = if (plan$method == "ichol") learn_ichol else learn_basis)
  learn(plan, kernel, theta, y, targets, search)
}

# Calls a refit with what all of them take.
refit_by <- function(refit, ..., search) {
  refit(..., max_evals = search$max_evals, n_threads = search$n_threads, gain = search$gain,
        noise_floor = search$noise_floor)
}

# An evaluation in the form of a refit that went nowhere.
as_refit <- function(theta, found) {
  list(theta = theta, value = found$value, values = found$value, jitter = found$jitter)
}

learn_exact <- function(plan, kernel, theta, y, targets, search) {
  if (search$optimise) return(refit_by(gp_refit, kernel, theta, y, targets, search = search))
  as_refit(theta, gp_evaluate(kernel, theta, y, targets, 0, search$n_threads))
}

learn_divide <- function(plan, kernel, theta, y, targets, search) {
  divide <- new_divide(ncol(y), plan$rank, plan$cross)
  found <- if (search$optimise) {
    refit_by(divide_refit, divide, kernel, theta, y, targets, search = search)
  } else {
    as_refit(theta, divide_evaluate(divide, kernel, theta, y, targets,
                                    n_threads = search$n_threads))
  }
  c(found, list(engine = list(divide = divide)))
}

# Share of the trace that pivots may leave. Less would be noise to a selection, but a regression has
# less noise; inducing points are to be as many as asked for, but for those that repeat others.
pivot_tol <- c(ichol = 1e-6, inducing = 1e-8, fourier = 0)

plan_basis <- function(plan, kernel, theta, y, search) {
  new_basis(plan$method, kernel, theta, y, plan$rank, plan$objective, pivot_tol[[plan$method]],
            n_threads = search$n_threads)
}

evaluate_basis <- function(basis, kernel, theta, y, targets, search) {
  basis_evaluate(basis, kernel, theta, y, .Call(C_gp_root, targets), nrow(targets), 0,
                 search$n_threads)
}

learn_basis <- function(plan, kernel, theta, y, targets, search) {
  basis <- plan_basis(plan, kernel, theta, y, search)
  if (!search$optimise) {
    found <- as_refit(theta, evaluate_basis(basis, kernel, theta, y, targets, search))
    return(c(found, list(engine = list(basis = basis))))
  }
  found <- refit_by(basis_refit, basis, kernel, theta, y, targets,
                    learn_inputs = plan$learn_inputs, search = search)
  c(found, list(engine = list(basis = found$basis)))
}

# The objective jumps where pivots change: they are kept during a search and chosen anew after it.
# Only values at a theta's own pivots are compared; the search goes on from there as long as these
# improve.
learn_ichol <- function(plan, kernel, theta, y, targets, search, max_rounds = 5L) {
  if (!search$optimise) return(learn_basis(plan, kernel, theta, y, targets, search))
  limits <- gp_bounds(kernel, y, targets, search$noise_floor)
  theta <- clamp_theta(theta, limits)
  best <- NULL
  values <- numeric()
  for (round in seq_len(max_rounds)) {
    basis <- plan_basis(plan, kernel, theta, y, search)
    here <- evaluate_basis(basis, kernel, theta, y, targets, search)
    values <- c(values, here$value)
    gain <- if (is.null(best)) Inf else here$value - best$value
    if (gain > 0) {
      best <- list(theta = theta, value = here$value, jitter = here$jitter,
                   engine = list(basis = basis))
    }
    left <- search$max_evals - length(values)
    if (gain <= search$gain * length(targets) || left < 2 || round == max_rounds) break
    # One evaluation is left for the new pivots.
    found <- refit_by(basis_refit, basis, kernel, theta, y, targets,
                      search = replace(search, "max_evals", left - 1L))
    values <- c(values, found$values)
    theta <- found$theta
  }
  c(best, list(values = values, converged = left >= 2))
}
