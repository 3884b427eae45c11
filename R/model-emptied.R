# Latents that are out of the model. A latent whose column of W is 0 throughout is never on: its
# probability is 0, it is not counted in a shared pi nor among the free parameters, and no selection
# has it. The parameters alone tell, wherever they come from.

# Numbers of the latents that are out, of models that can have such.
emptied_latents <- function(model, params) UseMethod("emptied_latents")

#' @export
emptied_latents.default <- function(model, params) integer()

#' @export
emptied_latents.gps_binary_sparse <- function(model, params) which(!is_in_model(params))

#' @export
emptied_latents.gps_spike_slab <- function(model, params) which(!is_in_model(params))

#' @export
emptied_latents.gps_max_spike_slab <- function(model, params) which(!is_in_model(params))

is_in_model <- function(params) colSums(params$W != 0) > 0

can_empty <- function(model) has_method(model, "emptied_latents")

n_left <- function(model, params) model$n_latents - length(emptied_latents(model, params))

# The same from what the model has prepared for a block: log odds of -Inf.
emptied_inputs <- function(inputs) which(utils::head(inputs$prior, -1) == -Inf)

# Latents in the model beside one.
others_left <- function(params, latent) setdiff(which(is_in_model(params)), latent)

# Parameters without some latents. Of a slab that nobody uses there is nothing to know: mean 0 and
# variance 1, independent of all others.
empty_params <- function(params, latents) {
  params$W[, latents] <- 0
  if (length(params$pi) > 1) params$pi[latents] <- 0
  if (is.null(params$mu)) return(params)
  params$mu[latents] <- 0
  set_variances(params, latents, 1)
}

# A probability of 0 is for latents that are out; the first other one that has it is named.
check_emptied <- function(params, arg) {
  if (is.null(params$pi) || all(params$pi > 0)) return(invisible())
  is_out <- if (is.null(params$W)) FALSE else !is_in_model(params)
  bad <- if (length(params$pi) > 1) which(params$pi <= 0 & !is_out) else 1L
  if (length(bad) == 0) return(invisible())
  gps_abort(sprintf(paste(
    "`%s$pi` must lie between 0 and 1, both excluded, but is %s%s: 0 is for a latent that is out",
    "of the model, with a column of `W` that is 0."
  ), arg, format(params$pi[bad[1]]),
  if (length(params$pi) > 1) paste(" for latent", bad[1]) else ""))
}

# New variances of some slabs, which are then independent of all others.
set_variances <- function(params, latents, variances) {
  if (is.matrix(params$psi)) {
    params$psi[latents, ] <- params$psi[, latents] <- 0
    params$psi[cbind(latents, latents)] <- variances
  } else {
    params$psi[latents] <- variances
  }
  params
}

# What the bound would lose at once without each latent: states in which it is off remain, so log Z
# falls by -log(1 - prob_on). Rounding of probabilities makes it a lower limit for latents that are
# sorely needed.
removal_cost <- function(on, weights = NULL) {
  -rowSums(weigh_columns(log1p(-pmin(on, 1 - 1e-15)), weights))
}
