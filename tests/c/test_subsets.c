/* Recursions over all subsets against sums over the bits of each state. */
#include "check.h"
#include "subsets.h"

#include <string.h>

enum { MAX_SLOTS = 12, MAX_STATES = 1 << MAX_SLOTS };

static double own[MAX_SLOTS], coupling[MAX_SLOTS * MAX_SLOTS], value[MAX_STATES];
static double prob[MAX_STATES], scratch[MAX_STATES / 8 + 1];

static int is_on(size_t state, size_t slot) { return (int)(state >> slot & 1); }

/* Only couplings of i < j may be read: the others are NaN. */
static void fill_problem(size_t n_slots) {
  for (size_t j = 0; j < n_slots; j++) {
    own[j] = 3 * sin((double)(j + n_slots));
    for (size_t i = 0; i < n_slots; i++) {
      coupling[i + j * n_slots] = i < j ? cos((double)(i * 13 + j)) : NAN;
    }
  }
}

static double direct_log_joint(size_t n_slots, double empty, size_t state) {
  double sum = empty;
  for (size_t j = 0; j < n_slots; j++) {
    if (!is_on(state, j)) continue;
    sum += own[j];
    for (size_t i = 0; i < j; i++) {
      if (is_on(state, i)) sum -= coupling[i + j * n_slots];
    }
  }
  return sum;
}

static void fill_nan(double *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = NAN;
}

static void test_log_joint(void) {
  for (size_t n_slots = 1; n_slots <= MAX_SLOTS; n_slots++) {
    const size_t n_states = (size_t)1 << n_slots;
    CHECK(subsets_scratch(n_states) <= sizeof scratch / sizeof *scratch);
    fill_problem(n_slots);
    fill_nan(value, n_states);
    fill_nan(scratch, subsets_scratch(n_states));
    value[0] = -4.25;
    subsets_log_joint(n_slots, own, coupling, value, scratch);
    double worst = 0;
    for (size_t m = 0; m < n_states; m++) {
      const double error = fabs(value[m] - direct_log_joint(n_slots, -4.25, m));
      if (!(error <= worst)) worst = error;
    }
    CHECK_NEAR(worst, 0, 1e-13);
  }
}

/* A slot that cannot be on makes its states impossible and leaves the others alone. */
static void test_impossible_slot(void) {
  for (size_t n_slots = 1; n_slots <= 8; n_slots++) {
    for (size_t gone = 0; gone < n_slots; gone++) {
      const size_t n_states = (size_t)1 << n_slots;
      fill_problem(n_slots);
      own[gone] = -INFINITY;
      value[0] = 1;
      subsets_log_joint(n_slots, own, coupling, value, scratch);
      int n_wrong = 0;
      for (size_t m = 0; m < n_states; m++) {
        if (is_on(m, gone)) {
          n_wrong += value[m] != -INFINITY;
        } else {
          n_wrong += !(fabs(value[m] - direct_log_joint(n_slots, 1, m)) <= 1e-13);
        }
      }
      CHECK(n_wrong == 0);
    }
  }
}

static void test_moments(void) {
  for (size_t n_slots = 1; n_slots <= MAX_SLOTS; n_slots++) {
    const size_t n_states = (size_t)1 << n_slots;
    double on[MAX_SLOTS], pair[MAX_SLOTS * MAX_SLOTS];
    for (size_t m = 0; m < n_states; m++) prob[m] = 1.5 + sin((double)(m * m));
    memcpy(value, prob, n_states * sizeof *prob);
    subsets_marginals(n_slots, value, on);
    memcpy(value, prob, n_states * sizeof *prob);
    fill_nan(scratch, subsets_scratch(n_states));
    fill_nan(pair, n_slots * n_slots);
    subsets_pairs(n_slots, value, pair, scratch);
    const double tolerance = 1e-14 * (double)n_states;
    for (size_t j = 0; j < n_slots; j++) {
      for (size_t i = 0; i <= j; i++) {
        double sum = 0;
        for (size_t m = 0; m < n_states; m++) sum += is_on(m, i) && is_on(m, j) ? prob[m] : 0;
        CHECK_NEAR(pair[i + j * n_slots], sum, tolerance);
        if (i == j) CHECK_NEAR(on[j], sum, tolerance);
      }
    }
  }
}

int main(void) {
  test_log_joint();
  test_impossible_slot();
  test_moments();
  return check_report();
}
