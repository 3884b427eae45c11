/* Dense linear algebra on R's BLAS and LAPACK, and recursive triangular inverses that spend their
 * time in dtrmm and dsyrk, which run nearer to dgemm's rate than dpotri does. Called by the GP
 * engine and by the models' M-steps. */
#define USE_FC_LEN_T
#include "linalg.h"

#include <R_ext/BLAS.h>
#include <R_ext/Lapack.h>

#include <math.h>

#ifndef FCONE
#define FCONE
#endif

/* Below this size LAPACK's own routine is faster than another split. */
#define LEAF 128

/* Up to this size a Cholesky factor is one call of LAPACK. */
#define ONE_CALL 1024

static const double ONE = 1.0;

void linalg_gemm(char trans_a, char trans_b, size_t m, size_t n, size_t k, double alpha,
                 const double *a, size_t lda, const double *b, size_t ldb, double beta, double *c,
                 size_t ldc) {
  const int im = (int)m, in = (int)n, ik = (int)k, ia = (int)lda, ib = (int)ldb, ic = (int)ldc;
  F77_CALL(dgemm)
  (&trans_a, &trans_b, &im, &in, &ik, &alpha, a, &ia, b, &ib, &beta, c, &ic FCONE FCONE);
}

void linalg_product(char trans_a, char trans_b, size_t m, size_t n, size_t k, double alpha,
                    const double *a, const double *b, double beta, double *c) {
  linalg_gemm(trans_a, trans_b, m, n, k, alpha, a, trans_a == 'N' ? m : k, b,
              trans_b == 'N' ? k : n, beta, c, m);
}

void linalg_syrk(char trans, size_t n, size_t k, double alpha, const double *a, size_t lda,
                 double beta, double *c, size_t ldc) {
  const int in = (int)n, ik = (int)k, ia = (int)lda, ic = (int)ldc;
  F77_CALL(dsyrk)("L", &trans, &in, &ik, &alpha, a, &ia, &beta, c, &ic FCONE FCONE);
}

void linalg_symm(char side, size_t m, size_t n, double alpha, const double *a, size_t lda,
                 const double *b, size_t ldb, double beta, double *c, size_t ldc) {
  const int im = (int)m, in = (int)n, ia = (int)lda, ib = (int)ldb, ic = (int)ldc;
  F77_CALL(dsymm)(&side, "L", &im, &in, &alpha, a, &ia, b, &ib, &beta, c, &ic FCONE FCONE);
}

static void scaled_trmm(char side, char trans, size_t m, size_t n, double alpha, const double *l,
                        size_t ldl, double *b, size_t ldb) {
  const int im = (int)m, in = (int)n, il = (int)ldl, ib = (int)ldb;
  F77_CALL(dtrmm)
  (&side, "L", &trans, "N", &im, &in, &alpha, l, &il, b, &ib FCONE FCONE FCONE FCONE);
}

void linalg_trmm(char side, char trans, size_t m, size_t n, const double *l, size_t ldl, double *b,
                 size_t ldb) {
  scaled_trmm(side, trans, m, n, 1.0, l, ldl, b, ldb);
}

void linalg_trsm(char side, char trans, size_t m, size_t n, const double *l, size_t ldl, double *b,
                 size_t ldb) {
  const int im = (int)m, in = (int)n, il = (int)ldl, ib = (int)ldb;
  F77_CALL(dtrsm)(&side, "L", &trans, "N", &im, &in, &ONE, l, &il, b, &ib FCONE FCONE FCONE FCONE);
}

/* Some BLAS let a NaN through without a word, so the diagonal is looked at. */
static gps_status check_factor(size_t n, const double *l, size_t ldl, int info) {
  for (size_t j = 0; j < n; j++) {
    if (!isfinite(l[j + j * ldl])) return GPS_NOT_FINITE;
  }
  return info == 0 ? GPS_OK : GPS_NOT_POSDEF;
}

gps_status linalg_cholesky(size_t n, double *a, size_t lda) {
  const int in = (int)n, ia = (int)lda;
  int info = 0;
  F77_CALL(dpotrf)("L", &in, a, &ia, &info FCONE);
  return check_factor(n, a, lda, info);
}

double linalg_log_det(size_t n, const double *l, size_t ldl) {
  double sum = 0.0;
  for (size_t j = 0; j < n; j++) sum += log(l[j + j * ldl]);
  return 2.0 * sum;
}

void linalg_cholesky_solve(size_t n, const double *l, size_t ldl, size_t n_rhs, double *b,
                           size_t ldb) {
  linalg_trsm('L', 'N', n, n_rhs, l, ldl, b, ldb);
  linalg_trsm('L', 'T', n, n_rhs, l, ldl, b, ldb);
}

gps_status linalg_solve_spd(size_t n, double *a, size_t n_rhs, double *b) {
  const gps_status status = linalg_cholesky(n, a, n);
  if (status == GPS_OK) linalg_cholesky_solve(n, a, n, n_rhs, b, n);
  return status;
}

/* A half rounded up to a multiple of 64 keeps the panels aligned with the BLAS's blocks. */
static size_t split(size_t n) { return (n / 2 + 63) / 64 * 64; }

/* [L11^-1 0; L21 L22^-1] -> [L11 0; L21 L22]^-1: the new block is -L22^-1 L21 L11^-1. */
static void join_inverses(size_t n1, size_t n2, double *l, size_t ldl) {
  scaled_trmm('L', 'N', n2, n1, -1.0, l + n1 + n1 * ldl, ldl, l + n1, ldl);
  scaled_trmm('R', 'N', n2, n1, 1.0, l, ldl, l + n1, ldl);
}

gps_status linalg_invert_lower(size_t n, double *l, size_t ldl, const gps_watch *watch) {
  if (n <= LEAF) {
    const int in = (int)n, il = (int)ldl;
    int info = 0;
    F77_CALL(dtrtri)("L", "N", &in, l, &il, &info FCONE FCONE);
    return info == 0 ? GPS_OK : GPS_NOT_POSDEF;
  }
  if (gps_must_stop(watch)) return GPS_INTERRUPTED;
  const size_t n1 = split(n), n2 = n - n1;
  gps_status status = linalg_invert_lower(n1, l, ldl, watch);
  if (status == GPS_OK) status = linalg_invert_lower(n2, l + n1 + n1 * ldl, ldl, watch);
  if (status != GPS_OK) return status;
  join_inverses(n1, n2, l, ldl);
  return GPS_OK;
}

void linalg_lower_gram(size_t n, double *l, size_t ldl, const gps_watch *watch) {
  if (n <= LEAF) {
    const int in = (int)n, il = (int)ldl;
    int info = 0;
    F77_CALL(dlauum)("L", &in, l, &il, &info FCONE);
    return;
  }
  if (gps_must_stop(watch)) return;
  const size_t n1 = split(n), n2 = n - n1;
  double *l21 = l + n1, *l22 = l + n1 + n1 * ldl;
  linalg_lower_gram(n1, l, ldl, watch);
  linalg_syrk('T', n1, n2, 1.0, l21, ldl, 1.0, l, ldl);
  linalg_trmm('L', 'T', n2, n1, l22, ldl, l21, ldl);
  linalg_lower_gram(n2, l22, ldl, watch);
}

/* linalg_cholesky() of a large matrix half by half, so that the watch is asked between. */
static gps_status factor_watched(size_t n, double *a, size_t lda, const gps_watch *watch) {
  if (n <= ONE_CALL) return linalg_cholesky(n, a, lda);
  if (gps_must_stop(watch)) return GPS_INTERRUPTED;
  const size_t n1 = split(n), n2 = n - n1;
  double *a21 = a + n1, *a22 = a + n1 + n1 * lda;
  const gps_status status = factor_watched(n1, a, lda, watch);
  if (status != GPS_OK) return status;
  linalg_trsm('R', 'T', n2, n1, a, lda, a21, lda);
  linalg_syrk('N', n2, n1, -1.0, a21, lda, 1.0, a22, lda);
  return factor_watched(n2, a22, lda, watch);
}

/* L21 = A21 L11^-T by a product with the inverse at hand, where a factorisation alone would have to
 * solve. */
static gps_status factor_inverse(size_t n, double *a, size_t lda, double *log_det,
                                 const gps_watch *watch) {
  if (n <= LEAF) {
    const gps_status status = linalg_cholesky(n, a, lda);
    if (status != GPS_OK) return status;
    *log_det += linalg_log_det(n, a, lda);
    return linalg_invert_lower(n, a, lda, watch);
  }
  if (gps_must_stop(watch)) return GPS_INTERRUPTED;
  const size_t n1 = split(n), n2 = n - n1;
  double *a21 = a + n1, *a22 = a + n1 + n1 * lda;
  gps_status status = factor_inverse(n1, a, lda, log_det, watch);
  if (status != GPS_OK) return status;
  linalg_trmm('R', 'T', n2, n1, a, lda, a21, lda);
  linalg_syrk('N', n2, n1, -1.0, a21, lda, 1.0, a22, lda);
  status = factor_inverse(n2, a22, lda, log_det, watch);
  if (status != GPS_OK) return status;
  join_inverses(n1, n2, a, lda);
  return GPS_OK;
}

gps_status linalg_factor_inverse(size_t n, double *a, size_t lda, double condition, double *log_det,
                                 const gps_watch *watch) {
  *log_det = 0.0;
  /* Measured against extended precision: up to here the joint route loses one digit on LAPACK. */
  if (condition <= 1e8) return factor_inverse(n, a, lda, log_det, watch);
  const gps_status status = factor_watched(n, a, lda, watch);
  if (status != GPS_OK) return status;
  *log_det = linalg_log_det(n, a, lda);
  return linalg_invert_lower(n, a, lda, watch);
}

double linalg_trace(size_t n, const double *a) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += a[i * (n + 1)];
  return sum;
}

void linalg_mirror(size_t n, double *a, size_t lda) {
  /* Square tiles keep both the rows read and the columns written in cache. */
  const size_t tile = 32;
  for (size_t jt = 0; jt < n; jt += tile) {
    const size_t j_end = jt + tile < n ? jt + tile : n;
    for (size_t it = jt; it < n; it += tile) {
      const size_t i_end = it + tile < n ? it + tile : n;
      for (size_t j = jt; j < j_end; j++) {
        for (size_t i = it > j ? it : j + 1; i < i_end; i++) a[j + i * lda] = a[i + j * lda];
      }
    }
  }
}

/* Beyond it the length of dsyevd's work array is no int, and dsyev does it, in linear space. */
#define MOST_DIVIDED 32000

/* dsyevd's two work arrays; the integers lie behind the doubles. */
size_t linalg_eigen_sym_scratch(size_t n) {
  return n > MOST_DIVIDED ? 3 * n : 1 + 6 * n + 2 * n * n + (3 + 5 * n);
}

gps_status linalg_eigen_sym(size_t n, double *a, double *values, double *scratch) {
  const size_t n_work = n > MOST_DIVIDED ? 3 * n : 1 + 6 * n + 2 * n * n;
  const int in = (int)n, lwork = (int)n_work, liwork = (int)(3 + 5 * n);
  int info = 0;
  for (size_t j = 0; j < n; j++) {
    for (size_t i = j; i < n; i++) {
      if (!isfinite(a[i + j * n])) return GPS_NOT_FINITE;
    }
  }
  if (n > MOST_DIVIDED) {
    F77_CALL(dsyev)("V", "L", &in, a, &in, values, scratch, &lwork, &info FCONE FCONE);
    return info == 0 ? GPS_OK : GPS_NOT_FINITE;
  }
  F77_CALL(dsyevd)
  ("V", "L", &in, a, &in, values, scratch, &lwork, (int *)(void *)(scratch + n_work), &liwork,
   &info FCONE FCONE);
  return info == 0 ? GPS_OK : GPS_NOT_FINITE;
}

gps_status linalg_cholesky_pivoted(size_t n, double *a, size_t lda, double tol, int *pivot,
                                   size_t *rank, double *scratch) {
  const int in = (int)n, ia = (int)lda;
  int found = 0, info = 0;
  F77_CALL(dpstrf)("L", &in, a, &ia, pivot, &found, &tol, scratch, &info FCONE);
  if (info < 0) return GPS_NOT_FINITE;
  for (size_t i = 0; i < n; i++) pivot[i]--;
  *rank = (size_t)found;
  return check_factor(*rank, a, lda, 0);
}
