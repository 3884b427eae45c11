# Text that users give and that messages show: not all of it is valid in the session's encoding, and
# R's own functions stop at what is not.

# Which strings can be shown, compared and counted.
is_text <- function(x) !is.na(x) & Encoding(x) != "bytes" & validEnc(x)

# The same strings, with escapes for what cannot be shown.
printable <- function(x) {
  is_bad <- !is.na(x) & !is_text(x)
  x[is_bad] <- encodeString(x[is_bad])
  x
}

quoted <- function(x) dQuote(printable(as.character(x)), FALSE)

# "`a`, `b` and `c`", in full however many there are.
list_arguments <- function(names) {
  shown <- sprintf("`%s`", names)
  n <- length(shown)
  if (n < 2) return(shown)
  paste(paste(shown[-n], collapse = ", "), "and", shown[n])
}

# Names of rows or columns of data: text, or missing.
check_names <- function(names, what, arg) {
  if (is.null(names)) return(NULL)
  bad <- which(!is.na(names) & !is_text(names))
  if (length(bad) > 0) {
    gps_abort(sprintf(paste("The name of %s %d of `%s` is not valid text (%s): read the data with",
                            "their encoding, or rename with iconv()."), what, bad[1], arg,
                      quoted(names[bad[1]])))
  }
  names
}
