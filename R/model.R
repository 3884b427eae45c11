# What a model is: its arrays as data, the generics it may implement, printing.

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
#'   fixed by the data. `gps_mstep()`: a list of `params` and `events`, a named integer vector of
#'   how often a floor or a rescue acted. `gps_mend()`: a list of `params`; `relabel`, an integer
#'   vector with the new number of each latent (0 = none), or NULL where nothing changed; and
#'   optionally `rescale`, H factors by which the sampled values of the latents (by their old
#'   numbers) change with the parameters, `flip`, latents that are now on where they were off and
#'   off where they were on, `labels`, a data frame of `point` and `latent` with data points that
#'   are examples of a latent, `notes` for the next call and `events`, named counts of what was
#'   done. `gps_draw()`: a list of `y` (n x D), `latents` (n x H of 0 and 1) and, of models
#'   with slabs, `values` (n x H). `gps_handcrafted()`: a matrix n x H of affinities, larger for
#'   more relevant latents.
#' @name gps_model
#' @examples
#' model <- gps_bind(model_binary_sparse(4), matrix(rnorm(60), 20))
#' params <- gps_init(model, matrix(rnorm(60), 20))
#' str(gps_draw(model, params, 5))
NULL

#' @rdname gps_model
#' @export
gps_init <- function(model, y) {
  method <- function(model, y) UseMethod("gps_init")
  model <- check_bound_model(model)
  y <- plain_numbers(y)
  if (is_stored(y)) return(name_params(init_stored(model, read_data(y)$y), model, data_names(y)))
  check_rows(y, model)
  name_params(method(model, y), model, colnames(y))
}

#' @rdname gps_model
#' @export
gps_bind <- function(model, y) {
  method <- function(model, y) UseMethod("gps_bind")
  model <- check_model(model)
  y <- plain_numbers(y)
  if (is_stored(y)) return(bind_data(model, read_data(y)$y))
  if (!inherits(y, "gps_moments")) check_rows(y)
  method(model, y)
}

#' @rdname gps_model
#' @export
gps_mstep <- function(model, params, stats) {
  method <- function(model, params, stats) UseMethod("gps_mstep")
  model <- check_bound_model(model)
  named <- align_params(model, params, "params")
  params <- check_all_params(model, named, "params")
  result <- method(model, params, stats)
  result$params <- copy_names(result$params, named)
  result
}

#' @rdname gps_model
#' @export
gps_mend <- function(model, params, stats, progress = NULL) {
  method <- function(model, params, stats, progress) UseMethod("gps_mend")
  method(check_bound_model(model), params, stats, progress)
}

#' @rdname gps_model
#' @export
gps_draw <- function(model, params, n) {
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
  method <- function(model, params, y) UseMethod("gps_handcrafted")
  model <- check_bound_model(model)
  params <- align_params(model, params, "params")
  y <- pick_columns(plain_numbers(y), column_names(model, params), "y", "`params`")
  params <- check_all_params(model, params, "params")
  check_rows(y, model)
  method(model, params, y)
}

# The generics without their checks, for loops whose model was checked where it entered.
bind_model <- function(model, y) UseMethod("gps_bind")
mstep_model <- function(model, params, stats) UseMethod("gps_mstep")
mend_model <- function(model, params, stats, progress) UseMethod("gps_mend")

# The model as a fit from scratch begins with it: what would only disturb before components stand is
# held fixed. Its parameters have the shapes of the model's own.
hold_model <- function(model) UseMethod("hold_model")

#' @export
hold_model.default <- function(model) model

# Whether a class of the model has a method of its own, here or in another package, for a generic of
# this one. getS3method() knows a generic by its call of UseMethod() only where that comes last.
has_method <- function(model, generic) {
  here <- topenv()
  registered <- get(".__S3MethodsTable__.", envir = here)
  any(vapply(paste(generic, class(model), sep = "."), function(name) {
    exists(name, envir = registered, inherits = FALSE) || exists(name, envir = here)
  }, NA))
}

# A model with its sizes fixed by D x N data or a source. Models of this package need only the
# moments of the data.
bind_data <- function(model, y, moments = data_moments(y)) {
  if (identical(model$native$package, "gpselect")) {
    return(bind_model(model, survey_data(model, y, moments)))
  }
  bind_model(model, t(if (is_source(y)) rows_data(y, even_rows(y)) else y))
}

# Moments with what else a model of this package needs to know of all data, D x N or a source.
survey_data <- function(model, y, moments) UseMethod("survey_data")

#' @export
survey_data.default <- function(model, y, moments) moments

# Evenly spaced rows of a source, at most as many as a start looks at.
even_rows <- function(y, n_rows = start_rows) {
  unique(round(seq(1, n_points(y), length.out = min(n_points(y), n_rows))))
}

init_stored <- function(model, y) {
  check_columns(y, model)
  init_rows(model, y, even_rows(y, max(start_rows, model$n_latents)))
}

# Parameters from some rows (NULL: all) of D x N data or a source. Labels name the rows of all data.
init_rows <- function(model, y, rows) {
  if (is.null(rows) && !is_source(y)) return(gps_init(model, t(y)))
  if (is.null(rows)) rows <- seq_len(n_points(y))
  sample <- t(rows_data(y, rows))
  params <- gps_init(model, sample)
  if (!is.null(attr(params, "labels"))) {
    attr(params, "labels")$point <- rows[attr(params, "labels")$point]
  }
  params
}

# A matrix of finite numbers with the model's columns.
check_rows <- function(y, model = NULL) {
  if (!is.numeric(y) || length(dim(y)) != 2 || nrow(y) == 0 || ncol(y) == 0) {
    abort_value(y, "y", "a numeric matrix with data points in rows")
  }
  if (!is.null(model) && ncol(y) != model$n_dims) {
    gps_abort(sprintf("`y` must have %d columns, not %d.", model$n_dims, ncol(y)))
  }
  check_finite(y, "y")
  refuse_large(y, points_in_rows = TRUE)
}

abort_no_method <- function(model, method) {
  gps_abort(sprintf("The model %s has no method %s().", dQuote(model$name, FALSE), method), "model")
}

#' @export
gps_mend.default <- function(model, params, stats, progress = NULL) {
  list(params = params, relabel = NULL)
}

#' @export
gps_draw.default <- function(model, params, n) abort_no_method(model, "gps_draw")

#' @export
gps_handcrafted.default <- function(model, params, y) abort_no_method(model, "gps_handcrafted")

# What the E-step of a block needs of a model, by name: parameters, options and what it prepares.
block_inputs <- function(model, params, y, block) UseMethod("block_inputs")

# The E-step of a block: list(prob_on [slots x n], log_evidence [n], stats, latent, response, prob,
# value, variance, draws): stats, latent, response, prob and draws only where wanted. With a chain
# (see new_chain()) states are sampled: there are value [slots x n], variance [n] and draws
# [slots x draws x n] then, and no prob.
run_estep <- function(model, inputs, y, block, selected, states, n_threads, want, beta = 1,
                      iteration = 0L, chain = NULL) {
  UseMethod("run_estep")
}

# Affinities H x n of one block for selector_handcrafted(). `inputs` has the parameters, the options
# and what the model prepared for this block, so that a built-in model need not compute it again.
block_handcrafted <- function(model, inputs, y, block, n_threads = 1L) {
  UseMethod("block_handcrafted")
}

#' @export
block_handcrafted.default <- function(model, inputs, y, block, n_threads = 1L) {
  t(gps_handcrafted(model, inputs[names(model$params)], t(block_data(y, block))))
}

# A model that needs the size of images takes it from the data where the user did not give it:
# image_dim is c(height, width) or c(height, width, channels), or NULL.
set_image <- function(model, image_dim) UseMethod("set_image")

#' @export
set_image.default <- function(model, image_dim) model

# Parameters by which candidates are screened at a temperature, so that what is nearly right can be
# told from what is wrong.
temper_params <- function(model, params, temperature) UseMethod("temper_params")

#' @export
temper_params.default <- function(model, params, temperature) params

# What NULL in gps_control() and in a selector means for a model; `tol` is in nats a number of the
# data. wide: so many latents a screen may ask
# for the gains of, whose cost is small beside the rest; NULL: few.
model_defaults <- function(n_starts = 8L, tol = 4e-6, anneal = 1, hold = 0L, anneal_over = NULL,
                           screen = NULL, smooth = 0, wide = NULL) {
  list(n_starts = n_starts, tol = tol, anneal = anneal, hold = hold, anneal_over = anneal_over,
       screen = screen, smooth = smooth, wide = wide)
}

is_bound <- function(model) !is.null(model$n_dims)

#' @export
print.gps_model <- function(x, ...) {
  refuse_shown(list(...))
  cat(format_model(check_model(x, "x")), "\n", sep = "")
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
  settings <- paste(names(settings), "=", vapply(settings, format, ""))
  paste0(model$name, ": ", paste(c(latents, settings), collapse = ", "))
}

has_ranking <- function(model) has_method(model, "gps_handcrafted")

start_rows <- 2000L
