/* The one registration table: .Call routines from entries.h, built-in models from model_list.h. */
#include "r_shell.h"

#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>

#include "r_threads.h"

/* Each entry is declared with its true number of SEXP arguments. */
#define GPS_ARGS_0 void
#define GPS_ARGS_1 SEXP
#define GPS_ARGS_2 SEXP, GPS_ARGS_1
#define GPS_ARGS_3 SEXP, GPS_ARGS_2
#define GPS_ARGS_4 SEXP, GPS_ARGS_3
#define GPS_ARGS_5 SEXP, GPS_ARGS_4
#define GPS_ARGS_6 SEXP, GPS_ARGS_5
#define GPS_ARGS_7 SEXP, GPS_ARGS_6
#define GPS_ARGS_8 SEXP, GPS_ARGS_7
#define GPS_ARGS_9 SEXP, GPS_ARGS_8
#define GPS_ARGS_10 SEXP, GPS_ARGS_9

#define ENTRY(name, n) SEXP r_##name(GPS_ARGS_##n);
#include "entries.h"
#undef ENTRY

/* By way of void (*)(void), which tells compilers that the cast to another type is meant. */
#define ENTRY(name, n) {#name, (DL_FUNC)(void (*)(void))r_##name, n},
static const R_CallMethodDef call_entries[] = {
#include "entries.h"
    {NULL, NULL, 0}};
#undef ENTRY

#define MODEL(name) extern const gps_model model_##name;
#include "model_list.h"
#undef MODEL

/* R_GetCCallable() serves functions, so each model is behind one that returns its address. */
#define MODEL(name) \
  static const gps_model *get_model_##name(void) { return &model_##name; }
#include "model_list.h"
#undef MODEL

void attribute_visible R_init_gpselect(DllInfo *dll) {
  watch_forks();
  R_registerRoutines(dll, NULL, call_entries, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
#define MODEL(name) R_RegisterCCallable("gpselect", "gps_model_" #name, (DL_FUNC)get_model_##name);
#include "model_list.h"
#undef MODEL
}
