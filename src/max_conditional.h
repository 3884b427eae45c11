/* One latent of a max superposition given the others: its value z > 0 or z < 0 wins the dimensions
 * where z w exceeds what the others reach, so that the exponent is quadratic between breakpoints.
 * Any thread, no allocation. Called by model_max_spike_slab.c. */
#ifndef GPSELECT_MAX_CONDITIONAL_H
#define GPSELECT_MAX_CONDITIONAL_H

#include <stddef.h>

#include "gpselect/rng.h"
#include "normal.h"

typedef struct {
  size_t n_dims;
  const double *y, *w;      /* [n_dims] data and component */
  const double *others;     /* [n_dims] what the other latents reach, at least 0; NULL: 0 */
  double mu, psi, log_norm; /* the slab's law, log_norm = -log(2 pi psi) / 2 */
  double sigma2, beta;      /* noise variance, inverse temperature */
} max_latent;

/* Log of the integral over z of [N(z; mu, psi) p(y | z) / p(y | off)]^beta. The pieces, in side *
 * (z - mu) with those of side 1 first, are laid out in scratch [max_latent_scratch()]. */
size_t max_latent_scratch(size_t n_dims);
double max_latent_integral(const max_latent *latent, normal_pieces *pieces, double *scratch);

/* Log of the integrand at one value. */
double max_latent_density(const max_latent *latent, double value);

/* A draw from the normalised integrand, never 0, and a value where it is largest; both from the
 * pieces. */
double max_latent_draw(const max_latent *latent, const normal_pieces *pieces, gps_rng *rng);
double max_latent_mode(const max_latent *latent, const normal_pieces *pieces);

#endif
