# Which engine: what users name, and what data allow.

# Up to this many points "auto" is exact.
max_auto_points <- 2000L

# The method of "auto" and why.
choose_method <- function(kernel, n_dims, n_points) {
  if (uses_features(kernel, n_dims, n_points)) {
    return(list(method = "exact", why = "the kernel is linear in the data"))
  }
  if (n_points <= max_auto_points) {
    return(list(method = "exact", why = sprintf("at most %d points", max_auto_points)))
  }
  if (has_custom(kernel)) {
    return(list(method = "exact", why = "other methods do without values of all pairs"))
  }
  if (!has_white(kernel)) {
    return(list(method = "exact", why = "no other method does without white noise"))
  }
  list(method = "ichol", why = sprintf("more than %d points", max_auto_points))
}

# Which method has a use for which argument.
check_engine_arguments <- function(method, given) {
  for (arg in names(given)[given]) {
    owns <- vapply(engines, function(engine) arg %in% engine$own, NA)
    users <- c(if (arg == "rank") "auto", names(engines)[owns])
    if (method %in% users) next
    gps_abort(sprintf(
      "`%s` means nothing to the method %s; it belongs to %s.", arg, quoted(method),
      paste(quoted(users), collapse = ", ")
    ))
  }
}

check_rank <- function(rank, method, n_points) {
  row <- engines[[method]]
  if (is.null(row$rank)) return(NULL)
  rank <- if (is.null(rank)) row$rank else check_count(rank, "rank")
  if (isTRUE(row$most)) rank <- as.integer(min(rank, n_points))
  if (isTRUE(row$square) && rank > max_dense_points) {
    gps_abort(sprintf(
      "`rank` = %d needs matrices of %.1f GB each; the limit is %d (%.1f GB).", rank,
      8e-9 * rank^2, max_dense_points, 8e-9 * max_dense_points^2
    ))
  }
  rank
}

check_engine_kernel <- function(engine, kernel) {
  if (has_custom(kernel) && !engine$method %in% methods_that("pairs")) {
    gps_abort(sprintf(
      "`kernel` has a kernel_custom() term, which method = %s cannot compute; these can: %s.",
      quoted(engine$method), paste(quoted(methods_that("pairs")), collapse = ", ")
    ))
  }
  engine_check_terms(engine, kernel)
}

# What users say of an engine beside its method and rank, checked: list(objective, learn_inputs,
# cross, index).
check_engine_options <- function(method, rank, objective, learn_inputs, cross, index) {
  given <- c(rank = !is.null(rank), objective = !identical(objective, objectives))
  options <- list(objective = check_choice(objective, "objective", objectives),
                  learn_inputs = check_flag(learn_inputs, "learn_inputs"),
                  cross = check_flag(cross, "cross"),
                  index = if (!is.null(index)) check_flag(index, "index"))
  check_engine_arguments(method, c(given, learn_inputs = options$learn_inputs,
                                   cross = !options$cross, index = !is.null(index)))
  options
}

objectives <- c("vfe", "fitc", "dtc")

# Which engine for data of this `size`, points in rows: list(engine, why, form).
choose_engine <- function(kernel, size, method, rank, objective, learn_inputs, cross, index) {
  method <- check_choice(method, "method", gp_methods)
  options <- check_engine_options(method, rank, objective, learn_inputs, cross, index)
  chosen <- if (method == "auto") choose_method(kernel, size[2], size[1]) else list(method = method)
  row <- engines[[chosen$method]]
  engine <- new_engine(chosen$method, check_rank(rank, chosen$method, size[1]), options$objective,
                       options$learn_inputs, options$cross, options$index)
  check_engine_kernel(engine, kernel)
  engine_check_size(engine, kernel, size[2], size[1])
  has_features <- isTRUE(row$exact) && uses_features(kernel, size[2], size[1])
  form <- if (has_features) "features" else if (isTRUE(row$exact)) "dense" else row$kind
  list(engine = engine, why = chosen$why, form = form)
}
