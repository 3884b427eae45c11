/* Closed-form M-step of the Gaussian mixture: weights, means, covariances and their floors. */
#include <string.h>

#include "linalg.h"
#include "model_gaussian_mixture.h"
#include "model_mixture.h"

enum { EVENT_SIGMA, EVENT_PI, EVENT_EMPTY, EVENT_KEPT };

/* Numbers of one covariance. */
static size_t sigma_size(const gps_problem *problem) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const int kind = kind_of(problem);
  return is_matrix(problem) ? n_dims * n_dims : kind == DIAGONAL ? n_dims : 1;
}

/* scratch: a shift [D] and two covariances; where they are matrices eigenvalues [D], and their
 * search's own */
size_t mixture_mstep_scratch(const gps_problem *problem) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const size_t common = n_dims + 2 * sigma_size(problem);
  return is_matrix(problem) ? common + n_dims + linalg_eigen_sym_scratch(n_dims) : common;
}

/* to [D x D] <- sigma in units of the scale. */
static void standardise(const double *sigma, const double *scale, size_t n_dims, double *to) {
  for (size_t j = 0; j < n_dims; j++) {
    for (size_t i = 0; i < n_dims; i++) {
      to[i + j * n_dims] = sigma[i + j * n_dims] / (scale[i] * scale[j]);
    }
  }
}

/* Whether all eigenvalues of sigma in units of the scale exceed the floor: what is left of it has a
 * Cholesky factor. scratch [D x D] */
static int is_above_floor(const double *sigma, const double *scale, size_t n_dims, double floor,
                          double *scratch) {
  standardise(sigma, scale, n_dims, scratch);
  for (size_t d = 0; d < n_dims; d++) scratch[d * (n_dims + 1)] -= floor;
  return linalg_cholesky(n_dims, scratch, n_dims) == GPS_OK;
}

/* Raise the eigenvalues of sigma [D x D], in units of the scale, that lie below the floor. */
static gps_status floor_eigenvalues(double *sigma, const double *scale, size_t n_dims, double floor,
                                    int *events, double *scratch) {
  double *vector = scratch, *product = vector + n_dims * n_dims, *value = product + n_dims * n_dims;
  if (is_above_floor(sigma, scale, n_dims, floor, vector)) return GPS_OK;
  standardise(sigma, scale, n_dims, vector);
  const gps_status status = linalg_eigen_sym(n_dims, vector, value, value + n_dims);
  if (status != GPS_OK) return status;
  int n_low = 0;
  for (size_t k = 0; k < n_dims; k++) {
    const double raised = value[k] < floor ? floor : value[k];
    n_low += value[k] < floor;
    for (size_t d = 0; d < n_dims; d++) product[d + k * n_dims] = vector[d + k * n_dims] * raised;
  }
  if (n_low == 0) return GPS_OK;
  events[EVENT_SIGMA]++;
  linalg_gemm('N', 'T', n_dims, n_dims, n_dims, 1, product, n_dims, vector, n_dims, 0, sigma,
              n_dims);
  for (size_t j = 0; j < n_dims; j++) {
    for (size_t i = j; i < n_dims; i++) {
      sigma[i + j * n_dims] *= scale[i] * scale[j];
      sigma[j + i * n_dims] = sigma[i + j * n_dims];
    }
  }
  return GPS_OK;
}

static gps_status floor_sigma(const gps_problem *problem, double *sigma, int *events,
                              double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const double floor = problem->input[FLOOR_SIGMA][0], *scale = problem->input[SCALE];
  if (is_matrix(problem)) {
    return floor_eigenvalues(sigma, scale, n_dims, floor, events, scratch);
  }
  for (size_t d = 0; d < sigma_size(problem); d++) {
    const double lowest = floor * (scale[d] * scale[d]);
    if (sigma[d] >= lowest) continue;
    sigma[d] = lowest;
    events[EVENT_SIGMA]++;
  }
  return GPS_OK;
}

/* Sigma_c = second / on - shift shift', shift = mu_c - centre [D]; no floor yet. */
static void moment_sigma(const gps_problem *problem, const double *const *stats, size_t c,
                         const double *shift, double *sigma) {
  const size_t n_dims = (size_t)problem->shape.n_dims, stride = stride_of(n_dims);
  const double on = stats[ON][c];
  const int kind = kind_of(problem);
  if (kind == FULL) {
    const double *second = stats[SECOND] + c * stride * n_dims;
    for (size_t j = 0; j < n_dims; j++) {
      for (size_t i = j; i < n_dims; i++) {
        sigma[i + j * n_dims] = sigma[j + i * n_dims] =
            second[i + j * stride] / on - shift[i] * shift[j];
      }
    }
  } else if (kind == DIAGONAL) {
    for (size_t d = 0; d < n_dims; d++) {
      sigma[d] = stats[SECOND][d + c * n_dims] / on - shift[d] * shift[d];
    }
  } else {
    double variance = stats[SECOND][c] / on;
    for (size_t d = 0; d < n_dims; d++) variance -= shift[d] * shift[d];
    *sigma = variance / (double)n_dims;
  }
}

/* shift and mean of a cluster. */
static void update_mean(const gps_problem *problem, const double *const *stats, size_t c,
                        double *shift, double *mu) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  for (size_t d = 0; d < n_dims; d++) {
    shift[d] = stats[FIRST][d + c * n_dims] / stats[ON][c];
    mu[d + c * n_dims] = problem->input[CENTRE][d] + shift[d];
  }
}

/* All clusters' means, and the covariances of those with points enough. */
static gps_status update_each(const gps_problem *problem, const double *const *stats,
                              double *const *params_new, int *events, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, size = sigma_size(problem);
  const double needed = kind_of(problem) == FULL ? (double)n_dims + 1 : 2;
  for (size_t c = 0; c < (size_t)problem->shape.n_latents; c++) {
    const double on = stats[ON][c];
    double *sigma = params_new[SIGMA] + c * size;
    if (gps_must_stop(problem->watch)) return GPS_INTERRUPTED;
    if (on >= 1) update_mean(problem, stats, c, scratch, params_new[MU]);
    events[EVENT_EMPTY] += on < 1;
    events[EVENT_KEPT] += on < needed;
    if (on < needed) continue;
    moment_sigma(problem, stats, c, scratch, sigma);
    const gps_status status = floor_sigma(problem, sigma, events, scratch + n_dims);
    if (status != GPS_OK) return status;
  }
  return GPS_OK;
}

/* The same where the covariance is that of all clusters together: their mean, weighted by points.
 */
static gps_status update_common(const gps_problem *problem, const double *const *stats,
                                double *const *params_new, int *events, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, size = sigma_size(problem),
               n_clusters = (size_t)problem->shape.n_latents;
  double *pooled = scratch + n_dims, *own = pooled + size, *sigma = params_new[SIGMA], total = 0;
  memset(pooled, 0, size * sizeof *pooled);
  for (size_t c = 0; c < n_clusters; c++) {
    const double on = stats[ON][c];
    if (gps_must_stop(problem->watch)) return GPS_INTERRUPTED;
    events[EVENT_EMPTY] += on < 1;
    if (on < 1) continue;
    update_mean(problem, stats, c, scratch, params_new[MU]);
    moment_sigma(problem, stats, c, scratch, own);
    for (size_t i = 0; i < size; i++) pooled[i] += on * own[i];
    total += on;
  }
  if (!(total > 0)) return GPS_OK;
  for (size_t i = 0; i < size; i++) sigma[i] = pooled[i] / total;
  const gps_status status = floor_sigma(problem, sigma, events, pooled);
  if (status != GPS_OK) return status;
  for (size_t c = 1; c < n_clusters; c++) memcpy(sigma + c * size, sigma, size * sizeof *sigma);
  return GPS_OK;
}

/* sigma [D x D], which has a cluster's second moments about the centre, gets those about its mean,
 * the centre + shift [D]. */
static void move_scatter(const double *first, double on, const double *shift, size_t n_dims,
                         double *sigma) {
  for (size_t j = 0; j < n_dims; j++) {
    for (size_t i = j; i < n_dims; i++) {
      sigma[i + j * n_dims] += on * shift[i] * shift[j] - first[i] * shift[j] - shift[i] * first[j];
    }
  }
}

/* The same where there is one covariance, of all points about the means of their clusters, also
 * where a cluster of less than one point keeps its mean. One of fewer points than D + 1 in all is
 * kept. */
static gps_status update_tied(const gps_problem *problem, const double *const *stats,
                              double *const *params_new, int *events, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, stride = stride_of(n_dims);
  const double *centre = problem->input[CENTRE];
  double *shift = scratch, *pooled = scratch + n_dims, total = 0;
  for (size_t j = 0; j < n_dims; j++) {
    memcpy(pooled + j * n_dims, stats[SECOND] + j * stride, n_dims * sizeof *pooled);
  }
  for (size_t c = 0; c < (size_t)problem->shape.n_latents; c++) {
    const double on = stats[ON][c], *mu = params_new[MU] + c * n_dims;
    if (gps_must_stop(problem->watch)) return GPS_INTERRUPTED;
    events[EVENT_EMPTY] += on < 1;
    if (on >= 1) {
      update_mean(problem, stats, c, shift, params_new[MU]);
    } else {
      for (size_t d = 0; d < n_dims; d++) shift[d] = mu[d] - centre[d];
    }
    move_scatter(stats[FIRST] + c * n_dims, on, shift, n_dims, pooled);
    total += on;
  }
  if (total < (double)n_dims + 1) {
    events[EVENT_KEPT]++;
    return GPS_OK;
  }
  double *sigma = params_new[SIGMA];
  for (size_t j = 0; j < n_dims; j++) {
    for (size_t i = j; i < n_dims; i++) {
      sigma[i + j * n_dims] = sigma[j + i * n_dims] = pooled[i + j * n_dims] / total;
    }
  }
  return floor_sigma(problem, sigma, events, pooled);
}

/* A cluster with less than one point keeps its mean, one with fewer points than D + 1 its
 * covariance: the step is still a maximisation over the rest. */
gps_status mixture_mstep(const gps_problem *problem, const double *const *stats,
                         double *const *params_new, int *events, double *scratch) {
  mixture_update_pi((size_t)problem->shape.n_latents, stats[ON], problem->input[FLOOR_PI][0],
                    params_new[PI], events + EVENT_PI);
  if (kind_of(problem) == TIED) return update_tied(problem, stats, params_new, events, scratch);
  return problem->input[COMMON][0] != 0 ? update_common(problem, stats, params_new, events, scratch)
                                        : update_each(problem, stats, params_new, events, scratch);
}
