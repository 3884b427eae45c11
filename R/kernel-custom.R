# What R functions of a user say of a kernel: values and derivatives on points, rows of a matrix,
# and what is asked of them.

# A list of one term.
new_custom <- function(functions, parameters) {
  numbers <- plain_numbers(if (is.null(parameters)) numeric() else parameters)
  names <- names(numbers)
  is_named <- length(numbers) == 0 || !is.null(names) && all(is_text(names) & nzchar(names)) &&
    anyDuplicated(names) == 0
  if (!is.numeric(numbers) || !is.null(dim(numbers)) || !is_named || !all(is.finite(numbers)) ||
        any(numbers <= 0)) {
    abort_value(parameters, "parameters", "NULL or positive numbers with distinct names")
  }
  parameters <- stats::setNames(as.double(numbers), names)
  list(list(type = "custom", ard = FALSE, parameters = parameters, functions = functions))
}

# Step of central differences by the logarithm of a parameter.
own_step <- 1e-5

# `value` on all pairs of rows of x and z.
own_values <- function(term, x, z, parameters = term$parameters) {
  k <- name_failure("value", term$functions$value(x, z, parameters))
  check_own_matrix(k, "`value` must return", c(nrow(x), nrow(z)))
}

check_own_matrix <- function(k, what, size) {
  k <- plain_numbers(k)
  if (!is.numeric(k) || !identical(dim(k), as.integer(size))) {
    gps_abort(sprintf("%s a matrix of %s numbers, not %s.", what, shown_dim(size),
                      describe_value(k)), "model")
  }
  if (!all(is.finite(k))) gps_abort(sprintf("%s finite numbers.", what), "model")
  array(as.double(k), size)
}

# Derivatives of `value` by the logarithm of each parameter.
own_slopes <- function(term, x, z) {
  parameters <- term$parameters
  if (is.null(term$functions$gradient)) return(difference_slopes(term, x, z, own_step))
  slopes <- name_failure("gradient", term$functions$gradient(x, z, parameters))
  if (!is.list(slopes) || !setequal(names(slopes), names(parameters)) ||
        length(slopes) != length(parameters)) {
    gps_abort(sprintf(
      "`gradient` must return a list with a matrix for each parameter (%s), not %s.",
      paste(names(parameters), collapse = ", "), describe_value(slopes)
    ), "model")
  }
  lapply(names(parameters), function(name) {
    what <- sprintf("`gradient` must return as `%s`", name)
    parameters[[name]] * check_own_matrix(slopes[[name]], what, c(nrow(x), nrow(z)))
  })
}

# The same by central differences.
difference_slopes <- function(term, x, z, step) {
  lapply(names(term$parameters), function(name) {
    (values_after(term, x, z, name, step) - values_after(term, x, z, name, -step)) / (2 * step)
  })
}

# `value` with the logarithm of a parameter changed by a step.
values_after <- function(term, x, z, name, step) {
  parameters <- term$parameters
  own_values(term, x, z, replace(parameters, name, parameters[[name]] * exp(step)))
}

# A search by another slope than that of `value` ends anywhere. Where differences with two steps do
# not agree, as of a kernel that swings fast, as much is allowed, and so are slopes of either side
# where `value` has a kink, as of a triangle at its end.
check_own_gradient <- function(term, x) {
  slopes <- own_slopes(term, x, x)
  if (is.null(term$functions$gradient)) return(invisible())
  fine <- difference_slopes(term, x, x, own_step)
  coarse <- difference_slopes(term, x, x, 3 * own_step)
  value <- own_values(term, x, x)
  rounding <- 1e-8 * max(abs(value))
  for (i in seq_along(slopes)) {
    allowed <- 1e-3 * max(abs(fine[[i]])) + 10 * max(abs(fine[[i]] - coarse[[i]])) + rounding
    name <- names(term$parameters)[i]
    allowed <- allowed + abs(values_after(term, x, x, name, own_step) - 2 * value +
                               values_after(term, x, x, name, -own_step)) / own_step
    off <- abs(slopes[[i]] - fine[[i]])
    if (all(off <= allowed)) next
    at <- which.max(off - allowed)
    parameter <- term$parameters[i]
    gps_abort(sprintf(
      paste("`gradient` must return the derivatives of `value`: that by `%s` is %s where",
            "differences of `value` say %s."),
      names(parameter), plain_number(slopes[[i]][at] / parameter, 4),
      plain_number(fine[[i]][at] / parameter, 4)
    ), "model")
  }
}

# Rows of which all pairs are asked for where the diagonal alone is wanted.
diagonal_rows <- 32L

# k(x, x) of the columns of y, n_dims x n.
own_diagonal <- function(term, y) {
  from <- seq(1, ncol(y), by = diagonal_rows)
  unlist(lapply(from, function(from) {
    x <- t(y[, from:min(ncol(y), from + diagonal_rows - 1), drop = FALSE])
    diag(own_values(term, x, x))
  }))
}

# Of the custom terms of a kernel together: values between the columns of y and of z, and the
# variance at those of z.
custom_values <- function(terms, y, z) {
  Reduce(`+`, lapply(terms, own_values, t(y), t(z)))
}

custom_diagonal <- function(terms, z) Reduce(`+`, lapply(terms, own_diagonal, z))

# Their derivatives side by side, n x (n times parameters).
custom_slopes <- function(terms, y) {
  do.call(cbind, unlist(lapply(terms, own_slopes, t(y), t(y)), recursive = FALSE))
}

# On a few points the functions give what they should.
try_custom <- function(terms, y) {
  x <- t(some_points(y, 10))
  for (term in terms) {
    k <- own_values(term, x, x)
    if (max(abs(k - t(k))) > 1e-8 * max(abs(k))) {
      gps_abort("`value` must be symmetric: value(x, z) is the transpose of value(z, x).", "model")
    }
    if (any(diag(k) < 0)) gps_abort("`value` must not be below 0 at equal points.", "model")
    check_own_gradient(term, x)
  }
}
