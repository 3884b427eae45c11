# `n_selected` = "auto": the fewest selected latents whose states hold the wanted share of the
# posterior, measured at the parameters of a short pilot fit of sampled data points.

# Up to so many states of all latents nothing is gained by selecting some: as many as the usual
# number of selected latents has.
few_states <- 64

# Data points that a size is judged on, and iterations and starts of the pilot at the most.
judged_points <- 300L
pilot_limits <- c(max_iter = 30, n_starts = 3)

# Data points of the pilot: at the fewest, and at the most unless there are very many latents.
pilot_rows <- c(100, 500)

# States of the pilot's own selection at the most, unless the usual selection has more.
pilot_states <- 256

# How often a fit may be widened when its own parameters need more latents than those of the pilot.
most_widened <- 2L

# list(n_selected, why, target, sizes, is_all, max_active, most): what "auto" stands for. `given`
# has `y`, `model`, `selector`, `max_active`, `control`, `image_dim` and `seed`; `begin` makes the
# first state of a task.
choose_size <- function(given, begin) {
  model <- nominal_model(set_image(given$model, given$image_dim), given$y)
  given$control["budget"] <- list(NULL)
  target <- given$control$target_mass
  all <- count_choices(model)
  if (!is.null(given$max_active)) {
    given$max_active <- check_max_active(given$max_active, model, all)
  }
  made <- function(n_selected, why, sizes = NULL) {
    list(n_selected = as.integer(n_selected), why = why, target = target, sizes = sizes,
         is_all = n_selected == all && !startsWith(why, "captured"), max_active = given$max_active,
         most = largest_size(model, active_limit(given$max_active)))
  }
  why <- why_all(given, model)
  if (!is.null(why)) return(made(all, why))
  pilot <- pilot_points(given, all)
  task <- pilot_task(given, model, pilot)
  state <- begin(task, pilot)
  if (is.null(state$cut)) state <- run_em(task, state)
  rows <- spaced_points(n_points(task$y), judged_points)
  sizes <- find_size(task, state, rows, given$max_active, 2L, target)
  n_gains <- state$evaluations / n_points(task$y)
  said <- sprintf("captured in a pilot of %s", plural(n_points(task$y), "point"))
  size <- sizes$chosen
  is_dear <- model$n_latents == all && count_size(model, all, active_limit(given$max_active)) <=
    count_size(model, size, active_limit(given$max_active)) + n_gains
  if (is_dear) {
    return(made(all, why_dear(size, all), sizes))
  }
  made(size, said, sizes)
}

# Why all are taken where a selection of `size` would cost as much.
why_dear <- function(size, all) {
  if (size == all) return("fewer hold less of the posterior than is asked for")
  sprintf("all together have no more states than a selection of %d costs", size)
}

active_limit <- function(max_active) if (is.null(max_active)) Inf else max_active

# Why all latents are selected without a pilot, NULL if they are not.
why_all <- function(given, model) {
  all <- count_choices(model)
  if (inherits(given$selector, "gps_selector_full")) return("selector_full() selects all")
  if (all <= 2) return("there are no more")
  if (model$n_latents > all) return(NULL)
  if (count_size(model, all, active_limit(given$max_active)) <= few_states) {
    return("their states are no more than a selection and its ranking would cost")
  }
  is_batched <- !is.null(given$control$batch_size)
  if (isTRUE(resolve_engine(given$selector, model, given$y, is_batched)$all)) {
    return("they take less time than learning to select")
  }
  NULL
}

# The task of the pilot: a quarter of the data points, or more where there are few, but no more than
# it needs; with a generous selection.
pilot_task <- function(given, model, rows) {
  all <- count_choices(model)
  limit <- active_limit(given$max_active)
  size <- check_n_selected(NULL, model)
  while (size < all && count_size(model, size + 1L, limit) <= pilot_states && size < 2 * all / 3) {
    size <- size + 1L
  }
  size <- min(size, largest_size(model, limit))
  control <- given$control
  control[c("batch_size", "step", "grow")] <- list(NULL, NULL, NULL)
  control[c("polish", "mend", "monotone", "progress")] <- FALSE
  # Not the fit's own limit: with more iterations it is to be the same fit, gone on with.
  control$max_iter <- pilot_limits[["max_iter"]]
  task <- suppressWarnings(
    new_task(rows_data(given$y, rows), given$model, given$selector, size,
             if (is.finite(limit)) min(limit, size), control, given$seed, given$image_dim,
             given$weights[rows], given$unit),
    classes = "gps_warning"
  )
  task$control$n_starts <- min(task$control$n_starts, pilot_limits[["n_starts"]])
  # Not all data points: an interrupt finds no fit here and goes on.
  task$is_part <- TRUE
  task
}

# The data points of the pilot, in ascending order.
pilot_points <- function(given, n_latents) {
  n <- n_points(given$y)
  n_rows <- min(n, max(pilot_rows[1], 5 * n_latents, min(n / 4, pilot_rows[2])))
  sample_numbers(n, n_rows, given$seed, pilot_stream)
}

pilot_stream <- 4002

# A table of sizes from `least` on, those that a bisection looks at, with the one chosen: the
# smallest that reaches the target; or where none does the smallest that has nearly as much as any.
find_size <- function(task, state, rows, max_active, least, target) {
  sample <- point_task(task, rows)
  affinity <- state_affinity(task, state, rows)
  most <- largest_size(task$model, active_limit(max_active))
  table <- NULL
  # Of so few points the mass is known to its standard error: what is surely there counts.
  sure_mass <- function(size) {
    if (!size %in% table$n_selected) {
      sized <- resize_task(sample, size, max_active)
      table <<- rbind(table, judge_size(sized, state, affinity))
    }
    row <- table[table$n_selected == size, ]
    row$mass - row$mass_error
  }
  low <- min(least, most) - 1L
  high <- low + 1L
  while (sure_mass(high) < target && high < most) {
    low <- high
    high <- min(2L * high, most)
  }
  wanted <- target
  if (sure_mass(high) < target) {
    wanted <- max(table$mass - table$mass_error) - unlike_mass
    low <- min(least, most) - 1L
  }
  while (high - low > 1) {
    middle <- (low + high) %/% 2L
    if (sure_mass(middle) >= wanted) high <- middle else low <- middle
  }
  new_sizes(table, length(rows), task$model$n_latents, as.integer(high), target)
}

# Masses that differ by less are the same, where the target cannot be reached.
unlike_mass <- 0.01

# Affinities of some of a task's points, latents x points, by what its selector has learned; NULL
# where they are too many to hold.
state_affinity <- function(task, state, rows) {
  if (as.double(length(rows)) * task$model$n_latents > most_affinities) return(NULL)
  state$explore <- 0
  step <- list(task = task, state = state, row_names = NULL)
  affinity <- affinity_of_points(task$selector, step, rows)
  if (anyNA(affinity)) NULL else t(unname(affinity))
}

most_affinities <- 2^24

# list(mass, wider): what the fit itself captures, and where that is too little and something is
# left to be done the sizes beyond its own.
judge_chosen <- function(task, state, chosen, may_widen) {
  rows <- sampled_rows(task, judged_points, pilot_stream)
  found <- judge_selection(point_task(task, rows), state$params,
                           state$selected[, rows, drop = FALSE])
  can_go_on <- may_widen && task$n_selected < chosen$most && is.null(state$batches) &&
    state$iteration < task$max_iter && elapsed() < task$deadline
  wider <- if (found$mass < chosen$target && can_go_on) {
    find_size(task, state, rows, chosen$max_active, task$n_selected + 1L, chosen$target)
  }
  # More of them that capture no more are of no use.
  is_of_use <- !is.null(wider) && max(wider$table$mass) > found$mass + unlike_mass
  list(mass = found$mass, wider = if (is_of_use) wider)
}

# The task of a fit that goes on with more slots: the fit that there is stays, if this is cut short.
wider_task <- function(task, n_selected, max_active) {
  task <- resize_task(task, n_selected, max_active)
  task$explore <- if (n_selected < count_choices(task$model)) task$selector$explore else 0
  task$blocks <- split_blocks(n_points(task$y), task_doubles(task))
  task$has_fit <- TRUE
  task
}

# A state whose points have nothing selected yet.
clear_slots <- function(task, state) {
  cleared <- new_state(state$params, 0L, task$explore, state$memory, is_early = FALSE)
  kept <- c("iteration", "trace", "starts", "failed_starts", "start_params", "held", "notes")
  cleared[kept] <- state[kept]
  if (is.null(task$noise)) cleared else end_annealing(cleared)
}

# What a fit keeps of it, with `line`, what print() says.
say_chosen <- function(chosen) {
  if (is.null(chosen)) return(NULL)
  # A fit that was cut short does not know it.
  is_known <- !is.null(chosen$mass)
  in_fit <- if (is_known) sprintf(", %s in the fit", plain_number(chosen$mass, 3)) else ""
  line <- if (chosen$is_all) {
    sprintf("all, as %s", chosen$why)
  } else {
    table <- chosen$sizes$table
    mass <- table$mass[table$n_selected == chosen$n_selected]
    sprintf("%s %s of the posterior: %s %s%s",
            if (mass >= chosen$target) "the fewest for" else "too few for",
            plain_number(chosen$target, 3), plain_number(mass, 3), chosen$why, in_fit)
  }
  said <- intersect(c("n_selected", "target", "why", "mass", "sizes"), names(chosen))
  c(chosen[said], list(line = line))
}
