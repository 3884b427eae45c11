/* What the files of the Gaussian mixture share: model_gaussian_mixture.c, what it prepares, its
 * M-step and its missing cells. */
#ifndef GPSELECT_MODEL_GAUSSIAN_MIXTURE_H
#define GPSELECT_MODEL_GAUSSIAN_MIXTURE_H

#include <stddef.h>

#include "gpselect/model.h"
#include "vector_math.h"

/* scale [D]: the standard deviations of the data, one of all dimensions where covariances are
 * spherical. Whatever compares dimensions does so in these units, so that nothing depends on the
 * unit of a column, and powers of two do not change a single bit. */
enum {
  MU,
  SIGMA,
  PI,
  CENTRE,
  SCALE,
  KIND,        /* of covariance */
  FLOOR_SIGMA, /* of its eigenvalues in units of the scale */
  FLOOR_PI,
  COMMON, /* 1 where the clusters have one covariance in common for a while */
  WHITENER,
  LOG_SCALE,
  LOG_BASE,
  WHITENED_MU, /* NULL but where covariances are tied */
  PRECISION    /* NULL unless covariances are matrices, empty unless cells are missing */
};
enum { PREPARED = WHITENER };
enum { FULL, DIAGONAL, SPHERICAL, TIED }; /* TIED: one full covariance of all clusters */

enum { COUNT, ON, FIRST, SECOND };

/* Columns of a whitener start on whole vectors: rows beyond n_dims are zero. */
#define LANES 8

static inline size_t stride_of(size_t n_dims) { return (n_dims + LANES - 1) / LANES * LANES; }

static inline int kind_of(const gps_problem *problem) { return (int)problem->input[KIND][0]; }

/* Whether covariances are matrices, one for each cluster or one for all. */
static inline int is_matrix(const gps_problem *problem) {
  return kind_of(problem) == FULL || kind_of(problem) == TIED;
}

/* The whitener [stride x D] of a cluster whose covariance is a matrix. */
static inline const double *whitener_of(const gps_problem *problem, size_t c) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  return problem->input[WHITENER] + (kind_of(problem) == TIED ? 0 : c * stride_of(n_dims) * n_dims);
}

/* The inverse [stride x D] of its covariance in units of the scale, where cells are missing. */
static inline const double *precision_of(const gps_problem *problem, size_t c) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const size_t size = kind_of(problem) == TIED ? 0 : stride_of(n_dims) * n_dims;
  return problem->input[PRECISION] + c * size;
}

/* Rows top .. top + LANES - 1 of the columns from `first` to the one before `end`, times their
 * differences, are added to row [LANES]. */
GPS_INLINE void add_columns(const double *restrict whitener, const double *restrict difference,
                            size_t stride, size_t top, size_t first, size_t end,
                            double *restrict row) {
  for (size_t j = first; j < end; j++) {
#pragma omp simd
    for (size_t i = 0; i < LANES; i++) row[i] += whitener[j * stride + top + i] * difference[j];
  }
}

/* left [stride] = whitener times difference; two vectors of rows at once, as a sum waits for its
 * last term. */
GPS_INLINE void whiten(const double *restrict whitener, const double *restrict difference,
                       size_t n_dims, size_t stride, double *restrict left) {
  size_t top = 0;
  for (; top + LANES < stride; top += 2 * LANES) {
    const size_t n_both = top + LANES, end = n_both + LANES < n_dims ? n_both + LANES : n_dims;
    double upper[LANES] = {0}, lower[LANES] = {0};
    for (size_t j = 0; j < n_both; j++) {
      const double *column = whitener + j * stride + top;
#pragma omp simd
      for (int i = 0; i < LANES; i++) {
        upper[i] += column[i] * difference[j];
        lower[i] += column[LANES + i] * difference[j];
      }
    }
    add_columns(whitener, difference, stride, n_both, n_both, end, lower);
#pragma omp simd
    for (size_t i = 0; i < LANES; i++) {
      left[top + i] = upper[i];
      left[n_both + i] = lower[i];
    }
  }
  if (top == stride) return;
  double row[LANES] = {0};
  add_columns(whitener, difference, stride, top, 0, n_dims, row);
#pragma omp simd
  for (size_t i = 0; i < LANES; i++) left[top + i] = row[i];
}

gps_status mixture_prepare(const gps_problem *problem, const double *y, double *const *prepared);
size_t mixture_mstep_scratch(const gps_problem *problem);
gps_status mixture_mstep(const gps_problem *problem, const double *const *stats,
                         double *const *params_new, int *events, double *scratch);

#endif
