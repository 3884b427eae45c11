# Columns by a formula, the way many fits of R are called.

# The columns of `data` that a formula names. `others` are arguments that data may have been given
# to by their place.
read_formula <- function(formula, data, others) {
  if (is.null(data)) {
    is_placed <- any(vapply(others, is.data.frame, NA))
    own <- if (length(formula) == 3) right_side(formula) else formula
    gps_abort(sprintf("A formula needs `data`, a data frame%s: gps_fit(%s, model, data = d).%s",
                      if (is_placed) ", by its name" else "", shown_formula(own),
                      if (length(formula) == 3) {
                        " Nothing stands left of ~: latents have no response."
                      } else {
                        ""
                      }))
  }
  if (!is.data.frame(data)) abort_value(data, "data", "a data frame with the formula's columns")
  formula_columns(formula, data)
}

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
