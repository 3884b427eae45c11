# How sure the parameters of a fit are: refits of resampled or simulated data.

#' Bootstrap of a fit
#'
#' Refits the model to data that are drawn anew, each time from the parameters of the fit, puts the
#' components of each refit into the order of the fit's, and so tells how much parameters vary.
#'
#' `"nonparametric"` draws as many of the fit's data points, with replacement, each with its weight
#' where there are `weights`; it asks nothing of the model. `"parametric"` draws data from the model
#' with the fitted parameters, see [simulate.gps_fit()]; it is too sure of itself where the model
#' does not hold. Refits begin with the fit's parameters, and components are not moved (`mend =
#' FALSE`), so that intervals are of this solution: other local optima count for nothing. Components
#' are matched one to one by the largest sum of similarities, \eqn{|\cos|}{|cos|} between columns of
#' `W`, or \eqn{\exp(-d^2 / 2 v)}{exp(-d^2 / 2 v)} between means of clusters at distance d, with the
#' mean square v of distances of the fit's own means to their centre. The sign of a component that
#' [model_spike_slab()] leaves open, since `-W_h` with `-mu_h` is the same model, is the one nearer
#' to the fit's, so that a replicate's `mu_h` may be negative.
#'
#' Intervals are the percentiles of the replicates (Efron and Tibshirani 1993, *An Introduction to
#' the Bootstrap*, chapter 13).
#' @param fit a fit that has kept its data, of a model without locations: components of
#'   [model_occlusive()] may stand anywhere in their windows, so that pixels of refits do not belong
#'   together.
#' @param n number of replicates, a whole number of at least 2; for `plot()` of parameters to draw,
#'   the first ones, NULL: at most 60.
#' @param type `"nonparametric"` or `"parametric"`.
#' @param control NULL: as the fit's; or of [gps_control()]. Starts, mending and checkpoints are
#'   left out.
#' @param progress TRUE: where it takes more than a second, a line on the error stream tells which
#'   replicate it is at. For package progressr see `progress` in [gps_control()].
#' @param object,x a bootstrap.
#' @param parm names of parameters, as in `coef(fit)`; missing: all, for `plot()` the first.
#' @param level probability that an interval is to have, above 0 and below 1.
#' @param digits number of significant digits to print.
#' @param ... nothing.
#' @return `gps_bootstrap()`: a list of class `gps_bootstrap` with `estimate` (as `coef(fit)`),
#'   `replicates` (named like it, of each parameter an array of its shape with a last axis of
#'   length `n`; NA where a refit failed), `similarity` (H x n, of each component to the fit's),
#'   `type`, `degenerate` (of each refit: whether its likelihood has no maximum, see [gps_fit()])
#'   and `failures` (messages of the refits that failed). `confint()`: a matrix of two
#'   columns, the ends of intervals, with a row for each number, named as `W[3,1]`. `summary()`: a
#'   data frame of `parameter`, `estimate`, `se` (standard deviation over the replicates), `lower`
#'   and `upper`; it and `plot()` have of symmetric matrices the half with the diagonal, row before
#'   column. `plot()` draws estimates with their intervals and returns them invisibly, as a
#'   data frame of `parameter`, `lower`, `estimate` and `upper`.
#' @seealso [gps_fit()], [match_components()]
#' @concept bootstrap
#' @concept standard errors
#' @concept confidence intervals
#' @examples
#' set.seed(1)
#' y <- rbind(cbind(rnorm(60), rnorm(60)), cbind(rnorm(40, 6), rnorm(40, 3)))
#' fit <- gps_fit(y, model_gaussian_mixture(2, "spherical"), selector_full(),
#'                control = gps_control(n_starts = 2))
#' boot <- gps_bootstrap(fit, 10)
#' boot
#' confint(boot, "mu")
#' plot(boot, "mu")
#' @export
gps_bootstrap <- function(fit, n = 100, type = c("nonparametric", "parametric"), control = NULL,
                          progress = interactive(), ...) {
  refuse_unknown(further(...), names(formals(gps_bootstrap)))
  need_given()
  fit <- check_fit(fit)
  refuse_places(fit$model, "gps_bootstrap()", paste(
    ": a component may stand anywhere in its window, so that the pixels of refits do not belong",
    "together"
  ))
  n <- check_count(n, "n", 2)
  type <- check_choice(type, "type", c("nonparametric", "parametric"))
  if (!is.null(control)) check_control(control)
  if (type == "nonparametric") need_data(fit, "A nonparametric bootstrap")
  control <- refit_control(if (is.null(control)) fit$control else control)
  teller <- open_teller(n, check_flag(progress, "progress"), shown_after)
  on.exit(close_teller(teller))
  results <- lapply(seq_len(n), function(number) {
    result <- tryCatch(refit_drawn(fit, draw_again(fit, type), control), gps_error = identity)
    tell_count(teller, number, "replicate")
    result
  })
  new_bootstrap(fit, results, type)
}

# A refit begins with parameters, and nobody wants to keep or watch it.
refit_control <- function(control) {
  control <- unclass(control)
  control[c("checkpoint", "checkpoint_every")] <- list(NULL)
  control[c("mend", "progress", "keep_data", "keep_starts", "trace")] <- FALSE
  control$keep_slots <- TRUE
  do.call(gps_control, control)
}

# list(y, weights): data points are drawn with their weights, simulated ones have those of the fit.
draw_again <- function(fit, type) {
  if (type == "parametric") {
    y <- matrix(stats::simulate(fit, 1)[[1]]$y, fit$n_points)
    if (isTRUE(fit$n_missing > 0)) {
      y[t(is.na(need_matrix(fit, "A bootstrap with missing cells")))] <- NA
    }
    return(list(y = y, weights = fit$weights))
  }
  # Rows of weight 0 take no part.
  counted <- if (is.null(fit$weights)) seq_len(fit$n_points) else which(fit$weights > 0)
  rows <- counted[sample.int(length(counted), replace = TRUE)]
  list(y = t(rows_data(fit$y, rows)), weights = fit$weights[rows])
}

# list(params, similarity, is_degenerate) of a refit, its components in the order of the fit's.
refit_drawn <- function(fit, drawn, control) {
  y <- drawn$y
  colnames(y) <- fit$col_names
  found <- suppressWarnings(
    unless_interrupted(stats::update(fit, y = y, weights = drawn$weights,
                                     start = stats::coef(fit), control = control)),
    classes = "gps_warning"
  )
  match <- assign_components(component_likeness(found$params, fit$params, fit$model), 0)
  if (!identical(match$permutation, seq_along(match$permutation))) {
    found <- order_latents(found, match$permutation)
  }
  list(params = face_alike(found$params, fit$params, fit$model), similarity = match$similarity,
       is_degenerate = length(found$standing$degenerate) > 0)
}

# Parameters of a refit whose components point to the side of the fit's, as far as the model leaves
# that open: |cos| does not see it, and near a mean of 0 a side is drawn by lot.
face_alike <- function(params, own, model) {
  if (is.null(own$W)) return(params)
  is_opposed <- colSums(own$W * params$W) < 0
  if (any(is_opposed)) flip_latents(model, params, ifelse(is_opposed, -1, 1)) else params
}

# Similarities of components, in the fit's x in the refit's.
component_likeness <- function(found, own, model) {
  if (!is.null(own$W)) {
    return(pmin(abs(crossprod(unit_columns(unname(own$W)), unit_columns(unname(found$W)))), 1))
  }
  centre <- centre_param(model, own)
  if (is.null(centre) || length(dim(own[[centre]])) != 2) {
    gps_abort(sprintf(paste("gps_bootstrap() is not for the model %s: it has neither components",
                            "`W` nor centres, by which those of refits could be matched."),
                      quoted(model$name)))
  }
  own <- own[[centre]]
  found <- found[[centre]]
  if (ncol(own) == 1) return(matrix(1))
  square <- outer(colSums(own^2), colSums(found^2), `+`) - 2 * crossprod(own, found)
  spread <- mean(colSums((own - rowMeans(own))^2))
  exp(-pmax(unname(square), 0) / (2 * max(spread, .Machine$double.xmin)))
}

new_bootstrap <- function(fit, results, type) {
  has_failed <- vapply(results, inherits, NA, what = "gps_error")
  if (all(has_failed)) stop(results[[1]])
  estimate <- stats::coef(fit)
  n <- length(results)
  replicates <- lapply(stats::setNames(nm = names(estimate)), function(name) {
    shape <- if (is.null(dim(estimate[[name]]))) length(estimate[[name]]) else dim(estimate[[name]])
    values <- matrix(NA_real_, prod(shape), n)
    for (i in which(!has_failed)) values[, i] <- results[[i]]$params[[name]]
    array(values, c(shape, n))
  })
  similarity <- matrix(NA_real_, fit$model$n_latents, n)
  for (i in which(!has_failed)) similarity[, i] <- results[[i]]$similarity
  structure(list(estimate = estimate, replicates = replicates, similarity = similarity,
                 type = type,
                 degenerate = vapply(results, function(result) isTRUE(result$is_degenerate), NA),
                 failures = vapply(results[has_failed], conditionMessage, "")),
            class = "gps_bootstrap")
}

#' @rdname gps_bootstrap
#' @importFrom stats confint
#' @export
confint.gps_bootstrap <- function(object, parm, level = 0.95, ...) {
  refuse_unknown(further(...), c("parm", "level"))
  need_made(is_bootstrap(object), "object", "gps_bootstrap()")
  known <- names(object$estimate)
  if (missing(parm)) parm <- known
  if (!is.character(parm) || !all(parm %in% known)) {
    abort_value(parm, "parm", paste("among", list_arguments(known)))
  }
  level <- check_number(level, "level", 0, 1, open = TRUE)
  if (level == 1) abort_value(level, "level", "a number above 0 and below 1")
  probs <- (1 + c(-1, 1) * level) / 2
  ends <- lapply(parm, function(name) {
    values <- matrix(object$replicates[[name]], ncol = ncol(object$similarity))
    t(apply(values, 1, stats::quantile, probs = probs, na.rm = TRUE, names = FALSE))
  })
  ends <- do.call(rbind, ends)
  names <- unlist(lapply(parm, function(name) cell_names(name, object$estimate[[name]])))
  dimnames(ends) <- list(names, paste(format(100 * probs, trim = TRUE, digits = 3), "%"))
  ends
}

# "W[2,1]", "pi[3]", "sigma2".
cell_names <- function(name, value) {
  if (is.null(dim(value)) && length(value) == 1) return(name)
  at <- if (is.null(dim(value))) matrix(seq_along(value)) else
    arrayInd(seq_along(value), dim(value))
  sprintf("%s[%s]", name, apply(at, 1, paste, collapse = ","))
}

is_bootstrap <- function(x) {
  is.list(x) && is.list(x$estimate) && is.list(x$replicates) && is.matrix(x$similarity) &&
    identical(names(x$estimate), names(x$replicates)) && is.character(x$failures) &&
    all(lengths(x$replicates) == lengths(x$estimate) * ncol(x$similarity))
}

#' @rdname gps_bootstrap
#' @export
summary.gps_bootstrap <- function(object, level = 0.95, ...) {
  refuse_unknown(further(...), "level")
  ends <- confint.gps_bootstrap(object, level = level)
  se <- lapply(object$replicates, function(values) {
    apply(matrix(values, ncol = ncol(object$similarity)), 1, stats::sd, na.rm = TRUE)
  })
  table <- data.frame(parameter = rownames(ends),
                      estimate = unlist(object$estimate, use.names = FALSE),
                      se = unlist(se, use.names = FALSE), lower = ends[, 1], upper = ends[, 2])
  table <- table[distinct_cells(object, names(object$estimate)), ]
  row.names(table) <- NULL
  table
}

# Which numbers of some parameters stand in a table: of symmetric matrices, as covariances are, and
# of layers of them the half below the diagonal says nothing new.
distinct_cells <- function(x, parm) {
  unlist(lapply(parm, function(name) {
    value <- x$estimate[[name]]
    is_mirrored <- is_symmetric(value) && is_symmetric(mean_over_last(x$replicates[[name]]))
    if (is_mirrored) slice.index(value, 1) <= slice.index(value, 2) else rep(TRUE, length(value))
  }))
}

# Means over replicates, of those that there are.
mean_over_last <- function(replicates) {
  size <- dim(replicates)
  n_dims <- length(size) - 1
  array(rowMeans(replicates, na.rm = TRUE, dims = n_dims), size[seq_len(n_dims)])
}

#' @rdname gps_bootstrap
#' @export
print.gps_bootstrap <- function(x, digits = 3, ...) {
  digits <- shown_digits(digits, further(...))
  need_made(is_bootstrap(x), "x", "gps_bootstrap()")
  n <- ncol(x$similarity)
  lines <- c(
    Replicates = sprintf("%d, %s%s", n, x$type, if (length(x$failures) > 0) {
      sprintf("; %d failed: %s", length(x$failures), x$failures[1])
    } else {
      ""
    }),
    Degenerate = if (any(x$degenerate)) {
      sprintf("%s, whose parameters depend on floors (see ?gps_fit)",
              plural(sum(x$degenerate), "refit"))
    },
    Components = sprintf("similarity to the fit's %s on average, the least %s",
                         plain_number(mean(x$similarity, na.rm = TRUE), digits),
                         plain_number(min(x$similarity, na.rm = TRUE), digits))
  )
  cat("Bootstrap of a fit\n", format_lines(lines), sep = "")
  show_intervals(summary.gps_bootstrap(x), digits, "summary()")
  invisible(x)
}
