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

#define LOG_2PI 1.83787706640934548356

typedef struct {
  double *v;        /* [n_inducing x n_points] V */
  double *pull;     /* [n_inducing x n_points] half of the derivative by k(z, x), times sd */
  double *residual; /* [n_points] k(x, x) - f'f */
  double *sd;       /* [n_points] sqrt(lambda) */
  double *slack;    /* [n_points] derivative by lambda, times lambda */
  double *error;    /* [rank x n_points] E */
  double *weight;   /* [n_inducing x rank] W */
  double *b, *b_inverse, *left, *product; /* [n_inducing x n_inducing] */
  double *panel;
} workspace;

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

/* Panels of points against z, and z against itself. */
static size_t panel_scratch(size_t n_dims, size_t q) {
  const size_t contract = max_size(gp_cross_contract_scratch(n_dims, q, GP_PANEL),
                                   gp_cross_contract_scratch(n_dims, q, q) + n_dims * q);
  return gp_points_scratch(n_dims, GP_PANEL) + max_size(contract, gp_inducing_scratch(n_dims, q));
}

size_t gp_inducing_evaluate_scratch(size_t n_dims, size_t n_inducing, size_t n_points,
                                    size_t rank) {
  return n_points * (2 * n_inducing + rank + 3) + n_inducing * (4 * n_inducing + rank) +
         panel_scratch(n_dims, n_inducing);
}

static workspace split_scratch(const gp_inducing_job *job) {
  const size_t n = job->n_points, q = job->basis->n_inducing, rank = job->targets->rank;
  workspace w = {.v = job->scratch};
  w.pull = w.v + q * n;
  w.residual = w.pull + q * n;
  w.sd = w.residual + n;
  w.slack = w.sd + n;
  w.error = w.slack + n;
  w.weight = w.error + rank * n;
  w.b = w.weight + q * rank;
  w.b_inverse = w.b + q * q;
  w.left = w.b_inverse + q * q;
  w.product = w.left + q * q;
  w.panel = w.product + q * q;
  return w;
}

GPS_CLONES static double sum_of(size_t n, const double *x) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) sum += x[i];
  return sum;
}

GPS_CLONES static double dot_of(size_t n, const double *x, const double *y) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

GPS_CLONES static void scale_into(size_t n, double factor, const double *x, double *out) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) out[i] = factor * x[i];
}

GPS_CLONES static void add_scaled(size_t n, double factor, const double *x, double *out) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) out[i] += factor * x[i];
}

static double noise_of(const gp_inducing_job *job) {
  return kernel_noise(job->basis->cross->kernel, job->basis->cross->theta) + job->extra +
         job->jitter;
}

/* The noise's standard deviations; V and, as yet without what they explain, E in their units. */
static void scale_points(const gp_inducing_job *job, const workspace *w, const double *features) {
  const size_t n = job->n_points, q = job->basis->n_inducing, rank = job->targets->rank;
  const double noise = noise_of(job);
  for (size_t j = 0; j < n; j++) {
    w->sd[j] = sqrt(noise + (job->objective == GP_FITC ? w->residual[j] : 0.0));
    scale_into(q, 1.0 / w->sd[j], features + j * q, w->v + j * q);
    scale_into(rank, 1.0 / w->sd[j], job->targets->root + j * rank, w->error + j * rank);
  }
}

/* B, and left = R^-1, with as much jitter as it takes. The features wait in `pull`. */
static gps_status factor_moments(gp_inducing_job *job, const workspace *w, double *log_det) {
  const size_t n = job->n_points, q = job->basis->n_inducing;
  const gp_cross *cross = job->basis->cross;
  kernel_diagonal(cross->kernel, cross->theta, n, job->x, w->slack);
  const double diagonal = sum_of(n, w->slack) / (double)n;
  if (!isfinite(diagonal)) return GPS_NOT_FINITE;
  for (int step = 1;; step++) {
    gps_status status = GPS_NOT_POSDEF;
    if (noise_of(job) > 0.0) {
      double trace = 0.0;
      scale_points(job, w, w->pull);
      linalg_syrk('N', q, n, 1.0, w->v, q, 0.0, w->b, q);
      for (size_t i = 0; i < q; i++) trace += w->b[i * (q + 1)] += 1.0;
      memcpy(w->left, w->b, q * q * sizeof *w->left);
      status = linalg_factor_inverse(q, w->left, q, trace, log_det);
    }
    if (status != GPS_NOT_POSDEF) return status;
    const double jitter = gp_jitter_step(step, n, diagonal);
    if (jitter < 0.0) return status;
    job->jitter = jitter;
  }
}

/* W and E; returns |E|^2 + |W|^2. */
static double explain_targets(const gp_inducing_job *job, const workspace *w) {
  const size_t n = job->n_points, q = job->basis->n_inducing, rank = job->targets->rank;
  linalg_gemm('N', 'T', q, rank, n, 1.0, w->v, q, w->error, rank, 0.0, w->weight, q);
  linalg_trmm('L', 'N', q, rank, w->left, q, w->weight, q);
  linalg_trmm('L', 'T', q, rank, w->left, q, w->weight, q);
  linalg_gemm('T', 'N', rank, n, q, -1.0, w->weight, q, w->v, q, 1.0, w->error, rank);
  return dot_of(rank * n, w->error, w->error) + dot_of(q * rank, w->weight, w->weight);
}

/* product <- X of the derivative -Lu^-T X Lu^-1 by K(z, z), both halves, but for what FITC adds:
 * half of W W' + H A (B - 1), where A = -B^-1, or 1 - B^-1 for the bound. */
static void pull_of_inducing(const gp_inducing_job *job, const workspace *w) {
  const size_t q = job->basis->n_inducing, rank = job->targets->rank;
  const double half = 0.5 * (double)job->targets->n_targets;
  const int is_bound = job->objective == GP_VFE;
  linalg_syrk('N', q, rank, 0.5, w->weight, q, 0.0, w->product, q);
  for (size_t j = 0; j < q; j++) {
    for (size_t i = j; i < q; i++) {
      const double rest = w->b_inverse[i + j * q] + (is_bound ? w->b[i + j * q] : 0.0);
      w->product[i + j * q] += half * (rest - (i == j ? 1.0 + is_bound : 0.0));
    }
  }
  linalg_mirror(q, w->product, q);
}

/* pull <- Lu^-T (W E + H A V) / 2, which one matrix Lu^-T A serves. Returns the derivative by the
 * noise. */
static double pull_with_constant_noise(const gp_inducing_job *job, const workspace *w) {
  const size_t n = job->n_points, q = job->basis->n_inducing, rank = job->targets->rank;
  const double n_targets = (double)job->targets->n_targets, noise = noise_of(job);
  const int is_bound = job->objective == GP_VFE;
  double trace = 0.0;
  for (size_t i = 0; i < q * q; i++) w->left[i] = -0.5 * n_targets * w->b_inverse[i];
  for (size_t i = 0; i < q; i++) {
    if (is_bound) w->left[i * (q + 1)] += 0.5 * n_targets;
    trace += w->b_inverse[i * (q + 1)];
  }
  linalg_trsm('L', 'T', q, q, job->basis->factor, q, w->left, q);
  linalg_trsm('L', 'T', q, rank, job->basis->factor, q, w->weight, q);
  linalg_gemm('N', 'N', q, n, q, 1.0, w->left, q, w->v, q, 0.0, w->pull, q);
  linalg_gemm('N', 'N', q, n, rank, 0.5, w->weight, q, w->error, rank, 1.0, w->pull, q);
  const double lost = is_bound ? n_targets * sum_of(n, w->residual) / noise : 0.0;
  return 0.5 / noise *
         (dot_of(rank * n, w->error, w->error) - n_targets * ((double)n - (double)q + trace) +
          lost);
}

/* The same where each point has its own noise: slack, the derivative by it, takes part. */
static double pull_with_own_noise(const gp_inducing_job *job, const workspace *w) {
  const size_t n = job->n_points, q = job->basis->n_inducing, rank = job->targets->rank;
  const double n_targets = (double)job->targets->n_targets;
  double total = 0.0;
  linalg_symm('L', q, n, -0.5 * n_targets, w->b_inverse, q, w->v, q, 0.0, w->pull, q);
  for (size_t j = 0; j < n; j++) {
    const double *e = w->error + j * rank, *v = w->v + j * q;
    const double own = n_targets + 2.0 * dot_of(q, v, w->pull + j * q);
    w->slack[j] = 0.5 * (dot_of(rank, e, e) - own);
    add_scaled(q, -w->slack[j], v, w->pull + j * q);
    total += w->slack[j] / (w->sd[j] * w->sd[j]);
  }
  linalg_gemm('N', 'N', q, n, rank, 0.5, w->weight, q, w->error, rank, 1.0, w->pull, q);
  /* X = (W E + H A V) V' / 2 with the slack in it, for which there is no short form. */
  linalg_gemm('N', 'T', q, q, n, 1.0, w->pull, q, w->v, q, 0.0, w->product, q);
  linalg_trsm('L', 'T', q, n, job->basis->factor, q, w->pull, q);
  return total;
}

/* Derivatives by K(z, z) from X in `product`, and by the jitter on its diagonal. */
static void contract_inducing(const gp_inducing_job *job, const workspace *w, double *gradient,
                              double *inputs) {
  gp_inducing *basis = job->basis;
  const size_t q = basis->n_inducing, n_dims = basis->cross->kernel->n_dims;
  double trace = 0.0, *by_z = w->panel, *scratch = w->panel + n_dims * q;
  linalg_trsm('L', 'T', q, q, basis->factor, q, w->product, q);
  linalg_trsm('R', 'N', q, q, basis->factor, q, w->product, q);
  for (size_t i = 0; i < q * q; i++) w->product[i] = -w->product[i];
  for (size_t i = 0; i < q; i++) trace += w->product[i * (q + 1)];
  for (size_t i = 0; i < q; i++) {
    w->product[i * (q + 1)] += basis->relative_jitter / (double)q * trace;
  }
  const gp_points z = gp_inducing_points(basis);
  memset(by_z, 0, n_dims * q * sizeof *by_z);
  gp_cross_contract(basis->cross, &z, &z, w->product, gradient, inputs ? by_z : NULL, scratch);
  if (inputs) add_scaled(n_dims * q, 2.0, by_z, inputs);
}

/* Derivatives by k(z, x), and by k(x, x) through the residuals. */
static void contract_points(const gp_inducing_job *job, const workspace *w, double *gradient,
                            double *inputs) {
  const gp_inducing *basis = job->basis;
  const size_t n = job->n_points, q = basis->n_inducing, n_dims = basis->cross->kernel->n_dims;
  const gp_points z = gp_inducing_points(basis);
  const double lost = -0.5 * (double)job->targets->n_targets / noise_of(job);
  for (size_t from = 0; from < n; from += GP_PANEL) {
    const size_t width = n - from < GP_PANEL ? n - from : GP_PANEL;
    const gp_points points =
        gp_points_at(n_dims, width, job->x + from * n_dims, job->shifted + from * n_dims, w->panel);
    double *pull = w->pull + from * q;
    for (size_t j = 0; j < width; j++) {
      scale_into(q, 2.0 / w->sd[from + j], pull + j * q, pull + j * q);
    }
    gp_cross_contract(basis->cross, &z, &points, pull, gradient, inputs,
                      w->panel + gp_points_scratch(n_dims, GP_PANEL));
  }
  if (job->objective == GP_DTC) return;
  for (size_t j = 0; j < n; j++) {
    w->slack[j] = job->objective == GP_VFE ? lost : w->slack[j] / (w->sd[j] * w->sd[j]);
  }
  kernel_contract_diagonal(basis->cross->kernel, basis->cross->theta, n, job->x, w->slack,
                           gradient);
}

static void differentiate(const gp_inducing_job *job, const workspace *w, double *gradient,
                          double *inputs) {
  const gps_kernel *kernel = job->basis->cross->kernel;
  const size_t q = job->basis->n_inducing, n_dims = kernel->n_dims;
  memset(gradient, 0, kernel->n_hyper * sizeof *gradient);
  if (inputs) memset(inputs, 0, n_dims * q * sizeof *inputs);
  memcpy(w->b_inverse, w->left, q * q * sizeof *w->left);
  linalg_lower_gram(q, w->b_inverse, q);
  linalg_mirror(q, w->b_inverse, q);
  double by_noise;
  if (job->objective == GP_FITC) {
    by_noise = pull_with_own_noise(job, w);
  } else {
    pull_of_inducing(job, w);
    by_noise = pull_with_constant_noise(job, w);
  }
  contract_inducing(job, w, gradient, inputs);
  contract_points(job, w, gradient, inputs);
  for (int t = 0; t < kernel->n_terms; t++) {
    const kernel_term *term = &kernel->term[t];
    if (term->type->kind != KERNEL_INDEX) continue;
    gradient[term->first] = exp(job->basis->cross->theta[term->first]) * by_noise;
  }
}

gps_status gp_inducing_evaluate(gp_inducing_job *job, double *value, double *gradient,
                                double *inputs) {
  const workspace w = split_scratch(job);
  const size_t n = job->n_points;
  const double n_targets = (double)job->targets->n_targets;
  double log_det, log_noise = 0.0;
  gp_inducing_features(job->basis, n, job->x, job->shifted, w.pull, w.residual, w.panel);
  const gps_status status = factor_moments(job, &w, &log_det);
  if (status != GPS_OK) return status;
  const double quadratic = explain_targets(job, &w);
  for (size_t j = 0; j < n; j++) log_noise += 2.0 * log(w.sd[j]);
  *value = -0.5 * (quadratic + n_targets * (log_det + log_noise + (double)n * LOG_2PI));
  if (job->objective == GP_VFE) *value -= 0.5 * n_targets * sum_of(n, w.residual) / noise_of(job);
  if (!isfinite(*value)) return GPS_NOT_FINITE;
  differentiate(job, &w, gradient, inputs);
  for (size_t h = 0; h < job->basis->cross->kernel->n_hyper; h++) {
    if (!isfinite(gradient[h])) return GPS_NOT_FINITE;
  }
  return GPS_OK;
}
