/* Model C against its definition: the conditional by quadrature, its draws by their law, and the
 * closed forms where one latent is on. */
#include "max_case.h"

static void check_conditional(max_case *it, int slot, const double *value) {
  double below[3], above[3];
  integrate_slot(it, slot, value, below, above);
  const double odds = below[0] + above[0];
  const gps_step off = ask(it, slot, value, 0);
  CHECK_NEAR(off.prob_on, odds / (1 + odds), 1e-9);
  CHECK_NEAR(off.log_density, -log1p(odds), 1e-9);
  double on[LATENTS], none[LATENTS];
  memcpy(on, value, sizeof on);
  memcpy(none, value, sizeof none);
  none[slot] = 0;
  for (int i = 0; i < 7; i++) {
    on[slot] = it->mu[slot] + sqrt(it->psi[slot]) * (2.5 * sin(i * 7) + (i == 6 ? 30 : 0));
    const gps_step step = ask(it, slot, value, on[slot]);
    CHECK(step.prob_on == off.prob_on && step.value == on[slot]);
    /* The ratio of joint densities is that of the conditional ones. */
    const double wanted = define_log_joint(it, on) - define_log_joint(it, none);
    CHECK_NEAR(step.log_density - off.log_density, wanted, 1e-12 * (1 + fabs(wanted)));
  }
}

static void test_conditional(void) {
  max_case it;
  for (int number = 0; number < 12; number++) {
    build_case(&it, number, number % 2 ? 1 : 0.4);
    for (int slot = 0; slot < LATENTS; slot++) {
      double value[LATENTS] = {0};
      for (int k = 0; k < LATENTS && number > 3; k++) {
        value[k] = (number + k) % 3 == 0 ? 0 : 1.2 * cos(number * 5 + k);
      }
      check_conditional(&it, slot, value);
    }
  }
}

/* Data near what these values reach, with little noise, so that they are known well. */
static void sharpen_case(max_case *it, int number, const double *value) {
  it->sigma2[0] = 1e-3;
  for (int d = 0; d < it->n_dims; d++) {
    double mean = 0;
    for (int h = 0; h < LATENTS; h++) mean = fmax(mean, value[h] * it->w[d + h * it->n_dims]);
    it->y[d] = mean + 0.03 * sin(d * 9 + number);
  }
  prepare_case(it, it->problem.beta);
}

/* Every dimension twenty times, with as much more noise, says the same: many breakpoints in every
 * order, most of them where there is no mass. Few dimensions keep them all. */
static void test_many_dimensions(void) {
  enum { COPIES = 20 };
  static double w[COPIES * DIMS * LATENTS], y[COPIES * DIMS], scratch[40000];
  max_case it;
  for (int number = 0; number < 36; number++) {
    double value[LATENTS];
    for (int k = 0; k < LATENTS; k++) value[k] = 1.2 * cos(number * 5 + k);
    build_case(&it, number, number % 2 ? 1 : 0.4);
    if (number >= 12) sharpen_case(&it, number, value);
    const int n_dims = it.n_dims * COPIES;
    const double sigma2 = it.sigma2[0] * COPIES;
    const double *input[15];
    memcpy(input, it.input, sizeof input);
    input[0] = w;
    input[4] = &sigma2;
    gps_problem problem = it.problem;
    problem.shape.n_dims = n_dims;
    problem.input = input;
    const gps_point point = {0, y, NULL, it.latent};
    CHECK(model_max_spike_slab.scratch_size(&problem, &it.states) <= 40000);
    for (int i = 0; i < n_dims; i++) {
      /* 7 and the numbers of dimensions have no common divisor. */
      const int from = i * 7 % n_dims % it.n_dims;
      y[i] = it.y[from];
      for (int h = 0; h < LATENTS; h++) w[i + h * n_dims] = it.w[from + h * it.n_dims];
    }
    for (int slot = 0; slot < LATENTS; slot++) {
      const gps_step few = ask(&it, slot, value, 0.7);
      gps_step many = {0.7, 0, 0};
      CHECK(model_max_spike_slab.conditional(&problem, &point, &it.states, slot, value, NULL, &many,
                                             scratch) == GPS_OK);
      CHECK_NEAR(many.prob_on, few.prob_on, 1e-12);
      CHECK_NEAR(many.log_density, few.log_density, 1e-12 * (1 + fabs(few.log_density)));
    }
  }
}

/* Draws against the cumulated density: Kolmogorov's distance has p = 1e-4 at 2.23 / sqrt(n). */
static void check_draws(max_case *it, int slot, const double *value, int number) {
  enum { DRAWS = 20000, BINS = 4000 };
  static int count[BINS];
  const uint32_t seed[2] = {7, 8};
  gps_rng rng = gps_rng_stream(seed, 0, GPS_PURPOSE_GIBBS, 0, (uint32_t)number);
  const double reach = 12 * sqrt(it->psi[slot] / it->problem.beta), from = it->mu[slot] - reach;
  int n_on = 0, n_differ = 0, n_below = 0;
  memset(count, 0, sizeof count);
  for (int i = 0; i < DRAWS; i++) {
    gps_step step = {0, 0, 0};
    model_max_spike_slab.conditional(&it->problem, &it->point, &it->states, slot, value, &rng,
                                     &step, it->scratch);
    n_differ += step.prob_on != ask(it, slot, value, step.value).prob_on;
    if (step.value == 0) continue;
    n_on++;
    const double bin = (step.value - from) / (2 * reach) * BINS;
    count[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : (int)bin]++;
  }
  CHECK(n_differ == 0);
  const double prob = ask(it, slot, value, 0).prob_on;
  CHECK_NEAR(n_on, DRAWS * prob, 5 * sqrt(DRAWS * prob * (1 - prob)) + 1e-6);
  double largest = 0, cumulated = 0;
  for (int b = 0; b < BINS; b++) {
    for (int k = 0; k < 10; k++) {
      const double z = from + 2 * reach * (b + (k + 0.5) / 10) / BINS;
      cumulated += 2 * reach / (10 * BINS) * exp(ask(it, slot, value, z).log_density) / prob;
    }
    n_below += count[b];
    largest = fmax(largest, fabs(n_below - n_on * cumulated));
  }
  CHECK_NEAR(cumulated, 1, 1e-4);
  CHECK(n_on > 100);
  CHECK(largest < 2.23 * sqrt(n_on));
}

static void test_draws(void) {
  max_case it;
  for (int number = 0; number < 12; number++) {
    build_case(&it, number, number % 2 ? 1 : 0.4);
    double value[LATENTS] = {0};
    for (int k = 0; k < LATENTS && number > 3; k++) value[k] = 1.2 * cos(number * 5 + k);
    check_draws(&it, number % LATENTS, value, number);
  }
}

/* The first of two latents that reach the same has the credit, and none has it where all are below
 * zero. */
static void test_credit(void) {
  max_case it;
  build_case(&it, 3, 1);
  const double value[LATENTS] = {0, 1.5, 1.5, -2}, prob_on[LATENTS] = {0.1, 0.2, 0.3, 0.4};
  it.w[0 + 1 * it.n_dims] = -1; /* dimension 0: -1.5, 1.5 and -2 */
  it.w[1 + 3 * it.n_dims] = -2; /* dimension 1: 1.5, 1.5 and 4 */
  for (int k = 1; k < 3; k++) it.w[2 + k * it.n_dims] = -1;
  double sums[2 + 4 * LATENTS + 2 * DIMS * LATENTS] = {0}, latent[LATENTS], response[DIMS];
  double *won_data = sums + 2 + 4 * LATENTS, *won_square = won_data + DIMS * LATENTS;
  double *stats[10] = {sums,      sums + 1, sums + 2,   sums + 6, sums + 10,
                       sums + 14, won_data, won_square, NULL,     NULL};
  CHECK_WHOLE(stats, model_max_spike_slab.stats);
  model_max_spike_slab.accumulate_draws(&it.problem, &it.point, &it.states, 1, value, prob_on,
                                        stats, it.scratch);
  model_max_spike_slab.describe_draws(&it.problem, &it.point, &it.states, 1, value, latent,
                                      response, it.scratch);
  for (int d = 0; d < it.n_dims; d++) {
    const int winner = d == 0 ? 2 : d == 1 ? 3 : d == 2 ? -1 : 1;
    CHECK(response[d] == (d == 1 ? 4 : d == 2 ? 0 : 1.5));
    for (int h = 0; h < LATENTS; h++) {
      const double z = h == winner ? value[h] : 0;
      CHECK(won_data[d + h * it.n_dims] == z * it.y[d]);
      CHECK(won_square[d + h * it.n_dims] == z * z);
    }
  }
  for (int h = 0; h < LATENTS; h++) {
    CHECK(stats[2][h] == prob_on[h]);
    CHECK(stats[3][h] == (value[h] != 0));
    CHECK(stats[4][h] == value[h] && latent[h] == value[h]);
    CHECK(stats[5][h] == value[h] * value[h]);
  }
}

/* With at most one latent on, everything is in closed form. */
static void test_single_states(void) {
  static const int n_active[LATENTS + 1] = {0, 1, 1, 1, 1}, parent[LATENTS + 1] = {-1};
  static const int active[LATENTS + 1] = {0, 0, 1, 2, 3}, all[LATENTS] = {0, 1, 2, 3};
  static const double prob[LATENTS + 1] = {0.1, 0.2, 0.3, 0.15, 0.25};
  max_case it;
  for (int number = 0; number < 8; number++) {
    const double beta = number % 2 ? 1 : 0.4;
    build_case(&it, number, beta);
    const gps_states states = {LATENTS, 1, LATENTS + 1, n_active, active, parent, 0};
    double value[LATENTS + 1], gain[LATENTS], latent[LATENTS], response[DIMS];
    double sums[2 + 4 * LATENTS + 2 * DIMS * LATENTS] = {0}, none[LATENTS] = {0};
    double *stats[10] = {sums,
                         sums + 1,
                         sums + 2,
                         sums + 2 + LATENTS,
                         sums + 2 + 2 * LATENTS,
                         sums + 2 + 3 * LATENTS,
                         sums + 2 + 4 * LATENTS,
                         sums + 2 + 4 * LATENTS + DIMS * LATENTS,
                         NULL,
                         NULL};
    const gps_model *model = &model_max_spike_slab;
    CHECK(model->gain(&it.problem, &it.point, 0, NULL, LATENTS, all, gain, it.scratch) == GPS_OK);
    CHECK(model->log_joint(&it.problem, &it.point, &states, value, it.scratch) == GPS_OK);
    model->accumulate(&it.problem, &it.point, &states, prob, stats, it.scratch);
    model->describe(&it.problem, &it.point, &states, prob, latent, response, it.scratch);
    CHECK(value[0] == 0);
    double mean[DIMS] = {0};
    for (int h = 0; h < LATENTS; h++) {
      double below[3], above[3];
      integrate_slot(&it, h, none, below, above);
      const double mass = below[0] + above[0], share = prob[h + 1] / mass;
      CHECK_NEAR(beta * value[h + 1], log(mass), 1e-10);
      CHECK(gain[h] == value[h + 1]);
      CHECK_NEAR(latent[h], share * (below[1] + above[1]), 1e-10);
      CHECK_NEAR(stats[2][h], prob[h + 1], 1e-15);
      CHECK_NEAR(stats[3][h], prob[h + 1], 1e-15);
      CHECK_NEAR(stats[4][h], share * (below[1] + above[1]), 1e-9);
      CHECK_NEAR(stats[5][h], share * (below[2] + above[2]), 1e-9);
      for (int d = 0; d < it.n_dims; d++) {
        const double w = it.w[d + h * it.n_dims], *side = w > 0 ? above : below;
        mean[d] += share * w * side[1];
        const double first = w == 0 ? 0 : share * side[1], second = w == 0 ? 0 : share * side[2];
        CHECK_NEAR(stats[6][d + h * it.n_dims], it.y[d] * first, 1e-9);
        CHECK_NEAR(stats[7][d + h * it.n_dims], second, 1e-9);
      }
    }
    for (int d = 0; d < it.n_dims; d++) CHECK_NEAR(response[d], mean[d], 1e-9);
  }
}

/* Two latents on at once have no closed form. */
static void test_pairs_are_refused(void) {
  static const int n_active[1] = {2}, active[2] = {0, 1}, parent[1] = {-1};
  const gps_states states = {LATENTS, 2, 1, n_active, active, parent, 0};
  max_case it;
  double value;
  build_case(&it, 1, 1);
  CHECK(model_max_spike_slab.log_joint(&it.problem, &it.point, &states, &value, it.scratch) ==
        GPS_BAD_MODEL);
}

/* The gain beside others is the log odds while they are at their most probable values. */
static void test_gain_beside_others(void) {
  static const int all[LATENTS] = {0, 1, 2, 3};
  max_case it;
  build_case(&it, 1, 1);
  double gain[LATENTS], value[LATENTS] = {0}, best = -HUGE_VAL;
  model_max_spike_slab.gain(&it.problem, &it.point, 1, all + 2, LATENTS, all, gain, it.scratch);
  double mode = 0;
  for (double z = -4; z < 4; z += 1e-4) {
    value[2] = z;
    const double log_joint = define_log_joint(&it, value);
    if (log_joint > best) mode = z;
    best = fmax(best, log_joint);
  }
  value[2] = mode;
  for (int h = 0; h < LATENTS; h++) {
    if (h == 2) continue;
    const gps_step step = ask(&it, h, value, 0);
    CHECK_NEAR(gain[h], log(step.prob_on) - log1p(-step.prob_on), 1e-3);
  }
}

int main(void) {
  test_conditional();
  test_many_dimensions();
  test_draws();
  test_credit();
  test_single_states();
  test_pairs_are_refused();
  test_gain_beside_others();
  return check_report();
}
