# Sources that read files: raw binary numbers, and HDF5. They hold a path, and what the file was
# like when the source was made, so that a file that changes is noticed.

#' Data in a binary file
#'
#' A raw file of numbers without any structure, one data point after the other: the `d` numbers of
#' the first point, those of the second, and so on, as [writeBin()] writes them.
#'
#' The number of points follows from the size of the file. Where a sample of its bytes looks like
#' text, like a file of another kind or like numbers of another `type`, a warning of class
#' `gps_warning_bytes` says so. The file is opened for each block that is
#' read; one that has changed in size or time since the source was made is refused.
#'
#' @param path the file.
#' @param d number of dimensions, a whole number of at least 1.
#' @param type of the numbers: "double" and "float" have 8 and 4 bytes; "int8", "uint8", "int16",
#'   "uint16" and "int32" are whole numbers with 8, 16 or 32 bits, signed or not.
#' @param endian order of the bytes in a number: "little" (of nearly all machines) or "big".
#' @param offset bytes at the beginning of the file to skip.
#' @param names NULL or `d` names of the columns.
#' @param ... nothing.
#' @return a `gps_source`, see [gps_source()].
#' @seealso [gps_write_binary()], [gps_source_hdf5()], [gps_source_csv()]
#' @examples
#' y <- matrix(rnorm(300), 100)
#' path <- tempfile()
#' writeBin(as.vector(t(y)), path, endian = "little")
#' gps_source_binary(path, d = 3)
#' @export
gps_source_binary <- function(path, d,
                              type = c("double", "float", "int8", "uint8", "int16", "uint16",
                                       "int32"),
                              endian = c("little", "big"), offset = 0, names = NULL, ...) {
  refuse_unknown(further(...), argument_names(gps_source_binary))
  need_given()
  state <- file_state(path)
  d <- check_count(d, "d")
  type <- check_choice(type, "type", base::names(binary_types)) # `names` may be a function
  endian <- check_choice(endian, "endian", c("little", "big"))
  offset <- check_number(offset, "offset", 0)
  bytes <- as.double(binary_types[[type]]$size) * d
  n <- (state$size - offset) / bytes
  if (n > .Machine$integer.max) {
    gps_abort(sprintf("The file %s has %.0f data points; a source has at most %d.",
                      quoted(path), n, .Machine$integer.max))
  }
  if (offset != round(offset) || n < 1 || n != round(n)) {
    kind <- if (offset == 0) advise_kind(path) else ""
    gps_abort(sprintf(paste(
      "The file %s has %.0f bytes, of which %s are skipped by `offset`: the rest are not whole",
      "data points of %d %ss, %.0f bytes each.%s"
    ), quoted(path), state$size, plain_number(offset, 15), d, type, bytes,
    if (nzchar(kind)) kind else " Is `d` or `type` another one?"))
  }
  tell_bytes(state$path, type, endian, offset)
  new_source("binary", as.integer(n), d, names, type = type, endian = endian, offset = offset,
             path = state$path, size = state$size, time = state$time)
}

# list(path, size, time) of a file that is there.
file_state <- function(path) {
  if (!is.character(path) || length(path) != 1 || is.na(path) || Encoding(path) == "bytes") {
    gps_abort(sprintf("`path` must be the name of a file, not %s.%s", describe_value(path),
                      if (length(dim(path)) < 2) "" else
                        " Data in memory need no source: gps_fit(y, model)."))
  }
  if (grepl("^(https?|ftps?|s3|gs)://", path)) {
    gps_abort(sprintf("`path`: %s is on the web, and read from a file: %s.", quoted(path),
                      "download.file(url, \"name\", mode = \"wb\") first"))
  }
  about <- file.info(path, extra_cols = FALSE)
  if (is.na(about$size) || about$isdir || file.access(path, 4) != 0) {
    is_relative <- !grepl("^(/|~|[A-Za-z]:)", path)
    gps_abort(sprintf("`path`: there is no file %s that can be read%s.%s", quoted(path),
                      if (is_relative) paste(" in", quoted(getwd())) else "",
                      if (about$isdir %in% TRUE) " It is a folder." else ""))
  }
  list(path = normalizePath(path), size = about$size, time = as.double(about$mtime))
}

# An error where the file is not as it was when the source was made.
check_unchanged <- function(source) {
  about <- file.info(source$path, extra_cols = FALSE)
  if (is.na(about$size)) {
    gps_abort(sprintf("The data file %s is not there any more%s", quoted(source$path),
                      lost_advice(source)), "data")
  }
  if (about$size != source$size || as.double(about$mtime) != source$time) {
    gps_abort(sprintf(paste("The data file %s has changed since its source was made: make it anew,",
                            "y. %s"), quoted(source$path), taken_again), "data")
  }
}

# What a fit does with data that are there again.
taken_again <- paste("A fit takes the same data again by `fit$y <- y`, and any as `newdata` of",
                     "predict().")

# How to have data again whose file is gone.
lost_advice <- function(source) {
  if (!isTRUE(source$is_temporary)) {
    return(paste(": put it back, or make a new source, y.", taken_again))
  }
  sprintf(paste(": it was temporary, of the session that unpacked the table %s. Read that again,",
                "y <- gps_source_csv(), where `binary` = the name of a file keeps it. %s"),
          quoted(source$table), taken_again)
}

is_file_sound <- function(source) {
  is.character(source$path) && length(source$path) == 1 && !is.na(source$path) &&
    is_number(source$size) && is_number(source$time)
}

#' @export
is_kind_sound.gps_source_binary <- function(source) {
  is_file_sound(source) && is_one_of(source$type, names(binary_types)) &&
    is_one_of(source$endian, c("little", "big")) && is_number(source$offset) &&
    source$offset >= 0 && (is.null(source$table) || is_one_of(source$table, source$table)) &&
    (is.null(source$is_temporary) || isTRUE(source$is_temporary) ||
       isFALSE(source$is_temporary))
}

#' @export
describe_source.gps_source_binary <- function(source) {
  words <- sprintf("the binary file %s (%s, %s-endian%s)", source$path, source$type, source$endian,
                   if (source$offset > 0) sprintf(", from byte %.0f", source$offset + 1) else "")
  # A table was unpacked.
  if (is.null(source$table)) return(words)
  if (isTRUE(source$is_temporary)) words <- sub("^the ", "the temporary ", words)
  sprintf("the table %s, unpacked into %s", source$table, words)
}

#' @export
with_reader.gps_source_binary <- function(source, use) {
  check_unchanged(source)
  type <- binary_types[[source$type]]
  bytes <- as.double(type$size) * n_read(source)
  connection <- open_binary(source)
  on.exit(close(connection))
  use(function(from, to) {
    n <- as.double(n_read(source)) * (to - from + 1)
    seek(connection, source$offset + (from - 1) * bytes)
    values <- readBin(connection, type$what, n, type$size, type$signed, source$endian)
    if (length(values) < n) abort_read(from, to, "the file ends before them.")
    # In place: a copy would cost as much as reading.
    if (!is.double(values)) values <- as.double(values)
    dim(values) <- c(n_read(source), to - from + 1)
    values
  })
}

open_binary <- function(source) {
  tryCatch(suppressWarnings(file(source$path, "rb")), error = function(condition) {
    gps_abort(sprintf("The data file %s cannot be opened.", quoted(source$path)), "data",
              parent = condition)
  })
}

#' Data in an HDF5 file
#'
#' A two-dimensional numeric dataset of an HDF5 file, through the package hdf5r. Truth values are
#' read as 0 and 1.
#'
#' HDF5 stores the last dimension of a dataset together, R the first, so that the dimensions of the
#' same dataset are named in reverse order by R and by most other programs. `points` is as R, with
#' hdf5r, sees it. A matrix with points in rows that was written from R has `points = "rows"`. An
#' array of shape (n, d) written from Python (h5py, PyTables), which `h5ls` shows as `{n, d}`, is a
#' d x n matrix to R and has `points = "columns"`. This order is the better one for blocks, because
#' the numbers of a data point lie together.
#'
#' @param path the file.
#' @param dataset name of the dataset, with its groups: `"group/name"`.
#' @param points "rows" or "columns": which dimension of the dataset, as R sees it, are the data
#'   points.
#' @param names NULL or names of the columns, one for each dimension of a data point.
#' @param ... nothing.
#' @return a `gps_source`, see [gps_source()]. A file that has changed in size or time since the
#'   source was made is refused when it is read.
#' @seealso [gps_source_binary()]
#' @examplesIf requireNamespace("hdf5r", quietly = TRUE)
#' path <- tempfile(fileext = ".h5")
#' file <- hdf5r::H5File$new(path, "w")
#' file[["y"]] <- matrix(rnorm(300), 100)
#' file$close_all()
#' gps_source_hdf5(path, "y")
#' @export
gps_source_hdf5 <- function(path, dataset = NULL, points = c("rows", "columns"), names = NULL,
                            ...) {
  refuse_unknown(further(...), argument_names(gps_source_hdf5))
  need_given()
  require_package("hdf5r", "gps_source_hdf5()")
  state <- file_state(path)
  is_name <- is.character(dataset) && length(dataset) == 1 && !is.na(dataset) && nzchar(dataset)
  if (!is_name && !is.null(dataset)) abort_value(dataset, "dataset", "the name of a dataset")
  points <- check_choice(points, "points", c("rows", "columns"))
  dims <- with_dataset(state$path, dataset, "argument", function(set) {
    check_dataset(set, dataset)
    as.double(set$dims)
  })
  if (points == "columns") dims <- rev(dims)
  new_source("hdf5", check_count(dims[1], "number of data points"),
             check_count(dims[2], "number of dimensions"), names, dataset = dataset,
             points = points, path = state$path, size = state$size, time = state$time)
}

# `use(set)` with an open dataset; errors are of the class that is given. All that was opened is
# closed by name: close_all() would collect garbage each time.
with_dataset <- function(path, dataset, class, use) {
  file <- tryCatch(hdf5r::H5File$new(path, "r"), error = function(condition) {
    gps_abort(sprintf("%s cannot be opened as an HDF5 file.%s", quoted(path),
                      advise_kind(path, "gps_source_hdf5()")), class, parent = condition)
  })
  on.exit(file$close())
  set <- if (!is.null(dataset)) tryCatch(file[[dataset]], error = function(condition) NULL)
  if (!is.null(set)) on.exit(set$close(), add = TRUE, after = FALSE)
  if (inherits(set, "H5D")) return(use(set))
  there <- paste("There are", columns_said(hdf5r::list.datasets(file)))
  if (is.null(dataset)) {
    gps_abort(sprintf("`dataset` must be the name of a dataset of %s. %s", quoted(path), there))
  }
  gps_abort(sprintf("The HDF5 file %s has no dataset %s. %s", quoted(path), quoted(dataset), there),
            class)
}

check_dataset <- function(set, dataset) {
  if (length(set$dims) != 2 || any(set$dims < 1)) {
    given <- switch(as.character(length(set$dims)), `0` = "none",
                    `1` = paste("one, of length", set$dims), shown_dim(set$dims))
    gps_abort(sprintf("`dataset` must have two dimensions, but %s has %s.", quoted(dataset), given))
  }
  type <- set$get_type()
  on.exit(type$close())
  kind <- as.character(type$get_class())
  if (kind == "H5T_ENUM") return(check_truth_values(type$get_labels(), dataset))
  if (!kind %in% c("H5T_INTEGER", "H5T_FLOAT")) {
    gps_abort(sprintf("`dataset` must be numeric, but %s is of class %s.", quoted(dataset),
                      kind))
  }
}

# Truth values are stored as an enumeration of FALSE and TRUE.
check_truth_values <- function(labels, dataset) {
  if (all(upper_case(labels) %in% c("FALSE", "TRUE", "NA"))) return(invisible())
  gps_abort(sprintf(paste(
    "`dataset` must be numeric or logical, but %s has categories (%s): write a column of 0 and 1",
    "for each of them."
  ), quoted(dataset), paste(quoted(utils::head(labels, 4)), collapse = ", ")))
}

# Numbers of what hdf5r read: truth values come as logical, or as categories that are called so.
plain_values <- function(values) {
  if (is.factor(values) || inherits(values, "factor_ext")) {
    values <- c(FALSE. = 0, TRUE. = 1)[paste0(upper_case(as.character(values)), ".")]
  }
  as.double(plain_numbers(values))
}

#' @export
is_kind_sound.gps_source_hdf5 <- function(source) {
  is_file_sound(source) && is.character(source$dataset) && length(source$dataset) == 1 &&
    is_one_of(source$points, c("rows", "columns"))
}

#' @export
describe_source.gps_source_hdf5 <- function(source) {
  sprintf("the dataset %s of the HDF5 file %s (points in %s)", source$dataset, source$path,
          source$points)
}

#' @export
with_reader.gps_source_hdf5 <- function(source, use) {
  require_package("hdf5r", "Reading an HDF5 file")
  check_unchanged(source)
  with_dataset(source$path, source$dataset, "data", function(set) {
    use(function(from, to) {
      is_rows <- source$points == "rows"
      read <- function() {
        if (is_rows) set[from:to, , drop = FALSE] else set[, from:to, drop = FALSE]
      }
      values <- tryCatch(read(), error = function(condition) {
        if (is_time_limit(condition)) stop(condition)
        abort_read(from, to, conditionMessage(condition), parent = condition)
      })
      values <- plain_values(values)
      if (is_rows) t(matrix(values, to - from + 1)) else matrix(values, n_read(source))
    })
  })
}
