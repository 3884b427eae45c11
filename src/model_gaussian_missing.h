/* The Gaussian mixture where a data point lacks cells: densities of the cells that are there, and
 * what the others are expected to be. */
#ifndef GPSELECT_MODEL_GAUSSIAN_MISSING_H
#define GPSELECT_MODEL_GAUSSIAN_MISSING_H

#include "gpselect/model.h"

/* Doubles of scratch for the functions below; 0 where the block has all cells. */
size_t mixture_missing_scratch(const gps_problem *problem);

/* What shared_term() of a point with all cells lacks: the constants of the cells that are missing.
 */
double mixture_missing_shared(const gps_problem *problem, const gps_point *point);

/* value [n] for latents [n], without shared_term(); a latent of -1 gets -Inf. */
gps_status mixture_missing_joint(const gps_problem *problem, const gps_point *point, int n,
                                 const int *latent, double *value, double *scratch);

/* expected [m] <- what the m missing cells are expected to be in cluster c. What it leaves in
 * scratch is for mixture_missing_spread(). */
gps_status mixture_missing_means(const gps_problem *problem, const gps_point *point, size_t c,
                                 double *expected, double *scratch);

/* second += weight times the covariance of the missing cells of a point in cluster c, after
 * mixture_missing_means() for the same cluster. */
void mixture_missing_spread(const gps_problem *problem, const gps_point *point, size_t c,
                            double weight, double *second, double *scratch);

#endif
