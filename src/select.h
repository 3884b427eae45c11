/* From affinities to the selected latents of each data point (equation 4 of the paper): the best
 * n_selected, some of them replaced by explorers. Latents come in groups of equal size, number /
 * size is the group, of which one latent at the most is selected: the locations of a component on a
 * grid. Groups of one are none. Also the shared pieces that screening uses. */
#ifndef GPSELECT_SELECT_H
#define GPSELECT_SELECT_H

#include <stddef.h>

#include "gpselect/model.h"

/* Explorers of one data point at the most; R/fit.R refuses to ask for more. */
#define GPS_MAX_EXPLORERS 4096

/* Where the random decisions of a selection come from. */
typedef struct {
  uint32_t seed[2];
  uint32_t start, iteration;
} gps_source;

/* The n_top largest of value [n], best first, into top [n_top], n_top <= n. Equal values are
 * ordered by the data point's tie stream, so that no latent is favoured by its number. Any thread.
 */
void select_top(const double *value, int n, int n_top, const gps_source *source, uint32_t row,
                int *top);

/* The same for the best latents of the n_top best groups. Returns how many there are: n_top, or all
 * groups. */
int select_top_groups(const double *value, int n, int group_size, int n_top,
                      const gps_source *source, uint32_t row, int *top);

/* Replace the last of selected [n_selected] (best first) by latents drawn without replacement from
 * the groups that are not selected: floor(share) of them, plus one with probability the fraction of
 * share, each of another group. Any thread. */
void explore_slots(int *selected, int n_selected, int n_latents, int group_size, double share,
                   const gps_source *source, uint32_t row);

/* Affinities of a few latents, all others of which are 0: numbers of latents from 1, 0 is no
 * candidate. */
typedef struct {
  size_t n;
  const int *latent;      /* [n] of a point, [n x n_points] of a block */
  const double *affinity; /* the same */
} gps_candidates;

/* The best of one point's candidates whose affinity is positive, or of all `with_rest`, best first
 * and at most n_top, into top (0-based) and value [n_top]; one of a group at the most. Equal ones
 * as select_top() orders them. Returns how many there are. Any thread. */
int select_top_candidates(const gps_candidates *list, int n_top, int with_rest, int group_size,
                          const gps_source *source, uint32_t row, int *top, double *value);

/* Ascending order, in place. */
void sort_slots(int *slot, int n);

/* Whether one of n values is not a number. */
int select_has_nan(size_t n, const double *value);

/* The points of a block whose latents are selected. */
typedef struct {
  int n_latents, group_size, n_selected, n_threads;
  size_t n_points, first_row;
  double share; /* of explorers: see explore_slots() */
  gps_source source;
  const int *streams; /* [n_points] numbers of random streams; NULL: first_row and those after it */
} gps_selection;

/* selected [n_selected x n_points] from affinity [n_latents x n_points], slots in ascending order,
 * -1 at the end where there are fewer groups than slots. Returns GPS_NOT_FINITE with the first
 * point that has a NaN in *bad_point. */
gps_status select_latents(const gps_selection *job, const double *affinity, int *selected,
                          size_t *bad_point);

/* The same from candidates. With explorers, slots that no positive affinity claims are theirs;
 * without, they go to the other candidates, and what is left to latents at random. Unless `fill`
 * they stay empty. scratch [n_selected x n_threads]. */
gps_status select_candidates(const gps_selection *job, const gps_candidates *lists, int fill,
                             int *selected, double *scratch, size_t *bad_point);

#endif
