/* The best latents of a data point, ties, and the law of the explorers. */
#include "check.h"
#include "select.h"

#include <string.h>

enum { N_DRAWS = 100000 };

static const gps_source source = {{17u, 91u}, 2, 5};

static int count_of(const int *slot, int n, int latent) {
  int n_held = 0;
  for (int i = 0; i < n; i++) n_held += slot[i] == latent;
  return n_held;
}

static int is_ascending(const int *slot, int n) {
  for (int i = 1; i < n; i++) {
    if (slot[i] <= slot[i - 1]) return 0;
  }
  return 1;
}

/* A count of `n` trials of probability p lies within five standard errors. */
static void check_frequency(double count, double n, double p) {
  CHECK_NEAR(count, n * p, 5 * sqrt(n * p * (1 - p)));
}

static void test_top(void) {
  double value[40];
  int top[40];
  for (uint32_t row = 0; row < 200; row++) {
    for (int h = 0; h < 40; h++) value[h] = sin((double)(h * 31 + (int)row * 7));
    value[row % 40] = -INFINITY;
    value[(row + 11) % 40] = INFINITY;
    for (int n_top = 1; n_top <= 40; n_top += 13) {
      select_top(value, 40, n_top, &source, row, top);
      int n_better = 0, is_ordered = 1;
      for (int i = 1; i < n_top; i++) is_ordered &= value[top[i - 1]] >= value[top[i]];
      for (int h = 0; h < 40; h++) n_better += value[h] > value[top[n_top - 1]];
      CHECK(is_ordered);
      CHECK(n_better == n_top - 1);
    }
  }
}

/* Of equal latents none is favoured by its number, alone or in pairs. */
static void test_ties(void) {
  enum { N = 6, N_TOP = 2, N_ROWS = 20000 };
  const double value[N] = {1, 3, 1, 1, 0, 1};
  double held[N] = {0};
  int top[N_TOP];
  for (uint32_t row = 0; row < N_ROWS; row++) {
    select_top(value, N, N_TOP, &source, row, top);
    CHECK(top[0] == 1);
    held[top[1]]++;
  }
  CHECK(held[4] == 0);
  check_frequency(held[0], N_ROWS, 0.25);
  check_frequency(held[2], N_ROWS, 0.25);
  check_frequency(held[3], N_ROWS, 0.25);
  check_frequency(held[5], N_ROWS, 0.25);
}

static void test_all_tied(void) {
  enum { N = 7, N_TOP = 3, N_ROWS = 30000 };
  const double value[N] = {0};
  double first[N] = {0}, held[N] = {0}, both = 0;
  int top[N_TOP];
  for (uint32_t row = 0; row < N_ROWS; row++) {
    select_top(value, N, N_TOP, &source, row, top);
    first[top[0]]++;
    for (int i = 0; i < N_TOP; i++) held[top[i]]++;
    both += count_of(top, N_TOP, 0) && count_of(top, N_TOP, 1);
  }
  for (int h = 0; h < N; h++) {
    check_frequency(first[h], N_ROWS, 1.0 / 7);
    check_frequency(held[h], N_ROWS, 3.0 / 7);
  }
  check_frequency(both, N_ROWS, 3.0 * 2 / (7 * 6));
}

/* Of n_selected = 5 of 12 with a share of 0.5: the worst slot leaves in half of the points, and
 * each of the 7 others comes in equally often. */
static void test_explorers(double share, int n_selected, int n_latents) {
  double came[64] = {0}, stayed[64] = {0}, total = 0;
  const int n_others = n_latents - n_selected;
  int slot[64];
  for (uint32_t row = 0; row < N_DRAWS; row++) {
    for (int i = 0; i < n_selected; i++) slot[i] = n_selected - 1 - i;
    explore_slots(slot, n_selected, n_latents, 1, share, &source, row);
    for (int i = 0; i < n_selected; i++) {
      if (slot[i] >= n_selected) {
        came[slot[i]]++;
        total++;
      } else {
        stayed[slot[i]]++;
      }
    }
    sort_slots(slot, n_selected);
    if (!is_ascending(slot, n_selected)) CHECK(0);
  }
  const double whole = floor(share);
  check_frequency(total - N_DRAWS * whole, N_DRAWS, share - whole);
  for (int h = n_selected; h < n_latents; h++) {
    CHECK(came[h] > 0);
    check_frequency(came[h], N_DRAWS, share / n_others);
  }
  /* Slot i stands i-th from the worst: it leaves when more than i explorers come. */
  for (int i = 0; i < n_selected; i++) {
    const double leaves = i < whole ? 1 : i > whole ? 0 : share - whole;
    check_frequency(N_DRAWS - stayed[i], N_DRAWS, leaves);
  }
}

static void test_no_explorers(void) {
  int slot[3] = {2, 1, 0};
  const int before[3] = {2, 1, 0};
  explore_slots(slot, 3, 3, 1, 2, &source, 0);
  CHECK(memcmp(slot, before, sizeof slot) == 0);
  explore_slots(slot, 3, 9, 1, 0, &source, 0);
  CHECK(memcmp(slot, before, sizeof slot) == 0);
}

/* No more explorers than others, nor than slots. */
static void test_many_explorers(void) {
  int slot[5];
  for (uint32_t row = 0; row < 100; row++) {
    for (int i = 0; i < 5; i++) slot[i] = i;
    explore_slots(slot, 5, 7, 1, 5, &source, row);
    CHECK(count_of(slot, 5, 5) == 1 && count_of(slot, 5, 6) == 1 && count_of(slot, 5, 0) == 1);
    for (int i = 0; i < 2; i++) slot[i] = i;
    explore_slots(slot, 2, 30, 1, 2, &source, row);
    CHECK(slot[0] >= 2 && slot[1] >= 2 && slot[0] != slot[1]);
  }
}

/* A share of many slots is not cut short. */
static void test_large_share(void) {
  enum { N_SELECTED = 900, N_LATENTS = 1400 };
  static int slot[N_SELECTED];
  for (int i = 0; i < N_SELECTED; i++) slot[i] = i;
  explore_slots(slot, N_SELECTED, N_LATENTS, 1, 90, &source, 3);
  int n_came = 0;
  for (int i = 0; i < N_SELECTED; i++) n_came += slot[i] >= N_SELECTED;
  CHECK(n_came == 90);
  sort_slots(slot, N_SELECTED);
  CHECK(is_ascending(slot, N_SELECTED));
}

static void test_sort(void) {
  int slot[6] = {5, 0, 3, -1, 4, 1};
  sort_slots(slot, 6);
  CHECK(slot[0] == -1 && is_ascending(slot, 6));
  sort_slots(slot, 0);
  sort_slots(slot, 1);
  CHECK(slot[0] == -1);
}

/* A block of data points, whose selections are [N_SELECTED x N_POINTS]. */
enum { N_POINTS = 1000, N_SELECTED = 4 };

static gps_selection block_job(int n_latents) {
  const gps_selection job = {.n_latents = n_latents,
                             .group_size = 1,
                             .n_selected = N_SELECTED,
                             .n_points = N_POINTS,
                             .first_row = 100,
                             .share = 0.4,
                             .source = source};
  return job;
}

static void check_ordered(const int *selected) {
  int n_ordered = 0;
  for (int n = 0; n < N_POINTS; n++)
    n_ordered += is_ascending(selected + n * N_SELECTED, N_SELECTED);
  CHECK(n_ordered == N_POINTS);
}

/* A block's selections: same for any number of threads, ascending, NaN named by the first point. */
static void test_block(void) {
  enum { N_LATENTS = 9 };
  static double affinity[N_LATENTS * N_POINTS];
  static int one[N_SELECTED * N_POINTS], many[N_SELECTED * N_POINTS];
  gps_selection job = block_job(N_LATENTS);
  size_t bad_point = 0;
  for (size_t i = 0; i < N_LATENTS * N_POINTS; i++) affinity[i] = floor(4 * sin((double)(i * i)));
  for (job.n_threads = 1; job.n_threads <= most_threads(); job.n_threads++) {
    CHECK(select_latents(&job, affinity, job.n_threads == 1 ? one : many, &bad_point) == GPS_OK);
    if (job.n_threads > 1) CHECK(memcmp(one, many, sizeof one) == 0);
  }
  check_ordered(one);
  affinity[N_LATENTS * 700 + 3] = NAN;
  affinity[N_LATENTS * 300 + 8] = NAN;
  for (job.n_threads = 1; job.n_threads <= most_threads(); job.n_threads++) {
    CHECK(select_latents(&job, affinity, many, &bad_point) == GPS_NOT_FINITE);
    CHECK(bad_point == 300);
  }
}

/* The same from candidates: latents of a short list, each of which comes once. */
static void test_block_of_candidates(void) {
  enum { N_LATENTS = 30, LENGTH = 6 };
  static double affinity[LENGTH * N_POINTS], scratch[N_SELECTED * 5];
  static int latent[LENGTH * N_POINTS], one[N_SELECTED * N_POINTS], many[N_SELECTED * N_POINTS];
  const gps_candidates lists = {LENGTH, latent, affinity};
  gps_selection job = block_job(N_LATENTS);
  size_t bad_point = 0;
  for (int i = 0; i < LENGTH * N_POINTS; i++) {
    latent[i] = i % 11 == 0 ? 0 : 1 + (i / LENGTH * 7 + i % LENGTH * 5) % N_LATENTS;
    affinity[i] = latent[i] ? floor(4 * sin((double)i * i)) : 0;
  }
  for (job.n_threads = 1; job.n_threads <= most_threads(); job.n_threads++) {
    int *to = job.n_threads == 1 ? one : many;
    CHECK(select_candidates(&job, &lists, 1, to, scratch, &bad_point) == GPS_OK);
    if (job.n_threads > 1) CHECK(memcmp(one, many, sizeof one) == 0);
  }
  check_ordered(one);
  affinity[LENGTH * 700 + 3] = NAN;
  affinity[LENGTH * 300 + 5] = NAN;
  for (job.n_threads = 1; job.n_threads <= most_threads(); job.n_threads++) {
    CHECK(select_candidates(&job, &lists, 1, many, scratch, &bad_point) == GPS_NOT_FINITE);
    CHECK(bad_point == 300);
  }
}

/* Points that stand at the same global row get the same draws, wherever their block begins. */
static void test_global_rows(void) {
  const double affinity[6] = {0};
  int a[2], b[4];
  size_t bad_point = 0;
  const double twice[12] = {0};
  gps_selection job = {.n_latents = 6, .group_size = 1, .n_selected = 2, .n_threads = 1};
  job.share = 0.5;
  job.source = source;
  job.n_points = 1;
  job.first_row = 41;
  select_latents(&job, affinity, a, &bad_point);
  job.n_points = 2;
  job.first_row = 40;
  select_latents(&job, twice, b, &bad_point);
  CHECK(memcmp(a, b + 2, sizeof a) == 0);
}

/* The best latent of each group, then the best groups; fewer groups than slots leave slots empty.
 */
static void test_groups(void) {
  enum { SIZE = 6, N_GROUPS = 5, N = SIZE * N_GROUPS };
  double value[N];
  int best[N_GROUPS], top[N_GROUPS + 2], slots[N_GROUPS + 2];
  for (uint32_t row = 0; row < 300; row++) {
    for (int h = 0; h < N; h++) value[h] = sin((double)(h * 31 + (int)row * 7));
    for (int g = 0; g < N_GROUPS; g++) {
      best[g] = g * SIZE;
      for (int h = g * SIZE; h < (g + 1) * SIZE; h++) {
        if (value[h] > value[best[g]]) best[g] = h;
      }
    }
    for (int n_top = 1; n_top <= N_GROUPS + 2; n_top++) {
      const int n_held = select_top_groups(value, N, SIZE, n_top, &source, row, top);
      CHECK(n_held == (n_top < N_GROUPS ? n_top : N_GROUPS));
      int is_right = 1;
      for (int i = 0; i < n_held; i++) {
        is_right &= top[i] == best[top[i] / SIZE];
        is_right &= i == 0 || value[top[i - 1]] > value[top[i]];
        is_right &= count_of(top, n_held, top[i]) == 1;
      }
      int n_better = 0;
      for (int g = 0; g < N_GROUPS; g++) n_better += value[best[g]] > value[top[n_held - 1]];
      CHECK(is_right && n_better == n_held - 1);
    }
    size_t bad_point;
    const gps_selection job = {.n_latents = N,
                               .group_size = SIZE,
                               .n_selected = N_GROUPS + 2,
                               .n_threads = 1,
                               .n_points = 1,
                               .first_row = row,
                               .share = 1,
                               .source = source};
    select_latents(&job, value, slots, &bad_point);
    CHECK(is_ascending(slots, N_GROUPS) && slots[N_GROUPS] == -1 && slots[N_GROUPS + 1] == -1);
  }
}

/* Tied latents of a group, and tied groups, come equally often. */
static void test_group_ties(void) {
  enum { SIZE = 4, N_GROUPS = 3, N = SIZE * N_GROUPS, N_ROWS = 30000 };
  const double value[N] = {0};
  double held[N] = {0};
  int top[2];
  for (uint32_t row = 0; row < N_ROWS; row++) {
    select_top_groups(value, N, SIZE, 2, &source, row, top);
    CHECK(top[0] / SIZE != top[1] / SIZE);
    held[top[0]]++;
    held[top[1]]++;
  }
  for (int h = 0; h < N; h++) check_frequency(held[h], N_ROWS, 2.0 / N);
}

/* An explorer takes any location of any group that is not selected. */
static void test_group_explorers(void) {
  enum { SIZE = 5, N_GROUPS = 7, N = SIZE * N_GROUPS, N_ROWS = 50000 };
  double came[N] = {0};
  for (uint32_t row = 0; row < N_ROWS; row++) {
    int slot[3] = {2 * SIZE + 1, 0, 4 * SIZE + 4};
    explore_slots(slot, 3, N, SIZE, 1.5, &source, row);
    CHECK(slot[0] == 2 * SIZE + 1 && slot[1] / SIZE != slot[2] / SIZE);
    for (int i = 1; i < 3; i++) came[slot[i]]++;
  }
  for (int h = 0; h < N; h++) {
    const int group = h / SIZE;
    if (group == 0 || group == 2 || group == 4) {
      check_frequency(came[h], N_ROWS, h == 0 ? 0.5 : 0);
    } else {
      check_frequency(came[h], N_ROWS, 1.5 / (4 * SIZE));
    }
  }
}

/* A long column against a sort: the scan skips nothing that counts. */
static void test_long(void) {
  enum { N = 3000 };
  static double value[N];
  static int top[N];
  for (uint32_t row = 0; row < 30; row++) {
    for (int h = 0; h < N; h++) value[h] = floor(300 * sin((double)h * h + row)) + (h > 2900);
    for (int n_top = 1; n_top <= N; n_top = 3 * n_top + 1) {
      select_top(value, N, n_top, &source, row, top);
      int is_ordered = 1, n_better = 0, n_tied = 0, n_held_tied = 0;
      const double last = value[top[n_top - 1]];
      for (int i = 1; i < n_top; i++) is_ordered &= value[top[i - 1]] >= value[top[i]];
      for (int h = 0; h < N; h++) {
        n_better += value[h] > last;
        n_tied += value[h] == last;
      }
      for (int i = 0; i < n_top; i++) n_held_tied += value[top[i]] == last;
      CHECK(is_ordered && n_better + n_held_tied == n_top && n_held_tied <= n_tied);
      if (n_top < 200) {
        for (int i = 0; i < n_top; i++) CHECK(count_of(top, n_top, top[i]) == 1);
      }
    }
  }
}

int main(void) {
  test_groups();
  test_group_ties();
  test_group_explorers();
  test_long();
  test_top();
  test_ties();
  test_all_tied();
  test_explorers(0.5, 5, 12);
  test_explorers(0.2, 2, 3);
  test_explorers(2.3, 8, 20);
  test_no_explorers();
  test_many_explorers();
  test_large_share();
  test_sort();
  test_block();
  test_block_of_candidates();
  test_global_rows();
  return check_report();
}
