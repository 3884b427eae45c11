/* Every routine that R can call, one line each: ENTRY(name, number of arguments). R calls it C_<name>, the C
 * function is r_<name>(). */

ENTRY(estep, 10)
ENTRY(prepare, 7)
ENTRY(mstep, 7)
ENTRY(select, 6)
ENTRY(screen, 10)
ENTRY(max_threads, 0)
