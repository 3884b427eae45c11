/* Small positive definite matrices of several clusters, factored and solved side by side: an
 * element is a vector with a number for each cluster. Used by model_gaussian_missing.c. */
#ifndef GPSELECT_MODEL_GAUSSIAN_GROUP_H
#define GPSELECT_MODEL_GAUSSIAN_GROUP_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "model_gaussian_missing.h"
#include "vector_math.h"

#define GROUP MIXTURE_GROUP
/* So many pivots have a product that is a number. */
#define PIVOTS 4

/* Matrices of the missing cells [m x m x GROUP] are lower triangles by rows, of vectors with an
 * element for each cluster. */
typedef struct {
  size_t n_dims, stride, n_missing, n_observed;
  const int *missing;
  int *observed;    /* [O] */
  double *left;     /* [stride x GROUP], a column for each cluster: what is left of the point */
  double *step;     /* [m x GROUP]: how far missing cells are expected from the mean */
  double *pivot;    /* [m x GROUP]: one over each pivot of the precision of the missing cells */
  double *factor;   /* their precision = factor diag(1 / pivot) factor' */
  double *inverse;  /* the covariance, see invert_group() and invert_alone() */
  double *log_det;  /* [GROUP] of the precision */
  double *distance; /* [D] differences from a mean */
} group_work;

static inline size_t triangle(size_t n) { return n * (n + 1) / 2; }

/* sum [GROUP] -= products of n vectors, one after the other. */
GPS_INLINE void subtract_products(size_t n, const double *restrict a, const double *restrict b,
                                  double *restrict sum) {
  double odd[GROUP] = {0};
  size_t k = 0;
  for (; k + 1 < n; k += 2) {
#pragma omp simd
    for (int l = 0; l < GROUP; l++) {
      sum[l] -= a[k * GROUP + l] * b[k * GROUP + l];
      odd[l] += a[(k + 1) * GROUP + l] * b[(k + 1) * GROUP + l];
    }
  }
#pragma omp simd
  for (int l = 0; l < GROUP; l++) {
    if (k < n) sum[l] -= a[k * GROUP + l] * b[k * GROUP + l];
    sum[l] -= odd[l];
  }
}

/* log_det += log of the products of up to PIVOTS pivots. */
GPS_INLINE void take_logs(double *product, double *log_det) {
  for (int l = 0; l < GROUP; l++) {
    log_det[l] += log(product[l]);
    product[l] = 1;
  }
}

/* Precision -> its factor L with ones on the diagonal, which are not stored, 1 / pivots and, where
 * it is wanted, log det, row by row. Value: whether all pivots are positive. */
GPS_INLINE int factor_group(const group_work *work, int wants_logs) {
  double product[GROUP], least[GROUP];
  for (int l = 0; l < GROUP; l++) {
    work->log_det[l] = 0;
    product[l] = least[l] = 1;
  }
  for (size_t i = 0; i < work->n_missing; i++) {
    double *row = work->factor + triangle(i) * GROUP, diagonal[GROUP];
    for (int l = 0; l < GROUP; l++) diagonal[l] = row[i * GROUP + (size_t)l];
    for (size_t j = 0; j < i; j++) {
      const double *other = work->factor + triangle(j) * GROUP;
      double sum[GROUP];
      for (int l = 0; l < GROUP; l++) sum[l] = row[j * GROUP + l];
      subtract_products(j, other, row, sum);
      for (int l = 0; l < GROUP; l++) row[j * GROUP + l] = sum[l];
    }
    for (size_t j = 0; j < i; j++) {
      double *to = row + j * GROUP, *pivot = work->pivot + j * GROUP;
#pragma omp simd
      for (int l = 0; l < GROUP; l++) {
        const double ratio = to[l] * pivot[l];
        diagonal[l] -= ratio * to[l];
        to[l] = ratio;
      }
    }
#pragma omp simd
    for (int l = 0; l < GROUP; l++) {
      product[l] *= diagonal[l];
      least[l] = diagonal[l] < least[l] ? diagonal[l] : least[l];
      work->pivot[i * GROUP + (size_t)l] = 1 / diagonal[l];
    }
    if (wants_logs && i % PIVOTS == PIVOTS - 1) take_logs(product, work->log_det);
  }
  if (wants_logs && work->n_missing % PIVOTS != 0) take_logs(product, work->log_det);
  int is_definite = 1;
  for (int l = 0; l < GROUP; l++) is_definite &= least[l] > 0;
  return is_definite;
}

/* x [n x GROUP] -> (L diag(pivot) L')^-1 x, of the rows from `first` on, where x begins. */
GPS_INLINE void solve_group(const group_work *work, size_t first, double *x) {
  const size_t n = work->n_missing - first;
  for (size_t i = 1; i < n; i++) {
    const double *row = work->factor + (triangle(first + i) + first) * GROUP;
    double sum[GROUP];
    for (int l = 0; l < GROUP; l++) sum[l] = x[i * GROUP + l];
    subtract_products(i, row, x, sum);
    for (int l = 0; l < GROUP; l++) x[i * GROUP + l] = sum[l];
  }
  for (size_t i = n; i-- > 0;) {
    const double *pivot = work->pivot + (first + i) * GROUP;
    double sum[GROUP];
    for (int l = 0; l < GROUP; l++) sum[l] = x[i * GROUP + l] * pivot[l];
    for (size_t k = i + 1; k < n; k++) {
      const double *row = work->factor + (triangle(first + k) + first + i) * GROUP;
#pragma omp simd
      for (int l = 0; l < GROUP; l++) sum[l] -= row[l] * x[k * GROUP + l];
    }
    for (int l = 0; l < GROUP; l++) x[i * GROUP + l] = sum[l];
  }
}

/* Columns of the inverse, each from its diagonal on: they need nothing above it. */
GPS_INLINE void invert_group(const group_work *work) {
  double *column = work->inverse;
  for (size_t j = 0; j < work->n_missing; j++) {
    const size_t n = work->n_missing - j;
    memset(column, 0, n * GROUP * sizeof *column);
    for (int l = 0; l < GROUP; l++) column[l] = 1;
    solve_group(work, j, column);
    column += n * GROUP;
  }
}

/* Of a cluster alone GROUP columns at once, from the first one's diagonal on. */
GPS_INLINE void invert_alone(const group_work *work) {
  double *columns = work->inverse;
  for (size_t first = 0; first < work->n_missing; first += GROUP) {
    const size_t n = work->n_missing - first;
    memset(columns, 0, n * GROUP * sizeof *columns);
    for (size_t i = 0; i < n && i < GROUP; i++) columns[i * GROUP + i] = 1;
    solve_group(work, first, columns);
    columns += n * GROUP;
  }
}

#endif
