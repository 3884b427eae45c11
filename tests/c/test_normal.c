/* Integrals of exponentials of quadratics against a fine quadrature in long double, in all the
 * regimes in which formulas cancel, overflow or underflow. */
#include "check.h"
#include "normal.h"

/* Integral over lo < x < lo + width of x^power exp(slope x - x^2 / 2 - peak), standard deviation 1,
 * over where it is not negligible, by panels of Gauss-Legendre's rule with five nodes. */
static double quadrature(double slope, double lo, double width, int power, double *peak) {
  enum { PANELS = 800 };
  const double hi = lo + width;
  const double at = slope < lo ? lo : slope > hi ? hi : slope;
  const double steep = fabs(slope - at), reach = 160 / (steep + sqrt(steep * steep + 160));
  const long double from = lo > at - reach ? lo : at - reach;
  const long double to = hi < at + reach ? hi : at + reach;
  const long double half = (to - from) / (2 * PANELS), root = 2 * sqrtl(10.0L / 7);
  const long double inner = sqrtl(5 - root) / 3, outer = sqrtl(5 + root) / 3;
  const long double heavy = (322 + 13 * sqrtl(70)) / 900, light = (322 - 13 * sqrtl(70)) / 900;
  const long double node[5] = {-outer, -inner, 0, inner, outer};
  const long double weight[5] = {light, heavy, 128.0L / 225, heavy, light};
  long double sum = 0;
  for (int i = 0; i < PANELS; i++) {
    for (int k = 0; k < 5; k++) {
      const long double x = from + (2 * i + 1 + node[k]) * half, apart = x - at;
      sum += weight[k] * powl(x, power) * expl(apart * (slope - at) - apart * apart / 2);
    }
  }
  *peak = at * (slope - at / 2);
  return (double)(sum * half);
}

static normal_pieces one_piece(double *scratch, size_t room) {
  normal_pieces pieces = normal_pieces_in(scratch, room);
  pieces.n = 1;
  return pieces;
}

static void check_relative(double value, double wanted, double tolerance) {
  CHECK_NEAR(value / wanted, 1, tolerance);
}

/* The total mass is relative to the largest value, so that its error is that of the formulas and
 * not of the exponent. */
static void test_single_pieces(void) {
  static const double slopes[] = {-1e6, -1e3, -38.5, -8, -2.3, -0.5, -1e-3, 0,
                                  1e-3, 0.04, 0.5,   2,  8,    40,   1e3};
  static const double widths[] = {1e-12, 1e-6, 1e-3, 0.02, 0.09, 0.15, 0.5, 3, 30, 5000};
  static const double sds[] = {1, 1e-4, 3e5};
  double scratch[512], peak;
  for (size_t i = 0; i < sizeof slopes / sizeof *slopes; i++) {
    for (size_t j = 0; j < sizeof widths / sizeof *widths; j++) {
      const double wanted = quadrature(slopes[i], 0, widths[j], 0, &peak);
      for (size_t k = 0; k < 3; k++) {
        normal_pieces pieces = one_piece(scratch, 3);
        pieces.lo[0] = 0;
        pieces.hi[0] = widths[j] * sds[k];
        pieces.prec[0] = 1 / (sds[k] * sds[k]);
        pieces.slope[0] = slopes[i] / sds[k];
        pieces.height[0] = 7;
        const double log_integral = normal_pieces_integrate(&pieces);
        check_relative(pieces.total, sds[k] * wanted, 2e-13);
        check_relative(pieces.top, 7 + peak, 1e-15);
        CHECK(log_integral == pieces.top + log(pieces.total));
      }
    }
  }
}

static void test_half_lines(void) {
  double scratch[512], peak, moment[3];
  for (double slope = -200; slope <= 60; slope += 0.37) {
    normal_pieces pieces = one_piece(scratch, 3);
    pieces.lo[0] = pieces.height[0] = 0;
    pieces.hi[0] = HUGE_VAL;
    pieces.prec[0] = 1;
    pieces.slope[0] = slope;
    normal_pieces_integrate(&pieces);
    normal_half_moments(slope, moment);
    check_relative(pieces.total, moment[0], 2e-14);
    for (int k = 0; k < 3; k++) {
      check_relative(moment[k], quadrature(slope, 0, 1e9, k, &peak), 1e-13);
    }
  }
}

/* A density cut into pieces is as large as the whole, wherever the cuts are. */
static void test_cut_density(void) {
  enum { CUTS = 23 };
  double scratch[1024];
  for (int trial = 0; trial < 50; trial++) {
    normal_pieces pieces = normal_pieces_in(scratch, CUTS + 1);
    const double sd = exp(trial % 7 - 3), centre = 3 * sd * sin(trial);
    double lo = 0;
    for (int i = 0; i <= CUTS; i++) {
      pieces.lo[i] = lo;
      lo += sd * exp(3 * sin(trial * 31 + i * 17) - 2);
      pieces.hi[i] = i < CUTS ? lo : HUGE_VAL;
      pieces.prec[i] = 1 / (sd * sd);
      pieces.slope[i] = centre / (sd * sd);
      pieces.height[i] = -0.5 * centre * centre / (sd * sd);
    }
    pieces.n = CUTS + 1;
    double moment[3];
    normal_half_moments(centre / sd, moment);
    const double inside = centre > 0 ? 0 : -0.5 * centre * centre / (sd * sd);
    CHECK_NEAR(normal_pieces_integrate(&pieces), inside + log(sd * moment[0]), 1e-13);
  }
}

/* Far pieces are cut off at both ends, and the groups keep their members. */
static void test_ends_are_cut(void) {
  double scratch[1024];
  normal_pieces pieces = normal_pieces_in(scratch, 20);
  for (int i = 0; i < 20; i++) {
    pieces.lo[i] = i;
    pieces.hi[i] = i + 1;
    pieces.prec[i] = 4;
    pieces.slope[i] = 40;
    pieces.height[i] = -200;
  }
  pieces.n = 20;
  pieces.n_first = 9;
  CHECK_NEAR(normal_pieces_integrate(&pieces), log(sqrt(6.283185307179586477 / 4)), 1e-15);
  CHECK(pieces.n < 15);
  CHECK(pieces.lo[0] + (double)pieces.n_first == 9);
  CHECK(pieces.n_first < pieces.n);
  /* Half a unit is a standard deviation: Phi(2) - Phi(0). */
  CHECK_NEAR(pieces.mass[(size_t)(10 - pieces.lo[0])],
             0.47724986805182079 * sqrt(6.283185307179586477 / 4), 1e-15);
}

/* Between two steep walls lies a narrow piece with all of the mass. */
static void test_narrow_peak(void) {
  double scratch[512];
  const double width = 1e-9, steep = 1e12;
  normal_pieces pieces = normal_pieces_in(scratch, 3);
  const double lo[3] = {-1, 0, width}, hi[3] = {0, width, 1};
  const double slope[3] = {steep, 0, -steep}, height[3] = {0, 0, steep * width};
  for (int i = 0; i < 3; i++) {
    pieces.lo[i] = lo[i];
    pieces.hi[i] = hi[i];
    pieces.prec[i] = 1;
    pieces.slope[i] = slope[i];
    pieces.height[i] = height[i];
  }
  pieces.n = 3;
  normal_pieces_integrate(&pieces);
  check_relative(pieces.total, width + 2 / steep, 1e-12);
  check_relative(pieces.mass[1], width, 1e-15);
}

/* The peak is near one end, and the other end so far off that squares of its distance round to
 * millions. What is left is the rounding of the peak's place, some 1e-3 standard deviations. */
static void test_peak_at_an_end(void) {
  double scratch[512];
  for (int i = -20; i <= 20; i++) {
    normal_pieces pieces = one_piece(scratch, 3);
    pieces.lo[0] = 162452059593.82254;
    pieces.hi[0] = 167757688558.25079;
    pieces.prec[0] = 51.901217277082459;
    pieces.slope[0] = 8706828243752.1084 + i * 2e-3;
    pieces.height[0] = 0;
    normal_pieces_integrate(&pieces);
    const double root = sqrt(pieces.prec[0]);
    const double end = fma(pieces.prec[0], pieces.hi[0], -pieces.slope[0]) / root;
    check_relative(pieces.total, 0.5 * erfc(-end * sqrt(0.5)) * sqrt(6.283185307179586477) / root,
                   0.01);
  }
}

/* The peak of a density is seen however many standard deviations the ends are away. */
static void test_needle(void) {
  double scratch[512];
  for (int k = 0; k <= 300; k += 20) {
    normal_pieces pieces = one_piece(scratch, 3);
    pieces.lo[0] = -1;
    pieces.hi[0] = HUGE_VAL;
    pieces.prec[0] = pow(10, k);
    pieces.slope[0] = pieces.height[0] = 0;
    const double sd = 1 / sqrt(pieces.prec[0]), mass = k == 0 ? 0.84134474606854295 : 1;
    normal_pieces_integrate(&pieces);
    check_relative(pieces.total, mass * sd * sqrt(6.283185307179586477), 1e-14);
  }
}

static void test_no_piece(void) {
  double scratch[512];
  normal_pieces pieces = one_piece(scratch, 3);
  pieces.n = 0;
  CHECK(isnan(normal_pieces_integrate(&pieces)));
}

int main(void) {
  test_single_pieces();
  test_half_lines();
  test_cut_density();
  test_ends_are_cut();
  test_narrow_peak();
  test_peak_at_an_end();
  test_needle();
  test_no_piece();
  return check_report();
}
