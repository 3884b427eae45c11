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
  int n_guided;  /* candidates that the model proposes beside the kept ones, where it can */
  int n_moves;   /* random neighbours of each kept candidate among them */
  int n_pool;    /* candidates that are left for the greedy step, by their single-cause states */
  int n_conditional; /* more of them, by their gain given the kept ones */
  int is_greedy;   /* 1: grow a state latent by latent; 0: fill slots by the single-cause states */
  double share;    /* slots replaced by explorers afterwards, in expectation */
  int n_sweeps;    /* greedy: how often each latent that is on is taken back on trial, at most */
  int n_inserts; /* greedy: random candidates that are tried in the state in place of others */
  int period; /* with sweeps: a point is screened in one of so many iterations; 0: in each */
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
  const double *affinity; /* [n_latents x n], or NULL: no proposals */
  const int *kept;        /* [n_slots x n] last selected latents, -1 = none; or NULL */
  const double *prob_on;  /* [n_slots x n] their last probabilities, or NULL */
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
 * where there are too few candidates. scratch and ints hold screen_scratch() and
 * screen_scratch_ints() for each thread. */
screen_outcome screen_points(const screen_job *job, size_t from, size_t to, int n_threads,
                             int *selected, double *scratch, int *ints);

#endif
