/* A model of latents that lie on a grid in groups, whose log joint is a sum of single and pairwise
 * terms, for the tests of screening. It notes which candidates it is asked for. */
#ifndef GPSELECT_TEST_GRID_CASE_H
#define GPSELECT_TEST_GRID_CASE_H

#include "check.h"
#include "screen.h"

#include <stdlib.h>
#include <string.h>

enum {
  HEIGHT = 6,
  WIDTH = 5,
  SIZE = HEIGHT * WIDTH,
  N_GROUPS = 8,
  N_LATENTS = SIZE * N_GROUPS,
  N_SLOTS = 4,
  N_POINTS = 300,
  MOST = 2000
};

static const gps_source source = {{7u, 8u}, 0, 2};
static const gps_grid grid = {HEIGHT, WIDTH};

/* Candidates of the first call for the last point, and how often the model prepared a point. */
static int seen[MOST], n_seen, n_begun;

static inline double noise(uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t counter[4] = {a, b, c, 5u}, key[2] = {1u, 2u};
  uint32_t out[4];
  gps_philox(counter, key, out);
  return out[0] / 4294967296.0;
}

/* Log joint gained by a latent beside others; -Inf beside one of its group. */
static inline double true_gain(int point, int n_given, const int *given, int latent) {
  double value = 6 * noise((uint32_t)point, (uint32_t)latent, 0) - 3;
  for (int i = 0; i < n_given; i++) {
    if (given[i] / SIZE == latent / SIZE) return -HUGE_VAL;
    const uint32_t low = (uint32_t)(given[i] < latent ? given[i] : latent);
    const uint32_t high = (uint32_t)(given[i] < latent ? latent : given[i]);
    value -= 2 * noise(low, high, 1) - 1;
  }
  return value;
}

static inline size_t scratch_size(const gps_problem *problem, const gps_states *states) {
  (void)problem;
  return (size_t)states->n_slots;
}

static inline gps_status gain_begin(const gps_problem *problem, const gps_point *point,
                                    double *scratch) {
  (void)problem;
  scratch[0] = point->index;
#pragma omp atomic
  n_begun++;
  return GPS_OK;
}

/* Reads what gain_begin() left. */
static inline gps_status gain(const gps_problem *problem, const gps_point *point, int n_given,
                              const int *given, int n_candidates, const int *candidate,
                              double *value, double *scratch) {
  (void)problem;
  (void)point;
  for (int i = 0; i < n_candidates; i++)
    value[i] = true_gain((int)scratch[0], n_given, given, candidate[i]);
  return GPS_OK;
}

/* The same, and notes the candidates of the singleton screen. One thread. */
static inline gps_status noting_gain(const gps_problem *problem, const gps_point *point,
                                     int n_given, const int *given, int n_candidates,
                                     const int *candidate, double *value, double *scratch) {
  if (n_given == 0 && n_seen == 0) {
    n_seen = n_candidates;
    memcpy(seen, candidate, (size_t)n_candidates * sizeof *seen);
  }
  return gain(problem, point, n_given, given, n_candidates, candidate, value, scratch);
}

static inline screen_outcome screen_range(const gps_screen *screen, int is_noting, size_t first_row,
                                          const double *affinity, const int *kept, size_t from,
                                          size_t to, int n_threads, int *selected) {
  static const double y[N_POINTS] = {0};
  const gps_model model = {.api = GPS_MODEL_API,
                           .scratch_size = scratch_size,
                           .gain_begin = gain_begin,
                           .gain = is_noting ? noting_gain : gain};
  const gps_problem problem = {.shape = {1, N_LATENTS},
                               .first_row = first_row,
                               .n_points = N_POINTS,
                               .beta = 1,
                               .iteration = 1,
                               .input = NULL};
  const gps_states largest = SCREEN_LARGEST_PROBE(N_SLOTS);
  const size_t model_scratch = scratch_size(&problem, &largest);
  const int capacity = screen_capacity(screen, N_SLOTS, SIZE);
  const size_t n_doubles = screen_scratch(capacity, model_scratch) * (size_t)n_threads;
  const size_t n_ints = screen_scratch_ints(capacity, N_SLOTS) * (size_t)n_threads;
  double *scratch = malloc(n_doubles * sizeof *scratch);
  int *ints = malloc(n_ints * sizeof *ints);
  for (size_t i = 0; i < n_doubles; i++) scratch[i] = NAN;
  for (size_t i = 0; i < n_ints; i++) ints[i] = 12345;
  const screen_job job = {.model = &model,
                          .problem = &problem,
                          .screen = screen,
                          .source = &source,
                          .grid = grid,
                          .y = y,
                          .affinity = affinity,
                          .kept = kept,
                          .n_slots = N_SLOTS,
                          .model_scratch = model_scratch};
  const screen_outcome outcome =
      screen_points(&job, from, to, n_threads, selected, NULL, scratch, ints);
  free(scratch);
  free(ints);
  return outcome;
}

static inline int holds(const int *slot, int n, int latent) {
  for (int i = 0; i < n; i++) {
    if (slot[i] == latent) return 1;
  }
  return 0;
}

static inline int holds_group(const int *slot, int n, int latent) {
  for (int i = 0; i < n; i++) {
    if (slot[i] / SIZE == latent / SIZE) return 1;
  }
  return 0;
}

static inline void fill_affinity(double *affinity) {
  for (uint32_t n = 0; n < N_POINTS; n++) {
    for (uint32_t h = 0; h < N_LATENTS; h++) affinity[h + n * N_LATENTS] = noise(n, h, 9);
  }
}

/* Slots of distinct groups, every third point with an empty one. */
static inline void fill_kept(int *kept) {
  for (uint32_t n = 0; n < N_POINTS; n++) {
    for (uint32_t i = 0; i < N_SLOTS; i++) {
      const int location = (int)(SIZE * noise(n, i, 11));
      kept[i + n * N_SLOTS] = (int)((2 * i + n) % N_GROUPS) * SIZE + location;
    }
    sort_slots(kept + n * N_SLOTS, N_SLOTS);
    if (n % 3 == 0) kept[3 + n * N_SLOTS] = -1;
  }
}

#endif
