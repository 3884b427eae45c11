# Inputs and targets of a Gaussian process by a formula.

# list(x, targets, formula, data) of a formula and a data frame, which may stand in the place of the
# targets as it does in lm().
read_gp_formula <- function(formula, targets, data) {
  if (is.null(data)) {
    data <- targets
  } else if (!is.null(targets)) {
    gps_abort(sprintf(paste(
      "`targets`, in the second place, and `data` are both given, but a formula has its targets",
      "left of ~: gp_fit(%s, data = d)."), shown_formula(formula)))
  }
  if (inherits(data, "gps_source")) {
    gps_abort(sprintf(paste("`data` must be a data frame, and a source takes no formula:",
                            "gp_fit(%s, data = as.data.frame(as.matrix(source))) reads it."),
                      shown_formula(formula)))
  }
  if (!is.data.frame(data)) {
    written <- written_formula(formula)
    given <- ""
    if (!is.null(data)) {
      written$data <- "d"
      given <- sprintf(" It is %s.%s", describe_value(data), advise_frame(data))
    }
    gps_abort(sprintf("A formula needs `data`, a data frame: gp_fit(%s, data = %s).%s",
                      written$formula, written$data, given))
  }
  if (length(formula) < 3) {
    gps_abort(sprintf("The formula must have the targets left of ~: y ~ %s.",
                      deparse_line(formula[[2]])))
  }
  shown <- paste0(deparse_line(formula[[2]]), " ")
  right <- formula[-2]
  left <- all.vars(formula[[2]])
  absent <- setdiff(left, names(data))
  absent <- absent[!vapply(absent, exists, NA, envir = environment(formula))]
  if (length(absent) > 0) {
    gps_abort(sprintf("`data` has no column %s.%s", quoted(absent[1]),
                      advise_column(absent[1], names(data))))
  }
  targets <- read_left(formula, data)
  given <- data
  # A dot means all other columns.
  kept <- setdiff(names(data), left)
  others <- as_frame(unclass(data)[kept], data, kept)
  if ("." %in% all.vars(right)) data <- others
  x <- formula_columns(right, data, shown)
  refuse_no_level(right, data, sprintf("%s~ %s", shown, deparse_line(sum_columns(names(x))[[2]])))
  list(x = x, targets = targets, formula = formula, data = given)
}

# What to do about values that are not finite: a way to leave out the rows with NA, of what is used
# alone. It is none for what is infinite, or became NA as the formula was computed.
advise_gaps <- function(x, targets, formula, data) {
  is_by_formula <- !is.null(formula)
  plain <- if (is_by_formula) " Leave the row out of `data`." else
    " Leave the row out of `x` and `targets`."
  if (has_infinite(x) || has_infinite(targets)) return(plain)
  is_whole <- tryCatch(stats::complete.cases(x, targets), error = function(condition) NULL)
  if (is.null(is_whole)) return(plain)
  if (!is_by_formula) {
    return(sprintf(
      " Leave rows with NA out: after keep <- complete.cases(x, targets), %s and %s have none.",
      kept_rows(x, "x"), kept_rows(targets, "targets")
    ))
  }
  # Without what a dot stands for and the formula takes away.
  used <- c(all.vars(formula[[2]]), names(x))
  columns <- tryCatch(stats::get_all_vars(formula, data), error = function(condition) NULL)
  if (!setequal(used, names(columns))) {
    formula[[3]] <- sum_columns(names(x))[[2]]
    columns <- tryCatch(stats::get_all_vars(formula, data), error = function(condition) NULL)
  }
  has_all <- nrow(columns) == length(is_whole) && !any(stats::complete.cases(columns) & !is_whole)
  if (!isTRUE(has_all)) return(plain)
  sprintf(" Leave rows with NA out: data = na.omit(get_all_vars(%s, data)).",
          shown_formula(formula))
}

has_infinite <- function(x) {
  if (is.data.frame(x)) return(any(vapply(unclass(x), has_infinite, NA)))
  is.numeric(x) && any(is.infinite(x))
}

# The rows `keep` of a vector or a table, as R writes it.
kept_rows <- function(x, arg) {
  sprintf(if (length(dim(x)) < 2) "%s[keep]" else if (ncol(x) == 1) "%s[keep, , drop = FALSE]" else
    "%s[keep, ]", arg)
}

# Whether there is a level is said by other arguments than the formula.
refuse_no_level <- function(right, data, instead) {
  if (attr(stats::terms(right, data = data), "intercept") == 1) return(invisible())
  gps_abort(sprintf(paste(
    "The formula takes the level away, by \"- 1\" or \"0\", which is up to `trend` and",
    "kernel_bias(): write %s."), instead))
}

# The targets, named by what stands left of ~ unless they have names.
read_left <- function(formula, data) {
  left <- deparse_line(formula[[2]])
  targets <- tryCatch(eval(formula[[2]], data, environment(formula)), error = function(condition) {
    gps_abort(sprintf("The targets %s cannot be computed: %s", left, conditionMessage(condition)))
  })
  refuse_left(targets, left)
  if (!is.numeric(targets) && !is.logical(targets)) return(targets)
  if (is.null(dim(targets))) targets <- matrix(targets, ncol = 1, dimnames = list(NULL, left))
  has_names <- .row_names_info(data) > 0 && nrow(targets) == nrow(data)
  if (has_names && is.null(rownames(targets))) rownames(targets) <- row.names(data)
  targets
}

# Targets that are categories, text or times, by what stands left of ~.
refuse_left <- function(targets, left) {
  class <- c(intersect(class(targets), names(number_ways)), if (is.character(targets)) "character")
  if (length(class) == 0) return(invisible())
  is_kind <- is.character(targets) || is.factor(targets)
  shown <- if (is.factor(targets)) levels(targets) else targets
  way <- if (is.character(targets) && are_numbers(targets)) {
    sprintf("as.numeric(%s) gives those that it is text of", left)
  } else if (is_kind && !are_numbers(shown)) {
    sprintf("model.matrix(~ 0 + %s, data) makes a column of 0 and 1 of each value", left)
  } else {
    number_way(targets, class[1])
  }
  gps_abort(sprintf("`%s`, left of ~, must be numbers, not of class %s: %s.", left, class[1], way))
}
