/* Missing cells of the Gaussian mixture where all clusters have one covariance. */
#ifndef GPSELECT_MODEL_GAUSSIAN_TIED_H
#define GPSELECT_MODEL_GAUSSIAN_TIED_H

#include "gpselect/model.h"

size_t mixture_tied_scratch(const gps_problem *problem);

/* Leaves in scratch what all clusters have in common of a point, for the functions that follow. */
gps_status mixture_tied_begin(const gps_problem *problem, const gps_point *point, double *scratch);

/* Leaves in scratch what the missing cells are expected to be in n clusters, at most MIXTURE_GROUP.
 */
void mixture_tied_expect(const gps_problem *problem, const gps_point *point, int n,
                         const int *cluster, double *scratch);

/* value [n]: the log joints of these clusters. */
void mixture_tied_joints(const gps_problem *problem, const gps_point *point, int n,
                         const int *cluster, double *value, double *scratch);

/* expected [m] <- what the missing cells are expected to be in the `lane`-th of these clusters. */
void mixture_tied_means(const gps_problem *problem, const gps_point *point, int lane,
                        double *expected, double *scratch);

/* Notes that these clusters have these shares of the point. */
void mixture_tied_note(const gps_problem *problem, const gps_point *point, int n,
                       const double *share, double *scratch);

/* x [D], a point about the centre, gets in its missing cells their mean over all shares noted, and
 * second [stride x D] what they vary about it: within clusters and between them. */
void mixture_tied_spread(const gps_problem *problem, const gps_point *point, double *x,
                         double *second, double *scratch);

#endif
