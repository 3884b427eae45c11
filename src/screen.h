/* Screening: the model itself chooses among a few candidates that the ranking proposes
 * (architecture: a step between ranking and selection). Needs the model's gain, or its log joint.
 */
#ifndef GPSELECT_SCREEN_H
#define GPSELECT_SCREEN_H

#include "candidates.h"
#include "select.h"

typedef struct {
  int n_propose; /* best-ranked latents among the candidates */
  int n_explore; /* uniform draws among them */
  int waits;     /* 1: none for points with nothing else, which have no slots until they have */
  int n_guided;  /* candidates that the model proposes beside the kept ones, where it can */
  int n_moves;   /* random neighbours of each kept candidate among them */
  int n_pool;    /* candidates that are left for the greedy step, by their single-cause states */
  int n_conditional; /* more of them, by their gain given the kept ones */
  int is_greedy;   /* 1: grow a state latent by latent; 0: fill slots by the single-cause states */
  double share;    /* slots replaced by explorers afterwards, in expectation */
  int n_sweeps;    /* greedy: how often each latent that is on is taken back on trial, at most */
  int n_inserts;   /* greedy: random candidates that are tried in the state in place of others */
  int n_beside;    /* latents that have stood beside the point's best latent elsewhere */
  int n_ranked;    /* candidates that are told by their single-cause states, best first */
  int n_seek;      /* groups of which all latents are candidates */
  const int *seek; /* [n_seek] */
} gps_screen;

/* Candidates of one data point at the most, with groups of so many latents. */
int screen_capacity(const gps_screen *screen, int n_slots, int group_size);

/* Doubles and ints of scratch for one point of that capacity; model_scratch is the model's need. */
size_t screen_scratch(int capacity, size_t model_scratch);
size_t screen_scratch_ints(int capacity, int n_slots);

/* The largest template that a probe makes, to size the model's scratch by: all that was kept, and a
 * candidate. */
#define SCREEN_LARGEST_PROBE(n_slots) \
  { (n_slots) + 1, (n_slots) + 1, 2, NULL, NULL, NULL, 0 }

/* A block to be screened. */
typedef struct {
  const gps_model *model;
  const gps_problem *problem;
  const gps_screen *screen;
  const gps_source *source;
  gps_grid grid;
  const double *y;        /* [n_dims x n] */
  const double *affinity; /* [n_latents x n]; NULL: `lists`, or if these have none no proposals */
  gps_candidates lists;   /* of the block */
  const int *beside;      /* [n_beside x n_latents] from 1, 0 = none; or NULL */
  const int *kept;        /* [n_slots x n] last selected latents, -1 = none; or NULL */
  const double *prob_on;  /* [n_slots x n] their last probabilities, or NULL */
  const int *resting;     /* [n] whether a point keeps what it has, or NULL: none does */
  int n_slots, is_one_hot;
  int max_active; /* latents that may be on at once; 0: all slots */
  size_t model_scratch;
} screen_job;

/* A failure is that of the smallest point. */
typedef struct {
  gps_status status;
  size_t bad_point;
  double n_gains; /* gains that the model was asked for */
} screen_outcome;

/* Points from .. to - 1 of the block. selected [n_slots x n], ascending latents; empty slots get -1
 * where there are too few candidates. ranked [n_ranked x n], -1 where there are no more, or
 * NULL without n_ranked. scratch and ints hold screen_scratch() and screen_scratch_ints() for each
 * thread. */
screen_outcome screen_points(const screen_job *job, size_t from, size_t to, int n_threads,
                             int *selected, int *ranked, double *scratch, int *ints);

/* Which latents stand beside which: for each latent the n_kept of largest weight, latent (from 1, 0
 * = none) and weight [n_kept x n_latents]. */
typedef struct {
  int n_latents, n_kept;
  int *latent;
  double *weight;
} screen_beside;

/* Of the weights that there are the share `kept` stays; each data point adds 1 / rank of its ranked
 * latents [n_ranked x n_points], from 1, 0 = none, from the second on, to those of its first one.
 * scratch [n_latents] is 0 before and after; ints [screen_beside_ints()]. */
size_t screen_beside_ints(int n_latents, size_t n_points);
void screen_learn_beside(const screen_beside *beside, double kept, const int *ranked, int n_ranked,
                         size_t n_points, double *scratch, int *ints);

#endif
