/* Statistics of models with one latent on in each state, gathered latent by latent. */
#ifndef GPSELECT_R_LATENTS_H
#define GPSELECT_R_LATENTS_H

#include "infer.h"
#include "r_model.h"

/* Whether the model's statistics, the arrays `stats` of so many numbers, are gathered so. */
int sums_by_latent(const gps_model *model, const gps_problem *problem, const gps_states *states,
                   SEXP stats, size_t stats_length);

/* What the points of a block have in their slots [n_slots x n], and for how many observations each
 * stands, NULL: for one. */
typedef struct {
  const int *latent;
  const double *prob_on, *weight;
} r_posterior_slots;

/* All statistics of a block into the arrays stat, whose numbers are offset [n + 1] apart. */
void sum_latents(const gps_model *model, const gps_problem *problem, const gps_states *states,
                 const double *y, const r_posterior_slots *slots, const size_t *offset,
                 double *const *stat, int n_threads);

#endif
