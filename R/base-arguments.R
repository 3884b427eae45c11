# Checks of arguments and the package's conditions. Every message names the argument, what was given
# and what is allowed.

error_classes <- c("argument", "model", "numeric", "data", "memory")

# Raises an error of class gps_error_<class> (or of several classes) and gps_error. Further named
# values travel in the condition.
gps_abort <- function(message, class = "argument", ...) {
  class <- match.arg(class, error_classes, several.ok = TRUE)
  stop(errorCondition(printable(message), ..., class = c(paste0("gps_error_", class), "gps_error"),
                      call = NULL))
}

# A warning of class gps_warning and, where it has one of its own, gps_warning_<class>.
gps_warn <- function(message, ..., class = NULL) {
  class <- c(if (!is.null(class)) paste0("gps_warning_", class), "gps_warning")
  warning(warningCondition(printable(message), ..., class = class, call = NULL))
}

# A short description of a value for messages.
describe_value <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.function(x)) return("a function")
  if (inherits(x, "formula")) return("a formula")
  if (is.language(x)) return("a piece of R code")
  if (is.environment(x)) return("an environment")
  if (is.object(x)) {
    words <- describe_object(x)
    if (!is.null(words)) return(words)
  }
  if (is.atomic(x) && length(x) == 1 && is.null(dim(x))) {
    if (is.na(x)) return("NA")
    if (is.character(x)) return(quoted(x))
    return(format(x, digits = 6, decimal.mark = "."))
  }
  if (!is.null(dim(x))) {
    return(sprintf("an array of %s (%s)", typeof(x), paste(dim(x), collapse = " x ")))
  }
  if (is.list(x)) return(sprintf("a list of length %d", length(x)))
  sprintf("a%s %s vector of length %d", if (typeof(x) == "integer") "n" else "", typeof(x),
          length(x))
}

# The same of what has a class; NULL where that says no more than the type.
describe_object <- function(x) {
  name <- class(x)[1]
  if (is.data.frame(x)) {
    return(sprintf("a data frame with %d rows and %d columns", nrow(x), ncol(x)))
  }
  if (is.list(x) || isS4(x)) {
    own <- grep("^gps?_", class(x), value = TRUE)
    if (length(own) > 0) name <- own[length(own)]
    size <- if (isS4(x) && !is.null(dim(x))) sprintf(" (%s)", paste(dim(x), collapse = " x "))
    return(sprintf("an object of class %s%s", quoted(name), if (is.null(size)) "" else size))
  }
  if (!is.atomic(x) || inherits(x, c("table", "ts", "AsIs", "noquote"))) return(NULL)
  size <- if (is.null(dim(x))) sprintf("vector of length %d", length(x)) else
    sprintf("array (%s)", paste(dim(x), collapse = " x "))
  sprintf("a%s %s %s", if (grepl("^[aeiou]", name)) "n" else "", printable(name), size)
}

abort_value <- function(x, arg, allowed) {
  gps_abort(sprintf("`%s` must be %s, not %s.", arg, allowed, describe_value(x)))
}

is_number <- function(x) is.numeric(x) && length(x) == 1 && is.null(dim(x)) && !is.na(x)

is_one_of <- function(x, choices) {
  is.character(x) && length(x) == 1 && is.null(dim(x)) && x %in% choices
}

# A whole number in [lower, upper], returned as integer.
check_count <- function(x, arg, lower = 1, upper = .Machine$integer.max) {
  x <- plain_numbers(x)
  if (!is_number(x) || x != round(x) || x < lower || x > upper) {
    # Nobody needs to hear of the limit of integers but who is beyond it.
    bounds <- if (upper == .Machine$integer.max && !isTRUE(is_number(x) && x > upper)) {
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
  x <- plain_numbers(x)
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
      "`%s` must be one of %s, not %s.%s", arg, paste(quoted(choices), collapse = ", "),
      describe_value(x), if (is.null(hint)) "" else sprintf(" Did you mean %s?", quoted(hint))
    ))
  }
  x
}

# The choice nearest to a misspelt name, or NULL.
nearest_name <- function(x, choices) {
  if (!is.character(x) || length(x) != 1 || !is_text(x) || !nzchar(x)) return(NULL)
  choices <- choices[is_text(choices)]
  if (length(choices) == 0) return(NULL)
  distance <- utils::adist(x, choices, ignore.case = TRUE)[1, ]
  if (min(distance) > max(2, nchar(x) %/% 3)) NULL else choices[which.min(distance)]
}

# A matrix of finite numbers from a matrix or data frame; rows are data points. Storage is double.
check_matrix <- function(x, arg, n_cols = NULL, allow_empty = FALSE) {
  x <- plain_numbers(x)
  if (is.data.frame(x)) x <- check_data_frame(x, arg)
  if (!(is.numeric(x) || is.logical(x)) || is.factor(x) || length(dim(x)) != 2) {
    abort_table(x, arg)
  }
  if (!allow_empty && (nrow(x) == 0 || ncol(x) == 0)) {
    abort_value(x, arg, "a numeric matrix with at least one row and one column")
  }
  if (!is.null(n_cols) && ncol(x) != n_cols) {
    hint <- if (nrow(x) == n_cols) " Is it transposed? Data points are rows." else ""
    gps_abort(sprintf("`%s` must have %d columns, not %d.%s", arg, n_cols, ncol(x), hint))
  }
  x <- plain_double_matrix(x)
  check_names(rownames(x), "row", arg)
  check_names(colnames(x), "column", arg)
  check_finite(x, arg)
  x
}

# What is no table of numbers, with the way to make one of it.
abort_table <- function(x, arg) {
  hint <- if (inherits(x, "formula")) {
    " Give the columns themselves: data[c(\"a\", \"b\")], or model.matrix() for terms."
  } else if (is.character(x) && is.null(dim(x)) && length(x) == 1) {
    " A file is read first: read.csv(), or gps_source_binary() for large ones."
  } else if (is.factor(x) || is.character(x) && is.null(dim(x))) {
    " Categories: model.matrix(~ 0 + f) makes a column of 0 and 1 of each."
  } else if (inherits(x, c("Date", "POSIXt", "difftime"))) {
    " Times: as.numeric() gives their number of days or seconds."
  } else if (is.numeric(x) && is.null(dim(x))) {
    paste(" One data point is a row, x[1, , drop = FALSE] or rbind(x);",
          "points of one dimension are a column, cbind(x).")
  }
  gps_abort(sprintf("`%s` must be %s, not %s.%s", arg,
                    "a numeric matrix or data frame with data points in rows", describe_value(x),
                    if (is.null(hint)) "" else hint))
}

# Same numbers, plain double matrix: no class, only dim and dimnames.
plain_double_matrix <- function(x) {
  is_plain <- !is.object(x) && is.double(x) && all(names(attributes(x)) %in% c("dim", "dimnames"))
  if (is_plain) return(x)
  matrix(as.double(x), nrow(x), ncol(x), dimnames = dimnames(x))
}

# A data frame of numbers as a matrix; TRUE and FALSE are 1 and 0.
check_data_frame <- function(x, arg) {
  columns <- unclass(x)
  is_fit <- vapply(columns, function(column) {
    (is.numeric(column) || is.logical(column)) && !is.factor(column) && is.null(dim(column))
  }, NA)
  if (!all(is_fit)) {
    bad <- which(!is_fit)[1]
    gps_abort(sprintf("Column %d (%s) of `%s` must be numeric, not %s.%s", bad,
                      quoted(names(x)[bad]), arg, printable(class(columns[[bad]])[1]),
                      column_hint(columns[[bad]])))
  }
  has_row_names <- .row_names_info(x) > 0
  matrix(as.double(unlist(columns, use.names = FALSE)), nrow(x), ncol(x),
         dimnames = list(if (has_row_names) row.names(x), names(x)))
}

# How a column of another type can be given.
column_hint <- function(column) {
  if (is.factor(column)) {
    return(" Leave it out, or give a column of 0 and 1 for each level: model.matrix(~ 0 + f).")
  }
  if (is.character(column)) {
    return(" Leave it out; numbers that are stored as text: as.numeric().")
  }
  if (inherits(column, c("Date", "POSIXt", "difftime"))) {
    return(" Leave it out, or give its number of days or seconds: as.numeric().")
  }
  if (length(dim(column)) == 2) return(" A matrix in a column: give its columns with cbind().")
  if (is.list(column)) return(" Give one number a cell: unlist(), or cbind() of its parts.")
  ""
}

# A data frame may have columns of TRUE and FALSE that are labels: whoever gives it is told.
tell_logical <- function(x, arg) {
  if (!is.data.frame(x)) return(invisible())
  found <- names(x)[vapply(unclass(x), is.logical, NA)]
  if (length(found) == 0) return(invisible())
  gps_warn(sprintf("TRUE and FALSE are read as 1 and 0 in %s %s of `%s`.",
                   if (length(found) == 1) "column" else "columns",
                   paste(quoted(utils::head(found, 3)), collapse = ", "), arg))
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
