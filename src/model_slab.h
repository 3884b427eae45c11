/* The slabs of model B: log joints of supports, the sets of latents that are on, and the posteriors
 * of their values, which are Gaussian and integrated in closed form. Slabs are independent (one
 * variance each) or correlated (a covariance matrix). Called by model_spike_slab.c; any thread. */
#ifndef GPSELECT_MODEL_SLAB_H
#define GPSELECT_MODEL_SLAB_H

#include <stddef.h>

#include "gpselect/model.h"

/* One data point's slots: proj and gram are W'y and W'W over sigma2, prior is logit(pi). An empty
 * slot has -Inf as its prior, variance 1 in a covariance, and zeros elsewhere. */
typedef struct {
  size_t n_slots;
  double *prior, *proj, *mean; /* [n_slots] */
  double *gram;                /* [n_slots x n_slots] */
  double *psi;                 /* variances [n_slots], or covariance [n_slots x n_slots] */
} slab_slots;

/* The same of one latent. */
typedef struct {
  double prior, proj, mean, gram, psi;
} slab_latent;

/* Sums over the states, weighted by their probabilities; the caller sets them to zero. v and T are
 * those of the conditional expectations over all slabs, on or off: mean mu + Psi v, covariance Psi
 * + Psi T Psi. Matrices as their upper triangles. */
typedef struct {
  double *on, *value, *value_value; /* b, b z [n_slots], (b z) (b z)' [n_slots x n_slots] */
  double *pull, *pull_pull;         /* v [n_slots], v v' + T [n_slots x n_slots]; correlated only */
} slab_moments;

/* States of less probability than this are left out of moments: all of them together weigh less
 * than a rounding error. */
static inline double slab_negligible(const gps_states *states) {
  return 1e-15 / (double)states->n_states;
}

/* log_joint: of all states of any template, relative to the empty state. moments: after it, with
 * its scratch. given: the support of all slots, for the gains of further latents: log joint with
 * the latent minus log joint of the support; gram_with, psi_with [n_slots] are what it shares with
 * the slots. */
size_t slab_independent_scratch(size_t n_slots, const gps_states *states);
void slab_independent_log_joint(const slab_slots *slots, const gps_states *states,
                                double *log_joint, double *scratch);
void slab_independent_moments(const slab_slots *slots, const gps_states *states, const double *prob,
                              const slab_moments *moments, double *scratch);
void slab_independent_given(const slab_slots *slots, double *scratch);
double slab_independent_gain(const slab_slots *slots, const slab_latent *latent,
                             const double *gram_with, double *scratch);

size_t slab_correlated_scratch(size_t n_slots);
gps_status slab_correlated_log_joint(const slab_slots *slots, const gps_states *states,
                                     double *log_joint, double *scratch);
gps_status slab_correlated_moments(const slab_slots *slots, const gps_states *states,
                                   const double *prob, const slab_moments *moments,
                                   double *scratch);
gps_status slab_correlated_given(const slab_slots *slots, double *scratch);
double slab_correlated_gain(const slab_slots *slots, const slab_latent *latent,
                            const double *gram_with, const double *psi_with, double *scratch);

/* Slabs before the M-step: mu [n], psi [n] or [n x n]. */
typedef struct {
  const double *mu, *psi;
} slab_params;

/* M-steps over n latents from sums of the moments above, main thread. Raised variances are added to
 * *raised, slabs that too few data points tell of to *kept. */
size_t slab_mstep_scratch(size_t n, int is_correlated);
void slab_independent_mstep(size_t n, const slab_params *old, const double *on, const double *value,
                            const double *value_value, double *mu, double *psi, int *raised,
                            int *kept);
gps_status slab_correlated_mstep(size_t n, const slab_params *old, double count, const double *pull,
                                 const double *pull_pull, double *mu, double *psi, int *raised,
                                 double *scratch);

#endif
