/* .Call entries of Gaussian processes with a basis: pivots, features, leave-one-out from sums. y
 * and z are [n_dims x n], features [n_features x n], targets [n_targets x n] or in slots. */
#include "gp_basis.h"

#include <string.h>

#include "r_gp.h"

/* At most `rank` pivots (from 1), the trace of what is left after each step, and the factor L
 * [n_points x rank] if it is wanted. */
SEXP r_gp_pivots(SEXP code, SEXP theta, SEXP y, SEXP rank, SEXP tol, SEXP keep_factor,
                 SEXP n_threads) {
  static const char *const names[] = {"pivots", "trace", "factor"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(y, "y"));
  const size_t n = (size_t)n_cols_of(y, "y"), n_dims = kernel.n_dims;
  const double *x = view_matrix(y, (R_xlen_t)n_dims, -1, "y");
  const int asked = view_int(rank, "rank");
  const size_t most = asked < 1 ? 1 : (size_t)asked < n ? (size_t)asked : n;
  const gp_cross cross = view_cross(&kernel, theta, n_threads, (double)n * (double)most, n, x);
  gp_pivoting job = {.cross = &cross,
                     .all = view_points(&cross, n, x),
                     .max_rank = most,
                     .tol = view_number(tol, "tol"),
                     .pivot = (size_t *)R_alloc(most, sizeof(size_t)),
                     .factor = alloc_doubles(n, most),
                     .trace = alloc_doubles(most + 1, 1),
                     .scratch = alloc_doubles(gp_pivots_scratch(n_dims, n, most), 1)};
  need_ok(gp_pivots_choose(&job), "The choice of pivots");
  const SEXP result = PROTECT(new_named_list(3, names));
  int *pivots = hang_int_matrix(result, 0, (int)job.rank, 1);
  for (size_t i = 0; i < job.rank; i++) pivots[i] = (int)job.pivot[i] + 1;
  memcpy(hang_doubles(result, 1, (R_xlen_t)job.rank + 1), job.trace,
         (job.rank + 1) * sizeof(double));
  if (Rf_asLogical(keep_factor) == TRUE) {
    memcpy(hang_matrix(result, 2, (int)n, (int)job.rank), job.factor,
           n * job.rank * sizeof(double));
  }
  UNPROTECT(1);
  return result;
}

/* Inducing points z with their factor. `cross` must outlive it. */
static gp_inducing new_inducing(const gp_cross *cross, SEXP z) {
  const size_t n_dims = cross->kernel->n_dims, q = (size_t)n_cols_of(z, "z");
  const double *points = view_matrix(z, (R_xlen_t)n_dims, -1, "z");
  gp_inducing basis = {
      .cross = cross, .z = view_points(cross, q, points), .inverse = alloc_doubles(q, q)};
  need_ok(gp_inducing_factor(&basis, alloc_doubles(q, q)),
          "The kernel matrix of the inducing points");
  return basis;
}

/* Features of y, unless `noise` is NULL divided by scale = sqrt(residual + noise). */
SEXP r_gp_inducing_features(SEXP code, SEXP theta, SEXP z, SEXP y, SEXP noise, SEXP n_threads) {
  static const char *const names[] = {"features", "scale", "residual"};
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(z, "z"));
  const size_t n_dims = kernel.n_dims, n = (size_t)n_cols_of(y, "y"), q = (size_t)n_cols_of(z, "z");
  const double *x = view_matrix(y, (R_xlen_t)n_dims, -1, "y");
  const gp_cross cross = view_cross(&kernel, theta, n_threads, (double)q * (double)n, q,
                                    view_matrix(z, (R_xlen_t)n_dims, -1, "z"));
  const gp_inducing basis = new_inducing(&cross, z);
  const SEXP result = PROTECT(new_named_list(3, names));
  double *features = hang_matrix(result, 0, (int)q, (int)n);
  double *residual = hang_doubles(result, 2, (R_xlen_t)n);
  double *scale = Rf_isNull(noise) ? NULL : hang_doubles(result, 1, (R_xlen_t)n);
  const double white = scale ? view_number(noise, "noise") : 0.0;
  double *scratch = alloc_doubles(gp_inducing_scratch(n_dims, q), 1);
  if (scale && !(white > 0.0)) {
    raise_error("argument", "The kernel must have white noise for the objective \"fitc\".");
  }
  for (size_t from = 0; from < n; from += GP_PANEL) {
    const size_t width = gp_panel_width(n, from);
    double *panel = features + from * q;
    ask_watch();
    gp_inducing_features(&basis, width, x + from * n_dims, from > 0, panel, residual + from,
                         scratch);
    if (scale) gp_scale_features(q, width, white, residual + from, panel, scale + from);
  }
  UNPROTECT(1);
  return result;
}

/* Coordinates times `scale`, and its last number below: the features of a linear kernel. */
static void fill_linear_features(SEXP scale, SEXP y, double *features) {
  const int n_dims = n_rows_of(y, "y"), n = n_cols_of(y, "y"), q = n_dims + 1;
  const double *x = view_matrix(y, n_dims, n, "y"), *factor = view_doubles(scale, q, "scale");
  for (int j = 0; j < n; j++, features += q, x += n_dims) {
#pragma omp simd
    for (int d = 0; d < n_dims; d++) features[d] = factor[d] * x[d];
    features[n_dims] = factor[n_dims];
  }
}

SEXP r_gp_linear_features(SEXP scale, SEXP y) {
  const SEXP features = PROTECT(Rf_allocMatrix(REALSXP, n_rows_of(y, "y") + 1, n_cols_of(y, "y")));
  fill_linear_features(scale, y, REAL(features));
  UNPROTECT(1);
  return features;
}

static void fill_gram(int q, int n, const double *features, double *gram) {
  linalg_syrk('N', (size_t)q, (size_t)n, 1.0, features, (size_t)q, 0.0, gram, (size_t)q);
  linalg_mirror((size_t)q, gram, (size_t)q);
}

/* features features'. */
SEXP r_gp_gram(SEXP features) {
  const int q = n_rows_of(features, "features"), n = n_cols_of(features, "features");
  const double *f = view_matrix(features, q, n, "features");
  const SEXP gram = PROTECT(Rf_allocMatrix(REALSXP, q, q));
  fill_gram(q, n, f, REAL(gram));
  UNPROTECT(1);
  return gram;
}

/* T with T'T = (gram + noise)^-1, lower triangular, and the jitter that it took. */
static void fill_transform(int q, size_t n_points, double noise, const double *gram,
                           double *transform, double *jitter) {
  need_ok(gp_transform((size_t)q, n_points, noise, gram, transform, jitter, begin_watch()),
          "The features' moments");
  for (int j = 1; j < q; j++)
    memset(transform + (size_t)j * (size_t)q, 0, (size_t)j * sizeof(double));
}

SEXP r_gp_transform(SEXP gram, SEXP noise, SEXP n_points) {
  static const char *const names[] = {"transform", "jitter"};
  const int q = n_rows_of(gram, "gram");
  const double *moments = view_matrix(gram, q, q, "gram");
  const double count = view_number(n_points, "n_points");
  const SEXP result = PROTECT(new_named_list(2, names));
  double *transform = hang_matrix(result, 0, q, q), *jitter = hang_doubles(result, 1, 1);
  fill_transform(q, count < 1.0 ? 1 : (size_t)count, view_number(noise, "noise"), moments,
                 transform, jitter);
  UNPROTECT(1);
  return result;
}

/* What the moments of all points' features give, of a linear kernel: the features are turned by
 * the transform where they are. */
SEXP r_gp_linear_prepare(SEXP scale, SEXP y, SEXP noise) {
  static const char *const names[] = {"transform", "jitter", "turned"};
  const int q = n_rows_of(y, "y") + 1, n = n_cols_of(y, "y");
  if (n == 0) raise_error("argument", "There must be at least one data point.");
  const SEXP result = PROTECT(new_named_list(3, names));
  double *transform = hang_matrix(result, 0, q, q), *jitter = hang_doubles(result, 1, 1);
  double *turned = hang_matrix(result, 2, q, n);
  double *gram = alloc_doubles((size_t)q * (size_t)q, 1);
  fill_linear_features(scale, y, turned);
  fill_gram(q, n, turned, gram);
  fill_transform(q, (size_t)n, view_number(noise, "noise"), gram, transform, jitter);
  gp_turn((size_t)q, (size_t)n, transform, turned, turned, begin_watch());
  end_watch();
  UNPROTECT(1);
  return result;
}

/* T features, of which T is lower triangular. */
SEXP r_gp_turn(SEXP transform, SEXP features) {
  const int q = n_rows_of(features, "features"), n = n_cols_of(features, "features");
  const double *t = view_matrix(transform, q, q, "transform"),
               *f = view_matrix(features, q, n, "features");
  const SEXP turned = PROTECT(Rf_allocMatrix(REALSXP, q, n));
  gp_turn((size_t)q, (size_t)n, t, f, REAL(turned), begin_watch());
  end_watch();
  UNPROTECT(1);
  return turned;
}

static const double *view_scale(SEXP scale, size_t n_points) {
  return Rf_isNull(scale) ? NULL : view_doubles(scale, (R_xlen_t)n_points, "scale");
}

/* Sum of f_n (y_n / scale_n)', [n_features x n_targets]; a matrix has been divided already. */
SEXP r_gp_cross(SEXP features, SEXP scale, SEXP targets) {
  const int q = n_rows_of(features, "features"), n = n_cols_of(features, "features");
  const int is_dense = TYPEOF(targets) != VECSXP;
  const int n_targets =
      is_dense ? n_rows_of(targets, "targets")
               : view_count(list_need(list_need(targets, "layout"), "n_latents"), 1, "n_latents");
  const double *f = view_matrix(features, q, n, "features");
  const SEXP cross = PROTECT(Rf_allocMatrix(REALSXP, q, n_targets));
  if (is_dense) {
    linalg_product('N', 'T', (size_t)q, (size_t)n_targets, (size_t)n, 1.0, f,
                   view_matrix(targets, n_targets, n, "targets"), 0.0, REAL(cross));
  } else {
    const gp_slots slots = check_slots(targets, (size_t)n_targets, (size_t)n);
    memset(REAL(cross), 0, (size_t)q * (size_t)n_targets * sizeof(double));
    gp_cross_slots((size_t)q, (size_t)n, f, view_scale(scale, (size_t)n), &slots, REAL(cross));
  }
  UNPROTECT(1);
  return cross;
}

/* Means [n_targets x n_points]: leave-one-out for targets that are a matrix or list(selected,
 * prob_on), with what a point's `own` targets weigh in its mean; plain predictions where targets
 * are NULL. Leave-one-out may come without a transform: the features are then as if it had been
 * applied. */
SEXP r_gp_affinity(SEXP transform, SEXP cross, SEXP features, SEXP scale, SEXP targets,
                   SEXP weight) {
  static const char *const names[] = {"mean", "own"};
  const size_t q = (size_t)n_rows_of(features, "features"),
               n = (size_t)n_cols_of(features, "features");
  const size_t n_targets = (size_t)n_cols_of(cross, "cross");
  const gp_affinity_job job = {
      .n_features = q,
      .n_points = n,
      .n_targets = n_targets,
      .transform = Rf_isNull(transform) && !Rf_isNull(targets)
                       ? NULL
                       : view_matrix(transform, (R_xlen_t)q, (R_xlen_t)q, "transform"),
      .cross = view_matrix(cross, (R_xlen_t)q, -1, "cross"),
      .features = view_matrix(features, -1, -1, "features"),
      .scale = view_scale(scale, n),
      .weight = view_number(weight, "weight"),
      .watch = begin_watch()};
  const SEXP result = PROTECT(new_named_list(2, names));
  double *mean = hang_matrix(result, 0, (int)n_targets, (int)n);
  double *scratch = alloc_doubles(gp_affinity_scratch(q, n_targets), 1);
  if (Rf_isNull(targets)) {
    gp_plain_means(&job, scratch, mean);
    UNPROTECT(1);
    return result;
  }
  double *own = hang_doubles(result, 1, (R_xlen_t)n);
  gp_affinity_means(&job, own, mean, scratch);
  end_watch();
  if (TYPEOF(targets) == VECSXP) {
    const gp_slots slots = check_slots(targets, n_targets, n);
    gp_leave_out_slots(&job, own, &slots, mean);
  } else {
    gp_leave_out_dense(&job, own,
                       view_matrix(targets, (R_xlen_t)n_targets, (R_xlen_t)n, "targets"), mean);
  }
  UNPROTECT(1);
  return result;
}

static gp_objective objective_of(SEXP name) {
  if (TYPEOF(name) == STRSXP && Rf_length(name) == 1) {
    const char *text = CHAR(STRING_ELT(name, 0));
    if (strcmp(text, "dtc") == 0) return GP_DTC;
    if (strcmp(text, "vfe") == 0) return GP_VFE;
    if (strcmp(text, "fitc") == 0) return GP_FITC;
  }
  raise_error("model", "`objective` must be \"dtc\", \"vfe\" or \"fitc\".");
  return GP_DTC;
}

/* `basis`: list(z, objective, extra). The gradient by z is made where `inputs` is TRUE. */
SEXP r_gp_inducing_evaluate(SEXP code, SEXP theta, SEXP basis, SEXP y, SEXP goal, SEXP inputs,
                            SEXP n_threads) {
  static const char *const names[] = {"value", "gradient", "jitter", "inputs"};
  const SEXP z = list_need(basis, "z");
  const gps_kernel kernel = view_kernel(code, (size_t)n_rows_of(z, "z"));
  const size_t n_dims = kernel.n_dims, n = (size_t)n_cols_of(y, "y"), q = (size_t)n_cols_of(z, "z");
  const double *x = view_matrix(y, (R_xlen_t)n_dims, -1, "y");
  const gp_cross cross = view_cross(&kernel, theta, n_threads, (double)q * (double)n, q,
                                    view_matrix(z, (R_xlen_t)n_dims, -1, "z"));
  gp_inducing inducing = new_inducing(&cross, z);
  const gp_targets targets = view_goal(goal, n);
  if (n == 0) raise_error("argument", "There must be at least one data point.");
  gp_inducing_job job = {
      .basis = &inducing,
      .objective = objective_of(list_need(basis, "objective")),
      .extra = view_number(list_need(basis, "extra"), "extra"),
      .n_points = n,
      .x = x,
      .targets = &targets,
      .scratch = alloc_doubles(gp_inducing_evaluate_scratch(&kernel, q, n, targets.rank), 1)};
  const SEXP result = PROTECT(new_named_list(4, names));
  double *by_z = Rf_asLogical(inputs) == TRUE ? hang_matrix(result, 3, (int)n_dims, (int)q) : NULL;
  need_ok(gp_inducing_evaluate(&job, hang_doubles(result, 0, 1),
                               hang_doubles(result, 1, (R_xlen_t)kernel.n_hyper), by_z),
          "The marginal likelihood");
  hang_doubles(result, 2, 1)[0] = job.jitter;
  UNPROTECT(1);
  return result;
}
