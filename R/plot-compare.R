# The figure of a comparison of selectors.

#' @rdname compare_selectors
#' @param main for `plot()`: one title over the two panels, or one for each; NULL: what they show,
#'   "": none.
#' @param col for `plot()`: colours of the selectors; NULL: those of the package.
#' @param key for `plot()`: FALSE leaves out the legend.
#' @export
plot.gps_comparison <- function(x, main = NULL, col = NULL, key = TRUE, ...) {
  refuse_unknown(further(...), c("main", "col", "key"))
  need_made(is_comparison_sound(x) && is.data.frame(x$curves), "x",
            "compare_selectors() with a fit that did not stop")
  look <- new_look(main, col, key, n_titles = 2)
  titles <- title_of(look, c("Bound and evaluations", "Seconds by phase"))
  colours <- series_ink(look, cluster_ink(seq_len(nrow(x$table))))
  phases <- c("starts", "main", "polish", "rest")
  draw_figure({
    parts <- two_parts(part = below_title(look))
    draw_costs(parts[[1]], x, titles[1], colours)
    draw_phases(parts[[2]], x$table, phases, titles[2], colours, key)
  })
  invisible(list(curves = x$curves, seconds = x$table[c("selector", phases)]))
}

# The bound against evaluations, a line for each run; only what is near the best is shown.
draw_costs <- function(part, compared, main, colours) {
  curves <- compared$curves
  names <- compared$table$selector
  best <- max(curves$bound)
  last <- compared$runs$bound[!is.na(compared$runs$bound)]
  lowest <- min(last, stats::quantile(curves$bound, 0.1, names = FALSE))
  # Powers of ten may be far apart: the grid has all ticks of a log scale.
  axis_panel(part, range(pmax(curves$evaluations, 1)), c(lowest, best), "evaluations a data point",
             "bound a data point", main, {
    usr <- graphics::par("usr")
    graphics::clip(10^usr[1], 10^usr[2], usr[3], usr[4])
    for (run in split(curves, list(curves$selector, curves$seed), drop = TRUE)) {
      k <- match(run$selector[1], names)
      graphics::lines(pmax(run$evaluations, 1), run$bound, col = colours[k], lwd = 1.5)
      graphics::points(utils::tail(pmax(run$evaluations, 1), 1), utils::tail(run$bound, 1),
                       pch = cluster_symbol(k), col = colours[k])
    }
    do.call(graphics::clip, as.list(c(10^usr[1:2], usr[3:4])))
  }, log = "x")
}

# Mean seconds of each phase, stacked; the names of the selectors are in the colours of the lines,
# beside their symbols.
draw_phases <- function(part, table, phases, main, colours, key) {
  seconds <- as.matrix(table[phases])
  seconds[is.na(seconds)] <- 0
  n <- nrow(table)
  axis_panel(part, c(0, max(rowSums(seconds))), c(0.5, n + 0.5), "seconds", "", main, {
    inks <- fade(ink[c("grey", "blue", "green", "amber")], 0.8)
    for (k in seq_len(n)) {
      at <- n + 1 - k
      end <- cumsum(seconds[k, ])
      graphics::rect(end - seconds[k, ], at - 0.3, end, at + 0.3, col = inks, border = NA)
      graphics::mtext(table$selector[k], 2, line = 1.1, at = at, las = 1, col = colours[k],
                      cex = 0.8 * graphics::par("cex"))
      graphics::points(graphics::grconvertX(
        graphics::grconvertX(0, "npc", "inches") - 0.6 * line_inches(), "inches", "user"
      ), at, pch = cluster_symbol(k), col = colours[k], xpd = NA)
    }
    if (key) top_legend(phases, inks, pch = 15, size = 1.4)
  }, y_ticks = seq_len(n), y_labels = rep("", n),
  mar = panel_margins + c(0, max(0, name_lines(table$selector) - 2.6), 0, 0))
}
