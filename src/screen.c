/* Screening of candidates by the model's own gain. Called by r_select.c. */
#include "screen.h"

#include <math.h>

#include "threads.h"

int screen_capacity(const gps_screen *screen, int n_slots) {
  return screen->n_propose + screen->n_explore + n_slots;
}

/* gains and first gains of the candidates, two log joints, the model's scratch */
size_t screen_scratch(const gps_screen *screen, int n_slots, size_t model_scratch) {
  return 2 * (size_t)screen_capacity(screen, n_slots) + 2 + model_scratch;
}

/* candidates and their ranks; latents of a probe and its two states */
size_t screen_scratch_ints(const gps_screen *screen, int n_slots) {
  return (size_t)screen_capacity(screen, n_slots) + (size_t)screen->n_propose +
         4 * (size_t)n_slots + 4;
}

static int add_candidate(int *candidate, int n, int latent) {
  if (latent < 0) return n;
  for (int i = 0; i < n; i++) {
    if (candidate[i] == latent) return n;
  }
  candidate[n] = latent;
  return n + 1;
}

static int gather_candidates(const gps_screen *screen, int n_latents, const double *affinity,
                             const int *kept, int n_slots, const gps_source *source, uint32_t row,
                             int *candidate, int *ranked) {
  int n = 0;
  if (affinity && screen->n_propose > 0) {
    const int n_top = screen->n_propose < n_latents ? screen->n_propose : n_latents;
    select_top(affinity, n_latents, n_top, source, row, ranked);
    for (int i = 0; i < n_top; i++) n = add_candidate(candidate, n, ranked[i]);
  }
  for (int i = 0; kept && i < n_slots; i++) n = add_candidate(candidate, n, kept[i]);
  gps_rng rng =
      gps_rng_stream(source->seed, source->start, GPS_PURPOSE_SCREEN, source->iteration, row);
  for (int i = 0; i < screen->n_explore; i++)
    n = add_candidate(candidate, n, gps_rng_index(&rng, n_latents));
  return n;
}

/* Gain through the log joint: a probe point whose slots hold `given` and one candidate, and a
 * template of the two states without and with it. A one-hot model has no state without. */
static gps_status probe_gain(const gps_model *model, const gps_problem *problem,
                             const gps_point *point, int is_one_hot, int n_given, const int *given,
                             int n_candidates, const int *candidate, double *gain,
                             double *log_joint, double *scratch, int *ints) {
  int *latent = ints, *active = latent + n_given + 1, n_active[2] = {n_given, n_given + 1},
      parent[2] = {-1, 0};
  const int n_slots = n_given + 1, n_states = is_one_hot ? 1 : 2;
  for (int i = 0; i < n_given; i++) latent[i] = active[i] = active[n_slots + i] = i;
  for (int i = 0; i < n_given; i++) latent[i] = given[i];
  active[is_one_hot ? 0 : n_slots + n_given] = n_given;
  const gps_states states = {n_slots, n_slots, n_states, is_one_hot ? n_active + 1 : n_active,
                             active,  parent,  0};
  for (int c = 0; c < n_candidates; c++) {
    gain[c] = -HUGE_VAL;
    if (is_one_hot && n_given > 0) continue;
    latent[n_given] = candidate[c];
    const gps_point probe = {point->index, point->y, point->observed, latent};
    const gps_status status = model->log_joint(problem, &probe, &states, log_joint, scratch);
    if (status != GPS_OK) return status;
    gain[c] = is_one_hot ? log_joint[0] : log_joint[1] - log_joint[0];
  }
  return GPS_OK;
}

/* Position of the best gain; where all are -Inf, of the best single-cause state. */
static int best_candidate(const double *gain, const double *single, int n) {
  int best = 0;
  for (int i = 1; i < n; i++) {
    if (gain[i] > gain[best] || (gain[i] == gain[best] && single[i] > single[best])) best = i;
  }
  return best;
}

static void remove_at(int *candidate, double *gain, double *single, int n, int at) {
  candidate[at] = candidate[n - 1];
  gain[at] = gain[n - 1];
  single[at] = single[n - 1];
}

/* Gains of all candidates given the latents already selected. */
static gps_status compute_gains(const screen_job *job, const gps_point *point, int n_given,
                                const int *given, int n_candidates, const int *candidate,
                                double *gain, double *scratch, int *ints) {
  if (job->model->gain) {
    return job->model->gain(job->problem, point, n_given, given, n_candidates, candidate, gain,
                            scratch + 2);
  }
  return probe_gain(job->model, job->problem, point, job->is_one_hot, n_given, given, n_candidates,
                    candidate, gain, scratch, scratch + 2, ints);
}

static gps_status screen_point(const screen_job *job, size_t index, int *selected, double *scratch,
                               int *ints) {
  const int n_slots = job->n_slots, capacity = screen_capacity(job->screen, n_slots);
  const int n_latents = job->problem->shape.n_latents;
  const uint32_t row = (uint32_t)(job->problem->first_row + index);
  double *gain = scratch, *single = gain + capacity, *rest = single + capacity;
  int *candidate = ints, *ranked = candidate + capacity, *probe = ranked + job->screen->n_propose;
  const gps_point point = {(int)index, job->y + index * (size_t)job->problem->shape.n_dims, NULL,
                           NULL};
  int n = gather_candidates(job->screen, n_latents,
                            job->affinity ? job->affinity + index * (size_t)n_latents : NULL,
                            job->kept ? job->kept + index * (size_t)n_slots : NULL, n_slots,
                            job->source, row, candidate, ranked);
  int n_filled = 0;
  while (n_filled < n_slots && n > 0) {
    if (n_filled == 0 || job->screen->is_greedy) {
      const gps_status status =
          compute_gains(job, &point, n_filled, selected, n, candidate, gain, rest, probe);
      if (status != GPS_OK) return status;
    }
    for (int i = 0; i < n; i++) {
      if (isnan(gain[i])) return GPS_NOT_FINITE;
      if (n_filled == 0) single[i] = gain[i];
    }
    const int best = best_candidate(gain, single, n);
    selected[n_filled++] = candidate[best];
    remove_at(candidate, gain, single, n--, best);
  }
  if (n_filled == n_slots)
    explore_slots(selected, n_slots, n_latents, job->screen->share, job->source, row);
  sort_slots(selected, n_filled);
  for (; n_filled < n_slots; n_filled++) selected[n_filled] = -1;
  return GPS_OK;
}

gps_status screen_points(const screen_job *job, int n_threads, int *selected, double *scratch,
                         int *ints, size_t *bad_point) {
  const size_t n_points = (size_t)job->problem->n_points, n_slots = (size_t)job->n_slots;
  const size_t n_doubles = screen_scratch(job->screen, job->n_slots, job->model_scratch);
  const size_t n_ints = screen_scratch_ints(job->screen, job->n_slots);
  gps_status status = GPS_OK;
  *bad_point = n_points;
#pragma omp parallel for num_threads(n_threads) schedule(static) if (n_threads > 1)
  for (size_t n = 0; n < n_points; n++) {
    const size_t thread = (size_t)thread_number();
    const gps_status outcome = screen_point(job, n, selected + n * n_slots,
                                            scratch + n_doubles * thread, ints + n_ints * thread);
    if (outcome == GPS_OK) continue;
#pragma omp critical
    if (n < *bad_point) {
      *bad_point = n;
      status = outcome;
    }
  }
  return status;
}
