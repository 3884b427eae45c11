# Columns that belong together: what was given first says in which order, what comes later is put
# into it by name. One rule for data, parameters and components:
#
# * Where names tell the wanted columns apart (all there, none empty, no two alike) and each is once
#   among the given ones, columns are matched by name; others among the given ones are left out.
# * Else they are matched by position, unless a name says that this is wrong.

# Places among the `given` names of the columns `wanted`, in their order; NULL: as they are. `arg`
# and `of` say whose names they are, `what` is what they name.
match_columns <- function(given, wanted, arg, of, what = "column") {
  if (is.null(given) || is.null(wanted) || identical(given, wanted)) return(NULL)
  is_named <- function(x) !is.na(x) & nzchar(x)
  are_unique <- all(is_named(wanted)) && anyDuplicated(wanted) == 0
  place <- match(wanted, given)
  is_complete <- all(is_named(given))
  if (are_unique && !anyNA(place)) {
    twice <- wanted[wanted %in% given[duplicated(given)]]
    if (length(twice) == 0) return(place)
    gps_abort(sprintf("`%s` has two %ss %s: which is the one of %s?", arg, what, quoted(twice[1]),
                      of))
  }
  if (are_unique && is_complete) {
    are_renamed <- all(is.na(place)) && length(given) == length(wanted)
    abort_absent(wanted[is.na(place)], arg, of, what, are_renamed)
  }
  if (length(given) != length(wanted)) return(NULL)
  clash <- which(is_named(given) & is_named(wanted) & given != wanted)
  if (length(clash) == 0) return(NULL)
  gps_abort(sprintf(paste(
    "The %ss of `%s` and of %s have names that differ (%s %d is %s, not %s) and do not",
    "tell all of them apart: give each %s a name of its own, or none."
  ), what, arg, of, what, clash[1], quoted(given[clash[1]]), quoted(wanted[clash[1]]), what))
}

# As many columns without any of the names may be the same columns under others.
abort_absent <- function(absent, arg, of, what, are_renamed) {
  gps_abort(sprintf(
    "`%s` must have the %ss of %s by name, but %s %s missing.%s", arg, what, of,
    paste(quoted(utils::head(absent, 3)), collapse = ", "),
    if (length(absent) == 1) "is" else
      if (length(absent) <= 3) "are" else sprintf("(%d in all) are", length(absent)),
    if (!are_renamed || what != "column") "" else
      sprintf(" Where the order is the same, leave the names off: unname(as.matrix(%s)).", arg)
  ))
}

# The columns of a table or source, as match_columns() finds them.
pick_columns <- function(x, wanted, arg, of) {
  if (is.null(wanted)) return(x)
  given <- if (is_source(x)) source_names(x) else if (length(dim(x)) == 2) colnames(x)
  place <- match_columns(check_names(given, "column", arg), wanted, arg, of)
  if (is.null(place)) return(x)
  if (is_source(x)) return(pick_dims(x, place, wanted))
  if (is.data.frame(x)) as_frame(unclass(x)[place], x, wanted) else x[, place, drop = FALSE]
}

# Columns as a data frame with the rows of another; base R would change their names or stop at them.
as_frame <- function(columns, like, names) {
  structure(columns, names = names, row.names = .row_names_info(like, 0L), class = "data.frame")
}

# Names on the axes of a parameter: a list, one element an axis.
axis_names <- function(x) {
  if (is.null(dim(x))) return(list(names(x)))
  if (is.null(dimnames(x))) vector("list", length(dim(x))) else unname(dimnames(x))
}

# Axes whose entries have names of their own: columns of the data, and latents or components.
named_axes <- c("dims", "latents", "components")

# Names of one axis of a parameter that has the axes it should have.
param_names <- function(x, axes, at) {
  if (!is.atomic(x) || max(1L, length(dim(x))) != length(axes)) return(NULL)
  check_names(axis_names(x)[[at]], "entry", "start")
}

# x with the entries `place` along one axis; substitute() is an empty argument, as in x[, 1].
take_along <- function(x, axis, place) {
  if (is.null(dim(x))) return(x[place])
  index <- rep(list(substitute()), length(dim(x)))
  index[[axis]] <- place
  do.call(`[`, c(list(x), index, drop = FALSE))
}

# The names that parameters have for the data's columns, or NULL.
column_names <- function(model, params) {
  for (name in intersect(names(params), names(model$params))) {
    for (at in which(model$params[[name]] == "dims")) {
      given <- param_names(params[[name]], model$params[[name]], at)
      if (!is.null(given)) return(given)
    }
  }
  NULL
}

# Parameters with the names that others have on their axes.
copy_names <- function(params, named) {
  for (name in intersect(names(params), names(named))) {
    x <- named[[name]]
    if (is.null(dim(x))) {
      if (!is.null(names(x))) names(params[[name]]) <- names(x)
    } else if (!is.null(dimnames(x))) {
      dimnames(params[[name]]) <- dimnames(x)
    }
  }
  params
}

name_rows <- function(x, row_names) {
  if (!is.null(row_names)) rownames(x) <- row_names
  x
}

name_columns <- function(x, col_names) {
  if (!is.null(col_names)) colnames(x) <- col_names
  x
}

# Names of the columns of data, as they are given.
data_names <- function(y) {
  if (is_source(y)) source_names(y) else if (length(dim(y)) == 2) colnames(y)
}

check_columns <- function(y, model) {
  if (n_dims(y) != model$n_dims) {
    gps_abort(sprintf("`y` must have %d columns, not %d. Data points are rows.", model$n_dims,
                      n_dims(y)))
  }
}

# Columns of length one; zero columns stay. The largest entry is divided out first: squares may
# over- or underflow.
unit_columns <- function(x) {
  divide <- function(x, by) sweep(x, 2, ifelse(by > 0, by, 1), "/")
  x <- divide(x, apply(abs(x), 2, max))
  divide(x, sqrt(colSums(x^2)))
}
