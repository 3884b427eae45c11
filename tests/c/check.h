/* The smallest test harness: checks that count, and a report. Each test_*.c is a program of its
 * own: main() calls its tests and returns check_report(). */
#ifndef GPSELECT_CHECK_H
#define GPSELECT_CHECK_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks_passed, checks_failed;

/* Counts a check; what failed is printed, up to 20 a program. */
static inline int check_that(int is_true, const char *what, const char *file, int line) {
  if (is_true) {
    checks_passed++;
  } else if (++checks_failed <= 20) {
    printf("FAIL c: %s:%d: %s\n", file, line, what);
  }
  return is_true;
}

static inline void check_near(double a, double b, double tolerance, const char *what,
                              const char *file, int line) {
  /* Equal covers infinities; a NaN on either side fails. */
  const int is_near = a == b || fabs(a - b) <= tolerance;
  if (!check_that(is_near, what, file, line) && checks_failed <= 20) {
    printf("       %.17g and %.17g differ by %.3g, allowed %.3g\n", a, b, fabs(a - b), tolerance);
  }
}

#define CHECK(condition) check_that((condition) ? 1 : 0, #condition, __FILE__, __LINE__)
#define CHECK_NEAR(a, b, tolerance) \
  check_near(a, b, tolerance, #a " is near " #b, __FILE__, __LINE__)

/* A list of arrays that is handed to a model has one for each in the model's table of them. */
#define CHECK_WHOLE(given, table) \
  CHECK(sizeof(given) / sizeof *(given) == count_named((table), sizeof *(table)))

/* Entries of a table, each of which begins with its name, before the one without. */
static inline size_t count_named(const void *table, size_t size) {
  size_t n = 0;
  const char *name;
  while (memcpy(&name, (const char *)table + n * size, sizeof name), name) n++;
  return n;
}

/* Five threads, or one where the runner asks for it: valgrind takes a thread's stack for lost. */
static inline int most_threads(void) {
  const char *asked = getenv("OMP_NUM_THREADS");
  return asked && strcmp(asked, "1") == 0 ? 1 : 5;
}

/* Numbers between -0.5 and 0.5 that look random, the same ones everywhere. */
static inline double number(size_t i) {
  uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return (double)(x >> 11) / 9007199254740992.0 - 0.5;
}

static inline int check_report(void) {
  printf("c: %d passed, %d failed\n", checks_passed, checks_failed);
  return checks_failed > 0;
}

#endif
