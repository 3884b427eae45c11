/* How many threads this process may use: OpenMP's processors, OMP_THREAD_LIMIT, one after a fork.
 */
#include "r_shell.h"

#ifdef _OPENMP
#include <omp.h>
#endif
#ifndef _WIN32
#include <pthread.h>
#endif

#include "r_threads.h"

/* A forked child of a process that ran OpenMP may hang in its next parallel region. */
static int is_forked = 0;

#ifndef _WIN32
static void after_fork_in_child(void) { is_forked = 1; }
#endif

void watch_forks(void) {
#ifndef _WIN32
  pthread_atfork(NULL, NULL, after_fork_in_child);
#endif
}

SEXP r_max_threads(void) {
#ifdef _OPENMP
  if (is_forked) return Rf_ScalarInteger(1);
  const int limit = omp_get_thread_limit(), processors = omp_get_num_procs();
  return Rf_ScalarInteger(limit < processors ? limit : processors);
#else
  return Rf_ScalarInteger(1);
#endif
}
