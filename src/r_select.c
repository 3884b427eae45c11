/* Selection and screening for R. The rules are in select.c and screen.c. */
#include "screen.h"

#include <string.h>

#include <R_ext/Utils.h>

#include "r_model.h"

/* list(seed = two integers, start, iteration) */
static gps_source read_source(SEXP stream) {
  const int *seed = view_ints(list_need(stream, "seed"), 2, "seed");
  const gps_source source = {{(uint32_t)seed[0], (uint32_t)seed[1]},
                             (uint32_t)view_int(list_need(stream, "start"), "start"),
                             (uint32_t)view_int(list_need(stream, "iteration"), "iteration")};
  return source;
}

static void to_one_based(int *selected, size_t n) {
  for (size_t i = 0; i < n; i++) selected[i]++;
}

/* affinity [H x n], n_selected, share of explorers, stream, number of the first row, threads ->
 * selected [n_selected x n], 1-based. */
SEXP r_select(SEXP affinity, SEXP n_selected, SEXP share, SEXP stream, SEXP first_row,
              SEXP n_threads) {
  const double *value = view_matrix(affinity, -1, -1, "affinity");
  const int n_latents = n_rows_of(affinity), n_points = n_cols_of(affinity);
  const int n_slots = view_int(n_selected, "n_selected");
  if (n_slots < 1 || n_slots > n_latents)
    raise_error("model", "Cannot select %d of %d latents.", n_slots, n_latents);
  const gps_source source = read_source(stream);
  const size_t first = (size_t)view_number(first_row, "first_row");
  const SEXP result = PROTECT(Rf_allocMatrix(INTSXP, n_slots, n_points));
  size_t bad_point = 0;
  const gps_status status =
      select_latents(value, n_latents, (size_t)n_points, n_slots, view_number(share, "explore"),
                     &source, first, view_int(n_threads, "n_threads"), INTEGER(result), &bad_point);
  if (status != GPS_OK) raise_status(status, "Selection by affinity", first + bad_point);
  to_one_based(INTEGER(result), (size_t)n_slots * (size_t)n_points);
  UNPROTECT(1);
  return result;
}

/* native, list(shape, inputs, lengths), y, block, affinity [H x n] or NULL, kept [n_slots x n] or
 * NULL, n_slots, list(n_propose, n_explore, is_greedy, share, is_one_hot), stream, n_threads ->
 * selected [n_slots x n], 1-based. */
SEXP r_screen(SEXP native, SEXP problem_list, SEXP y, SEXP block_list, SEXP affinity, SEXP kept,
              SEXP n_selected, SEXP screen_list, SEXP stream, SEXP n_threads) {
  const gps_model *model = find_model(native);
  const SEXP shape = list_need(problem_list, "shape");
  const r_block block = read_block(y, block_list, view_ints(shape, 2, "shape")[0]);
  const gps_problem problem = read_problem(model, shape, list_need(problem_list, "inputs"),
                                           list_need(problem_list, "lengths"), block, 0);
  const int n_slots = view_int(n_selected, "n_selected"), n_latents = problem.shape.n_latents;
  const gps_screen screen = {view_int(list_need(screen_list, "n_propose"), "n_propose"),
                             view_int(list_need(screen_list, "n_explore"), "n_explore"),
                             view_int(list_need(screen_list, "is_greedy"), "is_greedy"),
                             view_number(list_need(screen_list, "share"), "share")};
  if (screen.n_propose < 1 || screen.n_explore < 0 || screen.n_propose > 1e6 ||
      screen.n_explore > 1e6) {
    raise_error("argument",
                "A screen may propose 1 to 1e6 latents and explore 0 to 1e6, not %d and %d.",
                screen.n_propose, screen.n_explore);
  }
  const int is_one_hot = view_int(list_need(screen_list, "is_one_hot"), "is_one_hot");
  const double *value =
      affinity == R_NilValue ? NULL : view_matrix(affinity, n_latents, block.n_points, "affinity");
  const int *last = kept == R_NilValue ? NULL : read_slots(kept, n_slots, block.n_points);
  const gps_source source = read_source(stream);
  const int threads = view_int(n_threads, "n_threads"), n_points = block.n_points;
  const size_t model_scratch =
      model->scratch_size(&problem, &(gps_states)SCREEN_LARGEST_PROBE(n_slots));
  double *scratch = (double *)R_alloc(
      screen_scratch(&screen, n_slots, model_scratch) * (size_t)threads, sizeof *scratch);
  int *ints = (int *)R_alloc(screen_scratch_ints(&screen, n_slots) * (size_t)threads, sizeof *ints);
  const SEXP result = PROTECT(Rf_allocMatrix(INTSXP, n_slots, n_points));
  int *selected = INTEGER(result);
  const screen_job job = {model, &problem, &screen, &source,    block.y,
                          value, last,     n_slots, is_one_hot, model_scratch};
  size_t bad_point = 0;
  const gps_status status = screen_points(&job, threads, selected, scratch, ints, &bad_point);
  if (status != GPS_OK) raise_status(status, "Screening", problem.first_row + bad_point);
  to_one_based(selected, (size_t)n_slots * (size_t)n_points);
  UNPROTECT(1);
  return result;
}

/* selected [n_slots x n] 1-based (0 = empty), prob_on of the same shape, n_latents -> targets
 * [n_latents x n], 0 where a latent is not selected. */
SEXP r_dense_targets(SEXP selected, SEXP prob_on, SEXP n_latents) {
  const int n_slots = n_rows_of(selected), n_points = n_cols_of(selected);
  const size_t n_rows = (size_t)view_int(n_latents, "n_latents");
  const double *prob = view_matrix(prob_on, n_slots, n_points, "prob_on");
  const int *slot = view_ints(selected, (R_xlen_t)n_slots * n_points, "selected");
  const SEXP result = PROTECT(Rf_allocMatrix(REALSXP, (int)n_rows, n_points));
  double *target = REAL(result);
  memset(target, 0, n_rows * (size_t)n_points * sizeof *target);
  for (size_t n = 0; n < (size_t)n_points; n++) {
    for (size_t i = n * (size_t)n_slots; i < (n + 1) * (size_t)n_slots; i++) {
      if (slot[i] < 0 || (size_t)slot[i] > n_rows) {
        raise_error("model", "`selected` names latent %d of %.0f.", slot[i], (double)n_rows);
      }
      if (slot[i] > 0) target[(size_t)slot[i] - 1 + n * n_rows] = prob[i];
    }
  }
  UNPROTECT(1);
  return result;
}
