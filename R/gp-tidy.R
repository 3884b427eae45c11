# Gaussian processes as data frames, for package generics, which need not be there.

#' @rdname fit-tidy
#' @exportS3Method generics::tidy
tidy.gp_fit <- function(x, ...) {
  refuse_unknown(further(...), character(), is_gp = TRUE)
  check_gp_fit(x, "x")
  data.frame(term = names(x$theta), estimate = unname(x$theta), value = exp(unname(x$theta)))
}

#' @rdname fit-tidy
#' @exportS3Method generics::glance
glance.gp_fit <- function(x, ...) {
  refuse_unknown(further(...), character(), is_gp = TRUE)
  likelihood <- stats::logLik(x)
  data.frame(method = x$method, n_dims = ncol(x$x), logLik = c(unclass(likelihood)),
             df = attr(likelihood, "df"), AIC = stats::AIC(likelihood),
             BIC = stats::BIC(likelihood), nobs = stats::nobs(x))
}

#' @rdname fit-tidy
#' @exportS3Method generics::augment
augment.gp_fit <- function(x, data = NULL, newdata = NULL, ...) {
  refuse_unknown(further(...), c("data", "newdata"), is_gp = TRUE)
  check_gp_fit(x, "x", points = TRUE)
  if (!is.null(data) && is.null(newdata)) refuse_other_points(x, data)
  shown <- if (!is.null(newdata)) newdata else if (!is.null(data)) data else
    data.frame(x$x, x$targets)
  shown <- as.data.frame(shown)
  found <- stats::predict(x, newdata)
  # One column a target; a single one needs no number.
  column <- function(name, values) {
    label <- if (ncol(values) == 1) name else paste0(name, "_", seq_len(ncol(values)))
    shown[label] <<- as.data.frame(unname(values))
  }
  column(".fitted", found$mean)
  shown$.se.fit <- sqrt(found$variance)
  if (is.null(newdata)) column(".resid", x$targets - found$mean)
  shown
}

# Points that are not those of the fit, in their order.
refuse_other_points <- function(fit, data) {
  points <- align_newdata(data, fit$x)
  if (!identical(unname(points), unname(fit$x))) {
    gps_abort("`data` are not those of the fit: they have other numbers. Give them as `newdata`.")
  }
}
