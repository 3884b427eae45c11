# Functions of a user as they are stored: with the variables and helpers that they use and nothing
# else of where they were made, so that a saved fit has no luggage and works in a new session.

# The same functions in environments of their own, which hold copies of what they find by name up to
# the global environment. What packages define stays where it is.
carry_functions <- function(functions) {
  made <- new.env(parent = emptyenv())
  made$homes <- list()
  lapply(functions, carry_function, made = made)
}

carry_function <- function(f, made) {
  if (!is.function(f) || is.primitive(f)) return(f)
  f <- utils::removeSource(f)
  from <- environment(f)
  if (is_home(from) || is_packaged(from)) return(f)
  home <- home_of(from, made)
  for (name in free_names(f)) carry_variable(name, from, made)
  environment(f) <- home
  f
}

# Copies a variable to the home of the first environment from `from` on that has it.
carry_variable <- function(name, from, made) {
  where <- from
  while (!is_packaged(where)) {
    if (exists(name, envir = where, inherits = FALSE)) {
      home <- home_of(where, made)
      if (exists(name, envir = home, inherits = FALSE)) return(invisible())
      # First of all, since functions may call each other.
      assign(name, NULL, envir = home)
      assign(name, carry_function(get(name, envir = where), made), envir = home)
      return(invisible())
    }
    where <- parent.env(where)
  }
}

# The new environment that stands for another one.
home_of <- function(where, made) {
  if (is_home(where) || is_packaged(where)) return(where)
  for (pair in made$homes) if (identical(pair$from, where)) return(pair$home)
  is_global <- identical(where, globalenv())
  home <- new.env(parent = if (is_global) globalenv() else home_of(parent.env(where), made))
  attr(home, "gpselect") <- "home"
  made$homes <- c(made$homes, list(list(from = where, home = home)))
  home
}

is_home <- function(where) identical(attr(where, "gpselect"), "home")

# Namespaces, attached packages and base R.
is_packaged <- function(where) {
  identical(where, emptyenv()) || identical(where, baseenv()) || isNamespace(where) ||
    !identical(where, globalenv()) && grepl("^package:", environmentName(where))
}

# Names that a function looks for outside of itself: whatever is read before it is set there.
free_names <- function(f) {
  walk <- new.env(parent = emptyenv())
  walk$free <- character()
  walk$bound <- names(formals(f))
  walk_parts(formals(f), walk)
  walk_names(body(f), walk)
  unique(walk$free)
}

walk_names <- function(part, walk) {
  if (is.symbol(part)) {
    name <- as.character(part)
    if (!name %in% walk$bound) walk$free <- c(walk$free, name)
  } else if (is.call(part)) {
    walk_call(part, walk)
  } else if (is.pairlist(part) || is.list(part)) {
    walk_parts(part, walk)
  }
  invisible()
}

# Those that are there: not what is left out in `x[, 1]`, nor an argument without a default, both of
# which are what substitute() gives without an argument.
walk_parts <- function(parts, walk) {
  for (i in seq_along(parts)) {
    if (!identical(parts[[i]], substitute())) walk_names(parts[[i]], walk)
  }
}

# What follows `$` is no variable, what an assignment sets is one from then on.
walk_call <- function(call, walk) {
  head <- if (is.symbol(call[[1]])) as.character(call[[1]]) else ""
  if (head %in% c("::", ":::")) return(invisible())
  if (head == "function") return(walk_function(call, walk))
  if (head %in% c("$", "@")) {
    walk_names(call[[1]], walk)
    return(walk_names(call[[2]], walk))
  }
  if (head %in% c("<-", "=") && is.symbol(call[[2]])) {
    walk_names(call[[3]], walk)
    walk$bound <- c(walk$bound, as.character(call[[2]]))
    return(invisible())
  }
  if (head == "for") {
    walk_names(call[[3]], walk)
    walk$bound <- c(walk$bound, as.character(call[[2]]))
    return(walk_names(call[[4]], walk))
  }
  walk_parts(call, walk)
}

# A function within: its arguments are bound in it alone.
walk_function <- function(call, walk) {
  outside <- walk$bound
  walk$bound <- c(outside, names(call[[2]]))
  walk_parts(call[[2]], walk)
  walk_names(call[[3]], walk)
  walk$bound <- outside
  invisible()
}
