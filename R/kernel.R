# Kernels: small plain lists of terms (kernel-terms.R). The C core (src/kernel.c) evaluates them;
# here they are built, added, multiplied and printed.

#' Covariance functions
#'
#' Kernels of a Gaussian process, their sums with `+` and products with `*`. A kernel object holds
#' starting values; [gp_fit()] and the learned selection maximise the marginal likelihood over the
#' logarithms of all of them. [kernel_custom()] makes one of R functions.
#'
#' With \eqn{r^2 = \sum_d (x_d - z_d)^2 / l_d^2}{r^2 = sum_d (x_d - z_d)^2 / l_d^2}:
#' * `kernel_rbf()`: \eqn{s\,\exp(-r^2/2)}{s exp(-r^2 / 2)};
#' * `kernel_matern()`: \eqn{s\,e^{-r}}{s exp(-r)} for `nu = 0.5`,
#'   \eqn{s\,(1+u)e^{-u}}{s (1 + u) exp(-u)} with
#'   \eqn{u=\sqrt3\,r}{u = sqrt(3) r} for `nu = 1.5`,
#'   \eqn{s\,(1+u+u^2/3)e^{-u}}{s (1 + u + u^2 / 3) exp(-u)} with
#'   \eqn{u=\sqrt5\,r}{u = sqrt(5) r} for `nu = 2.5`;
#' * `kernel_rq()`, rational quadratic: \eqn{s\,(1 + r^2/(2\alpha))^{-\alpha}}{s (1 + r^2 / (2
#'   alpha))^-alpha}, a mixture of RBF of many lengthscales, which tends to one RBF as
#'   \eqn{\alpha}{alpha} grows;
#' * `kernel_periodic()`: \eqn{s\,\exp(-2 \sum_d \sin^2(\pi (x_d - z_d)/p_d) / l_d^2)}{s exp(-2
#'   sum_d sin^2(pi (x_d - z_d) / p_d) / l_d^2)}, an RBF of the points of the unit circles on which
#'   the periods \eqn{p_d}{p_d} wind the columns. Its lengthscale is one on these circles and has no
#'   unit; the period is in units of the columns;
#' * `kernel_linear()`: \eqn{\sum_d v_d x_d z_d}{sum_d v_d x_d z_d}, of the data as they are, not
#'   centred;
#' * `kernel_bias()`: a constant;
#' * `kernel_white()`: noise, added to the diagonal. It is tied to the data point, not to its
#'   position: two equal points share none, and predictions of the function contain none. A kernel
#'   without it leaves the matrix of a linear or smooth kernel singular;
#' * `kernel_composition()`: RBF + linear + bias + white, the composition kernel of
#'   section 4.1 of the paper.
#'
#' @section Products:
#' The product of two kernels is the product of their values. A sum is multiplied term by term:
#' `(a + b) * c` is `a * c + b * c`, with parameters of `c` for each. Only the product of the
#' variances matters, so the first factor holds it and the others have none, except for those of
#' `kernel_linear(ard = TRUE)`. A number, or `kernel_bias()`, scales the variance of each term.
#' White noise is no function of where points are: it can be scaled by a number, and is added to a
#' product of kernels, not multiplied by one, which is an error.
#' `kernel_rbf() * kernel_periodic()` repeats itself nearly, `kernel_linear() * kernel_periodic()`
#' grows.
#' @section Which methods know which:
#' All terms of this page work with all methods of [gp_fit()] and [selector_gp()], but `"fourier"`
#' refuses `kernel_rq()`, `kernel_periodic()` and products, whose frequencies would change with the
#' parameters, and `"neighbours"` needs a term or factor that falls with distance. Periodic terms
#' and products are computed pair by pair, and take a few times as long as others.
#'
#' @param variance Positive number: the value of the kernel at distance zero (linear: the factor of
#'   the inner product; white: the noise variance). For `kernel_linear(ard = TRUE)` one number, or a
#'   vector with one number per dimension.
#' @param lengthscale `NULL`, a positive number, or with `ard = TRUE` a vector with one positive
#'   number per dimension. `NULL` is the median distance between data points (of 1000 evenly spaced
#'   rows if there are more), taken when the kernel meets data. With `ard = TRUE` it is one number
#'   per dimension that does not depend on the others' units: the median distance of the column from
#'   its median (of those points that differ from it, if most do not), times the median distance
#'   between points whose columns have been divided by these. Of `kernel_periodic()` positive
#'   numbers.
#' @param period Likewise, and `NULL` is the same; the search of [gp_fit()] begins also at the
#'   periods where the periodogram of the targets in each column is highest.
#' @param alpha Positive number: how much the lengthscales of the mixture differ, the less the
#'   larger.
#' @param ard `TRUE` or `FALSE`: one lengthscale (linear: one variance; periodic: one lengthscale
#'   and one period) per dimension.
#' @param nu 0.5, 1.5 or 2.5: smoothness.
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return An object of class `gps_kernel`: a list with `terms`, a list of terms, each a list with
#'   `type`, `ard`, `variance` and, where it has them, `lengthscale`, `alpha`, `period`; a product
#'   is one with `type` "product" and `factors`, such a list. At most 16 terms, factors counted one
#'   by one. `coef()` gives the named vector of log parameters, with `NA` for a length that waits
#'   for data.
#' @references MacKay (1998) Introduction to Gaussian processes. In Bishop (ed.) *Neural Networks
#'   and Machine Learning*, 133-165, for the periodic kernel.
#'
#'   Rasmussen and Williams (2006) *Gaussian Processes for Machine Learning*, chapter 4: equations
#'   4.9, 4.14, 4.17, 4.19 and 4.31; products in section 4.2.4.
#' @concept covariance function
#' @concept kernel
#' @examples
#' kernel <- kernel_rbf(lengthscale = 2) + kernel_white(0.01)
#' kernel
#' coef(kernel)
#' # A signal that repeats itself, and a slow trend.
#' set.seed(1)
#' x <- seq(0, 10, length.out = 60)
#' y <- sin(2 * pi * x / 1.5) + 0.3 * x + rnorm(60, sd = 0.2)
#' fit <- gp_fit(x, y, kernel_periodic() + kernel_rbf() + kernel_white(0.01))
#' exp(coef(fit)["log_period"])
#' kernel_linear() * kernel_periodic(period = 12)
#' @name kernels
NULL

#' @rdname kernels
#' @export
kernel_rbf <- function(variance = 1, lengthscale = NULL, ard = FALSE, ...) {
  refuse_unknown(further(...), names(formals(kernel_rbf)))
  new_kernel(new_term("rbf", ard, list(variance = variance, lengthscale = lengthscale)))
}

# Matern kernels by their smoothness.
matern_types <- c("0.5" = "matern12", "1.5" = "matern32", "2.5" = "matern52")

#' @rdname kernels
#' @export
kernel_matern <- function(nu = 2.5, variance = 1, lengthscale = NULL, ard = FALSE, ...) {
  refuse_unknown(further(...), names(formals(kernel_matern)))
  nu <- plain_numbers(nu)
  if (!is_number(nu) || !nu %in% c(0.5, 1.5, 2.5)) abort_value(nu, "nu", "0.5, 1.5 or 2.5")
  new_kernel(new_term(matern_types[[as.character(nu)]], ard,
                      list(variance = variance, lengthscale = lengthscale)))
}

#' @rdname kernels
#' @export
kernel_rq <- function(variance = 1, lengthscale = NULL, alpha = 1, ard = FALSE, ...) {
  refuse_unknown(further(...), names(formals(kernel_rq)))
  new_kernel(new_term("rq", ard, list(variance = variance, lengthscale = lengthscale,
                                      alpha = alpha)))
}

#' @rdname kernels
#' @export
kernel_periodic <- function(variance = 1, lengthscale = 1, period = NULL, ard = FALSE, ...) {
  refuse_unknown(further(...), names(formals(kernel_periodic)))
  new_kernel(new_term("periodic", ard, list(variance = variance, lengthscale = lengthscale,
                                            period = period)))
}

#' @rdname kernels
#' @export
kernel_linear <- function(variance = 1, ard = FALSE, ...) {
  refuse_unknown(further(...), names(formals(kernel_linear)))
  new_kernel(new_term("linear", ard, list(variance = variance), is_open = missing(variance)))
}

#' @rdname kernels
#' @export
kernel_bias <- function(variance = 1, ...) {
  refuse_unknown(further(...), names(formals(kernel_bias)))
  new_kernel(new_term("bias", FALSE, list(variance = variance)))
}

#' @rdname kernels
#' @export
kernel_white <- function(variance = 0.1, ...) {
  refuse_unknown(further(...), names(formals(kernel_white)))
  new_kernel(new_term("white", FALSE, list(variance = variance)))
}

#' @rdname kernels
#' @export
kernel_composition <- function(...) {
  if (...length() > 0 && is.null(names(list(...))) && is_one_of(..1, ..1)) {
    gps_abort(paste("kernel_composition() is one kernel, of no arguments. Others are sums and",
                    "products of terms: kernel_rbf() + kernel_white()."))
  }
  refuse_unknown(further(...), names(formals(kernel_composition)))
  new_kernel(kernel_rbf()$terms, kernel_linear()$terms, kernel_bias()$terms, kernel_white()$terms)
}

#' A covariance function of your own, in R
#'
#' `kernel_custom()` makes a kernel term of R functions. It can be added to other terms, and used in
#' [gp_fit()] and [selector_gp()] with the methods that ask for nothing but values at pairs of
#' points, `"exact"` and `"divide"` (`"auto"` takes `"exact"`); the others refuse it.
#'
#' `value(x, z, parameters)` gets points as rows, `x` n x D and `z` m x D, and the parameters as a
#' named vector, and returns the n x m matrix \eqn{k(x_i, z_j)}{k(x_i, z_j)}. It has to be a
#' covariance function: symmetric and positive semidefinite, which is tested as far as symmetry on a
#' few points. `gradient(x, z, parameters)` returns a list with the parameters' names of n x m
#' matrices, the derivatives \eqn{\partial k(x_i, z_j) / \partial p}{dk(x_i, z_j) / dp} by the
#' parameters themselves, which is tested by differences on a few points. Without it, central
#' differences take two values a parameter.
#'
#' All parameters are positive, and their logarithms are learned, within a factor of 1e4 of where
#' they start; `coef()` calls them `log_custom_` and their name. A parameter that may have either
#' sign is the logarithm of one inside `value`.
#'
#' In [gp_fit()] the points are those of `x`, in their own units. A learned selection sees data in
#' units of their size (divided by one number, for some models less a centre), so there a parameter
#' that is a length starts best near 1.
#' @section What is stored:
#' The functions with the variables and helper functions that they use, as they are when the kernel
#' is made, and with nothing else of where they were made; what packages define is found in them.
#' @param value function of (x, z, parameters), see below.
#' @param gradient function of (x, z, parameters), or NULL.
#' @param parameters named positive numbers to start from, or NULL for a function without any.
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return A `gps_kernel`, see [kernels].
#' @references Rasmussen and Williams (2006) *Gaussian Processes for Machine Learning*, section 4.2,
#'   says which functions are covariance functions.
#' @seealso [kernels] for the built-in ones.
#' @concept covariance function
#' @concept kernel
#' @examples
#' # A random walk that begins at 0: k(x, z) = s min(x, z).
#' walk <- kernel_custom(function(x, z, parameters) {
#'   parameters[["variance"]] * outer(x[, 1], z[, 1], pmin)
#' }, parameters = c(variance = 1))
#' x <- 1:30
#' set.seed(1)
#' gp_fit(x, cumsum(rnorm(30)), walk + kernel_white(0.1))
#' @export
kernel_custom <- function(value, gradient = NULL, parameters = c(variance = 1), ...) {
  refuse_unknown(further(...), names(formals(kernel_custom)))
  need_given()
  if (!is.function(value)) abort_value(value, "value", "a function of (x, z, parameters)")
  if (!is.null(gradient) && !is.function(gradient)) {
    abort_value(gradient, "gradient", "NULL or a function of (x, z, parameters)")
  }
  check_takes(value, "value", c("x", "z", "parameters"))
  if (!is.null(gradient)) check_takes(gradient, "gradient", c("x", "z", "parameters"))
  functions <- carry_functions(list(value = value, gradient = gradient))
  new_kernel(new_custom(functions, parameters))
}

#' @param e1,e2 Kernels; of a product one may be a positive number.
#' @rdname kernels
#' @export
`+.gps_kernel` <- function(e1, e2) {
  refuse_no_kernel(e1, if (!missing(e2)) e2, "+")
  if (missing(e2)) return(e1)
  check_summand(e1)
  check_summand(e2)
  new_kernel(check_kernel(e1, "e1")$terms, check_kernel(e2, "e2")$terms)
}

#' @rdname kernels
#' @export
`*.gps_kernel` <- function(e1, e2) {
  refuse_no_kernel(e1, e2, "*")
  sides <- list(e1 = e1, e2 = e2)
  sides <- Map(function(side, arg) {
    if (inherits(side, "gps_kernel")) check_kernel(side, arg) else kernel_bias(check_scale(side))
  }, sides, names(sides))
  new_kernel(unlist(lapply(sides$e1$terms, function(one) {
    lapply(sides$e2$terms, multiply_terms, one = one)
  }), recursive = FALSE))
}

# Other objects of the package have the same methods, so that R calls them where one of two is a
# kernel; where none is, these are no operators of theirs.
refuse_no_kernel <- function(e1, e2, operator) {
  if (inherits(e1, "gps_kernel") || inherits(e2, "gps_kernel")) return(invisible())
  own <- if (is.object(e1) && is.list(e1)) e1 else e2
  is_fit <- inherits(own, c("gps_fit", "gp_fit"))
  gps_abort(sprintf("`%s` is not for %s: it makes kernels of kernels.%s", operator,
                    describe_value(own), if (is_fit) " coef(fit) has its numbers." else ""))
}

# What is added to a kernel.
check_summand <- function(x) {
  if (is.numeric(x)) {
    gps_abort(sprintf(paste("A kernel cannot be added to %s. A constant is kernel_bias(%s), noise",
                            "is kernel_white(%s)."), describe_value(x), shown_scale(x),
                      shown_scale(x)))
  }
  check_class(x, "+", "gps_kernel", "between two kernels")
}

# The number that a kernel is multiplied by.
check_scale <- function(x) {
  x <- plain_numbers(x)
  if (!is.numeric(x)) check_class(x, "*", "gps_kernel", "between a kernel and a kernel or number")
  if (!is_number(x) || !is.finite(x) || x <= 0) {
    gps_abort(sprintf(paste("A kernel can be multiplied by one finite number above 0, which scales",
                            "its variance, or by another kernel, not by %s."), describe_value(x)))
  }
  as.double(x)
}

shown_scale <- function(x) if (is_number(x) && x > 0) describe_value(x) else "variance"

# The product of two terms, whose variances go into one: that of its first factor.
multiply_terms <- function(one, other) {
  if (one$type == "bias") return(scale_term(other, one$variance))
  if (other$type == "bias") return(scale_term(one, other$variance))
  refuse_factor(one)
  refuse_factor(other)
  factors <- term_factors(other)
  has_scales <- factors[[1]]$type == "linear" && factors[[1]]$ard
  if (!has_scales) {
    one <- scale_term(one, factors[[1]]$variance)
    factors[[1]]$variance <- NULL
  }
  list(type = "product", factors = c(term_factors(one), factors))
}

scale_term <- function(term, by) {
  if (is_product(term)) {
    term$factors[[1]] <- scale_term(term$factors[[1]], by)
    return(term)
  }
  refuse_scaled(term)
  term$variance <- term$variance * by
  term
}

refuse_factor <- function(term) {
  if (term$type == "white") {
    gps_abort(paste(
      "kernel_white() cannot be multiplied by a kernel: it is noise of the data points, not a",
      "function of where they are. Add it after the product:",
      "kernel_rbf() * kernel_periodic() + kernel_white()."
    ))
  }
  refuse_scaled(term, "A kernel_custom() cannot be multiplied by a kernel")
}

refuse_scaled <- function(term, what = "A kernel_custom() cannot be multiplied by a number") {
  if (term$type == "custom") {
    gps_abort(paste0(what, ": `value` can multiply, with the derivatives in `gradient`."))
  }
}

# The rest of arithmetic: not what a list makes of it.
#' @export
Ops.gps_kernel <- function(e1, e2) {
  cure <- switch(.Generic, "==" = , "!=" = " To compare two, use identical().",
                 "/" = " To divide by 2, multiply by 0.5: 0.5 * kernel.",
                 "^" = " A square is a product: kernel * kernel.", "")
  gps_abort(sprintf(
    "`%s` is not defined for kernels: they can be added and multiplied, as in %s.%s", .Generic,
    "kernel_rbf() * kernel_periodic() + kernel_white()", cure
  ))
}

#' @param object,x A kernel.
#' @rdname kernels
#' @export
coef.gps_kernel <- function(object, ...) {
  refuse_unknown(further(...), character())
  object <- check_kernel(object, "object")
  kernel_theta(object, kernel_dims(object))
}

#' @rdname kernels
#' @export
format.gps_kernel <- function(x, ...) {
  refuse_shown(further(...))
  x <- check_kernel(x, "x")
  vapply(x$terms, function(term) {
    parts <- unlist(lapply(term_factors(term), format_factor, is_alone = !is_product(term)))
    sprintf("%s: %s", term_label(term), paste(parts, collapse = "; "))
  }, "")
}

# "variance 1", "lengthscales 1, 2": a word and its values; in a product, whose they are.
format_factor <- function(factor, is_alone) {
  row <- kernel_types[[factor$type]]
  show <- function(value) {
    if (is.null(value)) return("median distance")
    shown <- format(utils::head(value, 4), digits = 3, trim = TRUE, decimal.mark = ".")
    if (length(value) > 4) shown <- c(shown, "...")
    paste(shown, collapse = ", ")
  }
  if (factor$type == "custom") {
    return(sprintf("%s %s", names(factor$parameters), vapply(factor$parameters, show, "")))
  }
  vapply(intersect(names(row$names), names(factor)), function(part) {
    is_several <- factor$ard && part %in% row$each && part != "variance"
    owner <- if (!is_alone && part != "variance") paste0(row$label, " ") else ""
    sprintf("%s%s%s %s", owner, part, if (is_several) "s" else "", show(factor[[part]]))
  }, "", USE.NAMES = FALSE)
}

#' @rdname kernels
#' @export
print.gps_kernel <- function(x, ...) {
  refuse_shown(further(...))
  lines <- format(x)
  cat(if (length(lines) > 1) "Sum of kernels\n" else "Kernel\n")
  cat(paste0(unlist(lapply(lines, wrap_text, "  ", 4)), "\n"), sep = "")
  invisible(x)
}
