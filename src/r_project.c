/* Products of a model's columns with sparse data, and directions of residuals, for R. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "model_linear.h"
#include "r_model.h"

/* w [D x H], an open block with entries -> W'y [H x n]. */
SEXP r_project(SEXP w, SEXP block) {
  const double *columns = view_matrix(w, -1, -1, "W");
  const int n_dims = n_rows_of(w, "w"), n_latents = n_cols_of(w, "w");
  const double n_points = view_number(list_need(block, "n_points"), "n_points");
  const gps_sparse *sparse =
      read_sparse(list_need(block, "entries"),
                  view_number(list_need(block, "y_offset"), "y_offset"), n_points, n_dims);
  const SEXP result = PROTECT(Rf_allocMatrix(REALSXP, n_latents, (int)n_points));
  memset(REAL(result), 0, (size_t)Rf_xlength(result) * sizeof(double));
  linear_project(sparse, columns, (size_t)n_dims, (size_t)n_latents, (size_t)n_points,
                 REAL(result));
  UNPROTECT(1);
  return result;
}

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

/* Nobody is asked whether to stop. */
#define MOST_ITERATIONS 1000

/* x [n_dims x n], weights [n] or NULL, number of iterations -> unit vector [n_dims] along which the
 * columns vary most, by power iteration from the longest. */
SEXP r_leading_direction(SEXP x, SEXP weights, SEXP n_iterations) {
  const size_t n_dims = (size_t)n_rows_of(x, "x"), n = (size_t)n_cols_of(x, "x");
  const double *value = view_matrix(x, -1, -1, "x");
  const double *weight =
      weights == R_NilValue ? NULL : view_doubles(weights, (R_xlen_t)n, "weights");
  const int n_times = view_count(n_iterations, 0, "n_iterations");
  if (n_times > MOST_ITERATIONS)
    raise_error("model", "%d iterations are more than a direction takes.", n_times);
  double *next = (double *)R_alloc(n_dims, sizeof *next);
  const SEXP result = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)n_dims));
  double *direction = REAL(result);
  memset(direction, 0, n_dims * sizeof *direction);
  take_longest(n_dims, n, value, direction);
  for (int i = n_times; i > 0; i--) {
    make_unit(n_dims, direction);
    memset(next, 0, n_dims * sizeof *next);
    for (size_t j = 0; j < n; j++) {
      const double *column = value + j * n_dims;
      double score = 0.0;
      for (size_t d = 0; d < n_dims; d++) score += column[d] * direction[d];
      if (weight) score *= weight[j];
      for (size_t d = 0; d < n_dims; d++) next[d] += score * column[d];
    }
    memcpy(direction, next, n_dims * sizeof *next);
  }
  make_unit(n_dims, direction);
  UNPROTECT(1);
  return result;
}
