/* Features of inducing points, orthogonal under the kernel, f = Lu^-1 k(z, x): f'f is at most k(x,
 * x), whatever the condition of K(z, z). Called by r_gp_basis.c. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "gp_basis.h"
#include "vector_math.h"

/* The pivots of a matrix that is singular but for rounding are below this share of its diagonal, in
 * units of its size times the machine's precision. */
#define SINGULAR 8.0

/* a -> inverse of its Cholesky factor. LAPACK may find one where rounding alone kept a pivot above
 * 0. */
static gps_status invert_safely(size_t n, double *a, double mean_diagonal, const gps_watch *watch) {
  double log_det;
  const gps_status status = linalg_factor_inverse(n, a, n, HUGE_VAL, &log_det, watch);
  const double least = SINGULAR * DBL_EPSILON * (double)n * mean_diagonal;
  for (size_t i = 0; status == GPS_OK && i < n; i++) {
    if (!(a[i * (n + 1)] * a[i * (n + 1)] * least < 1.0)) return GPS_NOT_POSDEF;
  }
  return status;
}

/* Points at which the kernel is 0 explain nothing: their features are 0 whatever the factor. */
static gps_status no_features(gp_inducing *basis) {
  const size_t n = basis->z.n;
  basis->relative_jitter = 0.0;
  memset(basis->inverse, 0, n * n * sizeof *basis->inverse);
  for (size_t i = 0; i < n; i++) basis->inverse[i * (n + 1)] = 1.0;
  return GPS_OK;
}

gps_status gp_inducing_factor(gp_inducing *basis, double *gram) {
  const size_t n = basis->z.n;
  for (int step = 0;; step++) {
    double mean_diagonal = 0.0;
    gp_cross_values(basis->cross, &basis->z, &basis->z, step > 0, gram, basis->inverse, n);
    for (size_t i = 0; i < n; i++) mean_diagonal += basis->inverse[i * (n + 1)] / (double)n;
    if (!isfinite(mean_diagonal)) return GPS_NOT_FINITE;
    if (mean_diagonal == 0.0) return no_features(basis);
    const double relative = gp_jitter_step(step, n, 1.0);
    if (relative < 0.0) return GPS_NOT_POSDEF;
    basis->relative_jitter = relative;
    for (size_t i = 0; i < n; i++) basis->inverse[i * (n + 1)] += relative * mean_diagonal;
    const gps_status status = invert_safely(n, basis->inverse, mean_diagonal, basis->cross->watch);
    if (status != GPS_NOT_POSDEF) return status;
  }
}

size_t gp_inducing_scratch(size_t n_dims, size_t n_inducing) {
  return GP_PANEL * (n_inducing + n_dims) + gp_points_scratch(n_dims, GP_PANEL);
}

void gp_inducing_features(const gp_inducing *basis, size_t n, const double *x, int is_ready,
                          double *features, double *residual, double *scratch) {
  const gp_cross *cross = basis->cross;
  const size_t n_dims = cross->kernel->n_dims, q = basis->z.n;
  double *shifted = scratch + GP_PANEL * q;
  const gp_points points = gp_points_at(n_dims, n, x, shifted, shifted + GP_PANEL * n_dims);
  kernel_shift(&cross->centre, n, x, shifted);
  gp_cross_values(cross, &basis->z, &points, is_ready, scratch, features, q);
  linalg_trmm('L', 'N', q, n, basis->inverse, q, features, q);
  kernel_diagonal(cross->kernel, cross->theta, n, x, residual);
  for (size_t j = 0; j < n; j++, features += q) {
    const double left = residual[j] - dot_of(q, features, features);
    residual[j] = left > 0.0 ? left : 0.0;
  }
}
