/* The exact Gaussian process on all pairs of points: marginal likelihood of all targets from one
 * factorisation, its gradient by contraction (no derivative matrices), leave-one-out in closed
 * form, prediction. Rasmussen and Williams (2006), eqs. 2.25, 5.8, 5.9, 5.12. Called by r_gp*.c. */
#include "gp.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "vector_math.h"

/* Columns of K treated at a time: their inner products stay in cache between the product and the
 * exponential. */
#define PANEL 256

typedef struct {
  double *row_sums, *panel, *product, *partial;
} workspace;

static workspace split_scratch(const gp_dense *gp) {
  const size_t n_dims = gp->cross.kernel->n_dims, n = gp->all.n;
  workspace w = {.row_sums = gp->scratch};
  w.panel = w.row_sums + n;
  w.product = w.panel + n * PANEL;
  w.partial = w.product + n_dims * PANEL;
  return w;
}

size_t gp_dense_scratch(const gps_kernel *kernel, size_t n_points) {
  const size_t n_dims = kernel->n_dims;
  return n_points * (1 + PANEL) + PANEL * (n_dims + kernel->n_hyper);
}

double gp_jitter_step(int step, size_t n_points, double mean_diagonal) {
  if (step == 0) return 0.0;
  const double smallest = DBL_EPSILON * (double)n_points, relative = smallest * pow(10.0, step);
  if (relative < 1e-4) return relative * mean_diagonal;
  /* The last step is the limit itself. */
  return relative < 1e-3 ? 1e-4 * mean_diagonal : -1.0;
}

gps_status gp_check_finite(double value, size_t n_hyper, const double *gradient) {
  int is_sound = isfinite(value) != 0;
  for (size_t h = 0; h < n_hyper; h++) is_sound &= isfinite(gradient[h]) != 0;
  return is_sound ? GPS_OK : GPS_NOT_FINITE;
}

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

/* Column `b` of the panel that starts at `from`: its pairs with itself and all later points. */
static kernel_pairs pairs_of(const gp_dense *gp, const kernel_metric *metric, const double *gram,
                             size_t ld, size_t from, size_t b) {
  return gp_pairs_of(metric, &gp->all, from + b, &gp->all, from + b, gram + b + b * ld);
}

/* Inner products of points from `from` on with the panel's own. */
static void panel_gram(const gp_dense *gp, const workspace *w, size_t from, size_t width) {
  const size_t n_dims = gp->cross.kernel->n_dims, n_rows = gp->all.n - from;
  const double *z = gp->all.z + from * n_dims;
  linalg_product('T', 'N', n_rows, width, n_dims, 1.0, z, z, 0.0, w->panel);
}

void gp_dense_gram(const gp_dense *gp, double *gram) {
  const size_t n_dims = gp->cross.kernel->n_dims, n = gp->all.n;
  const kernel_metric metric = kernel_metric_at(gp->cross.kernel, gp->cross.theta, 0);
  if (!metric.needs_gram) {
    memset(gram, 0, n * n * sizeof *gram);
    return;
  }
  gp_points_embed(&metric, &gp->cross.centre, &gp->all);
  linalg_syrk('T', n, n_dims, 1.0, gp->all.z, n_dims, 0.0, gram, n);
}

static void add_metric(const gp_dense *gp, int which, double *k) {
  workspace w = split_scratch(gp);
  const kernel_metric metric = kernel_metric_at(gp->cross.kernel, gp->cross.theta, which);
  const size_t n = gp->all.n;
  const int is_cached = which == 0 && gp->gram != NULL;
  gp_points_embed(&metric, &gp->cross.centre, &gp->all);
  for (size_t from = 0; from < n; from += PANEL) {
    const size_t width = min_size(PANEL, n - from), ld = is_cached ? n : n - from;
    const double *gram = is_cached ? gp->gram + from + from * n : w.panel;
    if (gps_must_stop(gp->cross.watch)) return;
    if (metric.needs_gram && !is_cached) panel_gram(gp, &w, from, width);
#pragma omp parallel for num_threads(gp->cross.n_threads) schedule(static)
    for (size_t b = 0; b < width; b++) {
      const kernel_pairs pairs = pairs_of(gp, &metric, gram, ld, from, b);
      double *column = k + (from + b) * (n + 1);
      if (which == 0) memset(column, 0, pairs.n * sizeof *column);
      kernel_add_values(&metric, &pairs, column);
    }
  }
}

void gp_dense_kernel(const gp_dense *gp, double *k) {
  const int n_metrics = kernel_n_metrics(gp->cross.kernel);
  for (int which = 0; which < n_metrics; which++) add_metric(gp, which, k);
  const size_t n = gp->all.n;
  for (size_t j = 0; gp->given && j < n; j++) {
    for (size_t i = j; i < n; i++) k[i + j * n] += gp->given[i + j * n];
  }
  const double noise = kernel_noise(gp->cross.kernel, gp->cross.theta) + gp->jitter;
  for (size_t j = 0; j < n; j++) k[j * (n + 1)] += noise;
}

gps_status gp_dense_factor(gp_dense *gp, int climb, double *k, double *log_det) {
  const size_t n = gp->all.n;
  for (int step = 0;; step++) {
    gp_dense_kernel(gp, k);
    if (gps_must_stop(gp->cross.watch)) return GPS_INTERRUPTED;
    const double diagonal = linalg_trace(n, k) / (double)n;
    if (!isfinite(diagonal)) return GPS_NOT_FINITE;
    const double noise = kernel_noise(gp->cross.kernel, gp->cross.theta) + gp->jitter;
    /* The largest eigenvalue is at most the trace, the smallest at least the noise. */
    const double condition = diagonal * (double)n / noise;
    const gps_status status = linalg_factor_inverse(n, k, n, condition, log_det, gp->cross.watch);
    if (status != GPS_NOT_POSDEF || !climb) return status;
    const double jitter = gp_jitter_step(step + 1, n, diagonal - gp->jitter);
    if (jitter < 0.0) return status;
    gp->jitter = jitter;
  }
}

/* out [n_dims] <- sum of weight (x_i - x_j)^2 scale^2 over the points from x_j = x on. */
GPS_CLONES static void square_differences(size_t n_dims, size_t n, const double *x,
                                          const double *scale, const double *weight, double *out) {
  memset(out, 0, n_dims * sizeof *out);
  for (size_t i = 1; i < n; i++) {
    const double *other = x + i * n_dims, factor = weight[i];
    if (factor == 0.0) continue;
#pragma omp simd
    for (size_t d = 0; d < n_dims; d++) {
      const double difference = (other[d] - x[d]) * scale[d];
      out[d] += factor * difference * difference;
    }
  }
}

/* A per-dimension metric's share of one panel: W holds the weights of the pairs. Squared
 * differences contract to z_i^2 and z_j^2 times the sums of W, minus twice z' W z; inner products
 * to z' W z alone. */
static void contract_scales(const gp_dense *gp, const workspace *w, int is_dot, size_t from,
                            size_t width, double *gradient) {
  const size_t n_dims = gp->cross.kernel->n_dims, n_rows = gp->all.n - from;
  const double *z = gp->all.z + from * n_dims;
  linalg_product('N', 'N', n_dims, width, n_rows, is_dot ? 1.0 : -2.0, z, w->panel, 0.0,
                 w->product);
  for (size_t b = 0; b < width; b++) {
    for (size_t d = 0; d < n_dims; d++) {
      gradient[d] += z[d + b * n_dims] * w->product[d + b * n_dims];
    }
    if (is_dot) continue;
    const double *weights = w->panel + b * n_rows;
    double sum = 0.0;
    for (size_t i = 0; i < n_rows; i++) {
      w->row_sums[from + i] += weights[i];
      sum += weights[i];
    }
    w->row_sums[from + b] += sum;
  }
}

/* Whether the contraction by inner products would cancel. */
static int has_far_points(const gp_dense *gp, const kernel_metric *metric) {
  return metric->is_ard && kernel_needs_differences(metric, 2.0 * *gp->all.largest);
}

static void add_differences(size_t n_dims, size_t width, const workspace *w, double *gradient) {
  for (size_t b = 0; b < width; b++) {
    for (size_t d = 0; d < n_dims; d++) gradient[d] += w->product[d + b * n_dims];
  }
}

static void contract_panel(const gp_dense *gp, const kernel_metric *metric, const workspace *w,
                           const double *gram, size_t ld, size_t from, size_t width,
                           const double *a) {
  const int is_dot = metric->is_raw, by_differences = has_far_points(gp, metric);
  const size_t n_dims = gp->cross.kernel->n_dims, n_hyper = gp->cross.kernel->n_hyper;
#pragma omp parallel for num_threads(gp->cross.n_threads) schedule(static)
  for (size_t b = 0; b < width; b++) {
    const kernel_pairs pairs = pairs_of(gp, metric, gram, ld, from, b);
    double *sums = w->partial + b * n_hyper, *weights = w->panel + b * ld;
    memset(sums, 0, n_hyper * sizeof *sums);
    kernel_contract(metric, &pairs, a + (from + b) * (gp->all.n + 1), 1, sums,
                    metric->is_ard ? weights + b : NULL);
    if (!metric->is_ard) continue;
    if (by_differences) {
      square_differences(n_dims, pairs.n, pairs.x, gp->all.scale, weights + b,
                         w->product + b * n_dims);
      continue;
    }
    memset(weights, 0, b * sizeof *weights);
    if (!is_dot) weights[b] = 0.0;
  }
}

static void contract_metric(const gp_dense *gp, int which, const double *a, double *gradient) {
  workspace w = split_scratch(gp);
  const kernel_metric metric = kernel_metric_at(gp->cross.kernel, gp->cross.theta, which);
  const size_t n = gp->all.n, n_dims = gp->cross.kernel->n_dims,
               n_hyper = gp->cross.kernel->n_hyper;
  const int is_cached = which == 0 && gp->gram != NULL, is_dot = metric.is_raw;
  const kernel_term *first = &gp->cross.kernel->term[metric.n_terms > 0 ? metric.term[0] : 0];
  double *scales = gradient + first->first + !is_dot;
  if (metric.n_terms == 0) return;
  gp_points_embed(&metric, &gp->cross.centre, &gp->all);
  const int by_differences = has_far_points(gp, &metric);
  memset(w.row_sums, 0, n * sizeof *w.row_sums);
  for (size_t from = 0; from < n; from += PANEL) {
    const size_t width = min_size(PANEL, n - from);
    const double *gram = is_cached ? gp->gram + from + from * n : w.panel;
    if (gps_must_stop(gp->cross.watch)) return;
    if (metric.needs_gram && !is_cached) panel_gram(gp, &w, from, width);
    contract_panel(gp, &metric, &w, gram, is_cached ? n : n - from, from, width, a);
    for (size_t b = 0; b < width; b++) {
      for (size_t h = 0; h < n_hyper; h++) gradient[h] += w.partial[b * n_hyper + h];
    }
    if (!metric.is_ard) continue;
    if (by_differences) {
      add_differences(n_dims, width, &w, scales);
    } else {
      contract_scales(gp, &w, is_dot, from, width, scales);
    }
  }
  if (!metric.is_ard || is_dot || by_differences) return;
  for (size_t i = 0; i < n; i++) {
    for (size_t d = 0; d < n_dims; d++) {
      scales[d] += gp->all.z[d + i * n_dims] * gp->all.z[d + i * n_dims] * w.row_sums[i];
    }
  }
}

/* Sum of A dK/dtheta of matrices that are given, the next in order to each parameter of theirs. */
static void contract_given(const gp_dense *gp, const double *a, double *gradient) {
  const size_t n = gp->all.n;
  size_t next = 0;
  for (int t = 0; t < gp->cross.kernel->n_terms; t++) {
    const kernel_term *term = &gp->cross.kernel->term[t];
    for (size_t h = 0; h < term->n_own && next < gp->n_given; h++, next++) {
      const double *slope = gp->given_slopes + next * n * n;
      double sum = 0.0;
      for (size_t j = 0; j < n; j++) {
        const size_t at = j * (n + 1);
        sum += 2.0 * dot_of(n - j, a + at, slope + at) - a[at] * slope[at];
      }
      gradient[term->first + h] = sum;
    }
  }
}

/* gradient_j = 1/2 sum A dK/dtheta_j, from 0. */
static void contract_kernel(const gp_dense *gp, const double *a, double *gradient) {
  const size_t n_hyper = gp->cross.kernel->n_hyper;
  const int n_metrics = kernel_n_metrics(gp->cross.kernel);
  const double trace = linalg_trace(gp->all.n, a);
  for (int which = 0; which < n_metrics; which++) contract_metric(gp, which, a, gradient);
  contract_given(gp, a, gradient);
  kernel_add_noise_slope(gp->cross.kernel, gp->cross.theta, trace, gradient);
  for (size_t h = 0; h < n_hyper; h++) gradient[h] *= 0.5;
}

gps_status gp_dense_evaluate(gp_dense *gp, int climb, const gp_targets *targets, double least,
                             double *k, double *alpha, double *value, double *gradient) {
  const size_t n = gp->all.n, rank = targets->rank;
  const double n_targets = (double)targets->n_targets;
  double log_det, quadratic = 0.0;
  const gps_status status = gp_dense_factor(gp, climb, k, &log_det);
  if (status != GPS_OK) return status;
  memcpy(alpha, targets->root, rank * n * sizeof *alpha);
  linalg_trmm('R', 'T', rank, n, k, n, alpha, rank);
  for (size_t i = 0; i < rank * n; i++) quadratic += alpha[i] * alpha[i];
  *value = -0.5 * (quadratic + n_targets * (log_det + (double)n * LOG_2PI));
  if (!isfinite(*value)) return GPS_NOT_FINITE;
  memset(gradient, 0, gp->cross.kernel->n_hyper * sizeof *gradient);
  if (*value < least) return GPS_OK;
  /* A = alpha'alpha - H K^-1 takes the place of K^-1. */
  linalg_trmm('R', 'N', rank, n, k, n, alpha, rank);
  linalg_lower_gram(n, k, n, gp->cross.watch);
  if (gps_must_stop(gp->cross.watch)) return GPS_INTERRUPTED;
  linalg_syrk('T', n, rank, 1.0, alpha, rank, -n_targets, k, n);
  contract_kernel(gp, k, gradient);
  if (gps_must_stop(gp->cross.watch)) return GPS_INTERRUPTED;
  return gp_check_finite(*value, gp->cross.kernel->n_hyper, gradient);
}

size_t gp_dense_predict_scratch(size_t n_dims, size_t n_points) {
  return PANEL * (n_points + n_dims) + gp_points_scratch(n_dims, PANEL);
}

/* variance [n] less the squares of the columns of k [n_points x n], which are L^-1 k(x, new). */
static void take_explained(size_t n_points, size_t n, const double *k, double *variance) {
  for (size_t b = 0; b < n; b++) {
    double explained = 0.0;
    for (size_t i = 0; i < n_points; i++) explained += k[i + b * n_points] * k[i + b * n_points];
    variance[b] = variance[b] < explained ? 0.0 : variance[b] - explained;
  }
}

void gp_dense_predict(const gp_dense *gp, size_t n_targets, const double *weights, const double *l,
                      const gp_predicted *at, double *scratch) {
  const gp_cross *cross = &gp->cross;
  const size_t n_dims = cross->kernel->n_dims, n = gp->all.n;
  double *k = scratch, *shifted = k + n * PANEL, *coordinates = shifted + n_dims * PANEL;
  double *variance = at->variance;
  const workspace w = split_scratch(gp);
  if (variance) kernel_diagonal(cross->kernel, cross->theta, at->n, at->x, variance);
  for (size_t j = 0; variance && at->given && j < at->n; j++) variance[j] += at->given_variance[j];
  for (size_t from = 0; from < at->n; from += PANEL) {
    const size_t width = min_size(PANEL, at->n - from);
    if (gps_must_stop(cross->watch)) return;
    const gp_points new = gp_points_at(n_dims, width, at->x + from * n_dims, shifted, coordinates);
    kernel_shift(&cross->centre, width, new.x, shifted);
    gp_cross_values(cross, &gp->all, &new, from > 0, w.panel, k, n);
    for (size_t i = 0; at->given && i < n * width; i++) k[i] += at->given[i + from * n];
    linalg_product('N', 'N', n_targets, width, n, 1.0, weights, k, 0.0,
                   at->mean + from * n_targets);
    if (variance == NULL) continue;
    linalg_trmm('L', 'N', n, width, l, n, k, n);
    take_explained(n, width, k, variance + from);
  }
}
