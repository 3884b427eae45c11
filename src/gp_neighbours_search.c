/* The nearest neighbours of points, exactly. Inner products by BLAS say which pairs cannot be among
 * the nearest; of the others distances are made from differences of the points as they are given,
 * so that they do not depend on the order of points. Called by r_gp_neighbours.c. */
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

static void take_near(near_list *list, int point, double distance) {
  size_t at = list->n;
  if (list->n == list->n_near) {
    at--;
    if (!(distance < list->distance[at])) return;
  } else {
    list->n++;
  }
  /* Points come in the order of their numbers, so that an equal one stays before. */
  for (; at > 0 && distance < list->distance[at - 1]; at--) {
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
    double least = list->n < list->n_near ? -HUGE_VAL
                                          : kept - 0.5 * list->distance[list->n_near - 1];
    i = skip_far(gram, w->half + from, i, n, least);
    const size_t end = i + SCAN < n ? i + SCAN : n;
    for (; i < end; i++) {
      if (gram[i] - w->half[from + i] < least || (int)(from + i) == own) continue;
      take_near(list, (int)(from + i),
                scaled_distance(n_dims, search->x + (from + i) * n_dims, x, search->scale));
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
