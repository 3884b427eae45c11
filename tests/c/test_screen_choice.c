/* Screening of latents on a grid: the choice among the candidates by a slow reference. */
#include "grid_case.h"

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

static int best_of(int point, const int *pool, int n, int n_given, const int *given) {
  int best = 0;
  for (int i = 1; i < n; i++) {
    if (true_gain(point, n_given, given, pool[i]) > true_gain(point, n_given, given, pool[best]))
      best = i;
  }
  return best;
}

static int drop_group(int *pool, int n, int latent) {
  int n_left = 0;
  for (int i = 0; i < n; i++) {
    if (pool[i] / SIZE != latent / SIZE) pool[n_left++] = pool[i];
  }
  return n_left;
}

static int greedy_state(int point, const int *kept, int *given) {
  int left[N_SLOTS], n = 0, n_given = 0;
  for (int i = 0; i < N_SLOTS; i++) {
    if (kept[i] >= 0) left[n++] = kept[i];
  }
  while (n > 0) {
    const int best = left[best_of(point, left, n, n_given, given)];
    if (true_gain(point, n_given, given, best) <= 0) break;
    given[n_given++] = best;
    n = drop_group(left, n, best);
  }
  return n_given;
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

/* From the candidates in seen. */
static void choose_slowly(int point, const gps_screen *screen, const int *kept, int *chosen) {
  static scored list[MOST];
  int pool[MOST], n_pool = 0, n = n_seen, given[N_SLOTS], n_given = 0, n_chosen = 0;
  for (int i = 0; i < n; i++) {
    list[i].latent = seen[i];
    list[i].value = true_gain(point, 0, NULL, seen[i]);
  }
  n = move_best(list, n, screen->is_greedy ? screen->n_pool : n, pool, &n_pool);
  if (screen->is_greedy && screen->n_conditional > 0 && n > 0)
    n = add_conditional(point, screen->n_conditional, kept, list, n, pool, &n_pool);
  while (n_chosen < N_SLOTS) {
    if (n_pool == 0) {
      int n_open = 0;
      for (int i = 0; i < n; i++) {
        if (!holds_group(chosen, n_chosen, list[i].latent)) list[n_open++] = list[i];
      }
      n = move_best(list, n_open, screen->n_pool, pool, &n_pool);
      if (n_pool == 0) break;
    }
    const int best = pool[best_of(point, pool, n_pool, screen->is_greedy ? n_given : 0, given)];
    chosen[n_chosen++] = best;
    if (true_gain(point, n_given, given, best) > 0) given[n_given++] = best;
    n_pool = drop_group(pool, n_pool, best);
  }
  sort_slots(chosen, n_chosen);
  for (; n_chosen < N_SLOTS; n_chosen++) chosen[n_chosen] = -1;
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
  };
  for (size_t i = 0; i < sizeof screens / sizeof *screens; i++) test_choice(screens + i);
}

int main(void) {
  test_choices();
  return check_report();
}
