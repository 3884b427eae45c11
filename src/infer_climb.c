/* Greedy ways to a good state; see infer_walk.h. */
#include "infer_walk.h"

#include <math.h>
#include <string.h>

/* Pairs are exchanged where so many slots are to be tried in their places. More cost more than
 * other beginnings of a chain. */
#define MOST_TRIED 128

/* A state with room for as many as positions, and by how much its log joint is above that of
 * none. */
typedef struct {
  int n, slot[MOST_POSITIONS];
  double score;
} summit;

/* Turns on the best slot while it raises the log joint; `score` grows by how much. */
static gps_status climb(gps_walk *walk, gps_rng *rng, double *score) {
  gps_status status = walk_count_sweep(walk);
  while (status == GPS_OK && walk->n_on < limit_of(walk)) {
    status = walk_find_odds(walk);
    int best = 0;
    for (int i = 1; i < walk->states->n_slots; i++) {
      if (walk->odds[i] > walk->odds[best]) best = i;
    }
    if (status != GPS_OK || !(walk->odds[best] > 0)) break;
    *score += walk->odds[best];
    status = walk_turn_on(walk, best, rng, 0, NULL);
    if (walk->value[best] == 0) break;
  }
  return status;
}

static void load_slots(gps_walk *walk, int n, const int *slot) {
  memset(walk->value, 0, (size_t)walk->states->n_slots * sizeof(double));
  walk->n_on = 0;
  for (int k = 0; k < n; k++) walk_set_value(walk, slot[k], 1);
}

/* Climbs from a state that is `score` above none with each slot beside it in turn; `best` becomes
 * the best that is better. */
static gps_status climb_from_each(gps_walk *walk, int n, const int *slot, double score,
                                  summit *best) {
  for (int first = 0; first < walk->states->n_slots; first++) {
    load_slots(walk, n, slot);
    gps_status status = walk_find_odds(walk);
    if (status != GPS_OK) return status;
    double above = score + walk->odds[first];
    if (above == -HUGE_VAL) continue;
    walk_set_value(walk, first, 1);
    status = climb(walk, NULL, &above);
    if (status != GPS_OK) return status;
    if (!(above > best->score)) continue;
    best->score = above;
    best->n = walk->n_on;
    memcpy(best->slot, walk->on, (size_t)best->n * sizeof *best->slot);
  }
  return GPS_OK;
}

/* The summit without two of its slots, in `rest`; its score. */
static gps_status leave_pair(gps_walk *walk, const summit *from, int i, int j, summit *rest) {
  const int leaves[2] = {from->slot[i], from->slot[j]};
  load_slots(walk, from->n, from->slot);
  rest->score = from->score;
  for (int k = 0; k < 2; k++) {
    walk_set_value(walk, leaves[k], 0);
    const gps_status status = walk_find_odds(walk);
    if (status != GPS_OK) return status;
    rest->score -= walk->odds[leaves[k]];
  }
  rest->n = walk->n_on;
  memcpy(rest->slot, walk->on, (size_t)rest->n * sizeof *rest->slot);
  return GPS_OK;
}

/* Exchanges pairs while that leads higher. Of a point that more latents make than may be on, two
 * that explain it best may have to come together. */
static gps_status exchange_pairs(gps_walk *walk, summit *best) {
  const int most = best->n * (best->n - 1) / 2 * walk->n_held;
  int is_higher = best->n > 2 && best->n == limit_of(walk) && most <= MOST_TRIED;
  while (is_higher) {
    const summit from = *best;
    for (int j = 1; j < from.n; j++) {
      for (int i = 0; i < j; i++) {
        summit rest;
        gps_status status = leave_pair(walk, &from, i, j, &rest);
        if (status == GPS_OK) status = climb_from_each(walk, rest.n, rest.slot, rest.score, best);
        if (status != GPS_OK) return status;
      }
    }
    is_higher = best->score > from.score + 1e-9 * fabs(from.score); /* not by rounding */
  }
  return GPS_OK;
}

gps_status walk_climb(gps_walk *walk, gps_rng *rng) {
  summit best = {0, {0}, 0};
  if (!walk->by_positions || walk->model->conditional) return climb(walk, rng, &best.score);
  best.score = -HUGE_VAL;
  gps_status status = climb_from_each(walk, 0, NULL, 0, &best);
  if (status == GPS_OK) status = exchange_pairs(walk, &best);
  if (status != GPS_OK) return status;
  load_slots(walk, best.score > 0 ? best.n : 0, best.slot);
  return GPS_OK;
}
