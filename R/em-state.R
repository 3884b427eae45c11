# What an iteration works on, every field declared once: the task, which stays as it is during a
# fit, and the state, which goes from iteration to iteration. N data points, H latents, D
# dimensions.

# A task of these parts; what is left out is NULL or as it says here.
make_task <- function(parts) {
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
    selector = NULL,         # with the model's defaults for what was left NULL
    control = NULL,          # of gps_control(), with the model's defaults for what was left NULL
    given = NULL,            # list(selector, control, weights) as the user gave them, for the fit
    n_threads = 1L, seed = NULL, began = 0, deadline = Inf,

    # How states are inferred: read by select-slots.R and the E-step.
    n_selected = NULL, max_active = NULL,
    method = NULL,           # "exact" or "gibbs"
    states = NULL,           # the template, see enumerate_states()
    sweeps = NULL,           # c(burn-in, draws)
    is_new = FALSE,                      # of a prediction: of data that the fit has not seen
    is_before_rounds = FALSE,            # of a fit of before 0.3.0: select for new data as it did

    # The course of the fit: read by em-run.R, em-anneal.R and em-starts.R.
    max_iter = 0, explore = 0,
    anneal_over = NULL, noise = NULL,    # see annealing_of()
    free_model = NULL,       # the model with nothing held fixed, while something is
    is_part = FALSE,         # its data are a part of the fit's: set by restrict_task()
    has_fit = FALSE,         # a start before this one would do as the fit: set by run_starts()
    keeper = NULL,           # of the points of the main run, see em-checkpoint.R

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

# The task as it would be if iterations had no limit.
unlimited <- function(task) {
  task$max_iter <- Inf
  task
}

# A state before its first iteration. `start` numbers the random streams: 0 is the main run.
# `is_early`: explorers are many, and annealing, if there is any, is not over.
new_state <- function(params, start, explore, memory = NULL, is_early = explore > 0) {
  list(
    params = params,         # the model's; written by maximise(), mend_params() and moves
    start = start, iteration = 0L,

    # Schedule: written by em-anneal.R, read by the selection and the E-step.
    explore = explore,       # share of the slots that random latents get
    beta = 1,                # inverse temperature
    noise_floor = 0,         # standard deviation
    is_early = is_early, is_polishing = FALSE,
    held = NULL,             # iterations that annealing waited; NULL: as the control says
    kept_share = NULL,       # of the posterior mass on latents that were selected before
    is_last = FALSE,         # in the last pass, by try_last_pass()

    # Slots, n_selected x N, see data-slots.R: written by infer() and mended by the model.
    selected = NULL, prob_on = NULL,
    value = NULL,            # where states are sampled
    given = NULL,            # slots for the next pass in place of a selection, by step_given()
    may_rest = FALSE,        # points may keep their slots, by step_in_parts()
    sought = NULL,           # components that are looked for everywhere, by moves

    # The learner: written by learn(), read by the selector alone.
    memory = memory,
    sums = NULL,             # what the last pass adds up for it
    view = NULL,             # of a block, in expect_block() only
    beside = NULL,           # which latents stand beside which: written by infer()

    # What the last pass gave.
    bound = -Inf, bound_error = 0, evaluations = 0,
    stats = NULL, running = NULL,        # as they are, and as the M-step had them
    events = NULL, notes = NULL,         # of the M-step and the model's repairs
    is_moved = FALSE,        # repairs changed the slots
    complete = NULL,         # the last E-step whose parts belong together

    # The course of the run: written and read by em-run.R, em-rest.R and em-mend.R.
    bounds = numeric(),      # since bounds were last of the same schedule
    mended_at = NULL,        # bounds at which mending found nothing
    bound_before_move = NULL,
    trace = list(), starts = NULL, failed_starts = NULL,
    status = NULL, cut = NULL,
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
