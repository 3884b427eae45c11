/* The nearest neighbours of all points among themselves. Points are cut into leaves, few that lie
 * together; the triangle inequality tells which leaves cannot hold a neighbour. Where the data are
 * clustered hardly any others are left; where they are not, all pairs are compared by products,
 * leaf by leaf as well, since of points that lie together the nearest are found early. Either way
 * the neighbours are exact. Called by r_gp_neighbours.c. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "gp_neighbours.h"
#include "gp_neighbours_list.h"
#include "vector_math.h"

/* Cuts above a leaf at most, and rounds that make a cut better. */
#define MOST_CUTS 64
#define CUT_ROUNDS 4

/* Places that are compared together. */
#define LANES 8

/* Leaves that are searched before the others, and the share of all pairs up to which comparing
 * points one by one takes less time than all of them by products. */
#define SAMPLED_LEAVES 16
#define WORTH_PAIRS 0.2

static double distance_between(const gp_search *search, const double *a, const double *b) {
  return scaled_distance(search->n_dims, a, b, search->scale);
}

static const double *point_of(const gp_search *search, int number) {
  return search->x + (size_t)number * search->n_dims;
}

/* ---- leaves ---- */

/* The point of some that is farthest from a place. */
static const double *find_farthest(const gp_search *search, const int *points, size_t n,
                                   const double *from) {
  const double *farthest = point_of(search, points[0]);
  double largest = -1.0;
  for (size_t i = 0; i < n; i++) {
    const double *x = point_of(search, points[i]);
    const double distance = distance_between(search, x, from);
    if (distance > largest) {
      largest = distance;
      farthest = x;
    }
  }
  return farthest;
}

/* Points that are nearer to the first of two centres [n_dims x 2] before the others; how many. */
static size_t part_points(const gp_search *search, int *points, size_t n, const double *centres) {
  size_t low = 0, high = n;
  while (low < high) {
    const double *x = point_of(search, points[low]);
    if (distance_between(search, x, centres) <=
        distance_between(search, x, centres + search->n_dims)) {
      low++;
    } else {
      const int other = points[--high];
      points[high] = points[low];
      points[low] = other;
    }
  }
  return low;
}

static void mean_points(const gp_search *search, const int *points, size_t n, double *mean) {
  const size_t n_dims = search->n_dims;
  memset(mean, 0, n_dims * sizeof *mean);
  for (size_t i = 0; i < n; i++) {
    const double *x = point_of(search, points[i]);
    for (size_t d = 0; d < n_dims; d++) mean[d] += x[d];
  }
  for (size_t d = 0; d < n_dims; d++) mean[d] /= (double)n;
}

/* Two groups of points that lie together, by Lloyd's iterations from two that are far apart: how
 * many are in the first, which come first. Centres [n_dims x 2] are scratch. */
static size_t cut_points(const gp_search *search, int *points, size_t n, double *centres) {
  const size_t n_dims = search->n_dims;
  const double *one = find_farthest(search, points, n, point_of(search, points[0]));
  const double *other = find_farthest(search, points, n, one);
  memcpy(centres, one, n_dims * sizeof *centres);
  memcpy(centres + n_dims, other, n_dims * sizeof *centres);
  size_t n_first = 0;
  for (int round = 0; round < CUT_ROUNDS; round++) {
    n_first = part_points(search, points, n, centres);
    if (n_first == 0 || n_first == n) return n / 2;
    mean_points(search, points, n_first, centres);
    mean_points(search, points + n_first, n - n_first, centres + n_dims);
  }
  return n_first;
}

static void add_leaf(const gp_search *search, gp_leaves *leaves, size_t from, size_t to) {
  const size_t leaf = leaves->n_leaves++;
  double *centre = leaves->centre + leaf * search->n_dims, farthest = 0.0;
  mean_points(search, leaves->order + from, to - from, centre);
  for (size_t i = from; i < to; i++) {
    const double distance = distance_between(search, point_of(search, leaves->order[i]), centre);
    if (!(distance <= farthest)) farthest = distance;
  }
  leaves->radius[leaf] = sqrt(farthest);
  leaves->first[leaf + 1] = (int)to;
  leaves->panel[leaf + 1] = leaves->panel[leaf] + (int)((to - from + LANES - 1) / LANES);
}

static void cut_leaves(const gp_search *search, gp_leaves *leaves, size_t from, size_t to,
                       int n_cuts, double *centres) {
  while (to - from > GP_LEAF_POINTS) {
    const size_t n = to - from;
    const size_t n_first =
        n_cuts < MOST_CUTS ? cut_points(search, leaves->order + from, n, centres) : n / 2;
    n_cuts++;
    cut_leaves(search, leaves, from, from + n_first, n_cuts, centres);
    from += n_first;
  }
  add_leaf(search, leaves, from, to);
}

size_t gp_leaves_scratch(const gp_search *search) {
  return (search->n_dims + 1) * search->n_points + 2 * search->n_dims;
}

gp_leaves gp_cut_leaves(const gp_search *search, int *room, double *scratch) {
  const size_t n = search->n_points;
  gp_leaves leaves = {.order = room,
                      .first = room + n,
                      .panel = room + 2 * n + 1,
                      .radius = scratch,
                      .centre = scratch + n};
  for (size_t i = 0; i < n; i++) leaves.order[i] = (int)i;
  leaves.first[0] = leaves.panel[0] = 0;
  if (n > 0) cut_leaves(search, &leaves, 0, n, 0, leaves.centre + n * search->n_dims);
  return leaves;
}

/* ---- panels ---- */

/* Places in panels of LANES, in which they lie dimension by dimension: of each leaf its points, and
 * of all leaves their centres. What fills the last panel is never looked at. */
typedef struct {
  const gp_leaves *leaves;
  double *points, *centres;
  double *gap; /* [n_leaves x GP_LEAF_POINTS]: of points from the centres, squared */
} gp_panels;

static size_t count_panels(size_t n) { return (n + LANES - 1) / LANES; }

static size_t leaf_size(const gp_leaves *leaves, size_t leaf) {
  return (size_t)(leaves->first[leaf + 1] - leaves->first[leaf]);
}

static void fill_panel(size_t n_dims, size_t lane, const double *x, double *panel) {
  for (size_t d = 0; d < n_dims; d++) panel[d * LANES + lane % LANES] = x[d];
}

/* Squared distances of x from the places in a panel. */
GPS_CLONES static void panel_distances(size_t n_dims, const double *panel, const double *x,
                                       const double *scale, double *distance) {
  double sum[LANES] = {0.0};
  for (size_t d = 0; d < n_dims; d++) {
#pragma omp simd
    for (size_t lane = 0; lane < LANES; lane++) {
      const double difference = (panel[d * LANES + lane] - x[d]) * scale[d];
      sum[lane] += difference * difference;
    }
  }
  memcpy(distance, sum, sizeof sum);
}

size_t gp_panels_scratch(const gp_search *search, const gp_leaves *leaves) {
  const size_t n_panels = (size_t)leaves->panel[leaves->n_leaves];
  const size_t n_centres = count_panels(leaves->n_leaves);
  return ((n_panels + n_centres) * search->n_dims + n_centres * GP_LEAF_POINTS) * LANES;
}

static gp_panels fill_panels(const gp_search *search, const gp_leaves *leaves, double *scratch) {
  const size_t n_dims = search->n_dims, size = LANES * n_dims, n_leaves = leaves->n_leaves;
  const size_t n_centres = count_panels(n_leaves);
  gp_panels panels = {.leaves = leaves, .gap = scratch};
  panels.centres = panels.gap + n_centres * LANES * GP_LEAF_POINTS;
  panels.points = panels.centres + n_centres * size;
  memset(panels.centres, 0, (n_centres + (size_t)leaves->panel[n_leaves]) * size * sizeof *scratch);
  for (size_t leaf = 0; leaf < n_leaves; leaf++) {
    fill_panel(n_dims, leaf % LANES, leaves->centre + leaf * n_dims,
               panels.centres + leaf / LANES * size);
    const int *order = leaves->order + leaves->first[leaf];
    for (size_t i = 0; i < leaf_size(leaves, leaf); i++) {
      fill_panel(n_dims, i % LANES, point_of(search, order[i]),
                 panels.points + ((size_t)leaves->panel[leaf] + i / LANES) * size);
    }
  }
  return panels;
}

/* ---- search ---- */

/* A squared distance errs by less than this share of itself. */
static double share_of_error(size_t n_dims) { return 2.0 * ((double)n_dims + 8.0) * DBL_EPSILON; }

/* What is still to be looked at for one point: its list, and what cannot come into it: squared
 * distances above `most`. */
typedef struct {
  int own;
  const double *x, *gap; /* gap [n_leaves]: from the centres of leaves, squared */
  near_list list;
  double most, reach; /* `reach`: the root of `most` */
} point_query;

static void set_reach(const gp_search *search, point_query *query) {
  const near_list *list = &query->list;
  const double error = share_of_error(search->n_dims);
  query->most =
      list->n < list->n_near ? HUGE_VAL : list->distance[list->n_near - 1] * (1.0 + 4.0 * error);
  query->reach = sqrt(query->most);
}

static void visit_leaf(const gp_search *search, const gp_panels *panels, size_t leaf,
                       point_query *query) {
  const gp_leaves *leaves = panels->leaves;
  const int *order = leaves->order + leaves->first[leaf];
  const size_t n = leaf_size(leaves, leaf), size = LANES * search->n_dims;
  const double *panel = panels->points + (size_t)leaves->panel[leaf] * size;
  for (size_t first = 0; first < n; first += LANES, panel += size) {
    double distance[LANES];
    panel_distances(search->n_dims, panel, query->x, search->scale, distance);
    for (size_t i = first; i < n && i < first + LANES; i++) {
      if (distance[i - first] > query->most || order[i] == query->own) continue;
      take_near(&query->list, order[i],
                distance_between(search, point_of(search, order[i]), query->x));
      set_reach(search, query);
    }
  }
}

/* Whether a leaf, whose centre is in this squared distance, has no point that could come into the
 * list. */
static int is_far(const gp_leaves *leaves, size_t leaf, double gap, const point_query *query) {
  const double sum = leaves->radius[leaf] + query->reach;
  return gap > sum * sum;
}

/* A leaf for all those of some points that it may have neighbours of: how many pairs are compared.
 */
static size_t visit_for_all(const gp_search *search, const gp_panels *panels, size_t leaf,
                            point_query *queries, size_t n) {
  size_t n_visits = 0;
  for (size_t q = 0; q < n; q++) {
    if (is_far(panels->leaves, leaf, queries[q].gap[leaf], &queries[q])) continue;
    visit_leaf(search, panels, leaf, &queries[q]);
    n_visits++;
  }
  return n_visits * leaf_size(panels->leaves, leaf);
}

/* The neighbours of all points of a leaf, in leaves next to it first: how many pairs are compared.
 */
static size_t search_leaf(const gp_search *search, const gp_panels *panels, size_t leaf, int *near,
                          double *distance) {
  const gp_leaves *leaves = panels->leaves;
  const size_t n_near = search->n_near, n_dims = search->n_dims, n_leaves = leaves->n_leaves;
  const size_t n = leaf_size(leaves, leaf), step_of_gaps = count_panels(n_leaves) * LANES;
  point_query queries[GP_LEAF_POINTS];
  for (size_t q = 0; q < n; q++) {
    const int own = leaves->order[(size_t)leaves->first[leaf] + q];
    queries[q] =
        (point_query){.own = own,
                      .x = point_of(search, own),
                      .list = {near + (size_t)own * n_near, distance + q * n_near, 0, n_near}};
    double *gap = panels->gap + q * step_of_gaps;
    queries[q].gap = gap;
    for (size_t at = 0; at < n_leaves; at += LANES)
      panel_distances(n_dims, panels->centres + at * n_dims, queries[q].x, search->scale, gap + at);
    set_reach(search, &queries[q]);
  }
  size_t n_compared = n * n_leaves + visit_for_all(search, panels, leaf, queries, n);
  for (size_t step = 1; step < n_leaves; step++) {
    if (leaf + step < n_leaves)
      n_compared += visit_for_all(search, panels, leaf + step, queries, n);
    if (leaf >= step) n_compared += visit_for_all(search, panels, leaf - step, queries, n);
  }
  for (size_t q = 0; q < n; q++) {
    for (size_t at = queries[q].list.n; at < n_near; at++) queries[q].list.near[at] = -1;
  }
  return n_compared;
}

/* Whether few leaves are so near to others that looking at these takes less time than all pairs. */
static int is_worth(const gp_search *search, const gp_panels *panels, int *near, double *distance) {
  const size_t n_leaves = panels->leaves->n_leaves;
  const size_t n_sampled = n_leaves < SAMPLED_LEAVES ? n_leaves : SAMPLED_LEAVES;
  double n_compared = 0.0, n_pairs = 0.0;
  for (size_t i = 0; i < n_sampled; i++) {
    const size_t leaf = i * n_leaves / n_sampled;
    n_compared += (double)search_leaf(search, panels, leaf, near, distance);
    n_pairs += (double)leaf_size(panels->leaves, leaf) * (double)search->n_points;
  }
  return n_compared <= WORTH_PAIRS * n_pairs;
}

gps_status gp_search_leaves(const gp_search *search, const gp_leaves *leaves, int *near,
                            double *distance, double *scratch, int *is_done) {
  const gp_panels panels = fill_panels(search, leaves, scratch);
  *is_done = is_worth(search, &panels, near, distance);
  for (size_t leaf = 0; leaf < leaves->n_leaves && *is_done; leaf++) {
    if (gps_must_stop(search->watch)) return GPS_INTERRUPTED;
    search_leaf(search, &panels, leaf, near, distance);
  }
  return GPS_OK;
}
