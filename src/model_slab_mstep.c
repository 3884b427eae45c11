/* M-steps of the slabs: in ratio form where they are independent, by expectations over all values,
 * on or off, where they are correlated (then those of the latents that are on tell of the others,
 * and the ratio form has no exact analogue). Called by model_spike_slab.c. */
#include "model_slab.h"

#include <math.h>
#include <string.h>

#include "linalg.h"

/* Smallest variance of a slab, relative to the mean square of its value: what data say of smaller
 * ones is rounding error. One that is below it already may stay there, so that the old parameters
 * are always among those allowed and the bound cannot fall. */
#define PSI_LOWEST 1e-8

/* Mean and variance of the values where the latent is on. One that is on for less than a data point
 * keeps its slab. */
void slab_independent_mstep(size_t n, const slab_params *old, const double *on, const double *value,
                            const double *value_value, double *mu, double *psi, int *raised,
                            int *kept) {
  for (size_t h = 0; h < n; h++) {
    const double old_mu = old->mu[h], old_psi = old->psi[h];
    mu[h] = old_mu;
    psi[h] = old_psi;
    if (on[h] < 1) {
      ++*kept;
      continue;
    }
    mu[h] = value[h] / on[h];
    psi[h] = value_value[h * (n + 1)] / on[h] - mu[h] * mu[h];
    const double lowest = fmin(PSI_LOWEST * (old_mu * old_mu + old_psi), old_psi);
    if (psi[h] >= lowest) continue;
    psi[h] = lowest;
    ++*raised;
  }
}

/* two matrices; unit lengths and eigenvalues, eigenvectors' scratch */
size_t slab_mstep_scratch(size_t n, int is_correlated) {
  return is_correlated ? 2 * n * n + 2 * n + linalg_eigen_sym_scratch(n) : 0;
}

/* to = a_ij / (length_i length_j), both triangles */
static void rescale(size_t n, const double *a, const double *length, double *to) {
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < n; i++) to[i + j * n] = a[i + j * n] / (length[i] * length[j]);
  }
}

/* Whether all eigenvalues are above `lowest`; spoils a. */
static int exceeds(size_t n, double *a, double lowest) {
  for (size_t h = 0; h < n; h++) a[h * (n + 1)] -= lowest;
  return linalg_cholesky(n, a, n) == GPS_OK;
}

/* Raises the eigenvalues of psi that are too low, in units in which the mean square of each value
 * is 1: the maximum under that constraint. */
static gps_status raise_psi(size_t n, const slab_params *old, double *psi, int *raised,
                            double *scratch) {
  double *scaled = scratch, *product = scaled + n * n, *length = product + n * n;
  double *values = length + n, *rest = values + n, lowest = PSI_LOWEST;
  for (size_t h = 0; h < n; h++) {
    length[h] = sqrt(old->mu[h] * old->mu[h] + old->psi[h * (n + 1)]);
  }
  rescale(n, psi, length, scaled);
  if (exceeds(n, scaled, lowest)) return GPS_OK;
  rescale(n, old->psi, length, scaled);
  gps_status status = linalg_eigen_sym(n, scaled, values, rest);
  if (status != GPS_OK) return status;
  if (values[0] < lowest) lowest = values[0] > 0 ? values[0] : 0;
  rescale(n, psi, length, scaled);
  status = linalg_eigen_sym(n, scaled, values, rest);
  if (status != GPS_OK) return status;
  for (size_t k = 0; k < n; k++) {
    if (values[k] < lowest) ++*raised;
    const double root = sqrt(values[k] < lowest ? lowest : values[k]);
    for (size_t i = 0; i < n; i++) scaled[i + k * n] *= root * length[i];
  }
  linalg_syrk('N', n, n, 1, scaled, n, 0, psi, n);
  linalg_mirror(n, psi, n);
  return GPS_OK;
}

/* With E z = mu + Psi v and Cov z = Psi + Psi T Psi of each data point, Psi is applied once: mu' =
 * mu + Psi mean(v), Psi' = Psi + Psi mean(v v' + T) Psi - (mu' - mu)(mu' - mu)'. */
gps_status slab_correlated_mstep(size_t n, const slab_params *old, double count, const double *pull,
                                 const double *pull_pull, double *mu, double *psi, int *raised,
                                 double *scratch) {
  double *mean = scratch, *product = mean + n * n;
  for (size_t k = 0; k < n; k++) {
    for (size_t j = 0; j <= k; j++) {
      mean[j + k * n] = mean[k + j * n] = pull_pull[j + k * n] / count;
    }
  }
  linalg_gemm('N', 'N', n, n, n, 1, old->psi, n, mean, n, 0, product, n);
  memcpy(psi, old->psi, n * n * sizeof *psi);
  linalg_gemm('N', 'N', n, n, n, 1, product, n, old->psi, n, 1, psi, n);
  for (size_t i = 0; i < n; i++) {
    double step = 0;
    for (size_t j = 0; j < n; j++) step += old->psi[i + j * n] * pull[j];
    mean[i] = step / count;
    mu[i] = old->mu[i] + mean[i];
  }
  for (size_t k = 0; k < n; k++) {
    for (size_t j = 0; j <= k; j++) {
      psi[j + k * n] = psi[k + j * n] = 0.5 * (psi[j + k * n] + psi[k + j * n]) - mean[j] * mean[k];
    }
  }
  return raise_psi(n, old, psi, raised, scratch);
}
