# What a fit does with cells that have no finite value, and what data points and columns are called:
# what users choose by gps_control(missing = , infinite = ), by labels and by an option.
# @srrstats {G2.14, G2.16, UL1.2}

missing_policies <- c("allow", "error", "omit")
infinite_policies <- c("error", "missing")

# Data in memory with NA in place of infinite values where `infinite` is "missing"; a warning counts
# them. What is no data passes, for the door to refuse it.
blank_infinite <- function(y, infinite, arg = "y") {
  if (infinite == "error") return(y)
  if (is_source(y)) {
    gps_abort(paste("`infinite` = \"missing\" is for data in memory: a source says itself which",
                    "cells are missing, by NA."))
  }
  blanked <- blank_values(plain_numbers(y))
  if (blanked$n == 0) return(y)
  gps_warn(sprintf("`%s` has %s, taken as missing.", arg, plural(blanked$n, "infinite value")),
           class = "infinite")
  blanked$y
}

# list(y, n): numbers, tables, images or sparse data without infinite values, and how many there
# were.
blank_values <- function(y) {
  if (is_sparse_matrix(y)) {
    inner <- blank_values(y@x)
    y@x <- inner$y
    return(list(y = y, n = inner$n))
  }
  if (is.list(y)) {
    parts <- lapply(unclass(y), blank_values)
    y[] <- lapply(parts, `[[`, "y")
    return(list(y = y, n = sum(vapply(parts, `[[`, 0L, "n"))))
  }
  if (!is.numeric(y)) return(list(y = y, n = 0L))
  is_bad <- is.infinite(y)
  y[is_bad] <- NA
  list(y = y, n = sum(is_bad))
}

# Data as read_data() gives them, without the rows that `missing` does not want: their numbers are
# in `omitted`, and a warning names them. "error" refuses what is missing in memory, also in
# sparse matrices, whose rows are not left out here; sources are refused as they are read.
keep_complete <- function(data, missing, arg = "y") {
  if (missing == "allow") return(data)
  is_sparse <- inherits(data$y, "gps_source_sparse")
  if (is_source(data$y) && !is_sparse) {
    if (missing == "error") return(data)
    gps_abort(paste("`missing` = \"omit\" is for data in memory: let the source leave these rows",
                    "out."))
  }
  cells <- if (is_sparse) stored_missing(data$y) else find_missing(data$y)
  if (is.null(cells)) return(data)
  if (missing == "error") refuse_cells(data$y, cells, "`missing` = \"error\"", arg)
  if (is_sparse) {
    gps_abort(sprintf(paste("`missing` = \"omit\" is for dense data: leave %s with missing cells",
                            "out of the sparse matrix S that is `%s`, by S[rows, ]."),
                      plural(sum(diff(cells$start) > 0), "row"), arg))
  }
  has_gaps <- diff(cells$start) > 0
  if (all(has_gaps)) {
    gps_abort(sprintf("`%s`: no data point has a value in every column, so that `missing` = %s %s.",
                      arg, quoted("omit"), "would leave none"), c("data", "argument"))
  }
  data$omitted <- which(has_gaps)
  gps_warn(sprintf("%s of `%s` with missing cells %s left out: %s.",
                   plural(length(data$omitted), "data point"), arg,
                   if (length(data$omitted) == 1) "is" else "are",
                   listed(as.character(data$omitted), "row")), class = "omitted",
           rows = data$omitted)
  data$y <- data$y[, !has_gaps, drop = FALSE]
  data["row_names"] <- list(data$row_names[!has_gaps])
  data
}

# Names of n data points as a user gives them, or NULL.
check_labels <- function(labels, n) {
  if (is.null(labels)) return(NULL)
  if (is.factor(labels)) labels <- as.character(labels)
  wanted <- sprintf("NULL or %.0f names, one for each data point", n)
  if (!is.atomic(labels) || !is.null(dim(labels)) || length(labels) != n) {
    abort_value(labels, "labels", wanted)
  }
  if (anyNA(labels)) {
    gps_abort(sprintf("`labels` must be %s: that of data point %d is NA.", wanted,
                      which(is.na(labels))[1]))
  }
  check_names(as.character(labels), "row", "labels")
}

# Tells, where the option gpselect.tell_names asks for it, that results will have no names, or such
# as R makes up. Many fits of the same data, as of gps_choose(), are told of once.
tell_names <- function(data) {
  if (!isTRUE(getOption("gpselect.tell_names"))) {
    told_names$last <- NULL
    return(invisible())
  }
  n <- c(row = n_points(data$y), column = n_dims(data$y))
  names <- list(row = data$row_names, column = data$col_names)
  said <- unlist(lapply(names(n), function(what) {
    if (is.null(names[[what]])) {
      sprintf("The %ss of `y` have no names: results number them.", what)
    } else if (are_default_names(names[[what]])) {
      sprintf("The %ss of `y` have the names that R makes up, such as %s.", what,
              quoted(names[[what]][1]))
    }
  }))
  if (identical(said, told_names$last)) return(invisible())
  told_names$last <- said
  for (line in said) message(line)
}

# What was told last.
told_names <- new.env(parent = emptyenv())

# 1, 2, 3, or V1, V2 and X1, X2, also with zeros, X01, X02: those of as.data.frame(), read.table()
# and data.frame().
are_default_names <- function(names) {
  number <- as.character(seq_along(names))
  isTRUE(all(names == number)) || isTRUE(all(sub("^[VX]0*", "", names) == number))
}
