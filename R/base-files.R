# Files that are whole or not there.

# Writes what `write(connection)` writes to a new file in the folder of `path`, which takes the
# place of `path` once it is whole and on the disk: whatever ends the process, there is the old file
# or the new one. Returns NULL, or why it failed.
replace_file <- function(path, write) {
  new <- paste0(path, ".new")
  told <- NULL
  failure <- tryCatch(withCallingHandlers({
    connection <- file(new, "wb")
    tryCatch(write(connection), finally = close(connection))
    .Call(C_sync_file, new)
    if (is.null(told) && !file.rename(new, path)) told <- "it cannot be renamed"
    NULL
  }, warning = function(condition) {
    # A full disk is an error for R in some calls, and a warning in others.
    told <<- c(told, conditionMessage(condition))
    invokeRestart("muffleWarning")
  }), error = conditionMessage)
  failure <- c(told, failure)
  if (is.null(failure)) {
    # The new name, too. Some file systems cannot say.
    .Call(C_sync_file, dirname(path))
    return(NULL)
  }
  unlink(new)
  failure[1]
}

# Where a file is, wherever the session moves: where a link leads, if there is one.
absolute_path <- function(path) {
  if (file.exists(path)) return(normalizePath(path))
  file.path(normalizePath(dirname(path), mustWork = FALSE), basename(path))
}

check_path <- function(x, arg, allowed) {
  if (!is.character(x) || length(x) != 1 || is.na(x) || !nzchar(x)) abort_value(x, arg, allowed)
  as.vector(x)
}
