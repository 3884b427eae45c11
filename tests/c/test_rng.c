/* Known answers of Philox4x32-10 (Random123's kat_vectors) and the laws of what is built on it. */
#include "check.h"
#include "gpselect/rng.h"

#include <string.h>

static void check_block(const uint32_t counter[4], const uint32_t key[2], const uint32_t want[4]) {
  uint32_t out[4];
  gps_philox(counter, key, out);
  for (int i = 0; i < 4; i++) CHECK(out[i] == want[i]);
}

static void test_known_answers(void) {
  const uint32_t zero[4] = {0, 0, 0, 0};
  const uint32_t ones[4] = {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu};
  const uint32_t pi_counter[4] = {0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u};
  const uint32_t pi_key[2] = {0xa4093822u, 0x299f31d0u};
  const uint32_t of_zero[4] = {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u};
  const uint32_t of_ones[4] = {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu};
  const uint32_t of_pi[4] = {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u};
  check_block(zero, zero, of_zero);
  check_block(ones, ones, of_ones);
  check_block(pi_counter, pi_key, of_pi);
}

static const uint32_t seed[2] = {12345u, 67890u};

/* A stream hands out the blocks of its counter, word by word. */
static void test_stream_order(void) {
  gps_rng rng = gps_rng_stream(seed, 0, GPS_PURPOSE_EXPLORE, 7, 11);
  for (uint32_t block = 0; block < 3; block++) {
    const uint32_t counter[4] = {block, GPS_PURPOSE_EXPLORE, 7, 11};
    uint32_t want[4];
    gps_philox(counter, seed, want);
    for (int i = 0; i < 4; i++) CHECK(gps_rng_word(&rng) == want[i]);
  }
}

static void test_uniform(void) {
  enum { N = 200000 };
  gps_rng rng = gps_rng_stream(seed, 3, GPS_PURPOSE_GIBBS, 0, 0);
  double sum = 0, squares = 0, lowest = 1, highest = 0;
  for (int i = 0; i < N; i++) {
    const double u = gps_rng_uniform(&rng);
    sum += u;
    squares += u * u;
    lowest = u < lowest ? u : lowest;
    highest = u > highest ? u : highest;
  }
  const double mean = sum / N, variance = squares / N - mean * mean;
  CHECK(lowest > 0);
  CHECK(highest < 1);
  /* Five standard errors: sqrt(1/12 / N), and sqrt((1/80 - 1/144) / N) of the variance. */
  CHECK_NEAR(mean, 0.5, 5 * sqrt(1.0 / 12 / N));
  CHECK_NEAR(variance, 1.0 / 12, 5 * sqrt((1.0 / 80 - 1.0 / 144) / N));
}

static void test_normal(void) {
  enum { N = 200000 };
  gps_rng rng = gps_rng_stream(seed, 3, GPS_PURPOSE_GIBBS, 1, 0);
  double power[5] = {0};
  for (int i = 0; i < N; i++) {
    const double z = gps_rng_normal(&rng);
    for (int k = 1; k <= 4; k++) power[k] += pow(z, k) / N;
  }
  /* Five standard errors: moments 0, 1, 0, 3 with variances 1, 2, 15, 96 of the powers. */
  CHECK_NEAR(power[1], 0, 5 * sqrt(1.0 / N));
  CHECK_NEAR(power[2], 1, 5 * sqrt(2.0 / N));
  CHECK_NEAR(power[3], 0, 5 * sqrt(15.0 / N));
  CHECK_NEAR(power[4], 3, 5 * sqrt(96.0 / N));
}

/* The ends of the interval stay open for the words that come closest to them. */
static void test_uniform_ends(void) {
  gps_rng rng = {{0, 0}, {0, 0, 0, 0}, {0, 0, 0xffffffffu, 0xffffffffu}, 2};
  CHECK(gps_rng_uniform(&rng) < 1);
  gps_rng zero = {{0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, 2};
  CHECK(gps_rng_uniform(&zero) > 0);
}

/* Chi-squared statistic of the frequencies of 0 .. n-1 in `n_draws` draws. */
static double index_statistic(int n, int n_draws) {
  int count[16] = {0}, n_outside = 0;
  gps_rng rng = gps_rng_stream(seed, 1, GPS_PURPOSE_TIE, 2, (uint32_t)n);
  for (int i = 0; i < n_draws; i++) {
    const int at = gps_rng_index(&rng, n);
    if (at >= 0 && at < n) {
      count[at]++;
    } else {
      n_outside++;
    }
  }
  CHECK(n_outside == 0);
  double statistic = 0;
  const double expected = (double)n_draws / n;
  for (int i = 0; i < n; i++) statistic += (count[i] - expected) * (count[i] - expected) / expected;
  return statistic;
}

static void test_index(void) {
  /* Mean n - 1, variance 2 (n - 1): five standard deviations. */
  for (int n = 2; n <= 16; n += 7) {
    CHECK(index_statistic(n, 4000) < (n - 1) + 5 * sqrt(2.0 * (n - 1)));
  }
  gps_rng rng = gps_rng_stream(seed, 0, GPS_PURPOSE_TIE, 0, 0);
  for (int i = 0; i < 10; i++) CHECK(gps_rng_index(&rng, 1) == 0);
}

/* Ranges that are far from dividing 2^32 evenly: a plain modulo would favour the lowest third,
 * multiplying without rejecting certain remainders. */
static void check_large_range(int range) {
  enum { N = 20000 };
  gps_rng rng = gps_rng_stream(seed, 0, GPS_PURPOSE_TIE, 1, 0);
  int n_low = 0, n_last = 0;
  for (int i = 0; i < N; i++) {
    const int at = gps_rng_index(&rng, range);
    n_low += at < range / 3;
    n_last += at % 3 == 2;
  }
  CHECK_NEAR((double)n_low / N, 1.0 / 3, 5 * sqrt(2.0 / 9 / N));
  CHECK_NEAR((double)n_last / N, 1.0 / 3, 5 * sqrt(2.0 / 9 / N));
}

static void test_index_of_large_range(void) {
  check_large_range(0x7fffffff);
  check_large_range(0x60000000);
  check_large_range(0x55555556);
}

/* How many of the first eight words of two streams are equal; by chance 8 in 2^32. */
static int count_equal(gps_rng a, gps_rng b) {
  int n_equal = 0;
  for (int i = 0; i < 8; i++) n_equal += gps_rng_word(&a) == gps_rng_word(&b);
  return n_equal;
}

static void test_streams_differ(void) {
  const gps_rng base = gps_rng_stream(seed, 0, GPS_PURPOSE_START, 0, 0);
  const uint32_t other_seed[2] = {12345u, 67891u};
  CHECK(count_equal(base, gps_rng_stream(seed, 0, GPS_PURPOSE_START, 0, 0)) == 8);
  CHECK(count_equal(base, gps_rng_stream(other_seed, 0, GPS_PURPOSE_START, 0, 0)) == 0);
  CHECK(count_equal(base, gps_rng_stream(seed, 1, GPS_PURPOSE_START, 0, 0)) == 0);
  CHECK(count_equal(base, gps_rng_stream(seed, 0, GPS_PURPOSE_EXPLORE, 0, 0)) == 0);
  CHECK(count_equal(base, gps_rng_stream(seed, 0, GPS_PURPOSE_START, 1, 0)) == 0);
  CHECK(count_equal(base, gps_rng_stream(seed, 0, GPS_PURPOSE_START, 0, 1)) == 0);
}

/* Neighbouring rows are what a fit draws side by side. */
static void test_rows_are_uncorrelated(void) {
  enum { N = 100000 };
  double products = 0;
  for (uint32_t row = 0; row < N; row++) {
    gps_rng a = gps_rng_stream(seed, 0, GPS_PURPOSE_EXPLORE, 0, row);
    gps_rng b = gps_rng_stream(seed, 0, GPS_PURPOSE_EXPLORE, 0, row + 1);
    products += (gps_rng_uniform(&a) - 0.5) * (gps_rng_uniform(&b) - 0.5);
  }
  CHECK_NEAR(12 * products / N, 0, 5 / sqrt((double)N));
}

/* Draws between lo and hi against the truncated density by midpoint sums: Kolmogorov's distance has
 * p = 1e-4 at 2.23 / sqrt(n). */
static void check_truncated(double lo, double hi, uint32_t row) {
  enum { N = 20000, BINS = 400 };
  int count[BINS] = {0}, n_outside = 0;
  gps_rng rng = gps_rng_stream(seed, 0, GPS_PURPOSE_GIBBS, 4, row);
  /* Where the mass is: 12 units, or as far as the density falls by exp(-50). */
  const double from = lo > -12 ? lo : hi < -3 ? hi - 50 / (6 + fabs(hi)) : -12;
  const double reach = lo > 0 ? 50 / (6 + lo) : 24;
  const double to = hi < from + reach ? hi : from + reach;
  for (int i = 0; i < N; i++) {
    const double x = gps_rng_truncated_normal(&rng, lo, hi);
    n_outside += !(x >= lo && x <= hi);
    const double bin = (x - from) / (to - from) * BINS;
    count[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : (int)bin]++;
  }
  CHECK(n_outside == 0);
  const double highest = lo > 0 ? lo : hi < 0 ? hi : 0;
  double mass[BINS], total = 0, sum = 0, largest = 0;
  for (int b = 0; b < BINS; b++) {
    mass[b] = 0;
    for (int k = 0; k < 50; k++) {
      const double x = from + (to - from) * (b + (k + 0.5) / 50) / BINS;
      mass[b] += exp(-0.5 * (x - highest) * (x + highest));
    }
    total += mass[b];
  }
  for (int b = 0; b < BINS; b++) {
    sum += mass[b] / total * N - count[b];
    largest = fmax(largest, fabs(sum));
  }
  CHECK(largest < 2.23 * sqrt(N));
}

static void test_truncated_normal(void) {
  static const double ends[] = {-HUGE_VAL, -41, -40, -6, -1.2, -0.3, 0, 1e-9, 0.4, 3, 3.1, 40, 90};
  enum { N_ENDS = sizeof ends / sizeof *ends };
  for (uint32_t i = 0; i < N_ENDS; i++) {
    for (uint32_t j = i + 1; j <= N_ENDS; j++) {
      check_truncated(ends[i], j < N_ENDS ? ends[j] : HUGE_VAL, i * N_ENDS + j);
    }
  }
}

/* An interval far out, narrower than the density's fall there or than what doubles resolve. */
static void test_far_intervals(void) {
  gps_rng rng = gps_rng_stream(seed, 0, GPS_PURPOSE_GIBBS, 5, 0);
  static const double lo[] = {1e6, 1e6, 1e8, -1e6, 1e-300, 1e160, 1e200, -HUGE_VAL};
  static const double hi[] = {1e6 + 1e-9, HUGE_VAL, 1e8 + 1e-7, -1e6 + 1,
                              2e-300,     HUGE_VAL, 1.5e200,    -1e308};
  for (int i = 0; i < 8; i++) {
    for (int k = 0; k < 100; k++) {
      const double x = gps_rng_truncated_normal(&rng, lo[i], hi[i]);
      CHECK(x >= lo[i] && x <= hi[i]);
    }
  }
}

/* Limits that are no numbers, as a model's broken parameters make them, leave no draw waiting. */
static void test_limits_without_a_number(void) {
  gps_rng rng = gps_rng_stream(seed, 0, GPS_PURPOSE_GIBBS, 6, 0);
  static const double lo[] = {NAN, NAN, NAN, 1, -1, -HUGE_VAL, HUGE_VAL};
  static const double hi[] = {NAN, 1, -1, NAN, NAN, NAN, HUGE_VAL};
  for (int i = 0; i < 7; i++) CHECK(!isfinite(gps_rng_truncated_normal(&rng, lo[i], hi[i])));
}

int main(void) {
  test_known_answers();
  test_stream_order();
  test_uniform();
  test_normal();
  test_uniform_ends();
  test_index();
  test_index_of_large_range();
  test_streams_differ();
  test_rows_are_uncorrelated();
  test_truncated_normal();
  test_far_intervals();
  test_limits_without_a_number();
  return check_report();
}
