/* Correlated slabs: the posterior of a support S from two small factors, Psi_SS = R R' and A = I +
 * R'W'W R / sigma2, in the coordinates z = mu + R e, where e has the posterior mean A^-1 R'W'(y - W
 * mu) / sigma2 and the covariance A^-1. The log joint divides by no variance, which may be tiny.
 * Unlike those of independent slabs, factors of nested supports are not nested: each support is
 * factored anew. Called by model_spike_slab.c. */
#include "model_slab.h"

#include <math.h>
#include <string.h>

#include "gpselect/small_chol.h"
#include "vector_math.h"

/* A support of n latents. */
typedef struct {
  double *gram, *r, *a; /* [n x n]; a holds the factor L of A */
  double *e;            /* [n], its posterior mean */
  double *column;       /* [2 n] */
} slab_support;

size_t slab_correlated_scratch(size_t n_slots) { return 3 * n_slots * (n_slots + 1); }

static slab_support support_in(size_t n, double *scratch) {
  double *r = scratch + n * n, *a = r + n * n, *e = a + n * n;
  const slab_support support = {scratch, r, a, e, e + n};
  return support;
}

/* A = I + R' gram R, its lower triangle. column: gram R, column by column. */
GPS_INLINE void form_a(const slab_support *it, size_t n) {
  for (size_t j = 0; j < n; j++) {
    const double *r = it->r + j * n;
    memset(it->column, 0, n * sizeof *it->column);
    for (size_t k = j; k < n; k++) {
      for (size_t i = 0; i < n; i++) it->column[i] += r[k] * it->gram[i + k * n];
    }
    for (size_t i = j; i < n; i++) {
      double sum = i == j;
      for (size_t k = i; k < n; k++) sum += it->r[k + i * n] * it->column[k];
      it->a[i + j * n] = sum;
    }
  }
}

/* Slots of a support: `active`, or all where it is NULL. */
GPS_INLINE size_t slot_of(const int *active, size_t i) { return active ? (size_t)active[i] : i; }

/* Factors of the support of n slots, posterior mean of e, and the log joint relative to the empty
 * state. */
GPS_INLINE gps_status factor_support(const slab_slots *slots, size_t n, const int *active,
                                     const slab_support *it, double *log_joint) {
  double value = 0;
  for (size_t j = 0; j < n; j++) {
    const size_t slot = slot_of(active, j), column = slot * slots->n_slots;
    double pull = slots->proj[slot];
    for (size_t i = 0; i < n; i++) {
      const size_t other = slot_of(active, i);
      it->gram[i + j * n] = slots->gram[other + column];
      it->r[i + j * n] = slots->psi[other + column];
      pull -= slots->gram[other + column] * slots->mean[other];
    }
    it->e[j] = pull;
    value += slots->prior[slot] + 0.5 * slots->mean[slot] * (slots->proj[slot] + pull);
  }
  if (small_cholesky(n, it->r, 0) != 0) return GPS_NOT_POSDEF;
  form_a(it, n);
  if (small_cholesky(n, it->a, 1) != 0) return GPS_NOT_FINITE;
  small_multiply_transposed(n, it->r, it->e);
  small_forward(n, it->a, it->e);
  for (size_t j = 0; j < n; j++) value += 0.5 * it->e[j] * it->e[j];
  small_backward(n, it->a, it->e);
  *log_joint = value - 0.5 * small_log_det(n, it->a);
  return GPS_OK;
}

GPS_CLONES gps_status slab_correlated_log_joint(const slab_slots *slots, const gps_states *states,
                                                double *log_joint, double *scratch) {
  for (int m = 0; m < states->n_states; m++) {
    const size_t n = (size_t)states->n_active[m];
    const slab_support support = support_in(n, scratch);
    const gps_status status = factor_support(
        slots, n, states->active + (size_t)m * (size_t)states->max_active, &support, log_joint + m);
    if (status != GPS_OK) return status;
  }
  return GPS_OK;
}

/* Covariance of the values, R A^-1 R': column i of L^-1 R' takes the place of row i of R, whose
 * upper triangle is free. */
GPS_INLINE void add_values(const slab_slots *slots, const slab_support *it, size_t n,
                           const int *active, double prob, const slab_moments *moments) {
  double *means = it->column, *half = it->gram;
  memcpy(means, it->e, n * sizeof *means);
  small_multiply(n, it->r, means);
  for (size_t i = 0; i < n; i++) {
    means[i] += slots->mean[active[i]];
    for (size_t j = 0; j < n; j++) half[j + i * n] = j <= i ? it->r[i + j * n] : 0;
    small_forward(n, it->a, half + i * n);
  }
  for (size_t k = 0; k < n; k++) {
    double *to = moments->value_value + (size_t)active[k] * slots->n_slots;
    moments->on[active[k]] += prob;
    moments->value[active[k]] += prob * means[k];
    for (size_t j = 0; j <= k; j++) {
      double sum = means[j] * means[k];
      for (size_t i = 0; i < n; i++) sum += half[i + j * n] * half[i + k * n];
      to[active[j]] += prob * sum;
    }
  }
}

/* v = R'^-1 e and T = -R'^-1 A^-1 R' gram. */
GPS_INLINE void add_pulls(const slab_slots *slots, const slab_support *it, size_t n,
                          const int *active, double prob, const slab_moments *moments) {
  double *v = it->column, *x = v + n;
  memcpy(v, it->e, n * sizeof *v);
  small_backward(n, it->r, v);
  for (size_t k = 0; k < n; k++) {
    double *to = moments->pull_pull + (size_t)active[k] * slots->n_slots;
    memcpy(x, it->gram + k * n, n * sizeof *x);
    small_multiply_transposed(n, it->r, x);
    small_forward(n, it->a, x);
    small_backward(n, it->a, x);
    small_backward(n, it->r, x);
    moments->pull[active[k]] += prob * v[k];
    for (size_t j = 0; j <= k; j++) to[active[j]] += prob * (v[j] * v[k] - x[j]);
  }
}

GPS_CLONES gps_status slab_correlated_moments(const slab_slots *slots, const gps_states *states,
                                              const double *prob, const slab_moments *moments,
                                              double *scratch) {
  const double negligible = slab_negligible(states);
  for (int m = 0; m < states->n_states; m++) {
    if (prob[m] <= negligible) continue;
    const int *active = states->active + (size_t)m * (size_t)states->max_active;
    const size_t n = (size_t)states->n_active[m];
    const slab_support support = support_in(n, scratch);
    double log_joint;
    const gps_status status = factor_support(slots, n, active, &support, &log_joint);
    if (status != GPS_OK) return status;
    if (moments->pull != NULL) add_pulls(slots, &support, n, active, prob[m], moments);
    add_values(slots, &support, n, active, prob[m], moments);
  }
  return GPS_OK;
}

gps_status slab_correlated_given(const slab_slots *slots, double *scratch) {
  const slab_support support = support_in(slots->n_slots, scratch);
  double log_joint;
  return factor_support(slots, slots->n_slots, NULL, &support, &log_joint);
}

/* The values of the support have the posterior mean mu + R e and covariance R A^-1 R'; under the
 * prior given them, that of the latent is normal. So its value z and the overlap x = W_h'W z_S /
 * sigma2 are jointly normal, and exp(z (proj - x) - z^2 gram / 2) integrates in closed form. */
double slab_correlated_gain(const slab_slots *slots, const slab_latent *latent,
                            const double *gram_with, const double *psi_with, double *scratch) {
  const size_t n = slots->n_slots;
  const slab_support it = support_in(n, scratch);
  double *p = it.column, *q = p + n;
  double mean = latent->mean, pull = latent->proj, rest = latent->psi, precision = latent->gram;
  double from_support = 0, with_overlap = 0;
  if (n > 0) {
    memcpy(p, psi_with, n * sizeof *p);
    memcpy(q, gram_with, n * sizeof *q);
  }
  small_forward(n, it.r, p);
  for (size_t i = 0; i < n; i++) {
    mean += p[i] * it.e[i];
    rest -= p[i] * p[i];
    pull -= q[i] * slots->mean[i];
  }
  small_multiply_transposed(n, it.r, q);
  for (size_t i = 0; i < n; i++) pull -= q[i] * it.e[i];
  small_forward(n, it.a, p);
  small_forward(n, it.a, q);
  for (size_t i = 0; i < n; i++) {
    from_support += p[i] * p[i];
    with_overlap += p[i] * q[i];
    precision -= q[i] * q[i];
  }
  /* Rounding may take these below. */
  const double variance = (rest > 0 ? rest : 0) + from_support, turn = 1 + with_overlap;
  if (precision < 0) precision = 0;
  const double ratio = turn * turn + variance * precision;
  return latent->prior +
         (mean * (pull * turn - 0.5 * mean * precision) + 0.5 * variance * pull * pull) / ratio -
         0.5 * log(ratio);
}
