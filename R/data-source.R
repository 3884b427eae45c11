# Where the data of a task are, and the only ways to get at them. A task's `y` is a matrix D x N, or
# a source that reads data points when they are asked for.

#' Data that are read in blocks
#'
#' A source says where data points come from when they are too many to be in memory at once:
#' a function of yours, a binary file ([gps_source_binary()]), an HDF5 file ([gps_source_hdf5()])
#' or a table in a file ([gps_source_csv()], [gps_source_parquet()]).
#' [gps_fit()], [predict.gps_fit()], [gps_estep()], [gps_affinity()], [gps_learn()], [gps_bind()]
#' and [gps_init()] take a source in place of a matrix. Sparse matrices of package Matrix are read
#' in the same way, see [gps_fit()].
#'
#' A fit reads all points once to learn their means and spread ([model_max_spike_slab()], and models
#' that take certain numbers alone, [model_noisy_or()] and [model_poisson_mixture()]: twice), and
#' then once in each iteration, in blocks of 512 points or of a power of two times that, so that a
#' block has about two million numbers. Starts, trials of mending and, with a source, the
#' initialisation read a sample of rows.
#'
#' Some selectors need all data at once: the exact method of [selector_gp()] and [selector_custom()]
#' with `learn`. They read a source of at most 2^25 numbers (256 MB) as a whole, and refuse larger
#' ones. Neighbours are sought among all points of such a source, and among as many as may be held
#' of a larger one.
#'
#' A fit whose data came from a file keeps the source, which knows the path, not the numbers; of a
#' function it keeps nothing (see `keep_data` in [gps_control()]).
#'
#' @param n number of data points, a whole number of at least 1. In `head()` and `tail()`: of rows
#'   to show, or where negative to leave out.
#' @param d number of dimensions, a whole number of at least 1.
#' @param read function of `(from, to)` that returns the data points `from` to `to`, counted from 1,
#'   as a matrix of `to - from + 1` rows (also if that is one) and `d` columns of finite numbers,
#'   or NA where cells are missing ([missing_cells]). The same points must be the same numbers each
#'   time. What it draws from R's random numbers is put back.
#' @param names NULL or `d` names of the columns. Where the matrices that `read` returns have the
#'   same names in another order, their columns are put into this one. NULL: parameters have no
#'   names, and where names are wanted, as in [predict.gps_fit()], those of the first point's matrix
#'   are taken. `colnames(x) <- names` renames columns and never moves them: names that would, by
#'   those that `read` returns, are refused; one point is read for that.
#' @param x a source.
#' @param i,j rows and columns to read, as for a matrix: whole numbers (negative ones are left out),
#'   truth values or, for columns, names. Missing: all.
#' @param drop TRUE: a single row or column is a vector.
#' @param ... nothing.
#' @return an object of class `gps_source`. `dim()` of one is `c(n, d)`, `length()` their product,
#'   and `colnames()` has the names, which can be set; `x[i, j]`, `head(x)`, `tail(x)` and
#'   `as.matrix(x)`, all of them, read rows and give a numeric matrix, with NA in missing cells.
#'   `is.na(x)` reads all of it, `anyNA(x)` a block at a time. Arithmetic, comparisons and other
#'   functions of numbers are errors that say how to have the numbers. Functions that R gives no
#'   way to answer for another class, such as `%*%`, `colMeans()`, `rowSums()`, `var()` and
#'   `nchar()`, do not know a source: they take `x[, ]`.
#' @seealso [gps_source_binary()], [gps_source_hdf5()], [gps_source_csv()], [gps_write_binary()]
#' @concept big data
#' @concept out of memory
#' @examples
#' set.seed(1)
#' means <- cbind(rnorm(4, sd = 5), rnorm(4, sd = 5))
#' read <- function(from, to) {
#'   n <- from:to
#'   means[n %% 4 + 1, , drop = FALSE] + cbind(sin(n), cos(1.7 * n))
#' }
#' source <- gps_source(2000, 2, read)
#' source
#' head(source, 3)
#' gps_fit(source, model_gaussian_mixture(4), selector_full(),
#'         control = gps_control(max_iter = 5, n_starts = 2))
#' @order 1
#' @export
gps_source <- function(n, d, read, names = NULL, ...) {
  refuse_unknown(further(...), argument_names(gps_source))
  given <- Filter(is_given_data, list(if (!missing(n)) n, if (!missing(read)) read))
  if (length(given) > 0 && length(dim(given[[1]])) > 0) {
    gps_abort(sprintf("Data in memory need no source: gps_fit(y, model) takes a %s as it is.",
                      if (is.data.frame(given[[1]])) "data frame" else "matrix"))
  }
  if (!missing(n) && is.character(n)) {
    gps_abort(sprintf("`n` must be a number of data points, not %s.%s", describe_value(n),
                      advise_file(n)))
  }
  if (!missing(n) && is.function(n) || !missing(d) && is.function(d)) {
    gps_abort(paste("The function comes third, after the numbers of rows and columns:",
                    "gps_source(n, d, read)."))
  }
  need_given()
  if (!is.function(read)) abort_value(read, "read", "a function of (from, to)")
  arguments <- argument_names(args(read))
  if (length(arguments) < 2 && !"..." %in% arguments) {
    gps_abort(sprintf(paste("`read` must be a function of two arguments, (from, to), that returns",
                            "these rows as a matrix, not one of %d."), length(arguments)))
  }
  new_source("function", check_count(n, "n"), check_count(d, "d"), names, read = read)
}

new_source <- function(kind, n, d, names = NULL, ...) {
  structure(list(n = n, d = d, names = check_source_names(names, d), ...),
            class = c(paste0("gps_source_", kind), "gps_source"))
}

check_source_names <- function(names, d) {
  if (!is.null(names) && !(is.character(names) && length(names) == d && !anyNA(names))) {
    given <- if (is.character(names) && anyNA(names)) "names with an NA" else describe_value(names)
    gps_abort(sprintf("`names` must be NULL or %d names, not %s.", d, given))
  }
  check_names(names, "column", "names")
  names
}

is_source <- function(y) inherits(y, "gps_source")

#' @rdname gps_source
#' @export
print.gps_source <- function(x, ...) {
  refuse_shown(further(...))
  check_source(x, "x")
  say(sprintf("Source of %d data point%s of %d dimension%s, from %s", x$n,
              if (x$n == 1) "" else "s", x$d, if (x$d == 1) "" else "s", describe_source(x)))
  invisible(x)
}

# Where a source reads from, in words.
describe_source <- function(source) UseMethod("describe_source")

#' @export
describe_source.default <- function(source) {
  sprintf("a function read(%s)", paste(names(formals(args(source$read))), collapse = ", "))
}

# A source as a constructor made it, or an error.
check_source <- function(source, arg) {
  if (!is_source_whole(source)) abort_value(source, arg, "a source, as made by gps_source()")
  invisible(source)
}

# At a cost that does not depend on the number of data points.
is_source_sound <- function(source) {
  parts <- unclass(source)
  is_source(source) && is.list(parts) && is_count(parts$n) && is_count(parts$d) &&
    is_names_sound(parts$names, parts$d) && is_pick_sound(parts) && isTRUE(is_kind_sound(source))
}

is_names_sound <- function(names, n) {
  is.null(names) || is.character(names) && length(names) == n && !anyNA(names)
}

# Dimensions that were picked from those that are read.
is_pick_sound <- function(parts) {
  if (is.null(parts$pick)) return(is.null(parts$n_columns))
  is.integer(parts$pick) && length(parts$pick) == parts$d && is_count(parts$n_columns) &&
    all(parts$pick %in% seq_len(parts$n_columns))
}

# The same with all that it holds.
is_source_whole <- function(source) is_source_sound(source) && is_content_sound(source)

is_content_sound <- function(source) UseMethod("is_content_sound")

#' @export
is_content_sound.default <- function(source) TRUE

# Whether what only this kind of source has is as it must be.
is_kind_sound <- function(source) UseMethod("is_kind_sound")

#' @export
is_kind_sound.default <- function(source) FALSE

#' @export
is_kind_sound.gps_source_function <- function(source) is.function(source$read)

# Data points from[1] .. to[1], from[2] .. to[2] and so on of a source, D x points, with NA in
# missing cells where it may have any.
read_ranges <- function(source, from, to) {
  size <- to - from + 1
  last <- cumsum(size)
  values <- with_reader(source, function(read) {
    if (length(from) == 1) return(check_read(read(from, to), source, from, to))
    values <- matrix(0, n_read(source), last[length(last)])
    for (i in seq_along(from)) {
      values[, last[i] - size[i] + seq_len(size[i])] <-
        check_read(read(from[i], to[i]), source, from[i], to[i])
    }
    values
  })
  if (is.null(source$pick)) values else values[source$pick, , drop = FALSE]
}

# `use(read)`, where read(from, to) gives D x points of a source that is open meanwhile.
with_reader <- function(source, use) UseMethod("with_reader")

#' @export
with_reader.gps_source_function <- function(source, use) {
  use(function(from, to) keep_stream(call_reader(source, from, to)))
}

read_value <- function(source, from, to) {
  tryCatch(source$read(from, to), error = function(condition) {
    if (is_time_limit(condition)) stop(condition)
    is_beyond <- inherits(condition, "subscriptOutOfBoundsError")
    abort_read(from, to, paste0(conditionMessage(condition), if (is_beyond) {
      sprintf(". Are there as many data points as `n` says, %d?", source$n)
    }), parent = condition)
  })
}

# The value of the user's function, turned to D x points.
call_reader <- function(source, from, to) {
  value <- read_value(source, from, to)
  value <- order_read(plain_numbers(value), source)
  is_shaped <- (is.numeric(value) || is.logical(value)) && !is.factor(value) &&
    identical(as.double(dim(value)), as.double(c(to - from + 1, n_read(source))))
  if (!is_shaped) {
    wanted <- as.double(c(to - from + 1, n_read(source)))
    is_dropped <- is.null(dim(value)) && from == to && length(value) == wanted[2]
    hint <- if (is_dropped) {
      " Is a `drop = FALSE` missing?"
    } else if (is.data.frame(value)) {
      " as.matrix() makes one of it."
    } else if (identical(as.double(dim(value)), rev(wanted))) {
      " Data points are rows: return its t()."
    }
    abort_read(from, to, sprintf("`read` must return a numeric matrix of %d x %d, not %s.%s",
                                 as.integer(to - from + 1), n_read(source), describe_value(value),
                                 paste(hint, collapse = "")))
  }
  t(unname(plain_double_matrix(value)))
}

# What was read with its columns in the order of the source's names, where it has the same ones.
order_read <- function(value, source) {
  order <- if (is.null(source$pick)) order_columns(names_read(value), source$names)
  if (is.null(order)) value else value[, order, drop = FALSE]
}

names_read <- function(value) {
  if (length(dim(value)) == 2 && !is_sparse_matrix(value)) colnames(value)
}

# In which order columns that were read with names come to those of a source; NULL: as they are.
order_columns <- function(given, names) {
  is_same <- is.null(given) || is.null(names) || identical(given, names)
  if (!is_same && anyDuplicated(given) == 0 && setequal(given, names)) match(names, given)
}

# Names of the columns of a source, or NULL; a function may have them with its first point.
source_names <- function(source) {
  if (!is.null(source$names) || !inherits(source, "gps_source_function")) return(source$names)
  value <- keep_stream(read_value(check_source(source, "y"), 1, 1))
  names <- if (length(dim(value)) == 2) colnames(value)
  if (is_names_sound(names, source$d)) names
}

# Dimensions of what is read, before some are picked.
n_read <- function(source) if (is.null(source$n_columns)) source$d else source$n_columns

# A source of some dimensions only, by their numbers, with the names that they have then.
pick_dims <- function(source, picked, wanted) {
  source$n_columns <- n_read(source)
  source$pick <- if (is.null(source$pick)) picked else source$pick[picked]
  source[c("d", "names")] <- list(length(wanted), wanted)
  source
}

# What is read has no holes, unless it may have some.
check_read <- function(values, source, from, to) {
  if (is.finite(sum(values))) return(values)
  bad <- which(if (isTRUE(source$may_miss)) is.infinite(values) else !is.finite(values))
  if (length(bad) == 0) return(values)
  row <- from + (bad[1] - 1) %/% nrow(values)
  value <- values[bad[1]]
  who <- if (is.na(value)) source$refused_by
  abort_read(from, to, sprintf(
    "`y` must have finite values, but row %d, column %d is %s%s.", as.integer(row),
    (bad[1] - 1L) %% nrow(values) + 1L, plain_number(value),
    if (is.null(who)) "" else sprintf(": %s does not allow for missing cells", who)
  ))
}

abort_read <- function(from, to, message, ...) {
  gps_abort(sprintf("Reading data points %.0f to %.0f: %s", from, to, message), "data", ...)
}

# The entries of a range of sparse data as the C core takes them; NULL of other data.
sparse_entries <- function(source, from, to) UseMethod("sparse_entries")

#' @export
sparse_entries.default <- function(source, from, to) NULL

# Missing cells of a source that are known before it is read, NULL of none.
stored_missing <- function(source) UseMethod("stored_missing")

#' @export
stored_missing.default <- function(source) NULL

# Data as users hand them over: points in rows, or a source.
as_given <- function(y) if (is_source(y)) y else t(y)

# What a fit keeps of its data: not a function, which may hold anything.
kept_data <- function(y) if (!inherits(y, "gps_source_function")) y

is_sparse_matrix <- function(y) inherits(y, "sparseMatrix")
