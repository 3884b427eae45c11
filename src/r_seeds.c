/* Greedy k-means++ for R: seeds far apart, each the best of a few candidates. A candidate is held
 * against the seeds so far, and then only against the points that may be nearer to it: a point at
 * distance r of its seed s is no nearer to x where |x - s| is 2 r or more (Raff 2021, Exact
 * acceleration of k-means++ and k-means||, IJCAI). */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <R_ext/Random.h>

#include "linalg.h"
#include "r_watch.h"
#include "vector_math.h"

/* 2 r, squared; and how many times the points that a seed has on average are few. */
static const double exact_reach = 4;
static const size_t few_means = 16;

/* A point and its squared distance from the nearest seed. */
typedef struct {
  double distance;
  int point;
} entry;

/* The points of each seed, farthest first, are a piece of `entries`. They only ever leave for a new
 * seed, whose piece is then the last one. */
typedef struct {
  size_t n_dims, n_points, n_seeds, n_most, n_leaves, end;
  const double *x;       /* [n_dims x n_points] */
  const double *weight;  /* [n_points], or NULL: 1 each */
  double reach;          /* the square of 2 r times the share of it that is asked for */
  entry *entries;        /* [2 n_points], of which `end` are in use or have been */
  size_t *start, *size;  /* [n_most] */
  int *row;              /* [n_most] */
  double *seed, *square; /* [n_dims x n_most], [n_most] */
  double *sum; /* [2 n_leaves]: tree of sums of weighted distances, 1 the root, leaves at the end */
} seeding;

/* A point that may be the next seed, `n` entries that may be nearer to it and how far from it they
 * are, of which seeds they are and how many of each, and what the sum of distances would lose. */
typedef struct {
  int point;
  size_t n, n_lists;
  entry *entries;
  double *distance;
  size_t *list, *n_of;
  double gain;
} candidate;

static double weight_of(const seeding *s, size_t point) {
  return s->weight ? s->weight[point] : 1.0;
}

/* The point at which the sum of those up to it exceeds `at`, never one of distance 0. */
static int find_point(const seeding *s, double at) {
  size_t node = 1;
  while (node < s->n_leaves) {
    const double left = s->sum[2 * node];
    node *= 2;
    if (at < left || !(s->sum[node + 1] > 0)) continue;
    at -= left;
    node++;
  }
  return (int)(node - s->n_leaves);
}

/* trial [n_trials] <- points drawn by their distances, none twice; returns their number. */
static size_t draw_trials(const seeding *s, size_t n_trials, int *trial) {
  size_t n = 0;
  for (size_t j = 0; j < n_trials; j++) {
    const int point = find_point(s, unif_rand() * s->sum[1]);
    size_t i = 0;
    while (i < n && trial[i] != point) i++;
    trial[i] = point;
    n += i == n;
  }
  return n;
}

/* gap [n_seeds x n] <- squared distances of trials from seeds, less what rounding may have added.
 * x [n_dims x n] is scratch. */
static void find_gaps(const seeding *s, const int *trial, size_t n, double *x, double *gap) {
  const size_t n_dims = s->n_dims, k = s->n_seeds;
  const double less = 1 - 4 * DBL_EPSILON * (double)(n_dims + 4);
  for (size_t j = 0; j < n; j++) {
    scale_to(n_dims, 1.0, s->x + (size_t)trial[j] * n_dims, x + j * n_dims);
  }
  linalg_gemm('T', 'N', k, n, n_dims, -2.0, s->seed, n_dims, x, n_dims, 0.0, gap, k);
  for (size_t j = 0; j < n; j++) {
    const double own = dot_of(n_dims, x + j * n_dims, x + j * n_dims);
    for (size_t i = 0; i < k; i++) gap[i + j * k] += less * (s->square[i] + own);
  }
}

/* The entries of points that may be nearer to the candidate than to their seeds, whose squared
 * distances from it are gap [n_seeds], by a squared `reach`. Returns 0 once they exceed `most`. */
static int collect(const seeding *s, double reach, size_t most, const double *gap, candidate *c) {
  c->n = c->n_lists = 0;
  for (size_t k = 0; k < s->n_seeds; k++) {
    const entry *of = s->entries + s->start[k];
    if (s->size[k] == 0 || gap[k] >= reach * of[0].distance) continue;
    size_t n = 0;
    while (n < s->size[k] && gap[k] < reach * of[n].distance) {
      if (c->n == most) return 0;
      c->entries[c->n++] = of[n++];
    }
    c->list[c->n_lists] = k;
    c->n_of[c->n_lists++] = n;
  }
  return 1;
}

/* By the smaller reach only where the triangle inequality leaves more than a few: in few dimensions
 * and along surfaces it leaves few, and the angle at a seed is often small. */
static void collect_near(const seeding *s, const double *gap, candidate *c) {
  const int is_exact = !(s->reach < exact_reach);
  const size_t most = is_exact ? s->n_points : few_means * s->n_points / s->n_seeds;
  if (!collect(s, exact_reach, most, gap, c)) collect(s, s->reach, s->n_points, gap, c);
}

GPS_CLONES static void measure(const seeding *s, candidate *c) {
  const size_t n_dims = s->n_dims, ahead = 8;
  const double *own = s->x + (size_t)c->point * n_dims;
  c->gain = 0.0;
  for (size_t i = 0; i < c->n; i++) {
    if (i + ahead < c->n) {
      prefetch_doubles(s->x + (size_t)c->entries[i + ahead].point * n_dims, n_dims);
    }
    const size_t point = (size_t)c->entries[i].point;
    const double *x = s->x + point * n_dims;
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (size_t d = 0; d < n_dims; d++) sum += (x[d] - own[d]) * (x[d] - own[d]);
    c->distance[i] = sum;
    const double less = c->entries[i].distance - sum;
    if (less > 0) c->gain += weight_of(s, point) * less;
  }
}

/* Makes room for n entries at the end. */
static void close_ranks(seeding *s, size_t n) {
  if (s->end + n <= 2 * s->n_points) return;
  s->end = 0;
  for (size_t k = 0; k < s->n_seeds; k++) {
    for (size_t i = 0; i < s->size[k]; i++) s->entries[s->end + i] = s->entries[s->start[k] + i];
    s->start[k] = s->end;
    s->end += s->size[k];
  }
}

static int is_nearer(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->distance != y->distance) return x->distance < y->distance ? 1 : -1;
  return (x->point > y->point) - (x->point < y->point);
}

/* Squared distances below this have lost digits, by which a seed might not be held against itself
 * and be drawn again: they count as 0. */
#define LEAST_DISTANCE 1e-290

static void add_up(seeding *s, entry e) {
  size_t at = s->n_leaves + (size_t)e.point;
  s->sum[at] = e.distance < LEAST_DISTANCE ? 0 : weight_of(s, (size_t)e.point) * e.distance;
  while (at >>= 1) s->sum[at] = s->sum[2 * at] + s->sum[2 * at + 1];
}

/* Entries of a candidate that are nearer to it leave the pieces where they are, whose others close
 * ranks towards their ends; `moved` holds them, and their number is returned. */
static size_t take_nearer(seeding *s, const candidate *c, entry *moved) {
  size_t n_moved = 0, at = 0;
  for (size_t l = 0; l < c->n_lists; l++) {
    const size_t k = c->list[l], n = c->n_of[l];
    size_t to = n;
    for (size_t i = n; i-- > 0;) {
      entry e = c->entries[at + i];
      if (c->distance[at + i] < e.distance) {
        e.distance = c->distance[at + i];
        moved[n_moved++] = e;
      } else {
        s->entries[s->start[k] + --to] = e;
      }
    }
    s->start[k] += to;
    s->size[k] -= to;
    at += n;
  }
  return n_moved;
}

/* `moved` [n_points] is scratch. */
static void add_seed(seeding *s, const candidate *c, entry *moved) {
  const size_t k = s->n_seeds, n_dims = s->n_dims;
  const double *x = s->x + (size_t)c->point * n_dims;
  const size_t n = take_nearer(s, c, moved);
  qsort(moved, n, sizeof *moved, is_nearer);
  close_ranks(s, n);
  for (size_t i = 0; i < n; i++) {
    s->entries[s->end + i] = moved[i];
    add_up(s, moved[i]);
  }
  s->start[k] = s->end;
  s->size[k] = n;
  s->end += n;
  s->row[k] = c->point + 1;
  scale_to(n_dims, 1.0, x, s->seed + k * n_dims);
  s->square[k] = dot_of(n_dims, x, x);
  s->n_seeds++;
}

static candidate new_candidate(const seeding *s) {
  candidate c = {0};
  c.entries = (entry *)R_alloc(s->n_points, sizeof *c.entries);
  c.distance = (double *)R_alloc(s->n_points, sizeof *c.distance);
  c.list = (size_t *)R_alloc(s->n_most, sizeof *c.list);
  c.n_of = (size_t *)R_alloc(s->n_most, sizeof *c.n_of);
  return c;
}

static seeding new_seeding(SEXP x, SEXP weights, SEXP n_seeds, SEXP reach) {
  seeding s = {0};
  const int n_points = n_cols_of(x, "x");
  s.n_dims = (size_t)n_rows_of(x, "x");
  s.n_points = (size_t)n_points;
  s.n_most = (size_t)view_count(n_seeds, 1, "n_seeds");
  s.x = view_matrix(x, -1, n_points, "x");
  s.weight = weights == R_NilValue ? NULL : view_doubles(weights, n_points, "weights");
  s.reach = 4 * view_number(reach, "reach") * view_number(reach, "reach");
  s.entries = (entry *)R_alloc(2 * s.n_points, sizeof *s.entries);
  s.start = (size_t *)R_alloc(s.n_most, sizeof *s.start);
  s.size = (size_t *)R_alloc(s.n_most, sizeof *s.size);
  s.row = (int *)R_alloc(s.n_most, sizeof *s.row);
  s.seed = (double *)R_alloc(s.n_dims * s.n_most, sizeof *s.seed);
  s.square = (double *)R_alloc(s.n_most, sizeof *s.square);
  s.n_leaves = 1;
  while (s.n_leaves < s.n_points) s.n_leaves *= 2;
  s.sum = (double *)R_alloc(2 * s.n_leaves, sizeof *s.sum);
  for (size_t i = 0; i < 2 * s.n_leaves; i++) s.sum[i] = 0.0;
  return s;
}

/* The first seed, to which all points are nearest. */
static void begin_seeds(seeding *s, int first, candidate *c, entry *moved) {
  c->point = first;
  c->n = s->n_points;
  c->n_lists = 1;
  c->list[0] = 0;
  c->n_of[0] = c->n;
  s->end = s->size[0] = c->n;
  s->start[0] = 0;
  for (size_t i = 0; i < c->n; i++) c->entries[i] = (entry){HUGE_VAL, (int)i};
  measure(s, c);
  add_seed(s, c, moved);
}

static void draw_others(seeding *s, size_t n_trials, double seconds, candidate *best,
                        candidate *other, entry *moved) {
  int *trial = (int *)R_alloc(n_trials, sizeof *trial);
  double *x = (double *)R_alloc(s->n_dims * n_trials, sizeof *x);
  double *gap = (double *)R_alloc(s->n_most * n_trials, sizeof *gap);
  const double until = clock_seconds() + seconds;
  while (s->n_seeds < s->n_most && s->sum[1] > 0 && clock_seconds() < until) {
    ask_watch();
    const size_t n = draw_trials(s, n_trials, trial);
    find_gaps(s, trial, n, x, gap);
    for (size_t j = 0; j < n; j++) {
      other->point = trial[j];
      collect_near(s, gap + j * s->n_seeds, other);
      measure(s, other);
      if (j > 0 && !(other->gain > best->gain)) continue;
      const candidate kept = *best;
      *best = *other;
      *other = kept;
    }
    add_seed(s, best, moved);
  }
}

/* x [D x n], weights [n] (NULL: 1 each), how many seeds, the first one (1-based column), how many
 * candidates for each other, seconds that these may take, and `reach`: where there are many points
 * from whose seed, r away, a candidate is less than 2 r away, it is compared with those alone from
 * whose seed it is less than 2 r times reach away -> list(seeds, label, is_late): columns, fewer
 * than asked for where all points are at seeds or time is over, the number of the nearest one of
 * each column, and whether it was time. */
SEXP r_draw_seeds(SEXP x, SEXP weights, SEXP n_seeds, SEXP first, SEXP n_trials, SEXP reach,
                  SEXP seconds) {
  seeding s = new_seeding(x, weights, n_seeds, reach);
  candidate best = new_candidate(&s), other = new_candidate(&s);
  entry *moved = (entry *)R_alloc(s.n_points, sizeof *moved);
  const int own = view_count(first, 1, "first");
  if ((size_t)own > s.n_points) raise_error("model", "No column %d.", own);
  begin_seeds(&s, own - 1, &best, moved);
  GetRNGstate();
  draw_others(&s, (size_t)view_count(n_trials, 1, "n_trials"), view_number(seconds, "seconds"),
              &best, &other, moved);
  PutRNGstate();
  const char *const names[] = {"seeds", "label", "is_late"};
  const SEXP result = PROTECT(new_named_list(3, names));
  SET_VECTOR_ELT(result, 0, Rf_allocVector(INTSXP, (R_xlen_t)s.n_seeds));
  SET_VECTOR_ELT(result, 1, Rf_allocVector(INTSXP, (R_xlen_t)s.n_points));
  SET_VECTOR_ELT(result, 2, Rf_ScalarLogical(s.n_seeds < s.n_most && s.sum[1] > 0));
  int *seeds = INTEGER(VECTOR_ELT(result, 0)), *label = INTEGER(VECTOR_ELT(result, 1));
  for (size_t i = 0; i < s.n_points; i++) label[i] = 1;
  for (size_t k = 0; k < s.n_seeds; k++) {
    seeds[k] = s.row[k];
    for (size_t i = 0; i < s.size[k]; i++) label[s.entries[s.start[k] + i].point] = (int)k + 1;
  }
  UNPROTECT(1);
  return result;
}
