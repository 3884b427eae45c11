/* A native model and its arrays, as R objects describe them: found by name, checked against the
 * declaration. */
#ifndef GPSELECT_R_MODEL_H
#define GPSELECT_R_MODEL_H

#include "r_watch.h"

/* A block of the data as R hands it over: columns y_offset .. y_offset + n_points - 1 of y. */
typedef struct {
  const double *y;
  size_t first_row; /* global number of its first data point */
  int n_points;
  const gps_sparse *sparse;   /* or NULL */
  const int *streams;         /* [n_points] or NULL */
  const gps_missing *missing; /* or NULL */
  const double *weight;       /* [n_points] or NULL */
} r_block;

/* list(package, symbol) -> the model's table, with all that it must have. */
const gps_model *find_model(SEXP native);

/* list(n_points, first_row, y_offset, entries, streams, missing, weights) of a matrix y with n_dims
 * rows. Where cells are missing y is a copy in which they are 0. */
r_block read_block(SEXP y, SEXP block, int n_dims);

/* list(start, row, value) of sparse data with n_dims dimensions, from the point `offset` (0-based)
 * on, or NULL. */
const gps_sparse *read_sparse(SEXP entries, double offset, double n_points, int n_dims);

/* Numbers of random streams, one a data point, or NULL. */
const int *read_streams(SEXP streams, int n_points);

/* The problem of one block. `inputs` is a named list of parameters, options and, if `is_prepared`,
 * what the model prepares, `lengths` a named vector of their declared lengths. One that is not
 * there is an error, or NULL where it may miss. */
gps_problem read_problem(const gps_model *model, SEXP shape, SEXP inputs, SEXP lengths,
                         r_block block, int is_prepared);

/* New arrays of the given dims (a named list of integer vectors), in the table's order, for the
 * block of a problem. Returns a protected-by-caller list; pointers to the storage go into data [n].
 * With may_miss the list has none of those that the table allows to miss and that have no dims;
 * their pointers are NULL. */
SEXP new_arrays(const gps_problem *problem, const gps_array *arrays, SEXP dims, int may_miss,
                double **data);

/* An error where an array of so many numbers has none of the shapes that the table allows for it,
 * as far as these are sizes of the problem: words of the model's own stand for any number. */
void check_shape(const gps_problem *problem, const gps_array *array, double length);

/* Whether a model's statistics come weighed. */
int weighs_points(const gps_model *model);

int count_arrays(const gps_array *arrays);
int count_names(const char *const *names);

#endif
