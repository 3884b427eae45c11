/* .Call entries of the exact Gaussian process: kernel matrix, evaluation, leave-one-out,
 * prediction. y and newdata are [n_dims x n], targets [n_targets x n]. */
#include "r_gp.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

double *alloc_doubles(size_t n_rows, size_t n_cols) {
  /* R_alloc() takes any number of elements of a size that fits an int. */
  return (double *)R_alloc(n_rows * n_cols + 1, sizeof(double));
}

gps_kernel view_kernel(SEXP code, size_t n_dims) {
  const SEXP type = list_need(code, "type"), ard = list_need(code, "ard");
  gps_kernel kernel = {.n_dims = n_dims};
  if (TYPEOF(type) != STRSXP || TYPEOF(ard) != LGLSXP || Rf_xlength(type) != Rf_xlength(ard) ||
      Rf_xlength(type) == 0) {
    raise_error("model", "The kernel's code must hold `type` and `ard` of the same length.");
  }
  for (int t = 0; t < Rf_length(type); t++) {
    const kernel_type *found = kernel_find(CHAR(STRING_ELT(type, t)));
    if (found == NULL) {
      raise_error("model", "There is no kernel \"%s\".", CHAR(STRING_ELT(type, t)));
    }
    if (!kernel_add_term(&kernel, found, LOGICAL(ard)[t] == TRUE)) {
      raise_error("argument", "A kernel can have at most %d terms.", KERNEL_MAX_TERMS);
    }
  }
  return kernel;
}

const double *view_theta(SEXP theta, const gps_kernel *kernel) {
  return view_doubles(theta, (R_xlen_t)kernel->n_hyper, "theta");
}

gp_dense new_dense(const gps_kernel *kernel, SEXP theta, SEXP y, SEXP jitter, SEXP n_threads) {
  const size_t n_dims = kernel->n_dims, n_points = (size_t)n_cols_of(y);
  double *shifted = alloc_doubles(n_dims, n_points);
  gp_dense gp = {.kernel = kernel,
                 .theta = view_theta(theta, kernel),
                 .jitter = view_number(jitter, "jitter"),
                 .n_points = n_points,
                 .x = view_matrix(y, (R_xlen_t)n_dims, -1, "y"),
                 .shifted = shifted,
                 .centre = {n_dims, alloc_doubles(n_dims, 1), alloc_doubles(n_dims, 1)},
                 .n_threads = view_int(n_threads, "n_threads"),
                 .watch = begin_watch(),
                 .scratch = alloc_doubles(gp_dense_scratch(n_dims, n_points), 1)};
  if (n_points == 0) raise_error("argument", "There must be at least one data point.");
  if (gp.n_threads < 1) gp.n_threads = 1;
  kernel_find_centre(n_points, gp.x, &gp.centre);
  kernel_shift(&gp.centre, n_points, gp.x, shifted);
  return gp;
}

/* k <- inverse factor of K, with as much jitter as it takes; an R error where nothing helps. */
static void factor_or_raise(gp_dense *gp, double *k) {
  double log_det;
  const gps_status status = gp_dense_factor(gp, 1, k, &log_det);
  if (status != GPS_OK) raise_status(status, "The kernel matrix cannot be factorised", SIZE_MAX);
}

SEXP r_gp_kernel_matrix(SEXP code, SEXP theta, SEXP y, SEXP n_threads) {
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y));
  const int n = n_cols_of(y);
  const gp_dense gp = new_dense(&kernel, theta, y, PROTECT(Rf_ScalarReal(0.0)), n_threads);
  const SEXP k = PROTECT(Rf_allocMatrix(REALSXP, n, n));
  gp_dense_kernel(&gp, REAL(k));
  end_watch();
  linalg_mirror((size_t)n, REAL(k), (size_t)n);
  UNPROTECT(2);
  return k;
}

SEXP r_gp_evaluate(SEXP code, SEXP theta, SEXP y, SEXP jitter, SEXP root, SEXP n_targets,
                   SEXP n_threads) {
  static const char *const names[] = {"value", "gradient", "jitter"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y));
  gp_dense gp = new_dense(&kernel, theta, y, jitter, n_threads);
  const gp_targets targets = {(size_t)view_int(n_targets, "n_targets"), (size_t)n_rows_of(root),
                              view_matrix(root, -1, (R_xlen_t)gp.n_points, "root")};
  const SEXP result = PROTECT(new_named_list(3, names));
  double *value = hang_doubles(result, 0, 1);
  double *gradient = hang_doubles(result, 1, (R_xlen_t)kernel.n_hyper);
  const gps_status status =
      gp_dense_evaluate(&gp, 1, &targets, -HUGE_VAL, alloc_doubles(gp.n_points, gp.n_points),
                        alloc_doubles(targets.rank, gp.n_points), value, gradient);
  if (status != GPS_OK) raise_status(status, "The marginal likelihood", SIZE_MAX);
  hang_doubles(result, 2, 1)[0] = gp.jitter;
  UNPROTECT(1);
  return result;
}

SEXP r_gp_loo(SEXP code, SEXP theta, SEXP y, SEXP jitter, SEXP targets, SEXP n_threads) {
  static const char *const names[] = {"mean", "variance", "jitter"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y));
  gp_dense gp = new_dense(&kernel, theta, y, jitter, n_threads);
  const size_t n = gp.n_points, n_targets = (size_t)n_rows_of(targets);
  const double *target = view_matrix(targets, -1, (R_xlen_t)n, "targets");
  double *l = alloc_doubles(n, n);
  const SEXP result = PROTECT(new_named_list(3, names));
  double *mean = hang_matrix(result, 0, (int)n_targets, (int)n);
  double *variance = hang_doubles(result, 1, (R_xlen_t)n);
  factor_or_raise(&gp, l);
  gp_dense_loo_variance(&gp, l, variance);
  memcpy(mean, target, n_targets * n * sizeof *mean);
  gp_dense_weigh(&gp, n_targets, l, mean);
  gp_loo_means(n_targets, n, target, variance, mean);
  hang_doubles(result, 2, 1)[0] = gp.jitter;
  UNPROTECT(1);
  return result;
}

SEXP r_gp_prepare(SEXP code, SEXP theta, SEXP y, SEXP n_threads) {
  static const char *const names[] = {"inverse", "jitter"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y));
  const SEXP result = PROTECT(new_named_list(2, names));
  double *jitter = hang_doubles(result, 1, 1);
  *jitter = 0.0;
  gp_dense gp = new_dense(&kernel, theta, y, VECTOR_ELT(result, 1), n_threads);
  double *inverse = hang_matrix(result, 0, (int)gp.n_points, (int)gp.n_points);
  factor_or_raise(&gp, inverse);
  linalg_lower_gram(gp.n_points, inverse, gp.n_points, gp.watch);
  end_watch();
  linalg_mirror(gp.n_points, inverse, gp.n_points);
  *jitter = gp.jitter;
  UNPROTECT(1);
  return result;
}

SEXP r_gp_loo_means(SEXP inverse, SEXP targets) {
  const size_t n = (size_t)n_cols_of(targets), n_targets = (size_t)n_rows_of(targets);
  const double *k_inverse = view_matrix(inverse, (R_xlen_t)n, (R_xlen_t)n, "inverse");
  const double *target = view_matrix(targets, -1, -1, "targets");
  const SEXP result = PROTECT(Rf_allocMatrix(REALSXP, (int)n_targets, (int)n));
  double *mean = REAL(result), *variance = alloc_doubles(n, 1),
         *weighted = alloc_doubles(n, n_targets);
  for (size_t j = 0; j < n; j++) variance[j] = 1.0 / k_inverse[j * (n + 1)];
  /* The product with the large matrix on the left is nearly twice as fast as its transpose. */
  linalg_gemm('N', 'T', n, n_targets, n, 1.0, k_inverse, n, target, n_targets, 0.0, weighted, n);
  for (size_t j = 0; j < n; j++) {
    for (size_t h = 0; h < n_targets; h++) mean[h + j * n_targets] = weighted[j + h * n];
  }
  gp_loo_means(n_targets, n, target, variance, mean);
  UNPROTECT(1);
  return result;
}

SEXP r_gp_weights(SEXP code, SEXP theta, SEXP y, SEXP jitter, SEXP targets, SEXP n_threads) {
  static const char *const names[] = {"alpha", "jitter"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y));
  gp_dense gp = new_dense(&kernel, theta, y, jitter, n_threads);
  const size_t n = gp.n_points, n_targets = (size_t)n_rows_of(targets);
  const double *target = view_matrix(targets, -1, (R_xlen_t)n, "targets");
  double *l = alloc_doubles(n, n);
  const SEXP result = PROTECT(new_named_list(2, names));
  double *alpha = hang_matrix(result, 0, (int)n_targets, (int)n);
  factor_or_raise(&gp, l);
  memcpy(alpha, target, n_targets * n * sizeof *alpha);
  gp_dense_weigh(&gp, n_targets, l, alpha);
  hang_doubles(result, 1, 1)[0] = gp.jitter;
  UNPROTECT(1);
  return result;
}

SEXP r_gp_predict_means(SEXP code, SEXP theta, SEXP y, SEXP alpha, SEXP newdata, SEXP n_threads) {
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y));
  const SEXP no_jitter = PROTECT(Rf_ScalarReal(0.0));
  const gp_dense gp = new_dense(&kernel, theta, y, no_jitter, n_threads);
  const size_t n = gp.n_points, n_targets = (size_t)n_rows_of(alpha);
  const int n_new = n_cols_of(newdata);
  const double *weights = view_matrix(alpha, -1, (R_xlen_t)n, "alpha");
  const double *x_new = view_matrix(newdata, (R_xlen_t)kernel.n_dims, -1, "newdata");
  const SEXP mean = PROTECT(Rf_allocMatrix(REALSXP, (int)n_targets, n_new));
  gp_dense_predict(&gp, n_targets, weights, NULL, (size_t)n_new, x_new, REAL(mean), NULL,
                   alloc_doubles(gp_dense_predict_scratch(kernel.n_dims, n), 1));
  end_watch();
  UNPROTECT(2);
  return mean;
}

/* Mean and variance of the function at new points, from one factorisation. */
SEXP r_gp_predict(SEXP code, SEXP theta, SEXP y, SEXP jitter, SEXP targets, SEXP newdata,
                  SEXP n_threads) {
  static const char *const names[] = {"mean", "variance"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y));
  gp_dense gp = new_dense(&kernel, theta, y, jitter, n_threads);
  const size_t n = gp.n_points, n_targets = (size_t)n_rows_of(targets);
  const int n_new = n_cols_of(newdata);
  const double *target = view_matrix(targets, -1, (R_xlen_t)n, "targets");
  const double *x_new = view_matrix(newdata, (R_xlen_t)kernel.n_dims, -1, "newdata");
  double *l = alloc_doubles(n, n), *alpha = alloc_doubles(n_targets, n);
  const SEXP result = PROTECT(new_named_list(2, names));
  double *mean = hang_matrix(result, 0, (int)n_targets, n_new);
  double *variance = hang_doubles(result, 1, n_new);
  factor_or_raise(&gp, l);
  memcpy(alpha, target, n_targets * n * sizeof *alpha);
  gp_dense_weigh(&gp, n_targets, l, alpha);
  gp_dense_predict(&gp, n_targets, alpha, l, (size_t)n_new, x_new, mean, variance,
                   alloc_doubles(gp_dense_predict_scratch(kernel.n_dims, n), 1));
  end_watch();
  UNPROTECT(1);
  return result;
}
