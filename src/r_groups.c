/* Sums, directions and distances of groups of columns, for R. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "r_watch.h"

/* x / |x|. */
static void make_unit(size_t n, double *x) {
  double square = 0.0;
  for (size_t i = 0; i < n; i++) square += x[i] * x[i];
  const double length = fmax(sqrt(square), DBL_MIN);
  for (size_t i = 0; i < n; i++) x[i] /= length;
}

/* The column of x [n_dims x n] with the largest square, into `longest`. */
static void take_longest(size_t n_dims, size_t n, const double *x, double *longest) {
  double largest = -1.0;
  for (size_t j = 0; j < n; j++) {
    double square = 0.0;
    for (size_t d = 0; d < n_dims; d++) square += x[d + j * n_dims] * x[d + j * n_dims];
    if (!(square > largest)) continue;
    largest = square;
    memcpy(longest, x + j * n_dims, n_dims * sizeof *longest);
  }
}

/* For a direction at most. */
#define MOST_ITERATIONS 1000
/* Numbers that an iteration goes through without a question: far below a tenth of a second. */
#define FEW_NUMBERS ((size_t)1 << 16)

/* The unit vector along which n columns of x vary most, by power iteration from the longest; `next`
 * [n_dims] is scratch. */
static void find_direction(size_t n_dims, size_t n, const double *x, const double *weight,
                           int n_times, double *next, double *direction) {
  memset(direction, 0, n_dims * sizeof *direction);
  take_longest(n_dims, n, x, direction);
  for (int i = n_times; i > 0; i--) {
    make_unit(n_dims, direction);
    memset(next, 0, n_dims * sizeof *next);
    for (size_t j = 0; j < n; j++) {
      const double *column = x + j * n_dims;
      double score = 0.0;
      for (size_t d = 0; d < n_dims; d++) score += column[d] * direction[d];
      if (weight) score *= weight[j];
      for (size_t d = 0; d < n_dims; d++) next[d] += score * column[d];
    }
    memcpy(direction, next, n_dims * sizeof *next);
    if (n * n_dims > FEW_NUMBERS) ask_watch();
  }
  make_unit(n_dims, direction);
}

/* x [n_dims x n], weights [n] or NULL, sizes of groups of columns that follow one another, number
 * of iterations -> directions [n_dims x groups] of each. */
SEXP r_leading_directions(SEXP x, SEXP weights, SEXP sizes, SEXP n_iterations) {
  const size_t n_dims = (size_t)n_rows_of(x, "x"), n = (size_t)n_cols_of(x, "x");
  const double *value = view_matrix(x, -1, -1, "x");
  const double *weight =
      weights == R_NilValue ? NULL : view_doubles(weights, (R_xlen_t)n, "weights");
  const R_xlen_t n_groups = Rf_xlength(sizes);
  const int *size = view_ints(sizes, n_groups, "sizes");
  const int n_times = view_count(n_iterations, 0, "n_iterations");
  if (n_times > MOST_ITERATIONS)
    raise_error("model", "%d iterations are more than a direction takes.", n_times);
  size_t left = n;
  for (R_xlen_t g = 0; g < n_groups; g++) {
    if (size[g] < 0 || (size_t)size[g] > left)
      raise_error("model", "Groups have more than %.0f columns.", (double)n);
    left -= (size_t)size[g];
  }
  double *next = (double *)R_alloc(n_dims, sizeof *next);
  const SEXP result = PROTECT(Rf_allocMatrix(REALSXP, (int)n_dims, (int)n_groups));
  size_t from = 0;
  for (R_xlen_t g = 0; g < n_groups; g++) {
    find_direction(n_dims, (size_t)size[g], value + from * n_dims, weight ? weight + from : NULL,
                   n_times, next, REAL(result) + (size_t)g * n_dims);
    ask_watch();
    from += (size_t)size[g];
  }
  UNPROTECT(1);
  return result;
}

/* Groups or pairs of columns, each one of `most`. */
static const int *view_members(SEXP x, R_xlen_t n, int most, const char *what) {
  const int *member = view_ints(x, n, what);
  for (R_xlen_t i = 0; i < n; i++) {
    if (member[i] < 1 || member[i] > most)
      raise_error("model", "`%s` names %d of %d.", what, member[i], most);
  }
  return member;
}

/* x [k x n], the group of each column, number of groups -> sums [k x groups]. */
SEXP r_group_sums(SEXP x, SEXP group, SEXP n_groups) {
  const size_t n_rows = (size_t)n_rows_of(x, "x"), n = (size_t)n_cols_of(x, "x");
  const double *value = view_matrix(x, -1, -1, "x");
  const int n_sums = view_count(n_groups, 0, "n_groups");
  const int *of = view_members(group, (R_xlen_t)n, n_sums, "group");
  const SEXP result = PROTECT(Rf_allocMatrix(REALSXP, (int)n_rows, n_sums));
  double *sums = REAL(result);
  memset(sums, 0, n_rows * (size_t)n_sums * sizeof *sums);
  for (size_t j = 0; j < n; j++) {
    double *sum = sums + (size_t)(of[j] - 1) * n_rows;
    for (size_t d = 0; d < n_rows; d++) sum[d] += value[d + j * n_rows];
  }
  UNPROTECT(1);
  return result;
}

/* y [n_dims x N], points [n] (from 1), and of each the centre that it is compared with: its number
 * among mu and sd [n_dims x K] -> squared distances [n] in units of sd. */
SEXP r_centre_distances(SEXP y, SEXP points, SEXP centre, SEXP mu, SEXP sd) {
  const size_t n_dims = (size_t)n_rows_of(y, "y");
  const R_xlen_t n = Rf_xlength(points);
  const double *data = view_matrix(y, -1, -1, "y");
  const int *point = view_members(points, n, n_cols_of(y, "y"), "points");
  const int *at = view_members(centre, n, n_cols_of(mu, "mu"), "centre");
  const double *means = view_matrix(mu, (R_xlen_t)n_dims, -1, "mu");
  const double *spread = view_matrix(sd, (R_xlen_t)n_dims, n_cols_of(mu, "mu"), "sd");
  const SEXP result = PROTECT(Rf_allocVector(REALSXP, n));
  for (R_xlen_t i = 0; i < n; i++) {
    const double *x = data + (size_t)(point[i] - 1) * n_dims;
    const size_t from = (size_t)(at[i] - 1) * n_dims;
    long double sum = 0;
    for (size_t d = 0; d < n_dims; d++) {
      const double step = (x[d] - means[from + d]) / spread[from + d], square = step * step;
      sum += square;
    }
    REAL(result)[i] = (double)sum;
  }
  UNPROTECT(1);
  return result;
}
