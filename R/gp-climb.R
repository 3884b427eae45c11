# The search for log parameters where an engine is R code: L-BFGS-B by the rules of the exact
# engine's own search (src/r_gp_refit.c).

# Maximises evaluate(par) = list(value, gradient, ...) from `start` within `limits`: list(lower,
# upper, max_evals, gain). Evaluations are the unit of cost: value and gradient come from one, which
# is kept for the optimiser's second question; their number is capped, and the best one wins. A
# failure is an error at the start, and elsewhere a value far below it, from which the line search
# backs off. A step that improves the value by less than `gain` ends the search. Returns list(par,
# value, values, found): all values in order, and what evaluate() said at the best.
climb_objective <- function(evaluate, start, limits) {
  evaluate <- hold_fixed(evaluate, limits)
  here <- evaluate(start)
  if (!is.finite(here$value) || !all(is.finite(here$gradient))) {
    gps_abort("The marginal likelihood at the start is not finite.", "numeric")
  }
  best <- list(par = start, found = here)
  at <- start
  values <- here$value
  # With the steepest slope 1 the first trial step moves no parameter by more than 1.
  scale <- max(abs(here$gradient))
  if (scale == 0) scale <- 1
  penalty <- here$value - 10 * (abs(here$value) + scale)
  flat <- numeric(length(start))
  look <- function(par) {
    if (identical(as.double(par), as.double(at))) return(invisible())
    at <<- par
    if (length(values) >= limits$max_evals) {
      here <<- list(value = best$found$value, gradient = flat)
      return(invisible())
    }
    here <<- evaluate_or_penalty(evaluate, stats::setNames(par, names(start)), penalty, flat)
    # The line search backs off from a point worse than the start whatever the slope there.
    if (here$value < values[1]) here$gradient <<- flat
    values[length(values) + 1] <<- here$value
    if (here$value > best$found$value) best <<- list(par = par, found = here)
  }
  stats::optim(
    start, method = "L-BFGS-B", lower = limits$lower, upper = limits$upper,
    fn = function(par) {
      look(par)
      -here$value / scale
    },
    gr = function(par) {
      look(par)
      -here$gradient / scale
    },
    control = list(
      lmm = 5, pgtol = 0, maxit = 10 * limits$max_evals,
      factr = limits$gain / max(abs(here$value), scale) / .Machine$double.eps
    )
  )
  list(par = stats::setNames(best$par, names(start)), value = best$found$value, values = values,
       found = best$found)
}

# Parameters whose limits are equal are held: they have no slope.
hold_fixed <- function(evaluate, limits) {
  force(evaluate)
  held <- limits$lower == limits$upper
  if (!any(held)) return(evaluate)
  function(par) {
    found <- evaluate(par)
    found$gradient[held] <- 0
    found
  }
}

# What cannot be computed is a bad value; any other error is one.
evaluate_or_penalty <- function(evaluate, par, penalty, flat) {
  found <- tryCatch(evaluate(par), gps_error_numeric = function(e) NULL)
  is_sound <- !is.null(found) && is.finite(found$value) && all(is.finite(found$gradient))
  if (is_sound) found else list(value = penalty, gradient = flat)
}

# As gp_refit(), for any evaluate(theta) = list(value, gradient, jitter) and the `limits` of
# search_limits(). With `inputs` the search moves these points (n_dims x n) as well, in units of the
# spread of the data `y` and within their box: evaluate(theta, inputs), with their gradient as
# `inputs` of its result.
climb_theta <- function(evaluate, theta, limits, inputs = NULL, y = NULL) {
  start <- limits$start
  n_hyper <- length(start)
  unit <- NULL
  if (!is.null(inputs)) {
    box <- inputs_box(y)
    unit <- box$unit
    limits$lower <- c(limits$lower, rep(box$lower, ncol(inputs)))
    limits$upper <- c(limits$upper, rep(box$upper, ncol(inputs)))
    # Inputs may be points of other rows than these, outside their box.
    start <- clamp_theta(c(start, inputs / unit), limits)
  }
  result <- climb_objective(function(par) {
    if (is.null(inputs)) return(evaluate(par))
    at <- split_inputs(par, n_hyper, unit)
    found <- evaluate(at$theta, at$inputs)
    found$gradient <- c(found$gradient, found$inputs * unit)
    found
  }, start, limits)
  best <- split_inputs(result$par, n_hyper, unit)
  list(theta = best$theta, inputs = best$inputs, value = result$value,
       start_value = result$values[1], n_evals = length(result$values), values = result$values,
       jitter = result$found$jitter, moved = max(abs(best$theta - theta)))
}

# The data's box and spread, a number for each dimension; the box in units of the spread.
inputs_box <- function(y) {
  unit <- sqrt(rowMeans((y - rowMeans(y))^2))
  unit[!(unit > 0)] <- 1
  list(unit = unit, lower = apply(y, 1, min) / unit, upper = apply(y, 1, max) / unit)
}

# Log parameters and, unless `unit` is NULL, the points that follow them.
split_inputs <- function(par, n_hyper, unit) {
  theta <- par[seq_len(n_hyper)]
  if (is.null(unit)) return(list(theta = theta, inputs = NULL))
  list(theta = theta, inputs = matrix(unname(par[-seq_len(n_hyper)]), length(unit)) * unit)
}

# As gp_refit(), for a basis, which the search keeps fixed but for its inputs if these are learned.
# What it returns besides is the `basis`.
basis_refit <- function(basis, kernel, theta, y, targets, max_evals = 20L, n_threads = 1L,
                        gain = 1e-4, box = NULL, n_targets = nrow(targets), learn_inputs = FALSE) {
  root <- .Call(C_gp_root, targets)
  evaluate <- function(theta, inputs = NULL) {
    if (learn_inputs) basis$z <- inputs
    basis_evaluate(basis, kernel, theta, y, root, n_targets, 0, n_threads, inputs = learn_inputs)
  }
  limits <- search_limits(kernel, theta, y, targets, max_evals, gain, box, n_targets)
  result <- climb_theta(evaluate, theta, limits, if (learn_inputs) basis$z, y)
  if (learn_inputs) {
    basis$z <- result$inputs
    basis["pivots"] <- list(NULL)
  }
  result$inputs <- NULL
  c(result, list(basis = basis))
}
