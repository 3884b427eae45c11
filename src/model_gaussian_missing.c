/* Missing cells of the Gaussian mixture. With M the missing dimensions of a point, O the others, V
 * a cluster's whitener and L = V'V its precision: log det Sigma_OO = log det Sigma + log det L_MM,
 * and given y_O the cells y_M have the mean mu_M - L_MM^-1 L_MO (y_O - mu_O) and the covariance
 * L_MM^-1; the distance of y_O is the shortest that y has, with y_M at that mean. So a cluster
 * costs a matrix of the size of M, whatever O is. M is that of the point, the same in all clusters:
 * eight of them are solved side by side. Matrices in units of the scale. Called by
 * model_gaussian_mixture.c; where covariances are tied model_gaussian_tied.c does it. */
#include "model_gaussian_missing.h"

#include <math.h>

#include "model_gaussian_group.h"
#include "model_gaussian_mixture.h"
#include "model_gaussian_tied.h"
#include "vector_math.h"

size_t mixture_missing_scratch(const gps_problem *problem) {
  if (problem->missing == NULL || !is_matrix(problem)) return 0;
  if (kind_of(problem) == TIED) return mixture_tied_scratch(problem);
  return group_scratch((size_t)problem->shape.n_dims);
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
  return 0.5 * (double)n * LOG_2PI +
         log_product(n, gps_missing_of(problem, point->index), problem->input[SCALE], NULL);
}

GPS_INLINE double column_product(const double *restrict a, const double *restrict b,
                                 size_t stride) {
  double sum[LANES] = {0};
  for (size_t top = 0; top < stride; top += LANES) {
#pragma omp simd
    for (size_t i = 0; i < LANES; i++) sum[i] += a[top + i] * b[top + i];
  }
  return sum_eight(sum);
}

/* difference [stride] <- y - mu, and 0 where cells are missing and beyond D. */
GPS_INLINE void subtract_mean(const double *restrict y, const double *restrict mu,
                              const group_work *work, double *restrict difference) {
#pragma omp simd
  for (size_t d = 0; d < work->n_dims; d++) difference[d] = y[d] - mu[d];
  for (size_t d = work->n_dims; d < work->stride; d++) difference[d] = 0;
  for (size_t i = 0; i < work->n_missing; i++) difference[work->missing[i]] = 0;
}

/* Of a cluster the precision of the missing cells and the right-hand side, minus the precision of
 * these and the others times the difference in units of the scale; into a matrix of `width` numbers
 * at each place, with zeros beyond the end of rows of one that is alone. */
GPS_INLINE void gather_cluster(const double *precision, size_t width, double *matrix,
                               const group_work *work) {
  const size_t n = work->n_missing;
  const int *missing = work->missing;
  double *side = matrix + row_start(n, width, n);
  for (size_t i = 0; i < n; i++) {
    const double *from = precision + (size_t)missing[i] * work->stride;
    double *to = matrix + row_start(n, width, i);
    for (size_t j = 0; j < (width == 1 ? n : i + 1); j++) to[j * width] = from[missing[j]];
    for (size_t j = n; j < stride_of(n) && width == 1; j++) to[j] = 0;
    side[i * width] = -column_product(from, work->difference, work->stride);
  }
  for (size_t j = n; j < stride_of(n) && width == 1; j++) side[j] = 0;
}

/* What is left of the point, r [stride], unless `left` is NULL, and what gather_cluster() finds. */
GPS_INLINE void look_at_cluster(const gps_problem *problem, const gps_point *point, size_t c,
                                size_t width, double *left, double *matrix,
                                const group_work *work) {
  double *difference = work->difference;
  const double *over_scale = work->over_scale;
  subtract_mean(point->y, problem->input[MU] + c * work->n_dims, work, difference);
  if (left) whiten(whitener_of(problem, c), difference, work->n_dims, work->stride, left);
#pragma omp simd
  for (size_t d = 0; d < work->n_dims; d++) difference[d] *= over_scale[d];
  gather_cluster(precision_of(problem, c), width, matrix, work);
}

GPS_INLINE size_t width_of(int n) { return n > FEW ? GROUP : 1; }

/* Where the numbers of a cluster, the `lane`-th of n, begin; they are width_of(n) apart. */
GPS_INLINE double *matrix_of(const group_work *work, int n, int lane) {
  const size_t m = work->n_missing;
  return work->matrix + (size_t)lane * (width_of(n) == 1 ? row_start(m, 1, m + 1) : 1);
}

/* Matrices beyond the n clusters are as those of the first. */
GPS_INLINE void fill_lanes(int n, const group_work *work) {
  if (n == GROUP) return;
  const size_t n_places = triangle(work->n_missing) + work->n_missing;
  for (size_t k = 0; k < n_places; k++) {
    double *place = work->matrix + k * GROUP;
    for (int l = n; l < GROUP; l++) place[l] = place[0];
  }
}

/* What stands in `work` of up to GROUP clusters: how far missing cells are expected from the mean
 * and either r or the cells' covariances, with a minus where they lie side by side. */
GPS_CLONES static gps_status expect_group(const gps_problem *problem, const gps_point *point, int n,
                                          const int *cluster, int has_spread,
                                          const group_work *work) {
  int is_definite = 1;
  for (size_t d = 0; d < work->n_dims; d++) work->over_scale[d] = 1 / problem->input[SCALE][d];
  for (int lane = 0; lane < n; lane++) {
    const size_t c = (size_t)cluster[lane];
    double *left = has_spread ? NULL : work->left + (size_t)lane * work->stride;
    double *matrix = matrix_of(work, n, lane);
    if (width_of(n) == 1) {
      look_at_cluster(problem, point, c, 1, left, matrix, work);
      is_definite &= invert_alone(work->n_missing, matrix, work->column, work->log_det + lane);
    } else {
      look_at_cluster(problem, point, c, GROUP, left, matrix, work);
    }
  }
  if (width_of(n) > 1) {
    fill_lanes(n, work);
    is_definite =
        sweep_group(work->n_missing, has_spread, work->matrix, work->column, work->log_det);
  }
  return is_definite ? GPS_OK : GPS_NOT_POSDEF;
}

/* How far missing cell i is expected from the mean of a cluster, in units of the scale. */
GPS_INLINE double step_of(const group_work *work, int n, int lane, size_t i) {
  const size_t width = width_of(n);
  return matrix_of(work, n, lane)[row_start(work->n_missing, width, work->n_missing) + i * width];
}

/* |r + V_M steps|^2, steps [m] */
GPS_INLINE double left_square(const group_work *work, const double *whitener, const double *left,
                              const double *steps) {
  const size_t stride = work->stride;
  double total[LANES] = {0};
  size_t n_columns = 0;
  for (size_t top = 0; top < stride; top += LANES) {
    double row[LANES];
#pragma omp simd
    for (size_t k = 0; k < LANES; k++) row[k] = left[top + k];
    while (n_columns < work->n_missing && (size_t)work->missing[n_columns] < top + LANES) {
      n_columns++;
    }
    for (size_t i = 0; i < n_columns; i++) {
      const double *column = whitener + (size_t)work->missing[i] * stride + top;
#pragma omp simd
      for (int k = 0; k < LANES; k++) row[k] += steps[i] * column[k];
    }
#pragma omp simd
    for (int k = 0; k < LANES; k++) total[k] += row[k] * row[k];
  }
  return sum_eight(total);
}

/* Log joints of clusters with covariances of their own, after expect_group(). */
GPS_CLONES static void group_joints(const gps_problem *problem, int n, const int *cluster,
                                    double *value, const group_work *work) {
  double *steps = work->column;
  for (int lane = 0; lane < n; lane++) {
    const size_t c = (size_t)cluster[lane];
    for (size_t i = 0; i < work->n_missing; i++) {
      steps[i] = problem->input[SCALE][work->missing[i]] * step_of(work, n, lane, i);
    }
    const double square =
        left_square(work, whitener_of(problem, c), work->left + (size_t)lane * work->stride, steps);
    value[lane] = problem->input[LOG_SCALE][c] - 0.5 * (square + work->log_det[lane]);
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

/* Joints of up to GROUP clusters. */
static gps_status joints_of_group(const gps_problem *problem, const gps_point *point, int n,
                                  const int *cluster, double *value, double *scratch) {
  if (kind_of(problem) == TIED) {
    mixture_tied_expect(problem, point, n, cluster, scratch);
    mixture_tied_joints(problem, point, n, cluster, value, scratch);
    return GPS_OK;
  }
  const group_work work = lay_out(problem, point, scratch);
  const gps_status status = expect_group(problem, point, n, cluster, 0, &work);
  if (status == GPS_OK) group_joints(problem, n, cluster, value, &work);
  return status;
}

static gps_status matrix_joints(const gps_problem *problem, const gps_point *point, int n_slots,
                                const int *latent, double *value, double *scratch) {
  int n, slot[GROUP], cluster[GROUP];
  double found[GROUP];
  gps_status status = mixture_missing_begin(problem, point, scratch);
  for (int from = 0; from < n_slots && status == GPS_OK;) {
    from = next_group(n_slots, latent, from, &n, slot, cluster);
    if (n == 0) break;
    status = joints_of_group(problem, point, n, cluster, found, scratch);
    for (int i = 0; i < n; i++) value[slot[i]] = found[i];
  }
  return status;
}

/* The squared distance of the cells that are there from the mean, in columns that are multiplied by
 * whitener [D] unless that is NULL. */
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
  if (is_matrix(problem)) return matrix_joints(problem, point, n, latent, value, scratch);
  for (int i = 0; i < n; i++) {
    if (latent[i] >= 0) value[i] = independent_joint(problem, point, (size_t)latent[i]);
  }
  return GPS_OK;
}

gps_status mixture_missing_begin(const gps_problem *problem, const gps_point *point,
                                 double *scratch) {
  return kind_of(problem) == TIED ? mixture_tied_begin(problem, point, scratch) : GPS_OK;
}

gps_status mixture_missing_expect(const gps_problem *problem, const gps_point *point, int n,
                                  const int *cluster, double *scratch) {
  if (!is_matrix(problem)) return GPS_OK;
  if (kind_of(problem) == TIED) {
    mixture_tied_expect(problem, point, n, cluster, scratch);
    return GPS_OK;
  }
  const group_work work = lay_out(problem, point, scratch);
  return expect_group(problem, point, n, cluster, 1, &work);
}

void mixture_missing_means(const gps_problem *problem, const gps_point *point, size_t c, int n,
                           int lane, double *expected, double *scratch) {
  if (kind_of(problem) == TIED) {
    mixture_tied_means(problem, point, lane, expected, scratch);
    return;
  }
  const group_work work = lay_out(problem, point, scratch);
  const double *mu = problem->input[MU] + c * work.n_dims;
  for (size_t i = 0; i < work.n_missing; i++) {
    const size_t d = (size_t)work.missing[i];
    expected[i] = mu[d];
    if (kind_of(problem) == FULL) {
      expected[i] += step_of(&work, n, lane, i) * problem->input[SCALE][d];
    }
  }
}

/* second [stride x D] += weight times the covariances of expect_group(). */
GPS_CLONES static void full_spread(const gps_problem *problem, const group_work *work, int n,
                                   int lane, double weight, double *second) {
  const size_t width = width_of(n), m = work->n_missing;
  const double *matrix = matrix_of(work, n, lane), sign = width == 1 ? weight : -weight;
  double *scale = work->column;
  for (size_t i = 0; i < m; i++) scale[i] = problem->input[SCALE][work->missing[i]];
  for (size_t i = 0; i < m; i++) {
    const size_t d = (size_t)work->missing[i];
    const double *row = matrix + row_start(m, width, i), factor = sign * scale[i];
    double *column = second + d * work->stride;
    for (size_t j = 0; j < i; j++) {
      const double value = factor * scale[j] * row[j * width];
      column[work->missing[j]] += value;
      second[d + (size_t)work->missing[j] * work->stride] += value;
    }
    column[d] += factor * scale[i] * row[i * width];
  }
}

void mixture_missing_spread(const gps_problem *problem, const gps_point *point, size_t c, int n,
                            int lane, double weight, double *second, double *scratch) {
  const group_work work = lay_out(problem, point, scratch);
  const double *sigma = problem->input[SIGMA];
  if (kind_of(problem) == FULL) {
    full_spread(problem, &work, n, lane, weight, second);
  } else if (kind_of(problem) == DIAGONAL) {
    for (size_t i = 0; i < work.n_missing; i++) {
      second[work.missing[i]] += weight * sigma[(size_t)work.missing[i] + c * work.n_dims];
    }
  } else {
    *second += weight * (double)work.n_missing * sigma[c];
  }
}

/* What the missing cells are expected to be in up to MIXTURE_GROUP clusters, `share` times each. */
static gps_status describe_group(const gps_problem *problem, const gps_point *point, int n,
                                 const int *cluster, const double *share, double *response,
                                 double *expected, double *scratch) {
  const int n_missing = gps_n_missing(problem, point->index);
  const int *missing = gps_missing_of(problem, point->index);
  const gps_status status = mixture_missing_expect(problem, point, n, cluster, scratch);
  if (status != GPS_OK) return status;
  for (int lane = 0; lane < n; lane++) {
    mixture_missing_means(problem, point, (size_t)cluster[lane], n, lane, expected, scratch);
    for (int i = 0; i < n_missing; i++) response[missing[i]] += share[lane] * expected[i];
  }
  return GPS_OK;
}

gps_status mixture_missing_describe(const gps_problem *problem, const gps_point *point, int n_slots,
                                    const double *prob, double *response, double *expected,
                                    double *scratch) {
  double share[MIXTURE_GROUP];
  int n = 0, cluster[MIXTURE_GROUP];
  for (int i = 0; i < gps_n_missing(problem, point->index); i++) {
    response[gps_missing_of(problem, point->index)[i]] = 0;
  }
  gps_status status = mixture_missing_begin(problem, point, scratch);
  for (int k = 0; k < n_slots && status == GPS_OK; k++) {
    if (point->latent[k] >= 0) {
      cluster[n] = point->latent[k];
      share[n++] = prob[k];
    }
    if (n == 0 || (n < MIXTURE_GROUP && k < n_slots - 1)) continue;
    status = describe_group(problem, point, n, cluster, share, response, expected, scratch);
    n = 0;
  }
  return status;
}
