# Tables of text are looked through for rows with too many cells before they are read: scan() takes
# a row of twice as many cells as there are columns for two rows, and says nothing.

# Bytes that are looked at together.
bytes_at_once <- 2^21

# An error where a row has more cells than there are columns, or a byte is none of text. Rows with
# too few are found when they are read.
check_widths <- function(csv) {
  connection <- gzfile(csv$path, "rb")
  on.exit(close(connection))
  state <- list(n_quotes = 0, n_cells = 1)
  while (length(bytes <- readBin(connection, "raw", bytes_at_once)) > 0) {
    if (any(bytes == 0)) {
      gps_abort(sprintf("The file %s has zero bytes in it, as binary files have: it is no table.",
                        quoted(csv$path)), "data")
    }
    state <- count_cells(bytes, as.integer(charToRaw(csv$sep)), state)
    if (state$most > length(csv$names)) abort_lines(csv, "a row has too many cells")
  }
  if (state$n_quotes %% 2 == 1) abort_quote(csv)
}

# A quote that nothing closes makes text of all that follows. The first line with an odd number of
# quotes has it, unless a cell of several lines comes before.
abort_quote <- function(csv) {
  lines <- readLines(csv$path, warn = FALSE)
  others <- gsub("\"", "", lines, fixed = TRUE, useBytes = TRUE)
  quotes <- nchar(lines, "bytes") - nchar(others, "bytes")
  gps_abort(sprintf(paste(
    "The file %s has an odd number of quotes (\"), the first line with an odd number being %d: one",
    "is not closed. In a cell that is text write the cell in quotes and each quote in it twice, as",
    "in \"5\"\" pipe\"."
  ), quoted(csv$path), which(quotes %% 2 == 1)[1]), "data")
}

# The largest number of cells of a line in some bytes, and where the last line stands: how many
# quotes came before, and how many cells. Separators and ends of lines within quotes are text.
count_cells <- function(bytes, sep, state) {
  is_quote <- bytes == 34L
  is_cut <- bytes == sep
  is_end <- bytes == 10L | bytes == 13L
  if (state$n_quotes %% 2 == 1 || any(is_quote)) {
    is_out <- (state$n_quotes + cumsum(is_quote)) %% 2 == 0
    is_cut <- is_cut & is_out
    is_end <- is_end & is_out
  }
  # Cells up to each end of a line; two bytes may end it, and a line of one cell is no fault here.
  upto <- cumsum(is_cut)
  passed <- c(upto[is_end], upto[length(upto)])
  cells <- diff(c(0, passed)) + 1
  cells[1] <- cells[1] + state$n_cells - 1
  list(n_quotes = state$n_quotes + sum(is_quote), n_cells = cells[length(cells)],
       most = max(cells))
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
