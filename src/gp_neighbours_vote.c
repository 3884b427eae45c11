/* Predictions from the weights of neighbours: each point costs as many additions as its neighbours
 * have targets, or slots. Called by r_gp_neighbours.c. */
#include <stdint.h>
#include <string.h>

#include "gp_neighbours.h"

static size_t count_near(const gp_voters *voters, size_t column) {
  const int *near = voters->near + column * voters->n_near;
  size_t n = 0;
  while (n < voters->n_near && near[n] >= 0) n++;
  return n;
}

void gp_vote_dense(const gp_voters *voters, size_t n_targets, const double *targets, double *mean) {
#pragma omp parallel for num_threads(voters->n_threads) schedule(static)
  for (int i = 0; i < (int)voters->n; i++) {
    const size_t column = (size_t)i, n = count_near(voters, column);
    const int *near = voters->near + column * voters->n_near;
    const double *weights = voters->weights + column * voters->n_near;
    double *out = mean + (size_t)i * n_targets;
    memset(out, 0, n_targets * sizeof *out);
    for (size_t j = 0; j < n; j++) {
      const double *target = targets + (size_t)near[j] * n_targets;
      for (size_t h = 0; h < n_targets; h++) out[h] += weights[j] * target[h];
    }
  }
}

/* One point's list; `place` says where a latent stands in it. */
static size_t vote_point(const gp_voters *voters, const gp_local_targets *targets, size_t column,
                         size_t capacity, int *latent, double *affinity, int *place) {
  const size_t n_near = count_near(voters, column), n_slots = targets->n_slots;
  const int *near = voters->near + column * voters->n_near;
  const double *weights = voters->weights + column * voters->n_near;
  size_t n = 0, n_beyond = 0;
  for (size_t j = 0; j < n_near; j++) {
    const int *slot = targets->selected + (size_t)near[j] * n_slots;
    const double *prob = targets->prob + (size_t)near[j] * n_slots, weight = weights[j];
    for (size_t i = 0; i < n_slots; i++) {
      if (slot[i] <= 0 || prob[i] == 0.0) continue;
      if ((size_t)slot[i] > targets->n_targets) {
        n_beyond = SIZE_MAX - n;
        break;
      }
      int at = place[slot[i] - 1];
      if (at < 0) {
        if (n == capacity) {
          n_beyond += n_beyond < SIZE_MAX - n;
          continue;
        }
        at = place[slot[i] - 1] = (int)n;
        latent[n] = slot[i];
        affinity[n++] = 0.0;
      }
      affinity[at] += weight * prob[i];
    }
  }
  for (size_t k = 0; k < n; k++) place[latent[k] - 1] = -1;
  memset(latent + n, 0, (capacity - n) * sizeof *latent);
  memset(affinity + n, 0, (capacity - n) * sizeof *affinity);
  return n + n_beyond;
}

size_t gp_vote_slots(const gp_voters *voters, const gp_local_targets *targets, size_t capacity,
                     int *latent, double *affinity, int *place) {
  const int n_threads = voters->n_threads;
  size_t longest = 0;
#pragma omp parallel for num_threads(n_threads) schedule(static) reduction(max : longest)
  for (int t = 0; t < n_threads; t++) {
    const size_t end = voters->n * (size_t)(t + 1) / (size_t)n_threads;
    for (size_t i = voters->n * (size_t)t / (size_t)n_threads; i < end; i++) {
      const size_t n = vote_point(voters, targets, i, capacity,
                                  latent + i * capacity, affinity + i * capacity,
                                  place + targets->n_targets * (size_t)t);
      longest = n > longest ? n : longest;
    }
  }
  return longest;
}
