/* Recursions over all subsets of the slots: state m is the subset whose bit i says whether slot i
 * is on. States go in rows of eight (the three lowest slots), so that every inner loop is one
 * vector. Any thread, no allocation. */
#ifndef GPSELECT_SUBSETS_H
#define GPSELECT_SUBSETS_H

#include <stddef.h>

/* Doubles of scratch for the functions below: one for each row of eight states, at least one. */
size_t subsets_scratch(size_t n_states);

/* value[m] = value[0] + sum of own[i] over the slots of m - sum of coupling[i + j * n_slots] over
 * its pairs i < j; value[0] is given. own may be -Inf, coupling is finite. */
void subsets_log_joint(size_t n_slots, const double *own, const double *coupling, double *value,
                       double *scratch);

/* prob_on[i] = sum of prob over the states that hold slot i; folded [n_states] starts as prob and
 * is used up. */
void subsets_marginals(size_t n_slots, double *folded, double *prob_on);

/* pair[i + j * n_slots], i <= j: sum of prob over the states that hold both; folded as above. */
void subsets_pairs(size_t n_slots, double *folded, double *pair, double *scratch);

#endif
