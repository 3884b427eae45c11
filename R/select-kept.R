# What a fit keeps of its learned selection, by which it ranks new data.

# What a fit keeps of its Gaussian process: the method, and of one that is fed by sums all that
# predicts.
kept_gp <- function(task, state) {
  selector <- task$selector
  if (!inherits(selector, "gps_selector_gp")) return(NULL)
  memory <- state$memory
  gp <- list(method = selector$method, rank = selector$rank, is_auto = isTRUE(selector$is_auto),
             units = memory$units)
  gp[c("why", "all")] <- selector[c("why", "all")]
  if (isTRUE(task$selector$by_candidates)) return(c(gp, kept_near(task, state)))
  if (!isTRUE(selector$by_sums) || is.null(memory$prepared)) return(gp)
  parts <- c("basis", "kernel", "theta", "transform", "noise", "jitter")
  cross <- if (is.null(state$sums)) memory$cross else state$sums$cross
  c(gp, list(prepared = c(list(form = "basis"), memory$prepared[parts]), cross = cross))
}

# New data are sought in an index from so many data points on: less time than theirs alone takes.
kept_index_points <- 8192L

# What predictions need beside data and slots: an index, `by_index` whether the fit itself sought
# neighbours by it, and what stands beside each latent [g x H].
kept_near <- function(task, state) {
  engine <- state$memory$prepared
  kept <- list(by_index = !is.null(engine$index), index = kept_index(task, state, engine),
               refs = engine$refs)
  c(kept, list(beside = if (beside_wanted(task) > 0) state$beside$latent))
}

# The index is made for the parameters that predict. A fit that was cut short is not kept waiting.
kept_index <- function(task, state, engine) {
  is_small <- is.null(engine$y) || ncol(engine$y) < kept_index_points
  is_wanted <- task$control$keep_data && !isFALSE(engine$use_index)
  if (is_small || !is_wanted || was_cut_short(state)) return(NULL)
  engine$use_index <- TRUE
  add_index(engine, ncol(engine$y), engine_scale(engine))$index
}

is_beside_sound <- function(beside, n_latents) {
  is.integer(beside) && is.matrix(beside) && ncol(beside) == n_latents && nrow(beside) > 0 &&
    !anyNA(beside) && min(beside) >= 0 && max(beside) <= n_latents
}

are_references <- function(refs, n_points) {
  is.integer(refs) && length(refs) > 0 && !anyNA(refs) && refs[1] >= 1 && all(diff(refs) > 0) &&
    refs[length(refs)] <= n_points
}
