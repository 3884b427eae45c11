# Tables in files of text (CSV) and of Parquet. Neither can be read from the middle at a low cost,
# so that each is unpacked once into a binary file, which is then the source.

#' Data in a table file
#'
#' Sources from files of text with separated columns (CSV) and from Parquet files. The numbers are
#' unpacked once into a binary file, a block of rows at a time, so that a fit reads each block at
#' the speed of the disk in every iteration; the table is not read again.
#'
#' Rows are data points. Without `columns` all columns are taken, and each must be numeric: a column
#' of text is refused by name. A first column whose name is empty holds row names, as
#' [write.csv()] writes them, and is left out. Truth values are read as 0 and 1 from Parquet files.
#' Numbers have the very bits that [read.csv()] gives.
#'
#' Cells that hold one of `na`, or nothing, are missing. A source with missing cells is made all
#' the same; what may be done with it, see [missing_cells]. Infinite values are refused. Empty lines
#' are left out, but in a file of one column each is a row whose cell is missing.
#'
#' Text may be compressed by gzip, bzip2 or xz, and must be in ASCII or UTF-8. Parquet files are
#' read by the package nanoparquet, which reads a column as a whole: memory is needed for one
#' column, and for 2^25 numbers (256 MB).
#'
#' @param path the file.
#' @param columns NULL, or the columns to read in the order wanted: names, or whole numbers between
#'   1 and the number of columns.
#' @param header TRUE: the first line has the names of the columns.
#' @param sep the character between columns: `","`, `";"`, `"\t"` and so on.
#' @param dec the character before decimals: `"."` or `","`.
#' @param na character vector: what stands in a cell that is missing. Letters count as they are.
#' @param binary NULL: the binary file is a temporary one, removed at the end of the session. Or the
#'   name of a file that does not exist yet, which stays: `gps_source_binary(binary, d)` reads it
#'   in later sessions. It takes 8 bytes a number.
#' @param ... nothing.
#' @return a `gps_source` as of [gps_source_binary()], with the names of the columns; `dim()` counts
#'   rows and columns. What is wrong in the file is an error of class `gps_error_data` that names
#'   row and column, rows counted from 1 below the header.
#' @seealso [gps_source()], [gps_write_binary()]
#' @concept big data
#' @concept out of memory
#' @examples
#' path <- tempfile(fileext = ".csv")
#' write.csv(iris, path, row.names = FALSE)
#' source <- gps_source_csv(path, columns = 1:4)
#' source
#' head(source)
#' fit <- gps_fit(source, model_gaussian_mixture(3), selector_full(),
#'                control = gps_control(max_iter = 20, n_starts = 2))
#' fit
#' @export
gps_source_csv <- function(path, columns = NULL, header = TRUE, sep = ",", dec = ".",
                           na = c("", "NA"), binary = NULL, ...) {
  refuse_unknown(list(...), names(formals(gps_source_csv)))
  need_given()
  state <- file_state(path)
  check_flag(header, "header")
  check_letter(sep, "sep")
  check_choice(dec, "dec", c(".", ","))
  if (sep == dec) gps_abort("`sep` and `dec` must differ: give `sep = \";\"` or `dec = \".\"`.")
  if (!is.character(na) || anyNA(na)) abort_value(na, "na", "a character vector without NA")
  check_encoding(state$path)
  names <- csv_names(state$path, sep, header)
  picked <- table_columns(columns, names$all, names$given)
  csv <- list(path = state$path, header = header, sep = sep, dec = dec, na = c("", na),
              names = names$all, picked = picked)
  check_first_rows(csv)
  unpack_table(state$path, binary, if (header) names$all[picked], picked, function(emit) {
    # Quotes about numbers, spaces in cells and words are rare: a second pass understands them, and
    # says where it does not.
    if (!read_plain(csv, emit)) {
      emit(NULL)
      read_quoted(csv, emit)
    }
  })
}

check_letter <- function(x, arg) {
  if (!is.character(x) || length(x) != 1 || !is_text(x) || nchar(x, "bytes") != 1 ||
        x %in% c("\"", "\n", "\r")) {
    abort_value(x, arg, "one character, such as \",\", \";\" or \"\\t\"")
  }
}

# Only what has one byte for each letter of ASCII can be cut at commas.
check_encoding <- function(path) {
  first <- readBin(path, "raw", 4)
  is_packed <- any(vapply(list(c(31, 139), c(66, 90, 104), c(253, 55, 122)), function(mark) {
    identical(first[seq_along(mark)], as.raw(mark))
  }, NA))
  if (is_packed) return(invisible())
  is_wide <- length(first) > 1 && (all(first[1:2] == as.raw(c(255, 254))) ||
                                     all(first[1:2] == as.raw(c(254, 255))))
  if (is_wide || any(first == 0)) {
    gps_abort(sprintf("The file %s is not text in ASCII or UTF-8%s.", quoted(path),
                      if (is_wide) ": it is UTF-16, convert it by iconv" else ""), "data")
  }
}

# An empty line is no row, but where there is one column it is a row with an empty cell.
scan_csv <- function(connection, csv, what, n) {
  scan(connection, what, n, sep = csv$sep, quote = "\"", dec = csv$dec, quiet = TRUE,
       na.strings = csv$na, multi.line = FALSE, strip.white = TRUE, encoding = "UTF-8",
       blank.lines.skip = length(csv$names) > 1)
}

# `use(connection)` with the file open at its first data row.
with_csv <- function(csv, use, at_data = csv$header) {
  connection <- file(csv$path, "rt")
  on.exit(close(connection))
  if (at_data) scan(connection, "", nlines = 1, sep = csv$sep, quote = "\"", quiet = TRUE)
  use(connection)
}

# list(all, given): a name for each column, and which of them are no row names.
csv_names <- function(path, sep, header) {
  lines <- with_csv(list(path = path), function(connection) {
    lapply(1:2, function(k) first_words(connection, sep))
  }, at_data = FALSE)
  first <- lines[[1]]
  if (length(first) == 0) gps_abort(sprintf("The file %s has no rows.", quoted(path)), "data")
  tell_separator(first, sep, path)
  if (!header) return(list(all = paste0("V", seq_along(first)), given = seq_along(first)))
  # A header that is one word short, as write.table() writes it, names all but the row names.
  if (length(lines[[2]]) == length(first) + 1) first <- c("", first)
  if (!anyNA(suppressWarnings(as.numeric(first[nzchar(first)])))) {
    gps_warn(sprintf("The first line of %s has numbers, which are taken for names: %s?",
                     quoted(path), "`header` = FALSE"))
  }
  list(all = first, given = if (nzchar(first[1])) seq_along(first) else seq_along(first)[-1])
}

# The words of the next line, without the mark that some programs put before the first.
first_words <- function(connection, sep) {
  words <- tryCatch(
    suppressWarnings(scan(connection, "", nlines = 1, sep = sep, quote = "\"", quiet = TRUE,
                          strip.white = TRUE, encoding = "UTF-8", na.strings = character())),
    error = function(condition) if (is_time_limit(condition)) stop(condition) else character()
  )
  sub("^\"?\ufeff", "", words)
}

# Words that were not cut, where another character would cut them.
tell_separator <- function(words, sep, path) {
  other <- setdiff(c(",", ";", "\t"), sep)
  if (length(words) > 1) return(invisible())
  is_cut <- vapply(other, grepl, NA, x = words, fixed = TRUE)
  if (any(is_cut)) {
    gps_abort(sprintf("The first line of %s has no %s: `sep` = %s?", quoted(path),
                      encodeString(sep, quote = "\""),
                      encodeString(other[is_cut][1], quote = "\"")), "data")
  }
}

# Numbers of the columns that are wanted, by name or number; those `given` where none are named.
table_columns <- function(columns, names, given = seq_along(names)) {
  columns <- plain_numbers(columns)
  if (is.null(columns)) {
    if (length(given) == 0) gps_abort("The file has no columns but row names.", "data")
    return(given)
  }
  allowed <- sprintf("NULL, or distinct names or numbers of the %s",
                     plural(length(names), "column"))
  if (length(columns) == 0 || !is.null(dim(columns)) || anyDuplicated(columns) > 0 ||
        !(is.character(columns) || is.numeric(columns) && all(columns %in% seq_along(names)))) {
    abort_value(columns, "columns", allowed)
  }
  if (is.numeric(columns)) return(as.integer(columns))
  place <- match(columns, names)
  if (anyNA(place)) {
    name <- columns[is.na(place)][1]
    near <- nearest_name(name, names)
    gps_abort(sprintf("`columns`: the file has no column %s.%s", quoted(name),
                      if (is.null(near)) "" else sprintf(" Did you mean %s?", quoted(near))))
  }
  place
}

# Columns of words are found before the whole file is read.
check_first_rows <- function(csv) {
  cells <- with_csv(csv, function(connection) read_cells(connection, csv, 100))
  if (length(cells[[1]]) == 0) {
    gps_abort(sprintf("The file %s has no rows below its header.", quoted(csv$path)), "data")
  }
  for (k in csv$picked) cell_numbers(cells, k, csv, 0, " Name those to read: `columns`.")
}

# The next `n` rows as words, a list with a vector for each column; missing cells are NA.
read_cells <- function(connection, csv, n) {
  on_fault <- function(condition) {
    if (is_time_limit(condition)) stop(condition)
    abort_lines(csv, conditionMessage(condition))
  }
  tryCatch(scan_csv(connection, csv, rep(list(""), length(csv$names)), n), error = on_fault,
           warning = on_fault)
}

# Column k of cells as numbers, `before` rows having been read before them.
cell_numbers <- function(cells, k, csv, before, hint = "") {
  words <- cells[[k]]
  numbers <- suppressWarnings(as.numeric(if (csv$dec == ",") chartr(",", ".", words) else words))
  at <- which(is.na(numbers) & !is.nan(numbers) & !is.na(words))
  if (length(at) == 0) return(numbers)
  gps_abort(sprintf("Column %d (%s) of %s must be numeric, but row %.0f has %s.%s", k,
                    quoted(csv$names[k]), quoted(csv$path), before + at[1],
                    quoted(words[at[1]]), hint), "data")
}

# Which row has another number of columns, or else why the file cannot be read.
abort_lines <- function(csv, message) {
  counts <- suppressWarnings(utils::count.fields(csv$path, csv$sep, "\"", comment.char = "",
                                                 blank.lines.skip = length(csv$names) > 1))
  # A row of several lines is counted at its last one.
  counts <- counts[!is.na(counts)]
  if (csv$header) counts <- counts[-1]
  odd <- which(counts != length(csv$names) & counts > 0)
  gps_abort(if (length(odd) == 0) {
    sprintf("The file %s cannot be read: %s.", quoted(csv$path), message)
  } else {
    sprintf("Row %d of %s has %s, not %d.", odd[1], quoted(csv$path),
            plural(counts[odd[1]], "column"), length(csv$names))
  }, "data")
}

# Whether all rows could be read with numbers as they stand; what was emitted before the fault has
# to be taken back.
read_plain <- function(csv, emit) {
  what <- rep(list(""), length(csv$names))
  what[csv$picked] <- list(0)
  on_fault <- function(condition) if (is_time_limit(condition)) stop(condition)
  with_csv(csv, function(connection) {
    repeat {
      rows <- tryCatch(scan_csv(connection, csv, what, rows_at_once(what)), error = on_fault,
                       warning = on_fault)
      if (is.null(rows)) return(FALSE)
      if (length(rows[[1]]) == 0) return(TRUE)
      emit(matrix(unlist(rows[csv$picked]), length(csv$picked), byrow = TRUE))
    }
  })
}

rows_at_once <- function(columns) max(1, block_doubles %/% length(columns))

read_quoted <- function(csv, emit) {
  with_csv(csv, function(connection) {
    before <- 0
    repeat {
      cells <- read_cells(connection, csv, rows_at_once(csv$names))
      n <- length(cells[[1]])
      if (n == 0) return(invisible())
      values <- vapply(csv$picked, function(k) cell_numbers(cells, k, csv, before), numeric(n),
                       USE.NAMES = FALSE)
      emit(t(matrix(values, n)))
      before <- before + n
    }
  })
}

# A source from the table `path`, of which `produce(emit)` emits the numbers in pieces D x points.
unpack_table <- function(path, binary, names, picked, produce) {
  if (is.null(binary)) binary <- tempfile("gpselect-", fileext = ".bin")
  binary <- check_new_file(binary, "binary")
  write_points(binary, function(emit) {
    before <- 0
    produce(function(values) {
      if (is.null(values)) {
        before <<- 0
      } else {
        refuse_infinite(values, path, names, picked, before)
        before <<- before + ncol(values)
      }
      emit(values)
    })
  })
  source <- gps_source_binary(binary, length(picked), names = names)
  source$table <- path
  source
}

# Numbers D x points, before which `before` rows came, that no data can have.
refuse_infinite <- function(values, path, names, picked, before) {
  bad <- which(is.infinite(values))[1]
  if (is.na(bad)) return(invisible())
  k <- (bad - 1L) %% nrow(values) + 1L
  gps_abort(sprintf("Column %d%s of %s must be finite, but row %.0f has %s.", picked[k],
                    if (is.null(names)) "" else sprintf(" (%s)", quoted(names[k])),
                    quoted(path), before + (bad - 1) %/% nrow(values) + 1, format(values[bad])),
            "data")
}

#' @rdname gps_source_csv
#' @examplesIf requireNamespace("nanoparquet", quietly = TRUE)
#' path <- tempfile(fileext = ".parquet")
#' nanoparquet::write_parquet(iris, path)
#' gps_source_parquet(path, columns = c("Petal.Length", "Petal.Width"))
#' @export
gps_source_parquet <- function(path, columns = NULL, binary = NULL, ...) {
  refuse_unknown(list(...), names(formals(gps_source_parquet)))
  need_given()
  require_package("nanoparquet", "gps_source_parquet()")
  state <- file_state(path)
  schema <- parquet_columns(state$path)
  picked <- table_columns(columns, schema$name)
  is_odd <- !schema$type[picked] %in% c("DOUBLE", "FLOAT", "INT32", "INT64", "BOOLEAN")
  if (any(is_odd)) abort_column(schema, picked[is_odd][1], schema$type[picked[is_odd][1]])
  n <- ask_parquet(state$path, nanoparquet::read_parquet_info)$num_rows
  if (n < 1) gps_abort(sprintf("The file %s has no rows.", quoted(path)), "data")
  unpack_table(state$path, binary, schema$name[picked], picked, function(emit) {
    read_stripes(state$path, schema, picked, n, emit)
  })
}

# What nanoparquet says of a file, with its errors in our class.
ask_parquet <- function(path, ask, ...) {
  tryCatch(ask(path, ...), error = function(condition) {
    if (is_time_limit(condition)) stop(condition)
    gps_abort(sprintf("The file %s cannot be read as Parquet: %s", quoted(path),
                      conditionMessage(condition)), "data", parent = condition)
  })
}

# Name and type of each column; a nested one is one row, that of its top.
parquet_columns <- function(path) {
  schema <- as.data.frame(ask_parquet(path, nanoparquet::read_parquet_schema))
  kept <- integer()
  at <- 2
  while (at <= nrow(schema)) {
    kept <- c(kept, at)
    # Children follow their parent.
    open <- schema$num_children[at]
    open <- if (is.na(open)) 0 else open
    while (open > 0) {
      at <- at + 1
      more <- schema$num_children[at]
      open <- open - 1 + if (is.na(more)) 0 else more
    }
    at <- at + 1
  }
  type <- schema$type[kept]
  is_deep <- !is.na(schema$num_children[kept]) | schema$repetition_type[kept] %in% "REPEATED"
  type[is_deep] <- "nested"
  data.frame(name = schema$name[kept], type = type)
}

abort_column <- function(schema, k, what) {
  gps_abort(sprintf(paste("Column %d (%s) of the Parquet file must be numeric or logical, not %s.",
                          "Name those to read: `columns`."), k, quoted(schema$name[k]), what),
            "data")
}

# Runs of rows that fit into memory, of which each column is read as a whole.
read_stripes <- function(path, schema, picked, n, emit) {
  longest <- max(1, most_whole %/% length(picked))
  for (first in seq(1, n, by = longest)) {
    rows <- first:min(n, first + longest - 1)
    stripe <- matrix(0, length(picked), length(rows))
    for (k in seq_along(picked)) {
      column <- plain_numbers(ask_parquet(path, nanoparquet::read_parquet,
                                          col_select = schema$name[picked[k]])[[1]])
      # Dates and times are stored as numbers.
      if (is.object(column) || !(is.numeric(column) || is.logical(column))) {
        abort_column(schema, picked[k], class(column)[1])
      }
      stripe[k, ] <- as.double(column[rows])
    }
    emit(stripe)
  }
}
