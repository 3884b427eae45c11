/* What the .Call entries of the Gaussian process share. */
#ifndef GPSELECT_R_GP_H
#define GPSELECT_R_GP_H

#include "gp.h"
#include "gp_slots.h"
#include "r_watch.h"

/* The kernel described by list(type, ard), for points of n_dims dimensions. */
gps_kernel view_kernel(SEXP code, size_t n_dims);

/* theta with the length the kernel needs. */
const double *view_theta(SEXP theta, const gps_kernel *kernel);

/* A kernel whose distances are measured from the middle of the points x [n_dims x n], and points
 * with room for their coordinates. */
gp_cross view_cross(const gps_kernel *kernel, SEXP theta, SEXP n_threads, double n_pairs, size_t n,
                    const double *x);
gp_points view_points(const gp_cross *cross, size_t n, const double *x);

/* Rows of a matrix of targets, of which there must be one. */
size_t count_targets(SEXP targets, const char *what);

/* list(root [any x n_points], n_targets). */
gp_targets view_goal(SEXP goal, size_t n_points);

/* list(selected, prob_on), [n_slots x n_points], and an error where they name a latent beyond. */
gp_slots view_slots(SEXP targets, size_t n_latents, size_t n_points);
gp_slots check_slots(SEXP targets, size_t n_latents, size_t n_points);

/* Room for n_rows x n_cols doubles, and for n ints, until the .Call ends. */
double *alloc_doubles(size_t n_rows, size_t n_cols);
int *alloc_ints(size_t n);

#endif
