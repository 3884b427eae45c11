# The learned selection by neighbours: its refits, whose rows keep the neighbours that they have
# among all points.

# A refit by what neighbours say of some rows. `given`: all targets, the rows, their data and the
# targets in use there. What prepare() makes keeps the neighbours that are known.
refit_near <- function(selector, task, memory, given) {
  engine <- memory$prepared
  if (is.null(engine)) {
    y <- in_units(task$y, memory$units)
    engine <- engine_plan(selector_engine(selector), selector$kernel, memory$theta, y,
                          task$n_threads)
  }
  n_latents <- task$model$n_latents
  box <- gp_bounds(selector$kernel, given$y, given$used, narrow_reach, n_latents)
  engine$rows <- given$rows
  refit <- climb_engine(engine, memory$theta, given$all, selector$refit_evals,
                        box = contain_theta(box, memory$theta), n_targets = n_latents)
  engine["rows"] <- list(NULL)
  c(refit, list(prepare = function() engine_prepare(engine, refit$theta, many = TRUE)))
}
