# The end of a fit: its last pass, and whether it has to go on with more selected latents.

# One last pass without explorers, so that slots, bound and parameters belong together. A fit that
# was cut short, before or in here, ends with its last complete E-step instead; if that was hot, its
# bound is of no likelihood and its probabilities are no posterior, and a pass is made for which
# nobody has to wait.
finish <- function(task, state) {
  complete <- complete_batches(state)
  if (!is.null(complete)) state$complete <- complete
  is_cut_short <- was_cut_short(state) && !is.null(state$complete)
  deadline <- deadline_of(task, state)
  if (is_cut_short) {
    state <- take_complete(state)
    if (state$beta == 1) return(widen_slots(task, state))
    deadline <- elapsed() + patience
  }
  result <- try_last_pass(task, state, deadline)
  if (is_cut(result)) {
    if (!is_cut_short) state$status <- result$status
    return(widen_slots(task, cool_bound(task, take_complete(state))))
  }
  state$beta <- 1
  state[inferred] <- result[inferred]
  # The sums of all points predict; what the batches have left of them was for the next update.
  if (!is.null(state$batches) && !is.null(result$sums$gram)) {
    state$memory <- prepare_basis(task, state$memory, result$sums)
  }
  state
}

try_last_pass <- function(task, state, deadline) {
  is_safe <- has_fit(task, state)
  state$explore <- 0
  state$beta <- 1
  state$iteration <- state$iteration + 1L
  state$is_last <- TRUE
  with_last_state("The last pass", state, until_cut(deadline, is_safe, if (is.null(state$batches)) {
    pass(task, state, want = character())
  } else {
    pass_batches(task, state)
  }))
}

# The bound of an E-step at temperature T is the sum of log sum p^(1 / T) over K states. Means of
# powers grow with the power: log sum p is at least T log sum p^(1 / T) - (T - 1) log K.
cool_bound <- function(task, state) {
  heat <- 1 / state$beta
  n_states <- count_states(task$model$rule, task$n_selected, task$max_active)
  state$bound <- heat * state$bound - (heat - 1) * log(n_states) * task_weight(task)
  state$bound_error <- heat * state$bound_error
  state
}

# list(task, state, chosen) of a fit whose `n_selected` was chosen by a pilot: where its own
# parameters need more latents it goes on with more. What cuts that short leaves the fit as it was,
# and so does a source that cannot be read any more.
widen_fit <- function(task, state, chosen) {
  ended <- list(task = task, state = state, chosen = chosen)
  if (is.null(chosen) || was_cut_short(state)) return(ended)
  tryCatch(widen_further(ended), gps_error_data = function(condition) {
    gps_warn(paste("Whether the fit needs more latents selected could not be looked at:",
                   conditionMessage(condition)))
    ended
  })
}

widen_further <- function(ended) {
  for (round in 0:most_widened) {
    judged <- until_cut(ended$task$deadline, TRUE, judge_chosen(
      ended$task, ended$state, ended$chosen, round < most_widened
    ))
    if (is_cut(judged)) return(cut_widening(ended, judged$status))
    ended$chosen$mass <- judged$mass
    if (is.null(judged$wider)) break
    task <- wider_task(ended$task, judged$wider$chosen, ended$chosen$max_active)
    state <- run_em(task, clear_slots(task, ended$state))
    if (is.null(state$complete)) return(cut_widening(ended, state$status))
    task$has_fit <- FALSE
    ended[c("task", "state")] <- list(task, finish(task, state))
    ended$chosen[c("n_selected", "sizes")] <- list(judged$wider$chosen, judged$wider)
    ended$chosen$why <- "captured in a first fit"
  }
  ended
}

cut_widening <- function(ended, status) {
  if (status == "interrupted") ended$state$status <- status
  ended
}

# The fit of all rows, those of weight 0 included, with the data that it keeps.
make_fit <- function(ended, data, kept) {
  fit <- fill_uncounted(new_fit(ended$task, ended$state, data, kept, ended$chosen), kept)
  fit["y"] <- list(if (ended$task$given$control$keep_data) kept_data(data$y))
  if (!is.matrix(fit$y)) fit$known <- kept_columns(ended$task)
  fit
}

#' @return a list of class `gps_fit`. What was found:
#' * `params`: named list as in `coef()`, whose shapes the model's page has;
#' * `bound`: truncated free energy, the sum over points of log sum p(s, y) over the selected
#'   states; `bound_error`: 0; by sampling the bound is an estimate that is too small on average,
#'   and this its approximate standard error, see [gps_control()];
#' * `selected`, `prob_on`: n_selected x n, see [expectations()]; `value`: NULL, by sampling
#'   n_selected x n, the last states of the chains;
#' * `status`: "converged", "max_iter", "time_limit" or "interrupted"; `method`: "exact" or "gibbs";
#' * `standing`, what the end stands on: `degenerate`, sentences on why the likelihood has no
#'   maximum (none where it has one), `far`, the values far from all others that these tell of,
#'   `unused`, numbers of the latents or components that are on in less than one point, `held`, the
#'   noise variance which annealing still held at the end, and a `temperature` above 1 there.
#'
#' How it came about:
#' * `trace`: data frame, one row an iteration (those of an accepted move are one row): `start`
#'   (number of the short start, 0 is the main run), `iteration`, `bound` and `bound_error`,
#'   `temperature`, `explore` (share of the slots that random explorers have), `refit` (whether the
#'   kernel was learned anew), `jitter` of its factorisation, `events` (what happened and how often,
#'   in words), `evaluations` (log joints that screening evaluated, a data point), `seconds`;
#'   `n_iter`: number of the last one of the main run;
#' * `starts`: data frame of `start`, its `bound_per_point`, whether `chosen`, on how many `rows` it
#'   ran, and on how many `unseen` ones it was judged, 0 for its own; `failed_starts`: NULL, or a
#'   data frame of the `start`s that ended in an error, without which the others went on, and its
#'   `message` (an error where all fail); `start_params`: NULL, or the parameters of each of the
#'   `starts`, see `keep_starts` in [gps_control()]; `begun`: where it began without short starts,
#'   in words;
#' * `kernel_theta`, `kernel_trace`, of learned selectors: the kernel's log hyper-parameters, and
#'   their way, a data frame of `start`, `iteration` and one column each, named as in `coef()` of a
#'   [gp_fit()]; its first row is where they began, at iteration 0, and each further one a refit;
#' * `gp`: how the Gaussian process was computed (`method`, `rank`) and in which `units` (see the
#'   section "Units" of [selector_gp()]), and where that was by few basis functions all that
#'   predicting needs;
#' * `chosen`: NULL, or how `n_selected = "auto"` was settled, see the section on that.
#'
#' What it was made of: `model`, `selector` and `control` as given, `n_selected` and `max_active` as
#' used, the `call`, the `version` of the package, the `seed` of its random streams and the `memory`
#' of a [selector_custom()]; the data as `y` (D x n, or a source), `n_points`, `weights` (n, NULL
#' where all are 1), `row_names`, `col_names`, names of clusters as `latent_names`, `image_dim`, the
#' size of images; `pixels`, NULL or the height and width (and channels) of the pictures that rows
#' of a matrix are, where that has the attribute `size`, as of [extract_patches()]; `marks`, mean,
#' mean square, least and largest of the data's numbers, by which [gps_compare()] knows fits of
#' other data; and where there are such `omitted`, the numbers of rows that were left out, and
#' `n_missing`, how many cells have no value.
#' @name gps_fit
NULL

# With all data still in it.
new_fit <- function(task, state, data, kept, chosen) {
  control <- task$control
  standing <- standing_in_time(task, state, data$col_names)
  state <- rescale_bounds(place_slots(state, kept, n_points(data$y)), task$bound_unit)
  if (!control$keep_slots) state[c("selected", "prob_on", "value")] <- list(NULL)
  fit <- list(
    params = state$params, model = task$model, selector = task$given$selector,
    n_selected = task$n_selected, max_active = task$max_active, control = task$given$control,
    method = task$method, bound = state$bound, bound_error = state$bound_error,
    n_points = n_points(data$y), n_iter = state$iteration, status = state$status,
    trace = rescale_bounds(trace_frame(state$trace), task$bound_unit), starts = state$starts,
    failed_starts = state$failed_starts, start_params = state$start_params,
    begun = task$given$start,
    kernel_theta = state$memory$theta,
    kernel_trace = trace_kernel(state$memory), gp = kept_gp(task, state),
    memory = if (inherits(task$given$selector, "gps_selector_custom")) state$memory,
    selected = state$selected, prob_on = state$prob_on, value = state$value, y = data$y,
    weights = data$weights, image_dim = data$image_dim,
    row_names = if (control$keep_data || control$keep_slots) data$row_names,
    col_names = data$col_names, latent_names = kept_names(task, state), standing = standing,
    chosen = say_chosen(chosen),
    seed = task$seed, version = package_version(this_version())
  )
  n_missing <- if (is_source(data$y)) task$moments$n_missing else sum(is.na(data$y))
  if (n_missing > .Machine$integer.max) fit$n_missing <- as.double(n_missing) else
    if (n_missing > 0) fit$n_missing <- as.integer(n_missing)
  if (n_missing > 0 && is_source(data$y)) fit$cell_means <- task$moments$centre
  fit$pixels <- data$pixels
  fit$marks <- data_marks(task$moments)
  fit$omitted <- data$omitted
  structure(fit, class = "gps_fit")
}

# What is to be said of a fit, and the warnings of `code`. One that was cut short must not be lost
# to them: it travels in the first, and where warnings are errors all are messages. Other fits
# travel in the error.
say_of_fit <- function(fit, is_late, code) {
  is_cut_short <- is_late || was_cut_short(fit)
  carry_fit(fit, withCallingHandlers({
    if (fit$status == "interrupted") {
      gps_warn("The fit was interrupted: this is its last complete E-step.", fit = fit,
               class = "interrupted")
    } else if (is_late) {
      gps_warn("The fit was complete when interrupted.", fit = fit, class = "interrupted")
    }
    code
  }, gps_warning = function(condition) {
    if (!is_cut_short || !isTRUE(getOption("warn") >= 2)) return()
    message(conditionMessage(condition))
    invokeRestart("muffleWarning")
  }))
}
