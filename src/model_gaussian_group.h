/* Small positive definite matrices that are inverted, several side by side or one alone. Used by
 * model_gaussian_missing.c and model_gaussian_tied.c. */
#ifndef GPSELECT_MODEL_GAUSSIAN_GROUP_H
#define GPSELECT_MODEL_GAUSSIAN_GROUP_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "model_gaussian_missing.h"
#include "model_gaussian_mixture.h"
#include "vector_math.h"

#define GROUP MIXTURE_GROUP
/* So many pivots have a product that is a number. */
#define PIVOTS 4
/* Clusters so few are looked at one by one: a group costs the same, however few they are. */
#define FEW 2

/* What a point with m missing cells needs. Matrices [m x m] of GROUP clusters that lie side by side
 * are lower triangles by rows, and a row [m] for the right-hand side, with a number for every
 * cluster at each place. One that is alone has all its columns, in rows that are whole vectors. */
typedef struct {
  size_t n_dims, stride, n_missing;
  const int *missing; /* [m] */
  double *left;       /* [stride x GROUP], a column for each cluster: what is left of the point */
  double *matrix;     /* GROUP side by side, or up to FEW one after the other */
  double *column;     /* [m x GROUP], or 2 whole vectors of [m] */
  double *log_det;    /* [GROUP] of the precisions of the missing cells */
  double *difference; /* [stride] */
  double *over_scale; /* [D] */
} group_work;

static inline size_t triangle(size_t n) { return n * (n + 1) / 2; }

/* Where row i of a matrix begins; `width` numbers are at each place, GROUP or 1. */
GPS_INLINE size_t row_start(size_t n, size_t width, size_t i) {
  return width == 1 ? i * stride_of(n) : triangle(i) * GROUP;
}

/* Vectors that lie across two lines of the cache are slow to write and read again. */
static inline double *align_lanes(double *x) {
  const size_t line = GROUP * sizeof *x, over = (size_t)(uintptr_t)x % line;
  return over == 0 ? x : x + (line - over) / sizeof *x;
}

static inline size_t matrices_size(size_t n) {
  const size_t together = GROUP * (triangle(n) + n), alone = FEW * (n + 1) * stride_of(n);
  return together > alone ? together : alone;
}

/* Doubles that lay_out() divides, at most. */
static inline size_t group_scratch(size_t n_dims) {
  const size_t stride = stride_of(n_dims);
  return GROUP * (2 * stride + 2) + matrices_size(n_dims) + 2 * stride;
}

static inline group_work lay_out(const gps_problem *problem, const gps_point *point,
                                 double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, stride = stride_of(n_dims);
  const size_t n = (size_t)gps_n_missing(problem, point->index);
  group_work work = {.n_dims = n_dims,
                     .stride = stride,
                     .n_missing = n,
                     .missing = gps_missing_of(problem, point->index)};
  work.left = align_lanes(scratch);
  work.matrix = work.left + GROUP * stride;
  work.column = work.matrix + matrices_size(n);
  work.log_det = work.column + GROUP * stride_of(n);
  work.difference = work.log_det + GROUP;
  work.over_scale = work.difference + stride;
  return work;
}

/* log_det += log of the products of up to PIVOTS pivots. */
GPS_INLINE void take_logs(int n, double *product, double *log_det) {
  for (int l = 0; l < n; l++) {
    log_det[l] += log(product[l]);
    product[l] = 1;
  }
}

/* row [n] -= factor times column [n], of GROUP numbers each. */
GPS_INLINE void subtract_column(size_t n, const double *restrict factor,
                                const double *restrict column, double *restrict row) {
  for (size_t at = 0; at < n * GROUP; at += GROUP) {
#pragma omp simd
    for (int l = 0; l < GROUP; l++) row[at + (size_t)l] -= factor[l] * column[at + (size_t)l];
  }
}

/* Column k of GROUP matrices, without its pivot, from the row `first` on. */
GPS_INLINE void copy_column(size_t n, size_t k, size_t first, const double *matrix,
                            double *column) {
  for (size_t i = first; i < n; i++) {
    const double *from = matrix + (i < k ? triangle(k) + i : triangle(i) + k) * GROUP;
    double *to = column + i * GROUP;
#pragma omp simd
    for (int l = 0; l < GROUP; l++) to[l] = i == k ? 0 : from[l];
  }
}

/* Takes pivot k out of the rows that follow and, where the inverse is wanted, out of those before
 * it: a row gets what it has of the pivot in its column k. Row n is the right-hand side. */
GPS_INLINE void sweep_pivot(size_t n, size_t k, int inverts, double *matrix, double *column,
                            const double *over_pivot) {
  const size_t first = inverts ? 0 : k + 1;
  double *own = matrix + triangle(k) * GROUP;
  copy_column(n, k, first, matrix, column);
  for (size_t i = first; i <= n; i++) {
    if (i == k) continue;
    double *row = matrix + triangle(i) * GROUP, factor[GROUP];
    double *to = i < k ? own + i * GROUP : row + k * GROUP;
    const double *from = i < n ? column + i * GROUP : to;
#pragma omp simd
    for (int l = 0; l < GROUP; l++) factor[l] = from[l] * over_pivot[l];
    subtract_column((i < n ? i + 1 : n) - first, factor, column + first * GROUP,
                    row + first * GROUP);
#pragma omp simd
    for (int l = 0; l < GROUP; l++) to[l] = factor[l];
  }
  if (!inverts) return;
#pragma omp simd
  for (int l = 0; l < GROUP; l++) own[k * GROUP + (size_t)l] = -over_pivot[l];
}

/* Right-hand sides b [n] <- A^-1 b of what is left of A = LDL', with L below the diagonal, and of
 * b, which is (LD)^-1 b. */
GPS_INLINE void solve_back(size_t n, double *matrix) {
  double *b = matrix + triangle(n) * GROUP;
  for (size_t i = n; i-- > 1;) subtract_column(i, b + i * GROUP, matrix + triangle(i) * GROUP, b);
}

/* GROUP matrices A and right-hand sides b: b <- A^-1 b, log_det is that of A and, where it is
 * wanted, A <- -A^-1. Value: whether all pivots are positive. */
GPS_INLINE int sweep_group(size_t n, int inverts, double *matrix, double *column, double *log_det) {
  double product[GROUP], least[GROUP], over_pivot[GROUP];
  for (int l = 0; l < GROUP; l++) {
    log_det[l] = 0;
    product[l] = least[l] = 1;
  }
  for (size_t k = 0; k < n; k++) {
    const double *pivot = matrix + (triangle(k) + k) * GROUP;
#pragma omp simd
    for (int l = 0; l < GROUP; l++) {
      product[l] *= pivot[l];
      least[l] = pivot[l] < least[l] ? pivot[l] : least[l];
      over_pivot[l] = 1 / pivot[l];
    }
    if (k % PIVOTS == PIVOTS - 1) take_logs(GROUP, product, log_det);
    sweep_pivot(n, k, inverts, matrix, column, over_pivot);
  }
  if (n % PIVOTS != 0) take_logs(GROUP, product, log_det);
  if (!inverts) solve_back(n, matrix);
  int is_definite = 1;
  for (int l = 0; l < GROUP; l++) is_definite &= least[l] > 0;
  return is_definite;
}

/* Rows but the k-th lose what they have of it; in column k, where `pivot_row` is 1, they get that
 * with a minus. keep [stride]: 0 at k, else 1. */
GPS_INLINE void clear_column(size_t n, size_t k, double over_pivot, const double *restrict keep,
                             const double *restrict pivot_row, double *restrict matrix) {
  const size_t stride = stride_of(n);
  for (size_t i = 0; i <= n; i++) {
    double *row = matrix + i * stride;
    const double factor = row[k] * over_pivot;
    if (i == k) continue;
    for (size_t top = 0; top < stride; top += LANES) {
#pragma omp simd
      for (int l = 0; l < LANES; l++) {
        const size_t j = top + (size_t)l;
        row[j] = row[j] * keep[j] - factor * pivot_row[j];
      }
    }
  }
}

/* The same of one matrix, which becomes A^-1, by Gauss and Jordan; rows are 0 beyond their end.
 * scratch: 2 x stride */
GPS_INLINE int invert_alone(size_t n, double *matrix, double *scratch, double *log_det) {
  const size_t stride = stride_of(n);
  double *keep = scratch, *pivot_row = scratch + stride, *b = matrix + n * stride;
  double product = 1, least = 1;
  *log_det = 0;
  for (size_t k = 0; k < n; k++) {
    double *own = matrix + k * stride;
    const double pivot = own[k], over_pivot = 1 / pivot;
    product *= pivot;
    least = pivot < least ? pivot : least;
    if (k % PIVOTS == PIVOTS - 1) take_logs(1, &product, log_det);
#pragma omp simd
    for (size_t j = 0; j < stride; j++) {
      keep[j] = j == k ? 0 : 1;
      pivot_row[j] = j == k ? 1 : own[j];
    }
    clear_column(n, k, over_pivot, keep, pivot_row, matrix);
#pragma omp simd
    for (size_t j = 0; j < stride; j++) own[j] = pivot_row[j] * over_pivot;
  }
  if (n % PIVOTS != 0) take_logs(1, &product, log_det);
#pragma omp simd
  for (size_t j = 0; j < stride; j++) b[j] = -b[j];
  return least > 0;
}

#endif
