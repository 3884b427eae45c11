/* Screening of candidates by the model's own gain: candidates and the pool. Called by r_select.c;
 * how slots are filled is in screen_fill.c. */
#include <math.h>
#include <string.h>

#include "screen_work.h"
#include "threads.h"
#include "vector_math.h"

int screen_capacity(const gps_screen *screen, int n_slots, int group_size) {
  return screen->n_propose + screen->n_explore + screen->n_guided + screen->n_beside +
         n_slots * (1 + screen->n_moves) + screen->n_seek * group_size;
}

/* three numbers of each candidate, two log joints, the model's scratch */
size_t screen_scratch(int capacity, size_t model_scratch) {
  return 3 * (size_t)capacity + 2 + model_scratch;
}

/* candidates, and positions of the best of them; two states; latents of a probe and its two states;
 * the table of candidates */
size_t screen_scratch_ints(int capacity, int n_slots) {
  return 2 * (size_t)capacity + 2 * (size_t)n_slots + 3 * ((size_t)n_slots + 1) +
         ((size_t)1 << candidate_table_bits(capacity));
}

static void add_sought(screen_work *work, int *table, int bits) {
  const gps_screen *screen = work->job->screen;
  for (int i = 0; i < screen->n_seek; i++) {
    const int first = screen->seek[i] * work->group_size;
    for (int latent = first; latent < first + work->group_size; latent++) {
      if (candidate_is_new(table, bits, latent)) work->candidate[work->n++] = latent;
    }
  }
}

/* Whether a point has a rank that is not a number. */
static int has_nan_rank(const screen_job *job, size_t index) {
  const size_t n_latents = (size_t)job->problem->shape.n_latents, n = job->lists.n;
  if (job->affinity) return select_has_nan(n_latents, job->affinity + index * n_latents);
  return n > 0 && select_has_nan(n, job->lists.affinity + index * n);
}

/* The best-ranked latents into work->order; of lists those of positive affinity. */
static int rank_best(screen_work *work, size_t index) {
  const screen_job *job = work->job;
  const int n_propose = job->screen->n_propose, n_latents = job->problem->shape.n_latents;
  if (n_propose == 0) return 0;
  if (job->affinity) {
    select_top(job->affinity + index * (size_t)n_latents, n_latents, n_propose, job->source,
               work->row, work->order);
    return n_propose;
  }
  const size_t n = job->lists.n;
  if (n == 0) return 0;
  const gps_candidates list = {n, job->lists.latent + index * n, job->lists.affinity + index * n};
  return select_top_candidates(&list, n_propose, 0, 1, job->source, work->row, work->order,
                               work->gain);
}

/* The latent that was the point's most probable one, or -1. What stands beside it lies anywhere,
 * and is asked for. */
static int find_best_kept(const screen_job *job, size_t index, const int *kept) {
  const double *prob = job->prob_on ? job->prob_on + index * (size_t)job->n_slots : NULL;
  int best = -1;
  double highest = 0.0;
  for (int i = 0; kept && prob && i < job->n_slots; i++) {
    if (kept[i] < 0 || !(prob[i] > highest)) continue;
    highest = prob[i];
    best = kept[i];
  }
  if (best >= 0) GPS_PREFETCH(job->beside + (size_t)best * (size_t)job->screen->n_beside);
  return best;
}

/* What stood beside that latent, or where there is none beside the one that is ranked best. */
static void add_beside(screen_work *work, int best, int *table, int bits) {
  const screen_job *job = work->job;
  const int n_beside = job->screen->n_beside;
  if (!job->beside) return;
  if (best < 0 && work->n > 0) best = work->candidate[0];
  for (int k = 0; best >= 0 && k < n_beside; k++) {
    const int latent = job->beside[(size_t)k + (size_t)best * (size_t)n_beside] - 1;
    if (latent >= 0 && candidate_is_new(table, bits, latent)) work->candidate[work->n++] = latent;
  }
}

/* Draws of all latents, and neighbours on the grid. */
static void add_draws(screen_work *work, const int *kept, int *table, int bits) {
  const screen_job *job = work->job;
  const gps_source *source = job->source;
  gps_rng rng =
      gps_rng_stream(source->seed, source->start, GPS_PURPOSE_SCREEN, source->iteration, work->row);
  const int n_explore = work->n == 0 && job->screen->waits ? 0 : job->screen->n_explore;
  for (int i = 0; i < n_explore; i++) {
    const int latent = gps_rng_index(&rng, job->problem->shape.n_latents);
    if (candidate_is_new(table, bits, latent)) work->candidate[work->n++] = latent;
  }
  for (int i = 0; kept && i < job->n_slots; i++) {
    for (int k = 0; kept[i] >= 0 && k < job->screen->n_moves; k++) {
      const int latent = candidate_neighbour(kept[i], job->grid, &rng);
      if (candidate_is_new(table, bits, latent)) work->candidate[work->n++] = latent;
    }
  }
}

/* Candidates of a point, each once. */
static void gather_candidates(screen_work *work, size_t index, int *table) {
  const screen_job *job = work->job;
  const int n_latents = job->problem->shape.n_latents, n_propose = job->screen->n_propose;
  const int bits = candidate_table_bits(work->capacity);
  const int *kept = job->kept ? job->kept + index * (size_t)job->n_slots : NULL;
  candidate_table_clear(table, bits);
  work->n = 0;
  if (n_propose >= n_latents && n_propose > 0) {
    for (int h = 0; h < n_latents; h++) work->candidate[h] = h;
    work->n = n_latents;
    return;
  }
  const int best = job->beside ? find_best_kept(job, index, kept) : -1;
  const int n_best = rank_best(work, index);
  for (int i = 0; i < n_best; i++) {
    if (candidate_is_new(table, bits, work->order[i])) work->candidate[work->n++] = work->order[i];
  }
  for (int i = 0; kept && i < job->n_slots; i++) {
    if (kept[i] >= 0 && candidate_is_new(table, bits, kept[i]))
      work->candidate[work->n++] = kept[i];
  }
  add_beside(work, best, table, bits);
  add_draws(work, kept, table, bits);
  add_sought(work, table, bits);
}

/* Gain through the log joint: a probe point whose slots hold `given` and one candidate, and a
 * template of the two states without and with it. A one-hot model has no state without. */
static gps_status probe_gain(screen_work *work, int n_given, const int *given, int n_candidates,
                             const int *candidate, double *gain) {
  const int is_one_hot = work->job->is_one_hot;
  int *latent = work->probe, *active = latent + n_given + 1, n_active[2] = {n_given, n_given + 1},
      parent[2] = {-1, 0};
  double *log_joint = work->rest, *scratch = log_joint + 2;
  const int n_slots = n_given + 1, n_states = is_one_hot ? 1 : 2;
  for (int i = 0; i < n_given; i++) active[i] = active[n_slots + i] = i;
  for (int i = 0; i < n_given; i++) latent[i] = given[i];
  active[is_one_hot ? 0 : n_slots + n_given] = n_given;
  const gps_states states = {n_slots, n_slots, n_states, is_one_hot ? n_active + 1 : n_active,
                             active,  parent,  0};
  for (int c = 0; c < n_candidates; c++) {
    gain[c] = -HUGE_VAL;
    if (is_one_hot && n_given > 0) continue;
    latent[n_given] = candidate[c];
    const gps_point probe = {work->point->index, work->point->y, work->point->observed, latent};
    const gps_status status =
        work->job->model->log_joint(work->job->problem, &probe, &states, log_joint, scratch);
    if (status != GPS_OK) return status;
    gain[c] = is_one_hot ? log_joint[0] : log_joint[1] - log_joint[0];
  }
  return GPS_OK;
}

gps_status screen_gains(screen_work *work, int n_given, const int *given, int n,
                        const int *candidate, double *gain) {
  const screen_job *job = work->job;
  if (n == 0) return GPS_OK;
  work->n_gains += n;
  const gps_status status = job->model->gain
                                ? job->model->gain(job->problem, work->point, n_given, given, n,
                                                   candidate, gain, work->rest + 2)
                                : probe_gain(work, n_given, given, n, candidate, gain);
  if (status != GPS_OK) return status;
  for (int i = 0; i < n; i++) {
    if (isnan(gain[i])) return GPS_NOT_FINITE;
  }
  return GPS_OK;
}

void screen_swap(screen_work *work, int a, int b) {
  const int candidate = work->candidate[a];
  const double gain = work->gain[a], single = work->single[a], best = work->best[a];
  work->candidate[a] = work->candidate[b];
  work->gain[a] = work->gain[b];
  work->single[a] = work->single[b];
  work->best[a] = work->best[b];
  work->candidate[b] = candidate;
  work->gain[b] = gain;
  work->single[b] = single;
  work->best[b] = best;
}

int screen_best_first(screen_work *work, int from, int to, int n_best) {
  if (n_best >= to - from) return to;
  select_top(work->gain + from, to - from, n_best, work->job->source, work->row, work->order);
  sort_slots(work->order, n_best);
  for (int i = 0; i < n_best; i++) screen_swap(work, from + i, from + work->order[i]);
  return from + n_best;
}

int screen_is_taken(const screen_work *work, const int *slot, int n, int latent) {
  const int first = latent - latent % work->group_size, last = first + work->group_size - 1;
  for (int i = 0; i < n; i++) {
    if (slot[i] >= first && slot[i] <= last) return 1;
  }
  return 0;
}

/* The kept latents that explain something together become the given state: one after the other by
 * the gain, as long as it is positive. They stand among the candidates. */
static gps_status give_kept(screen_work *work, const int *kept) {
  const int n_slots = work->job->n_slots;
  int *left = work->order, n_left = 0;
  double *gain = work->gain;
  for (int i = 0; i < n_slots; i++) {
    if (kept[i] >= 0) left[n_left++] = kept[i];
  }
  while (n_left > 0) {
    const gps_status status = screen_gains(work, work->n_given, work->given, n_left, left, gain);
    if (status != GPS_OK) return status;
    int best = 0, n = 0;
    for (int i = 1; i < n_left; i++) {
      if (gain[i] > gain[best]) best = i;
    }
    if (!(gain[best] > 0)) break;
    work->given[work->n_given++] = left[best];
    for (int i = 0; i < n_left; i++) {
      if (!screen_is_taken(work, work->given, work->n_given, left[i])) left[n++] = left[i];
    }
    n_left = n;
  }
  return GPS_OK;
}

/* The pool grows by the kept state and by what explains most beside it. Changes gains. */
static gps_status add_conditional(screen_work *work, const int *kept, int *n_pool) {
  gps_status status = give_kept(work, kept);
  if (status != GPS_OK || work->n_given == 0) return status;
  int from = *n_pool, to = work->n;
  for (int i = from; i < to;) {
    const int latent = work->candidate[i];
    if (!screen_is_taken(work, work->given, work->n_given, latent)) {
      i++;
      continue;
    }
    int is_given = 0;
    for (int k = 0; k < work->n_given; k++) is_given |= work->given[k] == latent;
    if (is_given) {
      screen_swap(work, i++, from++);
    } else {
      screen_swap(work, i, --to);
    }
  }
  status = screen_gains(work, work->n_given, work->given, to - from, work->candidate + from,
                        work->gain + from);
  work->n_given = 0;
  if (status != GPS_OK) return status;
  *n_pool = screen_best_first(work, from, to, work->job->screen->n_conditional);
  return GPS_OK;
}

/* Candidates that the model proposes beside the kept latents that explain something. */
static gps_status add_guided(screen_work *work, size_t index, int *table) {
  const screen_job *job = work->job;
  const gps_source *source = job->source;
  const int n = job->screen->n_guided, bits = candidate_table_bits(work->capacity);
  if (n == 0 || !job->model->propose || !job->kept) return GPS_OK;
  gps_rng rng =
      gps_rng_stream(source->seed, source->start, GPS_PURPOSE_GUIDE, source->iteration, work->row);
  gps_status status = give_kept(work, job->kept + index * (size_t)job->n_slots);
  if (status == GPS_OK) {
    status = job->model->propose(job->problem, work->point, work->n_given, work->given, n,
                                 work->order, &rng, work->rest + 2);
  }
  work->n_given = 0;
  if (status != GPS_OK) return status;
  for (int i = 0; i < n; i++) {
    if (!candidate_is_new(table, bits, work->order[i])) continue;
    work->candidate[work->n++] = work->order[i];
    work->n_guided++;
  }
  return GPS_OK;
}

/* Singleton screen of all candidates, and the pool. */
static gps_status fill_pool(screen_work *work, const int *kept) {
  const screen_job *job = work->job;
  const gps_screen *screen = job->screen;
  const int is_greedy = screen->is_greedy && !job->is_one_hot;
  /* What is proposed beside the kept state is judged beside it alone. */
  const int n_single = is_greedy && screen->n_conditional > 0 ? work->n - work->n_guided : work->n;
  gps_status status = screen_gains(work, 0, NULL, n_single, work->candidate, work->gain);
  if (status != GPS_OK) return status;
  for (int i = n_single; i < work->n; i++) work->gain[i] = -HUGE_VAL;
  memcpy(work->single, work->gain, (size_t)work->n * sizeof *work->single);
  memcpy(work->best, work->gain, (size_t)work->n * sizeof *work->best);
  work->n_pool = work->n;
  if (!is_greedy) return GPS_OK;
  work->n_pool = screen_best_first(work, 0, n_single, screen->n_pool);
  if (screen->n_conditional == 0 || work->n_pool == work->n || kept == NULL) return GPS_OK;
  return add_conditional(work, kept, &work->n_pool);
}

/* Candidates by their single-cause states, best first. */
static void tell_ranked(screen_work *work, int *ranked) {
  const int n_ranked = work->job->screen->n_ranked, n = n_ranked < work->n ? n_ranked : work->n;
  if (n_ranked == 0) return;
  select_top(work->single, work->n, n, work->job->source, work->row, work->order);
  for (int i = 0; i < n_ranked; i++) {
    const int is_known = i < n && work->single[work->order[i]] > -HUGE_VAL;
    ranked[i] = is_known ? work->candidate[work->order[i]] : -1;
  }
}

static gps_status choose(screen_work *work, size_t index, int *selected, int *ranked,
                         int *n_filled) {
  const screen_job *job = work->job;
  const size_t first = index * (size_t)job->n_slots;
  const int *kept = job->kept ? job->kept + first : NULL;
  const double *prob = job->prob_on ? job->prob_on + first : NULL;
  gps_status status = GPS_OK;
  if (has_nan_rank(job, index)) return GPS_NOT_FINITE;
  if (kept && job->resting && job->resting[index]) {
    memcpy(selected, kept, (size_t)job->n_slots * sizeof *selected);
    *n_filled = job->n_slots;
    for (int i = 0; i < job->screen->n_ranked; i++) ranked[i] = -1;
    return GPS_OK;
  }
  if (job->model->gain && job->model->gain_begin)
    status = job->model->gain_begin(job->problem, work->point, work->rest + 2);
  gather_candidates(work, index, work->table);
  if (status == GPS_OK) status = add_guided(work, index, work->table);
  if (status == GPS_OK) status = fill_pool(work, kept);
  if (status == GPS_OK) tell_ranked(work, ranked);
  if (status == GPS_OK) status = screen_fill(work, kept, prob, selected, n_filled);
  return status;
}

static gps_status screen_point(const screen_job *job, size_t index, int *selected, int *ranked,
                               double *scratch, int *ints, double *n_gains) {
  const int n_slots = job->n_slots, group_size = job->grid.height * job->grid.width;
  const int capacity = screen_capacity(job->screen, n_slots, group_size);
  const gps_shape shape = job->problem->shape;
  const gps_point point = {(int)index, job->y + index * (size_t)shape.n_dims,
                           gps_observed_of(job->problem, (int)index), NULL};
  int *order = ints + capacity, *given = order + capacity, *visit = given + n_slots,
      *probe = visit + n_slots;
  screen_work work = {.job = job,
                      .point = &point,
                      .row = gps_stream_of(job->problem, index),
                      .group_size = group_size,
                      .capacity = capacity,
                      .candidate = ints,
                      .gain = scratch,
                      .single = scratch + capacity,
                      .best = scratch + 2 * capacity,
                      .order = order,
                      .given = given,
                      .visit = visit,
                      .probe = probe,
                      .table = probe + 3 * (n_slots + 1),
                      .rest = scratch + 3 * capacity};
  int n_filled = 0;
  const gps_status status = choose(&work, index, selected, ranked, &n_filled);
  *n_gains = work.n_gains;
  if (status != GPS_OK) return status;
  if (n_filled == n_slots) {
    explore_slots(selected, n_slots, shape.n_latents, work.group_size, job->screen->share,
                  job->source, work.row);
  }
  sort_slots(selected, n_filled);
  for (; n_filled < n_slots; n_filled++) selected[n_filled] = -1;
  return GPS_OK;
}

screen_outcome screen_points(const screen_job *job, size_t from, size_t to, int n_threads,
                             int *selected, int *ranked, double *scratch, int *ints) {
  const int capacity =
      screen_capacity(job->screen, job->n_slots, job->grid.height * job->grid.width);
  const size_t n_doubles = screen_scratch(capacity, job->model_scratch);
  const size_t n_ints = screen_scratch_ints(capacity, job->n_slots);
  screen_outcome outcome = {GPS_OK, to, 0};
  double total = 0;
#pragma omp parallel for num_threads(n_threads) schedule(static) reduction(+ : total)
  for (size_t n = from; n < to; n++) {
    const size_t thread = (size_t)thread_number();
    double n_gains = 0;
    const gps_status status =
        screen_point(job, n, selected + n * (size_t)job->n_slots,
                     ranked ? ranked + n * (size_t)job->screen->n_ranked : NULL,
                     scratch + n_doubles * thread, ints + n_ints * thread, &n_gains);
    total += n_gains;
    if (status == GPS_OK) continue;
#pragma omp critical
    if (n < outcome.bad_point) {
      outcome.bad_point = n;
      outcome.status = status;
    }
  }
  outcome.n_gains = total;
  return outcome;
}
