/* Sums of covariance functions: their values and contracted derivatives on columns of pairs. Called
 * by the GP engines, from any thread. */
#include "kernel.h"

#include <math.h>
#include <string.h>

#include "vector_math.h"

#define CHUNK KERNEL_CHUNK

GPS_CLONES static double triple_of(size_t n, const double *x, const double *y, const double *z) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) sum += x[i] * y[i] * z[i];
  return sum;
}

/* How many terms the product that begins with term t has. */
static int count_factors(const gps_kernel *kernel, int t) {
  int n = 1;
  while (t + n < kernel->n_terms && kernel->term[t + n].is_factor) n++;
  return n;
}

static int is_product(const gps_kernel *kernel, int t) {
  const kernel_term *term = &kernel->term[t];
  return term->is_factor || term->type->kind == KERNEL_PERIODIC || count_factors(kernel, t) > 1;
}

double kernel_noise(const gps_kernel *kernel, const double *theta) {
  double noise = 0.0;
  for (int t = 0; t < kernel->n_terms; t++) {
    const kernel_term *term = &kernel->term[t];
    if (term->type->kind == KERNEL_INDEX) noise += exp(theta[term->first]);
  }
  return noise;
}

void kernel_add_noise_slope(const gps_kernel *kernel, const double *theta, double slope,
                            double *gradient) {
  for (int t = 0; t < kernel->n_terms; t++) {
    const kernel_term *term = &kernel->term[t];
    if (term->type->kind == KERNEL_INDEX) gradient[term->first] += exp(theta[term->first]) * slope;
  }
}

/* The product that begins with term t. */
static kernel_metric product_at(const gps_kernel *kernel, const double *theta, int t) {
  kernel_metric metric = {.kernel = kernel, .theta = theta, .is_product = 1, .is_raw = 1};
  const int n_factors = count_factors(kernel, t);
  while (metric.n_terms < n_factors) metric.term[metric.n_terms++] = t++;
  return metric;
}

static kernel_pairs pair_with_itself(const double *x) {
  return (kernel_pairs){.n = 1, .x = x, .x_at = x, .same = 0};
}

/* out [n] += the inner product of each column with itself. */
static void add_squares(const gps_kernel *kernel, const kernel_term *term, const double *theta,
                        size_t n, const double *x, double *out) {
  const size_t n_dims = kernel->n_dims;
  const double *log_variance = theta + term->first;
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

void kernel_diagonal(const gps_kernel *kernel, const double *theta, size_t n, const double *x,
                     double *out) {
  memset(out, 0, n * sizeof *out);
  for (int t = 0; t < kernel->n_terms; t++) {
    const kernel_term *term = &kernel->term[t];
    const kernel_kind kind = term->type->kind;
    if (kind == KERNEL_INDEX || kind == KERNEL_GIVEN || term->is_factor) continue;
    if (is_product(kernel, t)) {
      const kernel_metric metric = product_at(kernel, theta, t);
      for (size_t j = 0; j < n; j++) {
        const kernel_pairs pairs = pair_with_itself(x + j * kernel->n_dims);
        kernel_multiply(&metric, &pairs, 0, 1, out + j);
      }
    } else if (kind == KERNEL_DOT) {
      add_squares(kernel, term, theta, n, x, out);
    } else {
      for (size_t j = 0; j < n; j++) out[j] += exp(theta[term->first]);
    }
  }
}

static int has_own_metric(const gps_kernel *kernel, int t) {
  const kernel_term *term = &kernel->term[t];
  if (is_product(kernel, t)) return !term->is_factor;
  return term->is_ard && (term->type->kind == KERNEL_STATIONARY || term->type->kind == KERNEL_DOT);
}

int kernel_n_metrics(const gps_kernel *kernel) {
  int n = 1;
  for (int t = 0; t < kernel->n_terms; t++) n += has_own_metric(kernel, t);
  return n;
}

static void add_shared_terms(kernel_metric *metric) {
  int n_stationary = 0;
  for (int t = 0; t < metric->kernel->n_terms; t++) {
    const kernel_term *term = &metric->kernel->term[t];
    const kernel_kind kind = term->type->kind;
    if (is_product(metric->kernel, t) || has_own_metric(metric->kernel, t)) continue;
    if (kind == KERNEL_INDEX || kind == KERNEL_GIVEN) continue;
    metric->term[metric->n_terms++] = t;
    if (kind == KERNEL_CONSTANT) metric->constant += exp(metric->theta[term->first]);
    metric->needs_gram |= kind != KERNEL_CONSTANT;
    n_stationary += kind == KERNEL_STATIONARY;
  }
  metric->is_raw = n_stationary == 0;
}

static kernel_metric own_metric(const gps_kernel *kernel, const double *theta, int which) {
  kernel_metric metric = {.kernel = kernel, .theta = theta};
  int t = 0;
  while (!has_own_metric(kernel, t) || --which > 0) t++;
  if (is_product(kernel, t)) return product_at(kernel, theta, t);
  metric.term[metric.n_terms++] = t;
  metric.is_ard = metric.needs_gram = 1;
  metric.is_raw = kernel->term[t].type->kind == KERNEL_DOT;
  return metric;
}

kernel_metric kernel_metric_at(const gps_kernel *kernel, const double *theta, int which) {
  kernel_metric metric = {.kernel = kernel, .theta = theta};
  if (which == 0) {
    add_shared_terms(&metric);
  } else {
    metric = own_metric(kernel, theta, which);
  }
  if (metric.is_product) return metric;
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
    if (term->type->shaped) metric.log_shape[t] = theta[kernel_shape_at(kernel, term)];
  }
  return metric;
}

GPS_CLONES static void add_constant(size_t n, double value, double *out) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) out[i] += value;
}

void kernel_add_values(const kernel_metric *metric, const kernel_pairs *pairs, double *out) {
  double r2[CHUNK], k[CHUNK];
  if (metric->constant != 0.0) add_constant(pairs->n, metric->constant, out);
  for (size_t from = 0; from < pairs->n; from += CHUNK) {
    const size_t n = pairs->n - from < CHUNK ? pairs->n - from : CHUNK;
    if (metric->is_product) kernel_multiply(metric, pairs, from, n, out + from);
    for (int t = 0; t < metric->n_terms && !metric->is_product; t++) {
      const kernel_type *type = metric->kernel->term[metric->term[t]].type;
      if (type->kind == KERNEL_CONSTANT) continue;
      if (type->kind == KERNEL_DOT) {
        kernel_products(metric, pairs, from, n, k);
      } else {
        kernel_distances(metric, t, pairs, from, n, r2);
        kernel_correlate(type, metric->log_shape[t], n, r2, k, NULL, NULL);
      }
      add_multiple(n, metric->variance[t], k, out + from);
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

/* One chunk of pairs with their weights. `slope`, unless NULL: see kernel_contract(). */
static void contract_stationary(const kernel_metric *metric, int t, const kernel_pairs *pairs,
                                size_t from, size_t n, const double *a, double *sums,
                                double *slope) {
  double r2[CHUNK], k[CHUNK], w[CHUNK], bend[CHUNK];
  const kernel_term *term = &metric->kernel->term[metric->term[t]];
  const int has_shape = term->type->shaped != NULL;
  const double variance = metric->variance[t], inverse_l2 = metric->inverse_l2[t];
  kernel_distances(metric, t, pairs, from, n, r2);
  kernel_correlate(term->type, metric->log_shape[t], n, r2, k, w, has_shape ? bend : NULL);
  sums[term->first] += variance * dot_of(n, a, k);
  if (!metric->is_ard) sums[term->first + 1] += variance * triple_of(n, a, w, r2);
  if (has_shape) sums[kernel_shape_at(metric->kernel, term)] += variance * dot_of(n, a, bend);
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
  sums[metric->kernel->term[metric->term[t]].first] += metric->variance[t] * dot_of(n, a, product);
}

static void contract_chunk(const kernel_metric *metric, const kernel_pairs *pairs, size_t from,
                           size_t n, const double *a, double *sums, double *slope) {
  if (metric->is_product) {
    kernel_contract_product(metric, pairs, from, n, a, sums, NULL);
    return;
  }
  for (int t = 0; t < metric->n_terms; t++) {
    const kernel_term *term = &metric->kernel->term[metric->term[t]];
    if (term->type->kind == KERNEL_STATIONARY) {
      contract_stationary(metric, t, pairs, from, n, a, sums, slope);
    } else if (term->type->kind == KERNEL_DOT) {
      contract_dot(metric, t, pairs, from, n, a, sums, slope);
    } else {
      sums[term->first] += metric->variance[t] * sum_of(n, a);
    }
  }
}

void kernel_contract(const kernel_metric *metric, const kernel_pairs *pairs, const double *weight,
                     int is_half, double *sums, double *slope) {
  double counted[CHUNK], chunk_slope[CHUNK];
  for (size_t from = 0; from < pairs->n; from += CHUNK) {
    const size_t n = pairs->n - from < CHUNK ? pairs->n - from : CHUNK;
    const double *a = is_half ? counted : weight + from;
    if (is_half) count_pairs(pairs, from, n, weight, counted);
    if (slope) memset(chunk_slope, 0, n * sizeof *chunk_slope);
    contract_chunk(metric, pairs, from, n, a, sums, slope ? chunk_slope : NULL);
    /* Only now: `slope` may be where the inner products stood. */
    if (slope) memcpy(slope + from, chunk_slope, n * sizeof *slope);
  }
}

void kernel_contract_diagonal(const gps_kernel *kernel, const double *theta, size_t n,
                              const double *x, const double *weight, double *gradient) {
  const size_t n_dims = kernel->n_dims;
  const double total = sum_of(n, weight);
  for (int t = 0; t < kernel->n_terms; t++) {
    const kernel_term *term = &kernel->term[t];
    const kernel_kind kind = term->type->kind;
    if (kind == KERNEL_INDEX || kind == KERNEL_GIVEN || term->is_factor) continue;
    if (is_product(kernel, t)) {
      const kernel_metric metric = product_at(kernel, theta, t);
      for (size_t j = 0; j < n; j++) {
        const kernel_pairs pairs = pair_with_itself(x + j * n_dims);
        kernel_contract_product(&metric, &pairs, 0, 1, weight + j, gradient, NULL);
      }
      continue;
    }
    if (kind != KERNEL_DOT) {
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
    if (term->type->kind == KERNEL_DOT && !is_product(kernel, t))
      variance += exp(theta[term->first + (term->is_ard ? d : 0)]);
  }
  return variance;
}
