# The E-step at the prompt: data points in rows, latents counted from 1.

#' One E-step
#'
#' The truncated posterior of each data point (equation 2 of the paper) on the states of its
#' selected latents: by summing over them, or by Gibbs sampling, see [gps_control()]. Sampling draws
#' two numbers from the session's random numbers.
#'
#' @param model a model whose sizes are fixed: `gps_bind(model, y)`.
#' @param params named list of parameters.
#' @param y numeric matrix n x D, a [gps_source()] or a sparse matrix; NA are [missing_cells].
#' @param selected integer matrix n x H' of selected latents, 1..H, each row without repetition;
#'   0 = an empty slot. A data point of a mixture whose slots are all empty has no state: its log
#'   evidence is -Inf, and it takes no part in the statistics.
#' @param max_active most latents on at once, a whole number in 1..H'; NULL: all.
#' @param want which of "stats", "latent", "response" and, by summing, "prob" or, by sampling,
#'   "draws" to compute besides `prob_on` and `log_evidence`.
#' @param weights NULL, or n numbers of at least 0: for how many observations each data point stands
#'   in the statistics.
#' @param beta inverse temperature of the log joint, above 0; 1 is none.
#' @param n_threads number of threads; NULL: see [gps_control()].
#' @param method,sweeps as in [gps_control()].
#' @param value where the chains start: numeric matrix n x H' of the values of the selected latents,
#'   0 = off; NULL: they are new. For sampling only.
#' @return a list with `prob_on` (n x H', probability that each selected latent is on),
#'   `log_evidence` (n, the log of the sum of `p(s, y)` over the states; their sum is the bound)
#'   and, where wanted, `stats` (the model's expected sufficient statistics), `latent` (n x H',
#'   posterior means), `response` (n x D, posterior mean of the signal) and `prob` (n x states).
#'   By sampling, `log_evidence` is an estimate with `variance` (n), `value` (n x H') is the last
#'   state of each chain and `draws` is an array n x H' x draws.
#' @seealso [gps_affinity()] and [gps_mstep()], the other steps; [predict.gps_fit()]
#' @examples
#' y <- matrix(rnorm(60), 20)
#' model <- gps_bind(model_binary_sparse(4), y)
#' params <- gps_init(model, y)
#' selected <- matrix(1:2, 20, 2, byrow = TRUE)
#' step <- gps_estep(model, params, y, selected)
#' sum(step$log_evidence)
#' sampled <- gps_estep(model, params, y, selected, method = "gibbs", sweeps = c(5, 20))
#' c(bound = sum(sampled$log_evidence), error = sqrt(sum(sampled$variance)))
#' @export
gps_estep <- function(model, params, y, selected, max_active = NULL, want = "stats", beta = 1,
                      n_threads = NULL, method = c("auto", "exact", "gibbs"), sweeps = NULL,
                      value = NULL, weights = NULL) {
  need_given()
  model <- check_bound_model(model)
  params <- align_params(model, params, "params")
  named <- column_names(model, params)
  given <- data_names(y)
  y <- read_rows(pick_columns(plain_numbers(y), named, "y", "`params`"), model)
  params <- check_all_params(model, params, "params")
  selected <- check_selected(selected, model$n_latents, n_points(y))
  max_active <- check_max_active(max_active, model, nrow(selected))
  method <- resolve_method(check_choice(method, "method", c("auto", "exact", "gibbs")), model,
                           nrow(selected), max_active)
  check_want(want, method)
  states <- build_states(model, nrow(selected), max_active, method)
  beta <- check_number(beta, "beta", 0, open = TRUE)
  sweeps <- check_sweeps(sweeps)
  if (!is.null(value)) value <- check_value(value, selected)
  weights <- check_weights(weights, n_points(y))
  chain <- if (method == "gibbs") new_chain(sweeps, stream_seed(), 0L, value, selected)
  n_threads <- resolve_threads(n_threads)
  blocks <- if (is_source(y)) split_blocks(n_points(y), point_doubles(model)) else
    list(new_block(0, n_points(y)))
  missing <- find_missing(y)
  data <- list(y = y, blocks = blocks, missing = missing, weights = weights)
  result <- with_memory(join_parts(map_blocks(data, function(task, block) {
    if (!is.null(chain)) chain$value <- block_slots(chain$value, block)
    run_estep(model, block_inputs(model, params, task$y, block), task$y, block,
              block_slots(selected, block), states, n_threads, want, beta, chain = chain)
  })), "An E-step of %s", plural(n_points(y), "data point"))
  for (name in c("prob_on", "latent", "response", "prob", "value")) {
    if (!is.null(result[[name]])) result[[name]] <- t(result[[name]])
  }
  if (!is.null(result$draws)) result$draws <- aperm(result$draws, c(3, 1, 2))
  if (!is.null(result$response)) {
    result$response <- name_response(result$response, named, given)
  }
  sampled <- if (method == "gibbs") c("value", "variance")
  result[c("prob_on", "log_evidence", intersect(estep_results, c(want, sampled)))]
}

# Columns in the order in which the data were given, with names where these or the parameters have
# any.
name_response <- function(response, named, given) {
  place <- match_columns(given, named, "y", "`params`")
  shown <- if (is.null(given)) named else if (is.null(place)) given else named
  if (is.null(shown)) return(response)
  colnames(response) <- shown
  if (is.null(place)) response else response[, order(place), drop = FALSE]
}

# Data with the model's dimensions, D x n or a source.
read_rows <- function(y, model) {
  if (!is_stored(y)) {
    y <- check_matrix(y, "y", n_cols = model$n_dims, may_miss = TRUE)
    refuse_missing(t(y), model)
    check_values(model, y, points_in_rows = TRUE, names = colnames(y))
    return(t(refuse_large(y, points_in_rows = TRUE)))
  }
  data <- read_data(y, may_miss = TRUE)
  y <- admit_missing(data$y, model)
  check_columns(y, model)
  check_values(model, y, names = data$col_names)
}

# What users get beside `prob_on` and `log_evidence` where it is wanted, in this order.
estep_results <- c("stats", "latent", "response", "prob", "value", "variance", "draws")

check_want <- function(want, method) {
  choices <- c("stats", "latent", "response", if (method == "gibbs") "draws" else "prob")
  if (!is.character(want)) {
    abort_value(want, "want", paste("some of", paste(quoted(choices), collapse = ", ")))
  }
  for (word in want) check_choice(word, "want", choices)
}

# Where chains start, n x slots -> slots x n.
check_value <- function(value, selected) {
  value <- t(check_matrix(value, "value", n_cols = nrow(selected)))
  if (ncol(value) != ncol(selected)) {
    gps_abort(sprintf("`value` must have %d rows like `selected`, not %d.", ncol(selected),
                      ncol(value)))
  }
  unname(value)
}

# n x slots matrix of latents -> slots x n integers.
check_selected <- function(selected, n_latents, n_points) {
  selected <- t(check_matrix(selected, "selected"))
  if (ncol(selected) != n_points || any(selected != round(selected)) || any(selected < 0) ||
        any(selected > n_latents)) {
    gps_abort(sprintf("`selected` must be %d rows of whole numbers between 0 and %d.", n_points,
                      n_latents))
  }
  storage.mode(selected) <- "integer"
  refuse_repeated(selected)
  selected
}

# A latent that stands in two slots would count twice.
refuse_repeated <- function(selected) {
  is_filled <- selected > 0
  # A number for each latent of each point.
  key <- (selected + (col(selected) - 1) * (max(selected, 0) + 1))[is_filled]
  if (anyDuplicated(key) == 0) return(invisible())
  n_slots <- nrow(selected)
  for (i in seq_len(n_slots - 1)) {
    for (j in (i + 1):n_slots) {
      bad <- which(selected[i, ] == selected[j, ] & selected[i, ] > 0)
      if (length(bad) > 0) {
        gps_abort(sprintf("Row %d of `selected` names latent %d twice.", bad[1],
                          selected[i, bad[1]]))
      }
    }
  }
}

# The larger of what a point has of data and of affinities. Models that keep nothing of each latent
# for each point have slots instead: few large blocks, since each has statistics of its own.
point_doubles <- function(model, n_selected = model$n_latents, n_features = least_point_doubles) {
  most <- max(model$n_latents, model$n_dims)
  if (model$rule$min_active == 0 || has_point_inputs(model)) return(most)
  min(most, max(n_selected, model$n_dims, n_features))
}

# A selector's features of a point may be as many.
least_point_doubles <- 256L

# Whether what a model prepares depends on the data.
has_point_inputs <- function(model) {
  !inherits(model, "gps_native_model") || "points" %in% unlist(model$prepared)
}
