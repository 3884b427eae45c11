/* What a parallel loop asks of its threads. */
#ifndef GPSELECT_THREADS_H
#define GPSELECT_THREADS_H

#include <stddef.h>

/* Number of the thread that asks, 0 without OpenMP. For scratch that threads must not share. */
#ifdef _OPENMP
#include <omp.h>
static inline int thread_number(void) { return omp_get_thread_num(); }
#else
static inline int thread_number(void) { return 0; }
#endif

/* Where thread t begins with n things that n_threads share; it ends where t + 1 begins. */
static inline size_t share_start(size_t n, int t, int n_threads) {
  return n * (size_t)t / (size_t)n_threads;
}

#endif
