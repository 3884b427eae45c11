/* Rankings for R that need no learning, sums over slots, and turns. */
#include <stdint.h>
#include <string.h>

#include "infer.h"
#include "r_model.h"

/* Gains of all points of a block in the first slice: far below a tenth of a second. */
#define FIRST_SLICE ((size_t)1 << 18)

/* native, list(shape, inputs, lengths), y, block, n_threads -> affinity [n_latents x n]: log joint
 * of the state in which a latent is on alone, shared term and all. */
SEXP r_rank_alone(SEXP native, SEXP problem_list, SEXP y, SEXP block_list, SEXP n_threads) {
  const gps_model *model = find_model(native);
  const SEXP shape = list_need(problem_list, "shape");
  const r_block block = read_block(y, block_list, view_ints(shape, 2, "shape")[0]);
  const gps_problem problem = read_problem(model, shape, list_need(problem_list, "inputs"),
                                           list_need(problem_list, "lengths"), block, 1);
  if (model->gain == NULL) raise_error("model", "The model has no `gain`, by which it would rank.");
  const size_t n_latents = (size_t)problem.shape.n_latents, n_points = (size_t)block.n_points;
  const int threads =
      threads_for(n_threads, (double)n_points * (double)n_latents * problem.shape.n_dims);
  const gps_states one = {.n_slots = 1, .max_active = 1, .n_states = 1};
  const size_t length = model->scratch_size(&problem, &one);
  int *latent = (int *)R_alloc(n_latents, sizeof *latent);
  for (size_t h = 0; h < n_latents; h++) latent[h] = (int)h;
  const SEXP result = PROTECT(Rf_allocMatrix(REALSXP, problem.shape.n_latents, block.n_points));
  const alone_job job = {.model = model,
                         .problem = &problem,
                         .y = block.y,
                         .latent = latent,
                         .affinity = REAL(result),
                         .scratch = (double *)R_alloc(length * (size_t)threads, sizeof(double)),
                         .scratch_length = length,
                         .n_threads = threads};
  size_t slice = FIRST_SLICE / n_latents + 1, bad_point = 0;
  for (size_t from = 0; from < n_points;) {
    const double began = clock_seconds();
    const size_t to = slice < n_points - from ? from + slice : n_points;
    const gps_status status = infer_alone(&job, from, to, &bad_point);
    if (status != GPS_OK) raise_status(status, "Ranking", block.first_row + bad_point);
    ask_watch();
    slice = adapt_slice(slice, clock_seconds() - began);
    from = to;
  }
  UNPROTECT(1);
  return result;
}

/* latent [n] 1-based (0 = none), value [n], n_latents -> sums [n_latents] of the values of each. */
SEXP r_latent_sums(SEXP latent, SEXP value, SEXP n_latents) {
  const R_xlen_t n = Rf_xlength(latent);
  const int n_sums = view_count(n_latents, 1, "n_latents"), *at = view_ints(latent, n, "latent");
  const double *x = view_doubles(value, n, "value");
  const SEXP result = PROTECT(Rf_allocVector(REALSXP, n_sums));
  double *sum = REAL(result);
  memset(sum, 0, (size_t)n_sums * sizeof *sum);
  for (R_xlen_t i = 0; i < n; i++) {
    if (at[i] < 0 || at[i] > n_sums) raise_error("model", "Latent %d of %d.", at[i], n_sums);
    if (at[i] > 0) sum[at[i] - 1] += x[i];
  }
  UNPROTECT(1);
  return result;
}

/* The n_kept most probable latents of one point, ascending; those of hardly any probability leave
 * slots empty. prob_on [n_latents]. */
static void thin_point(const double *prob_on, int n_latents, int n_kept, int *selected,
                       double *kept) {
  double bar = GPS_NEGLIGIBLE;
  int n = 0;
  for (int h = 0; h < n_latents; h++) {
    if (!(prob_on[h] > bar)) continue;
    if (n == n_kept) {
      int least = 0;
      for (int i = 1; i < n; i++) least = kept[i] < kept[least] ? i : least;
      n--;
      memmove(kept + least, kept + least + 1, (size_t)(n - least) * sizeof *kept);
      memmove(selected + least, selected + least + 1, (size_t)(n - least) * sizeof *selected);
    }
    selected[n] = h + 1;
    kept[n++] = prob_on[h];
    if (n < n_kept) continue;
    bar = kept[0];
    for (int i = 1; i < n; i++) bar = kept[i] < bar ? kept[i] : bar;
  }
  for (; n < n_kept; n++) {
    selected[n] = 0;
    kept[n] = 0;
  }
}

/* prob_on [n_latents x n], n_kept -> list(selected [n_kept x n] 1-based, prob_on [n_kept x n]). */
SEXP r_thin_slots(SEXP prob_on, SEXP n_kept) {
  const int n_latents = n_rows_of(prob_on, "prob_on"), n_points = n_cols_of(prob_on, "prob_on");
  const int n = view_count(n_kept, 1, "n_kept");
  const double *prob = view_matrix(prob_on, n_latents, n_points, "prob_on");
  const char *const names[] = {"selected", "prob_on"};
  const SEXP result = PROTECT(new_named_list(2, names));
  int *selected = hang_int_matrix(result, 0, n, n_points);
  double *kept = hang_matrix(result, 1, n, n_points);
  for (size_t p = 0; p < (size_t)n_points; p++) {
    thin_point(prob + p * (size_t)n_latents, n_latents, n, selected + p * (size_t)n,
               kept + p * (size_t)n);
  }
  UNPROTECT(1);
  return result;
}

/* Sum over the slots of a point of the variances of its latents, and of the probabilities of those
 * that are not among its `last` ones; NULL: no latent is new. */
static double need_of(const int *last, const int *selected, const double *prob_on, int n_slots) {
  double need = 0.0;
  for (int i = 0; i < n_slots; i++) {
    int is_new = last != NULL;
    for (int k = 0; is_new && k < n_slots; k++) is_new = last[k] != selected[i];
    need += prob_on[i] * (1.0 - prob_on[i] + (is_new ? 1.0 : 0.0));
  }
  return need;
}

/* last or NULL, selected, prob_on, all [n_slots x n] -> [n], how much each point's posterior moves
 * or is undecided. */
SEXP r_turn_need(SEXP last, SEXP selected, SEXP prob_on) {
  const int n_slots = n_rows_of(selected, "selected"), n_points = n_cols_of(selected, "selected");
  const R_xlen_t n_all = (R_xlen_t)n_slots * n_points;
  const int *slot = view_ints(selected, n_all, "selected");
  const int *before = last == R_NilValue ? NULL : view_ints(last, n_all, "last");
  const double *prob = view_matrix(prob_on, n_slots, n_points, "prob_on");
  const SEXP result = PROTECT(Rf_allocVector(REALSXP, n_points));
  double *need = REAL(result);
  for (size_t n = 0; n < (size_t)n_points; n++) {
    const size_t first = n * (size_t)n_slots;
    need[n] = need_of(before ? before + first : NULL, slot + first, prob + first, n_slots);
  }
  UNPROTECT(1);
  return result;
}

/* selected [n_slots x n] of a block's points, iteration, period -> logical [n]: which of them keep
 * their slots, those with no empty slot whose turn it is not. Each has one in `period` iterations,
 * by the number of its row or of its stream. */
SEXP r_resting(SEXP selected, SEXP block_list, SEXP iteration, SEXP period) {
  const int n_slots = n_rows_of(selected, "selected"), n_points = n_cols_of(selected, "selected");
  const int *slot = view_ints(selected, (R_xlen_t)n_slots * n_points, "selected");
  const int64_t first_row = (int64_t)view_row(list_need(block_list, "first_row"), "first_row");
  const int *streams = read_streams(list_get(block_list, "streams"), n_points);
  const int now = view_int(iteration, "iteration"), n_turns = view_count(period, 1, "period");
  const SEXP result = PROTECT(Rf_allocVector(LGLSXP, n_points));
  for (int n = 0; n < n_points; n++) {
    const int64_t row = streams ? streams[n] : first_row + n;
    const int is_full = n_slots > 0 && slot[(size_t)(n + 1) * (size_t)n_slots - 1] > 0;
    LOGICAL(result)[n] = is_full && (row + now) % n_turns != 0;
  }
  UNPROTECT(1);
  return result;
}
