/* Model E of the paper: components of a few pixels anywhere in an image, of which exactly one or
 * the background owns each pixel. s_h ~ Bernoulli(pi_h) at a uniform cyclic position; of those that
 * cover a pixel, h owns it with probability o_h / (1 + sum of o), o = alpha / (1 - alpha); the
 * pixel is then N(w_h, sigma2 I), of the background N(B, sigma2 I), and with probability eps it is
 * clutter of the density u, whoever owns it. A latent is a component at a position. */
#include "model_occlusive.h"

#include <math.h>
#include <string.h>

#include "vector_math.h"

static const gps_array params_list[] = {{"alpha", "components rows cols", GPS_NEEDED},
                                        {"w", "components rows cols channels", GPS_NEEDED},
                                        {"pi", "components", GPS_NEEDED},
                                        {"background", "channels", GPS_NEEDED},
                                        {"sigma2", "one", GPS_NEEDED},
                                        {"clutter", "one", GPS_MAY_BE_FIXED},
                                        GPS_END};
static const gps_array options_list[] = {
    {"height", "one", GPS_NEEDED},         {"width", "one", GPS_NEEDED},
    {"n_channels", "one", GPS_NEEDED},     {"n_components", "one", GPS_NEEDED},
    {"n_rows", "one", GPS_NEEDED},         {"n_cols", "one", GPS_NEEDED},
    {"is_shared", "one", GPS_NEEDED},      {"log_density", "one", GPS_NEEDED},
    {"is_fixed", "one", GPS_NEEDED},       {"floor_sigma2", "one", GPS_NEEDED},
    {"pi_lowest", "one", GPS_NEEDED},      {"pi_highest", "one", GPS_NEEDED},
    {"alpha_lowest", "one", GPS_NEEDED},   {"is_learned", "one", GPS_NEEDED},
    {"clutter_lowest", "one", GPS_NEEDED}, {"clutter_highest", "one", GPS_NEEDED},
    {"core_lowest", "one", GPS_NEEDED},    {"core_half", "one", GPS_NEEDED},
    {"tail_rate", "one", GPS_NEEDED},      GPS_END};
static const gps_array prepared_list[] = {{"odds", "padded", GPS_NEEDED},
                                          {"log_odds", "padded", GPS_NEEDED},
                                          {"features", "padded channels", GPS_NEEDED},
                                          {"prior", "priors", GPS_NEEDED},
                                          {"floats", "floats", GPS_NEEDED},
                                          GPS_END};
static const gps_array stats_list[] = {{"count", "one", GPS_NEEDED},
                                       {"on", "components", GPS_NEEDED},
                                       {"owned", "rows cols components", GPS_NEEDED},
                                       {"owned_data", "rows cols channels components", GPS_NEEDED},
                                       {"owned_square", "rows cols components", GPS_NEEDED},
                                       {"exposure", "rows cols components", GPS_NEEDED},
                                       {"background_count", "one", GPS_NEEDED},
                                       {"background_data", "channels", GPS_NEEDED},
                                       {"background_square", "one", GPS_NEEDED},
                                       {"removal", "rows cols components", GPS_NEEDED},
                                       GPS_END};
static const char *const events_list[] = {"sigma2_floor", "pi_clamped", NULL};

/* Beyond these, products of a few terms could leave the range of numbers. */
#define CLUTTER_LOG_LOWEST (-200.0)
#define CLUTTER_LOG_HIGHEST 600.0

static void set_scale(occlusive *it, const gps_problem *problem) {
  const double *const *input = problem->input;
  const double sigma2 = input[SIGMA2][0], clutter = input[CLUTTER][0];
  const double log_density = input[LOG_DENSITY][0];
  it->precision = 0.5 / sigma2;
  it->float_scale = ldexp(1, -ilogb(input[FLOOR_SIGMA2][0]) / 2);
  it->float_precision = (float)(it->precision / it->float_scale / it->float_scale);
  it->log_norm = -0.5 * it->n_channels * (LOG_2PI + log(sigma2));
  it->log_contrast = it->log_norm - log_density;
  it->log_open = log1p(-clutter);
  it->log_clutter = log(clutter) + log_density - it->log_norm;
  it->core_middle = input[CORE_LOWEST][0] + input[CORE_HALF][0];
  it->core_half = input[CORE_HALF][0];
  it->tail_rate = input[TAIL_RATE][0];
  it->is_shared = input[IS_SHARED][0] != 0;
  it->own_log_open = it->is_shared ? it->log_open : 0;
  it->is_safe = !(it->log_clutter > CLUTTER_LOG_LOWEST && it->log_clutter < CLUTTER_LOG_HIGHEST);
}

occlusive occlusive_of(const gps_problem *problem) {
  const double *const *input = problem->input;
  occlusive it = {.height = (int)input[HEIGHT][0],
                  .width = (int)input[WIDTH][0],
                  .n_channels = (int)input[N_CHANNELS][0],
                  .n_components = (int)input[N_COMPONENTS][0],
                  .n_rows = (int)input[N_ROWS][0],
                  .n_cols = (int)input[N_COLS][0],
                  .background = input[BACKGROUND],
                  .odds = input[ODDS],
                  .log_odds = input[LOG_ODDS],
                  .features = input[FEATURES],
                  .prior = input[PRIOR]};
  it.n_pixels = (size_t)it.height * (size_t)it.width;
  it.lanes = round_up((size_t)it.n_rows, LANES);
  it.n_window = it.lanes * (size_t)it.n_cols;
  it.stride = (size_t)it.height + it.lanes;
  it.n_plane = it.stride * (size_t)(it.width + it.n_cols - 1);
  set_scale(&it, problem);
  return it;
}

/* odds, their logs and the features of a component, padded; returns the sum of log(1 + odds). */
static double prepare_component(const gps_problem *problem, const occlusive *it, size_t h,
                                double *odds, double *log_odds, double *features) {
  const size_t n_components = (size_t)it->n_components, n_rows = (size_t)it->n_rows;
  const size_t n = n_rows * (size_t)it->n_cols;
  double sum = 0;
  for (size_t i = 0; i < it->n_window; i++) {
    odds[i] = 0;
    log_odds[i] = -HUGE_VAL;
  }
  memset(features, 0, it->n_window * (size_t)it->n_channels * sizeof *features);
  for (size_t i = 0; i < n; i++) {
    const size_t at = i % n_rows + it->lanes * (i / n_rows);
    const double alpha = problem->input[ALPHA][h + n_components * i];
    odds[at] = alpha / (1 - alpha);
    log_odds[at] = log(alpha) - log1p(-alpha);
    sum -= log1p(-alpha);
    for (size_t c = 0; c < (size_t)it->n_channels; c++)
      features[at + it->n_window * c] = problem->input[W][h + n_components * (i + n * c)];
  }
  return sum;
}

static gps_status prepare(const gps_problem *problem, const double *y, double *const *prepared) {
  occlusive it = occlusive_of(problem);
  const size_t n_components = (size_t)it.n_components, n_channels = (size_t)it.n_channels;
  double *odds = prepared[ODDS - PREPARED], *log_odds = prepared[LOG_ODDS - PREPARED],
         *features = prepared[FEATURES - PREPARED], *prior = prepared[PRIOR - PREPARED], absent = 0;
  (void)y;
  if (!occlusive_fits(&it, problem)) return GPS_BAD_MODEL;
  for (size_t h = 0; h < n_components; h++) {
    const double pi = problem->input[PI][h];
    prior[h] = log(pi) - log1p(-pi) - log((double)it.n_pixels);
    absent += log1p(-pi);
    prior[n_components + 1 + h] =
        prepare_component(problem, &it, h, odds + it.n_window * h, log_odds + it.n_window * h,
                          features + it.n_window * n_channels * h);
  }
  prior[n_components] = absent;
  it.odds = odds;
  it.log_odds = log_odds;
  it.features = features;
  it.prior = prior;
  float *tables = (float *)(void *)prepared[FLOATS - PREPARED];
  const size_t n_table = occlusive_float_table(&it) * 2 / n_components;
  for (size_t h = 0; h < n_components; h++) occlusive_fill_table(&it, h, tables + n_table * h);
  return GPS_OK;
}

/* scratch: in single precision for gain(), then the point in double precision with one slot more,
 * so that what gain_begin() leaves there outlasts a log joint. */
static size_t scratch_size(const gps_problem *problem, const gps_states *states) {
  const occlusive it = occlusive_of(problem);
  return occlusive_float_scratch(&it) + occlusive_point_size(&it, (size_t)states->n_slots + 1);
}

occlusive_point occlusive_slots_in(const occlusive *it, const gps_states *states, double *scratch) {
  return occlusive_point_in(it, (size_t)states->n_slots, scratch + occlusive_float_scratch(it));
}

static double shared_term(const gps_problem *problem, const gps_point *point) {
  const occlusive it = occlusive_of(problem);
  return it.prior[it.n_components] + occlusive_log_background(&it, point);
}

/* A state is its parent and its last slot, or all its slots one after the other where the parent is
 * not in the template. */
static double state_log_joint(const occlusive *it, const occlusive_point *at,
                              const gps_states *states, int m, const double *value) {
  const int n_active = states->n_active[m], parent = states->parent[m];
  const int *active = states->active + (size_t)m * (size_t)states->max_active;
  double sum = parent < 0 ? 0 : value[parent];
  for (int k = parent < 0 ? 0 : n_active - 1; k < n_active; k++) {
    if (sum == -HUGE_VAL) return sum;
    sum += occlusive_gain(it, at, (size_t)active[k], k, active);
  }
  return sum;
}

static gps_status log_joint(const gps_problem *problem, const gps_point *point,
                            const gps_states *states, double *value, double *scratch) {
  const occlusive it = occlusive_of(problem);
  if (!occlusive_fits(&it, problem)) return GPS_BAD_MODEL;
  const occlusive_point at = occlusive_slots_in(&it, states, scratch);
  occlusive_begin(&it, point, &at);
  for (int k = 0; k < states->n_slots; k++)
    occlusive_fill_slot(&it, &at, (size_t)k, point->latent[k]);
  for (int m = 0; m < states->n_states; m++)
    value[m] = states->n_active[m] == 0 ? 0 : state_log_joint(&it, &at, states, m, value);
  return GPS_OK;
}

gps_status occlusive_gain_begin(const gps_problem *problem, const gps_point *point,
                                double *scratch) {
  const occlusive it = occlusive_of(problem);
  if (!occlusive_fits(&it, problem)) return GPS_BAD_MODEL;
  const occlusive_floats floats = occlusive_floats_in(&it, (float *)(void *)scratch);
  if (floats.is_narrow) {
    const occlusive_point at = occlusive_point_in(&it, 0, scratch + occlusive_float_scratch(&it));
    occlusive_begin(&it, point, &at);
  } else {
    occlusive_float_begin(&it, point, &floats);
  }
  return GPS_OK;
}

static int is_given(const occlusive *it, int latent, int n_given, const int *given) {
  const int n_pixels = (int)it->n_pixels;
  for (int i = 0; i < n_given; i++) {
    if (given[i] / n_pixels == latent / n_pixels) return 1;
  }
  return 0;
}

/* Through slots: those of what is given, and one for the candidates. */
static void wide_gains(const occlusive *it, int n_given, const int *given, int n_candidates,
                       const int *candidate, double *value, double *scratch) {
  const occlusive_point at =
      occlusive_point_in(it, (size_t)n_given + 1, scratch + occlusive_float_scratch(it));
  for (int i = 0; i < n_given; i++) occlusive_fill_slot(it, &at, (size_t)i, given[i]);
  for (int i = 0; i < n_candidates; i++) {
    occlusive_fill_slot(it, &at, (size_t)n_given, candidate[i]);
    value[i] = occlusive_gain(it, &at, (size_t)n_given, n_given, NULL);
  }
}

gps_status occlusive_gains(const gps_problem *problem, const gps_point *point, int n_given,
                           const int *given, int n_candidates, const int *candidate, double *value,
                           double *scratch) {
  const occlusive it = occlusive_of(problem);
  const occlusive_floats floats = occlusive_floats_in(&it, (float *)(void *)scratch);
  const float *tables = (const float *)(const void *)problem->input[FLOATS];
  (void)point;
  if (floats.is_narrow) {
    wide_gains(&it, n_given, given, n_candidates, candidate, value, scratch);
    return GPS_OK;
  }
  if (n_given > 0) occlusive_float_given(&it, &floats, tables, n_given, given);
  for (int i = 0; i < n_candidates; i++) {
    value[i] = is_given(&it, candidate[i], n_given, given)
                   ? -HUGE_VAL
                   : occlusive_float_gain(&it, &floats, tables, n_given == 0, candidate[i]);
  }
  return GPS_OK;
}

const gps_model model_occlusive = {
    .api = GPS_MODEL_API,
    .params = params_list,
    .options = options_list,
    .prepared = prepared_list,
    .stats = stats_list,
    .events = events_list,
    .scratch_size = scratch_size,
    .log_joint = log_joint,
    .shared_term = shared_term,
    .accumulate = occlusive_accumulate,
    .describe = occlusive_describe,
    .gain_begin = occlusive_gain_begin,
    .propose = occlusive_propose,
    .gain = occlusive_gains,
    .prepare = prepare,
    .mstep_scratch = occlusive_mstep_scratch,
    .mstep = occlusive_mstep,
    .weighs = 1,
    .takes_missing = 1,
};
