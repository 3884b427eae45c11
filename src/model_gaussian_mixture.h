/* What the two files of the Gaussian mixture share: model_gaussian_mixture.c and its M-step,
 * model_gaussian_mstep.c. */
#ifndef GPSELECT_MODEL_GAUSSIAN_MIXTURE_H
#define GPSELECT_MODEL_GAUSSIAN_MIXTURE_H

#include <stddef.h>

#include "gpselect/model.h"

/* scale [D]: the standard deviations of the data, one of all dimensions where covariances are
 * spherical. Whatever compares dimensions does so in these units, so that nothing depends on the
 * unit of a column, and powers of two do not change a single bit. */
enum {
  MU,
  SIGMA,
  PI,
  CENTRE,
  SCALE,
  KIND,        /* of covariance */
  FLOOR_SIGMA, /* of its eigenvalues in units of the scale */
  FLOOR_PI,
  COMMON, /* 1 where the clusters have one covariance in common */
  WHITENER,
  LOG_SCALE,
  LOG_BASE
};
enum { PREPARED = WHITENER };
enum { FULL, DIAGONAL, SPHERICAL };

enum { COUNT, ON, FIRST, SECOND };

/* Columns of a whitener start on whole vectors: rows beyond n_dims are zero. */
#define LANES 8

static inline size_t stride_of(size_t n_dims) { return (n_dims + LANES - 1) / LANES * LANES; }

static inline int kind_of(const gps_problem *problem) { return (int)problem->input[KIND][0]; }

size_t mixture_mstep_scratch(const gps_problem *problem);
gps_status mixture_mstep(const gps_problem *problem, const double *const *stats,
                         double *const *params_new, int *events, double *scratch);

#endif
