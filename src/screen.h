/* Screening: the model itself chooses among a few candidates that the ranking proposes (architecture: a step between
 * ranking and selection). Needs the model's gain, or its log joint. */
#ifndef GPSELECT_SCREEN_H
#define GPSELECT_SCREEN_H

#include "select.h"

typedef struct {
  int n_propose; /* best-ranked latents among the candidates */
  int n_explore; /* uniform draws among them */
  int is_greedy; /* 1: fill slots one by one by the gain given those filled; 0: by the single-cause states */
  double share;  /* slots replaced by explorers afterwards, in expectation */
} gps_screen;

/* Candidates of one data point at the most. */
int screen_capacity(const gps_screen *screen, int n_slots);

/* Doubles and ints of scratch for one point; model_scratch is the model's own need. */
size_t screen_scratch(const gps_screen *screen, int n_slots, size_t model_scratch);
size_t screen_scratch_ints(const gps_screen *screen, int n_slots);

/* selected [n_slots], ascending latents, of one data point. affinity [n_latents] or NULL (no proposals); kept [n_slots]
 * the point's last latents (-1 = none) or NULL. Empty slots get -1 where there are too few candidates. Any thread. */
gps_status screen_point(const gps_model *model, const gps_problem *problem, const gps_screen *screen,
                        const double *y, int index, const double *affinity, const int *kept, int n_slots,
                        int is_one_hot, const gps_source *source, int *selected, double *scratch, int *ints);

#endif
