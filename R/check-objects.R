# Selectors, kernels, screens and controls are plain lists, which may have been edited or stored by
# another version. Each that enters the package is made anew of its own parts before anything else
# looks at it: what its constructor refuses is refused, and what it makes is used.

# `x` as the function named `maker` makes it of those parts of `x` that are its arguments.
remake <- function(x, arg, maker) {
  parts <- named_parts(x, arg, maker)
  make <- get(maker, envir = topenv(), mode = "function")
  given <- intersect(names(parts), names(formals(make)))
  made <- make_of(make, parts[given], arg, maker)
  for (name in setdiff(names(parts), given)) {
    if (!identical(parts[[name]], unclass(made)[[name]])) abort_part(arg, maker, name)
  }
  if (!identical(class(x), class(made))) abort_altered(arg, maker, "its class is another one")
  made
}

is_exported <- function(name) {
  exists(name, envir = getNamespaceInfo(topenv(), "exports"), inherits = FALSE)
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

check_control <- function(control, arg = "control") {
  check_class(control, arg, "gps_control", "made by gps_control()")
  remake(control, arg, "gps_control")
}

# A screen, or what stands for the model's default or for none.
check_screen <- function(screen, arg = "screen") {
  if (is.null(screen) || identical(screen, FALSE)) return(screen)
  check_class(screen, arg, "gps_screen", "NULL, FALSE or a gps_screen()")
  remake(screen, arg, "gps_screen")
}

check_selector <- function(selector, arg = "selector") {
  check_class(selector, arg, "gps_selector", "a selector, as made by a selector_*() function")
  maker <- sub("^gps_", "", class(selector)[1])
  if (!startsWith(maker, "selector_") || !is_exported(maker)) {
    abort_altered(arg, "selector_*", sprintf("it is of the unknown class %s",
                                             dQuote(class(selector)[1], FALSE)))
  }
  remake(selector, arg, maker)
}

check_kernel <- function(kernel, arg) {
  check_class(kernel, arg, "gps_kernel", "a kernel, as made by a kernel_*() function")
  terms <- named_parts(kernel, arg, "kernel_*")$terms
  if (!identical(names(kernel), "terms") || !is.list(terms) || length(terms) == 0) {
    abort_altered(arg, "kernel_*", "it is no list of `terms`")
  }
  made <- lapply(seq_along(terms), function(i) {
    remake_term(terms[[i]], sprintf("%s$terms[[%d]]", arg, i))
  })
  new_kernel(unlist(made, recursive = FALSE))
}

remake_term <- function(term, arg) {
  parts <- named_parts(term, arg, "kernel_*")
  type <- parts$type
  if (!is_one_of(type, names(kernel_types))) {
    abort_altered(arg, "kernel_*", "its `type` is unknown")
  }
  made <- make_of(new_term, parts[intersect(names(parts), names(formals(new_term)))], arg,
                  "kernel_*")
  unknown <- setdiff(names(parts), names(made[[1]]))
  if (length(unknown) > 0 && !is.null(parts[[unknown[1]]])) abort_part(arg, "kernel_*", unknown[1])
  made
}

# What is only shown: an error of the package where it is not as `maker` made it. `is_sound` may
# stumble over anything.
need_made <- function(is_sound, arg, maker) {
  is_sound <- tryCatch(is_sound, error = function(condition) FALSE)
  if (!isTRUE(is_sound)) gps_abort(sprintf("`%s` is not as %s made it.", arg, maker))
}
