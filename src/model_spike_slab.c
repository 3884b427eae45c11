/* Model B of the paper, spike-and-slab sparse coding: b_h ~ Bernoulli(pi_h), z ~ N(mu, Psi) with
 * Psi diagonal or full, y ~ N(a + W (b z), sigma2 I), where the intercept a may be missing. Log
 * joints and moments with z integrated out are in model_slab_*.c; here are what a data point hands
 * to them and the closed-form M-step. Reached through the table model_spike_slab only. */
#include <math.h>
#include <string.h>

#include "gpselect/model.h"
#include "model_linear.h"
#include "model_linear_missing.h"
#include "model_slab.h"
#include "model_sparse.h"

enum {
  W,
  PI,
  MU,
  PSI,
  SIGMA2,
  INTERCEPT,
  SHARED_PROB,
  FLOOR_SIGMA2,
  FORM,
  CENTRE,
  GRAM,
  PROJ,
  PRIOR,
  Y_SQUARE
};
static const gps_array params_list[] = {{"W", "dims latents", GPS_NEEDED},
                                        {"pi", "probs", GPS_NEEDED},
                                        {"mu", "latents", GPS_NEEDED},
                                        {"psi", "latents latents|latents", GPS_NEEDED},
                                        {"sigma2", "one", GPS_NEEDED},
                                        {"intercept", "dims", GPS_MAY_MISS},
                                        GPS_END};
static const gps_array options_list[] = {{"shared_prob", "one", GPS_NEEDED},
                                         {"floor_sigma2", "one", GPS_NEEDED},
                                         {"form", "one", GPS_NEEDED},
                                         {"centre", "dims", GPS_MAY_MISS},
                                         GPS_END};

/* Forms of Psi: variances [H], a covariance [H x H], or a covariance whose correlations are held at
 * 0, with which everything is as with variances. */
enum { VARIANCES, COVARIANCE, HELD_COVARIANCE };

enum { COUNT, DATA_SQUARE, ON, VALUE, VALUE_VALUE, DATA_VALUE, PULL, PULL_PULL, DATA_SUM };
static const gps_array stats_list[] = {{"count", "one", GPS_NEEDED},
                                       {"data_square", "one", GPS_NEEDED},
                                       {"on", "latents", GPS_NEEDED},
                                       {"value", "latents", GPS_NEEDED},
                                       {"value_value", "latents latents", GPS_NEEDED},
                                       {"data_value", "dims latents", GPS_NEEDED},
                                       {"pull", "correlated", GPS_NEEDED},
                                       {"pull_pull", "correlated correlated", GPS_NEEDED},
                                       {"data_sum", "intercepts", GPS_NEEDED},
                                       GPS_END};

enum { EVENT_PSI = LINEAR_EVENTS, EVENT_KEPT };
static const char *const events_list[] = {LINEAR_EVENT_NAMES, "psi_floor", "slab_kept", NULL};

static const linear_places places = {W, PI, SIGMA2, INTERCEPT, SHARED_PROB};

static int form_of(const gps_problem *problem) { return (int)problem->input[FORM][0]; }

static int is_matrix(const gps_problem *problem) { return form_of(problem) != VARIANCES; }

/* Whether slabs are correlated. */
static int is_full(const gps_problem *problem) { return form_of(problem) == COVARIANCE; }

static gps_status prepare(const gps_problem *problem, const double *y, double *const *prepared) {
  const linear_params params = linear_view(problem, &places);
  linear_prepare(problem, &params, y, prepared);
  return GPS_OK;
}

/* The log joint of the empty state, which the log joints of all states are relative to. */
static double shared_term(const gps_problem *problem, const gps_point *point) {
  return sparse_shared_term(problem, point, problem->input[PRIOR], problem->input[Y_SQUARE],
                            problem->input[SIGMA2][0]);
}

/* prior, proj, mean [n], gram, psi [n x n] */
static size_t slots_size(size_t n) { return n * (3 + 2 * n); }

static slab_slots slots_in(size_t n, double *scratch) {
  const slab_slots slots = {
      n, scratch, scratch + n, scratch + 2 * n, scratch + 3 * n, scratch + (3 + n) * n};
  return slots;
}

GPS_INLINE slab_latent latent_of(const gps_problem *problem, const gps_point *point, size_t h,
                                 double precision) {
  const size_t n_latents = (size_t)problem->shape.n_latents, diagonal = h * (n_latents + 1);
  const slab_latent latent = {problem->input[PRIOR][h],
                              problem->input[PROJ][h + (size_t)point->index * n_latents] *
                                  precision,
                              problem->input[MU][h], problem->input[GRAM][diagonal] * precision,
                              problem->input[PSI][is_matrix(problem) ? diagonal : h]};
  return latent;
}

/* Slots that hold the given latents, -1 = empty. */
static void gather(const gps_problem *problem, const gps_point *point, const int *latent,
                   const slab_slots *slots) {
  const size_t n_latents = (size_t)problem->shape.n_latents, n = slots->n_slots;
  const double precision = 1 / problem->input[SIGMA2][0];
  const int full = is_full(problem);
  for (size_t k = 0; k < n; k++) {
    const slab_latent none = {-HUGE_VAL, 0, 0, 0, full};
    const size_t h = latent[k] < 0 ? 0 : (size_t)latent[k];
    const slab_latent own = latent[k] < 0 ? none : latent_of(problem, point, h, precision);
    slots->prior[k] = own.prior;
    slots->proj[k] = own.proj;
    slots->mean[k] = own.mean;
    slots->gram[k * (n + 1)] = own.gram;
    slots->psi[full ? k * (n + 1) : k] = own.psi;
    for (size_t j = 0; j < k; j++) {
      const int is_none = latent[k] < 0 || latent[j] < 0;
      const size_t at = is_none ? 0 : (size_t)latent[j] + h * n_latents;
      const double gram = is_none ? 0 : problem->input[GRAM][at] * precision;
      slots->gram[j + k * n] = slots->gram[k + j * n] = gram;
      if (!full) continue;
      slots->psi[j + k * n] = slots->psi[k + j * n] = is_none ? 0 : problem->input[PSI][at];
    }
  }
}

/* What a latent's square, its own product, is over the cells that are there: rounding must not take
 * it below 0. */
static double less_missing(double gram, double precision, double of_missing) {
  const double left = gram - precision * of_missing;
  return left > 0 ? left : 0;
}

/* Slots that hold the given latents, over the cells that a point has; rows [m x n] is scratch. */
static void leave_missing(const gps_problem *problem, const gps_point *point, const int *latent,
                          const slab_slots *slots, double *rows) {
  const size_t n = slots->n_slots, n_missing = (size_t)gps_n_missing(problem, point->index);
  const double precision = 1 / problem->input[SIGMA2][0];
  if (n_missing == 0) return;
  linear_missing_rows(problem, point, problem->input[W], n, latent, rows);
  for (size_t k = 0; k < n; k++) {
    const size_t at = k * (n + 1);
    slots->gram[at] =
        less_missing(slots->gram[at], precision, linear_missing_dot(rows, n_missing, k, k));
    for (size_t j = 0; j < k; j++) {
      slots->gram[j + k * n] -= precision * linear_missing_dot(rows, n_missing, j, k);
      slots->gram[k + j * n] = slots->gram[j + k * n];
    }
  }
}

/* on, value, pull [n], value_value, pull_pull [n x n] */
static size_t moments_size(size_t n) { return n * (3 + 2 * n); }

static slab_moments moments_in(size_t n, int full, double *scratch) {
  const slab_moments moments = {scratch, scratch + n, scratch + 3 * n,
                                full ? scratch + 2 * n : NULL, scratch + (3 + n) * n};
  memset(scratch, 0, moments_size(n) * sizeof *scratch);
  return moments;
}

/* Slots, moments, and what either kind of slab needs. */
static size_t complete_scratch(const gps_problem *problem, const gps_states *states) {
  const size_t n = (size_t)states->n_slots;
  return slots_size(n) + moments_size(n) +
         (is_full(problem) ? slab_correlated_scratch(n) : slab_independent_scratch(n, states));
}

/* After these what missing cells need. For gains: the slots of those given, the couplings of one
 * more, and what either kind of slab needs, between them the missing cells' rows of all of them. */
static size_t scratch_size(const gps_problem *problem, const gps_states *states) {
  return complete_scratch(problem, states) +
         linear_missing_scratch(problem, (size_t)states->n_slots);
}

static gps_status log_joint(const gps_problem *problem, const gps_point *point,
                            const gps_states *states, double *value, double *scratch) {
  const size_t n = (size_t)states->n_slots;
  const slab_slots slots = slots_in(n, scratch);
  double *rest = scratch + slots_size(n) + moments_size(n);
  gather(problem, point, point->latent, &slots);
  leave_missing(problem, point, point->latent, &slots, scratch + complete_scratch(problem, states));
  if (is_full(problem)) return slab_correlated_log_joint(&slots, states, value, rest);
  slab_independent_log_joint(&slots, states, value, rest);
  return GPS_OK;
}

/* Moments of one point after its log joints, in the scratch. */
static gps_status point_moments(const gps_problem *problem, const gps_states *states,
                                const double *prob, int wants_pulls, slab_moments *moments,
                                double *scratch) {
  const size_t n = (size_t)states->n_slots;
  const slab_slots slots = slots_in(n, scratch);
  double *rest = scratch + slots_size(n) + moments_size(n);
  *moments = moments_in(n, wants_pulls, scratch + slots_size(n));
  if (is_full(problem)) return slab_correlated_moments(&slots, states, prob, moments, rest);
  slab_independent_moments(&slots, states, prob, moments, rest);
  return GPS_OK;
}

/* Upper triangle of the slots' pairs to that of the latents' [H x H], in whatever order the slots
 * hold them. */
static void add_pairs(const gps_point *point, size_t n, const double *pair, size_t n_latents,
                      double *into) {
  for (size_t k = 0; k < n; k++) {
    if (point->latent[k] < 0) continue;
    const size_t latent = (size_t)point->latent[k];
    for (size_t j = 0; j <= k; j++) {
      if (point->latent[j] < 0) continue;
      const size_t other = (size_t)point->latent[j];
      into[other < latent ? other + latent * n_latents : latent + other * n_latents] +=
          pair[j + k * n];
    }
  }
}

/* A leaf, called by nothing that is cloned: in a clone that goes on to call others, gcc 12 leaves
 * the upper halves of the registers in use, and every exp() and log() from there on is some 20
 * times slower. */
GPS_CLONES static void add_values(const gps_point *point, const slab_moments *moments, size_t n,
                                  size_t n_dims, int full, double *const *stats) {
  for (size_t k = 0; k < n; k++) {
    if (point->latent[k] < 0) continue;
    const size_t latent = (size_t)point->latent[k];
    stats[ON][latent] += moments->on[k];
    stats[VALUE][latent] += moments->value[k];
    if (full) stats[PULL][latent] += moments->pull[k];
    add_scaled(stats[DATA_VALUE] + latent * n_dims, point->y, moments->value[k], n_dims);
  }
}

static gps_status accumulate(const gps_problem *problem, const gps_point *point,
                             const gps_states *states, const double *prob, double *const *stats,
                             double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  const size_t n = (size_t)states->n_slots;
  const int full = is_full(problem);
  slab_moments moments;
  const gps_status status = point_moments(problem, states, prob, full, &moments, scratch);
  if (status != GPS_OK) return status;
  const double weight = gps_weight_of(problem, (size_t)point->index);
  for (size_t i = 0; weight != 1 && i < moments_size(n); i++) moments.on[i] *= weight;
  linear_add_point(problem, point, problem->input[Y_SQUARE], problem->input[CENTRE], stats[COUNT],
                   stats[DATA_SQUARE], stats[DATA_SUM]);
  add_values(point, &moments, n, n_dims, full, stats);
  add_pairs(point, n, moments.value_value, n_latents, stats[VALUE_VALUE]);
  if (full) add_pairs(point, n, moments.pull_pull, n_latents, stats[PULL_PULL]);
  if (gps_n_missing(problem, point->index) > 0) {
    const linear_moments x = {n, moments.value, moments.value_value};
    const linear_sums sums = {stats[DATA_VALUE], stats[DATA_SQUARE], stats[DATA_SUM]};
    linear_add_missing(problem, point, problem->input[W], problem->input[SIGMA2][0],
                       problem->input[INTERCEPT], problem->input[CENTRE], &x, &sums,
                       scratch + complete_scratch(problem, states));
  }
  return GPS_OK;
}

/* Posterior means of b z; the response is a + W <b z>. */
static gps_status describe(const gps_problem *problem, const gps_point *point,
                           const gps_states *states, const double *prob, double *latent,
                           double *response, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  slab_moments moments;
  const gps_status status = point_moments(problem, states, prob, 0, &moments, scratch);
  if (status != GPS_OK) return status;
  memcpy(latent, moments.value, (size_t)states->n_slots * sizeof *latent);
  if (response == NULL) return GPS_OK;
  begin_response(problem->input[INTERCEPT], n_dims, response);
  for (int k = 0; k < states->n_slots; k++) {
    if (point->latent[k] < 0 || latent[k] == 0) continue;
    add_scaled(response, problem->input[W] + (size_t)point->latent[k] * n_dims, latent[k], n_dims);
  }
  return GPS_OK;
}

/* The given latents are factored once. */
static gps_status gain(const gps_problem *problem, const gps_point *point, int n_given,
                       const int *given, int n_candidates, const int *candidate, double *value,
                       double *scratch) {
  const size_t n_latents = (size_t)problem->shape.n_latents, n = (size_t)n_given;
  const double precision = 1 / problem->input[SIGMA2][0];
  const int full = is_full(problem);
  const slab_slots slots = slots_in(n, scratch);
  const size_t n_missing = (size_t)gps_n_missing(problem, point->index);
  double *gram_with = scratch + slots_size(n), *psi_with = gram_with + n, *rows = psi_with + n,
         *rest = rows + (n + 1) * n_missing;
  gather(problem, point, given, &slots);
  leave_missing(problem, point, given, &slots, rows);
  if (full) {
    const gps_status status = slab_correlated_given(&slots, rest);
    if (status != GPS_OK) return status;
  } else {
    slab_independent_given(&slots, rest);
  }
  for (int c = 0; c < n_candidates; c++) {
    const size_t h = (size_t)candidate[c], from = h * n_latents;
    for (size_t i = 0; i < n; i++) {
      gram_with[i] = problem->input[GRAM][(size_t)given[i] + from] * precision;
      if (full) psi_with[i] = problem->input[PSI][(size_t)given[i] + from];
    }
    slab_latent latent = latent_of(problem, point, h, precision);
    if (n_missing > 0) {
      linear_missing_rows(problem, point, problem->input[W], 1, candidate + c,
                          rows + n * n_missing);
      for (size_t i = 0; i < n; i++) {
        gram_with[i] -= precision * linear_missing_dot(rows, n_missing, i, n);
      }
      latent.gram = less_missing(latent.gram, precision, linear_missing_dot(rows, n_missing, n, n));
    }
    value[c] = full ? slab_correlated_gain(&slots, &latent, gram_with, psi_with, rest)
                    : slab_independent_gain(&slots, &latent, gram_with, rest);
  }
  return GPS_OK;
}

static size_t mstep_scratch(const gps_problem *problem) {
  const size_t linear = linear_mstep_scratch(problem);
  const size_t n_latents = (size_t)problem->shape.n_latents;
  const size_t own = slab_mstep_scratch(n_latents, is_full(problem));
  const size_t slabs = own > 2 * n_latents ? own : 2 * n_latents;
  return linear > slabs ? linear : slabs;
}

/* The M-step of variances that stand on the diagonal of a matrix; scratch: 2 n_latents numbers. */
static void held_mstep(const gps_problem *problem, const double *const *stats,
                       double *const *params_new, int *events, double *scratch) {
  const size_t n_latents = (size_t)problem->shape.n_latents;
  double *old = scratch, *new = scratch + n_latents;
  for (size_t h = 0; h < n_latents; h++) old[h] = problem->input[PSI][h * (n_latents + 1)];
  const slab_params slabs = {problem->input[MU], old};
  slab_independent_mstep(n_latents, &slabs, stats[ON], stats[VALUE], stats[VALUE_VALUE],
                         params_new[MU], new, events + EVENT_PSI, events + EVENT_KEPT);
  memset(params_new[PSI], 0, n_latents * n_latents * sizeof *params_new[PSI]);
  for (size_t h = 0; h < n_latents; h++) params_new[PSI][h * (n_latents + 1)] = new[h];
}

static gps_status mstep(const gps_problem *problem, const double *const *stats,
                        double *const *params_new, int *events, double *scratch) {
  const linear_params old = linear_view(problem, &places);
  const linear_stats sums = {stats[COUNT],       stats[DATA_SQUARE],    stats[ON],
                             stats[VALUE_VALUE], stats[DATA_VALUE],     stats[VALUE],
                             stats[DATA_SUM],    problem->input[CENTRE]};
  const linear_result result = {params_new[W], params_new[PI], params_new[SIGMA2],
                                sums.centre ? params_new[INTERCEPT] : NULL};
  const gps_status status =
      linear_mstep(problem, &old, &sums, problem->input[FLOOR_SIGMA2][0], &result, events, scratch);
  if (status != GPS_OK) return status;
  const size_t n_latents = (size_t)problem->shape.n_latents;
  const slab_params slabs = {problem->input[MU], problem->input[PSI]};
  if (is_full(problem)) {
    return slab_correlated_mstep(n_latents, &slabs, stats[COUNT][0], stats[PULL], stats[PULL_PULL],
                                 params_new[MU], params_new[PSI], events + EVENT_PSI, scratch);
  }
  if (is_matrix(problem)) {
    held_mstep(problem, stats, params_new, events, scratch);
    return GPS_OK;
  }
  slab_independent_mstep(n_latents, &slabs, stats[ON], stats[VALUE], stats[VALUE_VALUE],
                         params_new[MU], params_new[PSI], events + EVENT_PSI, events + EVENT_KEPT);
  /* Those that are out of the model keep theirs as a matter of course. */
  events[EVENT_KEPT] -= (int)sparse_count_emptied(old.w, (size_t)problem->shape.n_dims, n_latents);
  return GPS_OK;
}

const gps_model model_spike_slab = {
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
    .mstep_scratch = mstep_scratch,
    .mstep = mstep,
    .weighs = 1,
    .takes_missing = 1,
};
