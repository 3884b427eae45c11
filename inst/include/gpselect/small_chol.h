/* Cholesky factors of matrices of a few rows, such as those of the latents that are on: plain C for
 * any thread, where BLAS may not be called. Matrices are column-major with leading dimension n;
 * only lower triangles are read and written. Used by gpselect and by models in other packages. */
#ifndef GPSELECT_SMALL_CHOL_H
#define GPSELECT_SMALL_CHOL_H

#include <math.h>
#include <stddef.h>

/* What stands before loops over independent elements. A file whose matrices have tens of rows
 * defines it as a pragma that makes them vectors; for fewer rows that costs more than it gains. The
 * results do not depend on it. */
#ifndef SMALL_CHOL_SIMD
#define SMALL_CHOL_SIMD
#endif

/* A -> L with A = L L'. Pivots below `least` are raised to it: for A = I + B with B positive
 * semidefinite they are at least 1, whatever rounding says. Value: 0, or 1 where a pivot is not
 * positive (A is spoilt). */
static inline int small_cholesky(size_t n, double *a, double least) {
  for (size_t j = 0; j < n; j++) {
    double *column = a + j * n;
    const double pivot = column[j] < least ? least : column[j];
    if (!(pivot > 0)) return 1;
    column[j] = sqrt(pivot);
    const double scale = 1 / column[j];
    SMALL_CHOL_SIMD
    for (size_t i = j + 1; i < n; i++) column[i] *= scale;
    for (size_t k = j + 1; k < n; k++) {
      const double factor = column[k];
      double *later = a + k * n;
      SMALL_CHOL_SIMD
      for (size_t i = k; i < n; i++) later[i] -= factor * column[i];
    }
  }
  return 0;
}

/* log |L L'|; products of pivots need fewer logarithms, as long as they are far from the ends of
 * the range. */
static inline double small_log_det(size_t n, const double *l) {
  double product = 1, sum = 0;
  for (size_t j = 0; j < n; j++) {
    const double pivot = l[j + j * n], next = product * pivot;
    if (next > 1e-100 && next < 1e100) {
      product = next;
    } else {
      sum += log(product) + log(pivot);
      product = 1;
    }
  }
  return 2 * (sum + log(product));
}

/* x [n] -> L^-1 x, where L is the leading n x n of a matrix of leading dimension ld. */
static inline void small_forward_in(size_t n, size_t ld, const double *l, double *x) {
  for (size_t j = 0; j < n; j++) {
    const double *column = l + j * ld, value = x[j] / column[j];
    x[j] = value;
    SMALL_CHOL_SIMD
    for (size_t i = j + 1; i < n; i++) x[i] -= column[i] * value;
  }
}

/* x [n] -> L'^-1 x, likewise. */
static inline void small_backward_in(size_t n, size_t ld, const double *l, double *x) {
  for (size_t j = n; j-- > 0;) {
    const double *column = l + j * ld;
    double sum = x[j];
    for (size_t i = j + 1; i < n; i++) sum -= column[i] * x[i];
    x[j] = sum / column[j];
  }
}

static inline void small_forward(size_t n, const double *l, double *x) {
  small_forward_in(n, n, l, x);
}

static inline void small_backward(size_t n, const double *l, double *x) {
  small_backward_in(n, n, l, x);
}

/* x [n] -> L x */
static inline void small_multiply(size_t n, const double *l, double *x) {
  for (size_t i = n; i-- > 0;) {
    double sum = 0;
    for (size_t j = 0; j <= i; j++) sum += l[i + j * n] * x[j];
    x[i] = sum;
  }
}

/* x [n] -> L' x */
static inline void small_multiply_transposed(size_t n, const double *l, double *x) {
  for (size_t j = 0; j < n; j++) {
    double sum = 0;
    for (size_t i = j; i < n; i++) sum += l[i + j * n] * x[i];
    x[j] = sum;
  }
}

#endif
