# Kernels: small plain lists of terms. The C core (src/kernel.c) evaluates them; here they are
# built, added, printed, and turned into vectors of log parameters and back.

#' Covariance functions
#'
#' Kernels of a Gaussian process, and their sums with `+` (products are an error). A kernel object
#' holds starting values; [gp_fit()] and the learned selection maximise the marginal likelihood over
#' the logarithms of all of them.
#'
#' With \eqn{r^2 = \sum_d (x_d - z_d)^2 / l_d^2}{r^2 = sum_d (x_d - z_d)^2 / l_d^2}:
#' * `kernel_rbf()`: \eqn{s\,\exp(-r^2/2)}{s exp(-r^2 / 2)};
#' * `kernel_matern()`: \eqn{s\,(1+u)e^{-u}}{s (1 + u) exp(-u)} with
#'   \eqn{u=\sqrt3\,r}{u = sqrt(3) r} for `nu = 1.5`,
#'   \eqn{s\,(1+u+u^2/3)e^{-u}}{s (1 + u + u^2 / 3) exp(-u)} with
#'   \eqn{u=\sqrt5\,r}{u = sqrt(5) r} for `nu = 2.5`;
#' * `kernel_linear()`: \eqn{\sum_d v_d x_d z_d}{sum_d v_d x_d z_d}, of the data as they are, not
#'   centred;
#' * `kernel_bias()`: a constant;
#' * `kernel_white()`: noise, added to the diagonal. It is tied to the data point, not to its
#'   position: two equal points share none, and predictions of the function contain none. A kernel
#'   without it leaves the matrix of a linear or smooth kernel singular;
#' * `kernel_composition()`: RBF + linear + bias + white, the composition kernel of
#'   section 4.1 of the paper.
#'
#' @param variance Positive number: the value of the kernel at distance zero (linear: the factor of
#'   the inner product; white: the noise variance). For `kernel_linear(ard = TRUE)` one number, or a
#'   vector with one number per dimension.
#' @param lengthscale `NULL`, a positive number, or with `ard = TRUE` a vector with one positive
#'   number per dimension. `NULL` is the median distance between data points (of 1000 evenly spaced
#'   rows if there are more), taken when the kernel meets data. With `ard = TRUE` it is one number
#'   per dimension that does not depend on the others' units: the median distance of the column from
#'   its median (of those points that differ from it, if most do not), times the median distance
#'   between points whose columns have been divided by these.
#' @param ard `TRUE` or `FALSE`: one lengthscale (linear: one variance) per dimension.
#' @param nu 1.5 or 2.5: smoothness.
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return An object of class `gps_kernel`: a list with `terms`, a list of terms, each a list with
#'   `type`, `ard`, `variance` and, where it has one, `lengthscale`. `coef()` gives the named vector
#'   of log parameters, with `NA` for a lengthscale that waits for data.
#' @references Rasmussen and Williams (2006) *Gaussian Processes for Machine Learning*, chapter 4.
#' @examples
#' kernel <- kernel_rbf(lengthscale = 2) + kernel_white(0.01)
#' kernel
#' coef(kernel)
#' @name kernels
NULL

#' @rdname kernels
#' @export
kernel_rbf <- function(variance = 1, lengthscale = NULL, ard = FALSE, ...) {
  refuse_unknown(list(...), names(formals(kernel_rbf)))
  new_kernel(new_term("rbf", variance, lengthscale, ard))
}

#' @rdname kernels
#' @export
kernel_matern <- function(nu = 2.5, variance = 1, lengthscale = NULL, ard = FALSE, ...) {
  refuse_unknown(list(...), names(formals(kernel_matern)))
  nu <- plain_numbers(nu)
  if (!is_number(nu) || !nu %in% c(1.5, 2.5)) abort_value(nu, "nu", "1.5 or 2.5")
  new_kernel(new_term(if (nu == 1.5) "matern32" else "matern52", variance, lengthscale, ard))
}

#' @rdname kernels
#' @export
kernel_linear <- function(variance = 1, ard = FALSE, ...) {
  refuse_unknown(list(...), names(formals(kernel_linear)))
  new_kernel(new_term("linear", variance, ard = ard, is_open = missing(variance)))
}

#' @rdname kernels
#' @export
kernel_bias <- function(variance = 1, ...) {
  refuse_unknown(list(...), names(formals(kernel_bias)))
  new_kernel(new_term("bias", variance))
}

#' @rdname kernels
#' @export
kernel_white <- function(variance = 0.1, ...) {
  refuse_unknown(list(...), names(formals(kernel_white)))
  new_kernel(new_term("white", variance))
}

#' @rdname kernels
#' @export
kernel_composition <- function(...) {
  refuse_unknown(list(...), names(formals(kernel_composition)))
  kernel_rbf() + kernel_linear() + kernel_bias() + kernel_white()
}

#' @param e1,e2 Kernels.
#' @rdname kernels
#' @export
`+.gps_kernel` <- function(e1, e2) {
  if (missing(e2)) return(e1)
  check_class(e1, "e1", "gps_kernel", "a kernel")
  check_class(e2, "e2", "gps_kernel", "a kernel")
  new_kernel(check_kernel(e1, "e1")$terms, check_kernel(e2, "e2")$terms)
}

# Products and the rest of arithmetic: not what a list makes of them.
#' @export
Ops.gps_kernel <- function(e1, e2) {
  if (.Generic == "*") {
    gps_abort(paste(
      "Kernels can be added, not multiplied. To scale one, give it a variance: 2 * kernel_rbf() is",
      "kernel_rbf(variance = 2)."
    ))
  }
  cure <- if (.Generic %in% c("==", "!=")) " To compare two, use identical()." else ""
  gps_abort(sprintf("`%s` is not defined for kernels: they can be added, as in %s.%s", .Generic,
                    "kernel_rbf() + kernel_white()", cure))
}

# What each type of term is called in parameter names and in print, and which scales it has.
kernel_types <- list(
  rbf = list(label = "RBF", variance = "log_var_rbf", lengthscale = "log_len"),
  matern32 = list(label = "Matern 3/2", variance = "log_var_m32", lengthscale = "log_len_m32"),
  matern52 = list(label = "Matern 5/2", variance = "log_var_m52", lengthscale = "log_len_m52"),
  linear = list(label = "linear", variance = "log_var_lin", lengthscale = NULL),
  bias = list(label = "bias", variance = "log_var_bias", lengthscale = NULL),
  white = list(label = "white", variance = "log_var_white", lengthscale = NULL)
)

max_kernel_terms <- 16L

new_kernel <- function(...) {
  terms <- c(...)
  if (length(terms) > max_kernel_terms) {
    gps_abort(sprintf(
      "A kernel can have at most %d terms, not %d.", max_kernel_terms, length(terms)
    ))
  }
  structure(list(terms = terms), class = "gps_kernel")
}

# `is_open`: nobody gave the variance of a linear term; a selector takes it in a unit of the data's.
new_term <- function(type, variance, lengthscale = NULL, ard = FALSE, is_open = FALSE) {
  ard <- check_flag(ard, "ard")
  variance <- check_scales(variance, "variance", several = ard && type == "linear")
  if (!is.null(lengthscale)) lengthscale <- check_scales(lengthscale, "lengthscale", several = ard)
  term <- list(type = type, ard = ard, variance = variance)
  if (!is.null(kernel_types[[type]]$lengthscale)) term["lengthscale"] <- list(lengthscale)
  if (check_flag(is_open, "is_open") && type == "linear") term$is_open <- TRUE
  list(term)
}

# One positive number, or several where a term has a scale per dimension.
check_scales <- function(x, arg, several) {
  x <- plain_numbers(x)
  if (!several) return(check_number(x, arg, lower = 0, open = TRUE))
  if (!is.numeric(x) || length(x) == 0 || !all(is.finite(x)) || any(x <= 0)) {
    abort_value(x, arg, "one positive number, or one per dimension")
  }
  as.double(x)
}

# The kernel as the C core wants it.
gp_kernel_code <- function(kernel) {
  list(
    type = vapply(kernel$terms, `[[`, "", "type"),
    ard = vapply(kernel$terms, `[[`, NA, "ard")
  )
}

# Which of a term's parameters have one value per dimension.
term_scales <- function(term, n_dims) {
  names <- kernel_types[[term$type]]
  is_linear_ard <- term$ard && term$type == "linear"
  list(
    variance = if (is_linear_ard) paste0(names$variance, "_", seq_len(n_dims)) else names$variance,
    lengthscale = if (is.null(names$lengthscale)) {
      NULL
    } else if (term$ard) {
      paste0(names$lengthscale, "_", seq_len(n_dims))
    } else {
      names$lengthscale
    }
  )
}

# Names of the log parameters; the second term of a type gets the suffix _2, and so on.
theta_names <- function(kernel, n_dims) {
  types <- vapply(kernel$terms, `[[`, "", "type")
  number <- stats::ave(seq_along(types), types, FUN = seq_along)
  unlist(Map(function(term, k) {
    scales <- term_scales(term, n_dims)
    paste0(c(scales$variance, scales$lengthscale), if (k > 1) paste0("_", k) else "")
  }, kernel$terms, number), use.names = FALSE)
}

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

# Log parameters; `open` stands in for lengthscales that wait for data: list(one, each), for a term
# with one of them and for one with one per dimension.
kernel_theta <- function(kernel, n_dims, open = list(one = NA_real_, each = NA_real_)) {
  values <- lapply(kernel$terms, function(term) {
    scales <- term_scales(term, n_dims)
    variance <- expand_scales(term$variance, length(scales$variance), "variance")
    if (is.null(scales$lengthscale)) return(variance)
    given <- term$lengthscale
    if (is.null(given)) given <- if (term$ard) open$each else open$one
    c(variance, expand_scales(given, length(scales$lengthscale), "lengthscale"))
  })
  stats::setNames(log(unlist(values)), theta_names(kernel, n_dims))
}

# The same kernel with these log parameters.
kernel_with_theta <- function(kernel, theta, n_dims) {
  at <- 0
  for (i in seq_along(kernel$terms)) {
    scales <- term_scales(kernel$terms[[i]], n_dims)
    for (part in c("variance", if (!is.null(scales$lengthscale)) "lengthscale")) {
      n <- length(scales[[part]])
      kernel$terms[[i]][[part]] <- exp(unname(theta[at + seq_len(n)]))
      at <- at + n
    }
    kernel$terms[[i]]$is_open <- NULL
  }
  kernel
}

# Log parameters when the data's columns are put into another order (NULL: as they are).
permute_theta <- function(kernel, theta, place) {
  if (is.null(place)) return(theta)
  n_dims <- length(place)
  kernel <- kernel_with_theta(kernel, theta, n_dims)
  for (i in which(vapply(kernel$terms, `[[`, NA, "ard"))) {
    for (part in c("variance", "lengthscale")) {
      value <- kernel$terms[[i]][[part]]
      if (length(value) == n_dims) kernel$terms[[i]][[part]] <- value[place]
    }
  }
  kernel_theta(kernel, n_dims)
}

# Dimensions that the kernel's vectors imply; 1 where nothing does.
kernel_dims <- function(kernel) {
  lengths <- vapply(kernel$terms, function(term) {
    max(length(term$lengthscale), if (term$type == "linear") length(term$variance) else 1L)
  }, 0L)
  max(lengths, 1L)
}

#' @param object,x A kernel.
#' @rdname kernels
#' @export
coef.gps_kernel <- function(object, ...) {
  refuse_unknown(list(...), character())
  object <- check_kernel(object, "object")
  kernel_theta(object, kernel_dims(object))
}

#' @rdname kernels
#' @export
format.gps_kernel <- function(x, ...) {
  refuse_shown(list(...))
  x <- check_kernel(x, "x")
  show <- function(value) {
    if (is.null(value)) return("median distance")
    shown <- format(utils::head(value, 4), digits = 3, trim = TRUE, decimal.mark = ".")
    if (length(value) > 4) shown <- c(shown, "...")
    paste(shown, collapse = ", ")
  }
  vapply(x$terms, function(term) {
    parts <- paste("variance", show(term$variance))
    if ("lengthscale" %in% names(term)) {
      name <- if (term$ard) "lengthscales" else "lengthscale"
      parts <- c(parts, paste(name, show(term$lengthscale)))
    }
    label <- paste0(kernel_types[[term$type]]$label, if (term$ard) " (ARD)" else "")
    sprintf("%s: %s", label, paste(parts, collapse = "; "))
  }, "")
}

#' @rdname kernels
#' @export
print.gps_kernel <- function(x, ...) {
  refuse_shown(list(...))
  lines <- format(x)
  cat(if (length(lines) > 1) "Sum of kernels\n" else "Kernel\n")
  cat(paste0("  ", lines, "\n"), sep = "")
  invisible(x)
}

has_stationary <- function(kernel) {
  vapply(kernel$terms, function(term) "lengthscale" %in% names(term), NA)
}

has_white <- function(kernel) "white" %in% vapply(kernel$terms, `[[`, "", "type")

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
  type <- parts$type
  if (!is_one_of(type, names(kernel_types))) {
    abort_altered(arg, "kernel_*", "its `type` is unknown")
  }
  made <- make_of(new_term, parts[intersect(names(parts), names(formals(new_term)))], arg,
                  "kernel_*")
  unknown <- setdiff(names(parts), names(made[[1]]))
  if (length(unknown) > 0 && !is.null(parts[[unknown[1]]])) abort_part(arg, "kernel_*", unknown[1])
  made
}

# Sum of the white-noise variances at these log parameters.
white_variance <- function(kernel, theta, n_dims) {
  fitted <- kernel_with_theta(kernel, theta, n_dims)
  sum(vapply(fitted$terms, function(term) if (term$type == "white") term$variance else 0, 0))
}
