/* Missing cells of the noisy-OR. Given a state a cell that is missing adds no factor, and all that
 * could have fired there has its probability. Called by model_noisy_or.c. */
#include "model_noisy_missing.h"

#include <string.h>

/* A column of w at a time. */
void noisy_leave_missing(const gps_problem *problem, const double *w, double *own) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  if (problem->missing == NULL) return;
  for (size_t h = 0; h < n_latents; h++) {
    const double *column = w + h * n_dims;
    for (int n = 0; n < problem->n_points; n++) {
      const int n_missing = gps_n_missing(problem, n), *missing = gps_missing_of(problem, n);
      double sum = 0;
      for (int i = 0; i < n_missing; i++) sum += column[missing[i]];
      own[h + (size_t)n * n_latents] += sum;
    }
  }
}

void noisy_add_missing(const gps_problem *problem, const gps_point *point, const gps_states *states,
                       const double *prob, const double *leak, const double *fire, double *mass,
                       double *leaked, double *fired) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const double weight = gps_weight_of(problem, (size_t)point->index);
  const int n_missing = gps_n_missing(problem, point->index);
  const int *missing = gps_missing_of(problem, point->index);
  double total = 0;
  memset(mass, 0, (size_t)states->n_slots * sizeof *mass);
  for (int m = 0; m < states->n_states; m++) {
    const int *active = states->active + (size_t)m * (size_t)states->max_active;
    for (int k = 0; k < states->n_active[m]; k++) mass[active[k]] += prob[m];
    total += prob[m];
  }
  for (int i = 0; i < n_missing; i++) leaked[missing[i]] += weight * total * leak[missing[i]];
  for (int k = 0; k < states->n_slots; k++) {
    if (point->latent[k] < 0) continue;
    const size_t column = (size_t)point->latent[k] * n_dims;
    for (int i = 0; i < n_missing; i++) {
      const size_t place = column + (size_t)missing[i];
      fired[place] += weight * mass[k] * fire[place];
    }
  }
}
