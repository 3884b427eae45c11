/* What the noisy-OR makes of cells that data points lack. Data have 0 there. */
#ifndef GPSELECT_MODEL_NOISY_MISSING_H
#define GPSELECT_MODEL_NOISY_MISSING_H

#include "gpselect/model.h"

/* own [H x n] += the weights w [D x H] of each latent in the cells that a point lacks, which it had
 * lost there as if they were 0. */
void noisy_leave_missing(const gps_problem *problem, const double *w, double *own);

/* leaked [D] and fired [D x H] += the expected firings in the cells that a point lacks: each with
 * its own probability, leak [D] and fire [D x H], whatever else is on. mass [slots] is scratch. */
void noisy_add_missing(const gps_problem *problem, const gps_point *point, const gps_states *states,
                       const double *prob, const double *leak, const double *fire, double *mass,
                       double *leaked, double *fired);

#endif
