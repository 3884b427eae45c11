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
    # New data were ranked once, by rows (R/em-new-data.R).
    parts$ranks_once <- TRUE
    # Screening took nothing back.
    narrow_screen(parts)
  }
)

# The screen of a fit of before 0.3.0 whose model has a wider one now: few candidates, which filled
# the slots one after the other.
narrow_screen <- function(parts) {
  wide <- c("gps_binary_sparse", "gps_spike_slab", "gps_max_spike_slab")
  selector <- parts$selector
  if (!inherits(parts$model, wide) || is.null(selector) || !"screen" %in% names(selector)) {
    return(parts)
  }
  screen <- selector$screen
  is_approximate <- !is.null(parts$gp) && parts$gp$method != "exact"
  if (is.null(screen)) {
    is_plain <- inherits(parts$model, "gps_binary_sparse") && !is_approximate
    screen <- if (is_plain) FALSE else gps_screen()
  }
  if (is.list(screen)) {
    n <- as.integer(parts$n_selected)
    narrow <- list(propose = as.integer(ceiling(1.5 * n)), pool = 4L * n, sweeps = 0L,
                   inserts = 0L)
    is_open <- vapply(names(narrow), function(name) is.null(screen[[name]]), NA)
    screen[names(narrow)[is_open]] <- narrow[is_open]
  }
  parts$selector$screen <- screen
  parts
}

upgrade_fit <- function(fit, changes = fit_changes) {
  number <- version_number(unclass(fit)$version)
  this <- this_number()
  if (is.null(number) || identical(number, this) || number[1] != this[1]) return(fit)
  version <- paste(number, collapse = ".")
  parts <- unclass(fit)
  for (name in names(changes)) {
    if (utils::compareVersion(version, name) >= 0) next
    parts <- tryCatch(changes[[name]](parts), error = function(condition) parts)
  }
  structure(parts, class = class(fit))
}

# The integers of a version, or NULL.
version_number <- function(version) {
  is_version <- inherits(version, "package_version") && is.list(version) && length(version) == 1
  number <- if (is_version) unclass(version)[[1]]
  if (is.integer(number) && length(number) > 0 && !anyNA(number)) number
}
