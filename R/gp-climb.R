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
      lmm = 5, pgtol = 0, maxit = min(10 * limits$max_evals, .Machine$integer.max),
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

# Maximises an engine's objective from `theta` by L-BFGS-B within `box`, by default that of the
# learned selection with `theta` in it: at most `max_evals` evaluations of value and gradient, the
# best one kept. Stops when a step gains less than `gain` per target value. `n_targets` counts the
# targets that are 0 everywhere and not given. Inputs that the engine learns are moved as well.
# Returns list(theta, value, values, jitter, engine, start_value, n_evals, moved).
climb_engine <- function(engine, theta, targets, max_evals = 20L, gain = 1e-4, box = NULL,
                         n_targets = nrow(targets), watch = NULL) {
  if (is.null(box)) {
    box <- gp_bounds(engine$kernel, engine$y, targets, narrow_reach, n_targets)
    box <- contain_theta(box, theta)
  }
  goal <- new_goal(targets, n_targets)
  start <- engine$theta <- clamp_theta(theta, box)
  engine <- engine_share(engine, goal)
  own <- seq_along(theta)
  inputs <- learned_inputs(engine)
  limits <- list(lower = c(box$lower, inputs$lower), upper = c(box$upper, inputs$upper),
                 max_evals = as.integer(max_evals), watch = watch,
                 gain = gain * as.double(n_targets) * target_points(targets))
  # Inputs may be points of other rows than these, outside their box.
  start <- clamp_theta(c(start, inputs$start), limits)
  result <- climb_objective(function(par, began) {
    jitter <- if (is.null(began)) 0 else began$jitter
    engine <- place_inputs(engine, par[-own], inputs$unit)
    found <- engine_evaluate(engine, par[own], goal, jitter, began$value)
    found$gradient <- c(found$gradient, found$inputs * inputs$unit)
    found
  }, start, limits)
  best <- result$par[own]
  engine <- place_inputs(engine, result$par[-own], inputs$unit)
  engine[c("theta", "shared")] <- list(best, NULL)
  list(theta = best, value = result$value, values = result$values, jitter = result$found$jitter,
       engine = engine, start_value = result$values[1], n_evals = length(result$values),
       moved = max(abs(best - theta)))
}

# The inputs that an engine learns, in units of the spread of the data, and the data's box in these:
# list(unit = a number for each dimension, start, lower, upper), NULL where it learns none.
learned_inputs <- function(engine) {
  if (!engine$learn_inputs) return(NULL)
  y <- engine$y
  unit <- sqrt(rowMeans((y - rowMeans(y))^2))
  unit[!(unit > 0)] <- 1
  box <- dimension_limits(y) / unit
  n_inputs <- ncol(engine$basis$z)
  list(unit = unit, start = engine$basis$z / unit, lower = rep(box[, 1], n_inputs),
       upper = rep(box[, 2], n_inputs))
}

# An engine with these inputs, in units of `unit`; NULL: it learns none. They are pivots no longer.
place_inputs <- function(engine, inputs, unit) {
  if (is.null(unit)) return(engine)
  engine$basis[c("z", "pivots")] <- list(matrix(unname(inputs), length(unit)) * unit, NULL)
  engine
}
