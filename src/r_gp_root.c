/* .Call entry of the root of the targets, through which alone they enter the likelihood. */
#include <float.h>
#include <string.h>

#include "r_gp.h"

/* Rows of U' targets, U the eigenvectors of gram = targets targets' that are not rounding. */
static SEXP root_by_outputs(const double *target, double *gram, size_t n_targets, size_t n) {
  double *values = alloc_doubles(n_targets, 1);
  need_ok(linalg_eigen_sym(n_targets, gram, values,
                           alloc_doubles(linalg_eigen_sym_scratch(n_targets), 1)),
          "The targets' products");
  size_t rank = 1;
  while (rank < n_targets && values[n_targets - 1 - rank] > DBL_EPSILON * values[n_targets - 1]) {
    rank++;
  }
  const SEXP root = PROTECT(Rf_allocMatrix(REALSXP, (int)rank, (int)n));
  linalg_gemm('T', 'N', rank, n, n_targets, 1.0, gram + (n_targets - rank) * n_targets, n_targets,
              target, n_targets, 0.0, REAL(root), rank);
  UNPROTECT(1);
  return root;
}

/* gram [n x n] -> its pivoted Cholesky factor of this rank. */
static gps_status factor_gram(size_t n, double *gram, int *pivot, size_t *rank) {
  return linalg_cholesky_pivoted(n, gram, n, -1.0, pivot, rank, alloc_doubles(n, 2));
}

/* L' of the pivoted Cholesky factorisation of targets' targets, for more targets than points. */
static SEXP root_by_points(const double *target, size_t n_targets, size_t n) {
  double *gram = alloc_doubles(n, n);
  int *pivot = alloc_ints(n);
  size_t rank;
  linalg_syrk('T', n, n_targets, 1.0, target, n_targets, 0.0, gram, n);
  need_ok(factor_gram(n, gram, pivot, &rank), "The targets' products");
  if (rank == 0) rank = 1;
  const SEXP root = PROTECT(Rf_allocMatrix(REALSXP, (int)rank, (int)n));
  for (size_t i = 0; i < n; i++) {
    double *column = REAL(root) + (size_t)pivot[i] * rank;
    for (size_t r = 0; r < rank; r++) column[r] = r <= i ? gram[i + r * n] : 0.0;
  }
  UNPROTECT(1);
  return root;
}

static int has_full_rank(const double *gram, size_t n_targets) {
  double *factor = alloc_doubles(n_targets, n_targets);
  size_t rank;
  memcpy(factor, gram, n_targets * n_targets * sizeof *factor);
  return factor_gram(n_targets, factor, alloc_ints(n_targets), &rank) == GPS_OK &&
         rank == n_targets;
}

/* A matrix of fewest rows with root'root = targets'targets; the targets themselves where that is
 * they. */
SEXP r_gp_root(SEXP targets) {
  const size_t n = (size_t)n_cols_of(targets, "targets"),
               n_targets = count_targets(targets, "targets");
  const double *target = view_matrix(targets, -1, -1, "targets");
  if (n_targets == 1) return targets;
  if (n_targets > n) return root_by_points(target, n_targets, n);
  double *gram = alloc_doubles(n_targets, n_targets);
  linalg_syrk('N', n_targets, n, 1.0, target, n_targets, 0.0, gram, n_targets);
  return has_full_rank(gram, n_targets) ? targets : root_by_outputs(target, gram, n_targets, n);
}
