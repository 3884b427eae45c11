/* .Call entry of the pairs of points whose distances are in the middle of all. */
#include <R_ext/Utils.h>

#include "r_gp.h"

/* More have more pairs than an int counts. */
#define MOST_POINTS 46340

typedef struct {
  size_t n;
  const double *sq;   /* [n] squared norms */
  const double *gram; /* [n x n] inner products */
  double low, high;
} pair_band;

static double square_distance(const pair_band *band, size_t i, size_t j) {
  return (band->sq[i] + band->sq[j]) - 2.0 * band->gram[i + j * band->n];
}

/* Numbers of the two in the middle of all squared distances, the same for an odd count. */
static void find_middle(const pair_band *band, double *middle) {
  const size_t n_pairs = band->n * (band->n - 1) / 2, at = (n_pairs - 1) / 2;
  double *pairs = alloc_doubles(n_pairs, 1);
  size_t k = 0;
  for (size_t j = 0; j < band->n; j++)
    for (size_t i = j + 1; i < band->n; i++) pairs[k++] = square_distance(band, i, j);
  rPsort(pairs, (int)n_pairs, (int)at);
  middle[0] = middle[1] = pairs[at];
  if (n_pairs % 2 == 1) return;
  middle[1] = pairs[at + 1];
  for (k = at + 2; k < n_pairs; k++)
    if (pairs[k] < middle[1]) middle[1] = pairs[k];
}

/* How many pairs are within the band, and below it. */
static void count_pairs(const pair_band *band, size_t *n_within, size_t *n_below) {
  *n_within = *n_below = 0;
  for (size_t j = 0; j < band->n; j++) {
    for (size_t i = j + 1; i < band->n; i++) {
      const double distance = square_distance(band, i, j);
      *n_below += distance < band->low;
      *n_within += distance >= band->low && distance <= band->high;
    }
  }
}

/* Points of the pairs within the band [2 x any], from 1, and their squared distances. */
static void list_pairs(const pair_band *band, int *points, double *value) {
  for (size_t j = 0; j < band->n; j++) {
    for (size_t i = j + 1; i < band->n; i++) {
      const double distance = square_distance(band, i, j);
      if (!(distance >= band->low && distance <= band->high)) continue;
      *points++ = (int)j + 1;
      *points++ = (int)i + 1;
      *value++ = distance;
    }
  }
}

/* Squared norms sq [n] and inner products gram [n x n] of points -> list(middle, n_below, points,
 * value): the two squared distances in the middle, the pairs within `width` of these, and how many
 * are below them. */
SEXP r_gp_middle(SEXP sq, SEXP gram, SEXP width) {
  static const char *const names[] = {"middle", "n_below", "points", "value"};
  const int n = n_cols_of(gram, "gram");
  const double beside = view_number(width, "width");
  pair_band band = {(size_t)n, view_doubles(sq, n, "sq"), view_matrix(gram, n, n, "gram"), 0, 0};
  if (n < 2 || n > MOST_POINTS)
    raise_error("argument", "%d points have no distances, or too many.", n);
  size_t n_within, n_below;
  const SEXP result = PROTECT(new_named_list(4, names));
  double *middle = hang_doubles(result, 0, 2);
  find_middle(&band, middle);
  band.low = middle[0] - beside;
  band.high = middle[1] + beside;
  count_pairs(&band, &n_within, &n_below);
  *hang_doubles(result, 1, 1) = (double)n_below;
  int *points = hang_int_matrix(result, 2, 2, (int)n_within);
  list_pairs(&band, points, hang_doubles(result, 3, (R_xlen_t)n_within));
  UNPROTECT(1);
  return result;
}
