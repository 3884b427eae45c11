/* Preparation and M-step of models with a linear mean, A and B of the paper's section 4.1. Called
 * by model_binary_sparse.c and model_spike_slab.c. */
#include "model_linear.h"

#include <string.h>

#include "linalg.h"
#include "model_sparse.h"

/* Weight of the old W in the W step, relative to the mean diagonal of sum <x x'>: keeps dead
 * components in place. */
#define PROXIMAL 1e-12

/* Latents outside, so that the columns of W that are looked up stay in the cache. */
#define TOGETHER 4

GPS_CLONES void linear_project(const gps_sparse *data, const double *w, size_t n_dims,
                               size_t n_latents, size_t n_points, double *proj) {
  for (size_t h = 0; h < n_latents; h += TOGETHER) {
    const size_t n_columns = n_latents - h < TOGETHER ? n_latents - h : TOGETHER;
    for (size_t n = 0; n < n_points; n++) {
      double sum[TOGETHER] = {0};
      for (int e = data->start[n]; e < data->start[n + 1]; e++) {
        const double *at = w + (size_t)data->row[e] + h * n_dims;
        for (size_t k = 0; k < n_columns; k++) sum[k] += at[k * n_dims] * data->value[e];
      }
      for (size_t k = 0; k < n_columns; k++) proj[h + k + n * n_latents] += sum[k];
    }
  }
}

/* The same column -W'b [H] for each of n points. */
static void begin_projection(const double *w, const double *intercept, size_t n_dims,
                             size_t n_latents, size_t n_points, double *proj) {
  if (intercept == NULL) {
    memset(proj, 0, n_latents * n_points * sizeof *proj);
    return;
  }
  if (n_points == 0) return;
  linalg_gemm('T', 'N', n_latents, 1, n_dims, -1, w, n_dims, intercept, n_dims, 0, proj, n_latents);
  for (size_t n = 1; n < n_points; n++)
    memcpy(proj + n * n_latents, proj, n_latents * sizeof *proj);
}

/* proj [H x n] += W_d b_d over the missing cells d, whose zeros were taken for y_d = 0. */
static void restore_missing(const gps_problem *problem, const double *w, const double *intercept,
                            double *proj) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  for (size_t h = 0; h < n_latents; h++) {
    const double *column = w + h * n_dims;
    for (int n = 0; n < problem->n_points; n++) {
      const int *missing = gps_missing_of(problem, n), n_missing = gps_n_missing(problem, n);
      double sum = 0;
      for (int i = 0; i < n_missing; i++) sum += column[missing[i]] * intercept[missing[i]];
      proj[h + (size_t)n * n_latents] += sum;
    }
  }
}

enum { GRAM, PROJ, PRIOR, Y_SQUARE };
const gps_array linear_prepared_list[] = {{"gram", "latents latents", GPS_NEEDED},
                                          {"proj", "latents points", GPS_NEEDED},
                                          {"prior", "priors", GPS_NEEDED},
                                          {"y_square", "points", GPS_NEEDED},
                                          GPS_END};

void linear_prepare(const gps_problem *problem, const linear_params *params, const double *y,
                    double *const *prepared) {
  double *const gram = prepared[GRAM], *const proj = prepared[PROJ];
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  const size_t n_points = (size_t)problem->n_points;
  const double *w = params->w, *intercept = params->intercept;
  linalg_gemm('T', 'N', n_latents, n_latents, n_dims, 1, w, n_dims, w, n_dims, 0, gram, n_latents);
  if (problem->sparse || intercept) {
    begin_projection(w, intercept, n_dims, n_latents, n_points, proj);
  }
  if (problem->sparse) {
    linear_project(problem->sparse, w, n_dims, n_latents, n_points, proj);
  } else {
    linalg_gemm('T', 'N', n_latents, n_points, n_dims, 1, w, n_dims, y, n_dims, intercept != NULL,
                proj, n_latents);
  }
  if (problem->missing && intercept) restore_missing(problem, w, intercept, proj);
  sparse_prepare(problem, w, params->prob, params->is_shared, params->sigma2[0], intercept, y,
                 prepared[PRIOR], prepared[Y_SQUARE]);
}

void linear_add_point(const gps_problem *problem, const gps_point *point, const double *y_square,
                      const double *centre, double *count, double *data_square, double *data_sum) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const double weight = gps_weight_of(problem, (size_t)point->index);
  *count += weight;
  if (centre == NULL) {
    *data_square += weight * y_square[point->index];
  } else if (point->observed) {
    *data_square +=
        sparse_add_observed(point->y, centre, point->observed, weight, n_dims, data_sum);
  } else {
    *data_square += sparse_add_deviation(point->y, centre, weight, n_dims, data_sum);
  }
}

/* Second moments [H x H] and right-hand side [H x D], twice: what is solved, and the statistics
 * about their means. */
static size_t step_scratch(const gps_problem *problem) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  return n_latents * n_latents + n_latents * n_dims;
}

size_t linear_mstep_scratch(const gps_problem *problem) { return 2 * step_scratch(problem) + 1; }

/* Both triangles, from the upper one. */
static void fill_second(const double *upper, size_t n_latents, double *second) {
  for (size_t k = 0; k < n_latents; k++) {
    for (size_t j = 0; j <= k; j++) {
      second[j + k * n_latents] = second[k + j * n_latents] = upper[j + k * n_latents];
    }
  }
}

/* W = (Y<X>' + eps W_old) (sum <x x'> + eps I)^-1. eps grows tenfold until the matrix can be
 * factored. */
static gps_status update_w(const gps_problem *problem, const double *old_w,
                           const linear_stats *stats, double *w, int *events, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  double *second = scratch, *rhs = scratch + n_latents * n_latents;
  const double trace = linalg_trace(n_latents, stats->second);
  double eps = PROXIMAL * (trace > 0 ? trace / (double)n_latents : 1);
  for (int attempt = 0; attempt < 10; attempt++, eps *= 10) {
    fill_second(stats->second, n_latents, second);
    for (size_t h = 0; h < n_latents; h++) {
      second[h * (n_latents + 1)] += eps;
      for (size_t d = 0; d < n_dims; d++) {
        const size_t at = d + h * n_dims;
        rhs[h + d * n_latents] = stats->cross[at] + eps * old_w[at];
      }
    }
    if (linalg_solve_spd(n_latents, second, n_dims, rhs) != GPS_OK) {
      events[LINEAR_EVENT_RIDGE]++;
      continue;
    }
    for (size_t h = 0; h < n_latents; h++) {
      for (size_t d = 0; d < n_dims; d++) w[d + h * n_dims] = rhs[h + d * n_latents];
    }
    return GPS_OK;
  }
  return GPS_NOT_POSDEF;
}

/* Expected squared error of the new W: yy - 2 tr(W'YX) + tr(W M W'), the form that holds with a
 * proximal W too. */
static double residual_square(const gps_problem *problem, const linear_stats *stats,
                              const double *w, double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  double *second = scratch, *product = scratch + n_latents * n_latents;
  fill_second(stats->second, n_latents, second);
  linalg_gemm('N', 'N', n_dims, n_latents, n_latents, 1, w, n_dims, second, n_latents, 0, product,
              n_dims);
  double sum = stats->data_square[0];
  for (size_t i = 0; i < n_dims * n_latents; i++) sum += w[i] * (product[i] - 2 * stats->cross[i]);
  return sum;
}

/* Sums about the means of y and of x, from which the best intercept has been taken out: it stands
 * like a latent that is always on. In scratch; residuals about a plane do not see where it lies. */
static linear_stats centre_stats(const gps_problem *problem, const linear_stats *stats,
                                 double *scratch) {
  const size_t n_dims = (size_t)problem->shape.n_dims, n_latents = (size_t)problem->shape.n_latents;
  const double count = stats->count[0];
  double *second = scratch, *cross = second + n_latents * n_latents;
  double *square = cross + n_latents * n_dims;
  for (size_t k = 0; k < n_latents; k++) {
    const double mean = stats->first[k] / count;
    for (size_t j = 0; j <= k; j++) {
      const size_t at = j + k * n_latents;
      second[at] = stats->second[at] - stats->first[j] * mean;
    }
    for (size_t d = 0; d < n_dims; d++) {
      const size_t at = d + k * n_dims;
      cross[at] =
          stats->cross[at] - (stats->centre[d] + stats->data_sum[d] / count) * stats->first[k];
    }
  }
  *square = stats->data_square[0];
  for (size_t d = 0; d < n_dims; d++) *square -= stats->data_sum[d] * stats->data_sum[d] / count;
  const linear_stats centred = {stats->count, square, stats->on, second, cross, NULL, NULL, NULL};
  return centred;
}

/* b = mean of y - W mean of x. */
static void update_intercept(const gps_problem *problem, const linear_stats *stats, const double *w,
                             double *intercept) {
  const size_t n_dims = (size_t)problem->shape.n_dims;
  const double count = stats->count[0];
  for (size_t d = 0; d < n_dims; d++) {
    intercept[d] = stats->centre[d] + stats->data_sum[d] / count;
  }
  for (size_t h = 0; h < (size_t)problem->shape.n_latents; h++) {
    add_scaled(intercept, w + h * n_dims, -stats->first[h] / count, n_dims);
  }
}

gps_status linear_mstep(const gps_problem *problem, const linear_params *old,
                        const linear_stats *stats, double lowest_sigma2,
                        const linear_result *result, int *events, double *scratch) {
  const double count = stats->count[0];
  const linear_stats used =
      stats->centre ? centre_stats(problem, stats, scratch + step_scratch(problem)) : *stats;
  const gps_status status = update_w(problem, old->w, &used, result->w, events, scratch);
  if (status != GPS_OK) return status;
  if (stats->centre) update_intercept(problem, stats, result->w, result->intercept);
  sparse_update_prob(problem, old->w, stats->on, count, old->is_shared, result->prob,
                     events + LINEAR_EVENT_PI);
  return sparse_update_sigma2(problem, residual_square(problem, &used, result->w, scratch), count,
                              lowest_sigma2, result->sigma2, events + LINEAR_EVENT_SIGMA2);
}
