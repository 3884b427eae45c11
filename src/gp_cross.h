/* Points in the metrics of a kernel, and its values between two sets of them. Called on the main
 * thread, or by the threads of an engine for points of their own; columns are worked on by
 * n_threads threads, so results have the same bits for any number. */
#ifndef GPSELECT_GP_CROSS_H
#define GPSELECT_GP_CROSS_H

#include "gpselect/watch.h"
#include "kernel.h"

/* A kernel at fixed parameters, and the point from which distances are measured. */
typedef struct {
  const gps_kernel *kernel;
  const double *theta; /* [n_hyper] */
  kernel_centre centre;
  int n_threads;
  const gps_watch *watch; /* or NULL */
} gp_cross;

/* Points and, once embedded, their coordinates in one metric. */
typedef struct {
  size_t n;
  const double *x, *shifted; /* [n_dims x n] */
  double *z, *sq, *tilt;     /* [n_dims x n], [n], [n] */
  double *scale;             /* [n_dims] of the metric */
  double *largest;           /* one number: kernel_largest() of sq */
} gp_points;

/* Storage of the coordinates of n points, which gp_points_at() deals out. */
size_t gp_points_scratch(size_t n_dims, size_t n);
gp_points gp_points_at(size_t n_dims, size_t n, const double *x, const double *shifted,
                       double *scratch);

void gp_points_embed(const kernel_metric *metric, const kernel_centre *centre, const gp_points *p);

/* Point `b` of `cols` against all of `rows` from `from` on, whose inner products with it are
 * gram. */
kernel_pairs gp_pairs_of(const kernel_metric *metric, const gp_points *rows, size_t from,
                         const gp_points *cols, size_t b, const double *gram);

/* k [rows x cols], leading dimension ld, without noise. gram [rows x cols] is scratch. `is_ready`:
 * the rows' coordinates are still there from a call before, which only a kernel of one metric makes
 * use of. */
void gp_cross_values(const gp_cross *cross, const gp_points *rows, const gp_points *cols,
                     int is_ready, double *gram, double *k, size_t ld);

/* gradient [n_hyper] += sum over pairs of weight [rows x cols] dk/d(log parameter), and unless NULL
 * inputs [n_dims x rows] += weight dk/d(row point), the column's point held fixed. */
size_t gp_cross_contract_scratch(const gps_kernel *kernel, size_t n_rows, size_t n_cols);
void gp_cross_contract(const gp_cross *cross, const gp_points *rows, const gp_points *cols,
                       const double *weight, double *gradient, double *inputs, double *scratch);

#endif
