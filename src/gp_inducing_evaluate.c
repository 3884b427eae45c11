/* Marginal likelihood with inducing points and its gradient in kernel parameters and points, by
 * contraction: no derivative matrices, and nothing that cancels as the noise vanishes. With V the
 * features over the standard deviations of the noise lambda, Y the targets likewise, B = I + V V' =
 * R R', W = B^-1 V Y' and E = Y - W'V,
 *   2 value = -|E|^2 - |W|^2 - H (log |B| + sum log lambda + N log 2 pi).
 * Since V E' = W, the derivatives by K(z, z) need no pass over the points but for FITC.
 * Quinonero-Candela and Rasmussen (2005), Titsias (2009). Called by r_gp_basis.c. */
#include <math.h>
#include <string.h>

#include "gp_basis.h"
#include "vector_math.h"

typedef struct {
  double *v;                              /* [n_inducing x n_points] V */
  double *residual;                       /* [n_points] k(x, x) - f'f */
  double *sd;                             /* [n_points] sqrt(lambda) */
  double *slack;                          /* [n_points] derivative by lambda, times lambda */
  double *error;                          /* [rank x n_points] E */
  double *weight;                         /* [n_inducing x rank] W, in the end Lu^-T W */
  double *b, *b_inverse, *left, *product; /* [n_inducing x n_inducing] */
  double *pull; /* [n_inducing x GP_PANEL] derivatives by k(z, x), first half of them times sd */
  double *panel;
} workspace;

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

/* A panel of points against z, or z against itself with a gradient of its own. */
static size_t panel_scratch(const gps_kernel *kernel, size_t q) {
  const size_t n_dims = kernel->n_dims;
  const size_t points = gp_points_scratch(n_dims, GP_PANEL) + GP_PANEL * n_dims +
                        gp_cross_contract_scratch(kernel, q, GP_PANEL);
  const size_t inducing = n_dims * q + gp_cross_contract_scratch(kernel, q, q);
  return max_size(gp_inducing_scratch(n_dims, q), max_size(points, inducing));
}

size_t gp_inducing_evaluate_scratch(const gps_kernel *kernel, size_t n_inducing, size_t n_points,
                                    size_t rank) {
  return n_points * (n_inducing + rank + 3) + n_inducing * (4 * n_inducing + rank + GP_PANEL) +
         panel_scratch(kernel, n_inducing);
}

static workspace split_scratch(const gp_inducing_job *job) {
  const size_t n = job->n_points, q = job->basis->z.n, rank = job->targets->rank;
  workspace w = {.v = job->scratch};
  w.residual = w.v + q * n;
  w.sd = w.residual + n;
  w.slack = w.sd + n;
  w.error = w.slack + n;
  w.weight = w.error + rank * n;
  w.b = w.weight + q * rank;
  w.b_inverse = w.b + q * q;
  w.left = w.b_inverse + q * q;
  w.product = w.left + q * q;
  w.pull = w.product + q * q;
  w.panel = w.pull + q * GP_PANEL;
  return w;
}

static double noise_of(const gp_inducing_job *job) {
  return kernel_noise(job->basis->cross->kernel, job->basis->cross->theta) + job->extra +
         job->jitter;
}

/* V and B, and in the same units the targets in `error` and V Y' in `weight`. */
static void sum_moments(const gp_inducing_job *job, const workspace *w) {
  const size_t n = job->n_points, q = job->basis->z.n, rank = job->targets->rank;
  const size_t n_dims = job->basis->cross->kernel->n_dims;
  const double noise = noise_of(job);
  for (size_t from = 0; from < n; from += GP_PANEL) {
    const size_t width = gp_panel_width(n, from);
    const double beta = from > 0;
    if (gps_must_stop(job->basis->cross->watch)) return;
    double *v = w->v + from * q, *y = w->error + from * rank, *sd = w->sd + from;
    gp_inducing_features(job->basis, width, job->x + from * n_dims, from > 0, v, w->residual + from,
                         w->panel);
    for (size_t j = 0; j < width; j++) {
      sd[j] = sqrt(noise + (job->objective == GP_FITC ? w->residual[from + j] : 0.0));
      scale_to(q, 1.0 / sd[j], v + j * q, v + j * q);
      scale_to(rank, 1.0 / sd[j], job->targets->root + (from + j) * rank, y + j * rank);
    }
    linalg_syrk('N', q, width, 1.0, v, q, beta, w->b, q);
    linalg_product('N', 'T', q, rank, width, 1.0, v, y, beta, w->weight);
  }
  for (size_t i = 0; i < q; i++) w->b[i * (q + 1)] += 1.0;
}

/* B and left = R^-1, with as much jitter as it takes. */
static gps_status factor_moments(gp_inducing_job *job, const workspace *w, double *log_det) {
  const size_t n = job->n_points, q = job->basis->z.n;
  const gp_cross *cross = job->basis->cross;
  for (int step = 1;; step++) {
    gps_status status = GPS_NOT_POSDEF;
    if (noise_of(job) > 0.0) {
      sum_moments(job, w);
      if (gps_must_stop(cross->watch)) return GPS_INTERRUPTED;
      memcpy(w->left, w->b, q * q * sizeof *w->left);
      status = linalg_factor_inverse(q, w->left, q, linalg_trace(q, w->b), log_det, cross->watch);
    }
    if (status != GPS_NOT_POSDEF) return status;
    kernel_diagonal(cross->kernel, cross->theta, n, job->x, w->slack);
    const double jitter = gp_jitter_step(step, n, sum_of(n, w->slack) / (double)n);
    if (!(jitter > 0.0)) return status;
    job->jitter = jitter;
  }
}

/* W and E; returns |E|^2 + |W|^2. */
static double explain_targets(const gp_inducing_job *job, const workspace *w) {
  const size_t n = job->n_points, q = job->basis->z.n, rank = job->targets->rank;
  linalg_trmm('L', 'N', q, rank, w->left, q, w->weight, q);
  linalg_trmm('L', 'T', q, rank, w->left, q, w->weight, q);
  linalg_product('T', 'N', rank, n, q, -1.0, w->weight, w->v, 1.0, w->error);
  return dot_of(rank * n, w->error, w->error) + dot_of(q * rank, w->weight, w->weight);
}

/* With U = (W E + H A V) / 2, where A = -B^-1, or 1 - B^-1 for the bound, the derivative by k(z, x)
 * is 2 Lu^-T U over sd, and that by K(z, z) is -Lu^-T X Lu^-1 with X = U V'. Here product <- X = (W
 * W' + H A (B - 1)) / 2, left <- Lu^-T H A / 2 and weight <- Lu^-T W. Returns the derivative by the
 * noise. */
static double pull_of_noise(const gp_inducing_job *job, const workspace *w) {
  const size_t n = job->n_points, q = job->basis->z.n, rank = job->targets->rank;
  const double n_targets = (double)job->targets->n_targets, half = 0.5 * n_targets;
  const int is_bound = job->objective == GP_VFE;
  const double trace = linalg_trace(q, w->b_inverse);
  linalg_syrk('N', q, rank, 0.5, w->weight, q, 0.0, w->product, q);
  for (size_t j = 0; j < q; j++) {
    for (size_t i = 0; i < q; i++) {
      const double inverse = w->b_inverse[i + j * q], rest = is_bound ? w->b[i + j * q] : 0.0;
      w->left[i + j * q] = half * ((i == j && is_bound) - inverse);
      if (i >= j) w->product[i + j * q] += half * (inverse + rest - (i == j) * (1 + is_bound));
    }
  }
  linalg_mirror(q, w->product, q);
  linalg_trmm('L', 'T', q, q, job->basis->inverse, q, w->left, q);
  linalg_trmm('L', 'T', q, rank, job->basis->inverse, q, w->weight, q);
  const double fit = dot_of(rank * n, w->error, w->error);
  const double lost = is_bound ? n_targets * sum_of(n, w->residual) / noise_of(job) : 0.0;
  return 0.5 / noise_of(job) * (fit - n_targets * ((double)n - (double)q + trace) + lost);
}

/* pull <- Lu^-T U of a panel. */
static void pull_panel(const gp_inducing_job *job, const workspace *w, size_t from, size_t width) {
  const size_t q = job->basis->z.n, rank = job->targets->rank;
  linalg_product('N', 'N', q, width, q, 1.0, w->left, w->v + from * q, 0.0, w->pull);
  linalg_product('N', 'N', q, width, rank, 0.5, w->weight, w->error + from * rank, 1.0, w->pull);
}

/* The same where each point has a noise of its own: the derivative by it, slack, is a part of U,
 * and X is summed over the panels. Returns the panel's derivative by the common noise. */
static double pull_panel_fitc(const gp_inducing_job *job, const workspace *w, size_t from,
                              size_t width) {
  const size_t q = job->basis->z.n, rank = job->targets->rank;
  const double n_targets = (double)job->targets->n_targets;
  const double *v = w->v + from * q, *e = w->error + from * rank;
  double total = 0.0;
  linalg_symm('L', q, width, -0.5 * n_targets, w->b_inverse, q, v, q, 0.0, w->pull, q);
  for (size_t j = 0; j < width; j++) {
    double *u = w->pull + j * q, sd = w->sd[from + j];
    const double unexplained = n_targets + 2.0 * dot_of(q, v + j * q, u);
    const double slack = 0.5 * (dot_of(rank, e + j * rank, e + j * rank) - unexplained);
    add_multiple(q, -slack, v + j * q, u);
    w->slack[from + j] = slack;
    total += slack / (sd * sd);
  }
  linalg_product('N', 'N', q, width, rank, 0.5, w->weight, e, 1.0, w->pull);
  linalg_product('N', 'T', q, q, width, 1.0, w->pull, v, from > 0, w->product);
  linalg_trmm('L', 'T', q, width, job->basis->inverse, q, w->pull, q);
  return total;
}

/* Derivatives by K(z, z) from X in `product`, and by the jitter on its diagonal. */
static void contract_inducing(const gp_inducing_job *job, const workspace *w, double *gradient,
                              double *inputs) {
  gp_inducing *basis = job->basis;
  const size_t q = basis->z.n, n_dims = basis->cross->kernel->n_dims;
  double *by_z = w->panel, *scratch = w->panel + n_dims * q;
  linalg_trmm('L', 'T', q, q, basis->inverse, q, w->product, q);
  linalg_trmm('R', 'N', q, q, basis->inverse, q, w->product, q);
  for (size_t i = 0; i < q * q; i++) w->product[i] = -w->product[i];
  const double by_jitter = basis->relative_jitter / (double)q * linalg_trace(q, w->product);
  for (size_t i = 0; i < q; i++) w->product[i * (q + 1)] += by_jitter;
  memset(by_z, 0, n_dims * q * sizeof *by_z);
  gp_cross_contract(basis->cross, &basis->z, &basis->z, w->product, gradient, inputs ? by_z : NULL,
                    scratch);
  if (inputs) add_multiple(n_dims * q, 2.0, by_z, inputs);
}

/* Derivatives by k(z, x); returns what pull_panel_fitc() does, 0 for the other objectives. */
static double contract_points(const gp_inducing_job *job, const workspace *w, double *gradient,
                              double *inputs) {
  const gp_cross *cross = job->basis->cross;
  const size_t n = job->n_points, q = job->basis->z.n, n_dims = cross->kernel->n_dims;
  double *shifted = w->panel, *coordinates = shifted + GP_PANEL * n_dims, total = 0.0;
  double *scratch = coordinates + gp_points_scratch(n_dims, GP_PANEL);
  for (size_t from = 0; from < n; from += GP_PANEL) {
    const size_t width = gp_panel_width(n, from);
    const double *x = job->x + from * n_dims;
    const gp_points points = gp_points_at(n_dims, width, x, shifted, coordinates);
    if (gps_must_stop(cross->watch)) break;
    if (job->objective == GP_FITC) {
      total += pull_panel_fitc(job, w, from, width);
    } else {
      pull_panel(job, w, from, width);
    }
    for (size_t j = 0; j < width; j++) {
      scale_to(q, 2.0 / w->sd[from + j], w->pull + j * q, w->pull + j * q);
    }
    kernel_shift(&cross->centre, width, x, shifted);
    gp_cross_contract(cross, &job->basis->z, &points, w->pull, gradient, inputs, scratch);
  }
  return total;
}

/* Derivatives by k(x, x) through the residuals. */
static void contract_residuals(const gp_inducing_job *job, const workspace *w, double *gradient) {
  const gp_cross *cross = job->basis->cross;
  const double lost = -0.5 * (double)job->targets->n_targets / noise_of(job);
  if (job->objective == GP_DTC) return;
  for (size_t j = 0; j < job->n_points; j++) {
    w->slack[j] = job->objective == GP_VFE ? lost : w->slack[j] / (w->sd[j] * w->sd[j]);
  }
  kernel_contract_diagonal(cross->kernel, cross->theta, job->n_points, job->x, w->slack, gradient);
}

static void differentiate(const gp_inducing_job *job, const workspace *w, double *gradient,
                          double *inputs) {
  const gps_kernel *kernel = job->basis->cross->kernel;
  const size_t q = job->basis->z.n;
  memset(gradient, 0, kernel->n_hyper * sizeof *gradient);
  if (inputs) memset(inputs, 0, kernel->n_dims * q * sizeof *inputs);
  memcpy(w->b_inverse, w->left, q * q * sizeof *w->left);
  linalg_lower_gram(q, w->b_inverse, q, job->basis->cross->watch);
  linalg_mirror(q, w->b_inverse, q);
  double by_noise = job->objective == GP_FITC ? 0.0 : pull_of_noise(job, w);
  by_noise += contract_points(job, w, gradient, inputs);
  contract_inducing(job, w, gradient, inputs);
  contract_residuals(job, w, gradient);
  kernel_add_noise_slope(kernel, job->basis->cross->theta, by_noise, gradient);
}

gps_status gp_inducing_evaluate(gp_inducing_job *job, double *value, double *gradient,
                                double *inputs) {
  const workspace w = split_scratch(job);
  const size_t n = job->n_points;
  const double n_targets = (double)job->targets->n_targets;
  double log_det, log_noise = 0.0;
  const gps_status status = factor_moments(job, &w, &log_det);
  if (status != GPS_OK) return status;
  const double quadratic = explain_targets(job, &w);
  for (size_t j = 0; j < n; j++) log_noise += 2.0 * log(w.sd[j]);
  *value = -0.5 * (quadratic + n_targets * (log_det + log_noise + (double)n * LOG_2PI));
  if (job->objective == GP_VFE) *value -= 0.5 * n_targets * sum_of(n, w.residual) / noise_of(job);
  if (!isfinite(*value)) return GPS_NOT_FINITE;
  differentiate(job, &w, gradient, inputs);
  if (gps_must_stop(job->basis->cross->watch)) return GPS_INTERRUPTED;
  return gp_check_finite(*value, job->basis->cross->kernel->n_hyper, gradient);
}
