# What goes into a Gaussian process: rows are data points.

# What predict() has, said where it is asked for otherwise.
gp_prediction_way <- "The result has means and variances: predict(fit, newdata)$mean."

# A matrix with points in rows; a bare vector is one column. Logical values count as 0 and 1.
check_points <- function(x, arg, cure = "") {
  refuse_class(x, arg)
  x <- plain_numbers(x)
  is_bare <- (is.numeric(x) || is.logical(x)) && length(dim(x)) < 2 && length(x) > 0
  if (is_bare) {
    names <- names(x)
    x <- matrix(as.double(x), ncol = 1, dimnames = if (!is.null(names)) list(names, NULL))
  }
  check_matrix(x, arg, cure = cure)
}

# The targets by the name of a column of the inputs.
refuse_column_name <- function(targets, x) {
  if (!is_one_of(targets, colnames(x))) return(invisible())
  gps_abort(sprintf("`targets` is the name of a column of `x`: gp_fit(%s ~ ., data = x) takes it.",
                    if (make.names(targets) == targets) targets else sprintf("`%s`", targets)))
}

# Nothing can depend on a column that does not vary.
tell_constant <- function(x) {
  if (nrow(x) < 2) return(invisible())
  is_same <- which(colSums(x != rep(x[1, ], each = nrow(x))) == 0)
  if (length(is_same) == 0) return(invisible())
  gps_warn(sprintf("`x` is constant in %s: nothing can depend on %s.",
                   column_words(is_same, colnames(x)), if (length(is_same) == 1) "it" else "them"),
           class = "constant")
}

# Ways to numbers, by class.
number_ways <- c(
  Date = "as.numeric() gives the number of days", POSIXct = "as.numeric() gives the seconds",
  POSIXlt = "as.numeric(as.POSIXct()) gives the seconds",
  difftime = "as.numeric(, units = ) gives the number in that unit",
  factor = paste("as.integer() numbers levels that have an order, and model.matrix(~ 0 + f)",
                 "makes a column of 0 and 1 of each"),
  dist = "give the points themselves, d and not dist(d)"
)

# Vectors that only look like numbers are called by their class, with the way out.
refuse_class <- function(x, arg) {
  if (is.character(x) || inherits(x, c("connection", "gps_source"))) {
    abort_table(x, arg, in_memory = TRUE)
  }
  class <- intersect(class(x), names(number_ways))
  if (length(class) == 0) return(invisible())
  gps_abort(sprintf("`%s` must be numbers, not of class %s: %s.", arg, class[1],
                    number_way(x, class[1])))
}

number_way <- function(x, class) {
  if (is.factor(x) && are_numbers(levels(x))) {
    return("as.numeric(as.character()) gives the numbers that its levels are")
  }
  number_ways[[class]]
}

# Arguments that a method of Gaussian processes does not have, some of which are new points.
refuse_gp <- function(extra, valid = character(), fit = NULL, otherwise = NULL) {
  if (length(extra) == 0) return(invisible())
  if ("newdata" %in% valid) {
    refuse_columns(extra, colnames(fit$x))
    otherwise <- c(advise_new_points(extra, colnames(fit$x)), gp_prediction_way)[1]
  }
  refuse_unknown(extra, valid, is_gp = TRUE, otherwise = otherwise, frame = parent.frame())
}

# A vector of too few numbers for one point of a fit with several inputs `x`.
refuse_part <- function(newdata, x) {
  if (length(newdata) >= ncol(x) || length(newdata) == 0 || !is.null(names(newdata))) {
    return(invisible())
  }
  shown <- c(format(newdata, digits = 6, trim = TRUE), rep("...", ncol(x) - length(newdata)))
  named <- if (!is.null(colnames(x))) {
    sprintf(", or data.frame(%s)", paste(printable(colnames(x)), "=", shown, collapse = ", "))
  }
  gps_abort(sprintf(paste("`newdata` must have %d columns, not %d. One point is one vector:",
                          "predict(fit, c(%s))%s."), ncol(x), length(newdata),
                    paste(shown, collapse = ", "), paste(named, collapse = "")))
}

# New points that lack some of the inputs, by name.
refuse_absent <- function(newdata, wanted) {
  given <- if (length(dim(newdata)) == 2) colnames(newdata)
  absent <- setdiff(wanted, given)
  if (length(absent) == 0 || !any(wanted %in% given)) return(invisible())
  shown <- if (length(wanted) <= 6) paste(printable(wanted), "= ...") else
    c(paste(printable(absent[1]), "= ..."), "...")
  verb <- if (length(absent) == 1) "is" else
    if (length(absent) <= 3) "are" else sprintf("(%d in all) are", length(absent))
  gps_abort(sprintf(
    "`newdata` must have all inputs of the fit by name, but %s %s missing: data.frame(%s).",
    paste(quoted(utils::head(absent, 3)), collapse = ", "), verb, paste(shown, collapse = ", ")
  ))
}

# A value as far as this from the median, in units of the distance between the quartiles, with none
# between it and those near, is hardly one: heavy tails have values there as well.
far_value <- 200
near_value <- 10
most_far_values <- 0.1

# The numbers of those values that are codes rather, as for missing ones.
far_rows <- function(y) {
  distance <- abs(y - stats::median(y)) / diff(stats::quantile(y, c(0.25, 0.75), names = FALSE))
  far <- which(distance > far_value)
  is_apart <- length(far) <= most_far_values * length(y) && all(is.finite(distance)) &&
    sum(distance > near_value) == length(far)
  if (is_apart) far else integer()
}

# Tells of such values in each column of x [any x any], in a sentence that has them at %s: "1 value
# far from all others: row 3 of column 2, such as 1e+30, where the others lie between ..."
tell_far_values <- function(x, sentence) {
  for (column in seq_len(ncol(x))) {
    y <- x[, column]
    far <- far_rows(y)
    if (length(far) == 0) next
    values <- sprintf(
      "%s far from all others: %s%s, such as %s, where the others lie between %s and %s",
      plural(length(far), "value"), listed(as.character(far), "row"),
      if (ncol(x) > 1) sprintf(" of column %d", column) else "",
      plain_number(y[far[1]], 10), plain_number(min(y[-far]), 4), plain_number(max(y[-far]), 4)
    )
    gps_warn(sprintf(sentence, values), class = "far")
  }
}

# A code among the targets is taken for a value, and all else for next to nothing.
tell_far_targets <- function(targets) {
  tell_far_values(
    targets, "`targets` has %s. Codes for missing ones are no values: leave such rows out."
  )
}

# To waves no point is far: each has a part in all of them, and a curve that must meet it as well
# has the difference for noise.
tell_far_inputs <- function(engine, x) {
  if (!inherits(engine, "gps_engine_fourier")) return(invisible())
  tell_far_values(x, paste(
    "The data have %s. Random Fourier features do not know such points as far, and the noise is",
    "overestimated: leave these rows out, or take another `method`, such as \"ichol\"."
  ))
}
