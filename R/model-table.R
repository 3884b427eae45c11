# The table of a model in C (inst/include/gpselect/model.h) names all arrays that it reads or
# writes. R asks for these names once a session, and holds against them what the model declares.

# list(params, options, prepared, stats, events, has) of a native model. Arrays are a list named by
# them of list(shapes, presence): `shapes` are the ways in which dimensions may be named, and
# `presence` is "" for one that is needed, "?" for one that may miss, "=" for one that may be fixed.
model_table <- function(native) {
  key <- paste0(native$package, "::", native$symbol)
  if (is.null(tables[[key]])) tables[[key]] <- ask_table(native)
  tables[[key]]
}

tables <- new.env(parent = emptyenv())

ask_table <- function(native) {
  table <- tryCatch({
    tryCatch(.Call(C_model_table, native), error = function(condition) {
      if (inherits(condition, "gps_error")) stop(condition)
      # Its package is not loaded yet.
      loadNamespace(native$package)
      .Call(C_model_table, native)
    })
  }, error = function(condition) {
    if (inherits(condition, "gps_error")) stop(condition)
    gps_abort(sprintf("The model %s of package %s is not there: %s", native$symbol,
                      native$package, conditionMessage(condition)), "model", parent = condition)
  })
  kinds <- c("params", "options", "prepared", "stats")
  table[kinds] <- lapply(table[kinds], function(arrays) lapply(arrays, read_shapes))
  table
}

read_shapes <- function(text) {
  presence <- sub("^([?=]?).*$", "\\1", text)
  shapes <- strsplit(sub("^[?=]", "", text), "|", fixed = TRUE)[[1]]
  list(shapes = strsplit(trimws(shapes), " +"), presence = presence)
}

# What a table says of the shapes of a kind of array; `fixed` are parameters that are options.
shapes_of_table <- function(table, kind, fixed) {
  arrays <- table[[kind]]
  arrays <- arrays[vapply(arrays, `[[`, "", "presence") != "?" & !names(arrays) %in% fixed]
  for (name in names(arrays)) {
    if (length(arrays[[name]]$shapes) == 1) next
    gps_abort(sprintf("`%s` must be given: its `%s` may have several shapes.", kind, name), "model")
  }
  lapply(arrays, function(array) array$shapes[[1]])
}

# Nothing, or an error that names what the table and the declaration do not have in common.
check_table <- function(model) {
  table <- model_table(model$native)
  fixed <- vapply(table$params, `[[`, "", "presence") == "=" &
    names(table$params) %in% names(model$options)
  hold_against(model, table$params[!fixed], model$params, "parameter")
  hold_against(model, table$prepared, model$prepared, "prepared array")
  hold_against(model, table$stats, model$stats, "statistic")
  hold_options(model, c(table$options, table$params[fixed]))
  odd <- c(setdiff(model$events, table$events), setdiff(table$events, model$events))
  if (length(odd) > 0 && table$has$mstep) abort_declared(model, "event", odd[1], "is not in both")
  if (length(table$prepared) > 0 && !table$has$prepare && !has_method(model, "gps_prepare")) {
    abort_declared(model, "prepared array", names(table$prepared)[1],
                "needs the member `prepare` or a method of gps_prepare()")
  }
}

# Arrays that are declared in R as shapes.
hold_against <- function(model, arrays, declared, kind) {
  hold_names(model, arrays, declared, kind)
  for (name in intersect(names(arrays), names(declared))) {
    shapes <- arrays[[name]]$shapes
    if (any(vapply(shapes, identical, NA, unname(declared[[name]])))) next
    abort_declared(model, kind, name, sprintf(
      "is declared as %s in R and as %s in C", paste(declared[[name]], collapse = " x "),
      paste(vapply(shapes, paste, "", collapse = " x "), collapse = " or ")
    ))
  }
}

# Options, which are there.
hold_options <- function(model, arrays) {
  hold_names(model, arrays, model$options, "option")
  sizes <- dimension_sizes(model)
  for (name in names(model$options)) {
    lengths <- vapply(arrays[[name]]$shapes, function(shape) prod(sizes[shape]), 1)
    if (is.double(model$options[[name]]) && length(model$options[[name]]) %in% lengths) next
    abort_declared(model, "option", name, sprintf(
      "has %d values of type %s and must have %s numbers", length(model$options[[name]]),
      typeof(model$options[[name]]), paste(lengths, collapse = " or ")
    ))
  }
}

hold_names <- function(model, arrays, declared, kind) {
  needed <- names(arrays)[vapply(arrays, `[[`, "", "presence") != "?"]
  missing <- setdiff(needed, names(declared))
  if (length(missing) > 0) abort_declared(model, kind, missing[1], "is read in C and missing in R")
  unknown <- setdiff(names(declared), names(arrays))
  if (length(unknown) > 0) abort_declared(model, kind, unknown[1], "is in R and unknown in C")
}

abort_declared <- function(model, kind, name, what) {
  gps_abort(sprintf("The %s `%s` of the model %s %s.", kind, name, dQuote(model$name, FALSE), what),
            "model")
}
