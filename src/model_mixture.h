/* What mixtures share, whatever their clusters are. */
#ifndef GPSELECT_MODEL_MIXTURE_H
#define GPSELECT_MODEL_MIXTURE_H

#include <stddef.h>

/* pi = on / count, the exact maximiser under pi_c >= floor: the clusters at the floor keep it, the
 * others share the rest in proportion. *raised counts where the floor acts. */
static inline void mixture_update_pi(size_t n_clusters, const double *on, double floor, double *pi,
                                     int *raised) {
  double free_mass = 1, free_on = 0;
  for (size_t c = 0; c < n_clusters; c++) {
    pi[c] = -1;
    free_on += on[c];
  }
  for (int changed = 1; changed;) {
    changed = 0;
    for (size_t c = 0; c < n_clusters; c++) {
      if (pi[c] > 0 || on[c] * free_mass >= floor * free_on) continue;
      pi[c] = floor;
      free_mass -= floor;
      free_on -= on[c];
      changed = 1;
      ++*raised;
    }
  }
  for (size_t c = 0; c < n_clusters; c++) {
    if (pi[c] < 0) pi[c] = on[c] / free_on * free_mass;
  }
}

#endif
