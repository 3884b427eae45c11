# What a model is: its arrays as data, the generics it may implement, printing, and which numbers
# can be its data.
# @srrstats {UL4.1}

#' The parts of a model
#'
#' A model tells the algorithm how to start, how to update its parameters, how to draw data and, if
#' somebody has designed one, which latents look relevant for a data point. Built-in models
#' implement the generics below; [gps_estep()] and [gps_mstep()] can be called at the prompt.
#'
#' @param model a `gps_model`, as made by a `model_*()` function.
#' @param y numeric matrix n x D, data points in rows; or a [gps_source()] or sparse matrix:
#'   `gps_init()` then looks at sampled rows, and so does `gps_bind()` of a model from elsewhere.
#' @param params named list of parameters, shaped as in `coef()` of a fit.
#' @param stats named list of expected sufficient statistics, from [gps_estep()].
#' @param n number of data points to draw.
#' @param progress NULL, or what [gps_fit()] tells a repair about the fit: a list of the data `y`
#'   (D x N, or a source), `selected` and `prob_on` (slots x N), `bound`, the parameters `before`
#'   the M-step, `iteration`, `is_early`, `is_polishing`, `is_monotone` (the bound must not fall),
#'   `is_batch` (they are of a minibatch), `seed` (two integers), `n_threads`, and `notes`, what the
#'   method returned under that name last time.
#' @return `gps_init()`: a named list of parameters; an attribute `labels`, as below, says which
#'   data points are examples of a latent from the beginning. `gps_bind()`: the model with its sizes
#'   fixed by the data. `gps_prepare()`: a named list of what a model in C declares as prepared and
#'   does not prepare itself. `gps_mstep()`: a list of `params` and `events`, a named integer vector
#'   of how often a floor or a rescue acted. `gps_mend()`: a list of `params`; `relabel`, an integer
#'   vector with the new number of each latent (0 = none), or NULL where nothing changed; and
#'   optionally `rescale`, H factors by which the sampled values of the latents (by their old
#'   numbers) change with the parameters, `flip`, latents that are now on where they were off and
#'   off where they were on, `labels`, a data frame of `point` and `latent` with data points that
#'   are examples of a latent, `notes` for the next call and `events`, named counts of what was
#'   done. `gps_draw()`: a list of `y` (n x D), `latents` (n x H of 0 and 1) and, of models
#'   with slabs, `values` (n x H). `gps_handcrafted()`: a matrix n x H of affinities, larger for
#'   more relevant latents.
#' @name gps_model
#' @concept user-defined model
#' @examples
#' model <- gps_bind(model_binary_sparse(4), matrix(rnorm(60), 20))
#' params <- gps_init(model, matrix(rnorm(60), 20))
#' str(gps_draw(model, params, 5))
NULL

#' @rdname gps_model
#' @export
gps_init <- function(model, y) {
  need_given()
  method <- function(model, y) UseMethod("gps_init")
  model <- check_bound_model(model)
  y <- plain_numbers(y)
  if (is_stored(y)) return(name_params(init_stored(model, read_data(y)$y), model, data_names(y)))
  check_rows(y, model)
  params <- method(model, y)
  if (!is_built_in(model)) params <- check_first_params(model, params)
  name_params(params, model, colnames(y))
}

# What a method from elsewhere gave as first values.
check_first_params <- function(model, params) {
  labels <- attr(params, "labels")
  params <- tryCatch(
    check_all_params(model, params, "gps_init()"),
    gps_error = function(condition) {
      gps_abort(conditionMessage(condition), "model", parent = condition)
    }
  )
  attr(params, "labels") <- labels
  params
}

#' @rdname gps_model
#' @export
gps_bind <- function(model, y) {
  need_given()
  method <- function(model, y) UseMethod("gps_bind")
  model <- check_model(model)
  y <- plain_numbers(y)
  if (is_stored(y)) return(bind_data(model, check_values(model, read_data(y)$y)))
  if (!inherits(y, "gps_moments")) {
    check_rows(y)
    check_values(model, y, points_in_rows = TRUE, names = colnames(y))
  }
  method(model, y)
}

#' @rdname gps_model
#' @export
gps_mstep <- function(model, params, stats) {
  need_given()
  method <- function(model, params, stats) UseMethod("gps_mstep")
  model <- check_bound_model(model)
  named <- align_params(model, params, "params")
  params <- check_all_params(model, named, "params")
  if (inherits(model, "gps_native_model")) stats <- check_stats(model, stats)
  result <- method(model, params, stats)
  result$params <- copy_names(result$params, named)
  result
}

#' @rdname gps_model
#' @export
gps_mend <- function(model, params, stats, progress = NULL) {
  need_given()
  method <- function(model, params, stats, progress) UseMethod("gps_mend")
  model <- check_bound_model(model)
  named <- align_params(model, params, "params")
  params <- check_all_params(model, named, "params")
  if (!is.list(stats) || !all(vapply(stats, is.numeric, NA))) {
    abort_value(stats, "stats", "a named list of numbers, from gps_estep()")
  }
  if (!is.null(progress) && !is.list(progress)) abort_value(progress, "progress", "NULL or a list")
  if (inherits(model, "gps_native_model")) stats <- check_stats(model, stats)
  result <- method(model, params, stats, progress)
  result$params <- copy_names(result$params, named)
  result
}

#' @rdname gps_model
#' @export
gps_draw <- function(model, params, n) {
  need_given()
  method <- function(model, params, n) UseMethod("gps_draw")
  model <- check_bound_model(model)
  named <- align_params(model, params, "params")
  params <- check_all_params(model, named, "params")
  n <- check_count(n, "n")
  check_cells(n, max(model$n_dims, count_choices(model)), "`n` draws")
  drawn <- with_memory(method(model, params, n), "`n` = %d draws", n)
  columns <- column_names(model, named)
  if (!is.null(columns)) colnames(drawn$y) <- columns
  drawn
}

#' @rdname gps_model
#' @export
gps_handcrafted <- function(model, params, y) {
  need_given()
  method <- function(model, params, y) UseMethod("gps_handcrafted")
  model <- check_bound_model(model)
  params <- align_params(model, params, "params")
  y <- pick_columns(plain_numbers(y), column_names(model, params), "y", "`params`")
  params <- check_all_params(model, params, "params")
  check_rows(y, model)
  method(model, params, y)
}

#' @rdname gps_model
#' @export
gps_prepare <- function(model, params, y) {
  need_given()
  method <- function(model, params, y) UseMethod("gps_prepare")
  method(model, params, y)
}

#' @export
gps_prepare.default <- function(model, params, y) list()

#' @export
gps_init.default <- function(model, y) abort_no_method(model, "gps_init")

init_stored <- function(model, y) {
  check_columns(y, model)
  check_values(model, y)
  init_rows(model, y, even_rows(y, max(start_rows, model$n_latents)))
}

# Parameters from some rows (NULL: all) of D x N data or a source. Labels name the rows of all data.
init_rows <- function(model, y, rows, weights = NULL) {
  if (is.null(rows) && !is_source(y)) return(init_weighed(model, t(y), weights))
  if (is.null(rows)) rows <- seq_len(n_points(y))
  sample <- t(rows_data(y, rows))
  params <- init_weighed(model, sample, weights[rows])
  if (!is.null(attr(params, "labels"))) {
    attr(params, "labels")$point <- rows[attr(params, "labels")$point]
  }
  params
}

# First values of data of which each row counts so many times. A method without an argument
# `weights` gets the rows as they are.
init_weighed <- function(model, y, weights) {
  method <- method_of(model, "gps_init")
  if (!is.null(weights) && "weights" %in% names(formals(method))) {
    params <- method(model, y, weights = weights)
    return(if (is_built_in(model)) params else check_first_params(model, params))
  }
  # What stands in for missing cells need not be a value that the model can have.
  own <- function(model, y) UseMethod("gps_init")
  if (is_built_in(model)) own(model, y) else gps_init(model, y)
}

# A matrix of finite numbers with the model's columns.
check_rows <- function(y, model = NULL) {
  if (!is.numeric(y) || length(dim(y)) != 2 || nrow(y) == 0 || ncol(y) == 0) {
    gps_abort(sprintf("`y` must be a numeric matrix with data points in rows, not %s.%s",
                      describe_value(y), paste(advise_matrix(y), collapse = "")))
  }
  if (!is.null(model) && ncol(y) != model$n_dims) {
    gps_abort(sprintf("`y` must have %d columns, not %d.%s", model$n_dims, ncol(y),
                      advise_transposed(dim(y), model$n_dims)))
  }
  check_finite(y, "y")
  if (!is.null(model)) check_values(model, y, points_in_rows = TRUE, names = colnames(y))
  refuse_large(y, points_in_rows = TRUE)
}

abort_no_method <- function(model, method, way = NULL) {
  gps_abort(paste(c(sprintf("The model %s has no method %s().", quoted(model$name), method), way),
                  collapse = " "), "model")
}

#' @export
gps_mend.default <- function(model, params, stats, progress = NULL) {
  list(params = params, relabel = NULL)
}

#' @export
gps_draw.default <- function(model, params, n) abort_no_method(model, "gps_draw")

#' @export
gps_handcrafted.default <- function(model, params, y) {
  abort_no_method(model, "gps_handcrafted", paste(
    "selector_gp() learns a ranking, and selector_custom() has one of yours."
  ))
}

#' @export
print.gps_model <- function(x, ...) {
  refuse_shown(further(...))
  say(format_model(check_model(x, "x")))
  invisible(x)
}

# One line: name, latents, settings.
format_model <- function(model) {
  is_placed <- !is.null(model$n_components)
  latents <- plural(if (is_placed) model$n_components else model$n_latents,
                    if (is_placed) "component" else
                      if (model$rule$min_active == 1) "cluster" else "latent")
  settings <- model$settings
  if (lacks_intercept(model)) settings$intercept <- NULL
  paste0(model$name, ": ", paste(c(latents, format_settings(settings)), collapse = ", "))
}

# Data D x N, a source, or with `points_in_rows` n x D, as the model can have them, or an error that
# says where they are not. Missing cells are no values.
check_values <- function(model, y, arg = "y", points_in_rows = FALSE, names = NULL) {
  rule <- data_rule(model)
  if (is.null(rule)) return(invisible(y))
  if (is_source(y)) {
    map_blocks(list(y = y, blocks = split_blocks(n_points(y), n_dims(y))), function(task, block) {
      refuse_values(model, rule, block_data(task$y, block), arg, names = names,
                    first_row = block$first_row)
    })
    return(invisible(y))
  }
  refuse_values(model, rule, y, arg, points_in_rows, names)
  invisible(y)
}

# Data D x n, or n x D, before which `first_row` points came; `names` of their columns, or NULL.
refuse_values <- function(model, rule, y, arg, points_in_rows = FALSE, names = NULL,
                          first_row = 0) {
  bad <- which(!rule$is_allowed(y))
  if (length(bad) == 0) return(invisible())
  place <- arrayInd(bad[1], dim(y))
  if (!points_in_rows) place <- rev(place)
  gps_abort(sprintf("`%s` must have %s for the model %s, but row %.0f, %s is %s.%s", arg,
                    rule$words, quoted(model$name), first_row + place[1],
                    column_words(place[2], names), given_number(y[bad[1]]),
                    if (is.null(rule$hint)) "" else paste0(" ", rule$hint)), "data")
}
