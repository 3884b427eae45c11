/* Templates of states and selected latents, as R hands them over. */
#ifndef GPSELECT_R_STATES_H
#define GPSELECT_R_STATES_H

#include "r_model.h"

/* The template of states; slot numbers become 0-based. */
gps_states read_states(SEXP states);

/* 0-based latents from R's 1-based ones (0 = empty), [n_rows x n_points], in R_alloc memory. A
 * latent that there is not is an error, and among slots one that a data point names twice. */
int *read_latents(SEXP latents, int n_rows, int n_points, int n_latents, const char *what);
int *read_slots(SEXP slots, int n_slots, int n_points, int n_latents, const char *what);

#endif
