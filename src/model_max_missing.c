/* Missing cells of model C. Given a state and its values all that is missing is known but its
 * noise. Called by model_max_spike_slab.c. */
#include "model_max_missing.h"

#include "model_max_spike_slab.h"
#include "model_sparse.h"

size_t max_missing_scratch(const gps_problem *problem) {
  return problem->missing ? 3 * (size_t)problem->shape.n_dims : 0;
}

/* Where nothing is there one dimension is left that nobody can win: one without a weight. */
void max_leave_missing(const gps_point *point, max_latent *law, double *gathered) {
  const size_t n_dims = law->n_dims;
  double *y = gathered, *w = y + n_dims, *others = w + n_dims;
  size_t n = 0;
  for (size_t d = 0; d < n_dims; d++) {
    if (!point->observed[d]) continue;
    y[n] = law->y[d];
    w[n] = law->w[d];
    others[n] = law->others ? law->others[d] : 0;
    n++;
  }
  if (n == 0) y[n] = w[n] = others[n] = 0;
  law->n_dims = n > 0 ? n : 1;
  law->y = y;
  law->w = w;
  law->others = law->others ? others : NULL;
}

double max_add_point(const gps_problem *problem, const gps_point *point, double *const *stats) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const double *centre = problem->input[CENTRE];
  const double weight = gps_weight_of(problem, (size_t)point->index);
  double *sum = stats[DATA_SUM], *square = stats[DATA_SQUARE];
  stats[COUNT][0] += weight;
  if (!max_has_intercept(problem)) {
    *square += weight * problem->input[Y_SQUARE][point->index];
  } else if (point->observed) {
    *square += sparse_add_observed(point->y, centre, point->observed, weight, n_dims, sum);
  } else {
    *square += sparse_add_deviation(point->y, centre, weight, n_dims, sum);
  }
  return weight;
}

static double intercept_of(const gps_problem *problem, size_t d) {
  return max_has_intercept(problem) ? problem->input[INTERCEPT][d] : 0;
}

/* What a cell without anything on is from where the statistics have their centre. */
static double base_of(const gps_problem *problem, size_t d) {
  return max_has_intercept(problem) ? problem->input[INTERCEPT][d] - problem->input[CENTRE][d] : 0;
}

void max_add_missing(const gps_problem *problem, const gps_point *point, const double *value,
                     double weight, const double *reached, const double *winner,
                     double *const *stats) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const int n_missing = gps_n_missing(problem, point->index);
  const int *missing = gps_missing_of(problem, point->index);
  for (int i = 0; i < n_missing; i++) {
    const size_t d = (size_t)missing[i];
    const double mean = base_of(problem, d) + reached[d];
    stats[DATA_SQUARE][0] += weight * (mean * mean + problem->input[SIGMA2][0]);
    if (max_has_intercept(problem)) stats[DATA_SUM][d] += weight * mean;
    if (winner[d] < 0) continue;
    const size_t slot = (size_t)winner[d], latent = (size_t)point->latent[slot];
    stats[WON_DATA][d + latent * n_dims] +=
        weight * value[slot] * (intercept_of(problem, d) + reached[d]);
  }
}

void max_add_missing_base(const gps_problem *problem, const gps_point *point,
                          double *const *stats) {
  const int n_missing = gps_n_missing(problem, point->index);
  const int *missing = gps_missing_of(problem, point->index);
  const double weight = gps_weight_of(problem, (size_t)point->index);
  for (int i = 0; i < n_missing; i++) {
    const double base = base_of(problem, (size_t)missing[i]);
    stats[DATA_SQUARE][0] += weight * (base * base + problem->input[SIGMA2][0]);
    if (max_has_intercept(problem)) stats[DATA_SUM][missing[i]] += weight * base;
  }
}

void max_add_missing_single(const gps_problem *problem, const gps_point *point, int latent,
                            double prob, const double *moment, double *const *stats) {
  const size_t n_dims = (size_t)problem->shape.n_dims, column = (size_t)latent * n_dims;
  const int n_missing = gps_n_missing(problem, point->index);
  const int *missing = gps_missing_of(problem, point->index);
  for (int i = 0; i < n_missing; i++) {
    const size_t d = (size_t)missing[i];
    const double w = problem->input[W][d + column];
    if (w == 0) continue;
    const double first = moment[w > 0 ? FIRST_ABOVE : FIRST_BELOW];
    const double square = w * moment[w > 0 ? SECOND_ABOVE : SECOND_BELOW];
    stats[WON_DATA][d + column] += prob * (intercept_of(problem, d) * first + square);
    stats[DATA_SQUARE][0] += prob * w * (2 * base_of(problem, d) * first + square);
    if (max_has_intercept(problem)) stats[DATA_SUM][d] += prob * w * first;
  }
}
