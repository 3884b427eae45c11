/* The contract between the inference engine and a model: what a model in C must provide, and what
 * it is given. No R in here: a model is plain C99 on arrays. Used by gpselect's own models
 * (src/model_*.c) and by models in other packages (LinkingTo: gpselect). Matrices are column-major,
 * columns are data points. */
#ifndef GPSELECT_MODEL_H
#define GPSELECT_MODEL_H

#include <stddef.h>

#include "rng.h"
#include "watch.h"

/* Later versions have members at the end that earlier ones have not: 3 `weight` of a problem and
 * `weighs` of a table, 4 `takes_missing` of a table. Tables of version 2 and 3 go on as they are.
 */
#define GPS_MODEL_API 4
#define GPS_MODEL_API_OLDEST 2

typedef enum {
  GPS_OK = 0,
  GPS_NOT_POSDEF,
  GPS_NOT_FINITE,
  GPS_BAD_MODEL,
  GPS_INTERRUPTED /* a watch said so */
} gps_status;

typedef struct {
  int n_dims, n_latents;
} gps_shape;

/* Template of K_n in slots, shared by all data points. Parents stand before their children. */
typedef struct {
  int n_slots, max_active, n_states;
  const int *n_active; /* [n_states] */
  const int *active;   /* [max_active x n_states] slots, ascending */
  const int *parent; /* [n_states] the state without its last slot; -1 for the empty state, or where
                        that state is not in the template */
  int all_subsets; /* 1: the template holds every subset of the slots, and state m is the one whose
                      bit i says whether slot i is on */
} gps_states;

/* Data of which most are 0: entries start[n] .. start[n + 1] - 1 are those of data point n, in rows
 * row[] (0-based dimensions, ascending) with value[]. */
typedef struct {
  const int *start, *row; /* start [n_points + 1] */
  const double *value;
} gps_sparse;

/* Cells that the data do not have, of data points of which some lack some: those of data point n
 * are the dimensions row[start[n]] .. row[start[n + 1] - 1], ascending. observed [n_dims x
 * n_points] is 0 at these and 1 elsewhere. */
typedef struct {
  const int *start, *row; /* start [n_points + 1] */
  const unsigned char *observed;
} gps_missing;

/* Whether R must have an array: GPS_MAY_MISS: of one that it has not the model gets NULL;
 * GPS_MAY_BE_FIXED: a parameter may stand among the options, and is NULL where the M-step writes.
 */
typedef enum { GPS_NEEDED = 0, GPS_MAY_MISS, GPS_MAY_BE_FIXED } gps_presence;

/* An array that a model reads or writes, by the name that it has in R. `shape` are the words by
 * which R declares its dimensions: "dims latents"; "one" is a single number, "points" the size of
 * the block, and a model may have words of its own. "latents latents|latents" is either of two. */
typedef struct {
  const char *name, *shape;
  gps_presence presence;
} gps_array;

/* Ends a list of arrays. */
#define GPS_END \
  { NULL, NULL, GPS_NEEDED }

/* A probability below this cannot change a sum of up to 1e5 points in its last digit. */
#define GPS_NEGLIGIBLE 1e-22

/* What is fixed during one E-step on one block of data points. */
typedef struct {
  gps_shape shape;
  size_t first_row; /* global number of the block's first data point */
  int n_points;     /* of the block; never a weight */
  double beta;      /* inverse temperature, 1 = none */
  int iteration;
  const double *const *input; /* params, then options, then what is prepared, as in the table */
  const gps_sparse *sparse;   /* the data of the block once more where they are sparse, or NULL */
  const gps_watch *watch;     /* to be asked where a call may take more than a tenth of a second */
  const int *streams;         /* [n_points] numbers of random streams; NULL: the global numbers */
  const gps_missing *missing; /* NULL: all data points of the block have all cells, and so it is for
                                 models without `takes_missing` */
  const double *weight;       /* [n_points] for how many observations each data point stands; NULL:
                                 for one, or the engine sees to it (see `weighs`) */
} gps_problem;

/* How many cells a data point of the block lacks, and which. */
static inline int gps_n_missing(const gps_problem *problem, int index) {
  return problem->missing ? problem->missing->start[index + 1] - problem->missing->start[index] : 0;
}

static inline const int *gps_missing_of(const gps_problem *problem, int index) {
  return problem->missing->row + problem->missing->start[index];
}

/* gps_point.observed of a data point of the block. */
static inline const unsigned char *gps_observed_of(const gps_problem *problem, int index) {
  if (gps_n_missing(problem, index) == 0) return NULL;
  return problem->missing->observed + (size_t)index * (size_t)problem->shape.n_dims;
}

/* The number of the random streams of a data point of the block. */
static inline uint32_t gps_stream_of(const gps_problem *problem, size_t index) {
  return problem->streams ? (uint32_t)problem->streams[index]
                          : (uint32_t)(problem->first_row + index);
}

/* For how many observations a data point of the block stands in the statistics. */
static inline double gps_weight_of(const gps_problem *problem, size_t index) {
  return problem->weight ? problem->weight[index] : 1;
}

/* One data point. */
typedef struct {
  int index;                     /* within the block */
  const double *y;               /* [n_dims]; missing cells are 0 */
  const unsigned char *observed; /* [n_dims], 0 at missing cells; NULL where there are none */
  const int *latent;             /* [n_slots] latent held by each slot, -1 = empty */
} gps_point;

/* One Gibbs step of a slot. */
typedef struct {
  double value;       /* 0 = off */
  double prob_on;     /* p(on | rest) */
  double log_density; /* of a value that is given, given the rest: log of a probability where it is
                         0, of p(on | rest) times a density where it is not */
} gps_step;

/* Required are api, params, stats, scratch_size, log_joint and accumulate; whatever else is NULL,
 * the model does without. No order of arrays or events means anything to R: it goes by their names.
 */
typedef struct gps_model {
  int api;                   /* GPS_MODEL_API */
  const gps_array *params;   /* up to GPS_END, as all lists of arrays */
  const gps_array *options;  /* fixed when the model is bound to data: sizes, floors, switches */
  const gps_array *prepared; /* what prepare() makes of them and a block of the data */
  const gps_array *stats;    /* what accumulate() adds to, and an M-step needs */
  const char *const *events; /* names of what mstep() counts, NULL-ended */

  /* Doubles of scratch per thread, from the sizes in the template alone; for Gibbs sampling of n
   * draws it has max(n, 2) states. */
  size_t (*scratch_size)(const gps_problem *, const gps_states *);

  /* Any thread: no R, no BLAS, no allocation. What log_joint() leaves in scratch is still there in
   * accumulate() and describe() of the same point. States that use an empty slot get -Inf. */
  gps_status (*log_joint)(const gps_problem *, const gps_point *, const gps_states *,
                          double *log_joint, double *scratch);
  gps_status (*accumulate)(const gps_problem *, const gps_point *, const gps_states *,
                           const double *prob, double *const *stats, double *scratch);

  /* Optional, any thread, for models with one latent on in each state, whose statistics all have
   * shapes that end in "latents", or the shape "one" (where a shape of several words ends in "one"
   * instead, it is not called): the same of a data point with this latent on,
   * `weight` times. part [n stats] are the latent's own parts of the arrays; those of the shape
   * "one" are NULL, and count the data points that have a latent in a slot. Many latents are
   * gathered so at a cost that does not grow with their number. */
  gps_status (*accumulate_latent)(const gps_problem *, const gps_point *, int latent, double weight,
                                  double *const *part, double *scratch);

  /* Optional: posterior means of a data point's latents and of its signal. */
  gps_status (*describe)(const gps_problem *, const gps_point *, const gps_states *,
                         const double *prob, double *latent, /* [n_slots] posterior means */
                         double *response, /* [n_dims] posterior mean of the signal, or NULL */
                         double *scratch);

  /* Optional, any thread: what all states of a data point share and log_joint() leaves out. Added
   * to the log evidence alone, so that a large one cannot round away the differences between
   * states. */
  double (*shared_term)(const gps_problem *, const gps_point *);

  /* Optional, any thread: Gibbs sampling of latents that have values besides on and off (without
   * conditional, slots are flipped by gain() or log_joint()). A draw is value [n_slots], 0 = off;
   * draws are [n_slots x n_draws]. All is at the inverse temperature of the problem, which changes
   * while a new chain cools down.
   *
   * With conditional, log_joint_draw and accumulate_draws are required.
   *
   * conditional: the exact law of one slot given the others; value[slot] itself is not read. With
   * rng it draws step->value, with NULL that is given and its density asked for.
   * log_joint_draw: log p(draw, y) as a density in the values that are on, without shared_term.
   * accumulate_draws: one data point's statistics, as means over its draws; prob_on [n_slots] is
   * the mean of p(on | rest).
   * describe_draws: as describe(). */
  gps_status (*conditional)(const gps_problem *, const gps_point *, const gps_states *, int slot,
                            const double *value, gps_rng *, gps_step *step, double *scratch);
  gps_status (*log_joint_draw)(const gps_problem *, const gps_point *, const gps_states *,
                               const double *value, double *log_joint, double *scratch);
  gps_status (*accumulate_draws)(const gps_problem *, const gps_point *, const gps_states *,
                                 int n_draws, const double *draws, const double *prob_on,
                                 double *const *stats, double *scratch);
  gps_status (*describe_draws)(const gps_problem *, const gps_point *, const gps_states *,
                               int n_draws, const double *draws, double *latent, double *response,
                               double *scratch);

  /* Optional, any thread: what gain() needs of a data point whatever is asked; called once before
   * the calls of gain() for that point. What it leaves in scratch is still there in them, also
   * after calls of log_joint() with the same scratch. */
  gps_status (*gain_begin)(const gps_problem *, const gps_point *, double *scratch);

  /* Optional, any thread: for each candidate latent, log joint of `given` plus it minus log joint
   * of `given`. With n_given = 0, where the empty state is none of the model's: of the single-cause
   * state, up to a constant of the data point. Not tempered. */
  gps_status (*gain)(const gps_problem *, const gps_point *, int n_given, const int *given,
                     int n_candidates, const int *candidate, double *gain, double *scratch);

  /* Optional, any thread: candidates for screening where `given` leaves the data unexplained, drawn
   * with rng, after gain_begin() with the same scratch. */
  gps_status (*propose)(const gps_problem *, const gps_point *, int n_given, const int *given,
                        int n_candidates, int *candidate, gps_rng *rng, double *scratch);

  /* Main thread, BLAS allowed. Optional: methods of gps_prepare() and gps_mstep() in R serve
   * instead. `prepared` and `events` are in the order of the table. params_new holds the old
   * parameters when mstep() is called. */
  gps_status (*prepare)(const gps_problem *, const double *y, double *const *prepared);
  size_t (*mstep_scratch)(const gps_problem *); /* NULL: none */
  gps_status (*mstep)(const gps_problem *, const double *const *stats, double *const *params_new,
                      int *events, /* counts of floors and rescues, for the trace */
                      double *scratch);

  /* Since version 3. 1: accumulate() and accumulate_draws() multiply all that they add by
   * gps_weight_of() of the point. 0: they know nothing of weights. The statistics of a point that
   * has one are then made in an array of their own, multiplied and added by the engine, at the cost
   * of passing over the whole array for each point. accumulate_latent() has its `weight` anyway. */
  int weighs;

  /* Since version 4. 1: data may lack cells. Log joints, and gains, are then those of the cells
   * that are there, log p(s, y_O), also where a point has none; what accumulate() adds is what
   * complete data would add where missing cells are what state and parameters expect, their second
   * moments included, so that the M-step stays as it is. A missing cell is 0 in y, also in the
   * block that prepare() is given: see gps_point.observed, and gps_problem.missing. 0: such data
   * are refused.
   */
  int takes_missing;
} gps_model;

#endif
