/* Model C where a data point lacks cells: the law of a latent over those that are there, and what
 * the others are expected to be. Included by model_max_*.c only. */
#ifndef GPSELECT_MODEL_MAX_MISSING_H
#define GPSELECT_MODEL_MAX_MISSING_H

#include "gpselect/model.h"
#include "max_conditional.h"

/* Doubles that max_leave_missing() needs of scratch; 0 where the block has all cells. */
size_t max_missing_scratch(const gps_problem *problem);

/* The law of a latent over the cells that a point has, put together in `gathered`. */
void max_leave_missing(const gps_point *point, max_latent *law, double *gathered);

/* What the cells that a point has add to the statistics whatever is on; returns its weight. */
double max_add_point(const gps_problem *problem, const gps_point *point, double *const *stats);

/* Adds what the missing cells of a point are expected to be. Where the latents reach m_d, y_d = a_d
 * + m_d + noise: <y_d z> of the latent that wins d is z (a_d + m_d), and <(y_d - c_d)^2> is (a_d -
 * c_d + m_d)^2 + sigma2. For a draw with the given weight, what it reaches and who wins: */
void max_add_missing(const gps_problem *problem, const gps_point *point, const double *value,
                     double weight, const double *reached, const double *winner,
                     double *const *stats);

/* For states with at most one latent on, by the moments of its z [4]: of a point whatever is on,
 * and of the state in which a latent is on, whose probability times the point's weight is prob. */
void max_add_missing_base(const gps_problem *problem, const gps_point *point, double *const *stats);
void max_add_missing_single(const gps_problem *problem, const gps_point *point, int latent,
                            double prob, const double *moment, double *const *stats);

#endif
