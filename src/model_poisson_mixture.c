/* Mixture of Poisson distributions: one of C clusters is on, with probability pi_c, and makes D
 * independent counts y_d ~ Poisson(rate_dc). Log joints are relative to a Poisson with the rates
 * `centre`, the same for all clusters, so that large counts do not round away what tells clusters
 * apart. Counts of 0 cost nothing where data are sparse. In missing cells, where data have 0, a
 * cluster has its rate. Reached through the table
 * model_poisson_mixture only. */
#include <math.h>
#include <string.h>

#include "gpselect/model.h"
#include "model_mixture.h"
#include "vector_math.h"

enum { RATE, PI, CENTRE, FLOOR_RATE, FLOOR_PI, LOG_RATIO, BASE };
static const gps_array params_list[] = {
    {"rate", "dims latents", GPS_NEEDED}, {"pi", "latents", GPS_NEEDED}, GPS_END};
static const gps_array options_list[] = {{"centre", "dims", GPS_NEEDED},
                                         {"floor_rate", "dims", GPS_NEEDED},
                                         {"floor_pi", "one", GPS_NEEDED},
                                         GPS_END};
static const gps_array prepared_list[] = {
    {"log_ratio", "dims latents", GPS_NEEDED}, {"base", "latents", GPS_NEEDED}, GPS_END};

enum { COUNT, ON, SUM };
static const gps_array stats_list[] = {{"count", "one", GPS_NEEDED},
                                       {"on", "latents", GPS_NEEDED},
                                       {"sum", "dims latents", GPS_NEEDED},
                                       GPS_END};

enum { EVENT_RATE, EVENT_PI, EVENT_EMPTY };
static const char *const events_list[] = {"rate_floor", "pi_floor", "empty_cluster", NULL};

#define TWO_PI 6.2831853071795864769
/* From here on the five terms of Stirling's series below have 16 digits. */
#define STIRLING_FROM 16

/* log(1 + u) - u, small ones without the digits that the difference would lose: with r = u / (2 +
 * u) the logarithm is 2 (r + r^3 / 3 + ...), and 2 r - u = -u r. */
static double log_less(double u) {
  if (!(fabs(u) < 0.1)) return log1p(u) - u;
  const double r = u / (2 + u), square = r * r;
  double sum = 0;
  for (int odd = 15; odd > 1; odd -= 2) sum = sum * square + 1. / odd;
  return 2 * r * square * sum - u * r;
}

/* log of the Poisson probability of y where the rate is the centre. Large counts by their distance
 * from it (Loader 2000, Fast and accurate computation of binomial probabilities), since its terms
 * are far larger than their sum. Not lgamma(), which writes a global sign: any thread. */
static double log_poisson(double y, double rate) {
  if (y < STIRLING_FROM) {
    double factorial = 1;
    for (double factor = 2; factor <= y; factor++) factorial *= factor;
    return y * log(rate) - rate - log(factorial);
  }
  const double s = 1 / (y * y);
  const double rest =
      (1. / 12 - s * (1. / 360 - s * (1. / 1260 - s * (1. / 1680 - s * (1. / 1188))))) / y;
  return y * log_less((rate - y) / y) - 0.5 * log(TWO_PI * y) - rest;
}

/* log_ratio [D x C] = log(rate / centre); base [C] = log pi_c - sum of rate - centre. */
static gps_status prepare(const gps_problem *problem, const double *y, double *const *prepared) {
  const size_t n_dims = (size_t)problem->shape.n_dims,
               n_clusters = (size_t)problem->shape.n_latents;
  const double *centre = problem->input[CENTRE];
  double *log_ratio = prepared[LOG_RATIO - LOG_RATIO], *base = prepared[BASE - LOG_RATIO];
  (void)y;
  for (size_t c = 0; c < n_clusters; c++) {
    const double *rate = problem->input[RATE] + c * n_dims;
    double excess = 0;
    if (gps_must_stop(problem->watch)) return GPS_INTERRUPTED;
    for (size_t d = 0; d < n_dims; d++) {
      log_ratio[d + c * n_dims] = log(rate[d] / centre[d]);
      excess += rate[d] - centre[d];
    }
    base[c] = log(problem->input[PI][c]) - excess;
  }
  return GPS_OK;
}

/* The log probability of the counts where all rates are the centre. */
static double shared_term(const gps_problem *problem, const gps_point *point) {
  double sum = 0;
  for (int d = 0; d < problem->shape.n_dims; d++) {
    const double rate = problem->input[CENTRE][d];
    if (point->observed && !point->observed[d]) continue;
    sum += point->y[d] > 0 ? log_poisson(point->y[d], rate) : -rate;
  }
  return sum;
}

static size_t scratch_size(const gps_problem *problem, const gps_states *states) {
  (void)problem;
  (void)states;
  return 0;
}

/* What of a cluster's excess of rates over the centre belongs to cells that are not there. */
static double missing_excess(const gps_problem *problem, const gps_point *point, size_t c) {
  const double *rate = problem->input[RATE] + c * (size_t)problem->shape.n_dims;
  const int n_missing = gps_n_missing(problem, point->index);
  double sum = 0;
  if (n_missing == 0) return sum;
  const int *missing = gps_missing_of(problem, point->index);
  for (int i = 0; i < n_missing; i++) {
    sum += rate[missing[i]] - problem->input[CENTRE][missing[i]];
  }
  return sum;
}

/* value [n] for latents [n]; a latent of -1 gets -Inf. */
GPS_CLONES static void cluster_log_joint(const gps_problem *problem, const gps_point *point, int n,
                                         const int *latent, double *value) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  for (int i = 0; i < n; i++) {
    if (latent[i] < 0) {
      value[i] = -HUGE_VAL;
      continue;
    }
    const double *log_ratio = problem->input[LOG_RATIO] + (size_t)latent[i] * n_dims;
    double sum = 0;
    if (problem->sparse) {
      const gps_sparse *data = problem->sparse;
      for (int e = data->start[point->index]; e < data->start[point->index + 1]; e++) {
        sum += data->value[e] * log_ratio[data->row[e]];
      }
    } else {
#pragma omp simd reduction(+ : sum)
      for (size_t d = 0; d < n_dims; d++) sum += point->y[d] * log_ratio[d];
    }
    value[i] = problem->input[BASE][latent[i]] + sum;
    if (point->observed) value[i] += missing_excess(problem, point, (size_t)latent[i]);
  }
}

/* One-hot template: state m is the slot active[m], where max_active is 1. */
static gps_status log_joint(const gps_problem *problem, const gps_point *point,
                            const gps_states *states, double *value, double *scratch) {
  (void)scratch;
  if (states->max_active != 1 || states->n_states != states->n_slots) return GPS_BAD_MODEL;
  cluster_log_joint(problem, point, states->n_slots, point->latent, value);
  return GPS_OK;
}

/* sum [D] += weight y, in missing cells weight times the cluster's rate. */
static void add_counts(const gps_problem *problem, const gps_point *point, size_t c, double weight,
                       double *sum) {
  const double *rate = problem->input[RATE] + c * (size_t)problem->shape.n_dims;
  for (int i = 0; i < gps_n_missing(problem, point->index); i++) {
    const int d = gps_missing_of(problem, point->index)[i];
    sum[d] += weight * rate[d];
  }
  if (problem->sparse) {
    const gps_sparse *data = problem->sparse;
    for (int e = data->start[point->index]; e < data->start[point->index + 1]; e++) {
      sum[data->row[e]] += weight * data->value[e];
    }
    return;
  }
  for (int d = 0; d < problem->shape.n_dims; d++) sum[d] += weight * point->y[d];
}

static gps_status accumulate(const gps_problem *problem, const gps_point *point,
                             const gps_states *states, const double *prob, double *const *stats,
                             double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const double weight = gps_weight_of(problem, (size_t)point->index);
  (void)scratch;
  for (int i = 0; i < states->n_slots; i++) {
    if (point->latent[i] < 0) continue;
    const double share = weight * prob[i];
    stats[COUNT][0] += share;
    if (!(prob[i] > GPS_NEGLIGIBLE)) continue;
    const size_t c = (size_t)point->latent[i];
    stats[ON][c] += share;
    add_counts(problem, point, c, share, stats[SUM] + c * n_dims);
  }
  return GPS_OK;
}

static gps_status accumulate_latent(const gps_problem *problem, const gps_point *point, int latent,
                                    double weight, double *const *part, double *scratch) {
  (void)scratch;
  *part[ON] += weight;
  add_counts(problem, point, (size_t)latent, weight, part[SUM]);
  return GPS_OK;
}

/* Posterior means of the indicators are the responsibilities; the response is the mean rate. */
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
    const double *rate = problem->input[RATE] + (size_t)point->latent[i] * n_dims;
    for (size_t d = 0; d < n_dims; d++) response[d] += prob[i] * rate[d];
  }
  return GPS_OK;
}

/* Clusters exclude each other: nothing can be added to a cluster that is on. */
static gps_status gain(const gps_problem *problem, const gps_point *point, int n_given,
                       const int *given, int n_candidates, const int *candidate, double *value,
                       double *scratch) {
  (void)given;
  (void)scratch;
  if (n_given > 0) {
    for (int i = 0; i < n_candidates; i++) value[i] = -HUGE_VAL;
    return GPS_OK;
  }
  cluster_log_joint(problem, point, n_candidates, candidate, value);
  return GPS_OK;
}

/* Rates are weighted means. A cluster that nobody uses keeps its own. */
static gps_status mstep(const gps_problem *problem, const double *const *stats,
                        double *const *params_new, int *events, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims,
               n_clusters = (size_t)problem->shape.n_latents;
  (void)scratch;
  if (!(stats[COUNT][0] > 0)) return GPS_OK;
  mixture_update_pi(n_clusters, stats[ON], problem->input[FLOOR_PI][0], params_new[PI],
                    events + EVENT_PI);
  for (size_t c = 0; c < n_clusters; c++) {
    const double on = stats[ON][c];
    if (!(on > 0)) {
      events[EVENT_EMPTY]++;
      continue;
    }
    for (size_t d = 0; d < n_dims; d++) {
      double *rate = params_new[RATE] + d + c * n_dims;
      *rate = stats[SUM][d + c * n_dims] / on;
      if (!isfinite(*rate)) return GPS_NOT_FINITE;
      if (*rate >= problem->input[FLOOR_RATE][d]) continue;
      *rate = problem->input[FLOOR_RATE][d];
      events[EVENT_RATE]++;
    }
  }
  return GPS_OK;
}

const gps_model model_poisson_mixture = {
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
    .prepare = prepare,
    .mstep = mstep,
    .weighs = 1,
    .takes_missing = 1,
};
