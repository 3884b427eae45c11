/* The table of covariance functions, and which log parameters a term has. Called by kernel.c and
 * the GP engines, from any thread. */
#include <math.h>
#include <string.h>

#include "kernel.h"
#include "vector_math.h"

#define CHUNK KERNEL_CHUNK

GPS_CLONES static void rbf_profile(size_t n, const double *r2, double *k, double *slope) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) k[i] = -0.5 * r2[i];
  exp_array(k, n, 0.0);
  if (slope) memcpy(slope, k, n * sizeof *k);
}

/* Matern: u <- sqrt(2 nu) r and k <- exp(-u), to be multiplied by a polynomial in u. */
GPS_INLINE void decay(size_t n, double twice_nu, const double *r2, double *u, double *k) {
  for (size_t i = 0; i < n; i++) {
    u[i] = sqrt(twice_nu * r2[i]);
    k[i] = -u[i];
  }
  exp_array(k, n, 0.0);
}

/* At distance 0 there is no slope; what it is multiplied by is 0 there. */
GPS_CLONES static void matern12_profile(size_t n, const double *r2, double *k, double *slope) {
  double r[CHUNK];
  decay(n, 1.0, r2, r, k);
  for (size_t i = 0; slope && i < n; i++) slope[i] = r[i] > 0.0 ? k[i] / r[i] : 0.0;
}

/* No division by r in the others, so that r = 0 needs no care. */
GPS_CLONES static void matern32_profile(size_t n, const double *r2, double *k, double *slope) {
  double u[CHUNK];
  decay(n, 3.0, r2, u, k);
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    if (slope) slope[i] = 3.0 * k[i];
    k[i] *= 1.0 + u[i];
  }
}

GPS_CLONES static void matern52_profile(size_t n, const double *r2, double *k, double *slope) {
  double u[CHUNK];
  decay(n, 5.0, r2, u, k);
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    if (slope) slope[i] = (5.0 / 3.0) * (1.0 + u[i]) * k[i];
    k[i] *= 1.0 + u[i] + u[i] * u[i] * (1.0 / 3.0);
  }
}

/* (1 + b)^-a with b = r2 / (2 a). */
static void rational_profile(size_t n, double a, const double *r2, double *k, double *slope,
                             double *bend) {
  for (size_t i = 0; i < n; i++) {
    const double b = r2[i] / (2.0 * a), log_base = log1p(b);
    k[i] = exp(-a * log_base);
    if (slope) slope[i] = k[i] / (1.0 + b);
    if (bend) bend[i] = a * k[i] * (b / (1.0 + b) - log_base);
  }
}

/* The names of the parts are those of `kernel_types` in R/kernel-terms.R. */
static const kernel_type types[] = {
    {"rbf", KERNEL_STATIONARY, "variance lengthscale", .profile = rbf_profile},
    {"matern12", KERNEL_STATIONARY, "variance lengthscale", .profile = matern12_profile,
     .is_rough = 1},
    {"matern32", KERNEL_STATIONARY, "variance lengthscale", .profile = matern32_profile},
    {"matern52", KERNEL_STATIONARY, "variance lengthscale", .profile = matern52_profile},
    {"rq", KERNEL_STATIONARY, "variance lengthscale alpha", .shaped = rational_profile},
    {"periodic", KERNEL_PERIODIC, "variance lengthscale period", .profile = rbf_profile},
    {"linear", KERNEL_DOT, "variance", NULL, NULL, 0},
    {"bias", KERNEL_CONSTANT, "variance", NULL, NULL, 0},
    {"white", KERNEL_INDEX, "variance", NULL, NULL, 0},
    {"custom", KERNEL_GIVEN, "", NULL, NULL, 0},
};

void kernel_correlate(const kernel_type *type, double log_shape, size_t n, const double *r2,
                      double *k, double *slope, double *bend) {
  if (type->shaped) {
    type->shaped(n, exp(log_shape), r2, k, slope, bend);
  } else {
    type->profile(n, r2, k, slope);
  }
}

const kernel_type *kernel_find(const char *name) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (strcmp(types[i].name, name) == 0) return &types[i];
  }
  return NULL;
}

size_t kernel_n_variances(const gps_kernel *kernel, const kernel_term *term) {
  if (term->type->kind == KERNEL_GIVEN) return 0;
  if (term->type->kind == KERNEL_DOT && term->is_ard) return kernel->n_dims;
  return term->is_factor ? 0 : 1;
}

size_t kernel_shape_at(const gps_kernel *kernel, const kernel_term *term) {
  const size_t n_scales = term->is_ard ? kernel->n_dims : 1;
  return term->first + kernel_n_variances(kernel, term) + n_scales;
}

int kernel_append(gps_kernel *kernel, kernel_term term) {
  if (kernel->n_terms == KERNEL_MAX_TERMS) return 0;
  const size_t n_scales = term.is_ard ? kernel->n_dims : 1;
  term.first = kernel->n_hyper;
  kernel->n_hyper += kernel_n_variances(kernel, &term) + term.n_own + (term.type->shaped != NULL);
  if (term.type->kind == KERNEL_STATIONARY) kernel->n_hyper += n_scales;
  if (term.type->kind == KERNEL_PERIODIC) kernel->n_hyper += 2 * n_scales;
  kernel->term[kernel->n_terms++] = term;
  return 1;
}
