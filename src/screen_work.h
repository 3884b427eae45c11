/* What the parts of screening share: one data point's work. Used by screen*.c only. */
#ifndef GPSELECT_SCREEN_WORK_H
#define GPSELECT_SCREEN_WORK_H

#include "screen.h"

/* Candidates stand in one array, with what is known of each beside it: first those that are on in
 * the state that gains are given, then the others of the pool, then the rest. Log joints are less
 * that of the empty state. */
typedef struct {
  const screen_job *job;
  const gps_point *point;
  uint32_t row;
  int group_size;
  int capacity;
  int n;        /* candidates */
  int n_guided; /* the last of them, proposed beside what was kept */
  int n_pool;
  int n_on;
  double joint; /* of the state */
  int *candidate;
  double *gain;   /* given the state */
  double *single; /* given nothing */
  double *best;   /* log joint of the best state that was looked at in which the candidate is on */
  int *order;     /* positions or latents, best first */
  int *given, n_given; /* the kept latents that explain something; a state to return to */
  int *visit;          /* latents of the state that are to be visited */
  int *probe;
  int *table; /* of candidates */
  double *rest;
  double n_gains;
} screen_work;

/* Gains of n latents given others. */
gps_status screen_gains(screen_work *work, int n_given, const int *given, int n,
                        const int *candidate, double *gain);

void screen_swap(screen_work *work, int a, int b);

/* The best n_best by gain of the candidates from .. to - 1 come first among them, in no order. The
 * value says where they end. */
int screen_best_first(screen_work *work, int from, int to, int n_best);

/* Whether the group of a latent is one of those of slot [n]. */
int screen_is_taken(const screen_work *work, const int *slot, int n, int latent);

/* Slots from the pool, best first, which is filled again from the other candidates where it has not
 * enough; `prob` are the probabilities of the kept latents, or NULL. `order` has the candidates
 * that were told. */
gps_status screen_fill(screen_work *work, const int *kept, const double *prob, int *selected,
                       int *n_filled);

#endif
