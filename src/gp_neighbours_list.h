/* The list of the nearest points of one query, for the searches of gp_neighbours_*.c. What is in it
 * in the end does not depend on the order in which points are taken. */
#ifndef GPSELECT_GP_NEIGHBOURS_LIST_H
#define GPSELECT_GP_NEIGHBOURS_LIST_H

#include <stddef.h>

#include "vector_math.h"

/* The nearest points of one query so far, nearest first. */
typedef struct {
  int *near;
  double *distance;
  size_t n, n_near;
} near_list;

/* Whether a point comes before the one at place `at`: of equal ones that of smaller number. */
GPS_INLINE int is_nearer(const near_list *list, size_t at, int point, double distance) {
  return distance < list->distance[at] ||
         (distance == list->distance[at] && point < list->near[at]);
}

GPS_INLINE void take_near(near_list *list, int point, double distance) {
  size_t at = list->n;
  if (list->n == list->n_near) {
    at--;
    if (!is_nearer(list, at, point, distance)) return;
  } else {
    list->n++;
  }
  for (; at > 0 && is_nearer(list, at - 1, point, distance); at--) {
    list->distance[at] = list->distance[at - 1];
    list->near[at] = list->near[at - 1];
  }
  list->distance[at] = distance;
  list->near[at] = point;
}

#endif
