# Is this a model that its constructor and gps_bind() made? The numerics trust its shapes, so every
# model that enters is made anew of its settings and sizes and compared with what was given.

# The model, in this version's form; or an error that names the part that was changed.
check_model <- function(model, arg = "model") {
  check_class(model, arg, "gps_model", "a model, as made by a model_*() function")
  once_made(model, "model", sound_model(model, arg))
}

sound_model <- function(model, arg) {
  maker <- model_maker(model)
  parts <- named_parts(model, arg, if (is.null(maker)) "model_*" else maker)
  if (is.null(maker)) return(check_outside(model, arg))
  made <- make_model(model, parts, arg, maker)
  part <- altered_part(parts, made, is_derived = class(model)[1] != class(made[[1]])[1])
  if (is.null(part) && has_own_class(model, made[[1]])) return(model)
  if (is_older(model$version)) return(upgrade_model(model, made, arg, maker))
  if (is_newer(model$version)) {
    abort_altered(arg, maker, sprintf("version %s made it, and this is version %s", model$version,
                                      this_version()))
  }
  if (is.null(part)) abort_altered(arg, maker, "its class is another one")
  abort_part(arg, maker, part)
}

# The same for a model whose sizes are fixed by data.
check_bound_model <- function(model, arg = "model") {
  checked <- check_model(model, arg)
  if (!is_bound(checked)) gps_abort(sprintf("`%s` must have its sizes fixed: gps_bind(model, y).",
                                            arg))
  checked
}

this_version <- function() unname(getNamespaceVersion("gpselect"))

this_number <- function() as.integer(strsplit(this_version(), "[.-]")[[1]])

# Models of 0.1.0 do not say who made them.
is_older <- function(version) {
  is.null(version) || compare_with_this(version) < 0
}

is_newer <- function(version) !is.null(version) && compare_with_this(version) > 0

# -1, 0 or 1; 0 of what is no version.
compare_with_this <- function(version) {
  is_version <- is.character(version) && length(version) == 1 &&
    grepl("^[0-9]{1,8}([.-][0-9]{1,8})+$", version)
  if (is_version) utils::compareVersion(version, this_version()) else 0
}

# The constructor's name, by the first class that has one; classes before it are from elsewhere.
model_maker <- function(model) {
  for (maker in sub("^gps_", "model_", class(model))) {
    if (startsWith(maker, "model_") && is_exported(maker)) return(maker)
  }
}

has_own_class <- function(model, made) {
  identical(utils::tail(class(model), length(class(made))), class(made))
}

# A model from elsewhere whose parts may have been changed, with all that follows from what it
# declares computed anew; or an error.
rebind_model <- function(model) UseMethod("rebind_model")

# A model from elsewhere, with all that follows from what it declares made anew.
check_outside <- function(model, arg) {
  is_custom <- inherits(model, "gps_custom_model")
  is_native <- inherits(model, "gps_native_model") && is_native(model$native) &&
    !is_built_in(model)
  if (!is_custom && !is_native) {
    abort_altered(arg, "model_*", sprintf("it is of the unknown class %s",
                                          quoted(class(model)[1])))
  }
  fault <- find_fault(model)
  if (!is.null(fault)) abort_altered(arg, "new_gps_model", fault)
  rebind_model(model)
}

# What the constructor of a model is called with to make it anew.
model_arguments <- function(parts, make) {
  names <- intersect(names(formals(make)), names(parts))
  if ("n_components" %in% names) return(parts[names])
  settings <- parts$settings
  c(list(parts$n_latents), if (is.list(settings)) settings[names(settings) %in%
                                                             names(formals(make))])
}

# A model that can be made with any number of latents, or a function that does.
check_sizable <- function(model) {
  if (is.function(model)) return(check_sizing(model))
  check_model(model)
  if (!is.null(model_maker(model))) return(invisible(model))
  gps_abort(paste("`model` is from elsewhere, and only who made it knows how to make one of",
                  "another size: give a function of the number of latents instead."))
}

# A function that needs more than a number makes no model of one: of ours the call that does is
# shown.
check_sizing <- function(make) {
  given <- formals(args(make))
  needs <- names(given)[vapply(given, function(x) is.name(x) && !nzchar(as.character(x)), NA)]
  needs <- setdiff(needs, "...")
  if (length(needs) < 2) return(invisible(make))
  ours <- grep("^model_", getNamespaceExports(topenv()), value = TRUE)
  is_same <- vapply(ours, function(name) identical(get(name, topenv()), make), NA)
  if (!any(is_same)) {
    gps_abort(sprintf(paste("`model` must be a function that makes a model of one number, such as",
                            "model_gaussian_mixture, not one that needs %s."),
                      list_arguments(needs)))
  }
  shown <- paste(needs[-1], ifelse(needs[-1] == "size", "= c(8, 8)", "= "), collapse = ", ")
  gps_abort(sprintf("`model` must be a function of one number, but this one needs %s: %s.",
                    list_arguments(needs), sprintf("function(k) %s(k, %s)", ours[is_same][1],
                                                   shown)))
}

# The same model with another number of latents. A function makes models itself.
resize_model <- function(model, n_latents) {
  if (is.function(model)) {
    made <- name_failure("model", model(n_latents))
    return(check_model(made, sprintf("model(%d)", as.integer(n_latents))))
  }
  maker <- model_maker(model)
  make <- get(maker, envir = topenv(), mode = "function")
  arguments <- model_arguments(unclass(model), make)
  place <- if ("n_components" %in% names(arguments)) "n_components" else 1
  arguments[[place]] <- n_latents
  do.call(make, arguments, quote = TRUE)
}

# The model made anew, twice: what of a bound model depends on the data is told from what must be as
# it is by binding to two kinds of data.
make_model <- function(model, parts, arg, maker) {
  make <- get(maker, envir = topenv(), mode = "function")
  made <- make_of(make, model_arguments(parts, make), arg, maker)
  if (is.null(parts$n_dims)) return(list(made, made))
  is_sized <- is_count(parts$n_dims, 1) && parts$n_dims <= most_dims &&
    is_count(parts$n_latents) &&
    identical(parts$shape, c(parts$n_dims, parts$n_latents))
  if (!is_sized) abort_part(arg, maker, "shape")
  make_of(function() {
    suppressWarnings(lapply(c(0, 2), function(value) {
      bind_model(made, assumed_moments(parts$n_latents, parts$n_dims, value, variance = 0))
    }))
  }, list(), arg, maker)
}

# The name of the first part that its maker would not have made, or NULL. A class from elsewhere may
# have laid a grid, and added parts.
altered_part <- function(parts, made, is_derived) {
  first <- unclass(made[[1]])
  second <- unclass(made[[2]])
  names <- if (is_derived) setdiff(names(first), c("grid", "defaults")) else
    union(names(first), names(parts))
  for (name in setdiff(names, "version")) {
    if (!is_part_like(parts[[name]], first[[name]], second[[name]])) return(name)
  }
  NULL
}

# Equal to `first` where that is equal to `second`; else finite numbers shaped alike, above 0 where
# both are.
is_part_like <- function(x, first, second) {
  if (identical(first, second)) return(identical(x, first))
  if (is.list(first)) {
    return(is.list(x) && identical(names(x), names(first)) &&
             all(mapply(is_part_like, x, first, second)))
  }
  if (!is.double(x) || !identical(attributes(x), attributes(first)) ||
        length(x) != length(first) || !all(is.finite(x))) {
    return(FALSE)
  }
  fixed <- first == second
  all(x[fixed] == first[fixed]) && all(x[first > 0 & second > 0] > 0)
}

# A model of an earlier version as this one makes it, with what the data have told it.
upgrade_model <- function(model, made, arg, maker) {
  new <- made[[1]]
  for (name in setdiff(names(new), "options")) {
    is_of_data <- !identical(new[[name]], made[[2]][[name]])
    if (!is_of_data) next
    if (!is_part_like(model[[name]], new[[name]], made[[2]][[name]])) abort_part(arg, maker, name)
    new[[name]] <- model[[name]]
  }
  if (!is.null(new$options)) {
    new$options <- upgrade_options(new, model$options)
    if (!is_part_like(new$options, made[[1]]$options, made[[2]]$options)) {
      abort_part(arg, maker, "options")
    }
  }
  new
}

# Options of a bound model of an earlier version in the form of `model`, which is bound by this one.
upgrade_options <- function(model, options) UseMethod("upgrade_options")

#' @export
upgrade_options.default <- function(model, options) options
