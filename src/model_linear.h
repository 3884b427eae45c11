/* What models with the mean b + W x and independent noise share, x being binary (model A) or binary
 * times a value (model B): what they prepare, and their M-step of W, sigma2 and pi. */
#ifndef GPSELECT_MODEL_LINEAR_H
#define GPSELECT_MODEL_LINEAR_H

#include "gpselect/model.h"
#include "vector_math.h"

/* Parameters; prob [1 if shared, else H]; intercept b [D], NULL: 0. */
typedef struct {
  const double *w, *prob, *sigma2, *intercept;
  int is_shared;
} linear_params;

/* Where a model has them among its inputs. */
typedef struct {
  int w, prob, sigma2, intercept, shared_prob;
} linear_places;

static inline linear_params linear_view(const gps_problem *problem, const linear_places *at) {
  const linear_params params = {problem->input[at->w], problem->input[at->prob],
                                problem->input[at->sigma2], problem->input[at->intercept],
                                problem->input[at->shared_prob][0] != 0};
  return params;
}

/* What is prepared, in this order: gram = W'W [H x H]; proj = W'(y - b) [H x n]; prior [H + 1] =
 * logit(pi_h), then the log joint of the empty state without its data term; y_square [n] =
 * |y - b|^2. Main thread. */
extern const gps_array linear_prepared_list[];
void linear_prepare(const gps_problem *problem, const linear_params *params, const double *y,
                    double *const *prepared);

/* proj [H x n] += W'y of sparse data. Any thread. */
void linear_project(const gps_sparse *data, const double *w, size_t n_dims, size_t n_latents,
                    size_t n_points, double *proj);

/* Sums over data points: x x' as its upper triangle [H x H], y x' [D x H]. With an intercept
 * data_square is about the centre c [D], and there are x [H] and y - c [D]; NULL without one. */
typedef struct {
  const double *count, *data_square, *on, *second, *cross;
  const double *first, *data_sum, *centre;
} linear_stats;

/* Adds what a data point has whatever is on, times its weight. */
void linear_add_point(const gps_problem *problem, const gps_point *point, const double *y_square,
                      const double *centre, double *count, double *data_square, double *data_sum);

/* Counts that the M-step adds to; they stand first among a model's events. */
enum { LINEAR_EVENT_SIGMA2, LINEAR_EVENT_PI, LINEAR_EVENT_RIDGE, LINEAR_EVENTS };
#define LINEAR_EVENT_NAMES "sigma2_floor", "pi_clamped", "ridge"

/* Parameters that the M-step writes; intercept NULL where there is none. */
typedef struct {
  double *w, *prob, *sigma2, *intercept;
} linear_result;

/* The joint maximiser in W, the intercept, sigma2 >= lowest_sigma2 and pi within its limits. Main
 * thread. */
size_t linear_mstep_scratch(const gps_problem *problem);
gps_status linear_mstep(const gps_problem *problem, const linear_params *old,
                        const linear_stats *stats, double lowest_sigma2,
                        const linear_result *result, int *events, double *scratch);

/* What a point's response begins with, where nothing is on: b [D], or 0 where that is NULL. */
static inline void begin_response(const double *intercept, size_t n_dims, double *response) {
  for (size_t d = 0; d < n_dims; d++) response[d] = intercept ? intercept[d] : 0;
}

/* into [n] += factor * x [n] */
GPS_INLINE void add_scaled(double *into, const double *x, double factor, size_t n) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) into[i] += factor * x[i];
}

#endif
