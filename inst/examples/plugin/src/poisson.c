/* A mixture of Poisson distributions for gpselect: y_d ~ Poisson(rate_dc) where cluster c is on,
 * with probability pi_c. What all clusters share of a data point, -sum log y_d!, is kept out of
 * their log joints. A missing cell has no factor in them, and is expected to be the rate; in y it
 * is 0, of which log 0! is 0. */
#include <math.h>

#include <R_ext/Rdynload.h>

#include <gpselect/model.h>

/* Places in problem->input: parameters, options, what is prepared, as the lists below. */
enum { RATE, PI, FLOOR_RATE, LOG_RATE, LOG_PI, SHARED };
static const gps_array params[] = {
    {"rate", "dims latents", GPS_NEEDED}, {"pi", "latents", GPS_NEEDED}, GPS_END};
static const gps_array options[] = {{"floor_rate", "one", GPS_NEEDED}, GPS_END};
static const gps_array prepared[] = {{"log_rate", "dims latents", GPS_NEEDED},
                                     {"log_pi", "latents", GPS_NEEDED},
                                     {"shared", "points", GPS_NEEDED},
                                     GPS_END};

enum { COUNT, ON, SUM };
static const gps_array stats[] = {{"count", "one", GPS_NEEDED},
                                  {"on", "latents", GPS_NEEDED},
                                  {"sum", "dims latents", GPS_NEEDED},
                                  GPS_END};

enum { RATE_FLOORED };
static const char *const events[] = {"rate_floor", NULL};

/* Logarithms once a block, not once a data point. log_pi has the sum of a cluster's rates in it. */
static gps_status prepare(const gps_problem *problem, const double *y, double *const *to) {
  const int n_dims = problem->shape.n_dims;
  double *log_rate = to[LOG_RATE - LOG_RATE], *log_pi = to[LOG_PI - LOG_RATE],
         *shared = to[SHARED - LOG_RATE];
  for (int c = 0; c < problem->shape.n_latents; c++) {
    log_pi[c] = log(problem->input[PI][c]);
    for (int d = 0; d < n_dims; d++) {
      const double rate = problem->input[RATE][d + c * n_dims];
      log_rate[d + c * n_dims] = log(rate);
      log_pi[c] -= rate;
    }
  }
  for (int n = 0; n < problem->n_points; n++) {
    shared[n] = 0;
    for (int d = 0; d < n_dims; d++) shared[n] -= lgamma(y[d + (size_t)n * n_dims] + 1);
  }
  return GPS_OK;
}

static double shared_term(const gps_problem *problem, const gps_point *point) {
  return problem->input[SHARED][point->index];
}

static size_t scratch_size(const gps_problem *problem, const gps_states *states) {
  (void)problem;
  (void)states;
  return 0;
}

static int is_missing(const gps_point *point, int d) {
  return point->observed && !point->observed[d];
}

/* One cluster is on: state m is the slot active[m]. An empty slot is impossible. */
static gps_status log_joint(const gps_problem *problem, const gps_point *point,
                            const gps_states *states, double *value, double *scratch) {
  const int n_dims = problem->shape.n_dims;
  (void)scratch;
  for (int m = 0; m < states->n_states; m++) {
    const int c = point->latent[states->active[m]];
    value[m] = c < 0 ? -HUGE_VAL : problem->input[LOG_PI][c];
    for (int d = 0; d < n_dims && c >= 0; d++) {
      value[m] += point->y[d] * problem->input[LOG_RATE][d + c * n_dims];
      if (is_missing(point, d)) value[m] += problem->input[RATE][d + c * n_dims];
    }
  }
  return GPS_OK;
}

static gps_status accumulate(const gps_problem *problem, const gps_point *point,
                             const gps_states *states, const double *prob, double *const *to,
                             double *scratch) {
  const int n_dims = problem->shape.n_dims;
  (void)scratch;
  to[COUNT][0] += 1;
  for (int m = 0; m < states->n_states; m++) {
    const int c = point->latent[states->active[m]];
    if (c < 0) continue;
    to[ON][c] += prob[m];
    for (int d = 0; d < n_dims; d++) {
      const double y = is_missing(point, d) ? problem->input[RATE][d + c * n_dims] : point->y[d];
      to[SUM][d + c * n_dims] += prob[m] * y;
    }
  }
  return GPS_OK;
}

/* Means of the latents are the probabilities that they are on; the signal is the mean rate. */
static gps_status describe(const gps_problem *problem, const gps_point *point,
                           const gps_states *states, const double *prob, double *latent,
                           double *response, double *scratch) {
  const int n_dims = problem->shape.n_dims;
  (void)scratch;
  for (int d = 0; d < n_dims && response; d++) response[d] = 0;
  for (int m = 0; m < states->n_states; m++) {
    const int c = point->latent[states->active[m]];
    latent[states->active[m]] = prob[m];
    for (int d = 0; d < n_dims && response && c >= 0; d++)
      response[d] += prob[m] * problem->input[RATE][d + c * n_dims];
  }
  return GPS_OK;
}

/* A cluster that nobody uses keeps its rates. */
static gps_status mstep(const gps_problem *problem, const double *const *from,
                        double *const *params_new, int *n_events, double *scratch) {
  const int n_dims = problem->shape.n_dims, n_latents = problem->shape.n_latents;
  const double lowest = problem->input[FLOOR_RATE][0];
  (void)scratch;
  for (int c = 0; c < n_latents; c++) {
    const double on = from[ON][c];
    params_new[PI][c] = (on + 1e-9) / (from[COUNT][0] + 1e-9 * n_latents);
    for (int d = 0; d < n_dims && on > 1e-9; d++) {
      double *rate = params_new[RATE] + d + c * n_dims;
      *rate = from[SUM][d + c * n_dims] / on;
      if (*rate >= lowest) continue;
      *rate = lowest;
      n_events[RATE_FLOORED]++;
    }
  }
  return GPS_OK;
}

static const gps_model model = {
    .api = GPS_MODEL_API,
    .params = params,
    .options = options,
    .prepared = prepared,
    .stats = stats,
    .events = events,
    .scratch_size = scratch_size,
    .log_joint = log_joint,
    .shared_term = shared_term,
    .accumulate = accumulate,
    .describe = describe,
    .prepare = prepare,
    .mstep = mstep,
    .takes_missing = 1,
};

static const gps_model *get_model(void) { return &model; }

void R_init_gpspoisson(DllInfo *dll) {
  R_registerRoutines(dll, NULL, NULL, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_RegisterCCallable("gpspoisson", "gps_model_poisson", (DL_FUNC)get_model);
}
