/* Best n_selected latents of each data point plus explorers (equation 4 of the paper). Called by
 * r_select.c; select_top() and sort_slots() by screen.c too. */
#include "select.h"

#include <math.h>
#include <string.h>

#include "threads.h"
#include "vector_math.h"

/* Values looked at together: most latents are plainly worse than the worst that is held. */
#define SCAN 16

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

/* `latent` into top, which holds the n_held <= n_top best so far, best first. */
static int insert_top(const double *value, int latent, int n_top, const gps_source *source,
                      uint32_t row, int *top, int n_held) {
  if (n_held == n_top && !is_better(value, latent, top[n_top - 1], source, row)) return n_held;
  int low = 0, high = n_held < n_top ? n_held : n_top - 1;
  const int n_new = n_held < n_top ? n_held + 1 : n_top;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (is_better(value, latent, top[middle], source, row)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  memmove(top + low + 1, top + low, (size_t)(n_new - 1 - low) * sizeof *top);
  top[low] = latent;
  return n_new;
}

/* The first of value [from .. n - 1], in steps of SCAN, from which SCAN values are not all below
 * the threshold. */
GPS_CLONES static int skip_below(const double *value, int from, int n, double threshold) {
  for (; from + SCAN <= n; from += SCAN) {
    int n_above = 0;
    for (int i = 0; i < SCAN; i++) n_above += value[from + i] >= threshold;
    if (n_above > 0) return from;
  }
  return from;
}

/* The values of `top` beside it, where there are not more than FEW: a long column lies far away. */
#define FEW 128

/* How many of held [n], which fall, are above x. Without branches on the values, which nobody could
 * foretell. */
static int count_above(const double *held, int n, double x) {
  int low = 0;
  while (n > 0) {
    const int half = (n + 1) / 2;
    low += held[low + half - 1] > x ? half : 0;
    n -= half;
  }
  return low;
}

static int insert_few(const double *value, int latent, int n_top, const gps_source *source,
                      uint32_t row, int *top, double *held, int n_held) {
  const double x = value[latent];
  int at = count_above(held, n_held, x);
  /* Equal ones in the order of their keys; a long row of them is mostly left at its end. */
  if (at < n_held && held[n_held - 1] == x &&
      !is_better(value, latent, top[n_held - 1], source, row)) {
    at = n_held;
  }
  while (at < n_held && held[at] == x && !is_better(value, latent, top[at], source, row)) at++;
  if (at == n_top) return n_held;
  const int n_new = n_held < n_top ? n_held + 1 : n_top;
  for (int i = n_new - 1; i > at; i--) {
    held[i] = held[i - 1];
    top[i] = top[i - 1];
  }
  held[at] = x;
  top[at] = latent;
  return n_new;
}

/* Every STRIDE-th value of a long column is looked at first. */
#define STRIDE 64
#define MOST_RANK 16

/* A value that more than n_top, but not many more, are likely not to be below: one of the best of a
 * sample. */
static double guess_threshold(const double *value, int n, int n_top) {
  if (n < 2 * STRIDE * MOST_RANK) return -HUGE_VAL;
  const double expected = (double)n_top / STRIDE;
  const int rank = (int)(expected + 3 * sqrt(expected)) + 2;
  double held[MOST_RANK];
  int n_held = 0;
  for (int h = 0; h < n; h += STRIDE) {
    if (n_held == rank && !(value[h] > held[rank - 1])) continue;
    int at = n_held < rank ? n_held++ : rank - 1;
    for (; at > 0 && held[at - 1] < value[h]; at--) held[at] = held[at - 1];
    held[at] = value[h];
  }
  return held[rank - 1];
}

/* The n_top <= FEW best of the values from the threshold on. Returns how many there are. */
static int select_few(const double *value, int n, int n_top, double threshold,
                      const gps_source *source, uint32_t row, int *top) {
  double held[FEW];
  int n_held = 0, h = 0;
  while ((h = skip_below(value, h, n, threshold)) < n) {
    const int end = h + SCAN < n ? h + SCAN : n;
    for (; h < end; h++) {
      if (value[h] < threshold) continue;
      n_held = insert_few(value, h, n_top, source, row, top, held, n_held);
      if (n_held == n_top) threshold = held[n_top - 1];
    }
  }
  return n_held;
}

/* So few values are ranked faster by comparing all pairs. */
#define PAIRED 48

/* The n_top best, best first, of n <= PAIRED values. Returns 0 where two of these are equal. */
GPS_CLONES static int select_paired(const double *value, int n, int n_top, int *top) {
  int rank[PAIRED], order[PAIRED];
  if (!rank_pairs(value, (size_t)n, rank)) return 0;
  for (int i = 0; i < n; i++) order[rank[i]] = i;
  memcpy(top, order, (size_t)n_top * sizeof *top);
  return 1;
}

void select_top(const double *value, int n, int n_top, const gps_source *source, uint32_t row,
                int *top) {
  if (n <= PAIRED && select_paired(value, n, n_top, top)) return;
  if (n_top <= FEW) {
    const double threshold = guess_threshold(value, n, n_top);
    if (select_few(value, n, n_top, threshold, source, row, top) == n_top) return;
    select_few(value, n, n_top, -HUGE_VAL, source, row, top);
    return;
  }
  int n_held = 0;
  for (int h = 0; h < n; h++) {
    if (n_held == n_top && value[h] < value[top[n_top - 1]]) continue;
    n_held = insert_top(value, h, n_top, source, row, top, n_held);
  }
}

int select_top_groups(const double *value, int n, int group_size, int n_top,
                      const gps_source *source, uint32_t row, int *top) {
  const int n_groups = n / group_size;
  if (n_top > n_groups) n_top = n_groups;
  if (group_size == 1) {
    select_top(value, n, n_top, source, row, top);
    return n_top;
  }
  int n_held = 0;
  for (int from = 0; from < n; from += group_size) {
    int best = from;
    for (int h = from + 1; h < from + group_size; h++) {
      if (value[h] >= value[best] && is_better(value, h, best, source, row)) best = h;
    }
    n_held = insert_top(value, best, n_top, source, row, top, n_held);
  }
  return n_top;
}

void sort_slots(int *slot, int n) {
  for (int i = 1; i < n; i++) {
    const int moving = slot[i];
    int at = i;
    for (; at > 0 && slot[at - 1] > moving; at--) slot[at] = slot[at - 1];
    slot[at] = moving;
  }
}

static int holds_group(const int *slot, int n, int group_size, int latent) {
  for (int i = 0; i < n; i++) {
    if (slot[i] / group_size == latent / group_size) return 1;
  }
  return 0;
}

/* floor(share) explorers, and one more with the probability of the rest; at least n_least. */
static int count_explorers(gps_rng *rng, double share, int n_least, int n_most) {
  int n = (int)floor(share);
  if (gps_rng_uniform(rng) < share - n) n++;
  if (n < n_least) n = n_least;
  if (n > n_most) n = n_most;
  return n < GPS_MAX_EXPLORERS ? n : GPS_MAX_EXPLORERS;
}

/* drawn [n]: latents of groups that are neither in slot [n_held] nor among them twice. */
static void draw_explorers(gps_rng *rng, const int *slot, int n_held, int n_latents, int group_size,
                           int n, int *drawn) {
  for (int i = 0; i < n;) {
    const int latent = gps_rng_index(rng, n_latents);
    if (holds_group(slot, n_held, group_size, latent) || holds_group(drawn, i, group_size, latent))
      continue;
    drawn[i++] = latent;
  }
}

static gps_rng explorers_of(const gps_source *source, uint32_t row) {
  return gps_rng_stream(source->seed, source->start, GPS_PURPOSE_EXPLORE, source->iteration, row);
}

static int min_int(int a, int b) { return a < b ? a : b; }

void explore_slots(int *selected, int n_selected, int n_latents, int group_size, double share,
                   const gps_source *source, uint32_t row) {
  const int n_others = n_latents / group_size - n_selected;
  if (share <= 0 || n_others <= 0) return;
  gps_rng rng = explorers_of(source, row);
  const int n = count_explorers(&rng, share, 0, min_int(n_selected, n_others));
  /* The slots that leave are overwritten after all explorers are drawn: a latent that leaves is no
   * candidate. */
  int drawn[GPS_MAX_EXPLORERS];
  draw_explorers(&rng, selected, n_selected, n_latents, group_size, n, drawn);
  memcpy(selected + n_selected - n, drawn, (size_t)n * sizeof *drawn);
}

/* The same where only n_held of the slots hold something: the others are explored, too. Returns how
 * many are filled, all unless there are too few latents. */
static int explore_rest(int *selected, int n_held, int n_selected, int n_latents, int group_size,
                        double share, const gps_source *source, uint32_t row) {
  const int n_others = n_latents / group_size - n_held, n_free = n_selected - n_held;
  if ((share <= 0 && n_free == 0) || n_others <= 0) return n_held;
  gps_rng rng = explorers_of(source, row);
  const int n = count_explorers(&rng, share > 0 ? share : 0, n_free, min_int(n_selected, n_others));
  const int n_filled = min_int(n_selected, n_held + n);
  int drawn[GPS_MAX_EXPLORERS];
  draw_explorers(&rng, selected, n_held, n_latents, group_size, n, drawn);
  memcpy(selected + n_filled - n, drawn, (size_t)n * sizeof *drawn);
  return n_filled;
}

/* A candidate before another: by value, equal ones as is_better() has it. */
static int comes_before(double value, int latent, double other_value, int other,
                        const gps_source *source, uint32_t row) {
  if (value != other_value) return value > other_value;
  const uint32_t key = tie_key(source, row, latent), other_key = tie_key(source, row, other);
  return key != other_key ? key > other_key : latent < other;
}

/* Of a group one latent at the most is held: another one leaves where this one comes before it.
 * Returns how many are held then, or -1 where it is this one that may not enter. */
static int leave_group(int n, int group_size, double x, int latent, const gps_source *source,
                       uint32_t row, int *top, double *value) {
  for (int at = 0; at < n; at++) {
    if (top[at] / group_size != latent / group_size) continue;
    if (!comes_before(x, latent, value[at], top[at], source, row)) return -1;
    memmove(top + at, top + at + 1, (size_t)(n - 1 - at) * sizeof *top);
    memmove(value + at, value + at + 1, (size_t)(n - 1 - at) * sizeof *value);
    return n - 1;
  }
  return n;
}

int select_top_candidates(const gps_candidates *list, int n_top, int with_rest, int group_size,
                          const gps_source *source, uint32_t row, int *top, double *value) {
  int n = 0;
  for (size_t k = 0; k < list->n; k++) {
    const int latent = list->latent[k] - 1;
    const double x = list->affinity[k];
    if (latent < 0 || (!with_rest && !(x > 0.0))) continue;
    if (group_size > 1) {
      const int left = leave_group(n, group_size, x, latent, source, row, top, value);
      if (left < 0) continue;
      n = left;
    }
    int at = n;
    if (n == n_top) {
      if (n == 0 || !comes_before(x, latent, value[n - 1], top[n - 1], source, row)) continue;
      at--;
    } else {
      n++;
    }
    for (; at > 0 && comes_before(x, latent, value[at - 1], top[at - 1], source, row); at--) {
      value[at] = value[at - 1];
      top[at] = top[at - 1];
    }
    value[at] = x;
    top[at] = latent;
  }
  return n;
}

GPS_CLONES int select_has_nan(size_t n, const double *value) {
  int n_bad = 0;
#pragma omp simd reduction(+ : n_bad)
  for (size_t i = 0; i < n; i++) n_bad += value[i] != value[i];
  return n_bad > 0;
}

static uint32_t stream_of(const gps_selection *job, size_t n) {
  return job->streams ? (uint32_t)job->streams[n] : (uint32_t)(job->first_row + n);
}

/* Of `n_held` slots that are filled, in order; the others are empty. */
static void finish_slots(int *slots, int n_held, int n_selected) {
  sort_slots(slots, n_held);
  for (; n_held < n_selected; n_held++) slots[n_held] = -1;
}

gps_status select_candidates(const gps_selection *job, const gps_candidates *lists, int fill,
                             int *selected, double *scratch, size_t *bad_point) {
  const int n_selected = job->n_selected, group_size = job->group_size, n_threads = job->n_threads;
  size_t first_bad = job->n_points;
#pragma omp parallel for num_threads(n_threads) schedule(static) reduction(min : first_bad)
  for (int t = 0; t < n_threads; t++) {
    const size_t end = share_start(job->n_points, t + 1, n_threads);
    double *value = scratch + (size_t)t * (size_t)n_selected;
    for (size_t n = share_start(job->n_points, t, n_threads); n < end; n++) {
      const gps_candidates list = {lists->n, lists->latent + n * lists->n,
                                   lists->affinity + n * lists->n};
      int *slots = selected + n * (size_t)n_selected;
      if (select_has_nan(list.n, list.affinity)) {
        if (n < first_bad) first_bad = n;
        break;
      }
      const uint32_t row = stream_of(job, n);
      int n_held = select_top_candidates(&list, n_selected, job->share <= 0, group_size,
                                         &job->source, row, slots, value);
      if (fill || n_held == n_selected)
        n_held = explore_rest(slots, n_held, n_selected, job->n_latents, group_size, job->share,
                              &job->source, row);
      finish_slots(slots, n_held, n_selected);
    }
  }
  *bad_point = first_bad;
  return first_bad < job->n_points ? GPS_NOT_FINITE : GPS_OK;
}

gps_status select_latents(const gps_selection *job, const double *affinity, int *selected,
                          size_t *bad_point) {
  const int n_latents = job->n_latents, n_selected = job->n_selected;
  size_t first_bad = job->n_points;
#pragma omp parallel for num_threads(job->n_threads) schedule(static) reduction(min : first_bad)
  for (size_t n = 0; n < job->n_points; n++) {
    const double *value = affinity + n * (size_t)n_latents;
    int *slots = selected + n * (size_t)n_selected;
    if (select_has_nan((size_t)n_latents, value)) {
      if (n < first_bad) first_bad = n;
      continue;
    }
    const uint32_t row = stream_of(job, n);
    const int n_held =
        select_top_groups(value, n_latents, job->group_size, n_selected, &job->source, row, slots);
    explore_slots(slots, n_held, n_latents, job->group_size, job->share, &job->source, row);
    finish_slots(slots, n_held, n_selected);
  }
  *bad_point = first_bad;
  return first_bad < job->n_points ? GPS_NOT_FINITE : GPS_OK;
}
