# Figures of a fit, in base graphics. Those of components are in plot-components.R, of the kernel in
# plot-kernel.R, of mixtures in plot-mixture.R, grids of images in plot-images.R.

#' Figures of a fit
#'
#' @param x a fit, as made by [gps_fit()].
#' @param which one or more of the figures below; NULL: "clusters" for a mixture in one or two
#'   dimensions, else "components".
#' @param truth NULL, or the true components as [match_components()] takes them, for the figure
#'   "components".
#' @param beside NULL, or another fit, or components as [match_components()] takes them, or a list
#'   of such, for the figure "components"; names of the list are titles.
#' @param point for models whose components have locations: number of the data point of the figures
#'   "scene" (there up to 6 points) and "affinity"; NULL: the first.
#' @param ... nothing; a misspelt name is an error.
#'
#' @details
#' * `"components"`: the columns of `W` (or the cluster means) as images, where the data were images
#'   or the number of dimensions is a square of at least 16 and columns have no names; else as a
#'   heat map of dimensions x components. The most used come first, with the share of data points in
#'   which each is on, or "out" where it has been emptied, see [gps_control()].
#'
#'   With `truth`, as in the paper's Figure 2: data points evenly spaced over the rows (less the
#'   intercept where the model has one), the learned
#'   components in the order of the true ones that [match_components()] assigns them to, with their
#'   |cosine|, and the true ones. A true component without a learned one stays blank; learned ones
#'   that are left over come last. Where the sign of a component is free (models with slabs), it is
#'   drawn as it agrees with the truth. Fits or components `beside` are drawn alike; without `truth`
#'   all are in the order of the fit's own, the most used first. Components that are no images are
#'   the columns of one picture.
#'
#'   Where components have locations, as in [model_occlusive()], one column a component, the most
#'   probable first: mask (black: 1), features, and features where the mask is above 0.5; above
#'   them the component's number and `pi`, pale where it is below 5 % (or 1 / K). Features of three
#'   channels are in colours, others grey (the mean of channels); black and white are the extremes
#'   of the background and of features with a mask above 0.5. With `truth`, objects or scenes,
#'   columns are in the order of the true objects, which stand below, with the cosine at the best
#'   shift. There is no `beside`.
#' * `"scene"`: models whose components have locations only, for each `point`: the data; the windows
#'   of the selected components in their colours, with wider lines where they are more probable,
#'   dashed below 5 %, on the other side where they leave the image; the reconstruction; and the
#'   owner of each pixel by its posterior, colours mixed where it is unsure, white for the
#'   background and clutter.
#' * `"bound"`: the bound, divided by the number of data points, in the short starts and in the main
#'   run; there also when the kernel's hyper-parameters were learned anew and when explorers
#'   stopped.
#' * `"kernel"`: learned selectors only: the share that each term of the kernel has in its variance
#'   at the data, the mean of \eqn{k(y_n, y_n)}{k(y_n, y_n)}, over the EM iterations; for a linear
#'   term the variance times the mean of \eqn{|y|^2}{|y|^2}. What is less than 0.001 % stands there.
#'   Refits are marked; the short starts share one kernel, and the iterations of the chosen one come
#'   before those of the main run.
#' * `"affinity"`: does the selector rank well? The posterior probability of being on, and the share
#'   of latents selected, against the affinity on the fit's data, averaged over pairs of point and
#'   latent in 20 bins of equal width, of which empty ones are left out. Where components have
#'   locations instead: the affinity at all places for the most probable components of one `point`.
#' * `"selection"`: how often each latent is selected and is on; and the distribution over the data
#'   points of the expected number of active latents (for clusters: of the largest responsibility).
#' * `"clusters"`: mixtures only: data points by their most probable cluster, with ellipses of one
#'   and two standard deviations; the first two principal components, at one scale, where there are
#'   more than two dimensions, a histogram with densities where there is one.
#' * `"functions"`: mixtures in two dimensions with a learned selector: the regression function of
#'   each cluster over the plane, as in the paper's Figure 3; the 12 most used, or as many as have
#'   room, where there are more.
#'
#' Graphical parameters are put back. "bound", "selection" and "functions" have several panels and
#' fill the page.
#' @return the fit, invisibly.
#' @examples
#' set.seed(1)
#' bars <- simulate_bars(200, value = 5)
#' fit <- gps_fit(bars$y, model_binary_sparse(10), selector_handcrafted(), n_selected = 5,
#'                control = gps_control(max_iter = 20, n_starts = 2))
#' plot(fit)
#' plot(fit, truth = bars)
#' plot(fit, which = "bound")
#' @export
plot.gps_fit <- function(x, which = NULL, truth = NULL, beside = NULL, point = NULL, ...) {
  refuse_unknown(list(...), c("which", "truth", "beside", "point"))
  x <- check_fit(x)
  if (!is.null(x$selected)) need_slots(x, "plot()")
  is_plane <- is_mixture(x) && x$model$n_dims <= 2 && !is.null(x$y) && !is.null(x$selected)
  is_compared <- !is.null(truth) || !is.null(beside)
  if (is.null(which)) {
    which <- if (is_plane && !is_compared) "clusters" else
      if (is_compared || has_components(x)) "components" else "bound"
  }
  which <- vapply(which, check_choice, "", arg = "which", choices = names(figures))
  if (length(which) > 1 && grDevices::dev.interactive() &&
        length(which) > prod(graphics::par("mfrow"))) {
    old <- grDevices::devAskNewPage(TRUE)
    on.exit(grDevices::devAskNewPage(old))
  }
  if (is_compared && !"components" %in% which) {
    gps_abort("`truth` and `beside` are for the figure \"components\".")
  }
  has_places <- is_placed(x$model)
  if (has_places && !is.null(beside)) {
    gps_abort("`beside` is not for models whose components have locations: plot each fit.")
  }
  if (!is.null(point) && !any(which %in% c("scene", if (has_places) "affinity"))) {
    gps_abort(paste("`point` is for the figure \"scene\", and where components have locations",
                    "\"affinity\"."))
  }
  x <- without_gaps(x)
  for (name in which) {
    if (has_places && name %in% names(place_figures)) {
      place_figures[[name]](x, truth, point)
    } else if (name == "components" && is_compared) {
      draw_comparison(x, truth, beside)
    } else {
      figures[[name]](x)
    }
  }
  invisible(x)
}

# The fit with data points that can be drawn whole: cells without a value have what is expected
# there.
without_gaps <- function(fit) {
  if (is.null(fit$y) || !isTRUE(fit$n_missing > 0)) return(fit)
  fit$y <- t(matrix(stats::predict(fit, type = "imputed"), fit$n_points))
  fit$n_missing <- 0L
  fit
}

figures <- list(
  components = function(fit) draw_components(fit),
  bound = function(fit) draw_bound(fit),
  kernel = function(fit) draw_kernel(fit),
  affinity = function(fit) draw_affinity(fit),
  selection = function(fit) draw_selection(fit),
  clusters = function(fit) draw_clusters(fit),
  functions = function(fit) draw_functions(fit),
  scene = function(fit) draw_scenes(fit)
)

# Those that are others where components have locations.
place_figures <- list(
  components = function(fit, truth, point) draw_occlusive(fit, truth),
  affinity = function(fit, truth, point) draw_place_affinity(fit, point),
  scene = function(fit, truth, point) draw_scenes(fit, point)
)

# Fits of 0.1.0 do not say it.
rows_of_starts <- function(fit) {
  rows <- fit$starts$rows[1]
  if (is.null(rows)) min(count_counted(fit), start_rows) else rows
}

draw_bound <- function(fit) {
  trace <- fit$trace
  if (nrow(trace) == 0) gps_abort("The fit has no iterations to draw.")
  is_main <- trace$start == 0
  each <- fit_weight(fit) / count_counted(fit)
  trace$value <- trace$bound / (each * ifelse(is_main, count_counted(fit), rows_of_starts(fit)))
  starts <- split(trace[!is_main, ], trace$start[!is_main])
  panels <- c(if (length(starts) > 0) 2, if (any(is_main)) 3)
  with_par(list(mfrow = c(1, 1), mar = panel_margins + c(0, 1, 0, 0), cex = 1), {
    if (length(panels) == 2) graphics::layout(t(1:2), widths = panels)
    graphics::par(cex = 1)
    if (length(starts) > 0) draw_starts(starts, fit$starts$start[fit$starts$chosen])
    if (any(is_main)) draw_main_run(trace[is_main, ], if (length(starts) == 0) bound_label else "")
  })
}

bound_label <- "truncated free energy / data points (nats)"

# All starts, most of what comes after their first third; what lies below is cut off.
draw_starts <- function(starts, chosen) {
  values <- lapply(starts, `[[`, "value")
  ends <- vapply(values, function(value) value[length(value)], 1)
  late <- unlist(lapply(values, function(value) value[seq_along(value) > length(value) / 3]))
  ylim <- c(min(ends, stats::quantile(late, 0.25)), max(unlist(values)))
  ylim <- ylim + c(-0.05, 0.05) * max(diff(ylim), 1e-3 * abs(ylim[2]))
  open_panel(c(1, max(lengths(values))), ylim, "iteration", bound_label,
             "Short starts", yaxs = "i")
  for (start in starts) draw_run(start, "grey65", 1.5)
  for (start in starts[names(starts) %in% chosen]) draw_run(start, ink["blue"], 2.5)
  labels <- c("chosen", if (length(starts) > 1) sprintf("others (%d)", length(starts) - 1))
  top_legend(labels, col = c(ink["blue"], "grey65"), lwd = c(2.5, 1.5))
}

# A line; of one point a point.
draw_run <- function(run, colour, width) {
  graphics::lines(run$iteration, run$value, col = colour, lwd = width,
                  type = if (nrow(run) == 1) "p" else "l")
}

draw_main_run <- function(main, ylab) {
  limits <- range(main$value)
  limits <- limits + c(-0.5, 0.5) * max(0, 1e-4 * abs(limits[2]) - diff(limits))
  open_panel(range(main$iteration), limits, "iteration", ylab, "Main run")
  quiet <- main$iteration[main$explore == 0]
  has_polish <- length(quiet) > 0 && any(main$explore > 0)
  ground <- fade(ink["sky"], 0.2)
  usr <- graphics::par("usr")
  if (has_polish) {
    graphics::rect(min(quiet) - 0.5, usr[3], usr[2], usr[4], col = ground, border = NA)
  }
  draw_run(main, ink["blue"], 2.5)
  learned <- main[main$refit, ]
  graphics::points(learned$iteration, learned$value, pch = 24, bg = "white", col = ink["orange"],
                   lwd = 1.5)
  shown <- c(nrow(learned) > 0, has_polish)
  if (any(shown)) {
    top_legend(c("kernel learned", "without explorers")[shown], pch = c(24, 22)[shown],
               pt.bg = c("white", ground)[shown],
               col = c(ink["orange"], NA)[shown], pt.lwd = 1.5, pt.cex = c(1, 2)[shown])
  }
}

most_ranked <- 2000L
n_bins <- 20L

draw_affinity <- function(fit) {
  y <- need_data(fit, "The figure \"affinity\"")
  points <- unique(round(seq(1, fit$n_points, length.out = min(fit$n_points, most_ranked))))
  affinity <- gps_affinity(fit$selector, fit, as_given(y), points)
  if (all(affinity == affinity[1])) {
    gps_abort("The figure \"affinity\" needs a selector that ranks.")
  }
  n_latents <- fit$model$n_latents
  selected <- fit$selected[, points, drop = FALSE]
  posterior <- scatter_slots(selected, fit$prob_on[, points, drop = FALSE], n_latents)
  is_selected <- scatter_slots(selected, 1 + 0 * selected, n_latents)
  left <- setdiff(seq_len(n_latents), emptied_latents(fit$model, fit$params))
  affinity <- affinity[, left, drop = FALSE]
  posterior <- posterior[, left, drop = FALSE]
  is_selected <- is_selected[, left, drop = FALSE]
  bins <- bin_pairs(c(affinity), c(posterior), c(is_selected))
  is_learned <- inherits(fit$selector, "gps_selector_gp")
  xlab <- if (is_learned) "affinity (leave-one-out mean of the Gaussian process)" else "affinity"
  with_par(list(mar = panel_margins), {
    open_panel(range(affinity), c(-0.04, 1.04), xlab, "probability, share",
               "Affinity against the posterior")
    draw_pairs(affinity, posterior)
    if (is_learned) graphics::abline(0, 1, col = "grey50", lty = 2)
    graphics::lines(bins$affinity, bins$selected, type = "o", pch = 21, bg = "white",
                    col = ink["orange"], lwd = 2)
    graphics::lines(bins$affinity, bins$posterior, type = "o", pch = 21, bg = ink["blue"],
                    col = ink["blue"], lwd = 2)
    top_legend(c("posterior (mean of a bin)", "share selected", "pairs of point and latent",
                 if (is_learned) "equality"),
               col = c(ink[c("blue", "orange")], "grey50", "grey50"), lwd = c(2, 2, NA, 1),
               lty = c(1, 1, 0, 2),
               pch = c(21, 21, 16, NA), pt.bg = c(ink["blue"], "white", NA, NA),
               pt.cex = c(1, 1, 0.5, 1))
  })
}

# Means over bins of equal width: most pairs have an affinity of about 0, and bins of equally many
# pairs would nearly all stand there. Bins without a pair are left out.
bin_pairs <- function(affinity, posterior, selected) {
  place <- (affinity - min(affinity)) / diff(range(affinity))
  bin <- pmin(n_bins, 1 + floor(n_bins * place))
  mean_of <- function(x) as.vector(tapply(x, bin, mean))
  data.frame(affinity = mean_of(affinity), posterior = mean_of(posterior),
             selected = mean_of(selected))
}

# At most 4000 pairs, evenly spaced in the order of affinity; probabilities are moved a little
# apart, always alike.
draw_pairs <- function(affinity, posterior) {
  pairs <- order(affinity)
  pairs <- pairs[unique(round(seq(1, length(pairs), length.out = min(length(pairs), 4000))))]
  shift <- 0.06 * ((seq_along(pairs) * 0.618034) %% 1 - 0.5)
  graphics::points(affinity[pairs], posterior[pairs] + shift, pch = 16, cex = 0.4,
                   col = fade("black", 0.25))
}

draw_selection <- function(fit) {
  need_slots(fit, "The figure \"selection\"")
  n_latents <- count_choices(fit$model)
  on <- component_usage(fit) / count_observations(fit)
  is_held <- (fit$selected > 0) + 0
  offered <- slot_usage(fit$model, fit$selected, weigh_columns(is_held, observation_weights(fit))) /
    count_observations(fit)
  order <- order(-on)
  with_par(list(mfrow = c(1, 2), mar = panel_margins, cex = 1), {
    wide <- if (n_latents <= 60) 0.4 else 0.5
    open_panel(c(0.5, n_latents + 0.5), c(0, max(offered)), "", "share of data points",
               sprintf("How often each %s is on", noun(fit)), FALSE)
    place <- seq_len(n_latents)
    graphics::rect(place - wide, 0, place + wide, offered[order], col = fade(ink["sky"], 0.45),
                   border = NA)
    graphics::rect(place - wide, 0, place + wide, on[order], col = ink["blue"], border = NA)
    labelled <- unique(round(seq(1, n_latents, length.out = min(n_latents, 12))))
    graphics::axis(1, labelled, order[labelled], lwd = 0, mgp = c(2, 0.2, 0), cex.axis = 0.9)
    graphics::title(xlab = ranked_label(fit), line = 2,
                    cex.lab = fit_text(ranked_label(fit), graphics::par("pin")[1]))
    top_legend(c("selected", "on (expected)"), pch = 15, pt.cex = 1.6,
               col = c(fade(ink["sky"], 0.45), ink["blue"]))
    draw_activity(fit)
  })
}

draw_activity <- function(fit) {
  is_one_hot <- fit$model$rule$max_active == 1
  value <- if (is_one_hot) apply(fit$prob_on, 2, max) else colSums(fit$prob_on)
  step <- if (max(value) <= 12) 0.5 else 1
  breaks <- seq(-step / 2, ceiling(max(value)) + step / 2, step)
  words <- sprintf(c("expected number of %ss on", "How many %ss are on"), noun(fit))
  if (is_one_hot) {
    breaks <- seq(0, 1, 0.05)
    words <- c("largest responsibility", "How sure the assignments are")
  }
  share <- graphics::hist(pmin(value, max(breaks)), breaks, plot = FALSE)$counts / fit$n_points
  open_panel(range(breaks), c(0, max(share)), words[1], "share of data points", words[2])
  graphics::rect(breaks[-length(breaks)], 0, breaks[-1], share, col = ink["blue"], border = "white")
  graphics::abline(v = mean(value), lty = 2, col = ink["orange"], lwd = 2)
  top_legend(sprintf("mean %s", plain_number(mean(value), 3)), lty = 2, lwd = 2,
             col = ink["orange"])
}

# Whether there is something to show of each latent or component.
has_components <- function(fit) {
  is_placed(fit$model) || !is.null(component_values(fit$model, fit$params))
}
