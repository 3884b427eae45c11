/* Who owns which pixel of a data point of model E, and what that adds to the statistics. Reached
 * through the table model_occlusive only. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "model_occlusive.h"
#include "vector_math.h"

/* Probabilities that are left out add up to less. */
#define NEGLIGIBLE 1e-13

#define LOG_2 0.69314718055994530942

/* What a state of probability q, cover and chance without this component, adds: to owned its share
 * of each pixel, to exposure 1 / chance and to inverse 1 / cover, these with it. */
GPS_CLONES static void share_window(size_t n, double q, const double *restrict weight,
                                    const double *restrict odds, const occlusive_point *at) {
  const double *restrict cover = at->cover, *restrict chance = at->chance;
  double *restrict owned = at->owned, *restrict exposure = at->exposure;
  double *restrict inverse = at->inverse;
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    const double part = q / (cover[i] + weight[i]);
    owned[i] += part * weight[i];
    exposure[i] += q / (chance[i] + odds[i]);
    inverse[i] += part;
  }
}

static void share_window_logs(size_t n, double q, const double *weight, const double *odds,
                              const occlusive_point *at) {
  for (size_t i = 0; i < n; i++) {
    const double total = occlusive_log_add(at->cover[i], weight[i]);
    at->owned[i] += q * exp(weight[i] - total);
    at->exposure[i] += q / (at->chance[i] + odds[i]);
    at->inverse[i] += q * exp(-total);
  }
}

/* log(x) of a positive normal number, to an absolute error of 1e-14. */
GPS_INLINE double quick_log(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  /* The power of two that leaves a mantissa between sqrt(1/2) and sqrt(2). */
  const uint64_t shifted = bits + 0x00095f619980c433u;
  const int64_t power = (int64_t)(shifted >> 52) - 1023;
  const uint64_t low = (shifted & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu;
  double mantissa;
  memcpy(&mantissa, &low, sizeof mantissa);
  const double s = (mantissa - 1) / (mantissa + 1), z = s * s;
  double p = 1.0 / 17;
  p = p * z + 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1;
  return (double)power * LOG_2 + 2 * s * p;
}

/* removal += q times what the log of each pixel's density gains without this component there. */
GPS_CLONES static void remove_window(size_t n, double q, const double *restrict weight,
                                     const double *restrict odds, const occlusive_point *at) {
  const double *restrict cover = at->cover, *restrict chance = at->chance;
  double *restrict removal = at->removal;
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    const double before = cover[i] + weight[i], prior = (chance[i] + odds[i]) / chance[i];
    removal[i] += q * quick_log(cover[i] / before * prior);
  }
}

static void remove_window_logs(size_t n, double q, const double *weight, const double *odds,
                               const occlusive_point *at) {
  for (size_t i = 0; i < n; i++) {
    const double before = occlusive_log_add(at->cover[i], weight[i]);
    at->removal[i] += q * (at->cover[i] - before + log1p(odds[i] / at->chance[i]));
  }
}

/* owned, exposure and inverse of the window of `slot`, over all states that hold it, and removal if
 * asked for. Returns whether there is anything. */
static int share_slot(const occlusive *it, const occlusive_point *at, const gps_states *states,
                      const double *prob, int slot, int with_removal) {
  const double lowest = NEGLIGIBLE / states->n_states;
  int is_any = 0;
  if (at->place[3 * slot] < 0) return 0;
  const double *weight = at->weight + it->n_window * (size_t)slot;
  const double *odds = it->odds + it->n_window * (size_t)at->place[3 * slot];
  memset(at->owned, 0, it->n_window * sizeof *at->owned);
  memset(at->exposure, 0, it->n_window * sizeof *at->exposure);
  memset(at->inverse, 0, it->n_window * sizeof *at->inverse);
  memset(at->removal, 0, it->n_window * sizeof *at->removal);
  for (int m = 0; m < states->n_states; m++) {
    const int *active = states->active + (size_t)m * (size_t)states->max_active;
    int is_on = 0;
    for (int i = 0; i < states->n_active[m]; i++) is_on |= active[i] == slot;
    if (!is_on || prob[m] < lowest) continue;
    is_any = 1;
    occlusive_cover(it, at, (size_t)slot, states->n_active[m], active);
    (it->is_safe ? share_window_logs : share_window)(it->n_window, prob[m], weight, odds, at);
    if (!with_removal) continue;
    (it->is_safe ? remove_window_logs : remove_window)(it->n_window, prob[m], weight, odds, at);
  }
  return is_any;
}

/* Takes clutter out of owned and exposure of the window of `slot`. In a state it is (1 + sum of
 * odds) v / p_0 / cover of the pixel; rounding must not make what is left negative. */
static void remove_clutter(const occlusive *it, const occlusive_point *at, int slot) {
  const double *place = at->place + 3 * slot, *own = at->own + it->n_window * (size_t)slot;
  const size_t corner = (size_t)place[1] + it->stride * (size_t)place[2];
  if (!it->is_shared) return;
  for (size_t b = 0; b < (size_t)it->n_cols; b++) {
    const double *loose = at->loose + corner + it->stride * b;
    for (size_t a = 0; a < (size_t)it->n_rows; a++) {
      const size_t i = a + it->lanes * b;
      const double clutter = (it->is_safe ? exp(loose[a]) : loose[a]) * at->inverse[i];
      const double exposure = at->exposure[i] - clutter;
      at->owned[i] *= own[i];
      at->exposure[i] = exposure > 0 ? exposure : 0;
    }
  }
}

/* Adds sign times the window of a slot to an image, and times a factor each where there is one. */
GPS_CLONES static void add_window(const occlusive *it, const double *place, const double *window,
                                  const double *factor, double sign, double *image) {
  const size_t height = (size_t)it->height, n_rows = (size_t)it->n_rows;
  const size_t row = (size_t)place[1], before = height - row < n_rows ? height - row : n_rows;
  for (size_t b = 0; b < (size_t)it->n_cols; b++) {
    double *column = image + height * (((size_t)place[2] + b) % (size_t)it->width);
    const double *from = window + it->lanes * b, *times = factor ? factor + it->lanes * b : NULL;
    for (size_t a = 0; a < before; a++) column[row + a] += sign * from[a] * (times ? times[a] : 1);
    for (size_t a = before; a < n_rows; a++)
      column[a - before] += sign * from[a] * (times ? times[a] : 1);
  }
}

/* Statistics of a component from the window of its slot. */
GPS_CLONES static void add_owned(const occlusive *it, const occlusive_point *at,
                                 const double *place, double *const *stats) {
  const size_t n_rows = (size_t)it->n_rows, n_cols = (size_t)it->n_cols;
  const size_t component = (size_t)place[0], n_channels = (size_t)it->n_channels;
  const size_t corner = (size_t)place[1] + it->stride * (size_t)place[2];
  for (size_t b = 0; b < n_cols; b++) {
    const size_t first = n_rows * (b + n_cols * component);
    const double *restrict owned = at->owned + it->lanes * b;
    const double *restrict exposed = at->exposure + it->lanes * b;
    double *restrict count = stats[OWNED] + first;
    double *restrict exposure = stats[EXPOSURE] + first;
    double *restrict square = stats[OWNED_SQUARE] + first;
    const double *restrict removed = at->removal + it->lanes * b;
    double *restrict removal = stats[REMOVAL] + first;
    for (size_t a = 0; a < n_rows; a++) {
      count[a] += owned[a];
      exposure[a] += exposed[a];
      removal[a] += removed[a];
    }
    for (size_t c = 0; c < n_channels; c++) {
      const double *restrict y = at->data + it->n_plane * c + corner + it->stride * b;
      double *restrict data =
          stats[OWNED_DATA] + n_rows * (b + n_cols * (c + n_channels * component));
      for (size_t a = 0; a < n_rows; a++) {
        data[a] += owned[a] * y[a];
        square[a] += owned[a] * y[a] * y[a];
      }
    }
  }
}

/* at->rest: 1 minus what components own. What is not owned at all is left at exactly 1; rounding
 * must not make it negative. */
static void begin_rest(const occlusive *it, const occlusive_point *at) {
  for (size_t p = 0; p < it->n_pixels; p++) at->rest[p] = 1;
}

GPS_CLONES static void add_background(const occlusive *it, const occlusive_point *at,
                                      const double *y, double times, double *const *stats) {
  double count = 0, square = 0;
  for (size_t p = 0; p < it->n_pixels; p++) {
    at->rest[p] = (at->rest[p] > 0 ? at->rest[p] : 0) * at->clean[p];
    count += at->rest[p];
  }
  for (int c = 0; c < it->n_channels; c++) {
    const double *plane = y + it->n_pixels * (size_t)c;
    double sum = 0;
    for (size_t p = 0; p < it->n_pixels; p++) {
      const double weighed = at->rest[p] * plane[p];
      sum += weighed;
      square += weighed * plane[p];
    }
    stats[BACKGROUND_DATA][c] += times * sum;
  }
  stats[BACKGROUND_COUNT][0] += times * count;
  stats[BACKGROUND_SQUARE][0] += times * square;
}

/* What a slot adds, of a point that stands for so many observations. */
static void weigh_window(const occlusive *it, const occlusive_point *at, double weight) {
  for (size_t i = 0; weight != 1 && i < it->n_window; i++) {
    at->owned[i] *= weight;
    at->exposure[i] *= weight;
    at->removal[i] *= weight;
  }
}

/* The share of clutter is one of all pixels: each masked one counts as it did, clutter with
 * probability eps, and the rest as background that is as expected, which holds the background and
 * the noise a little to where they were and lets the bound rise none the less. */
static void add_masked(const gps_problem *problem, const occlusive *it, const gps_point *point,
                       double weight, double *const *stats) {
  const double clutter = problem->input[CLUTTER][0], sigma2 = problem->input[SIGMA2][0];
  const double kept = weight * (1 - clutter);
  if (occlusive_option(problem, IS_LEARNED) == 0 || clutter <= 0) return;
  for (size_t p = 0; point->observed && p < it->n_pixels; p++) {
    if (!occlusive_is_masked(it, point->observed, p)) continue;
    stats[BACKGROUND_COUNT][0] += kept;
    for (int c = 0; c < it->n_channels; c++) {
      const double mean = it->background[c];
      stats[BACKGROUND_DATA][c] += kept * mean;
      stats[BACKGROUND_SQUARE][0] += kept * (mean * mean + sigma2);
    }
  }
}

gps_status occlusive_accumulate(const gps_problem *problem, const gps_point *point,
                                const gps_states *states, const double *prob, double *const *stats,
                                double *scratch) {
  const occlusive it = occlusive_of(problem);
  const occlusive_point at = occlusive_slots_in(&it, states, scratch);
  const double weight = gps_weight_of(problem, (size_t)point->index);
  begin_rest(&it, &at);
  for (int slot = 0; slot < states->n_slots; slot++) {
    if (!share_slot(&it, &at, states, prob, slot, problem->beta == 1)) continue;
    const double *place = at.place + 3 * slot;
    add_window(&it, place, at.owned, NULL, -1, at.rest);
    remove_clutter(&it, &at, slot);
    weigh_window(&it, &at, weight);
    add_owned(&it, &at, place, stats);
  }
  add_background(&it, &at, point->y, weight, stats);
  add_masked(problem, &it, point, weight, stats);
  stats[COUNT][0] += weight;
  for (int m = 0; m < states->n_states; m++) {
    const int *active = states->active + (size_t)m * (size_t)states->max_active;
    for (int i = 0; i < states->n_active[m]; i++) {
      const double component = at.place[3 * active[i]];
      if (component >= 0) stats[ON][(size_t)component] += weight * prob[m];
    }
  }
  return GPS_OK;
}

gps_status occlusive_describe(const gps_problem *problem, const gps_point *point,
                              const gps_states *states, const double *prob, double *latent,
                              double *response, double *scratch) {
  const occlusive it = occlusive_of(problem);
  const occlusive_point at = occlusive_slots_in(&it, states, scratch);
  (void)point;
  memset(latent, 0, (size_t)states->n_slots * sizeof *latent);
  for (int m = 0; m < states->n_states; m++) {
    const int *active = states->active + (size_t)m * (size_t)states->max_active;
    for (int i = 0; i < states->n_active[m]; i++) latent[active[i]] += prob[m];
  }
  if (!response) return GPS_OK;
  begin_rest(&it, &at);
  memset(response, 0, (size_t)problem->shape.n_dims * sizeof *response);
  for (int slot = 0; slot < states->n_slots; slot++) {
    if (!share_slot(&it, &at, states, prob, slot, 0)) continue;
    const double *place = at.place + 3 * slot;
    add_window(&it, place, at.owned, NULL, -1, at.rest);
    for (int c = 0; c < it.n_channels; c++) {
      const size_t channel = (size_t)c + (size_t)it.n_channels * (size_t)place[0];
      add_window(&it, place, at.owned, it.features + it.n_window * channel, 1,
                 response + it.n_pixels * (size_t)c);
    }
  }
  for (int c = 0; c < it.n_channels; c++) {
    double *plane = response + it.n_pixels * (size_t)c;
    for (size_t p = 0; p < it.n_pixels; p++)
      plane[p] += (at.rest[p] > 0 ? at.rest[p] : 0) * it.background[c];
  }
  return GPS_OK;
}
