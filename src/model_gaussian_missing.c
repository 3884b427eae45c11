/* Missing cells of the Gaussian mixture. With M the missing dimensions of a point, O the others, V
 * a cluster's whitener and L = V'V its precision: log det Sigma_OO = log det Sigma + log det L_MM,
 * and given y_O the cells y_M have the mean mu_M - L_MM^-1 V_M'r and the covariance L_MM^-1, where
 * r is what is left of y_O when it is whitened with zeros at M. So a cluster costs a matrix of the
 * size of M, whatever O is. M is that of the point, the same in all clusters: eight of them are
 * solved side by side. All in units of the scale. Called by model_gaussian_mixture.c. */
#include "model_gaussian_missing.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "model_gaussian_group.h"
#include "model_gaussian_mixture.h"
#include "vector_math.h"

#define LOG_TWO_PI 1.8378770664093454836

size_t mixture_missing_scratch(const gps_problem *problem) {
  const size_t n_dims = (size_t)problem->shape.n_dims, stride = stride_of(n_dims);
  if (problem->missing == NULL || !is_matrix(problem)) return 0;
  return 2 * n_dims + GROUP * (stride + 2 * n_dims + 2 * triangle(n_dims) + 2);
}

/* Vectors that lie across two lines of the cache are slow to write and read again. */
static double *align_lanes(double *x) {
  const size_t line = GROUP * sizeof *x, over = (size_t)(uintptr_t)x % line;
  return over == 0 ? x : x + (line - over) / sizeof *x;
}

static group_work lay_out(const gps_problem *problem, const gps_point *point, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, stride = stride_of(n_dims);
  const size_t n = (size_t)gps_n_missing(problem, point->index);
  group_work work = {.n_dims = n_dims,
                     .stride = stride,
                     .n_missing = n,
                     .n_observed = n_dims - n,
                     .missing = gps_missing_of(problem, point->index)};
  work.left = align_lanes(scratch);
  work.step = work.left + GROUP * stride;
  work.pivot = work.step + GROUP * n;
  work.factor = work.pivot + GROUP * n;
  work.inverse = work.factor + GROUP * triangle(n);
  work.log_det = work.inverse + GROUP * triangle(n);
  work.distance = work.log_det + GROUP;
  work.observed = (int *)(void *)(work.distance + n_dims);
  return work;
}

static void list_observed(const gps_point *point, const group_work *work) {
  for (size_t d = 0, k = 0; d < work->n_dims; d++) {
    if (point->observed[d]) work->observed[k++] = (int)d;
  }
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

/* left [stride] of one cluster = whitener times the differences of the cells that are there. */
GPS_INLINE void whiten_cells(const group_work *work, const double *whitener, const double *y,
                       const double *mu, double *left) {
  const int *observed = work->observed;
  double *distance = work->distance;
  for (size_t k = 0; k < work->n_observed; k++) distance[k] = y[observed[k]] - mu[observed[k]];
  size_t n_columns = 0;
  for (size_t top = 0; top < work->stride; top += LANES) {
    double row[LANES] = {0};
    while (n_columns < work->n_observed && (size_t)observed[n_columns] < top + LANES) n_columns++;
    for (size_t k = 0; k < n_columns; k++) {
      const double *column = whitener + (size_t)observed[k] * work->stride + top;
#pragma omp simd
      for (int i = 0; i < LANES; i++) row[i] += column[i] * distance[k];
    }
#pragma omp simd
    for (int i = 0; i < LANES; i++) left[top + i] = row[i];
  }
}

GPS_INLINE double sum_lanes(const double *x) {
  return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7]));
}

/* Product of two columns [stride] from the row `first` on, above which one of them is 0. */
GPS_INLINE double column_product(const double *a, const double *b, size_t first, size_t stride) {
  double sum[LANES] = {0};
  for (size_t top = first / LANES * LANES; top < stride; top += LANES) {
#pragma omp simd
    for (int i = 0; i < LANES; i++) sum[i] += a[top + i] * b[top + i];
  }
  return sum_lanes(sum);
}

/* Of a cluster of the group: what is left of the point, -V_M'r in `step` and its precision in
 * `factor`. Of one that is alone the whole vectors are the same. */
GPS_INLINE void gather_cluster(const gps_problem *problem, const gps_point *point, size_t c,
                               int lane, int is_alone, const group_work *work) {
  const size_t n_dims = work->n_dims, stride = work->stride;
  const double *scale = problem->input[SCALE];
  const double *precision = precision_of(problem, c);
  const double *whitener = whitener_of(problem, c);
  double *left = work->left + (size_t)lane * stride, *to = work->factor + lane;
  whiten_cells(work, whitener, point->y, problem->input[MU] + c * n_dims, left);
  for (size_t i = 0; i < work->n_missing; i++) {
    const size_t d = (size_t)work->missing[i];
    const double *row = precision + d * n_dims;
    const double step = -scale[d] * column_product(whitener + d * stride, left, d, stride);
    if (is_alone) {
      for (int l = 0; l < GROUP; l++) work->step[i * GROUP + (size_t)l] = step;
      for (size_t j = 0; j <= i; j++, to += GROUP) {
        for (int l = 0; l < GROUP; l++) to[l] = row[work->missing[j]];
      }
    } else {
      work->step[i * GROUP + (size_t)lane] = step;
      for (size_t j = 0; j <= i; j++, to += GROUP) *to = row[work->missing[j]];
    }
  }
}

/* Vectors beyond the n clusters are as those of the first. */
GPS_INLINE void gather_group(const gps_problem *problem, const gps_point *point, int n,
                             const int *cluster, const group_work *work) {
  const size_t n_vectors = triangle(work->n_missing);
  for (int lane = 0; lane < n; lane++) {
    gather_cluster(problem, point, (size_t)cluster[lane], lane, n == 1, work);
  }
  if (n == 1 || n == GROUP) return;
  for (size_t k = 0; k < n_vectors; k++) {
    double *vector = work->factor + k * GROUP;
    for (int l = n; l < GROUP; l++) vector[l] = vector[0];
  }
  for (size_t i = 0; i < work->n_missing; i++) {
    double *vector = work->step + i * GROUP;
    for (int l = n; l < GROUP; l++) vector[l] = vector[0];
  }
}

/* What stands in `work` of up to GROUP clusters. */
GPS_CLONES static gps_status expect_group(const gps_problem *problem, const gps_point *point, int n,
                                          const int *cluster, int has_spread,
                                          const group_work *work) {
  gather_group(problem, point, n, cluster, work);
  if (!factor_group(work, !has_spread)) return GPS_NOT_POSDEF;
  solve_group(work, 0, work->step);
  if (has_spread && n == 1) invert_alone(work);
  if (has_spread && n > 1) invert_group(work);
  return GPS_OK;
}

/* Log joints of clusters whose covariances are matrices, after expect_group(). */
GPS_CLONES static void group_joints(const gps_problem *problem, int n, const int *cluster,
                                    double *value, const group_work *work) {
  const size_t stride = work->stride;
  for (int lane = 0; lane < n; lane++) {
    const size_t c = (size_t)cluster[lane];
    const double *whitener = whitener_of(problem, c);
    double *left = work->left + (size_t)lane * stride;
    for (size_t i = 0; i < work->n_missing; i++) {
      const size_t d = (size_t)work->missing[i];
      const double *column = whitener + d * stride;
      const double step = work->step[i * GROUP + (size_t)lane] * problem->input[SCALE][d];
      for (size_t top = d / LANES * LANES; top < stride; top += LANES) {
#pragma omp simd
        for (int k = 0; k < LANES; k++) left[top + k] += step * column[top + k];
      }
    }
    value[lane] = problem->input[LOG_SCALE][c] -
                  0.5 * (column_product(left, left, 0, stride) + work->log_det[lane]);
  }
}

/* The clusters of slots from `first` on that hold one, up to GROUP. Value: where the next group
 * begins. */
static int next_group(int n_slots, const int *latent, int first, int *n, int *slot, int *cluster) {
  *n = 0;
  while (first < n_slots && *n < GROUP) {
    if (latent[first] >= 0) {
      slot[*n] = first;
      cluster[(*n)++] = latent[first];
    }
    first++;
  }
  return first;
}

static gps_status full_joints(const gps_problem *problem, const gps_point *point, int n_slots,
                              const int *latent, double *value, double *scratch) {
  const group_work work = lay_out(problem, point, scratch);
  int n, slot[GROUP], cluster[GROUP];
  double found[GROUP];
  list_observed(point, &work);
  for (int from = 0; from < n_slots;) {
    from = next_group(n_slots, latent, from, &n, slot, cluster);
    if (n == 0) break;
    const gps_status status = expect_group(problem, point, n, cluster, 0, &work);
    if (status != GPS_OK) return status;
    group_joints(problem, n, cluster, found, &work);
    for (int i = 0; i < n; i++) value[slot[i]] = found[i];
  }
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
  for (int i = 0; i < n; i++) value[i] = -HUGE_VAL;
  if (is_matrix(problem)) return full_joints(problem, point, n, latent, value, scratch);
  for (int i = 0; i < n; i++) {
    if (latent[i] >= 0) value[i] = independent_joint(problem, point, (size_t)latent[i]);
  }
  return GPS_OK;
}

gps_status mixture_missing_expect(const gps_problem *problem, const gps_point *point, int n,
                                  const int *cluster, double *scratch) {
  if (!is_matrix(problem)) return GPS_OK;
  const group_work work = lay_out(problem, point, scratch);
  list_observed(point, &work);
  return expect_group(problem, point, n, cluster, 1, &work);
}

void mixture_missing_means(const gps_problem *problem, const gps_point *point, size_t c, int lane,
                           double *expected, double *scratch) {
  const group_work work = lay_out(problem, point, scratch);
  const double *mu = problem->input[MU] + c * work.n_dims;
  for (size_t i = 0; i < work.n_missing; i++) {
    const size_t d = (size_t)work.missing[i];
    expected[i] = mu[d];
    if (is_matrix(problem)) {
      expected[i] += work.step[i * GROUP + (size_t)lane] * problem->input[SCALE][d];
    }
  }
}

/* An element of the covariance to both sides of the diagonal. */
GPS_INLINE void add_covariance(const group_work *work, size_t i, size_t j, double value,
                               double *second) {
  const size_t d = (size_t)work->missing[i], e = (size_t)work->missing[j];
  second[d + e * work->stride] += value;
  if (d != e) second[e + d * work->stride] += value;
}

/* What invert_group() or, of a cluster that is alone, invert_alone() has left. */
GPS_CLONES static void full_spread(const gps_problem *problem, const group_work *work, int n,
                                   int lane, double weight, double *second) {
  const double *scale = problem->input[SCALE], *from = work->inverse;
  const size_t m = work->n_missing, width = n == 1 ? GROUP : 1;
  for (size_t first = 0; first < m; first += width) {
    for (size_t i = first; i < m; i++, from += GROUP) {
      const double factor = weight * scale[work->missing[i]];
      for (size_t k = 0; k < width && first + k <= i; k++) {
        const double value = from[n == 1 ? k : (size_t)lane];
        add_covariance(work, i, first + k, factor * scale[work->missing[first + k]] * value,
                       second);
      }
    }
  }
}

void mixture_missing_spread(const gps_problem *problem, const gps_point *point, size_t c, int n,
                            int lane, double weight, double *second, double *scratch) {
  const group_work work = lay_out(problem, point, scratch);
  const double *sigma = problem->input[SIGMA];
  if (is_matrix(problem)) {
    full_spread(problem, &work, n, lane, weight, second);
  } else if (kind_of(problem) == DIAGONAL) {
    for (size_t i = 0; i < work.n_missing; i++) {
      second[work.missing[i]] += weight * sigma[(size_t)work.missing[i] + c * work.n_dims];
    }
  } else {
    *second += weight * (double)work.n_missing * sigma[c];
  }
}
