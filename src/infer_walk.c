/* The moves of a chain; see infer_walk.h. */
#include "infer_walk.h"

#include <math.h>
#include <string.h>

/* Temperature of the first hot sweep; it falls geometrically to that of the problem. */
#define HOTTEST 1000.0

/* Sweeps that lead from any state to one that explains the point somehow. */
#define SETTLING 4

/* A value given that its slot is on is drawn by drawing until it is: so many times at most. In a
 * chain that has forgotten its beginning a slot that is on with probability p is seen so seldom
 * that fewer would do. */
#define MOST_TRIES 10000

/* Log odds of a slot that a model says to be on for certain. */
#define CERTAIN 745.0

size_t walk_doubles(const gps_states *states) { return 2 * (size_t)states->n_slots; }

size_t walk_ints(const gps_states *states, int n_drawn) {
  const size_t max_active = (size_t)states->max_active;
  return 3 * max_active + 1 + 2 * (size_t)states->n_slots + (size_t)n_drawn * (2 + max_active);
}

gps_walk new_walk(const gps_model *model, const gps_problem *problem, const gps_states *states,
                  int n_drawn, double *doubles, int *ints, double *model_scratch) {
  const size_t n_slots = (size_t)states->n_slots, max_active = (size_t)states->max_active;
  gps_walk walk = {.model = model, .problem = problem, .states = states};
  walk.value = doubles;
  walk.odds = walk.value + n_slots;
  walk.scratch = model_scratch;
  walk.on = ints;
  walk.held = walk.on + max_active;
  walk.given = walk.held + max_active;
  walk.candidate = walk.given + max_active + 1;
  walk.slot = walk.candidate + n_slots;
  walk.n_active = walk.slot + n_slots;
  walk.parent = walk.n_active + n_drawn;
  walk.active = walk.parent + n_drawn;
  walk.every = 1 + 65536 / (n_slots * (size_t)problem->shape.n_dims + 1);
  return walk;
}

gps_status walk_point(gps_walk *walk, const gps_point *point) {
  walk->n_held = 0;
  for (int i = 0; i < walk->states->n_slots; i++) walk->n_held += point->latent[i] >= 0;
  walk->point = point;
  walk->by_positions = limit_of(walk) < walk->n_held && limit_of(walk) <= MOST_POSITIONS;
  walk->is_brief = walk->is_plain = 0;
  if (!walk->model->gain_begin) return GPS_OK;
  return walk->model->gain_begin(walk->problem, point, walk->scratch);
}

void walk_load(gps_walk *walk, const double *value) {
  walk->n_on = 0;
  for (int i = 0; i < walk->states->n_slots; i++) {
    const int is_on = value[i] != 0 && walk->point->latent[i] >= 0 && walk->n_on < limit_of(walk);
    walk->value[i] = is_on ? value[i] : 0;
    if (is_on) walk->on[walk->n_on++] = i;
  }
  for (int k = 0; k < limit_of(walk); k++) walk->held[k] = k < walk->n_on ? walk->on[k] : -1;
}

void walk_load_state(gps_walk *walk, const gps_state *state) {
  walk_load(walk, state->value);
  memcpy(walk->held, state->held, (size_t)limit_of(walk) * sizeof(int));
}

void walk_keep_state(const gps_walk *walk, const gps_state *state) {
  memcpy(state->value, walk->value, (size_t)walk->states->n_slots * sizeof(double));
  memcpy(state->held, walk->held, (size_t)limit_of(walk) * sizeof(int));
}

void walk_set_value(gps_walk *walk, int slot, double value) {
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

void walk_put_state(gps_walk *walk, int m, int n_active, const int *slots) {
  walk->n_active[m] = n_active;
  walk->parent[m] = -1;
  memcpy(walk->active + (size_t)m * (size_t)limit_of(walk), slots,
         (size_t)n_active * sizeof *slots);
}

gps_states walk_template(const gps_walk *walk, int n_states) {
  return (gps_states){walk->states->n_slots, limit_of(walk), n_states, walk->n_active,
                      walk->active,          walk->parent,   0};
}

/* Log odds of a slot to be on given the others, by the log joints of both states. */
static gps_status odds_by_joints(gps_walk *walk, int slot, double *odds) {
  int n = 0, with = 0;
  for (int k = 0; k < walk->n_on; k++) {
    if (walk->on[k] != slot) walk->given[n++] = walk->on[k];
  }
  walk_put_state(walk, 0, n, walk->given);
  while (with < n && walk->given[with] < slot) with++;
  memmove(walk->given + with + 1, walk->given + with, (size_t)(n - with) * sizeof(int));
  walk->given[with] = slot;
  walk_put_state(walk, 1, n + 1, walk->given);
  double joint[2];
  const gps_states states = walk_template(walk, 2);
  const gps_status status =
      walk->model->log_joint(walk->problem, walk->point, &states, joint, walk->scratch);
  *odds = joint[1] == -HUGE_VAL ? -HUGE_VAL : joint[1] - joint[0];
  return status;
}

/* The same for several slots by the model's gains; `slot` [n] are all on or all off. */
static gps_status odds_by_gain(gps_walk *walk, int n, const int *slot, double *odds) {
  int n_given = 0;
  for (int k = 0; k < walk->n_on; k++) {
    if (n > 1 || walk->on[k] != slot[0]) walk->given[n_given++] = walk->point->latent[walk->on[k]];
  }
  for (int c = 0; c < n; c++) walk->candidate[c] = walk->point->latent[slot[c]];
  return walk->model->gain(walk->problem, walk->point, n_given, walk->given, n, walk->candidate,
                           odds, walk->scratch);
}

/* The step of a slot that is on or off and nothing else. */
static gps_status flip(gps_walk *walk, int slot, gps_rng *rng, gps_step *step) {
  double odds;
  const gps_status status =
      walk->model->gain ? odds_by_gain(walk, 1, &slot, &odds) : odds_by_joints(walk, slot, &odds);
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

/* The model's own conditional: a step that is sound, or a failure. */
static gps_status ask_conditional(gps_walk *walk, int slot, gps_rng *rng, gps_step *step) {
  const gps_status status = walk->model->conditional(walk->problem, walk->point, walk->states, slot,
                                                     walk->value, rng, step, walk->scratch);
  if (status != GPS_OK) return status;
  const int is_sound = isfinite(step->value) && step->prob_on >= 0 && step->prob_on <= 1 &&
                       step->log_density < HUGE_VAL;
  return is_sound ? GPS_OK : GPS_NOT_FINITE;
}

/* Slot `slot` drawn given the others, or without rng set to step->value. */
static gps_status visit(gps_walk *walk, int slot, gps_rng *rng, gps_step *step) {
  const int n_others = walk->n_on - (walk->value[slot] != 0);
  gps_status status = GPS_OK;
  if (walk->point->latent[slot] < 0 || n_others >= limit_of(walk)) {
    if (rng) step->value = 0;
    step->prob_on = 0;
    step->log_density = step->value == 0 ? 0 : -HUGE_VAL;
  } else if (walk->model->conditional) {
    status = ask_conditional(walk, slot, rng, step);
  } else {
    status = flip(walk, slot, rng, step);
  }
  if (status != GPS_OK) return status;
  if (step->log_density > -HUGE_VAL) walk_set_value(walk, slot, step->value);
  return GPS_OK;
}

gps_status walk_find_odds(gps_walk *walk) {
  int n = 0;
  gps_status status = GPS_OK;
  double *odds = walk->odds;
  for (int i = 0; i < walk->states->n_slots; i++) {
    odds[i] = -HUGE_VAL;
    if (walk->value[i] == 0 && walk->point->latent[i] >= 0) walk->slot[n++] = i;
  }
  if (n > 0 && walk->model->gain && !walk->model->conditional) {
    status = odds_by_gain(walk, n, walk->slot, odds);
    /* From places of the list to slots, which are not before them. */
    for (int c = n - 1; c >= 0; c--) {
      const double moved = odds[c];
      odds[c] = -HUGE_VAL;
      odds[walk->slot[c]] = walk->problem->beta * moved;
    }
  } else {
    for (int c = 0; c < n && status == GPS_OK; c++) {
      const int slot = walk->slot[c];
      gps_step step = {0, 0, 0};
      if (walk->model->conditional) {
        status = ask_conditional(walk, slot, NULL, &step);
        odds[slot] = step.log_density == -HUGE_VAL ? CERTAIN : log(step.prob_on) - step.log_density;
      } else {
        status = odds_by_joints(walk, slot, odds + slot);
        odds[slot] *= walk->problem->beta;
      }
    }
  }
  for (int c = 0; c < n && status == GPS_OK; c++) {
    const double found = odds[walk->slot[c]];
    if (isnan(found) || found == HUGE_VAL) status = GPS_NOT_FINITE;
  }
  return status;
}

gps_status walk_turn_on(gps_walk *walk, int slot, gps_rng *rng, double value, double *log_density) {
  gps_step step = {value, 0, 0};
  if (!walk->model->conditional) {
    walk_set_value(walk, slot, 1);
    return GPS_OK;
  }
  gps_status status = ask_conditional(walk, slot, rng, &step);
  for (int i = 1; rng && status == GPS_OK && step.value == 0 && i < MOST_TRIES; i++)
    status = ask_conditional(walk, slot, rng, &step);
  if (status != GPS_OK) return status;
  if (!rng) *log_density += step.log_density - log(step.prob_on);
  if (step.value == 0) step.value = value;
  if (step.value != 0) walk_set_value(walk, slot, step.value);
  return GPS_OK;
}

/* One of the slots that are on is turned off, and one that is off, or the same, on. */
static gps_status exchange(gps_walk *walk, gps_rng *rng) {
  const int leaves = walk->on[gps_rng_index(rng, walk->n_on)], n_slots = walk->states->n_slots;
  const double value = walk->value[leaves];
  walk_set_value(walk, leaves, 0);
  gps_status status = walk_find_odds(walk);
  if (status != GPS_OK) return status;
  const double total = log_total(walk->odds, n_slots);
  const int comes = pick_log(walk->odds, n_slots, total, gps_rng_uniform(rng));
  if (comes < 0) {
    walk_set_value(walk, leaves, value);
    return GPS_OK;
  }
  status = walk_turn_on(walk, comes, rng, 0, NULL);
  if (walk->value[comes] == 0) walk_set_value(walk, leaves, value);
  return status;
}

gps_status walk_count_sweep(gps_walk *walk) {
  const int must_stop = gps_must_stop_each(walk->problem->watch, walk->every, &walk->n_sweeps);
  return must_stop ? GPS_INTERRUPTED : GPS_OK;
}

static gps_status sweep_flips(gps_walk *walk, int is_reverse, gps_rng *rng, double *prob_on) {
  const int n_slots = walk->states->n_slots;
  for (int i = 0; i < n_slots; i++) {
    const int slot = is_reverse ? n_slots - 1 - i : i;
    gps_step step = {0, 0, 0};
    const gps_status status = visit(walk, slot, rng, &step);
    if (status != GPS_OK) return status;
    if (prob_on) prob_on[slot] += step.prob_on;
  }
  return GPS_OK;
}

gps_status walk_sweep(gps_walk *walk, int is_reverse, gps_rng *rng, double *prob_on) {
  const gps_status status = walk_count_sweep(walk);
  if (status != GPS_OK) return status;
  if (walk->by_positions) return positions_sweep(walk, is_reverse, rng, prob_on);
  return sweep_flips(walk, is_reverse, rng, prob_on);
}

gps_status walk_burn(gps_walk *walk, int exchanges, gps_rng *rng) {
  gps_status status = walk_count_sweep(walk);
  if (status == GPS_OK) status = sweep_flips(walk, 0, rng, NULL);
  const int is_full = walk->n_on == limit_of(walk) && walk->n_on < walk->n_held;
  const int n_exchanges =
      is_full && !walk->is_brief ? walk->n_on : walk->n_on > 0 && (is_full || exchanges);
  for (int i = 0; i < n_exchanges && !walk->is_plain && status == GPS_OK; i++)
    status = exchange(walk, rng);
  return status;
}

gps_status walk_cool(gps_walk *walk, int n_hot, gps_rng *rng) {
  const gps_problem *problem = walk->problem;
  gps_problem heated = *problem;
  gps_status status = GPS_OK;
  walk->problem = &heated;
  for (int b = 0; b < n_hot && status == GPS_OK; b++) {
    heated.beta = problem->beta * pow(HOTTEST, (double)b / n_hot - 1);
    status = walk_burn(walk, 1, rng);
  }
  walk->problem = problem;
  return status;
}

void walk_oppose(gps_walk *walk, const double *value, gps_rng *rng) {
  int n = 0;
  for (int i = 0; i < walk->states->n_slots; i++) {
    if (value[i] == 0 && walk->point->latent[i] >= 0) walk->slot[n++] = i;
  }
  for (int k = 0; k < n && k < limit_of(walk); k++) {
    const int other = k + gps_rng_index(rng, n - k), slot = walk->slot[other];
    walk->slot[other] = walk->slot[k];
    walk_set_value(walk, slot, 1);
  }
}

gps_status walk_settle(gps_walk *walk, gps_rng *rng) {
  gps_status status = GPS_OK;
  for (int b = 0; b < SETTLING && status == GPS_OK; b++) status = walk_burn(walk, 1, rng);
  return status;
}

gps_status walk_log_transition(gps_walk *walk, const gps_state *from, const gps_state *to,
                               double least, double *log_density) {
  gps_status status = walk_count_sweep(walk);
  if (status != GPS_OK) return status;
  if (walk->by_positions) return positions_log_transition(walk, from, to, log_density);
  walk_load(walk, from->value);
  *log_density = 0;
  for (int slot = 0; slot < walk->states->n_slots; slot++) {
    gps_step step = {to->value[slot], 0, 0};
    status = visit(walk, slot, NULL, &step);
    if (status != GPS_OK) return status;
    *log_density += step.log_density;
    if (!walk->model->conditional && *log_density < least) *log_density = -HUGE_VAL;
    if (*log_density == -HUGE_VAL) break;
  }
  return GPS_OK;
}
