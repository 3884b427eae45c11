# A model of R functions: how it is made, and what it takes from them. Its E-step is in
# model-custom-estep.R, its M-step in model-custom-mstep.R.

#' A model of your own, in R
#'
#' `model_custom()` makes a model of a function that says how probable a state and a data point are
#' together. All else, selection, E-step and EM, is as for the built-in models.
#'
#' @section Shapes:
#' H latents are on or off in each of S states of a data point of D numbers. `log_joint(params, y,
#' states)` gets one data point `y` (D) and `states`, a matrix H x S of 0 and 1, and returns S
#' numbers `log p(state, y)`; -Inf is a state that cannot be. With `vectorised = TRUE` it gets n
#' data points at once: `y` D x n, `states` an array H x S x n, and it returns S x n numbers. Only
#' the `n_selected` latents that are selected for a data point are ever on. Where H is large, a
#' function with a fourth argument, `log_joint(params, y, states, latents)`, gets the rows of these
#' alone: `states` n_selected x S (x n), whose rows belong to the latents numbered `latents`,
#' n_selected (x n).
#'
#' `init` stands at the door, where data points are rows: `init(y)` gets n x D and returns a named
#' list of arrays, the parameters to begin with. `draw(params, n)` returns a list of `y` (n x D) and
#' `latents` (n x H).
#'
#' `mstep(params, y, posterior)` gets all data points `y` (D x n) and returns the parameters that
#' maximise the expected log joint, or some of them. `posterior_mean(posterior)` is H x n, the
#' probability that each latent is on; `posterior_second(posterior)` H x H, the sum over the data
#' points of the probability that two are; `posterior_weights(posterior)` S x n, the probability of
#' each state, whose selected latents, n_selected x n, are `posterior$selected`, and `posterior$on`,
#' n_selected x S, says which of these are on. An `mstep` with an argument `weights` also gets n
#' numbers, for how many observations each data point stands (1 without weights);
#' `posterior_second()` counts points so many times, the other two tell of each point. Without that
#' argument [gps_fit()] refuses weights; without `mstep` they need nothing. Values beyond `lower`
#' and `upper` are moved to the limit, and counted among the events of the trace ("bounded").
#'
#' Without `mstep` the expected log joint is maximised by [optim()] within the bounds (method
#' "L-BFGS-B", a few iterations each time, which suffices for the bound not to fall), with numerical
#' derivatives or with `gradient(params, y, states, weights)`: a list, shaped like the parameters,
#' of the derivatives of the sum of `weights * log_joint(params, y, states)`; `weights` are S
#' (x n). With a fifth argument it gets `latents`, too.
#' Limits are all that it knows of a parameter: numbers that have to sum to one, as the shares of a
#' mixture, would grow to their limit. `log_joint` makes them of others that are free, as
#' `pi <- exp(params$a) / sum(exp(params$a))`, or an `mstep` counts them. The same holds for any
#' `log_joint` that is no log density: only a bound of one can be compared.
#' @section What it costs:
#' Without `mstep` and `gradient` an M-step evaluates `log_joint` at all states of all data points
#' some twenty times for each parameter, and without `vectorised` each of these is a call for each
#' point: of a model with 8 parameters an iteration on 272 points of 2 columns took 5.9 s, and with
#' `vectorised = TRUE` 0.2 s. An `mstep` needs neither. Try a model on few rows first, with
#' `gps_control(max_iter = 2, n_starts = 1)`: `seconds` of the trace say what an iteration takes.
#' @section What is stored:
#' A fit stores the functions with the variables and helper functions that they use, as they are
#' when the model is made, and with nothing else of where they were made; what packages define is
#' found in them. print() names the functions.
#' @section Missing cells:
#' Data with NA are refused unless the model says `takes_missing = TRUE`. Then `log_joint`, `mstep`
#' and `gradient` get data points with NA in the cells that are missing, and have to know: of a
#' data point with the cells O `log_joint` returns `log p(state, y_O)`, the density of these alone,
#' which of independent dimensions is a sum that leaves out NA; an `mstep` maximises its expectation
#' over the states. `init` and functions of [selector_custom()] get data without NA, in which column
#' means stand for missing cells, see [missing_cells].
#' @section What there is not:
#' States are summed over, never sampled; there is no screening, and no minibatches. predict() knows
#' no response, and selector_handcrafted() no affinity.
#'
#' @param n_latents number of latents H, a whole number of at least 1.
#' @param init,log_joint functions, see the section on shapes.
#' @param mstep,gradient,draw functions, or NULL.
#' @param lower,upper limits of the parameters: one number, or a named list with a number or an
#'   array for some of them.
#' @param vectorised TRUE: `log_joint` and `gradient` take several data points at once.
#' @param rule which states there are: [state_rule()].
#' @param name what print() calls the model.
#' @param takes_missing TRUE: the functions know what to do with NA, see the section on missing
#'   cells.
#' @param posterior what `mstep` gets as third argument, or `stats` of [gps_estep()].
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return `model_custom()`: a `gps_model`. `posterior_mean()`, `posterior_second()` and
#'   `posterior_weights()`: matrices, see the section on shapes.
#' @seealso [new_gps_model()], for models of packages and in C.
#' @concept user-defined model
#' @examples
#' # Two kinds of events in counts: each latent that is on adds its rates.
#' log_joint <- function(params, y, states) {
#'   rate <- params$base + params$rates %*% states
#'   colSums(dpois(y, rate, log = TRUE)) +
#'     drop(crossprod(states, rep(qlogis(params$prob), nrow(states)))) +
#'     nrow(states) * log1p(-params$prob)
#' }
#' init <- function(y) {
#'   list(base = colMeans(y) / 2, rates = matrix(runif(2 * ncol(y), 1, 5), ncol(y)), prob = 0.3)
#' }
#' model <- model_custom(2, init, log_joint, lower = list(base = 1e-3, rates = 1e-3, prob = 0.01),
#'                       upper = list(prob = 0.99))
#' set.seed(1)
#' on <- matrix(rbinom(40, 1, 0.4), 20)
#' y <- matrix(rpois(80, 1 + on %*% rbind(c(9, 0, 0, 5), c(0, 7, 7, 0))), 20)
#' fit <- gps_fit(y, model, selector_full(), control = gps_control(max_iter = 3, n_starts = 1))
#' round(coef(fit)$rates, 1)
#' @order 1
#' @export
model_custom <- function(n_latents, init, log_joint, mstep = NULL, gradient = NULL, lower = -Inf,
                         upper = Inf, draw = NULL, vectorised = FALSE, rule = state_rule(),
                         name = "Custom model", takes_missing = FALSE, ...) {
  refuse_unknown(further(...), names(formals(model_custom)))
  need_given()
  functions <- list(init = init, log_joint = log_joint, mstep = mstep, gradient = gradient,
                    draw = draw)
  for (kind in names(functions)) check_own_function(functions[[kind]], kind)
  check_flag(vectorised, "vectorised")
  check_flag(takes_missing, "takes_missing")
  functions <- carry_functions(functions[!vapply(functions, is.null, NA)])
  model <- new_gps_model(
    "gps_custom_model", name, n_latents, rule = rule,
    settings = c(list(functions = paste(names(functions), collapse = ", "),
                      vectorised = vectorised), if (takes_missing) list(takes_missing = TRUE))
  )
  model$functions <- functions
  model$limits <- list(lower = check_own_limits(lower, "lower"),
                       upper = check_own_limits(upper, "upper"))
  model
}

check_own_function <- function(f, kind) {
  takes <- own_arguments[[kind]]
  is_needed <- kind %in% c("init", "log_joint")
  if (is.null(f) && !is_needed) return(invisible())
  if (is.function(f)) return(check_argument_order(f, kind, takes))
  abort_value(f, kind, sprintf("%sa function of (%s)", if (is_needed) "" else "NULL or ",
                               paste(takes, collapse = ", ")))
}

# One number, or a named list of numbers.
check_own_limits <- function(x, arg) {
  is_limit <- function(limit) is.numeric(limit) && length(limit) > 0 && !anyNA(limit)
  if (is.list(x) && length(x) == 0) return(list())
  is_named <- is_named_list(x) && all(vapply(x, is_limit, NA))
  if (!is.list(x) && !is.null(names(x))) {
    gps_abort(sprintf("`%s` for some parameters must be a list: %s = list(%s = ).", arg, arg,
                      names(x)[1]))
  }
  if (!is_named && !(is_limit(x) && length(x) == 1)) {
    abort_value(x, arg, "a number or a named list of numbers")
  }
  x
}

# The limit of each number of a parameter, shaped like it.
limit_of <- function(model, side, name, value) {
  limit <- model$limits[[side]]
  if (is.list(limit)) limit <- limit[[name]]
  if (is.null(limit)) limit <- if (side == "lower") -Inf else Inf
  if (!length(limit) %in% c(1, length(value))) {
    gps_abort(sprintf("`%s$%s` must have 1 or %d numbers, not %d.", side, name, length(value),
                      length(limit)), "model")
  }
  if (length(limit) > 1 && !is.null(dim(limit)) && !identical(dim(limit), dim(value))) {
    gps_abort(sprintf("`%s$%s` must be shaped like `%s`, %s, not %s.", side, name, name,
                      describe_value(value), describe_value(limit)), "model")
  }
  rep_len(as.double(limit), length(value))
}

# Sizes as the first values of `init` have them, and functions that give what they should on two
# data points.
#' @export
gps_bind.gps_custom_model <- function(model, y) {
  params <- keep_stream(read_own_params(call_own(model, "init", t(fill_data(t(y)))), "init"))
  model <- size_own_model(model, params, y)
  try_functions(model, params, t(y[seq_len(min(2, nrow(y))), , drop = FALSE]))
  model
}

# The model with the sizes of these parameters and data, n x D.
size_own_model <- function(model, params, y) {
  sizes <- lapply(params, function(x) if (is.null(dim(x))) length(x) else dim(x))
  words <- lapply(stats::setNames(nm = names(sizes)), function(name) {
    paste0(name, ".", seq_along(sizes[[name]]))
  })
  model$params <- words
  model$sizes <- stats::setNames(as.double(unlist(sizes)), unlist(words))
  model$n_dims <- ncol(y)
  model$shape <- c(model$n_dims, model$n_latents)
  for (side in names(model$limits)) {
    limits <- model$limits[[side]]
    unknown <- setdiff(if (is.list(limits)) names(limits), names(params))
    if (length(unknown) > 0) {
      gps_abort(sprintf("`%s` has no parameter %s; `init` makes %s.", side, quoted(unknown[1]),
                        paste(names(params), collapse = ", ")), "model")
    }
  }
  for (name in names(params)) {
    lower <- limit_of(model, "lower", name, params[[name]])
    upper <- limit_of(model, "upper", name, params[[name]])
    bad <- which(lower > upper)[1]
    if (!is.na(bad)) {
      gps_abort(sprintf("`lower` of `%s` is %s, above its `upper`, %s.", name,
                        given_number(lower[bad]), given_number(upper[bad])), "model")
    }
  }
  model
}

# What `log_joint` and `gradient` return on one or two data points has the right shape.
try_functions <- function(model, params, y) {
  n_slots <- as.integer(min(3, model$n_latents))
  states <- enumerate_states(model$rule, n_slots, min(n_slots, model$rule$max_active))
  selected <- matrix(seq_len(n_slots), n_slots, ncol(y))
  value <- own_log_joints(model, params, y, selected, states, 0)
  if (is.null(model$functions$gradient)) return(invisible())
  weights <- array(1 / nrow(value), dim(value))
  posterior <- list(y = y, selected = selected, states = states, prob = weights)
  own_gradient(model, params, posterior)
}

# What is wrong with a value of which finite numbers were asked: the first that is none, of several.
describe_odd <- function(x) {
  if (!is.numeric(x) || length(x) < 2) return(paste("not", describe_value(x)))
  bad <- which(!is.finite(x))
  sprintf("but %s has %s in %s", describe_value(x), format(x[bad[1]]),
          listed(bad, "place"))
}

# A named list of finite numbers, as doubles.
read_own_params <- function(params, kind) {
  if (length(params) == 0 || !is_named_list(params)) {
    twice <- Filter(nzchar, names(params)[duplicated(names(params))])
    given <- if (is.list(params) && length(twice) > 0) {
      sprintf("one with %s twice", quoted(twice[1]))
    } else {
      describe_value(params)
    }
    gps_abort(sprintf("`%s` must return a named list of parameters, not %s.", kind, given), "model")
  }
  for (name in names(params)) {
    x <- plain_numbers(params[[name]])
    if (!is.numeric(x) || length(x) == 0 || !all(is.finite(x))) {
      gps_abort(sprintf("`%s` must return finite numbers as `%s`, %s.", kind, name,
                        describe_odd(x)), "model")
    }
    params[[name]] <- if (is.null(dim(x))) as.double(x) else array(as.double(x), dim(x))
  }
  params
}

#' @export
rebind_model.gps_custom_model <- function(model) {
  functions <- model$functions
  is_made <- is_named_list(functions) && all(vapply(functions, is.function, NA)) &&
    all(c("init", "log_joint") %in% names(functions)) && is.list(model$limits) &&
    isTRUE(model$settings$vectorised) + isFALSE(model$settings$vectorised) == 1
  if (!is_made) gps_abort("The model is not as model_custom() made it.", "model")
  if (is_bound(model)) model$shape <- c(model$n_dims, model$n_latents)
  model
}

#' @export
gps_init.gps_custom_model <- function(model, y) {
  fit_own_params(model, read_own_params(call_own(model, "init", y), "init"), "init")
}

# Parameters shaped as the model declares, within its limits: list(params, n_moved).
bound_own_params <- function(model, params) {
  n_moved <- 0L
  for (name in names(params)) {
    lower <- limit_of(model, "lower", name, params[[name]])
    upper <- limit_of(model, "upper", name, params[[name]])
    n_moved <- n_moved + sum(params[[name]] < lower | params[[name]] > upper)
    params[[name]][] <- pmin(pmax(params[[name]], lower), upper)
  }
  list(params = params, n_moved = n_moved)
}

fit_own_params <- function(model, params, kind) {
  dims <- resolve_dims(model$params, dimension_sizes(model))
  for (name in names(dims)) {
    given <- if (is.null(dim(params[[name]]))) length(params[[name]]) else dim(params[[name]])
    if (identical(as.integer(given), dims[[name]])) next
    gps_abort(sprintf("`%s` must return `%s` of %s, not %s.", kind, name,
                      paste(dims[[name]], collapse = " x "), describe_value(params[[name]])),
              "model")
  }
  bound_own_params(model, params[names(dims)])$params
}

#' @export
check_joint.gps_custom_model <- function(model, params, arg) {
  for (name in names(params)) {
    moved <- bound_own_params(model, params[name])$params[[name]]
    bad <- which(moved != params[[name]])[1]
    if (!is.na(bad)) {
      gps_abort(sprintf(paste("`%s$%s` must lie between `lower` and `upper` of the model, but has",
                              "%s, beyond %s."),
                        arg, name, given_number(params[[name]][bad]), given_number(moved[bad])))
    }
  }
}

#' @export
gps_draw.gps_custom_model <- function(model, params, n) {
  if (is.null(model$functions$draw)) {
    abort_no_method(model, "gps_draw", "model_custom(draw = ) gives it one.")
  }
  drawn <- call_own(model, "draw", params, n)
  wanted <- list(y = c(n, model$n_dims), latents = c(n, model$n_latents))
  for (name in names(wanted)) {
    x <- if (is.list(drawn)) drawn[[name]]
    if (is.numeric(x) && identical(dim(x), as.integer(wanted[[name]])) && all(is.finite(x))) next
    gps_abort(sprintf("`draw` must return a list with `%s` of %s finite numbers, not %s.", name,
                      paste(wanted[[name]], collapse = " x "), describe_value(x)), "model")
  }
  odd <- drawn$latents[!drawn$latents %in% 0:1]
  if (length(odd) > 0) {
    gps_abort(sprintf("`draw` must return `latents` that are 0 or 1, not %s.",
                      given_number(odd[1])), "model")
  }
  drawn
}
