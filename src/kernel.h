/* Covariance functions as a table of terms, and their sums. Most are functions of inner products,
 * so a sum of kernels is evaluated metric by metric: terms that share one inner product (all
 * isotropic ones) share a metric, and a term with a scale per dimension has its own. Periodic terms
 * and products are evaluated pair by pair, each in a metric of its own (kernel_factors.c). Pure:
 * any thread, no allocation, no BLAS. */
#ifndef GPSELECT_KERNEL_H
#define GPSELECT_KERNEL_H

#include <stddef.h>

#define KERNEL_MAX_TERMS 16

/* Coordinates are multiplied by no more, so that they stay finite: a shorter lengthscale tells no
 * more points apart. */
#define KERNEL_LARGEST_SCALE 1e150

/* Infinitely far in all profiles, yet a number, as its square root's square is. */
#define KERNEL_FAR 1e300

/* Pairs treated at a time: all intermediate arrays stay in the first-level cache. */
#define KERNEL_CHUNK 256

/* Function of the distance, of the distance on circles, of the inner product, of nothing, of the
 * two points' indices; values that the caller brings. */
typedef enum {
  KERNEL_STATIONARY,
  KERNEL_PERIODIC,
  KERNEL_DOT,
  KERNEL_CONSTANT,
  KERNEL_INDEX,
  KERNEL_GIVEN
} kernel_kind;

/* A function of distances has one of two profiles. From squared scaled distances r2 [n] they make
 * the correlation k [n], and unless NULL in `slope` [n] -2 dk/dr2, which times a squared scaled
 * difference is dk/d(log lengthscale), and in `bend` [n] dk/d(log shape). */
typedef struct {
  const char *name;
  kernel_kind kind;
  const char *parts; /* the log parameters in their order, with a space between */
  void (*profile)(size_t n, const double *r2, double *k, double *slope);
  void (*shaped)(size_t n, double shape, const double *r2, double *k, double *slope, double *bend);
  int is_rough; /* dk/dr2 has no limit at 0: r2 must be good to all its digits there */
} kernel_type;

typedef struct {
  const kernel_type *type;
  int is_ard;
  int is_factor; /* of the term before it, which has their common variance */
  size_t n_own;  /* log parameters of a given term */
  size_t first;  /* of its log parameters: variance(s), lengthscale(s), period(s), shape */
} kernel_term;

typedef struct {
  int n_terms; /* factors counted one by one */
  size_t n_dims, n_hyper;
  kernel_term term[KERNEL_MAX_TERMS];
} gps_kernel;

/* The table's entry, or NULL. */
const kernel_type *kernel_find(const char *name);

/* Appends a term, of which `first` is left to be found; 0 where the sum is full. */
int kernel_append(gps_kernel *kernel, kernel_term term);

/* How many variances a term has: inner products with a scale per dimension n_dims, other factors of
 * the term before them none. The other parameters begin after them. */
size_t kernel_n_variances(const gps_kernel *kernel, const kernel_term *term);

/* Where theta has the shape of a function of distances. */
size_t kernel_shape_at(const gps_kernel *kernel, const kernel_term *term);

/* Correlations, and what a profile says besides; `log_shape` is looked at where there is one. */
void kernel_correlate(const kernel_type *type, double log_shape, size_t n, const double *r2,
                      double *k, double *slope, double *bend);

/* Sum of the white-noise variances, and gradient [n_hyper] += `slope` by it of their logarithms. */
double kernel_noise(const gps_kernel *kernel, const double *theta);
void kernel_add_noise_slope(const gps_kernel *kernel, const double *theta, double slope,
                            double *gradient);

/* k(x, x) without white noise for each column of x [n_dims x n]. */
void kernel_diagonal(const gps_kernel *kernel, const double *theta, size_t n, const double *x,
                     double *out);

/* Points as distances see them: minus a data point, then minus the mean, before any division by a
 * lengthscale, so that far from the origin no digits are lost. */
typedef struct {
  size_t n_dims;
  double *origin, *mean; /* [n_dims] */
} kernel_centre;

void kernel_find_centre(size_t n, const double *x, kernel_centre *centre);
void kernel_shift(const kernel_centre *centre, size_t n, const double *x, double *shifted);

/* The terms of one metric at fixed parameters. */
typedef struct {
  const gps_kernel *kernel;
  const double *theta;
  int n_terms, term[KERNEL_MAX_TERMS];
  int is_ard;      /* one term with a scale per dimension */
  int needs_gram;  /* 0: constants only */
  int is_raw;      /* inner products of raw points, not of shifted ones */
  int is_product;  /* the terms are multiplied, pair by pair */
  double constant; /* sum of the bias variances */
  /* Of each term, [n_terms]; 1 where the scales are in the coordinates. */
  double variance[KERNEL_MAX_TERMS], inverse_l[KERNEL_MAX_TERMS], inverse_l2[KERNEL_MAX_TERMS];
  double log_shape[KERNEL_MAX_TERMS];
} kernel_metric;

/* Metric 0 holds the isotropic terms and constants (perhaps none); one more for each other term. */
int kernel_n_metrics(const gps_kernel *kernel);
kernel_metric kernel_metric_at(const gps_kernel *kernel, const double *theta, int which);

/* Points in a metric: what coordinates are multiplied by, scale [n_dims], z [n_dims x n], |z|^2
 * [n], and what turns shifted inner products into raw ones, x_i . x_j = z_i . z_j + tilt_i +
 * tilt_j. `shifted` belongs to `centre`. */
void kernel_embed(const kernel_metric *metric, const kernel_centre *centre, size_t n,
                  const double *x, const double *shifted, double *scale, double *z, double *sq,
                  double *tilt);

/* The largest of |z|^2 [n]; infinite where one is not a finite number. */
double kernel_largest(size_t n, const double *sq);

/* Whether differences of coordinates have to take the place of inner products where squared
 * differences are summed, for points whose |z|^2 is at most `largest_sum` for two together. */
int kernel_needs_differences(const kernel_metric *metric, double largest_sum);

/* One point against n others. */
typedef struct {
  size_t n;
  const double *gram, *sq, *tilt; /* [n] */
  double sq_at, tilt_at;          /* of the one point */
  double largest;                 /* of sq: kernel_largest() */
  const double *x, *x_at;         /* [n_dims x n], [n_dims] the points as given */
  const double *scale;            /* [n_dims] of kernel_embed(), NULL: all 1 */
  size_t same;                    /* which of the n it is itself; SIZE_MAX: none */
} kernel_pairs;

/* Of the n pairs from `from` on: r2 [n], squared distances in units of the squared lengthscale of
 * the metric's term t, which are numbers however far the points; and inner products [n] of the
 * points as given. */
void kernel_distances(const kernel_metric *metric, int t, const kernel_pairs *pairs, size_t from,
                      size_t n, double *r2);
void kernel_products(const kernel_metric *metric, const kernel_pairs *pairs, size_t from, size_t n,
                     double *product);

/* out [n] += the metric's terms. */
void kernel_add_values(const kernel_metric *metric, const kernel_pairs *pairs, double *out);

/* Contraction with a column of a matrix A, of which `weight` [n] are the pairs'; `is_half`: A is
 * symmetric, and of it the lower triangle is given: pairs count twice, the point itself once. To
 * sums [n_hyper] is added sum A dk/d(log parameter) of the metric's terms, but for scales of a
 * metric that has one per dimension. For these, unless NULL, slope [n] (which may be gram's
 * storage) gets of stationary terms the weights of squared differences of z: the sum of slope (z_i
 * - z_j)^2 is that of A dk/d(log lengthscale), and the derivative by z_i is slope (z_j - z_i). Of
 * inner products with a scale per dimension it gets their weights, and must not be NULL; others
 * leave nothing in it. */
void kernel_contract(const kernel_metric *metric, const kernel_pairs *pairs, const double *weight,
                     int is_half, double *sums, double *slope);

/* One chunk of a metric that is a product: out [n] += its values; sums [n_hyper] += sum of weight
 * dk/d(log parameter), and inputs [n_dims x n] += weight dk/d(the n points), each unless NULL. */
void kernel_multiply(const kernel_metric *metric, const kernel_pairs *pairs, size_t from, size_t n,
                     double *out);
void kernel_contract_product(const kernel_metric *metric, const kernel_pairs *pairs, size_t from,
                             size_t n, const double *weight, double *sums, double *inputs);

/* inputs [n_dims x n] += weight [n] dk/d(the n points), of a metric that is a product. */
void kernel_move_product(const kernel_metric *metric, const kernel_pairs *pairs,
                         const double *weight, double *inputs);

/* gradient [n_hyper] += sum over columns of x of weight dk(x, x)/d(log parameter), without noise.
 */
void kernel_contract_diagonal(const gps_kernel *kernel, const double *theta, size_t n,
                              const double *x, const double *weight, double *gradient);

/* Factor of x_d z_d in the kernel, products apart. */
double kernel_dot_variance(const gps_kernel *kernel, const double *theta, size_t d);

#endif
