# gps_fit(): check, bind, start, loop, wrap.
# @srrstats {G1.3, G2.5, UL1.0, UL1.3a, UL2.1}

#' Fit a model with discrete latents by EM with selection
#'
#' In every EM iteration the selector ranks the latents of each data point, the `n_selected` best
#' may be on, the E-step sums over their states or samples them, and the M-step updates the
#' parameters (Algorithm 1 of the paper).
#'
#' @param y numeric matrix or data frame n x D (or a formula, see "Formulas"), data points in rows,
#'   finite values, or NA where cells are missing (see the section on these); or images as an
#'   array n x height x width (x channels) or a list of equal matrices; or a [gps_source()] for data
#'   that are read in blocks; or a sparse matrix of package Matrix, which is made dense a block at a
#'   time, or a dense one.
#' @param model a model: [model_binary_sparse()], [model_spike_slab()], [model_max_spike_slab()],
#'   [model_gaussian_mixture()], [model_occlusive()], [model_noisy_or()] or
#'   [model_poisson_mixture()]; or one of your own, see [model_custom()].
#' @param selector a selector, see [selector_gp()].
#' @param n_selected number of latents that may be on for each data point, H' in the paper, a whole
#'   number in 1..H. NULL: all up to 6 latents, 6 of more; 2 clusters or a quarter of them,
#'   whichever is more, and 5 of more than 40. "auto": the fewest that capture the posterior, see
#'   the section below. Beside [selector_full()], which selects all, another number is an error.
#' @param max_active most latents on at once, a whole number in 1..`n_selected`; NULL: all of them.
#'   In a mixture it is 1.
#'   More than 65,536 states a point are sampled, see `method` in [gps_control()].
#' @param control see [gps_control()].
#' @param start NULL, a named list of some of the parameters, shaped as in `coef()`, or a fit of the
#'   same model to go on from; where only the new model has an `intercept`, that begins at 0. With a
#'   start there are no short starts. Columns are matched by name. For mixtures also a partition or
#'   centres, see "Starts of mixtures".
#' @param weights NULL, or n finite numbers of at least 0, not all 0: for how many observations each
#'   data point stands, see the section on weights.
#' @param labels NULL, or n names of the data points, in place of those that the rows have: words,
#'   numbers or a factor. Predictions and tables have them. For data without names of rows, such as
#'   lists of images and sources.
#' @param ... `data`, a data frame, where `y` is a formula; else nothing: an unknown argument is an
#'   error that says which there are.
#'
#' @section Formulas:
#' `gps_fit(~ a + b, model, data = d)` fits the columns `a` and `b` of the data frame `d`, the same
#' as `gps_fit(d[c("a", "b")], model)`; `~ . - c` stands for all columns but `c`. Terms are names of
#' columns; what is made of columns, such as `log(a)`, is made a column first, so that `newdata` of
#' [predict.gps_fit()] can have it, too. There is nothing left of `~`, since latents have no
#' response, and factors are no numbers.
#'
#' @section Weights:
#' A row twice is a row of weight 2. With weights \eqn{w_n} a fit maximises
#' \deqn{\sum_n w_n \log \sum_{s \in K_n} p(s, y_n),}{sum over n of w_n log sum over K_n of p(s,
#' y_n),} which is its `bound`: the M-step has the sums over data points of \eqn{w_n} times their
#' expected statistics, and \eqn{\sum_n w_n}{sum w_n} in place of N. Weights count in first values
#' as well (seeds of clusters are drawn by weight times distance), in floors, in the choice among
#' starts, in mending, and in the rules of stopping; an estimate by Gibbs sampling is that of one
#' chain a row, counted `w` times. A model of another package gets them in its statistics; one of R
#' functions needs an `mstep` that knows them, see [model_custom()].
#'
#' A row of weight 0 takes no part: the fit is that of the other rows, to the last bit, and the row
#' gets the posterior that [predict()] would give it as new data. Weights of 1 are none.
#'
#' Multiplied by a constant, weights give the same parameters and a bound multiplied by it, as far
#' as no limit in numbers of observations acts: "a cluster of less than one point keeps its mean",
#' the pseudo-observation of [model_max_spike_slab()], or what mending asks of a latent, half of log
#' N for each parameter. Weights whose mean over the rows that count is below 1, such as those that
#' add up to 1, are shares and not numbers of observations: these limits take them divided by that
#' mean.
#'
#' What ranks latents, the Gaussian process of [selector_gp()] and the refits of its kernel, looks
#' at each row that counts once, whatever its weight: it learns a function of the data, and left out
#' of its own prediction a row must not be predicted by its double. Minibatches are of rows, and
#' [predict()], [residuals()] and [gps_audit()] treat all rows alike. `nobs()` is the sum of the
#' weights, whose log `BIC()` takes: that of repeated rows. (In [glm()] it is the number of rows
#' with a weight above 0, `sum(fit$weights > 0)`.) AIC and BIC mean something only where weights are
#' numbers of observations.
#'
#' @section Names of columns:
#' A fit keeps the names of the data's columns, and its parameters have them. Where names tell all
#' columns apart, whatever is used with the fit is matched by name: `newdata`, parameters or a fit
#' as `start`, data and parameters in single steps, components in [match_components()]; further
#' columns of `newdata` are left out. Where some are missing, empty or alike, columns are matched by
#' position, and names that contradict this are an error. Row names are kept, other attributes of
#' the data are not. 64-bit integers (class integer64) are read by value, TRUE and FALSE as 1 and 0,
#' of which a warning tells where they are columns of a data frame.
#'
#' @section Data that may be meant otherwise:
#' A warning of class `gps_warning_reading` tells of images that seem to come last in an array, of
#' an array that is a table of counts, and of a table of 2 to 20 rows with more than ten times as
#' many columns, whose columns may be the data points; one of class
#' `gps_warning_columns` of columns that are the same, where clusters are diagonal, spherical or
#' Poisson and would count them twice; one of class `gps_warning_units` of a column that has all but
#' a thousandth of the spread, where one variance holds for all columns.
#'
#' @section Starts of mixtures:
#' A model of which exactly one latent is on, such as [model_gaussian_mixture()], can begin with a
#' partition: `start` is a vector of n labels, one a data point, whole numbers 1..C, words or a
#' factor, ordered or not, in which each of the C clusters occurs; or what [stats::kmeans()] or
#' `mclust::Mclust()`
#' return. The first parameters are the M-step of these labels. Or with centres: a matrix or data
#' frame C x D, a centre in each row; spreads and proportions are then those of the points nearest
#' to each centre, in standardised columns unless clusters are spherical. Where cells are missing,
#' [stats::kmeans()] can look at complete rows only: `start = kmeans(na.omit(y), 5)` then begins
#' with its centres, as any partition of other rows by it or by mclust does.
#'
#' Clusters have names where the start has some: levels of a factor, words, row names of centres,
#' names of clusters in a list of parameters, or those of a fit. `coef()`, [predict.gps_fit()],
#' [expectations()] and [summary.gps_fit()] show them. Where mending (see [gps_control()]) has moved
#' a cluster, names would lie: there are none then, and a warning says so.
#'
#' @section Missing cells:
#' NA and NaN are cells without a value, which the models of this package allow for,
#' see [missing_cells]. Infinite values are refused. `missing` and `infinite` of [gps_control()]
#' have it otherwise: refuse the former, leave these rows out, or take the latter as missing.
#'
#' @section Likelihoods without a maximum:
#' A mixture's likelihood grows without end where a covariance has no width in some direction, and
#' that of the other models where the data are explained without noise. Floors stop it (see the
#' model's page), but the bound, AIC and BIC are then what the floors make of them, and cannot be
#' compared. Such a fit has a warning of class `gps_warning_degenerate` (its field `reasons` has the
#' sentences one by one), lines in `print()`, and an attribute of `logLik()`. Reasons are: a
#' constant column (diagonal and full covariances); duplicated or linearly dependent columns, no
#' more rows than columns, a cluster of fewer than D + 1 points (full covariances; 2 points else); a
#' cluster that has shrunk onto repeated rows or onto one value of a discrete column; a noise
#' variance at its floor.
#'
#' @section Number of selected latents:
#' With `n_selected = "auto"` a pilot fit comes first: at most 30 iterations and 3 short starts on a
#' quarter of the data points, but at least 100 and 5 for each latent and else at most 500, with
#' more latents than are probably needed. At its parameters the selection is made with 2, 4, 8, ...
#' latents for up to 300 of these points, and by bisection between. The smallest number is taken
#' whose states hold the share `target_mass` of the posterior (see [gps_control()]), as
#' [gps_audit()] measures it but by `weights`, by more than the standard error of the mean, and of
#' which there are at most 65,536. Where no number reaches that, it is the smallest that holds as
#' much as any to within 0.01, and `print()` says so. All latents are selected, by exact sums where
#' the model has them, if their states are at most 64, or no more than the states and gains that a
#' selection would cost, or if the ranking takes longer than they do.
#'
#' At the end the captured mass of up to 300 data points is measured in the fit itself. Where it is
#' below `target_mass`, the fit goes on with more latents, within its `max_iter` and at most twice.
#' The fit's `chosen` tells all this: `n_selected`, `target`, `why`, the `mass` in the fit, `line`,
#' what `print()` says, and `sizes` with the mass and bound of the numbers that were looked at (see
#' [gps_audit()]), which has a `plot()`, or NULL where all are selected without a pilot.
#'
#' @section Interrupts and time limits:
#' An interrupt (Ctrl-C, Esc) is answered within about a second, one call of BLAS or LAPACK apart.
#' The fit then returns what its last complete E-step had, of status "interrupted": the parameters
#' under which it ran, its slots and its bound, explorers included. If it was hot (see annealing in
#' [gps_control()]) a cold pass follows; where that takes more than half a second `bound` is a lower
#' limit, and `print()` says so. In short starts on all data points that is the best start. Before
#' the first complete E-step there is no fit, and the interrupt goes on as any. In minibatches slots
#' and bound are those of each batch's last update.
#' A warning of class `gps_warning_interrupted` tells, which carries the fit as `fit`; where
#' warnings are errors (`options(warn = 2)`) it is a message, so that the fit is not lost. What is
#' said of other fits at their end is an error there that carries the fit as `fit`:
#' `tryCatch(gps_fit(y, model), error = function(e) e$fit)`. Calls
#' that make several fits, or go on after one, end as a whole ([gps_choose()],
#' [compare_selectors()], [gps_bootstrap()], [gps_denoise()], [step_gpselect()]). [setTimeLimit()]
#' does the same, and so does `time_limit` of [gps_control()] without a warning and of status
#' "time_limit", but that a first E-step is always completed.
#'
#' @section Reproducibility:
#' `set.seed()` governs everything; a fit advances the session's stream by two uniforms. The same
#' data, seed, model, version and BLAS give the same bits for any number of threads. Another BLAS,
#' or another number of BLAS threads, rounds differently, and a choice of the best `n_selected`
#' latents may amplify that.
#' @seealso [predict.gps_fit()], [plot.gps_fit()], [expectations()]
#' @concept sparse coding
#' @concept clustering
#' @concept EM algorithm
#' @concept latent variable model
#' @examples
#' set.seed(1)
#' bars <- simulate_bars(200, value = 5)
#' fit <- gps_fit(bars$y, model_binary_sparse(10), selector_handcrafted(), n_selected = 5,
#'                control = gps_control(max_iter = 20, n_starts = 2))
#' fit
#' match_components(coef(fit)$W, bars$W)$matched
#' @export
gps_fit <- function(y, model, selector = selector_gp(), n_selected = NULL, max_active = NULL,
                    control = gps_control(), start = NULL, weights = NULL, labels = NULL, ...) {
  # Evaluated here, so that R's errors about them name this function.
  if (!missing(y)) y
  if (!missing(model)) model
  if (!missing(y) && inherits(y, "formula")) {
    weights <- beside_formula(weights, "weights")
    labels <- beside_formula(labels, "labels")
  }
  y <- data_of_call(y, model, selector, further(...))
  made <- prepare_fit(y, model, selector, n_selected, max_active, control, start, weights, labels)
  refuse_task(made$task)
  if (!is.null(made$task$control$checkpoint)) {
    # Labels are nowhere in the data that whoever goes on with the run has.
    traits <- data_traits(made$task)
    if (!is.null(labels)) traits$labels <- made$data$row_names
    made$task$keeper <- open_keeper(made$task, made$point$chosen, checkpoint_form(), traits)
  }
  fit <- run_task(made$task, made$data, made$point)
  fit["call"] <- list(call_selecting(shown_call(match.call()), n_selected))
  fit
}

# A call without `n_selected` where that was left to the model, however it was written: so update()
# knows whether a number was given.
call_selecting <- function(call, n_selected) {
  if (is.null(n_selected) && !is.null(call)) call$n_selected <- NULL
  call
}

# list(task, data, point) of a fit that has not begun, from what gps_fit() is given.
prepare_fit <- function(y, model, selector, n_selected, max_active, control, start, weights,
                        labels = NULL) {
  if (inherits(y, c("gps_model", "gps_fit")) && !inherits(model, "gps_model")) {
    gps_abort(sprintf("`y` is a %s and `model` is none: the data come first, gps_fit(y, %s).",
                      if (inherits(y, "gps_fit")) "fit" else "model",
                      if (inherits(y, "gps_fit")) "fit$model, start = fit" else "model"))
  }
  refuse_response(y, model, "model")
  refuse_response(y, selector, "selector")
  model <- check_model(model)
  selector <- check_selector(selector)
  control <- check_control(control)
  opened <- open_data(y, model, control, start, weights, labels)
  data <- opened$data
  start <- opened$start
  if (!is.null(data$weights)) refuse_weights(model, data$weights)
  if (!inherits(start, "gps_fit")) refuse_few_pictures(model, data)
  counted <- count_rows(data, data$weights)
  refuse_unobserved(unobserved_columns(find_missing(counted$y), n_dims(data$y)), data$col_names)
  if (!is.null(start) && !is.null(counted$kept)) {
    start <- keep_start_rows(start, counted$kept, n_points(data$y))
    refuse_uncounted(start)
  }
  given <- c(list(model = model, selector = selector, n_selected = n_selected,
                  max_active = max_active, control = control, image_dim = data$image_dim),
             counted[c("y", "weights", "unit")])
  keep_stream_if_refused({
    plan <- plan_fit(given, start, first_state)
    task <- with_memory(task_of(plan$given), "A fit of %.0f data points of %.0f dimensions",
                        n_points(data$y), n_dims(data$y))
  })
  task$columns <- data$col_names
  task$rows <- counted$row_names
  if (!is.null(start)) task["latents"] <- list(names_of_start(start, model))
  task$given["weights"] <- list(data$weights)
  task$given$start <- if (is.null(start)) "one" else start_kind(start)
  list(task = task, data = data, point = list(start = start, chosen = plan$chosen))
}

# list(data, start) as the control wants them: the data with their weights, and what a fit starts
# with, of the rows that are not left out.
open_data <- function(y, model, control, start, weights, labels) {
  has_rule <- !is.null(data_rule(model))
  if (!has_rule) tell_logical(y, "y")
  is_doubted <- tell_reading(y)
  tell_opacity(y)
  y <- blank_infinite(y, control$infinite)
  data <- with_memory(read_data(y, may_miss = TRUE), "A copy of `y`")
  data$is_doubted <- is_doubted
  if (!is.null(labels)) data$row_names <- check_labels(labels, n_points(data$y))
  tell_names(data)
  if (!is.null(start)) start <- read_start(start, model, data)
  data$weights <- check_weights(weights, n_points(data$y))
  whole <- data
  data <- keep_complete(data, control$missing)
  if (!is.null(data$omitted)) {
    kept <- seq_len(n_points(whole$y))[-data$omitted]
    data["weights"] <- list(check_weights(whole$weights[kept], length(kept)))
    start <- keep_start_rows(start, kept, n_points(whole$y))
    refuse_uncounted(start, why = "cells missing")
  }
  data$y <- admit_missing(data$y, model, missing = control$missing)
  if (has_rule) check_values(model, data$y, names = data$col_names)
  list(data = data, start = if (!is.null(start)) check_start(start, model, data))
}

# More clusters than pictures: what models say of other tables, whose columns may be the points, is
# no help for these.
refuse_few_pictures <- function(model, data) {
  size <- c(data$image_dim, data$pixels)
  if (is.null(size) || !inherits(model, c("gps_gaussian_mixture", "gps_poisson_mixture"))) {
    return(invisible())
  }
  refuse_few_points(model, n_points(data$y), n_dims(data$y), size)
}

# The fit that a run from this point ends with; see em-checkpoint.R.
run_task <- function(task, data, point) {
  is_doubted <- isTRUE(data$is_doubted)
  facts <- warn_data(task, !is.null(c(data$image_dim, data$pixels)), is_doubted)
  task["teller"] <- list(open_fit_teller(task, point$start))
  on.exit({
    flush_keeper(task$keeper)
    close_teller(task$teller)
  })
  # Interrupts arrive in until_cut(), which awaits them; one that is late finds the fit complete.
  suspendInterrupts({
    state <- go_on(task, point)
    if (is_held_back(task)) task <- free_task(task)
    if (!is.null(state$engine)) task <- take_engine(task, state)
    flush_keeper(task$keeper)
    heard <- hear_warnings({
      ended <- widen_fit(without_keeper(task), finish(task, state), point$chosen)
      close_teller(task$teller)
      make_fit(ended, data, counted_rows(data))
    })
    fit <- heard$value
    late <- until_cut(Inf, TRUE, Sys.sleep(0))
    say_of_fit(fit, is_late = is_cut(late), {
      say_warnings(heard$warned)
      warn_degenerate(fit, is_said = is_said_of(fit, is_doubted) || is_constant(task), is_doubted)
      doubt_fit(fit$model, fit$params, facts)
      warn_falls(fit)
    })
  })
  fit
}

# The state at the end of the main run.
go_on <- function(task, point) {
  state <- point$state
  if (is.null(state)) {
    if (!is.null(task$keeper)) keep_point(task, start = point$start, results = point$results)
    state <- with_memory(first_state(task, point$start, point$results), "A fit of %s",
                         task_size(task))
    if (!is.null(state$cut)) return(state)
    if (is.null(point$start)) task <- hold_back(task)
  } else if (state$status == "converged") {
    return(state)
  }
  task$may_compare <- may_compare(task)
  run_em(task, state)
}

# The `y` of a call with the arguments of gps_fit(), whose `...` are `extra`: the columns of `data`
# where it is a formula. The calls that users of other packages try first are refused.
data_of_call <- function(y, model, selector, extra) {
  if (!missing(y) && inherits(y, "formula")) {
    others <- if (missing(model)) list(selector) else list(model, selector)
    y <- read_formula(y, extra$data, others)
    extra$data <- NULL
  } else if (!missing(y) && is.character(y) && !is.null(extra$data)) {
    refuse_text(y)
  }
  refuse_unknown(extra, names(formals(gps_fit)), c("control", "selector", "model"))
  if (missing(y)) gps_abort("`y` is missing: the data, a numeric matrix with data points in rows.")
  if (missing(model)) {
    if (inherits(y, "gps_model")) {
      gps_abort("`y` is a model, and there are no data: they come first, gps_fit(y, model).")
    }
    if (inherits(y, "gps_fit")) {
      gps_abort(paste("`y` is a fit, where data are wanted, and `model` is missing: y, fit$model.",
                      "update(fit, start = fit) goes on with a fit."))
    }
    gps_abort("`model` is missing: model_gaussian_mixture(3), or another model_*() function.")
  }
  y
}

# What the user begins with, read: a partition, parameters in the order of the data's columns, or a
# fit; of the model's shapes.
check_start <- function(start, model, data) {
  start <- read_start(start, model, data)
  if (inherits(start, "gps_partition")) return(start)
  own <- nominal_model(set_image(model, data$image_dim), data$y)
  if (inherits(start, "gps_fit")) {
    check_fit(start)
    check_all_params(own, plus_no_intercept(own, start$params), "start")
  } else {
    start <- align_params(model, start, "start", data$col_names)
    check_params(own, start)
  }
  start
}
