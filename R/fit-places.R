# What is where in images, of fits of models whose latents have places.

component_probs <- function(fit) {
  slots <- need_slots(fit, "The posterior of the fit's own data points")
  prob <- function() {
    dense <- scatter_choices(slots$selected, slots$prob_on, fit$model)
    name_columns(name_rows(dense, fit$row_names), fit$latent_names)
  }
  with_memory(prob(),
              "Expectations of %s in %s", plural(count_choices(fit$model), "latent"),
              plural(fit$n_points, "data point"))
}

# Predictions of what is where in the data of a task. `infer` gives for a block list(result, on,
# params): its E-step, which slots are on in the most probable states, and the parameters.
scene_predictors <- list(
  objects = function(task, infer, row_names) {
    parts <- map_blocks(task, function(task, block) {
      found <- infer(task, block)
      list_objects(task$model, found, block)
    })
    if (length(parts) > 0) do.call(rbind, parts) else no_objects
  },
  segmentation = function(task, infer, row_names) {
    maps <- map_blocks(task, function(task, block) {
      found <- infer(task, block)
      segment_block(task, found$params, found$result, found$on, block)
    })
    grid <- choice_grid(task$model)
    maps <- array(as.integer(unlist(maps, use.names = FALSE)), c(grid, n_points(task$y)))
    dimnames <- if (!is.null(row_names)) list(row_names, NULL, NULL)
    array(aperm(maps, c(3, 1, 2)), c(n_points(task$y), grid), dimnames)
  }
)

# The objects of no data points.
no_objects <- data.frame(point = integer(), component = integer(), row = integer(),
                         column = integer(), prob = numeric())

# What is on in the most probable states: one row an object.
list_objects <- function(model, found, block) {
  result <- found$result
  at <- which(found$on > 0 & result$selected > 0, arr.ind = TRUE)
  place <- locate_latents(model, result$selected[at])
  data.frame(point = as.integer(block_columns(block)[at[, 2]]),
             component = place$component, row = place$row, column = place$column,
             prob = result$prob_on[at])
}
