/* Interrupts and time limits while the core is at work: the shell lends it a watch. The core must
 * not be left by a jump, which R's own question would make; so the jump is caught, the core told to
 * stop, and the jump goes on from the shell. */
#ifndef GPSELECT_R_WATCH_H
#define GPSELECT_R_WATCH_H

#include "r_shell.h"

/* The watch of one .Call, which asks R at most every 20 ms. Main thread. */
const gps_watch *begin_watch(void);

/* Goes on with the jump where the watch has said that the work is to stop; else does nothing. To be
 * called before the results of watched work are used. */
void end_watch(void);

/* Asks the watch where the shell itself is at work, and leaves by a jump where it is to stop. */
void ask_watch(void);

/* Seconds of a clock that only runs forward. */
double clock_seconds(void);

/* Items of work to do before the next question, after the last `n` took `seconds`: so many that
 * they take some 50 ms. */
size_t adapt_slice(size_t n, double seconds);

#endif
