/* Small problems of model C for the tests, and its definition: log joints and integrals by
 * quadrature. */
#ifndef GPSELECT_TEST_MAX_CASE_H
#define GPSELECT_TEST_MAX_CASE_H

#include "check.h"
#include "gpselect/model.h"

#include <string.h>

extern const gps_model model_max_spike_slab;

enum { DIMS = 12, LATENTS = 4, PRIORS = LATENTS + 1 };

/* A problem of one data point; every latent has a slot. */
typedef struct {
  int n_dims, n_latents;
  double w[DIMS * LATENTS], pi[LATENTS], mu[LATENTS], psi[LATENTS], sigma2[1], options[4];
  double prior[PRIORS], log_norm[LATENTS], y_square[1], y[DIMS];
  const double *input[15];
  gps_problem problem;
  gps_point point;
  gps_states states;
  int latent[LATENTS];
  double scratch[4096];
} max_case;

static const double two_pi = 6.283185307179586477;

static inline void prepare_case(max_case *it, double beta) {
  const double *input[15] = {it->w, it->pi,      it->mu,          it->psi,         it->sigma2,
                             NULL,  it->options, it->options + 1, it->options + 2, it->options + 3,
                             NULL,  it->prior,   it->log_norm,    it->y_square,    NULL};
  memcpy(it->input, input, sizeof input);
  const gps_problem problem = {.shape = {it->n_dims, it->n_latents},
                               .first_row = 0,
                               .n_points = 1,
                               .beta = beta,
                               .iteration = 1,
                               .input = it->input};
  it->problem = problem;
  for (int k = 0; k < LATENTS; k++) it->latent[k] = k < it->n_latents ? k : -1;
  const gps_point point = {0, it->y, NULL, it->latent};
  it->point = point;
  const gps_states states = {it->n_latents, it->n_latents, 0, NULL, NULL, NULL, 0};
  it->states = states;
  double *prepared[4] = {it->prior, it->log_norm, it->y_square, NULL};
  CHECK_WHOLE(prepared, model_max_spike_slab.prepared);
  CHECK(model_max_spike_slab.prepare(&problem, it->y, prepared) == GPS_OK);
  CHECK(model_max_spike_slab.scratch_size(&problem, &states) <= 4096);
  for (int i = 0; i < 4096; i++) it->scratch[i] = NAN;
}

/* Case `number`: weights of both signs, positive ones, zeros, equal ones. */
static inline void build_case(max_case *it, int number, double beta) {
  it->n_dims = DIMS - number % 3;
  it->n_latents = LATENTS;
  for (int i = 0; i < DIMS * LATENTS; i++) {
    const double w = 2 * sin(number * 71 + i * 17) + cos(i * i + number);
    it->w[i] = number % 4 == 0 ? w : number % 4 == 1 ? fabs(w) : number % 4 == 2 ? w * (i % 2) : 1;
  }
  for (int d = 0; d < DIMS; d++) it->y[d] = 3 * sin(d * 5 + number * 3) + 1;
  for (int h = 0; h < LATENTS; h++) {
    it->pi[h] = 0.1 + 0.2 * h;
    it->mu[h] = 1.5 - h;
    it->psi[h] = exp(1 - 2 * h + number % 3);
  }
  it->sigma2[0] = 0.3 + number % 5;
  it->options[0] = 0;
  prepare_case(it, beta);
}

/* Log joint of the values, relative to the empty state, by the definition. */
static inline double define_log_joint(const max_case *it, const double *value) {
  double sum = 0;
  for (int d = 0; d < it->n_dims; d++) {
    double mean = 0;
    for (int h = 0; h < it->n_latents; h++) {
      if (value[h] != 0) mean = fmax(mean, value[h] * it->w[d + h * it->n_dims]);
    }
    const double residual = it->y[d] - mean;
    sum += (it->y[d] * it->y[d] - residual * residual) / (2 * it->sigma2[0]);
  }
  for (int h = 0; h < it->n_latents; h++) {
    if (value[h] == 0) continue;
    const double deviation = value[h] - it->mu[h];
    sum += log(it->pi[h]) - log1p(-it->pi[h]) - 0.5 * log(two_pi * it->psi[h]) -
           0.5 * deviation * deviation / it->psi[h];
  }
  return it->problem.beta * sum;
}

/* Where the largest mean of a dimension passes from the others to the slot. */
static inline int list_breakpoints(const max_case *it, int slot, const double *value, double reach,
                                   double *at) {
  int n = 0;
  at[n++] = it->mu[slot] - reach;
  for (int d = 0; d <= it->n_dims; d++) {
    double others = 0, w = 1;
    for (int h = 0; h < it->n_latents && d < it->n_dims; h++) {
      const double mean = value[h] * it->w[d + h * it->n_dims];
      if (h != slot) others = fmax(others, mean);
    }
    if (d < it->n_dims) w = it->w[d + slot * it->n_dims];
    if (w == 0 || fabs(others / w - it->mu[slot]) >= reach) continue;
    int i = n++;
    for (; i > 0 && at[i - 1] > others / w; i--) at[i] = at[i - 1];
    at[i] = others / w;
  }
  at[n++] = it->mu[slot] + reach;
  return n;
}

/* moment[k]: integral of z^k exp(log joint) over the value z of a slot, relative to the slot being
 * off, over z < 0 and over z > 0: panels of Gauss-Legendre's rule between the breakpoints. */
static inline void integrate_slot(const max_case *it, int slot, const double *others,
                                  double below[3], double above[3]) {
  enum { PANELS = 1000 };
  static const double node[3] = {-0.77459666924148338, 0, 0.77459666924148338};
  double value[LATENTS], at[DIMS + 3];
  memcpy(value, others, sizeof value);
  value[slot] = 0;
  const double base = define_log_joint(it, value);
  /* As far as the slab and the likelihood can pull together. */
  const double reach = 12 * (1 + sqrt(it->psi[slot] / it->problem.beta));
  const int n = list_breakpoints(it, slot, others, reach, at);
  memset(below, 0, 3 * sizeof *below);
  memset(above, 0, 3 * sizeof *above);
  for (int i = 0; i < (n - 1) * PANELS; i++) {
    const double half = (at[i / PANELS + 1] - at[i / PANELS]) / (2 * PANELS);
    for (int k = 0; k < 3; k++) {
      const double z = at[i / PANELS] + half * (2 * (i % PANELS) + 1 + node[k]);
      value[slot] = z;
      const double mass = half * (k == 1 ? 8.0 : 5.0) / 9 * exp(define_log_joint(it, value) - base);
      double *moment = z < 0 ? below : above;
      moment[0] += mass;
      moment[1] += mass * z;
      moment[2] += mass * z * z;
    }
  }
}

static inline gps_step ask(max_case *it, int slot, const double *value, double given) {
  gps_step step = {given, 0, 0};
  CHECK(model_max_spike_slab.conditional(&it->problem, &it->point, &it->states, slot, value, NULL,
                                         &step, it->scratch) == GPS_OK);
  return step;
}

#endif
