# Fits as data frames, for packages generics (broom) and ggplot2, which need not be there.
# @srrstats {G2.4c}

#' Fits as tidy data frames
#'
#' A method of [base::as.data.frame()], and methods for the generics of packages generics (which
#' broom re-exports) and ggplot2. These are registered when these packages are loaded; gpselect does
#' not need them.
#'
#' @param x,object a fit, as made by [gps_fit()]; `tidy()`, `glance()` and `augment()` also take
#'   one of [gp_fit()].
#' @param data the data of the fit, as a data frame or matrix, maybe with further columns, with or
#'   without the rows that `missing = "omit"` left out; NULL: those that it kept. Where it has kept
#'   none, or no slots, points are looked at as new data.
#' @param newdata NULL, or new data, as in [predict.gps_fit()].
#' @param which for `autoplot()`: "bound", "selection", or of mixtures "clusters"; see
#'   [plot.gps_fit()].
#' @param what "points": a row for each data point; "latents": a row for each latent, cluster or
#'   component.
#' @param row.names NULL, or names of the rows.
#' @param optional as in [base::as.data.frame()]; it has no effect.
#' @param ... nothing; an unknown argument is an error.
#' @return
#' * `as.data.frame()`, `what = "points"`: the posterior of the fit's data points. Of mixtures
#'   `class` and `uncertainty`, of other models `active`, the expected number of latents on; then
#'   for each latent a column with its probability to be on, in 0..1, named by the latent, else
#'   `latent_1`, `cluster_1` or `component_1` and so on. Rows have the names of the data's.
#'   `what = "latents"`: `latent`, number or name; `pi`, the prior probability; `expected`, the
#'   expected number of data points in which it is on; and of models with an array D x H of what
#'   latents stand for (`W`, `mu`, `rate`) a column for each column of the data, named as these,
#'   else `dim_1` and so on.
#' * `tidy()`: a data frame with one row for each number among the parameters: `term`, the
#'   parameter; `latent`, number or name of the latent or component, NA where it is of all; `dim`
#'   and `dim2`, names or numbers along the other axes of the parameter, mostly the columns of the
#'   data, NA where there are none; `estimate`.
#' * `glance()`: a data frame of one row: `model`, `n_latents`, `n_selected`, `logLik` (the bound),
#'   `df`, `AIC`, `BIC`, `ICL` (NA but for mixtures), `nobs` (the N of BIC, with weights
#'   their sum), `iterations`, `status`.
#' * `augment()`: the data, or new ones, with `.loglik` for each data point and, of mixtures,
#'   `.class` and `.uncertainty`, of other models `.active`, the expected number of latents on.
#' * Of a Gaussian process: `tidy()` the log parameters of the kernel, `term` and `estimate`, and
#'   `value`, their exponentials; `glance()` `method`, `n_dims`, `logLik`, `df`, `AIC`, `BIC` and
#'   `nobs`; `augment()` the inputs and targets, or `newdata`, with `.fitted`, its standard error
#'   `.se.fit` (without noise) and, of the fit's own points, `.resid`; of several targets
#'   `.fitted_1` and so on.
#' * `autoplot()`: a ggplot.
#' @name fit-tidy
#' @examples
#' set.seed(1)
#' fit <- gps_fit(faithful, model_gaussian_mixture(2), selector_full())
#' head(as.data.frame(fit))
#' as.data.frame(fit, what = "latents")
#' if (requireNamespace("ggplot2", quietly = TRUE)) ggplot2::autoplot(fit, which = "clusters")
#' if (requireNamespace("generics", quietly = TRUE)) generics::glance(fit)
NULL

#' @rdname fit-tidy
#' @exportS3Method generics::tidy
tidy.gps_fit <- function(x, ...) {
  refuse_unknown(further(...), character())
  params <- stats::coef(check_fit(x))
  rows <- lapply(names(params), function(name) {
    tidy_param(name, params[[name]], x$model$params[[name]])
  })
  do.call(rbind, rows)
}

# One parameter as rows; `axes` are the words for its dimensions.
tidy_param <- function(name, value, axes) {
  size <- if (is.null(dim(value))) length(value) else dim(value)
  at <- arrayInd(seq_along(value), size)
  names <- axis_names(value)
  label <- function(axis) {
    if (is.na(axis)) return(rep(NA_character_, length(value)))
    given <- names[[axis]]
    if (is.null(given)) as.character(at[, axis]) else given[at[, axis]]
  }
  is_shared <- axes == "one" | axes == "probs" & length(value) == 1
  of_latents <- which(axes %in% c("latents", "components", "probs") & !is_shared)[1]
  others <- setdiff(which(!is_shared), of_latents)
  data.frame(term = name, latent = label(of_latents), dim = label(others[1]),
             dim2 = label(others[2]), estimate = as.vector(value))
}

#' @rdname fit-tidy
#' @exportS3Method generics::glance
glance.gps_fit <- function(x, ...) {
  refuse_unknown(further(...), character())
  x <- check_fit(x)
  data.frame(model = x$model$name, n_latents = count_choices(x$model), n_selected = x$n_selected,
             logLik = x$bound, fit_criteria(x), nobs = fit_weight(x), iterations = x$n_iter,
             status = x$status)
}

#' @rdname fit-tidy
#' @exportS3Method generics::augment
augment.gps_fit <- function(x, data = NULL, newdata = NULL, ...) {
  refuse_unknown(further(...), c("data", "newdata"))
  x <- check_fit(x)
  if (is.null(newdata) && !is.null(data)) {
    data <- refuse_others(x, data)
    # The posterior of points that the fit no longer has is that of new data.
    if (is.null(x$y) || is.null(x$selected)) newdata <- data
  }
  shown <- if (is.null(newdata)) data else newdata
  if (is.null(shown)) {
    y <- need_matrix(x, "augment() without `data`")
    shown <- matrix(t(y), ncol(y), dimnames = list(x$row_names, x$col_names))
  }
  shown <- as.data.frame(shown)
  ask <- function(type) unname(stats::predict(x, newdata, type = type))
  shown$.loglik <- ask("loglik")
  if (is_one_hot(x)) {
    shown$.class <- ask("class")
    shown$.uncertainty <- ask("uncertainty")
  } else {
    shown$.active <- rowSums(ask("prob"))
  }
  shown
}

# `data` as the fit has them, without the rows that it left out; an error for those that are others,
# as far as it knows its own.
refuse_others <- function(fit, data) {
  n <- nrow(as.data.frame(data))
  n_omitted <- length(fit$omitted)
  if (n_omitted > 0 && n == fit$n_points + n_omitted && length(dim(data)) == 2) {
    data <- data[-fit$omitted, , drop = FALSE]
    n <- fit$n_points
  }
  if (n != fit$n_points) {
    all <- fit$n_points + n_omitted
    also <- if (n_omitted > 0) sprintf(", or all %.0f with those left out", all) else ""
    gps_abort(sprintf("`data` must have the fit's %.0f rows%s, not %.0f; other data are `newdata`.",
                      fit$n_points, also, n))
  }
  # Without names nobody knows which of more columns are the fit's.
  can_tell <- !is.null(fit$col_names) || ncol(data) == fit$model$n_dims
  if (!is.matrix(fit$y) || !can_tell) return(data)
  found <- read_newdata(fit, data, "data")$y
  if (is_source(found)) return(data)
  if (!identical(unname(found), unname(fit$y))) {
    gps_abort("`data` are not those of the fit: they have other numbers. Give them as `newdata`.")
  }
  data
}

#' @rdname fit-tidy
#' @export
as.data.frame.gps_fit <- function(x, row.names = NULL, optional = FALSE,
                                  what = c("points", "latents"), ...) {
  # data.frame() says to every method whether words become factors; there are no words here.
  extra <- further(...)
  extra$stringsAsFactors <- NULL
  refuse_unknown(extra, c("row.names", "optional", "what"))
  x <- check_fit(x)
  what <- check_choice(what, "what", c("points", "latents"))
  check_flag(optional, "optional")
  table <- if (what == "points") point_table(x) else latent_table(x)
  if (is.null(row.names)) return(table)
  is_named <- (is.character(row.names) || is.numeric(row.names) || is.factor(row.names)) &&
    length(row.names) == nrow(table) && !anyNA(row.names) && anyDuplicated(row.names) == 0
  if (!is_named) {
    abort_value(row.names, "row.names", sprintf("%d distinct names", nrow(table)))
  }
  row.names(table) <- as.vector(row.names)
  table
}

point_table <- function(fit) {
  prob <- expectations(fit)
  if (is.null(colnames(prob))) colnames(prob) <- numbered(choice_word(fit$model), ncol(prob))
  own <- if (is_one_hot(fit)) {
    class <- most_probable_cluster(fit)
    list(class = if (is.null(fit$latent_names)) class else
      factor(fit$latent_names[class], fit$latent_names), uncertainty = doubt_of(fit$prob_on))
  } else {
    list(active = unname(rowSums(prob)))
  }
  new_table(c(own, split_columns(prob)), c(names(own), colnames(prob)), rownames(prob))
}

latent_table <- function(fit) {
  n <- count_choices(fit$model)
  values <- component_values(fit$model, fit$params)
  own <- list(latent = names_of_latents(fit, seq_len(n)),
              pi = rep_len(as.vector(fit$params$pi), n), expected = component_usage(fit))
  if (is.null(fit$params$pi)) own$pi <- NULL
  if (is.null(values)) return(new_table(own, names(own)))
  names <- if (is.null(fit$col_names)) numbered("dim", nrow(values)) else fit$col_names
  new_table(c(own, split_columns(t(values))), c(names(own), names))
}

# Columns as a data frame, whatever their names are. Names of rows have to differ.
new_table <- function(columns, names, rows = NULL) {
  if (is.null(rows) || anyDuplicated(rows) > 0) rows <- seq_along(columns[[1]])
  structure(columns, names = names, row.names = rows, class = "data.frame")
}

# "word_1", "word_2" and so on.
numbered <- function(word, n) paste0(word, "_", seq_len(n))

split_columns <- function(x) lapply(seq_len(ncol(x)), function(k) unname(x[, k]))
