# Which way round binary latents with an intercept stand: s -> 1 - s, W -> -W, b -> b + W and pi ->
# 1 - pi leave model A what it is. Only of latents that are rarely on can points do without those
# that are not selected, so that each is turned to be off in at least half of the points. For
# latents of one shared pi that raises the bound besides, where some are turned and others not.

# What gps_mend() returns: the parameters, and as `flip` the latents that were turned. Not where the
# bound must not fall, as it may where the states are truncated, nor in batches, which keep slots of
# their own.
orient_latents <- function(params, stats, progress) {
  mended <- list(params = params, relabel = NULL)
  if (is.null(params$intercept) || isTRUE(progress$is_monotone) || isTRUE(progress$is_batch)) {
    return(mended)
  }
  usage <- stats$on / stats$count
  flip <- which(usage > 0.5 * (1 + 1e-9) & is_in_model(params))
  if (length(flip) == 0) return(mended)
  list(params = flip_params(params, usage, flip), relabel = NULL, flip = flip,
       events = c(turned_round = length(flip)))
}

# `usage` is the share of points in which each latent is on.
flip_params <- function(params, usage, flip) {
  params$intercept <- params$intercept + rowSums(params$W[, flip, drop = FALSE])
  params$W[, flip] <- -params$W[, flip]
  if (length(params$pi) > 1) {
    params$pi[flip] <- 1 - params$pi[flip]
  } else {
    usage[flip] <- 1 - usage[flip]
    params$pi <- max(1e-4, mean(usage[is_in_model(params)]))
  }
  params
}
