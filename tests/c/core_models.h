/* Small problems of the built-in models for the tests, prepared as the shell does it, with every
 * number that nobody may read set to NaN. */
#ifndef GPSELECT_TEST_CORE_MODELS_H
#define GPSELECT_TEST_CORE_MODELS_H

#include <math.h>

#include "gpselect/model.h"

extern const gps_model model_binary_sparse, model_gaussian_mixture, model_spike_slab;

enum { CORE_DIMS = 5, CORE_LATENTS = 7, CORE_POINTS = 40 };

typedef struct {
  const gps_model *model;
  gps_problem problem;
  /* 0: model A; 1, 2, 3: model D full, diagonal, spherical; 4, 5: model B diagonal, full */
  int kind, is_one_hot;
  const double *input[14];
  double w[CORE_DIMS * CORE_LATENTS], pi[CORE_LATENTS], sigma2[1], options[4];
  double sigma[CORE_DIMS * CORE_DIMS * CORE_LATENTS], centre[CORE_DIMS];
  double scale[CORE_DIMS], log_base[1];
  double gram[CORE_LATENTS * CORE_LATENTS], proj[CORE_LATENTS * CORE_POINTS];
  double prior[CORE_LATENTS + 1], y_square[CORE_POINTS];
  double mu[CORE_LATENTS], psi[CORE_LATENTS * CORE_LATENTS];
  double whitener[8 + 8 * CORE_DIMS * CORE_LATENTS], log_scale[CORE_LATENTS];
  double y[CORE_DIMS * CORE_POINTS];
} core_case;

static double core_number(size_t i) { return 2 * sin((double)(i * 17 + 3)) + cos((double)(i * i)); }

static void core_fill(core_case *it) {
  for (size_t i = 0; i < CORE_DIMS * CORE_LATENTS; i++) it->w[i] = core_number(i);
  for (size_t i = 0; i < CORE_DIMS * CORE_POINTS; i++) it->y[i] = 1.5 * core_number(i + 1000);
  for (size_t h = 0; h < CORE_LATENTS; h++) it->pi[h] = 0.05 + 0.1 * (double)h;
  for (size_t d = 0; d < CORE_DIMS; d++) it->centre[d] = 0.1 * (double)d;
  it->sigma2[0] = 0.9;
}

static inline void core_binary_sparse(core_case *it) {
  it->model = &model_binary_sparse;
  it->kind = it->is_one_hot = 0;
  core_fill(it);
  it->options[0] = 0;
  it->options[1] = 1e-6;
  const double *input[11] = {it->w, it->pi,   it->sigma2, NULL,      it->options, it->options + 1,
                             NULL,  it->gram, it->proj,   it->prior, it->y_square};
  for (int i = 0; i < 11; i++) it->input[i] = input[i];
  const gps_problem problem = {.shape = {CORE_DIMS, CORE_LATENTS},
                               .first_row = 100,
                               .n_points = CORE_POINTS,
                               .beta = 1,
                               .iteration = 1,
                               .input = it->input};
  it->problem = problem;
  double *prepared[4] = {it->gram, it->proj, it->prior, it->y_square};
  CHECK_WHOLE(prepared, it->model->prepared);
  it->model->prepare(&it->problem, it->y, prepared);
}

static inline void core_spike_slab(core_case *it, int kind) {
  it->model = &model_spike_slab;
  it->kind = kind;
  it->is_one_hot = 0;
  core_fill(it);
  for (size_t h = 0; h < CORE_LATENTS; h++) {
    it->mu[h] = 0.3 * core_number(h + 50);
    for (size_t j = 0; j < CORE_LATENTS; j++) {
      const double shared = 0.4 * cos((double)(h + j)) + 0.1;
      it->psi[j + h * CORE_LATENTS] = j == h ? 1.5 + 0.3 * (double)h : shared;
    }
    if (kind == 4) it->psi[h] = 0.2 + 0.3 * (double)h;
  }
  it->options[0] = 0;
  it->options[1] = 1e-6;
  it->options[2] = kind == 5;
  const double *input[14] = {it->w,    it->pi,      it->mu,          it->psi,         it->sigma2,
                             NULL,     it->options, it->options + 1, it->options + 2, NULL,
                             it->gram, it->proj,    it->prior,       it->y_square};
  for (int i = 0; i < 14; i++) it->input[i] = input[i];
  const gps_problem problem = {.shape = {CORE_DIMS, CORE_LATENTS},
                               .first_row = 100,
                               .n_points = CORE_POINTS,
                               .beta = 1,
                               .iteration = 1,
                               .input = it->input};
  it->problem = problem;
  double *prepared[4] = {it->gram, it->proj, it->prior, it->y_square};
  CHECK_WHOLE(prepared, it->model->prepared);
  it->model->prepare(&it->problem, it->y, prepared);
}

/* Covariance of cluster c, D x D, by the kind of the case. */
static inline void core_covariance(const core_case *it, size_t c, double *to) {
  for (size_t j = 0; j < CORE_DIMS; j++) {
    for (size_t i = 0; i < CORE_DIMS; i++) {
      const size_t at = i + j * CORE_DIMS;
      if (it->kind == 1) {
        to[at] = it->sigma[at + c * CORE_DIMS * CORE_DIMS];
      } else {
        to[at] = i != j ? 0 : it->kind == 2 ? it->sigma[i + c * CORE_DIMS] : it->sigma[c];
      }
    }
  }
}

static inline void core_mixture(core_case *it, int kind) {
  it->model = &model_gaussian_mixture;
  it->kind = kind;
  it->is_one_hot = 1;
  core_fill(it);
  for (size_t c = 0; c < CORE_LATENTS; c++) it->pi[c] = ((double)c + 1) / 28;
  if (kind == 1) {
    for (size_t c = 0; c < CORE_LATENTS; c++) {
      for (size_t j = 0; j < CORE_DIMS; j++) {
        for (size_t i = 0; i < CORE_DIMS; i++) {
          it->sigma[i + CORE_DIMS * (j + CORE_DIMS * c)] =
              i == j ? 2 + 0.3 * (double)(c + i) : 0.3 * cos((double)(i + j + c));
        }
      }
    }
  } else {
    for (size_t i = 0; i < CORE_DIMS * CORE_LATENTS; i++) it->sigma[i] = 1 + fabs(core_number(i));
  }
  it->options[0] = kind - 1;
  it->options[1] = 1e-6;
  it->options[2] = 1e-4 / CORE_LATENTS;
  it->options[3] = 0;
  for (size_t d = 0; d < CORE_DIMS; d++) it->scale[d] = kind == 3 ? 1.5 : 1 + 0.5 * (double)d;
  const double *input[14] = {it->w,           it->sigma,    it->pi,          it->centre,
                             it->scale,       it->options,  it->options + 1, it->options + 2,
                             it->options + 3, it->whitener, it->log_scale,   it->log_base};
  for (int i = 0; i < 14; i++) it->input[i] = input[i];
  const gps_problem problem = {.shape = {CORE_DIMS, CORE_LATENTS},
                               .first_row = 100,
                               .n_points = CORE_POINTS,
                               .beta = 1,
                               .iteration = 1,
                               .input = it->input};
  it->problem = problem;
  double *prepared[5] = {it->whitener, it->log_scale, it->log_base, NULL, NULL};
  CHECK_WHOLE(prepared, it->model->prepared);
  it->model->prepare(&it->problem, it->y, prepared);
}

/* A case by the number of its kind. */
static inline void core_build(core_case *it, int number) {
  if (number == 0) {
    core_binary_sparse(it);
  } else if (number <= 3) {
    core_mixture(it, number);
  } else {
    core_spike_slab(it, number);
  }
}

/* log N(y; mean, covariance) by elimination. */
static inline double core_log_normal(const double *y, const double *mean,
                                     const double *covariance) {
  double a[CORE_DIMS][CORE_DIMS + 1], log_det = 0, square = 0;
  for (size_t i = 0; i < CORE_DIMS; i++) {
    for (size_t j = 0; j < CORE_DIMS; j++) a[i][j] = covariance[i + j * CORE_DIMS];
    a[i][CORE_DIMS] = y[i] - mean[i];
  }
  for (size_t k = 0; k < CORE_DIMS; k++) {
    log_det += log(a[k][k]);
    square += a[k][CORE_DIMS] * a[k][CORE_DIMS] / a[k][k];
    for (size_t i = k + 1; i < CORE_DIMS; i++) {
      const double factor = a[i][k] / a[k][k];
      for (size_t j = k; j <= CORE_DIMS; j++) a[i][j] -= factor * a[k][j];
    }
  }
  return -0.5 * (CORE_DIMS * log(6.283185307179586477) + log_det + square);
}

/* Mean and covariance of the data given the latents that are on. */
static inline void core_data_law(const core_case *it, int n_on, const int *on, double *mean,
                                 double *covariance) {
  const int is_full = it->kind == 5, has_slabs = it->kind >= 4;
  for (size_t e = 0; e < CORE_DIMS; e++) {
    mean[e] = 0;
    for (size_t d = 0; d < CORE_DIMS; d++)
      covariance[d + e * CORE_DIMS] = d == e ? it->sigma2[0] : 0;
  }
  for (int i = 0; i < n_on; i++) {
    const double *w = it->w + (size_t)on[i] * CORE_DIMS;
    for (size_t d = 0; d < CORE_DIMS; d++) mean[d] += (has_slabs ? it->mu[on[i]] : 1) * w[d];
    for (int j = 0; has_slabs && j < n_on; j++) {
      const double *other = it->w + (size_t)on[j] * CORE_DIMS;
      const double diagonal = i == j ? it->psi[on[i]] : 0;
      const double psi = is_full ? it->psi[on[i] + on[j] * CORE_LATENTS] : diagonal;
      for (size_t d = 0; d < CORE_DIMS * CORE_DIMS; d++)
        covariance[d] += psi * w[d % CORE_DIMS] * other[d / CORE_DIMS];
    }
  }
}

/* Log joint of the state with these latents on, by the definition of the model. */
static inline double core_log_joint(const core_case *it, size_t point, int n_on, const int *on) {
  const double *y = it->y + point * CORE_DIMS;
  double mean[CORE_DIMS], covariance[CORE_DIMS * CORE_DIMS];
  if (it->is_one_hot) {
    core_covariance(it, (size_t)on[0], covariance);
    return log(it->pi[on[0]]) + core_log_normal(y, it->w + on[0] * CORE_DIMS, covariance);
  }
  core_data_law(it, n_on, on, mean, covariance);
  double value = core_log_normal(y, mean, covariance);
  int is_on[CORE_LATENTS] = {0};
  for (int i = 0; i < n_on; i++) is_on[on[i]] = 1;
  for (size_t h = 0; h < CORE_LATENTS; h++) {
    value += is_on[h] ? log(it->pi[h]) : log1p(-it->pi[h]);
  }
  return value;
}

#endif
