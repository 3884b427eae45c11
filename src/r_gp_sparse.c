/* .Call entry of predictions from sparse targets. The rules are in gp_sparse.c. */
#include "gp_sparse.h"

#include "r_gp.h"

/* Latents treated at a time where nothing is smoothed. */
#define CHUNK 1024

static size_t *alloc_sizes(size_t n) { return (size_t *)R_alloc(n + 1, sizeof(size_t)); }

static gp_sparse_targets sort_targets(const gp_slots *slots, size_t n_points) {
  const size_t n = gp_sparse_count(slots, n_points);
  gp_sparse_targets targets = {slots->n_latents, alloc_sizes(slots->n_latents + 1), alloc_ints(n),
                               alloc_doubles(n, 1)};
  gp_sparse_sort(slots, n_points, &targets);
  return targets;
}

/* Weights along a ring by distance, from 0 to the radius. */
static const double *view_ring(SEXP weights, int n_cells, size_t *radius) {
  const R_xlen_t n = Rf_xlength(weights);
  if (n < 1 || n > n_cells / 2 + 1) raise_error("model", "`blur` does not fit the grid.");
  *radius = (size_t)n - 1;
  return view_doubles(weights, n, "blur");
}

/* `blur`: list(down, across), weights by distance, or NULL where nothing is smoothed. The grid is
 * height and width, 0 and 0 without one. */
static gp_grid view_grid(SEXP layout, SEXP blur, size_t n_latents) {
  const int *size = view_ints(list_need(layout, "grid"), 2, "grid");
  const int is_plain = size[0] == 0 && size[1] == 0;
  if (!is_plain &&
      (size[0] < 1 || size[1] < 1 || n_latents % ((size_t)size[0] * (size_t)size[1]) != 0)) {
    raise_error("model", "%.0f latents are not groups of a grid of %d x %d.", (double)n_latents,
                size[0], size[1]);
  }
  if (is_plain || Rf_isNull(blur)) {
    return (gp_grid){.height = n_latents < CHUNK ? n_latents : CHUNK, .width = 1};
  }
  gp_grid grid = {.height = (size_t)size[0], .width = (size_t)size[1]};
  view_list(blur, 2, "blur");
  grid.down = view_ring(VECTOR_ELT(blur, 0), size[0], &grid.radius_down);
  grid.across = view_ring(VECTOR_ELT(blur, 1), size[1], &grid.radius_across);
  return grid;
}

/* coef [n_train x any]; for each point `column` of coef (from 1), factor `scale` and training point
 * `left_out` (from 1, 0 = none); targets are list(selected, prob_on [n_slots x n_train], layout =
 * list(n_latents, grid, smooth)); `blur` as above -> affinity [n_latents x n_points]. */
SEXP r_gp_spread(SEXP coef, SEXP column, SEXP scale, SEXP left_out, SEXP targets, SEXP blur,
                 SEXP n_threads) {
  const SEXP layout = list_need(targets, "layout");
  const size_t n_latents = (size_t)view_count(list_need(layout, "n_latents"), 1, "n_latents");
  const int n_points = Rf_length(column), n_cols = n_cols_of(coef, "coef");
  const int n_train = n_cols_of(list_need(targets, "selected"), "selected");
  const gp_slots slots = check_slots(targets, n_latents, (size_t)n_train);
  const gp_sparse_targets sorted = sort_targets(&slots, (size_t)n_train);
  const gp_grid grid = view_grid(layout, blur, n_latents);
  const int *given = view_ints(column, n_points, "column");
  const int *own = view_ints(left_out, n_points, "left_out");
  size_t *from = alloc_sizes((size_t)n_points);
  int *out = alloc_ints((size_t)n_points);
  for (int n = 0; n < n_points; n++) {
    if (given[n] < 1 || given[n] > n_cols || own[n] < 0 || own[n] > n_train) {
      raise_error("model", "Point %d has no coefficients.", n + 1);
    }
    from[n] = (size_t)given[n] - 1;
    out[n] = own[n] - 1;
  }
  const gp_spread_job job = {.targets = &sorted,
                             .grid = &grid,
                             .n_train = (size_t)n_train,
                             .coef = view_matrix(coef, n_train, -1, "coef"),
                             .n_points = (size_t)n_points,
                             .column = from,
                             .scale = view_doubles(scale, n_points, "scale"),
                             .left_out = out,
                             .watch = begin_watch()};
  const int threads = threads_for(
      n_threads, (double)n_points * ((double)n_train * (double)slots.n_slots + (double)n_latents));
  double *scratch = alloc_doubles(gp_spread_scratch(&job), (size_t)threads);
  const SEXP affinity = PROTECT(Rf_allocMatrix(REALSXP, (int)n_latents, n_points));
  gp_spread(&job, threads, REAL(affinity), scratch);
  end_watch();
  UNPROTECT(1);
  return affinity;
}
