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
#' @return `posterior_states()`: a data frame with, from the most probable state down,
#'   `probability`, `log_joint` (log p(s, y)) and `latents`, a list of the numbers of the latents
#'   that are on. States whose probability is zero to machine precision are left out.
#'
#'   `posterior_sample()`: an integer matrix points x H of 0 and 1, for `n_draws` above 1 an array
#' n_draws x points x H.
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
posterior_states <- function(fit, n, top = 10) {
  check_fit(fit)
  y <- need_data(fit, "posterior_states()")
  n <- check_count(n, "n", 1, fit$n_points)
  top <- check_count(top, "top")
  task <- new_prediction_task(fit, y[, n, drop = FALSE], "state", is_new = FALSE)
  result <- infer_block(task, prediction_state(fit), task$blocks[[1]],
                        fit$selected[, n, drop = FALSE], "prob")
  prob <- result$prob[, 1]
  best <- utils::head(order(-prob), min(top, sum(prob > 0)))
  shown <- data.frame(probability = prob[best], log_joint = log(prob[best]) + result$log_evidence)
  shown$latents <- lapply(best, function(state) result$selected[task$states$active[, state], 1])
  shown
}

#' @rdname posterior
#' @export
posterior_sample <- function(fit, n_draws = 1, points = NULL, seed = NULL) {
  check_fit(fit)
  y <- need_data(fit, "posterior_sample()")
  n_draws <- check_count(n_draws, "n_draws")
  points <- check_point_numbers(points, fit$n_points)
  task <- new_prediction_task(fit, y[, points, drop = FALSE], "state", is_new = FALSE)
  stored <- fit$selected[, points, drop = FALSE]
  draws <- with_user_seed(seed, draw_blocks(task, fit, stored, n_draws))
  dimnames <- if (!is.null(fit$row_names)) list(NULL, fit$row_names[points], NULL)
  dimnames(draws) <- dimnames
  if (n_draws > 1) return(draws)
  matrix(draws, length(points), dimnames = dimnames[-1])
}

# Whole numbers of data points; NULL: all.
check_point_numbers <- function(points, n_points) {
  if (is.null(points)) return(seq_len(n_points))
  is_valid <- is.numeric(points) && length(points) > 0 && all(points %in% seq_len(n_points))
  if (!is_valid) abort_value(points, "points", sprintf("whole numbers between 1 and %d", n_points))
  as.integer(points)
}

# Draws as n_draws x points x H integers. Uniform numbers are drawn point by point, whatever the
# blocks.
draw_blocks <- function(task, fit, stored, n_draws) {
  n_latents <- fit$model$n_latents
  out <- array(0L, c(n_draws, ncol(task$y), n_latents))
  on <- slots_on(task$states)
  for (block in task$blocks) {
    result <- infer_block(task, prediction_state(fit), block, stored, "prob")
    columns <- block_columns(block)
    state <- draw_states(result$prob, n_draws)
    for (slot in seq_len(task$states$n_slots)) {
      at <- cbind(rep(seq_len(n_draws), block$n_points), rep(columns, each = n_draws),
                  rep(result$selected[slot, ], each = n_draws))
      held <- at[, 3] > 0
      out[at[held, , drop = FALSE]] <- on[slot, state][held]
    }
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
