# The figure of a bootstrap.

# Most parameters in one figure unless more are asked for.
most_intervals <- 60L

#' @rdname gps_bootstrap
#' @param main for `plot()`: title; NULL: one that says what it shows.
#' @param col for `plot()`: colour of intervals and estimates; NULL: that of the package.
#' @param select for `plot()`: numbers of the parameters to draw, or their names as in
#'   `confint()`, in this order.
#' @param key for `plot()`: FALSE leaves out the line on what is shown.
#' @export
plot.gps_bootstrap <- function(x, parm, level = 0.95, n = NULL, select = NULL, main = NULL,
                               col = NULL, key = TRUE, ...) {
  refuse_unknown(further(...), c("parm", "level", "n", "select", "main", "col", "key"))
  need_made(is_bootstrap(x), "x", "gps_bootstrap()")
  look <- new_look(main, col, key, n, select)
  parm <- if (missing(parm)) names(x$estimate)[1] else parm
  ends <- confint.gps_bootstrap(x, parm, level)
  data <- data.frame(parameter = rownames(ends), lower = ends[, 1],
                     estimate = unlist(x$estimate[parm], use.names = FALSE), upper = ends[, 2],
                     row.names = NULL)[distinct_cells(x, parm), ]
  n_distinct <- nrow(data)
  row.names(data) <- NULL
  data <- data[chosen_latents(look, seq_len(nrow(data)), most_intervals, data$parameter,
                              "parameter"), ]
  title <- sprintf("%s %% intervals of %s", format(100 * level), paste(parm, collapse = ", "))
  rows <- nrow(data) + 1 - seq_len(nrow(data))
  colour <- series_ink(look, ink[["blue"]])
  draw_figure(axis_panel(
    whole_part, range(data[c("lower", "estimate", "upper")], na.rm = TRUE), c(0.5, max(rows) + 0.5),
    "estimate and interval", "",
    title_of(look, counted_title(title, list(select = 1), nrow(data), n_distinct)), {
      graphics::segments(data$lower, rows, data$upper, rows, col = colour, lwd = 2)
      graphics::points(data$estimate, rows, pch = 21, bg = "white", col = colour, lwd = 1.5,
                       cex = if (max(rows) > 30) 0.6 else 1)
    }, note = if (key) sprintf("%d replicates, %s", ncol(x$similarity), x$type),
    y_ticks = rows, y_labels = data$parameter
  ))
  invisible(data)
}
