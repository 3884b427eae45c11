# Tables in files of text (CSV) and of Parquet. Neither can be read from the middle at a low cost,
# so that each is unpacked once into a binary file, which is then the source.

#' Data in a table file
#'
#' Sources from files of text with separated columns (CSV) and from Parquet files. The numbers are
#' unpacked once into a binary file, a block of rows at a time, so that a fit reads each block at
#' the speed of the disk in every iteration; the table is not read again.
#'
#' Rows are data points. Without `columns` all columns are taken, and each must be numeric: a column
#' of text is refused by name. A first column whose name is empty, as [write.csv()] writes it, or
#' missing, as [write.table()] does, holds row names and is left out. Truth values are read as 0 and
#' 1 from Parquet files. Numbers have the very bits that [read.csv()] gives.
#'
#' Rows of a source have no names. A column of names is left out, as by `columns = -1`, and given to
#' the fit: `gps_fit(source, model, labels = read.csv(path)$id)`; results have them then.
#'
#' The binary file is a temporary one unless `binary` says where it stays. A fit that is saved holds
#' the path, not the numbers: in a later session it predicts, but what needs its own data says that
#' they are gone. `fit$y <- gps_source_csv(path, columns)` gives it the same data again.
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
#'   1 and the number of columns; or negative numbers: all columns but these.
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
#'   row and column, rows counted from 1 below the header. Every row must have as many cells as
#'   there are columns; comments are not read.
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
#' @order 1
#' @export
gps_source_csv <- function(path, columns = NULL, header = TRUE, sep = ",", dec = ".",
                           na = c("", "NA"), binary = NULL, ...) {
  refuse_unknown(further(...), names(formals(gps_source_csv)))
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
  check_widths(csv)
  check_first_rows(csv)
  unpack_table(state$path, binary, if (header) names$all[picked], picked, na = na,
               produce = function(emit) {
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
  kind <- tell_signature(read_bytes(path, 0, 512), 0)
  if (!is.null(kind)) gps_abort(sprintf(kind, quoted(path)), "data")
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
  if (header) refuse_encoded(first, path)
  tell_separator(printable(first), sep, path)
  if (!header) return(list(all = paste0("V", seq_along(first)), given = seq_along(first)))
  # A header that is one word short, as write.table() writes it, names all but the row names.
  if (length(lines[[2]]) == length(first) + 1) {
    refuse_unlike(first, lines[[2]], sep, path)
    first <- c("", first)
  }
  if (!anyNA(suppressWarnings(as.numeric(first[nzchar(first)])))) {
    gps_warn(sprintf("The first line of %s has numbers, which are taken for names: %s?",
                     quoted(path), "`header` = FALSE"))
  }
  list(all = first, given = if (nzchar(first[1])) seq_along(first) else seq_along(first)[-1])
}

# Names in an encoding of one byte a letter, as some spreadsheets write them.
refuse_encoded <- function(names, path) {
  if (all(is_text(names))) return(invisible())
  gps_abort(sprintf(paste(
    "The first line of %s is not text in ASCII or UTF-8: convert the file, such as by",
    "writeLines(iconv(readLines(path), \"latin1\", \"UTF-8\"), \"new.csv\")."
  ), quoted(path)), "data")
}

# A header that is a word short for another reason than that rows have names.
refuse_unlike <- function(header, row, sep, path) {
  if (grepl("^#", header[1])) {
    gps_abort(sprintf(paste(
      "The first line of %s is a comment, %s. Comments are not read: remove it, as by",
      "writeLines(readLines(path)[-1], \"new.csv\")."
    ), quoted(path), quoted(header[1])), "data")
  }
  if (!nzchar(row[length(row)])) {
    gps_abort(sprintf(paste(
      "The rows of %s end with %s, which its header does not: is the first cell a row name, or the",
      "last one empty? Write the header with as many cells as rows have."
    ), quoted(path), encodeString(sep, quote = "\"")), "data")
  }
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
    last <- length(names)
    if (!nzchar(names[last])) {
      gps_abort(sprintf(paste("The last column, %d, has no name: do lines end with a separator?",
                              "Say which columns to read: `columns = 1:%d`."), last, last - 1),
                "data")
    }
    return(given)
  }
  allowed <- sprintf(paste("NULL, or distinct names or numbers of the %s to read, or negative ones",
                           "to leave out"), plural(length(names), "column"))
  if (!is.numeric(columns) && !is.character(columns)) abort_value(columns, "columns", allowed)
  left_out <- is.numeric(columns) && length(columns) > 0 && all(columns %in% -seq_along(names))
  if (left_out && length(setdiff(given, -columns)) > 0) return(setdiff(given, -columns))
  if (length(columns) == 0 || !is.null(dim(columns)) || anyDuplicated(columns) > 0 ||
        anyNA(columns) || is.numeric(columns) && !all(columns %in% seq_along(names))) {
    beyond <- if (is.numeric(columns)) setdiff(abs(columns), seq_along(names))
    if (length(beyond) > 0) {
      gps_abort(sprintf("`columns` must be %s: there is no column %s.", allowed,
                        given_number(beyond[1])))
    }
    abort_value(columns, "columns", allowed)
  }
  if (is.numeric(columns)) return(as.integer(columns))
  place <- match(columns, names)
  twice <- columns[columns %in% names[duplicated(names)]]
  if (length(twice) > 0) {
    gps_abort(sprintf("`columns`: the file has several columns %s: give their numbers, %s.",
                      quoted(twice[1]), listed(which(names == twice[1]), "column")))
  }
  if (anyNA(place)) {
    name <- columns[is.na(place)][1]
    gps_abort(sprintf("`columns`: the file has no column %s.%s", quoted(name),
                      advise_column(name, names)))
  }
  place
}

# Columns of words are found before the whole file is read.
check_first_rows <- function(csv) {
  cells <- with_csv(csv, function(connection) read_cells(connection, csv, 100))
  if (length(cells[[1]]) == 0) {
    gps_abort(sprintf("The file %s has no rows below its header.", quoted(csv$path)), "data")
  }
  for (k in csv$picked) cell_numbers(cells, k, csv, 0)
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
cell_numbers <- function(cells, k, csv, before) {
  words <- printable(cells[[k]])
  # With decimals after a comma a point stands between thousands, or `dec` is wrong: a letter takes
  # its place, with which no word is a number.
  plain <- if (csv$dec == ",") chartr(",.", ".?", words) else words
  numbers <- suppressWarnings(as.numeric(plain))
  at <- which(is.na(numbers) & !is.nan(numbers) & !is.na(words))
  if (length(at) == 0) return(numbers)
  gps_abort(sprintf("Column %d (%s) of %s must be numeric, but row %.0f has %s.%s", k,
                    quoted(csv$names[k]), quoted(csv$path), before + at[1],
                    quoted(words[at[1]]), word_hint(k, words[at[1]], numbers, words, csv)), "data")
}

# What to do about a word that stands where a number should.
word_hint <- function(k, word, numbers, words, csv) {
  if (grepl("^[-+]?[0-9]+,[0-9]+$", word)) {
    return(" If the comma stands before decimals: `dec = \",\"`, with `sep = \";\"`.")
  }
  if (csv$dec == "," && grepl("^[-+]?[0-9.]+(,[0-9]+)?$", word)) {
    return(" If the point stands before decimals: `dec = \".\"`; between thousands: remove it.")
  }
  if (upper_case(word) %in% c("TRUE", "FALSE", "T", "F")) return(" Write truth values as 0 and 1.")
  if (length(csv$names) == 1 && grepl("[0-9] +[0-9]", word)) return(" `sep` = \" \"?")
  # Names of rows, and what else is no number anywhere.
  has_numbers <- any(!is.na(numbers))
  if (!has_numbers && !grepl("^[-+.]?[0-9]", word) && length(csv$names) > 1) {
    return(sprintf(" Leave the column out: `columns = -%d`.", k))
  }
  if (grepl("[0-9]", word)) return(" Numbers are such as 1234.5 or 1.2e3, with nothing beside.")
  # Among numbers one word may say that there is none.
  if (sum(!is.na(numbers)) >= 0.5 * sum(!is.na(words))) {
    return(sprintf(" If that means a missing cell: `na = c(%s)`.",
                   paste(unique(encodeString(c(csv$na, word), quote = "\"")), collapse = ", ")))
  }
  " Name those to read: `columns`."
}

# Whether all rows could be read with numbers as they stand; what was emitted before the fault has
# to be taken back.
read_plain <- function(csv, emit) {
  what <- rep(list(""), length(csv$names))
  what[csv$picked] <- list(0)
  on_fault <- function(condition) if (is_time_limit(condition)) stop(condition)
  with_csv(csv, function(connection) {
    repeat {
      rows <- tryCatch(scan_csv(connection, csv, what, rows_at_once(csv)), error = on_fault,
                       warning = on_fault)
      if (is.null(rows)) return(FALSE)
      if (length(rows[[1]]) == 0) return(TRUE)
      emit(matrix(unlist(rows[csv$picked]), length(csv$picked), byrow = TRUE))
    }
  })
}

# As many as fit into a block, and as the file has bytes: scan() makes room for all it may read.
rows_at_once <- function(csv) {
  max(1, min(block_doubles %/% length(csv$names), file.size(csv$path)))
}

read_quoted <- function(csv, emit) {
  with_csv(csv, function(connection) {
    before <- 0
    repeat {
      cells <- read_cells(connection, csv, rows_at_once(csv))
      n <- length(cells[[1]])
      if (n == 0) return(invisible())
      values <- vapply(csv$picked, function(k) cell_numbers(cells, k, csv, before), numeric(n),
                       USE.NAMES = FALSE)
      emit(t(matrix(values, n)))
      before <- before + n
    }
  })
}

# A source from the table `path`, of which `produce(emit)` emits the numbers in pieces D x points;
# `na` is what stands in missing cells, where the reader is told.
unpack_table <- function(path, binary, names, picked, produce, na = NULL) {
  is_temporary <- is.null(binary)
  if (is_temporary) binary <- tempfile("gpselect-", fileext = ".bin")
  binary <- check_new_file(binary, "binary")
  write_points(binary, function(emit) {
    before <- 0
    produce(function(values) {
      if (is.null(values)) {
        before <<- 0
      } else {
        refuse_infinite(values, path, names, picked, before, na)
        before <<- before + ncol(values)
      }
      emit(values)
    })
  })
  source <- gps_source_binary(binary, length(picked), names = names)
  source$table <- path
  source$is_temporary <- is_temporary
  source
}

# Numbers D x points, before which `before` rows came, that no data can have.
refuse_infinite <- function(values, path, names, picked, before, na = NULL) {
  bad <- which(is.infinite(values))[1]
  if (is.na(bad)) return(invisible())
  k <- (bad - 1L) %% nrow(values) + 1L
  given <- plain_number(values[bad])
  hint <- if (!is.null(na)) {
    sprintf(" If that means a missing cell: `na = c(%s)`, or as it is written.",
            paste(unique(encodeString(c("", na, given), quote = "\"")), collapse = ", "))
  }
  gps_abort(sprintf("Column %d%s of %s must be finite, but row %.0f has %s.%s", picked[k],
                    if (is.null(names)) "" else sprintf(" (%s)", quoted(names[k])),
                    quoted(path), before + (bad - 1) %/% nrow(values) + 1, given,
                    paste(hint, collapse = "")), "data")
}
