/* What models with independent Bernoulli latents and independent Gaussian noise share (A, B and C
 * of the paper's section 4.1): prior, noise and the M-step of pi and sigma2. */
#ifndef GPSELECT_MODEL_SPARSE_H
#define GPSELECT_MODEL_SPARSE_H

#include "gpselect/model.h"

#define TWO_PI 6.283185307179586477

/* A latent whose column of W is zero throughout is out of the model: never on, and not counted in
 * a shared pi. */
int sparse_is_emptied(const double *w, size_t n_dims, size_t latent);
size_t sparse_count_emptied(const double *w, size_t n_dims, size_t n_latents);

/* prior [H + 1] = logit(pi_h), -Inf of one that is out, then the log joint of the empty state
 * without its data term, for points that have all cells; y_square [n] = |y - b|^2 over the cells
 * that a point has. prob [1 if shared, else H]; intercept b [D], NULL: 0. */
void sparse_prepare(const gps_problem *problem, const double *w, const double *prob, int is_shared,
                    double sigma2, const double *intercept, const double *y, double *prior,
                    double *y_square);

/* Adds y - centre to sum [D]. Value: |y - centre|^2, both times the weight. Statistics are about a
 * place that stays what it is while the intercept moves, so that those of several iterations can be
 * averaged. */
double sparse_add_deviation(const double *y, const double *centre, double weight, size_t n_dims,
                            double *sum);

/* The same of the cells that are there. */
double sparse_add_observed(const double *y, const double *centre, const unsigned char *observed,
                           double weight, size_t n_dims, double *sum);

/* The log joint of the empty state, which the log joints of all states are relative to. Any thread.
 */
double sparse_shared_term(const gps_problem *problem, const gps_point *point, const double *prior,
                          const double *y_square, double sigma2);

/* sigma2 from the expected squared error `square` of `count` points, at least `lowest`; *raised
 * counts where that acts. */
gps_status sparse_update_sigma2(const gps_problem *problem, double square, double count,
                                double lowest, double *sigma2, int *raised);

/* pi from the expected number of points where each latent is on, `on` [H], within its limits; w is
 * that of the E-step. Where all latents are out, a shared pi stays as it is in `prob`. */
void sparse_update_prob(const gps_problem *problem, const double *w, const double *on, double count,
                        int is_shared, double *prob, int *clamped);

#endif
