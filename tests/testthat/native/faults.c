/* Tables of one small binary model, right and each with one fault, as another package would
 * register them, and a routine that changes its argument (test-model-probe.R). A state s has
 * log joint -|y - W s|^2 / 2. */
#include <math.h>
#include <string.h>

#include <R.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>

#include <gpselect/model.h>

static const gps_array params[] = {{"W", "dims latents", GPS_NEEDED}, GPS_END};
static const gps_array none[] = {GPS_END};
static const gps_array stats[] = {
    {"on_on", "latents latents", GPS_NEEDED}, {"data_on", "dims latents", GPS_NEEDED}, GPS_END};

static size_t scratch_size(const gps_problem *problem, const gps_states *states) {
  (void)states;
  return (size_t)problem->shape.n_dims;
}

/* -|y - sum of some columns|^2 / 2, with the residual in scratch. */
static double joint_of(const gps_problem *problem, const gps_point *point, int n, const int *latent,
                       double *scratch) {
  const int n_dims = problem->shape.n_dims;
  double square = 0;
  for (int d = 0; d < n_dims; d++) {
    scratch[d] = point->y[d];
    for (int i = 0; i < n; i++) scratch[d] -= problem->input[0][d + latent[i] * n_dims];
    square += scratch[d] * scratch[d];
  }
  return -0.5 * square;
}

static int latents_of(const gps_point *point, int n, const int *slot, int *latent) {
  for (int i = 0; i < n; i++) {
    latent[i] = point->latent[slot[i]];
    if (latent[i] < 0) return 0;
  }
  return 1;
}

static gps_status log_joint(const gps_problem *problem, const gps_point *point,
                            const gps_states *states, double *value, double *scratch) {
  int latent[64];
  for (int m = 0; m < states->n_states; m++) {
    const int *slot = states->active + m * states->max_active;
    value[m] = latents_of(point, states->n_active[m], slot, latent)
                   ? joint_of(problem, point, states->n_active[m], latent, scratch)
                   : -HUGE_VAL;
  }
  return GPS_OK;
}

static gps_status overrun(const gps_problem *problem, const gps_point *point,
                          const gps_states *states, double *value, double *scratch) {
  scratch[problem->shape.n_dims] = 1;
  return log_joint(problem, point, states, value, scratch);
}

static gps_status possible(const gps_problem *problem, const gps_point *point,
                           const gps_states *states, double *value, double *scratch) {
  log_joint(problem, point, states, value, scratch);
  for (int m = 0; m < states->n_states; m++)
    if (value[m] == -HUGE_VAL) value[m] = -1e3;
  return GPS_OK;
}

static gps_status first_alone(const gps_problem *problem, const gps_point *point,
                              const gps_states *states, double *value, double *scratch) {
  (void)scratch;
  (void)problem;
  (void)point;
  for (int m = 0; m < states->n_states / 2; m++) value[m] = 0;
  return GPS_OK;
}

/* Which statistics are written, and whether they are added to. */
static gps_status add_up(const gps_problem *problem, const gps_point *point,
                         const gps_states *states, const double *prob, double *const *to,
                         int writes_data, int adds) {
  const int n_dims = problem->shape.n_dims, n_latents = problem->shape.n_latents;
  int latent[64];
  if (!adds) memset(to[0], 0, sizeof(double) * (size_t)n_latents * (size_t)n_latents);
  for (int m = 0; m < states->n_states; m++) {
    const int n = states->n_active[m];
    if (!latents_of(point, n, states->active + m * states->max_active, latent)) continue;
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < n; j++) to[0][latent[i] + latent[j] * n_latents] += prob[m];
      for (int d = 0; d < n_dims && writes_data; d++)
        to[1][d + latent[i] * n_dims] += prob[m] * point->y[d];
    }
  }
  return GPS_OK;
}

static gps_status accumulate(const gps_problem *problem, const gps_point *point,
                             const gps_states *states, const double *prob, double *const *to,
                             double *scratch) {
  (void)scratch;
  return add_up(problem, point, states, prob, to, 1, 1);
}

static gps_status forgets(const gps_problem *problem, const gps_point *point,
                          const gps_states *states, const double *prob, double *const *to,
                          double *scratch) {
  (void)scratch;
  return add_up(problem, point, states, prob, to, 0, 1);
}

static gps_status sets(const gps_problem *problem, const gps_point *point, const gps_states *states,
                       const double *prob, double *const *to, double *scratch) {
  (void)scratch;
  return add_up(problem, point, states, prob, to, 1, 0);
}

static gps_status gain(const gps_problem *problem, const gps_point *point, int n_given,
                       const int *given, int n_candidates, const int *candidate, double *value,
                       double *scratch) {
  int latent[64];
  for (int i = 0; i < n_given; i++) latent[i] = given[i];
  const double before = joint_of(problem, point, n_given, latent, scratch);
  for (int c = 0; c < n_candidates; c++) {
    latent[n_given] = candidate[c];
    value[c] = joint_of(problem, point, n_given + 1, latent, scratch) - before;
  }
  return GPS_OK;
}

static gps_status lone_gain(const gps_problem *problem, const gps_point *point, int n_given,
                            const int *given, int n_candidates, const int *candidate, double *value,
                            double *scratch) {
  (void)n_given;
  return gain(problem, point, 0, given, n_candidates, candidate, value, scratch);
}

static gps_status propose(const gps_problem *problem, const gps_point *point, int n_given,
                          const int *given, int n_candidates, int *candidate, gps_rng *rng,
                          double *scratch) {
  (void)point;
  (void)n_given;
  (void)given;
  (void)scratch;
  for (int i = 0; i < n_candidates; i++)
    candidate[i] = gps_rng_index(rng, problem->shape.n_latents);
  return GPS_OK;
}

static gps_status propose_none(const gps_problem *problem, const gps_point *point, int n_given,
                               const int *given, int n_candidates, int *candidate, gps_rng *rng,
                               double *scratch) {
  propose(problem, point, n_given, given, n_candidates, candidate, rng, scratch);
  candidate[0] = problem->shape.n_latents;
  return GPS_OK;
}

/* The latent that explains least, again and again. */
static gps_status propose_worst(const gps_problem *problem, const gps_point *point, int n_given,
                                const int *given, int n_candidates, int *candidate, gps_rng *rng,
                                double *scratch) {
  int worst = 0;
  double lowest = HUGE_VAL, value;
  (void)rng;
  for (int h = 0; h < problem->shape.n_latents; h++) {
    gain(problem, point, n_given, given, 1, &h, &value, scratch);
    if (value >= lowest) continue;
    lowest = value;
    worst = h;
  }
  for (int i = 0; i < n_candidates; i++) candidate[i] = worst;
  return GPS_OK;
}

static gps_status log_joint_draw(const gps_problem *problem, const gps_point *point,
                                 const gps_states *states, const double *value, double *joint,
                                 double *scratch) {
  int latent[64], n = 0;
  for (int i = 0; i < states->n_slots; i++)
    if (value[i] != 0) latent[n++] = point->latent[i];
  *joint = joint_of(problem, point, n, latent, scratch);
  return GPS_OK;
}

static gps_status law_of(const gps_problem *problem, const gps_point *point,
                         const gps_states *states, int slot, const double *value, gps_rng *rng,
                         gps_step *step, double *scratch, double tilt) {
  double both[64], off, on;
  memcpy(both, value, (size_t)states->n_slots * sizeof *both);
  both[slot] = 0;
  log_joint_draw(problem, point, states, both, &off, scratch);
  both[slot] = 1;
  log_joint_draw(problem, point, states, both, &on, scratch);
  step->prob_on = 1 / (1 + exp(off - on + tilt));
  if (rng) step->value = gps_rng_uniform(rng) < step->prob_on;
  step->log_density = log(step->value != 0 ? step->prob_on : 1 - step->prob_on);
  return GPS_OK;
}

static gps_status conditional(const gps_problem *problem, const gps_point *point,
                              const gps_states *states, int slot, const double *value, gps_rng *rng,
                              gps_step *step, double *scratch) {
  return law_of(problem, point, states, slot, value, rng, step, scratch, 0);
}

static gps_status tilted(const gps_problem *problem, const gps_point *point,
                         const gps_states *states, int slot, const double *value, gps_rng *rng,
                         gps_step *step, double *scratch) {
  return law_of(problem, point, states, slot, value, rng, step, scratch, 1);
}

static gps_status accumulate_draws(const gps_problem *problem, const gps_point *point,
                                   const gps_states *states, int n_draws, const double *draws,
                                   const double *prob_on, double *const *to, double *scratch) {
  (void)problem, (void)point, (void)states, (void)n_draws, (void)draws, (void)prob_on, (void)to;
  (void)scratch;
  return GPS_OK;
}

#define WHOLE \
  .api = GPS_MODEL_API, .params = params, .options = none, .prepared = none, .stats = stats, \
  .scratch_size = scratch_size, .log_joint = log_joint, .accumulate = accumulate, .gain = gain, \
  .propose = propose, .conditional = conditional, .log_joint_draw = log_joint_draw, \
  .accumulate_draws = accumulate_draws

#define TABLE(name, ...) \
  static const gps_model name##_table = {__VA_ARGS__}; \
  static const gps_model *name##_of(void) { return &name##_table; }

#pragma GCC diagnostic ignored "-Woverride-init"
TABLE(right, WHOLE)
TABLE(overrun, WHOLE, .log_joint = overrun)
TABLE(half, WHOLE, .log_joint = first_alone)
TABLE(possible, WHOLE, .log_joint = possible)
TABLE(forgets, WHOLE, .accumulate = forgets)
TABLE(sets, WHOLE, .accumulate = sets)
TABLE(lone_gain, WHOLE, .gain = lone_gain)
TABLE(propose_none, WHOLE, .propose = propose_none)
TABLE(propose_worst, WHOLE, .propose = propose_worst)
TABLE(tilted, WHOLE, .conditional = tilted)

static SEXP change(SEXP x) {
  REAL(x)[0] += 1;
  return R_NilValue;
}

static const R_CallMethodDef routines[] = {{"change", (DL_FUNC)change, 1}, {NULL, NULL, 0}};

#define REGISTER(name) R_RegisterCCallable("gpsfaults", #name, (DL_FUNC)name##_of)

void R_init_faults(DllInfo *dll) {
  R_registerRoutines(dll, NULL, routines, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  REGISTER(right);
  REGISTER(overrun);
  REGISTER(half);
  REGISTER(possible);
  REGISTER(forgets);
  REGISTER(sets);
  REGISTER(lone_gain);
  REGISTER(propose_none);
  REGISTER(propose_worst);
  REGISTER(tilted);
}
