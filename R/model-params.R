# A model's parameters: their shapes, checks and names. Shapes are data: a model names the
# dimensions of each parameter, option, prepared array and statistic, and everything that allocates
# or checks reads them here.

# Named vector: how many numbers each array has. Sizes are of dimension_sizes().
resolve_lengths <- function(shapes, sizes) {
  n_numbers <- vector("double", length(shapes))
  for (i in seq_along(shapes)) n_numbers[i] <- prod(sizes[shapes[[i]]])
  names(n_numbers) <- names(shapes)
  n_numbers
}

# Parameters as the model wants them: names, shapes and ranges checked, plain doubles with their
# dims.
check_params <- function(model, params, arg = "start") {
  if (!is.list(params) || is.null(names(params))) {
    abort_value(params, arg, paste("a named list of", paste(names(model$params), collapse = ", ")))
  }
  unknown <- setdiff(names(params), names(model$params))
  if (length(unknown) > 0) {
    hint <- if (all(c("merge", "height") %in% unknown)) {
      " Labels of a tree: cutree(tree, k)."
    }
    gps_abort(sprintf("`%s` has no parameter %s; the model has %s.%s", arg, quoted(unknown[1]),
                      paste(names(model$params), collapse = ", "), paste(hint, collapse = "")))
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

check_param <- function(x, arg, dim, range) {
  x <- plain_numbers(x)
  given <- if (is.null(dim(x))) length(x) else dim(x)
  # One matrix for all is a matrix, too.
  if (length(dim) == 3 && dim[3] == 1 && length(given) == 2) given <- c(given, 1L)
  if (!is.numeric(x) || !identical(as.integer(given), dim)) {
    is_turned <- length(dim) == 2 && identical(as.integer(given), rev(dim))
    abort_value(x, arg, if (length(dim) == 1) {
      sprintf("%d number%s", dim, if (dim == 1) "" else "s")
    } else if (is_turned) {
      sprintf("a numeric array of %s (t() turns it)", paste(dim, collapse = " x "))
    } else {
      sprintf("a numeric array of %s", paste(dim, collapse = " x "))
    })
  }
  if (!all(is.finite(x))) {
    bad <- which(!is.finite(x))[1]
    gps_abort(sprintf("`%s` must have finite values, but number %d is %s.", arg, bad,
                      plain_number(x[bad])))
  }
  if (!is.null(range)) {
    but <- attr(range, "but")
    check_range(if (is.null(but)) x else x[!x %in% but], arg, range[1], range[2],
                isTRUE(attr(range, "is_open")))
  }
  is_plain <- is.double(x) &&
    identical(attributes(x), if (length(dim) > 1) list(dim = dim))
  if (is_plain) return(x)
  if (length(dim) == 1) as.double(x) else array(as.double(x), dim)
}

# Limits of a parameter that it must not reach; `but` is a value that check_joint() judges.
open_range <- function(lower, upper, but = NULL) {
  structure(c(lower, upper), is_open = TRUE, but = but)
}

check_range <- function(x, arg, lower, upper, is_open) {
  is_out <- if (is_open) x <= lower | x >= upper else x < lower | x > upper
  if (!any(is_out)) return(invisible())
  gps_abort(sprintf("`%s` must lie between %s and %s%s, but has %s.", arg, plain_number(lower),
                    plain_number(upper), if (is_open) ", both excluded" else "",
                    given_number(x[is_out][1])))
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

# In what their numbers are, in words.
component_unit <- function(model) UseMethod("component_unit")

#' @export
component_unit.default <- function(model) "units of the data"

# ---- parts of a model ----

# What is told of a model by its parts alone: whether it is sound, bound, and whose it is.

is_bound <- function(model) !is.null(model$n_dims)

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
# data. `wide`: of how many latents a screen may ask for the gains, since that costs little beside
# the rest; NULL: of few.
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

# Parameters with all axes of a kind in one order: that of `columns` for the data's columns, else of
# the first parameter that has names there. What is no parameter is left for check_params().
align_params <- function(model, params, arg, columns = NULL) {
  if (!is.list(params) || is.null(names(params))) return(params)
  known <- intersect(names(params), names(model$params))
  for (axis in named_axes) {
    wanted <- if (axis == "dims") columns
    first <- "`y`"
    for (name in known) {
      for (at in which(model$params[[name]] == axis)) {
        given <- param_names(params[[name]], model$params[[name]], at)
        label <- sprintf("%s$%s", arg, name)
        if (is.null(wanted) && !is.null(given)) {
          wanted <- given
          first <- sprintf("`%s`", label)
        }
        if (length(given) != length(wanted)) next
        place <- match_columns(given, wanted, label, first)
        if (!is.null(place)) params[[name]] <- take_along(params[[name]], at, place)
      }
    }
  }
  params
}

# ---- latents that are out ----

# Latents that are out of the model. A latent whose column of W is 0 throughout is never on: its
# probability is 0, it is not counted in a shared pi nor among the free parameters, and no selection
# has it. The parameters alone tell, wherever they come from.

# Numbers of the latents that are out, of models that can have such.
emptied_latents <- function(model, params) UseMethod("emptied_latents")

#' @export
emptied_latents.default <- function(model, params) integer()

#' @export
emptied_latents.gps_binary_sparse <- function(model, params) which(!is_in_model(params))

#' @export
emptied_latents.gps_spike_slab <- function(model, params) which(!is_in_model(params))

#' @export
emptied_latents.gps_max_spike_slab <- function(model, params) which(!is_in_model(params))

is_in_model <- function(params) colSums(params$W != 0) > 0

n_left <- function(model, params) model$n_latents - length(emptied_latents(model, params))

# Latents in the model beside one.
others_left <- function(params, latent) setdiff(which(is_in_model(params)), latent)

# Parameters without some latents. Of a slab that nobody uses there is nothing to know: mean 0 and
# variance 1, independent of all others.
empty_params <- function(params, latents) {
  params$W[, latents] <- 0
  if (length(params$pi) > 1) params$pi[latents] <- 0
  if (is.null(params$mu)) return(params)
  params$mu[latents] <- 0
  set_variances(params, latents, 1)
}

# A probability of 0 is for latents that are out; the first other one that has it is named.
check_emptied <- function(params, arg) {
  if (is.null(params$pi) || all(params$pi > 0)) return(invisible())
  is_out <- if (is.null(params$W)) FALSE else !is_in_model(params)
  is_own <- length(params$pi) > 1 || length(is_out) == 1
  bad <- if (is_own) which(params$pi <= 0 & !is_out) else 1L
  if (length(bad) == 0) return(invisible())
  gps_abort(sprintf(paste(
    "`%s$pi` must lie between 0 and 1, both excluded, but is %s%s: 0 is for a latent that is out",
    "of the model, with a column of `W` that is 0."
  ), arg, plain_number(params$pi[bad[1]]),
  if (length(params$pi) > 1) paste(" for latent", bad[1]) else ""))
}

# New variances of some slabs, which are then independent of all others.
set_variances <- function(params, latents, variances) {
  if (is.matrix(params$psi)) {
    params$psi[latents, ] <- params$psi[, latents] <- 0
    params$psi[cbind(latents, latents)] <- variances
  } else {
    params$psi[latents] <- variances
  }
  params
}

# What the bound of a point would lose at once without a latent: states in which it is off remain,
# so log Z falls by -log(1 - prob_on). Rounding of probabilities makes it a lower limit for latents
# that are sorely needed.
loss_without <- function(prob_on) -log1p(-pmin(prob_on, 1 - 1e-15))

# The same of each latent and all points.
removal_cost <- function(on, weights = NULL) rowSums(weigh_columns(loss_without(on), weights))

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
