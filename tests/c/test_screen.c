/* Screening: through the model's gain, and through its log joint where it has none; what is
 * chosen, by the definition; candidates, explorers, threads and faults. */
#include "check.h"
#include "core_models.h"
#include "screen.h"
#include "slow_screen.h"

#include <stdlib.h>
#include <string.h>

enum { N_SLOTS = 3 };

static core_case the_case;
static const gps_source source = {{5u, 6u}, 1, 3};

typedef int selection[N_SLOTS * CORE_POINTS];

static gps_status screen_all(const gps_model *model, const gps_screen *screen,
                             const double *affinity, const int *kept, int n_threads, int *selected,
                             size_t *bad_point) {
  const gps_states largest = SCREEN_LARGEST_PROBE(N_SLOTS);
  const size_t model_scratch = model->scratch_size(&the_case.problem, &largest);
  const int capacity = screen_capacity(screen, N_SLOTS, 1);
  const size_t n_doubles = screen_scratch(capacity, model_scratch) * (size_t)n_threads;
  const size_t n_ints = screen_scratch_ints(capacity, N_SLOTS) * (size_t)n_threads;
  double *scratch = malloc(n_doubles * sizeof *scratch);
  int *ints = malloc(n_ints * sizeof *ints);
  for (size_t i = 0; i < n_doubles; i++) scratch[i] = NAN;
  for (size_t i = 0; i < n_ints; i++) ints[i] = -12345;
  const screen_job job = {.model = model,
                          .problem = &the_case.problem,
                          .screen = screen,
                          .source = &source,
                          .grid = {1, 1},
                          .y = the_case.y,
                          .affinity = affinity,
                          .kept = kept,
                          .n_slots = N_SLOTS,
                          .is_one_hot = the_case.is_one_hot,
                          .model_scratch = model_scratch};
  const screen_outcome outcome = screen_points(&job, 0, (size_t)the_case.problem.n_points,
                                               n_threads, selected, NULL, scratch, ints);
  *bad_point = outcome.bad_point;
  free(scratch);
  free(ints);
  return outcome.status;
}

/* A screen with a pool of all candidates. */
static gps_screen plain_screen(int n_propose, int n_explore, int is_greedy, double share) {
  const gps_screen screen = {.n_propose = n_propose,
                             .n_explore = n_explore,
                             .n_pool = 1000,
                             .is_greedy = is_greedy,
                             .share = share};
  return screen;
}

static void fill_affinity(double *affinity) {
  for (size_t i = 0; i < CORE_LATENTS * CORE_POINTS; i++) affinity[i] = core_number(i + 500);
}

static int holds(const int *slot, int n, int latent) {
  for (int i = 0; i < n; i++) {
    if (slot[i] == latent) return 1;
  }
  return 0;
}

static double joint_of_case(int point, int n, const int *on) {
  if (the_case.is_one_hot && n != 1) return -HUGE_VAL;
  return core_log_joint(&the_case, (size_t)point, n, on);
}

/* The choice among all latents by log joints alone. */
static void choose_by_definition(int point, int is_greedy, int n_sweeps, int *chosen) {
  static slow_screen it;
  it = (slow_screen){.joint_of = joint_of_case, .point = point, .group_size = 1};
  it.n_slots = N_SLOTS;
  for (int h = 0; h < CORE_LATENTS; h++) {
    it.pool[it.n_pool] = h;
    it.best[it.n_pool++] = joint_of_case(point, 1, &h);
  }
  if (is_greedy && !the_case.is_one_hot) {
    slow_grow(&it, -1);
    slow_sweep(&it, n_sweeps);
    if (n_sweeps == 0) slow_forget(&it);
  }
  slow_take(&it, chosen);
}

/* The model without its gain gives the same choice, and both are the definition's. */
static void test_choice(int number) {
  static double affinity[CORE_LATENTS * CORE_POINTS];
  selection by_gain, by_probe;
  size_t bad_point;
  core_build(&the_case, number);
  fill_affinity(affinity);
  gps_model probed = *the_case.model;
  probed.gain = NULL;
  for (int kind = 0; kind <= 3; kind++) {
    const int is_greedy = kind > 0;
    gps_screen screen = plain_screen(CORE_LATENTS, 0, is_greedy, 0);
    screen.n_sweeps = kind - 1;
    CHECK(screen_all(the_case.model, &screen, affinity, NULL, 1, by_gain, &bad_point) == GPS_OK);
    CHECK(screen_all(&probed, &screen, affinity, NULL, 1, by_probe, &bad_point) == GPS_OK);
    CHECK(memcmp(by_gain, by_probe, sizeof by_gain) == 0);
    int n_equal = 0;
    for (int n = 0; n < CORE_POINTS; n++) {
      int chosen[N_SLOTS];
      choose_by_definition(n, is_greedy, kind - 1, chosen);
      n_equal += memcmp(chosen, by_gain + n * N_SLOTS, sizeof chosen) == 0;
    }
    CHECK(n_equal == CORE_POINTS);
  }
}

/* Candidates are the proposals, what was kept, and explorers; too few leave slots empty. */
static void test_candidates(void) {
  static double affinity[CORE_LATENTS * CORE_POINTS];
  selection kept, selected;
  size_t bad_point;
  core_build(&the_case, 0);
  fill_affinity(affinity);
  for (int n = 0; n < CORE_POINTS; n++) {
    kept[n * N_SLOTS] = n % CORE_LATENTS;
    kept[n * N_SLOTS + 1] = (n + 2) % CORE_LATENTS;
    kept[n * N_SLOTS + 2] = -1;
  }
  const gps_screen keep = plain_screen(0, 0, 1, 0);
  CHECK(screen_all(the_case.model, &keep, NULL, kept, 1, selected, &bad_point) == GPS_OK);
  int n_kept = 0;
  for (int n = 0; n < CORE_POINTS; n++) {
    const int *slot = selected + n * N_SLOTS;
    n_kept += holds(slot, 2, kept[n * N_SLOTS]) && holds(slot, 2, kept[n * N_SLOTS + 1]) &&
              slot[0] < slot[1] && slot[2] == -1;
  }
  CHECK(n_kept == CORE_POINTS);
  const gps_screen none = plain_screen(0, 0, 1, 0);
  CHECK(screen_all(the_case.model, &none, affinity, NULL, 1, selected, &bad_point) == GPS_OK);
  for (int i = 0; i < 5; i++) CHECK(selected[i] == -1);
  const gps_screen best = plain_screen(2, 0, 1, 0);
  CHECK(screen_all(the_case.model, &best, affinity, NULL, 1, selected, &bad_point) == GPS_OK);
  for (int n = 0; n < CORE_POINTS; n++) {
    int top[2];
    select_top(affinity + n * CORE_LATENTS, CORE_LATENTS, 2, &source, (uint32_t)(100 + n), top);
    CHECK(holds(selected + n * N_SLOTS, 2, top[0]) && holds(selected + n * N_SLOTS, 2, top[1]));
    CHECK(selected[n * N_SLOTS + 2] == -1);
  }
}

/* Every latent is drawn sooner or later; where nothing ranks there are no proposals, but for those
 * of all latents. */
static void test_explorers(void) {
  selection selected;
  size_t bad_point;
  int seen[CORE_LATENTS] = {0};
  core_build(&the_case, 0);
  const gps_screen explore = plain_screen(CORE_LATENTS - 1, 2, 1, 0);
  CHECK(screen_all(the_case.model, &explore, NULL, NULL, 1, selected, &bad_point) == GPS_OK);
  for (int i = 0; i < N_SLOTS * CORE_POINTS; i++) {
    if (selected[i] >= 0) seen[selected[i]]++;
  }
  for (int h = 0; h < CORE_LATENTS; h++) CHECK(seen[h] > 0);
  for (int n = 0; n < CORE_POINTS; n++) CHECK(selected[n * N_SLOTS + 2] == -1);
  const gps_screen all = plain_screen(50, 2, 1, 0);
  CHECK(screen_all(the_case.model, &all, NULL, NULL, 1, selected, &bad_point) == GPS_OK);
  for (int n = 0; n < CORE_POINTS; n++) CHECK(selected[n * N_SLOTS + 2] >= 0);
}

/* A random slot after screening is as random as without: its draws are not those of the
 * candidates, which the screening has just judged. */
static void test_random_slot(void) {
  enum { N_ROWS = 4000 };
  double n_came = 0, came_first = 0;
  core_build(&the_case, 0);
  const gps_screen screen = plain_screen(0, 1, 1, 0);
  for (uint32_t row = 0; row < N_ROWS; row++) {
    selection selected;
    size_t bad_point;
    the_case.problem.first_row = row;
    the_case.problem.n_points = 1;
    if (screen_all(the_case.model, &screen, NULL, NULL, 1, selected, &bad_point) != GPS_OK) {
      CHECK(0);
    }
    const int candidate = selected[0];
    int slot[N_SLOTS] = {0, 1, 2};
    explore_slots(slot, N_SLOTS, CORE_LATENTS, 1, 0.5, &source, row);
    const int is_new = slot[2] != 2;
    n_came += is_new;
    came_first += is_new && candidate == 0;
  }
  CHECK_NEAR(n_came / N_ROWS, 0.5, 5 * sqrt(0.25 / N_ROWS));
  CHECK_NEAR(came_first / N_ROWS, 0.5 / CORE_LATENTS, 5 * sqrt(0.07 / N_ROWS));
}

static void test_threads(void) {
  static double affinity[CORE_LATENTS * CORE_POINTS];
  selection one, many;
  size_t bad_point;
  for (int number = 0; number <= 3; number++) {
    core_build(&the_case, number);
    fill_affinity(affinity);
    const gps_screen screen = plain_screen(3, 2, 1, 0.7);
    screen_all(the_case.model, &screen, affinity, NULL, 1, one, &bad_point);
    for (int n_threads = 2; n_threads <= most_threads(); n_threads++) {
      screen_all(the_case.model, &screen, affinity, NULL, n_threads, many, &bad_point);
      CHECK(memcmp(one, many, sizeof one) == 0);
    }
  }
}

/* A rank that is not a number, and a log joint: the failure of the smallest point is reported,
 * whoever meets it first. */
static void test_faults(void) {
  static double affinity[CORE_LATENTS * CORE_POINTS];
  selection selected;
  size_t bad_point;
  core_build(&the_case, 0);
  fill_affinity(affinity);
  the_case.proj[CORE_LATENTS * 31 + 2] = NAN;
  the_case.proj[CORE_LATENTS * 12 + 4] = NAN;
  const gps_screen screen = plain_screen(CORE_LATENTS, 0, 1, 0);
  for (int n_threads = 1; n_threads <= most_threads(); n_threads++) {
    CHECK(screen_all(the_case.model, &screen, affinity, NULL, n_threads, selected, &bad_point) ==
          GPS_NOT_FINITE);
    CHECK(bad_point == 12);
  }
  affinity[CORE_LATENTS * 7 + 1] = NAN;
  const gps_screen few = plain_screen(2, 0, 1, 0);
  CHECK(screen_all(the_case.model, &few, affinity, NULL, 1, selected, &bad_point) ==
        GPS_NOT_FINITE);
  CHECK(bad_point == 7);
}

int main(void) {
  for (int number = 0; number <= 3; number++) test_choice(number);
  test_candidates();
  test_explorers();
  test_random_slot();
  test_threads();
  test_faults();
  return check_report();
}
