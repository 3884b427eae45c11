/* .Call entries of the Gaussian process in random Fourier features. `basis` is list(frequencies,
 * centre), of which frequencies is a list with one [n_dims x count] matrix a stationary term. */
#include "gp_fourier.h"
#include "r_gp.h"

/* Operations for a feature of a point: half a sine and cosine. */
#define FEATURE_WORK 8.0

static gp_fourier new_fourier(const gps_kernel *kernel, SEXP theta, SEXP basis, SEXP y,
                              SEXP n_threads) {
  const R_xlen_t n_dims = (R_xlen_t)kernel->n_dims;
  const SEXP frequencies = list_need(basis, "frequencies");
  gp_fourier gp = {.kernel = kernel,
                   .theta = view_theta(theta, kernel),
                   .centre = view_doubles(list_need(basis, "centre"), n_dims, "centre"),
                   .n_points = (size_t)n_cols_of(y, "y"),
                   .x = view_matrix(y, n_dims, -1, "y"),
                   .watch = begin_watch()};
  R_xlen_t at = 0;
  for (int t = 0; t < kernel->n_terms; t++) {
    if (kernel->term[t].type->kind != KERNEL_STATIONARY) continue;
    if (TYPEOF(frequencies) != VECSXP || at >= Rf_xlength(frequencies)) {
      raise_error("argument", "The basis has no frequencies for a term of the kernel.");
    }
    const SEXP matrix = VECTOR_ELT(frequencies, at++);
    gp.frequency[t] = view_matrix(matrix, n_dims, -1, "frequencies");
    gp.count[t] = (size_t)n_cols_of(matrix, "matrix");
  }
  const double n_features = (double)gp_fourier_n_features(&gp);
  gp.n_threads = threads_for(n_threads, FEATURE_WORK * n_features * (double)gp.n_points);
  return gp;
}

SEXP r_gp_fourier_features(SEXP code, SEXP theta, SEXP basis, SEXP y, SEXP n_threads) {
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y, "y"));
  const gp_fourier gp = new_fourier(&kernel, theta, basis, y, n_threads);
  const SEXP features =
      PROTECT(Rf_allocMatrix(REALSXP, (int)gp_fourier_n_features(&gp), n_cols_of(y, "y")));
  gp_fourier_features(&gp, REAL(features), alloc_doubles(gp_fourier_features_scratch(&gp), 1));
  end_watch();
  UNPROTECT(1);
  return features;
}

SEXP r_gp_fourier_evaluate(SEXP code, SEXP theta, SEXP basis, SEXP y, SEXP goal, SEXP n_threads) {
  static const char *const names[] = {"value", "gradient", "jitter"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y, "y"));
  const gp_fourier gp = new_fourier(&kernel, theta, basis, y, n_threads);
  const gp_targets targets = view_goal(goal, gp.n_points);
  const SEXP result = PROTECT(new_named_list(3, names));
  double *value = hang_doubles(result, 0, 1);
  double *gradient = hang_doubles(result, 1, (R_xlen_t)kernel.n_hyper);
  double *added = hang_doubles(result, 2, 1);
  double *features = alloc_doubles(gp_fourier_n_features(&gp), gp.n_points);
  *added = 0.0;
  gp_fourier_features(&gp, features, alloc_doubles(gp_fourier_features_scratch(&gp), 1));
  end_watch();
  need_ok(gp_fourier_evaluate(&gp, &targets, features, added, value, gradient,
                              alloc_doubles(gp_fourier_evaluate_scratch(&gp, targets.rank), 1)),
          "The marginal likelihood");
  UNPROTECT(1);
  return result;
}
