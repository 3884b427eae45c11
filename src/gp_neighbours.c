/* Local kriging: one point is predicted from its neighbours (Vecchia 1988; Datta and others 2016).
 * Called by r_gp_neighbours.c. */
#include "gp_neighbours.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "gp_neighbours_local.h"
#include "threads.h"
#include "vector_math.h"

#define SMALL_CHOL_SIMD _Pragma("omp simd")
#include "gpselect/small_chol.h"

/* Points that are worked on before the watch is asked. */
#define SLICE 4096

size_t gp_local_scratch(const gp_local *local) {
  const size_t n_dims = local->kernel->n_dims, n = local->n_near + 1;
  return 2 * n_dims * (n + 1) + gp_points_scratch(n_dims, n) + 2 * n + 3 * n * n +
         local->kernel->n_hyper;
}

gp_near gp_near_at(const gp_local *local, double *scratch) {
  const size_t n_dims = local->kernel->n_dims, n = local->n_near + 1;
  gp_near near = {.n = n, .x = scratch};
  near.shifted = near.x + n_dims * n;
  near.centre = (kernel_centre){n_dims, near.shifted + n_dims * n, near.shifted + n_dims * (n + 1)};
  double *coordinates = near.centre.mean + n_dims;
  near.points = gp_points_at(n_dims, n, near.x, near.shifted, coordinates);
  near.w = coordinates + gp_points_scratch(n_dims, n);
  near.u = near.w + n;
  near.gram = near.u + n;
  near.k = near.gram + n * n;
  near.a = near.k + n * n;
  near.sums = near.a + n * n;
  memset(near.centre.mean, 0, n_dims * sizeof *near.centre.mean);
  return near;
}

static void gather(const gp_local *local, size_t q, gp_near *near) {
  const size_t n_dims = local->kernel->n_dims;
  const int *point = local->near + q * local->n_near;
  const double *at = local->at + q * n_dims;
  size_t n = 0;
  for (; n < local->n_near && point[n] >= 0; n++) {
    memcpy(near->x + n * n_dims, local->x + (size_t)point[n] * n_dims, n_dims * sizeof *near->x);
  }
  memcpy(near->x + n * n_dims, at, n_dims * sizeof *near->x);
  memcpy(near->centre.origin, at, n_dims * sizeof *near->x);
  near->n = near->points.n = n + 1;
  kernel_shift(&near->centre, near->n, near->x, near->shifted);
}

/* Lower triangle of z'z. */
GPS_CLONES static void inner_products(size_t n_dims, size_t n, const double *z, double *gram) {
  for (size_t b = 0; b < n; b++) {
    for (size_t i = b; i < n; i++) {
      double sum = 0.0;
#pragma omp simd reduction(+ : sum)
      for (size_t d = 0; d < n_dims; d++) sum += z[d + i * n_dims] * z[d + b * n_dims];
      gram[i + b * n] = sum;
    }
  }
}

static void embed(const gp_local *local, const kernel_metric *metric, gp_near *near) {
  gp_points_embed(metric, &near->centre, &near->points);
  if (!metric->needs_gram) return;
  inner_products(local->kernel->n_dims, near->n, near->points.z, near->gram);
}

/* Point b with itself and those after it. */
static kernel_pairs pairs_of(const kernel_metric *metric, const gp_near *near, size_t b) {
  const gp_points *points = &near->points;
  return gp_pairs_of(metric, points, b, points, b, near->gram + b * (near->n + 1));
}

static void fill_kernel(const gp_local *local, gp_near *near) {
  const size_t n = near->n;
  const int n_metrics = kernel_n_metrics(local->kernel);
  memset(near->k, 0, n * n * sizeof *near->k);
  for (int which = 0; which < n_metrics; which++) {
    const kernel_metric metric = kernel_metric_at(local->kernel, local->theta, which);
    if (metric.n_terms == 0) continue;
    embed(local, &metric, near);
    for (size_t b = 0; b < n; b++) {
      const kernel_pairs pairs = pairs_of(&metric, near, b);
      kernel_add_values(&metric, &pairs, near->k + b + b * n);
    }
  }
  near->own = near->k[n * n - 1];
  const double noise = kernel_noise(local->kernel, local->theta) + local->jitter;
  for (size_t b = 0; b < n; b++) near->k[b * (n + 1)] += noise;
}

/* The factor of near->k in its place, and from its last row the weights; 0 where it has none. */
GPS_CLONES static int solve_last(gp_near *near) {
  const size_t n = near->n;
  if (small_cholesky(n, near->k, 0) != 0) return 0;
  for (size_t j = 0; j + 1 < n; j++) near->w[j] = near->k[n - 1 + j * n];
  small_backward_in(n - 1, n, near->k, near->w);
  return 1;
}

int gp_near_solve(const gp_local *local, size_t q, gp_near *near) {
  gather(local, q, near);
  fill_kernel(local, near);
  return solve_last(near);
}

GPS_CLONES void gp_near_weigh(gp_near *near) {
  small_forward_in(near->n - 1, near->n, near->k, near->u);
  small_backward_in(near->n - 1, near->n, near->k, near->u);
}

/* ---- gradient ---- */

/* A metric with a scale for each dimension: weights of squared differences, or of products. */
GPS_CLONES static void contract_scales(size_t n_dims, size_t n, int is_dot, const double *x,
                                       const double *at, const double *scale, const double *weight,
                                       double *gradient) {
  for (size_t i = 0; i < n; i++) {
    const double *other = x + i * n_dims, factor = weight[i];
#pragma omp simd
    for (size_t d = 0; d < n_dims; d++) {
      const double difference = (other[d] - at[d]) * scale[d];
      const double product = other[d] * scale[d] * (at[d] * scale[d]);
      gradient[d] += factor * (is_dot ? product : difference * difference);
    }
  }
}

static void contract_metric(const gp_local *local, const kernel_metric *metric, gp_near *near,
                            double *gradient) {
  const size_t n = near->n, n_dims = local->kernel->n_dims;
  const kernel_term *first = &local->kernel->term[metric->term[0]];
  const int is_dot = first->type->kind == KERNEL_DOT;
  const size_t n_hyper = local->kernel->n_hyper;
  memset(near->sums, 0, n_hyper * sizeof *near->sums);
  embed(local, metric, near);
  for (size_t b = 0; b < n; b++) {
    const kernel_pairs pairs = pairs_of(metric, near, b);
    /* The slopes take the place of the products that they are made from. */
    double *slope = near->gram + b + b * n;
    kernel_contract(metric, &pairs, near->a + b + b * n, 1, near->sums,
                    metric->is_ard ? slope : NULL);
    if (!metric->is_ard) continue;
    contract_scales(n_dims, n - b, is_dot, pairs.x, pairs.x_at, near->points.scale, slope,
                    gradient + first->first + !is_dot);
  }
  for (size_t h = 0; h < n_hyper; h++) gradient[h] += near->sums[h];
}

void gp_near_contract(const gp_local *local, gp_near *near, double *gradient) {
  const int n_metrics = kernel_n_metrics(local->kernel);
  for (int which = 0; which < n_metrics; which++) {
    const kernel_metric metric = kernel_metric_at(local->kernel, local->theta, which);
    if (metric.n_terms > 0) contract_metric(local, &metric, near, gradient);
  }
  const double trace = linalg_trace(near->n, near->a);
  kernel_add_noise_slope(local->kernel, local->theta, trace, gradient);
}

/* ---- weights of all points ---- */

int gp_near_raise(gp_local *local, int step) {
  double largest = 0.0;
  if (local->n_queries == 0) return 0;
  /* By the first point: no jitter needs to be known to more than a power of ten. */
  kernel_diagonal(local->kernel, local->theta, 1, local->at, &largest);
  largest += kernel_noise(local->kernel, local->theta);
  const double jitter = gp_jitter_step(step, local->n_near + 1, largest);
  if (jitter < 0.0) return 0;
  local->jitter = jitter > local->jitter ? jitter : local->jitter;
  return 1;
}

static int weigh_points(const gp_local *local, size_t from, size_t to, int is_function,
                        double *weights, double *variance, double *scratch) {
  const size_t room = gp_local_scratch(local), m = local->n_near;
  int n_failed = 0;
#pragma omp parallel for num_threads(local->n_threads) schedule(static) reduction(+ : n_failed)
  for (int t = 0; t < local->n_threads; t++) {
    const size_t end = from + share_start(to - from, t + 1, local->n_threads);
    for (size_t q = from + share_start(to - from, t, local->n_threads); q < end; q++) {
      gp_near near = gp_near_at(local, scratch + room * (size_t)t);
      if (!gp_near_solve(local, q, &near)) {
        n_failed++;
        break;
      }
      const size_t n = near.n - 1;
      const double root = near.k[near.n * near.n - 1];
      double explained = 0.0;
      for (size_t j = 0; j < n; j++) {
        const double value = near.k[n + j * near.n];
        explained += value * value;
      }
      memset(weights + q * m, 0, m * sizeof *weights);
      memcpy(weights + q * m, near.w, n * sizeof *weights);
      variance[q] = is_function ? fmax(near.own - explained, 0.0) : root * root;
    }
  }
  return n_failed == 0;
}

gps_status gp_local_weights(gp_local *local, int is_function, double *weights, double *variance,
                            double *scratch) {
  int step = 0;
  for (size_t from = 0; from < local->n_queries;) {
    const size_t left = local->n_queries - from, to = from + (left < SLICE ? left : SLICE);
    if (gps_must_stop(local->watch)) return GPS_INTERRUPTED;
    if (weigh_points(local, from, to, is_function, weights, variance, scratch)) {
      from = to;
      continue;
    }
    if (!gp_near_raise(local, ++step)) return GPS_NOT_POSDEF;
    from = 0;
  }
  return GPS_OK;
}
