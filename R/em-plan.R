# The task of a fit. What can be decided before its data are read is: options that cannot go
# together are refused without an iteration, and without a block of a source.

# list(selector, control, n_selected, max_active, method), all resolved for the model.
plan_task <- function(y, model, selector, n_selected, max_active, control) {
  model <- nominal_model(model, y)
  control <- resolve_control(control, model, n_points(y))
  is_batched <- !is.null(control$batch_size)
  if (is_batched) {
    check_batches(model)
    step_size(control$step, 1)
  }
  check_full(selector, model)
  selector <- resolve_engine(selector, model, y, is_batched)
  selector <- resolve_selector(selector, model)
  check_learner(selector, model, y)
  if (inherits(selector, "gps_selector_full")) n_selected <- check_all_selected(n_selected, model)
  if (!is.null(n_selected)) selector["all"] <- list(NULL)
  if (!is.null(selector$all)) n_selected <- count_choices(model)
  n_selected <- check_n_selected(n_selected, model)
  max_active <- check_max_active(max_active, model, n_selected)
  method <- resolve_method(control$method, model, n_selected, max_active)
  if (method == "gibbs" && control$monotone) refuse_monotone()
  check_explore(selector, n_selected)
  list(selector = selector, control = control, n_selected = n_selected, max_active = max_active,
       method = method)
}

# Running averages are of statistics, which a model of R functions has none of.
check_batches <- function(model) {
  if (!inherits(model, "gps_custom_model")) return(invisible(model))
  gps_abort("`batch_size` is not for models of R functions: leave it NULL.")
}

# The model with its sizes, which the data's number of dimensions says; what it takes from the
# numbers themselves is that of data of mean 0 and variance 1. Models from elsewhere may look at
# them.
nominal_model <- function(model, y) {
  if (!is_built_in(model)) return(bind_data(model, y))
  gps_bind(model, structure(
    list(n_points = n_points(y), n_dims = n_dims(y), centre = numeric(n_dims(y)),
         variances = rep(1, n_dims(y)), variance = 1, squares = rep(1, n_dims(y)), square = 1,
         range = c(-1, 1)),
    class = "gps_moments"
  ))
}

# All latents with places are each component at all places: slots for all of them there are not.
check_full <- function(selector, model) {
  if (!inherits(selector, "gps_selector_full") || model$n_latents == count_choices(model)) {
    return(invisible(selector))
  }
  gps_abort(sprintf(
    paste("selector_full() is not for the model %s: its %s latents are %d components at %s places",
          "each, of which a data point has a slot for one place of each component at most. Use",
          "selector_handcrafted(), which judges all places, with `n_selected` = %d."),
    dQuote(model$name, FALSE), format_number(model$n_latents), count_choices(model),
    format_number(count_places(model)), count_choices(model)
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
  if (is_small_source(y) || is.null(needs_whole(selector))) {
    engine_check_size(selector_engine(selector), selector$kernel, n_dims(y), n_points(y),
                      model$n_latents)
  }
  invisible(selector)
}

refuse_monotone <- function() {
  gps_abort(paste("`monotone` = TRUE excludes Gibbs sampling:",
                  "its estimates are too noisy to compare selections point by point."))
}

# A selector with the model's defaults for what was left NULL.
resolve_selector <- function(selector, model) {
  check_smooth(selector, model)
  check_screened(selector$screen, model)
  if (is.null(selector$screen)) selector$screen <- default_screen(selector, model)
  if (inherits(selector, "gps_selector_gp")) selector$smooth <- smooth_of(selector, model)
  is_open <- is.list(selector$screen) && is.null(selector$screen$neighbours)
  if (is_open && has_candidates(list(selector = selector, model = model))) {
    selector$screen$neighbours <- beside_default
  }
  if (identical(selector$screen, FALSE)) selector["screen"] <- list(NULL)
  selector
}

# An approximate ranking misses a latent here and there, which costs more than screening does.
default_screen <- function(selector, model) {
  if (!can_screen(model)) return(NULL)
  is_approximate <- inherits(selector, "gps_selector_gp") && is.null(model$grid) &&
    !selector$method %in% c(methods_that("exact"), "auto")
  if (is_approximate) gps_screen() else model$defaults$screen
}

check_n_selected <- function(n_selected, model) {
  n_choices <- count_choices(model)
  if (is.null(n_selected)) {
    return(as.integer(min(n_choices, if (model$rule$min_active == 1) {
      if (n_choices > many_clusters) selected_of_many else max(2, ceiling(n_choices / 4))
    } else {
      6
    })))
  }
  check_count(n_selected, "n_selected", 1, n_choices)
}

# Of many clusters few are near a data point, however many there are.
selected_of_many <- 5L

# GPS_MAX_EXPLORERS of src/select.h.
most_explorers <- 4096L

# Everything that stays as it is during a fit.
new_task <- function(y, model, selector, n_selected, max_active, control, seed = stream_seed(),
                     image_dim = NULL, weights = NULL, bound_unit = 1) {
  model <- set_image(model, image_dim)
  given <- list(selector = selector, control = control)
  plan <- plan_task(y, model, selector, n_selected, max_active, control)
  control <- plan$control
  missing <- find_missing(y)
  y <- selector_data(y, plan$selector, model)
  moments <- data_moments(y, missing, weights)
  y <- fill_missing(y, missing, moments$centre)
  model <- bind_data(model, y, moments, weights)
  y <- fill_cells(model, y, missing)
  batches <- if (!is.null(control$batch_size)) split_batches(y, control$batch_size, seed)
  n_updates <- max(1L, length(batches))
  may_explore <- plan$n_selected > 1 && plan$n_selected < count_choices(model)
  has_places <- !is.null(batches) && has_candidates(list(selector = plan$selector, model = model))
  parts <- list(
    y = y, missing = missing, places = if (has_places) place_batches(batches),
    blocks = split_blocks(n_points(y), point_doubles(model, plan$n_selected)),
    n_whole = total_weight(weights, n_points(y)), weights = weights, bound_unit = bound_unit,
    moments = moments, batches = batches, model = model, given = given, sweeps = control$sweeps,
    units = if (!is.null(batches)) units_of_all(plan, y, model, seed),
    first_rate = first_rate(model, lengths(batches)),
    states = build_states(model, plan$n_selected, plan$max_active, plan$method), seed = seed,
    n_threads = resolve_threads(control$n_threads),
    explore = if (may_explore) plan$selector$explore else 0,
    max_iter = as.double(n_updates) * control$max_iter, began = elapsed(),
    deadline = elapsed() + control$time_limit
  )
  make_task(c(parts, plan[c("selector", "n_selected", "max_active", "method", "control")],
              annealing_of(model, control, n_updates)))
}
