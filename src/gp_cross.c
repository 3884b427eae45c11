/* Kernel values between two sets of points. Called by all engines. */
#include <stdint.h>
#include <string.h>

#include "gp_cross.h"
#include "linalg.h"

size_t gp_points_scratch(size_t n_dims, size_t n) { return (n_dims + 2) * n + n_dims + 1; }

gp_points gp_points_at(size_t n_dims, size_t n, const double *x, const double *shifted,
                       double *scratch) {
  return (gp_points){.n = n,
                     .x = x,
                     .shifted = shifted,
                     .z = scratch,
                     .sq = scratch + n_dims * n,
                     .tilt = scratch + (n_dims + 1) * n,
                     .scale = scratch + (n_dims + 2) * n,
                     .largest = scratch + (n_dims + 2) * n + n_dims};
}

void gp_points_embed(const kernel_metric *metric, const kernel_centre *centre, const gp_points *p) {
  kernel_embed(metric, centre, p->n, p->x, p->shifted, p->scale, p->z, p->sq, p->tilt);
  *p->largest = kernel_largest(p->n, p->sq);
}

kernel_pairs gp_pairs_of(const kernel_metric *metric, const gp_points *rows, size_t from,
                         const gp_points *cols, size_t b, const double *gram) {
  const size_t n_dims = metric->kernel->n_dims;
  return (kernel_pairs){.n = rows->n - from,
                        .gram = gram,
                        .sq = rows->sq + from,
                        .tilt = rows->tilt + from,
                        .sq_at = cols->sq[b],
                        .tilt_at = cols->tilt[b],
                        .largest = *rows->largest,
                        .x = rows->x + from * n_dims,
                        .x_at = cols->x + b * n_dims,
                        .scale = metric->is_ard ? rows->scale : NULL,
                        .same = rows->x == cols->x ? b - from : SIZE_MAX};
}

void gp_cross_values(const gp_cross *cross, const gp_points *rows, const gp_points *cols,
                     int is_ready, double *gram, double *k, size_t ld) {
  const size_t n_dims = cross->kernel->n_dims;
  const int n_metrics = kernel_n_metrics(cross->kernel);
  for (int which = 0; which < n_metrics; which++) {
    const kernel_metric metric = kernel_metric_at(cross->kernel, cross->theta, which);
    if (!is_ready || n_metrics > 1) gp_points_embed(&metric, &cross->centre, rows);
    gp_points_embed(&metric, &cross->centre, cols);
    if (metric.needs_gram) {
      linalg_product('T', 'N', rows->n, cols->n, n_dims, 1.0, rows->z, cols->z, 0.0, gram);
    }
#pragma omp parallel for num_threads(cross->n_threads) schedule(static)
    for (size_t b = 0; b < cols->n; b++) {
      const kernel_pairs pairs = gp_pairs_of(&metric, rows, 0, cols, b, gram + b * rows->n);
      double *column = k + b * ld;
      if (which == 0) memset(column, 0, rows->n * sizeof *column);
      kernel_add_values(&metric, &pairs, column);
    }
  }
}

typedef struct {
  double *gram, *partial, *total, *product, *row_sums;
} workspace;

size_t gp_cross_contract_scratch(const gps_kernel *kernel, size_t n_rows, size_t n_cols) {
  return n_rows * n_cols + kernel->n_hyper * (n_cols + 1) + (kernel->n_dims + 1) * n_rows;
}

static workspace split_scratch(const gps_kernel *kernel, size_t n_rows, size_t n_cols,
                               double *scratch) {
  workspace w = {.gram = scratch};
  w.partial = w.gram + n_rows * n_cols;
  w.total = w.partial + kernel->n_hyper * n_cols;
  w.product = w.total + kernel->n_hyper;
  w.row_sums = w.product + kernel->n_dims * n_rows;
  return w;
}

/* The terms' sums over all pairs, and unless has_slope is 0 the slopes in gram's place. */
static void contract_pairs(const gp_cross *cross, const kernel_metric *metric,
                           const gp_points *rows, const gp_points *cols, const double *weight,
                           int has_slope, const workspace *w, double *gradient) {
  const size_t n_hyper = cross->kernel->n_hyper;
#pragma omp parallel for num_threads(cross->n_threads) schedule(static)
  for (size_t b = 0; b < cols->n; b++) {
    const size_t at = b * rows->n;
    const kernel_pairs pairs = gp_pairs_of(metric, rows, 0, cols, b, w->gram + at);
    double *sums = w->partial + b * n_hyper;
    memset(sums, 0, n_hyper * sizeof *sums);
    kernel_contract(metric, &pairs, weight + at, 0, sums, has_slope ? w->gram + at : NULL);
  }
  memset(w->total, 0, n_hyper * sizeof *w->total);
  for (size_t b = 0; b < cols->n; b++) {
    for (size_t h = 0; h < n_hyper; h++) w->total[h] += w->partial[b * n_hyper + h];
  }
  for (size_t h = 0; h < n_hyper; h++) gradient[h] += w->total[h];
}

/* Inner products with a scale per dimension: sum of slope z_i z_j, by dimension. */
static void contract_products(size_t n_dims, const gp_points *rows, const double *product,
                              double *scales) {
  for (size_t i = 0; i < rows->n; i++) {
    for (size_t d = 0; d < n_dims; d++)
      scales[d] += rows->z[d + i * n_dims] * product[d + i * n_dims];
  }
}

/* Distances: sum of slope (z_i - z_j)^2 by dimension, unless scales is NULL. */
static void contract_distances(size_t n_dims, const gp_points *rows, const gp_points *cols,
                               const workspace *w, double *scales) {
  memset(w->row_sums, 0, rows->n * sizeof *w->row_sums);
  for (size_t b = 0; b < cols->n; b++) {
    const double *slope = w->gram + b * rows->n, *z = cols->z + b * n_dims;
    double sum = 0.0;
    for (size_t i = 0; i < rows->n; i++) {
      w->row_sums[i] += slope[i];
      sum += slope[i];
    }
    if (scales == NULL) continue;
    for (size_t d = 0; d < n_dims; d++) scales[d] += z[d] * z[d] * sum;
  }
  if (scales == NULL) return;
  for (size_t i = 0; i < rows->n; i++) {
    const double *z = rows->z + i * n_dims, *product = w->product + i * n_dims;
    for (size_t d = 0; d < n_dims; d++) {
      scales[d] += z[d] * (z[d] * w->row_sums[i] - 2.0 * product[d]);
    }
  }
}

/* Where the form above would cancel: scales as there, unless NULL, and unless NULL inputs. */
static void contract_differences(const kernel_metric *metric, const gp_points *rows,
                                 const gp_points *cols, const double *slope, double *scales,
                                 double *inputs) {
  const size_t n_dims = metric->kernel->n_dims;
  for (size_t d = 0; d < n_dims; d++) {
    const double scale = rows->scale[d];
    double sum = 0.0;
    for (size_t b = 0; b < cols->n; b++) {
      for (size_t i = 0; i < rows->n; i++) {
        const double weight = slope[i + b * rows->n];
        if (weight == 0.0) continue;
        const double difference = (cols->x[d + b * n_dims] - rows->x[d + i * n_dims]) * scale;
        sum += weight * difference * difference;
        if (inputs) inputs[d + i * n_dims] += scale * weight * difference;
      }
    }
    if (scales) scales[d] += sum;
  }
}

static void contract_metric(const gp_cross *cross, const kernel_metric *metric,
                            const gp_points *rows, const gp_points *cols, const double *weight,
                            const workspace *w, double *gradient, double *inputs) {
  const size_t n_dims = cross->kernel->n_dims;
  const int has_distances = metric->needs_gram && !metric->is_raw;
  const int has_slope = metric->is_ard || (inputs != NULL && has_distances);
  gp_points_embed(metric, &cross->centre, rows);
  gp_points_embed(metric, &cross->centre, cols);
  if (metric->needs_gram) {
    linalg_product('T', 'N', rows->n, cols->n, n_dims, 1.0, rows->z, cols->z, 0.0, w->gram);
  }
  contract_pairs(cross, metric, rows, cols, weight, has_slope, w, gradient);
  for (size_t b = 0; metric->is_product && inputs && b < cols->n; b++) {
    const kernel_pairs pairs = gp_pairs_of(metric, rows, 0, cols, b, w->gram + b * rows->n);
    kernel_move_product(metric, &pairs, weight + b * rows->n, inputs);
  }
  if (!has_slope) return;
  double *first = gradient + cross->kernel->term[metric->term[0]].first;
  if (has_distances && kernel_needs_differences(metric, *rows->largest + *cols->largest)) {
    contract_differences(metric, rows, cols, w->gram, metric->is_ard ? first + 1 : NULL, inputs);
    return;
  }
  linalg_product('N', 'T', n_dims, rows->n, cols->n, 1.0, cols->z, w->gram, 0.0, w->product);
  if (!has_distances) {
    contract_products(n_dims, rows, w->product, first);
    return;
  }
  contract_distances(n_dims, rows, cols, w, metric->is_ard ? first + 1 : NULL);
  if (inputs == NULL) return;
  for (size_t d = 0; d < n_dims; d++) {
    const double scale = rows->scale[d];
    for (size_t i = 0; i < rows->n; i++) {
      const size_t at = d + i * n_dims;
      inputs[at] += scale * (w->product[at] - rows->z[at] * w->row_sums[i]);
    }
  }
}

void gp_cross_contract(const gp_cross *cross, const gp_points *rows, const gp_points *cols,
                       const double *weight, double *gradient, double *inputs, double *scratch) {
  const size_t n_dims = cross->kernel->n_dims;
  const workspace w = split_scratch(cross->kernel, rows->n, cols->n, scratch);
  const int n_metrics = kernel_n_metrics(cross->kernel);
  int is_linear = 0;
  for (int which = 0; which < n_metrics; which++) {
    const kernel_metric metric = kernel_metric_at(cross->kernel, cross->theta, which);
    if (metric.n_terms == 0) continue;
    contract_metric(cross, &metric, rows, cols, weight, &w, gradient, inputs);
  }
  if (inputs == NULL) return;
  for (size_t d = 0; d < n_dims; d++) {
    is_linear |= kernel_dot_variance(cross->kernel, cross->theta, d) > 0.0;
  }
  if (!is_linear) return;
  linalg_product('N', 'T', n_dims, rows->n, cols->n, 1.0, cols->x, weight, 0.0, w.product);
  for (size_t d = 0; d < n_dims; d++) {
    const double variance = kernel_dot_variance(cross->kernel, cross->theta, d);
    for (size_t i = 0; i < rows->n; i++)
      inputs[d + i * n_dims] += variance * w.product[d + i * n_dims];
  }
}
