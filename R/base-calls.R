# Calls as fits keep them.

# A call as it was written. What stands in it as a value, as do.call() puts it there, is named by
# its argument, unless it is a single number or word: a fit must not hold its data twice.
shown_call <- function(call, made_by = "gps_fit") {
  for (i in seq_along(call)[-1]) {
    is_short <- is.language(call[[i]]) || is.null(call[[i]]) ||
      is.atomic(call[[i]]) && length(call[[i]]) == 1 && is.null(attributes(call[[i]]))
    if (!is_short) call[[i]] <- as.name(if (nzchar(names(call)[i])) names(call)[i] else "value")
  }
  call[[1]] <- if (is.name(call[[1]]) || is.call(call[[1]])) call[[1]] else
    as.name(made_by)
  call
}

# The call of a fit with changes as they were written; those of gps_control() go into its argument.
changed_call <- function(call, changes, of_control, made_by = "gps_fit") {
  if (is.null(call)) return(NULL)
  for (name in setdiff(names(changes), of_control)) call[name] <- list(changes[[name]])
  control <- if (is.null(call$control)) call("gps_control") else call$control
  is_written <- is.call(control) && identical(control[[1]], as.name("gps_control"))
  if (is_written && length(of_control) > 0) {
    for (name in of_control) control[name] <- list(changes[[name]])
    call$control <- control
  }
  shown_call(call, made_by)
}
