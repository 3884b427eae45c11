/* Model C against exact numbers: conditionals, log joints, and means of long chains. */
#include "max_case.h"
#include "oracle_max.h"

/* Exact values for conditionals, and the log joints of given values. */
static void test_oracle_conditionals(void) {
  for (int i = 0; i < ORACLE_CONDITIONALS; i++) {
    const oracle_conditional *row = oracle_conditionals + i;
    max_case it = {.n_dims = 2, .n_latents = 3, .sigma2 = {row->sigma2}, .pi = {0.5, 0.2, 0.2}};
    memcpy(it.y, row->y, sizeof row->y);
    memcpy(it.w, row->w, sizeof row->w);
    /* Each of the others reaches one dimension. */
    it.w[2] = row->others[0];
    it.w[5] = row->others[1];
    for (int h = 0; h < 3; h++) {
      it.mu[h] = row->mu;
      it.psi[h] = row->psi;
    }
    prepare_case(&it, 1);
    const double value[LATENTS] = {0, 1, 1};
    const gps_step step = ask(&it, 0, value, 0);
    CHECK_NEAR(log(step.prob_on) - log1p(-step.prob_on), row->log_ratio, 1e-10);
    double below[3], above[3];
    integrate_slot(&it, 0, value, below, above);
    CHECK_NEAR(log(below[0] + above[0]), row->log_ratio, 1e-10);
    CHECK_NEAR((below[1] + above[1]) / (below[0] + above[0]), row->mean, 1e-9);
    CHECK_NEAR((below[2] + above[2]) / (below[0] + above[0]), row->second, 1e-9);
  }
}

static void build_oracle(max_case *it, const oracle_case *oracle, const double *y) {
  memset(it, 0, sizeof *it);
  it->n_dims = 2;
  it->n_latents = oracle->n_latents;
  memcpy(it->w, oracle->w, sizeof oracle->w);
  memcpy(it->pi, oracle->pi, sizeof oracle->pi);
  memcpy(it->mu, oracle->mu, sizeof oracle->mu);
  memcpy(it->psi, oracle->psi, sizeof oracle->psi);
  it->sigma2[0] = oracle->sigma2;
  memcpy(it->y, y, 2 * sizeof *y);
  prepare_case(it, 1);
}

static void test_oracle_joints(void) {
  max_case it;
  for (int c = 0; c < 2; c++) {
    const oracle_case *oracle = oracle_cases + c;
    for (int i = 0; i < oracle->n_joints; i++) {
      const oracle_joint *row = oracle->joint + i;
      build_oracle(&it, oracle, row->y);
      double value[LATENTS] = {0}, log_joint;
      for (int h = 0; h < oracle->n_latents; h++) value[h] = row->b[h] * row->z[h];
      model_max_spike_slab.log_joint_draw(&it.problem, &it.point, &it.states, value, &log_joint,
                                          it.scratch);
      double rest = model_max_spike_slab.shared_term(&it.problem, &it.point);
      for (int k = 0; k < 2; k++) {
        /* In the oracle a selected latent's z has its density where it is off, too. */
        const int h = oracle->selected[k];
        const double deviation = row->z[h] - it.mu[h];
        if (value[h] != 0) continue;
        rest -= 0.5 * (log(two_pi * it.psi[h]) + deviation * deviation / it.psi[h]);
      }
      CHECK_NEAR(log_joint + rest, row->log_joint, 1e-10);
      CHECK_NEAR(log_joint, define_log_joint(&it, value), 1e-12 * (1 + fabs(log_joint)));
    }
  }
}

/* What a chain estimates: three moments a latent, two credits a weight, the squared error. */
enum { N_MEANS = 3 * 3 + 4 * 3 + 1 };

typedef struct {
  double count, data_square, on[3], drawn[3], value[3], value_square[3], won_data[6], won_square[6];
} max_stats;

static void add_stats(max_case *it, const double *value, const double *prob_on, double *mean) {
  max_stats sums;
  memset(&sums, 0, sizeof sums);
  double *stats[10] = {
      &sums.count,       &sums.data_square, sums.on,         sums.drawn, sums.value,
      sums.value_square, sums.won_data,     sums.won_square, NULL,       NULL};
  double response[2], latent[LATENTS];
  model_max_spike_slab.accumulate_draws(&it->problem, &it->point, &it->states, 1, value, prob_on,
                                        stats, it->scratch);
  model_max_spike_slab.describe_draws(&it->problem, &it->point, &it->states, 1, value, latent,
                                      response, it->scratch);
  for (int h = 0; h < 3; h++) {
    mean[h] += sums.on[h];
    mean[3 + h] += sums.value[h];
    mean[6 + h] += sums.value_square[h];
  }
  for (int i = 0; i < 6; i++) {
    mean[9 + i] += sums.won_data[i];
    mean[15 + i] += sums.won_square[i];
  }
  for (int d = 0; d < 2; d++) mean[21] += (it->y[d] - response[d]) * (it->y[d] - response[d]);
}

/* Means of a long chain in which only the selected latents have slots, within five standard errors
 * from the means of batches. */
static void check_chain(const oracle_case *oracle, const oracle_posterior *row, uint32_t number) {
  enum { BATCHES = 100, SWEEPS = 600 };
  const uint32_t seed[2] = {3, 4};
  gps_rng rng = gps_rng_stream(seed, 0, GPS_PURPOSE_GIBBS, 1, number);
  max_case it;
  build_oracle(&it, oracle, row->y);
  it.states.n_slots = 2;
  for (int k = 0; k < 2; k++) it.latent[k] = oracle->selected[k];
  double value[LATENTS] = {0}, prob_on[LATENTS] = {0};
  double sum[N_MEANS] = {0}, squares[N_MEANS] = {0};
  for (int b = -1; b < BATCHES; b++) {
    double mean[N_MEANS] = {0};
    for (int s = 0; s < SWEEPS; s++) {
      for (int k = 0; k < 2; k++) {
        gps_step step = {0, 0, 0};
        model_max_spike_slab.conditional(&it.problem, &it.point, &it.states, k, value, &rng, &step,
                                         it.scratch);
        value[k] = step.value;
        prob_on[k] = step.prob_on;
      }
      add_stats(&it, value, prob_on, mean);
    }
    for (int i = 0; i < N_MEANS && b >= 0; i++) {
      sum[i] += mean[i] / SWEEPS;
      squares[i] += mean[i] / SWEEPS * mean[i] / SWEEPS;
    }
  }
  double wanted[N_MEANS];
  memcpy(wanted, row->on, sizeof row->on);
  memcpy(wanted + 3, row->value, sizeof row->value);
  memcpy(wanted + 6, row->value_square, sizeof row->value_square);
  memcpy(wanted + 9, row->won_data, sizeof row->won_data);
  memcpy(wanted + 15, row->won_square, sizeof row->won_square);
  wanted[21] = row->residual_square;
  for (int i = 0; i < N_MEANS; i++) {
    const double mean = sum[i] / BATCHES, variance = squares[i] / BATCHES - mean * mean;
    CHECK_NEAR(mean, wanted[i], 5 * sqrt(fmax(variance, 0) / (BATCHES - 1)));
    CHECK(wanted[i] == 0 || variance < 0.01 * (1 + wanted[i] * wanted[i]));
  }
}

static void test_chains(void) {
  for (int c = 0; c < 2; c++) {
    for (int i = 0; i < oracle_cases[c].n_points; i++) {
      check_chain(oracle_cases + c, oracle_cases[c].posterior + i, (uint32_t)(10 * c + i));
    }
  }
}

int main(void) {
  test_oracle_conditionals();
  test_oracle_joints();
  test_chains();
  return check_report();
}
