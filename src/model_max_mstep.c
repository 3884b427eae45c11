/* The M-step of model C: each weight from the points at which its latent won the dimension, with
 * the winners as the E-step drew them; ratios for the others. Reached through the table
 * model_max_spike_slab only. */
#include "model_max_spike_slab.h"
#include "model_sparse.h"

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

/* Each weight is the ratio of two sums over the points at which its latent won the dimension. The
 * old weight counts as pseudo-observations at the slab's second moment: it holds weights that
 * hardly ever won, which few small z would drive off. Returns the expected squared error. */
static double update_w(const gps_problem *problem, const double *const *stats, double *w,
                       int *events) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  const double *options = problem->input[OPTIONS];
  double square = stats[DATA_SQUARE][0];
  for (size_t h = 0; h < n_latents; h++) {
    if (sparse_is_emptied(problem->input[W], n_dims, h)) continue;
    const double mu = problem->input[MU][h];
    const double old = options[PSEUDO_COUNT] * (mu * mu + problem->input[PSI][h]);
    for (size_t at = h * n_dims; at < (h + 1) * n_dims; at++) {
      const double data = stats[WON_DATA][at], won = stats[WON_SQUARE][at];
      if (won + old > 0) {
        w[at] = at_least((data + old * problem->input[W][at]) / (won + old), options[W_FLOOR],
                         events + EVENT_W);
      }
      square += w[at] * (w[at] * won - 2 * data);
    }
  }
  return square;
}

size_t max_mstep_scratch(const gps_problem *problem) {
  (void)problem;
  return 0;
}

gps_status max_mstep(const gps_problem *problem, const double *const *stats,
                     double *const *params_new, int *events, double *scratch) {
  const double count = stats[COUNT][0], *options = problem->input[OPTIONS];
  (void)scratch;
  const double square = update_w(problem, stats, params_new[W], events);
  update_slabs(problem, stats, params_new, events);
  sparse_update_prob(problem, problem->input[W], stats[ON], count, options[SHARED_PROB] != 0,
                     params_new[PI], events + EVENT_PI);
  return sparse_update_sigma2(problem, square, count, options[SIGMA2_FLOOR], params_new[SIGMA2],
                              events + EVENT_SIGMA2);
}
