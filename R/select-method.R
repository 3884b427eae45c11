# Which engine a learned selector gets, and whether selection pays at all.

# A learned selector with its method, rank and engine for these data. `is_batched`: sums over
# batches only.
resolve_engine <- function(selector, model, y, is_batched = FALSE) {
  n_points <- n_points(y)
  if (is_batched && is.function(selector$learn)) refuse_batches("one with `learn`")
  if (!inherits(selector, "gps_selector_gp")) return(selector)
  if (is_batched && regresses_slots(model)) refuse_grid_batches(model)
  if (selector$method == "auto") {
    selector$is_auto <- TRUE
    selector[c("method", "why", "all")] <- choose_auto(selector, model, y,
                                                       is_batched)[c("method", "why", "all")]
  }
  check_engine_kernel(selector_engine(selector), selector$kernel)
  if (!is.null(engines[[selector$method]]$rank)) {
    selector$rank <- check_rank(selector$rank, selector$method, n_points)
  }
  if (is_batched && !is_by_sums(selector, model) && !isTRUE(engines[[selector$method]]$few)) {
    refuse_batches(sprintf("`method` = %s", quoted(selector$method)))
  }
  if (regresses_slots(model)) engine_check_grid(selector_engine(selector))
  selector
}

# A selector's engine, once its method is settled.
selector_engine <- function(selector) {
  new_engine(selector$method, selector$rank, selector$objective, selector$learn_inputs,
             selector$cross, selector$index)
}

# More numbers than this are not kept as affinities of all points (64 MB): the targets are held in
# slots instead, and a block's affinities made when they are asked for.
max_kept_affinities <- 2^23

# Whether a task's targets are regressed in slots. Features need no kernel matrix, and so stay dense
# where the model leaves the choice.
has_sparse_targets <- function(selector, task) {
  if (regresses_slots(task$model)) return(TRUE)
  row <- engines[[selector$method]]
  if (isTRUE(row$few)) return(TRUE)
  if (isTRUE(row$dense)) return(FALSE)
  n_points <- n_points(task$y)
  as.double(task$model$n_latents) * n_points > max_kept_affinities &&
    !uses_features(selector$kernel, n_dims(task$y), n_points)
}

# Share of the kernel's trace at which no more of them are chosen. A term of small variance may be
# what tells latents apart, beside a linear term that makes up nearly all of the trace.
selection_tol <- 1e-6

# What regression at fixed hyper-parameters needs, whatever the targets. Coefficients of each point
# over all others are cheap once there is an inverse.
prepare_engine <- function(selector, model, theta, y, n_threads) {
  engine_prepare(plan_selection(selector, model, theta, y, n_threads), theta, many = TRUE)
}

plan_selection <- function(selector, model, theta, y, n_threads) {
  is_sparse <- has_sparse_targets(selector, list(y = y, model = model))
  engine_plan(selector_engine(selector), selector$kernel, theta, y, n_threads, selection_tol,
              dense = is_sparse && ncol(y) <= max_dense_points)
}

# Whether a learned selection is fed by sums over blocks of the data: where latents lie on no grid,
# and the engine needs no more.
is_by_sums <- function(selector, model) {
  inherits(selector, "gps_selector_gp") && isTRUE(engines[[selector$method]]$sums) &&
    !regresses_slots(model)
}

# Whether a learned selector has latents to rank.
learns_ranking <- function(task) inherits(task$selector, "gps_selector_gp") && !selects_all(task)

# Whether a process of all points is computed, of which matrices of points x points are made.
is_whole_gp <- function(task) learns_ranking(task) && identical(task$selector$method, "exact")

# Numbers of each point in a block of a task. Candidates are made without features.
task_doubles <- function(task) {
  n_features <- if (isTRUE(task$selector$by_candidates)) 0L else least_point_doubles
  point_doubles(task$model, task$n_selected, n_features)
}

refuse_batches <- function(which) {
  gps_abort(sprintf(
    paste("Minibatches need a selector that learns from sums over data points or from neighbours,",
          "and %s needs all points at once: use `method` \"ichol\", \"inducing\", \"fourier\" or",
          "\"neighbours\"."),
    which
  ))
}

# Latents on a grid are regressed by coefficients of each point over all others, which a batch does
# not have.
refuse_grid_batches <- function(model) {
  gps_abort(sprintf(
    paste("`batch_size` cannot be used with selector_gp() for the model %s: each data point would",
          "be ranked by the predictions of others. What works: selector_handcrafted() in batches,",
          "or selector_gp() without `batch_size`."),
    quoted(model$name)
  ))
}

# Method and rank in words.
selector_words <- function(selector) {
  words <- engine_words(selector_engine(selector))
  if (!is.null(selector$recall)) {
    words <- sprintf("%s, of which an index finds %s %%", words,
                     plain_number(100 * selector$recall, 3))
  }
  if (!isTRUE(selector$is_auto)) return(words)
  sprintf("%s (chosen %s)", words,
          if (is.null(selector$why)) "by the number of points" else selector$why)
}

# Predictions are made as the fit was; one that does not say how was exact.
with_engine_of <- function(selector, fit) {
  if (!inherits(selector, "gps_selector_gp")) return(selector)
  gp <- if (is.null(fit$gp)) list(method = "exact") else fit$gp
  selector[c("method", "rank")] <- gp[c("method", "rank")]
  selector
}

# ---- what "auto" stands for ----

# list(method, why, all): the method; by what it was chosen, unless by the number of points alone;
# and TRUE where all latents of the model take less time than a selection of them would.
choose_auto <- function(selector, model, y, is_batched) {
  chosen <- choose_method(selector$kernel, n_dims(y), n_points(y))["method"]
  if (is_batched || !is_small_source(y)) chosen <- list(method = "ichol")
  gain <- gain_cost(model)
  is_open <- chosen$method == "ichol" && !is.null(gain) && n_points(y) > max_auto_points
  if (!is_open || length(falling_factors(selector$kernel)) == 0) return(chosen)
  n_latents <- model$n_latents
  all <- n_latents * gain
  few <- selection_cost(gain, n_points(y), n_dims(y))
  chosen$method <- "neighbours"
  chosen$why <- "by the numbers of points and clusters"
  if (all <= few && !is.list(selector$screen)) chosen$all <- TRUE
  chosen
}

# Nanoseconds that a data point takes in an iteration with a selection by neighbours, about: votes
# and screening with some eight gains; and the search for neighbours, whose cost for a point grows
# with the number of points, shared by as many iterations as a fit has.
selection_cost <- function(gain, n_points, n_dims) {
  2500 + 8 * gain + n_points * (0.5 + 0.06 * n_dims) / usual_iterations
}

usual_iterations <- 30

# The same beside sums over basis functions, of whose gains there are as many either way: votes
# alone; and what features, their sums and predictions for all latents take. Both were measured.
near_cost <- function(n_points, n_dims) {
  800 + n_points * (0.5 + 0.06 * n_dims) / usual_iterations
}

sums_cost <- function(rank, n_latents) 300 + 0.065 * rank * n_latents
