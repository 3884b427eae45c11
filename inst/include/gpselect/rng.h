/* Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011). Header-only,
 * no R. A stream is addressed by (seed, start, purpose, iteration, row): whoever asks, in whatever
 * order and on whatever thread, gets the same numbers. Used by selection, screening and Gibbs
 * sampling. */
#ifndef GPSELECT_RNG_H
#define GPSELECT_RNG_H

#include <math.h>
#include <stdint.h>

typedef enum {
  GPS_PURPOSE_START = 0,
  GPS_PURPOSE_EXPLORE = 1,
  GPS_PURPOSE_GIBBS = 2,
  GPS_PURPOSE_TIE = 3,
  GPS_PURPOSE_SCREEN = 4,
  GPS_PURPOSE_GUIDE = 5,
  GPS_PURPOSE_INSERT = 6
} gps_purpose;

typedef struct {
  uint32_t key[2];
  uint32_t counter[4]; /* draw, purpose, iteration, global row */
  uint32_t buffer[4];
  int n_left; /* unread words of buffer */
} gps_rng;

/* One block of ten rounds: out [4] from counter [4] and key [2]. */
static inline void gps_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c0;
    const uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/* A stream at its first number. The start enters the key by an odd multiplier, so that starts
 * differ in both words. */
static inline gps_rng gps_rng_stream(const uint32_t seed[2], uint32_t start, gps_purpose purpose,
                                     uint32_t iteration, uint32_t row) {
  gps_rng rng = {{seed[0] ^ (start * 0x9E3779B1u), seed[1] + start},
                 {0, (uint32_t)purpose, iteration, row},
                 {0, 0, 0, 0},
                 0};
  return rng;
}

static inline uint32_t gps_rng_word(gps_rng *rng) {
  if (rng->n_left == 0) {
    gps_philox(rng->counter, rng->key, rng->buffer);
    rng->counter[0]++;
    rng->n_left = 4;
  }
  return rng->buffer[4 - rng->n_left--];
}

/* Uniform in the open interval (0, 1), 52 bits: with one more, adding 0.5 would round to 1 at the
 * top. */
static inline double gps_rng_uniform(gps_rng *rng) {
  const uint64_t high = gps_rng_word(rng) >> 5, low = gps_rng_word(rng) >> 7;
  return ((double)(high * 33554432u + low) + 0.5) / 4503599627370496.0;
}

/* Standard normal (Box and Muller, 1958). One of the pair is thrown away: what a stream gives next
 * does not depend on a number kept aside. */
static inline double gps_rng_normal(gps_rng *rng) {
  const double radius = sqrt(-2 * log(gps_rng_uniform(rng)));
  return radius * cos(6.283185307179586477 * gps_rng_uniform(rng));
}

/* Uniform in 0 .. n-1, n >= 1, without modulo bias (Lemire's multiply and reject). */
static inline int gps_rng_index(gps_rng *rng, int n) {
  const uint32_t range = (uint32_t)n;
  const uint32_t threshold = (0u - range) % range;
  for (;;) {
    const uint64_t product = (uint64_t)gps_rng_word(rng) * range;
    if ((uint32_t)product >= threshold) return (int)(product >> 32);
  }
}

/* From here on a square would overflow, and what is added to one below is lost long before. */
#define GPS_RNG_FAR 1e100

/* Standard normal between 0 <= lo < hi: uniform proposals where the density is nearly flat, else
 * exponential ones (Robert, 1995) that end at hi. About half of them or more are accepted. All
 * loops end where a limit is not a number: what they return is none then. */
static inline double gps_rng_normal_tail(gps_rng *rng, double lo, double hi) {
  const double rate = lo < GPS_RNG_FAR ? 0.5 * (lo + sqrt(lo * lo + 4)) : lo, width = hi - lo;
  if (rate * width < 1) {
    for (;;) {
      const double step = width * gps_rng_uniform(rng);
      if (!(gps_rng_uniform(rng) >= exp(-step * (lo + 0.5 * step)))) return lo + step;
    }
  }
  const double peak = rate < hi ? rate : hi, mass = -expm1(-rate * width);
  for (;;) {
    const double x = lo - log1p(-mass * gps_rng_uniform(rng)) / rate;
    const double below = x - peak;
    if (!(gps_rng_uniform(rng) >= exp(below * (rate - (0.5 * x + 0.5 * peak)))))
      return x < hi ? x : hi;
  }
}

/* Standard normal between lo < hi, either of which may be infinite. */
static inline double gps_rng_truncated_normal(gps_rng *rng, double lo, double hi) {
  if (lo >= 0) return gps_rng_normal_tail(rng, lo, hi);
  if (hi <= 0) return -gps_rng_normal_tail(rng, -hi, -lo);
  if (hi - lo > 2.5) {
    for (;;) {
      const double x = gps_rng_normal(rng);
      if (x > lo && x < hi) return x;
    }
  }
  for (;;) {
    const double x = lo + (hi - lo) * gps_rng_uniform(rng);
    if (!(gps_rng_uniform(rng) >= exp(-0.5 * x * x))) return x;
  }
}

#endif
