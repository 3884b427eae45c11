/* Pivots taken several at a time against the method that takes one at a time; threads;
 * leave-one-out from sums against sums without the point. */
#include "check.h"
#include "gp_basis.h"

#include <stdlib.h>
#include <string.h>

enum { N_DIMS = 3 };

static double *doubles(size_t n) { return calloc(n + 1, sizeof(double)); }

typedef struct {
  gps_kernel kernel;
  double theta[4], origin[N_DIMS], mean[N_DIMS];
  size_t n;
  double *x, *shifted;
  gp_cross cross;
} basis_case;

/* RBF + linear + white. */
static void build(basis_case *c, size_t n, double lengthscale, int n_threads) {
  memset(c, 0, sizeof *c);
  c->kernel.n_dims = N_DIMS;
  kernel_append(&c->kernel, (kernel_term){.type = kernel_find("rbf")});
  kernel_append(&c->kernel, (kernel_term){.type = kernel_find("linear")});
  kernel_append(&c->kernel, (kernel_term){.type = kernel_find("white")});
  c->theta[1] = log(lengthscale);
  c->theta[2] = log(0.1);
  c->theta[3] = log(0.05);
  c->n = n;
  c->x = doubles(n * N_DIMS);
  c->shifted = doubles(n * N_DIMS);
  for (size_t i = 0; i < n * N_DIMS; i++) c->x[i] = 4.0 * number(i);
  if (n > 1) memcpy(c->x + N_DIMS, c->x, N_DIMS * sizeof *c->x);
  c->cross = (gp_cross){&c->kernel, c->theta, {N_DIMS, c->origin, c->mean}, n_threads, NULL};
  kernel_find_centre(n, c->x, &c->cross.centre);
  kernel_shift(&c->cross.centre, n, c->x, c->shifted);
}

static void clear(basis_case *c) {
  free(c->x);
  free(c->shifted);
}

static double kernel_of(const basis_case *c, size_t i, size_t j) {
  double square = 0.0, product = 0.0;
  for (size_t d = 0; d < N_DIMS; d++) {
    const double a = c->x[d + i * N_DIMS], b = c->x[d + j * N_DIMS];
    square += (a - b) * (a - b);
    product += a * b;
  }
  return exp(-0.5 * square * exp(-2.0 * c->theta[1])) + 0.1 * product;
}

/* One pivot at a time; returns how many. */
static size_t plain_pivots(const basis_case *c, size_t most, size_t *pivot, double *factor) {
  const size_t n = c->n;
  double *left = doubles(n);
  size_t rank = 0;
  for (size_t i = 0; i < n; i++) left[i] = kernel_of(c, i, i);
  for (; rank < most; rank++) {
    size_t p = 0;
    for (size_t i = 1; i < n; i++) p = left[i] > left[p] ? i : p;
    if (left[p] < 1e-10) break;
    double *column = factor + rank * n;
    for (size_t i = 0; i < n; i++) {
      column[i] = kernel_of(c, i, p);
      for (size_t q = 0; q < rank; q++) column[i] -= factor[i + q * n] * factor[p + q * n];
      column[i] /= sqrt(left[p]);
    }
    for (size_t q = 0; q < rank; q++) column[pivot[q]] = 0.0;
    for (size_t i = 0; i < n; i++) left[i] = fmax(left[i] - column[i] * column[i], 0.0);
    pivot[rank] = p;
    for (size_t q = 0; q <= rank; q++) left[pivot[q]] = 0.0;
  }
  free(left);
  return rank;
}

static size_t choose(const basis_case *c, size_t most, double tol, size_t *pivot, double *factor,
                     double *trace) {
  double *coordinates = doubles(gp_points_scratch(N_DIMS, c->n));
  gp_pivoting job = {.cross = &c->cross,
                     .all = gp_points_at(N_DIMS, c->n, c->x, c->shifted, coordinates),
                     .max_rank = most,
                     .tol = tol,
                     .pivot = pivot,
                     .factor = factor,
                     .trace = trace,
                     .scratch = doubles(gp_pivots_scratch(N_DIMS, c->n, most))};
  CHECK(gp_pivots_choose(&job) == GPS_OK);
  free(job.scratch);
  free(coordinates);
  return job.rank;
}

static void test_pivots(size_t n, size_t most, double lengthscale) {
  basis_case c;
  size_t *expected = calloc(most, sizeof *expected), *found = calloc(most, sizeof *found);
  double *factor = doubles(n * most), *plain = doubles(n * most), *trace = doubles(most + 1);
  double *again = doubles(n * most);
  build(&c, n, lengthscale, 1);
  const size_t rank = choose(&c, most, 0.0, found, factor, trace);
  CHECK(rank == plain_pivots(&c, most, expected, plain));
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += kernel_of(&c, i, i);
  for (size_t q = 0; q < rank; q++) {
    CHECK(found[q] == expected[q]);
    CHECK_NEAR(trace[q], sum, 1e-9);
    for (size_t i = 0; i < n; i++) {
      CHECK_NEAR(factor[i + q * n], plain[i + q * n], 1e-8);
      sum -= factor[i + q * n] * factor[i + q * n];
    }
  }
  c.cross.n_threads = most_threads();
  CHECK(choose(&c, most, 0.0, expected, again, trace) == rank);
  CHECK(memcmp(factor, again, n * rank * sizeof *factor) == 0);
  clear(&c);
  free(again);
  free(trace);
  free(plain);
  free(factor);
  free(found);
  free(expected);
}

/* Leave-one-out in closed form against predictions from sums without the point. */
static void test_leave_out(void) {
  enum { Q = 5, N = 300, H = 4, N_SLOTS = 2 };
  static double features[Q * N], gram[Q * Q], transform[Q * Q], scratch[Q * (H + GP_PANEL)];
  static double cross[Q * H], mean[H * N], alone[H * N], weighs[N], prob[N_SLOTS * N];
  static int selected[N_SLOTS * N];
  const double noise = 0.1, weight = 0.7;
  double jitter;
  for (size_t i = 0; i < Q * N; i++) features[i] = number(i);
  for (size_t i = 0; i < N_SLOTS * N; i++) {
    selected[i] = i % 3 == 2 ? 0 : 1 + (int)(i % H);
    prob[i] = selected[i] ? number(i + 7000) : 0.0;
  }
  const gp_slots slots = {N_SLOTS, H, selected, prob};
  for (size_t left_out = 0; left_out < N; left_out += 97) {
    for (int pass = 0; pass < 2; pass++) {
      memset(cross, 0, sizeof cross);
      memset(gram, 0, sizeof gram);
      for (size_t j = 0; j < N; j++) {
        /* The cross sums have the point's slots with its weight, or not at all. */
        const double scale = pass == 1 && j == left_out ? HUGE_VAL : 1.0 / weight;
        const gp_slots own = {N_SLOTS, H, selected + N_SLOTS * j, prob + N_SLOTS * j};
        const double *f = features + Q * j;
        gp_cross_slots(Q, 1, f, &scale, &own, cross);
        for (size_t i = 0; i < Q * Q; i++) gram[i] += f[i % Q] * f[i / Q] / scale;
      }
      CHECK(gp_transform(Q, N, noise, gram, transform, &jitter, NULL) == GPS_OK && jitter == 0.0);
      const gp_affinity_job job = {Q, N, H, transform, cross, features, NULL, weight, NULL};
      if (pass == 0) {
        gp_affinity_means(&job, weighs, mean, scratch);
        gp_leave_out_slots(&job, weighs, &slots, mean);
      } else {
        gp_plain_means(&job, scratch, alone);
      }
    }
    for (size_t h = left_out * H; h < (left_out + 1) * H; h++) CHECK_NEAR(mean[h], alone[h], 1e-12);
  }
}

int main(void) {
  test_pivots(1, 1, 1.0);
  test_pivots(30, 28, 0.5);
  test_pivots(400, 90, 0.7);
  test_pivots(3000, 60, 1.5);
  test_leave_out();
  return check_report();
}
