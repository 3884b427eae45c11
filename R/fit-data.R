# The data of a fit as formulas name them, those that it keeps, and results shaped like them.

# The stored data, D x n or a source, or an error that says why there are none and what to do then,
# which may be to `give` them. Of what was to be kept only a source by an R function is not.
need_data <- function(fit, what, give = NULL) {
  if (is.null(fit$y)) {
    is_function <- isTRUE(fit$control$keep_data)
    refit <- if (is_function) "refit with as.matrix(source), or with a source of a file" else
      "refit with gps_control(keep_data = TRUE)"
    gps_abort(sprintf("%s needs the data, which this fit has not kept%s: %s.", what,
                      if (is_function) ", as of a source by an R function" else "",
                      paste(c(give, refit), collapse = ", or ")))
  }
  is_sound <- if (is_source(fit$y)) {
    is_source_whole(fit$y)
  } else {
    !anyNA(fit$y) || identical(sum(is.na(fit$y)), fit$n_missing)
  }
  need_fit(is_sound, "`y` is not its data")
  fit$y
}

# The same, always D x n.
need_matrix <- function(fit, what) whole_data(need_data(fit, what), what)

# A matrix n x D as the data were given: with names, or as an array of images.
shape_rows <- function(x, fit, row_names) {
  if (!is.null(fit$image_dim)) {
    names <- if (!is.null(row_names)) c(list(row_names), vector("list", length(fit$image_dim)))
    return(array(x, c(nrow(x), fit$image_dim), dimnames = names))
  }
  if (!is.null(row_names) || !is.null(fit$col_names)) dimnames(x) <- list(row_names, fit$col_names)
  x
}

# The arguments of update(), with the data that the fit has kept and what belongs to them.
with_own_data <- function(arguments, fit, changed) {
  y <- need_data(fit, "update() without `y`", "give them, update(fit, y = y)")
  arguments$y <- if (is_source(y)) y else shape_rows(t(y), fit, fit$row_names)
  if (is_source(y) && !"labels" %in% changed) arguments$labels <- fit$row_names
  if (!is.null(fit$pixels)) attr(arguments$y, "size") <- fit$pixels[1:2]
  if (!"weights" %in% changed) arguments["weights"] <- list(fit$weights)
  arguments
}

# The columns of `data` that a formula names. `others` are arguments that data may have been given
# to by their place.
read_formula <- function(formula, data, others, caller = "gps_fit") {
  if (is.null(data)) {
    is_placed <- any(vapply(others, is.data.frame, NA))
    own <- if (length(formula) == 3) right_side(formula) else formula
    written <- written_formula(own)
    gps_abort(sprintf("A formula needs `data`, a data frame%s: %s(%s, model, data = %s).%s",
                      if (is_placed) ", by its name" else "", caller, written$formula,
                      written$data, if (length(formula) == 3) {
                        " Nothing stands left of ~: latents have no response."
                      } else {
                        ""
                      }))
  }
  if (is_source(data)) refuse_source_formula(formula, data, caller)
  if (!is.data.frame(data)) {
    gps_abort(sprintf("`data` must be a data frame with the formula's columns, not %s.%s",
                      describe_value(data), advise_frame(data)))
  }
  formula_columns(formula, data)
}

# A source has its columns from when it was made.
refuse_source_formula <- function(formula, source, caller) {
  columns <- setdiff(all.vars(formula[[length(formula)]]), ".")
  columns <- if (length(columns) > 0) sprintf(", c(%s)", paste(quoted(columns), collapse = ", "))
  maker <- if (inherits(source, "gps_source_parquet")) "gps_source_parquet" else
    if (!is.null(source$table)) "gps_source_csv"
  gps_abort(sprintf("`data` is a source, which takes no formula: %sgive it as `y`, %s.",
                    if (is.null(maker)) "" else
                      sprintf("choose columns when it is made, %s(path%s), and ", maker,
                              paste(columns, collapse = "")),
                    sprintf("%s(source, model)", caller)))
}

#' @rdname fit-methods
#' @importFrom stats formula
#' @export
formula.gps_fit <- function(x, ...) {
  refuse_unknown(further(...), character())
  x <- check_fit(x)
  written <- x$call$y
  # One with a name of its own is known by its data.
  is_formula <- !is.null(x$call$data) || is.call(written) && identical(written[[1]], as.name("~"))
  if (!is_formula || is.null(x$col_names)) {
    gps_abort("formula() is not for a fit without one. The columns of its data are in coef(fit).")
  }
  sum_columns(x$col_names)
}

# The data of a fit that is made again or gone on with: `y` as given, or what it or the fit's names
# of columns are in `data`.
data_again <- function(y, data, names) {
  if (inherits(y, "formula")) return(read_formula(y, data, list()))
  if (is.null(data)) return(y)
  if (!is.null(y)) gps_abort("`data` is for a formula, or in place of `y`: give one of them.")
  if (!is.data.frame(data)) abort_value(data, "data", "a data frame with the fit's columns")
  if (is.null(names)) {
    gps_abort(paste("`data`: columns are found by their names, and those of the fit have none.",
                    "Give `y`."))
  }
  pick_columns(data, names, "data", "the fit's data")
}

# How images along the last dimension come first.
advise_order <- function(dim, image_dim, arg) {
  last <- length(dim)
  if (last < 3 || !identical(dim[-last], image_dim)) return("")
  sprintf(" Images come first: aperm(%s, c(%s)).", arg,
          paste(c(last, seq_len(last - 1)), collapse = ", "))
}
