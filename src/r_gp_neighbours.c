/* .Call entries of regression by the nearest neighbours. y and other points are [n_dims x n];
 * numbers of points and latents count from 1 here, and 0 is none. */
#include "gp_neighbours.h"

#include <math.h>
#include <string.h>

#include "r_gp.h"

/* Operations for a number that a neighbour shows. */
#define VOTE_WORK 4.0

/* Numbers of points from 1, at most `most`, as they are in C. */
static int *read_numbers(SEXP x, size_t n, size_t most, const char *what) {
  const int *given = view_ints(x, (R_xlen_t)n, what);
  int *number = alloc_ints(n);
  for (size_t i = 0; i < n; i++) {
    if (given[i] < 0 || (size_t)given[i] > most)
      raise_error("model", "`%s` names %d of %.0f.", what, given[i], (double)most);
    number[i] = given[i] - 1;
  }
  return number;
}

/* The same where none may be 0. */
static int *need_numbers(SEXP x, size_t n, size_t most, const char *what) {
  int *number = read_numbers(x, n, most, what);
  for (size_t i = 0; i < n; i++) {
    if (number[i] < 0) raise_error("model", "`%s` names 0 of %.0f.", what, (double)most);
  }
  return number;
}

static gp_search view_search(SEXP y, SEXP scale, SEXP n_near) {
  const size_t n_dims = (size_t)n_rows_of(y, "y");
  return (gp_search){.n_dims = n_dims,
                     .n_points = (size_t)n_cols_of(y, "y"),
                     .x = view_matrix(y, -1, -1, "y"),
                     .scale = view_doubles(scale, (R_xlen_t)n_dims, "scale"),
                     .n_near = (size_t)view_count(n_near, 0, "n_near"),
                     .watch = begin_watch()};
}

static gp_queries view_queries(const gp_search *search, SEXP at, SEXP own, int is_before) {
  const int n = n_cols_of(at, "at");
  return (gp_queries){.n = (size_t)n,
                      .x = view_matrix(at, (R_xlen_t)search->n_dims, -1, "at"),
                      .own = Rf_isNull(own) ? NULL
                                            : read_numbers(own, (size_t)n, search->n_points, "own"),
                      .is_before = is_before};
}

/* After a search: numbers from 1. */
static void end_search(gps_status status, SEXP near) {
  need_ok(status, "The search for neighbours");
  for (R_xlen_t i = 0; i < Rf_xlength(near); i++) INTEGER(near)[i]++;
}

/* Up to so many points all pairs take less time than cutting leaves. */
#define FEW_POINTS 512

/* Whether all points are asked for, each by its own number. */
static int asks_all(const gp_search *search, const gp_queries *queries) {
  if (!queries->own || queries->is_before || queries->n != search->n_points ||
      queries->x != search->x)
    return 0;
  for (size_t i = 0; i < queries->n; i++) {
    if (queries->own[i] != (int)i) return 0;
  }
  return 1;
}

static gps_status search_all(const gp_search *search, const gp_queries *queries, int *near) {
  const size_t n = search->n_points;
  if (search->n_near == 0) return GPS_OK;
  const gp_leaves leaves =
      gp_cut_leaves(search, alloc_ints(3 * n + 2), alloc_doubles(gp_leaves_scratch(search), 1));
  int is_done = 0;
  const gps_status status =
      gp_search_leaves(search, &leaves, near, alloc_doubles(search->n_near, GP_LEAF_POINTS),
                       alloc_doubles(gp_panels_scratch(search, &leaves), 1), &is_done);
  if (status != GPS_OK || is_done) return status;
  return gp_search_near(search, queries, leaves.order, near,
                        alloc_doubles(gp_search_scratch(search, GP_NEAR_LISTS), 1));
}

/* Points y and their scales, points `at` and, unless NULL, their own numbers in y; whether only
 * those of smaller number count -> numbers of the nearest [n_near x n]. */
SEXP r_gp_near(SEXP y, SEXP scale, SEXP at, SEXP own, SEXP is_before, SEXP n_near) {
  const gp_search search = view_search(y, scale, n_near);
  const gp_queries queries =
      view_queries(&search, at, own, !Rf_isNull(own) && view_int(is_before, "is_before"));
  const SEXP result = PROTECT(Rf_allocMatrix(INTSXP, (int)search.n_near, n_cols_of(at, "at")));
  const gps_status status =
      search.n_points > FEW_POINTS && asks_all(&search, &queries)
          ? search_all(&search, &queries, INTEGER(result))
          : gp_search_near(&search, &queries, NULL, INTEGER(result),
                           alloc_doubles(gp_search_scratch(&search, GP_NEAR_LISTS), 1));
  end_search(status, result);
  UNPROTECT(1);
  return result;
}

/* Which queries look at which cell, first of all or later, from probe [n_probes x n]. */
static void sort_visits(SEXP probe, gp_cells *cells) {
  const size_t n_probes = (size_t)n_rows_of(probe, "probe"), n_cells = cells->n_cells;
  const size_t n_visits = n_probes * (size_t)n_cols_of(probe, "probe");
  int *visit = need_numbers(probe, n_visits, n_cells, "probe");
  int *first = alloc_ints(2 * n_cells + 1), *ask = alloc_ints(n_visits);
  for (size_t i = 0; i < n_visits; i++) visit[i] += i % n_probes > 0 ? (int)n_cells : 0;
  gp_sort_cells(n_visits, visit, 2 * n_cells, first, ask);
  for (size_t i = 0; i < n_visits; i++) ask[i] /= (int)n_probes;
  cells->first_ask = first;
  cells->ask = ask;
}

/* The same among the points of some cells: `cell` of each point of y, of n_cells, and of each of
 * `at` the cells to look at, probe [n_probes x n], the nearest first. */
SEXP r_gp_near_cells(SEXP y, SEXP scale, SEXP cell, SEXP n_cells, SEXP probe, SEXP at, SEXP own,
                     SEXP n_near) {
  const gp_search search = view_search(y, scale, n_near);
  const gp_queries queries = view_queries(&search, at, own, 0);
  gp_cells cells = {.n_cells = (size_t)view_count(n_cells, 1, "n_cells")};
  int *first = alloc_ints(cells.n_cells + 1), *order = alloc_ints(search.n_points);
  gp_sort_cells(search.n_points, need_numbers(cell, search.n_points, cells.n_cells, "cell"),
                cells.n_cells, first, order);
  cells.first = first;
  cells.order = order;
  if ((size_t)n_cols_of(probe, "probe") != queries.n)
    raise_error("model", "`probe` is of other points.");
  sort_visits(probe, &cells);
  const SEXP result = PROTECT(Rf_allocMatrix(INTSXP, (int)search.n_near, (int)queries.n));
  end_search(gp_search_cells(&search, &queries, &cells, INTEGER(result), alloc_ints(queries.n),
                             alloc_doubles(gp_search_scratch(&search, queries.n), 1)),
             result);
  UNPROTECT(1);
  return result;
}

static gp_local view_local(const gps_kernel *kernel, SEXP theta, SEXP y, SEXP at, SEXP near,
                           SEXP jitter, SEXP n_threads) {
  const R_xlen_t n_dims = (R_xlen_t)kernel->n_dims;
  gp_local local = {.kernel = kernel,
                    .theta = view_theta(theta, kernel),
                    .jitter = view_number(jitter, "jitter"),
                    .x = view_matrix(y, n_dims, -1, "y"),
                    .n_near = (size_t)n_rows_of(near, "near"),
                    .n_queries = (size_t)n_cols_of(at, "at"),
                    .at = view_matrix(at, n_dims, -1, "at"),
                    .watch = begin_watch()};
  const double m = (double)local.n_near;
  /* Kernel matrices and their factors. */
  local.n_threads = threads_for(n_threads, (double)local.n_queries * m * m * m);
  local.near =
      read_numbers(near, local.n_near * local.n_queries, (size_t)n_cols_of(y, "y"), "near");
  return local;
}

/* list(weights [n_near x n], variance [n], jitter), with as much jitter as it takes. */
SEXP r_gp_near_weights(SEXP code, SEXP theta, SEXP y, SEXP at, SEXP near, SEXP jitter,
                       SEXP is_function, SEXP n_threads) {
  static const char *const names[] = {"weights", "variance", "jitter"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y, "y"));
  gp_local local = view_local(&kernel, theta, y, at, near, jitter, n_threads);
  const SEXP result = PROTECT(new_named_list(3, names));
  double *weights = hang_matrix(result, 0, (int)local.n_near, (int)local.n_queries);
  double *variance = hang_doubles(result, 1, (R_xlen_t)local.n_queries);
  need_ok(gp_local_weights(&local, view_int(is_function, "is_function"), weights, variance,
                           alloc_doubles(gp_local_scratch(&local), (size_t)local.n_threads)),
          "The kernel matrix of neighbours");
  hang_doubles(result, 2, 1)[0] = local.jitter;
  UNPROTECT(1);
  return result;
}

static int *alloc_places(size_t n_targets, size_t room, size_t n_threads) {
  int *place = alloc_ints((n_targets + room) * n_threads);
  memset(place, 0xff, (n_targets + room) * n_threads * sizeof *place);
  return place;
}

/* list(root, n_targets), or list(selected, prob_on, n_targets). */
static gp_local_targets view_local_goal(SEXP goal, size_t n_points) {
  gp_local_targets targets = {.n_targets =
                                  (size_t)view_count(list_need(goal, "n_targets"), 1, "n_targets")};
  const SEXP root = list_get(goal, "root");
  if (root != R_NilValue) {
    targets.rank = (size_t)n_rows_of(root, "root");
    targets.root = view_matrix(root, -1, (R_xlen_t)n_points, "root");
    return targets;
  }
  targets.slots = check_slots(goal, targets.n_targets, n_points);
  return targets;
}

/* Points `at`, their numbers `row` among those of y, and their neighbours [n_near x rows] ->
 * list(value, gradient, jitter) as r_gp_evaluate(). */
SEXP r_gp_near_evaluate(SEXP code, SEXP theta, SEXP y, SEXP at, SEXP row, SEXP near, SEXP goal,
                        SEXP jitter, SEXP is_first, SEXP n_threads) {
  static const char *const names[] = {"value", "gradient", "jitter"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y, "y"));
  const size_t n_points = (size_t)n_cols_of(y, "y");
  const int *rows = need_numbers(row, (size_t)n_cols_of(at, "at"), n_points, "row");
  gp_local local = view_local(&kernel, theta, y, at, near, jitter, n_threads);
  const gp_local_targets targets = view_local_goal(goal, n_points);
  const size_t n_threads_used = (size_t)local.n_threads, most = gp_local_latents(&local, &targets);
  const SEXP result = PROTECT(new_named_list(3, names));
  double *value = hang_doubles(result, 0, 1);
  double *gradient = hang_doubles(result, 1, (R_xlen_t)kernel.n_hyper);
  const gp_local_room room = {
      .scratch = alloc_doubles(gp_local_scratch(&local) + most, n_threads_used),
      .partial = alloc_doubles(gp_local_partial(&local), 1),
      .place = targets.root ? NULL : alloc_places(targets.n_targets, most, n_threads_used)};
  need_ok(gp_local_evaluate(&local, view_int(is_first, "is_first"), &targets, rows, &room, value,
                            gradient),
          "The leave-one-out density");
  hang_doubles(result, 2, 1)[0] = local.jitter;
  UNPROTECT(1);
  return result;
}

/* n_shown: numbers that each neighbour shows. */
static gp_voters view_voters(SEXP near, SEXP weights, SEXP column, size_t n_points, int n_shown,
                             SEXP n_threads) {
  const int n_near = n_rows_of(near, "near"), n_all = n_cols_of(near, "near");
  const double work = VOTE_WORK * (double)Rf_xlength(column) * n_near * n_shown;
  const gp_voters voters = {.n = (size_t)Rf_xlength(column),
                            .n_near = (size_t)n_near,
                            .n_points = n_points,
                            .column = view_ints(column, Rf_xlength(column), "column"),
                            .near = view_ints(near, (R_xlen_t)n_near * n_all, "near"),
                            .weights = view_matrix(weights, n_near, n_all, "weights"),
                            .n_threads = threads_for(n_threads, work)};
  for (size_t i = 0; i < voters.n; i++) {
    if (voters.column[i] < 0 || voters.column[i] > n_all)
      raise_error("model", "No point %d.", voters.column[i]);
  }
  return voters;
}

/* Neighbours and weights [n_near x any], the columns asked for (0: none), targets [n_targets x
 * n_points] -> mean [n_targets x columns]. */
SEXP r_gp_near_mean(SEXP near, SEXP weights, SEXP column, SEXP targets, SEXP n_threads) {
  const int n_targets = (int)count_targets(targets, "targets");
  const gp_voters voters = view_voters(near, weights, column, (size_t)n_cols_of(targets, "targets"),
                                       n_targets, n_threads);
  const SEXP mean = PROTECT(Rf_allocMatrix(REALSXP, n_targets, (int)voters.n));
  if (!gp_vote_dense(&voters, (size_t)n_targets, view_matrix(targets, -1, -1, "targets"),
                     REAL(mean)))
    raise_error("model", "`near` names a point beyond %d.", n_cols_of(targets, "targets"));
  UNPROTECT(1);
  return mean;
}

/* Targets list(selected, prob_on), both [n_slots x n], layout) -> the same packed, [any x n], which
 * a pass of many blocks has in them as `rows`. */
SEXP r_gp_pack(SEXP targets) {
  const int n_points = n_cols_of(list_need(targets, "selected"), "selected");
  const gp_slots slots = view_slots(targets, 0, (size_t)n_points);
  const size_t size = gp_packed_size(slots.n_slots);
  const SEXP rows = PROTECT(Rf_allocMatrix(REALSXP, (int)size, n_points));
  gp_pack_rows(&slots, (size_t)n_points, REAL(rows));
  UNPROTECT(1);
  return rows;
}

/* Targets in rows: as they were packed before, or packed now where more of them are read than there
 * are. */
static gp_slot_rows read_rows(SEXP targets, const gp_slots *slots, const gp_voters *voters) {
  const size_t size = gp_packed_size(slots->n_slots), n_points = voters->n_points;
  const SEXP rows = list_get(targets, "rows");
  if (rows != R_NilValue)
    return gp_packed_rows(slots, view_matrix(rows, (R_xlen_t)size, (R_xlen_t)n_points, "rows"));
  size_t n_asked = 0;
  for (size_t i = 0; i < voters->n; i++) n_asked += voters->column[i] > 0;
  if (n_asked * voters->n_near < 2 * n_points) return gp_view_rows(slots);
  double *room = alloc_doubles(size, n_points);
  gp_pack_rows(slots, n_points, room);
  return gp_packed_rows(slots, room);
}

/* The same for targets in slots -> list(latent, affinity), both [length x columns], of the best
 * candidates. */
SEXP r_gp_near_vote(SEXP near, SEXP weights, SEXP column, SEXP targets, SEXP length,
                    SEXP n_threads) {
  static const char *const names[] = {"latent", "affinity"};
  const size_t n_points = (size_t)n_cols_of(list_need(targets, "selected"), "selected");
  const int n_latents =
      view_count(list_need(list_need(targets, "layout"), "n_latents"), 1, "n_latents");
  const gp_slots slots = view_slots(targets, (size_t)n_latents, n_points);
  const gp_voters voters =
      view_voters(near, weights, column, n_points, (int)slots.n_slots, n_threads);
  const size_t most = slots.n_slots * voters.n_near, threads = (size_t)voters.n_threads;
  const int n_best = view_count(length, 0, "length");
  const SEXP result = PROTECT(new_named_list(2, names));
  const gp_lists lists = {(size_t)n_best, hang_int_matrix(result, 0, n_best, (int)voters.n),
                          hang_matrix(result, 1, n_best, (int)voters.n)};
  const gp_slot_rows rows = read_rows(targets, &slots, &voters);
  if (!gp_vote_slots(&voters, &rows, &lists, alloc_ints(3 * most * threads),
                     alloc_doubles(2 * most, threads), alloc_places(slots.n_latents, 0, threads)))
    raise_error("model", "`selected` names a latent beyond %d, or `near` a point beyond %.0f.",
                n_latents, (double)n_points);
  UNPROTECT(1);
  return result;
}

/* Where the slots of points lie, of each batch list(selected, prob_on), both NULL where it has none
 * yet, and how many points that has. */
static const gp_slots *view_batches(SEXP list, int n_slots, int *n_points) {
  const R_xlen_t n_batches = Rf_xlength(list);
  gp_slots *batches = (gp_slots *)(void *)R_alloc((size_t)n_batches + 1, sizeof *batches);
  for (R_xlen_t b = 0; b < n_batches; b++) {
    const SEXP batch = VECTOR_ELT(list, b), selected = list_get(batch, "selected");
    n_points[b] = selected == R_NilValue ? 0 : n_cols_of(selected, "selected");
    if (selected == R_NilValue) continue;
    batches[b] = view_slots(batch, 0, (size_t)n_points[b]);
    if (batches[b].n_slots != (size_t)n_slots)
      raise_error("model", "`selected` must have %d rows.", n_slots);
  }
  return batches;
}

/* Slots of points that lie in batches: `batch` and `column` [n_points], from 1, say where each of
 * all points is; point [any], 0 = none -> list(selected, prob_on), both [n_slots x any], 0 where
 * there is none. */
SEXP r_batch_slots(SEXP list, SEXP batch, SEXP column, SEXP point, SEXP n_slots) {
  static const char *const names[] = {"selected", "prob_on"};
  const int n_rows = view_count(n_slots, 1, "n_slots");
  const int n_batches = (int)Rf_xlength(view_list(list, -1, "batches"));
  int *n_own = alloc_ints((size_t)n_batches);
  const gp_slots *batches = view_batches(list, n_rows, n_own);
  const size_t size = (size_t)n_rows, n = (size_t)Rf_xlength(point);
  const R_xlen_t n_points = Rf_xlength(batch);
  const int *of = view_ints(batch, n_points, "batch"), *at = view_ints(column, n_points, "column");
  const int *given = view_ints(point, (R_xlen_t)n, "point");
  const SEXP result = PROTECT(new_named_list(2, names));
  int *selected = hang_int_matrix(result, 0, n_rows, (int)n);
  double *prob = hang_matrix(result, 1, n_rows, (int)n);
  memset(selected, 0, size * n * sizeof *selected);
  memset(prob, 0, size * n * sizeof *prob);
  for (size_t i = 0; i < n; i++) {
    if (given[i] == 0) continue;
    if (given[i] < 0 || given[i] > n_points) raise_error("model", "No point %d.", given[i]);
    const int b = of[given[i] - 1], c = at[given[i] - 1];
    if (b < 1 || b > n_batches) raise_error("model", "No batch %d.", b);
    if (n_own[b - 1] == 0) continue;
    if (c < 1 || c > n_own[b - 1]) raise_error("model", "Batch %d has no point %d.", b, c);
    const size_t first = (size_t)(c - 1) * size;
    memcpy(selected + i * size, batches[b - 1].selected + first, size * sizeof *selected);
    memcpy(prob + i * size, batches[b - 1].prob + first, size * sizeof *prob);
  }
  UNPROTECT(1);
  return result;
}
