# Clusters as labels: how well they are told apart, and in which order they stand.

#' Integrated completed likelihood
#'
#' A criterion for the number of clusters that asks for clusters which can be told apart, where
#' `BIC()` asks for a density that fits: two overlapping normal distributions that make one cluster
#' of another shape are two for BIC and mostly one for ICL (Biernacki, Celeux and Govaert 2000,
#' Assessing a mixture model for clustering with the integrated completed likelihood, *IEEE
#' Transactions on Pattern Analysis and Machine Intelligence* 22).
#'
#' @details `icl(fit) = BIC(fit) - 2 sum_n log max_c p(c | y_n)`: the BIC of the data together with
#' the labels of `predict(fit, type = "class")`. It has the sign of [stats::BIC()], so that *smaller
#' is better*. The value that `icl()` of package mclust gives of the same model is this one times
#' -1, and larger is better there. Where clusters are selected for each point, probabilities are
#' those among the selected ones, and both criteria are by the bound.
#'
#' Where package mclust is loaded, its `icl()` takes fits of this package, too, with the sign above,
#' and this one its fits, with its sign.
#' @param object a fit of a mixture, as made by [gps_fit()], with its slots
#'   (`gps_control(keep_slots = TRUE)`).
#' @param ... nothing; an unknown argument is an error.
#' @return a number; the smaller of two for the same data is of the better fit.
#' @seealso [gps_choose()], [predict.gps_fit()] with `type = "uncertainty"`
#' @concept model selection
#' @concept information criterion
#' @examples
#' set.seed(1)
#' y <- simulate_clusters(150)$y
#' fit <- gps_fit(y, model_gaussian_mixture(3), selector_full())
#' c(BIC = BIC(fit), ICL = icl(fit))
#' @export
icl <- function(object, ...) {
  need_given()
  UseMethod("icl")
}

#' @rdname icl
#' @export
icl.gps_fit <- function(object, ...) {
  refuse_unknown(further(...), character())
  object <- check_fit(object)
  if (!is_one_hot(object)) {
    gps_abort(paste("icl() is for mixtures, of which one cluster is on in each point: other models",
                    "have BIC(fit)."))
  }
  fit_icl(object, fit_bound(object))
}

# The ICL of a checked fit of a mixture with its `bound`.
fit_icl <- function(fit, bound) {
  slots <- need_slots(fit, "icl()")
  stats::BIC(bound) - 2 * sum(weigh(log1p(-pmin(doubt_of(slots$prob_on), 1)), fit$weights))
}

# What fits are compared by, of a checked fit; the ICL is NA where it has none.
fit_criteria <- function(fit) {
  bound <- fit_bound(fit)
  has_icl <- is_one_hot(fit) && !is.null(fit$selected)
  list(df = attr(bound, "df"), AIC = stats::AIC(bound), BIC = stats::BIC(bound),
       ICL = if (has_icl) fit_icl(fit, bound) else NA_real_)
}

#' @export
icl.default <- function(object, ...) {
  other <- if (isNamespaceLoaded("mclust")) {
    utils::getS3method("icl", class(object)[1], optional = TRUE, envir = asNamespace("mclust"))
  }
  if (is.null(other)) abort_value(object, "object", "a fit of a mixture, as made by gps_fit()")
  other(object, ...)
}

#' Put the latents of a fit in another order
#'
#' The numbers of clusters and of other latents mean nothing; this gives them a meaning, such as
#' that the first cluster is the largest. The fit is the same one otherwise, and predicts the same.
#' One that samples its states ([model_max_spike_slab()], and others with `method = "gibbs"` of
#' [gps_control()]) draws other random numbers for latents in another order: of new data, and where
#' anything but what the fit has stored is computed anew, it predicts the same only up to the noise
#' of its samples.
#'
#' @param fit a fit, as made by [gps_fit()], of a model whose latents have no places.
#' @param order NULL for the most used first, by the expected number of data points in which each is
#'   on; or the old numbers of the latents in their new order, a permutation of 1..H, or their
#'   names.
#' @param ... nothing; an unknown argument is an error.
#' @return the fit, of class `gps_fit`, with parameters, selected latents and probabilities in the
#'   new order. Its `trace` is as it was.
#' @seealso [match_components()]
#' @concept label switching
#' @examples
#' set.seed(1)
#' y <- simulate_clusters(150)$y
#' fit <- gps_fit(y, model_gaussian_mixture(3), selector_full())
#' coef(order_latents(fit))$pi
#' table(predict(fit, type = "class"), predict(order_latents(fit), type = "class"))
#' @export
order_latents <- function(fit, order = NULL, ...) {
  refuse_unknown(further(...), "order")
  need_given()
  fit <- check_fit(fit)
  refuse_places(fit$model, "order_latents()")
  if (!is.null(fit$memory)) {
    gps_abort("order_latents() cannot put in order what a selector of your own has learned.")
  }
  n_latents <- fit$model$n_latents
  if (is.null(order)) order <- base::order(-component_usage(fit))
  reorder_fit(fit, check_order(order, n_latents, fit$latent_names))
}

# The old numbers in a new order, given as such or by the names of latents.
check_order <- function(order, n_latents, names) {
  given <- order
  if (is.character(order)) {
    if (is.null(names)) {
      gps_abort(paste("`order` has names, but the fit's latents have none: give their numbers, or",
                      "name them where the fit is made, by the columns of `start`."))
    }
    order <- match(order, names)
    if (anyNA(order)) {
      absent <- given[is.na(order)][1]
      near <- nearest_name(absent, names)
      gps_abort(sprintf("`order`: the fit has no latent %s.%s", quoted(absent),
                        if (is.null(near)) "" else sprintf(" Did you mean %s?", quoted(near))))
    }
  }
  if (is.numeric(order) && length(order) == n_latents && setequal(order, seq_len(n_latents))) {
    return(as.integer(order))
  }
  abort_value(given, "order", sprintf("a permutation of 1..%d%s", n_latents,
                                      if (is.null(names)) "" else ", or of the latents' names"))
}

reorder_fit <- function(fit, order) {
  model <- fit$model
  for (name in names(fit$params)) {
    axes <- model$params[[name]]
    is_of_latents <- axes %in% c("latents", "probs") &
      dimension_sizes(model)[axes] == length(order)
    for (axis in which(is_of_latents)) {
      fit$params[[name]] <- take_along(fit$params[[name]], axis, order)
    }
  }
  if (!is.null(fit$selected)) {
    slots <- relabel_slots(fit, base::order(order))
    for (name in per_point) fit[name] <- list(slots[[name]])
  }
  if (!is.null(fit$gp$cross)) fit$gp$cross <- fit$gp$cross[, order, drop = FALSE]
  if (!is.null(fit$latent_names)) fit$latent_names <- fit$latent_names[order]
  if (is.null(fit$standing)) return(fit)
  usage <- component_usage(fit)
  found <- list(n_points = count_counted(fit), usage = usage, names = fit$col_names,
                far = fit$standing$far)
  fit$standing$degenerate <- c(character(), find_degenerate(model, fit$params, found))
  fit$standing$unused <- setdiff(which(usage < 1), emptied_latents(model, fit$params))
  fit
}
