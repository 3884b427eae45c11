# Sparse matrices of package Matrix: kept as they are, column by column of D x N, and densified a
# block at a time.

# A source from a sparse matrix with data points in rows. Entries that are NA are missing cells.
sparse_source <- function(y, arg, may_miss = FALSE) {
  require_package("Matrix", "A sparse matrix")
  if (any(dim(y) == 0)) abort_value(y, arg, "a matrix with at least one row and one column")
  # Matrix's own C code trusts the indices.
  if (!isTRUE(methods::validObject(y, test = TRUE))) {
    gps_abort(sprintf("`%s` is not a valid matrix of package Matrix.", arg))
  }
  columns <- Matrix::t(methods::as(methods::as(methods::as(y, "dMatrix"), "generalMatrix"),
                                   "CsparseMatrix"))
  bad <- which(!(is.finite(columns@x) | may_miss & is.na(columns@x)))
  if (length(bad) > 0) {
    gps_abort(sprintf("`%s` must have finite values, but row %d, column %d is %s.", arg,
                      findInterval(bad[1] - 1, columns@p), columns@i[bad[1]] + 1L,
                      plain_number(columns@x[bad[1]])))
  }
  new_source("sparse", nrow(y), ncol(y), colnames(y), row = columns@i, start = columns@p,
             value = columns@x)
}

#' @export
is_kind_sound.gps_source_sparse <- function(source) {
  is.integer(source$row) && is.double(source$value) && is.integer(source$start) &&
    length(source$start) == source$n + 1 && length(source$row) == length(source$value)
}

#' @export
is_content_sound.gps_source_sparse <- function(source) {
  !anyNA(source$row) && !anyNA(source$start) && all(source$row >= 0 & source$row < source$d) &&
    source$start[1] == 0 && all(diff(source$start) >= 0) &&
    source$start[source$n + 1] == length(source$row) && !any(is.infinite(source$value))
}

#' @export
describe_source.gps_source_sparse <- function(source) {
  sprintf("a sparse matrix (%.3g %% of its numbers are stored)",
          100 * length(source$row) / (as.double(source$n) * source$d))
}

#' @export
sparse_entries.gps_source_sparse <- function(source, from, to) {
  start <- source$start[from:(to + 1)]
  at <- start[1] + seq_len(start[length(start)] - start[1])
  list(start = start - start[1], row = source$row[at], value = source$value[at])
}

#' @export
stored_missing.gps_source_sparse <- function(source) {
  gaps <- which(is.na(source$value))
  if (length(gaps) == 0) return(NULL)
  list(start = findInterval(source$start - 0.5, gaps - 1), row = source$row[gaps])
}

#' @export
with_reader.gps_source_sparse <- function(source, use) {
  use(function(from, to) {
    entries <- sparse_entries(source, from, to)
    n <- to - from + 1
    values <- numeric(n * source$d)
    before <- rep(seq_len(n) - 1, diff(entries$start))
    values[before * source$d + entries$row + 1] <- entries$value
    dim(values) <- c(source$d, n)
    values
  })
}
