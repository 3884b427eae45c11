/* The exact conditional of one latent in a max superposition. Breakpoints are z = others / w: those
 * of w > 0 lie at z >= 0, those of w < 0 at z <= 0, so that on each side of zero the sums over the
 * dimensions won only grow, and nothing cancels. Called by model_max_spike_slab.c. */
#include "max_conditional.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define LANES 8
/* Keys sorted by counting; longer arrays are merged from runs of this length. */
#define RUN ((size_t)64)

/* What a dimension adds to precision, slope and height once z wins it. */
typedef struct {
  double *prec, *slope, *height; /* [n_dims] */
  double *at;                    /* [n_dims] breakpoints */
  double *key, *index;           /* [rows] those of one side, by size, and their dimensions */
  double *key_out, *index_out;   /* [rows] for sorting */
} max_terms;

static size_t padded(size_t n) { return (n + LANES - 1) / LANES * LANES; }

enum { N_TERMS = 8 };

size_t max_latent_scratch(size_t n_dims) {
  return N_TERMS * padded(n_dims) + normal_pieces_scratch(n_dims + 2);
}

static max_terms terms_in(double *scratch, size_t n_dims) {
  const size_t row = padded(n_dims);
  const max_terms terms = {scratch,           scratch + row,     scratch + 2 * row,
                           scratch + 3 * row, scratch + 4 * row, scratch + 5 * row,
                           scratch + 6 * row, scratch + 7 * row};
  return terms;
}

GPS_CLONES static void set_terms(const max_latent *latent, max_terms *terms) {
  const double *restrict y = latent->y, *restrict w = latent->w, *restrict others = latent->others;
  double *restrict prec = terms->prec, *restrict slope = terms->slope;
  double *restrict height = terms->height, *restrict at = terms->at;
  const double precision = latent->beta / latent->sigma2, mu = latent->mu;
  const size_t n_dims = latent->n_dims;
#pragma omp simd
  for (size_t d = 0; d < n_dims; d++) {
    const double reached = others ? others[d] : 0;
    const double mean = mu * w[d], scaled = precision * w[d];
    prec[d] = scaled * w[d];
    slope[d] = scaled * (y[d] - mean);
    height[d] = 0.5 * precision * (mean - reached) * (2 * y[d] - reached - mean);
    at[d] = reached / w[d];
  }
}

/* rank[i] <- how many of the n keys stand before key i; equal ones keep their order. key and rank
 * have room up to a multiple of the lanes. */
GPS_CLONES static void rank_keys(size_t n, double *restrict key, double *restrict rank) {
  for (size_t i = n; i < padded(n); i++) key[i] = HUGE_VAL;
  for (size_t i = 0; i < n; i += LANES) {
    double before[LANES] = {0};
    for (size_t j = 0; j < i; j++) {
      const double other = key[j];
#pragma omp simd
      for (size_t l = 0; l < LANES; l++) before[l] += other <= key[i + l] ? 1 : 0;
    }
    for (size_t j = i; j < i + LANES; j++) {
      const double other = key[j];
#pragma omp simd
      for (size_t l = 0; l < LANES; l++) {
        before[l] += other < key[i + l] || (other == key[i + l] && j < i + l) ? 1 : 0;
      }
    }
    for (size_t j = i + LANES; j < n; j++) {
      const double other = key[j];
#pragma omp simd
      for (size_t l = 0; l < LANES; l++) before[l] += other < key[i + l] ? 1 : 0;
    }
    memcpy(rank + i, before, sizeof before);
  }
}

/* Merges the sorted runs [0, middle) and [middle, n) of keys with their indices. */
static void merge_runs(size_t middle, size_t n, const double *key, const double *index,
                       double *key_out, double *index_out) {
  size_t a = 0, b = middle;
  for (size_t i = 0; i < n; i++) {
    const size_t at = b >= n || (a < middle && key[a] <= key[b]) ? a++ : b++;
    key_out[i] = key[at];
    index_out[i] = index[at];
  }
}

/* Sorts n keys with their indices; the result is in key and index of the terms. */
static void sort_keys(size_t n, max_terms *terms) {
  for (size_t from = 0; from < n; from += RUN) {
    const size_t length = n - from < RUN ? n - from : RUN;
    double key[RUN], rank[RUN];
    memcpy(key, terms->key + from, length * sizeof *key);
    rank_keys(length, key, rank);
    for (size_t i = 0; i < length; i++) {
      const size_t at = from + (size_t)rank[i];
      terms->key[at] = key[i];
      terms->index_out[at] = terms->index[from + i];
    }
  }
  double *swap = terms->index;
  terms->index = terms->index_out;
  terms->index_out = swap;
  for (size_t run = RUN; run < n; run *= 2) {
    for (size_t from = 0; from < n; from += 2 * run) {
      const size_t length = n - from < 2 * run ? n - from : 2 * run;
      merge_runs(run < length ? run : length, length, terms->key + from, terms->index + from,
                 terms->key_out + from, terms->index_out + from);
    }
    swap = terms->key;
    terms->key = terms->key_out;
    terms->key_out = swap;
    swap = terms->index;
    terms->index = terms->index_out;
    terms->index_out = swap;
  }
}

/* Adds the pieces of one side. Those between equal breakpoints are left out. */
static void add_side(const max_latent *latent, double side, max_terms *terms,
                     normal_pieces *pieces) {
  double prec = latent->beta / latent->psi, slope = 0, height = 0;
  size_t n = 0;
  for (size_t d = 0; d < latent->n_dims; d++) {
    if (!(side * latent->w[d] > 0)) continue;
    const double key = side * terms->at[d];
    if (key == 0) {
      prec += terms->prec[d];
      slope += side * terms->slope[d];
      height += terms->height[d];
    } else if (key < HUGE_VAL) {
      terms->key[n] = key;
      terms->index[n++] = (double)d;
    }
  }
  if (n > 1) sort_keys(n, terms);
  double lo = -side * latent->mu;
  size_t at = pieces->n;
  for (size_t i = 0; i <= n; i++) {
    const double hi = i < n ? terms->key[i] - side * latent->mu : HUGE_VAL;
    pieces->lo[at] = lo;
    pieces->hi[at] = hi;
    pieces->prec[at] = prec;
    pieces->slope[at] = slope;
    pieces->height[at] = height;
    at += hi > lo;
    if (i == n) break;
    const size_t d = (size_t)terms->index[i];
    prec += terms->prec[d];
    slope += side * terms->slope[d];
    height += terms->height[d];
    lo = hi;
  }
  pieces->n = at;
}

double max_latent_integral(const max_latent *latent, normal_pieces *pieces, double *scratch) {
  max_terms terms = terms_in(scratch, latent->n_dims);
  *pieces = normal_pieces_in(scratch + N_TERMS * padded(latent->n_dims), latent->n_dims + 2);
  set_terms(latent, &terms);
  add_side(latent, -1, &terms, pieces);
  pieces->n_first = pieces->n;
  add_side(latent, 1, &terms, pieces);
  return latent->beta * latent->log_norm + normal_pieces_integrate(pieces);
}

GPS_CLONES double max_latent_density(const max_latent *latent, double value) {
  const double *restrict y = latent->y, *restrict w = latent->w;
  const size_t n_dims = latent->n_dims;
  double sum = 0;
  if (latent->others) {
    const double *restrict others = latent->others;
#pragma omp simd reduction(+ : sum)
    for (size_t d = 0; d < n_dims; d++) {
      const double wins = value * w[d] > others[d] ? value * w[d] : others[d];
      sum += (wins - others[d]) * (2 * y[d] - wins - others[d]);
    }
  } else {
#pragma omp simd reduction(+ : sum)
    for (size_t d = 0; d < n_dims; d++) {
      const double wins = value * w[d] > 0 ? value * w[d] : 0;
      sum += wins * (2 * y[d] - wins);
    }
  }
  const double deviation = value - latent->mu;
  return latent->beta * (latent->log_norm - 0.5 * deviation * deviation / latent->psi +
                         0.5 * sum / latent->sigma2);
}

/* The value whose pieces' coordinate is x on this side. 0 would say that the latent is off. */
static double value_at(const max_latent *latent, double side, double x) {
  const double size = x + side * latent->mu;
  return side * (size > DBL_MIN ? size : DBL_MIN);
}

double max_latent_draw(const max_latent *latent, const normal_pieces *pieces, gps_rng *rng) {
  double left = gps_rng_uniform(rng) * pieces->total;
  size_t i = 0;
  while (i + 1 < pieces->n && (left -= pieces->mass[i]) >= 0) i++;
  const double root = sqrt(pieces->prec[i]), centre = pieces->slope[i] / pieces->prec[i];
  const double lo = (pieces->lo[i] - centre) * root, hi = (pieces->hi[i] - centre) * root;
  const double x = centre + gps_rng_truncated_normal(rng, lo, hi) / root;
  return value_at(latent, i < pieces->n_first ? -1 : 1, x);
}

double max_latent_mode(const max_latent *latent, const normal_pieces *pieces) {
  size_t best = 0;
  for (size_t i = 1; i < pieces->n; i++) {
    if (pieces->peak[i] > pieces->peak[best]) best = i;
  }
  double x = pieces->slope[best] / pieces->prec[best];
  x = x < pieces->lo[best] ? pieces->lo[best] : x > pieces->hi[best] ? pieces->hi[best] : x;
  return value_at(latent, best < pieces->n_first ? -1 : 1, x);
}
