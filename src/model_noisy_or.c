/* Noisy-OR: s_h ~ Bernoulli(pi_h), and dimension d of the data, 0 or 1, is 0 with probability
 * (1 - leak_d) prod_h (1 - p_dh)^s_h, p_dh = 1 - exp(-W_dh). A cause that is on fires in each
 * dimension by itself with probability p_dh, the leak with leak_d, and a dimension is 1 where at
 * least one has fired. Log joints are relative to the empty state. Dimensions that are 0 add a term
 * for each latent; those that are 1 are looked at state by state; cells that are missing are
 * neither, see model_noisy_missing.c. Reached through the table model_noisy_or only. */
#include <math.h>
#include <string.h>

#include "gpselect/model.h"
#include "linalg.h"
#include "model_noisy_missing.h"
#include "vector_math.h"

enum { W, PI, LEAK, SHARED_PROB, FLOOR_PROB, FIRE, OWN, ALONE, EMPTY };
static const gps_array params_list[] = {{"W", "dims latents", GPS_NEEDED},
                                        {"pi", "probs", GPS_NEEDED},
                                        {"leak", "dims", GPS_NEEDED},
                                        GPS_END};
static const gps_array options_list[] = {
    {"shared_prob", "one", GPS_NEEDED}, {"floor_prob", "one", GPS_NEEDED}, GPS_END};
static const gps_array prepared_list[] = {{"fire", "dims latents", GPS_NEEDED},
                                          {"own", "latents points", GPS_NEEDED},
                                          {"alone", "latents points", GPS_NEEDED},
                                          {"empty", "points", GPS_NEEDED},
                                          GPS_END};

enum { COUNT, ON, FIRED, LEAKED };
static const gps_array stats_list[] = {{"count", "one", GPS_NEEDED},
                                       {"on", "latents", GPS_NEEDED},
                                       {"fired", "dims latents", GPS_NEEDED},
                                       {"leaked", "dims", GPS_NEEDED},
                                       GPS_END};

enum { EVENT_FLOOR, EVENT_PI };
static const char *const events_list[] = {"prob_floor", "pi_clamped", NULL};

#define PI_LOWEST 1e-4
/* So many ratios, each of 1 to 1e12, have a product that is a number. */
#define RATIOS 16

/* empty [n] = log joint of the empty state; none: its prior. */
static void fill_empty(const gps_problem *problem, const double *y, double none, double *empty) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const double *leak = problem->input[LEAK];
  for (size_t n = 0; n < (size_t)problem->n_points; n++) {
    const unsigned char *observed = gps_observed_of(problem, (int)n);
    double sum = 0;
    for (size_t d = 0; d < n_dims; d++) {
      if (observed && !observed[d]) continue;
      sum += y[d + n * n_dims] > 0 ? log(leak[d]) : log1p(-leak[d]);
    }
    empty[n] = none + sum;
  }
}

/* fire [D x H] = p; own [H x n] = logit(pi_h) less the weights of h in the dimensions that are 0,
 * what h adds to any state; alone [H x n] = log joint of the state of h alone. Until p is there,
 * fire has what h alone gains in a dimension that is 1. */
static gps_status prepare(const gps_problem *problem, const double *y, double *const *prepared) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  const size_t n_points = (size_t)problem->n_points;
  const double *w = problem->input[W], *pi = problem->input[PI], *leak = problem->input[LEAK];
  double *fire = prepared[FIRE - FIRE], *own = prepared[OWN - FIRE],
         *alone = prepared[ALONE - FIRE], none = 0;
  const int is_shared = problem->input[SHARED_PROB][0] != 0;
  for (size_t h = 0; h < n_latents; h++) {
    const double on = pi[is_shared ? 0 : h];
    double base = log(on) - log1p(-on);
    for (size_t d = 0; d < n_dims; d++) {
      base -= w[d + h * n_dims];
      fire[d + h * n_dims] = log1p(-expm1(-w[d + h * n_dims]) * (1 - leak[d]) / leak[d]);
    }
    none += log1p(-on);
    for (size_t n = 0; n < n_points; n++) own[h + n * n_latents] = base;
  }
  linalg_gemm('T', 'N', n_latents, n_points, n_dims, 1, w, n_dims, y, n_dims, 1, own, n_latents);
  noisy_leave_missing(problem, w, own);
  memcpy(alone, own, n_latents * n_points * sizeof *own);
  linalg_gemm('T', 'N', n_latents, n_points, n_dims, 1, fire, n_dims, y, n_dims, 1, alone,
              n_latents);
  for (size_t i = 0; i < n_dims * n_latents; i++) fire[i] = -expm1(-w[i]);
  fill_empty(problem, y, none, prepared[EMPTY - FIRE]);
  return GPS_OK;
}

static double shared_term(const gps_problem *problem, const gps_point *point) {
  return problem->input[EMPTY][point->index];
}

/* What a call works with. The parts of gain() come first, so that they stand where they are
 * whatever the template. */
typedef struct {
  size_t n_on;          /* dimensions that are 1 */
  double *at, *odds;    /* [D]: their numbers; (1 - r) / r of gain() */
  double *leak, *on;    /* [D]: there the leak; the probability r of a 1 in a state */
  double *sum_leak;     /* [D]: sum over states of q / r */
  double *fire, *fired; /* [D x slots]: p of the latents in the slots; sums of q / r */
  double *mass;         /* [slots]: probabilities that the latents are on */
} workspace;

static size_t scratch_size(const gps_problem *problem, const gps_states *states) {
  return (size_t)problem->shape.n_dims * (5 + 2 * (size_t)states->n_slots) + 1 +
         (size_t)states->n_slots;
}

/* The parts of scratch, which begins with what find_on() leaves there. */
static workspace lay_out(const gps_problem *problem, size_t n_slots, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  workspace it = {.n_on = (size_t)scratch[0], .at = scratch + 1};
  it.odds = it.at + n_dims;
  it.leak = it.odds + n_dims;
  it.on = it.leak + n_dims;
  it.sum_leak = it.on + n_dims;
  it.fire = it.sum_leak + n_dims;
  it.fired = it.fire + n_dims * n_slots;
  it.mass = it.fired + n_dims * n_slots;
  return it;
}

/* scratch <- how many dimensions of a data point are 1, and which. */
static void find_on(const gps_problem *problem, const gps_point *point, double *scratch) {
  size_t n_on = 0;
  if (problem->sparse) {
    const gps_sparse *sparse = problem->sparse;
    for (int i = sparse->start[point->index]; i < sparse->start[point->index + 1]; i++) {
      if (sparse->value[i] > 0) scratch[++n_on] = sparse->row[i];
    }
  } else {
    for (int d = 0; d < problem->shape.n_dims; d++) {
      if (point->y[d] > 0) scratch[++n_on] = d;
    }
  }
  scratch[0] = (double)n_on;
}

/* on [n] <- r of a state with one cause more: no digits are lost however small r is. */
GPS_INLINE void add_cause(size_t n, const double *fire, double *on) {
#pragma omp simd
  for (size_t j = 0; j < n; j++) on[j] += (1 - on[j]) * fire[j];
}

/* r of state m in the dimensions that are 1. */
GPS_INLINE void fill_on(const workspace *it, const gps_states *states, int m) {
  const int *active = states->active + (size_t)m * (size_t)states->max_active;
  memcpy(it->on, it->leak, it->n_on * sizeof *it->on);
  for (int k = 0; k < states->n_active[m]; k++) {
    add_cause(it->n_on, it->fire + (size_t)active[k] * it->n_on, it->on);
  }
}

/* Sum of the logarithms of r / leak. */
GPS_INLINE double log_ratios(const workspace *it) {
  double sum = 0;
  for (size_t first = 0; first < it->n_on; first += RATIOS) {
    const size_t last = first + RATIOS < it->n_on ? first + RATIOS : it->n_on;
    double product = 1;
    for (size_t j = first; j < last; j++) product *= it->on[j] / it->leak[j];
    sum += log(product);
  }
  return sum;
}

GPS_CLONES static gps_status log_joint(const gps_problem *problem, const gps_point *point,
                                       const gps_states *states, double *value, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  const double *own = problem->input[OWN] + (size_t)point->index * n_latents;
  find_on(problem, point, scratch);
  const workspace it = lay_out(problem, (size_t)states->n_slots, scratch);
  for (size_t j = 0; j < it.n_on; j++) it.leak[j] = problem->input[LEAK][(size_t)it.at[j]];
  for (int k = 0; k < states->n_slots; k++) {
    double *fire = it.fire + (size_t)k * it.n_on;
    const int latent = point->latent[k];
    if (latent < 0) continue;
    const double *column = problem->input[FIRE] + (size_t)latent * n_dims;
    for (size_t j = 0; j < it.n_on; j++) fire[j] = column[(size_t)it.at[j]];
  }
  for (int m = 0; m < states->n_states; m++) {
    const int *active = states->active + (size_t)m * (size_t)states->max_active;
    double sum = 0;
    for (int k = 0; k < states->n_active[m]; k++) {
      const int latent = point->latent[active[k]];
      sum += latent < 0 ? -HUGE_VAL : own[latent];
    }
    if (sum > -HUGE_VAL && states->n_active[m] > 0) {
      fill_on(&it, states, m);
      sum += log_ratios(&it);
    }
    value[m] = sum;
  }
  return GPS_OK;
}

/* sum_leak and fired <- sums over the states of q / r in the dimensions that are 1: with leak and p
 * they are the expected numbers of firings. */
GPS_CLONES static double sum_states(const workspace *it, const gps_states *states,
                                    const double *prob) {
  double total = 0;
  memset(it->sum_leak, 0, it->n_on * sizeof *it->sum_leak);
  memset(it->fired, 0, it->n_on * (size_t)states->n_slots * sizeof *it->fired);
  for (int m = 0; m < states->n_states; m++) {
    total += prob[m];
    if (prob[m] <= GPS_NEGLIGIBLE) continue;
    const int *active = states->active + (size_t)m * (size_t)states->max_active;
    fill_on(it, states, m);
#pragma omp simd
    for (size_t j = 0; j < it->n_on; j++) {
      it->on[j] = prob[m] / it->on[j];
      it->sum_leak[j] += it->on[j];
    }
    for (int k = 0; k < states->n_active[m]; k++) {
      double *fired = it->fired + (size_t)active[k] * it->n_on;
#pragma omp simd
      for (size_t j = 0; j < it->n_on; j++) fired[j] += it->on[j];
    }
  }
  return total;
}

static gps_status accumulate(const gps_problem *problem, const gps_point *point,
                             const gps_states *states, const double *prob, double *const *stats,
                             double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const workspace it = lay_out(problem, (size_t)states->n_slots, scratch);
  const double weight = gps_weight_of(problem, (size_t)point->index);
  stats[COUNT][0] += weight * sum_states(&it, states, prob);
  for (size_t j = 0; j < it.n_on; j++) {
    stats[LEAKED][(size_t)it.at[j]] += weight * it.leak[j] * it.sum_leak[j];
  }
  for (int m = 0; m < states->n_states; m++) {
    const int *active = states->active + (size_t)m * (size_t)states->max_active;
    for (int k = 0; k < states->n_active[m]; k++) {
      const int latent = point->latent[active[k]];
      if (latent >= 0) stats[ON][latent] += weight * prob[m];
    }
  }
  for (int k = 0; k < states->n_slots; k++) {
    if (point->latent[k] < 0) continue;
    double *fired = stats[FIRED] + (size_t)point->latent[k] * n_dims;
    for (size_t j = 0; j < it.n_on; j++) {
      const size_t place = (size_t)k * it.n_on + j;
      fired[(size_t)it.at[j]] += weight * it.fire[place] * it.fired[place];
    }
  }
  if (point->observed) {
    noisy_add_missing(problem, point, states, prob, problem->input[LEAK], problem->input[FIRE],
                      it.mass, stats[LEAKED], stats[FIRED]);
  }
  return GPS_OK;
}

/* The response of a dimension is the probability of a 1. */
GPS_CLONES static gps_status describe(const gps_problem *problem, const gps_point *point,
                                      const gps_states *states, const double *prob, double *latent,
                                      double *response, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const workspace it = lay_out(problem, (size_t)states->n_slots, scratch);
  memset(latent, 0, (size_t)states->n_slots * sizeof *latent);
  if (response) memset(response, 0, n_dims * sizeof *response);
  for (int m = 0; m < states->n_states; m++) {
    const int *active = states->active + (size_t)m * (size_t)states->max_active;
    for (int k = 0; k < states->n_active[m]; k++) latent[active[k]] += prob[m];
    if (!response || prob[m] <= GPS_NEGLIGIBLE) continue;
    memcpy(it.on, problem->input[LEAK], n_dims * sizeof *it.on);
    for (int k = 0; k < states->n_active[m]; k++) {
      add_cause(n_dims, problem->input[FIRE] + (size_t)point->latent[active[k]] * n_dims, it.on);
    }
    for (size_t d = 0; d < n_dims; d++) response[d] += prob[m] * it.on[d];
  }
  return GPS_OK;
}

static gps_status gain_begin(const gps_problem *problem, const gps_point *point, double *scratch) {
  find_on(problem, point, scratch);
  return GPS_OK;
}

/* Beside given causes a dimension that is 1 gains (r + (1 - r) p) / r = 1 + p (1 - r) / r. */
static gps_status gain(const gps_problem *problem, const gps_point *point, int n_given,
                       const int *given, int n_candidates, const int *candidate, double *value,
                       double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  const size_t offset = (size_t)point->index * n_latents;
  if (n_given == 0) {
    for (int c = 0; c < n_candidates; c++) {
      value[c] = problem->input[ALONE][offset + (size_t)candidate[c]];
    }
    return GPS_OK;
  }
  const size_t n_on = (size_t)scratch[0];
  double *at = scratch + 1, *odds = at + n_dims;
  for (size_t j = 0; j < n_on; j++) {
    const size_t d = (size_t)at[j];
    double on = problem->input[LEAK][d];
    for (int i = 0; i < n_given; i++) {
      on += (1 - on) * problem->input[FIRE][d + (size_t)given[i] * n_dims];
    }
    odds[j] = on < 1 ? (1 - on) / on : 0;
  }
  for (int c = 0; c < n_candidates; c++) {
    const double *fire = problem->input[FIRE] + (size_t)candidate[c] * n_dims;
    double sum = problem->input[OWN][offset + (size_t)candidate[c]];
    for (size_t first = 0; first < n_on; first += RATIOS) {
      const size_t last = first + RATIOS < n_on ? first + RATIOS : n_on;
      double product = 1;
      for (size_t j = first; j < last; j++) product *= 1 + odds[j] * fire[(size_t)at[j]];
      sum += log(product);
    }
    value[c] = sum;
  }
  return GPS_OK;
}

static double clamp(double prob, double lowest, int *clamped) {
  if (prob >= lowest && prob <= 1 - lowest) return prob;
  ++*clamped;
  return prob < lowest ? lowest : 1 - lowest;
}

/* Shares of the chances to fire that were taken: the maximum of the expected log joint of states,
 * firings and data, which no step can raise without raising that of states and data at least as
 * much. A cause that was never on keeps its weights. */
static gps_status mstep(const gps_problem *problem, const double *const *stats,
                        double *const *params_new, int *events, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  const double count = stats[COUNT][0], lowest = problem->input[FLOOR_PROB][0];
  double total = 0;
  (void)scratch;
  if (!(count > 0)) return GPS_OK;
  for (size_t h = 0; h < n_latents; h++) {
    const double on = stats[ON][h];
    total += on;
    if (!isfinite(on)) return GPS_NOT_FINITE;
    if (!(on > 0)) continue;
    for (size_t d = 0; d < n_dims; d++) {
      const double prob = clamp(stats[FIRED][d + h * n_dims] / on, lowest, events + EVENT_FLOOR);
      params_new[W][d + h * n_dims] = -log1p(-prob);
    }
  }
  for (size_t d = 0; d < n_dims; d++) {
    params_new[LEAK][d] = clamp(stats[LEAKED][d] / count, lowest, events + EVENT_FLOOR);
  }
  if (problem->input[SHARED_PROB][0] != 0) {
    params_new[PI][0] = clamp(total / (count * (double)n_latents), PI_LOWEST, events + EVENT_PI);
    return GPS_OK;
  }
  for (size_t h = 0; h < n_latents; h++) {
    params_new[PI][h] = clamp(stats[ON][h] / count, PI_LOWEST, events + EVENT_PI);
  }
  return GPS_OK;
}

const gps_model model_noisy_or = {
    .api = GPS_MODEL_API,
    .params = params_list,
    .options = options_list,
    .prepared = prepared_list,
    .stats = stats_list,
    .events = events_list,
    .scratch_size = scratch_size,
    .log_joint = log_joint,
    .shared_term = shared_term,
    .accumulate = accumulate,
    .describe = describe,
    .gain_begin = gain_begin,
    .gain = gain,
    .prepare = prepare,
    .mstep = mstep,
    .weighs = 1,
    .takes_missing = 1,
};
