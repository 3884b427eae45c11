/* Which latents stand beside which: learned from what screening computes anyway. Called by
 * r_select.c. */
#include <string.h>

#include "screen.h"
#include "vector_math.h"

/* What is told of points of one latent lies anywhere, and is asked for so many points ahead. */
#define POINTS_AHEAD 8

size_t screen_beside_ints(int n_latents, size_t n_points) {
  return 2 * (size_t)n_latents + 1 + n_points;
}

/* Points by their best latents: those of latent h are point[first[h]] .. before first[h + 1]. */
static void sort_points(int n_latents, const int *ranked, int n_ranked, size_t n_points, int *first,
                        int *point) {
  memset(first, 0, ((size_t)n_latents + 1) * sizeof *first);
  for (size_t n = 0; n < n_points; n++) {
    if (ranked[n * (size_t)n_ranked] > 0) first[ranked[n * (size_t)n_ranked]]++;
  }
  for (int h = 0; h < n_latents; h++) first[h + 1] += first[h];
  for (size_t n = 0; n < n_points; n++) {
    const int best = ranked[n * (size_t)n_ranked];
    if (best > 0) point[first[best - 1]++] = (int)n;
  }
  memmove(first + 1, first, (size_t)n_latents * sizeof *first);
  first[0] = 0;
}

/* The sums of one latent, of which those of `met` [n] are not 0; the largest are kept, of equal
 * ones those of smaller number. */
static void keep_largest(const double *sum, const int *met, int n, int n_kept, int *latent,
                         double *weight) {
  int n_held = 0;
  for (int i = 0; i < n; i++) {
    const double x = sum[met[i]];
    int at = n_held;
    if (n_held == n_kept) {
      if (x < weight[at - 1] || (x == weight[at - 1] && met[i] > latent[at - 1] - 1)) continue;
      at--;
    } else {
      n_held++;
    }
    for (; at > 0 && (weight[at - 1] < x || (weight[at - 1] == x && latent[at - 1] - 1 > met[i]));
         at--) {
      weight[at] = weight[at - 1];
      latent[at] = latent[at - 1];
    }
    weight[at] = x;
    latent[at] = met[i] + 1;
  }
  for (; n_held < n_kept; n_held++) {
    weight[n_held] = 0.0;
    latent[n_held] = 0;
  }
}

void screen_learn_beside(const screen_beside *beside, double kept, const int *ranked, int n_ranked,
                         size_t n_points, double *scratch, int *ints) {
  const int n_latents = beside->n_latents, n_kept = beside->n_kept;
  int *first = ints, *point = first + n_latents + 1, *met = point + n_points;
  sort_points(n_latents, ranked, n_ranked, n_points, first, point);
  for (int h = 0; h < n_latents; h++) {
    int n = 0;
    int *latent = beside->latent + (size_t)h * (size_t)n_kept;
    double *weight = beside->weight + (size_t)h * (size_t)n_kept;
    for (int k = 0; k < n_kept && latent[k] > 0; k++) {
      scratch[latent[k] - 1] = kept * weight[k];
      if (scratch[latent[k] - 1] > 0.0) met[n++] = latent[k] - 1;
    }
    for (int i = first[h]; i < first[h + 1]; i++) {
      if (i + POINTS_AHEAD < first[n_latents]) {
        const int *ahead = ranked + (size_t)point[i + POINTS_AHEAD] * (size_t)n_ranked;
        GPS_PREFETCH(ahead);
        GPS_PREFETCH(ahead + n_ranked - 1);
      }
      const int *other = ranked + (size_t)point[i] * (size_t)n_ranked;
      for (int r = 1; r < n_ranked && other[r] > 0; r++) {
        const int neighbour = other[r] - 1;
        if (scratch[neighbour] == 0.0) met[n++] = neighbour;
        scratch[neighbour] += 1.0 / (r + 1);
      }
    }
    keep_largest(scratch, met, n, n_kept, latent, weight);
    for (int i = 0; i < n; i++) scratch[met[i]] = 0.0;
  }
}
