# The figure of an audit.

#' @rdname gps_audit
#' @export
plot.gps_audit <- function(x, ...) {
  refuse_unknown(list(...), "x")
  need_made(is_audit_sound(x), "x", "gps_audit()")
  n_panels <- if (is.null(x$curve)) 1 else 2
  with_par(list(mfrow = c(1, n_panels), mar = panel_margins), {
    draw_mass(x)
    if (n_panels == 2) draw_recall(x)
  })
  invisible(x)
}

verdict_ink <- function(verdict) {
  unname(c(green = ink[["green"]], amber = ink[["amber"]], red = ink[["orange"]])[verdict])
}

# The captured mass of all points in ascending order, on the levels of the verdict.
draw_mass <- function(audit) {
  mass <- sort(audit$points$mass)
  share <- (seq_along(mass) - 0.5) / length(mass)
  open_panel(c(0, 1), c(0, 1), "share of the points", "captured posterior mass",
             sprintf("Mass: %s (%s)", plain_number(audit$mass, 3), audit$verdict))
  graphics::abline(h = audit_levels$mass, col = verdict_ink(audit_levels$verdict), lty = 2)
  graphics::lines(c(0, share, 1), c(mass[1], mass, utils::tail(mass, 1)), col = ink["blue"],
                  lwd = 2)
  graphics::points(mean(mass <= audit$mass), audit$mass, pch = 21, bg = verdict_ink(audit$verdict),
                   cex = 1.4)
  top_legend(c("points", "mean", "green", "red"),
             col = c(ink["blue"], "black", verdict_ink(c("green", "red"))), lwd = c(2, NA, 1, 1),
             lty = c(1, 0, 2, 2), pch = c(NA, 21, NA, NA), pt.bg = verdict_ink(audit$verdict))
}

# What the best latents by affinity would have of the truly probable ones, and what was selected.
draw_recall <- function(audit) {
  curve <- audit$curve
  # Up to where nearly all are found.
  most <- min(nrow(curve), max(2 * audit$n_selected, sum(curve$recall < 0.995) + 1))
  open_panel(c(1, most), c(0, 1), "latents selected by affinity", "recall of latents",
             if (is.na(audit$recall)) "Recall" else
               sprintf("Recall: %s", plain_number(audit$recall, 3)))
  graphics::abline(h = audit_levels$recall, col = verdict_ink(audit_levels$verdict), lty = 2)
  graphics::abline(v = audit$n_selected, col = "grey50", lty = 3)
  graphics::lines(curve$n_selected[seq_len(most)], curve$recall[seq_len(most)], col = ink["blue"],
                  lwd = 2, type = if (most <= 40) "o" else "l", pch = 16)
  graphics::points(audit$n_selected, audit$recall, pch = 21, bg = verdict_ink(audit$verdict),
                   cex = 1.4)
  top_legend(c("ranked best", "selected"),
             col = c(ink["blue"], "black"), lwd = c(2, NA), lty = c(1, 0), pch = c(NA, 21),
             pt.bg = verdict_ink(audit$verdict))
}

#' @rdname gps_audit
#' @export
plot.gps_sizes <- function(x, ...) {
  refuse_unknown(list(...), "x")
  need_made(is_sizes_sound(x), "x", "gps_audit() or a fit")
  table <- x$table
  with_par(list(mfrow = c(1, 2), mar = panel_margins), {
    open_panel(range(table$n_selected), c(0, 1), "selected latents", "captured posterior mass",
               "Mass")
    levels <- if (is.null(x$target)) audit_levels$mass else x$target
    graphics::abline(h = levels, col = verdict_ink(audit_levels$verdict[seq_along(levels)]),
                     lty = 2)
    draw_sizes(x, table$mass)
    is_target <- !is.null(x$target)
    labels <- c("mass", if (is_target) c("target", "chosen") else c("green", "red"))
    last <- if (is_target) "black" else verdict_ink("red")
    top_legend(labels, col = c(ink["blue"], verdict_ink("green"), last),
               lty = c(1, 2, if (is_target) 0 else 2), pch = c(16, NA, if (is_target) 21 else NA))
    open_panel(range(table$n_selected), range(table$bound), "selected latents",
               "bound a point, nats", "Bound")
    draw_sizes(x, table$bound)
  })
  invisible(x)
}

draw_sizes <- function(sizes, value) {
  at <- sizes$table$n_selected
  graphics::lines(at, value, type = "o", pch = 16, lwd = 2, col = ink["blue"])
  is_chosen <- at %in% sizes$chosen
  graphics::points(at[is_chosen], value[is_chosen], pch = 21, cex = 1.8, bg = ink["amber"])
}
