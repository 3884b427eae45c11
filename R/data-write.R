# Numbers into binary files, a block at a time.

#' Write data into a binary file
#'
#' Writes data points one after the other, as [gps_source_binary()] reads them. A file of doubles
#' gives a fit the very bits that the same numbers in memory give.
#'
#' A source is read and written block by block, so that a slow one (a function that computes, a
#' sparse matrix, HDF5) need not be read anew in every iteration. The file is written under another
#' name and renamed when it is whole.
#'
#' @param y numeric matrix or data frame n x d with data points in rows, sparse matrix of package
#'   Matrix, or [gps_source()]; finite values, or NA where cells are missing ([missing_cells]).
#' @param path name of the file. It is taken as it is, no suffix is added.
#' @param type of the numbers, see [gps_source_binary()]. "float" rounds to 24 bits; the types of
#'   whole numbers take values that are whole and in their range alone. A missing cell is NaN in
#'   "double" and "float" and the least number in "int32"; the other types cannot hold it.
#' @param endian order of the bytes in a number: "little" or "big".
#' @param overwrite TRUE: a file that is there is replaced.
#' @param ... nothing.
#' @return invisibly the [gps_source_binary()] of the file, with the names of the columns. The file
#'   does not hold the names.
#' @seealso [gps_source_binary()], [gps_source_csv()]
#' @examples
#' path <- tempfile(fileext = ".bin")
#' source <- gps_write_binary(iris[1:4], path)
#' source
#' source[1:3, ]
#' identical(source[, ], as.matrix(iris[1:4]))
#' @export
gps_write_binary <- function(y, path,
                             type = c("double", "float", "int8", "uint8", "int16", "uint16",
                                      "int32"),
                             endian = c("little", "big"), overwrite = FALSE, ...) {
  refuse_unknown(further(...), names(formals(gps_write_binary)))
  need_given()
  type <- check_choice(type, "type", names(binary_types))
  endian <- check_choice(endian, "endian", c("little", "big"))
  check_flag(overwrite, "overwrite")
  path <- check_new_file(path, "path", overwrite)
  data <- read_data(y, may_miss = TRUE)
  if (is_source(data$y)) data$y$may_miss <- TRUE
  write_points(path, function(emit) {
    for (block in split_blocks(n_points(data$y), n_dims(data$y))) {
      emit(rows_data(data$y, block_columns(block)))
    }
  }, type, endian)
  invisible(gps_source_binary(path, n_dims(data$y), type, endian, names = data$col_names))
}

# The name of a file that may be written, in a folder that is there.
check_new_file <- function(path, arg, overwrite = FALSE) {
  if (!is.character(path) || length(path) != 1 || !is_text(path) || !nzchar(path)) {
    gps_abort(sprintf("`%s` must be the name of a file, not %s.%s", arg, describe_value(path),
                      if (length(dim(path)) < 2) "" else
                        " The data come first: gps_write_binary(y, path)."))
  }
  path <- path.expand(path)
  if (!dir.exists(dirname(path))) {
    gps_abort(sprintf("`%s`: there is no folder %s.", arg, quoted(dirname(path))))
  }
  if (dir.exists(path)) gps_abort(sprintf("`%s` is a folder: %s.", arg, quoted(path)))
  if (file.exists(path) && !overwrite) {
    gps_abort(sprintf(paste("`%s`: there is a file %s. Remove it, or give another name. One that",
                            "was made before is read by gps_source_binary()."), arg, quoted(path)))
  }
  path
}

# Writes the matrices D x points that `produce(emit)` emits one after the other; emit(NULL) takes
# back all that was emitted before.
write_points <- function(path, produce, type = "double", endian = "little") {
  partial <- tempfile(paste0(basename(path), "-"), dirname(path), ".part")
  connection <- open_new(partial, path)
  on.exit({
    close(connection)
    unlink(partial)
  })
  n <- 0
  bytes <- 0
  produce(function(values) {
    if (is.null(values)) {
      close(connection)
      connection <<- open_new(partial, path)
      n <<- 0
      bytes <<- 0
      return(invisible())
    }
    writeBin(stored_numbers(values, type, n), connection, binary_types[[type]]$size, endian)
    n <<- n + ncol(values)
    bytes <<- bytes + as.double(length(values)) * binary_types[[type]]$size
  })
  flush(connection)
  # Where the disk is full, R writes on without a word.
  if (!identical(file.size(partial), bytes) || !file.rename(partial, path)) {
    gps_abort(sprintf("The file %s cannot be written as a whole: is the disk full?",
                      quoted(path)), "data")
  }
}

open_new <- function(partial, path) {
  tryCatch(suppressWarnings(file(partial, "wb")), error = function(condition) {
    gps_abort(sprintf("The file %s cannot be written.", quoted(path)), "argument",
              parent = condition)
  })
}

# A block of numbers as writeBin() takes them for a type, if they are of that type.
stored_numbers <- function(values, type, before) {
  if (type == "double") return(as.vector(values))
  about <- binary_types[[type]]
  if (type == "float") {
    is_bad <- !is.na(values) & abs(values) > 3.4028234e38
    allowed <- "at most 3.4e38 in size"
  } else {
    bits <- 8 * about$size
    limits <- if (about$signed) c(-1, 1) * 2^(bits - 1) - c(0, 1) else c(0, 2^bits - 1)
    # R has no whole number below -(2^31 - 1).
    if (type == "int32") limits[1] <- limits[1] + 1
    is_bad <- values != round(values) | values < limits[1] | values > limits[2]
    # That number stands for a missing cell; the other types have none to spare.
    is_bad <- ifelse(is.na(values), type != "int32", is_bad)
    allowed <- sprintf("whole numbers between %.0f and %.0f", limits[1], limits[2])
  }
  bad <- which(is_bad)
  if (length(bad) > 0) {
    gps_abort(sprintf("`type` = %s takes %s, but row %.0f, column %d of `y` is %s.", quoted(type),
                      allowed, before + (bad[1] - 1) %/% nrow(values) + 1,
                      (bad[1] - 1L) %% nrow(values) + 1L, given_number(values[bad[1]])))
  }
  if (type == "float") as.vector(values) else as.integer(values)
}
