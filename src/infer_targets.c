/* Targets that the beginnings of a chain led to, and how they lie to each other; see infer_gibbs.h.
 */
#include "infer_gibbs.h"

#include <math.h>

gps_status target_log_reach(gibbs_work *work, int k, gps_state from, double least, double *reach) {
  const gps_state to = target_of(work, k);
  const gps_status status =
      walk_log_transition(&work->walk, &from, &to, least + work->log_p[k], reach);
  *reach -= work->log_p[k];
  return status;
}

/* How much of what lies about one target is near another, 0 .. 1, by the draws from there: they
 * reach the two so much more or less easily, in logs. They waver, so that a tenth is all. */
static double nearness(double log_ratio) { return fmin(1, 10 * exp(fmin(0, log_ratio))); }

/* near [n_targets] each target is to what lies about target j, and the log size of that, by the
 * sweeps that lead from it. A draw from it would not do: on the way from a bad state to a good one
 * it tells of neither. */
static gps_status look_about(gibbs_work *work, int j, double *near, double *size) {
  double top = -HUGE_VAL;
  gps_status status = GPS_OK;
  for (int k = 0; k < work->n_targets && status == GPS_OK; k++) {
    status = target_log_reach(work, k, target_of(work, j), top - HOPELESS, near + k);
    if (near[k] > top) top = near[k];
  }
  for (int k = 0; k < work->n_targets; k++) near[k] = nearness(near[k] - top);
  *size = -top;
  return status == GPS_OK && !(top > -HUGE_VAL) ? GPS_NOT_FINITE : status;
}

gps_status target_choose(gibbs_work *work, gps_rng *rng) {
  const int n = work->n_targets, *led = work->n_led;
  int best = 0;
  double near[MOST_BEGUN * MOST_BEGUN], size[MOST_BEGUN], q[MOST_BEGUN] = {0};
  double top = -HUGE_VAL, total = 0, sum = 0;
  for (int j = 0; j < n && n > 1; j++) {
    const gps_status status = look_about(work, j, near + n * j, size + j);
    if (status != GPS_OK) return status;
    if (size[j] > top) top = size[j];
  }
  for (int j = 0; j < n && n > 1; j++) {
    double n_near = 0;
    for (int k = 0; k < n; k++) {
      near[k + n * j] = fmin(near[k + n * j], nearness(size[k] - size[j]));
      n_near += led[k] * near[k + n * j];
    }
    const double share = n_near > 0 ? led[j] * exp(size[j] - top) / (n_near * n_near) : 0;
    for (int k = 0; k < n; k++) q[k] += led[k] * near[k + n * j] * share;
  }
  if (n == 1) q[0] = 1;
  for (int k = 0; k < n; k++) total += q[k];
  if (!(total > 0)) { /* of states so far from good ones that sizes mean nothing: the best */
    for (int k = 0; k < n; k++) best = work->log_p[k] > work->log_p[best] ? k : best;
    total = q[best] = 1;
  }
  const double u = n > 1 ? total * gps_rng_uniform(rng) : 0;
  work->chosen = -1;
  for (int k = 0; k < n; k++) {
    work->log_q[k] = log(q[k] / total);
    sum += q[k];
    if (work->chosen < 0 && (u < sum || k == n - 1)) work->chosen = k;
  }
  return GPS_OK;
}

double target_lost_square(const gibbs_work *work) {
  double nearest = 0, square = 0;
  for (int k = 0; k < work->n_targets; k++) {
    if (k == work->chosen) continue;
    const double near = nearness(work->reach[k] - work->reach[work->chosen]);
    const double lost = work->n_led[k] > 1 ? 0 : (1 - near) * exp(work->log_q[k]);
    nearest = near > nearest ? near : nearest;
    square += lost * lost;
  }
  const double own = work->n_led[work->chosen] > 1 ? 0 : exp(work->log_q[work->chosen]);
  square += (1 - nearest) * (1 - nearest) * own * own;
  return square * (work->n_begun - 1) / work->n_begun;
}

int target_are_apart(const gibbs_work *work) {
  for (int k = 0; k < work->n_targets; k++) {
    if (nearness(work->reach[k] - work->reach[work->chosen]) < 0.5) return 1;
  }
  return 0;
}
