/* Blocks of data points that several threads infer at once, as the shell has them do it, and
 * statistics that they gather latent by latent: the same to the last bit as those of one thread. */
#include "check.h"
#include "core_models.h"
#include "infer.h"

enum { N_BLOCKS = 8, BLOCK = CORE_POINTS / N_BLOCKS, N_SLOTS = 3, N_STATES = 1 << N_SLOTS };
enum { N_KEEP = 4, MOST_STATS = 9, STAT = 8 * CORE_DIMS * CORE_LATENTS, SCRATCH = 8192 };
enum { INTS = 1024 };

/* All that is written: a block's statistics are its own, as is each point's column. */
typedef struct {
  double prob_on[N_SLOTS * CORE_POINTS], log_evidence[CORE_POINTS], mean[N_SLOTS * CORE_POINTS];
  double response[CORE_DIMS * CORE_POINTS], value[N_SLOTS * CORE_POINTS], variance[CORE_POINTS];
  double draws[N_SLOTS * N_KEEP * CORE_POINTS], stats[N_BLOCKS][MOST_STATS][STAT];
} outcome;

static core_case the_case;
static int latent[N_SLOTS * CORE_POINTS];
static outcome one, many, gathered;

static void choose_latents(void) {
  for (int n = 0; n < CORE_POINTS; n++) {
    for (int i = 0; i < N_SLOTS; i++)
      latent[i + n * N_SLOTS] = i == 2 && n % 6 == 5 ? -1 : n % 3 + 2 * i;
  }
}

/* All states of the slots, or one for each. */
static gps_states template_of(int is_one_hot, int *n_active, int *active, int *parent) {
  const int n_states = is_one_hot ? N_SLOTS : N_STATES, most = is_one_hot ? 1 : N_SLOTS;
  for (int m = 0; m < n_states; m++) {
    int n = 0, last = 0;
    for (int i = 0; i < N_SLOTS; i++) {
      if (is_one_hot ? i == m : m >> i & 1) active[m * most + n++] = last = i;
    }
    n_active[m] = n;
    parent[m] = is_one_hot || m == 0 ? -1 : m - (1 << last);
  }
  const gps_states states = {N_SLOTS, most, n_states, n_active, active, parent, !is_one_hot};
  return states;
}

static void run_block(const infer_job *job, int b, outcome *out, gps_status *status) {
  const size_t from = (size_t)b * BLOCK,
               n_stats = count_named(job->model->stats, sizeof(gps_array));
  double *scratch = malloc(SCRATCH * sizeof *scratch), *stats[MOST_STATS];
  int *ints = malloc(INTS * sizeof *ints);
  size_t bad_point;
  for (size_t s = 0; s < n_stats; s++) stats[s] = out->stats[b][s];
  *status = job->chain ? infer_gibbs(job, from, from + BLOCK, stats, scratch, ints, &bad_point)
                       : infer_exact(job, from, from + BLOCK, stats, scratch, &bad_point);
  free(ints);
  free(scratch);
}

static void run(const gps_states *states, const gps_chain *chain, int n_threads, outcome *out) {
  const gps_posterior posterior = {.prob_on = out->prob_on,
                                   .log_evidence = out->log_evidence,
                                   .latent = out->mean,
                                   .response = out->response,
                                   .value = chain ? out->value : NULL,
                                   .variance = chain ? out->variance : NULL,
                                   .draws = chain ? out->draws : NULL};
  const infer_job job = {the_case.model, &the_case.problem, states, chain, the_case.y,
                         latent,         &posterior};
  gps_status status[N_BLOCKS];
  memset(out, 0, sizeof *out);
#pragma omp parallel for num_threads(n_threads) schedule(dynamic)
  for (int b = 0; b < N_BLOCKS; b++) run_block(&job, b, out, status + b);
  for (int b = 0; b < N_BLOCKS; b++) CHECK(status[b] == GPS_OK);
}

static void test_blocks(const gps_states *states, const gps_chain *chain) {
  run(states, chain, 1, &one);
  double sum = 0;
  for (size_t i = 0; i < N_SLOTS * CORE_POINTS; i++) sum += one.prob_on[i];
  CHECK(sum > 1);
  for (int n_threads = 2; n_threads <= most_threads(); n_threads++) {
    run(states, chain, n_threads, &many);
    CHECK(memcmp(&one, &many, sizeof one) == 0);
  }
}

/* Again and again: one thread can be done with all latents before another begins. */
static void gather(const gps_latent_sums *sums, int n_threads) {
  size_t start[CORE_LATENTS + 1], next[CORE_LATENTS + 1];
  gps_share share[N_SLOTS * CORE_POINTS];
  gps_shares shares = {start, next, share};
  const size_t length = infer_latents_scratch(sums, CORE_POINTS);
  double *scratch = malloc(length * (size_t)n_threads * sizeof *scratch), *part[4 * 5];
  infer_count_shares(one.prob_on, latent, N_SLOTS, CORE_POINTS, CORE_LATENTS, start);
  memcpy(next, start, sizeof start);
  infer_sort_shares(one.prob_on, latent, NULL, N_SLOTS, CORE_POINTS, &shares);
  int n_failed = 0;
  for (int k = 0; k < 50 * n_threads; k++)
    n_failed +=
        infer_latents(sums, &shares, 0, CORE_LATENTS, n_threads, scratch, part, length) != GPS_OK;
  CHECK(n_failed == 0);
  free(scratch);
}

/* Of a mixture, against the sums over blocks. */
static void test_latents(const gps_states *states, size_t n_second) {
  const size_t part_length[] = {0, 1, CORE_DIMS, n_second};
  CHECK_WHOLE(part_length, the_case.model->stats);
  run(states, NULL, 1, &one);
  for (int n_threads = 1; n_threads <= most_threads(); n_threads++) {
    double *stats[4];
    for (int s = 0; s < 4; s++) stats[s] = many.stats[0][s];
    const gps_latent_sums sums = {the_case.model,
                                  &the_case.problem,
                                  the_case.y,
                                  4,
                                  part_length,
                                  1 + CORE_DIMS + n_second,
                                  the_case.model->scratch_size(&the_case.problem, states),
                                  stats};
    memset(&many, 0, sizeof many);
    gather(&sums, n_threads);
    if (n_threads == 1) gathered = many;
    CHECK(memcmp(&gathered, &many, sizeof many) == 0);
    for (size_t s = 1; s < 4; s++) {
      for (size_t i = 0; i < part_length[s] * CORE_LATENTS; i++) {
        double sum = 0;
        for (int b = 0; b < N_BLOCKS; b++) sum += one.stats[b][s][i];
        CHECK_NEAR(many.stats[0][s][i], sum, 1e-12);
      }
    }
  }
}

static gps_status fail_by_latent(const gps_problem *problem, const gps_point *point, int h,
                                 double weight, double *const *part, double *scratch) {
  (void)problem, (void)point, (void)weight, (void)part, (void)scratch;
  return h == 1 ? GPS_NOT_FINITE : h == 5 ? GPS_NOT_POSDEF : GPS_OK;
}

/* Of several failures that of the smallest latent, whichever thread meets it last. */
static void test_failure(void) {
  size_t start[] = {0, 1, 2, 3, 4, 5, 6, 7}, part_length[] = {0, 0, 1, 0};
  gps_share share[CORE_LATENTS] = {{0, 0}};
  gps_model model = *the_case.model;
  const gps_shares shares = {start, NULL, share};
  double out[CORE_LATENTS], *stats[4] = {out, out, out, out}, scratch[4 * 5], *part[4 * 5];
  const gps_latent_sums sums = {&model, &the_case.problem, the_case.y, 4, part_length, 1, 0, stats};
  model.accumulate_latent = fail_by_latent;
  CHECK(infer_latents_scratch(&sums, CORE_POINTS) <= 4);
  for (int n_threads = 1; n_threads <= most_threads(); n_threads++)
    CHECK(infer_latents(&sums, &shares, 0, CORE_LATENTS, n_threads, scratch, part, 4) ==
          GPS_NOT_FINITE);
}

int main(void) {
  static const double start[N_SLOTS * CORE_POINTS];
  const gps_chain chain = {.n_hot = 3,
                           .n_burn = 5,
                           .n_keep = N_KEEP,
                           .seed = {1, 7},
                           .value = start,
                           .n_new = 3,
                           .period = 1};
  int n_active[N_STATES], active[N_STATES * N_SLOTS], parent[N_STATES];
  choose_latents();
  for (int number = 0; number <= 5; number++) {
    core_build(&the_case, number);
    const gps_states states = template_of(the_case.is_one_hot, n_active, active, parent);
    test_blocks(&states, NULL);
    if (!the_case.is_one_hot) test_blocks(&states, &chain);
    /* Covariances are full, diagonal, spherical; rows of full ones have room for 8 numbers. */
    if (the_case.is_one_hot)
      test_latents(&states, number == 1 ? 8 * CORE_DIMS : number == 2 ? CORE_DIMS : 1);
  }
  test_failure();
  return check_report();
}
