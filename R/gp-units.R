# The unit in which gp_fit() sees targets while it seeks parameters: a power of two near their
# spread, which changes no digit of them. Where a search begins, how far its first step goes and
# when it ends are the same whatever the user's unit; what it found is then told in that.

# list(size, theta, log_density, is_usual, is_slope): the `size` of the unit in the user's, and what
# is added to log parameters and to a log density in it to have them in the user's. The spread is
# between 0.6 and 1.2 of it, so that a sine and normal noise are seen as they are. What the
# parameters of a kernel_custom() are in units of, nobody knows: there the unit is the user's.
# `is_usual`: of each parameter, whether it is a variance that nobody gave, nor is `held`;
# `is_slope`: and of a linear term.
target_unit <- function(kernel, n_dims, targets, held) {
  spread <- target_scales(targets)$spread
  refuse_extreme(targets, spread)
  size <- if (has_custom(kernel)) 1 else 2^floor(log2(spread / 0.36) / 2)
  slots <- kernel_slots(kernel, n_dims)
  is_usual <- by_parameter(slots, function(slot) {
    has_target_unit(slot) && identical(get_part(kernel, slot), usual_variance(slot$type))
  })
  is_usual[held] <- FALSE
  is_linear <- by_parameter(slots, function(slot) length(linear_held(kernel, slot)) > 0)
  list(size = size, theta = 2 * log(size) * by_parameter(slots, has_target_unit),
       log_density = -length(targets) * log(size), is_usual = is_usual,
       is_slope = is_usual & is_linear)
}

# Of such targets the variances that a search looks at, from 1e-8 to 1e3 of their mean square, have
# inverses, and so have products of these and the targets.
target_reach <- c(1e-140, 1e140)

# `spread` as in target_scales(): of what the targets vary by, or their size if they are constant.
refuse_extreme <- function(targets, spread) {
  largest <- max(abs(targets))
  is_small <- largest > 0 && (largest < target_reach[1] || spread < target_reach[1]^2)
  if (!is_small && largest <= target_reach[2]) return(invisible())
  gps_abort(sprintf(paste(
    "The targets are too %s: the variances of a kernel that fits them, squares of the targets,",
    "%s. They are up to %s; what they vary by, or their size if they are constant, must lie",
    "between %s and %s. Give them in another unit."
  ), if (is_small) "small" else "large", if (is_small) "vanish" else "overflow",
  plain_number(largest, 2), plain_number(target_reach[1]), plain_number(target_reach[2])),
  "numeric")
}

# Columns of inputs that vary by so little that the squares of distances vanish: they would count as
# constant.
refuse_narrow <- function(y) {
  limits <- dimension_limits(y)
  range <- limits[, 2] - limits[, 1]
  narrow <- which(range > 0 & range < target_reach[1])
  if (length(narrow) == 0) return(invisible())
  gps_abort(sprintf(paste(
    "The data are too small: %s varies by %s, whose square vanishes; at least %s is possible.",
    "Give them in another unit."),
    if (nrow(y) > 1) paste("column", narrow[1], "of `x`") else "`x`",
    plain_number(range[narrow[1]], 2), plain_number(target_reach[1])), "numeric")
}

# A product of several linear terms is in units of as many squares of the inputs, and so is its
# variance, whose limits have to be numbers.
refuse_products <- function(kernel, y) {
  n_linear <- max(0L, vapply(kernel$terms, function(term) {
    sum(vapply(term_factors(term), `[[`, "", "type") == "linear")
  }, 1L))
  size <- max(abs(y))
  if (n_linear < 2 || size == 0) return(invisible())
  reach <- target_reach^(1 / n_linear)
  if (size >= reach[1] && size <= reach[2]) return(invisible())
  gps_abort(sprintf(paste(
    "The data are too %s for a product of %d linear terms, whose values are powers of them that",
    "%s: `x` is up to %s, and must be between %s and %s there. Give them in another unit."
  ), if (size < reach[1]) "small" else "large", n_linear,
  if (size < reach[1]) "vanish" else "overflow", plain_number(size, 2),
  plain_number(reach[1], 2), plain_number(reach[2], 2)), "numeric")
}

# The variance of a term; in a product the first factor has that of all.
has_target_unit <- function(slot) slot$part == "variance" && slot$factor == 1L

# Log parameters in the unit. The usual variances are those of targets that vary by about 1, and so
# the same in any unit.
theta_in_unit <- function(theta, unit) theta - ifelse(unit$is_usual, 0, unit$theta)

# What a search in the unit found, in the user's, with the limits that the user has `given`. Those
# and what was fixed are met exactly.
found_in_unit <- function(found, given, unit) {
  found$theta <- clamp_theta(found$theta + unit$theta, given)
  found$value <- found$value + unit$log_density
  found$trace$lml <- found$trace$lml + unit$log_density
  found$jitter <- found$jitter * unit$size^2
  extra <- found$engine$basis$extra
  if (!is.null(extra)) found$engine$basis$extra <- extra * unit$size^2
  found
}

watch_in_unit <- function(watch, unit) {
  if (!is.null(watch)) function(value) watch(value + unit$log_density)
}
