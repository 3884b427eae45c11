/* Number of the thread that asks, 0 without OpenMP. For scratch that threads must not share. */
#ifndef GPSELECT_THREADS_H
#define GPSELECT_THREADS_H

#ifdef _OPENMP
#include <omp.h>
static inline int thread_number(void) { return omp_get_thread_num(); }
#else
static inline int thread_number(void) { return 0; }
#endif

#endif
