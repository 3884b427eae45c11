/* Dense linear algebra on R's BLAS and LAPACK, in our shapes. Matrices are column-major; a
 * symmetric or triangular matrix is its lower triangle, and the other half is neither read nor
 * written unless a comment says so. Main thread only, no allocation. No dimension may exceed
 * INT_MAX. What is many calls of BLAS asks a watch between them, which may be NULL. */
#ifndef GPSELECT_LINALG_H
#define GPSELECT_LINALG_H

#include <stddef.h>

#include "gpselect/model.h"

/* C <- alpha op(A) op(B) + beta C, C [m x n], inner dimension k; trans is 'N' or 'T'. */
void linalg_gemm(char trans_a, char trans_b, size_t m, size_t n, size_t k, double alpha,
                 const double *a, size_t lda, const double *b, size_t ldb, double beta, double *c,
                 size_t ldc);

/* The same for matrices without gaps, as they stand: A [m x k] or for 'T' [k x m], B [k x n] or [n
 * x k]. */
void linalg_product(char trans_a, char trans_b, size_t m, size_t n, size_t k, double alpha,
                    const double *a, const double *b, double beta, double *c);

/* C <- alpha A A' + beta C for trans 'N', A [n x k]; alpha A'A + beta C for 'T', A [k x n]. */
void linalg_syrk(char trans, size_t n, size_t k, double alpha, const double *a, size_t lda,
                 double beta, double *c, size_t ldc);

/* C <- alpha A B + beta C for side 'L', C <- alpha B A + beta C for side 'R'; A symmetric, C [m x
 * n]. */
void linalg_symm(char side, size_t m, size_t n, double alpha, const double *a, size_t lda,
                 const double *b, size_t ldb, double beta, double *c, size_t ldc);

/* B <- op(L) B for side 'L', B <- B op(L) for side 'R'; L lower triangular, B [m x n]. */
void linalg_trmm(char side, char trans, size_t m, size_t n, const double *l, size_t ldl, double *b,
                 size_t ldb);

/* B <- op(L)^-1 B for side 'L', B <- B op(L)^-1 for side 'R'. */
void linalg_trsm(char side, char trans, size_t m, size_t n, const double *l, size_t ldl, double *b,
                 size_t ldb);

/* A -> L with A = L L'. A failure leaves A spoilt. */
gps_status linalg_cholesky(size_t n, double *a, size_t lda);

/* log |A| from its Cholesky factor. */
double linalg_log_det(size_t n, const double *l, size_t ldl);

/* B [n x n_rhs] -> A^-1 B, given the Cholesky factor of A. */
void linalg_cholesky_solve(size_t n, const double *l, size_t ldl, size_t n_rhs, double *b,
                           size_t ldb);

/* A [n x n] -> its Cholesky factor, B [n x n_rhs] -> A^-1 B. */
gps_status linalg_solve_spd(size_t n, double *a, size_t n_rhs, double *b);

/* L -> L^-1. */
gps_status linalg_invert_lower(size_t n, double *l, size_t ldl, const gps_watch *watch);

/* L -> L'L. With L^-1 in place of L that is A^-1. */
void linalg_lower_gram(size_t n, double *l, size_t ldl, const gps_watch *watch);

/* A -> L^-1 with A = L L', and log |A|. `condition` is an upper bound of A's condition number: up
 * to 1e8 factor and inverse are computed together, which is faster but whose error grows faster
 * with the condition number. */
gps_status linalg_factor_inverse(size_t n, double *a, size_t lda, double condition, double *log_det,
                                 const gps_watch *watch);

/* Sum of the diagonal of A [n x n]; of any thread. */
double linalg_trace(size_t n, const double *a);

/* Copies the lower triangle to the upper one. */
void linalg_mirror(size_t n, double *a, size_t lda);

/* A [n x n] -> its eigenvectors in columns, `values` [n] ascending. Scratch in doubles. */
size_t linalg_eigen_sym_scratch(size_t n);
gps_status linalg_eigen_sym(size_t n, double *a, double *values, double *scratch);

/* Cholesky with complete pivoting of a positive semidefinite A: A[pivot, pivot] = L L', L [n x
 * rank]. Pivots are 0-based; what remains of the diagonal is at most `tol`. Scratch of 2 n doubles.
 */
gps_status linalg_cholesky_pivoted(size_t n, double *a, size_t lda, double tol, int *pivot,
                                   size_t *rank, double *scratch);

#endif
