/* Gibbs sampling against sums over all states: posterior means, the estimate of log Z and its
 * spread; streams; a model whose latents have values. */
#include "check.h"
#include "core_models.h"

#include <string.h>

#include "infer.h"

enum { MAX_SLOTS = 7, MAX_KEEP = 50, SCRATCH = 8192, INTS = 1024 };

static core_case the_case;
static double scratch[SCRATCH];
static int ints[INTS];

static double value[MAX_SLOTS * CORE_POINTS], start[MAX_SLOTS * CORE_POINTS];
static double prob_on[MAX_SLOTS * CORE_POINTS], mean_latent[MAX_SLOTS * CORE_POINTS];
static double draws[MAX_SLOTS * MAX_KEEP * CORE_POINTS];
static double response[CORE_DIMS * CORE_POINTS], log_evidence[CORE_POINTS], variance[CORE_POINTS];
static const gps_posterior posterior = {.prob_on = prob_on,
                                        .log_evidence = log_evidence,
                                        .latent = mean_latent,
                                        .response = response,
                                        .value = value,
                                        .variance = variance,
                                        .draws = draws};

/* Model A by its log joint alone. */
static gps_model without_gain(void) {
  gps_model model = model_binary_sparse;
  model.gain = NULL;
  return model;
}

static gps_status sample(const gps_model *model, const gps_states *states, const gps_chain *chain,
                         const int *latent, size_t from, size_t to) {
  size_t bad_point;
  CHECK(infer_gibbs_scratch(model, &the_case.problem, states, chain) <= SCRATCH);
  CHECK(infer_gibbs_ints(states, chain) <= INTS);
  for (int i = 0; i < SCRATCH; i++) scratch[i] = NAN;
  for (int i = 0; i < INTS; i++) ints[i] = -12345;
  const infer_job job = {model, &the_case.problem, states, chain, the_case.y, latent, &posterior};
  return infer_gibbs(&job, from, to, NULL, scratch, ints, &bad_point);
}

static gps_states sizes(int n_slots, int max_active) {
  const gps_states states = {n_slots, max_active, 0, NULL, NULL, NULL, 0};
  return states;
}

/* log Z and p(on) of a point by brute force over the subsets of its slots. */
static double sum_states(size_t point, int n_slots, int max_active, const int *latent, double beta,
                         double *on) {
  double sum = 0, top = -HUGE_VAL, joint[1 << MAX_SLOTS];
  int n_active[1 << MAX_SLOTS];
  for (int m = 0; m < 1 << n_slots; m++) {
    int held[MAX_SLOTS], is_empty = 0;
    n_active[m] = 0;
    for (int i = 0; i < n_slots; i++) {
      if (!(m >> i & 1)) continue;
      if (latent[i] < 0) is_empty = 1;
      held[n_active[m]++] = latent[i];
    }
    const int is_allowed = !is_empty && n_active[m] <= max_active;
    joint[m] = is_allowed ? beta * core_log_joint(&the_case, point, n_active[m], held) : -HUGE_VAL;
    if (joint[m] > top) top = joint[m];
  }
  memset(on, 0, (size_t)n_slots * sizeof *on);
  for (int m = 0; m < 1 << n_slots; m++) sum += exp(joint[m] - top);
  for (int m = 0; m < 1 << n_slots; m++) {
    for (int i = 0; i < n_slots; i++) on[i] += (m >> i & 1) * exp(joint[m] - top) / sum;
  }
  return top + log(sum);
}

typedef struct {
  const gps_model *model;
  int n_slots, max_active, n_burn, n_keep;
  double beta;
  const int *latent;
} sampling_case;

/* Many seeds of one point, without burn-in too: the estimate of Z has the right mean wherever the
 * chain starts. Low temperatures would make rare states decide the mean. */
static void check_moments(const sampling_case *it, double truth, const double *on) {
  enum { N_SEEDS = 3000, POINT = 3 };
  double ratio[3] = {0}, logs[3] = {0}, spread = 0, probe[MAX_SLOTS] = {0}, probe2[MAX_SLOTS] = {0};
  const gps_states states = sizes(it->n_slots, it->max_active);
  int all[MAX_SLOTS * CORE_POINTS];
  for (int i = 0; i < it->n_slots * CORE_POINTS; i++) all[i] = it->latent[i % it->n_slots];
  the_case.problem.beta = it->beta;
  int n_failed = 0;
  for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
    const gps_chain chain = {seed % 2 * 3, it->n_burn, it->n_keep, {seed, 7}, 0, start, 3, 1};
    n_failed += sample(it->model, &states, &chain, all, POINT, POINT + 1) != GPS_OK;
    const double log_ratio = log_evidence[POINT] - truth;
    for (int k = 1; k <= 2; k++) {
      ratio[k] += pow(exp(log_ratio), k) / N_SEEDS;
      logs[k] += pow(log_ratio, k) / N_SEEDS;
    }
    spread += variance[POINT] / N_SEEDS;
    for (int i = 0; i < it->n_slots; i++) {
      const double x = prob_on[i + POINT * it->n_slots];
      probe[i] += x / N_SEEDS;
      probe2[i] += x * x / N_SEEDS;
    }
  }
  the_case.problem.beta = 1;
  CHECK(n_failed == 0);
  const double error = sqrt((ratio[2] - ratio[1] * ratio[1]) / N_SEEDS);
  const double log_variance = logs[2] - logs[1] * logs[1];
  CHECK_NEAR(ratio[1], 1, 5 * error);
  CHECK(logs[1] < 5 * sqrt(log_variance / N_SEEDS));
  if (it->n_burn < 20) return;
  CHECK(spread > log_variance / 3);
  CHECK(spread < log_variance * 3);
  for (int i = 0; i < it->n_slots; i++) {
    const double on_error = sqrt((probe2[i] - probe[i] * probe[i]) / N_SEEDS);
    CHECK_NEAR(probe[i], on[i], 5 * on_error + 1e-14);
  }
}

static const int full[MAX_SLOTS] = {0, 1, 2, 3, 4}, gapped[MAX_SLOTS] = {0, 2, -1, 4, 6};

static void test_binary(void) {
  const gps_model bare = without_gain();
  core_build(&the_case, 0);
  const sampling_case cases[] = {{&model_binary_sparse, 5, 5, 20, 1, 0.1, full},
                                 {&model_binary_sparse, 5, 5, 20, 2, 0.1, full},
                                 {&model_binary_sparse, 5, 5, 20, 6, 0.1, full},
                                 {&model_binary_sparse, 5, 5, 0, 4, 0.2, full},
                                 {&model_binary_sparse, 5, 2, 20, 4, 0.1, full},
                                 {&model_binary_sparse, 5, 5, 20, 4, 0.2, gapped},
                                 {&bare, 5, 5, 20, 4, 0.1, full},
                                 {&bare, 5, 2, 0, 1, 0.2, full},
                                 {&bare, 5, 3, 20, 4, 0.1, gapped}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    double on[MAX_SLOTS];
    const sampling_case *it = cases + k;
    const double truth = sum_states(3, it->n_slots, it->max_active, it->latent, it->beta, on);
    check_moments(it, truth, on);
  }
}

/* A model whose latents have values: y ~ N(W v, sigma2 I), v_h = 0 or N(0.5, 2), on with pi_h. */
static const double slab_mean = 0.5, slab_variance = 2;

/* Precision, precision-weighted mean and log odds of a slot given the rest. */
static void slab_law(const gps_problem *problem, const gps_point *point, int n_slots, int slot,
                     const double *others, double *precision, double *mean, double *odds) {
  const double *w = problem->input[0], sigma2 = problem->input[2][0];
  const double *own = w + point->latent[slot] * CORE_DIMS;
  *precision = 1 / slab_variance;
  double drive = slab_mean / slab_variance;
  for (int d = 0; d < CORE_DIMS; d++) {
    double residual = point->y[d];
    for (int i = 0; i < n_slots; i++) {
      if (i != slot && others[i] != 0) residual -= w[point->latent[i] * CORE_DIMS + d] * others[i];
    }
    *precision += own[d] * own[d] / sigma2;
    drive += own[d] * residual / sigma2;
  }
  *mean = drive / *precision;
  const double pi = problem->input[1][point->latent[slot]];
  *odds = log(pi / (1 - pi)) - 0.5 * log(slab_variance * *precision) + drive * *mean / 2 -
          slab_mean * slab_mean / (2 * slab_variance);
}

static gps_status slab_conditional(const gps_problem *problem, const gps_point *point,
                                   const gps_states *states, int slot, const double *others,
                                   gps_rng *rng, gps_step *step, double *model_scratch) {
  (void)model_scratch;
  double precision, mean, odds;
  slab_law(problem, point, states->n_slots, slot, others, &precision, &mean, &odds);
  step->prob_on = 1 / (1 + exp(-odds));
  if (rng) {
    const int is_on = gps_rng_uniform(rng) < step->prob_on;
    step->value = is_on ? mean + gps_rng_normal(rng) / sqrt(precision) : 0;
  }
  const double z = step->value - mean;
  step->log_density = step->value == 0 ? log1p(-step->prob_on)
                                       : log(step->prob_on) - precision * z * z / 2 +
                                             0.5 * log(precision / 6.283185307179586477);
  return GPS_OK;
}

static gps_status slab_log_joint_draw(const gps_problem *problem, const gps_point *point,
                                      const gps_states *states, const double *v, double *log_joint,
                                      double *model_scratch) {
  (void)model_scratch;
  const double *w = problem->input[0], sigma2 = problem->input[2][0];
  *log_joint = 0;
  for (int d = 0; d < CORE_DIMS; d++) {
    double residual = point->y[d];
    for (int i = 0; i < states->n_slots; i++) {
      residual -= w[point->latent[i] * CORE_DIMS + d] * v[i];
    }
    *log_joint -= residual * residual / (2 * sigma2);
  }
  for (int i = 0; i < states->n_slots; i++) {
    const double pi = problem->input[1][point->latent[i]], z = v[i] - slab_mean;
    *log_joint += v[i] == 0 ? log(1 - pi)
                            : log(pi) - z * z / (2 * slab_variance) -
                                  0.5 * log(6.283185307179586477 * slab_variance);
  }
  return GPS_OK;
}

/* Means of the draws, and of their squares where the model would describe the response. */
static gps_status slab_describe_draws(const gps_problem *problem, const gps_point *point,
                                      const gps_states *states, int n_draws, const double *drawn,
                                      double *latent, double *square, double *model_scratch) {
  (void)problem, (void)point, (void)model_scratch;
  for (int i = 0; i < states->n_slots; i++) {
    latent[i] = square[i] = 0;
    for (int s = 0; s < n_draws; s++) {
      const double v = drawn[i + s * states->n_slots];
      latent[i] += v / n_draws;
      square[i] += v * v / n_draws;
    }
  }
  return GPS_OK;
}

static size_t no_scratch(const gps_problem *problem, const gps_states *states) {
  (void)problem, (void)states;
  return 0;
}

static const gps_model slab_model = {.api = GPS_MODEL_API,
                                     .scratch_size = no_scratch,
                                     .conditional = slab_conditional,
                                     .log_joint_draw = slab_log_joint_draw,
                                     .describe_draws = slab_describe_draws};

/* Values integrated out one slot after the other: log Z of two slots by quadrature over the second.
 */
static double slab_truth(size_t at, double *on) {
  enum { N_CELLS = 20000 };
  const int latent[2] = {0, 1};
  const gps_point point = {(int)at, the_case.y + at * CORE_DIMS, NULL, latent};
  const gps_states states = sizes(2, 2);
  double sum = 0, first_on = 0, second_on = 0;
  for (int k = -1; k < N_CELLS; k++) {
    double v[2] = {0, k < 0 ? 0 : -20 + 40 * (k + 0.5) / N_CELLS}, joint, precision, mean, odds;
    slab_log_joint_draw(&the_case.problem, &point, &states, v, &joint, NULL);
    slab_law(&the_case.problem, &point, 2, 0, v, &precision, &mean, &odds);
    const double weight = exp(joint) * (k < 0 ? 1 : 40.0 / N_CELLS);
    sum += weight * (1 + exp(odds));
    first_on += weight * exp(odds);
    if (k >= 0) second_on += weight * (1 + exp(odds));
  }
  on[0] = first_on / sum;
  on[1] = second_on / sum;
  return log(sum);
}

static void test_values(void) {
  double on[2];
  core_build(&the_case, 0);
  the_case.sigma2[0] = 8;
  const double truth = slab_truth(3, on);
  for (int n_keep = 1; n_keep <= 4; n_keep++) {
    const sampling_case it = {&slab_model, 2, 2, n_keep == 3 ? 0 : 20, n_keep, 1, full};
    check_moments(&it, truth, on);
  }
}

/* A sweep of one slot forgets where it came from: the estimate is exact. */
static void test_one_slot(void) {
  double on[1];
  core_build(&the_case, 0);
  const gps_states states = sizes(1, 1);
  for (int n_keep = 1; n_keep <= 3; n_keep++) {
    const gps_chain chain = {0, 0, n_keep, {3, 7}, 0, start, 3, 1};
    CHECK(sample(&model_binary_sparse, &states, &chain, full, 0, 1) == GPS_OK);
    CHECK_NEAR(log_evidence[0], sum_states(0, 1, 1, full, 1, on), 1e-10);
    CHECK_NEAR(prob_on[0], on[0], 1e-12);
    CHECK_NEAR(variance[0], 0, 1e-20);
  }
}

/* The two ways to the odds of a flip differ by rounding alone, and blocks not at all. */
static void test_ways(void) {
  const gps_model bare = without_gain();
  core_build(&the_case, 0);
  const gps_states states = sizes(5, 4);
  const gps_chain chain = {0, 2, 10, {1, 2}, 3, start, 3, 2};
  int latent[5 * CORE_POINTS];
  for (int i = 0; i < 5 * CORE_POINTS; i++) latent[i] = i % 3 == 0 && i > 50 ? -1 : gapped[i % 5];
  CHECK(sample(&model_binary_sparse, &states, &chain, latent, 0, CORE_POINTS) == GPS_OK);
  double first_draws[5 * 10 * CORE_POINTS], first_evidence[CORE_POINTS], first_on[5 * CORE_POINTS];
  memcpy(first_draws, draws, sizeof first_draws);
  memcpy(first_evidence, log_evidence, sizeof first_evidence);
  memcpy(first_on, prob_on, sizeof first_on);
  for (size_t n = 0; n < CORE_POINTS; n++) {
    CHECK(memcmp(value + 5 * n, draws + 5 * (10 * n + 9), 5 * sizeof(double)) == 0);
    for (size_t i = 0; i < 5; i++) {
      double mean = 0;
      for (size_t s = 0; s < 10; s++) mean += draws[i + 5 * (s + 10 * n)] / 10;
      CHECK_NEAR(mean_latent[i + 5 * n], mean, 1e-14);
      if (latent[i + 5 * n] < 0) CHECK(value[i + 5 * n] == 0 && prob_on[i + 5 * n] == 0);
    }
  }
  CHECK(sample(&bare, &states, &chain, latent, 0, CORE_POINTS) == GPS_OK);
  CHECK(memcmp(first_draws, draws, sizeof first_draws) == 0);
  for (size_t n = 0; n < CORE_POINTS; n++) CHECK_NEAR(first_evidence[n], log_evidence[n], 1e-10);
  for (size_t i = 0; i < 5 * CORE_POINTS; i++) CHECK_NEAR(first_on[i], prob_on[i], 1e-12);
  CHECK(sample(&model_binary_sparse, &states, &chain, latent, 0, 17) == GPS_OK);
  CHECK(sample(&model_binary_sparse, &states, &chain, latent, 17, CORE_POINTS) == GPS_OK);
  CHECK(memcmp(first_draws, draws, sizeof first_draws) == 0);
  CHECK(memcmp(first_evidence, log_evidence, sizeof first_evidence) == 0);
}

/* A chain starts where it is told, but not with more slots on than may be, nor with empty ones. */
static void test_start(void) {
  core_build(&the_case, 0);
  the_case.sigma2[0] = 1e-9;
  the_case.model->prepare(
      &the_case.problem, the_case.y,
      (double *[]){the_case.gram, the_case.proj, the_case.prior, the_case.y_square});
  for (int i = 0; i < 5 * CORE_POINTS; i++) start[i] = 1;
  int latent[5 * CORE_POINTS];
  for (int i = 0; i < 5 * CORE_POINTS; i++) latent[i] = gapped[i % 5];
  const gps_chain chain = {0, 0, 1, {1, 2}, 3, start, 3, 2};
  for (int max_active = 1; max_active <= 5; max_active++) {
    const gps_states states = sizes(5, max_active);
    CHECK(sample(the_case.model, &states, &chain, latent, 0, CORE_POINTS) == GPS_OK);
    for (int n = 0; n < CORE_POINTS; n++) {
      double n_on = 0;
      for (int i = 0; i < 5; i++) n_on += value[i + 5 * n];
      CHECK(n_on <= max_active);
      CHECK(value[2 + 5 * n] == 0);
    }
  }
  memset(start, 0, sizeof start);
}

static gps_status not_a_number(const gps_problem *problem, const gps_point *point, int n_given,
                               const int *given, int n_candidates, const int *candidate,
                               double *gain, double *model_scratch) {
  (void)problem, (void)n_given, (void)given, (void)n_candidates, (void)candidate;
  (void)model_scratch;
  gain[0] = point->index == 5 ? NAN : 0;
  return GPS_OK;
}

static void test_failure(void) {
  gps_model model = model_binary_sparse;
  model.gain = not_a_number;
  core_build(&the_case, 0);
  const gps_states states = sizes(3, 3);
  const gps_chain chain = {0, 1, 1, {1, 2}, 3, start, 3, 2};
  int latent[3 * CORE_POINTS];
  for (int i = 0; i < 3 * CORE_POINTS; i++) latent[i] = i % 3;
  size_t bad_point = 99;
  const infer_job job = {&model, &the_case.problem, &states, &chain, the_case.y,
                         latent, &posterior};
  CHECK(infer_gibbs(&job, 0, CORE_POINTS, NULL, scratch, ints, &bad_point) == GPS_NOT_FINITE);
  CHECK(bad_point == 5);
}

int main(void) {
  test_binary();
  test_values();
  test_one_slot();
  test_ways();
  test_start();
  test_failure();
  return check_report();
}
