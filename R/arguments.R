# Checks of arguments and the package's conditions. Every message names the argument, what was given
# and what is allowed.

# Raises an error of class gps_error_<class> and gps_error. Further named values travel in the
# condition.
gps_abort <- function(message, class = c("argument", "model", "numeric", "data"), ...) {
  class <- match.arg(class)
  stop(errorCondition(message, ..., class = c(paste0("gps_error_", class), "gps_error"),
                      call = NULL))
}

# A warning of class gps_warning and, where it has one of its own, gps_warning_<class>.
gps_warn <- function(message, ..., class = NULL) {
  class <- c(if (!is.null(class)) paste0("gps_warning_", class), "gps_warning")
  warning(warningCondition(message, ..., class = class, call = NULL))
}

# A short description of a value for messages.
describe_value <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.function(x)) return("a function")
  if (is.atomic(x) && length(x) == 1 && is.null(dim(x))) {
    if (is.na(x)) return("NA")
    if (is.character(x)) return(dQuote(x, FALSE))
    return(format(x, digits = 6, decimal.mark = "."))
  }
  if (isS4(x)) {
    size <- if (is.null(dim(x))) "" else sprintf(" (%s)", paste(dim(x), collapse = " x "))
    return(sprintf("an object of class %s%s", dQuote(class(x)[1], FALSE), size))
  }
  if (is.data.frame(x)) {
    return(sprintf("a data frame with %d rows and %d columns", nrow(x), ncol(x)))
  }
  if (!is.null(dim(x))) {
    return(sprintf("an array of %s (%s)", typeof(x), paste(dim(x), collapse = " x ")))
  }
  if (is.list(x)) return(sprintf("a list of length %d", length(x)))
  sprintf("a%s %s vector of length %d", if (typeof(x) == "integer") "n" else "", typeof(x),
          length(x))
}

abort_value <- function(x, arg, allowed) {
  gps_abort(sprintf("`%s` must be %s, not %s.", arg, allowed, describe_value(x)))
}

is_number <- function(x) is.numeric(x) && length(x) == 1 && is.null(dim(x)) && !is.na(x)

# A whole number in [lower, upper], returned as integer.
check_count <- function(x, arg, lower = 1, upper = .Machine$integer.max) {
  if (!is_number(x) || x != round(x) || x < lower || x > upper) {
    bounds <- if (upper == .Machine$integer.max) {
      sprintf("of at least %s", format(lower))
    } else {
      sprintf("between %s and %s", format(lower), format(upper))
    }
    abort_value(x, arg, paste("a whole number", bounds))
  }
  as.integer(x)
}

# A finite number in [lower, upper]; `open` excludes the lower end.
check_number <- function(x, arg, lower = -Inf, upper = Inf, open = FALSE) {
  if (!is_number(x) || !is.finite(x) || x < lower || x > upper || (open && x == lower)) {
    allowed <- if (is.finite(lower) && is.finite(upper)) {
      sprintf("a number between %s and %s", format(lower), format(upper))
    } else if (is.finite(lower)) {
      sprintf("a finite number %s %s", if (open) "above" else "of at least", format(lower))
    } else {
      "a finite number"
    }
    abort_value(x, arg, allowed)
  }
  as.double(x)
}

check_flag <- function(x, arg) {
  if (!is.logical(x) || length(x) != 1 || is.na(x)) abort_value(x, arg, "TRUE or FALSE")
  x
}

# One of `choices`; the whole vector of choices (an untouched default) means the first.
check_choice <- function(x, arg, choices) {
  if (identical(x, choices)) return(choices[1])
  if (!is.character(x) || length(x) != 1 || is.na(x) || !x %in% choices) {
    hint <- nearest_name(x, choices)
    gps_abort(sprintf(
      "`%s` must be one of %s, not %s.%s", arg, paste(dQuote(choices, FALSE), collapse = ", "),
      describe_value(x),
      if (is.null(hint)) "" else sprintf(" Did you mean %s?", dQuote(hint, FALSE))
    ))
  }
  x
}

# The choice nearest to a misspelt name, or NULL.
nearest_name <- function(x, choices) {
  if (!is.character(x) || length(x) != 1 || is.na(x) || length(choices) == 0) return(NULL)
  distance <- utils::adist(x, choices, ignore.case = TRUE)[1, ]
  if (min(distance) > max(2, nchar(x) %/% 3)) NULL else choices[which.min(distance)]
}

# A matrix of finite numbers from a matrix or data frame; rows are data points. Storage is double.
check_matrix <- function(x, arg, n_cols = NULL, allow_empty = FALSE) {
  if (is.data.frame(x)) x <- check_data_frame(x, arg)
  if (!(is.numeric(x) || is.logical(x)) || is.factor(x) || length(dim(x)) != 2) {
    abort_value(x, arg, "a numeric matrix or data frame with data points in rows")
  }
  if (!allow_empty && (nrow(x) == 0 || ncol(x) == 0)) {
    abort_value(x, arg, "a numeric matrix with at least one row and one column")
  }
  if (!is.null(n_cols) && ncol(x) != n_cols) {
    hint <- if (nrow(x) == n_cols) " Is it transposed? Data points are rows." else ""
    gps_abort(sprintf("`%s` must have %d columns, not %d.%s", arg, n_cols, ncol(x), hint))
  }
  x <- plain_double_matrix(x)
  check_finite(x, arg)
  x
}

# Same numbers, plain double matrix: no class, only dim and dimnames.
plain_double_matrix <- function(x) {
  is_plain <- !is.object(x) && is.double(x) && all(names(attributes(x)) %in% c("dim", "dimnames"))
  if (is_plain) return(x)
  matrix(as.double(x), nrow(x), ncol(x), dimnames = dimnames(x))
}

check_data_frame <- function(x, arg) {
  bad <- which(!vapply(x, function(column) {
    (is.numeric(column) || is.logical(column)) && !is.factor(column) && is.null(dim(column))
  }, NA))
  if (length(bad) > 0) {
    gps_abort(sprintf("Column %d (%s) of `%s` must be numeric, not %s.", bad[1],
                      dQuote(names(x)[bad[1]], FALSE), arg, class(x[[bad[1]]])[1]))
  }
  has_row_names <- .row_names_info(x) > 0
  matrix(as.double(unlist(x, use.names = FALSE)), nrow(x), ncol(x),
         dimnames = list(if (has_row_names) row.names(x), names(x)))
}

# An error with row and column of the first value that is NA, NaN or infinite.
check_finite <- function(x, arg) {
  if (all(is.finite(x))) return(invisible(x))
  bad <- which(!is.finite(x))[1]
  row <- (bad - 1) %% nrow(x) + 1
  column <- (bad - 1) %/% nrow(x) + 1
  gps_abort(sprintf("`%s` must have finite values, but row %d, column %d is %s.", arg, row, column,
                    format(x[bad])))
}

# TRUE for an object of one of the package's classes, else an error that says what was expected.
check_class <- function(x, arg, class, allowed) {
  if (!inherits(x, class)) abort_value(x, arg, allowed)
  invisible(x)
}

# Suggested packages are asked for by name where they are needed.
require_package <- function(package, what) {
  if (!requireNamespace(package, quietly = TRUE)) {
    gps_abort(sprintf("%s needs the package %s: install.packages(%s).", what, package,
                      dQuote(package, FALSE)))
  }
  invisible(TRUE)
}
