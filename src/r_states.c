/* Templates of states and selected latents, as R hands them over: what names something that there
 * is not is refused here, and nowhere looked at again. */
#include "r_states.h"

#include <string.h>

#include "vector_math.h"

/* Slots of all states [max_active x n_states], 0-based. Beyond those of a state are valid ones,
 * which nobody counts: a model may look at the first slot of a state that has none. */
static int *read_active(SEXP active, const gps_states *states) {
  const size_t n_all = (size_t)states->n_states * (size_t)states->max_active;
  const int *from = view_ints(active, (R_xlen_t)n_all, "active");
  int *to = (int *)R_alloc(n_all + 1, sizeof *to);
  memset(to, 0, n_all * sizeof *to);
  for (int m = 0; m < states->n_states; m++) {
    for (int i = 0; i < states->n_active[m]; i++) {
      const size_t at = (size_t)m * (size_t)states->max_active + (size_t)i;
      if (from[at] < 1 || from[at] > states->n_slots)
        raise_error("model", "State %d of the template names slot %d of %d.", m + 1, from[at],
                    states->n_slots);
      to[at] = from[at] - 1;
    }
  }
  return to;
}

/* The states before which each state has one slot less, 0-based, -1 = none. */
static int *read_parents(SEXP parent, const gps_states *states) {
  const int n_states = states->n_states, *from = view_ints(parent, n_states, "parent");
  int *to = (int *)R_alloc((size_t)n_states, sizeof *to);
  for (int m = 0; m < n_states; m++) {
    const int is_there = from[m] > 0 && from[m] <= m;
    if (from[m] != 0 && (!is_there || states->n_active[from[m] - 1] != states->n_active[m] - 1))
      raise_error("model", "State %d of the template has no parent %d.", m + 1, from[m]);
    to[m] = from[m] - 1;
  }
  return to;
}

/* A template of all subsets has state m hold the slots that are 1 among the digits of m. */
static void check_subsets(const gps_states *states) {
  const int n_slots = states->n_slots;
  int is_whole = n_slots < 31 && states->n_states == 1 << n_slots && states->max_active == n_slots;
  for (int m = 0; m < states->n_states && is_whole; m++) {
    unsigned digits = 0;
    for (int i = 0; i < states->n_active[m]; i++)
      digits |= 1u << states->active[(size_t)m * (size_t)n_slots + (size_t)i];
    is_whole = digits == (unsigned)m;
  }
  if (!is_whole)
    raise_error("model", "The template does not hold all subsets of %d slots.", n_slots);
}

gps_states read_states(SEXP states) {
  gps_states result;
  result.n_slots = view_count(list_need(states, "n_slots"), 1, "n_slots");
  result.max_active = view_count(list_need(states, "max_active"), 1, "max_active");
  result.n_states = view_count(list_need(states, "n_states"), 0, "n_states");
  result.all_subsets = Rf_asLogical(list_need(states, "all_subsets")) == TRUE;
  if (result.max_active > result.n_slots)
    raise_error("model", "%d of %d slots cannot be on.", result.max_active, result.n_slots);
  result.n_active = view_ints(list_need(states, "n_active"), result.n_states, "n_active");
  for (int m = 0; m < result.n_states; m++) {
    if (result.n_active[m] < 0 || result.n_active[m] > result.max_active)
      raise_error("model", "State %d of the template has %d slots on.", m + 1, result.n_active[m]);
  }
  result.active = read_active(list_need(states, "active"), &result);
  result.parent = read_parents(list_need(states, "parent"), &result);
  if (result.all_subsets) check_subsets(&result);
  return result;
}

/* Whether all of x [n] are in 0..most; to [n] <- x - 1. */
GPS_CLONES static int take_latents(const int *x, size_t n, int most, int *to) {
  int n_bad = 0;
#pragma omp simd reduction(+ : n_bad)
  for (size_t i = 0; i < n; i++) {
    n_bad += (unsigned)x[i] > (unsigned)most;
    to[i] = (int)((unsigned)x[i] - 1);
  }
  return n_bad == 0;
}

int *read_latents(SEXP latents, int n_rows, int n_points, int n_latents, const char *what) {
  const size_t n_all = (size_t)n_rows * (size_t)n_points;
  const int *from = view_ints(latents, (R_xlen_t)n_all, what);
  int *to = (int *)R_alloc(n_all + 1, sizeof *to);
  if (take_latents(from, n_all, n_latents, to)) return to;
  for (size_t i = 0; i < n_all; i++) {
    if (from[i] < 0 || from[i] > n_latents)
      raise_error("model", "`%s` names latent %d of %d for data point %.0f.", what, from[i],
                  n_latents, (double)(i / (size_t)n_rows) + 1);
  }
  return to;
}

/* Whether latents ascend in each of the columns, empty slots (-1) at their ends, as this package
 * makes them. What descends from one slot to the next is counted everywhere, and again where
 * columns meet. */
GPS_CLONES static int are_ascending(const int *latent, size_t n_slots, size_t n_points) {
  const size_t n = n_slots * n_points;
  size_t n_meeting = 0;
  int n_down = 0;
#pragma omp simd reduction(+ : n_down)
  for (size_t i = 1; i < n; i++) {
    n_down += (latent[i] >= 0) & ((latent[i - 1] < 0) | (latent[i] <= latent[i - 1]));
  }
  for (size_t i = n_slots; i < n; i += n_slots) {
    n_meeting += (latent[i] >= 0) & ((latent[i - 1] < 0) | (latent[i] <= latent[i - 1]));
  }
  return (size_t)n_down == n_meeting;
}

int *read_slots(SEXP slots, int n_slots, int n_points, int n_latents, const char *what) {
  int *latent = read_latents(slots, n_slots, n_points, n_latents, what), *at = latent;
  if (are_ascending(latent, (size_t)n_slots, (size_t)n_points)) return latent;
  /* The last point that has a latent. */
  int *holder = (int *)R_alloc((size_t)n_latents, sizeof *holder);
  for (int h = 0; h < n_latents; h++) holder[h] = -1;
  for (int n = 0; n < n_points; n++) {
    for (int i = 0; i < n_slots; i++, at++) {
      if (*at < 0) continue;
      if (holder[*at] == n)
        raise_error("model", "`%s` names latent %d twice for data point %d.", what, *at + 1, n + 1);
      holder[*at] = n;
    }
  }
  return latent;
}
