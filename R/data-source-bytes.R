# Whether a file holds the numbers that its source says: a sample of its bytes tells.

# What readBin() needs for each type.
binary_types <- list(
  double = list(what = "double", size = 8L, signed = TRUE),
  float = list(what = "double", size = 4L, signed = TRUE),
  int8 = list(what = "integer", size = 1L, signed = TRUE),
  uint8 = list(what = "integer", size = 1L, signed = FALSE),
  int16 = list(what = "integer", size = 2L, signed = TRUE),
  uint16 = list(what = "integer", size = 2L, signed = FALSE),
  int32 = list(what = "integer", size = 4L, signed = TRUE)
)

sample_bytes <- 16384L

# A warning for a file whose bytes look like something else.
tell_bytes <- function(path, type, endian, offset) {
  bytes <- read_bytes(path, 0, 512)
  kind <- tell_signature(bytes, offset)
  if (is.null(kind)) {
    bytes <- read_bytes(path, offset, sample_bytes)
    kind <- tell_numbers(bytes, type, endian)
  }
  if (!is.null(kind)) gps_warn(sprintf(kind, quoted(path)), class = "bytes")
}

read_bytes <- function(path, offset, n) {
  connection <- file(path, "rb")
  on.exit(close(connection))
  seek(connection, offset)
  readBin(connection, "raw", n)
}

# The first bytes of files of other kinds, and what to do with such a file.
file_signatures <- list(
  list(c(0x89, 0x48, 0x44, 0x46), "is one of HDF5: gps_source_hdf5()."),
  list(c(0x50, 0x41, 0x52, 0x31), "is one of Parquet: gps_source_parquet()."),
  list(c(0x1f, 0x8b, 0x08), "is compressed by gzip: unpack it first."),
  list(c(0x50, 0x4b, 0x03, 0x04), "is a ZIP archive: unpack it first."),
  list(c(0x89, 0x50, 0x4e, 0x47), "is a picture: png::readPNG()."),
  list(c(0xff, 0xd8, 0xff), "is a picture: jpeg::readJPEG().")
)

# Words for a file that begins as another kind does, or NULL. A file of NumPy is its numbers behind
# a header that says how long it is.
tell_signature <- function(bytes, offset) {
  begins <- function(with) length(bytes) > 12 && all(bytes[seq_along(with)] == as.raw(with))
  if (begins(c(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59))) {
    header <- sum(as.integer(bytes[9:10]) * c(1, 256)) + 10
    if (offset >= header || bytes[7] != as.raw(1)) return(NULL)
    return(sprintf(paste("The file %%s is one of NumPy, whose numbers come after a header:",
                         "`offset` = %d."), as.integer(header)))
  }
  if (offset > 0) return(NULL)
  for (signature in file_signatures) {
    if (begins(signature[[1]])) return(paste("The file %s", signature[[2]]))
  }
}

# What reads a file of another kind than that of `reader`, which cannot read it, in a sentence, or
# "".
advise_kind <- function(path, reader = NULL) {
  bytes <- tryCatch(read_bytes(path, 0, 512), error = function(condition) raw())
  kind <- tell_signature(bytes, 0)
  is_own <- !is.null(reader) && any(grepl(reader, kind, fixed = TRUE))
  if (is_own) return(" It begins as one, and may be cut or damaged.")
  if (!is.null(kind)) return(paste("", sprintf(kind, "itself")))
  code <- as.integer(bytes)
  is_text <- length(code) > 0 && all(code >= 32 & code != 127 | code %in% c(9, 10, 13))
  if (is_text) " It looks like text: gps_source_csv()?" else ""
}

# Words for bytes that are hardly numbers of this type, or NULL.
tell_numbers <- function(bytes, type, endian) {
  bytes <- bytes[seq_len(8 * (length(bytes) %/% 8))]
  if (length(bytes) < 80) return(NULL)
  if (is_text_bytes(bytes)) return("The file %s looks like text: gps_source_csv()?")
  n <- length(bytes) %/% 8
  doubles <- readBin(bytes, "double", n, endian = endian)
  floats <- readBin(bytes, "double", 2 * n, 4, endian = endian)
  # The halves of doubles: first those with their last digits.
  halves <- matrix(floats, 2)
  if (endian == "big") halves <- halves[2:1, , drop = FALSE]
  if (type == "float" && are_doubles(halves, doubles)) {
    return(paste("The numbers of %s look like doubles that are read as two floats each: `type` =",
                 "\"double\"?"))
  }
  if (type == "double" && are_floats(halves)) {
    return(paste("The numbers of %s look like floats of which two are read as one double: `type` =",
                 "\"float\"?"))
  }
  if (type %in% c("double", "float")) {
    if (!are_wild(if (type == "double") doubles else floats, type)) return(NULL)
    return(paste("The numbers of %s differ in size as no data do: are `type`, `endian` and",
                 "`offset` right?"))
  }
  # Bytes of other numbers, taken for whole ones, are of all sizes.
  about <- binary_types[[type]]
  whole <- as.double(readBin(bytes, "integer", 8 * n, about$size, about$signed, endian))
  if (diff(range(whole, na.rm = TRUE)) < 2^(8 * about$size - 2)) return(NULL)
  if (are_floats(halves)) return("The numbers of %s look like floats: `type` = \"float\"?")
  if (are_tame(doubles)) return("The numbers of %s look like doubles: `type` = \"double\"?")
}

# Digits, points, letters, separators and ends of lines.
is_text_bytes <- function(bytes) {
  code <- as.integer(bytes)
  all(code >= 32 & code < 127 | code %in% c(9, 10, 13)) && mean(code >= 48 & code < 58) > 0.2
}

# The halves of doubles that hold their last digits are floats of any size, or all 0 where the
# numbers are whole, while the others are not; a few others may be so by chance, unless all numbers
# are whole ones. Numbers of different columns differ in size by less.
are_doubles <- function(halves, doubles) {
  # Decimals repeat a pattern, which as a float is tiny or huge by the last digit.
  decades <- vapply(1:2, function(half) {
    size <- abs(halves[half, is.finite(halves[half, ]) & halves[half, ] != 0])
    if (length(size) > 5) diff(log10(range(size))) else 0
  }, 1)
  is_wild <- decades[1] > 12 && decades[2] < 6
  # NaN may be missing cells, of which a column can have many, and says nothing.
  is_odd <- !is.na(halves) & halves != 0 & (abs(halves) > 1e25 | abs(halves) < 1e-25)
  last <- mean(is_odd[1, ])
  n_others <- sum(halves[2, ] != 0, na.rm = TRUE)
  least <- if (all(doubles == round(doubles)) %in% TRUE) 3 else 10
  is_whole <- all(halves[1, ] %in% 0) && n_others >= min(least, ncol(halves) / 2)
  !any(is_odd[2, ]) && (last > 0.2 || is_whole || is_wild)
}

# Both halves of such a pair are numbers of common sizes: the last digits of doubles would be of any
# size, and those of decimals few patterns.
are_floats <- function(halves) {
  last <- halves[1, ]
  if (!are_tame(halves[2, ]) || !are_tame(last)) return(FALSE)
  last <- last[!is.na(last)]
  length(unique(last)) >= 10 || all(last == round(last) & abs(last) < 1e6)
}

# Nearly all of the numbers that are there and not 0 are of sizes that data have.
are_tame <- function(x) {
  size <- abs(x[!is.na(x) & x != 0])
  length(size) >= 10 && length(size) >= 0.05 * length(x) &&
    mean(size > 1e-15 & size < 1e15) >= 0.98
}

# Numbers of very different sizes, or many that are smaller than any with all digits.
are_wild <- function(x, type) {
  size <- abs(x[is.finite(x) & x != 0])
  if (length(size) < 10) return(any(is.infinite(x)))
  least <- c(double = 2^-1022, float = 2^-126)[[type]]
  decades <- c(double = 60, float = 30)[[type]]
  spread <- diff(stats::quantile(log10(size), c(0.05, 0.95), names = FALSE))
  mean(size < least) > 0.05 || spread > decades
}
