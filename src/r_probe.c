/* The members of a model called one by one, for check_gps_model(): in memory with marks around it,
 * which a member that writes where it must not leaves changed, and filled with NaN, which stays
 * where it must write and does not. */
#include <stdint.h>
#include <string.h>

#include "r_states.h"
#include "screen.h"
#include "vector_math.h"

/* Doubles before and after what a member is lent: what is written beyond is noticed, not fatal. */
#define MARGIN ((size_t)1024)

/* A NaN that no arithmetic makes. */
static const uint64_t mark = UINT64_C(0x7ff4deadbeefcafe);

typedef struct {
  double *data; /* [length], with margins around */
  size_t length;
} lent;

enum {
  PREPARE,
  LOG_JOINT,
  ACCUMULATE,
  DESCRIBE,
  GAIN_BEGIN,
  GAIN,
  PROPOSE,
  CONDITIONAL,
  LOG_JOINT_DRAW,
  ACCUMULATE_LATENT,
  N_MEMBERS
};

/* Of one .Call. */
typedef struct {
  const gps_model *model;
  gps_problem problem;
  gps_states states;
  const double *y;
  const int *latent; /* [n_slots x n] or NULL */
  lent scratch;
  int *is_touched; /* [N_MEMBERS]: wrote outside of its scratch */
  int *is_over;    /* [N_MEMBERS]: wrote outside of its results */
} probe;

static void put_marks(double *at, size_t n) {
  for (size_t i = 0; i < n; i++) memcpy(at + i, &mark, sizeof mark);
}

static lent lend(size_t length) {
  double *all = (double *)R_alloc(length + 2 * MARGIN, sizeof *all);
  put_marks(all, length + 2 * MARGIN);
  return (lent){all + MARGIN, length};
}

/* Whether the margins have changed; they are as new afterwards. */
static int take_marks(lent memory) {
  double *margins[] = {memory.data - MARGIN, memory.data + memory.length};
  int has_changed = 0;
  for (int side = 0; side < 2; side++) {
    for (size_t i = 0; i < MARGIN; i++) {
      if (memcmp(margins[side] + i, &mark, sizeof mark) != 0) has_changed = 1;
    }
    put_marks(margins[side], MARGIN);
  }
  return has_changed;
}

static void note(probe *it, int member, lent result) {
  it->is_touched[member] |= take_marks(it->scratch);
  it->is_over[member] |= take_marks(result);
}

/* list(shape, inputs, lengths), y, block, selected [n_slots x n], a null pointer where there are no
 * slots, states. `result` gets `touched` and `over` at its first two places. */
static probe read_probe(SEXP native, SEXP problem, SEXP y, SEXP block_list, SEXP selected,
                        SEXP states, SEXP result) {
  probe it = {.model = find_model(native)};
  const SEXP shape = list_need(problem, "shape");
  const r_block block = read_block(y, block_list, view_ints(shape, 2, "shape")[0]);
  it.problem = read_problem(it.model, shape, list_need(problem, "inputs"),
                            list_need(problem, "lengths"), block, 1);
  it.states = read_states(states);
  it.y = block.y;
  if (selected != NULL)
    it.latent = read_slots(selected, it.states.n_slots, block.n_points, it.problem.shape.n_latents,
                           "selected");
  it.is_touched = hang_int_matrix(result, 0, N_MEMBERS, 1);
  it.is_over = hang_int_matrix(result, 1, N_MEMBERS, 1);
  memset(it.is_touched, 0, N_MEMBERS * sizeof(int));
  memset(it.is_over, 0, N_MEMBERS * sizeof(int));
  return it;
}

static gps_point point_of(const probe *it, int n) {
  const size_t at = (size_t)n;
  return (gps_point){n, it->y + at * (size_t)it->problem.shape.n_dims,
                     gps_observed_of(&it->problem, n),
                     it->latent ? it->latent + at * (size_t)it->states.n_slots : NULL};
}

/* What a model is asked about has to be a latent. */
static const int *need_latents(const int *latent, size_t n, const char *what) {
  for (size_t i = 0; i < n; i++) {
    if (latent[i] < 0) raise_error("model", "`%s` names latent 0, which is none.", what);
  }
  return latent;
}

static void check_call(gps_status status, const char *member, int n) {
  if (status != GPS_OK) raise_status(status, member, (size_t)n);
}

/* The statistics, each lent; all begin with `fill`. */
static double **lend_stats(SEXP stats, lent *arrays, double fill) {
  const int n = Rf_length(stats);
  double **pointer = (double **)R_alloc((size_t)n + 1, sizeof *pointer);
  for (int s = 0; s < n; s++) {
    arrays[s] = lend((size_t)Rf_xlength(VECTOR_ELT(stats, s)));
    for (size_t i = 0; i < arrays[s].length; i++) arrays[s].data[i] = fill;
    pointer[s] = arrays[s].data;
  }
  return pointer;
}

static void copy_stats(SEXP stats, const lent *arrays) {
  for (int s = 0; s < Rf_length(stats); s++) {
    if (arrays[s].length > 0)
      memcpy(REAL(VECTOR_ELT(stats, s)), arrays[s].data, arrays[s].length * sizeof(double));
  }
}

/* Log joint, statistics and description of one point. */
static void probe_point(probe *it, int n, lent joint, double *const *stats, const lent *arrays,
                        int n_stats, lent prob, lent latent, lent response) {
  const gps_point point = point_of(it, n);
  put_marks(it->scratch.data, it->scratch.length);
  put_marks(joint.data, joint.length);
  check_call(it->model->log_joint(&it->problem, &point, &it->states, joint.data, it->scratch.data),
             "`log_joint`", n);
  note(it, LOG_JOINT, joint);
  memcpy(prob.data, joint.data, joint.length * sizeof(double));
  softmax(prob.data, joint.length);
  check_call(
      it->model->accumulate(&it->problem, &point, &it->states, prob.data, stats, it->scratch.data),
      "`accumulate`", n);
  note(it, ACCUMULATE, joint);
  for (int s = 0; s < n_stats; s++) it->is_over[ACCUMULATE] |= take_marks(arrays[s]);
  if (it->model->describe == NULL) return;
  check_call(it->model->describe(&it->problem, &point, &it->states, prob.data, latent.data,
                                 response.data, it->scratch.data),
             "`describe`", n);
  note(it, DESCRIBE, latent);
  it->is_over[DESCRIBE] |= take_marks(response);
}

/* native, list(shape, inputs, lengths), stats_dims, y, block, selected and weight [n_slots x n],
 * states -> list(touched, over, stats): the statistics by accumulate_latent, those of the shape
 * "one" left at 0. */
SEXP r_probe_latents(SEXP native, SEXP problem, SEXP stats_dims, SEXP y, SEXP block, SEXP selected,
                     SEXP weight, SEXP states) {
  static const char *const names[] = {"touched", "over", "stats"};
  const SEXP result = PROTECT(new_named_list(3, names));
  probe it = read_probe(native, problem, y, block, selected, states, result);
  const int n = it.problem.n_points, n_slots = it.states.n_slots;
  const int n_stats = count_arrays(it.model->stats), n_latents = it.problem.shape.n_latents;
  if (it.model->accumulate_latent == NULL)
    raise_error("model", "The model has no `accumulate_latent`.");
  const double *share = view_matrix(weight, n_slots, n, "weight");
  double **part = (double **)R_alloc((size_t)n_stats + 1, sizeof *part);
  SET_VECTOR_ELT(result, 2, new_arrays(&it.problem, it.model->stats, stats_dims, 0, part));
  lent *arrays = (lent *)R_alloc((size_t)n_stats + 1, sizeof *arrays);
  double *const *stats = lend_stats(VECTOR_ELT(result, 2), arrays, 0);
  it.scratch = lend(it.model->scratch_size(&it.problem, &it.states));
  for (size_t i = 0; i < (size_t)n * (size_t)n_slots; i++) {
    const int latent = it.latent[i];
    const gps_point point = point_of(&it, (int)(i / (size_t)n_slots));
    if (latent < 0) continue;
    for (int s = 0; s < n_stats; s++) {
      const int is_one = strcmp(it.model->stats[s].shape, "one") == 0;
      part[s] = is_one ? NULL : stats[s] + arrays[s].length / (size_t)n_latents * (size_t)latent;
    }
    put_marks(it.scratch.data, it.scratch.length);
    check_call(
        it.model->accumulate_latent(&it.problem, &point, latent, share[i], part, it.scratch.data),
        "`accumulate_latent`", point.index);
    for (int s = 0; s < n_stats; s++) note(&it, ACCUMULATE_LATENT, arrays[s]);
  }
  copy_stats(VECTOR_ELT(result, 2), arrays);
  UNPROTECT(1);
  return result;
}

/* native, list(shape, inputs, lengths), stats_dims, y, block, selected [n_slots x n], states, what
 * the statistics begin with -> list(touched, over, log_joint [n_states x n] without shared_term,
 * shared [n], stats, latent, response). */
SEXP r_probe_states(SEXP native, SEXP problem, SEXP stats_dims, SEXP y, SEXP block, SEXP selected,
                    SEXP states, SEXP fill) {
  static const char *const names[] = {"touched", "over",   "log_joint", "shared",
                                      "stats",   "latent", "response"};
  const SEXP result = PROTECT(new_named_list(7, names));
  probe it = read_probe(native, problem, y, block, selected, states, result);
  const int n = it.problem.n_points, n_slots = it.states.n_slots, n_states = it.states.n_states;
  const int n_dims = it.problem.shape.n_dims, n_stats = count_arrays(it.model->stats);
  double **stat = (double **)R_alloc((size_t)n_stats + 1, sizeof *stat);
  double *log_joint = hang_matrix(result, 2, n_states, n), *shared = hang_doubles(result, 3, n);
  SET_VECTOR_ELT(result, 4, new_arrays(&it.problem, it.model->stats, stats_dims, 0, stat));
  double *latent = hang_matrix(result, 5, n_slots, n);
  double *response = hang_matrix(result, 6, n_dims, n);
  it.scratch = lend(it.model->scratch_size(&it.problem, &it.states));
  lent *arrays = (lent *)R_alloc((size_t)n_stats + 1, sizeof *arrays);
  double *const *stats =
      lend_stats(VECTOR_ELT(result, 4), arrays, view_number(fill, "what statistics begin with"));
  const lent joint = lend((size_t)n_states), prob = lend((size_t)n_states),
             means = lend((size_t)n_slots), signal = lend((size_t)n_dims);
  for (int i = 0; i < n; i++) {
    put_marks(means.data, means.length);
    put_marks(signal.data, signal.length);
    probe_point(&it, i, joint, stats, arrays, n_stats, prob, means, signal);
    const gps_point point = point_of(&it, i);
    shared[i] = it.model->shared_term ? it.model->shared_term(&it.problem, &point) : 0;
    memcpy(log_joint + (size_t)i * joint.length, joint.data, joint.length * sizeof(double));
    memcpy(latent + (size_t)i * means.length, means.data, means.length * sizeof(double));
    memcpy(response + (size_t)i * signal.length, signal.data, signal.length * sizeof(double));
  }
  copy_stats(VECTOR_ELT(result, 4), arrays);
  UNPROTECT(1);
  return result;
}

/* Proposals of one point, 1-based, 0 for one that is no latent; the marks are whole numbers. */
static void probe_proposals(probe *it, const gps_point *point, int n_given, const int *given,
                            int n_proposed, int *proposed) {
  const uint32_t seed[2] = {1, 2};
  gps_rng rng = gps_rng_stream(seed, 0, GPS_PURPOSE_SCREEN, 0,
                               gps_stream_of(&it->problem, (size_t)point->index));
  for (int i = 0; i < n_proposed + 2; i++) proposed[i] = -7;
  check_call(it->model->propose(&it->problem, point, n_given, given, n_proposed, proposed + 1, &rng,
                                it->scratch.data),
             "`propose`", point->index);
  note(it, PROPOSE, it->scratch);
  if (proposed[0] != -7 || proposed[n_proposed + 1] != -7) it->is_over[PROPOSE] = 1;
}

/* native, list(shape, inputs, lengths), y, block, given [n_given x n] and candidates
 * [n_candidates x n] (latents from 1), number of slots, number of proposals -> list(touched, over,
 * gain [n_candidates x n], proposed [n_proposed x n], as the model gives them, from 1). */
SEXP r_probe_gains(SEXP native, SEXP problem, SEXP y, SEXP block, SEXP given, SEXP candidates,
                   SEXP states, SEXP n_proposed) {
  static const char *const names[] = {"touched", "over", "gain", "proposed"};
  const SEXP result = PROTECT(new_named_list(4, names));
  probe it = read_probe(native, problem, y, block, NULL, states, result);
  const int n = it.problem.n_points, n_given = n_rows_of(given, "given"),
            n_gains = n_rows_of(candidates, "candidates");
  const int n_latents = it.problem.shape.n_latents;
  const size_t n_points = (size_t)n;
  if (it.model->gain == NULL) raise_error("model", "The model has no `gain`.");
  if (n_given > it.states.n_slots) raise_error("model", "More latents are given than slots.");
  const int *on = need_latents(read_slots(given, n_given, n, n_latents, "given"),
                               (size_t)n_given * n_points, "given");
  const int *candidate = need_latents(read_latents(candidates, n_gains, n, n_latents, "candidates"),
                                      (size_t)n_gains * n_points, "candidates");
  const int n_drawn = it.model->propose ? view_count(n_proposed, 0, "n_proposed") : 0;
  const gps_states largest = SCREEN_LARGEST_PROBE(it.states.n_slots);
  it.scratch = lend(it.model->scratch_size(&it.problem, &largest));
  const lent gain = lend((size_t)n_gains);
  int *proposed = (int *)R_alloc((size_t)n_drawn + 2, sizeof *proposed);
  double *gains = hang_matrix(result, 2, n_gains, n);
  int *drawn = hang_int_matrix(result, 3, n_drawn, n);
  for (int i = 0; i < n; i++) {
    const gps_point point = point_of(&it, i);
    const int *set = on + (size_t)i * (size_t)n_given;
    put_marks(it.scratch.data, it.scratch.length);
    put_marks(gain.data, gain.length);
    if (it.model->gain_begin) {
      check_call(it.model->gain_begin(&it.problem, &point, it.scratch.data), "`gain_begin`", i);
      note(&it, GAIN_BEGIN, gain);
    }
    check_call(it.model->gain(&it.problem, &point, n_given, set, n_gains,
                              candidate + (size_t)i * gain.length, gain.data, it.scratch.data),
               "`gain`", i);
    note(&it, GAIN, gain);
    memcpy(gains + (size_t)i * gain.length, gain.data, gain.length * sizeof(double));
    if (n_drawn > 0) probe_proposals(&it, &point, n_given, set, n_drawn, proposed);
    for (int k = 0; k < n_drawn; k++)
      drawn[(size_t)i * (size_t)n_drawn + (size_t)k] = proposed[k + 1] + 1;
  }
  UNPROTECT(1);
  return result;
}

/* One slot of one point given the others: the law that the model has for it. */
static void probe_slot(probe *it, int n, int slot, const double *value, lent joint, double *prob_on,
                       double *log_density, int n_draws, double *draws) {
  const uint32_t seed[2] = {1, 2};
  const gps_point point = point_of(it, n);
  gps_rng rng = gps_rng_stream(seed, 0, GPS_PURPOSE_GIBBS, 0,
                               gps_stream_of(&it->problem, (size_t)point.index));
  put_marks(it->scratch.data, it->scratch.length);
  gps_step step = {.value = value[slot]};
  check_call(it->model->conditional(&it->problem, &point, &it->states, slot, value, NULL, &step,
                                    it->scratch.data),
             "`conditional`", n);
  *prob_on = step.prob_on;
  *log_density = step.log_density;
  for (int k = 0; k < n_draws; k++) {
    check_call(it->model->conditional(&it->problem, &point, &it->states, slot, value, &rng, &step,
                                      it->scratch.data),
               "`conditional`", n);
    draws[k] = step.value;
  }
  note(it, CONDITIONAL, joint);
  check_call(it->model->log_joint_draw(&it->problem, &point, &it->states, value, joint.data,
                                       it->scratch.data),
             "`log_joint_draw`", n);
  note(it, LOG_JOINT_DRAW, joint);
}

/* native, list(shape, inputs, lengths), y, block, selected [n_slots x n], states (as many as draws
 * of scratch), value [n_slots x n], slot from 1, n_draws -> list(touched, over, prob_on [n],
 * log_density [n], log_joint [n] without shared_term, draws [n_draws x n], shared [n]). */
SEXP r_probe_slot(SEXP native, SEXP problem, SEXP y, SEXP block, SEXP selected, SEXP states,
                  SEXP value, SEXP slot, SEXP n_draws) {
  static const char *const names[] = {"touched",   "over",  "prob_on", "log_density",
                                      "log_joint", "draws", "shared"};
  const SEXP result = PROTECT(new_named_list(7, names));
  probe it = read_probe(native, problem, y, block, selected, states, result);
  const int n = it.problem.n_points, n_slots = it.states.n_slots;
  const int at = view_int(slot, "slot") - 1, n_drawn = view_count(n_draws, 0, "n_draws");
  const double *values = view_matrix(value, n_slots, n, "value");
  if (it.model->conditional == NULL) raise_error("model", "The model has no `conditional`.");
  if (at < 0 || at >= n_slots) raise_error("model", "There is no slot %d.", at + 1);
  gps_states drawn = it.states;
  if (drawn.n_states < 2) drawn.n_states = 2;
  it.scratch = lend(it.model->scratch_size(&it.problem, &drawn));
  double *prob_on = hang_doubles(result, 2, n), *log_density = hang_doubles(result, 3, n);
  double *log_joint = hang_doubles(result, 4, n), *draws = hang_matrix(result, 5, n_drawn, n);
  double *shared = hang_doubles(result, 6, n);
  const lent joint = lend(1);
  for (int i = 0; i < n; i++) {
    const gps_point point = point_of(&it, i);
    need_latents(point.latent + at, 1, "selected");
    probe_slot(&it, i, at, values + (size_t)i * (size_t)n_slots, joint, prob_on + i,
               log_density + i, n_drawn, draws + (size_t)i * (size_t)n_drawn);
    log_joint[i] = joint.data[0];
    shared[i] = it.model->shared_term ? it.model->shared_term(&it.problem, &point) : 0;
  }
  UNPROTECT(1);
  return result;
}

/* native, list(shape, inputs, lengths) without what is prepared, dims of that, y, block ->
 * list(touched, over, prepared); NaN where prepare() writes nothing. */
SEXP r_probe_prepare(SEXP native, SEXP problem_list, SEXP dims, SEXP y, SEXP block_list) {
  static const char *const names[] = {"touched", "over", "prepared"};
  const SEXP result = PROTECT(new_named_list(3, names));
  const gps_model *model = find_model(native);
  const SEXP shape = list_need(problem_list, "shape");
  const r_block block = read_block(y, block_list, view_ints(shape, 2, "shape")[0]);
  const gps_problem problem = read_problem(model, shape, list_need(problem_list, "inputs"),
                                           list_need(problem_list, "lengths"), block, 0);
  const int n = count_arrays(model->prepared);
  double **data = (double **)R_alloc((size_t)n + 1, sizeof *data);
  SET_VECTOR_ELT(result, 2, new_arrays(&problem, model->prepared, dims, 1, data));
  int *is_touched = hang_int_matrix(result, 0, N_MEMBERS, 1);
  int *is_over = hang_int_matrix(result, 1, N_MEMBERS, 1);
  memset(is_touched, 0, N_MEMBERS * sizeof(int));
  memset(is_over, 0, N_MEMBERS * sizeof(int));
  if (model->prepare == NULL) raise_error("model", "The model has no `prepare`.");
  lent *arrays = (lent *)R_alloc((size_t)n + 1, sizeof *arrays);
  double **pointer = lend_stats(VECTOR_ELT(result, 2), arrays, 0);
  const int n_there = Rf_length(VECTOR_ELT(result, 2));
  for (int i = 0; i < n_there; i++) put_marks(pointer[i], arrays[i].length);
  for (int i = 0, at = 0; i < n; i++) data[i] = data[i] ? pointer[at++] : NULL;
  need_ok(model->prepare(&problem, block.y, data), "`prepare`");
  for (int i = 0; i < n_there; i++) is_over[PREPARE] |= take_marks(arrays[i]);
  copy_stats(VECTOR_ELT(result, 2), arrays);
  UNPROTECT(1);
  return result;
}
