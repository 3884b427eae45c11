/* The exact truncated E-step: log joint of every state of the template, log-sum-exp, marginals
 * (equation 2 of the paper). Called by r_estep.c, one thread a block. */
#include "infer.h"

#include <math.h>
#include <string.h>

#include "subsets.h"
#include "vector_math.h"

size_t infer_exact_scratch(const gps_states *states) { return 2 * (size_t)states->n_states; }

/* Probability that each slot is on: sums of prob [n_states] over the states that hold it. */
static void sum_marginals(const gps_states *states, const double *prob, double *prob_on) {
  memset(prob_on, 0, (size_t)states->n_slots * sizeof *prob_on);
  for (int m = 0; m < states->n_states; m++) {
    const int *active = states->active + (size_t)m * (size_t)states->max_active;
    for (int i = 0; i < states->n_active[m]; i++) prob_on[active[i]] += prob[m];
  }
}

/* log_joint -> prob in place; value: log of the sum, +Inf or NaN where an entry is. */
static double normalise(double *log_joint, int n_states, double beta) {
  if (beta != 1) {
    for (int m = 0; m < n_states; m++) log_joint[m] *= beta;
  }
  return softmax(log_joint, (size_t)n_states);
}

/* Whether a data point has no state at all: each state is a slot that is on, and all are empty. */
static int is_unreached(const gps_states *states, const int *latent) {
  if (states->max_active != 1 || states->n_states != states->n_slots) return 0;
  for (int i = 0; i < states->n_slots; i++) {
    if (latent[i] >= 0) return 0;
  }
  return 1;
}

/* Its evidence is that of an empty sum, and nothing is known of it. */
static void leave_unreached(const gps_states *states, const gps_posterior *posterior, size_t n_dims,
                            size_t n) {
  const size_t n_slots = (size_t)states->n_slots, size = n_slots * sizeof(double);
  posterior->log_evidence[n] = -HUGE_VAL;
  memset(posterior->prob_on + n * n_slots, 0, size);
  if (posterior->prob) memset(posterior->prob + n * n_slots, 0, size);
  if (posterior->latent) memset(posterior->latent + n * n_slots, 0, size);
  if (posterior->response) {
    memset(posterior->response + n * n_dims, 0, n_dims * sizeof(double));
  }
}

gps_status infer_exact(const infer_job *job, size_t from, size_t to, double *const *stats,
                       double *scratch, size_t *bad_point) {
  const gps_model *model = job->model;
  const gps_problem *problem = job->problem;
  const gps_states *states = job->states;
  const gps_posterior *posterior = job->posterior;
  const size_t n_dims = (size_t)problem->shape.n_dims, n_slots = (size_t)states->n_slots;
  const size_t n_states = (size_t)states->n_states;
  double *prob = scratch, *folded = scratch + n_states, *model_scratch = folded + n_states;
  for (size_t n = from; n < to; n++) {
    const gps_point point = {(int)n, job->y + n * n_dims, gps_observed_of(problem, (int)n),
                             job->latent + n * n_slots};
    *bad_point = n;
    if (is_unreached(states, point.latent)) {
      leave_unreached(states, posterior, n_dims, n);
      continue;
    }
    gps_status status = model->log_joint(problem, &point, states, prob, model_scratch);
    if (status != GPS_OK) return status;
    double log_evidence = normalise(prob, states->n_states, problem->beta);
    if (model->shared_term) log_evidence += problem->beta * model->shared_term(problem, &point);
    if (!isfinite(log_evidence)) return GPS_NOT_FINITE;
    posterior->log_evidence[n] = log_evidence;
    if (states->all_subsets) {
      memcpy(folded, prob, n_states * sizeof *prob);
      subsets_marginals(n_slots, folded, posterior->prob_on + n * n_slots);
    } else {
      sum_marginals(states, prob, posterior->prob_on + n * n_slots);
    }
    if (posterior->prob) memcpy(posterior->prob + n * n_states, prob, n_states * sizeof *prob);
    if (posterior->latent || posterior->response) {
      status = model->describe(problem, &point, states, prob, posterior->latent + n * n_slots,
                               posterior->response ? posterior->response + n * n_dims : NULL,
                               model_scratch);
      if (status != GPS_OK) return status;
    }
    if (stats) {
      status = model->accumulate(problem, &point, states, prob, stats, model_scratch);
      if (status != GPS_OK) return status;
    }
  }
  return GPS_OK;
}
