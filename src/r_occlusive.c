/* The hand-crafted scan of model E for R. The scores are in model_occlusive_scan.c. */
#include "model_occlusive.h"
#include "r_model.h"
#include "threads.h"

/* native, list(shape, inputs, lengths), y, block, n_threads -> affinity [n_latents x n]. */
SEXP r_occlusive_scan(SEXP native, SEXP problem_list, SEXP y, SEXP block_list, SEXP n_threads) {
  const gps_model *model = find_model(native);
  const SEXP shape = list_need(problem_list, "shape");
  const r_block block = read_block(y, block_list, view_ints(shape, 2, "shape")[0]);
  const gps_problem problem = read_problem(model, shape, list_need(problem_list, "inputs"),
                                           list_need(problem_list, "lengths"), block, 0);
  const occlusive it = occlusive_of(&problem);
  const int threads = view_int(n_threads, "n_threads"), n_points = block.n_points;
  const size_t n_dims = (size_t)problem.shape.n_dims, n_latents = (size_t)problem.shape.n_latents;
  const size_t n_doubles = occlusive_scan_scratch(&problem), n_ints = occlusive_scan_ints(&problem);
  occlusive_scan_plan *plan = (occlusive_scan_plan *)R_alloc((size_t)it.n_components, sizeof *plan);
  int *order = (int *)R_alloc((size_t)(it.n_rows * it.n_cols), sizeof *order);
  for (int h = 0; h < it.n_components; h++) occlusive_plan_scan(&problem, h, order, plan + h);
  double *scratch = (double *)R_alloc(n_doubles * (size_t)threads, sizeof *scratch);
  int *ints = (int *)R_alloc(n_ints * (size_t)threads, sizeof *ints);
  const SEXP result = PROTECT(Rf_allocMatrix(REALSXP, (int)n_latents, n_points));
  double *affinity = REAL(result);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int n = 0; n < n_points; n++) {
    const size_t thread = (size_t)thread_number();
    const gps_point point = {n, block.y + (size_t)n * n_dims, NULL, NULL};
    /* Gains of finite data are finite: nothing in here fails. */
    occlusive_scan(&problem, &point, plan, affinity + n_latents * (size_t)n,
                   scratch + n_doubles * thread, ints + n_ints * thread);
  }
  UNPROTECT(1);
  return result;
}
