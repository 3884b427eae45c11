# What a fit is planned to be and where it begins: the task of what was given, with a pilot where
# the number of selected latents is to be chosen. One that surely cannot fit into memory ends here.

# list(given, chosen): what gps_fit() was given, with a number in place of `n_selected` = "auto" and
# the seed that this took; and how the number was found, NULL if nothing was to be chosen. Time that
# it takes is the fit's. `first_state` begins a fit of a task.
plan_fit <- function(given, start, first_state) {
  if (!identical(given$n_selected, "auto")) return(list(given = given))
  given$deadline <- elapsed() + given$control$time_limit
  given$seed <- stream_seed()
  if (inherits(start, "gps_fit")) start <- plus_no_intercept(given$model, start$params)
  begin <- function(task, rows) {
    first_state(task, keep_start_rows(start, rows, n_points(given$y)))
  }
  chosen <- with_memory(say_pilot(choose_size(given, begin)),
                        "A pilot fit for `n_selected` = \"auto\"")
  given$n_selected <- chosen$n_selected
  if (!is.null(given$max_active)) given$max_active <- min(chosen$max_active, chosen$n_selected)
  list(given = given, chosen = chosen)
}

# Evaluates `code`; an error in mid-fit says that it is the pilot's.
say_pilot <- function(code) {
  tryCatch(code, gps_error = function(condition) {
    if (!is.null(condition$state)) {
      condition$message <- paste("The pilot for `n_selected` = \"auto\":", condition$message)
    }
    stop(condition)
  })
}

task_of <- function(given) {
  seed <- if (is.null(given$seed)) stream_seed() else given$seed
  task <- new_task(given$y, given$model, given$selector, given$n_selected, given$max_active,
                   given$control, seed, given$image_dim, given$weights, given$unit)
  if (!is.null(given$deadline)) task$deadline <- given$deadline
  task
}

# ---- where it begins ----

# Short starts, what the user gives, or another fit.

# Short starts, the one start of the paper's algorithm, or where the user says.
first_state <- function(task, start, results = NULL) {
  if (is.null(start) && grows(task)) return(grow_start(task))
  if (is.null(start) && task$control$n_starts > 1) return(choose_start(task, results))
  allowInterrupts(if (inherits(start, "gps_fit")) {
    resume_state(task, start)
  } else {
    given_state(task, start)
  })
}

# The one start of the paper's algorithm, or where the user says.
given_state <- function(task, start) {
  state <- begin_state(task, 1)
  if (!is.null(start)) {
    start <- if (inherits(start, "gps_partition")) {
      partition_params(task, state$params, start)
    } else {
      check_params(task$model, start)
    }
    state$params[names(start)] <- start
    state <- skip_annealing(task, inform_state(task, state))
  }
  state$start <- 0L
  state
}

# Parameters that a user gives know something: the first expectations come from them, by the model's
# own ranking where it has one, not at random.
inform_state <- function(task, state) {
  if (!has_ranking(task$model)) return(state)
  ranked <- task
  ranked$selector <- selector_handcrafted()
  informed <- state
  informed$explore <- 0
  result <- pass(ranked, informed, want = character())
  points <- c("selected", "prob_on", "value")
  state[points] <- result[points]
  state["memory"] <- list(learn_selector(task$selector, task, state))
  state
}

# Go on from a fit: its parameters, and its slots and kernel where they fit the data. On images of
# another size latents have other numbers, and rows of other names are other data.
resume_state <- function(task, fit) {
  fit <- check_fit(fit)
  params <- plus_no_intercept(task$model, stats::coef(fit))
  params <- align_params(task$model, params, "start", task$columns)
  state <- new_state(check_all_params(task$model, params, "start"), 0L, task$explore,
                     is_early = begins_early(task))
  is_same <- is.null(fit$row_names) || is.null(task$rows) || identical(fit$row_names, task$rows)
  if (is_same && identical(dim(fit$selected), c(task$n_selected, n_points(task$y))) &&
        has_same_places(fit$model, task$model)) {
    slots <- need_slots(fit, "`start`")
    state[c("selected", "prob_on")] <- slots[c("selected", "prob_on")]
    if (task$method == "gibbs") state["value"] <- slots["value"]
    if (!is.null(fit$kernel_theta) && inherits(task$selector, "gps_selector_gp") &&
          length(fit$kernel_theta) ==
            length(theta_names(task$selector$kernel, n_dims(task$y)))) {
      place <- match_columns(fit$col_names, task$columns, "start", "`y`")
      theta <- permute_theta(task$selector$kernel, fit$kernel_theta, place)
      state$memory <- new_gp_memory(theta, permute_units(fit$gp$units, place))
    }
    state["memory"] <- list(learn_selector(task$selector, task, state))
  } else if (is.null(fit$selected)) {
    state <- inform_state(task, state)
  }
  skip_annealing(task, state)
}

# What tells how far a fit is, of all iterations that it may have: those of the starts, unless
# `start` says where it begins, and of the main run.
open_fit_teller <- function(task, start) {
  n_rows <- min(n_points(task$y), count_start_rows(task$model))
  n_before <- if (!is.null(start)) {
    0
  } else if (grows(task)) {
    grow_iterations
  } else if (task$control$n_starts > 1) {
    as.double(task$control$n_starts) * count_start_iterations(n_rows)
  } else {
    0
  }
  teller <- open_teller(n_before + task$control$max_iter, task$control$progress)
  if (!is.null(teller)) teller$n_before <- n_before
  teller
}

# ---- weights of its data points ----

# Those of weight 0 take no part: a fit is one of the others, and in
# the end they get the posterior that new data would get.

# What a fit works on: list(y, row_names, weights, kept, unit). `kept` are the rows that count,
# NULL: all. Weights below 1 on average are shares, not numbers of observations, of which a fit has
# limits (a cluster of less than one point, and so on): they are divided by their mean, `unit`.
count_rows <- function(data, weights) {
  counted <- list(y = data$y, row_names = data$row_names, weights = NULL, kept = NULL, unit = 1)
  if (is.null(weights)) return(counted)
  if (any(weights == 0)) {
    counted$kept <- which(weights > 0)
    counted$y <- keep_rows(data$y, counted$kept)
    counted["row_names"] <- list(data$row_names[counted$kept])
    weights <- weights[counted$kept]
  }
  counted$unit <- min(1, mean(weights))
  weights <- weights / counted$unit
  if (any(weights != 1)) counted$weights <- weights
  counted
}

# A start with the rows alone that count now: labels, or a fit of as many.
keep_start_rows <- function(start, kept, n_points) {
  if (is.null(kept)) return(start)
  if (inherits(start, "gps_partition") && !is.null(start$label)) start$label <- start$label[kept]
  is_same <- inherits(start, "gps_fit") && identical(start$n_points, n_points)
  if (is_same) keep_fit_rows(start, kept) else start
}

keep_fit_rows <- function(fit, kept) {
  fit <- unclass(check_fit(fit))
  fit[per_point] <- lapply(fit[per_point], function(x) if (!is.null(x)) x[, kept, drop = FALSE])
  fit["y"] <- list(if (is.matrix(fit$y)) fit$y[, kept, drop = FALSE])
  fit["row_names"] <- list(fit$row_names[kept])
  fit["weights"] <- list(fit$weights[kept])
  fit$n_points <- length(kept)
  structure(fit, class = "gps_fit")
}

# Bounds in the unit of the weights as they were given.
rescale_bounds <- function(x, unit) {
  bounds <- intersect(c("bound", "bound_error"), names(x))
  if (unit != 1) x[bounds] <- lapply(x[bounds], `*`, unit)
  x
}

# Slots of all rows: of those that do not count, empty ones for now.
place_slots <- function(state, kept, n_points) {
  if (is.null(kept)) return(state)
  state[per_point] <- lapply(state[per_point], function(x) {
    if (is.null(x)) return(NULL)
    whole <- matrix(x[1] * 0L, nrow(x), n_points)
    whole[, kept] <- x
    whole
  })
  state
}

# A fit whose rows of weight 0 have the posterior of new data. One that is cut short leaves their
# slots empty.
fill_uncounted <- function(fit, kept) {
  if (is.null(kept) || is.null(fit$selected)) return(fit)
  rows <- setdiff(seq_len(fit$n_points), kept)
  filled <- unless_long(fit, {
    task <- new_prediction_task(fit, keep_rows(fit$y, rows), "selected")
    state <- prediction_state(fit)
    join_parts(map_blocks(task, function(task, block) {
      infer_block(task, state, block, character())
    }))
  })
  if (is_cut(filled)) return(fit)
  for (name in per_point) if (!is.null(fit[[name]])) fit[[name]][, rows] <- filled[[name]]
  fit
}

refuse_task <- function(task) {
  needed <- sure_bytes(task)
  if (needed <= asked_bytes) return(invisible())
  check_memory(needed, paste("A fit of", task_size(task)), paste(
    "gps_plan() says what takes it.", if (is_whole_gp(task)) {
      "selector_gp(method = \"ichol\") takes little."
    } else {
      "gps_control(batch_size = ) or a smaller `n_selected` take less."
    }
  ))
}

# Bytes beside what is there before the first iteration: slots, and the matrices of a process of all
# points while one is factorised.
sure_bytes <- function(task) {
  n <- as.double(n_points(task$y))
  copies <- if (is.null(task$batches)) kept_copies else 1
  of_slot <- 4 + 8 + (if (task$method == "gibbs") 8 else 0)
  copies * n * task$n_selected * of_slot + (if (is_whole_gp(task)) 8 * sure_matrices * n^2 else 0)
}

sure_matrices <- 2

# Up to so many bytes, which R takes for much else, nobody is asked what is free: that takes as long
# as ten iterations on a few hundred data points.
asked_bytes <- 2^23

# The states of an iteration and of the one before.
kept_copies <- 2

task_size <- function(task) {
  sprintf("%s with %s and %s", plural(n_points(task$y), "data point"),
          plural(task$model$n_latents, "latent"), plural(task$model$n_dims, "dimension"))
}
