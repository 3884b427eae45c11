/* The hand-crafted selection of model E: all positions of all components by a few representative
 * pixels of each, the best ones again by their gain. Called by r_occlusive.c. */
#include <math.h>
#include <string.h>

#include "model_occlusive.h"
#include "vector_math.h"

/* Pixels that a component hardly ever owns represent nothing. */
#define LOWEST_REPRESENTATIVE 0.15

/* Pixels by falling alpha, of those above the limit; returns how many. */
static int sort_pixels(const occlusive *it, const double *alpha, int *order) {
  const int n_pixels = it->n_rows * it->n_cols;
  int n = 0;
  for (int i = 0; i < n_pixels; i++) {
    const double own = alpha[(size_t)i * (size_t)it->n_components];
    int k = n;
    if (own <= LOWEST_REPRESENTATIVE) continue;
    while (k > 0 && alpha[(size_t)order[k - 1] * (size_t)it->n_components] < own) {
      order[k] = order[k - 1];
      k--;
    }
    order[k] = i;
    n++;
  }
  return n;
}

static void add_representative(const occlusive *it, const double *alpha, int pixel,
                               occlusive_scan_plan *plan) {
  const occlusive_floats at = occlusive_floats_in(it, NULL);
  const int row = pixel % it->n_rows, col = pixel / it->n_rows, k = plan->n++;
  const double own = alpha[(size_t)pixel * (size_t)it->n_components];
  plan->offset[k] = row + (int)at.stride * col;
  plan->own[k] = row + (int)at.lanes * col;
  plan->log_on[k] = (float)log(own);
  plan->log_off[k] = (float)log1p(-own);
}

/* Systematic sampling in proportion to alpha: pixel k where the running sum passes a point of a
 * regular grid. */
void occlusive_plan_scan(const gps_problem *problem, int component, int *order,
                         occlusive_scan_plan *plan) {
  const occlusive it = occlusive_of(problem);
  const double *alpha = problem->input[ALPHA] + component;
  const int n = sort_pixels(&it, alpha, order);
  double total = 0, passed = 0;
  plan->n = 0;
  for (int i = 0; i < n; i++) total += alpha[(size_t)order[i] * (size_t)it.n_components];
  const double step = n <= MAX_REPRESENTATIVES ? 0 : total / MAX_REPRESENTATIVES;
  for (int i = 0; i < n && plan->n < MAX_REPRESENTATIVES; i++) {
    passed += alpha[(size_t)order[i] * (size_t)it.n_components];
    if (passed >= step * (plan->n + 0.5)) add_representative(&it, alpha, order[i], plan);
  }
}

/* Positions of a column, padded. */
static size_t column_lanes(const occlusive *it) {
  return round_up((size_t)it->height, FLOAT_LANES);
}

/* scratch: the table's, scores of all positions, gains of the peaks */
static size_t score_doubles(const occlusive *it) {
  return column_lanes(it) * (size_t)it->width / 2;
}

size_t occlusive_scan_scratch(const gps_problem *problem) {
  const occlusive it = occlusive_of(problem);
  return score_doubles(&it) + N_PEAKS * (size_t)it.n_components + occlusive_float_scratch(&it) +
         occlusive_point_size(&it, 1);
}

size_t occlusive_scan_ints(const gps_problem *problem) {
  return N_PEAKS * (size_t)occlusive_option(problem, N_COMPONENTS);
}

/* The exponent of the background, at most `cap`: a pixel that is not background must count as
 * explained by something else, not as something that nothing can explain. */
GPS_CLONES static void capped_background(const occlusive *it, const occlusive_floats *at,
                                         float *restrict to) {
  const float factor = it->float_precision;
  const float cap = it->log_contrast > 1 ? (float)it->log_contrast : 1;
  for (size_t i = 0; i < at->n_plane; i++) to[i] = 0;
  for (int c = 0; c < it->n_channels; c++) {
    const float *y = at->data + at->n_plane * (size_t)c;
    const float centre = (float)(it->float_scale * it->background[c]);
#pragma omp simd
    for (size_t i = 0; i < at->n_plane; i++) to[i] += (y[i] - centre) * (y[i] - centre);
  }
#pragma omp simd
  for (size_t i = 0; i < at->n_plane; i++) to[i] = factor * to[i] < cap ? factor * to[i] : cap;
}

/* score += what one representative with features w says of n positions. */
GPS_INLINE void add_scores(float *restrict score, const float *restrict y, size_t n_plane,
                           const float *restrict background, const float *w, int n_channels,
                           float factor, float log_on, float log_off, size_t n) {
#pragma omp simd
  for (size_t a = 0; a < n; a++) {
    float square = (y[a] - w[0]) * (y[a] - w[0]);
    if (n_channels == 3) {
      const float second = y[a + n_plane] - w[1], third = y[a + 2 * n_plane] - w[2];
      square += second * second + third * third;
    }
    const float on = log_on + background[a] - factor * square;
    score[a] += on > log_off ? on : log_off;
  }
}

/* Any number of channels. Pixels that are masked, with a `base` of 0, say nothing. */
GPS_INLINE void add_scores_wide(float *restrict score, const float *y, size_t n_plane,
                                const float *background, const float *base, const float *w,
                                size_t n_window, int n_channels, float factor, float log_on,
                                float log_off, size_t n) {
  for (size_t a = 0; a < n; a++) {
    float square = 0;
    for (size_t c = 0; c < (size_t)n_channels; c++) {
      const float deviation = y[a + n_plane * c] - w[c * n_window];
      square += deviation * deviation;
    }
    const float on = log_on + background[a] - factor * square;
    if (base[a] > 0) score[a] += on > log_off ? on : log_off;
  }
}

GPS_CLONES static void score_component(const occlusive *it, const occlusive_floats *at,
                                       const occlusive_scan_plan *plan, const float *table,
                                       const float *background, int is_masked, float *score) {
  const size_t lanes = column_lanes(it);
  const float factor = it->float_precision;
  memset(score, 0, lanes * (size_t)it->width * sizeof *score);
  for (int k = 0; k < plan->n; k++) {
    const size_t n_channels = (size_t)it->n_channels;
    const float *own = table + at->n_window + plan->own[k];
    const float on = plan->log_on[k], off = plan->log_off[k];
    for (size_t j = 0; j < (size_t)it->width; j++) {
      const size_t pixel = at->stride * j + (size_t)plan->offset[k];
      float *to = score + lanes * j;
      const float *y = at->data + pixel, *empty = background + pixel;
      if (n_channels == 1 && !is_masked) {
        add_scores(to, y, at->n_plane, empty, own, 1, factor, on, off, lanes);
      } else if (n_channels == 3 && !is_masked) {
        const float w[3] = {own[0], own[at->n_window], own[2 * at->n_window]};
        add_scores(to, y, at->n_plane, empty, w, 3, factor, on, off, lanes);
      } else {
        add_scores_wide(to, y, at->n_plane, empty, at->base + pixel, own, at->n_window,
                        it->n_channels, factor, on, off, lanes);
      }
    }
  }
}

/* The position with the best score; its neighbourhood of 3 x 3 is taken out. */
static int take_peak(const occlusive *it, float *score) {
  const int lanes = (int)column_lanes(it);
  int row = 0, col = 0;
  float best = -HUGE_VALF;
  for (int j = 0; j < it->width; j++) {
    for (int i = 0; i < it->height; i++) {
      if (score[i + lanes * j] <= best) continue;
      best = score[i + lanes * j];
      row = i;
      col = j;
    }
  }
  if (best == -HUGE_VALF) return -1;
  for (int j = -1; j <= 1; j++) {
    for (int i = -1; i <= 1; i++) {
      const int a = (row + i + it->height) % it->height, b = (col + j + it->width) % it->width;
      score[a + lanes * b] = -HUGE_VALF;
    }
  }
  return row + it->height * col;
}

gps_status occlusive_scan(const gps_problem *problem, const gps_point *point,
                          const occlusive_scan_plan *plan, double *affinity, double *scratch,
                          int *ints) {
  const occlusive it = occlusive_of(problem);
  const occlusive_floats at = occlusive_floats_in(&it, (float *)(void *)scratch);
  const float *tables = (const float *)(const void *)problem->input[FLOATS];
  double *value = scratch + occlusive_float_scratch(&it) + occlusive_point_size(&it, 1);
  float *score = (float *)(void *)(value + N_PEAKS * it.n_components);
  int n = 0;
  occlusive_float_begin(&it, point, &at);
  capped_background(&it, &at, at.base_left);
  for (int h = 0; h < it.n_components; h++) {
    score_component(&it, &at, plan + h, tables + at.n_table * (size_t)h, at.base_left,
                    point->observed != NULL, score);
    for (int k = 0; k < N_PEAKS; k++) {
      const int position = take_peak(&it, score);
      if (position >= 0) ints[n++] = position + (int)it.n_pixels * h;
    }
  }
  gps_status status = occlusive_gain_begin(problem, point, scratch);
  if (status == GPS_OK) status = occlusive_gains(problem, point, 0, NULL, n, ints, value, scratch);
  for (size_t i = 0; i < (size_t)problem->shape.n_latents; i++) affinity[i] = UNSEEN;
  for (int i = 0; i < n; i++) affinity[ints[i]] = value[i];
  return status;
}
