/* Local Gaussian processes: each point sees its nearest others only. Lists of neighbours are
 * [n_near x n_queries] numbers of points, nearest first, -1 where there are no more. Called by
 * r_gp_neighbours.c on the main thread; loops over points, but for the search, run on n_threads
 * threads, and a point's numbers depend on no other point's, so that results have the same bits for
 * any number of threads. */
#ifndef GPSELECT_GP_NEIGHBOURS_H
#define GPSELECT_GP_NEIGHBOURS_H

#include "gp.h"
#include "gp_slots.h"

/* ---- search ---- */

/* Points among which neighbours are sought, in columns that are multiplied by `scale`. */
typedef struct {
  size_t n_dims, n_points;
  const double *x;        /* [n_dims x n_points] */
  const double *scale;    /* [n_dims] */
  size_t n_near;          /* how many are wanted */
  const gps_watch *watch; /* or NULL */
} gp_search;

/* Points whose neighbours are wanted. `own` [n] are their numbers among those of the search, which
 * are no neighbours of theirs; NULL: they are others. `is_before`: only points of smaller number
 * are. */
typedef struct {
  size_t n;
  const double *x; /* [n_dims x n] */
  const int *own;
  int is_before;
} gp_queries;

/* Scratch of searches by products, which hold so many lists at a time. */
#define GP_NEAR_LISTS 96
size_t gp_search_scratch(const gp_search *search, size_t n_lists);

/* The nearest points by exact squared distances, of equal ones those of smaller number. Where the
 * queries are the points, `order`, unless NULL, is one in which points that lie together follow
 * each other, as those of leaves do: of these the nearest are found early. GP_NEAR_LISTS lists. */
gps_status gp_search_near(const gp_search *search, const gp_queries *queries, const int *order,
                          int *near, double *scratch);

/* All points, cut into `n_leaves` leaves of at most so many that lie together, each about its
 * centre and no farther from it than its radius: those of leaf l are order[first[l]] ..
 * order[first[l + 1] - 1]. Room for 3 n_points + 2 ints is the caller's. */
#define GP_LEAF_POINTS 16
typedef struct {
  size_t n_leaves;
  int *order, *first, *panel; /* [n_points], [n_leaves + 1] each */
  double *centre, *radius;    /* [n_dims x n_leaves], [n_leaves] */
} gp_leaves;
size_t gp_leaves_scratch(const gp_search *search);
gp_leaves gp_cut_leaves(const gp_search *search, int *room, double *scratch);

/* The nearest points of all points among themselves: by leaves, unless for some points this takes
 * more time than comparing all pairs: is_done is 0 then. `distance` [n_near x GP_LEAF_POINTS] is
 * scratch. */
size_t gp_panels_scratch(const gp_search *search, const gp_leaves *leaves);
gps_status gp_search_leaves(const gp_search *search, const gp_leaves *leaves, int *near,
                            double *distance, double *scratch, int *is_done);

/* Points sorted into cells: those of cell c are order[first[c]] .. order[first[c + 1] - 1]. A query
 * looks at the points of some cells: those that look at cell c first of all are
 * ask[first_ask[c]] .. ask[first_ask[c + 1] - 1], and those that look at it later follow in the
 * same way at n_cells + c. */
typedef struct {
  size_t n_cells;
  const int *order, *first;   /* [n_points], [n_cells + 1] */
  const int *ask, *first_ask; /* [any], [2 n_cells + 1] */
} gp_cells;

/* first [n_cells + 1] and order [n] from the cell of each of n things. */
void gp_sort_cells(size_t n, const int *cell, size_t n_cells, int *first, int *order);

/* The nearest points among those of the cells that a query looks at, of equal ones those of smaller
 * number; -1 where these have fewer. n_held [queries] is scratch; as many lists as queries. */
gps_status gp_search_cells(const gp_search *search, const gp_queries *queries,
                           const gp_cells *cells, int *near, int *n_held, double *scratch);

/* ---- local regression ---- */

/* A kernel at fixed parameters, points x [n_dims x n_points], and for points `at`
 * [n_dims x n_queries] their neighbours among them. */
typedef struct {
  const gps_kernel *kernel;
  const double *theta;
  double jitter; /* added to the noise */
  const double *x;
  size_t n_near, n_queries;
  const int *near;
  const double *at;
  int n_threads;
  const gps_watch *watch; /* or NULL */
} gp_local;

/* Doubles of scratch for each thread. */
size_t gp_local_scratch(const gp_local *local);

/* Weights [n_near x n_queries] of the neighbours in the prediction of each point, 0 where there is
 * none, and its variance [n_queries]: of the observation, or of the function where `is_function`.
 * Where a matrix cannot be factorised, all are made again with as much jitter as it
 * takes, left in local->jitter. */
gps_status gp_local_weights(gp_local *local, int is_function, double *weights, double *variance,
                            double *scratch);

/* Targets of all points: root [rank x n_points], or where that is NULL slots. n_targets counts
 * those that are 0 everywhere, too. */
typedef struct {
  size_t n_targets, rank;
  const double *root;
  gp_slots slots;
} gp_local_targets;

/* Room for an evaluation: each thread has gp_local_scratch() + gp_local_latents() doubles of
 * scratch, and n_targets + gp_local_latents() ints of `place`, of which the first n_targets are -1
 * before and after. partial [gp_local_partial()] */
typedef struct {
  double *scratch, *partial;
  int *place;
} gp_local_room;
size_t gp_local_partial(const gp_local *local);
size_t gp_local_latents(const gp_local *local, const gp_local_targets *targets);

/* The log predictive density of the targets of points `row` [n_queries] given their neighbours',
 * and its gradient [n_hyper]. */
gps_status gp_local_evaluate(gp_local *local, int climb, const gp_local_targets *targets,
                             const int *row, const gp_local_room *room, double *value,
                             double *gradient);

/* ---- predictions ---- */

/* Points that are predicted: the columns [n] (from 1; 0: of this one nothing is asked) of
 * neighbours and weights [n_near x any], neighbours from 1 as well, 0 for none, among n_points. */
typedef struct {
  size_t n, n_near, n_points;
  const int *column;
  const int *near;
  const double *weights;
  int n_threads;
} gp_voters;

/* mean [n_targets x n] of dense targets [n_targets x n_points]; 0 where a neighbour is none of the
 * points. */
int gp_vote_dense(const gp_voters *voters, size_t n_targets, const double *targets, double *mean);

/* Lists of candidates, latents (from 1, 0 = none) and affinities [length x n]. */
typedef struct {
  size_t length;
  int *latent;
  double *affinity;
} gp_lists;

/* Targets in slots, where latents and probabilities of a point follow those of the last one at
 * these steps. */
typedef struct {
  size_t n_slots, n_latents;
  const int *selected;
  const double *prob;
  size_t selected_step, prob_step;
  int is_packed; /* what counts of a point comes first, and what follows an empty slot is nothing */
} gp_slot_rows;

/* The same targets in rows: where they are, or packed so that all of a point lies together, without
 * what is 0, in so many doubles of room for each point. */
gp_slot_rows gp_view_rows(const gp_slots *slots);
size_t gp_packed_size(size_t n_slots);
void gp_pack_rows(const gp_slots *slots, size_t n_points, double *room);
gp_slot_rows gp_packed_rows(const gp_slots *slots, const double *room);

/* Of targets in slots the latents that neighbours have on, and their means: those of largest mean
 * where there are more than a list can hold, of equal ones those that are met first. Returns 0
 * where a latent is none of the n_latents, or a neighbour none of the points. Each thread has
 * 3 n_near n_slots ints and 2 n_near n_slots doubles of room, and `place` [n_latents] as above. */
int gp_vote_slots(const gp_voters *voters, const gp_slot_rows *targets, const gp_lists *lists,
                  int *room, double *value, int *place);

#endif
