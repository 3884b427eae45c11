/* The watch that the shell lends to the core. R's question whether the user interrupts, or a time
 * limit is over, jumps where that is so. The jump is caught (R_UnwindProtect) and kept, the core
 * returns to the shell, which goes on with it: handlers have been called where the question was
 * asked, on a stack that is whole. */
#include "r_watch.h"

#include <setjmp.h>
#include <time.h>

#include <R_ext/Utils.h>

#include "threads.h"

/* Seconds between two questions to R. */
#define INTERVAL 0.02
/* Seconds of work in a slice. */
#define SLICE_SECONDS 0.05

/* The jump that is kept, from the answer until end_watch(): NULL, or what R_ContinueUnwind() needs,
 * preserved. `must_stop` says the same to other threads. */
static SEXP kept_jump = NULL;
static int must_stop = 0;
static double last_asked = 0;

double clock_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Interrupts, R's own time limits, and that of a fit: check_deadline() of the package. */
static SEXP ask(void *data) {
  (void)data;
  R_CheckUserInterrupt();
  const SEXP namespace = PROTECT(R_FindNamespace(PROTECT(Rf_mkString("gpselect"))));
  const SEXP call = PROTECT(Rf_lang1(Rf_install("check_deadline")));
  Rf_eval(call, namespace);
  UNPROTECT(3);
  return R_NilValue;
}

static void leave(void *data, Rboolean jump) {
  if (jump) longjmp(*(jmp_buf *)data, 1);
}

/* 1 where R would jump: the jump is in kept_jump then. */
static int catches_jump(void) {
  jmp_buf before;
  const SEXP token = PROTECT(R_MakeUnwindCont());
  R_PreserveObject(token);
  if (setjmp(before)) {
    kept_jump = token;
    UNPROTECT(1);
    return 1;
  }
  R_UnwindProtect(ask, NULL, leave, &before, token);
  R_ReleaseObject(token);
  UNPROTECT(1);
  return 0;
}

static int answer(void *data) {
  int stops;
  (void)data;
#pragma omp atomic read
  stops = must_stop;
  /* R is for the main thread, which is the first of its team. */
  if (stops || thread_number() != 0) return stops;
  const double now = clock_seconds();
  if (now - last_asked < INTERVAL) return 0;
  stops = catches_jump();
  last_asked = clock_seconds();
#pragma omp atomic write
  must_stop = stops;
  return stops;
}

static const gps_watch watch = {answer, NULL};

static SEXP take_jump(void) {
  const SEXP token = kept_jump;
  kept_jump = NULL;
  must_stop = 0;
  if (token) R_ReleaseObject(token);
  return token;
}

const gps_watch *begin_watch(void) {
  take_jump();
  return &watch;
}

void end_watch(void) {
  const SEXP token = take_jump();
  if (token) R_ContinueUnwind(token);
}

void ask_watch(void) {
  if (answer(NULL)) end_watch();
}

size_t adapt_slice(size_t n, double seconds) {
  if (seconds < 0.5 * SLICE_SECONDS) return n < SIZE_MAX / 2 ? 2 * n : n;
  return seconds > 2 * SLICE_SECONDS && n > 1 ? n / 2 : n;
}
