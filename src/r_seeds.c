/* One step of greedy k-means++ for R: what each of a few candidates would leave of the squared
 * distances to the nearest seed. */
#include "linalg.h"
#include "r_shell.h"
#include "vector_math.h"

/* Products [n] of columns of known squares with a trial of square `own` <- their squared distances
 * from it, where these are less than the old ones, else those; returns their weighted sum. */
GPS_CLONES static double keep_nearer(size_t n, const double *square, double own, const double *old,
                                     const double *times, double *products) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) {
    double value = (square[i] - 2 * products[i]) + own;
    value = value < 0 ? 0 : value;
    value = value > old[i] ? old[i] : value;
    products[i] = value;
    sum += times ? times[i] * value : value;
  }
  return sum;
}

/* x [D x n], its columns' squares [n], nearest [n] (distances to the seeds so far), weights [n]
 * (NULL: 1 each), trials [m] (1-based columns) -> list(best, distances, nearer): which trial leaves
 * least, distances with it, and the columns [any] to which it is nearer than the seeds so far. */
SEXP r_seed_trials(SEXP x, SEXP square, SEXP nearest, SEXP weights, SEXP trials) {
  const int n_dims = n_rows_of(x, "x"), n_points = n_cols_of(x, "x"),
            n_trials = (int)Rf_xlength(trials);
  const size_t d = (size_t)n_dims, n = (size_t)n_points, m = (size_t)n_trials;
  const double *data = view_matrix(x, n_dims, n_points, "x");
  const double *squares = view_doubles(square, n_points, "square");
  const double *old = view_doubles(nearest, n_points, "nearest");
  const double *times = weights == R_NilValue ? NULL : view_doubles(weights, n_points, "weights");
  const int *trial = view_ints(trials, n_trials, "trials");
  if (n_trials < 1) raise_error("model", "There must be at least one trial.");
  double *chosen = (double *)R_alloc(d * m, sizeof *chosen);
  double *distance = (double *)R_alloc(n * m, sizeof *distance);
  for (size_t j = 0; j < m; j++) {
    if (trial[j] < 1 || trial[j] > n_points) raise_error("model", "No column %d.", trial[j]);
    for (size_t i = 0; i < d; i++) chosen[i + j * d] = data[i + ((size_t)trial[j] - 1) * d];
  }
  linalg_gemm('T', 'N', n, m, d, 1, data, d, chosen, d, 0, distance, n);
  size_t best = 0;
  double least = -1;
  for (size_t j = 0; j < m; j++) {
    const double sum = keep_nearer(n, squares, squares[trial[j] - 1], old, times, distance + j * n);
    if (least >= 0 && sum >= least) continue;
    least = sum;
    best = j;
  }
  const char *const names[] = {"best", "distances", "nearer"};
  const SEXP result = PROTECT(new_named_list(3, names));
  SET_VECTOR_ELT(result, 0, Rf_ScalarInteger((int)best + 1));
  double *kept = hang_doubles(result, 1, n_points);
  int n_nearer = 0;
  for (size_t i = 0; i < n; i++) {
    kept[i] = distance[best * n + i];
    n_nearer += kept[i] < old[i];
  }
  SET_VECTOR_ELT(result, 2, Rf_allocVector(INTSXP, n_nearer));
  int *nearer = INTEGER(VECTOR_ELT(result, 2));
  for (size_t i = 0; i < n; i++) {
    if (kept[i] < old[i]) *nearer++ = (int)i + 1;
  }
  UNPROTECT(1);
  return result;
}
