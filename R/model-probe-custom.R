# check_gps_model() for models of R functions.

#' @export
probe_model.gps_custom_model <- function(model, y, report, session) {
  case <- open_own_case(model, y, report)
  if (is.null(case)) return(invisible())
  is_sound <- run_check(report, "shape and values", "log_joint", probe_own_shape(report, case)) &&
    run_check(report, "calls", "log_joint", probe_own_calls(report, case)) &&
    run_check(report, "block", "log_joint", probe_own_block(report, case)) &&
    run_check(report, "order", "log_joint", probe_own_order(report, case))
  probes <- list(gradient = probe_own_gradient, mstep = probe_own_mstep, draw = probe_own_draw)
  for (kind in names(probes)) {
    if (is.null(model$functions[[kind]])) {
      skip_check(report, kind, if (kind == "mstep") "optim() does it" else "the model has none")
    } else if (!is_sound) {
      skip_check(report, kind, "since `log_joint` is not in order")
    } else {
      run_check(report, kind, kind, probes[[kind]](report, case))
    }
  }
  if (!session) return(skip_check(report, "session", "`session` is FALSE"))
  probe_own_session(report, case)
}

# Data, parameters and slots with which the functions are asked: the first kind of data of which a
# point has a possible state. NULL where `init` finds no parameters.
open_own_case <- function(model, y, report) {
  n_dims <- if (is_bound(model)) model$n_dims else probe_dims
  kinds <- list("the data given" = y)
  if (is.null(y)) kinds <- probe_data(count_probe_rows(model), n_dims)
  begin <- function(y) {
    params <- read_own_params(call_own(model, "init", y), "init")
    bound <- size_own_model(model, params, y)
    own_case(bound, bound_own_params(bound, params)$params, y)
  }
  fit_kind <- function(y) {
    case <- begin(y)
    value <- unlist(ask_parts(case, probe_points(case)))
    if (!any(is.finite(value))) stop("no state is possible")
    case
  }
  live <- first_live(kinds, fit_kind)
  if (is.null(live$made)) live <- first_live(kinds, begin)
  if (is.null(live$made)) {
    add_finding(report, "error", "init", conditionMessage(live$error), paste(
      "`init(y)` gets n x D data, points in rows, and returns a named list of finite numbers;",
      "`lower` and `upper` may name these. If only data of a certain kind will do, give `y`."
    ))
    skip_check(report, "all that needs parameters", "since `init` gives none")
    return(NULL)
  }
  report$data <- sprintf("%d x %d numbers: %s", nrow(live$made$y), ncol(live$made$y),
                         live$said)
  live$made
}

# Whether `log_joint` returns as many numbers as it must, below Inf, and not -Inf alone.
probe_own_shape <- function(report, case) {
  n_states <- case$states$n_states
  is_joint <- case$model$settings$vectorised
  n <- length(probe_points(case))
  for (value in ask_parts(case, probe_points(case))) {
    wanted <- c(n_states, if (is_joint) n)
    said <- sprintf("For %s and %d states it returns %s.",
                    plural(if (is_joint) n else 1L, "point"), n_states, describe_value(value))
    if (is_joint && is.numeric(value) && length(value) == prod(wanted) &&
          !identical(dim(value), wanted)) {
      return(add_finding(report, "orientation", "log_joint", said, sprintf(
        "Return a matrix states x points, %s: transpose it, or give it its dims.",
        paste(wanted, collapse = " x ")
      )))
    }
    if (!is.numeric(value) || length(value) != prod(wanted)) {
      return(add_finding(report, "length", "log_joint", said, sprintf(paste(
        "Return %s numbers, one for each column of `states`. States are columns, H x S, and a data",
        "point is a vector of D: sums over dimensions are colSums() of D x S."
      ), paste(wanted, collapse = " x "))))
    }
  }
  value <- joints_of(case, parts_of(case, seq_len(nrow(case$y))))
  bad <- which(is.na(value) | value == Inf, arr.ind = TRUE)
  if (length(bad) > 0) {
    add_finding(report, "nan", "log_joint", sprintf(
      "It returns %s for state %d of data point %d, and in %d of %d values.",
      plain_number(value[bad[1, , drop = FALSE]]), bad[1, 1], bad[1, 2], nrow(bad), length(value)
    ), "Look for log() or sqrt() of numbers below 0, 0 * Inf, and parameters without limits.")
    return(invisible())
  }
  none <- which(colSums(value > -Inf) == 0)
  if (length(none) > 0) {
    add_finding(report, "impossible", "log_joint", sprintf(
      "All states of data point %d are -Inf, and of %d of %d points.", none[1], length(none),
      ncol(value)
    ), paste("Each point needs a state that can be: sum logs instead of multiplying densities,",
             "keep probabilities off 0 and 1 by `lower` and `upper`, and give `y` if the data are",
             "of another kind."))
  }
}

# Points and states together against each alone.
probe_own_block <- function(report, case) {
  alone <- joints_of(case, parts_of_each(case, 1:4))
  if (case$model$settings$vectorised) {
    pairs <- cbind(joints_of(case, parts_of(case, 1:2)), joints_of(case, parts_of(case, 3:4)))
    if (joint_difference(pairs, alone) > probe_tolerance) {
      return(add_finding(report, "block", "log_joint", paste(
        "The log joints of two data points together are not those of each alone:",
        worst_pair(pairs, alone)
      ), paste("Each column of `y` goes with its layer of `states`, H x S x n. Look for vectors",
               "that are recycled along the wrong dimension, and for means over all points.")))
    }
  }
  # In pairs: a fit never asks for one state, except where there is no other.
  n_states <- case$states$n_states
  with_last <- do.call(rbind, lapply(seq_len(n_states - 1), function(m) {
    joints_of(case, lapply(parts_of_each(case, 1:4), pick_states, c(m, n_states)))[1, ]
  }))
  if (n_states > 1 && joint_difference(with_last, alone[-n_states, ]) > probe_tolerance) {
    add_finding(report, "block", "log_joint", paste(
      "The log joint of a state depends on the other states of the call:",
      worst_pair(alone[-n_states, ], with_last)
    ), paste("Return log p(state, y) itself: nothing may be normalised, centred or maximised over",
             "the columns of `states`; a matrix with one column must stay one (drop = FALSE)."))
  }
}

# States and selected latents in another order, and other latents selected and off.
probe_own_order <- function(report, case) {
  parts <- parts_of_each(case, 1:4)
  plain <- joints_of(case, parts)
  turn <- rev(seq_len(case$states$n_states))
  turned <- joints_of(case, lapply(parts, pick_states, turn))
  if (joint_difference(turned[turn, ], plain) > probe_tolerance) {
    return(add_finding(report, "order", "log_joint", paste(
      "The log joint of a state depends on the order of the columns of `states`:",
      worst_pair(turned[turn, ], plain)
    ), "Take what a state is from its column alone, not from where that stands."))
  }
  if (!takes_own(case$model$functions$log_joint, "latents", 4)) return(invisible())
  mixed <- joints_of(case, lapply(parts, turn_latents))
  if (joint_difference(mixed, plain) > probe_tolerance) {
    return(add_finding(report, "order", "log_joint", paste(
      "The log joint depends on the order of the latents, where `latents` and the rows of `states`",
      "are turned together:", worst_pair(mixed, plain)
    ), "Row i of `states` belongs to the latent `latents[i]`: index parameters by `latents`."))
  }
  probe_own_slots(report, case, plain)
}

# The same latents in the reverse order, with their rows.
turn_latents <- function(part) {
  is_cube <- length(dim(part$states)) == 3
  turn <- rev(seq_len(nrow(part$states)))
  part$states <- if (is_cube) part$states[turn, , , drop = FALSE] else
    part$states[turn, , drop = FALSE]
  part$latents <- if (is_cube) part$latents[turn, , drop = FALSE] else part$latents[turn]
  part
}

# The states in which the last slot is off, with another latent in it, or without it.
probe_own_slots <- function(report, case, plain) {
  on <- slots_on(case$states)
  n_slots <- nrow(on)
  kept <- which(on[n_slots, ] == 0)
  if (n_slots < 2 || length(kept) == 0) return(invisible())
  few <- case
  few$selected <- case$selected[-n_slots, , drop = FALSE]
  few$states <- template_of(on[-n_slots, kept, drop = FALSE])
  found <- joints_of(few, parts_of_each(few, 1:4))
  if (joint_difference(found, plain[kept, ]) > probe_tolerance) {
    add_finding(report, "slots", "log_joint", paste(
      "The log joint of a state depends on latents that are selected and off:",
      worst_pair(found, plain[kept, ])
    ), paste("What is off counts for all H latents, selected or not: take their number from a",
             "parameter, not from `nrow(states)`."))
  }
}
