# Columns by a formula, the way many fits of R are called.

# The columns of `data` that a formula names. `others` are arguments that data may have been given
# to by their place.
read_formula <- function(formula, data, others) {
  if (is.null(data)) {
    is_placed <- any(vapply(others, is.data.frame, NA))
    gps_abort(paste0("A formula needs `data`, a data frame", if (is_placed) ", by its name",
                     ": gps_fit(~ a + b, model, data = d)."))
  }
  if (!is.data.frame(data)) abort_value(data, "data", "a data frame with the formula's columns")
  formula_columns(formula, data)
}

# The columns of a data frame that a formula without a left side names.
formula_columns <- function(formula, data) {
  if (length(formula) == 3) {
    gps_abort(sprintf(paste("The formula must have nothing left of ~, as latents have no response:",
                            "%s, with columns to leave out by a minus."),
                      shown_formula(formula[-2])))
  }
  labels <- tryCatch(attr(stats::terms(formula, data = data), "term.labels"),
                     error = function(condition) {
                       gps_abort(sprintf("The formula %s cannot be read: %s",
                                         shown_formula(formula), conditionMessage(condition)))
                     })
  wanted <- gsub("^`|`$", "", labels)
  absent <- setdiff(wanted, names(data))
  if (length(absent) > 0) {
    is_made <- grepl("[^A-Za-z0-9._ ]", absent[1])
    gps_abort(sprintf("`data` has no column %s.%s", quoted(absent[1]), if (is_made) {
      " Make it one first, so that new data can have it, too: transform(data, ...)."
    } else {
      near <- nearest_name(absent[1], names(data))
      if (is.null(near)) "" else sprintf(" Did you mean %s?", quoted(near))
    }))
  }
  if (length(wanted) == 0) gps_abort("The formula names no column: ~ a + b, or ~ . for all.")
  as_frame(unclass(data)[wanted], data, wanted)
}

shown_formula <- function(formula) paste(deparse(formula), collapse = " ")

# The data of a fit that is made again or gone on with: `y` as given, or what it or the fit's names
# of columns are in `data`.
data_again <- function(y, data, names) {
  if (inherits(y, "formula")) return(read_formula(y, data, list()))
  if (is.null(data)) return(y)
  if (!is.null(y)) gps_abort("`data` is for a formula, or in place of `y`: give one of them.")
  if (!is.data.frame(data)) abort_value(data, "data", "a data frame with the fit's columns")
  if (is.null(names)) {
    gps_abort(paste("`data`: columns are found by their names, and those of the fit have none.",
                    "Give `y`."))
  }
  pick_columns(data, names, "data", "the fit's data")
}
