/* Gains of single components of model E in single precision, for screening. Reached through the
 * table model_occlusive only. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "model_occlusive.h"
#include "vector_math.h"

#define LOG2_INVERSE 1.44269504f
#define LOG2_HIGH 0.693145752f
#define LOG2_LOW 1.42860677e-6f
#define LOG_2 0.69314718055994530942
/* Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits of the float. */
#define ROUNDER 12582912.0f
#define EXP_LOWEST (-60.0f)

/* Logs of eps u / c within which all terms are normal floats, which alone are fast. */
#define NARROW_LOWEST (-30.0)
#define NARROW_HIGHEST 20.0

/* Floats of scratch, an even number. */
static size_t n_floats(const occlusive *it, const occlusive_floats *at) {
  return round_up(at->n_plane * ((size_t)it->n_channels + 5) + 2 * it->n_pixels, 2);
}

occlusive_floats occlusive_floats_in(const occlusive *it, float *scratch) {
  occlusive_floats at;
  const size_t n_channels = (size_t)it->n_channels;
  at.lanes = round_up((size_t)it->n_rows, FLOAT_LANES);
  at.n_window = at.lanes * (size_t)it->n_cols;
  /* Room for a whole column of positions, too, that starts anywhere in a window. */
  at.stride = round_up((size_t)it->height, FLOAT_LANES) + at.lanes;
  at.n_plane = at.stride * (size_t)(it->width + it->n_cols - 1);
  at.n_table = at.n_window * (n_channels + 1);
  at.is_narrow = !(it->log_clutter > NARROW_LOWEST && it->log_clutter < NARROW_HIGHEST);
  at.data = scratch;
  at.base = at.data + at.n_plane * n_channels;
  at.loose = at.base + at.n_plane;
  at.base_left = at.loose + at.n_plane;
  at.loose_left = at.base_left + at.n_plane;
  at.chance_left = at.loose_left + at.n_plane;
  at.cover = at.chance_left + at.n_plane;
  at.chance = at.cover + it->n_pixels;
  at.beyond = (double *)(void *)(scratch + n_floats(it, &at));
  return at;
}

size_t occlusive_float_scratch(const occlusive *it) {
  const occlusive_floats at = occlusive_floats_in(it, NULL);
  return n_floats(it, &at) / 2 + it->n_pixels;
}

size_t occlusive_float_table(const occlusive *it) {
  return occlusive_floats_in(it, NULL).n_table / 2 * (size_t)it->n_components;
}

void occlusive_fill_table(const occlusive *it, size_t component, float *table) {
  const occlusive_floats at = occlusive_floats_in(it, NULL);
  const size_t n_rows = (size_t)it->n_rows, n_cols = (size_t)it->n_cols;
  const size_t n_channels = (size_t)it->n_channels;
  memset(table, 0, at.n_table * sizeof *table);
  for (size_t b = 0; b < n_cols; b++) {
    for (size_t a = 0; a < n_rows; a++) {
      const size_t to = a + at.lanes * b, from = a + it->lanes * b;
      table[to] = (float)it->odds[from + it->n_window * component];
      for (size_t c = 0; c < n_channels; c++) {
        table[to + at.n_window * (c + 1)] =
            (float)(it->float_scale *
                    it->features[from + it->n_window * (c + n_channels * component)]);
      }
    }
  }
}

/* exp(x) for x <= 0, to a relative error of 3e-7; below EXP_LOWEST as there, which is as good as 0.
 */
GPS_INLINE float exp_float(float x) {
  const float clamped = x < EXP_LOWEST ? EXP_LOWEST : x;
  const float rounded = clamped * LOG2_INVERSE + ROUNDER, k = rounded - ROUNDER;
  const float r = (clamped - k * LOG2_HIGH) - k * LOG2_LOW;
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = (p * r) * r + r;
  uint32_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  bits = (bits + 127) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return (1.0f + p) * power;
}

/* As split_power() of the double precision: the power of two goes to *power. */
GPS_INLINE float split_float(float x, int32_t *power) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  *power += (int32_t)(bits >> 23) - 127;
  bits = (bits & 0x007fffffu) | 0x3f800000u;
  float mantissa;
  memcpy(&mantissa, &bits, sizeof mantissa);
  return mantissa;
}

/* Log of the product over the lanes of mantissas and powers of two. */
GPS_INLINE double log_of_lanes(const float *product, const int32_t *power) {
  double total = 1;
  int32_t exponent = 0;
  for (int a = 0; a < FLOAT_LANES; a++) {
    total *= (double)product[a];
    exponent += power[a];
  }
  return log(total) + exponent * LOG_2;
}

/* The farthest that a pixel lies beyond the core, by which v stays above what 0 is in floats. */
#define FLOAT_FARTHEST 1e5

/* base and loose. */
GPS_CLONES static void float_base(const occlusive *it, const double *y,
                                  const double *restrict beyond, float *restrict base,
                                  float *restrict loose) {
  const float factor = -it->float_precision;
  const float open = (float)exp(it->log_open), clutter = (float)exp(it->log_clutter);
  const float own_open = (float)exp(it->own_log_open), share = (float)it->is_shared;
  const size_t n = it->n_pixels;
  const double scale = it->float_scale;
  for (size_t p = 0; p < n; p++) base[p] = 0;
  for (int c = 0; c < it->n_channels; c++) {
    const double *plane = y + n * (size_t)c, centre = it->background[c];
#pragma omp simd
    for (size_t p = 0; p < n; p++) {
      const float deviation = (float)(scale * (plane[p] - centre));
      base[p] += deviation * deviation;
    }
  }
#pragma omp simd
  for (size_t p = 0; p < n; p++) {
    const float far = (float)(beyond[p] < FLOAT_FARTHEST ? beyond[p] : FLOAT_FARTHEST);
    const float thin = clutter / (far * far * far * far);
    const float whole = 1 / (open * exp_float(factor * base[p]) + thin);
    base[p] = own_open * whole;
    loose[p] = share * thin * whole;
  }
}

/* A cyclic copy of an image with more rows and columns. */
static void pad_floats(const occlusive *it, const occlusive_floats *at, const float *image,
                       float *plane) {
  const size_t height = (size_t)it->height, n = (size_t)(it->width + it->n_cols - 1);
  for (size_t j = 0; j < n; j++) {
    const float *from = image + height * (j % (size_t)it->width);
    float *to = plane + at->stride * j;
    for (size_t done = 0; done < at->stride; done += height) {
      const size_t left = at->stride - done;
      memcpy(to + done, from, (left < height ? left : height) * sizeof *to);
    }
  }
}

void occlusive_float_begin(const occlusive *it, const gps_point *point,
                           const occlusive_floats *to) {
  const double *y = point->y;
  for (int c = 0; c < it->n_channels; c++) {
    const double *plane = y + it->n_pixels * (size_t)c;
    for (size_t p = 0; p < it->n_pixels; p++) to->cover[p] = (float)(it->float_scale * plane[p]);
    pad_floats(it, to, to->cover, to->data + to->n_plane * (size_t)c);
  }
  occlusive_beyond(it, y, 0, it->n_pixels, to->beyond);
  float_base(it, y, to->beyond, to->cover, to->chance);
  for (size_t p = 0; point->observed && p < it->n_pixels; p++) {
    if (!occlusive_is_masked(it, point->observed, p)) continue;
    to->cover[p] = 0;
    to->chance[p] = 1;
  }
  pad_floats(it, to, to->cover, to->base);
  pad_floats(it, to, to->chance, to->loose);
}

/* sum <- sum over channels of (y - w)^2 in FLOAT_LANES rows. */
GPS_INLINE void squared_distance(const float *restrict y, size_t n_plane, const float *restrict w,
                                 size_t n_window, int n_channels, float *restrict sum) {
  if (n_channels == 3) {
#pragma omp simd
    for (int a = 0; a < FLOAT_LANES; a++) {
      const float first = y[a] - w[a], second = y[n_plane + (size_t)a] - w[n_window + (size_t)a];
      const float third = y[2 * n_plane + (size_t)a] - w[2 * n_window + (size_t)a];
      sum[a] = first * first + second * second + third * third;
    }
    return;
  }
  for (int a = 0; a < FLOAT_LANES; a++) sum[a] = 0;
  for (size_t c = 0; c < (size_t)n_channels; c++) {
#pragma omp simd
    for (int a = 0; a < FLOAT_LANES; a++) {
      const float deviation = y[n_plane * c + (size_t)a] - w[n_window * c + (size_t)a];
      sum[a] += deviation * deviation;
    }
  }
}

/* Log of the product over a window of 1 + odds (base exp(-|y - w|^2 / 2 sigma2) + loose). */
GPS_CLONES static double weight_product(const occlusive *it, const occlusive_floats *at,
                                        const float *base, const float *loose, const float *table,
                                        size_t corner) {
  const float factor = -it->float_precision;
  float product[FLOAT_LANES], sum[FLOAT_LANES];
  int32_t power[FLOAT_LANES];
  for (int a = 0; a < FLOAT_LANES; a++) {
    product[a] = 1;
    power[a] = 0;
  }
  for (size_t b = 0; b < (size_t)it->n_cols; b++) {
    for (size_t first = 0; first < at->lanes; first += FLOAT_LANES) {
      const size_t pixel = corner + at->stride * b + first, own = at->lanes * b + first;
      squared_distance(at->data + pixel, at->n_plane, table + at->n_window + own, at->n_window,
                       it->n_channels, sum);
#pragma omp simd
      for (int a = 0; a < FLOAT_LANES; a++) {
        const float owner = base[pixel + (size_t)a] * exp_float(factor * sum[a]);
        const float weight = table[own + (size_t)a] * (owner + loose[pixel + (size_t)a]);
        product[a] = split_float(product[a] + product[a] * weight, power + a);
      }
    }
  }
  return log_of_lanes(product, power);
}

/* Log of the product over a window of 1 + odds / (1 + odds of what is given). */
GPS_CLONES static double chance_product(const occlusive *it, const occlusive_floats *at,
                                        const float *table, size_t corner) {
  float product[FLOAT_LANES];
  int32_t power[FLOAT_LANES];
  for (int a = 0; a < FLOAT_LANES; a++) {
    product[a] = 1;
    power[a] = 0;
  }
  for (size_t b = 0; b < (size_t)it->n_cols; b++) {
    for (size_t first = 0; first < at->lanes; first += FLOAT_LANES) {
      const float *left = at->chance_left + corner + at->stride * b + first;
      const float *odds = table + at->lanes * b + first;
#pragma omp simd
      for (int a = 0; a < FLOAT_LANES; a++)
        product[a] = split_float(product[a] + product[a] * (odds[a] * left[a]), power + a);
    }
  }
  return log_of_lanes(product, power);
}

/* Adds the weights and odds of a component to an image. */
GPS_CLONES static void add_given(const occlusive *it, const occlusive_floats *at,
                                 const float *table, occlusive_place place) {
  const float factor = -it->float_precision;
  const size_t height = (size_t)it->height, n_rows = (size_t)it->n_rows;
  const size_t row = (size_t)place.row;
  float sum[FLOAT_LANES];
  for (size_t b = 0; b < (size_t)it->n_cols; b++) {
    const size_t column = ((size_t)place.col + b) % (size_t)it->width;
    for (size_t first = 0; first < n_rows; first += FLOAT_LANES) {
      const size_t pixel = row + at->stride * ((size_t)place.col + b) + first;
      const size_t own = at->lanes * b + first;
      squared_distance(at->data + pixel, at->n_plane, table + at->n_window + own, at->n_window,
                       it->n_channels, sum);
#pragma omp simd
      for (int a = 0; a < FLOAT_LANES; a++) {
        sum[a] =
            table[own + (size_t)a] * (at->base[pixel + (size_t)a] * exp_float(factor * sum[a]) +
                                      at->loose[pixel + (size_t)a]);
      }
      for (size_t a = 0; a < FLOAT_LANES && first + a < n_rows; a++) {
        const size_t to = (row + first + a) % height + height * column;
        at->cover[to] += sum[a];
        at->chance[to] += table[own + a];
      }
    }
  }
}

void occlusive_float_given(const occlusive *it, const occlusive_floats *at, const float *tables,
                           int n_given, const int *given) {
  for (size_t p = 0; p < it->n_pixels; p++) at->cover[p] = at->chance[p] = 1;
  for (int i = 0; i < n_given; i++) {
    const occlusive_place place = place_of(it, given[i]);
    add_given(it, at, tables + at->n_table * (size_t)place.component, place);
  }
  for (size_t p = 0; p < it->n_pixels; p++) {
    at->cover[p] = 1 / at->cover[p];
    at->chance[p] = 1 / at->chance[p];
  }
  pad_floats(it, at, at->cover, at->base_left);
  pad_floats(it, at, at->chance, at->chance_left);
  for (size_t i = 0; i < at->n_plane; i++) {
    at->loose_left[i] = at->base_left[i] * at->loose[i];
    at->base_left[i] *= at->base[i];
  }
}

double occlusive_float_gain(const occlusive *it, const occlusive_floats *at, const float *tables,
                            int is_alone, int latent) {
  const occlusive_place place = place_of(it, latent);
  const size_t component = (size_t)place.component;
  const float *table = tables + at->n_table * component;
  const size_t corner = (size_t)place.row + at->stride * (size_t)place.col;
  const double prior = it->prior[component];
  if (is_alone) {
    return prior + weight_product(it, at, at->base, at->loose, table, corner) -
           it->prior[(size_t)it->n_components + 1 + component];
  }
  return prior + weight_product(it, at, at->base_left, at->loose_left, table, corner) -
         chance_product(it, at, table, corner);
}
