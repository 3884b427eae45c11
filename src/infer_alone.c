/* What each latent makes of a data point by itself: the ranking that a model's author would choose
 * where one latent is on in a state. Called by r_rank.c. */
#include "infer.h"
#include "threads.h"

/* Points that take their turn at a run of latents, whose parameters stay in cache meanwhile. */
#define TILE_POINTS 32
#define TILE_LATENTS 16

/* One point at some of the latents, from `first` on. */
static gps_status rank_point(const alone_job *job, size_t p, size_t first, size_t n,
                             double *scratch) {
  const gps_model *model = job->model;
  const gps_problem *problem = job->problem;
  const size_t n_dims = (size_t)problem->shape.n_dims;
  double *affinity = job->affinity + p * (size_t)problem->shape.n_latents + first;
  const gps_point point = {(int)p, job->y + p * n_dims, gps_observed_of(problem, (int)p), NULL};
  gps_status status = model->gain_begin ? model->gain_begin(problem, &point, scratch) : GPS_OK;
  if (status == GPS_OK) {
    status = model->gain(problem, &point, 0, NULL, (int)n, job->latent + first, affinity, scratch);
  }
  if (status != GPS_OK || !model->shared_term) return status;
  const double shared = model->shared_term(problem, &point);
  for (size_t i = 0; i < n; i++) affinity[i] += shared;
  return GPS_OK;
}

/* Points [from, to), at most TILE_POINTS of them; *to becomes the smallest that fails. */
static gps_status rank_tile(const alone_job *job, size_t from, size_t *to, double *scratch) {
  const size_t n_latents = (size_t)job->problem->shape.n_latents;
  gps_status worst = GPS_OK;
  for (size_t first = 0; first < n_latents; first += TILE_LATENTS) {
    const size_t left = n_latents - first, n = left < TILE_LATENTS ? left : TILE_LATENTS;
    for (size_t p = from; p < *to; p++) {
      const gps_status status = rank_point(job, p, first, n, scratch);
      if (status == GPS_OK) continue;
      worst = status;
      *to = p;
    }
  }
  return worst;
}

gps_status infer_alone(const alone_job *job, size_t from, size_t to, size_t *bad_point) {
  const int n_tiles = (int)((to - from + TILE_POINTS - 1) / TILE_POINTS);
  gps_status worst = GPS_OK;
  *bad_point = to;
#pragma omp parallel for num_threads(job->n_threads) schedule(static)
  for (int tile = 0; tile < n_tiles; tile++) {
    const size_t first = from + (size_t)tile * TILE_POINTS;
    size_t last = first + TILE_POINTS < to ? first + TILE_POINTS : to;
    const gps_status status =
        rank_tile(job, first, &last, job->scratch + (size_t)thread_number() * job->scratch_length);
    if (status == GPS_OK) continue;
#pragma omp critical
    if (last < *bad_point) {
      *bad_point = last;
      worst = status;
    }
  }
  return worst;
}
