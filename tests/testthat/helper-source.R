# Sources of all kinds with the same numbers.

# Data n x d in the kinds of source that read from memory and from files. A file lives as long as
# the frame that asked for it.
all_sources <- function(y, kinds = c("fun", "binary", "hdf5"), frame = parent.frame()) {
  sapply(kinds, function(kind) {
    switch(kind, fun = function_source(y), binary = binary_source(y, frame = frame),
           hdf5 = if (requireNamespace("hdf5r", quietly = TRUE)) hdf5_source(y, frame = frame))
  }, simplify = FALSE)
}

function_source <- function(y) {
  gps_source(nrow(y), ncol(y), function(from, to) y[from:to, , drop = FALSE], colnames(y))
}

# A source that counts how often it is read, and cannot be read more often than `most` times.
counted_source <- function(y) {
  counter <- new.env()
  counter$n_reads <- 0
  counter$most <- Inf
  counter$source <- gps_source(nrow(y), ncol(y), function(from, to) {
    counter$n_reads <- counter$n_reads + 1
    if (counter$n_reads > counter$most) stop("The disk is gone.")
    y[from:to, , drop = FALSE]
  })
  counter
}

# A file that is removed with the frame.
file_for <- function(frame, fileext) {
  path <- tempfile(fileext = fileext)
  do.call(on.exit, list(bquote(unlink(.(path))), add = TRUE), envir = frame)
  path
}

binary_source <- function(y, ..., path = file_for(frame, ".bin"), frame = parent.frame()) {
  writeBin(as.vector(t(y)), path, endian = "little")
  gps_source_binary(path, ncol(y), names = colnames(y), ...)
}

write_hdf5 <- function(path, ...) {
  file <- hdf5r::H5File$new(path, "w")
  on.exit(file$close())
  sets <- list(...)
  # close_all() would collect garbage each time.
  for (name in names(sets)) file$create_dataset(name, sets[[name]])$close()
  path
}

hdf5_source <- function(y, frame = parent.frame()) {
  path <- file_for(frame, ".h5")
  gps_source_hdf5(write_hdf5(path, y = unname(y)), "y", names = colnames(y))
}

# Evaluates `code` with blocks of 512 points.
with_small_blocks <- function(code) {
  local_value("block_doubles", 1)
  code
}

# All that a fit holds but its data, its call and the seconds it took.
without_data <- function(fit) {
  fit$trace$seconds <- NULL
  fit["call"] <- NULL
  fit["y"] <- list(NULL)
  # A matrix of bars says that it has pictures, its source does not.
  fit["pixels"] <- NULL
  # Where the data lie is looked up in a matrix, and kept of a source.
  fit["known"] <- NULL
  fit
}
