# The truncated posterior itself: its best states, and draws from it.

#' The posterior of a fit's data points
#'
#' `posterior_states()` lists the most probable states of one data point, `posterior_sample()` draws
#' states of the data points from their truncated posterior (equation 2 of the paper).
#'
#' @param fit a fit that has kept its data, as made by [gps_fit()].
#' @param n number of the data point, a whole number in 1..n.
#' @param top most states to list, a whole number of at least 1.
#' @param n_draws number of draws for each point, a whole number of at least 1.
#' @param points numbers of the data points, whole numbers in 1..n; NULL: all.
#' @param seed NULL, or an integer for [set.seed()]; the session's generator is put back afterwards.
#' @param ... nothing.
#' @details
#' For a fit by Gibbs sampling (see [gps_control()]) `posterior_states()` counts among 1000 draws,
#' the same ones in each call, and `posterior_sample()` gives the kept draws of one chain for each
#' point, which goes on from the fit: neighbours among them depend on each other.
#'
#' States are those of the selected latents: a latent that is not selected for a point is on in none
#' of them, so that its probability is 0 here whatever the data say, and the probabilities are those
#' given that it is off. `predict(type = "selected")` says which were selected.
#'
#' States say which latents are on; in models with slabs the intensities are integrated out. Where
#' components have places, as in [model_occlusive()], draws say which components are on, wherever
#' they are.
#' @return `posterior_states()`: a data frame with, from the most probable state down,
#'   `probability`, `log_joint` (log p(s, y); NA where a model has no closed form of it) and
#'   `latents`, a list of the numbers of the latents that are on, or of their names where they have
#'   some (where components have places: of data frames of `component`, `row` and `column`).
#'   States whose probability is zero to machine precision, or that have not been drawn, are left
#'   out.
#'
#'   `posterior_sample()`: an integer matrix points x H (or components) of 0 and 1, for `n_draws`
#'   above 1 an array n_draws x points x H. More values than the option `gpselect.max_cells` says
#'   (2^28) are refused.
#' @concept posterior distribution
#' @examples
#' set.seed(1)
#' bars <- simulate_bars(100)
#' fit <- gps_fit(bars$y, model_binary_sparse(10), selector_handcrafted(), n_selected = 4,
#'                control = gps_control(max_iter = 10, n_starts = 1))
#' posterior_states(fit, 1, top = 3)
#' dim(posterior_sample(fit, 20, points = 1:5))
#' @name posterior
NULL

#' @rdname posterior
#' @export
posterior_states <- function(fit, n, top = 10, ...) {
  refuse_unknown(further(...), names(formals(posterior_states)))
  need_given()
  fit <- check_fit(fit)
  n <- check_count(n, "n", 1, fit$n_points)
  top <- check_count(top, "top")
  states <- states_of_point(fit, n, "posterior_states()")
  best <- utils::head(order(-states$prob), min(top, sum(states$prob > 0)))
  shown <- data.frame(probability = states$prob[best], log_joint = states$log_joint[best])
  latents <- lapply(best, function(state) {
    names_of_latents(fit, states$selected[states$on[, state] > 0])
  })
  shown$latents <- shape_latents(fit$model, latents)
  shown
}

# A list of data frames of component, row and column, as a column of a data frame.
#' @export
format.gps_places <- function(x, ...) {
  need_made(all(vapply(unclass(x), function(place) {
    parts <- unclass(place)[c("component", "row", "column")]
    is.list(parts) && all(vapply(parts, is.integer, NA)) && length(unique(lengths(parts))) == 1
  }, NA)), "x", "posterior_states()")
  vapply(x, function(place) {
    paste(sprintf("%d at (%d, %d)", place$component, place$row, place$column), collapse = ", ")
  }, "")
}

#' @export
`[.gps_places` <- function(x, i) structure(unclass(x)[i], class = "gps_places")

#' @export
print.gps_places <- function(x, ...) {
  refuse_shown(further(...))
  print(format(x), quote = FALSE)
  invisible(x)
}

# The states of a data point: list(selected [slots], on [slots x states], prob, log_joint), and the
# reconstruction where it is wanted.
states_of_point <- function(fit, n, what, want = character()) {
  y <- need_data(fit, what)
  task <- new_prediction_task(fit, rows_data(y, n), "state", is_new = FALSE)
  task$sweeps[2] <- counted_draws
  result <- infer_block(task, stored_state(fit, n), new_block(0, 1, n - 1, missing = task$missing),
                        c("prob", "draws", want))
  states <- if (fit$method == "exact") {
    list(on = slots_on(task$states), prob = result$prob[, 1],
         log_joint = log(result$prob[, 1]) + result$log_evidence)
  } else {
    count_draws(task, fit, result)
  }
  c(states, list(selected = result$selected[, 1], response = result$response))
}

# Draws for a table of states.
counted_draws <- 1000L

# The states among the draws of one point, by the first draw of each: list(on [slots x states],
# prob, log_joint).
count_draws <- function(task, fit, result) {
  on <- matrix(as.integer(result$draws != 0), nrow(result$selected))
  key <- match_states(on)
  first <- unique(key)
  on <- on[, first, drop = FALSE]
  list(on = on, prob = tabulate(key, counted_draws)[first] / counted_draws,
       log_joint = joint_of_states(task, fit, result$selected, on))
}

# Log joints of states [slots x states] of one point, NA where the model does not know them.
joint_of_states <- function(task, fit, selected, on) {
  log_joint <- rep(NA_real_, ncol(on))
  is_known <- colSums(on) <= task$model$exact_active
  if (!any(is_known)) return(log_joint)
  block <- new_block(0, 1, missing = task$missing)
  result <- run_estep(task$model, block_inputs(task$model, fit$params, task$y, block), task$y,
                      block, selected, template_of(on[, is_known, drop = FALSE]), task$n_threads,
                      "prob")
  log_joint[is_known] <- log(result$prob[, 1]) + result$log_evidence
  log_joint
}

#' @rdname posterior
#' @export
posterior_sample <- function(fit, n_draws = 1, points = NULL, seed = NULL, ...) {
  refuse_unknown(further(...), names(formals(posterior_sample)))
  need_given()
  fit <- check_fit(fit)
  y <- need_data(fit, "posterior_sample()")
  n_draws <- check_count(n_draws, "n_draws")
  points <- check_point_numbers(points, fit$n_points)
  check_cells(n_draws, as.double(length(points)) * count_choices(fit$model),
              "`n_draws` and `points`")
  check_dense(as.double(n_draws) * length(points), count_choices(fit$model),
              sprintf("`n_draws` = %d draws for %s", n_draws,
                      plural(length(points), "data point")),
              "Fewer `points` or draws at a time need less.", bytes = 4)
  task <- new_prediction_task(fit, rows_data(y, points), "state", is_new = FALSE)
  state <- stored_state(fit, points)
  sample <- if (fit$method == "exact") draw_blocks else sample_blocks
  draws <- with_user_seed(seed, with_memory(sample(task, state, n_draws),
                                            "`n_draws` = %d draws for %s", n_draws,
                                            plural(length(points), "data point")))
  names <- list(fit$row_names[points], fit$latent_names)
  dimnames(draws) <- if (any(lengths(names) > 0)) c(list(NULL), names)
  if (n_draws > 1) return(draws)
  matrix(draws, length(points), dimnames = dimnames(draws)[-1])
}

# Whole numbers of data points; NULL: all.
check_point_numbers <- function(points, n_points, arg = "points") {
  points <- plain_numbers(points)
  if (is.null(points)) return(seq_len(n_points))
  is_valid <- is.numeric(points) && length(points) > 0 && !anyNA(points) &&
    all(points >= 1 & points <= n_points & points == round(points))
  if (!is_valid) abort_value(points, arg, sprintf("whole numbers between 1 and %d", n_points))
  as.integer(points)
}

# Draws as n_draws x points x choices, integers. Uniform numbers are drawn point by point, whatever
# the blocks.
draw_blocks <- function(task, state, n_draws) {
  out <- array(0L, c(n_draws, n_points(task$y), count_choices(task$model)))
  on <- slots_on(task$states)
  for (block in task$blocks) {
    open <- open_block(task, block)
    result <- infer_block(open$task, state, open$block, "prob")
    drawn <- on[, draw_states(result$prob, n_draws), drop = FALSE]
    out <- put_draws(out, block, choice_of(task$model, result$selected), drawn)
  }
  out
}

# The same from chains of Gibbs sweeps.
sample_blocks <- function(task, state, n_draws) {
  task$sweeps[2] <- n_draws
  task$seed <- stream_seed()
  out <- array(0L, c(n_draws, n_points(task$y), count_choices(task$model)))
  for (block in prediction_blocks(task, "state")) {
    open <- open_block(task, block)
    result <- infer_block(open$task, state, open$block, "draws")
    drawn <- matrix(as.integer(result$draws != 0), nrow(result$selected))
    out <- put_draws(out, block, choice_of(task$model, result$selected), drawn)
  }
  out
}

# Draws of a block, slots x (draws of the first point, of the second, ...), at the choices of their
# slots in `out`, n_draws x points x choices. One choice may be in several slots.
put_draws <- function(out, block, choice, drawn) {
  n_draws <- dim(out)[1]
  for (slot in seq_len(nrow(choice))) {
    at <- cbind(rep(seq_len(n_draws), block$n_points), rep(block_columns(block), each = n_draws),
                rep(choice[slot, ], each = n_draws))
    at <- at[at[, 3] > 0 & drawn[slot, ] > 0, , drop = FALSE]
    out[at] <- 1L
  }
  out
}

# States drawn from the columns of prob (n_states x n): n_draws x n.
draw_states <- function(prob, n_draws) {
  drawn <- vapply(seq_len(ncol(prob)), function(n) {
    cumulative <- cumsum(prob[, n])
    findInterval(stats::runif(n_draws) * cumulative[length(cumulative)], cumulative) + 1L
  }, integer(n_draws))
  matrix(drawn, n_draws)
}
