# The figure of what short starts agree about.

#' @rdname gps_consensus
#' @param main for `plot()`: title; NULL: one that says what it shows.
#' @param col for `plot()`: two colours, of all starts and of the best; NULL: those of the package.
#' @param key for `plot()`: FALSE leaves out the legend.
#' @export
plot.gps_consensus <- function(x, main = NULL, col = NULL, key = TRUE, ...) {
  refuse_unknown(further(...), c("main", "col", "key"))
  need_made(is_consensus(x), "x", "gps_consensus()")
  look <- new_look(main, col, key)
  table <- x$components[!is.na(x$components$found), ]
  table <- table[order(-table$found, -table$found_by_best), ]
  data <- data.frame(component = table$component, share = table$share,
                     share_of_best = table$found_by_best / max(1, sum(x$starts$reached)))
  title <- title_of(look, sprintf("Components found by %s", plural(nrow(x$starts), "start")))
  draw_figure(axis_panel(whole_part, c(0.5, nrow(data) + 0.5), c(0, 1),
                         "component (the most often found first)", "share of the starts", title,
                         draw_shares(data, look), ticks = FALSE))
  invisible(data)
}

draw_shares <- function(data, look) {
  colours <- series_ink(look, c(ink[["grey"]], ink[["blue"]]))
  at <- seq_len(nrow(data))
  graphics::segments(at, 0, at, data$share, col = colours[1], lwd = 2)
  graphics::points(at, data$share, pch = 16, col = colours[1])
  graphics::points(at, data$share_of_best, pch = 21, col = colours[2], lwd = 1.5, cex = 1.3)
  label_places(data$component)
  if (!look$key) return(invisible())
  top_legend(c("of all", "of those with the best bound"), colours, c(1, 0), 2, c(16, 21), "white")
}
