/* One data point of model E in double precision: density ratios of the windows, and the log joint
 * of a component given others. Reached through the table model_occlusive only. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "model_occlusive.h"
#include "vector_math.h"

#define LOG_2 0.69314718055994530942

size_t occlusive_point_size(const occlusive *it, size_t n_slots) {
  return it->n_plane * (size_t)(it->n_channels + 2) + 2 * it->n_pixels +
         (2 * it->n_window + 3) * n_slots + 6 * it->n_window;
}

occlusive_point occlusive_point_in(const occlusive *it, size_t n_slots, double *scratch) {
  occlusive_point at;
  at.data = scratch;
  at.base = at.data + it->n_plane * (size_t)it->n_channels;
  at.loose = at.base + it->n_plane;
  at.weight = at.loose + it->n_plane;
  at.own = at.weight + it->n_window * n_slots;
  at.cover = at.own + it->n_window * n_slots;
  at.chance = at.cover + it->n_window;
  at.owned = at.chance + it->n_window;
  at.exposure = at.owned + it->n_window;
  at.inverse = at.exposure + it->n_window;
  at.removal = at.inverse + it->n_window;
  at.clean = at.removal + it->n_window;
  at.rest = at.clean + it->n_pixels;
  at.place = at.rest + it->n_pixels;
  return at;
}

double occlusive_log_add(double a, double b) {
  const double top = a > b ? a : b, low = a > b ? b : a;
  return top == -HUGE_VAL ? top : top + log1p(exp(low - top));
}

/* A cyclic copy of an image [height x width] with `lanes` more rows and n_cols - 1 more columns. */
static void pad_image(const occlusive *it, const double *image, double *plane) {
  const size_t height = (size_t)it->height, n = (size_t)(it->width + it->n_cols - 1);
  for (size_t j = 0; j < n; j++) {
    const double *from = image + height * (j % (size_t)it->width);
    double *to = plane + it->stride * j;
    for (size_t done = 0; done < it->stride; done += height) {
      const size_t left = it->stride - done;
      memcpy(to + done, from, (left < height ? left : height) * sizeof *to);
    }
  }
}

/* Minus |y - B|^2 / 2 sigma2 of n pixels from `first` on. */
GPS_CLONES static void background_exponent(const occlusive *it, const double *y, size_t first,
                                           size_t n, double *restrict to) {
  for (size_t p = 0; p < n; p++) to[p] = 0;
  for (int c = 0; c < it->n_channels; c++) {
    const double *plane = y + first + it->n_pixels * (size_t)c;
    const double centre = it->background[c], factor = -it->precision;
#pragma omp simd
    for (size_t p = 0; p < n; p++) {
      const double deviation = plane[p] - centre;
      to[p] += factor * deviation * deviation;
    }
  }
}

/* Beyond this a pixel is not told from one still farther away. */
#define FARTHEST 1e40

/* to *= 1 + rate times the distance from the core in one channel. */
GPS_CLONES static void multiply_beyond(const occlusive *it, const double *y, size_t n,
                                       double *restrict to) {
  const double middle = it->core_middle, half = it->core_half, rate = it->tail_rate;
#pragma omp simd
  for (size_t p = 0; p < n; p++) {
    const double distance = fabs(y[p] - middle) - half;
    const double factor = to[p] * (1 + rate * (distance > 0 ? distance : 0));
    to[p] = factor < FARTHEST ? factor : FARTHEST;
  }
}

void occlusive_beyond(const occlusive *it, const double *y, size_t first, size_t n, double *to) {
  for (size_t p = 0; p < n; p++) to[p] = 1;
  if (it->tail_rate == 0) return;
  for (int c = 0; c < it->n_channels; c++)
    multiply_beyond(it, y + first + it->n_pixels * (size_t)c, n, to);
}

/* v in logs, and by itself where these are safe. */
GPS_INLINE double log_loose(const occlusive *it, double beyond) {
  return it->log_clutter - 4 * log(beyond);
}

GPS_INLINE double thin_out(double clutter, double beyond) {
  const double square = beyond * beyond;
  return clutter / (square * square);
}

/* log(p_0 / c) from the exponent of a pixel. */
static double log_base(const occlusive *it, double exponent, double beyond) {
  return occlusive_log_add(it->log_open + exponent, log_loose(it, beyond));
}

/* exponent -> clean, beyond -> loose. */
static void begin_logs(const occlusive *it, double *exponent, double *beyond, double *base) {
  for (size_t p = 0; p < it->n_pixels; p++) {
    base[p] = -log_base(it, exponent[p], beyond[p]);
    exponent[p] = exp(it->log_open + exponent[p] + base[p]);
    beyond[p] = log_loose(it, beyond[p]) + base[p];
  }
}

GPS_CLONES static void begin_ratios(const occlusive *it, double *restrict exponential,
                                    double *restrict beyond, double *restrict base) {
  const double open = exp(it->log_open), clutter = exp(it->log_clutter);
#pragma omp simd
  for (size_t p = 0; p < it->n_pixels; p++) {
    const double gaussian = open * exponential[p], loose = thin_out(clutter, beyond[p]);
    base[p] = 1 / (gaussian + loose);
    exponential[p] = gaussian * base[p];
    beyond[p] = loose * base[p];
  }
}

/* What begin_logs() and begin_ratios() make of pixels that are clutter for sure. */
static void mask_pixels(const occlusive *it, const unsigned char *observed, double *clean,
                        double *loose, double *base) {
  for (size_t p = 0; observed && p < it->n_pixels; p++) {
    if (!occlusive_is_masked(it, observed, p)) continue;
    clean[p] = 0;
    loose[p] = it->is_safe ? 0 : 1;
    base[p] = it->is_safe ? -HUGE_VAL : 0;
  }
}

void occlusive_begin(const occlusive *it, const gps_point *point, const occlusive_point *to) {
  const double *y = point->y;
  for (int c = 0; c < it->n_channels; c++) {
    const size_t channel = (size_t)c;
    pad_image(it, y + it->n_pixels * channel, to->data + it->n_plane * channel);
  }
  /* Until the padded image is made, its own place has room for one that is not. */
  double *base = to->rest, *beyond = to->base;
  background_exponent(it, y, 0, it->n_pixels, to->clean);
  occlusive_beyond(it, y, 0, it->n_pixels, beyond);
  if (!it->is_safe) exp_array(to->clean, it->n_pixels, 0);
  (it->is_safe ? begin_logs : begin_ratios)(it, to->clean, beyond, base);
  mask_pixels(it, point->observed, to->clean, beyond, base);
  pad_image(it, beyond, to->loose);
  pad_image(it, base, to->base);
}

/* Minus |y - w|^2 / 2 sigma2 over a window whose corner is at `at` in a padded image. */
GPS_CLONES static void window_exponent(const occlusive *it, const double *data, size_t at,
                                       const double *w, double *restrict to) {
  const size_t lanes = it->lanes;
  const double factor = -it->precision;
  for (size_t i = 0; i < it->n_window; i++) to[i] = 0;
  for (int c = 0; c < it->n_channels; c++) {
    for (size_t b = 0; b < (size_t)it->n_cols; b++) {
      const double *y = data + it->n_plane * (size_t)c + at + it->stride * b;
      const double *feature = w + it->n_window * (size_t)c + lanes * b;
      double *sum = to + lanes * b;
#pragma omp simd
      for (size_t a = 0; a < lanes; a++) {
        const double deviation = y[a] - feature[a];
        sum[a] += factor * deviation * deviation;
      }
    }
  }
}

/* weight <- odds times (weight times (1 - eps) base, and loose), own <- the first one's share. */
GPS_CLONES static void finish_weight(const occlusive *it, const double *base, const double *loose,
                                     const double *odds, double *restrict weight,
                                     double *restrict own) {
  const size_t lanes = it->lanes;
  const double open = exp(it->own_log_open), share = it->is_shared;
  for (size_t b = 0; b < (size_t)it->n_cols; b++) {
    const double *from = base + it->stride * b, *o = odds + lanes * b;
    const double *clutter = loose + it->stride * b;
    double *to = weight + lanes * b, *part = own + lanes * b;
#pragma omp simd
    for (size_t a = 0; a < lanes; a++) {
      const double gaussian = to[a] * (open * from[a]), total = gaussian + share * clutter[a];
      part[a] = total > 0 ? gaussian / total : 0;
      to[a] = o[a] * total;
    }
  }
}

/* The same in logs. */
static void finish_logs(const occlusive *it, const double *base, const double *loose,
                        const double *log_odds, double *weight, double *own) {
  const size_t lanes = it->lanes;
  for (size_t b = 0; b < (size_t)it->n_cols; b++) {
    const double *from = base + it->stride * b, *clutter = loose + it->stride * b;
    const double *o = log_odds + lanes * b;
    double *to = weight + lanes * b;
    for (size_t a = 0; a < lanes; a++) {
      const double gaussian = to[a] + it->own_log_open + from[a];
      const double total = it->is_shared ? occlusive_log_add(gaussian, clutter[a]) : gaussian;
      own[a + lanes * b] = exp(gaussian - total);
      to[a] = total + o[a];
    }
  }
}

void occlusive_fill_slot(const occlusive *it, const occlusive_point *at, size_t slot, int latent) {
  double *place = at->place + 3 * slot, *weight = at->weight + it->n_window * slot;
  place[0] = -1;
  if (latent < 0) return;
  const occlusive_place where = place_of(it, latent);
  const size_t corner = (size_t)where.row + it->stride * (size_t)where.col;
  const size_t component = (size_t)where.component;
  place[0] = where.component;
  place[1] = where.row;
  place[2] = where.col;
  window_exponent(it, at->data, corner,
                  it->features + it->n_window * (size_t)it->n_channels * component, weight);
  if (!it->is_safe) exp_array(weight, it->n_window, 0);
  (it->is_safe ? finish_logs
               : finish_weight)(it, at->base + corner, at->loose + corner,
                                (it->is_safe ? it->log_odds : it->odds) + it->n_window * component,
                                weight, at->own + it->n_window * slot);
}

/* to += from over `n` rows. */
GPS_INLINE void add_rows(double *restrict to, const double *restrict from, size_t n) {
#pragma omp simd
  for (size_t a = 0; a < n; a++) to[a] += from[a];
}

/* Adds a rectangle of the window `from` to one of the window `to`, both padded. */
GPS_CLONES static void add_rectangle(size_t lanes, size_t n_rows, size_t n_cols, const double *from,
                                     double *to) {
  for (size_t b = 0; b < n_cols; b++) add_rows(to + lanes * b, from + lanes * b, n_rows);
}

static void log_add_rectangle(size_t lanes, size_t n_rows, size_t n_cols, const double *from,
                              double *to) {
  for (size_t b = 0; b < n_cols; b++) {
    for (size_t a = 0; a < n_rows; a++)
      to[a + lanes * b] = occlusive_log_add(to[a + lanes * b], from[a + lanes * b]);
  }
}

/* What the component of `other` adds to the window of `slot`. */
static void add_cover(const occlusive *it, const occlusive_point *at, size_t slot, size_t other) {
  const double *to = at->place + 3 * slot, *from = at->place + 3 * other;
  const occlusive_overlap rows = overlap_of((int)to[1], (int)from[1], it->n_rows, it->height);
  const occlusive_overlap cols = overlap_of((int)to[2], (int)from[2], it->n_cols, it->width);
  const double *weight = at->weight + it->n_window * other;
  const double *odds = it->odds + it->n_window * (size_t)from[0];
  for (int j = 0; j < cols.n; j++) {
    for (int i = 0; i < rows.n; i++) {
      const size_t n_rows = (size_t)rows.length[i], n_cols = (size_t)cols.length[j];
      const size_t target = (size_t)rows.to[i] + it->lanes * (size_t)cols.to[j];
      const size_t source = (size_t)rows.from[i] + it->lanes * (size_t)cols.from[j];
      (it->is_safe ? log_add_rectangle : add_rectangle)(it->lanes, n_rows, n_cols, weight + source,
                                                        at->cover + target);
      add_rectangle(it->lanes, n_rows, n_cols, odds + source, at->chance + target);
    }
  }
}

void occlusive_cover(const occlusive *it, const occlusive_point *at, size_t slot, int n_on,
                     const int *on) {
  for (size_t i = 0; i < it->n_window; i++) {
    at->cover[i] = it->is_safe ? 0 : 1;
    at->chance[i] = 1;
  }
  for (int k = 0; k < n_on; k++) {
    const size_t other = (size_t)(on ? on[k] : k);
    if (other != slot) add_cover(it, at, slot, other);
  }
}

/* The exponent of a positive normal number goes to *power, its mantissa in [1, 2) stays. */
GPS_INLINE double split_power(double x, int64_t *power, int64_t sign) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  *power += sign * ((int64_t)(bits >> 52) - 1023);
  bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
  double mantissa;
  memcpy(&mantissa, &bits, sizeof mantissa);
  return mantissa;
}

/* Sum over a window of log((cover + weight) / cover) - log((chance + odds) / chance), as one
 * product whose power of two is taken out at every step. */
GPS_CLONES static double product_gain(size_t n, const double *restrict cover,
                                      const double *restrict chance, const double *restrict weight,
                                      const double *restrict odds) {
  double above[LANES], below[LANES];
  int64_t power[LANES];
  for (int a = 0; a < LANES; a++) {
    above[a] = below[a] = 1;
    power[a] = 0;
  }
  for (size_t i = 0; i < n; i += LANES) {
#pragma omp simd
    for (int a = 0; a < LANES; a++) {
      const size_t p = i + (size_t)a;
      above[a] = split_power(above[a] * (cover[p] + weight[p]) * chance[p], power + a, 1);
      below[a] = split_power(below[a] * cover[p] * (chance[p] + odds[p]), power + a, -1);
    }
  }
  double top = 1, bottom = 1;
  int64_t total = 0;
  for (int a = 0; a < LANES; a++) {
    top *= above[a];
    bottom *= below[a];
    total += power[a];
  }
  return log(top / bottom) + (double)total * LOG_2;
}

static double log_gain(size_t n, const double *cover, const double *chance, const double *weight,
                       const double *odds) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    if (odds[i] == 0) continue;
    sum += occlusive_log_add(cover[i], weight[i]) - cover[i] - log1p(odds[i] / chance[i]);
  }
  return sum;
}

double occlusive_gain(const occlusive *it, const occlusive_point *at, size_t slot, int n_on,
                      const int *on) {
  const double component = at->place[3 * slot];
  if (component < 0) return -HUGE_VAL;
  for (int k = 0; k < n_on; k++) {
    if (at->place[3 * (on ? on[k] : k)] == component) return -HUGE_VAL;
  }
  occlusive_cover(it, at, slot, n_on, on);
  const double *weight = at->weight + it->n_window * slot;
  const double *odds = it->odds + it->n_window * (size_t)component;
  return it->prior[(size_t)component] +
         (it->is_safe ? log_gain : product_gain)(it->n_window, at->cover, at->chance, weight, odds);
}

enum { CHUNK = 64 };

/* Sum of log(p_0 / c) over pixels that are there, from their exponents in logs. */
static double sum_logs(const occlusive *it, const unsigned char *observed, size_t first, size_t n,
                       const double *exponent, const double *beyond) {
  double sum = 0;
  for (size_t p = 0; p < n; p++) {
    if (!occlusive_is_masked(it, observed, first + p)) sum += log_base(it, exponent[p], beyond[p]);
  }
  return sum;
}

static size_t count_masked(const occlusive *it, const unsigned char *observed) {
  size_t n = 0;
  for (size_t p = 0; observed && p < it->n_pixels; p++) {
    n += (size_t)occlusive_is_masked(it, observed, p);
  }
  return n;
}

double occlusive_log_background(const occlusive *it, const gps_point *point) {
  const double open = exp(it->log_open), clutter = exp(it->log_clutter), *y = point->y;
  double exponent[CHUNK], beyond[CHUNK], sum = 0;
  for (size_t first = 0; first < it->n_pixels; first += CHUNK) {
    const size_t left = it->n_pixels - first, n = left < CHUNK ? left : CHUNK;
    background_exponent(it, y, first, n, exponent);
    occlusive_beyond(it, y, first, n, beyond);
    if (it->is_safe) {
      sum += sum_logs(it, point->observed, first, n, exponent, beyond);
      continue;
    }
    exp_array(exponent, n, 0);
    double product = 1;
    int64_t power = 0;
    for (size_t p = 0; p < n; p++) {
      if (occlusive_is_masked(it, point->observed, first + p)) continue;
      product =
          split_power(product * (open * exponent[p] + thin_out(clutter, beyond[p])), &power, 1);
    }
    sum += log(product) + (double)power * LOG_2;
  }
  return sum + (double)(it->n_pixels - count_masked(it, point->observed)) * it->log_norm;
}
