# Figures and their panels. A figure takes the next place on the page: the whole of it, or a cell
# where par(mfrow = ) or layout() has made several; its panels are parts of that place.

# Evaluates `code`, which draws panels by in_part(), and puts the graphical parameters back.
draw_figure <- function(code) {
  old <- graphics::par("cex", "mar", "pty")
  on.exit(graphics::par(c(old, list(new = FALSE))))
  graphics::par(pty = "m", plt = c(0, 1, 0, 1))
  graphics::plot.new()
  code
}

whole_part <- c(0, 1, 0, 1)
panel_margins <- c(3.6, 4.4, 4.2, 1)

# Draws a panel in a part of the figure (left, right, bottom and top as shares of it), with margins
# in lines. Where these would take most of a small part, they and all text are smaller.
in_part <- function(part, mar, code, share = 0.6) {
  cex <- graphics::par("cex")
  on.exit(graphics::par(cex = cex))
  figure <- graphics::par("fin")
  size <- figure * (part[c(2, 4)] - part[c(1, 3)])
  margins <- mar * line_inches()
  scale <- min(1, share * size / c(margins[2] + margins[4], margins[1] + margins[3]))
  margins <- margins * scale
  graphics::par(cex = cex * scale, mai = margins)
  inset <- c(margins[2], -margins[4], margins[1], -margins[3]) / rep(figure, each = 2)
  graphics::par(plt = part + inset, new = TRUE)
  graphics::plot.new()
  code
}

# Parts side by side, and rows of them below each other, with sizes in these proportions.
split_part <- function(widths, heights = 1, part = whole_part) {
  right <- part[1] + diff(part[1:2]) * c(0, cumsum(widths) / sum(widths))
  down <- part[4] - diff(part[3:4]) * c(0, cumsum(heights) / sum(heights))
  cells <- expand.grid(column = seq_along(widths), row = seq_along(heights))
  Map(function(column, row) c(right[column + 0:1], down[row + 1:0]), cells$column, cells$row)
}

# Parts of a figure for two panels: side by side, or below each other on what is higher than wide.
two_parts <- function(widths = c(1, 1), part = whole_part) {
  figure <- graphics::par("fin")
  if (figure[2] > 1.2 * figure[1]) split_part(1, c(1, 1), part) else split_part(widths, 1, part)
}

# Writes the title over all panels, where there is one, and gives the part below it.
below_title <- function(look) {
  if (is.null(look$over)) return(whole_part)
  share <- min(0.2, 1.9 * line_inches() / graphics::par("fin")[2])
  in_part(c(0, 1, 1 - share, 1), c(0, 0.6, 0, 0.6), {
    graphics::plot.window(c(0, 1), c(0, 1), xaxs = "i", yaxs = "i")
    room <- graphics::par("pin")[1]
    lines <- break_title(look$over, room, 1.25)
    graphics::text(0, if (length(lines) == 1) 0.45 else c(0.7, 0.25), lines, adj = c(0, 0.5),
                   font = 2, cex = fit_text(lines, room, 1.25 / length(lines)^0.5, 2))
  })
  c(0, 1, 0, 1 - share)
}

# Which of `n` places have a label where no more than `most` have room: every second, every third.
labelled_places <- function(n, most) seq(1, n, by = ceiling(n / max(1, most)))

# Labels below the places 1, 2, ..., as many as stand apart.
label_places <- function(labels) {
  n <- length(labels)
  widest <- max(graphics::strwidth(labels, "inches", cex = 0.9)) + 0.25 * line_inches()
  labelled <- labelled_places(n, floor(graphics::par("pin")[1] / widest))
  graphics::axis(1, labelled, labels[labelled], lwd = 0, mgp = c(2, 0.2, 0), cex.axis = 0.9,
                 gap.axis = 0)
}

# A panel with a pale grid, axes without a box and a title on the left, in which `code` draws; the
# left margin has room for the labels of the axis. `note` is a line below the title. `ticks` FALSE
# leaves the x axis to the caller, "whole" has ticks at whole numbers alone, as where something is
# counted; the y axis may be labelled otherwise than by its numbers.
axis_panel <- function(part, xlim, ylim, xlab, ylab, main, code, ticks = TRUE, y_ticks = NULL,
                       y_labels = NULL, note = NULL, mar = panel_margins, ...) {
  ylim <- widen(ylim)
  guess <- if (is.null(y_labels)) tick_labels(pretty(ylim)) else y_labels
  widest <- max(graphics::strwidth(guess, "inches"), 0) / line_inches()
  mar[2] <- max(mar[2], widest + if (nzchar(ylab)) 2.9 else 1.2)
  in_part(part, mar, {
    graphics::plot.window(widen(xlim), ylim, ...)
    if (is.null(y_ticks)) y_ticks <- graphics::axTicks(2)
    if (is.null(y_labels)) y_labels <- tick_labels(y_ticks)
    x_ticks <- if (!isFALSE(ticks)) graphics::axTicks(1)
    if (identical(ticks, "whole")) x_ticks <- x_ticks[x_ticks == round(x_ticks)]
    graphics::abline(h = y_ticks, v = x_ticks, col = "grey92")
    if (!isFALSE(ticks)) draw_axis(1, at = if (identical(ticks, "whole")) x_ticks)
    draw_axis(2, at = y_ticks, labels = y_labels)
    widest <- max(graphics::strwidth(y_labels, "inches"), 0)
    axis_title(xlab, 1, 2)
    axis_title(ylab, 2, 1.2 + widest / line_inches())
    panel_title(main, note)
    code
  })
}
