/* exp over arrays against libm's long double, and the stable softmax, at the ends of the range
 * too. */
#include "check.h"
#include "vector_math.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { N = 40001 };
static double x[N], y[N];

/* Largest relative error of exp_array() over `n` equal steps of [from, to]. */
static double exp_error(double from, double to, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = y[i] = from + (to - from) * ((double)i / (double)(n - 1));
  exp_array(y, n, 0);
  double worst = 0;
  for (size_t i = 0; i < n; i++) {
    const long double truth = expl((long double)x[i]);
    const double error = (double)fabsl(((long double)y[i] - truth) / truth);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

static void test_exp_range(void) {
  CHECK(exp_error(-708, 709.78, N) < 4e-16);
  CHECK(exp_error(-40, 0, N) < 4e-16);
  CHECK(exp_error(-1, 1, N) < 4e-16);
  CHECK(exp_error(-1e-8, 1e-8, N) < 4e-16);
  CHECK(exp_error(709, 709.782712893383, N) < 4e-16);
}

static double exp_of(double value) {
  exp_array(&value, 1, 0);
  return value;
}

static void test_exp_edges(void) {
  CHECK(exp_of(0.0) == 1);
  CHECK(exp_of(-0.0) == 1);
  CHECK(exp_of(-INFINITY) == 0);
  CHECK(exp_of(-DBL_MAX) == 0);
  CHECK(exp_of(-709) >= 0 && exp_of(-709) < 2 * DBL_MIN);
  CHECK(exp_of(-746) == 0);
  CHECK(exp_of(INFINITY) == INFINITY);
  CHECK(exp_of(DBL_MAX) == INFINITY);
  CHECK(exp_of(709.79) == INFINITY);
  CHECK(exp_of(709.78) < INFINITY);
  CHECK(isnan(exp_of(NAN)));
  CHECK(exp_of(DBL_MIN) == 1);
  CHECK(exp_of(5e-324) == 1);
}

/* Every length and alignment goes through vector loop and remainder; neighbours stay untouched. */
static void test_exp_lengths(void) {
  for (size_t n = 0; n <= 33; n++) {
    for (size_t from = 1; from <= 4; from++) {
      for (size_t i = 0; i < 40; i++) y[i] = 0.25 * (double)i - 5;
      exp_array(y + from, n, 1.5);
      double worst = 0;
      for (size_t i = 0; i < 40; i++) {
        const double before = 0.25 * (double)i - 5;
        const double want = i < from || i >= from + n ? before : exp(before - 1.5);
        const double error = fabs(y[i] - want) / fabs(want == 0 ? 1 : want);
        if (!(error <= worst)) worst = error;
      }
      CHECK(worst < 4e-16);
    }
  }
}

/* softmax() of n values against sums in long double. */
static void check_softmax(const double *values, size_t n, double tolerance) {
  memcpy(y, values, n * sizeof *y);
  const double log_sum = softmax(y, n);
  long double top = -INFINITY, sum = 0;
  for (size_t i = 0; i < n; i++) top = values[i] > top ? values[i] : top;
  for (size_t i = 0; i < n; i++) sum += expl(values[i] - top);
  CHECK_NEAR(log_sum, (double)(top + logl(sum)), tolerance * (1 + fabs((double)top)));
  double total = 0;
  for (size_t i = 0; i < n; i++) {
    CHECK_NEAR(y[i], (double)(expl(values[i] - top) / sum), tolerance);
    total += y[i];
  }
  CHECK_NEAR(total, 1, tolerance);
}

static void test_softmax(void) {
  double values[70];
  for (size_t n = 1; n <= 70; n += 3) {
    for (size_t i = 0; i < n; i++) values[i] = sin((double)(i * i)) * 30 - 1000;
    check_softmax(values, n, 4e-15);
  }
  const double one = -3.5;
  check_softmax(&one, 1, 0);
}

static void test_softmax_of_huge_values(void) {
  const double top_wins[3] = {1e308, -1e308, 0};
  check_softmax(top_wins, 3, 0);
  const double lowest[3] = {-1e308, -1e308, -1e308};
  check_softmax(lowest, 3, 1e-15);
  const double highest[2] = {1e308, 1e308};
  check_softmax(highest, 2, 1e-15);
  const double ends[2] = {DBL_MAX, -DBL_MAX};
  check_softmax(ends, 2, 0);
}

static void test_softmax_of_impossible_states(void) {
  const double some[4] = {-INFINITY, 0, -INFINITY, log(3)};
  check_softmax(some, 4, 1e-15);
  double none[5] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY};
  CHECK(softmax(none, 5) == -INFINITY);
  for (int i = 0; i < 5; i++) CHECK(none[i] == 0);
  double nothing = 7;
  CHECK(softmax(&nothing, 0) == -INFINITY);
  CHECK(nothing == 7);
}

/* Ranks of so many values, of which `n_kinds` differ, against a count of what comes before each. */
static void check_ranks(size_t n, size_t n_kinds) {
  int rank[41], is_right = 1, n_equal = 0;
  for (size_t i = 0; i < n; i++) y[i] = (double)((7 * i + 3) % n_kinds) - 2;
  rank[n] = -7;
  const int are_distinct = rank_pairs(y, n, rank);
  for (size_t j = 0; j < n; j++) {
    int n_before = 0;
    for (size_t i = 0; i < n; i++) {
      n_before += y[i] > y[j] || (y[i] == y[j] && i < j);
      n_equal += y[i] == y[j] && i != j;
    }
    is_right = is_right && rank[j] == n_before;
  }
  CHECK(is_right && rank[n] == -7);
  CHECK(are_distinct == (n_equal == 0));
}

static void test_ranks(void) {
  for (size_t n = 0; n <= 40; n++) {
    check_ranks(n, 41);
    check_ranks(n, n > 1 ? n - 1 : 1);
    check_ranks(n, 3);
    check_ranks(n, 1);
  }
}

int main(void) {
  test_exp_range();
  test_exp_edges();
  test_exp_lengths();
  test_softmax();
  test_softmax_of_huge_values();
  test_softmax_of_impossible_states();
  test_ranks();
  return check_report();
}
