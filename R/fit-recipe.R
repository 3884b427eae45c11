# A step for package recipes, which need not be there.

#' Latents as a step of a recipe
#'
#' A step for package recipes that fits a model to columns of the training data and puts what its
#' latents are in each row in their place: codes of sparse coding, or probabilities of clusters.
#'
#' @details `prep()` fits [gps_fit()] to the selected columns of the training data, and `bake()`
#' asks [predict.gps_fit()] for their latents, those of the training data as of new ones. Missing
#' cells are allowed for where the model does, see [missing_cells]; there are none in the new
#' columns. Columns are found by name. A column with the role of case weights that are frequencies
#' (`hardhat::frequency_weights()`) gives the `weights` of the fit; importance weights are left out,
#' as recipes does in other steps that know no outcome.
#'
#' With `num_comp = 0`, or where no column is selected, the data stay as they are.
#'
#' A step is reproducible by its `seed`, which `set.seed()` before `step_gpselect()` governs, so
#' that a recipe that is prepared twice, or in resamples, begins alike; the session's random numbers
#' are untouched by `prep()` and `bake()`. The fit is in the step's `res`.
#'
#' @param recipe a recipe, as made by `recipes::recipe()`.
#' @param ... which columns: one or more selector functions, such as
#'   `recipes::all_numeric_predictors()`. They must be numeric. An outcome among them, which new
#'   data do not have, has a warning of class `gps_warning_outcome` in `prep()`, unless `skip`.
#' @param role the role of the new columns, a word, or NA for none.
#' @param trained,res,columns set by `prep()`: whether it has run, the fit (NULL before, and where
#'   nothing is fitted) and the names of its columns.
#' @param num_comp number of latents or clusters, a whole number of at least 0, or `tune()`. Left
#'   out beside a model of another number, there is a warning of class `gps_warning_num_comp`.
#' @param model a model, as made by a `model_*()` function of this package, whose number of latents
#'   does not matter; or a function that makes one of a number, such as `model_gaussian_mixture` or
#'   `function(k) model_spike_slab(k, ...)`.
#' @param type what the new columns have, a word: `"latent"`, posterior means of the latents (of a
#'   mixture the probability of each cluster); or `"prob"`, the probability of each to be on, in
#'   0..1. See [predict.gps_fit()].
#' @param options a named list of further arguments of [gps_fit()]: `selector`, `n_selected`,
#'   `max_active`, `control` (without progress unless given) and `start`.
#' @param seed a whole number, or NULL for the session's random numbers as they are.
#' @param prefix begins the names of the new columns, which end in numbers: a word.
#' @param keep_original_cols TRUE keeps the selected columns.
#' @param skip TRUE: `bake()` skips the step for new data.
#' @param id a word that is this step's own.
#' @param x,object a step, as `recipe$steps` holds it.
#' @param training,new_data a data frame.
#' @param info what recipes knows of the columns, as it calls `prep()`.
#' @return `step_gpselect()`: the recipe, with the step added.
#'
#' `tidy()` of the step: a tibble of `terms`, `value`, `component` and `id`: before `prep()` a row
#' for each selector; after it a row for each column and latent with what the latent stands for in
#' this column, `W` or `mu` of `coef()` (NA where the model has no such number).
#'
#' `tunable()`: `num_comp` can be tuned. `required_pkgs()`: `"gpselect"`.
#' @seealso [gps_fit()], [gps_choose()] for the number of latents
#' @concept tidymodels
#' @concept dimension reduction
#' @concept preprocessing
#' @examples
#' if (requireNamespace("recipes", quietly = TRUE)) {
#'   set.seed(1)
#'   recipe <- recipes::recipe(Species ~ ., data = iris)
#'   recipe <- step_gpselect(recipe, recipes::all_numeric_predictors(), num_comp = 3,
#'                           model = model_gaussian_mixture)
#'   recipe <- recipes::prep(recipe)
#'   print(recipes::bake(recipe, new_data = iris[c(1, 51, 101), ]))
#' }
#' @export
step_gpselect <- function(recipe, ..., role = "predictor", trained = FALSE, num_comp = 5, model,
                          type = c("latent", "prob"), options = list(), seed = sample.int(1e5, 1),
                          res = NULL, columns = NULL, prefix = "GPS", keep_original_cols = FALSE,
                          skip = FALSE, id = recipes::rand_id("gpselect")) {
  need_given()
  require_package("recipes", "step_gpselect()")
  check_recipe(recipe)
  terms <- rlang::enquos(...)
  refuse_step_terms(terms)
  is_default <- missing(num_comp)
  # What is to be tuned is not known yet.
  if (!is.language(num_comp)) num_comp <- check_count(num_comp, "num_comp", 0)
  check_sizable(model)
  if (is_default) tell_default_number(terms, model, num_comp)
  type <- check_choice(type, "type", c("latent", "prob"))
  # NA is what recipes calls a column without a role.
  if (!is_line(role) && !(is.atomic(role) && length(role) == 1 && is.na(role))) {
    abort_value(role, "role", "a word, or NA for none")
  }
  check_step_options(options)
  if (!is.null(seed)) seed <- check_count(seed, "seed", -.Machine$integer.max)
  if (!is_line(prefix)) abort_value(prefix, "prefix", "a word")
  check_flag(keep_original_cols, "keep_original_cols")
  check_flag(skip, "skip")
  step <- recipes::step(
    subclass = "gpselect", terms = terms, role = role, trained = trained,
    num_comp = num_comp, model = model, type = type, options = options, seed = seed, res = res,
    columns = columns, prefix = prefix, keep_original_cols = keep_original_cols, skip = skip,
    id = id, case_weights = NULL
  )
  recipes::add_step(recipe, step)
}

step_options <- c("selector", "n_selected", "max_active", "control", "start")

# recipes adds a step to whatever list it is given.
check_recipe <- function(recipe) {
  if (inherits(recipe, "recipe")) return(invisible(recipe))
  is_data <- is.data.frame(recipe) || is.matrix(recipe)
  gps_abort(sprintf("`recipe` must be %s, not %s.%s",
                    "a recipe, as made by recipes::recipe(~ ., data = d)", describe_value(recipe),
                    if (is_data) " A recipe begins with the data frame, and steps follow." else ""))
}

# Columns are chosen without names, so that what has one is a misspelt argument.
refuse_step_terms <- function(terms) {
  names <- names(terms)[nzchar(names(terms))]
  if (length(names) == 0) return(invisible())
  option <- advise_option(names[1])
  if (!is.null(option)) gps_abort(sprintf("Unknown argument `%s`. %s", names[1], option))
  refuse_unknown(as.list(terms[names]), names(formals(step_gpselect)))
}

# Where an argument of gps_fit() or gps_control() stands in a step, or NULL.
advise_option <- function(name) {
  if (name %in% step_options) {
    return(sprintf("It is one of the options: options = list(%s = ).", name))
  }
  maker <- advise_maker(argument_makers("control"), function(names) intersect(name, names))
  if (!is.null(maker)) {
    sprintf("It is an argument of gps_control(): options = list(control = gps_control(%s = )).",
            name)
  }
}

# What is told where the number of latents is not given, so that it is `num_comp`. A bare number
# among the columns is the place of one, and hardly meant so; a model's own number is not taken.
tell_default_number <- function(terms, model, num_comp) {
  numbers <- Filter(is.numeric, lapply(terms, rlang::quo_get_expr))
  own <- if (!is.function(model)) count_choices(model)
  words <- if (length(numbers) > 0) {
    sprintf(paste("%1$s picks column %1$s, and there are %2$d latents: if it is their number,",
                  "write num_comp = %1$s."), format(numbers[[1]]), num_comp)
  } else if (!is.null(own) && own != num_comp) {
    sprintf(paste("`num_comp` is not given, so that there are %d latents, whatever `model` says:",
                  "write num_comp = %d for as many as it has."), num_comp, own)
  }
  if (!is.null(words)) gps_warn(words, class = "num_comp")
}

# Codes of an outcome say what is to be predicted, and there is none in new data.
tell_outcomes <- function(columns, info, id) {
  found <- intersect(columns, info$variable[info$role %in% "outcome"])
  if (length(found) == 0) return(invisible())
  gps_warn(sprintf(paste("Step %s: column %s is an outcome, which new data do not have, and its",
                         "codes tell what is to be predicted. recipes::all_predictors() leaves",
                         "outcomes out."), quoted(id), quoted(found[1])), class = "outcome")
}

check_step_options <- function(options) {
  if (inherits(options, "gps_control")) {
    gps_abort("`options` must be a named list: options = list(control = gps_control()).")
  }
  is_named <- is.list(options) && !is.object(options) &&
    length(options) == sum(nzchar(names(options)))
  if (!is_named) abort_value(options, "options", "a named list of arguments of gps_fit()")
  odd <- setdiff(names(options), step_options)
  if (length(odd) > 0) {
    gps_abort(paste(c(sprintf("`options` has %s, but can have %s.", quoted(odd[1]),
                              list_arguments(step_options)), advise_option(odd[1])),
                    collapse = " "))
  }
  invisible(options)
}

# A refusal inside a recipe says which of its steps is meant.
in_step <- function(code, id) {
  withCallingHandlers(code, gps_error = function(condition) {
    begin <- sprintf("Step %s: ", quoted(id))
    if (startsWith(conditionMessage(condition), begin)) return()
    condition$message <- paste0(begin, conditionMessage(condition))
    stop(condition)
  })
}

#' @rdname step_gpselect
#' @exportS3Method recipes::prep
prep.step_gpselect <- function(x, training, info = NULL, ...) {
  columns <- recipes::recipes_eval_select(x$terms, training, info)
  weights <- recipes::get_case_weights(info, training)
  x$case_weights <- recipes::are_weights_used(weights, unsupervised = TRUE)
  x$columns <- unname(columns)
  if (!isTRUE(x$skip)) tell_outcomes(x$columns, info, x$id)
  x$trained <- TRUE
  in_step({
    x$num_comp <- check_count(x$num_comp, "num_comp", 0)
    if (x$num_comp > 0 && length(columns) > 0) {
      weights <- if (isTRUE(x$case_weights)) as.double(unclass(weights))
      x["res"] <- list(with_user_seed(x$seed, fit_columns(x, training[x$columns], weights)))
    }
  }, x$id)
  x
}

fit_columns <- function(step, data, weights) {
  if (nrow(data) == 0) gps_abort("The training data have no rows.")
  model <- resize_model(step$model, step$num_comp)
  if (model$rule$min_active == 1 && step$num_comp > nrow(data)) {
    gps_abort(sprintf("`num_comp` must be at most the number of training rows, %d, not %d.",
                      nrow(data), step$num_comp))
  }
  arguments <- list(model = model, weights = weights, control = gps_control(progress = FALSE))
  arguments[names(step$options)] <- step$options
  arguments$y <- step_data(data, "training", check_control(arguments$control))
  fit <- unless_interrupted(do.call(gps_fit, arguments))
  # The data have no name outside.
  fit["call"] <- list(NULL)
  fit
}

#' @rdname step_gpselect
#' @exportS3Method recipes::bake
bake.step_gpselect <- function(object, new_data, ...) {
  if (is.null(object$res)) return(new_data)
  in_step({
    data <- pick_columns(new_data, object$columns, "new_data", "the training data")
    codes <- step_codes(object, data)
    kept <- if (object$keep_original_cols) names(new_data) else
      setdiff(names(new_data), object$columns)
    clash <- intersect(colnames(codes), kept)
    if (length(clash) > 0) {
      gps_abort(sprintf("There is a column %s already: give another `prefix`.", quoted(clash[1])))
    }
  }, object$id)
  new_data <- new_data[kept]
  new_data[colnames(codes)] <- split_columns(codes)
  new_data
}

# Columns as a matrix, with NA for infinite values where `control` says so; what is wrong in them is
# said of the frame as recipes calls it.
step_data <- function(data, arg, control) {
  tell_logical(data, arg)
  is_odd <- arg == "training" & !vapply(unclass(plain_numbers(data)), is_number_column, NA)
  if (any(is_odd)) {
    gps_abort(sprintf(paste("Column %s of `%s` must be numeric, not %s:",
                            "recipes::all_numeric_predictors() selects the others."),
                      quoted(names(data)[is_odd][1]), arg, class(data[[which(is_odd)[1]]])[1]))
  }
  check_matrix(blank_infinite(data, control$infinite, arg), arg, may_miss = TRUE)
}

# What latents are in each row, a column for each.
step_codes <- function(step, data) {
  names <- recipes::names0(step$num_comp, step$prefix)
  if (nrow(data) == 0) return(matrix(0, 0, step$num_comp, dimnames = list(NULL, names)))
  data <- step_data(data, "new_data", step$res$control)
  codes <- stats::predict(step$res, data, type = step$type, progress = FALSE)
  dimnames(codes) <- list(NULL, names)
  codes
}

#' @rdname step_gpselect
#' @exportS3Method generics::tidy
tidy.step_gpselect <- function(x, ...) {
  terms <- if (x$trained) x$columns else recipes::sel2char(x$terms)
  table <- list(terms = terms, value = rep(NA_real_, length(terms)),
                component = rep(NA_character_, length(terms)))
  if (!is.null(x$res)) {
    components <- recipes::names0(x$num_comp, x$prefix)
    values <- component_values(x$res$model, x$res$params)
    table <- list(terms = rep(terms, length(components)),
                  value = if (is.null(values)) NA_real_ else as.vector(values),
                  component = rep(components, each = length(terms)))
    table$value <- rep_len(table$value, length(table$terms))
  }
  table$id <- rep(x$id, length(table$terms))
  as_tibble_class(new_table(table, names(table)))
}

# Packages that ask for tibbles are there to make one where they matter.
as_tibble_class <- function(table) {
  structure(table, row.names = .set_row_names(length(table[[1]])),
            class = c("tbl_df", "tbl", "data.frame"))
}

#' @rdname step_gpselect
#' @exportS3Method generics::tunable
tunable.step_gpselect <- function(x, ...) {
  call <- list(pkg = "dials", fun = "num_comp", range = c(2L, 10L))
  table <- list(name = "num_comp", call_info = list(call), source = "recipe",
                component = "step_gpselect", component_id = x$id)
  as_tibble_class(new_table(table, names(table)))
}

#' @rdname step_gpselect
#' @exportS3Method generics::required_pkgs
required_pkgs.step_gpselect <- function(x, ...) "gpselect"

#' @export
print.step_gpselect <- function(x, width = max(20, getOption("width") - 30), ...) {
  is_idle <- x$trained && is.null(x$res)
  title <- if (is_idle) "No latents of gpselect from " else "Latents of gpselect from "
  recipes::print_step(x$columns, x$terms, x$trained, title, width, case_weights = x$case_weights)
  invisible(x)
}
