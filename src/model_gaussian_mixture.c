/* Model D of the paper, the Gaussian mixture: one of C clusters is on, y ~ N(mu_c, Sigma_c),
 * Sigma_c full, diagonal or spherical (equation 6), or tied: one full covariance of all clusters.
 * Whitened distances for the log joint, moments about a fixed centre; what whitens is in
 * model_gaussian_prepare.c, the M-step in model_gaussian_mstep.c. Where covariances are tied,
 * points and means are whitened once each, and all clusters have their second moments in one
 * matrix: a point, which is in one of them, adds to it once. Reached through the table
 * model_gaussian_mixture only. */
#include <math.h>
#include <string.h>

#include "gpselect/model.h"
#include "model_gaussian_missing.h"
#include "model_gaussian_mixture.h"
#include "model_gaussian_moments.h"
#include "model_gaussian_tied.h"
#include "model_mixture.h"
#include "vector_math.h"

static const gps_array params_list[] = {
    {"mu", "dims latents", GPS_NEEDED},
    {"sigma", "dims dims latents|dims latents|latents|dims dims one", GPS_NEEDED},
    {"pi", "latents", GPS_NEEDED},
    GPS_END};
static const gps_array options_list[] = {{"centre", "dims", GPS_NEEDED},
                                         {"scale", "dims", GPS_NEEDED},
                                         {"kind", "one", GPS_NEEDED},
                                         {"floor_sigma", "one", GPS_NEEDED},
                                         {"floor_pi", "one", GPS_NEEDED},
                                         {"common", "one", GPS_NEEDED},
                                         GPS_END};
static const gps_array prepared_list[] = {
    {"whitener", "stride dims latents|dims latents|latents|stride dims one", GPS_NEEDED},
    {"log_scale", "latents", GPS_NEEDED},
    {"log_base", "one", GPS_NEEDED},
    {"whitened_mu", "stride latents", GPS_MAY_MISS},
    {"precision", "stride dims latents gaps|stride dims one gaps", GPS_MAY_MISS},
    GPS_END};
static const gps_array stats_list[] = {
    {"count", "one", GPS_NEEDED},
    {"on", "latents", GPS_NEEDED},
    {"first", "dims latents", GPS_NEEDED},
    {"second", "stride dims latents|dims latents|latents|stride dims one", GPS_NEEDED},
    GPS_END};
static const char *const events_list[] = {"sigma_floor", "pi_floor", "empty_cluster", "sigma_kept",
                                          NULL};

static double shared_term(const gps_problem *problem, const gps_point *point) {
  return problem->input[LOG_BASE][0] + mixture_missing_shared(problem, point);
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
      for (size_t i = 0; i < LANES; i++) row[i] += factor[j * stride + top + i] * x[j];
    }
#pragma omp simd
    for (int i = 0; i < LANES; i++) total[i] += row[i] * row[i];
  }
  return sum_eight(total);
}

/* Squared distance of y from mu [D]. */
GPS_INLINE double plain_square(const double *y, const double *mu, size_t n_dims) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t d = 0; d < n_dims; d++) {
    const double z = y[d] - mu[d];
    sum += z * z;
  }
  return sum;
}

/* The same in columns that are multiplied by factor [D]. */
GPS_INLINE double scaled_square(const double *y, const double *mu, const double *factor,
                                size_t n_dims) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t d = 0; d < n_dims; d++) {
    const double z = (y[d] - mu[d]) * factor[d];
    sum += z * z;
  }
  return sum;
}

/* Squared Mahalanobis distance of y to cluster c of this kind; difference [D] is scratch. */
GPS_INLINE double distance_square(const gps_problem *problem, int kind, const double *y, size_t c,
                                  double *difference) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const double *mu = problem->input[MU] + c * n_dims, *whitener = problem->input[WHITENER];
  if (kind == SPHERICAL) return plain_square(y, mu, n_dims) * whitener[c] * whitener[c];
  if (kind == DIAGONAL) return scaled_square(y, mu, whitener + c * n_dims, n_dims);
#pragma omp simd
  for (size_t d = 0; d < n_dims; d++) difference[d] = y[d] - mu[d];
  return whitened_square(whitener_of(problem, c), difference, n_dims, stride_of(n_dims));
}

/* A difference, y about the centre with zeros up to the stride, and what missing cells need. */
static size_t scratch_size(const gps_problem *problem, const gps_states *states) {
  (void)states;
  return 2 * stride_of((size_t)problem->shape.n_dims) + mixture_missing_scratch(problem);
}

static double *missing_scratch(const gps_problem *problem, double *scratch) {
  return scratch + 2 * stride_of((size_t)problem->shape.n_dims);
}

/* The same of a whitened point [stride] where all clusters have one covariance. */
GPS_INLINE double whitened_distance(const gps_problem *problem, const double *point, size_t c) {
  const size_t stride = stride_of((size_t)problem->shape.n_dims);
  const double *mu = problem->input[WHITENED_MU] + c * stride;
  double total[LANES] = {0};
  for (size_t top = 0; top < stride; top += LANES) {
#pragma omp simd
    for (size_t i = 0; i < LANES; i++) {
      const double z = point[top + i] - mu[top + i];
      total[i] += z * z;
    }
  }
  return sum_eight(total);
}

/* cluster_log_joint() where all clusters have one covariance. */
GPS_CLONES static void tied_log_joint(const gps_problem *problem, const double *y, int n,
                                      const int *latent, double *value, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, stride = stride_of(n_dims);
  double *left = scratch, *difference = scratch + stride;
  for (size_t d = 0; d < n_dims; d++) difference[d] = y[d] - problem->input[CENTRE][d];
  whiten(problem->input[WHITENER], difference, n_dims, stride, left);
  for (int i = 0; i < n; i++) {
    const int c = latent[i];
    value[i] =
        c < 0 ? -HUGE_VAL
              : problem->input[LOG_SCALE][c] - 0.5 * whitened_distance(problem, left, (size_t)c);
  }
}

/* Means of so many numbers do not stay in the nearest cache. */
#define FAR_MEANS 4096

/* value [n] for latents [n]; a latent of -1 gets -Inf. Means of many clusters lie far away, and are
 * asked for together. */
GPS_CLONES static void cluster_log_joint(const gps_problem *problem, const double *y, int n,
                                         const int *latent, double *value, double *difference) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const double *mu = problem->input[MU], *log_scale = problem->input[LOG_SCALE];
  const int kind = kind_of(problem);
  const int is_far = (size_t)problem->shape.n_latents * n_dims > FAR_MEANS;
  for (int i = 0; is_far && i < n; i++) {
    if (latent[i] >= 0) prefetch_doubles(mu + (size_t)latent[i] * n_dims, n_dims);
  }
  for (int i = 0; i < n; i++) {
    const int c = latent[i];
    value[i] = c < 0
                   ? -HUGE_VAL
                   : log_scale[c] - 0.5 * distance_square(problem, kind, y, (size_t)c, difference);
  }
}

static gps_status point_log_joint(const gps_problem *problem, const gps_point *point, int n,
                                  const int *latent, double *value, double *scratch) {
  if (gps_n_missing(problem, point->index) > 0) {
    return mixture_missing_joint(problem, point, n, latent, value,
                                 missing_scratch(problem, scratch));
  }
  if (kind_of(problem) == TIED) {
    tied_log_joint(problem, point->y, n, latent, value, scratch);
  } else {
    cluster_log_joint(problem, point->y, n, latent, value, scratch);
  }
  return GPS_OK;
}

/* One-hot template: state m is slot active[m]. */
static gps_status log_joint(const gps_problem *problem, const gps_point *point,
                            const gps_states *states, double *value, double *scratch) {
  if (states->max_active != 1 || states->n_states != states->n_slots) return GPS_BAD_MODEL;
  return point_log_joint(problem, point, states->n_slots, point->latent, value, scratch);
}

/* What a point adds to a cluster's statistics, see add_to_moments(). */
GPS_CLONES static void add_moments(const gps_problem *problem, const double *x, double weight,
                                   double *on, double *first, double *second) {
  add_to_moments(problem, x, weight, on, first, second);
}

/* The same of a point y with all its cells; x [stride] is scratch. */
GPS_CLONES static void add_whole(const gps_problem *problem, const double *y, double weight,
                                 double *x, double *on, double *first, double *second) {
  centre_point(problem, y, x);
  add_to_moments(problem, x, weight, on, first, second);
}

/* The same of a data point that is in cluster c, the `lane`-th of the n that
 * mixture_missing_expect() has seen. x is it about the centre, scratch[0 .. stride) is free; in x
 * missing cells become what they are expected to be. */
static void add_point(const gps_problem *problem, const gps_point *point, size_t c, int n, int lane,
                      double *x, double weight, double *on, double *first, double *second,
                      double *scratch) {
  const int n_missing = gps_n_missing(problem, point->index);
  if (n_missing > 0) {
    const int *missing = gps_missing_of(problem, point->index);
    double *expected = scratch, *rest = missing_scratch(problem, scratch);
    mixture_missing_means(problem, point, c, n, lane, expected, rest);
    for (int i = 0; i < n_missing; i++) {
      x[missing[i]] = expected[i] - problem->input[CENTRE][missing[i]];
    }
    if (second) mixture_missing_spread(problem, point, c, n, lane, weight, second, rest);
  }
  add_moments(problem, x, weight, on, first, second);
}

/* The second moments of a point that is in some cluster of one covariance, `weight` times. */
GPS_CLONES static void add_once(const gps_problem *problem, const gps_point *point, double *x,
                                double weight, double *second, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  if (gps_n_missing(problem, point->index) > 0) {
    mixture_tied_spread(problem, point, x, second, missing_scratch(problem, scratch));
  }
  add_outer(second, x, weight, n_dims, stride_of(n_dims));
}

/* How far the second moments of a cluster are from those of the next. */
static size_t second_size(const gps_problem *problem) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const int kind = kind_of(problem);
  return kind == FULL        ? stride_of(n_dims) * n_dims
         : kind == DIAGONAL  ? n_dims
         : kind == SPHERICAL ? 1
                             : 0;
}

/* x [stride] <- the point about the centre, zeros beyond D, and what its missing cells need. */
GPS_CLONES static gps_status begin_point(const gps_problem *problem, const gps_point *point,
                                         double *x, double *scratch) {
  centre_point(problem, point->y, x);
  if (!point->observed) return GPS_OK;
  return mixture_missing_begin(problem, point, missing_scratch(problem, scratch));
}

/* All clusters that have a share of a point with all its cells; the value is their sum. */
static double add_shares(const gps_problem *problem, const gps_point *point, int n_slots,
                         const double *prob, double weight, const double *x, double *const *stats,
                         double *second) {
  const size_t n_dims = (size_t)problem->shape.n_dims, size = second_size(problem);
  double total = 0;
  for (int i = 0; i < n_slots; i++) {
    if (!(prob[i] > GPS_NEGLIGIBLE) || point->latent[i] < 0) continue;
    const size_t c = (size_t)point->latent[i];
    total += weight * prob[i];
    add_moments(problem, x, weight * prob[i], stats[ON] + c, stats[FIRST] + c * n_dims,
                second ? second + c * size : NULL);
  }
  return total;
}

/* The same of one that lacks cells, whose needs are found for a group of clusters at once. */
static gps_status add_groups(const gps_problem *problem, const gps_point *point, int n_slots,
                             const double *prob, double weight, double *const *stats,
                             double *second, double *scratch, double *total) {
  const size_t n_dims = (size_t)problem->shape.n_dims, size = second_size(problem);
  double share[MIXTURE_GROUP], *rest = missing_scratch(problem, scratch);
  int cluster[MIXTURE_GROUP];
  for (int i = 0, n = 0; i < n_slots; n = 0) {
    for (; i < n_slots && n < MIXTURE_GROUP; i++) {
      if (!(prob[i] > GPS_NEGLIGIBLE) || point->latent[i] < 0) continue;
      cluster[n] = point->latent[i];
      share[n] = weight * prob[i];
      *total += share[n++];
    }
    if (n == 0) break;
    const gps_status status = mixture_missing_expect(problem, point, n, cluster, rest);
    if (status != GPS_OK) return status;
    if (kind_of(problem) == TIED) mixture_tied_note(problem, point, n, share, rest);
    for (int lane = 0; lane < n; lane++) {
      const size_t c = (size_t)cluster[lane];
      add_point(problem, point, c, n, lane, scratch + stride_of(n_dims), share[lane], stats[ON] + c,
                stats[FIRST] + c * n_dims, second ? second + c * size : NULL, scratch);
    }
  }
  return GPS_OK;
}

static gps_status accumulate(const gps_problem *problem, const gps_point *point,
                             const gps_states *states, const double *prob, double *const *stats,
                             double *scratch) {
  const double weight = gps_weight_of(problem, (size_t)point->index);
  const int is_once = kind_of(problem) == TIED, n_slots = states->n_slots;
  double *x = scratch + stride_of((size_t)problem->shape.n_dims), total = 0;
  double *second = is_once ? NULL : stats[SECOND];
  int n_empty = 0;
  gps_status status = begin_point(problem, point, x, scratch);
  if (status != GPS_OK) return status;
  if (point->observed) {
    status = add_groups(problem, point, n_slots, prob, weight, stats, second, scratch, &total);
  } else {
    total = add_shares(problem, point, n_slots, prob, weight, x, stats, second);
  }
  if (status != GPS_OK) return status;
  if (is_once) add_once(problem, point, x, total, stats[SECOND], scratch);
  while (n_empty < n_slots && point->latent[n_empty] < 0) n_empty++;
  if (n_empty < n_slots) stats[COUNT][0] += weight;
  return GPS_OK;
}

static gps_status accumulate_latent(const gps_problem *problem, const gps_point *point, int latent,
                                    double weight, double *const *part, double *scratch) {
  double *x = scratch + stride_of((size_t)problem->shape.n_dims);
  if (!point->observed) {
    add_whole(problem, point->y, weight, x, part[ON], part[FIRST], part[SECOND]);
    return GPS_OK;
  }
  gps_status status = begin_point(problem, point, x, scratch);
  if (status == GPS_OK)
    status = mixture_missing_expect(problem, point, 1, &latent, missing_scratch(problem, scratch));
  if (status != GPS_OK) return status;
  add_point(problem, point, (size_t)latent, 1, 0, x, weight, part[ON], part[FIRST], part[SECOND],
            scratch);
  return GPS_OK;
}

/* Posterior means of the indicators are the responsibilities; the response is the mean of the mu_c
 * under them, and in missing cells that of the cells. */
static gps_status describe(const gps_problem *problem, const gps_point *point,
                           const gps_states *states, const double *prob, double *latent,
                           double *response, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  memcpy(latent, prob, (size_t)states->n_slots * sizeof *latent);
  if (!response) return GPS_OK;
  memset(response, 0, n_dims * sizeof *response);
  for (int i = 0; i < states->n_slots; i++) {
    if (point->latent[i] < 0) continue;
    const double *mu = problem->input[MU] + (size_t)point->latent[i] * n_dims;
    for (size_t d = 0; d < n_dims; d++) response[d] += prob[i] * mu[d];
  }
  if (gps_n_missing(problem, point->index) == 0) return GPS_OK;
  return mixture_missing_describe(problem, point, states->n_slots, prob, response, scratch,
                                  missing_scratch(problem, scratch));
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
  return point_log_joint(problem, point, n_candidates, candidate, value, scratch);
}

const gps_model model_gaussian_mixture = {
    .api = GPS_MODEL_API,
    .params = params_list,
    .options = options_list,
    .prepared = prepared_list,
    .stats = stats_list,
    .events = events_list,
    .scratch_size = scratch_size,
    .log_joint = log_joint,
    .accumulate = accumulate,
    .accumulate_latent = accumulate_latent,
    .describe = describe,
    .shared_term = shared_term,
    .gain = gain,
    .prepare = mixture_prepare,
    .mstep_scratch = mixture_mstep_scratch,
    .mstep = mixture_mstep,
    .weighs = 1,
    .takes_missing = 1,
};
