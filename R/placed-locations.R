# Latents with locations: component x place on a grid. Latent number = place + places x (component -
# 1), places column by column.

# What can be selected for a data point at once: latents, or where only one place of a component can
# be, components.
count_choices <- function(model) {
  if (is.null(model$grid)) model$n_latents else model$n_latents %/% as.integer(prod(model$grid))
}

# The choice that each latent is; 0 stays 0.
choice_of <- function(model, latent) {
  if (is.null(model$grid)) return(latent)
  latent[] <- as.integer((latent + prod(model$grid) - 1) %/% prod(model$grid))
  latent
}

# Component, row and column of latents (0 of empty slots).
locate_latents <- function(model, latent) {
  place <- ifelse(latent > 0, (latent - 1) %% prod(model$grid), -1)
  list(component = as.vector(choice_of(model, latent)),
       row = as.integer(ifelse(place < 0, 0, place %% model$grid[1] + 1)),
       column = as.integer(ifelse(place < 0, 0, place %/% model$grid[1] + 1)))
}

# Values of slots (slots x n) at their latents, or at their components: n x choices.
scatter_choices <- function(selected, values, model) {
  if (is.null(model$grid)) return(scatter_slots(selected, values, model$n_latents))
  out <- matrix(0, ncol(selected), count_choices(model))
  choice <- choice_of(model, selected)
  for (slot in seq_len(nrow(selected))) {
    at <- cbind(seq_len(ncol(selected)), choice[slot, ])[choice[slot, ] > 0, , drop = FALSE]
    out[at] <- out[at] + values[slot, choice[slot, ] > 0]
  }
  out
}

slot_usage <- function(model, selected, prob_on) {
  held <- selected > 0
  sums <- rowsum(prob_on[held], choice_of(model, selected[held]))
  usage <- numeric(count_choices(model))
  usage[as.integer(rownames(sums))] <- sums
  usage
}
