/* Tables of one small mixture of Poissons, right and wrong, as another package would register them
 * (test-model-table.R). */
#include <math.h>

#include <R.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>

#include <gpselect/model.h>

enum { RATE, SHARE, LOWEST, LOG_SHARE };
enum { COUNT, ON, SUM };

static const gps_array params[] = {
    {"rate", "dims latents", GPS_NEEDED}, {"share", "latents", GPS_NEEDED}, GPS_END};
static const gps_array options[] = {{"lowest", "one", GPS_NEEDED}, GPS_END};
static const gps_array prepared[] = {{"log_share", "latents", GPS_NEEDED}, GPS_END};
static const gps_array stats[] = {{"count", "one", GPS_NEEDED},
                                  {"on", "latents", GPS_NEEDED},
                                  {"sum", "dims latents", GPS_NEEDED},
                                  GPS_END};
static const char *const events[] = {"rate_floor", NULL};

static size_t scratch_size(const gps_problem *problem, const gps_states *states) {
  (void)problem;
  (void)states;
  return 0;
}

static void fill_log_joint(const gps_problem *problem, const gps_point *point,
                           const gps_states *states, int is_prepared, double *value) {
  for (int m = 0; m < states->n_states; m++) {
    const int c = point->latent[states->active[m]];
    if (c < 0) {
      value[m] = -HUGE_VAL;
      continue;
    }
    value[m] = is_prepared ? problem->input[LOG_SHARE][c] : log(problem->input[SHARE][c]);
    for (int d = 0; d < problem->shape.n_dims; d++) {
      const double rate = problem->input[RATE][d + c * problem->shape.n_dims];
      value[m] += point->y[d] * log(rate) - rate - lgamma(point->y[d] + 1);
    }
  }
}

static gps_status log_joint(const gps_problem *problem, const gps_point *point,
                            const gps_states *states, double *value, double *scratch) {
  (void)scratch;
  fill_log_joint(problem, point, states, 1, value);
  return GPS_OK;
}

/* Of a table in which nothing is prepared. */
static gps_status least_log_joint(const gps_problem *problem, const gps_point *point,
                                  const gps_states *states, double *value, double *scratch) {
  (void)scratch;
  fill_log_joint(problem, point, states, 0, value);
  return GPS_OK;
}

static gps_status accumulate(const gps_problem *problem, const gps_point *point,
                             const gps_states *states, const double *prob, double *const *to,
                             double *scratch) {
  (void)scratch;
  to[COUNT][0] += 1;
  for (int m = 0; m < states->n_states; m++) {
    const int c = point->latent[states->active[m]];
    if (c < 0) continue;
    to[ON][c] += prob[m];
    for (int d = 0; d < problem->shape.n_dims; d++)
      to[SUM][d + c * problem->shape.n_dims] += prob[m] * point->y[d];
  }
  return GPS_OK;
}

/* The same of one latent, and twice as much where it must not. */
static gps_status of_latent(const gps_problem *problem, const gps_point *point, int latent,
                            double weight, double *const *part, double *scratch) {
  (void)latent;
  (void)scratch;
  part[ON][0] += weight;
  for (int d = 0; d < problem->shape.n_dims; d++) part[SUM][d] += weight * point->y[d];
  return GPS_OK;
}

static gps_status twice_latent(const gps_problem *problem, const gps_point *point, int latent,
                               double weight, double *const *part, double *scratch) {
  of_latent(problem, point, latent, weight, part, scratch);
  part[ON][0] += weight;
  return GPS_OK;
}

static gps_status describe(const gps_problem *problem, const gps_point *point,
                           const gps_states *states, const double *prob, double *latent,
                           double *response, double *scratch) {
  (void)scratch;
  for (int m = 0; m < states->n_states; m++) latent[states->active[m]] = prob[m];
  for (int d = 0; response && d < problem->shape.n_dims; d++) {
    response[d] = 0;
    for (int m = 0; m < states->n_states; m++)
      response[d] +=
          prob[m] *
          problem->input[RATE][d + point->latent[states->active[m]] * problem->shape.n_dims];
  }
  return GPS_OK;
}

static gps_status prepare(const gps_problem *problem, const double *y, double *const *to) {
  (void)y;
  for (int c = 0; c < problem->shape.n_latents; c++) to[0][c] = log(problem->input[SHARE][c]);
  return GPS_OK;
}

static gps_status mstep(const gps_problem *problem, const double *const *from,
                        double *const *params_new, int *n_events, double *scratch) {
  const int n_dims = problem->shape.n_dims;
  const double lowest = problem->input[LOWEST][0];
  (void)scratch;
  for (int c = 0; c < problem->shape.n_latents; c++) {
    const double on = from[ON][c];
    params_new[SHARE][c] = (on + 1e-6) / (from[COUNT][0] + 1e-6 * problem->shape.n_latents);
    for (int d = 0; d < n_dims && on > 0; d++) {
      double *rate = params_new[RATE] + d + c * n_dims;
      *rate = from[SUM][d + c * n_dims] / on;
      if (*rate >= lowest) continue;
      *rate = lowest;
      n_events[0]++;
    }
  }
  return GPS_OK;
}

#define WHOLE \
  .api = GPS_MODEL_API, .params = params, .options = options, .prepared = prepared, \
  .stats = stats, .events = events, .scratch_size = scratch_size, .log_joint = log_joint, \
  .accumulate = accumulate, .describe = describe, .prepare = prepare, .mstep = mstep

static const gps_array no_arrays[] = {GPS_END};
static const gps_array turned[] = {
    {"rate", "latents dims", GPS_NEEDED}, {"share", "latents", GPS_NEEDED}, GPS_END};
static const gps_array further[] = {{"rate", "dims latents", GPS_NEEDED},
                                    {"share", "latents", GPS_NEEDED},
                                    {"shape", "dims", GPS_NEEDED},
                                    GPS_END};

#define TABLE(name, ...) \
  static const gps_model name##_table = {__VA_ARGS__}; \
  static const gps_model *name(void) { return &name##_table; }

#pragma GCC diagnostic ignored "-Woverride-init"
TABLE(whole, WHOLE)
TABLE(least, .api = GPS_MODEL_API, .params = params, .options = options, .stats = stats,
      .scratch_size = scratch_size, .log_joint = least_log_joint, .accumulate = accumulate)
TABLE(not_described, WHOLE, .describe = NULL)
TABLE(not_prepared, WHOLE, .prepare = NULL)
TABLE(gathered, WHOLE, .accumulate_latent = of_latent)
TABLE(gathered_twice, WHOLE, .accumulate_latent = twice_latent)
TABLE(later, WHOLE, .api = GPS_MODEL_API + 1)
TABLE(weighs_not, WHOLE, .weighs = 1)
TABLE(earlier, WHOLE, .api = GPS_MODEL_API_OLDEST, .takes_missing = 1)
TABLE(no_params, WHOLE, .params = no_arrays)
TABLE(no_stats, WHOLE, .stats = NULL)
TABLE(no_scratch_size, WHOLE, .scratch_size = NULL)
TABLE(no_log_joint, WHOLE, .log_joint = NULL)
TABLE(no_accumulate, WHOLE, .accumulate = NULL)
TABLE(turned_params, WHOLE, .params = turned)
TABLE(further_params, WHOLE, .params = further)
TABLE(no_options, WHOLE, .options = NULL)

static const gps_model *no_table(void) { return NULL; }

#define REGISTER(name) R_RegisterCCallable("gpstables", #name, (DL_FUNC)name)

void R_init_tables(DllInfo *dll) {
  R_registerRoutines(dll, NULL, NULL, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  REGISTER(whole);
  REGISTER(least);
  REGISTER(not_described);
  REGISTER(not_prepared);
  REGISTER(gathered);
  REGISTER(gathered_twice);
  REGISTER(later);
  REGISTER(weighs_not);
  REGISTER(earlier);
  REGISTER(no_params);
  REGISTER(no_stats);
  REGISTER(no_scratch_size);
  REGISTER(no_log_joint);
  REGISTER(no_accumulate);
  REGISTER(turned_params);
  REGISTER(further_params);
  REGISTER(no_options);
  REGISTER(no_table);
}
