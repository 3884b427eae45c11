/* Kernel values between two sets of points. Called by the engines that have a basis. */
#include <stdint.h>
#include <string.h>

#include "gp_basis.h"

/* Waking a thread costs more than a kernel's values of fewer pairs than this. */
#define GRAIN ((size_t)1 << 16)

size_t gp_points_scratch(size_t n_dims, size_t n) { return (n_dims + 2) * n; }

gp_points gp_points_at(size_t n_dims, size_t n, const double *x, const double *shifted,
                       double *scratch) {
  return (gp_points){.n = n,
                     .x = x,
                     .shifted = shifted,
                     .z = scratch,
                     .sq = scratch + n_dims * n,
                     .tilt = scratch + (n_dims + 1) * n};
}

static void embed(const gp_cross *cross, const kernel_metric *metric, const gp_points *p) {
  kernel_embed(metric, &cross->centre, p->n, p->x, p->shifted, p->z, p->sq, p->tilt);
}

/* Column b of the matrix: one point of `cols` against all of `rows`. */
static kernel_pairs pairs_of(const gp_points *rows, const gp_points *cols, const double *gram,
                             size_t b) {
  return (kernel_pairs){.n = rows->n,
                        .gram = gram + b * rows->n,
                        .sq = rows->sq,
                        .tilt = rows->tilt,
                        .sq_at = cols->sq[b],
                        .tilt_at = cols->tilt[b],
                        .same = rows->x == cols->x ? b : SIZE_MAX};
}

static void inner_products(size_t n_dims, const gp_points *rows, const gp_points *cols,
                           double *gram) {
  linalg_gemm('T', 'N', rows->n, cols->n, n_dims, 1.0, rows->z, n_dims, cols->z, n_dims, 0.0, gram,
              rows->n);
}

static int threads_for(const gp_cross *cross, size_t n_pairs) {
  return n_pairs < GRAIN ? 1 : cross->n_threads;
}

void gp_cross_values(const gp_cross *cross, const gp_points *rows, const gp_points *cols,
                     int is_ready, double *gram, double *k, size_t ld) {
  const int n_metrics = kernel_n_metrics(cross->kernel), n_cols = (int)cols->n;
  for (int which = 0; which < n_metrics; which++) {
    const kernel_metric metric = kernel_metric_at(cross->kernel, cross->theta, which);
    if (!is_ready || n_metrics > 1) embed(cross, &metric, rows);
    embed(cross, &metric, cols);
    if (metric.needs_gram) inner_products(cross->kernel->n_dims, rows, cols, gram);
#pragma omp parallel for num_threads(threads_for(cross, rows->n * cols->n)) schedule(static)
    for (int b = 0; b < n_cols; b++) {
      const kernel_pairs pairs = pairs_of(rows, cols, gram, (size_t)b);
      double *column = k + (size_t)b * ld;
      if (which == 0) memset(column, 0, rows->n * sizeof *column);
      kernel_add_values(&metric, &pairs, column);
    }
  }
}
