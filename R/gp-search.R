# The search of gp_fit(): several starts, of which the best goes on. The marginal likelihood has
# several maxima; typical ones are a curve that is all noise and a curve through every point.

# Lengthscales of starts, in units of those that the data suggest, and signals, in units of the
# targets' spread. Most functions vary faster than over the median distance; those that are nearly
# polynomials are small parts of a large, slow signal. Of points in far groups the neighbours tell
# the scale: below 0 is in units of their distance.
start_ladder <- data.frame(lengthscale = c(1, 0.3, 0.1, 0.03, 0.01, 1, -5),
                           signal = c(1, 1, 1, 1, 1, 100, 1))

# Share of the targets' spread that starts call noise.
start_noise <- 0.1

# Log parameters to start from: `theta`, and points of a ladder of lengthscales with variances by
# the scales of data and targets, within the box. Several terms with a lengthscale are given
# different ones, in either order: equal terms would stay equal.
search_starts <- function(kernel, theta, scales, box) {
  count <- sum(has_length(kernel))
  orders <- unique(list(seq_len(count), rev(seq_len(count))))
  ladder <- list()
  for (i in if (count > 0) seq_len(nrow(start_ladder)) else 1) {
    for (order in orders) {
      ladder[[length(ladder) + 1]] <- scaled_theta(
        kernel, theta, scales, start_ladder$lengthscale[i] * 10^(1 - order), start_ladder$signal[i]
      )
    }
  }
  starts <- c(list(theta), ladder, group_starts(kernel, theta, scales),
              period_starts(kernel, theta, scales))
  unique(lapply(starts, clamp_theta, box))
}

# Points to start from where the kernel has a period.
period_starts <- function(kernel, theta, scales) {
  if (is.null(scales$periods)) return(NULL)
  at <- scaled_theta(kernel, theta, scales, rep(1, sum(has_length(kernel))))
  theta_with_periods(kernel, at, scales$periods)
}

# Log parameters with the periods of a factor a half and a third: what has a period has its
# multiples too, and a search may end at one. The lengthscale is in units of the period, and grows
# instead.
period_parts <- function(kernel, theta, scales, box) {
  n_dims <- length(scales$spread2)
  slots <- Filter(function(slot) slot$type == "periodic", kernel_slots(kernel, n_dims))
  is_idle <- idle_lengths(kernel, scales)
  unlist(lapply(Filter(function(slot) slot$part == "period", slots), function(period) {
    moves <- !is_idle[period$at]
    if (!any(moves)) return(NULL)
    is_own <- function(slot) {
      slot$part == "lengthscale" && slot$term == period$term && slot$factor == period$factor
    }
    length <- Filter(is_own, slots)[[1]]
    lapply(log(c(2, 3)), function(step) {
      theta[period$at[moves]] <- theta[period$at[moves]] - step
      theta[length$at[moves]] <- theta[length$at[moves]] + step
      clamp_theta(theta, box)
    })
  }), recursive = FALSE)
}

# Points to start from where a column lies in groups far apart, and has a lengthscale of its own:
# the neighbours of points in all columns do not tell of it.
group_starts <- function(kernel, theta, scales) {
  if (is.null(scales$groups) || all(scales$groups == 1)) return(NULL)
  scales$lengthscale$each <- scales$lengthscale$each * scales$groups
  count <- sum(has_length(kernel))
  lapply(c(1, 0.3), function(factor) {
    scaled_theta(kernel, theta, scales, factor * 10^(1 - seq_len(count)))
  })
}

# Log parameters by the scales of data and targets. `factors`: of the lengths, one for each factor
# of the kernel that has one, below 0 of the distance of neighbours; `amplitude`: of these terms'
# variances. A level is the bias' matter, if there is one; a line's lies at the origin. Lengthscales
# of columns that are constant stay those of `theta`, and where all are, as of a single point, those
# that columns share; what has no unit stays the kernel's.
scaled_theta <- function(kernel, theta, scales, factors, amplitude = 1) {
  variances <- start_variances(kernel, scales, amplitude)
  n_dims <- length(scales$spread2)
  at <- 0
  for (slot in kernel_slots(kernel, n_dims)) {
    if (slot$part == "variance") {
      kernel <- set_part(kernel, slot, variances(slot))
    } else if (slot$part %in% kernel_types[[slot$type]]$length) {
      at <- at + 1
      kind <- if (slot$each) "each" else "one"
      factor <- factors[at]
      if (factor < 0) factor <- -factor * scales$near[[kind]][["typical"]]
      kernel <- set_part(kernel, slot, factor * scales$lengthscale[[kind]])
    }
  }
  found <- kernel_theta(kernel, n_dims)
  is_idle <- idle_lengths(kernel, scales)
  found[is_idle] <- theta[is_idle]
  found
}

# Of log parameters, which are lengths of columns that are constant.
idle_lengths <- function(kernel, scales) {
  n_dims <- length(scales$spread2)
  if (any(scales$spread2 != 0)) {
    return(theta_columns(kernel, n_dims) %in% which(scales$spread2 == 0))
  }
  by_parameter(kernel_slots(kernel, n_dims), function(slot) {
    slot$part %in% kernel_types[[slot$type]]$length
  })
}

# The variance to start from, as a function of its slot.
start_variances <- function(kernel, scales, amplitude) {
  types <- term_types(kernel)
  n_signals <- max(1, sum(!types %in% c("bias", "white")))
  spread <- scales$spread
  signal <- if ("bias" %in% types) spread else scales$level
  signal <- (1 - start_noise) * signal / n_signals
  spread2 <- ifelse(scales$spread2 > 0, scales$spread2, ifelse(scales$square > 0, scales$square, 1))
  slopes <- signal / (length(spread2) * spread2)
  origin <- if ("linear" %in% types) spread * sum(scales$mean^2 / spread2) else 0
  function(slot) {
    if (slot$factor > 1) return(slopes / signal)
    n_linear <- length(linear_held(kernel, slot))
    if (slot$each) return(slopes / sum(spread2)^(n_linear - 1))
    if (n_linear > 0) return(signal / sum(spread2)^n_linear)
    switch(slot$type,
      bias = max(scales$level - spread, spread) + origin,
      white = start_noise * spread / sum(types == "white"),
      amplitude * signal
    )
  }
}

# Fewest evaluations of a start's climb.
least_climb <- 8L

# Looks at all starts, climbs a little from the first one and the best others, `n_starts` in all,
# then from the best of those that `beside`, a function, names beside the best log parameters so
# far; and goes on where it is best. With too few evaluations for that, or `n_starts` = 1, from the
# first alone. `search`: list(max_evals, n_starts, gain, n_threads, box). Returns what the steps
# return, with the `trace` of all evaluations and whether the last climb `converged`.
search_theta <- function(steps, starts, search, beside) {
  is_single <- search$n_starts == 1 || length(starts) == 1 ||
    length(starts) + search$n_starts * least_climb > search$max_evals
  if (is_single) starts <- starts[1]
  trace <- looks <- Map(function(theta, number) look_at(steps, theta, number), starts,
                        seq_along(starts))
  is_sound <- vapply(looks, function(found) is.null(found$failure), NA)
  if (!any(is_sound)) stop(looks[[1]]$failure)
  cap <- if (is_single) Inf else max(least_climb, search$max_evals %/% 16L)
  left <- function() search$max_evals - sum(lengths(lapply(trace, `[[`, "values")))
  climb <- function(from, most) climb_on(steps, from, search, min(most, left()))
  for (from in choose_looks(looks[is_sound], search$n_starts)) {
    trace <- c(trace, list(climb(from, cap)))
  }
  best <- best_value(trace)
  others <- if (!is_single) beside(best$theta)
  if (length(others) > 0 && left() > length(others) + least_climb) {
    looks <- Map(look_at, list(steps), others, length(starts) + seq_along(others))
    run <- climb(best_value(looks), cap)
    trace <- c(trace, looks, list(run))
    # Where nothing depends on the period, it stays.
    if (run$value > best$value) best <- run
  }
  if (!best$converged && left() > 1 && !is_single) {
    trace <- c(trace, list(climb(best, Inf)))
    best <- best_value(trace)
  }
  best$trace <- search_trace(trace)
  best
}

# What a look at a start finds. One that cannot be computed has no value, but a `failure`.
look_at <- function(steps, theta, number) {
  found <- tryCatch(steps$look(theta), gps_error_numeric = function(condition) {
    list(value = -Inf, values = NA_real_, failure = condition)
  })
  c(found, list(start = number, converged = FALSE))
}

# The first start, and the best others.
choose_looks <- function(looks, n_starts) {
  value <- vapply(looks, `[[`, 0, "value")
  is_first <- vapply(looks, function(found) found$start == 1L, NA)
  looks[utils::head(order(!is_first, -value), n_starts)]
}

# One climb of at most `cap` evaluations. What failed has not moved, and where a look failed is no
# way on.
climb_on <- function(steps, from, search, cap) {
  if (cap < 1 || !is.null(from$failure)) return(replace(from, "values", list(numeric())))
  search$max_evals <- as.integer(cap)
  found <- tryCatch(steps$climb(from, search), gps_error_numeric = function(condition) NULL)
  if (is.null(found)) return(replace(from, "values", list(from$value)))
  if (is.null(found$converged)) found$converged <- length(found$values) < cap
  found$start <- from$start
  found
}

# The last of the best: a climb that gained nothing more has converged where another stopped.
best_value <- function(trace) {
  trace <- rev(trace)
  trace[[which.max(vapply(trace, `[[`, 0, "value"))]]
}

# All evaluations in order.
search_trace <- function(trace) {
  values <- lapply(trace, `[[`, "values")
  start <- rep(vapply(trace, `[[`, 1L, "start"), lengths(values))
  data.frame(evaluation = seq_along(start), lml = unlist(values), start = start)
}

# The two steps of a search, whatever the engine: look(theta) plans an engine there and evaluates it
# once, climb(from, search) goes on from what either step found. `watch` is NULL or a function of
# the value of each evaluation.
engine_steps <- function(engine, kernel, y, targets, n_threads, watch = NULL) {
  goal <- new_goal(targets)
  look <- function(theta) {
    planned <- engine_plan(engine, kernel, theta, y, n_threads)
    found <- engine_evaluate(planned, theta, goal)
    if (!is.null(watch)) watch(found$value)
    list(theta = theta, value = found$value, values = found$value, jitter = found$jitter,
         engine = planned)
  }
  climb <- function(from, search) {
    climb_engine(from$engine, from$theta, targets, search$max_evals, search$gain, search$box,
                 watch = watch)
  }
  if (!isTRUE(engines[[engine$method]]$replans)) return(list(look = look, climb = climb))
  list(look = look, climb = function(from, search) {
    climb_rounds(from, search, look, climb, search$gain * length(targets))
  })
}

most_climbs <- 5L

# The objective of "ichol" jumps where pivots change: they are kept during a climb and chosen anew
# after it. Only values at a theta's own pivots are compared; the climb goes on from there as long
# as these improve.
climb_rounds <- function(from, search, look, climb, least_gain) {
  best <- from
  values <- numeric()
  for (round in seq_len(most_climbs)) {
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
  # Whether the last climb ended by itself, also where it gained nothing, and not at its cap.
  best$converged <- left >= 2 && length(found$values) < left - 1L
  best
}

# A function of the value of each evaluation, which tells how far the search is; NULL where nobody
# looks.
watch_search <- function(teller) {
  if (is.null(teller)) return(NULL)
  n <- 0
  best <- -Inf
  function(value) {
    n <<- n + 1
    best <<- max(best, value, na.rm = TRUE)
    tell_count(teller, n, sprintf("objective %.2f, evaluation", best))
  }
}
