# The learned selection by neighbours: its refits, whose rows keep the neighbours that they have
# among all points.

# A refit by what all points say of some rows. `given`: all targets, the rows, their data and the
# targets in use there. What prepare() makes keeps the neighbours that are known.
refit_among <- function(selector, task, memory, given) {
  engine <- memory$prepared
  if (is.null(engine)) engine <- prepare_near(selector, task, memory, given$all)
  n_latents <- task$model$n_latents
  box <- gp_bounds(selector$kernel, given$y, given$used, narrow_reach, n_latents)
  engine$rows <- if (is.null(engine$refs)) given$rows else match(given$rows, engine$refs)
  refit <- climb_engine(engine, memory$theta, held_targets(engine, given$all), selector$refit_evals,
                        box = contain_theta(box, memory$theta), n_targets = n_latents)
  engine["rows"] <- list(NULL)
  c(refit, list(prepare = function() {
    if (is.null(engine$refs)) return(engine_prepare(engine, refit$theta, many = TRUE))
    survey_near(task, memory, engine_prepare(engine, refit$theta))
  }))
}
