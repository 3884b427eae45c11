/* Sparse targets spread over points: against the plain sum and a blur cell by cell; threads; edges.
 */
#include "check.h"
#include "gp_sparse.h"

#include <stdlib.h>
#include <string.h>

enum { N_SLOTS = 3, N_TRAIN = 13, N_POINTS = 21 };

typedef struct {
  size_t n_latents, height, width;
  double sd;
  int selected[N_SLOTS * N_TRAIN];
  double prob[N_SLOTS * N_TRAIN], coef[N_TRAIN * N_POINTS], scale[N_POINTS];
  size_t column[N_POINTS];
  int left_out[N_POINTS];
} sparse_case;

/* All groups but the last have targets; some slots are empty, some probabilities 0. */
static void build(sparse_case *c, size_t n_groups, size_t height, size_t width, double sd) {
  const size_t size = height * width, n_used = n_groups > 1 ? n_groups - 1 : 1;
  memset(c, 0, sizeof *c);
  c->n_latents = n_groups * size;
  c->height = height;
  c->width = width;
  c->sd = sd;
  for (size_t i = 0; i < N_SLOTS * N_TRAIN; i++) {
    const double u = number(i) + 0.5;
    c->selected[i] = i % 5 == 4 ? 0 : 1 + (int)(u * (double)(n_used * size));
    c->prob[i] = i % 7 == 6 ? 0.0 : number(i + 100);
  }
  for (size_t i = 0; i < N_TRAIN * N_POINTS; i++) c->coef[i] = number(i + 1000);
  for (size_t n = 0; n < N_POINTS; n++) {
    c->scale[n] = number(n + 5000);
    c->column[n] = (5 * n) % N_POINTS;
    c->left_out[n] = n % 3 == 0 ? -1 : (int)(n % N_TRAIN);
  }
}

static void spread(const sparse_case *c, int n_threads, double *affinity) {
  const gp_slots slots = {N_SLOTS, c->n_latents, c->selected, c->prob};
  const size_t n = gp_sparse_count(&slots, N_TRAIN);
  gp_sparse_targets targets = {c->n_latents, malloc((c->n_latents + 1) * sizeof(size_t)),
                               malloc((n + 1) * sizeof(int)), malloc((n + 1) * sizeof(double))};
  double *down = malloc((c->height / 2 + 1) * sizeof *down);
  double *across = malloc((c->width / 2 + 1) * sizeof *across);
  gp_sparse_sort(&slots, N_TRAIN, &targets);
  CHECK(targets.first[0] == 0 && targets.first[c->n_latents] == n);
  const gp_grid grid = {.height = c->height,
                        .width = c->width,
                        .radius_down = gp_blur_weights(c->height, c->sd, down),
                        .radius_across = gp_blur_weights(c->width, c->sd, across),
                        .down = down,
                        .across = across};
  const gp_spread_job job = {&targets,  &grid,    N_TRAIN,     c->coef, N_POINTS,
                             c->column, c->scale, c->left_out, NULL};
  double *scratch = malloc(gp_spread_scratch(&job) * (size_t)n_threads * sizeof *scratch);
  for (size_t i = 0; i < c->n_latents * N_POINTS; i++) affinity[i] = NAN;
  gp_spread(&job, n_threads, affinity, scratch);
  free(scratch);
  free(across);
  free(down);
  free(targets.value);
  free(targets.point);
  free(targets.first);
}

/* Weight of a neighbour at distance k, by the definition. */
static double weight(int k, double sd) {
  const int radius = (int)floor(3 * sd);
  double total = 0;
  for (int j = -radius; j <= radius; j++) total += exp(-0.5 * j * j / (sd * sd));
  return exp(-0.5 * k * k / (sd * sd)) / total;
}

static int wrap(int i, int n) { return ((i % n) + n) % n; }

/* Unsmoothed prediction of one latent. */
static double plain(const sparse_case *c, size_t point, size_t latent) {
  double sum = 0;
  for (size_t m = 0; m < N_TRAIN; m++) {
    if (c->left_out[point] == (int)m) continue;
    for (size_t i = m * N_SLOTS; i < (m + 1) * N_SLOTS; i++) {
      if (c->selected[i] != (int)latent + 1) continue;
      sum += c->scale[point] * c->coef[m + c->column[point] * N_TRAIN] * c->prob[i];
    }
  }
  return sum;
}

static double smoothed(const sparse_case *c, size_t point, size_t latent) {
  if (c->sd <= 0) return plain(c, point, latent);
  const int radius = (int)floor(3 * c->sd), h = (int)c->height, w = (int)c->width;
  const size_t size = c->height * c->width, first = latent / size * size;
  const int row = (int)((latent - first) % c->height), col = (int)((latent - first) / c->height);
  double sum = 0;
  for (int i = -radius; i <= radius; i++) {
    for (int j = -radius; j <= radius; j++) {
      const size_t cell = (size_t)wrap(row + i, h) + c->height * (size_t)wrap(col + j, w);
      sum += weight(i, c->sd) * weight(j, c->sd) * plain(c, point, first + cell);
    }
  }
  return sum;
}

static void test_case(size_t n_groups, size_t height, size_t width, double sd) {
  static sparse_case c;
  build(&c, n_groups, height, width, sd);
  const size_t n = c.n_latents * N_POINTS;
  double *one = malloc(n * sizeof *one), *many = malloc(n * sizeof *many), worst = 0;
  spread(&c, 1, one);
  for (size_t p = 0; p < N_POINTS; p++) {
    for (size_t l = 0; l < c.n_latents; l++) {
      const double gap = fabs(one[l + p * c.n_latents] - smoothed(&c, p, l));
      if (!(gap <= worst)) worst = gap;
    }
  }
  CHECK_NEAR(worst, 0, 1e-14);
  for (int n_threads = 2; n_threads <= most_threads(); n_threads++) {
    spread(&c, n_threads, many);
    CHECK(memcmp(one, many, n * sizeof *one) == 0);
  }
  /* Without a target there is nothing to predict. */
  memset(c.prob, 0, sizeof c.prob);
  spread(&c, 1, many);
  for (size_t i = 0; i < n; i++) worst = fmax(worst, fabs(many[i]));
  CHECK(worst <= 1e-14);
  free(many);
  free(one);
}

static void test_weights(void) {
  double value[8];
  CHECK(gp_blur_weights(1, 2.0, value) == 0);
  CHECK_NEAR(value[0], 1, 1e-15);
  CHECK(gp_blur_weights(10, 0.0, value) == 0 && value[0] == 1.0);
  CHECK(gp_blur_weights(10, 1.0, value) == 3);
  CHECK_NEAR(value[0] + 2 * (value[1] + value[2] + value[3]), 1, 1e-15);
  CHECK(gp_blur_weights(4, 50.0, value) == 2);
  CHECK_NEAR(value[0] + 2 * value[1] + 2 * value[2], 1, 1e-14);
}

int main(void) {
  test_weights();
  test_case(3, 6, 5, 0.0);
  test_case(3, 6, 5, 1.0);
  test_case(2, 9, 4, 1.7);
  test_case(2, 3, 2, 2.5);
  test_case(1, 7, 1, 1.0);
  test_case(4, 1, 8, 1.0);
  test_case(5, 1, 1, 1.0);
  test_case(1, 1, 1, 0.0);
  return check_report();
}
