/* Sparse targets spread over points. Eight points go together, interleaved: an entry of the targets
 * is one multiplication of eight numbers, and so is a tap of the blur, in either direction of the
 * grid. Called by r_gp_sparse.c. */
#include "gp_sparse.h"

#include <math.h>
#include <string.h>

#include "threads.h"
#include "vector_math.h"

#define LANES 8

static int is_held(const gp_slots *slots, size_t i) {
  return slots->selected[i] > 0 && slots->prob[i] != 0.0;
}

size_t gp_sparse_count(const gp_slots *slots, size_t n_points) {
  size_t n = 0;
  for (size_t i = 0; i < slots->n_slots * n_points; i++) n += (size_t)is_held(slots, i);
  return n;
}

void gp_sparse_sort(const gp_slots *slots, size_t n_points, gp_sparse_targets *targets) {
  size_t *first = targets->first;
  const size_t n_latents = targets->n_latents, n_slots = slots->n_slots;
  memset(first, 0, (n_latents + 1) * sizeof *first);
  for (size_t i = 0; i < n_slots * n_points; i++) {
    if (is_held(slots, i)) first[slots->selected[i]]++;
  }
  for (size_t l = 0; l < n_latents; l++) first[l + 1] += first[l];
  /* Filling moves each beginning to its end, which is the beginning of the next. */
  for (size_t n = 0; n < n_points; n++) {
    for (size_t i = n * n_slots; i < (n + 1) * n_slots; i++) {
      if (!is_held(slots, i)) continue;
      const size_t at = first[slots->selected[i] - 1]++;
      targets->point[at] = (int)n;
      targets->value[at] = slots->prob[i];
    }
  }
  memmove(first + 1, first, n_latents * sizeof *first);
  first[0] = 0;
}

size_t gp_blur_weights(size_t n_cells, double sd, double *weight) {
  const size_t radius = sd > 0.0 ? (size_t)floor(3.0 * sd) : 0, half = n_cells / 2;
  double total = 0.0;
  memset(weight, 0, (half + 1) * sizeof *weight);
  for (size_t k = 0; k <= radius; k++) {
    const double value = k == 0 ? 1.0 : exp(-0.5 * (double)(k * k) / (sd * sd));
    /* Distances go round the ring; what comes back to the cell itself comes from both sides. */
    const size_t around = k % n_cells, at = around <= half ? around : n_cells - around;
    weight[at] += k > 0 && at == 0 ? 2.0 * value : value;
    total += k > 0 ? 2.0 * value : value;
  }
  for (size_t k = 0; k <= half; k++) weight[k] /= total;
  return radius < half ? radius : half;
}

typedef struct {
  double *coef, *plane, *blurred, *line; /* all with LANES numbers for each element */
} workspace;

static size_t group_size(const gp_grid *grid) { return grid->height * grid->width; }

size_t gp_spread_scratch(const gp_spread_job *job) {
  const gp_grid *grid = job->grid;
  return LANES * (job->n_train + 2 * group_size(grid) + grid->height + 2 * grid->radius_down);
}

static workspace split_scratch(const gp_spread_job *job, double *scratch) {
  workspace w;
  w.coef = scratch;
  w.plane = w.coef + LANES * job->n_train;
  w.blurred = w.plane + LANES * group_size(job->grid);
  w.line = w.blurred + LANES * group_size(job->grid);
  return w;
}

/* Coefficients of up to LANES points from `from` on, interleaved; 0 for lanes without a point. */
static void load_coefficients(const gp_spread_job *job, size_t from, double *coef) {
  const size_t left = job->n_points - from, n = job->n_train;
  for (size_t b = 0; b < LANES; b++) {
    if (b >= left) {
      for (size_t m = 0; m < n; m++) coef[b + m * LANES] = 0.0;
      continue;
    }
    const double *column = job->coef + job->column[from + b] * n, scale = job->scale[from + b];
    for (size_t m = 0; m < n; m++) coef[b + m * LANES] = scale * column[m];
    if (job->left_out[from + b] >= 0) coef[b + (size_t)job->left_out[from + b] * LANES] = 0.0;
  }
}

/* plane [n x LANES] <- predictions of latents from `from` on. */
GPS_CLONES static void gather(const gp_sparse_targets *targets, size_t from, size_t n,
                              const double *coef, double *plane) {
  for (size_t l = 0; l < n; l++) {
    double *sum = plane + l * LANES;
    memset(sum, 0, LANES * sizeof *sum);
    for (size_t e = targets->first[from + l]; e < targets->first[from + l + 1]; e++) {
      const double *a = coef + (size_t)targets->point[e] * LANES, value = targets->value[e];
#pragma omp simd
      for (int b = 0; b < LANES; b++) sum[b] += value * a[b];
    }
  }
}

GPS_INLINE void add_pair(size_t n, double weight, const double *before, const double *after,
                         double *out) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) out[i] += weight * (before[i] + after[i]);
}

/* Along the rows' direction: each column, continued cyclically at both ends, is one long line. */
GPS_CLONES static void blur_down(const gp_grid *grid, double *line, const double *in, double *out) {
  const size_t h = grid->height, r = grid->radius_down, n = h * LANES;
  for (size_t c = 0; c < grid->width; c++) {
    const double *column = in + c * n;
    double *result = out + c * n, *middle = line + r * LANES;
    memcpy(middle, column, n * sizeof *line);
    /* The radius is at most half the height. */
    memcpy(line, column + (h - r) * LANES, r * LANES * sizeof *line);
    memcpy(middle + n, column, r * LANES * sizeof *line);
    scale_to(n, grid->down[0], middle, result);
    for (size_t k = 1; k <= r; k++) {
      add_pair(n, grid->down[k], middle - k * LANES, middle + k * LANES, result);
    }
  }
}

GPS_CLONES static void blur_across(const gp_grid *grid, const double *in, double *out) {
  const size_t w = grid->width, n = grid->height * LANES;
  for (size_t c = 0; c < w; c++) {
    scale_to(n, grid->across[0], in + c * n, out + c * n);
    for (size_t k = 1; k <= grid->radius_across; k++) {
      add_pair(n, grid->across[k], in + (c + w - k) % w * n, in + (c + k) % w * n, out + c * n);
    }
  }
}

/* The latents of one group for up to LANES points, into affinity [n_latents x n_points]. */
static void spread_group(const gp_spread_job *job, const workspace *w, size_t from, size_t n,
                         size_t n_points, double *affinity) {
  const gp_sparse_targets *targets = job->targets;
  const gp_grid *grid = job->grid;
  if (targets->first[from] == targets->first[from + n]) {
    for (size_t b = 0; b < n_points; b++) {
      memset(affinity + from + b * targets->n_latents, 0, n * sizeof *affinity);
    }
    return;
  }
  gather(targets, from, n, w->coef, w->plane);
  if (grid->radius_down + grid->radius_across > 0) {
    blur_down(grid, w->line, w->plane, w->blurred);
    blur_across(grid, w->blurred, w->plane);
  }
  for (size_t b = 0; b < n_points; b++) {
    double *column = affinity + from + b * targets->n_latents;
    for (size_t l = 0; l < n; l++) column[l] = w->plane[b + l * LANES];
  }
}

static void spread_points(const gp_spread_job *job, size_t from, double *affinity,
                          double *scratch) {
  const workspace w = split_scratch(job, scratch);
  const size_t n_latents = job->targets->n_latents, size = group_size(job->grid);
  const size_t left = job->n_points - from, n_points = left < LANES ? left : LANES;
  load_coefficients(job, from, w.coef);
  for (size_t l = 0; l < n_latents; l += size) {
    const size_t n = n_latents - l < size ? n_latents - l : size;
    spread_group(job, &w, l, n, n_points, affinity + from * n_latents);
  }
}

void gp_spread(const gp_spread_job *job, int n_threads, double *affinity, double *scratch) {
  const size_t n_panels = (job->n_points + LANES - 1) / LANES, room = gp_spread_scratch(job);
#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (int t = 0; t < n_threads; t++) {
    const size_t end = share_start(n_panels, t + 1, n_threads);
    for (size_t p = share_start(n_panels, t, n_threads); p < end; p++) {
      if (gps_must_stop(job->watch)) break;
      spread_points(job, p * LANES, affinity, scratch + room * (size_t)t);
    }
  }
}

/* tap [n_cells]: what a cell gives to the one so far after it in its ring. Over half of an even
 * ring it goes in both directions. */
static void list_taps(size_t n_cells, size_t radius, const double *weight, double *tap) {
  for (size_t k = 0; k < n_cells; k++) {
    const size_t distance = k < n_cells - k ? k : n_cells - k;
    tap[k] = distance > radius ? 0.0 : weight[distance] * (2 * distance == n_cells ? 2.0 : 1.0);
  }
}

static size_t count_taps(size_t n_cells, size_t radius) {
  return 2 * radius + 1 < n_cells ? 2 * radius + 1 : n_cells;
}

size_t gp_spread_room(const gp_grid *grid) {
  return count_taps(grid->height, grid->radius_down) * count_taps(grid->width, grid->radius_across);
}

/* One target into the slots from latent[0] on; returns how many it takes. */
static size_t spread_slot(const gp_grid *grid, const double *down, const double *across,
                          size_t from, double prob, int *latent, double *value) {
  const size_t h = grid->height, w = grid->width, place = from % (h * w), group = from - place;
  size_t n = 0;
  for (size_t c = 0; c < w; c++) {
    if (across[c] == 0.0) continue;
    const size_t column = group + (place / h + c) % w * h;
    for (size_t r = 0; r < h; r++) {
      if (down[r] == 0.0) continue;
      latent[n] = (int)(column + (place % h + r) % h) + 1;
      value[n++] = down[r] * across[c] * prob;
    }
  }
  return n;
}

void gp_spread_slots(const gp_grid *grid, const gp_slots *slots, size_t n_points, size_t n_wide,
                     int *latent, double *value, double *scratch) {
  const size_t n_slots = slots->n_slots;
  double *down = scratch, *across = scratch + grid->height;
  list_taps(grid->height, grid->radius_down, grid->down, down);
  list_taps(grid->width, grid->radius_across, grid->across, across);
  for (size_t n = 0; n < n_points; n++) {
    size_t at = n * n_wide;
    for (size_t i = n * n_slots; i < (n + 1) * n_slots; i++) {
      if (!is_held(slots, i)) continue;
      at += spread_slot(grid, down, across, (size_t)slots->selected[i] - 1, slots->prob[i],
                        latent + at, value + at);
    }
    memset(latent + at, 0, ((n + 1) * n_wide - at) * sizeof *latent);
    memset(value + at, 0, ((n + 1) * n_wide - at) * sizeof *value);
  }
}
