/* One point and its neighbours. Used by gp_neighbours*.c only. */
#ifndef GPSELECT_GP_NEIGHBOURS_LOCAL_H
#define GPSELECT_GP_NEIGHBOURS_LOCAL_H

#include "gp_neighbours.h"

/* The neighbours come first, the point itself is the last of n. Distances are from it. */
typedef struct {
  size_t n;
  double *x, *shifted; /* [n_dims x n] */
  gp_points points;    /* the same in a metric */
  kernel_centre centre;
  double *gram;  /* [n x n] */
  double *k;     /* [n x n] kernel matrix with noise, then its Cholesky factor */
  double *a;     /* [n x n] weights of a gradient */
  double *w, *u; /* [n] */
  double *sums;  /* [n_hyper] of a metric */
  double own;    /* k of the point with itself, without noise */
} gp_near;

gp_near gp_near_at(const gp_local *local, double *scratch);

/* Weights of the neighbours [n - 1] into near->w and the factor into near->k for query `q`; 0 where
 * the matrix has no factor. */
int gp_near_solve(const gp_local *local, size_t q, gp_near *near);

/* near->u <- K_BB^-1 u for the neighbours' matrix. */
void gp_near_weigh(gp_near *near);

/* gradient [n_hyper] += sum of A dk/d(log parameter) over all pairs, of whose weights near->a is
 * the lower triangle. Noise included. */
void gp_near_contract(const gp_local *local, gp_near *near, double *gradient);

/* Raises the jitter to that of the next step; 0 where there is no more. */
int gp_near_raise(gp_local *local, int step);

#endif
