/* Integrals of exponentials of quadratics over intervals, such as masses under a normal density.
 * Each is taken relative to its largest value, so that no tail underflows and no short interval
 * cancels. Any thread, no allocation. Called by models whose latents have values. */
#ifndef GPSELECT_NORMAL_H
#define GPSELECT_NORMAL_H

#include <stddef.h>

#include "vector_math.h"

/* Mills' ratio (1 - Phi(x)) / phi(x) for x >= 0, relative error below 1e-15: (x + 0.8) times it is
 * a polynomial in t = (x - 5.5) / (x + 5.5), from its Chebyshev series. Even and odd powers apart,
 * so that a processor can work on both at once. */
GPS_INLINE double normal_mills(double x) {
  const double t = (x - 5.5) / (x + 5.5), t2 = t * t;
  double even = 9.1311740734621e-09 + t2 * -5.718547058696702e-10;
  double odd = -1.1629235213908168e-08 + t2 * 9.449187180357357e-10;
  even = even * t2 - 1.0737417702965695e-07;
  odd = odd * t2 + 8.711028895539793e-08;
  even = even * t2 + 1.1958583381991153e-06;
  odd = odd * t2 - 5.395441773105203e-07;
  even = even * t2 - 1.233396405543146e-05;
  odd = odd * t2 + 2.6054743851711545e-06;
  even = even * t2 + 9.991383445586911e-05;
  odd = odd * t2 + 8.257124006463678e-08;
  even = even * t2 - 0.000177139367468902;
  odd = odd * t2 - 0.0002450446855308209;
  even = even * t2 - 0.011405092351418709;
  odd = odd * t2 + 0.003003515907555163;
  even = even * t2 - 0.0527507988047481;
  odd = odd * t2 + 0.028311343929940513;
  even = even * t2 - 0.08033385397396971;
  odd = odd * t2 + 0.07585307085764167;
  even = even * t2 + 0.035069052240177506;
  odd = odd * t2 + 0.046690369488947045;
  even = even * t2 + 1.110834810269747;
  odd = odd * t2 - 0.15494113535217405;
  return (even + t * odd) / (x + 0.8);
}

/* moment[k] = integral of t^k exp(slope t - t^2 / 2) over t > 0, k = 0, 1, 2, relative to the
 * largest value of the exponential there. */
void normal_half_moments(double slope, double moment[3]);

/* exp(height + slope x - prec x^2 / 2) on [lo, hi], prec > 0, in pieces: any intervals, in two
 * groups that stand one after the other. */
typedef struct {
  size_t n, n_first; /* pieces, and how many of them are in the first group */
  double *lo, *hi;   /* lo is finite, hi may be +Inf */
  double *prec, *slope, *height;
  double *peak; /* largest value of the exponent on the piece */
  double *mass; /* integral, relative to exp(top) */
  double top, total;
  double *work;
} normal_pieces;

/* Room for n_most pieces: doubles, and the pieces laid out in them. */
size_t normal_pieces_scratch(size_t n_most);
normal_pieces normal_pieces_in(double *scratch, size_t n_most);

/* Log of the integral over all pieces. Sets peak, mass, top and total = sum of mass. Pieces at
 * both ends without influence on the sum, all together less than 1e-17 of it, are cut off. No
 * number where there is no piece, as limits that are none leave it. */
double normal_pieces_integrate(normal_pieces *pieces);

#endif
