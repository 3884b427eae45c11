/* How long work learns that it is to stop: by asking now and then. Whoever calls such work lends it
 * a watch. No R in here. */
#ifndef GPSELECT_WATCH_H
#define GPSELECT_WATCH_H

#include <stddef.h>

typedef struct {
  int (*must_stop)(void *data);
  void *data;
} gps_watch;

/* Nonzero: return GPS_INTERRUPTED soon, or from a function without a status just return; what has
 * been written is thrown away. Once it is nonzero it stays so. Any thread; a few dozen nanoseconds,
 * so ask once for some ten thousand operations. NULL: never. */
static inline int gps_must_stop(const gps_watch *watch) {
  return watch != NULL && watch->must_stop(watch->data);
}

/* The same, asked once for `every` calls, of which *n_calls counts those since it was asked. */
static inline int gps_must_stop_each(const gps_watch *watch, size_t every, size_t *n_calls) {
  if (++*n_calls < every) return 0;
  *n_calls = 0;
  return gps_must_stop(watch);
}

#endif
