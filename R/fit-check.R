# Is this a fit that gps_fit() made? Every method of a fit asks first, so that nothing cut, edited
# or foreign reaches the numerics. Nothing stored is evaluated: models, selectors and controls are
# made anew of their own parts.

fit_fields <- c("params", "model", "selector", "n_selected", "max_active", "control", "method",
                "bound", "bound_error", "n_points", "n_iter", "status", "trace", "starts",
                "kernel_theta", "memory", "selected", "prob_on", "value", "y", "image_dim",
                "row_names", "col_names", "seed", "version")

# The fit in this version's form, or an error of class gps_error_argument that says what is wrong
# with it. The cost does not depend on the number of data points: what there is one of a point has
# its shape checked here, and its values by need_slots() and need_data() where they are used.
check_fit <- function(fit) {
  if (!inherits(fit, "gps_fit") || !is.list(fit)) {
    if (inherits(fit, "gp_fit")) {
      gps_abort(paste("`fit` must be a fit of gps_fit(), not a Gaussian process of gp_fit(), of",
                      "which print(), summary(), plot() and predict() tell."))
    }
    hint <- if (is.character(fit)) {
      " One in a file is read by readRDS()."
    } else if (length(dim(fit)) == 2 || inherits(fit, "gps_model") || is.numeric(fit)) {
      " gps_fit(y, model) makes one."
    } else if (is.list(fit) && length(fit) > 0 && inherits(fit[[1]], "gps_fit")) {
      " One of a list is fits[[1]]."
    }
    gps_abort(sprintf("`fit` must be a fit, as made by gps_fit(), not %s.%s", describe_value(fit),
                      paste(hint, collapse = "")))
  }
  fit <- upgrade_fit(fit)
  parts <- tryCatch(check_parts(unclass(fit)), gps_error = function(condition) {
    stop(say_newer(condition, unclass(fit)$version))
  })
  invisible(structure(parts, class = class(fit)))
}

check_parts <- function(parts) {
  absent <- fit_fields[!fit_fields %in% names(parts)]
  if (length(absent) > 0) abort_fit(sprintf("it has no `%s`", absent[1]))
  check_fit_version(parts$version)
  check_fit_counts(parts)
  parts$model <- check_fit_model(parts)
  check_all_params(parts$model, parts$params, "fit$params")
  parts$selector <- check_fit_part(check_selector, parts$selector, "selector")
  parts$control <- check_fit_part(check_control, parts$control, "control")
  check_fit_shapes(parts)
  check_fit_method(parts)
  check_fit_choices(parts)
  parts
}

# A condition that says, of a fit that a newer version made, that this may be the reason.
say_newer <- function(condition, version) {
  number <- paste(version_number(version), collapse = ".")
  if (is_newer(number) && !grepl("comes from version", conditionMessage(condition))) {
    condition$message <- sprintf("%s It comes from version %s, and this is version %s.",
                                 conditionMessage(condition), number, this_version())
  }
  condition
}

abort_fit <- function(reason, ...) {
  gps_abort(sprintf("`fit` is not as gps_fit() made it: %s.", reason), ...)
}

need_fit <- function(is_true, reason) if (!isTRUE(is_true)) abort_fit(reason)

# Fits live as long as the major number.
check_fit_version <- function(version) {
  number <- version_number(version)
  need_fit(!is.null(number), "its `version` is not a version")
  current <- this_number()
  if (number[1] != current[1]) {
    abort_fit(sprintf("it comes from version %s, and this is version %s",
                      paste(number, collapse = "."), paste(current, collapse = ".")))
  }
}

check_fit_counts <- function(parts) {
  for (name in c("n_selected", "max_active", "n_points")) {
    need_fit(is_count(parts[[name]]), sprintf("`%s` is not a whole number", name))
  }
  # Predictions go on counting from there.
  need_fit(is_count(parts$n_iter, 0) && parts$n_iter <= .Machine$integer.max - 2,
           "`n_iter` is not a whole number that a fit can reach")
  need_fit(is_number(parts$bound), "`bound` is not a number")
  need_fit(parts$max_active <= parts$n_selected, "`max_active` is above `n_selected`")
}

# The model of a fit as this version makes it: no larger than its parameters say.
check_fit_model <- function(parts) {
  model <- parts$model
  is_built_in <- !is.null(model_maker(model))
  is_outside <- !is_built_in && inherits(model, c("gps_native_model", "gps_custom_model"))
  need_fit(inherits(model, "gps_model") && is.list(model) && (is_outside || is_built_in),
           sprintf("its model is of the unknown class %s", quoted(class(model)[1])))
  has_sizes <- is_count(model$n_latents) && is_count(model$n_dims) && is.list(parts$params)
  need_fit(has_sizes && (is_outside || is_model_small(unclass(model), parts$params)),
           "its model has no valid sizes and settings")
  check_fit_part(check_bound_model, model, "model")
}

# What `check` makes of a part of a fit, or an error that says that the part was changed.
check_fit_part <- function(check, part, name) {
  tryCatch(check(part, name), gps_error = function(condition) {
    # Of a model from elsewhere, whose package may be missing.
    if (inherits(condition, "gps_error_model")) stop(condition)
    abort_fit(sprintf("its %s was changed: %s", name,
                      sub("[.] Was it edited.*$", "", conditionMessage(condition))),
              parent = condition)
  })
}

# Whether making a model anew takes no more memory than its parameters do.
is_model_small <- function(model, params) {
  if (!is.list(model$settings) || !all(vapply(model$settings, is.atomic, NA))) return(FALSE)
  if (!has_images(model)) return(as.double(model$n_latents) * model$n_dims <= sum(lengths(params)))
  is.numeric(model$image) && is.numeric(model$size) &&
    isTRUE(is_count(model$n_components) && prod(model$image) <= model$n_dims) &&
    length(params$alpha) == as.double(model$n_components) * prod(model$size)
}

# Slots are there for all data points, or were not kept.
check_fit_shapes <- function(parts) {
  need_fit(parts$n_selected <= parts$model$n_latents, "`n_selected` is above the number of latents")
  dim <- as.integer(c(parts$n_selected, parts$n_points))
  is_kept <- !is.null(parts$selected) || isTRUE(parts$control$keep_slots)
  need_fit(is_kept || is.null(parts$prob_on), "`prob_on` is of no `selected`")
  need_fit(!is_kept || is.integer(parts$selected) && identical(dim(parts$selected), dim),
           sprintf("`selected` is not %d x %d latents", dim[1], dim[2]))
  need_fit(!is_kept || is.double(parts$prob_on) && identical(dim(parts$prob_on), dim),
           sprintf("`prob_on` is not %d x %d probabilities", dim[1], dim[2]))
  check_fit_data(parts)
}

# The slots of some of a fit's data points, for `what` that uses them: list(selected, prob_on,
# value).
need_slots <- function(fit, what, points = NULL) {
  if (is.null(fit$selected)) {
    gps_abort(paste(what, "needs the selected latents of each data point, which this fit has not",
                    "kept: refit with gps_control(keep_slots = TRUE)."))
  }
  slots <- unclass(fit)[c("selected", "prob_on", "value")]
  if (!is.null(points)) {
    slots <- lapply(slots, function(x) if (!is.null(x)) x[, points, drop = FALSE])
  }
  check_fit_slots(slots, fit$model$n_latents)
  slots
}

check_fit_slots <- function(slots, n_latents) {
  selected <- slots$selected
  prob_on <- slots$prob_on
  shown <- shown_dim(dim(selected))
  need_fit(!anyNA(selected) && min(selected) >= 0 && max(selected) <= n_latents,
           sprintf("`selected` is not %s latents", shown))
  number <- selected + (n_latents + 1) * (col(selected) - 1)
  need_fit(anyDuplicated(number[selected > 0]) == 0, "`selected` names a latent twice for a point")
  need_fit(!anyNA(prob_on) && min(prob_on) >= 0 && max(prob_on) <= 1 + 1e-8,
           sprintf("`prob_on` is not %s probabilities", shown))
  value <- slots$value
  need_fit(is.null(value) || all(is.finite(value)) && all(value[selected == 0] == 0),
           sprintf("`value` is not %s states of chains", shown))
}

# How states were inferred, and the chains where they were sampled.
check_fit_method <- function(parts) {
  need_fit(is_number(parts$bound_error) && is.finite(parts$bound_error) && parts$bound_error >= 0,
           "`bound_error` is not a standard error")
  need_fit(is.character(parts$method) && length(parts$method) == 1 && !is.na(parts$method),
           "`method` is not a word")
  method <- tryCatch(resolve_method(parts$method, parts$model, parts$n_selected, parts$max_active),
                     error = function(condition) NULL)
  need_fit(identical(method, parts$method),
           "`method` is not how its states can be inferred")
  value <- parts$value
  if (method == "exact") return(need_fit(is.null(value), "`value` belongs to no chain"))
  need_fit(is.null(value) && is.null(parts$selected) ||
             is.double(value) && identical(dim(value), dim(parts$selected)),
           sprintf("`value` is not %d x %d states of chains", parts$n_selected, parts$n_points))
}

# Data may be kept, as a matrix or a source that is no function.
check_fit_data <- function(parts) {
  n_dims <- parts$model$n_dims
  y <- parts$y
  if (is_source(y)) {
    need_fit(is_source_sound(y) && !inherits(y, "gps_source_function") && y$d == n_dims &&
               y$n == parts$n_points, "`y` is not the source of its data")
    y <- NULL
  }
  need_fit(is.null(y) || is.double(y) && identical(dim(y), as.integer(c(n_dims, parts$n_points))),
           sprintf("`y` is not %d x %d numbers", n_dims, parts$n_points))
  image_dim <- parts$image_dim
  need_fit(is.null(image_dim) || is.integer(image_dim) && length(image_dim) %in% 2:3 &&
             isTRUE(prod(image_dim) == n_dims), "`image_dim` is not the size of an image")
  need_fit(are_weights(parts$weights, parts$n_points),
           "`weights` are not those of its data points")
  for (name in c("row_names", "col_names", "latent_names")) {
    n <- switch(name, row_names = parts$n_points, col_names = n_dims, parts$model$n_latents)
    need_fit(is.null(parts[[name]]) || is.character(parts[[name]]) && length(parts[[name]]) == n,
             sprintf("`%s` are not %d names", name, n))
  }
}

# What belongs to the selector, and what the fit says of itself.
check_fit_choices <- function(parts) {
  if (inherits(parts$selector, "gps_selector_gp")) {
    names <- theta_names(parts$selector$kernel, parts$model$n_dims)
    check_fit_kernel(parts$kernel_theta, names)
    check_fit_kernel_trace(parts$kernel_trace, parts$kernel_theta, names)
    check_fit_gp(parts)
  } else {
    need_fit(is.null(parts$kernel_theta), "`kernel_theta` belongs to no kernel")
    need_fit(is.null(parts$kernel_trace), "`kernel_trace` belongs to no kernel")
    need_fit(is.null(parts$gp), "`gp` belongs to no kernel")
  }
  need_fit(has_columns(parts$trace, trace_columns), "`trace` is not its trace")
  need_fit(is.null(parts$starts) || has_start_columns(parts$starts) &&
             sum(parts$starts$chosen) == 1, "`starts` is not its table of starts")
  need_fit(is.null(parts$failed_starts) ||
             has_columns(parts$failed_starts, list(start = integer(), message = character())),
           "`failed_starts` is not its table of failed starts")
  check_fit_chosen(parts)
  check_fit_facts(parts)
  pixels <- parts$pixels
  need_fit(is.null(pixels) || is.integer(pixels) &&
             identical(picture_dim(pixels[1:2], parts$model$n_dims), pixels),
           "`pixels` is not the shape of its pictures")
  need_fit(is_standing(parts$standing), "`standing` is not what it stands on")
  need_fit(is.character(parts$status) && length(parts$status) == 1 && !is.na(parts$status),
           "`status` is not a word")
  need_fit(is.integer(parts$seed) && length(parts$seed) == 2 && !anyNA(parts$seed),
           "`seed` is not two integers")
}

# How the number of selected latents was found, what a selector of the user has learned, and the
# call.
check_fit_chosen <- function(parts) {
  chosen <- parts$chosen
  need_fit(is.null(chosen) || is.list(chosen) && !is.null(names(chosen)) &&
             (is.null(chosen$line) || is_line(chosen$line)),
           "`chosen` is not how its `n_selected` was found")
  memory <- parts$memory
  need_fit(is.null(memory) || inherits(parts$selector, "gps_selector_custom") &&
             is.list(memory) && identical(names(memory), "learned"),
           "`memory` is not what its selector has learned")
  need_fit(is.null(parts$call) || is.call(parts$call), "`call` is not the call that made it")
  need_fit(is.null(parts$begun) || is_line(parts$begun), "`begun` is not where it began")
  need_fit(is.null(parts$start_params) || is.list(parts$start_params),
           "`start_params` are not the parameters of its starts")
  need_fit(is.null(parts$ranks_once) || isTRUE(parts$ranks_once), "`ranks_once` is not TRUE")
}

# What a fit knows of its data beside their numbers; most fits have no missing cells.
check_fit_facts <- function(parts) {
  marks <- parts$marks
  need_fit(is.null(marks) || is.double(marks) && length(marks) == 4 && !anyNA(marks),
           "`marks` are not those of its data")
  omitted <- parts$omitted
  need_fit(is.null(omitted) || is.integer(omitted) && length(omitted) > 0 && !anyNA(omitted) &&
             omitted[1] > 0 && !is.unsorted(omitted, strictly = TRUE),
           "`omitted` are not numbers of rows")
  n_missing <- parts$n_missing
  need_fit(is.null(n_missing) || is_number(n_missing) && n_missing >= 0 &&
             n_missing == round(n_missing), "`n_missing` is not a number of cells")
  means <- parts$cell_means
  need_fit(is.null(means) || is.double(means) && length(means) == parts$model$n_dims &&
             !anyNA(means), "`cell_means` are not means of its columns")
}

# Fits of 0.1.0 have none.
is_standing <- function(standing) {
  is.null(standing) || is.list(standing) && is.character(standing$degenerate) &&
    !anyNA(standing$degenerate) && is.integer(standing$unused) && !anyNA(standing$unused) &&
    is.double(standing$held) && length(standing$held) <= 1 && !anyNA(standing$held) &&
    (is.null(standing$temperature) || is_number(standing$temperature))
}

# 0.1.0 has the first three.
start_columns <- list(start = integer(), bound_per_point = numeric(), chosen = logical(),
                      rows = integer(), unseen = integer())

has_start_columns <- function(starts) {
  wanted <- union(names(start_columns)[1:3], intersect(names(start_columns), names(starts)))
  has_columns(starts, start_columns[wanted])
}

# A data frame with plain columns of the types of `columns`, without NA. A loop, since every method
# of a fit asks.
has_columns <- function(frame, columns) {
  if (!is.data.frame(frame)) return(FALSE)
  n_rows <- nrow(frame)
  frame <- unclass(frame)
  for (name in names(columns)) {
    x <- frame[[name]]
    is_like <- is.atomic(x) && is.null(attributes(x)) && typeof(x) == typeof(columns[[name]]) &&
      length(x) == n_rows && !anyNA(x)
    if (!is_like) return(FALSE)
  }
  TRUE
}

# `names`: those of the kernel's log parameters.
check_fit_kernel <- function(theta, names) {
  need_fit(is.null(theta) || is.double(theta) && all(is.finite(theta)) &&
             length(theta) == length(names),
           "`kernel_theta` are not the kernel's parameters")
}

# Fits without a trace of their kernel have no figure of it; all else works.
check_fit_kernel_trace <- function(trace, theta, names) {
  if (is.null(trace)) return(invisible())
  columns <- c(list(start = integer(), iteration = integer()),
               stats::setNames(rep(list(numeric()), length(names)), names))
  is_sound <- has_columns(trace, columns) && nrow(trace) > 0 && {
    values <- unclass(trace)[names]
    all(is.finite(exp(unlist(values, use.names = FALSE)))) &&
      identical(vapply(values, function(x) x[length(x)], 1), theta)
  }
  need_fit(is_sound, "`kernel_trace` is not the way of its kernel")
}

# What predicts by few basis functions: shapes that C relies on, and nothing that is not a number.
check_fit_gp <- function(parts) {
  gp <- parts$gp
  is_engine <- is.list(gp) && is_one_of(gp$method, setdiff(gp_methods, "auto")) &&
    (is.null(gp$rank) && is.null(engines[[gp$method]]$rank) || is_count(gp$rank)) &&
    (isTRUE(gp$is_auto) || isFALSE(gp$is_auto)) &&
    (is.null(gp$why) || is.character(gp$why) && length(gp$why) == 1) &&
    (is.null(gp$all) || isTRUE(gp$all))
  need_fit(is.null(gp) || is_engine, "`gp` has no method and rank")
  need_fit(is.null(gp$units) || are_units(gp$units, parts$model$n_dims),
           "`gp$units` are not the units of its columns")
  n_held <- count_counted(parts)
  need_fit(is.null(gp$refs) || are_references(gp$refs, n_held),
           "`gp$refs` are not numbers of its data points")
  if (!is.null(gp$refs)) n_held <- length(gp$refs)
  need_fit(is.null(gp$index) || is_index_sound(gp$index, parts$model$n_dims, n_held),
           "`gp$index` is not the index of its data")
  need_fit(is.null(gp$beside) || is_beside_sound(gp$beside, parts$model$n_latents),
           "`gp$beside` are not its latents")
  if (is.null(gp$cross) && is.null(gp$prepared)) return(invisible())
  kernel <- parts$selector$kernel
  need_fit(is_prepared_sound(gp$prepared, kernel, parts$model$n_dims) &&
             identical(gp$prepared$kernel, kernel) &&
             identical(gp$prepared$theta, parts$kernel_theta) &&
             is_finite_matrix(gp$cross, nrow(gp$prepared$transform), parts$model$n_latents),
           "`gp` is not its Gaussian process")
}

are_units <- function(units, n_dims) {
  is_of <- function(x, lengths) {
    is.double(x) && !is.object(x) && length(x) %in% lengths && all(is.finite(x))
  }
  is.list(units) && (is.null(units$centre) || is_of(units$centre, n_dims)) &&
    is_of(units$scale, c(1, n_dims)) && all(units$scale > 0)
}

is_prepared_sound <- function(prepared, kernel, n_dims) {
  if (!is.list(prepared) || !is_basis_sound(prepared$basis, kernel, n_dims)) return(FALSE)
  rank <- basis_rank(prepared$basis, kernel, n_dims)
  is_number(prepared$noise) && prepared$noise > 0 && is.finite(prepared$noise) &&
    is_finite_matrix(prepared$transform, rank, rank)
}
