# The figures of an audit and of the captured mass by number of selected latents.

#' @rdname gps_audit
#' @param main for `plot()`: one title over the panels, or one for each; NULL: what they show, "":
#'   none.
#' @param col for `plot()`: colours of curves and points; NULL: those of the package.
#' @param key for `plot()`: FALSE leaves out the legends.
#' @export
plot.gps_audit <- function(x, main = NULL, col = NULL, key = TRUE, ...) {
  refuse_unknown(further(...), c("main", "col", "key"))
  need_made(is_audit_sound(x), "x", "gps_audit()")
  n_panels <- if (is.null(x$curve)) 1 else 2
  look <- new_look(main, col, key, n_titles = n_panels)
  titles <- title_of(look, c(
    sprintf("Mass: %s (%s)", plain_number(x$mass, 3), x$verdict),
    if (n_panels == 2) paste0("Recall", if (!is.na(x$recall)) paste(":", plain_number(x$recall, 3)))
  ))
  mass <- sort(x$points$mass)
  points <- data.frame(share = (seq_along(mass) - 0.5) / length(mass), mass = mass)
  colour <- series_ink(look, ink[["blue"]])
  draw_figure({
    parts <- if (n_panels == 2) two_parts(part = below_title(look)) else list(whole_part)
    draw_mass(parts[[1]], x, points, titles[1], colour, key)
    if (n_panels == 2) draw_recall(parts[[2]], x, titles[2], colour, key)
  })
  invisible(list(mass = points, recall = x$curve))
}

verdict_ink <- function(verdict) {
  unname(c(green = ink[["green"]], amber = ink[["amber"]], red = ink[["orange"]])[verdict])
}

# The captured mass of all points in ascending order, on the levels of the verdict.
draw_mass <- function(part, audit, points, main, colour, key) {
  axis_panel(part, c(0, 1), c(0, 1), "share of the points", "captured posterior mass", main, {
    graphics::abline(h = audit_levels$mass, col = verdict_ink(audit_levels$verdict), lty = 2)
    n <- nrow(points)
    graphics::lines(c(0, points$share, 1), points$mass[c(1, seq_len(n), n)], col = colour, lwd = 2)
    graphics::points(mean(points$mass <= audit$mass), audit$mass, pch = 21,
                     bg = verdict_ink(audit$verdict), cex = 1.4)
    if (key) {
      top_legend(c("points", "mean", "green", "red"),
                 c(colour, "black", verdict_ink(c("green", "red"))), c(1, 0, 2, 2),
                 c(2, 0, 1, 1), c(NA, 21, NA, NA), verdict_ink(audit$verdict))
    }
  })
}

# What the best latents by affinity would have of the truly probable ones, and what was selected.
draw_recall <- function(part, audit, main, colour, key) {
  curve <- audit$curve
  # Up to where nearly all are found.
  most <- min(nrow(curve), max(2 * audit$n_selected, sum(curve$recall < 0.995) + 1))
  axis_panel(part, c(1, most), c(0, 1), "latents selected by affinity", "recall of latents", main, {
    graphics::abline(h = audit_levels$recall, col = verdict_ink(audit_levels$verdict), lty = 2)
    graphics::abline(v = audit$n_selected, col = "grey50", lty = 3)
    graphics::lines(curve$n_selected[seq_len(most)], curve$recall[seq_len(most)], col = colour,
                    lwd = 2, type = if (most <= 40) "o" else "l", pch = 16)
    graphics::points(audit$n_selected, audit$recall, pch = 21, bg = verdict_ink(audit$verdict),
                     cex = 1.4)
    if (key) {
      top_legend(c("ranked best", "selected"), c(colour, "black"), c(1, 0), c(2, 0), c(NA, 21),
                 verdict_ink(audit$verdict))
    }
  }, ticks = "whole")
}

#' @rdname gps_audit
#' @export
plot.gps_sizes <- function(x, main = NULL, col = NULL, key = TRUE, ...) {
  refuse_unknown(further(...), c("main", "col", "key"))
  need_made(is_sizes_sound(x), "x", "gps_audit() or a fit")
  look <- new_look(main, col, key, n_titles = 2)
  titles <- title_of(look, c("Mass", "Bound"))
  colours <- series_ink(look, unname(ink[c("blue", "amber")]))
  draw_figure({
    parts <- two_parts(part = below_title(look))
    draw_captured(parts[[1]], x, titles[1], colours, key)
    table <- x$table
    axis_panel(parts[[2]], range(table$n_selected), range(table$bound), "selected latents",
               "bound a point, nats", titles[2], draw_sizes(x, table$bound, colours),
               ticks = "whole")
  })
  invisible(x$table)
}

# The captured mass, and the level that was wanted, or those of the verdicts.
draw_captured <- function(part, sizes, main, colours, key) {
  table <- sizes$table
  is_target <- !is.null(sizes$target)
  levels <- if (is_target) sizes$target else audit_levels$mass
  axis_panel(part, range(table$n_selected), c(0, 1), "selected latents", "captured posterior mass",
             main, {
    graphics::abline(h = levels, col = verdict_ink(audit_levels$verdict[seq_along(levels)]),
                     lty = 2)
    draw_sizes(sizes, table$mass, colours)
    if (key) {
      labels <- c("mass", if (is_target) c("target", "chosen") else c("green", "red"))
      top_legend(labels, c(colours[1], verdict_ink("green"), if (is_target) "black" else
        verdict_ink("red")), c(1, 2, if (is_target) 0 else 2), 2,
        c(16, NA, if (is_target) 21 else NA), colours[2])
    }
  }, ticks = "whole")
}

draw_sizes <- function(sizes, value, colours) {
  at <- sizes$table$n_selected
  graphics::lines(at, value, type = "o", pch = 16, lwd = 2, col = colours[1])
  is_chosen <- at %in% sizes$chosen
  graphics::points(at[is_chosen], value[is_chosen], pch = 21, cex = 1.8, bg = colours[2])
}
