/* The E-step and M-step of native models for R: finds the model, allocates, runs waves of blocks on
 * threads, folds their statistics. Equations 2 and 5 of the paper's Algorithm 1 meet here; the
 * mathematics is in infer_*.c and model_*.c. */
#include <string.h>

#include "blocks.h"
#include "infer.h"
#include "r_latents.h"
#include "r_states.h"
#include "threads.h"

/* Doubles that the statistics of a wave may take. */
#define WAVE_DOUBLES ((size_t)1 << 22)
/* Blocks in a wave for each thread. */
#define WAVE_BLOCKS 8
/* Work of one block in its first slice, in numbers that a point's states or sweeps touch: far below
 * a tenth of a second for all blocks of a wave. Later slices are as long as the clock says. */
#define SLICE_WORK ((size_t)1 << 18)
/* Sweeps of one kind that a chain may have. */
#define MOST_SWEEPS 1000000

/* A wave: several blocks in flight, each with statistics of its own, slice by slice. */
typedef struct {
  infer_job infer;
  const double *weight; /* [n_points] of points that the model does not weigh itself, or NULL */
  int n_stats, n_threads, wants_stats;
  size_t stats_length, scratch_length, ints_length;
  size_t n_slice;            /* points of a block in the next slice: between two questions */
  const size_t *stat_offset; /* [n_stats] into a block's statistics */
  double *stats;             /* [stats_length x blocks in the wave] */
  double *scratch;           /* [scratch_length x n_threads] */
  int *ints;                 /* [ints_length x n_threads] */
  double **stat_pointer;     /* [n_stats x blocks in the wave] */
  double *own;               /* [stats_length x n_threads] of one point, where there are weights */
  double **own_pointer;      /* [n_stats x n_threads] */
} wave_job;

typedef struct {
  gps_status status;
  size_t point;
} failure;

/* Points [from, to), all in one block; stats NULL: no statistics. */
static void run_points(const wave_job *job, size_t from, size_t to, int thread,
                       double *const *stats, failure *result) {
  double *scratch = job->scratch + (size_t)thread * job->scratch_length;
  if (job->infer.chain) {
    result->status = infer_gibbs(&job->infer, from, to, stats, scratch,
                                 job->ints + (size_t)thread * job->ints_length, &result->point);
  } else {
    result->status = infer_exact(&job->infer, from, to, stats, scratch, &result->point);
  }
}

/* The same point by point, for a model that knows nothing of weights: a point's statistics are
 * multiplied and added to the block's [stats_length]. */
static void run_weighed(const wave_job *job, size_t from, size_t to, int thread, double *into,
                        failure *result) {
  double *own = job->own + (size_t)thread * job->stats_length;
  double **pointer = job->own_pointer + (size_t)thread * (size_t)job->n_stats;
  for (int s = 0; s < job->n_stats; s++) pointer[s] = own + job->stat_offset[s];
  for (size_t n = from; n < to && result->status == GPS_OK; n++) {
    const double weight = job->weight[n];
    memset(own, 0, job->stats_length * sizeof *own);
    run_points(job, n, n + 1, thread, weight > 0 ? pointer : NULL, result);
    for (size_t i = 0; i < job->stats_length; i++) into[i] += weight * own[i];
  }
}

/* The points of a block that lie in the slice from its point `start` on, unless an earlier slice
 * failed. */
static void run_slice(const wave_job *job, size_t block, int in_wave, size_t start, int thread,
                      failure *result) {
  const size_t n_points = (size_t)job->infer.problem->n_points,
               from = block * GPS_BLOCK_POINTS + start;
  const size_t left = GPS_BLOCK_POINTS - start, n = left < job->n_slice ? left : job->n_slice;
  if (result->status != GPS_OK || from >= n_points) return;
  const size_t to = from + n < n_points ? from + n : n_points;
  double *const *pointer = job->stat_pointer + (size_t)in_wave * (size_t)job->n_stats;
  if (job->wants_stats && job->weight) {
    run_weighed(job, from, to, thread, job->stats + (size_t)in_wave * job->stats_length, result);
  } else {
    run_points(job, from, to, thread, job->wants_stats ? pointer : NULL, result);
  }
}

static void clear_stats(const wave_job *job, int n_blocks) {
  memset(job->stats, 0, job->stats_length * (size_t)n_blocks * sizeof *job->stats);
  for (int b = 0; b < n_blocks; b++) {
    double *stats = job->stats + (size_t)b * job->stats_length;
    double **pointer = job->stat_pointer + (size_t)b * (size_t)job->n_stats;
    for (int s = 0; s < job->n_stats; s++) pointer[s] = stats + job->stat_offset[s];
  }
}

/* Blocks first .. first + n_blocks - 1. The failure with the smallest data point is reported. */
static void run_wave(wave_job *job, size_t first, int n_blocks, failure *results) {
  clear_stats(job, n_blocks);
  for (int b = 0; b < n_blocks; b++) results[b].status = GPS_OK;
  for (size_t start = 0, n = 0; start < GPS_BLOCK_POINTS; start += n) {
    const double began = clock_seconds();
    n = job->n_slice;
#pragma omp parallel for num_threads(n_blocks > 1 ? job->n_threads : 1) schedule(dynamic)
    for (int b = 0; b < n_blocks; b++)
      run_slice(job, first + (size_t)b, b, start, thread_number(), results + b);
    ask_watch();
    job->n_slice = adapt_slice(n, clock_seconds() - began);
    if (job->n_slice > GPS_BLOCK_POINTS) job->n_slice = GPS_BLOCK_POINTS;
  }
  for (int b = 0; b < n_blocks; b++) {
    if (results[b].status != GPS_OK) {
      raise_status(results[b].status, "E-step", job->infer.problem->first_row + results[b].point);
    }
  }
}

/* A sweep visits all slots, and each visit may touch all dimensions. */
static size_t point_work(const wave_job *job) {
  size_t work = (size_t)job->infer.states->n_slots + 1;
  if (job->infer.chain) {
    const gps_chain *chain = job->infer.chain;
    work *= (size_t)chain->n_hot + (size_t)chain->n_new + 2 * (size_t)chain->n_burn +
            3 * (size_t)chain->n_keep;
    work *= (size_t)job->infer.problem->shape.n_dims;
  } else {
    work *= (size_t)job->infer.states->n_states;
  }
  return work;
}

/* All blocks in waves; the sum of their statistics goes to total [stats_length]. */
static void run_blocks(wave_job *job, double *total) {
  const size_t n_blocks =
      ((size_t)job->infer.problem->n_points + GPS_BLOCK_POINTS - 1) / GPS_BLOCK_POINTS;
  int wave = job->n_threads * WAVE_BLOCKS;
  while (wave > job->n_threads && (size_t)wave * job->stats_length > WAVE_DOUBLES) wave--;
  const int n_levels = fold_levels(n_blocks);
  job->stats = (double *)R_alloc(job->stats_length * (size_t)wave, sizeof(double));
  job->stat_pointer = (double **)R_alloc((size_t)(job->n_stats * wave), sizeof(double *));
  job->scratch = (double *)R_alloc(job->scratch_length * (size_t)job->n_threads, sizeof(double));
  job->ints = (int *)R_alloc(job->ints_length * (size_t)job->n_threads, sizeof(int));
  if (job->weight && job->wants_stats) {
    const size_t n_threads = (size_t)job->n_threads;
    job->own = (double *)R_alloc(job->stats_length * n_threads, sizeof(double));
    job->own_pointer = (double **)R_alloc((size_t)job->n_stats * n_threads, sizeof(double *));
  }
  failure *results = (failure *)R_alloc((size_t)wave, sizeof *results);
  gps_fold fold;
  fold_begin(&fold, (double *)R_alloc((size_t)n_levels * job->stats_length, sizeof(double)),
             n_levels, job->stats_length);
  for (size_t first = 0; first < n_blocks; first += (size_t)wave) {
    const int n = n_blocks - first < (size_t)wave ? (int)(n_blocks - first) : wave;
    run_wave(job, first, n, results);
    for (int b = 0; b < n; b++) fold_push(&fold, job->stats + (size_t)b * job->stats_length);
  }
  fold_end(&fold, total);
}

/* Posteriors of all points, and their statistics into the arrays stat. Without statistics, or where
 * they are gathered latent by latent, blocks have none. */
static void infer_blocks(wave_job *job, const double *weight, const size_t *offset,
                         double *const *stat, SEXP stats) {
  const int by_latent = job->wants_stats && !job->infer.chain &&
                        sums_by_latent(job->infer.model, job->infer.problem, job->infer.states,
                                       stats, job->stats_length);
  if (by_latent || !job->wants_stats) job->wants_stats = job->n_stats = 0;
  if (job->n_stats == 0) job->stats_length = 1;
  double *total = (double *)R_alloc(job->stats_length, sizeof *total);
  run_blocks(job, total);
  for (int s = 0; s < job->n_stats; s++)
    memcpy(stat[s], total + offset[s], (offset[s + 1] - offset[s]) * sizeof *total);
  if (by_latent) {
    const r_posterior_slots slots = {job->infer.latent, job->infer.posterior->prob_on, weight};
    sum_latents(job->infer.model, job->infer.problem, job->infer.states, job->infer.y, &slots,
                offset, stat, job->n_threads);
  }
}

enum { PROB_ON, LOG_EVIDENCE, STATS, LATENT, RESPONSE, PROB, VALUE, VARIANCE, DRAWS, N_RESULTS };
static const char *const result_names[] = {
    "prob_on", "log_evidence", "stats", "latent", "response", "prob", "value", "variance", "draws"};

static int wants(SEXP want, const char *name) {
  if (TYPEOF(want) != STRSXP) raise_error("model", "`want` must be words.");
  for (R_xlen_t i = 0; i < Rf_xlength(want); i++) {
    if (strcmp(CHAR(STRING_ELT(want, i)), name) == 0) return 1;
  }
  return 0;
}

/* list(sweeps [2], seed [2], start, value [n_slots x n], n_hot), or NULL where the E-step is
 * exact. */
static const gps_chain *read_chain(SEXP list, int n_slots, int n_points) {
  if (list == R_NilValue) return NULL;
  gps_chain *chain = (gps_chain *)R_alloc(1, sizeof *chain);
  const int *sweeps = view_ints(list_need(list, "sweeps"), 2, "sweeps");
  const int *seed = view_ints(list_need(list, "seed"), 2, "seed");
  chain->n_burn = sweeps[0];
  chain->n_keep = sweeps[1];
  for (int i = 0; i < 2; i++) chain->seed[i] = (uint32_t)seed[i];
  chain->start = (uint32_t)view_int(list_need(list, "start"), "start");
  chain->value = view_matrix(list_need(list, "value"), n_slots, n_points, "value");
  chain->n_hot = view_count(list_need(list, "n_hot"), 0, "n_hot");
  chain->n_new = view_count(list_need(list, "n_new"), 0, "n_new");
  chain->period = view_count(list_need(list, "period"), 1, "period");
  if (chain->n_burn < 0 || chain->n_keep < 1) raise_error("model", "No sweep is to be kept.");
  if (chain->n_burn > MOST_SWEEPS || chain->n_keep > MOST_SWEEPS || chain->n_hot > MOST_SWEEPS ||
      chain->n_new > MOST_SWEEPS)
    raise_error("model", "A chain has 1e6 sweeps of a kind at most.");
  return chain;
}

/* Posterior means are the model's to tell. */
static void need_describe(const gps_model *model, SEXP want, int is_sampled) {
  const int by_draws = is_sampled && model->conditional;
  if (by_draws ? model->describe_draws != NULL : model->describe != NULL) return;
  const char *const words[] = {"latent", "response"};
  for (int i = 0; i < 2; i++) {
    if (wants(want, words[i]))
      raise_error("model", "The model has no `%s`, which \"%s\" needs.",
                  by_draws ? "describe_draws" : "describe", words[i]);
  }
}

/* Arrays of the posterior that are wanted, hung on the result. latent is needed to describe the
 * response. */
static gps_posterior new_posterior(SEXP result, SEXP want, const gps_problem *problem,
                                   const gps_states *states, const gps_chain *chain) {
  gps_posterior posterior = {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
  posterior.prob_on = hang_matrix(result, PROB_ON, states->n_slots, problem->n_points);
  posterior.log_evidence = hang_doubles(result, LOG_EVIDENCE, problem->n_points);
  if (wants(want, "latent") || wants(want, "response")) {
    posterior.latent = hang_matrix(result, LATENT, states->n_slots, problem->n_points);
  }
  if (wants(want, "response")) {
    posterior.response = hang_matrix(result, RESPONSE, problem->shape.n_dims, problem->n_points);
  }
  if (!chain) {
    if (wants(want, "prob"))
      posterior.prob = hang_matrix(result, PROB, states->n_states, problem->n_points);
    return posterior;
  }
  posterior.value = hang_matrix(result, VALUE, states->n_slots, problem->n_points);
  posterior.variance = hang_doubles(result, VARIANCE, problem->n_points);
  if (wants(want, "draws")) {
    posterior.draws = hang_cube(result, DRAWS, states->n_slots, chain->n_keep, problem->n_points);
  }
  return posterior;
}

/* offset [n + 1] of each array of a list of doubles in one flat buffer. */
static size_t *flat_offsets(SEXP arrays, int n) {
  size_t *offset = (size_t *)R_alloc((size_t)n + 1, sizeof *offset);
  offset[0] = 0;
  for (int i = 0; i < n; i++) offset[i + 1] = offset[i] + (size_t)Rf_xlength(VECTOR_ELT(arrays, i));
  return offset;
}

/* native, shape, inputs, lengths, stats_dims, y, block, selected [n_slots x n], states, list(beta,
 * iteration, n_threads, want, chain) -> list(prob_on, log_evidence, stats, latent, response, prob,
 * value, variance, draws). */
SEXP r_estep(SEXP native, SEXP shape, SEXP inputs, SEXP lengths, SEXP stats_dims, SEXP y,
             SEXP block_list, SEXP selected, SEXP states_list, SEXP settings) {
  const gps_model *model = find_model(native);
  const r_block block = read_block(y, block_list, view_ints(shape, 2, "shape")[0]);
  gps_problem problem = read_problem(model, shape, inputs, lengths, block, 1);
  problem.beta = view_number(list_need(settings, "beta"), "beta");
  problem.iteration = view_int(list_need(settings, "iteration"), "iteration");
  if (!weighs_points(model)) problem.weight = NULL;
  const gps_states states = read_states(states_list);
  const SEXP want = list_need(settings, "want");
  const int n_stats = count_arrays(model->stats);
  const SEXP result = PROTECT(new_named_list(N_RESULTS, result_names));
  const gps_chain *chain =
      read_chain(list_get(settings, "chain"), states.n_slots, problem.n_points);
  if (!chain && states.n_states < 1) raise_error("model", "The template has no state.");
  need_describe(model, want, chain != NULL);
  const gps_posterior posterior = new_posterior(result, want, &problem, &states, chain);
  double **stat = (double **)R_alloc((size_t)n_stats, sizeof *stat);
  SET_VECTOR_ELT(result, STATS, new_arrays(&problem, model->stats, stats_dims, 0, stat));
  const size_t *offset = flat_offsets(VECTOR_ELT(result, STATS), n_stats);
  const int *latent =
      read_slots(selected, states.n_slots, block.n_points, problem.shape.n_latents, "selected");
  wave_job job = {.infer = {model, &problem, &states, chain, block.y, latent, &posterior},
                  .weight = weighs_points(model) ? NULL : block.weight,
                  .n_stats = n_stats,
                  .wants_stats = wants(want, "stats"),
                  .stats_length = offset[n_stats],
                  .stat_offset = offset};
  if (chain) {
    job.scratch_length = infer_gibbs_scratch(model, &problem, &states, chain);
    job.ints_length = infer_gibbs_ints(&states, chain);
  } else {
    job.scratch_length = infer_exact_scratch(&states) + model->scratch_size(&problem, &states);
  }
  const size_t work = point_work(&job), n_slice = SLICE_WORK / work;
  job.n_slice = n_slice < 1 ? 1 : n_slice < GPS_BLOCK_POINTS ? n_slice : GPS_BLOCK_POINTS;
  job.n_threads = threads_for(list_need(settings, "n_threads"),
                              (double)work * problem.n_points * problem.shape.n_dims);
  infer_blocks(&job, block.weight, offset, stat, VECTOR_ELT(result, STATS));
  UNPROTECT(1);
  return result;
}

/* native, shape, inputs (parameters and options), lengths, prepared_dims, y, block -> named list of
 * arrays; NULL: the model's table has no `prepare`. */
SEXP r_prepare(SEXP native, SEXP shape, SEXP inputs, SEXP lengths, SEXP prepared_dims, SEXP y,
               SEXP block_list) {
  const gps_model *model = find_model(native);
  const r_block block = read_block(y, block_list, view_ints(shape, 2, "shape")[0]);
  const gps_problem problem = read_problem(model, shape, inputs, lengths, block, 0);
  const int n = count_arrays(model->prepared);
  if (n > 0 && model->prepare == NULL) return R_NilValue;
  double **data = (double **)R_alloc((size_t)n + 1, sizeof *data);
  const SEXP result = PROTECT(new_arrays(&problem, model->prepared, prepared_dims, 1, data));
  if (n > 0) need_ok(model->prepare(&problem, block.y, data), "Preparing the E-step");
  UNPROTECT(1);
  return result;
}

static int all_finite(const double *x, R_xlen_t n) {
  for (R_xlen_t i = 0; i < n; i++) {
    if (!R_FINITE(x[i])) return 0;
  }
  return 1;
}

/* Copies of the parameters, by name; pointers to their storage go into param [n], NULL for those
 * that may not be there. */
static SEXP copy_params(const gps_array *arrays, SEXP params, SEXP inputs, double **param) {
  const SEXP copies = PROTECT(Rf_duplicate(params));
  for (int i = 0; i < count_arrays(arrays); i++) {
    const SEXP x = arrays[i].presence == GPS_NEEDED ? list_need(copies, arrays[i].name)
                                                    : list_get(copies, arrays[i].name);
    param[i] = NULL;
    if (x == R_NilValue) continue;
    view_doubles(x, Rf_xlength(list_need(inputs, arrays[i].name)), arrays[i].name);
    param[i] = REAL(x);
  }
  UNPROTECT(1);
  return copies;
}

static SEXP new_events(const gps_model *model) {
  const int n = count_names(model->events);
  const SEXP events = PROTECT(Rf_allocVector(INTSXP, n)), names = Rf_allocVector(STRSXP, n);
  Rf_setAttrib(events, R_NamesSymbol, names);
  for (int i = 0; i < n; i++) {
    SET_STRING_ELT(names, i, Rf_mkChar(model->events[i]));
    INTEGER(events)[i] = 0;
  }
  UNPROTECT(1);
  return events;
}

/* native, shape, inputs (parameters and options), lengths, params, stats -> list(params, events).
 */
SEXP r_mstep(SEXP native, SEXP shape, SEXP inputs, SEXP lengths, SEXP params, SEXP stats) {
  const gps_model *model = find_model(native);
  if (model->mstep == NULL) raise_error("model", "The model has no `mstep`.");
  const r_block block = {.n_points = 0};
  const gps_problem problem = read_problem(model, shape, inputs, lengths, block, 0);
  const int n_stats = count_arrays(model->stats), n_params = count_arrays(model->params);
  const double **stat = (const double **)R_alloc((size_t)n_stats, sizeof *stat);
  for (int s = 0; s < n_stats; s++) {
    const SEXP x = list_need(stats, model->stats[s].name);
    stat[s] = view_doubles(x, -1, model->stats[s].name);
    check_shape(&problem, model->stats + s, (double)Rf_xlength(x));
  }
  const char *const names[] = {"params", "events"};
  const SEXP result = PROTECT(new_named_list(2, names));
  double **param = (double **)R_alloc((size_t)n_params, sizeof *param);
  SET_VECTOR_ELT(result, 0, copy_params(model->params, params, inputs, param));
  SET_VECTOR_ELT(result, 1, new_events(model));
  int *events = INTEGER(VECTOR_ELT(result, 1));
  const size_t n_scratch = model->mstep_scratch ? model->mstep_scratch(&problem) : 0;
  double *scratch = (double *)R_alloc(n_scratch, sizeof *scratch);
  gps_status status = model->mstep(&problem, stat, param, events, scratch);
  for (int i = 0; i < n_params && status == GPS_OK; i++) {
    const SEXP x = list_get(VECTOR_ELT(result, 0), model->params[i].name);
    if (param[i] && !all_finite(param[i], Rf_xlength(x))) status = GPS_NOT_FINITE;
  }
  need_ok(status, "M-step");
  UNPROTECT(1);
  return result;
}
