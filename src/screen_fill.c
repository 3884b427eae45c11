/* Slots of one data point. A state is grown from the pool by gains. With sweeps it is taken over
 * from the last iteration where that is better; then each of its latents is taken back on trial, as
 * others that gained too little beside it may explain more together, and some others are tried in
 * it. What slots are left go to the latents of the best other states that were looked at on the
 * way; without sweeps, to what gains most beside the state. */
#include "screen_work.h"

#include <math.h>
#include <string.h>

#include "vector_math.h"

static int has_sweeps(const screen_work *work) {
  return work->job->screen->is_greedy && !work->job->is_one_hot && work->job->screen->n_sweeps > 0;
}

/* Most latents of a state. */
static int most_on(const screen_work *work) {
  const int n_slots = work->job->n_slots, max_active = work->job->max_active;
  return has_sweeps(work) && max_active > 0 && max_active < n_slots ? max_active : n_slots;
}

/* Candidates that can join the state come first among those from its end to `to`. */
static int put_open_first(screen_work *work, int to) {
  if (work->group_size == 1) return to;
  for (int i = work->n_on; i < to;) {
    if (screen_is_taken(work, work->candidate, work->n_on, work->candidate[i])) {
      screen_swap(work, i, --to);
    } else {
      i++;
    }
  }
  return to;
}

/* Gains beside the state, of all up to `to` that can join it. */
static gps_status look(screen_work *work, int to, int *n_open) {
  const int from = work->n_on;
  *n_open = to = put_open_first(work, to);
  if (from == 0) {
    memcpy(work->gain, work->single, (size_t)to * sizeof *work->gain);
    return GPS_OK;
  }
  return screen_gains(work, from, work->candidate, to - from, work->candidate + from,
                      work->gain + from);
}

GPS_CLONES static void note_states(screen_work *work, int to) {
  const double *restrict gain = work->gain, joint = work->joint;
  double *restrict best = work->best;
#pragma omp simd
  for (int i = work->n_on; i < to; i++) {
    best[i] = joint + gain[i] > best[i] ? joint + gain[i] : best[i];
  }
}

/* The best gain from position `from` on; where all are -Inf, that of the best single-cause state.
 * The value is `to` where there are none. */
GPS_CLONES static int find_best(const screen_work *work, int from, int to) {
  const double *restrict gain = work->gain, *single = work->single;
  double highest = -HUGE_VAL;
  int best = to;
#pragma omp simd reduction(max : highest)
  for (int i = from; i < to; i++) highest = gain[i] > highest ? gain[i] : highest;
  for (int i = from; i < to; i++) {
    if (gain[i] == highest && (best == to || single[i] > single[best])) best = i;
  }
  return best;
}

static void switch_on(screen_work *work, int at) {
  work->joint += work->gain[at];
  screen_swap(work, at, work->n_on++);
}

/* The state takes what gains most, as long as something does. */
static gps_status grow(screen_work *work, int to) {
  const int most = most_on(work);
  while (work->n_on < most) {
    int n_open = 0;
    const gps_status status = look(work, to, &n_open);
    if (status != GPS_OK) return status;
    note_states(work, n_open);
    const int best = find_best(work, work->n_on, n_open);
    if (best == n_open || !(work->gain[best] > 0)) return GPS_OK;
    switch_on(work, best);
  }
  return GPS_OK;
}

/* A candidate comes next to the state, and into the pool. */
static void bring(screen_work *work, int latent) {
  for (int i = work->n_on; i < work->n; i++) {
    if (work->candidate[i] != latent) continue;
    if (i >= work->n_pool) {
      screen_swap(work, i, work->n_pool);
      i = work->n_pool++;
    }
    screen_swap(work, i, work->n_on);
    return;
  }
}

static void leave_state(screen_work *work) {
  for (int i = 0; i < work->n_on; i++) {
    if (work->joint > work->best[i]) work->best[i] = work->joint;
  }
}

static void return_to(screen_work *work, const int *latent, int n, double joint) {
  leave_state(work);
  work->n_on = 0;
  for (; work->n_on < n; work->n_on++) bring(work, latent[work->n_on]);
  work->joint = joint;
}

static int is_state(const screen_work *work, const int *latent, int n) {
  if (n != work->n_on) return 0;
  for (int i = 0; i < n; i++) {
    if (!screen_is_taken(work, work->candidate, n, latent[i])) return 0;
  }
  return 1;
}

/* The state of the last iteration, of latents that were more on than off, in place of the one that
 * was grown where its log joint is higher. */
static gps_status take_over(screen_work *work, const int *kept, const double *prob) {
  int *last = work->visit, n = 0, n_grown = work->n_on;
  for (int i = 0; i < work->job->n_slots; i++) {
    if (kept[i] >= 0 && prob[i] > 0.5) last[n++] = kept[i];
  }
  if (n == 0 || n > most_on(work) || is_state(work, last, n)) return GPS_OK;
  const double joint = work->joint;
  memcpy(work->given, work->candidate, (size_t)n_grown * sizeof *last);
  return_to(work, NULL, 0, 0);
  for (int i = 0; i < n; i++) {
    bring(work, last[i]);
    const gps_status status = screen_gains(work, work->n_on, work->candidate, 1,
                                           work->candidate + work->n_on, work->gain + work->n_on);
    if (status != GPS_OK) return status;
    switch_on(work, work->n_on);
  }
  if (work->joint > joint) return grow(work, work->n_pool);
  return_to(work, work->given, n_grown, joint);
  return GPS_OK;
}

/* The state without its latent at position n_on, which is not asked again, grows from the pool. */
static gps_status grow_without(screen_work *work, int latent, int best) {
  switch_on(work, best);
  bring(work, latent);
  screen_swap(work, work->n_on, work->n_pool - 1);
  return grow(work, work->n_pool - 1);
}

/* A latent of the state is taken back, and others that gain something then take its place; it stays
 * so where that is better. */
static gps_status visit(screen_work *work, int latent, int *has_changed) {
  const double joint = work->joint;
  const int n = work->n_on;
  int at = 0, n_open = 0;
  while (at < n && work->candidate[at] != latent) at++;
  if (at == n) return GPS_OK;
  memcpy(work->given, work->candidate, (size_t)n * sizeof *work->given);
  screen_swap(work, at, --work->n_on);
  gps_status status = look(work, work->n_pool, &n_open);
  if (status != GPS_OK) return status;
  const double lost = work->gain[work->n_on];
  if (isfinite(lost)) {
    work->joint = joint - lost;
    note_states(work, n_open);
    const int best = find_best(work, work->n_on + 1, n_open);
    if (best < n_open && work->gain[best] > 0) status = grow_without(work, latent, best);
    if (status != GPS_OK) return status;
  }
  *has_changed |= work->joint > joint;
  if (!(work->joint > joint)) return_to(work, work->given, n, joint);
  return GPS_OK;
}

/* Visits all latents of the state, until none is better taken back. */
static gps_status sweep(screen_work *work) {
  int has_changed = 1;
  for (int i = 0; has_changed && i < work->job->screen->n_sweeps; i++) {
    const int n = work->n_on;
    has_changed = 0;
    memcpy(work->visit, work->candidate, (size_t)n * sizeof *work->visit);
    for (int k = 0; k < n; k++) {
      const gps_status status = visit(work, work->visit[k], &has_changed);
      if (status != GPS_OK) return status;
    }
  }
  return GPS_OK;
}

/* Latents of the state but `latent` that are better taken back leave it, the worst first. The value
 * of *n_left says how many did. */
static gps_status prune(screen_work *work, int latent, int *n_left) {
  for (*n_left = 0; work->n_on > 1; ++*n_left) {
    int worst = -1;
    double lowest = 0;
    for (int i = 0; i < work->n_on; i++) {
      const int last = work->n_on - 1;
      double gain = 0;
      if (work->candidate[i] == latent) continue;
      screen_swap(work, i, last);
      const gps_status status =
          screen_gains(work, last, work->candidate, 1, work->candidate + last, &gain);
      screen_swap(work, i, last);
      if (status != GPS_OK) return status;
      if (gain < lowest) {
        worst = i;
        lowest = gain;
      }
    }
    if (worst < 0 || !isfinite(lowest)) return GPS_OK;
    screen_swap(work, worst, --work->n_on);
    work->joint -= lowest;
  }
  return GPS_OK;
}

/* A latent that gains nothing joins the state, those that then gain nothing leave it, and it grows
 * again; it stays so where that is better. */
static gps_status insert(screen_work *work, int at) {
  const double joint = work->joint;
  const int n = work->n_on, latent = work->candidate[at];
  int n_left = 0;
  memcpy(work->given, work->candidate, (size_t)n * sizeof *work->given);
  gps_status status =
      screen_gains(work, n, work->candidate, 1, work->candidate + at, work->gain + at);
  if (status != GPS_OK || !isfinite(work->gain[at])) return status;
  switch_on(work, at);
  status = prune(work, latent, &n_left);
  if (status == GPS_OK && n_left > 0) status = grow(work, work->n_pool);
  if (status == GPS_OK && !(work->joint > joint)) return_to(work, work->given, n, joint);
  return status;
}

/* How a latent is ranked. */
static double rank_of(const screen_job *job, size_t index, int latent) {
  const size_t n = job->lists.n;
  if (job->affinity)
    return job->affinity[index * (size_t)job->problem->shape.n_latents + (size_t)latent];
  for (size_t k = index * n; k < (index + 1) * n; k++) {
    if (job->lists.latent[k] == latent + 1) return job->lists.affinity[k];
  }
  return 0.0;
}

/* One of the candidates that are off: the better ranked of two. */
static int draw_off(const screen_work *work, gps_rng *rng) {
  const screen_job *job = work->job;
  const int n_off = work->n_pool - work->n_on;
  const int one = work->n_on + gps_rng_index(rng, n_off);
  const int two = work->n_on + gps_rng_index(rng, n_off);
  if (!job->affinity && job->lists.n == 0) return one;
  const size_t index = (size_t)work->point->index;
  const double rank = rank_of(job, index, work->candidate[one]);
  return rank_of(job, index, work->candidate[two]) > rank ? two : one;
}

static gps_status insert_some(screen_work *work) {
  const gps_source *source = work->job->source;
  gps_rng rng =
      gps_rng_stream(source->seed, source->start, GPS_PURPOSE_INSERT, source->iteration, work->row);
  for (int i = 0; i < work->job->screen->n_inserts; i++) {
    if (work->n_pool == work->n_on || work->n_on == 0 || work->n_on == most_on(work)) break;
    const gps_status status = insert(work, draw_off(work, &rng));
    if (status != GPS_OK) return status;
  }
  return GPS_OK;
}

/* Whether the pool has as many groups beside the state as there are slots. */
static int has_enough(const screen_work *work) {
  const int n_slots = work->job->n_slots;
  int *seen = work->visit, n = work->n_on;
  if (work->group_size == 1) return work->n_pool >= n_slots;
  memcpy(seen, work->candidate, (size_t)n * sizeof *seen);
  for (int i = n; i < work->n_pool && n < n_slots; i++) {
    if (!screen_is_taken(work, seen, n, work->candidate[i])) seen[n++] = work->candidate[i];
  }
  return n == n_slots;
}

/* More of the candidates by their first gain. */
static void extend_pool(screen_work *work) {
  const int from = work->n_pool;
  memcpy(work->gain + from, work->single + from, (size_t)(work->n - from) * sizeof *work->gain);
  work->n_pool = screen_best_first(work, from, work->n, work->job->screen->n_pool);
}

/* The state, then the latents of the best other states, or of the best gains, which grow() has left
 * there. */
static int take_slots(screen_work *work, int *selected) {
  int n = work->n_on;
  memcpy(selected, work->candidate, (size_t)n * sizeof *selected);
  if (has_sweeps(work)) memcpy(work->gain, work->best, (size_t)work->n_pool * sizeof *work->gain);
  for (int to = work->n_pool; n < work->job->n_slots; n++) {
    to = put_open_first(work, to);
    const int best = find_best(work, n, to);
    if (best == to) break;
    selected[n] = work->candidate[best];
    screen_swap(work, best, work->n_on++);
  }
  return n;
}

static gps_status take_back(screen_work *work, const int *kept, const double *prob) {
  gps_status status = kept && prob ? take_over(work, kept, prob) : GPS_OK;
  if (status == GPS_OK) status = sweep(work);
  if (status == GPS_OK) status = insert_some(work);
  return status;
}

/* Where one latent is on in a state, the slots are the candidates that were told first, unless the
 * next one is as good. Returns 0 where that is not known. */
static int take_ranked(const screen_work *work, int *selected) {
  const screen_job *job = work->job;
  const int n_slots = job->n_slots, *order = work->order;
  if (!job->is_one_hot || work->group_size > 1 || work->n <= n_slots ||
      job->screen->n_ranked <= n_slots ||
      !(work->single[order[n_slots - 1]] > work->single[order[n_slots]]))
    return 0;
  for (int i = 0; i < n_slots; i++) selected[i] = work->candidate[order[i]];
  return 1;
}

gps_status screen_fill(screen_work *work, const int *kept, const double *prob, int *selected,
                       int *n_filled) {
  const int is_greedy = work->job->screen->is_greedy && !work->job->is_one_hot;
  if (take_ranked(work, selected)) {
    *n_filled = work->job->n_slots;
    return GPS_OK;
  }
  gps_status status = is_greedy ? grow(work, work->n_pool) : GPS_OK;
  if (status == GPS_OK && has_sweeps(work)) status = take_back(work, kept, prob);
  while (status == GPS_OK && work->n_pool < work->n && !has_enough(work)) {
    extend_pool(work);
    if (is_greedy) status = grow(work, work->n_pool);
  }
  if (status == GPS_OK) *n_filled = take_slots(work, selected);
  return status;
}
