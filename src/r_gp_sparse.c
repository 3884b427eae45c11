/* .Call entry of predictions from sparse targets. The rules are in gp_sparse.c. */
#include "gp_sparse.h"

#include <string.h>

#include "r_gp.h"

/* Latents treated at a time where there is no grid. */
#define CHUNK 1024

/* Locations that predictions may be smoothed by: far more than any image has. */
#define MOST_SMOOTH 1e6

static size_t *alloc_sizes(size_t n) { return (size_t *)R_alloc(n + 1, sizeof(size_t)); }

static gp_sparse_targets sort_targets(const gp_slots *slots, size_t n_points) {
  const size_t n = gp_sparse_count(slots, n_points);
  gp_sparse_targets targets = {slots->n_latents, alloc_sizes(slots->n_latents + 1), alloc_ints(n),
                               alloc_doubles(n, 1)};
  gp_sparse_sort(slots, n_points, &targets);
  return targets;
}

/* list(grid, smooth), of which the grid is height and width, 0 and 0 without one. */
static gp_grid read_grid(SEXP layout, size_t n_latents) {
  const int *size = view_ints(list_need(layout, "grid"), 2, "grid");
  const double sd = view_number(list_need(layout, "smooth"), "smooth");
  if (!(sd >= 0 && sd <= MOST_SMOOTH)) raise_error("model", "`smooth` cannot be %g.", sd);
  if (size[0] == 0 && size[1] == 0) {
    return (gp_grid){.height = n_latents < CHUNK ? n_latents : CHUNK, .width = 1};
  }
  if (size[0] < 1 || size[1] < 1 || n_latents % ((size_t)size[0] * (size_t)size[1]) != 0) {
    raise_error("model", "%.0f latents are not groups of a grid of %d x %d.", (double)n_latents,
                size[0], size[1]);
  }
  gp_grid grid = {.height = (size_t)size[0], .width = (size_t)size[1]};
  double *down = alloc_doubles(grid.height / 2 + 1, 1);
  double *across = alloc_doubles(grid.width / 2 + 1, 1);
  grid.radius_down = gp_blur_weights(grid.height, sd, down);
  grid.radius_across = gp_blur_weights(grid.width, sd, across);
  grid.down = down;
  grid.across = across;
  return grid;
}

/* coef [n_train x any]; for each point `column` of coef (from 1), factor `scale` and training point
 * `left_out` (from 1, 0 = none); targets are list(selected, prob_on [n_slots x n_train], layout =
 * list(n_latents, grid, smooth)) -> affinity [n_latents x n_points]. */
SEXP r_gp_spread(SEXP coef, SEXP column, SEXP scale, SEXP left_out, SEXP targets, SEXP n_threads) {
  const SEXP layout = list_need(targets, "layout");
  const size_t n_latents = (size_t)view_count(list_need(layout, "n_latents"), 1, "n_latents");
  const int n_points = Rf_length(column), n_cols = n_cols_of(coef, "coef");
  const int n_train = n_cols_of(list_need(targets, "selected"), "selected");
  const gp_slots slots = check_slots(targets, n_latents, (size_t)n_train);
  const gp_sparse_targets sorted = sort_targets(&slots, (size_t)n_train);
  const gp_grid grid = read_grid(layout, n_latents);
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

/* Targets of a point that are not 0, at most. */
static size_t most_targets(const gp_slots *slots, size_t n_points) {
  gp_slots one = *slots;
  size_t most = 0;
  for (size_t n = 0; n < n_points; n++, one.selected += one.n_slots, one.prob += one.n_slots) {
    const size_t n_held = gp_sparse_count(&one, 1);
    if (n_held > most) most = n_held;
  }
  return most;
}

/* Targets as above, with a grid -> list(selected, prob_on) [any x n_points], smoothed: what
 * r_gp_spread() does to them. */
SEXP r_gp_spread_slots(SEXP targets) {
  static const char *const names[] = {"selected", "prob_on"};
  const SEXP layout = list_need(targets, "layout");
  const size_t n_latents = (size_t)view_count(list_need(layout, "n_latents"), 1, "n_latents");
  const int n_points = n_cols_of(list_need(targets, "selected"), "selected");
  const gp_slots slots = check_slots(targets, n_latents, (size_t)n_points);
  const gp_grid grid = read_grid(layout, n_latents);
  if (!grid.down) raise_error("model", "Targets without places cannot be smoothed.");
  const size_t most = most_targets(&slots, (size_t)n_points);
  const size_t n_wide = (most > 0 ? most : 1) * gp_spread_room(&grid);
  double *scratch = alloc_doubles(grid.height + grid.width, 1);
  const SEXP result = PROTECT(new_named_list(2, names));
  int *latent = hang_int_matrix(result, 0, (int)n_wide, n_points);
  double *value = hang_matrix(result, 1, (int)n_wide, n_points);
  gp_spread_slots(&grid, &slots, (size_t)n_points, n_wide, latent, value, scratch);
  UNPROTECT(1);
  return result;
}
