/* Missing cells of the Gaussian mixture where all clusters have one covariance: as in
 * model_gaussian_missing.c, but the covariance of a point's missing cells, L_MM^-1, is found once.
 * What is left of a point in a cluster, whitened, is a difference of two vectors that are there
 * already, when the cells that are missing are put at the centre: they are expected as far from it
 * as L_MM^-1 V_M'r says, whatever they are put at. Clusters are looked at side by side. The second
 * moments of a point over its clusters are those about their mean, to which the caller adds the
 * mean's own. */
#include "model_gaussian_tied.h"

#include <string.h>

#include "model_gaussian_group.h"
#include "model_gaussian_mixture.h"
#include "vector_math.h"

typedef struct {
  size_t n_dims, stride, n_missing, width; /* width: whole vectors of m */
  const int *missing;                      /* [m] */
  double *left;                            /* [GROUP x stride]: r of each cluster */
  double *side, *step;                     /* [GROUP x m]: V_M'r, and how far cells are expected
                                              from the centre in units of the scale */
  double *inverse;                         /* [width x m], and a row that invert_alone() needs */
  double *between;                         /* [width x m]: sum of share step step' */
  double *sum;                             /* [width]: sum of share step */
  double *row;                             /* [2 width] */
  double *whitened;                        /* [stride]: the point about the centre */
  double *scale;                           /* [m] */
  double *log_det, *total;                 /* of L_MM, and the sum of shares */
} tied_work;

size_t mixture_tied_scratch(const gps_problem *problem) {
  const size_t n_dims = (size_t)problem->shape.n_dims, stride = stride_of(n_dims);
  return GROUP * (stride + 2 * n_dims + 1) + 2 * stride * (n_dims + 1) + 6 * stride + 2;
}

static tied_work tied_lay_out(const gps_problem *problem, const gps_point *point, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const size_t n = (size_t)gps_n_missing(problem, point->index);
  tied_work work = {.n_dims = n_dims,
                    .stride = stride_of(n_dims),
                    .n_missing = n,
                    .width = stride_of(n),
                    .missing = gps_missing_of(problem, point->index)};
  work.left = align_lanes(scratch);
  work.side = work.left + GROUP * work.stride;
  work.step = work.side + GROUP * n;
  work.inverse = work.step + GROUP * n;
  work.between = work.inverse + work.width * (n + 1);
  work.sum = work.between + work.width * n;
  work.row = work.sum + work.width;
  work.whitened = work.row + 2 * work.width;
  work.scale = work.whitened + work.stride;
  work.log_det = work.scale + work.stride;
  work.total = work.log_det + 1;
  return work;
}

/* The point about the centre, whitened; scratch [stride] */
GPS_INLINE void whiten_point(const gps_problem *problem, const double *y, const tied_work *work,
                             double *difference) {
  for (size_t d = 0; d < work->n_dims; d++) difference[d] = y[d] - problem->input[CENTRE][d];
  for (size_t i = 0; i < work->n_missing; i++) difference[work->missing[i]] = 0;
  whiten(problem->input[WHITENER], difference, work->n_dims, work->stride, work->whitened);
}

GPS_CLONES gps_status mixture_tied_begin(const gps_problem *problem, const gps_point *point,
                                         double *scratch) {
  const tied_work work = tied_lay_out(problem, point, scratch);
  const size_t m = work.n_missing, width = work.width;
  whiten_point(problem, point->y, &work, work.left);
  memset(work.inverse, 0, width * (m + 1) * sizeof *work.inverse);
  memset(work.between, 0, width * (m + 1) * sizeof *work.between);
  *work.total = 0;
  for (size_t i = 0; i < m; i++) {
    const size_t d = (size_t)work.missing[i];
    const double *from = problem->input[PRECISION] + d * work.stride;
    work.scale[i] = problem->input[SCALE][d];
    for (size_t j = 0; j < m; j++) work.inverse[i * width + j] = from[work.missing[j]];
  }
  return invert_alone(m, work.inverse, work.row, work.log_det) ? GPS_OK : GPS_NOT_POSDEF;
}

/* sum [GROUP] of factor [n] times rows [GROUP x n]; factors are `apart` from each other. */
GPS_INLINE void sum_rows(size_t n, const double *restrict factor, size_t apart,
                         const double *restrict rows, double *restrict sum) {
  double even[GROUP] = {0}, odd[GROUP] = {0};
  size_t k = 0;
  for (; k + 1 < n; k += 2) {
    const double *row = rows + k * GROUP;
    const double first = factor[k * apart], second = factor[(k + 1) * apart];
#pragma omp simd
    for (int l = 0; l < GROUP; l++) {
      even[l] += first * row[l];
      odd[l] += second * row[GROUP + l];
    }
  }
  const double last = k < n ? factor[k * apart] : 0;
  const double *row = rows + (k < n ? k : 0) * GROUP;
#pragma omp simd
  for (int l = 0; l < GROUP; l++) sum[l] = even[l] + odd[l] + last * row[l];
}

/* r of a cluster into its lane. */
GPS_INLINE void subtract_cluster(const gps_problem *problem, int c, int lane,
                                 const tied_work *work) {
  const double *mu = problem->input[WHITENED_MU] + (size_t)c * work->stride;
  double *to = work->left + lane;
  for (size_t d = 0; d < work->stride; d++) to[d * GROUP] = work->whitened[d] - mu[d];
}

GPS_CLONES void mixture_tied_expect(const gps_problem *problem, const gps_point *point, int n,
                                    const int *cluster, double *scratch) {
  const tied_work work = tied_lay_out(problem, point, scratch);
  const size_t m = work.n_missing;
  /* Lanes beyond the n clusters are as the first. */
  for (int l = 0; l < GROUP; l++) subtract_cluster(problem, cluster[l < n ? l : 0], l, &work);
  for (size_t i = 0; i < m; i++) {
    const size_t d = (size_t)work.missing[i];
    double *side = work.side + i * GROUP;
    sum_rows(work.n_dims - d, problem->input[WHITENER] + d * work.stride + d, 1,
             work.left + d * GROUP, side);
    for (int l = 0; l < GROUP; l++) side[l] *= -work.scale[i];
  }
  for (size_t i = 0; i < m; i++) {
    sum_rows(m, work.inverse + i * work.width, 1, work.side, work.step + i * GROUP);
  }
}

/* |r + V_M steps|^2 + log det L_MM, with `side` for the steps in units of the data. */
GPS_CLONES void mixture_tied_joints(const gps_problem *problem, const gps_point *point, int n,
                                    const int *cluster, double *value, double *scratch) {
  const tied_work work = tied_lay_out(problem, point, scratch);
  const double *whitener = problem->input[WHITENER];
  double square[GROUP] = {0};
  for (size_t i = 0; i < work.n_missing; i++) {
    for (int l = 0; l < GROUP; l++) {
      work.side[i * GROUP + (size_t)l] = work.scale[i] * work.step[i * GROUP + (size_t)l];
    }
  }
  for (size_t d = 0, n_columns = 0; d < work.n_dims; d++) {
    double row[GROUP];
#pragma omp simd
    for (int l = 0; l < GROUP; l++) row[l] = work.left[d * GROUP + (size_t)l];
    while (n_columns < work.n_missing && (size_t)work.missing[n_columns] <= d) n_columns++;
    for (size_t i = 0; i < n_columns; i++) {
      const double factor = whitener[(size_t)work.missing[i] * work.stride + d];
#pragma omp simd
      for (int l = 0; l < GROUP; l++) row[l] += factor * work.side[i * GROUP + (size_t)l];
    }
#pragma omp simd
    for (int l = 0; l < GROUP; l++) square[l] += row[l] * row[l];
  }
  for (int l = 0; l < n; l++) {
    value[l] = problem->input[LOG_SCALE][cluster[l]] - 0.5 * (square[l] + *work.log_det);
  }
}

void mixture_tied_means(const gps_problem *problem, const gps_point *point, int lane,
                        double *expected, double *scratch) {
  const tied_work work = tied_lay_out(problem, point, scratch);
  for (size_t i = 0; i < work.n_missing; i++) {
    expected[i] = problem->input[CENTRE][work.missing[i]] +
                  work.scale[i] * work.step[i * GROUP + (size_t)lane];
  }
}

GPS_CLONES void mixture_tied_note(const gps_problem *problem, const gps_point *point, int n,
                                  const double *share, double *scratch) {
  const tied_work work = tied_lay_out(problem, point, scratch);
  const size_t m = work.n_missing, width = work.width;
  double *step = work.row;
  memset(step, 0, width * sizeof *step);
  for (int l = 0; l < n; l++) {
    *work.total += share[l];
    for (size_t i = 0; i < m; i++) step[i] = work.step[i * GROUP + (size_t)l];
#pragma omp simd
    for (size_t j = 0; j < width; j++) work.sum[j] += share[l] * step[j];
    for (size_t i = 0; i < m; i++) {
      const double factor = share[l] * step[i];
      double *between = work.between + i * width;
#pragma omp simd
      for (size_t j = 0; j < width; j++) between[j] += factor * step[j];
    }
  }
}

void mixture_tied_spread(const gps_problem *problem, const gps_point *point, double *x,
                         double *second, double *scratch) {
  const tied_work work = tied_lay_out(problem, point, scratch);
  const size_t m = work.n_missing;
  const double total = *work.total;
  if (!(total > 0)) return;
  for (size_t i = 0; i < m; i++) {
    const double mean = work.sum[i] / total, *inverse = work.inverse + i * work.width;
    const double *between = work.between + i * work.width;
    double *column = second + (size_t)work.missing[i] * work.stride;
    x[work.missing[i]] = work.scale[i] * mean;
    for (size_t j = 0; j < m; j++) {
      const double varies = total * inverse[j] + between[j] - mean * work.sum[j];
      column[work.missing[j]] += work.scale[i] * work.scale[j] * varies;
    }
  }
}
