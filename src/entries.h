/* Every routine that R can call, one line each: ENTRY(name, number of arguments). R calls it C_<name>, the C
 * function is r_<name>(). */

