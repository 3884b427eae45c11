/* Inference on one block of data points in the truncated state space of each (equation 2 of the
 * paper). */
#ifndef GPSELECT_INFER_H
#define GPSELECT_INFER_H

#include "gpselect/model.h"

/* What the E-step gives for each data point of a block; a NULL is not wanted. Columns are points.
 */
typedef struct {
  double *prob_on;      /* [n_slots x n] */
  double *log_evidence; /* [n] */
  double *latent;       /* [n_slots x n] */
  double *response;     /* [n_dims x n] */
  double *prob;         /* [n_states x n], exact only */
  double *value;        /* [n_slots x n] last state of the chain, sampled only, as what follows */
  double *variance;     /* [n] of log_evidence, an estimate */
  double *draws;        /* [n_slots x n_keep x n] */
} gps_posterior;

/* The chains of a block of data points. */
typedef struct {
  int n_hot;          /* sweeps at falling temperatures that come first */
  int n_burn, n_keep; /* sweeps before the first draw; draws, at least one */
  uint32_t seed[2], start;
  const double *value; /* [n_slots x n] where each chain starts, 0 = off */
  int n_new;           /* hot sweeps of further chains that each is compared with; 0: with none,
                          and no slots are exchanged, as before version 0.3.0; */
  int period;          /* where it goes on (n_hot = 0), once in so many iterations */
} gps_chain;

/* A block of data points: the problem's, with y [n_dims x n] and the selected latents [n_slots x
 * n], and what is to be made of them. */
typedef struct {
  const gps_model *model;
  const gps_problem *problem;
  const gps_states *states;
  const gps_chain *chain; /* NULL: exact */
  const double *y;
  const int *latent;
  const gps_posterior *posterior;
} infer_job;

/* Doubles of scratch that infer_exact() needs, on top of the model's own. */
size_t infer_exact_scratch(const gps_states *states);

/* Points [from, to) of the block by summing over the template: fills the posterior and adds to
 * stats (NULL: no statistics). Stops at the first failure, whose point is in *bad_point. Any
 * thread. */
gps_status infer_exact(const infer_job *job, size_t from, size_t to, double *const *stats,
                       double *scratch, size_t *bad_point);

/* Scratch that infer_gibbs() needs: doubles, the model's own among them, and ints. */
size_t infer_gibbs_scratch(const gps_model *model, const gps_problem *problem,
                           const gps_states *states, const gps_chain *chain);
size_t infer_gibbs_ints(const gps_states *states, const gps_chain *chain);

/* The same by Gibbs sampling, for any number of states: of `states` only n_slots and max_active are
 * read. log_evidence is an estimate whose exponential has the right mean, so that its own mean is a
 * lower bound; prob_on is the mean of p(on | rest) over the kept sweeps. */
gps_status infer_gibbs(const infer_job *job, size_t from, size_t to, double *const *stats,
                       double *scratch, int *ints, size_t *bad_point);

/* affinity [n_latents x n] of a block's points: the log joint of the state in which a latent is on
 * alone. latent [n_latents] are their numbers; scratch [scratch_length x n_threads]. */
typedef struct {
  const gps_model *model;
  const gps_problem *problem;
  const double *y;
  const int *latent;
  double *affinity, *scratch;
  size_t scratch_length;
  int n_threads;
} alone_job;

/* Points [from, to) of it. A failure is that of the smallest point, in *bad_point. Main thread. */
gps_status infer_alone(const alone_job *job, size_t from, size_t to, size_t *bad_point);

/* A point's responsibility, times its weight where it has one. */
typedef struct {
  double weight;
  int point;
} gps_share;

/* The points of each latent, ascending: those of latent h are start[h] .. start[h + 1] - 1. */
typedef struct {
  size_t *start, *next; /* [n_latents + 1]; next begins as start, and is used up by sorting */
  gps_share *share;
} gps_shares;

/* How many there are in slots [n_slots x n_points], and where those of each latent begin. */
size_t infer_count_shares(const double *prob_on, const int *latent, int n_slots, int n_points,
                          int n_latents, size_t *start);
void infer_sort_shares(const double *prob_on, const int *latent, const double *point_weight,
                       int n_slots, int n_points, gps_shares *shares);

/* Statistics that a model accumulates latent by latent. */
typedef struct {
  const gps_model *model;
  const gps_problem *problem;
  const double *y;
  int n_stats;
  const size_t *part_length; /* [n_stats] numbers that a latent has of each; 0: it has none */
  size_t length;             /* their sum */
  size_t model_scratch;
  double *const *stats; /* [n_stats] whole arrays, the latent last */
} gps_latent_sums;

/* Latents [from, to) of them, from their shares; a failure is that of the smallest latent. scratch
 * [scratch_length x n_threads], part [n_stats x n_threads]. Main thread. */
size_t infer_latents_scratch(const gps_latent_sums *sums, int n_points);
gps_status infer_latents(const gps_latent_sums *sums, const gps_shares *shares, int from, int to,
                         int n_threads, double *scratch, double **part, size_t scratch_length);

#endif
