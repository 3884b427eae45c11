# The search for log parameters: L-BFGS-B on evaluations of an engine.

# Maximises evaluate(par, began) = list(value, gradient, ...) from `start` within `limits`:
# list(lower, upper, max_evals, gain, watch), of which `watch` is NULL or a function of each value.
# `began` is what it said at the start, NULL there. Evaluations are the unit of cost: value and
# gradient come from one, which is kept for the optimiser's second question; their number is capped,
# and the best one wins. A failure is an error at the start, and elsewhere a value far below it,
# from which the line search backs off. A step that improves the value by less than `gain` ends the
# search. Returns list(par, value, values, found): all values in order, and what evaluate() said at
# the best.
climb_objective <- function(evaluate, start, limits) {
  evaluate <- hold_fixed(evaluate, limits)
  watch <- if (is.null(limits$watch)) function(value) NULL else limits$watch
  here <- began <- evaluate(start, NULL)
  watch(here$value)
  if (!is.finite(here$value) || !all(is.finite(here$gradient))) {
    gps_abort(paste("The marginal likelihood at the start is not finite: give the kernel other",
                    "parameters to begin with, and look for huge or equal values in `x`."),
              "numeric")
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
    here <<- evaluate_or_penalty(function() evaluate(stats::setNames(par, names(start)), began),
                                penalty, flat)
    watch(here$value)
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
  held <- which(limits$lower == limits$upper)
  if (length(held) == 0) return(evaluate)
  function(par, began) {
    found <- evaluate(par, began)
    found$gradient[held] <- 0
    found
  }
}

# What cannot be computed is a bad value; any other error is one.
evaluate_or_penalty <- function(evaluate, penalty, flat) {
  found <- tryCatch(evaluate(), gps_error_numeric = function(e) NULL)
  is_sound <- !is.null(found) && is.finite(found$value) && all(is.finite(found$gradient))
  if (is_sound) found else list(value = penalty, gradient = flat)
}

# Maximises an engine's objective from `theta` by L-BFGS-B within search_limits(): at most
# `max_evals` evaluations of value and gradient, the best one kept. Stops when a step gains less
# than `gain` per target value. `n_targets` counts the targets that are 0 everywhere and not given.
# Inputs that the engine learns are moved as well, in units of the spread of the data and within
# their box. Returns list(theta, value, values, jitter, engine, start_value, n_evals, moved).
climb_engine <- function(engine, theta, targets, max_evals = 20L, gain = 1e-4, box = NULL,
                         n_targets = nrow(targets), watch = NULL) {
  goal <- new_goal(targets, n_targets)
  limits <- search_limits(engine$kernel, theta, engine$y, targets, max_evals, gain, box, n_targets)
  limits["watch"] <- list(watch)
  engine$theta <- limits$start
  engine <- engine_share(engine, goal)
  start <- limits$start
  n_hyper <- length(start)
  unit <- NULL
  if (engine$learn_inputs) {
    inputs_box <- find_inputs_box(engine$y)
    unit <- inputs_box$unit
    limits$lower <- c(limits$lower, rep(inputs_box$lower, ncol(engine$basis$z)))
    limits$upper <- c(limits$upper, rep(inputs_box$upper, ncol(engine$basis$z)))
    # Inputs may be points of other rows than these, outside their box.
    start <- clamp_theta(c(start, engine$basis$z / unit), limits)
  }
  result <- climb_objective(function(par, began) {
    at <- split_inputs(par, n_hyper, unit)
    if (!is.null(unit)) engine$basis$z <- at$inputs
    jitter <- if (is.null(began)) 0 else began$jitter
    found <- engine_evaluate(engine, at$theta, goal, jitter, began$value, !is.null(unit))
    if (!is.null(unit)) found$gradient <- c(found$gradient, found$inputs * unit)
    found
  }, start, limits)
  best <- split_inputs(result$par, n_hyper, unit)
  if (!is.null(unit)) engine$basis[c("z", "pivots")] <- list(best$inputs, NULL)
  engine[c("theta", "shared")] <- list(best$theta, NULL)
  list(theta = best$theta, value = result$value, values = result$values,
       jitter = result$found$jitter, engine = engine, start_value = result$values[1],
       n_evals = length(result$values), moved = max(abs(best$theta - theta)))
}

# What a search keeps to, list(lower, upper, start, max_evals, gain of all target values). `box`:
# its limits, by default those of the learned selection, which contain `theta`.
search_limits <- function(kernel, theta, y, targets, max_evals, gain, box, n_targets) {
  if (is.null(box)) {
    box <- contain_theta(gp_bounds(kernel, y, targets, narrow_reach, n_targets), theta)
  }
  n_values <- as.double(n_targets) * target_points(targets)
  list(lower = box$lower, upper = box$upper, start = clamp_theta(theta, box),
       max_evals = as.integer(max_evals), gain = gain * n_values)
}

# The data's box and spread, a number for each dimension; the box in units of the spread.
find_inputs_box <- function(y) {
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
