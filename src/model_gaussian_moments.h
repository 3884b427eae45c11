/* What a data point in a cluster of the Gaussian mixture adds to the cluster's moments about the
 * centre: loops that are compiled into their callers in model_gaussian_mixture.c. */
#ifndef GPSELECT_MODEL_GAUSSIAN_MOMENTS_H
#define GPSELECT_MODEL_GAUSSIAN_MOMENTS_H

#include "model_gaussian_mixture.h"

/* x [stride] <- y about the centre, zeros beyond D. */
GPS_INLINE void centre_point(const gps_problem *problem, const double *y, double *x) {
  const size_t n_dims = (size_t)problem->shape.n_dims, stride = stride_of(n_dims);
  const double *centre = problem->input[CENTRE];
#pragma omp simd
  for (size_t d = 0; d < n_dims; d++) x[d] = y[d] - centre[d];
  for (size_t d = n_dims; d < stride; d++) x[d] = 0;
}

/* second [stride x D] += weight * x x', whole columns of the stride. */
GPS_INLINE void add_outer(double *second, const double *x, double weight, size_t n_dims,
                          size_t stride) {
  for (size_t j = 0; j < n_dims; j++) {
    const double scaled = weight * x[j];
    for (size_t top = 0; top < stride; top += LANES) {
#pragma omp simd
      for (size_t i = 0; i < LANES; i++) second[j * stride + top + i] += scaled * x[top + i];
    }
  }
}

/* What a cluster has of the statistics: *on, first [D] and its part of the second moments, unless
 * that is NULL. */
GPS_INLINE void add_to_moments(const gps_problem *problem, const double *x, double weight,
                               double *on, double *first, double *second) {
  const size_t n_dims = (size_t)problem->shape.n_dims, stride = stride_of(n_dims);
  const int kind = kind_of(problem);
  *on += weight;
#pragma omp simd
  for (size_t d = 0; d < n_dims; d++) first[d] += weight * x[d];
  if (!second) return;
  if (kind == FULL || kind == TIED) {
    add_outer(second, x, weight, n_dims, stride);
  } else if (kind == DIAGONAL) {
#pragma omp simd
    for (size_t d = 0; d < n_dims; d++) second[d] += weight * x[d] * x[d];
  } else {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t d = 0; d < n_dims; d++) sum += x[d] * x[d];
    *second += weight * sum;
  }
}

#endif
