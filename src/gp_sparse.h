/* Predictions of targets that are nearly all 0, point by point from coefficients over the training
 * points: nothing of the size n_latents x n_points is read or kept. On a grid the predictions are
 * smoothed over neighbouring positions. Called by r_gp_sparse.c. */
#ifndef GPSELECT_GP_SPARSE_H
#define GPSELECT_GP_SPARSE_H

#include "gp_slots.h"
#include "gpselect/watch.h"

/* Targets by latent: those of latent l are the entries first[l] .. first[l + 1] - 1. */
typedef struct {
  size_t n_latents;
  size_t *first; /* [n_latents + 1] */
  int *point;    /* [n_entries] training points, 0-based */
  double *value; /* [n_entries] */
} gp_sparse_targets;

/* Targets in slots that are not 0. */
size_t gp_sparse_count(const gp_slots *slots, size_t n_points);

/* Sorts the slots by latent into the arrays of `targets`, which have room for them. */
void gp_sparse_sort(const gp_slots *slots, size_t n_points, gp_sparse_targets *targets);

/* A cyclic Gaussian blur of n cells in a ring, cut off at three standard deviations: weights [n / 2
 * + 1] of a cell (0) and of each of its two neighbours at distance 1, 2, ... Returns the largest
 * distance. */
size_t gp_blur_weights(size_t n_cells, double sd, double *weight);

/* Latents are groups of height x width cells, rows fastest. Without a grid height is n_latents or
 * less, width 1 and both radii 0; n_latents need not be a multiple of the group then. */
typedef struct {
  size_t height, width;
  size_t radius_down, radius_across;
  const double *down, *across; /* weights along a column, along a row */
} gp_grid;

typedef struct {
  const gp_sparse_targets *targets;
  const gp_grid *grid;
  size_t n_train;     /* training points */
  const double *coef; /* columns of [n_train] coefficients */
  /* For each of n_points: its column of coef, a factor, and the training point that does not
   * count, -1 where all do. */
  size_t n_points;
  const size_t *column;
  const double *scale;
  const int *left_out;
  const gps_watch *watch; /* or NULL */
} gp_spread_job;

/* Doubles of scratch for each thread. */
size_t gp_spread_scratch(const gp_spread_job *job);

/* affinity [n_latents x n_points]: for each point the sum of its coefficients times the targets,
 * smoothed. The bits of a point depend on no other point. */
void gp_spread(const gp_spread_job *job, int n_threads, double *affinity, double *scratch);

/* Slots that each slot of a target becomes where it is smoothed by itself. */
size_t gp_spread_room(const gp_grid *grid);

/* Targets in slots -> latent, value [n_wide x n_points]: the targets smoothed, each in the slots of
 * all cells that it reaches; what is left of a point is 0. n_wide is at least gp_spread_room() for
 * each of its targets that is not 0, whose groups are different ones. scratch [height + width of
 * the grid]. */
void gp_spread_slots(const gp_grid *grid, const gp_slots *slots, size_t n_points, size_t n_wide,
                     int *latent, double *value, double *scratch);

#endif
