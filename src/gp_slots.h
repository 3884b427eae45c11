/* Targets that are nearly all 0: of each point a few. */
#ifndef GPSELECT_GP_SLOTS_H
#define GPSELECT_GP_SLOTS_H

#include <stddef.h>

/* Latents from 1, 0 is an empty slot. */
typedef struct {
  size_t n_slots, n_latents;
  const int *selected; /* [n_slots x n_points] */
  const double *prob;  /* [n_slots x n_points] */
} gp_slots;

#endif
