# Selectors, kernels, screens and controls are plain lists, which may have been edited or stored by
# another version. Each that enters the package is made anew of its own parts before anything else
# looks at it: what its constructor refuses is refused, and what it makes is used.

# `x` as the function named `maker` makes it of those parts of `x` that are its arguments.
remake <- function(x, arg, maker) {
  once_made(x, maker, {
    parts <- named_parts(x, arg, maker)
    make <- get(maker, envir = topenv(), mode = "function")
    given <- intersect(names(parts), names(formals(make)))
    made <- make_of(make, parts[given], arg, maker)
    for (name in setdiff(names(parts), given)) {
      if (!identical(parts[[name]], unclass(made)[[name]])) abort_part(arg, maker, name)
    }
    if (!identical(class(x), class(made))) abort_altered(arg, maker, "its class is another one")
    made
  })
}

# What `make` makes of `x`. What was made last of a kind is kept: fits, predictions and steps of
# fits come with the same object again.
once_made <- function(x, kind, make) {
  last <- remade[[kind]]
  if (!is.null(last) && identical(x, last$x)) return(last$made)
  remade[[kind]] <- list(x = x, made = make)
  make
}

remade <- new.env(parent = emptyenv())

is_exported <- function(name) {
  exists(name, envir = getNamespaceInfo(topenv(), "exports"), inherits = FALSE)
}

# Plain values in words, each with its name; of long ones the beginning.
format_settings <- function(settings) {
  shown <- vapply(settings, function(x) {
    first <- format(x[seq_len(min(length(x), 5))], trim = TRUE)
    if (length(x) == 1) return(first)
    sprintf("(%s)", paste(c(first, if (length(x) > 5) "..."), collapse = ", "))
  }, "")
  if (length(shown) > 0) paste(names(settings), "=", shown)
}

# A list of distinct names without other attributes.
named_parts <- function(x, arg, maker) {
  parts <- if (is.list(x)) unclass(x)
  names <- names(parts)
  if (is.null(parts) || length(names) != length(parts) || anyNA(names) || any(names == "") ||
        anyDuplicated(names) > 0) {
    abort_altered(arg, maker, "it is no list of named parts")
  }
  attributes(parts) <- list(names = names)
  parts
}

# What `make` makes of arguments that may be anything; nothing of them is evaluated.
make_of <- function(make, arguments, arg, maker) {
  tryCatch(do.call(make, arguments, quote = TRUE), error = function(condition) {
    is_ours <- inherits(condition, "gps_error")
    # A part that is an object itself has its own message, whose advice is given once.
    said <- sub("[.]( Was it edited.*)?$", "", conditionMessage(condition))
    abort_altered(arg, maker, if (is_ours) said else "its parts are of other kinds")
  })
}

abort_altered <- function(arg, maker, reason) {
  gps_abort(sprintf(
    "`%s` is not as %s() makes it: %s. Was it edited, or stored by another version? Make it anew.",
    arg, maker, reason
  ))
}

abort_part <- function(arg, maker, part) {
  abort_altered(arg, maker, sprintf("its part `%s` was changed", part))
}

# What is only shown: an error of the package where it is not as `maker` made it. `is_sound` may
# stumble over anything.
need_made <- function(is_sound, arg, maker) {
  is_sound <- tryCatch(is_sound, error = function(condition) FALSE)
  if (!isTRUE(is_sound)) gps_abort(sprintf("`%s` is not as %s made it.", arg, maker))
}
