/* Missing cells of the Gaussian mixture. With M the missing dimensions of a point, O the others and
 * L = Sigma^-1, all that is needed of a full covariance are the columns V of its whitener at M: V'V
 * = L_MM, log det Sigma_OO = log det Sigma + log det L_MM, and given y_O the cells y_M have the
 * mean mu_M - L_MM^-1 V'r and the covariance L_MM^-1, where r is what is left of y_O when it is
 * whitened with zeros at M. So a cluster costs a matrix of the size of M, whatever O is. All in
 * units of the scale. Called by model_gaussian_mixture.c. */
#include "model_gaussian_missing.h"

#include <math.h>
#include <string.h>

#include "gpselect/small_chol.h"
#include "model_gaussian_mixture.h"
#include "vector_math.h"

#define LOG_TWO_PI 1.8378770664093454836

/* scratch: what is left of a point [stride], its difference from the mean [stride], the missing
 * cells' columns [stride x m], factor and column of their precision [m x m], [m] */
size_t mixture_missing_scratch(const gps_problem *problem) {
  const size_t n_dims = (size_t)problem->shape.n_dims, stride = stride_of(n_dims);
  if (problem->missing == NULL) return 0;
  if (!is_matrix(problem)) return n_dims;
  return 2 * stride + stride * n_dims + n_dims * (n_dims + 1);
}

typedef struct {
  size_t n_dims, stride, n; /* n: missing cells */
  const int *missing;
  double *left, *difference, *columns, *factor, *step;
} missing_work;

static missing_work work_in(const gps_problem *problem, const gps_point *point, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, stride = stride_of(n_dims);
  const size_t n = (size_t)gps_n_missing(problem, point->index);
  const missing_work work = {.n_dims = n_dims,
                             .stride = stride,
                             .n = n,
                             .missing = gps_missing_of(problem, point->index),
                             .left = scratch,
                             .difference = scratch + stride,
                             .columns = scratch + 2 * stride,
                             .factor = scratch + (2 + n) * stride,
                             .step = scratch + (2 + n) * stride + n * n};
  return work;
}

/* log of the product of first[d] (times second[d], unless it is NULL) over some d; products need
 * fewer logarithms as long as they are far from the ends of the range. */
static double log_product(size_t n, const int *at, const double *first, const double *second) {
  double product = 1, sum = 0;
  for (size_t i = 0; i < n; i++) {
    const double factor = second ? first[at[i]] * second[at[i]] : first[at[i]];
    const double next = product * factor;
    if (next > 1e-100 && next < 1e100) {
      product = next;
    } else {
      sum += log(product) + log(factor);
      product = 1;
    }
  }
  return sum + log(product);
}

double mixture_missing_shared(const gps_problem *problem, const gps_point *point) {
  const size_t n = (size_t)gps_n_missing(problem, point->index);
  if (n == 0) return 0;
  return 0.5 * (double)n * LOG_TWO_PI +
         log_product(n, gps_missing_of(problem, point->index), problem->input[SCALE], NULL);
}

/* whiten(), for several processors. */
GPS_CLONES static void whiten_cells(const double *restrict whitener,
                                    const double *restrict difference, size_t n_dims, size_t stride,
                                    double *restrict left) {
  whiten(whitener, difference, n_dims, stride, left);
}

/* Products of a column [stride], which is 0 above `first`, and n_columns others, from the first. */
GPS_CLONES static void column_products(const double *restrict column, size_t first, size_t stride,
                                       const double *restrict columns, size_t n_columns,
                                       double *restrict product) {
  for (size_t k = 0; k < n_columns; k++) {
    double sum[LANES] = {0};
    for (size_t top = first / LANES * LANES; top < stride; top += LANES) {
#pragma omp simd
      for (int i = 0; i < LANES; i++) sum[i] += column[top + i] * columns[k * stride + top + i];
    }
    product[k] = ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
  }
}

/* The missing cells' columns of the whitener in units of the scale, and the factor of their
 * products.
 */
static gps_status factor_missing(const gps_problem *problem, size_t c, const missing_work *work) {
  const double *scale = problem->input[SCALE];
  const double *whitener = whitener_of(problem, c);
  const size_t n = work->n, stride = work->stride;
  for (size_t i = 0; i < n; i++) {
    const size_t d = (size_t)work->missing[i];
    double *column = work->columns + i * stride;
    for (size_t k = 0; k < stride; k++) column[k] = whitener[d * stride + k] * scale[d];
    column_products(column, d, stride, work->columns, i + 1, work->step);
    for (size_t j = 0; j <= i; j++) work->factor[i + j * n] = work->step[j];
  }
  return small_cholesky(n, work->factor, 0) == 0 ? GPS_OK : GPS_NOT_POSDEF;
}

/* step [m]: how far the missing cells are expected from the cluster's mean, in units of the scale;
 * left [stride] <- what is then left of the point. */
static gps_status expect_missing(const gps_problem *problem, const gps_point *point, size_t c,
                                 const missing_work *work) {
  const double *mu = problem->input[MU] + c * work->n_dims;
  const double *whitener = whitener_of(problem, c);
  for (size_t d = 0; d < work->n_dims; d++) {
    work->difference[d] = point->observed[d] ? point->y[d] - mu[d] : 0;
  }
  const gps_status status = factor_missing(problem, c, work);
  if (status != GPS_OK) return status;
  whiten_cells(whitener, work->difference, work->n_dims, work->stride, work->left);
  column_products(work->left, (size_t)work->missing[0], work->stride, work->columns, work->n,
                  work->step);
  small_forward(work->n, work->factor, work->step);
  small_backward(work->n, work->factor, work->step);
  for (size_t i = 0; i < work->n; i++) {
    const double *column = work->columns + i * work->stride;
    work->step[i] = -work->step[i];
    for (size_t k = 0; k < work->stride; k++) work->left[k] += work->step[i] * column[k];
  }
  return GPS_OK;
}

/* Log joint of a cluster whose covariance is a matrix. */
static gps_status full_joint(const gps_problem *problem, const gps_point *point, size_t c,
                             double *value, double *scratch) {
  const missing_work work = work_in(problem, point, scratch);
  const gps_status status = expect_missing(problem, point, c, &work);
  if (status != GPS_OK) return status;
  double square;
  column_products(work.left, 0, work.stride, work.left, 1, &square);
  *value = problem->input[LOG_SCALE][c] - 0.5 * (square + small_log_det(work.n, work.factor));
  return GPS_OK;
}

/* Squares of a point's difference from the mean in units of a standard deviation, of each dimension
 * or, where `common` is not NULL, of all. */
GPS_CLONES static double observed_square(size_t n_dims, const double *restrict y,
                                         const double *restrict mu,
                                         const unsigned char *restrict observed,
                                         const double *restrict whitener) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t d = 0; d < n_dims; d++) {
    const double z = (y[d] - mu[d]) * (whitener ? whitener[d] : 1);
    sum += observed[d] ? z * z : 0;
  }
  return sum;
}

/* The same of one whose dimensions are independent. */
static double independent_joint(const gps_problem *problem, const gps_point *point, size_t c) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const size_t n = (size_t)gps_n_missing(problem, point->index);
  const double *mu = problem->input[MU] + c * n_dims, *whitener = problem->input[WHITENER];
  const double *scale = problem->input[SCALE];
  double log_width, square;
  if (kind_of(problem) == DIAGONAL) {
    whitener += c * n_dims;
    square = observed_square(n_dims, point->y, mu, point->observed, whitener);
    log_width = log_product(n, gps_missing_of(problem, point->index), whitener, scale);
  } else {
    square = observed_square(n_dims, point->y, mu, point->observed, NULL);
    square *= whitener[c] * whitener[c];
    log_width = (double)n * log(whitener[c] * scale[0]);
  }
  return problem->input[LOG_SCALE][c] - log_width - 0.5 * square;
}

gps_status mixture_missing_joint(const gps_problem *problem, const gps_point *point, int n,
                                 const int *latent, double *value, double *scratch) {
  for (int i = 0; i < n; i++) {
    value[i] = -HUGE_VAL;
    if (latent[i] < 0) continue;
    const size_t c = (size_t)latent[i];
    if (!is_matrix(problem)) {
      value[i] = independent_joint(problem, point, c);
      continue;
    }
    const gps_status status = full_joint(problem, point, c, value + i, scratch);
    if (status != GPS_OK) return status;
  }
  return GPS_OK;
}

gps_status mixture_missing_means(const gps_problem *problem, const gps_point *point, size_t c,
                                 double *expected, double *scratch) {
  const missing_work work = work_in(problem, point, scratch);
  const double *mu = problem->input[MU] + c * work.n_dims;
  for (size_t i = 0; i < work.n; i++) expected[i] = mu[work.missing[i]];
  if (!is_matrix(problem)) return GPS_OK;
  const gps_status status = expect_missing(problem, point, c, &work);
  if (status != GPS_OK) return status;
  for (size_t i = 0; i < work.n; i++) {
    expected[i] += work.step[i] * problem->input[SCALE][work.missing[i]];
  }
  return GPS_OK;
}

/* The columns of the inverse of the missing cells' precision, one after the other. */
static void full_spread(const gps_problem *problem, const missing_work *work, double weight,
                        double *second) {
  const double *scale = problem->input[SCALE];
  double *column = work->step;
  for (size_t j = 0; j < work->n; j++) {
    double *to = second + (size_t)work->missing[j] * work->stride;
    const double factor = weight * scale[work->missing[j]];
    memset(column, 0, work->n * sizeof *column);
    column[j] = 1;
    small_forward(work->n, work->factor, column);
    small_backward(work->n, work->factor, column);
    for (size_t i = 0; i < work->n; i++) {
      to[work->missing[i]] += factor * scale[work->missing[i]] * column[i];
    }
  }
}

void mixture_missing_spread(const gps_problem *problem, const gps_point *point, size_t c,
                            double weight, double *second, double *scratch) {
  const missing_work work = work_in(problem, point, scratch);
  const double *sigma = problem->input[SIGMA];
  if (is_matrix(problem)) {
    full_spread(problem, &work, weight, second);
  } else if (kind_of(problem) == DIAGONAL) {
    for (size_t i = 0; i < work.n; i++) {
      second[work.missing[i]] += weight * sigma[(size_t)work.missing[i] + c * work.n_dims];
    }
  } else {
    *second += weight * (double)work.n * sigma[c];
  }
}
