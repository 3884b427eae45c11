# Colours, panels and labels that all figures share, in base graphics.

# What a latent is called in the labels, and how they stand on the axis.
noun <- function(fit) {
  if (is_one_hot(fit)) "cluster" else if (is_placed(fit$model)) "component" else "latent"
}

ranked_label <- function(fit) paste(noun(fit), "(the most used first)")

# Okabe and Ito's colours, which colour-blind people tell apart; the symbols change where they
# repeat.
ink <- c(blue = "#0072B2", orange = "#D55E00", green = "#009E73", purple = "#CC79A7",
         amber = "#E69F00", sky = "#56B4E9",
         black = "#000000", grey = "#7F7F7F")

cluster_ink <- function(k) unname(ink[(k - 1) %% length(ink) + 1])

cluster_symbol <- function(k) c(16, 17, 15, 18, 1, 2, 0, 5)[((k - 1) %/% length(ink)) %% 8 + 1]

fade <- function(colour, alpha) grDevices::adjustcolor(colour, alpha)

# Evaluates `code` under graphical parameters and puts the old ones back.
with_par <- function(settings, code) {
  old <- graphics::par(no.readonly = TRUE)[names(settings)]
  on.exit(graphics::par(old))
  graphics::par(settings)
  code
}

panel_margins <- c(3.6, 4.4, 4.2, 1)

# An empty panel with a pale grid, axes without a box and a title on the left. `ticks` FALSE leaves
# the x axis to the caller; the y axis may be labelled otherwise than by its numbers.
open_panel <- function(xlim, ylim, xlab, ylab, main, ticks = TRUE, y_ticks = graphics::axTicks(2),
                       y_labels = format(y_ticks), ...) {
  graphics::plot.new()
  graphics::plot.window(widen(xlim), widen(ylim), ...)
  graphics::abline(h = y_ticks, v = if (ticks) graphics::axTicks(1), col = "grey92")
  if (ticks) draw_axis(1)
  draw_axis(2, at = y_ticks, labels = y_labels)
  side <- graphics::par("mai")
  room <- graphics::par("pin") + 2 * c(min(side[c(2, 4)]), min(side[c(1, 3)]))
  graphics::title(xlab = xlab, line = 2, cex.lab = fit_text(xlab, room[1]))
  widest <- max(graphics::strwidth(y_labels, "inches"))
  graphics::title(ylab = ylab, line = 1.3 + widest / graphics::par("csi"),
                  cex.lab = fit_text(ylab, room[2]))
  panel_title(main)
}

# A text's size, smaller where it is longer than the room of so many inches; devices may set it a
# little wider than they say.
fit_text <- function(text, room, cex = 1, font = 1) {
  cex * min(1, 0.95 * room / graphics::strwidth(text, "inches", cex = cex, font = font))
}

# Ticks without a line.
draw_axis <- function(side, cex = 1, ...) {
  graphics::axis(side, ..., lwd = 0, lwd.ticks = 1, col.ticks = "grey60", tcl = -0.25, las = 1,
                 mgp = c(3, if (side == 1) 0.35 else 0.5, 0), cex.axis = cex)
}

panel_title <- function(main, line = 2.6) {
  room <- graphics::par("pin")[1] + graphics::par("mai")[4]
  graphics::title(main = main, adj = 0, line = line, font.main = 2,
                  cex.main = fit_text(main, room, 1.1, 2))
}

# A line below the title, smaller where it is longer than the room.
panel_note <- function(note, line = 1.1) {
  room <- graphics::par("pin")[1] + graphics::par("mai")[4]
  graphics::mtext(note, adj = 0, line = line, col = "grey30",
                  cex = graphics::par("cex") * fit_text(note, room, 0.9))
}

widen <- function(limits) {
  if (diff(limits) > 0) limits else limits + c(-0.5, 0.5) * max(1, abs(limits[1]))
}

# A legend between title and panel, where it covers no data.
top_legend <- function(labels, ...) {
  graphics::legend("bottomleft", labels, inset = c(0, 1), xpd = NA, horiz = TRUE, bty = "n",
                   cex = 0.9, seg.len = 1.5,
                   x.intersp = 0.6, text.width = graphics::strwidth(labels, cex = 0.9) * 1.06, ...)
}

# Most components in one figure.
most_shown <- 100L

percent <- function(share) {
  shown <- sprintf("%.0f %%", 100 * share)
  shown[share > 0 & share < 0.005] <- "<1 %"
  shown
}

# A bar of colours on the right of the panel; `colours` makes them from values.
draw_key <- function(range, colours) {
  range <- widen(range)
  usr <- graphics::par("usr")
  width <- diff(usr[1:2]) / graphics::par("pin")[1]
  left <- usr[2] + 0.15 * width
  values <- seq(range[2], range[1], length.out = 101)
  height <- usr[3] + c(0.15, 0.85) * (usr[4] - usr[3])
  graphics::rasterImage(colours(matrix(values)), left, height[1], left + 0.15 * width, height[2],
                        xpd = NA)
  at <- pretty(range, 5)
  at <- at[at >= range[1] & at <= range[2]]
  place <- height[1] + (at - range[1]) / diff(range) * diff(height)
  graphics::text(left + 0.2 * width, place, format(at), adj = c(0, 0.5), cex = 0.8, xpd = NA)
}
