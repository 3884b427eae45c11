/* Missing cells of models with a linear mean: what they take from the products of W's columns, and
 * what they are expected to be. Called by model_binary_sparse.c and model_spike_slab.c. */
#include "model_linear_missing.h"

#include <string.h>

size_t linear_missing_scratch(const gps_problem *problem, size_t n_slots) {
  return problem->missing ? (size_t)problem->shape.n_dims * (n_slots + 3) : 0;
}

void linear_missing_rows(const gps_problem *problem, const gps_point *point, const double *w,
                         size_t n, const int *latent, double *rows) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const size_t n_missing = (size_t)gps_n_missing(problem, point->index);
  const int *missing = gps_missing_of(problem, point->index);
  for (size_t k = 0; k < n; k++) {
    double *to = rows + k * n_missing;
    if (latent[k] < 0) {
      memset(to, 0, n_missing * sizeof *to);
      continue;
    }
    const double *column = w + (size_t)latent[k] * n_dims;
    for (size_t i = 0; i < n_missing; i++) to[i] = column[missing[i]];
  }
}

/* product [m] = sum over j of rows [m x n] times <x_j x_k>. */
GPS_INLINE void row_products(const double *rows, size_t n_missing, const linear_moments *moments,
                             size_t k, double *product) {
  const size_t n = moments->n_slots;
  memset(product, 0, n_missing * sizeof *product);
  for (size_t j = 0; j < n; j++) {
    const double second = moments->second[j < k ? j + k * n : k + j * n];
    const double *row = rows + j * n_missing;
#pragma omp simd
    for (size_t i = 0; i < n_missing; i++) product[i] += second * row[i];
  }
}

GPS_CLONES void linear_add_missing(const gps_problem *problem, const gps_point *point,
                                   const double *w, double sigma2, const double *intercept,
                                   const double *centre, const linear_moments *moments,
                                   const linear_sums *sums, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n = moments->n_slots;
  const size_t n_missing = (size_t)gps_n_missing(problem, point->index);
  const int *missing = gps_missing_of(problem, point->index);
  const double weight = gps_weight_of(problem, (size_t)point->index);
  double *rows = scratch, *product = rows + n * n_missing, *mean = product + n_missing,
         *square = mean + n_missing;
  linear_missing_rows(problem, point, w, n, point->latent, rows);
  memset(mean, 0, 2 * n_missing * sizeof *mean);
  for (size_t k = 0; k < n; k++) {
    if (point->latent[k] < 0) continue;
    const double *row = rows + k * n_missing, first = moments->first[k];
    double *cross = sums->cross + (size_t)point->latent[k] * n_dims;
    row_products(rows, n_missing, moments, k, product);
    for (size_t i = 0; i < n_missing; i++) {
      const double base = intercept ? intercept[missing[i]] : 0;
      cross[missing[i]] += base * first + product[i];
    }
#pragma omp simd
    for (size_t i = 0; i < n_missing; i++) {
      mean[i] += row[i] * first;
      square[i] += row[i] * product[i];
    }
  }
  for (size_t i = 0; i < n_missing; i++) {
    const size_t d = (size_t)missing[i];
    const double base = (intercept ? intercept[d] : 0) - (centre ? centre[d] : 0);
    *sums->data_square += weight * (sigma2 + base * base) + 2 * base * mean[i] + square[i];
    if (centre) sums->data_sum[d] += weight * base + mean[i];
  }
}
