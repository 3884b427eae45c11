# A fit that writes a checkpoint after each iteration, with copies of all that were written.
fit_with_copies <- function(y, model, ..., control) {
  file <- tempfile(fileext = ".rds")
  copies <- character()
  replace <- gpselect:::replace_file
  local_value("replace_file", function(path, write) {
    failure <- replace(path, write)
    copy <- tempfile(sprintf("copy%03d-", length(copies) + 1), fileext = ".rds")
    file.copy(path, copy)
    copies <<- c(copies, copy)
    failure
  })
  control <- unclass(control)
  control[c("checkpoint", "checkpoint_every")] <- list(file, 0)
  set.seed(3)
  fit <- gps_fit(y, model, ..., control = do.call(gps_control, control))
  list(fit = fit, file = file, copies = copies)
}

# All that does not depend on clocks and paths.
bits_of <- function(fit) {
  parts <- unclass(fit)
  parts$trace$seconds <- NULL
  parts[c("control", "model", "call")] <- NULL
  parts
}
