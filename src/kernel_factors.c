/* Periodic terms and products of terms, pair by pair from the points as given. A factor is a
 * profile of one measure u, a sum over dimensions: of squared differences over squared
 * lengthscales; of squared chords of the circles on which periods wind the dimensions, likewise
 * (MacKay 1998); or of products. Called by kernel.c and the GP engines, from any thread. */
#include <math.h>
#include <string.h>

#include "kernel.h"
#include "vector_math.h"

#define CHUNK KERNEL_CHUNK
#define PI 3.14159265358979323846

typedef struct {
  const kernel_term *term;
  size_t n_variances;
  double log_shape;
} factor;

static factor factor_at(const kernel_metric *metric, int f) {
  const kernel_term *term = &metric->kernel->term[metric->term[f]];
  factor result = {.term = term, .n_variances = kernel_n_variances(metric->kernel, term)};
  if (term->type->shaped) result.log_shape = metric->theta[kernel_shape_at(metric->kernel, term)];
  return result;
}

/* Where theta has the scale of dimension d; `kind` 0: lengthscale, 1: period. */
static size_t scale_at(const kernel_metric *metric, const factor *f, size_t d, size_t kind) {
  const size_t n_scales = f->term->is_ard ? metric->kernel->n_dims : 1;
  return f->term->first + f->n_variances + kind * n_scales + (f->term->is_ard ? d : 0);
}

/* Dimension d's part of u [n], and unless NULL half its derivative by x_d: gain [n]. */
GPS_CLONES static void measure(const kernel_metric *metric, const factor *f,
                               const kernel_pairs *pairs, size_t from, size_t n, size_t d,
                               double *u, double *gain) {
  const size_t n_dims = metric->kernel->n_dims;
  const double *x = pairs->x + from * n_dims + d, at = pairs->x_at[d];
  const double *theta = metric->theta;
  if (f->term->type->kind == KERNEL_DOT) {
    const double v = f->term->is_ard ? exp(theta[f->term->first + d]) : 1.0;
    for (size_t i = 0; i < n; i++) u[i] = v * x[i * n_dims] * at;
    for (size_t i = 0; gain && i < n; i++) gain[i] = 0.5 * v * at;
    return;
  }
  const double scale = fmin(exp(-theta[scale_at(metric, f, d, 0)]), KERNEL_LARGEST_SCALE);
  if (f->term->type->kind == KERNEL_STATIONARY) {
    for (size_t i = 0; i < n; i++) {
      const double difference = (x[i * n_dims] - at) * scale;
      u[i] = difference * difference;
      if (gain) gain[i] = difference * scale;
    }
    return;
  }
  const double turn = PI * exp(-theta[scale_at(metric, f, d, 1)]);
  double cosine[CHUNK], sine[CHUNK];
  for (size_t i = 0; i < n; i++) cosine[i] = (x[i * n_dims] - at) * turn;
  wave_array(n, 1.0, cosine, sine);
  for (size_t i = 0; i < n; i++) {
    const double chord = 2.0 * sine[i] * scale;
    u[i] = chord * chord;
    if (gain) gain[i] = chord * (2.0 * cosine[i] * scale) * turn;
  }
}

/* k [n], and unless NULL -2 dk/du and dk/d(log shape). */
static void evaluate(const kernel_metric *metric, const factor *f, const kernel_pairs *pairs,
                     size_t from, size_t n, double *k, double *slope, double *bend) {
  double u[CHUNK], part[CHUNK];
  memset(u, 0, n * sizeof *u);
  for (size_t d = 0; d < metric->kernel->n_dims; d++) {
    measure(metric, f, pairs, from, n, d, part, NULL);
    for (size_t i = 0; i < n; i++) u[i] += part[i];
  }
  if (f->term->type->kind == KERNEL_DOT) {
    memcpy(k, u, n * sizeof *u);
    for (size_t i = 0; slope && i < n; i++) slope[i] = -2.0;
    return;
  }
  for (size_t i = 0; i < n; i++) u[i] = u[i] > KERNEL_FAR ? KERNEL_FAR : u[i];
  kernel_correlate(f->term->type, f->log_shape, n, u, k, slope, bend);
}

/* Where theta has the common variance, or NULL where it is in the scales of the first factor. */
static const double *common_variance(const kernel_metric *metric) {
  const kernel_term *first = &metric->kernel->term[metric->term[0]];
  if (first->type->kind == KERNEL_DOT && first->is_ard) return NULL;
  return metric->theta + first->first;
}

/* product [n] <- the common variance times all factors but `skip`; -1: all. */
static void multiply(const kernel_metric *metric, size_t n, double k[][CHUNK], int skip,
                     double *product) {
  const double *log_variance = common_variance(metric);
  const double variance = log_variance ? exp(*log_variance) : 1.0;
  for (size_t i = 0; i < n; i++) product[i] = variance;
  for (int f = 0; f < metric->n_terms; f++) {
    for (size_t i = 0; f != skip && i < n; i++) product[i] *= k[f][i];
  }
}

static void evaluate_all(const kernel_metric *metric, const kernel_pairs *pairs, size_t from,
                         size_t n, double k[][CHUNK]) {
  for (int j = 0; j < metric->n_terms; j++) {
    const factor f = factor_at(metric, j);
    evaluate(metric, &f, pairs, from, n, k[j], NULL, NULL);
  }
}

void kernel_multiply(const kernel_metric *metric, const kernel_pairs *pairs, size_t from, size_t n,
                     double *out) {
  double k[KERNEL_MAX_TERMS][CHUNK], product[CHUNK];
  evaluate_all(metric, pairs, from, n, k);
  multiply(metric, n, k, -1, product);
  for (size_t i = 0; i < n; i++) out[i] += product[i];
}

/* Dimension d's part of a contraction; weight [n] is that of -2 dk/du. */
static void contract_dim(const kernel_metric *metric, const factor *f, const kernel_pairs *pairs,
                         size_t from, size_t n, size_t d, const double *weight, double *sums,
                         double *inputs) {
  const size_t n_dims = metric->kernel->n_dims;
  const double *x = pairs->x + from * n_dims + d, at = pairs->x_at[d];
  const kernel_kind kind = f->term->type->kind;
  double u[CHUNK], gain[CHUNK];
  measure(metric, f, pairs, from, n, d, u, gain);
  for (size_t i = 0; inputs && i < n; i++) inputs[d + i * n_dims] -= weight[i] * gain[i];
  if (sums == NULL) return;
  if (kind == KERNEL_DOT) {
    if (f->n_variances > 0 && f->term->is_ard) {
      sums[f->term->first + d] -= 0.5 * dot_of(n, weight, u);
    }
    return;
  }
  sums[scale_at(metric, f, d, 0)] += dot_of(n, weight, u);
  if (kind != KERNEL_PERIODIC) return;
  for (size_t i = 0; i < n; i++) gain[i] *= x[i * n_dims] - at;
  sums[scale_at(metric, f, d, 1)] += dot_of(n, weight, gain);
}

void kernel_contract_product(const kernel_metric *metric, const kernel_pairs *pairs, size_t from,
                             size_t n, const double *weight, double *sums, double *inputs) {
  double k[KERNEL_MAX_TERMS][CHUNK], product[CHUNK], slope[CHUNK], bend[CHUNK];
  const double *log_variance = common_variance(metric);
  evaluate_all(metric, pairs, from, n, k);
  if (sums && log_variance) {
    multiply(metric, n, k, -1, product);
    sums[log_variance - metric->theta] += dot_of(n, weight, product);
  }
  for (int j = 0; j < metric->n_terms; j++) {
    const factor f = factor_at(metric, j);
    const int has_shape = f.term->type->shaped != NULL;
    multiply(metric, n, k, j, product);
    for (size_t i = 0; i < n; i++) product[i] *= weight[i];
    evaluate(metric, &f, pairs, from, n, k[j], slope, has_shape ? bend : NULL);
    if (sums && has_shape) {
      sums[kernel_shape_at(metric->kernel, f.term)] += dot_of(n, product, bend);
    }
    for (size_t i = 0; i < n; i++) product[i] *= slope[i];
    for (size_t d = 0; d < metric->kernel->n_dims; d++) {
      contract_dim(metric, &f, pairs, from, n, d, product, sums, inputs);
    }
  }
}

void kernel_move_product(const kernel_metric *metric, const kernel_pairs *pairs,
                         const double *weight, double *inputs) {
  const size_t n_dims = metric->kernel->n_dims;
  for (size_t from = 0; from < pairs->n; from += CHUNK) {
    const size_t n = pairs->n - from < CHUNK ? pairs->n - from : CHUNK;
    kernel_contract_product(metric, pairs, from, n, weight + from, NULL, inputs + from * n_dims);
  }
}
