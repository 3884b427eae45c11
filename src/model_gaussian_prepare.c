/* What the E-step of the Gaussian mixture needs of the parameters: factors that whiten, and the log
 * of each cluster's density at its mean. Called by the table in model_gaussian_mixture.c. */
#include <math.h>
#include <string.h>

#include "linalg.h"
#include "model_gaussian_mixture.h"

/* whitener [stride x D] <- inverse of the lower Cholesky factor of sigma [D x D]; *log_det of sigma
 * in units of the scale. */
static gps_status invert_factor(const double *sigma, const double *scale, size_t n_dims,
                                double *whitener, double *log_det, const gps_watch *watch) {
  const size_t stride = stride_of(n_dims);
  memset(whitener, 0, stride * n_dims * sizeof *whitener);
  for (size_t j = 0; j < n_dims; j++) {
    memcpy(whitener + j * stride + j, sigma + j * n_dims + j, (n_dims - j) * sizeof *sigma);
  }
  const gps_status status = linalg_cholesky(n_dims, whitener, stride);
  if (status != GPS_OK) return status;
  *log_det = 0;
  for (size_t j = 0; j < n_dims; j++) *log_det += 2 * log(whitener[j * (stride + 1)] / scale[j]);
  return linalg_invert_lower(n_dims, whitener, stride, watch);
}

/* precision [stride x D] <- whitener'whitener in units of the scale, zeros beyond D. */
static void multiply_whitener(const double *whitener, const double *scale, size_t n_dims,
                              double *precision) {
  const size_t stride = stride_of(n_dims);
  linalg_gemm('T', 'N', n_dims, n_dims, n_dims, 1, whitener, stride, whitener, stride, 0, precision,
              stride);
  for (size_t j = 0; j < n_dims; j++) {
    for (size_t i = 0; i < n_dims; i++) precision[i + j * stride] *= scale[i] * scale[j];
    for (size_t i = n_dims; i < stride; i++) precision[i + j * stride] = 0;
  }
}

/* What prepare() makes where all clusters have one covariance: its whitener, and whitener times
 * mu_c - centre [stride x C], whose differences from a whitened point are all that a cluster needs.
 */
static gps_status prepare_tied(const gps_problem *problem, double *const *prepared) {
  const size_t n_dims = (size_t)problem->shape.n_dims, stride = stride_of(n_dims);
  const double *mu = problem->input[MU], *centre = problem->input[CENTRE];
  double *whitener = prepared[WHITENER - PREPARED], *to = prepared[WHITENED_MU - PREPARED],
         log_det = 0;
  const gps_status status = invert_factor(problem->input[SIGMA], problem->input[SCALE], n_dims,
                                          whitener, &log_det, problem->watch);
  if (status != GPS_OK) return status;
  if (problem->missing) {
    multiply_whitener(whitener, problem->input[SCALE], n_dims, prepared[PRECISION - PREPARED]);
  }
  for (size_t c = 0; c < (size_t)problem->shape.n_latents; c++) {
    double *column = to + c * stride;
    prepared[LOG_SCALE - PREPARED][c] = log(problem->input[PI][c]) - 0.5 * log_det;
    memset(column, 0, stride * sizeof *column);
    for (size_t j = 0; j < n_dims; j++) {
      const double shift = mu[j + c * n_dims] - centre[j];
      for (size_t i = j; i < n_dims; i++) column[i] += whitener[j * stride + i] * shift;
    }
  }
  return GPS_OK;
}

/* whitener: inverse Cholesky factors [stride x D x C], inverse standard deviations [D x C] or [C];
 * log_scale [C] = log pi_c - 1/2 log det Sigma_c in units of the scale; log_base: what all clusters
 * have in common, -D/2 log 2 pi - sum of the scale's logarithms. */
gps_status mixture_prepare(const gps_problem *problem, const double *y, double *const *prepared) {
  const size_t n_dims = (size_t)problem->shape.n_dims,
               n_clusters = (size_t)problem->shape.n_latents;
  const double *sigma = problem->input[SIGMA], *scale = problem->input[SCALE];
  double *whitener = prepared[WHITENER - PREPARED], *log_scale = prepared[LOG_SCALE - PREPARED],
         *log_base = prepared[LOG_BASE - PREPARED];
  const int kind = kind_of(problem);
  (void)y;
  *log_base = -0.5 * (double)n_dims * LOG_2PI;
  for (size_t d = 0; d < n_dims; d++) *log_base -= log(scale[d]);
  if (kind == TIED) return prepare_tied(problem, prepared);
  for (size_t c = 0; c < n_clusters; c++) {
    double log_det = 0;
    if (gps_must_stop(problem->watch)) return GPS_INTERRUPTED;
    if (kind == FULL) {
      const size_t stride = stride_of(n_dims);
      const gps_status status =
          invert_factor(sigma + c * n_dims * n_dims, scale, n_dims, whitener + c * stride * n_dims,
                        &log_det, problem->watch);
      if (status != GPS_OK) return status;
      if (problem->missing) {
        multiply_whitener(whitener + c * stride * n_dims, scale, n_dims,
                          prepared[PRECISION - PREPARED] + c * stride * n_dims);
      }
    } else if (kind == DIAGONAL) {
      for (size_t d = 0; d < n_dims; d++) {
        whitener[d + c * n_dims] = 1 / sqrt(sigma[d + c * n_dims]);
        log_det -= 2 * log(whitener[d + c * n_dims] * scale[d]);
      }
    } else {
      whitener[c] = 1 / sqrt(sigma[c]);
      log_det = -2 * (double)n_dims * log(whitener[c] * scale[0]);
    }
    log_scale[c] = log(problem->input[PI][c]) - 0.5 * log_det;
  }
  return GPS_OK;
}
