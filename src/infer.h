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
  double *prob;         /* [n_states x n] */
} gps_posterior;

/* Doubles of scratch that infer_exact() needs, on top of the model's own. */
size_t infer_exact_scratch(const gps_states *states);

/* Points [from, to) of the problem's block by summing over the template: fills posterior and adds
 * to stats (NULL: no statistics). latent [n_slots x n] are the selected latents, y [n_dims x n].
 * Stops at the first failure, whose point is in *bad_point. Any thread. */
gps_status infer_exact(const gps_model *model, const gps_problem *problem, const gps_states *states,
                       const double *y, const int *latent, size_t from, size_t to,
                       const gps_posterior *posterior, double *const *stats, double *scratch,
                       size_t *bad_point);

#endif
