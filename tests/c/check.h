/* The smallest test harness: checks that count, and a report. Each test_*.c is a program of its
 * own: main() calls its tests and returns check_report(). */
#ifndef GPSELECT_CHECK_H
#define GPSELECT_CHECK_H

#include <math.h>
#include <stdio.h>

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

static inline int check_report(void) {
  printf("c: %d passed, %d failed\n", checks_passed, checks_failed);
  return checks_failed > 0;
}

#endif
