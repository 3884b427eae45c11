/* Selection and screening for R. The rules are in select.c and screen.c. */
#include "screen.h"

#include <string.h>

#include "r_states.h"

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

/* What is selected for n_points, each from `n` values of n_latents: a point's best, with the draws
 * that break ties and the order of its slots. */
static gps_selection read_selection(int n_points, int n, int n_latents, SEXP n_selected, SEXP share,
                                    SEXP grid, SEXP stream, SEXP first_row, SEXP n_threads) {
  const int n_slots = view_count(n_selected, 1, "n_selected");
  if (n_slots > n_latents)
    raise_error("model", "Cannot select %d of %d latents.", n_slots, n_latents);
  const gps_grid locations = read_grid(grid, n_latents);
  const double work = (double)n_points * ((double)n + 64.0 * n_slots);
  return (gps_selection){.n_latents = n_latents,
                         .group_size = locations.height * locations.width,
                         .n_selected = n_slots,
                         .n_threads = threads_for(n_threads, work),
                         .n_points = (size_t)n_points,
                         .first_row = view_row(first_row, "first_row"),
                         .share = view_number(share, "explore"),
                         .source = read_source(stream),
                         .streams = read_streams(list_get(stream, "streams"), n_points)};
}

static void end_selection(gps_status status, const gps_selection *job, size_t bad_point,
                          int *selected) {
  if (status != GPS_OK) raise_status(status, "Selection by affinity", job->first_row + bad_point);
  to_one_based(selected, (size_t)job->n_selected * job->n_points);
}

/* affinity [H x n], n_selected, share of explorers, grid, stream, number of the first row, threads
 * -> selected [n_selected x n], 1-based, 0 where there are too few groups. */
SEXP r_select(SEXP affinity, SEXP n_selected, SEXP share, SEXP grid, SEXP stream, SEXP first_row,
              SEXP n_threads) {
  const double *value = view_matrix(affinity, -1, -1, "affinity");
  const int n_latents = n_rows_of(affinity, "affinity"), n_points = n_cols_of(affinity, "affinity");
  const gps_selection job = read_selection(n_points, n_latents, n_latents, n_selected, share, grid,
                                           stream, first_row, n_threads);
  const SEXP result = PROTECT(Rf_allocMatrix(INTSXP, job.n_selected, n_points));
  size_t bad_point = 0;
  const gps_status status = select_latents(&job, value, INTEGER(result), &bad_point);
  end_selection(status, &job, bad_point, INTEGER(result));
  UNPROTECT(1);
  return result;
}

/* list(latent, affinity), both [any x n]; latents from 1, 0 is none. */
static gps_candidates read_candidates(SEXP list, int n_points, int n_latents) {
  const SEXP latent = list_need(list, "latent");
  const int n = n_rows_of(latent, "latent");
  const R_xlen_t n_all = (R_xlen_t)n * n_points;
  const gps_candidates lists = {(size_t)n, view_ints(latent, n_all, "latent"),
                                view_matrix(list_need(list, "affinity"), n, n_points, "affinity")};
  for (R_xlen_t i = 0; i < n_all; i++) {
    if (lists.latent[i] < 0 || lists.latent[i] > n_latents)
      raise_error("model", "A candidate is latent %d of %d.", lists.latent[i], n_latents);
  }
  return lists;
}

/* As r_select(), from candidates, list(latent, affinity), among n_latents; `fill`: whether slots
 * without a candidate are filled. */
SEXP r_select_candidates(SEXP lists_list, SEXP n_latents, SEXP n_selected, SEXP share, SEXP fill,
                         SEXP grid, SEXP stream, SEXP first_row, SEXP n_threads) {
  const int n_points = n_cols_of(list_need(lists_list, "latent"), "latent");
  const int n = view_count(n_latents, 1, "n_latents");
  const gps_candidates lists = read_candidates(lists_list, n_points, n);
  const gps_selection job = read_selection(n_points, (int)lists.n, n, n_selected, share, grid,
                                           stream, first_row, n_threads);
  double *scratch =
      (double *)R_alloc((size_t)job.n_selected * (size_t)job.n_threads, sizeof *scratch);
  const SEXP result = PROTECT(Rf_allocMatrix(INTSXP, job.n_selected, n_points));
  size_t bad_point = 0;
  const gps_status status =
      select_candidates(&job, &lists, view_int(fill, "fill"), INTEGER(result), scratch, &bad_point);
  end_selection(status, &job, bad_point, INTEGER(result));
  UNPROTECT(1);
  return result;
}

/* Most candidates of one kind for a data point. */
#define MOST_CANDIDATES 1000000
/* The same of all kinds. */
#define MOST_CAPACITY 100000000

static int read_count(SEXP list, const char *name) {
  return view_count(list_need(list, name), 0, name);
}

/* Groups of which all latents are candidates, 1-based, or NULL. */
static void read_sought(SEXP list, int n_groups, gps_screen *screen) {
  if (list == R_NilValue) return;
  const int n = (int)Rf_xlength(list), *given = view_ints(list, Rf_xlength(list), "seek");
  if (n > n_groups) raise_error("model", "A screen cannot seek %d of %d components.", n, n_groups);
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
                             .waits = read_count(list, "waits"),
                             .n_guided = read_count(list, "n_guided"),
                             .n_moves = view_int(list_need(list, "n_moves"), "n_moves"),
                             .n_beside = read_count(list, "n_beside"),
                             .n_ranked = read_count(list, "n_ranked"),
                             .n_pool = view_int(list_need(list, "n_pool"), "n_pool"),
                             .n_conditional =
                                 view_int(list_need(list, "n_conditional"), "n_conditional"),
                             .is_greedy = read_count(list, "is_greedy"),
                             .n_sweeps = read_count(list, "n_sweeps"),
                             .n_inserts = read_count(list, "n_inserts"),
                             .share = view_number(list_need(list, "share"), "share")};
  if (screen.n_propose < 1 || screen.n_propose > MOST_CANDIDATES ||
      screen.n_explore > MOST_CANDIDATES || screen.n_guided > MOST_CANDIDATES) {
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

/* A sum of counts, which may be too many for an int. */
static void check_capacity(const screen_job *job) {
  const gps_screen *it = job->screen;
  const double n = (double)it->n_propose + it->n_explore + it->n_guided + it->n_beside +
                   (double)job->n_slots * (1 + it->n_moves) +
                   (double)it->n_seek * job->grid.height * job->grid.width;
  if (n > MOST_CAPACITY) raise_error("argument", "A screen of %.0f candidates is too large.", n);
}

/* Screens slice by slice; the value is the number of gains. */
static double run_slices(const screen_job *job, SEXP asked, int *selected, int *ranked) {
  check_capacity(job);
  const int capacity =
      screen_capacity(job->screen, job->n_slots, job->grid.height * job->grid.width);
  const size_t n_points = (size_t)job->problem->n_points;
  const size_t n_dims = (size_t)job->problem->shape.n_dims;
  const size_t work = (size_t)capacity * ((size_t)job->n_slots + 1) * n_dims;
  /* Several of these numbers are taken at once. */
  const int n_threads = threads_for(asked, 0.5 * (double)n_points * (double)work);
  const size_t n_doubles = screen_scratch(capacity, job->model_scratch);
  const size_t n_ints = screen_scratch_ints(capacity, job->n_slots);
  double *scratch = (double *)R_alloc(n_doubles * (size_t)n_threads, sizeof *scratch);
  int *ints = (int *)R_alloc(n_ints * (size_t)n_threads, sizeof *ints);
  size_t slice = work < SLICE_WORK ? SLICE_WORK / work : 1, step = 0;
  double n_gains = 0;
  for (size_t from = 0; from < n_points; from += step) {
    const double began = clock_seconds();
    step = slice * (size_t)n_threads;
    const size_t to = step < n_points - from ? from + step : n_points;
    const screen_outcome outcome =
        screen_points(job, from, to, n_threads, selected, ranked, scratch, ints);
    if (outcome.status != GPS_OK)
      raise_status(outcome.status, "Screening", job->problem->first_row + outcome.bad_point);
    n_gains += outcome.n_gains;
    ask_watch();
    slice = adapt_slice(slice, clock_seconds() - began);
  }
  return n_gains;
}

/* Latents that stand beside others [n_beside x n_latents], from 1, 0 = none; or NULL. */
static const int *read_beside(SEXP beside, int n_beside, int n_latents) {
  if (beside == R_NilValue) return NULL;
  const R_xlen_t n = (R_xlen_t)n_beside * n_latents;
  const int *latent = view_ints(beside, n, "beside");
  for (R_xlen_t i = 0; i < n; i++) {
    if (latent[i] < 0 || latent[i] > n_latents)
      raise_error("model", "`beside` names latent %d of %d.", latent[i], n_latents);
  }
  return latent;
}

/* How many latents may be on at once, 0: all slots. */
static int read_active(SEXP list, int n_slots) {
  const int n = read_count(list, "max_active");
  if (n > n_slots) raise_error("model", "`max_active` is %d for %d slots.", n, n_slots);
  return n;
}

/* Affinities [n_latents x n], candidates, or NULL. */
static void read_ranking(SEXP ranking, int n_latents, int n_points, screen_job *job) {
  if (ranking == R_NilValue) return;
  if (TYPEOF(ranking) == VECSXP) {
    job->lists = read_candidates(ranking, n_points, n_latents);
  } else {
    job->affinity = view_matrix(ranking, n_latents, n_points, "affinity");
  }
}

/* Which latents stand beside which, list(latent, affinity) [n_kept x n_latents] or NULL, and the
 * ranked latents [n_ranked x n] of the last points that were screened, 0 = none -> the same after
 * these, when the share `kept` is left of the weights before. */
SEXP r_beside(SEXP beside, SEXP ranked, SEXP n_latents, SEXP n_kept, SEXP kept) {
  static const char *const names[] = {"latent", "affinity"};
  const int n_ranked = n_rows_of(ranked, "ranked"), n_points = n_cols_of(ranked, "ranked");
  const int h = view_count(n_latents, 1, "n_latents"), k = view_count(n_kept, 1, "n_kept");
  const size_t n_all = (size_t)n_ranked * (size_t)n_points, n_entries = (size_t)h * (size_t)k;
  const int *given = view_ints(ranked, (R_xlen_t)n_all, "ranked");
  int *ints = (int *)R_alloc(screen_beside_ints(h, (size_t)n_points), sizeof *ints);
  double *scratch = (double *)R_alloc((size_t)h, sizeof *scratch);
  for (size_t i = 0; i < n_all; i++) {
    if (given[i] < 0 || given[i] > h)
      raise_error("model", "`ranked` names latent %d of %d.", given[i], h);
  }
  const SEXP result = PROTECT(new_named_list(2, names));
  const screen_beside learned = {h, k, hang_int_matrix(result, 0, k, h),
                                 hang_matrix(result, 1, k, h)};
  memset(learned.latent, 0, n_entries * sizeof *learned.latent);
  memset(learned.weight, 0, n_entries * sizeof *learned.weight);
  memset(scratch, 0, (size_t)h * sizeof *scratch);
  if (beside != R_NilValue) {
    const gps_candidates last = read_candidates(beside, h, h);
    if (last.n != (size_t)k) raise_error("model", "`beside` has %.0f rows.", (double)last.n);
    memcpy(learned.latent, last.latent, n_entries * sizeof *learned.latent);
    memcpy(learned.weight, last.affinity, n_entries * sizeof *learned.weight);
  }
  screen_learn_beside(&learned, view_number(kept, "kept"), given, n_ranked, (size_t)n_points,
                      scratch, ints);
  UNPROTECT(1);
  return result;
}

/* native, list(shape, inputs, lengths), y, block, affinity [H x n] or candidates or NULL, kept
 * [n_slots x n] or NULL, n_slots, list(n_propose, n_explore, waits, n_guided, n_moves, n_pool,
 * n_conditional, is_greedy, n_sweeps, n_inserts, n_beside, n_ranked, beside [n_beside x H] or
 * NULL, resting [n] or NULL, share, is_one_hot, max_active, prob_on [n_slots x n] or NULL, grid,
 * seek), stream, n_threads -> list(selected [n_slots x n] 1-based, n_gains, ranked [n_ranked x n]
 * or NULL). */
SEXP r_screen(SEXP native, SEXP problem_list, SEXP y, SEXP block_list, SEXP affinity, SEXP kept,
              SEXP n_selected, SEXP screen_list, SEXP stream, SEXP n_threads) {
  const gps_model *model = find_model(native);
  const SEXP shape = list_need(problem_list, "shape");
  const r_block block = read_block(y, block_list, view_ints(shape, 2, "shape")[0]);
  const gps_problem problem = read_problem(model, shape, list_need(problem_list, "inputs"),
                                           list_need(problem_list, "lengths"), block, 1);
  const int n_latents = problem.shape.n_latents;
  const int n_slots = view_count(n_selected, 1, "n_selected");
  gps_screen screen = read_screen(screen_list);
  const gps_grid grid = read_grid(list_get(screen_list, "grid"), n_latents);
  read_sought(list_get(screen_list, "seek"), n_latents / (grid.height * grid.width), &screen);
  const gps_source source = read_source(stream);
  const SEXP prob_on = list_get(screen_list, "prob_on");
  const SEXP resting = list_get(screen_list, "resting");
  const gps_states largest = SCREEN_LARGEST_PROBE(n_slots);
  screen_job job = {
      .model = model,
      .problem = &problem,
      .screen = &screen,
      .source = &source,
      .grid = grid,
      .y = block.y,
      .beside = read_beside(list_get(screen_list, "beside"), screen.n_beside, n_latents),
      .kept =
          kept == R_NilValue ? NULL : read_slots(kept, n_slots, block.n_points, n_latents, "kept"),
      .prob_on = kept == R_NilValue || prob_on == R_NilValue
                     ? NULL
                     : view_matrix(prob_on, n_slots, block.n_points, "prob_on"),
      .resting = resting == R_NilValue ? NULL : view_flags(resting, block.n_points, "resting"),
      .n_slots = n_slots,
      .max_active = read_active(screen_list, n_slots),
      .is_one_hot = read_count(screen_list, "is_one_hot"),
      .model_scratch = model->scratch_size(&problem, &largest)};
  read_ranking(affinity, n_latents, block.n_points, &job);
  const char *const names[] = {"selected", "n_gains", "ranked"};
  const SEXP result = PROTECT(new_named_list(3, names));
  int *selected = hang_int_matrix(result, 0, n_slots, block.n_points), *ranked = NULL;
  if (screen.n_ranked > 0) ranked = hang_int_matrix(result, 2, screen.n_ranked, block.n_points);
  const double n_gains = run_slices(&job, n_threads, selected, ranked);
  *hang_doubles(result, 1, 1) = n_gains;
  to_one_based(selected, (size_t)n_slots * (size_t)block.n_points);
  if (ranked) to_one_based(ranked, (size_t)screen.n_ranked * (size_t)block.n_points);
  UNPROTECT(1);
  return result;
}

/* selected [n_slots x n] 1-based (0 = empty), prob_on of the same shape, n_latents -> targets
 * [n_latents x n], 0 where a latent is not selected. */
SEXP r_dense_targets(SEXP selected, SEXP prob_on, SEXP n_latents) {
  const int n_slots = n_rows_of(selected, "selected"), n_points = n_cols_of(selected, "selected");
  const size_t n_rows = (size_t)view_count(n_latents, 1, "n_latents");
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
