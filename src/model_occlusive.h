/* Parts of model E, translation-invariant components that occlude each other: its arrays, the
 * geometry of windows on a cyclic image, and what the files model_occlusive_*.c share.
 *
 * A pixel's terms are relative to the density c = (2 pi sigma2)^(-channels / 2) of a Gaussian at
 * its mean: with e_h = exp(-|y - w_h|^2 / 2 sigma2) owner h has p_h / c = (1 - eps) e_h + v, where
 * v = eps u / c is the clutter, and the background, h = 0, the same with B. In the form of versions
 * before 0.3.0 clutter is the background's alone, and components have p_h / c = e_h. */
#ifndef GPSELECT_MODEL_OCCLUSIVE_H
#define GPSELECT_MODEL_OCCLUSIVE_H

#include "gpselect/model.h"

enum {
  ALPHA,
  W,
  PI,
  BACKGROUND,
  SIGMA2,
  CLUTTER, /* eps */
  HEIGHT,
  WIDTH,
  N_CHANNELS,
  N_COMPONENTS,
  N_ROWS,
  N_COLS,
  IS_SHARED,    /* 1: clutter is whoever's the pixel is, 0: the background's alone */
  LOG_DENSITY,  /* log u in the core, the values that data have */
  IS_FIXED,     /* 1: the M-step leaves the background alone */
  FLOOR_SIGMA2, /* the M-step keeps parameters inside these */
  PI_LOWEST,
  PI_HIGHEST,
  ALPHA_LOWEST, /* and 1 - it is the highest */
  IS_LEARNED,   /* 1: the M-step updates eps, */
  CLUTTER_LOWEST,
  CLUTTER_HIGHEST,
  CORE_LOWEST, /* of each channel */
  CORE_HALF,   /* half its width */
  TAIL_RATE,   /* beyond it u falls as (1 + rate distance)^-4 in each channel; 0: it does not */
  ODDS,
  LOG_ODDS,
  FEATURES,
  PRIOR,
  FLOATS
};
enum { PREPARED = ODDS };

/* An option that is a single number. */
static inline double occlusive_option(const gps_problem *problem, int option) {
  return problem->input[option][0];
}

enum {
  COUNT,
  ON,
  OWNED,        /* expected pixels that a component's pixel owned, clutter apart */
  OWNED_DATA,   /* sum of their data */
  OWNED_SQUARE, /* sum of |y|^2 */
  EXPOSURE,     /* sum of 1 / (1 + odds of all that cover the pixel), clutter apart where shared */
  BACKGROUND_COUNT,
  BACKGROUND_DATA,
  BACKGROUND_SQUARE,
  REMOVAL /* what the log joint would gain if a component's pixel had odds 0; 0 while tempered */
};

/* Lanes of doubles and of floats that a column of a window is padded to, with odds 0. */
enum { LANES = 8, FLOAT_LANES = 16 };

/* What the E-step reads of a problem. */
typedef struct {
  int height, width, n_channels, n_components, n_rows, n_cols;
  size_t n_pixels;
  size_t lanes, n_window;        /* rows of a padded window column; numbers of a padded window */
  size_t stride, n_plane;        /* rows of a padded cyclic image; its numbers */
  double precision;              /* 1 / (2 sigma2) */
  double float_scale;            /* a power of two: of data in single precision */
  float float_precision;         /* 1 / (2 sigma2) of these */
  double log_norm;               /* log c */
  double log_contrast;           /* log(c / u), free of the data's unit */
  double log_open;               /* log(1 - eps) */
  double log_clutter;            /* log v in the core, -Inf without clutter */
  double core_middle, core_half; /* where u is constant */
  double tail_rate;
  double own_log_open; /* log(1 - eps) of components, 0 where clutter is not shared */
  int is_shared;
  int is_safe;                   /* 1: terms may overflow, so that all is done in logs */
  const double *background;      /* [channels] */
  const double *odds, *log_odds; /* [n_window x components] */
  const double *features;        /* [n_window x channels x components] */
  const double *prior; /* [components] logit(pi_h) - log n_pixels; log joint of no component at all;
                          [components] sum of log(1 + odds) */
} occlusive;

occlusive occlusive_of(const gps_problem *problem);

/* Whether data and latents of the problem are those of the images and components. */
static inline int occlusive_fits(const occlusive *it, const gps_problem *problem) {
  return it->n_pixels * (size_t)it->n_channels == (size_t)problem->shape.n_dims &&
         it->n_pixels * (size_t)it->n_components == (size_t)problem->shape.n_latents;
}

static inline size_t round_up(size_t n, size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/* Where a latent puts its component. */
typedef struct {
  int component, row, col;
} occlusive_place;

static inline occlusive_place place_of(const occlusive *it, int latent) {
  const int n_pixels = (int)it->n_pixels, pixel = latent % n_pixels;
  const occlusive_place place = {latent / n_pixels, pixel % it->height, pixel / it->height};
  return place;
}

/* Ranges that two windows have in common along one axis: `length` offsets from `to` on in the one
 * window are those from `from` on in the other. Two, where they meet on both sides. */
typedef struct {
  int n, to[2], from[2], length[2];
} occlusive_overlap;

static inline occlusive_overlap overlap_of(int to, int from, int window, int image) {
  occlusive_overlap result = {0, {0, 0}, {0, 0}, {0, 0}};
  const int ahead = (to - from + image) % image, behind = image - ahead;
  if (ahead < window) {
    result.from[0] = ahead;
    result.length[result.n++] = window - ahead;
  }
  if (behind < window) {
    result.to[result.n] = behind;
    result.length[result.n++] = window - behind;
  }
  return result;
}

/* One data point in scratch. */
typedef struct {
  double *data;   /* [n_plane x channels] cyclic copies of the image */
  double *base;   /* [n_plane] c / p_0, its log where all is done in logs */
  double *loose;  /* [n_plane] v / p_0, its log where all is done in logs */
  double *clean;  /* [n_pixels] share of the Gaussian in p_0 */
  double *weight; /* [n_window x slots] odds times p(y | component) / p_0 of each slot's window, the
                     log of it where all is done in logs */
  double *own;    /* [n_window x slots] share of the Gaussian in p_h */
  double *place;  /* [3 x slots] component, row, column; component -1: the slot is empty */
  double *cover;  /* [n_window] for a window: 1 + weights of what is on, or log of it */
  double *chance; /* [n_window] 1 + odds of what is on */
  double *owned;  /* [n_window] */
  double *exposure; /* [n_window] */
  double *inverse;  /* [n_window] 1 / cover, on average */
  double *removal;  /* [n_window] */
  double *rest;     /* [n_pixels] what no component owns */
} occlusive_point;

/* log(exp(a) + exp(b)) */
double occlusive_log_add(double a, double b);

/* Doubles that a point takes. */
size_t occlusive_point_size(const occlusive *it, size_t n_slots);

occlusive_point occlusive_point_in(const occlusive *it, size_t n_slots, double *scratch);

/* The point that log_joint() leaves in the scratch of the table's functions. */
occlusive_point occlusive_slots_in(const occlusive *it, const gps_states *states, double *scratch);

/* Whether a pixel is masked: one of its cells is missing. `observed` is that of a gps_point. */
static inline int occlusive_is_masked(const occlusive *it, const unsigned char *observed,
                                      size_t pixel) {
  for (int c = 0; observed && c < it->n_channels; c++) {
    if (!observed[pixel + it->n_pixels * (size_t)c]) return 1;
  }
  return 0;
}

/* data, base, loose and clean of a data point. A masked pixel is as clutter that is sure: whoever
 * may own it, its density is the same, so that gains, masks and features do not depend on it. */
void occlusive_begin(const occlusive *it, const gps_point *point, const occlusive_point *to);

/* How far pixels first .. first + n - 1 lie beyond the core: product over the channels of 1 + rate
 * times distance, at most 1e40. Its power -4 is what is left of u. */
void occlusive_beyond(const occlusive *it, const double *y, size_t first, size_t n, double *to);

/* weight and place of a slot. */
void occlusive_fill_slot(const occlusive *it, const occlusive_point *at, size_t slot, int latent);

/* cover and chance of the window of `slot` under the components of the slots on [n_on], of the
 * first n_on slots where on is NULL; without its own, should it be among them. */
void occlusive_cover(const occlusive *it, const occlusive_point *at, size_t slot, int n_on,
                     const int *on);

/* log joint with the component of `slot` minus without it, given those in on [n_on]. -Inf where the
 * slot is empty or holds a component that is there already. */
double occlusive_gain(const occlusive *it, const occlusive_point *at, size_t slot, int n_on,
                      const int *on);

/* Log density of a data point without components, as a sum over its pixels. */
double occlusive_log_background(const occlusive *it, const gps_point *point);

/* Single precision, for the gains of screening. */
typedef struct {
  size_t lanes, n_window; /* as in double precision, with more lanes */
  size_t stride, n_plane;
  size_t n_table;     /* floats of a component's table: odds, then features by channel */
  int is_narrow;      /* 1: terms may leave the range of floats, so that gains are in doubles */
  float *data;        /* [n_plane x channels] cyclic copies of the image */
  float *base;        /* [n_plane] c / p_0, times 1 - eps where clutter is shared */
  float *loose;       /* [n_plane] v / p_0 where clutter is shared, else 0 */
  float *base_left;   /* [n_plane] base / (1 + weights of what is given) */
  float *loose_left;  /* [n_plane] loose / (1 + weights of what is given) */
  float *chance_left; /* [n_plane] 1 / (1 + odds of what is given) */
  float *cover;       /* [n_pixels] the two sums */
  float *chance;
  double *beyond; /* [n_pixels] */
} occlusive_floats;

occlusive_floats occlusive_floats_in(const occlusive *it, float *scratch);

/* Doubles that the scratch and the tables of all components take. */
size_t occlusive_float_scratch(const occlusive *it);
size_t occlusive_float_table(const occlusive *it);

void occlusive_fill_table(const occlusive *it, size_t component, float *table);

/* data, base and loose of a data point. base is 0 at masked pixels alone. */
void occlusive_float_begin(const occlusive *it, const gps_point *point, const occlusive_floats *to);

/* base_left, loose_left and chance_left under what is given. */
void occlusive_float_given(const occlusive *it, const occlusive_floats *at, const float *tables,
                           int n_given, const int *given);

/* As occlusive_gain(), to about 1e-5. is_alone: nothing is given. */
double occlusive_float_gain(const occlusive *it, const occlusive_floats *at, const float *tables,
                            int is_alone, int latent);

/* The table's. */
gps_status occlusive_gain_begin(const gps_problem *problem, const gps_point *point,
                                double *scratch);
gps_status occlusive_gains(const gps_problem *problem, const gps_point *point, int n_given,
                           const int *given, int n_candidates, const int *candidate, double *value,
                           double *scratch);
gps_status occlusive_propose(const gps_problem *problem, const gps_point *point, int n_given,
                             const int *given, int n_candidates, int *candidate, gps_rng *rng,
                             double *scratch);
gps_status occlusive_accumulate(const gps_problem *problem, const gps_point *point,
                                const gps_states *states, const double *prob, double *const *stats,
                                double *scratch);
gps_status occlusive_describe(const gps_problem *problem, const gps_point *point,
                              const gps_states *states, const double *prob, double *latent,
                              double *response, double *scratch);
size_t occlusive_mstep_scratch(const gps_problem *problem);
gps_status occlusive_mstep(const gps_problem *problem, const double *const *stats,
                           double *const *params_new, int *events, double *scratch);

/* The hand-crafted scan: a few representative pixels of every component at every position. */
enum { MAX_REPRESENTATIVES = 48, N_PEAKS = 2 };

typedef struct {
  int n;                              /* representatives of this component */
  int offset[MAX_REPRESENTATIVES];    /* from a padded image's pixel to the representative's */
  int own[MAX_REPRESENTATIVES];       /* in a component's table */
  float log_on[MAX_REPRESENTATIVES];  /* log alpha */
  float log_off[MAX_REPRESENTATIVES]; /* log(1 - alpha) */
} occlusive_scan_plan;

/* order [n_rows x n_cols] is scratch. */
void occlusive_plan_scan(const gps_problem *problem, int component, int *order,
                         occlusive_scan_plan *plan);

size_t occlusive_scan_scratch(const gps_problem *problem);
size_t occlusive_scan_ints(const gps_problem *problem);

/* affinity [n_latents] of a data point: the gain at the best peaks of each component, UNSEEN
 * elsewhere. plan [components]. */
gps_status occlusive_scan(const gps_problem *problem, const gps_point *point,
                          const occlusive_scan_plan *plan, double *affinity, double *scratch,
                          int *ints);

#define UNSEEN (-1e300)

#endif
