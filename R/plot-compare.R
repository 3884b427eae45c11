# The figure of a comparison of selectors.

#' @rdname compare_selectors
#' @export
plot.gps_comparison <- function(x, ...) {
  refuse_unknown(list(...), "x")
  need_made(is_comparison_sound(x) && is.data.frame(x$curves), "x",
            "compare_selectors() with a fit that did not stop")
  widest <- max(nchar(x$table$selector))
  with_par(list(mfrow = c(1, 2), mar = panel_margins), {
    draw_costs(x)
    graphics::par(mar = panel_margins + c(0, min(12, 0.45 * widest), 0, 0))
    draw_phases(x)
  })
  invisible(x)
}

# The bound against evaluations, a line for each run; only what is near the best is shown.
draw_costs <- function(compared) {
  curves <- compared$curves
  names <- compared$table$selector
  best <- max(curves$bound)
  last <- compared$runs$bound[!is.na(compared$runs$bound)]
  lowest <- min(last, stats::quantile(curves$bound, 0.1, names = FALSE))
  # Powers of ten may be far apart: the grid has all ticks of a log scale.
  open_panel(range(pmax(curves$evaluations, 1)), c(lowest, best), "evaluations a data point",
             "bound a data point", "Bound and evaluations", log = "x")
  usr <- graphics::par("usr")
  graphics::clip(10^usr[1], 10^usr[2], usr[3], usr[4])
  for (run in split(curves, list(curves$selector, curves$seed), drop = TRUE)) {
    k <- match(run$selector[1], names)
    graphics::lines(pmax(run$evaluations, 1), run$bound, col = cluster_ink(k), lwd = 1.5)
    graphics::points(utils::tail(pmax(run$evaluations, 1), 1), utils::tail(run$bound, 1),
                     pch = cluster_symbol(k), col = cluster_ink(k))
  }
  do.call(graphics::clip, as.list(c(10^usr[1:2], usr[3:4])))
}

# Mean seconds of each phase, stacked; the names of the selectors are in the colours of the lines.
draw_phases <- function(compared) {
  table <- compared$table
  phases <- c("starts", "main", "polish", "rest")
  seconds <- as.matrix(table[phases])
  seconds[is.na(seconds)] <- 0
  n <- nrow(table)
  open_panel(c(0, max(rowSums(seconds))), c(0.5, n + 0.5), "seconds", "", "Seconds by phase",
             y_ticks = seq_len(n), y_labels = rep("", n))
  colours <- fade(ink[c("grey", "blue", "green", "amber")], 0.8)
  for (k in seq_len(n)) {
    at <- n + 1 - k
    end <- cumsum(seconds[k, ])
    graphics::rect(end - seconds[k, ], at - 0.3, end, at + 0.3, col = colours, border = NA)
    graphics::mtext(table$selector[k], 2, line = 0.6, at = at, las = 1, cex = 0.8,
                    col = cluster_ink(k))
  }
  top_legend(phases, pch = 15, col = colours, pt.cex = 1.4)
}
