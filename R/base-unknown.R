# Arguments that a function does not have, and what was meant by them.

# A function that lists the further arguments of a call, and has none of its own that one of these
# could be taken for. What cannot be computed, as a column of a data frame that only lm() would
# find, is NULL: it is refused by its name. Errors in those `known` are R's own.
further_beside <- function(known) {
  function(...) {
    names <- names(substitute(list(...)))[-1]
    values <- lapply(seq_len(...length()), function(i) {
      if (is.null(names) || names[i] %in% c("", known)) return(...elt(i))
      tryCatch(...elt(i), error = function(condition) if (!is_foreign(condition)) stop(condition))
    })
    stats::setNames(values, names)
  }
}

further <- further_beside(c("data", "formula", "x", "y", "targets"))

# An error for arguments that a function does not have. `parts`: names of our arguments that are
# made by functions with arguments of their own. `is_gp`: whether the function is of Gaussian
# processes, not of models. `otherwise`: a sentence where nothing else is known of the name, and in
# any case where there are no arguments. `pages`: names of the help pages of a function with many
# arguments. `maker`: what makes the models that can be meant, where that is known. `frame` is the
# function's own, which knows what it was given.
refuse_unknown <- function(extra, valid, parts = character(), is_gp = "targets" %in% valid,
                           otherwise = NULL, pages = NULL, maker = NULL, frame = parent.frame()) {
  if (length(extra) == 0) return(invisible())
  name <- if (is.null(names(extra))) "" else names(extra)[1]
  valid <- setdiff(valid, "...")
  named <- if (name == "") sprintf("without a name, %s", describe_value(extra[[1]])) else
    sprintf("`%s`", printable(name))
  advice <- if (length(valid) == 0 && !is.null(otherwise)) {
    otherwise
  } else if (name == "") {
    advise_unnamed(extra[[1]], valid)
  } else if (name == "type" && "main" %in% valid && is_one_of(extra[[1]], graphic_types)) {
    advise_graphic(valid)
  } else {
    is_given <- function(name) is_argument_given(name, frame)
    c(advise_argument(name, valid, argument_makers(parts, maker), is_gp, is_given),
      if ("model" %in% parts) advise_numbers(name, extra[[1]]))
  }
  words <- c(sprintf("Unknown argument %s.", named), if (is.null(advice)) otherwise else advice,
             say_valid(valid, pages))
  gps_abort(paste(words, collapse = " "))
}

# Which arguments there are: more than can be read at a glance are left to the help page.
say_valid <- function(valid, pages = NULL) {
  if (length(valid) == 0) return("There are no further arguments.")
  if (length(valid) > 12 && !is.null(pages)) {
    return(sprintf("All arguments are on %s.", paste0("?", pages, collapse = " and ")))
  }
  sprintf("There %s %s.", if (length(valid) == 1) "is" else "are", list_arguments(valid))
}

# Arguments that objects of a class are given to by name.
named_by_class <- c(gps_model = "model", gps_control = "control", gps_selector = "selector",
                    gps_kernel = "kernel", gps_fit = "start")

# A sentence on the name of a value that was given without one, or NULL.
advise_unnamed <- function(x, valid) {
  own <- named_by_class[names(named_by_class) %in% class(x)]
  if (is_given_data(x)) own <- intersect(c("newdata", "y", "data"), valid)
  own <- intersect(own, valid)
  if (length(own) > 0) return(sprintf("It has a name here: %s = .", own[1]))
  if ("model" %in% valid && is_number(x)) {
    return(paste0(trimws(advise_model(x)), " It has a name here: model = ."))
  }
  NULL
}

# What is said of several numbers of clusters or latents, or NULL.
advise_numbers <- function(name, x) {
  if (!name %in% c("n_components", synonyms$n_components)) return(NULL)
  advice <- advise_count(x, "n_components")
  if (!is.null(advice)) trimws(advice)
}

# Functions whose values are arguments, and what they take.
argument_makers <- function(parts, maker = NULL) {
  models <- if (is.null(maker)) c("model_gaussian_mixture", "model_binary_sparse") else maker
  makers <- list(control = "gps_control", selector = "selector_gp", model = models,
                 noisy = "model_spike_slab", sized = "model_gaussian_mixture")[parts]
  # How a model is written where it must have noise, and where a function makes it of a number.
  written <- c(noisy = "model = %s(%s = )", sized = "model = function(k) %s(k, %s = )")
  makers <- lapply(names(makers), function(part) {
    lapply(makers[[part]], function(name) {
      form <- if (part %in% names(written)) written[[part]] else paste(part, "= %s(%s = )")
      list(form = form, call = name, names = setdiff(names(formals(name)), "..."))
    })
  })
  unlist(makers, recursive = FALSE)
}

# Sentences for a name that is an argument of ours by a formula, or NULL.
advise_conversion <- function(name, valid) {
  fit <- Filter(function(row) row[1] == name && row[2] %in% valid, conversions)
  if (length(fit) > 0) paste(vapply(fit, `[[`, "", 3), collapse = " ")
}

# A sentence on what was meant by a name, or NULL. `is_given` says of an argument whether the call
# has it already.
advise_argument <- function(name, valid, makers, is_gp, is_given) {
  ask <- function(own) {
    sprintf(if (is_given(own)) "It would be `%s`, which is given already: leave it out." else
      "Did you mean `%s`?", own)
  }
  meant <- names(synonyms)[vapply(synonyms, function(words) name %in% words, NA)]
  own <- intersect(meant, valid)
  own <- own[order(vapply(own, is_given, NA))]
  if (length(own) > 0) return(ask(own[1]))
  converted <- advise_conversion(name, valid)
  if (!is.null(converted)) return(converted)
  nowhere <- advise_nowhere(name, valid, is_gp)
  if (!is.null(nowhere)) return(nowhere)
  for (wanted in list(name, meant)) {
    exact <- advise_maker(makers, function(names) intersect(wanted, names))
    if (!is.null(exact)) return(exact)
  }
  near <- nearest_name(name, valid)
  if (!is.null(near)) return(ask(near))
  near <- advise_maker(makers, function(names) nearest_name(name, names))
  if (is.null(near) && !is_gp) advise_elsewhere(c(name, meant)) else near
}

# A sentence for what is no argument of any function, where it says something, or NULL.
advise_nowhere <- function(name, valid, is_gp) {
  has_data <- any(c("y", "x", "newdata", "data") %in% valid)
  if (name %in% graphic_names && "main" %in% valid) return(advise_graphic(valid))
  if (name == "labels" && all(c("criterion", "n_latents") %in% valid)) {
    return(paste("Row names of the data are kept, and update(choice$fit, labels = ) gives other",
                 "ones."))
  }
  if (is_gp && name %in% names(no_gp_argument)) return(no_gp_argument[[name]])
  if (!name %in% names(no_argument) || name %in% about_models && is_gp) return(NULL)
  if (name %in% about_data && !has_data) return("Data are given to gps_fit(y, model).")
  no_argument[[name]]
}

advise_graphic <- function(valid) {
  sprintf(paste("The figure has axes, symbols and lines of its own: %s change it, and plot()",
                "returns what it draws, for figures of your own."),
          list_arguments(intersect(c("main", "col", "key", graphic_names), valid)))
}

# The function of models that has an argument of such a name, or NULL.
advise_elsewhere <- function(names) {
  converted <- advise_conversion(names[1], "start")
  if (!is.null(converted)) return(converted)
  for (call in c("gps_fit", "gps_control", "selector_gp", "gps_screen")) {
    found <- intersect(names, setdiff(names(formals(call)), "..."))
    if (length(found) > 0) return(sprintf("`%s` is an argument of %s().", found[1], call))
  }
  NULL
}

# The first maker with an argument that `find(names)` finds.
advise_maker <- function(makers, find) {
  for (maker in makers) {
    found <- find(maker$names)
    if (length(found) > 0) {
      return(sprintf("`%s` is an argument of %s(): %s.", found[1], maker$call,
                     sprintf(maker$form, maker$call, found[1])))
    }
  }
  NULL
}

# A column of the data among the arguments of a function of a fit is new data in the wrong place.
refuse_columns <- function(extra, columns) {
  name <- intersect(names(extra), columns)
  if (length(name) == 0) return(invisible(extra))
  shown <- if (length(columns) <= 4) columns else c(name[1], "...")
  gps_abort(sprintf(
    "Unknown argument `%s`. It is a column of the data: newdata = data.frame(%s).",
    printable(name[1]), paste(ifelse(shown == "...", "...", paste(printable(shown), "= ...")),
                              collapse = ", ")
  ))
}

# What is said of a number under another name, which may be a new point of a fit.
advise_new_points <- function(extra, columns) {
  value <- extra[[1]]
  if (!is_number(value) && !is_given_data(value)) return(NULL)
  if (is.null(columns)) {
    return(sprintf("Inputs of this fit have no names, and new points are numbers: newdata = %s.",
                   if (is_number(value)) plain_number(value) else "x"))
  }
  sprintf("New points are `newdata`, a data frame with the %s.", listed(quoted(columns), "column"))
}

# print() and format() of R hand on what their own default methods take.
refuse_shown <- function(extra, valid = character()) {
  of_base <- c(names(formals(print.default)), names(formals(format.default)))
  names <- if (is.null(names(extra))) rep("", length(extra)) else names(extra)
  refuse_unknown(extra[!names %in% of_base | names == ""], valid)
}

# The number of significant digits of a print method, which takes nothing else.
shown_digits <- function(digits, extra) {
  refuse_shown(extra, "digits")
  check_count(digits, "digits", 1, 22)
}
