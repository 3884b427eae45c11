/* Screening of latents on a grid: the choice among the candidates by a slow reference. */
#include "grid_case.h"
#include "slow_screen.h"

typedef struct {
  int latent;
  double value;
} scored;

static int by_value(const void *a, const void *b) {
  const double x = ((const scored *)a)->value, y = ((const scored *)b)->value;
  return (x < y) - (x > y);
}

/* The best n_best of list [n] that pass, into pool; they leave the list. Returns what is left. */
static int move_best(scored *list, int n, int n_best, int *pool, int *n_pool) {
  qsort(list, (size_t)n, sizeof *list, by_value);
  if (n_best > n) n_best = n;
  for (int i = 0; i < n_best; i++) pool[(*n_pool)++] = list[i].latent;
  memmove(list, list + n_best, (size_t)(n - n_best) * sizeof *list);
  return n - n_best;
}

static double joint_of(int point, int n, const int *on) {
  double value = 0;
  for (int i = 0; i < n; i++) value += true_gain(point, i, on, on[i]);
  return value;
}

/* The state that grows from what was kept. */
static int greedy_state(int point, const int *kept, int *given) {
  static slow_screen it;
  it = (slow_screen){.joint_of = joint_of, .point = point, .group_size = SIZE, .n_slots = N_SLOTS};
  for (int i = 0; i < N_SLOTS; i++) {
    if (kept[i] >= 0) it.pool[it.n_pool++] = kept[i];
  }
  slow_grow(&it, -1);
  memcpy(given, it.on, (size_t)it.n_on * sizeof *given);
  return it.n_on;
}

/* Adds what the kept state holds and asks for; returns what is left of the others. */
static int add_conditional(int point, int n_conditional, const int *kept, scored *list, int n,
                           int *pool, int *n_pool) {
  int given[N_SLOTS];
  scored free_list[MOST], rest[MOST];
  const int n_given = greedy_state(point, kept, given);
  int n_free = 0, n_rest = 0;
  if (n_given == 0) return n;
  for (int i = 0; i < n; i++) {
    const int latent = list[i].latent;
    const scored one = {latent, true_gain(point, n_given, given, latent)};
    if (holds(given, n_given, latent)) {
      pool[(*n_pool)++] = latent;
    } else if (holds_group(given, n_given, latent)) {
      rest[n_rest++] = one;
    } else {
      free_list[n_free++] = one;
    }
  }
  n_free = move_best(free_list, n_free, n_conditional, pool, n_pool);
  memcpy(list, free_list, (size_t)n_free * sizeof *list);
  memcpy(list + n_free, rest, (size_t)n_rest * sizeof *list);
  for (int i = 0; i < n_free + n_rest; i++)
    list[i].value = true_gain(point, 0, NULL, list[i].latent);
  return n_free + n_rest;
}

static int count_groups(const slow_screen *it) {
  slow_screen all = *it;
  for (int i = 0; i < it->n_pool; i++) {
    if (all.n_on < N_SLOTS && !slow_is_taken(&all, it->pool[i])) all.on[all.n_on++] = it->pool[i];
  }
  return all.n_on;
}

static void note_first_gains(slow_screen *it, int from) {
  for (int i = from; i < it->n_pool; i++) it->best[i] = joint_of(it->point, 1, it->pool + i);
}

/* From the candidates in seen. */
static void choose_slowly(int point, const gps_screen *screen, const int *kept, int *chosen) {
  static scored list[MOST];
  static slow_screen it;
  int n = n_seen;
  it = (slow_screen){.joint_of = joint_of, .point = point, .group_size = SIZE, .n_slots = N_SLOTS};
  for (int i = 0; i < n; i++) {
    list[i].latent = seen[i];
    list[i].value = true_gain(point, 0, NULL, seen[i]);
  }
  n = move_best(list, n, screen->is_greedy ? screen->n_pool : n, it.pool, &it.n_pool);
  if (screen->is_greedy && screen->n_conditional > 0 && n > 0)
    n = add_conditional(point, screen->n_conditional, kept, list, n, it.pool, &it.n_pool);
  note_first_gains(&it, 0);
  if (screen->is_greedy) slow_grow(&it, -1);
  if (screen->is_greedy) slow_sweep(&it, screen->n_sweeps);
  while (n > 0 && count_groups(&it) < N_SLOTS) {
    const int from = it.n_pool;
    n = move_best(list, n, screen->n_pool, it.pool, &it.n_pool);
    note_first_gains(&it, from);
    slow_grow(&it, -1);
  }
  if (screen->is_greedy && screen->n_sweeps == 0) slow_forget(&it);
  slow_take(&it, chosen);
}

static void test_choice(const gps_screen *screen) {
  static double affinity[N_LATENTS * N_POINTS];
  static int kept[N_SLOTS * N_POINTS], selected[N_SLOTS * N_POINTS];
  fill_affinity(affinity);
  fill_kept(kept);
  int n_equal = 0;
  for (size_t n = 0; n < N_POINTS; n++) {
    int chosen[N_SLOTS] = {0};
    n_seen = n_begun = 0;
    screen_range(screen, 1, 0, affinity, kept, n, n + 1, 1, selected);
    choose_slowly((int)n, screen, kept + n * N_SLOTS, chosen);
    n_equal += memcmp(chosen, selected + n * N_SLOTS, sizeof chosen) == 0;
    CHECK(n_begun == 1);
  }
  CHECK(n_equal == N_POINTS);
}

static void test_choices(void) {
  const gps_screen screens[] = {
      {.n_propose = 20, .n_explore = 60, .n_moves = 4, .n_pool = 1000, .is_greedy = 1},
      {.n_propose = 20, .n_explore = 60, .n_moves = 4, .n_pool = 12, .is_greedy = 1},
      /* a pool that runs out */
      {.n_propose = 20, .n_explore = 60, .n_moves = 4, .n_pool = 1, .is_greedy = 1},
      {.n_propose = 3, .n_moves = 2, .n_pool = 2, .is_greedy = 1},
      {.n_propose = 20, .n_explore = 60, .n_pool = 12, .n_conditional = 8, .is_greedy = 1},
      {.n_explore = 60, .n_moves = 4, .n_pool = 2, .n_conditional = 3, .is_greedy = 1},
      {.n_explore = 60, .n_moves = 4, .n_pool = 2, .n_conditional = 1000, .is_greedy = 1},
      {.n_propose = 20, .n_explore = 60, .n_moves = 4, .n_pool = 3, .n_conditional = 5},
      {.n_propose = 20, .n_explore = 60, .n_pool = 1000, .is_greedy = 1, .n_sweeps = 1},
      {.n_propose = 20, .n_explore = 60, .n_pool = 40, .is_greedy = 1, .n_sweeps = 9},
      {.n_propose = 9,
       .n_moves = 4,
       .n_pool = 3,
       .n_conditional = 8,
       .is_greedy = 1,
       .n_sweeps = 2},
  };
  for (size_t i = 0; i < sizeof screens / sizeof *screens; i++) test_choice(screens + i);
}

int main(void) {
  test_choices();
  return check_report();
}
