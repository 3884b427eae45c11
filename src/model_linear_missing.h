/* What models with the mean b + W x and independent noise share where a data point lacks cells:
 * model A, where x is binary, and B, where it is binary times a value. */
#ifndef GPSELECT_MODEL_LINEAR_MISSING_H
#define GPSELECT_MODEL_LINEAR_MISSING_H

#include "gpselect/model.h"
#include "vector_math.h"

/* rows [m x n]: W of the m missing cells of a point at the latents [n], 0 where that is -1. */
void linear_missing_rows(const gps_problem *problem, const gps_point *point, const double *w,
                         size_t n, const int *latent, double *rows);

/* W_j'W_k over the missing cells, by which a product over all cells exceeds that over the others.
 */
GPS_INLINE double linear_missing_dot(const double *rows, size_t n_missing, size_t j, size_t k) {
  const double *a = rows + j * n_missing, *b = rows + k * n_missing;
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n_missing; i++) sum += a[i] * b[i];
  return sum;
}

/* Doubles of scratch for the rows of n slots and for linear_add_missing() after them; 0 where the
 * block has all cells. */
size_t linear_missing_scratch(const gps_problem *problem, size_t n_slots);

/* Moments of x in a point's slots, times its weight: first [n], second [n x n] as its upper
 * triangle. */
typedef struct {
  size_t n_slots;
  const double *first, *second;
} linear_moments;

/* Sums that the missing cells of a point add to: y x' [D x H], |y - c|^2 and, where there is a
 * centre c [D], y - c [D]. */
typedef struct {
  double *cross, *data_square, *data_sum;
} linear_sums;

/* Adds what a point's missing cells are expected to be. In cell d, y_d = b_d + W_d x + noise, so
 * <y_d x'> = b_d <x'> + W_d <x x'> and <(y_d - c_d)^2> = <(b_d - c_d + W_d x)^2> + sigma2: the
 * M-step is that of complete data. intercept b and centre c are NULL where they are 0. */
void linear_add_missing(const gps_problem *problem, const gps_point *point, const double *w,
                        double sigma2, const double *intercept, const double *centre,
                        const linear_moments *moments, const linear_sums *sums, double *scratch);

#endif
