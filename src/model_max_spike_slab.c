/* Model C of the paper, max spike-and-slab sparse coding: b_h ~ Bernoulli(pi_h), z_h ~ N(mu_h,
 * psi_h), y_d ~ N(a_d + max(0, max_h b_h z_h W_dh), sigma2), where the intercept a may be missing.
 * Gibbs sampling of (b_h, z_h) by the exact conditional; closed forms where at most one is on. */
#include <math.h>
#include <string.h>

#include "max_conditional.h"
#include "model_max_missing.h"
#include "model_max_spike_slab.h"
#include "model_sparse.h"
#include "vector_math.h"

static const gps_array params_list[] = {{"W", "dims latents", GPS_NEEDED},
                                        {"pi", "probs", GPS_NEEDED},
                                        {"mu", "latents", GPS_NEEDED},
                                        {"psi", "latents", GPS_NEEDED},
                                        {"sigma2", "one", GPS_NEEDED},
                                        {"intercept", "dims", GPS_MAY_MISS},
                                        GPS_END};
static const gps_array options_list[] = {
    {"shared_prob", "one", GPS_NEEDED}, {"floor_sigma2", "one", GPS_NEEDED},
    {"floor_W", "one", GPS_NEEDED},     {"pseudo_count", "one", GPS_NEEDED},
    {"centre", "dims", GPS_MAY_MISS},   GPS_END};
static const gps_array prepared_list[] = {{"prior", "priors", GPS_NEEDED},
                                          {"log_norm", "latents", GPS_NEEDED},
                                          {"y_square", "points", GPS_NEEDED},
                                          {"deviation", "intercepts points", GPS_NEEDED},
                                          GPS_END};

/* prior [H + 1] = logit(pi_h), then the log joint of the empty state without its data term;
 * log_norm [H] of the slabs; y_square [n]; with an intercept deviation [D x n] = y - a, which
 * y_square is of. */
static gps_status prepare(const gps_problem *problem, const double *y, double *const *prepared) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_points = (size_t)problem->n_points;
  const double *intercept = problem->input[INTERCEPT];
  double *log_norm = prepared[LOG_NORM - PREPARED], *deviation = prepared[DEVIATION - PREPARED];
  sparse_prepare(problem, problem->input[W], problem->input[PI],
                 problem->input[SHARED_PROB][0] != 0, problem->input[SIGMA2][0], intercept, y,
                 prepared[PRIOR - PREPARED], prepared[Y_SQUARE - PREPARED]);
  for (size_t n = 0; intercept && n < n_points; n++) {
    for (size_t d = 0; d < n_dims; d++) {
      deviation[d + n * n_dims] = y[d + n * n_dims] - intercept[d];
    }
  }
  for (int h = 0; h < problem->shape.n_latents; h++) {
    log_norm[h] = -0.5 * log(TWO_PI * problem->input[PSI][h]);
  }
  return GPS_OK;
}

/* The log joint of the empty state, which the log joints of all states are relative to. */
static double shared_term(const gps_problem *problem, const gps_point *point) {
  return sparse_shared_term(problem, point, problem->input[PRIOR], problem->input[Y_SQUARE],
                            problem->input[SIGMA2][0]);
}

/* What a data point has above the intercept. */
static const double *data_of(const gps_problem *problem, const gps_point *point) {
  if (!max_has_intercept(problem)) return point->y;
  return problem->input[DEVIATION] + (size_t)point->index * (size_t)problem->shape.n_dims;
}

/* A response, or part of one, in which nothing is on. */
static void begin_response(const gps_problem *problem, double *response) {
  const double *intercept = problem->input[INTERCEPT];
  for (int d = 0; d < problem->shape.n_dims; d++) response[d] = intercept ? intercept[d] : 0;
}

static const double *component(const gps_problem *problem, int latent) {
  return problem->input[W] + (size_t)latent * (size_t)problem->shape.n_dims;
}

/* `gathered` is where the cells are put together that a point has, where some are missing. */
static max_latent latent_of(const gps_problem *problem, const gps_point *point, int latent,
                            const double *others, double *gathered) {
  max_latent result = {.n_dims = (size_t)problem->shape.n_dims,
                       .y = data_of(problem, point),
                       .w = component(problem, latent),
                       .others = others,
                       .mu = problem->input[MU][latent],
                       .psi = problem->input[PSI][latent],
                       .log_norm = problem->input[LOG_NORM][latent],
                       .sigma2 = problem->input[SIGMA2][0],
                       .beta = problem->beta};
  if (point->observed) max_leave_missing(point, &result, gathered);
  return result;
}

/* scratch: moments [4 x slots], what latents reach [D], the winner of each dimension [D], the cells
 * that are there, a conditional's own */
static size_t scratch_size(const gps_problem *problem, const gps_states *states) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  return N_MOMENTS * (size_t)states->n_slots + 2 * n_dims + max_missing_scratch(problem) +
         max_latent_scratch(n_dims);
}

/* reached[d] <- max(reached[d], value w[d]) */
GPS_CLONES static void raise_to(double *restrict reached, const double *restrict w, double value,
                                size_t n_dims) {
#pragma omp simd
  for (size_t d = 0; d < n_dims; d++) {
    const double mean = value * w[d];
    reached[d] = mean > reached[d] ? mean : reached[d];
  }
}

/* What the latents in all slots but one reach, or NULL where none of them is on. */
static const double *reach_others(const gps_problem *problem, const gps_point *point, int n_slots,
                                  int slot, const double *value, double *reached) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  int is_any = 0;
  for (int k = 0; k < n_slots; k++) {
    if (k == slot || value[k] == 0 || point->latent[k] < 0) continue;
    if (!is_any) memset(reached, 0, n_dims * sizeof *reached);
    is_any = 1;
    raise_to(reached, component(problem, point->latent[k]), value[k], n_dims);
  }
  return is_any ? reached : NULL;
}

static gps_status conditional(const gps_problem *problem, const gps_point *point,
                              const gps_states *states, int slot, const double *value, gps_rng *rng,
                              gps_step *step, double *scratch) {
  const int latent = point->latent[slot];
  const double *others = reach_others(problem, point, states->n_slots, slot, value, scratch);
  double *gathered = scratch + problem->shape.n_dims;
  const max_latent law = latent_of(problem, point, latent, others, gathered);
  normal_pieces pieces;
  const double log_integral =
      max_latent_integral(&law, &pieces, gathered + max_missing_scratch(problem));
  const double odds = problem->beta * problem->input[PRIOR][latent] + log_integral;
  if (odds == -HUGE_VAL) {
    /* Out of the model. */
    step->prob_on = 0;
    if (rng) {
      step->value = 0;
    } else {
      step->log_density = step->value == 0 ? 0 : -HUGE_VAL;
    }
    return GPS_OK;
  }
  if (!isfinite(odds)) return GPS_NOT_FINITE;
  const double ratio = exp(-fabs(odds));
  step->prob_on = (odds >= 0 ? 1 : ratio) / (1 + ratio);
  if (rng) {
    const int is_on = gps_rng_uniform(rng) < step->prob_on;
    step->value = is_on ? max_latent_draw(&law, &pieces, rng) : 0;
    return GPS_OK;
  }
  const int is_likely = (step->value != 0) == (odds >= 0);
  step->log_density = -log1p(ratio) - (is_likely ? 0 : fabs(odds));
  if (step->value != 0) step->log_density += max_latent_density(&law, step->value) - log_integral;
  return GPS_OK;
}

/* Relative to the empty state, tempered: prior and slabs of what is on, and the likelihood. */
static gps_status log_joint_draw(const gps_problem *problem, const gps_point *point,
                                 const gps_states *states, const double *value, double *log_joint,
                                 double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const double *reached = reach_others(problem, point, states->n_slots, -1, value, scratch);
  const double *y = data_of(problem, point);
  double sum = 0, prior = 0;
  for (int k = 0; k < states->n_slots; k++) {
    const int latent = point->latent[k];
    if (value[k] == 0) continue;
    const double deviation = value[k] - problem->input[MU][latent];
    prior += problem->input[PRIOR][latent] + problem->input[LOG_NORM][latent] -
             0.5 * deviation * deviation / problem->input[PSI][latent];
  }
  for (size_t d = 0; reached && d < n_dims; d++) {
    if (!point->observed || point->observed[d]) sum += reached[d] * (2 * y[d] - reached[d]);
  }
  *log_joint = problem->beta * (prior + 0.5 * sum / problem->input[SIGMA2][0]);
  return GPS_OK;
}

/* As raise_to(), with the slot that wins. The first of several that tie keeps the dimension. */
GPS_CLONES static void win(double *restrict reached, double *restrict winner,
                           const double *restrict w, double value, double slot, size_t n_dims) {
#pragma omp simd
  for (size_t d = 0; d < n_dims; d++) {
    const double mean = value * w[d];
    winner[d] = mean > reached[d] ? slot : winner[d];
    reached[d] = mean > reached[d] ? mean : reached[d];
  }
}

/* Credit of the dimensions that the latent in `slot` wins: first = z and second = z^2, weighted. */
GPS_CLONES static void add_credit(double *restrict won_data, double *restrict won_square,
                                  const double *restrict y, const double *restrict winner,
                                  double slot, double first, double second, size_t n_dims) {
#pragma omp simd
  for (size_t d = 0; d < n_dims; d++) {
    won_data[d] += winner[d] == slot ? first * y[d] : 0;
    won_square[d] += winner[d] == slot ? second : 0;
  }
}

/* The same of z alone. */
GPS_CLONES static void add_wins(double *restrict won_value, const double *restrict winner,
                                double slot, double first, size_t n_dims) {
#pragma omp simd
  for (size_t d = 0; d < n_dims; d++) won_value[d] += winner[d] == slot ? first : 0;
}

static void add_draw(const gps_problem *problem, const gps_point *point, int n_slots,
                     const double *value, double weight, double *const *stats, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  double *reached = scratch, *winner = scratch + n_dims;
  for (size_t d = 0; d < n_dims; d++) {
    reached[d] = 0;
    winner[d] = -1;
  }
  for (int k = 0; k < n_slots; k++) {
    if (value[k] == 0) continue;
    win(reached, winner, component(problem, point->latent[k]), value[k], k, n_dims);
  }
  for (int k = 0; k < n_slots; k++) {
    if (value[k] == 0) continue;
    const size_t latent = (size_t)point->latent[k];
    const double first = weight * value[k], second = first * value[k];
    stats[ON_DRAWN][latent] += weight;
    stats[VALUE][latent] += first;
    stats[VALUE_SQUARE][latent] += second;
    add_credit(stats[WON_DATA] + latent * n_dims, stats[WON_SQUARE] + latent * n_dims, point->y,
               winner, k, first, second, n_dims);
    if (max_has_intercept(problem)) {
      add_wins(stats[WON_VALUE] + latent * n_dims, winner, k, first, n_dims);
    }
  }
  if (point->observed) max_add_missing(problem, point, value, weight, reached, winner, stats);
}

static gps_status accumulate_draws(const gps_problem *problem, const gps_point *point,
                                   const gps_states *states, int n_draws, const double *draws,
                                   const double *prob_on, double *const *stats, double *scratch) {
  const double weight = max_add_point(problem, point, stats);
  for (int k = 0; k < states->n_slots; k++) {
    if (point->latent[k] >= 0) stats[ON][point->latent[k]] += weight * prob_on[k];
  }
  for (int s = 0; s < n_draws; s++) {
    add_draw(problem, point, states->n_slots, draws + (size_t)s * (size_t)states->n_slots,
             weight * (1.0 / n_draws), stats, scratch);
  }
  return GPS_OK;
}

static gps_status describe_draws(const gps_problem *problem, const gps_point *point,
                                 const gps_states *states, int n_draws, const double *draws,
                                 double *latent, double *response, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_slots = (size_t)states->n_slots;
  memset(latent, 0, n_slots * sizeof *latent);
  if (response) begin_response(problem, response);
  for (int s = 0; s < n_draws; s++) {
    const double *value = draws + (size_t)s * n_slots;
    for (size_t k = 0; k < n_slots; k++) latent[k] += value[k] / n_draws;
    if (!response) continue;
    const double *reached = reach_others(problem, point, states->n_slots, -1, value, scratch);
    for (size_t d = 0; reached && d < n_dims; d++) response[d] += reached[d] / n_draws;
  }
  return GPS_OK;
}

/* Log joint of the state in which one latent is on alone, z integrated out at the problem's
 * temperature, and moments of z [4] in it. */
static double single_log_joint(const gps_problem *problem, const gps_point *point, int latent,
                               double *moment, double *scratch) {
  const max_latent law = latent_of(problem, point, latent, NULL, scratch);
  normal_pieces pieces;
  const double log_integral =
      max_latent_integral(&law, &pieces, scratch + max_missing_scratch(problem));
  memset(moment, 0, N_MOMENTS * sizeof *moment);
  for (size_t i = 0; i < pieces.n; i++) {
    const int is_above = i < pieces.n_first;
    const double root = sqrt(pieces.prec[i]), share = pieces.mass[i] / pieces.total;
    double half[3];
    normal_half_moments((pieces.slope[i] - pieces.prec[i] * pieces.lo[i]) / root, half);
    moment[FIRST_BELOW + is_above] = (is_above ? share : -share) * half[1] / (half[0] * root);
    moment[SECOND_BELOW + is_above] = share * half[2] / (half[0] * root * root);
  }
  return problem->input[PRIOR][latent] + log_integral / problem->beta;
}

/* Only states with at most one latent on have a closed form. */
static gps_status log_joint(const gps_problem *problem, const gps_point *point,
                            const gps_states *states, double *value, double *scratch) {
  double *moments = scratch, *own = scratch + N_MOMENTS * (size_t)states->n_slots;
  for (int m = 0; m < states->n_states; m++) {
    if (states->n_active[m] > 1) return GPS_BAD_MODEL;
    value[m] = 0;
    if (states->n_active[m] == 0) continue;
    const int slot = states->active[(size_t)m * (size_t)states->max_active];
    const int latent = point->latent[slot];
    value[m] = latent < 0 ? -HUGE_VAL
                          : single_log_joint(problem, point, latent,
                                             moments + N_MOMENTS * (size_t)slot, own);
  }
  return GPS_OK;
}

/* As for draws, with the moments that log_joint() left in scratch. */
static gps_status accumulate(const gps_problem *problem, const gps_point *point,
                             const gps_states *states, const double *prob, double *const *stats,
                             double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const double weight = max_add_point(problem, point, stats);
  if (point->observed) max_add_missing_base(problem, point, stats);
  for (int m = 0; m < states->n_states; m++) {
    if (states->n_active[m] == 0) continue;
    const double share = weight * prob[m];
    const int slot = states->active[(size_t)m * (size_t)states->max_active];
    if (point->latent[slot] < 0) continue;
    const size_t latent = (size_t)point->latent[slot];
    const double *moment = scratch + N_MOMENTS * (size_t)slot, *w = component(problem, (int)latent);
    stats[ON][latent] += share;
    stats[ON_DRAWN][latent] += share;
    stats[VALUE][latent] += share * (moment[FIRST_BELOW] + moment[FIRST_ABOVE]);
    stats[VALUE_SQUARE][latent] += share * (moment[SECOND_BELOW] + moment[SECOND_ABOVE]);
    for (size_t d = 0; d < n_dims; d++) {
      if (w[d] == 0) continue;
      const int is_above = w[d] > 0;
      stats[WON_DATA][d + latent * n_dims] += share * point->y[d] * moment[FIRST_BELOW + is_above];
      stats[WON_SQUARE][d + latent * n_dims] += share * moment[SECOND_BELOW + is_above];
      if (max_has_intercept(problem)) {
        stats[WON_VALUE][d + latent * n_dims] += share * moment[FIRST_BELOW + is_above];
      }
    }
    if (point->observed) max_add_missing_single(problem, point, (int)latent, share, moment, stats);
  }
  return GPS_OK;
}

static gps_status describe(const gps_problem *problem, const gps_point *point,
                           const gps_states *states, const double *prob, double *latent,
                           double *response, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  memset(latent, 0, (size_t)states->n_slots * sizeof *latent);
  if (response) begin_response(problem, response);
  for (int m = 0; m < states->n_states; m++) {
    if (states->n_active[m] == 0) continue;
    const int slot = states->active[(size_t)m * (size_t)states->max_active];
    if (point->latent[slot] < 0) continue;
    const double *moment = scratch + N_MOMENTS * (size_t)slot;
    const double *w = component(problem, point->latent[slot]);
    latent[slot] = prob[m] * (moment[FIRST_BELOW] + moment[FIRST_ABOVE]);
    for (size_t d = 0; response && d < n_dims; d++) {
      response[d] += prob[m] * w[d] * moment[w[d] > 0 ? FIRST_ABOVE : FIRST_BELOW];
    }
  }
  return GPS_OK;
}

/* The log odds of each candidate, its z integrated out. The given latents reach what they do at
 * their most probable values, taken one after the other in the order in which they stand. */
static gps_status gain(const gps_problem *problem, const gps_point *point, int n_given,
                       const int *given, int n_candidates, const int *candidate, double *value,
                       double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  double *reached = scratch, *gathered = scratch + n_dims;
  double *own = gathered + max_missing_scratch(problem);
  normal_pieces pieces;
  memset(reached, 0, n_dims * sizeof *reached);
  for (int i = 0; i < n_given; i++) {
    const max_latent law = latent_of(problem, point, given[i], i > 0 ? reached : NULL, gathered);
    max_latent_integral(&law, &pieces, own);
    raise_to(reached, component(problem, given[i]), max_latent_mode(&law, &pieces), n_dims);
  }
  for (int c = 0; c < n_candidates; c++) {
    const max_latent law =
        latent_of(problem, point, candidate[c], n_given > 0 ? reached : NULL, gathered);
    value[c] = problem->input[PRIOR][candidate[c]] +
               max_latent_integral(&law, &pieces, own) / problem->beta;
  }
  return GPS_OK;
}

const gps_model model_max_spike_slab = {
    .api = GPS_MODEL_API,
    .params = params_list,
    .options = options_list,
    .prepared = prepared_list,
    .stats = max_stats,
    .events = max_events,
    .scratch_size = scratch_size,
    .log_joint = log_joint,
    .shared_term = shared_term,
    .accumulate = accumulate,
    .describe = describe,
    .conditional = conditional,
    .log_joint_draw = log_joint_draw,
    .accumulate_draws = accumulate_draws,
    .describe_draws = describe_draws,
    .gain = gain,
    .prepare = prepare,
    .mstep_scratch = max_mstep_scratch,
    .mstep = max_mstep,
    .weighs = 1,
    .takes_missing = 1,
};
