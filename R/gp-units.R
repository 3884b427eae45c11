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
  if (any(targets != 0) && mean(targets^2) == 0) {
    gps_abort("The targets are too small: their squares vanish. Give them in another unit.",
              "numeric")
  }
  size <- if (has_custom(kernel)) 1 else 2^floor(log2(target_scales(targets)$spread / 0.36) / 2)
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
