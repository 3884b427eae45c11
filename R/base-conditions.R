# The package's errors and warnings, and the words in them. Not all text that users give is valid in
# the session's encoding, and R's own functions stop at what is not.

# Which strings can be shown, compared and counted.
is_text <- function(x) !is.na(x) & Encoding(x) != "bytes" & validEnc(x)

is_line <- function(x) is.character(x) && length(x) == 1 && is_text(x)

# The same strings, with escapes for what cannot be shown.
printable <- function(x) {
  is_bad <- !is.na(x) & !is_text(x)
  x[is_bad] <- encodeString(x[is_bad])
  x
}

quoted <- function(x) dQuote(printable(as.character(x)), FALSE)

# "`a`, `b` and `c`", in full however many there are.
list_arguments <- function(names) {
  shown <- sprintf("`%s`", names)
  n <- length(shown)
  if (n < 2) return(shown)
  paste(paste(shown[-n], collapse = ", "), "and", shown[n])
}

error_classes <- c("argument", "model", "numeric", "data", "memory")

# Raises an error of class gps_error_<class> (or of several classes) and gps_error. Further named
# values travel in the condition.
gps_abort <- function(message, class = "argument", ...) {
  class <- match.arg(class, error_classes, several.ok = TRUE)
  stop(errorCondition(printable(message), ..., class = c(paste0("gps_error_", class), "gps_error"),
                      call = NULL))
}

# A warning of class gps_warning and, where it has one of its own, gps_warning_<class>.
gps_warn <- function(message, ..., class = NULL) {
  class <- c(if (!is.null(class)) paste0("gps_warning_", class), "gps_warning")
  warning(warningCondition(printable(message), ..., class = class, call = NULL))
}

# list(value, warned): the value of `code`, and its warnings of this package's, to be said later.
hear_warnings <- function(code) {
  warned <- list()
  value <- withCallingHandlers(code, gps_warning = function(condition) {
    warned <<- c(warned, list(condition))
    invokeRestart("muffleWarning")
  })
  list(value = value, warned = warned)
}

say_warnings <- function(warned) for (condition in warned) warning(condition)

# What is said of a fit is no reason to lose it: where a warning is an error, that has the `fit`.
carry_fit <- function(fit, code) {
  tryCatch(code, error = function(condition) {
    condition$fit <- fit
    stop(condition)
  })
}

# A short description of a value for messages.
describe_value <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.function(x)) return("a function")
  if (inherits(x, "formula")) return("a formula")
  if (is.language(x)) return("a piece of R code")
  if (is.environment(x)) return("an environment")
  if (is.object(x)) {
    words <- describe_object(x)
    if (!is.null(words)) return(words)
  }
  if (is.atomic(x) && length(x) == 1 && is.null(dim(x))) {
    if (is.na(x)) return("NA")
    if (is.character(x)) return(quoted(x))
    return(given_number(x))
  }
  if (!is.null(dim(x))) {
    kind <- switch(typeof(x), double = , integer = "a numeric", logical = "a logical",
                   character = "a text", complex = "a complex", paste("a", typeof(x)))
    return(sprintf("%s %s (%s)", kind, if (length(dim(x)) == 2) "matrix" else "array",
                   paste(dim(x), collapse = " x ")))
  }
  if (is.list(x)) return(sprintf("a list of length %d", length(x)))
  sprintf("a%s %s vector of length %d", if (typeof(x) == "integer") "n" else "", typeof(x),
          length(x))
}

# A number that was given, with six digits, or with all that it has where six make a rounder one of
# it: 29 - 4e-15 is not 29, which would be allowed.
given_number <- function(x) {
  written <- function(digits) plain_number(x, digits)
  says_all <- function(text) !is.double(x) || !is.finite(x) || as.double(text) == x
  short <- written(6)
  if (says_all(short) || short != written(5)) return(short)
  if (says_all(written(15))) written(15) else written(17)
}

# A description of what has a class; NULL where that says no more than the type.
describe_object <- function(x) {
  name <- class(x)[1]
  if (is.data.frame(x)) {
    return(sprintf("a data frame with %s and %s", plural(nrow(x), "row"),
                   plural(ncol(x), "column")))
  }
  if (is.list(x) || isS4(x)) {
    own <- grep("^gps?_", class(x), value = TRUE)
    if (length(own) > 0) name <- own[length(own)]
    size <- if (isS4(x) && !is.null(dim(x))) sprintf(" (%s)", paste(dim(x), collapse = " x "))
    return(sprintf("an object of class %s%s", quoted(name), if (is.null(size)) "" else size))
  }
  if (name == "dist") {
    size <- attr(x, "Size")
    return(paste(c("distances", if (is.numeric(size)) sprintf("of %.0f points", size[1])),
                 collapse = " "))
  }
  if (!is.atomic(x) || inherits(x, c("table", "ts", "AsIs", "noquote"))) return(NULL)
  size <- if (is.null(dim(x))) sprintf("vector of length %d", length(x)) else
    sprintf("array (%s)", paste(dim(x), collapse = " x "))
  sprintf("a%s %s %s", if (grepl("^[aeiou]", name)) "n" else "", printable(name), size)
}

# `way`: a sentence on what to do, or NULL.
abort_value <- function(x, arg, allowed, way = NULL) {
  gps_abort(paste(c(sprintf("`%s` must be %s, not %s.", arg, allowed, describe_value(x)), way),
                  collapse = " "))
}

# Latin letters alone, in any locale: a Turkish one makes of I and i other letters.
lower_case <- function(x) {
  chartr(paste(LETTERS, collapse = ""), paste(letters, collapse = ""), x)
}

upper_case <- function(x) {
  chartr(paste(letters, collapse = ""), paste(LETTERS, collapse = ""), x)
}

# The choice nearest to a misspelt name, or NULL.
nearest_name <- function(x, choices) {
  if (!is.character(x) || length(x) != 1 || !is_text(x) || !nzchar(x)) return(NULL)
  choices <- choices[is_text(choices)]
  if (length(choices) == 0) return(NULL)
  # Who writes the beginning of one word alone means that word.
  begun <- choices[startsWith(lower_case(choices), lower_case(x))]
  if (length(begun) == 1 && nchar(x) > 1) return(begun)
  distance <- utils::adist(lower_case(x), lower_case(choices))[1, ]
  # Letters that have changed places are one slip, not two.
  letters_of <- function(words) {
    vapply(strsplit(lower_case(words), ""), function(x) paste(sort(x), collapse = ""), "")
  }
  is_swapped <- distance == 2 & letters_of(choices) == letters_of(x)
  distance[is_swapped] <- 1
  # One or two letters are near everything that is short, and two changes make any word of five.
  most <- if (nchar(x) < 6) min(1, max(0, nchar(x) - 2)) else max(2, nchar(x) %/% 3)
  if (min(distance) > most) NULL else choices[which.min(distance)]
}

# Suggested packages are asked for by name where they are needed.
require_package <- function(package, what) {
  if (!requireNamespace(package, quietly = TRUE)) {
    gps_abort(sprintf("%s needs the package %s: install.packages(%s).", what, package,
                      quoted(package)))
  }
  invisible(TRUE)
}

shown_dim <- function(dim) paste(dim, collapse = " x ")

# A text in lines no wider than the console, the further ones set in. Words that are longer than a
# line stay whole, so that names and paths can be copied.
wrap_text <- function(text, begin = "", indent = nchar(begin, "width")) {
  width <- getOption("width")
  text <- printable(text)
  if (nchar(begin, "width") + nchar(text, "width") <= width) return(paste0(begin, text))
  indent <- min(indent, width %/% 3)
  lines <- strwrap(text, width + 1 - max(indent, nchar(begin, "width")), initial = begin,
                   prefix = strrep(" ", indent))
  sub(" +$", "", lines)
}

# Named lines below each other, their texts in one column.
format_lines <- function(lines) {
  begin <- sprintf("  %-10s ", names(lines))
  paste0(unlist(Map(wrap_text, lines, begin, USE.NAMES = FALSE)), "\n")
}

# Prints a sentence, or each of several.
say <- function(texts) {
  if (length(texts) == 0) return(invisible())
  cat(paste0(unlist(lapply(texts, wrap_text, indent = 2)), "\n"), sep = "")
}

# With a point, whatever the locale's LC_NUMERIC: what has another could not be read as a number.
plain_number <- function(x, digits = 7) {
  chartr(",", ".", format(x, digits = digits, decimal.mark = ".", nsmall = 0))
}

# Whole numbers up to 1e15 with all their digits.
format_number <- function(n) {
  is_large <- n >= 1e15
  format(n, big.mark = ",", decimal.mark = ".", scientific = is_large,
         digits = if (is_large) 3 else 15)
}

# "column 2 (b) is", "columns 1, 2 and 3 are": at most six by name.
column_words <- function(columns, names, verb = NULL) {
  label <- as.character(columns)
  if (is.null(names)) names <- character(max(columns))
  is_named <- !is.na(names[columns]) & nzchar(names[columns])
  label[is_named] <- sprintf("%s (%s)", label, quoted(names[columns]))[is_named]
  paste(c(listed(label, "column"), if (length(columns) == 1) verb[1] else verb[2]),
        collapse = " ")
}

# "cluster 1", "clusters 1, 2 and 3", "clusters 1, 2, 3, 4, 5, 6 and 12 more".
listed <- function(label, noun) {
  n <- length(label)
  if (n == 1) return(paste(noun, label))
  last <- if (n > 7) paste(n - 6, "more") else label[n]
  paste0(noun, "s ", paste(label[seq_len(min(n - 1, 6))], collapse = ", "), " and ", last)
}

plural <- function(n, what) sprintf("%d %s%s", n, what, if (n == 1) "" else "s")

all_of <- function(n, what) if (n == 1) paste("the only", what) else paste("all", plural(n, what))

# Whether a user's function takes one more argument, by its name or its place.
takes_own <- function(f, name, place) {
  names <- names(formals(f))
  length(names) >= place || name %in% names
}

# A user's function that is called with so many arguments by their place, by what they are.
check_takes <- function(f, arg, names) {
  own <- formals(args(f))
  if (is.null(args(f)) || "..." %in% names(own) || length(own) >= length(names)) return(invisible())
  gps_abort(sprintf("`%s` must be a function of %s (%s), but it takes %d.", arg,
                    plural(length(names), "argument"), paste(names, collapse = ", "),
                    length(own)))
}

# The same, whose arguments do not have our names at each other's places.
check_argument_order <- function(f, arg, names) {
  check_takes(f, arg, names)
  own <- names(formals(args(f)))
  at <- match(names, own)
  if (all(is.na(at) | at == seq_along(names)) || "..." %in% own) return(invisible())
  gps_abort(sprintf(paste("`%s` gets its arguments by their places, (%s), but its own are (%s):",
                          "put them into that order."),
                    arg, paste(names, collapse = ", "), paste(own, collapse = ", ")))
}

# The sizes of what a function of a user was given, of lists those of their parts, in a sentence.
describe_sizes <- function(arguments) {
  size_of <- function(x) paste(if (is.null(dim(x))) length(x) else dim(x), collapse = " x ")
  words <- Map(function(name, x) {
    if (is.numeric(x)) return(sprintf("%s (%s)", name, size_of(x)))
    if (!is.list(x) || is.object(x) || length(x) == 0) return(name)
    sprintf("%s$%s (%s)", name, names(x), vapply(x, size_of, ""))
  }, names(arguments), arguments)
  sprintf("It was given %s.", paste(unlist(words), collapse = ", "))
}
