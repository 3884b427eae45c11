# What "auto" stands for: the engine that these data, this model and this kernel get, and whether
# selection pays at all.

# list(method, why, all): the method; by what it was chosen, unless by the number of points alone;
# and TRUE where all latents of the model take less time than a selection of them would.
choose_auto <- function(selector, model, y, is_batched) {
  chosen <- choose_method(selector$kernel, n_dims(y), n_points(y))["method"]
  if (is_batched || !is_small_source(y)) chosen <- list(method = "ichol")
  gain <- gain_cost(model)
  is_open <- chosen$method == "ichol" && !is.null(gain) && n_points(y) > max_auto_points
  if (!is_open || length(falling_factors(selector$kernel)) == 0) return(chosen)
  n_latents <- model$n_latents
  all <- n_latents * gain
  few <- selection_cost(gain, n_points(y), n_dims(y))
  chosen$method <- "neighbours"
  chosen$why <- "by the numbers of points and clusters"
  if (all <= few && !is.list(selector$screen)) chosen$all <- TRUE
  chosen
}

# Nanoseconds that a data point takes in an iteration with a selection by neighbours, about: votes
# and screening with some eight gains; and the search for neighbours, whose cost for a point grows
# with the number of points, shared by as many iterations as a fit has.
selection_cost <- function(gain, n_points, n_dims) {
  2500 + 8 * gain + n_points * (0.5 + 0.06 * n_dims) / usual_iterations
}

usual_iterations <- 30
