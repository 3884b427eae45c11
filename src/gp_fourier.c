/* The Gaussian process in random Fourier features: K = F'F + noise, of which only F F' is formed.
 * Derivatives by variances need no pass over the points; those by lengthscales contract dF with
 * df/dF = W alpha' - H B^-1 F, B = F F' + noise and W = B^-1 F T. Called by r_gp_fourier.c. */
#include "gp_fourier.h"

#include <math.h>
#include <string.h>

#include "vector_math.h"

/* Points treated at a time: large enough for a product, small enough for the cache. */
#define PANEL 256

static int is_stationary(const gp_fourier *gp, int t) {
  return gp->kernel->term[t].type->kind == KERNEL_STATIONARY;
}

static size_t term_features(const gp_fourier *gp, int t) {
  switch (gp->kernel->term[t].type->kind) {
  case KERNEL_STATIONARY:
    return 2 * gp->count[t];
  case KERNEL_DOT:
    return gp->kernel->n_dims;
  case KERNEL_CONSTANT:
    return 1;
  default:
    return 0;
  }
}

size_t gp_fourier_n_features(const gp_fourier *gp) {
  size_t n = 0;
  for (int t = 0; t < gp->kernel->n_terms; t++) n += term_features(gp, t);
  return n;
}

static size_t n_frequencies(const gp_fourier *gp) {
  size_t n = 0;
  for (int t = 0; t < gp->kernel->n_terms; t++) n += is_stationary(gp, t) ? gp->count[t] : 0;
  return n;
}

/* ---- features ---- */

/* scaled [n_dims x n_frequencies]: frequencies of all stationary terms over the lengthscales. */
static void scale_frequencies(const gp_fourier *gp, double *scaled) {
  const size_t n_dims = gp->kernel->n_dims;
  for (int t = 0; t < gp->kernel->n_terms; t++) {
    if (!is_stationary(gp, t)) continue;
    const kernel_term *term = &gp->kernel->term[t];
    for (size_t d = 0; d < n_dims; d++) {
      const double inverse = exp(-gp->theta[term->first + 1 + (term->is_ard ? d : 0)]);
      for (size_t m = 0; m < gp->count[t]; m++) {
        scaled[d + m * n_dims] = gp->frequency[t][d + m * n_dims] * inverse;
      }
    }
    scaled += n_dims * gp->count[t];
  }
}

static void centre_points(const gp_fourier *gp, size_t from, size_t width, double *centred) {
  const size_t n_dims = gp->kernel->n_dims;
  for (size_t j = 0; j < width; j++) {
    const double *x = gp->x + (from + j) * n_dims;
    for (size_t d = 0; d < n_dims; d++) centred[d + j * n_dims] = x[d] - gp->centre[d];
  }
}

/* A point's features; those of stationary terms come as angles. */
static void finish_features(const gp_fourier *gp, const double *x, double *feature) {
  for (int t = 0; t < gp->kernel->n_terms; t++) {
    const kernel_term *term = &gp->kernel->term[t];
    const double *log_variance = gp->theta + term->first;
    if (term->type->kind == KERNEL_STATIONARY) {
      const double scale = exp(0.5 * log_variance[0]) / sqrt((double)gp->count[t]);
      wave_array(gp->count[t], scale, feature, feature + gp->count[t]);
    } else if (term->type->kind == KERNEL_DOT) {
      for (size_t d = 0; d < gp->kernel->n_dims; d++) {
        feature[d] = exp(0.5 * log_variance[term->is_ard ? d : 0]) * x[d];
      }
    } else if (term->type->kind == KERNEL_CONSTANT) {
      feature[0] = exp(0.5 * log_variance[0]);
    }
    feature += term_features(gp, t);
  }
}

size_t gp_fourier_features_scratch(const gp_fourier *gp) {
  return gp->kernel->n_dims * (n_frequencies(gp) + PANEL);
}

void gp_fourier_features(const gp_fourier *gp, double *features, double *scratch) {
  const size_t n_dims = gp->kernel->n_dims, q = gp_fourier_n_features(gp), n = gp->n_points;
  double *scaled = scratch, *centred = scaled + n_dims * n_frequencies(gp);
  scale_frequencies(gp, scaled);
  for (size_t from = 0; from < n; from += PANEL) {
    const size_t width = n - from < PANEL ? n - from : PANEL;
    const double *frequency = scaled;
    if (gps_must_stop(gp->watch)) return;
    double *out = features + from * q;
    centre_points(gp, from, width, centred);
    for (int t = 0; t < gp->kernel->n_terms; t++) {
      if (is_stationary(gp, t)) {
        linalg_gemm('T', 'N', gp->count[t], width, n_dims, 1.0, frequency, n_dims, centred, n_dims,
                    0.0, out, q);
        frequency += n_dims * gp->count[t];
      }
      out += term_features(gp, t);
    }
#pragma omp parallel for num_threads(gp->n_threads) schedule(static)
    for (size_t j = from; j < from + width; j++) {
      finish_features(gp, gp->x + j * n_dims, features + j * q);
    }
  }
}

/* ---- marginal likelihood ---- */

/* Cholesky factor of B from F F' [q x q]. */
static gps_status factor_moments(size_t q, size_t n_points, const double *gram, double noise,
                                 double *jitter, double *factor) {
  const double trace = linalg_trace(q, gram);
  if (!isfinite(trace)) return GPS_NOT_FINITE;
  for (int step = 0;; step++) {
    memcpy(factor, gram, q * q * sizeof *factor);
    for (size_t j = 0; j < q; j++) factor[j * (q + 1)] += noise + *jitter;
    const gps_status status = linalg_cholesky(q, factor, q);
    if (status != GPS_NOT_POSDEF) return status;
    const double more = gp_jitter_step(step + 1, n_points, trace / (double)n_points + noise);
    if (more < 0.0) return status;
    *jitter = more;
  }
}

typedef struct {
  size_t q, rank;
  double *gram, *inverse;       /* [q x q] F F', then B^-1 */
  double *weights;              /* [q x rank] W */
  double *scaled, *slope;       /* [n_dims x n_frequencies] */
  double *centred;              /* [n_dims x PANEL] */
  double *alpha;                /* [rank x PANEL] */
  double *by_feature, *by_wave; /* [2 n_frequencies x PANEL], [n_frequencies x PANEL] */
  double noise, log_det, error_sq;
} workspace;

size_t gp_fourier_evaluate_scratch(const gp_fourier *gp, size_t rank) {
  const size_t q = gp_fourier_n_features(gp), m = n_frequencies(gp), n_dims = gp->kernel->n_dims;
  return q * (2 * q + rank) + 2 * n_dims * m + PANEL * (n_dims + rank + 3 * m);
}

static workspace split_scratch(const gp_fourier *gp, size_t rank, double *scratch) {
  const size_t q = gp_fourier_n_features(gp), m = n_frequencies(gp), n_dims = gp->kernel->n_dims;
  workspace w = {.q = q, .rank = rank};
  w.gram = scratch;
  w.inverse = w.gram + q * q;
  w.weights = w.inverse + q * q;
  w.scaled = w.weights + q * rank;
  w.slope = w.scaled + n_dims * m;
  w.centred = w.slope + n_dims * m;
  w.alpha = w.centred + n_dims * PANEL;
  w.by_feature = w.alpha + rank * PANEL;
  w.by_wave = w.by_feature + 2 * m * PANEL;
  return w;
}

/* B^-1, W and log |B|. */
static gps_status solve_weights(const gp_fourier *gp, const gp_targets *targets,
                                const double *features, double *jitter, workspace *w) {
  const size_t q = w->q;
  linalg_syrk('N', q, gp->n_points, 1.0, features, q, 0.0, w->gram, q);
  linalg_mirror(q, w->gram, q);
  const double noise = kernel_noise(gp->kernel, gp->theta);
  gps_status status = factor_moments(q, gp->n_points, w->gram, noise, jitter, w->inverse);
  if (status != GPS_OK) return status;
  w->noise = noise + *jitter;
  w->log_det = linalg_log_det(q, w->inverse, q);
  linalg_product('N', 'T', q, w->rank, gp->n_points, 1.0, features, targets->root, 0.0, w->weights);
  linalg_cholesky_solve(q, w->inverse, q, w->rank, w->weights, q);
  status = linalg_invert_lower(q, w->inverse, q, gp->watch);
  linalg_lower_gram(q, w->inverse, q, gp->watch);
  linalg_mirror(q, w->inverse, q);
  return status;
}

/* by_wave [count x width]: df/d(angle) with its sign changed, from df/d(cosines and sines). */
GPS_CLONES static void turn_waves(size_t count, const double *by_feature, const double *feature,
                                  double *by_wave) {
#pragma omp simd
  for (size_t m = 0; m < count; m++) {
    by_wave[m] = by_feature[m] * feature[count + m] - by_feature[count + m] * feature[m];
  }
}

/* slope [n_dims x n_frequencies] += points times df/d(angle), term by term. */
static void add_slopes(const gp_fourier *gp, double n_targets, const double *panel, size_t width,
                       const workspace *w) {
  const size_t n_dims = gp->kernel->n_dims, q = w->q;
  double *slope = w->slope;
  size_t row = 0;
  for (int t = 0; t < gp->kernel->n_terms; t++) {
    const size_t count = gp->count[t], rows = 2 * count;
    if (is_stationary(gp, t)) {
      linalg_gemm('N', 'N', rows, width, q, -n_targets, w->inverse + row, q, panel, q, 0.0,
                  w->by_feature, rows);
      linalg_gemm('N', 'N', rows, width, w->rank, 1.0, w->weights + row, q, w->alpha, w->rank, 1.0,
                  w->by_feature, rows);
      for (size_t j = 0; j < width; j++) {
        turn_waves(count, w->by_feature + j * rows, panel + row + j * q, w->by_wave + j * count);
      }
      linalg_product('N', 'T', n_dims, count, width, 1.0, w->centred, w->by_wave, 1.0, slope);
      slope += n_dims * count;
    }
    row += term_features(gp, t);
  }
}

/* The pass over the points: residuals T - F'W, and what lengthscales need. */
static void pass_points(const gp_fourier *gp, const gp_targets *targets, const double *features,
                        workspace *w) {
  const size_t n = gp->n_points, rank = w->rank;
  memset(w->slope, 0, gp->kernel->n_dims * n_frequencies(gp) * sizeof *w->slope);
  w->error_sq = 0.0;
  for (size_t from = 0; from < n; from += PANEL) {
    const size_t width = n - from < PANEL ? n - from : PANEL;
    const double *panel = features + from * w->q;
    if (gps_must_stop(gp->watch)) return;
    memcpy(w->alpha, targets->root + from * rank, rank * width * sizeof *w->alpha);
    linalg_product('T', 'N', rank, width, w->q, -1.0, w->weights, panel, 1.0, w->alpha);
    w->error_sq += dot_of(rank * width, w->alpha, w->alpha);
    for (size_t i = 0; i < rank * width; i++) w->alpha[i] /= w->noise;
    centre_points(gp, from, width, w->centred);
    add_slopes(gp, (double)targets->n_targets, panel, width, w);
  }
}

/* How much the marginal likelihood gains from a feature's log variance: (|W_j|^2 - H (1 - noise
 * [B^-1]_jj)) / 2. */
static double variance_slope(const workspace *w, double n_targets, size_t j) {
  double sq = 0.0;
  for (size_t r = 0; r < w->rank; r++) sq += w->weights[j + r * w->q] * w->weights[j + r * w->q];
  return 0.5 * (sq - n_targets * (1.0 - w->noise * w->inverse[j * (w->q + 1)]));
}

static void gather_gradient(const gp_fourier *gp, const gp_targets *targets, const workspace *w,
                            double *gradient) {
  const size_t n_dims = gp->kernel->n_dims;
  const double n_targets = (double)targets->n_targets;
  const double *scaled = w->scaled, *slope = w->slope;
  double trace = ((double)gp->n_points - (double)w->q) / w->noise;
  size_t row = 0;
  for (size_t j = 0; j < w->q; j++) trace += w->inverse[j * (w->q + 1)];
  const double by_noise = 0.5 * (w->error_sq / w->noise / w->noise - n_targets * trace);
  memset(gradient, 0, gp->kernel->n_hyper * sizeof *gradient);
  kernel_add_noise_slope(gp->kernel, gp->theta, by_noise, gradient);
  for (int t = 0; t < gp->kernel->n_terms; t++) {
    const kernel_term *term = &gp->kernel->term[t];
    double *out = gradient + term->first;
    const int is_linear_ard = term->type->kind == KERNEL_DOT && term->is_ard;
    for (size_t j = 0; j < term_features(gp, t); j++) {
      out[is_linear_ard ? j : 0] += variance_slope(w, n_targets, row + j);
    }
    row += term_features(gp, t);
    if (!is_stationary(gp, t)) continue;
    for (size_t m = 0; m < gp->count[t]; m++, scaled += n_dims, slope += n_dims) {
      for (size_t d = 0; d < n_dims; d++) out[1 + (term->is_ard ? d : 0)] += scaled[d] * slope[d];
    }
  }
}

gps_status gp_fourier_evaluate(const gp_fourier *gp, const gp_targets *targets,
                               const double *features, double *jitter, double *value,
                               double *gradient, double *scratch) {
  workspace w = split_scratch(gp, targets->rank, scratch);
  const double n = (double)gp->n_points, n_targets = (double)targets->n_targets;
  const gps_status status = solve_weights(gp, targets, features, jitter, &w);
  if (status != GPS_OK) return status;
  scale_frequencies(gp, w.scaled);
  pass_points(gp, targets, features, &w);
  if (gps_must_stop(gp->watch)) return GPS_INTERRUPTED;
  /* T'K^-1 T as the minimum that W is: its error is of second order in that of W. */
  const double fit = w.error_sq / w.noise + dot_of(w.q * w.rank, w.weights, w.weights);
  const double log_det = w.log_det + (n - (double)w.q) * log(w.noise);
  *value = -0.5 * (fit + n_targets * (log_det + n * LOG_2PI));
  gather_gradient(gp, targets, &w, gradient);
  return gp_check_finite(*value, gp->kernel->n_hyper, gradient);
}
