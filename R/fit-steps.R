# The selector's two steps by themselves, at the prompt: data points in rows, latents counted from
# 1.

#' Steps of the selection
#'
#' `gps_affinity()` ranks the latents of data points as a fit does before each E-step; `gps_learn()`
#' is what the selector learns from an E-step. With [gps_estep()] and [gps_mstep()] they make an EM
#' iteration.
#'
#' For [selector_gp()] the affinity is the leave-one-out mean of the Gaussian process that regresses
#' the last expectations on the data (equation 5 of the paper), smoothed over neighbouring positions
#' where the selector or the model asks for it.
#' @param selector a selector, as made by a `selector_*()` function.
#' @param state a fit; or a list with `model` (sizes fixed by [gps_bind()]), `params`, `selected`
#'   and `prob_on` (n x slots, as from [gps_estep()]), `memory` (the value of `gps_learn()`) and
#'   `iteration`. `gps_learn()` needs `model`, `params`, `selected` and `prob_on`; `gps_affinity()`
#'   needs `model`, `params` and, for a selector that learns, `memory`.
#' @param y all data points: numeric matrix n x D, a [gps_source()] or a sparse matrix.
#' @param points numbers of the data points to rank, whole numbers in 1..n; NULL: all.
#' @return `gps_affinity()`: matrix points x H, larger for more relevant latents; all zero for
#'   selectors that rank nothing. `gps_learn()`: the selector's memory, NULL for selectors that
#'   learn nothing.
#' @examples
#' set.seed(1)
#' y <- simulate_bars(50)$y
#' model <- gps_bind(model_binary_sparse(10), y)
#' state <- list(model = model, params = gps_init(model, y))
#' affinity <- gps_affinity(selector_handcrafted(), state, y)
#' state$selected <- t(apply(affinity, 1, function(a) sort(order(-a)[1:4])))
#' state$prob_on <- gps_estep(model, state$params, y, state$selected)$prob_on
#' learner <- selector_custom(function(params, y, memory) y %*% memory,
#'                            function(params, y, expectations) crossprod(y, expectations))
#' state$memory <- gps_learn(learner, state, y)
#' dim(gps_affinity(learner, state, y, points = 1:5))
#' @name steps
NULL

#' @rdname steps
#' @export
gps_affinity <- function(selector, state, y, points = NULL) {
  need_given()
  step <- read_step(selector, state, y)
  points <- check_point_numbers(points, n_points(step$task$y))
  if (has_to_learn(selector, step$state$memory)) {
    if (!inherits(state, "gps_fit")) {
      gps_abort("`state$memory` must be from gps_learn(): this selector learns before it ranks.")
    }
    step$state$memory <- learn_selector(step$task$selector, step$task, step$state)
  }
  affinity_of_points(step$task$selector, step, points)
}

has_to_learn <- function(selector, memory) {
  if (inherits(selector, "gps_selector_gp")) return(!knows_targets(memory))
  is.function(selector$learn) && is.null(memory)
}

#' @rdname steps
#' @export
gps_learn <- function(selector, state, y) {
  need_given()
  step <- read_step(selector, state, y)
  if (is.null(step$state$selected)) {
    gps_abort("`state` must have `selected` and `prob_on`, n x slots, as from gps_estep().")
  }
  memory <- learn_selector(step$task$selector, step$task, step$state)
  if (inherits(selector, "gps_selector_custom")) memory$learned else memory
}

# list(task, state, row_names) inside the package's shapes, from what a user gives.
read_step <- function(selector, state, y) {
  selector <- check_selector(selector)
  if (inherits(state, "gps_fit")) return(fit_step(selector, state, y))
  if (!is.list(state)) abort_value(state, "state", "a fit or a list with `model` and `params`")
  state$model <- check_bound_model(state$model, "state$model")
  params <- align_params(state$model, state$params, "state$params")
  named <- column_names(state$model, params)
  data <- read_data(pick_columns(plain_numbers(y), named, "y", "`state$params`"))
  check_columns(data$y, state$model)
  check_values(state$model, data$y, names = data$col_names)
  memory <- read_memory(selector, state$memory)
  params <- check_all_params(state$model, params, "state$params")
  inner <- new_state(params, 0L, 0, memory)
  if (!is.null(state$iteration)) {
    inner$iteration <- check_count(state$iteration, "state$iteration", 0)
  }
  if (!is.null(state$selected)) {
    inner$selected <- check_selected(state$selected, state$model$n_latents, n_points(data$y))
    inner$prob_on <- t(check_matrix(state$prob_on, "state$prob_on", n_cols = nrow(inner$selected)))
    if (!identical(dim(inner$prob_on), dim(inner$selected))) {
      abort_value(state$prob_on, "state$prob_on", "shaped as `state$selected`")
    }
  }
  task <- step_task(selector, state$model, data$y, c(0L, 0L), resolve_threads(NULL))
  list(task = task, state = inner, row_names = data$row_names)
}

# What a single step needs of a fit's task.
step_task <- function(selector, model, y, seed, n_threads, fill = NULL) {
  selector <- resolve_selector(resolve_engine(selector, model, y), model)
  selector["all"] <- list(NULL)
  y <- selector_data(y, selector, model)
  missing <- find_missing(y)
  y <- if (is_source(y)) fill_missing(y, missing, fill) else fill_data(y, missing)
  make_task(list(
    y = fill_cells(model, y, missing), missing = missing, model = model, selector = selector,
    seed = seed, blocks = split_blocks(n_points(y), point_doubles(model)), n_threads = n_threads
  ))
}

# Memory from gps_learn() as the selector keeps it.
read_memory <- function(selector, memory) {
  if (is.null(memory)) return(NULL)
  if (inherits(selector, "gps_selector_custom")) return(list(learned = memory))
  if (inherits(selector, "gps_selector_gp") && (!is.list(memory) || is.null(memory$theta))) {
    abort_value(memory, "state$memory", "from gps_learn() with this selector")
  }
  memory
}

# A fit's slots, and its kernel for a selector of the same form.
fit_step <- function(selector, fit, y) {
  fit <- check_fit(fit)
  data <- read_newdata(fit, y, "y")
  if (n_points(data$y) != fit$n_points) {
    gps_abort(sprintf("`y` must be the %d data points of the fit, not %d.", fit$n_points,
                      n_points(data$y)))
  }
  task <- step_task(selector, fit$model, data$y, fit$seed, resolve_threads(fit$control$n_threads),
                    fit_fill(fit))
  inner <- stored_state(fit)
  inner$prob_on <- fit$prob_on
  if (!identical(selector, fit$selector)) inner["memory"] <- list(NULL)
  if (inherits(selector, "gps_selector_gp")) {
    inner$memory <- begin_kernel(task$selector, task)
    theta <- fit$kernel_theta
    if (length(theta) == length(inner$memory$theta)) {
      inner$memory[c("theta", "units")] <- list(theta, fit$gp$units)
    }
  }
  list(task = task, state = inner, row_names = data$row_names)
}
