/* The hand-crafted scan of model E for R. The scores are in model_occlusive_scan.c. */
#include "model_occlusive.h"
#include "r_model.h"
#include "threads.h"

extern const gps_model model_occlusive;

/* Images of each thread in the first slice. */
#define FIRST_SLICE 4

typedef struct {
  const gps_problem *problem;
  const occlusive_scan_plan *plan;
  const double *y;
  double *affinity, *scratch;
  int *ints;
  size_t n_doubles, n_ints; /* of each thread */
} scan_job;

static void scan_images(const scan_job *job, int from, int to, int n_threads) {
  const size_t n_dims = (size_t)job->problem->shape.n_dims;
  const size_t n_latents = (size_t)job->problem->shape.n_latents;
#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (int n = from; n < to; n++) {
    const size_t thread = (size_t)thread_number();
    const gps_point point = {n, job->y + (size_t)n * n_dims, gps_observed_of(job->problem, n),
                             NULL};
    /* Gains of finite data are finite: nothing in here fails. */
    occlusive_scan(job->problem, &point, job->plan, job->affinity + n_latents * (size_t)n,
                   job->scratch + job->n_doubles * thread, job->ints + job->n_ints * thread);
  }
}

/* Slice by slice, with a question between two of them. */
static void scan_slices(const scan_job *job, int n_threads) {
  const size_t n_points = (size_t)job->problem->n_points;
  size_t slice = FIRST_SLICE, step = 0;
  for (size_t from = 0; from < n_points; from += step) {
    const double began = clock_seconds();
    step = slice * (size_t)n_threads;
    const size_t to = step < n_points - from ? from + step : n_points;
    scan_images(job, (int)from, (int)to, n_threads);
    ask_watch();
    slice = adapt_slice(slice, clock_seconds() - began);
  }
}

/* native, list(shape, inputs, lengths), y, block, n_threads -> affinity [n_latents x n]. */
SEXP r_occlusive_scan(SEXP native, SEXP problem_list, SEXP y, SEXP block_list, SEXP n_threads) {
  const gps_model *model = find_model(native);
  if (model != &model_occlusive) raise_error("model", "The scan is for model_occlusive() alone.");
  const SEXP shape = list_need(problem_list, "shape");
  const r_block block = read_block(y, block_list, view_ints(shape, 2, "shape")[0]);
  const gps_problem problem = read_problem(model, shape, list_need(problem_list, "inputs"),
                                           list_need(problem_list, "lengths"), block, 1);
  const occlusive it = occlusive_of(&problem);
  if (!occlusive_fits(&it, &problem)) raise_error("model", "Images are not those of the model.");
  const double n_gains = (double)block.n_points * problem.shape.n_latents;
  const int threads = threads_for(n_threads, n_gains * problem.shape.n_dims);
  const size_t n_doubles = occlusive_scan_scratch(&problem), n_ints = occlusive_scan_ints(&problem);
  occlusive_scan_plan *plan = (occlusive_scan_plan *)R_alloc((size_t)it.n_components, sizeof *plan);
  int *order = (int *)R_alloc((size_t)(it.n_rows * it.n_cols), sizeof *order);
  for (int h = 0; h < it.n_components; h++) occlusive_plan_scan(&problem, h, order, plan + h);
  const SEXP result = PROTECT(Rf_allocMatrix(REALSXP, problem.shape.n_latents, block.n_points));
  const scan_job job = {.problem = &problem,
                        .plan = plan,
                        .y = block.y,
                        .affinity = REAL(result),
                        .scratch = (double *)R_alloc(n_doubles * (size_t)threads, sizeof(double)),
                        .ints = (int *)R_alloc(n_ints * (size_t)threads, sizeof(int)),
                        .n_doubles = n_doubles,
                        .n_ints = n_ints};
  scan_slices(&job, threads);
  UNPROTECT(1);
  return result;
}
