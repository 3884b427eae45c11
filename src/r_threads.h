/* Thread counts and the guard against forks. */
#ifndef GPSELECT_R_THREADS_H
#define GPSELECT_R_THREADS_H

/* Called once, when the library is loaded. */
void watch_forks(void);

#endif
