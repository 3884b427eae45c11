# Which figures a fit has, and what is said to who asks for another.

# The figures that there are of a fit, of `all` by their names.
figures_of <- function(fit, all) {
  is_learned <- inherits(fit$selector, "gps_selector_gp")
  has <- c(components = has_components(fit), kernel = is_learned, clusters = is_mixture(fit),
           entropy = is_one_hot(fit), scene = has_images(fit$model),
           functions = is_mixture(fit) && fit$model$n_dims == 2 && is_learned)
  setdiff(all, names(has)[!has])
}

# Figures that other fits have are refused in words of their own, where they are drawn.
check_figures <- function(which, fit, all) {
  is_known <- is.character(which) && length(which) > 0 && is.null(dim(which)) &&
    all(which %in% all)
  if (is_known) return(invisible())
  bad <- if (is.character(which) && length(which) > 0) which[!which %in% all][1] else
    which
  own <- figures_of(fit, all)
  gps_abort(sprintf("`which` must be one of %s, not %s.%s", paste(quoted(own), collapse = ", "),
                    describe_value(bad), advise_figure(bad, own)))
}

# What is meant by another value than the name of a figure: a sentence after a space, or "".
advise_figure <- function(x, own) {
  if (inherits(x, c("gps_fit", "gps_fits")) || is.list(x) && !is.data.frame(x)) {
    return(" Another fit is drawn beside: plot(fit, beside = other).")
  }
  if (is.numeric(x) && is.null(dim(x))) return(" Figures have names.")
  if (is_given_data(x) && !is.character(x)) {
    return(paste(" A figure is of the fit's own data, and has a name; true components are given as",
                 "`truth`."))
  }
  if (!is_line(x)) return("")
  if (x == "all") {
    return(sprintf(" Several are named one by one: which = c(%s).",
                   paste(quoted(own), collapse = ", ")))
  }
  if (x %in% c("BIC", "ICL", "AIC", "bic", "silhouette", "wss", "gap")) {
    return(" plot(gps_choose(y, model, numbers)) draws criteria over numbers of latents.")
  }
  meant <- meant_value(x, own)
  if (is.null(meant)) "" else sprintf(" Did you mean %s?", quoted(meant))
}

# Whether there is something to show of each latent or component.
has_components <- function(fit) {
  has_images(fit$model) || !is.null(component_values(fit$model, fit$params))
}
