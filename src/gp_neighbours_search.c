/* The nearest neighbours of points: among all, or among those of the nearest cells. Inner products
 * by BLAS say which pairs cannot be among the nearest; of the others distances are made from
 * differences of the points as they are given, so that they do not depend on the order of points.
 * Called by r_gp_neighbours.c. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "gp_neighbours.h"
#include "vector_math.h"

/* Inner products at a time stay in the second-level cache. Threads share so much work at a time
 * that what it takes to wait for each other does not count. */
#define PANEL_POINTS 1024
#define PANEL_QUERIES 96
#define SHARED_PANELS 32
/* Products looked at together: most points are too far away. */
#define SCAN 16

typedef struct {
  double *mean, *origin; /* [n_dims] */
  double *z, *half;      /* points as products see them, and half of |z|^2, a little smaller */
  const int *number;     /* of the points, where they stand in another order than that; or NULL */
  double *z_query, *square_query;
  double *gram, *distance; /* [panel x PANEL_QUERIES], [n_near x PANEL_QUERIES] */
} workspace;

/* Points of a panel. */
static size_t panel_points(const gp_search *search) {
  const size_t most = search->n_threads > 1 ? PANEL_POINTS * SHARED_PANELS : PANEL_POINTS;
  return search->n_points < most ? search->n_points : most;
}

size_t gp_search_scratch(const gp_search *search) {
  const size_t n_dims = search->n_dims;
  return 2 * n_dims + (n_dims + 1) * (search->n_points + PANEL_QUERIES) +
         (panel_points(search) + search->n_near) * PANEL_QUERIES;
}

static workspace split_scratch(const gp_search *search, double *scratch) {
  const size_t n_dims = search->n_dims, n = search->n_points;
  workspace w = {.mean = scratch, .origin = scratch + n_dims};
  w.z = w.origin + n_dims;
  w.half = w.z + n_dims * n;
  w.z_query = w.half + n;
  w.square_query = w.z_query + n_dims * PANEL_QUERIES;
  w.gram = w.square_query + PANEL_QUERIES;
  w.distance = w.gram + panel_points(search) * PANEL_QUERIES;
  return w;
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
    for (int i = 0; i < SCAN; i++) n_near += !(gram[from + i] - half[from + i] < least);
    if (n_near > 0) return from;
  }
  return from;
}

/* The nearest points of one query so far, nearest first. */
typedef struct {
  int *near;
  double *distance;
  size_t n, n_near;
} near_list;

/* Whether a point comes before the one at place `at`: of equal ones that of smaller number. */
static int is_nearer(const near_list *list, size_t at, int point, double distance) {
  return distance < list->distance[at] ||
         (distance == list->distance[at] && point < list->near[at]);
}

static void take_near(near_list *list, int point, double distance) {
  size_t at = list->n;
  if (list->n == list->n_near) {
    at--;
    if (!is_nearer(list, at, point, distance)) return;
  } else {
    list->n++;
  }
  for (; at > 0 && is_nearer(list, at - 1, point, distance); at--) {
    list->distance[at] = list->distance[at - 1];
    list->near[at] = list->near[at - 1];
  }
  list->distance[at] = distance;
  list->near[at] = point;
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

static void shift_points(const gp_search *search, const workspace *w, size_t n, const double *x,
                         double factor, double *z, double *square) {
  const kernel_centre centre = {search->n_dims, w->origin, w->mean};
  kernel_shift(&centre, n, x, z);
  scale_points(search->n_dims, n, search->scale, factor, z, square);
}

static gps_status search_panel(const gp_search *search, const workspace *w,
                               const gp_queries *queries, size_t first, size_t width, int *near) {
  const size_t n_dims = search->n_dims, n_near = search->n_near;
  size_t n_held[PANEL_QUERIES] = {0};
  shift_points(search, w, width, queries->x + first * n_dims, 1.0, w->z_query, w->square_query);
  const size_t panel = panel_points(search);
  for (size_t from = 0; from < search->n_points; from += panel) {
    const size_t left = search->n_points - from, n = left < panel ? left : panel;
    if (gps_must_stop(search->watch)) return GPS_INTERRUPTED;
    linalg_gemm('T', 'N', n, width, n_dims, 1.0, w->z + from * n_dims, n_dims, w->z_query, n_dims,
                0.0, w->gram, n);
#pragma omp parallel for num_threads(search->n_threads) schedule(static)
    for (int q = 0; q < (int)width; q++) {
      near_list list = {near + (size_t)q * n_near, w->distance + (size_t)q * n_near, n_held[q],
                        n_near};
      scan_points(search, w, queries, first + (size_t)q, from, n, w->gram + (size_t)q * n,
                  w->square_query[q], &list);
      n_held[q] = list.n;
    }
  }
  for (size_t q = 0; q < width; q++) {
    for (size_t i = n_held[q]; i < n_near; i++) near[i + q * n_near] = -1;
  }
  return GPS_OK;
}

gps_status gp_search_near(const gp_search *search, const gp_queries *queries, int *near,
                          double *scratch) {
  const workspace w = split_scratch(search, scratch);
  kernel_centre centre = {search->n_dims, w.origin, w.mean};
  if (search->n_near == 0 || search->n_points == 0) return GPS_OK;
  kernel_find_centre(search->n_points, search->x, &centre);
  shift_points(search, &w, search->n_points, search->x,
               0.5 * (1.0 - share_of_error(search->n_dims)), w.z, w.half);
  for (size_t first = 0; first < queries->n; first += PANEL_QUERIES) {
    const size_t left = queries->n - first, width = left < PANEL_QUERIES ? left : PANEL_QUERIES;
    const gps_status status =
        search_panel(search, &w, queries, first, width, near + first * search->n_near);
    if (status != GPS_OK) return status;
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

/* Queries at a time: a cell has few points. */
static size_t cell_queries(const gp_search *search) {
  return search->n_threads > 1 ? PANEL_QUERIES * SHARED_PANELS : PANEL_QUERIES;
}

size_t gp_cells_scratch(const gp_search *search, size_t n_queries) {
  const size_t n_dims = search->n_dims, width = cell_queries(search);
  return 2 * n_dims + (n_dims + 1) * (search->n_points + width) + PANEL_POINTS * width +
         search->n_near * n_queries;
}

/* Points in the order of cells. */
static workspace sort_points(const gp_search *search, const gp_cells *cells, double *scratch) {
  const size_t n_dims = search->n_dims, n = search->n_points, width = cell_queries(search);
  workspace w = {.mean = scratch, .origin = scratch + n_dims, .number = cells->order};
  w.z = w.origin + n_dims;
  w.half = w.z + n_dims * n;
  w.z_query = w.half + n;
  w.square_query = w.z_query + n_dims * width;
  w.gram = w.square_query + width;
  w.distance = w.gram + PANEL_POINTS * width;
  kernel_centre centre = {n_dims, w.origin, w.mean};
  kernel_find_centre(n, search->x, &centre);
  for (size_t i = 0; i < n; i++) {
    memcpy(w.z + i * n_dims, search->x + (size_t)cells->order[i] * n_dims, n_dims * sizeof *w.z);
  }
  shift_points(search, &w, n, w.z, 0.5 * (1.0 - share_of_error(n_dims)), w.z, w.half);
  return w;
}

/* Some queries `ask` [width] against the points of one cell, `from` .. before `to`. */
static void search_cell(const gp_search *search, const workspace *w, const gp_queries *queries,
                        size_t from, size_t to, const int *ask, size_t width, int *near,
                        int *n_held) {
  const size_t n_dims = search->n_dims, n_near = search->n_near;
  for (size_t q = 0; q < width; q++) {
    memcpy(w->z_query + q * n_dims, queries->x + (size_t)ask[q] * n_dims,
           n_dims * sizeof *w->z_query);
  }
  shift_points(search, w, width, w->z_query, 1.0, w->z_query, w->square_query);
  for (size_t n; from < to; from += n) {
    n = to - from < PANEL_POINTS ? to - from : PANEL_POINTS;
    linalg_gemm('T', 'N', n, width, n_dims, 1.0, w->z + from * n_dims, n_dims, w->z_query, n_dims,
                0.0, w->gram, n);
#pragma omp parallel for num_threads(search->n_threads) schedule(static)
    for (int q = 0; q < (int)width; q++) {
      const size_t query = (size_t)ask[q];
      near_list list = {near + query * n_near, w->distance + query * n_near, (size_t)n_held[query],
                        n_near};
      scan_points(search, w, queries, query, from, n, w->gram + (size_t)q * n, w->square_query[q],
                  &list);
      n_held[query] = (int)list.n;
    }
  }
}

gps_status gp_search_cells(const gp_search *search, const gp_queries *queries,
                           const gp_cells *cells, int *near, int *n_held, double *scratch) {
  const size_t n_near = search->n_near, n_cells = cells->n_cells, most = cell_queries(search);
  if (n_near == 0 || search->n_points == 0) return GPS_OK;
  const workspace w = sort_points(search, cells, scratch);
  memset(n_held, 0, queries->n * sizeof *n_held);
  for (size_t visit = 0; visit < 2 * n_cells; visit++) {
    const size_t from = (size_t)cells->first[visit % n_cells];
    const size_t to = (size_t)cells->first[visit % n_cells + 1];
    const size_t end = (size_t)cells->first_ask[visit + 1];
    if (gps_must_stop(search->watch)) return GPS_INTERRUPTED;
    for (size_t at = (size_t)cells->first_ask[visit]; at < end; at += most) {
      search_cell(search, &w, queries, from, to, cells->ask + at, end - at < most ? end - at : most,
                  near, n_held);
    }
  }
  for (size_t q = 0; q < queries->n; q++) {
    for (size_t i = (size_t)n_held[q]; i < n_near; i++) near[i + q * n_near] = -1;
  }
  return GPS_OK;
}
