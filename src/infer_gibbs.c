/* The E-step by Gibbs sampling, for state spaces too large to sum over. The kept sweeps are
 * arranged as in Murray and Salakhutdinov (2009), "Evaluating probabilities under high-dimensional
 * latent variable models", NIPS 21: they give posterior means and an unbiased estimate of the sum
 * over all states. Called by r_estep.c, one thread a block. */
#include "infer.h"

#include <math.h>
#include <string.h>

/* Temperature of the first hot sweep; it falls geometrically to that of the problem. */
#define HOTTEST 1000.0

/* One data point at work. */
typedef struct {
  const gps_model *model;
  const gps_problem *problem;
  const gps_point *point;
  const gps_states *states;
  const gps_chain *chain;
  double *value;                   /* [n_slots] the present state */
  int n_on, *on;                   /* [max_active] its slots that are on, ascending */
  int *given;                      /* [max_active + 1] */
  int *n_active, *parent, *active; /* template of the states whose log joints are asked for */
  double *target, *prob_on;        /* [n_slots] */
  double *draws;                   /* [n_slots x n_drawn] */
  double *log_density, *weight;    /* [n_drawn] */
  double *scratch;                 /* the model's */
  size_t every, n_sweeps;          /* the watch is asked once for `every` sweeps */
} gibbs_walk;

/* Draws that are made: a second one where one is kept. Also the states of the largest template. */
static int n_drawn_of(const gps_chain *chain) { return chain->n_keep > 2 ? chain->n_keep : 2; }

static gps_states template_of(const gps_states *states, int n_states) {
  const gps_states result = {states->n_slots, states->max_active, n_states, NULL, NULL, NULL, 0};
  return result;
}

size_t infer_gibbs_scratch(const gps_model *model, const gps_problem *problem,
                           const gps_states *states, const gps_chain *chain) {
  const int n_drawn = n_drawn_of(chain);
  const gps_states drawn = template_of(states, n_drawn);
  return ((size_t)states->n_slots + 2) * (size_t)n_drawn + 3 * (size_t)states->n_slots +
         model->scratch_size(problem, &drawn);
}

size_t infer_gibbs_ints(const gps_states *states, const gps_chain *chain) {
  const size_t max_active = (size_t)states->max_active;
  return 2 * max_active + 1 + (size_t)n_drawn_of(chain) * (2 + max_active);
}

static gibbs_walk new_walk(const gps_model *model, const gps_problem *problem,
                           const gps_states *states, const gps_chain *chain, double *scratch,
                           int *ints) {
  const size_t n_slots = (size_t)states->n_slots, max_active = (size_t)states->max_active;
  const size_t n_drawn = (size_t)n_drawn_of(chain);
  gibbs_walk walk = {.model = model, .problem = problem, .states = states, .chain = chain};
  walk.value = scratch;
  walk.target = walk.value + n_slots;
  walk.prob_on = walk.target + n_slots;
  walk.draws = walk.prob_on + n_slots;
  walk.log_density = walk.draws + n_slots * n_drawn;
  walk.weight = walk.log_density + n_drawn;
  walk.scratch = walk.weight + n_drawn;
  walk.on = ints;
  walk.given = walk.on + max_active;
  walk.n_active = walk.given + max_active + 1;
  walk.parent = walk.n_active + n_drawn;
  walk.active = walk.parent + n_drawn;
  walk.every = 1 + 65536 / (n_slots * (size_t)problem->shape.n_dims + 1);
  return walk;
}

/* Makes `value` the present state. Empty slots are off, and so are slots beyond max_active others:
 * a chain may have started under another limit. */
static void load_state(gibbs_walk *walk, const double *value) {
  walk->n_on = 0;
  for (int i = 0; i < walk->states->n_slots; i++) {
    const int is_on =
        value[i] != 0 && walk->point->latent[i] >= 0 && walk->n_on < walk->states->max_active;
    walk->value[i] = is_on ? value[i] : 0;
    if (is_on) walk->on[walk->n_on++] = i;
  }
}

static void set_value(gibbs_walk *walk, int slot, double value) {
  int k = 0;
  while (k < walk->n_on && walk->on[k] < slot) k++;
  const int was_on = walk->value[slot] != 0;
  walk->value[slot] = value;
  if (was_on && value == 0) {
    walk->n_on--;
    for (; k < walk->n_on; k++) walk->on[k] = walk->on[k + 1];
  } else if (!was_on && value != 0) {
    for (int i = walk->n_on++; i > k; i--) walk->on[i] = walk->on[i - 1];
    walk->on[k] = slot;
  }
}

/* State m of the template: these slots. */
static void put_state(gibbs_walk *walk, int m, int n_active, const int *slots) {
  walk->n_active[m] = n_active;
  walk->parent[m] = -1;
  memcpy(walk->active + (size_t)m * (size_t)walk->states->max_active, slots,
         (size_t)n_active * sizeof *slots);
}

static gps_states filled_template(const gibbs_walk *walk, int n_states) {
  gps_states states = template_of(walk->states, n_states);
  states.n_active = walk->n_active;
  states.active = walk->active;
  states.parent = walk->parent;
  return states;
}

static gps_status template_log_joint(gibbs_walk *walk, int n_states, double *log_joint) {
  const gps_states states = filled_template(walk, n_states);
  return walk->model->log_joint(walk->problem, walk->point, &states, log_joint, walk->scratch);
}

/* Log odds of a slot to be on given the others, by the log joints of both states. */
static gps_status odds_by_joints(gibbs_walk *walk, int slot, double *odds) {
  int n = 0, with = 0;
  for (int k = 0; k < walk->n_on; k++) {
    if (walk->on[k] != slot) walk->given[n++] = walk->on[k];
  }
  put_state(walk, 0, n, walk->given);
  while (with < n && walk->given[with] < slot) with++;
  memmove(walk->given + with + 1, walk->given + with, (size_t)(n - with) * sizeof(int));
  walk->given[with] = slot;
  put_state(walk, 1, n + 1, walk->given);
  double joint[2];
  const gps_status status = template_log_joint(walk, 2, joint);
  *odds = joint[1] == -HUGE_VAL ? -HUGE_VAL : joint[1] - joint[0];
  return status;
}

static gps_status odds_by_gain(gibbs_walk *walk, int slot, double *odds) {
  int n = 0;
  for (int k = 0; k < walk->n_on; k++) {
    if (walk->on[k] != slot) walk->given[n++] = walk->point->latent[walk->on[k]];
  }
  return walk->model->gain(walk->problem, walk->point, n, walk->given, 1,
                           walk->point->latent + slot, odds, walk->scratch);
}

/* The step of a slot that is on or off and nothing else. */
static gps_status flip(gibbs_walk *walk, int slot, gps_rng *rng, gps_step *step) {
  double odds;
  const gps_status status =
      walk->model->gain ? odds_by_gain(walk, slot, &odds) : odds_by_joints(walk, slot, &odds);
  if (status != GPS_OK) return status;
  odds *= walk->problem->beta;
  if (isnan(odds) || odds == HUGE_VAL) return GPS_NOT_FINITE;
  const double ratio = exp(-fabs(odds));
  step->prob_on = (odds >= 0 ? 1 : ratio) / (1 + ratio);
  if (rng) { /* nobody asks for the density of a draw */
    step->value = gps_rng_uniform(rng) < step->prob_on;
    return GPS_OK;
  }
  const int is_likely = (step->value != 0) == (odds >= 0);
  step->log_density = -log1p(ratio) - (is_likely ? 0 : fabs(odds));
  return GPS_OK;
}

/* Slot `slot` drawn given the others, or without rng set to step->value. */
static gps_status visit(gibbs_walk *walk, int slot, gps_rng *rng, gps_step *step) {
  const int n_others = walk->n_on - (walk->value[slot] != 0);
  gps_status status = GPS_OK;
  if (walk->point->latent[slot] < 0 || n_others >= walk->states->max_active) {
    if (rng) step->value = 0;
    step->prob_on = 0;
    step->log_density = step->value == 0 ? 0 : -HUGE_VAL;
  } else if (walk->model->conditional) {
    status = walk->model->conditional(walk->problem, walk->point, walk->states, slot, walk->value,
                                      rng, step, walk->scratch);
  } else {
    status = flip(walk, slot, rng, step);
  }
  if (status != GPS_OK) return status;
  const int is_sound = isfinite(step->value) && step->prob_on >= 0 && step->prob_on <= 1 &&
                       step->log_density < HUGE_VAL;
  if (!is_sound) return GPS_NOT_FINITE;
  if (step->log_density > -HUGE_VAL) set_value(walk, slot, step->value);
  return GPS_OK;
}

/* Draws all slots, in ascending order or in reverse; prob_on [n_slots] grows by p(on | rest). */
static gps_status sweep(gibbs_walk *walk, int is_reverse, gps_rng *rng, double *prob_on) {
  const int n_slots = walk->states->n_slots;
  if (gps_must_stop_each(walk->problem->watch, walk->every, &walk->n_sweeps))
    return GPS_INTERRUPTED;
  for (int i = 0; i < n_slots; i++) {
    const int slot = is_reverse ? n_slots - 1 - i : i;
    gps_step step = {0, 0, 0};
    const gps_status status = visit(walk, slot, rng, &step);
    if (status != GPS_OK) return status;
    if (prob_on) prob_on[slot] += step.prob_on;
  }
  return GPS_OK;
}

/* Log density of the ascending sweep that leads from one state to another. */
static gps_status log_transition(gibbs_walk *walk, const double *from, const double *to,
                                 double *log_density) {
  if (gps_must_stop_each(walk->problem->watch, walk->every, &walk->n_sweeps))
    return GPS_INTERRUPTED;
  load_state(walk, from);
  *log_density = 0;
  for (int slot = 0; slot < walk->states->n_slots; slot++) {
    gps_step step = {to[slot], 0, 0};
    const gps_status status = visit(walk, slot, NULL, &step);
    if (status != GPS_OK) return status;
    *log_density += step.log_density;
    if (step.log_density == -HUGE_VAL) break;
  }
  return GPS_OK;
}

/* One more draw from the state `from`, by a sweep in either order. */
static gps_status keep_draw(gibbs_walk *walk, const double *from, int is_reverse, gps_rng *rng,
                            double *draw, double *prob_on) {
  load_state(walk, from);
  const gps_status status = sweep(walk, is_reverse, rng, prob_on);
  memcpy(draw, walk->value, (size_t)walk->states->n_slots * sizeof *draw);
  return status;
}

/* The kept draws: one, at a random place of the chain, by a reverse sweep from the target; those
 * after it by ascending sweeps, those before it by reverse ones. */
static gps_status keep_draws(gibbs_walk *walk, gps_rng *rng) {
  const size_t n_slots = (size_t)walk->states->n_slots;
  const int n_keep = walk->chain->n_keep, first = gps_rng_index(rng, n_keep);
  double *draws = walk->draws;
  memset(walk->prob_on, 0, n_slots * sizeof(double));
  gps_status status =
      keep_draw(walk, walk->target, 1, rng, draws + (size_t)first * n_slots, walk->prob_on);
  for (int s = first + 1; s < n_keep && status == GPS_OK; s++) {
    const double *last = draws + (size_t)(s - 1) * n_slots;
    status = keep_draw(walk, last, 0, rng, draws + (size_t)s * n_slots, walk->prob_on);
  }
  for (int s = first - 1; s >= 0 && status == GPS_OK; s--) {
    const double *next = draws + (size_t)(s + 1) * n_slots;
    status = keep_draw(walk, next, 1, rng, draws + (size_t)s * n_slots, walk->prob_on);
  }
  for (size_t i = 0; i < n_slots; i++) walk->prob_on[i] /= n_keep;
  return status;
}

/* Log of the mean density, and the variance of that by the delta method, as if draws were
 * independent. */
static double log_mean(const double *log_density, int n, double *variance) {
  double top = -HUGE_VAL, mean = 0, squares = 0;
  for (int s = 0; s < n; s++) top = log_density[s] > top ? log_density[s] : top;
  for (int s = 0; s < n; s++) mean += exp(log_density[s] - top) / n;
  for (int s = 0; s < n; s++) {
    const double deviation = exp(log_density[s] - top) - mean;
    squares += deviation * deviation;
  }
  *variance = n > 1 ? squares / (n * (n - 1.0) * mean * mean) : 0;
  return top + log(mean);
}

/* Log joint of the target without what all states share. */
static gps_status target_log_joint(gibbs_walk *walk, double *log_joint) {
  if (walk->model->conditional) {
    return walk->model->log_joint_draw(walk->problem, walk->point, walk->states, walk->target,
                                       log_joint, walk->scratch);
  }
  load_state(walk, walk->target);
  put_state(walk, 0, walk->n_on, walk->on);
  const gps_status status = template_log_joint(walk, 1, log_joint);
  *log_joint *= walk->problem->beta;
  return status;
}

/* log Z: the target's log joint less the log of the mean density of the sweeps that lead to it. A
 * single draw shows no spread: half the square of its distance from another one, used for nothing
 * else, has the variance for its mean. */
static gps_status estimate_evidence(gibbs_walk *walk, gps_rng *rng, double *log_evidence,
                                    double *variance) {
  const size_t n_slots = (size_t)walk->states->n_slots;
  const int n_keep = walk->chain->n_keep, n_drawn = n_drawn_of(walk->chain);
  double log_joint = 0;
  gps_status status = target_log_joint(walk, &log_joint);
  if (n_keep == 1 && status == GPS_OK) {
    status = keep_draw(walk, walk->target, 1, rng, walk->draws + n_slots, NULL);
  }
  for (int s = 0; s < n_drawn && status == GPS_OK; s++) {
    status = log_transition(walk, walk->draws + (size_t)s * n_slots, walk->target,
                            walk->log_density + s);
  }
  if (status != GPS_OK) return status;
  *log_evidence = log_joint - log_mean(walk->log_density, n_keep, variance);
  if (n_keep == 1) {
    const double distance = walk->log_density[0] - walk->log_density[1];
    *variance = distance * distance / 2;
  }
  return GPS_OK;
}

/* Statistics and description of the draws: by the model's own functions for them, or as states of
 * equal probability. */
static gps_status use_draws(gibbs_walk *walk, double *latent, double *response,
                            double *const *stats) {
  const gps_model *model = walk->model;
  const int n_keep = walk->chain->n_keep;
  gps_status status = GPS_OK;
  if (model->conditional) {
    if (latent) {
      status = model->describe_draws(walk->problem, walk->point, walk->states, n_keep, walk->draws,
                                     latent, response, walk->scratch);
    }
    if (!stats || status != GPS_OK) return status;
    return model->accumulate_draws(walk->problem, walk->point, walk->states, n_keep, walk->draws,
                                   walk->prob_on, stats, walk->scratch);
  }
  if (!latent && !stats) return GPS_OK;
  for (int s = 0; s < n_keep; s++) {
    load_state(walk, walk->draws + (size_t)s * (size_t)walk->states->n_slots);
    put_state(walk, s, walk->n_on, walk->on);
  }
  const gps_states states = filled_template(walk, n_keep);
  status = model->log_joint(walk->problem, walk->point, &states, walk->weight, walk->scratch);
  for (int s = 0; s < n_keep; s++) walk->weight[s] = 1.0 / n_keep;
  if (latent && status == GPS_OK) {
    status = model->describe(walk->problem, walk->point, &states, walk->weight, latent, response,
                             walk->scratch);
  }
  if (!stats || status != GPS_OK) return status;
  return model->accumulate(walk->problem, walk->point, &states, walk->weight, stats, walk->scratch);
}

/* Sweeps that lead to the target. At full sharpness a chain that starts far off is soon caught in
 * the first state that explains a point somehow; falling temperatures lead past most of these. */
static gps_status burn_in(gibbs_walk *walk, size_t n, gps_rng *rng) {
  const gps_problem *problem = walk->problem;
  const gps_chain *chain = walk->chain;
  const size_t n_slots = (size_t)walk->states->n_slots;
  gps_problem heated = *problem;
  gps_status status = GPS_OK;
  load_state(walk, chain->value + n * n_slots);
  walk->problem = &heated;
  for (int b = 0; b < chain->n_hot && status == GPS_OK; b++) {
    heated.beta = problem->beta * pow(HOTTEST, (double)b / chain->n_hot - 1);
    status = sweep(walk, 0, rng, NULL);
  }
  walk->problem = problem;
  for (int b = 0; b < chain->n_burn && status == GPS_OK; b++) status = sweep(walk, 0, rng, NULL);
  memcpy(walk->target, walk->value, n_slots * sizeof(double));
  return status;
}

/* One data point: results into column n of the posterior. */
static gps_status sample_point(gibbs_walk *walk, size_t n, const gps_posterior *posterior,
                               double *const *stats) {
  const gps_problem *problem = walk->problem;
  const gps_chain *chain = walk->chain;
  const size_t n_slots = (size_t)walk->states->n_slots, n_keep = (size_t)chain->n_keep;
  const size_t bytes = n_slots * sizeof(double);
  gps_rng rng = gps_rng_stream(chain->seed, chain->start, GPS_PURPOSE_GIBBS,
                               (uint32_t)problem->iteration, gps_stream_of(problem, n));
  gps_status status = GPS_OK;
  if (walk->model->gain_begin)
    status = walk->model->gain_begin(problem, walk->point, walk->scratch);
  if (status == GPS_OK) status = burn_in(walk, n, &rng);
  if (status == GPS_OK) status = keep_draws(walk, &rng);
  double log_evidence = 0, variance = 0;
  if (status == GPS_OK) status = estimate_evidence(walk, &rng, &log_evidence, &variance);
  if (status != GPS_OK) return status;
  if (walk->model->shared_term) {
    log_evidence += problem->beta * walk->model->shared_term(problem, walk->point);
  }
  if (!isfinite(log_evidence)) return GPS_NOT_FINITE;
  posterior->log_evidence[n] = log_evidence;
  posterior->variance[n] = variance;
  memcpy(posterior->prob_on + n * n_slots, walk->prob_on, bytes);
  memcpy(posterior->value + n * n_slots, walk->draws + (n_keep - 1) * n_slots, bytes);
  if (posterior->draws)
    memcpy(posterior->draws + n * n_keep * n_slots, walk->draws, n_keep * bytes);
  return use_draws(
      walk, posterior->latent ? posterior->latent + n * n_slots : NULL,
      posterior->response ? posterior->response + n * (size_t)problem->shape.n_dims : NULL, stats);
}

gps_status infer_gibbs(const gps_model *model, const gps_problem *problem, const gps_states *states,
                       const gps_chain *chain, const double *y, const int *latent, size_t from,
                       size_t to, const gps_posterior *posterior, double *const *stats,
                       double *scratch, int *ints, size_t *bad_point) {
  gibbs_walk walk = new_walk(model, problem, states, chain, scratch, ints);
  for (size_t n = from; n < to; n++) {
    const gps_point point = {(int)n, y + n * (size_t)problem->shape.n_dims, NULL,
                             latent + n * (size_t)states->n_slots};
    *bad_point = n;
    walk.point = &point;
    const gps_status status = sample_point(&walk, n, posterior, stats);
    if (status != GPS_OK) return status;
  }
  return GPS_OK;
}
