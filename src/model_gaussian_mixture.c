/* Model D of the paper, the Gaussian mixture: one of C clusters is on, y ~ N(mu_c, Sigma_c),
 * Sigma_c full, diagonal or spherical (equation 7). Whitened distances for the log joint, moments
 * about a fixed centre, closed-form M-step. Reached through the table model_gaussian_mixture only.
 */
#include <math.h>
#include <string.h>

#include "gpselect/model.h"
#include "linalg.h"
#include "vector_math.h"

enum { MU, SIGMA, PI, CENTRE, OPTIONS, WHITENER, LOG_SCALE };
static const char *const inputs[] = {"mu",      "sigma",    "pi",        "centre",
                                     "options", "whitener", "log_scale", NULL};

/* options: kind of covariance, floor of its eigenvalues, floor of pi */
enum { KIND, SIGMA_FLOOR, PI_FLOOR };
enum { FULL, DIAGONAL, SPHERICAL };

enum { COUNT, ON, FIRST, SECOND };
static const char *const stats_names[] = {"count", "on", "first", "second", NULL};

enum { EVENT_SIGMA, EVENT_PI, EVENT_EMPTY };

#define LOG_TWO_PI 1.8378770664093454836
/* Columns of a whitener start on whole vectors: rows beyond n_dims are zero. */
#define LANES 8
/* A responsibility below this cannot change a sum of up to 1e5 points in its last digit. */
#define NEGLIGIBLE 1e-22

static size_t stride_of(size_t n_dims) { return (n_dims + LANES - 1) / LANES * LANES; }

static int kind_of(const gps_problem *problem) { return (int)problem->input[OPTIONS][KIND]; }

/* whitener [stride x D] <- inverse of the lower Cholesky factor of sigma [D x D]; *log_det of
 * sigma. */
static gps_status invert_factor(const double *sigma, size_t n_dims, double *whitener,
                                double *log_det, const gps_watch *watch) {
  const size_t stride = stride_of(n_dims);
  memset(whitener, 0, stride * n_dims * sizeof *whitener);
  for (size_t j = 0; j < n_dims; j++) {
    memcpy(whitener + j * stride + j, sigma + j * n_dims + j, (n_dims - j) * sizeof *sigma);
  }
  const gps_status status = linalg_cholesky(n_dims, whitener, stride);
  if (status != GPS_OK) return status;
  *log_det = 0;
  for (size_t j = 0; j < n_dims; j++) *log_det += 2 * log(whitener[j * (stride + 1)]);
  return linalg_invert_lower(n_dims, whitener, stride, watch);
}

/* whitener: inverse Cholesky factors [stride x D x C], inverse standard deviations [D x C] or [C];
 * log_scale [C] = log pi_c - D/2 log 2 pi - 1/2 log det Sigma_c. */
static gps_status prepare(const gps_problem *problem, const double *y, double *const *prepared) {
  const size_t n_dims = (size_t)problem->shape.n_dims,
               n_clusters = (size_t)problem->shape.n_latents;
  const double *sigma = problem->input[SIGMA];
  double *whitener = prepared[0], *log_scale = prepared[1];
  const int kind = kind_of(problem);
  (void)y;
  for (size_t c = 0; c < n_clusters; c++) {
    double log_det = 0;
    if (gps_must_stop(problem->watch)) return GPS_INTERRUPTED;
    if (kind == FULL) {
      const size_t stride = stride_of(n_dims);
      const gps_status status =
          invert_factor(sigma + c * n_dims * n_dims, n_dims, whitener + c * stride * n_dims,
                        &log_det, problem->watch);
      if (status != GPS_OK) return status;
    } else if (kind == DIAGONAL) {
      for (size_t d = c * n_dims; d < (c + 1) * n_dims; d++) {
        whitener[d] = 1 / sqrt(sigma[d]);
        log_det += log(sigma[d]);
      }
    } else {
      whitener[c] = 1 / sqrt(sigma[c]);
      log_det = (double)n_dims * log(sigma[c]);
    }
    log_scale[c] = log(problem->input[PI][c]) - 0.5 * ((double)n_dims * LOG_TWO_PI + log_det);
  }
  return GPS_OK;
}

/* |factor x|^2 of a lower triangle [stride x D], eight rows at a time. */
GPS_INLINE double whitened_square(const double *factor, const double *x, size_t n_dims,
                                  size_t stride) {
  double total[LANES] = {0};
  for (size_t top = 0; top < stride; top += LANES) {
    const size_t n_columns = top + LANES < n_dims ? top + LANES : n_dims;
    double row[LANES] = {0};
    for (size_t j = 0; j < n_columns; j++) {
#pragma omp simd
      for (int i = 0; i < LANES; i++) row[i] += factor[j * stride + top + i] * x[j];
    }
#pragma omp simd
    for (int i = 0; i < LANES; i++) total[i] += row[i] * row[i];
  }
  return ((total[0] + total[4]) + (total[1] + total[5])) +
         ((total[2] + total[6]) + (total[3] + total[7]));
}

/* Squared Mahalanobis distance of y to cluster c; difference [D] is scratch. */
GPS_INLINE double distance_square(const gps_problem *problem, const double *y, size_t c,
                                  double *difference) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const double *mu = problem->input[MU] + c * n_dims, *whitener = problem->input[WHITENER];
  const int kind = kind_of(problem);
#pragma omp simd
  for (size_t d = 0; d < n_dims; d++) difference[d] = y[d] - mu[d];
  if (kind == FULL) {
    const size_t stride = stride_of(n_dims);
    return whitened_square(whitener + c * stride * n_dims, difference, n_dims, stride);
  }
  double sum = 0;
  if (kind == DIAGONAL) {
#pragma omp simd reduction(+ : sum)
    for (size_t d = 0; d < n_dims; d++) {
      const double z = difference[d] * whitener[c * n_dims + d];
      sum += z * z;
    }
    return sum;
  }
#pragma omp simd reduction(+ : sum)
  for (size_t d = 0; d < n_dims; d++) sum += difference[d] * difference[d];
  return sum * whitener[c] * whitener[c];
}

/* scratch: a difference, and y about the centre with zeros up to the stride */
static size_t scratch_size(const gps_problem *problem, const gps_states *states) {
  (void)states;
  return 2 * stride_of((size_t)problem->shape.n_dims);
}

/* value [n] for latents [n]; a latent of -1 gets -Inf. */
GPS_CLONES static void cluster_log_joint(const gps_problem *problem, const double *y, int n,
                                         const int *latent, double *value, double *difference) {
  for (int i = 0; i < n; i++) {
    const int c = latent[i];
    value[i] = c < 0 ? -HUGE_VAL
                     : problem->input[LOG_SCALE][c] -
                           0.5 * distance_square(problem, y, (size_t)c, difference);
  }
}

/* One-hot template: state m is slot active[m]. */
static gps_status log_joint(const gps_problem *problem, const gps_point *point,
                            const gps_states *states, double *value, double *scratch) {
  if (states->max_active != 1 || states->n_states != states->n_slots) return GPS_BAD_MODEL;
  cluster_log_joint(problem, point->y, states->n_slots, point->latent, value, scratch);
  return GPS_OK;
}

/* second [stride x D] += weight * x x', whole columns of the stride. */
GPS_INLINE void add_outer(double *second, const double *x, double weight, size_t n_dims,
                          size_t stride) {
  for (size_t j = 0; j < n_dims; j++) {
    const double scaled = weight * x[j];
    for (size_t top = 0; top < stride; top += LANES) {
#pragma omp simd
      for (int i = 0; i < LANES; i++) second[j * stride + top + i] += scaled * x[top + i];
    }
  }
}

GPS_CLONES static void add_moments(const gps_problem *problem, const double *x, double weight,
                                   size_t c, double *const *stats) {
  const size_t n_dims = (size_t)problem->shape.n_dims, stride = stride_of(n_dims);
  const int kind = kind_of(problem);
  stats[ON][c] += weight;
  double *first = stats[FIRST] + c * n_dims;
#pragma omp simd
  for (size_t d = 0; d < n_dims; d++) first[d] += weight * x[d];
  if (kind == FULL) {
    add_outer(stats[SECOND] + c * stride * n_dims, x, weight, n_dims, stride);
  } else if (kind == DIAGONAL) {
    double *second = stats[SECOND] + c * n_dims;
#pragma omp simd
    for (size_t d = 0; d < n_dims; d++) second[d] += weight * x[d] * x[d];
  } else {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t d = 0; d < n_dims; d++) sum += x[d] * x[d];
    stats[SECOND][c] += weight * sum;
  }
}

static gps_status accumulate(const gps_problem *problem, const gps_point *point,
                             const gps_states *states, const double *prob, double *const *stats,
                             double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, stride = stride_of(n_dims);
  double *x = scratch + stride;
  for (size_t d = 0; d < n_dims; d++) x[d] = point->y[d] - problem->input[CENTRE][d];
  for (size_t d = n_dims; d < stride; d++) x[d] = 0;
  stats[COUNT][0] += 1;
  for (int i = 0; i < states->n_slots; i++) {
    if (point->latent[i] >= 0 && prob[i] > NEGLIGIBLE) {
      add_moments(problem, x, prob[i], (size_t)point->latent[i], stats);
    }
  }
  return GPS_OK;
}

/* Posterior means of the indicators are the responsibilities; the response is the mean of the mu_c
 * under them. */
static gps_status describe(const gps_problem *problem, const gps_point *point,
                           const gps_states *states, const double *prob, double *latent,
                           double *response, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  (void)scratch;
  memcpy(latent, prob, (size_t)states->n_slots * sizeof *latent);
  if (!response) return GPS_OK;
  memset(response, 0, n_dims * sizeof *response);
  for (int i = 0; i < states->n_slots; i++) {
    if (point->latent[i] < 0) continue;
    const double *mu = problem->input[MU] + (size_t)point->latent[i] * n_dims;
    for (size_t d = 0; d < n_dims; d++) response[d] += prob[i] * mu[d];
  }
  return GPS_OK;
}

/* Clusters exclude each other: nothing can be added to a cluster that is on. */
static gps_status gain(const gps_problem *problem, const gps_point *point, int n_given,
                       const int *given, int n_candidates, const int *candidate, double *value,
                       double *scratch) {
  (void)given;
  if (n_given > 0) {
    for (int i = 0; i < n_candidates; i++) value[i] = -HUGE_VAL;
    return GPS_OK;
  }
  cluster_log_joint(problem, point->y, n_candidates, candidate, value, scratch);
  return GPS_OK;
}

/* scratch: a shift [D]; eigenvectors and a product, each [D x D]; eigenvalues [D] and their
 * search's own */
static size_t mstep_scratch(const gps_problem *problem) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  return 2 * n_dims * n_dims + 2 * n_dims + linalg_eigen_sym_scratch(n_dims);
}

/* pi = on / count, the exact maximiser under pi_c >= floor: the clusters at the floor keep it, the
 * others share the rest in proportion. */
static void update_pi(size_t n_clusters, const double *on, double floor, double *pi, int *events) {
  double free_mass = 1, free_on = 0;
  for (size_t c = 0; c < n_clusters; c++) {
    pi[c] = -1;
    free_on += on[c];
  }
  for (int changed = 1; changed;) {
    changed = 0;
    for (size_t c = 0; c < n_clusters; c++) {
      if (pi[c] > 0 || on[c] * free_mass >= floor * free_on) continue;
      pi[c] = floor;
      free_mass -= floor;
      free_on -= on[c];
      changed = 1;
      events[EVENT_PI]++;
    }
  }
  for (size_t c = 0; c < n_clusters; c++) {
    if (pi[c] < 0) pi[c] = on[c] / free_on * free_mass;
  }
}

/* Raise the eigenvalues of sigma [D x D] that lie below the floor. */
static gps_status floor_eigenvalues(double *sigma, size_t n_dims, double floor, int *events,
                                    double *scratch) {
  double *vector = scratch, *product = vector + n_dims * n_dims, *value = product + n_dims * n_dims;
  memcpy(vector, sigma, n_dims * n_dims * sizeof *sigma);
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
  return GPS_OK;
}

/* Sigma_c = second / on - shift shift', shift = mu_c - centre [D]. */
static gps_status update_sigma(const gps_problem *problem, const double *const *stats, size_t c,
                               const double *shift, double *sigma, int *events, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, stride = stride_of(n_dims);
  const double floor = problem->input[OPTIONS][SIGMA_FLOOR], on = stats[ON][c];
  const int kind = kind_of(problem);
  if (kind == FULL) {
    double *to = sigma + c * n_dims * n_dims;
    const double *second = stats[SECOND] + c * stride * n_dims;
    for (size_t j = 0; j < n_dims; j++) {
      for (size_t i = j; i < n_dims; i++) {
        to[i + j * n_dims] = to[j + i * n_dims] = second[i + j * stride] / on - shift[i] * shift[j];
      }
    }
    return floor_eigenvalues(to, n_dims, floor, events, scratch);
  }
  if (kind == DIAGONAL) {
    for (size_t d = 0; d < n_dims; d++) {
      const double variance = stats[SECOND][d + c * n_dims] / on - shift[d] * shift[d];
      events[EVENT_SIGMA] += variance < floor;
      sigma[d + c * n_dims] = variance < floor ? floor : variance;
    }
    return GPS_OK;
  }
  double variance = stats[SECOND][c] / on;
  for (size_t d = 0; d < n_dims; d++) variance -= shift[d] * shift[d];
  variance /= (double)n_dims;
  events[EVENT_SIGMA] += variance < floor;
  sigma[c] = variance < floor ? floor : variance;
  return GPS_OK;
}

/* A cluster with less than one point keeps its mean, one with fewer points than D + 1 its
 * covariance: the step is still a maximisation over the rest. */
static gps_status mstep(const gps_problem *problem, const double *const *stats,
                        double *const *params_new, int *events, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims,
               n_clusters = (size_t)problem->shape.n_latents;
  const int kind = kind_of(problem);
  const double needed = kind == FULL ? (double)n_dims + 1 : 2;
  double *shift = scratch;
  scratch += n_dims;
  update_pi(n_clusters, stats[ON], problem->input[OPTIONS][PI_FLOOR], params_new[PI], events);
  for (size_t c = 0; c < n_clusters; c++) {
    const double on = stats[ON][c];
    if (gps_must_stop(problem->watch)) return GPS_INTERRUPTED;
    if (on < 1) {
      events[EVENT_EMPTY]++;
      continue;
    }
    for (size_t d = 0; d < n_dims; d++) {
      shift[d] = stats[FIRST][d + c * n_dims] / on;
      params_new[MU][d + c * n_dims] = problem->input[CENTRE][d] + shift[d];
    }
    if (on < needed) continue;
    const gps_status status =
        update_sigma(problem, stats, c, shift, params_new[SIGMA], events, scratch);
    if (status != GPS_OK) return status;
  }
  return GPS_OK;
}

const gps_model model_gaussian_mixture = {
    .api = GPS_MODEL_API,
    .inputs = inputs,
    .stats = stats_names,
    .scratch_size = scratch_size,
    .log_joint = log_joint,
    .accumulate = accumulate,
    .describe = describe,
    .gain = gain,
    .prepare = prepare,
    .mstep_scratch = mstep_scratch,
    .mstep = mstep,
};
