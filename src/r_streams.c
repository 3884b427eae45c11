/* Numbers of random streams that belong to the data points themselves, so that a point meets the
 * same numbers wherever it stands among others. */
#include <stdint.h>
#include <string.h>

#include "r_model.h"

/* Sign and mantissa alone: the same number in units that differ by a power of two. */
static uint64_t digits_of(double x) {
  uint64_t bits = 0;
  if (x == 0) return 0;
  memcpy(&bits, &x, sizeof bits);
  return bits & 0x800FFFFFFFFFFFFFu;
}

static uint32_t stream_of(const double *y, size_t n_dims) {
  uint64_t hash = n_dims;
  for (size_t d = 0; d < n_dims; d++) {
    hash = (hash ^ digits_of(y[d])) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return (uint32_t)hash;
}

/* y [D x N], block -> integers [n], any of 2^32 but NA. */
SEXP r_streams(SEXP y, SEXP block_list) {
  const int n_dims = n_rows_of(y, "y");
  const r_block block = read_block(y, block_list, n_dims);
  const SEXP result = PROTECT(Rf_allocVector(INTSXP, block.n_points));
  for (int n = 0; n < block.n_points; n++) {
    const uint32_t stream = stream_of(block.y + (size_t)n * (size_t)n_dims, (size_t)n_dims);
    INTEGER(result)[n] = (int)(stream == 0x80000000u ? 0u : stream);
  }
  UNPROTECT(1);
  return result;
}
