/* exp over arrays by range reduction and a polynomial (Cody and Waite's two-part log 2), which the
 * compiler vectorises: libm's exp is a scalar call. Called by kernels and by the exact E-step. */
#include "vector_math.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define LOG2_INVERSE 1.4426950408889634074
#define LOG2_HIGH 6.93147180369123816490e-01
#define LOG2_LOW 1.90821492927058770002e-10
/* Adding 1.5 * 2^52 rounds to an integer, which then stands in the low bits of the double. */
#define ROUNDER 6755399441055744.0
/* exp of less is no normal number, and exp of more is infinite. */
#define EXP_LOWEST (-708.0)
#define EXP_HIGHEST 709.782712893384

/* 2^k from `rounded` = k + ROUNDER, |k| < 1023: the low bits of the sum are k. */
GPS_INLINE double power_of_two(double rounded) {
  uint64_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  bits = (bits + 1023) << 52;
  double power;
  memcpy(&power, &bits, sizeof power);
  return power;
}

GPS_INLINE double exp_one(double x) {
  double clamped = x < EXP_LOWEST ? EXP_LOWEST : x;
  clamped = clamped > EXP_HIGHEST ? EXP_HIGHEST : clamped;
  const double k = (clamped * LOG2_INVERSE + ROUNDER) - ROUNDER;
  const double r = (clamped - k * LOG2_HIGH) - k * LOG2_LOW;
  /* Taylor's series on |r| <= log(2) / 2; the first omitted term is below 2^-56. */
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = (p * r) * r + r;
  /* 2^k in two factors, so that k = 1024 does not overflow before the product is formed. */
  const double half = k * 0.5 + ROUNDER;
  const double rest = k - (half - ROUNDER) + ROUNDER;
  double value = (1.0 + p) * power_of_two(half) * power_of_two(rest);
  value = x > EXP_HIGHEST ? HUGE_VAL : value;
  value = x < EXP_LOWEST ? 0.0 : value;
  return x == x ? value : x;
}

GPS_INLINE void exp_shifted(double *x, size_t n, double shift) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) x[i] = exp_one(x[i] - shift);
}

GPS_CLONES void exp_array(double *x, size_t n, double shift) { exp_shifted(x, n, shift); }

/* Eight lanes, not a reduction clause: compilers differ in where that starts, and all entries may
 * be -Inf. */
GPS_INLINE double largest(const double *x, size_t n) {
  double lane[8];
  for (int j = 0; j < 8; j++) lane[j] = -HUGE_VAL;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
#pragma omp simd
    for (int j = 0; j < 8; j++) lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
  }
  for (int j = 0; i < n; i++, j++) lane[j] = x[i] > lane[j] ? x[i] : lane[j];
  double top = lane[0];
  for (int j = 1; j < 8; j++) top = lane[j] > top ? lane[j] : top;
  return top;
}

/* Eight partial sums in a fixed order: the same bits on every processor, and the compiler may
 * vectorise them. */
GPS_INLINE double sum_array(const double *x, size_t n) {
  double part[8] = {0};
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
#pragma omp simd
    for (int j = 0; j < 8; j++) part[j] += x[i + j];
  }
  for (int j = 0; i < n; i++, j++) part[j] += x[i];
  return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

GPS_INLINE void scale_array(double *x, size_t n, double factor) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) x[i] *= factor;
}

GPS_CLONES double softmax(double *x, size_t n) {
  const double top = largest(x, n);
  if (top == -HUGE_VAL) {
    memset(x, 0, n * sizeof *x);
    return -HUGE_VAL;
  }
  exp_shifted(x, n, top);
  const double sum = sum_array(x, n);
  scale_array(x, n, 1.0 / sum);
  return top + log(sum);
}

GPS_CLONES double sum_of(size_t n, const double *x) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) sum += x[i];
  return sum;
}

GPS_CLONES double dot_of(size_t n, const double *x, const double *y) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}
