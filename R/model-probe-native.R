# check_gps_model() for models in C: each member called by itself in watched memory (src/r_probe.c).

#' @export
probe_model.gps_native_model <- function(model, y, report, session) {
  case <- open_native_case(model, y, report)
  if (is.null(case)) return(invisible())
  run_check(report, "prepare", "prepare", probe_native_prepare(report, case))
  is_sound <- run_check(report, "values and statistics", "log_joint",
                        probe_native_states(report, case)) &&
    run_check(report, "block", "log_joint", probe_native_block(report, case)) &&
    run_check(report, "order", "log_joint", probe_native_order(report, case))
  if (!is_sound) return(skip_check(report, "all that follows", "since `log_joint` is not in order"))
  probes <- list(accumulate_latent = probe_native_gathered, gain = probe_native_gain,
                 propose = probe_native_proposals, conditional = probe_native_conditional)
  for (member in names(probes)) {
    if (member == "accumulate_latent" && !is_by_latent(case$model)) {
      skip_check(report, member, "not all statistics are parts of latents")
    } else if (case$has[[member]]) {
      run_check(report, member, member, probes[[member]](report, case))
    } else {
      skip_check(report, member, "the table has none")
    }
  }
  own <- structure(list(), class = setdiff(class(model), "gps_native_model"))
  if (case$has$mstep || has_method(own, "gps_mstep")) {
    run_check(report, "mstep", "mstep", probe_native_mstep(report, case))
  } else {
    skip_check(report, "mstep", "the table has none, and there is no method of gps_mstep()")
  }
  if (!has_method(case$model, "gps_draw")) {
    return(skip_check(report, "draw", "the model has no method of gps_draw()"))
  }
  run_check(report, "draw", "gps_draw", probe_native_draw(report, case))
}

# Whether all statistics have a part for each latent, or are a single number.
is_by_latent <- function(model) {
  all(vapply(model$stats, function(shape) {
    identical(unname(shape), "one") || utils::tail(shape, 1) == "latents"
  }, NA))
}

# Data, parameters, slots and what the E-step needs; NULL where there are none.
open_native_case <- function(model, y, report) {
  if (!is_bound(model) && has_window(model)) model <- set_image(model, model$size + 3L)
  size <- if (is.null(y)) probe_native_dims(model)
  kinds <- if (is.null(y)) probe_data(count_probe_rows(model), size) else list("the data given" = y)
  live <- first_live(kinds, function(y) {
    bound <- if (is_bound(model)) model else gps_bind(model, y)
    params <- gps_init(bound, y)
    attr(params, "labels") <- NULL
    native_case(bound, params, y)
  })
  if (is.null(live$made)) {
    add_finding(report, "error", "gps_init", conditionMessage(live$error), paste(
      "Hold what R declares against the table in C, and see what the method of gps_init() makes of",
      "the data. If only data of a certain kind will do, give `y`."
    ))
    skip_check(report, "all that needs parameters", "since there are none")
    return(NULL)
  }
  case <- live$made
  said <- live$said
  if (is.null(y) && has_method(case$model, "gps_draw")) {
    drawn <- tryCatch(gps_draw(case$model, case$params, nrow(case$y))$y, error = function(e) NULL)
    if (!is.null(drawn)) {
      case <- native_case(case$model, case$params, unname(drawn))
      said <- "what the model draws"
    }
  }
  report$data <- sprintf("%d x %d numbers: %s", nrow(case$y), ncol(case$y), said)
  case
}

# Numbers of a data point: of an image, by default one a little larger than a component's window.
probe_native_dims <- function(model) {
  if (is_bound(model)) return(model$n_dims)
  if (has_window(model)) as.integer(prod(model$image)) else probe_dims
}

has_window <- function(model) is.numeric(model$size)

# Whether all numbers are the NaN of memory that nobody wrote.
is_unwritten <- function(x) length(x) > 0 && all(is.nan(x))

probe_native_prepare <- function(report, case) {
  model <- case$model
  if (length(model$prepared) == 0 || !case$has$prepare) return(invisible())
  y <- t(case$y)
  block <- new_block(0, ncol(y))
  inputs <- c(case$params, model$options)
  dims <- resolve_dims(model$prepared, block_sizes(model, block))
  problem <- list(shape = model$shape, inputs = inputs, lengths = model$lengths)
  said <- .Call(C_probe_prepare, model$native, problem, dims, y, block)
  report_marks(report, said)
  for (name in names(said$prepared)) {
    if (is_unwritten(said$prepared[[name]])) {
      report_unwritten(report, "prepare", sprintf("the prepared array `%s`", name))
    }
  }
}

probe_native_states <- function(report, case) {
  said <- ask_states(case)
  report_marks(report, said)
  value <- said$log_joint
  bad <- which(is.na(value) | value == Inf, arr.ind = TRUE)
  if (length(bad) > 0) {
    add_finding(report, "nan", "log_joint", sprintf(paste(
      "It leaves %s for state %d of data point %d, and in %d of %d values; NaN is also what was",
      "there before."
    ), plain_number(value[bad[1, , drop = FALSE]]), bad[1, 1], bad[1, 2], nrow(bad), length(value)),
    "Write all states; -Inf is one that cannot be. Look for scratch that is read before written.")
  }
  none <- which(colSums(value > -Inf) == 0)
  if (length(none) > 0) {
    add_finding(report, "impossible", "log_joint",
                sprintf("All states of data point %d are -Inf.", none[1]),
                "Each point needs a state that can be; give `y` if the data are of another kind.")
  }
  if (length(report$findings) > 0) return(invisible())
  probe_native_stats(report, case, said)
  if (length(report$findings) == 0 && case$has$weighs) {
    probe_native_weights(report, case, probe_tolerance + posterior_rounding(case, said))
  }
  if (!case$has$describe) return(invisible())
  for (name in c("latent", "response")) {
    if (is_unwritten(said[[name]])) report_unwritten(report, "describe", sprintf("`%s`", name))
  }
}

# Statistics that begin with 0 and with 1 differ by 1 where they are added to.
probe_native_stats <- function(report, case, said) {
  other <- ask_states(case, fill = 1)
  for (name in names(said$stats)) {
    from_zero <- said$stats[[name]]
    from_one <- other$stats[[name]]
    if (length(from_zero) == 0) next
    if (anyNA(from_zero)) {
      add_finding(report, "nan", "accumulate", sprintf("The statistic `%s` has NaN.", name),
                  "Look for scratch that `log_joint` does not leave for it.")
    } else if (all(from_zero == 0) && all(from_one == 1)) {
      if (!is_idle(case, name) && is_never_added(case, name)) {
        report_unwritten(report, "accumulate", sprintf("the statistic `%s`", name))
      }
    } else if (joint_difference(from_one - 1, from_zero) > probe_tolerance) {
      add_finding(report, "overwritten", "accumulate", sprintf(
        "The statistic `%s` depends on what stood there before.", name
      ), "Add to it: the points of a block share their statistics, and what stood there is theirs.")
    }
  }
}

# Whether nothing, not even 0, is added to a statistic: the sum of -0 and 0 is 0.
is_never_added <- function(case, name) all(1 / ask_states(case, fill = -0)$stats[[name]] == -Inf)

# Relative differences of expectations that are rounding of log joints. BLAS may give a point other
# last digits in another block. A log joint differs by as much as its terms do, sums over
# dimensions and latents, each rounded by its own size, which is that of the largest log joint, of
# states or of the empty one that they are relative to. Posterior probabilities, proportional to
# exp() of it, differ twice as much, since so does their sum.
posterior_rounding <- function(case, said) {
  size <- abs(c(said$log_joint, said$shared))
  n_terms <- case$model$n_dims + case$model$n_latents
  2 * n_terms * .Machine$double.eps * max(size[is.finite(size)])
}

# Statistics of weighted points against those of each alone, times its weight.
probe_native_weights <- function(report, case, tolerance) {
  step <- function(points, weights = NULL) {
    it <- problem_of(case, points)
    it$block["weights"] <- list(weights)
    run_estep(case$model, it$problem$inputs, it$y, it$block,
              case$selected[, points, drop = FALSE], case$states, 1L, "stats")$stats
  }
  points <- seq_len(nrow(case$y))
  weights <- points / length(points)
  whole <- step(points, weights)
  parts <- lapply(points, function(n) lapply(step(n), `*`, weights[n]))
  wanted <- Reduce(function(a, b) Map(`+`, a, b), parts)
  for (name in names(whole)) {
    if (joint_difference(whole[[name]], wanted[[name]]) <= tolerance) next
    return(add_finding(report, "weights", "accumulate", sprintf(
      "The table has `weighs`, but weighted points give another statistic `%s`: %s", name,
      worst_pair(whole[[name]], wanted[[name]])
    ), "Multiply all that is added by gps_weight_of() of the point, or leave `weighs` 0."))
  }
}

# A statistic that the table may miss may have nothing to do.
is_idle <- function(case, name) {
  identical(model_table(case$model$native)$stats[[name]]$presence, "?")
}

# Points of a block against each as a block of its own.
probe_native_block <- function(report, case) {
  together <- ask_states(case)
  for (point in c(1, 2, nrow(case$y))) {
    alone <- ask_states(case, case$selected[, point, drop = FALSE], points = point)
    found <- together$log_joint[, point] + together$shared[point]
    wanted <- alone$log_joint[, 1] + alone$shared
    if (joint_difference(found, wanted) <= probe_tolerance) next
    return(add_finding(report, "block", "log_joint", paste(
      "The log joints of a point in a block are not those of the point alone:",
      worst_pair(found, wanted)
    ), paste("Index what is prepared for the block by `point->index`, and nothing else; keep",
             "nothing between points.")))
  }
}

# Slots in the reverse order, and a slot that is empty.
probe_native_order <- function(report, case) {
  plain <- ask_states(case)$log_joint
  on <- slots_on(case$states)
  n_slots <- nrow(on)
  # The state of the same latents: templates keep the order of their states.
  key <- function(on) apply(on, 2, paste, collapse = "")
  same <- match(key(on), key(on[n_slots:1, , drop = FALSE]))
  turned <- ask_states(case, case$selected[n_slots:1, , drop = FALSE])$log_joint
  turned <- turned[same, , drop = FALSE]
  if (joint_difference(turned, plain) > probe_tolerance) {
    return(add_finding(report, "order", "log_joint", paste(
      "The log joint depends on the order of the slots:", worst_pair(turned, plain)
    ), "A state is the set of its latents, `point->latent[slot]`, in any order of the slots."))
  }
  gapped <- case$selected
  gapped[n_slots, ] <- 0L
  uses <- on[n_slots, ] > 0
  if (all(uses)) return(invisible())
  found <- ask_states(case, gapped)$log_joint
  if (any(found[uses, ] > -Inf)) {
    add_finding(report, "empty", "log_joint", "A state that uses an empty slot is possible.",
                "A slot whose latent is -1 is empty: states that have it on get -HUGE_VAL.")
  } else if (joint_difference(found[!uses, ], plain[!uses, ]) > probe_tolerance) {
    add_finding(report, "slots", "log_joint", paste(
      "The log joint of a state depends on a slot that is off:",
      worst_pair(found[!uses, ], plain[!uses, ])
    ), "What is off counts for all latents of the model, selected or not.")
  }
}

# The expected log joint of the posterior before the M-step, by the parameters before and after.
probe_native_mstep <- function(report, case) {
  model <- case$model
  params <- case$params
  for (step in 1:3) {
    before <- ask_states(case, params = params)
    total <- before$log_joint + rep(before$shared, each = nrow(before$log_joint))
    top <- apply(total, 2, max)
    weight <- exp(total - rep(top, each = nrow(total)))
    weight <- weight / rep(colSums(weight), each = nrow(weight))
    y <- t(case$y)
    block <- new_block(0, ncol(y))
    stats <- run_estep(model, block_inputs(model, params, y, block), y, block, case$selected,
                       case$states, 1L, "stats")$stats
    new <- mstep_model(model, params, stats)$params
    after <- ask_states(case, params = new)
    changed <- after$log_joint + rep(after$shared, each = nrow(after$log_joint))
    is_used <- weight > 1e-300
    value <- c(sum((weight * total)[is_used]), sum((weight * changed)[is_used]))
    if (anyNA(value) || value[2] < value[1] - mstep_tolerance * max(1, abs(value[1]))) {
      return(report_mstep(report, value[1], value[2], step))
    }
    params <- new
  }
}

probe_native_draw <- function(report, case) {
  model <- case$model
  is_valid <- function(params) {
    !inherits(tryCatch(check_all_params(model, params, "params"), error = identity), "error")
  }
  joint <- if (case$has$conditional) joint_by_draws(model) else joint_by_states(model)
  probe_draws(report, model, case$params, joint, is_valid)
}
