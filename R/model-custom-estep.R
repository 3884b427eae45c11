# The E-step of a model of R functions: their values on all states of the data points, part by part.

# What functions of a model take, by their place.
own_arguments <- list(
  init = "y", log_joint = c("params", "y", "states"), mstep = c("params", "y", "posterior"),
  gradient = c("params", "y", "states", "weights"), draw = c("params", "n")
)

# The value of one of the model's functions, or an error of class gps_error_model that names it.
call_own <- function(model, kind, ...) {
  name_failure(kind, model$functions[[kind]](...), describe_own(kind, list(...)))
}

describe_own <- function(kind, arguments) {
  words <- c(own_arguments[[kind]], if (kind == "mstep") "weights" else "latents")
  names(arguments) <- words[seq_along(arguments)]
  describe_sizes(arguments)
}

#' @export
takes_missing.gps_custom_model <- function(model) isTRUE(model$settings$takes_missing)

# Whether a model cannot say what it expects in a cell.
lacks_response <- function(model) inherits(model, "gps_custom_model")

#' @export
block_inputs.gps_custom_model <- function(model, params, y, block) params

#' @export
run_estep.gps_custom_model <- function(model, inputs, y, block, selected, states, n_threads, want,
                                       beta = 1, iteration = 0L, chain = NULL) {
  if ("response" %in% want) {
    gps_abort(sprintf(paste(
      "The model %s of R functions has no response: predict() has the types \"prob\", \"state\"",
      "and \"loglik\"."
    ), quoted(model$name)), "model")
  }
  y <- gappy_data(y, block)
  prob <- own_log_joints(model, inputs, y, selected, states, block$first_row)
  if (beta != 1) prob <- prob * beta
  n_points <- ncol(prob)
  largest <- prob[cbind(max.col(t(prob), "first"), seq_len(n_points))]
  impossible <- which(largest == -Inf)
  if (length(impossible) > 0) {
    gps_abort(sprintf(paste("E-step: no state is possible at data point %.0f: `log_joint` is -Inf",
                            "for all %.0f. Data that the model cannot make, or limits that let",
                            "parameters reach where a logarithm ends, do that."),
                      block$first_row + impossible[1], nrow(prob)), "numeric")
  }
  prob <- exp(prob - rep(largest, each = nrow(prob)))
  sums <- colSums(prob)
  prob <- prob / rep(sums, each = nrow(prob))
  on <- slots_on(states)
  prob_on <- on %*% prob
  result <- list(prob_on = prob_on, log_evidence = largest + log(sums))
  if ("latent" %in% want) result$latent <- prob_on
  if ("prob" %in% want) result$prob <- prob
  if ("stats" %in% want) {
    result$stats <- structure(
      list(y = y, selected = selected, on = on, states = states, prob = prob,
           n_latents = model$n_latents, weights = block$weights),
      class = "gps_posterior"
    )
  }
  result
}

# Numbers of `states` that are made at once.
custom_doubles <- 2^21

# Log joints S x n of the columns of y [D x n]; -Inf of a state in which an empty slot is on.
# `first_row`: data points before these.
own_log_joints <- function(model, params, y, selected, states, first_row) {
  value <- in_own_parts(model, y, selected, states, function(part) {
    numbers <- call_log_joint(model, params, part)
    bad <- which(is.nan(numbers) | is.na(numbers) | numbers == Inf)
    if (length(bad) > 0) {
      point <- first_row + part$points[(bad[1] - 1) %/% states$n_states + 1]
      gps_abort(sprintf("`log_joint` must return numbers below Inf, not %s at data point %.0f%s.",
                        numbers[bad[1]], point, if (anyNA(part$y)) {
                          "; some cells are NA there, as `takes_missing` = TRUE allows"
                        } else {
                          ""
                        }), "model")
    }
    numbers
  })
  value <- matrix(unlist(value), states$n_states)
  if (any(selected == 0)) value[crossprod(slots_on(states), selected == 0) > 0] <- -Inf
  value
}

# `use` of each part of the data points: list(points, y, states, latents), as the functions get
# them. In place of an empty slot stands a latent that has none, whatever becomes of it.
in_own_parts <- function(model, y, selected, states, use) {
  takes_latents <- takes_own(model$functions$log_joint, "latents", 4)
  filled <- if (any(selected == 0)) fill_slots(selected, model$n_latents) else selected
  on <- slots_on(states)
  n_rows <- if (takes_latents) nrow(selected) else model$n_latents
  size <- if (model$settings$vectorised) custom_doubles / (n_rows * states$n_states) else 1
  size <- max(1, floor(size))
  spread <- if (takes_latents) function(latents) array(on, c(dim(on), ncol(latents))) else
    state_spreader(on, model$n_latents)
  lapply(seq(1, ncol(y), by = size), function(from) {
    points <- from:min(ncol(y), from + size - 1)
    latents <- filled[, points, drop = FALSE]
    part <- list(points = points, y = y[, points, drop = FALSE], latents = latents,
                 states = spread(latents))
    if (!model$settings$vectorised) {
      part[c("y", "latents", "states")] <- list(c(part$y), c(part$latents),
                                                array(part$states, dim(part$states)[1:2]))
    }
    use(part)
  })
}

fill_slots <- function(selected, n_latents) {
  for (point in which(colSums(selected == 0) > 0)) {
    is_empty <- selected[, point] == 0
    left <- setdiff(seq_len(n_latents), selected[, point])
    selected[is_empty, point] <- left[seq_len(sum(is_empty))]
  }
  selected
}

# A function of the latents that slots hold, which gives the states H x S x n of these from those of
# slots. Single points that hold the same latents, all of them as a rule, have the same states.
state_spreader <- function(on, n_latents) {
  at <- which(on > 0, arr.ind = TRUE)
  last <- list()
  function(latents) {
    if (identical(latents, last$latents)) return(last$states)
    states <- array(0, c(n_latents, ncol(on), ncol(latents)))
    place <- outer(n_latents * (at[, 2] - 1),
                   n_latents * ncol(on) * (seq_len(ncol(latents)) - 1), `+`)
    # As a vector: an index of three columns, those of three points, would be one of rows.
    states[c(place + latents[at[, 1], ])] <- 1
    if (ncol(latents) == 1) last <<- list(latents = latents, states = states)
    states
  }
}

# What `log_joint` returns, whatever it is.
ask_log_joint <- function(model, params, part) {
  if (!takes_own(model$functions$log_joint, "latents", 4)) {
    return(call_own(model, "log_joint", params, part$y, part$states))
  }
  call_own(model, "log_joint", params, part$y, part$states, part$latents)
}

call_log_joint <- function(model, params, part) {
  value <- ask_log_joint(model, params, part)
  n_states <- dim(part$states)[2]
  n <- n_states * length(part$points)
  is_shaped <- !model$settings$vectorised || identical(dim(value), c(n_states, length(part$points)))
  if (!is.numeric(value) || length(value) != n || !is_shaped) {
    wanted <- c(n_states, if (model$settings$vectorised) length(part$points))
    gps_abort(sprintf("`log_joint` must return %s numbers, not %s.",
                      paste(wanted, collapse = " x "), describe_value(value)), "model")
  }
  value
}

# The derivatives of the expected log joint, shaped like the parameters.
own_gradient <- function(model, params, posterior) {
  takes_latents <- takes_own(model$functions$gradient, "latents", 5)
  parts <- in_own_parts(model, posterior$y, posterior$selected, posterior$states, function(part) {
    weights <- weigh_columns(posterior$prob[, part$points, drop = FALSE],
                             posterior$weights[part$points])
    if (!model$settings$vectorised) weights <- drop(weights)
    arguments <- list(params, part$y, part$states, weights)
    if (takes_latents) arguments <- c(arguments, list(part$latents))
    value <- do.call(call_own, c(list(model, "gradient"), arguments), quote = TRUE)
    is_like <- is.list(value) && all(names(params) %in% names(value)) &&
      all(lengths(value[names(params)]) == lengths(params)) &&
      all(vapply(value[names(params)], is.numeric, NA)) &&
      all(is.finite(unlist(value[names(params)])))
    if (!is_like) {
      gps_abort(sprintf("`gradient` must return a list of finite numbers shaped like %s, not %s.",
                        paste(names(params), collapse = ", "), describe_value(value)), "model")
    }
    value[names(params)]
  })
  Reduce(function(a, b) Map(`+`, a, b), parts)
}
