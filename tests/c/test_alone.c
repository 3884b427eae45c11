/* The ranking by log joints of one latent alone: against the log joint, and whose failure is told.
 */
#include "check.h"
#include "core_models.h"
#include "infer.h"

static core_case the_case;
static double affinity[CORE_LATENTS * CORE_POINTS];
static int latent[CORE_LATENTS];

static gps_status rank_all(const gps_model *model, int n_threads, size_t *bad_point) {
  const gps_states one = {.n_slots = 1, .max_active = 1, .n_states = 1};
  const size_t length = model->scratch_size(&the_case.problem, &one);
  double *scratch = malloc((length * (size_t)n_threads + 1) * sizeof *scratch);
  const alone_job job = {.model = model,
                         .problem = &the_case.problem,
                         .y = the_case.y,
                         .latent = latent,
                         .affinity = affinity,
                         .scratch = scratch,
                         .scratch_length = length,
                         .n_threads = n_threads};
  const gps_status status = infer_alone(&job, 0, CORE_POINTS, bad_point);
  free(scratch);
  return status;
}

/* The ranking of each latent is the log joint of its state, but for what all of a point share. */
static void test_ranking(int number) {
  size_t bad_point;
  core_build(&the_case, number);
  CHECK(rank_all(the_case.model, most_threads(), &bad_point) == GPS_OK);
  for (size_t n = 0; n < CORE_POINTS; n++) {
    const int first = 0;
    const double shared = affinity[n * CORE_LATENTS] - core_log_joint(&the_case, n, 1, &first);
    for (int h = 0; h < CORE_LATENTS; h++) {
      CHECK_NEAR(affinity[n * CORE_LATENTS + (size_t)h],
                 shared + core_log_joint(&the_case, n, 1, &h), 1e-9 * (1 + fabs(shared)));
    }
  }
}

static gps_status fail_at_three(const gps_problem *problem, const gps_point *point, int n_given,
                                const int *given, int n_candidates, const int *candidate,
                                double *gain, double *scratch) {
  (void)problem, (void)n_given, (void)given, (void)candidate, (void)scratch;
  for (int c = 0; c < n_candidates; c++) gain[c] = 0;
  if (point->index == 39) return GPS_BAD_MODEL;
  return point->index == 12 || point->index == 20 ? GPS_NOT_FINITE : GPS_OK;
}

/* Of several failures that of the smallest data point, whichever thread meets it. */
static void test_failure(void) {
  core_build(&the_case, 0);
  gps_model model = *the_case.model;
  model.gain = fail_at_three;
  for (int n_threads = 1; n_threads <= most_threads(); n_threads++) {
    size_t bad_point = 99;
    CHECK(rank_all(&model, n_threads, &bad_point) == GPS_NOT_FINITE);
    CHECK(bad_point == 12);
  }
}

int main(void) {
  for (int h = 0; h < CORE_LATENTS; h++) latent[h] = h;
  for (int number = 0; number <= 1; number++) test_ranking(number);
  test_failure();
  return check_report();
}
