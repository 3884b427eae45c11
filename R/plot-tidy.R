# Figures of a fit for those who draw with package ggplot2, which need not be there.

#' @rdname fit-tidy
#' @exportS3Method ggplot2::autoplot
autoplot.gps_fit <- function(object, which = NULL, ...) {
  refuse_unknown(list(...), "which")
  require_package("ggplot2", "autoplot()")
  object <- check_fit(object)
  if (is.null(which)) which <- if (is_mixture(object)) "clusters" else "bound"
  which <- check_choice(which, "which", names(tidy_figures))
  tidy_figures[[which]](object)
}

# Names of columns as aesthetics.
aes_of <- function(...) do.call(ggplot2::aes, lapply(list(...), as.name))

tidy_figures <- list(
  bound = function(fit) {
    trace <- fit$trace[fit$trace$start == 0, ]
    if (nrow(trace) == 0) abort_untraced()
    trace$bound <- trace$bound / fit_weight(fit)
    ggplot2::ggplot(trace, aes_of(x = "iteration", y = "bound")) + ggplot2::geom_line() +
      ggplot2::labs(y = bound_label, title = "Main run")
  },
  selection = function(fit) {
    need_slots(fit, "The figure \"selection\"")
    on <- component_usage(fit) / count_observations(fit)
    order <- order(-on)
    data <- data.frame(latent = factor(order, order), share = on[order])
    ggplot2::ggplot(data, aes_of(x = "latent", y = "share")) + ggplot2::geom_col() +
      ggplot2::labs(x = ranked_label(fit), y = "share of data points",
                    title = sprintf("How often each %s is on", choice_word(fit$model)))
  },
  clusters = function(fit) {
    need_gaussian_mixture(fit)
    y <- need_matrix(fit, "The figure \"clusters\"")
    if (nrow(y) == 1) gps_abort("The figure \"clusters\" in one dimension is drawn by plot(fit).")
    plane <- choose_plane(fit, y)
    at <- crossprod(plane$axes, y - plane$centre) + plane$shift
    data <- data.frame(x = at[1, ], y = at[2, ],
                       cluster = factor(stats::predict(fit, type = "class")))
    ggplot2::ggplot(data, aes_of(x = "x", y = "y", colour = "cluster", shape = "cluster")) +
      ggplot2::geom_point() + ggplot2::labs(x = plane$labels[1], y = plane$labels[2]) +
      ggplot2::scale_colour_manual(values = cluster_ink(seq_len(fit$model$n_latents))) +
      ggplot2::scale_shape_manual(values = cluster_symbol(seq_len(fit$model$n_latents)))
  }
)
