/* The Gaussian mixture where a data point lacks cells: densities of the cells that are there, and
 * what the others are expected to be. */
#ifndef GPSELECT_MODEL_GAUSSIAN_MISSING_H
#define GPSELECT_MODEL_GAUSSIAN_MISSING_H

#include "gpselect/model.h"

/* Clusters that are looked at side by side. */
#define MIXTURE_GROUP 8

/* Doubles of scratch for the functions below; 0 where they need none. */
size_t mixture_missing_scratch(const gps_problem *problem);

/* What shared_term() of a point with all cells lacks: the constants of the cells that are missing.
 */
double mixture_missing_shared(const gps_problem *problem, const gps_point *point);

/* value [n] for latents [n], without shared_term(); a latent of -1 gets -Inf. */
gps_status mixture_missing_joint(const gps_problem *problem, const gps_point *point, int n,
                                 const int *latent, double *value, double *scratch);

/* To be called of a point before the functions that follow. */
gps_status mixture_missing_begin(const gps_problem *problem, const gps_point *point,
                                 double *scratch);

/* Leaves in scratch what the missing cells are expected to be in n clusters, at most MIXTURE_GROUP,
 * for the two functions that follow: `lane` is where a cluster stands among them. */
gps_status mixture_missing_expect(const gps_problem *problem, const gps_point *point, int n,
                                  const int *cluster, double *scratch);

/* expected [m] <- what the m missing cells are expected to be in cluster c, one of n. */
void mixture_missing_means(const gps_problem *problem, const gps_point *point, size_t c, int n,
                           int lane, double *expected, double *scratch);

/* second += weight times the covariance of the missing cells of a point in cluster c, one of n.
 * Where covariances are tied mixture_tied_spread() has that of all clusters. */
void mixture_missing_spread(const gps_problem *problem, const gps_point *point, size_t c, int n,
                            int lane, double weight, double *second, double *scratch);

/* The m missing cells of a response [D] <- what they are expected to be over n clusters with these
 * probabilities; expected [m] is scratch. */
gps_status mixture_missing_describe(const gps_problem *problem, const gps_point *point, int n_slots,
                                    const double *prob, double *response, double *expected,
                                    double *scratch);

#endif
