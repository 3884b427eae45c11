/* Leave-one-out of the exact Gaussian process in closed form, from the inverse factor of its kernel
 * matrix: Rasmussen and Williams (2006), eq. 5.12. Called by r_gp.c. */
#include "gp.h"

void gp_dense_loo_variance(size_t n_points, const double *l, int n_threads, double *variance) {
#pragma omp parallel for num_threads(n_threads) schedule(static, 64)
  for (size_t j = 0; j < n_points; j++) {
    const double *column = l + j * n_points;
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = j; i < n_points; i++) sum += column[i] * column[i];
    variance[j] = 1.0 / sum;
  }
}

void gp_loo_means(size_t n_targets, size_t n_points, const double *targets, const double *variance,
                  double *weighted) {
  for (size_t j = 0; j < n_points; j++) {
    for (size_t h = j * n_targets; h < (j + 1) * n_targets; h++) {
      weighted[h] = targets[h] - weighted[h] * variance[j];
    }
  }
}
