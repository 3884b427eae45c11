/* The inverse of a Cholesky factor: what the two routes make, and whether they can be stopped. */
#include "check.h"
#include "linalg.h"

/* More than one call of LAPACK takes at a time. */
enum { N = 1090 };

static double whole[(size_t)N * N], fast[(size_t)N * N], careful[(size_t)N * N];

/* K + noise of points on a line. */
static void fill(double *a) {
  for (size_t j = 0; j < N; j++) {
    for (size_t i = 0; i < N; i++) {
      const double distance = ((double)i - (double)j) / 4;
      a[i + j * N] = exp(-0.5 * distance * distance) + (i == j ? 0.1 : 0);
    }
  }
}

static void test_routes(void) {
  double log_det[2];
  fill(whole);
  memcpy(fast, whole, sizeof whole);
  memcpy(careful, whole, sizeof whole);
  CHECK(linalg_factor_inverse(N, fast, N, 1, log_det, NULL) == GPS_OK);
  CHECK(linalg_factor_inverse(N, careful, N, 1e12, log_det + 1, NULL) == GPS_OK);
  CHECK_NEAR(log_det[0], log_det[1], 1e-9 * fabs(log_det[0]));
  double largest = 0, product = 0;
  for (size_t j = 0; j < N; j++) {
    for (size_t i = j; i < N; i++) {
      largest = fmax(largest, fabs(fast[i + j * N] - careful[i + j * N]));
    }
  }
  CHECK_NEAR(largest, 0, 1e-11);
  /* The last row of L^-1 K L^-T is that of the identity. */
  for (size_t j = 0; j < N; j++) {
    for (size_t i = 0; i < N; i++) {
      product += careful[N - 1 + i * N] * whole[i + j * N] * careful[N - 1 + j * N];
    }
  }
  CHECK_NEAR(product, 1, 1e-9);
}

static int stop(void *n_asked) { return ++*(int *)n_asked > 0; }

static void test_watch(void) {
  const double condition[2] = {1, 1e12};
  for (int route = 0; route < 2; route++) {
    int n_asked = 0;
    double log_det;
    const gps_watch watch = {stop, &n_asked};
    fill(whole);
    CHECK(linalg_factor_inverse(N, whole, N, condition[route], &log_det, &watch) ==
          GPS_INTERRUPTED);
    CHECK(n_asked == 1);
    /* Before the factor is made, not after it. */
    CHECK_NEAR(whole[0], 1.1, 1e-15);
  }
}

int main(void) {
  test_routes();
  test_watch();
  return check_report();
}
