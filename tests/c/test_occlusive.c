/* Model E in single precision against double, and its scratch against what nobody may read. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "model_occlusive.h"

extern const gps_model model_occlusive;

enum { MAX_PIXELS = 200, MAX_WINDOW = 100, K = 3, SLOTS = 4, STATES = 16, MAX_SCRATCH = 60000 };

typedef struct {
  double alpha[K * MAX_WINDOW], w[3 * K * MAX_WINDOW], pi[K], background[3], sigma2[1], clutter[1],
      options[19];
  double odds[2400], log_odds[2400], features[7200], prior[2 * K + 1], floats[8000];
  double y[3 * MAX_PIXELS];
  const double *input[30];
  gps_problem problem;
} occlusive_case;

static occlusive_case the_case;
static double scratch[MAX_SCRATCH];
static unsigned state_of_random = 1;

static double uniform(void) {
  state_of_random = state_of_random * 1664525u + 1013904223u;
  return (state_of_random >> 8) / 16777216.0;
}

static void build(int height, int width, int n_rows, int n_cols, int n_channels, double clutter,
                  double sigma, int is_shared) {
  occlusive_case *it = &the_case;
  const double options[19] = {
      height, width, n_channels, K,   n_rows, n_cols, is_shared,        0, 0, 1e-6, 1e-3, 0.9,
      1e-3,   1,     1e-4,       0.9, 0,      0.5,    is_shared ? 2 : 0};
  const double *params[6] = {it->alpha, it->w, it->pi, it->background, it->sigma2, it->clutter};
  double *prepared[5] = {it->odds, it->log_odds, it->features, it->prior, it->floats};
  const int n = n_rows * n_cols;
  CHECK_WHOLE(params, model_occlusive.params);
  CHECK_WHOLE(options, model_occlusive.options);
  CHECK_WHOLE(prepared, model_occlusive.prepared);
  memcpy(it->options, options, sizeof options);
  memcpy(it->input, params, sizeof params);
  for (int i = 0; i < 19; i++) it->input[HEIGHT + i] = it->options + i;
  for (int i = 0; i < 5; i++) it->input[PREPARED + i] = prepared[i];
  for (int i = 0; i < K * n; i++) it->alpha[i] = uniform() < 0.5 ? 0.95 : 0.05 + 0.3 * uniform();
  for (int i = 0; i < K * n * n_channels; i++) it->w[i] = uniform();
  for (int k = 0; k < K; k++) it->pi[k] = 0.1 + 0.2 * k;
  for (int c = 0; c < n_channels; c++) it->background[c] = 0.1;
  for (int i = 0; i < height * width * n_channels; i++) it->y[i] = 0.1 + sigma * (uniform() - 0.5);
  /* The first two components are there, at latents that the tests use. */
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < n; i++) {
      const int row = (2 * k + 1 + i % n_rows) % height, col = (k + i / n_rows) % width;
      if (it->alpha[k + K * i] < 0.5) continue;
      for (int c = 0; c < n_channels; c++)
        it->y[row + height * (col + width * c)] =
            it->w[k + K * (i + n * c)] + sigma * (uniform() - 0.5);
    }
  }
  /* Hot pixels, one on a component. */
  it->y[0] = 4;
  it->y[3 + 2 * height] = -30;
  it->sigma2[0] = sigma * sigma;
  it->clutter[0] = clutter;
  const gps_problem problem = {.shape = {height * width * n_channels, height * width * K},
                               .first_row = 0,
                               .n_points = 1,
                               .beta = 1,
                               .iteration = 1,
                               .input = it->input};
  it->problem = problem;
  CHECK(model_occlusive.prepare(&it->problem, it->y, prepared) == GPS_OK);
}

/* All subsets of SLOTS slots. */
static const gps_states *all_states(void) {
  static int n_active[STATES], active[STATES * SLOTS], parent[STATES];
  static gps_states states = {SLOTS, SLOTS, STATES, n_active, active, parent, 1};
  for (int m = 0; m < STATES; m++) {
    n_active[m] = 0;
    for (int k = 0; k < SLOTS; k++) {
      if (m >> k & 1) active[m * SLOTS + n_active[m]++] = k;
    }
    parent[m] = m > 0 ? m & ~(1 << active[m * SLOTS + n_active[m] - 1]) : -1;
  }
  return &states;
}

static void poison(void) {
  for (int i = 0; i < MAX_SCRATCH; i++) scratch[i] = NAN;
}

static void test_gains(double tolerance) {
  const gps_states *states = all_states();
  const int height = (int)the_case.input[HEIGHT][0],
            n_pixels = height * (int)the_case.input[WIDTH][0];
  const int latent[SLOTS] = {1, 3 + height + n_pixels, 5 + 2 * height + 2 * n_pixels, 2 + n_pixels};
  const gps_point point = {0, the_case.y, NULL, latent};
  double joint[STATES], gain[SLOTS];
  CHECK(model_occlusive.scratch_size(&the_case.problem, states) <= MAX_SCRATCH);
  poison();
  CHECK(model_occlusive.log_joint(&the_case.problem, &point, states, joint, scratch) == GPS_OK);
  CHECK(joint[0] == 0);
  CHECK(joint[10] == -HUGE_VAL);
  poison();
  CHECK(model_occlusive.gain_begin(&the_case.problem, &point, scratch) == GPS_OK);
  for (int m = 0; m < 4; m++) {
    const int *given = states->active + m * SLOTS;
    int on[SLOTS];
    for (int i = 0; i < states->n_active[m]; i++) on[i] = latent[given[i]];
    CHECK(model_occlusive.gain(&the_case.problem, &point, states->n_active[m], on, SLOTS, latent,
                               gain, scratch) == GPS_OK);
    for (int k = 0; k < SLOTS; k++) {
      const int is_there = m >> k & 1, is_twice = k == 3 && (m & 2);
      if (is_there || is_twice) {
        CHECK(gain[k] == -HUGE_VAL);
      } else {
        CHECK_NEAR(gain[k], joint[m | 1 << k] - joint[m], tolerance * (1 + fabs(gain[k])));
      }
    }
  }
}

/* A parent that is not in the template changes nothing, and no number is read that was not
 * written. */
static void test_statistics(void) {
  static double stats[10][4 * 3 * K * MAX_WINDOW];
  const gps_states *states = all_states();
  const int n_pixels = (int)(the_case.input[HEIGHT][0] * the_case.input[WIDTH][0]);
  const int latent[SLOTS] = {1, 4 + n_pixels, -1, 2 + 2 * n_pixels};
  const gps_point point = {0, the_case.y, NULL, latent};
  const int no_parent[STATES] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  gps_states orphans = *states;
  double joint[STATES], alone[STATES], prob[STATES] = {0}, *stat[10], mean[SLOTS];
  static double response[3 * MAX_PIXELS];
  poison();
  model_occlusive.log_joint(&the_case.problem, &point, states, joint, scratch);
  orphans.parent = no_parent;
  model_occlusive.log_joint(&the_case.problem, &point, &orphans, alone, scratch);
  for (int m = 0; m < STATES; m++) {
    CHECK_NEAR(alone[m], joint[m], 1e-10);
    CHECK((m & 4) == 0 || joint[m] == -HUGE_VAL);
    if (m < 4) prob[m] = 0.25;
  }
  memset(stats, 0, sizeof stats);
  CHECK_WHOLE(stats, model_occlusive.stats);
  for (int i = 0; i < 10; i++) stat[i] = stats[i];
  CHECK(model_occlusive.accumulate(&the_case.problem, &point, states, prob, stat, scratch) ==
        GPS_OK);
  CHECK(model_occlusive.describe(&the_case.problem, &point, states, prob, mean, response,
                                 scratch) == GPS_OK);
  double owned = 0;
  for (int i = 0; i < K * (int)(the_case.input[N_ROWS][0] * the_case.input[N_COLS][0]); i++)
    owned += stats[OWNED][i];
  CHECK(owned > 0);
  CHECK(owned + stats[BACKGROUND_COUNT][0] <= n_pixels * (1 + 1e-12));
  CHECK_NEAR(stats[ON][0], 0.5, 1e-15);
  CHECK_NEAR(mean[1], 0.5, 1e-15);
  CHECK(isfinite(response[n_pixels - 1]));
}

int main(void) {
  const int channels[3] = {1, 3, 2};
  for (int i = 0; i < 6; i++) {
    const int n = channels[i % 3], is_shared = i < 3;
    const double sigma[4] = {0.3, 0.03, 0.03, 0.03}, clutter[4] = {0.05, 0.05, 0, 1e-200};
    for (int j = 0; j < 4; j++) {
      const int is_exact = clutter[j] < 1e-3;
      build(12, 9, 7, 5, n, clutter[j], sigma[j], is_shared);
      test_gains(is_exact ? 1e-11 : 1e-6);
      test_statistics();
      build(6, 5, 6, 5, n, clutter[j], sigma[j], is_shared);
      test_gains(is_exact ? 1e-11 : 1e-6);
      build(10, 19, 9, 3, n, clutter[j], sigma[j], is_shared);
      test_gains(is_exact ? 1e-11 : 1e-6);
    }
  }
  return check_report();
}
