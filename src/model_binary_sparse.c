/* Model A of the paper, binary sparse coding: s_h ~ Bernoulli(pi_h), y ~ N(b + W s, sigma2 I),
 * where the intercept b may be missing. Log joint of all states by recursion over subsets (one
 * addition a state once the Gram matrix is there), moments by folding, closed-form M-step. Reached
 * through the table model_binary_sparse only. */
#include <math.h>
#include <string.h>

#include "gpselect/model.h"
#include "model_linear.h"
#include "model_linear_missing.h"
#include "model_sparse.h"
#include "subsets.h"

enum { W, PI, SIGMA2, INTERCEPT, SHARED_PROB, FLOOR_SIGMA2, CENTRE, GRAM, PROJ, PRIOR, Y_SQUARE };
static const gps_array params_list[] = {{"W", "dims latents", GPS_NEEDED},
                                        {"pi", "probs", GPS_NEEDED},
                                        {"sigma2", "one", GPS_NEEDED},
                                        {"intercept", "dims", GPS_MAY_MISS},
                                        GPS_END};
static const gps_array options_list[] = {{"shared_prob", "one", GPS_NEEDED},
                                         {"floor_sigma2", "one", GPS_NEEDED},
                                         {"centre", "dims", GPS_MAY_MISS},
                                         GPS_END};

enum { COUNT, DATA_SQUARE, ON, ON_ON, DATA_ON, DATA_SUM };
static const gps_array stats_list[] = {{"count", "one", GPS_NEEDED},
                                       {"data_square", "one", GPS_NEEDED},
                                       {"on", "latents", GPS_NEEDED},
                                       {"on_on", "latents latents", GPS_NEEDED},
                                       {"data_on", "dims latents", GPS_NEEDED},
                                       {"data_sum", "intercepts", GPS_NEEDED},
                                       GPS_END};

static const char *const events_list[] = {LINEAR_EVENT_NAMES, NULL};

static const linear_places places = {W, PI, SIGMA2, INTERCEPT, SHARED_PROB};

static gps_status prepare(const gps_problem *problem, const double *y, double *const *prepared) {
  const linear_params params = linear_view(problem, &places);
  linear_prepare(problem, &params, y, prepared);
  return GPS_OK;
}

/* log joint of slot k's single-cause state minus that of the empty state. */
GPS_INLINE double drive(const gps_problem *problem, const gps_point *point, size_t latent) {
  const size_t n_latents = (size_t)problem->shape.n_latents;
  const double gram = problem->input[GRAM][latent * (n_latents + 1)];
  const double proj = problem->input[PROJ][latent + (size_t)point->index * n_latents];
  return problem->input[PRIOR][latent] + (proj - 0.5 * gram) / problem->input[SIGMA2][0];
}

/* coupling[j + k * n_slots] = W_j'W_k / sigma2 of the latents in the slots j < k; own[k] = drive.
 * An empty slot has -Inf and no couplings. */
static void gather(const gps_problem *problem, const gps_point *point, size_t n_slots, double *own,
                   double *coupling) {
  const size_t n_latents = (size_t)problem->shape.n_latents;
  const double precision = 1 / problem->input[SIGMA2][0];
  for (size_t k = 0; k < n_slots; k++) {
    const int latent = point->latent[k];
    own[k] = latent < 0 ? -HUGE_VAL : drive(problem, point, (size_t)latent);
    if (latent < 0) {
      memset(coupling + k * n_slots, 0, k * sizeof *coupling);
      continue;
    }
    const double *gram = problem->input[GRAM] + (size_t)latent * n_latents;
    for (size_t j = 0; j < k; j++) {
      const int other = point->latent[j];
      coupling[j + k * n_slots] = other < 0 ? 0 : gram[other] * precision;
    }
  }
}

/* The same over the cells that a point has; rows [m x n_slots] is scratch. */
GPS_CLONES static void leave_missing(const gps_problem *problem, const gps_point *point,
                                     size_t n_slots, double *own, double *coupling, double *rows) {
  const size_t n_missing = (size_t)gps_n_missing(problem, point->index);
  const double precision = 1 / problem->input[SIGMA2][0];
  linear_missing_rows(problem, point, problem->input[W], n_slots, point->latent, rows);
  for (size_t k = 0; k < n_slots; k++) {
    own[k] += 0.5 * precision * linear_missing_dot(rows, n_missing, k, k);
    for (size_t j = 0; j < k; j++) {
      coupling[j + k * n_slots] -= precision * linear_missing_dot(rows, n_missing, j, k);
    }
  }
}

/* Any template: a state is its parent plus its last slot, or all its slots where the parent is not
 * there. */
static void template_log_joint(const gps_states *states, const double *own, const double *coupling,
                               double *value) {
  const double empty = value[0];
  const size_t n_slots = (size_t)states->n_slots;
  for (int m = 0; m < states->n_states; m++) {
    const int n_active = states->n_active[m], parent = states->parent[m];
    const int *active = states->active + (size_t)m * (size_t)states->max_active;
    double sum = parent < 0 ? empty : value[parent];
    for (int k = parent < 0 ? 0 : n_active - 1; k < n_active; k++) {
      sum += own[active[k]];
      for (int i = 0; i < k; i++) sum -= coupling[(size_t)active[i] + (size_t)active[k] * n_slots];
    }
    value[m] = sum;
  }
}

/* own [slots], coupling or pairs [slots x slots], folded [states], rows of subsets */
static size_t complete_scratch(const gps_states *states) {
  const size_t n_slots = (size_t)states->n_slots, n_states = (size_t)states->n_states;
  return n_slots + n_slots * n_slots + n_states + subsets_scratch(n_states);
}

/* After these what missing cells need. */
static size_t scratch_size(const gps_problem *problem, const gps_states *states) {
  return complete_scratch(states) + linear_missing_scratch(problem, (size_t)states->n_slots);
}

/* The log joint of the empty state, which the log joints of all states are relative to. */
static double shared_term(const gps_problem *problem, const gps_point *point) {
  return sparse_shared_term(problem, point, problem->input[PRIOR], problem->input[Y_SQUARE],
                            problem->input[SIGMA2][0]);
}

static gps_status log_joint(const gps_problem *problem, const gps_point *point,
                            const gps_states *states, double *value, double *scratch) {
  const size_t n_slots = (size_t)states->n_slots;
  double *own = scratch, *coupling = own + n_slots, *rows = coupling + n_slots * n_slots;
  gather(problem, point, n_slots, own, coupling);
  if (gps_n_missing(problem, point->index) > 0)
    leave_missing(problem, point, n_slots, own, coupling, scratch + complete_scratch(states));
  value[0] = 0;
  if (states->all_subsets) {
    subsets_log_joint(n_slots, own, coupling, value, rows);
  } else {
    template_log_joint(states, own, coupling, value);
  }
  return GPS_OK;
}

/* pair[j + k * n_slots] = <s_j s_k>, j <= k, for any template. */
static void sum_pairs(const gps_states *states, const double *prob, double *pair) {
  const size_t n_slots = (size_t)states->n_slots;
  memset(pair, 0, n_slots * n_slots * sizeof *pair);
  for (int m = 0; m < states->n_states; m++) {
    const int *active = states->active + (size_t)m * (size_t)states->max_active;
    for (int k = 0; k < states->n_active[m]; k++) {
      for (int j = 0; j <= k; j++) pair[(size_t)active[j] + (size_t)active[k] * n_slots] += prob[m];
    }
  }
}

/* Adds the moments pair [slots x slots] of one point; on_on gets its upper triangle, in whatever
 * order the slots hold their latents. */
GPS_CLONES static void add_moments(const gps_problem *problem, const gps_point *point,
                                   size_t n_slots, const double *pair, double *const *stats) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  for (size_t k = 0; k < n_slots; k++) {
    if (point->latent[k] < 0) continue;
    const size_t latent = (size_t)point->latent[k];
    const double on = pair[k + k * n_slots];
    stats[ON][latent] += on;
    stats[ON_ON][latent * (n_latents + 1)] += on;
    for (size_t j = 0; j < k; j++) {
      if (point->latent[j] < 0) continue;
      const size_t other = (size_t)point->latent[j];
      stats[ON_ON][other < latent ? other + latent * n_latents : latent + other * n_latents] +=
          pair[j + k * n_slots];
    }
    add_scaled(stats[DATA_ON] + latent * n_dims, point->y, on, n_dims);
  }
}

static gps_status accumulate(const gps_problem *problem, const gps_point *point,
                             const gps_states *states, const double *prob, double *const *stats,
                             double *scratch) {
  const size_t n_slots = (size_t)states->n_slots, n_states = (size_t)states->n_states;
  double *own = scratch, *pair = own + n_slots, *folded = pair + n_slots * n_slots,
         *rows = folded + n_states;
  if (states->all_subsets) {
    memcpy(folded, prob, n_states * sizeof *prob);
    subsets_pairs(n_slots, folded, pair, rows);
  } else {
    sum_pairs(states, prob, pair);
  }
  const double weight = gps_weight_of(problem, (size_t)point->index);
  for (size_t i = 0; weight != 1 && i < n_slots * n_slots; i++) pair[i] *= weight;
  linear_add_point(problem, point, problem->input[Y_SQUARE], problem->input[CENTRE], stats[COUNT],
                   stats[DATA_SQUARE], stats[DATA_SUM]);
  add_moments(problem, point, n_slots, pair, stats);
  if (gps_n_missing(problem, point->index) > 0) {
    for (size_t k = 0; k < n_slots; k++) own[k] = pair[k * (n_slots + 1)];
    const linear_moments moments = {n_slots, own, pair};
    const linear_sums sums = {stats[DATA_ON], stats[DATA_SQUARE], stats[DATA_SUM]};
    linear_add_missing(problem, point, problem->input[W], problem->input[SIGMA2][0],
                       problem->input[INTERCEPT], problem->input[CENTRE], &moments, &sums,
                       scratch + complete_scratch(states));
  }
  return GPS_OK;
}

/* For a binary latent the posterior mean is the probability of being on; the response is b + W <s>.
 */
static gps_status describe(const gps_problem *problem, const gps_point *point,
                           const gps_states *states, const double *prob, double *latent,
                           double *response, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  (void)scratch;
  memset(latent, 0, (size_t)states->n_slots * sizeof *latent);
  for (int m = 0; m < states->n_states; m++) {
    const int *active = states->active + (size_t)m * (size_t)states->max_active;
    for (int i = 0; i < states->n_active[m]; i++) latent[active[i]] += prob[m];
  }
  if (!response) return GPS_OK;
  begin_response(problem->input[INTERCEPT], n_dims, response);
  for (int k = 0; k < states->n_slots; k++) {
    if (point->latent[k] < 0) continue;
    add_scaled(response, problem->input[W] + (size_t)point->latent[k] * n_dims, latent[k], n_dims);
  }
  return GPS_OK;
}

/* Gains over the cells that a point has, from those over all; given_rows [m] is scratch for the sum
 * of the given latents' W in the others. */
static void gain_missing(const gps_problem *problem, const gps_point *point, int n_given,
                         const int *given, int n_candidates, const int *candidate, double *value,
                         double *given_rows) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const size_t n_missing = (size_t)gps_n_missing(problem, point->index);
  const int *missing = gps_missing_of(problem, point->index);
  const double precision = 1 / problem->input[SIGMA2][0];
  memset(given_rows, 0, n_missing * sizeof *given_rows);
  for (int i = 0; i < n_given; i++) {
    const double *column = problem->input[W] + (size_t)given[i] * n_dims;
    for (size_t m = 0; m < n_missing; m++) given_rows[m] += column[missing[m]];
  }
  for (int c = 0; c < n_candidates; c++) {
    const double *column = problem->input[W] + (size_t)candidate[c] * n_dims;
    double sum = 0;
    for (size_t m = 0; m < n_missing; m++) {
      const double w = column[missing[m]];
      sum += w * (0.5 * w + given_rows[m]);
    }
    value[c] += precision * sum;
  }
}

/* Couplings given by given, as their rows of the Gram matrix stay in the cache. */
static gps_status gain(const gps_problem *problem, const gps_point *point, int n_given,
                       const int *given, int n_candidates, const int *candidate, double *value,
                       double *scratch) {
  const size_t n_latents = (size_t)problem->shape.n_latents;
  const double precision = 1 / problem->input[SIGMA2][0];
  for (int c = 0; c < n_candidates; c++) value[c] = drive(problem, point, (size_t)candidate[c]);
  for (int i = 0; i < n_given; i++) {
    const double *gram = problem->input[GRAM] + (size_t)given[i] * n_latents;
    for (int c = 0; c < n_candidates; c++) value[c] -= gram[candidate[c]] * precision;
  }
  if (gps_n_missing(problem, point->index) > 0) {
    gain_missing(problem, point, n_given, given, n_candidates, candidate, value, scratch);
  }
  return GPS_OK;
}

static gps_status mstep(const gps_problem *problem, const double *const *stats,
                        double *const *params_new, int *events, double *scratch) {
  const linear_params old = linear_view(problem, &places);
  const linear_stats sums = {stats[COUNT],    stats[DATA_SQUARE],    stats[ON],
                             stats[ON_ON],    stats[DATA_ON],        stats[ON],
                             stats[DATA_SUM], problem->input[CENTRE]};
  const linear_result result = {params_new[W], params_new[PI], params_new[SIGMA2],
                                sums.centre ? params_new[INTERCEPT] : NULL};
  return linear_mstep(problem, &old, &sums, problem->input[FLOOR_SIGMA2][0], &result, events,
                      scratch);
}

const gps_model model_binary_sparse = {
    .api = GPS_MODEL_API,
    .params = params_list,
    .options = options_list,
    .prepared = linear_prepared_list,
    .stats = stats_list,
    .events = events_list,
    .scratch_size = scratch_size,
    .log_joint = log_joint,
    .shared_term = shared_term,
    .accumulate = accumulate,
    .describe = describe,
    .gain = gain,
    .prepare = prepare,
    .mstep_scratch = linear_mstep_scratch,
    .mstep = mstep,
    .weighs = 1,
    .takes_missing = 1,
};
