/* Fixed blocks of data points and the tree that adds their results: the same bits for any number of
 * threads, waves or shards. Pure: no allocation. Used by the E-step's shell;
 * R/data-blocks.R folds whole blocks by the same tree. */
#ifndef GPSELECT_BLOCKS_H
#define GPSELECT_BLOCKS_H

#include <stddef.h>

#define GPS_BLOCK_POINTS 512
#define GPS_MAX_LEVELS 48

/* A binary counter of partial sums: level k holds the sum of 2^k consecutive blocks, or nothing. */
typedef struct {
  size_t length;                 /* doubles in one result */
  double *level[GPS_MAX_LEVELS]; /* storage [length] each, given by the caller */
  int is_full[GPS_MAX_LEVELS];
  int n_levels;
} gps_fold;

/* Levels that a fold of n_blocks needs. */
int fold_levels(size_t n_blocks);

/* Start an empty fold on storage [n_levels x length]. */
void fold_begin(gps_fold *fold, double *storage, int n_levels, size_t length);

/* Add the next block's result [length], in order of block number; `result` is used up. */
void fold_push(gps_fold *fold, double *result);

/* Sum of everything pushed, into total [length]; zero where nothing was pushed. */
void fold_end(gps_fold *fold, double *total);

#endif
