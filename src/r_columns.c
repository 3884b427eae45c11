/* Columns of matrices that lie together, copied as a whole: R would go from number to number. */
#include <stdint.h>
#include <string.h>

#include "r_shell.h"

static size_t size_of(SEXP matrix) {
  return TYPEOF(matrix) == REALSXP ? sizeof(double) : sizeof(int);
}

static char *bytes_of(SEXP matrix) {
  return TYPEOF(matrix) == REALSXP ? (char *)REAL(matrix) : (char *)INTEGER(matrix);
}

static void need_numbers(SEXP matrix) {
  if (TYPEOF(matrix) != REALSXP && TYPEOF(matrix) != INTSXP)
    raise_error("model", "Columns must be numbers, not of type %s.",
                Rf_type2char((SEXPTYPE)TYPEOF(matrix)));
}

/* The n columns from `first` (0-based) on of a matrix of doubles or ints. */
SEXP r_columns(SEXP matrix, SEXP first, SEXP n) {
  need_numbers(matrix);
  const int n_rows = n_rows_of(matrix, "matrix"), n_cols = n_cols_of(matrix, "matrix");
  const size_t from = view_row(first, "first");
  const int wanted = view_count(n, 0, "n");
  if (from > (size_t)n_cols || (size_t)wanted > (size_t)n_cols - from)
    raise_error("model", "No %d columns of %d from %.0f on.", wanted, n_cols, (double)from + 1);
  const SEXP result = PROTECT(Rf_allocMatrix((SEXPTYPE)TYPEOF(matrix), n_rows, wanted));
  const size_t column = size_of(matrix) * (size_t)n_rows;
  memcpy(bytes_of(result), bytes_of(matrix) + column * from, column * (size_t)wanted);
  UNPROTECT(1);
  return result;
}

/* Matrices of one type and one number of rows side by side. */
SEXP r_join_columns(SEXP parts) {
  view_list(parts, -1, "parts");
  const R_xlen_t n_parts = Rf_xlength(parts);
  if (n_parts == 0) raise_error("model", "No columns to join.");
  const SEXP first = VECTOR_ELT(parts, 0);
  need_numbers(first);
  const int n_rows = n_rows_of(first, "parts");
  double n_cols = 0;
  for (R_xlen_t p = 0; p < n_parts; p++) {
    const SEXP part = VECTOR_ELT(parts, p);
    if (TYPEOF(part) != TYPEOF(first) || n_rows_of(part, "parts") != n_rows)
      raise_error("model", "Part %.0f of columns is not like the first one.", (double)p + 1);
    n_cols += n_cols_of(part, "parts");
  }
  if (n_cols > INT32_MAX) raise_error("model", "%.0f columns are too many.", n_cols);
  const SEXP result = PROTECT(Rf_allocMatrix((SEXPTYPE)TYPEOF(first), n_rows, (int)n_cols));
  const size_t column = size_of(first) * (size_t)n_rows;
  char *to = bytes_of(result);
  for (R_xlen_t p = 0; p < n_parts; p++) {
    const SEXP part = VECTOR_ELT(parts, p);
    const size_t bytes = column * (size_t)n_cols_of(part, "parts");
    memcpy(to, bytes_of(part), bytes);
    to += bytes;
  }
  UNPROTECT(1);
  return result;
}
