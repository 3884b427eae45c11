# The box in which log parameters are sought, in units of the data and the targets, and where in it
# a search ended.

# What a refit of the learned selection keeps to: cheap insurance against the marginal likelihood's
# far ends, no signal at all or no noise at all. Shares of the data's scales.
narrow_reach <- list(noise = 1e-4, lengthscale = c(0.02, 50), wide = FALSE)

# gp_fit() looks further: what the data can bear. Below a tenth of the distance of close neighbours
# a lengthscale is noise.
wide_reach <- list(noise = 1e-8, lengthscale = c(0.1, 1e4), wide = TRUE)

# The limits of log parameters, list(lower, upper). Variances are between 1e-6 and 1e3 of the mean
# square of the targets; noise is at least a share of their spread about their means. Each column
# has its own units where the kernel has a scale for it. `scales`: of gp_scales().
gp_bounds <- function(kernel, y, targets, reach = narrow_reach, n_targets = nrow(targets),
                      scales = gp_scales(kernel, y, targets, n_targets, reach$wide)) {
  slope <- slope_units(y, scales, reach$wide)
  ranges <- lapply(kernel_slots(kernel, nrow(y)), function(slot) {
    if (slot$part == "variance") return(variance_range(kernel, slot, scales, slope, reach))
    if (slot$part %in% kernel_types[[slot$type]]$length) return(length_range(slot, scales, reach))
    range <- free_ranges[[slot$part]]
    if (slot$type == "custom") range <- get_part(kernel, slot) * c(1e-4, 1e4)
    matrix(range, slot$n, 2, byrow = TRUE)
  })
  ranges <- log(do.call(rbind, ranges))
  list(lower = ranges[, 1], upper = ranges[, 2])
}

# Of a variance; one that holds those of linear factors is by as much in units of the columns.
variance_range <- function(kernel, slot, scales, slope, reach) {
  range <- switch(slot$type,
    white = cbind(reach$noise * scales$spread, 1e3 * scales$level),
    bias = cbind(1e-6 * scales$level, 1e3 * (scales$level + scales$spread * slope$origin)),
    linear = if (slot$each) slope$each else slope$one,
    cbind(1e-6 * scales$level, 1e3 * scales$level)
  )
  # Of a factor beside the one that has the level of the targets.
  if (slot$factor > 1) range <- range / scales$level
  n_linear <- length(linear_held(kernel, slot)) - (slot$type == "linear")
  if (n_linear == 0) return(range)
  unit <- slope$one / (scales$level * c(1e-6, 1e3))
  cbind(range[, 1] * unit[1]^n_linear, range[, 2] * unit[2]^n_linear)
}

# Of a lengthscale or a period.
length_range <- function(slot, scales, reach) {
  kind <- if (slot$each) "each" else "one"
  length <- scales$lengthscale[[kind]]
  least <- reach$lengthscale[1] * if (reach$wide) min(scales$near[[kind]][["close"]], 0.01) else 1
  if (slot$each && !is.null(scales$groups)) least <- least * scales$groups
  cbind(length * least, length * reach$lengthscale[2])
}

# Limits of the variances of slopes, for `each` column and for `one` that all share, and how far in
# terms of spreads the `origin` of the data is, where a line's level is the bias. A column counts by
# its spread where this allows more than its mean square: slopes are of differences. With `wide` one
# variance has to do for the column of the smallest spread.
slope_units <- function(y, scales, wide) {
  or_one <- function(x) ifelse(x > 0, x, 1)
  spread2 <- scales$spread2
  if (wide) spread2 <- pmin(spread2, column_scales(y)^2 * (spread2 > 0))
  least <- if (wide && any(spread2 > 0)) min(spread2[spread2 > 0]) else sum(spread2)
  range_of <- function(square, spread2) {
    square <- or_one(square)
    low <- 1e-6 * scales$level / square
    high <- 1e3 * scales$level / ifelse(spread2 > 0, pmin(spread2, square), square)
    cbind(low, high)
  }
  list(each = range_of(scales$square, spread2), one = range_of(sum(scales$square), least),
       origin = sum((scales$mean^2 / spread2)[spread2 > 0]))
}

# The box with `theta` in it, where it is not NA: what the user gave is not moved. Where it lies
# outside, or close to a limit, there is `room` beyond it.
contain_theta <- function(box, theta, room = 0) {
  box$lower <- pmin(box$lower, theta - room, na.rm = TRUE)
  box$upper <- pmax(box$upper, theta + room, na.rm = TRUE)
  box
}

clamp_theta <- function(theta, limits) {
  stats::setNames(pmin(pmax(theta, limits$lower), limits$upper), names(theta))
}

# How names of log parameters begin, by what users call these.
theta_words <- c(lengthscale = "^log_len", ls = "^log_len", variance = "^log_var",
                 noise = "^log_var_white", nugget = "^log_var_white", sigma2 = "^log_var_white",
                 period = "^log_period")

# Positions of what `name` means among the log parameters: one of coef(), or all columns of a term
# that has one for each ("log_len" for "log_len_1", "log_len_2", ...).
find_parameters <- function(name, kernel, n_dims, arg) {
  known <- theta_names(kernel, n_dims)
  at <- which(known == name)
  if (length(at) == 1) return(at)
  if (length(at) > 1) {
    gps_abort(sprintf("`%s` names %s, which two parameters of this kernel are called.", arg,
                      quoted(name)))
  }
  groups <- theta_groups(kernel, n_dims)
  at <- which(groups == name)
  if (length(at) > 0) return(at)
  own <- c(known, unique(groups))
  hint <- if (is_one_of(name, names(theta_words))) {
    grep(theta_words[[name]], own, value = TRUE)[1]
  } else {
    nearest_name(name, own)
  }
  if (isTRUE(is.na(hint))) hint <- NULL
  gps_abort(sprintf(
    "`%s` names %s, which the kernel does not have; its parameters are %s.%s", arg,
    quoted(name), shorten_names(quoted(known)),
    if (is.null(hint)) "" else sprintf(" Did you mean %s?", quoted(hint))
  ))
}

# The first few names, and how many more there are.
shorten_names <- function(names) {
  most <- 8L
  shown <- paste(utils::head(names, most), collapse = ", ")
  if (length(names) > most) sprintf("%s and %d more", shown, length(names) - most) else shown
}

# Of each parameter its name without the number of a column.
theta_groups <- function(kernel, n_dims) {
  by_parameter(kernel_slots(kernel, n_dims), function(slot) paste0(slot$name, slot$suffix))
}

# Of each parameter the column whose lengthscale or period it is, or 0.
theta_columns <- function(kernel, n_dims) {
  by_parameter(kernel_slots(kernel, n_dims), function(slot) {
    if (slot$each && slot$part != "variance") seq_len(n_dims) else 0L
  })
}

# Positions of what is `fixed` among the log parameters.
held_parameters <- function(kernel, n_dims, fixed) {
  if (!is.null(fixed) && (!is.character(fixed) || anyNA(fixed))) {
    abort_value(fixed, "fixed", "names of the kernel's parameters, as in coef()")
  }
  unlist(lapply(fixed, find_parameters, kernel, n_dims, "fixed"))
}

# The limits that the user gives, list(lower, upper), infinite where there are none. What is `held`
# has the kernel's own value, of `theta`, as both.
user_limits <- function(kernel, n_dims, theta, held, lower, upper) {
  given <- list(lower = replace(theta, TRUE, -Inf), upper = replace(theta, TRUE, Inf))
  sides <- list(lower = lower, upper = upper)
  for (side in names(sides)) {
    limit <- check_limits(sides[[side]], side)
    for (name in names(limit)) {
      at <- find_parameters(name, kernel, n_dims, side)
      if (any(at %in% held)) {
        gps_abort(sprintf("%s is both `fixed` and bounded.",
                          quoted(names(theta)[intersect(held, at)[1]])))
      }
      given[[side]][at] <- limit[[name]]
    }
  }
  if (any(given$lower > given$upper)) {
    gps_abort(sprintf("`lower` is above `upper` for %s.",
                      quoted(names(theta)[given$lower > given$upper][1])))
  }
  for (side in names(given)) given[[side]][held] <- theta[held]
  given
}

# The box of gp_fit(): the data's, with log parameters `theta` in it, and the limits of the user
# where these are `given`. list(lower, upper, fixed): `fixed` is logical.
user_box <- function(box, theta, given) {
  box <- contain_theta(box, theta, room = log(10))
  has <- lapply(given, is.finite)
  for (side in names(given)) box[[side]][has[[side]]] <- given[[side]][has[[side]]]
  # A limit of the user's beyond the other side of the data's box moves that side.
  is_beyond <- box$lower >= box$upper
  above <- is_beyond & has$lower & !has$upper
  box$upper[above] <- box$lower[above] + log(1e3)
  below <- is_beyond & has$upper & !has$lower
  box$lower[below] <- box$upper[below] - log(1e3)
  box$fixed <- box$lower == box$upper
  box
}

check_limits <- function(x, arg) {
  if (is.null(x)) return(NULL)
  x <- plain_numbers(x)
  names <- names(x)
  has_names <- !is.null(names) && !any(names %in% c("", NA)) && anyDuplicated(names) == 0
  if (!is.numeric(x) || !has_names || !is.null(dim(x)) || anyNA(x) || any(abs(x) > 700)) {
    abort_value(x, arg, paste(
      "logarithms with the names of the kernel's parameters, as in coef():", arg,
      "= c(log_var_white = log(0.01))"
    ))
  }
  x
}

# Which parameters a search left at a limit of its box, and which one: "lower" or "upper", named.
limits_met <- function(theta, box) {
  at_lower <- !box$fixed & theta <= box$lower + 1e-6
  at_upper <- !box$fixed & theta >= box$upper - 1e-6
  met <- at_lower | at_upper
  stats::setNames(ifelse(at_lower, "lower", "upper"), names(theta))[met]
}

# Warns where the marginal likelihood still rises at a limit that the user has not set, by a nat or
# more when a parameter is multiplied by e. Two limits are only told in print: noise at its lowest
# is a curve through all points, a column's lengthscale at its largest a column that does not
# matter.
warn_limits <- function(met, slope, given, kernel, n_dims) {
  at <- match(names(met), theta_names(kernel, n_dims))
  own <- is.finite(ifelse(met == "upper", given$upper[at], given$lower[at]))
  outward <- ifelse(met == "upper", slope[at], -slope[at])
  is_noise <- startsWith(names(met), kernel_types$white$names) & met == "lower"
  is_idle <- theta_columns(kernel, n_dims)[at] > 0 & met == "upper"
  bad <- which(!own & !is_noise & !is_idle & outward >= 1)
  if (length(bad) == 0) return(invisible())
  gps_warn(sprintf(
    paste("The search ended at the %s limit of %s, where the likelihood still rises: this is no",
          "maximum. Give the kernel a value beyond, or set `%s`."),
    met[bad[1]], quoted(names(met)[bad[1]]), met[bad[1]]
  ))
}
