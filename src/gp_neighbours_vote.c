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

/* One point's list; `place` says where a latent stands in it. SIZE_MAX: a latent is none. */
static size_t vote_point(const gp_voters *voters, const gp_local_targets *targets, size_t column,
                         int *latent, double *affinity, int *place) {
  const size_t n_near = count_near(voters, column), n_slots = targets->n_slots;
  const int *near = voters->near + column * voters->n_near;
  const double *weights = voters->weights + column * voters->n_near;
  size_t n = 0;
  int is_sound = 1;
  for (size_t j = 0; j < n_near && is_sound; j++) {
    const int *slot = targets->selected + (size_t)near[j] * n_slots;
    const double *prob = targets->prob + (size_t)near[j] * n_slots, weight = weights[j];
    for (size_t i = 0; i < n_slots; i++) {
      if (slot[i] <= 0 || prob[i] == 0.0) continue;
      is_sound = (size_t)slot[i] <= targets->n_targets;
      if (!is_sound) break;
      int at = place[slot[i] - 1];
      if (at < 0) {
        at = place[slot[i] - 1] = (int)n;
        latent[n] = slot[i];
        affinity[n++] = 0.0;
      }
      affinity[at] += weight * prob[i];
    }
  }
  for (size_t k = 0; k < n; k++) place[latent[k] - 1] = -1;
  return is_sound ? n : SIZE_MAX;
}

size_t gp_vote_slots(const gp_voters *voters, const gp_local_targets *targets,
                     const gp_lists *lists, int *place) {
  const int n_threads = voters->n_threads;
  const size_t most = targets->n_slots * voters->n_near;
  size_t longest = 0;
#pragma omp parallel for num_threads(n_threads) schedule(static) reduction(max : longest)
  for (int t = 0; t < n_threads; t++) {
    const size_t from = voters->n * (size_t)t / (size_t)n_threads;
    const size_t end = voters->n * (size_t)(t + 1) / (size_t)n_threads;
    size_t at = from * most;
    for (size_t i = from; i < end; i++) {
      const size_t n = vote_point(voters, targets, i, lists->latent + at, lists->affinity + at,
                                  place + targets->n_targets * (size_t)t);
      longest = n > longest ? n : longest;
      if (n == SIZE_MAX) break;
      lists->first[i] = at;
      lists->n[i] = n;
      at += n;
    }
  }
  return longest;
}

void gp_lay_lists(const gp_lists *lists, size_t n_lists, size_t length, int *latent,
                  double *affinity) {
  for (size_t i = 0; i < n_lists; i++) {
    const size_t from = lists->first[i], n = lists->n[i], at = i * length;
    memcpy(latent + at, lists->latent + from, n * sizeof *latent);
    memcpy(affinity + at, lists->affinity + from, n * sizeof *affinity);
    memset(latent + at + n, 0, (length - n) * sizeof *latent);
    memset(affinity + at + n, 0, (length - n) * sizeof *affinity);
  }
}
