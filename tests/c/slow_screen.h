/* How screening fills slots, by the definition and slowly: from log joints of whole states. A state
 * grows by the latent that gains most as long as one does; each of its latents is taken back on
 * trial, and the state grown again without it; what slots are left go to the latents of the best
 * other states that were looked at, or where nothing is taken back to what gains most. */
#ifndef GPSELECT_TEST_SLOW_SCREEN_H
#define GPSELECT_TEST_SLOW_SCREEN_H

#include "check.h"
#include "select.h"

#include <math.h>
#include <string.h>

enum { SLOW_MOST = 2000, SLOW_SLOTS = 8 };

typedef struct {
  double (*joint_of)(int point, int n, const int *on);
  int point, group_size, n_slots;
  int pool[SLOW_MOST], n_pool;
  double best[SLOW_MOST]; /* beside pool */
  int on[SLOW_SLOTS], n_on;
} slow_screen;

static inline int slow_is_taken(const slow_screen *it, int latent) {
  for (int i = 0; i < it->n_on; i++) {
    if (it->on[i] / it->group_size == latent / it->group_size) return 1;
  }
  return 0;
}

static inline double slow_joint(const slow_screen *it) {
  return it->joint_of(it->point, it->n_on, it->on);
}

static inline void slow_note(slow_screen *it, int latent, double joint) {
  for (int i = 0; i < it->n_pool; i++) {
    if (it->pool[i] == latent && joint > it->best[i]) it->best[i] = joint;
  }
}

/* The latent of the best state of one more, or -1 where none is better. */
static inline int slow_look(slow_screen *it, int banned) {
  double highest = slow_joint(it);
  int best = -1;
  for (int i = 0; i < it->n_pool; i++) {
    const int latent = it->pool[i];
    if (latent == banned || slow_is_taken(it, latent)) continue;
    it->on[it->n_on++] = latent;
    const double joint = slow_joint(it);
    it->n_on--;
    if (joint > it->best[i]) it->best[i] = joint;
    if (joint > highest) {
      best = latent;
      highest = joint;
    }
  }
  return best;
}

static inline void slow_grow(slow_screen *it, int banned) {
  while (it->n_on < it->n_slots) {
    const int latent = slow_look(it, banned);
    if (latent < 0) return;
    it->on[it->n_on++] = latent;
  }
}

static inline int slow_visit(slow_screen *it, int latent) {
  const slow_screen before = *it;
  const double joint = slow_joint(it);
  int at = 0;
  while (at < it->n_on && it->on[at] != latent) at++;
  if (at == it->n_on) return 0;
  it->on[at] = it->on[--it->n_on];
  slow_look(it, -1);
  slow_grow(it, latent);
  if (slow_joint(it) > joint) return 1;
  for (int i = 0; i < it->n_on; i++) slow_note(it, it->on[i], slow_joint(it));
  memcpy(it->on, before.on, sizeof it->on);
  it->n_on = before.n_on;
  return 0;
}

static inline void slow_sweep(slow_screen *it, int n_sweeps) {
  for (int i = 0, has_changed = 1; has_changed && i < n_sweeps; i++) {
    const slow_screen before = *it;
    has_changed = 0;
    for (int k = 0; k < before.n_on; k++) has_changed |= slow_visit(it, before.on[k]);
  }
}

/* Latents of one state have the same log joint, but for rounding: the best alone comes first. */
static inline int slow_is_better(const slow_screen *it, int a, int b) {
  const double more = it->best[a] - it->best[b];
  if (fabs(more) > 1e-9 * (1 + fabs(it->best[a]))) return more > 0;
  return it->joint_of(it->point, 1, it->pool + a) > it->joint_of(it->point, 1, it->pool + b);
}

/* What is left goes by the gain beside the state. */
static inline void slow_forget(slow_screen *it) {
  for (int i = 0; i < it->n_pool; i++) it->best[i] = -HUGE_VAL;
  slow_look(it, -1);
}

/* The state and the latents of the best other states, ascending, -1 where there are too few. */
static inline void slow_take(slow_screen *it, int *chosen) {
  while (it->n_on < it->n_slots) {
    int best = -1;
    for (int i = 0; i < it->n_pool; i++) {
      if (slow_is_taken(it, it->pool[i])) continue;
      if (best < 0 || slow_is_better(it, i, best)) best = i;
    }
    if (best < 0) break;
    it->on[it->n_on++] = it->pool[best];
  }
  memcpy(chosen, it->on, (size_t)it->n_on * sizeof *chosen);
  sort_slots(chosen, it->n_on);
  for (int i = it->n_on; i < it->n_slots; i++) chosen[i] = -1;
}

#endif
