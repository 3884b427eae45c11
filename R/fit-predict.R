# Predictions of a fit: the E-step at its parameters, for its own data with the stored slots, or for
# new data with the selection that the selector makes of them.

# Those of all models come first, then those where components have places, then those of mixtures.
prediction_types <- c("prob", "latent", "state", "response", "imputed", "loglik", "selected",
                      "slots", "sparse", "latent_slots", "latent_sparse", "objects", "segmentation",
                      "class", "uncertainty")

#' Predictions of a fit
#'
#' Selects latents for each data point, without random explorers, and sums over their states
#' (equations 2 and 4 of the paper) or samples them, as the fit did.
#'
#' @param object a fit, as made by [gps_fit()].
#' @param newdata NULL for the data of the fit, with the latents selected there; or new data: a
#'   numeric matrix or data frame with D columns, a vector of length D for one point (D = 1: of any
#'   length), images as `gps_fit()` takes them (also a single one), a [gps_source()] or a sparse
#'   matrix. Columns are matched by name, see [gps_fit()]; others are then ignored. Of no rows the
#'   result has none.
#' @param type what to predict, see below.
#' @param n_threads number of threads, a whole number of at least 1; NULL: as in the fit.
#' @param progress TRUE: where it takes more than a second, a line on the error stream tells how
#'   many points are done. For package progressr see `progress` in [gps_control()].
#' @param ... nothing; a misspelt name is an error.
#'
#' @details New data have no iterations behind them. Where the fit screens (see [gps_screen()]), and
#' where it leaves that to the model's default, more latents are candidates for them than in the
#' fit (all, up to 1024 of them), and rounds of screening go on from what the last one has selected
#' until the evidence of the point, the sum of p(s, y) over the states, gains nothing. Without
#' screening, by `screen = FALSE`, a [selector_custom()] or [selector_full()], the ranking alone
#' decides, and so it does for mixtures with [selector_handcrafted()] left to the default, whose
#' ranking is by the log joint that screening would look at. [selector_random()] draws a dozen sets
#' for each point, which keeps the best, as at the end of a fit. Where neighbours ranked, candidates
#' are also the latents that stood beside a point's best latent in the fit (see `neighbours` in
#' [gps_screen()]; four times as many as there).
#'
#' The hand-crafted selector and your own rank new data directly. The learned one is trained on the
#' fit's data and its last expectations, and ranks by the predictive mean of the Gaussian process;
#' it needs the stored data (`gps_control(keep_data = TRUE)`), unless all latents are selected
#' anyway, or the process was approximated by few basis functions, which the fit holds (see `method`
#' in [selector_gp()]). A prediction does not draw from the session's random numbers: what is random
#' follows from the fit's seed and the point's own values, so that a point is predicted alike, up to
#' rounding, whatever
#' other rows there are and in whatever order. Fits of versions before 0.3.0 predict as they did,
#' by one round (two where components have places) and numbers of rows.
#'
#' A fit by Gibbs sampling (see [gps_control()]) predicts from draws, at least 20 for each point:
#' for its own data its chains go on, new data get new chains. The draws follow from the fit's seed
#' and the number of the row, of new data from their values: the same prediction twice is the same,
#' to the last bit. Probabilities are means of p(on | rest).
#'
#' The posterior is truncated: a latent that is not selected for a point has the probability 0
#' exactly, and its mean is 0. That says that the selection left it out, not that it is surely off:
#' in spike-and-slab data of 16 bars (mean 0, six selected) 1 % of these latents were on, most of
#' them too weakly to be seen. The other probabilities are given that these are off.
#' `type = "selected"` says which were selected; with [selector_full()], or `n_selected` = H,
#' nothing is truncated.
#'
#' Missing cells (NA) are allowed for where they are in a fit, see [missing_cells].
#'
#' New data in another unit than the fit's, or raw ones where those were scaled, are predicted
#' like any others. Where three or more are given, and most lie beyond all values that a column has
#' in the fit and more than five standard deviations from their mean, a warning of class
#' `gps_warning_far` tells of that column.
#'
#' Data pass in blocks; arrays of latents x points larger than the result never exist at once, and
#' no more than a block of a source or sparse matrix. For very many latents and points there are the
#' types `"slots"` and `"sparse"`, which have the same numbers as `"prob"`, and `"latent_slots"` and
#' `"latent_sparse"`, which have those of `"latent"`: the codes of sparse coding. Types `"prob"`,
#' `"latent"`, `"state"` and `"response"` are refused above 2^28 values (2 GB), or as many as the
#' option `gpselect.max_cells` says; the error is of class `gps_error_memory`.
#' @return for n data points, with their row names,
#' * `"prob"`: matrix n x H, posterior probability of each latent to be on (of each cluster:
#'   responsibility), 0 for latents that are not selected;
#' * `"latent"`: matrix n x H, posterior means of the latents (of b z in models with slabs);
#' * `"state"`: integer matrix n x H of 0 and 1, the most probable state; by sampling the most
#'   frequent one among the draws, the first of these where several are;
#' * `"response"`: the reconstruction, posterior mean of the signal, in missing cells of the cells:
#'   n x D, or images as the fit's data were;
#' * `"imputed"`: the data, with the reconstruction in their missing cells, shaped as `"response"`;
#' * `"loglik"`: n logarithms of the sum of p(s, y) over the states, whose sum is the bound (by
#'   sampling estimates, too small on average as the bound is, and not the same draws): the points
#'   with the lowest are outliers, which the model thinks least likely;
#' * `"selected"`: integer matrix n x H', the selected latents in ascending order, 0 in slots that
#'   are empty;
#' * `"slots"`: list of `selected`, the same, and `prob`, matrix n x H' of the probabilities of
#'   these latents, 0 in empty slots: all that `"prob"` says, in n x 2 H' numbers;
#' * `"sparse"`: `"prob"` as a matrix of class `dgCMatrix` of package Matrix, n x H, with entries
#'   for probabilities that are not 0;
#' * `"latent_slots"`, not of mixtures: list of `selected`, as of `"slots"`, and `latent`, matrix
#'   n x H' of the posterior means of these latents, 0 in empty slots;
#' * `"latent_sparse"`, not of mixtures: `"latent"` as a matrix of class `dgCMatrix`, n x H, with
#'   entries for means that are not 0, however small: `Matrix::drop0(x, tol)` leaves those up to
#'   `tol` out;
#' * `"class"`, mixtures only: n integers, the number of the most probable cluster, the first of
#'   several; a factor where clusters have names, see "Starts of mixtures" in [gps_fit()];
#' * `"uncertainty"`, mixtures only: n numbers in 0..1, 1 less the largest probability: the
#'   probability that `"class"` is wrong, if the model is right.
#'
#' Columns of `"prob"`, `"latent"`, `"state"` and `"sparse"` have the names of clusters, where these
#' have any.
#'
#' Where components have places, as in [model_occlusive()], H columns of the first three types and
#' of the sparse ones are components wherever they are; `"selected"`, also in slots, is an array n x
#' H' x 3 of component, row and column (of the window's top left corner, 0 in empty slots); and
#' there are two types more, both of the most probable state:
#' * `"objects"`: data frame with one row for each component that is on: `point`, `component`,
#'   `row`, `column`, `prob`;
#' * `"segmentation"`: integer array n x height x width, the component that most probably owns each
#'   pixel, 0 where that is the background.
#' @seealso [gps_fit()], [expectations()], [posterior_states()], [gps_audit()]
#' @concept classification
#' @examples
#' set.seed(1)
#' bars <- simulate_bars(120)
#' fit <- gps_fit(bars$y[1:100, ], model_binary_sparse(10), selector_handcrafted(), n_selected = 4,
#'                control = gps_control(max_iter = 10, n_starts = 1))
#' round(predict(fit, bars$y[101:103, ]), 2)
#' predict(fit, bars$y[101, ], type = "selected")
#' str(predict(fit, bars$y[101:103, ], type = "slots"))
#' if (requireNamespace("Matrix", quietly = TRUE)) dim(predict(fit, type = "latent_sparse"))
#' @export
predict.gps_fit <- function(object, newdata = NULL,
                            type = c("prob", "latent", "state", "response", "imputed", "loglik",
                                     "selected", "slots", "sparse", "latent_slots",
                                     "latent_sparse", "objects", "segmentation", "class",
                                     "uncertainty"),
                            n_threads = NULL, progress = interactive(), ...) {
  object <- check_fit(object)
  extra <- refuse_columns(further(...), object$col_names)
  refuse_unknown(extra, c("newdata", "type", "n_threads", "progress"))
  type <- check_type(type, object)
  check_flag(progress, "progress")
  if (!is.null(n_threads)) n_threads <- check_count(n_threads, "n_threads")
  if (type %in% sparse_types) require_package("Matrix", sprintf("`type` = %s", quoted(type)))
  if (is.null(newdata)) {
    check_prediction_size(object, object$n_points, type)
    if (type %in% stored_types) return(predict_stored(object, type))
    row_names <- object$row_names
    y <- need_data(object, sprintf("predict() without `newdata` of type \"%s\"", type))
    task <- new_prediction_task(object, y, type, n_threads, is_new = FALSE)
    state <- stored_state(object)
  } else {
    data <- read_newdata(object, newdata, allow_empty = TRUE)
    row_names <- data$row_names
    check_prediction_size(object, n_points(data$y), type)
    task <- new_prediction_task(object, data$y, type, n_threads)
    state <- prediction_state(object)
  }
  task["pass_teller"] <- list(open_teller(n_points(task$y), progress, shown_after))
  on.exit(close_teller(task$pass_teller))
  with_memory(predict_task(object, task, state, type, row_names),
              "A prediction of type \"%s\" for %s", type, plural(n_points(task$y), "data point"))
}

# The prediction of a task as users get it.
predict_task <- function(fit, task, state, type, row_names) {
  if (type %in% names(scene_predictors)) {
    infer <- function(task, block) {
      result <- infer_block(task, state, block, c("prob", "draws"))
      list(result = result, on = best_slots(result, task), params = state$params)
    }
    return(scene_predictors[[type]](task, infer, row_names))
  }
  if (type %in% slot_types) {
    return(shape_slots(predict_slots(task, state, type), type, fit, row_names))
  }
  result <- predict_blocks(task, state, predictors[[type]])
  if (type %in% c("response", "imputed")) return(shape_rows(result, fit, row_names))
  if (type == "class") return(shape_classes(as.vector(result), fit, row_names))
  if (ncol(result) == 1 && type %in% c("loglik", "uncertainty")) {
    return(stats::setNames(as.vector(result), row_names))
  }
  if (type == "selected") return(shape_selected(result, fit$model, row_names))
  name_columns(name_rows(result, row_names), fit$latent_names)
}

# A type that the fit's model has; words say of another model's that it is one.
check_type <- function(type, fit) {
  if (identical(type, prediction_types)) return(type[1])
  scene <- names(scene_predictors)
  of_clusters <- c("class", "uncertainty")
  others <- c(if (!has_images(fit$model)) scene, if (is_one_hot(fit)) latent_types else of_clusters)
  types <- setdiff(prediction_types, others)
  way <- paste("; this one's types are", paste(quoted(types), collapse = ", "))
  if (is_one_of(type, scene)) need_places(fit$model, sprintf("`type` = \"%s\"", type), way)
  if (is_one_of(type, c(of_clusters, cluster_words)) && !is_one_hot(fit)) {
    gps_abort(sprintf(paste("`type` = %s is for mixtures, in which one cluster is on: \"state\"",
                            "says which latents are."), quoted(type)))
  }
  if (is_one_of(type, latent_types) && is_one_hot(fit)) {
    gps_abort(sprintf(paste("`type` = %s is for models whose latents have values: the cluster of a",
                            "mixture is on or off, and %s has its probabilities."), quoted(type),
                      quoted(sub("latent_", "", type))))
  }
  check_choice(type, "type", types)
}

# What each type asks of the E-step, how many columns it has, and how the E-step's result of a block
# becomes n x columns; `block` is open.
predictors <- list(
  prob = list(
    want = character(), empty = 0, n_columns = function(task) count_choices(task$model),
    use = function(result, task, block) scatter_choices(result$selected, result$prob_on, task$model)
  ),
  latent = list(
    want = "latent", empty = 0, n_columns = function(task) count_choices(task$model),
    use = function(result, task, block) scatter_choices(result$selected, result$latent, task$model)
  ),
  state = list(
    want = c("prob", "draws"), empty = 0L, n_columns = function(task) count_choices(task$model),
    use = function(result, task, block) best_states(result, task)
  ),
  response = list(
    want = "response", empty = 0, n_columns = function(task) task$model$n_dims,
    use = function(result, task, block) t(result$response)
  ),
  imputed = list(
    want = "response", empty = 0, n_columns = function(task) task$model$n_dims,
    use = function(result, task, block) t(impute_block(task, block, result$response))
  ),
  loglik = list(want = character(), empty = 0, n_columns = function(task) 1L,
                use = function(result, task, block) result$log_evidence),
  class = list(want = character(), empty = 0L, n_columns = function(task) 1L,
               use = function(result, task, block) {
                 likeliest_latent(result$selected, result$prob_on)
               }),
  uncertainty = list(want = character(), empty = 0, n_columns = function(task) 1L,
                     use = function(result, task, block) doubt_of(result$prob_on)),
  selected = list(want = NULL, empty = 0L, n_columns = function(task) task$n_selected,
                  use = function(result, task, block) t(result$selected))
)

# Blocks of data through selection (unless the state has slots) and E-step; `use` of each into its
# rows of the result.
predict_blocks <- function(task, state, predictor) {
  out <- matrix(predictor$empty, n_points(task$y), predictor$n_columns(task))
  for (block in task$blocks) {
    open <- open_block(task, block)
    result <- infer_block(open$task, state, open$block, predictor$want)
    out[block_columns(block), ] <- predictor$use(result, open$task, open$block)
    tell_block(task, block)
  }
  out
}

# list(selected, value), slots x n, of all blocks of data: the probabilities of the selected
# latents, or their posterior means.
predict_slots <- function(task, state, type) {
  n <- n_points(task$y)
  part <- if (type %in% latent_types) "latent" else "prob_on"
  slots <- list(selected = matrix(0L, task$n_selected, n), value = matrix(0, task$n_selected, n))
  for (block in task$blocks) {
    open <- open_block(task, block)
    result <- infer_block(open$task, state, open$block, if (part == "latent") part else character())
    slots$selected[, block_columns(block)] <- result$selected
    slots$value[, block_columns(block)] <- result[[part]]
    tell_block(task, block)
  }
  slots
}

# Selected slots of a block and, unless `want` is NULL, the E-step on their states.
infer_block <- function(task, state, block, want) {
  if (is.null(state$selected) && !task$is_before_rounds) {
    block$streams <- .Call(C_streams, task$y, block)
  }
  inputs <- block_inputs(task$model, state$params, task$y, block)
  selected <- if (is.null(state$selected)) {
    select_new(task, state, block, inputs)
  } else {
    block_slots(state$selected, block)
  }
  result <- if (!is.null(want)) {
    chain <- if (task$method == "gibbs") block_chain(task, state, block, selected)
    run_estep(task$model, inputs, task$y, block, selected, task$states, task$n_threads, want,
              iteration = state$iteration, chain = chain)
  }
  c(list(selected = selected), result)
}

# The task of a prediction: as the fit's, on other data, without anything random but ties.
new_prediction_task <- function(fit, y, type, n_threads = NULL, is_new = TRUE) {
  if (is.null(n_threads)) n_threads <- fit$control$n_threads
  missing <- find_missing(y)
  y <- fill_new(fit, y, missing)
  task <- make_task(list(
    y = y, missing = missing, model = fit$model,
    selector = resolve_selector(with_engine_of(fit$selector, fit), fit$model),
    is_before_rounds = isTRUE(fit$ranks_once), is_new = is_new,
    n_selected = as.integer(fit$n_selected),
    max_active = fit$max_active, control = fit$control, seed = fit$seed, method = fit$method,
    sweeps = prediction_sweeps(fit$control$sweeps),
    states = build_states(fit$model, fit$n_selected, fit$max_active, fit$method),
    n_threads = resolve_threads(n_threads)
  ))
  task$control$monotone <- FALSE
  if (is_new) {
    task$selector <- screen_new(task, fit)
    task$selector <- train_selector(fit, task)
  }
  task$blocks <- prediction_blocks(task, type)
  task
}

prediction_blocks <- function(task, type) {
  n_states <- if (type == "state") max(task$states$n_states, task$n_selected * task$sweeps[2])
  is_dense <- type %in% c("prob", "latent", "state")
  n_scattered <- if (is_dense) task$model$n_latents else task$n_selected
  split_blocks(n_points(task$y), max(point_doubles(task$model, n_scattered), n_states,
                                     task$selector$n_trained))
}

prediction_state <- function(fit) {
  state <- new_state(fit$params, 0L, 0, fit$memory)
  state$iteration <- fit$n_iter + 2L
  if (!is.null(fit$gp$beside)) state$beside <- list(latent = fit$gp$beside)
  state
}

# The same with the slots of the fit's own data points, or of some.
stored_state <- function(fit, points = seq_len(fit$n_points)) {
  state <- prediction_state(fit)
  slots <- need_slots(fit, "The posterior of the fit's own data points",
                      if (length(points) < fit$n_points) points)
  state$selected <- slots$selected
  if (!is.null(slots$value)) state$value <- slots$value
  state
}

# The fit's selector as it ranks new data: no random candidates; a learned one with its weights.
train_selector <- function(fit, task) {
  selector <- task$selector
  if (!is.null(selector$screen)) selector$screen$explore <- c(0L, 0L)
  is_full <- selects_all(fit)
  if (is_full || !inherits(selector, "gps_selector_gp")) return(selector)
  units <- fit$gp$units
  if (!is.null(fit$gp$cross)) {
    kept <- c(fit$gp$prepared, fit$gp[c("cross", "units")])
    selector$trained <- utils::modifyList(selector_engine(selector),
                                          c(kept, n_threads = task$n_threads))
    return(selector)
  }
  what <- "Selection for new data by a learned selector"
  y <- if (is.null(fit$gp$refs)) need_matrix(fit, what) else need_data(fit, what)
  rows <- held_rows(fit)
  if (!is.null(rows)) y <- rows_data(y, rows)
  y <- fill_new(fit, y, find_missing(y))
  slots <- need_slots(fit, what, rows)
  theta <- fit$kernel_theta
  if (is.null(theta)) theta <- start_theta(selector, fit$model, y, units)
  trained <- train_engine(selector, fit$model, theta, y, units, slots, task$n_threads)
  # A point is predicted alike whatever others there are: no index is made for many of them.
  trained[c("index", "use_index")] <- list(fit$gp$index, FALSE)
  selector$trained <- trained
  selector$n_trained <- engine_doubles(selector$trained, ncol(y))
  selector
}

# New data as read_data() gives them, with the fit's columns in the fit's order.
read_newdata <- function(fit, newdata, arg = "newdata", allow_empty = FALSE) {
  if (is_one_of(newdata, prediction_types)) {
    gps_abort(sprintf("`%s` must be data, not %s, which is a `type`: predict(fit, type = %s).", arg,
                      quoted(newdata), quoted(newdata)))
  }
  if (inherits(newdata, "dist")) abort_table(newdata, arg)
  is_vector <- is.numeric(newdata) && is.null(dim(newdata))
  listed <- advise_listed(newdata, fit$model$n_dims, arg)
  newdata <- as_rows(plain_numbers(newdata), fit)
  newdata <- pick_columns(newdata, fit$col_names, arg, "the fit's data")
  data <- read_data(newdata, arg, may_miss = TRUE, allow_empty = allow_empty)
  data$y <- admit_missing(data$y, fit$model, arg)
  n_dims <- fit$model$n_dims
  has_images <- !is.null(fit$image_dim) && !is.null(data$image_dim)
  if (has_images && !identical(data$image_dim, fit$image_dim)) {
    gps_abort(sprintf("`%s` must have images of %s, not %s.%s", arg, shown_dim(fit$image_dim),
                      shown_dim(data$image_dim), advise_order(dim(newdata), fit$image_dim, arg)))
  }
  if (n_dims(data$y) != n_dims) {
    gps_abort(sprintf("`%s` must have %s, not %d.%s", arg, plural(n_dims, "column"),
                      n_dims(data$y), if (is_vector) {
                        " A vector is one data point; several are the rows of a matrix."
                      } else if (!is.null(listed)) {
                        listed
                      } else {
                        advise_transposed(c(n_points(data$y), n_dims(data$y)), n_dims)
                      }))
  }
  check_values(fit$model, data$y, arg, names = data$col_names)
  tell_far(data, fit, arg)
}

# A bare vector (of one dimension: points, else one point) or a single image as a matrix.
as_rows <- function(newdata, fit) {
  if (!is.numeric(newdata) && !is.logical(newdata)) return(newdata)
  is_image <- !is.null(fit$image_dim) && identical(dim(newdata), fit$image_dim)
  if (length(dim(newdata)) > 1 && !is_image) return(newdata)
  if (fit$model$n_dims == 1) return(matrix(as.vector(newdata)))
  matrix(as.vector(newdata), 1, dimnames = if (!is_image) list(NULL, names(newdata)))
}
