/* The M-step of model C: each weight from the points at which its latent won the dimension, with
 * the winners as the E-step drew them; ratios for the others. Reached through the table
 * model_max_spike_slab only. */
#include "model_max_spike_slab.h"
#include "model_sparse.h"

const gps_array max_stats[] = {{"count", "one", GPS_NEEDED},
                               {"data_square", "one", GPS_NEEDED},
                               {"on", "latents", GPS_NEEDED},
                               {"on_drawn", "latents", GPS_NEEDED},
                               {"value", "latents", GPS_NEEDED},
                               {"value_square", "latents", GPS_NEEDED},
                               {"won_data", "dims latents", GPS_NEEDED},
                               {"won_square", "dims latents", GPS_NEEDED},
                               {"data_sum", "intercepts", GPS_NEEDED},
                               {"won_value", "intercepts latents", GPS_NEEDED},
                               GPS_END};
const char *const max_events[] = {"sigma2_floor", "pi_clamped", "psi_floor",
                                  "slab_kept",    "w_floor",    NULL};

/* Of the slab's second moment. */
#define PSI_LOWEST 1e-8

static double at_least(double value, double lowest, int *event) {
  if (value >= lowest) return value;
  (*event)++;
  return lowest;
}

/* The means of z and of its square over the points where the latent is on; of less than one point
 * nothing is learned. */
static void update_slabs(const gps_problem *problem, const double *const *stats,
                         double *const *params_new, int *events) {
  for (int h = 0; h < problem->shape.n_latents; h++) {
    const double on = stats[ON_DRAWN][h];
    if (on < 1) {
      events[EVENT_KEPT] +=
          !sparse_is_emptied(problem->input[W], (size_t)problem->shape.n_dims, (size_t)h);
      continue;
    }
    const double mean = stats[VALUE][h] / on, square = stats[VALUE_SQUARE][h] / on;
    params_new[MU][h] = mean;
    params_new[PSI][h] = at_least(square - mean * mean, PSI_LOWEST * square, events + EVENT_PSI);
  }
}

/* What a dimension's weights are learned from, latent by latent: sums over the points at which the
 * latent won the dimension, of y z about the centre, z^2 and z. */
typedef struct {
  double data, square, value;
} wins;

static wins wins_of(const gps_problem *problem, const double *const *stats, size_t at, size_t d) {
  wins sums = {stats[WON_DATA][at], stats[WON_SQUARE][at], 0};
  if (max_has_intercept(problem)) {
    sums.value = stats[WON_VALUE][at];
    sums.data -= problem->input[CENTRE][d] * sums.value;
  }
  return sums;
}

/* The old weight counts as pseudo-observations at the slab's second moment: it holds weights that
 * hardly ever won, which few small z would drive off. */
static double old_count(const gps_problem *problem, size_t h) {
  const double mu = problem->input[MU][h];
  return problem->input[PSEUDO_COUNT][0] * (mu * mu + problem->input[PSI][h]);
}

/* The weight as a ratio of sums, given the intercept's distance from the centre. */
static double best_weight(const gps_problem *problem, const wins *sums, size_t at, size_t h,
                          double step) {
  const double old = old_count(problem, h), total = sums->square + old, w = problem->input[W][at];
  return total > 0 ? (sums->data - step * sums->value + old * w) / total : w;
}

/* The intercept's distance from the centre that is best together with the weights above their
 * floor, those at it, of which `step` tells, being held there. */
static double next_step(const gps_problem *problem, const double *const *stats, size_t d,
                        double step) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const double floor = problem->input[FLOOR_W][0];
  double count = stats[COUNT][0], sum = stats[DATA_SUM][d];
  for (size_t h = 0; h < (size_t)problem->shape.n_latents; h++) {
    const size_t at = d + h * n_dims;
    const wins sums = wins_of(problem, stats, at, d);
    const double total = sums.square + old_count(problem, h);
    if (best_weight(problem, &sums, at, h, step) < floor) {
      sum -= sums.value * floor;
    } else if (total > 0) {
      sum -= sums.value * best_weight(problem, &sums, at, h, 0);
      count -= sums.value * sums.value / total;
    }
  }
  return count > 1e-9 * stats[COUNT][0] ? sum / count : step;
}

enum { MOST_STEPS = 20 };

static double settle_step(const gps_problem *problem, const double *const *stats, size_t d) {
  double step = problem->input[INTERCEPT][d] - problem->input[CENTRE][d];
  for (int i = 0; i < MOST_STEPS; i++) {
    const double next = next_step(problem, stats, d, step);
    if (next == step) break;
    step = next;
  }
  return step;
}

/* step [D]: the new intercept's distance from the centre, 0 without one. Adds to *square what the
 * intercept changes of it. */
static void update_intercept(const gps_problem *problem, const double *const *stats,
                             double *const *params_new, double *step, double *square) {
  for (size_t d = 0; d < (size_t)problem->shape.n_dims; d++) {
    step[d] = 0;
    if (!max_has_intercept(problem)) continue;
    step[d] = settle_step(problem, stats, d);
    params_new[INTERCEPT][d] = problem->input[CENTRE][d] + step[d];
    *square += step[d] * (stats[COUNT][0] * step[d] - 2 * stats[DATA_SUM][d]);
  }
}

/* Each weight is the ratio of two sums over the points at which its latent won the dimension; the
 * intercept takes part in all of one dimension. Returns the expected squared error. */
static double update_w(const gps_problem *problem, const double *const *stats,
                       double *const *params_new, int *events, double *step) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  const double lowest = problem->input[FLOOR_W][0];
  double square = stats[DATA_SQUARE][0];
  update_intercept(problem, stats, params_new, step, &square);
  for (size_t h = 0; h < n_latents; h++) {
    if (sparse_is_emptied(problem->input[W], n_dims, h)) continue;
    for (size_t d = 0; d < n_dims; d++) {
      const size_t at = d + h * n_dims;
      const wins sums = wins_of(problem, stats, at, d);
      const double best = best_weight(problem, &sums, at, h, step[d]);
      const double w = params_new[W][at] = at_least(best, lowest, events + EVENT_W);
      square += w * (w * sums.square - 2 * (sums.data - step[d] * sums.value));
    }
  }
  return square;
}

size_t max_mstep_scratch(const gps_problem *problem) { return (size_t)problem->shape.n_dims; }

gps_status max_mstep(const gps_problem *problem, const double *const *stats,
                     double *const *params_new, int *events, double *scratch) {
  const double count = stats[COUNT][0];
  const double square = update_w(problem, stats, params_new, events, scratch);
  update_slabs(problem, stats, params_new, events);
  sparse_update_prob(problem, problem->input[W], stats[ON], count,
                     problem->input[SHARED_PROB][0] != 0, params_new[PI], events + EVENT_PI);
  return sparse_update_sigma2(problem, square, count, problem->input[FLOOR_SIGMA2][0],
                              params_new[SIGMA2], events + EVENT_SIGMA2);
}
