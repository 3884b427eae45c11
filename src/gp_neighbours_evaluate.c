/* The leave-one-out log predictive density of targets by neighbours, and its gradient (Rasmussen
 * and Williams 2006, section 5.4.2, with a matrix of each point's own). Called by
 * r_gp_neighbours.c. */
#include <math.h>
#include <string.h>

#include "gp_neighbours.h"
#include "gp_neighbours_local.h"
#include "threads.h"
#include "vector_math.h"

/* Points whose results are added up one after the other; those of blocks then in order. */
#define BLOCK 64

size_t gp_local_partial(const gp_local *local) {
  const size_t n_blocks = (local->n_queries + BLOCK - 1) / BLOCK;
  return n_blocks * (1 + local->kernel->n_hyper);
}

/* ---- residuals ---- */

/* Residual of dense targets: its square, and its products with the targets of each neighbour. */
static double residual_dense(const gp_local_targets *targets, const int *point, size_t n,
                             size_t own, const double *w, double *product) {
  const size_t rank = targets->rank;
  const double *at = targets->root + own * rank;
  double square = 0.0;
  memset(product, 0, n * sizeof *product);
  for (size_t r = 0; r < rank; r++) {
    double residual = at[r];
    for (size_t j = 0; j < n; j++) residual -= w[j] * targets->root[r + (size_t)point[j] * rank];
    square += residual * residual;
    for (size_t j = 0; j < n; j++)
      product[j] += residual * targets->root[r + (size_t)point[j] * rank];
  }
  return square;
}

/* Residuals over the latents that the point or a neighbour has in its slots. */
typedef struct {
  size_t n;
  int *place;    /* [n_targets] where a latent stands among them, -1 */
  int *latent;   /* [n] */
  double *value; /* [n] */
} sparse_sum;

static void add_slots(const gp_slots *targets, size_t point, double factor, sparse_sum *sum) {
  for (size_t i = point * targets->n_slots; i < (point + 1) * targets->n_slots; i++) {
    const int latent = targets->selected[i] - 1;
    if (latent < 0) continue;
    if (sum->place[latent] < 0) {
      sum->place[latent] = (int)sum->n;
      sum->latent[sum->n] = latent;
      sum->value[sum->n++] = 0.0;
    }
    sum->value[sum->place[latent]] += factor * targets->prob[i];
  }
}

static double dot_slots(const gp_slots *targets, size_t point, const sparse_sum *sum) {
  double product = 0.0;
  for (size_t i = point * targets->n_slots; i < (point + 1) * targets->n_slots; i++) {
    if (targets->selected[i] > 0)
      product += targets->prob[i] * sum->value[sum->place[targets->selected[i] - 1]];
  }
  return product;
}

static double residual_slots(const gp_local_targets *targets, const int *point, size_t n,
                             size_t own, const double *w, double *product, sparse_sum *sum) {
  double square = 0.0;
  sum->n = 0;
  add_slots(&targets->slots, own, 1.0, sum);
  for (size_t j = 0; j < n; j++) add_slots(&targets->slots, (size_t)point[j], -w[j], sum);
  for (size_t i = 0; i < sum->n; i++) square += sum->value[i] * sum->value[i];
  for (size_t j = 0; j < n; j++) product[j] = dot_slots(&targets->slots, (size_t)point[j], sum);
  for (size_t i = 0; i < sum->n; i++) sum->place[sum->latent[i]] = -1;
  return square;
}

/* ---- one point ---- */

/* Lower triangle of c a a' + (b a' + a b') / 2 with a = (-w, 1) and b = (u, 0): what the density
 * loses by an entry of the kernel matrix. */
static void weigh_pairs(gp_near *near, double c) {
  const size_t n = near->n;
  double *a = near->w, *b = near->u;
  for (size_t j = 0; j + 1 < n; j++) a[j] = -a[j];
  a[n - 1] = 1.0;
  b[n - 1] = 0.0;
  for (size_t j = 0; j < n; j++) {
    for (size_t i = j; i < n; i++)
      near->a[i + j * n] = c * a[i] * a[j] + 0.5 * (b[i] * a[j] + a[i] * b[j]);
  }
}

static int evaluate_point(const gp_local *local, const gp_local_targets *targets, size_t q, int row,
                          sparse_sum *sum, gp_near *near, double *value, double *gradient) {
  const int *point = local->near + q * local->n_near;
  const double n_targets = (double)targets->n_targets;
  if (!gp_near_solve(local, q, near)) return 0;
  const size_t n = near->n - 1;
  const double root = near->k[near->n * near->n - 1], v = root * root;
  const double square = targets->root
                            ? residual_dense(targets, point, n, (size_t)row, near->w, near->u)
                            : residual_slots(targets, point, n, (size_t)row, near->w, near->u, sum);
  *value += -0.5 * (n_targets * (LOG_2PI + log(v)) + square / v);
  for (size_t j = 0; j < n; j++) near->u[j] /= v;
  gp_near_weigh(near);
  weigh_pairs(near, 0.5 * (square / v - n_targets) / v);
  gp_near_contract(local, near, gradient);
  return 1;
}

/* ---- all points ---- */

size_t gp_local_latents(const gp_local *local, const gp_local_targets *targets) {
  const size_t n = targets->slots.n_slots * (local->n_near + 1);
  if (targets->root) return 0;
  return n < targets->n_targets ? n : targets->n_targets;
}

static int evaluate_block(const gp_local *local, const gp_local_targets *targets, const int *row,
                          size_t block, int *place, double *scratch, double *value,
                          double *gradient) {
  const size_t first = block * BLOCK, left = local->n_queries - first;
  const size_t end = first + (left < BLOCK ? left : BLOCK), n_hyper = local->kernel->n_hyper;
  sparse_sum sum = {0, place, place + targets->n_targets, scratch + gp_local_scratch(local)};
  *value = 0.0;
  memset(gradient, 0, n_hyper * sizeof *gradient);
  for (size_t q = first; q < end; q++) {
    gp_near near = gp_near_at(local, scratch);
    if (!evaluate_point(local, targets, q, row[q], &sum, &near, value, gradient)) return 0;
  }
  return 1;
}

static int evaluate_blocks(const gp_local *local, const gp_local_targets *targets, const int *row,
                           const gp_local_room *room) {
  const size_t n_blocks = (local->n_queries + BLOCK - 1) / BLOCK, n = 1 + local->kernel->n_hyper;
  const size_t most = gp_local_latents(local, targets), n_doubles = gp_local_scratch(local) + most;
  const size_t n_ints = targets->n_targets + most;
  const int n_threads = local->n_threads;
  int n_failed = 0;
#pragma omp parallel for num_threads(n_threads) schedule(static) reduction(+ : n_failed)
  for (int t = 0; t < n_threads; t++) {
    const size_t end = share_start(n_blocks, t + 1, n_threads);
    for (size_t b = share_start(n_blocks, t, n_threads); b < end; b++) {
      if (gps_must_stop(local->watch)) break;
      double *sums = room->partial + b * n;
      if (evaluate_block(local, targets, row, b, room->place + n_ints * (size_t)t,
                         room->scratch + n_doubles * (size_t)t, sums, sums + 1))
        continue;
      n_failed++;
      break;
    }
  }
  return n_failed == 0;
}

gps_status gp_local_evaluate(gp_local *local, int climb, const gp_local_targets *targets,
                             const int *row, const gp_local_room *room, double *value,
                             double *gradient) {
  const size_t n_blocks = (local->n_queries + BLOCK - 1) / BLOCK, n_hyper = local->kernel->n_hyper;
  int step = 0;
  while (!evaluate_blocks(local, targets, row, room)) {
    if (!climb || !gp_near_raise(local, ++step)) return GPS_NOT_POSDEF;
  }
  if (gps_must_stop(local->watch)) return GPS_INTERRUPTED;
  *value = 0.0;
  memset(gradient, 0, n_hyper * sizeof *gradient);
  for (size_t b = 0; b < n_blocks; b++) {
    const double *sums = room->partial + b * (1 + n_hyper);
    *value += sums[0];
    for (size_t h = 0; h < n_hyper; h++) gradient[h] += sums[1 + h];
  }
  return gp_check_finite(*value, n_hyper, gradient);
}
