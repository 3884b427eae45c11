/* Recursions over all subsets of the slots. Called by infer_exact.c and by models whose log joint
 * is quadratic in the states. */
#include "subsets.h"

#include "vector_math.h"

#define ROW 8
#define LOW_SLOTS 3

static const double has_slot[LOW_SLOTS][ROW] = {
    {0, 1, 0, 1, 0, 1, 0, 1}, {0, 0, 1, 1, 0, 0, 1, 1}, {0, 0, 0, 0, 1, 1, 1, 1}};

size_t subsets_scratch(size_t n_states) { return n_states / ROW + 1; }

/* The states of the lowest slots, at most three, one by one. */
GPS_INLINE void low_log_joint(size_t n_low, size_t n_slots, const double *own,
                              const double *coupling, double *value) {
  for (size_t k = 0; k < n_low; k++) {
    const size_t half = (size_t)1 << k;
    for (size_t m = 0; m < half; m++) {
      double sum = value[m] + own[k];
      for (size_t j = 0; j < k; j++) sum -= has_slot[j][m] * coupling[j + k * n_slots];
      value[half + m] = sum;
    }
  }
}

/* Slot k >= 3 adds own[k] less its couplings: those to the three lowest slots are one row, the same
 * for all rows, those to the others one number a row, which doubles from slot to slot. */
GPS_CLONES void subsets_log_joint(size_t n_slots, const double *own, const double *coupling,
                                  double *value, double *scratch) {
  low_log_joint(n_slots < LOW_SLOTS ? n_slots : LOW_SLOTS, n_slots, own, coupling, value);
  for (size_t k = LOW_SLOTS; k < n_slots; k++) {
    const double *with = coupling + k * n_slots;
    const size_t n_rows = (size_t)1 << (k - LOW_SLOTS);
    double low[ROW];
#pragma omp simd
    for (int v = 0; v < ROW; v++) {
      low[v] =
          own[k] - has_slot[0][v] * with[0] - has_slot[1][v] * with[1] - has_slot[2][v] * with[2];
    }
    scratch[0] = 0;
    for (size_t j = LOW_SLOTS; j < k; j++) {
      const size_t half = (size_t)1 << (j - LOW_SLOTS);
      for (size_t u = 0; u < half; u++) scratch[half + u] = scratch[u] + with[j];
    }
    for (size_t u = 0; u < n_rows; u++) {
      const double *from = value + u * ROW;
      double *to = value + (n_rows + u) * ROW;
#pragma omp simd
      for (int v = 0; v < ROW; v++) to[v] = from[v] + low[v] - scratch[u];
    }
  }
}

GPS_CLONES void subsets_marginals(size_t n_slots, double *folded, double *prob_on) {
  for (size_t k = n_slots; k-- > LOW_SLOTS;) {
    const size_t n_rows = (size_t)1 << (k - LOW_SLOTS);
    double lanes[ROW] = {0};
    for (size_t u = 0; u < n_rows; u++) {
#pragma omp simd
      for (size_t v = 0; v < ROW; v++) {
        const double upper = folded[(n_rows + u) * ROW + v];
        lanes[v] += upper;
        folded[u * ROW + v] += upper;
      }
    }
    prob_on[k] = sum_eight(lanes);
  }
  const size_t n_low = n_slots < LOW_SLOTS ? n_slots : LOW_SLOTS;
  for (size_t j = 0; j < n_low; j++) {
    double sum = 0;
    for (size_t m = 0; m < (size_t)1 << n_low; m++) sum += has_slot[j][m] * folded[m];
    prob_on[j] = sum;
  }
}

/* Pairs with slot k, from the states that hold it: `lanes` are their sums by the three lowest
 * slots, row_total by the slots between. */
GPS_INLINE void pairs_with(size_t k, const double *lanes, double *row_total, double *pair) {
  pair[k] = sum_eight(lanes);
  for (int j = 0; j < LOW_SLOTS; j++) {
    double sum = 0;
    for (int v = 0; v < ROW; v++) sum += has_slot[j][v] * lanes[v];
    pair[j] = sum;
  }
  for (size_t j = k; j-- > LOW_SLOTS;) {
    const size_t half = (size_t)1 << (j - LOW_SLOTS);
    double sum = 0;
    for (size_t u = 0; u < half; u++) {
      sum += row_total[half + u];
      row_total[u] += row_total[half + u];
    }
    pair[j] = sum;
  }
}

GPS_CLONES void subsets_pairs(size_t n_slots, double *folded, double *pair, double *scratch) {
  for (size_t k = n_slots; k-- > LOW_SLOTS;) {
    const size_t n_rows = (size_t)1 << (k - LOW_SLOTS);
    double lanes[ROW] = {0};
    for (size_t u = 0; u < n_rows; u++) {
      double *lower = folded + u * ROW;
      const double *upper = folded + (n_rows + u) * ROW;
#pragma omp simd
      for (int v = 0; v < ROW; v++) {
        lanes[v] += upper[v];
        lower[v] += upper[v];
      }
      scratch[u] = sum_eight(upper);
    }
    pairs_with(k, lanes, scratch, pair + k * n_slots);
  }
  const size_t n_low = n_slots < LOW_SLOTS ? n_slots : LOW_SLOTS;
  for (size_t k = 0; k < n_low; k++) {
    for (size_t j = 0; j <= k; j++) {
      double sum = 0;
      for (size_t m = 0; m < (size_t)1 << n_low; m++)
        sum += has_slot[j][m] * has_slot[k][m] * folded[m];
      pair[j + k * n_slots] = sum;
    }
  }
}
