/* The E-step by Gibbs sampling, for state spaces too large to sum over. The kept sweeps are
 * arranged as in Murray and Salakhutdinov (2009), "Evaluating probabilities under high-dimensional
 * latent variable models", NIPS 21: they give posterior means and an unbiased estimate of the sum
 * over all states. Theirs lead to one target; here there may be several, one for each beginning of
 * the chain, so that good states that are far from each other are counted together. Called by
 * r_estep.c, one thread a block. */
#include "infer_gibbs.h"

#include <math.h>
#include <string.h>

typedef enum { HOT, GREEDY, OPPOSITE } beginning;

/* Draws that are made: two where one is kept. Also the states of the largest template. */
static int n_drawn_of(const gps_chain *chain) { return chain->n_keep > 2 ? chain->n_keep : 2; }

size_t infer_gibbs_scratch(const gps_model *model, const gps_problem *problem,
                           const gps_states *states, const gps_chain *chain) {
  const size_t n_drawn = (size_t)n_drawn_of(chain);
  const gps_states drawn = {states->n_slots, states->max_active, (int)n_drawn, NULL, NULL, NULL, 0};
  return (size_t)states->n_slots * (MOST_BEGUN + n_drawn + 1) + 2 * n_drawn + walk_doubles(states) +
         model->scratch_size(problem, &drawn);
}

size_t infer_gibbs_ints(const gps_states *states, const gps_chain *chain) {
  const int n_drawn = n_drawn_of(chain);
  return walk_ints(states, n_drawn) + (size_t)(MOST_BEGUN + n_drawn) * (size_t)states->max_active;
}

static gibbs_work new_work(const infer_job *job, double *scratch, int *ints) {
  const gps_states *states = job->states;
  const size_t n_slots = (size_t)states->n_slots;
  const int n_drawn = n_drawn_of(job->chain);
  const size_t n_kept = (size_t)(MOST_BEGUN + n_drawn);
  gibbs_work work = {.chain = job->chain};
  work.value = scratch;
  work.prob_on = work.value + n_slots * n_kept;
  work.log_density = work.prob_on + n_slots;
  work.weight = work.log_density + n_drawn;
  double *rest = work.weight + n_drawn;
  work.held = ints;
  work.walk = new_walk(job->model, job->problem, states, n_drawn, rest,
                       ints + n_kept * (size_t)states->max_active, rest + walk_doubles(states));
  return work;
}

static gps_state draw_of(const gibbs_work *work, int s) { return state_of(work, MOST_BEGUN + s); }
/* Draw s, by a sweep in either order from another draw or a target. */
static gps_status keep_draw(gibbs_work *work, int s, gps_state from, int is_reverse, gps_rng *rng,
                            double *prob_on) {
  const gps_state draw = draw_of(work, s);
  walk_load_state(&work->walk, &from);
  const gps_status status = walk_sweep(&work->walk, is_reverse, rng, prob_on);
  walk_keep_state(&work->walk, &draw);
  return status;
}

/* The kept draws: one, at a random place of the chain, by a reverse sweep from the target; those
 * after it by ascending sweeps, those before it by reverse ones. */
static gps_status keep_draws(gibbs_work *work, gps_rng *rng) {
  const size_t n_slots = (size_t)work->walk.states->n_slots;
  const int n_keep = work->chain->n_keep, first = gps_rng_index(rng, n_keep);
  memset(work->prob_on, 0, n_slots * sizeof(double));
  gps_status status = keep_draw(work, first, target_of(work, work->chosen), 1, rng, work->prob_on);
  for (int s = first + 1; s < n_keep && status == GPS_OK; s++)
    status = keep_draw(work, s, draw_of(work, s - 1), 0, rng, work->prob_on);
  for (int s = first - 1; s >= 0 && status == GPS_OK; s--)
    status = keep_draw(work, s, draw_of(work, s + 1), 1, rng, work->prob_on);
  for (size_t i = 0; i < n_slots; i++) work->prob_on[i] /= n_keep;
  return status;
}

/* Log joint of target k, the present state, less what all states share: of one way to write it. */
static gps_status log_joint_at(gibbs_work *work, int k) {
  gps_walk *walk = &work->walk;
  gps_status status;
  if (walk->model->conditional) {
    status = walk->model->log_joint_draw(walk->problem, walk->point, walk->states, walk->value,
                                         work->log_p + k, walk->scratch);
  } else {
    walk_put_state(walk, 0, walk->n_on, walk->on);
    const gps_states states = walk_template(walk, 1);
    status =
        walk->model->log_joint(walk->problem, walk->point, &states, work->log_p + k, walk->scratch);
    work->log_p[k] *= walk->problem->beta;
  }
  work->log_ways[k] = walk->by_positions ? positions_log_ways(walk) : 0;
  work->log_p[k] -= work->log_ways[k];
  return status;
}

/* How probable it is that a sweep leads from the chosen target, where draw s is that too, to
 * another state; else 0. Where all draws are the target, this is how probable it was to meet
 * another one, and about how far off such a draw would be. */
static double leaving(const gibbs_work *work, int s, double own) {
  const int k = work->chosen;
  const size_t bytes = (size_t)work->walk.states->n_slots * sizeof(double);
  if (memcmp(draw_of(work, s).value, target_of(work, k).value, bytes) != 0) return 0;
  return fmax(0, -expm1(own + work->log_p[k] + work->log_ways[k]));
}

/* log_density [n_drawn] of each draw: log of the sum over targets of q T(target <- draw) /
 * p(target). */
static gps_status weigh_draws(gibbs_work *work) {
  const int n_drawn = n_drawn_of(work->chain);
  work->unseen = 1;
  for (int k = 0; k < work->n_targets; k++) work->reach[k] = -HUGE_VAL;
  for (int s = 0; s < n_drawn; s++) {
    double own, other;
    gps_status status = target_log_reach(work, work->chosen, draw_of(work, s), -HUGE_VAL, &own);
    work->log_density[s] = own + work->log_q[work->chosen];
    work->unseen = fmin(work->unseen, leaving(work, s, own));
    work->reach[work->chosen] = log_add(work->reach[work->chosen], own);
    for (int k = 0; k < work->n_targets && status == GPS_OK; k++) {
      if (k == work->chosen) continue;
      status = target_log_reach(work, k, draw_of(work, s), own - HOPELESS, &other);
      work->log_density[s] = log_add(work->log_density[s], other + work->log_q[k]);
      work->reach[k] = log_add(work->reach[k], other);
    }
    if (status != GPS_OK) return status;
  }
  return GPS_OK;
}

/* log Z: minus the log of the mean over draws of what leads from them to the targets. A single draw
 * shows no spread: half the square of its distance from another one, used for nothing else, has the
 * variance for its mean. */
static gps_status estimate_evidence(gibbs_work *work, gps_rng *rng, double *log_evidence,
                                    double *variance) {
  const int n_keep = work->chain->n_keep;
  gps_status status = GPS_OK;
  if (n_keep == 1) status = keep_draw(work, 1, target_of(work, work->chosen), 1, rng, NULL);
  if (status == GPS_OK) status = weigh_draws(work);
  if (status != GPS_OK) return status;
  *log_evidence = -log_mean(work->log_density, n_keep, variance);
  *variance += work->unseen * work->unseen * work->unseen / n_keep;
  if (n_keep == 1) {
    const double distance = work->log_density[0] - work->log_density[1];
    *variance = distance * distance / 2;
  }
  return GPS_OK;
}

/* Statistics and description of the draws: by the model's own functions for them, or as states of
 * equal probability. */
static gps_status use_draws(gibbs_work *work, double *latent, double *response,
                            double *const *stats) {
  gps_walk *walk = &work->walk;
  const gps_model *model = walk->model;
  const int n_keep = work->chain->n_keep;
  gps_status status = GPS_OK;
  if (model->conditional) {
    if (latent) {
      status = model->describe_draws(walk->problem, walk->point, walk->states, n_keep,
                                     draw_of(work, 0).value, latent, response, walk->scratch);
    }
    if (!stats || status != GPS_OK) return status;
    return model->accumulate_draws(walk->problem, walk->point, walk->states, n_keep,
                                   draw_of(work, 0).value, work->prob_on, stats, walk->scratch);
  }
  if (!latent && !stats) return GPS_OK;
  for (int s = 0; s < n_keep; s++) {
    walk_load(walk, draw_of(work, s).value);
    walk_put_state(walk, s, walk->n_on, walk->on);
  }
  const gps_states states = walk_template(walk, n_keep);
  status = model->log_joint(walk->problem, walk->point, &states, work->weight, walk->scratch);
  for (int s = 0; s < n_keep; s++) work->weight[s] = 1.0 / n_keep;
  if (latent && status == GPS_OK) {
    status = model->describe(walk->problem, walk->point, &states, work->weight, latent, response,
                             walk->scratch);
  }
  if (!stats || status != GPS_OK) return status;
  return model->accumulate(walk->problem, walk->point, &states, work->weight, stats, walk->scratch);
}

/* Whether a chain goes on to another iteration: its evidence is not the last word. Then those of
 * some points, in turn, are compared with one new beginning. */
static int goes_on(const gps_chain *chain) { return chain->n_hot == 0 && chain->period > 1; }

static size_t turn_of(const gps_problem *problem, size_t n) {
  return gps_stream_of(problem, n) + (size_t)problem->iteration;
}

static int first_begun(const gibbs_work *work, size_t n) {
  const gps_chain *chain = work->chain;
  if (chain->n_new == 0) return ONE_BEGUN;
  if (!goes_on(chain)) return FEWEST_BEGUN;
  const size_t turn = turn_of(work->walk.problem, n);
  return turn % (size_t)chain->period == 0 ? TWO_BEGUN : ONE_BEGUN;
}

/* Values of the latents that are on are drawn with difficulty far from where they should be: then
 * a hot one instead of an opposite one. A single one more is hot or greedy, in turn. */
static beginning kind_of(const gibbs_work *work, size_t n) {
  const gps_chain *chain = work->chain;
  if (goes_on(chain)) {
    const size_t turn = turn_of(work->walk.problem, n) / (size_t)chain->period;
    return work->n_begun == 1 && turn % 2 == 1 ? GREEDY : HOT;
  }
  const int is_opposite = work->n_begun == 2 ||
                          (work->walk.by_positions && work->n_begun > 3 && work->n_begun % 2 == 0);
  if (is_opposite && !work->walk.model->conditional) return OPPOSITE;
  return work->n_begun == 1 ? GREEDY : HOT;
}

/* Whether the draws of a chain that goes on are by positions, of which each sweep takes several
 * times as long: where all are taken, and nothing else leads on, unless models draw values. */
static int has_to_hold(const gps_walk *walk) {
  return walk->by_positions && !walk->model->conditional && walk->n_on == walk->states->max_active;
}

/* One more beginning, from `value` or, where that is NULL, from a state in which all is off: sweeps
 * that lead to its target, unless another one led there. */
static gps_status begin(gibbs_work *work, size_t n, const double *value, int n_hot, gps_rng *rng) {
  gps_walk *walk = &work->walk;
  const size_t bytes = (size_t)walk->states->n_slots * sizeof(double);
  const gps_state target = target_of(work, work->n_targets);
  const beginning how = kind_of(work, n);
  memset(target.value, 0, bytes);
  walk_load(walk, value ? value : target.value);
  if (how == OPPOSITE)
    walk_oppose(walk, work->n_begun == 2 ? target_of(work, 0).value : target.value, rng);
  gps_status status = how == GREEDY ? walk_climb(walk, rng)
                      : how == HOT  ? walk_cool(walk, n_hot, rng)
                                    : walk_settle(walk, rng);
  for (int b = 0; b < work->chain->n_burn && status == GPS_OK; b++)
    status = walk_burn(walk, b == 0 && !walk->is_brief, rng);
  if (walk->is_brief && work->n_begun == 0) walk->by_positions = has_to_hold(walk);
  int k = 0;
  while (k < work->n_targets && memcmp(target_of(work, k).value, walk->value, bytes) != 0) k++;
  if (k == work->n_targets) {
    walk_load(walk, walk->value);
    if (walk->by_positions) positions_shuffle(walk, rng);
    walk_keep_state(walk, &target);
    if (status == GPS_OK) status = log_joint_at(work, k);
    work->n_led[k] = 0;
    work->n_targets++;
  }
  work->n_led[k]++;
  work->n_begun++;
  return status;
}

static gps_status estimate_point(gibbs_work *work, gps_rng *rng, double *log_evidence,
                                 double *variance) {
  gps_status status = target_choose(work, rng);
  if (status == GPS_OK) status = keep_draws(work, rng);
  return status == GPS_OK ? estimate_evidence(work, rng, log_evidence, variance) : status;
}

/* Draws and estimate of a point, from as many beginnings as it takes. What the first few disagreed
 * about stays in the variance: for other points, where they all missed the same, there is nothing
 * that tells. */
static gps_status draw_point(gibbs_work *work, size_t n, gps_rng *rng, double *log_evidence,
                             double *variance) {
  const gps_chain *chain = work->chain;
  gps_walk *walk = &work->walk;
  const double *value = chain->value + n * (size_t)walk->states->n_slots;
  const int is_passing = goes_on(chain), first = first_begun(work, n);
  double lost = 0;
  work->n_begun = work->n_targets = 0;
  walk->is_brief = is_passing;
  walk->is_plain = chain->n_new == 0;
  if (walk->is_plain) walk->by_positions = 0;
  gps_status status = begin(work, n, value, chain->n_hot, rng);
  for (int most = first, is_first = 1; is_first || work->n_begun < most; is_first = 0) {
    while (work->n_begun < most && status == GPS_OK)
      status = begin(work, n, NULL, chain->n_new, rng);
    if (status == GPS_OK) status = estimate_point(work, rng, log_evidence, variance);
    if (status != GPS_OK) return status;
    if (is_first && first > 1) lost = target_lost_square(work);
    const int is_barred = walk->by_positions && !walk->model->conditional;
    const int is_short = !is_passing && first > 1;
    if (is_short && (is_barred || target_are_apart(work))) most = MOST_BEGUN;
  }
  *variance += lost * (is_passing ? chain->period : 1);
  return GPS_OK;
}

/* One data point: results into column n of the posterior. */
static gps_status sample_point(gibbs_work *work, const gps_point *point, size_t n,
                               const gps_posterior *posterior, double *const *stats) {
  gps_walk *walk = &work->walk;
  const gps_problem *problem = walk->problem;
  const gps_chain *chain = work->chain;
  const size_t n_slots = (size_t)walk->states->n_slots, n_keep = (size_t)chain->n_keep;
  const size_t bytes = n_slots * sizeof(double);
  gps_rng rng = gps_rng_stream(chain->seed, chain->start, GPS_PURPOSE_GIBBS,
                               (uint32_t)problem->iteration, gps_stream_of(problem, n));
  double log_evidence = 0, variance = 0;
  gps_status status = walk_point(walk, point);
  if (status == GPS_OK) status = draw_point(work, n, &rng, &log_evidence, &variance);
  if (status != GPS_OK) return status;
  if (walk->model->shared_term)
    log_evidence += problem->beta * walk->model->shared_term(problem, point);
  if (!isfinite(log_evidence)) return GPS_NOT_FINITE;
  posterior->log_evidence[n] = log_evidence;
  posterior->variance[n] = variance;
  memcpy(posterior->prob_on + n * n_slots, work->prob_on, bytes);
  memcpy(posterior->value + n * n_slots, draw_of(work, (int)n_keep - 1).value, bytes);
  if (posterior->draws)
    memcpy(posterior->draws + n * n_keep * n_slots, draw_of(work, 0).value, n_keep * bytes);
  return use_draws(
      work, posterior->latent ? posterior->latent + n * n_slots : NULL,
      posterior->response ? posterior->response + n * (size_t)problem->shape.n_dims : NULL, stats);
}

gps_status infer_gibbs(const infer_job *job, size_t from, size_t to, double *const *stats,
                       double *scratch, int *ints, size_t *bad_point) {
  const gps_problem *problem = job->problem;
  const size_t n_dims = (size_t)problem->shape.n_dims, n_slots = (size_t)job->states->n_slots;
  gibbs_work work = new_work(job, scratch, ints);
  for (size_t n = from; n < to; n++) {
    const gps_point point = {(int)n, job->y + n * n_dims, gps_observed_of(problem, (int)n),
                             job->latent + n * n_slots};
    *bad_point = n;
    const gps_status status = sample_point(&work, &point, n, job->posterior, stats);
    if (status != GPS_OK) return status;
  }
  return GPS_OK;
}
