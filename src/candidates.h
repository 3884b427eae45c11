/* Small pieces of gathering candidates for screening: a table that tells which latents are already
 * among them, and neighbours on a grid. Pure: any thread, no allocation. */
#ifndef GPSELECT_CANDIDATES_H
#define GPSELECT_CANDIDATES_H

#include <stddef.h>

#include "gpselect/rng.h"

/* The grid that a group of latents is laid out on, row fastest; 1 x 1 where there are no groups. */
typedef struct {
  int height, width;
} gps_grid;

/* Bits of the number of places in a table of so many latents: at least twice as many places. */
int candidate_table_bits(int capacity);

void candidate_table_clear(int *table, int bits);

/* Whether a latent is new to the table, where it is noted then. */
int candidate_is_new(int *table, int bits, int latent);

/* A uniform neighbour of a latent on the cyclic grid of its group. */
int candidate_neighbour(int latent, gps_grid grid, gps_rng *rng);

#endif
