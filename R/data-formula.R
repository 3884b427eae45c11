# The right side of a formula as columns of a data frame.

# The columns of a data frame that a formula without a left side names. `left` is what stood there.
formula_columns <- function(formula, data, left = "") {
  if (length(formula) == 3) {
    gps_abort(paste("The formula must have nothing left of ~, as latents have no response:",
                    advise_sides(deparse_line(formula[[2]]), deparse_line(formula[[3]]))))
  }
  terms <- tryCatch(stats::terms(formula, data = data), error = function(condition) {
    gps_abort(sprintf("The formula %s cannot be read: %s", shown_formula(formula),
                      conditionMessage(condition)))
  })
  refuse_offset(terms, left)
  wanted <- gsub("^`|`$", "", attr(terms, "term.labels"))
  absent <- setdiff(wanted, names(data))
  if (length(absent) > 0) {
    gps_abort(sprintf("`data` has no column %s.%s", quoted(absent[1]),
                      advise_term(absent[1], names(data), is_gp = nzchar(left))))
  }
  if (length(wanted) == 0) {
    gps_abort(sprintf("The formula names no column: %s~ a + b, or %s~ . for all.", left, left))
  }
  columns <- unclass(data)[wanted]
  refuse_odd_columns(columns, formula, left)
  as_frame(columns, data, wanted)
}

# What a formula of two sides may mean, for somebody who wants latents or a regression.
advise_sides <- function(left, right) {
  if (right == ".") return(sprintf("`~ . - %s` fits the other columns, `~ .` all.", left))
  sprintf("`~ %s` fits what is right of it, `~ %s + %s` all, and gp_fit(%s ~ %s) is a regression.",
          right, left, right, left, right)
}

# The columns of a formula that hold no numbers, with the formula without them.
refuse_odd_columns <- function(columns, formula, left) {
  is_odd <- !vapply(columns, is_number_column, NA)
  if (!any(is_odd)) return(invisible())
  odd <- names(columns)[is_odd]
  rest <- if ("." %in% all.vars(formula)) {
    Reduce(function(sum, name) call("-", sum, as.name(name)), odd, formula[[2]])
  } else if (!all(is_odd)) {
    sum_columns(names(columns)[!is_odd])[[2]]
  }
  rest <- if (!is.null(rest)) sprintf("%s~ %s", left, deparse_line(rest))
  gps_abort(sprintf("Column %s of `data` must be numeric, not %s.%s", quoted(odd[1]),
                    printable(class(columns[is_odd][[1]])[1]),
                    column_hint(columns[is_odd][[1]], odd[1], rest)))
}

deparse_line <- function(code) paste(deparse(code), collapse = " ")

# An offset is no column of its own, and no fit here has a part with a coefficient of 1.
refuse_offset <- function(terms, left) {
  at <- attr(terms, "offset")
  if (length(at) == 0) return(invisible())
  # The list of variables is a call, whose first element is `list`.
  shown <- paste(deparse(attr(terms, "variables")[[at[1] + 1]]), collapse = " ")
  gps_abort(sprintf("The formula has an %s, for which there is no place: %s.", shown,
                    if (nzchar(left)) "take it from the targets, left of ~" else
                      "take it from the data first"))
}

# The `value` of an argument beside a formula, where lm() would find the columns of `data` by name.
beside_formula <- function(value, arg) {
  tryCatch(value, error = function(condition) {
    if (!is_foreign(condition)) stop(condition)
    gps_abort(sprintf(paste(
      "`%s` cannot be computed: %s. Columns of `data` are found by name in the formula alone:",
      "give the values, such as %s = d$column."), arg, conditionMessage(condition), arg))
  })
}

# A sentence on which column is meant by the name of one that there is not, or which there are.
advise_column <- function(name, names) {
  is_begun <- startsWith(lower_case(printable(names)), lower_case(printable(name)))
  begun <- names[is_text(names) & is_begun]
  near <- if (length(begun) %in% 2:4) begun else nearest_name(name, names)
  if (is.null(near)) paste(" There are", columns_said(names)) else
    sprintf(" Did you mean %s?", paste(quoted(near), collapse = " or "))
}

columns_said <- function(names) {
  if (length(names) == 0) return("none.")
  shown <- quoted(utils::head(names, 8))
  more <- length(names) - length(shown)
  sprintf("%s%s.", paste(shown, collapse = ", "), if (more > 0) sprintf(" and %d more", more) else
    "")
}

# The same of a term of a formula, which may be made of columns: what makes a column of it.
advise_term <- function(term, names, is_gp) {
  code <- tryCatch(str2lang(term), error = function(condition) NULL)
  called <- if (is.call(code)) deparse_line(code[[1]]) else ""
  if (called == "") return(advise_column(term, names))
  inside <- intersect(all.vars(code), names)
  if (called %in% c("$", "[[")) {
    return(sprintf(" Columns are named without their data frame: %s.", deparse_line(code[[3]])))
  }
  if (called == "|") return(" A formula has no groups here: fit the rows of each by themselves.")
  if (called %in% c("factor", "as.factor", "ordered", "cut", "C")) {
    return(sprintf(paste(" model.matrix(~ 0 + %s, data) makes a column of 0 and 1 of each level:",
                         "cbind() it to the data."), term))
  }
  if (called %in% c("s", "te", "ti", "poly", "bs", "ns", "lo") && is_gp && length(inside) > 0) {
    return(sprintf(" Write %s: curves are what a Gaussian process learns.",
                   paste(inside, collapse = " + ")))
  }
  if (called == ":") code <- str2lang(gsub(":", "*", term, fixed = TRUE))
  if (called == "I") code <- code[[2]]
  made <- make.names(paste(c(inside, if (called %in% c(":", "I")) "new" else called),
                           collapse = "_"))
  sprintf(paste(" Make it one first, so that new data can have it, too:",
                "transform(data, %s = %s)."), made, deparse_line(code))
}

# A formula without data as it can be written with them, and these: columns without their data
# frame, or vectors that stand by themselves.
written_formula <- function(formula) {
  frames <- character()
  bare <- function(code) {
    if (!is.call(code)) return(code)
    if (identical(code[[1]], as.name("$")) && is.name(code[[2]])) {
      frames <<- union(frames, as.character(code[[2]]))
      return(code[[3]])
    }
    code[-1] <- lapply(as.list(code)[-1], bare)
    code
  }
  written <- deparse_line(bare(as.call(as.list(formula))))
  if (length(frames) == 1) return(list(formula = written, data = frames))
  vars <- setdiff(all.vars(formula), ".")
  is_vector <- vapply(vars, function(name) {
    space <- environment(formula)
    if (is.null(space)) space <- globalenv()
    is.atomic(get0(name, space, inherits = TRUE)) && exists(name, space)
  }, NA)
  data <- if (length(vars) > 0 && all(is_vector) && !"." %in% all.vars(formula)) {
    sprintf("data.frame(%s)", paste(vars, collapse = ", "))
  } else {
    "d"
  }
  list(formula = shown_formula(formula), data = data)
}

# A formula without its left side, whose columns a dot leaves out.
right_side <- function(formula) {
  right <- formula[-2]
  left <- formula[[2]]
  if ("." %in% all.vars(right) && is.name(left)) right[[2]] <- call("-", right[[2]], left)
  right
}

shown_formula <- function(formula) paste(deparse(formula), collapse = " ")

# The changes of update() with the formula among them that has no name, as in
# update(fit, . ~ . + a, data = d), under the name `arg`. A dot in it stands for `own`, the formula
# before with its columns written out, or NULL.
name_formula <- function(changes, arg, own) {
  names <- if (is.null(names(changes))) rep("", length(changes)) else names(changes)
  at <- which(names == "" & vapply(changes, inherits, NA, "formula"))
  if (length(at) == 0) return(changes)
  if (length(at) > 1 || arg %in% names) {
    gps_abort(sprintf("update() takes one formula, and no `%s` beside it.", arg))
  }
  formula <- changes[[at]]
  # Where the fit has no targets by name, a dot for them is nothing.
  if (length(formula) == 3 && length(own) != 3 && identical(formula[[2]], as.name("."))) {
    formula <- formula[-2]
  }
  if ("." %in% all.vars(formula) || length(formula) < length(own)) {
    if (!is.null(own)) formula <- stats::update.formula(own, formula)
  }
  if (is.null(changes$data)) {
    gps_abort(sprintf("A formula needs `data`, since a fit holds no other columns: %s.",
                      sprintf("update(fit, %s, data = d)", shown_formula(formula))))
  }
  names[at] <- arg
  changes[[at]] <- formula
  stats::setNames(changes, names)
}

# A formula of all these columns, or NULL without any.
sum_columns <- function(names) {
  if (is.null(names)) return(NULL)
  sum <- Reduce(function(a, b) call("+", a, b), lapply(names, as.name))
  stats::as.formula(call("~", sum), globalenv())
}
