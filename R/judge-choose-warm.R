# A fit of one number of latents as the start of another one: parameters with latents added or taken
# away, which EM and mending then put to use.

# Parameters of a fit for a model with so many latents: NULL where that cannot be. Latents with
# places are not counted out.
resized_params <- function(fit, n_latents) {
  model <- fit$model
  if (!chooses_latents(model)) return(NULL)
  if (n_latents < model$n_latents) return(prune_params(fit, n_latents))
  if (n_latents > model$n_latents) return(grow_params(fit, n_latents))
  fit$params
}

# Without the latents that the fit could best do without: those that are out already, then those
# without which the bound would fall least at once.
prune_params <- function(fit, n_latents) {
  cost <- latent_costs(fit)
  cost[emptied_latents(fit$model, fit$params)] <- -1
  kept <- sort(utils::head(order(-cost), n_latents))
  share_out(fit$model, take_latents(fit$model, fit$params, kept))
}

# What the bound loses at once without each latent, from the slots.
latent_costs <- function(fit) {
  slots <- need_slots(fit, "gps_choose()")
  held <- slots$selected > 0
  loss <- weigh_columns(loss_without(slots$prob_on), observation_weights(fit))
  sums_by(loss[held], slots$selected[held], fit$model$n_latents)
}

# With further latents that change nothing yet, and that mending can move: doubles of the largest
# cluster, or latents that are out of the model.
grow_params <- function(fit, n_latents) {
  model <- fit$model
  n_old <- model$n_latents
  is_one_hot <- model$rule$min_active == 1
  if (!is_one_hot && !can_empty(model)) return(NULL)
  new <- seq_len(n_latents - n_old) + n_old
  largest <- rep_len(order(-component_usage(fit)), length(new))
  params <- take_latents(model, fit$params, c(seq_len(n_old), largest))
  if (!is_one_hot) return(empty_params(params, new))
  for (i in seq_along(new)) {
    both <- c(largest[i], new[i])
    params$pi[both] <- params$pi[largest[i]] / 2
  }
  params
}

# Parameters of some latents, or of some twice.
take_latents <- function(model, params, latents) {
  for (name in names(params)) {
    axes <- model$params[[name]]
    sizes <- dimension_sizes(model)[axes]
    for (axis in which(axes %in% c("latents", "probs") & sizes == model$n_latents)) {
      params[[name]] <- take_along(params[[name]], axis, latents)
    }
  }
  params
}

# Probabilities of clusters add up to one.
share_out <- function(model, params) {
  if (model$rule$min_active == 1) params$pi <- params$pi / sum(params$pi)
  params
}
