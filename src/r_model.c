/* A native model and its arrays, as R objects describe them. Called by r_estep.c, r_select.c and
 * r_occlusive.c. */
#include "r_model.h"

#include <stdio.h>
#include <string.h>

#include <R_ext/Rdynload.h>

static const char *text_of(SEXP list, const char *name) {
  const SEXP x = list_need(list, name);
  if (TYPEOF(x) != STRSXP || Rf_xlength(x) != 1 || STRING_ELT(x, 0) == R_NaString)
    raise_error("model", "`%s` of a model must be one text.", name);
  return CHAR(STRING_ELT(x, 0));
}

/* Raised where a table lacks what it must have. */
static void need_member(int is_there, const char *symbol, const char *member) {
  if (!is_there)
    raise_error("model", "Model %s has no `%s`, which every model must have.", symbol, member);
}

const gps_model *find_model(SEXP native) {
  const char *package = text_of(native, "package"), *symbol = text_of(native, "symbol");
  const gps_model *(*get)(void) = (const gps_model *(*)(void))R_GetCCallable(package, symbol);
  const gps_model *model = get();
  need_member(model != NULL, symbol, "table");
  if (model->api < GPS_MODEL_API_OLDEST || model->api > GPS_MODEL_API) {
    raise_error("model",
                "Model %s of package %s was built for version %d of the model interface, and this "
                "is version %d: install %s anew.",
                symbol, package, model->api, GPS_MODEL_API, package);
  }
  need_member(model->params != NULL && model->params[0].name != NULL, symbol, "params");
  need_member(model->stats != NULL, symbol, "stats");
  need_member(model->scratch_size != NULL, symbol, "scratch_size");
  need_member(model->log_joint != NULL, symbol, "log_joint");
  need_member(model->accumulate != NULL, symbol, "accumulate");
  if (model->conditional) {
    need_member(model->log_joint_draw != NULL, symbol, "log_joint_draw");
    need_member(model->accumulate_draws != NULL, symbol, "accumulate_draws");
  }
  return model;
}

int weighs_points(const gps_model *model) { return model->api >= 3 && model->weighs; }

static int takes_missing(const gps_model *model) { return model->api >= 4 && model->takes_missing; }

int count_arrays(const gps_array *arrays) {
  int n = 0;
  while (arrays && arrays[n].name != NULL) n++;
  return n;
}

int count_names(const char *const *names) {
  int n = 0;
  while (names && names[n] != NULL) n++;
  return n;
}

/* Named by the arrays, the words of their shapes; "?" stands before those of an array that may
 * miss,
 * "=" of one that may be fixed. */
static SEXP describe_arrays(const gps_array *arrays) {
  const int n = count_arrays(arrays);
  const SEXP shapes = PROTECT(Rf_allocVector(STRSXP, n));
  const SEXP names = Rf_allocVector(STRSXP, n);
  Rf_setAttrib(shapes, R_NamesSymbol, names);
  for (int i = 0; i < n; i++) {
    char text[256];
    const gps_presence presence = arrays[i].presence;
    snprintf(text, sizeof text, "%s%s",
             presence == GPS_MAY_MISS       ? "?"
             : presence == GPS_MAY_BE_FIXED ? "="
                                            : "",
             arrays[i].shape ? arrays[i].shape : "");
    SET_STRING_ELT(names, i, Rf_mkChar(arrays[i].name));
    SET_STRING_ELT(shapes, i, Rf_mkChar(text));
  }
  UNPROTECT(1);
  return shapes;
}

/* Which of the optional members a table has. */
static SEXP describe_members(const gps_model *model) {
  const char *const names[] = {"prepare",      "mstep",       "describe",          "gain",
                               "propose",      "conditional", "accumulate_latent", "weighs",
                               "takes_missing"};
  const int has[] = {model->prepare != NULL,
                     model->mstep != NULL,
                     model->describe != NULL,
                     model->gain != NULL,
                     model->propose != NULL,
                     model->conditional != NULL,
                     model->accumulate_latent != NULL,
                     weighs_points(model),
                     takes_missing(model)};
  const SEXP result = PROTECT(new_named_list(9, names));
  for (int i = 0; i < 9; i++) SET_VECTOR_ELT(result, i, Rf_ScalarLogical(has[i]));
  UNPROTECT(1);
  return result;
}

/* native -> list(params, options, prepared, stats, events, has): what a model's table says of
 * itself. */
SEXP r_model_table(SEXP native) {
  const gps_model *model = find_model(native);
  const char *const names[] = {"params", "options", "prepared", "stats", "events", "has"};
  const SEXP result = PROTECT(new_named_list(6, names));
  SET_VECTOR_ELT(result, 0, describe_arrays(model->params));
  SET_VECTOR_ELT(result, 1, describe_arrays(model->options));
  SET_VECTOR_ELT(result, 2, describe_arrays(model->prepared));
  SET_VECTOR_ELT(result, 3, describe_arrays(model->stats));
  const int n_events = count_names(model->events);
  SET_VECTOR_ELT(result, 4, Rf_allocVector(STRSXP, n_events));
  for (int i = 0; i < n_events; i++)
    SET_STRING_ELT(VECTOR_ELT(result, 4), i, Rf_mkChar(model->events[i]));
  SET_VECTOR_ELT(result, 5, describe_members(model));
  UNPROTECT(1);
  return result;
}

const gps_sparse *read_sparse(SEXP entries, double offset, double n_points, int n_dims) {
  if (entries == R_NilValue) return NULL;
  const SEXP starts = list_need(entries, "start");
  const int *start = view_ints(starts, -1, "start");
  if (!(offset >= 0 && n_points >= 0 && offset + n_points + 1 <= (double)Rf_xlength(starts)))
    raise_error("model", "Sparse data have too few points.");
  gps_sparse *sparse = (gps_sparse *)R_alloc(1, sizeof *sparse);
  sparse->start = start + (size_t)offset;
  const R_xlen_t length = Rf_xlength(list_need(entries, "value"));
  sparse->row = view_ints(list_need(entries, "row"), length, "row");
  sparse->value = view_doubles(list_need(entries, "value"), length, "value");
  for (size_t n = 0; n < (size_t)n_points; n++) {
    const int from = sparse->start[n], to = sparse->start[n + 1];
    if (from < 0 || to < from || to > length)
      raise_error("model", "Sparse data have no valid entries for point %.0f.", (double)n + 1);
    for (int e = from; e < to; e++) {
      if (sparse->row[e] < 0 || sparse->row[e] >= n_dims)
        raise_error("model", "Sparse data have no dimension %d.", sparse->row[e]);
    }
  }
  return sparse;
}

const int *read_streams(SEXP streams, int n_points) {
  return streams == R_NilValue ? NULL : view_ints(streams, n_points, "streams");
}

/* list(start, row) of cells of data with n_dims dimensions, from the point `offset` (0-based) on;
 * NULL where none of the n_points that follow lacks any. */
static const gps_missing *read_missing(SEXP cells, double offset, int n_points, int n_dims) {
  if (cells == R_NilValue) return NULL;
  const SEXP starts = list_need(cells, "start"), rows = list_need(cells, "row");
  if (offset + n_points + 1 > (double)Rf_xlength(starts))
    raise_error("model", "Missing cells are those of too few points.");
  const int *start = view_ints(starts, -1, "start") + (size_t)offset;
  const int *row = view_ints(rows, -1, "row");
  if (start[0] < 0 || start[n_points] > Rf_xlength(rows) || start[n_points] < start[0])
    raise_error("model", "Missing cells are not valid.");
  if (start[n_points] == start[0]) return NULL;
  const size_t n_cells = (size_t)n_points * (size_t)n_dims;
  unsigned char *observed = (unsigned char *)R_alloc(n_cells, 1);
  memset(observed, 1, n_cells);
  for (int n = 0; n < n_points; n++) {
    if (start[n + 1] < start[n]) raise_error("model", "Missing cells are not in order.");
    for (int e = start[n]; e < start[n + 1]; e++) {
      if (row[e] < 0 || row[e] >= n_dims || (e > start[n] && row[e] <= row[e - 1]))
        raise_error("model", "Missing cells of point %d are not valid.", n + 1);
      observed[(size_t)n * (size_t)n_dims + (size_t)row[e]] = 0;
    }
  }
  gps_missing *missing = (gps_missing *)R_alloc(1, sizeof *missing);
  missing->start = start;
  missing->row = row;
  missing->observed = observed;
  return missing;
}

/* A copy of y [n_dims x n_points] with zeros in the cells that are missing. */
static const double *clear_missing(const double *y, const gps_missing *missing, int n_points,
                                   int n_dims) {
  const size_t n_cells = (size_t)n_points * (size_t)n_dims;
  double *copy = (double *)R_alloc(n_cells, sizeof *copy);
  for (size_t i = 0; i < n_cells; i++) copy[i] = missing->observed[i] ? y[i] : 0;
  return copy;
}

static const double *read_weights(SEXP weights, int n_points) {
  return weights == R_NilValue ? NULL : view_doubles(weights, n_points, "weights");
}

r_block read_block(SEXP y, SEXP block, int n_dims) {
  const double *data = view_matrix(y, n_dims, -1, "y");
  const double offset = view_number(list_need(block, "y_offset"), "y_offset");
  const double n_points = view_number(list_need(block, "n_points"), "n_points");
  if (!(offset >= 0 && n_points >= 0 && offset + n_points <= n_cols_of(y, "y"))) {
    raise_error("model", "A block of %.0f points at %.0f does not fit %d points.", n_points, offset,
                n_cols_of(y, "y"));
  }
  const double *from = data + (size_t)offset * (size_t)n_dims;
  const gps_missing *missing =
      read_missing(list_get(block, "missing"), offset, (int)n_points, n_dims);
  const r_block result = {missing ? clear_missing(from, missing, (int)n_points, n_dims) : from,
                          view_row(list_need(block, "first_row"), "first_row"),
                          (int)n_points,
                          read_sparse(list_get(block, "entries"), offset, n_points, n_dims),
                          read_streams(list_get(block, "streams"), (int)n_points),
                          missing,
                          read_weights(list_get(block, "weights"), (int)n_points)};
  return result;
}

/* The declared length of an input, or -1. */
static R_xlen_t length_of(SEXP lengths, const char *name) {
  const SEXP names = Rf_getAttrib(lengths, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(names); i++) {
    if (strcmp(CHAR(STRING_ELT(names, i)), name) != 0) continue;
    const double length = REAL(lengths)[i];
    if (!(length >= 0 && length < 4503599627370496.0)) break;
    return (R_xlen_t)length;
  }
  return -1;
}

/* What a word of a shape, of so many letters, says of a problem; -1: it is the model's own. */
static double size_of_word(const gps_problem *problem, const char *word, size_t n) {
  const struct {
    const char *word;
    double size;
  } known[] = {{"dims", problem->shape.n_dims},
               {"latents", problem->shape.n_latents},
               {"points", problem->n_points},
               {"one", 1}};
  for (int i = 0; i < 4; i++) {
    if (strlen(known[i].word) == n && strncmp(known[i].word, word, n) == 0) return known[i].size;
  }
  return -1;
}

void check_shape(const gps_problem *problem, const gps_array *array, double length) {
  double product = 1;
  if (array->shape == NULL) return;
  for (const char *at = array->shape; *at != '\0';) {
    const size_t n = strcspn(at, " |");
    const double size = n > 0 ? size_of_word(problem, at, n) : 1;
    if (size < 0) return;
    product *= size;
    at += n;
    if (*at != ' ' && product == length) return;
    if (*at == '|') product = 1;
    if (*at != '\0') at++;
  }
  raise_error("model", "`%s` must be %s and has %.0f values, with %d dims, %d latents, %d points.",
              array->name, array->shape, length, problem->shape.n_dims, problem->shape.n_latents,
              problem->n_points);
}

/* One list of the table's arrays, each with its declared length. */
static void read_inputs(const gps_problem *problem, const gps_array *arrays, SEXP inputs,
                        SEXP lengths, const double **input) {
  for (int i = 0; i < count_arrays(arrays); i++) {
    const char *name = arrays[i].name;
    const SEXP x =
        arrays[i].presence == GPS_MAY_MISS ? list_get(inputs, name) : list_need(inputs, name);
    input[i] = NULL;
    if (x == R_NilValue) continue;
    const R_xlen_t length = length_of(lengths, name);
    if (length < 0) raise_error("model", "The model does not declare the shape of `%s`.", name);
    input[i] = view_doubles(x, length, name);
    check_shape(problem, arrays + i, (double)length);
  }
}

gps_problem read_problem(const gps_model *model, SEXP shape, SEXP inputs, SEXP lengths,
                         r_block block, int is_prepared) {
  const int n_params = count_arrays(model->params), n_options = count_arrays(model->options),
            n_prepared = count_arrays(model->prepared);
  const size_t n_inputs = (size_t)(n_params + n_options + n_prepared);
  const double **input = (const double **)R_alloc(n_inputs, sizeof *input);
  const int *sizes = view_ints(shape, 2, "shape");
  if (sizes[0] < 1 || sizes[1] < 1)
    raise_error("model", "A model of %d dimensions and %d latents is none.", sizes[0], sizes[1]);
  const gps_problem problem = {.shape = {sizes[0], sizes[1]},
                               .first_row = block.first_row,
                               .n_points = block.n_points,
                               .beta = 1.0,
                               .input = input,
                               .sparse = block.sparse,
                               .watch = begin_watch(),
                               .streams = block.streams,
                               .missing = block.missing,
                               .weight = block.weight};
  view_doubles(lengths, -1, "lengths");
  read_inputs(&problem, model->params, inputs, lengths, input);
  read_inputs(&problem, model->options, inputs, lengths, input + n_params);
  for (int i = 0; i < n_prepared; i++) input[n_params + n_options + i] = NULL;
  if (is_prepared) {
    read_inputs(&problem, model->prepared, inputs, lengths, input + n_params + n_options);
  }
  return problem;
}

/* Whether R has an array, which it may lack where the table says so and `may_miss`. */
static int is_there(const gps_array *array, SEXP dims, int may_miss) {
  return !may_miss || array->presence != GPS_MAY_MISS || list_get(dims, array->name) != R_NilValue;
}

SEXP new_arrays(const gps_problem *problem, const gps_array *arrays, SEXP dims, int may_miss,
                double **data) {
  const int n_all = count_arrays(arrays);
  int n = 0;
  const char **names = (const char **)R_alloc((size_t)n_all, sizeof *names);
  for (int i = 0; i < n_all; i++) {
    data[i] = NULL;
    if (is_there(arrays + i, dims, may_miss)) names[n++] = arrays[i].name;
  }
  const SEXP list = PROTECT(new_named_list(n, names));
  for (int i = 0, at = 0; i < n_all; i++) {
    if (!is_there(arrays + i, dims, may_miss)) continue;
    const SEXP dim = list_need(dims, arrays[i].name);
    const int *size = view_ints(dim, -1, arrays[i].name);
    if (Rf_length(dim) == 0) raise_error("model", "`%s` has no dimension.", arrays[i].name);
    double length = 1;
    for (int k = 0; k < Rf_length(dim); k++) {
      if (size[k] < 0) raise_error("model", "`%s` has a dimension below 0.", arrays[i].name);
      length *= size[k];
    }
    check_shape(problem, arrays + i, length);
    SET_VECTOR_ELT(list, at,
                   Rf_length(dim) == 1 ? Rf_allocVector(REALSXP, INTEGER(dim)[0])
                                       : Rf_allocArray(REALSXP, dim));
    data[i] = REAL(VECTOR_ELT(list, at));
    memset(data[i], 0, (size_t)Rf_xlength(VECTOR_ELT(list, at)) * sizeof(double));
    at++;
  }
  UNPROTECT(1);
  return list;
}
