# A source looked at as a matrix: its size, its names and rows of it.

#' @rdname gps_source
#' @export
dim.gps_source <- function(x) {
  check_source(x, "x")
  c(x$n, x$d)
}

# Of a matrix, not of the list that a source is inside.
#' @rdname gps_source
#' @export
length.gps_source <- function(x) as.double(unclass(x)$n) * unclass(x)$d

#' @rdname gps_source
#' @export
dimnames.gps_source <- function(x) {
  names <- unclass(x)$names
  if (!is.null(names)) list(NULL, names)
}

#' @rdname gps_source
#' @param value NULL, or a list of NULL and the new names of the columns; R calls it so for
#'   `colnames(x) <- names`.
#' @export
`dimnames<-.gps_source` <- function(x, value) {
  check_source(x, "x")
  if (is.list(value) && !is.null(value[[1]])) {
    gps_abort("The rows of a source have no names: colnames(x) <- names gives those of columns.")
  }
  names <- check_source_names(if (is.list(value)) value[[2]], x$d)
  if (identical(names, x$names)) return(x)
  if (setequal(names, x$names) && length(names) > 0 || moves_columns(x, names)) {
    gps_abort(paste("A source cannot have the same names in another order: x[, names] reads",
                    "columns in it."))
  }
  x["names"] <- list(names)
  x
}

# What a function reads with names is put into the order of the source's names: whether others would
# make it another order. One data point is read.
moves_columns <- function(source, names) {
  if (!inherits(source, "gps_source_function") || !is.null(source$pick)) return(FALSE)
  given <- names_read(keep_stream(read_value(source, 1, 1)))
  !identical(order_columns(given, names), order_columns(given, source$names))
}

#' @rdname gps_source
#' @export
is.na.gps_source <- function(x) is.na(x[, ])

#' @rdname gps_source
#' @param recursive nothing; R's generic has it.
#' @export
anyNA.gps_source <- function(x, recursive = FALSE) {
  check_source(x, "x")
  step <- max(1L, as.integer(block_doubles %/% x$d))
  for (from in seq(1, x$n, by = step)) {
    if (anyNA(unclass(x[from:min(x$n, from + step - 1), ]))) return(TRUE)
  }
  FALSE
}

# Parts are set by name inside; numbers cannot be.
#' @export
`[<-.gps_source` <- function(x, i, j, ..., value) {
  if (nargs() == 3 && is.character(i)) return(NextMethod())
  gps_abort(paste("Numbers of a source cannot be set. Data that are computed from it are a new",
                  "source: gps_source(n, d, function(from, to) 2 * x[from:to, ])."))
}

#' @importFrom utils str
#' @export
str.gps_source <- function(object, ...) {
  cat("", format(object)[1], "\n")
}

#' @rdname gps_source
#' @export
`[.gps_source` <- function(x, i, j, ..., drop = FALSE) {
  check_source(x, "x")
  if (nargs() - (!missing(drop)) != 3) gps_abort("A source has rows and columns: x[i, j], x[i, ].")
  check_flag(drop, "drop")
  rows <- if (missing(i)) seq_len(x$n) else pick_index(i, x$n, NULL, "i")
  columns <- if (missing(j)) seq_len(x$d) else pick_index(j, x$d, x$names, "j")
  check_cells(length(rows), x$d, "`i` and `j`")
  # Whoever looks at the numbers sees missing cells as such, also those that a task would fill.
  x$may_miss <- TRUE
  x["gaps"] <- list(NULL)
  values <- if (length(rows) > 0) rows_data(x, rows) else matrix(0, x$d, 0)
  values <- t(values)
  colnames(values) <- x$names
  values[, columns, drop = drop]
}

# Numbers of the rows or columns that an index means.
pick_index <- function(index, n, names, arg) {
  allowed <- sprintf("whole numbers up to %d, or %d truth values%s", n, n,
                     if (is.null(names)) "" else ", or names of columns")
  index <- if (is.null(index)) integer() else plain_numbers(index)
  if (is.character(index) && is.null(names)) {
    gps_abort(sprintf("`%s` must be %s, not %s: %s.", arg, allowed, describe_value(index),
                      if (arg == "i") {
                        "rows of a source have no names"
                      } else {
                        "the columns have no names, and colnames(source) <- names gives them"
                      }))
  }
  if (is.character(index)) index <- match_index(index, names, arg)
  is_sound <- is.null(dim(index)) && !anyNA(index) && if (is.logical(index)) {
    length(index) %in% c(1, n)
  } else {
    is.numeric(index) && !is.factor(index) && all(index == round(index) & abs(index) <= n)
  }
  if (!is_sound || is.numeric(index) && any(index > 0) && any(index < 0)) {
    abort_value(index, arg, allowed)
  }
  # Rows of a long source are not counted through where they are named.
  if (is.numeric(index) && !any(index < 0)) as.integer(index[index > 0]) else seq_len(n)[index]
}

# Numbers of the columns that are named, or an error that says which name there is not.
match_index <- function(index, names, arg) {
  place <- match(index, names)
  absent <- index[is.na(place) & !is.na(index)]
  if (length(absent) == 0) return(place)
  gps_abort(sprintf("`%s`: the source has no column %s.%s", arg, quoted(absent[1]),
                    advise_column(absent[1], names)))
}

#' @rdname gps_source
#' @importFrom utils head
#' @export
head.gps_source <- function(x, n = 6, ...) {
  refuse_unknown(further(...), "n")
  x[seq_len(count_shown(check_source(x, "x"), n)), ]
}

#' @rdname gps_source
#' @importFrom utils tail
#' @export
tail.gps_source <- function(x, n = 6, ...) {
  refuse_unknown(further(...), "n")
  shown <- count_shown(check_source(x, "x"), n)
  x[x$n - shown + seq_len(shown), ]
}

#' @rdname gps_source
#' @export
as.matrix.gps_source <- function(x, ...) {
  refuse_unknown(further(...), character())
  x[, ]
}

# Rows that head() and tail() show; of a negative number all but so many.
count_shown <- function(x, n) {
  n <- check_count(n, "n", -.Machine$integer.max)
  if (n < 0) max(0L, x$n + n) else min(n, x$n)
}
