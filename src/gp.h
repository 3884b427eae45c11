/* Gaussian process engines on plain arrays: points are columns, targets [n_targets x n_points].
 * Called by r_gp*.c on the main thread; elementwise passes run on n_threads threads over disjoint
 * columns, so results have the same bits for any number of threads. */
#ifndef GPSELECT_GP_H
#define GPSELECT_GP_H

#include "gp_cross.h"
#include "kernel.h"
#include "linalg.h"

/* The targets as the marginal likelihood sees them: any root with root'root = targets'targets does,
 * for outputs may be rotated. */
typedef struct {
  size_t n_targets, rank;
  const double *root; /* [rank x n_points] */
} gp_targets;

/* Which noise was added to let a factorisation succeed: 10^k eps N mean diag(K), k = 1, 2, ..., at
 * most 1e-4 of the diagonal. Step 0 adds nothing; the result is negative after the last step. */
double gp_jitter_step(int step, size_t n_points, double mean_diagonal);

/* Whether a value and its gradient [n_hyper] are numbers. */
gps_status gp_check_finite(double value, size_t n_hyper, const double *gradient);

/* ---- dense: every pair of points ---- */

typedef struct {
  gp_cross cross;
  double jitter; /* added to the noise */
  gp_points all; /* n_points of them */
  const double
      *gram; /* [n_points x n_points] inner products of gp_dense_gram(), or NULL: made anew */
  const double *given;        /* [n_points x n_points] values of given terms, or NULL */
  const double *given_slopes; /* n_given such matrices: by their log parameters, in order */
  size_t n_given;
  double *scratch; /* [gp_dense_scratch()] */
} gp_dense;

size_t gp_dense_scratch(const gps_kernel *kernel, size_t n_points);

/* Inner products of the shared metric, lower triangle: they do not depend on theta. Only worth it
 * for many evaluations. 0 where the kernel has none. */
void gp_dense_gram(const gp_dense *gp, double *gram);

/* K with noise and jitter, lower triangle. */
void gp_dense_kernel(const gp_dense *gp, double *k);

/* k [n_points^2] <- inverse of K's Cholesky factor at gp->jitter; where that fails and `climb`,
 * with as much jitter as it takes, left in gp->jitter. */
gps_status gp_dense_factor(gp_dense *gp, int climb, double *k, double *log_det);

/* Log marginal likelihood of all targets, and its gradient [n_hyper] unless the value is below
 * `least`: then the gradient is 0. k [n_points^2] and alpha [rank x n_points] are scratch. */
gps_status gp_dense_evaluate(gp_dense *gp, int climb, const gp_targets *targets, double least,
                             double *k, double *alpha, double *value, double *gradient);

/* Leave-one-out variance of the observations [n_points] from the inverse factor l. */
void gp_dense_loo_variance(size_t n_points, const double *l, int n_threads, double *variance);

/* Points that are predicted: of given terms, unless NULL, the values [n_points x n] and the
 * variance [n]; and what comes of them, mean [n_targets x n] and unless NULL the variance of the
 * function [n]. */
typedef struct {
  size_t n;
  const double *x; /* [n_dims x n] */
  const double *given, *given_variance;
  double *mean, *variance;
} gp_predicted;

/* From weights = targets K^-1; a variance needs the inverse factor l. */
size_t gp_dense_predict_scratch(size_t n_dims, size_t n_points);
void gp_dense_predict(const gp_dense *gp, size_t n_targets, const double *weights, const double *l,
                      const gp_predicted *at, double *scratch);

/* `weighted` = targets K^-1 becomes the leave-one-out means targets - weighted variance, with
 * variance [n_points] = 1 / diag(K^-1). */
void gp_loo_means(size_t n_targets, size_t n_points, const double *targets, const double *variance,
                  double *weighted);

#endif
