/* What all .Call entries share: checked views of R objects, named results, classed errors.
 * Main thread only; everything it allocates belongs to R. */
#ifndef GPSELECT_R_SHELL_H
#define GPSELECT_R_SHELL_H

#define R_NO_REMAP
#define STRICT_R_HEADERS
#include <R.h>
#include <Rinternals.h>

#include "gpselect/model.h"

/* Element `name` of a list; R_NilValue where there is none. */
SEXP list_get(SEXP list, const char *name);

/* Element `name` of a list; an error where there is none. */
SEXP list_need(SEXP list, const char *name);

/* Views with checked type and size; `what` names the object in the error. A size of -1 is not
 * checked. */
const double *view_doubles(SEXP x, R_xlen_t length, const char *what);
const int *view_ints(SEXP x, R_xlen_t length, const char *what);
const int *view_flags(SEXP x, R_xlen_t length, const char *what);
const double *view_matrix(SEXP x, R_xlen_t n_rows, R_xlen_t n_cols, const char *what);

/* One number, which is not NA; a whole one; one of at least `least`; the number of a data point,
 * from 0. */
double view_number(SEXP x, const char *what);
int view_int(SEXP x, const char *what);
int view_count(SEXP x, int least, const char *what);
size_t view_row(SEXP x, const char *what);

/* Threads for a call of about `work` simple operations, a nanosecond each: as many of those asked
 * for as have enough to do. */
int threads_for(SEXP n_threads, double work);

/* Extents of a matrix of any type. */
int n_rows_of(SEXP matrix, const char *what);
int n_cols_of(SEXP matrix, const char *what);

/* A list; a length of -1 is not checked. */
SEXP view_list(SEXP x, R_xlen_t length, const char *what);

/* A list of `n` NULLs with these names; the caller protects it and hangs children on it. */
SEXP new_named_list(int n, const char *const *names);

/* Hang a new vector, matrix or cube of doubles (ints) on a protected list and return its storage.
 */
double *hang_doubles(SEXP list, int at, R_xlen_t length);
double *hang_matrix(SEXP list, int at, int n_rows, int n_cols);
double *hang_cube(SEXP list, int at, int n_rows, int n_cols, int n_layers);
int *hang_int_matrix(SEXP list, int at, int n_rows, int n_cols);

/* Raise an R condition of class gps_error_<class>. Does not return. */
void raise_error(const char *class, const char *format, ...);

/* Raise the error for a failed status of the core; `row` is the 0-based data point, or SIZE_MAX. An
 * interrupted core is no error: the jump goes on that the watch has kept. */
void raise_status(gps_status status, const char *where, size_t row);

/* The same for what a call of the core returned that is of no single data point, unless it is well.
 */
void need_ok(gps_status status, const char *where);

#endif
