/* Points as kernels see them: shifted for distances, and embedded in the coordinates of a metric.
 * Called by the GP engines, from any thread. */
#include <math.h>

#include "kernel.h"
#include "vector_math.h"

void kernel_find_centre(size_t n, const double *x, kernel_centre *centre) {
  const size_t n_dims = centre->n_dims;
  for (size_t d = 0; d < n_dims; d++) {
    centre->origin[d] = x[d];
    centre->mean[d] = 0.0;
  }
  for (size_t j = 0; j < n; j++) {
    for (size_t d = 0; d < n_dims; d++) centre->mean[d] += x[d + j * n_dims] - centre->origin[d];
  }
  for (size_t d = 0; d < n_dims; d++) centre->mean[d] /= (double)n;
}

GPS_CLONES static void shift_point(size_t n, const double *x, const double *origin,
                                   const double *mean, double *shifted) {
#pragma omp simd
  for (size_t d = 0; d < n; d++) shifted[d] = (x[d] - origin[d]) - mean[d];
}

void kernel_shift(const kernel_centre *centre, size_t n, const double *x, double *shifted) {
  const size_t n_dims = centre->n_dims;
  for (size_t j = 0; j < n * n_dims; j += n_dims) {
    shift_point(n_dims, x + j, centre->origin, centre->mean, shifted + j);
  }
}

/* Distances are divided by lengthscales, inner products multiplied by standard deviations. */
static double scale_of(const kernel_metric *metric, size_t d) {
  const kernel_term *term = &metric->kernel->term[metric->term[0]];
  if (!metric->is_ard) return 1.0;
  if (term->type->kind == KERNEL_DOT) return exp(0.5 * metric->theta[term->first + d]);
  return fmin(exp(-metric->theta[term->first + 1 + d]), KERNEL_LARGEST_SCALE);
}

/* z <- x times scale, and its square. */
GPS_CLONES static double embed_point(size_t n, const double *x, const double *scale, double *z) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (size_t d = 0; d < n; d++) {
    z[d] = x[d] * scale[d];
    sum += z[d] * z[d];
  }
  return sum;
}

/* What a shift takes away from an inner product, one point's part. */
GPS_CLONES static double tilt_of(size_t n, const double *z, const double *origin,
                                 const double *mean) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (size_t d = 0; d < n; d++) {
    const double c = origin[d] + mean[d];
    sum += c * (z[d] + 0.5 * c);
  }
  return sum;
}

void kernel_embed(const kernel_metric *metric, const kernel_centre *centre, size_t n,
                  const double *x, const double *shifted, double *scale, double *z, double *sq,
                  double *tilt) {
  const size_t n_dims = metric->kernel->n_dims;
  const double *points = metric->is_raw ? x : shifted;
  for (size_t d = 0; d < n_dims; d++) scale[d] = scale_of(metric, d);
  for (size_t j = 0; j < n; j++) {
    const size_t at = j * n_dims;
    sq[j] = embed_point(n_dims, points + at, scale, z + at);
    tilt[j] = metric->is_raw ? 0.0 : tilt_of(n_dims, z + at, centre->origin, centre->mean);
  }
}
