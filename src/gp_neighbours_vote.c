/* Predictions from the weights of neighbours: each point costs as many additions as its neighbours
 * have targets, or slots. Called by r_gp_neighbours.c. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "gp_neighbours.h"
#include "threads.h"
#include "vector_math.h"

/* Neighbours of one point: none where nothing is asked of it. */
typedef struct {
  size_t n;
  const int *near;
  const double *weight;
} voter_list;

/* 0 where one of them is no point. */
static int list_voters(const gp_voters *voters, size_t i, voter_list *list) {
  list->n = 0;
  if (voters->column[i] == 0) return 1;
  const size_t first = (size_t)(voters->column[i] - 1) * voters->n_near;
  list->near = voters->near + first;
  list->weight = voters->weights + first;
  for (; list->n < voters->n_near && list->near[list->n] != 0; list->n++) {
    const int point = list->near[list->n];
    if (point < 0 || (size_t)point > voters->n_points) return 0;
  }
  return 1;
}

int gp_vote_dense(const gp_voters *voters, size_t n_targets, const double *targets, double *mean) {
  int n_failed = 0;
#pragma omp parallel for num_threads(voters->n_threads) schedule(static) reduction(+ : n_failed)
  for (size_t i = 0; i < voters->n; i++) {
    voter_list list;
    double *out = mean + i * n_targets;
    memset(out, 0, n_targets * sizeof *out);
    if (!list_voters(voters, i, &list)) {
      n_failed++;
      continue;
    }
    for (size_t j = 0; j < list.n; j++) {
      const double *target = targets + (size_t)(list.near[j] - 1) * n_targets;
      for (size_t h = 0; h < n_targets; h++) out[h] += list.weight[j] * target[h];
    }
  }
  return n_failed == 0;
}

gp_slot_rows gp_view_rows(const gp_slots *slots) {
  return (gp_slot_rows){.n_slots = slots->n_slots,
                        .n_latents = slots->n_latents,
                        .selected = slots->selected,
                        .prob = slots->prob,
                        .selected_step = slots->n_slots,
                        .prob_step = slots->n_slots};
}

size_t gp_packed_size(size_t n_slots) {
  const size_t used = (n_slots * (sizeof(double) + sizeof(int)) - 1) / sizeof(double) + 1;
  return (used + GPS_LINE_DOUBLES - 1) / GPS_LINE_DOUBLES * GPS_LINE_DOUBLES;
}

gp_slot_rows gp_packed_rows(const gp_slots *slots, const double *room) {
  const size_t size = gp_packed_size(slots->n_slots);
  return (gp_slot_rows){.n_slots = slots->n_slots,
                        .n_latents = slots->n_latents,
                        .selected = (const int *)(room + slots->n_slots),
                        .prob = room,
                        .selected_step = size * (sizeof(double) / sizeof(int)),
                        .prob_step = size,
                        .is_packed = 1};
}

void gp_pack_rows(const gp_slots *slots, size_t n_points, double *room) {
  const size_t n_slots = slots->n_slots, size = gp_packed_size(n_slots);
  for (size_t j = 0; j < n_points; j++) {
    const int *slot = slots->selected + j * n_slots;
    const double *value = slots->prob + j * n_slots;
    double *own_prob = room + j * size;
    int *own = (int *)(own_prob + n_slots);
    size_t n = 0;
    for (size_t i = 0; i < n_slots; i++) {
      own[n] = slot[i];
      own_prob[n] = value[i];
      n += slot[i] > 0 && value[i] != 0.0;
    }
    if (n < n_slots) own[n] = 0;
  }
}

/* `value` more for a latent, which comes last in the list of n where it is not there yet; `place`
 * says where a latent stands. Whether it does is as good as random, and asked without a branch.
 * Returns how many are in the list. */
GPS_INLINE size_t add_vote(int latent, double value, size_t n, int *list, double *affinity,
                           int *place) {
  const int known = place[latent - 1], is_new = known < 0, at = is_new ? (int)n : known;
  affinity[n] = 0.0;
  list[at] = latent;
  affinity[at] += value;
  place[latent - 1] = at;
  return n + (size_t)is_new;
}

/* One point's list. SIZE_MAX: a latent is none. */
static size_t vote_point(const gp_voters *voters, const gp_slot_rows *targets, size_t i_point,
                         int *latent, double *affinity, int *place) {
  const size_t n_slots = targets->n_slots;
  voter_list list;
  size_t n = 0;
  int is_sound = list_voters(voters, i_point, &list);
  for (size_t j = 0; j < list.n && is_sound; j++) {
    const size_t point = (size_t)(list.near[j] - 1);
    const int *slot = targets->selected + point * targets->selected_step;
    const double *prob = targets->prob + point * targets->prob_step, weight = list.weight[j];
    for (size_t i = 0; i < n_slots; i++) {
      if (slot[i] <= 0 && targets->is_packed) break;
      if (slot[i] <= 0 || prob[i] == 0.0) continue;
      is_sound = (size_t)slot[i] <= targets->n_latents;
      if (!is_sound) break;
      n = add_vote(slot[i], weight * prob[i], n, latent, affinity, place);
    }
  }
  for (size_t k = 0; k < n; k++) place[latent[k] - 1] = -1;
  return is_sound ? n : SIZE_MAX;
}

/* The next point from i on of which something is asked, `end` where there is none. Its neighbours'
 * targets lie anywhere, and are fetched while others are counted. */
static size_t fetch_next(const gp_voters *voters, const gp_slot_rows *targets, size_t i,
                         size_t end) {
  const size_t n_slots = targets->n_slots;
  voter_list list;
  while (i < end && voters->column[i] == 0) i++;
  if (i == end || !list_voters(voters, i, &list)) return i;
  for (size_t j = 0; j < list.n; j++) {
    const size_t point = (size_t)(list.near[j] - 1);
    const int *slot = targets->selected + point * targets->selected_step;
    const double *prob = targets->prob + point * targets->prob_step;
    if (targets->is_packed) {
      prefetch_lines(prob, targets->prob_step);
      continue;
    }
    GPS_PREFETCH(slot);
    GPS_PREFETCH(slot + n_slots - 1);
    prefetch_doubles(prob, n_slots);
  }
  return i;
}

/* The least of the highest of LANES lanes, each of which has every `step`-th of n values. */
#define LANES 8

GPS_INLINE double least_highest(size_t n, const double *value, size_t step) {
  double highest[LANES], least;
  for (int l = 0; l < LANES; l++) highest[l] = -HUGE_VAL;
  size_t k = 0;
  for (; k + LANES <= n; k += step) {
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
      const double x = value[k + (size_t)l];
      highest[l] = x > highest[l] ? x : highest[l];
    }
  }
  for (int l = 0; k < n; k++, l++) highest[l] = value[k] > highest[l] ? value[k] : highest[l];
  least = highest[0];
  for (int l = 1; l < LANES; l++) least = highest[l] < least ? highest[l] : least;
  return least;
}

/* A value that at least n_best of n values are not below. Short lists, those of mixtures, have a
 * loop of their own, in which the step is known to the compiler. */
GPS_INLINE double low_bar(size_t n_best, size_t n, const double *value) {
  const size_t step = (n_best + LANES - 1) / LANES * LANES;
  if (step >= n) return -HUGE_VAL;
  if (step == LANES) return least_highest(n, value, LANES);
  double bar = HUGE_VAL;
  for (size_t from = 0; from < step; from += LANES) {
    const double least = least_highest(n - from, value + from, step);
    bar = least < bar ? least : bar;
  }
  return bar;
}

/* Places of the best of n candidates, n_best < n, into best, in the order in which they were met;
 * of equal ones those that were met first. Returns how many there are, n_best unless some are no
 * numbers. Those that may be among them are ranked. place [n] and rank [n] are scratch. */
GPS_CLONES static size_t best_places(size_t n_best, size_t n, const double *affinity, int *best,
                                     double *value, int *place, int *rank) {
  const double bar = low_bar(n_best, n, affinity);
  size_t n_open = 0, n_held = 0;
  for (size_t k = 0; k < n; k++) {
    place[n_open] = (int)k;
    value[n_open] = affinity[k];
    n_open += affinity[k] >= bar;
  }
  rank_pairs(value, n_open, rank);
  for (size_t j = 0; j < n_open && n_held < n_best; j++) {
    best[n_held] = place[j];
    n_held += (size_t)(rank[j] < (int)n_best);
  }
  return n_held;
}

/* Room for the candidates of one point: [most] of each. */
typedef struct {
  int *latent, *place, *rank;
  double *affinity, *value;
} vote_room;

/* The best of n candidates, as many as a list holds, in the order in which they were met. */
static void keep_best(size_t length, size_t n, const vote_room *room, int *best, double *value) {
  if (length == 0) return;
  size_t n_kept = n;
  if (n > length) {
    n_kept = best_places(length, n, room->affinity, best, room->value, room->place, room->rank);
    for (size_t i = 0; i < n_kept; i++) {
      value[i] = room->affinity[best[i]];
      best[i] = room->latent[best[i]];
    }
  } else {
    memcpy(best, room->latent, n * sizeof *best);
    memcpy(value, room->affinity, n * sizeof *value);
  }
  memset(best + n_kept, 0, (length - n_kept) * sizeof *best);
  memset(value + n_kept, 0, (length - n_kept) * sizeof *value);
}

int gp_vote_slots(const gp_voters *voters, const gp_slot_rows *targets, const gp_lists *lists,
                  int *room, double *value, int *place) {
  const int n_threads = voters->n_threads;
  const size_t most = targets->n_slots * voters->n_near, length = lists->length;
  int n_failed = 0;
#pragma omp parallel for num_threads(n_threads) schedule(static) reduction(+ : n_failed)
  for (int t = 0; t < n_threads; t++) {
    const size_t from = share_start(voters->n, t, n_threads);
    const size_t end = share_start(voters->n, t + 1, n_threads);
    int *ints = room + 3 * most * (size_t)t;
    double *doubles = value + 2 * most * (size_t)t;
    const vote_room own = {ints, ints + most, ints + 2 * most, doubles, doubles + most};
    size_t next = from;
    for (size_t i = from; i < end && n_failed == 0; i++) {
      if (next <= i) next = fetch_next(voters, targets, i + 1, end);
      const size_t n = vote_point(voters, targets, i, own.latent, own.affinity,
                                  place + targets->n_latents * (size_t)t);
      if (n == SIZE_MAX) {
        n_failed++;
        break;
      }
      keep_best(length, n, &own, lists->latent + i * length, lists->affinity + i * length);
    }
  }
  return n_failed == 0;
}
