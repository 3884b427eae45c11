/* What the E-step and the M-step of model C share. Included by model_max_*.c only. */
#ifndef GPSELECT_MODEL_MAX_SPIKE_SLAB_H
#define GPSELECT_MODEL_MAX_SPIKE_SLAB_H

#include "gpselect/model.h"

enum {
  W,
  PI,
  MU,
  PSI,
  SIGMA2,
  INTERCEPT,
  SHARED_PROB,
  FLOOR_SIGMA2,
  FLOOR_W,
  PSEUDO_COUNT, /* pseudo-observations of the old W */
  CENTRE,
  PRIOR,
  LOG_NORM,
  Y_SQUARE,
  DEVIATION
};
enum { PREPARED = PRIOR };

static inline int max_has_intercept(const gps_problem *problem) {
  return problem->input[INTERCEPT] != NULL;
}

/* on is summed over probabilities, on_drawn over draws, as value (z) and value_square (z^2) are.
 * won_data [D x H] is the sum of y_d z_h over the draws in which h wins dimension d, won_square
 * that of z_h^2. With an intercept data_square is about the centre, data_sum [D] is the sum of y_d
 * minus it, and won_value [D x H] that of z_h; both are empty without one. */
enum {
  COUNT,
  DATA_SQUARE,
  ON,
  ON_DRAWN,
  VALUE,
  VALUE_SQUARE,
  WON_DATA,
  WON_SQUARE,
  DATA_SUM,
  WON_VALUE
};

/* Posterior moments of a latent that is on alone: of z and z^2 over z < 0 and over z > 0. */
enum { FIRST_BELOW, FIRST_ABOVE, SECOND_BELOW, SECOND_ABOVE, N_MOMENTS };

enum { EVENT_SIGMA2, EVENT_PI, EVENT_PSI, EVENT_KEPT, EVENT_W };

extern const gps_array max_stats[];
extern const char *const max_events[];

size_t max_mstep_scratch(const gps_problem *problem);
gps_status max_mstep(const gps_problem *problem, const double *const *stats,
                     double *const *params_new, int *events, double *scratch);

#endif
