# A Gaussian process from its parts: parameters by a search, and what its engine keeps.

# The engine sees the points in the plan's order.
new_gp_fit <- function(x, targets, kernel, plan, search) {
  rows <- plan$order$rows
  in_order <- function(x) t(if (is.null(rows)) x else x[rows, , drop = FALSE])
  y <- in_order(x)
  goal <- in_order(targets)
  found <- find_theta(kernel, y, goal, plan$engine, search)
  engine <- replace(found$engine, "theta", list(found$theta))
  warn_ill_conditioned(kernel, found$theta, y, sum(found$jitter, engine$basis$extra))
  fitted <- kernel_with_theta(kernel, found$theta, ncol(x))
  fit <- list(
    kernel = fitted, theta = found$theta, x = x, targets = targets,
    lml = engine_likelihood(engine, found, goal), jitter = found$jitter, method = engine$method,
    why = plan$why, form = plan$form, trace = found$trace,
    converged = if (search$optimise) found$converged else NA, fixed = found$fixed,
    limits = found$limits
  )
  fit <- structure(c(fit, keep_in_order(engine_keep(engine, goal), rows)), class = "gp_fit")
  if (length(fit$limits) > 0) {
    warn_limits(fit$limits, fit_gradient(fit, search$n_threads), found$given, fitted, ncol(x))
  }
  fit
}

# Log parameters that maximise the marginal likelihood, or those of the kernel: what search_theta()
# returns, with the names of those that were `fixed` and the `limits` that were met. The search sees
# the targets in a unit of their own (gp-units.R).
find_theta <- function(kernel, y, targets, engine, search) {
  theta <- gp_theta(kernel, y)
  if (!search$optimise) {
    steps <- engine_steps(engine, kernel, y, targets, search$n_threads, search$watch)
    found <- steps$look(theta)
    found$trace <- data.frame(evaluation = 1L, lml = found$value, start = 1L)
    return(c(found, list(fixed = names(theta), limits = character())))
  }
  refuse_narrow(y)
  refuse_products(kernel, y)
  held <- held_parameters(kernel, nrow(y), search$fixed)
  unit <- target_unit(kernel, nrow(y), targets, held)
  targets <- targets / unit$size
  steps <- engine_steps(engine, kernel, y, targets, search$n_threads,
                        watch_in_unit(search$watch, unit))
  start <- theta_in_unit(theta, unit)
  scales <- gp_scales(kernel, y, targets, wide = TRUE)
  box <- gp_bounds(kernel, y, targets, wide_reach, scales = scales)
  given <- user_limits(kernel, nrow(y), theta, held, search$lower, search$upper)
  # The usual slope is in units of the inputs, too, which may be far from those of the data.
  kept <- replace(start, unit$is_slope, NA)
  search$box <- user_box(box, kept, lapply(given, `-`, unit$theta))
  found <- search_theta(steps, search_starts(kernel, start, scales, search$box), search,
                        function(theta) period_parts(kernel, theta, scales, search$box))
  met <- limits_met(found$theta, search$box)
  found <- found_in_unit(found, given, unit)
  c(found, list(fixed = names(theta)[search$box$fixed], limits = met, given = given))
}

most_condition <- 1e12

# The error of what follows from the inverse is about the machine's precision times the condition
# number, which is at most the trace of K over its noise.
warn_ill_conditioned <- function(kernel, theta, y, jitter) {
  diagonal <- term_levels(kernel_with_theta(kernel, theta, nrow(y)), y)
  noise <- white_variance(kernel, theta, nrow(y)) + jitter
  if (noise > 0 && ncol(y) * (sum(diagonal) + jitter) > most_condition * noise) {
    cure <- if (has_white(kernel)) "" else " Noisy or repeated data need a kernel_white() term."
    gps_warn(sprintf(
      paste0(
        "The kernel matrix is nearly singular (condition number up to %.1g): ",
        "predictions may be inaccurate.%s"
      ),
      ncol(y) * sum(diagonal) / noise, cure
    ))
  }
}
