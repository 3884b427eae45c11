# Colours, axes, titles and legends that all figures share, in base graphics.

# What latents are called in the labels, and how they stand on the axis.
ranked_label <- function(fit) paste(choice_word(fit$model), "(the most used first)")

shown_label <- function(fit, look) {
  if (is.null(look$select)) ranked_label(fit) else choice_word(fit$model)
}

# Six of Okabe and Ito's colours, and six that are far from these, from each other and from white
# for common sight and for the three kinds of colour blindness (as simulated by Machado et al.
# 2009); grey is for what stands behind.
ink <- c(blue = "#0072B2", orange = "#D55E00", green = "#009E73", purple = "#CC79A7",
         amber = "#E69F00", sky = "#56B4E9", violet = "#8000FF", brown = "#602000",
         navy = "#002080", lavender = "#A080FF", plum = "#604060", black = "#000000",
         grey = "#7F7F7F")

# Twelve colours and seven symbols change together: 84 pairs, all different.
cluster_ink <- function(k) unname(ink[(k - 1) %% 12 + 1])

symbols <- c(16, 17, 15, 18, 1, 2, 0)

cluster_symbol <- function(k) symbols[(k - 1) %% length(symbols) + 1]

fade <- function(colour, alpha) grDevices::adjustcolor(colour, alpha)

widen <- function(limits) {
  if (diff(limits) > 0) limits else limits + c(-0.5, 0.5) * max(1, abs(limits[1]))
}

percent <- function(share) {
  shown <- sprintf("%.0f %%", 100 * share)
  shown[share > 0 & share < 0.005] <- "<1 %"
  shown
}

# ---- text ----

# Height of a line of text in inches.
line_inches <- function() graphics::par("cin")[2] * graphics::par("cex") * graphics::par("mex")

# A text's size, or that of the longest of several, smaller where it is longer than the room of so
# many inches; devices may set it a little wider than they say.
fit_text <- function(text, room, cex = 1, font = 1) {
  cex * min(1, 0.95 * room / graphics::strwidth(text, "inches", cex = cex, font = font))
}

# Lines of the margin that names take.
name_lines <- function(names) max(graphics::strwidth(names, "inches", cex = 0.8)) / line_inches()

# Ticks without a line.
draw_axis <- function(side, cex = 1, ...) {
  graphics::axis(side, ..., lwd = 0, lwd.ticks = 1, col.ticks = "grey60", tcl = -0.25, las = 1,
                 mgp = c(3, if (side == 1) 0.35 else 0.5, 0), cex.axis = cex)
}

# Inches from the left side of the panel to the right side of its margin.
title_room <- function() graphics::par("pin")[1] + graphics::par("mai")[4]

# Inches by which a text of so many begins left of the panel: in its margin, where it is too long.
title_shift <- function(width) {
  max(0, min(width / 0.95 - title_room(), graphics::par("mai")[2] - 0.3 * line_inches()))
}

# A title, or two lines of it where it would be too small in one.
break_title <- function(text, room, cex) {
  at <- gregexpr(" ", text, fixed = TRUE)[[1]]
  is_small <- nzchar(text) && fit_text(text, room, cex, 2) < 0.7 * cex
  if (!is_small || at[1] < 0) return(text)
  at <- at[which.min(abs(at - nchar(text) / 2))]
  c(substr(text, 1, at - 1), substring(text, at + 1))
}

# Title of a panel and, where there is one, a line below it, both above the panel where that begins
# or further left; smaller where they are longer than the room.
panel_title <- function(main, note = NULL, lines = c(2.6, 1.1), cex = c(1.1, 0.9)) {
  halves <- break_title(main, title_room() + graphics::par("mai")[2], cex[1])
  if (length(halves) == 2) {
    panel_title(halves[1], NULL, lines[1] + 0.4, 0.75 * cex[1])
    panel_title(halves[2], NULL, lines[1] - 0.35, 0.75 * cex[1])
    if (length(note) == 0) return(invisible())
    main <- ""
  }
  texts <- c(main, note)
  widths <- vapply(seq_along(texts), function(i) {
    graphics::strwidth(texts[i], "inches", cex = cex[i], font = 3 - i)
  }, 1)
  shift <- title_shift(max(widths))
  left <- graphics::grconvertX(graphics::grconvertX(0, "npc", "inches") - shift, "inches", "user")
  for (i in seq_along(texts)) {
    graphics::mtext(texts[i], at = left, adj = 0, line = lines[i], font = 3 - i,
                    col = c("black", "grey30")[i],
                    cex = graphics::par("cex") *
                      fit_text(texts[i], title_room() + shift, cex[i], 3 - i))
  }
}

# The label of an axis, in the middle of it or as near as the margins allow; above the panel is the
# title's place, and at its foot that of the other label.
axis_title <- function(text, side, line) {
  is_x <- side == 1
  room <- graphics::par("pin")[side]
  margins <- if (is_x) graphics::par("mai")[c(2, 4)] else
    c(graphics::par("mai")[1] - 1.6 * line_inches(), 0)
  margins <- pmax(margins - 0.25 * line_inches(), 0)
  cex <- fit_text(text, room + sum(margins))
  half <- graphics::strwidth(text, "inches", cex = cex) / 2
  middle <- min(max(room / 2, half - margins[1]), room + margins[2] - half)
  convert <- if (is_x) graphics::grconvertX else graphics::grconvertY
  at <- convert(convert(0, "npc", "inches") + middle, "inches", "user")
  graphics::mtext(text, side, line = line, at = at, cex = graphics::par("cex") * cex)
}

# ---- legends ----

# A legend between title and panel, where it covers no data, in as many rows as let its text be
# largest. All but the labels may be one for all entries; a line type of 0 is no line.
top_legend <- function(labels, col, lty = 0, lwd = 1, pch = NA, bg = NA, size = 1) {
  n <- length(labels)
  unit <- graphics::par("cin") * graphics::par("cex")
  mark <- 1.9 * unit[1] * ifelse(any(lty != 0), 1.3, 0.8)
  widths <- graphics::strwidth(labels, "inches") * 1.04 + mark + 0.9 * unit[1]
  layouts <- lapply(seq_len(min(n, 3)), function(rows) legend_columns(widths, rows))
  shift <- vapply(layouts, function(columns) title_shift(0.9 * sum(columns)), 1)
  cex <- vapply(seq_along(layouts), function(rows) {
    min(0.9, (title_room() + shift[rows]) / sum(layouts[[rows]]), 2.2 / (1.15 * rows))
  }, 1)
  rows <- which.max(cex)
  across <- layouts[[rows]]
  cex <- cex[rows]
  column <- (seq_len(n) - 1) %% length(across) + 1
  row <- (seq_len(n) - 1) %/% length(across)
  left <- graphics::grconvertX(0, "npc", "inches") - shift[rows] +
    cex * c(0, cumsum(across))[column]
  up <- graphics::grconvertY(1, "npc", "inches") + unit[2] * (0.25 + cex * (rows - row - 0.5) * 1.1)
  at_x <- function(inches) graphics::grconvertX(inches, "inches", "user")
  y <- graphics::grconvertY(up, "inches", "user")
  for (k in seq_len(n)) {
    pick <- function(values) rep_len(values, n)[k]
    if (pick(lty) != 0) {
      graphics::segments(at_x(left[k]), y[k], at_x(left[k] + cex * mark), y[k], col = pick(col),
                         lty = pick(lty), lwd = pick(lwd), xpd = NA)
    }
    graphics::points(at_x(left[k] + cex * mark / 2), y[k], pch = pick(pch), col = pick(col),
                     bg = pick(bg), cex = cex * pick(size), lwd = 1.5, xpd = NA)
  }
  graphics::text(at_x(left + cex * (mark + 0.4 * unit[1])), y, labels, cex = cex, adj = c(0, 0.5),
                 xpd = NA)
}

# Widths of the columns when entries are set row by row in so many rows.
legend_columns <- function(widths, rows) {
  n <- ceiling(length(widths) / rows)
  vapply(seq_len(n), function(k) max(widths[seq(k, length(widths), n)]), 1)
}

# ---- colour scales ----

# So many colours from the first to the last of `col`; of one from white to it.
ramp_of <- function(col, n) {
  grDevices::colorRampPalette(if (length(col) == 1) c("white", col) else col, space = "Lab")(n)
}

# Numbers at ticks, with the digits that tell them apart whatever the session's option says.
tick_labels <- function(at) format(at, digits = 12)

key_ticks <- function(range, height) {
  at <- pretty(range, max(1, min(5, floor(height / (2 * line_inches())))))
  at[at >= range[1] & at <= range[2]]
}

# Lines that a colour scale of values in this range takes on the right of a panel.
key_lines <- function(range) {
  labels <- tick_labels(pretty(widen(range), 5))
  1.7 + max(graphics::strwidth(labels, "inches", cex = 0.8)) / line_inches()
}

# A bar of colours on the right of what is drawn up to `right` inches in the panel, between two
# heights in it; `colours` makes them from values.
draw_key <- function(range, colours, right = graphics::par("pin")[1], ends = NULL) {
  range <- widen(range)
  line <- line_inches()
  height <- graphics::par("pin")[2]
  if (is.null(ends)) ends <- height * (0.5 + c(-0.5, 0.5) * min(1, max(0.7, 6 * line / height)))
  x <- function(inches) {
    graphics::grconvertX(graphics::grconvertX(0, "npc", "inches") + right + inches, "inches",
                         "user")
  }
  y <- function(inches) {
    graphics::grconvertY(graphics::grconvertY(0, "npc", "inches") + inches, "inches", "user")
  }
  values <- seq(range[2], range[1], length.out = 101)
  graphics::rasterImage(colours(matrix(values)), x(0.5 * line), y(ends[1]), x(1.2 * line),
                        y(ends[2]), xpd = NA)
  at <- key_ticks(range, diff(ends))
  place <- ends[1] + (at - range[1]) / diff(range) * diff(ends)
  graphics::text(x(1.4 * line), y(place), tick_labels(at), adj = c(0, 0.5), cex = 0.8, xpd = NA)
}
