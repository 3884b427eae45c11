/* Selection and screening for R. The rules are in select.c and screen.c. */
#include "screen.h"

#include <string.h>

#include "r_model.h"

/* list(seed = two integers, start, iteration), and for selection alone `streams` */
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

/* Two whole numbers, or NULL: a grid of one location. Its groups must make up all latents. */
static gps_grid read_grid(SEXP grid, int n_latents) {
  if (grid == R_NilValue) return (gps_grid){1, 1};
  const int *size = view_ints(grid, 2, "grid");
  if (size[0] < 1 || size[1] < 1 || size[0] > n_latents || size[1] > n_latents / size[0] ||
      n_latents % (size[0] * size[1]) != 0) {
    raise_error("model", "%d latents are no groups on a grid of %d x %d.", n_latents, size[0],
                size[1]);
  }
  return (gps_grid){size[0], size[1]};
}

/* affinity [H x n], n_selected, share of explorers, grid, stream, number of the first row, threads
 * -> selected [n_selected x n], 1-based, 0 where there are too few groups. */
SEXP r_select(SEXP affinity, SEXP n_selected, SEXP share, SEXP grid, SEXP stream, SEXP first_row,
              SEXP n_threads) {
  const double *value = view_matrix(affinity, -1, -1, "affinity");
  const int n_latents = n_rows_of(affinity), n_points = n_cols_of(affinity);
  const int n_slots = view_int(n_selected, "n_selected");
  if (n_slots < 1 || n_slots > n_latents)
    raise_error("model", "Cannot select %d of %d latents.", n_slots, n_latents);
  const gps_grid locations = read_grid(grid, n_latents);
  const gps_source source = read_source(stream);
  const size_t first = (size_t)view_number(first_row, "first_row");
  const SEXP result = PROTECT(Rf_allocMatrix(INTSXP, n_slots, n_points));
  size_t bad_point = 0;
  const gps_status status =
      select_latents(value, n_latents, locations.height * locations.width, (size_t)n_points,
                     n_slots, view_number(share, "explore"), &source, first,
                     read_streams(list_get(stream, "streams"), n_points),
                     view_int(n_threads, "n_threads"), INTEGER(result), &bad_point);
  if (status != GPS_OK) raise_status(status, "Selection by affinity", first + bad_point);
  to_one_based(INTEGER(result), (size_t)n_slots * (size_t)n_points);
  UNPROTECT(1);
  return result;
}

/* Most candidates of one kind for a data point. */
#define MOST_CANDIDATES 1000000

static int read_count(SEXP list, const char *name) { return view_int(list_need(list, name), name); }

/* Groups of which all latents are candidates, 1-based, or NULL. */
static void read_sought(SEXP list, int n_groups, gps_screen *screen) {
  if (list == R_NilValue) return;
  const int n = (int)Rf_xlength(list), *given = view_ints(list, n, "seek");
  int *seek = (int *)R_alloc((size_t)n, sizeof *seek);
  for (int i = 0; i < n; i++) {
    if (given[i] < 1 || given[i] > n_groups)
      raise_error("model", "A screen cannot seek component %d of %d.", given[i], n_groups);
    seek[i] = given[i] - 1;
  }
  screen->n_seek = n;
  screen->seek = seek;
}

static gps_screen read_screen(SEXP list) {
  const gps_screen screen = {.n_propose = read_count(list, "n_propose"),
                             .n_explore = read_count(list, "n_explore"),
                             .n_guided = read_count(list, "n_guided"),
                             .n_moves = read_count(list, "n_moves"),
                             .n_pool = read_count(list, "n_pool"),
                             .n_conditional = read_count(list, "n_conditional"),
                             .is_greedy = read_count(list, "is_greedy"),
                             .n_sweeps = read_count(list, "n_sweeps"),
                             .n_inserts = read_count(list, "n_inserts"),
                             .period = read_count(list, "period"),
                             .share = view_number(list_need(list, "share"), "share")};
  if (screen.n_propose < 1 || screen.n_explore < 0 || screen.n_propose > MOST_CANDIDATES ||
      screen.n_explore > MOST_CANDIDATES || screen.n_guided < 0 ||
      screen.n_guided > MOST_CANDIDATES) {
    raise_error("argument",
                "A screen may propose 1 to 1e6 latents, explore 0 to 1e6 and be guided to as many, "
                "not %d, %d and %d.",
                screen.n_propose, screen.n_explore, screen.n_guided);
  }
  if (screen.n_moves < 0 || screen.n_moves > 24 || screen.n_pool < 1 || screen.n_conditional < 0) {
    raise_error("argument",
                "A screen may make 0 to 24 moves, and have a pool of 1 or more and 0 or more "
                "conditional candidates, not %d, %d and %d.",
                screen.n_moves, screen.n_pool, screen.n_conditional);
  }
  return screen;
}

/* Work of the first slice, in numbers that the gains may touch: far below a tenth of a second.
 * Later slices are as long as the clock says. */
#define SLICE_WORK ((size_t)1 << 22)

/* Screens slice by slice; the value is the number of gains. */
static double run_slices(const screen_job *job, int n_threads, int *selected) {
  const int capacity =
      screen_capacity(job->screen, job->n_slots, job->grid.height * job->grid.width);
  const size_t n_doubles = screen_scratch(capacity, job->model_scratch);
  const size_t n_ints = screen_scratch_ints(capacity, job->n_slots);
  double *scratch = (double *)R_alloc(n_doubles * (size_t)n_threads, sizeof *scratch);
  int *ints = (int *)R_alloc(n_ints * (size_t)n_threads, sizeof *ints);
  const size_t n_points = (size_t)job->problem->n_points;
  const size_t n_dims = (size_t)job->problem->shape.n_dims;
  const size_t work = (size_t)capacity * ((size_t)job->n_slots + 1) * n_dims;
  size_t slice = work < SLICE_WORK ? SLICE_WORK / work : 1, step = 0;
  double n_gains = 0;
  for (size_t from = 0; from < n_points; from += step) {
    const double began = clock_seconds();
    step = slice * (size_t)n_threads;
    const size_t to = step < n_points - from ? from + step : n_points;
    const screen_outcome outcome = screen_points(job, from, to, n_threads, selected, scratch, ints);
    if (outcome.status != GPS_OK)
      raise_status(outcome.status, "Screening", job->problem->first_row + outcome.bad_point);
    n_gains += outcome.n_gains;
    ask_watch();
    slice = adapt_slice(slice, clock_seconds() - began);
  }
  return n_gains;
}

/* native, list(shape, inputs, lengths), y, block, affinity [H x n] or NULL, kept [n_slots x n] or
 * NULL, n_slots, list(n_propose, n_explore, n_guided, n_moves, n_pool, n_conditional, is_greedy,
 * n_sweeps, n_inserts, period, share, is_one_hot, max_active, prob_on [n_slots x n] or NULL, grid,
 * seek), stream, n_threads -> list(selected [n_slots x n] 1-based, n_gains). */
SEXP r_screen(SEXP native, SEXP problem_list, SEXP y, SEXP block_list, SEXP affinity, SEXP kept,
              SEXP n_selected, SEXP screen_list, SEXP stream, SEXP n_threads) {
  const gps_model *model = find_model(native);
  const SEXP shape = list_need(problem_list, "shape");
  const r_block block = read_block(y, block_list, view_ints(shape, 2, "shape")[0]);
  const gps_problem problem = read_problem(model, shape, list_need(problem_list, "inputs"),
                                           list_need(problem_list, "lengths"), block, 1);
  const int n_slots = view_int(n_selected, "n_selected"), n_latents = problem.shape.n_latents;
  gps_screen screen = read_screen(screen_list);
  const gps_grid grid = read_grid(list_get(screen_list, "grid"), n_latents);
  read_sought(list_get(screen_list, "seek"), n_latents / (grid.height * grid.width), &screen);
  const gps_source source = read_source(stream);
  const SEXP prob_on = list_get(screen_list, "prob_on");
  const gps_states largest = SCREEN_LARGEST_PROBE(n_slots);
  const screen_job job = {
      .model = model,
      .problem = &problem,
      .screen = &screen,
      .source = &source,
      .grid = grid,
      .y = block.y,
      .affinity = affinity == R_NilValue
                      ? NULL
                      : view_matrix(affinity, n_latents, block.n_points, "affinity"),
      .kept = kept == R_NilValue ? NULL : read_slots(kept, n_slots, block.n_points),
      .prob_on = kept == R_NilValue || prob_on == R_NilValue
                     ? NULL
                     : view_matrix(prob_on, n_slots, block.n_points, "prob_on"),
      .n_slots = n_slots,
      .max_active = read_count(screen_list, "max_active"),
      .is_one_hot = read_count(screen_list, "is_one_hot"),
      .model_scratch = model->scratch_size(&problem, &largest)};
  const char *const names[] = {"selected", "n_gains"};
  const SEXP result = PROTECT(new_named_list(2, names));
  int *selected = hang_int_matrix(result, 0, n_slots, block.n_points);
  const double n_gains = run_slices(&job, view_int(n_threads, "n_threads"), selected);
  *hang_doubles(result, 1, 1) = n_gains;
  to_one_based(selected, (size_t)n_slots * (size_t)block.n_points);
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
