/* Products of a model's columns with sparse data, for R. */
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
