/* Best n_selected latents of each data point plus explorers (equation 4 of the paper). Called by
 * r_select.c; select_top() and sort_slots() by screen.c too. */
#include "select.h"

#include <math.h>

/* A random number that belongs to (data point, latent): orders latents of equal affinity. */
static uint32_t tie_key(const gps_source *source, uint32_t row, int latent) {
  const gps_rng rng =
      gps_rng_stream(source->seed, source->start, GPS_PURPOSE_TIE, source->iteration, row);
  uint32_t counter[4] = {(uint32_t)latent, rng.counter[1], rng.counter[2], rng.counter[3]}, out[4];
  gps_philox(counter, rng.key, out);
  return out[0];
}

static int is_better(const double *value, int a, int b, const gps_source *source, uint32_t row) {
  if (value[a] != value[b]) return value[a] > value[b];
  const uint32_t key_a = tie_key(source, row, a), key_b = tie_key(source, row, b);
  return key_a != key_b ? key_a > key_b : a < b;
}

void select_top(const double *value, int n, int n_top, const gps_source *source, uint32_t row,
                int *top) {
  int n_held = 0;
  for (int h = 0; h < n; h++) {
    /* Most latents are plainly worse than the worst that is held. */
    if (n_held == n_top && value[h] < value[top[n_top - 1]]) continue;
    if (n_held == n_top && !is_better(value, h, top[n_top - 1], source, row)) continue;
    int at = n_held < n_top ? n_held++ : n_top - 1;
    for (; at > 0 && is_better(value, h, top[at - 1], source, row); at--) top[at] = top[at - 1];
    top[at] = h;
  }
}

void sort_slots(int *slot, int n) {
  for (int i = 1; i < n; i++) {
    const int moving = slot[i];
    int at = i;
    for (; at > 0 && slot[at - 1] > moving; at--) slot[at] = slot[at - 1];
    slot[at] = moving;
  }
}

static int holds(const int *slot, int n, int latent) {
  for (int i = 0; i < n; i++) {
    if (slot[i] == latent) return 1;
  }
  return 0;
}

void explore_slots(int *selected, int n_selected, int n_latents, double share,
                   const gps_source *source, uint32_t row) {
  if (share <= 0 || n_selected >= n_latents) return;
  gps_rng rng =
      gps_rng_stream(source->seed, source->start, GPS_PURPOSE_EXPLORE, source->iteration, row);
  int n_explorers = (int)floor(share);
  if (gps_rng_uniform(&rng) < share - n_explorers) n_explorers++;
  const int n_others = n_latents - n_selected;
  if (n_explorers > n_selected) n_explorers = n_selected;
  if (n_explorers > n_others) n_explorers = n_others;
  if (n_explorers > GPS_MAX_EXPLORERS) n_explorers = GPS_MAX_EXPLORERS;
  /* The slots that leave are overwritten after all explorers are drawn: a latent that leaves is no
   * candidate. */
  int *leaving = selected + n_selected - n_explorers;
  int drawn[GPS_MAX_EXPLORERS];
  for (int i = 0; i < n_explorers;) {
    const int latent = gps_rng_index(&rng, n_latents);
    if (holds(selected, n_selected, latent) || holds(drawn, i, latent)) continue;
    drawn[i++] = latent;
  }
  for (int i = 0; i < n_explorers; i++) leaving[i] = drawn[i];
}

gps_status select_latents(const double *affinity, int n_latents, size_t n_points, int n_selected,
                          double share, const gps_source *source, size_t first_row, int n_threads,
                          int *selected, size_t *bad_point) {
  size_t first_bad = n_points;
#pragma omp parallel for num_threads(n_threads) schedule(static) \
    reduction(min \
              : first_bad) if (n_threads > 1)
  for (size_t n = 0; n < n_points; n++) {
    const double *value = affinity + n * (size_t)n_latents;
    int *slots = selected + n * (size_t)n_selected;
    for (int h = 0; h < n_latents; h++) {
      if (isnan(value[h]) && n < first_bad) first_bad = n;
    }
    const uint32_t row = (uint32_t)(first_row + n);
    select_top(value, n_latents, n_selected, source, row, slots);
    explore_slots(slots, n_selected, n_latents, share, source, row);
    sort_slots(slots, n_selected);
  }
  *bad_point = first_bad;
  return first_bad < n_points ? GPS_NOT_FINITE : GPS_OK;
}
