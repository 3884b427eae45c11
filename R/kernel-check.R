# Kernels are plain lists, which may have been edited or stored by another version: each is made
# anew of its own parts.

check_kernel <- function(kernel, arg) {
  check_class(kernel, arg, "gps_kernel", "a kernel, as made by a kernel_*() function")
  terms <- named_parts(kernel, arg, "kernel_*")$terms
  if (!identical(names(kernel), "terms") || !is.list(terms) || length(terms) == 0) {
    abort_altered(arg, "kernel_*", "it is no list of `terms`")
  }
  made <- lapply(seq_along(terms), function(i) {
    remake_term(terms[[i]], sprintf("%s$terms[[%d]]", arg, i))
  })
  new_kernel(unlist(made, recursive = FALSE))
}

remake_term <- function(term, arg) {
  parts <- named_parts(term, arg, "kernel_*")
  if (identical(parts$type, "product")) return(remake_product(parts, arg))
  if (!is_one_of(parts$type, names(kernel_types))) {
    abort_altered(arg, "kernel_*", "its `type` is unknown")
  }
  if (parts$type == "custom") return(remake_custom(parts, arg))
  remake_factor(parts, arg, needed = "variance")
}

# `needed`: parts without which it is no term of its own.
remake_factor <- function(parts, arg, needed = character()) {
  row <- kernel_types[[parts$type]]
  own <- names(row$names)
  needed <- union(needed, setdiff(own, c("variance", row$length)))
  lacking <- setdiff(c(needed, if (is.null(parts$ard)) "ard"), names(parts))
  if (length(lacking) > 0) {
    abort_altered(arg, "kernel_*", sprintf("it has no `%s`", lacking[1]))
  }
  arguments <- list(parts$type, parts$ard, parts[intersect(own, names(parts))])
  if (!is.null(parts$is_open)) arguments$is_open <- parts$is_open
  made <- make_of(new_term, arguments, arg, "kernel_*")
  unknown <- setdiff(names(parts), names(made[[1]]))
  if (length(unknown) > 0 && !is.null(parts[[unknown[1]]])) abort_part(arg, "kernel_*", unknown[1])
  made
}

# The functions are stored as they were made.
remake_custom <- function(parts, arg) {
  functions <- parts$functions
  is_made <- function(f) is.null(f) || is.function(f)
  is_sound <- identical(names(parts), c("type", "ard", "parameters", "functions")) &&
    isFALSE(parts$ard) && is.list(functions) && is.function(functions$value) &&
    identical(names(functions), c("value", "gradient")) && is_made(functions$gradient)
  if (!is_sound) abort_altered(arg, "kernel_custom", "its parts are of other kinds")
  make_of(new_custom, parts[c("functions", "parameters")], arg, "kernel_custom")
}

remake_product <- function(parts, arg) {
  factors <- parts$factors
  if (!identical(names(parts), c("type", "factors")) || !is.list(factors) || length(factors) < 2) {
    abort_altered(arg, "kernel_*", "a product has two `factors` or more, and nothing else")
  }
  made <- lapply(seq_along(factors), function(j) {
    arg <- sprintf("%s$factors[[%d]]", arg, j)
    factor <- named_parts(factors[[j]], arg, "kernel_*")
    if (!is_one_of(factor$type, setdiff(names(kernel_types), c("bias", "white", "custom")))) {
      abort_altered(arg, "kernel_*", "its `type` cannot be multiplied")
    }
    has_scales <- factor$type == "linear" && isTRUE(factor$ard)
    if (j > 1 && !has_scales && !is.null(factor$variance)) abort_part(arg, "kernel_*", "variance")
    remake_factor(factor, arg, needed = if (j == 1 || has_scales) "variance")
  })
  list(list(type = "product", factors = unlist(made, recursive = FALSE)))
}
