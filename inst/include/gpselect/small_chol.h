/* Cholesky factors of matrices of a few rows, such as those of the latents that are on: plain C for
 * any thread, where BLAS may not be called. Matrices are column-major with leading dimension n;
 * only lower triangles are read and written. Used by gpselect and by models in other packages. */
#ifndef GPSELECT_SMALL_CHOL_H
#define GPSELECT_SMALL_CHOL_H

#include <math.h>
#include <stddef.h>

/* A -> L with A = L L'. Pivots below `least` are raised to it: for A = I + B with B positive
 * semidefinite they are at least 1, whatever rounding says. Value: 0, or 1 where a pivot is not
 * positive (A is spoilt). */
static inline int small_cholesky(size_t n, double *a, double least) {
  for (size_t j = 0; j < n; j++) {
    double *column = a + j * n;
    for (size_t k = 0; k < j; k++) {
      const double *before = a + k * n;
      for (size_t i = j; i < n; i++) column[i] -= before[j] * before[i];
    }
    const double pivot = column[j] < least ? least : column[j];
    if (!(pivot > 0)) return 1;
    column[j] = sqrt(pivot);
    const double scale = 1 / column[j];
    for (size_t i = j + 1; i < n; i++) column[i] *= scale;
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

/* x [n] -> L^-1 x */
static inline void small_forward(size_t n, const double *l, double *x) {
  for (size_t j = 0; j < n; j++) {
    x[j] /= l[j + j * n];
    for (size_t i = j + 1; i < n; i++) x[i] -= l[i + j * n] * x[j];
  }
}

/* x [n] -> L'^-1 x */
static inline void small_backward(size_t n, const double *l, double *x) {
  for (size_t j = n; j-- > 0;) {
    double sum = x[j];
    for (size_t i = j + 1; i < n; i++) sum -= l[i + j * n] * x[i];
    x[j] = sum / l[j + j * n];
  }
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
