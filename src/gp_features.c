/* The exact Gaussian process of kernels that are linear in the data: K = F'F + noise with few
 * features, so all is done in the features' second moments and no matrix of all pairs is formed.
 * Called by r_gp_features.c. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "gp.h"

#define LOG_2PI 1.83787706640934548356

static double sum_of_squares(size_t n, const double *x) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
  return sum;
}

int gp_features_apply(const gps_kernel *kernel) {
  int has_noise = 0;
  for (int t = 0; t < kernel->n_terms; t++) {
    const kernel_kind kind = kernel->term[t].type->kind;
    if (kind == KERNEL_STATIONARY) return 0;
    has_noise |= kind == KERNEL_INDEX;
  }
  return has_noise;
}

size_t gp_features_scratch(size_t n_features, size_t rank) {
  return n_features * (n_features + rank + 2);
}

void gp_features_append(size_t n_dims, size_t n_points, const double *x, double *features) {
  for (size_t j = 0; j < n_points; j++) {
    memcpy(features + j * (n_dims + 1), x + j * n_dims, n_dims * sizeof *x);
    features[j * (n_dims + 1) + n_dims] = 1.0;
  }
}

void gp_features_moment(size_t n_features, size_t n_points, const double *features,
                        double *moment) {
  linalg_syrk('N', n_features, n_points, 1.0, features, n_features, 0.0, moment, n_features);
}

void gp_features_cross(size_t n_features, size_t n_points, const double *features,
                       const gp_targets *targets, double *cross, double *target_sq) {
  linalg_gemm('N', 'T', n_features, targets->rank, n_points, 1.0, features, n_features,
              targets->root, targets->rank, 0.0, cross, n_features);
  *target_sq = sum_of_squares(targets->rank * n_points, targets->root);
}

/* Variance of each feature under the kernel: terms of one feature add up. */
static void feature_variances(const gps_kernel *kernel, const double *theta, double *variance) {
  const size_t n_dims = kernel->n_dims;
  memset(variance, 0, (n_dims + 1) * sizeof *variance);
  for (int t = 0; t < kernel->n_terms; t++) {
    const kernel_term *term = &kernel->term[t];
    const double *log_variance = theta + term->first;
    if (term->type->kind == KERNEL_CONSTANT) variance[n_dims] += exp(log_variance[0]);
    if (term->type->kind != KERNEL_DOT) continue;
    for (size_t d = 0; d < n_dims; d++) variance[d] += exp(log_variance[term->is_ard ? d : 0]);
  }
}

gps_status gp_features_factor(gp_features *gp, int climb, double *factor, double *scale) {
  const size_t q = gp->kernel->n_dims + 1;
  double trace = 0.0;
  feature_variances(gp->kernel, gp->theta, scale);
  for (size_t d = 0; d < q; d++) {
    trace += scale[d] * gp->moment[d * (q + 1)];
    scale[d] = sqrt(scale[d]);
  }
  if (!isfinite(trace)) return GPS_NOT_FINITE;
  const double noise = kernel_noise(gp->kernel, gp->theta);
  for (int step = 0;; step++) {
    for (size_t j = 0; j < q; j++) {
      for (size_t i = j; i < q; i++) {
        factor[i + j * q] = scale[i] * scale[j] * gp->moment[i + j * q];
      }
      factor[j * (q + 1)] += noise + gp->jitter;
    }
    const gps_status status = linalg_cholesky(q, factor, q);
    if (status != GPS_NOT_POSDEF || !climb) return status;
    const double jitter =
        gp_jitter_step(step + 1, gp->n_points, trace / (double)gp->n_points + noise);
    if (jitter < 0.0) return status;
    gp->jitter = jitter;
  }
}

/* How much the marginal likelihood gains from each feature's log variance, twice: |W_j|^2 - H (1 -
 * noise [B^-1]_jj), and the share of each variance parameter in its feature. */
static void feature_gradient(const gp_features *gp, const double *gain, const double *scale,
                             double *gradient) {
  const size_t n_dims = gp->kernel->n_dims;
  for (int t = 0; t < gp->kernel->n_terms; t++) {
    const kernel_term *term = &gp->kernel->term[t];
    const double *log_variance = gp->theta + term->first;
    double *out = gradient + term->first;
    if (term->type->kind == KERNEL_CONSTANT) {
      out[0] = 0.5 * gain[n_dims] * exp(log_variance[0]) / (scale[n_dims] * scale[n_dims]);
    }
    if (term->type->kind != KERNEL_DOT) continue;
    for (size_t d = 0; d < n_dims; d++) {
      const size_t at = term->is_ard ? d : 0;
      out[at] += 0.5 * gain[d] * exp(log_variance[at]) / (scale[d] * scale[d]);
    }
  }
}

/* factor -> B^-1; weights = R^-1 F T' -> W = B^-1 F T'. `explained` is the square of the former. */
static void gradient_from(const gp_features *gp, const gp_targets *targets, double *factor,
                          double *weights, const double *scale, double *gain, double target_sq,
                          double explained, double *gradient) {
  const size_t q = gp->kernel->n_dims + 1;
  const double n_targets = (double)targets->n_targets;
  const double noise = kernel_noise(gp->kernel, gp->theta) + gp->jitter;
  double inverse_trace = 0.0;
  linalg_trsm('L', 'T', q, targets->rank, factor, q, weights, q);
  linalg_invert_lower(q, factor, q, gp->watch);
  linalg_lower_gram(q, factor, q, gp->watch);
  for (size_t d = 0; d < q; d++) {
    const double inverse = factor[d * (q + 1)];
    inverse_trace += inverse;
    gain[d] = -n_targets * (1.0 - noise * inverse);
    for (size_t r = 0; r < targets->rank; r++) gain[d] += weights[d + r * q] * weights[d + r * q];
  }
  feature_gradient(gp, gain, scale, gradient);
  /* |K^-1 T|^2 and tr K^-1. */
  const double weights_sq = sum_of_squares(q * targets->rank, weights);
  const double alpha_sq = ((target_sq - explained) / noise - weights_sq) / noise;
  const double trace = ((double)gp->n_points - (double)q) / noise + inverse_trace;
  for (int t = 0; t < gp->kernel->n_terms; t++) {
    const kernel_term *term = &gp->kernel->term[t];
    if (term->type->kind != KERNEL_INDEX) continue;
    gradient[term->first] = 0.5 * exp(gp->theta[term->first]) * (alpha_sq - n_targets * trace);
  }
}

gps_status gp_features_evaluate(gp_features *gp, int climb, const gp_targets *targets, double least,
                                const double *cross, double target_sq, double *value,
                                double *gradient) {
  const size_t q = gp->kernel->n_dims + 1, n = gp->n_points;
  const double n_targets = (double)targets->n_targets;
  double *factor = gp->scratch, *weights = factor + q * q;
  double *scale = weights + q * targets->rank, *gain = scale + q;
  const gps_status status = gp_features_factor(gp, climb, factor, scale);
  if (status != GPS_OK) return status;
  const double noise = kernel_noise(gp->kernel, gp->theta) + gp->jitter;
  for (size_t r = 0; r < targets->rank; r++) {
    for (size_t d = 0; d < q; d++) weights[d + r * q] = scale[d] * cross[d + r * q];
  }
  linalg_trsm('L', 'N', q, targets->rank, factor, q, weights, q);
  const double explained = sum_of_squares(q * targets->rank, weights);
  const double log_det = linalg_log_det(q, factor, q) + ((double)n - (double)q) * log(noise);
  *value = -0.5 * ((target_sq - explained) / noise + n_targets * (log_det + (double)n * LOG_2PI));
  if (!isfinite(*value)) return GPS_NOT_FINITE;
  memset(gradient, 0, gp->kernel->n_hyper * sizeof *gradient);
  if (*value < least) return GPS_OK;
  gradient_from(gp, targets, factor, weights, scale, gain, target_sq, explained, gradient);
  for (size_t h = 0; h < gp->kernel->n_hyper; h++) {
    if (!isfinite(gradient[h])) return GPS_NOT_FINITE;
  }
  return GPS_OK;
}

void gp_features_basis(size_t n_features, size_t n_points, const double *factor,
                       const double *scale, double *features, double *leverage) {
  for (size_t j = 0; j < n_points; j++) {
    for (size_t d = 0; d < n_features; d++) features[d + j * n_features] *= scale[d];
  }
  linalg_trsm('L', 'N', n_features, n_points, factor, n_features, features, n_features);
  for (size_t j = 0; j < n_points; j++) {
    leverage[j] = sum_of_squares(n_features, features + j * n_features);
  }
}

void gp_features_loo_means(size_t n_features, size_t n_points, size_t n_targets,
                           const double *basis, const double *leverage, const double *targets,
                           double *projection, double *mean) {
  linalg_gemm('N', 'T', n_targets, n_features, n_points, 1.0, targets, n_targets, basis, n_features,
              0.0, projection, n_targets);
  linalg_gemm('N', 'N', n_targets, n_points, n_features, 1.0, projection, n_targets, basis,
              n_features, 0.0, mean, n_targets);
  for (size_t j = 0; j < n_points; j++) {
    const double q = leverage[j], rest = 1.0 / fmax(1.0 - q, DBL_EPSILON);
    for (size_t h = j * n_targets; h < (j + 1) * n_targets; h++) {
      mean[h] = (mean[h] - q * targets[h]) * rest;
    }
  }
}

void gp_features_weigh(size_t n_features, size_t n_targets, const double *factor,
                       const double *scale, double *cross) {
  for (size_t h = 0; h < n_targets; h++) {
    for (size_t d = 0; d < n_features; d++) cross[d + h * n_features] *= scale[d];
  }
  linalg_cholesky_solve(n_features, factor, n_features, n_targets, cross, n_features);
  for (size_t h = 0; h < n_targets; h++) {
    for (size_t d = 0; d < n_features; d++) cross[d + h * n_features] *= scale[d];
  }
}
