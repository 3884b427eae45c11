/* The nearest neighbours of points: among all, or among those of the nearest cells. Inner products
 * by BLAS say which pairs cannot be among the nearest; of the others distances are made from
 * differences of the points as they are given, so that they do not depend on the order of points.
 * Called by r_gp_neighbours.c. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "gp_neighbours.h"
#include "gp_neighbours_list.h"
#include "vector_math.h"

/* Inner products at a time stay in the second-level cache. There is one thread: of so little work
 * at a time others would wait for each other longer than they help, and more at a time would be out
 * of the cache, which costs twice the time. */
#define PANEL_POINTS 1024
#define PANEL_QUERIES GP_NEAR_LISTS
/* Products looked at together: most points are too far away. */
#define SCAN 16

typedef struct {
  double *mean, *origin; /* [n_dims] */
  double *z, *half;      /* points as products see them, and half of |z|^2, a little smaller */
  const int *number;     /* of the points, where they stand in another order than that; or NULL */
  double *z_query, *square_query;
  double *gram, *distance; /* [PANEL_POINTS x PANEL_QUERIES], [n_near x lists] */
} workspace;

size_t gp_search_scratch(const gp_search *search, size_t n_lists) {
  const size_t n_dims = search->n_dims, n = search->n_points + PANEL_QUERIES;
  return 2 * n_dims + (n_dims + 1) * n + PANEL_POINTS * PANEL_QUERIES + search->n_near * n_lists;
}

/* A squared distance from inner products errs by less than this share of |z_i|^2 + |z_j|^2. */
static double share_of_error(size_t n_dims) { return 4.0 * ((double)n_dims + 4.0) * DBL_EPSILON; }

/* z <- shifted points times scale, `square` their squares times `factor`. */
GPS_CLONES static void scale_points(size_t n_dims, size_t n, const double *scale, double factor,
                                    double *z, double *square) {
  for (size_t j = 0; j < n; j++) {
    double *point = z + j * n_dims, sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (size_t d = 0; d < n_dims; d++) {
      point[d] *= scale[d];
      sum += point[d] * point[d];
    }
    square[j] = factor * sum;
  }
}

/* The first of the points from .. n - 1, in steps of SCAN, of which one may be near enough: what is
 * not a number may be, too. */
GPS_CLONES static size_t skip_far(const double *gram, const double *half, size_t from, size_t n,
                                  double least) {
  for (; from + SCAN <= n; from += SCAN) {
    int n_near = 0;
    for (size_t i = 0; i < SCAN; i++) n_near += !(gram[from + i] - half[from + i] < least);
    if (n_near > 0) return from;
  }
  return from;
}

/* Points [from, from + n) against one query, whose products with them are `gram`. */
static void scan_points(const gp_search *search, const workspace *w, const gp_queries *queries,
                        size_t query, size_t from, size_t n, const double *gram, double square,
                        near_list *list) {
  const size_t n_dims = search->n_dims;
  const double *x = queries->x + query * n_dims;
  const double kept = 0.5 * (1.0 - share_of_error(n_dims)) * square;
  const int own = queries->own ? queries->own[query] : -1;
  if (queries->is_before && (size_t)own < from + n) n = (size_t)own > from ? (size_t)own - from : 0;
  for (size_t i = 0; i < n;) {
    double least =
        list->n < list->n_near ? -HUGE_VAL : kept - 0.5 * list->distance[list->n_near - 1];
    i = skip_far(gram, w->half + from, i, n, least);
    const size_t end = i + SCAN < n ? i + SCAN : n;
    for (; i < end; i++) {
      const int number = w->number ? w->number[from + i] : (int)(from + i);
      if (gram[i] - w->half[from + i] < least || number == own) continue;
      take_near(list, number,
                scaled_distance(n_dims, search->x + (size_t)number * n_dims, x, search->scale));
      if (list->n == list->n_near) least = kept - 0.5 * list->distance[list->n_near - 1];
    }
  }
}

/* z [n_dims x n] <- columns `number` of x, or where that is NULL the first n. */
static void gather_columns(size_t n_dims, size_t n, const double *x, const int *number, double *z) {
  for (size_t i = 0; i < n; i++) {
    const size_t at = number ? (size_t)number[i] : i;
    memcpy(z + i * n_dims, x + at * n_dims, n_dims * sizeof *z);
  }
}

/* Points z as products see them. */
static void shift_points(const gp_search *search, const workspace *w, size_t n, double factor,
                         double *z, double *square) {
  const kernel_centre centre = {search->n_dims, w->origin, w->mean};
  kernel_shift(&centre, n, z, z);
  scale_points(search->n_dims, n, search->scale, factor, z, square);
}

/* Points of the search in its room, in the order of `number`, unless NULL. */
static workspace place_points(const gp_search *search, const int *number, double *scratch) {
  const size_t n_dims = search->n_dims, n = search->n_points;
  workspace w = {.mean = scratch, .origin = scratch + n_dims, .number = number};
  w.z = w.origin + n_dims;
  w.half = w.z + n_dims * n;
  w.z_query = w.half + n;
  w.square_query = w.z_query + n_dims * PANEL_QUERIES;
  w.gram = w.square_query + PANEL_QUERIES;
  w.distance = w.gram + PANEL_POINTS * PANEL_QUERIES;
  kernel_centre centre = {n_dims, w.origin, w.mean};
  kernel_find_centre(n, search->x, &centre);
  gather_columns(n_dims, n, search->x, number, w.z);
  shift_points(search, &w, n, 0.5 * (1.0 - share_of_error(n_dims)), w.z, w.half);
  return w;
}

/* What was found so far for all queries, or for those that are asked alone, in their order. */
typedef struct {
  int *near;        /* [n_near x queries] */
  int *n_held;      /* [queries], or [asked] */
  double *distance; /* [n_near x queries], or [n_near x asked] */
  int is_of_asked;
} near_lists;

/* Queries `ask` [width] against the points from .. before `to`. */
static gps_status search_points(const gp_search *search, const workspace *w,
                                const gp_queries *queries, const int *ask, size_t width,
                                size_t from, size_t to, const near_lists *lists) {
  const size_t n_dims = search->n_dims, n_near = search->n_near;
  gather_columns(n_dims, width, queries->x, ask, w->z_query);
  shift_points(search, w, width, 1.0, w->z_query, w->square_query);
  for (size_t n; from < to; from += n) {
    n = to - from < PANEL_POINTS ? to - from : PANEL_POINTS;
    if (gps_must_stop(search->watch)) return GPS_INTERRUPTED;
    linalg_product('T', 'N', n, width, n_dims, 1.0, w->z + from * n_dims, w->z_query, 0.0, w->gram);
    for (size_t q = 0; q < width; q++) {
      const size_t query = (size_t)ask[q], at = lists->is_of_asked ? q : query;
      near_list list = {lists->near + query * n_near, lists->distance + at * n_near,
                        (size_t)lists->n_held[at], n_near};
      scan_points(search, w, queries, query, from, n, w->gram + q * n, w->square_query[q], &list);
      lists->n_held[at] = (int)list.n;
    }
  }
  return GPS_OK;
}

/* -1 where there are no more, in the list of a query that holds n. */
static void end_list(size_t n_near, size_t query, int n, int *near) {
  for (size_t i = (size_t)n; i < n_near; i++) near[i + query * n_near] = -1;
}

gps_status gp_search_near(const gp_search *search, const gp_queries *queries, const int *order,
                          int *near, double *scratch) {
  const size_t n = search->n_points, n_near = search->n_near;
  if (n_near == 0 || n == 0) return GPS_OK;
  const workspace w = place_points(search, order, scratch);
  for (size_t first = 0; first < queries->n; first += PANEL_QUERIES) {
    const size_t left = queries->n - first, width = left < PANEL_QUERIES ? left : PANEL_QUERIES;
    const size_t own = order ? first : 0;
    int ask[PANEL_QUERIES], n_held[PANEL_QUERIES] = {0};
    const near_lists lists = {near, n_held, w.distance, 1};
    for (size_t q = 0; q < width; q++) ask[q] = order ? order[first + q] : (int)(first + q);
    gps_status status = search_points(search, &w, queries, ask, width, own, n, &lists);
    if (status == GPS_OK && own > 0)
      status = search_points(search, &w, queries, ask, width, 0, own, &lists);
    if (status != GPS_OK) return status;
    for (size_t q = 0; q < width; q++) end_list(n_near, (size_t)ask[q], n_held[q], near);
  }
  return GPS_OK;
}

/* ---- by cells ---- */

void gp_sort_cells(size_t n, const int *cell, size_t n_cells, int *first, int *order) {
  memset(first, 0, (n_cells + 1) * sizeof *first);
  for (size_t i = 0; i < n; i++) first[cell[i] + 1]++;
  for (size_t c = 0; c < n_cells; c++) first[c + 1] += first[c];
  for (size_t i = 0; i < n; i++) order[first[cell[i]]++] = (int)i;
  memmove(first + 1, first, n_cells * sizeof *first);
  first[0] = 0;
}

gps_status gp_search_cells(const gp_search *search, const gp_queries *queries,
                           const gp_cells *cells, int *near, int *n_held, double *scratch) {
  const size_t n_cells = cells->n_cells, most = PANEL_QUERIES;
  if (search->n_near == 0 || search->n_points == 0) return GPS_OK;
  const workspace w = place_points(search, cells->order, scratch);
  const near_lists lists = {near, n_held, w.distance, 0};
  memset(n_held, 0, queries->n * sizeof *n_held);
  for (size_t visit = 0; visit < 2 * n_cells; visit++) {
    const size_t from = (size_t)cells->first[visit % n_cells];
    const size_t to = (size_t)cells->first[visit % n_cells + 1];
    const size_t end = (size_t)cells->first_ask[visit + 1];
    for (size_t at = (size_t)cells->first_ask[visit]; at < end; at += most) {
      const gps_status status = search_points(search, &w, queries, cells->ask + at,
                                              end - at < most ? end - at : most, from, to, &lists);
      if (status != GPS_OK) return status;
    }
  }
  for (size_t q = 0; q < queries->n; q++) end_list(search->n_near, q, n_held[q], near);
  return GPS_OK;
}
