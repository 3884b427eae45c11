/* What the E-step by Gibbs sampling has of one data point: targets that its chain's beginnings led
 * to, and draws. Used by infer_gibbs.c and infer_targets.c. */
#ifndef GPSELECT_INFER_GIBBS_H
#define GPSELECT_INFER_GIBBS_H

#include "infer_walk.h"

/* Beginnings of a point's chain: where it was, or a hot one; a greedy one; one from what is off in
 * the first; another hot one. Where they led far apart, or a limit bars ways, there are more. */
enum { ONE_BEGUN = 1, TWO_BEGUN = 2, FEWEST_BEGUN = 4, MOST_BEGUN = 8 };

/* One data point at work. */
typedef struct {
  gps_walk walk;
  const gps_chain *chain;
  int n_begun, n_targets;       /* beginnings; targets that differ */
  int chosen;                   /* the target that the kept draws begin at */
  int n_led[MOST_BEGUN];        /* how many beginnings led to each target */
  double *value;                /* [n_slots x (MOST_BEGUN + n_drawn)] targets, then draws */
  int *held;                    /* [max_active x (MOST_BEGUN + n_drawn)] how they are written */
  double log_p[MOST_BEGUN];     /* their log joints, in the space that is walked */
  double log_ways[MOST_BEGUN];  /* of how many ways to write them, which they are one of */
  double log_q[MOST_BEGUN];     /* log probability of each to be chosen */
  double unseen;                /* probability to leave the target, where no draw did; else 0 */
  double reach[MOST_BEGUN];     /* log mean over draws of T(target <- draw), less log_p */
  double *prob_on;              /* [n_slots] */
  double *log_density, *weight; /* [n_drawn] */
} gibbs_work;

/* One of two targets that is reached so many nats less easily than the other is not reached. */
#define HOPELESS 40.0

static inline gps_state state_of(const gibbs_work *work, int at) {
  const gps_states *states = work->walk.states;
  return (gps_state){work->value + (size_t)at * (size_t)states->n_slots,
                     work->held + (size_t)at * (size_t)states->max_active};
}

static inline gps_state target_of(const gibbs_work *work, int k) { return state_of(work, k); }

/* Log of T(target k <- state) / p(target k). */
gps_status target_log_reach(gibbs_work *work, int k, gps_state from, double least, double *reach);

/* Which target the kept draws begin at: at random, by how much lies about each. Those near each
 * other share that by how many beginnings led to each, unless about one alone there is less. */
gps_status target_choose(gibbs_work *work, gps_rng *rng);

/* Variance of the estimate over beginnings by the jackknife: each is left out in turn. What is lost
 * is what lies about a target that no other beginning led to, as far as the draws show that one
 * does not come there from others. */
double target_lost_square(const gibbs_work *work);

/* Whether the draws lead from the chosen target to less than half of what is near another. */
int target_are_apart(const gibbs_work *work);

#endif
