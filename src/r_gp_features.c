/* .Call entries of the Gaussian process in its feature form: kernels of linear, bias and white
 * terms. */
#include "r_gp.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  gp_features gp;
  size_t n_features;
  double *features; /* [n_features x n_points] */
  double *factor;   /* [n_features x n_features] of B */
  double *scale;    /* [n_features] */
} feature_form;

static feature_form new_features(const gps_kernel *kernel, SEXP theta, SEXP y, SEXP jitter) {
  const size_t n = (size_t)n_cols_of(y), q = kernel->n_dims + 1;
  const double *x = view_matrix(y, (R_xlen_t)kernel->n_dims, -1, "y");
  double *moment = alloc_doubles(q, q);
  feature_form form = {.gp = {.kernel = kernel,
                              .theta = view_theta(theta, kernel),
                              .jitter = view_number(jitter, "jitter"),
                              .n_points = n,
                              .moment = moment,
                              .watch = begin_watch()},
                       .n_features = q,
                       .features = alloc_doubles(q, n),
                       .factor = alloc_doubles(q, q),
                       .scale = alloc_doubles(q, 1)};
  /* It is handed to R, its unused half included. */
  memset(form.factor, 0, q * q * sizeof *form.factor);
  gp_features_append(kernel->n_dims, n, x, form.features);
  gp_features_moment(q, n, form.features, moment);
  return form;
}

static void factor_or_raise(feature_form *form) {
  const gps_status status = gp_features_factor(&form->gp, 1, form->factor, form->scale);
  if (status != GPS_OK) raise_status(status, "The kernel matrix cannot be factorised", SIZE_MAX);
}

SEXP r_gp_features_prepare(SEXP code, SEXP theta, SEXP y, SEXP jitter) {
  static const char *const names[] = {"basis", "leverage", "noise", "jitter"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y));
  feature_form form = new_features(&kernel, theta, y, jitter);
  const size_t n = form.gp.n_points, q = form.n_features;
  const SEXP result = PROTECT(new_named_list(4, names));
  double *basis = hang_matrix(result, 0, (int)q, (int)n);
  double *leverage = hang_doubles(result, 1, (R_xlen_t)n);
  factor_or_raise(&form);
  memcpy(basis, form.features, q * n * sizeof *basis);
  gp_features_basis(q, n, form.factor, form.scale, basis, leverage);
  hang_doubles(result, 2, 1)[0] = kernel_noise(&kernel, form.gp.theta) + form.gp.jitter;
  hang_doubles(result, 3, 1)[0] = form.gp.jitter;
  end_watch();
  UNPROTECT(1);
  return result;
}

SEXP r_gp_features_loo_means(SEXP basis, SEXP leverage, SEXP targets) {
  const int n = n_cols_of(targets), n_targets = n_rows_of(targets), q = n_rows_of(basis);
  const double *v = view_matrix(basis, -1, n, "basis");
  const double *target = view_matrix(targets, -1, -1, "targets");
  const SEXP mean = PROTECT(Rf_allocMatrix(REALSXP, n_targets, n));
  gp_features_loo_means((size_t)q, (size_t)n, (size_t)n_targets, v,
                        view_doubles(leverage, n, "leverage"), target,
                        alloc_doubles((size_t)n_targets, (size_t)q), REAL(mean));
  UNPROTECT(1);
  return mean;
}

SEXP r_gp_features_evaluate(SEXP code, SEXP theta, SEXP y, SEXP jitter, SEXP root, SEXP n_targets) {
  static const char *const names[] = {"value", "gradient", "jitter"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y));
  feature_form form = new_features(&kernel, theta, y, jitter);
  const size_t n = form.gp.n_points, q = form.n_features;
  const gp_targets targets = {(size_t)view_int(n_targets, "n_targets"), (size_t)n_rows_of(root),
                              view_matrix(root, -1, (R_xlen_t)n, "root")};
  double *cross = alloc_doubles(q, targets.rank), target_sq = 0.0;
  const SEXP result = PROTECT(new_named_list(3, names));
  double *value = hang_doubles(result, 0, 1);
  double *gradient = hang_doubles(result, 1, (R_xlen_t)kernel.n_hyper);
  gp_features_cross(q, n, form.features, &targets, cross, &target_sq);
  form.gp.scratch = alloc_doubles(gp_features_scratch(q, targets.rank), 1);
  const gps_status status =
      gp_features_evaluate(&form.gp, 1, &targets, -HUGE_VAL, cross, target_sq, value, gradient);
  if (status != GPS_OK) raise_status(status, "The marginal likelihood", SIZE_MAX);
  hang_doubles(result, 2, 1)[0] = form.gp.jitter;
  end_watch();
  UNPROTECT(1);
  return result;
}

/* Weights [n_features x n_targets] of a raw point with a 1 below: the prediction is linear in it.
 */
SEXP r_gp_features_weights(SEXP code, SEXP theta, SEXP y, SEXP jitter, SEXP targets) {
  static const char *const names[] = {"weights", "factor", "scale", "jitter"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y));
  feature_form form = new_features(&kernel, theta, y, jitter);
  const size_t n = form.gp.n_points, q = form.n_features;
  const gp_targets given = {(size_t)n_rows_of(targets), (size_t)n_rows_of(targets),
                            view_matrix(targets, -1, (R_xlen_t)n, "targets")};
  const SEXP result = PROTECT(new_named_list(4, names));
  double *weights = hang_matrix(result, 0, (int)q, (int)given.rank), target_sq;
  factor_or_raise(&form);
  gp_features_cross(q, n, form.features, &given, weights, &target_sq);
  gp_features_weigh(q, given.rank, form.factor, form.scale, weights);
  memcpy(hang_matrix(result, 1, (int)q, (int)q), form.factor, q * q * sizeof(double));
  memcpy(hang_doubles(result, 2, (R_xlen_t)q), form.scale, q * sizeof(double));
  hang_doubles(result, 3, 1)[0] = form.gp.jitter;
  end_watch();
  UNPROTECT(1);
  return result;
}

/* Variance of the function over the noise: the leverage of new points. */
SEXP r_gp_features_leverage(SEXP factor, SEXP scale, SEXP newdata) {
  const int q = Rf_length(scale), n = n_cols_of(newdata);
  const double *x = view_matrix(newdata, q - 1, -1, "newdata");
  double *features = alloc_doubles((size_t)q, (size_t)n);
  const SEXP leverage = PROTECT(Rf_allocVector(REALSXP, n));
  gp_features_append((size_t)q - 1, (size_t)n, x, features);
  gp_features_basis((size_t)q, (size_t)n, view_matrix(factor, q, q, "factor"),
                    view_doubles(scale, q, "scale"), features, REAL(leverage));
  UNPROTECT(1);
  return leverage;
}
