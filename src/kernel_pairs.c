/* Squared distances and inner products of pairs of points from what BLAS makes of all of them, and
 * one by one where these have lost their digits. Called by kernel.c and the GP engines, from any
 * thread. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel.h"
#include "vector_math.h"

/* |a|^2 + |b|^2 - 2 a.b errs by at most S (n_dims + 3) eps with S = |a|^2 + |b|^2. A correlation
 * k that falls by at most 3/2 of r2 = d2 / l^2 then errs by at most 3/2 of that over l^2, and by
 * half of that share of d2, since r2 |dk/dr2| is below 1/2. So the form is good to 2 LIMIT (n_dims
 * + 3) eps, some 1e-12, where S is at most LIMIT l^2 or LIMIT d2; elsewhere, near pairs of far
 * points, differences are taken. The same limit holds for inner products of shifted points. */
#define LIMIT 1024.0

double kernel_largest(size_t n, const double *sq) {
  double largest = 0.0;
  for (size_t i = 0; i < n; i++) {
    const double value = sq[i] <= DBL_MAX ? sq[i] : HUGE_VAL;
    largest = value > largest ? value : largest;
  }
  return largest;
}

int kernel_needs_differences(const kernel_metric *metric, double largest_sum) {
  for (int t = 0; t < metric->n_terms; t++) {
    const kernel_term *term = &metric->kernel->term[metric->term[t]];
    if (term->type->kind != KERNEL_STATIONARY) continue;
    if (term->type->is_rough) return 1;
    if (!(largest_sum * metric->inverse_l2[t] <= LIMIT)) return 1;
  }
  return 0;
}

/* |(x - y) factor|^2 of points as given, since a shift and a scale would round what tells them
 * apart; with a factor for each dimension it is scaled_distance(). */
GPS_CLONES static double common_distance(size_t n, const double *x, const double *y,
                                         double factor) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) {
    const double difference = (x[i] - y[i]) * factor;
    sum += difference * difference;
  }
  return sum;
}

static int is_rough(const kernel_metric *metric, int t) {
  return metric->kernel->term[metric->term[t]].type->is_rough;
}

/* r2 where the cheap form of a squared distance has lost its digits. A rough profile turns an error
 * of r2 into its root, so the limit holds for near pairs, too. */
static void mend_distances(const kernel_metric *metric, int t, const kernel_pairs *pairs,
                           size_t from, size_t n, double *r2) {
  const size_t n_dims = metric->kernel->n_dims;
  const double inverse_l2 = metric->inverse_l2[t];
  const int may_be_near = !is_rough(metric, t);
  for (size_t i = 0; i < n; i++) {
    const double sum = pairs->sq[from + i] + pairs->sq_at;
    const int is_near = may_be_near && sum * inverse_l2 <= LIMIT;
    if (!is_near && !(sum <= LIMIT * (sum - 2.0 * pairs->gram[from + i]))) {
      const double *x = pairs->x + (from + i) * n_dims;
      r2[i] = pairs->scale ? scaled_distance(n_dims, x, pairs->x_at, pairs->scale)
                           : common_distance(n_dims, x, pairs->x_at, metric->inverse_l[t]);
    }
    r2[i] = r2[i] > KERNEL_FAR ? KERNEL_FAR : r2[i];
  }
}

GPS_CLONES static void cheap_distances(const kernel_pairs *pairs, size_t from, size_t n,
                                       double inverse_l2, double *r2) {
  const double *gram = pairs->gram + from, *sq = pairs->sq + from;
  const double sq_at = pairs->sq_at;
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    const double distance = (sq[i] + sq_at) - 2.0 * gram[i];
    r2[i] = (distance > 0.0 ? distance : 0.0) * inverse_l2;
  }
}

void kernel_distances(const kernel_metric *metric, int t, const kernel_pairs *pairs, size_t from,
                      size_t n, double *r2) {
  const double inverse_l2 = metric->inverse_l2[t];
  cheap_distances(pairs, from, n, inverse_l2, r2);
  if (is_rough(metric, t) || !((pairs->largest + pairs->sq_at) * inverse_l2 <= LIMIT)) {
    mend_distances(metric, t, pairs, from, n, r2);
  }
  if (pairs->same >= from && pairs->same - from < n) r2[pairs->same - from] = 0.0;
}

/* Returns how many products have lost their digits by the shift of the points. */
GPS_CLONES static int shifted_products(const kernel_pairs *pairs, size_t from, size_t n,
                                       double *product) {
  const double *gram = pairs->gram + from, *tilt = pairs->tilt + from;
  const double tilt_at = pairs->tilt_at;
  int n_lost = 0;
#pragma omp simd reduction(+ : n_lost)
  for (size_t i = 0; i < n; i++) {
    product[i] = gram[i] + (tilt[i] + tilt_at);
    n_lost += !(fabs(gram[i]) <= LIMIT * fabs(product[i]));
  }
  return n_lost;
}

void kernel_products(const kernel_metric *metric, const kernel_pairs *pairs, size_t from, size_t n,
                     double *product) {
  const size_t n_dims = metric->kernel->n_dims;
  if (metric->is_raw) {
    memcpy(product, pairs->gram + from, n * sizeof *product);
    return;
  }
  if (shifted_products(pairs, from, n, product) == 0) return;
  for (size_t i = 0; i < n; i++) {
    if (fabs(pairs->gram[from + i]) <= LIMIT * fabs(product[i])) continue;
    product[i] = dot_of(n_dims, pairs->x + (from + i) * n_dims, pairs->x_at);
  }
}
