/* .Call entries of the exact Gaussian process: kernel matrix, evaluation, leave-one-out,
 * prediction. y and newdata are [n_dims x n], targets [n_targets x n], factor the inverse L^-1 of
 * the Cholesky factor of K, lower triangular. */
#include "r_gp.h"

#include <math.h>
#include <string.h>

/* Operations for a kernel's value of a pair of points. */
#define PAIR_WORK 8.0

double *alloc_doubles(size_t n_rows, size_t n_cols) {
  /* R_alloc() takes any number of elements of a size that fits an int. */
  return (double *)R_alloc(n_rows * n_cols + 1, sizeof(double));
}

int *alloc_ints(size_t n) { return (int *)R_alloc(n + 1, sizeof(int)); }

static const char *text_at(SEXP strings, int i) { return CHAR(STRING_ELT(strings, i)); }

/* The names of a term's parameters are in R's table and in C's, and must be the same. */
static const kernel_type *find_type(const char *name, const char *parts) {
  const kernel_type *found = kernel_find(name);
  if (found == NULL) raise_error("model", "There is no kernel \"%s\".", name);
  if (strcmp(found->parts, parts) != 0) {
    raise_error("model", "The kernel \"%s\" has the parameters \"%s\", not \"%s\".", name,
                found->parts, parts);
  }
  return found;
}

gps_kernel view_kernel(SEXP code, size_t n_dims) {
  const SEXP type = list_need(code, "type"), parts = list_need(code, "parts");
  const SEXP ard = list_need(code, "ard"), factor = list_need(code, "factor");
  const R_xlen_t n_terms = Rf_xlength(type);
  const int *n_own = view_ints(list_need(code, "n_own"), n_terms, "n_own");
  gps_kernel kernel = {.n_dims = n_dims};
  if (TYPEOF(type) != STRSXP || TYPEOF(parts) != STRSXP || TYPEOF(ard) != LGLSXP ||
      TYPEOF(factor) != LGLSXP || Rf_xlength(parts) != n_terms || Rf_xlength(ard) != n_terms ||
      Rf_xlength(factor) != n_terms || n_terms == 0) {
    raise_error("model", "The kernel's code must hold vectors of the same length.");
  }
  for (int t = 0; t < (int)n_terms; t++) {
    const kernel_term term = {.type = find_type(text_at(type, t), text_at(parts, t)),
                              .is_ard = LOGICAL(ard)[t] == TRUE,
                              .is_factor = t > 0 && LOGICAL(factor)[t] == TRUE,
                              .n_own = (size_t)(n_own[t] < 0 ? 0 : n_own[t])};
    if (!kernel_append(&kernel, term)) {
      raise_error("argument", "A kernel can have at most %d terms.", KERNEL_MAX_TERMS);
    }
  }
  return kernel;
}

const double *view_theta(SEXP theta, const gps_kernel *kernel) {
  return view_doubles(theta, (R_xlen_t)kernel->n_hyper, "theta");
}

gp_cross view_cross(const gps_kernel *kernel, SEXP theta, SEXP n_threads, double n_pairs, size_t n,
                    const double *x) {
  const size_t n_dims = kernel->n_dims;
  gp_cross cross = {.kernel = kernel,
                    .theta = view_theta(theta, kernel),
                    .centre = {n_dims, alloc_doubles(n_dims, 1), alloc_doubles(n_dims, 1)},
                    .n_threads = threads_for(n_threads, PAIR_WORK * n_pairs),
                    .watch = begin_watch()};
  if (n == 0) raise_error("argument", "There must be at least one data point.");
  kernel_find_centre(n, x, &cross.centre);
  return cross;
}

gp_points view_points(const gp_cross *cross, size_t n, const double *x) {
  const size_t n_dims = cross->kernel->n_dims;
  double *shifted = alloc_doubles(n_dims, n);
  kernel_shift(&cross->centre, n, x, shifted);
  return gp_points_at(n_dims, n, x, shifted, alloc_doubles(gp_points_scratch(n_dims, n), 1));
}

/* Values that R has forgotten to bring would be missing without a word. */
static void need_given(const gps_kernel *kernel, SEXP given) {
  for (int t = 0; t < kernel->n_terms; t++) {
    if (kernel->term[t].type->kind == KERNEL_GIVEN && Rf_isNull(given)) {
      raise_error("model", "The kernel's code lacks the values of a custom term.");
    }
  }
}

/* Pairs of the points of y. */
static double own_pairs(SEXP y) {
  const double n = n_cols_of(y, "y");
  return 0.5 * n * n;
}

/* The dense engine on y [n_dims x n_points], without its scratch. */
static gp_dense view_dense(const gps_kernel *kernel, SEXP theta, SEXP y, SEXP n_threads,
                           double n_pairs) {
  const size_t n_points = (size_t)n_cols_of(y, "y");
  const double *x = view_matrix(y, (R_xlen_t)kernel->n_dims, -1, "y");
  gp_dense gp = {.cross = view_cross(kernel, theta, n_threads, n_pairs, n_points, x)};
  gp.all = view_points(&gp.cross, n_points, x);
  return gp;
}

/* The same for all pairs of its points, with what R computes of the kernel: code$given,
 * list(values, slopes = those of all parameters side by side, or NULL). */
static gp_dense view_whole(const gps_kernel *kernel, SEXP code, SEXP theta, SEXP y,
                           SEXP n_threads) {
  gp_dense gp = view_dense(kernel, theta, y, n_threads, own_pairs(y));
  const R_xlen_t n = (R_xlen_t)gp.all.n;
  const SEXP given = list_get(code, "given");
  need_given(kernel, given);
  if (Rf_isNull(given)) return gp;
  const SEXP slopes = list_get(given, "slopes");
  gp.given = view_matrix(list_need(given, "values"), n, n, "values");
  if (Rf_isNull(slopes)) return gp;
  gp.given_slopes = view_matrix(slopes, n, -1, "slopes");
  gp.n_given = (size_t)(n_cols_of(slopes, "slopes") / n);
  return gp;
}

static double *new_scratch(const gp_dense *gp) {
  return alloc_doubles(gp_dense_scratch(gp->cross.kernel, gp->all.n), 1);
}

size_t count_targets(SEXP targets, const char *what) {
  const int n = n_rows_of(targets, what);
  if (n < 1) raise_error("argument", "`%s` must have at least one row.", what);
  return (size_t)n;
}

gp_targets view_goal(SEXP goal, size_t n_points) {
  const SEXP root = list_need(goal, "root");
  return (gp_targets){(size_t)view_count(list_need(goal, "n_targets"), 1, "n_targets"),
                      (size_t)n_rows_of(root, "root"),
                      view_matrix(root, -1, (R_xlen_t)n_points, "root")};
}

gp_slots view_slots(SEXP targets, size_t n_latents, size_t n_points) {
  const SEXP selected = list_need(targets, "selected"), prob_on = list_need(targets, "prob_on");
  const int n_slots = n_rows_of(selected, "selected");
  return (gp_slots){(size_t)n_slots, n_latents,
                    view_ints(selected, (R_xlen_t)n_slots * (R_xlen_t)n_points, "selected"),
                    view_matrix(prob_on, n_slots, (R_xlen_t)n_points, "prob_on")};
}

gp_slots check_slots(SEXP targets, size_t n_latents, size_t n_points) {
  const gp_slots slots = view_slots(targets, n_latents, n_points);
  for (size_t i = 0; i < slots.n_slots * n_points; i++) {
    if (slots.selected[i] < 0 || (size_t)slots.selected[i] > n_latents) {
      raise_error("model", "`selected` names latent %d of %.0f.", slots.selected[i],
                  (double)n_latents);
    }
  }
  return slots;
}

SEXP r_gp_kernel_matrix(SEXP code, SEXP theta, SEXP y, SEXP n_threads) {
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y, "y"));
  const int n = n_cols_of(y, "y");
  gp_dense gp = view_whole(&kernel, code, theta, y, n_threads);
  const SEXP k = PROTECT(Rf_allocMatrix(REALSXP, n, n));
  gp.scratch = new_scratch(&gp);
  gp_dense_kernel(&gp, REAL(k));
  end_watch();
  linalg_mirror((size_t)n, REAL(k), (size_t)n);
  UNPROTECT(1);
  return k;
}

/* What many evaluations of the same points share: list(products = inner products, scratch = memory
 * that each of them writes to and nobody reads after it). Fresh memory for each would have to be
 * fetched from the system. */
SEXP r_gp_share(SEXP code, SEXP theta, SEXP y, SEXP n_threads) {
  static const char *const names[] = {"products", "scratch"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y, "y"));
  const gp_dense gp = view_dense(&kernel, theta, y, n_threads, own_pairs(y));
  const size_t n = gp.all.n;
  const SEXP result = PROTECT(new_named_list(2, names));
  gp_dense_gram(&gp, hang_matrix(result, 0, (int)n, (int)n));
  hang_doubles(result, 1, (R_xlen_t)(n * n + gp_dense_scratch(&kernel, n)));
  UNPROTECT(1);
  return result;
}

/* list(value, gradient, jitter). Without `least` with as much jitter as it takes; with it no more
 * than is given, and no gradient where the value is below it. */
SEXP r_gp_evaluate(SEXP code, SEXP theta, SEXP y, SEXP shared, SEXP jitter, SEXP goal, SEXP least,
                   SEXP n_threads) {
  static const char *const names[] = {"value", "gradient", "jitter"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y, "y"));
  gp_dense gp = view_whole(&kernel, code, theta, y, n_threads);
  gp.jitter = view_number(jitter, "jitter");
  const R_xlen_t n = (R_xlen_t)gp.all.n;
  const gp_targets targets = view_goal(goal, gp.all.n);
  const int is_first = Rf_isNull(least);
  const SEXP result = PROTECT(new_named_list(3, names));
  double *value = hang_doubles(result, 0, 1);
  double *gradient = hang_doubles(result, 1, (R_xlen_t)kernel.n_hyper);
  double *k;
  if (Rf_isNull(shared)) {
    k = alloc_doubles(gp.all.n, gp.all.n);
    gp.scratch = new_scratch(&gp);
  } else {
    gp.gram = view_matrix(list_need(shared, "products"), n, n, "products");
    k = (double *)view_doubles(list_need(shared, "scratch"),
                               n * n + (R_xlen_t)gp_dense_scratch(&kernel, gp.all.n), "scratch");
    gp.scratch = k + n * n;
  }
  need_ok(gp_dense_evaluate(&gp, is_first, &targets,
                            is_first ? -HUGE_VAL : view_number(least, "least"), k,
                            alloc_doubles(targets.rank, gp.all.n), value, gradient),
          "The marginal likelihood");
  hang_doubles(result, 2, 1)[0] = gp.jitter;
  UNPROTECT(1);
  return result;
}

/* list(factor or inverse, jitter), with as much jitter as it takes. Of the factor only the lower
 * triangle is one; the inverse K^-1 is made in its place. */
SEXP r_gp_factor(SEXP code, SEXP theta, SEXP y, SEXP jitter, SEXP is_inverted, SEXP n_threads) {
  static const char *const names[2][2] = {{"factor", "jitter"}, {"inverse", "jitter"}};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y, "y"));
  gp_dense gp = view_whole(&kernel, code, theta, y, n_threads);
  gp.jitter = view_number(jitter, "jitter");
  const int inverts = Rf_asLogical(is_inverted) == TRUE;
  const SEXP result = PROTECT(new_named_list(2, names[inverts]));
  gp.scratch = new_scratch(&gp);
  const size_t n = gp.all.n;
  double log_det, *matrix = hang_matrix(result, 0, (int)n, (int)n);
  need_ok(gp_dense_factor(&gp, 1, matrix, &log_det), "The kernel matrix cannot be factorised");
  if (inverts) {
    linalg_lower_gram(n, matrix, n, begin_watch());
    end_watch();
    linalg_mirror(n, matrix, n);
  } else {
    /* Nobody has written above the diagonal. */
    for (size_t j = 0; j < n; j++) memset(matrix + j * n, 0, j * sizeof *matrix);
  }
  hang_doubles(result, 1, 1)[0] = gp.jitter;
  UNPROTECT(1);
  return result;
}

static const double *view_square(SEXP matrix, const char *name) {
  return view_matrix(matrix, n_rows_of(matrix, "matrix"), n_rows_of(matrix, "matrix"), name);
}

/* targets K^-1. */
SEXP r_gp_weigh(SEXP factor, SEXP targets) {
  const size_t n = (size_t)n_rows_of(factor, "factor"),
               n_targets = count_targets(targets, "targets");
  const double *target = view_matrix(targets, -1, (R_xlen_t)n, "targets");
  const SEXP alpha = PROTECT(Rf_allocMatrix(REALSXP, (int)n_targets, (int)n));
  memcpy(REAL(alpha), target, n_targets * n * sizeof *target);
  const double *l = view_square(factor, "factor");
  linalg_trmm('R', 'T', n_targets, n, l, n, REAL(alpha), n_targets);
  linalg_trmm('R', 'N', n_targets, n, l, n, REAL(alpha), n_targets);
  UNPROTECT(1);
  return alpha;
}

/* Leave-one-out means and variances of the observations. */
SEXP r_gp_loo(SEXP factor, SEXP targets, SEXP n_threads) {
  static const char *const names[] = {"mean", "variance"};
  const size_t n = (size_t)n_rows_of(factor, "factor"),
               n_targets = count_targets(targets, "targets");
  const double *target = view_matrix(targets, -1, (R_xlen_t)n, "targets");
  const SEXP result = PROTECT(new_named_list(2, names));
  SET_VECTOR_ELT(result, 0, r_gp_weigh(factor, targets));
  double *variance = hang_doubles(result, 1, (R_xlen_t)n);
  gp_dense_loo_variance(n, view_square(factor, "factor"),
                        threads_for(n_threads, 0.5 * (double)n * (double)n), variance);
  gp_loo_means(n_targets, n, target, variance, REAL(VECTOR_ELT(result, 0)));
  UNPROTECT(1);
  return result;
}

/* The same, of an inverse of the kernel matrix. */
SEXP r_gp_loo_inverse(SEXP inverse, SEXP targets) {
  static const char *const names[] = {"mean", "variance"};
  const size_t n = (size_t)n_cols_of(targets, "targets"),
               n_targets = count_targets(targets, "targets");
  const double *k_inverse = view_matrix(inverse, (R_xlen_t)n, (R_xlen_t)n, "inverse");
  const double *target = view_matrix(targets, -1, -1, "targets");
  const SEXP result = PROTECT(new_named_list(2, names));
  double *mean = hang_matrix(result, 0, (int)n_targets, (int)n),
         *variance = hang_doubles(result, 1, (R_xlen_t)n), *weighted = alloc_doubles(n, n_targets);
  for (size_t j = 0; j < n; j++) variance[j] = 1.0 / k_inverse[j * (n + 1)];
  /* The product with the large matrix on the left is nearly twice as fast as its transpose. */
  linalg_product('N', 'T', n, n_targets, n, 1.0, k_inverse, target, 0.0, weighted);
  for (size_t j = 0; j < n; j++) {
    for (size_t h = 0; h < n_targets; h++) mean[h + j * n_targets] = weighted[j + h * n];
  }
  gp_loo_means(n_targets, n, target, variance, mean);
  UNPROTECT(1);
  return result;
}

/* Means at new points from weights [any x n], and with a factor the variance of the function. */
SEXP r_gp_predict(SEXP code, SEXP theta, SEXP y, SEXP weights, SEXP factor, SEXP newdata,
                  SEXP n_threads) {
  static const char *const names[] = {"mean", "variance"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y, "y"));
  const int n_new = n_cols_of(newdata, "newdata"), has_factor = !Rf_isNull(factor);
  const double n_pairs = (double)n_cols_of(y, "y") * n_new;
  gp_dense gp = view_dense(&kernel, theta, y, n_threads, n_pairs);
  const size_t n = gp.all.n, n_targets = count_targets(weights, "weights");
  const double *l = has_factor ? view_matrix(factor, (R_xlen_t)n, (R_xlen_t)n, "factor") : NULL;
  gp_predicted at = {.n = (size_t)n_new,
                     .x = view_matrix(newdata, (R_xlen_t)kernel.n_dims, -1, "newdata")};
  const SEXP given = list_get(code, "given_new");
  need_given(&kernel, given);
  gp.scratch = new_scratch(&gp);
  if (!Rf_isNull(given)) {
    at.given = view_matrix(list_need(given, "values"), (R_xlen_t)n, n_new, "values");
    at.given_variance = view_doubles(list_need(given, "variance"), n_new, "variance");
  }
  const SEXP result = PROTECT(new_named_list(2, names));
  at.mean = hang_matrix(result, 0, (int)n_targets, n_new);
  at.variance = has_factor ? hang_doubles(result, 1, n_new) : NULL;
  gp_dense_predict(&gp, n_targets, view_matrix(weights, -1, (R_xlen_t)n, "weights"), l, &at,
                   alloc_doubles(gp_dense_predict_scratch(kernel.n_dims, n), 1));
  end_watch();
  UNPROTECT(1);
  return result;
}
