/* Random Fourier features: the kernel they stand for, gradients by differences, threads, and
 * scratch of exactly the size that is said to be enough. */
#include "check.h"
#include "gp_fourier.h"

#include <stdlib.h>
#include <string.h>

enum { N_DIMS = 3, N_TARGETS = 2, MAX_POINTS = 600, COUNT = 70, N_HYPER = 11 };

typedef struct {
  gps_kernel kernel;
  double theta[N_HYPER], centre[N_DIMS], x[N_DIMS * MAX_POINTS], root[N_TARGETS * MAX_POINTS];
  double frequency[2][N_DIMS * COUNT];
  gp_fourier gp;
} fourier_case;

/* RBF, noise, Matern and linear with a scale per dimension, constant. */
static void build(fourier_case *c, size_t n_points, int n_threads) {
  static const char *const types[] = {"rbf", "white", "matern32", "linear", "bias"};
  static const int is_ard[] = {0, 0, 1, 1, 0};
  memset(c, 0, sizeof *c);
  c->kernel.n_dims = N_DIMS;
  for (int t = 0; t < 5; t++) {
    kernel_append(&c->kernel, (kernel_term){.type = kernel_find(types[t]), .is_ard = is_ard[t]});
  }
  for (size_t h = 0; h < c->kernel.n_hyper; h++) c->theta[h] = number(h + 7);
  for (size_t d = 0; d < N_DIMS; d++) c->centre[d] = number(d + 50);
  for (size_t i = 0; i < N_DIMS * MAX_POINTS; i++) c->x[i] = 4.0 * number(i + 1000);
  for (size_t i = 0; i < N_TARGETS * MAX_POINTS; i++) c->root[i] = 2.0 * number(i + 9000);
  for (size_t i = 0; i < N_DIMS * COUNT; i++) {
    c->frequency[0][i] = 3.0 * number(i + 20000);
    c->frequency[1][i] = 3.0 * number(i + 30000);
  }
  c->gp = (gp_fourier){.kernel = &c->kernel,
                       .theta = c->theta,
                       .centre = c->centre,
                       .n_points = n_points,
                       .x = c->x,
                       .n_threads = n_threads};
  c->gp.frequency[0] = c->frequency[0];
  c->gp.frequency[2] = c->frequency[1];
  c->gp.count[0] = COUNT;
  c->gp.count[2] = COUNT - 1;
}

static double *make_features(const gp_fourier *gp) {
  double *features = malloc(gp_fourier_n_features(gp) * gp->n_points * sizeof *features);
  double *scratch = malloc(gp_fourier_features_scratch(gp) * sizeof *scratch);
  gp_fourier_features(gp, features, scratch);
  free(scratch);
  return features;
}

static double evaluate(const gp_fourier *gp, const double *root, double *gradient) {
  const gp_targets targets = {N_TARGETS, N_TARGETS, root};
  double *features = make_features(gp), value = NAN, jitter = 0.0;
  double *scratch = malloc(gp_fourier_evaluate_scratch(gp, N_TARGETS) * sizeof *scratch);
  CHECK(gp_fourier_evaluate(gp, &targets, features, &jitter, &value, gradient, scratch) == GPS_OK);
  CHECK(jitter == 0.0);
  free(scratch);
  free(features);
  return value;
}

/* Products of features against the sum over frequencies of cosines of differences. */
static void test_kernel(void) {
  fourier_case c;
  build(&c, 9, 1);
  const size_t q = gp_fourier_n_features(&c.gp);
  CHECK(q == 2 * COUNT + 2 * (COUNT - 1) + N_DIMS + 1);
  double *features = make_features(&c.gp);
  for (size_t i = 0; i < 9; i++) {
    for (size_t j = 0; j < 9; j++) {
      double expected = exp(c.theta[10]), found = 0.0;
      for (int t = 0; t <= 2; t += 2) {
        const double *log_scale = c.theta + (t == 0 ? 0 : 3);
        for (size_t m = 0; m < c.gp.count[t]; m++) {
          double angle = 0.0;
          for (size_t d = 0; d < N_DIMS; d++) {
            angle += c.gp.frequency[t][d + m * N_DIMS] *
                     (c.x[d + i * N_DIMS] - c.x[d + j * N_DIMS]) *
                     exp(-log_scale[1 + (t == 0 ? 0 : d)]);
          }
          expected += exp(log_scale[0]) / (double)c.gp.count[t] * cos(angle);
        }
      }
      for (size_t d = 0; d < N_DIMS; d++) {
        expected += exp(c.theta[7 + d]) * c.x[d + i * N_DIMS] * c.x[d + j * N_DIMS];
      }
      for (size_t f = 0; f < q; f++) found += features[f + i * q] * features[f + j * q];
      CHECK_NEAR(found, expected, 1e-12);
    }
  }
  free(features);
}

static void test_gradient(size_t n_points) {
  fourier_case c;
  double gradient[N_HYPER], unused[N_HYPER];
  build(&c, n_points, 1);
  CHECK(c.kernel.n_hyper == N_HYPER);
  evaluate(&c.gp, c.root, gradient);
  for (size_t h = 0; h < N_HYPER; h++) {
    const double at = c.theta[h], step = 1e-4;
    double value[4];
    for (int s = 0; s < 4; s++) {
      c.theta[h] = at + step * (s < 2 ? s - 2 : s - 1);
      value[s] = evaluate(&c.gp, c.root, unused);
    }
    c.theta[h] = at;
    const double expected = (8.0 * (value[2] - value[1]) - (value[3] - value[0])) / (12.0 * step);
    CHECK_NEAR(gradient[h], expected, 1e-6 * fmax(1.0, fabs(expected)));
  }
}

static void test_threads(void) {
  fourier_case one, more;
  double by_one[N_HYPER], by_more[N_HYPER];
  build(&one, MAX_POINTS, 1);
  build(&more, MAX_POINTS, most_threads());
  const double value = evaluate(&one.gp, one.root, by_one);
  CHECK(evaluate(&more.gp, more.root, by_more) == value);
  CHECK(memcmp(by_one, by_more, sizeof by_one) == 0);
}

int main(void) {
  test_kernel();
  test_gradient(5);
  test_gradient(300);
  test_threads();
  return check_report();
}
