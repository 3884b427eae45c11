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

# ---- latents beside latents ----

# Candidates beside the best latent of a point, where latents are ranked by candidates; for each of
# them a pass tells two that were among the point's best, and four are kept in mind.
beside_default <- 5L
beside_ranked <- 2L
beside_kept <- 4L

count_ranked <- function(screen) {
  if (screen$neighbours > 0) 1L + beside_ranked * screen$neighbours else 0L
}

beside_wanted <- function(task) {
  screen <- task$selector$screen
  if (is.list(screen) && !is.null(screen$neighbours)) screen$neighbours else 0L
}

# The `n` latents that most often stood beside each, n x H; NULL before anything is known.
beside_of <- function(state, n) {
  if (n == 0 || is.null(state$beside) || nrow(state$beside$latent) < n) return(NULL)
  state$beside$latent[seq_len(n), , drop = FALSE]
}

# A pass over all data halves the weights of those before.
halved_by <- function(task) 0.5^(if (is.null(task$batch_scale)) 1 else 1 / task$batch_scale)

# The same after another pass, list(latent, affinity), from what screening has `ranked`. The more
# often a latent is among the best of points whose best one is another, the more it is worth a try
# for all of these points.
learn_beside <- function(task, beside, ranked) {
  screen <- task$selector$screen
  if (is.null(ranked) || is.null(screen)) return(beside)
  .Call(C_beside, beside, ranked, task$model$n_latents,
        as.integer(min(beside_kept * screen$neighbours, task$model$n_latents)), halved_by(task))
}
