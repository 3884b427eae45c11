/* The M-step of model E: closed forms, and for the masks one minorised step. Reached through the
 * table model_occlusive only. */
#include "model_occlusive.h"

/* In the order of the model's events. */
enum { SIGMA2_FLOORED, PI_CLAMPED };

/* Fewer pixels than this say nothing about a component's pixel. */
#define LOWEST_COUNT 1e-3

static double clamp(double x, double lower, double upper) {
  return x < lower ? lower : x > upper ? upper : x;
}

static void update_pi(const occlusive *it, const gps_problem *problem, const double *const *stats,
                      double *pi, int *events) {
  for (int h = 0; h < it->n_components; h++) {
    const double share = stats[ON][h] / stats[COUNT][0];
    pi[h] =
        clamp(share, occlusive_option(problem, PI_LOWEST), occlusive_option(problem, PI_HIGHEST));
    events[PI_CLAMPED] += pi[h] != share;
  }
}

/* The odds A / M maximise a lower bound that touches at the old odds. No exposure: never on. */
static double new_alpha(double owned, double exposure, double old, double lowest) {
  if (exposure <= 0) return old;
  return clamp(owned / (owned + exposure), lowest, 1 - lowest);
}

/* The share of pixels that are clutter; below its lowest value it is not raised, since the bound
 * would fall, and 0 stays 0. */
static void update_clutter(const gps_problem *problem, double n_pixels, double count,
                           double *const *params_new) {
  const double lowest = occlusive_option(problem, CLUTTER_LOWEST), share = 1 - count / n_pixels;
  if (occlusive_option(problem, IS_LEARNED) == 0) return;
  double *clutter = params_new[CLUTTER];
  if (*clutter <= 0) return;
  *clutter = clamp(share, *clutter < lowest ? *clutter : lowest,
                   occlusive_option(problem, CLUTTER_HIGHEST));
}

/* One component's masks and features; returns its sum of squares about the new features. */
static double update_component(const occlusive *it, const gps_problem *problem,
                               const double *const *stats, size_t h, double *const *params_new) {
  const size_t n_components = (size_t)it->n_components, n_channels = (size_t)it->n_channels;
  const size_t n = (size_t)(it->n_rows * it->n_cols);
  double squares = 0;
  for (size_t i = 0; i < n; i++) {
    const double owned = stats[OWNED][i + n * h];
    double *alpha = params_new[ALPHA] + h + n_components * i;
    *alpha = new_alpha(owned, stats[EXPOSURE][i + n * h], *alpha,
                       occlusive_option(problem, ALPHA_LOWEST));
    squares += stats[OWNED_SQUARE][i + n * h];
    for (size_t c = 0; c < n_channels; c++) {
      const double sum = stats[OWNED_DATA][i + n * (c + n_channels * h)];
      double *w = params_new[W] + h + n_components * (i + n * c);
      if (owned >= LOWEST_COUNT) *w = sum / owned;
      squares += *w * (owned * *w - 2 * sum);
    }
  }
  return squares;
}

/* The background's mean where it is learned; returns the sum of squares about it. */
static double update_background(const occlusive *it, const gps_problem *problem,
                                const double *const *stats, double *background) {
  const double count = stats[BACKGROUND_COUNT][0];
  double squares = stats[BACKGROUND_SQUARE][0];
  for (int c = 0; c < it->n_channels; c++) {
    const double sum = stats[BACKGROUND_DATA][c];
    if (occlusive_option(problem, IS_FIXED) == 0 && count >= LOWEST_COUNT)
      background[c] = sum / count;
    squares += background[c] * (count * background[c] - 2 * sum);
  }
  return squares;
}

size_t occlusive_mstep_scratch(const gps_problem *problem) {
  (void)problem;
  return 1;
}

/* The shape alone: nothing is prepared in an M-step. */
static occlusive shape_of(const gps_problem *problem) {
  occlusive it = {.height = 0};
  it.n_channels = (int)occlusive_option(problem, N_CHANNELS);
  it.n_components = (int)occlusive_option(problem, N_COMPONENTS);
  it.n_rows = (int)occlusive_option(problem, N_ROWS);
  it.n_cols = (int)occlusive_option(problem, N_COLS);
  return it;
}

gps_status occlusive_mstep(const gps_problem *problem, const double *const *stats,
                           double *const *params_new, int *events, double *scratch) {
  const occlusive it = shape_of(problem);
  const size_t n = (size_t)(it.n_rows * it.n_cols * it.n_components);
  (void)scratch;
  if (stats[COUNT][0] <= 0) return GPS_OK;
  update_pi(&it, problem, stats, params_new[PI], events);
  double squares = update_background(&it, problem, stats, params_new[BACKGROUND]);
  double count = stats[BACKGROUND_COUNT][0];
  for (size_t h = 0; h < (size_t)it.n_components; h++)
    squares += update_component(&it, problem, stats, h, params_new);
  for (size_t i = 0; i < n; i++) count += stats[OWNED][i];
  update_clutter(problem,
                 stats[COUNT][0] * occlusive_option(problem, HEIGHT) *
                     occlusive_option(problem, WIDTH),
                 count, params_new);
  double *sigma2 = params_new[SIGMA2];
  if (count >= LOWEST_COUNT) sigma2[0] = squares / (it.n_channels * count);
  if (!(sigma2[0] >= occlusive_option(problem, FLOOR_SIGMA2))) {
    sigma2[0] = occlusive_option(problem, FLOOR_SIGMA2);
    events[SIGMA2_FLOORED]++;
  }
  return GPS_OK;
}
