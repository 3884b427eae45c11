/* Sweeps over positions; see infer_walk.h. A sweep goes through the positions k = 0, 1, ...: what k
 * holds is exchanged with what one of k and those after it holds, at random, since all ways to
 * write a state are equally likely; then it is drawn given the others. */
#include "infer_walk.h"

#include <math.h>
#include <string.h>

/* A term that is so many nats below another one does not change their sum; its exponential may be
 * slow, where it underflows. */
#define LOST_BELOW (-40.0)

static double exp_beside(double below) { return below < LOST_BELOW ? 0 : exp(below); }

double log_add(double a, double b) {
  const double top = a > b ? a : b, below = a > b ? b - a : a - b;
  return top == -HUGE_VAL || below < LOST_BELOW ? top : top + log1p(exp(below));
}

double log_mean(const double *log_density, int n, double *variance) {
  double top = -HUGE_VAL, mean = 0, squares = 0;
  for (int s = 0; s < n; s++) top = log_density[s] > top ? log_density[s] : top;
  for (int s = 0; s < n; s++) mean += exp(log_density[s] - top) / n;
  for (int s = 0; s < n; s++) {
    const double deviation = exp(log_density[s] - top) - mean;
    squares += deviation * deviation;
  }
  *variance = n > 1 ? squares / (n * (n - 1.0) * mean * mean) : 0;
  return top + log(mean);
}

double log_total(const double *log_weight, int n) {
  double top = -HUGE_VAL, total = 0;
  for (int i = 0; i < n; i++) top = log_weight[i] > top ? log_weight[i] : top;
  if (top == -HUGE_VAL) return top;
  for (int i = 0; i < n; i++) total += exp_beside(log_weight[i] - top);
  return top + log(total);
}

int pick_log(const double *log_weight, int n, double total, double u) {
  int last = -1;
  double sum = 0;
  for (int i = 0; i < n; i++) {
    if (!(log_weight[i] - total > LOST_BELOW)) continue;
    last = i;
    sum += exp(log_weight[i] - total);
    if (u < sum) break;
  }
  return last;
}

/* Exchanges what position k holds with what one of it and those after it holds. */
static void exchange_held(gps_walk *walk, int k, gps_rng *rng) {
  const int other = k + gps_rng_index(rng, limit_of(walk) - k), held = walk->held[k];
  walk->held[k] = walk->held[other];
  walk->held[other] = held;
}

double positions_log_ways(const gps_walk *walk) {
  double result = 0;
  for (int n = 0; n < walk->n_on; n++) result += log((double)(limit_of(walk) - n));
  return result;
}

void positions_shuffle(gps_walk *walk, gps_rng *rng) {
  for (int k = 0; k < limit_of(walk); k++) exchange_held(walk, k, rng);
}

/* Beside the present state, of fewer slots than may be on, one more position may hold nothing, or a
 * slot that is off: log weights of these against it into odds, and the log of the sum of all. */
static gps_status weigh_position(gps_walk *walk, double *total) {
  const gps_status status = walk_find_odds(walk);
  if (status != GPS_OK) return status;
  const double ways = log((double)(limit_of(walk) - walk->n_on));
  for (int i = 0; i < walk->states->n_slots; i++) walk->odds[i] -= ways;
  *total = log_add(0, log_total(walk->odds, walk->states->n_slots));
  return GPS_OK;
}

/* What position k holds, drawn given the others. */
static gps_status visit_position(gps_walk *walk, int k, gps_rng *rng, double *prob_on) {
  if (walk->held[k] >= 0) walk_set_value(walk, walk->held[k], 0);
  walk->held[k] = -1;
  double total = 0;
  gps_status status = weigh_position(walk, &total);
  if (status != GPS_OK) return status;
  for (int i = 0; prob_on && i < walk->states->n_slots; i++)
    prob_on[i] += (walk->value[i] != 0 ? 1 : exp_beside(walk->odds[i] - total)) / limit_of(walk);
  const double nothing = exp(-total), u = gps_rng_uniform(rng);
  if (u < nothing) return GPS_OK;
  const int slot = pick_log(walk->odds, walk->states->n_slots, total, u - nothing);
  if (slot < 0) return GPS_OK;
  status = walk_turn_on(walk, slot, rng, 0, NULL);
  if (walk->value[slot] != 0) walk->held[k] = slot;
  return status;
}

gps_status positions_sweep(gps_walk *walk, int is_reverse, gps_rng *rng, double *prob_on) {
  const int n = limit_of(walk);
  gps_status status = GPS_OK;
  for (int i = 0; i < n && status == GPS_OK; i++) {
    const int k = is_reverse ? n - 1 - i : i;
    if (!is_reverse) exchange_held(walk, k, rng);
    status = visit_position(walk, k, rng, prob_on);
    if (is_reverse) exchange_held(walk, k, rng);
  }
  return status;
}

/* The state on the way where the positions of `left` have been left, and the first `n` of those of
 * the target have come in their place. 0 where a slot would be held twice. */
static int load_between(gps_walk *walk, const gps_state *from, unsigned left, const gps_state *to,
                        int n) {
  memset(walk->value, 0, (size_t)walk->states->n_slots * sizeof(double));
  walk->n_on = 0;
  for (int k = 0; k < limit_of(walk); k++) {
    if (!(left >> k & 1) && from->held[k] >= 0)
      walk_set_value(walk, from->held[k], from->value[from->held[k]]);
  }
  for (int k = 0; k < n; k++) {
    const int slot = to->held[k];
    if (slot < 0) continue;
    if (walk->value[slot] != 0) return 0;
    walk_set_value(walk, slot, to->value[slot]);
  }
  return n >= limit_of(walk) || to->held[n] < 0 || walk->value[to->held[n]] == 0;
}

/* Step by step what the target holds comes in its order, while positions are left in any order: the
 * sum over these is one over sets of positions that have been left. */
gps_status positions_log_transition(gps_walk *walk, const gps_state *from, const gps_state *to,
                                    double *log_density) {
  double sum[1 << MOST_POSITIONS] = {0}; /* logs */
  const int n = limit_of(walk);
  for (unsigned left = 1; left < 1u << n; left++) {
    int n_left = -1;
    sum[left] = -HUGE_VAL;
    for (int k = 0; k < n; k++) {
      if (!(left >> k & 1)) continue;
      n_left++;
      sum[left] = log_add(sum[left], sum[left ^ 1u << k]);
    }
    if (sum[left] == -HUGE_VAL) continue;
    const int is_possible = load_between(walk, from, left, to, n_left), comes = to->held[n_left];
    double total = 0;
    gps_status status = is_possible ? weigh_position(walk, &total) : GPS_OK;
    if (status != GPS_OK) return status;
    sum[left] = is_possible ? sum[left] - total - log((double)(n - n_left)) : -HUGE_VAL;
    if (comes < 0 || !is_possible) continue;
    sum[left] += walk->odds[comes];
    status = walk_turn_on(walk, comes, NULL, to->value[comes], sum + left);
    if (status != GPS_OK) return status;
    if (isnan(sum[left])) sum[left] = -HUGE_VAL;
  }
  *log_density = sum[(1u << n) - 1];
  return GPS_OK;
}
