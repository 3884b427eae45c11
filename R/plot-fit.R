# Figures of a fit: plot(), the bound, and how often latents are selected. The others have files of
# their own.

#' Figures of a fit
#'
#' @param x a fit, as made by [gps_fit()].
#' @param which one or more of the figures below; NULL: "clusters" for a Gaussian mixture in one
#'   or two dimensions, else "components".
#' @param truth NULL, or the true components as [match_components()] takes them, for the figure
#'   "components".
#' @param beside NULL, or another fit, or components as [match_components()] takes them, or a list
#'   of such, for the figure "components"; names of the list are titles.
#' @param point for models whose components have locations: number of the data point of the figures
#'   "scene" (there up to 6 points) and "affinity"; NULL: the first.
#' @param n number of latents to show, the most used first, or with `truth` of true components;
#'   NULL: at most 100 in "components", 12 in "functions", else all.
#' @param select numbers (or names, where clusters have them) of the latents to show, in this order,
#'   or with `truth` of true components; NULL: as `n` says. For "components", "affinity",
#'   "selection", "clusters" and "functions".
#' @param size for "components": height and width of the images that the dimensions are the pixels
#'   of (or in colour those of three channels), one whole number or two; NA: they are no images;
#'   NULL: as the data came, see below.
#' @param main title of the figure; where it has several panels over these, or one for each of them;
#'   NULL: what it shows, "": none.
#' @param col colours, as [grDevices::col2rgb()] takes them; NULL: those of the package, which
#'   colour-blind people tell apart. A ramp from the least value to the largest for "components" and
#'   "functions" (where there are negative values 0 is in its middle); one for each cluster of
#'   "clusters", term of "kernel", component with locations; chosen start, other starts and marks of
#'   "bound"; on, selected and mean of "selection"; posterior and selected of "affinity". Fewer are
#'   used again.
#' @param key FALSE leaves out legends, scales of colours and the lines that explain the figure.
#' @param ... nothing; a misspelt name is an error.
#'
#' @details
#' * `"components"`: the columns of `W` (or the cluster means) as images with a scale of their
#'   colours (white is 0, red above and blue below it), where the data came as images: an array or
#'   list of images, or a matrix of [extract_patches()] or [simulate_bars()], whose attribute `size`
#'   says so (rows cut from it, `y[rows, ]`, have lost it: give `size`); else, unless `size` is
#'   given, as a heat map of dimensions x components. Pictures in
#'   colour are drawn as the means of their channels. The most used come first, with the share of
#'   data points in which each is on, or "out" where it has been emptied, see [gps_control()].
#'
#'   With `truth`, as in the paper's Figure 2: data points evenly spaced over the rows (less the
#'   intercept where the model has one), the learned
#'   components in the order of the true ones that [match_components()] assigns them to, with their
#'   |cosine|, and the true ones. A true component without a learned one stays blank; learned ones
#'   that are left over come last. Where the sign of a component is free (models with slabs), it is
#'   drawn as it agrees with the truth. Fits or components `beside` are drawn alike; without `truth`
#'   all are in the order of the fit's own, the most used first. Components that are no images are
#'   the columns of a heat map with the names of the dimensions.
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
#' * `"clusters"`: Gaussian mixtures only: data points by their most probable cluster, with ellipses
#'   of one and two standard deviations; the first two principal components, at one scale, where
#'   there are more than two dimensions, a histogram with densities where there is one.
#' * `"entropy"`: mixtures of at most 200 clusters: the entropy of the assignments,
#'   \eqn{-\sum_n \sum_k t_{nk} \log t_{nk}}{- sum t log t} with posterior probabilities t, as
#'   clusters are merged one by one, each time the two whose union lowers it most (Baudry et al.
#'   2010, *Journal of Computational and Graphical Statistics* 19, 332). Where it has an elbow,
#'   groups of clusters overlap to the right of it and are apart to the left.
#' * `"functions"`: Gaussian mixtures in two dimensions with a learned selector: the regression
#'   function of each cluster over the plane, as in the paper's Figure 3; the 12 most used, or as
#'   many as have room, where there are more.
#'
#' Where cells are missing, figures of data points show what is expected there (column means where
#' the model is one of R functions), and "affinity" ranks as the fit does ([missing_cells]).
#'
#' A figure takes the next place on the page, also in a page that `par(mfrow = )` or `layout()` has
#' divided; where that is small, its text is too. Graphical parameters are put back.
#' @return Invisibly, the data of the figure, or of several `which` a list of them by name:
#' * `"components"`: list of `values` (D x components as drawn) and `usage` (share of data points);
#'   with `truth` or `beside` a list by panel of `values` and `similarity`; where components have
#'   locations a data frame of `component`, `share`, `object` and `similarity`.
#' * `"scene"`: a data frame of the selected components of each point with `row`, `column`, `prob`.
#' * `"bound"`: a data frame of `start` (0: main run), `iteration`, `value`, `explore`, `refit`.
#' * `"kernel"`: a data frame of `iteration`, `term` and `share`.
#' * `"affinity"`: a data frame of means of the bins (`affinity`, `posterior`, `selected`) and their
#'   number of `pairs`; where components have locations a list of `selected` places and `affinity`,
#'   an array of height x width x components.
#' * `"selection"`: list of the data frame `latents` (`on`, `selected`) and the vector `points`.
#' * `"clusters"`: list of the data frames `points` (at most 5000) and `ellipses` of one standard
#'   deviation; in one dimension of `bars` and `densities`.
#' * `"entropy"`: a data frame of `n_clusters`, `entropy` and the two that were merged last, `first`
#'   and `second`.
#' * `"functions"`: list of `x`, `y` and `values`, an array of 80 x 80 x clusters.
#' @seealso [gps_fit()], [summary.gps_fit()], [autoplot.gps_fit()]
#' @concept figures
#' @examples
#' set.seed(1)
#' bars <- simulate_bars(200, value = 5)
#' fit <- gps_fit(bars$y, model_binary_sparse(10), selector_handcrafted(), n_selected = 5,
#'                control = gps_control(max_iter = 20, n_starts = 2))
#' plot(fit)
#' plot(fit, truth = bars)
#' plot(fit, which = "bound")
#' @export
plot.gps_fit <- function(x, which = NULL, truth = NULL, beside = NULL, point = NULL, n = NULL,
                         select = NULL, size = NULL, main = NULL, col = NULL, key = TRUE, ...) {
  refuse_unknown(further(...), setdiff(names(formals(plot.gps_fit)), "x"))
  x <- check_fit(x)
  if (!is.null(x$selected)) need_slots(x, "plot()")
  is_compared <- !is.null(truth) || !is.null(beside)
  if (is.null(which)) which <- default_figure(x, is_compared)
  check_figures(which, x, names(figures))
  kinds <- lapply(which, figure_kind, fit = x, is_compared = is_compared)
  names(kinds) <- which
  check_figure_arguments(x, which, kinds, truth, beside, point, n, select)
  if (length(main) > 1 && length(which) > 1) {
    gps_abort("`main` must be one title where `which` names several figures: it is that of each.")
  }
  if (!is.null(size) && (has_images(x$model) || !"components" %in% which)) {
    gps_abort("`size` is for the figure \"components\" of models without locations.")
  }
  if (length(which) > 1 && grDevices::dev.interactive() &&
        length(which) > prod(graphics::par("mfrow"))) {
    old <- grDevices::devAskNewPage(TRUE)
    on.exit(grDevices::devAskNewPage(old))
  }
  if (any(vapply(kinds, `[[`, NA, "whole"))) whole <- without_gaps(x)
  drawn <- lapply(kinds, function(kind) {
    shown <- if (kind$whole) whole else x
    look <- new_look(main, col, key, n, select, kind$n_titles)
    look$size <- size
    kind$draw(shown, look, list(truth = truth, beside = beside, point = point))
  })
  invisible(if (length(drawn) == 1) drawn[[1]] else drawn)
}

# The figure that says most of a fit.
default_figure <- function(fit, is_compared) {
  is_plane <- is_mixture(fit) && fit$model$n_dims <= 2 && !is.null(fit$y) && !is.null(fit$selected)
  if (is_plane && !is_compared) return("clusters")
  if (is_compared || has_components(fit)) "components" else "bound"
}

# What each argument is for, of those that some figures cannot use.
check_figure_arguments <- function(fit, which, kinds, truth, beside, point, n, select) {
  if ((!is.null(truth) || !is.null(beside)) && !"components" %in% which) {
    gps_abort("`truth` and `beside` are for the figure \"components\".")
  }
  has_places <- has_images(fit$model)
  if (has_places && !is.null(beside)) {
    gps_abort("`beside` is not for models whose components have locations: plot each fit.")
  }
  if (!is.null(point) && !any(which %in% c("scene", if (has_places) "affinity"))) {
    gps_abort(paste("`point` is for the figure \"scene\", and where components have locations",
                    "\"affinity\"."))
  }
  chooses <- vapply(kinds, `[[`, NA, "chooses")
  if ((!is.null(n) || !is.null(select)) && !any(chooses)) {
    gps_abort(sprintf(paste("`n` and `select` choose latents, which the figure %s does not show",
                            "one by one."), quoted(which[1])))
  }
}

# The fit with data points that can be drawn whole: cells without a value have what is expected
# there, or column means where the model does not say what that is.
without_gaps <- function(fit) {
  if (is.null(fit$y) || !isTRUE(fit$n_missing > 0)) return(fit)
  fit$y <- if (lacks_response(fit$model)) {
    fill_gaps(whole_data(fit$y, "A figure of data points"), list(fill = fit_fill(fit)))
  } else {
    t(matrix(stats::predict(fit, type = "imputed"), fit$n_points))
  }
  fit$n_missing <- 0L
  fit
}

# A figure: how it is drawn, whether `n` and `select` choose among what it shows, how many titles it
# has, a number or what counts them, and whether it needs data points without missing cells.
new_figure <- function(draw, chooses = FALSE, n_titles = 1, whole = FALSE) {
  list(draw = draw, chooses = chooses, n_titles = n_titles, whole = whole)
}

figures <- list(
  components = new_figure(function(fit, look, more) draw_components(fit, look), TRUE),
  bound = new_figure(function(fit, look, more) draw_bound(fit, look),
                     n_titles = function(fit) max(1, length(bound_panels(fit)))),
  kernel = new_figure(function(fit, look, more) draw_kernel(fit, look), whole = TRUE),
  affinity = new_figure(function(fit, look, more) draw_affinity(fit, look), TRUE),
  selection = new_figure(function(fit, look, more) draw_selection(fit, look), TRUE, 2),
  clusters = new_figure(function(fit, look, more) draw_clusters(fit, look), TRUE, whole = TRUE),
  functions = new_figure(function(fit, look, more) draw_functions(fit, look), TRUE, whole = TRUE),
  entropy = new_figure(function(fit, look, more) draw_entropy(fit, look)),
  scene = new_figure(function(fit, look, more) draw_scenes(fit, look, more$point), n_titles = 3,
                     whole = TRUE)
)

# Those that are others where components have locations, or stand beside others.
place_figures <- list(
  components = new_figure(function(fit, look, more) draw_occlusive(fit, look, more$truth), TRUE),
  affinity = new_figure(function(fit, look, more) draw_place_affinity(fit, look, more$point),
                        whole = TRUE)
)

comparison_figure <- new_figure(
  function(fit, look, more) draw_comparison(fit, look, more$truth, more$beside), TRUE,
  whole = TRUE
)

figure_kind <- function(name, fit, is_compared) {
  kind <- if (has_images(fit$model) && name %in% names(place_figures)) {
    place_figures[[name]]
  } else if (name == "components" && is_compared) {
    comparison_figure
  } else {
    figures[[name]]
  }
  if (is.function(kind$n_titles)) kind$n_titles <- kind$n_titles(fit)
  kind
}

# Fits of 0.1.0 do not say it.
rows_of_starts <- function(fit) {
  rows <- fit$starts$rows[1]
  if (is.null(rows)) min(count_counted(fit), start_rows) else rows
}

bound_label <- "truncated free energy / data points (nats)"

# Titles of the panels that there is something to show in.
bound_panels <- function(fit) {
  c(if (any(fit$trace$start != 0)) "Short starts", if (any(fit$trace$start == 0)) "Main run")
}

abort_untraced <- function() {
  gps_abort("The fit has no iterations to draw (`max_iter` = 0): update(fit, max_iter = 100).")
}

draw_bound <- function(fit, look) {
  trace <- fit$trace
  if (nrow(trace) == 0) abort_untraced()
  is_main <- trace$start == 0
  each <- fit_weight(fit) / count_counted(fit)
  trace$value <- trace$bound / (each * ifelse(is_main, count_counted(fit), rows_of_starts(fit)))
  starts <- split(trace[!is_main, ], trace$start[!is_main])
  titles <- title_of(look, bound_panels(fit))
  colours <- series_ink(look, unname(c(ink["blue"], "grey65", ink["orange"])))
  draw_figure({
    parts <- if (length(titles) == 2) two_parts(c(1, 1.1), below_title(look)) else list(whole_part)
    if (length(starts) > 0) {
      draw_starts(parts[[1]], starts, fit$starts$start[fit$starts$chosen], titles[1], colours,
                  look$key)
    }
    if (any(is_main)) {
      draw_main_run(parts[[length(parts)]], trace[is_main, ],
                    if (length(starts) == 0) bound_label else "", titles[length(titles)], colours,
                    look$key)
    }
  })
  trace[c("start", "iteration", "value", "explore", "refit")]
}

# All starts, most of what comes after their first third; what lies below is cut off.
draw_starts <- function(part, starts, chosen, main, colours, key) {
  values <- lapply(starts, `[[`, "value")
  ends <- vapply(values, function(value) value[length(value)], 1)
  late <- unlist(lapply(values, function(value) value[seq_along(value) > length(value) / 3]))
  ylim <- c(min(ends, stats::quantile(late, 0.25)), max(unlist(values)))
  ylim <- ylim + c(-0.05, 0.05) * max(diff(ylim), 1e-3 * abs(ylim[2]))
  axis_panel(part, c(1, max(lengths(values))), ylim, "iteration", bound_label, main, {
    for (start in starts) draw_run(start, colours[2], 1.5)
    for (start in starts[names(starts) %in% chosen]) draw_run(start, colours[1], 2.5)
    labels <- c("chosen", if (length(starts) > 1) sprintf("others (%d)", length(starts) - 1))
    if (key) top_legend(labels, colours[1:2], 1, c(2.5, 1.5))
  }, ticks = "whole", yaxs = "i")
}

# A line; of one point a point.
draw_run <- function(run, colour, width) {
  graphics::lines(run$iteration, run$value, col = colour, lwd = width,
                  type = if (nrow(run) == 1) "p" else "l")
}

draw_main_run <- function(part, main_run, ylab, main, colours, key) {
  limits <- range(main_run$value)
  limits <- limits + c(-0.5, 0.5) * max(0, 1e-4 * abs(limits[2]) - diff(limits))
  axis_panel(part, range(main_run$iteration), limits, "iteration", ylab, main, {
    quiet <- main_run$iteration[main_run$explore == 0]
    has_polish <- length(quiet) > 0 && any(main_run$explore > 0)
    ground <- fade(ink["sky"], 0.2)
    usr <- graphics::par("usr")
    if (has_polish) {
      graphics::rect(min(quiet) - 0.5, usr[3], usr[2], usr[4], col = ground, border = NA)
    }
    draw_run(main_run, colours[1], 2.5)
    learned <- main_run[main_run$refit, ]
    graphics::points(learned$iteration, learned$value, pch = 24, bg = "white", col = colours[3],
                     lwd = 1.5)
    shown <- c(nrow(learned) > 0, has_polish)
    if (key && any(shown)) {
      top_legend(c("kernel learned", "without explorers")[shown], c(colours[3], "grey80")[shown],
                 pch = c(24, 22)[shown], bg = c("white", ground)[shown], size = c(1, 1.6)[shown])
    }
  }, ticks = "whole")
}

most_bars <- 500L

draw_selection <- function(fit, look) {
  need_slots(fit, "The figure \"selection\"")
  n_latents <- count_choices(fit$model)
  on <- component_usage(fit) / count_observations(fit)
  is_held <- (fit$selected > 0) + 0
  offered <- slot_usage(fit$model, fit$selected, weigh_columns(is_held, observation_weights(fit))) /
    count_observations(fit)
  shown <- chosen_latents(look, order(-on), most_bars, fit$latent_names)
  latents <- data.frame(latent = latent_labels(fit, shown), on = on[shown],
                        selected = offered[shown])
  word <- choice_word(fit$model)
  title <- counted_title(sprintf("How often each %s is on", word), look, length(shown), n_latents)
  colours <- series_ink(look, unname(c(ink["blue"], fade(ink["sky"], 0.45), ink["orange"])))
  is_sure <- fit$model$rule$max_active == 1
  value <- if (is_sure) apply(fit$prob_on, 2, max) else colSums(fit$prob_on)
  titles <- title_of(look, c(title, if (is_sure) "How sure the assignments are" else
    sprintf("How many %ss are on", word)))
  xlab <- if (is_sure) "largest responsibility" else sprintf("expected number of %ss on", word)
  draw_figure({
    parts <- two_parts(part = below_title(look))
    draw_usage(parts[[1]], fit, latents, titles[1], colours, look)
    draw_activity(parts[[2]], value, is_sure, xlab, titles[2], colours, look$key)
  })
  list(latents = latents, points = value)
}

# Bars of how often each latent is selected, and in them how often it is on.
draw_usage <- function(part, fit, latents, main, colours, look) {
  n <- nrow(latents)
  wide <- if (n <= 60) 0.4 else 0.5
  xlab <- shown_label(fit, look)
  ylim <- c(0, max(latents$selected))
  axis_panel(part, c(0.5, n + 0.5), ylim, xlab, "share of data points", main, {
    place <- seq_len(n)
    graphics::rect(place - wide, 0, place + wide, latents$selected, col = colours[2], border = NA)
    graphics::rect(place - wide, 0, place + wide, latents$on, col = colours[1], border = NA)
    label_places(latents$latent)
    if (look$key) {
      top_legend(c("selected", "on (expected)"), colours[2:1], pch = 15, size = 1.6)
    }
  }, ticks = FALSE)
}

# A histogram of how many latents are on in the data points, or of how sure these are of theirs.
draw_activity <- function(part, value, is_sure, xlab, main, colours, key) {
  step <- if (max(value) <= 12) 0.5 else 1
  breaks <- if (is_sure) seq(0, 1, 0.05) else seq(-step / 2, ceiling(max(value)) + step / 2, step)
  counts <- graphics::hist(pmin(value, max(breaks)), breaks, plot = FALSE)$counts
  share <- counts / length(value)
  axis_panel(part, range(breaks), c(0, max(share)), xlab, "share of data points", main, {
    graphics::rect(breaks[-length(breaks)], 0, breaks[-1], share, col = colours[1],
                   border = "white")
    graphics::abline(v = mean(value), lty = 2, col = colours[3], lwd = 2)
    if (key) top_legend(sprintf("mean %s", plain_number(mean(value), 3)), colours[3], 2, 2)
  }, ticks = if (is_sure) TRUE else "whole")
}
