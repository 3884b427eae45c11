/* What all .Call entries share: checked views of R objects, named results, classed errors. */
#include "r_shell.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "r_watch.h"

/* More threads do not make anything faster, and a system that has no room for them ends R. */
#define MOST_THREADS 256
/* What a thread must have to do in a call: half a millisecond. It waits actively for the next loop,
 * for many milliseconds, and takes the time of a processor from others until then. */
#define THREAD_WORK ((double)(1 << 19))

SEXP list_get(SEXP list, const char *name) {
  const SEXP names = Rf_getAttrib(list, R_NamesSymbol);
  if (TYPEOF(list) != VECSXP || TYPEOF(names) != STRSXP) return R_NilValue;
  for (R_xlen_t i = 0; i < Rf_xlength(list); i++) {
    if (strcmp(CHAR(STRING_ELT(names, i)), name) == 0) return VECTOR_ELT(list, i);
  }
  return R_NilValue;
}

SEXP list_need(SEXP list, const char *name) {
  const SEXP element = list_get(list, name);
  if (element == R_NilValue) raise_error("model", "`%s` is missing.", name);
  return element;
}

static void check_type_and_length(SEXP x, SEXPTYPE type, R_xlen_t length, const char *what) {
  if ((SEXPTYPE)TYPEOF(x) != type) {
    raise_error("model", "`%s` must be of type %s, not %s.", what, Rf_type2char(type),
                Rf_type2char((SEXPTYPE)TYPEOF(x)));
  }
  if (length >= 0 && Rf_xlength(x) != length) {
    raise_error("model", "`%s` must have %.0f values, not %.0f.", what, (double)length,
                (double)Rf_xlength(x));
  }
}

const double *view_doubles(SEXP x, R_xlen_t length, const char *what) {
  check_type_and_length(x, REALSXP, length, what);
  return REAL(x);
}

const int *view_ints(SEXP x, R_xlen_t length, const char *what) {
  check_type_and_length(x, INTSXP, length, what);
  return INTEGER(x);
}

const int *view_flags(SEXP x, R_xlen_t length, const char *what) {
  check_type_and_length(x, LGLSXP, length, what);
  return LOGICAL(x);
}

static R_xlen_t dim_of(SEXP matrix, int which) {
  const SEXP dim = Rf_getAttrib(matrix, R_DimSymbol);
  return TYPEOF(dim) == INTSXP && Rf_length(dim) == 2 ? INTEGER(dim)[which] : -1;
}

const double *view_matrix(SEXP x, R_xlen_t n_rows, R_xlen_t n_cols, const char *what) {
  check_type_and_length(x, REALSXP, -1, what);
  const R_xlen_t rows = dim_of(x, 0), cols = dim_of(x, 1);
  if (rows < 0 || (n_rows >= 0 && rows != n_rows) || (n_cols >= 0 && cols != n_cols)) {
    raise_error("model", "`%s` must be a matrix of %.0f x %.0f (-1: any), not %.0f x %.0f.", what,
                (double)n_rows, (double)n_cols, (double)rows, (double)cols);
  }
  return REAL(x);
}

double view_number(SEXP x, const char *what) {
  if (!(TYPEOF(x) == REALSXP || TYPEOF(x) == INTSXP) || Rf_xlength(x) != 1) {
    raise_error("model", "`%s` must be one number.", what);
  }
  const double value = Rf_asReal(x);
  if (ISNAN(value)) raise_error("model", "`%s` must be a number, not NA.", what);
  return value;
}

int view_int(SEXP x, const char *what) {
  const double value = view_number(x, what);
  if (value < INT_MIN || value > INT_MAX || value != floor(value))
    raise_error("model", "`%s` must be a whole number, not %g.", what, value);
  return (int)value;
}

int view_count(SEXP x, int least, const char *what) {
  const int value = view_int(x, what);
  if (value < least)
    raise_error("model", "`%s` must be a whole number of at least %d, not %d.", what, least, value);
  return value;
}

size_t view_row(SEXP x, const char *what) {
  const double value = view_number(x, what);
  if (value < 0 || value > 4503599627370496.0)
    raise_error("model", "`%s` must be the number of a data point, not %g.", what, value);
  return (size_t)value;
}

int threads_for(SEXP n_threads, double work) {
  const int asked = view_count(n_threads, 1, "n_threads");
  const double most = fmin(work / THREAD_WORK, MOST_THREADS);
  return most < 2 ? 1 : asked < most ? asked : (int)most;
}

static int extent_of(SEXP matrix, int which, const char *what) {
  const R_xlen_t extent = dim_of(matrix, which);
  if (extent < 0) raise_error("model", "`%s` must be a matrix.", what);
  return (int)extent;
}

int n_rows_of(SEXP matrix, const char *what) { return extent_of(matrix, 0, what); }

int n_cols_of(SEXP matrix, const char *what) { return extent_of(matrix, 1, what); }

SEXP view_list(SEXP x, R_xlen_t length, const char *what) {
  check_type_and_length(x, VECSXP, length, what);
  return x;
}

SEXP new_named_list(int n, const char *const *names) {
  const SEXP list = PROTECT(Rf_allocVector(VECSXP, n));
  const SEXP list_names = Rf_allocVector(STRSXP, n);
  Rf_setAttrib(list, R_NamesSymbol, list_names);
  for (int i = 0; i < n; i++) SET_STRING_ELT(list_names, i, Rf_mkChar(names[i]));
  UNPROTECT(1);
  return list;
}

double *hang_doubles(SEXP list, int at, R_xlen_t length) {
  SET_VECTOR_ELT(list, at, Rf_allocVector(REALSXP, length));
  return REAL(VECTOR_ELT(list, at));
}

double *hang_matrix(SEXP list, int at, int n_rows, int n_cols) {
  SET_VECTOR_ELT(list, at, Rf_allocMatrix(REALSXP, n_rows, n_cols));
  return REAL(VECTOR_ELT(list, at));
}

double *hang_cube(SEXP list, int at, int n_rows, int n_cols, int n_layers) {
  SET_VECTOR_ELT(list, at, Rf_alloc3DArray(REALSXP, n_rows, n_cols, n_layers));
  return REAL(VECTOR_ELT(list, at));
}

int *hang_int_matrix(SEXP list, int at, int n_rows, int n_cols) {
  SET_VECTOR_ELT(list, at, Rf_allocMatrix(INTSXP, n_rows, n_cols));
  return INTEGER(VECTOR_ELT(list, at));
}

void raise_error(const char *class, const char *format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  /* gps_abort() of the package makes the condition, so that C and R errors are of one kind. */
  const SEXP namespace = PROTECT(R_FindNamespace(PROTECT(Rf_mkString("gpselect"))));
  const SEXP text = PROTECT(Rf_mkString(message)), kind = PROTECT(Rf_mkString(class));
  const SEXP call = PROTECT(Rf_lang3(Rf_install("gps_abort"), text, kind));
  Rf_eval(call, namespace);
  UNPROTECT(5);
  Rf_error("%s", message); /* not reached: gps_abort() does not return */
}

void raise_status(gps_status status, const char *where, size_t row) {
  if (status == GPS_INTERRUPTED) end_watch();
  const char *cause = status == GPS_NOT_POSDEF   ? "a matrix is not positive definite"
                      : status == GPS_NOT_FINITE ? "a value is not finite"
                                                 : "the model broke its contract";
  const char *class = status == GPS_BAD_MODEL ? "model" : "numeric";
  if (row == SIZE_MAX) raise_error(class, "%s: %s.", where, cause);
  raise_error(class, "%s: %s at data point %.0f.", where, cause, (double)row + 1);
}

void need_ok(gps_status status, const char *where) {
  end_watch();
  if (status != GPS_OK) raise_status(status, where, SIZE_MAX);
}
