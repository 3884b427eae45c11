/* What all Gaussian processes with features share, K ~ F'F: leave-one-out means from sums over
 * points. Leaving out a point takes its own share, of weight w, from the sums: with q = f'B^-1 f of
 * B = F F' + noise, mean = (f'B^-1 F Y' - w q y) / (1 - w q). Called by r_gp_basis.c. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "gp_basis.h"
#include "vector_math.h"

gps_status gp_transform(size_t n_features, size_t n_points, double noise, const double *gram,
                        double *transform, double *jitter, const gps_watch *watch) {
  const size_t n = n_features;
  const double trace = linalg_trace(n, gram);
  double log_det;
  if (!isfinite(trace)) return GPS_NOT_FINITE;
  *jitter = 0.0;
  for (int step = 1;; step++) {
    const double added = noise + *jitter;
    memcpy(transform, gram, n * n * sizeof *transform);
    for (size_t i = 0; i < n; i++) transform[i * (n + 1)] += added;
    const gps_status status =
        added > 0.0 ? linalg_factor_inverse(n, transform, n, 1.0 + trace / added, &log_det, watch)
                    : GPS_NOT_POSDEF;
    if (status != GPS_NOT_POSDEF) return status;
    *jitter = gp_jitter_step(step, n_points, trace / (double)n_points);
    if (!(*jitter > 0.0)) return status;
  }
}

static void turn_panel(size_t n_features, size_t width, const double *transform,
                       const double *features, double *turned) {
  if (turned != features) memcpy(turned, features, n_features * width * sizeof *turned);
  linalg_trmm('L', 'N', n_features, width, transform, n_features, turned, n_features);
}

void gp_turn(size_t n_features, size_t n_points, const double *transform, const double *features,
             double *turned, const gps_watch *watch) {
  for (size_t from = 0; from < n_points; from += GP_PANEL) {
    const size_t at = from * n_features;
    if (gps_must_stop(watch)) return;
    turn_panel(n_features, gp_panel_width(n_points, from), transform, features + at, turned + at);
  }
}

void gp_cross_slots(size_t n_features, size_t n_points, const double *features, const double *scale,
                    const gp_slots *slots, double *cross) {
  for (size_t j = 0; j < n_points; j++) {
    const double weight = scale ? 1.0 / scale[j] : 1.0;
    for (size_t i = j * slots->n_slots; i < (j + 1) * slots->n_slots; i++) {
      if (slots->selected[i] <= 0 || slots->prob[i] == 0.0) continue;
      add_multiple(n_features, weight * slots->prob[i], features + j * n_features,
                   cross + (size_t)(slots->selected[i] - 1) * n_features);
    }
  }
}

size_t gp_affinity_scratch(size_t n_features, size_t n_targets) {
  return n_features * (n_targets + GP_PANEL);
}

void gp_affinity_means(const gp_affinity_job *job, double *own, double *mean, double *scratch) {
  const size_t q = job->n_features, n = job->n_points, n_targets = job->n_targets;
  double *projected = scratch, *rotated = scratch + q * n_targets;
  memcpy(projected, job->cross, q * n_targets * sizeof *projected);
  if (job->transform) linalg_trmm('L', 'N', q, n_targets, job->transform, q, projected, q);
  for (size_t from = 0; from < n; from += GP_PANEL) {
    const size_t width = gp_panel_width(n, from);
    if (gps_must_stop(job->watch)) return;
    const double *turned = job->features + from * q;
    if (job->transform) {
      turn_panel(q, width, job->transform, turned, rotated);
      turned = rotated;
    }
    for (size_t j = 0; j < width; j++, turned += q) {
      const double share = job->weight * dot_of(q, turned, turned);
      /* 0 up to rounding where nothing but a point itself tells of it. */
      const double left = 1.0 - share > DBL_EPSILON ? 1.0 - share : DBL_EPSILON;
      own[from + j] = share / left;
      scale_to(q, (job->scale ? job->scale[from + j] : 1.0) / left, turned, rotated + j * q);
    }
    linalg_product('T', 'N', n_targets, width, q, 1.0, projected, rotated, 0.0,
                   mean + from * n_targets);
  }
}

void gp_leave_out_dense(const gp_affinity_job *job, const double *own, const double *targets,
                        double *mean) {
  const size_t n_targets = job->n_targets;
  for (size_t j = 0; j < job->n_points; j++)
    add_multiple(n_targets, -own[j], targets + j * n_targets, mean + j * n_targets);
}

void gp_leave_out_slots(const gp_affinity_job *job, const double *own, const gp_slots *slots,
                        double *mean) {
  for (size_t j = 0; j < job->n_points; j++) {
    for (size_t i = j * slots->n_slots; i < (j + 1) * slots->n_slots; i++) {
      if (slots->selected[i] <= 0) continue;
      mean[(size_t)(slots->selected[i] - 1) + j * job->n_targets] -= own[j] * slots->prob[i];
    }
  }
}

void gp_plain_means(const gp_affinity_job *job, double *weights, double *mean) {
  const size_t q = job->n_features, n = job->n_points, n_targets = job->n_targets;
  memcpy(weights, job->cross, q * n_targets * sizeof *weights);
  linalg_trmm('L', 'N', q, n_targets, job->transform, q, weights, q);
  linalg_trmm('L', 'T', q, n_targets, job->transform, q, weights, q);
  linalg_product('T', 'N', n_targets, n, q, 1.0, weights, job->features, 0.0, mean);
  if (job->scale == NULL) return;
  for (size_t j = 0; j < n; j++) {
    double *column = mean + j * n_targets;
    scale_to(n_targets, job->scale[j], column, column);
  }
}

void gp_scale_features(size_t n_features, size_t n_points, double noise, const double *residual,
                       double *features, double *scale) {
  for (size_t j = 0; j < n_points; j++) {
    scale[j] = sqrt(residual[j] + noise);
    double *feature = features + j * n_features;
    scale_to(n_features, 1.0 / scale[j], feature, feature);
  }
}
