/* exp, log-sum-exp, waves and sums over arrays, and the macros that compile a hot loop for several
 * processors and ask for memory ahead. Pure: any thread, no allocation, no BLAS. */
#ifndef GPSELECT_VECTOR_MATH_H
#define GPSELECT_VECTOR_MATH_H

#include <stddef.h>

/* A package is compiled once for a baseline processor; a function marked GPS_CLONES is compiled for
 * newer ones too and the loader takes the best. Off where the compiler or the binary format does
 * not know it, and under sanitizers, which run before the loader's resolver can. */
#if defined(__x86_64__) && defined(__ELF__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(GPS_NO_CLONES)
#if __GNUC__ >= 12
#define GPS_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define GPS_CLONES __attribute__((target_clones("default", "fma", "avx512f")))
#endif
#else
#define GPS_CLONES
#endif

/* A helper of a GPS_CLONES function must be inlined into each clone, or it stays scalar. */
#if defined(__GNUC__)
#define GPS_INLINE static inline __attribute__((always_inline))
#else
#define GPS_INLINE static inline
#endif

/* Asks for the memory at an address before it is read: what lies anywhere in a large array takes
 * longer to come than a point takes to compute. Nothing is read, and no result depends on it. The
 * empty instruction stays where it is: without it GCC leaves out calls of a function that does
 * nothing but ask, as it would those of one that does nothing. */
#if defined(__GNUC__)
#define GPS_PREFETCH(address) \
  do { \
    const void *const asked = (address); \
    __builtin_prefetch(asked); \
    __asm__ __volatile__("" : : "r"(asked)); \
  } while (0)
#else
#define GPS_PREFETCH(address) ((void)(address))
#endif

/* Doubles of memory that come together. */
#define GPS_LINE_DOUBLES 8

/* The same for x [n], from the beginning of a line, and from anywhere. */
GPS_INLINE void prefetch_lines(const double *x, size_t n) {
  for (size_t i = 0; i < n; i += GPS_LINE_DOUBLES) GPS_PREFETCH(x + i);
}
GPS_INLINE void prefetch_doubles(const double *x, size_t n) {
  prefetch_lines(x, n);
  if (n > 0) GPS_PREFETCH(x + n - 1);
}

/* The sum of eight lanes, in a fixed order. */
GPS_INLINE double sum_eight(const double *x) {
  return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7]));
}

#define LOG_2PI 1.83787706640934548356

/* x[i] <- exp(x[i] - shift). Relative error below 4e-16 where the result is a normal number; 0
 * below it. NaN stays NaN. */
void exp_array(double *x, size_t n, double shift);

/* x[i] <- exp(x[i]) / sum, returns log(sum(exp(x))): stable for any finite x; -Inf entries give 0.
 * If all are -Inf the value is -Inf and x is set to 0. */
double softmax(double *x, size_t n);

/* angle [n] <- scale cos(angle), sine [n] <- scale sin(angle). */
void wave_array(size_t n, double scale, double *angle, double *sine);

/* Sum of x, and of the products x y. */
double sum_of(size_t n, const double *x);
double dot_of(size_t n, const double *x, const double *y);

/* out += factor x, and out <- factor x, which may be x itself. */
void add_multiple(size_t n, double factor, const double *x, double *out);
void scale_to(size_t n, double factor, const double *x, double *out);

/* |(x - y) factor|^2 with a factor for each element. */
double scaled_distance(size_t n, const double *x, const double *y, const double *factor);

/* Values that are ranked together. */
#define GPS_RANK_LANES 8

/* rank [n] of few values, 0 the highest, of equal ones the first before the others, by comparing
 * pairs one by one, in which there is nothing to foretell: faster than what branches on values.
 * Returns whether no two are equal. */
GPS_INLINE int rank_one_by_one(const double *value, size_t n, int *rank) {
  int n_equal = 0;
  for (size_t j = 0; j < n; j++) {
    const double x = value[j];
    int n_below = 0;
#pragma omp simd reduction(+ : n_below, n_equal)
    for (size_t i = 0; i < j; i++) {
      const int is_below = value[i] < x;
      rank[i] += is_below;
      n_below += is_below;
      n_equal += value[i] == x;
    }
    rank[j] = (int)j - n_below;
  }
  return n_equal == 0;
}

/* The same of several values at once, the last ones of which may be among those before: that no two
 * are equal shows in the sum of the ranks, to which each pair then adds 1. */
GPS_INLINE int rank_pairs(const double *value, size_t n, int *rank) {
  if (n < GPS_RANK_LANES) return rank_one_by_one(value, n, rank);
  size_t n_pairs = 0;
  for (size_t end = GPS_RANK_LANES;; end = end + GPS_RANK_LANES < n ? end + GPS_RANK_LANES : n) {
    const size_t from = end - GPS_RANK_LANES;
    long long n_above[GPS_RANK_LANES] = {0};
    for (size_t i = 0; i < n; i++) {
      const double x = value[i];
#pragma omp simd
      for (int l = 0; l < GPS_RANK_LANES; l++) n_above[l] += value[from + (size_t)l] < x;
    }
    for (int l = 0; l < GPS_RANK_LANES; l++) rank[from + (size_t)l] = (int)n_above[l];
    if (end == n) break;
  }
  for (size_t i = 0; i < n; i++) n_pairs += (size_t)rank[i];
  return n_pairs == n * (n - 1) / 2 || rank_one_by_one(value, n, rank);
}

#endif
