/* .Call entries that learn a Gaussian process's log parameters: R's L-BFGS-B on the log marginal
 * likelihood, and the root of the targets through which alone they enter it. */
#include "r_gp.h"

#include <R_ext/Applic.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Inner products are kept from evaluation to evaluation up to this many points (200 MB): beyond,
 * making them anew is a small part of the work. */
#define MAX_CACHED_POINTS 5000

/* One problem for both forms of the engine; evaluations are the unit of cost, so they are counted
 * and capped. */
typedef struct refit {
  gps_status (*evaluate)(struct refit *, int climb, double *value, double *gradient);
  gp_dense dense;
  gp_features features;
  gp_targets targets;
  double *k, *alpha, *cross, target_sq;
  size_t n_hyper;
  const double *lower, *upper; /* [n_hyper] parameters whose limits are equal are held */
  int n_evals, max_evals;
  double scale;             /* of the value, for the optimiser */
  double least;             /* the value at the start */
  double *theta, *gradient; /* [n_hyper] where it was evaluated last */
  double value, best_value, best_jitter;
  double *best_theta, *values; /* [n_hyper], [max_evals] */
} refit;

static gps_status evaluate_dense(refit *fit, int climb, double *value, double *gradient) {
  fit->dense.theta = fit->theta;
  return gp_dense_evaluate(&fit->dense, climb, &fit->targets, fit->least, fit->k, fit->alpha, value,
                           gradient);
}

static gps_status evaluate_features(refit *fit, int climb, double *value, double *gradient) {
  fit->features.theta = fit->theta;
  return gp_features_evaluate(&fit->features, climb, &fit->targets, fit->least, fit->cross,
                              fit->target_sq, value, gradient);
}

/* What is held has no slope. */
static double slope_of(const refit *fit, size_t h) {
  return fit->lower[h] < fit->upper[h] ? fit->gradient[h] : 0.0;
}

static void keep_if_best(refit *fit) {
  fit->values[fit->n_evals++] = fit->value;
  if (fit->n_evals > 1 && !(fit->value > fit->best_value)) return;
  fit->best_value = fit->value;
  fit->best_jitter = fit->evaluate == evaluate_dense ? fit->dense.jitter : fit->features.jitter;
  memcpy(fit->best_theta, fit->theta, fit->n_hyper * sizeof *fit->theta);
}

/* The optimiser asks for value and gradient in turn: both are made at once. The line search backs
 * off from a point worse than the start whatever its gradient, so none is made there; a failed
 * factorisation is such a point. After the last evaluation every point is a stationary one. */
static void evaluate_at(refit *fit, const double *theta) {
  const size_t n_bytes = fit->n_hyper * sizeof *theta;
  if (memcmp(theta, fit->theta, n_bytes) == 0) return;
  memcpy(fit->theta, theta, n_bytes);
  if (fit->n_evals >= fit->max_evals) {
    fit->value = fit->best_value;
    memset(fit->gradient, 0, n_bytes);
    return;
  }
  ask_watch();
  const gps_status status = fit->evaluate(fit, 0, &fit->value, fit->gradient);
  if (status == GPS_INTERRUPTED) end_watch();
  if (status != GPS_OK) {
    fit->value = fit->least - 10.0 * (fabs(fit->least) + fit->scale);
    memset(fit->gradient, 0, n_bytes);
  }
  keep_if_best(fit);
}

static double scaled_value(int n, double *theta, void *data) {
  refit *fit = data;
  (void)n;
  evaluate_at(fit, theta);
  return -fit->value / fit->scale;
}

static void scaled_gradient(int n, double *theta, double *gradient, void *data) {
  refit *fit = data;
  evaluate_at(fit, theta);
  for (int h = 0; h < n; h++) gradient[h] = -slope_of(fit, (size_t)h) / fit->scale;
}

/* Climbs from fit->theta. `gain` is the improvement of the log marginal likelihood that is not
 * worth another step. */
static void climb(refit *fit, double gain) {
  const int n = (int)fit->n_hyper;
  double *theta = alloc_doubles(fit->n_hyper, 1), best = 0.0, steepest = 0.0;
  int *bounded = (int *)R_alloc(fit->n_hyper, sizeof(int));
  int failed = 0, n_values = 0, n_gradients = 0;
  char message[60];
  const gps_status status = fit->evaluate(fit, 1, &fit->value, fit->gradient);
  if (status != GPS_OK) raise_status(status, "The marginal likelihood at the start", SIZE_MAX);
  keep_if_best(fit);
  for (int h = 0; h < n; h++) {
    bounded[h] = 2;
    theta[h] = fit->theta[h];
    steepest = fmax(steepest, fabs(slope_of(fit, (size_t)h)));
  }
  /* With the steepest slope 1 the first trial step moves no log parameter by more than 1. */
  fit->scale = steepest > 0.0 ? steepest : 1.0;
  fit->least = fit->value;
  const double relative = gain / fmax(fabs(fit->value), fit->scale);
  lbfgsb(n, 5, theta, (double *)fit->lower, (double *)fit->upper, bounded, &best, scaled_value,
         scaled_gradient, &failed, fit, relative / DBL_EPSILON, 0.0, &n_values, &n_gradients,
         10 * fit->max_evals, message, 0, 10);
}

static void prepare_features(refit *fit, const gps_kernel *kernel, SEXP y) {
  const size_t n = (size_t)n_cols_of(y), q = kernel->n_dims + 1;
  double *features = alloc_doubles(q, n), *moment = alloc_doubles(q, q);
  gp_features_append(kernel->n_dims, n, view_matrix(y, (R_xlen_t)kernel->n_dims, -1, "y"),
                     features);
  gp_features_moment(q, n, features, moment);
  fit->cross = alloc_doubles(q, fit->targets.rank);
  gp_features_cross(q, n, features, &fit->targets, fit->cross, &fit->target_sq);
  fit->features =
      (gp_features){.kernel = kernel,
                    .n_points = n,
                    .moment = moment,
                    .watch = begin_watch(),
                    .scratch = alloc_doubles(gp_features_scratch(q, fit->targets.rank), 1)};
  fit->evaluate = evaluate_features;
}

static void prepare_dense(refit *fit, const gps_kernel *kernel, SEXP theta, SEXP y,
                          SEXP n_threads) {
  const SEXP zero = PROTECT(Rf_ScalarReal(0.0));
  fit->dense = new_dense(kernel, theta, y, zero, n_threads);
  UNPROTECT(1);
  const size_t n = fit->dense.n_points;
  if (n <= MAX_CACHED_POINTS) {
    double *gram = alloc_doubles(n, n);
    gp_dense_gram(&fit->dense, gram);
    fit->dense.gram = gram;
  }
  fit->k = alloc_doubles(n, n);
  fit->alpha = alloc_doubles(fit->targets.rank, n);
  fit->evaluate = evaluate_dense;
}

/* `limits`: list(lower, upper, max_evals, gain) and more. */
SEXP r_gp_refit(SEXP code, SEXP theta, SEXP y, SEXP root, SEXP n_targets, SEXP use_features,
                SEXP limits, SEXP n_threads) {
  static const char *const names[] = {"theta", "value", "values", "jitter"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y));
  const size_t n_hyper = kernel.n_hyper;
  refit fit = {.n_hyper = n_hyper, .scale = 1.0, .least = -HUGE_VAL};
  fit.targets = (gp_targets){(size_t)view_int(n_targets, "n_targets"), (size_t)n_rows_of(root),
                             view_matrix(root, -1, n_cols_of(y), "root")};
  fit.max_evals = view_int(list_need(limits, "max_evals"), "max_evals");
  if (fit.max_evals < 1) raise_error("argument", "`max_evals` must be at least 1.");
  fit.lower = view_doubles(list_need(limits, "lower"), (R_xlen_t)n_hyper, "lower");
  fit.upper = view_doubles(list_need(limits, "upper"), (R_xlen_t)n_hyper, "upper");
  fit.theta = alloc_doubles(n_hyper, 1);
  memcpy(fit.theta, view_theta(theta, &kernel), n_hyper * sizeof(double));
  fit.gradient = alloc_doubles(n_hyper, 1);
  fit.best_theta = alloc_doubles(n_hyper, 1);
  fit.values = alloc_doubles((size_t)fit.max_evals, 1);
  if (Rf_asLogical(use_features) == TRUE) {
    prepare_features(&fit, &kernel, y);
  } else {
    prepare_dense(&fit, &kernel, theta, y, n_threads);
  }
  climb(&fit, view_number(list_need(limits, "gain"), "gain"));
  const SEXP result = PROTECT(new_named_list(4, names));
  memcpy(hang_doubles(result, 0, (R_xlen_t)n_hyper), fit.best_theta, n_hyper * sizeof(double));
  hang_doubles(result, 1, 1)[0] = fit.best_value;
  memcpy(hang_doubles(result, 2, fit.n_evals), fit.values, (size_t)fit.n_evals * sizeof(double));
  hang_doubles(result, 3, 1)[0] = fit.best_jitter;
  UNPROTECT(1);
  return result;
}

/* Rows of U' targets, U the eigenvectors of targets targets' that are not rounding. */
static SEXP root_by_outputs(const double *target, size_t n_targets, size_t n) {
  double *gram = alloc_doubles(n_targets, n_targets), *values = alloc_doubles(n_targets, 1);
  linalg_syrk('N', n_targets, n, 1.0, target, n_targets, 0.0, gram, n_targets);
  const gps_status status = linalg_eigen_sym(n_targets, gram, values,
                                             alloc_doubles(linalg_eigen_sym_scratch(n_targets), 1));
  if (status != GPS_OK) raise_status(status, "The targets' products", SIZE_MAX);
  size_t rank = 1;
  while (rank < n_targets && values[n_targets - 1 - rank] > DBL_EPSILON * values[n_targets - 1]) {
    rank++;
  }
  const SEXP root = PROTECT(Rf_allocMatrix(REALSXP, (int)rank, (int)n));
  linalg_gemm('T', 'N', rank, n, n_targets, 1.0, gram + (n_targets - rank) * n_targets, n_targets,
              target, n_targets, 0.0, REAL(root), rank);
  UNPROTECT(1);
  return root;
}

/* L' of the pivoted Cholesky factorisation of targets' targets, for more targets than points. */
static SEXP root_by_points(const double *target, size_t n_targets, size_t n) {
  double *gram = alloc_doubles(n, n);
  int *pivot = (int *)R_alloc(n, sizeof(int));
  size_t rank;
  linalg_syrk('T', n, n_targets, 1.0, target, n_targets, 0.0, gram, n);
  const gps_status status =
      linalg_cholesky_pivoted(n, gram, n, -1.0, pivot, &rank, alloc_doubles(n, 2));
  if (status != GPS_OK) raise_status(status, "The targets' products", SIZE_MAX);
  if (rank == 0) rank = 1;
  const SEXP root = PROTECT(Rf_allocMatrix(REALSXP, (int)rank, (int)n));
  for (size_t i = 0; i < n; i++) {
    double *column = REAL(root) + (size_t)pivot[i] * rank;
    for (size_t r = 0; r < rank; r++) column[r] = r <= i ? gram[i + r * n] : 0.0;
  }
  UNPROTECT(1);
  return root;
}

static int has_full_rank(const double *target, size_t n_targets, size_t n) {
  double *gram = alloc_doubles(n_targets, n_targets);
  int *pivot = (int *)R_alloc(n_targets, sizeof(int));
  size_t rank;
  linalg_syrk('N', n_targets, n, 1.0, target, n_targets, 0.0, gram, n_targets);
  const gps_status status = linalg_cholesky_pivoted(n_targets, gram, n_targets, -1.0, pivot, &rank,
                                                    alloc_doubles(n_targets, 2));
  return status == GPS_OK && rank == n_targets;
}

/* A matrix of fewest rows with root'root = targets'targets; the targets themselves where that is
 * they. */
SEXP r_gp_root(SEXP targets) {
  const size_t n = (size_t)n_cols_of(targets), n_targets = (size_t)n_rows_of(targets);
  const double *target = view_matrix(targets, -1, -1, "targets");
  if (n_targets == 1) return targets;
  if (n_targets > n) return root_by_points(target, n_targets, n);
  return has_full_rank(target, n_targets, n) ? targets : root_by_outputs(target, n_targets, n);
}
