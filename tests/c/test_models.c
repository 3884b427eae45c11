/* The built-in models by their tables: log joints by definition, whatever stands in the scratch;
 * moments, descriptions and gains against them. */
#include "check.h"
#include "core_models.h"

#include <string.h>

enum { MAX_SLOTS = 5, MAX_STATES = 32, SCRATCH = 4096 };

static core_case the_case;
static double scratch[SCRATCH], value[MAX_STATES], prob[MAX_STATES];

/* A template: all subsets of the slots by number, or the one-hot states. */
typedef struct {
  gps_states states;
  int n_active[MAX_STATES], active[MAX_STATES * MAX_SLOTS], parent[MAX_STATES];
} template_store;

static void build_template(template_store *store, int n_slots, int is_one_hot, int all_subsets) {
  const int n_states = is_one_hot ? n_slots : 1 << n_slots;
  const int max_active = is_one_hot ? 1 : n_slots;
  for (int m = 0; m < n_states; m++) {
    int n = 0;
    for (int i = 0; i < n_slots; i++) {
      if (is_one_hot ? i == m : m >> i & 1) store->active[m * max_active + n++] = i;
    }
    store->n_active[m] = n;
    const int last = n > 0 ? store->active[m * max_active + n - 1] : 0;
    store->parent[m] = is_one_hot || m == 0 ? -1 : m - (1 << last);
  }
  const gps_states states = {n_slots,       max_active,    n_states,   store->n_active,
                             store->active, store->parent, all_subsets};
  store->states = states;
}

static void poison(void) {
  for (int i = 0; i < SCRATCH; i++) scratch[i] = NAN;
}

/* Latents of the active slots of state m; -1 if one of them is empty. */
static int latents_of(const gps_states *states, int m, const int *latent, int *on) {
  for (int i = 0; i < states->n_active[m]; i++) {
    on[i] = latent[states->active[m * states->max_active + i]];
    if (on[i] < 0) return -1;
  }
  return states->n_active[m];
}

static void check_log_joint(const gps_states *states, const int *latent) {
  CHECK(the_case.model->scratch_size(&the_case.problem, states) <= SCRATCH);
  for (int n = 0; n < CORE_POINTS; n += 7) {
    const gps_point point = {n, the_case.y + n * CORE_DIMS, NULL, latent};
    poison();
    for (int m = 0; m < states->n_states; m++) value[m] = NAN;
    CHECK(the_case.model->log_joint(&the_case.problem, &point, states, value, scratch) == GPS_OK);
    const double shared =
        the_case.model->shared_term ? the_case.model->shared_term(&the_case.problem, &point) : 0;
    double worst = 0;
    for (int m = 0; m < states->n_states; m++) {
      int on[MAX_SLOTS];
      const int n_on = latents_of(states, m, latent, on);
      const double truth = n_on < 0 ? -INFINITY : core_log_joint(&the_case, (size_t)n, n_on, on);
      const double joint = value[m] + shared;
      const double error = joint == truth ? 0 : fabs(joint - truth) / fabs(truth);
      if (!(error <= worst)) worst = error;
    }
    CHECK_NEAR(worst, 0, 1e-13);
  }
}

static void test_log_joint(int number) {
  template_store store;
  core_build(&the_case, number);
  for (int n_slots = 1; n_slots <= MAX_SLOTS; n_slots++) {
    for (int all_subsets = 0; all_subsets <= !the_case.is_one_hot; all_subsets++) {
      build_template(&store, n_slots, the_case.is_one_hot, all_subsets);
      int latent[MAX_SLOTS] = {0, 2, 3, 4, 6};
      check_log_joint(&store.states, latent);
      for (int gap = 0; gap < n_slots; gap++) {
        latent[gap] = -1;
        check_log_joint(&store.states, latent);
      }
    }
  }
}

/* With n_given = 0 the log joint of the single-cause state up to a constant of the data point;
 * otherwise the difference to the state without the candidate. */
static void test_gain(int number) {
  core_build(&the_case, number);
  const int given[3] = {5, 0, 2}, candidate[4] = {1, 3, 4, 6};
  double gain[4], none[4];
  for (int n = 0; n < CORE_POINTS; n += 7) {
    const gps_point point = {n, the_case.y + n * CORE_DIMS, NULL, NULL};
    for (int n_given = 0; n_given <= 3; n_given++) {
      int on[4] = {5, 0, 2, 0};
      poison();
      CHECK(the_case.model->gain(&the_case.problem, &point, n_given, given, 4, candidate, gain,
                                 scratch) == GPS_OK);
      if (n_given == 0) memcpy(none, gain, sizeof none);
      for (int c = 0; c < 4; c++) {
        on[n_given] = candidate[c];
        if (the_case.is_one_hot && n_given > 0) {
          CHECK(gain[c] == -INFINITY);
          continue;
        }
        const double truth = core_log_joint(&the_case, (size_t)n, n_given + 1, on);
        if (n_given == 0) {
          const int first[1] = {candidate[0]};
          CHECK_NEAR(gain[c] - gain[0], truth - core_log_joint(&the_case, (size_t)n, 1, first),
                     1e-12 * fabs(truth));
        } else {
          CHECK_NEAR(gain[c], truth - core_log_joint(&the_case, (size_t)n, n_given, on),
                     1e-12 * fabs(truth));
        }
      }
    }
  }
}

/* Empty slots take no part in the statistics, and a description has zeros there. */
static void test_empty_slots(int number) {
  template_store store;
  core_build(&the_case, number);
  const int latent[3] = {1, -1, 4}, n = 9;
  const gps_point point = {n, the_case.y + n * CORE_DIMS, NULL, latent};
  double count[1] = {0}, square[1] = {0}, on[CORE_LATENTS] = {0};
  double first[CORE_DIMS * CORE_LATENTS] = {0}, second[8 * CORE_DIMS * CORE_LATENTS] = {0};
  double value_sum[CORE_LATENTS] = {0}, pull[CORE_LATENTS] = {0};
  double pull_pull[CORE_LATENTS * CORE_LATENTS] = {0};
  double *sparse[6] = {count, square, on, second, first, NULL};
  double *mixture[4] = {count, on, first, second};
  double *slabs[9] = {count, square, on, value_sum, second, first, pull, pull_pull, NULL};
  CHECK_WHOLE(sparse, model_binary_sparse.stats);
  CHECK_WHOLE(mixture, model_gaussian_mixture.stats);
  CHECK_WHOLE(slabs, model_spike_slab.stats);
  double **stats = number >= 4 ? slabs : number == 0 ? sparse : mixture;
  double described[3], response[CORE_DIMS];
  build_template(&store, 3, the_case.is_one_hot, !the_case.is_one_hot);
  poison();
  CHECK(the_case.model->log_joint(&the_case.problem, &point, &store.states, prob, scratch) ==
        GPS_OK);
  double top = -INFINITY, sum = 0;
  for (int m = 0; m < store.states.n_states; m++) top = prob[m] > top ? prob[m] : top;
  for (int m = 0; m < store.states.n_states; m++) sum += prob[m] = exp(prob[m] - top);
  for (int m = 0; m < store.states.n_states; m++) prob[m] /= sum;
  CHECK(the_case.model->accumulate(&the_case.problem, &point, &store.states, prob, stats,
                                   scratch) == GPS_OK);
  CHECK(the_case.model->describe(&the_case.problem, &point, &store.states, prob, described,
                                 response, scratch) == GPS_OK);
  CHECK(count[0] == 1);
  CHECK(described[1] == 0);
  CHECK_NEAR(number >= 4 ? value_sum[1] : on[1], described[0], 1e-15);
  CHECK_NEAR(number >= 4 ? value_sum[4] : on[4], described[2], 1e-15);
  for (int h = 0; h < CORE_LATENTS; h++) {
    if (h != 1 && h != 4) CHECK(on[h] == 0 && value_sum[h] == 0 && pull[h] == 0);
  }
  for (int d = 0; d < CORE_DIMS; d++) {
    CHECK_NEAR(response[d],
               described[0] * the_case.w[CORE_DIMS + d] +
                   described[2] * the_case.w[4 * CORE_DIMS + d],
               1e-14);
  }
  CHECK(the_case.model->describe(&the_case.problem, &point, &store.states, prob, described, NULL,
                                 scratch) == GPS_OK);
}

/* A template that the mixture cannot have is a broken contract, not a wrong number. */
static void test_wrong_template(void) {
  template_store store;
  core_build(&the_case, 1);
  const int latent[2] = {0, 1};
  const gps_point point = {0, the_case.y, NULL, latent};
  build_template(&store, 2, 0, 1);
  CHECK(the_case.model->log_joint(&the_case.problem, &point, &store.states, value, scratch) ==
        GPS_BAD_MODEL);
}

static void test_not_posdef(void) {
  core_build(&the_case, 1);
  double *prepared[5] = {the_case.whitener, the_case.log_scale, the_case.log_base, NULL, NULL};
  the_case.sigma[0] = -1;
  CHECK(the_case.model->prepare(&the_case.problem, the_case.y, prepared) == GPS_NOT_POSDEF);
}

int main(void) {
  for (int number = 0; number <= 5; number++) {
    test_log_joint(number);
    test_gain(number);
    test_empty_slots(number);
  }
  test_wrong_template();
  test_not_posdef();
  return check_report();
}
