# The right side of a formula as columns of a data frame.

# The columns of a data frame that a formula without a left side names.
formula_columns <- function(formula, data) {
  if (length(formula) == 3) {
    gps_abort(sprintf("The formula must have nothing left of ~, as latents have no response: %s.",
                      shown_formula(right_side(formula))))
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
      if (is.null(near)) paste(" There are", columns_said(names(data))) else
        sprintf(" Did you mean %s?", quoted(near))
    }))
  }
  if (length(wanted) == 0) gps_abort("The formula names no column: ~ a + b, or ~ . for all.")
  as_frame(unclass(data)[wanted], data, wanted)
}

columns_said <- function(names) {
  if (length(names) == 0) return("none.")
  shown <- quoted(utils::head(names, 8))
  more <- length(names) - length(shown)
  sprintf("%s%s.", paste(shown, collapse = ", "), if (more > 0) sprintf(" and %d more", more) else
    "")
}

# A formula without its left side, whose columns a dot leaves out.
right_side <- function(formula) {
  right <- formula[-2]
  left <- formula[[2]]
  if ("." %in% all.vars(right) && is.name(left)) right[[2]] <- call("-", right[[2]], left)
  right
}

shown_formula <- function(formula) paste(deparse(formula), collapse = " ")
