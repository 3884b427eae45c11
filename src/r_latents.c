/* Statistics latent by latent, for r_estep.c: how much of each array is a latent's own, and room
 * for the shares. The sums are in infer_latents.c. */
#include "r_latents.h"

#include <string.h>

/* Statistics smaller than this stay in cache, and are as cheap in one go with the E-step. */
#define FEW_NUMBERS ((size_t)1 << 14)
/* The same where cells are missing: models look at several latents of a point at once. */
#define FEW_WITH_GAPS ((size_t)1 << 18)

/* Whether the text that stops at `end`, of so many letters, has `word` as its last word. */
static int has_last_word(const char *end, size_t length, const char *word) {
  const size_t n = strlen(word);
  if (length < n || strncmp(end - n, word, n) != 0) return 0;
  return length == n || end[-1 - (int)n] == ' ' || end[-1 - (int)n] == '|';
}

/* Whether the last word of a shape, or of each of its alternatives, is "latents"; one that ends in
 * "one" is what all latents have together, and is told by the array itself. */
static int ends_in_latents(const char *shape) {
  for (const char *end = shape;; end++) {
    if (*end != '|' && *end != '\0') continue;
    const size_t length = (size_t)(end - shape);
    if (!has_last_word(end, length, "latents") && !has_last_word(end, length, "one")) return 0;
    if (*end == '\0') return 1;
  }
}

/* The last axis of an array. */
static int last_axis(SEXP array) {
  const SEXP dim = Rf_getAttrib(array, R_DimSymbol);
  return dim == R_NilValue ? Rf_length(array) : INTEGER(dim)[Rf_length(dim) - 1];
}

int sums_by_latent(const gps_model *model, const gps_problem *problem, const gps_states *states,
                   SEXP stats, size_t stats_length) {
  if (!model->accumulate_latent || states->max_active != 1) return 0;
  const size_t few = problem->missing ? FEW_WITH_GAPS : FEW_NUMBERS;
  if (states->n_states != states->n_slots || stats_length < few) return 0;
  for (int s = 0; s < count_arrays(model->stats); s++) {
    const char *shape = model->stats[s].shape;
    if (shape == NULL) return 0;
    if (strcmp(shape, "one") == 0) continue;
    if (!ends_in_latents(shape) || last_axis(VECTOR_ELT(stats, s)) != problem->shape.n_latents)
      return 0;
  }
  /* Few latents have many points each, and work is shared out by latents. */
  return problem->shape.n_latents >= 16;
}

/* Points that have a latent in a slot. */
static double count_reached(const r_posterior_slots *slots, int n_slots, int n_points) {
  double n_reached = 0;
  for (int n = 0; n < n_points; n++) {
    int has_latent = 0;
    for (int i = 0; i < n_slots; i++)
      has_latent |= slots->latent[(size_t)n * (size_t)n_slots + (size_t)i] >= 0;
    if (has_latent) n_reached += slots->weight ? slots->weight[n] : 1;
  }
  return n_reached;
}

static gps_shares sort_shares(const gps_problem *problem, int n_slots,
                              const r_posterior_slots *slots) {
  const int n_points = problem->n_points, n_latents = problem->shape.n_latents;
  const size_t n_starts = (size_t)n_latents + 1;
  gps_shares shares = {.start = (size_t *)R_alloc(n_starts, sizeof(size_t)),
                       .next = (size_t *)R_alloc(n_starts, sizeof(size_t))};
  const size_t n =
      infer_count_shares(slots->prob_on, slots->latent, n_slots, n_points, n_latents, shares.start);
  memcpy(shares.next, shares.start, n_starts * sizeof *shares.next);
  shares.share = (gps_share *)R_alloc(n, sizeof(gps_share));
  infer_sort_shares(slots->prob_on, slots->latent, slots->weight, n_slots, n_points, &shares);
  return shares;
}

void sum_latents(const gps_model *model, const gps_problem *problem, const gps_states *states,
                 const double *y, const r_posterior_slots *slots, const size_t *offset,
                 double *const *stat, int n_threads) {
  const int n_stats = count_arrays(model->stats), n_latents = problem->shape.n_latents;
  size_t *part_length = (size_t *)R_alloc((size_t)n_stats, sizeof *part_length);
  gps_latent_sums sums = {.model = model,
                          .problem = problem,
                          .y = y,
                          .n_stats = n_stats,
                          .part_length = part_length,
                          .model_scratch = model->scratch_size(problem, states),
                          .stats = stat};
  for (int s = 0; s < n_stats; s++) {
    const int is_own = strcmp(model->stats[s].shape, "one") != 0;
    part_length[s] = is_own ? (offset[s + 1] - offset[s]) / (size_t)n_latents : 0;
    sums.length += part_length[s];
    if (!is_own) *stat[s] = count_reached(slots, states->n_slots, problem->n_points);
  }
  const gps_shares shares = sort_shares(problem, states->n_slots, slots);
  const size_t length = infer_latents_scratch(&sums, problem->n_points);
  const size_t threads = (size_t)n_threads;
  double *scratch = (double *)R_alloc(length * threads, sizeof *scratch);
  double **part = (double **)R_alloc((size_t)n_stats * threads, sizeof *part);
  need_ok(infer_latents(&sums, &shares, 0, n_latents, n_threads, scratch, part, length),
          "Gathering statistics");
}
