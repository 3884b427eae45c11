/* Screening of latents on a grid: candidates as the model sees them, counts, threads. */
#include "grid_case.h"

/* Steps down and to the right from one location to another of the same group, the short way round.
 */
static int step_between(int from, int to, int length) {
  const int step = ((to - from) % length + length) % length;
  return step > length / 2 ? step - length : step;
}

static void check_frequency(double count, double n, double p) {
  CHECK_NEAR(count, n * p, 5 * sqrt(n * p * (1 - p)));
}

/* One neighbour of one kept latent: uniform among the 24 around it, its location left out. On a
 * grid of width 5 all steps across are different locations. */
static void test_moves(void) {
  enum { N_ROWS = 24000 };
  const int kept[N_SLOTS] = {3 * SIZE + 1, -1, -1, -1};
  const gps_screen screen = {.n_propose = 0, .n_moves = 1, .n_pool = 100, .is_greedy = 1};
  double count[5][5] = {{0}};
  int selected[N_SLOTS];
  for (size_t row = 0; row < N_ROWS; row++) {
    n_seen = 0;
    screen_range(&screen, 1, row, NULL, kept, 0, 1, 1, selected);
    if (n_seen != 2 || seen[0] != kept[0] || seen[1] / SIZE != 3) {
      CHECK(0);
      continue;
    }
    const int from = seen[0] % SIZE, to = seen[1] % SIZE;
    const int down = step_between(from % HEIGHT, to % HEIGHT, HEIGHT);
    const int right = step_between(from / HEIGHT, to / HEIGHT, WIDTH);
    if (abs(down) > 2 || abs(right) > 2) {
      CHECK(0);
      continue;
    }
    count[down + 2][right + 2]++;
  }
  for (int i = 0; i < 25; i++) {
    if (i == 12) {
      CHECK(count[2][2] == 0);
    } else {
      check_frequency(count[i / 5][i % 5], N_ROWS, 1.0 / 24);
    }
  }
}

/* Several moves of several latents, explorers and proposals: each candidate once, of its kind. */
static void test_candidates(void) {
  static double affinity[N_LATENTS * N_POINTS];
  static int kept[N_SLOTS * N_POINTS], selected[N_SLOTS * N_POINTS];
  const gps_screen screen = {
      .n_propose = 9, .n_explore = 200, .n_moves = 24, .n_pool = 5, .is_greedy = 1};
  fill_affinity(affinity);
  fill_kept(kept);
  double n_found = 0;
  for (size_t n = 0; n < N_POINTS; n++) {
    int top[9];
    n_seen = 0;
    screen_range(&screen, 1, 0, affinity, kept, n, n + 1, 1, selected);
    select_top(affinity + n * N_LATENTS, N_LATENTS, 9, &source, (uint32_t)n, top);
    int is_once = n_seen <= MOST, n_top = 0, n_kept = 0, n_empty = 0;
    for (int i = 0; i < n_seen; i++) is_once &= !holds(seen, i, seen[i]);
    for (int i = 0; i < 9; i++) n_top += holds(seen, n_seen, top[i]);
    for (int i = 0; i < N_SLOTS; i++) {
      n_kept += holds(seen, n_seen, kept[i + n * N_SLOTS]);
      n_empty += kept[i + n * N_SLOTS] < 0;
    }
    CHECK(is_once && n_top == 9 && n_kept + n_empty == N_SLOTS && !holds(seen, n_seen, -1));
    n_found += n_seen;
  }
  /* 200 draws of 240 leave e^(-200/240) out; all else only adds. */
  CHECK(n_found / N_POINTS > 0.565 * N_LATENTS);
}

static void test_explorers(void) {
  enum { N_ROWS = 40000 };
  const gps_screen screen = {.n_explore = 3, .n_pool = 100, .is_greedy = 1};
  static double count[N_LATENTS];
  int selected[N_SLOTS];
  double in_group = 0;
  for (size_t row = 0; row < N_ROWS; row++) {
    n_seen = 0;
    screen_range(&screen, 1, row, NULL, NULL, 0, 1, 1, selected);
    for (int i = 0; i < n_seen; i++) count[seen[i]]++;
    in_group += holds_group(seen, n_seen, 0);
  }
  const double missed = pow(1 - 1.0 / N_LATENTS, 3);
  for (int h = 0; h < N_LATENTS; h++) check_frequency(count[h], N_ROWS, 1 - missed);
  check_frequency(in_group, N_ROWS, 1 - pow(1 - 1.0 / N_GROUPS, 3));
}

/* Gains are counted: those of all candidates, and of the pool as often as a latent joined. */
static void test_count(void) {
  static int kept[N_SLOTS * N_POINTS], selected[N_SLOTS * N_POINTS];
  fill_kept(kept);
  const gps_screen singleton = {.n_explore = 30, .n_pool = 1000};
  for (size_t n = 0; n < 20; n++) {
    n_seen = 0;
    const screen_outcome outcome =
        screen_range(&singleton, 1, 0, NULL, kept, n, n + 1, 1, selected);
    CHECK(outcome.n_gains == n_seen);
  }
}

/* No thread, slice or block changes a choice; an explorer comes from a group that is not there. */
static void test_threads(void) {
  static double affinity[N_LATENTS * N_POINTS];
  static int kept[N_SLOTS * N_POINTS], one[N_SLOTS * N_POINTS], other[N_SLOTS * N_POINTS];
  const char *asked = getenv("OMP_NUM_THREADS");
  const int most_threads = asked && strcmp(asked, "1") == 0 ? 1 : 4;
  const gps_screen screen = {.n_propose = 20,
                             .n_explore = 60,
                             .n_moves = 4,
                             .n_pool = 12,
                             .n_conditional = 8,
                             .is_greedy = 1,
                             .share = 0.5};
  fill_affinity(affinity);
  fill_kept(kept);
  const screen_outcome whole = screen_range(&screen, 0, 0, affinity, kept, 0, N_POINTS, 1, one);
  for (int n_threads = 2; n_threads <= most_threads; n_threads++) {
    const screen_outcome outcome =
        screen_range(&screen, 0, 0, affinity, kept, 0, N_POINTS, n_threads, other);
    CHECK(outcome.n_gains == whole.n_gains && memcmp(one, other, sizeof one) == 0);
  }
  memset(other, 0, sizeof other);
  for (size_t from = 0; from < N_POINTS; from += 70) {
    const size_t to = from + 70 < N_POINTS ? from + 70 : N_POINTS;
    screen_range(&screen, 0, 0, affinity, kept, from, to, 1, other);
  }
  CHECK(memcmp(one, other, sizeof one) == 0);
  int is_sound = 1;
  for (int i = 0; i < N_SLOTS * N_POINTS; i++)
    is_sound &= one[i] >= 0 && !holds_group(one + i - i % N_SLOTS, i % N_SLOTS, one[i]);
  CHECK(is_sound);
}

/* All latents of a group that is sought are candidates, each once. */
static void test_seek(void) {
  const int kept[N_SLOTS] = {2 * SIZE + 3, 5 * SIZE, -1, -1}, seek[2] = {2, 6};
  const gps_screen screen = {
      .n_propose = 0, .n_pool = 100, .is_greedy = 1, .n_seek = 2, .seek = seek};
  int selected[N_SLOTS];
  n_seen = 0;
  screen_range(&screen, 1, 0, NULL, kept, 0, 1, 1, selected);
  CHECK(n_seen == 2 * SIZE + 1);
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < SIZE; k++) CHECK(holds(seen, n_seen, seek[i] * SIZE + k));
  }
  CHECK(holds(seen, n_seen, kept[1]));
}

int main(void) {
  test_seek();
  test_moves();
  test_candidates();
  test_explorers();
  test_count();
  test_threads();
  return check_report();
}
