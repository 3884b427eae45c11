# The task of a fit, its state, and every field of both. What can be decided before its data are
# read is: options that cannot go together are refused without an iteration, and without a block of
# a source.

# list(selector, control, n_selected, max_active, method), all resolved for the model.
plan_task <- function(y, model, selector, n_selected, max_active, control) {
  model <- nominal_model(model, y)
  control <- resolve_control(control, model, n_points(y))
  is_batched <- !is.null(control$batch_size)
  if (is_batched) {
    check_batches(model)
    step_size(control$step, 1)
  }
  check_full(selector, model)
  selector <- resolve_engine(selector, model, y, is_batched)
  selector <- resolve_selector(selector, model)
  check_learner(selector, model, y)
  if (inherits(selector, "gps_selector_full")) n_selected <- check_all_selected(n_selected, model)
  if (!is.null(n_selected)) selector["all"] <- list(NULL)
  if (!is.null(selector$all)) n_selected <- count_choices(model)
  n_selected <- check_n_selected(n_selected, model)
  max_active <- check_max_active(max_active, model, n_selected)
  method <- resolve_method(control$method, model, n_selected, max_active)
  if (method == "gibbs" && control$monotone) refuse_monotone()
  check_explore(selector, n_selected)
  if (!is.null(control$budget)) check_budget(control$budget, selector, model, n_selected)
  list(selector = selector, control = control, n_selected = n_selected, max_active = max_active,
       method = method)
}

# Running averages are of statistics, which a model of R functions has none of.
check_batches <- function(model) {
  if (!inherits(model, "gps_custom_model")) return(invisible(model))
  gps_abort("`batch_size` is not for models of R functions: leave it NULL.")
}

# The model with its sizes, which the data's number of dimensions says; what it takes from the
# numbers themselves is that of data of mean 0 and variance 1. Models from elsewhere may look at
# them.
nominal_model <- function(model, y) {
  if (!is_built_in(model)) return(bind_data(model, y))
  bind_model(model, assumed_moments(n_points(y), n_dims(y), centre = 0, variance = 1))
}

# All latents with places are each component at all places: slots for all of them there are not.
check_full <- function(selector, model) {
  if (!inherits(selector, "gps_selector_full") || model$n_latents == count_choices(model)) {
    return(invisible(selector))
  }
  gps_abort(sprintf(
    paste("selector_full() is not for the model %s: its %s latents are %d components at %s places",
          "each, of which a data point has a slot for one place of each component at most. Use",
          "selector_handcrafted(), which judges all places, with `n_selected` = %d."),
    quoted(model$name), format_number(model$n_latents), count_choices(model),
    format_number(count_places(model)), count_choices(model)
  ))
}

# A number beside selector_full() that says the same, or none.
check_all_selected <- function(n_selected, model) {
  all <- count_choices(model)
  if (is.null(n_selected) || check_n_selected(n_selected, model) == all) return(all)
  gps_abort(sprintf(paste(
    "selector_full() selects all %d %s, which `n_selected` = %d contradicts: leave `n_selected`",
    "out, or choose another selector."
  ), all, if (model$rule$min_active == 1) "clusters" else "latents", as.integer(n_selected)))
}

check_explore <- function(selector, n_selected) {
  if (selector$explore * n_selected <= most_explorers) return(invisible(selector))
  gps_abort(sprintf(
    "`explore` = %s of `n_selected` = %d are more than %d explorers for each data point.",
    plain_number(selector$explore), n_selected, most_explorers
  ))
}

# What a learned selector would find out when it first regresses.
check_learner <- function(selector, model, y) {
  if (!inherits(selector, "gps_selector_gp")) return(invisible(selector))
  kernel_theta(selector$kernel, n_dims(y), list(one = 1, each = 1))
  if (is_small_source(y) || is.null(needs_whole(selector))) {
    engine_check_size(selector_engine(selector), selector$kernel, n_dims(y), n_points(y),
                      model$n_latents)
  }
  invisible(selector)
}

refuse_monotone <- function() {
  gps_abort(paste("`monotone` = TRUE excludes Gibbs sampling:",
                  "its estimates are too noisy to compare selections point by point."))
}

# A selector with the model's defaults for what was left NULL. Of a learned one, whose method is
# settled by then, it says how it ranks: `by_sums` over blocks of the data, or `by_candidates`, so
# that no array of latents x points is made.
resolve_selector <- function(selector, model) {
  check_smooth(selector, model)
  check_screened(selector$screen, model)
  if (is.null(selector$screen)) selector$screen <- default_screen(selector, model)
  if (inherits(selector, "gps_selector_gp")) {
    selector$smooth <- smooth_of(selector, model)
    selector$by_sums <- is_by_sums(selector, model)
    selector$by_candidates <- isTRUE(engines[[selector$method]]$few)
  }
  is_open <- is.list(selector$screen) && is.null(selector$screen$neighbours)
  if (is_open && isTRUE(selector$by_candidates) && !has_neighbours(model)) {
    selector$screen$neighbours <- beside_default
  }
  if (identical(selector$screen, FALSE)) selector["screen"] <- list(NULL)
  selector
}

# An approximate ranking misses a latent here and there, which costs more than screening does.
default_screen <- function(selector, model) {
  if (!can_screen(model)) return(NULL)
  is_approximate <- inherits(selector, "gps_selector_gp") &&
    !selector$method %in% c(methods_that("exact"), "auto")
  if (is_approximate) gps_screen() else model$defaults$screen
}

check_n_selected <- function(n_selected, model) {
  n_choices <- count_choices(model)
  if (is.null(n_selected)) {
    return(as.integer(min(n_choices, if (model$rule$min_active == 1) {
      if (n_choices > many_clusters) selected_of_many else max(2, ceiling(n_choices / 4))
    } else {
      6
    })))
  }
  if (is.character(n_selected)) {
    abort_value(n_selected, "n_selected", sprintf(
      "NULL, \"auto\" or a whole number up to %d, where selector_full() is for all", n_choices
    ))
  }
  if (is_count(plain_numbers(n_selected), n_choices + 1)) {
    gps_abort(sprintf(paste("`n_selected` must be a whole number between 1 and %d, not %s: the",
                            "model has no more."), n_choices, format(plain_numbers(n_selected))))
  }
  check_count(n_selected, "n_selected", 1, n_choices)
}

# Of many clusters few are near a data point, however many there are.
selected_of_many <- 5L

# GPS_MAX_EXPLORERS of src/select.h.
most_explorers <- 4096L

# Whether there is a slot beside the best one, and a latent that is not in one.
may_explore <- function(n_selected, model) {
  n_selected > 1 && n_selected < count_choices(model)
}

# Everything that stays as it is during a fit.
new_task <- function(y, model, selector, n_selected, max_active, control, seed = stream_seed(),
                     image_dim = NULL, weights = NULL, bound_unit = 1) {
  model <- set_image(model, image_dim)
  given <- list(selector = selector, control = control)
  plan <- plan_task(y, model, selector, n_selected, max_active, control)
  control <- plan$control
  names <- if (is_source(y)) y$names
  y <- selector_data(y, plan$selector, model)
  missing <- find_missing(y)
  moments <- data_moments(y, missing, weights)
  refuse_unobserved(moments$unobserved, names)
  whole <- fill_missing(y, missing, moments$centre)
  model <- bind_data(model, if (is_built_in(model)) whole else y, moments, weights)
  y <- fill_cells(model, whole, missing)
  batches <- if (!is.null(control$batch_size)) split_batches(y, control$batch_size, seed)
  n_updates <- max(1L, length(batches))
  has_places <- !is.null(batches) && isTRUE(plan$selector$by_candidates)
  parts <- list(
    y = y, missing = missing, places = if (has_places) place_batches(batches),
    blocks = split_blocks(n_points(y), task_doubles(c(plan, list(model = model)))),
    n_whole = total_weight(weights, n_points(y)), weights = weights, bound_unit = bound_unit,
    moments = moments, batches = batches, model = model, given = given, sweeps = control$sweeps,
    units = if (!is.null(batches)) units_of_all(plan, y, model, seed),
    first_rate = if (is.null(batches)) 1 else first_rate(model, lengths(batches)),
    states = build_states(model, plan$n_selected, plan$max_active, plan$method), seed = seed,
    n_threads = resolve_threads(control$n_threads),
    explore = if (may_explore(plan$n_selected, model)) plan$selector$explore else 0,
    max_iter = as.double(n_updates) * control$max_iter, began = elapsed(),
    deadline = elapsed() + control$time_limit
  )
  planned <- plan[c("selector", "n_selected", "max_active", "method", "control")]
  task <- make_task(c(parts, planned, annealing_of(model, control, n_updates)))
  task$screen <- plan_screen(task)
  task
}

# ---- every field ----

# What an iteration works on, every field declared once: the task, which stays as it is during a
# fit, and the state, which goes from iteration to iteration. N data points, H latents, D
# dimensions.

# A task of these parts; what is left out is NULL or as it says here.
make_task <- function(parts) {
  model <- parts$model
  fill_fields(list(
    # The data and who works on them. Written once, by new_task() for a fit, new_prediction_task()
    # for new data, step_task() for gps_affinity() and gps_learn(); parts of the data are cut by
    # restrict_task() and batch_task().
    y = NULL,                # D x N or a source; read through data-blocks.R only
    missing = NULL,          # cells that the data lack, see data-missing.R
    weights = NULL,          # N, for how many observations each point stands; NULL: for one
    bound_unit = 1,          # of what the weights are in, as the user gave them
    blocks = list(),         # of new_block(), what passes map over
    model = NULL,            # bound; a model held fixed in part at first, see hold_back()
    place_dim = choice_grid(model),      # height and width of its places, if its latents have any
    has_images = has_images(model),      # its data are images
    selector = NULL,         # with the model's defaults for what was left NULL
    control = NULL,          # of gps_control(), with the model's defaults for what was left NULL
    given = NULL,            # list(selector, control, weights) as the user gave them, for the fit
    n_threads = 1L, seed = NULL, began = 0, deadline = Inf,

    # How states are inferred: read by select-slots.R and the E-step.
    n_selected = NULL, max_active = NULL,
    method = NULL,           # "exact" or "gibbs"
    states = NULL,           # the template, see enumerate_states()
    sweeps = NULL,           # c(burn-in, draws)
    screen = NULL,           # of the selector, with numbers for its defaults, see plan_screen()
    is_new = FALSE,                      # of a prediction: of data that the fit has not seen
    is_before_rounds = FALSE,            # of a fit of before 0.3.0: select for new data as it did

    # The course of the fit: read by em-run.R, em-schedule.R and em-starts.R.
    max_iter = 0, explore = 0,
    anneal_over = NULL, noise = NULL,    # see annealing_of()
    free_model = NULL,       # the model with nothing held fixed, while something is
    is_part = FALSE,         # its data are a part of the fit's: set by restrict_task()
    may_compare = FALSE,     # the main run: engines are compared, see may_compare()
    has_fit = FALSE,         # a start before this one would do as the fit: set by run_starts()
    keeper = NULL,           # of the points of the main run, see em-checkpoint.R
    teller = NULL,           # of what shows how far a fit is, see em-run.R
    pass_teller = NULL,      # of what shows how far a prediction is, see map_blocks()

    # What is known of all data: read by starts, warnings, prices of parameters and the selector.
    # `n_whole` is how many observations there are.
    n_whole = NULL, moments = NULL,
    units = NULL,            # of the selector's kernel, where batches share them
    columns = NULL, rows = NULL,         # their names
    latents = NULL,                      # names of clusters that a start gave

    # Minibatches, see em-batches.R.
    batches = NULL,          # row numbers of each; NULL: none
    places = NULL,           # list(batch, column) of each point, where neighbours are in others
    batch_rows = NULL,       # of the task of one batch: its row numbers
    first_rate = 1,
    batch_scale = NULL,      # N by the points of the batch; NULL: the task has all points
    may_refit = FALSE        # the selector may refit its kernel in this batch
  ), parts)
}

# A state before its first iteration. `start` numbers the random streams: 0 is the main run.
# `is_early`: explorers are many, and annealing, if there is any, is not over.
new_state <- function(params, start, explore, memory = NULL, is_early = explore > 0) {
  list(
    params = params,         # the model's; written by maximise(), mend_params() and moves
    start = start, iteration = 0L,

    # Schedule: written by em-schedule.R, read by the selection and the E-step.
    explore = explore,       # share of the slots that random latents get
    beta = 1,                # inverse temperature
    noise_floor = 0,         # standard deviation
    is_early = is_early, is_polishing = FALSE,
    held = NULL,             # iterations that annealing waited; NULL: as the control says
    kept_share = NULL,       # of the posterior mass on latents that were selected before
    is_last = FALSE,         # in the last pass, by try_last_pass()

    # Slots, n_selected x N, see data-blocks.R: written by infer() and mended by the model.
    selected = NULL, prob_on = NULL,
    value = NULL,            # where states are sampled
    given = NULL,            # slots for the next pass in place of a selection, by step_given()
    is_spreading = TRUE,     # labels still reach points, `unreached` had none in the last pass
    unreached = Inf,
    may_rest = FALSE,        # points may keep their slots, by step_in_parts()
    sought = NULL,           # components that are looked for everywhere, by moves

    # Under a budget, written by em-budget.R alone: points that keep their slots in a pass, how much
    # each needs a turn, and what passes have taken.
    resting = NULL, need = NULL, work = NULL,

    # The learner: written by learn(), read by the selector alone.
    memory = memory,
    sums = NULL,             # what the last pass adds up for it
    view = NULL,             # of a block, in expect_block() only
    late = NULL,             # what a time limit left out of the beginning, named numbers
    engine = NULL,           # of compare_engines(): what "auto" stays with, by recall
    beside = NULL,           # which latents stand beside which: written by infer()

    # What the last pass gave.
    bound = -Inf, bound_error = 0, evaluations = 0,
    stats = NULL, running = NULL,        # as they are, and as the M-step had them
    events = NULL, notes = NULL,         # of the M-step and the model's repairs
    is_moved = FALSE,        # repairs changed the slots
    complete = NULL,         # the last E-step whose parts belong together

    # The course of the run: written and read by em-run.R, em-schedule.R and
    # em-mend.R.
    bounds = numeric(),      # since bounds were last of the same schedule
    mended_at = NULL,        # bounds at which mending found nothing
    bound_before_move = NULL,
    trace = list(), starts = NULL, failed_starts = NULL,
    start_params = NULL,     # of each start, where they are kept
    status = NULL, cut = NULL,
    course = NULL,           # in the middle of a pass over batches, see begin_course()
    limited = FALSE,         # with a larger `max_iter` the run would have gone another way

    # Minibatches: written and read by em-batches.R.
    batches = NULL,          # of each batch its slots, bound and weight in the sums
    clock = NULL, generation = NULL, n_updates = NULL,
    rate = NULL,             # step of this update
    gauge = NULL             # units of latents now, in those of the first parameters [H]
  )
}

# `fields` with those of `given` in place of their own. A field that is not declared is a mistake.
fill_fields <- function(fields, given) {
  stopifnot(all(names(given) %in% names(fields)))
  fields[names(given)] <- given
  fields
}

# ---- a part of a task ----

# A task on some of its rows: what short starts and trials of moves run on.

start_iterations <- 12L

# Of more rows than usual a start makes fewer iterations, so that it costs no more.
count_start_iterations <- function(n_rows) {
  max(4L, as.integer(start_iterations * min(1, start_rows / n_rows)))
}

sample_rows <- function(task, n_rows = count_start_rows(task$model)) {
  if (n_points(task$y) <= n_rows) return(NULL)
  sampled_rows(task, n_rows, 0)
}

# The same task on some rows (NULL: all) as a matrix, with the iterations of a start.
restrict_task <- function(task, rows) {
  if (is.null(rows) && is_source(task$y)) rows <- seq_len(n_points(task$y))
  if (!is.null(rows)) {
    task$is_part <- length(rows) < n_points(task$y)
    task <- point_task(task, rows)
    task$blocks <- split_blocks(n_points(task$y), task_doubles(task))
  }
  task[c("batches", "keeper")] <- list(NULL)
  task$max_iter <- count_start_iterations(n_points(task$y))
  task$control$polish <- FALSE
  task$control$mend <- FALSE
  task$control$tol <- 0
  task
}

# Names of all that a task and a state hold: versions that differ in them cannot go on from each
# other's.
checkpoint_form <- function() {
  sort(c(names(make_task(list())), names(new_state(NULL, 0L, 0))))
}
