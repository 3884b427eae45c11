/* The fold tree over blocks: pairs of equal size are added as soon as both exist, the rest from the
 * right. Called by r_estep.c, on the main thread. */
#include "blocks.h"

#include <string.h>

int fold_levels(size_t n_blocks) {
  int n_levels = 1;
  while (((size_t)1 << n_levels) <= n_blocks) n_levels++;
  return n_levels;
}

void fold_begin(gps_fold *fold, double *storage, int n_levels, size_t length) {
  fold->length = length;
  fold->n_levels = n_levels;
  for (int k = 0; k < n_levels; k++) {
    fold->level[k] = storage + (size_t)k * length;
    fold->is_full[k] = 0;
  }
}

/* into <- left + into; the earlier blocks stand left. */
static void add_left(double *into, const double *left, size_t length) {
  for (size_t i = 0; i < length; i++) into[i] = left[i] + into[i];
}

void fold_push(gps_fold *fold, double *result) {
  int k = 0;
  for (; fold->is_full[k]; k++) {
    add_left(result, fold->level[k], fold->length);
    fold->is_full[k] = 0;
  }
  memcpy(fold->level[k], result, fold->length * sizeof *result);
  fold->is_full[k] = 1;
}

void fold_end(gps_fold *fold, double *total) {
  memset(total, 0, fold->length * sizeof *total);
  int is_first = 1;
  for (int k = 0; k < fold->n_levels; k++) {
    if (!fold->is_full[k]) continue;
    if (is_first) {
      memcpy(total, fold->level[k], fold->length * sizeof *total);
    } else {
      add_left(total, fold->level[k], fold->length);
    }
    is_first = 0;
  }
}
