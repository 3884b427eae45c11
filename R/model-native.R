# Models whose numerics are a table in C, of this package or of another.

# A native model's description. Shapes are vectors of names of dimensions (see model-params.R).
# exact_active: most latents on for which the model's log joint is known in closed form.
# gauge: NULL, or the dimension over which one number each is no free parameter: it is fixed, or can
# be changed without changing what can be observed.
# grid, filled in by gps_bind(): NULL, or c(height, width) where latents are a grid of positions for
# each of several components: those of one component exclude each other, neighbours on the cyclic
# grid are alike.
new_native_model <- function(class, name, n_latents, params, ranges, prepared, stats, events, rule,
                             settings, symbol, package = "gpselect", exact_active = Inf,
                             gauge = NULL, defaults = model_defaults()) {
  structure(
    list(name = name, n_latents = n_latents, settings = settings, params = params, ranges = ranges,
         prepared = prepared, stats = stats, events = events, rule = rule,
         exact_active = exact_active, gauge = gauge, defaults = defaults, grid = NULL,
         native = list(package = package, symbol = symbol), version = this_version()),
    class = c(class, "gps_native_model", "gps_model")
  )
}

# Sizes of all arrays that do not depend on the block, computed once.
bind_native <- function(model, n_dims, sizes = NULL, options) {
  model$n_dims <- as.integer(n_dims)
  model$sizes <- sizes
  model$options <- options
  all_sizes <- dimension_sizes(model)
  model$shape <- c(model$n_dims, model$n_latents)
  model$stats_dims <- resolve_dims(model$stats, all_sizes)
  model$stats_lengths <- resolve_lengths(model$stats, all_sizes)
  model$lengths <- c(resolve_lengths(model$params, all_sizes), lengths(options))
  check_table(model)
  model
}

#' @export
gps_mstep.gps_native_model <- function(model, params, stats) {
  stats <- check_stats(model, stats)
  .Call(C_mstep, model$native, model$shape, c(params, model$options), model$lengths, params, stats)
}

#' @export
block_inputs.gps_native_model <- function(model, params, y, block) {
  inputs <- c(complete_params(model, params), model$options)
  dims <- resolve_dims(model$prepared, dimension_sizes(model, block$n_points))
  c(inputs, .Call(C_prepare, model$native, model$shape, inputs, model$lengths, dims, y, block))
}

block_lengths <- function(model, block) {
  c(model$lengths, resolve_lengths(model$prepared, dimension_sizes(model, block$n_points)))
}

#' @export
run_estep.gps_native_model <- function(model, inputs, y, block, selected, states, n_threads, want,
                                       beta = 1, iteration = 0L, chain = NULL) {
  .Call(C_estep, model$native, model$shape, inputs, block_lengths(model, block), model$stats_dims,
        y, block, selected, states,
        list(beta = beta, iteration = iteration, n_threads = n_threads, want = want, chain = chain))
}
