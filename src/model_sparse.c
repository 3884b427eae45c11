/* Prior, noise and M-step of pi and sigma2 of the sparse coding models. Called by model_linear.c,
 * model_binary_sparse.c, model_spike_slab.c and model_max_*.c. */
#include "model_sparse.h"

#include <math.h>

#define PI_LOWEST 1e-4

static double square_about(const double *y, const double *intercept, size_t n_dims) {
  double sum = 0;
  if (intercept == NULL) {
    for (size_t d = 0; d < n_dims; d++) sum += y[d] * y[d];
    return sum;
  }
  for (size_t d = 0; d < n_dims; d++) sum += (y[d] - intercept[d]) * (y[d] - intercept[d]);
  return sum;
}

/* The same over the cells that are there. */
static double observed_square(const double *y, const double *intercept,
                              const unsigned char *observed, size_t n_dims) {
  double sum = 0;
  for (size_t d = 0; d < n_dims; d++) {
    const double deviation = intercept ? y[d] - intercept[d] : y[d];
    sum += observed[d] ? deviation * deviation : 0;
  }
  return sum;
}

int sparse_is_emptied(const double *w, size_t n_dims, size_t latent) {
  const double *column = w + latent * n_dims;
  for (size_t d = 0; d < n_dims; d++) {
    if (column[d] != 0) return 0;
  }
  return 1;
}

size_t sparse_count_emptied(const double *w, size_t n_dims, size_t n_latents) {
  size_t n = 0;
  for (size_t h = 0; h < n_latents; h++) n += (size_t)sparse_is_emptied(w, n_dims, h);
  return n;
}

void sparse_prepare(const gps_problem *problem, const double *w, const double *prob, int is_shared,
                    double sigma2, const double *intercept, const double *y, double *prior,
                    double *y_square) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  double constant = -0.5 * (double)n_dims * log(TWO_PI * sigma2);
  for (size_t h = 0; h < n_latents; h++) {
    const double on = sparse_is_emptied(w, n_dims, h) ? 0 : prob[is_shared ? 0 : h];
    prior[h] = log(on) - log1p(-on);
    constant += log1p(-on);
  }
  prior[n_latents] = constant;
  for (size_t n = 0; n < (size_t)problem->n_points; n++) {
    const unsigned char *observed = gps_observed_of(problem, (int)n);
    y_square[n] = observed ? observed_square(y + n * n_dims, intercept, observed, n_dims)
                           : square_about(y + n * n_dims, intercept, n_dims);
  }
}

double sparse_add_deviation(const double *y, const double *centre, double weight, size_t n_dims,
                            double *sum) {
  double square = 0;
  for (size_t d = 0; d < n_dims; d++) {
    const double deviation = y[d] - centre[d];
    sum[d] += weight * deviation;
    square += deviation * deviation;
  }
  return weight * square;
}

double sparse_add_observed(const double *y, const double *centre, const unsigned char *observed,
                           double weight, size_t n_dims, double *sum) {
  double square = 0;
  for (size_t d = 0; d < n_dims; d++) {
    if (!observed[d]) continue;
    const double deviation = y[d] - centre[d];
    sum[d] += weight * deviation;
    square += deviation * deviation;
  }
  return weight * square;
}

double sparse_shared_term(const gps_problem *problem, const gps_point *point, const double *prior,
                          const double *y_square, double sigma2) {
  const double value = prior[problem->shape.n_latents] - 0.5 * y_square[point->index] / sigma2;
  const int n_missing = gps_n_missing(problem, point->index);
  return n_missing == 0 ? value : value + 0.5 * n_missing * log(TWO_PI * sigma2);
}

gps_status sparse_update_sigma2(const gps_problem *problem, double square, double count,
                                double lowest, double *sigma2, int *raised) {
  *sigma2 = square / (count * (double)problem->shape.n_dims);
  if (!isfinite(*sigma2)) return GPS_NOT_FINITE;
  if (*sigma2 < lowest) {
    *sigma2 = lowest;
    ++*raised;
  }
  return GPS_OK;
}

static double clamp_prob(double prob, int *clamped) {
  if (prob >= PI_LOWEST && prob <= 1 - PI_LOWEST) return prob;
  ++*clamped;
  return prob < PI_LOWEST ? PI_LOWEST : 1 - PI_LOWEST;
}

void sparse_update_prob(const gps_problem *problem, const double *w, const double *on, double count,
                        int is_shared, double *prob, int *clamped) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  if (!is_shared) {
    for (size_t h = 0; h < n_latents; h++) {
      prob[h] = sparse_is_emptied(w, n_dims, h) ? 0 : clamp_prob(on[h] / count, clamped);
    }
    return;
  }
  const size_t n_left = n_latents - sparse_count_emptied(w, n_dims, n_latents);
  if (n_left == 0) return;
  double sum = 0;
  for (size_t h = 0; h < n_latents; h++) sum += on[h];
  prob[0] = clamp_prob(sum / (count * (double)n_left), clamped);
}
