/* Statistics of the states in which one latent is on, gathered latent by latent: what a latent has
 * of them is touched by its own points alone, so that many latents cost no more than their slots.
 * The sums are those of the tree over blocks of data points (blocks.h), to the last bit: a block
 * without a point of the latent would add 0. Called by r_latents.c. */
#include <string.h>

#include "blocks.h"
#include "infer.h"
#include "threads.h"
#include "vector_math.h"

/* Numbers that are added between two questions whether to stop. */
#define QUESTION_WORK ((size_t)1 << 14)

size_t infer_count_shares(const double *prob_on, const int *latent, int n_slots, int n_points,
                          int n_latents, size_t *start) {
  const size_t n = (size_t)n_slots * (size_t)n_points;
  memset(start, 0, ((size_t)n_latents + 1) * sizeof *start);
  for (size_t i = 0; i < n; i++) {
    if (latent[i] >= 0 && prob_on[i] > GPS_NEGLIGIBLE) start[latent[i] + 1]++;
  }
  for (int h = 0; h < n_latents; h++) start[h + 1] += start[h];
  return start[n_latents];
}

void infer_sort_shares(const double *prob_on, const int *latent, const double *point_weight,
                       int n_slots, int n_points, gps_shares *shares) {
  size_t i = 0;
  for (int n = 0; n < n_points; n++) {
    const double times = point_weight ? point_weight[n] : 1;
    for (int slot = 0; slot < n_slots; slot++, i++) {
      if (latent[i] < 0 || !(prob_on[i] > GPS_NEGLIGIBLE)) continue;
      shares->share[shares->next[latent[i]]++] = (gps_share){times * prob_on[i], n};
    }
  }
}

/* The data of a share's point lie anywhere: they are fetched so many shares ahead. */
#define SHARES_AHEAD 12

/* Whether the blocks a and b meet in the tree before b and c do: the highest bit in which a and b
 * differ is a lower one. */
static int meet_before(size_t a, size_t b, size_t c) {
  const size_t near = a ^ b, far = b ^ c;
  return near < far && near < (near ^ far);
}

/* Partial sums of a latent, leftmost first: each with the last of its blocks. */
typedef struct {
  int n;
  size_t last[GPS_MAX_LEVELS + 1];
} sum_stack;

/* The two rightmost sums become one. storage [length] each. */
static void join_top(sum_stack *stack, double *storage, size_t length) {
  double *left = storage + (size_t)(stack->n - 2) * length, *right = left + length;
  add_multiple(length, 1.0, right, left);
  stack->last[stack->n - 2] = stack->last[stack->n - 1];
  stack->n--;
}

/* A sum of zeros on top for the block that comes next, after those that meet before it have been
 * joined. */
static void push_block(sum_stack *stack, double *storage, size_t length, size_t block) {
  while (stack->n > 1 && meet_before(stack->last[stack->n - 2], stack->last[stack->n - 1], block))
    join_top(stack, storage, length);
  memset(storage + (size_t)stack->n * length, 0, length * sizeof *storage);
  stack->last[stack->n++] = block;
}

size_t infer_latents_scratch(const gps_latent_sums *sums, int n_points) {
  const size_t n_blocks = ((size_t)n_points + GPS_BLOCK_POINTS - 1) / GPS_BLOCK_POINTS;
  return ((size_t)fold_levels(n_blocks) + 2) * sums->length + sums->model_scratch;
}

/* All of one latent, into the storage's beginning. */
static gps_status sum_latent(const gps_latent_sums *sums, const gps_shares *shares, int latent,
                             double *storage, double **part, double *scratch) {
  const size_t n_dims = (size_t)sums->problem->shape.n_dims, length = sums->length;
  const size_t every = QUESTION_WORK / length + 1, end = shares->start[latent + 1];
  const size_t n_shares = shares->start[sums->problem->shape.n_latents];
  sum_stack stack = {0, {0}};
  size_t n_calls = 0;
  memset(storage, 0, length * sizeof *storage);
  for (size_t i = shares->start[latent]; i < end; i++) {
    const gps_share share = shares->share[i];
    const size_t n = (size_t)share.point, block = n / GPS_BLOCK_POINTS;
    if (gps_must_stop_each(sums->problem->watch, every, &n_calls)) return GPS_INTERRUPTED;
    if (i + SHARES_AHEAD < n_shares)
      prefetch_doubles(sums->y + (size_t)shares->share[i + SHARES_AHEAD].point * n_dims, n_dims);
    if (stack.n == 0 || stack.last[stack.n - 1] != block) {
      push_block(&stack, storage, length, block);
      double *at = storage + (size_t)(stack.n - 1) * length;
      for (int s = 0; s < sums->n_stats; s++) {
        part[s] = sums->part_length[s] > 0 ? at : NULL;
        at += sums->part_length[s];
      }
    }
    const gps_point point = {(int)n, sums->y + n * n_dims, gps_observed_of(sums->problem, (int)n),
                             NULL};
    const gps_status status =
        sums->model->accumulate_latent(sums->problem, &point, latent, share.weight, part, scratch);
    if (status != GPS_OK) return status;
  }
  while (stack.n > 1) join_top(&stack, storage, length);
  return GPS_OK;
}

static void take_latent(const gps_latent_sums *sums, int latent, const double *from) {
  for (int s = 0; s < sums->n_stats; s++) {
    const size_t n = sums->part_length[s];
    memcpy(sums->stats[s] + n * (size_t)latent, from, n * sizeof *from);
    from += n;
  }
}

gps_status infer_latents(const gps_latent_sums *sums, const gps_shares *shares, int from, int to,
                         int n_threads, double *scratch, double **part, size_t scratch_length) {
  gps_status worst = GPS_OK;
  int first_bad = to;
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 4)
  for (int h = from; h < to; h++) {
    const size_t thread = (size_t)thread_number();
    double *own = scratch + thread * scratch_length, *storage = own + sums->model_scratch;
    const gps_status status =
        sum_latent(sums, shares, h, storage, part + thread * (size_t)sums->n_stats, own);
    if (status == GPS_OK) {
      take_latent(sums, h, storage);
      continue;
    }
#pragma omp critical
    if (h < first_bad) {
      first_bad = h;
      worst = status;
    }
  }
  return worst;
}
