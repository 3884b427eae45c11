/* What R cannot do with files: ask the system to have one on the disk. */
#include "r_shell.h"

#ifndef _WIN32
#include <fcntl.h>
#include <unistd.h>
#endif

/* Whether all that was written to the file, or the names in the folder, `path` is on the disk; 1
 * where the system has no such call. */
SEXP r_sync_file(SEXP path) {
#ifdef _WIN32
  (void)path;
  return Rf_ScalarLogical(1);
#else
  if (TYPEOF(path) != STRSXP || Rf_xlength(path) != 1)
    raise_error("argument", "A file must be one path.");
  const int file = open(R_ExpandFileName(Rf_translateChar(STRING_ELT(path, 0))), O_RDONLY);
  if (file < 0) return Rf_ScalarLogical(0);
  const int failed = fsync(file);
  return Rf_ScalarLogical(close(file) == 0 && !failed);
#endif
}
