# Fits of the same data side by side.

#' Compare fits of the same data
#'
#' Puts fits side by side: their bounds, what these cost in parameters, and how well they predict
#' data points that they have not seen.
#'
#' @details There is no method of [stats::anova()]: twice the difference of two log likelihoods has
#' a chi-squared distribution for nested models with a regular likelihood only, which mixtures and
#' sparse coding models have not (a latent without weight leaves its other parameters undetermined),
#' and a truncated bound is no likelihood. What compares fits are `BIC` and, of mixtures, `ICL`
#' (smaller is better; differences above 10 are very strong evidence, Raftery 1995, *Bayesian model
#' selection in social research*), and best of all data points held out: `held_out` is the mean over
#' the rows of `newdata` of \eqn{\log p(y_n)}{log p(y_n)}, or of the bound on it, in nats a data
#' point; larger is better. `difference` is by how much a fit is below the best one, and `se` the
#' standard error of that mean over the rows, which are the same for all fits:
#' \eqn{sd(\log p_1(y_n) - \log p_2(y_n)) / \sqrt n}{sd(log p_1(y_n) - log p_2(y_n)) / sqrt(n)}.
#'
#' Bounds can be compared where the data are the same, so fits of other data are refused, and so are
#' models of counts or of zeros and ones beside models of numbers: theirs are probabilities, and the
#' others densities, which depend on the unit of the data. Of a fit that has not kept its data
#' (`gps_control(keep_data = FALSE)`), or that has them in a source, the numbers cannot be compared:
#' what is compared are then the sizes of the data, their names, the number of missing cells and the
#' weights. `print()` says which fits these are; that their data are the same is up to you.
#' @param ... two or more fits, as made by [gps_fit()], or one list of them. Names are those of the
#'   arguments, else what was written.
#' @param newdata NULL, or data points that no fit has seen, as in [predict.gps_fit()].
#' @return a data frame of class `gps_fits` with one row for each fit: `fit`, its name; `model`;
#'   `n_latents`, `n_selected`, `bound`, `df` (free parameters), `AIC`, `BIC`, `ICL` (NA but for
#'   mixtures whose slots were kept), `degenerate` (whether the likelihood has no maximum, so that
#'   the criteria mean nothing, see [gps_fit()]), and with `newdata` `held_out`, `difference` and
#'   `se`. Its attribute `unchecked` has the names of fits whose data could not be compared.
#' @seealso [gps_choose()] for the number of latents, [compare_selectors()] for selectors.
#' @examples
#' set.seed(1)
#' train <- sample(150, 100)
#' fit <- function(covariance) {
#'   gps_fit(iris[train, 1:4], model_gaussian_mixture(3, covariance), selector_full(),
#'           control = gps_control(n_starts = 2, progress = FALSE))
#' }
#' gps_compare(full = fit("full"), tied = fit("tied"), newdata = iris[-train, 1:4])
#' @export
gps_compare <- function(..., newdata = NULL) {
  written <- as.list(substitute(list(...)))[-1]
  fits <- list(...)
  is_list <- length(fits) == 1 && is.list(fits[[1]]) && !is.object(fits[[1]])
  if (is_list) fits <- written <- fits[[1]]
  names <- name_fits(names(fits), if (is_list) seq_along(fits) else written)
  fits <- check_fits(fits, names)
  rows <- lapply(fits, compare_row)
  table <- cbind(data.frame(fit = names), do.call(rbind, rows))
  if (!is.null(newdata)) table <- cbind(table, compare_held_out(fits, newdata))
  row.names(table) <- NULL
  structure(table, unchecked = names[is_unchecked(fits)], class = c("gps_fits", "data.frame"))
}

# Names as given, else as written, no two alike.
name_fits <- function(given, written) {
  short <- vapply(written, function(x) {
    text <- paste(deparse(x), collapse = " ")
    if (is.language(x) && nchar(text) <= 30) text else ""
  }, "")
  if (!is.null(given)) short[nzchar(given)] <- given[nzchar(given)]
  short[!nzchar(short)] <- paste("fit", which(!nzchar(short)))
  make.unique(unname(short), " ")
}

check_fits <- function(fits, names) {
  is_fit <- vapply(fits, inherits, NA, "gps_fit")
  if (!all(is_fit)) {
    name <- names(fits)[which(!is_fit)[1]]
    if (isTRUE(nzchar(name))) refuse_unknown(fits[!is_fit], c("...", "newdata"))
    abort_value(fits[[which(!is_fit)[1]]], "...", "fits, as made by gps_fit(), or one list of them")
  }
  if (length(fits) < 2) {
    gps_abort(paste("gps_compare() needs two fits or more, by one another or in a list;",
                    "summary() tells of one."))
  }
  fits <- lapply(fits, check_fit)
  # Every pair, since one that has not kept its data says nothing of two others.
  for (k in seq_along(fits)[-1]) {
    for (i in seq_len(k - 1)) refuse_other_data(fits[[i]], fits[[k]], names[c(i, k)])
  }
  fits
}

# How the data of two fits differ, NULL where they do not, as far as the fits know.
tell_other_data <- function(one, two) {
  two <- in_order_of(one, two)
  size <- function(fit) c(fit$n_points, fit$model$n_dims)
  n_missing <- function(fit) if (is.null(fit$n_missing)) 0 else fit$n_missing
  if (!identical(as.double(size(one)), as.double(size(two)))) {
    sprintf("%s and %s numbers", shown_dim(size(one)), shown_dim(size(two)))
  } else if (!identical(as.double(one$weights), as.double(two$weights))) {
    "their data points have other weights"
  } else if (n_missing(one) != n_missing(two)) {
    sprintf("%.0f and %.0f missing cells", n_missing(one), n_missing(two))
  } else if (is.matrix(one$y) && is.matrix(two$y)) {
    if (!identical(one$y, two$y)) "their numbers differ"
  } else if (differ_in_marks(one$marks, two$marks)) {
    "their numbers differ in mean, spread or range"
  } else if (differ(one$col_names, two$col_names)) {
    "their columns have other names"
  } else if (differ(one$row_names, two$row_names)) {
    "their data points have other names"
  }
}

# The fit `two` with its data's columns in the order that they have in `one`, where names tell.
in_order_of <- function(one, two) {
  place <- match(one$col_names, two$col_names)
  has_all <- length(place) == length(two$col_names) && !anyNA(place) && anyDuplicated(place) == 0
  if (!has_all || identical(one$col_names, two$col_names)) return(two)
  two$col_names <- two$col_names[place]
  if (is.matrix(two$y)) two$y <- two$y[place, , drop = FALSE]
  two
}

# Names differ where both are there.
differ <- function(one, two) !is.null(one) && !is.null(two) && !identical(one, two)

# Fits whose numbers cannot be compared with those of the others: the data were not kept, or stand
# in a source, unless all have the same one.
is_unchecked <- function(fits) {
  has_same <- !is.null(fits[[1]]$y) &&
    all(vapply(fits, function(fit) identical(fit$y, fits[[1]]$y), NA))
  if (has_same) return(rep(FALSE, length(fits)))
  !vapply(fits, function(fit) is.matrix(fit$y), NA, USE.NAMES = FALSE)
}

refuse_other_data <- function(one, two, names) {
  differs <- tell_other_data(one, two)
  if (!is.null(differs)) {
    gps_abort(sprintf(paste(
      "Fits %s and %s are of different data (%s): bounds, AIC and BIC compare fits of the same",
      "data points in the same order."
    ), quoted(names[1]), quoted(names[2]), differs))
  }
  is_discrete <- vapply(list(one, two), function(fit) !is.null(data_rule(fit$model)), NA)
  if (is_discrete[1] != is_discrete[2]) {
    gps_abort(sprintf(paste(
      "Fits %s and %s cannot be compared: one has probabilities of counts, the other densities of",
      "numbers, which depend on the unit of the data."
    ), quoted(names[1]), quoted(names[2])))
  }
}

compare_row <- function(fit) {
  data.frame(model = fit$model$name, n_latents = count_choices(fit$model),
             n_selected = fit$n_selected, bound = fit$bound, fit_criteria(fit),
             degenerate = length(fit$standing$degenerate) > 0)
}

compare_held_out <- function(fits, newdata) {
  logs <- vapply(fits, function(fit) as.vector(stats::predict(fit, newdata, type = "loglik")),
                 numeric(n_points(read_data(newdata, "newdata", may_miss = TRUE)$y)))
  logs <- matrix(logs, ncol = length(fits))
  mean <- colMeans(logs)
  below <- logs[, which.max(mean)] - logs
  error <- apply(below, 2, stats::sd) / sqrt(nrow(logs))
  data.frame(held_out = mean, difference = colMeans(below), se = error)
}

describe_same <- function(n, unchecked) {
  if (length(unchecked) == 0) return(sprintf("%s of the same data", plural(n, "fit")))
  sprintf(paste("%s, taken to be of the same data: sizes, names, missing cells and weights agree,",
                "but %s no numbers to compare"), plural(n, "fit"),
          paste(paste(quoted(unchecked), collapse = ", "),
                if (length(unchecked) == 1) "has" else "have"))
}

#' @export
plot.gps_fits <- function(x, ...) {
  gps_abort(paste("A comparison of fits has no figure: plot() each fit, or draw a column, such as",
                  "barplot(x$BIC, names.arg = x$fit). plot() of gps_choose() draws a criterion."))
}

#' @export
print.gps_fits <- function(x, ...) {
  refuse_shown(list(...))
  need_made(is.data.frame(x) && all(c("fit", "bound", "BIC", "ICL", "degenerate") %in% names(x)),
            "x", "gps_compare()")
  say(describe_same(nrow(x), attr(x, "unchecked")))
  shown <- as.data.frame(x)
  class(shown) <- "data.frame"
  if (length(unique(shown$model)) == 1) shown$model <- NULL
  if (all(is.na(shown$ICL))) shown$ICL <- NULL
  if (!any(shown$degenerate)) shown$degenerate <- NULL
  # A table that is wider than the page goes on below with the names of its rows.
  row.names(shown) <- make.unique(as.character(shown$fit))
  print(shown[names(shown) != "fit"], digits = 6)
  sound <- which(!x$degenerate)
  if (length(sound) > 0) {
    best <- sound[which.min(x$BIC[sound])]
    cat(sprintf("Smallest BIC: %s.%s\n", x$fit[best],
                if (length(sound) < nrow(x)) " Those of degenerate fits are what floors make." else
                  ""))
  }
  if (!is.null(x$held_out)) {
    cat(sprintf("Best on the data points held out: %s, in nats a data point.\n",
                x$fit[which.max(x$held_out)]))
  }
  invisible(x)
}
