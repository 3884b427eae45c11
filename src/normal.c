/* Integrals of exponentials of quadratics, by Mills' ratio at both ends of each interval and, where
 * the interval is short, by a Gauss-Legendre rule. Called by max_conditional.c and by models. */
#include "normal.h"

#include <float.h>
#include <math.h>

#define LANES 8
#define ROOT_TWO_PI 2.5066282746310005024
#define LN_2 0.69314718055994530942
/* More standard deviations than a number is away from zero; half its square is finite. */
#define WIDEST 1e153
/* Below it the exponent is so flat that the difference of two tails would cancel. */
#define FLAT 0.01
/* A piece whose peak is lower by this times its largest possible advantage in width has no
 * influence: 2e-20, for any number of pieces that one could store. */
#define NO_INFLUENCE 45

enum { N_ARRAYS = 7, N_WORK = 7 };
/* Rows of the work space. */
enum { NEAR, WIDTH, INSIDE, ROOT, EXPONENTS };

static size_t padded(size_t n) { return (n + LANES - 1) / LANES * LANES; }

size_t normal_pieces_scratch(size_t n_most) {
  return (N_ARRAYS + N_WORK) * (padded(n_most) + LANES);
}

normal_pieces normal_pieces_in(double *scratch, size_t n_most) {
  const size_t row = padded(n_most) + LANES;
  normal_pieces pieces = {0};
  pieces.lo = scratch;
  pieces.hi = scratch + row;
  pieces.prec = scratch + 2 * row;
  pieces.slope = scratch + 3 * row;
  pieces.height = scratch + 4 * row;
  pieces.peak = scratch + 5 * row;
  pieces.mass = scratch + 6 * row;
  pieces.work = scratch + 7 * row;
  return pieces;
}

/* By backward recurrence in r_k = moment k / moment k - 1 = k / (distance + r_{k+1}), all terms of
 * which are positive: the forward one loses distance^4. */
static void tail_moments(double distance, double moment[3]) {
  double ratio = 0;
  for (int k = 80; k > 2; k--) ratio = k / (distance + ratio);
  const double second = 2 / (distance + ratio), first = 1 / (distance + second);
  moment[0] = 1 / (distance + first);
  moment[1] = moment[0] * first;
  moment[2] = moment[1] * second;
}

void normal_half_moments(double slope, double moment[3]) {
  if (slope < -2) {
    tail_moments(-slope, moment);
    return;
  }
  const double edge = slope > 0 ? exp(-0.5 * slope * slope) : 1;
  moment[0] = slope > 0 ? ROOT_TWO_PI - edge * normal_mills(slope) : normal_mills(-slope);
  moment[1] = slope * moment[0] + edge;
  moment[2] = slope * moment[1] + moment[0];
}

/* Fills a vector's length after the last piece with pieces that are neither the highest nor
 * invalid: loops go up to a multiple of the lanes, wherever they start. */
static void pad(normal_pieces *pieces) {
  for (size_t i = pieces->n; i < pieces->n + LANES; i++) {
    pieces->lo[i] = pieces->hi[i] = pieces->slope[i] = 0;
    pieces->prec[i] = DBL_MAX;
    pieces->height[i] = pieces->peak[i] = -HUGE_VAL;
  }
}

/* Sets peak and top; returns the smallest precision. */
GPS_CLONES static double find_peaks(normal_pieces *pieces) {
  const double *restrict lo = pieces->lo, *restrict hi = pieces->hi;
  const double *restrict prec = pieces->prec, *restrict slope = pieces->slope;
  const double *restrict height = pieces->height;
  double *restrict peak = pieces->peak;
  double highest[LANES], least[LANES];
  for (size_t l = 0; l < LANES; l++) {
    highest[l] = -HUGE_VAL;
    least[l] = HUGE_VAL;
  }
  for (size_t i = 0; i < pieces->n; i += LANES) {
#pragma omp simd
    for (size_t l = 0; l < LANES; l++) {
      const size_t j = i + l;
      double at = slope[j] / prec[j];
      at = at < lo[j] ? lo[j] : at;
      at = at > hi[j] ? hi[j] : at;
      peak[j] = height[j] + at * (slope[j] - 0.5 * prec[j] * at);
      highest[l] = peak[j] > highest[l] ? peak[j] : highest[l];
      least[l] = prec[j] < least[l] ? prec[j] : least[l];
    }
  }
  for (size_t l = 1; l < LANES; l++) {
    highest[0] = highest[l] > highest[0] ? highest[l] : highest[0];
    least[0] = least[l] < least[0] ? least[l] : least[0];
  }
  pieces->top = highest[0];
  return least[0];
}

/* A lower limit of the integral over a piece relative to its peak, up to a factor of order one. */
static double least_width(const normal_pieces *pieces, size_t i) {
  const double root = sqrt(pieces->prec[i]), width = pieces->hi[i] - pieces->lo[i];
  const double at_lo = pieces->slope[i] - pieces->prec[i] * pieces->lo[i];
  const double at_hi = at_lo - pieces->prec[i] * width;
  const double slope = at_lo < 0 ? -at_lo : at_hi > 0 ? at_hi : 0;
  const double spread = 1 / (slope + root);
  return width < spread ? width : spread;
}

/* Cuts off pieces at both ends that do not matter beside the highest one. */
static void drop_ends(normal_pieces *pieces, double least_prec) {
  size_t best = 0, first = 0, last = pieces->n - 1;
  while (best < last && pieces->peak[best] != pieces->top) best++;
  const double advantage = ROOT_TWO_PI / (sqrt(least_prec) * least_width(pieces, best));
  const double lowest = pieces->top - NO_INFLUENCE - ((double)ilogb(advantage) + 1) * LN_2;
  while (first < best && pieces->peak[first] < lowest) first++;
  while (last > best && pieces->peak[last] < lowest) last--;
  pieces->n = last + 1 - first;
  pieces->n_first = pieces->n_first > first ? pieces->n_first - first : 0;
  pieces->n_first = pieces->n_first < pieces->n ? pieces->n_first : pieces->n;
  pieces->lo += first;
  pieces->hi += first;
  pieces->prec += first;
  pieces->slope += first;
  pieces->height += first;
  pieces->peak += first;
}

/* In units of the standard deviation, x from the end with the larger value, the exponent relative
 * to the peak is -x (near + x / 2) where it only falls, and -(x - distance)^2 / 2, near =
 * -distance, where the peak is inside. The integral is base + sign mills(|near|) e_0 - mills(far)
 * e_1, e the values at the ends. Each exponent at the far end is one product, which cannot round to
 * above zero. Choices are products with 0 or 1: compilers make branches of other ones, and of
 * sqrt(), and then no vectors. */
GPS_CLONES static void set_exponents(size_t n, const normal_pieces *pieces, double *restrict work,
                                     size_t row) {
  const double *restrict lo = pieces->lo, *restrict hi = pieces->hi;
  const double *restrict slope = pieces->slope, *restrict peak = pieces->peak;
  double *restrict near = work + NEAR * row, *restrict width = work + WIDTH * row;
  double *restrict inside = work + INSIDE * row, *restrict root = work + ROOT * row;
  double *restrict at_peak = work + EXPONENTS * row;
  double *restrict at_near = at_peak + n, *restrict at_far = at_near + n;
  const double top = pieces->top;
  for (size_t i = 0; i < n; i++) root[i] = sqrt(pieces->prec[i]);
  for (size_t i = 0; i < n; i += LANES) {
#pragma omp simd
    for (size_t j = i; j < i + LANES; j++) {
      double w = (hi[j] - lo[j]) * root[j];
      w = w > WIDEST ? WIDEST : w;
      const double from_lo = slope[j] / root[j] - lo[j] * root[j], from_hi = from_lo - w;
      const double rises = from_lo > 0 ? 1 : 0, falls = from_hi < 0 ? 1 : 0;
      const double only_rises = rises * (1 - falls);
      const double x = only_rises * from_hi - (1 - only_rises) * from_lo;
      near[j] = x;
      width[j] = w;
      inside[j] = rises * falls;
      at_peak[j] = peak[j] - top;
      at_near[j] = -0.5 * inside[j] * x * x;
      at_far[j] = -0.5 * inside[j] * (x + w) * (x + w) - (1 - inside[j]) * w * (x + 0.5 * w);
    }
  }
}

/* exp(x) for -0.03 < x <= 0. */
GPS_INLINE double exp_flat(double x) {
  return 1 + x * (1 + x * (1.0 / 2 + x * (1.0 / 6 + x * (1.0 / 24 + x * (1.0 / 120)))));
}

/* One term of the integral over 0 < x < width of exp(-x (near + x / 2) - offset). */
GPS_INLINE double flat_term(double x, double near, double offset) {
  return exp_flat(-x * (near + 0.5 * x) - offset);
}

/* Gauss-Legendre's rule with four nodes. */
GPS_INLINE double flat_integral(double near, double width, double offset) {
  const double outer = flat_term(0.069431844202973712 * width, near, offset) +
                       flat_term(0.93056815579702629 * width, near, offset);
  const double inner = flat_term(0.33000947820757187 * width, near, offset) +
                       flat_term(0.66999052179242813 * width, near, offset);
  return width * (0.17392742256872693 * outer + 0.32607257743127307 * inner);
}

GPS_CLONES static void set_masses(size_t n, const double *restrict work, size_t row,
                                  double *restrict mass) {
  const double *restrict near = work + NEAR * row, *restrict width = work + WIDTH * row;
  const double *restrict inside = work + INSIDE * row, *restrict root = work + ROOT * row;
  const double *restrict at_peak = work + EXPONENTS * row;
  const double *restrict at_near = at_peak + n, *restrict at_far = at_near + n;
  for (size_t i = 0; i < n; i += LANES) {
#pragma omp simd
    for (size_t j = i; j < i + LANES; j++) {
      const double x = near[j], w = width[j], sign = 1 - 2 * inside[j];
      const double tails = inside[j] * ROOT_TWO_PI + sign * at_near[j] * normal_mills(sign * x) -
                           at_far[j] * normal_mills(x + w);
      const double fall = w * ((1 - inside[j]) * x + 0.5 * w);
      const double is_flat = fall < FLAT ? 1 : 0;
      const double flat =
          flat_integral(is_flat * x, is_flat * w, 0.5 * is_flat * inside[j] * x * x);
      mass[j] = at_peak[j] / root[j] * (flat + (1 - is_flat) * tails);
    }
  }
}

double normal_pieces_integrate(normal_pieces *pieces) {
  if (pieces->n == 0) return NAN;
  pad(pieces);
  drop_ends(pieces, find_peaks(pieces));
  const size_t n = padded(pieces->n), row = (size_t)(pieces->hi - pieces->lo);
  set_exponents(n, pieces, pieces->work, row);
  exp_array(pieces->work + EXPONENTS * row, 3 * n, 0);
  set_masses(n, pieces->work, row, pieces->mass);
  pieces->total = 0;
  for (size_t i = 0; i < pieces->n; i++) pieces->total += pieces->mass[i];
  return pieces->top + log(pieces->total);
}
