# The terms of kernels: one table of what they are called and what they hold, and the way from a
# kernel, a plain list of terms, to a vector of log parameters and back. A term is one factor or a
# product of several; everything that looks into a kernel does so by its factors or its slots, on
# this page.

# A row a type: `label` for people, and of its parameters the `names` of their logarithms in order
# (src/kernel_types.c has the same parts, and they are compared), which one is a `length` in units
# of the columns and may wait for data, and which have a value for `each` column with `ard`.
# `freedom`: the degrees of freedom of Student's t that is the spectral density, where there is one
# that does not change with the parameters.
kernel_types <- list(
  rbf = list(label = "RBF", names = c(variance = "log_var_rbf", lengthscale = "log_len"),
             length = "lengthscale", each = "lengthscale", freedom = Inf),
  matern12 = list(label = "Matern 1/2", length = "lengthscale", each = "lengthscale", freedom = 1,
                  names = c(variance = "log_var_m12", lengthscale = "log_len_m12")),
  matern32 = list(label = "Matern 3/2", length = "lengthscale", each = "lengthscale", freedom = 3,
                  names = c(variance = "log_var_m32", lengthscale = "log_len_m32")),
  matern52 = list(label = "Matern 5/2", length = "lengthscale", each = "lengthscale", freedom = 5,
                  names = c(variance = "log_var_m52", lengthscale = "log_len_m52")),
  rq = list(label = "rational quadratic", length = "lengthscale", each = "lengthscale",
            names = c(variance = "log_var_rq", lengthscale = "log_len_rq", alpha = "log_alpha")),
  periodic = list(label = "periodic", length = "period", each = c("lengthscale", "period"),
                  names = c(variance = "log_var_per", lengthscale = "log_len_per",
                            period = "log_period")),
  linear = list(label = "linear", names = c(variance = "log_var_lin"), each = "variance"),
  bias = list(label = "bias", names = c(variance = "log_var_bias")),
  white = list(label = "white", names = c(variance = "log_var_white")),
  custom = list(label = "custom", names = character())
)

# The parts of each type, as src/kernel_types.c has them.
type_parts <- vapply(kernel_types, function(row) paste(names(row$names), collapse = " "), "")

# Within what limits parameters without a unit are sought.
free_ranges <- list(lengthscale = c(0.02, 50), alpha = c(0.01, 100))

# The variance of a term where nobody gives it.
usual_variance <- function(type) if (type == "white") 0.1 else 1

# Factors of all terms together.
max_kernel_terms <- 16L

new_kernel <- function(...) {
  kernel <- structure(list(terms = c(...)), class = "gps_kernel")
  n_factors <- sum(lengths(lapply(kernel$terms, term_factors)))
  if (n_factors > max_kernel_terms) {
    gps_abort(sprintf("A kernel can have at most %d terms, factors of products counted, not %d.",
                      max_kernel_terms, n_factors))
  }
  kernel
}

# A list of one term. `values`: of its parameters by their parts, NULL a length that waits for data,
# and without a variance a factor of a product. `is_open`: nobody gave the variance of a linear
# term; a selector takes it in a unit of the data's.
new_term <- function(type, ard, values, is_open = FALSE) {
  ard <- check_flag(ard, "ard")
  row <- kernel_types[[type]]
  term <- list(type = type, ard = ard)
  for (part in names(values)) {
    value <- values[[part]]
    is_waiting <- is.null(value) && identical(part, row$length)
    if (!is_waiting) value <- check_scales(value, part, part %in% row$each, ard)
    term[part] <- list(value)
  }
  if (check_flag(is_open, "is_open") && type == "linear") term$is_open <- TRUE
  list(term)
}

# One positive number, or several where a term has a scale per dimension, as it can with `ard`.
check_scales <- function(x, arg, can_vary, ard) {
  x <- plain_numbers(x)
  if (length(dim(x)) == 2) {
    gps_abort(sprintf("`%s` must be a number, not %s. Data come with gp_fit(x, targets, kernel).",
                      arg, describe_value(x)))
  }
  if (can_vary && !ard && is.numeric(x) && length(x) > 1) {
    gps_abort(sprintf("`%s` must be one number, not %d, unless `ard` = TRUE allows one per column.",
                      arg, length(x)))
  }
  if (!can_vary || !ard) return(check_number(x, arg, lower = 0, open = TRUE))
  if (!is.numeric(x) || length(x) == 0 || !all(is.finite(x)) || any(x <= 0)) {
    abort_value(x, arg, "one positive number, or one per dimension")
  }
  as.double(x)
}

# ---- factors ----

is_product <- function(term) identical(term$type, "product")

term_factors <- function(term) if (is_product(term)) term$factors else list(term)

# All of a kernel, in order.
kernel_factors <- function(kernel) unlist(lapply(kernel$terms, term_factors), recursive = FALSE)

factor_types <- function(kernel) vapply(kernel_factors(kernel), `[[`, "", "type")

# Types of terms; "product" of a product.
term_types <- function(kernel) vapply(kernel$terms, `[[`, "", "type")

factor_label <- function(factor) {
  paste0(kernel_types[[factor$type]]$label, if (factor$ard) " (ARD)")
}

term_label <- function(term) {
  paste(vapply(term_factors(term), factor_label, ""), collapse = " x ")
}

# "RBF + linear", and so on.
kernel_label <- function(kernel) {
  paste(gsub("[()]", "", vapply(kernel$terms, term_label, "")), collapse = " + ")
}

# The part of a factor that is a length in units of the columns, or NULL.
length_part <- function(factor) kernel_types[[factor$type]]$length

has_length <- function(kernel) {
  vapply(kernel_factors(kernel), function(factor) !is.null(length_part(factor)), NA)
}

is_ard <- function(kernel) vapply(kernel_factors(kernel), `[[`, NA, "ard")

# Whether a length waits for data.
has_open_length <- function(kernel) {
  any(vapply(kernel_factors(kernel), function(factor) {
    part <- length_part(factor)
    !is.null(part) && is.null(factor[[part]])
  }, NA))
}

has_white <- function(kernel) "white" %in% term_types(kernel)

# Terms whose values R functions of the user say; they are no factors.
custom_terms <- function(kernel) kernel$terms[term_types(kernel) == "custom"]

has_custom <- function(kernel) length(custom_terms(kernel)) > 0

# The kernel as the C core wants it.
gp_kernel_code <- function(kernel) {
  factors <- lapply(kernel$terms, term_factors)
  is_factor <- sequence(lengths(factors)) > 1L
  factors <- unlist(factors, recursive = FALSE)
  type <- vapply(factors, `[[`, "", "type")
  list(type = type, ard = vapply(factors, `[[`, NA, "ard"), factor = is_factor,
       parts = type_parts[type], n_own = lengths(lapply(factors, `[[`, "parameters")))
}

# ---- slots: where parameters stand ----

# One a parameter, in the order of the log parameters: its `term` and which `factor` of it, `type`
# and `part`, the number `n` of its values, whether these are one for `each` column, and its `name`
# without the number of a column; `at`: where its values stand among the log parameters. The second
# factor of a type has the suffix _2, and so on.
kernel_slots <- function(kernel, n_dims) {
  n_before <- 0L
  seen <- integer()
  slots <- list()
  for (i in seq_along(kernel$terms)) {
    factors <- term_factors(kernel$terms[[i]])
    for (j in seq_along(factors)) {
      type <- factors[[j]]$type
      seen[type] <- sum(seen[type], 1L, na.rm = TRUE)
      suffix <- if (seen[type] > 1) paste0("_", seen[type]) else ""
      names <- factor_names(factors[[j]], is_first = j == 1)
      for (part in names(names)) {
        each <- factors[[j]]$ard && part %in% kernel_types[[type]]$each
        n <- if (each) n_dims else 1L
        slots[[length(slots) + 1]] <-
          list(term = i, factor = j, type = type, part = part, each = each, n = n,
               name = names[[part]], suffix = suffix, at = n_before + seq_len(n))
        n_before <- n_before + n
      }
    }
  }
  slots
}

# Names of a factor's log parameters, by the parts that they are of. A factor after the first has
# no variance of its own but where it has one per column.
factor_names <- function(factor, is_first) {
  names <- if (factor$type == "custom") own_names(factor) else kernel_types[[factor$type]]$names
  if (!is_first && is.null(factor$variance)) names <- names[names(names) != "variance"]
  names
}

# Log parameters of a custom term, by the names that its user gave.
own_names <- function(factor) {
  names <- names(factor$parameters)
  stats::setNames(sprintf("log_custom_%s", names), names)
}

# What each slot's parameters are called.
slot_names <- function(slot) {
  paste0(slot$name, if (slot$each) paste0("_", seq_len(slot$n)), slot$suffix)
}

# Of each log parameter a property of its slot.
by_parameter <- function(slots, property) {
  unlist(lapply(slots, function(slot) rep(property(slot), length.out = slot$n)))
}

get_part <- function(kernel, slot) {
  factor <- term_factors(kernel$terms[[slot$term]])[[slot$factor]]
  if (slot$type == "custom") factor$parameters[[slot$part]] else factor[[slot$part]]
}

set_part <- function(kernel, slot, value) {
  term <- kernel$terms[[slot$term]]
  if (is_product(term)) {
    term$factors[[slot$factor]][slot$part] <- list(value)
  } else if (slot$type == "custom") {
    term$parameters[[slot$part]] <- value
  } else {
    term[slot$part] <- list(value)
  }
  kernel$terms[[slot$term]] <- term
  kernel
}

# Linear factors whose variance a slot holds: its own, and those of the product whose common
# variance it is.
linear_held <- function(kernel, slot) {
  if (slot$part != "variance") return(list())
  factors <- term_factors(kernel$terms[[slot$term]])
  is_held <- vapply(seq_along(factors), function(j) {
    is_linear <- factors[[j]]$type == "linear"
    is_linear && (j == slot$factor || slot$factor == 1 && !factors[[j]]$ard)
  }, NA)
  factors[is_held]
}

# ---- log parameters ----

theta_names <- function(kernel, n_dims) unlist(lapply(kernel_slots(kernel, n_dims), slot_names))

# One value, or one per dimension, brought to length n.
expand_scales <- function(x, n, arg) {
  if (length(x) == 1) return(rep(x, n))
  if (length(x) != n) {
    gps_abort(sprintf(
      "`%s` of the kernel has %d values, but the data have %d column%s.", arg, length(x), n,
      if (n == 1) "" else "s"
    ))
  }
  x
}

# Log parameters; `open` stands in for lengths that wait for data: list(one, each), for a term with
# one of them and for one with one per dimension.
kernel_theta <- function(kernel, n_dims, open = list(one = NA_real_, each = NA_real_)) {
  slots <- kernel_slots(kernel, n_dims)
  values <- lapply(slots, function(slot) {
    value <- get_part(kernel, slot)
    if (is.null(value)) value <- if (slot$each) open$each else open$one
    expand_scales(value, slot$n, slot$part)
  })
  stats::setNames(log(unlist(values)), unlist(lapply(slots, slot_names)))
}

# The same kernel with these log parameters.
kernel_with_theta <- function(kernel, theta, n_dims) {
  for (slot in kernel_slots(kernel, n_dims)) {
    kernel <- set_part(kernel, slot, exp(unname(theta[slot$at])))
  }
  kernel$terms <- lapply(kernel$terms, function(term) {
    term$is_open <- NULL
    if (is_product(term)) term$factors <- lapply(term$factors, replace, "is_open", NULL)
    term
  })
  kernel
}

# Log parameters when the data's columns are put into another order (NULL: as they are).
permute_theta <- function(kernel, theta, place) {
  if (is.null(place)) return(theta)
  for (slot in kernel_slots(kernel, length(place))) {
    if (slot$each) theta[slot$at] <- theta[slot$at[place]]
  }
  theta
}

# Dimensions that the kernel's vectors imply; 1 where nothing does.
kernel_dims <- function(kernel) {
  max(1L, vapply(kernel_slots(kernel, 1L), function(slot) length(get_part(kernel, slot)), 0L))
}

# Sum of the white-noise variances at these log parameters.
white_variance <- function(kernel, theta, n_dims) {
  is_white <- by_parameter(kernel_slots(kernel, n_dims), function(slot) slot$type == "white")
  sum(exp(unname(theta[is_white])))
}

# Mean of each term's k(x, x) over data of n_dims x n, or with these mean squares of their columns;
# products of several linear factors roughly.
term_levels <- function(kernel, y, mean_squares = rowMeans(y^2)) {
  vapply(kernel$terms, function(term) {
    if (term$type == "custom") return(mean(own_diagonal(term, some_points(y, 100))))
    prod(vapply(term_factors(term), function(factor) {
      variance <- if (is.null(factor$variance)) 1 else factor$variance
      if (factor$type == "linear") sum(variance * mean_squares) else variance
    }, 1))
  }, 1)
}

# ---- checks ----

# Kernels are plain lists, which may have been edited or stored by another version: each is made
# anew of its own parts.

check_kernel <- function(kernel, arg) {
  check_class(kernel, arg, "gps_kernel", "a kernel, as made by a kernel_*() function")
  once_made(kernel, "kernel", {
    terms <- named_parts(kernel, arg, "kernel_*")$terms
    if (!identical(names(kernel), "terms") || !is.list(terms) || length(terms) == 0) {
      abort_altered(arg, "kernel_*", "it is no list of `terms`")
    }
    made <- lapply(seq_along(terms), function(i) {
      remake_term(terms[[i]], sprintf("%s$terms[[%d]]", arg, i))
    })
    new_kernel(unlist(made, recursive = FALSE))
  })
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
  needed <- c(needed, own[!own %in% c("variance", row$length)], "ard")
  lacking <- needed[!needed %in% names(parts)]
  if (length(lacking) > 0) {
    abort_altered(arg, "kernel_*", sprintf("it has no `%s`", lacking[1]))
  }
  arguments <- list(parts$type, parts$ard, parts[own[own %in% names(parts)]])
  if (!is.null(parts$is_open)) arguments$is_open <- parts$is_open
  made <- make_of(new_term, arguments, arg, "kernel_*")
  unknown <- names(parts)[!names(parts) %in% names(made[[1]])]
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

# Whether a kernel is one, with fewer features than points: then no matrix of all pairs is formed.
uses_features <- function(kernel, n_dims, n_points) {
  types <- term_types(kernel)
  all(types %in% c("linear", "bias", "white")) && "white" %in% types && n_dims + 1 < n_points
}
