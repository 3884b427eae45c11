/* Small pieces of gathering candidates for screening. Called by screen.c. */
#include "candidates.h"

#include <string.h>

/* A neighbour on the grid lies at most so far away in either direction. */
#define REACH 2

int candidate_table_bits(int capacity) {
  int bits = 4;
  while (((size_t)1 << bits) < 2 * (size_t)capacity) bits++;
  return bits;
}

void candidate_table_clear(int *table, int bits) {
  memset(table, 0xff, ((size_t)1 << bits) * sizeof *table);
}

int candidate_is_new(int *table, int bits, int latent) {
  const uint32_t mask = ((uint32_t)1 << bits) - 1;
  uint32_t at = ((uint32_t)latent * 0x9E3779B1u) >> (32 - bits);
  for (; table[at] >= 0; at = (at + 1) & mask) {
    if (table[at] == latent) return 0;
  }
  table[at] = latent;
  return 1;
}

int candidate_neighbour(int latent, gps_grid grid, gps_rng *rng) {
  const int width = 2 * REACH + 1, n = width * width - 1;
  int step = gps_rng_index(rng, n);
  if (step >= n / 2) step++;
  const int size = grid.height * grid.width, location = latent % size;
  const int down = step % width - REACH, right = step / width - REACH;
  const int row = (location % grid.height + down + REACH * grid.height) % grid.height;
  const int column = (location / grid.height + right + REACH * grid.width) % grid.width;
  return latent - location + row + grid.height * column;
}
