/* Loops over pairs and points of the Gaussian processes: slopes by differences, sums by definition,
 * and all of it the same to the last bit for any number of threads. */
#include "check.h"
#include "gp_neighbours.h"

#include <string.h>

enum { N_DIMS = 3, N_POINTS = 300, N_ROWS = 90, N_TARGETS = 4, N_HYPER = 6, N_NEAR = 7 };
enum { N_SLOTS = 2, LENGTH = 3 };

static double x[N_DIMS * N_POINTS], shifted[N_DIMS * N_POINTS], origin[N_DIMS], mean[N_DIMS];
static double root[N_TARGETS * N_POINTS], prob[N_SLOTS * N_POINTS];
static int selected[N_SLOTS * N_POINTS], near[N_NEAR * N_POINTS], row[N_POINTS];
static gps_kernel kernel;
static double theta[N_HYPER];

/* RBF with a scale for each dimension, + linear + white; every point's nearest by number. */
static void build(void) {
  const double wanted[N_HYPER] = {0.2, -0.3, 0.1, 0.4, -2.0, -1.5};
  kernel.n_dims = N_DIMS;
  kernel_append(&kernel, (kernel_term){.type = kernel_find("rbf"), .is_ard = 1});
  kernel_append(&kernel, (kernel_term){.type = kernel_find("linear")});
  kernel_append(&kernel, (kernel_term){.type = kernel_find("white")});
  memcpy(theta, wanted, sizeof theta);
  for (size_t i = 0; i < N_DIMS * N_POINTS; i++) x[i] = 4.0 * number(i);
  for (size_t i = 0; i < N_TARGETS * N_POINTS; i++) root[i] = number(i + 5000);
  for (size_t i = 0; i < N_SLOTS * N_POINTS; i++) {
    selected[i] = i % 5 == 4 ? 0 : 1 + (int)(i % N_TARGETS);
    prob[i] = selected[i] ? number(i + 9000) + 0.5 : 0.0;
  }
  for (int i = 0; i < N_POINTS; i++) {
    row[i] = i;
    for (int j = 0; j < N_NEAR; j++) near[j + i * N_NEAR] = (i + 3 * j + 1) % N_POINTS;
  }
}

static double *doubles(size_t n) { return calloc(n + 1, sizeof(double)); }

static gp_cross cross_of(int n_threads) {
  gp_cross cross = {&kernel, theta, {N_DIMS, origin, mean}, n_threads, NULL};
  kernel_find_centre(N_POINTS, x, &cross.centre);
  kernel_shift(&cross.centre, N_POINTS, x, shifted);
  return cross;
}

/* The value, the gradient, and what one job more leaves of numbers: those of one thread first. */
typedef struct {
  double value, gradient[N_HYPER], more[N_NEAR * N_POINTS + N_POINTS];
} outcome;

static void dense(int n_threads, outcome *out) {
  double *coordinates = doubles(gp_points_scratch(N_DIMS, N_POINTS));
  double *k = doubles(N_POINTS * N_POINTS), *alpha = doubles(N_TARGETS * N_POINTS), log_det;
  gp_dense gp = {.cross = cross_of(n_threads),
                 .all = gp_points_at(N_DIMS, N_POINTS, x, shifted, coordinates),
                 .scratch = doubles(gp_dense_scratch(&kernel, N_POINTS))};
  const gp_targets targets = {N_TARGETS, N_TARGETS, root};
  CHECK(gp_dense_evaluate(&gp, 0, &targets, -HUGE_VAL, k, alpha, &out->value, out->gradient) ==
        GPS_OK);
  CHECK(gp_dense_factor(&gp, 0, k, &log_det) == GPS_OK);
  gp_dense_loo_variance(N_POINTS, k, n_threads, out->more);
  free(gp.scratch);
  free(alpha);
  free(k);
  free(coordinates);
}

/* The sum of weighted values between some of the points and the others. */
static void cross(int n_threads, outcome *out) {
  enum { N_COLS = N_POINTS - N_ROWS };
  double *coordinates = doubles(2 * gp_points_scratch(N_DIMS, N_POINTS));
  double *k = doubles(N_ROWS * N_COLS), *gram = doubles(N_ROWS * N_COLS);
  double *scratch = doubles(gp_cross_contract_scratch(&kernel, N_ROWS, N_COLS));
  const gp_cross job = cross_of(n_threads);
  const size_t at = N_ROWS * N_DIMS;
  const gp_points rows = gp_points_at(N_DIMS, N_ROWS, x, shifted, coordinates);
  const gp_points cols = gp_points_at(N_DIMS, N_COLS, x + at, shifted + at,
                                      coordinates + gp_points_scratch(N_DIMS, N_POINTS));
  gp_cross_values(&job, &rows, &cols, 0, gram, k, N_ROWS);
  for (size_t i = 0; i < N_ROWS * N_COLS; i++) {
    gram[i] = number(i + 100);
    out->value += gram[i] * k[i];
  }
  gp_cross_contract(&job, &rows, &cols, gram, out->gradient, out->more, scratch);
  free(scratch);
  free(gram);
  free(k);
  free(coordinates);
}

static void neighbours(int n_threads, int is_dense, outcome *out) {
  gp_local local = {.kernel = &kernel,
                    .theta = theta,
                    .x = x,
                    .n_near = N_NEAR,
                    .n_queries = N_POINTS,
                    .near = near,
                    .at = x,
                    .n_threads = n_threads};
  const gp_local_targets targets = {
      N_TARGETS, N_TARGETS, is_dense ? root : NULL, {N_SLOTS, N_TARGETS, selected, prob}};
  const size_t most = gp_local_latents(&local, &targets), threads = (size_t)n_threads;
  const size_t n_places = (N_TARGETS + most) * threads;
  const gp_local_room room = {doubles((gp_local_scratch(&local) + most) * threads),
                              doubles(gp_local_partial(&local)),
                              malloc(n_places * sizeof *room.place)};
  for (size_t i = 0; i < n_places; i++) room.place[i] = -1;
  CHECK(gp_local_evaluate(&local, 0, &targets, row, &room, &out->value, out->gradient) == GPS_OK);
  CHECK(gp_local_weights(&local, 0, out->more, out->more + N_NEAR * N_POINTS, room.scratch) ==
        GPS_OK);
  free(room.place);
  free(room.partial);
  free(room.scratch);
}

static void by_root(int n_threads, outcome *out) { neighbours(n_threads, 1, out); }
static void by_slots(int n_threads, outcome *out) { neighbours(n_threads, 0, out); }

static void test_job(void (*job)(int, outcome *)) {
  static outcome one, other;
  memset(&one, 0, sizeof one);
  job(1, &one);
  for (size_t h = 0; h < N_HYPER; h++) {
    const double before = theta[h], step = 1e-5;
    double value[2];
    for (int up = 0; up <= 1; up++) {
      theta[h] = before + (up ? step : -step);
      memset(&other, 0, sizeof other);
      job(1, &other);
      value[up] = other.value;
    }
    theta[h] = before;
    CHECK_NEAR(one.gradient[h], (value[1] - value[0]) / (2.0 * step),
               1e-6 * (1.0 + fabs(one.gradient[h])));
  }
  for (int n_threads = 2; n_threads <= most_threads(); n_threads++) {
    memset(&other, 0, sizeof other);
    job(n_threads, &other);
    CHECK(memcmp(&one, &other, sizeof one) == 0);
  }
}

/* A kernel that asks for no inner products leaves none that nobody has written. */
static void test_no_products(void) {
  enum { N = 20 };
  gps_kernel constant = {.n_dims = N_DIMS};
  double coordinates[N * (N_DIMS + 3) + 2 * N_DIMS], gram[N * N], levels[2] = {0.0, -1.0};
  kernel_append(&constant, (kernel_term){.type = kernel_find("bias")});
  kernel_append(&constant, (kernel_term){.type = kernel_find("white")});
  gp_cross cross = cross_of(1);
  cross.kernel = &constant;
  cross.theta = levels;
  CHECK(gp_points_scratch(N_DIMS, N) <= sizeof coordinates / sizeof *coordinates);
  const gp_dense gp = {.cross = cross, .all = gp_points_at(N_DIMS, N, x, shifted, coordinates)};
  for (int i = 0; i < N * N; i++) gram[i] = NAN;
  gp_dense_gram(&gp, gram);
  for (int i = 0; i < N * N; i++) CHECK(gram[i] == 0.0);
}

/* ---- votes ---- */

static int voting[N_NEAR * N_POINTS], column[N_POINTS];
static double weight[N_NEAR * N_POINTS];

static gp_voters voters_of(int n_threads) {
  for (size_t i = 0; i < N_NEAR * N_POINTS; i++) {
    voting[i] = near[i] + 1;
    weight[i] = number(i + 300);
  }
  for (int i = 0; i < N_POINTS; i++) column[i] = i % 7 == 3 ? 0 : i + 1;
  return (gp_voters){N_POINTS, N_NEAR, N_POINTS, column, voting, weight, n_threads};
}

static void test_dense_votes(void) {
  static double out[N_TARGETS * N_POINTS];
  for (int n_threads = 1; n_threads <= most_threads(); n_threads++) {
    const gp_voters voters = voters_of(n_threads);
    memset(out, 0xff, sizeof out);
    CHECK(gp_vote_dense(&voters, N_TARGETS, root, out));
    for (int i = 0; i < N_TARGETS * N_POINTS; i++) {
      const int point = i / N_TARGETS;
      double sum = 0.0;
      for (int j = 0; column[point] && j < N_NEAR; j++)
        sum +=
            weight[j + point * N_NEAR] * root[i % N_TARGETS + near[j + point * N_NEAR] * N_TARGETS];
      CHECK_NEAR(out[i], sum, 1e-15);
    }
    voting[N_NEAR * (N_POINTS - 1)] = N_POINTS + 1;
    CHECK(!gp_vote_dense(&voters, N_TARGETS, root, out));
  }
}

/* Mean of a latent over a point's neighbours, by their slots. */
static double vote_of(int point, int latent) {
  double sum = 0.0;
  for (int j = 0; j < N_NEAR; j++) {
    for (int i = 0; i < N_SLOTS; i++) {
      const int at = i + near[j + point * N_NEAR] * N_SLOTS;
      if (selected[at] == latent) sum += weight[j + point * N_NEAR] * prob[at];
    }
  }
  return sum;
}

static void test_slot_votes(void) {
  enum { MOST = N_SLOTS * N_NEAR };
  static int latent[LENGTH * N_POINTS];
  static double affinity[LENGTH * N_POINTS];
  const gp_slots slots = {N_SLOTS, N_TARGETS, selected, prob};
  const gp_slot_rows rows = gp_view_rows(&slots);
  for (int n_threads = 1; n_threads <= most_threads(); n_threads++) {
    const gp_voters voters = voters_of(n_threads);
    const gp_lists lists = {LENGTH, latent, affinity};
    const size_t threads = (size_t)n_threads;
    int *room = calloc(3 * MOST * threads, sizeof *room), place[5 * N_TARGETS];
    double *value = doubles(2 * MOST * threads);
    memset(place, 0xff, sizeof place);
    CHECK(gp_vote_slots(&voters, &rows, &lists, room, value, place));
    for (int i = 0; i < N_POINTS; i++) {
      int n_held = 0;
      for (int k = i * LENGTH; k < (i + 1) * LENGTH; k++) {
        n_held += latent[k] > 0;
        CHECK_NEAR(affinity[k], latent[k] > 0 ? vote_of(i, latent[k]) : 0.0, 1e-15);
      }
      CHECK(n_held == (column[i] ? LENGTH : 0));
    }
    voting[N_NEAR * (N_POINTS - 1)] = N_POINTS + 1;
    CHECK(!gp_vote_slots(&voters, &rows, &lists, room, value, place));
    free(value);
    free(room);
  }
}

int main(void) {
  build();
  test_job(dense);
  test_job(cross);
  test_job(by_root);
  test_job(by_slots);
  test_no_products();
  test_dense_votes();
  test_slot_votes();
  return check_report();
}
