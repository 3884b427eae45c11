/* What each latent makes of a data point by itself: the ranking that a model's author would choose
 * where one latent is on in a state. Called by r_rank.c. */
#include "infer.h"
#include "threads.h"

/* Points that take their turn at a run of latents, whose parameters stay in cache meanwhile. */
#define TILE_POINTS 32
#define TILE_LATENTS 16

/* Points [from, to), at most TILE_POINTS of them. */
static gps_status rank_tile(const gps_model *model, const gps_problem *problem, const double *y,
                            const int *latent, size_t from, size_t to, double *affinity,
                            double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  for (size_t first = 0; first < n_latents; first += TILE_LATENTS) {
    const size_t left = n_latents - first, n = left < TILE_LATENTS ? left : TILE_LATENTS;
    for (size_t p = from; p < to; p++) {
      const gps_point point = {(int)p, y + p * n_dims, gps_observed_of(problem, (int)p), NULL};
      gps_status status = model->gain_begin ? model->gain_begin(problem, &point, scratch) : GPS_OK;
      if (status == GPS_OK) {
        status = model->gain(problem, &point, 0, NULL, (int)n, latent + first,
                             affinity + p * n_latents + first, scratch);
      }
      if (status != GPS_OK) return status;
      if (!model->shared_term) continue;
      const double shared = model->shared_term(problem, &point);
      for (size_t i = 0; i < n; i++) affinity[p * n_latents + first + i] += shared;
    }
  }
  return GPS_OK;
}

gps_status infer_alone(const gps_model *model, const gps_problem *problem, const double *y,
                       const int *latent, size_t from, size_t to, int n_threads, double *affinity,
                       double *scratch, size_t scratch_length) {
  const int n_tiles = (int)((to - from + TILE_POINTS - 1) / TILE_POINTS);
  gps_status worst = GPS_OK;
#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (int tile = 0; tile < n_tiles; tile++) {
    const size_t first = from + (size_t)tile * TILE_POINTS;
    const size_t last = first + TILE_POINTS < to ? first + TILE_POINTS : to;
    const gps_status status = rank_tile(model, problem, y, latent, first, last, affinity,
                                        scratch + (size_t)thread_number() * scratch_length);
    if (status != GPS_OK) {
#pragma omp atomic write
      worst = status;
    }
  }
  return worst;
}
