# What is told of a model by its parts alone: whether it is sound, bound, and whose it is.

is_bound <- function(model) !is.null(model$n_dims)

# Whether this package has the model's numerics.
is_built_in <- function(model) identical(model$native$package, "gpselect")

is_native <- function(native) {
  is_word <- function(x, pattern) {
    is.character(x) && length(x) == 1 && !is.na(x) && grepl(pattern, x)
  }
  is.list(native) && is_word(native$package, "^[A-Za-z][A-Za-z0-9.]*$") &&
    is_word(native$symbol, "^[A-Za-z_][A-Za-z0-9_.]*$")
}

# A gigabyte of column means: no data have more.
most_dims <- 2^27

# What NULL in gps_control() and in a selector means for a model; `tol` is in nats a number of the
# data. wide: so many latents a screen may ask
# for the gains of, whose cost is small beside the rest; NULL: few.
model_defaults <- function(n_starts = 8L, tol = 4e-6, anneal = 1, hold = 0L, anneal_over = NULL,
                           screen = NULL, smooth = 0, wide = NULL) {
  list(n_starts = n_starts, tol = tol, anneal = anneal, hold = hold, anneal_over = anneal_over,
       screen = screen, smooth = smooth, wide = wide)
}

# Why a model is none, in words, or NULL.
find_fault <- function(model) {
  is_said <- function(x) is.character(x) && length(x) == 1 && !is.na(x) && nzchar(x)
  is_class <- is.character(class(model)) && !anyNA(class(model))
  is_rule <- is.list(model$rule) && identical(names(model$rule), c("min_active", "max_active")) &&
    is_count(model$rule$min_active, 0) && is_number(model$rule$max_active) &&
    model$rule$max_active >= 1
  is_range <- function(x) is.numeric(x) && length(x) == 2 && !anyNA(x)
  faults <- c(
    "its class is no text" = !is_class,
    "its `name` is not one text" = !is_said(model$name),
    "its `n_latents` is not a whole number of at least 1" = !is_count(model$n_latents),
    "its `params` are not a named list of shapes" = !are_shapes(model$params),
    "its `prepared` are not a named list of shapes" = !are_shapes(model$prepared),
    "its `stats` are not a named list of shapes" = !are_shapes(model$stats),
    "its `ranges` are not a named list of two numbers each" =
      !is.list(model$ranges) || !all(vapply(model$ranges, is_range, NA)),
    "its `rule` is not from state_rule()" = !is_rule,
    "its `settings` are not a named list of plain values" =
      !is_named_list(model$settings) || !all(vapply(model$settings, is.atomic, NA)),
    "its `exact_active` is not a number" = !is_number(model$exact_active),
    "its `gauge` is not NULL or names of dimensions" =
      !is.null(model$gauge) && !is.character(model$gauge),
    "its `sizes` are no named whole numbers" = !are_sizes(model$sizes),
    "its `n_dims` are no whole number" =
      is_bound(model) && !(is_count(model$n_dims) && model$n_dims <= most_dims),
    "its shapes have words that are no sizes" = is_bound(model) && !all(
      unlist(unclass(model)[c("params", "prepared", "stats")]) %in%
        c("one", "dims", "latents", "points", names(model$sizes))
    ),
    "its `defaults` are none" = !identical(names(model$defaults), names(formals(model_defaults)))
  )
  if (any(faults)) names(faults)[faults][1]
}

is_named_list <- function(x) {
  is.list(x) && (length(x) == 0 || !is.null(names(x)) && all(nzchar(names(x))) &&
                   anyDuplicated(names(x)) == 0)
}

are_sizes <- function(sizes) {
  is.null(sizes) || is.numeric(sizes) && !is.null(names(sizes)) && all(is.finite(sizes)) &&
    all(sizes >= 0) && all(sizes == round(sizes))
}

are_shapes <- function(x) {
  is.null(x) || is_named_list(x) && all(vapply(x, function(shape) {
    is.character(shape) && length(shape) > 0 && !anyNA(shape)
  }, NA))
}
