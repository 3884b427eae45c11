/* Candidates of model E where an image is not explained: pixels that are left to the clutter, and
 * components whose masks may own them. Reached through the table model_occlusive only. */
#include <math.h>

#include "model_occlusive.h"

/* Draws of a component and a pixel of it for each candidate. */
#define N_TRIES 16

/* Cumulative shares of the clutter over the pixels that are there, into at->chance. */
static double sum_clutter(const occlusive *it, const occlusive_floats *at) {
  double total = 0;
  for (int col = 0; col < it->width; col++) {
    for (int row = 0; row < it->height; row++) {
      const size_t pixel = (size_t)row + (size_t)it->height * (size_t)col;
      const size_t padded = (size_t)row + at->stride * (size_t)col;
      /* In proportion where clutter is the background's, which has one density everywhere then. */
      const float clutter =
          it->is_shared ? at->loose[padded] / at->chance[pixel] : at->base[padded];
      if (at->base[padded] > 0) total += (double)(at->cover[pixel] * clutter);
      at->chance[pixel] = (float)total;
    }
  }
  return total;
}

/* The first pixel whose cumulative share is above u. */
static int find_pixel(const float *sum, int n, float u) {
  int low = 0, high = n - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (sum[middle] > u) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/* Squared distance of a pixel of the image from a pixel of a component. */
static float distance_to(const occlusive *it, const occlusive_floats *at, const float *table,
                         int pixel, size_t own) {
  const size_t row = (size_t)(pixel % it->height), col = (size_t)(pixel / it->height);
  float sum = 0;
  for (size_t c = 0; c < (size_t)it->n_channels; c++) {
    const float deviation =
        at->data[row + at->stride * col + at->n_plane * c] - table[own + at->n_window * (c + 1)];
    sum += deviation * deviation;
  }
  return sum;
}

/* Of several draws of a component and one of its pixels, by its mask, that which looks most like
 * the pixel of the image: where the component would have to stand. */
static int draw_latent(const occlusive *it, const occlusive_floats *at, const float *tables,
                       int pixel, gps_rng *rng) {
  float best = HUGE_VALF;
  int latent = gps_rng_index(rng, (int)it->n_pixels * it->n_components);
  for (int i = 0; i < N_TRIES; i++) {
    const int component = gps_rng_index(rng, it->n_components);
    const int row = gps_rng_index(rng, it->n_rows), col = gps_rng_index(rng, it->n_cols);
    const float *table = tables + at->n_table * (size_t)component;
    const size_t own = (size_t)row + at->lanes * (size_t)col;
    if (gps_rng_uniform(rng) * (1 + (double)table[own]) >= (double)table[own]) continue;
    const float distance = distance_to(it, at, table, pixel, own);
    if (distance >= best) continue;
    const int top = (pixel % it->height - row + it->height) % it->height;
    const int left = (pixel / it->height - col + it->width) % it->width;
    best = distance;
    latent = top + it->height * left + (int)it->n_pixels * component;
  }
  return latent;
}

gps_status occlusive_propose(const gps_problem *problem, const gps_point *point, int n_given,
                             const int *given, int n_candidates, int *candidate, gps_rng *rng,
                             double *scratch) {
  const occlusive it = occlusive_of(problem);
  const occlusive_floats at = occlusive_floats_in(&it, (float *)(void *)scratch);
  const float *tables = (const float *)(const void *)problem->input[FLOATS];
  (void)point;
  double total = 0;
  if (!at.is_narrow) {
    occlusive_float_given(&it, &at, tables, n_given, given);
    total = sum_clutter(&it, &at);
  }
  for (int i = 0; i < n_candidates; i++) {
    const float u = (float)(gps_rng_uniform(rng) * total);
    candidate[i] =
        total > 0 ? draw_latent(&it, &at, tables, find_pixel(at.chance, (int)it.n_pixels, u), rng)
                  : gps_rng_index(rng, problem->shape.n_latents);
  }
  return GPS_OK;
}
