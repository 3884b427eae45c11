# Arguments that a function does not have, and what was meant by them.

# An error for arguments that a function does not have. `parts`: names of our arguments that are
# made by functions with arguments of their own.
refuse_unknown <- function(extra, valid, parts = character()) {
  if (length(extra) == 0) return(invisible())
  name <- if (is.null(names(extra))) "" else names(extra)[1]
  valid <- setdiff(valid, "...")
  there <- if (length(valid) == 0) {
    "There are no further arguments."
  } else {
    sprintf("There %s %s.", if (length(valid) == 1) "is" else "are", list_arguments(valid))
  }
  words <- c(sprintf("Unknown argument %s.",
                     if (name == "") "without a name" else sprintf("`%s`", printable(name))),
             if (name != "") advise_argument(name, valid, argument_makers(parts)), there)
  gps_abort(paste(words, collapse = " "))
}

# Functions whose values are arguments, and what they take.
argument_makers <- function(parts) {
  makers <- list(control = "gps_control", selector = "selector_gp",
                 model = c("model_gaussian_mixture", "model_binary_sparse"),
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

# A sentence on what was meant by a name, or NULL.
advise_argument <- function(name, valid, makers) {
  meant <- names(synonyms)[vapply(synonyms, function(words) name %in% words, NA)]
  own <- intersect(meant, valid)
  if (length(own) > 0) return(sprintf("Did you mean `%s`?", own[1]))
  converted <- advise_conversion(name, valid)
  if (!is.null(converted)) return(converted)
  nowhere <- advise_nowhere(name, valid)
  if (!is.null(nowhere)) return(nowhere)
  for (wanted in list(name, meant)) {
    exact <- advise_maker(makers, function(names) intersect(wanted, names))
    if (!is.null(exact)) return(exact)
  }
  near <- nearest_name(name, valid)
  if (!is.null(near)) return(sprintf("Did you mean `%s`?", near))
  near <- advise_maker(makers, function(names) nearest_name(name, names))
  if (is.null(near)) advise_elsewhere(c(name, meant), valid) else near
}

# A sentence for what is no argument of any function, where it says something, or NULL.
advise_nowhere <- function(name, valid) {
  has_data <- any(c("y", "x", "newdata", "data") %in% valid)
  is_gp <- "targets" %in% valid
  if (is_gp && name %in% names(no_gp_argument)) return(no_gp_argument[[name]])
  if (!name %in% names(no_argument) || name %in% about_models && is_gp) return(NULL)
  if (name %in% about_data && !has_data) return("Data are given to gps_fit(y, model).")
  no_argument[[name]]
}

# The function that has an argument of such a name, or NULL.
advise_elsewhere <- function(names, valid) {
  if ("targets" %in% valid) return(NULL)
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
