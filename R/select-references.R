# Selection by neighbours of data that do not lie in memory as a whole, or come in minibatches.
# Points whose neighbours are asked for pass block by block, and find them among the references: all
# data points where these are in memory, else as many as may be held. `refs` of an engine are their
# numbers, NULL where they are all points; `near` and `weights` are there of all points. In refits,
# too, rows keep the neighbours that they have among all points.

# References for each latent at least, where there are so many points.
least_references <- 10L

# Numbers of the points that are held, ascending: a thinned set, and of few points that have latents
# already, labels of clusters, all, since no other point might ever hear of theirs.
choose_references <- function(task, targets) {
  n_points <- n_points(task$y)
  most <- max(most_whole %/% n_dims(task$y), least_references * task$model$n_latents)
  drawn <- sampled_rows(task, most, -2)
  labelled <- which(colSums(targets$selected > 0) > 0)
  if (length(drawn) == n_points || length(labelled) > most / 2) return(as.integer(drawn))
  others <- setdiff(drawn, labelled)
  others <- others[spaced_points(length(others), most - length(labelled))]
  sort(as.integer(c(labelled, others)))
}

# An engine that knows the neighbours of all points of a task.
prepare_near <- function(selector, task, memory, targets) {
  if (!is_source(task$y)) {
    y <- in_units(task$y, memory$units)
    return(prepare_engine(selector, task$model, memory$theta, y, task$n_threads))
  }
  refs <- choose_references(task, targets)
  y <- in_units(rows_data(task$y, refs), memory$units)
  engine <- plan_selection(selector, task$model, memory$theta, y, task$n_threads)
  engine$refs <- refs
  survey_near(task, memory, engine_prepare(engine, memory$theta))
}

# The same at an engine's parameters, in a pass over the data. Weights that need jitter need it from
# their block on.
survey_near <- function(task, memory, engine) {
  is_known <- is_near_known(engine)
  if (!is_known) engine <- add_index(engine, n_points(task$y), engine_scale(engine))
  own <- integer(n_points(task$y))
  own[engine$refs] <- seq_along(engine$refs)
  jitter <- engine$jitter
  parts <- map_blocks(task, function(task, block) {
    y <- in_units(block_data(task$y, block), memory$units)
    points <- block_columns(block)
    near <- if (is_known) {
      columns_of(engine$near, points)
    } else {
      find_near(engine, y, own[points])
    }
    engine$jitter <- jitter
    found <- near_weights(engine, y, near)
    jitter <<- found$jitter
    list(near = near, weights = found$weights, variance = found$variance)
  })
  engine$near <- join_columns(lapply(parts, `[[`, "near"))
  engine$weights <- join_columns(lapply(parts, `[[`, "weights"))
  engine$variance <- unlist(lapply(parts, `[[`, "variance"))
  engine[c("scale", "jitter")] <- list(engine_scale(engine), jitter)
  engine
}

# Targets of the points that an engine holds.
held_targets <- function(engine, targets) {
  engine_targets(engine, if (is.null(engine$refs)) targets else cut_targets(targets, engine$refs))
}

# At most `n` of the rows that a refit may judge by all others.
refit_rows_of <- function(task, engine, n, number) {
  if (is.null(engine$refs)) return(sampled_rows(task, n, number))
  engine$refs[sample_numbers(length(engine$refs), n, task$seed, number)]
}

# ---- minibatches ----

# list(batch, column): in which batch each point lies, and where there.
place_batches <- function(batches) {
  rows <- order(unlist(batches))
  list(batch = rep(seq_along(batches), lengths(batches))[rows],
       column = unlist(lapply(lengths(batches), seq_len))[rows])
}

# Candidates for the points of a batch's block, from the slots that their neighbours were given when
# their own of `batches` was last visited; one that never was has none.
rank_batch <- function(task, batches, engine, block) {
  points <- task$batch_rows[block_columns(block)]
  near <- columns_of(engine$near, points)
  held <- if (is.null(engine$refs)) near else c(0L, engine$refs)[near + 1L]
  slots <- .Call(C_batch_slots, batches, task$places$batch, task$places$column, held,
                 task$n_selected)
  own <- array(seq_along(near), dim(near))
  own[near == 0L] <- 0L
  near_means(engine, own, columns_of(engine$weights, points), slot_targets(slots, task$model),
             seq_len(ncol(near)))
}

# A refit by what all points say of some rows. `given`: all targets, the rows, and the box that it
# keeps to. What prepare() makes keeps the neighbours that are known.
refit_among <- function(selector, task, memory, given) {
  engine <- memory$prepared
  engine$rows <- if (is.null(engine$refs)) given$rows else match(given$rows, engine$refs)
  refit <- climb_engine(engine, memory$theta, held_targets(engine, given$all), selector$refit_evals,
                        box = given$box, n_targets = task$model$n_latents)
  engine["rows"] <- list(NULL)
  c(refit, list(prepare = function() {
    if (is.null(engine$refs)) return(engine_prepare(engine, refit$theta, many = TRUE))
    survey_near(task, memory, engine_prepare(engine, refit$theta))
  }))
}
