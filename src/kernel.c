/* Covariance functions: the table of terms, and their values and contracted derivatives on columns
 * of pairs. Called by the GP engines, from any thread. */
#include "kernel.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "vector_math.h"

/* Pairs treated at a time: all intermediate arrays stay in the first-level cache. */
#define CHUNK 256

GPS_CLONES static void rbf_profile(size_t n, const double *r2, double *k, double *slope) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) k[i] = -0.5 * r2[i];
  exp_array(k, n, 0.0);
  if (slope) memcpy(slope, k, n * sizeof *k);
}

/* Matern: u = sqrt(2 nu) r, and k is a polynomial in u times exp(-u). No division by r, so r = 0
 * needs no care. */
GPS_CLONES static void matern32_profile(size_t n, const double *r2, double *k, double *slope) {
  double u[CHUNK];
  for (size_t i = 0; i < n; i++) {
    u[i] = sqrt(3.0 * r2[i]);
    k[i] = -u[i];
  }
  exp_array(k, n, 0.0);
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    if (slope) slope[i] = 3.0 * k[i];
    k[i] *= 1.0 + u[i];
  }
}

GPS_CLONES static void matern52_profile(size_t n, const double *r2, double *k, double *slope) {
  double u[CHUNK];
  for (size_t i = 0; i < n; i++) {
    u[i] = sqrt(5.0 * r2[i]);
    k[i] = -u[i];
  }
  exp_array(k, n, 0.0);
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    if (slope) slope[i] = (5.0 / 3.0) * (1.0 + u[i]) * k[i];
    k[i] *= 1.0 + u[i] + u[i] * u[i] * (1.0 / 3.0);
  }
}

GPS_CLONES static double triple_of(size_t n, const double *x, const double *y, const double *z) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) sum += x[i] * y[i] * z[i];
  return sum;
}

static const kernel_type types[] = {
    {"rbf", KERNEL_STATIONARY, rbf_profile},
    {"matern32", KERNEL_STATIONARY, matern32_profile},
    {"matern52", KERNEL_STATIONARY, matern52_profile},
    {"linear", KERNEL_DOT, NULL},
    {"bias", KERNEL_CONSTANT, NULL},
    {"white", KERNEL_INDEX, NULL},
};

const kernel_type *kernel_find(const char *name) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (strcmp(types[i].name, name) == 0) return &types[i];
  }
  return NULL;
}

int kernel_add_term(gps_kernel *kernel, const kernel_type *type, int is_ard) {
  if (kernel->n_terms == KERNEL_MAX_TERMS) return 0;
  kernel->term[kernel->n_terms++] = (kernel_term){type, is_ard, kernel->n_hyper};
  const size_t n_scales = is_ard ? kernel->n_dims : 1;
  kernel->n_hyper += type->kind == KERNEL_STATIONARY ? 1 + n_scales
                     : type->kind == KERNEL_DOT      ? n_scales
                                                     : 1;
  return 1;
}

double kernel_noise(const gps_kernel *kernel, const double *theta) {
  double noise = 0.0;
  for (int t = 0; t < kernel->n_terms; t++) {
    const kernel_term *term = &kernel->term[t];
    if (term->type->kind == KERNEL_INDEX) noise += exp(theta[term->first]);
  }
  return noise;
}

void kernel_diagonal(const gps_kernel *kernel, const double *theta, size_t n, const double *x,
                     double *out) {
  const size_t n_dims = kernel->n_dims;
  memset(out, 0, n * sizeof *out);
  for (int t = 0; t < kernel->n_terms; t++) {
    const kernel_term *term = &kernel->term[t];
    const double *log_variance = theta + term->first;
    if (term->type->kind == KERNEL_INDEX) continue;
    if (term->type->kind != KERNEL_DOT) {
      for (size_t j = 0; j < n; j++) out[j] += exp(log_variance[0]);
      continue;
    }
    for (size_t from = 0; from < n_dims; from += CHUNK) {
      const size_t width = n_dims - from < CHUNK ? n_dims - from : CHUNK;
      double variance[CHUNK];
      for (size_t d = 0; d < width; d++) {
        variance[d] =
            d > 0 && !term->is_ard ? variance[0] : exp(log_variance[term->is_ard ? from + d : 0]);
      }
      for (size_t j = 0; j < n; j++) {
        const double *point = x + from + j * n_dims;
        out[j] += triple_of(width, variance, point, point);
      }
    }
  }
}

static int has_own_metric(const kernel_term *term) {
  return term->is_ard && (term->type->kind == KERNEL_STATIONARY || term->type->kind == KERNEL_DOT);
}

int kernel_n_metrics(const gps_kernel *kernel) {
  int n = 1;
  for (int t = 0; t < kernel->n_terms; t++) n += has_own_metric(&kernel->term[t]);
  return n;
}

static void add_shared_terms(kernel_metric *metric) {
  int n_stationary = 0;
  for (int t = 0; t < metric->kernel->n_terms; t++) {
    const kernel_term *term = &metric->kernel->term[t];
    const kernel_kind kind = term->type->kind;
    if (has_own_metric(term) || kind == KERNEL_INDEX) continue;
    metric->term[metric->n_terms++] = t;
    if (kind == KERNEL_CONSTANT) metric->constant += exp(metric->theta[term->first]);
    metric->needs_gram |= kind != KERNEL_CONSTANT;
    n_stationary += kind == KERNEL_STATIONARY;
  }
  metric->is_raw = n_stationary == 0;
}

static void add_own_term(kernel_metric *metric, int which) {
  const gps_kernel *kernel = metric->kernel;
  for (int t = 0; t < kernel->n_terms; t++) {
    if (!has_own_metric(&kernel->term[t]) || --which > 0) continue;
    metric->term[metric->n_terms++] = t;
    metric->is_ard = metric->needs_gram = 1;
    metric->is_raw = kernel->term[t].type->kind == KERNEL_DOT;
    return;
  }
}

kernel_metric kernel_metric_at(const gps_kernel *kernel, const double *theta, int which) {
  kernel_metric metric = {.kernel = kernel, .theta = theta};
  if (which == 0) {
    add_shared_terms(&metric);
  } else {
    add_own_term(&metric, which);
  }
  for (int t = 0; t < metric.n_terms; t++) {
    const kernel_term *term = &kernel->term[metric.term[t]];
    const int is_stationary = term->type->kind == KERNEL_STATIONARY;
    const int is_scaled = metric.is_ard && !is_stationary;
    metric.variance[t] = is_scaled ? 1.0 : exp(theta[term->first]);
    const int is_divided = is_stationary && !metric.is_ard;
    metric.inverse_l[t] =
        is_divided ? fmin(exp(-theta[term->first + 1]), KERNEL_LARGEST_SCALE) : 1.0;
    metric.inverse_l2[t] = is_divided ? fmin(exp(-2.0 * theta[term->first + 1]),
                                             KERNEL_LARGEST_SCALE * KERNEL_LARGEST_SCALE)
                                      : 1.0;
  }
  return metric;
}

GPS_CLONES static void add_scaled(size_t n, double factor, const double *x, double *out) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) out[i] += factor * x[i];
}

GPS_CLONES static void add_constant(size_t n, double value, double *out) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) out[i] += value;
}

void kernel_add_values(const kernel_metric *metric, const kernel_pairs *pairs, double *out) {
  double r2[CHUNK], k[CHUNK];
  if (metric->constant != 0.0) add_constant(pairs->n, metric->constant, out);
  for (int t = 0; t < metric->n_terms; t++) {
    const kernel_term *term = &metric->kernel->term[metric->term[t]];
    if (term->type->kind == KERNEL_CONSTANT) continue;
    const int is_dot = term->type->kind == KERNEL_DOT;
    for (size_t from = 0; from < pairs->n; from += CHUNK) {
      const size_t n = pairs->n - from < CHUNK ? pairs->n - from : CHUNK;
      if (is_dot) {
        kernel_products(metric, pairs, from, n, k);
      } else {
        kernel_distances(metric, t, pairs, from, n, r2);
        term->type->profile(n, r2, k, NULL);
      }
      add_scaled(n, metric->variance[t], k, out + from);
    }
  }
}

GPS_CLONES static void add_product(size_t n, const double *x, const double *y, double factor,
                                   double *out) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) out[i] += factor * x[i] * y[i];
}

/* A's entries of a chunk as they count in the contraction of the full symmetric matrix. */
GPS_CLONES static void count_pairs(const kernel_pairs *pairs, size_t from, size_t n,
                                   const double *weight, double *a) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) a[i] = 2.0 * weight[from + i];
  if (pairs->same >= from && pairs->same - from < n) a[pairs->same - from] *= 0.5;
}

/* One chunk of pairs with their weights. `slope`, unless NULL: see kernel_contract_cross(). */
static void contract_stationary(const kernel_metric *metric, int t, const kernel_pairs *pairs,
                                size_t from, size_t n, const double *a, double *sums,
                                double *slope) {
  double r2[CHUNK], k[CHUNK], w[CHUNK];
  const double variance = metric->variance[t], inverse_l2 = metric->inverse_l2[t];
  kernel_distances(metric, t, pairs, from, n, r2);
  metric->kernel->term[metric->term[t]].type->profile(n, r2, k, w);
  sums[0] += variance * dot_of(n, a, k);
  if (!metric->is_ard) sums[1] += variance * triple_of(n, a, w, r2);
  if (slope) add_product(n, a, w, variance * inverse_l2, slope);
}

static void contract_dot(const kernel_metric *metric, int t, const kernel_pairs *pairs, size_t from,
                         size_t n, const double *a, double *sums, double *slope) {
  double product[CHUNK];
  if (metric->is_ard) {
    memcpy(slope, a, n * sizeof *a);
    return;
  }
  kernel_products(metric, pairs, from, n, product);
  sums[0] += metric->variance[t] * dot_of(n, a, product);
}

static void contract_chunk(const kernel_metric *metric, const kernel_pairs *pairs, size_t from,
                           size_t n, const double *a, double *sums, double *slope) {
  for (int t = 0; t < metric->n_terms; t++) {
    const kernel_kind kind = metric->kernel->term[metric->term[t]].type->kind;
    double *term_sums = sums + 2 * metric->term[t];
    if (kind == KERNEL_STATIONARY) {
      contract_stationary(metric, t, pairs, from, n, a, term_sums, slope);
    } else if (kind == KERNEL_DOT) {
      contract_dot(metric, t, pairs, from, n, a, term_sums, slope);
    } else {
      term_sums[0] += metric->variance[t] * sum_of(n, a);
    }
  }
}

void kernel_contract(const kernel_metric *metric, const kernel_pairs *pairs, const double *weight,
                     double *sums, double *slope) {
  double a[CHUNK], chunk_slope[CHUNK];
  for (size_t from = 0; from < pairs->n; from += CHUNK) {
    const size_t n = pairs->n - from < CHUNK ? pairs->n - from : CHUNK;
    count_pairs(pairs, from, n, weight, a);
    if (metric->is_ard) memset(chunk_slope, 0, n * sizeof *chunk_slope);
    contract_chunk(metric, pairs, from, n, a, sums, metric->is_ard ? chunk_slope : NULL);
    /* Only now: `slope` may be where the inner products stood. */
    if (metric->is_ard) memcpy(slope + from, chunk_slope, n * sizeof *slope);
  }
}

void kernel_contract_cross(const kernel_metric *metric, const kernel_pairs *pairs,
                           const double *weight, double *sums, double *slope) {
  double chunk_slope[CHUNK];
  for (size_t from = 0; from < pairs->n; from += CHUNK) {
    const size_t n = pairs->n - from < CHUNK ? pairs->n - from : CHUNK;
    if (slope) memset(chunk_slope, 0, n * sizeof *chunk_slope);
    contract_chunk(metric, pairs, from, n, weight + from, sums, slope ? chunk_slope : NULL);
    if (slope) memcpy(slope + from, chunk_slope, n * sizeof *slope);
  }
}

void kernel_contract_diagonal(const gps_kernel *kernel, const double *theta, size_t n,
                              const double *x, const double *weight, double *gradient) {
  const size_t n_dims = kernel->n_dims;
  const double total = sum_of(n, weight);
  for (int t = 0; t < kernel->n_terms; t++) {
    const kernel_term *term = &kernel->term[t];
    if (term->type->kind == KERNEL_INDEX) continue;
    if (term->type->kind != KERNEL_DOT) {
      gradient[term->first] += exp(theta[term->first]) * total;
      continue;
    }
    for (size_t d = 0; d < n_dims; d++) {
      const size_t at = term->first + (term->is_ard ? d : 0);
      double sum = 0.0;
      for (size_t j = 0; j < n; j++) sum += weight[j] * x[d + j * n_dims] * x[d + j * n_dims];
      gradient[at] += exp(theta[at]) * sum;
    }
  }
}

double kernel_dot_variance(const gps_kernel *kernel, const double *theta, size_t d) {
  double variance = 0.0;
  for (int t = 0; t < kernel->n_terms; t++) {
    const kernel_term *term = &kernel->term[t];
    if (term->type->kind == KERNEL_DOT)
      variance += exp(theta[term->first + (term->is_ard ? d : 0)]);
  }
  return variance;
}
