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
    for (size_t j = 0; j < 8; j++) lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
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
    for (size_t j = 0; j < 8; j++) part[j] += x[i + j];
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

GPS_CLONES void add_multiple(size_t n, double factor, const double *x, double *out) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) out[i] += factor * x[i];
}

GPS_CLONES void scale_to(size_t n, double factor, const double *x, double *out) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) out[i] = factor * x[i];
}

/* Beyond this the three parts of pi/2 below no longer reduce an angle to the last bit. */
#define MAX_ANGLE 1e5

/* Cosine and sine of a reduced angle, |r| <= pi/4: polynomials of fdlibm. */
GPS_INLINE double sin_reduced(double r, double z) {
  return r +
         r * z *
             (-1.66666666666666324348e-01 +
              z * (8.33333333332248946124e-03 +
                   z * (-1.98412698298579493134e-04 +
                        z * (2.75573137070700676789e-06 +
                             z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
}

GPS_INLINE double cos_reduced(double z) {
  return 1.0 - 0.5 * z +
         z * z *
             (4.16666666666666019037e-02 +
              z * (-1.38888888888741095749e-03 +
                   z * (2.48015872894767294178e-05 +
                        z * (-2.75573143513906633035e-07 +
                             z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
}

/* wave_array() for moderate angles. */
GPS_CLONES static void small_waves(size_t n, double scale, double *angle, double *sine) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    /* Adding and taking away 1.5 * 2^52 rounds to a whole number of quarter turns. */
    const double turns =
        (angle[i] * 6.36619772367581382433e-01 + 6755399441055744.0) - 6755399441055744.0;
    double r = angle[i] - turns * 1.57079632673412561417e+00;
    r -= turns * 6.07710050630396597660e-11;
    r -= turns * 2.02226624879595063154e-21;
    const double z = r * r, s = sin_reduced(r, z), c = cos_reduced(z);
    const int quarter = (int)turns;
    const double up = quarter & 1 ? c : s, along = quarter & 1 ? s : c;
    sine[i] = quarter & 2 ? -scale * up : scale * up;
    angle[i] = (quarter + 1) & 2 ? -scale * along : scale * along;
  }
}

GPS_CLONES static double largest_size(size_t n, const double *x) {
  double most = 0.0;
#pragma omp simd reduction(max : most)
  for (size_t i = 0; i < n; i++) most = fabs(x[i]) > most ? fabs(x[i]) : most;
  return most;
}

void wave_array(size_t n, double scale, double *angle, double *sine) {
  if (largest_size(n, angle) < MAX_ANGLE) {
    small_waves(n, scale, angle, sine);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    const double at = angle[i];
    angle[i] = scale * cos(at);
    sine[i] = scale * sin(at);
  }
}

GPS_CLONES double scaled_distance(size_t n, const double *x, const double *y,
                                  const double *factor) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) {
    const double difference = (x[i] - y[i]) * factor[i];
    sum += difference * difference;
  }
  return sum;
}
