# Fits that an earlier version of the same major number made, in the form that this version makes:
# the one place where that is known. What a fit lacked gets what it meant then. Models, selectors
# and controls are made anew by check_fit(); what the data have told a model is turned by
# upgrade_options().

# Named by the version that changed the form: functions of a fit's parts that return them changed.
# A fit of an earlier version goes through all later ones in order; its parts may be anything.
fit_changes <- list(
  "0.3.0" = function(parts) {
    # Clutter was fixed and the background's alone.
    if (inherits(parts$model, "gps_occlusive")) names(parts$model$clutter) <- "background"
    # New data were ranked once, by rows (R/select-new.R).
    parts$ranks_once <- TRUE
    parts
  }
)

upgrade_fit <- function(fit, changes = fit_changes) {
  number <- version_number(unclass(fit)$version)
  if (is.null(number)) return(fit)
  version <- paste(number, collapse = ".")
  if (number[1] != this_number()[1]) return(fit)
  parts <- unclass(fit)
  for (name in names(changes)) {
    if (utils::compareVersion(version, name) >= 0) next
    parts <- tryCatch(changes[[name]](parts), error = function(condition) parts)
  }
  structure(parts, class = class(fit))
}
