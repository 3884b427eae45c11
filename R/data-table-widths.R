# Tables of text are looked through for rows with too many cells before they are read: scan() takes
# a row of twice as many cells as there are columns for two rows, and says nothing.

# Bytes that are looked at together.
bytes_at_once <- 2^21

# An error where a row has more cells than there are columns, or a byte is none of text. Rows with
# too few are found when they are read.
check_widths <- function(csv) {
  connection <- gzfile(csv$path, "rb")
  on.exit(close(connection))
  state <- list(n_quotes = 0, n_cells = 1, last = 10L, is_odd = FALSE)
  while (length(bytes <- readBin(connection, "raw", bytes_at_once)) > 0) {
    if (any(bytes == 0)) {
      gps_abort(sprintf("The file %s has zero bytes in it, as binary files have: it is no table.",
                        quoted(csv$path)), "data")
    }
    state <- count_cells(bytes, as.integer(charToRaw(csv$sep)), state)
    if (state$is_torn) abort_quote(csv, "a quote (\") within a cell that takes in the next line")
    if (state$most > length(csv$names)) abort_lines(csv, "a row has too many cells")
  }
  if (state$n_quotes %% 2 == 1) abort_quote(csv, "an odd number of quotes (\")")
}

# A quote that nothing closes makes text of all that follows. The first line with an odd number of
# quotes has it, unless a cell of several lines comes before.
abort_quote <- function(csv, what) {
  lines <- readLines(csv$path, warn = FALSE)
  others <- gsub("\"", "", lines, fixed = TRUE, useBytes = TRUE)
  quotes <- nchar(lines, "bytes") - nchar(others, "bytes")
  gps_abort(sprintf(paste(
    "The file %s has %s, the first line with an odd number of them being %d: one is not closed.",
    "In a cell that is text write the cell in quotes and each quote in it twice, as in",
    "\"5\"\" pipe\"."
  ), quoted(csv$path), what, which(quotes %% 2 == 1)[1]), "data")
}

# The largest number of cells of a line in some bytes, whether a quote within a cell takes in the
# end of a line, and where the last line stands: how many quotes came before, and how many cells.
# Separators and ends of lines within quotes are text.
count_cells <- function(bytes, sep, state) {
  is_quote <- bytes == 34L
  is_cut <- bytes == sep
  is_end <- bytes == 10L | bytes == 13L
  is_torn <- FALSE
  is_odd <- state$is_odd
  if (state$n_quotes %% 2 == 1 || any(is_quote)) {
    is_out <- (state$n_quotes + cumsum(is_quote)) %% 2 == 0
    # Quotes that open where a cell has begun, and not after one that they undo, are odd; a space or
    # the mark at the beginning of a file (its last byte) may come before.
    opened <- which(is_quote & !is_out)
    before <- c(state$last, as.integer(bytes))[opened]
    is_odd <- c(is_odd, !before %in% c(sep, 9L, 10L, 13L, 32L, 34L, 191L))
    is_torn <- any(is_odd[findInterval(which(is_end & !is_out), opened) + 1])
    is_odd <- is_odd[length(is_odd)]
    is_cut <- is_cut & is_out
    is_end <- is_end & is_out
  }
  # Cells up to each end of a line; two bytes may end it, and a line of one cell is no fault here.
  upto <- cumsum(is_cut)
  passed <- c(upto[is_end], upto[length(upto)])
  cells <- diff(c(0, passed)) + 1
  cells[1] <- cells[1] + state$n_cells - 1
  list(n_quotes = state$n_quotes + sum(is_quote), n_cells = cells[length(cells)],
       most = max(cells), last = as.integer(bytes[length(bytes)]), is_odd = is_odd,
       is_torn = is_torn)
}

# Which row has another number of cells, or else why the file cannot be read.
abort_lines <- function(csv, message) {
  counts <- suppressWarnings(utils::count.fields(csv$path, csv$sep, "\"", comment.char = "",
                                                 blank.lines.skip = FALSE))
  # A row of several lines is counted at its last one. An empty line is a row of one column only.
  line <- which(!is.na(counts) & (counts > 0 | length(csv$names) == 1))
  if (csv$header) line <- line[-1]
  odd <- which(counts[line] != length(csv$names) & counts[line] > 0)[1]
  gps_abort(if (is.na(odd)) {
    sprintf("The file %s cannot be read: %s.", quoted(csv$path), message)
  } else {
    sprintf("Row %d of %s (line %d) has %s, not %d.%s", odd, quoted(csv$path), line[odd],
            plural(counts[line[odd]], "column"), length(csv$names), width_hint(csv, line[odd]))
  }, "data")
}

# What is special about a line with another number of cells.
width_hint <- function(csv, at) {
  text <- trimws(readLines(csv$path, at, warn = FALSE)[at], "both", "[ \r]")
  if (is.na(text)) return("")
  if (grepl("^\"?#", text)) return(" Comments are not read: remove them.")
  if (endsWith(text, csv$sep)) return(" It ends with a separator.")
  ""
}
