# What of a fit is decided before its data are read: options that cannot go together are refused
# without an iteration, and without a block of a source.

# list(selector, control, n_selected, max_active, method, grid), all resolved for the model.
plan_task <- function(y, model, selector, n_selected, max_active, control) {
  model <- nominal_model(model, y)
  control <- resolve_control(control, model)
  is_batched <- !is.null(control$batch_size)
  if (is_batched) step_size(control$step, 1)
  check_full(selector, model)
  selector <- resolve_engine(selector, model, y, is_batched)
  selector <- resolve_selector(selector, model)
  check_learner(selector, model, y)
  if (inherits(selector, "gps_selector_full")) n_selected <- check_all_selected(n_selected, model)
  n_selected <- check_n_selected(n_selected, model)
  max_active <- check_max_active(max_active, model, n_selected)
  method <- resolve_method(control$method, model, n_selected, max_active)
  if (method == "gibbs" && control$monotone) refuse_monotone()
  check_explore(selector, n_selected)
  list(selector = selector, control = control, n_selected = n_selected, max_active = max_active,
       method = method, grid = model$grid)
}

# The model with its sizes, which the data's number of dimensions says; what it takes from the
# numbers themselves is that of data of mean 0 and variance 1. Models from elsewhere may look at
# them.
nominal_model <- function(model, y) {
  if (!identical(model$native$package, "gpselect")) return(bind_data(model, y))
  gps_bind(model, structure(
    list(n_points = n_points(y), n_dims = n_dims(y), centre = numeric(n_dims(y)),
         variances = rep(1, n_dims(y)), variance = 1, squares = rep(1, n_dims(y)), square = 1,
         range = c(-1, 1)),
    class = "gps_moments"
  ))
}

# All latents on a grid are each component at all places: slots for all of them there are not.
check_full <- function(selector, model) {
  if (!inherits(selector, "gps_selector_full") || model$n_latents == count_choices(model)) {
    return(invisible(selector))
  }
  gps_abort(sprintf(
    paste("selector_full() is not for the model %s: its %s latents are %d components at %s places",
          "each, of which a data point has a slot for one place of each component at most. Use",
          "selector_handcrafted(), which judges all places, with `n_selected` = %d."),
    dQuote(model$name, FALSE), format_number(model$n_latents), count_choices(model),
    format_number(prod(model$grid)), count_choices(model)
  ))
}

# A number beside selector_full() that says the same, or none.
check_all_selected <- function(n_selected, model) {
  all <- count_choices(model)
  if (is.null(n_selected) || check_n_selected(n_selected, model) == all) return(all)
  gps_abort(sprintf(paste(
    "selector_full() selects all %d %s, which `n_selected` = %d contradicts: leave `n_selected`",
    "out, or choose another selector."
  ), all, if (model$rule$min_active == 1) "clusters" else "latents", as.integer(n_selected)))
}

check_explore <- function(selector, n_selected) {
  if (selector$explore * n_selected <= most_explorers) return(invisible(selector))
  gps_abort(sprintf(
    "`explore` = %s of `n_selected` = %d are more than %d explorers for each data point.",
    format(selector$explore), n_selected, most_explorers
  ))
}

# What a learned selector would find out when it first regresses.
check_learner <- function(selector, model, y) {
  if (!inherits(selector, "gps_selector_gp")) return(invisible(selector))
  kernel_theta(selector$kernel, n_dims(y), list(one = 1, each = 1))
  switch(selector$method,
         exact = if (is_small_source(y) && needs_kernel_matrix(selector$kernel, y)) {
           check_dense_size(n_points(y))
         },
         fourier = check_fourier(selector$kernel, selector$rank),
         divide = check_divided(selector, model, n_points(y)))
  invisible(selector)
}

needs_kernel_matrix <- function(kernel, y) !uses_features(kernel, n_dims(y), n_points(y))

# Parameters to begin with that do not have the model's shapes.
check_start <- function(start, model, y) {
  if (is.null(start)) return(invisible())
  model <- nominal_model(model, y)
  if (!inherits(start, "gps_fit")) {
    check_params(model, start)
  } else {
    check_fit(start)
    check_all_params(model, plus_no_intercept(model, start$params), "start")
  }
  invisible()
}
