/* Gaussian processes with a basis of Q functions instead of all pairs of points: the choice of
 * pivots, inducing points, and leave-one-out from features. Points are columns. Called by
 * r_gp_basis.c on the main thread; elementwise passes run on n_threads threads over disjoint
 * columns, so results have the same bits for any number. */
#ifndef GPSELECT_GP_BASIS_H
#define GPSELECT_GP_BASIS_H

#include "gp.h"
#include "gp_slots.h"

/* Points are treated this many at a time: their features stay in the second-level cache. */
#define GP_PANEL 256

/* How many points of n the panel has that begins at `from`. */
static inline size_t gp_panel_width(size_t n, size_t from) {
  return n - from < GP_PANEL ? n - from : GP_PANEL;
}

/* ---- pivots: incomplete Cholesky K ~ L L', K without noise ---- */

typedef struct {
  const gp_cross *cross;
  gp_points all; /* n_points of them */
  size_t max_rank;
  double tol;     /* stop where trace(K - L L') <= tol trace(K) */
  size_t *pivot;  /* [max_rank] 0-based */
  double *factor; /* L [n_points x max_rank] */
  double *trace;  /* [max_rank + 1] of K - L L' after each step */
  size_t rank;    /* found */
  double *scratch;
} gp_pivoting;

size_t gp_pivots_scratch(size_t n_dims, size_t n_points, size_t max_rank);

/* Each pivot has the largest residual on the diagonal, the first of those that equal it but for
 * rounding. Stops also where the residuals are rounding. */
gps_status gp_pivots_choose(gp_pivoting *job);

/* ---- features: K ~ F'F, the noise apart ---- */

/* transform [n_features x n_features] <- T = R^-1 with F F' + noise = R R' from the moments gram =
 * F F', so that u = T f has the leverage as its square. What had to be added to the noise is left
 * in `jitter`. */
gps_status gp_transform(size_t n_features, size_t n_points, double noise, const double *gram,
                        double *transform, double *jitter, const gps_watch *watch);

/* turned [n_features x n_points] = T features, which may be where the features are. */
void gp_turn(size_t n_features, size_t n_points, const double *transform, const double *features,
             double *turned, const gps_watch *watch);

/* Divides features by scale [n_points] = sqrt(residual + noise). */
void gp_scale_features(size_t n_features, size_t n_points, double noise, const double *residual,
                       double *features, double *scale);

/* cross [n_features x n_latents] += sum of f_n (y_n / scale_n)'; scale NULL: all 1. */
void gp_cross_slots(size_t n_features, size_t n_points, const double *features, const double *scale,
                    const gp_slots *slots, double *cross);

/* Predictions for points that are in the sums themselves, each with weight `weight`. */
typedef struct {
  size_t n_features, n_points, n_targets;
  const double *transform; /* T [n_features x n_features], NULL: it has been applied */
  const double *cross;     /* [n_features x n_targets] */
  const double *features;  /* [n_features x n_points] */
  const double *scale;     /* [n_points], NULL: all 1 */
  double weight;
  const gps_watch *watch; /* or NULL */
} gp_affinity_job;

/* With q = u'u of u = T f, own [n_points] = weight q / (1 - weight q), and mean [n_targets x
 * n_points] = scale u'P / (1 - weight q), P = T cross: what the others predict, but for the share
 * of the point's own targets y, which gp_leave_out_*() take away: mean -= own y. scratch
 * [gp_affinity_scratch()]. */
size_t gp_affinity_scratch(size_t n_features, size_t n_targets);
void gp_affinity_means(const gp_affinity_job *job, double *own, double *mean, double *scratch);
void gp_leave_out_dense(const gp_affinity_job *job, const double *own, const double *targets,
                        double *mean);
void gp_leave_out_slots(const gp_affinity_job *job, const double *own, const gp_slots *slots,
                        double *mean);

/* Predictions of points that are in no sum: scale f' T'T cross. weights [n_features x n_targets] is
 * scratch. */
void gp_plain_means(const gp_affinity_job *job, double *weights, double *mean);

/* ---- inducing points z: f = Lu^-1 k(z, x), K(z, z) = Lu Lu' ---- */

typedef struct {
  const gp_cross *cross;
  gp_points z;            /* n_inducing of them */
  double *inverse;        /* Lu^-1 [n_inducing x n_inducing] */
  double relative_jitter; /* added to K(z, z) in units of its mean diagonal */
} gp_inducing;

/* Lu^-1, with as much jitter as it takes. gram [n_inducing x n_inducing] is scratch. */
gps_status gp_inducing_factor(gp_inducing *basis, double *gram);

/* features [n_inducing x n] of at most GP_PANEL points, and residual [n] = k(x, x) - f'f, at least
 * 0. `is_ready`: the basis' coordinates are there from the panel before. scratch
 * [gp_inducing_scratch()]. */
size_t gp_inducing_scratch(size_t n_dims, size_t n_inducing);
void gp_inducing_features(const gp_inducing *basis, size_t n, const double *x, int is_ready,
                          double *features, double *residual, double *scratch);

/* ---- marginal likelihood with inducing points ---- */

/* K ~ F'F + noise; the same less H / (2 noise) sum of residuals, a lower bound of the exact value;
 * K ~ F'F + residuals + noise. */
typedef enum { GP_DTC, GP_VFE, GP_FITC } gp_objective;

typedef struct {
  gp_inducing *basis;
  gp_objective objective;
  double extra;  /* noise beside the kernel's own, a constant */
  double jitter; /* the same; more where nothing else helps */
  size_t n_points;
  const double *x; /* [n_dims x n_points] */
  const gp_targets *targets;
  double *scratch; /* [gp_inducing_evaluate_scratch()] */
} gp_inducing_job;

size_t gp_inducing_evaluate_scratch(const gps_kernel *kernel, size_t n_inducing, size_t n_points,
                                    size_t rank);

/* The value, its gradient [n_hyper], and unless NULL its derivatives by z, inputs [n_dims x
 * n_inducing]. */
gps_status gp_inducing_evaluate(gp_inducing_job *job, double *value, double *gradient,
                                double *inputs);

#endif
