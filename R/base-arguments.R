# The doors: checks of arguments, and numbers that R stores in another way than it shows, which are
# read by value. Every message names the argument, what was given and what is allowed.
# @srrstats {G2.0, G2.1, G2.3}

is_number <- function(x) is.numeric(x) && length(x) == 1 && is.null(dim(x)) && !is.na(x)

is_one_of <- function(x, choices) {
  is.character(x) && length(x) == 1 && is.null(dim(x)) && x %in% choices
}

# A whole number in [lower, upper], returned as integer.
check_count <- function(x, arg, lower = 1, upper = .Machine$integer.max) {
  x <- plain_numbers(x)
  if (!is_number(x) || x != round(x) || x < lower || x > upper) {
    # Nobody needs to hear of the limit of integers but who is beyond it.
    bounds <- if (upper == .Machine$integer.max && !isTRUE(is_number(x) && x > upper)) {
      sprintf("of at least %s", plain_number(lower))
    } else {
      sprintf("between %s and %s", plain_number(lower), plain_number(upper))
    }
    gps_abort(sprintf("`%s` must be %s, not %s.%s", arg,
                      if (lower == upper) plain_number(lower) else paste("a whole number", bounds),
                      describe_value(x), paste(advise_count(x, arg), collapse = "")))
  }
  as.integer(x)
}

# A finite number in [lower, upper]; `open` excludes the lower end.
check_number <- function(x, arg, lower = -Inf, upper = Inf, open = FALSE) {
  x <- plain_numbers(x)
  if (!is_number(x) || !is.finite(x) || x < lower || x > upper || (open && x == lower)) {
    # Limits that are there for the arithmetic are told to who is beyond them.
    is_technical <- lower > 0 && lower <= 1e-100 || lower == 0 && upper >= 1e100
    allowed <- if (is_technical && is.finite(upper)) {
      is_beyond <- is_number(x) && (x > upper || x > 0 && x < lower)
      sprintf("a number %s%s", if (open || lower > 0) "above 0" else "of at least 0",
              if (!is_beyond) "" else
                sprintf(", from %s to %s", plain_number(lower), plain_number(upper)))
    } else if (is.finite(lower) && is.finite(upper)) {
      sprintf("a number between %s and %s", plain_number(lower), plain_number(upper))
    } else if (is.finite(lower)) {
      sprintf("a finite number %s %s", if (open) "above" else "of at least", plain_number(lower))
    } else {
      "a finite number"
    }
    gps_abort(sprintf("`%s` must be %s, not %s.%s", arg, allowed, describe_value(x),
                      paste(advise_number(arg), collapse = "")))
  }
  as.double(x)
}

check_flag <- function(x, arg) {
  if (!is.logical(x) || length(x) != 1 || is.na(x)) abort_value(x, arg, "TRUE or FALSE")
  x
}

# One of `choices`; the whole vector of choices (an untouched default) means the first.
check_choice <- function(x, arg, choices) {
  if (identical(x, choices)) return(choices[1])
  if (!is.character(x) || length(x) != 1 || is.na(x) || !x %in% choices) {
    hint <- meant_value(x, choices)
    hint <- if (!is.null(hint)) sprintf("Did you mean %s?", quoted(hint))
    why <- if (arg == "criterion" && is_one_of(x, x)) no_criterion[[lower_case(printable(x))]]
    gps_abort(paste(c(sprintf("`%s` must be one of %s, not %s.", arg,
                              paste(quoted(choices), collapse = ", "), describe_value(x)),
                      if (is.null(why)) hint else why), collapse = " "))
  }
  x
}

# The choice that is meant by another word, or NULL.
meant_value <- function(x, choices) {
  if (!is_one_of(x, names(value_synonyms))) return(nearest_name(x, choices))
  meant <- intersect(value_synonyms[[x]], choices)
  if (length(meant) > 0) meant[1] else nearest_name(x, choices)
}

# A matrix of finite numbers, or with NA where `may_miss`, from a matrix or data frame; rows are
# data points. Storage is double.
check_matrix <- function(x, arg, n_cols = NULL, allow_empty = FALSE, may_miss = FALSE,
                         cure = "") {
  x <- plain_numbers(x)
  if (is.data.frame(x)) x <- check_data_frame(x, arg)
  if (!(is.numeric(x) || is.logical(x)) || is.factor(x) || length(dim(x)) != 2) {
    abort_table(x, arg)
  }
  if (!allow_empty && (nrow(x) == 0 || ncol(x) == 0)) {
    abort_value(x, arg, "a numeric matrix with at least one row and one column")
  }
  if (!is.null(n_cols) && ncol(x) != n_cols) {
    gps_abort(sprintf("`%s` must have %s, not %d.%s", arg, plural(n_cols, "column"), ncol(x),
                      advise_transposed(dim(x), n_cols)))
  }
  x <- plain_double_matrix(x)
  check_names(rownames(x), "row", arg)
  check_names(colnames(x), "column", arg)
  check_finite(x, arg, may_miss, cure)
  x
}

# What is no table of numbers, with the way to make one of it. Data of models can be sources.
abort_table <- function(x, arg, in_memory = !arg %in% c("y", "newdata")) {
  gps_abort(sprintf("`%s` must be %s, not %s.%s", arg,
                    "a numeric matrix or data frame with data points in rows", describe_value(x),
                    paste(advise_table(x, arg, in_memory), collapse = "")))
}

# Same numbers, plain double matrix: no class, only dim and dimnames.
plain_double_matrix <- function(x) {
  is_plain <- !is.object(x) && is.double(x) && all(names(attributes(x)) %in% c("dim", "dimnames"))
  if (is_plain) return(x)
  matrix(as.double(x), nrow(x), ncol(x), dimnames = dimnames(x))
}

# A data frame of numbers as a matrix; TRUE and FALSE are 1 and 0.
check_data_frame <- function(x, arg) {
  columns <- unclass(x)
  is_fit <- vapply(columns, is_number_column, NA)
  if (!all(is_fit)) {
    bad <- which(!is_fit)[1]
    rest <- if (sum(!is_fit) > 1) sprintf("%s[sapply(%s, is.numeric)]", arg, arg) else
      sprintf("%s[-%d]", arg, bad)
    gps_abort(sprintf("Column %d (%s) of `%s` must be numeric, not %s.%s", bad,
                      quoted(names(x)[bad]), arg, printable(class(columns[[bad]])[1]),
                      column_hint(columns[[bad]], names(x)[bad], if (any(is_fit)) rest)))
  }
  has_row_names <- .row_names_info(x) > 0
  matrix(as.double(unlist(columns, use.names = FALSE)), nrow(x), ncol(x),
         dimnames = list(if (has_row_names) row.names(x), names(x)))
}

is_number_column <- function(x) (is.numeric(x) || is.logical(x)) && is.null(dim(x))

# A data frame may have columns of TRUE and FALSE that are labels: whoever gives it is told.
tell_logical <- function(x, arg) {
  if (!is.data.frame(x)) return(invisible())
  # Of NA alone it is empty, and nobody's labels.
  is_read <- vapply(unclass(x), function(column) is.logical(column) && !all(is.na(column)), NA)
  found <- names(x)[is_read]
  if (length(found) == 0) return(invisible())
  gps_warn(sprintf("TRUE and FALSE are read as 1 and 0 in %s %s of `%s`.",
                   if (length(found) == 1) "column" else "columns",
                   paste(quoted(utils::head(found, 3)), collapse = ", "), arg))
}

# An error with row and column of the first value that is infinite or, unless it `may_miss`, NA or
# NaN; `cure` is what to do where it may not.
check_finite <- function(x, arg, may_miss = FALSE, cure = "") {
  is_bad <- if (may_miss && anyNA(x)) is.infinite(x) else !is.finite(x)
  if (!any(is_bad)) return(invisible(x))
  bad <- which(is_bad)[1]
  row <- (bad - 1) %% nrow(x) + 1
  column <- (bad - 1) %/% nrow(x) + 1
  named <- if (!is.null(colnames(x))) column_words(column, colnames(x)) else
    paste("column", column)
  gps_abort(sprintf("`%s` must have finite values, but row %d, %s is %s.%s", arg, row, named,
                    plain_number(x[bad]),
                    if (may_miss) " Leave the row out, or mark the cell as missing, NA." else cure))
}

# What is no criterion of gps_choose(), by its name in small letters.
no_criterion <- list(
  aic = paste("AIC often asks for too many latents, however many data there are; its values are",
              "with(choice$table, 2 * df - 2 * bound)."),
  loglik = "The likelihood grows with every latent; \"held-out\" is that of points not seen.",
  bound = "The bound grows with every latent; \"held-out\" is that of points not seen.",
  silhouette = "\"ICL\" is for clusters that are well apart."
)

# TRUE for an object of one of the package's classes, else an error that says what was expected.
check_class <- function(x, arg, class, allowed) {
  if (!inherits(x, class)) abort_class(x, arg, class, allowed)
  invisible(x)
}

# The same with what is mostly meant: the function instead of what it makes, or its name.
abort_class <- function(x, arg, class, allowed) {
  makers <- if (class[1] %in% c("gps_model", "gps_selector", "gps_kernel")) {
    grep(paste0("^", sub("^gps_", "", class[1]), "_"), getNamespaceExports("gpselect"),
         value = TRUE)
  }
  own <- switch(class[1], gps_model = advise_model(x), gps_selector = advise_selector(x),
                gps_kernel = advise_kernel(x), gp_fit = " gp_fit(x, targets) makes one.",
                gps_posterior = if (inherits(x, "gps_fit")) {
                  paste(" Of a fit, predict(fit, type = \"latent\") has posterior means,",
                        "type = \"prob\" probabilities, and posterior_states() the states.")
                })
  hint <- if (!is.null(own)) {
    own
  } else if (is.function(x)) {
    advise_function(x, makers)
  } else if (class[1] == "gps_control" && is_settings(x, "gps_control")) {
    sprintf(" Write gps_control(%s).", paste(names(x), "= ", collapse = ", "))
  } else if (is_one_of(x, x) && !is.na(x) && length(makers) > 0) {
    advise_made(x, makers)
  }
  gps_abort(sprintf("`%s` must be %s, not %s.%s", arg, allowed, describe_value(x),
                    if (is.null(hint)) "" else hint))
}

# Whether a plain list has nothing but arguments of a function of ours by name.
is_settings <- function(x, call) {
  is.list(x) && !is.object(x) && length(names(x)) > 0 && all(names(x) %in% names(formals(call)))
}

# A function instead of what it makes.
advise_function <- function(x, makers) {
  if (length(makers) == 0 || identical(environment(x), environment(advise_function))) {
    return(" A function has to be called, with parentheses after its name.")
  }
  sprintf(" There are %s.", paste0(sort(makers), "()", collapse = ", "))
}

# Whether a value is data, or a response: several values, or a table of them.
is_given_data <- function(x) {
  is.data.frame(x) || is.atomic(x) && !is.null(x) && (length(x) > 1 || length(dim(x)) > 1)
}

# A word in the place of what one of some functions makes: which of them is meant.
advise_made <- function(x, makers) {
  short <- sub("^[a-z]+_", "", makers)
  found <- makers[makers == x | short == x]
  others <- grep("^(model|selector|kernel)_", getNamespaceExports("gpselect"), value = TRUE)
  other <- setdiff(others[others == x | sub("^[a-z]+_", "", others) == x], makers)
  if (length(found) == 0 && length(other) > 0) {
    kind <- sub("_.*$", "", other[1])
    way <- c(kernel = "selector_gp(%s())", selector = "gps_fit(y, model, %s())",
             model = "gps_fit(y, %s())")
    return(sprintf(" %s() makes a %s, which has another place: %s.", other[1], kind,
                   sprintf(way[[kind]], other[1])))
  }
  # The end of several names means either of them.
  if (length(found) == 0 && is_text(x) && nzchar(x)) found <- makers[endsWith(makers, x)]
  if (length(found) == 0) found <- nearest_name(x, c(makers, short))
  if (length(found) == 1 && found %in% short) found <- makers[short == found]
  if (length(found) > 0) {
    sprintf(" Did you mean %s?", paste0(sort(unique(found)), "()", collapse = " or "))
  } else {
    sprintf(" There are %s.", paste0(sort(makers), "()", collapse = ", "))
  }
}

# Data beside `y`, in the place of a model or a selector, are mostly a response, or have one in
# `y`.
refuse_response <- function(y, x, arg) {
  if (!is_given_data(x)) return(invisible())
  is_numbers <- function(part) is.double(part) && is.null(dim(part)) && any(part != round(part))
  way <- if (isTRUE(is_numbers(y)) || isTRUE(is_numbers(x))) {
    "gp_fit(x, targets) predicts numbers from others."
  } else {
    "With known classes, table(predict(fit, type = \"class\"), classes) compares."
  }
  gps_abort(sprintf(paste("Data are given twice, `y` and %s in the place of `%s`, but there is no",
                          "response here: gps_fit(y, model). %s"), describe_value(x), arg, way))
}

# What stands in the place of a model.
advise_model <- function(x) {
  if (is_given_data(x)) return(" Data are another argument.")
  if (inherits(x, "gps_kernel")) {
    return(" A kernel is the selector's: gps_fit(y, model, selector_gp(kernel)).")
  }
  if (is.list(x) && !is.object(x) && length(x) > 0 && inherits(x[[1]], "gps_model")) {
    return(" A fit has one model: take it out of the list, [[1]]. gps_choose() compares several.")
  }
  form <- if (is_one_of(x, names(value_synonyms))) value_synonyms[[x]]
  if (is_one_of(form, c("full", "diagonal", "spherical", "tied"))) {
    return(sprintf(" A mixture is model_gaussian_mixture(3, covariance = %s).", quoted(form)))
  }
  if (is_number(x) && x >= 1 && x == round(x)) {
    return(sprintf(" A mixture of %s clusters is model_gaussian_mixture(%s).", plain_number(x),
                   plain_number(x)))
  }
  if (inherits(x, "formula")) {
    return(" The formula comes first: gps_fit(~ a + b, model, data = d).")
  }
  if (inherits(x, "gps_selector")) return(" The selector comes third: gps_fit(y, model, selector).")
  if (inherits(x, "gps_control")) {
    return(" The control has a name: gps_fit(y, model, control = control).")
  }
  if (inherits(x, "gps_fit")) return(" Its model is fit$model; gps_fit(y, fit$model, start = fit).")
  if (inherits(x, c("kmeans", "hclust", "Mclust"))) {
    return(paste(" Clusters that were found can be a start:",
                 "gps_fit(y, model_gaussian_mixture(3), start = ), see ?gps_fit."))
  }
}

# What stands in the place of a selector.
advise_selector <- function(x) {
  if (is.null(x)) return(" Leave it out for selector_gp().")
  if (is_number(x)) {
    return(sprintf(" The number of selected latents has a name: n_selected = %s.", plain_number(x)))
  }
  if (inherits(x, "gps_kernel")) return(" A selector with this kernel is selector_gp(kernel).")
  if (inherits(x, "gps_control")) {
    return(" The control has a name: control = gps_control().")
  }
  if (inherits(x, "gps_fit")) {
    return(" A fit to go on from is `start`: gps_fit(y, model, start = fit).")
  }
}

# What stands in the place of a kernel.
advise_kernel <- function(x) {
  if (inherits(x, "gps_model")) {
    return(" The kernel of a fit is its selector's: gps_fit(y, model, selector_gp(kernel)).")
  }
  if (inherits(x, "gps_selector")) return(" The kernel is in it: selector$kernel.")
}

# Names of rows or columns of data: text, or missing.
check_names <- function(names, what, arg) {
  if (is.null(names)) return(NULL)
  bad <- which(!is.na(names) & !is_text(names))
  if (length(bad) > 0) {
    gps_abort(sprintf(paste("The name of %s %d of `%s` is not valid text (%s): read the data with",
                            "their encoding, or rename with iconv()."), what, bad[1], arg,
                      quoted(names[bad[1]])))
  }
  names
}

# Vectors, matrices, data frames and lists with 64-bit integers (class integer64, stored in the bits
# of doubles) as doubles, and dense matrices of package Matrix as R's own. All else as it is.
plain_numbers <- function(x) {
  if (inherits(x, "integer64")) return(read_integer64(x))
  if (inherits(x, "denseMatrix")) {
    require_package("Matrix", "A matrix of package Matrix")
    return(as.matrix(x))
  }
  if (!is.list(x) || inherits(x, "gps_source") || !is.null(dim(x)) && !is.data.frame(x)) return(x)
  is_wide <- vapply(unclass(x), inherits, NA, what = "integer64")
  for (i in which(is_wide)) x[[i]] <- read_integer64(x[[i]])
  x
}

# Exact up to 2^53, as doubles are. The lowest integer is NA.
read_integer64 <- function(x) {
  kept <- attributes(x)[c("dim", "dimnames", "names")]
  value <- numeric(length(x))
  bits <- as.vector(unclass(x))
  for (from in seq(1, length.out = ceiling(length(bits) / 2^24), by = 2^24)) {
    at <- from:min(from + 2^24 - 1, length(bits))
    value[at] <- decode_integer64(bits[at])
  }
  attributes(value) <- kept[!vapply(kept, is.null, NA)]
  value
}

decode_integer64 <- function(bits) {
  halves <- matrix(readBin(writeBin(bits, raw(), endian = "little"), "integer", 2 * length(bits),
                           endian = "little"), 2)
  # The integer that R takes for NA is one with the highest bit alone.
  whole <- function(half) ifelse(is.na(half), -2^31, as.double(half))
  low <- whole(halves[1, ])
  value <- whole(halves[2, ]) * 2^32 + low + ifelse(low < 0, 2^32, 0)
  value[is.na(halves[2, ]) & low == 0] <- NA
  value
}

# An error for an argument of the calling function that has no default and was not given. R's own
# would come from somewhere inside, and name nothing but the argument.
need_given <- function() {
  caller <- sys.parent()
  frame <- parent.frame()
  arguments <- formals(sys.function(caller))
  has_none <- vapply(arguments, function(x) is.name(x) && !nzchar(as.character(x)), NA)
  needed <- names(arguments)[has_none & names(arguments) != "..."]
  is_absent <- vapply(needed, function(name) eval(call("missing", as.name(name)), frame), NA)
  if (!any(is_absent)) return(invisible())
  call <- sys.call(caller)[[1]]
  called <- if (is.name(call)) as.character(call)
  if (is.call(call) && length(call) == 3) called <- as.character(call[[3]])
  gps_abort(paste0("`", needed[is_absent][1], "` is missing", if (!is.null(called)) {
    sprintf(": %s() needs %s, see ?%s", called, list_arguments(needed), called)
  }, "."))
}

# Whether a function in progress was given this argument; FALSE of what is none of its arguments.
is_argument_given <- function(name, frame) {
  tryCatch(!eval(call("missing", as.name(name)), frame), error = function(condition) FALSE)
}

# Where `names` is an argument itself, and may be a function that somebody gave.
argument_names <- function(f) names(formals(f))

is_count <- function(x, lower = 1) {
  is_number(x) && x == round(x) && x >= lower && x <= .Machine$integer.max
}

# Two whole numbers, of which the second may be left out where it is the same.
check_pair <- function(x, arg, upper = rep(.Machine$integer.max, 2)) {
  x <- plain_numbers(x)
  if (!is.numeric(x) || !length(x) %in% 1:2) {
    abort_value(x, arg, "one or two whole numbers (height, width)")
  }
  x <- rep_len(as.vector(x), 2)
  vapply(1:2, function(axis) check_count(x[axis], arg, 1, upper[axis]), 1L)
}
