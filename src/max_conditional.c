/* The exact conditional of one latent in a max superposition. Breakpoints are z = others / w: those
 * of w > 0 lie at z >= 0, those of w < 0 at z <= 0, so that on each side of zero the sums over the
 * dimensions won only grow, and nothing cancels. Called by model_max_spike_slab.c. */
#include "max_conditional.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define LANES 8
/* Keys sorted by counting; longer arrays are merged from runs of this length. */
#define RUN ((size_t)64)
/* With fewer dimensions all breakpoints are kept. */
#define FEW_DIMS 12
/* Half of the window in standard deviations of what favours the latent, exp(-72) far out; and the
 * logarithm of what is no mass, with room for a peak that is much narrower than the slab. */
#define WINDOW 12
#define NO_MASS 60

/* What each dimension adds to precision, slope and height once side * z wins it, which is from `at`
 * on, and the place where it adds most to the exponent. Dimensions that this side cannot win add
 * nothing. All arrays have room up to a multiple of the lanes, where they end in such dimensions.
 */
typedef struct {
  double *prec, *slope, *height, *at, *place;
  double *key, *index;         /* breakpoints by size, and their dimensions */
  double *key_out, *index_out; /* for sorting */
} max_terms;

static size_t padded(size_t n) { return (n + LANES - 1) / LANES * LANES; }

enum { N_TERMS = 9 };

size_t max_latent_scratch(size_t n_dims) {
  return LANES + N_TERMS * padded(n_dims) + normal_pieces_scratch(n_dims + 2);
}

static max_terms terms_in(double *scratch, size_t n_dims) {
  const size_t row = padded(n_dims);
  const max_terms terms = {scratch,           scratch + row,     scratch + 2 * row,
                           scratch + 3 * row, scratch + 4 * row, scratch + 5 * row,
                           scratch + 6 * row, scratch + 7 * row, scratch + 8 * row};
  return terms;
}

/* The sum of eight lanes, in a fixed order. */
GPS_INLINE double sum_lanes(const double *x) {
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

/* Eight dimensions of set_terms(), the first being d. */
GPS_INLINE void set_lanes(const max_latent *latent, double side, const double *restrict y,
                          const double *restrict w, const double *restrict others, size_t d,
                          const max_terms *terms, double *restrict lowest) {
  double *restrict prec = terms->prec + d, *restrict slope = terms->slope + d;
  double *restrict height = terms->height + d, *restrict at = terms->at + d;
  double *restrict place = terms->place + d;
  const double precision = latent->beta / latent->sigma2, mu = side * latent->mu;
#pragma omp simd
  for (size_t l = 0; l < LANES; l++) {
    const double weight = side * w[l], inverse = 1 / weight;
    const double mean = mu * weight, scaled = precision * weight;
    const int can_win = weight > 0 && others[l] * inverse < HUGE_VAL;
    lowest[l] = weight < lowest[l] ? weight : lowest[l];
    prec[l] = can_win ? scaled * weight : 0;
    slope[l] = can_win ? scaled * (y[l] - mean) : 0;
    height[l] = can_win ? 0.5 * precision * (mean - others[l]) * (2 * y[l] - others[l] - mean) : 0;
    at[l] = can_win ? others[l] * inverse : HUGE_VAL;
    place[l] = can_win ? y[l] * inverse : 0;
  }
}

/* Returns whether the other side can win anything. Where the dimensions are no multiple of the
 * lanes, the last vector goes back over some that are set already. */
GPS_CLONES static int set_terms(const max_latent *latent, double side, const max_terms *terms) {
  static const double zero[LANES] = {0};
  const double *y = latent->y, *w = latent->w, *others = latent->others;
  const size_t n_dims = latent->n_dims, last = padded(n_dims) - LANES;
  double lowest[LANES] = {0}, rest[3 * LANES] = {0};
  set_lanes(latent, side, zero, zero, zero, last, terms, lowest);
  for (size_t d = 0; d + LANES <= n_dims; d += LANES) {
    set_lanes(latent, side, y + d, w + d, others ? others + d : zero, d, terms, lowest);
  }
  if (n_dims >= LANES) {
    const size_t d = n_dims - LANES;
    set_lanes(latent, side, y + d, w + d, others ? others + d : zero, d, terms, lowest);
  } else {
    memcpy(rest, y, n_dims * sizeof *y);
    memcpy(rest + LANES, w, n_dims * sizeof *w);
    if (others) memcpy(rest + 2 * LANES, others, n_dims * sizeof *others);
    set_lanes(latent, side, rest, rest + LANES, rest + 2 * LANES, 0, terms, lowest);
  }
  for (size_t l = 0; l < LANES; l++) lowest[0] = lowest[l] < lowest[0] ? lowest[l] : lowest[0];
  return lowest[0] < 0;
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

/* What the dimensions add to the exponent at side * z = guess, and limits of what they can add up
 * to lo and from hi on, each of them at its best place there. */
GPS_CLONES static void bound_exponent(size_t n, const max_terms *terms, const double z[3],
                                      double sum[3]) {
  const double *restrict prec = terms->prec, *restrict at = terms->at;
  const double *restrict place = terms->place;
  double below[LANES] = {0}, here[LANES] = {0}, above[LANES] = {0};
  const double lo = z[0], guess = z[1], hi = z[2];
  for (size_t i = 0; i < n; i += LANES) {
#pragma omp simd
    for (size_t l = 0; l < LANES; l++) {
      const double from = at[i + l], best = place[i + l], half = 0.5 * prec[i + l];
      const double up_to = best < lo ? best : lo, beyond = best > hi ? best : hi;
      below[l] += up_to > from ? half * (up_to - from) * (2 * best - up_to - from) : 0;
      here[l] += guess > from ? half * (guess - from) * (2 * best - guess - from) : 0;
      above[l] += beyond > from ? half * (beyond - from) * (2 * best - beyond - from) : 0;
    }
  }
  sum[0] = sum_lanes(below);
  sum[1] = sum_lanes(here);
  sum[2] = sum_lanes(above);
}

/* Precision, and precision times mean, of the dimensions that would rather be won. */
GPS_CLONES static void sum_gainers(size_t n, const max_terms *terms, double *prec_sum,
                                   double *product_sum) {
  const double *restrict prec = terms->prec, *restrict at = terms->at;
  const double *restrict place = terms->place;
  double square[LANES] = {0}, product[LANES] = {0};
  for (size_t i = 0; i < n; i += LANES) {
#pragma omp simd
    for (size_t l = 0; l < LANES; l++) {
      const double weight = place[i + l] > at[i + l] ? prec[i + l] : 0;
      square[l] += weight;
      product[l] += weight * place[i + l];
    }
  }
  *prec_sum = sum_lanes(square);
  *product_sum = sum_lanes(product);
}

/* Where the law of side * z can have mass: outside, even if every dimension could choose its own z
 * there, it is below exp(-NO_MASS) of its value at a guess of its peak. */
static void find_window(const max_latent *latent, double side, const max_terms *terms, double *from,
                        double *to) {
  const size_t n = padded(latent->n_dims);
  const double own = latent->beta / latent->psi, mu = side * latent->mu;
  double prec, product, sum[3];
  sum_gainers(n, terms, &prec, &product);
  prec += own;
  const double guess = (product + own * mu) / prec, reach = WINDOW / sqrt(prec);
  if (!(guess > 0)) return;
  const double z[3] = {guess - reach, guess, guess + reach};
  bound_exponent(n, terms, z, sum);
  for (int k = 0; k < 3; k++) {
    const int may_reach_mu = k == 0 ? z[k] > mu : k == 2 && z[k] < mu;
    sum[k] -= may_reach_mu ? 0 : 0.5 * own * (z[k] - mu) * (z[k] - mu);
  }
  if (z[0] > 0 && sum[0] < sum[1] - NO_MASS) *from = z[0];
  if (sum[2] < sum[1] - NO_MASS) *to = z[2];
}

/* Adds to base what the dimensions add that are won from `from` on. */
GPS_CLONES static void sum_base(size_t n, const max_terms *terms, double from, double base[3]) {
  const double *restrict prec = terms->prec, *restrict slope = terms->slope;
  const double *restrict height = terms->height, *restrict at = terms->at;
  double sum_prec[LANES] = {0}, sum_slope[LANES] = {0}, sum_height[LANES] = {0};
  for (size_t i = 0; i < n; i += LANES) {
#pragma omp simd
    for (size_t l = 0; l < LANES; l++) {
      const double is_won = at[i + l] <= from ? 1 : 0;
      sum_prec[l] += is_won * prec[i + l];
      sum_slope[l] += is_won * slope[i + l];
      sum_height[l] += is_won * height[i + l];
    }
  }
  base[0] += sum_lanes(sum_prec);
  base[1] += sum_lanes(sum_slope);
  base[2] += sum_lanes(sum_height);
}

/* The keys become the breakpoints between `from` and `to`; returns how many. Without branches,
 * which could not be foreseen. */
static size_t collect_keys(size_t n_dims, double from, double to, max_terms *terms) {
  size_t n = 0;
  for (size_t d = 0; d < n_dims; d++) {
    const double at = terms->at[d];
    terms->key[n] = at;
    terms->index[n] = (double)d;
    n += (size_t)((at > from) & (at < to));
  }
  return n;
}

static void put_piece(normal_pieces *pieces, double lo, double hi, const double sum[3]) {
  const size_t at = pieces->n;
  pieces->lo[at] = lo;
  pieces->hi[at] = hi;
  pieces->prec[at] = sum[0];
  pieces->slope[at] = sum[1];
  pieces->height[at] = sum[2];
  pieces->n += hi > lo;
}

/* Adds the pieces of one side; those between equal breakpoints are left out. Returns whether the
 * other side can win anything. */
static int add_side(const max_latent *latent, double side, max_terms *terms,
                    normal_pieces *pieces) {
  double sum[3] = {latent->beta / latent->psi, 0, 0}, from = 0, to = HUGE_VAL;
  const double mu = side * latent->mu;
  size_t n = 0;
  const int has_other_side = set_terms(latent, side, terms);
  if (latent->others && latent->n_dims >= FEW_DIMS) find_window(latent, side, terms, &from, &to);
  sum_base(padded(latent->n_dims), terms, from, sum);
  if (latent->others) n = collect_keys(latent->n_dims, from, to, terms);
  if (n > 1) sort_keys(n, terms);
  double lo = from - mu;
  for (size_t i = 0; i < n; i++) {
    const double hi = terms->key[i] - mu;
    put_piece(pieces, lo, hi, sum);
    const size_t d = (size_t)terms->index[i];
    sum[0] += terms->prec[d];
    sum[1] += terms->slope[d];
    sum[2] += terms->height[d];
    lo = hi;
  }
  put_piece(pieces, lo, to - mu, sum);
  return has_other_side;
}

/* At a multiple of a vector's size, so that no vector lies in two lines of the cache. */
static double *aligned(double *scratch) {
  const size_t size = LANES * sizeof *scratch, over = (uintptr_t)scratch % size;
  return over % sizeof *scratch ? scratch : scratch + (over ? size - over : 0) / sizeof *scratch;
}

double max_latent_integral(const max_latent *latent, normal_pieces *pieces, double *scratch) {
  scratch = aligned(scratch);
  max_terms terms = terms_in(scratch, latent->n_dims);
  *pieces = normal_pieces_in(scratch + N_TERMS * padded(latent->n_dims), latent->n_dims + 2);
  const int has_negative = add_side(latent, 1, &terms, pieces);
  pieces->n_first = pieces->n;
  if (has_negative) {
    add_side(latent, -1, &terms, pieces);
  } else {
    const double slab[3] = {latent->beta / latent->psi, 0, 0};
    put_piece(pieces, latent->mu, HUGE_VAL, slab);
  }
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
  return value_at(latent, i < pieces->n_first ? 1 : -1, x);
}

double max_latent_mode(const max_latent *latent, const normal_pieces *pieces) {
  size_t best = 0;
  for (size_t i = 1; i < pieces->n; i++) {
    if (pieces->peak[i] > pieces->peak[best]) best = i;
  }
  double x = pieces->slope[best] / pieces->prec[best];
  x = x < pieces->lo[best] ? pieces->lo[best] : x > pieces->hi[best] ? pieces->hi[best] : x;
  return value_at(latent, best < pieces->n_first ? 1 : -1, x);
}
