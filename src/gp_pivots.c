/* Incomplete Cholesky factorisation with pivots (Fine and Scheinberg, 2001), several at a time: the
 * next pivots are foretold from the points of largest residual alone, their columns made together
 * by matrix products, and each is kept only if all residuals agree that it is the one to take. So
 * the pivots are those of the method that takes one at a time. Called by r_gp_basis.c. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp_basis.h"
#include "vector_math.h"

/* Pivots foretold at most at a time, and the points among which they are sought. */
#define BATCH 32
#define MAX_CANDIDATES 256
#define MIN_CANDIDATES 64

/* Residuals are equal where they differ by less than so many units of the last digit of the
 * largest of K, and by less than this share of them. */
#define EQUAL_DIGITS 256.0
#define EQUAL_SHARE 1e-6

typedef struct {
  size_t n_candidates;     /* most */
  double *left;            /* [n_points] diagonal of K - L L' */
  double smallest;         /* below it a residual is rounding */
  double equal;            /* residuals that differ by less are equal */
  double *gram;            /* [n_points x BATCH] */
  double *rows;            /* [max(n_candidates, BATCH) x max_rank] of L */
  double *corner;          /* [BATCH x BATCH] */
  double *column, *shrunk; /* [n_candidates] kernel column, residuals of candidates */
  double *small;           /* [n_candidates x BATCH] factor among candidates */
  double *points, *chosen; /* gathered coordinates of candidates and of pivots */
} workspace;

static size_t count_candidates(size_t n_points) {
  const size_t n = n_points / 32;
  return n < MIN_CANDIDATES ? MIN_CANDIDATES : n > MAX_CANDIDATES ? MAX_CANDIDATES : n;
}

/* Coordinates of gathered points: as given, shifted, and embedded. */
static size_t gathered_scratch(size_t n_dims, size_t n) {
  return 2 * n_dims * n + gp_points_scratch(n_dims, n);
}

size_t gp_pivots_scratch(size_t n_dims, size_t n_points, size_t max_rank) {
  const size_t m = count_candidates(n_points);
  return n_points * (1 + BATCH) + m * max_rank + BATCH * BATCH + m * (2 + BATCH) +
         gathered_scratch(n_dims, m) + gathered_scratch(n_dims, BATCH);
}

static workspace split_scratch(const gp_pivoting *job) {
  const size_t n_dims = job->cross->kernel->n_dims, n = job->all.n;
  const size_t m = count_candidates(n);
  workspace w = {.n_candidates = m, .left = job->scratch};
  w.gram = w.left + n;
  w.rows = w.gram + n * BATCH;
  w.corner = w.rows + m * job->max_rank;
  w.column = w.corner + BATCH * BATCH;
  w.shrunk = w.column + m;
  w.small = w.shrunk + m;
  w.points = w.small + m * BATCH;
  w.chosen = w.points + gathered_scratch(n_dims, m);
  return w;
}

/* Copies of some of the points. */
static gp_points gather_points(const gp_pivoting *job, size_t n, const size_t *at,
                               double *scratch) {
  const size_t n_dims = job->cross->kernel->n_dims;
  double *x = scratch, *shifted = x + n * n_dims;
  for (size_t i = 0; i < n; i++) {
    memcpy(x + i * n_dims, job->all.x + at[i] * n_dims, n_dims * sizeof *x);
    memcpy(shifted + i * n_dims, job->all.shifted + at[i] * n_dims, n_dims * sizeof *x);
  }
  return gp_points_at(n_dims, n, x, shifted, shifted + n * n_dims);
}

/* Rows of L so far, into rows [n x rank]. */
static void gather_rows(const gp_pivoting *job, size_t n, const size_t *at, double *rows) {
  for (size_t q = 0; q < job->rank; q++) {
    const double *column = job->factor + q * job->all.n;
    for (size_t i = 0; i < n; i++) rows[i + q * n] = column[at[i]];
  }
}

static double largest_of(size_t n, const double *x) {
  double largest = x[0];
  for (size_t i = 1; i < n; i++) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

/* From where on residuals equal the largest. On grids many would be the same but for rounding,
 * which must not choose among them: by other pivots the likelihood is another. */
static double equal_from(const workspace *w, double largest) {
  const double share = EQUAL_SHARE * largest;
  return largest - (w->equal < share ? w->equal : share);
}

/* Residuals, of which those from `top` on are equal. */
typedef struct {
  const double *left;
  double top;
} residuals;

/* Whether point i comes later in the order of residuals; of equals the first comes first. */
static int is_later(residuals x, size_t i, size_t j) {
  const double of_i = x.left[i] < x.top ? x.left[i] : x.top;
  const double of_j = x.left[j] < x.top ? x.left[j] : x.top;
  return of_i < of_j || (of_i == of_j && i > j);
}

/* Restores the heap from its root: the root is the latest of all. */
static void sift(residuals x, size_t n, size_t *heap, size_t root) {
  for (size_t child; (child = 2 * root + 1) < n; root = child) {
    if (child + 1 < n && is_later(x, heap[child + 1], heap[child])) child++;
    if (!is_later(x, heap[child], heap[root])) return;
    const size_t swap = heap[root];
    heap[root] = heap[child];
    heap[child] = swap;
  }
}

static int by_number(const void *a, const void *b) {
  const size_t i = *(const size_t *)a, j = *(const size_t *)b;
  return i < j ? -1 : i > j;
}

/* The points of largest residual, in ascending order, and the largest residual of the others, at
 * most `top`, -1 where there are none. */
static size_t find_candidates(size_t n_points, residuals x, size_t most, size_t *at,
                              double *largest_other) {
  size_t n = n_points <= most ? n_points : most + 1;
  for (size_t i = 0; i < n; i++) at[i] = i;
  *largest_other = -1.0;
  if (n == n_points) return n;
  for (size_t i = n / 2; i-- > 0;) sift(x, n, at, i);
  for (size_t i = n; i < n_points; i++) {
    if (is_later(x, i, at[0])) continue;
    at[0] = i;
    sift(x, n, at, 0);
  }
  *largest_other = x.left[at[0]] < x.top ? x.left[at[0]] : x.top;
  at[0] = at[--n];
  qsort(at, n, sizeof *at, by_number);
  return n;
}

GPS_CLONES static void finish_column(size_t n, double pivot, double *column, double *left) {
  const double factor = 1.0 / sqrt(pivot);
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    column[i] *= factor;
    const double rest = left[i] - column[i] * column[i];
    left[i] = rest > 0.0 ? rest : 0.0;
  }
}

/* The first that is at least `least`, of which there is one. */
static size_t first_from(const double *x, double least) {
  size_t i = 0;
  while (x[i] < least) i++;
  return i;
}

/* The next pivots as far as the candidates can tell: until one of the other points, whose residuals
 * can only fall, may be larger. Returns how many, at least 1, into `next`. */
static size_t foretell(const gp_pivoting *job, const workspace *w, size_t most, size_t *next) {
  size_t at[MAX_CANDIDATES + 1];
  double largest_other;
  const residuals left = {w->left, equal_from(w, largest_of(job->all.n, w->left))};
  const size_t m = find_candidates(job->all.n, left, w->n_candidates, at, &largest_other);
  const gp_points candidates = gather_points(job, m, at, w->points);
  for (size_t i = 0; i < m; i++) w->shrunk[i] = w->left[at[i]];
  gather_rows(job, m, at, w->rows);
  for (size_t r = 0; r < most; r++) {
    const double largest = largest_of(m, w->shrunk);
    if (r > 0 && (largest < largest_other || largest <= w->smallest)) return r;
    const size_t best = first_from(w->shrunk, equal_from(w, largest));
    next[r] = at[best];
    if (r + 1 == most) break;
    const gp_points one = gather_points(job, 1, next + r, w->chosen);
    double *column = w->small + r * m;
    gp_cross_values(job->cross, &candidates, &one, r > 0, w->column, column, m);
    for (size_t q = 0; q < job->rank; q++) {
      add_multiple(m, -w->rows[best + q * m], w->rows + q * m, column);
    }
    for (size_t q = 0; q < r; q++) {
      add_multiple(m, -w->small[best + q * m], w->small + q * m, column);
    }
    finish_column(m, w->shrunk[best], column, w->shrunk);
    w->shrunk[best] = 0.0;
  }
  return most;
}

/* corner [n x n]: what is left of K at the foretold pivots -> its Cholesky factor. Returns how many
 * columns of it are more than rounding. */
static size_t factor_corner(const workspace *w, size_t n) {
  double *c = w->corner;
  for (size_t j = 0; j < n; j++) {
    for (size_t q = 0; q < j; q++) {
      for (size_t i = j; i < n; i++) c[i + j * n] -= c[i + q * n] * c[j + q * n];
    }
    if (!(c[j + j * n] > w->smallest)) return j;
    const double factor = 1.0 / sqrt(c[j + j * n]);
    for (size_t i = j; i < n; i++) c[i + j * n] *= factor;
  }
  return n;
}

/* Columns of L at the pivots `next`; returns how many could be made. */
static size_t make_columns(const gp_pivoting *job, const workspace *w, size_t n_next,
                           const size_t *next) {
  const size_t n = job->all.n, rank = job->rank;
  double *columns = job->factor + rank * n;
  const gp_points pivots = gather_points(job, n_next, next, w->chosen);
  gp_cross_values(job->cross, &job->all, &pivots, rank > 0, w->gram, columns, n);
  gather_rows(job, n_next, next, w->rows);
  if (rank > 0) {
    linalg_product('N', 'T', n, n_next, rank, -1.0, job->factor, w->rows, 1.0, columns);
  }
  for (size_t j = 0; j < n_next; j++) {
    for (size_t i = 0; i < n_next; i++) w->corner[i + j * n_next] = columns[next[i] + j * n];
  }
  const size_t made = factor_corner(w, n_next);
  if (made > 0) linalg_trsm('R', 'T', n, made, w->corner, n_next, columns, n);
  return made;
}

/* left <- left - column^2; returns the sum, and in `largest` the largest. */
GPS_CLONES static double take_out(size_t n, const double *column, double *left, double *largest) {
  double sum = 0.0, most = 0.0;
#pragma omp simd reduction(+ : sum) reduction(max : most)
  for (size_t i = 0; i < n; i++) {
    const double rest = left[i] - column[i] * column[i];
    left[i] = rest > 0.0 ? rest : 0.0;
    sum += left[i];
    most = left[i] > most ? left[i] : most;
  }
  *largest = most;
  return sum;
}

/* Whether `at` is the first of the points whose residuals are at least `least`. */
GPS_CLONES static int is_first_from(const double *left, double least, size_t at) {
  int n_before = 0;
  if (left[at] < least) return 0;
#pragma omp simd reduction(+ : n_before)
  for (size_t i = 0; i < at; i++) n_before += left[i] >= least;
  return n_before == 0;
}

/* Takes the columns of pivots `next` one by one, as long as each is the one to take; returns
 * whether the factorisation is finished. */
static int take_pivots(gp_pivoting *job, const workspace *w, size_t n_next, const size_t *next) {
  const size_t n = job->all.n;
  double largest = 0.0;
  for (size_t r = 0; r < n_next; r++) {
    double *column = job->factor + job->rank * n;
    if (r > 0 && !is_first_from(w->left, equal_from(w, largest), next[r])) return 0;
    for (size_t q = 0; q < job->rank; q++) column[job->pivot[q]] = 0.0;
    w->left[next[r]] = 0.0;
    job->pivot[job->rank++] = next[r];
    job->trace[job->rank] = take_out(n, column, w->left, &largest);
    if (job->trace[job->rank] <= job->tol * job->trace[0] || largest <= w->smallest) return 1;
  }
  return job->rank == job->max_rank;
}

gps_status gp_pivots_choose(gp_pivoting *job) {
  workspace w = split_scratch(job);
  size_t next[BATCH];
  double sum = 0.0;
  kernel_diagonal(job->cross->kernel, job->cross->theta, job->all.n, job->all.x, w.left);
  for (size_t i = 0; i < job->all.n; i++) sum += w.left[i];
  if (!isfinite(sum)) return GPS_NOT_FINITE;
  job->trace[0] = sum;
  job->rank = 0;
  const double largest = largest_of(job->all.n, w.left);
  w.smallest = (double)job->all.n * DBL_EPSILON * largest;
  w.equal = EQUAL_DIGITS * DBL_EPSILON * largest;
  int is_finished = !(largest > 0.0) || job->max_rank == 0;
  if (is_finished && job->max_rank > 0) {
    /* A kernel of zeros: any point stands for all. */
    job->pivot[job->rank++] = 0;
    job->trace[1] = 0.0;
    memset(job->factor, 0, job->all.n * sizeof *job->factor);
  }
  while (!is_finished) {
    const size_t left = job->max_rank - job->rank;
    if (gps_must_stop(job->cross->watch)) return GPS_INTERRUPTED;
    const size_t n_next = foretell(job, &w, left < BATCH ? left : BATCH, next);
    const size_t made = make_columns(job, &w, n_next, next);
    is_finished = made == 0 || take_pivots(job, &w, made, next);
  }
  return GPS_OK;
}
