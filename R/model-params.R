# Shapes of a model's arrays as data: a model names the dimensions of each parameter, option,
# prepared array and statistic, and everything that allocates or checks reads them here.

# Numbers behind the names of dimensions; `points` is the size of a block.
dimension_sizes <- function(model, n_points = NA) {
  c(one = 1, dims = model$n_dims, latents = model$n_latents, points = n_points, model$sizes)
}

resolve_dims <- function(shapes, sizes) lapply(shapes, function(shape) as.integer(sizes[shape]))

# Named vector: how many numbers each array has.
resolve_lengths <- function(shapes, sizes) vapply(shapes, function(shape) prod(sizes[shape]), 1)

# Parameters as the model wants them: names, shapes and ranges checked, plain doubles with their
# dims.
check_params <- function(model, params, arg = "start") {
  if (!is.list(params) || is.null(names(params))) {
    abort_value(params, arg, paste("a named list of", paste(names(model$params), collapse = ", ")))
  }
  unknown <- setdiff(names(params), names(model$params))
  if (length(unknown) > 0) {
    gps_abort(sprintf("`%s` has no parameter %s; the model has %s.", arg, quoted(unknown[1]),
                      paste(names(model$params), collapse = ", ")))
  }
  dims <- resolve_dims(model$params, dimension_sizes(model))
  for (name in names(params)) {
    params[[name]] <- check_param(params[[name]], paste0(arg, "$", name), dims[[name]],
                                  model$ranges[[name]])
  }
  check_joint(model, params, arg)
  params
}

# All parameters of a model, in its order.
check_all_params <- function(model, params, arg) {
  params <- check_params(model, params, arg)
  params <- complete_params(model, params)
  missing <- setdiff(names(model$params), names(params))
  if (length(missing) > 0) gps_abort(sprintf("`%s` must have the parameter `%s`.", arg, missing[1]))
  params[names(model$params)]
}

# Parameters with those that fits of earlier versions lack.
complete_params <- function(model, params) UseMethod("complete_params")

#' @export
complete_params.default <- function(model, params) params

# What a model asks of its parameters beyond shapes and ranges. Any of them may be missing.
check_joint <- function(model, params, arg) UseMethod("check_joint")

#' @export
check_joint.default <- function(model, params, arg) invisible()

# Statistics as gps_estep() gives them: the routine that reads them trusts their sizes. What is
# empty may be missing.
check_stats <- function(model, stats) {
  is_known <- is.list(stats) && identical(names(stats), names(model$stats_dims))
  if (is_known && all(lengths(stats) == model$stats_lengths) &&
        all(vapply(stats, is.double, NA))) {
    return(stats)
  }
  if (!is.list(stats)) abort_value(stats, "stats", "a named list, from gps_estep()")
  for (name in names(model$stats_dims)) {
    dim <- model$stats_dims[[name]]
    if (prod(dim) == 0 && is.null(stats[[name]])) stats[[name]] <- array(0, dim)
    if (!is.double(stats[[name]]) || length(stats[[name]]) != prod(dim)) {
      abort_value(stats[[name]], paste0("stats$", name),
                  sprintf("%s number%s", paste(dim, collapse = " x "),
                          if (prod(dim) == 1) "" else "s"))
    }
  }
  stats
}

check_param <- function(x, arg, dim, range) {
  x <- plain_numbers(x)
  given <- if (is.null(dim(x))) length(x) else dim(x)
  if (!is.numeric(x) || !identical(as.integer(given), dim)) {
    abort_value(x, arg, if (length(dim) == 1) {
      sprintf("%d number%s", dim, if (dim == 1) "" else "s")
    } else {
      sprintf("a numeric array of %s", paste(dim, collapse = " x "))
    })
  }
  if (!all(is.finite(x))) gps_abort(sprintf("`%s` must have finite values.", arg))
  if (!is.null(range)) {
    check_range(x[!x %in% attr(range, "but")], arg, range[1], range[2],
                isTRUE(attr(range, "is_open")))
  }
  if (length(dim) == 1) as.double(x) else array(as.double(x), dim)
}

# Limits of a parameter that it must not reach; `but` is a value that check_joint() judges.
open_range <- function(lower, upper, but = NULL) {
  structure(c(lower, upper), is_open = TRUE, but = but)
}

check_range <- function(x, arg, lower, upper, is_open) {
  if (is_open && (any(x <= lower) || any(x >= upper))) {
    gps_abort(sprintf("`%s` must lie between %s and %s, both excluded.", arg, format(lower),
                      format(upper)))
  }
  if (any(x < lower) || any(x > upper)) {
    gps_abort(sprintf("`%s` must lie between %s and %s.", arg, format(lower), format(upper)))
  }
}

# Free parameters: two equal leading axes are a symmetric matrix, the probabilities of a one-hot
# latent sum to one, and a gauge is none. `n_left`: of so many latents that are in the model.
count_free <- function(model, n_left = model$n_latents) {
  sizes <- dimension_sizes(model)
  sizes[names(sizes) %in% c("latents", "probs") & sizes == model$n_latents] <- n_left
  count <- vapply(model$params, function(axes) {
    n <- unname(sizes[axes])
    if (length(axes) > 1 && axes[1] == axes[2]) n[2] <- (n[2] + 1) / 2
    prod(n)
  }, 1)
  sum(count) - sum(sizes[model$gauge]) -
    (model$rule$min_active == 1 && model$rule$max_active == 1)
}

# Names of the data's columns on all axes that a model declares as "dims", and of latents that have
# names on all of theirs.
name_params <- function(params, model, col_names, latent_names = NULL) {
  named <- list(dims = col_names, latents = latent_names)
  for (name in names(params)) {
    axes <- model$params[[name]]
    given <- lapply(axes, function(axis) named[[axis]])
    if (all(lengths(given) == 0)) next
    if (length(axes) == 1) names(params[[name]]) <- given[[1]] else
      dimnames(params[[name]]) <- given
  }
  params
}

# The parameters D x H that say what each latent stands for, or NULL: those named as in the models
# of this package, or the first of that shape.
component_values <- function(model, params) UseMethod("component_values")

#' @export
component_values.default <- function(model, params) {
  names <- intersect(c("W", "mu", names(params)), names(params))
  size <- c(model$n_dims, model$n_latents)
  is_shaped <- vapply(params[names], function(x) identical(dim(x), size), NA)
  if (any(is_shaped)) params[[names[is_shaped][1]]]
}
