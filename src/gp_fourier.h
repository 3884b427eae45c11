/* Random Fourier features (Rahimi and Recht 2007): a stationary term becomes cosines and sines of
 * random frequencies, linear and constant terms stay as they are, so that K is about F'F + noise.
 * The frequencies stand for lengthscale 1 and are fixed: all is smooth in the log parameters. */
#ifndef GPSELECT_GP_FOURIER_H
#define GPSELECT_GP_FOURIER_H

#include "gp.h"

/* Features stand term by term in the kernel's order: `count` cosines and as many sines of a
 * stationary term, n_dims of a linear one, one of a constant. */
typedef struct {
  const gps_kernel *kernel;
  const double *theta;                       /* [n_hyper] */
  const double *centre;                      /* [n_dims] what phases take for the origin */
  const double *frequency[KERNEL_MAX_TERMS]; /* [n_dims x count] of stationary terms */
  size_t count[KERNEL_MAX_TERMS];
  size_t n_points;
  const double *x; /* [n_dims x n_points] */
  int n_threads;
  const gps_watch *watch; /* or NULL */
} gp_fourier;

size_t gp_fourier_n_features(const gp_fourier *gp);

/* F [n_features x n_points]. */
size_t gp_fourier_features_scratch(const gp_fourier *gp);
void gp_fourier_features(const gp_fourier *gp, double *features, double *scratch);

/* Log marginal likelihood of all targets and its gradient [n_hyper], given the features. Where B =
 * F F' + noise cannot be factorised, with as much jitter as it takes, left in *jitter. */
size_t gp_fourier_evaluate_scratch(const gp_fourier *gp, size_t rank);
gps_status gp_fourier_evaluate(const gp_fourier *gp, const gp_targets *targets,
                               const double *features, double *jitter, double *value,
                               double *gradient, double *scratch);

#endif
