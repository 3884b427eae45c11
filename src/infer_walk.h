/* Markov chains over the states of one data point: sweeps that flip slots, exchanges of two slots,
 * and sweeps over positions for states with a limit on how many slots are on. Used by
 * infer_gibbs.c.
 *
 * Positions. Where fewer slots may be on than hold a latent, a sweep of flips cannot lead from
 * every state to every other. So a state is also written as what `max_active` positions hold: each
 * one a slot that is on, or nothing. All ways to write a state are equally likely. A sweep draws
 * what each position holds given the others, in random order; it leads everywhere. */
#ifndef GPSELECT_INFER_WALK_H
#define GPSELECT_INFER_WALK_H

#include "infer.h"

/* The density of a sweep over positions is a sum over sets of them: of more there are too many, and
 * sweeps flip slots. */
enum { MOST_POSITIONS = 6 };

/* A state and how it is written. */
typedef struct {
  double *value; /* [n_slots] 0 = off */
  int *held;     /* [max_active] slot that each position holds, -1 for nothing; by_positions only */
} gps_state;

/* One data point at work. */
typedef struct {
  const gps_model *model;
  const gps_problem *problem;
  const gps_point *point;
  const gps_states *states;
  int n_held;       /* slots that hold a latent */
  int by_positions; /* fewer may be on, few enough for positions */
  int is_brief;     /* few exchanges: the chain goes on, and has time */
  int is_plain;     /* none at all */
  double *value;    /* [n_slots] the present state */
  int n_on, *on;    /* [max_active] its slots that are on, ascending */
  int *held;  /* [max_active] slot that each position holds, -1 for nothing; by_positions only */
  int *given; /* [max_active + 1] */
  int *candidate, *slot; /* [n_slots] latents whose gains are asked for, and their slots */
  int *n_active, *parent, *active; /* template of the states whose log joints are asked for */
  double *odds;                    /* [n_slots] of each slot to be on beside the present state */
  double *scratch;                 /* the model's */
  size_t every, n_sweeps;          /* the watch is asked once for `every` sweeps */
} gps_walk;

static inline int limit_of(const gps_walk *walk) { return walk->states->max_active; }

/* What walk_begin() needs; n_drawn is the size of the largest template. */
size_t walk_doubles(const gps_states *states);
size_t walk_ints(const gps_states *states, int n_drawn);

gps_walk new_walk(const gps_model *model, const gps_problem *problem, const gps_states *states,
                  int n_drawn, double *doubles, int *ints, double *model_scratch);

/* Makes `point` the one at work. */
gps_status walk_point(gps_walk *walk, const gps_point *point);

/* Makes `value` the present state, slots that are on held by the first positions. Empty slots are
 * off, and so are slots beyond max_active others: a chain may have started under another limit. */
void walk_load(gps_walk *walk, const double *value);

/* The present state to and from elsewhere. */
void walk_load_state(gps_walk *walk, const gps_state *state);
void walk_keep_state(const gps_walk *walk, const gps_state *state);

/* Log joints of the states put into the template. */
void walk_put_state(gps_walk *walk, int m, int n_active, const int *slots);
gps_states walk_template(const gps_walk *walk, int n_states);

/* Draws all slots, or positions where by_positions, in ascending order or in reverse; prob_on
 * [n_slots], where it is not NULL, grows by p(on | rest). */
gps_status walk_sweep(gps_walk *walk, int is_reverse, gps_rng *rng, double *prob_on);

/* A sweep of flips, then an exchange where that is asked for; where no slot more may be on always,
 * and as many as slots are on, or a single one of a brief walk. */
gps_status walk_burn(gps_walk *walk, int exchanges, gps_rng *rng);

/* Hot sweeps at falling temperatures. At full sharpness a chain that starts far off is soon caught
 * in the first state that explains a point somehow; these lead past most of such states. */
gps_status walk_cool(gps_walk *walk, int n_hot, gps_rng *rng);

/* Turns on the slots that are off in `value`, or some of them, where latents have no values; and
 * sweeps that leave such a state. */
void walk_oppose(gps_walk *walk, const double *value, gps_rng *rng);
gps_status walk_settle(gps_walk *walk, gps_rng *rng);

/* Turns on the slot that raises the log joint most, again and again, while one does; where
 * by_positions and latents have no values, after each slot in turn, for the best, of which then
 * pairs are exchanged. */
gps_status walk_climb(gps_walk *walk, gps_rng *rng);

/* Log density of the ascending walk_sweep() from a state to another. It may be given up as -Inf
 * once it is below `least`. */
gps_status walk_log_transition(gps_walk *walk, const gps_state *from, const gps_state *to,
                               double least, double *log_density);

/* Writes the present state in one of all ways; and the log of their number. */
void positions_shuffle(gps_walk *walk, gps_rng *rng);
double positions_log_ways(const gps_walk *walk);

/* Log of the mean density, and the variance of that by the delta method, as if draws were
 * independent. */
double log_mean(const double *log_density, int n, double *variance);

/* What follows is for infer_walk.c, infer_positions.c and infer_climb.c. */

void walk_set_value(gps_walk *walk, int slot, double value);

/* Asks the watch, once in many sweeps. */
gps_status walk_count_sweep(gps_walk *walk);

/* odds [n_slots] of each slot to be on beside the present state, at the temperature of the problem:
 * -Inf where it is on already, or empty. */
gps_status walk_find_odds(gps_walk *walk);

/* Turns a slot on, or gives one that is on a new value; without rng its value is `value`, and its
 * log density given that it is on is added. */
gps_status walk_turn_on(gps_walk *walk, int slot, gps_rng *rng, double value, double *log_density);

/* Log of the sum of the exponentials of two numbers. */
double log_add(double a, double b);

/* Log of the sum of exp(log_weight); and the place where `u`, uniform in 0 .. exp(total), falls, -1
 * for none. */
double log_total(const double *log_weight, int n);
int pick_log(const double *log_weight, int n, double total, double u);

gps_status positions_sweep(gps_walk *walk, int is_reverse, gps_rng *rng, double *prob_on);
gps_status positions_log_transition(gps_walk *walk, const gps_state *from, const gps_state *to,
                                    double *log_density);

#endif
